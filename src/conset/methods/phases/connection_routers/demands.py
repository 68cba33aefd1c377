"""Demands of connections.

Whether each can be kept at all, what they are as limits, and which a schedule breaks.

A port or link that u connections share leaves each 1/u of its rate, and an element waits there for
u flits at most (`conset.schedule.linkage`). So a demand is kept where few enough connections share
what its route uses. Alone it is kept on the widest path for a bandwidth, and for a latency on the
quickest of those that are wide enough.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from conset.base import Bools, Floats, Indices, Ints32, NoScheduleError, format_rate, format_time
from conset.machine import MAX_LIMIT, Costs, Limits, times
from conset.methods.phases.connection_routers.task import Task, schedule_of
from conset.methods.phases.problem import Phases, Problem
from conset.schedule import guarantees

ROUNDING = 1 + 1e-9


class Broken(NamedTuple):
    """A demand that is not kept.

    Of which message, in which words, what was asked for, what there is.
    """

    message: int
    rule: str
    asked: str
    given: str

    def text(self, problem: Problem) -> str:
        """One line with the message, its ranks and both numbers."""
        ranks = int(problem.pattern.source[self.message]), int(problem.pattern.target[self.message])
        return (
            f"message {self.message} (rank {ranks[0]} → {ranks[1]}): a {self.rule} of "
            f"{self.asked} is asked for, "
            f"{self.given} can be guaranteed"
        )


def bandwidth_broken(message: int, asked: float, given: float) -> Broken:
    """More bandwidth is asked for than there is."""
    return Broken(message, "bandwidth", format_rate(asked), f"at most {format_rate(given)}")


def latency_broken(message: int, asked: float, given: float) -> Broken:
    """Less latency is asked for than there is."""
    return Broken(message, "latency", format_time(asked), f"at least {format_time(given)}")


def plain(problem: Problem) -> Problem:
    """The problem without demands that demand nothing.

    Equal bandwidths as limits where these say the same.
    """
    leaves = problem.source_node != problem.target_node
    rates, times = problem.min_bandwidth, problem.max_latency
    if rates is not None and not rates.any():
        rates = None
    if times is not None and not np.isfinite(times[leaves]).any():
        times = None
    if not leaves.any():
        rates = times = None
    problem = replace(problem, min_bandwidth=rates, max_latency=times)
    topology = problem.machine.topology
    alike = topology.link_rate_Bps is None and bool((topology.widths() == 1).all())
    alike = alike and problem.machine.costs_for("connections").node_Bps == np.inf
    if rates is None or not alike or rates.min() != rates.max():
        return problem
    limits = problem.limits.tightened(_users(problem, float(rates[0])))
    return replace(problem, limits=limits, min_bandwidth=None)


def without(task: Task) -> Task:
    """The same without demands."""
    return Task(replace(task.problem, min_bandwidth=None, max_latency=None))


def by_limits(task: Task) -> Task | None:
    """The same without demands, under limits on users that imply them on shortest routes.

    None where bandwidths differ, or not even one user may be there: links count as the slowest of
    all.
    """
    problem = task.problem
    rates, times = problem.min_bandwidth, problem.max_latency
    limits = problem.limits
    if rates is not None:
        if rates.min() != rates.max() or min(_rates(problem)) * ROUNDING < rates[0]:
            return None
        limits = limits.tightened(_users(problem, float(rates[0])))
    if times is not None:
        costs, (out, into, link) = problem.machine.costs_for("connections"), _rates(problem)
        at = np.flatnonzero(task.leaves & np.isfinite(times))
        links = task.hops[at] if task.topology.kind != "crossbar" else np.zeros(at.size)
        turn = costs.flit_B * (1 / out + 1 / into + links / link)
        with np.errstate(divide="ignore", invalid="ignore"):
            users = np.where(
                turn > 0, (times[at] * ROUNDING - links * _hop_s(costs)) / turn, np.inf
            )
        most = min(float(users.min(initial=np.inf)), MAX_LIMIT)
        if most < 1:
            return None
        limits = limits.tightened(Limits(int(most), int(most), int(most)))
    return Task(replace(problem, limits=limits, min_bandwidth=None, max_latency=None))


def _users(problem: Problem, demand: float) -> Limits:
    """As many users of every port and link, per unit of width, as leave each a bandwidth [B/s]."""
    shared = dict(zip(("send", "receive", "link"), _rates(problem), strict=True))
    users = {
        name: int(min(rate * ROUNDING / demand, MAX_LIMIT))
        for name, rate in shared.items()
        if rate < np.inf
    }
    return Limits(users.get("send"), users.get("receive"), users.get("link"))


def _rates(problem: Problem) -> tuple[float, float, float]:
    """(port out, port in, slowest link per unit of width) [B/s].

    Ports as if as many came in as go out.
    """
    costs, topology = problem.machine.costs_for("connections"), problem.machine.topology
    link = float(costs.link_Bps)
    if topology.link_rate_Bps is not None:
        link = float(topology.link_rate_Bps[topology.link_exists].min(initial=np.inf))
    out, into = (min(rate, costs.node_Bps / 2) for rate in (costs.port_out_Bps, costs.port_in_Bps))
    return out, into, link if topology.link_slots else np.inf


def _hop_s(costs: Costs) -> float:
    """What an element takes over a link besides its transfer [s]."""
    return float(costs.hop.at(costs.flit_B))


def link_rates(task: Task) -> Floats:
    """shape=(links of the task): the rate of each of all its width [B/s].

    Between ports of a crossbar infinite.
    """
    links, topology = task.links[0].size, task.topology
    if topology.kind == "crossbar":
        return np.full(links, np.inf)
    return times.link_rates(topology, task.problem.machine.costs_for("connections"))


def refuse_impossible(task: Task) -> None:
    """Whether every demand could be kept if its connection were alone in a phase.

    Raises:
        NoScheduleError: one could not; with message, ranks and both numbers.
    """
    problem = task.problem
    if problem.min_bandwidth is None and problem.max_latency is None:
        return
    asked = np.zeros(task.source.size) if problem.min_bandwidth is None else problem.min_bandwidth
    wide = _widest(task, asked)
    narrow = np.flatnonzero(task.leaves & (asked > wide * ROUNDING))
    if narrow.size:
        k = int(narrow[0])
        raise NoScheduleError(bandwidth_broken(k, float(asked[k]), float(wide[k])).text(problem))
    if problem.max_latency is not None:
        quick = _quickest(task, asked)
        short = np.flatnonzero(task.leaves & (quick > problem.max_latency * ROUNDING))
        if short.size:
            k = int(short[0])
            raise NoScheduleError(
                latency_broken(k, float(problem.max_latency[k]), float(quick[k])).text(problem)
            )


def _widest(task: Task, asked: Floats) -> Floats:
    """shape=(messages) [B/s]: the most that a connection has alone.

    Exact where more than the slowest link is asked.
    """
    costs, rates, usable = (
        task.problem.machine.costs_for("connections"),
        link_rates(task),
        _usable(task),
    )
    slowest = float(rates[usable].min(initial=np.inf))
    ports = min(costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps)
    wide = np.full(asked.size, min(ports, slowest))
    if (rates[usable] == slowest).all():
        return wide
    unsure = np.flatnonzero(task.leaves & (asked > wide))
    links = _neighbours(task, rates, usable)
    for source in np.unique(task.source[unsure]).tolist():
        own = unsure[task.source[unsure] == source]
        wide[own] = np.minimum(ports, _widest_from(source, links)[task.target[own]])
    return wide


def _neighbours(task: Task, rates: Floats, usable: Bools) -> list[list[tuple[float, int]]]:
    """[node]: (rate, node) of every link that leaves it."""
    links: list[list[tuple[float, int]]] = [[] for _ in range(task.topology.nodes)]
    ends = (end[usable].tolist() for end in task.links)
    for source, target, rate in zip(*ends, rates[usable].tolist(), strict=True):
        links[source].append((rate, target))
    return links


def _widest_from(source: int, links: list[list[tuple[float, int]]]) -> Floats:
    """shape=(nodes) [B/s]: the slowest link of the widest path to each.

    0 where none leads there.
    """
    wide = np.zeros(len(links))
    wide[source] = np.inf
    heap = [(-np.inf, source)]
    while heap:
        rate, node = heappop(heap)
        if -rate < wide[node]:
            continue
        for own, following in links[node]:
            least = min(-rate, own)
            if least > wide[following]:
                wide[following] = least
                heappush(heap, (-least, following))
    return wide


def _usable(task: Task) -> Bools:
    return task.links[0] != task.links[1]


def _quickest(task: Task, asked: Floats) -> Floats:
    """shape=(messages) [s]: the least latency of each alone, over links that have its bandwidth."""
    costs, rates, usable = (
        task.problem.machine.costs_for("connections"),
        link_rates(task),
        _usable(task),
    )
    ports = sum(
        costs.flit_B / min(rate, costs.node_Bps) for rate in (costs.port_out_Bps, costs.port_in_Bps)
    )
    if task.topology.kind == "crossbar":
        return np.full(asked.size, ports)
    step = _hop_s(costs) + costs.flit_B / rates
    if not usable.any() or (step[usable] == step[usable][0]).all():
        wide_enough = rates[usable].min(initial=np.inf) * ROUNDING >= asked.max(initial=0.0)
        if wide_enough:  # which all are: the nearest is the quickest
            return ports + task.hops.astype(np.float64) * float(step[usable].max(initial=0.0))
    quick = np.full(asked.size, ports)
    times = task.problem.max_latency
    limited = task.leaves & np.isfinite(np.inf if times is None else times)
    for least in np.unique(asked[limited]).tolist():
        own = np.flatnonzero(limited & (asked == least))
        kept = np.flatnonzero(usable & (rates * ROUNDING >= least))
        sources, row = np.unique(task.source[own], return_inverse=True)
        quick[own] += _distances(task, kept, step, sources)[row.reshape(-1), task.target[own]]
    return quick


def _distances(task: Task, links: Indices, step: Floats, sources: Ints32) -> Floats:
    """shape=(sources, nodes) [s]: along these links; infinite where none leads."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    nodes = task.topology.nodes
    length = np.maximum(
        step[links], np.finfo(np.float64).tiny
    )  # a link without a length would be none
    graph = csr_array((length, (task.links[0][links], task.links[1][links])), shape=(nodes, nodes))
    found: Any = dijkstra(graph, indices=sources)  # shape=(sources, nodes), or (nodes) of one
    return np.asarray(found, np.float64).reshape(sources.size, nodes)


def broken(problem: Problem, task: Task, phases: Phases) -> Broken | None:
    """The first demand of `problem` that phases do not keep; None where they keep all."""
    if problem.min_bandwidth is None and problem.max_latency is None:
        return None
    given, message = guarantees(schedule_of(task, phases)), phases.message
    if problem.min_bandwidth is not None:
        asked = problem.min_bandwidth[message]
        short = np.flatnonzero(given.bandwidth_Bps * ROUNDING < asked)
        if short.size:
            k = int(short[0])
            return bandwidth_broken(int(message[k]), float(asked[k]), float(given.bandwidth_Bps[k]))
    if problem.max_latency is not None:
        asked = problem.max_latency[message]
        late = np.flatnonzero(given.latency_s > asked * ROUNDING)
        if late.size:
            k = int(late[0])
            return latency_broken(int(message[k]), float(asked[k]), float(given.latency_s[k]))
    return None
