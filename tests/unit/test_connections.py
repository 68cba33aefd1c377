"""connections: routers over networks, patterns and limits, checked by the verifier.

Domains, orders, bandwidths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings as examples, strategies as st

from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.bounds import bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.connection_routers.orbits import first_success
from conset.methods.phases.connection_routers.table import ROUTERS, Router, find_router
from conset.methods.phases.connection_routers.task import (
    Routed,
    Task,
    best_score,
    schedule_of,
    score,
)
from conset.methods.phases.connections import schedule_connections
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.linkage import guarantees
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify

ROUTER_NAMES = [row.name for row in ROUTERS]
MACHINES = (
    "iwarp:4x4",
    "mesh:3x4",
    "ring:7",
    "torus:4x4,routing=no-wrap",
    "hypercube:4",
    "crossbar:6",
    "torus:3x2x3",
)


def problem(
    pattern: str | Pattern, on: str | Machine, channels: int | None = 12, **options: Any
) -> Problem:
    machine = parse_machine(on) if isinstance(on, str) else on
    if isinstance(pattern, str):
        pattern = parse_pattern(
            pattern, topology=machine.topology, ranks=machine.topology.endpoints
        )
    limits = options.pop("limits", Limits(channels=channels))
    own = {name: options.pop(name) for name in ("placement", "min_bandwidth") if name in options}
    return Problem(pattern, machine, limits, search=SearchOptions(**options), **own)


def as_schedule(given: Problem, phases: Phases) -> Schedule:
    return Schedule(
        given.pattern,
        given.machine,
        "connections",
        given.limits,
        phases.offsets,
        phases.message,
        placement=given.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        limits_asked=True,
    )


def compiled(pattern: str | Pattern, on: str | Machine, **options: Any) -> Schedule:
    given = problem(pattern, on, **options)
    schedule = as_schedule(given, schedule_connections(given))
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    return schedule


def routes_of(schedule: Schedule) -> list[list[int]]:
    assert schedule.route_offsets is not None
    assert schedule.route_nodes is not None
    nodes = schedule.route_nodes.tolist()
    return [nodes[a:b] for a, b in pairwise(schedule.route_offsets.tolist())]


def applies(router: str, pattern: str, on: str) -> bool:
    """The domains, in the words of the notes."""
    if router == "orbits":
        same = pattern in ("alltoall", "neighbor")
        return (
            same and on.startswith(("iwarp", "ring", "hypercube", "torus")) and "no-wrap" not in on
        )
    return pattern == "alltoall" and on.startswith(("iwarp", "mesh", "ring", "torus"))


@pytest.mark.parametrize("router", [None, *ROUTER_NAMES])
@pytest.mark.parametrize("objective", ["time", "phases"])
@pytest.mark.parametrize("on", MACHINES)
def test_every_router_keeps_the_limits_or_says_what_it_requires(
    router: str | None, objective: str, on: str
) -> None:
    for pattern in ("alltoall", "random:degree=3", "neighbor"):
        if router in ("orbits", "closed-form") and not applies(router, pattern, on):
            with pytest.raises(InputError, match="requires"):
                compiled(pattern, on, router=router, channels=6)
            continue
        schedule = compiled(pattern, on, router=router, objective=objective, channels=6)
        assert schedule.phases >= Task(problem(pattern, on, channels=6)).least_phases


@pytest.mark.parametrize("on", MACHINES)
def test_the_default_is_as_good_as_every_router_and_never_below_its_bound(on: str) -> None:
    for objective in ("time", "phases"):
        given = problem("alltoall", on, objective=objective)
        task = Task(given)
        best = score(task, schedule_connections(given))
        goal = best_score(task)
        assert all(a >= b * (1 - 1e-9) for a, b in zip(best[: len(goal)], goal, strict=True))
        for router in ROUTER_NAMES:
            try:
                other = schedule_connections(
                    problem("alltoall", on, objective=objective, router=router)
                )
            except InputError:
                continue
            assert best <= score(task, other)


def test_limits_on_ports_and_links_are_kept_by_every_router() -> None:
    limits = Limits(send=2, receive=1, link=1, channels=8)
    for router in [None, *ROUTER_NAMES]:
        schedule = compiled("alltoall", "torus:4x4", router=router, limits=limits)
        assert schedule.limits == limits
        assert schedule.phases >= 15  # one message a phase into each node


def test_wide_links_and_switches() -> None:
    up = [(v, 6 + v // 3) for v in range(6)]
    links = sorted([*up, *((b, a) for a, b in up), (6, 7), (7, 6)])
    source, target = np.array(links, np.int32).T
    width = np.where(np.minimum(source, target) == 6, 2, 1).astype(np.int32)
    topology = Topology(
        "graph", (), 6, 8, np.ascontiguousarray(source), np.ascontiguousarray(target), width
    )
    machine = Machine("switched", topology, Routing.default(topology))
    # 18 messages cross between the switches, 12 stay under one: 15 + ... visits at switch 6: 9 +
    # 9 + 6 = 24, 4 a phase
    schedule = compiled("alltoall", machine, channels=4)
    assert schedule.phases >= 6
    # link 6 → 7 carries 9 messages, 2 at once
    limited = compiled("alltoall", machine, limits=Limits(link=1, channels=12), router="sequential")
    assert limited.phases >= 5


def test_no_wrap_leaves_the_links_idle_that_close_cycles() -> None:
    schedule = compiled("alltoall", "torus:4x4,routing=no-wrap")
    at = schedule.machine.topology.coordinates
    for route in routes_of(schedule):
        for a, b in pairwise(route):
            assert np.abs(at[a] - at[b]).sum() == 1


def test_detours_save_a_phase() -> None:
    """The binary tree both ways, 8 × 8, 12 channels.

    Notes §1.4, 1 phase with detours, 2 by the text's router.
    """
    schedule = compiled("tree", "iwarp:8x8")
    assert schedule.phases == 1
    hops = np.array([len(route) - 1 for route in routes_of(schedule)])
    shortest = Task(problem("tree", "iwarp:8x8")).hops[schedule.message]
    assert (hops >= shortest).all()


def bitonic(stages: int, size: int = 1024) -> Pattern:
    """Rank r sends to r XOR 2^k in stage k, after it has what it gets in stage k - 1."""
    ranks = 1 << stages
    rank, stage = np.tile(np.arange(ranks), stages), np.repeat(np.arange(stages), ranks)
    later = np.flatnonzero(stage > 0)
    partner = rank[later] ^ (1 << (stage[later] - 1))
    before = np.stack([(stage[later] - 1) * ranks + partner, later], axis=1)
    return Pattern.from_messages(
        rank, rank ^ (1 << stage), np.full(rank.size, size), ranks, before=before
    )


def keeps_order(schedule: Schedule) -> bool:
    """Every message stands in a phase after those before it, or behind them in the list of the
    same one."""
    place = {
        m: (p, k) for k, (m, p) in enumerate(zip(schedule.message, schedule.phase_of, strict=True))
    }
    return all(place[i] < place[j] for i, j in schedule.pattern.before.tolist())  # type: ignore[union-attr]


@pytest.mark.parametrize("router", [None, "sequential", "negotiated"])
def test_a_bitonic_order_needs_one_context(router: str | None) -> None:
    schedule = compiled(bitonic(4), "iwarp:4x4", router=router)
    assert schedule.phases == 1
    assert keeps_order(schedule)


@pytest.mark.parametrize("router", [None, "sequential", "negotiated"])
@pytest.mark.parametrize("channels", [2, 3, 5])
def test_an_order_is_kept_inside_phases_and_across_them(router: str | None, channels: int) -> None:
    """Few channels: several phases, fewer than the 4 of the longest chain where channels allow
    it."""
    for pattern, on in ((bitonic(4), "torus:4x4"), (bitonic(3, 64), "hypercube:3")):
        schedule = compiled(pattern, on, router=router, limits=Limits(channels=channels))
        assert keeps_order(schedule)
        least = bound_schedule(schedule).phases
        assert least <= schedule.phases <= least + (3 if channels == 2 else 1)


@st.composite
def ordered(draw: st.DrawFn) -> Pattern:
    """Messages of one or of several sizes between 9 ranks, many after earlier ones of a rank."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = rng.permutation([(a, b) for a in range(9) for b in range(9) if a != b])
    ends = pairs[: draw(st.integers(2, 40))]
    size = rng.choice(draw(st.sampled_from([(1024,), (64, 1024, 20_000)])), len(ends))
    share = draw(st.sampled_from([0.05, 0.3]))
    before = [
        (i, j)
        for j in range(len(ends))
        for i in range(j)
        if set(ends[i]) & set(ends[j]) and rng.random() < share
    ]
    return Pattern.from_messages(*ends.T, size, 9, before=np.array(before, np.int64).reshape(-1, 2))


@examples(max_examples=25)
@given(
    ordered(),
    st.sampled_from(["iwarp:3x3", "mesh:3x3,synchronization=20us,setup=10us,hop=1us"]),
    st.integers(2, 6),
    st.sampled_from([None, "none", "local", "barrier"]),
)
def test_the_default_waits_no_longer_for_an_order_than_any_router_alone(
    pattern: Pattern, on: str, channels: int, sync: str | None
) -> None:
    """Predicted, by the formula that has the waits; parts of messages are no exception."""
    machine = parse_machine(on)
    times = []
    for router in (None, "sequential", "negotiated"):
        options = CompileOptions("connections", channels=channels, router=router, sync=sync)
        schedule = compile_pattern(pattern, machine, options)
        assert verify(schedule).ok
        times.append(predict(schedule).time_s)
    assert times[0] <= min(times) * (1 + 1e-9)


@pytest.mark.parametrize(("channels", "expected_us"), [(4, 320.1), (5, 216.7), (8, 216.7)])
def test_a_bitonic_order_takes_what_the_better_router_finds(
    channels: int, expected_us: float
) -> None:
    """As the sequential router alone; by loads, negotiated phases looked better: 455, 330.9 us."""
    options = CompileOptions("connections", channels=channels)
    schedule = compile_pattern(bitonic(4), parse_machine("iwarp:4x4"), options)
    assert predict(schedule).time_s <= expected_us * 1.001e-6


def test_routers_of_symmetric_patterns_refuse_an_order() -> None:
    pairs = [(k % 9, (k + 1) % 9) for k in range(9)]
    source, target = np.array(pairs).T
    pattern = Pattern.from_messages(source, target, np.full(9, 8), 9, before=np.array([(0, 1)]))
    for router_name in ("orbits", "closed-form"):
        with pytest.raises(InputError, match="without an order"):
            schedule_connections(problem(pattern, "ring:9", router=router_name))


def test_several_ranks_on_a_node_and_messages_inside_it() -> None:
    placement = (np.arange(32) // 2).astype(np.int32)
    machine = parse_machine("torus:4x4")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=32)
    for router in (None, "sequential", "negotiated", "orbits"):
        schedule = compiled(pattern, machine, placement=placement, router=router)
        inside = [route for route in routes_of(schedule) if len(route) == 1]
        assert len(inside) == 32
        assert schedule.channels is not None
        assert (schedule.channels == -1).sum() == 32


def test_nothing_to_send_and_only_messages_inside_nodes() -> None:
    assert schedule_connections(
        problem(Pattern.from_messages([], [], [], 9), "ring:9")
    ).offsets.tolist() == [0]
    pair = Pattern.from_messages([0], [1], [5], 2)
    for router in (None, "sequential", "negotiated"):
        schedule = compiled(pair, "torus:3x3", placement=np.zeros(2, np.int32), router=router)
        assert schedule.phases == 1
    for asked in (
        {},
        {"min_bandwidth": "100GB/s"},
        {"max_latency": "0s"},
    ):  # nothing is shared, nobody waits
        options = CompileOptions("connections", ranks_per_node=2, **asked)  # type: ignore[arg-type]
        schedule = compile_pattern(pair, parse_machine("iwarp:1x1"), options)
        assert verify(schedule).ok
        assert bound_schedule(schedule).phases == schedule.phases == 1


def test_the_same_seed_gives_the_same_schedule_another_one_another() -> None:
    for router in ("sequential", "negotiated", "orbits"):
        one, other, third = (
            schedule_connections(problem("alltoall", "torus:5x5", router=router, seed=seed))
            for seed in (1, 1, 2)
        )
        assert one.route_nodes is not None
        assert other.route_nodes is not None
        assert np.array_equal(one.message, other.message)
        assert np.array_equal(one.route_nodes, other.route_nodes)
        assert not np.array_equal(one.message, third.message)


def test_what_is_asked_of_the_wrong_network_or_pattern_is_refused() -> None:
    for router, pattern, on, words in (
        ("orbits", "alltoall", "mesh:4x4", "requires a torus, ring or hypercube"),
        ("orbits", "alltoall", "torus:4x4,routing=no-wrap", "requires a torus, ring or hypercube"),
        ("orbits", "gather", "torus:4x4", "looks the same from every node"),
        ("orbits", "shuffle", "torus:4x4", "looks the same from every node"),
        ("closed-form", "neighbor", "torus:4x4", "requires a complete exchange"),
        ("closed-form", "alltoall", "hypercube:3", "requires a mesh or torus"),
    ):
        with pytest.raises(InputError, match=words):
            schedule_connections(problem(pattern, on, router=router))
    with pytest.raises(InputError, match="requires 5 channels a node, given 4"):
        schedule_connections(problem("alltoall", "torus:8x8", router="closed-form", channels=4))
    with pytest.raises(UsageError, match="did you mean 'orbits'"):
        schedule_connections(problem("alltoall", "torus:4x4", router="orbit"))
    with pytest.raises(InputError, match="duplex full"):
        find_method("connections").schedule(
            problem("alltoall", "torus:4x4", limits=Limits(channels=12, duplex="exchange"))
        )


def test_least_sum_is_the_text_formula_of_the_notes() -> None:
    """Notes §1.2: ΣL ≥ 64 + 3 · (32 - P) for 27 ≤ P ≤ 32 on the 8 × 8 all-to-all with 12
    channels."""
    task = Task(problem("alltoall", "iwarp:8x8"))
    assert task.least_phases == 27
    assert [task.least_sum(p) for p in range(27, 34)] == [79, 76, 73, 70, 67, 64, 64]


def vectors(total: int, phases: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as a rising list of `phases` numbers of at least `least`."""
    if phases == 1:
        yield (total,)
        return
    for first in range(least, total // phases + 1):
        yield from ((first, *rest) for rest in vectors(total - first, phases - 1, first))


def slow_least_sum(task: Task, phases: int) -> int:
    """Every vector of L, tried."""
    count, most = task._counts, task.channels * task.topology.nodes
    total = max(count.port, -(-count.hops // count.width), phases)
    while all(
        sum(min(most, level * (count.width + count.ends)) for level in levels) < count.channels
        for levels in vectors(total, phases)
    ):
        total += 1
    return total


@pytest.mark.parametrize(("on", "channels"), [("torus:3x3", 4), ("ring:6", 3), ("mesh:2x3", 4)])
def test_least_sum_agrees_with_all_vectors_tried(on: str, channels: int) -> None:
    task = Task(problem("alltoall", on, channels=channels))
    for phases in range(task.least_phases, task.least_phases + 3):
        assert task.least_sum(phases) == slow_least_sum(task, phases)


def test_first_success_finds_the_first_of_targets_that_get_easier() -> None:
    for first in range(40):
        tried: list[int] = []

        def attempt(
            target: tuple[int, int | None], first: int = first, tried: list[int] = tried
        ) -> Any:
            tried.append(target[0])
            return np.array([target[0]]) if target[0] >= first else None

        found = first_success([(k, None) for k in range(40)], attempt)
        assert found is not None
        assert found[0] == first
        assert len(tried) <= 14
    assert first_success([(0, None)], lambda target: None) is None


def test_the_sequential_router_sends_no_more_than_fits_and_is_cheap_where_others_are() -> None:
    """Four connections between two nodes of a square.

    Two ways round, so 2 channels a node are enough for 2 phases.
    """
    pattern = Pattern.from_messages([0, 1, 2, 3], [4, 5, 6, 7], [1] * 4, 8)
    placement = np.array([0] * 4 + [3] * 4, np.int32)
    schedule = compiled(pattern, "torus:2x2", router="sequential", channels=2, placement=placement)
    assert schedule.phases == 2
    ways = Counter(tuple(route) for route in routes_of(schedule))
    assert ways == {(0, 1, 3): 2, (0, 2, 3): 2}


def test_equal_minimum_bandwidths_become_limits_on_users() -> None:
    given = problem("alltoall", "iwarp:4x4", min_bandwidth=np.full(240, 20e6))
    schedule = as_schedule(given, schedule_connections(given))
    assert verify(schedule).ok
    assert guarantees(schedule).bandwidth_Bps.min() >= 20e6  # two share 40 MB/s
    loads = verify(schedule).figures["load"]
    assert max(loads["send"], loads["receive"], loads["link"]) <= 2


def test_minimum_bandwidths_that_differ_are_kept_one_by_one() -> None:
    demand = np.zeros(240)
    demand[[3, 77, 130]] = 40e6, 20e6, 13e6
    given = problem("alltoall", "iwarp:4x4", min_bandwidth=demand)
    schedule = as_schedule(given, schedule_connections(given))
    assert verify(schedule).ok
    share = guarantees(schedule).bandwidth_Bps
    assert (share >= demand[schedule.message] * (1 - 1e-9)).all()
    assert schedule.phases < 15  # the others still share
    with pytest.raises(InputError, match="sequential keeps any"):
        schedule_connections(
            problem("alltoall", "iwarp:4x4", min_bandwidth=demand, router="orbits")
        )


def test_a_bandwidth_nobody_can_have_is_refused_with_the_connection_named() -> None:
    demand = np.zeros(240)
    demand[31] = 41e6
    with pytest.raises(
        NoScheduleError, match=r"message 31 \(rank 2 → 1\).*41 MB/s.*at most 40 MB/s"
    ):
        schedule_connections(problem("alltoall", "iwarp:4x4", min_bandwidth=demand))
    with pytest.raises(NoScheduleError, match="message 0 "):
        schedule_connections(
            problem("alltoall", "iwarp:4x4", min_bandwidth=np.full(240, 80e6), router="sequential")
        )


def test_limits_that_allow_nothing_better_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int | None]] = []

    def watched(router: Router) -> Router:
        def route(task: Task) -> Routed:
            asked.append((router.name, task.problem.limits.send))
            return router.route(task)

        return replace(router, route=route)

    own = [watched(router) for router in ROUTERS if router.name in ("closed-form", "orbits")]
    monkeypatch.setattr("conset.methods.phases.connections.ROUTERS", own)
    machine = parse_machine("iwarp:8x8")
    exchange = parse_pattern("alltoall", topology=machine.topology)
    schedule = compile_pattern(exchange, machine, CompileOptions("connections", max_latency="3us"))
    assert schedule.phases == 64
    assert verify(schedule).ok
    # limits that keep 3 us allow one message a node and phase: as the closed form has it, in the
    # fewest phases
    assert asked == [("closed-form", None), ("closed-form", 1), ("orbits", None)]


@pytest.mark.parametrize(
    "slow", ["link=1B/s", "link=1B/s,port_out=1GB/s,port_in=1GB/s", "port_out=1B/s"]
)
@pytest.mark.parametrize("on", ["mesh:3x3", "torus:4x4"])
def test_rates_that_differ_by_nine_orders_of_magnitude(on: str, slow: str) -> None:
    machine = parse_machine(f"{on},{slow}")
    exchange = parse_pattern("alltoall", topology=machine.topology)
    assert verify(compile_pattern(exchange, machine, CompileOptions("connections"))).ok


def test_the_hypercube_takes_two_phases_of_eight_channels() -> None:
    """Of the 12 that a cell has, in a Gray code's order (the ConSet text, Section 5.1.2)."""
    machine = parse_machine("iwarp:8x8")
    pattern = parse_pattern("butterfly:size=1KiB", topology=machine.topology, ranks=64)
    loads = {}
    for objective in ("time", "phases"):
        options = CompileOptions("connections", objective=objective, placement="gray")
        made = compile_pattern(pattern, machine, options)
        assert verify(made).ok
        loads[objective] = phase_loads(made)
    assert loads["phases"].channels.tolist() == [8, 8]
    assert loads["phases"].total == loads["time"].total == 6


@pytest.mark.parametrize(
    ("pattern", "on", "before", "after"),
    [("alltoall", "iwarp:4x4", 32, 30), ("random:degree=8,seed=1", "iwarp:8x8", 23, 21)],
)
def test_rounds_after_success_make_routes_better(
    pattern: str, on: str, before: int, after: int
) -> None:
    """Step 4 of APR: the same phases, less ΣL; the numbers are snapshots of seed 0."""
    sums = []
    for router in ("sequential:0", "APR"):
        made = compiled(pattern, on, router=router, objective="phases")
        sums.append((made.phases, phase_loads(made).total))
    assert sums[0][0] == sums[1][0]
    assert [total for _, total in sums] == [before, after]


def test_rounds_of_the_router_are_an_option() -> None:
    """APR:K is sequential with K rounds; other routers and words that are no number are refused."""
    ten, default = (compiled("alltoall", "iwarp:4x4", router=name) for name in ("apr:10", "APR"))
    assert np.array_equal(ten.message, default.message)
    with pytest.raises(UsageError, match="K of APR:K must be a whole number"):
        find_router("APR:x")
    with pytest.raises(UsageError, match="unknown router 'negotiated:3'"):
        find_router("negotiated:3")


def test_a_score_is_what_the_prediction_says() -> None:
    # latencies keep nothing busy: the search does not count them
    given = problem("alltoall", "iwarp:4x4,hop=0,per_transfer=0")
    task = Task(given)
    phases = schedule_connections(given)
    predicted = predict(schedule_of(task, phases), sync="barrier").time_s
    assert score(task, phases)[0] == pytest.approx(predicted, rel=1e-12)


def test_unequal_sizes_are_balanced_and_split() -> None:
    """Never longer than the best router alone, and what is split adds up.

    The verifier counts every byte.
    """
    rng = np.random.default_rng(3)
    source, target = np.divmod(np.arange(256), 16)
    pattern = Pattern.from_messages(source, target, rng.integers(1, 20_000, 256), 16)
    given = problem(pattern, "iwarp:4x4", channels=6)
    task, best = Task(given), schedule_connections(given)
    schedule = replace(as_schedule(given, Phases(best.offsets, best.message)), **_arrays(best))
    assert verify(schedule).ok
    for router in ("sequential", "negotiated"):
        alone = schedule_connections(replace(given, search=replace(given.search, router=router)))
        assert score(task, best)[0] <= score(task, alone)[0] * (1 + 1e-9)


def _arrays(phases: Phases) -> dict[str, Any]:
    names = ("parts", "route_offsets", "route_nodes", "channels")
    return {name: getattr(phases, name) for name in names}
