"""Paths of any pattern through any box, ring or nodes: what bundles carry, replayed.

And how many a rank has.
"""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings, strategies as st

from conset.machine.spec import parse_machine
from conset.methods.paths.multiphase import (
    factorisations,
    matched_cells,
    multiphase,
    node_aware,
    radix,
    virtual_grid,
)
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths

NETWORKS = ("mesh:2x3x4", "torus:4x6", "hypercube:4", "ring:12", "crossbar:24", "mesh:24")


@st.composite
def patterns(draw: st.DrawFn, ranks: int) -> Pattern:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    messages = draw(st.integers(0, 3 * ranks))
    ends = rng.integers(0, ranks, (2, messages))
    return Pattern.from_messages(ends[0], ends[1], rng.integers(1, 1000, messages), ranks)


def replay(paths: Paths) -> None:
    """From the bundles alone.

    Each part is with its sender, moves once a stage at most, and is with its target then.
    """
    at = paths.pattern.source.astype(np.int64)
    for stage in range(paths.stages):
        bundles = paths.bundles(stage)
        sent = bundles.pattern
        moved = np.zeros(paths.parts, np.int64)
        for b in range(sent.messages):
            parts = bundles.parts[bundles.offsets[b] : bundles.offsets[b + 1]]
            assert parts.size
            assert (at[parts] == sent.source[b]).all()
            assert sent.size[b] == paths.size_of[parts].sum()
            moved[parts] += 1
        at[bundles.parts] = sent.target[bundles.bundle_of]
        assert moved.max(initial=0) <= 1
    assert np.array_equal(at, paths.pattern.target)


def most(paths: Paths, stage: int) -> int:
    sent = paths.bundles(stage).pattern
    return max(int(np.bincount(end).max(initial=0)) for end in (sent.source, sent.target))


@given(st.data(), st.integers(2, 48))
@settings(max_examples=120, deadline=None)
def test_boxes_that_the_ranks_fill_have_a_side_less_one_bundles(
    data: st.DataObject, ranks: int
) -> None:
    sides = data.draw(st.sampled_from([*factorisations(ranks), (ranks,)]).flatmap(st.permutations))
    order = data.draw(st.permutations(range(len(sides))))
    cells = np.array(data.draw(st.permutations(range(ranks))))
    paths = multiphase(data.draw(patterns(ranks)), sides, order=order, cells=cells)
    replay(paths)
    assert all(most(paths, stage) <= sides[d] - 1 for stage, d in enumerate(order))


@given(st.data(), st.integers(1, 40), st.lists(st.integers(1, 7), min_size=1, max_size=5))
@settings(max_examples=120, deadline=None)
def test_boxes_with_empty_cells_and_rings_of_any_length(
    data: st.DataObject, ranks: int, sides: list[int]
) -> None:
    while prod(sides) < ranks:
        sides[int(np.argmin(sides))] += 1
    pattern = data.draw(patterns(ranks))
    replay(multiphase(pattern, sides))
    ring = radix(pattern, sides)
    replay(ring)
    assert all(most(ring, stage) <= side - 1 for stage, side in enumerate(sides))


@given(st.data(), st.sampled_from(NETWORKS), st.integers(1, 3))
@settings(max_examples=120, deadline=None)
def test_boxes_along_networks_hold_every_rank_once(
    data: st.DataObject, network: str, crowd: int
) -> None:
    machine = parse_machine(network)
    nodes = machine.topology.endpoints
    places = data.draw(st.permutations(np.repeat(np.arange(nodes, dtype=np.int32), crowd).tolist()))
    placement = np.array(places, np.int32)
    fits = [
        each for each in factorisations(nodes * crowd) if matched_cells(machine, placement, each)
    ]
    if crowd == 1 and network != "crossbar:24":
        assert set(factorisations(nodes, machine.topology.sides)) <= set(fits)
    if not fits:
        return
    sides = data.draw(st.sampled_from(fits))
    found = matched_cells(machine, placement, sides)
    assert found is not None
    cells, order = found
    assert sorted(cells.tolist()) == list(range(nodes * crowd))
    paths = multiphase(data.draw(patterns(nodes * crowd)), sides, cells=cells, order=order)
    replay(paths)
    assert all(most(paths, stage) <= sides[d] - 1 for stage, d in enumerate(order))


@given(st.data(), st.integers(2, 40), st.sampled_from([2, 3]))
@settings(max_examples=100, deadline=None)
def test_by_way_of_nodes_of_any_size(data: st.DataObject, ranks: int, steps: int) -> None:
    node = np.array(
        data.draw(st.lists(st.integers(0, ranks // 2), min_size=ranks, max_size=ranks)), np.int32
    )
    if np.bincount(node).max() < 2:
        return
    replay(node_aware(data.draw(patterns(ranks)), node, steps=steps))  # type: ignore[arg-type]


@given(st.data(), st.integers(2, 40), st.sampled_from(["identity", "machine", "gray", "traffic"]))
@settings(max_examples=100, deadline=None)
def test_virtual_grids_in_any_order(data: st.DataObject, ranks: int, order: str) -> None:
    pattern = data.draw(patterns(ranks))
    for sides in factorisations(ranks)[:2]:
        paths = virtual_grid(pattern, sides, parse_machine(f"mesh:{ranks}"), order=order)  # type: ignore[arg-type]
        replay(paths)
        if order != "machine":  # there stages follow the network, in another order of dimensions
            assert all(most(paths, stage) <= side - 1 for stage, side in enumerate(sides))
