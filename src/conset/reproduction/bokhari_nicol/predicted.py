"""The same costs and bounds as the pipeline has them: predicted from the preset, counted in compiled schedules."""

from __future__ import annotations

from functools import lru_cache

import conset
from conset.comparison import serial_steps
from conset.pattern.pattern import Pattern
from conset.reproduction.bokhari_nicol.exchange import SLICE_B, Pair, bounded, machine
from conset.schedule.schedule import Schedule

FORMULA = "hop=0,per_transfer=0,in_flight=1"
"""What the text's formula has: no latency, and the steps of a node one after the other."""


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
    return conset.predict(one_message(side, SLICE_B), sync="barrier", by="formula").terms["synchronization"]


def bounds_us(pair: Pair) -> tuple[float, float]:
    """(lower, upper) [us] of the contention curve from the phases of compiled schedules.

    A node's own steps are the phases at contention n/4: n², its message to itself included, as the text counts.
    """
    side = pair.side
    groups = -(-bounded(side, pair.contention).phases // pair.every)
    steps, least = bounded(side, 1).phases, bounded(side, side // 4).phases
    lower, upper = serial_steps(steps, groups, least, barrier_s(side), message_s(side, SLICE_B))
    return lower * 1e6, upper * 1e6
