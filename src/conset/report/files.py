"""Files beside each other.

One table for page and terminal, and the page with a section for each file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.base.units import count_of, format_size, format_time
from conset.report.facts import UNNAMED, pattern_label
from conset.report.page import PageTable, anchor, write_sections
from conset.schedule.schedule import Schedule
from conset.studies.compare.files import FileFindings

if TYPE_CHECKING:
    from rich.table import Table

KINDS = {
    "schedule": "schedule",
    "blocks": "program of blocks",
    "forwarding": "program that forwards",
    "timeline": "timeline",
}
"""What files are, in words."""
LEFT = ("file", "what", "messages of", "machine", "method", "sync", "by", "right")
ON_PAGE, IN_TERMINAL = 6, 3
"""Files up to which each has a column."""
NOTES = (
    "at least: what nothing of its class goes below, for phases and for time; gap: time over "
    "that, at least 1.",
    "time: by the machine's model, or by formula; of blocks by formula. simulated: timelines made "
    "from this file.",
)


def sent_name(found: FileFindings) -> str:
    """Whose messages: the pattern's name, or the argument of the command that made the file."""
    if found.facts.get("name"):
        return str(found.facts["name"])
    if isinstance(found.noun, Schedule):
        return pattern_label(found.noun).removesuffix(": ") or UNNAMED
    words = str(found.facts["manifest"]["command"]).split()
    return words[2] if words[:2] == ["conset", "compile"] and len(words) > 2 else UNNAMED


def _bound(found: FileFindings, key: str, form: Callable[[Any], str]) -> str:
    value = (found.facts["bound"] or {}).get(key)
    return "" if value is None else form(value)


def _right(facts: Mapping[str, Any]) -> str:
    if facts["verified"] is None:
        return "not checked"
    return "yes" if facts["verified"] else f"no, {count_of(facts['violations'], 'violation')}"


def _gap(found: FileFindings) -> str:
    return _bound(
        found,
        "time_s",
        lambda least_s: f"{found.facts['time_s'] / least_s:.3f}" if least_s else "1.000",
    )


Cell = Callable[[FileFindings], str]
COLUMNS: dict[str, Cell] = {
    "file": lambda found: str(found.facts["file"]),
    "what": lambda found: KINDS[found.kind],
    "messages of": sent_name,
    "machine": lambda found: str(found.facts["machine"]),
    "method": lambda found: found.facts["method"] or "",
    "sync": lambda found: str(found.facts["sync"]),
    "ranks": lambda found: (
        "" if found.facts["pattern"]["ranks"] is None else f"{found.facts['pattern']['ranks']:,}"
    ),
    "messages": lambda found: f"{found.facts['pattern']['messages']:,}",
    "bytes": lambda found: format_size(found.facts["pattern"]["bytes"]),
    "phases": lambda found: f"{found.facts['phases']:,}",
    "phases at least": lambda found: _bound(found, "phases", "{:,}".format),
    "switches": lambda found: (
        f"{found.facts['switch']['count']:,}" if found.facts["switch"] else ""
    ),
    "time": lambda found: format_time(found.facts["time_s"]),
    "by": lambda found: str(found.facts["by"]),
    "time at least": lambda found: _bound(found, "time_s", format_time),
    "gap": _gap,
    "simulated": lambda found: ", ".join(
        f"{format_time(each.facts['time_s'])} {each.facts['model']}" for each in found.simulated
    ),
    "right": lambda found: _right(found.facts),
}
"""Of the table."""


def summary_table(found: Sequence[FileFindings], most: int) -> PageTable:
    """A column for each of at most so many files, a row for each of more.

    What all leave empty is left out.
    """
    every = {name: [cell(each) for each in found] for name, cell in COLUMNS.items()}
    kept = {name: cells for name, cells in every.items() if any(cells)}
    anchors = [anchor(k) for k in range(len(found))]
    if len(found) <= most:
        files = kept.pop("file")
        return PageTable(
            ("", *files),
            [[name, *cells] for name, cells in kept.items()],
            (0,),
            head_links=["", *anchors],
        )
    left = tuple(k for k, name in enumerate(kept) if name in LEFT)
    return PageTable(
        list(kept), [list(row) for row in zip(*kept.values(), strict=True)], left, links=anchors
    )


def files_table(found: Sequence[FileFindings]) -> Table:
    """The table for the terminal."""
    from rich.markup import escape

    from conset.report.terminal import fitted_table

    summary = summary_table(found, IN_TERMINAL)
    table = fitted_table(summary.columns, summary.rows, summary.left)
    for row in summary.rows:
        table.add_row(*(escape(cell) for cell in row))
    return table


def violation_notes(found: Sequence[FileFindings]) -> list[str]:
    """The first rule that each file breaks; markup of rich."""
    from rich.markup import escape

    return [
        f"[bold]{escape(each.facts['file'])} breaks rules[/]: "
        f"{escape(each.facts['violation_texts'][0])}"
        for each in found
        if each.facts["verified"] is False
    ]


def page_title(found: Sequence[FileFindings]) -> str:
    """Of the page: the file, or how many there are."""
    return (
        f"{found[0].facts['file']}: {KINDS[found[0].kind]}"
        if len(found) == 1
        else f"{len(found)} files"
    )


def write_files_page(path: Path, found: Sequence[FileFindings], command: str) -> None:
    """The page: the table, then a section for each file.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from conset.report.file_sections import section_of

    sections = [section_of(each) for each in found]
    write_sections(path, page_title(found), command, summary_table(found, ON_PAGE), NOTES, sections)
