"""Contention curve as a table: what each grouping of the steps costs, between its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.report.markdown import table_markdown
from conset.units import format_time

if TYPE_CHECKING:
    from rich.table import Table

    from conset.comparison import Curve, CurvePoint

COLUMNS = (
    "(node, link)", "contention", "phases", "sync", "groups", "barriers", "transfer", "predicted", "lower", "upper",
)  # fmt: skip
LEFT = (COLUMNS.index("sync"),)


def curve_cells(point: CurvePoint) -> tuple[str, ...]:
    """A point as text, in the order of `COLUMNS`."""
    transfer = point.setup_s + point.transfer_s
    return (
        f"({point.node}, {point.link})", str(point.contention), f"{point.phases:,}", point.sync, f"{point.groups:,}",
        format_time(point.synchronization_s), format_time(transfer), format_time(point.predicted_s),
        format_time(point.lower_s), format_time(point.upper_s),
    )  # fmt: skip


def curve_table(curve: Curve) -> Table:
    """The table for a terminal; the best point is bold, points a node has no room for are dim."""
    from conset.report.terminal import fitted_table

    rows = [curve_cells(point) for point in curve.points]
    table = fitted_table(COLUMNS, rows, LEFT)
    for point, row in zip(curve.points, rows, strict=True):
        style = "bold" if point is curve.best else None if point.fits else "dim"
        table.add_row(*row, style=style)
    return table


def curve_lines(curve: Curve) -> list[str]:
    """What stands below the table."""
    lines = [
        f"{curve.steps:,} steps without contention; a barrier {format_time(curve.barrier_s)}, "
        f"a message alone {format_time(curve.message_s)}; posting everything {format_time(curve.naive_s)}"
    ]
    if not all(point.fits for point in curve.points):
        lines.append("dim: more receives posted at once than a node has room for")
    return lines


def curve_markdown(curve: Curve, *, title: str) -> str:
    """The same as Markdown."""
    rows = [list(curve_cells(point)) for point in curve.points]
    for point, row in zip(curve.points, rows, strict=True):
        row[0] = f"**{row[0]}**" if point is curve.best else row[0]
    return "\n".join([f"**{title}**", "", *table_markdown(COLUMNS, rows, LEFT), "", *curve_lines(curve)]) + "\n"
