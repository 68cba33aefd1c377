"""Bounds of free routes by linear program.

What no routes avoid, with prices of links and nodes as the proof.

Statements, where λ is the least factor such that all messages can flow, in fractions and over any
routes, with at most λ · capacity on every link and through every node:
- phases ≥ ⌈λ⌉, links taking `link` · width and nodes `channels` messages, jointly;
- time ≥ λ, links carrying rate · width bytes a second, beside the least lead-in and lead-out of any
  message;
- sum of largest loads ≥ ⌈λ⌉, links taking their width.
Proof: one part of each message, or all its bytes, over the route it takes is a flow; in P phases a
link carries at most P times its capacity of them, in time T at most T · rate, and the largest loads
add up to at least its messages per unit of width. Class: any routes, whole or split messages, every
policy; asked for (`lp`), as it takes seconds.

Idea: λ is the maximum concurrent flow, seen from its dual. For prices of links and nodes that are
not negative, every route costs at least the cheapest one, so that

    λ ≥ Σ over messages of (cost of the cheapest route) / Σ of capacity · price,

and the program's own prices make this an equality. So the program is believed in nothing: its
prices are rounded to whole numbers, the cheapest routes are found anew with them, and both sums are
exact. Whatever tolerance the solver kept, whatever it returned, the quotient is a bound. Witness:
these prices.
When to use it: where links are scarce in one place it is stronger than the supply bounds: the
complete exchange on an 8×8 mesh with 12 channels needs 35 phases where counting channels says 34.
Complexity: sources × links variables, one commodity for each source; interior point (HiGHS), about
a second for the complete exchange on 8×8 nodes; the proof O(sources · links · log nodes).
Reference: Shahrokhi, Matula, The maximum concurrent flow problem, doi:10.1145/77600.77620;
fractional routing as Leighton and Rao use it, doi:10.1145/331524.331526; HiGHS,
doi:10.1007/s12532-017-0130-5. Feldmann, Stricker, Warfel count channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from math import ceil, inf
from typing import Any

import numpy as np

from conset.base import Array, Floats, InputError, Ints, Ints32
from conset.bounds.problem import BoundProblem, BoundValue
from conset.machine import Topology

MAX_VARIABLES = 1 << 19
"""Of a linear program, at most."""
SCALE = 1 << 20
"""The highest price."""
ROUNDING = 1e-12
"""Relative: of what is not a whole number."""
SHOWN = 3
"""Links or nodes that a witness names."""


@dataclass(frozen=True, eq=False)
class Flow:
    """What is to flow, and past what.

    Attributes:
        topology: the network.
        source: shape=(pairs), distinct pairs of nodes.
        target: shape=(pairs).
        demand: shape=(pairs), int64: messages or bytes of each pair.
        link: shape=(link_slots): capacity of each link, inf where it has no limit.
        node: capacity of each node for routes through it, their ends included; None: no limit.
    """

    topology: Topology
    source: Ints
    target: Ints
    demand: Ints
    link: Floats
    node: float | None = None


@dataclass(frozen=True, eq=False)
class Proof:
    """Prices and what they prove.

    Attributes:
        value: λ is at least this.
        link: shape=(link_slots), int64: price of a unit of each link.
        node: shape=(nodes), int64.
        routes: Σ of the cheapest routes.
    """

    value: Fraction
    link: Ints
    node: Ints
    routes: int


def bound_free_link_lp(problem: BoundProblem) -> BoundValue | None:
    """Phases; None unless asked for with the machine's routes.

    Or where neither links nor channels have a limit.
    """
    limits = problem.limits
    if not _applies(problem) or (limits.link is None and limits.channels is None):
        return None
    capacity = _capacities(problem, inf if limits.link is None else float(limits.link))
    found = _solve(problem, np.ones(problem.source.size, np.int64), capacity, limits.channels)
    return None if found is None else BoundValue(ceil(found[0]), found[1])


def bound_free_link_lp_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """Seconds; None unless asked for, with the machine's routes, or where links cost nothing."""
    work = problem.link_work
    if not _applies(problem) or work.size == 0 or not work.any():
        return None
    with np.errstate(divide="ignore"):
        rate = np.broadcast_to(1 / work, problem.topology.link_slots).astype(np.float64)
    found = _solve(problem, np.ascontiguousarray(problem.size, np.int64), rate)
    return (
        None if found is None else BoundValue(problem.all_bytes(float(found[0]), phases), found[1])
    )


def bound_free_link_lp_load(problem: BoundProblem) -> BoundValue | None:
    """Sum over phases of the largest load; None unless asked for, or with the machine's routes."""
    if not _applies(problem):
        return None
    found = _solve(problem, np.ones(problem.source.size, np.int64), _capacities(problem, 1.0))
    if found is None:
        return None
    whole = problem.machine.routing.is_known
    return BoundValue(ceil(found[0]) if whole else float(found[0]) * (1 - ROUNDING), found[1])


def _applies(problem: BoundProblem) -> bool:
    return problem.lp and problem.free and problem.topology.links > 0


def _capacities(problem: BoundProblem, limit: float) -> Floats:
    return problem.topology.widths().astype(np.float64) * limit


def _solve(
    problem: BoundProblem,
    amount: Ints,
    link: Floats,
    node: int | None = None,
) -> tuple[Fraction, str] | None:
    """(λ, its witness)."""
    topology = problem.topology
    source, target, demand = demands(topology, problem.source, problem.target, amount)
    flow = Flow(topology, source, target, demand, link, None if node is None else float(node))
    proof = prove(flow)
    return None if proof is None else (proof.value, witness(flow, proof))


def prove(flow: Flow) -> Proof | None:
    """The best proof the program finds; None where nothing is scarce.

    Raises:
        InputError: the program would be too large; names both numbers.
    """
    if flow.source.size == 0 or (
        not np.isfinite(flow.link[flow.topology.link_exists]).any() and flow.node is None
    ):
        return None
    found = [evaluate(flow, *prices) for prices in (_equal_prices(flow), _program_prices(flow))]
    return max(
        (proof for proof in found if proof is not None), key=lambda proof: proof.value, default=None
    )


def evaluate(flow: Flow, link: Floats, node: Floats) -> Proof | None:
    """What prices prove, exactly; they are rounded to whole numbers first.

    None where they are worth nothing.
    """
    highest = max(link.max(initial=0.0), node.max(initial=0.0))
    if not highest > 0:
        return None
    link_price, node_price = (
        np.rint(np.maximum(p, 0) / highest * SCALE).astype(np.int64) for p in (link, node)
    )
    link_price[~np.isfinite(flow.link)] = 0
    scarce = np.flatnonzero(link_price)
    supply = sum((Fraction(flow.link[k]) * int(link_price[k]) for k in scarce), Fraction(0))
    if flow.node is None:
        node_price[:] = 0
    else:
        supply += Fraction(flow.node) * int(node_price.sum())
    if supply <= 0:
        return None
    cost = _cheapest(flow, link_price, node_price) + node_price[flow.source]
    routes = sum(d * c for d, c in zip(flow.demand.tolist(), cost.tolist(), strict=True))
    return Proof(Fraction(routes) / supply, link_price, node_price, routes)


def witness(flow: Flow, proof: Proof) -> str:
    """The most valuable links and nodes, by their share of the supply."""
    topology = flow.topology
    worth = [
        (flow.link[k] * proof.link[k], topology.link_name(int(k)))
        for k in np.flatnonzero(proof.link)
    ]
    if flow.node is not None:
        worth += [
            (flow.node * proof.node[v], topology.node_name(int(v)))
            for v in np.flatnonzero(proof.node)
        ]
    worth.sort(key=lambda item: -item[0])
    names = ", ".join(name for _, name in worth[:SHOWN])
    more = f" and {len(worth) - SHOWN} more" if len(worth) > SHOWN else ""
    return (
        f"with prices on {names}{more}, the cheapest routes cost {float(proof.value):.6g} times "
        "what there is"
    )


def demands(
    topology: Topology, source: Ints32, target: Ints32, amount: Ints
) -> tuple[Ints, Ints, Ints]:
    """(source, target, demand) of the distinct pairs of nodes, `amount` added up."""
    key, position = np.unique(
        source.astype(np.int64) * topology.nodes + target, return_inverse=True
    )
    total = np.zeros(key.size, np.int64)
    np.add.at(total, position, amount)
    return key // topology.nodes, key % topology.nodes, total


def _equal_prices(flow: Flow) -> tuple[Floats, Floats]:
    """Every link and node worth the same: what counting hops proves."""
    link = np.where(flow.topology.link_exists & np.isfinite(flow.link), 1.0, 0.0)
    return (
        (link, np.zeros(flow.topology.nodes))
        if flow.node is None
        else (0 * link, np.ones(flow.topology.nodes))
    )


def _program_prices(flow: Flow) -> tuple[Floats, Floats]:
    """The dual variables of the capacities in the linear program.

    Variables: what each source sends over each link, source by source, then λ.
    """
    optimize, sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
    topology = flow.topology
    nodes, exists = topology.nodes, np.flatnonzero(topology.link_exists)
    sources, commodity = np.unique(flow.source, return_inverse=True)
    count, links = sources.size, exists.size
    if count * links > MAX_VARIABLES:
        raise InputError(
            f"linear program of {count} sources × {links} links: at most "
            f"{MAX_VARIABLES} variables, "
            f"given {count * links}; leave lp out",
            options=["lp"],
        )
    tail, head = (end[exists] for end in topology.ends)
    enters, leaves = (_mark(end, np.arange(links), (nodes, links)) for end in (head, tail))
    # a unit of demand that keeps the solver's numbers near 1, and one of capacity
    demand = flow.demand / flow.demand.mean()
    scarce = np.flatnonzero(np.isfinite(flow.link[exists]))
    unit = float(np.median(flow.link[exists][scarce])) if scarce.size else float(flow.node or 1)
    wanted = np.zeros((count, nodes))
    wanted[commodity, flow.target] = demand
    wanted[np.arange(count), sources] -= wanted.sum(axis=1)
    balance = sparse.hstack(
        [sparse.block_diag([enters - leaves] * count), sparse.csr_array((count * nodes, 1))]
    )
    carried = _mark(np.arange(scarce.size), scarce, (scarce.size, links))
    uses = [
        sparse.hstack(
            [*[carried] * count, sparse.csr_array(-flow.link[exists][scarce, None] / unit)]
        )
    ]
    most = [np.zeros(scarce.size)]
    if flow.node is not None:
        uses.append(
            sparse.hstack(
                [*[enters] * count, sparse.csr_array(np.full((nodes, 1), -flow.node / unit))]
            )
        )
        sent = np.zeros(nodes)
        np.add.at(sent, flow.source, demand)
        most.append(-sent)
    objective = np.append(np.zeros(count * links), 1.0)
    result = optimize.linprog(
        objective,
        A_ub=sparse.vstack(uses).tocsr(),
        b_ub=np.concatenate(most),
        A_eq=balance.tocsr(),
        b_eq=wanted.ravel(),
        method="highs-ipm",
    )
    link, node = np.zeros(topology.link_slots), np.zeros(nodes)
    if result.ineqlin is not None and result.ineqlin.marginals is not None:
        prices = -np.asarray(result.ineqlin.marginals, np.float64)
        link[exists[scarce]] = prices[: scarce.size]
        node[:] = prices[scarce.size :] if flow.node is not None else 0
    return link, node


def _cheapest(flow: Flow, link_price: Ints, node_price: Ints) -> Ints:
    """shape=(pairs): the least price of links and of nodes entered, from source to target."""
    sparse, csgraph = import_module("scipy.sparse"), import_module("scipy.sparse.csgraph")
    nodes = flow.topology.nodes
    exists = np.flatnonzero(flow.topology.link_exists)
    tail, head = (end[exists] for end in flow.topology.ends)
    # a sparse graph has no links of length 0: each gets one more, together less than one unit
    unit = nodes + 1
    length = (link_price[exists] + node_price[head]) * unit + 1
    graph = sparse.csr_array((length.astype(np.float64), (tail, head)), shape=(nodes, nodes))
    sources, position = np.unique(flow.source, return_inverse=True)
    distance = csgraph.dijkstra(graph, indices=sources)[position, flow.target]
    return np.asarray(distance.astype(np.int64) // unit)


def _mark(row: Array, column: Array, shape: tuple[int, int]) -> Any:
    """A sparse matrix of ones."""
    return (
        import_module("scipy.sparse")
        .coo_array((np.ones(row.size), (row, column)), shape=shape)
        .tocsr()
    )
