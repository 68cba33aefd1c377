"""Picture of times side by side: for every method its predicted, simulated and measured time as a group of bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.comparison.simulated import MEASURED, PREDICTED, time_of
from conset.report import style
from conset.report.table_compare import describe_way, row_name
from conset.report.table_simulated import columns_of, format_error, least_of
from conset.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
DECADES = 40
"""From this ratio of largest to least time on the axis is logarithmic: shorter bars would vanish."""
BAR_INCH = 0.19


def picture_simulated(
    rows: Sequence[Mapping[str, Any]], models: Sequence[str], *, title: str, subtitle: str = ""
) -> Figure:
    """Horizontal bars in groups, methods in the order of `rows`; beside each its time and its error, the least bold.

    Args:
        rows: as `conset.report.table_simulated`.
        models: that simulated, in the order of the bars.
        title: first line.
        subtitle: second line.
    """
    columns = columns_of(rows, models)
    figure = style.new_figure(10, 1.9 + max(len(rows), 2) * (BAR_INCH * len(columns) + 0.16))
    style.headline(figure, title, subtitle)
    axes = figure.subplots()
    times = np.array([[time_of(row, column) or np.nan for column in columns] for row in rows]).reshape(-1, len(columns))
    _draw_bars(axes, rows, columns, times)
    axes.set_yticks(np.arange(len(rows)), [_label(row) for row in rows])
    axes.tick_params(axis="y", labelcolor=style.INK, length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(columns), borderaxespad=0.1, handlelength=1.2,
        columnspacing=1.4,
    )  # fmt: skip
    return figure


def _label(row: Mapping[str, Any]) -> str:
    """Method, policy, and what else tells it from other rows."""
    return "\n".join(filter(None, (row_name(row), f"sync {row['sync']}", describe_way(row))))


def _draw_bars(axes: Axes, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], times: Any) -> None:
    finite = times[np.isfinite(times)]
    top, least = (float(finite.max()), float(finite.min())) if finite.size else (1.0, 1.0)
    factor, unit = next((pair for pair in _UNITS if top >= pair[0]), _UNITS[-1])
    logarithmic = top / least > DECADES
    left = 10 ** np.floor(np.log10(least / factor)) * 0.7 if logarithmic else 0.0
    width = 0.84 / len(columns)
    for k, column in enumerate(columns):
        place = np.arange(len(rows)) + (k - (len(columns) - 1) / 2) * width
        values = times[:, k] / factor
        axes.barh(
            place, values - left, width * 0.9, left=left, color=_colour(column, columns), label=column_label(column)
        )
        best = least_of(rows, column)
        for r, (row, y, value) in enumerate(zip(rows, place, values, strict=True)):
            if np.isfinite(value):
                caption = f"{format_time(value * factor)}  {format_error(row['errors'].get(column))}"
                _write(axes, value, y, caption, bold=r in best)
            else:
                _write(axes, left, y, _missing(row, column))
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(left, top / factor * (top / factor / left) ** 0.2)
    else:
        axes.set_xlim(0, max(top / factor, 1e-12) * 1.2)
    axes.set_xlabel(f"time [{unit}]" + (", logarithmic" if logarithmic else ""))


def _missing(row: Mapping[str, Any], column: str) -> str:
    """Why there is no bar, in few words."""
    cut = row["not_simulated"].get(column, "").startswith("cut ")
    return f"{column} was cut" if cut else f"{column} does not apply"


def _write(axes: Axes, x: float, y: float, text: str, *, bold: bool = False) -> None:
    weight = "bold" if bold else "normal"
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", size=7.6, weight=weight)


def _colour(column: str, columns: Sequence[str]) -> Any:
    """The prediction is quiet, what was measured has the colour of limits, models are of the one colour map."""
    if column == PREDICTED:
        return "#b6bcc6"
    if column == MEASURED:
        return style.BOUND
    models = [name for name in columns if name not in (PREDICTED, MEASURED)]
    return style.colour_map()(0.28 + 0.56 * models.index(column) / max(len(models) - 1, 1))


def column_label(column: str) -> str:
    """`predicted by formula`, `simulated by flow`, `measured on this host`."""
    if column == PREDICTED:
        return "predicted by formula"
    return "measured on this host" if column == MEASURED else f"simulated by {column}"
