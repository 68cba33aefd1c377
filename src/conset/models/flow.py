"""Flow: messages as fluid that shares links and ports max-min fairly.

The fastest model, blind to blocking.

Problem. When is every message delivered, if those under way at one time share every link and port
fairly?

Idea. A message's life is that of docs/cost-model.md: its latency passes without using bandwidth,
then its bytes flow at their max-min rate: raise one level for all flows together; a flow runs at
weight · level until a link or port of its route is full. `equal`: all weights are 1; `rtt`: 1 /
latency, as in SimGrid. The core solves again only what an event touches
(`cpp/include/conset/simulation/flow/sharing.hpp`).

Where switches spread messages (`adaptive`), a message takes of each link the part that goes over
it, and the fullest link on any of its ways holds all of it: its parts are one message, delivered
when the last has come. Where a hash draws routes the model follows those of the seed.

Exact against SimGrid 4.1 (raw model, full update). What it cannot show: a message that blocks a
link while it waits for another one; that is the business of `wormhole`.

Use it to compare schedules on machines with fair sharing, and inside searches: a million events
take seconds.

Complexity: events times the flows whose rate an event can change. Memory: 25 bytes per message, and
where something flows at the time 40 to 90 per route and 8 per hop over a link or port that can
fill.

Reference. Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2. Velho, Schnorr,
Casanova, Legrand, On the validity of flow-level TCP network models, ACM TOMACS 23 (2013), DOI
10.1145/2517448, for the weights.
"""

from __future__ import annotations

from conset import _core
from conset.base import UsageError
from conset.machine import Machine
from conset.models.nanoseconds import core_stops, exchanges_count, play_fluid, to_ns
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.schedule import parse_sync


def simulate_flow(
    workload: Workload, machine: Machine, settings: Settings | None = None
) -> Timeline:
    """When every message of a workload is delivered, by fair sharing.

    Args:
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed; None: everything at once.

    Raises:
        UsageError: an unknown policy, or `rtt` where bytes of exchanges count less or sends preempt
            receives.
        InputError: more receives than the machine can have posted.
        NoScheduleError: messages wait for each other in a cycle; names them.
    """
    settings = settings or Settings()
    costs = machine.costs_for(workload.method)
    if settings.fairness == "rtt" and (
        costs.preempts or exchanges_count(costs, parse_sync(settings.sync).kind)
    ):
        raise UsageError(
            f"fairness rtt: {machine.name} weighs exchanges at a node or preempts receives; "
            "must be equal",
            options=["fairness"],
        )
    if settings.fairness == "rtt" and costs.startup_s:
        raise UsageError(
            f"fairness rtt: startup of {machine.name} must be 0, or equal", options=["fairness"]
        )
    if settings.fairness == "rtt" and machine.routing.knowledge == "adaptive":
        raise UsageError(
            f"fairness rtt: {machine.name} spreads messages over routes (routing adaptive); "
            "must be equal",
            options=["fairness"],
        )
    # of the route alone: messages of one route are one flow, whatever steps their latencies have
    rtt_latency = to_ns(costs.inject.seconds[0] + costs.eject.seconds[0])
    return play_fluid(
        "flow",
        workload,
        machine,
        settings,
        lambda messages, execution, rates: _core.simulate_flow(
            messages,
            execution,
            rates,
            rtt=settings.fairness == "rtt",
            rtt_latency=rtt_latency,
            **core_stops(settings),
        ),
        lambda result: {"fairness": settings.fairness, "solves": result.solves},
        in_list=settings.receive_order != "any",
    )
