"""Negotiated assignment against an obvious slow version of itself, number for number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings, strategies as st

from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links, route_nodes
from conset.machine.spec import parse_machine
from conset.methods.phases.negotiated import FIXED, items_of, negotiate
from conset.methods.phases.problem import Problem, SearchOptions
from conset.pattern.pattern import Pattern
from support.splitmix import MASK, Splitmix

MACHINES = tuple(map(parse_machine, ("mesh:4x3", "hypercube:4", "ring:9", "crossbar:11")))
LIMITS = (
    Limits(send=1, receive=1, link=1),
    Limits(send=2, receive=1),
    Limits(channels=3, link=2),
    Limits(link=1),
    Limits(),
)


def resources_of(problem: Problem) -> list[list[tuple[int, int]]]:
    """What each message takes, as (kind, place), in the core's sequence."""
    machine, source, target = problem.machine, problem.source_node, problem.target_node
    links = route_links(machine.topology, machine.routing, source, target)
    nodes = route_nodes(machine.topology, machine.routing, source, target)
    result = []
    for m in range(problem.pattern.messages):
        taken = [(0, int(source[m])), (1, int(target[m]))]
        taken += [(2, int(node)) for node in nodes[1][nodes[0][m] : nodes[0][m + 1]]]
        taken += [(3, int(link)) for link in links[1][links[0][m] : links[0][m + 1]]]
        result.append([] if source[m] == target[m] else taken)
    return result


def negotiate_slowly(problem: Problem, slots: int, sweeps: int) -> tuple[list[int], int]:
    """(slot of each message, excess) over fixed routes, by the book.

    One price after the other, in steps of 0.2.
    """
    limits, random = problem.limits, Splitmix(problem.search.seed)
    capacity = [limits.send, limits.receive, limits.channels, limits.link]
    taken = resources_of(problem)
    hops = [sum(kind == 3 for kind, _ in each) for each in taken]
    users: dict[tuple[int, int], list[int]] = {}
    for m, each in enumerate(taken):
        for row in each:
            users.setdefault(row, []).append(m)
    room = {row: capacity[row[0]] for row in users if len(users[row]) > (capacity[row[0]] or MASK)}
    taken = [[row for row in each if row in room] for each in taken]
    used: dict[tuple[tuple[int, int], int], int] = {
        (row, q): 0 for row in room for q in range(slots)
    }
    weight = dict.fromkeys(used, 5)
    over: list[tuple[tuple[int, int], int]] = []
    slot: list[int] = [-1] * len(taken)

    def too_many(cell: tuple[tuple[int, int], int]) -> int:
        return max(0, used[cell] - room[cell[0]])  # type: ignore[operator]

    def place(m: int) -> None:
        if slot[m] >= 0:
            for row in taken[m]:
                used[row, slot[m]] -= 1
                if (row, slot[m]) in over and not too_many((row, slot[m])):
                    at = over.index((row, slot[m]))
                    over[at] = over[-1]
                    over.pop()
        price = [
            sum(weight[row, q] * max(0, used[row, q] + 1 - room[row]) for row in taken[m])  # type: ignore[operator]
            for q in range(slots)
        ]
        slot[m] = random.below(slots)
        while price[slot[m]] != min(price):
            slot[m] = (slot[m] + 1) % slots
        for row in taken[m]:
            used[row, slot[m]] += 1
            if too_many((row, slot[m])) == 1:
                over.append((row, slot[m]))

    todo = list(range(len(taken)))
    random.shuffle(todo)
    todo.sort(key=lambda m: -hops[m])
    for sweep in range(sweeps):
        if sweep:
            todo = []
            for row in dict.fromkeys(row for row, _ in over):
                todo += [m for m in users[row] if too_many((row, slot[m])) and m not in todo]
            random.shuffle(todo)
        for m in todo:
            if sweep == 0 or any(too_many((row, slot[m])) for row in taken[m]):
                place(m)
        if not over:
            break
        if sweep + 1 < sweeps:
            for cell in over:
                weight[cell] += too_many(cell)
    return slot, sum(map(too_many, over))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MACHINES),
    st.integers(0, 90),
    st.sampled_from(LIMITS),
    st.integers(2, 12),
    st.integers(1, 25),
    st.integers(0, 2**64 - 1),
)
def test_negotiation_over_fixed_routes_equals_its_slow_version(
    on: Machine, messages: int, limits: Limits, slots: int, sweeps: int, seed: int
) -> None:
    ends = np.random.default_rng(seed).integers(0, 2 * on.topology.endpoints, (2, messages))
    pattern = Pattern.from_messages(*ends, np.ones(messages, int), 2 * on.topology.endpoints)
    problem = Problem(
        pattern,
        on,
        limits,
        np.arange(pattern.ranks, dtype=np.int32) // 2,
        search=SearchOptions(seed=seed),
    )
    kept = {name: getattr(limits, name) for name in ("send", "receive", "link", "channels")}
    fast = negotiate(
        items_of(problem), slots, **kept, pressure=replace(FIXED, sweeps=sweeps), seed=seed
    )
    slot, excess = negotiate_slowly(problem, slots, sweeps)
    assert fast.slot.tolist() == slot
    assert fast.excess == excess
