"""Usage: what each link and port used of its capacity over time.

And the work of the busiest beside its bound.

Routes are those the core walks. `least_time` is the bound that pictures and texts show beside a
timeline.

Idea. A message's rate is a step function of time; the bytes a link has carried are the integral of
a sum of such steps. A step of r at time t has carried r · (e - t) at every later time e, so two
sums per link and bin (of r and of r · t), accumulated over the bins, give the bytes carried at
every edge exactly. Where a timeline keeps no rates, a message's bytes are spread evenly from its
first byte to its last, or from its slot to its delivery where these are unknown.

Complexity: changes · hops + links in use · bins in time; changes + links in use · bins in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from conset import _core
from conset.base import Array, Floats, Ints, Ints32, take_rows
from conset.machine import Machine, core_network, route_hops, route_links
from conset.models.bounds import Bound, Demand, Resources, Spread, growth, lower_bound
from conset.models.needs import MessageTimes
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload

BINS = 360
"""Bins of time."""
MAX_CELLS = 4_000_000
"""Resources in use times bins; beyond, there are fewer bins."""
MAX_USES = 4_000_000
"""Changes of rates times hops that are looked at together."""


@dataclass(frozen=True, eq=False)
class Usage:
    """Links and ports over time; shares are of capacity.

    Attributes:
        edges_s: shape=(bins + 1), float64 [s].
        of_links: whether `mean` and `largest` are of links; of ports in networks whose links have
            no rate.
        mean: shape=(bins): mean share of all of them.
        largest: shape=(bins): share of the one used most in the bin.
        out: shape=(nodes, bins) [B/s]: what leaves each node.
        busiest: the resource with most work, as in `Timeline.held_by`, of equal ones the last to do
            it; -1 without any.
        carried: shape=(bins + 1) [B]: what it has carried.
        work_s: its bytes over its rate: no schedule with these routes is faster [s].
        rate_Bps: its rate.
        exact: whether rates were known; evenly spread ones are cut at the capacity.
    """

    edges_s: Floats
    of_links: bool
    mean: Floats
    largest: Floats
    out: Floats
    busiest: int
    carried: Floats
    work_s: float
    rate_Bps: float  # noqa: N815
    exact: bool


def usage_of(
    timeline: Timeline, workload: Workload, machine: Machine, settings: Settings, bins: int = BINS
) -> Usage:
    """What a timeline of `workload` on `machine` used over time."""
    topology = machine.topology
    slots, nodes = topology.link_slots, topology.nodes
    # a flit network is a network of links that carry bytes
    model = "flow" if timeline.model == "flit" else timeline.model
    resources = resources_on(workload, machine, settings, model)
    loads = resources.loads()
    used = np.unique(resources.items[np.isfinite(resources.capacity)[resources.items]])
    outs = slots + np.arange(nodes)
    kept = np.union1d(used, outs)
    bins = max(16, min(bins, MAX_CELLS // max(kept.size, 1)))
    edges = np.linspace(0.0, timeline.time_s or 1.0, bins + 1)
    carried = _carried(timeline, workload, machine, settings, resources, kept, edges)
    flow = np.diff(carried, axis=1) / (edges[1] - edges[0])
    exists = np.flatnonzero(topology.link_exists & np.isfinite(resources.capacity[:slots]))
    of_links = bool(exists.size)
    if not of_links:
        exists = slots + np.flatnonzero(np.isfinite(resources.capacity[slots : slots + 2 * nodes]))
    shown = np.flatnonzero(np.isin(kept, exists))
    exact = timeline.rates is not None
    # evenly spread bytes may crowd where real ones would not
    most = inf if exact else 1.0
    share = np.clip(flow[shown] / resources.capacity[kept[shown], None], 0.0, most)
    out_rate = (
        resources.capacity[outs, None] * most
        if np.isfinite(resources.capacity[outs]).all()
        else inf
    )
    row = _most_behind(loads, kept, carried)
    busiest = int(kept[row]) if row >= 0 else -1
    return Usage(
        edges,
        of_links,
        share.sum(axis=0) / max(exists.size, 1),
        share.max(axis=0, initial=0.0),
        np.clip(flow[np.searchsorted(kept, outs)], 0.0, out_rate),
        busiest,
        carried[row] if busiest >= 0 else np.zeros(bins + 1),
        float(loads.max(initial=0.0)),
        float(resources.capacity[busiest]) if busiest >= 0 else inf,
        exact,
    )


def _most_behind(loads: Floats, kept: Ints, carried: Floats) -> int:
    """The row of a resource with the largest load.

    Of equal ones the one that carries it latest. -1 without any.
    """
    top = loads.max(initial=0.0)
    if not top > 0:
        return -1
    rows = np.searchsorted(kept, np.flatnonzero(loads >= top * (1 - 1e-9)))
    return int(rows[carried[rows].sum(axis=1).argmin()])


def flowing_from(
    timeline: Timeline, workload: Workload, machine: Machine | None, settings: Settings
) -> Floats:
    """shape=(messages) [s]: when the first byte of each message flowed, at least.

    (0) where it is unknown.

    Where a timeline does not say it, `flow` lets bytes flow after overhead and latency.
    """
    first = timeline.first_bytes()
    if first.size or machine is None or timeline.model != "flow":
        return first
    hops = resources_on(workload, machine, settings, "flow").hops
    needs = MessageTimes.of(workload, machine, settings, "flow", hops, np.zeros(hops.size))
    begun = timeline.start_s + needs.to_bytes
    return np.where(
        workload.crosses & (workload.bytes > 0), np.minimum(begun, timeline.end_s), timeline.end_s
    )


def flowing_until(timeline: Timeline) -> Floats:
    """shape=(messages) [s]: when the last byte of each message had left.

    Its delivery where it is not recorded.
    """
    if timeline.left_s.size:
        return timeline.left_s
    if timeline.rates is None:
        return timeline.end_s
    last = np.full(timeline.messages, -inf)
    np.maximum.at(last, timeline.rates.message, timeline.rates.time_s)
    return np.where(np.isfinite(last), last, timeline.end_s)


def least_time(workload: Workload, machine: Machine, settings: Settings, model: str) -> Bound:
    """(time [s], witness).

    The largest of all bounds that hold for these messages under these settings.
    """
    resources = resources_on(workload, machine, settings, model)
    return lower_bound(Demand.of(workload, machine, settings, model, resources))


def resources_on(workload: Workload, machine: Machine, settings: Settings, model: str) -> Resources:
    """What messages share over the routes that a compiler chose, or the machine's own."""
    offsets, links, spread = workload.link_offsets, workload.links, None
    if not offsets.size and machine.routing.knowledge == "adaptive":
        offsets, links, spread = _spread_over(workload, machine)
        if model == "packet":
            offsets, links, spread = spread.only_sure(offsets, links)
    elif not offsets.size:
        offsets, links = route_links(
            machine.topology, machine.routing, workload.source, workload.target
        )
    return Resources.of(workload, machine, settings, model, offsets, links, spread)


def _spread_over(workload: Workload, machine: Machine) -> tuple[Ints, Ints32, Spread]:
    """(offsets, links, parts) of messages that switches spread."""
    ends = np.ascontiguousarray(workload.source), np.ascontiguousarray(workload.target)
    offsets, links, share = _core.message_shares(
        core_network(machine.topology, machine.routing), *ends
    )
    hops = route_hops(machine.topology, machine.routing, *ends)
    return offsets, links, Spread(share, hops.astype(np.int64))


def under_way(
    begin: Floats, end: Floats, edges: Floats, row: Array | None = None, rows: int = 1
) -> Floats:
    """shape=(rows, bins).

    How many of the intervals `begin[m] … end[m]` of each row are open, in the mean of each bin.

    Args:
        begin: shape=(intervals) [s].
        end: shape=(intervals) [s].
        edges: shape=(bins + 1) [s], evenly spaced.
        row: shape=(intervals), the row of each; None: 0.
        rows: number of rows.
    """
    one = np.ones(begin.size)
    which = np.zeros(begin.size, np.int64) if row is None else row.astype(np.int64)
    integral = _Integral(rows, edges)
    integral.add(np.tile(which, 2), np.concatenate([begin, end]), np.concatenate([one, -one]))
    return np.asarray(np.diff(integral.at_edges(), axis=1) / (edges[1] - edges[0]))


def _carried(
    timeline: Timeline,
    work: Workload,
    machine: Machine,
    settings: Settings,
    resources: Resources,
    kept: Ints,
    edges: Floats,
) -> Floats:
    """shape=(kept, edges) [B]: what each resource of `kept` has carried at every edge."""
    if timeline.rates is not None:
        rates = timeline.rates
        message, time_s, step = (
            rates.message.astype(np.int64),
            rates.time_s,
            growth(rates, work.messages),
        )
    else:
        message, time_s, step = _spread(timeline, work, machine, settings)
    integral = _Integral(kept.size, edges)
    counts = np.diff(resources.offsets)[message]
    ends = np.cumsum(counts)
    first = 0
    while first < message.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + MAX_USES)))
        _, use = take_rows(resources.offsets, message[first:last])
        change = np.repeat(np.arange(first, min(last, message.size)), counts[first:last])
        row = np.minimum(np.searchsorted(kept, resources.items[use]), max(kept.size - 1, 0))
        found = np.flatnonzero(kept[row] == resources.items[use])
        integral.add(
            row[found], time_s[change[found]], step[change[found]] * resources.weight[use[found]]
        )
        first = last
    return integral.at_edges()


def _spread(
    timeline: Timeline, work: Workload, machine: Machine, settings: Settings
) -> tuple[Ints, Floats, Floats]:
    """(message, time, growth) of rates that are even from first to last byte."""
    first = flowing_from(timeline, work, machine, settings)
    begin = first if first.size else timeline.start_s
    long = np.flatnonzero(work.crosses & (work.bytes > 0))
    end = flowing_until(timeline)[long]
    # what takes no time at all still carries its bytes
    length = np.maximum(end - begin[long], 1e-9 * (timeline.time_s or 1.0))
    rate = work.bytes[long] / length
    return np.tile(long, 2), np.concatenate([end - length, end]), np.concatenate([rate, -rate])


class _Integral:
    """The integral over time of one sum of steps per row, at every edge."""

    def __init__(self, rows: int, edges: Floats) -> None:
        self.rows, self.edges = rows, edges
        self.total, self.moment = np.zeros(rows * edges.size), np.zeros(rows * edges.size)

    def add(self, row: Ints, time_s: Floats, step: Floats) -> None:
        """Steps at times: each counts from the first edge that is not before it."""
        count = self.edges.size
        place = row * count + np.clip(np.searchsorted(self.edges, time_s), 0, count - 1)
        after = time_s <= self.edges[-1]
        place, step, time_s = place[after], step[after], time_s[after]
        self.total += np.bincount(place, step, self.total.size)
        self.moment += np.bincount(place, step * time_s, self.total.size)

    def at_edges(self) -> Floats:
        """shape=(rows, edges)."""
        shape = (self.rows, self.edges.size)
        total, moment = (
            values.reshape(shape).cumsum(axis=1) for values in (self.total, self.moment)
        )
        return np.asarray(total * self.edges - moment)
