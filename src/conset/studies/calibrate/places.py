"""Places: which ranks a probe uses, chosen by the routes of the network that the user states.

Two routes *share* where they have a link in common. What a probe isolates is a statement about
links: pairs whose routes have exactly one link in common, pairs that have none, one rank's targets
behind different first links. On a crossbar nothing is shared but ports. Of more than `MOST` ranks
that many are considered, evenly spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from conset.machine.machine import Machine
from conset.machine.network.routes import route_links

MOST = 64
"""Ranks whose pairs are looked at."""

BLOCKING = 5
"""Flows beside the one that they hold up: fair sharing leaves it a sixth of the link."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Crossing:
    """Pairs through one link.

    Attributes:
        link: its slot.
        pairs: no rank twice as a sender, none twice as a receiver.
        more: others through the same link, whatever else they share.
    """

    link: int
    pairs: tuple[Pair, ...]
    more: tuple[Pair, ...]


@dataclass(frozen=True)
class Hotspot:
    """A flow that shares its source's first links with one that is held up further on.

    Attributes:
        blocked: flows through one link; the first has the source of `victim`.
        victim: leaves the way of the first before that link, and shares nothing with the others.
    """

    blocked: tuple[Pair, ...]
    victim: Pair


class Places:
    """Pairs of ranks and the links between them; rank r is on node r."""

    def __init__(self, machine: Machine, ranks: int) -> None:
        """Walks the routes of all pairs that are considered."""
        self.ranks = ranks
        chosen = np.unique(np.linspace(0, ranks - 1, min(ranks, MOST)).astype(np.int32))
        source, target = (grid.ravel() for grid in np.meshgrid(chosen, chosen, indexing="ij"))
        apart = source != target
        source, target = source[apart], target[apart]
        offsets, links = route_links(machine.topology, machine.routing, source, target)
        self.chosen: list[int] = chosen.tolist()
        self.links: dict[Pair, tuple[int, ...]] = {
            (int(s), int(t)): tuple(links[offsets[k] : offsets[k + 1]].tolist())
            for k, (s, t) in enumerate(zip(source, target, strict=True))
        }

    def hops(self, pair: Pair) -> int:
        """Links of a route."""
        return len(self.links[pair])

    def near(self) -> Pair:
        """The pair with the fewest links, the first of these."""
        return min(self.links, key=lambda pair: (self.hops(pair), pair))

    def by_distance(self) -> list[Pair]:
        """One pair for the least, the middle and the greatest distance, where there are several."""
        first: dict[int, Pair] = {}
        for pair in self.links:
            first.setdefault(self.hops(pair), pair)
        hops = sorted(first)
        return [first[hops[k]] for k in sorted({0, len(hops) // 2, len(hops) - 1})]

    def fan(self, *, out: bool) -> tuple[int, tuple[int, ...]]:
        """The most others that a rank reaches, or is reached by, over ways that share no link.

        (rank, others).
        """
        best: tuple[int, tuple[int, ...]] = (0, ())
        for rank in self.chosen:
            others = sorted(
                (other for other in self.chosen if other != rank),
                key=lambda other: (self.hops((rank, other) if out else (other, rank)), other),
            )
            apart = _apart(
                ((rank, other) if out else (other, rank) for other in others), self.links, 8
            )
            if len(apart) > len(best[1]):
                best = rank, tuple(pair[1] if out else pair[0] for pair in apart)
            if len(best[1]) >= min(8, len(self.chosen) - 1):
                break
        return best

    def disjoint(self, most: int = 8) -> tuple[Pair, ...]:
        """Pairs that share no rank and no link."""
        ordered = sorted(self.links, key=lambda pair: (self.hops(pair), pair))
        return _apart(ordered, self.links, most, ranks=True)

    def crossing(self, most: int = 8) -> Crossing | None:
        """The link that most pairs of different ranks use, which share nothing else.

        None: no two pairs do.
        """
        through: dict[int, list[Pair]] = {}
        for pair, links in self.links.items():
            for link in links:
                through.setdefault(link, []).append(pair)
        best: Crossing | None = None
        for link, pairs in sorted(through.items(), key=lambda item: (-len(item[1]), item[0])):
            chosen: list[Pair] = []
            used: set[int] = set()
            for pair in sorted(pairs, key=lambda pair: (self.hops(pair), pair)):
                if any(pair[0] == s or pair[1] == t or pair == (t, s) for s, t in chosen):
                    continue
                others = set(self.links[pair]) - {link}
                if others & used:
                    continue
                chosen.append(pair)
                used |= others
                if len(chosen) == most:
                    break
            if len(chosen) > 1 and (best is None or len(chosen) > len(best.pairs)):
                more = [pair for pair in _spread(pairs) if pair not in chosen]
                best = Crossing(link, tuple(chosen), tuple(more[: 2 * most]))
            if best is not None and len(best.pairs) == most:
                break
        return best

    def hotspots(self, most: int = 3) -> list[Hotspot]:
        """Places for back-pressure, of different links; the more flows are blocked the better."""
        through: dict[int, list[Pair]] = {}
        for pair, links in self.links.items():
            for link in links[1:]:
                through.setdefault(link, []).append(pair)
        found: list[Hotspot] = []
        for link, pairs in sorted(through.items(), key=lambda item: (-len(item[1]), item[0])):
            spot = self._hotspot(link, pairs)
            if spot is not None:
                found.append(spot)
            if len(found) == most:
                break
        return found

    def _hotspot(self, link: int, late: Sequence[Pair]) -> Hotspot | None:
        all_through = [pair for pair, links in self.links.items() if link in links]
        best: Hotspot | None = None
        for blocked in late[:16]:
            before = self.links[blocked][: self.links[blocked].index(link)]
            others = [
                pair
                for pair in _spread(all_through)
                if not set(self.links[pair]) & set(before) and pair[0] != blocked[0]
            ][:BLOCKING]
            if not others or (best is not None and len(others) < len(best.blocked)):
                continue
            taken = {link for pair in (blocked, *others) for link in self.links[pair]} - set(before)
            ends = {rank for pair in (blocked, *others) for rank in pair}
            for target in self.chosen:
                way = self.links.get((blocked[0], target), ())
                if target in ends or not way or way[0] != before[0] or set(way) & taken:
                    continue
                best = Hotspot((blocked, *others), (blocked[0], target))
                break
        return best


def _spread(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The same pairs, those of different senders first."""
    left = list(pairs)
    while left:
        seen: set[int] = set()
        rest = []
        for pair in left:
            if pair[0] in seen:
                rest.append(pair)
            else:
                seen.add(pair[0])
                yield pair
        left = rest


def _apart(
    pairs: Iterable[Pair], links: dict[Pair, tuple[int, ...]], most: int, *, ranks: bool = False
) -> tuple[Pair, ...]:
    """The first pairs that have no link in common, with `ranks` no rank either."""
    chosen: list[Pair] = []
    used: set[int] = set()
    ends: set[int] = set()
    for pair in pairs:
        if set(links[pair]) & used or (ranks and set(pair) & ends):
            continue
        chosen.append(pair)
        used |= set(links[pair])
        ends |= set(pair)
        if len(chosen) == most:
            break
    return tuple(chosen)
