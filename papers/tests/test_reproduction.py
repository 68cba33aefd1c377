"""The frame of the reproduction: errors, verdicts, what is written; the command."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest

from conset.base import UsageError
from conset.cli.main import run
from conset_papers import Cell, Claim, Item, Row, Table, find_rows, table
from conset_papers.item import VERDICTS, read_rows
from conset_papers.table import PAPERS, slug
from conset_papers.write import item_markdown, page_markdown, table_csv, write_index, write_item

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
    allowed = changes.pop("allowed", 0.1)
    cells = (Cell("a", "x", 100, 110, allowed), Cell("b", "x", 50, 50, allowed))  # type: ignore[arg-type]
    return Item(**{**words, "cells": cells, "why": "a reason", **changes})  # type: ignore[arg-type]


def test_errors_are_relative_and_tolerance_decides() -> None:
    made = item(allowed=0.11)
    assert made.max_error == pytest.approx(0.1)
    assert made.rms_error == pytest.approx(0.1 / 2**0.5)
    assert made.verdict == "holds"
    outside = item(allowed=0.05)
    assert (outside.verdict, outside.outcome) == ("fails", {"fails": 1, "holds": 1})
    assert outside.all_departures == ("a, x: 110 against 100 (+10.0%)",)
    with pytest.raises(ValueError, match="a reason for the tolerances is required"):
        item(why="")
    assert item(cells=(Cell("a", "x", 1, 1.0001),), why="").verdict == "fails", "exact without one"


def test_many_cells_outside_are_counted_and_the_farthest_is_named() -> None:
    cells = tuple(Cell(str(k), "x", 100, 110 + k) for k in range(9))
    assert item(cells=cells).all_departures == (
        "9 of 9 cells outside the tolerance, the farthest: 8, x: 118 against 100 (+18.0%)",
    )
    assert len(item(cells=cells[:8]).all_departures) == 8


def test_a_cell_that_was_fitted_is_not_judged_and_counts_for_no_error() -> None:
    made = item(cells=(Cell("a", "x", 100, 150, aside="fitted"), Cell("a", "y", 2, 2)))
    assert (made.verdict, made.max_error) == ("holds", 0)
    assert made.outcome == {"not judged": 1, "holds": 1}
    assert made.all_departures == ("not judged, 1 of the cells: fitted",)


def test_a_number_of_several_tables_is_judged_in_each_and_counted_in_one() -> None:
    made = item(cells=(Cell("a", "x", 100, 150, counted_in="Table 1"),))
    assert (made.verdict, made.outcome.total()) == ("fails", 0)


def test_claims_decide_where_they_are_judged() -> None:
    reported = Claim(FAILS.statement, False, FAILS.figures, asserted=False)
    verdicts = [
        item(cells=(), claims=claims).verdict
        for claims in ((HOLDS,), (HOLDS, FAILS), (HOLDS, reported), (reported,))
    ]
    assert verdicts == ["holds", "fails", "holds", "not judged"]
    assert item(cells=(), claims=(HOLDS, FAILS)).failed == (FAILS,)
    with pytest.raises(ValueError, match="at least one cell"):
        item(cells=())


def test_basis_is_said_and_what_is_transcribed_has_no_errors() -> None:
    assert item_markdown(item()).splitlines()[2] == "*Compiled and simulated.*"
    assert (
        item_markdown(item(basis="formula")).splitlines()[2]
        == "*Formula of the paper on its constants.*"
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
    assert "**Fails**" in text
    assert "![Table 9: times](table-9.svg)" in text
    index = write_index([made], tmp_path).read_text()
    assert "1 item. Cells and claims: 2 fails, 1 holds, 0 not judged." in index
    assert "- fails: lp wins" in text


def test_the_index_has_failures_first_and_one_outcome_for_each_paper(tmp_path: Path) -> None:
    items = [
        item(name="Good", allowed=0.2),
        item(name="Shown", cells=(), claims=(Claim("a", True, "b", asserted=False),)),
        item(name="Bad", allowed=0.2, claims=(HOLDS, FAILS)),
    ]
    text = write_index(items, tmp_path).read_text()
    assert text.index("[Bad]") < text.index("[Good]") < text.index("[Shown]")
    assert "- thakur: 1 fails, 5 holds, 1 not judged" in text
    row = next(line for line in text.splitlines() if "[Bad]" in line)
    assert row.strip("| ").split(" | ")[3:] == [
        *("computed", "Times of compiled schedules", "7.1%", "10.0%", "1", "3", "0"),
    ]


def test_without_a_paper_the_command_lists_durations_and_outcomes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["reproduce", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert [(one["paper"], one["item"]) for one in body["items"]] == [
        (row.paper, row.item) for row in table()
    ]
    assert find_rows("all") == table()


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if PAPERS[paper][2]])
def test_every_command_of_a_paper_s_page_prints_what_the_page_has(
    paper: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    wrong = []
    for row in read_rows(PAPERS[paper][0], "mechanisms.csv"):
        run(shlex.split(row["command"])[1:])
        printed = "".join(capfd.readouterr())
        if not all(part in printed for part in row["output"].split("|")):
            wrong.append(f"{row['command']}: not all of {row['output']} in\n{printed}")
    assert wrong == []
    page = Path(__file__).resolve().parents[2] / "docs" / f"{paper}.md"
    assert page.read_text() == page_markdown(paper)


@pytest.mark.parametrize("name", ["Figure 3", "Figure 5", "Table 2"])
def test_recorded_outcomes_are_those_of_the_run(name: str) -> None:
    (row,) = find_rows("bokhari-nicol", name)
    found = row.make().outcome
    assert {verdict: int(row.expected[verdict]) for verdict in VERDICTS} == {
        verdict: found[verdict] for verdict in VERDICTS
    }


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "bokhari-nicol", "table2", "-o", str(tmp_path / "new"), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    (made,) = body["items"]
    assert body["schema"] == "conset/reproduce@2"
    assert (made["paper"], made["item"], len(made["cells"])) == ("bokhari-nicol", "Table 2", 21)
    assert made["rms_error"] == made["max_error"] == 0
    assert [made[key] for key in ("verdict", "fails", "holds", "not_judged")] == ["holds", 0, 21, 1]
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
