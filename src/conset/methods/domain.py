"""What a method requires, checked: each raises one line that says what was required and what was given."""

from __future__ import annotations

import numpy as np

from conset.errors import InputError
from conset.methods.problem import Problem


def require_no_order(problem: Problem, method: str) -> None:
    """`method` cannot make a message wait for another.

    Raises:
        InputError: the pattern has an order.
    """
    before = problem.pattern.before
    if before is not None:
        raise InputError(
            f"method {method} requires a pattern without an order, given {len(before)} ordered pairs of messages"
        )


def require_one_rank_per_node(problem: Problem, method: str) -> None:
    """`method` works on ranks and keeps port limits only where each has a node of its own.

    Raises:
        InputError: two ranks share a node.
    """
    if problem.placement is None:
        return
    nodes, count = np.unique(problem.placement, return_counts=True)
    if nodes.size < problem.placement.size:
        crowded = int(np.argmax(count))
        raise InputError(
            f"method {method} requires one rank per node, given {count[crowded]} ranks on node {nodes[crowded]}"
        )


def require_limits(problem: Problem, method: str, *names: str) -> None:
    """`method` keeps the limits `names` only.

    Raises:
        InputError: another limit is set.
    """
    for name, value in problem.limits.to_object().items():
        if name == "link" and problem.machine.topology.link_slots == 0:
            continue  # a crossbar has no links to limit
        if name not in names and value not in (None, "full"):
            raise InputError(f"method {method} requires {name} without a limit, given {name}={value}")
