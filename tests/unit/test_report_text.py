"""Text reports: terminal, comparison table, notebook."""

from __future__ import annotations

from html.parser import HTMLParser
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.report.comparison import compare_table, skipped_lines
from conset.report.machine import machine_text
from conset.report.markdown import section_markdown
from conset.report.page import machine_html, pattern_html, schedule_html
from conset.report.pattern import matrix_lines, pattern_text
from conset.report.schedule import (
    cell,
    partners_of,
    partners_text,
    phase_lines,
    phase_text,
    schedule_text,
)
from conset.report.sections import Part, Section
from conset.report.terminal import bar, fitted_table
from conset.schedule.schedule import Schedule


def plain(text: Any, width: int = 120) -> str:
    """As it appears on a screen, without colours."""
    out = StringIO()
    Console(file=out, width=width, soft_wrap=True, highlight=False).print(text)
    return out.getvalue()


def exchange(ranks: int, machine: str, name: str = "alltoall") -> Schedule:
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    pattern = Pattern.from_messages(source, target, np.full(ranks * ranks, 1024), ranks, name=name)
    order = np.argsort((pattern.target - pattern.source) % ranks, kind="stable").astype(np.int32)
    return Schedule(
        pattern, parse_machine(machine), "shift", Limits(send=1), np.arange(ranks) * ranks, order
    )


def test_partners_of_a_complete_exchange_by_shifts() -> None:
    text = plain(partners_text(exchange(4, "mesh:2x2")))
    rows = [line.split("  ") for line in text.splitlines()]
    assert [[word.strip() for word in row if word.strip()] for row in rows] == [
        ["rank", "0", "1", "2"],
        ["0", "→1 ←3", "↔2", "→3 ←1"],
        ["1", "→2 ←0", "↔3", "→0 ←2"],
        ["2", "→3 ←1", "↔0", "→1 ←3"],
        ["3", "→0 ←2", "↔1", "→2 ←0"],
    ]


def test_partners_beyond_the_screen_are_counted() -> None:
    text = plain(partners_text(exchange(64, "mesh:8x8"), width=40, rows=10))
    assert "… 54 more ranks" in text
    assert "more phases to the right" in text
    assert max(len(line) for line in text.splitlines()) <= 40
    assert len(partners_of(exchange(64, "mesh:8x8"))) == 64


@pytest.mark.parametrize(
    ("targets", "sources", "expected"),
    [([], [], "·"), ([3], [3], "↔3"), ([1], [2], "→1 ←2"), ([1, 2, 3, 4, 5], [], "→1 →2 →3 +2")],
)
def test_a_cell_of_partners(targets: list[int], sources: list[int], expected: str) -> None:
    assert cell(targets, sources) == expected


def test_phases_fit_a_screen_and_the_rest_is_counted() -> None:
    lines = phase_lines(exchange(64, "mesh:8x8"))
    assert len(lines) <= 34
    assert "… 32 more phases" in plain("\n".join(lines))
    assert plain(lines[-1]).split()[:3] == ["62", "64", "1"]


def test_a_schedule_names_bound_and_prediction_where_they_are_known() -> None:
    bound = {"phases": 3, "phases_witness": "rank 0 sends 3", "time_s": 1e-6}
    load = {"send": 1, "receive": 1, "link": 1, "channels": 2}
    summary = {
        "load": load,
        "phase_bytes": 3072,
        "bound": bound,
        "predicted_s": 2e-6,
        "sync": "barrier",
    }
    text = plain(schedule_text(exchange(4, "mesh:2x2"), summary))
    assert "3, bound 3 (rank 0 sends 3)" in text
    assert "2 us under barrier, bound 1 us" in text
    assert "3 KiB, summed over phases" in text


def test_a_phase_lists_routes() -> None:
    text = plain(phase_text(exchange(4, "mesh:2x2"), 1))
    # shift by two on 2x2: 1 to 3 goes straight down, 0 to 2 as well; last coordinate first
    assert "0 → 2" in text
    assert " 1 3\n" in text


def test_a_matrix_is_darker_where_more_is_sent() -> None:
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 0], [1, 16, 4096], 3)
    assert [line.split()[1] for line in matrix_lines(pattern)[:3]] == ["··░░··", "····▒▒", "██····"]


def test_a_large_matrix_is_shown_by_blocks_within_the_width() -> None:
    ranks = np.arange(300)
    pattern = Pattern.from_messages(ranks, (ranks + 1) % 300, np.full(300, 8), 300)
    lines = matrix_lines(pattern, width=80)
    assert max(len(line) for line in lines[:-1]) <= 80
    assert len(lines) <= 65
    assert "ranks" in lines[-1]


@pytest.mark.parametrize(
    "pattern", [Pattern.from_messages([0], [0], [5], 1), Pattern.from_messages([], [], [], 3)]
)
def test_a_pattern_without_messages_has_a_text(pattern: Pattern) -> None:
    assert "messages                 0" in plain(pattern_text(pattern))


@pytest.mark.parametrize(
    ("spec", "drawing"),
    [
        ("mesh:2x2", "0 ─ 1"),
        ("torus:3x3", "─ 0 ─ 1 ─ 2 ─"),
        ("ring:5", "0 ─ 1 ─ 2 ─ 3 ─ 4 ─ (0)"),
        ("mesh:3x2x2", "… 1 more planes"),
        ("hypercube:2", "bit 1  0─2  1─3"),
        ("crossbar:3", "ports 0  1  2"),
        ("mesh:100x100", "too large"),
    ],
)
def test_machines_are_drawn(spec: str, drawing: str) -> None:
    assert drawing in plain(machine_text(parse_machine(spec)))


def test_sources_of_numbers_survive_markup() -> None:
    assert "[printed: 003" in plain(machine_text(parse_machine("paragon:8x8")))


def test_bars_fill_their_width_and_never_vanish() -> None:
    assert bar(10, 10, 4) == "████"
    assert bar(1, 1000, 4) == "▏"
    assert bar(0, 10, 4) == ""


ROW: dict[str, Any] = {
    "method": "lp",
    "phases": 1105,
    "bound": {"phases": 1024, "time_s": 1.0},
    "gap": {"phases": 1105 / 1024, "time": 1.25},
    "load": {"link": 1, "sum": 1105},
    "sync": "barrier",
    "predicted_s": 0.002,
    "compile_s": 0.03,
}


def test_markdown_has_one_row_a_method_and_marks_the_fastest() -> None:
    skipped = [{"method": "x|y", "reason": "requires a mesh, given a ring"}]
    rows = [ROW, {**ROW, "method": "naive", "predicted_s": 0.001}]
    part = Part(table=compare_table(rows), notes=skipped_lines(skipped))
    text = section_markdown(Section("a*b", parts=[part]))
    lines = text.splitlines()
    assert lines[0] == r"**a\*b**"
    assert lines[4] == "| lp | 1,105 | 1,024 | 1.079 | 1 | 1,105 | barrier | 2 ms | 1.250 | 30 ms |"
    assert lines[5].startswith("| **naive** |")
    assert lines[-1] == r"- x\|y: does not apply: requires a mesh, given a ring"
    assert len({line.count("|") for line in lines[2:6]}) == 1


@pytest.mark.parametrize("width", [120, 60])
def test_the_table_of_a_terminal_says_the_same_at_any_width(width: int) -> None:
    text = plain(fitted_table(compare_table([ROW])), width)
    assert "1,105" in text
    assert "30 ms" in text
    assert "…" not in text


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_balanced_small_and_escaped() -> None:
    evil = "<script>alert(1)</script>"
    schedule = exchange(200, "crossbar:200", name=evil)
    machine = Machine(evil, schedule.machine.topology, schedule.machine.routing)
    for html in (pattern_html(schedule.pattern), machine_html(machine), schedule_html(schedule)):
        balance = _Balance()
        balance.feed(html)
        assert balance.open == []
        assert "script" not in balance.seen
        assert "&lt;script&gt;" in html
        assert len(html) < 300_000


def test_nouns_show_themselves_in_notebooks() -> None:
    schedule = exchange(4, "mesh:2x2")
    assert "<b>Schedule</b> shift on mesh:2x2" in schedule._repr_html_()
    assert "<b>Machine</b> mesh:2x2" in schedule.machine._repr_html_()
    assert "<b>Pattern</b> alltoall" in schedule.pattern._repr_html_()
