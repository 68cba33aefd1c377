"""Costs and bounds of a synchronization and a message, twice.

As the text prints them, and as the pipeline has them.

Printed: Table 1's formulas, and the bounds drawn with them in Figures 12 to 15; nothing of it comes
from the machine's preset or from a schedule: it is what those are held against. The pipeline's:
predicted from the preset, counted in compiled schedules.
"""

from __future__ import annotations

from functools import lru_cache
from math import log2

import conset
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.studies.compare import serial_steps
from conset_papers.bokhari_nicol.exchange import SLICE_B, Pair, bounded, machine
from conset_papers.item import read_published

FORMULA = "hop=0,per_transfer=0,in_flight=1"
"""What the text's formula has: no latency, and the steps of a node one after the other."""


@lru_cache
def printed(quantity: str) -> tuple[float, float]:
    """(constant, factor) of `synchronization` or `communication` [us]."""
    (row,) = (
        row for row in read_published("bokhari_nicol", "table_1") if row["quantity"] == quantity
    )
    return float(row["constant_us"]), float(row["factor_us"])


def barrier_us(side: int, *, of_nodes: bool = False) -> float:
    """A synchronization of n × n nodes [us].

    Of_nodes: the other reading, log2 of n² instead of n.
    """
    constant, factor = printed("synchronization")
    return constant + factor * log2(side * side if of_nodes else side)


def message_us(size: int) -> float:
    """A message alone [us]."""
    constant, factor = printed("communication")
    return constant + factor * size


def printed_bounds_us(
    side: int, link: int, size: int, *, of_nodes: bool = False
) -> tuple[float, float]:
    """(lower, upper) [us] of n³/4 steps with a barrier after every `link` of them.

    Lower: never fewer than n² steps.
    """
    steps = side**3 // 4
    groups = -(-steps // link)
    barriers = groups * barrier_us(side, of_nodes=of_nodes)
    message = message_us(size)
    return barriers + max(side * side, groups) * message, barriers + steps * message


@lru_cache
def one_message(side: int, size: int) -> Schedule:
    """One message of `size` bytes from the first node to its neighbour."""
    pattern = Pattern.from_messages([0], [1], [size], side * side, name="one message")
    return conset.compile(pattern, machine(side, FORMULA), method="naive")


def message_s(side: int, size: int) -> float:
    """The predicted time of a message alone [s]."""
    return conset.predict(one_message(side, size), sync="none", by="formula").time_s


def barrier_s(side: int) -> float:
    """The predicted time of one synchronization [s]."""
    return conset.predict(one_message(side, SLICE_B), sync="barrier", by="formula").terms[
        "synchronization"
    ]


def bounds_us(pair: Pair) -> tuple[float, float]:
    """(lower, upper) [us] of the contention curve from the phases of compiled schedules.

    A node's own steps are the phases at contention n/4: n², its message to itself included, as the
    text counts.
    """
    side = pair.side
    groups = -(-bounded(side, pair.contention).phases // pair.every)
    steps, least = bounded(side, 1).phases, bounded(side, side // 4).phases
    lower, upper = serial_steps(steps, groups, least, barrier_s(side), message_s(side, SLICE_B))
    return lower * 1e6, upper * 1e6
