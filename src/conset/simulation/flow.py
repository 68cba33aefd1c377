"""Flow: messages as fluid that shares links and ports max-min fairly; the fastest model, blind to blocking.

Problem. When is every message delivered, if those under way at one time share every link and port fairly?

Idea. A message's life is that of docs/cost-model.md: its latency passes without using bandwidth, then its bytes flow
at their max-min rate: raise one level for all flows together; a flow runs at weight · level until a link or port of its
route is full. `equal`: all weights are 1; `rtt`: 1 / latency, as in SimGrid. The core solves again only what an event
touches (`cpp/include/conset/simulation/flow/sharing.hpp`).

Exact against SimGrid 4.1 (raw model, full update). What it cannot show: a message that blocks a link while it waits
for another one; that is the business of `wormhole`.

Use it to compare schedules on machines with fair sharing, and inside searches: a million events take seconds.

Complexity: events times the flows whose rate an event can change. Memory: 25 bytes per message, and where something
flows at the time 40 to 90 per route and 8 per hop over a link or port that can fill.

Reference. Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2. Velho, Schnorr, Casanova, Legrand, On the
validity of flow-level TCP network models, ACM TOMACS 23 (2013), DOI 10.1145/2517448, for the weights.
"""

from __future__ import annotations

import time

from conset import _core
from conset.errors import UsageError
from conset.machine.machine import Machine
from conset.schedule.sync import parse_sync
from conset.simulation.nanoseconds import (
    core_execution,
    core_messages,
    core_rates,
    core_stops,
    exchanges_count,
    place_waits,
    release_ns,
    require_no_cycle,
    timeline_of,
    to_ns,
)
from conset.simulation.order import check_receives
from conset.simulation.settings import Settings
from conset.simulation.timeline import Timeline
from conset.simulation.workload import Workload


def simulate_flow(workload: Workload, machine: Machine, settings: Settings | None = None) -> Timeline:
    """When every message of a workload is delivered, by fair sharing.

    Args:
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed; None: everything at once.

    Raises:
        UsageError: an unknown policy, or `rtt` where bytes of exchanges count less or sends preempt receives.
        InputError: more receives than the machine can have posted.
        NoScheduleError: messages wait for each other in a cycle; names them.
    """
    settings = settings or Settings()
    costs = machine.costs_for(workload.method)
    check_receives(workload, machine, costs, settings)
    if settings.fairness == "rtt" and (costs.preempts or exchanges_count(costs, parse_sync(settings.sync).kind)):
        raise UsageError(
            f"fairness rtt: {machine.name} weighs exchanges at a node or preempts receives; must be equal",
            options=["fairness"],
        )
    messages = core_messages(workload, machine, release_ns(workload))
    execution = core_execution(workload, machine, costs, settings, in_list=settings.receive_order != "any")
    rates = core_rates(workload, machine, costs)
    # of the route alone: messages of one route are one flow, whatever steps their latencies have
    rtt_latency = to_ns(costs.inject.seconds[0] + costs.eject.seconds[0])
    start = time.perf_counter()
    result = _core.simulate_flow(
        messages, execution, rates, rtt=settings.fairness == "rtt", rtt_latency=rtt_latency, **core_stops(settings)
    )
    elapsed = time.perf_counter() - start
    require_no_cycle(result, workload, machine, lambda places: place_waits(machine.topology, places))
    figures = {"fairness": settings.fairness, "solves": result.solves}
    return timeline_of(result, workload, machine, settings, model="flow", elapsed_s=elapsed, figures=figures)
