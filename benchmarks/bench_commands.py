"""Commands: what whole commands take, as a user starts them: wall, processor time and memory.

A machine that others use has no wall time to speak of. So each limit is held in two ways: in
seconds, where the machine was idle; and as a ratio of processor time to a peer in the same run,
always. The peer goes over a column of 16.8 million numbers, as many as the schedule has transfers:
NumPy sorts it and zlib compresses it at its fastest level, once before and once after the commands.

    PYTHONPATH=src python benchmarks/bench_commands.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

IDLE = 0.5
"""Load of other processes, at most, on a machine that is idle."""
START = "import sys; sys.argv[0] = 'conset'; from conset.cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Command:
    """A command and its limits.

    Attributes:
        arguments: as on the command line; `{file}` is the schedule file.
        wall_s: on an idle machine with two cores, at most [s].
        peak_GiB: memory at most [GiB].
        peers: processor time in units of the peer's, at most.
    """

    arguments: str
    wall_s: float
    peak_GiB: float  # noqa: N815
    peers: float


COMMANDS = (
    Command(
        "compile alltoall --on mesh:64x64 --method bounded --contention 16 -o {file}",
        8.0,
        1.5,
        14.0,
    ),
    Command("verify {file}", 4.0, 1.5, 4.0),
    Command("compile random:degree=16 --on crossbar:4096", 1.0, 1.5, 2.8),
)


@dataclass(frozen=True)
class Usage:
    """What a process took.

    Attributes:
        wall_s: from its start to its end [s].
        processor_s: of all its threads, in the system too [s].
        peak_GiB: the most memory it had [GiB].
    """

    wall_s: float
    processor_s: float
    peak_GiB: float  # noqa: N815


def run(arguments: list[str]) -> Usage:
    """Runs `conset`.

    Raises:
        CalledProcessError: it failed.
    """
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", START, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def peer() -> float:
    """Processor time of the peer [s]."""
    values = np.random.default_rng(1).integers(0, 4096, 1 << 24, dtype=np.int32)
    start = time.process_time()
    zlib.compress(np.sort(values).tobytes(), 1)
    zlib.compress(values.tobytes(), 1)
    return time.process_time() - start


def best_of(command: Command, file: Path, times: int = 3) -> Usage:
    """The least of several runs in each figure, the most of memory."""
    arguments = command.arguments.format(file=file).split()
    runs = [run(arguments) for _ in range(times)]
    return Usage(
        min(r.wall_s for r in runs), min(r.processor_s for r in runs), max(r.peak_GiB for r in runs)
    )


def main() -> int:
    load = os.getloadavg()[0]
    idle = load <= IDLE and (os.cpu_count() or 1) >= 2
    print(
        f"load {load:.2f} on {os.cpu_count()} cores: wall times are "
        f"{'held' if idle else 'shown only'}"
    )
    before, missed = peer(), 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.npz"
        taken = [best_of(command, file) for command in COMMANDS]
    unit = (before + peer()) / 2
    print(f"peer: {unit:.2f} s of processor time")
    for command, took in zip(COMMANDS, taken, strict=True):
        peers = took.processor_s / unit
        late = [
            *(["wall"] if idle and took.wall_s > command.wall_s else []),
            *(["memory"] if took.peak_GiB > command.peak_GiB else []),
            *(["processor"] if peers > command.peers else []),
        ]
        missed += bool(late)
        print(
            f"conset {command.arguments.format(file='x.npz')}\n"
            f"  wall {took.wall_s:.2f} s (at most {command.wall_s:g}), processors "
            f"{took.processor_s:.2f} s, "
            f"{peers:.2f} of the peer (at most {command.peers:g}), peak {took.peak_GiB:.2f} GiB "
            f"(at most {command.peak_GiB:g}){': missed ' + ', '.join(late) if late else ''}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
