"""Partners: the pairs of ranks that send, without sizes, and the setting of a generator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conset.base import MAX_SIZE_B, InputError, Integers, Ints, Ints32, require_memory
from conset.machine.network.topology import Topology

SMALL_B = 2**28
"""Memory of a pattern below which no limit is looked up [B]."""
MAX_MESSAGES = int(np.iinfo(np.int32).max)
"""A message index is an int32."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What a generator may know.

    Attributes:
        ranks: number of ranks, at least 1.
        topology: the network, where there is one.
        random: the source of every random choice, seeded by the caller.
    """

    ranks: int
    topology: Topology | None
    random: np.random.Generator


@dataclass(frozen=True, eq=False)
class Partners:
    """The pairs of ranks that send, in the compressed rows of `Pattern`.

    Attributes:
        offsets: shape=(ranks + 1), int64.
        target: shape=(messages), int32, rising within a row; `target[m]` receives message `m`.
        local: how many ranks send to themselves: no messages, but bytes that stay local.
        size: shape=(messages), int64 [B], all above 0, of a pattern that says how much is sent;
            else None.
        local_bytes: what ranks send to themselves where `size` is there [B].
    """

    offsets: Ints
    target: Ints32
    local: int = 0
    size: Ints | None = None
    local_bytes: int = 0


def require(holds: bool, name: str, required: str, given: str) -> None:
    """Refuses a setting outside a generator's domain.

    Raises:
        InputError: `holds` is false; the line has what was required and what was given.
    """
    if not holds:
        raise InputError(f"{name}: requires {required}, given {given}")


def require_messages(messages: int, name: str, bytes_each: int = 24) -> None:
    """Refuse, before anything is allocated, messages that no index or no memory holds.

    Raises:
        InputError: `messages` is above 2³¹ - 1, or they need more memory than there is.
    """
    if messages > MAX_MESSAGES:
        raise InputError(f"{name}: requires at most {MAX_MESSAGES} messages, given {messages}")
    if messages * bytes_each > SMALL_B:
        require_memory(messages * bytes_each, name)


def require_bytes(total: float, name: str) -> None:
    """Refuse, before they are computed, sizes that together no index of bytes holds.

    Raises:
        InputError: `total` is above 2⁶² bytes.
    """
    require(total <= MAX_SIZE_B, name, "at most 2^62 B together", f"{total:.3g} B")


def partners_of_pairs(ranks: int, source: Integers, target: Integers) -> Partners:
    """Partners from pairs in any order.

    A neighbourhood, so repeated pairs count once and own ranks are left out.
    """
    other = source != target
    key = np.sort(source[other].astype(np.int64) * ranks + target[other])
    first = np.ones(key.size, bool)
    first[1:] = key[1:] != key[:-1]
    key = key[first]
    offsets = np.searchsorted(key, np.arange(ranks + 1, dtype=np.int64) * ranks).astype(np.int64)
    return Partners(offsets, (key % ranks).astype(np.int32))


def partners_of_volumes(ranks: int, source: Integers, target: Integers, size: Integers) -> Partners:
    """Partners and sizes from pairs in any order: repeated pairs add up, nothing sends nothing.

    Raises:
        InputError: sizes that no index of bytes holds.
    """
    require_bytes(size.sum(dtype=np.float64), "sizes")
    key, where = np.unique(source.astype(np.int64) * ranks + target, return_inverse=True)
    volume = np.zeros(key.size, np.int64)
    np.add.at(volume, where.ravel(), size.astype(np.int64))
    own = key // ranks == key % ranks
    local = volume[own & (volume > 0)]
    key, volume = key[~own & (volume > 0)], volume[~own & (volume > 0)]
    offsets = np.searchsorted(key, np.arange(ranks + 1, dtype=np.int64) * ranks).astype(np.int64)
    return Partners(offsets, (key % ranks).astype(np.int32), local.size, volume, int(local.sum()))


def partners_of_map(target: Integers) -> Partners:
    """Partners where rank `r` sends one message to `target[r]`.

    One mapped to itself sends none and counts as local.
    """
    sends = target != np.arange(target.size)
    offsets = np.concatenate([[0], np.cumsum(sends)]).astype(np.int64)
    return Partners(offsets, target[sends].astype(np.int32), int(target.size - offsets[-1]))


def partners_of_table(target: Integers) -> Partners:
    """Partners from a table, shape=(ranks, degree).

    `target[r]` are the distinct others rank `r` sends to.
    """
    ranks, degree = target.shape
    offsets = np.arange(ranks + 1, dtype=np.int64) * degree
    return Partners(offsets, np.sort(target, axis=1).ravel().astype(np.int32))


def bits_of(ranks: int, name: str) -> int:
    """The number of bits of a rank.

    Raises:
        InputError: `ranks` is no power of two.
    """
    require(ranks & (ranks - 1) == 0, name, "a power of two of ranks", f"{ranks}")
    return ranks.bit_length() - 1
