"""Flit level against BookSim2.

The same cycles, loop against loop, and the load at which a torus saturates.

Replays the workloads of `gen_workloads.py` on both in the same run and compares cycles, mean
latency and every single delivery; then random small workloads message by message; then the
saturation load of uniform traffic, by bisection on either side. Times are CPU seconds, the best of
some runs: the peer's of its loop alone, ours of the whole call. The peer is found by CONSET_PEERS
(the folder with its builds) and by the scripts beside the checkout; without it the cycles and times
are those of conset alone.

    CONSET_PEERS=/tmp/peers-build PYTHONPATH=src python benchmarks/bench_flit.py [--quick]
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from random_workloads import random_workload, write_trace

from conset.machine.spec import parse_machine
from conset.models.flit import simulate_flit
from conset.models.load.sweep import LoadSweep, parse_traffic, sweep_load
from conset.models.trace import read_trace

SHARED = Path(__file__).resolve().parents[2] / "shared"
PEER = SHARED / "peers" / "booksim2"
OPTIONS = ",tie=plus,link=16GB/s,flit=16"
CASES = [
    ("W1_128", "torus:8", 22),
    ("W5", "torus:8", 17),
    ("W3_65536", "torus:8", 60),
    ("W2_128", "mesh:16", 60),
]
"""(workload, network, ratio at least)."""
OURS = 5
"""Runs of ours for each of the peer's."""


def program() -> Path | None:
    """The peer's program where it has been built."""
    path = Path(os.environ.get("CONSET_PEERS", "peers-build")) / "booksim2" / "src" / "booksim"
    return path.resolve() if path.exists() and PEER.is_dir() else None


def square(network: str) -> str:
    kind, _, side = network.partition(":")
    return f"{kind}:{side}x{side}" + OPTIONS


def replay(
    trace: Path, network: str, booksim: Path, *words: str
) -> tuple[dict[str, float], list[int]]:
    """What the peer says of a trace, and the cycle of each delivery."""
    environment = os.environ | {"BOOKSIM": str(booksim), "COMPLETIONS": "1"}
    command = ["bash", str(PEER / "run.sh"), str(trace), "trace", network, *words]
    lines = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout.splitlines()
    done = [int(line.split()[2]) for line in lines if line.startswith("DONE")]
    return json.loads(next(line for line in lines if line.startswith("{"))), done


def compare_workloads(folder: Path, booksim: Path | None, runs: int) -> int:
    missed = 0
    for name, network, least in CASES:
        generator = SHARED / "golden" / "simulators" / "gen_workloads.py"
        subprocess.run(
            [sys.executable, str(generator), str(folder), name], check=True, capture_output=True
        )
        trace, machine = folder / f"{name}.csv", parse_machine(square(network))
        workload = read_trace(trace, machine)
        spent, theirs = [], []
        for _ in range(runs):
            for _ in range(OURS):
                before = time.process_time()
                timeline = simulate_flit(workload, machine)
                spent.append(time.process_time() - before)
            if booksim is not None:
                said, done = replay(trace, network, booksim)
                theirs.append(said["user_s"])
        line = (
            f"{name:>9} on {network}: {timeline.figures['cycles']:>6} cycles, "
            f"{1e3 * min(spent):8.2f} ms"
        )
        if booksim is not None:
            equal = np.array_equal(
                np.round(timeline.end_s / timeline.figures["cycle_s"]).astype(int), done
            )
            ratio = min(theirs) / min(spent)
            missed += not equal or ratio < least
            line += f", BookSim2 {1e3 * min(theirs):9.1f} ms, {ratio:6.1f}x (at least {least}x), "
            line += "every delivery equal" if equal else "DELIVERIES DIFFER"
        print(line)
    return missed


def compare_random(folder: Path, booksim: Path, count: int = 40) -> int:
    """Random workloads, message by message, whole and in packets."""
    wrong = 0
    for seed in range(count):
        network, workload = random_workload(seed)
        write_trace(workload, folder / "random.csv")
        packet = 4 * (seed % 3 == 2)
        done = replay(folder / "random.csv", network, booksim, f"max_packet_flits={packet}")[1]
        ours = simulate_flit(workload, parse_machine(square(network)), packet_B=packet * 16 or None)
        wrong += not np.array_equal(np.round(ours.end_s * 1e9).astype(int), done)
    print(f"random workloads: {count - wrong} of {count} equal, message by message")
    return wrong


def aborts(booksim: Path, load: float, seed: int) -> bool:
    """Whether the peer gives up: its mean latency passes 500 cycles within 30,000."""
    words = (
        f"injection_rate={load} sim_type=latency traffic=uniform packet_size=8 "
        "injection_rate_uses_flits=1 "
        f"seed={seed} sample_period=10000 warmup_periods=1 max_samples=3"
    )
    command = [str(booksim), str(PEER / "torus8.cfg"), *words.split()]
    said = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    return re.search("Aborting simulation", said) is not None


def compare_saturation(booksim: Path | None, seeds: int) -> int:
    machine = parse_machine("torus:8x8" + OPTIONS)
    curve = sweep_load(LoadSweep(parse_traffic("random", machine), machine), 0.05, 0.9)
    ours = curve.saturation or 0.0
    print(f"saturation: {ours:.4f} in {curve.elapsed_s:.1f} s of simulation")
    if booksim is None:
        return 0
    found = []
    for seed in range(1, seeds + 1):
        low, high = 0.45, 0.49
        while high - low > 0.002:
            middle = (low + high) / 2
            low, high = (low, middle) if aborts(booksim, middle, seed) else (middle, high)
        found.append((low + high) / 2)
    theirs = float(np.mean(found))
    seen = ", ".join(f"{x:.4f}" for x in found)
    print(
        f"            BookSim2 {theirs:.4f} (seeds: {seen}), off by "
        f"{ours / theirs - 1:+.2%} (at most 1%)"
    )
    return int(abs(ours / theirs - 1) > 0.01)


def main() -> int:
    booksim, quick = program(), "--quick" in sys.argv
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}"
    )
    if not SHARED.is_dir():
        print("no workloads beside the checkout: nothing to compare")
        return 0
    if booksim is None:
        print("BookSim2 is not built (CONSET_PEERS): cycles and times of conset alone")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        missed = compare_workloads(folder, booksim, 1 if quick else 5)
        if booksim is not None:
            missed += compare_random(folder, booksim)
    missed += compare_saturation(booksim, 1 if quick else 3)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
