"""Bounds of cuts of a graph.

What leaves a leaf switch, a pod, a group or several of them, whatever the routes.

They hold for split messages as for whole ones, and where switches spread messages adaptively. The
sets of nodes that are looked at, each in both directions:

- every group of the network (a pod, a dragonfly's group, a host of rails, a leaf where that is
  all);
- every switch with the endpoints that hang on it alone;
- the first k groups together, for every k: of dragonflies and lattices the half;
- the parts into which the network falls without its nodes above a level, for every level;
- every endpoint.

They are those that today's networks are scarce at, no more: the linear program (`conset.bounds.lp`)
finds any.

Cut load: links out of a set take a limited number of messages at once.
    Statement: phases ≥ ⌈messages from S to other nodes / (link · Σ width of links out of S)⌉ for
    every set S of nodes, and the same into S. Proof: a message from S to elsewhere is on a link out
    of S at least once, and a phase holds at most `link` messages per unit of width of each. Class:
    free routes.

Cut sum: ΣL ≥ ⌈messages from S to other nodes / Σ width of links out of S⌉, not rounded where
messages are spread.
    Proof: the same, a link holding at most its width times the largest load of a phase. Class: free
    routes, any limits.

Cut time: time ≥ Σ bytes from S to other nodes / Σ rate · width of links out of S. Proof: in time T
these links carry
    at most T times their rates, each of the bytes at least once; all flow between the least lead-in
    and lead-out of any message, with barriers in every group of phases. Class: free routes, any
    limits, every policy. Where every link out of the set carries alike it is reached: n messages
    over s spines between two leaf switches take n / s of one.

With the machine's routes a link of the cut carries at least the mean, so that the bounds of links
are no weaker; the same of expected loads, where a hash draws routes. Witness: the set. Complexity:
O((messages + links + nodes) · levels) and the diameter for parts. Source: the cut condition of
multicommodity flow, as in Shahrokhi, Matula, The maximum concurrent flow problem,
doi:10.1145/77600.77620.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from conset.base import Floats, Indices, Ints, Ints32, count_of, format_rate
from conset.bounds.problem import BoundProblem, BoundValue
from conset.machine import Topology


@dataclass(frozen=True, eq=False)
class Cuts:
    """What leaves (or enters) sets of nodes, and over how much; arrays over the sets.

    Attributes:
        name: a set as text, by its number.
        verb: `sends` or `receives`.
        messages: from a set to other nodes.
        bytes: of them.
        width: of the links out of a set.
        rate: of them [B/s]; infinite where links cost nothing.
    """

    name: Callable[[int], str]
    verb: str
    messages: Ints
    bytes: Floats
    width: Ints
    rate: Floats


def bound_cut_load(problem: BoundProblem) -> BoundValue | None:
    """The set with most messages over its links.

    None without a limit, with the machine's routes, or no graph.
    """
    limit = problem.limits.link
    if limit is None:
        return None
    return _most(problem, limit, f", {limit} at once" if limit > 1 else "")


def bound_cut_sum(problem: BoundProblem) -> BoundValue | None:
    """As `bound_cut_load`, for the sum over phases of the largest load."""
    return _most(problem, 1, "")


def _most(problem: BoundProblem, limit: int, added: str) -> BoundValue | None:
    best: BoundValue | None = None
    for cuts in _cuts(problem):
        supply = np.maximum(1, limit * cuts.width)
        k = int((cuts.messages / supply).argmax())
        needed = problem.per_supply(int(cuts.messages[k]), int(supply[k]))
        if best is None or needed > best.value:
            over = f"over links of width {cuts.width[k]}{added}"
            count = count_of(int(cuts.messages[k]), "message")
            best = BoundValue(needed, f"{_said(cuts, k)} {count} {over}")
    return best


def bound_cut_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The set with most bytes over the rates of its links [s].

    None as above, or where links cost nothing.
    """
    best: BoundValue | None = None
    for cuts in _cuts(problem):
        work = cuts.bytes / cuts.rate
        k = int(work.argmax())
        if work[k] > 0:
            time = problem.all_bytes(float(work[k]), phases)
            if best is None or time > best.value:
                carried = f"{int(cuts.bytes[k]):,} B over {format_rate(float(cuts.rate[k]))}"
                best = BoundValue(time, f"{_said(cuts, k)} {carried}")
    return best


def _said(cuts: Cuts, k: int) -> str:
    name = cuts.name(k)
    return f"{name} {cuts.verb.removesuffix('s') if name.startswith('groups') else cuts.verb}"


def _cuts(problem: BoundProblem) -> Iterator[Cuts]:
    topology = problem.topology
    if not problem.free or problem.is_hashed or topology.kind != "graph":
        return
    if not topology.links or not problem.source.size:
        return
    work = (
        np.broadcast_to(problem.link_work, topology.links)
        if problem.link_work.size
        else np.zeros(topology.links)
    )
    with np.errstate(divide="ignore"):
        rate = 1 / work
    size = np.broadcast_to(problem.size, problem.source.size).astype(np.float64)
    ends = problem.source, problem.target
    for verb in ("sends", "receives"):
        source, target = ends if verb == "sends" else ends[::-1]
        tails, heads = topology.ends if verb == "sends" else topology.ends[::-1]
        for part, name in _partitions(topology):
            leaves = (part[source] >= 0) & (part[source] != part[target])
            out = (part[tails] >= 0) & (part[tails] != part[heads])
            count = int(part.max()) + 1
            of, at = part[source[leaves]], part[tails[out]]
            widths = np.bincount(at, topology.widths()[out], count).astype(np.int64)
            amounts = np.bincount(of, size[leaves], count).astype(np.float64)
            rates = np.bincount(at, rate[out], count).astype(np.float64)
            yield Cuts(name, verb, np.bincount(of, minlength=count), amounts, widths, rates)
        if topology.group is not None and topology.group.max() > 1:
            yield _first_groups(
                topology, topology.group, verb, (source, target), (tails, heads), size, rate
            )


def _partitions(topology: Topology) -> Iterator[tuple[Ints, Callable[[int], str]]]:
    """(set of each node, -1 for none; a set as text)."""
    group = topology.group
    if group is not None and group.max() > 0:
        yield group.astype(np.int64), lambda k: _group_name(topology, group, k)
    hung = _with_endpoints(topology)
    if hung is not None:
        part, switches, under = hung
        yield (
            part,
            lambda k: (
                f"{topology.node_name(int(switches[k]))} with its "
                f"{count_of(int(under[k]), 'endpoint')}"
            ),
        )
    for level in range(1, 0 if topology.level is None else int(topology.level.max())):
        below = _components(topology, level)
        if below.max() > 0:
            yield (
                below,
                lambda k, below=below: (  # type: ignore[misc]
                    f"a part ({_members(topology, np.flatnonzero(below == k))})"
                ),
            )
    part = np.full(topology.nodes, -1)
    part[: topology.endpoints] = np.arange(topology.endpoints)
    yield part, topology.node_name


def _with_endpoints(topology: Topology) -> tuple[Ints, Ints, Ints] | None:
    """(set of each node, its switch, its endpoints) of switches with endpoints of their own.

    Endpoints that hang on them alone.
    """
    neighbours = np.bincount(topology.link_source, minlength=topology.nodes)
    first = np.searchsorted(topology.link_source, np.arange(topology.nodes))
    hangs = np.flatnonzero(neighbours[: topology.endpoints] == 1)
    on = topology.link_target[first[hangs]]
    switches = np.unique(on[on >= topology.endpoints])
    if not switches.size:
        return None
    part = np.full(topology.nodes, -1)
    part[switches] = np.arange(switches.size)
    part[hangs] = part[on]
    return (
        part,
        switches.astype(np.int64),
        np.bincount(part[hangs][part[hangs] >= 0], minlength=switches.size),
    )


def _components(topology: Topology, level: int) -> Ints:
    """shape=(nodes): the connected parts of the nodes up to a level, numbered from 0.

    -1 above it.
    """
    assert topology.level is not None
    kept = topology.level <= level
    source, target = topology.ends
    inner = kept[source] & kept[target]
    source, target = source[inner], target[inner]
    lowest = np.where(kept, np.arange(topology.nodes), -1)
    while True:
        before = lowest.copy()
        np.minimum.at(lowest, source, before[target])
        np.minimum.at(lowest, target, before[source])
        if (lowest == before).all():
            break
    part = np.full(topology.nodes, -1)
    part[kept] = np.unique(lowest[kept], return_inverse=True)[1]
    return part


def _group_name(topology: Topology, group: Ints32, k: int) -> str:
    return f"group {k} ({_members(topology, np.flatnonzero(group == k))})"


def _members(topology: Topology, members: Indices) -> str:
    first, last = (topology.node_name(int(node))[5:] for node in (members[0], members[-1]))
    return f"{count_of(members.size, 'node')} from {first} to {last}"


def _first_groups(
    topology: Topology,
    group: Ints32,
    verb: str,
    ends: tuple[Ints32, Ints32],
    links: tuple[Ints32, Ints32],
    size: Floats,
    rate: Floats,
) -> Cuts:
    """The sets of the first 1, 2, … groups; nodes of no group are in none of them."""
    groups = int(group.max()) + 1

    def crossing(tail: Ints32, head: Ints32, weight: Floats) -> Floats:
        """shape=(groups - 1): what goes from the first k + 1 groups to anywhere else."""
        low, high = group[tail].astype(np.int64), group[head].astype(np.int64)
        high = np.where(high < 0, groups, high)
        over = (low >= 0) & (low < high)
        starts = np.bincount(low[over], weight[over], groups + 1)
        return np.cumsum(starts - np.bincount(high[over], weight[over], groups + 1))[: groups - 1]

    def name(k: int) -> str:
        return f"groups 0 to {k}" if k else _group_name(topology, group, 0)

    widths = crossing(*links, topology.widths().astype(np.float64))
    rates = crossing(*links, rate) if np.isfinite(rate).all() else np.full(groups - 1, np.inf)
    return Cuts(
        name,
        verb,
        crossing(*ends, np.ones(ends[0].size)).astype(np.int64),
        crossing(*ends, size),
        widths.astype(np.int64),
        rates,
    )
