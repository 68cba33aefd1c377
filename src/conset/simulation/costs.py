"""Costs as simulators take them: a machine's own, with what the absence of ports means."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.spec import PRESETS


def overheads_are_work(machine: Machine) -> bool:
    """Whether overheads keep a processor busy (presets) or are latencies of the links to and from the network."""
    return machine.document is None and machine.name.split(",")[0].split(":")[0] in PRESETS


def effective_costs(machine: Machine, method: str = "") -> Costs:
    """The costs of running what `method` found; a bare network without ports has no injection or ejection either."""
    costs = machine.costs_for(method)
    no_ports = costs.port_out_Bps == inf and costs.port_in_Bps == inf
    if no_ports and not overheads_are_work(machine):
        return replace(costs, inject=Steps(), eject=Steps())
    return costs
