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
from conset.bounds.question import Found, Question


def bound_free_link_lp(question: Question) -> Found | None:
    """Phases; None unless asked for, with the machine's routes, or where neither links nor channels have a limit."""
    limits = question.limits
    if not _asked(question) or (limits.link is None and limits.channels is None):
        return None
    capacity = _capacities(question, inf if limits.link is None else float(limits.link))
    found = _prove(question, np.ones(question.source.size, np.int64), capacity, limits.channels)
    return None if found is None else Found(ceil(found[0]), found[1])


def bound_free_link_lp_time(question: Question, phases: int) -> Found | None:
    """Seconds; None unless asked for, with the machine's routes, or where links cost nothing."""
    work = question.link_work
    if not _asked(question) or work.size == 0 or not work.any():
        return None
    with np.errstate(divide="ignore"):
        rate = np.broadcast_to(1 / work, question.topology.link_slots).astype(np.float64)
    found = _prove(question, np.ascontiguousarray(question.size, np.int64), rate)
    return None if found is None else Found(question.all_bytes(float(found[0]), phases), found[1])


def bound_free_link_lp_load(question: Question) -> Found | None:
    """Sum over phases of the largest load; None unless asked for, or with the machine's routes."""
    if not _asked(question):
        return None
    found = _prove(question, np.ones(question.source.size, np.int64), _capacities(question, 1.0))
    return None if found is None else Found(ceil(found[0]), found[1])


def _asked(question: Question) -> bool:
    return question.lp and question.free and question.topology.links > 0


def _capacities(question: Question, limit: float) -> NDArray[np.float64]:
    return question.topology.widths().astype(np.float64) * limit


def _prove(
    question: Question, amount: NDArray[np.int64], link: NDArray[np.float64], node: int | None = None
) -> tuple[Fraction, str] | None:
    """(λ, its witness)."""
    topology = question.topology
    source, target, demand = demands(topology, question.source, question.target, amount)
    flow = Flow(topology, source, target, demand, link, None if node is None else float(node))
    proof = prove(flow)
    return None if proof is None else (proof.value, witness(flow, proof))
