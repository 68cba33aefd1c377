"""The border to the C++ core, seen from the methods: a problem as the arguments its functions share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.problem import Phases, Problem
from conset.network.routes import core_network

NO_OFFSETS, NO_LINKS = np.zeros(0, np.int64), np.zeros(0, np.int32)
"""Routes that nobody chose."""


def core_arguments(
    problem: Problem,
) -> tuple[_core.Network, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], _core.Limits]:
    """(network, source node, target node, link widths, limits): routes walked by the formula, 0 for no limit."""
    machine, limits = problem.machine, problem.limits
    topology = machine.topology
    width = topology.link_width if topology.link_width is not None else np.array([topology.width], np.int32)
    core_limits = _core.Limits(
        limits.send or 0, limits.receive or 0, limits.link or 0, limits.channels or 0, limits.duplex == "exchange"
    )
    network = core_network(topology, machine.routing)
    source, target = (np.ascontiguousarray(node, np.int32) for node in (problem.source_node, problem.target_node))
    return network, source, target, width, core_limits


def core_resources(problem: Problem) -> _core.Resources:
    """The messages with what they take of the limits, over routes walked by the formula."""
    return _core.Resources(*core_arguments(problem), NO_OFFSETS, NO_LINKS)


def core_order(problem: Problem) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(first, second): message `first[k]` ends before message `second[k]` starts; both empty without an order."""
    before = problem.pattern.before
    if before is None:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    return np.ascontiguousarray(before[:, 0]), np.ascontiguousarray(before[:, 1])


def schedule_random(problem: Problem, *, exchanges: bool) -> Phases:
    """What rs-n and rs-nl share: permutations filled row by row from a random start."""
    first, second = core_order(problem)
    phase = _core.schedule_random(core_resources(problem), exchanges, first, second, problem.search.seed % 2**64)
    return Phases.of(phase)
