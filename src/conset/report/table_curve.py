"""Contention curve as a table: what each grouping of the steps costs, between its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.units import format_time

if TYPE_CHECKING:
    from rich.table import Table

    from conset.comparison import Curve, CurvePoint

COLUMNS = (
    "(node, link)", "contention", "phases", "sync", "groups", "barriers", "transfer", "predicted", "lower", "upper",
)  # fmt: skip


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
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(COLUMNS):
        widest = max([len(name), *(len(curve_cells(point)[k]) for point in curve.points)])
        table.add_column(name, justify="left" if name == "sync" else "right", no_wrap=True, min_width=widest)
    for point in curve.points:
        style = "bold" if point is curve.best else None if point.fits else "dim"
        table.add_row(*curve_cells(point), style=style)
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
    lines = [f"**{title}**", "", "| " + " | ".join(COLUMNS) + " |"]
    lines.append("|" + "|".join(" :-- " if name == "sync" else " --: " for name in COLUMNS) + "|")
    for point in curve.points:
        cells = curve_cells(point)
        first = f"**{cells[0]}**" if point is curve.best else cells[0]
        lines.append("| " + " | ".join((first, *cells[1:])) + " |")
    return "\n".join([*lines, "", *curve_lines(curve)]) + "\n"
