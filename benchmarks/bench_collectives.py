"""`conset.alltoallv_init` beside MPI's collectives and persistent requests in C, in one job.

For each pattern all variants run interleaved, in rotating order, in blocks of a few exchanges
(`exchanges/rank.py`); a row compares, block by block, conset's exchange with each of the others:
medians of the paired ratios, below 1 where conset is faster, with bootstrapped intervals of 95 %.
MPI's collectives are blocking ones as they are, and the persistent one with fair waits (`MPI_Test`
and `sched_yield`, as all others wait here: where ranks exceed cores, a wait inside MPI burns the
time of those that work). *persistent* is forty lines of C: a request for each message, all started
at once. conset's exchange is scheduled by the ranks from their rows, as `--method` and `--sync`
say. Received bytes are checked before and after.

    PYTHONPATH=src python benchmarks/bench_collectives.py --write docs/collectives-measured.md
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from exchanges.job import TRANSPORTS, Cell, Variant, find_libraries, find_wheel, run_job
from exchanges.tables import RESAMPLES

from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.report.markdown import table_markdown

CONSET = "conset"
OTHERS = ("alltoallv", "neighbor_alltoallv", "neighbor_alltoallv_init", "persistent")
PATTERNS = {
    "complete, 8 B": "alltoall:size=8",
    "complete, 1 KiB": "alltoall:size=1KiB",
    "complete, 64 KiB": "alltoall:size=64KiB",
    "random 8, 64 B": "random:degree=8,size=64,seed=1",
    "random 8, 1 KiB": "random:degree=8,size=1KiB,seed=1",
    "random 8, 64 KiB": "random:degree=8,size=64KiB,seed=1",
    "matrix rows": "partition:vertices=4096,degree=12,parts=block",
}
"""By their name in tables; the halo exchange of a mesh stands beside them."""
MESH = "finite elements"
LATE = 1.05
"""How much longer than the fastest of MPI's own a right choice takes; more where the interval of
95 % holds 1."""
INTRODUCTION = """# Exchanges beside MPI's collectives, measured

Made by `benchmarks/bench_collectives.py`, whose head says what is measured and how."""


def make_patterns(ranks: int) -> dict[str, Pattern]:
    from exchanges.patterns import make_pattern

    found = {name: parse_pattern(spec, ranks=ranks) for name, spec in PATTERNS.items()}
    return found | {"halo of a mesh, 4 KiB": make_pattern(MESH, ranks, 4096)}


def paired(first: list[float], second: list[float]) -> tuple[float, float, float]:
    """Median and ends of the interval of the ratios of two lists, block by block."""
    ratios = np.asarray(first) / np.asarray(second)
    drawn = np.random.default_rng(0).integers(ratios.size, size=(RESAMPLES, ratios.size))
    low, high = np.quantile(np.median(ratios[drawn], axis=1), [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)


def row_of(name: str, pattern: Pattern, found: dict[str, Any]) -> list[str]:
    """A pattern: conset's time, and what it takes of each of the others', and of the fastest."""
    times = {
        variant: found["times"][variant]["wall_s"]
        for variant in (CONSET, *OTHERS)
        if variant in found["times"]
    }
    cells = [name, f"{pattern.messages}", f"{np.median(times[CONSET]) * 1e6:.0f}"]
    for other in OTHERS:
        if other not in times:
            cells.append("-")
            continue
        median, low, high = paired(times[CONSET], times[other])
        mark = "" if low <= 1 <= high else " faster" if median < 1 else " slower"
        cells.append(f"{median:.2f} ({low:.2f}-{high:.2f}){mark}")
    own = [times[other] for other in OTHERS[:3] if other in times]
    median, low, _ = paired(times[CONSET], min(own, key=lambda each: float(np.median(each))))
    cells.append("yes" if median <= LATE or low <= 1 else "no")
    return cells


def measure(transport: str, arguments: argparse.Namespace, libraries: dict[str, Path]) -> str:
    """One transport, as Markdown."""
    patterns = make_patterns(arguments.ranks)
    options = {
        "machine": arguments.machine,
        "method": arguments.method,
        "sync": arguments.sync,
        "measure": arguments.measure,
    }
    variants = (
        Variant(CONSET, CONSET, options=options),
        *(Variant(name, name, "mpi", name) for name in OTHERS),
    )  # every one is the best of its group: none is left early
    cells = [
        Cell(name, pattern, variants, blocks=arguments.blocks) for name, pattern in patterns.items()
    ]
    load = os.getloadavg()[0]
    found = run_job(cells, libraries, arguments.ranks, transport, timeout_s=arguments.timeout)
    wrong = {
        (cell["name"], name): count
        for cell in found["cells"]
        for name, count in cell["wrong"].items()
        if count
    }
    if wrong:
        raise SystemExit(f"wrong bytes: {wrong}")
    rows = [
        row_of(cell.name, cell.pattern, each)
        for cell, each in zip(cells, found["cells"], strict=True)
    ]
    head = ["pattern", "messages", "conset [us]", *(f"over {name}" for name in OTHERS), "right"]
    cores = len(os.sched_getaffinity(0))
    title = f"## {transport}: {found['mpi']}, {arguments.ranks} ranks on {cores} cores"
    about = (
        f"{arguments.blocks} blocks a variant; `{arguments.method}` under `{arguments.sync}`, "
        f"`measure={arguments.measure}`. Right in {sum(row[-1] == 'yes' for row in rows)} of "
        f"{len(rows)}: at most {LATE} of the fastest of MPI's own, or not distinct from it. "
        f"Load before {load:.1f}."
    )
    text = "\n".join([title, "", about, "", *table_markdown(head, rows, (0,))])
    print(f"{text}\n", flush=True)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transport", nargs="+", choices=tuple(TRANSPORTS), default=["shm"])
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument(
        "--machine", help="what schedules are made for; default: a crossbar of the ranks"
    )
    parser.add_argument("--method", default="auto")
    parser.add_argument("--sync", default="none")
    parser.add_argument("--measure", type=int, default=0, help="rounds beside MPI_Ialltoallv")
    parser.add_argument("--blocks", type=int, default=52)
    parser.add_argument("--timeout", type=float, default=600.0, help="of a job, in seconds")
    parser.add_argument(
        "--write", type=Path, help="Markdown file; what other wheels left there stays"
    )
    arguments = parser.parse_args()
    arguments.machine = arguments.machine or f"crossbar:{arguments.ranks}"
    with tempfile.TemporaryDirectory() as name:
        libraries = find_libraries(Path(name), None)
        sections = [measure(transport, arguments, libraries) for transport in arguments.transport]
    if arguments.write is not None:
        write(arguments.write, sections)


def write(path: Path, sections: list[str]) -> None:
    """The sections, after those in the file that other wheels have left."""
    own = "MPICH" if find_wheel() == "mpich" else "Open MPI"
    before = path.read_text().split("\n## ")[1:] if path.exists() else []
    kept = [f"## {each.strip()}" for each in before if own not in each.splitlines()[0]]
    parts = [INTRODUCTION, *kept, *sections]
    path.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
