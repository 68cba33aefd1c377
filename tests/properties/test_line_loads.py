"""Loads counted by the lines of a box are those of links counted one by one along every route."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from conset import _core
from conset.machine.network.routes import core_network, route_links, route_nodes
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology

BOXES = (
    Topology.mesh(16),
    Topology.mesh(9, 4),
    Topology.mesh(1, 12, 2),
    Topology.mesh(5, 4, 3),
    Topology.ring(12),
    Topology.ring(7),
    Topology.torus(8, 5),
    Topology.torus(6, 6),
    Topology.torus(4, 3, 2),
    Topology.torus(2, 10),
)
ROUTINGS = (Routing("dimension-order"), Routing("dimension-order", tie="plus"), Routing("no-wrap"))
NONE = np.zeros(0, np.int64), np.zeros(0, np.int32)


def per_phase(phase: np.ndarray, phases: int, at: np.ndarray, resources: int) -> np.ndarray:
    """shape=(phases, resources): how often each is used."""
    return np.bincount(phase * resources + at, minlength=phases * resources).reshape(
        phases, resources
    )


@given(
    st.sampled_from(BOXES),
    st.sampled_from(ROUTINGS),
    st.integers(0, 2**32 - 1),
    st.sampled_from((10, 400, 2000)),
    st.booleans(),
)
def test_loads_and_totals_are_those_of_every_link(
    topology: Topology, routing: Routing, seed: int, count: int, uniform: bool
) -> None:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, topology.nodes, (2, count)).astype(np.int32)
    cuts = np.sort(rng.integers(0, count + 1, 3))
    offsets = np.concatenate([[0], cuts, [count]])
    phases, phase = offsets.size - 1, np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    width = rng.integers(1, 4, 1 if uniform else topology.link_slots).astype(np.int32)
    network = core_network(topology, routing)
    loads = _core.count_loads(network, source, target, *NONE, offsets, width)
    starts, links = route_links(topology, routing, source, target)
    hops = np.diff(starts)
    counts = per_phase(np.repeat(phase, hops), phases, links, topology.link_slots)
    np.testing.assert_array_equal(loads.link, (-(-counts // width)).max(axis=1))
    stops, nodes = route_nodes(topology, routing, source, target)
    several = np.repeat(np.diff(stops) > 1, np.diff(stops))
    visits = per_phase(
        np.repeat(phase, np.diff(stops))[several], phases, nodes[several], topology.nodes
    )
    np.testing.assert_array_equal(loads.channels, visits.max(axis=1))
    size = rng.integers(1, 1000, 1 if uniform else count)
    totals = _core.count_totals(network, source, target, size)
    np.testing.assert_array_equal(totals.messages, counts.sum(axis=0))
    each = np.repeat(np.broadcast_to(size, count), hops)
    np.testing.assert_array_equal(totals.bytes, np.bincount(links, each, topology.link_slots))
