"""Paths of any pattern through any box, ring or nodes: what bundles carry, replayed.

And how many a rank has.
"""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings, strategies as st

from conset.bounds.stages import bound_stages
from conset.compilation.combining import compile_combined
from conset.compilation.options import CompileOptions
from conset.machine.spec import parse_machine
from conset.methods.paths.evaluate import evaluate
from conset.methods.paths.multiphase import (
    matched_cells,
    multiphase,
    node_aware,
    radix,
    virtual_grid,
)
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import document_of
from conset.schedule.paths import Paths
from conset.schedule.program import bundles_of, staging_bytes
from conset.verification.program import verify
from support.slow_mixes import factorisations

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


def complete(ranks: int, size: int = 8) -> Pattern:
    rank = np.arange(ranks)
    return Pattern.from_messages(np.repeat(rank, ranks), np.tile(rank, ranks), [size] * ranks**2)


def corrected(
    sides: list[int], order: list[int], cells: list[int], source: int, target: int
) -> list[int]:
    """The ranks that a message visits, digit by digit."""
    at, end = (list(np.unravel_index(cells[rank], sides)) for rank in (source, target))
    visited = [source]
    for d in order:
        at[d] = end[d]
        visited.append(cells.index(int(np.ravel_multi_index(at, sides))))
    return visited


@settings(max_examples=25, deadline=None)
@given(sides=st.lists(st.integers(2, 5), min_size=1, max_size=4), data=st.data())
def test_bundles_of_a_full_box_are_those_of_its_positions(
    sides: list[int], data: st.DataObject
) -> None:
    """Nothing that follows from the box differs from what explicit positions give."""
    while prod(sides) > 40:
        sides = sides[:-1]
    ranks, order = prod(sides), data.draw(st.permutations(range(len(sides))))
    cells = data.draw(st.permutations(range(ranks)))
    pattern, machine = complete(ranks), parse_machine(f"torus:{ranks}")
    implicit = multiphase(pattern, sides, order=order, cells=np.array(cells))
    assert implicit.box is not None
    rows = [
        corrected(sides, order, cells, s, t) for s in range(ranks) for t in range(ranks) if s != t
    ]
    explicit = Paths(pattern, np.array(rows, np.int32))
    for stage in range(len(sides)):
        sent = implicit.stage_pattern(stage)
        assert sent == explicit.stage_pattern(stage)
        for one, other in zip(implicit.held(stage), explicit.held(stage), strict=True):
            assert np.array_equal(one, other)
    assert bundles_of(implicit) == bundles_of(explicit)
    assert staging_bytes(implicit) == staging_bytes(explicit)
    assert evaluate(implicit, machine) == evaluate(explicit, machine)
    assert "positions" not in vars(implicit)
    messages = 0
    for block in implicit.blocks():
        for stage, (message, bundle) in enumerate(block.moves):
            own = explicit.bundles(stage)
            of = np.full(explicit.parts, -1)
            of[own.parts] = own.bundle_of
            assert np.array_equal(np.sort(message), np.flatnonzero(of >= 0) - messages)
            assert np.array_equal(of[message + messages], bundle)
        messages += block.source.size
    assert messages == pattern.messages
    assert implicit == explicit
    assert explicit == implicit


@settings(max_examples=15, deadline=None)
@given(network=st.sampled_from((*NETWORKS, "torus:3x4", "torus:2x2x3")), data=st.data())
def test_bounds_of_a_complete_exchange_need_no_look_at_messages(
    network: str, data: st.DataObject
) -> None:
    link = "" if network.startswith("crossbar") else ",link=1GB/s"
    machine = parse_machine(f"{network},setup=1us,overhead=2us{link}")
    nodes = machine.topology.endpoints
    ranks = data.draw(st.integers(2, nodes))
    placement = None
    if data.draw(st.booleans()):
        chosen = data.draw(st.lists(st.integers(0, nodes - 1), min_size=ranks, max_size=ranks))
        placement = np.array(chosen, np.int32)
    elif data.draw(st.booleans()):
        ranks = nodes
    pattern, looked_at = complete(ranks), complete(ranks)
    vars(looked_at)["is_complete"] = False
    for stages in (None, 2):
        one, other = (
            bound_stages(each, machine, stages=stages, placement=placement)
            for each in (pattern, looked_at)
        )
        assert one == other


def test_programs_of_full_boxes_are_verified_by_blocks_as_by_their_parts() -> None:
    machine = parse_machine("torus:4x6")
    pattern = parse_pattern("alltoall:size=8", topology=machine.topology, ranks=24)
    options = CompileOptions(method="first-fit")
    program = compile_combined(pattern, machine, options, "2x3x4").program
    by_blocks, by_parts = (verify(document_of(program, in_blocks=b)) for b in (True, False))
    assert by_blocks.ok
    assert by_parts.ok
    assert by_blocks.figures == by_parts.figures
