"""Picture of a program of blocks.

Which phase runs when, in which context, and what every switch consists of.

Above, time goes to the right and every phase of every block has a row; a phase is filled in the
colour of its context, so equal colours need no switch between them. A switch is a line through all
rows, in the colours of its parts where they are wide enough. Below, the parts of every switch, to a
scale of their own: phases may take far longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of, format_time
from conset.models.phases_over_time import PARTS, Switching
from conset.report import style
from conset.schedule.program import Program

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"drain": style.WORK, "synchronization": style.SLATE, "setup": style.AMBER}
NAMES = {"drain": "drain", "synchronization": "synchronization", "setup": "set-up"}
ROWS = 24
"""Rows up to which every phase is named."""
TAKEN = 14
"""Most kinds of switches whose parts are drawn."""
GAP = 0.04
"""Width of repetitions that are left out, over that of all that is drawn."""
LETTERS = 30
"""Most of a block's name."""
INK_BARS = 60
"""Most phases into which the numbers of contexts are written."""


def picture_blocks(program: Program, over_time: Switching) -> Figure:
    """Phases and switches of a program of blocks over predicted time, as in `switching`."""
    rows = [program.schedules[stage.schedule].phases for stage in program.stages]
    kinds = _kinds(program, over_time)
    below = 0.75 + 0.2 * max(1, min(len(kinds), TAKEN))
    above = float(np.clip(0.9 + 0.21 * sum(rows) + 0.1 * len(rows), 1.8, 6.5))
    figure = style.new_figure(10, above + below + 0.9)
    style.headline(figure, *_headlines(program, over_time))
    axes: Any = figure.subplots(2, 1, height_ratios=(above, below))
    _draw_phases(axes[0], program, over_time, rows)
    _draw_parts(axes[1], kinds, TAKEN)
    return figure


def _headlines(program: Program, over_time: Switching) -> tuple[str, str]:
    contexts, terms = program.figures()["contexts"], over_time.prediction.terms
    switches = (
        f"{count_of(over_time.parts.count, 'switch', 'switches')} between "
        f"{count_of(contexts, 'context')}"
    )
    title = f"{count_of(len(program.stages), 'block')} on {program.machine.name}: {switches}"
    parts = ", ".join(f"{NAMES[name]} {format_time(terms[name])}" for name in PARTS[1:])
    drain = format_time(over_time.parts.drain_s)
    whole, transfer = format_time(over_time.prediction.time_s), format_time(terms["transfer"])
    return title, f"{whole} by formula: {parts}, transfer {transfer} (of it drain {drain})"


def _draw_phases(axes: Axes, program: Program, over_time: Switching, rows: list[int]) -> None:
    from matplotlib.collections import PolyCollection

    scale, left_out = _scale(over_time)
    tops = np.cumsum([0, *rows]) + 0.5 * np.arange(len(rows) + 1)  # half a row between blocks
    low = tops[over_time.stage] + over_time.phase
    left, right = scale(over_time.begin_s), scale(over_time.end_s)
    _draw_switches(axes, over_time, scale, float(tops[-1]) - 0.5)
    colours = style.spread_colours(1 + int(over_time.context.max(initial=0)))[over_time.context]
    corners = ((left, low + 0.06), (right, low + 0.06), (right, low + 0.94), (left, low + 0.94))
    boxes = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    titles = [
        f"{_phase_name(program, over_time, k)}: context {context}, {format_time(begin_s)} to "
        f"{format_time(end_s)}"
        for k, (context, begin_s, end_s) in enumerate(
            zip(
                over_time.context.tolist(),
                over_time.begin_s.tolist(),
                over_time.end_s.tolist(),
                strict=True,
            )
        )
    ]
    end = float(scale(np.array([over_time.prediction.time_s]))[0]) or 1.0
    edge = np.where(right - left > 0.008 * end, 0.4, 0.0).tolist()  # between phases of one context
    phases = PolyCollection(
        list(boxes), facecolors=list(colours), edgecolors=style.PAPER, linewidths=edge, zorder=3
    )
    phases.set_gid("conset-phases")
    axes.add_collection(phases)
    style.add_titles(axes, "conset-phases", titles)
    if over_time.stage.size <= INK_BARS:
        _write_contexts(axes, over_time, (left, right, low), end, colours)
    for k in _apart([middle for _, middle in left_out], 0.02 * end):
        skipped, middle = left_out[k]
        text = f"{skipped.times:,} more, {format_time(skipped.end_s - skipped.begin_s)}"
        axes.text(
            middle,
            float(tops[-1]) / 2,
            text,
            ha="center",
            va="center",
            size=8,
            color=style.QUIET,
            rotation=90,
        )
    axes.set_xlim(0, end * 1.002)
    axes.set_ylim(float(tops[-1]) - 0.3, -0.2)
    _name_rows(axes, program, rows, tops)
    _time_axis(axes, over_time, scale, bool(left_out))
    axes.set_title("phases over predicted time, coloured by context")


def _scale(over_time: Switching) -> tuple[Any, list[tuple[Any, float]]]:
    """(times [s] to places on the axis, repetitions left out with the middle of their gap)."""
    whole_s = over_time.prediction.time_s
    if not over_time.left_out:
        return (lambda times: times), []
    drawn_s = whole_s - sum(each.end_s - each.begin_s for each in over_time.left_out)
    gap_s = GAP * (drawn_s or 1.0)
    known, places, cut = [0.0], [0.0], 0.0
    middles = []
    for each in over_time.left_out:
        begin = each.begin_s - cut
        cut += each.end_s - each.begin_s - gap_s
        known += [each.begin_s, each.end_s]
        places += [begin, begin + gap_s]
        middles.append((each, begin + gap_s / 2))
    known, places = [*known, whole_s], [*places, whole_s - cut]
    return (lambda times: np.interp(times, known, places)), middles


def _draw_switches(axes: Axes, over_time: Switching, scale: Any, height: float) -> None:
    """Bands through all rows.

    Drain inside the end of a phase, synchronization and set-up before the next.
    """
    from matplotlib.collections import PolyCollection

    at = np.flatnonzero(over_time.switched)
    opened = over_time.begin_s[at]
    synchronized = opened - over_time.setup_s[at]
    drained = synchronized - over_time.synchronization_s[at]
    edges = {
        "drain": (drained - over_time.drain_s[at], drained),
        "synchronization": (drained, synchronized),
        "setup": (synchronized, opened),
    }
    for name, (begin, end) in edges.items():
        left, right = scale(begin), scale(end)
        corners = ((left, -0.1), (right, -0.1), (right, height + 0.1), (left, height + 0.1))
        boxes = np.stack(
            [np.stack(np.broadcast_arrays(*corner), axis=1) for corner in corners], axis=1
        )
        order = 4 if name == "drain" else 2
        alpha = 0.55 if name == "drain" else 0.75
        axes.add_collection(
            PolyCollection(
                list(boxes), facecolors=COLOURS[name], alpha=alpha, linewidths=0, zorder=order
            )
        )
    axes.vlines(scale(drained), -0.1, height + 0.1, color=style.QUIET, linewidth=0.5, zorder=1)


def _write_contexts(
    axes: Axes,
    over_time: Switching,
    boxes: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    end: float,
    colours: NDArray[np.float64],
) -> None:
    """The number of its context in every phase that is wide enough.

    `boxes`: their left, right and lower sides.
    """
    left, right, low = boxes
    for k in np.flatnonzero(right - left > 0.018 * end).tolist():
        axes.text(
            float(left[k] + right[k]) / 2,
            float(low[k]) + 0.5,
            str(int(over_time.context[k])),
            ha="center",
            va="center",
            size=8,
            color=style.ink_on(colours[k]),
            zorder=6,
        )


def _name_rows(axes: Axes, program: Program, rows: list[int], tops: NDArray[np.float64]) -> None:
    names = [
        _short(stage.name)
        + (f", {stage.repeat:,} ×{' ⇄' if stage.turns else ''}" if stage.repeat > 1 else "")
        for stage in program.stages
    ]
    if sum(rows) > ROWS:
        middles = [float(top) + count / 2 for top, count in zip(tops, rows, strict=False)]
        kept = _apart(middles, float(tops[-1]) / ROWS)
        axes.set_yticks([middles[k] for k in kept], [names[k] for k in kept])
    else:
        places, labels = [], []
        for top, count, name in zip(tops.tolist(), rows, names, strict=False):
            for phase in range(count):
                places.append(top + phase + 0.5)
                labels.append(f"{name}  {phase}" if phase == 0 else str(phase))
        axes.set_yticks(places, labels)
    axes.tick_params(axis="y", length=0)
    for top in tops[1:-1].tolist():
        axes.axhline(top - 0.25, color=style.FAINT, linewidth=0.6, zorder=0)


def _apart(places: Sequence[float], least: float) -> list[int]:
    """Indices of rising places, the first among them.

    None is nearer than `least` to the one before.
    """
    kept: list[int] = []
    for k, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= least:
            kept.append(k)
    return kept


def _time_axis(axes: Axes, over_time: Switching, scale: Any, cut: bool) -> None:
    whole_s = over_time.prediction.time_s
    factor, unit = style.time_unit(whole_s)
    if cut:
        first = np.flatnonzero(np.diff(over_time.stage, prepend=-1))
        times = np.append(over_time.begin_s[first], whole_s)
        places = scale(times)
        kept = [
            k
            for k in range(times.size)
            if k == times.size - 1 or places[-1] - places[k] > 0.1 * places[-1]
        ]
        kept = [kept[n] for n in _apart(places[kept].tolist(), 0.1 * float(places[-1]))]
        axes.set_xticks(places[kept], [f"{time / factor:.4g}" for time in times[kept]])
        axes.set_xlabel(f"time [{unit}]; axis cut where repetitions are left out")
        return
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / factor:.6g}")
    from matplotlib.ticker import MaxNLocator

    steps = MaxNLocator(9).tick_values(0, whole_s / factor)
    axes.set_xticks([step * factor for step in steps if step <= whole_s / factor * 1.001])
    axes.set_xlabel(f"time [{unit}]")


Kind = tuple[str, tuple[float, float, float], int]
"""Between which phases, the parts [s], how often, or 1 where repetitions are left out."""


def _kinds(program: Program, over_time: Switching) -> list[Kind]:
    """Switches that are kept, equal ones once; the longest first."""
    found: Counter[tuple[str, tuple[float, float, float]]] = Counter()
    for k in np.flatnonzero(over_time.switched).tolist():
        name = f"{_phase_name(program, over_time, k - 1)} → {_phase_name(program, over_time, k)}"
        parts = (over_time.drain_s[k], over_time.synchronization_s[k], over_time.setup_s[k])
        found[name, (float(parts[0]), float(parts[1]), float(parts[2]))] += 1
    many = over_time.left_out != ()  # how often is not known of those that are kept
    rows = ((name, parts, 1 if many else times) for (name, parts), times in found.items())
    return sorted(rows, key=lambda row: -sum(row[1]))


def _phase_name(program: Program, over_time: Switching, k: int) -> str:
    """`halo 0`; the start has no phase."""
    return (
        "start"
        if k < 0
        else f"{_short(program.stages[over_time.stage[k]].name)} {over_time.phase[k]}"
    )


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _draw_parts(axes: Axes, kinds: list[Kind], most: int) -> None:
    """A bar for each of at most so many kinds of switches."""
    title = f"parts of a switch{f', {most} of {len(kinds):,}' if len(kinds) > most else ''}"
    kinds = kinds[:most]
    longest = max((sum(parts) for _, parts, _ in kinds), default=0.0)
    factor, unit = style.time_unit(longest)
    for row, (_, parts, _) in enumerate(kinds):
        begin = 0.0
        for name, value in zip(PARTS, parts, strict=True):
            axes.barh(
                [row],
                [value / factor],
                0.7,
                begin,
                color=COLOURS[name],
                label=NAMES[name] if row == 0 else None,
            )
            begin += value / factor
        axes.text(
            begin + 0.008 * longest / factor, row, format_time(sum(parts)), va="center", size=8
        )
    axes.set_yticks(
        range(len(kinds)),
        [f"{name} ({times:,} ×)" if times > 1 else name for name, _, times in kinds],
    )
    axes.set_ylim(len(kinds) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * longest / factor or 1)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"time [{unit}]")
    axes.set_title(title if kinds else "no switches")
    if kinds:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0, borderpad=0.2
        )
