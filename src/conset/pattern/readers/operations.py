"""Operations of ranks: sends, receives, and what each waits for, as traces and runtimes list them.

Matching: the k-th send from one rank to another with a tag meets the k-th receive of the same.

Order: a message starts when its sender starts it. So it comes after every message whose send or
receive its send waits for, directly or through operations that move nothing. That a receive is
posted late orders nothing: a message may arrive before. What a send of the same rank already waits
for is not repeated, so that an order phase by phase has as many pairs as operations.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from conset.base import InputError
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import pattern_from_list

Kind = Literal["send", "receive", "step"]
ANY_SOURCE = -1
MAX_PAIRS = 1 << 24
"""Most pairs of an order that is read."""


@dataclass
class Operations:
    """Operations in the order in which a file lists them; an operation is known by its index.

    Attributes:
        kind: of each; a `step` moves nothing.
        rank: where it is executed.
        peer: the other rank of a send or receive; `ANY_SOURCE` takes what nothing else takes.
        size: [B].
        tag: sends meet receives of the same tag.
        place: position in the file.
        after: operations of the same rank that end before it starts.
        beside: those that start before it starts.
        goes_on: operation → the one before it, of whose message it is a part if the other end says
            so too.
    """

    kind: list[Kind] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    peer: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    tag: list[object] = field(default_factory=list)
    place: list[str] = field(default_factory=list)
    after: list[Sequence[int]] = field(default_factory=list)
    beside: dict[int, list[int]] = field(default_factory=dict)
    goes_on: dict[int, int] = field(default_factory=dict)

    def add(
        self,
        kind: Kind,
        rank: int,
        place: str,
        *,
        peer: int = 0,
        size: int = 0,
        tag: object = 0,
        after: Sequence[int] = (),
    ) -> int:
        """An operation more; its index."""
        self.kind.append(kind)
        self.rank.append(rank)
        self.peer.append(peer)
        self.size.append(size)
        self.tag.append(tag)
        self.place.append(place)
        self.after.append(after)
        return len(self.kind) - 1

    def matched(self) -> dict[int, int]:
        """Send → the receive that it meets.

        Raises:
            InputError: a send or a receive that meets none, or a receive that is shorter.
        """
        waiting: dict[tuple[int, int, object], deque[int]] = defaultdict(deque)
        sends: list[int] = []
        for k, kind in enumerate(self.kind):
            if kind == "receive":
                waiting[self.peer[k], self.rank[k], self.tag[k]].append(k)
            elif kind == "send":
                sends.append(k)
        found = {}
        for send in sends:
            source, target, tag = self.rank[send], self.peer[send], self.tag[send]
            queue = waiting[source, target, tag] or waiting[ANY_SOURCE, target, tag]
            if not queue:
                rule = f"no receive on rank {target} from rank {source} with tag {tag} is left"
                raise InputError(f"{self.place[send]}: send to {target}: {rule}")
            receive = found[send] = queue.popleft()
            if self.size[receive] < self.size[send]:
                raise InputError(
                    f"{self.place[receive]}: receives {self.size[receive]} B, rank {source} sends "
                    f"{self.size[send]} B ({self.place[send]})"
                )
        left = min((queue[0] for queue in waiting.values() if queue), default=None)
        if left is not None:
            ranks = "any rank" if self.peer[left] == ANY_SOURCE else f"rank {self.peer[left]}"
            rule = f"no send on {ranks} with tag {self.tag[left]} is left"
            raise InputError(f"{self.place[left]}: receive from {ranks}: {rule}")
        return found

    def in_order(self, matched: Mapping[int, int] = MappingProxyType({})) -> Sequence[int]:
        """All operations, each after those of its rank that it waits for.

        Args:
            matched: receive → send, which comes before it.

        Raises:
            InputError: they wait for each other.
        """
        waits = [
            (*after, *self.beside.get(k, ()), *([matched[k]] if k in matched else []))
            for k, after in enumerate(self.after)
        ]
        if all(before < k for k, each in enumerate(waits) for before in each):
            return range(len(waits))
        try:
            return [*TopologicalSorter(dict(enumerate(waits))).static_order()]
        except CycleError as error:
            first = error.args[1][0]
            raise InputError(f"{self.place[first]}: waits for itself, through others") from None

    def pattern(self, path: Path, ranks: int | None, notes: Sequence[str] = ()) -> Pattern:
        """All messages, and their order.

        Args:
            path: of the file.
            ranks: how many there are; None: one more than the largest.
            notes: what of the file is left out.

        Raises:
            InputError: as `matched` and `in_order`, or an order of more than `MAX_PAIRS` pairs.
        """
        sends = self.matched()
        message: dict[int, int] = {}
        first: list[int] = []
        size: list[int] = []
        for send, receive in sends.items():
            before_it = self.goes_on.get(send, -1)
            if sends.get(before_it) == self.goes_on.get(receive) and before_it in message:
                message[send] = message[receive] = message[before_it]
                size[message[send]] += self.size[send]
            else:
                message[send] = message[receive] = len(first)
                first.append(send)
                size.append(self.size[send])
        own = {m for m, s in enumerate(first) if not size[m] or self.rank[s] == self.peer[s]}
        # of each operation the messages that what waits for it comes after
        ahead: dict[int, frozenset[int]] = {}
        implied: dict[int, frozenset[int]] = {}
        pairs: list[tuple[int, int]] = []
        for k in self.in_order():
            before: frozenset[int] = frozenset().union(*(ahead[w] for w in self.after[k]))
            for started in self.beside.get(k, ()):
                before |= implied.get(started, ahead[started])
            before -= frozenset().union(*(implied[s] for s in before if s in implied))
            if self.kind[k] == "step" or message[k] in own:
                ahead[k] = before
                continue
            if self.kind[k] == "receive":
                ahead[k] = before | {k}
                continue
            pairs += [(message[w], message[k]) for w in before if message[w] != message[k]]
            if len(pairs) > MAX_PAIRS:
                raise InputError(f"{path}: the order has more than {MAX_PAIRS:,} pairs of messages")
            ahead[k], implied[k] = frozenset({k}), before
        places = [self.place[s] for s in first]
        return pattern_from_list(
            np.array([self.rank[s] for s in first], np.int64),
            np.array([self.peer[s] for s in first], np.int64),
            np.array(size, np.int64),
            sorted(set(pairs)),
            lambda k: places[k],
            path,
            ranks,
            notes=notes,
        )
