"""What every method keeps, on several networks and patterns, as the independent verifier says.

A problem that a method refuses (`applies` of its row, or an `InputError` that it raises on purpose)
is left out, and every method applies somewhere.
"""

from __future__ import annotations

import numpy as np
import pytest

from conset.base import ConsetError, InputError, Ints32
from conset.machine import Machine, Routing, Topology, parse_machine
from conset.methods import (
    FaultyMethodError,
    Phases,
    Problem,
    SearchOptions,
    find_method,
    load_method,
    table,
)
from conset.pattern import Pattern
from conset.schedule import Schedule
from conset.verification import verify


def alltoall(ranks: int) -> Pattern:
    """A message from everybody to everybody, to itself too."""
    source, target = np.divmod(np.arange(ranks**2), ranks)
    return Pattern.from_messages(source, target, np.full(ranks**2, 8), ranks)


def sparse(ranks: int, messages: int, seed: int = 1, largest: int = 900) -> Pattern:
    """Random messages of random sizes."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, ranks, (2, messages))
    return Pattern.from_messages(source, target, rng.integers(1, largest, messages), ranks)


def gather(ranks: int) -> Pattern:
    """A message from everybody to rank 0."""
    return Pattern.from_messages(np.arange(ranks), np.zeros(ranks, int), np.ones(ranks, int), ranks)


def chain() -> Pattern:
    """20 messages around 9 ranks, each after the one before."""
    source = np.arange(20) % 9
    before = [(k, k + 1) for k in range(19)]
    return Pattern.from_messages(source, (source + 1) % 9, np.ones(20, int), 9, before=before)


def pairs() -> Pattern:
    """Three messages from rank to rank, some to the sender itself."""
    offsets = np.minimum(np.arange(17) * 3, 9).astype(np.int64)
    target = np.array([1, 1, 5, 0, 0, 0, 3, 3, 9], np.int32)
    return Pattern(16, offsets, target, np.full(9, 8, np.int64))


def switched() -> Machine:
    """Six endpoints on two switches (6 and 7), joined by a link of width 2."""
    up = [(v, 6 + v // 3) for v in range(6)]
    links = sorted([*up, *((b, a) for a, b in up), (6, 7), (7, 6)])
    source, target = np.array(links, np.int32).T
    width = np.where(np.minimum(source, target) == 6, 2, 1).astype(np.int32)
    topology = Topology(
        "graph", (), 6, 8, np.ascontiguousarray(source), np.ascontiguousarray(target), width
    )
    return Machine("switched", topology, Routing.default(topology))


MACHINES = {
    spec: parse_machine(spec)
    for spec in (
        "mesh:4x3",
        "mesh:1x7",
        "torus:3x4x2",
        "ring:9",
        "hypercube:4",
        "crossbar:11",
        "torus:4x4,routing=no-wrap",
    )
} | {"graph": switched()}
PATTERNS = {"alltoall": alltoall, "sparse": lambda n: sparse(n, 5 * n), "gather": gather}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs with each `--method`, or with all of the table."""
    if "method" not in metafunc.fixturenames:
        return
    given = metafunc.config.getoption("--method", [])
    try:
        names = [load_method(each).name for each in given]
    except ConsetError as error:
        raise pytest.UsageError(str(error)) from None
    usual = [name for name, row in table().items() if not row.circuits]
    metafunc.parametrize("method", names or usual)


def problem_on(
    machine: Machine,
    pattern: Pattern,
    method: str,
    placement: Ints32 | None = None,
    seed: int = 0,
) -> Problem:
    """A problem under the limits of a method."""
    limits = find_method(method).limits_for(machine.topology, None)
    return Problem(pattern, machine, limits, placement, SearchOptions(seed=seed))


def schedule_of(problem: Problem, method: str, phases: Phases) -> Schedule:
    """The schedule of phases that a method made of a problem."""
    return Schedule(
        problem.pattern,
        problem.machine,
        method,
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        route_links=phases.route_links,
        timetable=phases.timetable,
        limits_asked=True,
    )


def checked(problem: Problem, method: str) -> Schedule:
    """What a method makes of a problem, verified."""
    result = schedule_of(problem, method, find_method(method).schedule(problem))
    verification = verify(result)
    assert verification.ok, verification.violations[:3]
    assert np.all(np.diff(result.phase_offsets) > 0), "an empty phase"
    return result


def refusal_of(problem: Problem, method: str) -> str | None:
    """Why a method does not apply; what its row says it says itself."""
    row = find_method(method)
    refusal = row.applies(problem)
    try:
        row.schedule(problem)
    except FaultyMethodError:
        raise
    except InputError as error:
        if refusal not in (None, str(error)):
            pytest.fail(f"applies() says: {refusal}; the method says: {error}")
        return str(error)
    assert refusal is None, "applies() refuses what the method takes"
    return None


def solved(problem: Problem, method: str) -> Schedule:
    """What a method makes of a problem, verified; skips the test where it does not apply."""
    if (refusal := find_method(method).applies(problem)) is None:
        try:
            return checked(problem, method)
        except FaultyMethodError:
            raise
        except InputError as error:
            refusal = str(error)
    else:
        assert refusal_of(problem, method) == refusal
    pytest.skip(refusal)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_message_is_there_once_within_the_limits(
    method: str, machine: str, pattern: str
) -> None:
    on = MACHINES[machine]
    solved(problem_on(on, PATTERNS[pattern](on.topology.endpoints), method), method)


def test_it_applies_somewhere(method: str) -> None:
    problems = (
        problem_on(machine, make(machine.topology.endpoints), method)
        for make in PATTERNS.values()
        for machine in MACHINES.values()
    )
    assert any(refusal_of(problem, method) is None for problem in problems)


@pytest.mark.parametrize(("end", "phases"), [(3, 0), (12, 1)])
def test_an_empty_pattern_has_no_phase_and_one_message_one(
    method: str, end: int, phases: int
) -> None:
    pattern = Pattern.from_messages([3], [end], [9], 16)
    found = solved(problem_on(MACHINES["hypercube:4"], pattern, method), method)
    assert found.phases == phases


def test_the_same_seed_gives_the_same_phases_whatever_the_order_of_the_input(method: str) -> None:
    pattern = sparse(16, 100)
    shuffled = np.random.default_rng(5).permutation(pattern.messages)
    again = Pattern.from_messages(
        pattern.source[shuffled], pattern.target[shuffled], pattern.size[shuffled], 16
    )
    one, other = (
        solved(problem_on(MACHINES["hypercube:4"], p, method, seed=7), method)
        for p in (pattern, again)
    )
    assert np.array_equal(one.phase_offsets, other.phase_offsets)
    assert np.array_equal(one.message, other.message)


def test_several_ranks_share_the_ports_of_their_node(method: str) -> None:
    placement = np.arange(24, dtype=np.int32) % 12
    solved(problem_on(MACHINES["mesh:4x3"], alltoall(24), method, placement), method)


@pytest.mark.parametrize("machine", ["mesh:4x4", "hypercube:4", "crossbar:16"])
def test_several_messages_of_a_pair_stand_in_phases_of_their_own_or_are_refused(
    method: str, machine: str
) -> None:
    solved(problem_on(parse_machine(machine), pairs(), method), method)


def test_an_order_is_kept_or_refused(method: str) -> None:
    problem = problem_on(MACHINES["ring:9"], chain(), method)
    if find_method(method).ordered:
        checked(problem, method)
    else:
        assert refusal_of(problem, method) is not None
