"""Plan drawing: a graph by its plan on axes, bare or with the loads of a phase on its links.

Widths of bare links say rates where these differ; a key below names them. Traffic drives on the
right, as in all drawings of loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of, format_rate
from conset.report import style
from conset.report.network_plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINK = style.PALE
BAND = "#f1f4f8"
BAND_EDGE = "#dde3ea"
RASTER = 6000
"""Above so many lines a vector picture would be larger than its pixels."""
_LANE_IN = 0.05
_NOTE_PT = 8.4
_KEYS = 4
"""Most rates that the key names."""

Floats = NDArray[np.float64]
_Key = tuple[list[Any], list[str]]
_NO_KEY: _Key = ([], [])


def draw_plan(axes: Axes, plan: Plan, link_Bps: float = np.inf) -> None:  # noqa: N803
    """The bare network.

    `link_Bps` is the machine's rate, which links without one of their own have.
    """
    frame_plan(axes, plan)
    _draw_bands(axes, plan)
    handles, names = _draw_links(axes, plan, link_Bps)
    _draw_nodes(axes, plan)
    _draw_texts(axes, plan)
    draw_foot(axes, [plan.caption], handles, names)


def draw_plan_loads(
    axes: Axes,
    plan: Plan,
    links: NDArray[Any],
    colours: Floats,
    width_pt: Floats,
    titles: Sequence[str],
) -> None:
    """The network in pale, and its own `links` on their lanes in `colours` and widths [pt].

    Links that the plan does not draw are left out; of links that one line stands for, the widest.
    `titles` say what each link carries.
    """
    from matplotlib.collections import LineCollection

    frame_plan(axes, plan)
    _draw_bands(axes, plan)
    pale = _once(plan)
    lines = LineCollection(list(plan.lines[pale]), colors=style.FAINT, linewidths=0.7, zorder=1)
    lines.set_rasterized(bool(pale.sum() > RASTER))
    axes.add_collection(lines)
    links, order = _on_plan(plan, np.asarray(links, np.int64), width_pt)
    colours, width_pt = colours[order], width_pt[order]
    if links.size:
        width_pt = width_pt * (1 if links.size <= 400 else 0.6 if links.size <= 1500 else 0.35)
        per_inch = _scale(axes)
        shifted = _lane(plan.lines[links], min(0.085, _LANE_IN / per_inch))
        loads = LineCollection(
            list(shifted), colors=colours, linewidths=width_pt, zorder=2, capstyle="butt"
        )
        loads.set_rasterized(links.size > RASTER)
        loads.set_gid("conset-loads")
        axes.add_collection(loads)
        style.add_titles(axes, "conset-loads", [titles[k] for k in order.tolist()])
        if links.size <= 600:
            _draw_heads(axes, shifted, colours, per_inch)
    _draw_nodes(axes, plan)
    _draw_texts(axes, plan)


FOOT_PT = 8.4
"""Size of type below a drawing."""


def draw_foot(
    axes: Axes, lines: Sequence[str], handles: Sequence[Any] = (), names: Sequence[str] = ()
) -> None:
    """What a drawing leaves out and what its lines mean, below it.

    Sentences, wrapped, and a key of lines.

    Args:
        axes: of the drawing.
        lines: sentences; empty ones are left out.
        handles: lines of the key.
        names: what each says.
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
    """(width, height) of a plan in its own units, with room for the names of rows."""
    left, bottom, right, top = plan.bounds
    return right - left + 1.2, top - bottom + 1.4


def frame_plan(axes: Axes, plan: Plan) -> None:
    """Limits of the drawing, with room for the names of rows at the left and those of bands.

    Which are in inches.
    """
    style.plain(axes)
    left, bottom, right, top = plan.bounds
    beside = [note for note in plan.notes if note.align == "right"]
    lines = [line for note in beside for line in note.text.split("\n")]
    room = max((len(line) for line in lines), default=0) * 0.6 * _NOTE_PT / 72
    inches, high = _panel_in(axes)
    left = min([left, *(note.x for note in beside)])
    outside = any(band.round for band in plan.bands)
    # units of the drawing to an inch, as far as the panel lets it grow
    unit = max(
        (right - left) / max(inches - room - 0.6, 1.0), (top - bottom) / max(high - 0.9, 1.0)
    )
    below = 0.34 if any(band.name and not band.above for band in plan.bands) else 0.2
    over = 0.34 if outside or any(band.above for band in plan.bands) else 0.2
    highest = max([top, *(note.y + 0.1 * unit for note in plan.notes)])
    lowest = min([bottom, *(note.y - 0.1 * unit for note in plan.notes)])
    side = 0.75 if outside else 0.3
    axes.set_xlim(left - (room + side) * unit, right + side * unit)
    axes.set_ylim(lowest - (0.12 + below) * unit, highest + (0.1 + over) * unit)


def _panel_in(axes: Axes) -> tuple[float, float]:
    """(width, height) that a panel will have.

    Its share of the figure, which is not arranged yet [inch].
    """
    figure: Any = axes.get_figure()
    spec: Any = axes.get_subplotspec()
    width, height = (float(size) for size in figure.get_size_inches())
    if spec is None:
        return width, height
    grid = spec.get_gridspec()
    shares = []
    for ratios, count, span in (
        (grid.get_width_ratios(), grid.ncols, spec.colspan),
        (grid.get_height_ratios(), grid.nrows, spec.rowspan),
    ):
        every = ratios or [1] * count
        shares.append(sum(every[span.start : span.stop]) / sum(every))
    return 0.96 * shares[0] * width, shares[1] * (height - 0.9)


def _scale(axes: Axes) -> float:
    """Inches that a unit of the drawing will take on paper."""
    width, height = _panel_in(axes)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return min(width / (right - left), height / (top - bottom))


def _draw_bands(axes: Axes, plan: Plan) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch

    for band in plan.bands:
        (left, bottom), (right, top) = band.low, band.high
        look: dict[str, Any] = {
            "facecolor": BAND,
            "edgecolor": BAND_EDGE,
            "linewidth": 0.8,
            "zorder": 0,
        }
        if band.round:
            centre = (left + right) / 2, (bottom + top) / 2
            axes.add_patch(Circle(centre, (right - left) / 2, **look))
            continue
        corner = "round,pad=0,rounding_size=0.25"
        axes.add_patch(
            FancyBboxPatch((left, bottom), right - left, top - bottom, boxstyle=corner, **look)
        )


def _once(plan: Plan) -> NDArray[np.bool_]:
    """Links that are drawn, one of every two that go to and fro."""
    source, target = plan.topology.link_source, plan.topology.link_target
    nodes = plan.topology.nodes
    forth, back = source.astype(np.int64) * nodes + target, target.astype(np.int64) * nodes + source
    return np.asarray(plan.drawn & ((source < target) | ~np.isin(back, forth)))


def _draw_links(axes: Axes, plan: Plan, link_Bps: float) -> _Key:  # noqa: N803
    """Draws; the key of widths, where links are not equal."""
    from matplotlib.collections import LineCollection

    once = np.flatnonzero(_once(plan))
    if not once.size:
        return _NO_KEY
    thin = 1.25 if once.size <= 300 else 0.8 if once.size <= 1200 else 0.45
    rate = _rates(plan, link_Bps)[once]
    width, key = np.full(once.size, thin), _NO_KEY
    if rate.size and rate.max() > rate.min():
        known = np.where(np.isfinite(rate), rate, 4 * rate[np.isfinite(rate)].max())
        width = thin * np.clip(np.sqrt(known / known.min()), 1.0, 2.4)
        key = _key(rate, width, _measure(plan, link_Bps))
    dense = once.size > 200
    alpha = np.where(plan.far[once], 0.75 if not dense else 0.42, 1.0 if not dense else 0.72)
    from matplotlib.colors import to_rgba

    colour = np.array([to_rgba(style.ACCENT if far else LINK) for far in plan.far[once]])
    colour[:, 3] = alpha
    lines = LineCollection(list(plan.lines[once]), colors=colour, linewidths=width, zorder=1)
    lines.set_rasterized(once.size > RASTER)
    lines.set_gid("conset-links")
    axes.add_collection(lines)
    one_way = _one_way(plan, once)
    if one_way.any() and once.size <= 600:
        _draw_heads(axes, plan.lines[once][one_way], colour[one_way], _scale(axes))
    style.add_titles(
        axes, "conset-links", [_link_title(plan, int(link), link_Bps) for link in once]
    )
    return key


def _link_title(plan: Plan, link: int, link_Bps: float) -> str:  # noqa: N803
    topology = plan.topology
    if plan.part is not None:
        return f"{plan.count[link]} links"
    rate = link_Bps if topology.link_rate_Bps is None else float(topology.link_rate_Bps[link])
    width = int(topology.widths()[link])
    wires = f"{width} x " if width > 1 else ""
    said = (
        f", {wires}{format_rate(rate)}"
        if np.isfinite(rate)
        else f", {width} side by side"
        if width > 1
        else ""
    )
    return f"{topology.link_name(link)}{said}"


def _one_way(plan: Plan, links: NDArray[Any]) -> NDArray[np.bool_]:
    source, target = (
        end.astype(np.int64) for end in (plan.topology.link_source, plan.topology.link_target)
    )
    nodes = plan.topology.nodes
    return ~np.isin(target[links] * nodes + source[links], source * nodes + target)


def _rates(plan: Plan, link_Bps: float) -> Floats:  # noqa: N803
    """What `_measure` says, of every link; infinite where a link has no limit and others have."""
    measure = _measure(plan, link_Bps)
    if measure == "links":
        return plan.count.astype(np.float64)
    widths = plan.topology.widths().astype(np.float64)
    own = plan.topology.link_rate_Bps
    return (
        widths
        if measure == "wires"
        else (np.full(plan.topology.links, link_Bps) if own is None else own) * widths
    )


def _measure(plan: Plan, link_Bps: float) -> str:  # noqa: N803
    """What tells links apart.

    `links` of parts, `rate` of whole links, all their width, or `wires` without a rate.
    """
    if plan.part is not None:
        return "links"
    own = plan.topology.link_rate_Bps
    return "rate" if np.isfinite(link_Bps if own is None else own).any() else "wires"


def _key(rate: Floats, width: Floats, measure: str) -> _Key:
    """(lines, what each says), of a few widths from the least to the largest."""
    from matplotlib.lines import Line2D

    values, first = np.unique(rate, return_index=True)
    if values.size > _KEYS:
        pick = np.unique(np.linspace(0, values.size - 1, _KEYS).round().astype(int))
        values, first = values[pick], first[pick]
    handles = [Line2D([], [], color=LINK, linewidth=float(width[k])) for k in first]
    if measure != "rate":
        unit = "link" if measure == "links" else "wire"
        return handles, [count_of(int(value), unit) for value in values]
    return handles, [
        format_rate(float(value)) if np.isfinite(value) else "no limit" for value in values
    ]


def _lane(lines: Floats, lane: float) -> Floats:
    """Polylines moved to the right of their direction."""
    along = np.gradient(lines, axis=1)
    length = np.maximum(np.hypot(along[..., 0], along[..., 1]), 1e-9)[..., None]
    right = np.stack([along[..., 1], -along[..., 0]], axis=-1) / length
    moved: Floats = lines + lane * right
    return moved


def _draw_heads(axes: Axes, lines: Floats, colours: Floats, per_inch: float) -> None:
    """Triangles at two thirds of the way along."""
    from matplotlib.collections import PolyCollection

    step = np.hypot(*np.diff(lines, axis=1).transpose(2, 0, 1))
    total = step.sum(axis=1)
    reach = np.cumsum(step, axis=1)
    at = np.minimum((reach < 0.66 * total[:, None]).sum(axis=1), step.shape[1] - 1)
    row = np.arange(len(lines))
    start, end = lines[row, at], lines[row, at + 1]
    length = np.maximum(step[row, at], 1e-9)
    share = (0.66 * total - (reach[row, at] - step[row, at])) / length
    place = start + np.clip(share, 0, 1)[:, None] * (end - start)
    along = (end - start) / length[:, None]
    across = np.stack([along[:, 1], -along[:, 0]], axis=1)
    size = np.minimum(0.13, 0.07 / per_inch)
    corners = np.stack(
        [
            place + size * along,
            place - 0.6 * size * along + 0.6 * size * across,
            place - 0.6 * size * along - 0.6 * size * across,
        ],
        axis=1,
    )
    heads = PolyCollection(list(corners), facecolors=colours, edgecolors="none", zorder=3)
    axes.add_collection(heads)


def _on_plan(
    plan: Plan, links: NDArray[np.int64], width: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(links of the plan, positions in `links`): those that are drawn.

    Of several on one line the widest.
    """
    if plan.part is None:
        order = np.flatnonzero(plan.drawn[links])
        return links[order], order
    network = plan.network
    assert network is not None  # as there are parts
    nodes = plan.topology.nodes
    key = plan.part[network.link_source[links]] * nodes + plan.part[network.link_target[links]]
    lines = plan.topology.link_source.astype(np.int64) * nodes + plan.topology.link_target
    at = np.minimum(np.searchsorted(lines, key), max(0, lines.size - 1))
    order = np.flatnonzero(
        (links >= 0) & (lines[at] == key) if lines.size else np.zeros(links.size, bool)
    )
    order = order[np.lexsort((-width[order], at[order]))]
    _, first = np.unique(at[order], return_index=True)
    return at[order[first]], order[first]


def _draw_nodes(axes: Axes, plan: Plan) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, FancyBboxPatch

    topology = plan.topology
    own = np.flatnonzero(plan.shown)
    switch = own >= topology.endpoints if plan.part is None else np.ones(own.size, bool)
    largest = 0.24 / _scale(axes)
    for squares in (False, True):
        members = own[switch == squares]
        if not members.size:
            continue
        patches: list[Any] = []
        for node in members.tolist():
            x, y = plan.place[node]
            radius = min(plan.size[node], largest)
            if squares:
                box = f"round,pad=0,rounding_size={0.3 * radius:.6g}"
                patches.append(
                    FancyBboxPatch((x - radius, y - radius), 2 * radius, 2 * radius, boxstyle=box)
                )
            else:
                patches.append(Circle((x, y), radius))
        gid = "conset-switches" if squares else "conset-endpoints"
        discs = PatchCollection(
            patches,
            facecolors=SWITCH if squares else style.PAPER,
            edgecolors=style.INK if not squares else SWITCH,
            linewidths=0.8 if own.size <= 256 else 0.4,
            zorder=4,
        )
        discs.set_gid(gid)
        discs.set_rasterized(members.size > RASTER)
        axes.add_collection(discs)
        if plan.part is None:
            style.add_titles(axes, gid, [topology.node_name(node) for node in members.tolist()])


SWITCH = style.SLATE
MOST_INSIDE = 9
"""Most letters of a switch's name that stand in its box."""
NAMED = 80
"""Most nodes whose names stand below them."""


def _draw_names(axes: Axes, plan: Plan, radius: float) -> None:
    """Names of nodes of what is no family: they are the file's own."""
    topology = plan.topology
    if (
        not topology.labels
        or (topology.family is not None and topology.level is not None)
        or plan.bands
        or plan.notes
        or plan.shown.sum() > NAMED
    ):
        return
    for node in np.flatnonzero(plan.shown).tolist():
        if node >= topology.endpoints and len(topology.labels[node]) <= MOST_INSIDE:
            continue  # stands in its box
        x, y = plan.place[node]
        behind = {"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
        name = topology.labels[node]
        axes.text(
            x,
            y - 1.35 * radius,
            name if len(name) <= 18 else name[:17] + "…",
            ha="center",
            va="top",
            size=7.2,
            color=style.QUIET,
            zorder=3.5,
            bbox=behind,
        )


def _type_size(text: str, room_pt: float) -> float:
    """Size of type [pt] in which a text fits into a width [pt]."""
    return float(min(9.5, room_pt / max(0.62 * len(text) + 0.35, 1.5)))


def _fitting(texts: Sequence[str], rooms: Sequence[float]) -> float:
    """The size of type [pt] in which every text fits into its room [pt]."""
    return min(_type_size(text, room) for text, room in zip(texts, rooms, strict=True))


def _draw_texts(axes: Axes, plan: Plan) -> None:
    per_inch = _scale(axes)
    largest = 0.24 / per_inch
    topology = plan.topology
    own = np.flatnonzero(plan.shown)
    room = 2 * np.minimum(plan.size[own], largest) * per_inch * 72
    switch = own >= topology.endpoints if plan.part is None else np.ones(own.size, bool)
    for kind in (False, True):
        chosen = np.flatnonzero(switch == kind)
        if not chosen.size:
            continue
        nodes, rooms = own[chosen].tolist(), room[chosen].tolist()
        written = [plan.text[node] for node in nodes]
        if kind and plan.part is None and topology.labels and not plan.caption:
            names = [topology.labels[node] for node in nodes]
            if max(map(len, names)) <= MOST_INSIDE and _fitting(names, rooms) >= 6:
                written = names  # all of them, or none
        size = _fitting(written, rooms)
        for node, text in zip(nodes, written if size >= 3.6 else [], strict=False):
            x, y = plan.place[node]
            inside = style.PAPER if kind else style.INK
            axes.text(
                x, y, text, ha="center", va="center_baseline", size=size, color=inside, zorder=5
            )
    _draw_names(axes, plan, min(largest, float(plan.size.max(initial=0))))
    for note in plan.notes:
        axes.text(
            note.x,
            note.y,
            note.text,
            ha=note.align,
            va="center",
            size=_NOTE_PT,
            color=style.QUIET,
            linespacing=1.25,
        )
    for band in plan.bands:
        if not band.name:
            continue
        x, y = (band.low[0] + band.high[0]) / 2, (band.low[1] + band.high[1]) / 2
        if band.round:
            reach = np.hypot(x, y)
            out = (1 + ((band.high[0] - band.low[0]) / 2 + 0.55) / reach) if reach > 1e-9 else 1.0
            align = "center" if abs(x) < 0.35 * reach else "left" if x > 0 else "right"
            axes.text(x * out, y * out, band.name, ha=align, va="center", size=8, color=style.QUIET)
            continue
        at, align = (band.high[1] + 0.2, "bottom") if band.above else (band.low[1] - 0.18, "top")
        wide = (band.high[0] - band.low[0]) * per_inch * 72 / (0.62 * len(band.name))
        if min(8.4, wide) >= 4:
            axes.text(
                x, at, band.name, ha="center", va=align, size=min(8.4, wide), color=style.QUIET
            )
