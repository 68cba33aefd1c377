"""What a method requires: each function says in one line what was required and what was given, or None.

`applies_<method>` of a method's file joins those that concern it; `require` turns its line into an error.
"""

from __future__ import annotations

import numpy as np

from conset.errors import InputError
from conset.methods.problem import Problem


def applies_anywhere(problem: Problem) -> None:
    """Of a method that takes any problem."""


def refuse_order(problem: Problem, method: str) -> str | None:
    """`method` cannot make a message wait for another."""
    before = problem.pattern.before
    if before is None:
        return None
    return f"method {method} requires a pattern without an order, given {len(before)} ordered pairs of messages"


def refuse_shared_nodes(problem: Problem, method: str) -> str | None:
    """`method` works on ranks and keeps port limits only where each has a node of its own."""
    if problem.placement is None:
        return None
    nodes, count = np.unique(problem.placement, return_counts=True)
    if nodes.size == problem.placement.size:
        return None
    crowded = int(np.argmax(count))
    return f"method {method} requires one rank per node, given {count[crowded]} ranks on node {nodes[crowded]}"


def refuse_limits(problem: Problem, method: str, *kept: str) -> str | None:
    """`method` keeps the limits `kept` only."""
    for name, value in problem.limits.to_object().items():
        if name == "link" and problem.machine.topology.link_slots == 0:
            continue  # a crossbar has no links to limit
        if name not in kept and value not in (None, "full"):
            return f"method {method} requires {name} without a limit, given {name}={value}"
    return None


def require(refusal: str | None) -> None:
    """Raises `InputError` where there is a reason why a method does not apply."""
    if refusal is not None:
        raise InputError(refusal)
