"""Wormhole: a header takes channels hop by hop and keeps them; bytes flow over complete paths only.

Circuit: its limit.

Problem. Why does sending everything at once lose, where links have room? Because a message that
waits for one channel keeps those it has, and others wait for these: no fluid model shows that.

Idea. Per directed link and pool `lanes` channels, and as many receives per rank as it takes at
once, first come, first served. A message's life is that of docs/cost-model.md: after its overhead
and latency its header takes a lane of each link (`hop` each), then a receive, and keeps them all;
then bytes flow at the max-min rate over `out`, `in`, `node` and links, and everything is released
together. The rules to the last detail stand in
`cpp/include/conset/simulation/{release/release,wormhole/wormhole}.hpp`.

On rings the pool of a hop is the number of datelines crossed so far (`dimensions + 1` pools), which
keeps rings from deadlock. In graphs of a family a route goes on in the next pool over each link
between nodes of one level, but not inside a group in which all are joined: trees need one pool,
minimal routes of a dragonfly one for each global link and one more, those of others one for each
hop (Günther 1981, doi:10.1109/TCOM.1981.1095021). Other graphs have one pool: cycles of routes may
deadlock there, and this is reported with its cycle, never run for ever. `circuit` is the same with
one lane and one pool: a link has one message, from the first link claimed to delivery.

Half duplex. `node` limits what a node sends and receives together. Two messages of a pair in one
phase, under a policy of the machine's `exchange_syncs`, are a synchronized exchange: each counts
`exchange_weight` in `node` while both stream, and under `ready` each waits for both signals.

Receives. A message that finds no receive waits with its path held: under `--receives N` for one of
its rank's N, in list order (`--receive-order list`) for its place among the first N that are not
delivered. Where the machine says `eager`, one up to that size is taken into the rank's system
buffer (`buffers`) instead, which frees path and sender, and is copied out (`copy`) when its receive
is there; a longer one sends a request and waits for the grant before its header leaves. A receive
is there from the moment its rank enters the phase, under `none` from the start. Buffers that are
full, and lists in unlike orders, may deadlock: reported with their cycle too.

What is left out: packets, release as the tail passes (below a hundredth of a message here).

Complexity: messages · hops · log(pending events), plus rates of the streaming messages joined by
overloaded resources.
Memory: about 150 bytes per message.

Reference. Dally and Seitz, Deadlock-free message routing in multiprocessor interconnection
networks, IEEE Transactions on Computers C-36 (1987), DOI 10.1109/TC.1987.1676939, for channels,
datelines and deadlock.
"""

from __future__ import annotations

import numpy as np

from conset import _core
from conset.base import Bytes, UsageError
from conset.machine import Machine, datelines, route_links
from conset.models.nanoseconds import NS, core_stops, play_fluid
from conset.models.needs import require_one_route
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload


def simulate_wormhole(
    workload: Workload, machine: Machine, settings: Settings | None = None
) -> Timeline:
    """When every message of a workload is delivered, where messages that wait keep what they have.

    Args:
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed; None: everything at once.

    Returns:
        A timeline. `held_by` is where a header waited longest: a link slot,
            `link_slots + nodes + node` for a receive,
        -1 nowhere. `figures`: `lanes`, `pools`, `solves`, and `blocked_s`, how long headers waited
        in all; with an eager threshold `buffered`, messages that system buffers took, and
        `buffered_bytes_max`, the most at any rank at one time.

    Raises:
        UsageError: an unknown policy.
        InputError: more receives than the machine can have posted.
        NoScheduleError: a deadlock; names the cycle of messages and channels.
    """
    return _simulate("wormhole", workload, machine, settings or Settings())


def simulate_circuit(
    workload: Workload, machine: Machine, settings: Settings | None = None
) -> Timeline:
    """As `simulate_wormhole` with one lane and one pool per link: a circuit has its links alone.

    Raises:
        UsageError: an unknown policy, or more than one lane.
        InputError: more receives than the machine can have posted.
        NoScheduleError: a deadlock; names the cycle of messages and links.
    """
    return _simulate("circuit", workload, machine, settings or Settings())


def _simulate(model: str, workload: Workload, machine: Machine, settings: Settings) -> Timeline:
    costs, circuit = machine.costs_for(workload.method), model == "circuit"
    if circuit and settings.lanes not in (None, 1):
        raise UsageError(
            f"lanes {settings.lanes}: a circuit has its links alone, must be 1", options=["lanes"]
        )
    require_one_route(workload, machine, model)
    dateline, pools = (np.zeros(0, np.uint8), 1) if circuit else channel_pools(workload, machine)
    lanes = 1 if circuit else costs.lanes if settings.lanes is None else settings.lanes
    return play_fluid(
        model,
        workload,
        machine,
        settings,
        lambda messages, execution, rates: _core.simulate_wormhole(
            messages,
            execution,
            rates,
            dateline=dateline,
            lanes=lanes,
            pools=pools,
            **core_stops(settings),
        ),
        lambda result: {
            "lanes": lanes,
            "pools": pools,
            "blocked_s": float(result.blocked.sum() / NS),
            "solves": result.solves,
            **(
                {}
                if costs.eager_B is None
                else {"buffered": result.buffered, "buffered_bytes_max": int(result.buffered_most)}
            ),
        },
        in_list=settings.receive_order == "list",
    )


def channel_pools(workload: Workload, machine: Machine) -> tuple[Bytes, int]:
    """(datelines of the links, pools): as many as the most datelines on a route, and one more.

    Where switches choose routes, classes of links instead: 1 as `_turns`, 2 for links up, by level
    or by number, else 0; the core counts the pools.
    """
    topology = machine.topology
    dateline = datelines(topology, machine.routing)
    if machine.routing.knowledge == "adaptive" and not workload.link_offsets.size:
        up = (
            np.arange(topology.nodes)
            if topology.level is None or not dateline.size
            else topology.level
        )
        rises = (up[topology.link_target] > up[topology.link_source]).astype(np.uint8)
        return np.where(dateline == 1, dateline, 2 * rises) if dateline.size else 2 * rises, 1
    if not dateline.any():
        return dateline, 1
    return dateline, 1 + (topology.dimensions or _most_marked(workload, machine, dateline))


def _most_marked(workload: Workload, machine: Machine, dateline: Bytes) -> int:
    """The most marked links on the route of a message."""
    workload.require_fits(machine.topology)
    most, chunk = 0, 1 << 18
    for first in range(0, workload.messages, chunk):
        some = slice(first, min(first + chunk, workload.messages))
        if workload.link_offsets.size:
            offsets = workload.link_offsets[some.start : some.stop + 1]
            links = workload.links[offsets[0] : offsets[-1]]
        else:
            ends = workload.source[some], workload.target[some]
            offsets, links = route_links(machine.topology, machine.routing, *ends)
        marked = np.concatenate([[0], np.cumsum(dateline[links], dtype=np.int64)])
        most = max(most, int(np.diff(marked[offsets - offsets[0]]).max(initial=0)))
    return most
