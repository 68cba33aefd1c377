"""Upper part of a timeline's picture.

Ranks × time, a bar for each message or an image of what leaves each rank.

Picture of a timeline: what every rank did, how many messages were under way, and links over time
beside the bound.

Four panels over one axis of time. Ranks: a bar for each message, coloured while its bytes flow,
grey while a processor works on it, pale while it waits or is on its way; where there are too many,
the bytes that leave each rank as an image. Below: messages under way; the share of their capacity
that links use; and what the busiest link or port has carried, beside the line on which it would
never idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.units import format_size, format_time
from conset.models.usage import BINS, under_way
from conset.report import style
from conset.report.markdown import block_of
from conset.report.timeline_view import WAITING, TimelineView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_RANKS = 64
"""Ranks that have a row of bars; more are an image."""
MAX_BARS = 3000
"""Messages that are drawn as bars."""
MAX_TRACKS = 420
"""Bars above each other, all ranks together: below, one is thinner than a pixel."""
MAX_ROWS = 256
"""Rows of the image; beyond, each is of several ranks."""
MAX_PHASES = 80
"""Most ends of phases that are marked."""
DIGIT_ROOM = 0.0085
"""Width of a digit of the numbers of phases, over that of the panel."""
TITLED = 800
"""Most messages that say what they are where a pointer rests on them."""

Floats = NDArray[np.float64]


def draw_ranks(figure: Figure, axes: Axes, view: TimelineView, factor: float) -> None:
    """Bars where they can be told apart, else an image; the ends of phases as thin lines."""
    few = view.ranks <= MAX_RANKS and view.timeline.messages <= MAX_BARS
    tracks = (
        tracks_of(view.work.sending_rank, view.timeline.start_s, view.timeline.end_s)
        if few
        else None
    )
    if tracks is not None and view.ranks * (tracks.max(initial=0) + 1) <= MAX_TRACKS:
        _draw_bars(figure, axes, view, factor, tracks)
    else:
        _draw_image(figure, axes, view, factor)
    axes.set_ylabel("rank")
    axes.tick_params(axis="y", length=0)


def tracks_of(rank: NDArray[np.int32], start: Floats, end: Floats) -> NDArray[np.int64]:
    """shape=(messages): the lowest track of its rank that is free when a message starts.

    Open ones never overlap.
    """
    tracks = np.zeros(rank.size, np.int64)
    free: dict[int, list[float]] = {}
    for m in np.lexsort((end, start, rank)).tolist():
        ends = free.setdefault(int(rank[m]), [])
        track = next((k for k, until in enumerate(ends) if until <= start[m]), len(ends))
        if track == len(ends):
            ends.append(0.0)
        ends[track] = float(end[m])
        tracks[m] = track
    return tracks


def _draw_bars(
    figure: Figure, axes: Axes, view: TimelineView, factor: float, tracks: NDArray[np.int64]
) -> None:
    from matplotlib.collections import PolyCollection

    work = view.work
    height = int(tracks.max(initial=0)) + 1
    thick = 0.84 / height
    low = work.sending_rank - 0.42 + tracks * thick
    colours = _phase_colours(view)
    gap = 0.0 if height > 3 else 0.04
    for part in view.parts:
        left, right = part.begin_s / factor, part.end_s / factor
        shade, order = (colours, 3) if part.colour is None else (np.asarray([part.colour]), 2)
        long = np.flatnonzero(right > left)
        chosen = shade[long] if len(shade) == low.size else shade
        box = _boxes(left[long], right[long], low[long] + gap * thick, thick * (1 - 2 * gap))
        bars = PolyCollection(list(box), facecolors=chosen, linewidths=0, zorder=order)
        axes.add_collection(bars)
        if part.colour is None and long.size <= TITLED:
            bars.set_gid("conset-messages")
            style.add_titles(axes, "conset-messages", [_message_title(view, int(m)) for m in long])
    axes.set_title("what every rank sends")
    if work.phases > 1:
        _phase_bar(figure, axes, view)
    axes.set_ylim(view.ranks - 0.5, -0.5)
    _rank_ticks(axes, view.ranks)


def _message_title(view: TimelineView, message: int) -> str:
    """`0 → 5: 1 KiB, 2.1 us to 3.4 us, phase 3`."""
    work, timeline = view.work, view.timeline
    ends = f"{work.sending_rank[message]} → {work.receiving_rank[message]}"
    times = " to ".join(
        format_time(float(times[message])) for times in (timeline.start_s, timeline.end_s)
    )
    phase = f", phase {work.phase_of[message]}" if work.phases > 1 else ""
    return f"{ends}: {format_size(int(work.bytes[message]))}, {times}{phase}"


def _boxes(left: Floats, right: Floats, low: Floats, height: float) -> Floats:
    """shape=(boxes, 4, 2): the corners."""
    corners = ((left, low), (right, low), (right, low + height), (left, low + height))
    return np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)


def _phase_colours(view: TimelineView) -> NDArray[Any]:
    work = view.work
    if work.phases < 2:
        return np.asarray([style.ACCENT])
    return np.asarray(style.amount_map()(work.phase_of / (work.phases - 1)))


def _phase_bar(figure: Figure, axes: Axes, view: TimelineView) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.ticker import MaxNLocator

    norm = Normalize(0, view.work.phases - 1)
    bar = figure.colorbar(
        ScalarMappable(norm, style.amount_map()), ax=axes, pad=0.01, aspect=34, fraction=0.04
    )
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 10]))
    bar.set_label(f"phase, while {view.flowing}; dark is late")


def _draw_image(figure: Figure, axes: Axes, view: TimelineView, factor: float) -> None:
    """What leaves each rank over time.

    Grey where it only waits, white where it has nothing under way.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.ticker import PercentFormatter

    share, waits, caption = view.leaving()
    block = block_of(len(share), MAX_ROWS)
    first = np.arange(0, len(share), block)
    mean = np.add.reduceat(share, first, axis=0) / np.diff([*first.tolist(), len(share)])[:, None]
    waits = np.add.reduceat(waits, first, axis=0)
    extent = (0, (view.timeline.time_s or 1.0) / factor, len(share) - 0.5, -0.5)
    how: Any = {"aspect": "auto", "interpolation": "nearest", "extent": extent}
    grey = ListedColormap([WAITING])
    axes.imshow(np.where(waits > 0.02, 1.0, np.nan), cmap=grey, zorder=1, **how)
    flows = np.where(mean > 0.002 * max(mean.max(initial=0.0), 1e-30), mean, np.nan)
    image = axes.imshow(flows, cmap=style.amount_map(), vmin=0, zorder=1.5, **how)
    axes.set_title(f"bytes that leave each rank{f', {block} ranks a row' if block > 1 else ''}")
    bar = figure.colorbar(image, ax=axes, pad=0.01, aspect=34, fraction=0.04)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    bar.set_label(caption)
    _rank_ticks(axes, len(share))


def _rank_ticks(axes: Axes, ranks: int) -> None:
    from matplotlib.ticker import MaxNLocator

    if ranks <= 16:
        axes.set_yticks(range(ranks))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(9, integer=True, steps=[1, 2, 4, 5, 8, 10]))


def marked_phases(view: TimelineView) -> tuple[list[int], str]:
    """(phases whose ends are marked, what the marks are).

    None of one phase, of many phases every k-th.
    """
    phases = int(view.timeline.phase_end_s.size)
    if view.work.phases < 2 or phases < 2:
        return [], ""
    every = -(-phases // MAX_PHASES)
    what = "ends of phases" if every == 1 else f"ends of phases, one in {every}"
    return list(range(every - 1, phases, every)), f"upright lines: {what}"


def _mark_phases(panels: Sequence[Axes], view: TimelineView, factor: float) -> bool:
    """A line through all panels at the end of a phase, its number above the first.

    Whether there are numbers.
    """
    end_s = view.timeline.phase_end_s
    phases = [phase for phase in marked_phases(view)[0] if np.isfinite(end_s[phase])]
    for axes in panels:
        for end in np.unique(end_s[phases]).tolist():
            axes.axvline(end / factor, color=style.QUIET, linewidth=0.5, alpha=0.7, zorder=4)
    whole_s, last = view.timeline.time_s or 1.0, -np.inf
    for phase in phases:
        place = float(end_s[phase])
        half_s = DIGIT_ROOM * (1 + len(str(phase))) / 2 * whole_s
        if place - half_s >= last:
            last = place + half_s
            panels[0].text(
                place / factor,
                1.005,
                str(phase),
                transform=panels[0].get_xaxis_transform(),
                ha="center",
                va="bottom",
                size=7.6,
                color=style.QUIET,
            )
    return bool(phases)


def picture_timeline(view: TimelineView) -> Figure:
    """Ranks over time, and links below where the machine is known."""
    loads = view.usage is not None and view.usage.busiest >= 0
    figure = style.new_figure(10, 8.6 if loads else 6.4)
    style.headline(figure, *view.headlines())
    heights = (4.6, 1.25, 1.25, 1.45) if loads else (4.6, 1.3)
    panels: Any = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    top = view.timeline.time_s
    factor, unit = style.time_unit(top)
    draw_ranks(figure, panels[0], view, factor)
    _draw_under_way(panels[1], view, factor)
    if loads:
        _draw_shares(panels[2], view, factor)
        _draw_busiest(panels[3], view, factor)
    numbered = _mark_phases(panels, view, factor)
    panels[0].set_title(
        view.describe_bound(),
        loc="right",
        size=8.5,
        weight="normal",
        color=style.BOUND,
        pad=16 if numbered else None,
    )
    for axes in panels:
        if view.bound is not None and view.bound[0]:
            axes.axvline(view.bound[0] / factor, color=style.BOUND, linewidth=1.2, zorder=6)
        axes.tick_params(axis="x", length=0 if axes is not panels[-1] else 3)
    panels[-1].set_xlim(0, (top or 1.0) / factor * 1.005)
    panels[-1].set_xlabel(
        "; ".join(filter(None, (f"time [{unit}]", marked_phases(view)[1], view.spread)))
    )
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
        axes.stairs(
            more, edges / factor, baseline=total, fill=True, color=colour, linewidth=0, label=what
        )
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
    axes.stairs(
        usage.largest,
        edges,
        fill=True,
        color=pale,
        linewidth=0,
        alpha=0.85,
        label="the one used most",
    )
    axes.stairs(usage.mean, edges, fill=True, color=strong, linewidth=0, label="mean of all")
    top = max(1.0, float(usage.largest.max(initial=0)))
    axes.set_ylim(0, top * 1.04)
    axes.set_yticks((0, 0.5, 1), ("0 %", "50 %", "100 %"))
    _legend(axes, 2)
    _quiet(axes, ticks=False)


def _draw_busiest(axes: Axes, view: TimelineView, factor: float) -> None:
    """What the busiest link or port has carried.

    The line on which it would never have been idle.
    """
    usage = view.usage
    assert usage is not None  # drawn only where it is known
    total = float(usage.carried[-1]) or 1.0
    axes.set_title(f"carried by {view.describe_busiest()}")
    edges = usage.edges_s / factor
    axes.fill_between(edges, usage.carried / total, color=style.ACCENT, alpha=0.16, linewidth=0)
    axes.plot(edges, usage.carried / total, color=style.ACCENT, linewidth=1.8, label="carried")
    axes.plot(
        (0, usage.work_s / factor),
        (0, 1),
        color=style.BOUND,
        linewidth=1.4,
        linestyle=(0, (5, 2)),
        label="never idle",
    )
    axes.set_ylim(0, 1.06)
    axes.set_yticks((0, 0.5, 1), ("0 %", "50 %", "100 %"))
    legend = axes.legend(
        loc="lower right",
        ncols=2,
        handlelength=2.2,
        frameon=True,
        framealpha=0.85,
        edgecolor="none",
        facecolor=style.PAPER,
    )
    legend.set_zorder(8)  # above the line of the bound
    _quiet(axes, ticks=False)


def _legend(axes: Axes, columns: int) -> None:
    """Beside the title, where nothing is drawn."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.98),
        ncols=columns,
        borderaxespad=0,
        borderpad=0.2,
        handlelength=1.1,
        handleheight=0.8,
        columnspacing=1.4,
    )


def _quiet(axes: Axes, *, ticks: bool = True) -> None:
    from matplotlib.ticker import MaxNLocator

    if ticks:
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    axes.tick_params(axis="y", length=0)
