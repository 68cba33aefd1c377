"""A timeline as facts, terminal text, picture and JSON: ranks and links over time, the bound.

The picture has four panels over one axis of time. Ranks: a bar for each message, coloured while its
bytes flow, grey while a processor works on it, pale while it waits or is on its way; where there
are too many, the bytes that leave each rank as an image.
Below: messages under way; the share of their capacity that links use; and what the busiest link or
port has carried, beside the line on which it would never idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from rich.markup import escape

from conset.base import (
    Floats,
    InputError,
    Ints,
    Ints32,
    count_of,
    format_rate,
    format_size,
    format_time,
)
from conset.machine import Machine
from conset.models import (
    BINS,
    Settings,
    Timeline,
    Usage,
    Workload,
    flowing_from,
    flowing_until,
    least_time,
    resource_name,
    under_way,
    usage_of,
)
from conset.report import style
from conset.report.charts import Line, Panel
from conset.report.facts import computation_facts
from conset.report.pattern import block_of
from conset.report.sections import Fact, Part, Section
from conset.report.terminal import ROWS, section_text

WAITING = "#d3d8df"
"""Colour of messages that wait: as the grid's grey."""
OVERHEAD = style.WORK
"""Colour of messages on which a processor works."""
MARGIN = 12
"""Columns before the blocks of a rank in a terminal: two spaces, a label, two spaces."""
COLUMNS = (24, 96)
"""Least and most columns of time in a terminal."""
MAX_RANKS = 64
"""Ranks that have a row of bars; more are an image."""
MAX_BARS = 3000
"""Messages that are drawn as bars."""
MAX_TRACKS = 420
"""Bars above each other, all ranks together: with more, one is thinner than a pixel."""
MAX_ROWS = 256
"""Rows of the image; beyond, each is of several ranks."""
MAX_PHASES = 80
"""Most ends of phases that are marked."""
DIGIT_ROOM = 0.0085
"""Width of a digit of the numbers of phases, over that of the panel."""
SHARES = (0, 0.5, 1), ("0 %", "50 %", "100 %")
"""Ticks of an axis of shares."""
TITLED = 800
"""Most messages that have a title in a vector picture."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """What messages do for a part of their time.

    Attributes:
        what: as text.
        begin_s: shape=(messages) [s].
        end_s: shape=(messages) [s].
        colour: of pictures; None: that of bytes.
    """

    what: str
    begin_s: Floats
    end_s: Floats
    colour: str | None


@dataclass(frozen=True, eq=False)
class TimelineView:
    """A timeline and what it was made from; machine and settings: None where only named.

    Raises:
        InputError: a timeline that does not say which messages it is of.
    """

    timeline: Timeline
    machine: Machine | None = None
    settings: Settings | None = None

    def __post_init__(self) -> None:
        if self.timeline.workload is None:
            raise InputError("the timeline does not say which messages it is of")

    @property
    def work(self) -> Workload:
        """What was played."""
        assert self.timeline.workload is not None  # refused at construction
        return self.timeline.workload

    @cached_property
    def usage(self) -> Usage | None:
        """Links and ports over time; None without a machine, whose rates these are."""
        if self.machine is None:
            return None
        return usage_of(self.timeline, self.work, self.machine, self.how)

    @property
    def how(self) -> Settings:
        """How it was executed, as far as it is known."""
        return self.settings or Settings(sync=self.timeline.sync, in_flight=self.timeline.in_flight)

    @cached_property
    def first(self) -> Floats:
        """When bytes of each message began to flow, shape=(messages) [s]; (0) if unknown."""
        return flowing_from(self.timeline, self.work, self.machine, self.how)

    @cached_property
    def bound(self) -> tuple[float, str] | None:
        """(time [s], witness): a lower bound for these messages under these settings."""
        if self.machine is None:
            return None
        return least_time(self.work, self.machine, self.how, self.timeline.model)

    @cached_property
    def ranks(self) -> int:
        """Rows of a picture: ranks that send or receive, and those before them; at least 1."""
        rank = (self.work.sending_rank, self.work.receiving_rank)
        return int(max(values.max(initial=0) for values in rank)) + 1

    @property
    def flight(self) -> str:
        """Sends that a rank keeps open at once."""
        return "all" if self.timeline.in_flight is None else str(self.timeline.in_flight)

    @property
    def flowing(self) -> str:
        """What a message does between its first and its last byte."""
        return "flits under way" if self.timeline.model == "flit" else "bytes flow"

    @property
    def latency(self) -> str:
        """What a message does between its send overhead and its first byte."""
        if self.timeline.model not in ("wormhole", "circuit"):
            return "latency"
        costs = None if self.machine is None else self.machine.costs_for(self.work.method)
        before = costs is not None and costs.receive == "before"
        return "latency, or channel or receiver busy" if before else "latency, or channel busy"

    @property
    def waiting(self) -> str:
        """What a message does while no byte of it flows."""
        return f"overhead, {self.latency}"

    @cached_property
    def parts(self) -> tuple[Stretch, ...]:
        """The life of every message: bytes first, then overheads and what is between them."""
        timeline, left = self.timeline, flowing_until(self.timeline)
        start, sent, end = timeline.start_s, timeline.sent_s, timeline.end_s
        first = np.minimum(self.first, left) if self.first.size else start
        parts = [Stretch(self.flowing, first, left, None)]
        if self.first.size and sent.size:
            parts.append(Stretch(self.latency, sent, first, WAITING))
        elif self.first.size:
            parts.append(Stretch(self.waiting, start, first, WAITING))
        if sent.size:
            caption = "overheads, or processor busy"
            parts.append(Stretch(caption, start, sent, OVERHEAD))
            parts.append(Stretch(caption, left, end, OVERHEAD))
        elif (end > left).any():
            parts.append(Stretch("overhead", left, end, OVERHEAD))
        return tuple(parts)

    def leaving(self) -> tuple[Floats, Floats, str]:
        """Return (share that leaves each rank, its messages that wait, of what the share is).

        Both have the shape (ranks, bins).
        """
        work, usage = self.work, self.usage
        edges = usage.edges_s if usage is not None else self.edges_s
        flowing, *others = self.parts
        rank = work.sending_rank
        waits = np.zeros((self.ranks, edges.size - 1))
        for part in others:
            waits += under_way(part.begin_s, part.end_s, edges, rank, self.ranks)
        if usage is None or self.machine is None or work.sender.size:
            flows = under_way(flowing.begin_s, flowing.end_s, edges, rank, self.ranks)
            whole, caption = flows.max(initial=0.0), "share of the most messages a rank has open"
        else:
            flows = usage.out[: self.ranks]
            whole, caption = usage.out.max(initial=0.0), "share of the most a rank sends"
            rate = self.machine.costs_for(work.method).port_out_Bps
            if np.isfinite(rate):
                whole, caption = rate, "share of the port's rate"
        return flows / (whole or 1.0), waits, caption

    @property
    def edges_s(self) -> Floats:
        """Edges of the steps of time, shape=(bins + 1) [s]."""
        return np.linspace(0.0, self.timeline.time_s or 1.0, BINS + 1)

    def describe_bound(self) -> str:
        """Return `bound 22.7 ms, the time is 3.62 times it`; "" where nothing is known."""
        if self.bound is None or not self.bound[0]:
            return ""
        gap = self.timeline.time_s / self.bound[0]
        far = f"the time is {gap:.3g} times it"
        if gap < 1.1:
            far = "reached" if gap < 1.0005 else f"the time is {gap - 1:.1%} above"
        return f"bound {format_time(self.bound[0])}, {far}"

    @property
    def spread(self) -> str:
        """How far what is drawn over time is not what happened; "" where it is."""
        if self.usage is None or self.usage.exact:
            return ""
        return "bytes of a message are spread evenly over its time"

    def describe_busiest(self) -> str:
        """Return `link 3 → 4: 64 KiB at 175 MB/s need 374.5 us`; "" where nothing limits."""
        usage = self.usage
        if usage is None or usage.busiest < 0 or self.machine is None:
            return ""
        name = resource_name(self.machine.topology, usage.busiest)
        size, rate = format_size(float(usage.carried[-1])), format_rate(usage.rate_Bps)
        return f"{name}: {size} at {rate} need {format_time(usage.work_s)}"

    def describe_bottlenecks(self, count: int = 3) -> str:
        """Return `link 3 → 4 limits 12 messages, …`; "" where nothing did or it is unknown."""
        held = self.timeline.held_by[self.timeline.held_by >= 0]
        if not held.size or self.machine is None:
            return ""
        which, counts = np.unique(held, return_counts=True)
        names = [
            f"{resource_name(self.machine.topology, int(which[k]))} limits "
            f"{count_of(int(counts[k]), 'message')}"
            for k in np.argsort(-counts, kind="stable")[:count]
        ]
        more = f" and {which.size - count:,} more" if which.size > count else ""
        return ", ".join(names) + more

    def headlines(self) -> tuple[str, str]:
        """Return title and second line."""
        timeline = self.timeline
        size = format_size(int(self.work.bytes.sum()))
        took = f"{format_time(timeline.time_s)} by {timeline.model}"
        how = f"sync {timeline.sync}, in flight {self.flight}"
        second = f"{count_of(timeline.messages, 'message')}, {size}, {how}"
        if self.bound is not None:
            second += f" · bound {format_time(self.bound[0])}: {self.bound[1]}"
        return f"{self.work.name} on {timeline.machine}: {took}", second

    def to_object(self) -> dict[str, Any]:
        """Return what `show --json` prints, with shares of capacity over time."""
        usage, bound = self.usage, self.bound
        body: dict[str, Any] = {"name": self.work.name, **self.timeline.to_object()}
        del body["elapsed_s"]
        body |= {
            "ranks": self.ranks,
            "bytes": int(self.work.bytes.sum()),
            "bound": None if bound is None else {"time_s": bound[0], "time_witness": bound[1]},
            "gap": self.timeline.time_s / bound[0] if bound and bound[0] else None,
            "over_time": None,
        }
        if usage is not None:
            body["over_time"] = {
                "edges_s": usage.edges_s.tolist(),
                "of": "links" if usage.of_links else "ports",
                "mean": usage.mean.tolist(),
                "largest": usage.largest.tolist(),
                "busiest": self.describe_busiest(),
                "carried": usage.carried.tolist(),
                "exact": usage.exact,
            }
        return body


def timeline_facts(view: TimelineView) -> list[Fact]:
    """Return what was played, where and how; the bound, what was used, what limited messages."""
    timeline, work = view.timeline, view.work
    size = format_size(int(work.bytes.sum()))
    facts = [
        Fact("played", f"{work.name} on {timeline.machine}"),
        Fact("messages", f"{timeline.messages:,}, {size}, in flight {view.flight}"),
        Fact("mean latency", format_time(timeline.mean_latency_s)),
    ]
    if work.phases > 1:
        first = format_time(float(timeline.phase_end_s[0]))
        facts.append(Fact("phases", f"{work.phases:,}, the first ends at {first}"))
    if view.bound is not None and (bound := view.describe_bound()):
        facts.append(Fact("bound", f"{bound.removeprefix('bound ')}: {view.bound[1]}"))
    if view.usage is not None:
        what = "links" if view.usage.of_links else "ports"
        share = f"{view.usage.mean.mean():.1%} of their capacity in the mean"
        facts.append(Fact(f"{what} in use", share))
    found = {"most work": view.describe_busiest(), "bottlenecks": view.describe_bottlenecks()}
    return facts + [Fact(label, value) for label, value in found.items() if value]


# In the terminal


def timeline_text(view: TimelineView, width: int) -> str:
    """Return what happened when; at most a screenful."""
    timeline = view.timeline
    by = f"by [bold]{timeline.model}[/], sync {timeline.sync}"
    columns = int(np.clip(width - MARGIN - 2, *COLUMNS))
    facts = section_text(Section("", parts=[Part(facts=timeline_facts(view))]), width=20)
    lines = [
        f"[bold]{format_time(timeline.time_s)}[/] {by}",
        "",
        facts,
        "",
        *_rank_lines(view, columns),
    ]
    if view.usage is not None:
        what = "links" if view.usage.of_links else "ports"
        lines += ["", f"  [dim]share of their capacity that {what} use: █ all of it[/]"]
        for label, share in (("most", view.usage.largest), ("mean", view.usage.mean)):
            part = np.clip(_in_columns(share, columns), 0, 1)
            level = np.ceil(part * 8 - 0.02).clip(0, 8).astype(int)
            lines.append(f"  {label:>8}  " + "".join(" ▁▂▃▄▅▆▇█"[k] for k in level).rstrip())
    return "\n".join([*lines, _axis(view, columns)])


def _rank_lines(view: TimelineView, columns: int) -> list[str]:
    share, waits, caption = view.leaving()
    ranks = len(share)
    block = max(1, -(-ranks // ROWS))
    scale = float(share.max(initial=0.0)) or 1.0
    shades = f"░ a quarter … █ {scale:.0%}; · {view.waiting}"
    lines = [f"  [dim]{escape(f'{caption}: {shades}')}[/]"]
    for first in range(0, ranks, block):
        last = min(first + block, ranks)
        mean = _in_columns(share[first:last].mean(axis=0), columns) / scale
        waiting = _in_columns(waits[first:last].sum(axis=0), columns) > 0.02
        level = np.ceil(np.clip(mean, 0, 1) * 4 - 0.08).clip(0, 4).astype(int)
        level[(level == 0) & waiting] = 5
        label = f"rank {first}" if block == 1 else f"{first}-{last - 1}"
        lines.append(f"  {label:>8}  {''.join(' ░▒▓█·'[k] for k in level).rstrip()}")
    return lines


def _in_columns(values: Floats, columns: int) -> Floats:
    """Return the mean of the bins, each counted by its share of a column; shape=(columns)."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    places = np.linspace(0, values.size, columns + 1)
    inside = np.diff(np.interp(places, np.arange(values.size + 1), total))
    return np.asarray(inside * columns / values.size)


def _axis(view: TimelineView, columns: int) -> str:
    """Return `0`, the bound where it is not at the end, and the end."""
    end = format_time(view.timeline.time_s)
    line = ["0", *" " * (columns - 1)]
    line[columns - len(end) :] = end
    if view.bound is not None and view.bound[0] and view.timeline.time_s:
        caption = f"| bound {format_time(view.bound[0])}"
        place = min(int(view.bound[0] / view.timeline.time_s * columns), columns - 1)
        if place > 1 and place + len(caption) < columns - len(end) - 1:
            line[place : place + len(caption)] = caption
    return " " * MARGIN + "".join(line)


def simulation_section(timeline: Timeline, machine: Machine) -> Section:
    """Return what `conset simulate` found: time, busiest link, bottlenecks, its own cost."""
    flight = "all" if timeline.in_flight is None else timeline.in_flight
    by = f"on {timeline.machine} by {timeline.model}, sync {timeline.sync}, in flight {flight}"
    latency = f"mean latency {format_time(timeline.mean_latency_s)}"
    facts = [Fact("messages", f"{timeline.messages:,}, {latency}")]
    phases = timeline.phase_end_s.size
    if phases > 1:
        last = format_time(float(timeline.phase_end_s[-1] - timeline.phase_end_s[-2]))
        facts.append(Fact("phases", f"{phases:,}, removing phase {phases - 1} saves {last}"))
    if timeline.link_bytes.size and timeline.link_bytes.any():
        link = int(timeline.link_bytes.argmax())
        name, size = machine.topology.link_name(link), format_size(int(timeline.link_bytes[link]))
        share = timeline.link_busy_s[link] / timeline.time_s
        facts.append(Fact("busiest", f"{name}: {size}, busy {share:.0%} of the time"))
    facts += computation_facts(timeline.figures)
    bottlenecks = TimelineView(timeline, machine).describe_bottlenecks()
    facts += [Fact("bottlenecks", bottlenecks)] if bottlenecks else []
    took = f"{format_time(timeline.elapsed_s)} for {count_of(timeline.events, 'event')}"
    title = f"{format_time(timeline.time_s)} {by}"
    return Section(title, parts=[Part(facts=[*facts, Fact("took", took)])])


# As a picture


def picture_timeline(view: TimelineView) -> style.Figure:
    """Draw ranks over time, and links below where the machine is known."""
    loads = view.usage is not None and view.usage.busiest >= 0
    figure = style.new_figure(10, 8.6 if loads else 6.4, *view.headlines())
    heights = (4.6, 1.25, 1.25, 1.45) if loads else (4.6, 1.3)
    panels: Any = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    top = view.timeline.time_s
    factor, unit = style.time_unit(top)
    draw_ranks(panels[0], view, factor)
    lower = [_under_way_panel(view, factor)]
    if view.usage is not None and loads:
        lower += _usage_panels(view, view.usage, factor)
    for panel, axes in zip(lower, panels[1:], strict=True):
        panel.draw(axes)
        axes.tick_params(axis="y", length=0)
    pad = 16 if _mark_phases(panels, view, factor) else None
    panels[0].set_title(view.describe_bound(), loc="right", pad=pad, **style.REMARK)
    for axes in panels:
        if view.bound is not None and view.bound[0]:
            axes.axvline(view.bound[0] / factor, color=style.BOUND, linewidth=1.2, zorder=4.5)
        axes.tick_params(axis="x", length=0 if axes is not panels[-1] else 3)
    label = "; ".join(filter(None, (f"time [{unit}]", marked_phases(view)[1], view.spread)))
    panels[-1].set(xlim=(0, (top or 1.0) / factor * 1.005), xlabel=label)
    figure.align_ylabels(panels)
    return figure


def draw_ranks(axes: style.Axes, view: TimelineView, factor: float) -> None:
    """Draw bars where they can be distinguished, else an image."""
    few = view.ranks <= MAX_RANKS and view.timeline.messages <= MAX_BARS
    start, end = view.timeline.start_s, view.timeline.end_s
    tracks = tracks_of(view.work.sending_rank, start, end) if few else None
    if tracks is not None and view.ranks * (tracks.max(initial=0) + 1) <= MAX_TRACKS:
        _draw_bars(axes, view, factor, tracks)
    else:
        _draw_image(axes, view, factor)
    axes.set_ylabel("rank")
    axes.tick_params(axis="y", length=0)


def tracks_of(rank: Ints32, start: Floats, end: Floats) -> Ints:
    """Return the lowest track of its rank that is free when a message starts, shape=(messages)."""
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


def _draw_bars(axes: style.Axes, view: TimelineView, factor: float, tracks: Ints) -> None:
    work, phases = view.work, view.work.phases
    height = int(tracks.max(initial=0)) + 1
    thick = 0.84 / height
    gap = 0.0 if height > 3 else 0.04 * thick
    low = work.sending_rank - 0.42 + tracks * thick + gap
    shades: Any = style.amount_map()(work.phase_of / max(phases - 1, 1))
    for part in view.parts:
        left, right = part.begin_s / factor, part.end_s / factor
        long = np.flatnonzero(right > left)
        named = part.colour is None and long.size <= TITLED
        style.add_areas(
            axes,
            style.boxes(left[long], right[long], low[long], low[long] + thick - 2 * gap),
            gid="conset-messages" if named else "",
            titles=[_message_title(view, int(m)) for m in long] if named else (),
            facecolors=part.colour or (style.ACCENT if phases < 2 else shades[long]),
            linewidths=0,
            zorder=3 if part.colour is None else 2,
        )
    axes.set_title("what every rank sends")
    if phases > 1:
        scale = style.scale_of(0, phases - 1)
        label = f"phase, while {view.flowing}; dark is late"
        bar = style.colour_bar(axes, scale, label, pad=0.01, aspect=34, fraction=0.04)
        style.whole_ticks(bar.ax.yaxis, 8, style.STEPS)
    axes.set_ylim(view.ranks - 0.5, -0.5)
    _rank_ticks(axes, view.ranks)


def _message_title(view: TimelineView, message: int) -> str:
    """Return `0 → 5: 1 KiB, 2.1 us to 3.4 us, phase 3`."""
    work, timeline = view.work, view.timeline
    ends = f"{work.sending_rank[message]} → {work.receiving_rank[message]}"
    start_s, end_s = float(timeline.start_s[message]), float(timeline.end_s[message])
    phase = f", phase {work.phase_of[message]}" if work.phases > 1 else ""
    size = format_size(int(work.bytes[message]))
    return f"{ends}: {size}, {format_time(start_s)} to {format_time(end_s)}{phase}"


def _draw_image(axes: style.Axes, view: TimelineView, factor: float) -> None:
    """Draw what leaves each rank; grey where it only waits, white where nothing is under way."""
    from matplotlib.colors import ListedColormap
    from matplotlib.ticker import PercentFormatter

    share, waits, caption = view.leaving()
    block = block_of(len(share), MAX_ROWS)
    first = np.arange(0, len(share), block)
    mean = np.add.reduceat(share, first, axis=0) / np.diff([*first.tolist(), len(share)])[:, None]
    waits = np.add.reduceat(waits, first, axis=0)
    extent = (0, (view.timeline.time_s or 1.0) / factor, len(share) - 0.5, -0.5)
    how: Any = {"aspect": "auto", "interpolation": "nearest", "extent": extent}
    grey = np.where(waits > 0.02, 1.0, np.nan)
    axes.imshow(grey, cmap=ListedColormap([WAITING]), zorder=1, **how)
    flows = np.where(mean > 0.002 * max(mean.max(initial=0.0), 1e-30), mean, np.nan)
    image = axes.imshow(flows, cmap=style.amount_map(), vmin=0, zorder=1.5, **how)
    rows = f", {block} ranks a row" if block > 1 else ""
    axes.set_title(f"bytes that leave each rank{rows}")
    bar = style.colour_bar(axes, image, caption, pad=0.01, aspect=34, fraction=0.04)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _rank_ticks(axes, len(share))


def _rank_ticks(axes: style.Axes, ranks: int) -> None:
    if ranks <= 16:
        axes.set_yticks(range(ranks))
    else:
        style.whole_ticks(axes.yaxis, 9, style.RANK_STEPS)


def marked_phases(view: TimelineView) -> tuple[list[int], str]:
    """Return (phases whose ends are marked, what the marks are); of many every k-th."""
    phases = int(view.timeline.phase_end_s.size)
    if view.work.phases < 2 or phases < 2:
        return [], ""
    every = -(-phases // MAX_PHASES)
    what = "ends of phases" if every == 1 else f"ends of phases, one in {every}"
    return list(range(every - 1, phases, every)), f"upright lines: {what}"


def _mark_phases(panels: Sequence[style.Axes], view: TimelineView, factor: float) -> bool:
    """Draw a line at the end of a phase, its number above; return whether there are numbers."""
    end_s = view.timeline.phase_end_s
    phases = [phase for phase in marked_phases(view)[0] if np.isfinite(end_s[phase])]
    for axes in panels:
        for end in np.unique(end_s[phases]).tolist():
            axes.axvline(end / factor, color=style.QUIET, linewidth=0.5, alpha=0.7, zorder=4)
    whole_s, last = view.timeline.time_s or 1.0, -np.inf
    top = panels[0].get_xaxis_transform()
    for phase in phases:
        place = float(end_s[phase])
        half_s = DIGIT_ROOM * (1 + len(str(phase))) / 2 * whole_s
        if place - half_s >= last:
            last = place + half_s
            panels[0].text(
                place / factor,
                1.005,
                str(phase),
                transform=top,
                ha="center",
                va="bottom",
                size=7.6,
                color=style.QUIET,
            )
    return bool(phases)


def _under_way_panel(view: TimelineView, factor: float) -> Panel:
    """Return messages by what they do, one above the other."""
    lines, total = [], np.zeros(BINS)
    for depth, what in enumerate(dict.fromkeys(part.what for part in view.parts)):
        alike = [part for part in view.parts if part.what == what]
        total = total + sum(under_way(p.begin_s, p.end_s, view.edges_s)[0] for p in alike)
        look = {"color": alike[0].colour or style.ACCENT, "zorder": 2 - 0.1 * depth}
        lines.append(Line(what, view.edges_s / factor, total, "steps", look=look))
    limits, ticks = (0, max(float(total.max(initial=0)), 1e-9) * 1.08), style.count_ticks
    title, up = "messages under way", "messages"
    return Panel(title, "", up, lines, y_limits=limits, legend="above", y_ticks=ticks)


def _usage_panels(view: TimelineView, usage: Usage, factor: float) -> list[Panel]:
    """Return the shares that links use, and what the busiest of them has carried.

    Beside that is a line on which it never idles.
    """
    what, edges = "links" if usage.of_links else "ports", usage.edges_s / factor
    pale, strong = style.colour_map()((0.72, 0.36))
    shares = [
        Line("the one used most", edges, usage.largest, "steps", look={"color": pale}),
        Line("mean of all", edges, usage.mean, "steps", look={"color": strong}),
    ]
    top = max(1.0, float(usage.largest.max(initial=0)))
    title = f"share of their capacity that {what} use"
    carried = usage.carried / (float(usage.carried[-1]) or 1.0)
    own, dashed = {"color": style.ACCENT, "linewidth": 1.8}, {"linestyle": (0, (5, 2))}
    area = np.zeros(carried.size), carried
    busiest = [
        Line("carried", edges, carried, "curve", look=own, span=area, filled=True),
        Line("never idle", (0, usage.work_s / factor), (0, 1), "bound", look=dashed),
    ]
    carries = f"carried by {view.describe_busiest()}"
    return [
        Panel(title, "", "", shares, y_limits=(0, top * 1.04), legend="above", y_ticks=SHARES),
        Panel(carries, "", "", busiest, y_limits=(0, 1.06), legend="framed", y_ticks=SHARES),
    ]
