"""Plan: what each rank executes, as arrays per rank.

Where bytes lie: the send buffer of a rank holds its messages one after the other in the order of their targets, the
receive buffer in the order of their sources; several messages of one pair follow each other in the order of their
indices. So the bytes from one rank to another are one range in both buffers, as `MPI_Alltoallv` has them. A split
message is cut into consecutive byte ranges in phase order, then list order. Bytes of a rank to itself
(`Pattern.local_bytes`) are no message: the application copies them beside the exchange.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.arrays import ValueObject, frozen_ints
from conset.errors import InputError, UsageError
from conset.schedule.sync import Sync, parse_sync

MAX_BYTES = 2**31 - 1
"""Largest transfer [B]: a count of MPI is an `int`; the large-count calls are not in every library."""

_OPERATION_ARRAYS: dict[str, type[np.int32] | type[np.int64]] = {
    "phase": np.int32,
    "peer": np.int32,
    "offset": np.int64,
    "bytes": np.int64,
    "transfer": np.int32,
}


@dataclass(frozen=True, eq=False)
class Operations(ValueObject):
    """Sends or receives of all ranks; those of rank `r` are `offsets[r] … offsets[r + 1] - 1`, in posting order.

    Attributes:
        offsets: shape=(ranks + 1), int64.
        phase: shape=(operations), int32: the phase each belongs to.
        peer: shape=(operations), int32: the rank at the other end.
        offset: shape=(operations), int64 [B]: where it starts in the rank's buffer.
        bytes: shape=(operations), int64 [B].
        transfer: shape=(operations), int32: index of the schedule's transfer; the same number at both ends.
    """

    offsets: NDArray[np.int64]
    phase: NDArray[np.int32]
    peer: NDArray[np.int32]
    offset: NDArray[np.int64]
    bytes: NDArray[np.int64]
    transfer: NDArray[np.int32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen_ints(self.offsets, np.int64, "offsets"))
        if self.offsets.ndim != 1 or self.offsets.size < 2 or self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 0):
            raise InputError("offsets: must rise from 0, one more than ranks")
        for name, dtype in _OPERATION_ARRAYS.items():
            array = frozen_ints(getattr(self, name), dtype, name)
            if array.shape != (self.offsets[-1],):
                raise InputError(f"{name} has shape {array.shape}: offsets end at {self.offsets[-1]}")
            object.__setattr__(self, name, array)

    @property
    def count(self) -> int:
        """Number of operations of all ranks."""
        return int(self.offsets[-1])

    @property
    def rank(self) -> NDArray[np.int32]:
        """shape=(operations), int32: the rank that executes each."""
        return np.repeat(np.arange(self.offsets.size - 1, dtype=np.int32), np.diff(self.offsets))

    def of(self, rank: int) -> slice:
        """The operations of one rank, as a slice of the arrays."""
        return slice(int(self.offsets[rank]), int(self.offsets[rank + 1]))


@dataclass(frozen=True, eq=False)
class Plan(ValueObject):
    """What each rank executes: its sends and receives in posting order, and the policy that keeps phases apart.

    Attributes:
        phases: number of phases; with `sync` it fixes the number of barriers for every rank alike.
        sync: the policy.
        sends: of all ranks.
        receives: of all ranks.
        send_bytes: shape=(ranks), int64 [B]: size of each rank's send buffer.
        receive_bytes: shape=(ranks), int64 [B]: size of each rank's receive buffer.
        in_flight: sends a rank keeps open at once, in posting order; None: all.
    """

    phases: int
    sync: Sync
    sends: Operations
    receives: Operations
    send_bytes: NDArray[np.int64]
    receive_bytes: NDArray[np.int64]
    in_flight: int | None = None

    def __post_init__(self) -> None:
        if self.in_flight is not None and self.in_flight < 1:
            raise UsageError(f"in flight {self.in_flight}: must be at least 1, or all")
        if self.sends.offsets.size != self.receives.offsets.size:
            raise InputError(
                f"sends are of {self.ranks} ranks, receives of {self.receives.offsets.size - 1}: must agree"
            )
        for name in ("send_bytes", "receive_bytes"):
            array = frozen_ints(getattr(self, name), np.int64, name)
            if array.shape != (self.ranks,):
                raise InputError(f"{name} has shape {array.shape}: one per rank required")
            object.__setattr__(self, name, array)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.sends.offsets.size - 1)

    @property
    def transfers(self) -> int:
        """Number of transfers between ranks."""
        return self.sends.count

    @property
    def bytes(self) -> int:
        """Bytes that one exchange delivers [B]."""
        return int(self.receives.bytes.sum())

    def pair_ranges(self, rank: int) -> tuple[PairRanges, PairRanges]:
        """What `rank` sends to and receives from each peer, as one range per peer in rank order."""
        return PairRanges.of(self.sends, rank), PairRanges.of(self.receives, rank)

    def save(self, path: Path) -> None:
        """Writes an `.npz`, not compressed: ranks read it at start-up."""
        arrays: dict[str, Any] = {
            f"{side}_{name}": getattr(getattr(self, side), name)
            for side in ("sends", "receives")
            for name in ("offsets", *_OPERATION_ARRAYS)
        }
        arrays |= {"phases": self.phases, "sync": str(self.sync), "in_flight": self.in_flight or 0}
        np.savez(path, send_bytes=self.send_bytes, receive_bytes=self.receive_bytes, **arrays)

    @staticmethod
    def load(path: Path) -> Plan:
        """Reads what `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            sends, receives = (
                Operations(**{name: file[f"{side}_{name}"] for name in ("offsets", *_OPERATION_ARRAYS)})
                for side in ("sends", "receives")
            )
            sync = parse_sync(str(file["sync"]))
            in_flight = int(file["in_flight"]) or None
            return Plan(
                int(file["phases"]), sync, sends, receives, file["send_bytes"], file["receive_bytes"], in_flight
            )

    def __repr__(self) -> str:
        return f"Plan(ranks={self.ranks}, phases={self.phases}, transfers={self.transfers}, sync={self.sync})"


@dataclass(frozen=True, eq=False)
class PairRanges(ValueObject):
    """The bytes a rank exchanges with each peer, parts put together; only peers that there are, in rank order.

    Attributes:
        peer: shape=(peers), int32.
        offset: shape=(peers), int64 [B]: start in the rank's buffer.
        bytes: shape=(peers), int64 [B].
    """

    peer: NDArray[np.int32]
    offset: NDArray[np.int64]
    bytes: NDArray[np.int64]

    def __post_init__(self) -> None:
        self._freeze()

    @staticmethod
    def of(operations: Operations, rank: int) -> PairRanges:
        """The ranges of one rank's sends or receives."""
        rows = operations.of(rank)
        order = np.argsort(operations.peer[rows], kind="stable")
        peer, first = np.unique(operations.peer[rows][order], return_index=True)
        if not peer.size:
            return PairRanges(peer, np.zeros(0, np.int64), np.zeros(0, np.int64))
        offset = np.minimum.reduceat(operations.offset[rows][order], first)
        return PairRanges(peer, offset, np.add.reduceat(operations.bytes[rows][order], first))
