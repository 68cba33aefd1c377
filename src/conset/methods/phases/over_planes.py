"""Methods over planes.

Any method of one network, for a machine that has that network several times.

Problem: phases whose messages share out several equal networks (`Topology.of_planes`), so that no
link of any plane bears more than the limit; a plane per transfer is free to choose.

Idea: a phase of p planes is p slots of one network, in which a port counts once for all slots of
the phase and a link for each. A method that looks for the slot of a message has then chosen its
plane: `first-fit`, `negotiated` (routes included) and `bounded` do (`Method.chooses_planes`). Where
messages have an order, channels are limited or exchanges are asked for, they take the machine's
rule (source + target) mod p, as all other methods do; what applies to a single network only, such
as a construction for meshes, is made there, and its messages are shared out by the rule.

Invariant: ports are as the method left them, links keep the limit in every plane. Without slots
phases of one network keep it as they are.

Circuit switches (`reconfigure`): a method is asked for phases of one of them, each of which then
passes in one plane. The planes run side by side, so the phases have a timetable.

Source of the idea of two meshes: Bokhari and Nicol, Section 8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from conset.base import Integers, take_rows
from conset.machine import (
    circuit_times,
    links_in_plane,
    links_of_nodes,
    plane_by_rule,
    plane_routes,
    stops_of_links,
)
from conset.methods.phases.circuits import held, in_planes
from conset.methods.phases.problem import Method, Phases, Problem


def folded(method: Method, problem: Problem) -> Problem:
    """What `method` is asked on a machine of planes: the same on one of them, or the problem.

    The latter where there are no planes, and where the method takes the machine as it is: routes
    that it chooses are made on one, whatever the machine's rule, so that each stays in a plane.
    """
    machine, limits = problem.machine, problem.limits
    topology, by_plane = machine.topology, machine.routing.rule == "planes"
    if topology.base is topology:
        return problem
    inside = replace(
        machine, topology=topology.base, routing=machine.routing.in_one_plane(topology)
    )
    if machine.is_circuit:
        return replace(problem, machine=inside, planes=topology.planes if method.circuits else 1)
    free = method.free_routes and (
        problem.search.routes == "free" or not method.chooses_planes
    )  # such as connections
    slots = limits.channels is None and limits.duplex == "full" and problem.pattern.before is None
    chooses = method.chooses_planes and slots and (by_plane or free)
    if not (chooses or free or (by_plane and method.applies(problem) is not None)):
        return problem
    return replace(problem, machine=inside, planes=topology.planes if chooses else 1)


def schedule_over_planes(method: Method, problem: Problem) -> Phases:
    """`method.schedule(problem)`, over as many planes as the machine has."""
    inside = folded(method, problem)
    found = method.schedule(inside)
    if problem.machine.is_circuit:
        return _in_circuits(problem, inside, found)
    if inside is problem or (found.plane is None and found.route_offsets is None):
        return found
    machine, topology = problem.machine, problem.machine.topology
    source, target = problem.source_node[found.message], problem.target_node[found.message]
    plane: Integers | None = found.plane
    if plane is None:
        plane = plane_by_rule(topology, source, target)
    if found.route_offsets is None or found.route_nodes is None:
        offsets, links = plane_routes(topology, machine.routing, source, target, plane)
    else:
        stated = found.route_offsets, found.route_nodes, found.route_links
        offsets, links = links_of_nodes(inside.machine.topology, inside.machine.routing, *stated)
        links = links_in_plane(topology, links, np.repeat(plane, np.diff(offsets)))
    offsets, nodes, entered = stops_of_links(topology, offsets, links, source)
    return replace(found, route_offsets=offsets, route_nodes=nodes, route_links=entered)


def _in_circuits(problem: Problem, inside: Problem, found: Phases) -> Phases:
    """Phases of one circuit switch over all of them, with the times at which messages pass.

    They are listed in the order in which they begin.
    """
    machine, topology = problem.machine, problem.machine.topology
    if found.plane is None:
        found = in_planes(replace(inside, planes=topology.planes), found)
    assert found.plane is not None
    source, target, duration = held(inside, found)
    plane = found.plane
    times = circuit_times(machine, found.offsets, plane, source, target, duration)
    full = np.flatnonzero(np.diff(found.offsets))
    begin = np.maximum.reduceat(times.begin, found.offsets[full]) if full.size else times.begin
    of_phase = plane[found.offsets[full]]
    for k in range(topology.planes):  # which keep the order of their phases, so times stay
        mine = of_phase == k
        begin[mine] = np.maximum.accumulate(begin[mine])
    offsets, rows = take_rows(found.offsets, full[np.argsort(begin, kind="stable")])
    routes: dict[str, Any] = {}
    if topology.planes > 1:
        ends = source[rows], target[rows]
        along = plane_routes(topology, machine.routing, *ends, plane[rows])
        stops = stops_of_links(topology, *along, ends[0])
        routes = dict(zip(("route_offsets", "route_nodes", "route_links"), stops, strict=True))
    return replace(
        found,
        offsets=offsets,
        message=found.message[rows],
        parts=None if found.parts is None else found.parts[rows],
        timetable=np.column_stack([times.begin, times.end])[rows],
        plane=None,
        **routes,
    )
