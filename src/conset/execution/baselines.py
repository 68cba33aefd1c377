"""Baselines: what an application would call without a schedule, on the same buffers.

- `naive`: all receives, then all sends, in rank order, one message per pair of ranks; wait for
  everything.
- `alltoallv`: `MPI_Alltoallv`.
- `neighbor_alltoallv`: `MPI_Neighbor_alltoallv` on a graph communicator of the pairs that there
  are.
- `alltoall`: `MPI_Alltoall`, where all pairs of ranks exchange one size. It takes buffers of its
  own, with a block of the rank to itself, from which the bytes received are copied outside the
  clock (`collect`).

Beside a program they deliver its messages directly, in the same buffers: of building blocks one
repetition after the other. Its `naive` has persistent requests as the program has, for each message
one; a rank waits after each repetition.

The collectives are the library's own blocking calls: how they wait is part of what is compared.

`Connected` runs a program of blocks through connections: the same bytes as the program's plan, in
the same buffers. What a pair of ranks exchanges is one range in both, and the connections of the
pair carry it piece after piece in the order of the phases. In a phase everything is spooled in
posting order, so all its messages travel interleaved; then the rank waits for each and ends the
phase. Where a pattern has an order between messages, a rank uses its connections one after the
other instead, in posting order: that keeps it. The first context is open before a time is taken, as
a plan's requests are made before: the switches of an exchange are those between its phases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from mpi4py import MPI

from conset import _core
from conset.base import Bytes, Floats, Ints32
from conset.execution.agreement import Waiter
from conset.execution.connection_entries import ConnectionEntries
from conset.execution.exchange import Exchange
from conset.execution.open_program import CREDITS, PACKET_BYTES, Direction, OpenProgram, read_part
from conset.execution.plan import PairRanges, Plan

Bytes = Bytes


class Variant(Protocol):
    """Anything that delivers the bytes of a plan."""

    def exchange(self) -> None:
        """Delivers everything once."""

    def close(self) -> None:
        """Frees what MPI holds."""


class Baseline:
    """A way to deliver the bytes of a plan, on a communicator of its own.

    Attributes:
        exchange: delivers everything once.
        collect: outside the clock, what is left to do with what was received.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        exchange: Callable[[], None],
        collect: Callable[[], None] = lambda: None,
    ) -> None:
        self._comm, self.exchange, self.collect = comm, exchange, collect

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


def _naive(
    comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes, waiter: Waiter
) -> Baseline:
    """Posts everything in rank order, as halo exchanges are mostly written."""
    own = comm.Dup()
    sends, receives = plan.pair_ranges(comm.rank)
    out, into = sends.views(sendbuf), receives.views(recvbuf)

    def exchange() -> None:
        waiter.begin()
        requests = [
            *[own.Irecv([view, MPI.BYTE], peer) for peer, view in into],
            *[own.Isend([view, MPI.BYTE], peer) for peer, view in out],
        ]
        for request in requests:
            waiter.wait(request, lambda: f"rank {own.rank}: naive exchange: messages are missing")

    return Baseline(own, exchange)


def _collective(
    comm: MPI.Comm,
    call: Callable[[Any, Any], None],
    runs: Sequence[tuple[PairRanges, PairRanges]],
    peers: Sequence[Ints32],
    sendbuf: Bytes,
    recvbuf: Bytes,
) -> Baseline:
    """A collective of varying counts, zeros included, run after run.

    `peers` to send, to receive.
    """
    calls = [
        (
            [sendbuf, *sends.dense(peers[0]), MPI.BYTE],
            [recvbuf, *receives.dense(peers[1]), MPI.BYTE],
        )
        for sends, receives in runs
    ]

    def exchange() -> None:
        for out, into in calls:
            call(out, into)

    return Baseline(comm, exchange)


def _alltoall(comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes) -> Baseline:
    """`MPI_Alltoall`: a block for every rank, its own too."""
    own = comm.Dup()
    sends, receives = plan.pair_ranges(comm.rank)
    block = int(sends.bytes[0]) if sends.bytes.size else 0
    out, into = np.zeros((2, comm.size * block), np.uint8)
    for peer, view in sends.views(sendbuf):
        out[peer * block :][:block] = view

    def collect() -> None:
        """Copies what was received to where others receive it, and spoils it here."""
        for peer, view in receives.views(recvbuf):
            view[:] = into[peer * block :][:block]
        np.bitwise_not(into, out=into)

    return Baseline(
        own, lambda: own.Alltoall([out, block, MPI.BYTE], [into, block, MPI.BYTE]), collect
    )


def make_baselines(
    comm: MPI.Intracomm,
    plan: Plan,
    send: Bytes,
    received: Bytes,
    waiter: Waiter,
    names: Sequence[str],
    *,
    staged: bool,
) -> dict[str, Variant]:
    """By the name in results, in the order of `names`.

    `alltoall` takes what `run.why_no_alltoall` allows.

    Args:
        comm: as many ranks as the plan has.
        plan: what is sent, each message directly.
        send: this rank's buffer.
        received: likewise.
        waiter: how `naive` waits.
        names: of the baselines.
        staged: as beside a program: collectives run phase after phase, `naive` has a persistent
            request for each message and keeps phases apart as the plan does.
    """
    pairs = plan.pair_ranges(comm.rank)
    runs = [pairs]
    if staged:
        ends, phases = (plan.sends, plan.receives), range(plan.phases)
        sides = [[PairRanges.of(end, comm.rank, k) for end in ends] for k in phases]
        runs = [(sends, receives) for sends, receives in sides]

    def everyone() -> Variant:
        own, peers = comm.Dup(), np.arange(comm.size, dtype=np.int32)
        return _collective(own, own.Alltoallv, runs, (peers, peers), send, received)

    def neighbors() -> Variant:
        to, from_ = (ranges.peer for ranges in pairs)
        own = comm.Create_dist_graph_adjacent(from_.tolist(), to.tolist(), reorder=False)
        return _collective(own, own.Neighbor_alltoallv, runs, (to, from_), send, received)

    make: dict[str, Callable[[], Variant]] = {
        "naive": lambda: (
            make_exchange(comm, plan, send, received, waiter)
            if staged
            else _naive(comm, plan, send, received, waiter)
        ),
        "alltoallv": everyone,
        "neighbor_alltoallv": neighbors,
        "alltoall": lambda: _alltoall(comm, plan, send, received),
    }
    return {name: make[name]() for name in names}


def make_exchange(
    comm: MPI.Intracomm, plan: Plan, send: Bytes, received: Bytes, waiter: Waiter
) -> Exchange:
    """An exchange of a plan that waits as the baselines do."""
    return Exchange(
        comm,
        plan,
        send,
        received,
        timeout_s=waiter.timeout_s,
        poll_interval_s=waiter.poll_interval_s,
    )


def open_connections(
    comm: MPI.Intracomm, opened: ConnectionEntries | Path, timeout_s: float | None
) -> OpenProgram:
    """Opens the connections of a program, or those in a plan file; collective.

    Like `program_open`, without what 16 ranks need not import.
    """
    if isinstance(opened, Path):
        part = read_part(opened, comm.rank, comm.size)
    else:
        part = _core.RankConnections(**opened.of_rank(comm.rank))
    return OpenProgram(comm, part, PACKET_BYTES, CREDITS, timeout_s)


Step = tuple[int, int, list[tuple[int, Direction, Bytes]]]
"""A phase as it is executed: block, phase, what its connections carry, in posting order."""


class Connected:
    """All blocks, as often as they repeat, every message through a connection of its phase.

    Attributes:
        parts: of every exchange so far: switches, drain [s], synchronization [s], set-up [s] of
            this rank.
    """

    def __init__(
        self,
        program: OpenProgram,
        sends: PairRanges,
        receives: PairRanges,
        sendbuf: Bytes,
        recvbuf: Bytes,
        *,
        ordered: bool = False,
    ) -> None:
        self._program, self._ordered = program, ordered
        self._steps = _steps(program, {"send": (sends, sendbuf), "receive": (receives, recvbuf)})
        self.parts: list[tuple[int, float, float, float]] = []

    def prepare(self) -> None:
        """Opens the first context; collective."""
        if self._steps:
            self._program.instantiate(*self._steps[0][:2])
            self._program.phase_end()

    def exchange(self) -> None:
        """Everything once."""
        program = self._program
        before = self._sums()
        for block, phase, moves in self._steps:
            program.instantiate(block, phase)
            spooled = []
            for peer, direction, view in moves:
                connection = program.connection(peer, direction)
                (connection.spool_send if direction == "send" else connection.spool_receive)(view)
                if self._ordered:
                    connection.spool_wait()
                spooled.append(connection)
            for connection in spooled:
                connection.spool_wait()
            program.phase_end()
        count, *seconds = (after - first for after, first in zip(self._sums(), before, strict=True))
        self.parts.append((int(count), *seconds))  # type: ignore[arg-type]

    def _sums(self) -> tuple[int, float, float, float]:
        times = self._program.times
        return times.switches, times.drain_s, times.synchronization_s, times.setup_s

    def close(self) -> None:
        """Closes the program; collective."""
        self._program.close()


def _steps(program: OpenProgram, ends: dict[Direction, tuple[PairRanges, Bytes]]) -> list[Step]:
    """Every phase in the order of execution, and where its bytes lie."""
    ranges = {
        (direction, peer): begin
        for direction, (pairs, _) in ends.items()
        for peer, begin in zip(pairs.peer.tolist(), pairs.offset.tolist(), strict=True)
    }
    done: dict[tuple[Direction, int], int] = defaultdict(int)
    steps: list[Step] = []
    for block, phase in program.steps():
        moves: list[tuple[int, Direction, Bytes]] = []
        for each in program.connections(block, phase):
            key = each.direction, each.peer
            at = ranges[key] + done[key]
            moves.append((each.peer, each.direction, ends[each.direction][1][at : at + each.bytes]))
            done[key] += each.bytes
        steps.append((block, phase, moves))
    return steps


def slowest_parts(comm: MPI.Intracomm, parts: list[tuple[int, float, float, float]]) -> Floats:
    """shape=(exchanges, 4).

    Switches, drain, synchronization and set-up of the slowest rank in each; collective.
    """
    own = np.array(parts, np.float64).reshape(-1, 4)
    most = np.empty_like(own)
    comm.Allreduce(own, most, MPI.MAX)
    return most
