"""Inputs of the Python interface.

What may be given as a pattern, a machine, limits or a placement, to nouns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from conset.base import (
    InputError,
    Integers,
    Ints32,
    UsageError,
    check_range,
    frozen_ints,
    python_interface,
)
from conset.machine import Machine, Topology, machine_of_topology, parse_machine
from conset.methods import MethodFunction
from conset.pattern import Layout, Partition, Pattern, parse_partition, parse_pattern

PatternLike = Pattern | str | Path | Integers
"""A pattern, a spec such as `random:degree=16,size=4KiB`, the name of a file, or a matrix of bytes.

A matrix has shape=(ranks, ranks), from row to column.
"""
MachineLike = Machine | Topology | Mapping[str, Any] | str | Path
"""A machine, network, spec such as `torus:8x8,link=16GB/s`, file, or a file's contents.

A network gets the default costs.
"""


@python_interface
def load_machine(spec: MachineLike) -> Machine:
    """A machine from a preset, a network with options, a file, or a `Topology`.

    Which gets the default costs.

    >>> load_machine("torus:8x8,link=16GB/s").costs.link_Bps
    16000000000.0

    Raises:
        UsageError: an unknown name or option, or a value that does not parse. InputError: what a
            file says.
    """
    if isinstance(spec, Machine):
        return spec
    if isinstance(spec, Topology):
        return machine_of_topology(spec)
    return parse_machine(spec if isinstance(spec, Mapping) else str(spec))


@python_interface
def load_pattern(
    text: str | Path,
    on: MachineLike | None = None,
    *,
    ranks: int | None = None,
    ranks_per_node: int = 1,
    seed: int = 0,
    parts: int | None = None,
    rows_to: int | None = None,
    word: int = 8,
    unit: str | None = None,
) -> Pattern:
    """Return a pattern from a spec or a file.

    >>> load_pattern("random:degree=16", on="hypercube:6").messages
    1024

    Args:
        text: a spec as on the command line, or a path.
        on: the machine whose network and number of ranks a spec falls back on.
        ranks: number of ranks where the spec does not say; None: those of `on`.
        ranks_per_node: ranks on each node of `on`.
        seed: of every random choice.
        parts: parts to cut a mesh or graph into.
        rows_to: ranks to distribute a sparse matrix over, by rows.
        word: bytes of an entry or node where a file counts words [B].
        unit: what a size without a unit counts in a file (`KiB`); None: bytes.

    Raises:
        UsageError: an unknown pattern, option or value, or nothing that says how many ranks there
            are.
        InputError: a missing or broken file, or a pattern that does not fit the ranks or the
            network.
    """
    machine = None if on is None else load_machine(on)
    if ranks_per_node < 1:
        raise UsageError(
            f"ranks_per_node {ranks_per_node}: must be at least 1", options=["ranks_per_node"]
        )
    if ranks is None and machine is not None:
        ranks = machine.ranks(ranks_per_node)
    return parse_pattern(
        str(text),
        topology=None if machine is None else machine.topology,
        ranks=ranks,
        seed=seed,
        parts=parts,
        rows_to=rows_to,
        word=word,
        unit=unit,
    )


@python_interface
def partition(
    path: str | Path,
    *,
    parts: int | None = None,
    rows_to: int | None = None,
    word: int = 8,
    seed: int = 0,
) -> Partition:
    """A mesh, graph or sparse matrix distributed over ranks: what they exchange, and who owns what.

    >>> partition("cube.msh", parts=16).layout.nodes(3)  # doctest: +SKIP
    array([...])

    Args:
        path: a mesh or graph (with `parts`), `.mtx` (with `parts` or `rows_to`), `.pack` (as it is
            partitioned).
        parts: parts to cut a mesh, graph or matrix into, by METIS.
        rows_to: ranks to distribute a sparse matrix over, by rows in order.
        word: of a row or node in an application's arrays [B].
        seed: of METIS.

    Raises:
        UsageError: neither `parts` nor `rows_to`, or one that the file does not take.
        InputError: a missing or broken file, or one without rows, nodes or elements.
    """
    return parse_partition(str(path), parts=parts, rows_to=rows_to, word=word, seed=seed)


@python_interface
def read_layout(path: str | Path) -> Layout:
    """The layout in a file of `Layout.write` or `compile --layout`.

    Raises InputError where there is none.
    """
    from conset.pattern import layout

    return layout.read_layout(path)


def pattern_on(
    pattern: PatternLike, machine: Machine, ranks_per_node: int = 1, seed: int = 0
) -> Pattern:
    """The given pattern for the ranks of a machine where it has no number of its own."""
    if isinstance(pattern, Pattern):
        return pattern
    if isinstance(pattern, np.ndarray):
        return Pattern.from_matrix(pattern)
    ranks = machine.ranks(ranks_per_node)
    return parse_pattern(str(pattern), topology=machine.topology, ranks=ranks, seed=seed)


def placed_nodes(placement: ArrayLike | None, pattern: Pattern, machine: Machine) -> Ints32 | None:
    """shape=(ranks), int32: a placement, checked.

    Raises InputError for a node that holds no ranks.
    """
    if placement is None:
        return None
    nodes: Ints32 = frozen_ints(placement, np.int32, "placement")
    if nodes.shape != (pattern.ranks,):
        raise InputError(
            f"placement has shape {nodes.shape}: one node for each of {pattern.ranks} "
            "ranks required"
        )
    check_range("placement", nodes, machine.topology.endpoints)
    return nodes


def policies_of(
    methods: str | Sequence[str | MethodFunction] | None, sync: str | Sequence[str] | None
) -> dict[str, tuple[str, ...]]:
    """Method → its policies, for a comparison; both are given with commas or one by one.

    Raises:
        UsageError: an unknown method or policy, no method, or a policy for a method that is not
            compared.
    """
    from conset.compilation import method_names
    from conset.studies import parse_policies

    names = methods.split(",") if isinstance(methods, str) else methods
    known = method_names(
        names and [name.strip() if isinstance(name, str) else name for name in names]
    )
    policies = sync if sync is None or isinstance(sync, str) else ",".join(sync)
    return parse_policies(policies).spread(known)


def listed(names: str | Sequence[str]) -> Sequence[str]:
    """Names that are given one by one, or in one text with commas."""
    return names.split(",") if isinstance(names, str) else names


def pairs_of(
    patterns: PatternLike | Sequence[PatternLike],
    machines: MachineLike | Sequence[MachineLike],
    ranks_per_node: int,
    seed: int,
) -> list[tuple[Pattern, Machine]]:
    """Every pattern on every machine, pattern after pattern; of both one or several are given."""
    targets = [load_machine(each) for each in _each_of(machines)]
    return [
        (pattern_on(each, on, ranks_per_node, seed), on)
        for each in _each_of(patterns)
        for on in targets
    ]


def _each_of(one_or_many: Any) -> list[Any]:
    one = isinstance(one_or_many, str | Path | np.ndarray | Pattern | Machine | Topology | Mapping)
    return [one_or_many] if one else list(one_or_many)
