"""Slow exchange: a plan carried out on real bytes in one process, whatever may go first chosen
at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.execution.plan import Needs, Plan
from conset.pattern.pattern import Pattern

Bytes = NDArray[np.uint8]


def slow_exchange(plan: Plan, send: list[Bytes], rng: np.random.Generator) -> list[Bytes]:
    """What every rank has received.

    Areas hold noise before, a send reads its bytes when it starts.
    """
    work_bytes = np.zeros(plan.ranks, int) if plan.work_bytes is None else plan.work_bytes
    work = [noise(size, rng) for size in work_bytes]
    received = [noise(size, rng) for size in plan.receive_bytes]
    sends, receives = plan.sends, plan.receives
    arrival = {int(t): k for k, t in enumerate(receives.transfer)}
    needs = [
        needs_of(plan.needs, k) | needs_of(plan.signals, arrival[int(sends.transfer[k])])
        for k in range(sends.count)
    ]
    waiting, flying, ended = set(range(sends.count)), {}, set()
    while waiting or flying:
        ready = [k for k in sorted(waiting) if needs[k] <= ended]
        events = [("send", k) for k in ready] + [("end", k) for k in sorted(flying)]
        assert events, "sends wait for each other"
        what, k = events[rng.integers(len(events))]
        if what == "send":
            waiting.remove(k)
            rank = int(sends.rank[k])
            for from_work, source, target, size in copies_of(plan.packs, k):
                work[rank][target : target + size] = (work if from_work else send)[rank][
                    source : source + size
                ]
            area = (work if sends.in_work[k] else send)[rank]
            flying[k] = area[sends.offset[k] : sends.offset[k] + sends.bytes[k]].copy()
            continue
        content, at = flying.pop(k), arrival[int(sends.transfer[k])]
        rank = int(receives.rank[at])
        area = (work if receives.in_work[at] else received)[rank]
        area[receives.offset[at] : receives.offset[at] + receives.bytes[at]] = content
        for _, source, target, size in copies_of(plan.unpacks, at):
            received[rank][target : target + size] = work[rank][source : source + size]
        ended |= {at, receives.count + k}
    return received


def needs_of(needs: Needs | None, k: int) -> set[int]:
    return set() if needs is None else set(rows_of(needs, k, needs.operation))


def buffers_of(pattern: Pattern, rng: np.random.Generator) -> tuple[list[Bytes], list[Bytes]]:
    """(send buffers full of noise, what the receive buffers must be), message by message."""
    content = [noise(size, rng) for size in pattern.size]
    none = [np.zeros(0, np.uint8)]
    send, due = [], []
    for rank in range(pattern.ranks):
        out = sorted(np.flatnonzero(pattern.source == rank), key=lambda m: (pattern.target[m], m))
        into = sorted(np.flatnonzero(pattern.target == rank), key=lambda m: (pattern.source[m], m))
        send.append(np.concatenate(none + [content[m] for m in out]))
        due.append(np.concatenate(none + [content[m] for m in into]))
    return send, due


def noise(size: int, rng: np.random.Generator) -> Bytes:
    return rng.integers(0, 256, int(size), dtype=np.uint8)


def rows_of(rows, k: int, column: NDArray[np.int64]) -> list[int]:  # type: ignore[no-untyped-def]
    return column[rows.offsets[k] : rows.offsets[k + 1]].tolist()


def copies_of(copies, k: int) -> list[tuple[bool, int, int, int]]:  # type: ignore[no-untyped-def]
    if copies is None:
        return []
    columns = (copies.work, copies.source, copies.target, copies.bytes)
    return list(zip(*(rows_of(copies, k, column) for column in columns), strict=True))
