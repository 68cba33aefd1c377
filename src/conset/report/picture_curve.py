"""Picture of the contention curve: predicted time in its parts over contention, between its bounds.

As Figures 12 to 15 of Bokhari and Nicol: from left to right fewer barriers and more messages in flight together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conset.report import style
from conset.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from conset.comparison import Curve

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
STACK = (("transfer_s", "transfer"), ("setup_s", "set-up"), ("synchronization_s", "synchronization"))


def picture_curve(curve: Curve, *, title: str, subtitle: str = "") -> Figure:
    """Stacked bars of the predicted time, one for each point; the bounds as lines."""
    figure = style.new_figure(10, 5.4)
    style.headline(figure, title, subtitle)
    axes = figure.subplots()
    top = max(max(point.upper_s, point.predicted_s) for point in curve.points)
    factor, unit = next((pair for pair in _UNITS if top >= pair[0]), _UNITS[-1])
    _draw_parts(axes, curve, factor)
    _draw_bounds(axes, curve, factor)
    _label(axes, curve, factor, unit)
    return figure


def _draw_parts(axes: Axes, curve: Curve, factor: float) -> None:
    place = np.arange(len(curve.points))
    start = np.zeros(place.size)
    shades = style.colour_map()((0.32, 0.62, 0.84))
    for (name, words), shade in zip(STACK, shades, strict=True):
        value = np.array([getattr(point, name) for point in curve.points]) / factor
        if value.any():
            bars = axes.bar(place, value, 0.62, bottom=start, color=shade, label=words)
            for bar, point in zip(bars, curve.points, strict=True):
                bar.set_alpha(1.0 if point.fits else 0.4)
        start = start + value
    for k, point in enumerate(curve.points):
        weight = "bold" if point is curve.best else "normal"
        axes.annotate(
            format_time(point.predicted_s), (k, start[k]), (0, 6), textcoords="offset points", ha="center",
            size=8.6, weight=weight, bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.4, "alpha": 0.8},
            zorder=5,
        )  # fmt: skip


def _draw_bounds(axes: Axes, curve: Curve, factor: float) -> None:
    place = np.arange(len(curve.points))
    lower, upper = (np.array([getattr(p, name) for p in curve.points]) / factor for name in ("lower_s", "upper_s"))
    axes.plot(place, upper, color=style.BOUND, linewidth=1.5, linestyle=(0, (5, 2)), marker="o", markersize=3.4,
              label="upper bound: shared links take turns")  # fmt: skip
    axes.plot(place, lower, color=style.BOUND, linewidth=1.5, marker="o", markersize=3.4,
              label="lower bound: shared links cost nothing")  # fmt: skip
    axes.axhline(curve.naive_s / factor, color=style.QUIET, linewidth=1.2, linestyle=":",
                 label=f"posting everything {format_time(curve.naive_s)}")  # fmt: skip


def _label(axes: Axes, curve: Curve, factor: float, unit: str) -> None:
    labels = [f"{p.node}, {p.link}\n{p.groups:,}" for p in curve.points]
    axes.set_xticks(np.arange(len(labels)), labels, size=8.6 if len(labels) <= 14 else 7.2)
    axes.set_xlabel("most messages at a node, on a link between two barriers; below: groups between barriers")
    axes.set_ylabel(f"time predicted by formula [{unit}]")
    top = max(max(p.upper_s, p.predicted_s) for p in curve.points) / factor
    axes.set_ylim(0, top * 1.1)
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0)
    axes.legend(loc="upper right", ncols=2, handlelength=3.2)
