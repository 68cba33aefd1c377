"""Picture of a comparison: the time of every method, and phases beside the bound.

The time is what decides, by a model or by formula, in the terms of the formula where that decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.report import style
from conset.report.table_compare import FORMULA, deciding, deciding_time, describe_way, row_name
from conset.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TERMS = ("transfer", "setup", "synchronization")
_TERM_LABELS = {"transfer": "transfer", "setup": "set-up", "synchronization": "synchronization"}
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def picture_compare(rows: Sequence[Mapping[str, Any]], *, title: str, subtitle: str = "") -> Figure:
    """Horizontal bars, methods in the order of `rows`.

    Args:
        rows: as `conset.report.table_compare`, and `terms` {synchronization, setup, transfer} of the predicted time [s]
            where they are known.
        title: first line.
        subtitle: second line.
    """
    lines = 2 if any(describe_way(row) for row in rows) else 1
    figure = style.new_figure(10, 1.7 + (0.3 + 0.12 * lines) * max(len(rows), 2))
    style.headline(figure, title, subtitle)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    place = np.arange(len(rows))
    _draw_times(left, rows, place)
    _draw_phases(right, rows, place)
    left.set_yticks(place, [_label(row) for row in rows])
    left.tick_params(axis="y", labelcolor=style.INK, length=0)
    right.tick_params(axis="y", length=0)
    left.set_ylim(len(rows) - 0.4, -0.6)
    return figure


def _label(row: Mapping[str, Any]) -> str:
    way = describe_way(row)
    return f"{row_name(row)}, {row['sync']}" + (f"\n{way}" if way else "")


def _draw_times(axes: Axes, rows: Sequence[Mapping[str, Any]], place: Any) -> None:
    by = deciding(rows)
    times = [deciding_time(row) for row in rows]
    top = max((time for time in times if time is not None), default=0.0)
    factor, unit = next((pair for pair in _UNITS if top >= pair[0]), _UNITS[-1])
    shades = dict(zip(TERMS, style.colour_map()((0.32, 0.62, 0.84)), strict=True))
    start = np.zeros(len(rows))
    for term in TERMS:
        value = np.array([_terms(row)[term] for row in rows]) / factor
        if value.any():
            axes.barh(place, value, 0.62, left=start, color=shades[term], label=_TERM_LABELS[term])
        start = start + value
    for k, row in enumerate(rows):
        time, bound = times[k], row["bound"].get("time_s")
        if bound:
            _mark(axes, bound / factor, k)
        caption = "–" if time is None else format_time(time)
        _write(axes, max(float(start[k]), (bound or 0) / factor), k, caption)
    top = max([top, *(row["bound"].get("time_s") or 0 for row in rows)])
    axes.set_xlim(0, max(top / factor, 1e-12) * 1.18)
    axes.set_title("time predicted by formula" if by == FORMULA else f"time simulated by {by}", pad=24)
    axes.set_xlabel(f"time [{unit}]")
    axes.grid(axis="x")
    axes.plot([], [], color=style.BOUND, linewidth=1.6, label="bound")
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=4, borderaxespad=0.1, handlelength=1.2, columnspacing=1.2
    )


def _write(axes: Axes, x: float, y: int, text: str) -> None:
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", size=8.8)


def _mark(axes: Axes, x: float, y: int) -> None:
    axes.plot([x, x], [y - 0.38, y + 0.38], color=style.BOUND, linewidth=1.6)


def _terms(row: Mapping[str, Any]) -> Mapping[str, float]:
    """Terms of the time that decides: by a model, barriers and set-ups as the formula charges them, then the rest."""
    time = deciding_time(row) or 0.0
    charged = row.get("terms") or {}
    synchronization = min(charged.get("synchronization", 0.0), time)
    setup = min(charged.get("setup", 0.0), time - synchronization)
    return {"transfer": time - synchronization - setup, "setup": setup, "synchronization": synchronization}


def _draw_phases(axes: Axes, rows: Sequence[Mapping[str, Any]], place: Any) -> None:
    phases = np.array([row["phases"] for row in rows], np.float64)
    axes.barh(place, phases, 0.62, color=style.ACCENT)
    for k, row in enumerate(rows):
        bound = row["bound"]["phases"]
        _mark(axes, bound, k)
        _write(axes, max(float(phases[k]), bound), k, f"{row['phases']:,} of {bound:,}")
    axes.set_xlim(0, max(phases.max(initial=1), 1) * 1.25)
    axes.set_title("phases, and their bound", pad=24)
    axes.set_xlabel("phases")
    axes.grid(axis="x")
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
