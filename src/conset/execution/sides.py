"""Sides: what a rank sends, or receives, as an application gives it: array, counts, displacements.

A receive buffer may be given, or made, when its sizes are known (`Receiver`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conset import _core
from conset.base.arrays import frozen_ints
from conset.base.errors import InputError, UsageError
from conset.execution.buffers import Buffer, find_buffer, require_apart

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Elements:
    """What counts and displacements of a side are in.

    Attributes:
        datatype: of MPI.
        each: so many of it are one element: numbers in a row of an array.
        name: `float64`, or `float64 × 3` of rows; empty where the caller gave the datatype.
        dtype: of an array that holds them.
        row: shape of one element in such an array.
    """

    datatype: MPI.Datatype
    each: int
    name: str
    dtype: np.dtype[Any]
    row: tuple[int, ...]


@dataclass(frozen=True)
class Side:
    """One side of an exchange.

    Attributes:
        buffer: where its elements are; None: not there yet.
        elements: what they are.
        blocks: in the order of the peers, counted in numbers of `elements.datatype`; None: not
            known yet.
        owner: the array as it was given.
    """

    buffer: Buffer | None
    elements: Elements
    blocks: _core.Blocks | None
    owner: Any


def no_sides() -> tuple[Side, Side]:
    """Of a rank whose arguments are wrong, which the core hears of all the same."""
    from mpi4py import MPI

    nothing = Side(None, Elements(MPI.BYTE, 1, "", np.dtype(np.uint8), ()), None, None)
    return nothing, nothing


@dataclass(frozen=True)
class Arguments:
    """Buffers, counts and displacements of a rank as it gave them; see `conset.alltoallv_init`."""

    sendbuf: Any
    sendcounts: ArrayLike
    sdispls: ArrayLike | None
    recvbuf: Any
    recvcounts: ArrayLike | None
    rdispls: ArrayLike | None

    def sides(self, targets: NDArray[np.int32], sources: NDArray[np.int32]) -> tuple[Side, Side]:
        """What is sent and what is received, checked as far as one rank can.

        Args:
            targets: shape=(blocks to send).
            sources: shape=(blocks to receive); not looked at where `recvcounts` is None.

        Raises:
            InputError: buffers, counts and displacements do not fit each other. UsageError: an
                argument is missing.
        """
        send = _side(self.sendbuf, "send", targets, self.sendcounts, self.sdispls)
        if self.recvcounts is None and self.rdispls is not None:
            raise UsageError("rdispls: not without recvcounts, blocks then lie one after the other")
        if self.recvcounts is None and self.recvbuf is None:
            if not send.elements.name:
                raise UsageError("recvbuf: required where sendbuf comes with a datatype")
            return send, Side(None, send.elements, None, None)
        receive = _side(self.recvbuf, "recv", sources, self.recvcounts, self.rdispls)
        assert send.buffer is not None
        assert receive.buffer is not None
        require_apart(send.buffer, receive.buffer)
        names = (send.elements.name, receive.elements.name)
        if all(names) and names[0] != names[1]:
            raise InputError(
                f"recvbuf: elements are {names[1]}, those of sendbuf {names[0]}: must be the same"
            )
        return send, receive


def _side(
    given: Any,
    end: str,
    peers: NDArray[np.int32],
    counts: ArrayLike | None,
    displs: ArrayLike | None,
) -> Side:
    """The `send` or `recv` side of what was given; without counts its blocks are not known."""
    buffer, elements = _find(given, f"{end}buf")
    blocks = None if counts is None else _blocks(end, buffer, elements, peers, counts, displs)
    return Side(buffer, elements, blocks, given[0] if isinstance(given, list | tuple) else given)


def _find(given: Any, name: str) -> tuple[Buffer, Elements]:
    """Buffer and elements of an array, or of `[array, datatype]` as mpi4py has it."""
    from mpi4py import MPI

    if isinstance(given, list | tuple):
        if len(given) != 2 or not isinstance(given[1], MPI.Datatype):
            raise UsageError(
                f"{name}: expected an array or [array, datatype], given {len(given)} entries"
            )
        buffer = find_buffer(given[0], name)
        return buffer, Elements(given[1], 1, "", buffer.dtype, ())
    buffer = find_buffer(given, name)
    row = tuple(getattr(given, "shape", None) or ())[1:]
    datatype = _named_datatype(buffer.dtype)
    each = prod(row) * (1 if datatype is not None else buffer.dtype.itemsize)
    label = str(buffer.dtype) + (f" × {prod(row)}" if row else "")
    return buffer, Elements(
        MPI.BYTE if datatype is None else datatype, each, label, buffer.dtype, row
    )


def _named_datatype(dtype: np.dtype[Any]) -> MPI.Datatype | None:
    from mpi4py import MPI

    if dtype.kind not in "biufc" or not dtype.isnative:
        return None
    try:
        datatype = MPI.Datatype.fromcode(dtype.char)
    except ValueError:
        return None
    return datatype if datatype.Get_size() == dtype.itemsize else None


def _blocks(
    end: str,
    buffer: Buffer,
    elements: Elements,
    peers: NDArray[np.int32],
    counts: ArrayLike,
    displs: ArrayLike | None,
) -> _core.Blocks:
    count = _of_peers(counts, f"{end}counts", peers.size)
    if (negative := np.flatnonzero(count < 0)).size:
        raise InputError(f"{end}counts[{negative[0]}] = {count[negative[0]]}: must be at least 0")
    start = (
        np.cumsum(count) - count
        if displs is None
        else _of_peers(displs, f"{end[0]}displs", peers.size)
    )
    # a datatype may reach beyond its extent, and before its start
    _, extent = elements.datatype.Get_extent()
    lower, size = elements.datatype.Get_true_extent()
    step = extent * elements.each
    for k in np.flatnonzero(count > 0).tolist():
        first = int(start[k]) * step + lower
        last = (int(start[k]) + int(count[k])) * step - extent + lower + size
        if step and (first < 0 or last > buffer.bytes):
            raise InputError(
                f"{buffer.name} has {buffer.bytes} bytes: its block {k}, {count[k]} elements from "
                f"{start[k]} on, "
                f"takes bytes {first} to {last}"
            )
    return _core.Blocks(peer=peers, count=count * elements.each, displacement=start * elements.each)


def _of_peers(values: ArrayLike, name: str, peers: int) -> NDArray[np.int64]:
    array: NDArray[np.int64] = np.ascontiguousarray(frozen_ints(values, np.int64, name))
    if array.shape != (peers,):
        raise InputError(
            f"{name} has shape {array.shape}: one entry for each of {peers} peers required"
        )
    return array


class Receiver:
    """Gives the core a buffer as soon as it knows what comes.

    The caller's if it holds all, or a new array.

    Attributes:
        array: what it gave last.
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.side: Side | None = None
        self.array: Any = None

    def __call__(self, counts: NDArray[np.int64]) -> tuple[int, str]:
        """The address of a buffer for blocks one after the other, or what is wrong.

        Args:
            counts: shape=(blocks), numbers of the side's datatype.
        """
        side = self.side
        assert side is not None
        numbers = int(counts.sum())
        if side.buffer is None:
            elements = numbers // max(side.elements.each, 1)
            self.array = np.empty((elements, *side.elements.row), side.elements.dtype)
            return self.array.ctypes.data, ""
        _, extent = side.elements.datatype.Get_extent()
        if numbers * extent > side.buffer.bytes:
            return (
                0,
                f"rank {self._rank}: recvbuf has {side.buffer.bytes} bytes: "
                f"{numbers * extent} arrive",
            )
        self.array = side.owner
        return side.buffer.address, ""
