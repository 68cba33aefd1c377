"""Costs of messages in the form the core's formulas take them, under one policy."""

from __future__ import annotations

from math import inf

import numpy as np

from conset import _core
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.work import link_work
from conset.schedule.schedule import Schedule


def slots_of(schedule: Schedule, costs: Costs) -> int | None:
    """Messages a rank may have in flight: what the schedule says, else the machine's; None: any number."""
    stated: int | str | None = getattr(schedule, "in_flight", None)
    if stated is None:
        return costs.in_flight
    return None if stated == "all" else int(stated)


def message_costs(
    machine: Machine, costs: Costs, sync: str, *, in_flight: int | None, blocking: bool = True
) -> _core.MessageCosts:
    """What messages cost under a policy of the kind `sync` (none, local, ready, barrier).

    A request and a grant above the eager threshold are latency; under `ready` the signal stands for both.

    Args:
        machine: whose network.
        costs: of the method.
        sync: kind of the policy.
        in_flight: slots of a rank, None: any number.
        blocking: whether links that carry more than `tolerance` lose time, which is an estimate.
    """
    topology = machine.topology
    width = topology.link_width if topology.link_width is not None else np.array([topology.width], np.int32)
    ready = sync == "ready"
    latency = costs.inject + costs.eject + Steps((costs.per_transfer_s,)) + (Steps() if ready else costs.requests)
    steps = (costs.send_overhead, costs.receive_overhead, latency, costs.hop)
    limits = tuple(sorted({limit for each in steps for limit in each.up_to_B}))
    send, receive, once, hop = (np.array([each.at(limit) for limit in limits]) for each in steps)
    exchanges = sync in costs.exchange_syncs and costs.node_Bps < inf
    return _core.MessageCosts(
        np.array(limits), send, receive, once, hop,
        1 / costs.port_out_Bps, 1 / costs.port_in_Bps, 1 / costs.node_Bps, 1 / costs.copy_Bps,
        costs.exchange_weight if exchanges else 1.0, link_work(topology, costs, width), width,
        float(costs.tolerance), costs.blocking if blocking else 0.0, costs.setup_s,
        costs.signal_s if ready else 0.0, costs.hop.at(0) if ready else 0.0,
        -1.0 if costs.eager_B is None else costs.eager_B, costs.receive == "before",
        costs.one_processor and not costs.preempts, in_flight or 0,
    )  # fmt: skip
