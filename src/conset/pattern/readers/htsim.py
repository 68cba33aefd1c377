"""htsim's connection matrix (`.cm`): flows between hosts.

    Nodes 32
    Connections 2
    19->0 id 1 start 0 size 2000000
    1->25 id 2 start 0 size 2000000

Source: https://github.com/Broadcom/csg-htsim (sim/datacenter/connection_matrix.cpp).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from conset.base import InputError, count_of, parse_size, read_text, shortened, whole_number
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, pattern_from_list, require_ranks

_FLOW = re.compile(r"(\d{1,9})->(\d{1,9})((?:\s+\w+\s+\S+)*)")
KEYS = ("id", "start", "size", "trigger", "prio", "send_done_trigger", "recv_done_trigger")
"""Keys of a flow; triggers and priorities are left out."""


def read_connections(path: Path, options: ReadOptions) -> Pattern:
    """Read the flows of a simulation; those between two hosts add up.

    Raises:
        InputError: another syntax, a flow without a size, another number of flows than stated, or
            a host out of range.
    """
    rows = [
        (number, line.strip())
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    stated = {}
    for word in ("Nodes", "Connections"):
        number, line = rows.pop(0) if rows else (1, "")
        name, _, value = line.partition(" ")
        count = whole_number(value.strip())
        if name != word or count is None or count < 0:
            raise InputError(f"{path}, line {number}: {word} N required, given '{shortened(line)}'")
        stated[word] = count
    ranks = require_ranks(stated["Nodes"], str(path))
    flows, numbers, timed = [], [], 0
    for number, line in rows:
        place, found = f"{path}, line {number}", _FLOW.fullmatch(line)
        if line.startswith("trigger "):
            continue
        if not found:
            rule = "SOURCE->TARGET id N start T size BYTES required"
            raise InputError(f"{place}: {rule}, given '{shortened(line)}'")
        words = found[3].split()
        known = dict(zip(words[::2], words[1::2], strict=True))
        if unknown := set(known) - {*KEYS}:
            raise InputError(f"{place}: unknown word '{shortened(min(unknown))}'")
        if "size" not in known:
            raise InputError(f"{place}: size BYTES is missing")
        timed += known.get("start", "0") != "0" or "trigger" in known
        flows.append((int(found[1]), int(found[2]), parse_size(known["size"], f"{place}: size")))
        numbers.append(number)
    if len(flows) != stated["Connections"]:
        raise InputError(f"{path}: Connections {stated['Connections']}, {len(flows)} are listed")
    table = np.array(flows, np.int64).reshape(-1, 3)
    return pattern_from_list(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        [],
        lambda k: f"{path}, line {numbers[k]}",
        path,
        ranks,
        notes=[f"without {count_of(timed, 'start')}"] if timed else [],
    )
