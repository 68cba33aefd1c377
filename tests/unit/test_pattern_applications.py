"""Patterns of applications of today: counted by hand, and against what they conserve."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError, UsageError
from conset.pattern.generators.learning import _popularity, _routed
from conset.pattern.generators.meshes import _across, _balanced, _parent, _refined
from conset.pattern.generators.partners import Setting
from conset.pattern.generators.random import generate_power_law
from conset.pattern.generators.table import GENERATORS
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern


def rows(spec: str) -> set[tuple[int, int, int]]:
    pattern = parse_pattern(spec)
    return set(
        zip(pattern.source.tolist(), pattern.target.tolist(), pattern.size.tolist(), strict=True)
    )


def everything(pattern: Pattern) -> int:
    return int(pattern.size.sum()) + pattern.local_bytes


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # every token goes to both experts: 3 tokens of 10 B from each rank to the other's expert
        ("moe:ranks=2,tokens=3,top=2,hidden=10", {(0, 1, 30), (1, 0, 30)}),
        # experts 0, 1, 2 live on ranks 0, 0, 1; all three are taken
        ("moe:ranks=2,tokens=5,experts=3,top=3,hidden=1", {(0, 1, 5), (1, 0, 10)}),
        ("moe:ranks=2,tokens=5,experts=3,top=3,hidden=1,way=combine", {(1, 0, 5), (0, 1, 10)}),
        # half of the even share of 4 tokens · 2 of 2 experts: 2 tokens for each
        ("moe:ranks=2,tokens=4,top=2,hidden=7,capacity=0.5", {(0, 1, 14), (1, 0, 14)}),
        # three stages of two: 0 1 | 2 3 | 4 5
        (
            "pipeline:ranks=6,stages=3,tokens=2,hidden=5,way=forward",
            {(0, 2, 10), (1, 3, 10), (2, 4, 10), (3, 5, 10)},
        ),
        ("pipeline:ranks=3,tokens=1,hidden=4", {(0, 1, 4), (1, 2, 4), (1, 0, 4), (2, 1, 4)}),
        # two passes: twice between stages, once from the last to the first
        (
            "pipeline:ranks=3,tokens=1,hidden=4,chunks=2,way=backward",
            {(1, 0, 8), (2, 1, 8), (0, 2, 4)},
        ),
        # blocks of 3, 3, 4 B: rank 0 sends all but block 1, then all but block 2: 7 + 6
        ("tensor:ranks=3,group=3,tokens=1,hidden=10", {(0, 1, 13), (1, 2, 13), (2, 0, 14)}),
        # each its block for the other, and its own when it is summed
        (
            "tensor:ranks=4,group=2,tokens=1,hidden=5,way=all",
            {(0, 1, 5), (1, 0, 5), (2, 3, 5), (3, 2, 5)},
        ),
        # tensor groups 01 23 45 67 in two stages: 0 with 2, 1 with 3, 4 with 6, 5 with 7
        (
            "data-parallel:ranks=8,tensor=2,stages=2,gradients=6",
            {
                (a, b, 6)
                for one, two in ((0, 2), (1, 3), (4, 6), (5, 7))
                for a, b in ((one, two), (two, one))
            },
        ),
        # slabs of a 2 x 3 x 1 array: x in 1 + 1, y in 1 + 2; rank 0 has y = 0 for rank 1, which has
        # y = 1, 2
        ("fft:ranks=2,shape=2x3x1,sides=2,word=4", {(0, 1, 4), (1, 0, 8)}),
        # pencils on 2 x 2, ranges of 1: transpose 1 within a column of the grid, transpose 2 within
        # a row
        ("fft:ranks=4,shape=2x2x2,sides=2x2,word=1", {(0, 2, 1), (2, 0, 1), (1, 3, 1), (3, 1, 1)}),
        (
            "fft:ranks=4,shape=2x2x2,sides=2x2,word=1,transpose=2",
            {(0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, 1)},
        ),
        # coarse blocks 2 x 1, one a rank: one face of 4 cells, 1 deep, of 8 B
        ("amr:ranks=2,sides=2x1,levels=0,cells=4,ghosts=1", {(0, 1, 32), (1, 0, 32)}),
        # a line of three blocks on three ranks: a face of one cell
        (
            "amr:ranks=3,sides=3,levels=0,ghosts=2,word=1",
            {(0, 1, 2), (1, 0, 2), (1, 2, 2), (2, 1, 2)},
        ),
    ],
)
def test_small_cases_by_hand(spec: str, expected: set[tuple[int, int, int]]) -> None:
    assert rows(spec) == expected


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("moe:ranks=4,top=5", "moe: requires top of at most 4 experts, given 5"),
        ("moe:ranks=4,step=100001", "moe: requires a step of at most 100000, given 100001"),
        ("pipeline:ranks=8,stages=3", "pipeline: requires stages that divide 8 ranks, given 3"),
        ("tensor:ranks=9,group=8", "tensor: requires a group that divides 9 ranks, given 8"),
        (
            "data-parallel:ranks=12,tensor=8",
            "data-parallel: requires tensor · stages that divide 12 ranks, given 8 · 1 = 8",
        ),
        (
            "fft:ranks=8,sides=2x2",
            "fft: requires one or two sides that multiply to 8 ranks, given 2x2",
        ),
        ("fft:ranks=8,shape=4x4", "fft: requires a shape of three axes, given 4x4"),
        ("fft:ranks=8,sides=8,transpose=2", "fft: requires a transpose from 1 to 1, given 2"),
        (
            "fft:ranks=9,sides=9,shape=8x16x16",
            "fft: requires at most 8 ranks along a side, given 9",
        ),
        (
            "amr:ranks=5,sides=2x2,levels=0",
            "amr: requires at most as many ranks as 4 blocks, given 5",
        ),
        ("amr:ranks=4,cells=5", "amr: requires an even number of cells, given 5"),
        ("amr:ranks=4,ghosts=9", "amr: requires at most 8 ghosts, given 9"),
        ("amr:ranks=4,sides=2x2x2x2", "amr: requires one to three sides, given 2x2x2x2"),
        ("partition:ranks=4,vertices=3", "partition: requires at least 4 vertices, given 3"),
        (
            "partition:ranks=4,vertices=8,degree=8",
            "partition: requires a degree of at most vertices - 1 = 7, given 8",
        ),
    ],
)
def test_outside_the_domain(spec: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pattern(spec)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("moe:ranks=4,way=combin", "unknown way 'combin': did you mean 'combine'?"),
        ("moe:ranks=4,hidden=0", "hidden '0': must be at least 1 B, is 0 B"),
        ("moe:ranks=4,tokens=0", "tokens = 0: must be at least 1"),
    ],
)
def test_words_out_of_range(spec: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pattern(spec)
    assert str(caught.value) == line


SIZED = [name for name, row in GENERATORS.items() if row.sized]


@pytest.mark.parametrize("name", SIZED)
def test_size_draws_other_sizes_for_the_same_messages(name: str) -> None:
    own, drawn = (parse_pattern(f"{name}{words}", ranks=16) for words in ("", ":size=5"))
    assert np.array_equal(own.target, drawn.target)
    assert np.array_equal(own.offsets, drawn.offsets)
    assert set(drawn.size.tolist()) == {5}
    assert drawn.local_bytes % 5 == 0


@pytest.mark.parametrize("name", SIZED)
def test_examples_are_specs(name: str) -> None:
    if "metis" in GENERATORS[name].example:
        pytest.importorskip("pymetis")
    pattern = parse_pattern(GENERATORS[name].example, ranks=32)
    assert pattern.messages
    assert pattern.name.startswith(f"{name}:")


@given(
    st.integers(2, 9),
    st.integers(1, 30),
    st.integers(1, 12),
    st.data(),
    st.sampled_from([0.0, 0.7, 3.0]),
    st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_every_token_reaches_all_its_experts(
    ranks: int, tokens: int, experts: int, data: st.DataObject, skew: float, step: int
) -> None:
    top = data.draw(st.integers(1, experts))
    words = f"tokens={tokens},experts={experts},top={top},hidden=3,skew={skew},step={step}"
    there = parse_pattern(f"moe:{words}", ranks=ranks, seed=step)
    back = parse_pattern(f"moe:{words},way=combine", ranks=ranks, seed=step)
    assert everything(there) == ranks * tokens * top * 3
    assert np.array_equal(there.matrix(), back.matrix().T)
    home = {e * ranks // experts for e in range(experts)}
    assert set(there.target.tolist()) <= home
    out = np.bincount(there.source, there.size, minlength=ranks)
    assert (out <= tokens * top * 3).all()


def test_experts_are_drawn_by_weight_without_replacement() -> None:
    """Pairs of three experts against the sum over orders of w_i / W · w_j / (W - w_i).

    Many collisions on purpose.
    """
    weight = np.array([1.0, 0.02, 0.01])
    drawn = _routed(weight, 40_000, 2, np.random.default_rng(1))
    assert (drawn[:, 0] != drawn[:, 1]).all()
    total = weight.sum()
    for i, j in product(range(3), repeat=2):
        if i != j:
            expected = weight[i] / total * weight[j] / (total - weight[i])
            share = ((drawn[:, 0] == i) & (drawn[:, 1] == j)).mean()
            assert abs(share - expected) < 4.5 * np.sqrt(expected / 40_000)


def test_popular_experts_change_little_from_step_to_step_and_much_in_the_end() -> None:
    start, near, far = (
        _popularity(64, 1.0, step, np.random.default_rng(3)) for step in (0, 1, 1000)
    )
    assert np.allclose(np.sort(start), np.arange(64, 0, -1.0) ** -1)
    assert (start != near).sum() <= 2
    assert (start != far).sum() > 48
    one, two = (parse_pattern(f"moe:ranks=8,skew=1.2,step={step}").matrix() for step in (4, 5))
    assert (one != two).any()


def test_skew_makes_columns_unequal() -> None:
    received = [
        np.bincount(pattern.target, pattern.size, minlength=32)
        for pattern in (parse_pattern(f"moe:ranks=32,skew={skew}") for skew in (0, 1.2))
    ]
    even, skewed = (column.max() / column.mean() for column in received)
    assert even < 1.2
    assert skewed > 4


@given(st.integers(1, 12), st.integers(0, 40), st.sampled_from(["ring", "all"]))
@settings(max_examples=40, deadline=None)
def test_a_sum_moves_every_block_once_to_be_summed_and_once_back(
    group: int, extra: int, way: str
) -> None:
    total = group + extra
    pattern = parse_pattern(
        f"tensor:group={group},tokens=1,hidden={total},way={way}", ranks=2 * group
    )
    assert everything(pattern) == 2 * (2 * (group - 1) * total)


@given(
    st.tuples(*[st.integers(1, 9)] * 3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([1, 2]),
)
@settings(max_examples=60, deadline=None)
def test_transposes_are_those_of_the_indices(
    shape: tuple[int, int, int], p: int, q: int, transpose: int
) -> None:
    """Against the owner of every number before and after."""
    nx, ny, nz = shape
    if min(nx, ny) < p or min(nz, ny if transpose == 2 else nz) < q:
        return
    sides = f"{p}x{q}"

    def owner(index: int, numbers: int, parts: int) -> int:
        return next(k for k in range(parts) if index < (k + 1) * numbers // parts)

    expected = np.zeros((p * q, p * q), np.int64)
    for x, y, z in product(range(nx), range(ny), range(nz)):
        after_one = owner(x, nx, p) * q + owner(z, nz, q)
        if transpose == 1:
            expected[owner(y, ny, p) * q + owner(z, nz, q), after_one] += 1
        else:
            expected[after_one, owner(x, nx, p) * q + owner(y, ny, q)] += 1
    words = f"fft:shape={nx}x{ny}x{nz},sides={sides},word=1,transpose={transpose}"
    pattern = parse_pattern(words, ranks=p * q)
    assert everything(pattern) == nx * ny * nz
    assert pattern.local_bytes == np.trace(expected)
    np.fill_diagonal(expected, 0)
    assert np.array_equal(pattern.matrix(), expected)


@given(
    st.sampled_from([(7,), (4, 3), (2, 3, 2)]),
    st.integers(0, 3),
    st.integers(0, 10**6),
    st.integers(1, 5),
)
@settings(max_examples=30, deadline=None)
def test_refined_blocks_tile_the_box_balanced_and_faces_cost_the_same_both_ways(
    sides: tuple[int, ...], levels: int, seed: int, ranks: int
) -> None:
    random = np.random.default_rng(seed)
    centre, radius = (
        np.array(sides) * random.uniform(0.25, 0.75, len(sides)),
        min(sides) * random.uniform(0.15, 0.4),
    )
    blocks = _balanced(_refined(sides, levels, centre, radius), sides)
    assert sum(2.0 ** (-level * len(sides)) for level, _ in blocks) == np.prod(sides)
    for block in blocks:
        for other in _across(block, sides):
            cover = other
            while cover not in blocks and cover[0] > 0:
                cover = _parent(cover)
            if cover in blocks:
                assert cover[0] >= block[0] - 1
    shape = "x".join(map(str, sides))
    pattern = parse_pattern(f"amr:sides={shape},levels={levels}", ranks=ranks, seed=seed)
    assert np.array_equal(pattern.matrix(), pattern.matrix().T)


def test_a_front_refines_and_travels() -> None:
    quiet, front, later = (
        parse_pattern(f"amr:{words}", ranks=16) for words in ("levels=0", "levels=2", "step=1")
    )
    assert everything(front) > everything(quiet)
    assert (front.matrix() != later.matrix()).any()


@pytest.mark.parametrize("parts", ["hash", "block", "metis"])
def test_ghosts_are_the_foreign_neighbours(parts: str) -> None:
    """Every vertex once for every other rank that has a neighbour.

    METIS cuts less than dealing at random.
    """
    if parts == "metis":
        pytest.importorskip("pymetis")
    pattern = parse_pattern(f"partition:vertices=200,degree=6,parts={parts}", ranks=5, seed=2)
    graph = generate_power_law(Setting(200, None, np.random.default_rng(2)), degree=6, alpha=1.6)
    ends = np.repeat(np.arange(200), np.diff(graph.offsets))
    if parts == "block":
        owner = np.arange(200) // 40
        ghosts = {
            (v, owner[u]) for v, u in zip(ends, graph.target, strict=True) if owner[u] != owner[v]
        }
        expected = np.zeros((5, 5), np.int64)
        for v, reader in ghosts:
            expected[owner[v], reader] += 8
        assert np.array_equal(pattern.matrix(), expected)
    assert 0 < pattern.bytes <= 200 * 4 * 8
    if parts == "metis":
        assert (
            pattern.bytes < parse_pattern("partition:vertices=200,degree=6", ranks=5, seed=2).bytes
        )


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("data-parallel:gradients=4611686018427387904", "sums: requires at most 2^62 B together"),
        ("tensor:group=4,tokens=2147483647,hidden=1TiB", "sums: requires at most 2^62 B together"),
        ("pipeline:hidden=4611686018427387904", "pipeline: requires at most 2^62 B together"),
        ("pipeline:chunks=2147483647,hidden=1GiB", "pipeline: requires at most 2^62 B together"),
        ("amr:word=999999999999999999", "amr: requires at most 2^62 B together"),
        ("amr:cells=2147483646,ghosts=1073741823", "amr: requires at most 2^62 B together"),
        ("fft:word=4611686018427387904", "fft: requires at most 2^62 B together"),
        ("fft:shape=2147483647x2147483647x2147483647", "fft: requires at most 2^62 B together"),
        ("moe:hidden=4611686018427387904", "moe: requires at most 2^62 B together"),
        ("partition:word=4611686018427387904", "sizes: requires at most 2^62 B together"),
    ],
)
def test_sizes_beyond_any_index_are_refused_before_they_are_computed(spec: str, line: str) -> None:
    """In 64 bits they are 0, negative, or anything."""
    with pytest.raises(InputError) as caught:
        parse_pattern(spec, ranks=16)
    assert line in str(caught.value)


def test_memory_is_checked_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conset.base.units.os.sysconf", lambda _: 2**15)
    for spec in ("moe:tokens=2147483647", "moe:experts=2147483647,top=1", "alltoall:ranks=40000"):
        with pytest.raises(InputError, match="GiB of memory, the limit is 1 GiB"):
            parse_pattern(spec, ranks=16)


def test_a_capacity_above_all_tokens_drops_none() -> None:
    one, other = (
        parse_pattern(f"moe:tokens=64{more}", ranks=8, seed=3) for more in ("", ",capacity=1e300")
    )
    assert one.matrix().tolist() == other.matrix().tolist()


def test_more_ranks_than_a_pattern_has() -> None:
    with pytest.raises(UsageError, match="ranks = 2147483644: must be at most 16777216"):
        parse_pattern("shift", ranks=2147483644)
