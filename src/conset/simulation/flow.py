"""Flow: messages as fluid that shares links and ports max-min fairly; the fastest model, blind to blocking.

Problem. When is every message delivered, if those under way at one time share every link and port fairly?

Idea. A message is let go by the execution (policy, lists, set-up), waits for its latency `inject + hops · hop + eject +
per_transfer`, during which it uses no bandwidth, and then flows at its max-min rate: raise one level for all flows
together; a flow runs at weight · level until a link or port of its route is full. `equal`: all weights are 1; `rtt`:
1 / latency, as in SimGrid. The core solves again only what an event touches (`cpp/include/conset/flow_sharing.hpp`).

Overheads. On a bare network or a machine from a file, `inject` and `eject` are latencies of the links into and out of
the network: they overlap. A preset's are work of a processor at each end, one message after the other: that is how the
texts measured them. A network without ports (`port=none`) has neither.

Exact against SimGrid 4.1 (raw model, full update). What it cannot show: a message that blocks a link while it waits
for another one, and the synchronized exchange of a half-duplex node; both are the business of `wormhole`.

Use it to compare schedules on machines with fair sharing, and inside searches: a million events take seconds.

Complexity: events times the flows whose rate an event can change. Memory: 25 bytes per message, and where something
flows at the time 40 to 90 per route and 8 per hop over a link or port that can fill.

Reference. Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2. Velho, Schnorr, Casanova, Legrand, On the
validity of flow-level TCP network models, ACM TOMACS 23 (2013), DOI 10.1145/2517448, for the weights.
"""

from __future__ import annotations

import time
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import NoScheduleError
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.network.routes import core_network
from conset.schedule.sync import parse_sync
from conset.simulation.costs import effective_costs, overheads_are_work
from conset.simulation.nanoseconds import core_execution, core_links, per_ns, release_ns, timeline_of, to_ns
from conset.simulation.receives import check_receives
from conset.simulation.settings import Settings
from conset.simulation.timeline import Timeline
from conset.simulation.workload import Workload

Number = TypeVar("Number", bound=np.generic)


def simulate_flow(workload: Workload, machine: Machine, settings: Settings | None = None) -> Timeline:
    """When every message of a workload is delivered, by fair sharing.

    Args:
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed; None: everything at once.

    Raises:
        UsageError: an unknown policy.
        InputError: more receives than the machine can have posted.
        NoScheduleError: messages wait for each other in a circle; names them.
    """
    settings = settings or Settings()
    costs = effective_costs(machine, workload.method)
    check_receives(workload, machine, costs, settings)
    network = core_network(machine.topology, machine.routing)
    start = time.perf_counter()
    try:
        result = _simulate(network, workload, machine, costs, settings)
    except _core.Deadlock as error:
        raise NoScheduleError(f"{workload.name} on {machine.name}: deadlock: {error}") from None
    elapsed = time.perf_counter() - start
    return timeline_of(
        result,
        workload,
        machine,
        settings,
        model="flow",
        elapsed_s=elapsed,
        figures={"fairness": settings.fairness, "solves": result.solves},
    )


def _simulate(
    network: _core.Network, workload: Workload, machine: Machine, costs: Costs, settings: Settings
) -> _core.FlowResult:
    link, width = core_links(machine.topology, costs)
    execution = core_execution(machine, costs, settings, in_list=settings.receive_order != "any")
    time = release_ns(workload)
    # a ready signal says that the receive is there; else a request and a grant do, above the eager threshold
    inject = costs.inject if parse_sync(settings.sync).kind == "ready" else costs.inject + costs.requests
    return _core.simulate_flow(
        network, _flat(workload.source), _flat(workload.target), _flat(workload.link_offsets), _flat(workload.links),
        _flat(workload.bytes), _flat(workload.sending_rank), _flat(workload.receiving_rank), _flat(time),
        _flat(workload.dep_offsets if workload.deps.size else np.zeros(0, np.int64)), _flat(workload.deps),
        _flat(workload.phase_offsets), _flat(workload.order), execution,
        link, _flat(width), per_ns(costs.port_out_Bps),
        per_ns(costs.port_in_Bps), per_ns(costs.node_Bps), to_ns(costs.hop_s), to_ns(costs.per_transfer_s),
        to_ns(costs.signal_s), *_steps(inject), *_steps(costs.eject),
        overheads_are_work(machine), settings.fairness == "rtt", settings.record,
    )  # fmt: skip


def _steps(steps: Steps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.asarray(steps.up_to_B, np.float64), np.array([to_ns(seconds) for seconds in steps.seconds])


def _flat(values: NDArray[Number]) -> NDArray[Number]:
    return np.ascontiguousarray(values)
