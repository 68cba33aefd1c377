"""Flow against SimGrid on the same workloads, loop against loop, in the same run; else against progressive filling.

Peers and workloads lie beside the checkout (`../shared/peers`, `../shared/golden/simulators`) and are no part of the
project. SimGrid 4.1 (`peers/simgrid/build.sh`) is used where `CONSET_PEERS`, the folder of builds, holds it: the
faster of its two update modes, best of five runs, `user_s` against our `elapsed_s`. Where it is not built, the short
reference solver of `peers/reference/flow.cpp` is compiled and timed as a whole process: it solves everything anew at
every event, so it is slower by far where many messages are in flight, and no measure of SimGrid.

Asserted: the last delivery of every row, the ratios the project promises against SimGrid, and the longest times of the
two workloads that SimGrid does not end within ten minutes.

    PYTHONPATH=src python benchmarks/bench_flow.py [--quick]
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.simulation import Workload
from conset.simulation.flow import simulate_flow
from conset.simulation.settings import Settings
from conset.simulation.trace import read_trace

SHARED = Path(__file__).resolve().parents[2] / "shared"
RUNS = 5


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
        subprocess.run([sys.executable, "-B", str(program), str(folder), name], check=True, stderr=subprocess.DEVNULL)
    return path


def ours(case: Case, path: Path) -> float:
    """The best time of our loop [s]; the result is checked."""
    kind, side = case.network.split(":")
    tie = ",tie=plus" if kind == "torus" else ""
    ports = "port=16GB/s,inject=3ns,eject=2ns"
    machine = parse_machine(f"{kind}:{side}x{side}{tie},link=16GB/s,hop=4ns,{ports}")
    work = prepared(read_trace(path, machine), case.mode)
    settings = Settings(in_flight=1 if case.mode == "seq" else None, fairness="rtt")
    return min(checked(case, work, machine, settings) for _ in range(1 if case.slow else RUNS))


def prepared(work: Workload, mode: str) -> Workload:
    return work if mode == "timed" else replace(work, time_s=np.zeros(0))


def checked(case: Case, work: Workload, machine: Machine, settings: Settings) -> float:
    timeline = simulate_flow(work, machine, settings)
    assert abs(timeline.time_s * 1e9 / case.cycles - 1) <= case.tolerance, (case, timeline.time_s)
    return timeline.elapsed_s


def simgrid() -> Path | None:
    built = Path(os.environ.get("CONSET_PEERS", "peers-build")) / "simgrid" / "replay"
    return built if built.exists() else None


def theirs(case: Case, path: Path, program: Path) -> float:
    """SimGrid's best time of either update mode [s]."""
    best = float("inf")
    for update in ("Lazy", "Full"):
        words = ["bash", str(SHARED / "peers" / "simgrid" / "run.sh"), str(path), case.mode, case.network, "1"]
        environment = {**os.environ, "OPTIM": update, "REPLAY": str(program)}
        for _ in range(RUNS):
            try:
                done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=600)
            except subprocess.TimeoutExpired:
                break
            best = min(best, float(json.loads(done.stdout)["user_s"]))
            if best > 20:  # minutes per run: once is enough
                break
    return best


def reference(folder: Path) -> Path | None:
    source, compiler = SHARED / "peers" / "reference" / "flow.cpp", shutil.which("g++")
    if compiler is None or not source.exists():
        return None
    subprocess.run([compiler, "-O3", "-std=c++20", "-o", str(folder / "flow"), str(source)], check=True)
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
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    kept = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = simgrid()
        solver = None if peer is not None else reference(folder)
        for case in CASES:
            if quick and case.slow:
                continue
            path = workload_file(case.workload, folder)
            mine = ours(case, path)
            line = f"{case.workload:>9} {case.mode:>5} on {case.network:>8}: {1e3 * mine:9.2f} ms"
            if case.seconds is not None:
                kept = kept and mine <= case.seconds
                line += f", at most {case.seconds:g} s promised"
            elif peer is not None and case.ratio is not None:
                ratio = theirs(case, path, peer) / mine
                kept = kept and ratio >= case.ratio
                line += f", SimGrid {1e3 * ratio * mine:9.2f} ms: {ratio:.1f}x ({case.ratio:g}x promised)"
            elif solver is not None:
                other = reference_time(case, path, solver)
                line += ", reference over 60 s" if other is None else f", reference {1e3 * other:9.2f} ms"
            print(line)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
