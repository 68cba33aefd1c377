"""Demands in node-link JSON (`.json`).

SNDlib's traffic matrices as TopoHub stores them, a message for each.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np

from conset.base.errors import InputError
from conset.base.files import read_text
from conset.base.units import MAX_SIZE_B
from conset.machine.network.node_link import read_demands
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, pattern_from_list, require_ranks


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
        str(path),
        path.name,
        endpoints,
    )
