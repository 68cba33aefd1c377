"""Negotiated assignment under all limits and both kinds of routes.

Its caps, its refusals, its promises.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import conset
from conset import _core
from conset.base.errors import InputError, UsageError
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.negotiated import LINKS, Assignment, fewest_slots, items_of, negotiate
from conset.methods.phases.pairwise_exchange import schedule_lp
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify

ANY = Limits(send=1, receive=1, link=1)


def sparse(
    ranks: int, messages: int, seed: int = 1, before: list[tuple[int, int]] | None = None
) -> Pattern:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, ranks, messages)
    target = (source + rng.integers(1, ranks, messages)) % ranks
    return Pattern.from_messages(source, target, np.full(messages, 8), ranks, before=before)


def switched() -> Machine:
    """Eight endpoints on two switches (8 and 9) that two more (10, 11) join.

    Two ways, one of them twice as wide.
    """
    up = [(v, 8 + v // 4) for v in range(8)] + [(8, 10), (9, 10), (8, 11), (9, 11)]
    links = sorted([*up, *((b, a) for a, b in up)])
    source, target = np.array(links, np.int32).T
    width = np.where((source == 11) | (target == 11), 2, 1).astype(np.int32)
    topology = Topology(
        "graph", (), 8, 12, np.ascontiguousarray(source), np.ascontiguousarray(target), width
    )
    return Machine("switched", topology, Routing.default(topology))


MACHINES = {
    spec: parse_machine(spec)
    for spec in ("mesh:4x3", "torus:4x4", "hypercube:4", "ring:9", "crossbar:11")
} | {"graph": switched()}


def checked(problem: Problem, method: str = "negotiated", phases: Phases | None = None) -> Schedule:
    phases = phases or find_method(method).schedule(problem)
    result = Schedule(
        problem.pattern,
        problem.machine,
        method,
        problem.limits,
        phases.offsets,
        phases.message,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        limits_asked=True,
    )
    verification = verify(result)
    assert verification.ok, verification.violations[:3]
    return result


LIMITS = [
    Limits(),
    ANY,
    Limits(send=2, receive=3),
    Limits(send=1, receive=1, link=2),
    Limits(link=3),
    Limits(channels=2),
    Limits(send=2, channels=5, link=4),
]


@pytest.mark.parametrize("routes", ["fixed", "free"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("machine", MACHINES)
def test_negotiated_keeps_any_limits_and_never_takes_more_phases_than_first_fit(
    machine: str, limits: Limits, routes: str
) -> None:
    on = MACHINES[machine]
    for count in (1, 60):
        problem = Problem(
            sparse(on.topology.endpoints, count),
            on,
            limits,
            search=SearchOptions(effort=1, routes=routes),
        )  # type: ignore[arg-type]
        result = checked(problem)
        assert result.phases <= checked(problem, "first-fit").phases
        assert (result.route_offsets is not None) == (
            routes == "free" and on.topology.link_slots > 0
        )


@pytest.mark.parametrize(
    "limits", [replace(ANY, duplex="exchange"), Limits(1, 1, None, 3, "exchange")], ids=str
)
@pytest.mark.parametrize("machine", MACHINES)
def test_pairs_keep_the_duplex_rule(machine: str, limits: Limits) -> None:
    on = MACHINES[machine]
    problem = Problem(sparse(on.topology.endpoints, 80), on, limits)
    for method in ("negotiated", "half-duplex"):
        assert checked(problem, method).phases <= checked(problem, "first-fit").phases


def test_half_duplex_never_takes_more_phases_than_lp_and_has_a_pair_in_a_phase() -> None:
    on = MACHINES["hypercube:4"]
    limits = find_method("half-duplex").limits(on.topology)
    dense = Problem(
        Pattern.from_messages(*np.divmod(np.arange(256), 16), np.ones(256, int), 16), on, limits
    )
    assert checked(dense, "half-duplex").phases == 15 == schedule_lp(dense).offsets.size - 1
    pair = Pattern.from_messages([3, 9, 16], [9, 3, 3], [1, 1, 1], 17)
    assert (
        checked(
            Problem(pair, on, limits, np.array([*range(16), 9], np.int32)), "half-duplex"
        ).phases
        == 2
    )


@pytest.mark.parametrize("routes", ["fixed", "free"])
def test_several_ranks_share_a_node(routes: str) -> None:
    placement = np.arange(24, dtype=np.int32) // 2
    on = MACHINES["mesh:4x3"]
    checked(Problem(sparse(24, 150), on, ANY, placement, search=SearchOptions(routes=routes)))  # type: ignore[arg-type]
    checked(Problem(sparse(24, 150), on, replace(ANY, duplex="exchange"), placement), "half-duplex")


@pytest.mark.parametrize("routes", ["fixed", "free"])
@pytest.mark.parametrize("method", ["negotiated", "half-duplex"])
def test_an_order_is_kept_and_its_longest_chain_met(method: str, routes: str) -> None:
    """Tasks of a ring: two chains of 9 messages beside 40 that wait for nothing."""
    if (method, routes) == ("half-duplex", "free"):
        pytest.skip("exchanges go over fixed routes")
    on = MACHINES["ring:9"]
    source = [*(k % 9 for k in range(18)), *np.random.default_rng(0).integers(0, 9, 40)]
    target = [*((k + 1) % 9 for k in range(18)), *((np.array(source[18:]) + 4) % 9)]
    before = [(k, k + 1) for k in range(17) if k != 8]
    pattern = Pattern.from_messages(source, target, np.ones(58, int), 9, before=before)
    problem = Problem(
        pattern, on, find_method(method).limits(on.topology), search=SearchOptions(routes=routes)
    )  # type: ignore[arg-type]
    result = checked(problem, method)
    assert 9 <= result.phases <= checked(problem, "first-fit").phases


def test_free_routes_go_round_what_is_full() -> None:
    """Across a 2 × 2 mesh, three ranks on a node.

    One way is the machine's, two are there, a third waits.
    """
    for count, fixed, free in ((2, 2, 1), (3, 3, 2)):
        pattern = Pattern.from_messages([0] * count, range(1, count + 1), [1] * count, 4)
        problem = Problem(
            pattern, parse_machine("mesh:2x2"), Limits(link=1), np.array([0, 3, 3, 3], np.int32)
        )
        assert checked(problem).phases == fixed
        assert (
            checked(replace(problem, search=replace(problem.search, routes="free"))).phases == free
        )


def test_a_slot_may_hold_less_than_another() -> None:
    pattern = Pattern.from_messages([0] * 5, range(1, 6), [1] * 5, 6)
    problem = Problem(
        pattern, parse_machine("mesh:1x2"), Limits(), np.array([0, 1, 1, 1, 1, 1], np.int32)
    )
    items = items_of(problem, routes="free")
    found = negotiate(items, 3, send=[1, 3, 1], link=3)
    assert found.complete
    assert np.bincount(found.slot).tolist() == [1, 3, 1]
    assert found.routes[0].tolist() == [0, 2, 4, 6, 8, 10]
    short = negotiate(items, 3, send=[1, 2, 1], link=3)
    assert (short.complete, short.excess) == (False, 1)
    with pytest.raises(InputError, match="2 values for 3 slots"):
        negotiate(items, 3, send=[1, 2])
    with pytest.raises(InputError, match="fixed routes has none"):
        _ = negotiate(items_of(problem), 3).routes


def test_the_seed_decides_and_caps_end_a_try() -> None:
    on = parse_machine("hypercube:5")
    items = items_of(Problem(sparse(32, 300), on, ANY), routes="free")
    one, again, other = (negotiate(items, 20, send=1, receive=1, link=1, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.slot, again.slot)
    assert np.array_equal(one.routes[1], again.routes[1])
    assert not np.array_equal(one.slot, other.slot)
    short = negotiate(items, 13, send=1, receive=1, link=1, pressure=replace(LINKS, sweeps=1))
    assert (short.sweeps, short.complete) == (1, False)
    cut = negotiate(items, 13, send=1, receive=1, link=1, pressure=replace(LINKS, work=100))
    assert cut.sweeps == 1
    assert 0 < cut.work < 10_000


def test_tries_go_up_one_by_one_or_in_doubling_steps() -> None:
    def tries(needed: int, sweeps: int) -> tuple[list[int], int | None]:
        seen: list[int] = []

        def attempt(slots: int) -> Assignment:
            seen.append(slots)
            return Assignment(np.zeros(0, np.int32), int(slots < needed), sweeps, slots)

        best = fewest_slots(10, 40, attempt, 100)
        return seen, None if best is None else best.work

    assert tries(13, 100) == ([10, 11, 12, 13], 13)
    assert tries(10, 7) == ([10], 10)
    seen, best = tries(21, 7)
    assert seen[:4] == [10, 12, 16, 24]
    assert best == 21
    assert tries(99, 7)[1] is None


def test_a_wish_to_stop_gives_the_fallback() -> None:
    on = MACHINES["torus:4x4"]
    problem = Problem(sparse(16, 200), on, ANY, search=SearchOptions(routes="free"))
    _core.ask_stop()
    try:
        phases = find_method("negotiated").schedule(problem)
    finally:
        _core.reset_search()
    assert phases.stopped_early
    checked(problem, phases=phases)
    assert not find_method("negotiated").schedule(problem).stopped_early


def test_what_cannot_be_kept_is_refused() -> None:
    on = MACHINES["torus:4x4"]
    pattern = sparse(16, 20)
    for limits, routes in (
        (Limits(2, 1, None, None, "exchange"), "fixed"),
        (replace(ANY, duplex="exchange"), "free"),
    ):
        with pytest.raises(InputError, match="requires send=1, receive=1 and the machine's routes"):
            find_method("negotiated").schedule(
                Problem(pattern, on, limits, search=SearchOptions(routes=routes))
            )  # type: ignore[arg-type]
    with pytest.raises(
        UsageError, match="routes free: is for methods negotiated and connections, given first-fit"
    ):
        compile_pattern(pattern, on, CompileOptions(method="first-fit", routes="free"))
    with pytest.raises(UsageError, match="unknown routes 'freee': did you mean 'free'"):
        compile_pattern(pattern, on, CompileOptions(routes="freee"))
    assert compile_pattern(pattern, on, CompileOptions(routes="free")).method == "negotiated"


@pytest.mark.parametrize("method", ["negotiated", "connections"])
@pytest.mark.parametrize("network", ["torus:4x3", "ring:6"])
def test_free_routes_never_close_a_cycle_where_the_machine_never_wraps(
    method: str, network: str
) -> None:
    schedule = conset.compile(
        "random:degree=3,size=log-uniform(64,64KiB)",
        f"{network},routing=no-wrap",
        method=method,
        routes="free",
    )
    assert verify(schedule).ok
    assert conset.predict(schedule).time_s > 0
