"""`compare` of several patterns and machines, and its tables for programs.

CSV, Parquet, frames of pandas.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pandas
import pytest

import conset
from conset.base.errors import MissingExtraError
from conset.cli.main import run
from conset.studies.compare.comparison import tidy

SEVERAL = [
    "compare",
    "shift:by=1",
    "transpose",
    "--on",
    "mesh:2x2",
    "--on",
    "ring:4",
    "--methods",
    "naive,first-fit",
]
PAIRS = [
    ("shift:by=1", "mesh:2x2"),
    ("shift:by=1", "ring:4"),
    ("transpose", "mesh:2x2"),
    ("transpose", "ring:4"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_pattern_on_every_machine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEVERAL, "--json", "-o", "x.md"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    pairs = [(row["pattern_name"], row["machine"]) for row in found["rows"]]
    assert pairs == [pair for pair in PAIRS for _ in range(2)]
    for pair in PAIRS:
        times = [
            row["time_s"] for row in found["rows"] if (row["pattern_name"], row["machine"]) == pair
        ]
        assert times == sorted(times)
    assert found["manifest"]["command"] == (
        "conset compare shift:by=1 transpose --on mesh:2x2 --on ring:4 --methods naive,first-fit"
    )
    for pattern, machine in PAIRS:
        assert f"{pattern} on {machine}\n" in err
        assert f"**{pattern} on {machine}**" in Path("x.md").read_text()


def test_one_of_them_says_the_same_as_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SEVERAL, "--json"]) == 0
    together = json.loads(capsys.readouterr().out)["rows"]
    alone = []
    for pattern, machine in PAIRS:
        assert (
            run(["compare", pattern, "--on", machine, "--methods", "naive,first-fit", "--json"])
            == 0
        )
        alone += json.loads(capsys.readouterr().out)["rows"]
    for row in (*together, *alone):
        del row["compile_s"]
    assert together == alone


def test_where_no_method_applies_the_others_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "compare",
        "alltoall",
        "--on",
        "crossbar:4",
        "--on",
        "mesh:2x2",
        "--methods",
        "bounded",
    ]
    assert run([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert [row["machine"] for row in found["rows"]] == ["mesh:2x2"]
    assert [(row["machine"], row["method"]) for row in found["skipped"]] == [
        ("crossbar:4", "bounded")
    ]
    assert "bounded: does not apply" in err
    assert (
        run(
            [
                "compare",
                "alltoall",
                "--on",
                "crossbar:4",
                "--on",
                "crossbar:2",
                "--methods",
                "bounded",
            ]
        )
        == 3
    )
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_models_are_those_of_all_machines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "compare",
        "shift",
        "--on",
        "mesh:2x2",
        "--on",
        "ipsc860:4",
        "--methods",
        "naive",
        "--simulate",
        "--json",
    ]
    assert run(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [set(row["simulated"]) | set(row["not_simulated"]) for row in rows] == [
        {"flow", "wormhole", "circuit"}
    ] * 2


def test_a_table_has_one_value_a_cell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEVERAL, "--simulate", "--json", "-o", "x.csv"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    table = table_of("x.csv")
    assert len(table) == len(rows)
    for cells, row in zip(table, rows, strict=True):
        assert (cells["pattern_name"], cells["machine"], cells["method"]) == (
            row["pattern_name"],
            row["machine"],
            row["method"],
        )
        assert float(cells["time_s"]) == row["time_s"]
        assert int(cells["bound_phases"]) == row["bound"]["phases"]
        assert int(cells["pattern_bytes"]) == row["pattern"]["bytes"]
        assert float(cells["simulated_flow_time_s"]) == row["simulated"]["flow"]["time_s"]
        assert not any(mark in value for value in cells.values() for mark in "{}[]")


def test_parquet_says_the_same(folder: Path) -> None:
    assert run([*SEVERAL, "-o", "x.parquet"]) == 0
    assert run([*SEVERAL, "-o", "x.csv"]) == 0
    frame = pandas.read_parquet("x.parquet")
    table = table_of("x.csv")
    assert list(frame.columns) == list(table[0])
    for name in ("pattern_name", "machine", "method", "sync", "in_flight"):
        assert frame[name].tolist() == [row[name] for row in table]
    assert frame["time_s"].tolist() == [float(row["time_s"]) for row in table]


def test_python_gives_a_frame() -> None:
    found = conset.compare(
        ["shift:by=1", "transpose"], ["mesh:2x2", "ring:4"], methods=["naive", "first-fit"]
    )
    frame = found.to_pandas()
    assert len(frame) == len(found.rows) == 8
    best = frame.loc[frame.groupby(["pattern_name", "machine"])["time_s"].idxmin()]
    assert [(row.pattern_name, row.machine) for row in best.itertuples()] == PAIRS
    assert frame["time_s"].dtype == "float64"


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (["alltoall", "--on", "mesh:4x4", "--curve", "--sizes", "8,1KiB"], "contention"),
        (
            ["alltoall", "--on", "mesh:2x2", "--stages", "--methods", "naive", "--sizes", "8"],
            "stages",
        ),
        (
            ["random", "--on", "mesh:2x2", "--map", "--methods", "naive,lp", "--sizes", "8,64"],
            "degree",
        ),
    ],
)
def test_curves_maps_and_stages_too(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], column: str
) -> None:
    assert run(["compare", *words, "--json", "-o", "x.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    objects = (
        found.get("stages")
        or found.get("map", {}).get("cells")
        or [point for curve in found["curves"] for point in curve["points"]]
    )
    table = table_of("x.csv")
    assert [row[column] for row in table] == [str(each[column]) for each in objects]
    assert {row["size"] for row in table} >= {"8"}


def test_missing_libraries_are_named_with_their_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = conset.compare("shift", "mesh:2x2", methods="naive")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingExtraError, match=r"pandas is not installed: pip install 'conset\[frames\]'"
    ):
        found.to_pandas()


def test_parquet_is_refused_before_anything_is_computed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run([*SEVERAL, "-o", "x.parquet"]) == 2
    assert (
        capsys.readouterr().err
        == "conset: pyarrow is not installed: pip install 'conset[frames]'\n"
    )
    assert list(folder.iterdir()) == []


def test_a_column_is_of_one_kind_and_no_structure() -> None:
    columns, rows = tidy(
        [
            {
                "method": "a",
                "in_flight": "all",
                "measured": None,
                "verdict": {"text": "x"},
                "list": [1],
            },
            {
                "method": "b",
                "in_flight": 4,
                "measured": {"median_s": 2.0},
                "verdict": None,
                "list": [],
            },
        ]
    )
    assert columns == ["method", "in_flight", "measured_median_s"]
    assert rows == [
        {"method": "a", "in_flight": "all", "measured_median_s": None},
        {"method": "b", "in_flight": "4", "measured_median_s": 2.0},
    ]
    assert tidy([]) == ([], [])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            [*SEVERAL, "-o", "x.svg"],
            "a picture has one pattern on one machine; .md and .csv have all",
        ),
        (
            [*SEVERAL[:6], "ring:4", "--curve"],
            "one pattern on one machine, given 2 patterns on 2 machines",
        ),
        (
            ["compare", "alltoall", "--on", "mesh:2x2", "--on", "ring:4", "--map"],
            "given 1 pattern on 2 machines",
        ),
        (
            ["compare", "alltoall", "--on", "mesh:2x2", "-o", "x.xlsx"],
            "ends in .md, .csv, .parquet, .svg or .png",
        ),
        (
            ["compare", "alltoall", "--on", "mesh:2x2", "--curve", "--methods", "lp"],
            "--methods lp: does not go with",
        ),
        (
            ["compare", "alltoall", "--on", "mesh:2x2", "--curve", "--sync", "local"],
            "--sync local: does not go with",
        ),
        (
            ["compare", "alltoall", "--on", "mesh:2x2", "--curve", "--contention", "2"],
            "--contention 2: does not go",
        ),
        (
            ["compare", "random", "--on", "mesh:2x2", "--map", "--combine", "auto"],
            "--combine auto: does not go",
        ),
        (
            ["compare", "random", "--on", "mesh:2x2", "--map", "--parts", "2"],
            "--parts 2: does not go with --map",
        ),
        (
            ["compare", "shift", "--on", "alltoall"],
            "alltoall is a pattern: it stands before --on, a machine after",
        ),
        (
            ["compare", "alltoall", "mesh:2x2", "--on", "ring:4"],
            "mesh:2x2 is a machine: put --on before it",
        ),
    ],
)
def test_what_does_not_go_together(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert line in err
    assert len(err.splitlines()) == 1
    assert list(folder.iterdir()) == []
