"""The table of all bounds, and the largest of them.

For a pattern under limits, or for a schedule in its own class.

A name is given beside the function that finds it; the first of equal bounds is the witness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np

from conset.base import InputError, Ints32, UsageError, count_of, format_time, unknown_name
from conset.bounds.bounds import Bounds, Candidate, TimeOfClass
from conset.bounds.circuits import bound_circuit_time
from conset.bounds.cuts import bound_cut_load, bound_cut_sum, bound_cut_time
from conset.bounds.lp import bound_free_link_lp, bound_free_link_lp_load, bound_free_link_lp_time
from conset.bounds.order import bound_nonempty, bound_order
from conset.bounds.ports import (
    bound_channel_ends,
    bound_channel_sum,
    bound_channel_supply,
    bound_channels,
    bound_expected_link_sum,
    bound_expected_link_time,
    bound_link_load,
    bound_link_sum,
    bound_link_supply,
    bound_link_supply_time,
    bound_link_time,
    bound_partners,
    bound_port_degree,
    bound_port_sum,
    bound_port_time,
)
from conset.bounds.problem import BoundProblem, BoundValue, OrderKept, Routes, require_nodes
from conset.bounds.time import (
    bound_barrier_time,
    bound_chain_time,
    bound_flit_time,
    bound_message_time,
    bound_processor_time,
    bound_slots_time,
)
from conset.machine import Limits, Machine, plane_routes
from conset.pattern import Pattern
from conset.schedule import Schedule, parse_sync

Kind = TypeVar("Kind")

PHASE_BOUNDS: dict[str, Callable[[BoundProblem], BoundValue | None]] = {
    "port degree": bound_port_degree,
    "link load": bound_link_load,
    "channels": bound_channels,
    "cut load": bound_cut_load,
    "link supply": bound_link_supply,
    "channel supply": bound_channel_supply,
    "channel ends": bound_channel_ends,
    "linear program": bound_free_link_lp,
    "partners": bound_partners,
    "order": bound_order,
    "nonempty": bound_nonempty,
}

TIME_BOUNDS: dict[str, Callable[[BoundProblem, int], BoundValue | None]] = {
    "port time": bound_port_time,
    "processor time": bound_processor_time,
    "slots time": bound_slots_time,
    "link time": bound_link_time,
    "expected link time": bound_expected_link_time,
    "cut time": bound_cut_time,
    "link supply time": bound_link_supply_time,
    "linear program time": bound_free_link_lp_time,
    "message time": bound_message_time,
    "chain time": bound_chain_time,
    "barrier time": bound_barrier_time,
    "circuit time": bound_circuit_time,
}
"""Given the least number of phases; the synchronizations of so many are added to each."""

LOAD_BOUNDS: dict[str, Callable[[BoundProblem], BoundValue | None]] = {
    "port sum": bound_port_sum,
    "link sum": bound_link_sum,
    "expected link sum": bound_expected_link_sum,
    "cut sum": bound_cut_sum,
    "channel sum": bound_channel_sum,
    "linear program sum": bound_free_link_lp_load,
}
"""The sum over phases of the largest load at any port or link."""

OF_CIRCUITS = frozenset(
    {"port degree", "nonempty", "port time", "message time", "circuit time", "port sum"}
)
"""Those of circuit switches, where every plane connects every port."""

ROUNDING = 1e-12
"""Relative: bounds and predictions add the same terms in different orders."""
SYNC_LABELS = {
    "none": "everything posted in schedule order",
    "local": "a rank's own transfers of a phase end before its next",
    "ready": "as local, with a ready signal per message",
    "barrier": "barrier after every phase",
    "detect": "everything sent at once and received as it is found",
}


def bound(
    pattern: Pattern,
    machine: Machine,
    limits: Limits,
    *,
    placement: Ints32 | None = None,
    sync: str = "barrier",
    routes: Routes = "fixed",
    split: bool = False,
    order: OrderKept = "inside",
    method: str = "",
    phases: int | None = None,
    lp: bool = False,
    in_flight: int | Literal["all"] | None = None,
    said: str = "",
) -> Bounds:
    """What no schedule of a class beats.

    Args:
        pattern: what is sent.
        machine: network, routing and costs.
        limits: what every phase keeps.
        placement: shape=(ranks), int32: node of each rank; None: rank r on node r.
        sync: the policy.
        routes: `fixed`: the machine's; `free`: any.
        split: whether messages may be cut over phases.
        order: where an order may be kept: `inside` a phase too, or by `phases` alone.
        method: whose costs, where a machine runs methods in several ways.
        phases: number of phases that the sum of largest loads is asked for; None: any.
        lp: whether to solve linear programs for free routes too, which takes seconds.
        in_flight: the most messages that a rank may have in flight; None: the machine's number.
        said: which routes a schedule may take, as text; "": as `routes` says.

    Raises:
        UsageError: an unknown policy or word for routes or order, linear programs for fixed routes.
        InputError: a rank has no node on the machine; limits of links where routes are not known; a
            linear program would be too large.
    """
    if routes not in ("fixed", "free"):
        raise unknown_name("routes", str(routes), ("fixed", "free"))
    if order not in ("inside", "phases"):
        raise unknown_name("order", str(order), ("inside", "phases"))
    is_free = machine.is_circuit or machine.routing.knowledge == "adaptive"
    if lp and routes != "free" and not is_free:
        raise UsageError(
            "lp: the linear program is about free routes; add routes free",
            options=["lp", "routes free"],
        )
    require_nodes(pattern, machine, placement)
    if refusal := machine.why_not_kept(limits):
        raise InputError(refusal)
    costs = machine.costs_for(method)
    slots = costs.in_flight if in_flight is None else in_flight
    problem = BoundProblem(
        pattern,
        machine,
        costs,
        limits,
        placement,
        parse_sync(sync),
        routes == "free" or machine.is_circuit or not machine.routing.is_known,
        split,
        order == "inside",
        phases,
        lp,
        None if slots == "all" else slots,
        routes == "fixed" and not machine.is_circuit,
        said or ("any plane" if machine.is_circuit else ""),
    )
    return _combine(problem)


def _over_planes(schedule: Schedule) -> Machine | None:
    """One network as wide as all planes together.

    Each transfer keeps to a plane and to its network's routes.

    Whatever plane a message takes, it passes the same links of the network, and its planes have so
    many of each.
    """
    machine, topology = schedule.machine, schedule.machine.topology
    offsets, entered = schedule.route_offsets, schedule.route_links
    if topology.base is topology or offsets is None or entered is None or not schedule.transfers:
        return None
    links = entered[entered >= 0]
    hops = np.diff(offsets) - 1
    plane = np.zeros(hops.size, np.int64)
    plane[hops > 0] = links[(np.cumsum(hops) - hops)[hops > 0]] % topology.planes
    ends = schedule.source_node, schedule.target_node
    usual = plane_routes(topology, machine.routing, *ends, plane)
    if not (np.array_equal(np.diff(usual[0]), hops) and np.array_equal(usual[1], links)):
        return None
    rule = machine.routing.in_one_plane(topology)
    base, count = topology.base, topology.planes
    wide = (
        replace(base, link_width=np.full(base.links, count))
        if base.kind == "graph"
        else replace(base, width=base.width * count)
    )
    return replace(machine, topology=wide, routing=rule)


def bound_any(
    pattern: Pattern,
    machine: Machine,
    limits: Limits,
    *,
    sync: str | None = None,
    routes: Routes = "fixed",
    **how: Any,
) -> tuple[Bounds, list[TimeOfClass]]:
    """(bounds, times of stricter classes): phases and loads under limits, the time of any schedule.

    Args:
        pattern: what is sent.
        machine: network, routing and costs.
        limits: what every phase keeps; the time holds without them too.
        sync: the policy of the stricter class; None: a barrier after every phase, as `compile` has
            it where there are several.
        routes: as of `bound`.
        **how: further arguments of `bound`.

    Raises as `bound`.
    """
    free = bound(pattern, machine, Limits(), sync="none", split=True, routes=routes, **how)
    usual = "none" if machine.is_circuit else "barrier"
    found = bound(pattern, machine, limits, sync=sync or usual, routes=routes, **how)
    of_limits = TimeOfClass(found.time_s, found.time_witness, found.time_class)
    is_stricter = found.time_s > free.time_s and (sync is not None or found.phases > 1)
    candidates = [each for each in found.candidates if each.what != "time"]
    candidates += [each for each in free.candidates if each.what == "time"]
    over = "the machine's routes" if routes == "fixed" else "any routes"
    over = "any plane" if machine.is_circuit else over
    bounds = replace(
        found,
        time_s=free.time_s,
        time_witness=free.time_witness,
        time_class=f"any schedule, whatever its limits, order, synchronization and splits; {over}",
        candidates=tuple(candidates),
    )
    return bounds, [of_limits] if is_stricter else []


def bound_schedule(schedule: Schedule) -> Bounds:
    """What no schedule of the class of `schedule` beats.

    The class: its limits and policy; whole messages unless it splits some; its machine's routes
    unless it has its own, which over planes are those of the network in one of them; an order kept
    inside phases too. Slots are the machine's, or those it asks for where they are more.
    """
    slots: int | Literal["all"] | None = getattr(schedule, "in_flight", None)
    own = schedule.machine.costs_for(schedule.method).in_flight
    if own is None or (isinstance(slots, int) and slots < own):
        slots = None
    wide = None if schedule.machine.is_circuit else _over_planes(schedule)
    fixed = schedule.route_offsets is None or wide is not None
    return bound(
        schedule.pattern,
        wide or schedule.machine,
        schedule.limits,
        placement=schedule.placement,
        sync=schedule.sync,
        routes="fixed" if fixed else "free",
        split=schedule.parts is not None,
        method=schedule.method,
        phases=schedule.phases,
        in_flight=slots,
        said="" if wide is None else "the network's routes in any plane",
    )


def bound_for_model(schedule: Schedule, model: str) -> float:
    """The bound on executions of the class of `schedule` where `model` is the network's [s].

    `flit` counts cycles of routers and reads no ports, nodes or latencies: it has a bound of its
    own, about the routes of the schedule; fluids have that of `bound_schedule`.

    Raises:
        UsageError: `connections`, where what both ends pay passes together and a slot is free
            before the delivery: a bound of one simulation is in its timeline.
    """
    if model == "connections":
        raise UsageError(
            "connections: no bound of all schedules, a timeline has its own", options=["model"]
        )
    if model == "flit":
        return bound_flit_time(schedule).value * (1 - ROUNDING)
    return bound_schedule(schedule).time_s


def _asked(table: dict[str, Kind], problem: BoundProblem) -> dict[str, Kind]:
    """The bounds of a table that are about the machine."""
    if not problem.machine.is_circuit:
        return table
    return {name: function for name, function in table.items() if name in OF_CIRCUITS}


def _combine(problem: BoundProblem) -> Bounds:
    phases_class, time_class, load_class = (
        _phases_class(problem),
        _time_class(problem),
        _load_class(problem),
    )
    if problem.pattern.messages == 0:
        return Bounds(
            0,
            "no messages",
            phases_class,
            0.0,
            "no messages",
            time_class,
            (),
            0,
            "no messages",
            load_class,
        )
    counts = [
        Candidate(name, "phases", int(found.value), found.witness)
        for name, function in _asked(PHASE_BOUNDS, problem).items()
        if (found := function(problem)) is not None
    ]
    most = max(counts, key=lambda c: c.value)
    phases = int(most.value)
    charges = problem.charges(phases)
    times = [
        Candidate(
            name,
            "time",
            (found.value + charges) * (1 - ROUNDING),
            f"{found.witness}: {format_time(found.value)}",
        )
        for name, function in _asked(TIME_BOUNDS, problem).items()
        if (found := function(problem, phases)) is not None
    ]
    longest = max(times, key=lambda c: c.value)
    fractions = not problem.machine.routing.is_known
    loads = [
        Candidate(name, "load", found.value if fractions else int(found.value), found.witness)
        for name, function in _asked(LOAD_BOUNDS, problem).items()
        if (found := function(problem)) is not None
    ]
    heaviest = max(loads, key=lambda c: c.value)
    added = (
        f", and synchronization of {count_of(phases, 'phase')} {format_time(charges)}"
        if charges
        else ""
    )
    return Bounds(
        phases,
        most.witness,
        phases_class,
        longest.value,
        longest.witness + added,
        time_class,
        (*counts, *times, *loads),
        heaviest.value if fractions else int(heaviest.value),
        heaviest.witness,
        load_class,
    )


def _describe_limits(limits: Limits) -> str:
    text = str(limits)
    return "no limits" if text == "none" else f"{text} in a phase"


def _describe_routes(problem: BoundProblem) -> str:
    if problem.is_hashed:
        return (
            f"routes drawn by a hash ({problem.machine.routing.rule}), in expectation over the hash"
        )
    if problem.is_adaptive:
        return "any routes in any fractions (adaptive)"
    return problem.said or ("any routes" if problem.free else "the machine's routes")


def _phases_class(problem: BoundProblem) -> str:
    order = ""
    if problem.pattern.before is not None:
        order = ", order kept inside phases too" if problem.inside else ", order kept by phases"
    return (
        f"{_describe_limits(problem.limits)}, whole or split messages, "
        f"{_describe_routes(problem)}{order}"
    )


def _load_class(problem: BoundProblem) -> str:
    limit = problem.limits.channels
    few = (
        f", {count_of(problem.phases, 'phase')} of {count_of(limit, 'channel')}"
        if limit is not None and problem.phases is not None
        else ""
    )
    return f"{_describe_routes(problem)}, whole or split messages{few}"


def _time_class(problem: BoundProblem) -> str:
    sync = problem.sync
    policy = (
        SYNC_LABELS[sync.kind] if sync.every == 1 else f"barrier after every {sync.every} phases"
    )
    messages = "split messages" if problem.split else "whole messages"
    slots = (
        ""
        if problem.in_flight is None
        else f", at most {count_of(problem.in_flight, 'message')} of a rank in flight"
    )
    return (
        f"{policy}, {messages}, {_describe_routes(problem)}, "
        f"{_describe_limits(problem.limits)}{slots}"
    )
