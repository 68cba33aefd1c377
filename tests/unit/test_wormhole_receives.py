"""Wormhole at the receiver: system buffers, requests, receives in list order, sends that preempt.

Deadlocks of these.

Every expectation is derived with a pencil beside it. A row of nodes; overheads 10 us and 5 us, hop
1 us, ports 1 B/us, links 2 B/us; a signal is 4 us at each end; a copy takes 1/4 us a byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from conset.base.errors import NoScheduleError
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.models.wormhole import simulate_wormhole

US, MB = 1e-6, 1e6
Message = tuple[int, int, int]
ROW = Costs(
    send_overhead=Steps((10 * US,)),
    receive_overhead=Steps((5 * US,)),
    port_out_Bps=MB,
    port_in_Bps=MB,
    link_Bps=2 * MB,
    hop_s=US,
    signal_s=8 * US,
    copy_Bps=4 * MB,
    receive="before",
)
LIST = Settings(receives=1, receive_order="list")


def row_of(nodes: int, **costs: Any) -> Machine:
    topology = Topology.mesh(1, nodes)
    return Machine("row", topology, Routing.default(topology), replace(ROW, **costs))


def workload_of(messages: Sequence[Message], nodes: int, **more: Any) -> Workload:
    columns = np.array(messages, np.int64).reshape(-1, 3).T
    return Workload(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], nodes, **more
    )


def us(timeline: Timeline) -> NDArray[np.float64]:
    return timeline.end_s / US


@pytest.mark.parametrize(
    ("eager", "buffers", "ends"),
    [
        # 2 → 1 has the receive: 11, 16, streams to 76; 0 → 1 holds its path from 11, then 5 and 40
        (None, np.inf, [121, 76]),
        # 0 → 1 is taken in from 11; from 16 both share the way in: 35 left to 86, the other has 25
        # left then; 111; then its receive: 5 and 40/4
        (100, 100, [126, 111]),
        (40, 40, [126, 111]),
        # no room for 40 B: as without
        (100, 39, [121, 76]),
    ],
)
def test_what_finds_no_receive_is_taken_into_the_buffer(
    eager: float | None, buffers: float, ends: list[float]
) -> None:
    workload = workload_of([(0, 1, 40), (2, 1, 60)], 3, order=np.array([1, 0]))
    timeline = simulate_wormhole(workload, row_of(3, eager_B=eager, buffers_B=buffers), LIST)
    assert us(timeline) == pytest.approx(ends, rel=1e-12)
    taken = {126: (1, 40), 121: (0, 0)}[ends[0]]
    if eager is not None:
        assert (timeline.figures["buffered"], timeline.figures["buffered_bytes_max"]) == taken


@pytest.mark.parametrize(("size", "end"), [(100, 117), (101, 138)])
def test_above_the_threshold_a_request_and_a_grant_come_first(size: int, end: float) -> None:
    # 10 + 2 hops + 5 + 100; 101: request 4 + 2 + 4, grant 4 + 2 + 4 before that
    timeline = simulate_wormhole(workload_of([(0, 2, size)], 3), row_of(3, eager_B=100))
    assert us(timeline) == pytest.approx([end], rel=1e-12)


def test_a_ready_signal_says_that_the_receive_is_there() -> None:
    # signal 4 + 2 + 4, then 10 + 2 + 5 + 200, eager or not
    workload = workload_of([(0, 2, 200)], 3, phase_offsets=np.array([0, 1]))
    for eager in (None, 100):
        timeline = simulate_wormhole(workload, row_of(3, eager_B=eager), Settings(sync="ready"))
        assert us(timeline) == pytest.approx([227], rel=1e-12)


@pytest.mark.parametrize(
    ("eager", "ends"),
    [
        (None, [116, 56]),  # received at any time: 10, 11, 16, 56
        # taken in from 11 to 51; node 1 is in its phase at 116; 5 + 40/4
        (100, [116, 131]),
        # both ask: 1 → 2 is granted at 18: 28, 29, 34, 134; 0 → 1 has asked at 9 and is granted
        # from 134: 138, 139, 143; then 153, 154, 159, 199
        (30, [134, 199]),
    ],
)
def test_under_local_a_receive_is_there_when_its_rank_enters_the_phase(
    eager: float | None, ends: list[float]
) -> None:
    workload = workload_of([(1, 2, 100), (0, 1, 40)], 3, phase_offsets=np.array([0, 1, 2]))
    timeline = simulate_wormhole(workload, row_of(3, eager_B=eager), Settings(sync="local"))
    assert us(timeline) == pytest.approx(ends, rel=1e-12)


# 1 is to receive from 2 first, which waits for what 0 sends it after its message to 1
CROSSED = [(2, 1, 10), (0, 1, 60), (0, 2, 20)]


def crossed(messages: Sequence[Message]) -> Workload:
    """Message 0 depends on the last one."""
    last = len(messages) - 1
    return workload_of(
        messages,
        3,
        dep_offsets=np.array([0] + [1] * len(messages)),
        deps=np.array([last]),
        phase_offsets=np.array([0, len(messages)]),
    )


def test_lists_in_unlike_orders_deadlock_without_buffers() -> None:
    one = replace(LIST, in_flight=1)
    for costs in ({}, {"eager_B": 100, "buffers_B": 59}, {"eager_B": 0}):
        with pytest.raises(NoScheduleError) as caught:
            simulate_wormhole(crossed(CROSSED), row_of(3, **costs), one)
        assert str(caught.value).split("deadlock at ")[1].split(": ", 1)[1] == (
            "message 0 (2 → 1) waits for the delivery of message 2 (0 → 2), which waits for the "
            "delivery of "
            "message 1 (0 → 1), which waits for a receive at node 1 (0, 1) of message 0 (2 → 1)"
        )


def test_a_buffer_ends_that_deadlock() -> None:
    # 0 → 1 is taken in from 11 to 71, its sender is free: 0 → 2 from 71: 81, 83, 88, 108; then 2 →
    # 1: 118, 119, 124, 134; then 0 → 1 is received: 5 + 60/4
    timeline = simulate_wormhole(
        crossed(CROSSED), row_of(3, eager_B=100, buffers_B=60), replace(LIST, in_flight=1)
    )
    assert us(timeline) == pytest.approx([134, 154, 108], rel=1e-12)


def test_full_buffers_deadlock_and_say_how() -> None:
    # a second message of 60 B waits for room beside the first from 82 on
    messages = [CROSSED[0], CROSSED[1], (0, 1, 60), CROSSED[2]]
    machine, settings = row_of(3, eager_B=100, buffers_B=100), replace(LIST, in_flight=1)
    with pytest.raises(NoScheduleError) as caught:
        simulate_wormhole(crossed(messages), machine, settings)
    assert str(caught.value) == (
        "workload on row: deadlock at 82 us: message 0 (2 → 1) waits for the delivery of message "
        "3 (0 → 2), which "
        "waits for the delivery of message 2 (0 → 1), which waits for room in the buffer of node "
        "1 (0, 1) beside "
        "message 1 (0 → 1), which waits for a receive at node 1 (0, 1) of message 0 (2 → 1)"
    )
    assert (
        simulate_wormhole(crossed(messages), row_of(3, eager_B=100, buffers_B=120), settings).time_s
        < 300 * US
    )


@pytest.mark.parametrize(("receives", "ends"), [(1, [60, 70]), (2, [60, 10])])
def test_receives_in_list_order_are_the_first_of_the_list(receives: int, ends: list[float]) -> None:
    # the first of node 1's list comes at 50; the second one's receive is there beside it, or behind
    # it
    machine = row_of(3, send_overhead=Steps(), receive_overhead=Steps(), hop_s=0.0)
    workload = workload_of([(2, 1, 10), (0, 1, 10)], 3, time_s=np.array([50 * US, 0]))
    timeline = simulate_wormhole(
        workload, machine, Settings(receives=receives, receive_order="list")
    )
    assert us(timeline) == pytest.approx(ends, rel=1e-12)


@pytest.mark.parametrize(
    ("preempts", "sent_at", "ends"),
    [
        # node 1 receives 100 B: 10, 11, handler to 16, bytes to 116; and sends 20 B: 10, link 1, 5,
        # 20
        (True, 30, [126, 66]),  # bytes stand still from 30 to 40
        (True, 5, [120, 41]),  # the handler waits from 11 to 15
        (True, 12, [122, 48]),  # the handler runs to its end at 16, bytes from 22 on
        (False, 12, [116, 52]),  # one after the other: the send's handler from 16 to 26
        (False, 30, [116, 66]),
    ],
)
def test_a_send_keeps_its_node_from_receiving(
    preempts: bool, sent_at: float, ends: list[float]
) -> None:
    machine = row_of(3, processors="one", preempts=preempts)
    workload = workload_of([(0, 1, 100), (1, 2, 20)], 3, time_s=np.array([0, sent_at * US]))
    assert us(simulate_wormhole(workload, machine)) == pytest.approx(ends, rel=1e-12)


@given(
    st.lists(
        st.tuples(st.integers(0, 15), st.integers(0, 15), st.integers(0, 400)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from(["none", "local", "ready", "barrier"]),
    st.sampled_from([1, 2, None]),
    st.booleans(),
)
def test_a_threshold_nothing_passes_changes_nothing_where_receives_are_there(
    messages: list[Message], sync: str, in_flight: int | None, preempts: bool
) -> None:
    # all receives are there from the start but under local, where those of ranks behind are not
    workload = workload_of(
        messages, 16, phase_offsets=np.array([0, len(messages) // 2, len(messages)])
    )
    machine = replace(
        parse_machine("torus:4x4,hop=1us,signal=3us"),
        costs=replace(ROW, processors="one", preempts=preempts),
    )
    settings = Settings(sync=sync, in_flight=in_flight)
    plain = simulate_wormhole(workload, machine, settings)
    eager = simulate_wormhole(
        workload, replace(machine, costs=replace(machine.costs, eager_B=1e9)), settings
    )
    assert np.all(eager.in_bytes == plain.in_bytes)
    if sync != "local":
        assert eager.end_s.tobytes() == plain.end_s.tobytes()


@given(
    st.lists(
        st.tuples(st.integers(0, 15), st.integers(0, 15), st.integers(0, 400)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from(["none", "local", "barrier"]),
    st.sampled_from([0.0, 50.0, 200.0]),
    st.sampled_from([0.0, 300.0, np.inf]),
    st.sampled_from(["list", "any"]),
)
def test_every_message_is_delivered_once_or_the_circle_is_one(
    messages: list[Message], sync: str, eager: float, buffers: float, order: Any
) -> None:
    workload = workload_of(
        messages, 16, phase_offsets=np.array([0, len(messages) // 2, len(messages)])
    )
    machine = replace(
        parse_machine("torus:4x4"), costs=replace(ROW, eager_B=eager, buffers_B=buffers)
    )
    settings = Settings(sync=sync, in_flight=2, receives=1, receive_order=order)
    try:
        timeline = simulate_wormhole(workload, machine, settings)
    except NoScheduleError as error:
        # from the first message of the circle back to it, each step names who holds what
        cycle = str(error).split("deadlock at ")[1].split(": ", 1)[1]
        assert (
            cycle.startswith("message") and cycle.endswith(cycle.split(" waits")[0])
        ) or "more back" in cycle
        return
    sent = np.bincount(workload.source[workload.crosses], workload.bytes[workload.crosses], 16)
    assert np.array_equal(timeline.out_bytes, sent.astype(np.int64))
    alone = (15 * US + workload.bytes / MB) * workload.crosses
    assert np.all(timeline.end_s - timeline.start_s >= alone * (1 - 1e-12))
