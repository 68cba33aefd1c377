"""Connections of an open phase.

Elements sent, received, computed and spooled, one connection beside the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import ref

import numpy as np
from numpy.typing import DTypeLike, NDArray

from conset.base.errors import ExecutionError, InputError
from conset.execution.core_program import CoreProgram

Direction = Literal["send", "receive"]
DIRECTIONS: tuple[Direction, Direction] = ("receive", "send")
"""By the flag of an entry that sends."""


@dataclass(frozen=True)
class PhaseConnection:
    """This rank's end of a connection of a phase, whether the phase is open or not.

    Attributes:
        peer: the rank at the other end.
        direction: `send` or `receive`, of this rank.
        order: position in this rank's posting order of the phase, from 0.
        bytes: what the pattern sends through it in the phase [B].
        bandwidth_Bps: guaranteed at least [B/s]; infinite: no limit.
        latency_s: of an element, guaranteed at most [s].
    """

    peer: int
    direction: Direction
    order: int
    bytes: int
    bandwidth_Bps: float  # noqa: N815
    latency_s: float


class Connection:
    """An open connection, of `OpenProgram.connection`; of use until the phase ends.

    Elements are those of NumPy's dtype, or of the buffer's format; both ends keep to one size of
    elements in a phase.

    Attributes:
        peer: the rank at the other end.
        direction: `send` or `receive`.
    """

    def __init__(self, core: CoreProgram, number: int, peer: int, direction: Direction) -> None:
        self.peer, self.direction = peer, direction
        self._core, self._number = core, number

    def send_elements(self, elements: Any) -> None:
        """Sends all elements of a contiguous array or buffer.

        Which is free again when this returns.

        Waits where the connection has no credits left, until its receiver has read.

        Raises:
            UsageError: the connection receives, or its phase has ended.
            InputError: no contiguous buffer of numbers or bytes, or elements of another size than
                before.
            ExecutionError: the deadline has passed, or MPI failed.
        """
        self._core.send(self._number, elements)

    def receive_elements(self, elements: Any) -> None:
        """Fills a contiguous, writable array or buffer with the next elements.

        Waits until they are there.

        Raises:
            UsageError: the connection sends, or its phase has ended.
            InputError: no contiguous buffer that can be written, elements of another size than they
                were sent in, or more of them than the peer has sent in this phase.
            ExecutionError: the deadline has passed, or MPI failed.
        """
        self._core.receive(self._number, elements)

    def send_computed(
        self, count: int, dtype: DTypeLike, producer: Callable[[NDArray[Any]], object]
    ) -> None:
        """Sends `count` elements that `producer` writes straight into packets (systolic).

        Args:
            count: elements.
            dtype: of one.
            producer: called with an array of the next elements, one run after the other; it writes
                all of them and keeps none of the array. It may use other connections. What it
                raises ends the call: the elements of its run are not sent, those before are.

        Raises:
            As `send_elements`; ExecutionError: the producer kept the array.
        """
        element, lent = _lending("send_computed", dtype, producer)
        self._core.told(
            lambda native: native.send_computed(self._number, count, element.itemsize, lent)
        )

    def receive_apply(
        self, count: int, dtype: DTypeLike, operator: Callable[[NDArray[Any]], object]
    ) -> None:
        """Hands `count` elements to `operator` where they lie in packets.

        As they arrive (systolic).

        Args:
            count: elements.
            dtype: of one.
            operator: called with a read-only array of the next elements, one run after the other,
                at least one; it keeps none of the array. It may use other connections. What it
                raises ends the call: the elements of its run stay unread.

        Raises:
            As `receive_elements`; ExecutionError: the operator kept the array.
        """
        element, lent = _lending("receive_apply", dtype, operator)
        self._core.told(
            lambda native: native.receive_apply(self._number, count, element.itemsize, lent)
        )

    def spool_send(self, elements: Any) -> None:
        """Sends a buffer in the background of other calls.

        It is the program's until `spool_wait` or `phase_end`.

        Raises: as `send_elements`.
        """
        self._core.spool_send(self._number, elements)

    def spool_receive(self, elements: Any) -> None:
        """Fills a buffer in the background of other calls.

        It is the program's until `spool_wait` or `phase_end`.

        Raises: as `receive_elements`.
        """
        self._core.spool_receive(self._number, elements)

    def spool_wait(self) -> None:
        """Returns when all that was spooled on the connection has left, or arrived.

        Raises:
            InputError: more is received than was sent. ExecutionError: the deadline has passed, or
                MPI failed.
        """
        self._core.spool_wait(self._number)

    def __repr__(self) -> str:
        return f"Connection({self.direction}, peer={self.peer})"


def _lending(
    what: str, dtype: DTypeLike, function: Callable[[NDArray[Any]], object]
) -> tuple[np.dtype[Any], Callable[[memoryview], None]]:
    """The type of an element, and `function` with memory of a packet for its array."""
    element = np.dtype(dtype)
    if element.hasobject or not element.itemsize:
        raise InputError(f"{what}: elements of {element}: numbers or bytes required")

    def lent(memory: memoryview) -> None:
        array = np.frombuffer(memory, element)
        watched = ref(array)
        function(array)
        del array
        if watched() is not None:
            raise ExecutionError(
                f"{what}: the function has kept its array, whose memory is a packet's"
            )

    return element, lent
