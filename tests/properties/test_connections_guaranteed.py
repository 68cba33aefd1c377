"""Connections, property.

Nothing in the simulation is slower than the guarantees while its phase is open.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings as examples, strategies as st
from numpy.typing import NDArray

from conset.machine.costs import Costs, Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import route_hops
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.models.connections import Services, default_queue, simulate_connections
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.linkage import guarantees
from conset.schedule.schedule import Schedule

US, MB = 1e-6, 1e6
TOPOLOGIES = (
    Topology.mesh(4),
    Topology.torus(4, 3),
    Topology.ring(6),
    Topology.hypercube(3),
    Topology.mesh(2, 3),
)
RATES = st.sampled_from([10 * MB, 20 * MB, 30 * MB, 40 * MB, 100 * MB, np.inf])


def full_latency_s(schedule: Schedule, queue: int) -> NDArray[np.float64]:
    """shape=(transfers) [s].

    Longest time of an element from gate to gate where a sender fills its connection.

    Args:
        schedule: whose phases are open.
        queue: elements that a channel holds; at least 2 + hop · bandwidth / flit, or bandwidths are
            not reached.
    """
    found = guarantees(schedule)
    channels = np.ones(schedule.transfers, np.int64)
    if schedule.route_offsets is not None:
        channels = np.diff(schedule.route_offsets)
    elif schedule.machine.topology.kind != "crossbar":
        machine = schedule.machine
        channels += route_hops(
            machine.topology, machine.routing, schedule.source_node, schedule.target_node
        )
    costs = schedule.machine.costs_for(schedule.method)
    return found.latency_s + queue * channels * (costs.flit_B / found.bandwidth_Bps)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    topology = replace(draw(st.sampled_from(TOPOLOGIES)), width=draw(st.sampled_from([1, 1, 2])))
    out, into = draw(RATES), draw(RATES)
    node = draw(st.sampled_from([np.inf, np.inf, 10 * MB]))
    costs = Costs(
        port_out_Bps=out,
        port_in_Bps=into,
        node_Bps=node,
        link_Bps=draw(RATES),
        hop_s=draw(st.sampled_from([0.0, 0.1 * US, 0.7 * US, 5 * US])),
        flit_B=4,
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 40))
    source, target = (rng.integers(0, topology.nodes, count) for _ in range(2))
    pattern = Pattern.from_messages(source, target, rng.integers(1, 400, count), topology.nodes)
    cut = int(rng.integers(0, pattern.messages + 1))
    return Schedule(
        pattern,
        Machine("machine", topology, Routing.default(topology), costs),
        "connections",
        Limits(),
        np.array([0, cut, pattern.messages]),
        rng.permutation(pattern.messages).astype(np.int32),
    )


def simulated(
    schedule: Schedule, pace_s: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(time at the gate, delivery, longest latency of an element) by transfer [s]."""
    work = Workload.of_schedule(schedule)
    found = simulate_connections(work, schedule.machine, Settings("barrier"), pace_s=pace_s)
    latency = [0.0 if each is None else each for each in found.figures["connections"]["latency_s"]]
    return found.sent_s, found.end_s, np.array(latency)


@given(schedules())
@examples(max_examples=150, deadline=None)
def test_nothing_is_slower_than_guaranteed(schedule: Schedule) -> None:
    least = guarantees(schedule)
    costs = schedule.machine.costs
    elements = np.where(
        schedule.source_node != schedule.target_node, -(-schedule.size // costs.flit_B), 0
    )
    each = costs.flit_B / least.bandwidth_Bps
    sent, end, latency = simulated(schedule)
    slack = 1e-12 + 1e-9 * end
    assert (end - sent <= least.latency_s + np.maximum(elements - 1, 0) * each + slack).all()
    queue = default_queue(Services.of(schedule.machine, costs))
    assert (latency <= full_latency_s(schedule, queue) + slack).all()
    # a fs more than the guaranteed pace: times are whole
    _, _, latency = simulated(schedule, np.where(np.isfinite(each) & (each > 0), each + 1e-15, 0.0))
    paced = (elements > 0) & (each > 0)
    assert (latency[paced] <= least.latency_s[paced] + 1e-12).all()
