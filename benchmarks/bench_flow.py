"""Flow against SimGrid on the same workloads, in the same run; else against progressive filling.

Peers and workloads lie beside the checkout (`../shared/peers`, `../shared/golden/simulators`) and
are no part of the project. SimGrid 4.1 (`peers/simgrid/build.sh`) is used where `CONSET_PEERS`, the
folder of builds, holds it: CPU seconds of its loop in the faster of its two update modes against
our loop, the best of five, in turn. Where it is not built, the short reference solver of
`peers/reference/flow.cpp` is compiled and timed as a whole process: it solves everything anew at
every event, so it is slower by far where many messages are in flight, and no measure of SimGrid.

Asserted: the last delivery of every row, the ratios the project promises against SimGrid, the
longest times of the two workloads that SimGrid does not end within ten minutes; and against SimGrid
in full update, whose times are right, every delivery of random workloads.

    CONSET_PEERS=peers-build PYTHONPATH=src python benchmarks/bench_flow.py [--quick]
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from random_workloads import random_workload, write_trace

from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models import Workload
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.trace import read_trace

SHARED = Path(__file__).resolve().parents[2] / "shared"
RUNS = 5
OURS = 5
"""Runs of ours for each of the peer's."""
LONG = 20.0
"""A peer that takes longer [CPU s] is asked once."""
ROUNDED, PEER_NS = 1e-6, 2e-3
"""What may differ: relative, and cycles, of which SimGrid's clock resolves a thousandth."""


@dataclass(frozen=True)
class Case:
    """One row: a workload, how it is issued, what it must end at [cycles] and what is promised.

    Attributes:
        ratio: times faster than SimGrid's loop; None: SimGrid does not end.
        seconds: at most.
    """

    workload: str
    network: str
    mode: str
    cycles: float
    tolerance: float = 1e-6
    ratio: float | None = None
    seconds: float | None = None
    slow: bool = False


CASES = (
    Case("W4", "torus:32", "seq", 90681.223572, ratio=60),
    Case("W2_128", "mesh:16", "seq", 23388.690896, tolerance=0.03, ratio=12),
    Case("W5", "torus:8", "timed", 10048.280783, ratio=7),
    Case("W1_128", "torus:8", "all", 658.275212, ratio=10),
    Case("W1_65536", "torus:8", "all", 327698.275212, ratio=10),
    Case("W2_128", "mesh:16", "all", 8353.367416, seconds=12),
    Case("W4", "torus:32", "all", 72178.150880, seconds=40, slow=True),
)


def workload_file(name: str, folder: Path) -> Path:
    path = folder / f"{name}.csv"
    if not path.exists():
        program = SHARED / "golden" / "simulators" / "gen_workloads.py"
        subprocess.run(
            [sys.executable, "-B", str(program), str(folder), name],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    return path


def network_of(network: str) -> Machine:
    """The machine the peers model: a cycle is 1 ns."""
    kind, side = network.split(":")
    tie = ",tie=plus" if kind == "torus" else ""
    return parse_machine(
        f"{kind}:{side}x{side}{tie},link=16GB/s,hop=4ns,port=16GB/s,inject=3ns,eject=2ns"
    )


def settings_of(mode: str) -> Settings:
    return Settings(in_flight=1 if mode == "seq" else None, fairness="rtt")


def measure(case: Case, path: Path, peer: Path | None) -> tuple[float, float]:
    """(our best time, SimGrid's) [CPU s], in turn; the peer's is infinite where it is not asked."""
    machine = network_of(case.network)
    work, settings = prepared(read_trace(path, machine), case.mode), settings_of(case.mode)
    mine, other = [], [float("inf")]
    for _ in range(1 if case.slow else RUNS):
        mine += [checked(case, work, machine, settings) for _ in range(1 if case.slow else OURS)]
        if peer is None or case.ratio is None or (len(other) > 1 and min(other) > LONG):
            continue
        for update in ("Lazy", "Full"):  # neither is given much longer than the better one needs
            patience = min(600.0, 60 + 2 * min(other))
            other.append(replay(path, case.mode, case.network, peer, update, patience=patience)[0])
    return min(mine), min(other)


def prepared(work: Workload, mode: str) -> Workload:
    """What SimGrid's driver plays: times in mode `timed`, dependencies in mode `deps`."""
    return replace(
        work,
        time_s=work.time_s if mode == "timed" else np.zeros(0),
        dep_offsets=work.dep_offsets if mode == "deps" else np.zeros(0, np.int64),
        deps=work.deps if mode == "deps" else np.zeros(0, np.int32),
    )


def checked(case: Case, work: Workload, machine: Machine, settings: Settings) -> float:
    """The time of one run's loop [s], whose result is checked.

    Its own clock and the CPU seconds of the whole call are both above what the loop needs: the one
    where the machine is busy, the other by what surrounds the loop.
    """
    before = time.process_time()
    timeline = simulate_flow(work, machine, settings)
    spent = time.process_time() - before
    assert abs(timeline.time_s * 1e9 / case.cycles - 1) <= case.tolerance, (case, timeline.time_s)
    return min(spent, timeline.elapsed_s)


def simgrid() -> Path | None:
    built = Path(os.environ.get("CONSET_PEERS", "peers-build")) / "simgrid" / "replay"
    return built if built.exists() else None


def replay(
    path: Path,
    mode: str,
    network: str,
    program: Path,
    update: str,
    *words: str,
    patience: float = 600,
) -> tuple[float, NDArray[np.float64]]:
    """(SimGrid's time [CPU s], when each message is delivered [cycles] with `--completions`)."""
    command = [
        "bash",
        str(SHARED / "peers" / "simgrid" / "run.sh"),
        str(path),
        mode,
        network,
        "1",
        *words,
    ]
    environment = {**os.environ, "OPTIM": update, "REPLAY": str(program)}
    try:
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return float("inf"), np.zeros(0)
    first, *rest = done.stdout.splitlines()
    return float(json.loads(first)["user_s"]), np.array([float(line.split()[1]) for line in rest])


def compare_random(folder: Path, peer: Path, count: int = 40) -> int:
    """Random workloads against SimGrid in full update, message by message, in each mode in turn."""
    wrong, worst = 0, 0.0
    for seed in range(count):
        network, workload = random_workload(seed)
        mode = ("all", "seq", "deps", "timed")[seed // 2 % 4]
        write_trace(workload, folder / "random.csv")
        _, done = replay(folder / "random.csv", mode, network, peer, "Full", "--completions")
        ours = (
            simulate_flow(prepared(workload, mode), network_of(network), settings_of(mode)).end_s
            * 1e9
        )
        crosses = workload.crosses  # the others are no activities there
        off = np.abs(ours - done)[crosses] - ROUNDED * done[crosses] - PEER_NS
        worst = max(worst, float(np.max(np.abs(ours / done - 1)[crosses])))
        wrong += bool(np.any(off > 0))
    print(
        f"random workloads: {count - wrong} of {count} equal, message by message; largest "
        f"difference {worst:.1e}"
    )
    return wrong


def reference(folder: Path) -> Path | None:
    source, compiler = SHARED / "peers" / "reference" / "flow.cpp", shutil.which("g++")
    if compiler is None or not source.exists():
        return None
    subprocess.run(
        [compiler, "-O3", "-std=c++20", "-o", str(folder / "flow"), str(source)], check=True
    )
    return folder / "flow"


def reference_time(case: Case, path: Path, program: Path) -> float | None:
    """The whole process of the short solver [s]; None where it takes more than a minute."""
    words = [str(program), *case.network.split(":"), str(path), "1", case.mode, "rtt"]
    try:
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    return float(json.loads(done.stdout)["user_total_s"])


def main(quick: bool) -> int:
    if not (SHARED / "golden" / "simulators" / "gen_workloads.py").exists():
        print("no ../shared/golden/simulators beside the checkout: nothing to compare with")
        return 0
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}"
    )
    kept = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = simgrid()
        solver = None if peer is not None else reference(folder)
        for case in CASES:
            if quick and case.slow:
                continue
            path = workload_file(case.workload, folder)
            mine, other = measure(case, path, peer)
            line = f"{case.workload:>9} {case.mode:>5} on {case.network:>8}: {1e3 * mine:9.2f} ms"
            if case.seconds is not None:
                kept = kept and mine <= case.seconds
                line += f", at most {case.seconds:g} s promised"
            elif peer is not None and case.ratio is not None:
                ratio = other / mine
                kept = kept and ratio >= case.ratio
                line += f", SimGrid {1e3 * other:9.2f} ms: {ratio:.1f}x ({case.ratio:g}x promised)"
            elif solver is not None:
                process = reference_time(case, path, solver)
                line += (
                    ", reference over 60 s"
                    if process is None
                    else f", reference {1e3 * process:9.2f} ms"
                )
            print(line, flush=True)
        if peer is not None:
            kept = compare_random(folder, peer) == 0 and kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
