"""Free routes, by linear program: no routes spread messages better over links and nodes than a fractional flow.

Statements, λ the value of the maximum concurrent flow (`flow_prices`) with these capacities:
- phases ≥ ⌈λ⌉, links `link` · width and nodes `channels` messages, jointly;
- time ≥ λ, links rate · width bytes a second, beside the least lead-in and lead-out of any message;
- sum of largest loads ≥ ⌈λ⌉, links their width.
Proof: one part of each message, or all its bytes, over the route it takes is a flow; in P phases a link carries at most
P times its capacity of them, in time T at most T · rate, and the largest loads add up to at least its messages per unit
of width. Class: any routes, whole or split messages, every policy; asked for (`lp`), as it takes seconds. Witness:
prices of links and nodes, rounded to whole numbers, whose cheapest routes are summed exactly: solver tolerances do not
enter. Stronger than the supply bounds where links are scarce in one place: the complete exchange on an 8×8 mesh with 12
channels needs 35 phases where counting channels says 34.
Source: Feldmann, Stricker, Warfel count channels; the program is the one of fractional routing, as Leighton and Rao
use it, doi:10.1145/331524.331526.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from conset.bounds.flow_prices import Flow, demands, prove, witness
from conset.bounds.question import BoundProblem, BoundValue


def bound_free_link_lp(problem: BoundProblem) -> BoundValue | None:
    """Phases; None unless asked for, with the machine's routes, or where neither links nor channels have a limit."""
    limits = problem.limits
    if not _asked(problem) or (limits.link is None and limits.channels is None):
        return None
    capacity = _capacities(problem, inf if limits.link is None else float(limits.link))
    found = _prove(problem, np.ones(problem.source.size, np.int64), capacity, limits.channels)
    return None if found is None else BoundValue(ceil(found[0]), found[1])


def bound_free_link_lp_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """Seconds; None unless asked for, with the machine's routes, or where links cost nothing."""
    work = problem.link_work
    if not _asked(problem) or work.size == 0 or not work.any():
        return None
    with np.errstate(divide="ignore"):
        rate = np.broadcast_to(1 / work, problem.topology.link_slots).astype(np.float64)
    found = _prove(problem, np.ascontiguousarray(problem.size, np.int64), rate)
    return None if found is None else BoundValue(problem.all_bytes(float(found[0]), phases), found[1])


def bound_free_link_lp_load(problem: BoundProblem) -> BoundValue | None:
    """Sum over phases of the largest load; None unless asked for, or with the machine's routes."""
    if not _asked(problem):
        return None
    found = _prove(problem, np.ones(problem.source.size, np.int64), _capacities(problem, 1.0))
    return None if found is None else BoundValue(ceil(found[0]), found[1])


def _asked(problem: BoundProblem) -> bool:
    return problem.lp and problem.free and problem.topology.links > 0


def _capacities(problem: BoundProblem, limit: float) -> NDArray[np.float64]:
    return problem.topology.widths().astype(np.float64) * limit


def _prove(
    problem: BoundProblem, amount: NDArray[np.int64], link: NDArray[np.float64], node: int | None = None
) -> tuple[Fraction, str] | None:
    """(λ, its witness)."""
    topology = problem.topology
    source, target, demand = demands(topology, problem.source, problem.target, amount)
    flow = Flow(topology, source, target, demand, link, None if node is None else float(node))
    proof = prove(flow)
    return None if proof is None else (proof.value, witness(flow, proof))
