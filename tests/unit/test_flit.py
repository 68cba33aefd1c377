"""Flit level against an obvious slow one, and what surrounds it.

Policies, idle time, wait-for cycles.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conset.base.errors import InputError, NoScheduleError
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.machine.spec import parse_machine
from conset.models import Timeline, Workload
from conset.models.flit import simulate_flit
from conset.models.settings import Settings
from support.slow_flit import slow_flit

BARE = ",tie=plus,link=16GB/s,flit=16"


def random_workload(machine: Machine, messages: int, seed: int) -> Workload:
    random = np.random.default_rng(seed)
    nodes = machine.topology.nodes
    count = random.integers(0, 3, messages) * (random.random(messages) < 0.4)
    count = np.minimum(count, np.arange(messages))
    deps = [random.integers(0, m, count[m]) for m in range(messages)]
    return Workload(
        random.integers(nodes, size=messages),
        random.integers(nodes, size=messages),
        random.integers(0, random.choice([40, 400, 1500]), messages),
        nodes,
        random.integers(0, 60, messages) * 1e-9,
        np.concatenate([[0], np.cumsum(count)]),
        np.concatenate([np.zeros(0, np.int64), *deps]).astype(np.int32),
    )


@pytest.mark.parametrize(
    ("network", "lanes"),
    [
        ("torus:4x4", 4),
        ("mesh:3x3", 4),
        ("torus:3x3x3", 4),
        ("mesh:4x2", 1),
        ("ring:6", 2),
        ("torus:5x3", 3),
        ("hypercube:4", 4),
        ("torus:4x4,tie=parity", 6),
        ("mesh:5", 4),
    ],
)
def test_equal_to_the_slow_one(network: str, lanes: int) -> None:
    machine = parse_machine(network + (BARE if "tie" not in network else BARE[9:]))
    for seed in range(3):
        workload = random_workload(machine, 50, seed)
        fast = simulate_flit(workload, machine, Settings(lanes=lanes))
        assert np.round(fast.end_s * 1e9).astype(int).tolist() == slow_flit(
            workload, machine, lanes
        ), seed


def trace(
    machine: Machine, *messages: tuple[int, ...], deps: tuple[tuple[int, int], ...] = ()
) -> Workload:
    """Messages (source, target, bytes[, cycle]) and pairs (message, what it waits for)."""
    rows = np.array([(*message, 0)[:4] for message in messages])
    after = [[d for m, d in deps if m == k] for k in range(len(messages))]
    return Workload(
        rows[:, 0],
        rows[:, 1],
        rows[:, 2],
        machine.topology.nodes,
        rows[:, 3] * 1e-9,
        np.cumsum([0, *map(len, after)]),
        np.array([d for each in after for d in each], np.int32),
    )


def ends(timeline: Timeline) -> list[int]:
    return np.round(timeline.end_s * 1e9).astype(int).tolist()


LINE = parse_machine("mesh:4" + BARE + ",overhead=0,hop=0,synchronization=50ns,setup=0,signal=20ns")


def test_figures_of_links_and_ports() -> None:
    timeline = simulate_flit(trace(LINE, (0, 2, 100), (1, 2, 20), (3, 3, 64)), LINE)
    assert timeline.link_bytes[[0, 2]].tolist() == [100, 120]
    np.testing.assert_allclose(timeline.link_busy_s[[0, 2]], [7e-9, 9e-9])
    assert timeline.out_bytes.tolist() == [100, 20, 0, 0]
    assert timeline.in_bytes.tolist() == [0, 0, 120, 0]
    assert timeline.figures["flit_hops"] == 7 * 2 + 2
    assert timeline.figures["flits"] == 7 + 2 + 4


def test_idle_time_is_skipped() -> None:
    timeline = simulate_flit(trace(LINE, (0, 1, 16, 10**9), (0, 1, 16, 2 * 10**9)), LINE)
    assert ends(timeline) == [10**9 + 10, 2 * 10**9 + 10]
    assert timeline.elapsed_s < 1


def test_one_in_flight() -> None:
    workload = trace(LINE, (0, 1, 160), (0, 1, 160))
    alone = 5 + 4 + 10
    assert ends(simulate_flit(workload, LINE))[1] == alone + 10
    assert ends(simulate_flit(workload, LINE, Settings(in_flight=1)))[1] == 2 * alone + 1


def phased() -> Workload:
    """Phase 0: 0 → 1 and 2 → 3; phase 1: 1 → 0; phase 2: nothing; phase 3: 3 → 2."""
    return Workload(
        np.array([0, 2, 1, 3]),
        np.array([1, 3, 0, 2]),
        np.array([160, 320, 160, 160]),
        4,
        phase_offsets=np.array([0, 2, 3, 3, 4]),
    )


@pytest.mark.parametrize(
    ("sync", "expected"),
    [
        ("none", [19, 29, 19, 19]),
        # 29 + 50 opens phase 1; its 19 and another 50 open phase 3, as the empty one costs nothing
        ("barrier", [19, 29, 98, 167]),
        ("barrier:2", [19, 29, 19, 98]),
        # a node goes on in the cycle after its last delivery
        ("local", [19, 29, 39, 49]),
        # the first signals arrive at 20; 0 signals 1 when message 0 is delivered at 39, 2 signals 3
        # at 49
        ("ready", [39, 49, 78, 88]),
    ],
)
def test_policies(sync: str, expected: list[int]) -> None:
    assert ends(simulate_flit(phased(), LINE, Settings(sync=sync))) == expected


def test_set_up_is_paid_when_a_phase_is_entered() -> None:
    machine = parse_machine("mesh:4" + BARE + ",setup=7ns")
    assert ends(simulate_flit(phased(), machine, Settings(sync="local"))) == [
        26,
        36,
        26 + 7 + 19,
        36 + 7 + 19,
    ]


def test_a_circle_of_dependencies_is_named() -> None:
    workload = trace(LINE, (0, 1, 16), (1, 2, 16), (2, 3, 16), deps=((0, 2), (1, 0), (2, 1)))
    words = (
        r"deadlock after cycle \d+: message 0 \(.*\) waits for the delivery of message 2 .*, "
        r"which .* message 1 .*, "
    )
    with pytest.raises(NoScheduleError, match=words + r"which waits for the delivery of message 0"):
        simulate_flit(workload, LINE)


def test_a_circle_through_a_list_is_named() -> None:
    """0 waits for 2, which stands behind 1 in the list that slots make, which waits for 0."""
    workload = trace(LINE, (0, 1, 16), (1, 0, 16), (1, 2, 16), deps=((0, 2), (1, 0)))
    words = (
        r"deadlock after cycle \d+: message 0 \(.*\) waits for the delivery of message 2 .*, "
        r"which .* message 1 .*, "
    )
    with pytest.raises(NoScheduleError, match=words + r"which waits for the delivery of message 0"):
        simulate_flit(workload, LINE, Settings(in_flight=2))


def test_a_deadlock_of_lanes_is_named() -> None:
    """Four worms round a square, each holding the link that the one behind it needs.

    Routes are the trace's own.
    """
    machine = parse_machine("mesh:2x2" + BARE)
    _, clockwise = route_links(
        machine.topology,
        machine.routing,
        np.array([0, 1, 3, 2], np.int32),
        np.array([1, 3, 2, 0], np.int32),
    )
    links = np.stack([clockwise, np.roll(clockwise, -1)], axis=1).ravel()
    worms = Workload(
        np.array([0, 1, 3, 2]),
        np.array([3, 2, 0, 1]),
        np.full(4, 1600),
        4,
        link_offsets=np.arange(0, 9, 2),
        links=links,
    )
    words = (
        r"message 0 \(0 → 3\) waits for virtual channel 0 of link 1 \(0, 1\) → 3 \(1, 1\) of "
        r"message 1 \(1 → 2\), which"
    )
    with pytest.raises(NoScheduleError, match=words):
        simulate_flit(worms, machine, Settings(lanes=1))
    assert max(ends(simulate_flit(worms, machine, Settings(lanes=2)))) < 500


@pytest.mark.parametrize(
    ("network", "lanes", "words"),
    [
        ("crossbar:4", 4, "has no links"),
        ("torus:4x4", 1, "rings need at least 2"),
        ("hypercube:6", 10, "7 ports of a router of hypercube:6 are 70: must be at most 63"),
        ("mesh:4x4,width=2", 4, "2 wide"),
    ],
)
def test_networks_outside_the_domain(network: str, lanes: int, words: str) -> None:
    machine = parse_machine(network)
    with pytest.raises(InputError, match=words):
        simulate_flit(trace(machine, (0, 1, 16)), machine, Settings(lanes=lanes))


def test_two_simulations_run_at_the_same_time() -> None:
    """Each has its thread, and neither sees anything of the other."""
    machine = parse_machine("torus:4x4" + BARE)
    workloads = [random_workload(machine, 400, seed) for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        together = [*pool.map(lambda work: ends(simulate_flit(work, machine)), workloads)]
    assert together == [ends(simulate_flit(work, machine)) for work in workloads]


def test_no_messages() -> None:
    assert simulate_flit(Workload(np.zeros(0), np.zeros(0), np.zeros(0), 4), LINE).time_s == 0
