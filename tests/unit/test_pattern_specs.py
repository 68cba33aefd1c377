"""Specs: the words of a pattern, and what every wrong word is answered with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import ConsetError, InputError, UsageError
from conset.machine.network.topology import Topology
from conset.pattern.readers.table import READERS
from conset.pattern.spec import DISTRIBUTIONS, Sizes, input_path, parse_pattern, parse_sizes

MESHES = (
    ".msh .vtk .vtu .su2 .inp .bdf .nas .fem .vol .meshb .avs .off .stl .ply .obj .xdmf .xmf .node "
    ".ele .ugrid .med .e .exo .ex2 .gz .mesh .graph .mgraph"
)


def test_defaults() -> None:
    pattern = parse_pattern("alltoall", ranks=4)
    assert (pattern.ranks, pattern.messages, pattern.name) == (4, 12, "alltoall")
    assert set(pattern.size.tolist()) == {1024}


def test_ranks_in_the_spec_win_over_the_machine() -> None:
    topology = Topology.mesh(4, 4)
    assert parse_pattern("alltoall", topology=topology).ranks == 16
    assert parse_pattern("alltoall", topology=topology, ranks=32).ranks == 32
    assert parse_pattern("alltoall:ranks=5", topology=topology, ranks=32).ranks == 5


def test_seed_in_the_spec_wins_over_the_argument() -> None:
    one = parse_pattern("random:degree=3,seed=7", ranks=32, seed=1)
    two = parse_pattern("random:degree=3", ranks=32, seed=7)
    assert np.array_equal(one.target, two.target)


def test_partners_do_not_depend_on_sizes() -> None:
    one = parse_pattern("random:degree=3", ranks=32)
    two = parse_pattern("random:degree=3,size=uniform(1,9)", ranks=32)
    assert np.array_equal(one.target, two.target)


def test_commas_inside_parentheses() -> None:
    pattern = parse_pattern("random : size = log-uniform( 64 , 64 KiB ), degree=2, ranks=8")
    assert pattern.messages == 16
    assert pattern.size.min() >= 64
    assert pattern.size.max() <= 65536


def test_a_comma_may_stand_for_the_colon() -> None:
    assert parse_pattern("alltoall,size=4KiB,ranks=3").bytes == 6 * 4096


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4KiB", Sizes("equal", 4096)),
        ("uniform(1,4KiB)", Sizes("uniform", 1, 4096)),
        ("log-uniform(64,64KiB)", Sizes("log-uniform", 64, 65536)),
        ("lognormal(1KiB,0.5)", Sizes("lognormal", 1024, sigma=0.5)),
    ],
)
def test_sizes(text: str, sizes: Sizes) -> None:
    assert parse_sizes(text) == sizes


def test_distributions_have_the_moments_of_their_definition() -> None:
    """Standard errors of 40,000 draws are below half the tolerances.

    uniform(1, 9) has mean 5. log-uniform(a, b) has a median of sqrt(a b). lognormal(m, s) has
    median m, and its logarithm deviation s.
    """
    random = np.random.default_rng(1)
    assert abs(parse_sizes("uniform(1,9)").draw(40_000, random).mean() - 5) < 0.06
    logarithm = np.log(parse_sizes("log-uniform(100,1000000)").draw(40_000, random))
    assert abs(np.median(logarithm) - np.log(10_000)) < 0.15
    logarithm = np.log(parse_sizes("lognormal(1MB,0.5)").draw(40_000, random))
    assert abs(np.median(logarithm) - np.log(10**6)) < 0.02
    assert abs(logarithm.std() - 0.5) < 0.01


def test_uniform_reaches_both_ends() -> None:
    assert set(parse_sizes("uniform(3,5)").draw(200, np.random.default_rng(0)).tolist()) == {
        3,
        4,
        5,
    }


def test_sizes_are_at_least_one_byte() -> None:
    assert parse_sizes("lognormal(1,3)").draw(1000, np.random.default_rng(0)).min() == 1


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("alltoal", "unknown pattern 'alltoal': did you mean 'alltoall'?"),
        ("randm:degree=3", "unknown pattern 'randm': did you mean 'random'?"),
        ("random:degre=3", "unknown option of random 'degre': did you mean 'degree'?"),
        ("random:degree=-1", "degree = -1: must be at least 0"),
        ("random:degree=x", "degree 'x': a whole number required"),
        ("random:degree=1.5", "degree '1.5': a whole number required"),
        (
            "random:3",
            "pattern 'random:3': option '3': key=value required, keys: degree, size, seed, ranks",
        ),
        (
            "random:degree=",
            "pattern 'random:degree=': option 'degree=': key=value required, keys: degree, "
            "size, seed, ranks",
        ),
        (
            "alltoall:size=1,size=2",
            "pattern 'alltoall:size=1,size=2': option 'size' is given twice",
        ),
        ("alltoall:ranks=0", "ranks = 0: must be at least 1"),
        ("alltoall:ranks=20000000", "ranks = 20000000: must be at most 16777216"),
        ("alltoall:seed=-1", "seed = -1: must be at least 0"),
        ("stencil:reach=0", "reach = 0: must be at least 1"),
        ("stencil:sides=4y4", "sides '4y4': a whole number required"),
        ("stencil:sides=0x4", "sides = 0: must be at least 1"),
        ("scatter:root=-1", "root = -1: must be at least 0"),
        ("alltoall:size=-4", "size '-4': must be at least 0 B, is -4 B"),
        ("alltoall:size=0", "size '0': must be at least 1 B, is 0 B"),
        ("alltoall:size=1.5", "size '1.5': must be whole bytes, is 1.5 B"),
        ("alltoall:size=nan", "size 'nan': must be finite"),
        ("alltoall:size=1e30", "size '1e30': must be at most 2^62 B, is 1e+30 B"),
        ("alltoall:size=4kib", "size '4kib': unknown unit 'kib': did you mean 'KiB'?"),
        (
            "alltoall:size=unifrm(1,2)",
            "unknown distribution of sizes 'unifrm': did you mean 'uniform'?",
        ),
        ("alltoall:size=uniform", "size 'uniform': write uniform(a,b)"),
        (
            "alltoall:size=uniform(5)",
            "size 'uniform(5)': uniform takes 2 arguments (a, b), given 1",
        ),
        (
            "alltoall:size=uniform(5,2)",
            "size 'uniform(5,2)': a must be at most b, a is 5 B and b is 2 B",
        ),
        ("alltoall:size=uniform(0,2)", "size a '0': must be at least 1 B, is 0 B"),
        (
            "alltoall:size=lognormal(8,x)",
            "size 'lognormal(8,x)': sigma must be a number, given 'x'",
        ),
        (
            "alltoall:size=lognormal(8,-1)",
            "size 'lognormal(8,-1)': sigma must be finite and at least 0, is -1",
        ),
    ],
)
def test_wrong_words(spec: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pattern(spec, ranks=16)
    assert str(caught.value) == line


def test_too_many_bytes_in_all() -> None:
    with pytest.raises(InputError, match=r"all messages together are 1.11e\+21 B, at most 2\^62 B"):
        parse_pattern("alltoall:size=4611686018427387904", ranks=16)


def test_no_number_of_ranks() -> None:
    with pytest.raises(UsageError, match=r"pattern 'alltoall': ranks=N required"):
        parse_pattern("alltoall")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"ranks": 0}, "ranks = 0: must be at least 1"),
        ({"ranks": 4, "parts": 3}, f"pattern 'alltoall': parts is for .mtx {MESHES} only"),
        ({"ranks": 4, "rows_to": 3}, "pattern 'alltoall': rows_to is for .mtx only"),
        ({"ranks": 4, "parts": 0}, "parts = 0: must be at least 1"),
        ({"ranks": 4, "rows_to": -1}, "rows_to = -1: must be at least 1"),
        ({"ranks": 4, "word": 0}, "word = 0: must be at least 1"),
        ({"ranks": 4, "seed": -1}, "seed = -1: must be at least 0"),
    ],
)
def test_wrong_options(options: dict[str, int], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pattern("alltoall", **options)  # type: ignore[arg-type]
    assert str(caught.value) == line


def test_what_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.data").write_text("1")
    (tmp_path / "random").write_text("1")
    for spec in (
        "alltoall",
        "random",
        "random:degree=3",
        "alltoal",
        "stencil:sides=4x4",
        "",
        "nothing.data",
    ):
        assert input_path(spec) is None
    for name in (
        "x.csv",
        "X.MTX",
        "a/b",
        "./alltoall",
        "list.data",
        str(tmp_path),
        *(f"m{suffix}" for suffix in READERS),
    ):
        assert input_path(name) == Path(name)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nothing.csv", "nothing.csv: no such file"),
        ("./nothing", "nothing: no such file"),
        ("empty.mtx", "empty.mtx: is empty"),
        ("folder.csv", "folder.csv: is a directory, a file is required"),
        ("folder.csv/", "folder.csv: is a directory, a file is required"),
        (
            "x.data",
            "x.data: unknown suffix '.data', known: .mtx .npz .csv .json .pack .goal .tit .xml "
            ".prof .record .cm " + MESHES,
        ),
    ],
)
def test_files_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.mtx").touch()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "x.data").write_text("1")
    with pytest.raises(ConsetError) as caught:
        parse_pattern(name, ranks=4)
    assert isinstance(caught.value, InputError)
    assert str(caught.value) == line


def test_every_distribution_and_reader_has_help() -> None:
    assert all(text and len(names) == 2 for names, text in DISTRIBUTIONS.values())
    assert all(reader.summary for reader in READERS.values())
