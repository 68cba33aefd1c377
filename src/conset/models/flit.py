"""Routers with virtual channels, credits and round-robin allocation, one cycle after the other.

One cycle is the time a flit of the machine (`flit`, 16 B) needs on one of its links (`link`); the
latencies of the machine (`inject`, `eject`, `per_transfer`, `hop`) and its port rates are what the
routers do: a message takes 5 + 4 hops + flits cycles between its overheads. Overheads, barriers,
set-ups and signals take the machine's times, rounded up to cycles; so is `hop` for each link of a
signal, which crosses no router. Receives are always there. The routers are BookSim2's of its usual
parameters, to the cycle; how they work is described in
`cpp/include/conset/simulation/flit/flit.hpp`.

Ranks that share a node share its way into the network: one worm after the other.

Ports of the flit model's routers.

Their numbers, on which cycles their links lie, and their lanes as text.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf
from types import MappingProxyType

import numpy as np

from conset import _core
from conset.base import Array, Bytes, Floats, InputError, Ints, Ints32, NoScheduleError, UsageError
from conset.machine import Costs, Machine, Routing, Steps, Topology, core_network
from conset.models.nanoseconds import NS, core_messages, delays, describe_cycle, exchanges_count
from conset.models.needs import check_receives, require_one_route
from conset.models.settings import Settings
from conset.models.timeline import Timeline, mean_latency, phase_ends
from conset.models.workload import Workload
from conset.schedule import parse_sync

LANES = 4
"""Virtual channels of a port unless specified."""
BUFFER = 8
"""Flits that the buffer of a lane holds."""
MAX_CYCLES = 2**61
"""Up to which the core's clock counts without a sum beyond 64 bits."""
MAX_LANES = 63
"""Lanes of all ports of a router together: one word of bits, and one to spare."""


@dataclass(frozen=True, eq=False)
class Run:
    """What the core says, in cycles.

    Attributes:
        start: shape=(messages), int64: injection of the first flit; -1: not in the time looked at.
        slot: shape=(messages), int64: when a message took its slot; -1 likewise.
        sent: shape=(messages), int64: when its send overhead was paid; -1 likewise.
        left: shape=(messages), int64: delivery of the last flit; -1 likewise.
        end: shape=(messages), int64: as `left`, with the receive overhead; -1 likewise.
        moves: flits that crossed a switch.
        stopped: the cycle at which the simulation ended.
        elapsed_s: what it took [s].
        cut: whether it ended before all that was watched was delivered because it took too much
            work.
    """

    start: Ints
    slot: Ints
    sent: Ints
    left: Ints
    end: Ints
    moves: int
    stopped: int
    elapsed_s: float
    cut: bool = False


def simulate_flit(
    workload: Workload,
    machine: Machine,
    settings: Settings | None = None,
    *,
    packet_B: int | None = None,  # noqa: N803
) -> Timeline:
    """Plays a workload on routers, flit by flit.

    Args:
        workload: what is sent.
        machine: the network, its routing, `link` and `flit`, and what synchronization costs.
        settings: `sync`, `in_flight` and `lanes` count here.
        packet_B: longer messages travel as several worms of at most so many bytes; None: one worm
            each.

    Raises:
        InputError: too many receives, no links or wide ones, too many lanes for a router or too few
            for a torus.
        NoScheduleError: a deadlock; names the cycle of messages and virtual channels.
        UsageError: unknown words in `settings.sync`.
    """
    settings = settings or Settings()
    costs = machine.costs_for(workload.method)
    check_receives(workload, machine, costs, settings)
    cycle_s = cycle_time(machine)
    flits = flits_of(workload.bytes, costs.flit_B)
    release = cycles_of(workload.time_s, cycle_s)
    run = run_flit(workload, machine, release, flits, settings=settings, packet_B=packet_B)

    def seconds(cycles: Ints) -> Floats:
        return np.where(cycles < 0, inf, _seconds(cycles, cycle_s))

    end_s = seconds(run.end)
    links = link_totals(workload, machine, np.stack([workload.bytes, flits.astype(np.int64)]))
    crosses = workload.crosses
    out, into = (
        [np.bincount(end[crosses], x[crosses], workload.nodes) for x in (workload.bytes, flits)]
        for end in (workload.source, workload.target)
    )
    return Timeline(
        "flit",
        settings.sync,
        settings.in_flight,
        machine.name,
        seconds(run.slot),
        end_s,
        phase_ends(workload, end_s),
        links[0],
        _seconds(links[1], cycle_s),
        out[0].astype(np.int64),
        _seconds(out[1], cycle_s),
        into[0].astype(np.int64),
        _seconds(into[1], cycle_s),
        mean_latency(workload, end_s),
        events=run.moves,
        elapsed_s=run.elapsed_s,
        workload=workload,
        sent_s=seconds(run.sent),
        first_byte_s=seconds(run.start),
        left_s=seconds(run.left),
        figures=_figures(run, flits, cycle_s, lanes_of(costs, settings)),
    )


def _figures(run: Run, flits: Ints32, cycle_s: float, lanes: int) -> Mapping[str, float | int]:
    total = int(flits.sum(dtype=np.int64))
    return MappingProxyType(
        {
            "cycles": int(run.end.max(initial=-1)) + 1,
            "cycle_s": cycle_s,
            "flits": total,
            "flit_hops": run.moves - total,
            "lanes": lanes,
            "work": run.moves,
            **({"cut": True} if run.cut else {}),
        }
    )


def run_flit(
    workload: Workload,
    machine: Machine,
    release: Ints,
    flits: Ints32,
    *,
    settings: Settings,
    packet_B: int | None = None,  # noqa: N803
    watch: tuple[int, int] | None = None,
    limit: int = 0,
) -> Run:
    """The simulation in cycles.

    Args:
        workload: what is sent.
        machine: where.
        release: shape=(messages), int64 [cycles].
        flits: shape=(messages), int32, at least 1 each.
        settings: as of `simulate_flit`.
        packet_B: as of `simulate_flit`.
        watch: (first, last): ends when messages first … last - 1 are delivered; None: all.
        limit: ends at this cycle at the latest; 0: at no cycle.

    Raises:
        InputError, NoScheduleError: as `simulate_flit`.
    """
    require_one_route(workload, machine, "flit")
    topology = machine.topology
    costs = machine.costs_for(workload.method)
    ports = ports_of(topology, machine.routing)
    lanes = lanes_of(costs, settings)
    _check(machine, ports, lanes)
    if packet_B is not None and packet_B < 1:
        raise UsageError(f"packet {packet_B} B: must be at least 1 B")
    execution = _core_execution(workload, machine, costs, settings)
    routers = _core.FlitRouters(
        ports=ports.count,
        link_source=topology.ends[0],
        out_port=ports.out,
        in_port=ports.into,
        ring=ports.ring,
        lanes=lanes,
        buffer=BUFFER,
    )
    begun = time.perf_counter()
    first, last = watch or (0, workload.messages)
    result = _core.simulate_flit(
        core_messages(workload, machine),
        execution,
        routers,
        _core.FlitWorkload(
            release=release,
            flits=flits,
            worm_flits=0 if packet_B is None else ceil(packet_B / costs.flit_B),
        ),
        _core.FlitWatch(first=first, last=last, limit=limit),
        until=settings.until_s / cycle_time(machine),
        work=-1 if settings.max_work is None else settings.max_work,
    )
    elapsed_s = time.perf_counter() - begun
    if result.cycle.size:
        waits = lane_waits(topology, ports, lanes, result.cycle_places)
        raise NoScheduleError(
            f"{workload.name} on {machine.name}: deadlock after cycle {result.stopped}: "
            f"{describe_cycle(workload, result.cycle, waits)}"
        )
    times = result.start, result.slot, result.sent, result.left, result.end
    return Run(*times, result.moves, result.stopped, elapsed_s, result.cut)


def _core_execution(
    workload: Workload, machine: Machine, costs: Costs, settings: Settings
) -> _core.CycleExecution:
    """Policy, slots and what processors do, in cycles."""
    sync, cycle_s = parse_sync(settings.sync), cycle_time(machine)
    _check_cycles(workload, machine, costs, cycle_s)

    def cycles(seconds: float) -> int:
        return int(_ceil(np.float64(seconds / cycle_s)))

    copies = workload.copies_s(costs) if workload.packed.any() else np.zeros(1)

    def by_message(steps: Steps) -> Ints:
        each = steps.of(workload.bytes) if len(steps.seconds) > 1 else np.array(steps.seconds)
        return _ceil((each + copies) / cycle_s)

    nothing = np.zeros(0, np.int64)
    return _core.CycleExecution(
        policy=getattr(_core.Policy, sync.kind),
        every=sync.every,
        in_flight=settings.in_flight or 0,
        receives=0,
        receive_list=False,
        receive_before=False,
        one_processor=costs.one_processor,
        preempts=costs.preempts,
        shared_processor=costs.processors == "shared",
        exchanges=exchanges_count(costs, sync.kind),
        first_barrier=costs.first_barrier,
        barrier=cycles(costs.synchronization.at(machine.topology.endpoints)),
        setup=cycles(costs.setup_s),
        signal_send=cycles(costs.signal_s / 2),
        signal_hop=cycles(costs.hop.at(0)),
        signal_receive=cycles(costs.signal_s / 2),
        eager=-1.0,
        buffers=0.0,
        send=by_message(costs.send_overhead),
        receive=by_message(costs.receive_overhead),
        copy=nothing if costs.copy_Bps == inf else _ceil(workload.bytes / costs.copy_Bps / cycle_s),
        delay=_ceil(delays(costs, workload) / NS / cycle_s) if costs.jitter_s else nothing,
    )


def _check_cycles(workload: Workload, machine: Machine, costs: Costs, cycle_s: float) -> None:
    """Whether the clock stays within 64 bits even if everything waits for everything.

    Raises:
        InputError: it may not, and names what takes longest; messages that start up at ports.
    """
    messages, hops = workload.messages, machine.topology.nodes
    if costs.startup_s:
        raise InputError(f"flit: startup of {machine.name}: must be 0, ports are in the routers")
    times = {
        "release times": float(workload.time_s.max(initial=0)),
        "barriers": (workload.phases + 1) * costs.synchronization.at(machine.topology.endpoints),
        "set-ups": 2 * max(messages, 1) * costs.setup_s,
        "signals": messages * (costs.signal_s + hops * costs.hop.at(0)),
        "overheads": messages
        * (max(costs.send_overhead.seconds) + max(costs.receive_overhead.seconds)),
        "copies": (3 if workload.packed.any() else 1)
        * float(workload.bytes.sum(dtype=np.float64))
        / costs.copy_Bps,
    }
    cycles = sum(times.values()) / cycle_s + 8 * (messages + workload.phases)
    if cycles > MAX_CYCLES:
        worst = max(times, key=lambda name: times[name])
        raise InputError(
            f"flit: {worst} of {times[worst]:g} s are {times[worst] / cycle_s:.3g} cycles of "
            f"{cycle_s:g} s on {machine.name}: must be at most {MAX_CYCLES:.3g}"
        )


def _check(machine: Machine, ports: Ports, lanes: int) -> None:
    if ports.count * lanes > MAX_LANES:
        raise InputError(
            f"flit: {lanes} lanes at {ports.count} ports of a router of {machine.name} are "
            f"{ports.count * lanes}: "
            f"must be at most {MAX_LANES}"
        )
    if lanes < 2 and ports.ring.any():
        raise InputError(
            f"flit: {lanes} lane a port on {machine.name}: rings need at least 2 against deadlock"
        )
    if machine.topology.kind != "graph" and machine.topology.width != 1:
        raise InputError(
            f"flit: links of {machine.name} are {machine.topology.width} wide: must be 1"
        )
    if machine.topology.link_width is not None and machine.topology.link_width.max(initial=1) > 1:
        raise InputError(
            f"flit: links of {machine.name} are up to {machine.topology.link_width.max()} "
            "wide: must be 1"
        )


def lanes_of(costs: Costs, settings: Settings) -> int:
    """Virtual channels of a port.

    As asked for, else as the machine's words say where they do, else 4.
    """
    if settings.lanes is not None:
        return settings.lanes
    said = costs.provenance.get("lanes")
    return LANES if said is None or said.tag == "default" else costs.lanes


def cycle_time(machine: Machine) -> float:
    """The time a flit needs on a link [s].

    Raises:
        InputError: links of the machine have no rate.
    """
    if machine.costs.link_Bps == inf:
        raise InputError(f"flit: the links of {machine.name} have no rate: link=16GB/s sets one")
    return machine.costs.flit_B / machine.costs.link_Bps


def cycles_of(time_s: Floats, cycle_s: float) -> Ints:
    """Times [s] as cycles, rounded up; a millionth of a cycle is a rounding error."""
    cycles = time_s / cycle_s
    if cycles.size and cycles.max() > MAX_CYCLES:
        m = int(np.argmax(cycles))
        raise InputError(
            f"time_s[{m}] = {time_s[m]:g} s: {cycles[m]:.3g} cycles, must be at most "
            f"{MAX_CYCLES:.3g}"
        )
    return _ceil(cycles)


def _seconds(cycles: Array, cycle_s: float) -> Floats:
    return np.asarray(cycles * cycle_s, np.float64)


def _ceil(cycles: Floats | np.float64) -> Ints:
    return np.ceil(cycles - 1e-6).astype(np.int64)


def flits_of(size: Ints, flit_B: int) -> Ints32:  # noqa: N803
    """shape=(messages), int32: flits of each size [B]; an empty message is one flit.

    Raises:
        InputError: a message of 2³¹ flits or more.
    """
    flits = np.maximum(1, -(-size // flit_B))
    if flits.size and flits.max() > np.iinfo(np.int32).max:
        m = int(np.argmax(flits))
        raise InputError(
            f"bytes[{m}] = {size[m]}: {flits[m]} flits of {flit_B} B, must be below 2^31"
        )
    return flits.astype(np.int32)


def link_totals(workload: Workload, machine: Machine, amounts: Ints) -> Ints:
    """shape=(kinds, link_slots), int64: what crosses each link of each kind.

    `amounts` has shape=(kinds, messages).
    """
    if workload.link_offsets.size:
        hops = np.diff(workload.link_offsets)
        slots = machine.topology.link_slots
        totals = [np.bincount(workload.links, np.repeat(each, hops), slots) for each in amounts]
        return np.stack(totals).astype(np.int64)
    network = core_network(machine.topology, machine.routing)
    crossing = (
        _core.count_totals(network, workload.source, workload.target, each).bytes
        for each in amounts
    )
    return np.stack(list(crossing))


@dataclass(frozen=True, eq=False)
class Ports:
    """The ports of a network's routers, and on which cycles their links lie.

    Arrays over link slots.

    Box: port 2j leads up and 2j + 1 down in the j-th coordinate from the last; hypercube: port k
    crosses bit k; graph: the links of a node in order. The last port is the node itself.

    Attributes:
        count: ports of a router.
        out: shape=(link_slots), int32: port at the link's source; -1 where the slot is no link.
        into: shape=(link_slots), int32: port at its target.
        ring: shape=(link_slots), uint8: 0 on no cycle, 1 up, 2 up across the dateline, 3 down, 4
            down across it.
    """

    count: int
    out: Ints32
    into: Ints32
    ring: Bytes


@lru_cache(maxsize=8)
def ports_of(topology: Topology, routing: Routing) -> Ports:
    """The routers' ports.

    Raises:
        InputError: a network without links.
    """
    if topology.kind == "crossbar":
        raise InputError("flit: a crossbar has no links: a network with routers is required")
    source, target = topology.ends
    if topology.kind == "graph":
        into = np.empty(target.size, np.int32)
        into[np.argsort(target, kind="stable")] = _rank(np.sort(target))
        out = _rank(source)
        count = int(max(out.max(initial=-1), into.max(initial=-1))) + 2
        return Ports(count, out, into, np.zeros(source.size, np.uint8))
    if topology.kind == "hypercube":
        bit = np.tile(np.arange(topology.dimensions, dtype=np.int32), topology.nodes)
        return Ports(topology.dimensions + 1, bit, bit, np.zeros(bit.size, np.uint8))
    return _box_ports(topology, topology.wraps and routing.rule != "no-wrap")


def _rank(ordered: Ints32) -> Ints32:
    """shape=(links), int32: how many equal entries stand before each one of a sorted array."""
    first = np.searchsorted(ordered, ordered, side="left")
    return (np.arange(ordered.size) - first).astype(np.int32)


def _box_ports(topology: Topology, wraps: bool) -> Ports:
    dimensions = topology.dimensions
    up, down = 2 * np.arange(dimensions)[::-1], 2 * np.arange(dimensions)[::-1] + 1
    port = np.tile(np.stack([up, down], axis=1).ravel(), topology.nodes)
    out = np.where(topology.link_exists, port, -1).astype(np.int32)
    into = np.where(topology.link_exists, port ^ 1, -1).astype(np.int32)
    ring = np.zeros((topology.nodes, dimensions, 2), np.uint8)
    for k, side in enumerate(topology.sides):
        if wraps and side > 2:
            at = topology.coordinates[:, k]
            ring[:, k, 0] = np.where(at == side - 1, 2, 1)
            ring[:, k, 1] = np.where(at == 0, 4, 3)
    return Ports(2 * dimensions + 1, out, into, ring.ravel())


def lane_waits(topology: Topology, ports: Ports, lanes: int, stuck_lane: Ints32) -> list[str]:
    """What each message of a circle waits for, as text.

    `stuck_lane` as the core counts lanes, -1 for a delivery.
    """
    return [_lane_wait(topology, ports, lanes, int(lane)) for lane in stuck_lane]


def _lane_wait(topology: Topology, ports: Ports, lanes: int, number: int) -> str:
    if number < 0:
        return "waits for the delivery of"
    router, port = divmod(number // lanes, ports.count)
    if port == ports.count - 1:
        return f"waits for virtual channel {number % lanes} into {topology.node_name(router)} of"
    link = int(np.flatnonzero((topology.ends[0] == router) & (ports.out == port))[0])
    return f"waits for virtual channel {number % lanes} of {topology.link_name(link)} of"
