"""Prediction against a slow one in plain Python, and bounds against predictions, on random
schedules and machines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.bounds import bound_schedule
from conset.machine.costs import Costs, Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links, route_nodes
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.schedule.loads import chosen_links, phase_loads
from conset.schedule.policy import parse_sync
from conset.schedule.schedule import Schedule
from support import random_machines
from support.random_machines import MB, POLICIES, SIZES_B


def triangle() -> Topology:
    """Three endpoints on a switch, and a shortcut from 0 to 1: links of unequal width and rate."""
    source, target = [0, 0, 1, 2, 3, 3, 3], [1, 3, 3, 3, 0, 1, 2]
    return Topology(
        "graph",
        (),
        3,
        4,
        np.array(source),
        np.array(target),
        link_width=np.array([1, 2, 1, 1, 1, 3, 1]),
        link_rate_Bps=np.array([5.0, 2.0, 9.0, 1.0, 4.0, 2.0, 7.0]) * MB,
    )


TOPOLOGIES = (
    Topology.mesh(3, 2),
    Topology.torus(4, 3),
    Topology.mesh(2, 2, width=2),
    Topology.hypercube(3),
    Topology.ring(5),
    Topology.crossbar(4),
    triangle(),
)

machines = partial(random_machines.machines, TOPOLOGIES)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any partition into phases, under the limits it happens to keep."""
    machine = draw(machines())
    nodes = machine.topology.endpoints
    crowded = draw(st.booleans())
    ranks = 2 * nodes if crowded else nodes
    ends = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1), st.sampled_from(SIZES_B))
    count = draw(st.sampled_from([0, 1, 5, 12, 25]))  # lists left to themselves stay short
    rows = np.array(draw(st.lists(ends, min_size=count, max_size=count)), np.int64).reshape(-1, 3)
    pattern = Pattern.from_messages(*rows.T, ranks)
    placement = (np.arange(ranks) // 2).astype(np.int32) if crowded else None
    message = np.array(draw(st.permutations(range(pattern.messages))), np.int32)
    parts = None
    if (
        draw(st.booleans()) and pattern.messages
    ):  # the second half of every message that has two bytes
        cut = np.flatnonzero(pattern.size[message] > 1)
        parts = np.append(pattern.size[message], pattern.size[message[cut]] // 2)
        parts[cut] -= pattern.size[message[cut]] // 2
        message = np.append(message, message[cut])
    width = draw(st.sampled_from([3, 1, 6, 99]))
    offsets = np.append(np.arange(0, message.size, width), message.size)
    base = Schedule(pattern, machine, "hand", Limits(), offsets, message, parts, placement)
    if draw(st.booleans()) and machine.topology.kind == "torus":
        away = route_nodes(machine.topology, Routing("no-wrap"), base.source_node, base.target_node)
        base = replace(base, route_offsets=away[0], route_nodes=away[1])
    return replace(base, limits=kept_limits(base, draw(st.tuples(*[st.booleans()] * 4))))


def kept_limits(schedule: Schedule, stated: tuple[bool, ...]) -> Limits:
    """The tightest limits a schedule keeps, those not stated left out."""
    loads = phase_loads(schedule)
    limits = [
        int(getattr(loads, name).max(initial=1)) or 1
        for name in ("send", "receive", "link", "channels")
    ]
    limits[3] = max(2, limits[3])
    send, receive, link, channels = (
        x if is_stated else None for x, is_stated in zip(limits, stated, strict=True)
    )
    return Limits(send, receive, link, channels)


Own = dict[int, float]


@dataclass
class Life:
    """A transfer alone: what each step takes [s]."""

    k: int
    size: int
    sender: int
    receiver: int
    ends: tuple[int, int]
    links: list[int]
    send: float
    latency: float
    receive: float
    flow: float
    signal: float
    before: bool
    loose: bool

    @property
    def leaves(self) -> bool:
        return self.ends[0] != self.ends[1]

    @property
    def alone(self) -> float:
        return self.send + self.latency + self.receive + self.flow

    @property
    def to_bytes(self) -> float:
        return self.send + self.latency + (self.receive if self.before and not self.loose else 0)

    @property
    def after(self) -> float:
        return 0 if self.before else self.receive

    @property
    def to_receive(self) -> float:
        return self.send + self.latency + (0 if self.before else self.flow)

    @property
    def left(self) -> float:
        return self.flow if self.before and not self.loose else 0

    @property
    def held(self) -> float:
        return self.to_bytes + self.flow


@dataclass
class Used:
    """Work of a resource, and (lead-in, lead-out) of all it works on."""

    work: float = 0
    leads: list[tuple[float, float]] = field(default_factory=list)

    def add(self, work: float, into: float, out: float) -> None:
        self.work += work
        self.leads.append((into, out))

    @property
    def into(self) -> float:
        return min(lead[0] for lead in self.leads)

    @property
    def out(self) -> float:
        return min(lead[1] for lead in self.leads)

    @property
    def time(self) -> float:
        return self.into + self.work + self.out


class ByHand:
    """The formulas of `conset.models.formula.evaluate`, with a dictionary of resources."""

    def __init__(self, schedule: Schedule, sync: str) -> None:
        self.schedule, self.policy, self.costs = schedule, parse_sync(sync), schedule.machine.costs
        machine, costs = schedule.machine, self.costs
        offsets, links = chosen_links(schedule)
        if not offsets.size:
            offsets, links = route_links(
                machine.topology, machine.routing, schedule.source_node, schedule.target_node
            )
        self.lives = [
            self._life(k, links[offsets[k] : offsets[k + 1]].tolist())
            for k in range(schedule.transfers)
        ]
        self.weight = costs.exchange_weight if self.policy.kind in costs.exchange_syncs else 1.0

    def _life(self, k: int, links: list[int]) -> Life:
        schedule, costs, ready = self.schedule, self.costs, self.policy.kind == "ready"
        size, ends = (
            int(schedule.size[k]),
            (int(schedule.source_node[k]), int(schedule.target_node[k])),
        )
        message = schedule.message[k]
        rates = [costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps, *map(self.link_rate, links)]
        once = (
            costs.startup_s
            + costs.per_transfer_s
            + costs.inject.at(size)
            + costs.eject.at(size)
            + len(links) * costs.hop.at(size)
        )
        if not ready and costs.eager_B is not None and size > costs.eager_B:
            once += 2 * costs.signal_s
        leaves = ends[0] != ends[1]
        before = leaves and costs.receive == "before"
        return Life(
            k,
            size,
            int(schedule.pattern.source[message]),
            int(schedule.pattern.target[message]),
            ends,
            links,
            costs.send_overhead.at(size),
            once if leaves else 0,
            costs.receive_overhead.at(size),
            size / (min(rates) if leaves else costs.copy_Bps),
            costs.signal_s + len(links) * costs.hop.at(0) if ready and leaves else 0,
            before,
            before and costs.eager_B is not None and size <= costs.eager_B,
        )

    def link_rate(self, link: int) -> float:
        topology = self.schedule.machine.topology
        rate = (
            self.costs.link_Bps if topology.link_rate_Bps is None else topology.link_rate_Bps[link]
        )
        return float(rate * topology.widths()[link])

    def of(self, phases: Iterable[int]) -> list[Life]:
        return [
            self.lives[k]
            for p in phases
            for k in range(*self.schedule.phase(p).indices(len(self.lives)))
        ]

    def node_and_link_work(
        self, together: list[Life], beside: list[Life]
    ) -> dict[tuple[str, int], float]:
        """Seconds of bytes at ports, nodes and links, with exchanges and blocking among messages
        in flight together.

        Nodes exchange with one partner only where `beside` has no other one either.
        """
        costs, work = self.costs, defaultdict[tuple[str, int], float](float)
        load, between = Counter[int](), Counter[tuple[int, int]]()
        crossing = [m for m in together if m.leaves]
        for m in crossing:
            work["out", m.ends[0]] += costs.startup_s + m.size / costs.port_out_Bps
            work["in", m.ends[1]] += m.size / costs.port_in_Bps
            if costs.node_Bps < inf:
                for v in m.ends:
                    work["node", v] += m.size / costs.node_Bps
            between[m.ends] += m.size
            for link in m.links:
                work["link", link] += m.size / self.link_rate(link)
                load[link] += 1
        widths = self.schedule.machine.topology.widths()
        for link, count in load.items():
            work["link", link] *= (
                max(1.0, count / (costs.tolerance * widths[link])) ** costs.blocking
            )
        meeting = [m.ends for m in beside if m.leaves]
        sends, receives = Counter(s for s, _ in meeting), Counter(t for _, t in meeting)
        for (s, t), size in between.items():
            if (
                s < t
                and max(sends[s], sends[t], receives[s], receives[t]) == 1
                and costs.node_Bps < inf
            ):
                for v in (s, t):
                    work["node", v] -= (
                        2 * (1 - self.weight) * min(size, between[t, s]) / costs.node_Bps
                    )
        return work

    def use(
        self, m: Life, used: dict[tuple[str, int], Used], start: float, send_from: float, own: Own
    ) -> None:
        """Leads of a message at every resource, and its work at processors.

        Args:
            m: the message.
            used: the resources.
            start: when its life may begin.
            send_from: when its sending processor may begin with it.
            own: when each rank's processors may begin with anything.
        """
        used["send", m.sender].add(m.send, send_from, m.alone - m.send)
        used["receive", m.receiver].add(m.receive, start + m.to_receive, m.left)
        if self.policy.kind == "ready" and m.leaves and self.costs.signal_s:
            used["receive", m.sender].add(self.costs.signal_s / 2, own[m.sender], m.alone)
            used["send", m.receiver].add(self.costs.signal_s / 2, own[m.receiver], m.alone)
        if self.shared:
            signal = self.costs.signal_s / 2 if self.policy.kind == "ready" and m.leaves else 0.0
            used["shared", m.ends[0]].add(m.send + signal, 0.0, m.alone - m.send)
            used["shared", m.ends[1]].add(m.receive + signal, 0.0, m.left)
        if not m.leaves:
            return
        kinds = [("out", m.ends[0]), ("in", m.ends[1]), *(("link", link) for link in m.links)]
        kinds += [("node", v) for v in m.ends if self.costs.node_Bps < inf]
        for kind in kinds:
            starts_up = kind[0] == "out" and self.costs.startup_s
            used[kind].add(0, start + (m.send if starts_up else m.to_bytes), m.after)

    def slots(self, sends: list[tuple[Life, float, float]], begin: float) -> float:
        """When the last of a rank's messages is delivered.

        (message, ready from, set-ups before it).
        """
        free, ends, last = begin, list[float](), 0.0
        for m, ready, opening in sends:
            free += opening
            start = max(free, ready)
            if len(ends) == self.costs.in_flight:
                start = max(start, min(ends))
                ends.remove(min(ends))
            free = start + m.send
            ends.append(start + m.held)
            last = max(last, start + m.alone)
        return last

    def batch(self, groups: list[list[int]]) -> float:
        """The busiest resource after any phase, the work of each group of phases added up."""
        ends = [(g, n) for g, group in enumerate(groups) for n in range(1, len(group) + 1)]
        return max(
            (self._batch([*groups[:g], groups[g][:n]], groups) for g, n in ends), default=0.0
        )

    def _batch(self, groups: list[list[int]], whole: list[list[int]]) -> float:
        used, setup = defaultdict[tuple[str, int], Used](Used), self.costs.setup_s
        for group, beside in zip(groups, whole, strict=False):
            for m in self.of(group):
                self.use(m, used, setup + m.signal, 0.0, defaultdict(float))
            for kind, work in self.node_and_link_work(self.of(group), self.of(beside)).items():
                used[kind].work += work
        phases = [p for group in groups for p in group]
        count = Counter(
            r for p in phases for r in {r for m in self.of([p]) for r in (m.sender, m.receiver)}
        )
        times = [setup + m.signal + m.alone for m in self.of(phases)]
        node = self.nodes(self.of(phases))
        for (kind, at), resource in used.items():
            if kind == "send":
                times.append(count[at] * setup + resource.time)
            elif kind == "receive":
                times.append(max(count[at] * setup, resource.into) + resource.work + resource.out)
            elif kind == "shared":
                times.append(sum(count[r] for r in node if node[r] == at) * setup + resource.time)
            else:
                times.append(resource.time)
        for rank in count:
            if self.one_processor:
                times.append(count[rank] * setup + self.both(used, rank))
            if self.costs.in_flight is not None:
                times.append(self.slots(self._posted(phases, rank), 0.0))
        return max(times, default=0.0)

    @property
    def shared(self) -> bool:
        return self.costs.processors == "shared"

    @staticmethod
    def nodes(messages: list[Life]) -> dict[int, int]:
        return {r: v for m in messages for r, v in ((m.sender, m.ends[0]), (m.receiver, m.ends[1]))}

    @property
    def one_processor(self) -> bool:
        return self.costs.processors != "two" and not self.costs.preempts

    @staticmethod
    def both(used: dict[tuple[str, int], Used], rank: int) -> float:
        """Work of a rank's one processor, and the least lead-out."""
        mine = [used[kind, rank] for kind in ("send", "receive") if (kind, rank) in used]
        return sum(each.work for each in mine) + min(each.out for each in mine)

    def _posted(self, phases: list[int], rank: int) -> list[tuple[Life, float, float]]:
        sends, opening = [], 0.0
        for p in phases:
            mine = [m for m in self.of([p]) if rank in (m.sender, m.receiver)]
            opening += self.costs.setup_s * bool(mine)
            for m in mine:
                if m.sender == rank:
                    sends.append((m, m.signal, opening))
                    opening = 0.0
        return sends

    def ranks(self) -> float:
        """The recurrence of `local` and `ready`."""
        done: Own = defaultdict(float)
        for p in range(self.schedule.phases):
            self._phase(self.of([p]), done)
        return max(done.values(), default=0.0)

    def _phase(self, together: list[Life], done: Own) -> None:
        entered = {r: done[r] for m in together for r in (m.sender, m.receiver)}
        own = {r: time + self.costs.setup_s for r, time in entered.items()}
        pairs = {m.ends for m in together if m.leaves}
        start = {m.k: self._start(m, entered, m.ends[::-1] in pairs) for m in together}
        used = defaultdict[tuple[str, int], Used](Used)
        for m in together:
            self.use(m, used, start[m.k], start[m.k], own)
        for kind, work in self.node_and_link_work(together, together).items():
            used[kind].work += work
        end = dict[tuple[str, int], float]()
        for (kind, at), each in used.items():
            from_own = kind in ("send", "receive")
            end[kind, at] = max(each.into, own[at] if from_own else 0.0) + each.work + each.out
            if kind == "shared":  # from when the first of its ranks enters
                on = [entered[r] for r, v in self.nodes(together).items() if v == at]
                end[kind, at] = min(on) + len(on) * self.costs.setup_s + each.work + each.out
        for r in own:
            if self.one_processor:
                end["both", r] = own[r] + self.both(used, r)
            if self.costs.in_flight is not None:
                end["slots", r] = self.slots(
                    [(m, start[m.k], 0.0) for m in together if m.sender == r], own[r]
                )
        for m in together:
            way = [
                ("send", m.sender),
                ("receive", m.receiver),
                ("both", m.sender),
                ("both", m.receiver),
            ]
            way += [("shared", v) for v in m.ends]
            way += (
                [("slots", m.sender), ("out", m.ends[0]), ("in", m.ends[1])]
                if m.leaves
                else [("slots", m.sender)]
            )
            way += [
                (kind, at)
                for kind, ats in (("link", m.links), ("node", m.ends))
                for at in ats
                if m.leaves
            ]
            last = max(start[m.k] + m.alone, *(end.get(resource, 0.0) for resource in way))
            for r in (m.sender, m.receiver):
                done[r] = max(done[r], last)

    def _start(self, m: Life, entered: dict[int, float], exchange: bool) -> float:
        start = entered[m.sender]
        if m.leaves and m.signal:
            start = max(start, entered[m.receiver] + m.signal)
            if exchange and self.weight < 1 and self.costs.node_Bps < inf:
                start = max(start, entered[m.sender] + m.signal)
        elif self.costs.setup_s:
            start = max(start, entered[m.receiver])
        return start + self.costs.setup_s

    def time(self) -> float:
        phases, every, kind = self.schedule.phases, self.policy.every, self.policy.kind
        if kind == "barrier":
            groups = [list(range(g, min(g + every, phases))) for g in range(0, phases, every)]
            charged = len(groups) - (0 if self.costs.first_barrier or not groups else 1)
            barrier = self.costs.synchronization.at(self.schedule.machine.topology.endpoints)
            return sum(self.batch([group]) for group in groups) + charged * barrier
        if kind == "none":
            return self.batch([list(range(phases))])
        return max(self.batch([[p] for p in range(phases)]), self.ranks())


@settings(max_examples=120, deadline=None)
@given(schedules(), st.sampled_from(POLICIES))
def test_prediction_is_the_formula_worked_out_by_hand(schedule: Schedule, sync: str) -> None:
    prediction = predict(schedule, sync=sync)
    assert prediction.time_s == pytest.approx(ByHand(schedule, sync).time(), rel=1e-9)
    assert prediction.phase_s.size == schedule.phases
    assert prediction.phase_s.sum() == pytest.approx(prediction.time_s, rel=1e-12)
    assert prediction.phase_s.min(initial=0.0) >= 0
    assert sum(prediction.terms.values()) == pytest.approx(prediction.time_s, rel=1e-12)
    assert min(prediction.terms.values()) >= 0


@settings(max_examples=250, deadline=None)
@given(schedules(), st.sampled_from(POLICIES))
def test_no_schedule_beats_the_bounds_of_its_class(schedule: Schedule, sync: str) -> None:
    schedule = replace(schedule, sync=sync)
    bounds = bound_schedule(schedule)
    time_s = predict(schedule).time_s
    for candidate in bounds.candidates:
        found = {
            "phases": schedule.phases,
            "time": time_s,
            "load": phase_loads(schedule).largest.sum(),
        }
        assert candidate.value <= found[candidate.what], candidate
    assert bounds.phases <= schedule.phases
    assert bounds.time_s <= time_s
    assert (bounds.phases == 0) == (schedule.pattern.messages == 0)


def rising(costs: Costs) -> bool:
    """Whether no cost falls with the size of a message."""
    steps = (costs.send_overhead, costs.receive_overhead, costs.inject, costs.eject, costs.hop)
    return all(a <= b for each in steps for a, b in pairwise(each.seconds))


@settings(max_examples=80, deadline=None)
@given(schedules(), st.sampled_from(POLICIES), st.data())
def test_more_bytes_never_take_less_time(
    schedule: Schedule, sync: str, data: st.DataObject
) -> None:
    if (
        schedule.pattern.messages == 0
        or schedule.parts is not None
        or not rising(schedule.machine.costs)
    ):
        return
    size = schedule.pattern.size.copy()
    size[data.draw(st.integers(0, size.size - 1))] += data.draw(st.integers(1, 20))
    more = replace(schedule, pattern=replace(schedule.pattern, size=size))
    assert predict(more, sync=sync).time_s >= predict(schedule, sync=sync).time_s * (1 - 1e-12)


@settings(max_examples=60, deadline=None)
@given(schedules())
def test_a_barrier_after_all_phases_is_none_and_one_synchronization(schedule: Schedule) -> None:
    costs = replace(schedule.machine.costs, first_barrier=True, exchange_syncs=())
    schedule = replace(schedule, machine=replace(schedule.machine, costs=costs))
    if schedule.phases == 0:
        assert predict(schedule, sync="barrier").time_s == 0
        return
    one_group = predict(schedule, sync=f"barrier:{schedule.phases}").time_s
    synchronization = costs.synchronization.at(schedule.machine.topology.endpoints)
    assert one_group == pytest.approx(
        predict(schedule, sync="none").time_s + synchronization, rel=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(machines(), st.sampled_from(SIZES_B), st.sampled_from(POLICIES))
def test_one_message_takes_its_steps_one_after_the_other(
    machine: Machine, size: int, sync: str
) -> None:
    topology, costs = machine.topology, machine.costs
    pattern = Pattern.from_messages([0], [topology.endpoints - 1], [size], topology.endpoints)
    schedule = Schedule(
        pattern, machine, "hand", Limits(1, 1, 1), np.array([0, 1]), np.array([0]), sync=sync
    )
    life = ByHand(schedule, sync).lives[0]
    opening = costs.setup_s + life.signal
    if sync.startswith("barrier") and costs.first_barrier:
        opening += costs.synchronization.at(topology.endpoints)
    assert predict(schedule).time_s == pytest.approx(opening + life.alone, rel=1e-12)
    if sync != "ready":  # a set-up may go on while the signal is on its way
        assert bound_schedule(schedule).time_s == pytest.approx(opening + life.alone, rel=1e-9), (
            "alone, it is reached"
        )
