"""Row: what one rank knows of a pattern, as `alltoallv_init` takes it.

What it sends to whom, and what it receives.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import ValueObject
from conset.execution.plan import PairRanges
from conset.pattern.pattern import Pattern

Counts = NDArray[np.int64]
Column = NDArray[np.integer[Any]]
MESSAGES = "messages.npz"
"""In the folder of a job."""


@dataclass(frozen=True, eq=False)
class RankRow(ValueObject):
    """One rank's row of a pattern, and its column.

    Messages lie in its buffers by peer, without gaps.

    Attributes:
        rank: whose.
        sendcounts: shape=(ranks), int64 [B]: to each rank.
        recvcounts: shape=(ranks), int64 [B]: from each.
    """

    rank: int
    sendcounts: Counts
    recvcounts: Counts

    def __post_init__(self) -> None:
        self._freeze()

    @staticmethod
    def load(path: Path, rank: int) -> RankRow:
        """The row of `rank` in a file of `save_messages`; the rest of the pattern is forgotten."""
        with np.load(path, allow_pickle=False) as file:
            source, target, size = (file[name] for name in ("source", "target", "size"))
            return RankRow.of(source, target, size, int(file["ranks"]), rank)

    @staticmethod
    def of(source: Column, target: Column, size: Column, ranks: int, rank: int) -> RankRow:
        """The row of `rank` among messages from `source[k]` to `target[k]` of `size[k]` bytes."""
        out, into = np.zeros((2, ranks), np.int64)
        np.add.at(out, target[source == rank], size[source == rank])
        np.add.at(into, source[target == rank], size[target == rank])
        return RankRow(rank, out, into)

    @property
    def sdispls(self) -> Counts:
        """shape=(ranks), int64 [B]: where the message to each rank starts."""
        return np.cumsum(self.sendcounts) - self.sendcounts

    @property
    def rdispls(self) -> Counts:
        """shape=(ranks), int64 [B]: where the message from each rank starts."""
        return np.cumsum(self.recvcounts) - self.recvcounts

    @property
    def sends(self) -> PairRanges:
        """What is sent, by target."""
        return _ranges(self.sendcounts, self.sdispls)

    @property
    def receives(self) -> PairRanges:
        """What is received, by source."""
        return _ranges(self.recvcounts, self.rdispls)

    def filled(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """(send buffer, what the receive buffer must be after an exchange), uint8."""
        from conset.execution.measure import fill_buffer  # begins MPI: who starts a job must not

        send = fill_buffer(self.sends, int(self.sendcounts.sum()), self.rank, sending=True)
        return send, fill_buffer(
            self.receives, int(self.recvcounts.sum()), self.rank, sending=False
        )


def _ranges(counts: Counts, starts: Counts) -> PairRanges:
    peers = np.flatnonzero(counts)
    return PairRanges(peers.astype(np.int32), starts[peers], counts[peers])


def save_messages(pattern: Pattern, path: Path) -> None:
    """Writes the messages of a pattern for the ranks of a job."""
    np.savez(
        path, source=pattern.source, target=pattern.target, size=pattern.size, ranks=pattern.ranks
    )
