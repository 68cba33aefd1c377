"""How a schedule runs: what keeps its phases apart, and in which order ranks post their messages.

Also how many messages are open at once, and which must wait for which. Receives are posted first,
before anything is sent to them, but under `detect`, where messages are received as they are found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from conset.base import (
    InputError,
    Integers,
    Ints32,
    UsageError,
    take_rows,
    unknown_name,
)

Kind = Literal["none", "local", "ready", "barrier", "detect"]

KINDS: tuple[Kind, ...] = ("none", "local", "ready", "barrier", "detect")


@dataclass(frozen=True)
class Sync:
    """A synchronization policy.

    - `none` (S2): everything is posted in schedule order and waited for at the end.
    - `local`: a rank's own transfers of a phase end before its next phase.
    - `ready` (S1): `local`, and a source sends only after a zero-byte signal from its target.
    - `barrier`: all transfers of `every` phases end everywhere before the next phase starts
      anywhere.
    - `detect` (send-detect-receive): as `none`, but no receive is posted before its message has
      come into a system buffer, from which it is copied.

    Attributes:
        kind: one of the five.
        every: phases from one barrier to the next, at least 1; 1 for every other kind.
    """

    kind: Kind
    every: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("sync", str(self.kind), KINDS)
        if self.every < 1 or (self.kind != "barrier" and self.every != 1):
            least = "at least 1" if self.kind == "barrier" else "1"
            raise UsageError(f"sync '{self.kind}': every = {self.every}: must be {least}")

    @property
    def is_one_step(self) -> bool:
        """Whether nothing separates phases: all is sent at once, and waited for at the end."""
        return self.kind in ("none", "detect")

    def barriers(self, phases: int) -> int:
        """Barriers between `phases` phases: none after the last, none before the first."""
        return (phases - 1) // self.every if self.kind == "barrier" and phases > 0 else 0

    def groups(self, phases: int) -> int:
        """Groups of phases that a barrier separates.

        1 for the kinds without barriers, 0 without phases.
        """
        return self.barriers(phases) + 1 if phases > 0 else 0

    def __str__(self) -> str:
        return self.kind if self.every == 1 else f"{self.kind}:{self.every}"


OF_PAPERS = {"s1": "ready", "s2": "none", "sdr": "detect", "send-detect-receive": "detect"}
"""Policies by their names in the papers."""


def parse_sync(text: str, *others: str) -> Sync:
    """The policy a word means: `none`, `local`, `ready`, `detect`, `barrier` or `barrier:K`.

    `others` are words that the caller knows itself, for the message.

    Raises:
        UsageError: another word, or K is no whole number of at least 1.
    """
    name, colon, every = text.strip().partition(":")
    if kind := OF_PAPERS.get(name.lower()):
        raise UsageError(f"sync {name}: is the policy {kind}", options=["sync"])
    if name not in KINDS:
        raise unknown_name("sync", text, (*KINDS, "barrier:K", *others))
    if not colon:
        return Sync(name)
    if name != "barrier":
        raise UsageError(f"sync '{text}': only barrier takes a number, as in barrier:4")
    if re.fullmatch(r"[0-9]{1,9}", every) is None or int(every) < 1:
        raise UsageError(f"sync '{text}': K of barrier:K must be a whole number of at least 1")
    return Sync(name, int(every))


InFlight = int | Literal["all"]

PAIRWISE = "pairwise"
ORDERS = ("ascending", "rotated", "random", "longest-first", PAIRWISE)
"""Orders of `naive` that `auto` tries."""
BY_DIMENSION = "dimension"
POSTINGS = ("schedule", *ORDERS, BY_DIMENSION)
"""The values of `order_messages`; `schedule`: the list is as its method made it."""
MAX_IN_FLIGHT = 999_999_999
"""What `--in-flight` takes at most."""


def order_of_transfers(before: Ints32 | None, message: Ints32) -> tuple[Ints32, Ints32]:
    """(first, second): transfer `first[k]` ends before transfer `second[k]` starts.

    Both empty without an order.

    Every part of a message comes before every part of those behind it.

    Args:
        before: shape=(pairs, 2), int32, messages, or None.
        message: shape=(transfers), int32: the message of each transfer.
    """
    if before is None or not message.size:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    at = np.full(max(int(message.max()), int(before.max(initial=0))) + 1, -1, np.int32)
    at[message] = np.arange(message.size, dtype=np.int32)
    if np.count_nonzero(at >= 0) == message.size:  # whole messages, as nearly always
        first, second = at[before[:, 0]], at[before[:, 1]]
        scheduled = (first >= 0) & (second >= 0)
        return (first, second) if scheduled.all() else (first[scheduled], second[scheduled])
    order = np.argsort(message, kind="stable")
    low, high = (np.searchsorted(message[order], before, side=side) for side in ("left", "right"))
    count = high - low
    pairs = count[:, 0] * count[:, 1]
    pair = np.repeat(np.arange(len(before)), pairs)
    step = np.arange(pair.size) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    width = np.maximum(count[pair, 1], 1)
    first = order[low[pair, 0] + step // width]
    second = order[low[pair, 1] + step % width]
    return first.astype(np.int32), second.astype(np.int32)


def depths(before: Integers | None, messages: int) -> Ints32:
    """shape=(messages), int32: how many must end before each, one after the other.

    -1 behind or in a cycle.

    Sorted by depth, every message comes after those before it.

    Args:
        before: shape=(pairs, 2), messages (or transfers), or None.
        messages: how many there are.
    """
    if before is None or not len(before):
        return np.zeros(messages, np.int32)
    return depths_in_graph(before[:, 0], before[:, 1], messages)


def depths_in_graph(tail: Integers, head: Integers, nodes: int) -> Ints32:
    """shape=(nodes), int32: the longest way that leads to each; -1 behind or in a cycle.

    All of one depth at once: O(nodes + edges) time, a few calls a depth.

    Args:
        tail: shape=(edges): where each begins.
        head: shape=(edges): where it leads.
        nodes: how many there are.
    """
    depth = np.zeros(nodes, np.int32)
    # numbers below 2^16 are sorted in linear time
    order = np.lexsort(((tail & 0xFFFF).astype(np.uint16), (tail >> 16).astype(np.uint16)))
    second = head[order]
    starts = np.searchsorted(tail[order], np.arange(nodes + 1))
    waits = np.bincount(head, minlength=nodes)
    depth[waits > 0] = -1
    free, level, place = np.flatnonzero(waits == 0), 0, np.empty(nodes, np.int64)
    while free.size:
        reached = second[take_rows(starts, free)[1]]
        np.subtract.at(waits, reached, 1)
        ready = reached[waits[reached] == 0]
        place[ready] = np.arange(ready.size)
        free, level = ready[place[ready] == np.arange(ready.size)], level + 1
        depth[free] = level
    return depth


def most_posted(source: Ints32, target: Ints32, phase_of: Ints32, sync: Sync) -> tuple[int, int]:
    """(most receives posted at once at any node, that node).

    All under `none`, no one under `detect`, else those of a phase or group.

    Args:
        source: shape=(messages), int32: nodes; a message inside a node needs no receive.
        target: shape=(messages), int32: nodes.
        phase_of: shape=(messages), int32, not falling.
        sync: the policy.
    """
    inside = source != target
    if sync.kind == "detect" or not inside.any():
        return 0, 0
    group = (
        np.zeros(phase_of.size, np.int64)
        if sync.is_one_step
        else phase_of.astype(np.int64) // sync.every
    )
    groups = int(group.max()) + 1
    key = target[inside].astype(np.int64) * groups + group[inside]
    if key.max() < 4 * key.size:  # counted without sorting: predictions ask for every candidate
        counts = np.bincount(key)
        worst = int(np.argmax(counts))
        return int(counts[worst]), worst // groups
    keys, counts = np.unique(key, return_counts=True)
    worst = int(np.argmax(counts))
    return int(counts[worst]), int(keys[worst]) // groups


def check_in_flight(value: Any) -> InFlight:
    """`value`, checked to be a number of sends or `all`.

    Raises:
        InputError: anything else.
    """
    if value == "all":
        return "all"
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_IN_FLIGHT:
        raise InputError(
            f"in_flight = {value!r:.40}: must be a whole number from 1 to {MAX_IN_FLIGHT}, or 'all'"
        )
    return value


def check_posting(value: Any) -> str:
    """`value`, checked to be one of `POSTINGS`.

    Raises:
        InputError: anything else, with the nearest word.
    """
    if not isinstance(value, str) or value not in POSTINGS:
        raise InputError(str(unknown_name("posting", str(value)[:40], POSTINGS)))
    return value
