"""Routes of a workload for the checker.

Expanded by the verifier's walks, put in order and proved to be chains.

Nothing of the core is used. A route is a set of links until it is walked: from the source, each
next link is the one that leaves the node reached so far; what cannot be walked to the target is no
route.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.models.resources import Spread
from conset.models.workload import Workload
from conset.verification.schedule.check import formula_walk
from conset.verification.schedule.spread_walks import SpreadWalk

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Routes:
    """Links of every message in the order in which it takes them.

    Attributes:
        offsets: shape=(messages + 1), int64.
        links: shape=(hops), int32: link slots.
        pool: shape=(hops), int64: datelines crossed up to and including each link.
        broken: the first message whose links join its ends by no chain, -1 where all do.
        spread: the part of each message on each of `links`, where switches spread it; None: all, on
            one route.
    """

    offsets: Ints
    links: NDArray[np.int32]
    pool: Ints
    broken: int
    spread: Spread | None = None

    @staticmethod
    def of(workload: Workload, machine: Machine) -> Routes:
        """The routes a compiler chose, or the machine's own."""
        topology = machine.topology
        if machine.routing.knowledge == "adaptive" and not workload.link_offsets.size:
            return _spread_over(workload, machine)
        if workload.link_offsets.size:
            position = np.repeat(np.arange(workload.messages), np.diff(workload.link_offsets))
            links = workload.links.astype(np.int64)
        else:
            walk = formula_walk(machine, workload.target)
            position, links = walk.hops(
                np.arange(workload.messages), workload.source, workload.target
            )
        position, links, broken = _walked(
            workload, topology, position.astype(np.int64), links.astype(np.int64)
        )
        offsets = np.concatenate(
            [[0], np.cumsum(np.bincount(position, minlength=workload.messages))]
        )
        over = _crosses_dateline(topology, machine.routing.rule)[links]
        count = np.cumsum(over)
        before = np.concatenate([[0], count])[offsets[:-1]]
        pool = count - np.repeat(before, np.diff(offsets))
        return Routes(
            offsets.astype(np.int64), links.astype(np.int32), pool.astype(np.int64), broken
        )


def _spread_over(workload: Workload, machine: Machine) -> Routes:
    """Messages in parts: a group each, of which links carry what is expected."""
    walk = SpreadWalk(machine.topology, machine.routing, np.unique(workload.target))
    each, (source, target) = np.arange(workload.messages), (workload.source, workload.target)
    message, links, share = walk.expect(each, source, target, np.ones(workload.messages))
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(message, minlength=workload.messages))]
    ).astype(np.int64)
    hops = np.where(source != target, walk.distance[source, walk.column[target]], 0).astype(
        np.int64
    )
    lost = np.flatnonzero(walk.lost(source, target))
    broken = int(lost[0]) if lost.size else -1
    no_datelines = np.zeros(links.size, np.int64)
    return Routes(offsets, links.astype(np.int32), no_datelines, broken, Spread(share, hops))


def _walked(
    workload: Workload, topology: Topology, position: Ints, links: Ints
) -> tuple[Ints, Ints, int]:
    """(message of each hop, link) in the order of the routes.

    And the first message that is no chain.
    """
    if topology.kind == "crossbar":
        return position, links, -1
    start, stop = topology.ends
    order = np.lexsort((start[links] if links.size else links, position))
    links, key = links[order], position[order] * topology.nodes + start[links[order]]
    given = np.bincount(position, minlength=workload.messages)
    at, walked = workload.source.astype(np.int64), np.zeros(workload.messages, np.int64)
    going = np.flatnonzero(workload.crosses)
    steps: list[tuple[Ints, Ints]] = []
    while going.size:
        place = np.searchsorted(key, going * topology.nodes + at[going])
        place = np.minimum(place, max(key.size - 1, 0))
        found = (
            key[place] == going * topology.nodes + at[going]
            if key.size
            else np.zeros(going.size, bool)
        )
        found &= walked[going] < given[going]
        going, place = going[found], place[found]
        steps.append((going, links[place]))
        at[going] = stop[links[place]]
        walked[going] += 1
        going = going[at[going] != workload.target[going]]
    wrong = np.flatnonzero((at != workload.target) | (walked != given))
    messages = np.concatenate([np.zeros(0, np.int64), *(message for message, _ in steps)])
    taken = np.concatenate([np.zeros(0, np.int64), *(link for _, link in steps)])
    stable = np.argsort(messages, kind="stable")
    return messages[stable], taken[stable], int(wrong[0]) if wrong.size else -1


def _crosses_dateline(topology: Topology, rule: str) -> NDArray[np.int64]:
    """shape=(link_slots): 1 where a link closes a ring: its ends are more than a step apart.

    Of a graph in words: 1 where it joins nodes of one level, unless their group is a full mesh of
    that level, and where it leaves an endpoint that has several neighbours.
    """
    if topology.family and topology.level is not None and topology.group is not None:
        return _changes_pool(topology, topology.level.tolist(), topology.group.tolist())
    if not topology.wraps or rule == "no-wrap":
        return np.zeros(topology.link_slots, np.int64)
    start, stop = topology.ends
    apart = np.abs(topology.coordinates[start] - topology.coordinates[stop])
    return np.asarray((apart > 1).any(axis=1), np.int64)


def _changes_pool(topology: Topology, level: list[int], group: list[int]) -> NDArray[np.int64]:
    """shape=(link_slots), from sets of neighbours."""
    links = list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    heads: dict[int, set[int]] = {}
    for tail, head in links:
        heads.setdefault(tail, set()).add(head)
    members: dict[tuple[int, int], set[int]] = {}
    for node in range(topology.nodes):
        members.setdefault((level[node], group[node]), set()).add(node)
    meshed = {
        key
        for key, nodes in members.items()
        if key[1] >= 0 and all(nodes - {node} <= heads.get(node, set()) for node in nodes)
    }

    def changes(tail: int, head: int) -> bool:
        if tail < topology.endpoints and len(heads[tail]) > 1:
            return True
        if level[tail] != level[head]:
            return False
        return group[tail] != group[head] or (level[tail], group[tail]) not in meshed

    return np.array([changes(tail, head) for tail, head in links], np.int64)
