"""Opening: every rank's part of a program's connections.

Of a plan file, a schedule or program file, or the noun.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from conset import _core
from conset.base.errors import python_interface
from conset.base.units import count_of
from conset.execution.agreement import agreed, require_same
from conset.execution.comm_plan import require_same_file
from conset.execution.connection_entries import ConnectionEntries, connection_entries
from conset.execution.core_program import read_part
from conset.execution.exchange import require_ranks
from conset.execution.open_program import CREDITS, PACKET_BYTES, OpenProgram, require_packets
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule

if TYPE_CHECKING:
    from mpi4py import MPI


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

    `docs/connections.md` says what may wait for what. Of a `.plan` file every rank reads its own
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
    require_same(comm, _digest(part), "program of digest")
    return OpenProgram(comm, part, packet_bytes, credits, timeout_s)


def _part(program: Schedule | Program | str | Path, comm: MPI.Intracomm) -> _core.RankConnections:
    from conset.schedule.files.compiled import read_compiled

    file = None if isinstance(program, Schedule | Program) else Path(program)
    require_same(comm, "a noun" if file is None else f"a file '{file.name}'", "program:")
    if file is not None and file.suffix.lower() == ".plan":
        with agreed(comm):
            return read_part(file, comm.rank, comm.size)
    require_same_file(comm, file, "program")
    entries: ConnectionEntries | None = None
    with agreed(comm):
        if file is None or comm.rank == 0:
            found = program if isinstance(program, Schedule | Program) else read_compiled(program)
            entries = connection_entries(found)
            require_ranks(comm, entries.ranks, "program")
    if file is None:
        assert entries is not None
        return _core.RankConnections(**entries.of_rank(comm.rank))
    parts = None if entries is None else [entries.of_rank(rank) for rank in range(comm.size)]
    return _core.RankConnections(**comm.scatter(parts))


def _digest(part: _core.RankConnections) -> str:
    """Of what all ranks must have alike: sixteen digits of a hash."""
    digest = sha256(repr((part.ranks, part.names)).encode())
    for name in ("node", "repeat", "turns", "block_schedule", "schedule_phases", "phase_context"):
        digest.update(getattr(part, name).tobytes())
    return digest.hexdigest()[:16]
