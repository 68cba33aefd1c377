"""One rank of the measuring job: `python -m mpi4py rank.py FOLDER`.

See `job.py` for what stands in the folder.

All variants of a cell run in blocks of some exchanges each, interleaved, in rotating order; a
barrier stands before each block, outside the clock. The wall time of a block is the last end minus
the first start over ranks (one machine, one clock); its processor time is that of all ranks between
their own start and end, polls included. Received bytes are checked after the first and after the
last block.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import conset
from conset.execution.exchange import Exchange
from conset.execution.measure import fill_payload
from conset.execution.plan import Plan, read_plan_file
from exchanges.libraries import Bytes, Ends, Library

FEWEST, MOST = 1, 16
"""Exchanges of a block."""
TRIAL = 6
"""Blocks after which a variant that is far behind the best of its group is not measured further."""


class PlanExchange:
    """A plan of conset's, carried out by its executor."""

    def __init__(
        self, comm: MPI.Intracomm, plan: Plan, send: Bytes, receive: Bytes, nap_s: float | None
    ) -> None:
        self._exchange = Exchange(comm, plan, send, receive, poll_interval_s=nap_s)
        self.wait = lambda: None  # as it was made

    def run(self, times: int) -> None:
        """Exchanges so many times."""
        exchange = self._exchange.exchange
        for _ in range(times):
            exchange()

    def collect(self) -> None:
        """Its bytes arrive where they belong."""

    def close(self) -> None:
        """Frees it."""
        self._exchange.close()


class RowsExchange(PlanExchange):
    """An exchange of `conset.alltoallv_init`, scheduled by the ranks from their own rows."""

    def __init__(
        self, comm: MPI.Intracomm, ends: Ends, send: Bytes, receive: Bytes, options: dict[str, Any]
    ) -> None:
        sides = [np.zeros((2, comm.size), np.int64) for _ in range(2)]
        for side, rows in zip(sides, (slice(0, ends.sends), slice(ends.sends, None)), strict=True):
            side[:, ends.peer[rows]] = ends.size[rows], ends.place[rows]
        self._exchange = conset.alltoallv_init(comm, send, *sides[0], receive, *sides[1], **options)
        self.wait = lambda: None  # as it was made


class StagedExchange:
    """Patterns one after the other, each exchanged directly.

    A rank goes on when its own part of one has ended.

    Carries nobody's bytes: it has the messages of a combined program and none of its copies.
    """

    def __init__(self, library: Library, comm: MPI.Intracomm, cells: list[Ends]) -> None:
        buffers = [
            (np.zeros(ends.send_bytes, np.uint8), np.zeros(ends.receive_bytes, np.uint8))
            for ends in cells
        ]
        self._stages = [
            library.open(comm, ends, *pair, "persistent")
            for ends, pair in zip(cells, buffers, strict=True)
        ]

    def run(self, times: int) -> None:
        """Exchanges so many times."""
        for _ in range(times):
            for stage in self._stages:
                stage.run(1)

    def collect(self) -> None:
        """Nothing to check."""

    def close(self) -> None:
        """Frees them."""
        for stage in self._stages:
            stage.close()


class Bench:
    """What a rank keeps for all cells."""

    def __init__(self, folder: Path) -> None:
        self.comm = MPI.COMM_WORLD
        self.folder = folder
        self.orders: dict[str, Any] = json.loads((folder / "orders.json").read_text())
        self.libraries = {
            name: Library(Path(path)) for name, path in self.orders["libraries"].items()
        }
        self.own = self.libraries["mpi"]

    def ends_of(self, name: str) -> Ends:
        """This rank's part of a pattern in the folder."""
        with np.load(self.folder / f"{name}.npz") as file:
            columns = [file[key].astype(np.int64) for key in ("source", "target", "size")]
        return Ends(*columns, self.comm.size, self.comm.rank)

    def open(self, variant: dict[str, Any], ends: Ends, send: Bytes, receive: Bytes) -> Any:
        """One variant of a cell; None on every rank where it does not carry the cell."""
        if variant["kind"] == "plan":
            plan = read_plan_file(self.folder / variant["plan"])
            return PlanExchange(self.comm, plan, send, receive, variant["plan_nap_s"])
        if variant["kind"] == "rows":
            return RowsExchange(self.comm, ends, send, receive, variant["options"])
        library = self.libraries[variant["library"]]
        if variant["kind"] == "stages":
            exchange: Any = StagedExchange(
                library, self.comm, [self.ends_of(name) for name in variant["stages"]]
            )
        else:
            exchange = library.open(self.comm, ends, send, receive, variant["exchange"])
        if exchange is not None:
            exchange.wait = partial(library.wait_by, variant["looks"], variant["nap_ns"])
        return exchange

    def block(self, exchange: Any, times: int) -> tuple[float, float, float]:
        """Start, end and processor time of a block on this rank [s]."""
        self.own.wait_by(0, 0)
        self.own.barrier(self.comm)
        exchange.wait()
        used, start = time.process_time(), time.monotonic()
        exchange.run(times)
        end = time.monotonic()
        return start, end, time.process_time() - used

    def all_ranks(
        self, records: list[tuple[float, float, float]], times: int
    ) -> list[tuple[float, float]]:
        """Wall and processor time of an exchange [s] of each block, the same on all ranks."""
        own = np.array(records)
        found = np.empty((self.comm.size, *own.shape))
        self.comm.Allgather(own, found)
        wall = (found[:, :, 1].max(axis=0) - found[:, :, 0].min(axis=0)) / times
        return list(zip(wall.tolist(), (found[:, :, 2].sum(axis=0) / times).tolist(), strict=True))


def check(bench: Bench, exchange: Any, receive: Bytes, expected: Bytes) -> int:
    """Wrong bytes on all ranks after one more exchange."""
    np.bitwise_not(expected, out=receive)
    bench.own.barrier(bench.comm)
    exchange.run(1)
    exchange.collect()
    return int(bench.comm.allreduce(int((receive != expected).sum())))


def measure_cell(bench: Bench, cell: dict[str, Any]) -> dict[str, Any]:
    """All variants of a cell.

    Times of an exchange by block, wall and processors' [s], and wrong bytes.
    """
    ends = bench.ends_of(cell["pattern"])
    rank, sends = bench.comm.rank, ends.sends
    send, receive = np.zeros(ends.send_bytes, np.uint8), np.zeros(ends.receive_bytes, np.uint8)
    expected = np.zeros_like(receive)
    for k, (peer, size, place) in enumerate(
        zip(ends.peer.tolist(), ends.size.tolist(), ends.place.tolist(), strict=True)
    ):
        if k < sends:
            send[place : place + size] = fill_payload(rank, peer, size)
        else:
            expected[place : place + size] = fill_payload(peer, rank, size)
    opened: dict[str, Any] = {}
    for variant in cell["variants"]:
        exchange = bench.open(variant, ends, send, receive)
        if exchange is not None:
            opened[variant["name"]] = exchange
    group = {variant["name"]: variant["group"] for variant in cell["variants"]}
    carrying = [name for name in opened if group[name] != "stages"]
    before = [check(bench, opened[name], receive, expected) for name in carrying]
    bench.own.barrier(bench.comm)
    with realtime(bench.comm) if bench.orders["realtime"] else nullcontext():
        times = run_blocks(bench, opened, group, cell)
    after = [check(bench, opened[name], receive, expected) for name in carrying]
    wrong = {name: sum(pair) for name, *pair in zip(carrying, before, after, strict=True)}
    for exchange in opened.values():
        exchange.close()
    return {"name": cell["name"], "times": times, "wrong": wrong}


@contextmanager
def realtime(comm: MPI.Comm) -> Iterator[None]:
    """Ahead of all other processes, in turns with the other ranks of its core.

    A rank that yields lets the next one on.

    As many ranks stay on each core: the system does not balance such processes.
    """
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[comm.rank * len(cores) // comm.size]})
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, cores)


def run_blocks(
    bench: Bench, opened: dict[str, Any], group: dict[str, str], cell: dict[str, Any]
) -> dict[str, Any]:
    """Wall and processor times by variant, a value a block; `exchanges` of each block."""
    count: dict[str, int] = {}
    for name, exchange in opened.items():
        bench.block(exchange, 1)
        ((wall, _),) = bench.all_ranks([bench.block(exchange, 2)], 2)
        count[name] = max(FEWEST, min(MOST, round(cell["block_s"] / wall)))
    records: dict[str, list[tuple[float, float, float]]] = {name: [] for name in opened}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in opened}
    running = list(opened)
    for block in range(cell["blocks"]):
        first = block % len(running)
        order = running[first:] + running[:first]
        for name in order if block % 2 == 0 else order[::-1]:
            records[name].append(bench.block(opened[name], count[name]))
        if block + 1 in (TRIAL, cell["blocks"]):
            bench.own.wait_by(0, 0)
            bench.own.barrier(bench.comm)  # fair: gathering is not
            for name in running:
                found[name] += bench.all_ranks(records[name], count[name])
                records[name] = []
            running = keep(running, found, group, cell["behind"])
    return {
        name: {
            "wall_s": [w for w, _ in rows],
            "cpu_s": [c for _, c in rows],
            "exchanges": count[name],
        }
        for name, rows in found.items()
    }


def keep(
    running: list[str],
    found: dict[str, list[tuple[float, float]]],
    group: dict[str, str],
    behind: float,
) -> list[str]:
    """Those not further behind the best of their group than by the factor `behind`."""
    median = {name: float(np.median([wall for wall, _ in found[name]])) for name in running}
    best: dict[str, float] = {}
    for name in running:
        best[group[name]] = min(best.get(group[name], median[name]), median[name])
    return [name for name in running if median[name] <= behind * best[group[name]]]


def main() -> None:
    folder = Path(sys.argv[1])
    bench = Bench(folder)
    if bench.comm.size != bench.orders["ranks"]:
        raise SystemExit(
            f"the job has {bench.comm.size} ranks, the orders {bench.orders['ranks']}: must agree"
        )
    gc.disable()
    result = []
    for cell in bench.orders["cells"]:
        start = time.monotonic()
        result.append(measure_cell(bench, cell) | {"took_s": time.monotonic() - start})
        gc.collect()
    if bench.comm.rank == 0:
        name, version = MPI.get_vendor()
        library = f"{name} {'.'.join(str(part) for part in version)}"
        (folder / "result.part").write_text(json.dumps({"mpi": library, "cells": result}))
        (folder / "result.part").rename(folder / "result.json")


if __name__ == "__main__":
    main()
