"""Routes by the rule `planes`.

Expanded in one network by the verifier's own walks, and moved into a plane.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conset.base import Ints
from conset.machine.network.routing import Routing, require_planes
from conset.machine.network.topology import Topology
from conset.verification.schedule.walks import BoxWalk, CubeWalk, Nodes, Walk


class PlanesWalk(Walk):
    """Up to the router of plane (source + target) mod planes, through it, and down.

    Through it as its network leads.
    """

    def __init__(self, topology: Topology, routing: Routing) -> None:
        planes = require_planes(topology)
        base = planes.base
        inside = replace(Routing.default(base), tie=routing.tie)
        self.walk: BoxWalk | CubeWalk = BoxWalk(base, inside) if base.is_box else CubeWalk(base)
        self.base, self.count, self.nodes = base, planes.count, topology.nodes
        self.key = topology.link_source.astype(np.int64) * topology.nodes + topology.link_target
        self.longest = self.walk.longest + 2

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        plane = (source.astype(np.int64) + target) % self.count
        position, link = self.walk.hops(ids, source, target)
        start, stop = (
            end[link].astype(np.int64) + (plane[position] + 1) * self.base.nodes
            for end in self.base.ends
        )
        apart = np.flatnonzero(source != target)
        first, last = source[apart].astype(np.int64), target[apart].astype(np.int64)
        shift = (plane[apart] + 1) * self.base.nodes
        positions = np.concatenate([apart, position, apart])
        tails = np.concatenate([first, start, last + shift])
        heads = np.concatenate([first + shift, stop, last])
        return positions, np.searchsorted(self.key, tails * self.nodes + heads)
