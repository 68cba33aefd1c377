"""A two-dimensional FFT over all ranks, whose transpose conset schedules.

One command, which starts its ranks itself.

    python examples/fft_transpose.py 1024 --ranks 4 --on torus:2x2

Every rank has rows of an n × n matrix. It transforms them, sends each other rank the block of its
columns, and transforms the rows of the transpose: what comes out is the transpose of
`numpy.fft.fft2`, checked to 1e-10. The exchange is made once, from each rank's own counts; then the
same blocks go by MPI_Alltoallv, in turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import ConsetError, ExecutionError
from conset.execution.job import explain_end, find_job, find_launcher, start_job

Matrix = NDArray[np.complex128]
ALLOWED = 1e-10
"""Largest difference from NumPy, relative to the largest value."""


class Transpose:
    """Blocks between the rows of a rank and the rows of the transpose.

    Attributes:
        counts: shape=(ranks), elements of the block for each rank.
        starts: shape=(ranks), where it begins in a packed buffer.
        sendbuf: packed blocks, by target.
        recvbuf: the same by source; as ranks have rows, so have they columns: counts are those of
            `sendbuf`.
    """

    def __init__(self, n: int, ranks: int, rank: int) -> None:
        self.first = n * np.arange(ranks + 1) // ranks
        self.rows = int(self.first[rank + 1] - self.first[rank])
        self.counts = (self.rows * np.diff(self.first)).astype(np.int32)
        self.starts = (np.cumsum(self.counts) - self.counts).astype(np.int32)
        self.sendbuf, self.recvbuf = (
            np.zeros(int(self.counts.sum()), np.complex128) for _ in range(2)
        )

    def pack(self, rows: Matrix) -> None:
        """Columns of each rank next to each other; a block goes transposed, as it is needed."""
        for block, start, end in zip(
            self._blocks(self.sendbuf), self.first[:-1], self.first[1:], strict=True
        ):
            block.reshape(end - start, self.rows)[:] = rows[:, start:end].T

    def unpack(self) -> Matrix:
        """shape=(rows, n): this rank's rows of the transpose."""
        return np.hstack([block.reshape(self.rows, -1) for block in self._blocks(self.recvbuf)])

    def _blocks(self, buffer: Matrix) -> list[Matrix]:
        return [
            buffer[start : start + count]
            for start, count in zip(self.starts, self.counts, strict=True)
        ]


def transform(
    rows: Matrix, transpose: Transpose, exchange: Callable[[], None]
) -> tuple[Matrix, float]:
    """Rows of the transposed transform, and the time of the exchange [s]."""
    transpose.pack(np.fft.fft(rows, axis=1))
    began = time.perf_counter()
    exchange()
    elapsed = time.perf_counter() - began
    return np.fft.fft(transpose.unpack(), axis=1), elapsed


def run_rank(options: argparse.Namespace) -> None:
    """One rank of the job: both exchanges in turns, then the check.

    Raises:
        ExecutionError: the transform is not NumPy's.
    """
    from mpi4py import MPI

    import conset

    comm = MPI.COMM_WORLD
    transpose = Transpose(options.n, comm.size, comm.rank)
    whole = random_matrix(options.n)
    mine = slice(transpose.first[comm.rank], transpose.first[comm.rank + 1])
    blocks = (transpose.counts, transpose.starts)
    send, receive = (
        [transpose.sendbuf, blocks, MPI.C_DOUBLE_COMPLEX],
        [transpose.recvbuf, blocks, MPI.C_DOUBLE_COMPLEX],
    )
    expected, wrong = np.fft.fft2(whole).T[mine], 0.0
    times: dict[str, list[float]] = {"conset": [], "MPI_Alltoallv": []}
    with conset.alltoallv_init(
        comm,
        transpose.sendbuf,
        *blocks,
        transpose.recvbuf,
        *blocks,
        machine=options.on or f"crossbar:{comm.size}",
    ) as exchange:
        ways = {"conset": exchange.exchange, "MPI_Alltoallv": lambda: comm.Alltoallv(send, receive)}
        for _ in range(1 + options.repeat):
            for way, call in ways.items():
                transpose.recvbuf[:] = np.nan
                comm.Barrier()
                found, elapsed = transform(whole[mine], transpose, call)
                times[way].append(comm.allreduce(elapsed, op=MPI.MAX))
                wrong = max(wrong, float(np.abs(found - expected).max(initial=0.0)))
    wrong = comm.allreduce(wrong, op=MPI.MAX) / float(np.abs(np.fft.fft2(whole)).max())
    if comm.rank == 0:
        print(
            f"{options.n} × {options.n} on {comm.size} ranks: differs from numpy.fft.fft2 "
            f"by {wrong:.1e}"
        )
        for way, found_s in times.items():
            print(
                f"  {way:14}{np.median(found_s[1:]) * 1e6:10.1f} us a transpose, median of "
                f"{options.repeat}"
            )
    if not wrong <= ALLOWED:  # a NaN, too
        raise ExecutionError(
            f"the transform differs from numpy.fft.fft2 by {wrong:.1e}: at most "
            f"{ALLOWED:.0e} allowed"
        )


def random_matrix(n: int) -> Matrix:
    """shape=(n, n), the same on every rank."""
    parts = np.random.default_rng(0).standard_normal((2, n, n))
    return parts[0] + 1j * parts[1]


def main() -> int:
    """Runs a rank inside a job, or starts one; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("n", type=int, nargs="?", default=512, help="rows and columns")
    parser.add_argument("--ranks", type=int, default=4, help="2 or more")
    parser.add_argument(
        "--on", default=None, help="machine to schedule for; default crossbar:RANKS"
    )
    parser.add_argument("--repeat", type=int, default=20, help="timed transposes")
    options = parser.parse_args()
    try:
        if find_job() is not None:
            run_rank(options)
            return 0
        with tempfile.TemporaryDirectory(prefix="conset-") as folder:
            program = ["-m", "mpi4py", str(Path(__file__).resolve()), *sys.argv[1:]]
            ended = start_job(
                find_launcher(), options.ranks, program, folder=Path(folder), timeout_s=600
            )
        print(ended.out, end="")
        if ended.status:
            if "conset: " not in ended.err:  # else that line says it
                print(ended.err, end="", file=sys.stderr)
            raise explain_end(ended, 600)
    except ConsetError as error:
        print(f"conset: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
