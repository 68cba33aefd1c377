"""Routes that nobody knows, one by one.

Every way of a message with its exact chance, and the sample of a hash.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from conset.machine.machine import Machine
from conset.machine.network.topology import Topology

Chances = dict[int, Fraction]
"""Link → the chance that a message takes it, or the part of it that does."""
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def links_out(topology: Topology, node: int) -> list[tuple[int, int, int]]:
    """(link, where it leads, its width) of every link out of a node."""
    widths = topology.widths()
    return [
        (k, int(topology.link_target[k]), int(widths[k]))
        for k in range(topology.link_slots)
        if topology.link_source[k] == node
    ]


@lru_cache(maxsize=4)
def costs_of(topology: Topology) -> list[int]:
    """What each link counts.

    3 between groups of one level, where more than half of that level are full meshes.
    """
    level, group = topology.level, topology.group
    if level is None or group is None:
        return [1] * topology.link_slots
    ends = list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    places = {(int(level[v]), int(group[v])) for v in range(topology.nodes) if group[v] >= 0}

    def meshed(place: tuple[int, int]) -> bool:
        peers = [v for v in range(topology.nodes) if (level[v], group[v]) == place]
        return all((u, v) in ends for u in peers for v in peers if u != v)

    full = {place: meshed(place) for place in places}

    def between(u: int, v: int) -> bool:
        one, other = (int(level[u]), int(group[u])), (int(level[v]), int(group[v]))
        peers = [place for place in places if place[0] == one[0]]
        mostly = 2 * sum(full[place] for place in peers) > len(peers)
        return mostly and one[0] == other[0] and one != other and {one, other} <= places

    return [3 if between(u, v) else 1 for u, v in ends]


def costs_to(topology: Topology, target: int) -> dict[int, int]:
    """The least that a way to the target counts, from every node that reaches it.

    Bellman and Ford's rounds.
    """
    near, costs = {target: 0}, costs_of(topology)
    ends = list(
        zip(topology.link_source.tolist(), topology.link_target.tolist(), costs, strict=True)
    )
    for _ in range(topology.nodes):
        for u, v, cost in ends:
            if v in near and near[v] + cost < near.get(u, 1 << 30):
                near[u] = near[v] + cost
    return near


def next_links(topology: Topology, at: int, near: dict[int, int]) -> list[tuple[int, int, int]]:
    """(link, where it leads, its width) of the links that begin a way of least cost."""
    costs = costs_of(topology)
    return [
        way
        for way in links_out(topology, at)
        if way[1] in near and near[way[1]] + costs[way[0]] == near[at]
    ]


def chances(machine: Machine, source: int, target: int) -> Chances:
    """The chance of every link: every way is walked to its end."""
    found: Chances = {}
    if source == target:
        return found
    topology = machine.topology
    if machine.routing.rule != "valiant":
        _walk(topology, source, target, Fraction(1), costs_to(topology, target), found)
        return found
    stops = via_nodes(topology)
    for via in stops:
        for a, b in ((source, via), (via, target)):
            _walk(topology, a, b, Fraction(1, len(stops)), costs_to(topology, b), found)
    return found


def via_nodes(topology: Topology) -> list[int]:
    """The switches, or all nodes without any."""
    return list(
        range(topology.endpoints if topology.endpoints < topology.nodes else 0, topology.nodes)
    )


def _walk(
    topology: Topology, at: int, to: int, chance: Fraction, near: dict[int, int], found: Chances
) -> None:
    if at == to:
        return
    ways = next_links(topology, at, near)
    wires = sum(width for _, _, width in ways)
    for link, next_, width in ways:
        part = chance * width / wires
        found[link] = found.get(link, Fraction(0)) + part
        _walk(topology, next_, to, part, near, found)


def sample(machine: Machine, source: int, target: int) -> list[int]:
    """The links that the hash of the machine's seed draws, or the digits of the source."""
    topology, links, at = machine.topology, [], source
    pair = _mix(_mix(machine.routing.seed + _GOLDEN) ^ (source << 32 | target))
    stops = [target]
    if machine.routing.rule == "valiant":
        via = via_nodes(topology)
        stops.insert(0, via[(_mix(pair) >> 32) * len(via) >> 32])
    for stop in stops if source != target else []:
        near = costs_to(topology, stop)
        while at != stop:
            ways = next_links(topology, at, near)
            wires = [way for way in ways for _ in range(way[2])]
            if machine.routing.rule == "smodk":
                link, at, _ = ways[source // _stride(topology, at) % len(ways)]
            else:
                link, at, _ = wires[
                    (_mix(pair ^ (at + 1) * _GOLDEN & _WORD) >> 32) * len(wires) >> 32
                ]
            links.append(link)
    return links


def _mix(word: int) -> int:
    word &= _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def _stride(topology: Topology, node: int) -> int:
    """Product over the levels below of the most links up that a node has there."""
    assert topology.level is not None
    level = topology.level.tolist()
    stride = 1
    for below in range(level[node]):
        peers = [v for v in range(topology.nodes) if level[v] == below]
        stride *= (
            max(sum(level[w] > below for _, w, _ in links_out(topology, v)) for v in peers) or 1
        )
    return stride
