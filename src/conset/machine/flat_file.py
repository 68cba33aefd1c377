"""Machines as flat files (`conset/machine@1`, `docs/flat-files.md`).

For programs that have no Python.

Everything that scheduling at run time asks of a machine: network, routes, widths and rates of
links, hard limits, costs of every method. Where numbers come from, transfer modes that are not in
use and what only other models read stay out. Read by `cpp/src/runtime/machine_file.cpp`.
"""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import numpy as np

from conset.base import MACHINE_FILE, FlatValue, InputError, require_suffix, write_flat
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.network.routes import core_widths, next_links, stored_routes
from conset.machine.network.routing import (
    EQUAL_COST,
    Routing,
    datelines,
    link_costs,
    up_strides,
)
from conset.machine.network.topology import Topology
from conset.machine.times import synchronization_s

SUFFIX = ".machine"


def write_machine(path: str | Path, machine: Machine) -> None:
    """Writes a machine for `conset.h` and `conset.alltoallv_init`.

    The same machine gives the same bytes.

    Raises:
        UsageError: another suffix than `.machine`.
        InputError: the file cannot be written, or the table of next links of a graph is beyond any
            memory.
    """
    require_suffix(path, "a machine's file for programs without Python", SUFFIX)
    write_flat(path, MACHINE_FILE, machine_entries(machine))


def machine_entries(machine: Machine) -> dict[str, FlatValue]:
    """What a flat file says of a machine, by name.

    Raises:
        InputError: circuit switches, for which nothing is scheduled inside a program.
    """
    if machine.is_circuit:
        raise InputError(
            f"{machine.name}: has circuit switches, for which a program cannot schedule by itself; "
            "give it a plan (conset plan)"
        )
    limits = machine.limits
    job: dict[str, FlatValue] = {"job": np.array(machine.job, np.int32)} if machine.job else {}
    entries: dict[str, FlatValue] = {
        "name": machine.name,
        "network": machine.topology.kind,
        **job,
        **_network_entries(machine.topology, machine.routing),
    }
    for name in ("send", "receive", "link", "channels"):
        entries[f"limit_{name}"] = int(getattr(limits, name) or 0)
    entries["limit_exchange"] = int(limits.duplex == "exchange")
    entries["limits_methods"] = ",".join(machine.limits_methods)
    entries["cost_methods"] = ",".join(machine.method_costs)
    for k, costs in enumerate((machine.costs, *machine.method_costs.values())):
        entries |= {
            f"costs{k}_{name}": value for name, value in _cost_entries(machine, costs).items()
        }
    return entries


def _network_entries(topology: Topology, routing: Routing) -> dict[str, FlatValue]:
    entries: dict[str, FlatValue] = {
        "nodes": topology.nodes,
        "endpoints": topology.endpoints,
        "width": np.ascontiguousarray(core_widths(topology), np.int32),
    }
    if topology.link_rate_Bps is not None:
        entries["link_rate"] = np.asarray(topology.link_rate_Bps, np.float64)
    if topology.is_box:
        entries["sides"] = np.asarray(topology.sides, np.int32)
        entries["wraps"] = int(topology.wraps and routing.rule != "no-wrap")
        entries["tie"] = routing.tie
    if topology.kind != "graph":
        return entries
    entries["link_source"], entries["link_target"] = topology.link_source, topology.link_target
    if (dateline := datelines(topology, routing)).any():
        entries["dateline"] = dateline
    if (stored := stored_routes(topology, routing)) is not None:
        entries["route_offsets"], entries["route_links"] = stored
    elif routing.rule in EQUAL_COST:
        entries["routing"], entries["hash"] = routing.rule, routing.seed
        entries["stride"] = (
            up_strides(topology) if routing.rule == "smodk" else np.zeros(0, np.int32)
        )
        if (cost := link_costs(topology)).size:
            entries["link_cost"] = cost
    else:
        entries["next_link"] = next_links(topology, routing).ravel()
    return entries


def _cost_entries(machine: Machine, costs: Costs) -> dict[str, FlatValue]:
    """Rates without limit are infinite, such counts 0.

    An eager threshold that is none is -1.
    """
    # scheduling inside a program knows no packets; wormhole sees what messages block, as they do
    entries: dict[str, FlatValue] = {
        "model": "wormhole" if costs.model == "packet" else costs.model,
        "processors": costs.processors,
        "exchange_syncs": ",".join(costs.exchange_syncs),
    }
    for name in ("send_overhead", "receive_overhead", "inject", "eject", "hop"):
        seconds, up_to = astuple(getattr(costs, name))
        entries[f"{name}_up_to"], entries[f"{name}_s"] = (
            np.array(up_to, np.float64),
            np.array(seconds, np.float64),
        )
    entries |= {
        "port_out": float(costs.port_out_Bps),
        "port_in": float(costs.port_in_Bps),
        "node": float(costs.node_Bps),
        "link": float(costs.link_Bps),
        "copy": float(costs.copy_Bps),
        "exchange_weight": float(costs.exchange_weight),
        "barrier": float(synchronization_s(machine, costs)),
        "setup": float(costs.setup_s),
        "signal": float(costs.signal_s),
        "per_transfer": float(costs.per_transfer_s),
        "jitter": float(costs.jitter_s),
        "blocking": float(costs.blocking),
        "eager": -1.0 if costs.eager_B is None else float(costs.eager_B),
        "buffers": float(costs.buffers_B),
        "tolerance": int(costs.tolerance),
        "lanes": int(costs.lanes),
        "in_flight": int(costs.in_flight or 0),
        "receives": int(costs.receives or 0),
        "outstanding_receives": int(costs.outstanding_receives or 0),
        "first_barrier": int(costs.first_barrier),
        "preempts": int(costs.preempts),
        "receive_before": int(costs.receive == "before"),
        "measured": int(costs.is_measured),
    }
    return entries | ({"startup": costs.startup_s} if costs.startup_s else {})
