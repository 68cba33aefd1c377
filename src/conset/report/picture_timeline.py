"""Picture of a timeline: what every rank did, how many messages were under way, and links over time beside the bound.

Four panels over one axis of time. Ranks: a bar for each message, coloured while its bytes flow, grey while a processor
works on it, pale while it waits or is on its way; where there are too many, the bytes that leave each rank as an image.
Below: messages under way; the share of their capacity that links use; and what the busiest link or port has carried,
beside the line on which it would never idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conset.report import style
from conset.report.picture_timeline_ranks import draw_ranks
from conset.report.timeline_view import TimelineView
from conset.simulation.usage import BINS, under_way

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def picture_timeline(view: TimelineView) -> Figure:
    """Ranks over time, and links below where the machine is known."""
    loads = view.usage is not None and view.usage.busiest >= 0
    figure = style.new_figure(10, 8.6 if loads else 6.4)
    style.headline(figure, *view.headlines())
    heights = (4.6, 1.25, 1.25, 1.45) if loads else (4.6, 1.3)
    panels: Any = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    top = view.timeline.time_s
    factor, unit = next((pair for pair in UNITS if top >= pair[0]), UNITS[-1])
    draw_ranks(figure, panels[0], view, factor)
    _draw_under_way(panels[1], view, factor)
    if loads:
        _draw_shares(panels[2], view, factor)
        _draw_busiest(panels[3], view, factor)
    panels[0].set_title(view.describe_bound(), loc="right", size=8.5, weight="normal", color=style.BOUND)
    for axes in panels:
        if view.bound is not None and view.bound[0]:
            axes.axvline(view.bound[0] / factor, color=style.BOUND, linewidth=1.2, zorder=6)
        axes.tick_params(axis="x", length=0 if axes is not panels[-1] else 3)
    panels[-1].set_xlim(0, (top or 1.0) / factor * 1.005)
    panels[-1].set_xlabel(f"time [{unit}]" + (f"; {view.spread}" if view.spread else ""))
    figure.align_ylabels(panels)
    return figure


def _draw_under_way(axes: Axes, view: TimelineView, factor: float) -> None:
    timeline = view.timeline
    edges = np.linspace(0.0, timeline.time_s or 1.0, BINS + 1)
    axes.set_title("messages under way")
    total = np.zeros(BINS)
    for what in dict.fromkeys(part.what for part in view.parts):
        alike = [part for part in view.parts if part.what == what]
        more = total + sum(under_way(part.begin_s, part.end_s, edges)[0] for part in alike)
        colour = alike[0].colour or style.ACCENT
        axes.stairs(more, edges / factor, baseline=total, fill=True, color=colour, linewidth=0, label=what)
        total = more
    _legend(axes, 3)
    axes.set_ylabel("messages")
    axes.set_ylim(0, max(float(total.max(initial=0)), 1e-9) * 1.08)
    _quiet(axes)


def _draw_shares(axes: Axes, view: TimelineView, factor: float) -> None:
    usage = view.usage
    assert usage is not None  # drawn only where it is known
    what = "links" if usage.of_links else "ports"
    axes.set_title(f"share of their capacity that {what} use")
    edges = usage.edges_s / factor
    pale, strong = style.colour_map()((0.72, 0.36))
    axes.stairs(usage.largest, edges, fill=True, color=pale, linewidth=0, alpha=0.85, label="the one used most")
    axes.stairs(usage.mean, edges, fill=True, color=strong, linewidth=0, label="mean of all")
    top = max(1.0, float(usage.largest.max(initial=0)))
    axes.set_ylim(0, top * 1.04)
    axes.set_yticks((0, 0.5, 1), ("0 %", "50 %", "100 %"))
    _legend(axes, 2)
    _quiet(axes, ticks=False)


def _draw_busiest(axes: Axes, view: TimelineView, factor: float) -> None:
    """What the busiest link or port has carried; the line on which it would never have been idle."""
    usage = view.usage
    assert usage is not None  # drawn only where it is known
    total = float(usage.carried[-1]) or 1.0
    axes.set_title(f"carried by {view.describe_busiest()}")
    edges = usage.edges_s / factor
    axes.fill_between(edges, usage.carried / total, color=style.ACCENT, alpha=0.16, linewidth=0)
    axes.plot(edges, usage.carried / total, color=style.ACCENT, linewidth=1.8, label="carried")
    axes.plot((0, usage.work_s / factor), (0, 1), color=style.BOUND, linewidth=1.4, linestyle=(0, (5, 2)),
              label="never idle")  # fmt: skip
    axes.set_ylim(0, 1.06)
    axes.set_yticks((0, 0.5, 1), ("0 %", "50 %", "100 %"))
    legend = axes.legend(loc="lower right", ncols=2, handlelength=2.2, frameon=True, framealpha=0.85, edgecolor="none",
                         facecolor=style.PAPER)  # fmt: skip
    legend.set_zorder(8)  # above the line of the bound
    _quiet(axes, ticks=False)


def _legend(axes: Axes, columns: int) -> None:
    """Beside the title, where nothing is drawn."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=columns, borderaxespad=0, borderpad=0.2,
                handlelength=1.1, handleheight=0.8, columnspacing=1.4)  # fmt: skip


def _quiet(axes: Axes, *, ticks: bool = True) -> None:
    from matplotlib.ticker import MaxNLocator

    if ticks:
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    axes.tick_params(axis="y", length=0)
