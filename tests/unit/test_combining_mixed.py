"""Mixes of direct messages and boxes, and merging.

Published figures, invariants on any pattern, refusals.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise, product
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset import _core
from conset.base.errors import InputError
from conset.machine.costs import Steps
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.paths.evaluate import evaluate, mixed, mixed_candidates
from conset.methods.paths.multiphase import multiphase
from conset.methods.paths.table import parse_combine, paths_of
from conset.pattern.pattern import Pattern
from conset.pattern.readers.partition import Graph, partition_rows
from conset.schedule.paths import Paths, direct
from support.slow_mixes import Search, merged, padded, partners, threshold_mix, trimmed

FLAT = (
    "send_overhead=0.5us,receive_overhead=0.5us,processors=one,inject=1.5us,eject=0,port_out="
    "10GB/s,port_in=none"
)
FLAT += ",copy=5GB/s"
PART_S = 5e-9
PATTERNS = st.builds(
    lambda ranks, share, sizes, seed: drawn(ranks, share, sizes, seed),
    st.integers(2, 24),
    st.floats(0.02, 1),
    st.sampled_from([(8, 8), (1, 64), (1, 100_000)]),
    st.integers(0, 2**31),
)


def flat(ranks: int, more: str = "") -> Machine:
    """A machine of processors.

    0.5 us a message at both ends, 1.5 us between, 10 GB/s out, copies at 5 GB/s.
    """
    return parse_machine(f"crossbar:{ranks},{FLAT}{more}")


def drawn(ranks: int, share: float, sizes: tuple[int, int], seed: int) -> Pattern:
    """Every pair with a probability; ranks differ in how many partners they have."""
    random = np.random.default_rng(seed)
    weight = random.pareto(1.0, ranks) + 0.2
    source, target = np.nonzero(
        random.random((ranks, ranks)) < share * np.sqrt(np.outer(weight, weight))
    )
    return Pattern.from_messages(
        source, target, random.integers(sizes[0], sizes[1] + 1, source.size), ranks
    )


def random_rows(ranks: int, degree: int, size: int) -> Pattern:
    """Every rank sends to as many others, drawn."""
    random = np.random.default_rng(0)
    target = np.concatenate(
        [random.choice(np.delete(np.arange(ranks), r), degree, replace=False) for r in range(ranks)]
    )
    return Pattern.from_messages(
        np.repeat(np.arange(ranks), degree), target, np.full(target.size, size), ranks
    )


def dense_rows(side: int) -> Pattern:
    """26 neighbours of a box, 64 B, and four ranks that exchange 8 B with all."""
    ranks = side**3
    sent: dict[tuple[int, int], int] = {}
    cells = np.arange(ranks).reshape(side, side, side)
    for step in product((-1, 0, 1), repeat=3):
        here, there = (
            tuple(slice(max(0, sign * d), side + min(0, sign * d)) for d in step)
            for sign in (-1, 1)
        )
        sent |= dict.fromkeys(
            zip(cells[here].ravel().tolist(), cells[there].ravel().tolist(), strict=True), 64
        )
    for hub in np.linspace(0, ranks - 1, 6)[1:5].astype(int).tolist():
        for other in range(ranks):
            sent.setdefault((hub, other), 8)
            sent.setdefault((other, hub), 8)
    pairs = np.array(list(sent))
    return Pattern.from_messages(
        pairs[:, 0], pairs[:, 1], [sent[p] * (p[0] != p[1]) for p in sent], ranks
    )


def fem_rows(shared_data: Path) -> Pattern:
    """The mesh sf10 of Spark98 in 64 parts: the graph of its nodes, partitioned by METIS."""
    pytest.importorskip("pymetis", reason="METIS is not installed: pip install 'conset[mesh]'")
    from scipy.sparse import csr_matrix

    tokens = (shared_data / "meshes/spark98/sf10.1.pack").read_text().split()
    nodes, dimension, elements, corners = (int(t) for t in tokens[:4])
    begin = 6 + 3 + nodes * (1 + dimension) + 1
    rows = np.array(tokens[begin : begin + elements * (1 + corners)], np.int64).reshape(
        elements, 1 + corners
    )
    corner = rows[:, 1:] - rows[:, 1:].min()
    offsets = np.arange(elements + 1) * corners
    has = csr_matrix((np.ones(corner.size, np.int32), corner.ravel(), offsets))
    near = (has.T @ has).tolil()
    near.setdiag(0)
    joined = near.tocsr()
    joined.eliminate_zeros()
    joined.sort_indices()
    graph = Graph(joined.indptr.astype(np.int64), joined.indices.astype(np.int64))
    return partition_rows(graph, 64, 8, 0, "sf10", "sf10").pattern


def bundles(paths: Paths) -> int:
    return sum(paths.bundles(j).bundles for j in range(paths.stages))


def volume(paths: Paths) -> float:
    return sum(paths.bundles(j).pattern.bytes for j in range(paths.stages)) / paths.pattern.bytes


def work_s(paths: Paths, setup_s: float = 0.0) -> float:
    """Overheads, copies, bytes and set-ups of all ranks, counted bundle by bundle."""
    held: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for row, size in zip(paths.positions.tolist(), paths.pattern.size.tolist(), strict=True):
        for j, (p, q) in enumerate(pairwise(row)):
            if p != q:
                held[j, p, q].append(size)
    active = {(j, r) for j, p, q in held for r in (p, q)}
    copies = sum(2 * sum(sizes) / 5e9 for sizes in held.values() if len(sizes) > 1)
    return len(held) * 1e-6 + copies + sum(map(sum, held.values())) / 10e9 + setup_s * len(active)


def messages_direct(paths: Paths) -> np.ndarray:
    return (np.diff(paths.positions, axis=1) != 0).sum(axis=1) == 1


def test_the_mix_of_dense_rows_over_4096_ranks() -> None:
    """The figures of the table of message combining: 125,744 bundles, volume 1.11, 86.1 us.

    Merged below 63,000.
    """
    pattern, machine = dense_rows(16), flat(4096)
    assert pattern.messages == 125_780
    mix = threshold_mix(multiphase(pattern, (8, 8, 8, 8)), 32)
    assert bundles(mix) == 125_744
    assert volume(mix) == pytest.approx(1.108, abs=5e-4)
    assert evaluate(mix, machine, part_s=PART_S).time_s < 86.2e-6
    fewer = merged(mix, machine)
    assert bundles(fewer) <= 56_000
    assert evaluate(fewer, machine, part_s=PART_S).time_s < 76.1e-6


def test_merging_rows_of_a_mesh(shared_data: Path) -> None:
    """512 messages: two stages at most 320 bundles at volume 1.30, three 280.

    11 us where direct messages take 20.
    """
    pattern, machine = fem_rows(shared_data), flat(64)
    assert pattern.messages == 512
    two = merged(padded(direct(pattern), 2), machine, turn_s=4e-6)
    assert bundles(two) <= 320
    assert volume(two) <= 1.30
    assert bundles(merged(padded(direct(pattern), 3), machine, turn_s=4e-6)) <= 280
    assert evaluate(direct(pattern), machine).time_s == pytest.approx(20.1e-6, abs=0.1e-6)
    assert evaluate(mixed(pattern, machine), machine).time_s <= 11e-6


def test_merging_random_rows() -> None:
    """32 of 256 partners: two stages, at most 5,300 bundles at volume 1.5."""
    pattern, machine = random_rows(256, 32, 8), flat(256)
    two = merged(padded(direct(pattern), 2), machine)
    assert bundles(two) <= 5_300
    assert volume(two) <= 1.5


@settings(max_examples=80, deadline=None)
@given(
    PATTERNS,
    st.integers(1, 4),
    st.sampled_from([0.0, 2e-6]),
    st.sampled_from([0.0, 5e-6, inf]),
    st.integers(0, 3),
)
def test_merging_adds_no_work(
    pattern: Pattern, stages: int, setup_s: float, turn_s: float, seed: int
) -> None:
    machine = flat(pattern.ranks, f",setup={setup_s * 1e6}us")
    start = padded(direct(pattern), stages)
    paths = merged(start, machine, turn_s=turn_s, seed=seed)
    assert work_s(paths, setup_s) <= work_s(start, setup_s) * (1 + 1e-9)
    assert bundles(paths) <= pattern.messages
    again = merged(start, machine, turn_s=turn_s, seed=seed)
    assert np.array_equal(paths.positions, again.positions)
    assert np.array_equal(trimmed(paths).positions[:, [0, -1]], paths.positions[:, [0, -1]])


@settings(max_examples=40, deadline=None)
@given(PATTERNS, st.integers(0, 12), st.integers(1, 64))
def test_large_messages_and_those_of_idle_ranks_go_directly(
    pattern: Pattern, above: int, up_to: int
) -> None:
    sides = (2, -(-pattern.ranks // 2))
    box = multiphase(pattern, sides)
    mix = threshold_mix(box, above, up_to)
    sent, received = (
        np.bincount(end, minlength=pattern.ranks) for end in (pattern.source, pattern.target)
    )
    takes = np.maximum(sent[pattern.source], received[pattern.target]) > above
    assert np.array_equal(partners(pattern) > above, takes)
    takes &= pattern.size <= up_to
    assert np.array_equal(mix.positions[takes], box.positions[takes])
    assert (mix.positions[~takes, 1] == pattern.target[~takes]).all()
    fewer = merged(padded(direct(pattern), 3), flat(pattern.ranks), up_to=up_to)
    assert messages_direct(fewer)[pattern.size > up_to].all()


@settings(max_examples=25, deadline=None)
@given(PATTERNS, st.sampled_from(["", ",setup=2us", ",processors=two", ",copy=none,port_out=none"]))
def test_the_best_mix_is_no_slower_than_direct_messages(pattern: Pattern, more: str) -> None:
    machine = flat(pattern.ranks, more)
    paths = mixed(pattern, machine)
    assert paths.pattern == pattern
    found = [each.estimate.time_s for each in mixed_candidates(pattern, machine)]
    least_s = min([evaluate(direct(pattern), machine).time_s, *found])
    assert evaluate(paths, machine).time_s <= 1.001 * least_s


@settings(max_examples=60, deadline=None)
@given(
    PATTERNS,
    st.sampled_from(["mesh:3x4", "torus:2x3x2", "hypercube:3", "crossbar:7"]),
    st.sampled_from(["overhead=1us,copy=1GB/s", "setup=2us", "overhead=1us,setup=1us,port=1GB/s"]),
    st.integers(0, 3),
    st.sampled_from([1, 1, 2]),
    st.data(),
)
def test_mixes_are_those_of_the_slow_search(
    pattern: Pattern, network: str, costs: str, seed: int, effort: int, data: st.DataObject
) -> None:
    """Names, paths and estimates, with one rank or several on a node."""
    machine = parse_machine(f"{network},{costs}")
    nodes = machine.topology.endpoints
    placement = None
    if pattern.ranks > nodes or data.draw(st.booleans(), "placed"):
        placed = st.lists(st.integers(0, nodes - 1), min_size=pattern.ranks, max_size=pattern.ranks)
        placement = np.array(data.draw(placed, "placement"), np.int32)
    found = mixed_candidates(pattern, machine, placement, seed=seed, effort=effort)
    wanted = (
        list(Search(pattern, machine, placement, seed, effort).run()) if pattern.messages else []
    )
    assert [each.name for each in found] == [each.name for each in wanted]
    for each, other in zip(found, wanted, strict=True):
        assert np.array_equal(each.paths.positions, other.paths.positions), each.name
        assert each.estimate == other.estimate, each.name


def test_costs_by_size_keep_bundles_short() -> None:
    """Bundles up to 512 B are cheap, longer ones are not: none that is put together is longer."""
    steps = Steps((0.5e-6, 20e-6), (512.0, inf))
    machine = flat(16).with_costs(
        lambda own: replace(own, send_overhead=steps, receive_overhead=steps)
    )
    pattern = random_rows(16, 8, 200)
    paths = merged(padded(direct(pattern), 2), machine)
    assert bundles(paths) < pattern.messages
    assert max(int(paths.bundles(j).pattern.size.max()) for j in range(2)) <= 512


def test_ranks_that_share_nodes() -> None:
    pattern = random_rows(32, 12, 16)
    placement = np.repeat(np.arange(8, dtype=np.int32), 4)
    machine = flat(8)
    paths = paths_of(parse_combine("mixed"), pattern, machine, placement)
    assert paths == mixed(pattern, machine, placement)
    direct_s = evaluate(direct(pattern), machine, placement).time_s
    assert evaluate(paths, machine, placement).time_s < direct_s


def test_more_effort_is_no_slower() -> None:
    pattern, machine = random_rows(48, 6, 8), flat(48)
    one, three = (
        evaluate(mixed(pattern, machine, effort=effort), machine).time_s for effort in (1, 3)
    )
    assert three <= 1.001 * one


def test_where_bundles_are_no_work_everything_goes_directly() -> None:
    pattern, machine = random_rows(16, 4, 8), parse_machine("mesh:4x4")
    assert list(mixed_candidates(pattern, machine)) == []
    assert mixed(pattern, machine).stages == 1
    nothing = Pattern.from_messages([], [], [], 4)
    assert mixed(nothing, flat(4)).stages == 1


def test_a_wish_to_stop_leaves_the_best_so_far() -> None:
    pattern, machine = random_rows(16, 8, 8), flat(16)
    _core.ask_stop()
    try:
        assert mixed(pattern, machine).stages == 1
        start = padded(direct(pattern), 2)
        assert np.array_equal(merged(start, machine).positions, start.positions)
    finally:
        _core.reset_search()
    assert mixed(pattern, machine).stages > 1


def test_stages_are_added_and_taken_away() -> None:
    pattern = random_rows(8, 3, 8)
    paths = padded(direct(pattern), 4)
    assert paths.stages == 4
    assert paths.bundles(1).bundles == 0
    assert trimmed(paths) == direct(pattern)
    assert padded(paths, 2) == paths
    assert trimmed(padded(direct(Pattern.from_messages([], [], [], 2)), 3)).stages == 1
    with pytest.raises(InputError, match="stages = 65: must be at most 64"):
        padded(paths, 65)


def test_what_is_refused() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3)
    parts = Paths(
        pattern,
        np.array([[0, 1], [0, 1], [1, 2]]),
        np.array([0, 0, 1]),
        np.array([0, 4, 0]),
        np.array([4, 4, 8]),
    )
    with pytest.raises(InputError, match="whole messages required"):
        threshold_mix(parts, 0)
    assert trimmed(merged(parts, flat(3))) == parts
    ordered = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3, before=[[0, 1]])
    with pytest.raises(InputError, match="have an order"):
        mixed(ordered, flat(3))
