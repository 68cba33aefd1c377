"""Predictions worked out with a pencil.

Who wins, what a half-duplex node takes, what is warned about.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.machine.costs import Costs, Limits, Provenance, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule


def machine_of(topology: Topology, **costs: object) -> Machine:
    return Machine(topology.kind, topology, Routing.default(topology), Costs(**costs))  # type: ignore[arg-type]


def schedule_of(
    machine: Machine, phases: list[list[tuple[int, int, int]]], sync: str = "barrier"
) -> Schedule:
    """Phases of (source, target, bytes); no pair twice."""
    rows = [row for phase in phases for row in phase]
    pattern = Pattern.from_messages(*np.array(rows).reshape(-1, 3).T, machine.topology.endpoints)
    index = {
        (int(s), int(t)): m
        for m, (s, t) in enumerate(zip(pattern.source, pattern.target, strict=True))
    }
    message = [index[s, t] for s, t, _ in rows]
    offsets = np.cumsum([0, *map(len, phases)])
    return Schedule(
        pattern, machine, "hand", Limits(), offsets, np.array(message, np.int32), sync=sync
    )


def shared_link(**costs: object) -> Schedule:
    """Two messages of 10 B over the middle link of a line, 1 B/s, in a phase each."""
    return schedule_of(
        machine_of(Topology.mesh(4), link_Bps=1.0, **costs), [[(0, 2, 10)], [(1, 3, 10)]]
    )


def test_naive_wins_where_barriers_are_dear() -> None:
    schedule = shared_link(synchronization=Synchronization(5.0))
    assert predict(schedule, sync="none").time_s == 20
    assert predict(schedule).time_s == 25


def test_naive_loses_where_messages_block_each_other() -> None:
    schedule = shared_link(synchronization=Synchronization(5.0), blocking=1.0)
    assert predict(schedule, sync="none").time_s == 40, (
        "20 B/(1 B/s), twice as long with 2 where 1 passes unharmed"
    )
    assert predict(schedule, sync="local").time_s == 20, "each phase has its own load"
    assert predict(schedule).time_s == 25
    assert predict(schedule, sync="barrier:2").time_s == 40
    tolerant = shared_link(blocking=1.0, tolerance=2)
    assert predict(tolerant, sync="none").time_s == 20


def test_terms_phases_and_witness_of_a_barrier_schedule() -> None:
    """Set-up 0.5 s, latency 2 s; out of node 0: 10/5 = 2 s; into node 3: 2 · 20/5 = 8 s.

    Out of node 2: 5/5 = 1 s.
    """
    machine = machine_of(
        Topology.crossbar(4),
        inject=Steps((1.0,)),
        eject=Steps((1.0,)),
        port_out_Bps=5.0,
        port_in_Bps=5.0,
        synchronization=Synchronization(1.0, 2.0),
        setup_s=0.5,
    )
    schedule = schedule_of(machine, [[(0, 1, 10)], [(1, 3, 20), (2, 3, 20)], [(2, 0, 5)]])
    prediction = predict(schedule)
    assert prediction.phase_s == pytest.approx([4.5, 15.5, 8.5]), (
        "barriers of 1 + 2 · log2(4) = 5 s before all but the first"
    )
    assert prediction.terms == {"synchronization": 10.0, "setup": 1.5, "transfer": 17.0}
    assert prediction.time_s == 28.5
    assert (prediction.witness_kind, prediction.witness) == ("port in", "phase 1: port into node 3")
    entered = replace(machine, costs=replace(machine.costs, first_barrier=True))
    assert predict(schedule, machine=entered).phase_s == pytest.approx([9.5, 15.5, 8.5])
    pairs = predict(schedule, machine=entered, sync="barrier:2")
    assert pairs.terms == {"synchronization": 10.0, "setup": 1.0, "transfer": 13.0}, (
        "a set-up before the busiest port"
    )
    assert pairs.phase_s == pytest.approx([9.5, 6, 8.5]), "what each phase adds to its group"
    assert pairs.witness == "phases 0 to 1: port into node 3"
    together = predict(schedule, sync="none")
    assert together.terms == {"synchronization": 0.0, "setup": 0.5, "transfer": 10.0}
    assert together.witness == "all phases: port into node 3"
    apart = predict(schedule, sync="local")
    assert apart.phase_s == pytest.approx([4.5, 11 - 4.5, 14 - 11]), (
        "1 → 3 from 5 s on, 2 → 0 when 2 → 3 is over"
    )
    assert apart.terms == {"synchronization": 0.0, "setup": 1.0, "transfer": 13.0}, (
        "two phases of node 0"
    )
    assert apart.witness == "all phases: waiting for partners up to node 0"


def test_ready_adds_a_signal_before_what_waits_for_it() -> None:
    """Node 2 enters phase 1 at once, so that only the first signal is waited for."""
    machine = machine_of(Topology.crossbar(3), port_out_Bps=1.0, signal_s=0.25)
    schedule = schedule_of(machine, [[(0, 1, 4)], [(0, 2, 4)]])
    assert predict(schedule, sync="local").time_s == 8
    assert predict(schedule, sync="ready").time_s == 8.25


@pytest.mark.parametrize(
    ("eager", "sizes", "time_s"),
    [
        (None, (4, 4), 4 + 2 * (1 + 2)),  # both are copied, one after the other, behind the first
        (4.0, (4, 4), 4 + 2 * (1 + 2)),
        (3.0, (4, 4), 4 + 2 * 1),  # both are asked for, and received where they belong
        (3.0, (2, 8), 2 + (1 + 1) + 1),  # of 2 B and 8 B, at the ports: 8 + 1, below
    ],
)
def test_a_detected_message_is_copied_by_its_receiver(
    eager: float | None, sizes: tuple[int, int], time_s: float
) -> None:
    """Two messages to one rank that works 1 s on each, copies at 2 B/s; no policy copies else."""
    machine = machine_of(
        Topology.crossbar(3), port_out_Bps=1.0, receive_overhead=Steps((1.0,)), copy_Bps=2.0
    )
    machine = replace(machine, costs=replace(machine.costs, eager_B=eager))
    schedule = schedule_of(machine, [[(0, 2, sizes[0])], [(1, 2, sizes[1])]])
    expected = max(time_s, sizes[1] + 1.0)
    assert predict(schedule, sync="detect").time_s == expected
    assert conset.simulate(schedule, sync="detect").time_s == pytest.approx(expected)
    assert predict(schedule, sync="none").time_s <= expected
    unbuffered = replace(machine, costs=replace(machine.costs, buffers_B=3.0))
    narrow = replace(schedule, machine=unbuffered)
    copied = [size for size in sizes if size <= (8 if eager is None else eager)]
    if max(copied, default=0) > 3:
        assert "must fit a system buffer" in predict(narrow, sync="detect").warnings[0]
        with pytest.raises(InputError, match="must fit a system buffer"):
            conset.simulate(narrow, sync="detect")
    else:
        assert conset.simulate(narrow, sync="detect").time_s == pytest.approx(expected)


@pytest.mark.parametrize(("buffers", "time_s"), [(12.0, 4 + 3 * 3), (4.0, 3 * (4 + 3))])
def test_a_full_buffer_holds_up_what_is_detected(buffers: float, time_s: float) -> None:
    """Three messages of 4 s to one rank that takes 3 s on each; where one fills the buffer, the
    bytes of the next flow once it is copied."""
    machine = machine_of(
        Topology.crossbar(4), port_out_Bps=1.0, receive_overhead=Steps((1.0,)), copy_Bps=2.0
    )
    machine = replace(machine, costs=replace(machine.costs, eager_B=4.0, buffers_B=buffers))
    schedule = schedule_of(machine, [[(0, 3, 4), (1, 3, 4), (2, 3, 4)]])
    assert predict(schedule, sync="detect").time_s == 4 + 3 * 3
    assert conset.simulate(schedule, sync="detect").time_s == pytest.approx(time_s)


def test_an_ordered_chain_is_copied_at_every_rank() -> None:
    machine = machine_of(
        Topology.crossbar(4), port_out_Bps=1.0, receive_overhead=Steps((1.0,)), copy_Bps=2.0
    )
    schedule = schedule_of(machine, [[(0, 1, 4), (1, 2, 2), (2, 3, 8)]])
    pattern = replace(schedule.pattern, before=np.array([[0, 1], [1, 2]]))
    schedule = replace(schedule, pattern=pattern)
    for sync, copied in (("none", 0), ("detect", (4 + 2 + 8) / 2)):
        expected = 4 + 2 + 8 + 3 * 1 + copied
        assert predict(schedule, sync=sync).time_s == pytest.approx(expected)
        assert conset.simulate(schedule, sync=sync).time_s == pytest.approx(expected)


def half_duplex() -> Machine:
    """In the image of the iPSC/860.

    One rate in and out together, a synchronized exchange counts half.
    """
    return machine_of(
        Topology.hypercube(2),
        inject=Steps((3.0,)),
        eject=Steps((3.0,)),
        port_out_Bps=1.0,
        port_in_Bps=1.0,
        node_Bps=1.0,
        exchange_weight=0.5,
        exchange_syncs=("ready",),
    )


def test_an_exchange_of_a_half_duplex_node() -> None:
    exchange = schedule_of(half_duplex(), [[(0, 1, 10), (1, 0, 10)]])
    assert predict(exchange, sync="ready").time_s == 6 + 10, "both directions overlap"
    assert predict(exchange, sync="local").time_s == 6 + 20, "not synchronized: one after the other"
    uneven = schedule_of(half_duplex(), [[(0, 1, 10), (1, 0, 4)]])
    assert predict(uneven, sync="ready").time_s == 6 + 10, (
        "4 of 10 bytes meet, the longer message decides"
    )
    apart = schedule_of(half_duplex(), [[(0, 1, 10)], [(1, 0, 10)]])
    assert predict(apart, sync="ready").time_s == 2 * (6 + 10), "in different phases nothing meets"
    ring = schedule_of(half_duplex(), [[(0, 1, 10), (1, 3, 10), (3, 0, 10)]])
    assert predict(ring, sync="ready").time_s == 6 + 20, (
        "a permutation that is no exchange takes two units"
    )
    assert predict(ring, sync="ready").witness == "phase 0: both ports of node 0"
    crowd = schedule_of(half_duplex(), [[(0, 1, 10), (1, 0, 10), (0, 2, 10), (2, 0, 10)]])
    assert predict(crowd, sync="ready").time_s == 6 + 40, (
        "a node with two partners at once synchronizes with neither"
    )


def test_width_and_rates_of_links() -> None:
    wide = machine_of(Topology.mesh(4, width=2), link_Bps=1.0, blocking=1.0)
    assert predict(schedule_of(wide, [[(0, 2, 10), (1, 3, 10)]])).time_s == 10, (
        "two messages on a link of width 2"
    )


def test_nothing_to_send_takes_no_time() -> None:
    machine = machine_of(
        Topology.mesh(2), setup_s=1.0, synchronization=Synchronization(1.0), first_barrier=True
    )
    empty = Schedule(
        Pattern.from_messages([], [], [], 2),
        machine,
        "hand",
        Limits(),
        np.array([0]),
        np.zeros(0, np.int32),
    )
    for sync in ("none", "local", "ready", "barrier", "barrier:4"):
        prediction = predict(empty, sync=sync)
        assert (prediction.time_s, prediction.phase_s.size, prediction.witness) == (
            0.0,
            0,
            "no messages",
        )


def test_messages_inside_a_node_are_copied_and_have_no_latency() -> None:
    machine = machine_of(
        Topology.mesh(2),
        setup_s=1.0,
        inject=Steps((7.0,)),
        send_overhead=Steps((2.0,)),
        receive_overhead=Steps((3.0,)),
        copy_Bps=50.0,
    )
    pattern = Pattern.from_messages([0], [1], [100], 2)
    inside = Schedule(
        pattern,
        machine,
        "hand",
        Limits(),
        np.array([0, 1]),
        np.array([0]),
        placement=np.array([1, 1], np.int32),
    )
    prediction = predict(inside)
    assert (prediction.time_s, prediction.witness_kind) == (1 + 2 + 100 / 50 + 3, "message")
    assert prediction.terms["setup"] == 1.0


def test_warnings() -> None:
    tags = {"synchronization": Provenance("unknown")}
    machine = machine_of(Topology.crossbar(3), size_range_B=(64.0, 1024.0), provenance=tags)
    schedule = schedule_of(machine, [[(0, 1, 16)], [(1, 2, 2048)]])
    assert predict(schedule).warnings == (
        "crossbar: its numbers are for messages from 64 B to 1 KiB, given 16 B to 2 KiB",
        "crossbar: the cost of a barrier is unknown, charged as 0 s, 1 in all",
    )
    assert len(predict(schedule, sync="none").warnings) == 1
    assert predict(schedule_of(machine, [[(0, 1, 64)]], sync="none")).warnings == ()


def test_another_machine_keeps_routes_only_on_the_same_network() -> None:
    """A detour over node 3 of the way from 0 to 1 loads other links than the machine's own
    route."""
    ring = machine_of(Topology.ring(4), link_Bps=1.0)
    schedule = schedule_of(ring, [[(0, 1, 10)]])
    detour = replace(schedule, route_offsets=np.array([0, 4]), route_nodes=np.array([0, 3, 2, 1]))
    assert predict(detour).witness == "phase 0: link 0 → 3"
    faster = machine_of(Topology.ring(4), link_Bps=5.0)
    assert (predict(detour, machine=faster).time_s, predict(detour, machine=faster).witness) == (
        2,
        "phase 0: link 0 → 3",
    )
    line = machine_of(Topology.mesh(4), link_Bps=5.0)
    assert predict(detour, machine=line).witness == "phase 0: link 0 → 1"
    assert predict(detour, machine=line).machine == "mesh"


def test_another_machine_must_have_the_nodes() -> None:
    schedule = schedule_of(machine_of(Topology.ring(4)), [[(0, 1, 10)]])
    with pytest.raises(InputError, match="rank 3 is on node 3 of ring: crossbar has 2 endpoints"):
        predict(schedule, machine=machine_of(Topology.crossbar(2)))
    with pytest.raises(UsageError, match="unknown sync"):
        predict(schedule, sync="bariers")


def test_a_synchronized_exchange_counts_at_least_half() -> None:
    with pytest.raises(InputError, match=r"exchange_weight = 0\.4: must be at least 0\.5"):
        Costs(exchange_weight=0.4)
