"""Flit time: in routers a message takes cycles, and a link carries one flit in each.

Statement: with a cycle of `flit` / `link` seconds, time ≥ send overhead + (5 + 4 · hops + flits) cycles + receive
overhead for every message, and ≥ flits over l cycles for every link l. Proof: a header needs 5 cycles at the ends and 4
for every link, its flits follow one a cycle, and overheads are paid before and after; a link is a wire of one flit a
cycle. Ports, nodes and latencies are not read there. Class: the model `flit`, whole messages, the machine's routes or
those a schedule has, every policy. Witness: the message or the link. O(sum of hops).
"""

from __future__ import annotations

from math import inf

import numpy as np

from conset.bounds.bounds import Candidate
from conset.network.routes import route_hops, route_links
from conset.schedule.loads import chosen_links
from conset.schedule.schedule import Schedule

ENDS, HOP = 5, 4
"""Cycles of a lone header: at both ends together, and for every link."""


def bound_flit_time(schedule: Schedule) -> Candidate:
    """The longest message or the busiest link [s]; 0 where nothing is sent or links have no rate."""
    machine, costs = schedule.machine, schedule.machine.costs_for(schedule.method)
    topology = machine.topology
    if schedule.transfers == 0 or costs.link_Bps == inf:
        return Candidate("flit time", "time", 0.0, "no messages")
    cycle_s = machine.costs.flit_B / machine.costs.link_Bps
    source, target = schedule.source_node, schedule.target_node
    leaves = source != target
    flits = np.maximum(1, -(-schedule.size // costs.flit_B))
    offsets, links = chosen_links(schedule)
    hops = np.diff(offsets) if offsets.size else route_hops(topology, machine.routing, source, target)
    overheads = costs.send_overhead.of(schedule.size) + costs.receive_overhead.of(schedule.size)
    alone = np.where(leaves, overheads + (ENDS + HOP * hops + flits) * cycle_s, 0.0)
    k = int(np.argmax(alone))
    found = Candidate("flit time", "time", float(alone[k]), f"message {schedule.message[k]}, {flits[k]:,} flits")
    if not topology.link_slots:
        return found
    if not offsets.size:
        offsets, links = route_links(topology, machine.routing, source, target)
    carried = np.bincount(links, np.repeat(flits, np.diff(offsets)), topology.link_slots)
    link = int(np.argmax(carried))
    if carried[link] * cycle_s <= found.value:
        return found
    witness = f"{topology.link_name(link)} carries {int(carried[link]):,} flits"
    return Candidate("flit time", "time", float(carried[link]) * cycle_s, witness)
