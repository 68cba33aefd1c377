"""Transforms of mpi4py-fft, in slabs and in pencils; rank 0 prints a digest of the results.

`FFTW_ESTIMATE`: other planners of FFTW measure, and choose another algorithm in another run.
"""

from __future__ import annotations

import sys
from hashlib import sha256

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

SHAPE, CALLS = (24, 20, 16), 5


def main() -> None:
    comm = MPI.COMM_WORLD
    digest = sha256()
    for grid in ((-1,), (-1, -1)):
        transform = PFFT(
            comm,
            SHAPE,
            dtype=np.float64,
            slab=len(grid) == 1,
            planner_effort="FFTW_ESTIMATE",
        )
        values, modes = newDistArray(transform, False), newDistArray(transform, True)
        for call in range(CALLS):
            values[:] = np.random.default_rng(call + comm.rank).random(values.shape)
            digest.update(np.asarray(transform.forward(values, modes)).tobytes())
            digest.update(np.asarray(transform.backward(modes, values)).tobytes())
        transform.destroy()
    digests = comm.gather(digest.hexdigest())
    if digests is not None:
        sys.stdout.write(sha256("".join(digests).encode()).hexdigest() + "\n")


if __name__ == "__main__":
    main()
