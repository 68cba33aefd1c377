"""Bounds on time beside those of ports and links.

Messages alone, chains, processors, slots, barriers, cycles.

They hold for any limits, any routes and every policy but where a class is given.

Message time: no message is faster than alone.
    Statement: time ≥ set-up (or signal) + send overhead + latency + bytes / the slowest of its
    ports, node and links + receive overhead, for every message. Proof: these are steps 3 to 7 of
    its life, one after the other in every model, and no rate is exceeded. With barriers every
    further group of phases takes the shortest message. Class: whole messages; free routes count the
    fewest hops and the fastest link there is. Witness: the message. O(messages), and O(sum of hops)
    where links differ.

Chain time: messages that must follow one another take their times alone, added up.
    Statement: time ≥ the largest sum, over chains of the pattern's order, of send overhead +
    latency + bytes / slowest rate + receive overhead; with a barrier after every phase, where
    phases alone keep an order and each message of the chain has one for itself, their set-ups and
    barriers too. Proof: in every model a message is released when those before it are delivered,
    and takes at least its time alone from then on, in the same phase or a later one. Class: whole
    messages. Witness: the chain. Time and memory O(messages + pairs).

Processor time: a processor works on one message after the other.
    Statement: time ≥ setup · (phases in which rank r sends) + Σ send overheads of r + the least of
    what a message it sends has to go after its overhead; ≥ the same with all phases of r, and the
    least of that and of the way of a message to r; ≥ the larger of these set-ups and the least way
    of a message to r, + Σ receive overheads of r + the least rest of a message, where a set-up may
    be followed by one that r sends; where one processor pays for both and handlers do not overlap
    (`preempts`), ≥ set-ups + all overheads of r + the least rest of any. Under `ready`, half a
    signal for each message is work at either end. Where the ranks of a node share a processor, ≥ Σ
    over them of set-ups and all overheads + the least rest of any. Proof: in every model steps 3
    and 7 of a message's life and set-ups take turns on the processor, a set-up goes before all
    messages of its phase, and a message is not delivered before its remaining steps. With barriers
    the rests are paid in every group that r has messages in. Split messages pay the least overhead
    a part may have. Witness: the rank, or the node. O(messages).

Slots: a rank has only so many messages in flight.
    Statement: time ≥ least set-up or signal before a message of rank r + Σ (send overhead +
    latency + [receive overhead, where it goes before bytes that find their receive] + bytes / the
    slowest of its way) / in_flight + the least rest of a message of r. Proof: in every model a
    message keeps its slot that long at least, until its last byte has left, and at most `in_flight`
    slots are kept at one time. Class: a rank may have at most `in_flight` messages in flight, which
    is the machine's number unless a schedule asks for more. Witness: the rank. O(messages).

Barrier time: with barriers, long messages of one port cannot all hide behind one another.
    Statement: time ≥ Σ over i of the largest (L·(i - 1) + 1)-th longest message of any port or
    link, where L is how many of its messages fit between two barriers (`limit` · k under barrier:k,
    times the width of a link), and a message counts with its set-up and what it takes alone;
    further groups take the shortest message. Proof: take the groups of phases between barriers by
    falling duration. The first i - 1 hold at most L·(i - 1) messages of a port, so one of its
    L·(i - 1) + 1 longest is in the i-th or a later one: the i-th lasts at least as long as the
    shortest of these. Class: barrier or barrier:k, whole messages; links only with the machine's
    routes. Witness: the sum. Time O(messages · log messages + sum of hops), memory O(messages);
    O(nodes + links) where all messages are of one size: each counts as the shortest then. Source:
    the bound for sums of largest sizes of the permutation schedules (preemptive open shop is the
    case L = 1 of one port).

Flit time: in routers a message takes cycles, and a link carries one flit in each.
    Statement: with a cycle of `flit` / `link` seconds, time ≥ send overhead + (5 + 4 · hops +
    flits) cycles + receive overhead for every message, and ≥ flits over l cycles for every link l.
    Proof: a header needs 5 cycles at the ends and 4 for every link, its flits follow one a cycle,
    and overheads are paid before and after; a link is a wire of one flit a cycle. Ports, nodes and
    latencies are not read there. Class: the model `flit`, whole messages, the machine's routes or
    those a schedule has. Witness: the message or the link. O(sum of hops).
"""

from __future__ import annotations

from math import inf

import numpy as np

from conset import _core
from conset.base import Floats, Ints, count_of, format_time
from conset.bounds.bounds import Candidate
from conset.bounds.order import longest_chain, name_chain
from conset.bounds.ports import busiest_ports
from conset.bounds.problem import BoundProblem, BoundValue
from conset.machine import message_times, route_hops, route_links
from conset.schedule import Schedule, chosen_links

NO_LIMIT = np.iinfo(np.int64).max
"""Messages between barriers where a port has no limit."""
ROUNDING = 1e-12
"""Relative: sums of the same terms in another order are equal."""
ENDS, HOP = 5, 4
"""Cycles of a lone header: at both ends together, and for every link."""


def bound_message_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The longest message [s]; None where messages may be split."""
    if problem.split:
        return None
    time, m = problem.sums.longest
    pattern, name = problem.pattern, problem.topology.node_name
    source, target = (
        int(problem.nodes_of(ranks[m : m + 1])[0]) for ranks in (pattern.source, pattern.target)
    )
    return BoundValue(
        time + problem.more_groups(1, phases),
        f"message {m}, {pattern.size[m]:,} B from {name(source)} to {name(target)}",
    )


def bound_chain_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The longest chain [s]; None without an order, or where messages may be split."""
    before = problem.pattern.before
    if before is None or not len(before) or problem.split:
        return None
    costs, pattern = problem.costs, problem.pattern
    ends = problem.nodes_of(pattern.source), problem.nodes_of(pattern.target)
    hops, per_byte = problem.ways(*ends)
    slowest = np.maximum(per_byte, problem.port_work(*ends))
    ready = problem.sync.kind == "ready"
    alone = message_times(
        costs,
        pattern.size,
        ends[0] != ends[1],
        hops,
        slowest,
        packed=pattern.packed,
        requests=not ready,
    ).alone
    apart = problem.sync.kind == "barrier" and problem.sync.every == 1 and not problem.inside
    chain, time = longest_chain(before, alone + costs.setup_s * apart)
    time += problem.more_groups(len(chain), phases) if apart else costs.setup_s
    return BoundValue(
        time, f"messages {name_chain(chain)}: {len(chain)} that must follow one another"
    )


def bound_processor_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest processor [s]; None where messages are no work for processors."""
    costs, sums = problem.costs, problem.sums
    copies = problem.pattern.packed is not None and costs.copy_Bps < inf
    signals = problem.sync.kind == "ready" and costs.signal_s > 0
    if not (costs.has_overheads or costs.setup_s or signals or copies):
        return None
    sending = problem.phases_of((sums.sends, problem.limits.send))
    receiving = problem.phases_of((sums.receives, problem.limits.receive))
    either = np.maximum(sending, receiving)
    kinds = {
        "sends": problem.in_groups(
            sending * costs.setup_s + sums.send, sums.sending.out, sending, phases
        ),
        "receives": np.maximum(
            problem.in_groups(
                receiving * costs.setup_s + sums.receive, sums.receiving.out, receiving, phases
            ),
            problem.in_groups(sums.receive, sums.receiving.both, receiving, phases),
        ),
    }
    if (
        costs.setup_s and problem.sync.kind != "barrier"
    ):  # groups in which a rank only receives are none of its sends
        for verb, work, rest in zip(kinds, (sums.send, sums.receive), _rests(problem), strict=True):
            whole = problem.in_groups(either * costs.setup_s + work, rest, either, phases)
            kinds[verb] = np.maximum(kinds[verb], whole)
    if costs.one_processor and not costs.preempts:
        rest = np.minimum(sums.sending.out, sums.receiving.out)
        work = either * costs.setup_s + sums.send + sums.receive
        kinds["sends and receives"] = problem.in_groups(work, rest, either, phases)
    verb = max(kinds, key=lambda kind: float(kinds[kind].max(initial=0.0)))
    time = kinds[verb]
    rank = int(time.argmax())
    own = BoundValue(
        float(time[rank]), f"a processor of rank {rank}, which {verb} {_count(problem, verb, rank)}"
    )
    if costs.processors != "shared" or problem.placement is None:
        return own
    shared = _bound_shared_processor(problem, either, phases)
    return shared if shared.value > own.value * (1 + ROUNDING) else own


def _bound_shared_processor(
    problem: BoundProblem, phases_of_ranks: Ints, phases: int
) -> BoundValue:
    """The node whose processor, which all its ranks share, is busiest [s].

    Args:
        problem: with ranks placed on nodes.
        phases_of_ranks: shape=(ranks): phases in which each has messages, at least, if it has any.
        phases: of any schedule of the class, at least.
    """
    sums, nodes = problem.sums, problem.topology.nodes
    rest_of_rank = np.minimum(sums.sending.out, sums.receiving.out)
    used = np.flatnonzero(np.isfinite(rest_of_rank))
    node = problem.nodes_of(np.arange(rest_of_rank.size, dtype=np.int32))[used]
    work = phases_of_ranks * problem.costs.setup_s + sums.send + sums.receive
    rest, needed = np.full(nodes, inf), np.ones(nodes, np.int64)
    np.minimum.at(rest, node, rest_of_rank[used])
    np.maximum.at(needed, node, phases_of_ranks[used])
    time = problem.in_groups(
        np.asarray(np.bincount(node, work[used], nodes), np.float64), rest, needed, phases
    )
    busiest = int(time.argmax())
    ranks = count_of(int((node == busiest).sum()), "rank")
    return BoundValue(
        float(time[busiest]),
        f"the processor that {ranks} on {problem.topology.node_name(busiest)} share",
    )


def _rests(problem: BoundProblem) -> tuple[Floats, Floats]:
    """(sends, receives), shape=(ranks) each [s]: least rest after all set-ups of a rank.

    Infinite without such work.

    The last work may be the set-up of a phase of the other kind: a whole message of that kind
    follows it. Of a message that is received, what it takes after its wait is counted, without its
    receive work; under `ready` the wait may be more than the set-up, and nothing is.
    """
    sums = problem.sums
    sent, received = sums.sending.out, sums.receiving.both - problem.costs.setup_s
    if problem.sync.kind == "ready":
        received = np.where(np.isfinite(received), 0.0, inf)
    after_send = np.where(np.isfinite(sums.sending.out), np.minimum(sent, received), inf)
    after_receive = np.where(
        np.isfinite(sums.receiving.out), np.minimum(sums.receiving.out, sent), inf
    )
    return after_send, after_receive


def _count(problem: BoundProblem, verb: str, rank: int) -> str:
    pattern = problem.pattern
    count = int((pattern.source == rank).sum()) if "sends" in verb else 0
    count += int((pattern.target == rank).sum()) if "receives" in verb else 0
    return count_of(count, "message")


def bound_slots_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The rank whose slots are busiest [s].

    None where it may have any number of messages in flight.
    """
    if problem.in_flight is None:
        return None
    sums = problem.sums
    needed = problem.phases_of((sums.sends, problem.limits.send))
    time = problem.in_groups(sums.held / problem.in_flight, sums.holding.both, needed, phases)
    rank = int(time.argmax())
    count = int((problem.pattern.source == rank).sum())
    return BoundValue(
        float(time[rank]),
        f"rank {rank} sends {count_of(int(count), 'message')}, {problem.in_flight} in flight",
    )


def bound_barrier_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The longest message of every round, added up [s].

    None without barriers or with split messages.
    """
    if problem.sync.kind != "barrier" or problem.split or problem.source.size == 0:
        return None
    if problem.pattern.size.strides == (0,) and problem.packed is None:
        rounds, busiest = _count_rounds(problem)
        each = problem.sums.least
        return BoundValue(
            rounds * each + problem.more_groups(rounds, phases),
            f"{busiest}, {format_time(each)} each",
        )
    alone = np.ascontiguousarray(problem.alone)  # with the set-up of its phase
    order = np.argsort(-alone, kind="stable").astype(np.int32)
    send, receive, link = _at_once(problem)
    terms = _core.rank_rounds(
        problem.network, problem.source, problem.target, order, alone, send, receive, link
    )
    spread = f"{format_time(terms[0])} down to {format_time(terms[-1])}"
    return BoundValue(
        float(terms.sum()) + problem.more_groups(terms.size, phases),
        f"the i-th longest message of any port or link, i = 1 … {terms.size}, {spread}, added up",
    )


def _at_once(problem: BoundProblem) -> tuple[int, int, Ints]:
    """Messages out of a port, into one, and on links (empty: no limit) between two barriers."""
    limits, every = problem.limits, problem.sync.every
    send, receive = (
        NO_LIMIT if limit is None else limit * every for limit in (limits.send, limits.receive)
    )
    link = np.zeros(0, np.int64)
    if limits.link is not None and not problem.free and problem.topology.link_slots:
        link = np.ascontiguousarray(problem.topology.widths(), np.int64) * (limits.link * every)
    return send, receive, link


def _count_rounds(problem: BoundProblem) -> tuple[int, str]:
    """(groups that some port or link needs, which one as text).

    Where all messages take the same.
    """
    send, receive, link = _at_once(problem)
    found = [
        (-(-int(busiest.value) // limit), busiest.witness, limit)
        for busiest, limit in zip(busiest_ports(problem), (send, receive), strict=True)
    ]
    if link.size:
        groups = -(-problem.link_messages // link)
        at = int(groups.argmax())
        witness = (
            f"{problem.topology.link_name(at)} carries "
            f"{count_of(int(problem.link_messages[at]), 'message')}"
        )
        found.append((int(groups[at]), witness, int(link[at] if link.size > 1 else link[0])))
    rounds, witness, limit = max(found, key=lambda f: f[0])
    return rounds, f"{witness}, {limit if limit < NO_LIMIT else 'all'} between barriers"


def bound_flit_time(schedule: Schedule) -> Candidate:
    """The longest message or the busiest link [s].

    0 where nothing is sent or links have no rate.
    """
    machine, costs = schedule.machine, schedule.machine.costs_for(schedule.method)
    topology = machine.topology
    if schedule.transfers == 0 or costs.link_Bps == inf:
        return Candidate("flit time", "time", 0.0, "no messages")
    cycle_s = machine.costs.flit_B / machine.costs.link_Bps
    source, target = schedule.source_node, schedule.target_node
    leaves = source != target
    flits = np.maximum(1, -(-schedule.size // costs.flit_B))
    offsets, links = chosen_links(schedule)
    hops = (
        np.diff(offsets) if offsets.size else route_hops(topology, machine.routing, source, target)
    )
    copies = costs.copies(schedule.size, schedule.packed)
    overheads = (
        costs.send_overhead.of(schedule.size)
        + costs.receive_overhead.of(schedule.size)
        + 2 * copies
    )
    alone = np.where(leaves, overheads + (ENDS + HOP * hops + flits) * cycle_s, 0.0)
    k = int(np.argmax(alone))
    found = Candidate(
        "flit time",
        "time",
        float(alone[k]),
        f"message {schedule.message[k]}, {count_of(int(flits[k]), 'flit')}",
    )
    if not topology.link_slots:
        return found
    if not offsets.size:
        offsets, links = route_links(topology, machine.routing, source, target)
    carried = np.bincount(links, np.repeat(flits, np.diff(offsets)), topology.link_slots)
    link = int(np.argmax(carried))
    if carried[link] * cycle_s <= found.value:
        return found
    return Candidate(
        "flit time",
        "time",
        float(carried[link]) * cycle_s,
        f"{topology.link_name(link)} carries {count_of(int(carried[link]), 'flit')}",
    )
