"""Costs as simulators take them: a machine's own, with what the absence of ports means."""

from __future__ import annotations

from dataclasses import replace

from conset.machine.costs import Costs
from conset.machine.machine import Machine


def overheads_are_work(machine: Machine) -> bool:
    """Whether messages are work for processors."""
    return any(costs.has_overheads for costs in (machine.costs, *machine.method_costs.values()))


def effective_costs(machine: Machine, method: str = "") -> Costs:
    """The costs of running what `method` found, overheads and latencies added up."""
    costs = machine.costs_for(method)
    return replace(costs, inject=costs.inject + costs.send_overhead, eject=costs.eject + costs.receive_overhead)
