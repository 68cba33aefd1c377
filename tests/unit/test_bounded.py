"""bounded: the closed form against brute force, any box, ties, placements, refusals.

The pieces of the constructions are tested in `cpp/tests/scheduling/complete_exchange`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import conset
from conset import _core
from conset.base.errors import InputError
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import core_network
from conset.machine.spec import parse_machine
from conset.methods.phases.bounded import box_of, partner_at, schedule_bounded
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify


def problem(
    spec: str,
    contention: int | None = 1,
    placement: NDArray[np.int32] | None = None,
    **options: int,
) -> Problem:
    on = parse_machine(spec)
    pattern = parse_pattern("alltoall", topology=on.topology)
    return Problem(
        pattern, on, Limits(send=1, receive=1, link=contention), placement, SearchOptions(**options)
    )


def checked(given: Problem, phases: Phases) -> int:
    """Phases, once every pair stands in one of them and both counts of loads keep the limits."""
    limits = given.limits
    schedule = Schedule(
        given.pattern,
        given.machine,
        "bounded",
        limits,
        phases.offsets,
        phases.message,
        placement=given.placement,
    )
    assert np.array_equal(np.sort(phases.message), np.arange(given.pattern.messages))
    assert np.all(np.diff(phases.offsets) > 0)
    loads = phase_loads(schedule)
    assert loads.send.max(initial=0) <= 1
    assert loads.receive.max(initial=0) <= 1
    assert limits.link is None or loads.link.max(initial=0) <= limits.link
    result = verify(schedule)
    assert result.ok, result
    return schedule.phases


@pytest.mark.parametrize("side", [4, 8, 12])
def test_each_pair_meets_once_and_the_inverse_finds_its_step(side: int) -> None:
    ranks, steps = side**2, side**3 // 4
    seen = np.full((ranks, ranks), -1)
    for step in range(steps):
        for rank in range(ranks):
            partner = partner_at(side, rank, step)
            if partner is not None:
                assert seen[rank, partner] == -1
                seen[rank, partner] = step
    assert seen.min() == 0
    step = _core.SquareExchange(side).step
    assert all(step(s, t) == seen[s, t] for s in range(ranks) for t in range(ranks))


@pytest.mark.parametrize("side", [8, 12, 16, 20])
def test_phases_of_the_closed_form_are_runs_of_its_steps(side: int) -> None:
    contention = side // 4
    phases = schedule_bounded(problem(f"mesh:{side}x{side}", contention))
    ranks = side**2
    source, rest = np.divmod(phases.message, ranks - 1)
    target = rest + (rest >= source)
    phase = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
    sample = np.random.default_rng(0).integers(0, source.size, 500)
    step = _core.SquareExchange(side).step
    assert all(step(int(source[k]), int(target[k])) // contention == phase[k] for k in sample)


@pytest.mark.parametrize("side", [16, 24, 32])
def test_windows_of_m_minus_1_steps_repeat_no_sender_and_no_receiver(side: int) -> None:
    """Theorem 1 (b): the smallest gap between two uses of a node is m - 1, as sender and as
    receiver."""
    square = _core.SquareExchange(side)
    found = square.phases(1)
    step = np.repeat(np.arange(square.steps), np.diff(found.offsets))
    source, rest = np.divmod(found.message, side**2 - 1)
    for node in (source, rest + (rest >= source)):
        order = np.lexsort((step, node))
        gap = np.diff(step[order])[np.diff(node[order]) == 0]
        assert gap.min() >= side // 4 - 1


@pytest.mark.parametrize(
    "spec",
    [
        "mesh:5x6",
        "mesh:3x4x5",
        "torus:6x5",
        "torus:8x10",
        "torus:6x4,tie=plus",
        "torus:10x3,tie=plus",
        "ring:2",
        "ring:7",
    ],
)
def test_the_formula_of_link_loads_counts_what_routes_take(spec: str) -> None:
    given = problem(spec)
    box, topology = box_of(given), given.machine.topology
    network = core_network(topology, given.machine.routing)
    links = network.route_links(given.source_node, given.target_node)[1]
    axes = len(topology.sides)
    load = np.bincount(links, minlength=network.link_slots).reshape(topology.nodes, axes, 2)
    assert [box.link_load(k) for k in range(axes)] == load.max(axis=(0, 2)).tolist()
    with pytest.raises(ValueError, match=f"axis = {axes}: must be from 0 to {axes - 1}"):
        box.link_load(axes)


def test_numbers_out_of_range_are_refused() -> None:
    for call in (
        lambda: partner_at(8, 64, 0),
        lambda: partner_at(8, 0, 128),
        lambda: partner_at(8, -1, 0),
    ):
        with pytest.raises(InputError, match="must be from 0 to"):
            call()
    with pytest.raises(InputError, match="multiple of 4"):
        partner_at(10, 0, 1)


@pytest.mark.parametrize(
    "spec",
    [
        "mesh:1x1",
        "mesh:1x2",
        "mesh:7x1",
        "mesh:2x9",
        "mesh:1x6x1x5",
        "ring:1",
        "ring:2",
        "ring:3",
        "ring:10",
        "torus:2x2",
        "torus:1x9",
        "torus:2x7",
        "torus:3x3x3",
        "torus:4x4,tie=plus",
        "torus:8x6,tie=plus",
        "torus:6x10,tie=plus",
        "torus:8x8,tie=checker",
        "torus:6x3x4,tie=checker",
        "torus:8x8,routing=no-wrap",
        "torus:5x6,routing=no-wrap",
    ],
)
@pytest.mark.parametrize("contention", [1, 2, 9, None])
def test_any_box_any_ties_any_contention(spec: str, contention: int | None) -> None:
    given = problem(spec, contention)
    box = box_of(given)
    assert box.bound <= checked(given, schedule_bounded(given)) <= 1.3 * box.bound + 2


@pytest.mark.parametrize("spec", ["mesh:6x6", "torus:6x5", "ring:7"])
def test_unlimited_links_leave_the_port_bound(spec: str) -> None:
    given = problem(spec, None)
    assert checked(given, schedule_bounded(given)) == given.pattern.ranks - 1


def test_wide_links_carry_more() -> None:
    assert checked(problem("mesh:8x8", 1), schedule_bounded(problem("mesh:8x8", 1))) == 128
    on = parse_machine("mesh:8x8")
    wide = Machine("wide", type(on.topology).mesh(8, 8, width=2), on.routing)
    given = Problem(
        parse_pattern("alltoall", topology=wide.topology), wide, Limits(send=1, receive=1, link=1)
    )
    assert checked(given, schedule_bounded(given)) == 64


def test_a_placement_moves_ranks_not_phases() -> None:
    placement = np.random.default_rng(3).permutation(36).astype(np.int32)
    given = problem("mesh:6x6", 1, placement=placement)
    assert checked(given, schedule_bounded(given)) == 54


def test_same_seed_same_phases_and_effort_never_loses() -> None:
    one, two, more = (
        schedule_bounded(problem("torus:5x6", 1, seed=5, effort=e)) for e in (1, 1, 2)
    )
    assert np.array_equal(one.message, two.message)
    assert np.array_equal(one.offsets, two.offsets)
    assert more.offsets.size <= one.offsets.size


def test_the_name_of_the_construction() -> None:
    for spec, contention, effort, name in (
        ("mesh:8x8", 1, 1, "square 4m"),
        ("mesh:5x5", 1, 0, "affine"),
        ("mesh:5x5", 2, 0, "translations"),
        ("torus:8x8,tie=plus", 1, 0, "torus, lines absorbed, mended"),
        ("mesh:5x7", 1, 1, "product, searched"),
    ):
        box = box_of(problem(spec, contention))
        assert box.choose(effort=effort, seed=0).name == name
    with pytest.raises(ValueError, match="a mesh or torus of at most 46340 nodes"):
        _core.ExchangeBox(_core.Network.crossbar(4), 1)


def test_other_patterns_and_machines_are_refused() -> None:
    mesh, bounded = parse_machine("mesh:3x3"), find_method("bounded")
    limits = Limits(send=1, receive=1, link=1)
    full = parse_pattern("alltoall", topology=mesh.topology)
    with pytest.raises(InputError, match="72 messages, given 24"):
        bounded.schedule(Problem(parse_pattern("neighbor", topology=mesh.topology), mesh, limits))
    with pytest.raises(InputError, match="of the 9 nodes, given 4 ranks"):
        bounded.schedule(Problem(parse_pattern("alltoall", ranks=4), mesh, limits))
    with pytest.raises(InputError, match="mesh or torus, given a hypercube"):
        bounded.schedule(problem("hypercube:3"))
    with pytest.raises(InputError, match="channels without a limit"):
        bounded.schedule(Problem(full, mesh, Limits(send=1, receive=1, link=1, channels=4)))
    with pytest.raises(InputError, match="one rank per node"):
        bounded.schedule(Problem(full, mesh, limits, np.zeros(9, np.int32)))
    source, target = full.source.copy(), full.target.copy()
    twice = Pattern(
        9, full.offsets, np.where(np.arange(72) == 1, 1, target).astype(np.int32), full.size
    )
    with pytest.raises(InputError, match="none from 0 to 2"):
        bounded.schedule(Problem(twice, mesh, limits))
    assert source.size == 72


def test_the_command_line_names_it() -> None:
    schedule = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=2)
    assert (schedule.phases, schedule.limits.link) == (64, 2)


@pytest.mark.parametrize(
    "machine", ["mesh:4x4,dead=5", "torus:4x4,dead=0-1;9-10", "mesh:8x8,dead=27;3-4"]
)
def test_a_box_with_holes_is_searched_and_says_so(machine: str) -> None:
    schedule = conset.compile("alltoall", machine, method="bounded")
    assert conset.verify(schedule).ok
    assert "holes" in schedule.report.note
    assert schedule.phases <= conset.compile("alltoall", machine, method="first-fit").phases
