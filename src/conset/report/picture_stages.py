"""Picture of a program that forwards.

One message's way through the stages, and what travels with it.

A panel for each stage shows the ranks where their nodes are, every bundle of the stage in pale, and
the bundle that carries the message; ranks whose messages are in this bundle, and ranks they are
for, are coloured. At the right: how many messages a rank sends, directly and in stages, with the
least that so many stages allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import UsageError
from conset.base.units import count_of, format_size
from conset.bounds.stages import bound_reach
from conset.machine.network.planes import planes_of
from conset.machine.network.topology import Topology
from conset.report import style
from conset.report.layout import Positions, positions
from conset.report.network_drawing import LABELLED, inches_per_unit, label_size, node_radius
from conset.report.network_plan import plan_of
from conset.schedule.paths import Paths
from conset.schedule.program import Program

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FROM, TO = "#a5c5e3", "#fbd3b6"
"""Ranks whose messages are in the bundle; ranks that they are for."""
PALE = 600
"""Most bundles of a stage that are drawn."""
COLUMNS = 4
"""Most panels side by side."""
NAMED = 4
"""Most messages of a bundle that are written out."""
BULGE = 0.46
"""Most that an arc leaves the straight line: less than half the way to the next rank."""
PANEL_IN, TITLE_IN, CAPTION_IN, COUNTS_IN, HEAD_IN = 3.4, 0.32, 0.78, 2.5, 0.85
"""Sizes of a figure [inch].

Sides of a panel, heights of its title and caption, width of the counts, height of the headline.
"""


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
    parts: NDArray[np.int32]
    size_B: int  # noqa: N815


def require_paths(program: Program) -> Paths:
    """The paths of a program; raises UsageError for one whose stages have messages of their own."""
    if program.paths is None:
        raise UsageError(
            "a program of building blocks forwards nothing: there is no way of a message to draw"
        )
    return program.paths


def pick_message(program: Program) -> int:
    """The message with the longest path: most ways, then the longest on paper, then the first.

    Raises:
        UsageError: nothing is forwarded, or there is no message.
    """
    paths = require_paths(program)
    if not paths.parts:
        raise UsageError("a pattern without messages: there is no way to draw")
    place, at = rank_places(program), paths.positions
    ways = (at[:, 1:] != at[:, :-1]).sum(axis=1)
    longest = np.flatnonzero(ways == ways.max())
    step = np.diff(place[at[longest]], axis=1)
    return int(paths.message_of[longest[int(np.round(np.hypot(*step.T).sum(axis=0), 6).argmax())]])


def moves_of(paths: Paths, message: int) -> tuple[Move, ...]:
    """What every stage does with a message; of a message in parts the one with most ways.

    Raises:
        UsageError: there is no such message.
    """
    if not 0 <= message < paths.pattern.messages:
        rule = f"must be from 0 to {paths.pattern.messages - 1}"
        raise UsageError(f"message = {message}: {rule}", options=["message"])
    own = np.flatnonzero(paths.message_of == message)
    part = own[int((paths.positions[own, 1:] != paths.positions[own, :-1]).sum(axis=1).argmax())]
    found = []
    for stage in range(paths.stages):
        here, there = (int(rank) for rank in paths.positions[part, stage : stage + 2])
        bundles = paths.bundles(stage)
        inside, size = np.zeros(0, np.int32), 0
        if here != there:
            b = int(bundles.bundle_of[np.flatnonzero(bundles.parts == part)[0]])
            inside, size = (
                bundles.parts[bundles.offsets[b] : bundles.offsets[b + 1]],
                int(bundles.pattern.size[b]),
            )
        found.append(Move(stage, here, there, inside, size))
    return tuple(found)


IN_A_ROW = 8
"""Most ranks at the foot of a tree that stand in a row; more stand on a grid."""


def rank_places(program: Program) -> Positions:
    """shape=(ranks, 2): ranks where their nodes are drawn.

    On a grid where they share nodes, or of large networks.
    """
    topology, placement = program.machine.topology, program.schedules[0].placement
    ranks = program.ranks
    nodes = np.arange(ranks) if placement is None else placement.astype(np.int64)
    if topology.nodes <= LABELLED and np.unique(nodes).size == ranks:
        place = _node_places(topology)[nodes]
        if topology.kind != "graph" or ranks <= IN_A_ROW or np.ptp(place, axis=0).min() > 0:
            return place
    columns = ceil(sqrt(ranks))
    row, column = np.divmod(np.arange(ranks), columns)
    return np.stack([column, -row], axis=1).astype(np.float64)


def _node_places(topology: Topology) -> Positions:
    """Where nodes are drawn.

    Endpoints of planes where their routers stand in one, those of graphs by their plan.
    """
    planes = planes_of(topology)
    if planes is not None:
        return positions(planes.base)
    plan = plan_of(topology) if topology.kind == "graph" else None
    ends = slice(topology.endpoints)
    return (
        plan.place
        if plan is not None and plan.part is None and plan.shown[ends].all()
        else positions(topology)
    )


def picture_message(program: Program, message: int | None = None) -> Figure:
    """One message's way through the stages.

    Args:
        program: one that forwards.
        message: index in its pattern; None: as `pick_message`.

    Raises:
        UsageError: nothing is forwarded, or there is no such message.
    """
    paths = require_paths(program)
    message = pick_message(program) if message is None else message
    moves, place = moves_of(paths, message), rank_places(program)
    columns = min(len(moves), COLUMNS)
    rows = -(-len(moves) // columns)
    extent = np.ptp(place, axis=0) + 1.1
    scale = min(PANEL_IN / extent[0], PANEL_IN / extent[1])
    drawn = float(extent[1] * scale)
    step = max(drawn, 1.5) + TITLE_IN + CAPTION_IN
    width, height = PANEL_IN * columns + COUNTS_IN, HEAD_IN + max(step * rows, 3.6)
    figure = style.new_figure(width, height)
    pattern = paths.pattern
    source, target = int(pattern.source[message]), int(pattern.target[message])
    title = f"The way of message {message}, from rank {source} to rank {target}"
    style.headline(figure, title, _subtitle(program, paths))
    figure.set_layout_engine("none")
    for move in moves:
        row, column = divmod(move.stage, columns)
        left, top = column * PANEL_IN + 0.06, height - HEAD_IN - row * step - TITLE_IN
        axes = figure.add_axes(
            (left / width, (top - drawn) / height, (PANEL_IN - 0.12) / width, drawn / height)
        )
        _draw_stage(axes, paths, move, place, (source, target))
    left, high = PANEL_IN * columns + 0.3, min(3.4, height - HEAD_IN - TITLE_IN - 1.05)
    top = height - HEAD_IN - TITLE_IN
    counts = figure.add_axes(
        (left / width, (top - high) / height, (COUNTS_IN - 0.4) / width, high / height)
    )
    _draw_counts(counts, paths)
    return figure


def _subtitle(program: Program, paths: Paths) -> str:
    pattern = paths.pattern
    sent = sum(paths.bundles(stage).pattern.bytes for stage in range(paths.stages))
    bundles = sum(paths.bundles(stage).bundles for stage in range(paths.stages))
    messages = f"{pattern.name} on {program.machine.name}: {count_of(pattern.messages, 'message')}"
    volume = f"{sent / max(pattern.bytes, 1):.2f} times the bytes"
    return (
        f"{messages} in {count_of(bundles, 'bundle')}, {count_of(paths.stages, 'stage')}, {volume}"
    )


def _draw_stage(
    axes: Axes, paths: Paths, move: Move, place: Positions, ends: tuple[int, int]
) -> None:
    style.plain(axes)
    low, high = place.min(axis=0) - 0.55, place.max(axis=0) + 0.55
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    radius = node_radius(axes, place)
    pattern = paths.bundles(move.stage).pattern
    source, target = pattern.source, pattern.target
    own = source == move.here if move.parts.size else np.zeros(source.size, bool)
    if source.size <= PALE:
        _arcs(axes, place, source[~own], target[~own], style.FAINT, 0.8)
    _arcs(axes, place, source[own], target[own], "#8fb0cb", 1.4)
    held = paths.message_of[move.parts]
    given, wanted = np.unique(paths.pattern.source[held]), np.unique(paths.pattern.target[held])
    _draw_ranks(axes, place, radius, given, wanted, ends)
    if move.parts.size:
        _arrow(axes, place[move.here], place[move.there], radius)
        axes.set_title(f"stage {move.stage}: rank {move.here} to rank {move.there}")
    else:
        axes.set_title(f"stage {move.stage}: stays at rank {move.here}")
    axes.text(
        0.5,
        -0.01,
        _caption(paths, move, pattern.offsets),
        transform=axes.transAxes,
        ha="center",
        va="top",
        size=8.6,
        color=style.INK,
        linespacing=1.45,
    )


def _caption(paths: Paths, move: Move, offsets: NDArray[np.int64]) -> str:
    """What travels together, and how much the rank sends in the stage."""
    count = int(offsets[move.here + 1] - offsets[move.here])
    sends = f"rank {move.here} sends {count_of(count, 'bundle')} in this stage"
    if not move.parts.size:
        return sends
    held = paths.message_of[move.parts]
    pairs = [
        f"{s}→{t}"
        for s, t in zip(paths.pattern.source[held], paths.pattern.target[held], strict=True)
    ]
    more = f", and {len(pairs) - NAMED:,} more" if len(pairs) > NAMED else ""
    what = "messages" if paths.message is None else "parts"
    together = f"{len(pairs):,} {what} in one bundle" if len(pairs) > 1 else "it travels alone"
    return f"{together}, {format_size(move.size_B)}:\n{', '.join(pairs[:NAMED])}{more}\n{sends}"


def _curves(
    place: Positions, source: NDArray[Any], target: NDArray[Any], points: int = 17
) -> NDArray[np.float64]:
    """shape=(bundles, points, 2).

    Arcs to the right of the straight line, so that both directions show.
    """
    turn = np.linspace(0, 1, points)[None, :, None]
    start, end = place[source][:, None, :], place[target][:, None, :]
    along = end - start
    right = np.stack([along[..., 1], -along[..., 0]], axis=-1)
    bulge = np.minimum(0.14, BULGE / np.maximum(np.hypot(*along.transpose(2, 0, 1)), 1e-9))[
        ..., None
    ]
    return np.asarray(start + turn * along + 4 * turn * (1 - turn) * bulge * right)


def _arcs(
    axes: Axes,
    place: Positions,
    source: NDArray[Any],
    target: NDArray[Any],
    colour: str,
    width: float,
) -> None:
    from matplotlib.collections import LineCollection

    if source.size:
        lines: Any = _curves(place, source, target)
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width, zorder=1))


def _arrow(axes: Axes, start: NDArray[np.float64], end: NDArray[np.float64], radius: float) -> None:
    """The bundle of the message, from disc to disc."""
    curve = _curves(np.stack([start, end]), np.array([0]), np.array([1]), 201)[0]
    outside = np.flatnonzero(
        (np.hypot(*(curve - start).T) > radius) & (np.hypot(*(curve - end).T) > radius)
    )
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
    axes.plot(*curve[body].T, color=style.BOUND, linewidth=2.6, zorder=3, solid_capstyle="butt")
    before = int(body[-1]) if body.size else last - 5
    axes.annotate("", curve[last], curve[before], arrowprops=tip, zorder=6)


def _draw_ranks(
    axes: Axes,
    place: Positions,
    radius: float,
    given: NDArray[Any],
    wanted: NDArray[Any],
    ends: tuple[int, int],
) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Wedge

    colours = np.full(len(place), style.PAPER, dtype=object)
    colours[given] = FROM
    colours[wanted] = TO
    edges = np.full(len(place), style.QUIET, dtype=object)
    edges[list(ends)] = style.BOUND
    widths = np.full(len(place), 0.7)
    widths[list(ends)] = 2.0
    discs = [Circle((x, y), radius) for x, y in place]
    axes.add_collection(
        PatchCollection(
            discs,
            facecolors=colours.tolist(),
            edgecolors=edges.tolist(),
            linewidths=widths,
            zorder=4,
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
    size = label_size(axes, radius)
    if size >= 4:
        for rank, (x, y) in enumerate(place):
            axes.text(
                x, y, str(rank), ha="center", va="center", size=size, color=style.INK, zorder=5
            )


def _draw_counts(axes: Axes, paths: Paths) -> None:
    """The most messages that a rank sends: directly, and stage upon stage."""
    from matplotlib.patches import Patch

    direct = int(np.diff(paths.pattern.offsets).max())
    counts = [
        int(np.diff(paths.bundles(stage).pattern.offsets).max()) for stage in range(paths.stages)
    ]
    least = bound_reach(paths.pattern, paths.stages).value
    axes.bar([0], [direct], width=0.62, color=style.QUIET)
    shades = style.amount_map()(np.linspace(0.3, 0.8, max(len(counts), 2)))
    bottom = 0
    top = max(direct, sum(counts), 1)
    for stage, count in enumerate(counts):
        axes.bar(
            [1],
            [count],
            width=0.62,
            bottom=bottom,
            color=shades[stage],
            edgecolor=style.PAPER,
            linewidth=1,
        )
        if count > 0.045 * top:
            axes.text(
                1,
                bottom + count / 2,
                str(count),
                ha="center",
                va="center",
                color=style.ink_on(shades[stage]),
                size=9,
            )
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
    axes.set_xlim(-0.5, 1.95)
    axes.set_ylim(0, 1.1 * top)
    axes.set_title("sends of a rank, at most", size=9.5)
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    handles = [
        Patch(color=FROM, label="whose messages\nare in the bundle"),
        Patch(color=TO, label="for whom"),
    ]
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.09),
        fontsize=8.2,
        handlelength=1.2,
    )
