"""Times side by side: predicted, simulated by each model, measured, with the error of each against the best known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conset.comparison.simulated import MEASURED, PREDICTED, time_of
from conset.report.markdown import plain, table_markdown
from conset.report.table_compare import describe_way, row_name
from conset.units import format_time

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, Any]
"""The keys of `compare --simulate --json`: those of `compile`, `simulated`, `not_simulated`, `measured`, `errors`."""
TEXT_COLUMNS = ("method", "way", "sync")
"""Columns of words, the others numbers; `way`: contention, sends in flight and posting order, where a row has one."""


def columns_of(rows: Sequence[Row], models: Sequence[str]) -> tuple[str, ...]:
    """What has a time: `predicted`, each model, `measured` where anything was."""
    return (PREDICTED, *models, *((MEASURED,) if any(row.get(MEASURED) for row in rows) else ()))


def format_error(error: float | None) -> str:
    """`+3 %`; beyond ten times the factor: `× 31`."""
    if error is None:
        return ""
    if error >= 10 or error <= -0.9:
        factor = 1 + error
        return f"× {factor:.0f}" if factor >= 10 else f"× {factor:.2g}"
    percent = 100 * error
    return "±0 %" if abs(percent) < 0.5 else f"{percent:+.0f} %".replace("-", "−")


def _cell(row: Row, column: str) -> str:
    seconds = time_of(row, column)
    if seconds is None:
        return "–"
    error_text = format_error(row["errors"].get(column))
    return f"{format_time(seconds)} ({error_text})" if error_text else format_time(seconds)


def least_of(rows: Sequence[Row], column: str) -> frozenset[int]:
    """The rows with the least time in a column, equals too; none where all take the same."""
    times = {k: time for k, row in enumerate(rows) if (time := time_of(row, column)) is not None}
    least = min(times.values(), default=0.0) * (1 + 1e-9)
    chosen = frozenset(k for k, time in times.items() if time <= least)
    return chosen if len(chosen) < len(times) else frozenset()


def _cells(rows: Sequence[Row], models: Sequence[str]) -> tuple[list[str], list[list[str]], list[list[bool]]]:
    """(columns, cells, whether each is the least of its column)."""
    times = columns_of(rows, models)
    least = {column: least_of(rows, column) for column in times}
    named = any(describe_way(row) for row in rows)
    ways = [[describe_way(row)] if named else [] for row in rows]
    cells = [[row_name(row), *ways[k], str(row["sync"]), *(_cell(row, column) for column in times)]
             for k, row in enumerate(rows)]  # fmt: skip
    columns = ["method", *(["way"] if named else []), "sync"]
    bold = [[*[False] * len(columns), *(k in least[column] for column in times)] for k in range(len(rows))]
    return [*columns, *times], cells, bold


def _left(columns: Sequence[str]) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(columns) if name in TEXT_COLUMNS)


def simulated_table(rows: Sequence[Row], models: Sequence[str]) -> Table:
    """The table for a terminal; the least of each column is bold."""
    from conset.report.terminal import fitted_table

    columns, cells, bold = _cells(rows, models)
    table = fitted_table(columns, cells, _left(columns))
    for row, marks in zip(cells, bold, strict=True):
        table.add_row(*(f"[bold]{cell}[/]" if mark else cell for cell, mark in zip(row, marks, strict=True)))
    return table


def simulated_lines(rows: Sequence[Row], models: Sequence[str], reference: str) -> list[str]:
    """What stands below the table: what each column is, what errors are against, what does not apply and why."""
    simulated = ", ".join(f"by {model}" for model in models if any(model in row["simulated"] for row in rows))
    flight = {str(said["in_flight"]) for row in rows for said in row["simulated"].values()}
    parts = ["predicted by formula"]
    if simulated:
        parts.append(f"simulated {simulated} with {' or '.join(sorted(flight))} in flight")
    if reference:
        most = "" if reference == MEASURED else ", the most detailed model here"
        parts.append(f"in brackets the error against {reference}{most}")
    lines = ["; ".join(parts)]
    measured = next((row[MEASURED] for row in rows if row.get(MEASURED)), None)
    if measured:
        lines.append(f"measured: {measured['note']}")
    notes = {name: said["note"] for row in rows for name, said in row["simulated"].items() if said["note"]}
    return lines + [f"{name}: {note}" for name, note in notes.items()] + left_out_lines(rows)


def left_out_lines(rows: Sequence[Row]) -> list[str]:
    """`flit, all: reason`, one line for each reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for model, reason in row["not_simulated"].items():
            reasons.setdefault((model, reason), []).append(f"{row_name(row)} under {row['sync']}")
    return [
        f"{model} {'has no time' if reason.startswith('cut ') else 'does not apply'}"
        f"{'' if len(names) == len(rows) else ' to ' + ', '.join(names)}: {reason}"
        for (model, reason), names in reasons.items()
    ]


def simulated_markdown(rows: Sequence[Row], models: Sequence[str], reference: str) -> str:
    """The same as Markdown."""
    columns, cells, bold = _cells(rows, models)
    table = [[f"**{cell}**" if mark else cell for cell, mark in zip(row, marks, strict=True)]
             for row, marks in zip(cells, bold, strict=True)]  # fmt: skip
    notes = (f"- {plain(line)}" for line in simulated_lines(rows, models, reference))
    return "\n".join([*table_markdown(columns, table, _left(columns)), "", *notes]) + "\n"
