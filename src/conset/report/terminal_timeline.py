"""Timeline in the terminal: facts, a row of blocks for each rank over time, and links below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from conset.base.units import count_of, format_size, format_time
from conset.machine.machine import Machine
from conset.models.timeline import Timeline
from conset.report.facts import Fact
from conset.report.outcome import computation_text
from conset.report.terminal import ROWS, fact_lines
from conset.report.timeline_view import TimelineView

Floats = NDArray[np.float64]

_SHADES = " ░▒▓█"
_LEVELS = " ▁▂▃▄▅▆▇█"
_WAITS = "·"
_MARGIN = 12
"""Columns before the blocks: two spaces, a label, two spaces."""
_MOST = 96
"""Most columns of time."""


def timeline_text(view: TimelineView, width: int) -> str:
    """What happened when; at most a screenful."""
    timeline = view.timeline
    title = (
        f"[bold]{format_time(timeline.time_s)}[/] by [bold]{timeline.model}[/], sync "
        f"{timeline.sync}"
    )
    columns = int(np.clip(width - _MARGIN - 2, 24, _MOST))
    lines = [
        title,
        "",
        *fact_lines(timeline_facts(view), width=20),
        "",
        *_rank_lines(view, columns),
    ]
    lines += [*_link_lines(view, columns), _axis(view, columns)]
    return "\n".join(lines)


def timeline_facts(view: TimelineView) -> list[Fact]:
    """What was played, where and how; the bound, what was used, who held messages."""
    timeline, work = view.timeline, view.work
    flight = "all" if timeline.in_flight is None else timeline.in_flight
    size = format_size(int(work.bytes.sum()))
    facts = [
        Fact("played", f"{work.name} on {timeline.machine}"),
        Fact("messages", f"{timeline.messages:,}, {size}, in flight {flight}"),
        Fact("mean latency", format_time(timeline.mean_latency_s)),
    ]
    if work.phases > 1:
        first = format_time(float(timeline.phase_end_s[0]))
        facts.append(Fact("phases", f"{work.phases:,}, the first ends at {first}"))
    if view.bound is not None and view.describe_bound():
        facts.append(
            Fact("bound", f"{view.describe_bound().removeprefix('bound ')}: {view.bound[1]}")
        )
    if view.usage is not None:
        what = "links" if view.usage.of_links else "ports"
        facts.append(
            Fact(f"{what} in use", f"{view.usage.mean.mean():.1%} of their capacity in the mean")
        )
    if view.describe_busiest():
        facts.append(Fact("most work", view.describe_busiest()))
    bottlenecks = view.describe_bottlenecks()
    return [*facts, Fact("bottlenecks", bottlenecks)] if bottlenecks else facts


def _rank_lines(view: TimelineView, columns: int) -> list[str]:
    share, waits, caption = view.leaving()
    ranks = len(share)
    block = max(1, -(-ranks // ROWS))
    scale = float(share.max(initial=0.0)) or 1.0
    lines = [
        f"  [dim]{escape(caption)}: ░ a quarter … █ {scale:.0%}; {_WAITS} {escape(view.waiting)}[/]"
    ]
    for first in range(0, ranks, block):
        last = min(first + block, ranks)
        mean = _in_columns(share[first:last].mean(axis=0), columns) / scale
        bottlenecks = _in_columns(waits[first:last].sum(axis=0), columns) > 0.02
        level = np.ceil(np.clip(mean, 0, 1) * 4 - 0.08).clip(0, 4).astype(int)
        cells = zip(level, bottlenecks, strict=True)
        blocks = "".join(_SHADES[k] if k else _WAITS if waiting else " " for k, waiting in cells)
        label = f"rank {first}" if block == 1 else f"{first}-{last - 1}"
        lines.append(f"  {label:>8}  {blocks.rstrip()}")
    return lines


def _link_lines(view: TimelineView, columns: int) -> list[str]:
    if view.usage is None:
        return []
    what = "links" if view.usage.of_links else "ports"
    lines = ["", f"  [dim]share of their capacity that {what} use: █ all of it[/]"]
    for label, share in (("most", view.usage.largest), ("mean", view.usage.mean)):
        level = (
            np.ceil(np.clip(_in_columns(share, columns), 0, 1) * 8 - 0.02).clip(0, 8).astype(int)
        )
        lines.append(f"  {label:>8}  " + "".join(_LEVELS[k] for k in level).rstrip())
    return lines


def _in_columns(values: Floats, columns: int) -> Floats:
    """shape=(columns): the mean of the bins, each counted by its share of a column."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    places = np.linspace(0, values.size, columns + 1)
    return np.asarray(
        np.diff(np.interp(places, np.arange(values.size + 1), total)) * columns / values.size
    )


def _axis(view: TimelineView, columns: int) -> str:
    """`0`, the bound where it can be told apart from the end, and the end."""
    end = format_time(view.timeline.time_s)
    line = [" "] * columns
    line[0] = "0"
    line[columns - len(end) :] = end
    if view.bound is not None and view.bound[0] and view.timeline.time_s:
        caption = f"| bound {format_time(view.bound[0])}"
        place = min(int(view.bound[0] / view.timeline.time_s * columns), columns - 1)
        if place > 1 and place + len(caption) < columns - len(end) - 1:
            line[place : place + len(caption)] = caption
    return " " * _MARGIN + "".join(line)


def simulation_text(timeline: Timeline, machine: Machine) -> str:
    """What `conset simulate` says.

    The time, the busiest link, bottlenecks, what the simulation took; plain.
    """
    flight = "all" if timeline.in_flight is None else timeline.in_flight
    lines = [
        f"{format_time(timeline.time_s)} on {timeline.machine} by {timeline.model}, sync "
        f"{timeline.sync}, "
        f"in flight {flight}",
        f"  messages     {timeline.messages:,}, mean latency "
        f"{format_time(timeline.mean_latency_s)}",
    ]
    phases = timeline.phase_end_s.size
    if phases > 1:
        last_s = float(timeline.phase_end_s[-1] - timeline.phase_end_s[-2])
        lines.append(
            f"  phases       {phases:,}, removing phase {phases - 1} saves {format_time(last_s)}"
        )
    if timeline.link_bytes.size and timeline.link_bytes.any():
        link = int(timeline.link_bytes.argmax())
        lines.append(
            f"  busiest      {machine.topology.link_name(link)}: "
            f"{format_size(int(timeline.link_bytes[link]))}, "
            f"busy {timeline.link_busy_s[link] / timeline.time_s:.0%} of the time"
        )
    if "with_computation_s" in timeline.figures:
        lines.append(f"  {computation_text(timeline.figures)}")
    bottlenecks = TimelineView(timeline, machine).describe_bottlenecks()
    if bottlenecks:
        lines.append(f"  bottlenecks  {bottlenecks}")
    lines.append(
        f"  took         {format_time(timeline.elapsed_s)} for {count_of(timeline.events, 'event')}"
    )
    return "\n".join(lines)
