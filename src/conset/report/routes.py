"""Routes of one phase and the loads they put on links: what drawings and lists of a phase need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import UsageError
from conset.base.units import as_figure
from conset.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class PhaseRoutes:
    """The transfers of a phase with their routes.

    Attributes:
        phase: which.
        transfers: their indices, as a slice of the schedule's arrays over transfers.
        offsets: shape=(transfers + 1): the nodes of route k are
            `nodes[offsets[k] : offsets[k + 1]]`.
        nodes: node ids, ends included.
        hop_link: shape=(hops): link ids of all routes, one after the other.
        hop_transfer: shape=(hops): the transfer of each hop, counted within the phase.
        link: shape=(links used): ids of the links used, rising.
        load: shape=(links used): transfers on each, per unit of its width, rounded up.
        bytes: shape=(links used): bytes on each [B].
    """

    phase: int
    transfers: slice
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    hop_link: NDArray[np.int32]
    hop_transfer: NDArray[np.int64]
    link: NDArray[np.int32]
    load: NDArray[np.int64]
    bytes: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of transfers."""
        return int(self.offsets.size - 1)

    def route(self, k: int) -> list[int]:
        """The nodes of transfer k of the phase, ends included."""
        return [int(node) for node in self.nodes[self.offsets[k] : self.offsets[k + 1]]]


def check_phase(schedule: Schedule, phase: int) -> int:
    """`phase`, which must exist.

    Raises:
        UsageError: it does not.
    """
    if not 0 <= phase < schedule.phases:
        known = (
            f"the schedule has phases 0 to {schedule.phases - 1}"
            if schedule.phases
            else "the schedule has none"
        )
        raise UsageError(f"phase {phase}: {known}")
    return phase


def phase_routes(schedule: Schedule, phase: int) -> PhaseRoutes:
    """Routes and link loads of phase `phase`.

    Raises:
        UsageError: no such phase.
        InputError: a stored route goes where no link is.
    """
    from conset.machine.network.routes import links_of_nodes, route_links, route_nodes

    where = schedule.phase(check_phase(schedule, phase))
    network = schedule.machine.topology, schedule.machine.routing
    if schedule.route_offsets is not None and schedule.route_nodes is not None:
        bounds = schedule.route_offsets[where.start : where.stop + 1]
        offsets, nodes = bounds - bounds[0], schedule.route_nodes[bounds[0] : bounds[-1]]
        link_offsets, hop_link = links_of_nodes(*network, offsets, nodes)
    else:
        ends = schedule.source_node[where], schedule.target_node[where]
        offsets, nodes = route_nodes(*network, *ends)
        link_offsets, hop_link = route_links(*network, *ends)
    hop_transfer = np.repeat(np.arange(offsets.size - 1), np.diff(link_offsets))
    link, at, load = np.unique(hop_link, return_inverse=True, return_counts=True)
    carried = np.zeros(link.size, np.int64)
    np.add.at(carried, at, schedule.size[where][hop_transfer])
    width = schedule.machine.topology.widths()[link]
    return PhaseRoutes(
        phase, where, offsets, nodes, hop_link, hop_transfer, link, -(-load // width), carried
    )


def largest_total_load(schedule: Schedule) -> int | float:
    """The most transfers that any link carries over all phases, per unit of width.

    0 without links.
    """
    from dataclasses import replace

    from conset.schedule.loads import phase_loads

    if not schedule.transfers:
        return 0
    at_once = replace(schedule, phase_offsets=np.array([0, schedule.transfers], np.int64))
    return as_figure(phase_loads(at_once).link[0])
