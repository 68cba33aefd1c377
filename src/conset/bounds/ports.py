"""Bounds of ports: messages, partners and bytes that one node can send and receive.

The witness of each is a node. They hold for any routes, and for split messages as for whole ones.

Port degree: a port takes a limited number of messages at once.
    Statement: phases ≥ ⌈messages out of v / send⌉ and ≥ ⌈messages into v / receive⌉ for every node
    v. Proof: a phase holds at most `send` (`receive`) of them, and each, or some part of it, stands
    in a phase. With one side of the pattern's graph for sources and one for targets this is the
    largest degree, and at send 1, receive 1 without other limits it is reached (König 1916). Time
    O(messages), memory O(nodes).

Port sum: the largest loads of all phases add up to at least what one port sends or receives.
    Statement: ΣL ≥ messages out of v and ≥ messages into v for every node v, where L is the largest
    load of any port or link of a phase. Proof: a port's loads add up to its messages, and L is at
    least its load in every phase. Class: any limits. O(messages).

Partners: a node that sends and receives in one phase does so with one partner (duplex exchange).
    Statement: phases ≥ ⌈distinct partners of v / k⌉, k the larger of `send` and `receive`; and ≥ 2
    where v both sends and receives and has more than one partner. Proof: in a phase v either
    exchanges with one partner, or only sends to at most `send`, or only receives from at most
    `receive`; with two partners and both directions one phase would break the rule. Time
    O(messages), after which a table of nodes² bits or a sort of the pairs. Source: the half-duplex
    rule of the iPSC/860 (Wang, Ranka, section 2.2).

Port time: bytes pass a port, or a half-duplex node, at its rate.
    Statement: time ≥ the least lead-in + Σ bytes / rate + the least lead-out over the messages out
    of v, and over those into v; where in and out share a rate, over both, a byte of messages that
    may meet in an exchange under the policy counting `exchange_weight`. Proof: in step 5 of a
    message's life no model exceeds a rate, and no byte flows before the steps ahead of it; which
    bytes meet is for the schedule to choose, so all of a pair with messages both ways may. With
    barriers leads are paid in every group that v has messages in. Class: any limits, every policy;
    split messages lead in and out with the least a part may. O(messages).

What one link of the machine's routes carries, or all together whatever the routes.

They hold for split messages as for whole ones. Where routes are the machine's the witness is a
link, where they are free both sums. O(sum of hops) each.

Link load: a link takes a limited number of messages at once.
    Statement: phases ≥ ⌈messages over l / (link · width of l)⌉ for every link l of the machine's
    routes. Proof: a phase holds at most `link` per unit of width of them. Memory O(links).

Link sum: the largest loads of all phases add up to at least what one link carries.
    Statement: ΣL ≥ ⌈messages over l / width of l⌉ for every link l of the machine's routes; with
    free routes ΣL ≥ ⌈Σ shortest hops / Σ width⌉, the mean instead of the largest. Proof: as for
    ports; the load of a link counts per unit of its width. Class: any limits. On an 8×8 torus the
    complete exchange takes 16384 hops on 256 links: 64, which is reached.

Link supply: a phase has only so many links, whatever the routes.
    Statement: phases ≥ ⌈Σ shortest hops of messages / Σ link · width over the links⌉. Proof: a
    message takes at least its shortest hops, and all links together take `link` per unit of width
    in a phase. Class: free routes. Memory O(messages). The linear program over cuts
    (`conset.bounds.lp`) is stronger where links are scarce in one place, as in the middle of a
    mesh.

Link time: a link carries its bytes at its rate.
    Statement: time ≥ the least lead-in + bytes over l / (rate · width of l) + the least lead-out,
    for every link l of the machine's routes, where a message leads in with its set-up (or signal),
    send overhead and latency, and out with its receive overhead, the other way round where this
    goes before. Proof: in step 5 of a message's life no model exceeds the rate of a link, and no
    byte flows before the steps ahead of it. With barriers leads are paid in every group the link
    has messages in. Class: any limits, every policy.

Expected link time and sum: where a hash draws routes, the busiest link in expectation.
Statement: E[time] ≥ max over links l of E[bytes over l] / (rate · width of l), between the least
lead-in and lead-out of any message; E[ΣL] ≥ max over l of E[messages over l] / width.
Proof: for every outcome of the hash the time is at least that of each link, so E[max over l] ≥ max
over l of E (Jensen's inequality: a maximum is convex), and E[bytes over l] is the sum over messages
of bytes times the chance to pass l, whatever hashes share.
Class: in expectation over the hash, any limits, every policy. A single outcome may be faster; most
are slower.

Link supply in time: all links together carry only so much, whatever the routes.
    Statement: time ≥ Σ bytes · shortest hops / Σ rate · width over the links. Proof: in time T link
    l carries at most T · rate · width bytes; a message is carried over at least its shortest hops;
    all bytes flow between the least lead-in and the least lead-out of any message, with barriers in
    every group. Class: free routes, any limits, every policy.

Bounds of logical channels: at the ends of routes, along them, in all nodes together.

A route takes one channel in every node it visits, both ends included: the reading of Feldmann,
Stricker, Warfel, ConSet. All hold for split messages as for whole ones.

Channel ends: a node's own messages take its channels, whatever the routes.
    Statement: phases ≥ ⌈(messages out of v + into v) / channels⌉ for every node v. Proof: every
    route has a channel in both its ends. Class: any routes. Witness: the node. O(messages).

Channel supply: a phase has only so many channels, whatever the routes.
Statement: phases ≥ ⌈Σ (shortest hops + 1) / (nodes · channels)⌉. Proof: a route visits one more
node than its hops.
Class: free routes. Witness: both sums. O(sum of hops). The complete exchange on an 8×8 torus with
12 channels: 20416 / 768, 27 phases, which is reached.

Channels: a node lets a limited number of routes through.
    Statement: phases ≥ ⌈routes that visit v / channels⌉ for every node v, its own messages' ends
    included. Proof: a phase holds at most `channels` of them. Class: the machine's routes. Witness:
    the node. A route visits its source and enters one node over each of its links, so visits are
    messages out of v plus messages on the links into v: O(links) beside the loads of links.

Channel sum: few phases must be full, and full phases have high loads.
    Statement: let C be the channels that all routes take together (hops + 1 each), K the limit of a
    node's channels, N the nodes, E those that may hold ranks, W the widths of all links together. A
    phase whose largest load is L carries at most min(K · N, L · (W + E)) channels, so ΣL in P
    phases is at least the least ΣL_p with Σ min(K · N, L_p · (W + E)) ≥ C. Proof: the phase has at
    most L · E messages and L · W hops, and K · N channels. The gain of one more unit of load never
    grows, so the least sum fills every phase evenly. Class: any routes or the machine's; of the
    schedule's own number of phases, or of any. Witness: the sums. O(sum of hops). The complete
    exchange on an 8×8 torus with 12 channels: C = 20416, K · N = 768, W + E = 320: 79 at 27 phases,
    76 at 28, 64 from 32 on; 79 and 64 are reached. Source: the argument for that case in the notes
    on connection sets, made general.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conset.base import Ints, count_of, format_rate
from conset.bounds.problem import BoundProblem, BoundValue


def bound_port_degree(problem: BoundProblem) -> BoundValue | None:
    """The busiest port by messages; None where ports have no limit."""
    found = [
        BoundValue(-(-int(busiest.value) // limit), f"{busiest.witness}, {limit} at once")
        for busiest, limit in zip(
            busiest_ports(problem), (problem.limits.send, problem.limits.receive), strict=True
        )
        if limit is not None
    ]
    return max(found, key=lambda f: f.value, default=None)


def busiest_ports(problem: BoundProblem) -> Iterator[BoundValue]:
    """The port out and the port in with most messages."""
    for verb, count in (("sends", problem.sends), ("receives", problem.receives)):
        node = int(count.argmax())
        yield BoundValue(
            int(count[node]),
            f"{problem.topology.node_name(node)} {verb} {count_of(int(count[node]), 'message')}",
        )


def bound_port_sum(problem: BoundProblem) -> BoundValue:
    """The busiest port by messages."""
    return max(busiest_ports(problem), key=lambda f: f.value)


def bound_partners(problem: BoundProblem) -> BoundValue | None:
    """The node with most partners; None with full duplex."""
    if problem.limits.duplex != "exchange":
        return None
    partners = count_partners(problem)
    name = problem.topology.node_name
    limits = problem.limits.send, problem.limits.receive
    most = int(partners.argmax())
    at_once = None if None in limits else max(limit for limit in limits if limit is not None)
    if at_once is not None and -(-int(partners[most]) // at_once) >= 2:
        return BoundValue(
            -(-int(partners[most]) // at_once),
            f"{name(most)} has {partners[most]} partners, {at_once} a phase",
        )
    torn = np.flatnonzero((problem.sends > 0) & (problem.receives > 0) & (partners > 1))
    if torn.size:
        return BoundValue(
            2,
            f"{name(int(torn[0]))} sends and receives and has "
            f"{count_of(int(partners[torn[0]]), 'partner')}",
        )
    return BoundValue(
        min(1, int(partners[most])), f"{name(most)} has {count_of(int(partners[most]), 'partner')}"
    )


def count_partners(problem: BoundProblem) -> Ints:
    """shape=(nodes): distinct nodes that each node sends to or receives from."""
    nodes = problem.topology.nodes
    source, target = problem.source, problem.target
    if nodes * nodes <= max(2**24, 8 * source.size):
        meets = np.zeros((nodes, nodes), bool)
        meets[source, target] = True
        meets[target, source] = True
        return np.asarray(meets.sum(axis=1, dtype=np.int64))
    low, high = np.minimum(source, target).astype(np.int64), np.maximum(source, target)
    pairs = np.unique(low * nodes + high)
    return np.bincount(pairs // nodes, minlength=nodes) + np.bincount(
        pairs % nodes, minlength=nodes
    )


def bound_port_time(problem: BoundProblem, phases: int) -> BoundValue:
    """The busiest port or half-duplex node [s]."""
    sums, limits = problem.sums, problem.limits
    needed = {
        "sends": problem.phases_of((problem.sends, limits.send)),
        "receives": problem.phases_of((problem.receives, limits.receive)),
    }
    needed["sends and receives"] = np.maximum(needed["sends"], needed["receives"])
    time = {
        verb: problem.in_groups(work, lead.both, needed[verb], phases)
        for verb, work, lead in (
            ("sends", sums.out, sums.leaving),
            ("receives", sums.into, sums.entering),
            ("sends and receives", sums.both, sums.passing),
        )
    }
    verb = max(time, key=lambda each: float(time[each].max(initial=0.0)))
    if not time[verb].any():
        return BoundValue(
            0.0, "no message leaves its node" if problem.source.size == 0 else "ports cost nothing"
        )
    node = int(time[verb].argmax())
    mine = np.zeros(problem.source.size, bool)
    if "sends" in verb:
        mine |= problem.source == node
    if "receives" in verb:
        mine |= problem.target == node
    sent = f"{count_of(int(mine.sum()), 'message')}, {problem.size[mine].sum():,} B"
    return BoundValue(float(time[verb][node]), f"{problem.topology.node_name(node)} {verb} {sent}")


def bound_link_load(problem: BoundProblem) -> BoundValue | None:
    """The busiest link by messages per unit of width.

    None without a limit, with free routes, or without links.
    """
    limit = problem.limits.link
    if limit is None or problem.free or problem.topology.link_slots == 0:
        return None
    at_once = limit * problem.topology.widths().astype(np.int64)
    phases = -(-problem.link_messages // at_once)
    link = int(phases.argmax())
    name, count = problem.topology.link_name(link), problem.link_messages[link]
    return BoundValue(
        int(phases[link]),
        f"{name} carries {count_of(int(count), 'message')} at {at_once[link]} a phase",
    )


def bound_link_sum(problem: BoundProblem) -> BoundValue | None:
    """The busiest link, or all hops over all links where routes are free; None without links."""
    topology = problem.topology
    if topology.links == 0:
        return None
    widths = topology.widths().astype(np.int64)
    if problem.free:
        hops, supply = (
            int(problem.least_hops.sum(dtype=np.int64)),
            int(widths[topology.link_exists].sum()),
        )
        return BoundValue(
            problem.per_supply(hops, supply),
            f"{count_of(hops, 'hop')} at least on {count_of(supply, 'link')}, counted by width",
        )
    load = -(-problem.link_messages // widths)
    link = int(load.argmax())
    return BoundValue(
        int(load[link]),
        f"{topology.link_name(link)} carries "
        f"{count_of(int(problem.link_messages[link]), 'message')}",
    )


def bound_expected_link_sum(problem: BoundProblem) -> BoundValue | None:
    """The busiest link by expected messages per unit of width; None where no hash draws routes."""
    if not problem.is_hashed or problem.topology.links == 0:
        return None
    load = problem.expected.messages / problem.topology.widths()
    link = int(load.argmax())
    messages = float(problem.expected.messages[link])
    name = problem.topology.link_name(link)
    return BoundValue(float(load[link]), f"{name} carries {_expected(messages)}")


def _expected(messages: float) -> str:
    """`1 message expected`, `2.5 messages expected`."""
    return f"{messages:.6g} {'message' if messages == 1 else 'messages'} expected"


def bound_expected_link_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest link by expected bytes [s].

    None where no hash draws routes, or links cost nothing.
    """
    if not problem.is_hashed or problem.link_work.size == 0 or problem.topology.links == 0:
        return None
    time = problem.expected.bytes * problem.link_work
    link = int(time.argmax())
    messages, size = problem.expected.messages[link], problem.expected.bytes[link]
    name = problem.topology.link_name(link)
    return BoundValue(
        problem.all_bytes(float(time[link]), phases),
        f"{name} carries {_expected(float(messages))}, {size:,.0f} B",
    )


def bound_link_supply(problem: BoundProblem) -> BoundValue | None:
    """All hops over all links; None without a limit or with the machine's routes."""
    limit = problem.limits.link
    topology = problem.topology
    if limit is None or not problem.free or topology.links == 0:
        return None
    hops = int(problem.least_hops.sum(dtype=np.int64))
    supply = limit * int(topology.widths()[topology.link_exists].sum(dtype=np.int64))
    return BoundValue(
        -(-hops // supply),
        f"{count_of(hops, 'hop')} at least, all {topology.links} links take {supply} a phase",
    )


def bound_link_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest link by bytes [s]; None with free routes or where links cost nothing."""
    links = problem.sums.links
    if links is None:
        return None
    limit, width = problem.limits.link, problem.topology.widths()
    # messages per unit of width, as the limit counts them
    needed = problem.phases_of((-(-problem.link_messages // width), limit))
    time = problem.in_groups(problem.totals.bytes * problem.link_work, links.both, needed, phases)
    if not time.any():
        return None
    link = int(time.argmax())
    count, size = problem.link_messages[link], problem.totals.bytes[link]
    return BoundValue(
        float(time[link]),
        f"{problem.topology.link_name(link)} carries {count_of(int(count), 'message')}, {size:,} B",
    )


def bound_link_supply_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """All bytes times hops over all rates [s].

    None with the machine's routes, or where no link costs anything.
    """
    work, topology = problem.link_work, problem.topology
    if not problem.free or work.size == 0 or not work.all() or not topology.links:
        return None
    carried = float((problem.size * problem.least_hops.astype(np.float64)).sum())
    rate = float(np.broadcast_to(1 / work, topology.link_slots)[topology.link_exists].sum())
    return BoundValue(
        problem.all_bytes(carried / rate, phases),
        f"{carried:,.0f} B · hops at least, all {topology.links} links carry {format_rate(rate)}",
    )


def bound_channel_ends(problem: BoundProblem) -> BoundValue | None:
    """The node with most messages of its own.

    None without a limit, or where routes through it are counted too.
    """
    limit = problem.limits.channels
    if limit is None or not problem.free:
        return None
    own = problem.sends + problem.receives
    node = int(own.argmax())
    return BoundValue(
        -(-int(own[node]) // limit),
        f"{problem.topology.node_name(node)} is an end of {count_of(int(own[node]), 'message')}, "
        f"{limit} at once",
    )


def bound_channel_supply(problem: BoundProblem) -> BoundValue | None:
    """All visits over all channels; None without a limit or with the machine's routes."""
    limit = problem.limits.channels
    if limit is None or not problem.free:
        return None
    messages = problem.source.size
    hops = int(problem.least_hops.sum(dtype=np.int64)) if problem.topology.link_slots else messages
    supply = limit * problem.topology.nodes
    return BoundValue(
        -(-(hops + messages) // supply),
        f"routes take {count_of(hops + messages, 'channel')} at least, "
        f"all {problem.topology.nodes} nodes have {supply} a phase",
    )


def bound_channels(problem: BoundProblem) -> BoundValue | None:
    """The node most routes visit; None without a limit or with free routes."""
    limit = problem.limits.channels
    if limit is None or problem.free:
        return None
    visits = count_visits(problem)
    node = int(visits.argmax())
    return BoundValue(
        -(-int(visits[node]) // limit),
        f"{problem.topology.node_name(node)} is visited by "
        f"{count_of(int(visits[node]), 'route')}, {limit} at once",
    )


def count_visits(problem: BoundProblem) -> Ints:
    """shape=(nodes): routes that visit each node, ends included.

    At least their ends where there are no links.
    """
    if problem.topology.link_slots == 0:
        return problem.sends + problem.receives
    entered = np.zeros(problem.topology.nodes, np.int64)
    np.add.at(entered, problem.topology.ends[1], problem.link_messages)
    return problem.sends + entered


def bound_channel_sum(problem: BoundProblem) -> BoundValue | None:
    """Least ΣL of so many phases; None without links or messages between nodes."""
    topology = problem.topology
    if topology.links == 0 or problem.source.size == 0:
        return None
    needed = count_channels(problem)
    per_load = int(topology.widths()[topology.link_exists].sum(dtype=np.int64)) + topology.endpoints
    limit, phases = problem.limits.channels, problem.phases
    if limit is None or phases is None:
        return BoundValue(
            problem.per_supply(needed, per_load),
            f"routes take {needed} channels, a load of 1 carries {per_load}",
        )
    most = limit * topology.nodes
    full, rest = divmod(most, per_load)
    total = -(-needed // per_load)
    if total > phases * full and rest:
        total = phases * full + -(-(needed - phases * full * per_load) // rest)
    return BoundValue(
        total,
        f"routes take {needed} channels, a load of 1 carries {per_load}, each of "
        f"{count_of(phases, 'phase')} {most}",
    )


def count_channels(problem: BoundProblem) -> int:
    """Channels that all routes take together: one in every node visited.

    The fewest where routes are free.
    """
    if problem.free:
        return int(problem.least_hops.sum(dtype=np.int64)) + problem.source.size
    return int(count_visits(problem).sum())
