"""Network drawing: nodes and links of a machine on axes, bare or with the loads of a phase.

Boxes and cubes are drawn on their coordinates, graphs by their plan (`network_layout`). Traffic
drives on the right: the two directions of a link are drawn beside each other, so opposite loads
never hide each other. In a box a link that closes a cycle leaves the drawing as a stub on either
side. In a graph, widths of bare links show rates where these differ; a key below names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from conset.base import Array, Bools, Floats, Ints, count_of, format_rate
from conset.machine import Machine, Topology
from conset.report import style
from conset.report.network_layout import Plan, nearest, plan_of, positions

LABELLED = 300
"""Largest number of nodes whose numbers are written."""
STUB = 0.55
"""Length of the two pieces of a link that closes a cycle."""
LANE_IN = 0.055
"""Distance of a direction's lane from the middle of its link [inch], at most 1/12 of the link."""
HEAD_IN = 0.085
"""Half the length of an arrow head [inch], at most an eighth of a link."""
LINK = style.PALE
SWITCH = style.SLATE
BAND = "#f1f4f8"
BAND_EDGE = "#dde3ea"
NOTE_PT = 8.4
FOOT_PT = 8.4
"""Size of type below a drawing."""
KEYS = 4
"""Most rates that the key names."""
MOST_INSIDE = 9
"""Most letters of a switch's name that stand in its box."""
NAMED = 80
"""Most nodes whose names stand below them."""

Key = tuple[list[Any], list[str]]
"""Lines and the name of each."""


def draw_network(axes: style.Axes, machine: Machine) -> None:
    """Draw the bare network: thin links, arrows only where a link goes one way, numbered nodes."""
    topology = machine.topology
    if topology.kind == "graph":
        _draw_plan(axes, plan_of(topology), machine.costs.link_Bps)
        return
    place = positions(topology)
    frame(axes, topology, place)
    if topology.kind == "crossbar":
        draw_ports(axes, place, "every port\nto every port")
    links = np.flatnonzero(topology.link_exists)
    source, target = (end[links].astype(np.int64) for end in topology.ends)
    one_way = ~np.isin(target * topology.nodes + source, source * topology.nodes + target)
    curves = link_curves(topology, place, links[one_way | (source < target)], lane=0.0)
    style.add_lines(
        axes,
        curves.points,
        gid="conset-links",
        titles=[topology.link_name(int(link)) for link in curves.link],
        colors=style.PALE if curves.link.size < 3000 else "#b8bfc8",
        linewidths=1.3 if topology.nodes <= 256 else 0.7 if topology.nodes <= 1500 else 0.35,
        zorder=1,
    )
    arrows = curves.head & np.isin(curves.link, links[one_way])
    if arrows.any() and topology.nodes <= LABELLED:
        draw_heads(axes, curves.points[arrows], style.QUIET)
    draw_nodes(axes, topology, place)


def draw_loads(
    axes: style.Axes,
    topology: Topology,
    links: Array,
    colours: Floats,
    width_pt: Floats,
    titles: Sequence[str],
) -> None:
    """Draw the network in pale, and `links` on their lanes.

    Args:
        axes: where.
        topology: the network.
        links: of the network; those that a plan does not draw are left out, and of several on one
            line the widest is drawn.
        colours: shape=(links, 4).
        width_pt: shape=(links) [pt].
        titles: what each link carries.
    """
    links = np.asarray(links, np.int64)
    pale: Any = {"colors": style.FAINT, "linewidths": 0.7, "zorder": 1}
    if topology.kind == "graph":
        plan = plan_of(topology)
        _frame_plan(axes, plan)
        once = _once(plan)
        style.add_lines(axes, _lane(plan.lines[once], _lanes(axes, plan)[once]), **pale)
        links, at = _on_plan(plan, links, width_pt)
        thin = 1 if links.size <= 400 else 0.6 if links.size <= 1500 else 0.35
        points = _lane(plan.lines[links], _lanes(axes, plan, 1)[links])
        width_pt, heads = width_pt * thin, np.full(links.size, links.size <= 600)
    else:
        place = positions(topology)
        frame(axes, topology, place)
        every = link_curves(topology, place, np.flatnonzero(topology.link_exists), lane=0.0)
        style.add_lines(axes, every.points, **pale)
        lane = min(0.085, LANE_IN / inches_per_unit(axes))
        curves = link_curves(topology, place, links, lane=lane)
        order = np.argsort(links)
        at = order[np.searchsorted(links[order], curves.link)]
        points, heads = curves.points, curves.head & (topology.nodes <= LABELLED)
    style.add_lines(
        axes,
        points,
        gid="conset-loads",
        titles=[titles[k] for k in at.tolist()],
        colors=colours[at],
        linewidths=width_pt[at],
        zorder=2,
        capstyle="butt",
    )
    if heads.any():
        per_inch = None if topology.kind != "graph" else plan_scale(axes)
        draw_heads(axes, points[heads], colours[at][heads], per_inch)
    if topology.kind == "graph":
        _draw_plan_nodes(axes, plan)
    else:
        draw_nodes(axes, topology, place)


def _discs(
    axes: style.Axes,
    place: Floats,
    radius: Any,
    *,
    square: bool = False,
    titles: Sequence[str] = (),
    **look: Any,
) -> None:
    """Draw nodes, switches as squares; `radius` of all or of each."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, FancyBboxPatch

    if not len(place):
        return
    patches: list[Any] = []
    for (x, y), r in zip(place, np.broadcast_to(radius, len(place)).tolist(), strict=True):
        box = f"round,pad=0,rounding_size={0.3 * r:.6g}"
        rounded = FancyBboxPatch((x - r, y - r), 2 * r, 2 * r, boxstyle=box)
        patches.append(rounded if square else Circle((x, y), r))
    discs = PatchCollection(patches, zorder=4, **look)
    discs.set_rasterized(len(patches) > style.RASTER)
    style.add_collection(axes, discs, "conset-switches" if square else "conset-endpoints", titles)


def draw_heads(
    axes: style.Axes, lines: Floats, colours: Any, per_inch: float | None = None
) -> None:
    """Draw triangles at two thirds of the way along; `per_inch` units of a plan, None: of a box."""
    row = np.arange(len(lines))
    if per_inch is None:
        size, across_share = min(0.13, HEAD_IN / inches_per_unit(axes)), 0.62
        last = lines.shape[1] - 1
        low = min(int(0.66 * last), last - 1)
        step = lines[:, low + 1] - lines[:, low]
        place = lines[:, low] + (0.66 * last - low) * step
    else:
        size, across_share = min(0.13, 0.07 / per_inch), 0.6
        length = np.hypot(*np.diff(lines, axis=1).transpose(2, 0, 1))
        reach, way = np.cumsum(length, axis=1), 0.66 * length.sum(axis=1)
        at = np.minimum((reach < way[:, None]).sum(axis=1), length.shape[1] - 1)
        step = lines[row, at + 1] - lines[row, at]
        share = (way - (reach[row, at] - length[row, at])) / np.maximum(length[row, at], 1e-9)
        place = lines[row, at] + np.clip(share, 0, 1)[:, None] * step
    along = step / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    across = across_share * size * np.stack([along[:, 1], -along[:, 0]], axis=1)
    back = place - 0.6 * size * along
    corners = np.stack([place + size * along, back + across, back - across], axis=1)
    style.add_areas(axes, corners, facecolors=colours, edgecolors="none", zorder=3)


# Boxes and cubes


@dataclass(frozen=True, eq=False)
class Curves:
    """Links as polylines.

    Attributes:
        points: shape=(curves, points, 2).
        link: shape=(curves): the link each belongs to; a link that wraps has two.
        head: shape=(curves): whether an arrow head belongs on it.
    """

    points: Floats
    link: Ints
    head: Bools


def link_curves(topology: Topology, place: Floats, links: Ints, lane: float) -> Curves:
    """Return polylines of `links`, `lane` to the right of the straight line.

    With arcs and stubs where the layout needs them.
    """
    source, target = (end[links].astype(np.int64) for end in topology.ends)
    along = place[target] - place[source]
    length = np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    right = np.stack([along[:, 1], -along[:, 0]], axis=1) / length
    wraps = np.zeros(links.size, bool)
    if topology.wraps and len(topology.sides) > 1:  # a ring on a circle closes by itself
        at = topology.coordinates.astype(int)
        wraps = (np.abs(at[source] - at[target]) > 1).any(axis=1)
    bulge = np.where(wraps, 0.0, _bulge(topology, along))
    turn = np.linspace(0, 1, 13 if bulge.any() else 2)[None, :, None]
    arc = 4 * turn * (1 - turn) * bulge[:, None, None]
    points = place[source][:, None, :] + turn * along[:, None, :] + (lane + arc) * right[:, None, :]
    if not wraps.any():
        return Curves(points, links, np.ones(links.size, bool))
    # two short lines: out of the source, and into the target from beyond
    sides = np.array(topology.sides)[(links[wraps] // 2) % topology.dimensions][:, None]
    step = -along[wraps] / (sides - 1)
    size = np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    beside = lane * np.stack([step[:, 1], -step[:, 0]], axis=1) / size
    reach = step * np.minimum(STUB / size, 0.8)
    starts = np.concatenate([place[source[wraps]] + beside, place[target[wraps]] + beside - reach])
    stubs = starts[:, None, :] + turn * np.concatenate([reach, reach])[:, None, :]
    names = np.concatenate([links[~wraps], links[wraps], links[wraps]])
    heads = np.arange(names.size) < links.size
    return Curves(np.concatenate([points[~wraps], stubs]), names, heads)


def _bulge(topology: Topology, along: Floats) -> Floats:
    """Return how far arcs leave the straight line, to the right: links that pass other nodes.

    Both directions of a link bend to the same side of the paper, below or left, and less than half
    a row.
    """
    if topology.dimensions <= (4 if topology.kind == "hypercube" else 3):
        return np.zeros(len(along))
    length = np.hypot(*along.T)
    right = (along[:, 0] > 0) | ((along[:, 0] == 0) & (along[:, 1] < 0))
    bulge = np.where(right, 1.0, -1.0) * np.minimum(0.12 * length, 0.26 + 0.03 * length)
    return np.where(length > 1.01, bulge, 0.0)


def frame(axes: style.Axes, topology: Topology, place: Floats) -> None:
    """Set the limits, with room for stubs and arcs; sizes given in inches need them first."""
    style.plain(axes)
    margin = 0.45 + (STUB if topology.wraps and len(topology.sides) > 1 else 0.0)
    arcs = 0.25 if topology.dimensions > 4 else 0.0
    low, high = place.min(axis=0) - margin - arcs, place.max(axis=0) + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def draw_nodes(axes: style.Axes, topology: Topology, place: Floats) -> None:
    """Draw endpoints as circles, with numbers where they are readable; here are no switches."""
    radius = node_radius(axes, place)
    _discs(
        axes,
        place,
        radius,
        titles=[topology.node_name(node) for node in range(topology.nodes)],
        linewidths=0.8 if len(place) <= 256 else 0.4,
        facecolors=style.PAPER,
        edgecolors=style.INK,
    )
    if topology.nodes <= LABELLED:
        write_numbers(axes, place, radius)


def write_numbers(axes: style.Axes, place: Floats, radius: float) -> None:
    """Write its number into each disc, where type of a readable size fits."""
    size = min(10.0, 2 * radius * inches_per_unit(axes) * 72 * 0.46)  # fits three digits
    for node, (x, y) in enumerate(place if size >= 4 else ()):
        axes.text(x, y, str(node), ha="center", va="center", size=size, color=style.INK, zorder=5)


def node_radius(axes: style.Axes, place: Floats) -> float:
    """Return the radius of a disc: part of the distance to the next, at most 1/4 inch."""
    largest = min(0.3, 0.24 / inches_per_unit(axes))
    return min(0.34 * nearest(place, place), largest)


def inches_per_unit(axes: style.Axes) -> float:
    """Return the scale of the drawing, from the axes' limits and their size on paper."""
    box, figure = axes.get_position(), axes.get_figure()
    width, height = figure.get_size_inches()  # type: ignore[union-attr]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return float(min(box.width * width / (right - left), box.height * height / (top - bottom)))


def draw_ports(axes: style.Axes, place: Floats, text: str) -> None:
    """Draw a crossbar: every port reaches the middle, which bears `text`."""
    from matplotlib.patches import Circle

    spokes = np.stack([place, 0.55 * place], axis=1)
    style.add_lines(axes, spokes, colors=style.PALE, linewidths=1.1, zorder=1)
    axes.add_patch(
        Circle(
            (0, 0),
            float(np.hypot(*spokes[0, 1])),
            facecolor="#eef1f5",
            edgecolor=style.QUIET,
            linewidth=0.8,
            zorder=2,
        )
    )
    axes.text(0, 0, text, ha="center", va="center", color=style.QUIET, size=10, zorder=3)


# Graphs by their plan


def _draw_plan(axes: style.Axes, plan: Plan, link_Bps: float) -> None:  # noqa: N803
    """Draw the bare network; `link_Bps` is the rate of links without one of their own."""
    from matplotlib.colors import to_rgba

    _frame_plan(axes, plan)
    once = np.flatnonzero(_once(plan))
    thin = 1.25 if once.size <= 300 else 0.8 if once.size <= 1200 else 0.45
    measure, rates = _rates(plan, link_Bps)
    rate, width = rates[once], np.full(once.size, thin)
    key: Key = ([], [])
    if rate.size and rate.max() > rate.min():
        known = np.where(np.isfinite(rate), rate, 4 * rate[np.isfinite(rate)].max())
        width = thin * np.clip(np.sqrt(known / known.min()), 1.0, 2.4)
        key = _key(rate, width, measure)
    far, dense = plan.far[once], once.size > 200
    near_rgba, far_rgba = (
        to_rgba(LINK, 0.72 if dense else 1.0),
        to_rgba(style.ACCENT, 0.42 if dense else 0.75),
    )
    colour = np.where(far[:, None], far_rgba, near_rgba)
    if once.size:
        style.add_lines(
            axes,
            _lane(plan.lines[once], _lanes(axes, plan)[once]),
            gid="conset-links",
            titles=[_link_title(plan, int(link), link_Bps) for link in once],
            colors=colour,
            linewidths=width,
            zorder=1,
        )
    topology = plan.topology
    source, target = (end.astype(np.int64) for end in (topology.link_source, topology.link_target))
    back = target[once] * topology.nodes + source[once]
    one_way = ~np.isin(back, source * topology.nodes + target)
    if one_way.any() and once.size <= 600:
        draw_heads(axes, plan.lines[once][one_way], colour[one_way], plan_scale(axes))
    _draw_plan_nodes(axes, plan)
    draw_foot(axes, [plan.caption], *key)


def draw_foot(
    axes: style.Axes, lines: Sequence[str], handles: Sequence[Any] = (), names: Sequence[str] = ()
) -> None:
    """Write below a drawing what it leaves out and what its lines mean.

    Args:
        axes: of the drawing.
        lines: sentences, wrapped; empty ones are left out.
        handles: lines of the key.
        names: of each.
    """
    letters = max(int(_panel_in(axes)[0] * 72 / (0.56 * FOOT_PT)), 30)
    text = "\n".join(part for line in lines if line for part in wrap(line, letters))
    if not text and not handles:
        return
    legend = axes.legend(
        list(handles),
        list(names),
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        ncols=max(len(names), 1),
        fontsize=FOOT_PT,
        labelcolor=style.QUIET,
        handlelength=2.2,
        columnspacing=1.6,
        borderaxespad=0.2,
        title=text or None,
        title_fontproperties={"size": FOOT_PT},
        alignment="left",
    )
    legend.get_title().set_color(style.QUIET)


def plan_extent(plan: Plan) -> tuple[float, float]:
    """Return (width, height) of a plan in its own units, with room for the names of rows."""
    left, bottom, right, top = plan.bounds
    return right - left + 1.2, top - bottom + 1.4


def _frame_plan(axes: style.Axes, plan: Plan) -> None:
    """Set the limits, with room for the names of rows and bands, in inches; draw the bands."""
    from matplotlib.patches import Circle, FancyBboxPatch

    style.plain(axes)
    left, bottom, right, top = plan.bounds
    beside = [note for note in plan.notes if note.align == "right"]
    letters = [len(line) for note in beside for line in note.text.split("\n")]
    room = max(letters, default=0) * 0.6 * NOTE_PT / 72
    inches, high = _panel_in(axes)
    left = min([left, *(note.x for note in beside)])
    outside = any(band.round for band in plan.bands)
    # units of the drawing to an inch, as far as the panel lets it grow
    across = (right - left) / max(inches - room - 0.6, 1.0)
    unit = max(across, (top - bottom) / max(high - 0.9, 1.0))
    below = 0.34 if any(band.name and not band.above for band in plan.bands) else 0.2
    over = 0.34 if outside or any(band.above for band in plan.bands) else 0.2
    highest = max([top, *(note.y + 0.1 * unit for note in plan.notes)])
    lowest = min([bottom, *(note.y - 0.1 * unit for note in plan.notes)])
    side = 0.75 if outside else 0.3
    axes.set(
        xlim=(left - (room + side) * unit, right + side * unit),
        ylim=(lowest - (0.12 + below) * unit, highest + (0.1 + over) * unit),
    )
    look: dict[str, Any] = {
        "facecolor": BAND,
        "edgecolor": BAND_EDGE,
        "linewidth": 0.8,
        "zorder": 0,
    }
    for band in plan.bands:
        size, middle = np.subtract(band.high, band.low), np.add(band.high, band.low) / 2
        if band.round:
            axes.add_patch(Circle((middle[0], middle[1]), size[0] / 2, **look))
        else:
            corner = "round,pad=0,rounding_size=0.25"
            low = band.low[0], band.low[1]
            axes.add_patch(FancyBboxPatch(low, size[0], size[1], boxstyle=corner, **look))


def _panel_in(axes: style.Axes) -> tuple[float, float]:
    """Return (width, height) that a panel will have in a figure not arranged yet [inch]."""
    figure: Any = axes.get_figure()
    spec: Any = axes.get_subplotspec()
    width, height = (float(size) for size in figure.get_size_inches())
    if spec is None:
        return width, height
    grid = spec.get_gridspec()
    columns, rows = grid.get_width_ratios(), grid.get_height_ratios()
    shares = []
    for ratios, count, span in (
        (columns, grid.ncols, spec.colspan),
        (rows, grid.nrows, spec.rowspan),
    ):
        every = ratios or [1] * count
        shares.append(sum(every[span.start : span.stop]) / sum(every))
    return 0.96 * shares[0] * width, shares[1] * (height - 0.9)


def plan_scale(axes: style.Axes) -> float:
    """Return the inches that a unit of the drawing will take on paper."""
    width, height = _panel_in(axes)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return min(width / (right - left), height / (top - bottom))


def _once(plan: Plan) -> Bools:
    """Return which links are drawn, one of every two that go to and fro; shape=(links)."""
    source, target = plan.topology.link_source, plan.topology.link_target
    nodes = plan.topology.nodes
    forth, back = source.astype(np.int64) * nodes + target, target.astype(np.int64) * nodes + source
    return np.asarray(plan.drawn & ((source < target) | ~np.isin(back, forth)))


def _link_title(plan: Plan, link: int, link_Bps: float) -> str:  # noqa: N803
    topology = plan.topology
    if plan.part is not None:
        return f"{plan.count[link]} links"
    rates, width = topology.link_rate_Bps, int(topology.widths()[link])
    rate = link_Bps if rates is None else float(rates[link])
    wires = f"{width} x " if width > 1 else ""
    beside = f", {width} side by side" if width > 1 else ""
    named = f", {wires}{format_rate(rate)}" if np.isfinite(rate) else beside
    return f"{topology.link_name(link)}{named}"


def _rates(plan: Plan, link_Bps: float) -> tuple[str, Floats]:  # noqa: N803
    """Return (what distinguishes links, how much of it each has); infinite: no limit.

    `links` of parts, `rate` of whole links, all their width, or `wires` without a rate.
    """
    if plan.part is not None:
        return "links", plan.count.astype(np.float64)
    widths, own = plan.topology.widths().astype(np.float64), plan.topology.link_rate_Bps
    rate = np.full(plan.topology.links, link_Bps) if own is None else own
    finite = np.isfinite(link_Bps if own is None else own).any()
    return ("rate", rate * widths) if finite else ("wires", widths)


def _key(rate: Floats, width: Floats, measure: str) -> Key:
    """Return lines and names of a few widths from the least to the largest."""
    from matplotlib.lines import Line2D

    values, first = np.unique(rate, return_index=True)
    if values.size > KEYS:
        pick = np.unique(np.linspace(0, values.size - 1, KEYS).round().astype(int))
        values, first = values[pick], first[pick]
    handles = [Line2D([], [], color=LINK, linewidth=float(width[k])) for k in first]
    if measure != "rate":
        return handles, [count_of(int(value), measure.removesuffix("s")) for value in values]
    return handles, [format_rate(float(v)) if np.isfinite(v) else "no limit" for v in values]


def _lanes(axes: style.Axes, plan: Plan, first: int = 0) -> Array:
    """Return how far the links of a plan are moved; each of those that lead the same way further.

    Args:
        axes: where.
        plan: the drawing.
        first: the lane of the first.
    """
    ends = plan.topology.link_source, plan.topology.link_target
    new, every = np.diff(ends, prepend=-1).any(axis=0), np.arange(plan.topology.link_slots)
    number = every - np.maximum.accumulate(np.where(new, every, 0))
    return np.asarray(min(0.085, 0.05 / plan_scale(axes)) * (first + number))


def _lane(lines: Floats, lane: Array) -> Floats:
    """Return polylines moved so far to the right of their direction each."""
    along = np.gradient(lines, axis=1)
    length = np.maximum(np.hypot(along[..., 0], along[..., 1]), 1e-9)[..., None]
    return lines + lane[:, None, None] * np.stack([along[..., 1], -along[..., 0]], axis=-1) / length


def _on_plan(plan: Plan, links: Ints, width: Floats) -> tuple[Ints, Ints]:
    """Return (links of the plan, positions in `links`): of several on one line the widest."""
    if plan.part is None or plan.network is None:
        order = np.flatnonzero(plan.drawn[links])
        return links[order], order
    network, nodes = plan.network, plan.topology.nodes
    key = plan.part[network.link_source[links]] * nodes + plan.part[network.link_target[links]]
    lines = plan.topology.link_source.astype(np.int64) * nodes + plan.topology.link_target
    at = np.minimum(np.searchsorted(lines, key), max(0, lines.size - 1))
    order = np.flatnonzero((links >= 0) & (lines[at] == key)) if lines.size else at[:0]
    order = order[np.lexsort((-width[order], at[order]))]
    _, first = np.unique(at[order], return_index=True)
    return at[order[first]], order[first]


def _draw_plan_nodes(axes: style.Axes, plan: Plan) -> None:
    """Draw nodes with their texts, and the names of nodes, rows and bands."""
    topology, per_inch = plan.topology, plan_scale(axes)
    own = np.flatnonzero(plan.shown)
    switch = own >= topology.endpoints if plan.part is None else np.ones(own.size, bool)
    radius = np.minimum(plan.size, 0.24 / per_inch)
    for square in (False, True):
        nodes = own[switch == square].tolist()
        titled = [topology.node_name(node) for node in nodes] if plan.part is None else ()
        fill, edge = (SWITCH, SWITCH) if square else (style.PAPER, style.INK)
        _discs(
            axes,
            plan.place[nodes],
            radius[nodes],
            square=square,
            titles=titled,
            linewidths=0.8 if own.size <= 256 else 0.4,
            facecolors=fill,
            edgecolors=edge,
        )
        if nodes:
            _write_texts(
                axes, plan, nodes, (2 * radius[nodes] * per_inch * 72).tolist(), square=square
            )
    _write_names(axes, plan, min(0.24 / per_inch, float(plan.size.max(initial=0))))
    quiet: Any = {"color": style.QUIET, "va": "center"}
    for note in plan.notes:
        axes.text(note.x, note.y, note.text, ha=note.align, size=NOTE_PT, linespacing=1.25, **quiet)
    for band in plan.bands:
        (x, y), wide = np.add(band.low, band.high) / 2, band.high[0] - band.low[0]
        size = min(8.4, wide * per_inch * 72 / (0.62 * max(len(band.name), 1)))
        if band.name and band.round:
            reach = np.hypot(x, y)
            out = (1 + (wide / 2 + 0.55) / reach) if reach > 1e-9 else 1.0
            align = "center" if abs(x) < 0.35 * reach else "left" if x > 0 else "right"
            axes.text(x * out, y * out, band.name, ha=align, size=8, **quiet)
        elif band.name and size >= 4:
            at, va = (band.high[1] + 0.2, "bottom") if band.above else (band.low[1] - 0.18, "top")
            axes.text(x, at, band.name, ha="center", va=va, size=size, color=style.QUIET)


def _write_texts(
    axes: style.Axes, plan: Plan, nodes: Sequence[int], rooms_pt: Sequence[float], *, square: bool
) -> None:
    """Write into nodes their texts, into switches their names where all fit."""

    def fitting(texts: Sequence[str]) -> float:
        """Return the size of type [pt] in which every text fits into its room."""
        pairs = zip(texts, rooms_pt, strict=True)
        return min(min(9.5, room / max(0.62 * len(text) + 0.35, 1.5)) for text, room in pairs)

    topology = plan.topology
    written = [plan.text[node] for node in nodes]
    if square and plan.part is None and topology.labels and not plan.caption:
        names = [topology.labels[node] for node in nodes]
        if max(map(len, names)) <= MOST_INSIDE and fitting(names) >= 6:
            written = names  # all of them, or none
    size = fitting(written)
    for node, text in zip(nodes, written if size >= 3.6 else [], strict=False):
        axes.text(
            plan.place[node, 0],
            plan.place[node, 1],
            text,
            size=size,
            color=style.PAPER if square else style.INK,
            ha="center",
            va="center_baseline",
            zorder=5,
        )


def _write_names(axes: style.Axes, plan: Plan, radius: float) -> None:
    """Write the names of nodes below them where they are the file's own."""
    topology = plan.topology
    if (
        not topology.labels
        or (topology.family is not None and topology.level is not None)
        or plan.bands
        or plan.notes
        or plan.shown.sum() > NAMED
    ):
        return
    behind = {"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    for node in np.flatnonzero(plan.shown).tolist():
        name, (x, y) = topology.labels[node], plan.place[node]
        if node < topology.endpoints or len(name) > MOST_INSIDE:  # others stand in their boxes
            axes.text(
                x,
                y - 1.35 * radius,
                name if len(name) <= 18 else name[:17] + "…",
                bbox=behind,
                ha="center",
                va="top",
                size=7.2,
                color=style.QUIET,
                zorder=3.5,
            )
