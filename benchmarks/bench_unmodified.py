"""Unmodified programs with their exchanges in another order, beside themselves: one row a case.

    python benchmarks/bench_unmodified.py BED MACHINE [ROUNDS] [CASE…] > docs/unmodified-measured.md

BED is a testbed that runs, MACHINE what `conset calibrate` has found of it (docs/testbed.md):

    conset testbed up bed --on mesh:4x4 --fabric credit --rate 10mbit --ttl 120min
    conset calibrate --on mesh:4x4 --mpiexec "conset testbed mpiexec bed" -o bed.toml

Each case is recorded, advised on, and runs in turn bare and under `conset intercept` with that
advice, in jobs of `STEPS` steps each (one exchange; of a pencil two). The gain is the median of the
rounds of the bare time over the intercepted one, without the steps of the trial; `all` is the same
with them. Digests of the results must be equal. Slabs and pencils need mpi4py-fft.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS, TRIAL = 40, 8
CASES = {
    "slab 128": "mpi4py-fft slab 128³, 128 KiB a pair",
    "slab 112": "mpi4py-fft slab 112³, 86 KiB a pair",
    "uneven 65536": "Alltoallv, 0 to 128 KiB a pair",
    "even 65536": "Alltoall, 64 KiB a pair",
    "pencil 64": "mpi4py-fft pencil 64³, 64 KiB a pair",
    "even 8192": "Alltoall, 8 KiB a pair",
    "even 1024": "Alltoall, 1 KiB a pair",
}
INTRODUCTION = """# Unmodified programs, measured
Written by `benchmarks/bench_unmodified.py`, which says how to repeat it.

{ranks} ranks of MPICH on a testbed of this machine. Jobs of {steps} steps, bare and under
`conset intercept --advice` in turn, {rounds} of each; the machine was calibrated, each program
recorded first. `own`, `ordered`: median of a step. `gain`: bare time over intercepted time, median
of the pairs of jobs, without the first {trial} steps, in which both orders are tried; `all`: with
them. `predicted`: by `conset advise`.
"""
RANKS = int(os.environ.get("CONSET_BENCH_RANKS", "16"))
PYTHON = os.environ.get("CONSET_BENCH_PYTHON", sys.executable)
"""An interpreter that has mpi4py, and mpi4py-fft for slabs and pencils."""


def steps(kind: str, size: int):  # type: ignore[no-untyped-def]
    """The step of a case, and what it has received."""
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    ranks, rank = comm.size, comm.rank
    if kind in ("slab", "pencil"):
        from mpi4py_fft import PFFT, newDistArray

        made = PFFT(
            comm, (size,) * 3, dtype=complex, slab=kind == "slab", planner_effort="FFTW_ESTIMATE"
        )
        here, there = newDistArray(made, False), newDistArray(made, True)
        here[:] = np.random.default_rng(rank).random(here.shape)

        def transform(k: int) -> None:
            if k % 2 == 0:
                made.forward(here, there)
            else:
                made.backward(there, here)

        return transform, (here, there)
    most = 2 * size // 8 if kind == "uneven" else 0
    counts = np.full((ranks, ranks), size // 8)
    if most:
        counts = np.random.default_rng(1).integers(0, most + 1, (ranks, ranks))
    sent = np.random.default_rng(rank).random(counts[rank].sum())
    received = np.empty(counts[:, rank].sum())

    def exchange(k: int) -> None:
        if most:
            comm.Alltoallv([sent, counts[rank]], [received, counts[:, rank]])
        else:
            comm.Alltoall(sent, received)

    return exchange, (received,)


def play(kind: str, size: int, count: int) -> None:
    """What each rank does; rank 0 prints times of steps and a digest."""
    from hashlib import sha256
    from time import perf_counter

    from mpi4py import MPI

    step, arrays = steps(kind, size)
    times = []
    MPI.COMM_WORLD.Barrier()
    for k in range(count):
        began = perf_counter()
        step(k)
        times.append(perf_counter() - began)
    digests = MPI.COMM_WORLD.gather(sha256(b"".join(a.tobytes() for a in arrays)).hexdigest())
    if digests is not None:
        print(json.dumps({"times": times, "digest": sha256("".join(digests).encode()).hexdigest()}))


def main() -> int:
    if sys.argv[1] == "--play":
        play(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return 0
    bed, machine = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    conset = shlex.join([str(Path(sys.executable).with_name("conset"))])
    wrong = 0
    print(INTRODUCTION.format(steps=STEPS, trial=TRIAL, rounds=rounds, ranks=RANKS))
    beds = json.loads(run(f"{conset} testbed list --json"))["testbeds"]
    network, fabric = next((b["network"], b["fabric"]) for b in beds if b["name"] == bed)
    print(f"## {network}, {fabric}")
    print("| program | own | ordered | gain | all | predicted | choice |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        for case in sys.argv[4:] or CASES:
            record = f"{name}/{case.replace(' ', '-')}"
            job = f"{conset} testbed mpiexec {bed} -n {RANKS} {PYTHON} {__file__} --play {case}"
            run(f"{conset} record -o {record} -- {job} 2")
            advice = json.loads(run(f"{conset} advise {record} --on {machine} --json"))
            bare, ordered, line = [], [], ""
            for _ in range(rounds):
                bare.append(json.loads(run(f"{job} {STEPS}")))
                summary = f"{name}/summary.json"
                said = run(f"{conset} intercept --advice {record} -o {summary} -- {job} {STEPS}")
                ordered.append(json.loads(said))
                plans = json.loads(Path(summary).read_text())["plans"]
                line = ", ".join(sorted({plan["choice"] for plan in plans})) or "no plan"
            wrong += len({each["digest"] for each in [*bare, *ordered]}) - 1

            def ratio(begin: int) -> float:
                return statistics.median(
                    sum(a["times"][begin:]) / sum(b["times"][begin:])
                    for a, b in zip(bare, ordered, strict=True)  # noqa: B023
                )

            own_s, ordered_s = (
                statistics.median(time for each in jobs for time in each["times"][TRIAL:])
                for jobs in (bare, ordered)
            )
            print(
                f"| {CASES.get(case, case)} | {own_s:.3f} s | {ordered_s:.3f} s "
                f"| {ratio(TRIAL):.2f} | {ratio(0):.2f} | {advice['gain']:.2f} | {line} |",
                flush=True,
            )
    return wrong


def run(command: str) -> str:
    """Output of a command, its last line if it has several."""
    done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout if "--json" in command else re.split(r"\n", done.stdout.strip())[-1]


if __name__ == "__main__":
    sys.exit(main())
