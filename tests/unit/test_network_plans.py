"""Plans of networks on paper, by their families; pictures with titles.

What shortest paths leave unused.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.dom.minidom import parseString

import numpy as np
import pytest

import conset
from conset.machine.network.graph_files import read_edge_list
from conset.machine.network.routing import Routing, exchange_loads, unused_paths
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.report.machine import picture_machine
from conset.report.network_layout import ENDPOINTS, Plan, plan_of, positions
from conset.report.schedule import picture_phase
from conset.report.style import svg_text
from support.vector_pictures import texts, titles

SMALL = (
    "fat-tree:k=4",
    "fat-tree:k=4,levels=2,taper=2",
    "leaf-spine:leaves=3,spines=2,hosts=4",
    "slim-fly:q=3,nodes=1",
    "dragonfly:groups=5,routers=2,nodes=2",
    "dragonfly:groups=2,routers=1,nodes=3",
    "rails:hosts=3,gpus=4",
    "rails:hosts=4,gpus=2,leaf=2,spines=2",
    "hyperx:sides=3x4,nodes=2",
    "express-mesh:sides=5x3",
    "mesh:3x4,planes=2",
    "torus:4x4,planes=3",
    "ring:5,planes=2",
    "hypercube:3,planes=2",
    "mesh:3x3,dead=4",
)
LARGE = ("fat-tree:k=8", "fat-tree:k=16", "fat-tree:k=24", "dragonfly:groups=33,routers=16,nodes=4")


def topology_of(words: str) -> Topology:
    return parse_machine(words).topology


@pytest.mark.parametrize("words", SMALL)
def test_every_node_has_a_place_of_its_own_and_every_link_joins_its_ends(words: str) -> None:
    topology = topology_of(words)
    plan = plan_of(topology)
    place = plan.place[plan.shown]
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    size = plan.size[plan.shown]
    assert (apart >= size[:, None] + size[None] - 1e-9).all()  # no two nodes overlap
    ends = plan.place[topology.link_source], plan.place[topology.link_target]
    assert np.allclose(plan.lines[plan.drawn, 0], ends[0][plan.drawn])
    assert np.allclose(plan.lines[plan.drawn, -1], ends[1][plan.drawn])
    assert (plan.shown[topology.link_source] & plan.shown[topology.link_target])[plan.drawn].all()
    left, bottom, right, top = plan.bounds
    assert left <= place[:, 0].min()
    assert (right, top) >= (place[:, 0].max(), place[:, 1].max())
    assert bottom <= place[:, 1].min()


def test_both_ways_of_a_link_are_one_line() -> None:
    for words in SMALL:
        topology = topology_of(words)
        plan = plan_of(topology)
        ends = zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
        lines = {pair: plan.lines[k] for k, pair in enumerate(ends)}
        for (a, b), line in lines.items():
            if (b, a) in lines:
                assert np.allclose(line, lines[b, a][::-1]), words


def test_a_tree_stands_in_levels_with_its_pods_as_bands() -> None:
    topology = topology_of("fat-tree:k=4")
    plan = plan_of(topology)
    assert topology.level is not None
    assert topology.group is not None
    heights = [np.unique(plan.place[topology.level == level, 1]) for level in range(4)]
    assert [height.size for height in heights] == [1] * 4
    assert (np.diff(np.concatenate(heights)) > 0).all()
    assert [band.name for band in plan.bands] == ["pod 0", "pod 1", "pod 2", "pod 3"]
    for pod, band in enumerate(plan.bands):
        own = plan.place[topology.group == pod]
        assert (own > band.low).all()
        assert (own < band.high).all()
    assert [note.text for note in plan.notes] == [
        "16 hosts",
        "8 edge switches",
        "8 agg switches",
        "4 core switches",
    ]


def test_planes_have_the_places_of_their_network_and_its_closing_links_are_bent() -> None:
    topology = Topology.torus(3, 4).of_planes(2)
    plan = plan_of(topology)
    assert (plan.place == positions(topology.base)).all()
    far = np.hypot(*(plan.place[topology.link_source] - plan.place[topology.link_target]).T) > 1.5
    straight = (plan.lines[:, 0] + plan.lines[:, -1]) / 2
    bent = np.abs(plan.lines[:, plan.lines.shape[1] // 2] - straight).max(axis=1) > 0.1
    assert far.sum() == 2 * 2 * (3 + 4)
    assert (bent == far).all()


@pytest.mark.parametrize("words", LARGE)
def test_large_networks_are_drawn_by_switches_or_parts_and_say_so(words: str) -> None:
    topology = topology_of(words)
    plan = plan_of(topology)
    if topology.endpoints <= ENDPOINTS:
        assert not plan.caption
        return
    assert f"{topology.endpoints:,} endpoints" in plan.caption
    if plan.part is None:
        assert plan.shown.sum() == topology.nodes - topology.endpoints
        return
    # lines stand for all links between parts
    outer = (topology.link_source >= topology.endpoints) & (
        topology.link_target >= topology.endpoints
    )
    apart = outer & (plan.part[topology.link_source] != plan.part[topology.link_target])
    assert plan.count.sum() == apart.sum()
    assert plan.shown.all()


def test_a_map_keeps_west_to_the_left_and_north_up() -> None:
    from conset.machine.network.graph_files import read_gml

    text = (
        "graph [ node [ id 0 label 'W' lon -120 lat 40 ] node [ id 1 lon -75 lat 40 ] node [ id "
        "2 lon -97 lat 48 ] "
    )
    text += "edge [ source 0 target 1 ] edge [ source 1 target 2 ] ]"
    plan = plan_of(Topology.of_graph(read_gml(text), 1e9))
    assert plan.place[0, 0] < plan.place[2, 0] < plan.place[1, 0]
    assert plan.place[2, 1] > plan.place[0, 1]


def test_a_vector_picture_has_text_and_titles(tmp_path: Path) -> None:
    machine = parse_machine("leaf-spine:leaves=2,spines=2,hosts=2,rates=25GB/s;100GB/s")

    def drawn() -> str:
        return svg_text(lambda: picture_machine(machine))

    svg = drawn()
    assert svg == drawn()
    parseString(svg)
    whole, *parts = titles(svg)
    assert whole.startswith(f"{machine.name}: ")
    # 4 hosts, 4 switches, 8 wires
    assert Counter(title.split()[0] for title in parts) == {"node": 8, "link": 8}
    assert "link 0 'host0.0' → 4 'leaf0', 25 GB/s" in parts
    assert {"leaf0", "2 spines", "4 hosts", "25 GB/s", "100 GB/s"} <= set(texts(svg))


@pytest.mark.parametrize("words", ["fat-tree:k=4", "mesh:4x4,planes=2", "rails:hosts=2,gpus=3"])
def test_loads_of_a_phase_are_drawn_on_the_plan(words: str) -> None:
    for method in ("first-fit", "naive"):
        schedule = conset.compile("alltoall", words, method=method)
        parseString(svg_text(lambda schedule=schedule: picture_phase(schedule, 0)))  # type: ignore[misc]


def test_loads_of_a_large_network_are_drawn_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from conset.report import network_layout

    monkeypatch.setattr(network_layout, "SWITCHES", 10)
    plan_of.cache_clear()
    schedule = conset.compile("shift:by=5", "fat-tree:k=4", method="naive")
    plan: Plan = plan_of(schedule.machine.topology)
    assert plan.part is not None
    svg = svg_text(lambda: picture_phase(schedule, 0))
    plan_of.cache_clear()
    assert "20 switches and 16 endpoints are not drawn" in svg
    assert 'id="conset-loads"' in svg


def slow_loads(
    topology: Topology,
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Specification: message by message, down the shortest paths."""
    nodes = range(topology.nodes)
    ends = set(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    first: Counter[tuple[int, int]] = Counter()
    spread: dict[tuple[int, int], float] = Counter()  # type: ignore[assignment]
    for target in range(topology.endpoints):
        far = {target: 0}
        for distance in range(topology.nodes):
            far.update(
                {a: distance + 1 for a, b in ends if far.get(b) == distance and a not in far}
            )
        onward = {
            a: sorted(b for b in nodes if (a, b) in ends and far[b] == far[a] - 1)
            for a in nodes
            if a in far
        }

        def walk(
            node: int, share: float, target: int = target, onward: dict[int, list[int]] = onward
        ) -> None:
            for after in onward[node] if node != target else ():
                spread[node, after] += share / len(onward[node])
                walk(after, share / len(onward[node]))

        for source in range(topology.endpoints):
            walk(source, 1.0)
            node = source
            while node != target:
                first[node, onward[node][0]] += 1
                node = onward[node][0]
    return dict(first), spread


@pytest.mark.parametrize(
    "words", ["leaf-spine:leaves=3,spines=2,hosts=2", "hyperx:sides=2x3,nodes=1", "mesh:3x3,dead=4"]
)
def test_loads_of_a_complete_exchange_are_those_of_the_specification(words: str) -> None:
    topology = topology_of(words)
    pairs = list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    for found, slow in zip(exchange_loads(topology), slow_loads(topology), strict=True):
        assert found.tolist() == pytest.approx([slow.get(pair, 0.0) for pair in pairs])


def test_shortest_paths_over_one_spine_warn_with_both_numbers() -> None:
    machine = parse_machine("leaf-spine:leaves=4,spines=4,hosts=4,routing=shortest-path")
    unused = unused_paths(machine.topology, machine.routing)
    assert unused is not None
    # 4 hosts of a leaf send to 12 others: 48 over the one spine, 12 over each of four; 15 on a
    # host's own link
    assert (unused.load, unused.spread, unused.rule) == (48, 15, "dmodk")
    assert len(machine.warnings) == 1
    assert "48 messages, 15 were" in machine.warnings[0]
    schedule = conset.compile("alltoall", machine, method="first-fit")
    assert list(conset.predict(schedule).warnings) == list(machine.warnings)
    assert parse_machine("leaf-spine:leaves=4,spines=4,hosts=4").warnings == ()


def test_what_has_no_equal_paths_does_not_warn() -> None:
    line = Topology.of_graph(read_edge_list("0 1\n1 2\n2 3\n"), 1e9)
    assert unused_paths(line, Routing("shortest-path")) is None
    over_planes = parse_machine("mesh:4x4,planes=2,routing=shortest-path")
    assert "routing=planes" in over_planes.warnings[0]
    assert parse_machine("mesh:4x4,planes=2").warnings == ()
