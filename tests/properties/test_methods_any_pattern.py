"""Methods against obvious slow versions of themselves, and properties that hold for every
pattern."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links, route_nodes
from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method, table
from conset.pattern.pattern import Pattern
from conset.testing.test_method import schedule_of
from conset.verification import verify
from support.splitmix import Splitmix

MACHINES = {
    spec: parse_machine(spec)
    for spec in ("mesh:3x3", "torus:4x2", "hypercube:3", "ring:7", "crossbar:8")
}


@st.composite
def patterns(draw: st.DrawFn, ranks: int, *, ordered: bool = False) -> Pattern:
    count = draw(st.integers(0, 40))
    rank = st.integers(0, ranks - 1)
    messages = draw(
        st.lists(st.tuples(rank, rank, st.integers(1, 4)), min_size=count, max_size=count)
    )
    source, target, size = np.array(messages, int).reshape(-1, 3).T
    kept = np.flatnonzero(source != target)
    pairs = []
    if ordered and kept.size:
        chosen = draw(
            st.lists(
                st.tuples(st.sampled_from(kept.tolist()), st.sampled_from(kept.tolist())),
                max_size=12,
            )
        )
        for i, j in ((min(pair), max(pair)) for pair in chosen):  # rising pairs cannot be cyclic
            if i != j and {source[i], target[i]} & {source[j], target[j]}:
                pairs.append((i, j))
    return Pattern.from_messages(source, target, size, ranks, before=pairs or None)


limits_of_ports = st.builds(
    Limits, send=st.none() | st.integers(1, 3), receive=st.none() | st.integers(1, 3)
)
any_limits = st.builds(
    replace,
    limits_of_ports,
    link=st.none() | st.integers(1, 3),
    channels=st.none() | st.integers(2, 6),
)


def check(problem: Problem, method: str, phases: Phases) -> None:
    verification = verify(schedule_of(problem, method, phases))
    assert verification.ok, verification.violations[:3]


def phase_of_message(phases: Phases, messages: int) -> list[int]:
    result = np.empty(messages, int)
    result[phases.message] = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
    return [int(p) for p in result]


def resources_of(problem: Problem) -> list[list[tuple[str, int]]]:
    """What each message takes, as (kind of limit, place); nothing inside a node."""
    machine, source, target = problem.machine, problem.source_node, problem.target_node
    links = route_links(machine.topology, machine.routing, source, target)
    nodes = route_nodes(machine.topology, machine.routing, source, target)
    result = []
    for m in range(problem.pattern.messages):
        if source[m] == target[m]:
            result.append([])
            continue
        taken = [("send", int(source[m])), ("receive", int(target[m]))]
        taken += [("link", int(link)) for link in links[1][links[0][m] : links[0][m + 1]]]
        taken += [("channels", int(node)) for node in nodes[1][nodes[0][m] : nodes[0][m + 1]]]
        result.append(
            [(kind, at) for kind, at in taken if getattr(problem.limits, kind) is not None]
        )
    return result


def first_fit_slowly(problem: Problem) -> list[int]:
    """First fit by the book: sets and counters, one phase after the other."""
    pattern, limits = problem.pattern, problem.limits
    taken = resources_of(problem)
    load = Counter(resource for each in taken for resource in each)
    hops = np.diff(
        route_links(
            problem.machine.topology,
            problem.machine.routing,
            problem.source_node,
            problem.target_node,
        )[0]
    )

    def key(m: int) -> tuple[float, ...]:
        heaviest = max(
            (np.float32(load[r]) / np.float32(getattr(limits, r[0])) for r in taken[m]), default=0.0
        )
        return -int(hops[m]), -int(pattern.size[m]), -float(heaviest), m

    before = [] if pattern.before is None else pattern.before.tolist()
    phase: dict[int, int] = {}
    use: Counter[tuple[int, tuple[str, int]]] = Counter()
    partners: dict[tuple[int, int], list[tuple[bool, int]]] = {}

    def fits(m: int, p: int) -> bool:
        if any(use[p, r] >= getattr(limits, r[0]) for r in taken[m]):
            return False
        if limits.duplex == "full" or not taken[m]:
            return True
        x, y = int(problem.source_node[m]), int(problem.target_node[m])
        for node, new in ((x, (True, y)), (y, (False, x))):
            has = [*partners.get((p, node), []), new]
            if len({sends for sends, _ in has}) == 2 and len({other for _, other in has}) > 1:
                return False
        return True

    while len(phase) < pattern.messages:
        ready = [
            m
            for m in range(pattern.messages)
            if m not in phase and all(i in phase for i, j in before if j == m)
        ]
        m = min(ready, key=key)
        p = max((phase[i] + 1 for i, j in before if j == m), default=0)
        while not fits(m, p):
            p += 1
        phase[m] = p
        use.update((p, r) for r in taken[m])
        if taken[m]:
            x, y = int(problem.source_node[m]), int(problem.target_node[m])
            partners.setdefault((p, x), []).append((True, y))
            partners.setdefault((p, y), []).append((False, x))
    numbers = {p: k for k, p in enumerate(sorted(set(phase.values())))}
    return [numbers[phase[m]] for m in range(pattern.messages)]


def rs_slowly(problem: Problem, *, exchanges: bool) -> list[int]:
    """Figures 3 and 4 of Wang and Ranka, line by line; PATHS is reset with every permutation.

    With exchanges a node first looks for a message that another one answers, and takes both.
    """
    source, target = problem.source_node, problem.target_node
    random, nodes = Splitmix(problem.search.seed), problem.nodes
    before = [] if problem.pattern.before is None else problem.pattern.before.tolist()
    paths = [{at for kind, at in each if kind == "link"} for each in resources_of(problem)]
    phase: dict[int, int] = {}
    rows: list[list[int]] = [[] for _ in range(nodes)]
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    answer = [pairs.index((b, a)) if (b, a) in pairs else -1 for a, b in pairs]

    def eligible() -> list[int]:
        waiting = {j for i, j in before if i not in phase}
        return [m for m in range(source.size) if m not in phase and m not in waiting]

    for m in eligible():
        rows[source[m]].append(m)
    for row in rows:
        for k in range(len(row), 1, -1):
            z = random.below(k)
            row[k - 1], row[z] = row[z], row[k - 1]
    permutation = 0
    while any(rows):
        receives: dict[int, int] = {}
        claimed: set[int] = set()
        sends: set[int] = set()
        placed: list[int] = []
        x = random.below(nodes)
        for _ in range(nodes):
            found = [
                m
                for m in rows[x]
                if int(target[m]) not in receives and not paths[m] & claimed and x not in sends
            ]
            both = [
                (m, answer[m])
                for m in found
                if exchanges
                and x not in receives
                and target[m] not in sends
                and answer[m] in rows[target[m]]
                and not paths[answer[m]] & (claimed | paths[m])
            ]
            for m in both[0] if both else found[:1]:
                row = rows[source[m]]
                sends.add(int(source[m]))
                receives[int(target[m])] = int(source[m])
                claimed |= paths[m]
                placed.append(m)
                row[row.index(m)] = row[-1]
                row.pop()
            x = (x + 1) % nodes
        for m in placed:
            waiting = {j for i, j in before if i not in phase}
            phase[m] = permutation
            released = waiting - {j for i, j in before if i not in phase}
            for j in dict.fromkeys(j for i, j in before if i == m and j in released):
                row = rows[source[j]]
                row.append(j)
                z = random.below(len(row))
                row[-1], row[z] = row[z], row[-1]
        permutation += 1
    return [phase[m] for m in range(source.size)]


def placement_of(ranks: int, nodes: int) -> NDArray[np.int32] | None:
    return None if ranks <= nodes else (np.arange(ranks, dtype=np.int32) % nodes).astype(np.int32)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("method", [name for name, row in table().items() if not row.circuits])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_every_method_keeps_its_limits_on_any_pattern(
    method: str, machine: str, data: st.DataObject
) -> None:
    row, on = find_method(method), MACHINES[machine]
    pattern = data.draw(patterns(on.topology.nodes, ordered=row.ordered))
    problem = Problem(
        pattern,
        on,
        row.limits_for(on.topology, None),
        search=SearchOptions(seed=data.draw(st.integers(0, 2**63))),
    )
    refusal = row.applies(problem)
    if refusal is not None:
        assert refusal.startswith(f"method {method} requires ")
        with pytest.raises(InputError, match=re.escape(refusal)):
            row.schedule(problem)
        return
    phases = row.schedule(problem)
    check(problem, method, phases)
    degree = max(
        np.bincount(pattern.source, minlength=1).max(),
        np.bincount(pattern.target, minlength=1).max(),
    )
    if method == "coloring":
        assert phases.offsets.size - 1 == degree
    elif problem.limits.send:
        assert phases.offsets.size - 1 >= degree


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_first_fit_equals_its_slow_version(machine: str, data: st.DataObject) -> None:
    on = MACHINES[machine]
    ranks = on.topology.nodes * data.draw(st.integers(1, 2))
    pattern = data.draw(patterns(ranks, ordered=True))
    problem = Problem(pattern, on, data.draw(any_limits), placement_of(ranks, on.topology.nodes))
    phases = find_method("first-fit").schedule(problem)
    check(problem, "first-fit", phases)
    assert phase_of_message(phases, pattern.messages) == first_fit_slowly(problem)


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_first_fit_with_exchanges_equals_its_slow_version(
    machine: str, data: st.DataObject
) -> None:
    on = MACHINES[machine]
    pattern = data.draw(patterns(on.topology.nodes, ordered=True))
    limits = Limits(
        send=1, receive=1, link=data.draw(st.none() | st.integers(1, 2)), duplex="exchange"
    )
    problem = Problem(pattern, on, limits)
    phases = find_method("first-fit").schedule(problem)
    check(problem, "first-fit", phases)
    assert phase_of_message(phases, pattern.messages) == first_fit_slowly(problem)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_first_fit_keeps_the_duplex_rule_under_any_other_limits(data: st.DataObject) -> None:
    on = MACHINES["mesh:3x3"]
    ranks = 9 * data.draw(st.integers(1, 2))
    limits = replace(data.draw(any_limits), duplex="exchange")
    problem = Problem(
        data.draw(patterns(ranks, ordered=True)),
        on,
        limits,
        placement_of(ranks, 9),
        search=SearchOptions(effort=3),
    )
    check(problem, "first-fit", find_method("first-fit").schedule(problem))


@pytest.mark.parametrize("method", ["rs-n", "rs-nl"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_schedules_equal_the_figures_line_by_line(method: str, data: st.DataObject) -> None:
    row, on = find_method(method), MACHINES[data.draw(st.sampled_from(sorted(MACHINES)))]
    pattern = data.draw(patterns(on.topology.nodes, ordered=True))
    problem = Problem(
        pattern,
        on,
        row.limits(on.topology),
        search=SearchOptions(seed=data.draw(st.integers(0, 2**64 - 1))),
    )
    expected = rs_slowly(problem, exchanges=method == "rs-nl")
    assert phase_of_message(row.schedule(problem), pattern.messages) == expected


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_coloring_takes_exactly_the_largest_degree_of_a_multigraph(data: st.DataObject) -> None:
    nodes, count = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 400))
    seed = data.draw(st.integers(0, 1000))
    on: Machine = parse_machine(f"crossbar:{nodes}")
    ranks = 4 * nodes
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, ranks, (2, count)) // rng.integers(1, 4)
    pattern = Pattern.from_messages(source, target, np.ones(count, int), ranks)
    row = find_method("coloring")
    problem = Problem(
        pattern,
        on,
        row.limits(on.topology),
        placement_of(ranks, nodes),
        search=SearchOptions(seed=seed),
    )
    phases = row.schedule(problem)
    check(problem, "coloring", phases)
    leaves = problem.source_node != problem.target_node
    ends = (problem.source_node[leaves], problem.target_node[leaves])
    degree = max(int(np.bincount(end, minlength=1).max()) for end in ends)
    assert phases.offsets.size - 1 == max(degree, min(1, pattern.messages))
