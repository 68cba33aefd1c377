"""Sets of connections on iWarp.

The figures of the notes, each with its derivation or its prototype.

Source: notes on routing and scheduling, §1 (a route takes a channel in every node it visits, both
ends included) and `golden/result_phases_*.csv`, measured by prototypes implemented twice. Bounds by
counting: an h-hop route takes h + 1 channels, 8 × 8 nodes have 64 · 12 = 768 a phase. The phases of
the ConSet text: 30 for the all-to-all (its router), 1 for the torus pattern, 2 for the butterfly at
12 channels and 1 at 16 with a Gray code.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from conset.machine.costs import Limits
from conset.machine.network.routes import route_nodes
from conset.machine.network.routing import Routing
from conset.machine.spec import parse_machine
from conset.methods.phases.connection_routers.task import Task
from conset.methods.phases.connections import schedule_connections
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.placements.place import place
from conset.pattern.spec import parse_pattern
from conset.schedule.linkage import number_channels
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify

# pattern → (count bound, endpoint bound, phases): result_phases_patterns_8x8_12channels.csv, column
# pathfinder; the 24-neighbour stencil is 7 by orbits there (a fill of exactly 100 %), all others
# are at their bound
PATTERNS = {
    "neighbor": (1, 1, 1),
    "butterfly": (2, 1, 2),
    "random:degree=4": (2, 1, 2),
    "random:degree=8": (4, 2, 4),
    "random:degree=16": (7, 3, 7),
    "random:degree=32": (14, 6, 14),
    "random:degree=48": (21, 8, 21),
    "alltoall": (27, 11, 27),
    "transpose": (1, 1, 1),
    "bit-reverse": (1, 1, 1),
    "bit-complement": (1, 1, 1),
    "shuffle": (1, 1, 1),
    "stencil:reach=1": (2, 2, 2),
    "stencil:reach=2": (7, 4, 7),
    "rows": (2, 2, 2),
    "gather": (1, 6, 6),
    "tree": (1, 1, 1),
}


def solve(
    pattern: str,
    on: str = "iwarp:8x8",
    channels: int = 12,
    placement: str = "identity",
    **options: str,
) -> Schedule:
    machine = parse_machine(on)
    traffic = parse_pattern(pattern, topology=machine.topology, ranks=machine.topology.nodes)
    placed = place(placement, pattern=traffic, topology=machine.topology)
    problem = Problem(traffic, machine, Limits(channels=channels), placed, SearchOptions(**options))  # type: ignore[arg-type]
    return verified(problem, schedule_connections(problem))


def verified(problem: Problem, phases: Phases) -> Schedule:
    schedule = Schedule(
        problem.pattern,
        problem.machine,
        "connections",
        problem.limits,
        phases.offsets,
        phases.message,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        limits_asked=True,
    )
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    return schedule


def sum_of_loads(schedule: Schedule) -> int:
    return int(phase_loads(schedule).largest.sum())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_row_of_the_notes_table_is_at_its_bound(pattern: str) -> None:
    count, ends, phases = PATTERNS[pattern]
    machine = parse_machine("iwarp:8x8")
    traffic = parse_pattern(pattern, topology=machine.topology, ranks=64)
    assert Task(Problem(traffic, machine, Limits(channels=12))).least_phases == max(count, ends)
    assert solve(pattern, objective="phases").phases == phases == max(count, ends)


def test_the_texts_router_needs_28_to_30_phases_for_the_all_to_all() -> None:
    """The text: 30. Two prototypes: 28 to 30 without rip-up, ΣL 174 to 188."""
    schedule = solve("alltoall", router="sequential")
    assert 28 <= schedule.phases <= 30
    assert 160 <= sum_of_loads(schedule) <= 200


def test_negotiation_fills_27_phases_with_a_sum_of_81() -> None:
    schedule = solve("alltoall", router="negotiated", objective="phases")
    assert (schedule.phases, sum_of_loads(schedule)) == (27, 81)


def test_orbits_have_the_least_sum_that_27_phases_can_have() -> None:
    """ΣL ≥ 64 + 3 · (32 - 27) = 79: notes §1.2, proved."""
    schedule = solve("alltoall", router="orbits", objective="phases")
    assert (schedule.phases, sum_of_loads(schedule)) == (27, 79)


def test_the_closed_form_has_the_least_sum_at_all() -> None:
    """16384 hops over 256 links: ΣL ≥ 64.

    Each of 64 slots uses every link once; two slots a phase take 10 channels.
    """
    schedule = solve("alltoall", router="closed-form")
    loads = phase_loads(schedule)
    assert schedule.phases == 32
    assert sum_of_loads(schedule) == 64
    assert loads.channels.max() == 10
    assert (loads.link == 2).all()


@pytest.mark.parametrize(("sides", "total"), [("4x4", 15), ("12x12", 216), ("16x16", 512)])
def test_the_closed_form_on_other_squares(sides: str, total: int) -> None:
    """n³/8 slots where 4 divides n; 4 × 4 has 15 messages out of a node, more than 8."""
    assert sum_of_loads(solve("alltoall", f"iwarp:{sides}", router="closed-form")) == total


def test_the_default_takes_the_best_of_both() -> None:
    assert sum_of_loads(solve("alltoall")) == 64
    schedule = solve("alltoall", objective="phases")
    assert (schedule.phases, sum_of_loads(schedule)) == (27, 79)


def test_the_butterfly_by_gray_code_uses_exactly_16_channels() -> None:
    """The text: "a single phase with 16" and "two phases of 8 each".

    8 in each of two phases also at a limit of 8.
    """
    single = solve("butterfly", channels=16, placement="gray")
    assert single.phases == 1
    assert phase_loads(single).channels.tolist() == [16]
    assert solve("butterfly", channels=12, placement="gray").phases == 2
    assert phase_loads(solve("butterfly", channels=8, placement="gray")).channels.tolist() == [8, 8]
    # interleaved: 6 sends of a node are 6 units, in one phase or two
    assert sum_of_loads(solve("butterfly", placement="gray")) == 6


def test_half_orbits_where_whole_ones_do_not_fit() -> None:
    """8 channels are fewer than the 9 of the longest route.

    319 / 8, so 40 phases at a fill of 99.7 %; within 1.05.

    16 × 16 at 12 channels (192 phases at a fill of 99.95 %) is in benchmarks/bench_connections.py.
    """
    schedule = solve("alltoall", channels=8, router="orbits", objective="phases")
    assert 40 <= schedule.phases <= 42


def test_the_notes_own_orbits(shared_golden: Path) -> None:
    """orbit_27_phases_sum79.csv: a phase for each displacement (dx, dy), node = 8 y + x."""
    with (shared_golden / "orbit_27_phases_sum79.csv").open() as file:
        phase_of = {
            (int(row["dx"]), int(row["dy"])): int(row["phase"]) for row in csv.DictReader(file)
        }
    machine = parse_machine("iwarp:8x8")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=64)
    at = machine.topology.coordinates
    away = (at[pattern.target] - at[pattern.source]) % 8
    phase = np.array([phase_of[x, y] for y, x in away.tolist()], np.int32)
    phases = Phases.of(phase)
    ends = pattern.source[phases.message], pattern.target[phases.message]
    offsets, nodes = route_nodes(machine.topology, Routing("dimension-order", "parity"), *ends)
    problem = Problem(pattern, machine, Limits(channels=12))
    numbered = number_channels(phases.offsets, offsets, nodes)
    schedule = verified(
        problem,
        Phases(
            phases.offsets,
            phases.message,
            route_offsets=offsets,
            route_nodes=nodes,
            channels=numbered,
        ),
    )
    assert (schedule.phases, sum_of_loads(schedule)) == (27, 79)
