"""A program by hand: messages packed, forwarded and taken apart over real MPI, every byte
checked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from conset.execution.check import check_plan
from conset.execution.job import find_launcher, start_job
from conset.execution.plan import Copies, Needs, Operations, Plan, write_plan_file
from conset.schedule.policy import parse_sync

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

Row = tuple[int, ...]


class Rank:
    """What one rank does.

    `packs` and `unpacks` by operation: (source in the work area, source, target, bytes).
    """

    def __init__(self) -> None:
        self.sends: list[Row] = []
        self.receives: list[Row] = []
        self.packs: list[list[Row]] = []
        self.unpacks: list[list[Row]] = []
        self.needs: list[list[int]] = []
        self.work = 0

    def room(self, size: int) -> int:
        self.work += size
        return self.work - size


def rows_then_columns(k: int, size: NDArray[np.int64], sync: str, in_flight: int | None) -> Plan:
    """Rank (x, y) of a k × k box is y · k + x.

    Phase 0: to (i, y) what is for column i; phase 1: down the columns.

    What a rank has for others in its column goes with phase 1. Odd ranks take phase 1 through their
    work area.
    """
    n = k * k
    send_at = np.cumsum(size, axis=1) - size  # of row's message to column, in the send buffer
    receive_at = np.cumsum(size, axis=0) - size  # of row's message to column, in the receive buffer
    ranks = [Rank() for _ in range(n)]
    arrived: dict[
        tuple[int, int, int], int
    ] = {}  # (rank that holds it, source, target): place in its work area

    def column(x: int) -> list[int]:
        return [j * k + x for j in range(k)]

    def add(phase: int, a: int, b: int, messages: list[tuple[int, int]], needed: list[int]) -> None:
        """A bundle from a to b of messages (source, target)."""
        sizes = [int(size[s, t]) for s, t in messages]
        total, transfer = sum(sizes), (phase * n + a) * n + b
        starts = np.cumsum(sizes) - sizes
        out = ranks[a].room(total)
        ranks[a].sends.append((phase, b, out, total, transfer, 1))
        ranks[a].packs.append(
            [
                (1, arrived[a, s, t], out + int(at), z)
                if s != a
                else (0, int(send_at[s, t]), out + int(at), z)
                for (s, t), at, z in zip(messages, starts, sizes, strict=True)
            ]
        )
        ranks[a].needs.append(needed)
        through_work = phase == 0 or b % 2 == 1
        into = ranks[b].room(total) if through_work else int(receive_at[messages[0]])
        ranks[b].receives.append((phase, a, into, total, transfer, int(through_work)))
        unpacks = []
        for (s, t), at, z in zip(messages, starts, sizes, strict=True):
            arrived[b, s, t] = into + int(at)
            if t == b and through_work:
                unpacks.append((1, into + int(at), int(receive_at[s, t]), z))
        ranks[b].unpacks.append(unpacks)

    for a in range(n):
        x, y = a % k, a // k
        for i in (i for i in range(k) if i != x):
            add(0, a, y * k + i, [(a, t) for t in column(i)], [])
    for a in range(n):
        x, y = a % k, a // k
        for b in (b for b in column(x) if b != a):
            add(1, a, b, [(y * k + i, b) for i in range(k)], list(range(k - 1)))
    return plan_of(ranks, size, sync, in_flight)


def plan_of(ranks: list[Rank], size: NDArray[np.int64], sync: str, in_flight: int | None) -> Plan:
    def operations(own: list[list[Row]]) -> Operations:
        flat = np.array([row for rank in own for row in rank]).T
        return Operations(np.cumsum([0, *map(len, own)]), *flat[:5], flat[5] > 0)

    def copies(own: list[list[Row]]) -> Copies:
        flat = np.array([row for rows in own for row in rows]).T
        return Copies(np.cumsum([0, *map(len, own)]), flat[0] > 0, *flat[1:])

    receives = operations([rank.receives for rank in ranks])
    needs = [
        [r + int(first) for r in needed]
        for rank, first in zip(ranks, receives.offsets, strict=False)
        for needed in rank.needs
    ]
    return Plan(
        2,
        parse_sync(sync),
        operations([rank.sends for rank in ranks]),
        receives,
        size.sum(axis=1),
        size.sum(axis=0),
        in_flight,
        work_bytes=np.array([rank.work for rank in ranks]),
        packs=copies([rows for rank in ranks for rows in rank.packs]),
        unpacks=copies([rows for rank in ranks for rows in rank.unpacks]),
        needs=Needs(
            np.cumsum([0, *map(len, needs)]), np.array([r for needed in needs for r in needed])
        ),
    )


@pytest.mark.parametrize("k", [2, 4])
def test_every_byte_arrives_through_other_ranks(k: int, programs: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(k)
    # below and above the eager limits, alone and packed
    size = np.exp(rng.uniform(0, np.log(2e4), (k * k, k * k))).astype(np.int64)
    np.fill_diagonal(size, 0)
    np.save(tmp_path / "size.npy", size)
    for sync in ("none", "local", "ready", "barrier", "detect"):
        for in_flight in (None, 1):
            plan = rows_then_columns(k, size, sync, in_flight)
            check_plan(plan)
            assert plan.bytes == size.sum()
            write_plan_file(plan, tmp_path / f"{sync}-{in_flight}.plan")
    program = ["-m", "mpi4py", str(programs / "forwards.py"), str(tmp_path)]
    ended = start_job(find_launcher(), k * k, program, folder=tmp_path, timeout_s=120)
    assert (ended.status, ended.err) == (0, "")
    wrong = json.loads((tmp_path / "wrong.json").read_text())
    assert len(wrong) == k * k
    assert all(len(counts) == 10 and not any(counts.values()) for counts in wrong)
