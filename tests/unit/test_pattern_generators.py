"""Generators: who sends to whom, counted by hand on small cases."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.machine.network.topology import Topology
from conset.pattern.generators.table import COMMON, GENERATORS
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern

MESH = Topology.mesh(3, 4)
TORUS = Topology.torus(4, 4)


def pairs(pattern: Pattern) -> set[tuple[int, int]]:
    """The messages as pairs; a pattern of distinct messages has as many pairs."""
    found = set(zip(pattern.source.tolist(), pattern.target.tolist(), strict=True))
    assert len(found) == pattern.messages
    return found


def both(*edges: tuple[int, int]) -> set[tuple[int, int]]:
    return {*edges, *((b, a) for a, b in edges)}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("alltoall:ranks=3", {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}),
        ("rows:ranks=4,sides=2x2", both((0, 1), (2, 3))),
        ("columns:ranks=4,sides=2x2", both((0, 2), (1, 3))),
        ("neighbor:ranks=4", both((0, 1), (1, 2), (2, 3), (3, 0))),
        ("neighbor:ranks=2", both((0, 1))),
        # everybody but the two ends of each row, which are 2 apart
        (
            "stencil:ranks=6,sides=2x3",
            {(a, b) for a in range(6) for b in range(6) if a != b and abs(a % 3 - b % 3) < 2},
        ),
        ("butterfly:ranks=4", both((0, 1), (0, 2), (1, 3), (2, 3))),
        # heap: 0 over 1 and 2, 1 over 3 and 4, 2 over 5
        ("tree:ranks=6", both((0, 1), (0, 2), (1, 3), (1, 4), (2, 5))),
        # 3 x 3: r * 3 + c to c * 3 + r
        ("transpose:ranks=9", both((1, 3), (2, 6), (5, 7))),
        # 001 ↔ 100, 011 ↔ 110
        ("bit-reverse:ranks=8", both((1, 4), (3, 6))),
        ("bit-complement:ranks=4", both((0, 3), (1, 2))),
        # 001 → 010 → 100 → 001, 011 → 110 → 101 → 011
        ("shuffle:ranks=8", {(1, 2), (2, 4), (4, 1), (3, 6), (6, 5), (5, 3)}),
        ("shift:ranks=3,by=2", {(0, 2), (1, 0), (2, 1)}),
        ("shift:ranks=3,by=-1", {(0, 2), (1, 0), (2, 1)}),
        ("tornado:ranks=5", {(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)}),
        ("hotspot:ranks=4,to=2", {(0, 2), (1, 2), (3, 2)}),
        ("gather:ranks=3", {(1, 0), (2, 0)}),
        ("scatter:ranks=3,root=1", {(1, 0), (1, 2)}),
        ("random:ranks=3,degree=2", {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}),
        ("random-rows:ranks=3,degree=2", {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}),
    ],
)
def test_small_cases_by_hand(spec: str, expected: set[tuple[int, int]]) -> None:
    assert pairs(parse_pattern(spec)) == expected


@pytest.mark.parametrize(
    ("spec", "topology", "messages"),
    [
        ("alltoall", MESH, 12 * 11),
        ("rows", MESH, 3 * 4 * 3),
        ("columns", MESH, 4 * 3 * 2),
        ("rows", Topology.mesh(2, 3, 5), 6 * 5 * 4),
        ("columns", Topology.mesh(2, 3, 5), 10 * 3 * 2),
        # links: 3 rows of 3 and 4 columns of 2, both ways
        ("neighbor", MESH, 2 * (3 * 3 + 4 * 2)),
        ("neighbor", TORUS, 16 * 4),
        ("neighbor", Topology.torus(2, 4), 8 * (1 + 2)),
        ("neighbor", Topology.hypercube(4), 16 * 4),
        ("neighbor", Topology.ring(5), 5 * 2),
        ("neighbor", Topology.crossbar(5), 5 * 2),
        # a mesh of 3 x 4: 4 corners with 3 neighbours, 6 at the border with 5, 2 inside with 8
        ("stencil", MESH, 4 * 3 + 6 * 5 + 2 * 8),
        ("stencil", Topology.torus(5, 5), 25 * 8),
        ("stencil:reach=2", Topology.torus(5, 5), 25 * 24),
        ("stencil:reach=2", Topology.torus(8, 8), 64 * 24),
        # reach 2 on a cycle of 4 is everybody once
        ("stencil:reach=2", TORUS, 16 * 15),
        ("stencil", Topology.torus(2, 5), 10 * (2 * 3 - 1)),
        ("stencil", Topology.mesh(3, 3, 3), 8 * 7 + 12 * 11 + 6 * 17 + 26),
        ("butterfly", Topology.hypercube(5), 32 * 5),
        ("tornado", Topology.torus(8, 8), 64),
        ("random:degree=3", TORUS, 16 * 3),
    ],
)
def test_messages_on_networks(spec: str, topology: Topology, messages: int) -> None:
    pattern = parse_pattern(spec, topology=topology)
    assert pattern.ranks == topology.endpoints
    assert len(pairs(pattern)) == messages


def test_tornado_follows_every_side() -> None:
    # (x, y) to (x + 3 mod 8, y + 1 mod 4)
    pattern = parse_pattern("tornado", topology=Topology.torus(8, 4))
    assert pairs(pattern) == {
        (4 * x + y, 4 * ((x + 3) % 8) + (y + 1) % 4) for x in range(8) for y in range(4)
    }


def test_tornado_goes_over_the_ranks_without_a_side_above_2() -> None:
    expected = pairs(parse_pattern("shift:by=7,ranks=16"))
    assert pairs(parse_pattern("tornado", topology=Topology.hypercube(4))) == expected
    assert pairs(parse_pattern("tornado:ranks=16", topology=Topology.torus(8, 8))) == expected
    assert pairs(parse_pattern("tornado", topology=Topology.mesh(2, 2))) == pairs(
        parse_pattern("shift:ranks=4")
    )


def test_several_ranks_a_node_keep_their_number() -> None:
    # rank r is number r % 2 on node r // 2
    pattern = parse_pattern("neighbor", topology=Topology.mesh(3), ranks=6)
    assert pairs(pattern) == both((0, 2), (1, 3), (2, 4), (3, 5))
    rows = parse_pattern("rows", topology=Topology.mesh(2, 2), ranks=8)
    assert pairs(rows) == {
        (a, b) for row in (range(4), range(4, 8)) for a in row for b in row if a != b
    }


def test_neighbors_in_a_graph_are_the_nearest_endpoints() -> None:
    # endpoints 0 1 | 2 3 under switches 4 and 5, which are joined
    edges = both((0, 4), (1, 4), (2, 5), (3, 5), (4, 5))
    source, target = np.array(sorted(edges), np.int32).T
    topology = Topology("graph", (), 4, 6, source, target)
    assert pairs(parse_pattern("neighbor", topology=topology)) == both((0, 1), (2, 3))


def test_direct_neighbors_in_a_graph() -> None:
    source, target = np.array([[0, 1], [1, 2], [2, 0]], np.int32).T
    assert pairs(
        parse_pattern("neighbor", topology=Topology("graph", (), 3, 3, source, target))
    ) == {
        (0, 1),
        (1, 2),
        (2, 0),
    }


@pytest.mark.parametrize(
    ("spec", "local"),
    [
        ("transpose:ranks=9", 3),
        ("shuffle:ranks=8", 2),
        ("shift:by=0,ranks=5", 5),
        ("gather:ranks=5", 0),
    ],
)
def test_ranks_mapped_to_themselves_are_local(spec: str, local: int) -> None:
    assert parse_pattern(f"{spec},size=10").local_bytes == 10 * local


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("transpose:ranks=8", "transpose: requires a square number of ranks, given 8"),
        ("butterfly:ranks=12", "butterfly: requires a power of two of ranks, given 12"),
        ("bit-reverse:ranks=12", "bit-reverse: requires a power of two of ranks, given 12"),
        ("bit-complement:ranks=6", "bit-complement: requires a power of two of ranks, given 6"),
        ("shuffle:ranks=3", "shuffle: requires a power of two of ranks, given 3"),
        (
            "random:degree=16,ranks=16",
            "random: requires a degree of at most ranks - 1 = 15, given 16",
        ),
        (
            "random-rows:degree=5,ranks=4",
            "random-rows: requires a degree of at most ranks - 1 = 3, given 5",
        ),
        (
            "power-law:degree=4,ranks=4",
            "power-law: requires a degree of at most ranks - 1 = 3, given 4",
        ),
        ("hotspot:to=16,ranks=16", "hotspot: requires to = a rank from 0 to 15, given 16"),
        ("scatter:root=4,ranks=4", "scatter: requires root = a rank from 0 to 3, given 4"),
        (
            "stencil:sides=4x5,ranks=16",
            "stencil: requires sides that multiply to 16 ranks, given 4x5 = 20",
        ),
        (
            "columns:sides=16,ranks=16",
            "columns: requires at least two sides, given 16 ranks and no network",
        ),
        (
            "alltoall:ranks=100000",
            "alltoall: requires at most 2147483647 messages, given 9999900000",
        ),
    ],
)
def test_outside_the_domain(spec: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pattern(spec)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("ranks", "degree", "alpha"), [(6, 2, 1.6), (6, 5, 1.0), (9, 3, 50.0), (7, 0, 1.6)]
)
def test_pairs_of_a_power_law_are_as_likely_as_stated(
    ranks: int, degree: int, alpha: float
) -> None:
    """How often each pair of expected degrees is an edge, over many drawings, against min(1,
    w[i] w[j] / sum)."""
    drawings = 3000
    met = np.zeros((ranks, ranks))
    for seed in range(drawings):
        pattern = parse_pattern(
            f"power-law:degree={degree},alpha={alpha},ranks={ranks},size=1", seed=seed
        )
        by_weight = np.random.default_rng(seed).permutation(
            ranks
        )  # the first choice of every drawing
        edges = pattern.matrix()[np.ix_(by_weight, by_weight)]
        assert np.array_equal(edges, edges.T)
        met += edges
    weight = np.arange(1, ranks + 1) ** (-1 / alpha)
    weight *= ranks * degree / weight.sum()
    likely = np.minimum(1, np.outer(weight, weight) / max(weight.sum(), 1))
    np.fill_diagonal(likely, 0)
    assert np.abs(met / drawings - likely).max() < 4.5 * 0.5 / np.sqrt(drawings)


@pytest.mark.parametrize("ranks", [1000, 16384])
def test_degrees_of_a_power_law_fall_as_its_power(ranks: int) -> None:
    """The Hill estimate of the exponent from the largest tenth, mean of several drawings."""
    exponents = []
    for seed in range(5):
        pattern = parse_pattern(f"power-law:degree=16,alpha=1.6,ranks={ranks}", seed=seed)
        degree = np.sort(np.diff(pattern.offsets))[::-1]
        top = degree[: ranks // 10].astype(float)
        exponents.append(1 / np.log(top / degree[ranks // 10]).mean())
    assert 1.45 < np.mean(exponents) < 1.9
    assert exponents[0] != exponents[1]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("0.5", "alpha = 0.5: must be at least 1"),
        ("inf", "alpha = inf: must be finite"),
        ("much", "alpha 'much': a number required"),
    ],
)
def test_an_alpha_out_of_range_is_refused(value: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pattern(f"power-law:alpha={value},ranks=8")
    assert str(caught.value) == line


@pytest.mark.parametrize("spec", ["rows", "columns", "stencil"])
@pytest.mark.parametrize("topology", [Topology.hypercube(4), Topology.crossbar(16)])
def test_coordinates_need_a_box(spec: str, topology: Topology) -> None:
    with pytest.raises(
        InputError,
        match=(
            f"{spec}: requires sides= or a mesh, torus or ring .*, given 16 ranks on "
            f"{topology.kind}"
        ),
    ):
        parse_pattern(spec, topology=topology)


def test_ranks_must_fill_the_network() -> None:
    with pytest.raises(
        InputError, match="neighbor: requires a multiple of 16 ranks, given 10 ranks on torus 4x4"
    ):
        parse_pattern("neighbor:ranks=10", topology=TORUS)


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_has_defaults_and_help(name: str) -> None:
    row = GENERATORS[name]
    assert row.summary
    assert row.requires
    assert all(argument.help for argument in row.arguments.values())
    assert not set(row.arguments) & set(COMMON)
    pattern = parse_pattern(name, topology=TORUS)
    assert pattern.ranks == 16
    assert pattern.messages
    assert pattern.name == name


@pytest.mark.parametrize("at", [0, 1_200_000, 1_999_999])
def test_a_message_to_the_own_rank_is_refused_wherever_it_stands(at: int) -> None:
    """Two million ranks send one message each: more than one block of the check."""
    target = np.arange(1, 2_000_001, dtype=np.int32) % 2_000_000
    target[at] = at
    with pytest.raises(
        InputError, match=rf"target\[{at}\] = {at}: a message to its own rank is local_bytes"
    ):
        Pattern(2_000_000, np.arange(2_000_001), target, np.broadcast_to(np.int64(1), 2_000_000))


def test_complete_exchange_takes_four_bytes_a_message() -> None:
    tracemalloc.start()
    try:
        pattern = parse_pattern("alltoall:ranks=1500")
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pattern.size.strides == (0,)
    # beside the targets: offsets (8 bytes a rank), and blocks of 2^20 messages while checking
    assert now < 4.1 * pattern.messages
    assert peak < 4.1 * pattern.messages + 12 * 2**20


def test_large_random_patterns_are_quick() -> None:
    start = time.perf_counter()
    pattern = parse_pattern("random:degree=64,ranks=4096")
    # measured 0.02 s; the wide margin is for a busy machine
    assert time.perf_counter() - start < 2
    assert pattern.messages == 4096 * 64


def test_random_link_loads_on_a_cube_are_those_of_switched_circulants() -> None:
    """Mean largest e-cube link load of d-regular patterns on 64 nodes.

    Source: 50 samples each of relabelled circulants followed by 100 to 200 random switches a
    message: 9.24 at d = 8, 14.7 at d = 16, 23.3 at d = 32, spread about 1 a sample; two means of 50
    and 40 samples differ by less than 0.6.
    """
    for degree, mean in ((8, 9.24), (16, 14.7), (32, 23.3)):
        loads = []
        for seed in range(40):
            pattern = parse_pattern(f"random:degree={degree},ranks=64", seed=seed)
            use = np.zeros((64, 6), np.int64)
            at, to = pattern.source.astype(np.int64), pattern.target
            for bit in range(6):
                crossing = ((at ^ to) >> bit) & 1 == 1
                np.add.at(use, (at[crossing], bit), 1)
                at = np.where(crossing, at ^ (1 << bit), at)
            loads.append(use.max())
        assert abs(np.mean(loads) - mean) < 0.6
