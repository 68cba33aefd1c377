"""The executor: processor time per message against mpi4py's persistent requests and plain C, in one job.

PYTHONPATH=src python benchmarks/bench_exchange.py

Every rank starts an exchange of 8 B messages under `none`, then, when all have arrived, ends it: nothing is waited for,
and time of the thread is counted, so that other work on the machine matters little. The ways take turns; medians over
200 rounds and over ranks. mpi4py: Startall and Waitall of lists, receives and sends; plain C: the same calls, compiled
by the library's own mpicc (left out where there is none). Where a pair has several messages the executor starts them
one behind the other, since MPI_Startall may start in any order; the others do not, and might confuse them.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.execution.exchange import Exchange
from conset.execution.launcher import find_launcher
from conset.execution.plan import Operations, Plan
from conset.schedule.sync import parse_sync

CASES = [(2, 1), (2, 100), (4, 1), (4, 100), (8, 1), (16, 1)]
"""Ranks, messages from each to each."""
SIZE, ROUNDS = 8, 200
GOAL = 1.25
"""At most that many times mpi4py's processor time where no pair has several messages."""
PLAIN = """
#include <mpi.h>
int start(int n, MPI_Request *r, MPI_Request *s) { MPI_Startall(n, r); return MPI_Startall(n, s); }
int end(int n, MPI_Request *r, MPI_Request *s) {
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    return MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
}
"""


def exchange(ranks: int, each: int) -> Plan:
    """Everybody sends everybody else `each` messages, its neighbours first."""
    count = each * (ranks - 1)
    rank, k = np.repeat(np.arange(ranks), count), np.tile(np.arange(count), ranks)
    ahead = 1 + k % (ranks - 1)
    phase, size, total = np.zeros(rank.size, int), np.full(rank.size, SIZE), np.full(ranks, count * SIZE)

    def operations(peer: NDArray[Any], transfer: NDArray[Any]) -> Operations:
        return Operations(count * np.arange(ranks + 1), phase, peer, k * SIZE, size, transfer)

    to, source = (rank + ahead) % ranks, (rank - ahead) % ranks
    sends, receives = operations(to, rank * count + k), operations(source, source * count + k)
    return Plan(1, parse_sync("none"), sends, receives, total, total)


class Persistent:
    """The messages of a plan as mpi4py's persistent requests."""

    def __init__(self, comm: Any, plan: Plan, send: NDArray[np.uint8], receive: NDArray[np.uint8]) -> None:
        self.comm = comm.Dup()

        def requests(make: Any, operations: Operations, buffer: NDArray[np.uint8]) -> list[Any]:
            rows = operations.of(comm.rank)
            places = zip(operations.offset[rows].tolist(), operations.peer[rows].tolist(), strict=True)
            return [make(buffer[at : at + SIZE], peer) for at, peer in places]

        self.receives = requests(self.comm.Recv_init, plan.receives, receive)
        self.sends = requests(self.comm.Send_init, plan.sends, send)

    def start(self) -> None:
        """Starts them all."""
        for requests in (self.receives, self.sends):
            requests[0].Startall(requests)

    def wait(self) -> None:
        """Ends them all."""
        for requests in (self.receives, self.sends):
            requests[0].Waitall(requests)

    def close(self) -> None:
        """Frees them."""
        for request in (*self.receives, *self.sends):
            request.Free()
        self.comm.Free()


class Plain(Persistent):
    """The same requests, started and ended in C."""

    def __init__(self, library: str, *arguments: Any) -> None:
        from mpi4py import MPI

        super().__init__(*arguments)
        handle: Any = ctypes.c_int if MPI._sizeof(MPI.Request) == 4 else ctypes.c_void_p
        self.library, self.count = ctypes.PyDLL(library), len(self.sends)
        self.handles = tuple(
            (handle * self.count)(*(handle(MPI._handleof(request)).value for request in requests))
            for requests in (self.receives, self.sends)
        )

    def start(self) -> None:
        """Starts them all."""
        self.library.start(self.count, *self.handles)

    def wait(self) -> None:
        """Ends them all."""
        self.library.end(self.count, *self.handles)


def measure(each: int, library: str) -> None:
    """One rank's part of a case."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    plan = exchange(comm.size, each)
    count = each * (comm.size - 1)
    send, receive = np.arange(count * SIZE).astype(np.uint8), np.zeros(count * SIZE, np.uint8)
    ways: dict[str, Any] = {
        "executor": Exchange(comm, plan, send, receive, timeout_s=60),
        "mpi4py": Persistent(comm, plan, send, receive),
    }
    if library:
        ways["plain C"] = Plain(library, comm, plan, send, receive)
    times = np.zeros((ROUNDS, len(ways), 2))
    for k in range(ROUNDS):
        for column in np.roll(np.arange(len(ways)), k):
            way = list(ways.values())[column]
            for part, call in enumerate((way.start, way.wait)):
                comm.Barrier()
                began = time.thread_time_ns()
                call()
                times[k, column, part] = time.thread_time_ns() - began
    for way in ways.values():
        way.close()
    own = np.median(times[ROUNDS // 10 :].sum(axis=2), axis=0) / (2 * count) / 1e3
    us = np.median(comm.allgather(own), axis=0)
    if comm.rank == 0:
        found = ", ".join(f"{name} {value:.3f}" for name, value in zip(ways, us, strict=True))
        missed = f"  GOAL {GOAL} MISSED" if each == 1 and us[0] > GOAL * us[1] else ""
        ratio = f"executor/mpi4py {us[0] / us[1]:.2f}"
        case = f"{MPI.get_vendor()[0]}, {comm.size} ranks, {each} a pair: us a send or receive"
        print(f"{case}: {found}; {ratio}{missed}", flush=True)


def compiled(folder: Path) -> str:
    """The C library, "" where it cannot be made."""
    compiler = Path(find_launcher()[0]).with_name("mpicc")
    source, library = folder / "plain.c", folder / "plain.so"
    source.write_text(PLAIN)
    try:
        command = [str(compiler), "-O2", "-shared", "-fPIC", str(source), "-o", str(library)]
        return str(library) if subprocess.run(command, capture_output=True).returncode == 0 else ""
    except OSError:
        return ""


def main() -> int:
    """Starts a job for every case."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        for ranks, each in CASES:
            program = [sys.executable, "-m", "mpi4py", __file__, str(each), library]
            failed += subprocess.run([*find_launcher(), "-n", str(ranks), *program], timeout=300).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]), sys.argv[2])
    else:
        sys.exit(main())
