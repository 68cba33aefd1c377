"""bounded: complete exchange on a mesh or torus, with a limit on the contention of links.

Problem: every rank sends one message to every other one over dimension-order routes; a node sends
and receives at most one message in a phase, a link carries at most c.
Idea: every ordered pair of nodes of a side occurs once in a family of permutations that load the
side's links evenly; the sides are combined so that what meets on a link is in different steps,
and steps are merged as far as c allows. The constructions, each with its proof in short, the table
of them and the search that packs leftovers where none meets the bound are in the core, in
`cpp/src/scheduling/complete_exchange`; programs without Python call them there.
Invariant: send 1, receive 1, link c in every phase, also where c is larger than any use of it.
Guarantee: never more phases than the best construction.
Bound: the larger of N - 1 and the largest load of a link over c. Met by constructions:
mesh n × n, 4 | n: ⌈n³/4c⌉ for every c ≤ n/4; each rank's part in O(1) per step (`partner_at`);
mesh n × n, other n: at c = 1, and c = m for n = 4m+1; of 4m+1 only where 2m+1 is a power of a
prime, elsewhere (n+1)/n of it; mesh R × C: at c = 1 on all up to 24 × 24 (5 × 7 by search), and
N - 1 for c > R/4 and C/4, sides up to 49 (by a short search of lines); mesh, d sides of 4m:
n^{d+1}/4c where c | m; torus: squares 4k and, where meshes are, 4k+1, cubes 8k and many rectangles;
otherwise see the files.
Complexity: O(messages) where a construction meets the bound; `effort` times a fixed budget more
where not.
When not to use it: any pattern but the complete exchange. On a graph, such as a box with dead nodes
or links, it searches and says so.
Reference: Bokhari, Nicol: Balancing contention and synchronization on the Intel Paragon (1997),
section 5, after Scott (DMCC 1991). Departures: every c, not only those that divide n/4; every box,
not only squares with 4 | n.

scott: a complete exchange on a square mesh in n³/4 phases without contention.

That is the fewest there can be.

Problem: a complete exchange on an n × n mesh with routes along the row first, no link used twice in
a phase.
Idea: fold each side; a pair of folded nodes makes two cycles of four nodes that load every link
between them exactly once in each direction. Each phase combines one such cycle in every row with
one in every column: 4n nodes are active, a fraction 4/n.
Invariant: one send, one receive per node and one message per link in every phase; every pair of
nodes once.
Guarantee: n³/4 phases, the bisection bound: the n links across the middle carry n⁴/4 messages each
way.
Complexity: O(messages) in time and memory; the core walks the phases by formula.
When to use it: where a link must carry one message at a time and nothing else counts. `bounded`
merges c of these phases into one and has any other side as well.
Departures: Scott's own list of phases is in neither text; this is the closed form of `bounded` at
contention 1, which equals the phases that Bokhari and Nicol print up to their order. Parts of a
complete exchange are taken too: phases without messages vanish.
Reference:
Bokhari, Nicol: Balancing contention and synchronization on the Intel Paragon (1997), section 4,
after
Scott: Efficient all-to-all communication patterns in hypercube and mesh topologies (1991).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conset import _core
from conset.base import InputError, Ints, Ints32, count_of
from conset.machine import core_network
from conset.methods.phases.first_fit import schedule_first_fit
from conset.methods.phases.negotiated import schedule_negotiated
from conset.methods.phases.problem import (
    Phases,
    Problem,
    refuse_limits,
    refuse_order,
    refuse_shared_nodes,
)

SEARCHED = 20_000
"""Messages up to which a box with holes is searched by negotiation; above, by first fit."""


def applies_bounded(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        _refuse_network(problem)
        or refuse_order(problem, "bounded")
        or refuse_shared_nodes(problem, "bounded")
        or refuse_limits(problem, "bounded", "send", "receive", "link")
        or _refuse_pattern(problem)
    )


def schedule_bounded(problem: Problem) -> Phases:
    """Phases of a complete exchange under send 1, receive 1, link c.

    Raises:
        InputError: the pattern is no complete exchange of all nodes or has an order, two ranks
            share a node, the network is no mesh or torus, or other limits are asked for.
    """
    if problem.machine.topology.kind == "graph":
        # a box with dead nodes or links has no construction: search, and say so
        found = "negotiated" if problem.pattern.messages <= SEARCHED else "first-fit"
        note = f"bounded has no construction for a network with holes: {found} instead"
        return replace(_searched(problem), note=note)
    box = box_of(problem)
    if problem.planes > 1 and problem.limits.link is not None and box.messages:
        return _over_planes(problem, box)
    chosen = box.choose(effort=problem.search.effort, seed=problem.search.seed % 2**64).phases
    return _placed(problem, Phases(chosen.offsets, chosen.message))


def _over_planes(problem: Problem, box: _core.ExchangeBox) -> Phases:
    """Phases of the construction for the room of all planes, where each is one of a plane for each.

    That is where merging steps of a construction gives those phases. Else consecutive phases of one
    plane, merged. Where these miss the bound, the slots of a search where these are fewer.
    """
    wide, found = box_of(problem, problem.planes), []
    inside, phase = np.empty((2, box.messages), np.int64)
    one, all_planes = (each.choose(effort=0, seed=0).phases for each in (box, wide))
    inside[one.message] = np.repeat(np.arange(one.offsets.size - 1), np.diff(one.offsets))
    for each in (all_planes, box.merged(one, problem.planes)):
        phase[each.message] = np.repeat(np.arange(each.offsets.size - 1), np.diff(each.offsets))
        part, at = np.unique(phase * box.messages + inside, return_inverse=True)
        number = np.arange(part.size) - np.searchsorted(part // box.messages, part // box.messages)
        if number.max() < problem.planes:
            slot = phase * problem.planes + number[at]
            found.append(_placed(problem, Phases.of(slot, planes=problem.planes)))
    if min(each.offsets.size for each in found) - 1 > wide.bound:
        search = replace(problem.search, effort=max(1, problem.search.effort))
        found.append(_searched(replace(problem, search=search)))
    return min(found, key=lambda each: each.offsets.size)


def _searched(problem: Problem) -> Phases:
    small = problem.pattern.messages <= SEARCHED
    return (schedule_negotiated if small else schedule_first_fit)(problem)


def box_of(problem: Problem, planes: int = 1) -> _core.ExchangeBox:
    """The network as the constructions take it, with links for all of so many planes; no holes."""
    topology, link = problem.machine.topology, problem.limits.link
    contention = max(topology.sides) ** 2 if link is None else link * topology.width
    return _core.ExchangeBox(core_network(topology, problem.machine.routing), contention * planes)


def partner_at(side: int, rank: int, step: int) -> int | None:
    """The rank that `rank` sends to at `step` on a `side` × `side` mesh.

    The rank itself where its own data are due, None where it is idle. Each rank of an application
    computes its own part of the closed form in O(1) per step: steps are numbered from 0 to n³/4 -
    1, phase p of a schedule of contention c ≤ n/4 holds the steps c·p … c·p + c - 1.

    Args:
        side: n, divisible by 4; ranks are row-major, rank r on node r.
        rank: from 0 to n² - 1.
        step: from 0 to n³/4 - 1.

    Raises:
        InputError: a number out of range.
    """
    if side < 4 or side % 4 or side > 212:
        raise InputError(
            "closed form of a square mesh: the side must be a multiple of 4 from 4 to "
            f"212, given {side}"
        )
    square = _core.SquareExchange(side)
    for what, value, end in (("rank", rank, side * side), ("step", step, square.steps)):
        if not 0 <= value < end:
            raise InputError(f"{what} {value}: must be from 0 to {end - 1}")
    partner = square.partner(rank, step)
    return None if partner < 0 else partner


def _refuse_network(problem: Problem) -> str | None:
    """A box, or one with holes."""
    topology = problem.machine.topology
    if topology.kind == "graph" and topology.nodes > topology.endpoints:
        switches = topology.nodes - topology.endpoints
        return (
            "method bounded requires a mesh or torus, dead nodes or not, given a graph of "
            f"{switches} switches"
        )
    if topology.is_box or topology.kind == "graph":
        return None
    return f"method bounded requires a mesh or torus, given a {topology.kind}"


def _refuse_pattern(problem: Problem) -> str | None:
    """Each ordered pair of ranks once, one rank on each node."""
    pattern, nodes = problem.pattern, problem.machine.topology.endpoints
    needed = f"method bounded requires a complete exchange of the {nodes} nodes"
    if pattern.ranks != nodes:
        return f"{needed}, given {count_of(pattern.ranks, 'rank')}"
    if pattern.messages != nodes * (nodes - 1):
        return f"{needed}: {nodes * (nodes - 1)} messages, given {pattern.messages}"
    everybody = np.arange(nodes, dtype=np.int32)
    for rank in range(nodes):
        target = pattern.target[pattern.offsets[rank] : pattern.offsets[rank + 1]]
        expected = np.concatenate([everybody[:rank], everybody[rank + 1 :]])
        if not np.array_equal(target, expected):
            missing = np.setdiff1d(expected, target)
            lost = (
                f"none from {rank} to {missing[0]}"
                if missing.size
                else f"{target.size} from rank {rank}"
            )
            return f"{needed}: one message for each pair of ranks, given {lost}"
    return None


def _placed(problem: Problem, phases: Phases) -> Phases:
    """The messages of ranks that stand where `phases` says nodes."""
    placement = problem.placement
    if placement is None or np.array_equal(placement, np.arange(placement.size)):
        return phases
    rank = np.empty(placement.size, np.int64)
    rank[placement] = np.arange(placement.size)
    rest = placement.size - 1
    source, other = np.divmod(phases.message.astype(np.int64), rest)
    start: Ints = rank[source]
    end: Ints = rank[other + (other >= source)]
    return replace(phases, message=(start * rest + end - (end > start)).astype(np.int32))


def schedule_scott(problem: Problem) -> Phases:
    """The phase of every message in the closed form for n × n nodes, empty phases left out.

    Raises:
        InputError: the network is no n × n mesh with 4 | n; two ranks share a node; the pattern has
            an order or several messages from one rank to another one; channels or duplex are
            limited.
    """
    side = problem.machine.topology.sides[0]
    found = _core.SquareExchange(side).phases(1)
    offsets, message = found.offsets, found.message
    nodes = side * side
    source, target = problem.source_node.astype(np.int64), problem.target_node.astype(np.int64)
    if problem.placement is None and source.size == message.size:
        return Phases(offsets, message)
    phase: Ints32 = np.empty(message.size, np.int32)
    phase[message] = np.repeat(np.arange(offsets.size - 1, dtype=np.int32), np.diff(offsets))
    return Phases.of(phase[source * (nodes - 1) + target - (target > source)])


def refuse_no_square(problem: Problem) -> str | None:
    """Of a network that is no n × n mesh with 4 | n."""
    topology = problem.machine.topology
    wraps = topology.wraps and problem.machine.routing.rule != "no-wrap"
    square = topology.is_box and len(topology.sides) == 2 and topology.sides[0] == topology.sides[1]
    if square and not wraps and topology.sides[0] % 4 == 0:
        return None
    given = "x".join(map(str, topology.sides)) or f"{topology.nodes} nodes"
    return (
        f"method scott requires an n x n mesh with n divisible by 4, given {topology.kind} {given}"
    )
