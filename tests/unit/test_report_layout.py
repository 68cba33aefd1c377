"""Layouts and routes of a phase: what every drawing stands on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from conset.base.errors import UsageError
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.report.network_layout import positions
from conset.report.schedule import largest_total_load, phase_routes
from conset.schedule.schedule import Schedule


def fat_tree() -> Topology:
    """Eight endpoints, two leaves of four, two spines."""
    pairs = [(host, 8 + host // 4) for host in range(8)] + [
        (leaf, spine) for leaf in (8, 9) for spine in (10, 11)
    ]
    source, target = zip(*sorted(pairs + [(b, a) for a, b in pairs]), strict=True)
    return Topology("graph", (), 8, 12, np.array(source), np.array(target))


def directed_ring(nodes: int) -> Topology:
    here = np.arange(nodes)
    return Topology("graph", (), nodes, nodes, here, (here + 1) % nodes)


TOPOLOGIES = {
    "one node": Topology.mesh(1),
    "mesh 2x2": Topology.mesh(2, 2),
    "mesh 16x32": Topology.mesh(16, 32),
    "line": Topology.mesh(7),
    "torus 4x4x4": Topology.torus(4, 4, 4),
    "torus 8x8x8": Topology.torus(8, 8, 8),
    "mesh 3x3x3x3": Topology.mesh(3, 3, 3, 3),
    "ring": Topology.ring(9),
    "cube 0": Topology.hypercube(0),
    "cube 4": Topology.hypercube(4),
    "cube 6": Topology.hypercube(6),
    "crossbar": Topology.crossbar(12),
    "fat tree": fat_tree(),
    "directed ring": directed_ring(7),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_node_has_a_place_of_its_own(name: str) -> None:
    topology = TOPOLOGIES[name]
    place = positions(topology)
    assert place.shape == (topology.nodes, 2)
    assert np.isfinite(place).all()
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.1
    assert np.array_equal(place, positions(topology))


def test_rows_of_a_mesh_run_down_and_columns_to_the_right() -> None:
    assert positions(Topology.mesh(2, 3)).tolist() == [
        [0, 0],
        [1, 0],
        [2, 0],
        [0, -1],
        [1, -1],
        [2, -1],
    ]


def test_a_tree_of_switches_stands_in_levels() -> None:
    height = positions(fat_tree())[:, 1]
    assert set(height[:8]) == {0}
    assert len(set(height[8:10])) == len(set(height[10:])) == 1
    assert 0 < height[8] < height[10]


def xy_links(sides: tuple[int, int], source: int, target: int) -> list[tuple[int, int]]:
    """Specification on a mesh: along the row first, then along the column."""
    (row, column), (to_row, to_column) = divmod(source, sides[1]), divmod(target, sides[1])
    nodes = [source]
    while column != to_column:
        column += 1 if to_column > column else -1
        nodes.append(row * sides[1] + column)
    while row != to_row:
        row += 1 if to_row > row else -1
        nodes.append(row * sides[1] + column)
    return list(pairwise(nodes))


def shifts(ranks: int, machine: Machine, placement: np.ndarray | None = None) -> Schedule:
    """Complete exchange, phase k: rank r sends to r + k + 1."""
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    pattern = Pattern.from_messages(source, target, source * 100 + target + 1, ranks)
    phase = (pattern.target - pattern.source) % ranks - 1
    offsets = np.arange(ranks) * ranks
    limits = Limits(send=1, receive=1)
    order = np.argsort(phase, kind="stable").astype(np.int32)
    return Schedule(pattern, machine, "shift", limits, offsets, order, placement=placement)


def mesh(*sides: int) -> Machine:
    topology = Topology.mesh(*sides)
    return Machine("mesh", topology, Routing.default(topology))


@pytest.mark.parametrize("placement", [None, np.arange(12)[::-1]])
def test_loads_of_a_phase_agree_with_walking_every_route(placement: np.ndarray | None) -> None:
    schedule = shifts(12, mesh(3, 4), placement)
    ends = schedule.machine.topology.ends
    total: dict[tuple[int, int], int] = {}
    for p in range(schedule.phases):
        load: dict[tuple[int, int], int] = {}
        carried: dict[tuple[int, int], int] = {}
        routes = phase_routes(schedule, p)
        for k, t in enumerate(range(*routes.transfers.indices(schedule.transfers))):
            walk = xy_links((3, 4), int(schedule.source_node[t]), int(schedule.target_node[t]))
            assert list(pairwise(routes.route(k))) == walk
            for link in walk:
                load[link] = load.get(link, 0) + 1
                total[link] = total.get(link, 0) + 1
                carried[link] = carried.get(link, 0) + int(schedule.size[t])
        seen = {(int(ends[0][i]), int(ends[1][i])): k for k, i in enumerate(routes.link)}
        assert {link: routes.load[k] for link, k in seen.items()} == load
        assert {link: routes.bytes[k] for link, k in seen.items()} == carried
    assert largest_total_load(schedule) == max(total.values())


def test_stored_routes_are_drawn_as_stored() -> None:
    pattern = Pattern.from_messages([0, 3], [3, 0], [8, 8], 4)
    schedule = Schedule(
        pattern,
        mesh(2, 2),
        "chosen",
        Limits(),
        np.array([0, 1, 2]),
        np.array([0, 1]),
        route_offsets=np.array([0, 3, 6]),
        route_nodes=np.array([0, 2, 3, 3, 2, 0]),
    )
    assert phase_routes(schedule, 0).route(0) == [0, 2, 3]
    assert phase_routes(schedule, 1).route(0) == [3, 2, 0]
    assert largest_total_load(schedule) == 1


def test_load_counts_per_unit_of_width() -> None:
    topology = Topology.mesh(2, width=2)
    machine = Machine("mesh", topology, Routing.default(topology))
    pattern = Pattern.from_messages([0, 1, 2], [3, 4, 5], [8, 8, 8], 6)
    placement = np.array([0, 0, 0, 1, 1, 1])
    schedule = Schedule(
        pattern, machine, "naive", Limits(), np.array([0, 3]), np.arange(3), placement=placement
    )
    assert phase_routes(schedule, 0).load.tolist() == [2]


@pytest.mark.parametrize("phase", [-1, 4])
def test_a_phase_that_is_not_there_is_named_with_those_that_are(phase: int) -> None:
    with pytest.raises(UsageError, match=f"phase {phase}: the schedule has phases 0 to 2"):
        phase_routes(shifts(4, mesh(2, 2)), phase)
