"""Placement: the node of each rank, by name or from a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.arrays import frozen, frozen_ints
from conset.errors import InputError, UsageError, unknown_name
from conset.files import require_file
from conset.network.topology import Topology


def place(
    name_or_file: str, *, ranks: int, topology: Topology, ranks_per_node: int = 1, seed: int = 0
) -> NDArray[np.int32] | None:
    """shape=(ranks), int32: the node of each rank; None where rank r is on node r.

    Args:
        name_or_file: a name of `PLACEMENTS`, or a file of node ids: a JSON list, or one per line.
        ranks: of the pattern.
        topology: where they go.
        ranks_per_node: most ranks on a node.
        seed: of `random`.

    Raises:
        UsageError: an unknown name, or `ranks_per_node` below 1.
        InputError: more ranks than places, a network that the name cannot be applied to, or a file whose ids are out
            of range, too few or too many, or crowd a node.
    """
    if ranks_per_node < 1:
        raise UsageError(f"--ranks-per-node {ranks_per_node}: must be at least 1")
    places = topology.endpoints * ranks_per_node
    if ranks > places:
        raise InputError(
            f"{ranks} ranks on {topology.endpoints} nodes with {ranks_per_node} a node: at most {places} fit; "
            f"--ranks-per-node {-(-ranks // topology.endpoints)} would do"
        )
    named = PLACEMENTS.get(name_or_file)
    if named is not None:
        return named(ranks, topology, ranks_per_node, seed)
    if Path(name_or_file).suffix or os.path.exists(name_or_file) or "/" in name_or_file:
        return _read(Path(name_or_file), ranks, topology, ranks_per_node)
    raise unknown_name("placement", name_or_file, PLACEMENTS)


def place_identity(ranks: int, topology: Topology, ranks_per_node: int, seed: int) -> NDArray[np.int32] | None:
    """Rank r on node r // ranks_per_node."""
    if ranks_per_node == 1:
        return None
    return frozen((np.arange(ranks) // ranks_per_node).astype(np.int32))


def place_gray(ranks: int, topology: Topology, ranks_per_node: int, seed: int) -> NDArray[np.int32]:
    """On each axis, position x holds the code x ^ (x >> 1): partners that differ in one bit come near each other.

    Raises:
        InputError: a network without coordinates, or with a side that is no power of two.
    """
    if not (topology.is_box or topology.kind == "hypercube"):
        raise InputError(f"placement gray: needs a mesh, torus, ring or hypercube, the network is a {topology.kind}")
    for k, side in enumerate(topology.sides):
        if side & (side - 1):
            raise InputError(f"placement gray: side {k} of the network is {side}: must be a power of two")
    position = topology.coordinates.astype(np.int64)
    code = position ^ (position >> 1)
    node_of = np.empty(topology.nodes, np.int32)
    node_of[np.ravel_multi_index(tuple(code.T), topology.sides)] = np.arange(topology.nodes, dtype=np.int32)
    return frozen(node_of[np.arange(ranks) // ranks_per_node])


def place_random(ranks: int, topology: Topology, ranks_per_node: int, seed: int) -> NDArray[np.int32]:
    """Ranks on places drawn without repetition; the same seed gives the same nodes."""
    places = np.repeat(np.arange(topology.endpoints, dtype=np.int32), ranks_per_node)
    return frozen(np.random.default_rng(seed).permutation(places)[:ranks])


PLACEMENTS: dict[str, Callable[[int, Topology, int, int], NDArray[np.int32] | None]] = {
    "identity": place_identity,
    "gray": place_gray,
    "random": place_random,
}
"""Placements by name: (ranks, topology, ranks per node, seed) → node of each rank."""


def _read(path: Path, ranks: int, topology: Topology, ranks_per_node: int) -> NDArray[np.int32]:
    try:
        text = require_file(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text: byte {error.start} is not UTF-8") from None
    ids, where = _json_ids(path, text) if text.lstrip().startswith("[") else _line_ids(path, text)
    if len(ids) != ranks:
        raise InputError(f"{path}: {len(ids)} node ids for {ranks} ranks")
    count = np.zeros(topology.endpoints, np.int64)
    for rank, node in enumerate(ids):
        if not 0 <= node < topology.endpoints:
            raise InputError(f"{where(rank)}: node {node} of rank {rank}: must be from 0 to {topology.endpoints - 1}")
        count[node] += 1
        if count[node] > ranks_per_node:
            rule = f"at most {ranks_per_node} ranks a node (--ranks-per-node)"
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
