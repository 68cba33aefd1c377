"""Prediction against a slow one in plain Python, and bounds against predictions, on random schedules and machines."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conset.bounds import bound_schedule
from conset.machine.costs import Costs, Steps, Synchronization
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.network.routes import route_links, route_nodes
from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.prediction import predict
from conset.schedule.loads import chosen_links, phase_loads
from conset.schedule.schedule import Schedule
from conset.schedule.sync import parse_sync

POLICIES = ("none", "local", "ready", "barrier", "barrier:2", "barrier:3")


def triangle() -> Topology:
    """Three endpoints on a switch, and a shortcut from 0 to 1: links of unequal width and rate."""
    source, target = [0, 0, 1, 2, 3, 3, 3], [1, 3, 3, 3, 0, 1, 2]
    return Topology(
        "graph", (), 3, 4, np.array(source), np.array(target),
        link_width=np.array([1, 2, 1, 1, 1, 3, 1]), link_rate_Bps=np.array([5.0, 2.0, 9.0, 1.0, 4.0, 2.0, 7.0]),
    )  # fmt: skip


TOPOLOGIES = (
    Topology.mesh(3, 2), Topology.torus(4, 3), Topology.mesh(2, 2, width=2), Topology.hypercube(3), Topology.ring(5),
    Topology.crossbar(4), triangle(),
)  # fmt: skip


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    topology = draw(st.sampled_from(TOPOLOGIES))
    rates = st.sampled_from([0.5, 1.0, 2.0, 3.0, 8.0])
    infinite = st.sampled_from([np.inf, 0.5, 1.0, 2.0, 3.0, 8.0])
    times = st.sampled_from([0.0, 1.0, 2.5])
    low = draw(times)
    costs = Costs(
        inject=Steps((low, low + draw(times)), (4.0, np.inf)), eject=Steps((draw(times),)),
        port_out_Bps=draw(rates), port_in_Bps=draw(infinite), node_Bps=draw(infinite),
        exchange_weight=draw(st.sampled_from([0.5, 0.7, 1.0])),
        exchange_syncs=draw(st.sampled_from([(), ("ready",), ("local", "ready"), ("none", "barrier")])),
        link_Bps=draw(infinite), synchronization=Synchronization(draw(times), draw(times)), setup_s=draw(times),
        signal_s=draw(times), first_barrier=draw(st.booleans()), tolerance=draw(st.integers(1, 3)),
        blocking=draw(st.sampled_from([0.0, 0.5, 1.0])),
    )  # fmt: skip
    return Machine(topology.kind, topology, Routing.default(topology), costs)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any partition into phases, under the limits it happens to keep."""
    machine = draw(machines())
    nodes = machine.topology.endpoints
    crowded = draw(st.booleans())
    ranks = 2 * nodes if crowded else nodes
    ends = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1), st.integers(1, 9))
    count = draw(st.sampled_from([0, 1, 5, 12, 25]))  # lists left to themselves stay short
    rows = np.array(draw(st.lists(ends, min_size=count, max_size=count)), np.int64).reshape(-1, 3)
    pattern = Pattern.from_messages(ranks, *rows.T)
    placement = (np.arange(ranks) // 2).astype(np.int32) if crowded else None
    message = np.array(draw(st.permutations(range(pattern.messages))), np.int32)
    parts = None
    if draw(st.booleans()) and pattern.messages:  # the second half of every message that has two bytes
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
    limits = [int(getattr(loads, name).max(initial=1)) or 1 for name in ("send", "receive", "link", "channels")]
    limits[3] = max(2, limits[3])
    send, receive, link, channels = (x if is_stated else None for x, is_stated in zip(limits, stated, strict=True))
    return Limits(send, receive, link, channels)


def predict_by_hand(schedule: Schedule, sync: str) -> float:
    """The formulas of item 9, one dictionary per resource."""
    machine, policy = schedule.machine, parse_sync(sync)
    costs, topology = machine.costs, machine.topology
    signal = costs.signal_s if policy.kind == "ready" else 0.0
    w = costs.exchange_weight if policy.kind in costs.exchange_syncs else 1.0
    offsets, links = chosen_links(schedule)
    if not offsets.size:
        offsets, links = route_links(topology, machine.routing, schedule.source_node, schedule.target_node)

    def link_rate(link: int) -> float:
        rate = costs.link_Bps if topology.link_rate_Bps is None else topology.link_rate_Bps[link]
        return rate * topology.widths()[link]

    leaves = schedule.source_node != schedule.target_node

    def works(phases: range) -> dict[tuple[str, int], float]:
        work: dict[tuple[str, int], float] = defaultdict(float)
        load: Counter[int] = Counter()
        between: Counter[tuple[int, int]] = Counter()
        together: list[int] = [k for p in phases for k in range(*schedule.phase(p).indices(schedule.transfers))]
        sends = Counter(int(schedule.source_node[k]) for k in together if leaves[k])
        receives = Counter(int(schedule.target_node[k]) for k in together if leaves[k])
        for p in phases:
            for k in range(*schedule.phase(p).indices(schedule.transfers)):
                s, t, b = int(schedule.source_node[k]), int(schedule.target_node[k]), int(schedule.size[k])
                if s == t:
                    continue
                overhead = costs.overhead.at(b) + signal
                work["out", s] += overhead + b / costs.port_out_Bps
                work["in", t] += overhead + b / costs.port_in_Bps
                rates = [costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps]
                if costs.node_Bps < np.inf:
                    for v in (s, t):
                        work["node", v] += overhead / 2 + b / costs.node_Bps
                between[s, t] += b
                for link in links[offsets[k] : offsets[k + 1]].tolist():
                    work["link", link] += b / link_rate(link)
                    load[link] += 1
                    rates.append(link_rate(link))
                work["message", k] = overhead + b / min(rates)
        for link, count in load.items():
            work["link", link] *= max(1.0, count / (costs.tolerance * topology.widths()[link])) ** costs.blocking
        for (s, t), b in between.items():
            alone = max(sends[s], sends[t], receives[s], receives[t]) == 1
            if s < t and alone and costs.node_Bps < np.inf:
                for v in (s, t):
                    work["node", v] -= 2 * (1 - w) * min(b, between[t, s]) / costs.node_Bps
        return work

    phases = schedule.phases
    if policy.kind == "barrier":
        groups = [range(g, min(g + policy.every, phases)) for g in range(0, phases, policy.every)]
        transfer = sum(max(works(group).values(), default=0.0) for group in groups)
        charged = len(groups) - (0 if costs.first_barrier or not groups else 1)
    else:
        total: dict[tuple[str, int], float] = defaultdict(float)
        for together in [range(phases)] if policy.kind == "none" else [range(p, p + 1) for p in range(phases)]:
            for resource, work in works(together).items():
                total[resource] += work
        transfer, charged = max(total.values(), default=0.0), 0
    return charged * costs.synchronization.at(topology.endpoints) + phases * costs.setup_s + transfer


@settings(max_examples=120, deadline=None)
@given(schedules(), st.sampled_from(POLICIES))
def test_prediction_is_the_formula_worked_out_by_hand(schedule: Schedule, sync: str) -> None:
    prediction = predict(schedule, sync=sync)
    assert prediction.time_s == pytest.approx(predict_by_hand(schedule, sync), rel=1e-12)
    assert prediction.phase_s.size == schedule.phases
    assert prediction.phase_s.sum() == pytest.approx(prediction.time_s, rel=1e-12)
    assert prediction.phase_s.min(initial=0.0) >= 0


@settings(max_examples=250, deadline=None)
@given(schedules(), st.sampled_from(POLICIES))
def test_no_schedule_beats_the_bounds_of_its_class(schedule: Schedule, sync: str) -> None:
    schedule = replace(schedule, sync=sync)
    bounds = bound_schedule(schedule)
    time_s = predict(schedule).time_s
    for candidate in bounds.candidates:
        found = {"phases": schedule.phases, "time": time_s, "load": phase_loads(schedule).largest.sum()}
        assert candidate.value <= found[candidate.what], candidate
    assert bounds.phases <= schedule.phases
    assert bounds.time_s <= time_s
    assert (bounds.phases == 0) == (schedule.pattern.messages == 0)


@settings(max_examples=80, deadline=None)
@given(schedules(), st.sampled_from(POLICIES), st.data())
def test_more_bytes_never_take_less_time(schedule: Schedule, sync: str, data: st.DataObject) -> None:
    if schedule.pattern.messages == 0 or schedule.parts is not None:
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
    assert one_group == pytest.approx(predict(schedule, sync="none").time_s + synchronization, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(machines(), st.integers(1, 50), st.sampled_from(POLICIES))
def test_one_message_takes_overhead_and_bytes_over_the_slowest_rate(machine: Machine, size: int, sync: str) -> None:
    topology, costs = machine.topology, machine.costs
    pattern = Pattern.from_messages(topology.endpoints, [0], [topology.endpoints - 1], [size])
    schedule = Schedule(pattern, machine, "hand", Limits(1, 1, 1), np.array([0, 1]), np.array([0]), sync=sync)
    _, links = route_links(topology, machine.routing, schedule.source_node, schedule.target_node)
    own = topology.link_rate_Bps
    rates = [(costs.link_Bps if own is None else own[k]) * topology.widths()[k] for k in links]
    slowest = min(costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps, *rates)
    once = costs.setup_s + (costs.signal_s if sync == "ready" else 0.0)
    if sync.startswith("barrier") and costs.first_barrier:
        once += costs.synchronization.at(topology.endpoints)
    expected = once + costs.overhead.at(size) + size / slowest
    assert predict(schedule).time_s == pytest.approx(expected, rel=1e-12)
    assert bound_schedule(schedule).time_s == pytest.approx(expected, rel=1e-9), "alone, the bound is reached"
