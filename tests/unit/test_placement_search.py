"""Placements that look at the pattern.

What they keep, against a slow cost and the best of all, and what they save.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import UsageError
from conset.machine.network.routes import route_nodes
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.methods import PLACEMENTS, candidates, place
from conset.methods.placements.site import PlacementProblem, cut_network
from conset.pattern.pattern import Pattern

SEARCHES = ("bisection", "annealed", "annealed-bytes")


def one_way_ring() -> Topology:
    """Four endpoints in a cycle of one direction and a fifth node.

    The way back is never as long as the way there.
    """
    return Topology("graph", (), 4, 5, np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 0]))


TOPOLOGIES = (
    Topology.mesh(3, 4),
    Topology.torus(4, 4),
    Topology.ring(6),
    Topology.hypercube(3),
    Topology.crossbar(5),
    Topology.mesh(1, 1),
    one_way_ring(),
)


@st.composite
def sites(draw: st.DrawFn) -> PlacementProblem:
    topology = draw(st.sampled_from(TOPOLOGIES))
    per_node = draw(st.integers(1, 3))
    ranks = draw(st.integers(1, topology.endpoints * per_node))
    end = st.integers(0, ranks - 1)
    rows = draw(st.lists(st.tuples(end, end, st.integers(1, 99)), max_size=40))
    pattern = Pattern.from_messages(*np.array(rows, np.int64).reshape(-1, 3).T, ranks)
    return PlacementProblem(
        pattern, topology, Routing.default(topology), per_node, draw(st.integers(0, 3))
    )


def cost_by_hand(problem: PlacementProblem, placement: np.ndarray | None, by_bytes: bool) -> int:
    node = range(problem.pattern.ranks) if placement is None else placement.tolist()
    total = 0
    for source, target, size in zip(
        problem.pattern.source, problem.pattern.target, problem.pattern.size, strict=True
    ):
        ends = np.array([node[source]], np.int32), np.array([node[target]], np.int32)
        visited = route_nodes(problem.topology, problem.routing, *ends)[1].size
        if ends[0] != ends[1]:
            total += visited * int(size if by_bytes else 1)
    return total


@settings(max_examples=60, deadline=None)
@given(sites(), st.sampled_from(SEARCHES))
def test_nodes_exist_are_not_crowded_and_cost_what_is_said(
    problem: PlacementProblem, name: str
) -> None:
    placement = PLACEMENTS[name](problem)
    node = problem.node_of(placement)
    assert node.shape == (problem.pattern.ranks,)
    assert node.dtype == np.int32
    assert np.bincount(node, minlength=1).max() <= problem.ranks_per_node
    assert node.min() >= 0
    assert node.max() < problem.topology.endpoints
    for weight in ("messages", "bytes"):
        assert problem.cost(placement, weight) == cost_by_hand(
            problem, placement, weight == "bytes"
        )  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(sites())
def test_annealing_costs_no_more_than_the_identity_or_bisection(problem: PlacementProblem) -> None:
    for name, weight in (("annealed", "messages"), ("annealed-bytes", "bytes")):
        cost = problem.cost(PLACEMENTS[name](problem), weight)  # type: ignore[arg-type]
        assert cost <= problem.cost(PLACEMENTS["identity"](problem), weight)  # type: ignore[arg-type]
        same = PLACEMENTS[name](problem)
        assert np.array_equal(problem.node_of(same), problem.node_of(PLACEMENTS[name](problem))), (
            "the same seed, other nodes"
        )


@pytest.mark.parametrize(
    "topology", [Topology.mesh(2, 3), Topology.ring(6), Topology.hypercube(3), one_way_ring()]
)
def test_annealing_finds_the_best_of_all_small_placements(topology: Topology) -> None:
    ends = topology.endpoints
    rng = np.random.default_rng(5)
    rows = rng.integers(0, ends, (12, 2))
    problem = PlacementProblem(
        Pattern.from_messages(*rows.T, rng.integers(1, 9, 12), ends),
        topology,
        Routing.default(topology),
    )
    everything = [np.array(order, np.int32) for order in permutations(range(ends))]
    if ends > 6:
        everything = [
            order for order in everything if order[0] == 0
        ]  # a cube looks the same from every node
    for name, weight in (("annealed", "messages"), ("annealed-bytes", "bytes")):
        least = min(
            problem.cost(order, weight) for order in everything[:: max(1, len(everything) // 800)]
        )  # type: ignore[arg-type]
        assert problem.cost(PLACEMENTS[name](problem), weight) <= least  # type: ignore[arg-type]


def shuffled_mesh(rows: int, columns: int, seed: int) -> Pattern:
    """A halo exchange of neighbours on a grid whose ranks are numbered at random."""
    grid = np.random.default_rng(seed).permutation(rows * columns).reshape(rows, columns)
    pairs = np.concatenate(
        [
            np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], 1),
            np.stack([grid[:-1].ravel(), grid[1:].ravel()], 1),
        ]
    )
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return Pattern.from_messages(*both.T, np.full(len(both), 64), rows * columns)


def test_a_shuffled_grid_is_put_back_on_its_mesh() -> None:
    topology = Topology.mesh(8, 8)
    pattern = shuffled_mesh(8, 8, seed=3)
    problem = PlacementProblem(pattern, topology, Routing.default(topology))
    found = {
        name: problem.cost(PLACEMENTS[name](problem), "messages")
        for name in ("identity", *SEARCHES)
    }
    # 224 messages of one hop take 448 channels at least; at random a message travels 16/3 hops,
    # 1419 channels
    assert found["identity"] > 1200
    assert found["bisection"] <= 1.35 * 448
    assert found["annealed"] <= 1.12 * 448


def test_ranks_that_talk_share_a_node() -> None:
    pairs = np.array([[0, 7], [1, 4], [2, 5], [3, 6]])
    pattern = Pattern.from_messages(*np.concatenate([pairs, pairs[:, ::-1]]).T, np.full(8, 10), 8)
    for topology in (Topology.crossbar(4), Topology.ring(4)):
        for name in SEARCHES:
            node = place(name, pattern=pattern, topology=topology, ranks_per_node=2)
            assert node is not None
            assert np.array_equal(node[pairs[:, 0]], node[pairs[:, 1]]), name


def test_where_all_placements_are_the_same_ranks_stay_as_numbered() -> None:
    ranks = np.arange(16)
    source, target = np.repeat(ranks, 16), np.tile(ranks, 16)
    everyone = Pattern.from_messages(source, target, np.full(256, 8), 16)
    for name in SEARCHES:
        assert place(name, pattern=everyone, topology=Topology.torus(4, 4)) is None
    names = [name for name, _ in candidates(pattern=everyone, topology=Topology.torus(4, 4))]
    assert names == ["identity", "gray"]


def test_effort_and_seed_are_heeded() -> None:
    pattern, topology = shuffled_mesh(5, 5, seed=1), Topology.torus(5, 5)
    least = [
        PlacementProblem(
            pattern, topology, Routing.default(topology), seed=seed, effort=effort
        ).cost(
            place("annealed", pattern=pattern, topology=topology, seed=seed, effort=effort),
            "messages",
        )
        for seed, effort in ((0, 1), (0, 4))
    ]
    assert min(least) >= 2 * pattern.messages  # a channel in both ends at least
    names = ("random", "bisection", "annealed")
    one, two = (
        [place(name, pattern=pattern, topology=topology, seed=seed) for name in names]
        for seed in (1, 2)
    )
    assert any(not np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_network_is_cut_down_to_single_nodes(topology: Topology) -> None:
    silent = Pattern.from_messages([], [], [], 1)
    order, low, middle, high = cut_network(
        PlacementProblem(silent, topology, Routing.default(topology))
    )
    assert sorted(order.tolist()) == list(range(topology.endpoints))
    assert low.size == topology.endpoints - 1
    assert np.all((low < middle) & (middle < high))
    lengths = (high - low).tolist()
    if topology.kind == "torus":
        assert lengths == [16, 8, 8, 4, 4, 4, 4, *[2] * 8]
        assert set((order[:8] // 4).tolist()) == {0, 1}, (
            "the first cut leaves two rows on each side"
        )


def test_auto_is_for_the_compiler() -> None:
    silent = Pattern.from_messages([], [], [], 1)
    with pytest.raises(
        UsageError, match=r"^placement auto: is chosen by compiling; name one of the others here$"
    ):
        place("auto", pattern=silent, topology=Topology.mesh(2, 2))
