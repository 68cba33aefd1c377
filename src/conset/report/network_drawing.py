"""Network drawing: nodes and links of a machine on axes.

With loads, every direction of a link on its own lane.

Traffic drives on the right: the two directions of a link are drawn beside each other, so opposite
loads never hide each other. A link that closes a cycle leaves the drawing as a stub on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.report import style
from conset.report.layout import positions
from conset.report.network_plan import plan_of
from conset.report.plan_drawing import draw_plan, draw_plan_loads

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELLED = 300
"""Largest number of nodes whose numbers are written."""
RASTER = 6000
"""Above so many lines a vector picture would be larger than its pixels."""
_STUB = 0.55
"""Length of the two pieces of a link that closes a cycle."""
_LANE_IN = 0.055
"""Distance of a lane from the middle of its link, at most a twelfth of the link [inch]."""
_HEAD_IN = 0.085
"""Half the length of an arrow head [inch], at most an eighth of a link."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Links as polylines.

    Attributes:
        points: shape=(curves, points, 2).
        link: shape=(curves): the link each belongs to; a link that wraps has two.
        head: shape=(curves): whether an arrow head belongs on it.
    """

    points: NDArray[np.float64]
    link: NDArray[np.int64]
    head: NDArray[np.bool_]


def draw_network(axes: Axes, machine: Machine) -> None:
    """Links as thin lines, arrows only where a link goes one way, nodes with their numbers."""
    topology = machine.topology
    if topology.kind == "graph":
        draw_plan(axes, plan_of(topology), machine.costs.link_Bps)
        return
    place = positions(topology)
    frame(axes, topology, place)
    if topology.kind == "crossbar":
        draw_ports(axes, place, "every port\nto every port")
    links = np.flatnonzero(topology.link_exists)
    _draw_bare(axes, topology, place, links)
    draw_nodes(axes, topology, place)


def _draw_bare(
    axes: Axes, topology: Topology, place: NDArray[np.float64], links: NDArray[np.int64]
) -> None:
    from matplotlib.collections import LineCollection

    source, target = (end[links].astype(np.int64) for end in topology.ends)
    both = np.isin(target * topology.nodes + source, source * topology.nodes + target)
    shown = np.where(both, source < target, True)
    curves = link_curves(topology, place, links[shown], lane=0.0)
    colour = style.PALE if curves.link.size < 3000 else "#b8bfc8"
    width = 1.3 if topology.nodes <= 256 else 0.7 if topology.nodes <= 1500 else 0.35
    lines = LineCollection(curves.points, colors=colour, linewidths=width, zorder=1)  # type: ignore[arg-type]
    lines.set_rasterized(curves.link.size > RASTER)
    lines.set_gid("conset-links")
    axes.add_collection(lines)
    style.add_titles(axes, "conset-links", [topology.link_name(int(link)) for link in curves.link])
    one_way = np.isin(curves.link, links[~both])
    if one_way.any() and topology.nodes <= LABELLED:
        draw_heads(axes, curves, one_way & curves.head, style.QUIET)


def draw_loads(
    axes: Axes,
    topology: Topology,
    links: NDArray[Any],
    colours: NDArray[np.float64],
    width_pt: NDArray[np.float64],
    titles: Sequence[str],
) -> None:
    """The network in pale, and `links` on their lanes in `colours` and widths [pt].

    Colours have shape=(links, 4).

    `titles` say what each of `links` carries.
    """
    from matplotlib.collections import LineCollection

    if topology.kind == "graph":
        draw_plan_loads(axes, plan_of(topology), links, colours, width_pt, titles)
        return
    place = positions(topology)
    frame(axes, topology, place)
    lane = min(0.085, _LANE_IN / inches_per_unit(axes))
    every = link_curves(topology, place, np.flatnonzero(topology.link_exists), lane=0.0)
    pale = LineCollection(every.points, colors=style.FAINT, linewidths=0.7, zorder=1)  # type: ignore[arg-type]
    pale.set_rasterized(every.link.size > RASTER)
    axes.add_collection(pale)
    links = np.asarray(links, np.int64)
    curves = link_curves(topology, place, links, lane=lane)
    order = np.argsort(links)
    at = order[np.searchsorted(links[order], curves.link)]
    lines = LineCollection(
        curves.points,  # type: ignore[arg-type]
        colors=colours[at],
        linewidths=width_pt[at],
        zorder=2,
        capstyle="butt",
    )
    lines.set_rasterized(curves.link.size > RASTER)
    lines.set_gid("conset-loads")
    axes.add_collection(lines)
    style.add_titles(axes, "conset-loads", [titles[k] for k in at.tolist()])
    if topology.nodes <= LABELLED:
        draw_heads(axes, curves, curves.head, colours[at])
    draw_nodes(axes, topology, place)


def link_curves(
    topology: Topology, place: NDArray[np.float64], links: NDArray[np.int64], lane: float
) -> Curves:
    """Polylines of `links`, `lane` to the right of the straight line.

    Arcs and stubs where the layout needs them.
    """
    source, target = (end[links].astype(np.int64) for end in topology.ends)
    start, end = place[source], place[target]
    along = end - start
    length = np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    right = np.stack([along[:, 1], -along[:, 0]], axis=1) / length
    wraps = _wrapping(topology, links, source, target)
    bulge = np.where(wraps, 0.0, _bulge(topology, along))
    turn = np.linspace(0, 1, 13 if bulge.any() else 2)[None, :, None]
    arc = 4 * turn * (1 - turn) * bulge[:, None, None]
    points = start[:, None, :] + turn * along[:, None, :] + (lane + arc) * right[:, None, :]
    straight = ~wraps
    if not wraps.any():
        return Curves(points, links, np.ones(links.size, bool))
    out, back = _stubs(
        topology, place, links[wraps], source[wraps], target[wraps], lane, points.shape[1]
    )
    heads = np.concatenate(
        [np.ones(straight.sum(), bool), np.ones(len(out), bool), np.zeros(len(back), bool)]
    )
    names = np.concatenate([links[straight], links[wraps], links[wraps]])
    return Curves(np.concatenate([points[straight], out, back]), names, heads)


def _wrapping(
    topology: Topology,
    links: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which links close a cycle of a box drawn on its coordinates.

    A ring on a circle closes by itself.
    """
    if not topology.wraps or len(topology.sides) == 1:
        return np.zeros(links.size, bool)
    apart = np.abs(topology.coordinates[source].astype(int) - topology.coordinates[target])
    return np.asarray((apart > 1).any(axis=1))


def _stubs(
    topology: Topology,
    place: NDArray[np.float64],
    links: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    lane: float,
    points: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two short lines for each link that wraps.

    Out of the source, and into the target from beyond.
    """
    side = np.array([topology.sides[k] for k in (links // 2) % topology.dimensions])[:, None]
    step = (place[source] - place[target]) / (side - 1)
    size = np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    right = lane * np.stack([step[:, 1], -step[:, 0]], axis=1) / size
    reach = step * np.minimum(_STUB / size, 0.8)
    turn = np.linspace(0, 1, points)[None, :, None]
    out = (place[source] + right)[:, None, :] + turn * reach[:, None, :]
    back = (place[target] + right - reach)[:, None, :] + turn * reach[:, None, :]
    return out, back


def _bulge(topology: Topology, along: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far an arc leaves the straight line, to its right.

    Links that pass other nodes on the same line.

    Both directions of a link bend to the same side of the paper, below or left, and less than half
    a row.
    """
    if topology.dimensions <= (4 if topology.kind == "hypercube" else 3):
        return np.zeros(len(along))
    length = np.hypot(*along.T)
    side = np.where((along[:, 0] > 0) | ((along[:, 0] == 0) & (along[:, 1] < 0)), 1.0, -1.0)
    return np.where(length > 1.01, side * np.minimum(0.12 * length, 0.26 + 0.03 * length), 0.0)


def draw_heads(axes: Axes, curves: Curves, which: NDArray[np.bool_], colours: Any) -> None:
    """Triangles at two thirds of the chosen curves, pointing along them."""
    from matplotlib.collections import PolyCollection

    size = min(0.13, _HEAD_IN / inches_per_unit(axes))
    points = curves.points[which]
    if not len(points):
        return
    last = points.shape[1] - 1
    position = 0.66 * last
    low = min(int(position), last - 1)
    step = points[:, low + 1] - points[:, low]
    at = points[:, low] + (position - low) * step
    along = step / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    across = np.stack([along[:, 1], -along[:, 0]], axis=1)
    corners = np.stack(
        [
            at + size * along,
            at - size * 0.6 * along + size * 0.62 * across,
            at - size * 0.6 * along - size * 0.62 * across,
        ],
        axis=1,
    )
    chosen = colours[which] if isinstance(colours, np.ndarray) else colours
    axes.add_collection(PolyCollection(corners, facecolors=chosen, edgecolors="none", zorder=3))  # type: ignore[arg-type]


def frame(axes: Axes, topology: Topology, place: NDArray[np.float64]) -> None:
    """Limits of the drawing, with room for stubs and arcs.

    Sizes given in inches need them first.
    """
    style.plain(axes)
    margin = 0.45 + (_STUB if topology.wraps and len(topology.sides) > 1 else 0.0)
    arcs = 0.25 if topology.dimensions > 4 else 0.0
    low, high = place.min(axis=0), place.max(axis=0)
    axes.set_xlim(low[0] - margin - arcs, high[0] + margin)
    axes.set_ylim(low[1] - margin - arcs, high[1] + margin)


def draw_nodes(axes: Axes, topology: Topology, place: NDArray[np.float64]) -> None:
    """Endpoints as circles, switches as squares; numbers where they are readable."""
    radius = node_radius(axes, place)
    _discs(axes, place[: topology.endpoints], radius, square=False)
    _discs(axes, place[topology.endpoints :], radius, square=True)
    names = [topology.node_name(node) for node in range(topology.nodes)]
    style.add_titles(axes, "conset-endpoints", names[: topology.endpoints])
    style.add_titles(axes, "conset-switches", names[topology.endpoints :])
    if topology.nodes > LABELLED:
        return
    size = label_size(axes, radius)
    if size >= 4:
        for node, (x, y) in enumerate(place):
            dark = node < topology.endpoints
            axes.text(
                x,
                y,
                str(node),
                ha="center",
                va="center",
                size=size,
                color=style.INK if dark else style.PAPER,
                zorder=5,
            )


def node_radius(axes: Axes, place: NDArray[np.float64]) -> float:
    """Radius of a node's disc.

    A part of the distance to its nearest neighbour, at most a quarter of an inch.
    """
    largest = min(0.3, 0.24 / inches_per_unit(axes))
    if len(place) < 2:
        return largest
    if len(place) > 1500:
        return 0.5 * largest
    square = ((place[:, None, :] - place[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    return float(min(0.34 * np.sqrt(square.min()), largest))


def inches_per_unit(axes: Axes) -> float:
    """The scale of the drawing, from the axes' limits and their size on paper."""
    box = axes.get_position()
    width, height = axes.get_figure().get_size_inches()  # type: ignore[union-attr]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return float(min(box.width * width / (right - left), box.height * height / (top - bottom)))


def label_size(axes: Axes, radius: float) -> float:
    """Size of type [pt] that fits three digits into a disc."""
    return float(min(10.0, 2 * radius * inches_per_unit(axes) * 72 * 0.46))


def _discs(axes: Axes, place: NDArray[np.float64], radius: float, *, square: bool) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Rectangle

    if not len(place):
        return
    if square:
        patches: list[Any] = [
            Rectangle((x - radius, y - radius), 2 * radius, 2 * radius) for x, y in place
        ]
    else:
        patches = [Circle((x, y), radius) for x, y in place]
    face = style.QUIET if square else style.PAPER
    discs = PatchCollection(
        patches,
        facecolors=face,
        edgecolors=style.INK,
        linewidths=0.8 if len(place) <= 256 else 0.4,
        zorder=4,
    )
    discs.set_rasterized(len(place) > RASTER)
    discs.set_gid("conset-switches" if square else "conset-endpoints")
    axes.add_collection(discs)


def draw_ports(axes: Axes, place: NDArray[np.float64], text: str) -> None:
    """A crossbar: every port reaches the middle, which bears `text`."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    inner = 0.55 * place
    spokes = np.stack([place, inner], axis=1)
    axes.add_collection(LineCollection(spokes, colors=style.PALE, linewidths=1.1, zorder=1))  # type: ignore[arg-type]
    radius = float(np.hypot(*inner[0]))
    axes.add_patch(
        Circle((0, 0), radius, facecolor="#eef1f5", edgecolor=style.QUIET, linewidth=0.8, zorder=2)
    )
    axes.text(0, 0, text, ha="center", va="center", color=style.QUIET, size=10, zorder=3)
