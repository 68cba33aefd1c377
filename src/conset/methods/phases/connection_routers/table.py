"""The table of routers, in the order in which they are tried, and the two that do not search.

closed-form: the complete exchange as slots without contention, slots grouped into phases.

Problem: a complete exchange with the least ΣL, L_p being the largest load of a link or port in
phase p.
Idea: `bounded` at contention 1 cuts it into slots in which no link carries two messages and no node
sends or receives two; on a torus n × n with 4 | n there are n³/8 of them, which fill every link in
every slot: nothing is less. A slot takes at most one channel of a node for each of its links and
one for its own message, so several slots fit into one phase; consecutive slots are grouped as long
as the channels suffice.
Invariant: L_p is at most the number of slots of phase p; ΣL at most the number of slots. Inside a
phase transfers are listed slot by slot: whoever works through its list runs without contention.
Guarantee: torus n × n, 4 | n: ΣL = n³/8, the link bound; 8 × 8 with 12 channels: 64 slots in 32
phases, at most 10 channels.
Complexity: O(messages + Σ hops).
When to use it: large messages (time is ΣL then). Domain: complete exchange, one rank a node, any
mesh, torus or ring; exactness is that of `bounded`. On a machine with other ties the routes are
still those of ties by parity.
Reference: Hinrichs, Kosak, O'Hallaron, Stricker, Take: An architecture for optimal all-to-all
personalized communication (SPAA 1994), doi:10.1145/181014.181028, have 64 such slots on iWarp; the
slots here are those of `bounded`.

sequential: one connection after the other over the cheapest path in all phases (the text's APR).

Problem: connections into the fewest phases, a route taking one channel in every node it visits,
both ends included.
Idea: every phase is a copy of the network; a node of a copy with u channels in use costs 1 + u, a
full one is closed. Each connection takes the cheapest path over all copies. If some find none:
rounds that rip up a tenth of the routes at random, route first what stayed out, then what was
removed. If that fails too, one more copy. It starts at the lower bound. When all are routed, as
many rounds follow, and the best that is seen by the objective is kept (step 4 of APR).
Invariant: no limit is exceeded at any time; a round may leave more out than it found.
Complexity: one best-first search over all copies for a connection, in the core; memory O(phases ·
(nodes + links)).
When to use it: any network, any limits on ports, links and channels, an order, any demands; always
an answer.
Detours come by themselves: a full node is walked around.
Measured: complete exchange, 12 channels: 8 × 8 torus 28 phases in a second, ΣL 173 (bound 27; the
text 30); 16 × 16 torus 199 phases in 2 minutes (bound 192).
Departures: the text leaves the order of connections, the number of rounds and the share ripped up
open: longest first with random ties and random order in turn, 10 rounds per unit of effort or K
(`sequential:K`), a tenth. The complete exchange on 8 × 8 in order of the indices takes 34 phases
without rip-up and 29 with ten or forty rounds; longest first 28 with or without. Rounds after
success gain ΣL: 179 to 173 there, 32 to 30 on 4 × 4, 23 to 21 for 8 random neighbours. Copies among
equals take turns from a random one. An order between connections is kept inside phases and across
them: none stands in an earlier phase than its predecessors, and one with b messages before it on
its longest chain of n takes the first (b + 1) / n of the phases, so that there is room for those
behind; without rip-up then.
Demands: a resource is shared evenly, so a connection enters only where rate / (users + 1) is enough
for itself and for everyone there, and where none waits longer than is demanded
(`demand_ledger.hpp`); without rip-up then.
Reference: Feldmann, Stricker, Warfel: Supporting Sets of Arbitrary Connections on iWarp Through
Communication Context Switches, Section 4.4.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from conset import _core
from conset.base import (
    InputError,
    Ints,
    Ints32,
    NoScheduleError,
    UsageError,
    count_of,
    unknown_name,
)
from conset.machine import Limits, Routing, route_stops
from conset.methods.phases.bounded import applies_bounded, schedule_bounded
from conset.methods.phases.connection_routers.demands import link_rates
from conset.methods.phases.connection_routers.negotiated import route_negotiated
from conset.methods.phases.connection_routers.orbits import route_orbits
from conset.methods.phases.connection_routers.task import Routed, Task, assemble, score


def route_closed_form(task: Task) -> Routed:
    """Slots of the complete exchange, grouped.

    Raises:
        InputError: no complete exchange of all nodes of a mesh, torus or ring, or limits that slots
            cannot keep.
    """
    problem = task.problem
    if not task.topology.is_box:
        raise InputError(
            f"router closed-form requires a mesh or torus, given a {task.topology.kind}"
        )
    machine = replace(problem.machine, routing=Routing(problem.machine.routing.rule, tie="parity"))
    slots = Limits(send=1, receive=1, link=1)
    search = replace(problem.search, effort=0)
    boxed = replace(problem, machine=machine, limits=slots, search=search)
    if (refusal := applies_bounded(boxed)) is not None:
        raise InputError(refusal.replace("method bounded", "router closed-form"))
    phases = schedule_bounded(boxed)
    slot = np.empty(problem.pattern.messages, np.int32)
    slot[phases.message] = np.repeat(
        np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets)
    )
    ends = task.source, task.target
    offsets, nodes, entered = route_stops(task.topology, machine.routing, *ends)
    phase = _group(task, slot, offsets, nodes)
    return Routed("closed-form", phase[slot], offsets, nodes, slot, links=entered)


def _group(task: Task, slot: Ints32, offsets: Ints, nodes: Ints32) -> Ints32:
    """shape=(slots): the phase of each slot; consecutive ones share a phase while limits hold.

    Raises:
        InputError: one slot alone needs more channels than a node has.
    """
    limits, count = task.problem.limits, int(slot.max(initial=-1)) + 1
    together = min(
        (limit for limit in (limits.send, limits.receive, limits.link) if limit is not None),
        default=count,
    )
    use = np.zeros((count, task.topology.nodes), np.int32)
    np.add.at(use, (np.repeat(slot, np.diff(offsets)), nodes), 1)
    phase = np.zeros(count, np.int32)
    taken, p, held = np.zeros(task.topology.nodes, np.int64), 0, 0
    for k in range(count):
        if use[k].max() > task.channels:
            raise InputError(
                f"router closed-form requires {use[k].max()} channels a node, given {task.channels}"
            )
        if held == together or (taken + use[k]).max() > task.channels:
            taken, p, held = np.zeros_like(taken), p + 1, 0
        taken, held = taken + use[k], held + 1
        phase[k] = p
    return phase


SHARE = 0.1
ROUNDS = 10
HOPELESS = 0.05
"""More left out than this share of the connections is never mended by rip-up."""

_INTS, _RATES = np.zeros(0, np.int32), np.zeros(0, np.float64)


def route_sequential(task: Task, rounds: int | None = None) -> Routed:
    """Routes in the fewest phases this router finds.

    Args:
        task: what is routed.
        rounds: of rip-up in each attempt, and after success; None: 10 per unit of effort.

    Raises:
        NoScheduleError: no path joins the ends of a connection, or not all find one in as many
            phases as are asked for.
    """
    asked = task.problem.search.phases
    phases = max(task.least_phases, 1) if asked is None else asked
    demanding = task.problem.min_bandwidth is not None or task.problem.max_latency is not None
    fixed = task.problem.pattern.before is not None or demanding
    if rounds is None or fixed:
        rounds = 0 if fixed else ROUNDS * task.problem.search.effort
    while True:
        fewest = task.source.size
        for order, seed in _orders(task):
            router = build_router(task, phases, seed)
            out = router.route(order)
            if 0 < out <= HOPELESS * task.source.size:
                out = router.rip_up(rounds, SHARE)
            if out == 0:
                return _best_round(task, router, rounds)
            fewest = min(fewest, out)
        if asked is not None:
            raise NoScheduleError(
                f"{count_of(asked, 'phase')}: {count_of(fewest, 'connection')} find no path"
            )
        if phases > task.source.size:
            lost = int(np.flatnonzero(router.phase() < 0)[0])
            ends = (task.topology.node_name(int(end[lost])) for end in (task.source, task.target))
            raise NoScheduleError(f"message {lost}: {' → '.join(ends)}: no route joins its ends")
        supply = task.channels * task.topology.nodes
        if _core.stop_asked():
            phases *= 2  # an answer soon
        more = int(fewest * float(task.hops.mean() + 1)) // supply
        if demanding:  # most of the phases that those outside need at the rate of those inside
            more = max(more, fewest * phases // (2 * (task.source.size - fewest + 1)))
        phases += max(1, more)


def _best_round(task: Task, router: _core.SequentialRouter, rounds: int) -> Routed:
    """The best, by the objective, of what is routed and of what further rounds of rip-up make."""
    best = routed(task, router)
    least = score(task, assemble(best))
    for _ in range(rounds):
        if _core.stop_asked() or router.rip_up(1, SHARE) > 0:
            continue
        found = routed(task, router)
        value = score(task, assemble(found))
        if value < least:
            best, least = found, value
    return replace(best, stopped_early=_core.stop_asked())


def _orders(task: Task) -> Iterator[tuple[Ints32, int]]:
    """Longest first with random ties, and at random, in turn; twice with each unit of effort."""
    for k in range(task.problem.search.effort):
        if k > 0 and _core.stop_asked():
            return
        rng = np.random.default_rng((task.problem.search.seed % 2**64, k))
        noise = rng.random(task.source.size)
        for keys in ((noise, -task.hops), (noise,)):
            yield np.lexsort(keys).astype(np.int32), (task.problem.search.seed + k) % 2**64


def build_router(task: Task, phases: int, seed: int) -> _core.SequentialRouter:
    """The core's router of `phases` copies under the limits of the task."""
    limits, topology = task.problem.limits, task.topology
    source, target = task.links
    width = np.ones(source.size, np.int32) if topology.kind == "crossbar" else topology.widths()
    link = (
        _INTS
        if limits.link is None or topology.kind == "crossbar"
        else (limits.link * width).astype(np.int32)
    )
    channels, send, receive = (
        _INTS if limit is None else np.full(topology.nodes, limit, np.int32)
        for limit in (limits.channels, limits.send, limits.receive)
    )
    return _core.SequentialRouter(
        _core.Wiring(topology.nodes, source, target),
        task.connections,
        _core.RouterLimits(channels=channels, send=send, receive=receive, link=link),
        _demands(task),
        phases=phases,
        weight=1,
        seed=seed,
    )


def routed(task: Task, router: _core.SequentialRouter) -> Routed:
    """Phases and routes of all connections, where none stays out."""
    paths = router.paths()
    found = Routed("sequential", router.phase(), paths.offsets, paths.nodes)
    links = paths.entered if task.topology.kind != "crossbar" else None
    return replace(found, links=links)


def _demands(task: Task) -> _core.RouterDemands:
    """What connections demand of the rates of ports and links.

    Nothing where nothing is demanded.
    """
    costs, nodes, count = (
        task.problem.machine.costs_for("connections"),
        task.topology.nodes,
        task.source.size,
    )
    rates, times = task.problem.min_bandwidth, task.problem.max_latency
    if rates is None and times is None:
        return _core.RouterDemands(
            bandwidth=_RATES,
            latency=_RATES,
            send_rate=_RATES,
            receive_rate=_RATES,
            node_rate=_RATES,
            link_rate=_RATES,
            hop=0.0,
            flit=0.0,
        )
    return _core.RouterDemands(
        bandwidth=np.zeros(count) if rates is None else np.ascontiguousarray(rates, np.float64),
        latency=np.full(count, np.inf)
        if times is None
        else np.ascontiguousarray(times, np.float64),
        send_rate=np.full(nodes, costs.port_out_Bps, np.float64),
        receive_rate=np.full(nodes, costs.port_in_Bps, np.float64),
        node_rate=np.full(nodes, costs.node_Bps, np.float64),
        link_rate=link_rates(task),
        hop=0.0 if task.topology.kind == "crossbar" else float(costs.hop.at(costs.flit_B)),
        flit=float(costs.flit_B),
    )


@dataclass(frozen=True)
class Router:
    """One row.

    Attributes:
        name: as on the command line.
        route: task in, routes out; raises `InputError` outside of its domain.
        domain: what it requires, as text.
        demands: whether it keeps any minimum bandwidths and maximum latencies by itself.
    """

    name: str
    route: Callable[[Task], Routed]
    domain: str
    demands: bool


ROUTERS: tuple[Router, ...] = (
    Router(
        "closed-form",
        route_closed_form,
        "complete exchange on a mesh, torus or ring, one rank a node",
        False,
    ),
    Router(
        "orbits",
        route_orbits,
        "translation-invariant patterns on a torus, ring or hypercube",
        False,
    ),
    Router(
        "negotiated", route_negotiated, "any, up to five million connections times phases", False
    ),
    Router("sequential", route_sequential, "any", True),
)
"""All routers; `sequential` always answers.

Where others have answered, it is used for small patterns only.
"""
SMALL = 2_000_000
"""Connections times phases that `sequential` routes in a few seconds."""


def find_router(name: str) -> Router:
    """The row called `name`; `APR` is `sequential`, which takes a number of rounds, as `APR:20`.

    Raises:
        UsageError: unknown, with the nearest known name; a number that is none.
    """
    rows = {row.name: row for row in ROUTERS}
    word, colon, rounds = name.partition(":")
    row = rows.get("sequential" if word.lower() == "apr" else word)
    if row is None or (colon and row.route is not route_sequential):
        raise unknown_name("router", name, (*rows, "sequential:K", "APR"))
    if not colon:
        return row
    if re.fullmatch(r"[0-9]{1,6}", rounds) is None:
        raise UsageError(f"router '{name}': K of {word}:K must be a whole number of at most 999999")
    return replace(row, route=partial(route_sequential, rounds=int(rounds)))
