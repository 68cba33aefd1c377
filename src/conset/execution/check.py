"""Do the operations of a plan fit their areas, will the plan end, and does it deliver?

Areas (send buffer, receive buffer, work area): operations and copies lie inside their area; no byte
of a receive buffer or work area is written twice; and what is read in a work area is there: a pack
reads what needed receives have brought, a send carries that or what its own packs have put
together, an unpack reads what its own receive has brought. O((operations + copies + needs) log)
time, O(operations + copies + needs) memory.

Waits: every wait of every rank as a graph, sorted topologically before anything starts.

Idea: a (rank, step) is entered, has sent, is left. A step is what a rank does between two of its
waits: a phase (`local`, `ready`), a group of phases between barriers (`barrier:k`), everything
(`none`). Edges say what waits:

- program order: entered → sent → left → the rank's next step entered; where sends wait for
  operations of their rank or for signals, a step has sent in *turns*, one behind the other, and
  each such send begins a new one;
- needs: the needed operation has *ended* → the turn of the send; a receive ends after it is entered
  and its send started, a send that is not eager after it has started and its receive is posted;
- signals: what a receive needs has ended → its signal is *given*, after those of the receives
  before it → the turn of its send;
- data: a receive ends after its send has started: *sent* at the source → *left* at the target;
- posting: receives are posted on entry, and a send that is not eager ends after its receive is
  posted: *entered* at the target → *left* at the source, and with a number of sends in flight,
  where later sends wait for it, → *sent*;
- `ready`: a send starts after its signal: *entered* at the target → *sent* at the source;
- `barrier:k`: every step of group g left → barrier g → every step of group g + 1 entered; barriers
  in a chain.

The graph uses nothing else: not eager sending, nor that two ranks are in one phase (nor that under
`barrier:k` receives are posted before the barrier already). Where it has no cycle the plan ends,
eager or not; the two ends of a transfer of a schedule are in one phase, so its plans have none.

Complexity: O(operations + needs + ranks) time and memory, one vectorised round per level of the
graph.
Reference: B. Kahn's topological sorting, doi:10.1145/368996.369025.

Delivery: every copy, send and arrival replayed with the names of bytes instead of bytes.

Idea: the bytes of all messages are numbered, (message, position) in one line. What lies in an area
is a table of ranges (place, bytes, number of the first byte, who wrote it). At first the send
buffers hold their messages. Operations are replayed by level: a send is one above the deepest
receive that it needs, a receive is where its send is. On a level packs read and write, sends read,
receives write, unpacks read and write. Rules:

- what is read is there in full: in the send buffer; or in the work area, where a pack reads what
  the receives that its send *needs* have brought, a send that or what its own packs have written,
  an unpack what its own receive has brought;
- no byte of a work area or receive buffer is written twice, so nothing is overwritten that is still
  to be read;
- sends and receives of a pair match in posting order, one to one, with equal bytes;
- at the end every receive buffer holds byte after byte of its messages, by source, then by index,
  and nothing else.

Complexity: O(levels · ranges log) time; as many ranges as pieces into which plan and messages cut
the bytes.
Independence: nothing of what made the plan is used; buffers are laid out here again, from their
description in `plan`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from conset.base import Bools, InputError, Integers, Ints, Ints32, VerificationError, take_rows
from conset.execution.plan import Copies, Operations, Plan
from conset.pattern import Pattern
from conset.schedule import Schedule, Sync, depths_in_graph

_Bytes = tuple[Ints, Ints, Ints]
"""Ranges of bytes in a work area: the send each belongs to, start, size."""


def check_areas(plan: Plan) -> None:
    """Checks where operations and copies read and write.

    Raises:
        VerificationError: the first that is wrong.
    """
    _check_operations(plan, plan.sends, plan.send_bytes, "send")
    _check_operations(plan, plan.receives, plan.receive_bytes, "receive")
    for copies, operations, what in (
        (plan.packs, plan.sends, "send"),
        (plan.unpacks, plan.receives, "receive"),
    ):
        if copies is not None:
            _check_copies(plan, copies, operations, what)
    _check_overlap(plan)
    _check_read(plan)


def _check_operations(plan: Plan, operations: Operations, buffer: Ints, what: str) -> None:
    rank = operations.rank
    size = np.where(operations.in_work, plan.work_sizes[rank], buffer[rank])
    for broken, rule in (
        (
            (operations.peer < 0) | (operations.peer >= plan.ranks) | (operations.peer == rank),
            "names no other rank",
        ),
        (
            (operations.phase < 0) | (operations.phase >= plan.phases),
            f"is in no phase from 0 to {plan.phases - 1}",
        ),
        (_outside(operations.offset, operations.bytes, size), "leaves its buffer"),
    ):
        refuse_operation(np.flatnonzero(broken), operations, what, rule)
    falls = np.flatnonzero((np.diff(operations.phase) < 0) & (np.diff(rank) == 0))
    refuse_operation(falls + 1, operations, what, "comes after one of a later phase")


def _check_copies(plan: Plan, copies: Copies, operations: Operations, what: str) -> None:
    rank, work = operations.rank[copies.operation], plan.work_sizes
    target = work[rank] if what == "send" else plan.receive_bytes[rank]
    for broken, does in (
        (
            _outside(
                copies.source,
                copies.bytes,
                np.where(copies.work, work[rank], plan.send_bytes[rank]),
            ),
            "reads",
        ),
        (_outside(copies.target, copies.bytes, target), "writes"),
        (np.zeros(rank.size, bool) if what == "send" else ~copies.work, "reads the send buffer,"),
    ):
        if broken.any():
            k = int(np.flatnonzero(broken)[0])
            name = name_operation(operations, int(copies.operation[k]), what)
            raise VerificationError(f"plan: copy {k}, of {name}, {does} outside its area")


def _outside(offset: Ints, size: Ints, area: Ints) -> Bools:
    return (size < 1) | (offset < 0) | (size > area) | (offset > area - size)


def _check_overlap(plan: Plan) -> None:
    """No byte of a receive buffer or work area is written twice.

    By two receives, a pack or an unpack.
    """
    receives, work = plan.receives, plan.receives.in_work
    written = [(receives.rank, work, receives.offset, receives.bytes, np.arange(receives.count))]
    for copies, operations, to_work in (
        (plan.packs, plan.sends, True),
        (plan.unpacks, receives, False),
    ):
        if copies is not None:
            area, none = np.full(copies.count, to_work), np.full(copies.count, -1)
            rank = operations.rank[copies.operation]
            written.append(
                (rank, area, copies.target, copies.bytes, none if to_work else copies.operation)
            )
    rank, work, offset, size, receive = (
        np.concatenate(column) for column in zip(*written, strict=True)
    )
    order = np.lexsort((offset, work, rank))
    same = (np.diff(rank[order]) == 0) & (np.diff(work[order].astype(np.int8)) == 0)
    if (wrong := np.flatnonzero(same & (offset[order][1:] < (offset + size)[order][:-1]))).size:
        k = int(order[wrong[0] + 1])
        if receive[k] < 0:
            raise VerificationError(
                f"plan: byte {offset[k]} of rank {rank[k]}'s work area is written twice"
            )
        name, where = (
            name_operation(receives, int(receive[k]), "receive"),
            "work area" if work[k] else "buffer",
        )
        raise VerificationError(f"plan: {name} overlaps another receive in the {where}")


def _check_read(plan: Plan) -> None:
    """What is read in a work area has arrived there, or was packed."""
    sends, receives, packs, unpacks = plan.sends, plan.receives, plan.packs, plan.unpacks
    arrived: _Bytes = (np.zeros(0, np.int64),) * 3
    if plan.needs is not None:
        received = plan.needs.operation < receives.count
        there = received.copy()
        there[received] = receives.in_work[plan.needs.operation[received]]
        send, needed = np.unique(
            np.stack([plan.needs.owner[there], plan.needs.operation[there]]), axis=1
        )
        arrived = (send, receives.offset[needed], receives.bytes[needed])
    ready = arrived
    if packs is not None:
        read = (packs.operation[packs.work], packs.source[packs.work], packs.bytes[packs.work])
        lacking = read[0][~_covered(read, arrived)]
        rule = "packs bytes of the work area that no needed receive brings"
        refuse_operation(lacking, sends, "send", rule)
        send, target, size = (
            np.concatenate(both)
            for both in zip(arrived, (packs.operation, packs.target, packs.bytes), strict=True)
        )
        ready = (send, target, size)
    work = np.flatnonzero(sends.in_work)
    lacking = work[~_covered((work, sends.offset[work], sends.bytes[work]), ready)]
    rule = "carries bytes of the work area that are neither packed nor needed"
    refuse_operation(lacking, sends, "send", rule)
    if unpacks is not None:
        own = unpacks.operation
        start, end = receives.offset[own], receives.offset[own] + receives.bytes[own]
        wrong = (
            ~receives.in_work[own]
            | (unpacks.source < start)
            | (unpacks.source + unpacks.bytes > end)
        )
        refuse_operation(own[wrong], receives, "receive", "unpacks bytes that it does not bring")


def _covered(read: _Bytes, there: _Bytes) -> Bools:
    """shape=(read): whether each range lies in those of the same send, which do not overlap."""
    if not there[0].size:
        return np.zeros(read[0].size, bool)
    # one axis for all sends, each with room for its work area
    room = max(int((array[1] + array[2]).max(initial=0)) for array in (read, there)) + 1
    start = there[0] * room + there[1]
    order = np.argsort(start)
    start, size = start[order], there[2][order]
    below = np.concatenate([[0], np.cumsum(size)])

    def covered_up_to(place: Ints) -> Ints:
        k = np.searchsorted(start, place, side="right") - 1
        return np.where(k < 0, 0, below[k] + np.minimum(place - start[k], size[k]))

    place = read[0] * room + read[1]
    return covered_up_to(place + read[2]) - covered_up_to(place) == read[2]


def name_operation(operations: Operations, k: int, what: str) -> str:
    """Operation `k`, a `send` or a `receive`, as text."""
    end = "to" if what == "send" else "from"
    return (
        f"rank {operations.rank[k]}'s {what} {end} rank {operations.peer[k]} (phase "
        f"{operations.phase[k]}, transfer {operations.transfer[k]}, {operations.bytes[k]} B)"
    )


def refuse_operation(wrong: Integers, operations: Operations, what: str, rule: str) -> None:
    """Raises VerificationError for the first operation that is wrong, if there is one."""
    if wrong.size:
        raise VerificationError(f"plan: {name_operation(operations, int(wrong[0]), what)} {rule}")


def check_plan(plan: Plan) -> None:
    """Checks that a plan's operations fit their buffers and each other.

    And that no waits form a cycle.

    Raises:
        VerificationError: the first rule broken: areas, matching of the two sides, or the cycle of
            waits as text.
    """
    check_areas(plan)
    send, receive = matched(plan)
    _check_waits(plan, send, receive)


def check_order(schedule: Schedule) -> None:
    """Checks that the pattern's order is the posting order.

    All parts of the first message before any of the second.

    Raises:
        InputError: names the first pair of messages that is the other way round.
    """
    before = schedule.pattern.before
    if before is None:
        return
    place = np.empty(schedule.transfers, np.int64)
    place[schedule.posted] = np.arange(schedule.transfers)
    last, first = _extents(schedule, place, schedule.transfers)
    i, j = before.T
    if (late := np.flatnonzero(last[i] >= first[j])).size:
        k = int(late[0])
        phase = schedule.phase_of[schedule.posted[[last[i[k]], first[j[k]]]]].tolist()
        raise InputError(
            f"before[{k}]: message {i[k]} (phase {phase[0]}) must end before message {j[k]} "
            f"(phase {phase[1]}) starts: "
            "it must stand in an earlier phase, or earlier in the same one"
        )


def not_kept(schedule: Schedule, sync: Sync) -> Bools:
    """shape=(pairs), bool.

    Pairs of the pattern's order that `sync` does not keep by itself: operations must wait.

    A barrier between two messages keeps any order. `ready` keeps that of different phases: a target
    signals when its earlier phases are over. `local` does so only where the later message leaves
    the shared rank: its other end may run ahead. Nothing keeps the order of one phase, or of phases
    between two barriers.
    """
    before = schedule.pattern.before
    if before is None:
        return np.zeros(0, bool)
    last, first = _extents(schedule, schedule.phase_of, schedule.phases)
    i, j = before.T
    kept = last[i] // sync.every < first[j] // sync.every
    if sync.is_one_step:
        kept[:] = False
    elif sync.kind == "local":
        source, target = schedule.pattern.source, schedule.pattern.target
        kept &= (source[j] == source[i]) | (source[j] == target[i])
    return ~kept


def _extents(schedule: Schedule, place: Integers, places: int) -> tuple[Ints, Ints]:
    """Of each message: the largest and the least `place` of its transfers.

    -1 and `places` where it has none.
    """
    last = np.full(schedule.pattern.messages, -1, np.int64)
    first = np.full(schedule.pattern.messages, places, np.int64)
    np.maximum.at(last, schedule.message, place)
    np.minimum.at(first, schedule.message, place)
    return last, first


def matched(plan: Plan) -> tuple[Ints, Ints]:
    """Indices of sends and receives as MPI matches them.

    The k-th of a pair with the k-th, in posting order.
    """
    sends, receives = plan.sends, plan.receives
    send_pair = sends.rank.astype(np.int64) * plan.ranks + sends.peer
    receive_pair = receives.peer.astype(np.int64) * plan.ranks + receives.rank
    send, receive = np.argsort(send_pair, kind="stable"), np.argsort(receive_pair, kind="stable")
    both = min(send.size, receive.size)
    differ = np.flatnonzero(send_pair[send[:both]] != receive_pair[receive[:both]])
    if differ.size or send.size != receive.size:
        # the smaller pair number is the one that the other side lacks
        k = int(differ[0]) if differ.size else both
        if k < send.size and (k >= receive.size or send_pair[send[k]] < receive_pair[receive[k]]):
            raise VerificationError(
                f"plan: {name_operation(sends, int(send[k]), 'send')} has no receive"
            )
        raise VerificationError(
            f"plan: {name_operation(receives, int(receive[k]), 'receive')} has no send"
        )
    for array in ("bytes", "transfer"):
        wrong = np.flatnonzero(getattr(sends, array)[send] != getattr(receives, array)[receive])
        if wrong.size:
            s, r = (
                name_operation(sends, int(send[wrong[0]]), "send"),
                name_operation(receives, int(receive[wrong[0]]), "receive"),
            )
            raise VerificationError(
                f"plan: {s} meets {r}: {array} must agree, the two sides of a pair need one order"
            )
    return send, receive


class _Nodes:
    """Numbers of the nodes of the graph.

    Entered, left, barriers, turns, ended, given, each kind in a row.

    Attributes:
        keys: shape=(steps): rank · width + step, rising.
        send_step, receive_step: shape=(operations): the step of each.
        turn: shape=(sends): the turn of each.
        turn_step: shape=(turns): the step of each turn, rising.
        needed: shape=(needed operations): receives, and from their number on sends, rising.
        given: shape=(signals that wait): their receives, rising.
        barriers: how many.
        step: shape=(nodes): the step of each; -1: a barrier.
        first: number of the first node of each kind.
    """

    def __init__(self, plan: Plan, width: int) -> None:
        send_key, receive_key = (
            _step_keys(plan, plan.sends, width),
            _step_keys(plan, plan.receives, width),
        )
        self.keys = np.unique(np.concatenate([send_key, receive_key]))
        self.send_step = np.searchsorted(self.keys, send_key)
        self.receive_step = np.searchsorted(self.keys, receive_key)
        begins, none = plan.signalled.copy(), np.zeros(0, np.int64)
        needed, self.given = [none], none
        if plan.needs is not None:
            begins |= np.diff(plan.needs.offsets) > 0
            needed.append(plan.needs.operation)
        if plan.signals is not None:
            ready = plan.sync.kind == "ready"  # every receive is signalled, one after the other
            begins |= ready
            needed.append(plan.signals.operation)
            self.given = np.flatnonzero((np.diff(plan.signals.offsets) > 0) | ready)
        # a step without sends has one turn all the same; sends stand in rising order of their steps
        steps = np.arange(self.keys.size)
        self.turn = self.send_step + np.cumsum(begins)
        self.turn_step = np.sort(np.concatenate([steps, self.send_step[begins]]))
        self.needed = np.unique(np.concatenate(needed))
        self.barriers = plan.sync.barriers(plan.phases)
        kinds = (
            steps,
            steps,
            np.full(self.barriers, -1),
            self.turn_step,
            np.concatenate([self.receive_step, self.send_step])[self.needed],
            self.receive_step[self.given],
        )
        self.step = np.concatenate(kinds)
        self.first: list[int] = np.cumsum([0, *map(len, kinds)]).tolist()

    def left(self, step: Ints) -> Ints:
        return step + self.first[1]

    def barrier(self, number: Ints) -> Ints:
        return number + self.first[2]

    def sent(self, turn: Ints) -> Ints:
        return turn + self.first[3]

    def ended(self, operation: Ints) -> Ints:
        """Of operations that are needed."""
        return np.searchsorted(self.needed, operation) + self.first[4]

    def signal(self, receive: Ints) -> Ints:
        """Of receives whose signals wait."""
        return np.searchsorted(self.given, receive) + self.first[5]


def _check_waits(plan: Plan, send: Ints, receive: Ints) -> None:
    sync = plan.sync
    width = plan.phases if sync.kind in ("local", "ready") else sync.groups(plan.phases)
    nodes = _Nodes(plan, width)
    if not nodes.keys.size:
        return
    edges = [
        *_order_edges(nodes, width),
        *_match_edges(plan, nodes, send, receive),
        *_need_edges(plan, nodes, send, receive),
    ]
    cycle = _cycle(
        np.concatenate([a for a, _ in edges]),
        np.concatenate([b for _, b in edges]),
        nodes.step.size,
    )
    if cycle:
        raise VerificationError(
            f"plan: the waits form a cycle under sync '{sync}': "
            f"{_describe_cycle(cycle, nodes, width, sync)}"
        )


_Edges = tuple[Ints, Ints]
"""Tails and heads: the head waits for the tail."""


def _order_edges(nodes: _Nodes, width: int) -> list[_Edges]:
    """Program order of every rank, through the barriers."""
    own = np.arange(nodes.keys.size)
    same_rank = np.flatnonzero(np.diff(nodes.keys // width) == 0)
    turns = np.arange(nodes.turn_step.size)
    first = np.searchsorted(nodes.turn_step, own)
    last = np.searchsorted(nodes.turn_step, own, side="right") - 1
    in_a_row = np.flatnonzero(np.diff(nodes.turn_step) == 0)
    edges = [
        (own, nodes.sent(turns[first])),
        (nodes.sent(turns[in_a_row]), nodes.sent(turns[in_a_row + 1])),
        (nodes.sent(turns[last]), nodes.left(own)),
        (nodes.left(own[same_rank]), own[same_rank + 1]),
    ]
    if nodes.barriers:
        group = nodes.keys % width
        number = np.arange(nodes.barriers)
        ends, starts = group < nodes.barriers, group > 0
        edges += [
            (nodes.left(own[ends]), nodes.barrier(group[ends])),
            (nodes.barrier(group[starts] - 1), own[starts]),
            (nodes.barrier(number[:-1]), nodes.barrier(number[1:])),
        ]
    return edges


def _match_edges(plan: Plan, nodes: _Nodes, send: Ints, receive: Ints) -> list[_Edges]:
    """Data, posting, and what else a send waits for at its target."""
    turn, source, target = nodes.turn[send], nodes.send_step[send], nodes.receive_step[receive]
    edges = [(nodes.sent(turn), nodes.left(target)), (target, nodes.left(source))]
    if plan.sync.kind == "ready" or plan.in_flight is not None:
        edges.append((target, nodes.sent(turn)))
    needed = np.isin(receive, nodes.needed)
    edges.append((nodes.sent(turn[needed]), nodes.ended(receive[needed])))
    own = send + plan.receives.count
    needed = np.isin(own, nodes.needed)
    edges += [
        (nodes.sent(turn[needed]), nodes.ended(own[needed])),
        (target[needed], nodes.ended(own[needed])),
    ]
    return edges


def _need_edges(plan: Plan, nodes: _Nodes, send: Ints, receive: Ints) -> list[_Edges]:
    """What sends need, and what signals need before they are given."""
    received = nodes.needed[nodes.needed < plan.receives.count]
    edges = [(nodes.receive_step[received], nodes.ended(received))]
    if plan.needs is not None:
        edges.append((nodes.ended(plan.needs.operation), nodes.sent(nodes.turn[plan.needs.owner])))
    if plan.signals is None:
        return edges
    sender = np.empty(plan.receives.count, np.int64)
    sender[receive] = send
    given = nodes.given
    in_a_row = np.flatnonzero(np.diff(plan.receives.rank[given]) == 0)
    return [
        *edges,
        (nodes.receive_step[given], nodes.signal(given)),
        (nodes.signal(given[in_a_row]), nodes.signal(given[in_a_row + 1])),
        (nodes.ended(plan.signals.operation), nodes.signal(plan.signals.owner)),
        (nodes.signal(given), nodes.sent(nodes.turn[sender[given]])),
    ]


def _step_keys(plan: Plan, operations: Operations, width: int) -> Ints:
    """shape=(operations): rank · width + step."""
    phase = operations.phase.astype(np.int64)
    if plan.sync.is_one_step:
        phase[:] = 0
    return operations.rank.astype(np.int64) * width + phase // plan.sync.every


def _cycle(tail: Ints, head: Ints, nodes: int) -> list[int]:
    """A cycle of the graph as nodes that wait for each other, the last for the first.

    Empty where there is none.
    """
    cyclic = depths_in_graph(tail, head, nodes) < 0
    if not cyclic.any():
        return []
    left = cyclic[tail] & cyclic[head]
    waits_for = dict(zip(head[left].tolist(), tail[left].tolist(), strict=True))
    node = next(iter(waits_for))
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = waits_for[node]
    return path[seen[node] :]


def _describe_cycle(cycle: list[int], nodes: _Nodes, width: int, sync: Sync) -> str:
    """`rank 0 phase 1 waits for rank 2 phase 0 waits for …`.

    Steps of one rank in a row are kept once.
    """
    names: list[str] = []
    for node in [*cycle, cycle[0]]:
        if nodes.step[node] < 0:
            word = f"barrier {node - nodes.first[2]}"
        else:
            rank, step = divmod(int(nodes.keys[nodes.step[node]]), width)
            first, last = step * sync.every, (step + 1) * sync.every - 1
            word = (
                f"rank {rank} phase {step}"
                if sync.every == 1
                else f"rank {rank} phases {first} to {last}"
            )
            if sync.is_one_step:
                word = f"rank {rank}"
        if not names or names[-1] != word:
            names.append(word)
    return " waits for ".join(names)


_Ranks = Ints32 | Ints


class _Ranges(NamedTuple):
    """Ranges of one line of bytes: a kind of area of all ranks, one rank behind the other."""

    place: Ints
    bytes: Ints
    number: Ints  # of the first byte
    writer: Ints  # a receive; of packs: minus one minus the send

    def sorted(self) -> _Ranges:
        order = np.argsort(self.place, kind="stable")
        return _Ranges(*(column[order] for column in self))


_NOTHING = _Ranges(*(np.zeros(0, np.int64) for _ in range(4)))


class _Found(NamedTuple):
    """What reads have found: pieces of ranges, read after read, in the order of their places."""

    read: Ints
    shift: Ints  # from where the read begins [B]
    bytes: Ints
    number: Ints
    writer: Ints


def check_delivery(plan: Plan, pattern: Pattern) -> None:
    """Checks that `plan` brings every byte of `pattern` to its place.

    And reads nothing before it is there.

    Raises:
        VerificationError: the first rule broken, or a cycle of needs.
    """
    if plan.ranks != pattern.ranks:
        raise VerificationError(
            f"plan: of {plan.ranks} ranks, the pattern has {pattern.ranks}: must agree"
        )
    first = np.cumsum(pattern.size) - pattern.size
    send_place, send_base = _laid_out(
        pattern.source, pattern.target, pattern, plan.send_bytes, "send"
    )
    receive_place, _ = _laid_out(
        pattern.target, pattern.source, pattern, plan.receive_bytes, "receive"
    )
    held = _Ranges(send_place, pattern.size, first, np.full(first.size, -1)).sorted()
    received = _Replay(plan, held, send_base).run()
    _check_received(received, _Ranges(receive_place, pattern.size, first, first).sorted(), plan)


def _laid_out(
    own: Ints32, peer: Ints32, pattern: Pattern, area: Ints, what: str
) -> tuple[Ints, Ints]:
    """(place of each message in one line of all ranks' buffers, where each rank's begins).

    By rank, peer, index.
    """
    order = np.lexsort((np.arange(own.size), peer, own))
    place = np.empty(own.size, np.int64)
    place[order] = np.cumsum(pattern.size[order]) - pattern.size[order]
    due = np.zeros(pattern.ranks, np.int64)
    np.add.at(due, own, pattern.size)
    if (wrong := np.flatnonzero(due != area)).size:
        r = wrong[0]
        raise VerificationError(
            f"plan: rank {r}'s {what} buffer has {area[r]} B, its messages {due[r]}: must agree"
        )
    return place, np.cumsum(due) - due


class _Replay:
    """The areas of all ranks while a plan is replayed."""

    def __init__(self, plan: Plan, held: _Ranges, send_base: Ints) -> None:
        self._plan = plan
        self._send, self._receive = matched(plan)
        self._work_bytes = work = plan.work_sizes
        self._work_base = np.cumsum(work) - work
        self._send_base = send_base
        self._receive_base = np.cumsum(plan.receive_bytes) - plan.receive_bytes
        self._held = held
        self._work = _NOTHING
        self._received = _NOTHING
        # pairs (send, receive) as numbers, rising
        self._needed = np.zeros(0, np.int64)
        if plan.needs is not None:
            received = plan.needs.operation < plan.receives.count
            self._needed = np.unique(
                (plan.needs.owner * plan.receives.count + plan.needs.operation)[received]
            )

    def run(self) -> _Ranges:
        """What the receive buffers hold at the end."""
        level = _levels(self._plan, self._send, self._receive)[self._send]
        order = np.argsort(level, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
            self._pack(self._send[own])
            self._carry(self._send[own], self._receive[own])
            self._unpack(self._receive[own])
        return self._received

    def _pack(self, sends: Ints) -> None:
        packs = self._plan.packs
        if packs is None:
            return
        copies, rank = _copies_of(packs, sends, self._plan.sends)
        self._check_inside(
            packs.target[copies], packs.bytes[copies], rank, self._work_bytes, "a pack writes"
        )
        found = self._read(
            packs.work[copies],
            packs.source[copies],
            packs.bytes[copies],
            rank,
            packs.operation[copies],
            False,
        )
        place = self._work_base[rank] + packs.target[copies]
        self._work = _written(self._work, found, place, -1 - packs.operation[copies], "work area")

    def _carry(self, sends: Ints, receives: Ints) -> None:
        from_, to = self._plan.sends, self._plan.receives
        found = self._read(
            from_.in_work[sends],
            from_.offset[sends],
            from_.bytes[sends],
            from_.rank[sends],
            sends,
            True,
        )
        rank, offset, size, in_work = (
            to.rank[receives],
            to.offset[receives],
            to.bytes[receives],
            to.in_work[receives],
        )
        room = np.where(in_work, self._work_bytes[rank], self._plan.receive_bytes[rank])
        self._check_inside(offset, size, np.arange(rank.size), room, "a receive writes")
        for work in (True, False):
            kept = in_work[found.read] == work
            part = _Found(*(column[kept] for column in found))
            place = (self._work_base if work else self._receive_base)[rank] + offset
            if work:
                self._work = _written(self._work, part, place, receives, "work area")
            else:
                self._received = _written(self._received, part, place, receives, "receive buffer")

    def _unpack(self, receives: Ints) -> None:
        unpacks = self._plan.unpacks
        if unpacks is None:
            return
        copies, rank = _copies_of(unpacks, receives, self._plan.receives)
        if not unpacks.work[copies].all():
            raise VerificationError(
                "plan: an unpack reads the send buffer, must read the work area"
            )
        self._check_inside(
            unpacks.target[copies],
            unpacks.bytes[copies],
            rank,
            self._plan.receive_bytes,
            "an unpack writes",
        )
        own = unpacks.operation[copies]
        self._check_inside(
            unpacks.source[copies], unpacks.bytes[copies], rank, self._work_bytes, "an unpack reads"
        )
        found = _look(
            self._work, self._work_base[rank] + unpacks.source[copies], unpacks.bytes[copies]
        )
        _require_all(found, unpacks.bytes[copies], self._plan.receives, own, "receive")
        wrong = own[found.read][found.writer != own[found.read]]
        refuse_operation(wrong, self._plan.receives, "receive", "unpacks what another has brought")
        place = self._receive_base[rank] + unpacks.target[copies]
        self._received = _written(self._received, found, place, own, "receive buffer")

    def _read(
        self, work: Bools, offset: Ints, size: Ints, rank: _Ranks, sends: Ints, packed: bool
    ) -> _Found:
        """What sends, or their packs, read; `packed`: what they have packed is there too."""
        room = np.where(work, self._work_bytes[rank], self._plan.send_bytes[rank])
        self._check_inside(offset, size, np.arange(rank.size), room, "a send reads")
        pieces = []
        for area, base, own in (
            (self._work, self._work_base, work),
            (self._held, self._send_base, ~work),
        ):
            rows = np.flatnonzero(own)
            found = _look(area, (base[rank] + offset)[rows], size[rows])
            _require_all(found, size[rows], self._plan.sends, sends[rows], "send")
            if own is work:
                self._require_there(found, sends[rows], packed)
            pieces.append(found._replace(read=rows[found.read]))
        return _Found(*(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def _require_there(self, found: _Found, sends: Ints, packed: bool) -> None:
        own = sends[found.read]
        key = own * self._plan.receives.count + found.writer
        at = np.minimum(np.searchsorted(self._needed, key), max(self._needed.size - 1, 0))
        brought = (found.writer >= 0) & (self._needed.size > 0)
        if self._needed.size:
            brought &= self._needed[at] == key
        wrong = own[~(brought | (packed & (found.writer == -1 - own)))]
        rule = "reads bytes of the work area that nothing it needs has brought"
        refuse_operation(wrong, self._plan.sends, "send", rule)

    @staticmethod
    def _check_inside(offset: Ints, size: Ints, rank: _Ranks, room: Ints, what: str) -> None:
        if (wrong := np.flatnonzero((size < 1) | (offset < 0) | (offset > room[rank] - size))).size:
            k = wrong[0]
            raise VerificationError(
                f"plan: {what} {size[k]} B at byte {offset[k]} of an area of {room[rank][k]} B: "
                "must lie inside"
            )


def _levels(plan: Plan, send: Ints, receive: Ints) -> Ints:
    """shape=(sends): how many arrivals each has before it, at most one after the other."""
    level = np.zeros(plan.sends.count, np.int64)
    if plan.needs is None:
        return level
    sender = np.empty(plan.receives.count, np.int64)
    sender[receive] = send
    received = plan.needs.operation < plan.receives.count
    before, after = sender[plan.needs.operation[received]], plan.needs.owner[received]
    for _ in range(plan.sends.count + 1):
        raised = level.copy()
        np.maximum.at(raised, after, level[before] + 1)
        if np.array_equal(raised, level):
            return level
        level = raised
    raise VerificationError("plan: sends need each other's arrivals in a cycle")


def _copies_of(copies: Copies, operations: Ints, of: Operations) -> tuple[Ints, _Ranks]:
    """(copies, the rank of each)."""
    offsets, index = take_rows(copies.offsets, operations)
    return index, np.repeat(of.rank[operations], np.diff(offsets))


def _look(area: _Ranges, place: Ints, size: Ints) -> _Found:
    """The pieces of `area`, sorted and without overlap, in each range that is read."""
    low = np.searchsorted(area.place + area.bytes, place, side="right")
    count = np.maximum(np.searchsorted(area.place, place + size, side="left") - low, 0)
    read = np.repeat(np.arange(place.size), count)
    k = np.arange(count.sum()) + np.repeat(low - (np.cumsum(count) - count), count)
    begin = np.maximum(area.place[k], place[read])
    return _Found(
        read,
        begin - place[read],
        np.minimum(area.place[k] + area.bytes[k], place[read] + size[read]) - begin,
        area.number[k] + begin - area.place[k],
        area.writer[k],
    )


def _require_all(found: _Found, size: Ints, operations: Operations, own: Ints, what: str) -> None:
    there = np.zeros(size.size, np.int64)
    np.add.at(there, found.read, found.bytes)
    if (wrong := np.flatnonzero(there != size)).size:
        raise VerificationError(
            f"plan: {name_operation(operations, int(own[wrong[0]]), what)} reads "
            f"{size[wrong[0]]} B of which {there[wrong[0]]} are there"
        )


def _written(area: _Ranges, found: _Found, place: Ints, writer: Ints, what: str) -> _Ranges:
    """`area` with what was found, written where the reads say."""
    new = _Ranges(place[found.read] + found.shift, found.bytes, found.number, writer[found.read])
    together = _Ranges(*(np.concatenate(both) for both in zip(area, new, strict=True))).sorted()
    if (together.place[1:] < (together.place + together.bytes)[:-1]).any():
        raise VerificationError(f"plan: a byte of a {what} is written twice")
    return together


def _check_received(received: _Ranges, due: _Ranges, plan: Plan) -> None:
    """Every range lies in its message's place, and together they are all bytes."""
    base = np.cumsum(plan.receive_bytes) - plan.receive_bytes
    at = np.searchsorted(due.place, received.place, side="right") - 1
    right = (at >= 0) & (received.place + received.bytes <= (due.place + due.bytes)[at])
    right &= received.number - received.place == (due.number - due.place)[at]
    if not right.all():
        k = int(np.flatnonzero(~right)[0])
        rank = int(np.searchsorted(base, received.place[k], side="right") - 1)
        raise VerificationError(
            f"plan: byte {received.place[k] - base[rank]} of rank {rank}'s receive buffer is one "
            "of another message "
            "or another position"
        )
    if missing := int(due.bytes.sum() - received.bytes.sum()):
        raise VerificationError(f"plan: {missing} B never arrive")
