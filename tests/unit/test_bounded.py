"""bounded: the closed form against brute force, the pieces of the constructions, other ties,
placements, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import conset
from conset import _core
from conset.base.errors import InputError
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.phases.bounded import box_of, partner_at, schedule_bounded, step_of
from conset.methods.phases.complete_exchange.box import Box, OrbitPacking, symmetries
from conset.methods.phases.complete_exchange.chooser import CONSTRUCTIONS, choose_exchange
from conset.methods.phases.complete_exchange.families import build_factors, families_of
from conset.methods.phases.complete_exchange.product import cheapest_plan, reflected, steps_of
from conset.methods.phases.complete_exchange.tori import tiling
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify

SIDES = [*range(1, 18), 20, 23]


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
    assert all(step_of(side, s, t) == seen[s, t] for s in range(ranks) for t in range(ranks))


@pytest.mark.parametrize("side", [8, 12, 16, 20])
def test_phases_of_the_closed_form_are_runs_of_its_steps(side: int) -> None:
    contention = side // 4
    phases = schedule_bounded(problem(f"mesh:{side}x{side}", contention))
    ranks = side**2
    source, rest = np.divmod(phases.message, ranks - 1)
    target = rest + (rest >= source)
    phase = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
    sample = np.random.default_rng(0).integers(0, source.size, 500)
    assert all(
        step_of(side, int(source[k]), int(target[k])) // contention == phase[k] for k in sample
    )


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
    box = box_of(given)
    links = box.network.route_links(given.source_node, given.target_node)[1]
    load = np.bincount(links, minlength=box.network.link_slots).reshape(
        box.nodes, len(box.sides), 2
    )
    assert [box.link_load(k) for k in range(len(box.sides))] == load.max(axis=(0, 2)).tolist()


def test_numbers_out_of_range_are_refused() -> None:
    for call in (
        lambda: partner_at(8, 64, 0),
        lambda: partner_at(8, 0, 128),
        lambda: step_of(8, 0, -1),
    ):
        with pytest.raises(InputError, match="must be from 0 to"):
            call()
    with pytest.raises(InputError, match="multiple of 4"):
        step_of(10, 0, 1)


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("side", SIDES)
def test_factors_cover_each_pair_and_blocks_keep_to_one_use_of_each_link(
    side: int, cycle: bool
) -> None:
    factors = build_factors(side, cycle)
    absent = factors.factor < 0
    assert np.array_equal(absent, np.eye(side, dtype=bool) & (side % 4 == 3))
    line = _core.Network.box(np.array([side], np.int32), cycle, _core.Tie.parity)
    for f in range(factors.count):
        for b in range(factors.blocks):
            for t in (0, 1):
                x, y = np.nonzero(
                    (factors.factor == f) & (factors.block == b) & (factors.kind == t)
                )
                assert len(set(x)) == len(x)
                assert len(set(y)) == len(y)
                links = line.route_links(x.astype(np.int32), y.astype(np.int32))[1]
                assert len(set(links)) == len(links)
                if cycle and side > 2:  # type 0 goes up, type 1 down
                    assert np.all(links % 2 == t)


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("side", SIDES)
def test_families_are_permutations_whose_labels_share_no_link(side: int, cycle: bool) -> None:
    line = _core.Network.box(np.array([side], np.int32), cycle, _core.Tie.parity)
    families = families_of(side, cycle, 0)
    assert len(families) == (2 if side % 4 == 1 and side > 1 else 1)
    for family in families:
        for p in range(family.count):
            x, y = np.nonzero(family.permutation == p)
            assert len(set(x)) == len(x)
            assert len(set(y)) == len(y)
            assert np.all(family.label[x, y] < max(family.load[p], 1))
            for label in range(int(family.load[p])):
                arcs = (family.label[x, y] == label) & (x != y)
                links = line.route_links(x[arcs].astype(np.int32), y[arcs].astype(np.int32))[1]
                assert len(set(links)) == len(links)


def test_paths_need_no_more_labels_in_all_than_their_busiest_link_carries() -> None:
    for side in range(2, 40):
        assert families_of(side, False, 0)[0].load.sum() == side**2 // 4
    for side in range(5, 62, 4):
        full = families_of(side, False, 0)[1]
        assert full.count == side
        assert full.load.max() <= side // 4 + 1


def test_reflected_order_changes_one_place_by_one() -> None:
    order = list(reflected([3, 2, 4]))
    assert len(set(order)) == 24
    assert all(sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 1 for x, y in pairwise(order))


@pytest.mark.parametrize("slots", range(4, 40, 2))
def test_tiling_pairs_partition_the_slots(slots: int) -> None:
    pairs = tiling(slots)
    assert np.array_equal(np.sort(pairs.ravel()), np.arange(slots))
    difference = np.unique((pairs[:, 1] - pairs[:, 0]) % slots)
    assert difference.size == 1
    assert difference[0] % slots not in (0, slots // 2)


@pytest.mark.parametrize("sides", [(4, 4), (8, 8), (12, 12), (4, 4, 4)])
def test_the_product_of_equal_sides_divisible_by_4_is_as_short_as_the_closed_form(
    sides: tuple[int, ...],
) -> None:
    network = _core.Network.box(np.array(sides, np.int32), False, _core.Tie.parity)
    box = Box(sides, (False,) * len(sides), "parity", 1, network)
    step = steps_of(cheapest_plan(box, 1, 0), box, 1)
    assert step.max() + 1 == box.bound == sides[0] ** (len(sides) + 1) // 4


@pytest.mark.parametrize("construction", CONSTRUCTIONS, ids=lambda c: c.name)
@pytest.mark.parametrize(
    "spec",
    [
        "mesh:5x5",
        "mesh:6x6",
        "mesh:7x7",
        "mesh:8x8",
        "mesh:3x4x5",
        "torus:5x5",
        "torus:7x6",
        "torus:5x8",
        "torus:9x3",
        "torus:8x8x8",
        "torus:4x2x6",
        "ring:9",
    ],
)
def test_every_construction_keeps_the_limits_on_its_domain(construction, spec: str) -> None:
    for contention in (1, 2, 4):
        given = problem(spec, contention)
        box = box_of(given)
        if spec == "torus:8x8x8" and contention > 1:
            break
        if construction.applies(box):
            assert checked(given, construction.schedule(box, 0)) >= box.bound


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


def test_search_never_returns_more_than_the_best_construction() -> None:
    for spec in ("torus:5x6", "mesh:5x6", "torus:5x4"):
        box = box_of(problem(spec))
        best = min(c.schedule(box, 0).offsets.size for c in CONSTRUCTIONS if c.applies(box))
        assert choose_exchange(box, effort=1, seed=0).phases.offsets.size <= best
        assert choose_exchange(box, effort=0, seed=0).phases.offsets.size == best


@pytest.mark.parametrize(
    "spec", ["mesh:5x4", "mesh:5x5", "mesh:4x6", "torus:5x6", "torus:8x3", "torus:12"]
)
def test_symmetries_take_routes_to_routes(spec: str) -> None:
    """All links of a route go to those of its image, with the ends of a message swapped or not."""
    box = box_of(problem(spec))
    groups = symmetries(box, most=16)
    assert [group.order for group in groups][-1] == 1 < groups[0].order
    source, rest = np.divmod(np.arange(box.messages, dtype=np.int32), box.nodes - 1)
    target = rest + (rest >= source)
    offsets, nodes = box.network.route_nodes(source, target)
    for group in groups:
        images = group.images(box)
        for g, back, image in zip(group.nodes, group.reverses, images, strict=True):
            assert np.array_equal(np.sort(image), np.arange(box.messages))
            moved_offsets, moved = box.network.route_nodes(source[image], target[image])
            for m in range(box.messages):
                route = g[nodes[offsets[m] : offsets[m + 1]]]
                found = moved[moved_offsets[m] : moved_offsets[m + 1]]
                assert np.array_equal(found, route[::-1] if back else route)
        fixed = images[1:] == np.arange(box.messages)
        assert not fixed.any()
        for order in group.orders:
            # the first elements are a subgroup, so many in a row its cosets
            sets = {tuple(sorted(images[k : k + order, 0])) for k in range(0, group.order, order)}
            assert {tuple(sorted(images[:order, m])) for row in sets for m in row} == sets


@pytest.mark.parametrize("spec", ["mesh:5x4", "mesh:4x4", "mesh:5x5", "torus:5x6", "torus:3x4"])
def test_negotiated_orbits_are_phases_of_all_messages(spec: str) -> None:
    """Also where the group does not divide their number, so that some are their own images."""
    given = problem(spec, 1)
    box = box_of(given)
    for group in symmetries(box, most=16):
        packing = OrbitPacking(box, group)
        for phases in range(2 * box.bound, 2 * box.bound + group.order):
            found = packing.negotiate(phases, 10**8, seed=1)
            assert found.complete
            assert checked(given, Phases.of(found.slot)) <= phases


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
