"""The order between messages as an order between transfers, which may be parts of messages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def order_of_transfers(
    before: NDArray[np.int32] | None, message: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(first, second): transfer `first[k]` ends before transfer `second[k]` starts; both empty without an order.

    Every part of a message comes before every part of those behind it.

    Args:
        before: shape=(pairs, 2), int32, messages, or None.
        message: shape=(transfers), int32: the message of each transfer.
    """
    if before is None or not message.size:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
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
