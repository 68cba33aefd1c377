"""Combining: paths through boxes, around rings, by way of nodes; boxes matched to routes.

The words of --combine.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import InputError, UsageError
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.machine.spec import parse_machine
from conset.methods.paths.multiphase import (
    matched_cells,
    multiphase,
    node_aware,
    radix,
    rank_order,
    virtual_grid,
)
from conset.methods.paths.table import Combine, parse_combine, paths_of
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.paths import Paths, direct
from support.slow_mixes import factorisations

Box = tuple[int, ...]


def alltoall(ranks: int) -> Pattern:
    return parse_pattern("alltoall:size=8", ranks=ranks)


def bundles(paths: Paths) -> int:
    return sum(paths.bundles(j).bundles for j in range(paths.stages))


def maxima(paths: Paths) -> Box:
    """The most bundles that a rank sends or receives, stage by stage."""
    sent = (paths.bundles(j).pattern for j in range(paths.stages))
    return tuple(
        max(np.bincount(end).max() for end in (p.source, p.target)) if p.messages else 0
        for p in sent
    )


def volume(paths: Paths) -> float:
    """Bytes sent in all stages over the bytes of the messages."""
    return sum(paths.bundles(j).pattern.bytes for j in range(paths.stages)) / paths.pattern.bytes


@pytest.mark.parametrize(
    ("sides", "count", "most", "ratio"),
    [
        ((4, 8), 320, (3, 7), 1.677),
        ((2, 4, 4), 224, (1, 3, 3), 2.065),
        ((2,) * 5, 160, (1,) * 5, 2.581),
    ],
)
def test_complete_exchange_of_32_through_boxes_and_digits(
    sides: Box, count: int, most: Box, ratio: float
) -> None:
    """Counts by hand: 32 · sum(side - 1).

    Volume sum h e_h(sides - 1) / 31 (bound B2 of message combining).
    """
    for paths in (multiphase(alltoall(32), sides), radix(alltoall(32), sides)):
        assert bundles(paths) == count == 32 * sum(side - 1 for side in sides)
        assert maxima(paths) == most
        assert volume(paths) == pytest.approx(ratio, abs=5e-4)
        elementary = np.poly([1 - side for side in sides])
        assert volume(paths) == pytest.approx(sum(h * e for h, e in enumerate(elementary)) / 31)


@pytest.mark.parametrize(("sides", "count"), [((8, 8), 896), ((4, 4, 4), 576), ((2,) * 6, 384)])
def test_complete_exchange_of_64(sides: Box, count: int) -> None:
    assert bundles(multiphase(alltoall(64), sides)) == count


def test_every_stage_corrects_one_coordinate() -> None:
    paths = multiphase(alltoall(24), (2, 3, 4), order=(2, 0, 1))
    at = np.stack(np.unravel_index(paths.positions, (2, 3, 4)))
    end = at[:, :, -1:]
    for stage, d in enumerate((2, 0, 1)):
        others = [k for k in range(3) if k != d]
        assert np.array_equal(at[d, :, stage + 1], end[d, :, 0])
        assert np.array_equal(at[others, :, stage + 1], at[others, :, stage])


def test_a_message_whose_next_cell_is_empty_stays() -> None:
    """5 ranks in 2x3: from rank 2 at (0, 2) to rank 4 at (1, 1) by way of (1, 2), which no rank
    has."""
    paths = multiphase(alltoall(5), (2, 3))
    m = int(np.flatnonzero((paths.pattern.source == 2) & (paths.pattern.target == 4))[0])
    assert paths.positions[m].tolist() == [2, 2, 4]
    m = int(np.flatnonzero((paths.pattern.source == 0) & (paths.pattern.target == 4))[0])
    assert paths.positions[m].tolist() == [0, 3, 4]


def test_digits_around_a_ring_of_any_length() -> None:
    """7 ranks, radices 2 and 4: from 5 to 4 is 6 steps, 0 of the first digit and 3 of weight 2."""
    paths = radix(alltoall(7), (2, 4))
    rows = {(int(p[0]), int(p[-1])): p.tolist() for p in paths.positions}
    assert rows[5, 4] == [5, 5, 4]
    assert rows[5, 3] == [5, 6, 3]
    assert bundles(paths) == 7 * (1 + 3)


def link_bytes(
    paths: Paths, machine: Machine, placement: NDArray[np.int32] | None
) -> NDArray[np.int64]:
    """The bytes over each link, all stages together."""
    node = np.arange(paths.pattern.ranks, dtype=np.int32) if placement is None else placement
    total = np.zeros(machine.topology.link_slots, np.int64)
    for stage in range(paths.stages):
        sent = paths.bundles(stage).pattern
        offsets, links = route_links(
            machine.topology, machine.routing, node[sent.source], node[sent.target]
        )
        np.add.at(total, links, np.repeat(sent.size, np.diff(offsets)))
    return total


@pytest.mark.parametrize("spec", ["alltoall:size=8", "random:degree=16,size=log-uniform(1,1KiB)"])
@pytest.mark.parametrize(
    ("network", "sides"),
    [
        ("torus:8x8", (8, 8)),
        ("torus:8x8,tie=plus", (8, 8)),
        ("mesh:8x8", (8, 8)),
        ("torus:4x4x8", (4, 4, 8)),
        ("torus:4x4x8", (8, 4, 4)),
        ("torus:4x4x8", (16, 8)),
        ("torus:4x4x8", (4, 32)),
        ("hypercube:6", (2,) * 6),
        ("hypercube:6", (8, 8)),
    ],
)
def test_a_matched_box_carries_the_direct_bytes_on_every_link(
    network: str, sides: Box, spec: str
) -> None:
    machine = parse_machine(network)
    pattern = parse_pattern(spec, ranks=machine.topology.endpoints, seed=4)
    paths = paths_of(Combine("box", sides), pattern, machine)
    assert paths.stages == len(sides)
    assert np.array_equal(
        link_bytes(paths, machine, None), link_bytes(direct(pattern), machine, None)
    )


@pytest.mark.parametrize("sides", [(2, 4, 4), (8, 4), (4, 8), (2, 16)])
def test_ranks_of_a_node_are_a_dimension(sides: Box) -> None:
    machine = parse_machine("mesh:4x4")
    placement = np.random.default_rng(3).permutation(np.repeat(np.arange(16, dtype=np.int32), 2))
    paths = paths_of(Combine("box", sides), alltoall(32), machine, placement)
    loads = link_bytes(paths, machine, placement)
    assert np.array_equal(loads, link_bytes(direct(alltoall(32)), machine, placement))
    assert bundles(paths) == 32 * sum(side - 1 for side in sides)


def test_stages_against_the_order_of_routing_load_other_links() -> None:
    machine = parse_machine("mesh:8x8")
    pattern = parse_pattern("random:degree=16,size=8", ranks=64, seed=4)
    against = multiphase(pattern, (8, 8))
    assert not np.array_equal(
        link_bytes(against, machine, None), link_bytes(direct(pattern), machine, None)
    )


def test_a_side_inside_a_dimension_keeps_a_stage_in_its_line() -> None:
    machine = parse_machine("torus:4x8")
    paths = paths_of(Combine("box", (2, 4, 4)), alltoall(32), machine)
    moved = [
        np.nonzero(np.diff(np.stack(np.unravel_index(paths.positions, (4, 8))), axis=2)[:, :, j])
        for j in range(3)
    ]
    assert [set(dimension.tolist()) for dimension, _ in moved] == [{1}, {1}, {0}]


@pytest.mark.parametrize(
    ("network", "sides"),
    [("crossbar:32", (4, 8)), ("torus:4x8", (6, 6)), ("torus:6x6", (4, 9)), ("mesh:5x5", (25, 2))],
)
def test_where_no_box_fits_the_network(network: str, sides: Box) -> None:
    assert matched_cells(parse_machine(network), None, sides) is None


def test_unfilled_networks_leave_cells_empty() -> None:
    machine = parse_machine("mesh:4x4")
    placement = np.array([0, 3, 5, 6, 9, 15], np.int32)
    found = matched_cells(machine, placement, (4, 4))
    assert found is not None
    assert found[0].tolist() == placement.tolist()
    assert found[1] == (1, 0)
    paths = paths_of(Combine("box", (4, 4)), alltoall(6), machine, placement)
    assert paths.positions[:, -1].tolist() == paths.pattern.target.tolist()


@pytest.mark.parametrize(("per_node", "count"), [(4, 248), (8, 320)])
def test_three_steps_on_32_ranks(per_node: int, count: int) -> None:
    """n nodes of p ranks.

    P(p - 1) bundles on each, one for each ordered pair of nodes, p - 1 from each carrier.
    """
    nodes = 32 // per_node
    carriers = min(per_node, nodes - 1)
    paths = node_aware(alltoall(32), (np.arange(32) // per_node).astype(np.int32))
    assert (
        bundles(paths)
        == count
        == nodes * (per_node + carriers) * (per_node - 1) + nodes * (nodes - 1)
    )
    assert paths.bundles(1).bundles == nodes * (nodes - 1)


@pytest.mark.parametrize("steps", [2, 3])
def test_node_aware_crosses_between_nodes_once(steps: int) -> None:
    node = np.random.default_rng(2).permutation(np.repeat(np.arange(7, dtype=np.int32), 5))[:31]
    pattern = parse_pattern("random:degree=9,size=uniform(1,99)", ranks=31, seed=6)
    paths = node_aware(pattern, node, steps=steps)  # type: ignore[arg-type]
    crossed = np.diff(node[paths.positions], axis=1) != 0
    outside = node[pattern.source] != node[pattern.target]
    assert np.array_equal(crossed.sum(axis=1), outside)
    between = np.flatnonzero(crossed.any(axis=0))
    assert between.tolist() == [steps - 2]
    inside = ~outside
    assert np.array_equal(paths.positions[inside, 1], pattern.target[inside])
    if steps == 3:
        pairs = {
            (int(a), int(b))
            for a, b in zip(node[pattern.source], node[pattern.target], strict=True)
            if a != b
        }
        assert paths.bundles(1).bundles == len(pairs)


def test_carriers_are_spread() -> None:
    """8 nodes of 4: 7 other nodes on 4 ranks are at most 2 each, out and in."""
    paths = node_aware(alltoall(32), (np.arange(32) // 4).astype(np.int32))
    between = paths.bundles(1).pattern
    assert np.bincount(between.source).max() == 2
    assert np.bincount(between.target).max() == 2


def test_node_aware_needs_several_ranks_on_a_node() -> None:
    with pytest.raises(InputError, match="nodes with 2 or more ranks required, every node has 1"):
        node_aware(alltoall(4), None)


@pytest.mark.parametrize("order", ["identity", "machine", "gray", "traffic"])
@pytest.mark.parametrize("ranks", [1, 6, 32])
def test_orders_of_ranks_are_orders(order: str, ranks: int) -> None:
    pattern = parse_pattern("random-rows:degree=0", ranks=ranks) if ranks == 1 else alltoall(ranks)
    placement = (np.arange(ranks)[::-1] // 2).astype(np.int32)
    found = rank_order(pattern, placement, order)  # type: ignore[arg-type]
    assert sorted(found.tolist()) == list(range(ranks))


def test_an_order_by_traffic_shortens_the_paths_of_a_hidden_grid() -> None:
    """Neighbours of an 8x8 grid under random numbers: by number they are anywhere in the box."""
    grid = parse_pattern("stencil:sides=8x8,size=8", ranks=64)
    number = np.random.default_rng(7).permutation(64)
    hidden = Pattern.from_messages(number[grid.source], number[grid.target], grid.size, 64)
    machine = parse_machine("crossbar:64")
    by_number, by_traffic = (
        virtual_grid(hidden, (8, 8), machine, order=order) for order in ("identity", "traffic")
    )  # type: ignore[arg-type]
    assert volume(by_traffic) < volume(by_number)


@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_an_order_by_traffic_is_reverse_cuthill_mckee(ranks: int, share: float, seed: int) -> None:
    """Of ranks with as many partners the one with the lower number first."""
    talks = np.random.default_rng(seed).random((ranks, ranks)) < share
    source, target = np.nonzero(talks & ~np.eye(ranks, dtype=bool))
    pattern = Pattern.from_messages(source, target, np.ones(source.size, np.int64), ranks)
    near = [sorted({*target[source == r], *source[target == r]}) for r in range(ranks)]
    order: list[int] = []
    for first in sorted(range(ranks), key=lambda r: len(near[r])):
        queue = [first] if first not in order else []
        while queue:
            order.append(queue.pop(0))
            new = [r for r in near[order[-1]] if r not in order and r not in queue]
            queue += sorted(new, key=lambda r: len(near[r]))
    assert rank_order(pattern, None, "traffic").tolist() == order[::-1]


def test_factorisations_of_a_number() -> None:
    """All multisets of factors above 1, found the slow way."""
    for number in (1, 2, 7, 12, 36, 64, 97, 120):
        slow = (
            {
                tuple(sorted(each))
                for count in range(2, 7)
                for each in product(
                    [d for d in range(2, number + 1) if number % d == 0], repeat=count
                )
                if prod(each) == number
            }
            if number <= 64
            else None
        )
        found = factorisations(number)
        assert len(set(found)) == len(found)
        assert all(prod(each) == number and len(each) > 1 and min(each) > 1 for each in found)
        assert [sum(each) for each in found] == sorted(sum(each) for each in found)
        if slow is not None:
            assert set(found) == slow


def test_factorisations_along_a_network() -> None:
    assert set(factorisations(32, (4, 8))) == {
        (4, 8),
        (2, 2, 8),
        (2, 4, 4),
        (2, 2, 2, 4),
        (2, 2, 2, 2, 2),
    }
    assert set(factorisations(18, (2, 3, 3))) == {(2, 3, 3), (3, 6), (2, 9)}
    machine = parse_machine("torus:2x3x3")
    assert all(matched_cells(machine, None, sides) for sides in factorisations(18, (2, 3, 3)))


@pytest.mark.parametrize("ranks", [2, 5, 31, 32, 37, 1000, 4097])
def test_balanced_sides_hold_the_ranks_with_the_least_to_spare(ranks: int) -> None:
    for stages in range(1, ranks.bit_length()):
        sides = tuple(_core.balanced_sides(ranks, stages))
        assert len(sides) == stages
        assert max(sides) - min(sides) <= 1
        assert prod(sides) >= ranks
        smaller = sorted(sides, reverse=True)
        smaller[0] -= 1
        assert prod(smaller) < ranks


@pytest.mark.parametrize(
    ("text", "combine"),
    [
        ("none", Combine("none")),
        ("auto", Combine("auto")),
        ("mixed", Combine("mixed")),
        ("4x8", Combine("box", (4, 8))),
        ("32", Combine("box", (32,))),
        ("radix:3", Combine("radix", (3,))),
        ("radix:2x4x5", Combine("radix", (2, 4, 5))),
        ("node-aware", Combine("node-aware")),
        ("node-aware:2", Combine("node-aware", steps=2)),
        ("virtual-grid:4x8", Combine("virtual-grid", (4, 8))),
        ("virtual-grid:4x8:gray", Combine("virtual-grid", (4, 8), order="gray")),
    ],
)
def test_words_are_read_and_written(text: str, combine: Combine) -> None:
    assert parse_combine(text) == combine
    assert str(combine) == text


def test_sides_of_one_are_no_stages() -> None:
    assert parse_combine("1x4x1x8") == Combine("box", (4, 8))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("node-awre", "unknown way to combine 'node-awre': did you mean 'node-aware'?"),
        ("radix", "combine 'radix': a value required, such as radix:4"),
        ("radix:1", "combine 'radix:1': bases of at least 2 required, given 1"),
        ("none:3", "combine 'none:3': none has no value"),
        ("node-aware:4", "combine 'node-aware:4': 2 or 3 steps required, given '4'"),
        ("virtual-grid", "combine 'virtual-grid': a value required, such as virtual-grid:4x8"),
        ("virtual-grid:4x8:grey", "unknown order of ranks 'grey': did you mean 'gray'?"),
        ("4x", "combine '4x': sides: size 1 '': must be a whole number; sizes are written as 8x8"),
        ("0x3", "combine '0x3': sides: size 0 '0': must be from 1 to 999999999"),
        ("x".join(["2"] * 65), "65 sides, at most 64"),
    ],
)
def test_words_that_are_refused(text: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_combine(text)
    assert str(caught.value).endswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("4x4", "combine '4x4': 16 cells for 32 ranks: at least as many required"),
        ("radix:2x4", "combine 'radix:2x4': 8 cells for 32 ranks: at least as many required"),
        ("99999x99999", "box 99999x99999: 9999800001 cells, at most 67108864"),
    ],
)
def test_boxes_that_do_not_hold_the_ranks(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        paths_of(parse_combine(text), alltoall(32), parse_machine("crossbar:32"))
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("text", "stages"),
    [("none", 1), ("32", 1), ("4x8", 2), ("radix:3", 4), ("virtual-grid:2x4x4", 3), ("40x2", 2)],
)
def test_words_stand_for_paths(text: str, stages: int) -> None:
    paths = paths_of(parse_combine(text), alltoall(32), parse_machine("crossbar:32"))
    assert paths.stages == stages
    assert paths.pattern == alltoall(32)


def test_what_only_a_comparison_answers() -> None:
    with pytest.raises(UsageError, match="combine auto"):
        paths_of(Combine("auto"), alltoall(4), parse_machine("crossbar:4"))


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        ([0, 1, 2], r"cells has shape \(3,\): one for each of 4 ranks required"),
        ([0, 1, 2, 4], r"cells\[3\] = 4: must be from 0 to 3"),
        ([0, 1, 1, 2], r"cells\[2\] = 1: rank 1 has it"),
    ],
)
def test_cells_are_checked(cells: list[int], line: str) -> None:
    with pytest.raises(InputError, match=line):
        multiphase(alltoall(4), (2, 2), cells=np.array(cells))


@pytest.mark.parametrize("order", [(0, 0), (0, 2), (0,), (0, 1, 1)])
def test_an_order_has_every_dimension_once(order: Box) -> None:
    with pytest.raises(InputError, match="each of the 2 dimensions once required"):
        multiphase(alltoall(4), (2, 2), order=order)


def test_no_messages_have_paths() -> None:
    silent = Pattern.from_messages([], [], [], 8)
    for paths in (
        multiphase(silent, (2, 4)),
        radix(silent, (2, 4)),
        node_aware(silent, np.zeros(8, np.int32)),
    ):
        assert bundles(paths) == 0
