"""Carries out plans that forward, each three times, and writes how many bytes of each rank are
wrong."""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.execution.exchange import Exchange
from conset.execution.plan import read_plan_file


def payload(source: int, target: int, size: int) -> np.ndarray:
    return (np.arange(size) * 7 + source * 131 + target * 31) % 251


if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    me, size = comm.rank, np.load(folder / "size.npy")  # of the message from row to column
    send = np.concatenate([payload(me, t, size[me, t]) for t in range(comm.size)]).astype(np.uint8)
    expected = np.concatenate([payload(s, me, size[s, me]) for s in range(comm.size)]).astype(
        np.uint8
    )
    receive = np.empty_like(expected)
    wrong = {}
    for file in sorted(folder.glob("*.plan")):
        wrong[file.stem] = 0
        with Exchange(comm, read_plan_file(file), send, receive, timeout_s=60) as exchange:
            for repetition in range(3):
                send[:] = np.where(
                    repetition == 1, 255 - send, send
                )  # other bytes in the second exchange
                expected[:] = np.where(repetition == 1, 255 - expected, expected)
                np.bitwise_not(expected, out=receive)
                comm.Barrier()
                exchange.start()
                while repetition == 2 and not exchange.progress():
                    pass
                exchange.wait()
                wrong[file.stem] += int((receive != expected).sum())
                if repetition == 1:
                    send[:], expected[:] = 255 - send, 255 - expected
    everybody = comm.gather(wrong)
    if everybody is not None:
        (folder / "wrong.json").write_text(json.dumps(everybody))
