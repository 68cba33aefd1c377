"""Network layout: where the nodes of a network stand in a drawing, how links bend, what is written.

Positions are a formula of the topology, so always the same. Boxes stand on their coordinates,
rings and crossbars on a circle, small hypercubes in projection, larger ones on a grid in Gray order
(neighbours are near), graphs where distances on paper follow distances in links (stress
majorization: Gansner, Koren, North 2004, doi 10.1007/978-3-540-31843-9_25).

Graphs of families are drawn by a plan of what their topology contains (`family`, `level`,
`group`): trees stand in levels with pods as bands, dragonflies by groups on a circle, rails as
hosts × rails with tracks, slim flies as two blocks of columns, HyperX and express meshes on their
coordinates, planes with a lane each; what has places is drawn on its map.

A drawing of thousands of nodes shows none of them. Above `ENDPOINTS` endpoints only switches are
drawn, with how many endpoints hang on each; above `SWITCHES` of these a part of the network (a
pod, a group) becomes one node, and the links between two parts one line. The caption says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np

from conset.base import Array, Bools, Floats, Ints, count_of
from conset.machine import Topology, find_family, is_tree

ENDPOINTS = 150
"""Most endpoints that are drawn one by one."""
SWITCHES = 420
"""Most switches that are drawn one by one."""
MAPPED = 1500
"""Most nodes of a map that are pushed apart where they coincide."""
_CUBE = np.array([(1.0, 0.0), (0.0, 1.0), (0.42, 0.30), (2.15, 0.62)])
"""Steps on paper for the bits of a small hypercube; the fourth makes two cubes of it."""
GRAPH_LIMIT = 800
"""Largest graph whose layout is computed (memory grows with the square).

Larger ones stand on a circle.
"""


def positions(topology: Topology) -> Floats:
    """shape=(nodes, 2): the place of each node; neighbours stand about 1 apart, y grows upwards.

    Of a graph whose plan joins its nodes to parts, the places of these.
    """
    if topology.kind == "hypercube":
        return _hypercube(topology.dimensions)
    if topology.kind == "graph":
        return plan_of(topology).place
    if topology.kind in ("ring", "crossbar") or (topology.wraps and len(topology.sides) == 1):
        return _circle(topology.nodes)
    return _box(topology)


def _circle(nodes: int, step: float = 1.0, least: float = 0.5) -> Floats:
    """Places `step` apart on a circle whose radius is at least `least`, clockwise from the top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(nodes) / nodes
    return max(nodes * step / (2 * np.pi), least) * _towards(angle)


def _towards(angle: Array) -> Floats:
    """shape=(angles, 2): steps of length 1."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _box(topology: Topology) -> Floats:
    at = topology.coordinates.astype(np.float64)
    sides = topology.sides
    if len(sides) == 1:
        return np.stack([at[:, 0], np.zeros(len(at))], axis=1)
    if len(sides) == 3:
        depth = at[:, 0]
        x, y = _depth_step(sides[0])
        return np.stack([at[:, 2] + x * depth, y * depth - at[:, 1]], axis=1)
    return _grid(at, sides, 0.8)


def _grid(at: Floats, sides: tuple[int, ...], gap: float) -> Floats:
    """Planes of planes: dimensions go to x and y in turn, outer ones in wider steps."""
    place = np.zeros((len(at), 2))
    step = [1.0, 1.0]
    for k in reversed(range(len(sides))):
        axis = (len(sides) - 1 - k) % 2
        place[:, axis] += step[axis] * at[:, k]
        step[axis] *= sides[k] + gap
    return place * (1, -1)


def _depth_step(layers: int) -> tuple[float, float]:
    """The step between layers that keeps nodes farthest from other layers' nodes and lines."""
    step = np.arange(0.22, 0.52, 0.01)
    x, y = (grid.ravel() for grid in np.meshgrid(step, step, indexing="ij"))
    layer = np.arange(1, max(layers, 2))[:, None]
    off_x, off_y = (np.abs(layer * s - np.round(layer * s)) for s in (x, y))
    free = np.minimum(np.hypot(off_x, off_y), 2.5 * np.minimum(off_x, off_y)).min(axis=0)
    best = int(np.argmax(np.round(free, 6)))
    return float(x[best]), float(y[best])


def _hypercube(bits: int) -> Floats:
    node = np.arange(1 << bits)
    if bits <= len(_CUBE):
        return ((node[:, None] >> np.arange(bits)) & 1) @ _CUBE[:bits]
    low = ceil(bits / 2)
    row, column = node >> low, node & ((1 << low) - 1)
    return np.stack([_gray_place(column), -_gray_place(row)], axis=1).astype(np.float64)


def _gray_place(code: Ints) -> Ints:
    """The position of `code` in the Gray sequence, so that many neighbours differ in one place."""
    place = code.copy()
    shift = 1
    while shift < 64:
        place ^= place >> shift
        shift *= 2
    return place


def _graph_plan(topology: Topology, hide: bool) -> Plan:
    """Plan of a graph without a family: in levels where it is a tree, else by distances."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    nodes, ends = topology.nodes, topology.ends
    if nodes <= 2 or nodes > GRAPH_LIMIT:
        return _straight(topology, _circle(nodes))
    graph = coo_array((np.ones(ends[0].size), ends), shape=(nodes, nodes)).tocsr()
    far = shortest_path(graph, directed=False, unweighted=True)
    level: Floats = far[: topology.endpoints].min(axis=0)
    if 2 <= level.max() < np.inf and (level[ends[0]] != level[ends[1]]).all():
        plan = _tree_plan(replace(topology, level=level.astype(np.int32)), hide)
        numbers = tuple(str(node) for node in range(nodes))
        return replace(plan, topology=topology, text=numbers, notes=())
    far = np.where(np.isfinite(far), far, far[np.isfinite(far)].max() + 1)
    place = separated(_majorized(far), 0.6)
    # lying along its longer axis: pictures are wider than high
    place = place - place.mean(axis=0)
    return _straight(topology, _upright(place @ np.linalg.eigh(place.T @ place)[1][:, ::-1]))


def separated(place: Floats, least: float, sweeps: int = 80) -> Floats:
    """Pairs nearer than `least` pushed apart, as far as so many sweeps do it.

    Twins otherwise lie on each other.

    Memory and time of a sweep grow with the square of the nodes.
    """
    for _ in range(sweeps):
        step = place[:, None, :] - place[None, :, :]
        apart = np.hypot(step[..., 0], step[..., 1])
        np.fill_diagonal(apart, least)
        if apart.min() >= 0.98 * least:
            break
        push = np.where(apart < least, (least - apart) / 4, 0) / np.maximum(apart, 1e-6)
        place = place + (push[..., None] * step).sum(axis=1)
    return place


def _upright(place: Floats) -> Floats:
    """Places mirrored so that the largest entry of each axis is positive: LAPACK chose its sign."""
    return place * np.where(place[np.abs(place).argmax(axis=0), [0, 1]] < 0, -1, 1)


def _majorized(far: Floats, sweeps: int = 120) -> Floats:
    """Classical scaling, then Guttman transforms with weights 1 / distance².

    Near pairs are so kept at their distance first. A small spiral keeps twins (equal distances to
    all) apart.
    """
    from scipy.spatial.distance import cdist

    square = far**2
    inner = square.mean(0) + square.mean(1)[:, None] - square.mean() - square
    value, vector = np.linalg.eigh(inner / 2)
    place = _upright(vector[:, :-3:-1] * np.sqrt(np.maximum(value[:-3:-1], 1e-9)))
    place = place + 0.15 * _towards(np.arange(len(far)) * 2.399963)
    weight = 1 / np.where(far > 0, far, 1) ** 2
    np.fill_diagonal(weight, 0)
    share = 1 / len(far)
    inverse = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + share) - share
    for _ in range(sweeps):
        pull = weight * far / np.maximum(cdist(place, place), 1e-6)
        place = inverse @ (pull.sum(axis=1)[:, None] * place - pull @ place)
    return place


def nearest(place: Floats, among: Floats) -> float:
    """The least distance from a place to a different one of `among`; infinite without one."""
    from scipy.spatial import cKDTree

    apart: Floats = np.asarray(cKDTree(among).query(place, k=2)[0])[:, 1]
    return float(apart[apart > 1e-9].min(initial=np.inf))


# Plans of graphs

_STEPS = np.linspace(0, 1, 17)


@dataclass(frozen=True, eq=False)
class Band:
    """A part of the network: a tinted box or disc behind its nodes, with its name.

    Attributes:
        low: lower left corner, shape=(2).
        high: upper right corner, shape=(2).
        name: written below, or above where `above`.
        round: whether a disc.
        above: whether the name is above.
    """

    low: Floats
    high: Floats
    name: str = ""
    round: bool = False
    above: bool = False


@dataclass(frozen=True)
class Note:
    """A text beside the drawing."""

    x: float
    y: float
    text: str
    align: str = "right"


@dataclass(frozen=True, eq=False)
class Plan:
    """How a graph is drawn.

    Attributes:
        topology: whose; of parts where the network is too large for its nodes.
        place: shape=(nodes, 2): neighbours stand about 1 apart, y grows upwards.
        shown: shape=(nodes): which are drawn.
        text: what is written into each node.
        lines: shape=(links, points, 2): the middle of each link from its source to its target.
        drawn: shape=(links): which links are drawn; both ends must be.
        far: shape=(links): links between parts, which stand out: a dragonfly's global ones.
        count: shape=(links): links that a line represents.
        bands: behind the nodes.
        notes: beside the rows.
        caption: what the picture leaves out or joins; empty where it shows every node.
        part: shape=(nodes of the network): the node of `topology` that each is part of; None:
            itself.
        network: the network itself, where `topology` is made of its parts.
        size: shape=(nodes): half the side of each node.
    """

    topology: Topology
    place: Floats
    shown: Bools
    text: tuple[str, ...]
    lines: Floats
    drawn: Bools
    far: Bools
    count: Ints
    bands: tuple[Band, ...] = ()
    notes: tuple[Note, ...] = ()
    caption: str = ""
    part: Ints | None = None
    network: Topology | None = None
    size: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """(left, bottom, right, top) of everything that is drawn.

        Texts of notes are left to the frame.
        """
        points = [self.place[self.shown], *(np.array([band.low, band.high]) for band in self.bands)]
        if self.drawn.any():
            points.append(self.lines[self.drawn].reshape(-1, 2))
        every = np.concatenate(points)
        low, high = every.min(axis=0), every.max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])


@lru_cache(maxsize=4)
def plan_of(topology: Topology) -> Plan:
    """Return the plan of a graph; the last few are kept."""
    if topology.base.kind != "graph":
        return _planes_plan(topology)
    switches = topology.nodes - topology.endpoints
    if switches > SWITCHES and topology.group is not None:
        return _plan_of_parts(topology)
    if switches and topology.endpoints > ENDPOINTS:
        return _without_endpoints(_laid_out(topology, hide=True))
    return _laid_out(topology, hide=False)


def _laid_out(topology: Topology, *, hide: bool) -> Plan:
    plan = "" if topology.family is None else find_family(topology.family.name).plan
    if topology.place is not None:
        return _map_plan(topology)
    if plan == "rings" and topology.group is not None:
        return _dragonfly_plan(topology, hide)
    if plan == "hosts" and topology.group is not None and topology.level is not None:
        return _rails_plan(topology, hide)
    sides = _sides(topology, plan)
    if sides is not None and plan == "blocks" and topology.nodes > topology.endpoints and not hide:
        # two blocks are full enough
        return _without_endpoints(_columns_plan(topology, sides, hide=True, slim=True))
    if sides is not None:
        return _columns_plan(topology, sides, hide, plan == "blocks")
    if is_tree(topology):
        return _tree_plan(topology, hide)
    return _graph_plan(topology, hide)


def _sides(topology: Topology, plan: str) -> tuple[int, ...] | None:
    """The sides of the grid, or of the two, that routers are on; None for others."""
    if topology.family is None or plan not in ("grid", "blocks"):
        return None
    values: Any = topology.family.values
    found: tuple[int, ...] = values["sides"] if plan == "grid" else (2, values["q"], values["q"])
    routers = topology.nodes - topology.endpoints or topology.nodes
    return found if int(np.prod(found)) == routers else None  # none is dead


def _straight(topology: Topology, place: Floats, **more: object) -> Plan:
    lines = np.stack([place[topology.link_source], place[topology.link_target]], axis=1)
    links = topology.links
    plan = Plan(
        topology,
        place,
        np.ones(topology.nodes, bool),
        tuple(str(node) for node in range(topology.nodes)),
        lines,
        np.ones(links, bool),
        np.zeros(links, bool),
        np.asarray(topology.widths(), np.int64),
    )
    return _sized(replace(plan, **more))  # type: ignore[arg-type]


def _sized(plan: Plan) -> Plan:
    """With the size of nodes: a part of the distance to the next one, by kind of node."""
    place = plan.place[plan.shown]
    widest = max(0.7, 0.024 * float(np.ptp(place[:, 0]))) if len(place) else 0.7
    switch = np.arange(plan.topology.nodes) >= plan.topology.endpoints
    size = np.zeros(plan.topology.nodes)
    for kind in (False, True):
        own = plan.shown & (switch == kind)
        if own.any():
            size[own] = min(widest if kind else 0.36, 0.4 * nearest(plan.place[own], place))
    return replace(plan, size=size)


def _bent(plan: Plan, bend: Floats) -> Plan:
    """With links as arcs.

    `bend` is how far the middle of each leaves the straight line, shape=(links, 2).
    """
    start, end = plan.lines[:, :1], plan.lines[:, -1:]
    turn = _STEPS[None, :, None]
    lines = start + turn * (end - start) + 4 * turn * (1 - turn) * bend[:, None, :]
    return replace(plan, lines=lines)


def _without_endpoints(plan: Plan) -> Plan:
    """Switches only, with how many endpoints hang on each in its text."""
    topology = plan.topology
    hosts = _hosts(topology)
    shown = plan.shown & (np.arange(topology.nodes) >= topology.endpoints)
    each = np.unique(hosts[hosts > 0])
    rule = f"{each[0]} at each" if each.size == 1 else f"{each.min()} to {each.max()} at each"
    holders = kind_of(topology, int(np.flatnonzero(hosts)[0]), 2) if each.size else "switches"
    caption = (
        f"{count_of(topology.endpoints, 'endpoint')} not drawn, {rule} of "
        f"{int((hosts > 0).sum())} {holders}"
    )
    drawn = plan.drawn & shown[topology.link_source] & shown[topology.link_target]
    return replace(plan, shown=shown, drawn=drawn, caption=caption)


def _home(topology: Topology) -> Ints:
    """The router of each endpoint, shape=(endpoints); 0 without one."""
    home = np.zeros(topology.endpoints, np.int64)
    first = topology.link_source < topology.endpoints
    home[topology.link_source[first]] = topology.link_target[first]
    return home


def _hosts(topology: Topology) -> Ints:
    """How many endpoints hang on each node, shape=(nodes)."""
    first = topology.link_source < topology.endpoints
    return np.bincount(topology.link_target[first], minlength=topology.nodes)


def kind_of(topology: Topology, node: int, count: int = 1) -> str:
    """What a node is called, without its number: `leaf` of `leaf3`; of several `leaves`."""
    numbered = re.compile(r"([A-Za-z]+)[_-]?\d[\d_.]*")
    name = numbered.fullmatch(topology.labels[node]) if topology.labels else None
    word = name[1] if name else ("switch" if node >= topology.endpoints else "endpoint")
    if count == 1:
        return word
    if word in ("edge", "agg", "core", "tor", "fast", "rail"):
        return f"{word} switches"
    irregular = {"leaf": "leaves", "switch": "switches", "gpu": "GPUs"}
    return irregular.get(word, word if word.endswith("s") else f"{word}s")


def _short(topology: Topology, node: int) -> str:
    """A name for inside a node.

    The label without its leading letters where its number says enough.
    """
    label = topology.labels[node] if topology.labels else str(node)
    return re.sub(r"^[A-Za-z_ -]+(?=\d)", "", label) or label


def _numbers(topology: Topology) -> tuple[str, ...]:
    """Endpoints by their numbers, switches by the last number of their names.

    A band or a row says the others.
    """
    labels = topology.labels or tuple(str(node) for node in range(topology.nodes))
    return tuple(
        str(node) if node < topology.endpoints else re.sub(r".*\D(?=\d)", "", labels[node])
        for node in range(topology.nodes)
    )


def _parts_word(topology: Topology) -> str:
    if topology.family is not None and topology.level is not None:
        return find_family(topology.family.name).group
    return "pod" if is_tree(topology) else "group"


def _tree_plan(topology: Topology, hide: bool) -> Plan:
    """Levels above each other; what belongs to one pod is drawn together."""
    level, source, target = topology.level, topology.link_source, topology.link_target
    assert level is not None  # `is_tree` found it
    group = (
        np.full(topology.nodes, -1) if topology.group is None else topology.group.astype(np.int64)
    )
    place = np.zeros((topology.nodes, 2))
    base = 1 if hide else 0
    up = level[target] > level[source]
    parent = np.full(topology.nodes, topology.nodes)
    np.minimum.at(parent, source[up], target[up])
    members = np.flatnonzero(level == base)
    members = members[
        np.lexsort((members, parent[members] if base == 0 else members * 0, group[members]))
    ]
    step = np.ones(members.size)
    if base == 0:
        step[1:] += 0.7 * (np.diff(parent[members]) != 0)
    step[1:] += 0.8 * (np.diff(group[members]) != 0)
    lines = (
        1 + (members.size > 40) + (members.size > 90) if base == 0 else 1
    )  # endpoints of many stand in zigzag
    place[members, 0] = np.cumsum(np.where(step > 1, step, 1 / lines))
    lift = -0.9 * (np.arange(members.size) % lines)
    width = max(float(np.ptp(place[members, 0])), 3.0)
    top = int(level.max())
    rise = max(1.6, 0.42 * width / max(2, top - base))
    rows = [np.flatnonzero(level == height) for height in range(base, top + 1)]
    for height, row in enumerate(rows, base):
        place[row, 1] = (height - base) * rise
        if height == base:
            place[members, 1] += lift
            continue
        if height == 1:  # each above the middle of its endpoints
            total = np.bincount(target[up], place[source[up], 0], topology.nodes)[row]
            place[row, 0] = total / np.maximum(_hosts(topology)[row], 1)
            continue
        for part in np.unique(group[row]).tolist():
            own = row[group[row] == part]
            under = place[
                members[group[members] == part] if (group[members] == part).any() else members, 0
            ]
            low, high = float(under.min()), float(under.max())
            room = high - low - (0.8 if part >= 0 and base == 0 else 0.0)
            if part < 0:
                room = (
                    np.clip((own.size - 1) * 1.3, 0.5 * room, 0.94 * room)
                    if room > own.size - 1
                    else own.size - 1.0
                )
            share = np.linspace(-0.5, 0.5, own.size) if own.size > 1 else np.zeros(1)
            place[own, 0] = (low + high) / 2 + share * max(float(room), 0.6 * (own.size - 1))
    plan = _straight(topology, place)
    text = tuple(
        _short(topology, node) if node >= topology.endpoints else str(node)
        for node in range(topology.nodes)
    )
    seen = level >= base
    left = float(place[seen, 0].min()) - (1.0 if len(np.unique(group)) > 1 else 0.8)
    notes = [
        Note(left, k * rise, f"{row.size:,} {kind_of(topology, int(row[0]), row.size)}")
        for k, row in enumerate(rows)
    ]
    return replace(
        plan,
        text=text,
        bands=_tree_bands(topology, place, group, seen),
        notes=tuple(notes),
        shown=seen,
    )


def _tree_bands(topology: Topology, place: Floats, group: Ints, seen: Bools) -> tuple[Band, ...]:
    parts, word = [part for part in np.unique(group).tolist() if part >= 0], _parts_word(topology)
    above = max(0.72, 0.028 * float(np.ptp(place[seen, 0])))  # a switch is inside
    bands = []
    for part in parts if len(parts) > 1 else []:
        own = place[(group == part) & seen]
        high = own.max(axis=0) + np.array([0.72, above])
        bands.append(Band(own.min(axis=0) - 0.72, high, f"{word} {part}" if word else ""))
    return tuple(bands)


def _dragonfly_plan(topology: Topology, hide: bool) -> Plan:
    """Groups on a circle, routers of a group on a circle of their own, its nodes around it."""
    assert topology.group is not None
    group, ends = topology.group, topology.endpoints
    groups = int(group.max()) + 1
    home = _home(topology)
    routers = [
        np.flatnonzero((group == g) & (np.arange(topology.nodes) >= ends)) for g in range(groups)
    ]
    most = max(own.size for own in routers)
    hosts = max(int(np.bincount(home).max()), 1)
    inner = max(0.62, most / (2 * np.pi)) if most > 1 else 0.0
    outer = inner if hide else max(inner + 0.72, most * hosts * 0.52 / (2 * np.pi))
    disc = outer + 0.5
    radius = (
        (disc + 0.35) / np.sin(np.pi / groups) if groups > 2 else disc + 0.6 if groups == 2 else 0.0
    )
    place = np.zeros((topology.nodes, 2))
    bands = []
    for g, own in enumerate(routers):
        turn = np.pi / 2 - 2 * np.pi * g / groups
        centre = radius * np.array([np.cos(turn), np.sin(turn)])
        around = turn + np.pi - 2 * np.pi * (np.arange(own.size) + 0.5) / own.size
        place[own] = centre + inner * _towards(around)
        for router, angle in zip(own.tolist(), around.tolist(), strict=True):
            nodes = np.flatnonzero(home == router)
            number = (np.arange(nodes.size) - (nodes.size - 1) / 2) / max(nodes.size, 1)
            place[nodes] = centre + outer * _towards(angle - 2 * np.pi / own.size * number)
        bands.append(Band(centre - disc, centre + disc, f"group {g}", round=True))
    plan = _straight(topology, place)
    source, target = topology.link_source, topology.link_target
    far = group[source] != group[target]
    middle = (place[source] + place[target]) / 2
    bend = np.where(far[:, None], -0.16 * middle, 0.0)
    return replace(_bent(plan, bend), far=far, text=_numbers(topology), bands=tuple(bands))


def _columns_plan(topology: Topology, sides: tuple[int, ...], hide: bool, slim: bool) -> Plan:
    """Routers on their coordinates; links along a line that pass others as arcs.

    Endpoints below their routers.
    """
    ends = topology.endpoints if topology.nodes > topology.endpoints else 0
    at = np.stack(np.unravel_index(np.arange(int(np.prod(sides))), sides), axis=1)
    spot = np.zeros((topology.nodes, 2))
    if slim:
        block = sides[1] + max(2.2, 0.5 * sides[1])
        spot[ends:] = np.stack([at[:, 0] * block + at[:, 1], -1.25 * at[:, 2]], axis=1)
    else:
        spot[ends:] = _grid(at.astype(np.float64), sides, 1.0)
    unit = 1.6 if ends and not hide else 1.25
    spot *= unit
    if ends:
        home = _home(topology)
        hosts = np.bincount(home, minlength=topology.nodes)
        rank = np.arange(ends) - np.searchsorted(home, home) if (np.diff(home) >= 0).all() else 0
        along = (rank - (hosts[home] - 1) / 2) * 0.42
        spot[:ends] = spot[home] + np.stack([along, np.full(ends, -0.52)], axis=1)
    plan = _straight(topology, spot)
    source, target = topology.link_source, topology.link_target
    along = spot[target] - spot[source]
    length = np.hypot(*along.T)
    routers = (source >= ends) & (target >= ends)
    on_line = routers & ((np.abs(along[:, 0]) < 1e-9) | ((np.abs(along[:, 1]) < 1e-9) & (not slim)))
    arc = np.where(
        on_line & (length > 1.3 * unit), np.minimum(0.10 * length + 0.12, 0.62 * unit), 0.0
    )
    vertical = np.abs(along[:, 0]) < 1e-9
    bend = np.stack([np.where(vertical, arc, 0.0), np.where(vertical, 0.0, arc)], axis=1)
    if slim:
        bend[:, 0] *= np.where(spot[source, 0] < spot[:, 0].mean(), -1.0, 1.0)
    text = tuple(
        str(node)
        if node < ends or not ends
        else _short(topology, node).split(".", 1 if slim else 0)[-1]
        for node in range(topology.nodes)
    )
    far = routers & ~on_line
    plan = replace(_bent(plan, bend), text=text, far=far & slim)
    if not slim:
        return plan
    middle = [float(spot[ends:][at[:, 0] == s, 0].mean()) for s in (0, 1)]
    top = float(spot[:, 1].max()) + 1.1
    notes = tuple(
        Note(x, top, f"block {s}: {sides[1]} columns of {sides[2]}", "center")
        for s, x in enumerate(middle)
    )
    return replace(plan, notes=notes)


def _rails_plan(topology: Topology, hide: bool) -> Plan:
    """Hosts as columns with their fast switch below, GPUs of one index as rows.

    Each row's rail switch is at the right.
    """
    assert topology.group is not None
    assert topology.level is not None
    group, level, ends = topology.group, topology.level, topology.endpoints
    hosts = int(group.max()) + 1
    index = np.zeros(topology.nodes, np.int64)
    index[:ends] = np.arange(ends) - np.searchsorted(group[:ends], group[:ends])
    gpus = int(index.max()) + 1
    above = np.bincount(level, minlength=4)[2:] // gpus  # leaf switches of a rail, its spines
    wide, high = 1.9, max(1.15, 0.55 * float(above.max()))
    place = np.zeros((topology.nodes, 2))
    place[:ends] = np.stack([group[:ends] * wide, -index[:ends] * high], axis=1)
    fast = np.flatnonzero(level == 1)
    place[fast] = np.stack([group[fast] * wide, np.full(fast.size, -gpus * high - 0.35)], axis=1)
    right = hosts * wide + 0.3
    for height in range(2, int(level.max()) + 1):
        row = np.flatnonzero(level == height)
        each = row.size // gpus
        rail, number = np.divmod(np.arange(row.size), max(1, each))
        lift = (number - (each - 1) / 2) * min(0.8, 0.95 / max(1, each)) * high
        place[row] = np.stack(
            [np.full(row.size, right + (height - 2) * 2.0), -rail * high - lift], axis=1
        )
    plan = _straight(topology, place)
    lines = np.repeat(plan.lines[:, :1], 4, axis=1)
    for k, (a, b) in enumerate(
        zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
    ):
        low, top = (a, b) if level[a] < level[b] else (b, a)
        path = np.array([place[low], place[low], place[top], place[top]])
        if low < ends and level[top] == 1:  # beside the column, on a track of its own
            path[1:3, 0] = place[low, 0] - 0.34 - 0.3 * (gpus - 1 - index[low]) / gpus
            path[2, 1] = place[top, 1] + 0.0
        elif low < ends:  # above the row
            share = (hosts - 1 - group[low]) / max(1, hosts)
            path[1:3, 1] = place[low, 1] + 0.3 + 0.26 * share
            path[1, 0] = place[low, 0] + 0.12
            path[2, 0] = place[top, 0] - 0.42
        lines[k] = path if low == a else path[::-1]
    foot, head = np.array([-0.86, -gpus * high - 0.95]), np.array([0.52, 0.75])
    places = [np.array([host * wide, 0.0]) for host in range(hosts)]
    bands = [Band(at + foot, at + head, f"host {h}") for h, at in enumerate(places)]
    over = max(0.75, float(place[level >= 2, 1].max()) + 0.6)
    notes = [Note(right, over, "rails" if above[0] == 1 else "leaves", "center")]
    if level.max() > 2:
        notes.append(Note(right + 2.0, over, "spines", "center"))
    far = (level[topology.link_source] >= 2) | (level[topology.link_target] >= 2)
    shown = replace(
        plan, lines=lines, text=_numbers(topology), bands=tuple(bands), notes=tuple(notes), far=far
    )
    size = np.where(np.arange(topology.nodes) < ends, 0.24, 0.3)
    crowded = level >= 2
    if crowded.any():
        size[crowded] = min(0.3, 0.42 * nearest(place[crowded], place[crowded]))
    return replace(shown, size=size)


def _map_plan(topology: Topology) -> Plan:
    """On the map: an equirectangular one at its middle latitude, mean links about 2 long.

    What coincides is parted.
    """
    assert topology.place is not None
    place = topology.place.astype(np.float64)
    if np.abs(place[:, 0]).max() <= 180 and np.abs(place[:, 1]).max() <= 90:
        place = place * (np.cos(np.radians(place[:, 1].mean())), 1.0)
    place = place - place.mean(axis=0)
    length = np.hypot(*(place[topology.link_target] - place[topology.link_source]).T)
    scale = 2.0 / max(float(length.mean()) if length.size else 1.0, 1e-9)
    order = (
        np.arange(topology.nodes) * 2.399963
    )  # a step to different sides, for places that are the same
    place = place * scale + 1e-3 * _towards(order)
    return _straight(topology, separated(place, 0.45, 60) if topology.nodes <= MAPPED else place)


def _planes_plan(topology: Topology) -> Plan:
    """The network once, with a lane for each plane; links that close cycles are bent."""
    base = topology.base
    place = positions(base)
    plan = _straight(topology, place)
    along = place[topology.link_target] - place[topology.link_source]
    bend = np.zeros((topology.links, 2))
    if base.wraps:
        level = np.abs(along[:, 0]) >= np.abs(along[:, 1])
        bend[np.hypot(*along.T) > 1.5] = 0.42
        bend[np.arange(level.size), np.where(level, 0, 1)] = 0
    return _sized(_bent(plan, bend) if bend.any() else plan)


def _plan_of_parts(topology: Topology) -> Plan:
    """Of a network too large for its switches: parts of one group and level as nodes."""
    assert topology.group is not None
    level = (
        np.ones(topology.nodes, np.int64)
        if topology.level is None
        else topology.level.astype(np.int64)
    )
    switch = np.flatnonzero(np.arange(topology.nodes) >= topology.endpoints)
    tree = is_tree(topology)
    height = level if tree else np.minimum(level, 1)
    key = (height * (topology.nodes + 2) + topology.group.astype(np.int64) + 1)[switch]
    keys, inverse = np.unique(key, return_inverse=True)
    part = np.full(topology.nodes, -1, np.int64)
    part[switch] = inverse
    hosts = topology.link_source < topology.endpoints
    part[topology.link_source[hosts]] = part[topology.link_target[hosts]]
    counts = np.bincount(inverse, minlength=keys.size)
    a, b = part[topology.link_source], part[topology.link_target]
    apart = (
        (a != b)
        & (topology.link_source >= topology.endpoints)
        & (topology.link_target >= topology.endpoints)
    )
    pairs, joined = np.unique(a[apart] * keys.size + b[apart], return_counts=True)
    small = Topology(
        "graph",
        (),
        keys.size,
        keys.size,
        pairs // keys.size,
        pairs % keys.size,
    )
    part_level, part_group = keys // (topology.nodes + 2), keys % (topology.nodes + 2) - 1
    place = np.zeros((keys.size, 2))
    notes: list[Note] = []
    if tree:
        width = max(int(np.bincount(part_level).max()) * 1.0, 6.0)
        rise = float(np.clip(0.3 * width / max(1, np.unique(part_level).size - 1), 1.6, 10))
        for height in np.unique(part_level).tolist():
            own = np.flatnonzero(part_level == height)
            place[own, 0] = (np.arange(own.size) + 0.5) * width / own.size
            place[own, 1] = (height - 1) * rise
            name = kind_of(topology, int(switch[np.flatnonzero(inverse == own[0])[0]]), 2)
            each = f"{counts[own[0]]:,} {name}" + (
                f" in each of {own.size} {_parts_word(topology)}s" * (own.size > 1)
            )
            notes.append(
                Note(-0.6, (height - 1) * rise, each.replace(" in each of", "\nin each of"))
            )
    else:
        place = _circle(keys.size, 1.1, 1.5)
    plan = _straight(small, place, count=joined, part=part, network=topology, notes=tuple(notes))
    numbers = [
        str(group) if group >= 0 else f"×{count}"
        for group, count in zip(part_group, counts, strict=True)
    ]
    word = _parts_word(topology) or "leaf"
    named = (
        f"a node is a {word}, its number inside" if (part_group >= 0).any() else "a node is a level"
    )
    held = (
        f"{topology.nodes - topology.endpoints:,} switches and {topology.endpoints:,} endpoints "
        "are not drawn"
    )
    caption = f"{held}; {named}, each line is {_range(joined)} link{'s' * (int(joined.max()) > 1)}"
    middle = np.zeros((small.links, 2)) if tree else -0.1 * plan.lines.mean(axis=1)
    return replace(_bent(plan, middle), text=tuple(numbers), caption=caption)


def _range(counts: Ints) -> str:
    low, high = int(np.min(counts)), int(np.max(counts))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
