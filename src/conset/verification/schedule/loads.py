"""Loads of groups of transfers on ports, links and channels, held against the limits.

And the duplex rule.

A group is a phase, or a window of several. Duplex `exchange`: a node that both sends and receives
in a group does so with one partner.

Memory is bounded: groups come in chunks of so many (group, resource) cells and transfers, a single
group of very many transfers in blocks. Where transfers are few and the network is large, counts are
kept sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from conset.base import Floats, Ints, Ints32, as_figure, work
from conset.verification.schedule.traffic import Groups, Traffic, in_order
from conset.verification.schedule.walks import BoxWalk, CubeWalk, Walk
from conset.verification.verification import Violation

KINDS = ("send", "receive", "link", "channels")
_CELLS = 1 << 18
_TRANSFERS = 1 << 18
"""Limits of a chunk.

Both so few that its arrays stay in a core's cache, and their memory with the process.
"""
_HOPS = 1 << 22
"""Of a block."""
_SHOWN = 8
"""Transfers that a violation names."""
_VERB = {
    "send": "sends {} messages",
    "receive": "receives {} messages",
    "link": "carries {} messages",
    "channels": "carries {} routes",
}
_DUPLEX_TRANSFERS = 1 << 20
"""Of a chunk in which the rule of duplex is checked."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found.

    Attributes:
        peaks: for each kind, shape=(groups): the largest load of any resource; floats where it is
            expected.
        violations: of the limits.
    """

    peaks: Mapping[str, Ints | Floats]
    violations: list[Violation]


def measure(
    traffic: Traffic, walk: Walk, groups: Groups, limits: Mapping[str, Any], window: int = 1
) -> Measured:
    """Largest loads of each group, and every resource above a limit.

    O(cells + messages · dimensions) or O(hops).
    """
    topology = traffic.topology
    lines = walk if isinstance(walk, BoxWalk | CubeWalk) else None
    resources = max(topology.link_slots, topology.nodes)
    dense = groups.count * resources <= max(_CELLS, 4 * groups.transfers * walk.longest)
    most = _TRANSFERS if dense and lines else max(1, min(_TRANSFERS, _HOPS // walk.longest))
    peaks = {kind: np.zeros(groups.count, np.intp) for kind in KINDS}

    def check(chunk: tuple[int, int]) -> list[Violation]:
        low, high = chunk
        counts = _count(traffic, walk, groups, chunk, most, dense)
        found: list[Violation] = []
        for kind in KINDS:
            width = _width(traffic, kind)
            peaks[kind][low:high] = counts[kind].peaks(width)
            if limits.get(kind) is not None:
                # beyond what an index can count, a limit is none
                limit = min(max(0, int(limits[kind])), 1 << 31)
                group, resource, count = counts[kind].above(limit, width)
                excess = _Excess(traffic, walk, groups, kind, limit, window, most)
                found += excess.violations(group + low, resource, count)
        return found

    chunks = list(groups.chunks(max(1, _CELLS // resources) if dense else groups.count, most))
    violations: list[Violation] = []
    with work(len(chunks)) as own:  # most of a verification
        for found in in_order(check, chunks):
            violations += found
            own.done += 1
    return Measured(peaks, violations)


def true_figures(
    peaks: Mapping[str, Ints | Floats], phases: int, phase_bytes: int
) -> dict[str, Any]:
    """`phases`, `load` and `phase_bytes` as a schedule file states them."""
    load = {kind: as_figure(peaks[kind].max(initial=0)) for kind in KINDS}
    largest = np.maximum(np.maximum(peaks["send"], peaks["receive"]), peaks["link"])
    return {
        "phases": phases,
        "load": {**load, "sum": as_figure(largest.sum())},
        "phase_bytes": phase_bytes,
    }


def _width(traffic: Traffic, kind: str) -> Any:
    if kind != "link":
        return 1
    return (
        traffic.topology.width
        if traffic.topology.link_width is None
        else traffic.topology.link_width
    )


def _count(
    traffic: Traffic, walk: Walk, groups: Groups, chunk: tuple[int, int], most: int, dense: bool
) -> dict[str, Counts]:
    topology, count = traffic.topology, chunk[1] - chunk[0]
    tallies = {
        kind: Tally(count, topology.link_slots if kind == "link" else topology.nodes, dense)
        for kind in KINDS
    }
    for ids, group in groups.blocks(*chunk, most):
        used = traffic.networked(ids)
        if not used.all():
            ids, group = ids[used], group[used]
        _add_block(traffic, walk, tallies, ids, group)
    return {kind: tally.counts() for kind, tally in tallies.items()}


def _add_block(
    traffic: Traffic, walk: Walk, tallies: dict[str, Tally], ids: Ints, group: Ints
) -> None:
    source, target = traffic.source[ids], traffic.target[ids]
    tallies["send"].add(group, source)
    tallies["receive"].add(group, target)
    tallies["channels"].add(group, source)
    if isinstance(walk, BoxWalk | CubeWalk) and tallies["link"].dense is not None:
        links = walk.tally(tallies["link"].groups, group, source, target)
        tallies["link"].add_counts(links)
        tallies["channels"].add_counts(walk.arrivals(links))
        return
    if traffic.topology.kind == "crossbar":
        tallies["channels"].add(group, target)
        return
    position, link = walk.hops(ids, source, target)
    tallies["link"].add(group[position], link)
    tallies["channels"].add(group[position], traffic.topology.ends[1][link])


@dataclass(frozen=True, eq=False)
class _Excess:
    """Turns resources above a limit into violations that name their transfers."""

    traffic: Traffic
    walk: Walk
    groups: Groups
    kind: str
    limit: int
    window: int
    most: int

    def violations(self, group: Ints, resource: Ints, count: Ints) -> Iterator[Violation]:
        """One for each (group, resource); the arrays are sorted by group."""
        for low, high in runs(group):
            g, above = int(group[low]), resource[low:high]
            users = self._users(g, above)
            for r, c in zip(above.tolist(), count[low:high].tolist(), strict=True):
                yield self._violation(g, r, c, users[r])

    def _users(self, g: int, resources: Ints) -> dict[int, list[int]]:
        """The first transfers of group g on each of `resources`.

        Those shown, and the first beyond the limit.
        """
        room = [max(_SHOWN, self._allowed(r) + 1) for r in resources.tolist()]
        users: dict[int, list[int]] = {r: [] for r in resources.tolist()}
        place = np.full(
            max(self.traffic.topology.link_slots, self.traffic.topology.nodes), -1, np.intp
        )
        place[resources] = np.arange(resources.size)
        for ids, _ in self.groups.blocks(g, g + 1, self.most):
            used = ids[self.traffic.networked(ids)]
            position, resource = self._uses(used)
            hit = np.flatnonzero(place[resource] >= 0)
            # by resource, then in list order, whatever order the hops came in
            hit = hit[np.lexsort((position[hit], resource[hit]))]
            for low, high in runs(resource[hit]):
                r = int(resource[hit[low]])
                free = room[place[r]] - len(users[r])
                users[r] += used[position[hit[low : min(high, low + free)]]].tolist()
        return users

    def _uses(self, ids: Ints) -> tuple[Ints, Ints]:
        """(position in `ids`, resource) of every use."""
        source, target = self.traffic.source[ids], self.traffic.target[ids]
        every = np.arange(ids.size)
        if self.kind == "send":
            return every, source.astype(np.intp)
        if self.kind == "receive":
            return every, target.astype(np.intp)
        position, link = self.walk.hops(ids, source, target)
        if self.kind == "link":
            return position, link
        if self.traffic.topology.kind == "crossbar":
            entered, node = every, target.astype(np.intp)
        else:
            entered, node = position, self.traffic.topology.ends[1][link].astype(np.intp)
        return np.concatenate([every, entered]), np.concatenate([source.astype(np.intp), node])

    def _allowed(self, resource: int) -> int:
        width = _width(self.traffic, self.kind)
        return self.limit * (width if isinstance(width, int) else int(width[resource]))

    def _violation(self, g: int, resource: int, count: int, users: list[int]) -> Violation:
        topology = self.traffic.topology
        name = topology.link_name(resource) if self.kind == "link" else topology.node_name(resource)
        phase, transfer = self.traffic.place_of(users[self._allowed(resource)])
        when, rule, shown = _describe_group(self.traffic, g, self.kind, users, count, self.window)
        width = self._allowed(resource) // self.limit if self.limit else 1
        per = f" per unit of width, the width {width}" if width > 1 else ""
        return Violation(
            phase,
            transfer,
            rule,
            f"{when}: {name} {_VERB[self.kind].format(count)} (transfers {shown}), "
            f"the limit is {self.limit}{per}",
        )


def check_duplex(traffic: Traffic, groups: Groups, window: int = 1) -> Iterator[Violation]:
    """Rule `duplex`; it names the first transfer whose partner differs from the first one's.

    Of a node.

    O(t log t) for t transfers of a chunk; a group is never cut.
    """
    for low, high in groups.chunks(groups.count, _DUPLEX_TRANSFERS):
        for ids, group in groups.blocks(low, high, max(1, groups.transfers)):
            used = traffic.networked(ids)
            for g, node, users, partners in _duplex_conflicts(traffic, ids[used], group[used]):
                yield _duplex_violation(traffic, g + low, node, users, partners, window)


def _duplex_conflicts(
    traffic: Traffic, ids: Ints, group: Ints
) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """(group, node, its transfers, their other ends) of every node that breaks the rule.

    In list order.
    """
    if not ids.size:
        return
    nodes = traffic.topology.nodes
    source, target = traffic.source[ids].astype(np.intp), traffic.target[ids].astype(np.intp)
    key = np.concatenate([group * nodes + source, group * nodes + target])
    partner = np.concatenate([target, source])
    sends = np.repeat([True, False], ids.size)
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    partner, sends = partner[order], sends[order]
    several = np.minimum.reduceat(partner, start) != np.maximum.reduceat(partner, start)
    both = np.logical_or.reduceat(sends, start) & np.logical_or.reduceat(~sends, start)
    stop = np.append(start[1:], order.size)
    for n in np.flatnonzero(several & both).tolist():
        of_node = slice(int(start[n]), int(stop[n]))
        users = ids[order[of_node] % ids.size]
        rank = np.argsort(users, kind="stable")
        g, node = divmod(int(key[order[start[n]]]), nodes)
        yield g, node, users[rank].tolist(), partner[of_node][rank].tolist()


def _duplex_violation(
    traffic: Traffic, g: int, node: int, users: list[int], partners: list[int], window: int
) -> Violation:
    other = next(k for k, partner in zip(users, partners, strict=True) if partner != partners[0])
    phase, transfer = traffic.place_of(other)
    when, rule, shown = _describe_group(traffic, g, "duplex", users, len(users), window)
    name, count = traffic.topology.node_name(node), len(set(partners))
    return Violation(
        phase,
        transfer,
        rule,
        f"{when}: {name} sends and receives with {count} partners (transfers {shown}), "
        "duplex exchange allows 1",
    )


def _describe_group(
    traffic: Traffic, g: int, rule: str, users: list[int], count: int, window: int
) -> tuple[str, str, str]:
    """(when, rule, transfers): a phase by its number, a window of several by its first and last.

    Args:
        traffic: whose transfers.
        g: the group.
        rule: of a single phase.
        users: transfers of the group, at least those that are named.
        count: how many there are.
        window: phases of a group.
    """
    places = [traffic.place_of(k) for k in users[:_SHOWN]]
    if window == 1:
        when, shown = f"phase {g}", [str(place) for _, place in places]
    else:
        when = f"phases {g} to {g + min(window, traffic.phases) - 1} together"
        rule, shown = f"window-{rule}", [f"{phase}:{place}" for phase, place in places]
    return when, rule, ", ".join([*shown, "…"] if count > len(shown) else shown)


@dataclass(frozen=True, eq=False)
class Counts:
    """Messages per (group, resource).

    Attributes:
        groups: number of groups.
        resources: number of resources.
        key: `group * resources + resource` of each count, rising; None: every one, in order.
        count: messages.
    """

    groups: int
    resources: int
    key: Ints | None
    count: Ints

    def peaks(self, width: Ints32 | int = 1) -> Ints:
        """shape=(groups): the most messages of any resource, per unit of its width, rounded up."""
        if self.key is None:
            count = self.count.reshape(self.groups, self.resources)
            if not (isinstance(width, int) and width == 1):
                count = -(-count // width)
            return count.max(axis=1, initial=0)
        peaks = np.zeros(self.groups, np.intp)
        if self.key.size:
            unit = width if isinstance(width, int) else width[self.key % self.resources]
            group = self.key // self.resources
            start = np.flatnonzero(np.diff(group, prepend=-1))
            peaks[group[start]] = np.maximum.reduceat(-(-self.count // unit), start)
        return peaks

    def above(self, limit: int, width: Ints32 | int = 1) -> tuple[Ints, Ints, Ints]:
        """(group, resource, count) of each resource above `limit` per unit of its width."""
        if self.key is None:
            most = limit * width if isinstance(width, int) else limit * width.astype(np.intp)
            at = np.flatnonzero(self.count.reshape(self.groups, self.resources) > most)
            return at // self.resources, at % self.resources, self.count.ravel()[at]
        unit = width if isinstance(width, int) else width.astype(np.intp)[self.key % self.resources]
        at = np.flatnonzero(self.count > limit * unit)
        return self.key[at] // self.resources, self.key[at] % self.resources, self.count[at]


class Tally:
    """Adds up uses of resources, block by block."""

    def __init__(self, groups: int, resources: int, dense: bool) -> None:
        self.groups, self.resources = groups, resources
        self.dense: Ints | None = np.zeros(groups * resources, np.intp) if dense else None
        self._keys: list[Ints] = []
        self._counts: list[Ints] = []

    def add(self, group: Ints, resource: Ints32 | Ints) -> None:
        """One use of each `resource[k]` in `group[k]`."""
        key = group * self.resources
        key += resource
        if self.dense is not None:
            self.dense += np.bincount(key, minlength=self.dense.size)
        else:
            unique, count = np.unique(key, return_counts=True)
            self._keys.append(unique)
            self._counts.append(count)

    def add_counts(self, counts: Ints) -> None:
        """Uses already counted, for a dense tally."""
        assert self.dense is not None  # whoever counts whole phases asked for a dense one
        self.dense += counts.ravel()

    def counts(self) -> Counts:
        """What was added so far."""
        if self.dense is not None:
            return Counts(self.groups, self.resources, None, self.dense)
        none = np.zeros(0, np.intp)
        key, count = np.concatenate([none, *self._keys]), np.concatenate([none, *self._counts])
        if len(self._keys) > 1:
            order = np.argsort(key, kind="stable")
            start = np.flatnonzero(np.diff(key[order], prepend=-1))
            key, count = (
                key[order][start],
                np.add.reduceat(count[order], start) if start.size else none,
            )
        return Counts(self.groups, self.resources, key, count)


def runs(key: Ints) -> Iterator[tuple[int, int]]:
    """(low, high) of every run of equal keys, none of them negative."""
    cuts = np.flatnonzero(np.diff(key, prepend=-1)).tolist()
    return pairwise([*cuts, key.size]) if cuts else iter(())
