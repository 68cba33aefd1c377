"""Combined exchanges, executed.

Beside MPI's own, the persistent direct exchange and peers, in one job a transport.

All variants of a cell (pattern x bytes) run interleaved, in rotating order, in blocks of a few
exchanges; medians of at least fifty blocks, intervals by bootstrap. A variant that after six blocks
is far behind the best of its group is left. Every variant's bytes are checked before and after;
those with a wrong byte count for nothing.

Groups: `mpi`: MPI's collectives, blocking as they are, nonblocking and persistent ones with fair
waits (`MPI_Test` and `sched_yield`: where ranks exceed cores a wait inside MPI burns the time of
those that work). `direct`: every message by a persistent request, all started at once, by conset's
executor and by forty lines of C. `combined`: programs of stages. `auto`: what `--combine auto`
takes on the machine file. `peer`: libraries in the folder `--peers` (or CONSET_PEERS) that have the
functions of `exchanges/exchange.h`.

The wall time is that of the slowest rank. With more ranks than cores it holds what the operating
system's scheduler does with ranks that wait; the processors' time beside it is of all ranks, polls
included.

All cells, two transports, about eight minutes on two idle cores:

    PYTHONPATH=src python benchmarks/combined.py --calibrate --json build/combined --write
    docs/combining-measured.md
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from exchanges.conset_plans import Combined, plans_of
from exchanges.job import TRANSPORTS, Cell, Variant, Waiting, find_libraries, find_wheel, run_job
from exchanges.libraries import Library
from exchanges.patterns import PATTERNS, make_pattern
from exchanges.tables import decisions, markdown, summarize
from measure_machine import measure_machine

from conset.pattern.pattern import Pattern

SIZES = (8, 64, 512, 4096)
DECIDED = ("complete", "random 8", "random 16", "random 24", "power law", "finite elements")
"""Patterns with all sizes; the rows of a matrix have sizes of their own."""
INTRODUCTION = """# Combined exchanges, executed

Made by `benchmarks/combined.py`, whose head says what is measured and how. All variants of a row \
run interleaved in one
job; times are medians of the wall time of the slowest rank. *MPI's own* is the best of the \
library's collectives,
blocking, nonblocking and persistent; *persistent direct* the best of all messages started at once \
by conset's executor
and in C; *peer* the best of MPI Advance and VPTComm where they were built beside the project, \
bytes right; *combined*
the best program of stages. Gains are above 1 where the combined program is faster."""
BLOCKING = ("alltoall", "alltoallv", "neighbor_alltoallv")
"""Wait without yielding."""
SECONDS_A_CELL = 7
"""About what a cell takes."""


def make_cells(
    arguments: argparse.Namespace, libraries: dict[str, Path]
) -> tuple[list[Cell], list[dict[str, Any]]]:
    """What is measured, and what is known of each before."""
    names = {name: Library(path).names for name, path in libraries.items()}
    cells, known = [], []
    for pattern_name in arguments.patterns:
        for size in arguments.sizes if pattern_name in DECIDED else arguments.sizes[:1]:
            pattern = make_pattern(pattern_name, arguments.ranks, size)
            combined = plans_of(pattern, arguments.machine, arguments.combine)
            cells.append(
                Cell(
                    f"{pattern_name} {size}",
                    pattern,
                    variants_of(names, combined, arguments),
                    blocks=arguments.blocks,
                    block_s=arguments.block_ms * 1e-3,
                )
            )
            known.append(facts(pattern_name, size, pattern, combined))
    return cells, known


def variants_of(
    names: dict[str, list[str]], combined: Combined, arguments: argparse.Namespace
) -> tuple[Variant, ...]:
    """Every library's exchanges, then the plans."""
    waiting = Waiting(arguments.looks, arguments.nap_us, arguments.plan_nap_us)
    found = []
    for library, exchanges in names.items():
        for name in exchanges:
            if arguments.realtime and name in BLOCKING:
                continue
            group = "direct" if name == "persistent" else "mpi" if library == "mpi" else "peer"
            found.append(Variant(name, group, library, name, waiting=waiting))
    found += [
        Variant(name, group, plan=plan, waiting=waiting)
        for name, (group, plan) in combined.plans.items()
    ]
    return tuple(found)


def facts(name: str, size: int, pattern: Pattern, combined: Combined) -> dict[str, Any]:
    known = {"pattern": name, "size": size, "messages": pattern.messages, "bytes": pattern.bytes}
    return known | {"auto": combined.auto, "auto_predicted": combined.predicted}


def measure(
    transport: str, arguments: argparse.Namespace, libraries: dict[str, Path]
) -> dict[str, Any]:
    """One transport."""
    start = time.time()
    cells, known = make_cells(arguments, libraries)
    compiled = time.time()
    before = os.getloadavg()[0]
    result = run_job(
        cells,
        libraries,
        arguments.ranks,
        transport,
        realtime=arguments.realtime,
        timeout_s=arguments.timeout,
    )
    print(
        f"{transport}: compiled {compiled - start:.0f} s, measured {time.time() - compiled:.0f} s",
        flush=True,
    )
    rows = []
    for cell, facts_, found in zip(cells, known, result["cells"], strict=True):
        group = {variant.name: variant.group for variant in cell.variants}
        variants = {
            name: row | {"group": group[name], "wrong": found["wrong"].get(name, 0)}
            for name, row in found["times"].items()
        }
        rows.append(facts_ | {"variants": variants})
    return {
        "mpi": result["mpi"],
        "transport": transport,
        "ranks": arguments.ranks,
        "cores": len(os.sched_getaffinity(0)),
        "load_before": before,
        "load_after": os.getloadavg()[0],
        "blocks": arguments.blocks,
        "realtime": arguments.realtime,
        "machine": "" if arguments.machine is None else arguments.machine.read_text(),
        "cells": rows,
    }


def write_outcome(found: dict[str, Any], folder: Path | None) -> str:
    """Markdown, printed; in `folder` the medians and the blocks as JSON."""
    cells = found["cells"]
    head = (
        f"## {found['transport']}: {found['mpi']}, {found['ranks']} ranks on "
        f"{found['cores']} cores\n\n"
        f"Load before {found['load_before']:.1f}. Times in us, {found['blocks']} blocks a "
        "variant, intervals of 95 %; "
        "`auto` with whether the measurement agrees."
    )
    wrong = [
        f"{cell['pattern']} {cell['size']} {name}"
        for cell in cells
        for name, row in cell["variants"].items()
        if row["wrong"]
    ]
    left = f"Wrong bytes, left out: {', '.join(wrong)}." if wrong else ""
    text = "\n\n".join(filter(None, [head, markdown(cells), decisions(cells), left]))
    print(f"\n{text}", flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{find_wheel()}-{found['transport']}-{found['ranks']}"
        summary = found | {"cells": [summarize(cell) for cell in cells]}
        (folder / f"{stem}.json").write_text(json.dumps(summary, indent=1) + "\n")
        (folder / f"{stem}-blocks.json").write_text(json.dumps(found) + "\n")
    return text


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transport", nargs="+", choices=tuple(TRANSPORTS), default=["tcp", "shm"])
    parser.add_argument("--ranks", type=int, default=32)
    parser.add_argument("--patterns", nargs="+", choices=tuple(PATTERNS), default=list(PATTERNS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--blocks", type=int, default=52)
    parser.add_argument(
        "--block-ms", type=float, default=6.0, help="about what a block of exchanges takes"
    )
    parser.add_argument(
        "--machine", nargs="+", type=Path, help="machine file for auto, of each transport in turn"
    )
    parser.add_argument(
        "--combine",
        nargs="+",
        default=["2", "3", "mixed"],
        help="programs beside auto; N: N even sides",
    )
    parser.add_argument("--peers", type=Path, default=os.environ.get("CONSET_PEERS"))
    parser.add_argument(
        "--looks", type=int, default=0, help="looks of a wait before it naps; 0: it yields only"
    )
    parser.add_argument("--nap-us", type=float, default=100.0, help="longest nap")
    parser.add_argument(
        "--plan-nap-us", type=float, default=0.0, help="longest nap of conset's executor"
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="ahead of other processes, blocking collectives left out",
    )
    parser.add_argument("--timeout", type=float, default=900.0, help="of a job, in seconds")
    parser.add_argument(
        "--calibrate", action="store_true", help="measures the machines for auto first"
    )
    parser.add_argument("--write", type=Path, help="Markdown file for the tables")
    parser.add_argument("--json", type=Path, help="folder for the figures")
    return parser.parse_args()


def main() -> None:
    arguments = read_arguments()
    machines = arguments.machine or [None] * len(arguments.transport)
    if len(machines) != len(arguments.transport):
        raise SystemExit(
            f"{len(machines)} machines for {len(arguments.transport)} transports: one each"
        )
    count = sum(len(arguments.sizes) if name in DECIDED else 1 for name in arguments.patterns)
    print(
        f"{find_wheel()}, {count} cells a transport, about "
        f"{count * SECONDS_A_CELL / 60:.0f} min each",
        flush=True,
    )
    peers = None if arguments.peers is None else Path(arguments.peers)
    texts = [INTRODUCTION]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        libraries = find_libraries(folder, peers)
        for transport, machine in zip(arguments.transport, machines, strict=True):
            own = argparse.Namespace(
                **(vars(arguments) | {"machine": machine, "transport": transport})
            )
            if arguments.calibrate:
                own.machine = (
                    arguments.json or folder
                ) / f"{find_wheel()}-{transport}-{arguments.ranks}.toml"
                measure_machine(own.machine, own)
            texts.append(write_outcome(measure(transport, own, libraries), arguments.json))
    if arguments.write is not None:
        arguments.write.write_text("\n\n".join(texts) + "\n")


if __name__ == "__main__":
    main()
