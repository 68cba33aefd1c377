"""Fabrics that OpenSM routes on a simulator: loads of links against a slow reader of the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import conset
from conset.machine import Machine, route_links
from support.opensm import (
    Cabling,
    SlowFabric,
    fat_tree,
    leaf_spine,
    missing_programs,
    random_regular,
    ring,
    route,
    torus,
)

CABLINGS = {
    "leaf_spine": leaf_spine(leaves=4, spines=4, hosts=16),
    "parallel": leaf_spine(leaves=4, spines=2, hosts=16, cables=2),
    "fat_tree": fat_tree(4),
    "ring": ring(switches=5, hosts=2),
    "torus": torus(4, 4),
    "irregular": random_regular(switches=8, degree=3, hosts=2, seed=1),
    "rails": leaf_spine(leaves=4, spines=2, hosts=12, ports=2),
}
SIZES = {
    "leaf_spine": (16, 16 + 4 * 4),
    "parallel": (16, 16 + 4 * 2 * 2),
    "fat_tree": (16, 16 + 16 + 16),  # 4³ / 4 for each of the three levels of cables
    "ring": (10, 10 + 5),
    "torus": (16, 16 + 2 * 16),
    "irregular": (16, 16 + 8 * 3 // 2),
    "rails": (12, 6 + 2 * 6 + 4 * 2),
}
"""(hosts, cables) of each cabling, by the formula of its family."""
TABLES = ("lfts.txt", "opensm-lfts.dump", "opensm.fdbs")
"""Files with the forwarding tables: of dump_fts, and two of OpenSM."""

needs_opensm = pytest.mark.skipif(bool(missing_programs()), reason=missing_programs())


@needs_opensm
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("leaf_spine", "minhop"),
        ("leaf_spine", "ftree"),
        ("parallel", "updn"),
        ("parallel", "dnup"),
        ("fat_tree", "ftree"),
        ("fat_tree", "sssp"),
        ("ring", "lash"),
        ("ring", "nue"),
        ("torus", "dor"),
        ("torus", "lash"),
        ("irregular", "dfsssp"),
        ("irregular", "nue"),
    ],
)
def test_loads_of_a_routed_fabric(tmp_path: Path, name: str, engine: str) -> None:
    route(CABLINGS[name], engine, tmp_path)
    check_exchange(tmp_path, CABLINGS[name], *SIZES[name])


@needs_opensm
@pytest.mark.parametrize(("name", "lmc"), [("parallel", 1), ("rails", 0), ("rails", 1)])
def test_loads_with_several_routes_per_pair(tmp_path: Path, name: str, lmc: int) -> None:
    """2^lmc LIDs for each port of a host, and two ports for each second host."""
    route(CABLINGS[name], "minhop", tmp_path, lmc)
    check_exchange(tmp_path, CABLINGS[name], *SIZES[name])


def check_exchange(folder: Path, cabling: Cabling, hosts: int, cables: int) -> None:
    """Compare hosts, links and loads of a complete exchange with those of the slow reader."""
    for tables in TABLES:
        machine = conset.load_machine(f"{folder}/net.txt,routes={folder}/{tables}")
        topology = machine.topology
        assert (topology.endpoints, topology.links) == (hosts, 2 * cables), tables
        assert list(topology.labels[:hosts]) == cabling.hosts
        ends = {f"{node}:{port}" for node, ports in cabling.ports.items() for port in ports}
        assert {*topology.link_labels} == ends

        loads, hops = exchange(machine)
        slow_loads, slow_hops = SlowFabric(folder / "net.txt", folder / tables).exchange()
        assert loads == {label: slow_loads[label] for label in ends}, tables
        assert hops == slow_hops, tables
        assert sum(loads.values()) == sum(slow_hops.values())


def exchange(machine: Machine) -> tuple[dict[str, int], dict[tuple[int, int], int]]:
    """Return the load of each link in a complete exchange, and the hops of each pair."""
    topology = machine.topology
    source, target = np.nonzero(~np.eye(topology.endpoints, dtype=bool))
    offsets, links = route_links(
        topology, machine.routing, source.astype(np.int32), target.astype(np.int32)
    )
    loads = np.bincount(links, minlength=topology.links).tolist()
    pairs = zip(source.tolist(), target.tolist(), strict=True)
    return (
        dict(zip(topology.link_labels, loads, strict=True)),
        dict(zip(pairs, np.diff(offsets).tolist(), strict=True)),
    )


# Files of the corpus beside the checkout: expected loads are in its README.md.


@pytest.mark.parametrize(
    ("name", "busiest"),
    [
        ("leaf_spine_16", 15),
        ("leaf_spine_96", 144),
        ("leaf_spine_144_ftree", 264),
        ("torus_6x6_two_cables_dead_dfsssp", 42),
    ],
)
def test_loads_of_known_fabrics(shared_data: Path, name: str, busiest: int) -> None:
    """The slow reader is right where the load of the busiest link is known."""
    folder = shared_data / "clusters" / name
    network, tables = folder / "ibnetdiscover.txt", folder / "dump_fts.txt"
    slow_loads, slow_hops = SlowFabric(network, tables).exchange()
    assert max(slow_loads.values()) == busiest
    loads, hops = exchange(conset.load_machine(f"{network},routes={tables}"))
    assert {label: load for label, load in loads.items() if load} == slow_loads
    assert hops == slow_hops
