"""Place: the node of each rank, by the name of a way or from a file; the table of all ways.

A file is a JSON list of node ids, or one to the line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from conset.base import (
    InputError,
    Ints32,
    UsageError,
    count_of,
    frozen_ints,
    require_file,
    shortened,
    unknown_name,
    whole_number,
)
from conset.machine import LAUNCHER_FILES, Routing, Topology, read_hosts
from conset.methods.placements.site import (
    PlacementProblem,
    place_annealed,
    place_annealed_bytes,
    place_bisection,
    place_gray,
    place_identity,
    place_random,
    place_switch,
)
from conset.pattern import Pattern

PLACEMENTS: dict[str, Callable[[PlacementProblem], Ints32 | None]] = {
    "identity": place_identity,
    "gray": place_gray,
    "random": place_random,
    "switch": place_switch,
    "bisection": place_bisection,
    "annealed": place_annealed,
    "annealed-bytes": place_annealed_bytes,
}
"""Placements by name."""

AUTO = "auto"
"""The best of several, each compiled.

The compiler's choice, as nothing else can tell which one is best.
"""
TRIED = ("switch", "gray", "bisection", "annealed", "annealed-bytes")
"""What `auto` tries beside the identity, where it can be applied."""


def require_placement(name_or_file: str) -> None:
    """Raises `UsageError` where a word is neither a name nor a file of node ids."""
    if name_or_file in (*PLACEMENTS, AUTO):
        return
    if not (Path(name_or_file).suffix or os.path.exists(name_or_file) or "/" in name_or_file):
        raise unknown_name("placement", name_or_file, (*PLACEMENTS, AUTO))


def place(
    name_or_file: str,
    *,
    pattern: Pattern,
    topology: Topology,
    routing: Routing | None = None,
    ranks_per_node: int = 1,
    seed: int = 0,
    effort: int = 1,
    job: tuple[int, ...] = (),
) -> Ints32 | None:
    """shape=(ranks), int32: the node of each rank; None where rank r is on node r.

    Args:
        name_or_file: a name of `PLACEMENTS`, or a file of node ids: a JSON list, or one per line.
        pattern: whose ranks are placed; what they send decides where, except for the plain names.
        topology: where they go.
        routing: how messages will travel; None: the network's usual rule.
        ranks_per_node: most ranks on a node.
        seed: of every random choice.
        effort: how long to search, in sweeps.
        job: the node of each rank of a job (`Machine.job`): the identity.

    Raises:
        UsageError: an unknown name, `auto` (which only a compile can answer), or `ranks_per_node`
            below 1.
        InputError: more ranks than places, a network that the name cannot be applied to, or a file
            whose ids are out of range, too few or too many, or crowd a node.
    """
    problem = _placement_problem(pattern, topology, routing, ranks_per_node, seed, effort, job)
    named = PLACEMENTS.get(name_or_file)
    if named is not None:
        return named(problem)
    if name_or_file == AUTO:
        raise UsageError("placement auto: is chosen by compiling; name one of the others here")
    require_placement(name_or_file)
    path, per_node = Path(name_or_file), problem.ranks_per_node
    return read_placement(path, pattern.ranks, topology, per_node)


def candidates(
    *,
    pattern: Pattern,
    topology: Topology,
    routing: Routing | None = None,
    ranks_per_node: int = 1,
    seed: int = 0,
    effort: int = 1,
    job: tuple[int, ...] = (),
) -> Iterator[tuple[str, Ints32 | None]]:
    """(name, placement) of all that `auto` chooses from, the identity first, equal ones once.

    Arguments as `place`.
    """
    problem = _placement_problem(pattern, topology, routing, ranks_per_node, seed, effort, job)
    seen: list[Ints32] = []
    for name in ("identity", *TRIED):
        try:
            placement = PLACEMENTS[name](problem)
        except InputError:
            continue
        node = problem.node_of(placement)
        if not any(np.array_equal(node, other) for other in seen):
            seen.append(node)
            yield name, placement


def _placement_problem(
    pattern: Pattern,
    topology: Topology,
    routing: Routing | None,
    ranks_per_node: int,
    seed: int,
    effort: int,
    job: tuple[int, ...] = (),
) -> PlacementProblem:
    if ranks_per_node < 1:
        raise UsageError(
            f"ranks_per_node {ranks_per_node}: must be at least 1", options=["ranks_per_node"]
        )
    ranks = pattern.ranks
    if job:
        ranks_per_node = max(ranks_per_node, *np.bincount(job).tolist())
    if ranks > topology.endpoints * ranks_per_node:
        raise InputError(
            f"{ranks} ranks need ranks_per_node {-(-ranks // topology.endpoints)} on "
            f"{topology.endpoints} nodes, "
            f"given {ranks_per_node}",
            options=["ranks_per_node"],
        )
    return PlacementProblem(
        pattern, topology, routing or Routing.default(topology), ranks_per_node, seed, effort, job
    )


def read_placement(path: Path, ranks: int, topology: Topology, ranks_per_node: int) -> Ints32:
    """shape=(ranks), int32: the node of each rank as a file says.

    Raises:
        InputError: no such file, no node ids, ids out of range, too few or too many, or a crowded
            node.
    """
    if path.suffix in LAUNCHER_FILES:
        ids, where = _host_ids(path, topology)
    else:
        try:
            text = require_file(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
        listed = text.lstrip().startswith("[")
        ids, where = _json_ids(path, text) if listed else _line_ids(path, text)
    if len(ids) != ranks:
        raise InputError(f"{path}: {len(ids)} node ids for {ranks} ranks")
    count = np.zeros(topology.endpoints, np.int64)
    for rank, node in enumerate(ids):
        if not 0 <= node < topology.endpoints:
            raise InputError(
                f"{where(rank)}: node {shortened(node)} of rank {rank}: must be from 0 to "
                f"{topology.endpoints - 1}"
            )
        count[node] += 1
        if count[node] > ranks_per_node:
            rule = f"at most {count_of(ranks_per_node, 'rank')} a node (ranks_per_node)"
            raise InputError(
                f"{where(rank)}: node {node} of rank {rank} holds {count[node]} ranks: {rule}"
            )
    return frozen_ints(np.array(ids, np.int64), np.int32, path.name)


def _host_ids(path: Path, topology: Topology) -> tuple[list[int], Callable[[int], str]]:
    number = {name: k for k, name in enumerate(topology.host_names)}
    hosts = read_hosts(str(path))
    if unknown := [host for host in hosts if host not in number]:
        raise InputError(f"{path}: '{shortened(unknown[0])}' is no host of the network")
    return [number[host] for host in hosts], lambda rank: f"{path}: [{rank}]"


def _json_ids(path: Path, text: str) -> tuple[list[int], Callable[[int], str]]:
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no complete JSON list: {error}") from None
    for k, node in enumerate(ids):
        if not isinstance(node, int) or isinstance(node, bool):
            given = type(node).__name__ if isinstance(node, list | dict) else shortened(repr(node))
            raise InputError(f"{path}: [{k}] = {given}: a node id required")
    return ids, lambda rank: f"{path}: [{rank}]"


def _line_ids(path: Path, text: str) -> tuple[list[int], Callable[[int], str]]:
    ids, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.split("#", 1)[0].strip()
        if not word:
            continue
        node = whole_number(word)
        if node is None:
            raise InputError(f"{path}:{number}: '{shortened(word)}': one node id per line required")
        ids.append(node)
        lines.append(number)
    return ids, lambda rank: f"{path}:{lines[rank]}"
