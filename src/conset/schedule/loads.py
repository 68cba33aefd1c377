"""Loads of a schedule.

Messages at ports, links and channels in every phase, counted by the C++ core.

Also the orders in which ranks post messages, which the core makes too.

Where routes are not known (`Routing.knowledge`) those of links and channels are expectations over
the hash, or the parts of messages that switches spread over links: fractions, and the largest of
them in a phase is at most the expectation of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from conset import _core
from conset.base import Floats, InputError, Ints, Ints32, as_figure, unknown_name
from conset.machine.circuits import CircuitTimes, circuit_times, planes_of_links
from conset.machine.network.routes import (
    core_network,
    core_widths,
    links_of_nodes,
    route_links,
)
from conset.machine.network.topology import Topology
from conset.machine.times import transfer_times
from conset.pattern.pattern import Pattern
from conset.schedule.policy import BY_DIMENSION, POSTINGS
from conset.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class PhaseLoads:
    """The most messages at any port, link or node in each phase; all shape=(phases), int32.

    Where routes are not known `link` and `channels` are float64.

    Attributes:
        send: leaving one node.
        receive: entering one node.
        link: on one link, per unit of its width, rounded up; expected: not rounded.
        channels: routes through one node, its own ends included.
        expected: whether loads of links are expectations, or fractions.
    """

    send: Ints32
    receive: Ints32
    link: Ints32 | Floats
    channels: Ints32 | Floats
    expected: bool = False

    @property
    def total(self) -> int | float:
        """The sum over phases of the largest load at any port or link, ΣL."""
        return as_figure(self.largest.sum(dtype=np.float64 if self.expected else np.int64))

    @property
    def largest(self) -> Ints32 | Floats:
        """shape=(phases): the largest load at any port or link, L_p of the ConSet text."""
        return np.maximum(np.maximum(self.send, self.receive), self.link)


def chosen_links(schedule: Schedule) -> tuple[Ints, Ints32]:
    """(offsets, links) of the routes a compiler chose.

    Both empty where the machine's routing is used.
    """
    if schedule.route_offsets is None or schedule.route_nodes is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int32)
    machine = schedule.machine
    return links_of_nodes(
        machine.topology,
        machine.routing,
        schedule.route_offsets,
        schedule.route_nodes,
        schedule.route_links,
    )


def transfer_links(schedule: Schedule) -> tuple[Ints, Ints32]:
    """(offsets, links) of the routes of all transfers: those a compiler chose, or the machine's."""
    if schedule.route_offsets is not None:
        return chosen_links(schedule)
    machine = schedule.machine
    return route_links(
        machine.topology, machine.routing, schedule.source_node, schedule.target_node
    )


@lru_cache(maxsize=4)
def circuits_of(schedule: Schedule) -> tuple[CircuitTimes, Ints]:
    """(when its transfers pass, shape=(transfers): the plane of each), on circuit switches.

    Its phases in order, at the machine's costs.
    """
    held = circuits_held(schedule)
    return circuit_times(schedule.machine, schedule.phase_offsets, *held), held[0]


def circuits_held(schedule: Schedule) -> tuple[Ints, Ints32, Ints32, Floats]:
    """(planes, sources, targets, how long each holds its connection [s]); shape=(transfers)."""
    machine, links = schedule.machine, transfer_links(schedule)
    ends = schedule.source_node, schedule.target_node
    costs = machine.costs_for(schedule.method)
    alone = transfer_times(machine, costs, *ends, schedule.size, links).alone
    return planes_of_links(machine.topology, links), *ends, alone


@lru_cache(maxsize=4)
def phase_loads(schedule: Schedule) -> PhaseLoads:
    """The loads of every phase; O(sum of hops)."""
    machine = schedule.machine
    topology = machine.topology
    width = core_widths(topology)
    offsets, links = chosen_links(schedule)
    if not (machine.routing.is_known or offsets.size):
        expected = _core.expect_loads(
            core_network(topology, machine.routing),
            schedule.source_node,
            schedule.target_node,
            schedule.phase_offsets,
            width,
        )
        return PhaseLoads(
            expected.send, expected.receive, expected.link, expected.channels, expected=True
        )
    loads = _core.count_loads(
        core_network(topology, machine.routing),
        schedule.source_node,
        schedule.target_node,
        offsets,
        links,
        schedule.phase_offsets,
        width,
    )
    return PhaseLoads(loads.send, loads.receive, loads.link, loads.channels)


def largest_sizes(schedule: Schedule) -> Ints:
    """shape=(phases), int64 [B]: the largest transfer of each phase; 0 where a phase is empty."""
    largest = np.zeros(schedule.phases, np.int64)
    full = np.flatnonzero(np.diff(schedule.phase_offsets))
    if full.size:
        largest[full] = np.maximum.reduceat(schedule.size, schedule.phase_offsets[full])
    return largest


def loads_list(loads: Ints32 | Floats) -> list[int | float]:
    """Loads of every phase as `as_figure` states them."""
    return loads.tolist() if loads.dtype.kind == "i" else [as_figure(load) for load in loads]


def figures(schedule: Schedule) -> dict[str, Any]:
    """`phases`, `load` {send, receive, link, channels, sum} and `phase_bytes`.

    As in the schedule file.
    """
    loads = phase_loads(schedule)
    load = {
        **{
            name: as_figure(getattr(loads, name).max(initial=0))
            for name in ("send", "receive", "link", "channels")
        },
        "sum": loads.total,
    }
    return {
        "phases": schedule.phases,
        "load": load,
        "phase_bytes": int(largest_sizes(schedule).sum()),
    }


def order_messages(
    pattern: Pattern,
    order: str,
    seed: int = 0,
    *,
    topology: Topology | None = None,
    placement: Ints32 | None = None,
) -> Ints32:
    """shape=(messages), int32.

    The messages by source rank, and of each rank in the order in which it posts them.

    Of `pairwise` and `dimension`, which mean a place for the receiver too, first those that come
    first at all ranks.

    - `schedule`: by index.
    - `ascending`: by rising target.
    - `rotated`: by rising distance (target - source) modulo ranks, so that no two ranks begin with
      one target.
    - `random`: drawn with `seed`.
    - `longest-first`: by falling size, equal ones rotated.
    - `pairwise`: by rising source xor target, so that the two of an exchange have it at one place
      of their lists, as in pairwise exchange; of a butterfly bit by bit.
    - `dimension`: of a grid, as routes in dimension order take them: what stays in the dimension
      that is taken first, by how far up it goes modulo the side (so +x, then -x of neighbours),
      then what goes one up in the next.

    Args:
        pattern: what is sent.
        order: one of `POSTINGS`.
        seed: of `random`.
        topology: where the ranks live; for `dimension`.
        placement: shape=(ranks), int32: node of each rank; None: rank r on node r.

    Raises:
        UsageError: another word. InputError: `dimension` where the network is no box.
    """
    if order not in POSTINGS:
        raise unknown_name("posting", order, POSTINGS)
    sides: tuple[int, ...] = ()
    if order == BY_DIMENSION:
        if topology is None or not (topology.is_box or topology.kind == "hypercube"):
            kind = "none" if topology is None else topology.kind
            raise InputError(
                f"posting {BY_DIMENSION}: requires a mesh, torus, ring or hypercube, given {kind}"
            )
        sides = topology.sides
    source, target = (np.ascontiguousarray(each) for each in (pattern.source, pattern.target))
    size = pattern.size[:1] if pattern.equal_sizes else pattern.size
    return _core.order_messages(
        pattern.ranks,
        source,
        target,
        np.ascontiguousarray(size),
        order=order,
        seed=seed % 2**64,
        sides=np.array(sides, np.int32),
        source_node=source if placement is None else placement[source],
        target_node=target if placement is None else placement[target],
    )
