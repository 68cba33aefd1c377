"""Minimum bandwidths: one rate for every message, or a file of rates for some of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.arrays import frozen
from conset.errors import InputError, UsageError, shortened
from conset.files import read_text, whole_number
from conset.pattern.pattern import Pattern
from conset.units import parse_rate

_HEADER = "source,target,rate"


def read_bandwidths(rate_or_file: str, pattern: Pattern) -> NDArray[np.float64]:
    """shape=(messages), float64 [B/s]: what each message is to be guaranteed; 0: nothing.

    Args:
        rate_or_file: `5MB/s`, or a CSV file under `source,target,rate`: for all messages between two ranks. Empty
            lines and lines that start with `#` are skipped.
        pattern: whose messages.

    Raises:
        UsageError: no rate and no file.
        InputError: a line of the file is wrong, or names ranks that no message joins.
    """
    if Path(rate_or_file).suffix.lower() != ".csv":
        return frozen(np.full(pattern.messages, _rate(rate_or_file)))
    path = Path(rate_or_file)
    demand = np.zeros(pattern.messages)
    source, header = pattern.source, False
    for number, line in enumerate(read_text(path).split("\n"), 1):
        fields = [word.strip() for word in line.split(",")]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not header:
            if [word.lower() for word in fields] != _HEADER.split(","):
                raise InputError(
                    f"{path}, line {number}: the header must be {_HEADER}, given '{shortened(line.strip())}'"
                )
            header = True
            continue
        ends, rate = _row(fields, f"{path}, line {number}")
        joined = np.flatnonzero((source == ends[0]) & (pattern.target == ends[1]))
        if not joined.size:
            raise InputError(f"{path}, line {number}: no message of {pattern.name} goes from {ends[0]} to {ends[1]}")
        demand[joined] = rate
    return frozen(demand)


def _rate(text: str) -> float:
    try:
        return parse_rate(text, "min_bandwidth")
    except UsageError as error:
        raise UsageError(error, options=["min_bandwidth"]) from None


def _row(fields: list[str], place: str) -> tuple[tuple[int, int], float]:
    if len(fields) != 3:
        raise InputError(f"{place}: 3 columns required, given {len(fields)}")
    source, target = whole_number(fields[0]), whole_number(fields[1])
    if source is None or target is None:
        given = f"'{shortened(fields[0])}' and '{shortened(fields[1])}'"
        raise InputError(f"{place}: two whole numbers of ranks required, given {given}")
    try:
        return (source, target), parse_rate(fields[2], "rate")
    except UsageError as error:
        raise InputError(f"{place}: {error}") from None
