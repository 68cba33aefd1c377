"""Processor time per message against plain C and mpi4py's persistent requests, in one job.

PYTHONPATH=src python benchmarks/bench_executor.py

Every rank starts an exchange under `none` and ends it, nothing in between (a barrier there would
move bytes for whoever does not ask while it starts), and time of the thread is counted, so that
other work on the machine matters less. The ways take turns, in another order every round; a round
gives a ratio, of the times of all ranks together, and their median is printed with its interval (95
%, bootstrap). Plain C: MPI_Start of one request after the other, which alone keeps the order of a
pair's messages, and Waitall, compiled by the library's own mpicc (left out where there is none),
with index lists loops that gather before and scatter after them; mpi4py: Startall, which may start
in any order and might confuse messages of a pair, and Waitall.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.execution.exchange import Exchange
from conset.execution.job import find_launcher
from conset.execution.plan import Operations, Plan
from conset.schedule.policy import parse_sync

KIB = 1024
CASES = [
    *((2, 100, size, False) for size in (0, 8, 64, 512, 2 * KIB)),
    *((2, 20, size, False) for size in (4 * KIB, 16 * KIB, 64 * KIB)),
    *(
        (2, each, size, True)
        for each, size in ((100, 8), (100, 512), (20, 8 * KIB), (20, 64 * KIB))
    ),
    *((ranks, each, 8, False) for ranks, each in ((4, 1), (4, 100), (8, 1), (16, 1))),
]
"""Ranks, messages from each to each, bytes of one, whether by index lists of 8-byte items."""
ROUNDS = 300
GOAL = 1.1
"""At most that many times plain C's processor time, of two ranks."""
PLAIN = """
#include <mpi.h>
#include <stdint.h>
int start(int n, MPI_Request *r, MPI_Request *s, int64_t m, const int64_t *list, const double \
*from, double *to) {
    for (int64_t k = 0; k < m; ++k) to[k] = from[list[k]];
    int code = MPI_SUCCESS;
    for (int k = 0; k < n && code == MPI_SUCCESS; ++k) code = MPI_Start(r + k);
    for (int k = 0; k < n && code == MPI_SUCCESS; ++k) code = MPI_Start(s + k);
    return code;
}
int end(int n, MPI_Request *r, MPI_Request *s, int64_t m, const int64_t *list, const double *from, \
double *to) {
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    int code = MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
    for (int64_t k = 0; k < m; ++k) to[list[k]] = from[k];
    return code;
}
"""


def exchange_plan(ranks: int, each: int, size: int) -> Plan:
    """Everybody sends everybody else `each` messages, its neighbours first."""
    count = each * (ranks - 1)
    rank, k = np.repeat(np.arange(ranks), count), np.tile(np.arange(count), ranks)
    ahead = 1 + k % (ranks - 1)
    phase, sizes, total = (
        np.zeros(rank.size, int),
        np.full(rank.size, size),
        np.full(ranks, count * size),
    )

    def operations(peer: NDArray[Any], transfer: NDArray[Any]) -> Operations:
        return Operations(count * np.arange(ranks + 1), phase, peer, k * size, sizes, transfer)

    to, source = (rank + ahead) % ranks, (rank - ahead) % ranks
    sends, receives = operations(to, rank * count + k), operations(source, source * count + k)
    return Plan(1, parse_sync("none"), sends, receives, total, total)


class Lists:
    """Every item somewhere else."""

    add = False

    def __init__(self, items: int) -> None:
        rng = np.random.default_rng(0)
        self.sent, self.received = rng.permutation(items), rng.permutation(items)

    def local(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same on every rank."""
        return self.sent, self.received


class Persistent:
    """The messages of a plan as mpi4py's persistent requests."""

    def __init__(
        self, comm: Any, plan: Plan, send: NDArray[np.uint8], receive: NDArray[np.uint8]
    ) -> None:
        self.comm = comm.Dup()

        def requests(make: Any, operations: Operations, buffer: NDArray[np.uint8]) -> list[Any]:
            rows = operations.of(comm.rank)
            places = zip(
                *(x[rows].tolist() for x in (operations.offset, operations.bytes, operations.peer)),
                strict=True,
            )
            return [make(buffer[at : at + size], peer) for at, size, peer in places]

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

    def __init__(
        self,
        library: str,
        lists: Lists | None,
        comm: Any,
        plan: Plan,
        send: NDArray[Any],
        receive: NDArray[Any],
    ) -> None:
        from mpi4py import MPI

        staged = (send, receive) if lists is None else (np.empty_like(send), np.empty_like(receive))
        super().__init__(comm, plan, *staged)
        handle: Any = ctypes.c_int if MPI._sizeof(MPI.Request) == 4 else ctypes.c_void_p
        self.library, count = ctypes.PyDLL(library), len(self.sends)
        handles = [
            (handle * count)(*(handle(MPI._handleof(request)).value for request in requests))
            for requests in (self.receives, self.sends)
        ]

        def call(
            items: NDArray[np.int64] | None, source: NDArray[Any], target: NDArray[Any]
        ) -> tuple[Any, ...]:
            places = (
                (items, source, target)
                if items is not None
                else (np.zeros(0, np.int64), source, target)
            )
            self.kept.append(places)
            return (
                count,
                *handles,
                ctypes.c_int64(places[0].size),
                *(ctypes.c_void_p(x.ctypes.data) for x in places),
            )

        self.kept: list[Any] = []
        self.started = call(None if lists is None else lists.sent, send, staged[0])
        self.ended = call(None if lists is None else lists.received, staged[1], receive)

    def start(self) -> None:
        """Starts them all."""
        self.library.start(*self.started)

    def wait(self) -> None:
        """Ends them all."""
        self.library.end(*self.ended)


def measure(each: int, size: int, by_lists: bool, library: str) -> None:
    """One rank's part of a case."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    plan = exchange_plan(comm.size, each, size)
    count = each * (comm.size - 1)
    lists = Lists(count * size // 8) if by_lists else None
    send = np.random.default_rng(comm.rank).integers(256, size=count * size).astype(np.uint8)
    receive = [np.zeros(count * size, np.uint8) for _ in range(3)]
    sides = [
        (send, here) if lists is None else (send.view(np.float64), here.view(np.float64))
        for here in receive
    ]
    ways: dict[str, Any] = {"executor": Exchange(comm, plan, *sides[0], layout=lists, timeout_s=60)}
    if library:
        ways["plain C"] = Plain(library, lists, comm, plan, send, receive[1])
    if lists is None:
        ways["mpi4py"] = Persistent(comm, plan, send, receive[2])
    times = np.zeros((ROUNDS, len(ways)))
    for k in range(ROUNDS):
        for column in np.roll(np.arange(len(ways)), k):
            way = list(ways.values())[column]
            comm.Barrier()
            began = time.thread_time_ns()
            way.start()
            way.wait()
            times[k, column] = time.thread_time_ns() - began
    for way, here in zip(ways.values(), receive, strict=False):
        way.close()
        assert (here == receive[0]).all(), "the ways received different bytes"
    us = np.mean(comm.allgather(times[ROUNDS // 10 :]), axis=0) / (2 * count) / 1e3
    if comm.rank == 0:
        report(
            f"{MPI.get_vendor()[0]}, {comm.size} ranks, {each} a pair of {size} "
            f"B{' by lists' * by_lists}",
            ways,
            us,
        )


def report(case: str, ways: dict[str, Any], us: NDArray[np.float64]) -> None:
    """One line: medians and the executor's ratios to the other ways.

    Medians [us]; each ratio is the median of all rounds, with interval.
    """
    columns = dict(zip(ways, us.T, strict=True))
    text = ", ".join(f"{name} {np.median(column):.3f}" for name, column in columns.items())
    rng = np.random.default_rng(0)
    for name in [name for name in columns if name != "executor"]:
        ratios = columns["executor"] / columns[name]
        low, high = np.quantile(
            np.median(rng.choice(ratios, (1000, ratios.size)), axis=1), (0.025, 0.975)
        )
        text += f"; executor/{name} {np.median(ratios):.2f} ({low:.2f}-{high:.2f})"
        if name == "plain C" and ", 2 ranks" in case and low > GOAL:
            text += f"  GOAL {GOAL} MISSED"
    print(f"{case}: us a send or receive: {text}", flush=True)


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
        for ranks, *case in CASES:
            program = [sys.executable, "-m", "mpi4py", __file__, json.dumps([*case, library])]
            failed += (
                subprocess.run(
                    [*find_launcher(), "-n", str(ranks), *program], timeout=300
                ).returncode
                != 0
            )
    return int(failed > 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*json.loads(sys.argv[1]))
    else:
        sys.exit(main())
