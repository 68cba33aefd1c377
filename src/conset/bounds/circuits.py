"""Circuit switches: a line of the matrix of bytes needs its bytes, and a change for each piece.

A line is all that leaves a node, or all that enters it. It has one port in each of s planes.

Line time: bytes and changes of a line fit into its ports.
    Statement: with circuits of rate R and changes of δ, s · T ≥ Σ x/R + δ · Σ ⌈x / (R · (T - δ))⌉
    over the entries x of every line; of whole messages every entry counts one change, and T is at
    least δ + b/R for the longest. Proof: a change goes before what a circuit carries, also the
    first one, so a circuit is held for at most T - δ, and an entry needs at least
    ⌈x / (R · (T - δ))⌉ of them. While its port changes, or is held for one entry, it carries
    nothing else of the line; the s ports of the line have s · T together. With `partial` the same
    holds: a change keeps its two ports free. The right side falls as T grows, so the least T is
    found by bisection. Class: any schedule of circuits, split or not. Witness: the line.
    O(entries) a step, memory O(entries).

Line search (`lp`): the same line, plane by plane.
    Statement: T is at least the least time in which one line alone can be carried. Proof: its
    pieces in a plane come one after the other, each with a change, and an entry needs one piece in
    a plane at most (two of them joined take one change less). A plane is described by how many
    whole entries and how many parts of each class of entries it has; a part may be as long as the
    longest entry of its class, and an entry that is cut has two parts or more, which only allows
    more. An integer program asks how many planes of each description carry the line within T; where
    there is no solution no schedule takes T. Witness: the line. Bisection over T, an integer
    program (HiGHS) of at most `TYPES` descriptions each; what is not settled within `NODES` nodes
    counts as possible.
"""

from __future__ import annotations

from importlib import import_module
from itertools import product
from math import inf
from typing import Any

import numpy as np

from conset.base import Floats, Integers, Ints, count_of
from conset.bounds.problem import BoundProblem, BoundValue

Entries = tuple[Integers, Integers, Any]
"""(rows, columns, values) of a matrix."""

STEPS = 60
"""Of the bisection."""
SEARCHED = 14
"""Of that whose steps are integer programs."""
TYPES = 1000
"""Descriptions of a plane, at most."""
NODES = 300
"""Nodes of a search tree."""
ROUNDING = 1e-9
"""Relative: what a bound is lowered by, as sums and solvers round."""


def bound_circuit_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The line that needs most [s]; None on other machines."""
    delta = problem.machine.costs.reconfigure_s
    if delta is None or not problem.source.size:
        return None
    ends = problem.source, problem.target
    bytes_s = problem.size * np.maximum(problem.ways(*ends)[1], problem.port_work(*ends))
    nodes, planes = problem.topology.endpoints, problem.topology.planes
    entry, number = np.unique(ends[0].astype(np.int64) * nodes + ends[1], return_inverse=True)
    x = np.bincount(number, bytes_s)
    lines = np.concatenate([entry // nodes, nodes + entry % nodes])
    length = np.concatenate([x, x])
    sums, count = (np.bincount(lines, weights) for weights in (length, None))
    least = 0.0 if problem.split else float(bytes_s.max())

    def lacking(time: float) -> Floats:
        held = max(time - delta, 0.0)
        if held <= 0 or least > held:
            return np.array([inf])
        pieces = np.ceil(length / held * (1 - ROUNDING)) if problem.split else np.ones(length.size)
        return np.asarray(sums + delta * np.bincount(lines, pieces) - planes * time)

    low, high = delta, delta + float((sums + delta * count).max())
    line = int(sums.argmax())
    for _ in range(STEPS):
        time = (low + high) / 2
        lack = lacking(time)
        if lack.max() <= 0:
            high = time
        else:
            low = time
            line = int(lack.argmax()) if lack.size > 1 else int(lines[length.argmax()])
    own = length[lines == line]
    how = ""
    if problem.lp and problem.split:
        searched = _searched(own, planes, delta, low)
        how = ", whatever the planes carry of it" if searched > low else ""
        low = max(low, searched)
    name = problem.topology.node_name(line % nodes)
    return BoundValue(
        low * (1 - ROUNDING),
        f"what {'leaves' if line < nodes else 'enters'} {name}, {count_of(own.size, 'partner')} "
        f"over {count_of(planes, 'plane')}{how}",
    )


def _searched(length: Floats, planes: int, delta: float, low: float) -> float:
    """The largest time for which an integer program finds no way to carry a line [s]."""
    if delta <= 0:
        return low
    high = low * 2
    for _ in range(SEARCHED):
        time = (low + high) / 2
        if _is_impossible(length, planes, delta, time * (1 + 1e-6)):
            low = time
        else:
            high = time
    return low


def _classes(length: Floats, time: float, delta: float) -> tuple[list[Floats], Ints]:
    """(classes of entries, shape=(types, 2 · classes): whole entries and parts of each on a plane).

    Entries of one length are a class, as far as there are few enough types; else those of similar
    length, and parts count as whole ones do.
    """
    order = -np.sort(-length)
    gap = order[:-1] / order[1:]
    cuts = np.argsort(-gap, kind="stable")[: int((gap > 1 + ROUNDING).sum())]
    room = int(time / delta * (1 + ROUNDING))
    for distinct in (True, False):
        for count in range(min(cuts.size, 10), -1, -1):
            classes = np.split(order, np.sort(cuts[:count]) + 1)
            most = [min(each.size, room) for each in classes]
            of_plane = [
                [(w, p) for w in range(n + 1) for p in range(n - w + 1 if distinct else 1)]
                for n in most
            ]
            if float(np.prod([float(len(each)) for each in of_plane])) > 50 * TYPES:
                continue
            made = np.array([sum(each, ()) for each in product(*of_plane)])
            pieces = made.sum(axis=1)
            made = made[(pieces > 0) & (pieces <= room)]
            if len(made) <= TYPES:
                return classes, made
            if distinct:
                break  # fewer classes say less than distinct parts
    return [], np.zeros((0, 0), np.int64)


def _is_impossible(length: Floats, planes: int, delta: float, time: float) -> bool:
    """Whether a line cannot be carried in a time; False where that is not found out."""
    classes, types = _classes(length, time, delta)
    if not classes:
        return False
    whole, parts = types[:, ::2].T, types[:, 1::2].T
    distinct = bool(parts.any())
    c, t = whole.shape
    longest, shortest = (np.array([each[k] for each in classes]) for k in (0, -1))
    # variables: planes of each type; what those carry of each class; entries of it that are cut
    n, y, u = np.arange(t), t + np.arange(c * t), t + c * t + np.arange(c)
    of_type, of_class = np.tile(n, c), np.repeat(np.arange(c), t)
    one, rows = np.ones(c * t), np.arange(c * t)
    blocks: list[tuple[list[Entries], Floats | float, Floats | float, int]] = [
        ([(0 * n, n, np.ones(t))], -inf, planes, 1),
        ([(n, n, delta * types.sum(axis=1) - time), (of_type, y, one)], -inf, 0.0, t),
        (
            [(rows, y, one), (rows, of_type, -((whole + parts).T * longest).T.ravel())],
            -inf,
            0.0,
            c * t,
        ),
        ([(of_class, y, one)], np.array([each.sum() * (1 - ROUNDING) for each in classes]), inf, c),
    ]
    sizes = np.array([float(each.size) for each in classes])
    if distinct:
        k = np.arange(c)
        blocks += [
            ([(rows, y, one), (rows, of_type, -(whole.T * shortest).T.ravel())], 0.0, inf, c * t),
            ([(of_class, of_type, whole.ravel() * 1.0), (k, u, np.ones(c))], sizes, sizes, c),
            ([(of_class, of_type, parts.ravel() * 1.0), (k, u, np.full(c, -2.0))], 0.0, inf, c),
        ]
    else:
        blocks.append(([(of_class, of_type, whole.ravel() * 1.0)], sizes, inf, c))
    optimize = import_module("scipy.optimize")
    constraints = [
        optimize.LinearConstraint(
            _matrix(entries, (count, t + c * t + c)),
            low,
            high,
        )
        for entries, low, high, count in blocks
    ]
    found = optimize.milp(
        np.zeros(t + c * t + c),
        constraints=constraints,
        integrality=np.repeat([1, 0, 1], [t, c * t, c]),
        bounds=optimize.Bounds(0, np.concatenate([np.full(t, planes), np.full(c * t, inf), sizes])),
        options={"node_limit": NODES},
    )
    return bool(found.status == 2)


def _matrix(entries: list[Entries], shape: tuple[int, int]) -> Any:
    """Of (rows, columns, values), which add up."""
    row, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
    sparse = import_module("scipy.sparse")
    return sparse.coo_matrix((value, (row, column)), shape).tocsr()
