"""Wormhole: a header takes channels hop by hop and keeps them; bytes flow over complete paths only. Circuit: its limit.

Problem. Why does sending everything at once lose, where links have room? Because a message that waits for one channel
keeps those it has, and others wait for these: no fluid model shows that.

Idea. Per directed link and pool `lanes` channels, per rank as many injection channels as it may have messages in flight
and as many ejection channels as receives, each pool first come, first served. A message pays its overhead on the
sender's processor, its header takes an injection channel, a lane of each link (`hop` each) and an ejection channel and
keeps them all; the receiver pays its overhead; then bytes flow at the max-min rate over `out`, `in`, `node` and links,
and everything is released together. Alone: inject + hops · hop + eject + bytes / min(rates). The rules to the last
detail stand in `cpp/include/conset/wormhole.hpp`.

On rings the pool of a hop is the number of datelines crossed so far (`dimensions + 1` pools), which keeps rings from
deadlock; on a graph with cycles of routes one pool may deadlock, and this is reported with its circle, never run for
ever. `circuit` is the same with one lane and one pool: a link has one message, from the first link claimed to delivery.

Half duplex. `node` limits what a node sends and receives together. Two messages of a pair in one phase, under a policy
of the machine's `exchange_syncs`, are a synchronized exchange: each counts `exchange_weight` in `node` while both
stream, and under `ready` each waits for both signals.

Receives. A message that finds no receive waits with its path held: under `--receives N` for one of its rank's N, in
list order (`--receive-order list`) for its place among the first N that are not delivered. Where the machine says
`eager`, one up to that size is taken into the rank's system buffer (`buffers`) instead, which frees path and sender,
and is copied out (`copy`) when its receive is there; a longer one sends a request and waits for the grant before its
header leaves. A receive is there from the moment its rank enters the phase, under `none` from the start. Buffers that
are full, and lists in unlike orders, may deadlock: reported with their circle too.

What is left out: packets, release as the tail passes (below a hundredth of a message here).

Complexity: messages · hops · log(pending events), plus rates of the streaming messages joined by overloaded resources.
Memory: about 150 bytes per message.

Reference. Dally and Seitz, Deadlock-free message routing in multiprocessor interconnection networks, IEEE Transactions
on Computers C-36 (1987), DOI 10.1109/TC.1987.1676939, for channels, datelines and deadlock.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import NoScheduleError, UsageError
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.network.routes import core_network
from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.schedule.sync import parse_sync
from conset.simulation.circle import circle_words
from conset.simulation.costs import effective_costs
from conset.simulation.nanoseconds import NS, core_execution, core_links, per_ns, release_ns, timeline_of, to_ns
from conset.simulation.receives import check_receives
from conset.simulation.settings import Settings
from conset.simulation.timeline import Timeline
from conset.simulation.workload import Workload


def simulate_wormhole(
    workload: Workload,
    machine: Machine,
    settings: Settings | None = None,
    *,
    injection: int | None = None,
    ejection: int | None = None,
) -> Timeline:
    """When every message of a workload is delivered, where messages that wait keep what they have.

    Args:
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed; None: everything at once.
        injection: channels of a rank into the network; None: as many as it may have in flight.
        ejection: channels of a rank out of the network; None: as many as it may receive at once.

    Returns:
        A timeline. `held_by` is where a header waited longest: a link slot, `link_slots + node` for a channel into the
        network, `link_slots + nodes + node` for one out of it, -1 nowhere. `figures`: `lanes`, `pools`, `solves`, and
        `blocked_s`, how long headers waited in all; with an eager threshold `buffered`, messages that system buffers
        took, and `buffered_bytes_max`, the most at any rank at one time.

    Raises:
        UsageError: an unknown policy.
        InputError: more receives than the machine can have posted.
        NoScheduleError: a deadlock; names the circle of messages and channels.
    """
    return _simulate("wormhole", workload, machine, settings or Settings(), injection, ejection)


def simulate_circuit(workload: Workload, machine: Machine, settings: Settings | None = None) -> Timeline:
    """As `simulate_wormhole` with one lane and one pool per link: a circuit has its links alone.

    Raises:
        UsageError: an unknown policy, or more than one lane.
        InputError: more receives than the machine can have posted.
        NoScheduleError: a deadlock; names the circle of messages and links.
    """
    settings = settings or Settings()
    if settings.lanes not in (None, 1):
        raise UsageError(f"--lanes {settings.lanes}: a circuit has its links alone, must be 1")
    return _simulate("circuit", workload, machine, replace(settings, lanes=1), None, None)


def _simulate(
    model: Literal["wormhole", "circuit"],
    workload: Workload,
    machine: Machine,
    settings: Settings,
    injection: int | None,
    ejection: int | None,
) -> Timeline:
    costs = effective_costs(machine, workload.method)
    check_receives(workload, machine, costs, settings)
    lanes = costs.lanes if settings.lanes is None else settings.lanes
    dateline = _no_datelines() if model == "circuit" else datelines(machine.topology, machine.routing)
    pools = machine.topology.dimensions + 1 if dateline.any() else 1
    arguments = {
        **_arguments(workload, machine, costs, settings),
        "dateline": dateline,
        "lanes": lanes,
        "pools": pools,
        "injection": injection or settings.in_flight or 0,
        "ejection": ejection or settings.receives or 0,
    }
    start = time.perf_counter()
    result = _core.simulate_wormhole(**arguments)
    elapsed = time.perf_counter() - start
    stuck, waited = result.take_stuck(), result.take_stuck_channel()
    if stuck.size:
        circle = circle_words(workload, stuck, channel_waits(machine.topology, waited))
        where = f"{workload.name} on {machine.name}"
        raise NoScheduleError(f"{where}: deadlock at {result.stopped / NS * 1e6:.10g} us: {circle}")
    return timeline_of(
        result,
        workload,
        machine,
        settings,
        model=model,
        elapsed_s=elapsed,
        figures={
            "lanes": lanes,
            "pools": pools,
            "blocked_s": float(result.take_blocked().sum() / NS),
            "solves": result.solves,
            **({} if costs.eager_B is None else _buffers(result)),
        },
    )


def _arguments(workload: Workload, machine: Machine, costs: Costs, settings: Settings) -> dict[str, Any]:
    """What both models hand to the core."""
    topology, sync = machine.topology, parse_sync(settings.sync)
    link, width = core_links(topology, costs)
    execution = core_execution(machine, costs, settings, in_list=settings.receive_order == "list")
    arrays: dict[str, NDArray[Any]] = {
        "source": workload.source,
        "target": workload.target,
        "route_offsets": workload.link_offsets,
        "route_links": workload.links,
        "bytes": workload.bytes,
        "sender": workload.sending_rank,
        "receiver": workload.receiving_rank,
        "time": release_ns(workload),
        "dep_offsets": workload.dep_offsets if workload.deps.size else np.zeros(0, np.int64),
        "deps": workload.deps,
        "phase_offsets": workload.phase_offsets,
        "order": workload.order,
        "send": _by_message(costs.inject + Steps((costs.per_transfer_s,)), workload.bytes),
        "receive": _by_message(costs.eject, workload.bytes),
        "hop": _by_message(costs.hop, workload.bytes),
        "link": link,
        "width": width,
    }
    return {
        "network": core_network(topology, machine.routing),
        **{name: np.ascontiguousarray(values) for name, values in arrays.items()},
        "execution": execution,
        "out": per_ns(costs.port_out_Bps),
        "in_": per_ns(costs.port_in_Bps),
        "node": per_ns(costs.node_Bps),
        "signal": to_ns(costs.signal_s),
        "signal_hop": to_ns(costs.hop.at(0)),
        "exchange_weight": costs.exchange_weight,
        "exchanges": sync.kind in costs.exchange_syncs and costs.node_Bps < inf,
        "one_processor": costs.one_processor,
        "preempts": costs.preempts,
        "receive_after": costs.receive == "after",
        "eager": -1.0 if costs.eager_B is None else costs.eager_B,
        "copy": 1 / per_ns(costs.copy_Bps),
        "buffers": costs.buffers_B,
        "record": settings.record,
    }


def _buffers(result: _core.WormholeResult) -> dict[str, int]:
    return {"buffered": result.buffered, "buffered_bytes_max": int(result.buffered_most)}


def _by_message(steps: Steps, size: NDArray[np.int64]) -> NDArray[np.float64]:
    """In nanoseconds: one entry where all messages pay the same."""
    rounded = replace(steps, seconds=tuple(to_ns(seconds) for seconds in steps.seconds))
    return np.array(rounded.seconds) if len(steps.seconds) == 1 else rounded.of(size)


def _no_datelines() -> NDArray[np.uint8]:
    return np.zeros(0, np.uint8)


def datelines(topology: Topology, routing: Routing) -> NDArray[np.uint8]:
    """shape=(link_slots), uint8: 1 where a link closes a ring; (0) where nothing wraps."""
    if not topology.wraps or routing.rule == "no-wrap":
        return _no_datelines()
    crosses = np.zeros((topology.nodes, topology.dimensions, 2), np.uint8)
    for k, side in enumerate(topology.sides):
        if side > 2:
            at = topology.coordinates[:, k]
            crosses[:, k, 0] = at == side - 1
            crosses[:, k, 1] = at == 0
    return crosses.ravel()


def channel_waits(topology: Topology, channel: NDArray[np.int32]) -> list[str]:
    """What each message of a circle waits for, in words; `channel` as the core counts channels, -1 for a delivery."""
    return [_channel_wait(topology, int(c)) for c in channel]


def _channel_wait(topology: Topology, channel: int) -> str:
    slots, nodes = topology.link_slots, topology.nodes
    if channel < 0:
        return "waits for the delivery of"
    if channel < slots:
        return f"waits for {topology.link_name(channel)} of"
    if channel < slots + nodes:
        return f"waits for a channel out of {topology.node_name(channel - slots)} of"
    if channel < slots + 2 * nodes:
        return f"waits for a channel into {topology.node_name(channel - slots - nodes)} of"
    return f"waits for room in the buffer of {topology.node_name(channel - slots - 2 * nodes)} beside"
