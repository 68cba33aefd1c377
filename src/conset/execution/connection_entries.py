"""Connection entries: what each phase of a program holds open at each rank, and opening it.

Problem: programs that run over connections ask which ones a phase holds; a plan, whose repetitions
are unrolled, does not have that.

Idea: a plain schedule is a program of one block. The phases of all distinct schedules are numbered
one after the other (*global phases*); a phase holds one connection for each ordered pair of ranks
that has a message, or a part of one, there, and each of its two ranks has an entry of it.

Invariant: the posting order of a phase is one order of all its transfers, as each rank sees it:
ranks that use one connection after the other in this order never wait for each other in a cycle.

Complexity: O(transfers log transfers) of the distinct schedules, however often blocks are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset import _core
from conset.base import (
    Array,
    Bytes,
    FlatValue,
    Floats,
    InputError,
    Ints,
    Ints32,
    count_of,
    python_interface,
)
from conset.execution.agreement import agreed, require_same
from conset.execution.exchange import share_parts
from conset.execution.open_program import (
    CREDITS,
    PACKET_BYTES,
    OpenProgram,
    read_part,
    require_packets,
)
from conset.schedule import (
    Guarantees,
    Program,
    Schedule,
    guarantees,
    program_guarantees,
)

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True, eq=False)
class ConnectionEntries:
    """The connections of every phase, by rank.

    Entries of rank r are `offsets[r] … offsets[r + 1] - 1`.

    Entries of a rank are sorted by global phase, receives before sends, then by peer and id; a
    connection has two, one at each of its ranks.

    Attributes:
        names: of the blocks.
        repeat: shape=(blocks), int64: how often each runs.
        turns: shape=(blocks), uint8: 1 where every second repetition runs the phases backwards.
        block_schedule: shape=(blocks), int32: the distinct schedule that each runs.
        schedule_phases: shape=(schedules + 1), int64: schedule s has the global phases
            `schedule_phases[s] … schedule_phases[s + 1] - 1`.
        phase_context: shape=(global phases), int32, numbered from 0 as they are met.
        node: shape=(ranks), int32: the node of each rank.
        offsets: shape=(ranks + 1), int64.
        phase: shape=(entries), int32: the global phase.
        peer: shape=(entries), int32: the rank at the other end.
        send: shape=(entries), uint8: 1 where this rank sends, 0 where it receives.
        id: shape=(entries), int32: what the pattern calls the connection, else its message's index.
        bytes: shape=(entries), int64 [B]: what the pattern sends through it in this phase.
        order: shape=(entries), int32: position in the posting order of the phase at this rank,
            from 0.
        bandwidth_Bps: shape=(entries), float64 [B/s]: guaranteed at least; infinite: no limit.
        latency_s: shape=(entries), float64 [s]: of an element from gate to gate, guaranteed at
            most.
    """

    names: tuple[str, ...]
    repeat: Ints
    turns: Bytes
    block_schedule: Ints32
    schedule_phases: Ints
    phase_context: Ints32
    node: Ints32
    offsets: Ints
    phase: Ints32
    peer: Ints32
    send: Bytes
    id: Ints32
    bytes: Ints
    order: Ints32
    bandwidth_Bps: Floats  # noqa: N815
    latency_s: Floats

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.node.size)

    @property
    def phases(self) -> int:
        """Phases of all distinct schedules."""
        return int(self.phase_context.size)

    @property
    def executed(self) -> int:
        """Phases that run, every one as often as its block."""
        return int(self.repeat @ np.diff(self.schedule_phases)[self.block_schedule])

    def to_flat(self) -> dict[str, FlatValue]:
        """As in a plan file (`docs/flat-files.md`); the number of ranks is already there."""
        return {
            "blocks": len(self.names),
            "executed": self.executed,
            "block_names": "\n".join(self.names),
            "block_repeat": self.repeat,
            "block_turns": self.turns,
            "block_schedule": self.block_schedule,
            "schedule_phases": self.schedule_phases,
            "phase_context": self.phase_context,
            "node": self.node,
            "connections_offsets": self.offsets,
            "connections_phase": self.phase,
            "connections_peer": self.peer,
            "connections_send": self.send,
            "connections_id": self.id,
            "connections_bytes": self.bytes,
            "connections_order": self.order,
            "connections_bandwidth": self.bandwidth_Bps,
            "connections_latency": self.latency_s,
        }

    def of_rank(self, rank: int) -> dict[str, Any]:
        """One rank's part, as the core takes it and as it travels to its rank."""
        at = slice(int(self.offsets[rank]), int(self.offsets[rank + 1]))
        return {
            "rank": rank,
            "names": list(self.names),
            "repeat": self.repeat,
            "turns": self.turns,
            "block_schedule": self.block_schedule,
            "schedule_phases": self.schedule_phases,
            "phase_context": self.phase_context,
            "node": self.node,
            "offsets": np.searchsorted(self.phase[at], np.arange(self.phases + 1)).astype(np.int64),
            "peer": self.peer[at],
            "send": self.send[at],
            "id": self.id[at],
            "bytes": self.bytes[at],
            "order": self.order[at],
            "bandwidth": self.bandwidth_Bps[at],
            "latency": self.latency_s[at],
        }


def connection_entries(what: Program | Schedule) -> ConnectionEntries:
    """The connections that each phase holds open at each rank.

    Each message has a connection. Where several parts of it travel in one phase, their bytes add
    up, the connection is posted where the first of them is, and it is guaranteed what each of them
    is, while its context is open.

    Raises:
        InputError: the program forwards: its stages move parts of messages, and have no blocks; or
            its schedules put ranks on different nodes.
    """
    program = Program.of(what)
    if program.paths is not None:
        raise InputError(
            "the program forwards messages: only programs of blocks, and schedules, are opened"
        )
    begins = np.cumsum([0, *(schedule.phases for schedule in program.schedules)], dtype=np.int64)
    numbers = list(chain(*program.contexts))
    # connections of all phases of a context count, where several share one
    shared = len(set(numbers)) < len(numbers)
    given = program_guarantees(program) if shared else map(guarantees, program.schedules)
    columns = zip(program.schedules, begins.tolist(), given, strict=False)
    found = [_connections(schedule, begin, promised) for schedule, begin, promised in columns]
    joined = [np.concatenate(column) for column in zip(*found, strict=True)]
    met = {each: k for k, each in enumerate(dict.fromkeys(numbers))}
    return ConnectionEntries(
        tuple(stage.name.replace("\n", " ") for stage in program.stages),
        np.array([stage.repeat for stage in program.stages], np.int64),
        np.array([stage.turns for stage in program.stages], np.uint8),
        np.array([stage.schedule for stage in program.stages], np.int32),
        begins,
        np.array([met[each] for each in numbers], np.int32),
        _nodes(program),
        *_by_rank(program.ranks, *joined),
    )


def _nodes(program: Program) -> Ints32:
    ranks = np.arange(program.ranks, dtype=np.int32)
    first = program.schedules[0].nodes_of(ranks)
    for k, schedule in enumerate(program.schedules):
        other = schedule.nodes_of(ranks)
        if (wrong := np.flatnonzero(other != first)).size:
            r = int(wrong[0])
            raise InputError(
                f"schedules[{k}]: rank {r} is on node {other[r]}, in schedules[0] on node "
                f"{first[r]}: must be the same"
            )
    return np.ascontiguousarray(first)


def _connections(schedule: Schedule, begin: int, promised: Guarantees) -> tuple[Array, ...]:
    """One for each phase and message of a schedule whose phases are numbered from `begin`."""
    pattern = schedule.pattern
    start_s = (
        np.zeros(schedule.transfers) if schedule.timetable is None else schedule.timetable[:, 0]
    )
    # stable: the first to be posted comes first
    order = np.lexsort((start_s, schedule.message, schedule.phase_of))
    phase, message = schedule.phase_of[order].astype(np.int64) + begin, schedule.message[order]
    new = np.ones(order.size, bool)
    new[1:] = (np.diff(phase) != 0) | (np.diff(message) != 0)
    at = np.flatnonzero(new)
    size, rates, times = (
        schedule.size[order],
        promised.bandwidth_Bps[order],
        promised.latency_s[order],
    )
    if at.size:  # there is a run of transfers to each connection
        size, rates, times = (
            np.add.reduceat(size, at),
            np.minimum.reduceat(rates, at),
            np.maximum.reduceat(times, at),
        )
    phase, message = phase[at], message[at]
    ends = pattern.source[message], pattern.target[message]
    id = message if pattern.ids is None else pattern.ids[message]
    return phase, *ends, id, size, start_s[order[at]], order[at], rates, times


def _by_rank(
    ranks: int,
    phase: Ints,
    source: Ints32,
    target: Ints32,
    id: Ints32,
    size: Ints,
    start_s: Floats,
    first: Ints,
    rate_Bps: Floats,  # noqa: N803
    time_s: Floats,
) -> tuple[Array, ...]:
    """Offsets by rank, then the entries of both ends.

    Phase, peer, send, id, bytes, order, bandwidth, latency.
    """
    rank, peer = np.concatenate((target, source)), np.concatenate((source, target))
    send = np.repeat(np.array([0, 1], np.uint8), phase.size)
    phase, first = np.tile(phase, 2), np.tile(first, 2)
    start_s, id = np.tile(start_s, 2), np.tile(id, 2)
    posted = np.lexsort((first, start_s, phase, rank))
    new = np.ones(posted.size, bool)
    new[1:] = (np.diff(rank[posted]) != 0) | (np.diff(phase[posted]) != 0)
    steps = np.arange(posted.size)
    position = np.empty(posted.size, np.int32)
    position[posted] = steps - np.maximum.accumulate(np.where(new, steps, 0))
    sort = np.lexsort((id, peer, send, phase, rank))
    return (
        np.searchsorted(rank[sort], np.arange(ranks + 1)).astype(np.int64),
        phase[sort].astype(np.int32),
        peer[sort].astype(np.int32),
        send[sort],
        id[sort].astype(np.int32),
        np.tile(size, 2)[sort],
        position[sort],
        np.tile(rate_Bps, 2)[sort],
        np.tile(time_s, 2)[sort],
    )


def keeps_order(program: Program) -> bool:
    """Whether patterns have an order.

    Connections used one after the other, in posting order, keep it.
    """
    return any(schedule.pattern.before is not None for schedule in program.schedules)


@python_interface
def program_open(
    program: Schedule | Program | str | Path,
    comm: MPI.Intracomm,
    *,
    packet_bytes: int = PACKET_BYTES,
    credits: int = CREDITS,
    timeout_s: float | None = None,
) -> OpenProgram:
    """Opens a program whose phases the ranks instantiate; collective.

    Elements are sent and received on its connections.

        with conset.program_open("x.plan", comm) as program:
            for block, phase in program.steps():
                program.instantiate(block, phase)
                to = program.connection(3, "send")
                to.send_elements(array)
                ...
                program.phase_end()

    `docs/connections.md` defines what may wait for what. Of a `.plan` file every rank reads its own
    part; a schedule or program file is read by rank 0.

    Args:
        program: a program of blocks or a schedule, or its file, or the plan file of it; the same on
            every rank. How often blocks repeat does not matter: nothing is unrolled.
        comm: as many ranks as the program has; duplicated.
        packet_bytes: of elements in a packet [B]; the same on all ranks.
        credits: packets of a connection that may be filled, under way or unread; the same on all
            ranks.
        timeout_s: longest time of a wait in which nothing moves [s]; None: no limit.

    Raises:
        UsageError: a setting is out of range.
        InputError: no such file, a program that forwards, another number of ranks, or ranks that do
            not open the same. What is wrong on one rank is an error on all.
    """
    with agreed(comm):
        require_packets(packet_bytes, credits, timeout_s)
    require_same(comm, f"of {packet_bytes} B with {count_of(credits, 'credit')}", "packets")
    part = _part(program, comm)
    digest = sha256(repr((part.ranks, part.names)).encode())  # of what all ranks must have alike
    for name in ("node", "repeat", "turns", "block_schedule", "schedule_phases", "phase_context"):
        digest.update(getattr(part, name).tobytes())
    require_same(comm, digest.hexdigest()[:16], "program of digest")
    return OpenProgram(comm, part, packet_bytes, credits, timeout_s)


def _part(program: Schedule | Program | str | Path, comm: MPI.Intracomm) -> _core.RankConnections:
    from conset.schedule import read_compiled

    file = None if isinstance(program, Schedule | Program) else Path(program)
    require_same(comm, "a noun" if file is None else f"a file '{file.name}'", "program:")
    if file is not None and file.suffix.lower() == ".plan":
        with agreed(comm):
            return read_part(file, comm.rank, comm.size)

    def make() -> ConnectionEntries:
        return connection_entries(
            program if isinstance(program, Schedule | Program) else read_compiled(program)
        )

    part, _ = share_parts(comm, file, make, ConnectionEntries.of_rank, "program")
    return _core.RankConnections(**part)
