"""Routing: which path of links a message takes, by a formula where there is one, else by a table.

Route tables (`route_table`) have explicit paths for some pairs of a graph, the shortest path for
the others.

Equal shortest paths that a routing leaves unused (`unused_paths`): how much fuller its fullest link
gets than it need. `shortest-path` takes the lowest neighbour of those that are equally near, so
that on a network of switches everything may go over one of several. A complete exchange is
considered: every endpoint sends one message to every other. Compared are the largest loads of a
link, per unit of its width: as the rule leads, and where every node spreads what it passes on
evenly over its next links on shortest paths, which is what no rule for single messages beats on
average by much. That costs O(endpoints · links · diameter), in blocks of targets; networks where it
is over `MAX_WORK` are not looked at.

Planes: several copies of a regular network side by side (`Topology.of_planes`).

Bokhari and Nicol (Balancing contention and synchronization on the Intel Paragon, Section 8) speak
of such a machine: the sets of messages that one mesh bears "can be alternately assigned to the two
meshes". Every link is there once in each plane, and a message keeps to one plane, in which it goes
as the network's own rule leads. Which plane:

- the rule `planes`: (source + target) mod planes, by endpoints. It is the plane of messages without
a schedule;
- a plane for each transfer, as a compiler chose it: stored routes
  (`conset.methods.phases.over_planes`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np

from conset.base import (
    Bools,
    Bytes,
    Floats,
    InputError,
    Ints,
    Ints32,
    ValueObject,
    check_offsets,
    check_range,
    count_of,
    frozen_ints,
    unknown_name,
)
from conset.machine.network.topology import Topology, first_parents

Rule = Literal[
    "dimension-order",
    "no-wrap",
    "e-cube",
    "direct",
    "shortest-path",
    "minimal",
    "dmodk",
    "smodk",
    "ecmp",
    "valiant",
    "adaptive",
    "table",
    "forwarding",
    "planes",
]
Tie = Literal["parity", "plus", "checker"]
Knowledge = Literal["known", "hashed", "adaptive"]

RULES: dict[str, tuple[Rule, ...]] = {
    "mesh": ("dimension-order",),
    "torus": ("dimension-order", "no-wrap"),
    "ring": ("dimension-order", "no-wrap"),
    "hypercube": ("e-cube",),
    "crossbar": ("direct",),
    "graph": (
        "shortest-path",
        "minimal",
        "dmodk",
        "smodk",
        "ecmp",
        "valiant",
        "adaptive",
        "table",
        "forwarding",
        "planes",
    ),
}
"""Rules each kind of network knows; the first is its default."""

KNOWLEDGE: dict[Rule, Knowledge] = {"ecmp": "hashed", "valiant": "hashed", "adaptive": "adaptive"}
"""What is known of routes by a rule, where that is not all."""
EQUAL_COST: tuple[Rule, ...] = ("smodk", "ecmp", "valiant", "adaptive")
"""Rules by which nodes choose among next links of equal cost by more than the target."""
HASHED: tuple[Rule, ...] = tuple(
    rule for rule, knowledge in KNOWLEDGE.items() if knowledge == "hashed"
)
"""Rules with a hash, and so a seed."""
TYING: tuple[Rule, ...] = ("dimension-order", "no-wrap", "planes")
"""Rules that may break ties on cycles."""
STORED: tuple[Rule, ...] = ("table", "forwarding", "planes")
"""Rules that come with a network and have no name in a spec."""
MAX_SEED = 2**63 - 1
"""Of a hash."""
WORTH = 1.5
"""From how many times the load of spreading on a rule is reported to leave paths unused."""
MAX_WORK = 2**26
"""Most endpoints · links that are looked at."""
_TARGETS = 64
BETWEEN_GROUPS = 3
"""What a link between groups counts, where most are full meshes; others count 1."""
MAX_LINKS = 2**31 - 1
"""Most links of any network."""
TIES: tuple[Tie, ...] = ("parity", "plus", "checker")


@dataclass(frozen=True, eq=False)
class Routing(ValueObject):
    """The machine's own rule for paths.

    - `dimension-order` (boxes): the last coordinate first; on a cycle the shorter way; a hop of
      exactly half a side n is a tie. `parity`: up where (source coordinate mod n/2) is even, else
      down; `plus`: always up; `checker`: up from nodes whose coordinates add to an odd number (the
      ConSet text's message passing).
    - `no-wrap` (torus, ring): as on a mesh; the links that close the cycles stay idle.
    - `e-cube` (hypercube): differing bits from the least significant up.
    - `direct` (crossbar): no links.
    - `shortest-path` (graph): fewest links; among equals the neighbour with the lowest index, node
      by node; of c parallel links to it number (target mod c).
    - `minimal` (graph): fewest links, where one between two groups counts three if most are full
      meshes (`link_costs`: a route of a dragonfly takes one global link, as its source has it, and
      never two that are shorter); among the c equal next links of a node, by neighbour, number
      (target mod c).
    - `dmodk` (graph with levels, such as a tree): fewest links; of the equal next links of a node
      of level l, those to the lowest level, by neighbour: of these c number (⌊target / s_l⌋ mod c),
      where the stride s_l is the product over the levels k below l of the most neighbours above
      that a node of level k has. On a tree all of them lead up, and no two targets below one leaf
      switch share an uplink of another before all are used.
    - `smodk` (graph with levels, such as a tree): ways as `minimal`; among the c equal next links
      of a node of level l, by neighbour, number (⌊source / s_l⌋ mod c), with the strides of
      `dmodk`: each source keeps its way up.
    - `ecmp` (graph): ways as `minimal`; at every node one wire of all equal next links, by a hash
      of `seed`, source, target and node. A link of width w is w wires.
    - `valiant` (graph): by the same hash to a switch (where there is none, to a node), any of them
      alike, and from there to the target, each leg as `ecmp`.
    - `adaptive` (graph): ways as `minimal`; every node spreads each message over the wires of its
      equal next links, the same part over each.
    - `planes` (graph of several planes): plane (source + target) mod planes, there by its network's
      rule.
    - `table` (graph): stored routes; `table_links[table_offsets[s * endpoints + t] : …]` are the
      links from s to t.
    - `forwarding` (graph): stored next links, as switches have them; switch v sends what is for
      endpoint t on by link `next_link[(v - endpoints) * endpoints + t]`, -1: it has no way.
      Endpoints have one link out, and pass nothing on.

    Attributes:
        rule: one of `RULES[topology.kind]`.
        tie: how a tie on a cycle is broken; ignored where nothing ties.
        table_offsets: `table` only, shape=(endpoints² + 1), int64.
        table_links: `table` only, int32 link ids in order.
        next_link: `forwarding` only, shape=(switches · endpoints), int32.
        seed: of the hash, from 0 to 2^63 - 1; 0 where nothing is hashed.
    """

    rule: Rule
    tie: Tie = "parity"
    table_offsets: Ints | None = None
    table_links: Ints32 | None = None
    seed: int = 0
    next_link: Ints32 | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise unknown_name("routing", str(self.rule), get_args(Rule))
        if self.tie not in TIES:
            raise unknown_name("tie", str(self.tie), TIES)
        if not 0 <= self.seed <= MAX_SEED:
            raise InputError(f"hash = {self.seed}: must be from 0 to {MAX_SEED}")
        if self.rule not in HASHED:
            object.__setattr__(self, "seed", 0)
        if self.rule not in TYING:
            object.__setattr__(self, "tie", "parity")
        if (self.rule == "table") != (
            self.table_offsets is not None and self.table_links is not None
        ):
            raise InputError(
                f"routing '{self.rule}': a table is required for 'table' and for nothing else"
            )
        if (self.rule == "forwarding") != (self.next_link is not None):
            raise InputError(
                f"routing '{self.rule}': next links are required for 'forwarding' and for nothing "
                "else"
            )
        if self.next_link is not None:
            object.__setattr__(
                self, "next_link", frozen_ints(self.next_link, np.int32, "next_link")
            )
        if self.table_offsets is not None and self.table_links is not None:
            object.__setattr__(
                self, "table_offsets", frozen_ints(self.table_offsets, np.int64, "table_offsets")
            )
            object.__setattr__(
                self, "table_links", frozen_ints(self.table_links, np.int32, "table_links")
            )
            check_offsets(
                "table_offsets", self.table_offsets, None, self.table_links.size, "links of routes"
            )
            check_range("table_links", self.table_links, MAX_LINKS)

    @property
    def knowledge(self) -> Knowledge:
        """What is known of routes before messages are sent.

        `known`: each route. `hashed`: one route for each pair, drawn by the seed; it represents
        what real switches do and is unknown, so loads and bounds are expectations over the hash,
        and simulations use the sample.
        `adaptive`: switches decide as messages come; loads of links are fractions of messages.
        """
        return KNOWLEDGE.get(self.rule, "known")

    @property
    def is_known(self) -> bool:
        """Whether routes are known, so that order on links can be kept."""
        return self.rule not in KNOWLEDGE

    def stored(self) -> list[Ints32]:
        """The links of each pair's route, of a table."""
        assert self.table_offsets is not None  # the rule is `table`
        assert self.table_links is not None
        return np.split(self.table_links, self.table_offsets[1:-1])

    @staticmethod
    def default(topology: Topology) -> Routing:
        """The usual rule of a kind of network."""
        if topology.planes > 1:
            return Routing("planes")
        return Routing(RULES[topology.kind][0])

    def in_one_plane(self, topology: Topology) -> Routing:
        """The rule of the network that a topology of planes has several times."""
        return replace(Routing.default(topology.base), tie=self.tie)


def usable_ends(topology: Topology, routing: Routing) -> tuple[Ints32, Ints32]:
    """(from, to), shape=(link_slots) each: the links that routes of a compiler's choice may take.

    As `Topology.ends`, but links that close cycles are none where the machine never wraps: they
    join a node to itself.
    """
    source, target = topology.ends
    if routing.rule == "no-wrap":
        far = (
            np.abs(topology.coordinates[source] - topology.coordinates[target]).max(
                axis=1, initial=0
            )
            > 1
        )
        target = np.where(far, source, target).astype(np.int32)
    return np.ascontiguousarray(source), np.ascontiguousarray(target)


def up_strides(topology: Topology) -> Ints32:
    """shape=(nodes), int32: the divisor of targets at each node by `dmodk`; see `Routing`.

    A divisor beyond the endpoints is as good as their number: every target is divided to 0.

    Raises:
        InputError: nodes without levels.
    """
    level = topology.level
    if level is None:
        raise InputError(
            "routing 'dmodk': needs levels of nodes, as trees of a family have; here minimal does"
        )
    up = level[topology.link_target] > level[topology.link_source]
    above = np.bincount(topology.link_source[up], minlength=topology.nodes)
    most = np.ones(int(level.max()) + 1, np.int64)
    np.maximum.at(most, level, above)
    stride = np.ones(most.size, np.int64)
    for k in range(1, most.size):
        stride[k] = min(stride[k - 1] * most[k - 1], topology.endpoints)
    return stride[level].astype(np.int32)


def link_costs(topology: Topology) -> Ints32:
    """shape=(links), int32: what each link counts by `minimal` and `EQUAL_COST`.

    (0) where all count alike.

    Links between nodes of one level in different groups count `BETWEEN_GROUPS`, where in more than
    half of the groups all nodes of that level are joined, such as global links of dragonflies: one
    of them and a link at either end count 5, two count 6. A group that misses a link counts as the
    others do: else its links would be short cuts for all.
    """
    level, group = topology.level, topology.group
    meshed = in_full_mesh(topology)
    if level is None or group is None or not meshed.any():
        return np.zeros(0, np.int32)
    place, first = np.unique(np.stack([level, group])[:, group >= 0], axis=1, return_index=True)
    groups, whole = np.bincount(place[0]), np.bincount(place[0], meshed[group >= 0][first])
    mostly = np.zeros(int(level.max()) + 1, bool)
    mostly[: groups.size] = 2 * whole > groups
    source, target = topology.ends
    apart = (
        (level[source] == level[target]) & (group[source] != group[target]) & mostly[level[source]]
    )
    apart &= (group[source] >= 0) & (group[target] >= 0)
    return (
        np.where(apart, np.int32(BETWEEN_GROUPS), np.int32(1))
        if apart.any()
        else np.zeros(0, np.int32)
    )


def in_full_mesh(topology: Topology) -> Bools:
    """shape=(nodes): whether a node is joined to all others of its level in its group."""
    level, group = topology.level, topology.group
    if topology.kind != "graph" or level is None or group is None:
        return np.zeros(topology.nodes, bool)
    source, target = topology.ends
    inside = (
        (level[source] == level[target]) & (group[source] == group[target]) & (group[source] >= 0)
    )
    place = level.astype(np.int64) * (int(group.max()) + 2) + group + 1
    members, links = (
        np.bincount(each, minlength=int(place.max()) + 1) for each in (place, place[source[inside]])
    )
    return np.asarray((links == members * (members - 1))[place] & (group >= 0))


_NO_DATELINES = np.zeros(0, np.uint8)


def datelines(topology: Topology, routing: Routing) -> Bytes:
    """shape=(link_slots), uint8: 1 where a route goes on in the next pool; (0) where it never does.

    So it does where a link closes a ring; in a graph of a family over the links of `_turns`.
    """
    if topology.kind == "graph":
        return _turns(topology)
    if not topology.wraps or routing.rule == "no-wrap":
        return _NO_DATELINES
    crosses = np.zeros((topology.nodes, topology.dimensions, 2), np.uint8)
    for k, side in enumerate(topology.sides):
        if side > 2:
            at = topology.coordinates[:, k]
            crosses[:, k, 0] = at == side - 1
            crosses[:, k, 1] = at == 0
    return crosses.ravel()


def _turns(topology: Topology) -> Bytes:
    """shape=(link_slots), uint8.

    1 for links between nodes of one level, and out of endpoints with several neighbours.

    What is left inside a pool goes up, then down, which closes no circle. A group in which all
    nodes of a level are joined needs no pool for its own links: a shortest route takes one of them
    between two others.
    """
    level, group = topology.level, topology.group
    source, target = topology.ends
    if level is None or group is None:
        return _NO_DATELINES
    inside = (group[source] == group[target]) & in_full_mesh(topology)[source]
    neighbours = np.bincount(source, minlength=topology.nodes)
    passed = (source < topology.endpoints) & (neighbours[source] > 1)
    return np.asarray(((level[source] == level[target]) & ~inside) | passed, np.uint8)


def only_links(topology: Topology) -> Ints32:
    """shape=(endpoints), int32: the link out of each endpoint, where `forwarding` routes.

    Raises:
        InputError: one has none or several, or it does not lead to a switch.
    """
    count = np.bincount(topology.link_source, minlength=topology.nodes)[: topology.endpoints]
    if (wrong := np.flatnonzero(count != 1)).size:
        node = topology.node_name(int(wrong[0]))
        raise InputError(
            f"routing 'forwarding': {node} has {count_of(int(count[wrong[0]]), 'link')} out, an "
            "endpoint has 1"
        )
    links = topology.link_source.searchsorted(np.arange(topology.endpoints)).astype(np.int32)
    ends = topology.link_target[links]
    if (direct := np.flatnonzero(ends < topology.endpoints)).size:
        link = topology.link_name(int(links[direct[0]]))
        raise InputError(f"routing 'forwarding': {link} leads from endpoint to endpoint")
    return links


@dataclass(frozen=True)
class StrayEntry:
    """A next link that does not lead to its endpoint.

    Attributes:
        switch: whose entry it is.
        target: the endpoint.
        link: the entry; -1: there is no way.
        reason: `no way`, `not its link`, `loop`, or `leads to NODE`.
    """

    switch: int
    target: int
    link: int
    reason: str


def stray_entry(topology: Topology, next_link: Ints32) -> StrayEntry | None:
    """The first entry on a route between endpoints that does not lead on; None where all do.

    All routes are walked at once, from the switches that endpoints are joined to:
    O(switches · endpoints · diameter).
    """
    endpoints, table = topology.endpoints, next_link.reshape(-1, topology.endpoints)
    first = np.unique(topology.link_target[only_links(topology)])
    at = np.repeat(first.astype(np.int32), endpoints)
    target = np.tile(np.arange(endpoints, dtype=np.int32), first.size)
    for _ in range(topology.nodes - endpoints + 1):
        link = table[at - endpoints, target]
        known = (link >= 0) & (link < topology.links)
        held = np.where(known, link, 0)
        node = topology.link_target[held]
        own = known & (topology.link_source[held] == at)
        astray = ~own | ((node < endpoints) & (node != target))
        if astray.any():
            k = int(np.flatnonzero(astray)[0])
            reason = (
                "no way"
                if link[k] < 0
                else f"leads to {topology.node_name(int(node[k]))}"
                if own[k]
                else "not its link"
            )
            return StrayEntry(int(at[k]), int(target[k]), int(link[k]), reason)
        on = node >= endpoints
        at, target = node[on], target[on]
        if not at.size:
            return None
    entry = int(table[at[0] - endpoints, target[0]])
    return StrayEntry(int(at[0]), int(target[0]), entry, "loop")


def next_hops(topology: Topology, target: int) -> Ints32:
    """shape=(nodes), int32: where each node sends what is for `target`.

    -1 at `target` and where it is out of reach. Fewest links; among equals the neighbour with the
    lowest index, node by node.
    """
    return first_parents(target, topology.link_target, topology.link_source, topology.nodes)


def route_table(
    topology: Topology,
    routes: Sequence[Sequence[int]],
    where: str = "routes",
    *,
    of_links: bool = False,
) -> Routing:
    """A routing of stored paths: `routes[k]` is the path from its first to its last node.

    Pairs not listed take the shortest path.

    Args:
        topology: a graph.
        routes: the nodes of each path, ends included; or its links.
        where: where they are stated, for errors.
        of_links: whether paths are lists of links, as they must be along parallel links.

    Raises:
        InputError: a path that is too short, leaves the endpoints at its ends, visits a node twice,
            uses a link that does not exist, does not say which of several, or joins a pair a second
            time.
    """
    links: dict[tuple[int, int], list[int]] = defaultdict(list)
    ends = list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    for link, pair in enumerate(ends):
        links[pair].append(link)
    given: dict[tuple[int, int], list[int]] = {}
    for k, stated in enumerate(routes):
        at = f"{where}[{k}]"
        path = _nodes_of(topology, ends, stated, at) if of_links else stated
        _check_path(topology, links, path, at)
        ways = [links[pair] for pair in pairwise(path)]
        several = [way for way in ways if len(way) > 1]
        if several and not of_links:
            a, b = ends[several[0][0]]
            raise InputError(
                f"{at}: {len(several[0])} parallel links lead from {a} to {b}; a route along them "
                "must be a list of links (route_links)"
            )
        if (path[0], path[-1]) in given:
            raise InputError(f"{at}: a second route from {path[0]} to {path[-1]}")
        given[path[0], path[-1]] = list(stated) if of_links else [way[0] for way in ways]
    count = topology.endpoints
    flat: list[list[int]] = [[]] * (count * count)
    for target in range(count):
        hop = next_hops(topology, target).tolist()
        for source in range(count):
            found = list(given.get((source, target), ()))
            node = target if found else source
            while node != target:
                way = links[node, hop[node]]
                found.append(way[target % len(way)])
                node = hop[node]
            flat[source * count + target] = found
    offsets = np.concatenate([[0], np.cumsum([len(path) for path in flat])]).astype(np.int64)
    return Routing(
        "table", "parity", offsets, np.array([link for path in flat for link in path], np.int32)
    )


def _nodes_of(
    topology: Topology, ends: Sequence[tuple[int, int]], path: Sequence[int], where: str
) -> list[int]:
    """The nodes of a path of links, each of which must begin where the one before ends."""
    if wrong := [link for link in path if not 0 <= link < len(ends)]:
        raise InputError(f"{where}: link {wrong[0]}: must be from 0 to {len(ends) - 1}")
    for before, after in pairwise(path):
        if ends[before][1] != ends[after][0]:
            names = topology.link_name(before), topology.link_name(after)
            raise InputError(f"{where}: {names[0]} does not lead to {names[1]}")
    return [ends[path[0]][0], *(ends[link][1] for link in path)] if path else []


def _check_path(
    topology: Topology,
    links: Mapping[tuple[int, int], list[int]],
    path: Sequence[int],
    where: str,
) -> None:
    if len(path) < 2 or path[0] == path[-1]:
        raise InputError(f"{where} = {list(path)}: must join two different nodes")
    for end in (path[0], path[-1]):
        if not 0 <= end < topology.endpoints:
            raise InputError(
                f"{where}: ends at node {end}, must be an endpoint from 0 to "
                f"{topology.endpoints - 1}"
            )
    if len(set(path)) < len(path):
        raise InputError(f"{where} = {list(path)}: visits a node twice")
    for source, target in pairwise(path):
        if (source, target) not in links:
            raise InputError(f"{where}: no link from {source} to {target}")


@dataclass(frozen=True)
class UnusedPaths:
    """What a rule does to the fullest link of a complete exchange.

    Attributes:
        link: the fullest one under the rule.
        load: messages on it, per unit of width.
        spread: messages on the fullest link where equal paths are shared evenly.
        rule: the name of a rule that spreads there.
    """

    link: int
    load: float
    spread: float
    rule: str

    def sentence(self, topology: Topology) -> str:
        """One line with both numbers, and what to do."""
        return (
            "routing shortest-path leaves equal paths unused: of a complete exchange "
            f"{topology.link_name(self.link)} carries "
            f"{self.load:,.0f} messages, {self.spread:,.0f} were paths of equal length shared: "
            f"routing={self.rule} "
            "spreads (in a machine file, routing beside the graph)"
        )


_known: WeakKeyDictionary[Topology, UnusedPaths | None] = WeakKeyDictionary()


def unused_paths(topology: Topology, routing: Routing) -> UnusedPaths | None:
    """What `shortest-path` leaves unused where that makes the fullest link `WORTH` times as full.

    Else None.
    """
    if topology.kind != "graph" or routing.rule != "shortest-path" or not topology.links:
        return None
    if topology.endpoints * topology.links > MAX_WORK:
        return None
    if topology not in _known:
        _known[topology] = _unused(topology)
    return _known[topology]


def _unused(topology: Topology) -> UnusedPaths | None:
    first, spread = exchange_loads(topology)
    link = int(np.argmax(first))
    if first[link] < WORTH * spread.max():
        return None
    usual = "planes" if topology.planes > 1 else "dmodk" if is_tree(topology) else "minimal"
    return UnusedPaths(link, float(first[link]), float(spread.max()), usual)


def is_tree(topology: Topology) -> bool:
    """Whether all links join neighbouring levels, as in a tree of switches."""
    level = topology.level
    if level is None or topology.endpoints == topology.nodes or not topology.links:
        return False
    return bool((np.abs(level[topology.link_source] - level[topology.link_target]) == 1).all())


def exchange_loads(topology: Topology) -> tuple[Floats, Floats]:
    """(by the lowest neighbour, spread evenly), shape=(links) each.

    Messages per unit of width of a complete exchange.

    Every node passes on what it has for a target over its next links on shortest paths.
    """
    source, target = topology.link_source.astype(np.int64), topology.link_target.astype(np.int64)
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    into = np.argsort(target, kind="stable")
    ends = np.flatnonzero(np.diff(target[into], prepend=-1))
    first, spread = np.zeros(topology.links), np.zeros(topology.links)
    for low in range(0, topology.endpoints, _TARGETS):
        goals = np.arange(low, min(low + _TARGETS, topology.endpoints))
        far = _distances(topology, goals, source, target, starts)
        near = far[:, source] == far[:, target] + 1
        count = np.add.reduceat(near, starts, axis=1, dtype=np.int64)
        node = np.repeat(np.arange(starts.size), np.diff(np.append(starts, source.size)))
        before = np.cumsum(near, axis=1) - near
        lowest = near & (before == before[:, starts][:, node])
        shares = (lowest.astype(np.float64), near / np.maximum(count[:, node], 1))
        for share, total in zip(shares, (first, spread), strict=True):
            held = np.zeros(far.shape)
            held[:, : topology.endpoints] = 1
            held[np.arange(goals.size), goals] = 0
            for distance in range(int(far.max()), 0, -1):
                moved = np.where(far[:, source] == distance, held[:, source] * share, 0.0)
                total += moved.sum(axis=0)
                held[:, target[into][ends]] += np.add.reduceat(moved[:, into], ends, axis=1)
    width = topology.widths()
    return first / width, spread / width


def _distances(
    topology: Topology,
    goals: Ints,
    source: Ints,
    target: Ints,
    starts: Ints,
) -> Ints:
    """shape=(goals, nodes): links to each goal; -1 where it is out of reach."""
    out = 2 * topology.nodes
    far = np.full((goals.size, topology.nodes), out)
    far[np.arange(goals.size), goals] = 0
    while True:
        nearer = far.copy()
        nearer[:, source[starts]] = np.minimum(
            far[:, source[starts]], np.minimum.reduceat(far[:, target], starts, axis=1) + 1
        )
        if np.array_equal(nearer, far):
            return np.where(far >= out, -1, far)
        far = nearer
