"""Least time: the bounds of an execution over the routes as the core walks them, for pictures and texts."""

from __future__ import annotations

from conset.machine.machine import Machine
from conset.network.routes import route_links
from conset.simulation.bounds import Bound, Demand, lower_bound
from conset.simulation.resources import Resources
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload


def least_time(workload: Workload, machine: Machine, settings: Settings, model: str) -> Bound:
    """(time [s], witness): the largest of all bounds that hold for these messages under these settings."""
    resources = resources_on(workload, machine, settings, model)
    return lower_bound(Demand.of(workload, machine, settings, model, resources))


def resources_on(workload: Workload, machine: Machine, settings: Settings, model: str) -> Resources:
    """What messages share over the routes that a compiler chose, or the machine's own."""
    offsets, links = workload.link_offsets, workload.links
    if not offsets.size:
        offsets, links = route_links(machine.topology, machine.routing, workload.source, workload.target)
    return Resources.of(workload, machine, settings, model, offsets, links)
