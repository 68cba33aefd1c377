"""Loads of groups of transfers (phases, or windows of them) on ports, links and channels, against the limits.

Memory is bounded: groups come in chunks of so many (group, resource) cells and transfers, a single group of very many
transfers in blocks. Where transfers are few and the network is large, counts are kept sparse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from conset.verification.parallel import in_order
from conset.verification.tally import Counts, Tally, runs
from conset.verification.traffic import Groups, Ints, Traffic
from conset.verification.verification import Violation
from conset.verification.walks import BoxWalk, CubeWalk, Walk

KINDS = ("send", "receive", "link", "channels")
_CELLS = 1 << 18
_TRANSFERS = 1 << 18
"""Both so few that the arrays of a chunk stay in a core's cache, and their memory with the process."""
_HOPS = 1 << 22
_SHOWN = 8
_VERB = {
    "send": "sends {} messages",
    "receive": "receives {} messages",
    "link": "carries {} messages",
    "channels": "carries {} routes",
}


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found.

    Attributes:
        peaks: for each kind, shape=(groups): the largest load of any resource.
        violations: of the limits.
    """

    peaks: Mapping[str, Ints]
    violations: list[Violation]


def measure(traffic: Traffic, walk: Walk, groups: Groups, limits: Mapping[str, Any], window: int = 1) -> Measured:
    """Largest loads of each group, and every resource above a limit; O(cells + messages · dimensions) or O(hops)."""
    topology = traffic.topology
    lines = walk if isinstance(walk, BoxWalk | CubeWalk) else None
    resources = max(topology.link_slots, topology.nodes)
    dense = groups.count * resources <= max(_CELLS, 4 * groups.transfers * walk.longest)
    most = _TRANSFERS if dense and lines else max(1, min(_TRANSFERS, _HOPS // walk.longest))
    peaks = {kind: np.zeros(groups.count, np.intp) for kind in KINDS}

    def check(chunk: tuple[int, int]) -> list[Violation]:
        low, high = chunk
        counts = _count(traffic, walk, groups, chunk, most, dense)
        found = []
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

    chunks = groups.chunks(max(1, _CELLS // resources) if dense else groups.count, most)
    return Measured(peaks, [violation for found in in_order(check, chunks) for violation in found])


def true_figures(peaks: Mapping[str, Ints], phases: int, phase_bytes: int) -> dict[str, Any]:
    """`phases`, `load` and `phase_bytes` as a schedule file states them."""
    load = {kind: int(peaks[kind].max(initial=0)) for kind in KINDS}
    largest = np.maximum(np.maximum(peaks["send"], peaks["receive"]), peaks["link"])
    return {"phases": phases, "load": {**load, "sum": int(largest.sum())}, "phase_bytes": phase_bytes}


def _width(traffic: Traffic, kind: str) -> Any:
    if kind != "link":
        return 1
    return traffic.topology.width if traffic.topology.link_width is None else traffic.topology.link_width


def _count(
    traffic: Traffic, walk: Walk, groups: Groups, chunk: tuple[int, int], most: int, dense: bool
) -> dict[str, Counts]:
    topology, count = traffic.topology, chunk[1] - chunk[0]
    sizes = {"link": topology.link_slots}
    tallies = {kind: Tally(count, sizes.get(kind, topology.nodes), dense) for kind in KINDS}
    for ids, group in groups.blocks(*chunk, most):
        used = traffic.networked(ids)
        if not used.all():
            ids, group = ids[used], group[used]
        _add_block(traffic, walk, tallies, ids, group)
    return {kind: tally.counts() for kind, tally in tallies.items()}


def _add_block(traffic: Traffic, walk: Walk, tallies: dict[str, Tally], ids: Ints, group: Ints) -> None:
    source, target = traffic.source[ids], traffic.target[ids]
    tallies["send"].add(group, source)
    tallies["receive"].add(group, target)
    tallies["channels"].add(group, source)
    if isinstance(walk, BoxWalk | CubeWalk) and tallies["link"].is_dense:
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

    def violations(self, group: Ints, resource: Ints, count: Ints) -> list[Violation]:
        """One for each (group, resource); the arrays are sorted by group."""
        found = []
        for low, high in runs(group):
            g, above = int(group[low]), resource[low:high]
            users = self._users(g, above)
            for r, c in zip(above.tolist(), count[low:high].tolist(), strict=True):
                found.append(self._violation(g, r, c, users[r]))
        return found

    def _users(self, g: int, resources: Ints) -> dict[int, list[int]]:
        """The first transfers of group g on each of `resources`: those shown, and the first beyond the limit."""
        room = [max(_SHOWN, self._allowed(r) + 1) for r in resources.tolist()]
        users: dict[int, list[int]] = {r: [] for r in resources.tolist()}
        place = np.full(max(self.traffic.topology.link_slots, self.traffic.topology.nodes), -1, np.intp)
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
        topology, offsets = self.traffic.topology, self.traffic.offsets
        name = topology.link_name(resource) if self.kind == "link" else topology.node_name(resource)
        phase, transfer = self.traffic.place_of(users[self._allowed(resource)])
        if self.window == 1:
            when, rule = f"phase {g}", self.kind
            shown = [str(k - int(offsets[phase])) for k in users[:_SHOWN]]
        else:
            last = g + min(self.window, self.traffic.phases) - 1
            when, rule = f"phases {g} to {last} together", f"window-{self.kind}"
            shown = ["{}:{}".format(*self.traffic.place_of(k)) for k in users[:_SHOWN]]
        if count > len(shown):
            shown.append("…")
        width = self._allowed(resource) // self.limit if self.limit else 1
        per = f" per unit of width, the width {width}" if width > 1 else ""
        text = f"{when}: {name} {_VERB[self.kind].format(count)} (transfers {', '.join(shown)}), "
        text += f"the limit is {self.limit}{per}"
        return Violation(phase, transfer, rule, text)
