"""Timetables: the event list and AS against slow versions of themselves, and predictions that
keep them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from conset.base.errors import UsageError
from conset.bounds import bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.costs import Limits
from conset.machine.network.routes import route_links
from conset.machine.spec import parse_machine, with_settings
from conset.methods.phases.core import time_lines
from conset.methods.phases.event_list import (
    add_timetable,
    schedule_event_list,
    time_as,
    time_event_list,
)
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.policy import order_of_transfers
from conset.schedule.schedule import Schedule
from conset.verification import verify

MACHINES = {
    spec: parse_machine(spec)
    for spec in (
        "crossbar:8",
        "mesh:3x3",
        "hypercube:3",
        "torus:4x2,width=2",
        "ipsc860:8",
        "ring:8,port=1GB/s",
    )
}


def one_phase(pattern: Pattern) -> Phases:
    return Phases(
        np.array([0, pattern.messages], np.int64), np.arange(pattern.messages, dtype=np.int32)
    )


def made(problem: Problem, phases: Phases, **more: Any) -> Schedule:
    return Schedule(
        problem.pattern,
        problem.machine,
        "event-list",
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        timetable=phases.timetable,
        limits_asked=True,
        **more,
    )


def checked(problem: Problem, phases: Phases, **more: Any) -> Schedule:
    schedule = made(problem, phases, **more)
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    return schedule


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    on = MACHINES[draw(st.sampled_from(sorted(MACHINES)))]
    ranks = draw(st.sampled_from([on.topology.nodes, 2 * on.topology.nodes]))
    rank = st.integers(0, ranks - 1)
    rows = draw(st.lists(st.tuples(rank, rank, st.integers(1, 5000)), max_size=30))
    source, target, size = np.array(rows, int).reshape(-1, 3).T
    kept = np.flatnonzero(source != target).tolist()
    pairs = []
    if kept:
        for i, j in draw(
            st.lists(st.tuples(st.sampled_from(kept), st.sampled_from(kept)), max_size=8)
        ):
            if i < j and {source[i], target[i]} & {source[j], target[j]}:
                pairs.append((i, j))
    pattern = Pattern.from_messages(source, target, size, ranks, before=pairs or None)
    placement = (
        None
        if ranks == on.topology.nodes
        else (np.arange(ranks, dtype=np.int32) // 2).astype(np.int32)
    )
    return Problem(
        pattern, on, Limits(), placement, search=SearchOptions(seed=draw(st.integers(0, 99)))
    )


def held_lines(problem: Problem, serial: bool) -> list[list[tuple[str, int]]]:
    """What each message holds while it flows."""
    machine = problem.machine
    offsets, links = route_links(
        machine.topology, machine.routing, problem.source_node, problem.target_node
    )
    result = []
    for m in range(problem.pattern.messages):
        s, t = int(problem.source_node[m]), int(problem.target_node[m])
        ends = [("node", s), ("node", t)] if serial else [("out", s), ("in", t)]
        result.append(
            []
            if s == t
            else ends + [("link", int(link)) for link in links[offsets[m] : offsets[m + 1]]]
        )
    return result


def event_list_slowly(problem: Problem) -> NDArray[np.float64]:
    """The first run by the book.

    At every event go through everything that waits, most unfinished work first.
    """
    duration = time_lines(problem, one_phase(problem.pattern)).duration
    lines = held_lines(problem, problem.machine.costs.half_duplex)
    widths = problem.machine.topology.widths()
    users: dict[tuple[str, int], list[int]] = {}
    for m, held in enumerate(lines):
        for line in held:
            users.setdefault(line, []).append(m)
    room = {line: int(widths[line[1]]) if line[0] == "link" else 1 for line in users}
    before = [] if problem.pattern.before is None else problem.pattern.before.tolist()
    table = np.full((problem.pattern.messages, 2), -1.0)
    ended: set[int] = set()
    time = 0.0
    while len(ended) < len(lines):
        ended |= {m for m in range(len(lines)) if table[m, 0] >= 0 and table[m, 1] <= time}
        left = {
            line: sum(duration[m] for m in own if m not in ended) / room[line]
            for line, own in users.items()
        }
        # the core leaves out lines that can never be full
        contended = {line for line, own in users.items() if len(own) > room[line]}

        ready = [
            m
            for m in range(len(lines))
            if table[m, 0] < 0 and all(i in ended for i, j in before if j == m)
        ]
        most = {
            m: max([duration[m], *(left[line] for line in lines[m] if line in contended)])
            for m in ready
        }
        for _, _, m in sorted((-round(most[m], 15), -duration[m], m) for m in ready):
            flying = [k for k in range(len(lines)) if table[k, 0] >= 0 and k not in ended]
            if all(sum(line in lines[k] for k in flying) < room[line] for line in lines[m]):
                table[m] = time, time + duration[m]
                if duration[m] == 0:
                    ended.add(m)
        future = [table[m, 1] for m in range(len(lines)) if table[m, 0] >= 0 and m not in ended]
        instant = any(
            duration[m] == 0 and table[m, 0] >= 0 for m in ready
        )  # their successors start now, too
        if future and not instant:
            time = min(future)
    return table


@settings(max_examples=120, deadline=None)
@given(problem=problems())
def test_both_timetables_are_what_the_verifier_asks_for(problem: Problem) -> None:
    for name in ("as", "event-list"):
        phases = add_timetable(problem, one_phase(problem.pattern), name)
        if problem.pattern.messages:
            schedule = checked(problem, phases, sync="none")
            assert predict(schedule).time_s >= bound_schedule(schedule).time_s
            assert predict(schedule).time_s >= schedule.timetable[:, 1].max()  # type: ignore[index]


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_the_event_list_equals_its_slow_version(problem: Problem) -> None:
    if problem.pattern.messages == 0:
        return
    # sums of such sizes do not tie but on one line, where both say so
    size = np.random.default_rng(problem.search.seed).integers(
        10**6, 10**8, problem.pattern.messages
    )
    drawn = replace(problem, pattern=replace(problem.pattern, size=size))
    assert np.allclose(
        time_event_list(drawn, one_phase(drawn.pattern), restarts=0), event_list_slowly(drawn)
    )


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_no_transfer_waits_while_all_it_holds_is_free(problem: Problem) -> None:
    """A later start has a reason.

    A line full of others, or a message before it, until just then.
    """
    if problem.pattern.messages == 0:
        return
    table = time_event_list(problem, one_phase(problem.pattern))
    lines = held_lines(problem, problem.machine.costs.half_duplex)
    before = [] if problem.pattern.before is None else problem.pattern.before.tolist()
    for m in np.flatnonzero(table[:, 0] > 0).tolist():
        start = table[m, 0]
        freed = [k for k in range(len(lines)) if table[k, 1] == start and k != m]
        shares = any(set(lines[k]) & set(lines[m]) for k in freed)
        assert shares or any(i in freed for i, j in before if j == m)


def test_event_list_by_hand() -> None:
    """0 sends 2 and 3 kB, 1 sends 2 kB to the same target.

    0 is busiest and is never idle: 5 kB in all.
    """
    pattern = Pattern.from_messages([0, 0, 1], [2, 3, 2], [3000, 2000, 2000], 4)
    on = parse_machine("crossbar:4,overhead=0,inject=0,eject=0,port=1GB/s")
    result = schedule_event_list(Problem(pattern, on, Limits()))
    schedule = checked(Problem(pattern, on, Limits()), result, sync="none")
    assert schedule.timetable is not None
    assert schedule.timetable[:, 1].max() == pytest.approx(5e-6)
    assert predict(schedule).time_s == pytest.approx(5e-6)
    assert np.all(np.diff(schedule.timetable[:, 0]) >= 0), "transfers are listed by their starts"


def test_as_by_hand() -> None:
    """The text's algorithm: processor 0 (9 words) first, its longest (6) at 0, then 3 at 6.

    4 of processor 1 fits the gap of processor 3 before 6.
    """
    pattern = Pattern.from_messages([0, 0, 1], [2, 3, 3], [6000, 3000, 4000], 4)
    on = parse_machine("crossbar:4,overhead=0,inject=0,eject=0,port=1GB/s")
    problem = Problem(pattern, on, Limits())
    table = time_as(problem, one_phase(pattern)) * 1e6
    assert table.tolist() == [
        [pytest.approx(0), pytest.approx(6)],
        [pytest.approx(6), pytest.approx(9)],
        [pytest.approx(0), pytest.approx(4)],
    ]


def test_a_half_duplex_node_sends_or_receives() -> None:
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 0], [100, 100, 100], 3)
    phases = one_phase(pattern)
    full, half = (
        Problem(
            pattern,
            parse_machine(f"crossbar:3,overhead=0,inject=0,eject=0,port=1GB/s{more}"),
            Limits(),
        )
        for more in ("", ",node=1GB/s")
    )
    for timetable in (time_as, time_event_list):
        assert timetable(full, phases)[:, 1].max() == pytest.approx(1e-7)
        assert timetable(half, phases)[:, 1].max() == pytest.approx(
            3e-7
        )  # each two of three share a node
        assert timetable(full, phases, serial=True)[:, 1].max() == pytest.approx(3e-7)


def test_a_wide_link_carries_one_transfer_for_each_unit() -> None:
    """Four messages over the middle link of a line, three pairs of ports apart.

    One after the other, or two at once.
    """
    pattern = Pattern.from_messages([0, 0, 1, 1], [2, 3, 2, 3], [1000] * 4, 4)
    ends = []
    for width in (1, 2):
        on = parse_machine(
            f"mesh:1x4,overhead=0,inject=0,eject=0,port=1GB/s,link=1GB/s,width={width}"
        )
        problem = Problem(pattern, on, Limits())
        phases = add_timetable(problem, one_phase(pattern), "event-list")
        checked(problem, phases)
        assert phases.timetable is not None
        ends.append(phases.timetable[:, 1].max())
    assert ends == [pytest.approx(4e-6), pytest.approx(2e-6)]


def test_restarts_only_help_and_repeat() -> None:
    pattern = parse_pattern("random:degree=6,size=uniform(1,1000)", ranks=32)
    problem = Problem(pattern, parse_machine("hypercube:5"), Limits())
    ends = [
        time_event_list(problem, one_phase(pattern), restarts=r)[:, 1].max() for r in (0, 20, 200)
    ]
    assert ends == sorted(ends, reverse=True)
    assert ends[2] < ends[0]
    assert np.array_equal(
        schedule_event_list(problem).message, schedule_event_list(problem).message
    )


def test_phases_of_any_method_get_a_timetable() -> None:
    pattern = parse_pattern("random:degree=6,size=lognormal(3000,1)", ranks=16)
    on = parse_machine("mesh:4x4")
    for method, name in (
        ("naive", "as"),
        ("coloring", "event-list"),
        ("event-list", "as"),
        ("birkhoff", "event-list"),
    ):
        options = CompileOptions(method=method, timetable=name, sync="barrier")
        schedule = compile_pattern(pattern, on, options)
        assert schedule.timetable is not None
        assert verify(schedule).ok
        ends = np.maximum.reduceat(schedule.timetable[:, 1], schedule.phase_offsets[:-1])
        predicted = predict(schedule)
        assert predicted.time_s >= ends.sum() - 1e-15
        assert predicted.time_s >= bound_schedule(schedule).time_s
    with pytest.raises(UsageError, match="did you mean 'event-list'"):
        compile_pattern(pattern, on, CompileOptions(timetable="eventlist"))


def test_predictions_keep_a_timetable() -> None:
    """One phase on the own machine takes its latest end.

    Twice the latency times the same order anew.
    """
    pattern = parse_pattern("random:degree=6,size=uniform(1,1000)", ranks=16)
    on = parse_machine("mesh:4x4")
    schedule = compile_pattern(pattern, on, CompileOptions(method="event-list"))
    assert schedule.timetable is not None
    own = predict(schedule)
    assert own.time_s == pytest.approx(schedule.timetable[:, 1].max(), rel=1e-12)
    assert own.witness_kind == "timetable" or own.witness_kind.startswith("port")
    slower = predict(schedule, machine=with_settings(on, "inject=1us,eject=1us"))
    faster = predict(schedule, machine=with_settings(on, "overhead=0,inject=0,eject=0"))
    assert faster.time_s < own.time_s < slower.time_s < 2 * own.time_s + 1e-12
    lazy = replace(schedule, timetable=schedule.timetable + 1e-3)
    assert predict(lazy).time_s == pytest.approx(own.time_s + 1e-3)


def test_messages_that_a_timetable_keeps_apart_do_not_block_each_other() -> None:
    on = with_settings(parse_machine("ring:4"), "blocking=2,overhead=0,inject=0,eject=0")
    pattern = Pattern.from_messages([0, 0, 1, 3], [1, 2, 2, 1], [1000] * 4, 4)
    problem = Problem(pattern, on, Limits())
    timed = made(problem, schedule_event_list(problem), sync="none")
    posted = replace(timed, timetable=None)
    assert bound_schedule(timed).time_s <= predict(timed).time_s < predict(posted).time_s


def test_the_order_of_parts() -> None:
    """Message 0 in parts 0 and 3, message 2 in parts 1 and 4.

    Each of the first before each of the second.
    """
    message = np.array([0, 2, 1, 0, 2], np.int32)
    first, second = order_of_transfers(np.array([[0, 2]], np.int32), message)
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == [
        (0, 1),
        (0, 4),
        (3, 1),
        (3, 4),
    ]
    assert order_of_transfers(None, message)[0].size == 0
    none = order_of_transfers(np.array([[0, 5]], np.int32), message)
    assert none[0].size == none[1].size == 0


def test_equal_messages_take_as_many_rounds_as_the_largest_degree() -> None:
    """Going greedily takes 4.5 to 5 rounds; those of a colouring take 4, without barriers."""
    pattern = parse_pattern("random:degree=4,size=1000", ranks=64)
    on = parse_machine("crossbar:64,overhead=0,inject=0,eject=0,port=1GB/s")
    schedule = checked(
        Problem(pattern, on, Limits()), schedule_event_list(Problem(pattern, on, Limits()))
    )
    assert schedule.timetable is not None
    assert schedule.timetable[:, 1].max() == pytest.approx(4e-6)
