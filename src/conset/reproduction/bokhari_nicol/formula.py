"""Table 1's formulas as the text prints them, and the bounds it draws with them in Figures 12 to 15.

Nothing here comes from the machine's preset or from a schedule: it is what those are held against.
"""

from __future__ import annotations

from functools import lru_cache
from math import log2

from conset.reproduction.published import read_published


@lru_cache
def printed(quantity: str) -> tuple[float, float]:
    """(constant, factor) of `synchronization` or `communication` [us]."""
    (row,) = (row for row in read_published("bokhari_nicol", "table_1") if row["quantity"] == quantity)
    return float(row["constant_us"]), float(row["factor_us"])


def barrier_us(side: int, *, of_nodes: bool = False) -> float:
    """A synchronization of n × n nodes [us]; of_nodes: the other reading, log2 of n² instead of n."""
    constant, factor = printed("synchronization")
    return constant + factor * log2(side * side if of_nodes else side)


def message_us(size: int) -> float:
    """A message alone [us]."""
    constant, factor = printed("communication")
    return constant + factor * size


def bounds_us(side: int, link: int, size: int, *, of_nodes: bool = False) -> tuple[float, float]:
    """(lower, upper) [us] of n³/4 steps with a barrier after every `link` of them; lower: never fewer than n² steps."""
    steps = side**3 // 4
    groups = -(-steps // link)
    barriers = groups * barrier_us(side, of_nodes=of_nodes)
    message = message_us(size)
    return barriers + max(side * side, groups) * message, barriers + steps * message
