"""Properties that every generated pattern keeps, and the obvious slow versions of the fast ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from conset.machine.network.topology import Topology
from conset.pattern.generators.table import GENERATORS
from conset.pattern.readers.partition import Cells, dual_graph
from conset.pattern.spec import parse_pattern, parse_sizes, split_options

seeds = st.integers(0, 2**31 - 1)


def assert_sound(pattern: object, ranks: int) -> None:
    assert pattern.ranks == ranks
    assert (pattern.source != pattern.target).all()
    key = pattern.source.astype(np.int64) * ranks + pattern.target
    assert (np.diff(key) > 0).all(), "sorted by source, then target, and distinct"


@given(
    st.sampled_from(sorted(GENERATORS)),
    st.sampled_from([(4, 4), (8, 8), (2, 2, 4), (1, 16), (16, 16)]),
    st.booleans(),
    seeds,
)
@settings(max_examples=150, deadline=None)
def test_no_self_messages_distinct_and_the_same_again(
    name: str, sides: tuple[int, ...], wraps: bool, seed: int
) -> None:
    topology = Topology.torus(*sides) if wraps else Topology.mesh(*sides)
    if name == "random" and topology.nodes <= 4:
        return
    spec = f"{name}:size=log-uniform(64,64KiB)"
    if name == "transpose" and topology.nodes not in (16, 64, 256):
        return
    first, again = (parse_pattern(spec, topology=topology, seed=seed) for _ in range(2))
    assert_sound(first, topology.nodes)
    for part in ("offsets", "target", "size"):
        assert np.array_equal(getattr(first, part), getattr(again, part))
    assert first.local_bytes == again.local_bytes


@given(st.integers(1, 40), st.data(), seeds)
@settings(max_examples=200, deadline=None)
def test_random_is_regular_both_ways(ranks: int, data: st.DataObject, seed: int) -> None:
    degree = data.draw(st.integers(0, ranks - 1))
    pattern = parse_pattern(f"random:degree={degree},ranks={ranks}", seed=seed)
    assert_sound(pattern, ranks)
    assert (np.diff(pattern.offsets) == degree).all()
    assert (np.bincount(pattern.target, minlength=ranks) == degree).all()


@given(st.integers(1, 40), st.data(), seeds)
@settings(max_examples=100, deadline=None)
def test_random_rows_are_regular(ranks: int, data: st.DataObject, seed: int) -> None:
    degree = data.draw(st.integers(0, ranks - 1))
    pattern = parse_pattern(f"random-rows:degree={degree},ranks={ranks}", seed=seed)
    assert_sound(pattern, ranks)
    assert (np.diff(pattern.offsets) == degree).all()


@given(
    st.sampled_from(
        [
            "transpose",
            "bit-reverse",
            "bit-complement",
            "shuffle",
            "shift:by=5",
            "permutation",
            "tornado",
        ]
    ),
    st.sampled_from([1, 4, 16, 64, 256]),
    seeds,
)
@settings(max_examples=100, deadline=None)
def test_permutations_permute(spec: str, ranks: int, seed: int) -> None:
    pattern = parse_pattern(f"{spec}{',' if ':' in spec else ':'}ranks={ranks},size=1", seed=seed)
    assert_sound(pattern, ranks)
    assert np.unique(pattern.target).size == pattern.messages
    assert pattern.messages + pattern.local_bytes == ranks
    # who sends is who receives: the others are fixed points
    assert set(pattern.source.tolist()) == set(pattern.target.tolist())


def test_seeds_differ() -> None:
    for spec in (
        "random:degree=4",
        "random-rows:degree=4",
        "permutation",
        "alltoall:size=uniform(1,1000)",
    ):
        one, two = (parse_pattern(spec, ranks=64, seed=seed) for seed in (1, 2))
        assert not (np.array_equal(one.target, two.target) and np.array_equal(one.size, two.size))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(1, 3), st.booleans())
@settings(max_examples=100, deadline=None)
def test_stencil_against_the_definition(sides: list[int], reach: int, wraps: bool) -> None:
    topology = Topology.torus(*sides) if wraps else Topology.mesh(*sides)
    at = topology.coordinates.astype(np.int64)
    expected = set()
    for a in range(topology.nodes):
        for b in range(topology.nodes):
            step = np.abs(at[a] - at[b])
            if wraps:
                step = np.minimum(step, np.array(sides) - step)
            if a != b and (step <= reach).all():
                expected.add((a, b))
    pattern = parse_pattern(f"stencil:reach={reach}", topology=topology)
    assert set(zip(pattern.source.tolist(), pattern.target.tolist(), strict=True)) == expected


@given(
    st.integers(1, 5000), st.integers(0, 10**6), st.sampled_from(["uniform", "log-uniform"]), seeds
)
@settings(max_examples=100, deadline=None)
def test_sizes_stay_within_their_ends(low: int, width: int, kind: str, seed: int) -> None:
    drawn = parse_sizes(f"{kind}({low},{low + width})").draw(200, np.random.default_rng(seed))
    assert drawn.dtype == np.int64
    assert drawn.min() >= low
    assert drawn.max() <= low + width


@given(
    st.lists(
        st.sampled_from(["a=1", "size=uniform(1,2)", "b=f(g(1,2),3)", "x"]), min_size=1, max_size=5
    )
)
def test_splitting_undoes_joining(words: list[str]) -> None:
    assert split_options(",".join(words)) == words


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=2, max_size=4, unique=True), min_size=1, max_size=8
    ),
    st.integers(1, 3),
)
@settings(max_examples=100, deadline=None)
def test_dual_graph_against_the_definition(elements: list[list[int]], common: int) -> None:
    count = np.array([len(element) for element in elements])
    offsets = np.concatenate([[0], np.cumsum(count)])
    graph = dual_graph(Cells(offsets, np.array([n for e in elements for n in e]), count, common))
    for a, element in enumerate(elements):
        joined = [
            b
            for b, other in enumerate(elements)
            if b != a and len(set(element) & set(other)) >= common
        ]
        assert graph.neighbor[graph.offsets[a] : graph.offsets[a + 1]].tolist() == joined
