"""Payload: bytes that identify where they come from, and the check of what arrived.

A byte is a function of (source, target, offset from the first byte of the pair), mixed so that a swap of messages, a
shift by any number of bytes or a part in another's place shows; neighbouring bytes are unrelated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.execution.plan import PairRanges

_SOURCE, _TARGET = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F


def fill_payload(source: int, target: int, size: int) -> NDArray[np.uint8]:
    """shape=(size), uint8: what `source` sends to `target`."""
    words = np.arange(-(-size // 8), dtype=np.uint64)
    words += np.uint64(((source + 1) * _SOURCE + (target + 1) * _TARGET) % 2**64)
    # the finalizer of splitmix64: every bit of the input moves every bit of the output
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words.astype("<u8", copy=False).view(np.uint8)[:size]


def fill_buffer(ranges: PairRanges, size: int, rank: int, *, sending: bool) -> NDArray[np.uint8]:
    """shape=(size), uint8: the whole send buffer of `rank`, or what its receive buffer must be."""
    buffer = np.zeros(size, np.uint8)
    for peer, offset, count in zip(ranges.peer.tolist(), ranges.offset.tolist(), ranges.bytes.tolist(), strict=True):
        source, target = (rank, peer) if sending else (peer, rank)
        buffer[offset : offset + count] = fill_payload(source, target, count)
    return buffer


def describe_wrong(received: NDArray[np.uint8], expected: NDArray[np.uint8], ranges: PairRanges) -> tuple[int, str]:
    """How many bytes are wrong, and the first in words: `byte 17 from rank 5 is 0xab, must be 0x12`."""
    wrong = np.flatnonzero(received != expected)
    if not wrong.size:
        return 0, ""
    at = int(wrong[0])
    k = int(np.flatnonzero((ranges.offset <= at) & (at < ranges.offset + ranges.bytes))[0])
    text = (
        f"byte {at - ranges.offset[k]} from rank {ranges.peer[k]} is {received[at]:#04x}, must be {expected[at]:#04x}"
    )
    return int(wrong.size), text
