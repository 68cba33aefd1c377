"""Demands of connections.

A minimum bandwidth or a maximum latency of every message, or a file of them for some.

Demands in node-link JSON (`.json`).

SNDlib's traffic matrices as TopoHub stores them, a message for each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from pathlib import Path

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    Floats,
    InputError,
    UsageError,
    frozen,
    parse_rate,
    parse_time,
    read_text,
    shortened,
    whole_number,
)
from conset.machine.network.graph_files import read_demands
from conset.pattern.pattern import Pattern
from conset.pattern.readers.columns import columns_of, rows_of
from conset.pattern.readers.entries import ReadOptions, pattern_from_list, require_ranks

Parse = Callable[[str, str], float]


def read_bandwidths(rate_or_file: str, pattern: Pattern) -> Floats:
    """shape=(messages), float64 [B/s]: what each message is to be guaranteed at least; 0: nothing.

    Args:
        rate_or_file: `5MB/s`, or a CSV file under `source,target,rate`: for all messages between
            two ranks. Empty lines and lines that start with `#` are skipped.
        pattern: whose messages.

    Raises:
        UsageError: no rate and no file.
        InputError: a line of the file is wrong, or names ranks that no message joins.
    """
    return _read(rate_or_file, pattern, "min_bandwidth", "rate", parse_rate, 0.0)


def read_latencies(time_or_file: str, pattern: Pattern) -> Floats:
    """shape=(messages), float64 [s]: what each message is to be guaranteed at most.

    Infinite: nothing.

    Args:
        time_or_file: `5us`, or a CSV file under `source,target,time`, as in `read_bandwidths`.
        pattern: whose messages.

    Raises:
        UsageError, InputError: as `read_bandwidths`.
    """
    return _read(time_or_file, pattern, "max_latency", "time", parse_time, np.inf)


def _read(
    value_or_file: str, pattern: Pattern, option: str, column: str, parse: Parse, nothing: float
) -> Floats:
    path = Path(value_or_file)
    if path.suffix.lower() != ".csv":
        try:
            return frozen(np.full(pattern.messages, parse(value_or_file, option)))
        except UsageError as error:
            raise UsageError(error, options=[option]) from None
    demand = np.full(pattern.messages, nothing)
    names = ["source", "target", column]
    rows = rows_of(read_text(path).split("\n"))
    number, header = next(rows, (1, [""]))
    if columns_of(header)[0] != names:
        raise InputError(
            f"{path}, line {number}: the header must be {','.join(names)}, given "
            f"'{shortened(','.join(header))}'"
        )
    for number, fields in rows:
        place = f"{path}, line {number}"
        ends, value = _row(fields, place, column, parse)
        joined = np.flatnonzero((pattern.source == ends[0]) & (pattern.target == ends[1]))
        if not joined.size:
            raise InputError(
                f"{place}: no message of {pattern.name} goes from {ends[0]} to {ends[1]}"
            )
        demand[joined] = value
    return frozen(demand)


def _row(fields: list[str], place: str, column: str, parse: Parse) -> tuple[tuple[int, int], float]:
    if len(fields) != 3:
        raise InputError(f"{place}: 3 columns required, given {len(fields)}")
    source, target = whole_number(fields[0]), whole_number(fields[1])
    if source is None or target is None:
        given = f"'{shortened(fields[0])}' and '{shortened(fields[1])}'"
        raise InputError(f"{place}: two whole numbers of ranks required, given {given}")
    try:
        return (source, target), parse(fields[2], column)
    except UsageError as error:
        raise InputError(f"{place}: {error}") from None


def read_demand_matrix(path: Path, options: ReadOptions) -> Pattern:
    """`graph.demands`: a message from source to target for each demand above 0.

    Ranks are the network's endpoints.

    A demand counts the routing units of its network's source (SNDlib: Mbit/s for one network,
    channels of 2.5 Gbit/s for another), which the file does not name: a unit is `options.word`
    bytes, and a part of a byte a whole one.

    Raises:
        InputError: no JSON, no demands, one that names no endpoint, is no number or needs more than
            2⁶² bytes.
    """
    endpoints, rows = read_demands(read_text(path), str(path))
    require_ranks(endpoints, str(path))
    sizes = [ceil(amount * options.word) for _, _, amount, _ in rows]
    for size, (_, _, amount, where) in zip(sizes, rows, strict=True):
        if size > MAX_SIZE_B:
            raise InputError(
                f"{where} = {amount:g}: at {options.word} bytes a unit more than 2^62 bytes"
            )
    source, target = (np.array([row[end] for row in rows], np.int64) for end in (0, 1))
    return pattern_from_list(
        source,
        target,
        np.array(sizes, np.int64),
        [],
        lambda k: rows[k][3],
        path,
        endpoints,
    )
