"""Routing by source, by hash, by Valiant and adaptively.

Routes, expected loads, bounds, refusals, simulations.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import conset
from conset import _core
from conset.base.errors import InputError, UsageError
from conset.bounds import bound, bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.summary import summarize
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network import routes
from conset.machine.network.routes import core_network, route_hops, route_links
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import machine_of_record, parse_machine
from conset.machine.words import default_costs
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.document import document_from
from conset.schedule.loads import figures, phase_loads
from conset.verification import verify
from conset.verification.schedule.check import formula_walk
from conset.verification.schedule.graph_walks import SpreadWalk
from conset.verification.timeline.check import check_timeline
from support import slow_spread
from support.hand_made import same_machine
from support.hand_made_workloads import trace
from support.slow_networks import slow

UNKNOWN = ("ecmp", "valiant", "adaptive")
TREE = "leaf-spine:leaves=2,spines=3,hosts=3"


def machine_with(topology: Topology, rule: Any, seed: int = 0) -> Machine:
    return Machine("by hand", topology, Routing(rule, seed=seed), default_costs())


def machine_of(spec: str, rule: Any, seed: int = 0) -> Machine:
    return replace(parse_machine(spec), routing=Routing(rule, seed=seed))


def messages(ranks: int, rows: list[tuple[int, int, int]]) -> Pattern:
    return Pattern.from_messages(*(list(column) for column in zip(*rows, strict=True)), ranks=ranks)


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """A connected graph of endpoints and switches, links of several widths."""
    nodes = draw(st.integers(3, 7))
    endpoints = draw(st.integers(2, nodes))
    pairs = {(k, draw(st.integers(0, k - 1))) for k in range(1, nodes)}
    pairs |= set(
        draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=8))
    )
    edges = sorted({end for u, v in pairs if u != v for end in ((u, v), (v, u))})
    widths = {edge: draw(st.integers(1, 3)) for edge in edges if edge[0] < edge[1]}
    source, target = (np.array(ends, np.int32) for ends in zip(*edges, strict=True))
    width = np.array([widths[min(edge), max(edge)] for edge in edges], np.int32)
    return Topology("graph", (), endpoints, nodes, source, target, width)


def all_pairs(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    ends = np.arange(topology.endpoints, dtype=np.int32)
    source, target = (
        np.ascontiguousarray(each.ravel()) for each in np.meshgrid(ends, ends, indexing="ij")
    )
    return source, target


def check_routes(machine: Machine) -> None:
    """Core and verifier walk what the slow form walks, link by link."""
    topology = machine.topology
    source, target = all_pairs(topology)
    offsets, links = route_links(topology, machine.routing, source, target)
    walked = SpreadWalk(topology, machine.routing, target)
    position, link = walked.hops(np.arange(source.size), source, target)
    for k in range(source.size):
        slow = slow_spread.sample(machine, int(source[k]), int(target[k]))
        assert links[offsets[k] : offsets[k + 1]].tolist() == slow
        assert sorted(link[position == k].tolist()) == sorted(slow)
    assert (
        route_hops(topology, machine.routing, source, target).tolist() == np.diff(offsets).tolist()
    )


@settings(max_examples=20)
@given(networks(), st.sampled_from(UNKNOWN), st.integers(0, 2**63 - 1))
def test_the_sample_of_a_hash_is_that_of_the_slow_form(
    topology: Topology, rule: str, seed: int
) -> None:
    check_routes(machine_with(topology, rule, seed))


@pytest.mark.parametrize("spec", ["fat-tree:k=4,levels=2,taper=2", "fat-tree:k=2,levels=3", TREE])
def test_digits_of_the_source_choose_the_way_up(spec: str) -> None:
    machine = machine_of(spec, "smodk")
    check_routes(machine)
    topology = machine.topology
    mirrored = machine_of(spec, "dmodk")
    source, target = all_pairs(topology)
    there = route_links(topology, machine.routing, source, target)
    back = route_links(topology, mirrored.routing, target, source)
    ends = topology.ends
    for k in range(source.size):  # the way there is the way back of dmodk, turned round
        own = [
            (int(ends[0][at]), int(ends[1][at])) for at in there[1][there[0][k] : there[0][k + 1]]
        ]
        other = [
            (int(ends[1][at]), int(ends[0][at])) for at in back[1][back[0][k] : back[0][k + 1]]
        ]
        assert own == other[::-1]


@pytest.mark.parametrize("rule", ["smodk", *UNKNOWN])
@pytest.mark.parametrize("sizes", ["groups=4,routers=2,nodes=2", "groups=5,routers=3,nodes=1"])
def test_one_global_link_of_a_dragonfly(sizes: str, rule: str) -> None:
    """Though two of them may be fewer links than a local one at either end.

    By Valiant one a leg.
    """
    machine = machine_of(f"dragonfly:{sizes}", rule, seed=5)
    topology = machine.topology
    assert topology.group is not None
    check_routes(machine)
    source, target = all_pairs(topology)
    offsets, links = route_links(topology, machine.routing, source, target)
    ends = topology.ends
    between = np.concatenate(
        [[0], np.cumsum(topology.group[ends[0][links]] != topology.group[ends[1][links]])]
    )
    apart = topology.group[source] != topology.group[target]
    counted = between[offsets[1:]] - between[offsets[:-1]]
    if rule == "valiant":
        assert counted.max() == 2
    else:
        assert (counted == apart).all()
    if rule != "smodk":
        check_expected(
            machine,
            [(s, (5 * s + 3) % topology.endpoints, 100 + s) for s in range(topology.endpoints)],
        )
    fewest = core_network(topology, Routing("shortest-path")).hops(source, target)
    assert (
        route_hops(topology, machine.routing, source, target) > fewest
    ).any()  # else the sizes show nothing


@pytest.mark.parametrize("rule", ["minimal", "smodk", "adaptive"])
def test_a_group_with_a_dead_link_is_no_short_cut(rule: str) -> None:
    """Its global links count as all others do.

    What passes between two other groups never goes through it.
    """
    topology = parse_machine("dragonfly:groups=5,routers=3,nodes=1,dead=15-16").topology
    assert topology.group is not None
    source, target = all_pairs(topology)
    routing = Routing(rule)  # type: ignore[arg-type]
    offsets, links = route_links(topology, routing, source, target)
    if rule != "minimal":
        check_routes(machine_with(topology, rule))
    position, walked = formula_walk(machine_with(topology, rule), target).hops(
        np.arange(source.size), source, target
    )
    assert np.bincount(position, minlength=source.size).tolist() == np.diff(offsets).tolist()
    assert sorted(walked.tolist()) == sorted(links.tolist())
    through = topology.group[topology.ends[1][links]]
    pair = np.repeat(np.arange(source.size), np.diff(offsets))
    foreign = (through != topology.group[source[pair]]) & (through != topology.group[target[pair]])
    assert not foreign.any()


@settings(max_examples=20)
@given(networks(), st.sampled_from(UNKNOWN), st.data())
def test_expected_loads_are_those_of_all_ways(
    topology: Topology, rule: str, data: st.DataObject
) -> None:
    machine = machine_with(topology, rule)
    ends = st.integers(0, topology.endpoints - 1)
    rows = data.draw(st.lists(st.tuples(ends, ends, st.integers(1, 100)), min_size=1, max_size=6))
    check_expected(machine, rows)


def check_expected(machine: Machine, rows: list[tuple[int, int, int]]) -> None:
    """Core and verifier expect on every link the exact sum of chances over all ways."""
    topology = machine.topology
    source, target = (np.array([row[k] for row in rows], np.int32) for k in (0, 1))
    size = np.array([row[2] for row in rows], np.int64)
    exact = [Fraction(0)] * topology.link_slots, [Fraction(0)] * topology.link_slots
    for s, t, b in rows:
        for link, chance in slow_spread.chances(machine, s, t).items():
            exact[0][link] += chance
            exact[1][link] += chance * b
    totals = _core.expect_totals(core_network(topology, machine.routing), source, target, size)
    np.testing.assert_allclose(
        totals.messages, [float(x) for x in exact[0]], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(totals.bytes, [float(x) for x in exact[1]], rtol=1e-12, atol=1e-12)
    walk = SpreadWalk(topology, machine.routing, target)
    _, link, amount = walk.expect(np.zeros(size.size, np.intp), source, target, np.ones(size.size))
    own = np.zeros(topology.link_slots)
    own[link] = amount
    np.testing.assert_allclose(own, [float(x) for x in exact[0]], rtol=1e-12, atol=1e-12)
    offsets, links, share = _core.message_shares(
        core_network(topology, machine.routing), source, target
    )
    for k, (s, t, _) in enumerate(rows):
        part = dict(
            zip(links[offsets[k] : offsets[k + 1]], share[offsets[k] : offsets[k + 1]], strict=True)
        )
        slow = slow_spread.chances(machine, s, t)
        assert part.keys() == slow.keys()
        assert all(part[link] == pytest.approx(float(slow[link])) for link in slow)


@pytest.mark.parametrize("rule", ["ecmp", "valiant"])
def test_the_mean_over_seeds_is_what_is_expected(rule: str) -> None:
    """Within five standard errors at every link.

    Choices at different nodes are independent, so nothing polarises.
    """
    topology, seeds = parse_machine("fat-tree:k=4").topology, 400
    pattern = messages(16, [(r, (r + 5) % 16, 1) for r in range(16)])
    counts = np.zeros((seeds, topology.link_slots))
    for seed in range(seeds):
        network = core_network(topology, Routing(rule, seed=seed))
        counts[seed] = _core.count_totals(
            network, pattern.source, pattern.target, np.ones(1, np.int64)
        ).messages
    expected = _core.expect_totals(
        network, pattern.source, pattern.target, np.ones(1, np.int64)
    ).messages
    error = np.sqrt(counts.var(axis=0) / seeds)
    assert (np.abs(counts.mean(axis=0) - expected) <= 5 * error + 1e-9).all()


def test_expected_loads_of_phases_are_below_the_mean_of_the_largest() -> None:
    """Jensen: the largest expected load is at most the expected largest one, which a hash of two
    choices exceeds."""
    machine = machine_of(TREE, "ecmp")
    pattern = messages(6, [(0, 3, 8), (1, 4, 8), (2, 5, 8)])
    schedule = conset.compile(pattern, machine, method="naive")
    loads = phase_loads(schedule)
    assert loads.expected
    assert loads.link.tolist() == [1.0]
    assert loads.channels[0] == pytest.approx(3.0)  # both leaf switches pass all three messages
    largest = []
    for seed in range(200):
        totals = _core.count_totals(
            core_network(machine.topology, Routing("ecmp", seed=seed)),
            pattern.source,
            pattern.target,
            np.ones(1, np.int64),
        )
        largest.append(totals.messages.max())
    # three messages on three links: all apart 2/9, all on one 1/9, else two together
    assert np.mean(largest) == pytest.approx(2 / 9 * 1 + 6 / 9 * 2 + 1 / 9 * 3, abs=0.15)
    three = messages(6, [(0, 3, 8)])
    assert phase_loads(conset.compile(three, machine, method="naive")).link.tolist() == [1.0]
    between = replace(schedule, placement=None)
    assert figures(between)["load"]["sum"] == 1


@pytest.mark.parametrize("rule", UNKNOWN)
@pytest.mark.parametrize("spec", ["fat-tree:k=4", "dragonfly:groups=5,routers=2,nodes=2"])
def test_schedules_are_verified_bounded_and_written(rule: str, spec: str, tmp_path: Path) -> None:
    machine = machine_of(spec, rule, 5)
    pattern = conset.load_pattern("random:degree=5,size=log-uniform(64,8KiB)", machine)
    for method in ("naive", "coloring", "first-fit", "decreasing"):
        schedule = conset.compile(pattern, machine, method=method)
        assert schedule.limits.link is None
        verified = verify(schedule)
        assert verified.ok
        stated = figures(schedule)
        assert verified.figures["load"] == pytest.approx(stated["load"], rel=1e-9)
        for sync in ("none", "local", "ready", "barrier", "barrier:2"):
            own = replace(schedule, sync=sync)
            bounds = bound_schedule(own)
            predicted = conset.predict(own, by="formula").time_s
            assert predicted >= bounds.time_s * (1 - 1e-9)
            assert stated["load"]["sum"] >= bounds.load_sum * (1 - 1e-9)
    path = tmp_path / "s.json"
    conset.write(schedule, path)
    read = conset.read(path)
    assert same_machine(read.machine, machine)
    assert conset.verify(path).ok
    body = json.loads(path.read_text())
    body["figures"]["load"]["link"] *= 1.01
    path.write_text(json.dumps(body))
    assert [v.rule for v in conset.verify(path).violations] == ["figures"]


@pytest.mark.parametrize("rule", UNKNOWN)
def test_what_nobody_can_keep_is_a_violation_and_ports_are_checked(rule: str) -> None:
    machine = machine_of(TREE, rule)
    pattern = messages(6, [(0, 3, 8), (1, 4, 8), (0, 4, 8)])
    schedule = conset.compile(pattern, machine, method="coloring")
    document = document_from(schedule, figures(schedule))
    stated = verify(replace(document, limits={**document.limits, "link": 4}))
    assert [v.rule for v in stated.violations] == ["limits"]
    assert (
        f"by hand has routing {rule}" in stated.violations[0].text
        or rule in stated.violations[0].text
    )
    merged = replace(schedule, phase_offsets=np.array([0, 3], np.int64))
    assert {v.rule for v in verify(merged).violations} == {"send", "receive"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "rs-nl"}, "method rs-nl orders messages on links"),
        ({"method": "negotiated"}, "method negotiated orders messages on links"),
        ({"method": "connections"}, "method connections orders messages on links"),
        ({"method": "event-list"}, "method event-list orders messages on links"),
        ({"method": "first-fit", "contention": 1}, "limit link=1"),
        ({"method": "first-fit", "contention": 3}, "limit link=3"),
        ({"method": "first-fit", "channels": 4}, "limit channels=4"),
        ({"method": "auto", "limits": "link=2"}, "limit link=2"),
        ({"method": "lp", "timetable": "as"}, "timetable"),
        ({"routes": "free"}, "routes free"),
    ],
)
@pytest.mark.parametrize("rule", UNKNOWN)
def test_order_on_links_is_refused_in_one_line(
    rule: str, options: dict[str, Any], words: str
) -> None:
    machine = machine_of(TREE, rule)
    pattern = conset.load_pattern("alltoall", machine)
    with pytest.raises(InputError, match=words) as error:
        compile_pattern(pattern, machine, CompileOptions(**options))
    text = str(error.value)
    assert "\n" not in text
    assert rule in text
    assert "routing=dmodk" in text


def test_order_on_links_is_kept_where_routes_are_known() -> None:
    for rule in ("dmodk", "smodk", "minimal", "shortest-path"):
        machine = machine_of(TREE, rule)
        schedule = conset.compile("alltoall", machine, method="rs-nl")
        assert machine.routes_unknown == ""
        assert schedule.limits.link == 1
        assert verify(schedule).ok
        assert "routes" not in summarize(schedule, verified=True)


def test_a_limit_taken_off_is_a_method_of_ports() -> None:
    schedule = conset.compile(
        "alltoall", machine_of(TREE, "ecmp"), method="negotiated", limits="link=none"
    )
    assert schedule.limits == Limits(send=1, receive=1)
    assert verify(schedule).ok
    with pytest.raises(InputError, match="limit link=1"):
        bound(schedule.pattern, schedule.machine, Limits(link=1))
    with pytest.raises(InputError, match="limit channels=12"):
        replace(schedule.machine, limits=Limits(channels=12))


@pytest.mark.parametrize("rule", UNKNOWN)
def test_auto_says_that_only_ports_can_be_ordered(rule: str) -> None:
    schedule = conset.compile("random:degree=3,size=64KiB", machine_of(TREE, rule))
    body = summarize(schedule)
    assert body["verified"]
    assert "order cannot be scheduled on links, only at ports" in body["verdict"]["routes"]
    assert body["verdict"]["routes"] == body["routes"]
    assert schedule.limits.link is None
    word = "expectation over the hash" if rule != "adaptive" else "any fractions"
    assert word in body["bound"]["time_class"]
    assert word in body["bound"]["load_sum_class"]
    assert ("wormhole" in body["verdict"]["times"]) == (rule != "adaptive")


def leaves(spines: int, flows: int) -> tuple[Machine, Pattern]:
    """Two leaf switches, so many spines, and one message from each host of the first to one of
    the second."""
    machine = parse_machine(
        f"leaf-spine:leaves=2,spines={spines},hosts={flows},link=1GB/s,port=none,hop=0,inject=0,"
        "eject=0"
    )
    rows = [(k, flows + k, 1_000_000) for k in range(flows)]
    return machine, messages(2 * flows, rows)


@pytest.mark.parametrize(("spines", "flows"), [(2, 2), (3, 3), (2, 6), (4, 6)])
def test_two_leaf_switches(spines: int, flows: int) -> None:
    """Adaptive: n messages over s spines take max(1, n / s) times one.

    By a hash the expected maximum of n in s.
    """
    machine, pattern = leaves(spines, flows)
    adaptive = replace(machine, routing=Routing("adaptive"))
    schedule = conset.compile(pattern, adaptive, method="naive")
    one = 1_000_000 / 1e9
    assert conset.simulate(schedule).time_s == pytest.approx(max(1, flows / spines) * one, rel=1e-6)
    assert conset.predict(schedule, by="formula").time_s == pytest.approx(
        max(1, flows / spines) * one, rel=1e-6
    )
    assert bound_schedule(schedule).time_s == pytest.approx(max(1, flows / spines) * one, rel=1e-6)
    assert phase_loads(schedule).link.tolist() == pytest.approx([max(1, flows / spines)])
    times = []
    for seed in range(150):
        hashed = replace(schedule, machine=replace(machine, routing=Routing("ecmp", seed=seed)))
        times.append(conset.simulate(hashed).time_s)
    expected = expected_largest(flows, spines)
    assert np.mean(times) == pytest.approx(expected * one, rel=0.1)
    assert bound_schedule(hashed).time_s <= expected * one
    assert bound_schedule(hashed).time_s == pytest.approx(max(1, flows / spines) * one, rel=1e-6)


def expected_largest(balls: int, bins: int) -> float:
    """E[largest load] of balls thrown into bins: P(all at most m) by counting, bin after bin."""

    def ways(balls: int, bins: int, most: int) -> int:
        if bins == 0:
            return int(balls == 0)
        return sum(
            comb(balls, k) * ways(balls - k, bins - 1, most) for k in range(min(balls, most) + 1)
        )

    return sum(1 - ways(balls, bins, most) / bins**balls for most in range(balls))


@settings(max_examples=15)
@given(networks(), st.data())
def test_parts_share_links_as_the_slow_form_says(topology: Topology, data: st.DataObject) -> None:
    """To the last delivery; and the checker holds every rate, with routes and parts of its own."""
    machine = replace(machine_with(topology, "adaptive"), costs=default_costs())
    ends = st.integers(0, topology.endpoints - 1)
    rows = data.draw(
        st.lists(st.tuples(ends, ends, st.integers(0, 1 << 20)), min_size=1, max_size=8)
    )
    workload = trace(rows, topology.nodes)
    timeline = simulate_flow(workload, machine, Settings(record=True))
    assert check_timeline(timeline, workload, machine, Settings(record=True)) == ()
    assert timeline.end_s == pytest.approx(slow("flow", workload, machine, Settings()), rel=1e-9)
    carried = sum(
        slow_spread.chances(machine, s, t).get(link, 0) * b
        for s, t, b in rows
        for link in range(topology.link_slots)
    )
    assert abs(int(timeline.link_bytes.sum()) - carried) <= topology.link_slots


@pytest.mark.parametrize("model", ["wormhole", "circuit", "flit", "connections"])
def test_models_of_one_route_refuse_parts(model: str) -> None:
    machine = machine_of(TREE, "adaptive")
    schedule = conset.compile("random:degree=2", machine, method="naive")
    with pytest.raises(InputError, match=f"{model}: .*routing adaptive.*flow") as error:
        find_model(model).simulate(Workload.of_schedule(schedule), machine, Settings())
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="fairness rtt"):
        conset.simulate(schedule, fairness="rtt")


@pytest.mark.parametrize("rule", [*UNKNOWN, "smodk"])
def test_records_keep_rule_and_seed(rule: str, tmp_path: Path) -> None:
    seed = 7 if rule in ("ecmp", "valiant") else 0
    machine = machine_of("fat-tree:k=4", rule, seed)
    changed = machine.with_costs(lambda costs: replace(costs, hop_s=1.5e-7))
    for one in (machine, changed):
        again = machine_of_record(one.to_spec())
        assert same_machine(again, one)
        assert again.routing == one.routing
    word = ",hash=7" if seed else ""
    spec = parse_machine(f"fat-tree:k=4,routing={rule}{word}")
    assert spec.routing == machine.routing
    path = tmp_path / "m.toml"
    hashed = "hash = 7\n" if seed else ""
    path.write_text(f'[network]\nfamily = "fat-tree:k=4"\nrouting = "{rule}"\n{hashed}')
    assert parse_machine(str(path)).routing == machine.routing
    if seed:
        assert not same_machine(machine, replace(machine, routing=Routing(rule, seed=8)))


def test_a_seed_is_for_a_hash() -> None:
    with pytest.raises(UsageError, match="hash=3: is the seed of a routing by hash"):
        parse_machine("fat-tree:k=4,routing=adaptive,hash=3")
    with pytest.raises(InputError, match=r"hash = -1: must be from 0 to"):
        Routing("ecmp", seed=-1)
    with pytest.raises(UsageError, match="did you mean 'ecmp'"):
        parse_machine("fat-tree:k=4,routing=ecmpp")


def test_disconnected_networks_name_both_ends() -> None:
    apart = Topology("graph", (), 3, 3, np.array([0, 1], np.int32), np.array([1, 0], np.int32))
    for rule in UNKNOWN:
        with pytest.raises(InputError, match="no route from node"):
            core_network(apart, Routing(rule))


def test_a_network_is_found_though_an_equal_routing_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Routings are equal by value.

    Another thread's may be the key, and end between the question and the answer.
    """

    class Forgetful(WeakKeyDictionary[Routing, _core.Network]):
        def __contains__(self, key: object) -> bool:
            found = super().__contains__(key)
            self.clear()
            return found

    machine = conset.load_machine("mesh:3x3")
    monkeypatch.setattr(routes, "_networks", WeakKeyDictionary({machine.topology: Forgetful()}))
    first = core_network(machine.topology, machine.routing)
    assert core_network(machine.topology, machine.routing) is first
