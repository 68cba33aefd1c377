"""Pictures of campaigns.

Ratios to posting everything with intervals, and predictions beside measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.units import format_time
from conset.compilation.options import FORMULA
from conset.report import style
from conset.studies.campaign.result import MODEL, CaseResult, Contest, predictors
from conset.studies.contender import NAIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 3.0
"""Ratios above are drawn at the edge."""
_LANES = {"choice": 0.27, "schedule": 0.0, "mpi": -0.27}
COLOURS = {"choice": style.ACCENT, "schedule": style.PALE, "mpi": style.AMBER}
_MARKS = {
    "choice": "o",
    "schedule": ".",
    "alltoallv": "s",
    "neighbor_alltoallv": "^",
    "alltoall": "D",
}
_MPI_NAMES = {
    "alltoallv": "MPI_Alltoallv",
    "neighbor_alltoallv": "MPI_Neighbor_alltoallv",
    "alltoall": "MPI_Alltoall",
}
_TIMES = tuple(factor * 10.0**power for power in range(-9, 4) for factor in (1, 2, 5))


def picture_ratios(results: Sequence[CaseResult], fabric: str) -> Figure:
    """A row for each case, times over that of posting everything.

    The choice, other schedules, MPI's own.

    Lines are intervals; a ring is around the best; an upright stroke is what the machine's model
    predicted of the choice, and, where it differs from 1, of posting everything.

    Args:
        results: cases of one fabric.
        fabric: its name.
    """
    figure = style.new_figure(11, 2.3 + 0.62 * len(results))
    times = (
        f"simulated by {results[0].decides}"
        if results[0].simulated
        else "medians and 95 % intervals"
    )
    style.headline(
        figure, f"{fabric}: time over that of posting everything", f"left of 1 is faster; {times}"
    )
    axes = figure.subplots()
    shown = [min(result.to_naive(each).median, MOST) for result in results for each in result.timed]
    right = min(max([1.12, *shown]) * 1.06, MOST * 1.03)
    strokes = [
        predicted / result.naive.median_s
        for result in results
        for each in (result.choice, result.naive)
        if (predicted := each.predicted_s.get(result.predictor(each))) and result.naive.median_s
    ]
    left = max(min([0.9, *shown, *strokes]) * 0.94, 0.94 * min([0.2, *shown]))
    names = {result.case.machine for result in results}
    for row, result in enumerate(results):
        y = len(results) - 1 - row
        if row % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color="#f4f5f7", zorder=0, linewidth=0)
        _draw_case(axes, result, y, right)
    axes.axvline(1, color=style.INK, linewidth=1, zorder=1)
    labels = [result.name if len(names) > 1 else result.case.label for result in results]
    axes.set_yticks(range(len(results)), [label.replace("/", "  ") for label in reversed(labels)])
    for tick, result in zip(axes.get_yticklabels(), reversed(results), strict=True):
        tick.set_color(style.INK if result.is_right else style.BOUND)
    axes.set_ylim(-0.5, len(results) - 0.5)
    style.log_axis(axes, "x", "time / time of posting everything")
    axes.set_xlim(left, right)
    ticks = [
        tick
        for tick in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3)
        if left <= tick <= right
    ]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    figure.legend(
        handles=_handles(results),
        loc="outside lower center",
        ncols=4,
        columnspacing=1.6,
        handletextpad=0.6,
    )
    return figure


def _draw_case(axes: Axes, result: CaseResult, y: float, right: float) -> None:
    for each in result.timed:
        if each.kind == "naive" or each.same_as:
            continue
        ratio = result.to_naive(each)
        at = y + _LANES[each.kind]
        colour, is_choice = COLOURS[each.kind], each.kind == "choice"
        if ratio.median > right:
            axes.plot(
                [right / 1.012],
                [at],
                marker=">",
                markersize=4,
                color=colour,
                linestyle="none",
                zorder=3,
            )
            continue
        axes.plot(
            [ratio.low, min(ratio.high, right)],
            [at, at],
            color=colour,
            linewidth=2.4 if is_choice else 1.1,
            alpha=1 if is_choice else 0.65,
            solid_capstyle="butt",
            zorder=2,
        )
        mark = _MARKS[each.name if each.kind == "mpi" else each.kind]
        axes.plot(
            [ratio.median],
            [at],
            marker=mark,
            markersize=8 if is_choice else 5.5,
            color=colour,
            linestyle="none",
            zorder=4 if is_choice else 3,
        )
    best = result.best
    if best.kind != "naive":
        axes.plot(
            [result.to_naive(best).median],
            [y + _LANES[best.kind]],
            marker="o",
            markersize=12,
            markerfacecolor="none",
            markeredgecolor=style.INK,
            markeredgewidth=1.2,
            linestyle="none",
            zorder=5,
        )
    base = result.naive.median_s
    for each, lane in ((result.choice, _LANES["choice"]), (result.naive, 0.42)):
        predicted = each.predicted_s.get(result.predictor(each))
        if predicted is not None and base and each.same_as != NAIVE:
            at = min(predicted / base, right)
            height = 0.17 if each.kind == "choice" else 0.08
            axes.plot(
                [at, at],
                [y + lane - height, y + lane + height],
                color=style.BOUND,
                linewidth=2,
                zorder=6,
                solid_capstyle="butt",
                alpha=1 if each.kind == "choice" else 0.55,
            )


def _handles(results: Sequence[CaseResult]) -> list[Any]:
    from matplotlib.lines import Line2D

    def mark(label: str, marker: str, size: float, **style_of: Any) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker=marker, markersize=size, label=label, **style_of
        )

    timed = {each.name for result in results for each in result.timed if each.kind == "mpi"}
    return [
        Line2D(
            [], [], color=style.ACCENT, marker="o", markersize=8, linewidth=2.4, label="the choice"
        ),
        mark("the best", "o", 11, markerfacecolor="none", markeredgecolor=style.INK),
        mark("predicted for the choice", "|", 12, markeredgewidth=2, color=style.BOUND),
        mark(
            "predicted for posting everything",
            "|",
            7,
            markeredgewidth=2,
            color=style.BOUND,
            alpha=0.55,
        ),
        Line2D(
            [],
            [],
            color=COLOURS["schedule"],
            marker=".",
            markersize=6,
            linewidth=1.1,
            label="other schedules",
        ),
        *(
            mark(label, _MARKS[name], 5.5, color=COLOURS["mpi"])
            for name, label in _MPI_NAMES.items()
            if name in timed
        ),
    ]


def picture_errors(results: Sequence[CaseResult], fabric: str) -> Figure:
    """Predicted over measured times of all that has a schedule.

    By the machine's model, and by formula.

    Args:
        results: cases of one fabric.
        fabric: its name.
    """
    first = results[0]
    against = f"simulated by {first.decides}" if first.simulated else "measured"
    by_models = [by for by in predictors(results) if by not in (FORMULA, first.decides)]
    shown = [FORMULA, *by_models[:1]] if first.simulated else [MODEL, FORMULA]
    figure = style.new_figure(11, 4.9)
    style.headline(
        figure,
        f"{fabric}: predicted beside {against}",
        "every schedule of every case; the band is ±10 %",
    )
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    values: list[float] = []
    for axes, by in zip(panels, shown, strict=True):
        values += _draw_errors(axes, results, by)
        axes.set_title("by the machine's model" if by == MODEL else f"by {by}")
        style.log_axis(axes, "x", against)
        axes.grid(visible=True)
        low, high = axes.get_xlim()
        axes.set_xlim(low / 1.6, high * 1.6)  # at least one tick, however close the times
        inside = [time for time in _TIMES if low / 1.6 <= time <= high * 1.6]
        inside = inside[:: max(1, -(-len(inside) // 7))]
        axes.set_xticks(inside, [format_time(time) for time in inside])
    low, high = min([0.8, *values]) * 0.95, max([1.25, *values]) * 1.05
    for axes in panels:
        axes.axhspan(0.9, 1.1, color=style.ACCENT, alpha=0.13, linewidth=0, zorder=0)
        axes.axhline(1, color=style.INK, linewidth=1, zorder=1)
        style.log_axis(axes, "y", f"predicted / {'simulated' if first.simulated else 'measured'}")
        axes.set_ylim(low, high)
        ticks = [
            tick
            for tick in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1, 1.1, 1.4, 2, 3, 5, 10)
            if low <= tick <= high
        ]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    for axes in panels[1:]:
        axes.set_ylabel("")  # as the first, which shares its axis
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_errors(axes: Axes, results: Sequence[CaseResult], by: str) -> list[float]:
    """Draws, and returns what was drawn."""
    groups: dict[str, list[tuple[float, float]]] = {
        "other schedules": [],
        "posting everything": [],
        "the choice": [],
    }
    for result in results:
        for each in result.timed:
            error = each.error_of(each.model if by == MODEL else by)
            if error is not None and not each.same_as and each.median_s:
                groups[_group(each)].append((each.median_s, 1 + error))
    looks = {
        "other schedules": ("o", 4, style.PALE),
        "posting everything": ("D", 5.5, style.BOUND),
        "the choice": ("o", 7, style.ACCENT),
    }
    for name, points in groups.items():
        mark, size, colour = looks[name]
        if points:
            at = np.array(points)
            axes.plot(
                at[:, 0],
                at[:, 1],
                linestyle="none",
                marker=mark,
                markersize=size,
                color=colour,
                alpha=0.8,
                markeredgewidth=0,
                label=name,
                zorder=3,
            )
    return [ratio for points in groups.values() for _, ratio in points]


def _group(contest: Contest) -> str:
    if contest.kind == "choice":
        return "the choice"
    return "posting everything" if contest.name == NAIVE else "other schedules"
