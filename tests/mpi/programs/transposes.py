"""An mpi4py program that does not know conset: transposes of a matrix in slabs, by `Alltoallw`.

Rank 0 prints a digest of all slabs.
"""

from __future__ import annotations

import sys
from hashlib import sha256

import numpy as np
from mpi4py import MPI

ROWS, CALLS = 8, 20


def main() -> None:
    comm = MPI.COMM_WORLD
    ranks, rank = comm.size, comm.rank
    n = ROWS * ranks
    slab, turned = np.zeros((ROWS, n)), np.zeros((n, ROWS))
    sent = [
        MPI.DOUBLE.Create_subarray((ROWS, n), (ROWS, ROWS), (0, ROWS * k)).Commit()
        for k in range(ranks)
    ]
    received = [
        MPI.DOUBLE.Create_subarray((n, ROWS), (ROWS, ROWS), (ROWS * k, 0)).Commit()
        for k in range(ranks)
    ]
    one, zero = [1] * ranks, [0] * ranks
    digest = sha256()
    for call in range(CALLS):
        slab[:] = np.arange(ROWS * n).reshape(ROWS, n) + 1e6 * rank + 1e3 * call
        comm.Alltoallw([slab, (one, zero), sent], [turned, (one, zero), received])
        digest.update(turned.tobytes())
    all_digests = comm.gather(digest.hexdigest())
    if all_digests is not None:
        sys.stdout.write(sha256("".join(all_digests).encode()).hexdigest() + "\n")


if __name__ == "__main__":
    main()
