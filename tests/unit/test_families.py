"""Networks in words: shapes against closed forms of their sources, routes, records and errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from conset import bound, compile, load_machine, simulate, verify
from conset.base.errors import ConsetError, InputError, UsageError
from conset.cli.options import MACHINES, completing
from conset.machine.machine import Machine
from conset.machine.network.families import FAMILIES, build_family, parse_family, registered
from conset.machine.network.routes import route_hops, route_links, route_nodes
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import machine_of_record, machine_of_topology, with_settings
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.report.machine import families_object
from conset.verification.timeline.check import check_timeline
from support.hand_made import same_machine

SMALL = (
    "fat-tree:k=4",
    "fat-tree:k=4,taper=2",
    "leaf-spine:leaves=3,spines=2,hosts=3",
    "dragonfly:groups=5,routers=2,nodes=2",
    "rails:hosts=3,gpus=3",
    "rails:hosts=4,gpus=2,leaf=2,spines=2",
    "hyperx:sides=3x2,nodes=2",
    "slim-fly:q=3",
    "express-mesh:sides=5x3,interval=2",
)


def pairs(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.divmod(
        np.arange(topology.endpoints**2, dtype=np.int32), np.int32(topology.endpoints)
    )
    return source, target


def diameter(topology: Topology) -> int:
    return int(route_hops(topology, Routing("shortest-path"), *pairs(topology)).max())


def degrees(topology: Topology, level: int) -> set[int]:
    """Ports in use of the nodes of a level."""
    ports = np.bincount(topology.link_source, topology.widths(), topology.nodes)
    return set(ports[topology.level == level].astype(int).tolist())


@pytest.mark.parametrize(("k", "levels"), [(2, 3), (4, 2), (4, 3), (8, 3), (4, 4), (6, 1)])
def test_fat_trees_have_the_sizes_of_their_source(k: int, levels: int) -> None:
    """Lin, Chung, Huang 2004: 2 (m/2)^n nodes and (2n - 1) (m/2)^(n-1) switches of m ports.

    Al-Fares: k³/4 at 3.
    """
    tree = build_family(f"fat-tree:k={k},levels={levels}")
    assert tree.endpoints == 2 * (k // 2) ** levels
    assert tree.nodes - tree.endpoints == (2 * levels - 1) * (k // 2) ** (levels - 1)
    assert all(degrees(tree, level) == {k} for level in range(1, levels + 1))
    assert tree.links == 2 * levels * tree.endpoints
    assert diameter(tree) == 2 * levels


@pytest.mark.parametrize(("taper", "up"), [(1, 4), (2, 2), (4, 1)])
def test_a_taper_thins_the_uplinks_of_leaf_switches(taper: int, up: int) -> None:
    tree = build_family(f"fat-tree:k=8,levels=3,taper={taper}")
    leaf = tree.level == 1
    upward = leaf[tree.link_source] & (tree.level[tree.link_target] == 2)
    assert set(np.bincount(tree.link_source[upward])[leaf.nonzero()[0]].tolist()) == {up}
    assert degrees(tree, 2) == {8}
    assert degrees(tree, 3) == {8}
    assert (tree.level == 3).sum() == 4 * up


def test_leaf_and_spine() -> None:
    tree = build_family("leaf-spine:leaves=3,spines=2,hosts=5")
    assert (tree.endpoints, tree.nodes, tree.links) == (15, 20, 2 * (15 + 6))
    assert degrees(tree, 1) == {7}
    assert degrees(tree, 2) == {3}
    assert tree.labels[0] == "host0.0"
    assert tree.labels[14:] == ("host2.4", "leaf0", "leaf1", "leaf2", "spine0", "spine1")
    assert tree.group.tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [0, 1, 2, -1, -1]


@pytest.mark.parametrize("spec", ["fat-tree:k=4", "fat-tree:k=6,levels=2", "fat-tree:k=4,levels=4"])
def test_dmodk_carries_every_shift_of_a_full_fat_tree_without_contention(spec: str) -> None:
    """Zahavi 2010: D-mod-k routes every shift permutation on a full fat tree over links of their
    own."""
    machine = load_machine(spec)
    source = np.arange(machine.topology.endpoints, dtype=np.int32)
    for shift in range(1, source.size):
        target = (source + shift) % source.size
        links = route_links(machine.topology, machine.routing, source, target.astype(np.int32))[1]
        assert np.bincount(links).max() == 1


@pytest.mark.parametrize("h", [1, 2, 3])
def test_balanced_dragonflies(h: int) -> None:
    """Kim et al. 2008: a = 2p = 2h and g = a h + 1 groups, each two joined by one link.

    P + a + h - 1 ports.
    """
    a, groups = 2 * h, 2 * h * h + 1
    network = build_family(f"dragonfly:groups={groups},routers={a},nodes={h},global={h}")
    assert network.endpoints == a * h * groups
    assert degrees(network, 1) == {h + a + h - 1}
    assert diameter(network) <= 5
    joined = global_links(network)
    assert set(joined[~np.eye(groups, dtype=bool)].tolist()) == {1}


def global_links(network: Topology) -> np.ndarray:
    """shape=(groups, groups): links between each two groups, counted by width."""
    group = network.group
    groups = int(group.max()) + 1
    crosses = group[network.link_source] != group[network.link_target]
    joined = np.zeros((groups, groups), np.int64)
    ends = group[network.link_source[crosses]], group[network.link_target[crosses]]
    np.add.at(joined, ends, network.widths()[crosses])
    return joined


@pytest.mark.parametrize(
    ("words", "joins"),
    [
        ("groups=5,routers=3,nodes=1,global=3", 2),  # 9 ports, 8 in use
        ("groups=4,routers=2,nodes=1,joins=3", 3),
        ("groups=3,routers=1,nodes=2,joins=3", 3),
        ("groups=7,routers=8,nodes=1", 1),
    ],
)
def test_global_links_are_dealt_evenly(words: str, joins: int) -> None:
    network = build_family(f"dragonfly:{words}")
    joined = global_links(network)
    assert set(joined[~np.eye(len(joined), dtype=bool)].tolist()) == {joins}
    assert (joined == joined.T).all()
    ports = np.bincount(
        network.link_source,
        network.widths()
        * (network.group[network.link_source] != network.group[network.link_target]),
        network.nodes,
    )[network.endpoints :]
    assert ports.max() - ports.min() <= 1


def test_rails_take_other_indices_through_the_fast_domain_of_the_sender() -> None:
    machine = load_machine("rails:hosts=4,gpus=2,leaf=2,spines=2")
    network = machine.topology
    source, target = np.zeros(4, np.int32), np.array([1, 2, 3, 7], np.int32)
    offsets, nodes = route_nodes(network, machine.routing, source, target)
    ways = [
        " ".join(network.labels[node] for node in nodes[a:b]) for a, b in pairwise(offsets.tolist())
    ]
    assert ways[:3] == [
        "gpu0.0 fast0 gpu0.1",
        "gpu0.0 rail0.leaf0 gpu1.0",
        "gpu0.0 fast0 gpu0.1 rail1.leaf0 gpu1.1",
    ]
    assert ways[3].split()[:4] == ["gpu0.0", "fast0", "gpu0.1", "rail1.leaf0"]
    assert ways[3].split()[5:] == ["rail1.leaf1", "gpu3.1"]
    fast = network.level[network.link_target] == 1
    assert set(network.link_rate_Bps[fast].tolist()) == {9 * 25e9}
    assert machine.costs.port_out_Bps == 10 * 25e9


@pytest.mark.parametrize(
    ("sides", "nodes"), [((4, 4), 2), ((2, 3, 4), 1), ((2, 2, 2), 1), ((5,), 3)]
)
def test_hyperx_has_the_degrees_and_the_bisection_of_its_source(
    sides: tuple[int, ...], nodes: int
) -> None:
    """Ahn et al. 2009: a router has T + Σ (S_k - 1) links.

    A side S even is halved by (S/2)² · Π others links.
    """
    network = build_family(f"hyperx:sides={'x'.join(map(str, sides))},nodes={nodes}")
    routers = int(np.prod(sides))
    assert (network.endpoints, network.nodes) == (routers * nodes, routers * (nodes + 1))
    assert degrees(network, 1) == {nodes + sum(side - 1 for side in sides)}
    assert diameter(network) == 2 + sum(side > 1 for side in sides)
    if sides[0] % 2 == 0:
        low = network.group < sides[0] // 2
        cut = low[network.link_source] & ~low[network.link_target]
        assert cut.sum() == (sides[0] // 2) ** 2 * routers // sides[0]


def test_a_hyperx_of_sides_of_two_is_a_hypercube() -> None:
    network, cube = build_family("hyperx:sides=2x2x2,nodes=1,widths=1;1;1;3"), Topology.hypercube(3)
    between = network.link_source >= 8
    between &= network.link_target >= 8
    assert set(
        zip(*(end[between] - 8 for end in (network.link_source, network.link_target)), strict=True)
    ) == set(zip(*cube.ends, strict=True))
    wide = np.abs(network.link_source - network.link_target)[between] == 1
    assert set(network.link_width[between][wide].tolist()) == {3}
    assert set(network.link_width[between][~wide].tolist()) == {1}


@pytest.mark.parametrize(
    ("q", "degree"), [(3, 5), (4, 6), (5, 7), (7, 11), (8, 12), (9, 13), (11, 17)]
)
def test_slim_flies_have_the_degree_and_the_diameter_of_their_source(q: int, degree: int) -> None:
    """Besta, Hoefler 2014: 2 q² routers of degree (3q - δ)/2, diameter 2.

    Q = 5 is the Hoffman-Singleton graph.
    """
    network = build_family(f"slim-fly:q={q}")
    routers = 2 * q * q
    assert (network.endpoints, network.nodes) == (routers, 2 * routers)
    assert degrees(network, 1) == {degree + 1}
    joined = np.eye(routers, dtype=np.float32)
    inner = (network.link_source >= routers) & (network.link_target >= routers)
    joined[network.link_source[inner] - routers, network.link_target[inner] - routers] = 1
    assert inner.sum() == routers * degree
    assert (joined @ joined > 0).all()


@pytest.mark.parametrize("q", [2, 6, 10, 12, 15])
def test_no_slim_fly_without_a_field(q: int) -> None:
    with pytest.raises(UsageError, match=rf"q={q}: must be"):
        build_family(f"slim-fly:q={q}")


def test_express_links_bypass_a_mesh() -> None:
    """Dally 1991, on a line of 9 with an interval of 4: two bypasses.

    Node 0 reaches 8 in 2 hops instead of 8.
    """
    line = build_family("express-mesh:sides=9,interval=4")
    assert line.links == 2 * (8 + 2)
    hops = route_hops(line, Routing("minimal"), np.zeros(9, np.int32), np.arange(9, dtype=np.int32))
    assert hops.tolist() == [0, 1, 2, 2, 1, 2, 3, 3, 2]
    plane = build_family("express-mesh:sides=8x8,interval=4")
    mesh = set(zip(*Topology.mesh(8, 8).ends, strict=True))
    mine = set(zip(plane.link_source, plane.link_target, strict=True))
    assert {pair for pair in mesh if pair[0] != pair[1]} <= mine
    assert len(mine) == 224 + 2 * (8 + 8)


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("rule", ["shortest-path", "minimal", "dmodk"])
def test_schedules_over_every_rule_verify(spec: str, rule: str) -> None:
    machine = load_machine(f"{spec},routing={rule}")
    assert verify(compile("random:degree=3,seed=1", machine, method="first-fit")).ok


@pytest.mark.parametrize(
    "spec", ["fat-tree:k=4,taper=2,levels=2", "dragonfly:groups=3,routers=2,nodes=1"]
)
@pytest.mark.parametrize(
    "method", ["rs-n", "rs-nl", "coloring", "negotiated", "event-list", "connections", "pex-gen"]
)
def test_methods_hold_on_families(spec: str, method: str) -> None:
    schedule = compile("alltoall", spec, method=method)
    found = bound(schedule.pattern, spec, limits=schedule.limits, sync=schedule.sync)
    assert verify(schedule).ok
    assert found.phases <= schedule.phases
    assert found.time_s <= simulate(schedule, model="flow").end_s.max() * (1 + 1e-9)


POOLS = [*zip(SMALL, (1, 1, 1, 2, 3, 3, 2, 3, 4), strict=True)]


@pytest.mark.parametrize(("spec", "pools"), POOLS)
def test_headers_of_everything_at_once_do_not_deadlock(spec: str, pools: int) -> None:
    """Virtual channels by the links between nodes of one level.

    Trees need one pool, dragonflies one a global link.
    """
    schedule = compile("alltoall:size=4KiB", spec, method="naive", sync="none")
    timeline = simulate(schedule, model="wormhole", lanes=1)
    assert timeline.figures["pools"] == pools
    work, machine = Workload.of_schedule(schedule), schedule.machine
    assert not check_timeline(timeline, work, machine, Settings.of(machine.costs, lanes=1))


@pytest.mark.parametrize(("spec", "pools"), POOLS)
def test_full_buffers_of_everything_at_once_do_not_deadlock(spec: str, pools: int) -> None:
    """As headers: a buffer behind every link for each pool, here of one packet."""
    schedule = compile(
        "alltoall:size=4KiB", f"{spec},packet=256B,link_buffers=256B", method="naive", sync="none"
    )
    assert simulate(schedule, model="packet").figures["pools"] == pools


@pytest.mark.parametrize("spec", SMALL)
def test_minimal_is_nearest_and_takes_the_numbered_neighbour(spec: str) -> None:
    machine = load_machine(f"{spec},routing=minimal")
    network = machine.topology
    source, target = pairs(network)
    offsets, nodes = route_nodes(network, machine.routing, source, target)
    cost = np.ones(network.links, int)
    if spec.startswith(
        ("dragonfly", "hyperx", "express-mesh")
    ):  # rows of 2 and 3 are full meshes too
        cost[network.group[network.link_source] != network.group[network.link_target]] = 3
    far = slow_distances(network, cost)
    ways = {(int(u), int(v)): int(each) for u, v, each in zip(*network.ends, cost, strict=True)}
    heads = [network.link_target[network.link_source == v].tolist() for v in range(network.nodes)]
    for k in range(0, source.size, 7):
        way, t = nodes[offsets[k] : offsets[k + 1]].tolist(), int(target[k])
        for v, w in pairwise(way):
            nearer = sorted(u for u in heads[v] if far[u, t] + ways[v, u] == far[v, t])
            assert w == nearer[t % len(nearer)]


def test_minimal_routes_of_a_dragonfly_take_one_global_link() -> None:
    """Kim et al. 2008: at most a local, a global and a local link, so that all groups load their
    links alike."""
    machine = load_machine("dragonfly:groups=9,routers=4,nodes=2")
    network = machine.topology
    source, target = pairs(network)
    offsets, links = route_links(network, machine.routing, source, target)
    crosses = network.group[network.link_source] != network.group[network.link_target]
    over = np.diff(np.concatenate([[0], np.cumsum(crosses[links])])[offsets])
    assert np.array_equal(over, network.group[source] != network.group[target])
    assert set(np.bincount(links, minlength=network.links)[crosses].tolist()) == {8 * 8}
    assert np.diff(offsets).max() == 5


def slow_distances(network: Topology, cost: np.ndarray) -> np.ndarray:
    """Floyd and Warshall."""
    far = np.full((network.nodes, network.nodes), 10**6)
    np.fill_diagonal(far, 0)
    far[network.link_source, network.link_target] = cost
    for v in range(network.nodes):
        far = np.minimum(far, far[:, v : v + 1] + far[v])
    return far


@pytest.mark.parametrize("spec", SMALL)
def test_records_name_the_family(spec: str) -> None:
    machine = load_machine(f"{spec},link=50GB/s")
    changed = with_settings(machine, "overhead=3us")
    record = changed.to_spec()
    assert isinstance(record, dict)
    assert record["network"] == {
        "family": str(machine.topology.family),
        "routing": machine.routing.rule,
    }
    for each in (machine, changed, machine_of_topology(machine.topology)):
        assert same_machine(machine_of_record(each.to_spec()), each)


def test_a_network_that_its_words_no_longer_say_is_recorded_link_by_link() -> None:
    machine = load_machine("leaf-spine:leaves=2,spines=2,hosts=2")
    network = machine.topology
    wider = replace(network, link_width=np.full(network.links, 2, np.int32))
    changed = Machine("wider", wider, machine.routing, machine.costs)
    record = changed.to_spec()
    assert "family" not in record["network"]
    assert same_machine(machine_of_record(record), changed)


def test_rates_are_multiples_of_link_whatever_it_is() -> None:
    machine = load_machine("leaf-spine:leaves=2,spines=2,hosts=2,rates=1x;2x")
    for link, costs in ((25e9, machine), (1e9, with_settings(machine, "link=1GB/s"))):
        assert set(costs.topology.link_rate_Bps.tolist()) == {link, 2 * link}
        assert costs.costs.port_out_Bps == link
    fixed = load_machine(
        "leaf-spine:leaves=2,spines=2,hosts=2,rates=10GB/s;40GB/s,widths=1;3,port=5GB/s"
    )
    assert set(fixed.topology.link_rate_Bps.tolist()) == {10e9, 40e9}
    assert set(fixed.topology.link_width.tolist()) == {1, 3}
    assert fixed.costs.port_out_Bps == 5e9


def test_dead_nodes_and_links_are_taken_out() -> None:
    whole, hurt = build_family("fat-tree:k=4"), build_family("fat-tree:k=4,dead=3;35;16-24")
    assert (hurt.endpoints, hurt.nodes, hurt.links) == (15, 34, whole.links - 2 - 8 - 2)
    assert hurt.labels[3] == whole.labels[4]
    assert hurt.level.tolist() == [
        level for node, level in enumerate(whole.level.tolist()) if node not in (3, 35)
    ]
    assert verify(compile("alltoall", "fat-tree:k=4,dead=3;35;16-24", method="first-fit")).ok


def test_machine_files_name_a_family(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "tree.toml"
    path.write_text(
        '[network]\nfamily = "fat-tree:k=4,taper=2"\nrouting = "minimal"\n[costs]\nlink = '
        '"12.5GB/s"\n'
    )
    machine = load_machine(path)
    assert (machine.topology.endpoints, machine.routing.rule, machine.costs.port_in_Bps) == (
        16,
        "minimal",
        12.5e9,
    )
    assert same_machine(machine_of_record(machine.to_spec()), machine)
    path.write_text('[network]\nfamily = "fat-tree:k=4"\nnodes = 5\n')
    with pytest.raises(InputError, match=r"network.nodes: cannot stand beside family"):
        load_machine(path)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("fat-tre:k=4", "did you mean 'fat-tree'"),
        ("fat-tree:ports=4", "unknown option of fat-tree 'ports'"),
        ("fat-tree:k=5", "must be even"),
        ("fat-tree:k=1", "must be from 2 to 2048"),
        ("fat-tree:k=4,k=6", "given twice"),
        ("fat-tree:k=12,taper=4", "must divide the 6 downlinks"),
        ("fat-tree:k=2048", "nodes, at most 1048576"),
        ("dragonfly:groups=9,routers=4,global=1", "4 global links a group, at least 8 required"),
        ("rails:hosts=4,leaf=2", "the 2 leaf switches of a rail need at least 1"),
        ("leaf-spine:widths=1;2;3", "3 values, must be 1 or 2: host; leaf up"),
        ("leaf-spine:rates=3", "a unit is required"),
        ("leaf-spine:rates=0x", "a multiple of the machine's link"),
        ("leaf-spine:dead=x", "must be a whole number"),
        ("leaf-spine:mode=spooling", "has no transfer modes"),
        ("hyperx:sides=3,3", "did you mean hyperx:sides=3x3?"),
        ("hyperx:sides=3x", "sizes are written as 8x8"),
        ("express-mesh:sides=4x4", "no side of 4x4 is long enough"),
        ("leaf-spine:routing=dmod", "did you mean 'dmodk'"),
    ],
)
def test_words_that_are_no_network(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_machine(spec)


def test_dmodk_needs_levels() -> None:
    graph = load_machine("mesh:3x3,dead=4").topology
    with pytest.raises(InputError, match="requires levels"):
        Machine("g", graph, Routing("dmodk"))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_name_alone_is_a_machine(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == str(machine.topology.family)
    assert build_family(machine.name) == machine.topology
    assert machine_of_topology(machine.topology) == machine
    assert parse_family(machine.name) == machine.topology.family
    if not FAMILIES[name].is_regular:
        assert machine.topology.level is None or machine.topology.level.min() == 0
        assert len(set(machine.topology.labels)) == machine.topology.nodes


PACKAGE = """
from conset.machine.network.family import Family, Parameter, Parts, Wires
import numpy as np


def star(hosts):
    ends = np.arange(hosts)
    labels = (*(f"host{k}" for k in range(hosts)), "hub")
    level = np.repeat([0, 1], [hosts, 1])
    wires = (Wires("host", ends, np.full(hosts, hosts)),)
    return Parts(hosts, wires, labels, level, np.full(hosts + 1, -1))


STAR = Family("star", "hosts on one hub", (Parameter("hosts", 8, "hosts"),), star, sized=True)
NO_FAMILY = 3
"""
POINTS = "[conset.networks]\nstar = stars:STAR\nbroken = stars:MISSING\nnumber = stars:NO_FAMILY\n"


@pytest.fixture
def stars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with a network, and two that are none."""
    (tmp_path / "stars.py").write_text(PACKAGE)
    info = tmp_path / "stars-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stars\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    registered.cache_clear()
    yield
    registered.cache_clear()


@pytest.mark.usefixtures("stars")
def test_a_network_of_another_package_works_wherever_a_name_does() -> None:
    machine = load_machine("star:5,widths=2,dead=1,link=50GB/s")
    assert machine.name == "star:5,widths=2,dead=1,link=50GB/s"
    assert (machine.topology.endpoints, machine.topology.nodes) == (4, 5)
    assert machine.costs.port_out_Bps == 2 * 50e9
    assert load_machine("star").name == "star:8"
    assert "star" in completing(*MACHINES)("st")
    rows = {row["name"]: row for row in families_object()}
    assert rows["star"]["example"] == "star:8"
    assert "AttributeError" in rows["broken"]["summary"]
    schedule = compile("alltoall", machine, method="first-fit")
    assert verify(schedule).ok
    assert machine_of_record(machine.to_spec()) == machine  # without the package: link by link
    assert "links" in machine.to_spec()["network"]


@pytest.mark.usefixtures("stars")
@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("stra:5", "unknown machine 'stra': did you mean 'star'?"),
        ("star:x", "star:x: must be a whole number"),
        ("broken", "network broken: entry point stars:MISSING: AttributeError: "),
        ("number", "network number: entry point stars:NO_FAMILY: must be a Family of this name"),
    ],
)
def test_networks_of_other_packages_that_are_none(spec: str, line: str) -> None:
    with pytest.raises(ConsetError, match=re.escape(line)):
        load_machine(spec)
