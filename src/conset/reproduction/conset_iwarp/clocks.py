"""Units and machines of the text: clocks of 50 ns, words of 4 bytes, 64 cells."""

from __future__ import annotations

from conset.api import load_machine
from conset.machine.machine import Machine
from conset.machine.settings import with_settings

CLOCK_S = 50e-9
"""20 MHz, section 4.2.1."""
MHZ = 20.0
WORD_B = 4
CELLS = 64
CONNECTIONS = "iwarp:8x8"
"""Connections: 528 clocks a phase, 104 a transfer, 4 a hop, as the preset has them."""
MESSAGES = "iwarp:8x8,tie=checker"
"""Message passing: routes at half a ring go up from cells whose coordinates add to an odd number, else down."""


def clocks(seconds: float) -> float:
    """Seconds in clocks, free of the rounding of sums of seconds."""
    return round(seconds / CLOCK_S, 6)


def machine(spec: str, words: str = "") -> Machine:
    """A machine with some costs changed: `machine("iwarp:8x8", "hop=0")`."""
    return with_settings(load_machine(spec), words)


def bandwidth(total_bytes: float, time: float) -> float:
    """Aggregate bandwidth [MB/s] of `total_bytes` in `time` clocks, as the text computes it in section 5.1."""
    return total_bytes / time * MHZ
