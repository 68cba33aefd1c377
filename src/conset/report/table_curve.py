"""Contention curve as a table: what each pair of contention and barrier interval costs, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conset.report.markdown import table_markdown
from conset.units import count_of, format_size, format_time

if TYPE_CHECKING:
    from rich.table import Table

    from conset.comparison import Curve, CurvePoint

LEFT = (3,)
"""The policy is a word, the other columns are numbers."""


def curve_columns(curve: Curve) -> tuple[str, ...]:
    """The head: what decides is named."""
    times = ("by formula",) if curve.by == "formula" else (f"by {curve.by}", "by formula")
    return (
        "(node, link)", "contention", "phases", "sync", "groups", "barriers", *times, "bound", "serial steps",
    )  # fmt: skip


def curve_cells(curve: Curve, point: CurvePoint) -> tuple[str, ...]:
    """A point as text, in the order of `curve_columns`."""
    predicted = format_time(point.predicted_s)
    time = "–" if point.time_s is None else format_time(point.time_s)
    return (
        f"({point.node}, {point.link})", str(point.contention), f"{point.phases:,}", point.sync, f"{point.groups:,}",
        format_time(point.synchronization_s), *((predicted,) if curve.by == "formula" else (time, predicted)),
        format_time(point.lower_s), f"{format_time(point.serial_least_s)} to {format_time(point.serial_most_s)}",
    )  # fmt: skip


def curve_table(curve: Curve) -> Table:
    """The table for a terminal; the best point is bold, points a node has no room for are dim."""
    from conset.report.terminal import fitted_table

    rows = [curve_cells(curve, point) for point in curve.points]
    table = fitted_table(curve_columns(curve), rows, LEFT)
    for point, row in zip(curve.points, rows, strict=True):
        style = "bold" if point is curve.best else None if point.fits else "dim"
        table.add_row(*row, style=style)
    return table


def curve_lines(curve: Curve) -> list[str]:
    """What stands below the table."""
    best = curve.best
    naive = "cannot run, or was cut" if curve.naive_s is None else format_time(curve.naive_s)
    where = f"contention {best.contention} under {best.sync}"
    what = "predicted by formula" if curve.by == "formula" else f"simulated by {curve.by}"
    stands_in = f" ({curve.stands_in})" if curve.stands_in else ""
    lines = [
        f"least {what}{stands_in}: {where}; posting everything {naive}",
        f"{count_of(curve.steps, 'step')} without contention; a barrier {format_time(curve.barrier_s)}, a message of "
        f"{format_size(curve.size)} alone {format_time(curve.message_s)}; serial steps: an estimate, with links that "
        "cost nothing to links that take turns, which overlapping messages pass below",
    ]
    if not all(point.fits for point in curve.points):
        lines.append("dim: more receives posted at once than a node can hold")
    if any(point.untimed.startswith("cut ") for point in curve.points):
        lines.append(f"–: {next(p.untimed for p in curve.points if p.untimed.startswith('cut '))}")
    return lines


def curves_markdown(curves: Sequence[Curve], *, title: str) -> str:
    """The same as Markdown, one table for each size."""
    parts = [f"**{title}**"]
    for curve in curves:
        rows = [list(curve_cells(curve, point)) for point in curve.points]
        for point, row in zip(curve.points, rows, strict=True):
            row[0] = f"**{row[0]}**" if point is curve.best else row[0]
        head = [] if len(curves) == 1 else ["", f"Messages of {format_size(curve.size)}"]
        parts += [*head, "", *table_markdown(curve_columns(curve), rows, LEFT), ""]
        parts += [f"- {line}" for line in curve_lines(curve)]
    return "\n".join(parts) + "\n"
