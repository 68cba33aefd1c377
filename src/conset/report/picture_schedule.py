"""Picture of a schedule: who sends to whom in which phase, and what every phase carries, beside its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.report import style
from conset.report.facts import Summary, headlines
from conset.report.matrix import rank_grid
from conset.report.picture_pattern import CELLS, draw_matrix, size_ticks
from conset.report.routes import largest_total_load
from conset.schedule.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 40
"""Most phases drawn as single bars; more are drawn as a filled outline."""
WRITTEN = 16
"""Most ranks whose phase numbers are written into the matrix."""


def picture_schedule(schedule: Schedule, summary: Summary | None = None) -> Figure:
    """Matrix by phase at the left; transfers, largest link load and largest transfer of every phase at the right.

    Args:
        schedule: what to draw.
        summary: the keys of `compile --json`; brings the bound into title and panels.
    """
    figure = style.new_figure(10, 6)
    style.headline(figure, *headlines(schedule, summary))
    layout: Any = [["matrix", "transfers"], ["matrix", "load"], ["matrix", "bytes"]]
    panels: Any = figure.subplot_mosaic(layout, width_ratios=(1.22, 1))
    _draw_phases(figure, panels["matrix"], schedule)
    strips = [panels[name] for name in ("transfers", "load", "bytes")]
    _draw_transfers(strips[0], schedule)
    _draw_load(strips[1], schedule)
    _draw_largest(strips[2], schedule)
    for axes in strips:
        _phase_axis(axes, schedule.phases, last=axes is strips[-1])
    _mark_bound(strips[0], schedule, summary)
    figure.align_ylabels(strips)
    return figure


def _draw_phases(figure: Figure, axes: Axes, schedule: Schedule) -> None:
    pattern = schedule.pattern
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    grid = rank_grid(pattern.ranks, source, target, schedule.phase_of.astype(np.int64), CELLS, "least")
    axes.set_title("phase of every message")
    image = draw_matrix(axes, grid, pattern.ranks)
    if pattern.ranks <= WRITTEN and schedule.phases > 1:
        _write_numbers(axes, grid, schedule.phases)
    if schedule.phases > 1:
        _phase_bar(figure, axes, image, schedule.phases)


def _phase_bar(figure: Figure, axes: Axes, image: Any, phases: int) -> None:
    from matplotlib.ticker import MaxNLocator

    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.7, pad=0.015, aspect=36)
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 10]))
    bar.set_label("phase")


def _write_numbers(axes: Axes, grid: NDArray[np.float64], phases: int) -> None:
    size = min(10.0, 150 / len(grid))
    for row, column in np.argwhere(np.isfinite(grid)):
        phase = grid[row, column]
        pale = phases > 1 and phase > 0.55 * (phases - 1)
        axes.text(
            column, row, f"{phase:.0f}", ha="center", va="center", size=size, color=style.INK if pale else style.PAPER
        )


def _draw_transfers(axes: Axes, schedule: Schedule) -> None:
    axes.set_title("transfers in a phase")
    _strip(axes, np.diff(schedule.phase_offsets))
    axes.set_ylabel("transfers")


def _draw_load(axes: Axes, schedule: Schedule) -> None:
    from conset.schedule.loads import phase_loads

    limit = schedule.limits.link
    if schedule.machine.topology.link_slots == 0:
        # a crossbar has no links: its ports are what fills
        loads = phase_loads(schedule)
        axes.set_title("largest load at a port")
        load: NDArray[Any] = np.maximum(loads.send, loads.receive)
        limit = max(filter(None, (schedule.limits.send, schedule.limits.receive)), default=None)
        total = 0
    else:
        axes.set_title("largest load on a link")
        load = phase_loads(schedule).link
        total = largest_total_load(schedule)
    _strip(axes, load)
    axes.set_ylabel("messages")
    if limit is not None:
        _line(axes, limit, f"limit {limit}")
    elif schedule.phases and total:
        least = -(-total // schedule.phases)
        _line(axes, least, f"bound {least:,} ({total:,} in all)")
    top = max(float(load.max(initial=1)), limit or 1)
    axes.set_ylim(0, top * 1.12)


def _draw_largest(axes: Axes, schedule: Schedule) -> None:
    from conset.schedule.loads import largest_sizes

    largest = largest_sizes(schedule)
    axes.set_title("largest transfer of a phase")
    _strip(axes, largest)
    axes.set_ylabel("bytes")
    top = float(largest.max(initial=1))
    positive = largest[largest > 0]
    if positive.size and positive.min() * 30 < top:
        axes.set_yscale("log")
        axes.set_ylim(float(positive.min()) / 2, top * 1.8)
        size_ticks(axes.yaxis, float(positive.min()), top, most=4)
    else:
        axes.set_ylim(0, top * 1.15)
        _linear_sizes(axes, top)


def _linear_sizes(axes: Axes, top: float) -> None:
    from conset.units import format_size

    step = 2.0 ** np.floor(np.log2(max(top, 1) / 2))
    ticks = np.arange(0, top * 1.05, step)
    axes.set_yticks(ticks, ["0" if tick == 0 else format_size(float(tick)) for tick in ticks])


def _strip(axes: Axes, value: NDArray[Any]) -> None:
    """One value per phase: bars while they can be told apart, else a filled outline."""
    phases = np.arange(value.size)
    if value.size <= BARS:
        axes.bar(phases, value, width=0.82 if value.size > 3 else 0.4, color=style.ACCENT)
        return
    edges = np.arange(value.size + 1) - 0.5
    axes.stairs(value, edges, fill=True, color=style.ACCENT, linewidth=0)


def _line(axes: Axes, at: float, text: str) -> None:
    """A bound or limit; its words stand above the panel, where no bar can hide them."""
    axes.axhline(at, color=style.BOUND, linewidth=1.3)
    axes.set_title(text, loc="right", size=8.5, weight="normal", color=style.BOUND)


def _phase_axis(axes: Axes, phases: int, *, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    room = 0.02 * phases if phases > 3 else 0.5
    axes.set_xlim(-0.5 - room, max(phases, 1) - 0.5 + room)
    if phases <= 3:
        axes.set_xticks(range(phases))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 10]))
    if axes.get_yscale() != "log" and axes.get_ylabel() != "bytes":
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    axes.tick_params(length=0, axis="x" if not last else "y")
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("phase")


def _mark_bound(axes: Axes, schedule: Schedule, summary: Summary | None) -> None:
    """A line after as many phases as no schedule can go below; what stands right of it is the gap."""
    bound = ((summary or {}).get("bound") or {}).get("phases")
    count = np.diff(schedule.phase_offsets)
    axes.set_ylim(0, float(count.max(initial=1)) * 1.12)
    if not bound or bound > schedule.phases:
        return
    axes.axvline(bound - 0.5, color=style.BOUND, linewidth=1.3)
    phases = "1 phase" if bound == 1 else f"{bound:,} phases"
    axes.set_title(f"bound {phases}", loc="right", size=8.5, weight="normal", color=style.BOUND)
