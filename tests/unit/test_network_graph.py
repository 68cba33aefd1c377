"""Graphs: GraphML, GML and edge lists to networks, shortest paths by the rule, route tables, and
located errors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import ConsetError, InputError
from conset.machine.network.graph import Graph
from conset.machine.network.graph_files import read_edge_list, read_gml, read_graph, read_graphml
from conset.machine.network.routing import next_hops, route_table
from conset.machine.network.topology import Topology, require_connected, without
from conset.machine.spec import parse_machine

TREE = """# two switches, four endpoints
endpoints 4
0 4 rate=10GB/s
1 4
2 5
3 5
4 5 width=2  # the trunk
"""

GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="type" attr.type="string"><default>endpoint</default></key>
  <key id="d1" for="edge" attr.name="width" attr.type="int"/>
  <key id="d2" for="edge" attr.name="rate" attr.type="string"/>
  <key id="d3" for="node" attr.name="label" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="spine"><data key="d0">switch</data></node>
    <node id="a"><data key="d3">Denver</data></node>
    <node id="b"/>
    <edge source="a" target="spine"><data key="d1">2</data></edge>
    <edge source="spine" target="b"><data key="d2">100 Gb/s</data></edge>
    <edge source="a" target="b" directed="true"/>
  </graph>
</graphml>
"""

GML = """graph [
  directed 0
  node [ id 7 label "New York" ]
  node [ id 3 label "Chicago" ]
  node [ id 9 type "switch" ]
  edge [ source 7 target 9 width 3 ]
  edge [ source 9 target 3 ]
]
"""


def links(topology: Topology) -> list[tuple[int, int]]:
    return list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))


def test_edge_list_with_switches_widths_and_rates() -> None:
    topology = Topology.of_graph(read_edge_list(TREE), 5e9)
    assert (topology.kind, topology.nodes, topology.endpoints, topology.labels) == (
        "graph",
        6,
        4,
        (),
    )
    assert links(topology) == [
        (0, 4),
        (1, 4),
        (2, 5),
        (3, 5),
        (4, 0),
        (4, 1),
        (4, 5),
        (5, 2),
        (5, 3),
        (5, 4),
    ]
    assert topology.widths().tolist() == [1, 1, 1, 1, 1, 1, 2, 1, 1, 2]
    assert topology.link_rate_Bps is not None
    # only 0-4 has its own rate, the others take the machine's
    assert topology.link_rate_Bps.tolist() == [10e9, 5e9, 5e9, 5e9, 10e9, 5e9, 5e9, 5e9, 5e9, 5e9]


def test_edge_list_without_words_stores_no_widths_and_rates() -> None:
    topology = Topology.of_graph(read_edge_list("0 1\n1 2\n"), 5e9)
    assert topology.link_width is None
    assert topology.link_rate_Bps is None


def test_names_keep_their_order_and_numbers_rise() -> None:
    named = Topology.of_graph(read_edge_list("b a\na c\n"), 1e9)
    assert named.labels == ("b", "a", "c")
    numbers = Topology.of_graph(read_edge_list("10 2\n2 3\n"), 1e9)
    assert numbers.labels == ("2", "3", "10")


def test_parallel_edges_are_links_of_their_own() -> None:
    """In the order of the lines, each with its width and rate."""
    text = "0 1 rate=1GB/s\n0 1 width=3 rate=2GB/s\n1 0 rate=3GB/s\n"
    topology = Topology.of_graph(read_edge_list(text), 1e9)
    assert links(topology) == [(0, 1)] * 3 + [(1, 0)] * 3
    assert topology.widths().tolist() == [1, 3, 1, 1, 3, 1]
    assert topology.link_rate_Bps is not None
    assert topology.link_rate_Bps.tolist() == [1e9, 2e9, 3e9, 1e9, 2e9, 3e9]
    assert topology.parallel


def test_directed_edges_go_one_way() -> None:
    assert links(Topology.of_graph(read_edge_list("directed\n0 1\n1 2\n2 0\n"), 1e9)) == [
        (0, 1),
        (1, 2),
        (2, 0),
    ]


def test_graphml() -> None:
    topology = Topology.of_graph(read_graphml(GRAPHML), 25e9)
    assert topology.labels == ("Denver", "b", "spine")
    assert (topology.endpoints, topology.nodes) == (2, 3)
    assert links(topology) == [(0, 1), (0, 2), (1, 2), (2, 0), (2, 1)]
    assert topology.widths().tolist() == [1, 2, 1, 2, 1]
    assert topology.link_rate_Bps is not None
    assert topology.link_rate_Bps.tolist() == [25e9, 25e9, 12.5e9, 25e9, 12.5e9]


def test_gml() -> None:
    topology = Topology.of_graph(read_gml(GML), 1e9)
    assert topology.labels == ("New York", "Chicago", "9")
    assert topology.endpoints == 2
    assert links(topology) == [(0, 2), (1, 2), (2, 0), (2, 1)]
    assert topology.widths().tolist() == [3, 1, 3, 1]


def test_abilene_has_eleven_nodes_and_fourteen_edges(shared_data: Path) -> None:
    topology = Topology.of_graph(
        read_graph(shared_data / "topologies" / "topozoo" / "Abilene.gml"), 1e9
    )
    assert (topology.endpoints, topology.links) == (11, 28)
    assert topology.labels[:2] == ("New York", "Chicago")


@pytest.mark.parametrize(
    ("reader", "text", "line"),
    [
        (read_edge_list, "0 1\n2\n", "x:2: an edge needs two nodes, has 1"),
        (read_edge_list, "0 1 3\n", "x:1: '3': expected width=N or rate=RATE after the two nodes"),
        (read_edge_list, "0 1 widht=3\n", "x:1: unknown word 'widht': did you mean 'width'?"),
        (
            read_edge_list,
            "0 1 width=0\n",
            "x:1: width '0': must be a whole number from 1 to 2^31 - 1",
        ),
        (
            read_edge_list,
            "0 1 rate=-1GB/s\n",
            "x:1: rate '-1GB/s': must be above 0 B/s, is -1e+09 B/s",
        ),
        (read_edge_list, "0 1\n1 1\n", "x:2: edge joins node '1' to itself"),
        (read_edge_list, "endpoints 5\n0 1\n", "x: endpoints 5: the edges name only 2 nodes"),
        (
            read_edge_list,
            "endpoints none\n0 1\n",
            "x:1: 'endpoints' must be followed by a whole number of at least 1",
        ),
        (read_edge_list, "# nothing\n", "x: has no edges"),
        (read_graphml, "<graphml><graph>", "x:1: no well-formed XML: no element found"),
        (read_graphml, "<graphml/>", "x: has no <graph>"),
        (read_graphml, "<graphml><graph/></graphml>", "x: has no nodes"),
        (
            read_graphml,
            "<graphml><graph>\n<node id='a'/>\n<edge source='a' target='b'/></graph></graphml>",
            "x:3: edge to unknown node 'b'",
        ),
        (
            read_graphml,
            "<graphml><graph>\n<node/></graph></graphml>",
            "x:2: <node> lacks its attribute 'id'",
        ),
        (
            read_graphml,
            "<graphml><graph><node id='a'/>\n<node id='a'/></graph></graphml>",
            "x:2: node 'a' is given twice",
        ),
        (
            read_graphml,
            "<graphml><graph>\n<hyperedge/></graph></graphml>",
            "x:2: hyperedges are not supported; every edge joins two nodes",
        ),
        (
            read_graphml,
            "<graphml><key id='type' for='node'/><graph><node id='a'><data "
            "key='type'>switch</data></node></graph></graphml>",
            "x: 1 node, all switches; at least 1 endpoint required",
        ),
        (
            read_gml,
            "graph [\n node [ id 1 ]\n",
            "x:2: ends inside a list or after a key; the file is cut short",
        ),
        (read_gml, "graph [\n node [ label 1 ]\n]", "x:2: node lacks its key 'id'"),
        (read_gml, "]", "x:1: ']' without a list that it ends"),
        (read_gml, "a 1", "x: has 0 graphs; one is required"),
    ],
)
def test_wrong_graphs(reader: Callable[[str, str], Graph], text: str, line: str) -> None:
    with pytest.raises(ConsetError) as caught:
        reader(text, "x")
    assert type(caught.value) is InputError
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "0 1\n2 3\n",
            "x: disconnected: node 0 cannot reach node 2; every endpoint must reach every other",
        ),
        (
            "directed\n0 1\n1 0\n0 2\n",
            "x: disconnected: node 2 cannot reach node 0; every endpoint must reach every other",
        ),
    ],
)
def test_graphs_that_do_not_fit(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        Topology.of_graph(read_edge_list(text, "x"), 5e9)
    assert str(caught.value) == line


def test_a_switch_may_be_cut_off() -> None:
    assert Topology.of_graph(read_edge_list("endpoints 2\n0 1\n2 3\n"), 1e9).endpoints == 2


def test_files_by_suffix(tmp_path: Path) -> None:
    path = tmp_path / "net.edges"
    path.write_text(TREE)
    assert parse_machine(str(path)).topology.links == 10
    with pytest.raises(InputError) as caught:
        read_graph(tmp_path / "net.xyz")
    suffixes = ".graphml, .gml, .edges, .edgelist, .txt, .json, .topo, .anynet"
    assert (
        str(caught.value)
        == f"{tmp_path}/net.xyz: a graph's suffix must be one of {suffixes}, is '.xyz'"
    )
    (tmp_path / "bad.edges").write_bytes(b"0 1\xff")
    with pytest.raises(InputError, match=r"is not UTF-8 text \(byte 3\)$"):
        read_graph(tmp_path / "bad.edges")


def random_graph(seed: int, nodes: int = 12) -> Topology:
    rng = np.random.default_rng(seed)
    pairs = {(k, (k + 1) % nodes) for k in range(nodes)}
    pairs |= {(int(a), int(b)) for a, b in rng.integers(nodes, size=(2 * nodes, 2)) if a != b}
    text = "directed\n" + "".join(f"{a} {b}\n" for a, b in sorted(pairs))
    return Topology.of_graph(read_edge_list(text), 1e9)


@pytest.mark.parametrize("seed", range(5))
def test_next_hops_against_the_slow_definition(seed: int) -> None:
    topology = random_graph(seed)
    distance = np.full((topology.nodes, topology.nodes), 99)
    np.fill_diagonal(distance, 0)
    distance[topology.link_source, topology.link_target] = 1
    for via in range(topology.nodes):  # Floyd and Warshall
        distance = np.minimum(distance, distance[:, via : via + 1] + distance[via])
    for target in range(topology.nodes):
        hops = next_hops(topology, target)
        for node in range(topology.nodes):
            nearer = [
                b
                for a, b in links(topology)
                if a == node and distance[b, target] == distance[node, target] - 1
            ]
            assert hops[node] == (min(nearer) if node != target else -1)


def test_route_table_keeps_listed_paths_and_fills_in_the_others() -> None:
    topology = Topology.of_graph(read_edge_list("0 1\n1 2\n2 3\n3 0\n"), 1e9)
    routing = route_table(topology, [[0, 3, 2], [0, 3, 2, 1]])
    assert routing.rule == "table"
    assert routing.table_offsets is not None
    assert routing.table_links is not None
    pairs = links(topology)
    for source in range(4):
        for target in range(4):
            pair = source * 4 + target
            path = routing.table_links[
                routing.table_offsets[pair] : routing.table_offsets[pair + 1]
            ].tolist()
            nodes = [pairs[link][0] for link in path] + ([pairs[path[-1]][1]] if path else [])
            if source == target:
                assert not nodes
            else:
                assert (nodes[0], nodes[-1]) == (source, target)
                assert all(pairs[a][1] == pairs[b][0] for a, b in pairwise(path))
            if (source, target) in ((0, 2), (0, 1)):
                assert nodes == {2: [0, 3, 2], 1: [0, 3, 2, 1]}[target]
            elif (source, target) == (2, 0):
                assert nodes == [2, 1, 0]  # 1 and 3 are as near: the lower index


@pytest.mark.parametrize(
    ("routes", "line"),
    [
        ([[0, 2]], "routes[0]: no link from 0 to 2"),
        ([[0]], "routes[0] = [0]: must join two different nodes"),
        ([[0, 1, 0]], "routes[0] = [0, 1, 0]: must join two different nodes"),
        ([[0, 1, 2, 1, 3]], "routes[0] = [0, 1, 2, 1, 3]: visits a node twice"),
        ([[0, 1], [0, 3, 2, 1]], "routes[1]: a second route from 0 to 1"),
        ([[0, 9]], "routes[0]: ends at node 9, must be an endpoint from 0 to 3"),
        ([[0, 1], []], "routes[1] = []: must join two different nodes"),
    ],
)
def test_wrong_routes(routes: list[list[int]], line: str) -> None:
    topology = Topology.of_graph(read_edge_list("0 1\n1 2\n2 3\n3 0\n"), 1e9)
    with pytest.raises(InputError) as caught:
        route_table(topology, routes)
    assert str(caught.value) == line


def test_survivors_of_a_torus_keep_their_links() -> None:
    torus = Topology.torus(4, 4)
    survivors = without(torus, [5])
    require_connected(survivors)
    old = [int(label) for label in survivors.labels]
    source, target = torus.ends
    expected = {(int(a), int(b)) for a, b in zip(source, target, strict=True) if 5 not in (a, b)}
    assert {(old[a], old[b]) for a, b in links(survivors)} == expected


def test_dead_links_leave_all_nodes_where_they_are() -> None:
    mesh = Topology.mesh(2, 3)
    cut = without(mesh, [], [(1, 4)])
    assert (cut.nodes, cut.links) == (6, mesh.links - 2)
    pairs = set(zip(cut.link_source.tolist(), cut.link_target.tolist(), strict=True))
    assert (1, 4) not in pairs
    assert (4, 1) not in pairs
    with pytest.raises(InputError, match="nodes 0 and 5 are not joined"):
        without(mesh, [], [(0, 5)])
    with pytest.raises(InputError, match="disconnected"):
        without(Topology.mesh(1, 3), [], [(0, 1)])


def test_widths_have_a_limit_that_sums_with_loads_stay_below() -> None:
    """Above it, int32 sums in the core overflowed and a compile ended in a segmentation fault."""
    networkx = pytest.importorskip("networkx")
    edges = [(0, 1, {"width": 2**31 - 1}), (1, 2)]
    with pytest.raises(InputError, match="must be at most 536870912"):
        Topology.from_networkx(networkx.Graph(edges))
    with pytest.raises(InputError, match="width = 536870913: must be at most 536870912"):
        Topology.ring(4, width=2**29 + 1)


YED = """<graphml xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d6" yfiles.type="nodegraphics"/>
<key for="edge" id="d10" yfiles.type="edgegraphics"/>
<graph edgedefault="directed" id="G">
{nodes}
<edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge>
<y:Arrows source="{first[0]}" target="{first[1]}"/></y:PolyLineEdge></data></edge>
<edge id="e1" source="n2" target="n1"><data key="d10"><y:PolyLineEdge>
<y:Arrows source="none" target="none"/></y:PolyLineEdge></data></edge>
</graph></graphml>
"""
YED_NODES = "".join(
    f'<node id="n{k}"><data key="d6"><y:ShapeNode><y:NodeLabel>{name}</y:NodeLabel>'
    "<y:NodeLabel>second</y:NodeLabel></y:ShapeNode></data></node>\n"
    for k, name in enumerate(("host A", "hub", "host B"))
)


@pytest.mark.parametrize(
    ("arrows", "pairs"),
    [
        (("none", "none"), {(0, 1), (1, 0), (1, 2), (2, 1)}),
        (("standard", "delta"), {(0, 1), (1, 0), (1, 2), (2, 1)}),
        (("none", "standard"), {(0, 1), (1, 2), (2, 1)}),
        (("standard", "none"), {(1, 0), (1, 2), (2, 1)}),
    ],
)
def test_an_edge_that_yed_draws_goes_where_its_arrows_point(
    arrows: tuple[str, str], pairs: set[tuple[int, int]]
) -> None:
    """Every drawing of yEd says that it is directed; only one arrow makes an edge one-way."""
    graph = read_graphml(YED.format(nodes=YED_NODES, first=arrows))
    assert {(edge.source, edge.target) for edge in graph.edges} == pairs
    assert graph.labels == ("host A", "hub", "host B"), "the first label is the name"


def test_a_drawing_of_one_way_links_says_why_it_is_disconnected() -> None:
    text = "directed\n0 1\n1 2\n"
    with pytest.raises(InputError, match="all links go one way, as the file says"):
        Topology.of_graph(read_edge_list(text), 1e9)


def test_texts_of_gml_may_have_several_lines() -> None:
    text = '# not "read\ngraph [\n node [ id 0 label "rack 7\n# row B" ]\n node [ id 1 ]\n'
    graph = read_gml(text + " edge [ source 0 target 1 width 2.0 ]\n]\n")
    assert graph.labels[0] == "rack 7 # row B"
    assert {edge.width for edge in graph.edges} == {2}, "Gephi writes whole numbers as fractions"
    with pytest.raises(InputError, match=":3: a text begins here that does not end"):
        read_gml('graph [\n node [ id 0 ]\n node [ id 1 label "x ]\n')
    with pytest.raises(InputError, match=r"width '2.5': must be a whole number"):
        read_gml(text + " edge [ source 0 target 1 width 2.5 ]\n]\n")
