"""Rules of one message: its five times follow each other, each part takes at least what it needs."""

from __future__ import annotations

from math import inf

import numpy as np

from conset.simulation.check_evidence import CheckContext, Floats, Violation


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
    """Overhead after the slot, latency after overhead, bytes after latency, the receiver's overhead after bytes."""
    needs = e.needs
    found = e.not_before("latency", e.start + needs.alone, e.end, "delivered")
    begun, since, what = e.start, np.zeros(e.end.size), "its slot"
    # routers have the first flit at once and its latency inside
    enters = needs.latency + needs.surely_before
    inside = enters if e.model == "flit" else np.zeros(e.end.size)
    steps: tuple[tuple[Floats | None, Floats, str], ...] = (
        (e.sent, needs.asking + needs.send, "send overhead paid"),
        (None if e.first is None else np.where(e.flows, e.first, inf), enters - inside, "first byte"),
        (e.left, inside + needs.flow, "last byte"),
    )
    for time_s, least, name in steps:
        since = since + least
        if time_s is None:
            continue
        found += e.not_before("latency", begun + since, time_s, f"{name}, after {what},")
        known = np.isfinite(time_s)
        begun, since, what = np.where(known, time_s, begun), np.where(known, 0.0, since), name
    found += e.not_before("latency", begun + since + needs.after, e.end, f"delivered, after {what},")
    return found + _at_once(e)


def _at_once(e: CheckContext) -> list[Violation]:
    """What is paid for before its bytes is delivered with the last of them."""
    if e.left is None or e.costs.receive != "before" or e.model == "flit":
        return []
    paid = e.workload.crosses & ~e.needs.buffered
    return e.not_before("latency", np.where(paid, e.end, -inf), e.left, "last byte, with which it is delivered,")


def check_set_ups(e: CheckContext) -> list[Violation]:
    """A transfer takes its slot after both its ends have paid the set-up of its phase."""
    if not e.setup_s:
        return []
    paid = e.begins.paid_s
    earliest = np.maximum(paid[e.begins.sending], paid[e.begins.receiving])
    return e.not_before("set-up", earliest, e.start, "took its slot")
