"""The frame of the reproduction: errors, verdicts, what is written; the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from conset.base import UsageError
from conset.cli.main import run
from conset_papers import Cell, Claim, Item, Row, Table, find_rows, table
from conset_papers.table import slug
from conset_papers.write import item_markdown, table_csv, write_index, write_item

HOLDS = Claim("naive loses", True, "3.1 against 2.9 ms")
FAILS = Claim("lp wins", False, "4 against 3 ms")


def item(**changes: object) -> Item:
    words: dict[str, object] = {
        "paper": "thakur",
        "name": "Table 9",
        "title": "times",
        "basis": "computed",
        "about": "Times of compiled schedules. By model circuit.",
    }
    return Item(**{**words, "cells": (Cell("a", "x", 100, 110), Cell("b", "x", 50, 50)), **changes})  # type: ignore[arg-type]


def test_errors_are_relative_and_tolerance_decides() -> None:
    made = item(tolerance=0.1)
    assert made.max_error == pytest.approx(0.1)
    assert made.rms_error == pytest.approx(0.1 / 2**0.5)
    assert item(tolerance=0.11).agrees
    outside = item(tolerance=0.05)
    assert not outside.agrees
    assert outside.all_departures == ("a, x: 110 against 100 (+10.0%)",)


def test_many_cells_outside_are_counted_and_the_farthest_is_named() -> None:
    cells = tuple(Cell(str(k), "x", 100, 110 + k) for k in range(9))
    assert item(cells=cells, tolerance=0.0).all_departures == (
        "9 of 9 cells outside the tolerance, the farthest: 8, x: 118 against 100 (+18.0%)",
    )
    assert len(item(cells=cells[:8], tolerance=0.0).all_departures) == 8


def test_a_departure_counts_for_no_tolerance_but_is_told() -> None:
    made = item(cells=(Cell("a", "x", 100, 150, departure="misprint"),), tolerance=0.0)
    assert made.agrees
    assert made.all_departures == ("a, x: misprint",)


def test_claims_decide_where_they_are_asserted() -> None:
    assert item(claims=(HOLDS,)).agrees
    assert not item(claims=(HOLDS, FAILS)).agrees
    reported = Claim(FAILS.statement, False, FAILS.figures, asserted=False)
    assert item(claims=(HOLDS, reported)).agrees
    alone = item(cells=(), claims=(HOLDS, FAILS))
    assert (alone.max_error, alone.failed) == (None, (FAILS,))
    with pytest.raises(ValueError, match="at least one cell"):
        item(cells=())


def test_verdict_says_when_nothing_is_demanded() -> None:
    assert item().verdict == "nothing demanded"
    assert item(tolerance=0.2).verdict == "agrees"
    assert item(tolerance=0.0).verdict == "does not agree"
    reported = Claim(FAILS.statement, False, FAILS.figures, asserted=False)
    assert item(cells=(), claims=(reported,)).verdict == "nothing demanded"
    assert item(claims=(FAILS,)).verdict == "does not agree"


def test_basis_is_said_and_what_is_transcribed_has_no_errors() -> None:
    assert item_markdown(item()).splitlines()[2] == "*Compiled and simulated.*"
    assert (
        item_markdown(item(basis="formula")).splitlines()[2]
        == "*Formula of the text on its constants.*"
    )
    copied = item(cells=(), basis="transcribed", tables=(Table("As printed", ("size",), ((1,),)),))
    assert item_markdown(copied).splitlines()[2] == "*Transcribed.*"
    with pytest.raises(ValueError, match="cells must be computed"):
        item(basis="transcribed")
    with pytest.raises(TypeError, match="basis"):
        Item("thakur", "Table 9", "times", "about", cells=(Cell("a", "x", 1, 1),))  # type: ignore[call-arg]


def test_every_row_has_its_function_and_its_name_once() -> None:
    rows = table()
    assert len({(row.paper, slug(row.item)) for row in rows}) == len(rows)
    for row in rows:
        assert find_rows(row.paper, row.item.lower()) == (row,)
        words = row.item.lower().split()
        if len(words) == 2 and words[1].isdigit():
            assert find_rows(row.paper, "".join(words)) == (row,)
    with pytest.raises(UsageError, match="did you mean 'thakur'"):
        find_rows("takur")
    with pytest.raises(UsageError, match="unknown item of bokhari-nicol 'table-22'"):
        find_rows("bokhari-nicol", "table22")


def test_markdown_csv_and_picture_of_an_item(tmp_path: Path) -> None:
    made = item(
        tables=(Table("More: by size", ("size", "time"), ((1, 2.5), (2, None))),), claims=(FAILS,)
    )
    names = {path.name for path in write_item(made, tmp_path)}
    assert names == {
        "table-9.md",
        "table-9.csv",
        "table-9-more.csv",
        "table-9-claims.csv",
        "table-9.svg",
    }
    with (tmp_path / "thakur" / "table-9.csv").open() as file:
        assert [row["ours"] for row in csv.DictReader(file)] == ["110", "50"]
    assert table_csv(made.tables[0]) == "size,time\n1,2.5\n2,\n"
    text = item_markdown(made, ["table-9.svg"])
    assert "**Does not agree**" in text
    assert "![Table 9: times](table-9.svg)" in text
    index = write_index([made], tmp_path).read_text()
    assert "1 item: 1 do not agree, 0 agree, 0 with nothing demanded" in index
    assert "does not hold: lp wins" in index


def test_the_index_has_failures_first_and_counts_cells_apart_from_claims(tmp_path: Path) -> None:
    items = [
        item(name="Good", tolerance=0.2),
        item(name="Shown"),
        item(name="Bad", claims=(HOLDS, FAILS)),
    ]
    text = write_index(items, tmp_path).read_text()
    assert text.index("[Bad]") < text.index("[Good]") < text.index("[Shown]")
    assert "6 cells" in text
    assert "2 claims, each of which could fail: 1 hold, 1 do not" in text
    row = next(line for line in text.splitlines() if "[Bad]" in line)
    assert row.split(" | ")[3:] == [
        "computed",
        "Times of compiled schedules",
        "2",
        "7.1%",
        "10.0%",
        "1 of 2 hold",
        " |",
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "bokhari-nicol", "table2", "-o", str(tmp_path / "new"), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    (made,) = body["items"]
    assert body["schema"] == "conset/reproduce@1"
    assert (made["paper"], made["item"], made["cells"], made["agrees"]) == (
        "bokhari-nicol",
        "Table 2",
        21,
        True,
    )
    assert made["rms_error"] == made["max_error"] == 0
    assert (made["basis"], made["assertions"], made["verdict"]) == ("computed", 1, "agrees")
    assert (tmp_path / "new" / "index.md").exists()
    assert run(["reproduce", "bokhari"]) == 2


def test_ctrl_c_keeps_what_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def make(row: Row) -> Item:
        if made:
            raise KeyboardInterrupt
        made.append(row.item)
        return item(name=row.item)

    monkeypatch.setattr(Row, "make", make)
    assert run(["reproduce", "-o", str(tmp_path), "--json"]) == 6
    body = json.loads(capsys.readouterr().out)
    assert [one["item"] for one in body["items"]] == made
    assert body["stopped_early"]
    assert f"[{made[0]}]" in (tmp_path / "index.md").read_text()


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    (row,) = find_rows("bokhari-nicol", "Table 2")
    one, two = (write_item(row.make(), tmp_path / name) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_without_the_papers_one_line_names_how_to_get_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conset.cli.reproduce.find_spec", lambda name: None)
    monkeypatch.setattr("conset.__file__", str(tmp_path / "a/b/conset/__init__.py"))
    assert run(["reproduce", "thakur", "table-1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install ./papers" in line
