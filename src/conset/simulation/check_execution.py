"""Rules of execution: releases, dependences, policies between phases, lists, sends and receives at once, processors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.simulation.check_evidence import Evidence, Floats, Violation
from conset.simulation.order import Rows, in_list_order, most_open


def check_release(e: Evidence) -> list[Violation]:
    """Nothing is let go before its time, nothing is delivered before it could be alone."""
    found = e.not_before("release", e.workload.time_s, e.start, "let go")
    return found + e.not_before("latency", e.start + e.needs.alone, e.end, "delivered")


def check_deps(e: Evidence) -> list[Violation]:
    """Nothing is let go before what it depends on is delivered; in `flit` a cycle later."""
    work = e.workload
    waiting = np.repeat(np.arange(work.messages), np.diff(work.dep_offsets))
    earliest = np.full(work.messages, -np.inf)
    np.maximum.at(earliest, waiting, e.end[work.deps] + e.cycle)
    return e.not_before("deps", earliest, e.start, "let go")


def check_policy(e: Evidence) -> list[Violation]:
    """Nothing is let go before its phase is open to its ranks; `flow` and `flit` pay for the phase before that."""
    # in the models of channels it is part of the first overhead of a phase
    setup = e.costs.setup_s if e.workload.phases and not e.held else 0.0
    earliest = np.full(e.end.size, setup)
    if e.sync.kind == "barrier":
        earliest += _barriers(e)
    elif e.sync.kind != "none":
        earliest = np.maximum(earliest + _own_phases(e), _signalled(e))
    return e.not_before("policy", earliest, e.start, "let go")


def _barriers(e: Evidence) -> Floats:
    work, cost = e.workload, e.costs.synchronization.at(e.machine.topology.endpoints)
    group = work.phase_of // e.sync.every
    last = np.zeros(int(group.max(initial=0)) + 2)
    np.maximum.at(last, group + 1, e.end)
    last = np.maximum.accumulate(last)
    first = group.min() if group.size else 0
    charged = np.where(group > first, cost, cost if e.costs.first_barrier else 0.0)
    return np.asarray(last[group] + charged)


def _own_phases(e: Evidence) -> Floats:
    """When its sender's own sends and receives of earlier phases are over."""
    return np.asarray(_phase_begins(e)[e.senders, e.workload.phase_of])


def _signalled(e: Evidence) -> Floats:
    """`ready`: when the signal has come from a receiver that has ended its earlier phases; of an exchange both."""
    if e.sync.kind != "ready" or (_receives_in_list(e) and not e.held):
        return np.zeros(e.end.size)
    begins = _phase_begins(e)[e.receivers, e.workload.phase_of]
    asked = np.where(e.workload.crosses, begins + e.needs.signal, 0.0)
    partner = e.resources.partner
    return np.where(partner >= 0, np.maximum(asked, asked[partner]), asked)


def _phase_begins(e: Evidence) -> Floats:
    """shape=(ranks, phases + 1): when all that a rank sends and receives in earlier phases is delivered."""
    work = e.workload
    ranks = int(max(e.senders.max(initial=0), e.receivers.max(initial=0))) + 1
    own = np.zeros((ranks, work.phases + 1))
    for rank in (e.senders, e.receivers):
        np.maximum.at(own, (rank, work.phase_of + 1), e.end)
    return np.asarray(np.maximum.accumulate(own, axis=1))


def check_sends(e: Evidence) -> list[Violation]:
    """A sender lets its list go in order, and keeps at most so many open; in `flit` flit after flit."""
    found = []
    work, limit = e.workload, e.settings.in_flight
    rows = in_list_order(work, e.senders)
    if limit is not None:
        # a system buffer frees the sender with the last byte
        unknown = e.start if e.streams is None else np.where(e.flows, e.streams[1], e.start)
        done = np.where(e.needs.buffered, unknown, e.end)
        most, rank = most_open(rows, e.start, done)
        if most > limit:
            found.append(
                Violation("in flight", f"rank {rank}: {most} sends open at once, at most {limit} allowed")
            )  # fmt: skip
    gap = e.resources.bytes * e.cycle if e.model == "flit" else np.zeros(work.messages)
    if _sends_in_list(e):
        for rank, row in rows:
            back = np.diff(e.start[row]) - gap[row[:-1]]
            if back.size and back.min() < -e.slack:
                k = int(back.argmin())
                text = f"rank {rank}: message {row[k + 1]} let go before {row[k]}, which is before it"
                return [*found, Violation("order", text)]
    return found


def _sends_in_list(e: Evidence) -> bool:
    if e.model == "flit":
        return True
    if e.held:
        return e.workload.phases > 0 or e.settings.in_flight is not None
    return e.settings.in_flight is not None and (e.settings.receives is None or _receives_in_list(e))


def _receives_in_list(e: Evidence) -> bool:
    """`flow` takes receives in list order unless told otherwise, and only where they are limited."""
    if e.held:
        return e.settings.receive_order == "list"
    return e.model == "flow" and e.settings.receives is not None and e.settings.receive_order != "any"


def check_receives(e: Evidence) -> list[Violation]:
    """A receiver takes at most so many at once, in the order of its list where it goes by it."""
    if e.held:
        return _channels_out(e)
    limit = e.settings.receives
    if limit is None or e.model == "flit":
        return []
    rows = in_list_order(e.workload, e.receivers)
    most, rank = most_open(rows, e.start, e.end)
    found = []
    if most > limit:
        found.append(Violation("receives", f"rank {rank}: {most} receives open at once, at most {limit} allowed"))
    if _receives_in_list(e):
        found += _out_of_turn(e, rows, e.start, np.ones(e.end.size, bool), limit)
    return found


def _channels_out(e: Evidence) -> list[Violation]:
    """Channels out of the network are held from before the receiver's overhead to the last byte, in list order."""
    held = holding(e)
    if held is None:
        return []
    begin, end, sure = held
    limit = e.settings.receives
    if limit is None:
        return []
    sure = sure & ~e.needs.buffered
    lists = in_list_order(e.workload, e.receivers)
    found = []
    most, rank = most_open([(rank, row[sure[row]]) for rank, row in lists], begin, end - e.slack)
    if most > limit:
        found.append(Violation("receives", f"rank {rank}: {most} receives open at once, at most {limit} allowed"))
    if _receives_in_list(e) and e.streams is not None:
        found += _out_of_turn(e, [(rank, row[e.workload.crosses[row]]) for rank, row in lists], begin, sure, limit)
    return found


def _out_of_turn(e: Evidence, rows: Rows, taken: Floats, sure: NDArray[np.bool_], limit: int) -> list[Violation]:
    """A message is taken while fewer than `limit` of those before it in the receiver's list are not delivered."""
    for rank, row in rows:
        for k, m in enumerate(row.tolist()):
            before = int((e.end[row[:k]] > taken[m] + e.slack).sum())
            if before >= limit and sure[m]:
                text = f"rank {rank}: message {m} taken while {before} before it were open, {limit} may"
                return [Violation("order", text)]
    return []


def holding(e: Evidence) -> tuple[Floats, Floats, NDArray[np.bool_]] | None:
    """(from, to, sure): when a message surely holds its whole path, shape=(messages) each; None where nobody knows.

    Its header has arrived before the receiver's overhead, where that is paid with the path held; else before bytes
    flow. Without rates the last byte is the delivery, where nothing is paid after it.
    """
    sure = e.workload.crosses.copy()
    if e.streams is not None:
        first, last = e.streams
        sure &= e.flows if e.costs.receive == "after" else e.flows | ~e.needs.buffered
    elif e.costs.receive == "after":
        return None
    else:
        first, last = e.end - e.needs.flow, e.end
        sure &= ~e.needs.buffered
    return np.asarray(first - e.received_first), last, sure


def check_processors(e: Evidence) -> list[Violation]:
    """A processor pays for one message after the other: what it sends in list order, what it receives as it comes."""
    if not e.needs.serial or e.model == "flit" or (e.held and e.costs.eager_B is not None):
        return []  # requests, copies and buffers change the order of what a processor does
    found = _sending(e) if e.held and _sends_in_list(e) else []
    return found + _receiving(e)


def _sending(e: Evidence) -> list[Violation]:
    """Overheads of sends, set-ups included, in the order of posting, then the way to the first byte."""
    work, needs = e.workload, e.needs
    sent = np.zeros(work.messages)
    for _, row in in_list_order(work, e.senders):
        cost = needs.send[row].copy()
        if e.costs.setup_s and work.phases:
            cost[np.diff(work.phase_of[row], prepend=-1) != 0] += e.costs.setup_s
        paid = np.cumsum(cost)
        sent[row] = paid + np.maximum.accumulate(e.start[row] - (paid - cost))
    rest = np.where(work.crosses, needs.header + needs.flow, 0.0) + needs.receive
    found = e.not_before("processor", sent + rest, e.end, "delivered")
    if found or e.streams is None:
        return found
    arrived = np.where(e.flows, sent + needs.header + e.received_first, -np.inf)
    return e.not_before("processor", arrived, e.streams[0], "first byte")


def _receiving(e: Evidence) -> list[Violation]:
    """Ends of overheads of receives are at least an overhead apart."""
    work = e.workload
    done = e.end
    pays = work.crosses.copy()
    if e.held:
        pays |= True
        if not e.costs.receive == "after":
            if e.streams is None or e.costs.preempts:  # bytes may stand still after it
                return []
            # with the path held: over when the first byte flows
            done = np.where(e.flows, e.streams[0], e.end)
    order = np.lexsort((done, e.receivers))
    order = order[pays[order]]
    same = np.diff(e.receivers[order]) == 0
    early = np.where(same, e.needs.receive[order[1:]] - np.diff(done[order]), -np.inf)
    if not early.size or early.max() <= e.slack:
        return []
    k = int(early.argmax())
    text = f"rank {e.receivers[order[k]]}: received messages {order[k]} and {order[k + 1]} at once"
    return [Violation("processor", f"{text}: {np.diff(done[order])[k]:.9g} s apart, an overhead is "
                      f"{e.needs.receive[order[k + 1]]:.9g} s")]  # fmt: skip
