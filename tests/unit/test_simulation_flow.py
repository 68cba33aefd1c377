"""Flow: closed forms, the worked example of progressive filling, and a slow second
implementation."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.machine.spec import parse_machine
from conset.models import Timeline, Workload
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.timeline import resource_name
from conset.verification.timeline.check import check_timeline
from support.hand_made_workloads import Triple, cycles_machine, trace


def play(workload: Workload, machine: Machine, **words: Any) -> Timeline:
    """A timeline that has been through the checker."""
    how = Settings(record=True, **words)
    timeline = simulate_flow(workload, machine, how)
    assert check_timeline(timeline, workload, machine, how) == ()
    return timeline


def cycles(messages: list[Triple], machine: Machine, **words: Any) -> list[float]:
    """When each message of a trace is delivered [cycles]."""
    return [
        float(x)
        for x in play(trace(messages, machine.topology.nodes), machine, **words).end_s * 1e9
    ]


@pytest.mark.parametrize("hops", [1, 3, 8])
@pytest.mark.parametrize("size", [0, 1, 16, 128, 4096])
def test_a_message_alone_takes_its_latency_and_its_bytes(hops: int, size: int) -> None:
    target = {1: 1, 3: 3, 8: 36}[hops]  # 36 is (4, 4) on the torus
    assert cycles([(0, target, size)], cycles_machine("torus:8x8", 1)) == [
        pytest.approx(5 + 4 * hops + size / 16)
    ]
    assert cycles([(0, target, size)], cycles_machine("torus:8x8", 0)) == [
        pytest.approx(4 * hops + size / 16)
    ]


ROW: list[Triple] = [(0, 3, 160), (1, 2, 320), (2, 3, 160), (2, 3, 80), (0, 1, 0), (3, 3, 64)]
"""A to F on row 0 of a 4 × 4 mesh.

With a pencil, no ports, equal: link 2→3 is full at 16/3 for A, C, D from 12 on; D ends at 15, C at
25, A at 33, and B, held on 1→2 beside A, at 34. E carries nothing, F stays in its node.
"""


@pytest.mark.parametrize(
    ("nic", "fairness", "expected"),
    [
        (0, "equal", [33, 34, 25, 15, 4, 0]),
        (0, "rtt", [34, 27 + 2 / 3, 21, 14 + 1 / 3, 4, 0]),
        (1, "equal", [38, 39, 30, 20, 9, 0]),
        (1, "rtt", [39, 34.823529, 27.176471, 19.529412, 9, 0]),
    ],
)
def test_the_worked_example_of_sharing(nic: int, fairness: str, expected: list[float]) -> None:
    assert cycles(ROW, cycles_machine("mesh:4x4", nic), fairness=fairness) == pytest.approx(
        expected, rel=1e-7
    )


def test_what_held_each_message_is_named() -> None:
    machine = cycles_machine("mesh:4x4", 0)
    timeline = play(trace(ROW, 16), machine)
    names = [resource_name(machine.topology, r) if r >= 0 else "" for r in timeline.held_by]
    assert names[2] == names[3] == "link 2 (0, 2) → 3 (0, 3)"
    assert names[1] == "link 1 (0, 1) → 2 (0, 2)"
    assert names[4] == names[5] == ""
    fan = play(trace([(0, 1, 160), (2, 1, 160)], 3), parse_machine("crossbar:3,port=16GB/s"))
    assert [resource_name(fan_machine_topology(), int(r)) for r in fan.held_by] == [
        "port into node 1"
    ] * 2


def fan_machine_topology() -> Any:
    return parse_machine("crossbar:3").topology


def test_messages_of_one_route_share_it_like_any_others() -> None:
    """Three of 0→1, joined in one flow: 160 B and 320 B from 4 on, 80 B released at 14.

    Rates 8, 8 until 18, when the third comes (80 B): 16/3 each; the first has 48 left then and ends
    at 27, the third has 32 left: 8 each until 31.
    """
    machine = cycles_machine("mesh:2", 0)
    work = trace([(0, 1, 160), (0, 1, 320), (0, 1, 80)], 2, time_s=np.array([0, 0, 14e-9]))
    assert play(work, machine).end_s * 1e9 == pytest.approx([27, 39, 31])


def test_links_and_ports_count_what_crossed_them() -> None:
    timeline = play(trace(ROW, 16), cycles_machine("mesh:4x4", 1))
    assert timeline.out_bytes[[0, 1, 2, 3]].tolist() == [160, 320, 240, 0]
    assert timeline.in_bytes[[1, 2, 3]].tolist() == [0, 320, 400]
    assert timeline.link_bytes.max() == 480  # 1→2: A and B
    assert timeline.in_busy_s[2] * 1e9 == pytest.approx(39 - 9)
    assert timeline.mean_latency_s * 1e9 == pytest.approx(
        (38 + 39 + 30 + 20 + 9) / 5
    )  # F never left its node


def test_a_wide_link_carries_more_messages_but_none_faster() -> None:
    machine = parse_machine("mesh:2,width=2,link=16GB/s,hop=4ns,port=none")
    assert cycles([(0, 1, 160)], machine) == [pytest.approx(14)]
    assert cycles([(0, 1, 160)] * 3, machine) == [pytest.approx(4 + 480 / 32)] * 3


def test_a_half_duplex_node_shares_one_rate() -> None:
    """In and out of node 1 share 16 B a cycle: two messages of 160 B take 20 cycles."""
    machine = parse_machine("mesh:3,link=none,hop=0,port=16GB/s,node=16GB/s,inject=0,eject=0")
    assert cycles([(0, 1, 160), (1, 2, 160)], machine) == [pytest.approx(20)] * 2


def test_overheads_of_a_preset_are_work() -> None:
    """Paragon: 231 us half at each end, one message after the other.

    The second is sent from 231 us on, and received once the first has been.
    """
    machine = parse_machine("paragon:2x2,hop=0,link=none,port=none")
    ends = [time * 1e6 for time in play(trace([(0, 1, 1), (0, 1, 1)], 4), machine).end_s]
    assert ends == pytest.approx([231, 346.5])


def test_what_nothing_limits_takes_its_latency() -> None:
    assert cycles([(0, 1, 10**9)], parse_machine("mesh:2,link=none,hop=4ns,port=none")) == [
        pytest.approx(4)
    ]


def test_an_empty_workload_takes_no_time() -> None:
    timeline = play(trace([], 4), cycles_machine("mesh:4"))
    assert (timeline.time_s, timeline.mean_latency_s, timeline.messages) == (0, 0, 0)


# ---- the obvious slow version


def fill(
    active: list[int], routes: list[list[int]], weight: list[float], capacity: list[float]
) -> dict[int, float]:
    """Rates by progressive filling.

    Raise one level for all, freeze the flows of the link that fills first.
    """
    rate: dict[int, float] = {}
    left = dict(enumerate(capacity))
    while len(rate) < len(active):
        weights = {
            link: sum(weight[f] for f in active if f not in rate and link in routes[f])
            for link in left
        }
        level, full = min(
            (left[link] / total, link) for link, total in weights.items() if total > 0
        )
        for f in active:
            if f not in rate and full in routes[f]:
                rate[f] = weight[f] * level
                for link in routes[f]:
                    left[link] -= rate[f]
    return rate


def slow_flow(work: Workload, machine: Machine, rtt: bool, in_flight_one: bool) -> list[float]:
    """Completion times [cycles], everything solved anew at every event.

    Ports and latencies of `cycles_machine`.
    """
    topology, n = machine.topology, work.messages
    offsets, links = route_links(topology, machine.routing, work.source, work.target)
    routes = [links[offsets[m] : offsets[m + 1]].tolist() for m in range(n)]
    latency = [4.0 * len(route) + 5 for route in routes]
    weight = [1 / t if rtt else 1.0 for t in latency]
    slots, nodes = topology.link_slots, topology.nodes
    for m in range(n):
        routes[m] += [slots + int(work.source[m]), slots + nodes + int(work.target[m])]
    capacity = [16.0] * (slots + 2 * nodes)
    waits = [
        {int(d) for d in work.deps[work.dep_offsets[m] : work.dep_offsets[m + 1]]} for m in range(n)
    ]
    if in_flight_one:
        for m in range(n):
            waits[m] |= {k for k in range(m) if work.source[k] == work.source[m]}
    done, left, begin, now = {}, {}, {}, 0.0
    while len(done) < n:
        moved = True
        while moved:
            moved = False
            for m in range(n):
                if m in done or m in begin or m in left or not waits[m] <= done.keys():
                    continue
                released = max([float(work.time_s[m] * 1e9), *(done[d] for d in waits[m])])
                if work.source[m] == work.target[m] and released <= now:
                    done[m], moved = released, True
                elif work.source[m] != work.target[m]:
                    begin[m], moved = released + latency[m], True
        rates = fill(list(left), routes, weight, capacity)
        events = [now + left[m] / rates[m] for m in left] + list(begin.values())
        events += [
            float(t * 1e9) for m, t in enumerate(work.time_s) if m not in done and t * 1e9 > now
        ]
        if not events:
            break
        step = min(events) - now
        for m in list(left):
            left[m] -= rates[m] * step
        now += step
        for m in [m for m in left if left[m] <= 1e-9]:
            done[m] = now
            del left[m]
        for m in [m for m, t in begin.items() if t <= now + 1e-9]:
            del begin[m]
            if work.bytes[m] == 0:
                done[m] = now
            else:
                left[m] = float(work.bytes[m])
    return [done.get(m, inf) for m in range(n)]


@st.composite
def workloads(draw: st.DrawFn) -> tuple[str, Workload]:
    """A small network and a trace on it, with times, dependencies, empty messages and messages
    to oneself."""
    network, nodes = draw(
        st.sampled_from([("mesh:2x3", 6), ("torus:3x3", 9), ("torus:4x2", 8), ("mesh:7", 7)])
    )
    node = st.integers(0, nodes - 1)
    messages = draw(
        st.lists(
            st.tuples(node, node, st.sampled_from([0, 16, 100, 128, 999])), min_size=1, max_size=14
        )
    )
    times = draw(st.lists(st.integers(0, 60), min_size=len(messages), max_size=len(messages)))
    pairs = draw(st.sets(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=6))
    deps: list[list[int]] = [[] for _ in messages]
    for a, b in sorted(pairs):
        if a < b < len(messages):
            deps[b].append(a)
    offsets = np.cumsum([0, *(len(each) for each in deps)])
    flat = np.array([d for each in deps for d in each], np.int32)
    return network, trace(
        messages, nodes, time_s=np.array(times) / 1e9, dep_offsets=offsets, deps=flat
    )


@settings(max_examples=60, deadline=None)
@given(workloads(), st.sampled_from(["equal", "rtt"]), st.booleans())
def test_flow_equals_the_slow_version(
    given_work: tuple[str, Workload], fairness: str, one: bool
) -> None:
    network, work = given_work
    machine = cycles_machine(network)
    timeline = play(work, machine, fairness=fairness, in_flight=1 if one else None)
    expected = slow_flow(work, machine, fairness == "rtt", one)
    assert timeline.end_s * 1e9 == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("fairness", ["equal", "rtt"])
def test_a_crowd_on_a_row_equals_the_slow_version(fairness: str) -> None:
    """Thirty flows on a link: the crowded solver.

    Unequal sizes end one by one, late messages come one by one.
    """
    nodes = 12
    pairs = [
        (s, t, 16 + (7 * s + 3 * t) % 50) for s in range(nodes) for t in range(nodes) if s != t
    ]
    times = np.array([40.0 * (k % 11 == 0) for k in range(len(pairs))]) / 1e9
    work, machine = trace(pairs, nodes, time_s=times), cycles_machine(f"mesh:{nodes}")
    timeline = play(work, machine, fairness=fairness)
    assert timeline.end_s * 1e9 == pytest.approx(
        slow_flow(work, machine, fairness == "rtt", False), rel=1e-9
    )


def test_the_same_input_gives_the_same_bytes() -> None:
    nodes = 12
    work = trace([(s, t, 100 + s * t) for s in range(nodes) for t in range(nodes)], nodes)
    one, two = (simulate_flow(work, cycles_machine(f"mesh:{nodes}")) for _ in range(2))
    assert one.end_s.tobytes() == two.end_s.tobytes()
    assert one.held_by.tobytes() == two.held_by.tobytes()
