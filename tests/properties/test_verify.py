"""Properties of the verifier.

Its counts are those of an obvious walk, hop by hop, on any network.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.verification import verify
from conset.verification.schedule.check import formula_walk
from conset.verification.schedule.walks import BoxWalk, CubeWalk
from support.hand_made import document, figures, graph_of, greedy, loads, machine_on, route

SIDES = st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(
    lambda sides: 1 < _product(sides) <= 40
)


def _product(sides: list[int]) -> int:
    product = 1
    for side in sides:
        product *= side
    return product


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    kind = draw(st.sampled_from(["mesh", "torus", "ring", "hypercube", "crossbar", "graph"]))
    width = draw(st.integers(1, 3))
    if kind == "graph":
        return machine_on(draw(graphs()))
    if kind == "hypercube":
        return machine_on(Topology.hypercube(draw(st.integers(1, 5)), width=width))
    if kind == "crossbar":
        return machine_on(Topology.crossbar(draw(st.integers(2, 9))))
    if kind == "mesh":
        return machine_on(Topology.mesh(*draw(SIDES), width=width))
    topology = (
        Topology.torus(*draw(SIDES), width=width)
        if kind == "torus"
        else Topology.ring(draw(st.integers(2, 9)))
    )
    tie = draw(st.sampled_from(["parity", "plus", "checker"]))
    return machine_on(topology, rule=draw(st.sampled_from(["dimension-order", "no-wrap"])), tie=tie)


@st.composite
def graphs(draw: st.DrawFn) -> Topology:
    """A directed cycle (so that every node reaches every other) with chords, some nodes
    switches."""
    nodes = draw(st.integers(2, 10))
    links = {(v, (v + 1) % nodes) for v in range(nodes)}
    node = st.integers(0, nodes - 1)
    links |= {(v, w) for v, w in draw(st.sets(st.tuples(node, node), max_size=20)) if v != w}
    width = draw(st.lists(st.integers(1, 3), min_size=len(links), max_size=len(links)))
    return graph_of(draw(st.integers(1, nodes)), nodes, sorted(links), width)


@st.composite
def traffic(draw: st.DrawFn, machine: Machine) -> tuple[int, list[int] | None, list[list[int]]]:
    """(ranks, placement, messages)."""
    endpoints = machine.topology.endpoints
    placement = None
    ranks = endpoints
    if draw(st.booleans()):
        placement = draw(st.lists(st.integers(0, endpoints - 1), min_size=1, max_size=12))
        ranks = len(placement)
    rank = st.integers(0, ranks - 1)
    pairs = draw(
        st.lists(
            st.tuples(rank, rank, st.integers(1, 9)).filter(lambda m: m[0] != m[1]), max_size=25
        )
    )
    return ranks, placement, [list(m) for m in pairs]


LIMITS = st.builds(
    Limits,
    send=st.none() | st.integers(1, 3),
    receive=st.none() | st.integers(1, 3),
    link=st.none() | st.integers(1, 3),
    duplex=st.sampled_from(["full", "exchange"]),
)


@settings(max_examples=150, deadline=None)
@given(machines())
def test_every_route_is_that_of_a_walk_hop_by_hop(machine: Machine) -> None:
    topology = machine.topology
    every = np.arange(topology.endpoints, dtype=np.int32)
    source, target = (ends.ravel() for ends in np.meshgrid(every, every, indexing="ij"))
    walk = formula_walk(machine, every)
    position, link = walk.hops(np.arange(source.size), source, target)
    start, stop = (ends[link] for ends in topology.ends) if link.size else (link, link)
    assert not walk.lost(source, target).any()
    for k, (a, b) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        hops = set(zip(start[position == k].tolist(), stop[position == k].tolist(), strict=True))
        nodes = route(machine, a, b)
        assert hops == (set() if topology.kind == "crossbar" else set(pairwise(nodes))), (a, b)
    if isinstance(walk, BoxWalk | CubeWalk):
        group = np.arange(source.size) % 3
        counts = walk.tally(3, group, source, target)
        expected = np.zeros_like(counts)
        np.add.at(expected, (group[position], link), 1)
        np.testing.assert_array_equal(counts, expected)
        arrived = np.zeros((3, topology.nodes), counts.dtype)
        np.add.at(arrived, (group[position], stop), 1)
        np.testing.assert_array_equal(walk.arrivals(counts), arrived)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_loads_are_those_of_a_walk_hop_by_hop(data: st.DataObject) -> None:
    machine = data.draw(machines())
    ranks, placement, messages = data.draw(traffic(machine))
    count = data.draw(st.integers(1, 4))
    phases: list[list[list[int]]] = [[] for _ in range(count)]
    for m, row in enumerate(messages):
        phases[data.draw(st.integers(0, count - 1))].append([*row, m])
    limits = data.draw(LIMITS)
    stated = document(machine, messages, phases, limits, ranks=ranks, placement=placement)
    place = placement or list(range(ranks))
    routes = [[route(machine, place[s], place[t]) for s, t, *_ in phase] for phase in phases]

    result = verify(stated, machine=machine)

    assert result.figures == figures(machine, phases, routes)
    explicit = document(
        machine, messages, phases, limits, ranks=ranks, placement=placement, routes=routes
    )
    again = verify(explicit, machine=machine)
    assert again == result  # the machine's routes written out are the same schedule
    expected = excesses(machine, routes, limits)
    found = sorted(
        (v.rule, v.phase) for v in result.violations if v.rule in ("send", "receive", "link")
    )
    assert found == expected


def excesses(
    machine: Machine, routes: list[list[list[int]]], limits: Limits
) -> list[tuple[str, int]]:
    """(kind, phase) once for every resource above its limit, counted hop by hop."""
    topology = machine.topology
    width: dict[Any, int] = {}
    if topology.link_width is not None:
        ends = zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
        width = dict(zip(ends, topology.link_width.tolist(), strict=True))
    found = []
    for p, phase in enumerate(routes):
        for kind, used in loads(machine, phase).items():
            limit = getattr(limits, kind)
            for key, count in used.items():
                room = width.get(key, topology.width) if kind == "link" else 1
                if limit is not None and count > limit * room:
                    found.append((kind, p))
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_greedy_schedule_passes_and_its_windows_are_its_merged_phases(
    data: st.DataObject,
) -> None:
    machine = data.draw(machines())
    ranks, placement, messages = data.draw(traffic(machine))
    limits = data.draw(LIMITS)
    phases = greedy(machine, messages, limits, placement or list(range(ranks)))
    stated = document(machine, messages, phases, limits, ranks=ranks, placement=placement)
    assert verify(stated, machine=machine).violations == ()

    window = data.draw(st.integers(2, 4))
    windowed = verify(stated, machine=machine, window=window)
    found = {v.rule.removeprefix("window-") for v in windowed.violations}
    merged = set()
    for p in range(max(1, len(phases) - window + 1)):
        rows = [row for phase in phases[p : p + window] for row in phase]
        alone = document(machine, messages, [rows], limits, ranks=ranks, placement=placement)
        merged |= {
            v.rule for v in verify(alone, machine=machine).violations if v.rule != "message-missing"
        }
    assert found == merged
