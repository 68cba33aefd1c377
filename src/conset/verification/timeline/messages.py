"""Rules of messages: the parts of a life follow one another.

Policies, posting order, slots and receives hold.

The five times of a message follow each other, and each part takes at least what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from conset.base import Bools, Floats, count_of
from conset.models.needs import Rows, in_list_order, most_open
from conset.verification.timeline.context import CheckContext, Violation


def check_release(e: CheckContext) -> list[Violation]:
    """Nothing takes its slot before its time."""
    return e.not_before("release", e.workload.time_s, e.start, "took its slot")


def check_deps(e: CheckContext) -> list[Violation]:
    """Nothing takes its slot before what it depends on is delivered."""
    work = e.workload
    waiting = np.repeat(np.arange(work.messages), np.diff(work.dep_offsets))
    earliest = np.full(work.messages, -inf)
    np.maximum.at(earliest, waiting, e.end[work.deps])
    return e.not_before("deps", earliest, e.start, "took its slot")


def check_life(e: CheckContext) -> list[Violation]:
    """Overhead comes after the slot, latency after overhead, bytes after latency.

    And the receiver's overhead after bytes.
    """
    needs = e.needs
    found = e.not_before("latency", e.start + needs.alone, e.end, "delivered")
    begun, since, what = e.start, np.zeros(e.end.size), "its slot"
    # routers have the first flit at once and its latency inside
    enters = needs.latency + needs.surely_before
    inside = enters if e.model == "flit" else np.zeros(e.end.size)
    steps: tuple[tuple[Floats | None, Floats, str], ...] = (
        (e.sent, needs.asking + needs.send, "send overhead paid"),
        (
            None if e.first is None else np.where(e.flows, e.first, inf),
            enters - inside,
            "first byte",
        ),
        (e.left, inside + needs.flow, "last byte"),
    )
    for time_s, least, name in steps:
        since = since + least
        if time_s is None:
            continue
        found += e.not_before("latency", begun + since, time_s, f"{name}, after {what},")
        known = np.isfinite(time_s)
        begun, since, what = np.where(known, time_s, begun), np.where(known, 0.0, since), name
    found += e.not_before(
        "latency", begun + since + needs.after, e.end, f"delivered, after {what},"
    )
    return found + _at_once(e)


def _at_once(e: CheckContext) -> list[Violation]:
    """What is paid for before its bytes is delivered with the last of them."""
    if e.left is None or e.costs.receive != "before" or e.costs.jitter_s or e.model == "flit":
        return []
    paid = e.workload.crosses & ~e.needs.buffered
    return e.not_before(
        "latency", np.where(paid, e.end, -inf), e.left, "last byte, with which it is delivered,"
    )


def check_set_ups(e: CheckContext) -> list[Violation]:
    """A transfer takes its slot after both its ends have paid the set-up of its phase."""
    if not e.setup_s:
        return []
    paid = e.begins.paid_s
    earliest = np.maximum(paid[e.begins.sending], paid[e.begins.receiving])
    return e.not_before("set-up", earliest, e.start, "took its slot")


def check_policy(e: CheckContext) -> list[Violation]:
    """Nothing takes its slot before its sender has entered its phase.

    And, under `ready`, before its signal has come.

    What a phase costs its ranks is the business of `check_set_ups`.
    """
    if not e.workload.phases:
        return []
    entered = e.begins.entered_s[e.begins.sending]
    return e.not_before("policy", np.maximum(entered, _signalled(e)), e.start, "took its slot")


def _signalled(e: CheckContext) -> Floats:
    """`ready`: when the signal has come from a receiver that has ended its earlier phases.

    Of an exchange both.
    """
    if e.sync.kind != "ready":
        return np.zeros(e.end.size)
    # its set-up is paid before it signals
    entered = e.begins.entered_s[e.begins.receiving] + e.setup_s
    signalled = np.where(e.workload.crosses, entered + e.needs.signal, 0.0)
    partner = e.resources.partner
    return np.where(partner >= 0, np.maximum(signalled, signalled[partner]), signalled)


def check_sends(e: CheckContext) -> Iterator[Violation]:
    """A rank's messages take slots in posting order, and it has so many.

    A slot is free when the bytes have left.
    """
    limit = e.settings.in_flight
    if limit is not None:
        most, rank = most_open(e.rows, e.start, e.slot_free - e.slack)
        if most > limit:
            yield Violation(
                "in flight",
                f"rank {rank}: {count_of(int(most), 'message')} in its slots, at most "
                f"{limit} allowed",
            )
    if e.injected_only:
        yield from _behind_slots(e)
    elif e.in_order:
        for rank, row in e.rows:
            back = np.diff(e.start[row])
            if back.size and back.min() < -e.slack:
                k = int(back.argmin())
                yield Violation(
                    "order",
                    f"rank {rank}: message {row[k + 1]} took its slot before {row[k]}, which is "
                    "posted before it",
                )
                return


def _behind_slots(e: CheckContext) -> list[Violation]:
    """Where only injections are known.

    A message is injected when so many posted before it keep their slots.
    """
    limit = e.settings.in_flight
    for rank, row in e.rows if limit is not None else ():
        for k, m in enumerate(row.tolist()):
            before = int((e.slot_free[row[:k]] > e.timeline.start_s[m] + e.slack).sum())
            if before >= (limit or 0):
                return [
                    Violation(
                        "order",
                        f"rank {rank}: message {m} injected while {before} posted before it had "
                        f"slots, {limit} may",
                    )
                ]
    return []


def check_receives(e: CheckContext) -> Iterator[Violation]:
    """A receiver takes at most so many at once, in the order of its list where it goes by it.

    A receive is asked for at the end of the latency, and used until the bytes have left; in list
    order it is the next one's when the message is delivered.
    """
    limit = e.settings.receives
    if limit is None or e.model == "flit" or e.first is None or e.left is None:
        return
    sure = e.flows & ~e.needs.buffered
    taken = e.first - e.needs.surely_before
    lists = in_list_order(e.workload, e.receivers)
    most, rank = most_open([(rank, row[sure[row]]) for rank, row in lists], taken, e.left - e.slack)
    if most > limit:
        yield Violation(
            "receives", f"rank {rank}: {most} receives open at once, at most {limit} allowed"
        )
    if e.listed:
        yield from _out_of_turn(
            e, [(rank, row[e.workload.crosses[row]]) for rank, row in lists], taken, sure, limit
        )


def _out_of_turn(
    e: CheckContext, rows: Rows, taken: Floats, sure: Bools, limit: int
) -> list[Violation]:
    """A message is taken while fewer than `limit` before it are not delivered.

    Of those in the receiver's list.
    """
    for rank, row in rows:
        for k, m in enumerate(row.tolist()):
            before = int((e.end[row[:k]] > taken[m] + e.slack).sum())
            if before >= limit and sure[m]:
                return [
                    Violation(
                        "order",
                        f"rank {rank}: message {m} taken while {before} before it were "
                        f"open, {limit} may",
                    )
                ]
    return []


def holding(e: CheckContext) -> tuple[Floats, Floats, Bools] | None:
    """(from, to, sure): when a message surely holds its whole path, shape=(messages) each.

    None where it is unknown.

    Its header has arrived before the receiver's overhead, where that is paid with the path held;
    else before bytes flow. Without these times the last byte is the delivery, where its receiver's
    processor has nothing to do.
    """
    if e.first is not None and e.left is not None:
        return e.first - e.needs.surely_before, e.left, e.flows
    costs, needs = e.costs, e.needs
    works = (needs.after > 0).any() or (costs.one_processor and (needs.send > 0).any())
    if needs.buffered.any() or (
        costs.receive == "after" and (works or costs.setup_s or costs.signal_s)
    ):
        return None
    return e.end - e.needs.flow - e.needs.before, e.end, e.workload.crosses
