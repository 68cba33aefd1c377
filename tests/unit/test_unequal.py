"""Unequal sizes: annealed phases, split messages, and what each promises.

Every schedule goes through the verifier.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.methods.phases.birkhoff import schedule_birkhoff
from conset.methods.phases.first_fit import lengths, opening_s, schedule_decreasing, total_length
from conset.methods.phases.problem import ANY, PORTS, Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify


def checked(problem: Problem, phases: Phases, method: str) -> Schedule:
    schedule = Schedule(
        problem.pattern,
        problem.machine,
        method,
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=problem.placement,
        timetable=phases.timetable,
        limits_asked=True,
    )
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    return schedule


def length(problem: Problem, phases: Phases) -> float:
    phase = np.empty(problem.pattern.messages, np.int32)
    phase[phases.message] = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
    return total_length(phase, lengths(problem), opening_s(problem))


def port_bound(problem: Problem) -> int:
    leaves = problem.source_node != problem.target_node
    size = problem.pattern.size[leaves]
    ends = (problem.source_node[leaves], problem.target_node[leaves])
    return int(max(np.bincount(end, size, minlength=1).max() for end in ends))


@st.composite
def patterns(draw: st.DrawFn, ranks: int = 8, largest: int = 50) -> Pattern:
    count = draw(st.integers(0, 30))
    rank, size = st.integers(0, ranks - 1), st.integers(1, largest)
    rows = draw(st.lists(st.tuples(rank, rank, size), min_size=count, max_size=count))
    return Pattern.from_messages(*np.array(rows, int).reshape(-1, 3).T, ranks)


def test_decreasing_puts_like_lengths_together() -> None:
    """Two senders with a long and a short message each: long with long, 1000 + 10 bytes.

    Mixed it is 2 · 1000.
    """
    pattern = Pattern.from_messages([0, 0, 1, 1], [2, 3, 2, 3], [1000, 10, 10, 1000], 4)
    problem = Problem(pattern, parse_machine("crossbar:4"), PORTS)
    result = checked(problem, schedule_decreasing(problem), "decreasing")
    assert sorted(
        result.pattern.size[result.message[result.phase(p)]].tolist() for p in (0, 1)
    ) == [
        [10, 10],
        [1000, 1000],
    ]


def test_decreasing_anneals_where_first_fit_by_length_errs() -> None:
    """Without costs of phases first fit by length, written down again here, leaves some 15 %."""
    pattern = parse_pattern("random:degree=4,size=uniform(1,1000),seed=3", ranks=16)
    problem = Problem(
        pattern, parse_machine("crossbar:16,synchronization=0,overhead=0,inject=0,eject=0"), PORTS
    )
    by_length = Phases.of(_first_fit(problem, np.argsort(-lengths(problem), kind="stable")))
    annealed = schedule_decreasing(problem)
    checked(problem, annealed, "decreasing")
    assert length(problem, annealed) < 0.95 * length(problem, by_length)


def _first_fit(problem: Problem, order: np.ndarray) -> np.ndarray:
    """First fit under send 1, receive 1 by the book."""
    phase = np.full(order.size, -1, np.int32)
    taken: set[tuple[str, int, int]] = set()
    for m in order.tolist():
        s, t, p = int(problem.source_node[m]), int(problem.target_node[m]), 0
        while ("send", s, p) in taken or ("receive", t, p) in taken:
            p += 1
        taken |= {("send", s, p), ("receive", t, p)}
        phase[m] = p
    return phase


@pytest.mark.parametrize(
    "limits",
    [
        ANY,
        PORTS,
        Limits(send=2, receive=3, link=2),
        Limits(channels=4),
        Limits(link=1),
        Limits(send=1, receive=1, duplex="exchange"),
        Limits(),
    ],
    ids=str,
)
@pytest.mark.parametrize("machine", ["mesh:4x3", "hypercube:4", "torus:4x4,width=2"])
def test_decreasing_keeps_any_limits_and_is_never_longer_than_first_fit(
    limits: Limits, machine: str
) -> None:
    on = parse_machine(machine)
    pattern = parse_pattern("random:degree=6,size=lognormal(3000,1)", ranks=on.topology.endpoints)
    problem = Problem(pattern, on, limits)
    found = schedule_decreasing(problem)
    checked(problem, found, "decreasing")
    first_fit = find_method("first-fit").schedule(problem)
    assert length(problem, found) <= length(problem, first_fit) * (1 + 1e-12)


def test_decreasing_keeps_an_order_through_the_annealing() -> None:
    random = np.random.default_rng(2)
    source = np.repeat(np.arange(12), 6)
    target = (source + np.tile(np.arange(1, 7), 12)) % 12
    before = [(6 * s + a, 6 * s + b) for s in range(12) for a, b in ((0, 1), (1, 2), (4, 5))]
    pattern = Pattern.from_messages(source, target, random.integers(1, 1000, 72), 12, before=before)
    problem = Problem(pattern, parse_machine("mesh:4x3"), ANY)
    checked(problem, schedule_decreasing(problem), "decreasing")


def test_more_effort_is_the_same_search_longer_and_seeds_repeat() -> None:
    on = parse_machine("hypercube:4")
    problem = Problem(
        parse_pattern("random:degree=8,size=uniform(1,1000)", ranks=16),
        on,
        ANY,
        search=SearchOptions(seed=4),
    )
    one, again = schedule_decreasing(problem), schedule_decreasing(problem)
    assert np.array_equal(one.message, again.message)
    assert np.array_equal(one.offsets, again.offsets)
    longer = schedule_decreasing(replace(problem, search=replace(problem.search, effort=2)))
    assert length(problem, longer) <= length(problem, one) * 1.005


def test_birkhoff_by_hand() -> None:
    """0 → 1: 3, 0 → 2: 1, 3 → 1: 1: port 0 and port 1 bound the time to 4 bytes.

    3 → 1 goes beside 0 → 2.
    """
    pattern = Pattern.from_messages([0, 0, 3], [1, 2, 1], [3, 1, 1], 4)
    problem = Problem(pattern, parse_machine("crossbar:4"), PORTS)
    result = checked(problem, schedule_birkhoff(problem), "birkhoff")
    phases = sorted(
        sorted(zip(result.message[s].tolist(), result.size[s].tolist(), strict=True))
        for s in map(result.phase, range(2))
    )
    assert phases == [[(0, 3)], [(1, 1), (2, 1)]]


def test_birkhoff_splits_what_cannot_go_whole() -> None:
    """A ring of 2 bytes one way and 1 the other goes whole.

    Three messages of 2 into ports with 4 are cut.
    """
    ring = Pattern.from_messages([0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1], [2, 2, 2, 1, 1, 1], 3)
    problem = Problem(ring, parse_machine("crossbar:3"), PORTS)
    assert checked(problem, schedule_birkhoff(problem), "birkhoff").phases == 2
    cut = Pattern.from_messages([0, 0, 1, 1, 2, 2], [1, 2, 2, 3, 1, 3], [2, 2, 2, 2, 2, 2], 4)
    problem = Problem(cut, parse_machine("crossbar:4"), PORTS)
    result = checked(problem, schedule_birkhoff(problem), "birkhoff")
    assert largest_parts(result) == port_bound(problem) == 4


def largest_parts(schedule: Schedule) -> int:
    return sum(int(schedule.size[schedule.phase(p)].max()) for p in range(schedule.phases))


@settings(max_examples=80, deadline=None)
@given(pattern=patterns())
def test_birkhoff_takes_exactly_the_port_bound(pattern: Pattern) -> None:
    problem = Problem(pattern, parse_machine("crossbar:8"), PORTS)
    result = checked(problem, schedule_birkhoff(problem), "birkhoff")
    if pattern.messages:
        assert largest_parts(result) == port_bound(problem)
        assert result.phases <= pattern.messages + 16


def test_birkhoff_shares_ports_between_ranks_of_a_node_and_keeps_inner_messages_whole() -> None:
    placement = np.array([0, 0, 1, 1, 2, 2], np.int32)
    source, target = np.divmod(np.arange(36), 6)
    pattern = Pattern.from_messages(source, target, 1 + np.arange(36) % 7, 6)
    problem = Problem(pattern, parse_machine("crossbar:3"), PORTS, placement)
    result = checked(problem, schedule_birkhoff(problem), "birkhoff")
    inner = problem.source_node[result.message] == problem.target_node[result.message]
    assert np.all(result.phase_of[inner] == 0)
    assert inner.sum() == 6
    leaving = sum(
        int(result.size[s][~inner[s]].max()) for s in map(result.phase, range(result.phases))
    )
    assert leaving == port_bound(problem)
    alone = Pattern.from_messages([0, 2], [1, 3], [5, 6], 6)
    only_inner = Problem(alone, parse_machine("crossbar:3"), PORTS, placement)
    assert checked(only_inner, schedule_birkhoff(only_inner), "birkhoff").phases == 1


def test_birkhoff_states_what_it_requires() -> None:
    mesh = parse_machine("mesh:2x2")
    pattern = Pattern.from_messages([0, 1], [1, 2], [1, 1], 4, before=[(0, 1)])
    with pytest.raises(InputError, match="birkhoff requires a pattern without an order"):
        find_method("birkhoff").schedule(Problem(pattern, mesh, PORTS))
    with pytest.raises(InputError, match="birkhoff requires link without a limit, given link=1"):
        find_method("birkhoff").schedule(Problem(replace(pattern, before=None), mesh, ANY))


def test_birkhoff_compiles_verifies_and_bounds() -> None:
    from conset.compilation.summary import summarize

    pattern = parse_pattern("random:degree=5,size=lognormal(100KiB,1)", ranks=16)
    on = parse_machine("crossbar:16,synchronization=0,overhead=0,inject=0,eject=0")
    summary = summarize(compile_pattern(pattern, on, CompileOptions(method="birkhoff")))
    assert summary["verified"]
    assert summary["gap"]["time"] == pytest.approx(1.0, abs=1e-9)
