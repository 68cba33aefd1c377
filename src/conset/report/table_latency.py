"""Latency over load as a table, for a terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.report.markdown import table_markdown
from conset.units import count_of, format_time

if TYPE_CHECKING:
    from rich.table import Table

    from conset.simulation.load_curve import LoadCurve, LoadPoint

COLUMNS = ("load", "carried", "mean latency", "", "99th percentile", "packets", "not delivered")


def latency_cells(point: LoadPoint, cycle_s: float) -> tuple[str, ...]:
    """A point as text, in the order of `COLUMNS`; latencies in cycles and as a time."""
    return (
        f"{point.load:.4f}", f"{point.accepted:.4f}", f"{point.mean_latency:,.1f}",
        "saturated" if point.saturated else format_time(point.mean_latency * cycle_s), f"{point.p99_latency:,.0f}",
        f"{point.packets:,}", f"{point.undelivered:,}" if point.undelivered else "",
    )  # fmt: skip


def latency_table(curve: LoadCurve) -> Table:
    """The table for a terminal; saturated loads are dim."""
    from conset.report.terminal import fitted_table

    rows = [latency_cells(point, curve.cycle_s) for point in curve.points]
    table = fitted_table(COLUMNS, rows)
    for point, row in zip(curve.points, rows, strict=True):
        table.add_row(*row, style="dim" if point.saturated else None)
    return table


def latency_lines(curve: LoadCurve) -> list[str]:
    """What stands below the table."""
    if curve.saturation is None:
        found = f"saturation above {curve.points[-1].load:.3f}"
    else:
        found = f"saturation at {curve.saturation:.3f} flits per cycle and node"
    return [
        f"{found}, bound {curve.bound:.3f} (a link or a node is full), by flit",
        f"empty network {curve.zero_load:.1f} cycles of {format_time(curve.cycle_s)}, "
        f"packets of {curve.flits:g} flit{'' if curve.flits == 1 else 's'}, {count_of(curve.lanes, 'lane')}, "
        f"{curve.window.measured:,} cycles measured after {curve.window.warm_up:,}",
        f"took {format_time(curve.elapsed_s)} for {count_of(curve.events, 'flit move')}",
    ]


def latency_markdown(curve: LoadCurve, *, title: str) -> str:
    """The same as Markdown."""
    names = [name or "time" for name in COLUMNS]
    rows = (latency_cells(point, curve.cycle_s) for point in curve.points)
    lines = [f"**{title}**", "", *table_markdown(names, rows)]
    # the time it took differs from run to run, and files of the same seed must not
    return "\n".join([*lines, "", *latency_lines(curve)[:-1]]) + "\n"
