"""Traffic: the transfers of a document put on the nodes of its machine.

As far as they can be, and groups of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from conset.base import Bools, Ints, Ints32, count_of
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.schedule.document import Document
from conset.verification.verification import Violation

Part = TypeVar("Part")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Traffic:
    """What uses the network in which phase.

    A transfer whose rank or node does not exist cannot be put anywhere: it is reported and left out
    of the loads, as are those inside a node, which use no port, link or channel.

    Attributes:
        document: the schedule as written.
        topology: the network.
        offsets: shape=(phases + 1): the transfers of each phase.
        source: shape=(transfers): the node each leaves; 0 where it is unknown.
        target: shape=(transfers): the node each enters.
        placed: shape=(transfers), or None for all: whether both nodes exist.
    """

    document: Document
    topology: Topology
    offsets: Ints
    source: Ints32
    target: Ints32
    placed: Bools | None

    @property
    def phases(self) -> int:
        """Number of phases."""
        return int(self.offsets.size - 1)

    def place_of(self, transfer: int) -> tuple[int, int]:
        """(phase, position in its list) of one transfer."""
        phase = int(np.searchsorted(self.offsets, transfer, side="right")) - 1
        return phase, transfer - int(self.offsets[phase])

    def where(self, transfer: int) -> str:
        """`phase 3 transfer 4`."""
        return "phase {} transfer {}".format(*self.place_of(transfer))

    def violation(self, transfer: int, rule: str, text: str) -> Violation:
        """A rule that one transfer breaks."""
        return Violation(*self.place_of(transfer), rule, f"{self.where(transfer)}: {text}")

    def networked(self, ids: Ints) -> Bools:
        """shape=(ids): which of them use the network."""
        uses: Bools = self.source[ids] != self.target[ids]
        return uses if self.placed is None else uses & self.placed[ids]


@dataclass(frozen=True, eq=False)
class Groups:
    """Transfers checked together.

    Group g is `first[g] … last[g] - 1`, a phase or a window of phases.
    """

    first: Ints
    last: Ints

    @staticmethod
    def of_phases(offsets: Ints, window: int = 1) -> Groups:
        """Every `window` consecutive phases; one group of all where there are fewer."""
        width = min(window, offsets.size - 1)
        return (
            Groups(offsets[: offsets.size - width], offsets[width:])
            if width
            else Groups(offsets[:0], offsets[:0])
        )

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.first.size)

    @property
    def transfers(self) -> int:
        """Transfers of all groups, one that is in several counted in each."""
        return int((self.last - self.first).sum())

    def chunks(self, most_groups: int, most_transfers: int) -> Iterator[tuple[int, int]]:
        """Ranges of groups of bounded size, at least one group in each."""
        total = np.cumsum(self.last - self.first)
        low = 0
        while low < self.count:
            done = int(total[low - 1]) if low else 0
            high = int(np.searchsorted(total, done + most_transfers, side="right"))
            high = max(low + 1, min(high, low + most_groups))
            yield low, high
            low = high

    def blocks(self, low: int, high: int, most: int) -> Iterator[tuple[Ints, Ints]]:
        """(transfers, group of each counted from `low`) of groups `low … high - 1`.

        Only a single group is cut, into blocks of at most `most` transfers; several come as
        `chunks` bounded them.
        """
        if high - low > 1:
            length = self.last[low:high] - self.first[low:high]
            group = np.repeat(np.arange(high - low), length)
            shift = self.first[low:high] - (np.cumsum(length) - length)
            yield np.arange(group.size) + np.repeat(shift, length), group
            return
        for begin in range(int(self.first[low]), int(self.last[low]), most):
            ids = np.arange(begin, min(begin + most, int(self.last[low])))
            yield ids, np.zeros_like(ids)


def put_on_nodes(document: Document, machine: Machine) -> tuple[Traffic, list[Violation]]:
    """The traffic of a document, with errors in its ranks, placement and transfers' ranks."""
    topology = machine.topology
    if document.placement is None:
        node_of = np.arange(min(max(document.ranks, 0), topology.endpoints), dtype=np.int32)
    else:
        given = document.placement[: max(document.ranks, 0)]
        node_of = np.where((given >= 0) & (given < topology.endpoints), given, -1).astype(np.int32)
    ranks = document.transfer_source, document.transfer_target
    ends = [_node_of_ranks(rank, node_of, document.placement is None) for rank in ranks]
    placed = None
    if any(end.size and end.min() < 0 for end in ends):
        placed = (ends[0] >= 0) & (ends[1] >= 0)
        ends = [np.where(placed, end, 0).astype(np.int32) for end in ends]
    offsets = document.phase_offsets.astype(np.intp, copy=False)
    traffic = Traffic(document, topology, offsets, ends[0], ends[1], placed)
    return traffic, list(_check_ranks(document, machine))


def _node_of_ranks(rank: Ints | Ints32, node_of: Ints32, own: bool) -> Ints32:
    """The node of each rank, -1 where there is none; `own`: rank r is on node r."""
    if not rank.size or (rank.min() >= 0 and rank.max() < node_of.size):
        return rank.astype(np.int32, copy=False) if own else node_of[rank]
    inside = (rank >= 0) & (rank < node_of.size)
    node = np.full(rank.size, -1, np.int32)
    node[inside] = node_of[rank[inside]]
    return node


def _check_ranks(document: Document, machine: Machine) -> Iterator[Violation]:
    ranks, place, nodes = document.ranks, document.placement, machine.topology.endpoints
    if ranks < 1:
        yield Violation(
            None, None, "ranks", f"the pattern has {ranks} ranks, at least 1 is required"
        )
    elif place is None:
        if ranks > nodes:
            yield Violation(
                None,
                None,
                "ranks",
                f"{count_of(ranks, 'rank')} without a placement on {count_of(nodes, 'node')} of "
                f"{machine.name}",
            )
    else:
        if place.size != ranks:
            yield Violation(
                None,
                None,
                "placement",
                f"the placement has {count_of(place.size, 'node')} for {count_of(ranks, 'rank')}",
            )
        for rank in np.flatnonzero((place < 0) | (place >= nodes)).tolist():
            yield Violation(
                None,
                None,
                "placement",
                f"placement[{rank}] = {place[rank]}: must be a node from 0 to {nodes - 1}",
            )


def in_order(check: Callable[[Part], Found], parts: Iterable[Part]) -> Iterator[Found]:
    """What `check` finds in each of `parts`, in their order.

    NumPy lets threads run while it counts.
    """
    parts = list(parts)
    threads = min(len(parts), os.cpu_count() or 1)
    if threads <= 1:
        yield from map(check, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(check, parts)
