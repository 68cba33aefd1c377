"""Planes: several copies of a regular network.

The rule of planes against pencil and verifier, compiled schedules.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import conset
from conset.base.errors import ConsetError, InputError
from conset.bounds import bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.network.routes import route_links
from conset.machine.network.topology import Topology
from conset.machine.spec import machine_of_record, parse_machine, with_settings
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.verification.schedule.check import formula_walk
from support.hand_made import same_machine


def test_two_meshes_have_every_link_twice() -> None:
    topology = Topology.mesh(2, 3).of_planes(2)
    assert (topology.endpoints, topology.nodes, topology.links) == (6, 6, 2 * 14)
    assert str(topology.family) == "mesh:2x3,planes=2"
    assert topology.base == Topology.mesh(2, 3)
    assert topology.parallel
    assert topology.link_name(3) == "link 0 (0, 0) → 3 (1, 0) in plane 1"
    other = replace(topology, link_width=np.arange(1, 29))
    assert other.base is other


def test_a_crossbar_of_planes_has_a_cable_to_each_of_them() -> None:
    machine = parse_machine("crossbar:4,planes=3")
    assert (machine.topology.nodes, machine.topology.links) == (5, 3 * 8)
    schedule = conset.compile("alltoall", machine, method="first-fit", limits="send=3,receive=3")
    assert conset.verify(schedule).ok
    assert schedule.phases == 1  # each plane bears a permutation of the four


def test_the_rule_takes_the_plane_of_source_plus_target() -> None:
    machine = parse_machine("mesh:3x3,planes=2")
    pairs = np.array([0, 0, 8], np.int32), np.array([4, 5, 8], np.int32)
    offsets, links = route_links(machine.topology, machine.routing, *pairs)
    ends = np.stack(machine.topology.ends, axis=1)[links]
    routes = [ends[a:b].tolist() for a, b in pairwise(offsets)]
    assert routes == [[[0, 1], [1, 4]], [[0, 1], [1, 2], [2, 5]], []]
    assert (links % 2).tolist() == [0, 0, 1, 1, 1]


@settings(max_examples=20)
@given(
    st.sampled_from(
        ["mesh:3x4", "torus:4x4", "torus:4x4,tie=plus", "ring:5", "hypercube:3", "crossbar:5"]
    ),
    st.integers(2, 4),
)
def test_the_verifier_expands_the_same_routes(network: str, count: int) -> None:
    machine = parse_machine(f"{network},planes={count}")
    ends = machine.topology.endpoints
    source, target = (each.astype(np.int32) for each in np.divmod(np.arange(ends * ends), ends))
    offsets, links = route_links(machine.topology, machine.routing, source, target)
    position, link = formula_walk(machine, target).hops(np.arange(source.size), source, target)
    walked = set(zip(position.tolist(), link.tolist(), strict=True))
    owner = np.repeat(np.arange(source.size), np.diff(offsets))
    assert walked == set(zip(owner.tolist(), links.tolist(), strict=True))
    assert links.size == position.size


def compiled(network: str, method: str, pattern: str = "alltoall", **options: Any) -> Schedule:
    schedule = conset.compile(pattern, network, method=method, **options)
    assert conset.verify(schedule).ok
    return schedule


def test_bounded_contention_takes_half_the_phases_on_two_meshes() -> None:
    # n³/4c phases on one mesh (Bokhari, Nicol, Table 2: 128 for 8 x 8); two meshes bear two of them
    # at once
    assert compiled("mesh:8x8", "bounded").phases == 128
    schedule = compiled("mesh:8x8,planes=2", "bounded")
    assert schedule.phases == 64
    assert schedule.limits.link == 1
    bounds = bound_schedule(schedule)
    assert bounds.phases == 64
    assert bounds.phases_witness == "link 3 (0, 3) → 4 (0, 4) carries 128 messages at 2 a phase"
    assert bounds.phases_class.endswith("the network's routes in any plane")
    for model in ("flow", "wormhole"):
        assert bounds.time_s <= conset.simulate(schedule, model=model).time_s
    # all in plane 0 is a choice of planes too, of the same class; a detour is of none
    entered = schedule.route_links
    assert entered is not None
    assert set(np.unique(entered[entered >= 0] % 2)) == {0, 1}
    moved = np.where(entered < 0, entered, entered - entered % 2)
    assert bound_schedule(replace(schedule, route_links=moved)).phases == 64
    other = np.where(entered < 0, entered, entered ^ (np.arange(entered.size) % 2)).astype(np.int32)
    assert "any routes" in bound_schedule(replace(schedule, route_links=other)).phases_class


def test_the_search_over_slots_comes_near_the_bound_where_no_construction_does() -> None:
    schedule = compiled("mesh:9x9,planes=2", "bounded")
    assert bound_schedule(schedule).phases == 90
    assert schedule.phases <= 95


@pytest.mark.parametrize(
    "method", ["first-fit", "rs-nl", "gen", "negotiated", "naive", "event-list", "connections"]
)
def test_methods_over_planes_take_no_more_phases(method: str) -> None:
    assert compiled("mesh:4x4,planes=2", method).phases <= compiled("mesh:4x4", method).phases


@settings(max_examples=25)
@given(st.integers(2, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_any_pattern_keeps_its_limits_in_every_plane(
    count: int, contention: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 9, (2, 40))
    apart = source != target
    before = None
    if seed % 3 == 0 and (shared := _ordered(source[apart], target[apart])):
        before = np.array(shared, np.int64)
    size = 8 * random.integers(1, 99, int(apart.sum()))
    pattern = Pattern.from_messages(source[apart], target[apart], size, 9, before=before)
    machine = parse_machine(f"mesh:3x3,planes={count}")
    options = CompileOptions("first-fit", contention=contention, limits="send=2,receive=3")
    schedule = compile_pattern(pattern, machine, options)
    assert conset.verify(schedule).ok


def _ordered(source: np.ndarray, target: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of neighbours in the list that share a rank."""
    return [
        (k, k + 1)
        for k in range(source.size - 1)
        if {source[k], target[k]} & {source[k + 1], target[k + 1]}
    ]


@pytest.mark.parametrize("options", [{}, {"routes": "free"}, {"contention": 2}])
@pytest.mark.parametrize("network", ["torus:4x4,planes=3", "crossbar:6,planes=2"])
def test_negotiation_over_slots_keeps_a_route_in_its_plane(
    network: str, options: dict[str, Any]
) -> None:
    schedule = compiled(network, "negotiated", "random:degree=3,seed=4", **options)
    assert schedule.phases == bound_schedule(schedule).phases


@pytest.mark.parametrize("method", ["negotiated", "connections"])
def test_chosen_routes_stay_in_a_plane_whatever_the_rule(method: str) -> None:
    network = "mesh:4x4,planes=2,routing=shortest-path"
    compiled(network, method, routes="free")
    assert compiled(network, "first-fit").route_links is None  # the machine's own
    # the network's routes in planes are a class of their own under that rule too
    chosen = compiled("mesh:4x4,planes=2", "bounded")
    moved = replace(chosen, machine=parse_machine(network))
    assert bound_schedule(moved).phases == bound_schedule(chosen).phases


def test_a_message_on_a_wrong_plane_is_found() -> None:
    schedule = compiled("mesh:4x4,planes=2", "bounded")
    entered = schedule.route_links
    assert entered is not None
    moved = np.where(entered < 0, entered, entered - entered % 2)  # all into plane 0
    rules = {each.rule for each in conset.verify(replace(schedule, route_links=moved)).violations}
    assert rules == {"link"}


def test_a_record_says_planes_and_no_link() -> None:
    machine = with_settings(parse_machine("torus:4x4,planes=3,tie=plus"), "hop=1us")
    record = machine.to_spec()
    assert isinstance(record, dict)
    assert record["network"] == {
        "family": "torus:4x4,planes=3",
        "routing": "planes",
        "tie": "plus",
    }
    assert same_machine(machine_of_record(json.loads(json.dumps(record))), machine)


@pytest.mark.parametrize(
    ("network", "line"),
    [
        ("mesh:4x4,planes=0", "must be from 1 to 64"),
        ("mesh:4x4,planes=x", "planes=x: must be a whole number"),
        ("crossbar:4,planes=65", "must be from 1 to 64"),
        ("mesh:4x4,planes=2,dead=3", "nodes and links of planes cannot be taken out"),
        ("mesh:4x4,planes=2,routing=plane", "did you mean 'planes'?"),
    ],
)
def test_what_is_no_planes(network: str, line: str) -> None:
    with pytest.raises(ConsetError, match=line.replace("?", r"\?")):
        parse_machine(network)


def test_the_rule_needs_planes() -> None:
    machine = parse_machine("mesh:2x2,planes=2")
    other = replace(machine.topology, family=None)
    with pytest.raises(InputError, match="needs a network of planes"):
        replace(machine, topology=other)
