"""No rank ever does anything."""

import time

from mpi4py import MPI

if __name__ == "__main__":
    assert MPI.Is_initialized()
    time.sleep(60)
