"""Wormhole and circuit.

Worked examples to the digit, deadlocks with their wait-for cycle, policies, what always holds.

Times of the examples are from a prototype and were computed with a pencil first
(`../shared/notes/machines.md` 2.5, `../shared/golden/machines/examples.csv`); one from an older one
(`../shared/notes/simulators.md` 3).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.machine.costs import Costs, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.models.wormhole import datelines, simulate_circuit, simulate_wormhole

US, MB = 1e-6, 1e6
Message = tuple[int, int, int]


def machine_of(topology: Topology, costs: Costs) -> Machine:
    return Machine("machine", topology, Routing.default(topology), costs)


def workload_of(messages: Sequence[Message], nodes: int, **more: Any) -> Workload:
    columns = np.array(messages, np.int64).reshape(-1, 3).T
    return Workload(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], nodes, **more
    )


def one_phase(messages: Sequence[Message], nodes: int) -> Workload:
    return workload_of(messages, nodes, phase_offsets=np.array([0, len(messages)]))


def us(timeline: Timeline) -> NDArray[np.float64]:
    return timeline.end_s / US


ROW = Costs(
    send_overhead=Steps((10 * US,)),
    receive_overhead=Steps((5 * US,)),
    port_out_Bps=MB,
    port_in_Bps=MB,
    link_Bps=2 * MB,
    hop_s=US,
    receive="before",
)
CUBE = Costs(
    send_overhead=Steps((10 * US,)),
    receive_overhead=Steps((10 * US,)),
    port_out_Bps=MB,
    port_in_Bps=MB,
    node_Bps=MB,
    exchange_weight=0.5,
    exchange_syncs=("ready",),
    link_Bps=MB,
    hop_s=2 * US,
    signal_s=10 * US,
    processors="one",
    receive="before",
)
RING = Costs(
    send_overhead=Steps((US,)),
    port_out_Bps=MB,
    port_in_Bps=MB,
    link_Bps=MB,
    hop_s=US,
    receive="before",
)
ROW_MESSAGES = [(0, 3, 100), (1, 2, 60), (0, 1, 40), (2, 3, 20)]
RING_MESSAGES = [(0, 2, 10), (1, 3, 10), (2, 0, 10), (3, 1, 10)]


def one_way_ring(nodes: int) -> Topology:
    source = np.arange(nodes, dtype=np.int32)
    return Topology("graph", (), nodes, nodes, source, (source + 1) % nodes)


@pytest.mark.parametrize(
    ("lanes", "link", "ends"),
    [(1, 2, [183, 76, 239, 36]), (2, 2, [141, 76, 197, 36]), (2, 1, [176, 111, 232, 36])],
)
def test_row_of_four(lanes: int, link: float, ends: list[float]) -> None:
    machine = machine_of(Topology.mesh(1, 4), replace(ROW, link_Bps=link * MB))
    settings = Settings(in_flight=1, receives=1, lanes=lanes)
    timeline = simulate_wormhole(workload_of(ROW_MESSAGES, 4), machine, settings)
    assert us(timeline) == pytest.approx(ends, rel=1e-12)
    assert timeline.model == "wormhole"


@pytest.mark.parametrize(
    ("sync", "messages", "ends"),
    [
        ("ready", [(0, 3, 100), (3, 0, 100)], [138, 138]),
        ("none", [(0, 3, 100), (3, 0, 100)], [224, 224]),
        ("ready", [(0, 1, 100), (1, 3, 100), (3, 0, 100)], [234, 234, 236]),
        ("none", [(0, 1, 100), (1, 3, 100), (3, 0, 100)], [222, 222, 223]),
        ("none", [(0, 3, 100), (1, 3, 50), (5, 7, 10), (0, 4, 10)], [184, 72, 32, 216]),
    ],
)
def test_circuits_in_a_cube(sync: str, messages: list[Message], ends: list[float]) -> None:
    machine = machine_of(Topology.hypercube(3), CUBE)
    timeline = simulate_circuit(
        one_phase(messages, 8), machine, Settings(sync=sync, in_flight=1, receives=1)
    )
    assert us(timeline) == pytest.approx(ends, rel=1e-12)
    assert timeline.model == "circuit"


def test_one_way_ring_deadlocks_and_says_how() -> None:
    machine = machine_of(one_way_ring(4), RING)
    with pytest.raises(NoScheduleError) as caught:
        simulate_wormhole(workload_of(RING_MESSAGES, 4), machine, Settings(lanes=1))
    # links of the graph: 0 → 1, 1 → 2, 2 → 3, 3 → 0; at 2 us each header asks for the link the next
    # one has
    assert str(caught.value) == (
        "workload on machine: deadlock at 2 us: message 0 (0 → 2) waits for link 1 → 2 of "
        "message 1 (1 → 3), "
        "which waits for link 2 → 3 of message 2 (2 → 0), which waits for link 3 → 0 of "
        "message 3 (3 → 1), "
        "which waits for link 0 → 1 of message 0 (0 → 2)"
    )


def test_two_lanes_end_the_deadlock() -> None:
    timeline = simulate_wormhole(
        workload_of(RING_MESSAGES, 4), machine_of(one_way_ring(4), RING), Settings(lanes=2)
    )
    assert us(timeline) == pytest.approx([23] * 4, rel=1e-12)


def test_datelines_keep_a_ring_from_deadlock() -> None:
    machine = replace(parse_machine("ring:4,tie=plus"), costs=RING)
    timeline = simulate_wormhole(workload_of(RING_MESSAGES, 4), machine)
    assert timeline.figures["pools"] == 2
    with pytest.raises(NoScheduleError, match="deadlock at 2 us"):
        simulate_circuit(workload_of(RING_MESSAGES, 4), machine)


def test_datelines_are_the_links_that_close_rings() -> None:
    topology = Topology.torus(2, 4)
    marked = np.flatnonzero(datelines(topology, Routing.default(topology)))
    assert [topology.link_name(k) for k in marked] == [
        "link 0 (0, 0) → 3 (0, 3)",
        "link 3 (0, 3) → 0 (0, 0)",
        "link 4 (1, 0) → 7 (1, 3)",
        "link 7 (1, 3) → 4 (1, 0)",
    ]
    assert not datelines(topology, Routing("no-wrap")).size
    assert not datelines(Topology.mesh(4, 4), Routing("dimension-order")).size


def test_message_passing_on_iwarp() -> None:
    # simulators.md 3: 8x8, row 0, 100 words of 4 B, one in flight; clocks of 50 ns
    iwarp = parse_machine("iwarp:8x8")
    workload = workload_of([(0, 2, 400), (1, 3, 400), (3, 1, 400), (7, 1, 400)], 64, method="naive")
    timeline = simulate_wormhole(workload, iwarp, Settings(in_flight=1, receives=1))
    assert timeline.end_s / 50e-9 == pytest.approx([1808, 1008, 1008, 1804], rel=1e-12)
    assert (timeline.figures["lanes"], timeline.figures["pools"]) == (1, 3)


def test_the_stored_examples_are_these(shared_golden: Path) -> None:
    with (shared_golden / "machines" / "examples.csv").open() as file:
        ends = [row["ends_us"] for row in csv.DictReader(file)]
    assert ends == [
        "183;76;229;36",
        "141;76;187;36",
        "176;111;222;36",
        "183;76;239;36",
        "138;138",
        "224;224",
        "234;234;236",
        "222;222;223",
        "184;72;32;216",
        "deadlock at 2: 0>1>2>3>0 (message indices)",
        "23;23;23;23",
    ]


@pytest.mark.parametrize("model", ["wormhole", "circuit"])
@pytest.mark.parametrize(
    "spec", ["mesh:4x4", "torus:5x5", "hypercube:4", "crossbar:16", "paragon:4x4", "delta:4x4"]
)
def test_alone(model: str, spec: str) -> None:
    # closed form 1: overheads + latencies + bytes / min(out, in, node, link)
    machine = parse_machine(spec)
    costs = machine.costs
    size = 10_000
    timeline = find_model(model).simulate(
        workload_of([(0, 15, size)], machine.topology.nodes), machine, Settings()
    )
    hops = {
        "mesh:4x4": 6,
        "torus:5x5": 2,
        "hypercube:4": 4,
        "crossbar:16": 0,
        "paragon:4x4": 6,
        "delta:4x4": 6,
    }[spec]
    if spec == "torus:5x5":  # node 15 is (3, 0): two up the other way
        assert machine.topology.coordinates[15].tolist() == [3, 0]
    link = costs.link_Bps if hops else np.inf
    rate = min(costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps, link)
    overheads = costs.send_overhead.at(size) + costs.receive_overhead.at(size)
    expected = (
        overheads + costs.inject.at(size) + costs.eject.at(size) + hops * costs.hop_s + size / rate
    )
    assert timeline.time_s == pytest.approx(expected, rel=1e-12)


def test_zero_bytes_and_messages_to_oneself() -> None:
    machine = machine_of(Topology.mesh(1, 4), ROW)
    timeline = simulate_wormhole(workload_of([(0, 3, 0), (2, 2, 50)], 4), machine)
    # three hops and overheads; overheads alone
    assert us(timeline) == pytest.approx([10 + 3 + 5, 10 + 5], rel=1e-12)
    assert timeline.out_bytes.tolist() == [0, 0, 0, 0]


def test_a_cheaper_hop_for_short_messages() -> None:
    hops = Steps((US, 3 * US), (100.0, np.inf))
    machine = machine_of(Topology.mesh(1, 4), replace(ROW, hop_by_size=hops))
    timeline = simulate_wormhole(workload_of([(0, 2, 100), (3, 1, 101)], 4), machine)
    assert us(timeline) == pytest.approx([10 + 2 + 5 + 100, 10 + 6 + 5 + 101], rel=1e-12)


def test_receive_overhead_after_the_path_is_free() -> None:
    # both to node 2 by one ejection channel: the second streams while the first one's overhead is
    # paid
    costs = replace(ROW, hop_s=0.0)
    messages = [(1, 2, 100), (3, 2, 100)]
    before = simulate_wormhole(
        workload_of(messages, 4), machine_of(Topology.mesh(1, 4), costs), Settings(receives=1)
    )
    after_costs = replace(costs, receive="after")
    after = simulate_wormhole(
        workload_of(messages, 4), machine_of(Topology.mesh(1, 4), after_costs), Settings(receives=1)
    )
    assert us(before) == pytest.approx([115, 220], rel=1e-12)
    assert us(after) == pytest.approx([115, 215], rel=1e-12)


def test_setup_is_paid_with_the_first_message_of_a_phase() -> None:
    costs = replace(ROW, setup_s=7 * US, hop_s=0.0)
    workload = workload_of(
        [(0, 1, 10), (0, 1, 10), (0, 1, 10)], 2, phase_offsets=np.array([0, 2, 3])
    )
    timeline = simulate_wormhole(
        workload, machine_of(Topology.mesh(1, 2), costs), Settings(in_flight=1)
    )
    # each 10 + 5 + 10 one after the other, and 7 before the first and the third
    assert us(timeline) == pytest.approx([32, 57, 89], rel=1e-12)


@pytest.mark.parametrize(
    ("sync", "first", "ends"),
    [
        ("barrier", True, [150, 300, 425]),
        ("barrier", False, [50, 200, 325]),
        ("barrier:2", True, [150, 300, 325]),
        ("none", True, [50, 100, 125]),
    ],
)
def test_barriers(sync: str, first: bool, ends: list[float]) -> None:
    # from node 0 to 1 in phases 0, 2 and 3: alone 15 + 35, 15 + 35, 15 + 10; an empty phase costs
    # no barrier of 100
    costs = replace(ROW, hop_s=0.0, synchronization=Synchronization(100 * US), first_barrier=first)
    workload = workload_of(
        [(0, 1, 35), (0, 1, 35), (0, 1, 10)], 2, phase_offsets=np.array([0, 1, 1, 2, 3])
    )
    timeline = simulate_wormhole(
        workload, machine_of(Topology.mesh(1, 2), costs), Settings(sync=sync, in_flight=1)
    )
    assert us(timeline) == pytest.approx(ends, rel=1e-12)


def test_local_waits_for_its_own_receives_only() -> None:
    # phase 0: 0 → 1 long, 2 → 3 short; phase 1: 1 → 2 (1 waits for its receive), 3 → 2 (3 is done
    # early)
    costs = replace(ROW, hop_s=0.0, send_overhead=Steps(), receive_overhead=Steps())
    messages = [(0, 1, 100), (2, 3, 10), (1, 2, 10), (3, 2, 10)]
    workload = workload_of(messages, 4, phase_offsets=np.array([0, 2, 4]))
    machine = machine_of(Topology.mesh(1, 4), costs)
    assert us(simulate_wormhole(workload, machine, Settings(sync="local"))) == pytest.approx(
        [100, 10, 110, 20]
    )
    assert us(simulate_wormhole(workload, machine, Settings(sync="none"))) == pytest.approx(
        [100, 10, 20, 20]
    )


def test_receives_of_ranks_that_are_ahead_count_later() -> None:
    # node 1 gets phase 1's message while it is still in phase 0, and then sends in phase 2
    costs = replace(ROW, hop_s=0.0, send_overhead=Steps(), receive_overhead=Steps())
    workload = workload_of(
        [(1, 2, 100), (0, 1, 10), (1, 0, 10)], 3, phase_offsets=np.array([0, 1, 2, 3])
    )
    timeline = simulate_wormhole(
        workload, machine_of(Topology.mesh(1, 3), costs), Settings(sync="local")
    )
    assert us(timeline) == pytest.approx([100, 10, 110], rel=1e-12)


def test_dependencies_and_release_times() -> None:
    costs = replace(ROW, hop_s=0.0, send_overhead=Steps(), receive_overhead=Steps())
    workload = workload_of(
        [(0, 1, 10), (1, 2, 10), (0, 2, 10)],
        3,
        time_s=np.array([0, 0, 50 * US]),
        dep_offsets=np.array([0, 0, 1, 2]),
        deps=np.array([0, 1]),
    )
    timeline = simulate_wormhole(workload, machine_of(Topology.mesh(1, 3), costs))
    assert us(timeline) == pytest.approx([10, 20, 60], rel=1e-12)
    cycle = replace(workload, dep_offsets=np.array([0, 1, 2, 2]), deps=np.array([1, 0]))
    with pytest.raises(
        NoScheduleError,
        match=r"message 0 \(0 → 1\) waits for the delivery of message 1 \(1 → 2\), ",
    ):
        simulate_wormhole(cycle, machine_of(Topology.mesh(1, 3), costs))


def test_receives_in_list_order_may_deadlock() -> None:
    # node 0's list has the far message first, its own sends are in the other order
    costs = replace(ROW, hop_s=0.0, send_overhead=Steps(), receive_overhead=Steps())
    machine = machine_of(Topology.mesh(1, 3), costs)
    workload = workload_of([(2, 0, 10), (1, 0, 100)], 3)
    ordered = simulate_wormhole(workload, machine, Settings(receives=1, receive_order="list"))
    assert us(ordered) == pytest.approx([10, 110], rel=1e-12)
    crossed = workload_of([(1, 0, 10), (1, 2, 10), (0, 2, 10)], 3, order=np.array([1, 0, 2]))
    assert (
        us(
            simulate_wormhole(
                crossed, machine, Settings(in_flight=1, receives=1, receive_order="any")
            )
        ).max()
        < 40
    )
    # 1's first send waits for its turn at 2 behind a message that waits for 1's second one
    waiting = replace(
        crossed, order=np.array([2, 1, 0]), dep_offsets=np.array([0, 0, 0, 1]), deps=np.array([0])
    )
    with pytest.raises(
        NoScheduleError, match=r"waits for a receive at node 2 \(0, 2\) of message 2"
    ):
        simulate_wormhole(waiting, machine, Settings(in_flight=1, receives=1, receive_order="list"))


def test_too_many_receives_are_infeasible() -> None:
    # 003 sections 6 and 7: naive on 16x16 fails on the Paragon, groups of node contention 128 run
    paragon = parse_machine("paragon:16x16")
    others = [(node, 0, 8) for node in range(1, 200)]
    with pytest.raises(
        InputError, match="would have 199 receives posted under sync none, paragon:16x16 allows 192"
    ):
        simulate_wormhole(workload_of(others, 256), paragon, Settings.of(paragon.costs))
    offsets = np.array([0, 100, 199])
    phased = workload_of(others, 256, phase_offsets=offsets)
    assert (
        simulate_wormhole(phased, paragon, Settings.of(paragon.costs, sync="barrier")).messages
        == 199
    )


def test_a_circuit_has_one_lane() -> None:
    with pytest.raises(UsageError, match="lanes 2: a circuit has its links alone, must be 1"):
        simulate_circuit(workload_of([(0, 1, 1)], 4), parse_machine("mesh:2x2"), Settings(lanes=2))


def random_workload(rng: np.random.Generator, nodes: int, messages: int, phases: int) -> Workload:
    rows = np.stack(
        [
            rng.integers(nodes, size=messages),
            rng.integers(nodes, size=messages),
            rng.integers(0, 3000, size=messages),
        ],
        axis=1,
    )
    cuts = np.sort(rng.integers(0, messages + 1, size=phases - 1))
    return workload_of(
        [tuple(row) for row in rows.tolist()],
        nodes,
        phase_offsets=np.concatenate([[0], cuts, [messages]]),
    )


@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier:2"])
@pytest.mark.parametrize(
    "spec", ["torus:4x4", "mesh:4x4", "hypercube:4", "ipsc860:16", "delta:4x4", "iwarp:4x4"]
)
def test_no_resource_is_above_its_rate_and_every_byte_arrives(spec: str, sync: str) -> None:
    machine = parse_machine(spec)
    rng = np.random.default_rng([len(spec), len(sync)])
    workload = random_workload(rng, 16, 150, 5)
    settings = Settings.of(machine.costs, sync=sync, record=True, lanes=2)
    timeline = simulate_wormhole(workload, machine, settings)
    assert timeline.rates is not None
    rate, sent, since, now = np.zeros(150), np.zeros(150), np.zeros(150), -1.0
    weight = np.where(sync in machine.costs.exchange_syncs, machine.costs.exchange_weight, 1.0)
    for k, (time, m, new) in enumerate(
        zip(timeline.rates.time_s, timeline.rates.message, timeline.rates.rate_Bps, strict=True)
    ):
        assert time >= now
        now = time
        sent[m] += rate[m] * (time - since[m])
        rate[m], since[m] = new, time
        if k + 1 < timeline.rates.time_s.size and timeline.rates.time_s[k + 1] == time:
            continue
        out = np.bincount(workload.source, rate, 16)
        into = np.bincount(workload.target, rate, 16)
        assert out.max() <= machine.costs.port_out_Bps * (1 + 1e-9)
        assert into.max() <= machine.costs.port_in_Bps * (1 + 1e-9)
        assert (weight * (out + into)).max() <= machine.costs.node_Bps * (1 + 1e-9)
    assert np.allclose(
        sent[workload.crosses], workload.bytes[workload.crosses], rtol=1e-9, atol=1e-6
    )
    assert timeline.link_busy_s.max() <= timeline.time_s
    assert np.all(timeline.end_s >= timeline.start_s)


def test_same_input_same_bytes() -> None:
    machine = parse_machine("paragon:4x4")
    workload = random_workload(np.random.default_rng(3), 16, 400, 7)
    one, two = (
        simulate_wormhole(workload, machine, Settings.of(machine.costs, sync="local"))
        for _ in range(2)
    )
    assert one.end_s.tobytes() == two.end_s.tobytes()
    assert one.held_by.tobytes() == two.held_by.tobytes()


def test_where_headers_waited() -> None:
    machine = machine_of(Topology.mesh(1, 4), ROW)
    timeline = simulate_wormhole(
        workload_of(ROW_MESSAGES, 4), machine, Settings(lanes=1, in_flight=1, receives=1)
    )
    slots = machine.topology.link_slots
    names = [
        machine.topology.link_name(k) if 0 <= k < slots else k - slots for k in timeline.held_by
    ]
    # A for link 1 → 2 from 11 to 76; C has no header before its slot is free
    assert names == ["link 1 (0, 1) → 2 (0, 2)", -1 - slots, -1 - slots, -1 - slots]
    assert timeline.figures["blocked_s"] == pytest.approx(65 * US, rel=1e-12)
