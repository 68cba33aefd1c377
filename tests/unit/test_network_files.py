"""Networks made by others: TopoHub's JSON with its demands, htsim's .topo, BookSim's anynet.

And their errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import conset
from conset.base.errors import ConsetError, InputError
from conset.cli.show import kind_of
from conset.machine.network.graph import Graph
from conset.machine.network.graph_files import read_demands, read_gml, read_node_link
from conset.machine.network.routes import route_links
from conset.machine.network.routing import Routing
from conset.machine.network.simulators import read_anynet, read_htsim
from conset.machine.network.topology import Topology
from conset.machine.spec import machine_of_record, parse_machine
from conset.pattern.spec import parse_pattern
from conset.schedule.files.sniff import sniff
from support.fuzz_readers import TEXTS, mutant
from support.hand_made import same_machine

NODE_LINK: dict[str, Any] = {
    "directed": False,
    "multigraph": True,
    "graph": {"name": "toy", "demands": {"7": {"3": 2.25, "9": 0}, "9": {"7": 4}}},
    "nodes": [
        {"id": 7, "name": "New York", "pos": [-74.0, 40.7]},
        {"id": 5, "type": "switch", "lon": -90, "lat": 40},
        {"id": 3, "label": "Denver", "pos": [-105, 39.7]},
        {"id": 9, "pos": [-122, 47.6]},
    ],
    "edges": [
        {"source": 7, "target": 5, "rate": "100 Gbit/s", "dist": 1300.5},
        {"source": 5, "target": 3, "rate": 5e9},
        {"source": 3, "target": 5, "rate": "5 GB/s", "width": 2},
        {"source": 3, "target": 9},
    ],
}
LEAF_SPINE = (
    "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n"
    "Downlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
    "Downlink_Latency_ns 1000\n"
)
THREE_TIERS = (
    "nodes 8\ntiers 3\npodsize 4\ntier 0\ndownlink_speed_gbps 200\nradix_down 2\nradix_up 2\n"
    "downlink_latency_ns 1000\nswitch_latency_ns 100\ntier 1\ndownlink_speed_gbps 200\n"
    "radix_down 2\nradix_up 4\ndownlink_latency_ns 500\nswitch_latency_ns 50\ntier 2\n"
    "downlink_speed_gbps 100\nradix_down 4\ndownlink_latency_ns 300\nswitch_latency_ns "
    "10\nbundle 2\n"
)
ANYNET = "router 0 node 0 node 1 router 1\nrouter 1 node 2 router 0 5\n\nnode 3 router 1 9\n"


def links(topology: Topology) -> dict[tuple[int, int], tuple[int, float]]:
    rates = (
        [0.0] * topology.links
        if topology.link_rate_Bps is None
        else topology.link_rate_Bps.tolist()
    )
    ends = zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
    return dict(zip(ends, zip(topology.widths().tolist(), rates, strict=True), strict=True))


def test_node_link_json_keeps_names_places_switches_and_rates() -> None:
    topology = Topology.of_graph(read_node_link(json.dumps(NODE_LINK), "toy"), 1e9)
    assert topology.labels == ("New York", "Denver", "9", "5")
    assert (topology.endpoints, topology.nodes) == (3, 4)
    assert topology.place is not None
    assert topology.place.tolist() == [[-74.0, 40.7], [-105, 39.7], [-122, 47.6], [-90, 40]]
    # 1 and 3 are joined twice, once with width 2; 1-2 has no rate and takes the machine's
    assert topology.parallel
    assert topology.link_source.tolist() == [0, 1, 1, 1, 2, 3, 3, 3]
    assert topology.link_target.tolist() == [3, 2, 3, 3, 1, 0, 1, 1]
    assert topology.widths().tolist() == [1, 1, 1, 2, 1, 1, 1, 2]
    assert topology.link_rate_Bps is not None
    assert topology.link_rate_Bps[topology.link_source < 3].tolist() == [12.5e9, 1e9, 5e9, 5e9, 1e9]


def test_links_of_directed_node_link_json_go_one_way() -> None:
    found = {
        "directed": True,
        "nodes": [{"id": "a"}, {"id": "b"}],
        "links": [{"source": "a", "target": "b"}, {"source": "b", "target": "a", "width": 4}],
    }
    assert links(Topology.of_graph(read_node_link(json.dumps(found)), 1e9)) == {
        (0, 1): (1, 0.0),
        (1, 0): (4, 0.0),
    }


def test_demands_are_messages_of_so_many_units(tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(NODE_LINK))
    pattern = parse_pattern(str(path), word=2)
    assert pattern.ranks == 3
    assert list(
        zip(pattern.source.tolist(), pattern.target.tolist(), pattern.size.tolist(), strict=True)
    ) == [
        (0, 1, 5),
        (2, 0, 8),
    ]


def test_a_network_with_demands_is_a_machine_and_beside_a_machine_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(NODE_LINK))
    assert (kind_of(str(path)), kind_of(str(path), of_pattern=True)) == ("machine", "pattern")
    assert sniff(path).form == "network"
    schedule = conset.compile(str(path), str(path), method="first-fit")
    assert conset.verify(schedule).ok
    assert schedule.machine.topology.node_name(0) == "node 0 'New York'"


def test_sndlib_networks_of_topohub(shared_data: Path) -> None:
    folder = shared_data / "traces" / "sndlib"
    for name, nodes, edges, demands in (("abilene", 12, 15, 132), ("nobel-germany", 17, 26, 121)):
        machine = parse_machine(str(folder / f"{name}.json"))
        assert (machine.topology.endpoints, machine.topology.links) == (nodes, 2 * edges)
        pattern = parse_pattern(str(folder / f"{name}.json"), word=1)
        assert (pattern.ranks, pattern.messages) == (nodes, demands)
        assert same_machine(machine, machine_of_record(json.loads(json.dumps(machine.to_spec()))))
    # the first demand of the file: 5 sends 10 units to 0 … in abilene, node 5 to node 10: 3580
    abilene = parse_pattern(str(folder / "abilene.json"), word=1)
    sent = {
        (int(a), int(b)): int(size)
        for a, b, size in zip(abilene.source, abilene.target, abilene.size, strict=True)
    }
    assert (sent[5, 10], sent[7, 2]) == (3580, 424969)
    schedule = conset.compile(abilene, str(folder / "abilene.json"), method="first-fit")
    assert conset.verify(schedule).ok


def test_htsim_leaf_spine_of_the_simulator(shared_data: Path) -> None:
    machine = parse_machine(str(shared_data / "topologies" / "htsim" / "leaf_spine_128_1os.topo"))
    topology = machine.topology
    # 128 hosts under 8 ToR switches of 16, each joined to every one of 16 spines
    assert (topology.endpoints, topology.nodes, topology.links) == (128, 152, 2 * (128 + 8 * 16))
    assert topology.level is not None
    assert [int((topology.level == k).sum()) for k in range(3)] == [128, 8, 16]
    assert set(links(topology).values()) == {(1, 25e9)}
    assert (machine.costs.hop_s, machine.costs.port_out_Bps) == (500e-9, 25e9)


def test_htsim_oversubscription_takes_spines_away() -> None:
    topology = Topology.of_graph(read_htsim(LEAF_SPINE), 1e9)
    assert topology.labels[30:40] == (
        "host30",
        "host31",
        "tor0",
        "tor1",
        "tor2",
        "tor3",
        "agg0",
        "agg1",
    )
    assert {pair for pair in links(topology) if pair[0] == 33} == {
        (33, 8 + k) for k in range(8)
    } | {(33, 36), (33, 37)}


def test_htsim_three_tiers_with_bundles_and_speeds_by_tier() -> None:
    graph = read_htsim(THREE_TIERS)
    topology = Topology.of_graph(graph, 1e9)
    # 4 ToR and 4 aggregation switches in 2 pods; 8 links up at 100 Gbit/s for each 4 at 200: 16 / 4
    # = 4 cores
    assert topology.labels == (
        *(f"host{k}" for k in range(8)),
        *(f"tor{k}" for k in range(4)),
        *(f"agg{k}" for k in range(4)),
        *(f"core{k}" for k in range(4)),
    )
    assert topology.group is not None
    assert topology.group.tolist() == [
        0,
        0,
        0,
        0,
        1,
        1,
        1,
        1,
        0,
        0,
        1,
        1,
        0,
        0,
        1,
        1,
        -1,
        -1,
        -1,
        -1,
    ]
    found = links(topology)
    assert {pair: found[pair] for pair in found if pair[0] == 13} == {
        (13, 8): (1, 25e9),
        (13, 9): (1, 25e9),
        (13, 17): (2, 12.5e9),
        (13, 19): (2, 12.5e9),
    }
    # across the top: links 2 · (1000 + 500 + 300), switches 2 · (100 + 50) + 10, over 6 links
    assert graph.costs == {"hop": f"{(3600 + 310) / 6!r} ns", "port": "200 Gbit/s"}
    assert graph.notes


def test_a_machine_file_takes_what_a_graph_says_and_may_say_otherwise(tmp_path: Path) -> None:
    (tmp_path / "tree.topo").write_text(THREE_TIERS)
    (tmp_path / "own.toml").write_text('[network]\ngraph = "tree.topo"\n[costs]\nhop = "1 us"\n')
    machine = parse_machine(str(tmp_path / "own.toml"))
    assert (machine.costs.hop_s, machine.costs.port_in_Bps) == (1e-6, 25e9)
    (tmp_path / "ports.toml").write_text(
        '[network]\ngraph = "tree.topo"\n[costs]\nport_out = "1 GB/s"\n'
    )
    assert parse_machine(str(tmp_path / "ports.toml")).costs.port_out_Bps == 1e9
    again = machine_of_record(json.loads(json.dumps(machine.to_spec())))
    assert same_machine(machine, again)
    assert again.topology.level is not None
    assert again.topology.level.tolist() == [0] * 8 + [1] * 4 + [2] * 4 + [3] * 4


def test_anynet_joins_each_pair_once() -> None:
    topology = Topology.of_graph(read_anynet(ANYNET), 1e9)
    assert topology.labels == ("node 0", "node 1", "node 2", "node 3", "router 0", "router 1")
    assert topology.endpoints == 4
    one_way = {(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)}
    assert set(links(topology)) == one_way | {(b, a) for a, b in one_way}
    assert topology.link_width is None


def test_anynet_of_the_simulator(shared_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.anynet"
    path.write_bytes((shared_data / "topologies" / "booksim" / "anynet_anynet_file").read_bytes())
    topology = parse_machine(str(path)).topology
    assert (topology.endpoints, topology.nodes, topology.links) == (9, 12, 2 * (9 + 3))


def test_gml_places_nodes_where_all_have_a_place() -> None:
    one = (
        "graph [ node [ id 0 lon -7.5 lat 4 ] node [ id 1 lon 1 lat 2 ] edge [ source "
        "0 target 1 ] ]"
    )
    topology = Topology.of_graph(read_gml(one), 1e9)
    assert topology.place is not None
    assert topology.place.tolist() == [[-7.5, 4], [1, 2]]
    assert Topology.of_graph(read_gml(one.replace("lat 2", "")), 1e9).place is None
    assert (
        Topology.of_graph(read_gml(one.replace("lon -7.5 lat 4", "lon 1 lat 2")), 1e9).place is None
    )


def changed(**values: Any) -> str:
    return json.dumps({**NODE_LINK, **values})


@pytest.mark.parametrize(
    ("reader", "text", "line"),
    [
        (read_node_link, '{"nodes": [\n}', "x:2: no JSON: Expecting value"),
        (read_node_link, "[]", "x: an object with nodes and edges required, given []"),
        (
            read_node_link,
            '{"nodes": []}',
            "x: lists 'nodes' and 'edges' (or 'links') required, has nodes",
        ),
        (
            read_node_link,
            changed(nodes=[{"id": 1}, {"id": "1"}]),
            "x: nodes[1]: node '1' is given twice",
        ),
        (read_node_link, changed(nodes=[{"name": "a"}]), "x: nodes[0]: lacks its key 'id'"),
        (
            read_node_link,
            changed(edges=[{"source": 7, "target": 8}]),
            "x: edges[0]: edge to unknown node '8'",
        ),
        (
            read_node_link,
            changed(edges=[{"source": 7, "target": [3]}]),
            "x: edges[0].target = [3]: must be a whole number or a text",
        ),
        (
            read_node_link,
            changed(edges=[{"source": 7, "target": 3, "width": 0}]),
            "x: edges[0]: width '0': must be a whole number from 1 to 2^31 - 1",
        ),
        (
            read_node_link,
            changed(edges=[{"source": 7, "target": 3, "rate": "5 GHz"}]),
            "x: edges[0]: rate '5 GHz'",
        ),
        (
            read_demands,
            changed(graph={}),
            "x: graph.demands: has none: an object of source, target and amount is required",
        ),
        (
            read_demands,
            changed(graph={"demands": {"5": {"7": 1}}}),
            "x: graph.demands[5][7]: '5': an endpoint required, is a switch",
        ),
        (
            read_demands,
            changed(graph={"demands": {"7": {"8": 1}}}),
            "x: graph.demands[7][8]: '8': an endpoint required, there is no such node",
        ),
        (
            read_demands,
            changed(graph={"demands": {"7": {"3": -1}}}),
            "x: graph.demands[7][3] = -1: must be a number from 0 to 2^62",
        ),
        (read_htsim, "Nodes 8\n", "x: lacks 'tiers' before the first tier"),
        (
            read_htsim,
            "Nodes eight\n",
            "x:1: Nodes: a whole number from 1 to 2^31 - 1 required, given eight",
        ),
        (read_htsim, "Nods 8\n", "x:1: unknown word 'Nods': did you mean 'nodes'?"),
        (
            read_htsim,
            LEAF_SPINE + "Radix_Down 4\n",
            "x:14: Radix_Down occurs twice, first in line 12",
        ),
        (read_htsim, LEAF_SPINE + "Tier 1\n", "x:14: Tier 1: occurs twice"),
        (read_htsim, LEAF_SPINE.replace("Tier 1", "Tier 2"), "x: lacks 'Tier 1' of 2 tiers"),
        (
            read_htsim,
            LEAF_SPINE.replace("Radix_Up 2", "Radix_Up 4"),
            "x:7: Radix_Down 8 over Radix_Up 4 of tier 0 must be Oversubscribed 4",
        ),
        (
            read_htsim,
            LEAF_SPINE.replace("Podsize 32", "Podsize 30"),
            "x:3: Podsize 30 must divide the 32 nodes",
        ),
        (
            read_htsim,
            LEAF_SPINE.replace("Radix_Down 4", "Radix_Down 2"),
            "x:12: 32 hosts in 1 pods at these speeds need 8 links up, so Radix_Down 2 of tier 1 "
            "gives 4 switches a pod with Bundle 1; Radix_Up of tier 0 is 2",
        ),
        (
            read_htsim,
            THREE_TIERS.replace("bundle 2", "bundle 1"),
            "x:18: 16 links up from tier 1 over Radix_Down 4 of tier 2 give 4 core switches for 2 "
            "aggregation switches a pod with Bundle 1; Radix_Up of tier 1 is 4",
        ),
        (read_htsim, LEAF_SPINE.replace("Nodes 32", f"Nodes {2**30}"), f"x:1: Nodes {2**30}: "),
        (
            read_anynet,
            "router 0 nodes 1\n",
            "x:1: 'nodes': 'node N', 'router N' or a link's latency required",
        ),
        (
            read_anynet,
            "router 0\nrouter x node 1\n",
            "x:2: router 'x': a number from 0 to 2^31 - 1 required",
        ),
        (
            read_anynet,
            "node 0 node 1\n",
            "x:1: joins node 0 to node 1; a node is joined to a router",
        ),
        (read_anynet, "router 0 router 0\n", "x:1: joins router 0 to itself"),
        (
            read_anynet,
            "router 0 router 1\n",
            "x: all 2 names are routers; at least 1 node required",
        ),
        (read_anynet, "\n", "x: joins nothing"),
    ],
)
def test_errors_name_file_place_and_rule(
    reader: Callable[[str, str], object], text: str, line: str
) -> None:
    with pytest.raises(InputError) as raised:
        reader(text, "x")
    assert str(raised.value).startswith(line)


READERS: dict[str, Callable[[str, str], Any]] = {
    "a.json": read_node_link,
    "demands.json": read_demands,
    "a.topo": read_htsim,
    "a.anynet": read_anynet,
}


@settings(max_examples=120)
@given(st.sampled_from(sorted(READERS)), st.randoms(use_true_random=False))
def test_mutants_are_read_or_refused(name: str, random: Any) -> None:
    text = mutant(name, TEXTS[name].encode(), random).decode(errors="replace")
    with suppress(ConsetError):  # anything else fails the test
        found = READERS[name](text, name)
        if isinstance(found, Graph):
            Topology.of_graph(found, 1e9)


def test_routes_of_a_leaf_spine_climb_and_descend() -> None:
    topology = Topology.of_graph(read_htsim(LEAF_SPINE), 1e9)
    offsets, _ = route_links(
        topology, Routing("shortest-path"), np.array([0, 0], np.int32), np.array([1, 31], np.int32)
    )
    assert np.diff(offsets).tolist() == [2, 4]


@pytest.mark.parametrize(("weights", "noted"), [((4.0, 1.0), True), ((1.0, 1.0), False)])
def test_weights_that_differ_and_are_not_used_are_noted(
    weights: tuple[float, float], noted: bool
) -> None:
    nodes = "".join(f" node [ id {k} ]" for k in range(3))
    ends = zip(((0, 1), (1, 2)), weights, strict=True)
    edges = "".join(f" edge [ source {a} target {b} weight {w} ]" for (a, b), w in ends)
    graph = read_gml(f"graph [{nodes}{edges} ]")
    assert ["weights of edges" in note for note in graph.notes] == [True] * noted
    wide = edges.replace("weight", "width 2 weight")
    assert read_gml(f"graph [{nodes}{wide} ]").notes == ()
