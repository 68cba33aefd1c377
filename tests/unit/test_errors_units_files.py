"""The ground floor: error texts, the one parser of units, writing without halves."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conset.base import VERSION
from conset.base.arrays import frozen_ints
from conset.base.errors import InputError, UsageError, unknown_name
from conset.base.files import replacing, require_file
from conset.base.units import (
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_size,
    parse_time,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4 KiB", 4096),
        ("4KiB", 4096),
        ("1 kB", 1000),
        ("512", 512),
        ("512 B", 512),
        ("1.5KiB", 1536),
        ("2 GiB", 2**31),
        ("3MB", 3 * 10**6),
        (7, 7),
        ("0", 0),
    ],
)
def test_sizes_g_is_decimal_and_gi_is_binary(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["-4", "4 Kb/s", "x", "1.5", "inf", "nan", "9e30", "4 QB", "", "KiB"]
)
def test_sizes_that_are_none_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_size(text)
    assert "\n" not in str(error.value)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("25 GB/s", 25e9),
        ("25GB/s", 25e9),
        ("100 Gb/s", 12.5e9),
        ("100 Gbit/s", 12.5e9),
        ("16MiB/s", 16 * 2**20),
    ],
)
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["0 GB/s", "-1 GB/s", "inf B/s", "3 GB", "fast", "0", "-1"])
def test_rates_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rate(text)


def test_times() -> None:
    assert parse_time("2 us") == 2e-6
    assert parse_time("2µs") == 2e-6
    assert parse_time("150 ns") == pytest.approx(1.5e-7)
    assert parse_time("-134 us", signed=True) == pytest.approx(-134e-6)
    for text in ("-1 us", "3 parsecs", "nan"):
        with pytest.raises(UsageError):
            parse_time(text)


@pytest.mark.parametrize(
    ("read", "value", "line"),
    [
        (parse_rate, "16", "rate '16': a unit is required, as 16GB/s"),
        (parse_rate, 25e9, "rate '25000000000.0': a unit is required, as 25GB/s"),
        (parse_time, "2", "time '2': a unit is required, as 2us"),
        (parse_time, 5e-7, "time '5e-07': a unit is required, as 500ns"),
        (parse_rate, "16Gbps", "rate '16Gbps': unknown unit 'Gbps': did you mean 'Gb/s'?"),
        (parse_rate, "16 GBps", "rate '16 GBps': unknown unit 'GBps': did you mean 'GB/s'?"),
        (parse_rate, "16 gb/s", "rate '16 gb/s': unknown unit 'gb/s': did you mean 'Gb/s'?"),
        (parse_rate, "3 GB", "rate '3 GB': unknown unit 'GB': did you mean 'GB/s'?"),
        (parse_time, "2 usec", "time '2 usec': unknown unit 'usec': did you mean 'us'?"),
        (parse_time, "3 parsecs", "time '3 parsecs': unknown unit 'parsecs' (s, ms, us, ns)"),
        (parse_size, "4kb", "size '4kb': unknown unit 'kb': did you mean 'kB'?"),
        (parse_size, "1 gib", "size '1 gib': unknown unit 'gib': did you mean 'GiB'?"),
    ],
)
def test_the_nearest_right_spelling(
    read: Callable[[str | float], float], value: str | float, line: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read(value)
    assert str(caught.value) == line


def test_nothing_needs_no_unit() -> None:
    assert parse_time("0") == parse_time(0) == parse_time("0.0", signed=True) == 0


@given(st.integers(0, 2**50))
def test_a_plain_number_of_bytes_is_itself(size: int) -> None:
    assert parse_size(str(size)) == size


@given(st.floats(1e-9, 1e3))
def test_formatted_times_parse_back(time_s: float) -> None:
    assert math.isclose(parse_time(format_time(time_s)), time_s, rel_tol=1e-3)


def test_formats_for_people() -> None:
    assert [format_size(4096), format_rate(25e9), format_time(2e-6), format_time(0)] == [
        "4 KiB",
        "25 GB/s",
        "2 us",
        "0 s",
    ]


def test_did_you_mean() -> None:
    assert "did you mean 'rs-n'?" in str(unknown_name("method", "rsn", ["rs-n", "lp"]))
    assert "known: lp, rs-n" in str(unknown_name("method", "qqq", ["rs-n", "lp"]))


def test_casting_refuses_what_would_wrap() -> None:
    with pytest.raises(InputError, match=r"target\[1\] = 4294967296"):
        frozen_ints(np.array([1, 2**32]), np.int32, "target")
    with pytest.raises(InputError, match=r"size\[0\] = nan"):
        frozen_ints(np.array([np.nan]), np.int64, "size")
    with pytest.raises(InputError, match=r"size\[0\] = 1\.5"):
        frozen_ints(np.array([1.5]), np.int64, "size")
    with pytest.raises(InputError, match=r"size\[0\]"):
        frozen_ints(np.array([2.0**63]), np.int64, "size")
    assert not frozen_ints(np.array([1, 2]), np.int32, "target").flags.writeable


def test_an_error_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as beside:
            beside.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with replacing(path) as beside:
        beside.write_text("new")
    assert path.read_text() == "new"


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    for path, rule in (
        (tmp_path, "is a directory"),
        (tmp_path / "none.csv", "no such file"),
        (tmp_path / "empty.csv", "is empty"),
    ):
        with pytest.raises(InputError, match=rule):
            require_file(path)
    with (
        pytest.raises(InputError, match="cannot be written"),
        replacing(tmp_path / "no" / "folder.json"),
    ):
        pass


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
