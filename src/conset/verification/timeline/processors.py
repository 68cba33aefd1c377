"""Rules of processors.

What a processor works on fits into the time it has, first come, first served.

A piece of work has a time from which on it may be done and one by which it is done. A send takes
its overhead right before the time at which it was paid, so there is no choice; a set-up is
somewhere between entering the phase and the first transfer of it, a signal between entering and the
slot it is for. The port out of a node, too, has work where messages start up on it: start-ups, each
between the overhead and the latency of its message, and bytes at the rate of the port. There is
room for all of them exactly if the piece with the nearest end first, interrupted by nearer ones,
never is late: that is every window of time at once. A processor is that of a rank, or, where these
share it, that of their node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

import numpy as np

from conset.base import Floats, Integers, Ints, Ints32
from conset.verification.timeline.context import CheckContext, Violation


@dataclass
class ProcessorJobs:
    """Pieces of work: processor, from when on, until when at the latest, how long.

    Of which message (-1: a set-up).
    """

    columns: list[tuple[Ints, Floats, Floats, Floats, Ints]] = field(default_factory=list)

    def add(
        self, rank: Integers, from_s: Floats, to_s: Floats, work_s: Floats, message: Ints
    ) -> None:
        """Those that are any work."""
        some = np.flatnonzero(work_s > 0)
        self.columns.append(
            (rank[some].astype(np.int64), from_s[some], to_s[some], work_s[some], message[some])
        )

    def late(self, slack: float) -> tuple[int, int, float, float] | None:
        """(processor, message, done, latest) of a piece that cannot be done in time.

        None where all can.
        """
        if not self.columns:
            return None
        rank, from_s, to_s, work_s, message = (
            np.concatenate(column) for column in zip(*self.columns, strict=True)
        )
        order = np.lexsort((to_s, from_s, rank))
        now, at = 0.0, -1
        waiting: list[tuple[float, int, float]] = []  # (latest end, piece, work left)
        pieces = zip(order.tolist(), rank[order].tolist(), from_s[order].tolist(), strict=True)
        for k, processor, begin in [*pieces, (-1, -2, np.inf)]:
            until = begin if processor == at else np.inf
            while waiting and now < until:
                latest, piece, left = heappop(waiting)
                if now + left > until:
                    heappush(waiting, (latest, piece, left - (until - now)))
                    now = until
                    break
                now += left
                if now > latest + slack:
                    return at, int(message[piece]), now, latest
            if processor != at:
                now, at = -np.inf, processor
            now = max(now, begin)
            if k >= 0:
                heappush(waiting, (float(to_s[k]), k, float(work_s[k])))
        return None


def check_processors(e: CheckContext) -> Iterator[Violation]:
    """Overheads, set-ups and signals of a rank fit into its time.

    On one processor or on one for each direction.
    """
    sending, receiving = ProcessorJobs(), ProcessorJobs()
    _sends(e, sending)
    _receives(e, receiving)
    _signals(e, sending, receiving)
    _requests(e, sending, receiving)
    if e.costs.one_processor and not e.costs.preempts:
        both = ProcessorJobs(sending.columns + receiving.columns)
        _set_ups(e, both)
        if e.costs.processors == "shared":
            node = _node_of_rank(e)
            both.columns = [(node[column[0]], *column[1:]) for column in both.columns]
        yield from _late(e, both, "sends and receives")
    else:
        for jobs, what in ((sending, "sends"), (receiving, "receives")):
            _set_ups(e, jobs)
            yield from _late(e, jobs, what)
    yield from _in_turn(e)
    if e.costs.startup_s and e.sent is not None and e.first is not None and e.left is not None:
        yield from _late(e, _start_ups(e, e.sent, e.first, e.left), "start-ups and bytes")


def _start_ups(e: CheckContext, sent: Floats, first: Floats, left: Floats) -> ProcessorJobs:
    """What the port out of each node is busy with."""
    jobs, needs, node = ProcessorJobs(), e.needs, e.workload.source
    startup = np.where(e.workload.crosses, e.costs.startup_s, 0.0)
    rest = needs.latency - startup + needs.surely_before
    jobs.add(node, sent, np.where(e.flows, first - rest, inf), startup, _all(e))
    bytes_s = np.where(e.flows, e.workload.bytes / e.costs.port_out_Bps, 0.0)
    jobs.add(node, first, left, bytes_s, _all(e))
    return jobs


def _late(e: CheckContext, jobs: ProcessorJobs, what: str) -> list[Violation]:
    late = jobs.late(4 * e.slack)
    if late is None:
        return []
    at, message, done, latest = late
    whose = (
        f"ranks on {e.machine.topology.node_name(at)}: their"
        if e.costs.processors == "shared" or "bytes" in what
        else f"rank {at}: its"
    )
    of = f"message {message}" if message >= 0 else "a set-up"
    return [
        Violation(
            "processor",
            f"{whose} {what} leave no time for {of}: done at {done:.9g} s, must be at most "
            f"{latest:.9g} s",
        )
    ]


def _node_of_rank(e: CheckContext) -> Ints:
    """shape=(ranks): where each is; -1 where it neither sends nor receives."""
    ranks = int(max(e.senders.max(initial=-1), e.receivers.max(initial=-1))) + 1
    node = np.full(ranks, -1, np.int64)
    node[e.senders], node[e.receivers] = e.workload.source, e.workload.target
    return node


def _all(e: CheckContext) -> Ints:
    return np.arange(e.end.size)


def _sends(e: CheckContext, jobs: ProcessorJobs) -> None:
    needs = e.needs
    if e.sent is None:
        begun = np.zeros(e.end.size) if e.injected_only else e.start + needs.asking
        latest = (
            e.timeline.start_s
            if e.injected_only
            else e.end - (needs.alone - needs.asking - needs.send)
        )
        jobs.add(e.senders, begun, latest, needs.send, _all(e))
    else:
        jobs.add(e.senders, e.sent - needs.send, e.sent, needs.send, _all(e))


def _receives(e: CheckContext, jobs: ProcessorJobs) -> None:
    """After the bytes at the end, before them right before.

    Where sends interrupt it, somewhere before them.
    """
    needs = e.needs
    jobs.add(e.receivers, e.end - needs.after, e.end, needs.after, _all(e))
    arrived = e.start + needs.asking + needs.send + needs.latency
    if e.sent is not None:
        arrived = e.sent + needs.latency
    if e.first is None:
        latest = np.where(needs.buffered, e.end, e.end - needs.flow)
        jobs.add(e.receivers, arrived, latest, needs.before, _all(e))
        return
    first = np.where(e.flows, e.first, e.end)
    begun = arrived if e.costs.preempts else first - needs.before
    # out of a system buffer it is paid after the bytes have come
    jobs.add(e.receivers, begun, np.where(needs.buffered, e.end, first), needs.before, _all(e))


def _signals(e: CheckContext, sending: ProcessorJobs, receiving: ProcessorJobs) -> None:
    """Half of a ready signal's work at the target after it entered.

    Half at the source before the slot.
    """
    needs = e.needs
    sent = np.flatnonzero(needs.signal > 0)
    if not sent.size:
        return
    half = np.full(sent.size, needs.half)
    way = needs.signal_way[sent]
    entered = e.begins.entered_s[e.begins.receiving[sent]] + e.setup_s
    sending.add(e.receivers[sent], entered, e.start[sent] - needs.half - way, half, sent)
    receiving.add(e.senders[sent], entered + needs.half + way, e.start[sent], half, sent)


def _requests(e: CheckContext, sending: ProcessorJobs, receiving: ProcessorJobs) -> None:
    """A request to the target, a grant back, between the slot and the send overhead."""
    needs = e.needs
    asks = np.flatnonzero(needs.asking > 0)
    if not asks.size or e.sent is None:
        return
    half, way = np.full(asks.size, needs.half), needs.signal_way[asks]
    begin, end = e.start[asks], (e.sent - needs.send)[asks]
    rest = needs.asking[asks]
    sending.add(e.senders[asks], begin, end - rest + needs.half, half, asks)
    receiving.add(e.receivers[asks], begin + needs.half + way, end - 2 * half - way, half, asks)
    sending.add(e.receivers[asks], begin + 2 * half + way, end - half - way, half, asks)
    receiving.add(e.senders[asks], begin + rest - half, end, half, asks)


def _set_ups(e: CheckContext, jobs: ProcessorJobs) -> None:
    """Between entering a phase and the slot of its first transfer.

    The transfer has this rank as sender or receiver.
    """
    if not e.setup_s:
        return
    begins = e.begins
    latest = np.full(begins.rank.size, np.inf)
    for visit in (begins.sending, begins.receiving):
        np.minimum.at(latest, visit, e.start)
    setup = np.full(latest.size, e.setup_s)
    jobs.add(begins.rank, begins.paid_s - setup, latest, setup, np.full(latest.size, -1))


def _in_turn(e: CheckContext) -> list[Violation]:
    """What is ready first is served first, where the timeline says when it was.

    Sends by slots, receives by bytes.
    """
    if e.sent is None:
        return []
    needs = e.needs
    turns: list[tuple[Ints, Ints32, Floats, Floats]] = []
    sends = np.flatnonzero((needs.send > 0) & (needs.asking <= 0))
    turns.append((sends, e.senders[sends], e.start[sends], e.sent[sends] - needs.send[sends]))
    if (
        e.left is not None and not e.costs.jitter_s
    ):  # chance comes after the work and hides when that began
        comes = np.flatnonzero((needs.after > 0) & ~needs.buffered)
        turns.append((comes, e.receivers[comes], e.left[comes], e.end[comes] - needs.after[comes]))
    if e.costs.one_processor and not e.costs.preempts:
        message, rank, ready, begun = (
            np.concatenate(column) for column in zip(*turns, strict=True)
        )
        turns = [(message, rank, ready, begun)]
    node = _node_of_rank(e) if e.costs.processors == "shared" else None
    for message, own, ready, begun in turns:
        rank = own if node is None else node[own]
        order = np.lexsort((begun, ready, rank))
        message, rank, ready, begun = message[order], rank[order], ready[order], begun[order]
        later = (rank[1:] == rank[:-1]) & (ready[1:] > ready[:-1] + e.slack)
        back = np.where(later, begun[:-1] - begun[1:], -np.inf)
        if back.size and back.max() > e.slack:
            k = int(back.argmax())
            whose = (
                f"rank {rank[k]}" if node is None else e.machine.topology.node_name(int(rank[k]))
            )
            return [
                Violation(
                    "order",
                    f"{whose}: serves message {message[k + 1]} before {message[k]}, which was "
                    "ready before it",
                )
            ]
    return []
