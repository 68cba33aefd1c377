"""The core's clock: it counts in nanoseconds.

Into it go rounded times, out of it comes a `Timeline` in seconds.

What the models of fluids hand to the core alike is here too (`play_fluid`): messages, how they
are executed, rates; and what a deadlock says: the cycle of messages that wait for each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base import Floats, Ints, Ints32, NoScheduleError
from conset.machine import (
    Costs,
    Machine,
    Steps,
    Topology,
    core_network,
    core_widths,
    synchronization_s,
    with_computation,
)
from conset.models.needs import check_receives
from conset.models.settings import Settings
from conset.models.timeline import Rates, Timeline, mean_latency, phase_ends
from conset.models.workload import Workload
from conset.schedule import parse_sync

SHOWN = 8
"""Messages of a cycle that are named."""
NS = 1e9
"""Nanoseconds in a second."""
NOTHING = np.zeros(0)

Number = TypeVar("Number", bound=np.generic)


def to_ns(seconds: float) -> float:
    """In nanoseconds, without the last bit of noise.

    Events of one time must meet, and 3e-9 · 1e9 is not 3.
    """
    return float(f"{seconds * NS:.15g}")


def per_ns(rate: float) -> float:
    """Bytes per nanosecond of a rate [B/s]."""
    return float(f"{rate / NS:.15g}")


def release_ns(workload: Workload) -> Floats:
    """shape=(messages): release times [ns]; empty where all are released at the start."""
    return np.round(workload.time_s * NS, 6) if workload.time_s.any() else NOTHING


def core_messages(workload: Workload, machine: Machine, time: Floats = NOTHING) -> _core.Messages:
    """A workload as the core takes it.

    On the network of a machine, released at `time` [ns] (empty: at once).
    """
    workload.require_fits(machine.topology)
    return _core.Messages(
        network=core_network(machine.topology, machine.routing),
        source=_flat(workload.source),
        target=_flat(workload.target),
        route_offsets=_flat(workload.link_offsets),
        route_links=_flat(workload.links),
        bytes=_flat(workload.bytes),
        sender=_flat(workload.sending_rank),
        receiver=_flat(workload.receiving_rank),
        time=time,
        dep_offsets=_flat(workload.dep_offsets if workload.deps.size else np.zeros(0, np.int64)),
        deps=_flat(workload.deps),
        phase_offsets=_flat(workload.phase_offsets),
        order=_flat(workload.order),
    )


def core_execution(
    workload: Workload, machine: Machine, costs: Costs, settings: Settings, *, in_list: bool
) -> _core.Execution:
    """Policy, slots, receives and what processors do.

    `in_list`: whether receives go by the list.
    """
    sync = parse_sync(settings.sync)
    copy = NOTHING if costs.copy_Bps == inf else workload.bytes / per_ns(costs.copy_Bps)
    packing = np.where(workload.packed, copy, 0.0) if copy.size and workload.packed.any() else 0.0
    return _core.Execution(
        policy=getattr(_core.Policy, sync.kind),
        every=sync.every,
        in_flight=settings.in_flight or 0,
        receives=settings.receives or 0,
        receive_list=in_list,
        receive_before=costs.receive == "before",
        one_processor=costs.one_processor,
        preempts=costs.preempts,
        shared_processor=costs.processors == "shared",
        exchanges=exchanges_count(costs, sync.kind),
        first_barrier=costs.first_barrier,
        barrier=to_ns(synchronization_s(machine, costs)),
        setup=to_ns(costs.setup_s),
        signal_send=to_ns(costs.signal_s) / 2,
        signal_receive=to_ns(costs.signal_s) / 2,
        signal_hop=to_ns(costs.hop.at(0)),
        eager=-1.0 if costs.eager_B is None else costs.eager_B,
        buffers=costs.buffers_B,
        send=by_message(costs.send_overhead, workload.bytes) + packing,
        receive=by_message(costs.receive_overhead, workload.bytes) + packing,
        copy=copy,
        delay=delays(costs, workload),
    )


def exchanges_count(costs: Costs, kind: str) -> bool:
    """Whether two messages of a pair in a phase are a synchronized exchange under `kind`."""
    return kind in costs.exchange_syncs and costs.node_Bps < inf


def core_rates(workload: Workload, machine: Machine, costs: Costs) -> _core.FluidRates:
    """How bytes cross the network, as the core takes it: rates, latency and hops."""
    link, width = core_links(machine.topology, costs)
    latency = costs.inject + costs.eject + Steps((costs.per_transfer_s,))
    return _core.FluidRates(
        link=link,
        width=_flat(width),
        out=per_ns(costs.port_out_Bps),
        in_=per_ns(costs.port_in_Bps),
        node=per_ns(costs.node_Bps),
        exchange_weight=costs.exchange_weight,
        startup=to_ns(costs.startup_s),
        latency=by_message(latency, workload.bytes),
        hop=by_message(costs.hop, workload.bytes),
    )


def delays(costs: Costs, workload: Workload) -> Floats:
    """shape=(messages), or (0) for none: what chance adds to each delivery [ns].

    It is drawn by sender and receiver alone, the same in every run and in every schedule, so that
    no schedule is chosen for its luck: splitmix64 of both numbers, then the exponential
    distribution.
    """
    if not costs.jitter_s:
        return NOTHING
    ranks = _flat(workload.sending_rank), _flat(workload.receiving_rank)
    return _core.delays(*ranks, costs.jitter_s) * NS


def core_stops(settings: Settings) -> dict[str, Any]:
    """When a run ends before all is delivered, and what it keeps, with the message of the core."""
    return {
        "until": settings.until_s * NS,
        "work": -1 if settings.max_work is None else settings.max_work,
        "detailed": settings.record,
        "record": settings.record,
    }


def core_links(topology: Topology, costs: Costs) -> tuple[Floats, Ints32]:
    """(rates [B/ns], widths) of links.

    Shape=(link_slots) each, or one entry where all are alike.
    """
    rates = np.array([costs.link_Bps]) if topology.link_rate_Bps is None else topology.link_rate_Bps
    return np.array([per_ns(rate) for rate in rates]), core_widths(topology)


def by_message(steps: Steps, size: Ints) -> Floats:
    """In nanoseconds: one entry where all messages pay the same."""
    rounded = np.array([to_ns(seconds) for seconds in steps.seconds])
    if (rounded == rounded[0]).all():
        return rounded[:1]
    return rounded[np.searchsorted(np.asarray(steps.up_to_B), size)]


def play_fluid(
    model: str,
    workload: Workload,
    machine: Machine,
    settings: Settings,
    play: Callable[[_core.Messages, _core.Execution, _core.FluidRates], _core.Simulated],
    figures: Callable[[_core.Simulated], Mapping[str, Any]],
    *,
    in_list: bool,
) -> Timeline:
    """A workload played by one of the core's models of fluids.

    Args:
        model: its name.
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed.
        play: the core's model, with what it takes besides.
        figures: of the timeline, out of what the core says.
        in_list: whether receives go by the list.

    Raises:
        InputError: more receives than the machine can have posted.
        NoScheduleError: a deadlock; names the cycle of messages and what they wait for.
    """
    costs = machine.costs_for(workload.method)
    check_receives(workload, machine, costs, settings)
    messages = core_messages(workload, machine, release_ns(workload))
    execution = core_execution(workload, machine, costs, settings, in_list=in_list)
    rates = core_rates(workload, machine, costs)
    start = time.perf_counter()
    result = play(messages, execution, rates)
    elapsed_s = time.perf_counter() - start
    require_no_cycle(
        result, workload, machine, lambda places: place_waits(machine.topology, places)
    )
    return _timeline_of(
        result,
        workload,
        machine,
        settings,
        model=model,
        elapsed_s=elapsed_s,
        figures=figures(result),
    )


def _timeline_of(
    result: _core.Simulated,
    workload: Workload,
    machine: Machine,
    settings: Settings,
    *,
    model: str,
    elapsed_s: float,
    figures: Mapping[str, Any],
) -> Timeline:
    """What the core of a fluid model says happened; nothing of it looks into `result`."""
    end_s = result.end / NS
    out_busy_s, in_busy_s = result.out_busy / NS, result.in_busy / NS
    beside: Mapping[str, Any] = {}
    costs = machine.costs_for(workload.method)
    if costs.computation_s:
        node_end_s = np.zeros(out_busy_s.size)
        for ends in (workload.source, workload.target):
            np.maximum.at(node_end_s, ends, end_s)
        beside = with_computation(costs, node_end_s, np.maximum(out_busy_s, in_busy_s))
    rates = None
    if settings.record and model != "packet":  # packets have a link's rate or none
        rates = Rates(result.rate_time / NS, result.rate_message.copy(), result.rate * NS)
    return Timeline(
        model=model,
        sync=settings.sync if workload.phases else "none",
        in_flight=settings.in_flight,
        machine=machine.name,
        start_s=result.start / NS,
        end_s=end_s,
        phase_end_s=phase_ends(workload, end_s),
        link_bytes=result.link_bytes.copy(),
        link_busy_s=result.link_busy / NS,
        out_bytes=result.out_bytes.copy(),
        out_busy_s=out_busy_s,
        in_bytes=result.in_bytes.copy(),
        in_busy_s=in_busy_s,
        mean_latency_s=mean_latency(workload, end_s, workload.crosses),
        held_by=result.held_by.copy(),
        events=result.events,
        elapsed_s=elapsed_s,
        workload=workload,
        rates=rates,
        sent_s=result.sent / NS,
        first_byte_s=result.flowed / NS,
        left_s=result.left / NS,
        figures={**figures, "work": result.work, **({"cut": True} if result.cut else {}), **beside},
    )


def _flat(values: NDArray[Number]) -> NDArray[Number]:
    return np.ascontiguousarray(values)


def require_no_cycle(
    result: _core.Simulated,
    workload: Workload,
    machine: Machine,
    waits: Callable[[Ints32], list[str]],
) -> None:
    """Raises NoScheduleError where messages wait for each other.

    `waits` lists what those at places wait for.
    """
    cycle = result.cycle
    if cycle.size:
        text = describe_cycle(workload, cycle, waits(result.cycle_places))
        where = f"{workload.name} on {machine.name}"
        raise NoScheduleError(f"{where}: deadlock at {result.stopped / NS * 1e6:.10g} us: {text}")


def describe_cycle(workload: Workload, stuck: Ints32, waits: Sequence[str]) -> str:
    """`message 0 (0 → 2) waits for link 1 → 2 of message 1 (1 → 3), which waits for …`.

    A cycle, closed.

    Args:
        workload: whose messages they are.
        stuck: shape=(cycle), int32: each waits for the next, the last for the first.
        waits: what each waits for, as `waits for link 1 → 2 of`.
    """

    def message(m: int) -> str:
        return f"message {m} ({workload.sending_rank[m]} → {workload.receiving_rank[m]})"

    parts = [f"{waits[k]} {message(int(stuck[(k + 1) % stuck.size]))}" for k in range(stuck.size)]
    text = f"{message(int(stuck[0]))} " + ", which ".join(parts[:SHOWN])
    left = len(parts) - SHOWN
    return text if left <= 0 else f"{text}, and so on over {left} more back to message {stuck[0]}"


def place_waits(topology: Topology, places: Ints32) -> list[str]:
    """What each message of a cycle of a fluid model waits for.

    Places as the core numbers them, -1 for a delivery.
    """
    return [_place_wait(topology, int(place)) for place in places]


def _place_wait(topology: Topology, place: int) -> str:
    slots, nodes = topology.link_slots, topology.nodes
    if place < 0:
        return "waits for the delivery of"
    if place < slots:
        return f"waits for {topology.link_name(place)} of"
    if place < slots + 2 * nodes:
        return f"waits for a receive at {topology.node_name((place - slots) % nodes)} of"
    return f"waits for room in the buffer of {topology.node_name(place - slots - 2 * nodes)} beside"
