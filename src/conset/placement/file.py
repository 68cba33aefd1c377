"""Placements from files: a JSON list of node ids, or one to the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.arrays import frozen_ints
from conset.errors import InputError
from conset.files import require_file
from conset.network.topology import Topology


def read_placement(path: Path, ranks: int, topology: Topology, ranks_per_node: int) -> NDArray[np.int32]:
    """shape=(ranks), int32: the node of each rank as a file says.

    Raises:
        InputError: no such file, no node ids, ids out of range, too few or too many, or a crowded node.
    """
    try:
        text = require_file(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    ids, where = _json_ids(path, text) if text.lstrip().startswith("[") else _line_ids(path, text)
    if len(ids) != ranks:
        raise InputError(f"{path}: {len(ids)} node ids for {ranks} ranks")
    count = np.zeros(topology.endpoints, np.int64)
    for rank, node in enumerate(ids):
        if not 0 <= node < topology.endpoints:
            raise InputError(f"{where(rank)}: node {node} of rank {rank}: must be from 0 to {topology.endpoints - 1}")
        count[node] += 1
        if count[node] > ranks_per_node:
            rule = f"at most {ranks_per_node} ranks a node (ranks_per_node)"
            raise InputError(f"{where(rank)}: node {node} of rank {rank} holds {count[node]} ranks: {rule}")
    placement: NDArray[np.int32] = frozen_ints(np.array(ids, np.int64), np.int32, path.name)
    return placement


def _json_ids(path: Path, text: str) -> tuple[list[int], Callable[[int], str]]:
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no complete JSON list: {error}") from None
    for k, node in enumerate(ids):
        if not isinstance(node, int) or isinstance(node, bool):
            raise InputError(f"{path}: [{k}] = {node!r}: a node id required")
    return ids, lambda rank: f"{path}: [{rank}]"


def _line_ids(path: Path, text: str) -> tuple[list[int], Callable[[int], str]]:
    ids, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.split("#", 1)[0].strip()
        if not word:
            continue
        try:
            ids.append(int(word))
        except ValueError:
            raise InputError(f"{path}:{number}: '{word}': one node id per line required") from None
        lines.append(number)
    return ids, lambda rank: f"{path}:{lines[rank]}"
