"""Will a plan end? Every wait of every rank as a graph, sorted topologically before anything starts.

Idea: a (rank, step) is entered, has sent, is left. A step is what a rank does between two of its waits: a phase
(`local`, `ready`), a group of phases between barriers (`barrier:k`), everything (`none`). Edges say what waits:

- program order: entered → sent → left → the rank's next step entered;
- data: a receive ends after its send has started: *sent* at the source → *left* at the target;
- posting: receives are posted on entry, and a send that is not eager ends after its receive is posted: *entered* at the
  target → *left* at the source, and with a number of sends in flight, where later sends wait for it, → *sent*;
- `ready`: a send starts after its signal: *entered* at the target → *sent* at the source;
- `barrier:k`: every step of group g left → barrier g → every step of group g + 1 entered; barriers in a chain.

The graph uses nothing else: not eager sending, nor that two ranks are in one phase (nor that under `barrier:k` receives
are posted before the barrier already). Where it has no cycle the plan ends, eager or not; the two ends of a transfer of
a schedule are in one phase, so its plans have none.

Complexity: O(operations + ranks) time and memory, one vectorised round per level of the graph.
Reference: B. Kahn's topological sorting, doi:10.1145/368996.369025.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError, VerificationError
from conset.execution.plan import Operations, Plan
from conset.schedule.sync import Sync

if TYPE_CHECKING:
    from conset.schedule.schedule import Schedule

_ENTERED, _SENT, _LEFT = range(3)


def check_plan(plan: Plan) -> None:
    """Checks that a plan's operations fit their buffers and each other, and that no waits form a cycle.

    Raises:
        VerificationError: the first rule broken: ranges, matching of the two sides, or the cycle of waits in words.
    """
    for operations, size, what in (
        (plan.sends, plan.send_bytes, "send"),
        (plan.receives, plan.receive_bytes, "receive"),
    ):
        _check_ranges(plan, operations, size, what)
    _check_overlap(plan.receives)
    send, receive = _matched(plan)
    _check_waits(plan, send, receive)


def check_order(schedule: Schedule, sync: Sync) -> None:
    """Checks that the pattern's order between messages is kept under `sync` at the rank that two messages share.

    A barrier between them keeps any order. `ready` keeps that of earlier phases: a target signals when its earlier
    phases are over. `local` does so only where the later message leaves the shared rank: its other end may run ahead.

    Raises:
        InputError: names the first pair of messages that may overtake.
    """
    before = schedule.pattern.before
    if before is None:
        return
    last = np.zeros(schedule.pattern.messages, np.int64)
    first = np.full(schedule.pattern.messages, schedule.phases, np.int64)
    np.maximum.at(last, schedule.message, schedule.phase_of)
    np.minimum.at(first, schedule.message, schedule.phase_of)
    i, j = before.T
    kept = last[i] // sync.every < first[j] // sync.every
    if sync.kind == "none":
        kept[:] = False
    elif sync.kind == "local":
        source, target = schedule.pattern.source, schedule.pattern.target
        kept &= (source[j] == source[i]) | (source[j] == target[i])
    if not kept.all():
        k = int(np.flatnonzero(~kept)[0])
        raise InputError(
            f"before[{k}]: message {i[k]} (phase {last[i[k]]}) must end before message {j[k]} (phase {first[j[k]]}) "
            f"starts, which sync '{sync}' does not keep: use barrier, with the two in different phases"
        )


def _check_ranges(plan: Plan, operations: Operations, buffer: NDArray[np.int64], what: str) -> None:
    rank = operations.rank
    end = operations.offset + operations.bytes
    rules = (
        ((operations.peer < 0) | (operations.peer >= plan.ranks) | (operations.peer == rank), "names no other rank"),
        ((operations.phase < 0) | (operations.phase >= plan.phases), f"is in no phase from 0 to {plan.phases - 1}"),
        ((operations.bytes < 1) | (operations.offset < 0) | (end > buffer[rank]), "leaves its buffer"),
    )
    for broken, rule in rules:
        if broken.any():
            raise VerificationError(f"plan: {_name(operations, int(np.flatnonzero(broken)[0]), what)} {rule}")
    falls = np.flatnonzero((np.diff(operations.phase) < 0) & (np.diff(rank) == 0))
    if falls.size:
        raise VerificationError(f"plan: {_name(operations, int(falls[0]) + 1, what)} stands after one of a later phase")


def _check_overlap(receives: Operations) -> None:
    rank = receives.rank
    order = np.lexsort((receives.offset, rank))
    end = (receives.offset + receives.bytes)[order]
    wrong = np.flatnonzero((np.diff(rank[order]) == 0) & (receives.offset[order][1:] < end[:-1]))
    if wrong.size:
        k = int(order[wrong[0] + 1])
        raise VerificationError(f"plan: {_name(receives, k, 'receive')} overlaps another receive in the buffer")


def _name(operations: Operations, k: int, what: str) -> str:
    end = "to" if what == "send" else "from"
    where = f"phase {operations.phase[k]}, transfer {operations.transfer[k]}, {operations.bytes[k]} B"
    return f"rank {operations.rank[k]}'s {what} {end} rank {operations.peer[k]} ({where})"


def _matched(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of sends and receives as MPI matches them: the k-th of a pair with the k-th, in posting order."""
    sends, receives = plan.sends, plan.receives
    send_pair = sends.rank.astype(np.int64) * plan.ranks + sends.peer
    receive_pair = receives.peer.astype(np.int64) * plan.ranks + receives.rank
    send, receive = np.argsort(send_pair, kind="stable"), np.argsort(receive_pair, kind="stable")
    both = min(send.size, receive.size)
    differ = np.flatnonzero(send_pair[send[:both]] != receive_pair[receive[:both]])
    if differ.size or send.size != receive.size:
        # the smaller pair number is the one that the other side lacks
        k = int(differ[0]) if differ.size else both
        lacks_receive = k < send.size and (k >= receive.size or send_pair[send[k]] < receive_pair[receive[k]])
        if lacks_receive:
            raise VerificationError(f"plan: {_name(sends, int(send[k]), 'send')} has no receive")
        raise VerificationError(f"plan: {_name(receives, int(receive[k]), 'receive')} has no send")
    for array in ("bytes", "transfer"):
        wrong = np.flatnonzero(getattr(sends, array)[send] != getattr(receives, array)[receive])
        if wrong.size:
            s, r = _name(sends, int(send[wrong[0]]), "send"), _name(receives, int(receive[wrong[0]]), "receive")
            raise VerificationError(f"plan: {s} meets {r}: {array} must agree, the two sides of a pair need one order")
    return send, receive


def _check_waits(plan: Plan, send: NDArray[np.int64], receive: NDArray[np.int64]) -> None:
    sync = plan.sync
    width = plan.phases if sync.kind in ("local", "ready") else sync.groups(plan.phases)
    send_key, receive_key = _step_keys(plan, plan.sends, width), _step_keys(plan, plan.receives, width)
    keys = np.unique(np.concatenate([send_key, receive_key]))
    steps = keys.size
    if not steps:
        return
    own = 3 * np.arange(steps)
    at_source = 3 * np.searchsorted(keys, send_key[send])
    at_target = 3 * np.searchsorted(keys, receive_key[receive])
    same_rank = np.flatnonzero(np.diff(keys // width) == 0)
    edges = [
        (own + _ENTERED, own + _SENT),
        (own + _SENT, own + _LEFT),
        (own[same_rank] + _LEFT, own[same_rank + 1] + _ENTERED),
        (at_source + _SENT, at_target + _LEFT),
        (at_target + _ENTERED, at_source + _LEFT),
    ]
    if sync.kind == "ready" or plan.in_flight is not None:
        edges.append((at_target + _ENTERED, at_source + _SENT))
    barriers = sync.barriers(plan.phases)
    if barriers:
        group = keys % width
        number = 3 * steps + np.arange(barriers)
        ends, starts = group < barriers, group > 0
        edges += [
            (own[ends] + _LEFT, number[group[ends]]),
            (number[group[starts] - 1], own[starts] + _ENTERED),
            (number[:-1], number[1:]),
        ]
    tail = np.concatenate([a for a, _ in edges])
    head = np.concatenate([b for _, b in edges])
    cycle = _cycle(tail, head, 3 * steps + barriers)
    if cycle:
        raise VerificationError(
            f"plan: the waits form a cycle under sync '{sync}': {_describe_cycle(cycle, keys, width, sync)}"
        )


def _step_keys(plan: Plan, operations: Operations, width: int) -> NDArray[np.int64]:
    """shape=(operations): rank · width + step."""
    phase = operations.phase.astype(np.int64)
    if plan.sync.kind == "none":
        phase[:] = 0
    return operations.rank.astype(np.int64) * width + phase // plan.sync.every


def _cycle(tail: NDArray[np.int64], head: NDArray[np.int64], nodes: int) -> list[int]:
    """A cycle of the graph as nodes that wait for each other, the last for the first; empty where there is none."""
    order = np.argsort(tail, kind="stable")
    successor = head[order]
    starts = np.searchsorted(tail[order], np.arange(nodes + 1))
    waits = np.bincount(head, minlength=nodes)
    free = np.flatnonzero(waits == 0)
    while free.size:
        count = starts[free + 1] - starts[free]
        base = np.repeat(starts[free] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        reached = successor[base + np.arange(base.size)]
        waits[free] = -1
        np.subtract.at(waits, reached, 1)
        free = np.unique(reached[waits[reached] == 0])
    if not (waits > 0).any():
        return []
    left = (waits[tail] > 0) & (waits[head] > 0)
    waits_for = dict(zip(head[left].tolist(), tail[left].tolist(), strict=True))
    node = next(iter(waits_for))
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = waits_for[node]
    return path[seen[node] :]


def _describe_cycle(cycle: list[int], keys: NDArray[np.int64], width: int, sync: Sync) -> str:
    """`rank 0 phase 1 waits for rank 2 phase 0 waits for rank 0 phase 1`, steps of one rank in a row kept once."""
    names: list[str] = []
    for node in [*cycle, cycle[0]]:
        if node >= 3 * keys.size:
            word = f"barrier {node - 3 * keys.size}"
        else:
            rank, step = divmod(int(keys[node // 3]), width)
            unit = "phase" if sync.every == 1 else f"phases {step * sync.every} to {(step + 1) * sync.every - 1}"
            word = f"rank {rank} {unit} {step}" if sync.every == 1 else f"rank {rank} {unit}"
        if not names or names[-1] != word:
            names.append(word)
    return " waits for ".join(names)
