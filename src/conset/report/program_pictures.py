"""Pictures of programs: of blocks over time, and of one message's way through stages.

Blocks: above, time goes to the right and every phase of every block has a row; a phase is filled
in the colour of its context, so equal colours need no switch between them. A switch is a line
through all rows, in the colours of its parts where they are wide enough. Below, the parts of every
switch, to a scale of their own: phases may take far longer.

Stages: a panel for each stage shows the ranks where their nodes are, every bundle of the stage in
pale, and the bundle that carries the message; ranks whose messages are in this bundle, and ranks
they are for, are coloured. At the right: how many messages a rank sends, directly and in stages,
with the least that so many stages allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt
from typing import Any

import numpy as np

from conset.base import Array, Floats, Ints32, UsageError, count_of, format_size, format_time
from conset.bounds.stages import bound_reach
from conset.models import PARTS, Switching, switching
from conset.report import style
from conset.report.network_drawing import LABELLED, inches_per_unit, node_radius, write_numbers
from conset.report.network_layout import positions
from conset.report.schedule import picture_planes
from conset.report.sections import Draw
from conset.schedule import Paths, Program

COLOURS = {"drain": style.WORK, "synchronization": style.SLATE, "setup": style.AMBER}
NAMES = {"drain": "drain", "synchronization": "synchronization", "setup": "set-up"}
ROWS = 24
"""Rows up to which every phase is named."""
TAKEN = 14
"""Most kinds of switches whose parts are drawn."""
GAP = 0.04
"""Width of repetitions that are left out, over that of all that is drawn."""
LETTERS = 30
"""Most letters of a block's name."""
INK_BARS = 60
"""Most phases into which the numbers of contexts are written."""
FROM, TO = "#a5c5e3", "#fbd3b6"
"""Ranks whose messages are in the bundle; ranks that they are for."""
PALE = 600
"""Most bundles of a stage that are drawn."""
PANELS = 4
"""Most panels side by side."""
NAMED = 4
"""Most messages of a bundle that are written out."""
BULGE = 0.46
"""Most that an arc leaves the straight line: less than half the way to the next rank."""
IN_A_ROW = 8
"""Most ranks at the foot of a tree that stand in a row; more stand on a grid."""
PANEL_IN, TITLE_IN, CAPTION_IN, COUNTS_IN, HEAD_IN = 3.4, 0.32, 0.78, 2.5, 0.85
"""Sides of a panel, heights of title and caption, width of counts, height of headline [inch]."""
CENTRE: Any = {"ha": "center", "va": "center"}


# Blocks


def blocks_drawn(program: Program, over_time: Switching | None = None) -> Draw:
    """The picture of a program of blocks over time; of circuit switches, of their planes."""
    if program.machine.is_circuit:
        return partial(picture_planes, program.whole)
    return partial(picture_blocks, program, over_time or switching(program))


def picture_blocks(program: Program, over_time: Switching) -> style.Figure:
    """Draw phases and switches of a program of blocks over predicted time."""
    rows = [program.schedules[stage.schedule].phases for stage in program.stages]
    kinds = _kinds(program, over_time)
    below = 0.75 + 0.2 * max(1, min(len(kinds), TAKEN))
    above = float(np.clip(0.9 + 0.21 * sum(rows) + 0.1 * len(rows), 1.8, 6.5))
    terms, counted = over_time.prediction.terms, over_time.parts.count
    contexts = count_of(program.figures()["contexts"], "context")
    switches = f"{count_of(counted, 'switch', 'switches')} between {contexts}"
    parts = ", ".join(f"{NAMES[name]} {format_time(terms[name])}" for name in PARTS[1:])
    drain, transfer = format_time(over_time.parts.drain_s), format_time(terms["transfer"])
    figure = style.new_figure(
        10,
        above + below + 0.9,
        f"{count_of(len(program.stages), 'block')} on {program.machine.name}: {switches}",
        f"{format_time(over_time.prediction.time_s)} by formula: {parts}, transfer {transfer} "
        f"(of it drain {drain})",
    )
    axes: Any = figure.subplots(2, 1, height_ratios=(above, below))
    _draw_phases(axes[0], program, over_time, rows)
    _draw_parts(axes[1], kinds)
    return figure


def _draw_phases(axes: style.Axes, program: Program, over_time: Switching, rows: list[int]) -> None:
    scale, left_out = _scale(over_time)
    tops = np.cumsum([0, *rows]) + 0.5 * np.arange(len(rows) + 1)  # half a row between blocks
    bottom = float(tops[-1])
    low = tops[over_time.stage] + over_time.phase
    left, right = scale(over_time.begin_s), scale(over_time.end_s)
    _draw_switches(axes, over_time, scale, bottom - 0.5)
    contexts = over_time.context
    colours = style.spread_colours(1 + int(contexts.max(initial=0)))[contexts]
    end = float(scale(np.array([over_time.prediction.time_s]))[0]) or 1.0
    style.add_areas(
        axes,
        style.boxes(left, right, low + 0.06, low + 0.94),
        gid="conset-phases",
        titles=[
            f"{_phase_name(program, over_time, k)}: context {contexts[k]}, "
            f"{format_time(float(over_time.begin_s[k]))} to "
            f"{format_time(float(over_time.end_s[k]))}"
            for k in range(contexts.size)
        ],
        facecolors=list(colours),
        edgecolors=style.PAPER,
        # between phases of one context
        linewidths=np.where(right - left > 0.008 * end, 0.4, 0.0).tolist(),
        zorder=3,
    )
    written = right - left > 0.018 * end if contexts.size <= INK_BARS else left > right
    for k in np.flatnonzero(written).tolist():
        place, ink = float(left[k] + right[k]) / 2, style.ink_on(colours[k])
        number = str(int(contexts[k]))
        axes.text(place, float(low[k]) + 0.5, number, size=8, color=ink, zorder=6, **CENTRE)
    for k in _apart([middle for _, middle in left_out], 0.02 * end):
        skipped, middle = left_out[k]
        text = f"{skipped.times:,} more, {format_time(skipped.end_s - skipped.begin_s)}"
        axes.text(middle, bottom / 2, text, size=8, color=style.QUIET, rotation=90, **CENTRE)
    axes.set(xlim=(0, end * 1.002), ylim=(bottom - 0.3, -0.2))
    _name_rows(axes, program, rows, tops)
    _time_axis(axes, over_time, scale, bool(left_out))
    axes.set_title("phases over predicted time, coloured by context")


def _scale(over_time: Switching) -> tuple[Any, list[tuple[Any, float]]]:
    """Return (function from times [s] to places, repetitions left out with their middles)."""
    whole_s = over_time.prediction.time_s
    if not over_time.left_out:
        return (lambda times: times), []
    drawn_s = whole_s - sum(each.end_s - each.begin_s for each in over_time.left_out)
    gap_s, cut = GAP * (drawn_s or 1.0), 0.0
    known, places, middles = [0.0], [0.0], []
    for each in over_time.left_out:
        begin = each.begin_s - cut
        cut += each.end_s - each.begin_s - gap_s
        known += [each.begin_s, each.end_s]
        places += [begin, begin + gap_s]
        middles.append((each, begin + gap_s / 2))
    known, places = [*known, whole_s], [*places, whole_s - cut]
    return (lambda times: np.interp(times, known, places)), middles


def _draw_switches(axes: style.Axes, over_time: Switching, scale: Any, height: float) -> None:
    """Draw bands: drain at the end of a phase, synchronization and set-up before the next."""
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
        look: Any = (
            {"alpha": 0.55, "zorder": 4} if name == "drain" else {"alpha": 0.75, "zorder": 2}
        )
        corners = style.boxes(scale(begin), scale(end), -0.1, height + 0.1)
        style.add_areas(axes, corners, facecolors=COLOURS[name], linewidths=0, **look)
    axes.vlines(scale(drained), -0.1, height + 0.1, color=style.QUIET, linewidth=0.5, zorder=1)


def _name_rows(axes: style.Axes, program: Program, rows: list[int], tops: Floats) -> None:
    names = []
    for stage in program.stages:
        repeat = f", {stage.repeat:,} ×{' ⇄' if stage.turns else ''}" if stage.repeat > 1 else ""
        names.append(_short(stage.name) + repeat)
    if sum(rows) > ROWS:
        middles = [float(top) + count / 2 for top, count in zip(tops, rows, strict=False)]
        kept = _apart(middles, float(tops[-1]) / ROWS)
        axes.set_yticks([middles[k] for k in kept], [names[k] for k in kept])
    else:
        every = [(k, phase) for k, count in enumerate(rows) for phase in range(count)]
        labels = [str(phase) if phase else f"{names[k]}  {phase}" for k, phase in every]
        axes.set_yticks([float(tops[k]) + phase + 0.5 for k, phase in every], labels)
    axes.tick_params(axis="y", length=0)
    for top in tops[1:-1].tolist():
        axes.axhline(top - 0.25, color=style.FAINT, linewidth=0.6, zorder=0)


def _apart(places: Sequence[float], least: float) -> list[int]:
    """Return indices of rising places, the first and those `least` beyond the one before."""
    kept: list[int] = []
    for k, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= least:
            kept.append(k)
    return kept


def _time_axis(axes: style.Axes, over_time: Switching, scale: Any, cut: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    whole_s = over_time.prediction.time_s
    factor, unit = style.time_unit(whole_s)
    if cut:
        first = np.flatnonzero(np.diff(over_time.stage, prepend=-1))
        times = np.append(over_time.begin_s[first], whole_s)
        places = scale(times)
        far = places[-1] - places > 0.1 * places[-1]
        far[-1] = True
        kept = np.flatnonzero(far)
        kept = kept[_apart(places[kept].tolist(), 0.1 * float(places[-1]))]
        axes.set_xticks(places[kept], [f"{time / factor:.4g}" for time in times[kept]])
        axes.set_xlabel(f"time [{unit}]; axis cut where repetitions are left out")
        return
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / factor:.6g}")
    steps = MaxNLocator(9).tick_values(0, whole_s / factor)
    axes.set_xticks([step * factor for step in steps if step <= whole_s / factor * 1.001])
    axes.set_xlabel(f"time [{unit}]")


Kind = tuple[str, tuple[float, ...], int]
"""Between which phases, the parts [s], how often, or 1 where repetitions are left out."""


def _kinds(program: Program, over_time: Switching) -> list[Kind]:
    """Return the switches that are kept, equal ones once; the longest first."""
    found: Counter[tuple[str, tuple[float, ...]]] = Counter()
    parts = over_time.drain_s, over_time.synchronization_s, over_time.setup_s
    for k in np.flatnonzero(over_time.switched).tolist():
        ends = (_phase_name(program, over_time, end) for end in (k - 1, k))
        found[" → ".join(ends), tuple(float(part[k]) for part in parts)] += 1
    many = over_time.left_out != ()  # how often is not known of those that are kept
    rows = ((name, times, 1 if many else count) for (name, times), count in found.items())
    return sorted(rows, key=lambda row: -sum(row[1]))


def _phase_name(program: Program, over_time: Switching, k: int) -> str:
    """Return `halo 0`; the start has no phase."""
    if k < 0:
        return "start"
    return f"{_short(program.stages[over_time.stage[k]].name)} {over_time.phase[k]}"


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _draw_parts(axes: style.Axes, kinds: list[Kind]) -> None:
    """Draw a bar for each of the first kinds of switches."""
    most = f", {TAKEN} of {len(kinds):,}" if len(kinds) > TAKEN else ""
    title = f"parts of a switch{most}" if kinds else "no switches"
    kinds = kinds[:TAKEN]
    longest = max((sum(parts) for _, parts, _ in kinds), default=0.0)
    factor, unit = style.time_unit(longest)
    for row, (_, parts, _) in enumerate(kinds):
        begin = 0.0
        for name, value in zip(PARTS, parts, strict=True):
            label = NAMES[name] if row == 0 else None
            axes.barh([row], [value / factor], 0.7, begin, color=COLOURS[name], label=label)
            begin += value / factor
        end = begin + 0.008 * longest / factor
        axes.text(end, row, format_time(sum(parts)), va="center", size=8)
    labels = [f"{name} ({times:,} ×)" if times > 1 else name for name, _, times in kinds]
    axes.set_yticks(range(len(kinds)), labels)
    axes.set(ylim=(len(kinds) - 0.4, -0.6), xlim=(0, 1.12 * longest / factor or 1))
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=f"time [{unit}]", title=title)
    if kinds:
        axes.legend(
            borderaxespad=0, borderpad=0.2, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3
        )


# Stages


@dataclass(frozen=True, eq=False)
class Move:
    """What one stage does with a message.

    Attributes:
        stage: which.
        here, there: ranks before and after.
        parts: what travels in the same bundle, in its order; empty where the message stays.
        size_B: bytes of the bundle.
    """

    stage: int
    here: int
    there: int
    parts: Ints32
    size_B: int  # noqa: N815


def require_paths(program: Program) -> Paths:
    """Return the paths of a program; raise UsageError for one whose stages are separate."""
    if program.paths is None:
        what = "a program of building blocks forwards nothing"
        raise UsageError(f"{what}: there is no way of a message to draw")
    return program.paths


def pick_message(program: Program) -> int:
    """Return the message with the longest path: most ways, then longest on paper, then first.

    Raises:
        UsageError: nothing is forwarded, or there is no message.
    """
    paths = require_paths(program)
    if not paths.parts:
        raise UsageError("a pattern without messages: there is no way to draw")
    place, at = rank_places(program), paths.positions
    ways = (at[:, 1:] != at[:, :-1]).sum(axis=1)
    longest = np.flatnonzero(ways == ways.max())
    lengths = np.round(np.hypot(*np.diff(place[at[longest]], axis=1).T).sum(axis=0), 6)
    return int(paths.message_of[longest[int(lengths.argmax())]])


def moves_of(paths: Paths, message: int) -> tuple[Move, ...]:
    """Return what every stage does with a message; of one in parts, the part with most ways.

    Raises:
        UsageError: there is no such message.
    """
    if not 0 <= message < paths.pattern.messages:
        rule = f"must be from 0 to {paths.pattern.messages - 1}"
        raise UsageError(f"message = {message}: {rule}", options=["message"])
    own = np.flatnonzero(paths.message_of == message)
    at = paths.positions[own]
    part = own[int((at[:, 1:] != at[:, :-1]).sum(axis=1).argmax())]
    found = []
    for stage in range(paths.stages):
        here, there = (int(rank) for rank in paths.positions[part, stage : stage + 2])
        bundles = paths.bundles(stage)
        inside, size = np.zeros(0, np.int32), 0
        if here != there:
            b = int(bundles.bundle_of[np.flatnonzero(bundles.parts == part)[0]])
            inside = bundles.parts[bundles.offsets[b] : bundles.offsets[b + 1]]
            size = int(bundles.pattern.size[b])
        found.append(Move(stage, here, there, inside, size))
    return tuple(found)


def rank_places(program: Program) -> Floats:
    """Return where ranks are drawn, shape=(ranks, 2): at their nodes, or on a grid.

    On a grid where they share nodes, and of large networks.
    """
    topology, placement = program.machine.topology, program.schedules[0].placement
    ranks = program.ranks
    nodes = np.arange(ranks) if placement is None else placement.astype(np.int64)
    if topology.nodes <= LABELLED and np.unique(nodes).size == ranks:
        place = positions(topology)
        flat = topology.kind == "graph" and np.ptp(place[nodes], axis=0).min() == 0
        if not flat or ranks <= IN_A_ROW:
            return place[nodes]
    row, column = np.divmod(np.arange(ranks), ceil(sqrt(ranks)))
    return np.stack([column, -row], axis=1).astype(np.float64)


def picture_message(program: Program, message: int | None = None) -> style.Figure:
    """Draw one message's way through the stages.

    Args:
        program: one that forwards.
        message: index in its pattern; None: as `pick_message`.

    Raises:
        UsageError: nothing is forwarded, or there is no such message.
    """
    paths = require_paths(program)
    message = pick_message(program) if message is None else message
    moves, place, pattern = moves_of(paths, message), rank_places(program), paths.pattern
    columns = min(len(moves), PANELS)
    extent = np.ptp(place, axis=0) + 1.1
    drawn = float(extent[1] * min(PANEL_IN / extent[0], PANEL_IN / extent[1]))
    step = max(drawn, 1.5) + TITLE_IN + CAPTION_IN
    width = PANEL_IN * columns + COUNTS_IN
    height = HEAD_IN + max(step * -(-len(moves) // columns), 3.6)
    bundles = [paths.bundles(stage) for stage in range(paths.stages)]
    ends = int(pattern.source[message]), int(pattern.target[message])
    sent = sum(each.pattern.bytes for each in bundles)
    inside = count_of(sum(each.bundles for each in bundles), "bundle")
    volume = f"{sent / max(pattern.bytes, 1):.2f} times the bytes"
    figure = style.new_figure(
        width,
        height,
        f"The way of message {message}, from rank {ends[0]} to rank {ends[1]}",
        f"{pattern.name} on {program.machine.name}: {count_of(pattern.messages, 'message')} in "
        f"{inside}, {count_of(paths.stages, 'stage')}, {volume}",
    )
    figure.set_layout_engine("none")

    def panel(left: float, top: float, wide: float, high: float) -> style.Axes:
        box = (left / width, (top - high) / height, wide / width, high / height)
        return figure.add_axes(box)

    for move in moves:
        row, column = divmod(move.stage, columns)
        left, top = column * PANEL_IN + 0.06, height - HEAD_IN - row * step - TITLE_IN
        _draw_stage(panel(left, top, PANEL_IN - 0.12, drawn), paths, move, place, ends)
    top = height - HEAD_IN - TITLE_IN
    _draw_counts(panel(PANEL_IN * columns + 0.3, top, COUNTS_IN - 0.4, min(3.4, top - 1.05)), paths)
    return figure


def _draw_stage(
    axes: style.Axes, paths: Paths, move: Move, place: Floats, ends: tuple[int, int]
) -> None:
    style.plain(axes)
    low, high = place.min(axis=0) - 0.55, place.max(axis=0) + 0.55
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    radius, pattern = node_radius(axes, place), paths.bundles(move.stage).pattern
    moves = move.parts.size > 0
    own = (pattern.source == move.here) & moves
    shown = [(~own, style.FAINT, 0.8)] if own.size <= PALE else []
    for which, colour, line in (*shown, (own, "#8fb0cb", 1.4)):
        if which.any():
            arcs = _curves(place, pattern.source[which], pattern.target[which])
            style.add_lines(axes, arcs, colors=colour, linewidths=line, zorder=1)
    held = paths.message_of[move.parts]
    source, target = paths.pattern.source[held], paths.pattern.target[held]
    _draw_ranks(axes, place, radius, np.unique(source), np.unique(target), ends)
    way = f"rank {move.here} to rank {move.there}" if moves else f"stays at rank {move.here}"
    axes.set_title(f"stage {move.stage}: {way}")
    count = int(np.diff(pattern.offsets)[move.here])
    lines = [f"rank {move.here} sends {count_of(count, 'bundle')} in this stage"]
    if moves:
        _arrow(axes, place[move.here], place[move.there], radius)
        pairs = [f"{s}→{t}" for s, t in zip(source, target, strict=True)]
        more = f", and {len(pairs) - NAMED:,} more" if len(pairs) > NAMED else ""
        what = "messages" if paths.message is None else "parts"
        together = f"{len(pairs):,} {what} in one bundle" if len(pairs) > 1 else "it travels alone"
        size = format_size(move.size_B)
        lines = [f"{together}, {size}:", ", ".join(pairs[:NAMED]) + more, *lines]
    axes.text(
        0.5,
        -0.01,
        "\n".join(lines),
        transform=axes.transAxes,
        ha="center",
        va="top",
        size=8.6,
        color=style.INK,
        linespacing=1.45,
    )


def _curves(place: Floats, source: Array, target: Array, points: int = 17) -> Floats:
    """Return arcs to the right of the straight line, shape=(bundles, points, 2)."""
    turn = np.linspace(0, 1, points)[None, :, None]
    start, end = place[source][:, None, :], place[target][:, None, :]
    along = end - start
    right = np.stack([along[..., 1], -along[..., 0]], axis=-1)
    length = np.maximum(np.hypot(*along.transpose(2, 0, 1)), 1e-9)
    bulge = np.minimum(0.14, BULGE / length)[..., None]
    return np.asarray(start + turn * along + 4 * turn * (1 - turn) * bulge * right)


def _arrow(axes: style.Axes, start: Floats, end: Floats, radius: float) -> None:
    """Draw the bundle of the message, from disc to disc."""
    curve = _curves(np.stack([start, end]), np.array([0]), np.array([1]), 201)[0]
    away = [np.hypot(*(curve - place).T) > radius for place in (start, end)]
    outside = np.flatnonzero(away[0] & away[1])
    tip = {
        "arrowstyle": "-|>,head_width=0.3,head_length=0.55",
        "color": style.BOUND,
        "lw": 0,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 14,
    }
    last = int(outside[-1])
    body = outside[np.hypot(*(curve[outside] - curve[last]).T) > 0.08 / inches_per_unit(axes)]
    axes.plot(*curve[body].T, solid_capstyle="butt", color=style.BOUND, linewidth=2.6, zorder=3)
    before = int(body[-1]) if body.size else last - 5
    axes.annotate("", curve[last], curve[before], arrowprops=tip, zorder=6)


def _draw_ranks(
    axes: style.Axes,
    place: Floats,
    radius: float,
    given: Array,
    wanted: Array,
    ends: tuple[int, int],
) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Wedge

    colours, edges = (
        np.full(len(place), each, dtype=object) for each in (style.PAPER, style.QUIET)
    )
    widths = np.full(len(place), 0.7)
    colours[given], colours[wanted] = FROM, TO
    edges[list(ends)], widths[list(ends)] = style.BOUND, 2.0
    axes.add_collection(
        PatchCollection(
            [Circle((x, y), radius) for x, y in place],
            linewidths=widths,
            zorder=4,
            facecolors=colours.tolist(),
            edgecolors=edges.tolist(),
        )
    )
    for rank in np.intersect1d(given, wanted).tolist():
        axes.add_patch(
            Wedge(
                tuple(place[rank]),
                0.93 * radius,
                90,
                270,
                facecolor=FROM,
                edgecolor="none",
                zorder=4.5,
            )
        )
    write_numbers(axes, place, radius)


def _draw_counts(axes: style.Axes, paths: Paths) -> None:
    """Draw the most messages that a rank sends: directly, and stage upon stage."""
    from matplotlib.patches import Patch

    def most(offsets: Array) -> int:
        return int(np.diff(offsets).max())

    direct = most(paths.pattern.offsets)
    counts = [most(paths.bundles(stage).pattern.offsets) for stage in range(paths.stages)]
    least = bound_reach(paths.pattern, paths.stages).value
    axes.bar([0], [direct], width=0.62, color=style.QUIET)
    shades = style.amount_map()(np.linspace(0.3, 0.8, max(len(counts), 2)))
    bottom, top = 0, max(direct, sum(counts), 1)
    for shade, count in zip(shades, counts, strict=False):
        axes.bar(
            [1], [count], bottom=bottom, color=shade, width=0.62, edgecolor=style.PAPER, linewidth=1
        )
        if count > 0.045 * top:
            ink = style.ink_on(shade)
            axes.text(1, bottom + count / 2, str(count), color=ink, size=9, **CENTRE)
        bottom += count
    for x, value in ((0, direct), (1, bottom)):
        axes.text(
            x, value + 0.015 * top, f"{value:,}", ha="center", va="bottom", color=style.INK, size=10
        )
    axes.plot([0.62, 1.38], [least, least], color=style.BOUND, linewidth=1.6)
    axes.text(
        1.42, least, f"least\n{least:,.0f}", color=style.BOUND, size=8.5, va="center", ha="left"
    )
    axes.set_xticks([0, 1], ["direct", count_of(len(counts), "stage")])
    axes.set(xlim=(-0.5, 1.95), ylim=(0, 1.1 * top), yticks=[])
    axes.set_title("sends of a rank, at most", size=9.5)
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    labels = {FROM: "whose messages\nare in the bundle", TO: "for which rank"}
    axes.legend(
        handles=[Patch(color=colour, label=label) for colour, label in labels.items()],
        fontsize=8.2,
        handlelength=1.2,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.09),
    )
