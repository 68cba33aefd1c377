"""connections: sets of open connections under a limit on channels, over routes of the compiler's choice (ConSet).

Problem: cut a pattern into phases and give every connection a route; a route takes one of K channels in every node it
visits, both ends included. Links and ports have no limit unless asked, but they are shared: a phase lasts as long as
its busiest port or link. Wanted: the shortest time, or with `objective=phases` the fewest phases and then the least
ΣL.
Idea: several routers know different parts of the answer (`connection_routers.table`): the text's sequential one
answers always, slots of a closed form and orbits of translations serve what is symmetric, negotiation the rest. All
that apply are asked, the best by the objective is kept; none after one that is proved to be the best.
Invariant: every limit is kept in every phase; the channels of a node are numbered and used once in a phase.
Unequal sizes: bytes are balanced over the phases of what each router gives (`balance`), and messages of the best
split over several phases where that is shorter (`split`). A router that is asked for by name gives its own phases as
they are.
Lists: where a node has few transfers in flight, which of a phase goes first decides: slots and orbits are listed as
they were made, other phases as an event list would start their transfers (`event_list`).
Guarantee: never worse than any of the routers alone at the same effort and seed.
Complexity: that of the routers.
When to use it: machines that hold open what a phase needs: logical channels, circuits, optical switches. Minimum
bandwidths (`min_bandwidth`): a port or link with u users gives each 1/u of its rate. Demands that are equal become
limits on users, which every router keeps; demands that differ are for the sequential router alone. A connection that
would not get its demand if it were alone is refused by name.
Channels: the default of a machine without hard limits is 12, as on iWarp.
Reference: Feldmann, Stricker, Warfel: Supporting Sets of Arbitrary Connections on iWarp Through Communication Context
Switches, Sections 2 and 4.4.1. Notation: P phases, L_p largest load of a port or link in phase p, ΣL their sum.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import InputError, NoScheduleError
from conset.machine.limits import MAX_LIMIT, Limits
from conset.methods.balance import balance_loads, regroup
from conset.methods.connection_routers.table import ROUTERS, SMALL, Router, find_router
from conset.methods.connection_routers.task import Task, assemble, best_score, schedule_of, score
from conset.methods.event_list import time_event_list
from conset.methods.method import require
from conset.methods.problem import Phases, Problem, Routes
from conset.methods.split import split_messages
from conset.network.topology import Topology
from conset.schedule.linkage import guarantees, number_channels

CHANNELS = 12
PLACES = 20_000
"""Connections times phases up to which messages are split, for each unit of effort."""
ROUNDING = 1 + 1e-9


def limits_connections(topology: Topology) -> Limits:
    """A limit on channels alone."""
    return Limits(channels=CHANNELS)


def applies_connections(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    if problem.limits.duplex == "exchange":
        return "method connections requires duplex full, given duplex=exchange"
    return None


def schedule_connections(problem: Problem) -> Phases:
    """Phases of connections with their routes and channels.

    Raises:
        UsageError: an unknown router.
        InputError: the router that was asked for does not apply.
        NoScheduleError: a connection cannot have the bandwidth that was asked for.
    """
    require(applies_connections(problem))
    if problem.pattern.messages == 0:
        return Phases(np.zeros(1, np.int64), np.zeros(0, np.int32))
    task = Task(_with_demands(problem))
    if problem.search.router is None:
        found, listed = _best(task)
    else:
        given = _asked(task, problem.search.router).route(task)
        found, listed = assemble(given), given.order is not None
    _check_demands(task, found, problem.min_bandwidth)
    return found if listed else _in_lists(problem, found)


def _in_lists(problem: Problem, phases: Phases) -> Phases:
    """The transfers of every phase as an event list starts them, where a node has few in flight; routes are kept."""
    if problem.machine.costs_for("connections").in_flight is None or phases.offsets.size < 2:
        return phases
    with suppress(_core.Interrupted):  # phases are what counts
        start = time_event_list(problem, phases, method="connections")[:, 0]
        phase = np.repeat(np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets))
        return regroup(phases, phase, start)
    return phases


def _asked(task: Task, name: str) -> Router:
    router = find_router(name)
    if task.problem.min_bandwidth is not None and not router.demands:
        raise InputError(f"router {name} requires equal minimum bandwidths, given different ones: sequential keeps any")
    return router


def _best(task: Task) -> tuple[Phases, bool]:
    """(the best of all routers that apply, the first of equals; whether its router listed its transfers)."""
    goal = best_score(task)
    best: tuple[tuple[float, ...], Phases, bool] | None = None
    for router in ROUTERS:
        if task.problem.min_bandwidth is not None and not router.demands:
            continue
        if (
            best is not None
            and router.demands
            and task.source.size * task.least_phases > SMALL * task.problem.search.effort
        ):
            break  # the last resort is not needed
        try:
            given = router.route(task)
        except InputError:
            continue  # outside of its domain
        found = _balanced(task, assemble(given))
        value = score(task, found)
        if best is None or value < best[0]:
            best = value, found, given.order is not None and not _unequal(task)
        _core.publish(best[1].offsets.size - 1, task.least_phases)
        if all(a <= b * ROUNDING for a, b in zip(best[0][: len(goal)], goal, strict=True)):
            break
        if _core.should_stop(True):
            return replace(best[1], stopped_early=True), best[2]
    if best is None:  # pragma: no cover - sequential always answers or raises
        raise NoScheduleError("no router found a schedule")
    return _split(task, best[1]), best[2]


def _unequal(task: Task) -> bool:
    """Whether bytes are worth balancing: sizes differ, the time counts, and demands leave connections free to move."""
    problem = task.problem
    return problem.search.objective == "time" and problem.min_bandwidth is None and not task.equal_sizes


def _balanced(task: Task, phases: Phases) -> Phases:
    """Connections moved between phases until the busiest ports and links are even; new routes where they may be."""
    if not _unequal(task):
        return phases
    routes: Routes = "fixed" if task.problem.machine.routing.rule == "no-wrap" else "free"
    return balance_loads(task.problem, phases, routes=routes, method="connections")


def _split(task: Task, phases: Phases) -> Phases:
    """Some messages cut over several phases where that is shorter; a linear program, so only of moderate size."""
    places = phases.message.size * (phases.offsets.size - 1)
    if not _unequal(task) or places > PLACES * task.problem.search.effort or phases.route_offsets is None:
        return phases
    cut = split_messages(task.problem, phases, method="connections")
    if cut is phases or cut.route_offsets is None or cut.route_nodes is None:
        return phases
    return replace(cut, channels=number_channels(cut.offsets, cut.route_offsets, cut.route_nodes))


def _with_demands(problem: Problem) -> Problem:
    """Minimum bandwidths that are equal as limits on the users of ports and links.

    Raises:
        NoScheduleError: a connection that could not have its demand if it were alone.
    """
    demand = problem.min_bandwidth
    if demand is None:
        return problem
    rates = _rates(problem)
    slowest = min(rates)
    leaves = problem.source_node != problem.target_node
    refused = np.flatnonzero(leaves & (demand > slowest * ROUNDING))
    if refused.size:
        raise NoScheduleError(_refusal(problem, int(refused[0]), float(demand[refused[0]]), slowest))
    uniform = problem.machine.topology.link_rate_Bps is None
    if not uniform or demand.min() != demand.max():
        return problem
    if demand[0] <= 0:
        return replace(problem, min_bandwidth=None)
    names, limits = ("send", "receive", "link"), problem.limits
    shared = {name: rate for name, rate in zip(names, rates, strict=True) if np.isfinite(rate)}
    users = {name: int(min(rate * ROUNDING / demand[0], MAX_LIMIT)) for name, rate in shared.items()}
    per_node = Limits(users.get("send"), users.get("receive"), users.get("link"))
    return replace(problem, limits=limits.tightened(per_node), min_bandwidth=None)


def _rates(problem: Problem) -> tuple[float, float, float]:
    """(port out, port in, slowest link per unit of width) [B/s]."""
    costs, topology = problem.machine.costs_for("connections"), problem.machine.topology
    link = float(costs.link_Bps)
    if topology.link_rate_Bps is not None:
        link = float((topology.link_rate_Bps * topology.widths()).min(initial=np.inf))
    return costs.port_out_Bps, costs.port_in_Bps, link if topology.link_slots else np.inf


def _check_demands(task: Task, phases: Phases, demand: NDArray[np.float64] | None) -> None:
    """Every connection has what was asked for it."""
    if demand is None:
        return
    given = guarantees(schedule_of(task, phases)).bandwidth_Bps
    short = np.flatnonzero(given * ROUNDING < demand[phases.message])
    if short.size:
        message = int(phases.message[short[0]])
        raise NoScheduleError(_refusal(task.problem, message, float(demand[message]), float(given[short[0]])))


def _refusal(problem: Problem, message: int, demand: float, given: float) -> str:
    from conset.units import format_rate

    ranks = int(problem.pattern.source[message]), int(problem.pattern.target[message])
    return (
        f"message {message} (rank {ranks[0]} → {ranks[1]}): a bandwidth of {format_rate(demand)} is asked for, "
        f"at most {format_rate(given)} can be guaranteed"
    )
