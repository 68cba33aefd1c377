"""Connections one after the other, each over the cheapest path in all phases (the text's APR).

Problem: connections into the fewest phases, a route taking one channel in every node it visits,
both ends included. Idea: every phase is a copy of the network; a node of a copy with u channels in
use costs 1 + u, a full one is closed. Each connection takes the cheapest path over all copies. If
some find none: rounds that rip up a tenth of the routes at random, route first what stayed out,
then what was removed. If that fails too, one more copy. It starts at the lower bound. Invariant: no
limit is exceeded at any time; a round may leave more out than it found. Complexity: one best-first
search over all copies for a connection, in the core; memory O(phases · (nodes + links)). When to
use it: any network, any limits on ports, links and channels, an order, any demands; always an
answer. Detours come by themselves: a full node is walked around. Measured: complete exchange, 12
channels: 8 × 8 torus 28 phases in 0.3 s, ΣL 179 (bound 27; the text 30); 16 × 16 torus 199 phases
in 2 minutes (bound 192). Departures: the text leaves the order of connections, the number of rounds
and the share ripped up open: longest first with random ties and random order in turn, 10 rounds per
unit of effort, a tenth. Rip-up gains one phase from a bad order, none from a good one. Copies among
equals take turns from a random one. An order between connections is kept inside phases and across
them: none stands in an earlier phase than its predecessors, and one with b messages before it on
its longest chain of n takes the first (b + 1) / n of the phases, so that there is room for those
behind; without rip-up then. Demands: a resource is shared evenly, so a connection enters only where
rate / (users + 1) is enough for itself and for everyone there, and where nobody waits longer than
is demanded (`demand_ledger.hpp`); without rip-up then. Reference: Feldmann, Stricker, Warfel:
Supporting Sets of Arbitrary Connections on iWarp Through Communication Context Switches, Section
4.4.1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import NoScheduleError
from conset.base.units import count_of
from conset.methods.phases.connection_routers.demands import link_rates
from conset.methods.phases.connection_routers.task import Routed, Task

SHARE = 0.1
ROUNDS = 10
HOPELESS = 0.05
"""More left out than this share of the connections is never mended by rip-up."""

_INTS, _RATES = np.zeros(0, np.int32), np.zeros(0, np.float64)


def route_sequential(task: Task) -> Routed:
    """Routes in the fewest phases this router finds.

    Raises:
        NoScheduleError: no path joins the ends of a connection, or not all find one in as many
            phases as are asked for.
    """
    asked = task.problem.search.phases
    phases = max(task.least_phases, 1) if asked is None else asked
    demanding = task.problem.min_bandwidth is not None or task.problem.max_latency is not None
    fixed = task.problem.pattern.before is not None or demanding
    rounds = 0 if fixed else ROUNDS * task.problem.search.effort
    while True:
        fewest = task.source.size
        for order, seed in _orders(task):
            router = build_router(task, phases, seed)
            out = router.route(order)
            if 0 < out <= HOPELESS * task.source.size:
                out = router.rip_up(rounds, SHARE)
            if out == 0:
                return routed(router, stopped_early=_core.stop_asked())
            fewest = min(fewest, out)
        if asked is not None:
            raise NoScheduleError(
                f"{count_of(asked, 'phase')}: {count_of(fewest, 'connection')} find no path"
            )
        if phases > task.source.size:
            lost = int(np.flatnonzero(router.phase() < 0)[0])
            raise NoScheduleError(f"message {lost}: {_ends(task, lost)}: no route joins its ends")
        supply = task.channels * task.topology.nodes
        if _core.stop_asked():
            phases *= 2  # an answer soon
        more = int(fewest * float(task.hops.mean() + 1)) // supply
        if demanding:  # most of the phases that those outside need at the rate of those inside
            more = max(more, fewest * phases // (2 * (task.source.size - fewest + 1)))
        phases += max(1, more)


def _orders(task: Task) -> Iterator[tuple[NDArray[np.int32], int]]:
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


def routed(router: _core.SequentialRouter, *, stopped_early: bool = False) -> Routed:
    """Phases and routes of all connections, where none stays out."""
    paths = router.paths()
    return Routed(
        "sequential", router.phase(), paths.offsets, paths.nodes, stopped_early=stopped_early
    )


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


def _ends(task: Task, message: int) -> str:
    names = (task.topology.node_name(int(end[message])) for end in (task.source, task.target))
    return " → ".join(names)
