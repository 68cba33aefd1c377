"""Where bytes arrive whose sources and sizes are not known before the rows are exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.execution.run_time.sides import Side


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
