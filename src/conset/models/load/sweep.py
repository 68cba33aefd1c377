"""Load sweep: latency over load at flit level, as networks are compared.

And the load at which one saturates.

Every node starts a packet in each cycle with probability load / flits (Bernoulli injection: gaps
between packets are geometric), to a partner drawn uniformly; a packet that cannot enter waits in
its node, and the wait counts. Packets released in the measured cycles, after a warm-up, are
followed until they are delivered while injection goes on (drain). Loads are flits per cycle of
every sending node: 1 is what its link into the network carries.

Saturation is the load at which the mean latency passes 500 cycles, or five times that of an empty
network where that is more: above it waiting grows with the time looked at; a load of which a tenth
is not carried, or one above the bound, saturates too, even where one looks too short for such a
wait. It is found by bisection, looking longer than in the sweep and several times: what a short
look finds is some per cent too high, as waiting has no time to grow. No load above the bound can be
carried: there the busiest link would have more than a flit a cycle.

Reference: Dally and Towles, Principles and Practices of Interconnection Networks, 2004, chapters 23
and 24.

Latency over load, what a network does under random traffic, from nearly empty to saturated.

Traffic: the pairs that may communicate, for injection at random.

Uniform, or over the messages of a pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conset import _core
from conset.base import (
    Floats,
    InputError,
    Ints,
    Ints32,
    UsageError,
    counted,
    frozen_ints,
    parse_size,
)
from conset.machine import Machine, core_network, route_hops
from conset.models.flit import cycle_time, flits_of, lanes_of, run_flit
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.pattern import Pattern, input_path, parse_pattern, split_options

PACKET_FLITS = 8
"""Flits of a packet where it is not specified."""
UNIFORM = "random"
"""The word for a node drawn anew for every packet.

With `degree=` it is a pattern of fixed partners.
"""

Packets = tuple[Ints, Ints32, Ints32, Ints]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Partners in compressed sparse rows.

    A packet of node n takes one of its rows, each equally likely.

    Attributes:
        name: for people.
        nodes: of the network.
        offsets: shape=(nodes + 1), int64: rows of node n are `offsets[n] … offsets[n + 1]`; (0):
            every node sends to every node, itself included, in packets of `size[0]`.
        target: shape=(rows), int32; (0) for all nodes.
        size: shape=(rows), int64 [B]; one entry for all nodes.
    """

    name: str
    nodes: int
    offsets: Ints
    target: Ints32
    size: Ints

    def __post_init__(self) -> None:
        for name, dtype in (("offsets", np.int64), ("target", np.int32), ("size", np.int64)):
            object.__setattr__(self, name, frozen_ints(getattr(self, name), dtype, name))

    @staticmethod
    def uniform(nodes: int, size_B: int) -> Traffic:  # noqa: N803
        """Every packet to a node drawn from all, the sender included."""
        return Traffic(
            "uniform", nodes, np.zeros(0, np.int64), np.zeros(0, np.int32), np.array([size_B])
        )

    @staticmethod
    def of_pattern(pattern: Pattern, nodes: int, size_B: int | None = None) -> Traffic:  # noqa: N803
        """Every packet to one of the sender's partners in `pattern`.

        `size_B` instead of the messages' own sizes.
        """
        sizes = (
            pattern.size
            if size_B is None
            else np.broadcast_to(np.int64(size_B), pattern.target.shape)
        )
        offsets = np.concatenate(
            [pattern.offsets, np.full(nodes - pattern.ranks, pattern.offsets[-1])]
        )
        return Traffic(pattern.name, nodes, offsets, pattern.target, sizes)

    @cached_property
    def senders(self) -> Ints32:
        """The nodes that send at all."""
        if not self.offsets.size:
            return np.arange(self.nodes, dtype=np.int32)
        return np.flatnonzero(np.diff(self.offsets)).astype(np.int32)

    def mean(self, per_row: Ints32) -> np.float64:
        """Mean over the senders' packets of a figure per row."""
        if not self.offsets.size:
            return np.float64(per_row[0])
        return np.float64(self._per_node(per_row)[self.senders].mean())

    def _per_node(self, per_row: Ints32) -> Floats:
        """shape=(nodes): the mean over each node's rows; 0 where it has none."""
        count = np.diff(self.offsets)
        total = np.concatenate([[0], np.cumsum(per_row, dtype=np.int64)])
        return np.diff(total[self.offsets]) / np.maximum(count, 1)

    def flits_per_packet(self, flit_B: int) -> Floats:  # noqa: N803
        """shape=(nodes): mean flits of a packet of each node; 0 for one that sends nothing."""
        flits = flits_of(self.size, flit_B)
        return (
            np.full(self.nodes, float(flits[0])) if not self.offsets.size else self._per_node(flits)
        )

    def pairs(
        self,
    ) -> tuple[Ints32, Ints32, Ints, Floats]:
        """(source, target, size [B], share): every pair that may speak.

        A sender's shares add up to 1.
        """
        if not self.offsets.size:
            node = np.arange(self.nodes, dtype=np.int32)
            source, target = np.repeat(node, self.nodes), np.tile(node, self.nodes)
            return (
                source,
                target,
                np.broadcast_to(self.size, source.shape),
                np.full(source.size, 1 / self.nodes),
            )
        count = np.diff(self.offsets)
        source = np.repeat(np.arange(self.nodes, dtype=np.int32), count)
        return source, self.target, self.size, 1.0 / count[source]

    def draw(self, load: float, flit_B: int, cycles: int, seed: int) -> Packets:  # noqa: N803
        """(release [cycles], source, target, size [B]) of packets in `cycles` cycles.

        By time and then by node.

        Args:
            load: flits per cycle of every sender, above 0 and at most 1.
            flit_B: bytes of a flit.
            cycles: from cycle 0 on.
            seed: of every random choice.
        """
        random = np.random.default_rng(seed)
        chance = load / self.flits_per_packet(flit_B)[self.senders]
        most = float(chance.max())
        slots = cycles * self.senders.size
        # one sequence of trials over (cycle, sender): the gaps between successes are geometric
        expected = slots * most
        when = np.cumsum(random.geometric(most, int(expected + 8 * np.sqrt(expected) + 64))) - 1
        when = when[when < slots]
        if chance.min() < most:
            when = when[random.random(when.size) * most < chance[when % self.senders.size]]
        source = self.senders[when % self.senders.size]
        if not self.offsets.size:
            target = random.integers(self.nodes, size=when.size, dtype=np.int32)
            return when // self.senders.size, source, target, np.broadcast_to(self.size, when.shape)
        row = self.offsets[source] + random.integers(np.diff(self.offsets)[source])
        return when // self.senders.size, source, self.target[row], self.size[row]


def parse_traffic(text: str, machine: Machine, *, seed: int = 0) -> Traffic:
    """Traffic from the specification of a pattern.

    `random` draws a node for every packet, others keep to their partners.

    A packet is as long as the spec's `size=` says, else 8 flits of the machine; a file's messages
    keep their sizes.

    Raises:
        UsageError: a specification that does not parse, or a distribution of sizes for `random`.
        InputError: more ranks than the machine has endpoints; a broken file.
    """
    topology = machine.topology
    tokens = split_options(text.replace(":", ",", 1))
    given = dict(word.partition("=")[::2] for word in tokens[1:])
    usual = PACKET_FLITS * machine.costs.flit_B
    if tokens[0] == UNIFORM and "degree" not in given:
        if set(given) - {"size"}:
            raise UsageError(
                f"{text}: takes only size= here, or degree= for fixed partners, given "
                f"{sorted(given)}"
            )
        if topology.nodes > topology.endpoints:
            return _among_endpoints(
                topology.endpoints, topology.nodes, parse_size(given.get("size", usual), "size")
            )
        return Traffic.uniform(topology.nodes, parse_size(given.get("size", usual), "size"))
    pattern = parse_pattern(text, topology=topology, seed=seed)
    if pattern.ranks > topology.endpoints:
        raise InputError(
            f"{text}: {pattern.ranks} ranks on {topology.endpoints} endpoints of {machine.name}"
        )
    plain = input_path(text) is None and "size" not in given
    return Traffic.of_pattern(pattern, topology.nodes, usual if plain else None)


def _among_endpoints(endpoints: int, nodes: int, size_B: int) -> Traffic:  # noqa: N803
    """Uniform traffic where only some nodes are endpoints."""
    offsets = np.minimum(np.arange(nodes + 1), endpoints) * endpoints
    target = np.tile(np.arange(endpoints, dtype=np.int32), endpoints)
    return Traffic(
        "uniform", nodes, offsets, target, np.broadcast_to(np.int64(size_B), target.shape)
    )


POINTS = 16
"""Loads of a sweep before bisection."""
PRECISION = 0.004
"""Relative width of the interval that bisection leaves."""
RUNS = 4
"""Independent runs that a step of the bisection averages over."""
CARRIED = 0.9
"""A network that carries less of what is offered is saturated, however short the look."""
THRESHOLD = 500.0
"""Mean latency [cycles] that no working network has, BookSim2's."""
Watch = Callable[[str], AbstractContextManager[None]]
"""Called with what is done next; entered for as long as that takes."""


@dataclass(frozen=True, eq=False)
class LoadRun:
    """One run: latencies of measured packets [cycles], undelivered packets, rates.

    Rates are flits per slot in and out.
    """

    latency: Ints
    undelivered: int
    offered: float
    accepted: float


class LoadSweep:
    """One network under one traffic: measures loads, and keeps what it has measured."""

    def __init__(
        self,
        traffic: Traffic,
        machine: Machine,
        settings: Settings | None = None,
        *,
        window: Window | None = None,
        seed: int = 0,
        packet_B: int | None = None,  # noqa: N803
    ) -> None:
        """Looks at the traffic in an empty network.

        Raises:
            InputError: no node sends; or what `simulate_flit` raises.
        """
        if not traffic.senders.size:
            raise InputError(f"{traffic.name}: no node sends, so there is no load")
        self.traffic, self.machine = traffic, machine
        self.settings, self.window = settings or Settings(), window or Window()
        self.seed, self.packet_B = seed, packet_B
        self.points: dict[float, LoadPoint] = {}
        self.events, self.elapsed_s = 0, 0.0
        self.flits = float(traffic.mean(flits_of(traffic.size, machine.costs.flit_B)))
        self.zero_load, self.bound = _empty_network(traffic, machine)
        self.threshold = max(THRESHOLD, 5 * self.zero_load)

    def measure(self, load: float) -> LoadPoint:
        """What the network does under `load`."""
        if load not in self.points:
            self.points[load] = self._point(load, [self._run_load(load, self.window, self.seed)])
        return self.points[load]

    def measure_long(self, load: float) -> LoadPoint:
        """The same, looked at longer and more than once."""
        usual = self.window
        longer = Window(5 * usual.warm_up // 2, 5 * usual.measured // 2, usual.drain)
        runs = [self._run_load(load, longer, self.seed + k) for k in range(RUNS)]
        self.points[load] = self._point(load, runs)
        return self.points[load]

    def _run_load(self, load: float, window: Window, seed: int) -> LoadRun:
        flit = self.machine.costs.flit_B
        release, source, target, size = self.traffic.draw(load, flit, window.cycles, seed)
        flits = flits_of(size, flit)
        opens, closes = window.warm_up, window.warm_up + window.measured
        first, last = (int(k) for k in np.searchsorted(release, (opens, closes)))
        run = run_flit(
            Workload(source, target, size, self.machine.topology.nodes),
            self.machine,
            release,
            flits,
            settings=self.settings,
            packet_B=self.packet_B,
            watch=(first, last),
            limit=window.cycles,
        )
        self.events += run.moves
        self.elapsed_s += run.elapsed_s
        end = run.end[first:last]
        latency = np.where(end < 0, run.stopped, end) - release[first:last]
        delivered = flits[(run.end >= opens) & (run.end < closes)].sum(dtype=np.int64)
        slots = window.measured * self.traffic.senders.size
        offered = flits[first:last].sum(dtype=np.int64)
        return LoadRun(
            latency,
            int(np.count_nonzero(end < 0)),
            float(offered) / slots,
            float(delivered) / slots,
        )

    def _point(self, load: float, runs: list[LoadRun]) -> LoadPoint:
        latency = np.concatenate([run.latency for run in runs])
        mean = float(latency.mean()) if latency.size else 0.0
        offered, accepted = (
            float(np.mean([getattr(run, x) for run in runs])) for x in ("offered", "accepted")
        )
        saturated = mean > self.threshold or load > self.bound or accepted < CARRIED * offered
        return LoadPoint(
            load,
            offered,
            accepted,
            mean,
            float(np.percentile(latency, 99)) if latency.size else 0.0,
            latency.size,
            sum(run.undelivered for run in runs),
            saturated,
        )

    def saturation(self, low: float, high: float) -> float:
        """Bisection between a load that the network carries and one that it does not."""
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            if self.measure_long(middle).saturated:
                high = middle
            else:
                low = middle
        return min((low + high) / 2, self.bound)

    def curve(self, saturation: float | None) -> LoadCurve:
        """What has been measured so far."""
        points = tuple(self.points[load] for load in sorted(self.points))
        return LoadCurve(
            self.traffic.name,
            self.machine.name,
            points,
            saturation,
            self.bound,
            self.zero_load,
            self.threshold,
            cycle_time(self.machine),
            self.flits,
            lanes_of(self.machine.costs, self.settings),
            self.window,
            self.events,
            self.elapsed_s,
        )


def sweep_load(
    sweep: LoadSweep,
    low: float,
    high: float,
    *,
    points: int = POINTS,
    progress: Watch = lambda _: nullcontext(),
) -> LoadCurve:
    """Latency from load `low` to `high` in equal steps, and the saturation.

    It is between the last that holds and the next.

    Args:
        sweep: the network and its traffic.
        low: above 0.
        high: at most 1, not below `low`.
        points: loads before bisection; one where both ends are the same.
        progress: called with a text for each part that takes time.

    Raises:
        UsageError: loads out of range.
    """
    check_loads(low, high)
    held, broken = 0.0, None
    steps = np.linspace(low, high, points if high > low else 1)
    for load in counted([round(float(each), 12) for each in steps]):
        with progress(f"measuring load {load:.3g}"):
            saturated = sweep.measure(load).saturated
        if saturated and broken is None:
            broken = load
        elif broken is None:
            held = load
    if broken is None:
        return sweep.curve(None)
    with progress("looking for the saturation load"):
        return sweep.curve(sweep.saturation(held, broken))


def check_loads(low: float, high: float) -> None:
    """Raises UsageError unless 0 < low <= high <= 1."""
    if not 0 < low <= high <= 1:
        raise UsageError(
            f"load {low:g}:{high:g}: must rise, above 0 and at most 1 flit per cycle and node",
            options=["load"],
        )


def _empty_network(traffic: Traffic, machine: Machine) -> tuple[float, float]:
    """(mean latency of a packet alone [cycles], the load at which a resource is full).

    The busiest link or a receiving node.
    """
    topology, routing = machine.topology, machine.routing
    source, target, size, share = traffic.pairs()
    flits = flits_of(size, machine.costs.flit_B)
    hops = route_hops(topology, routing, source, target)
    latency = float(((5.0 + 4.0 * hops + flits) * share).sum() / share.sum())
    # whole numbers for the core: flits per link in as many draws of every node as keep a pair's
    # share visible
    draws = 2**20
    rate = np.round(
        share * flits / traffic.flits_per_packet(machine.costs.flit_B)[source] * draws
    ).astype(np.int64)
    links = _core.count_totals(core_network(topology, routing), source, target, rate).bytes
    into = np.bincount(target, rate, topology.nodes)
    busiest: Floats = np.array([links.max(initial=0), into.max(initial=0.0), draws], np.float64)
    return latency, float(draws / busiest.max())


@dataclass(frozen=True)
class Window:
    """How long a load is looked at [cycles].

    Attributes:
        warm_up: before anything is measured.
        measured: packets released in these cycles count.
        drain: how long to wait for the last of them.
    """

    warm_up: int = 5_000
    measured: int = 10_000
    drain: int = 5_000

    def __post_init__(self) -> None:
        if min(self.warm_up, self.drain) < 0 or self.measured < 1:
            raise UsageError(
                f"cycles {self.measured}: must be at least 1, after a warm-up of at least 0"
            )

    @staticmethod
    def of(measured: int | None) -> Window:
        """The usual window, or one of so many measured cycles with half before and after."""
        return Window() if measured is None else Window(measured // 2, measured, measured // 2)

    @property
    def cycles(self) -> int:
        """All of it."""
        return self.warm_up + self.measured + self.drain


@dataclass(frozen=True)
class LoadPoint:
    """What a network does under one load.

    Attributes:
        load: flits per cycle that a sending node offers, as asked for.
        offered: as drawn in the measured cycles.
        accepted: flits per cycle and sending node delivered in the measured cycles.
        mean_latency: of measured packets [cycles]; those not delivered count until the end.
        p99_latency: the 99th percentile [cycles].
        packets: measured.
        undelivered: of them.
        saturated: whether the mean latency is above the threshold, the load above the bound, or a
            tenth not carried.
    """

    load: float
    offered: float
    accepted: float
    mean_latency: float
    p99_latency: float
    packets: int
    undelivered: int
    saturated: bool


@dataclass(frozen=True)
class LoadCurve:
    """Latency over load.

    Attributes:
        traffic: the sender and receiver of each message, for people.
        machine: the machine's name.
        points: in order of load, those of the bisection among them.
        saturation: the load at which the network saturates; None: above all loads looked at.
        bound: the load at which the busiest link, or a node, would be full.
        zero_load: mean latency in an empty network [cycles].
        threshold: mean latency that counts as saturated [cycles].
        cycle_s: a cycle [s].
        flits: mean of a packet.
        lanes: virtual channels of a port.
        window: cycles looked at.
        events: flits that crossed a switch, over all points.
        elapsed_s: what the simulations took [s].
    """

    traffic: str
    machine: str
    points: tuple[LoadPoint, ...]
    saturation: float | None
    bound: float
    zero_load: float
    threshold: float
    cycle_s: float
    flits: float
    lanes: int
    window: Window
    events: int
    elapsed_s: float

    def to_object(self) -> dict[str, Any]:
        """As `simulate --load --json` prints it."""
        return {
            "model": "flit",
            "sync": "none",
            "in_flight": "all",
            "machine": self.machine,
            "traffic": self.traffic,
            "saturation": self.saturation,
            "load_bound": self.bound,
            "zero_load_latency_s": self.zero_load * self.cycle_s,
            "zero_load_latency_cycles": self.zero_load,
            "threshold_cycles": self.threshold,
            "cycle_s": self.cycle_s,
            "packet_flits": self.flits,
            "lanes": self.lanes,
            "warm_up_cycles": self.window.warm_up,
            "measured_cycles": self.window.measured,
            "points": [self._point(point) for point in self.points],
            "messages": sum(point.packets for point in self.points),
            "events": self.events,
            "elapsed_s": self.elapsed_s,
        }

    def _point(self, point: LoadPoint) -> dict[str, Any]:
        return {
            "load": point.load,
            "offered": point.offered,
            "accepted": point.accepted,
            "mean_latency_s": point.mean_latency * self.cycle_s,
            "mean_latency_cycles": point.mean_latency,
            "p99_latency_cycles": point.p99_latency,
            "packets": point.packets,
            "undelivered": point.undelivered,
            "saturated": point.saturated,
        }
