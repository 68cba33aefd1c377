"""Exchanges that end well and that are refused.

Nothing of either is left, and of the second nothing is sent.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from counted_calls import CountedCalls
from mpi4py import MPI

import conset
from conset.base.errors import ConsetError
from conset.execution.job import note_held

EACH = 1000


def same_error(comm: MPI.Intracomm, call: Callable[[], object]) -> str:
    """The class that every rank raises; `different` where they do not agree."""
    try:
        call()
    except ConsetError as error:
        said = f"{type(error).__name__}: {error}"
    else:
        said = "none"
    everybody = set(comm.allgather(said))
    return said.partition(":")[0] if len(everybody) == 1 else f"different: {everybody}"


class Rows:
    """An alltoallv of one count, on all ranks."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm, self.counts = comm, np.full(comm.size, EACH)
        self.send, self.receive = np.zeros(EACH * comm.size), np.zeros(EACH * comm.size)

    def make(self, **changes: object) -> conset.Exchange:
        """With other arguments on rank 1."""
        arguments = {
            "sendbuf": self.send,
            "sendcounts": self.counts,
            "recvbuf": self.receive,
            "recvcounts": self.counts,
        }
        if self.comm.rank == 1:
            arguments |= changes
        return conset.alltoallv_init(self.comm, **arguments, timeout_s=30)  # type: ignore[arg-type]


def well(comm: MPI.Intracomm, plan: conset.CommPlan, rows: Rows) -> list[str]:
    """One exchange of each kind, three times."""
    wrong = []
    rows.send[:] = np.repeat(np.arange(comm.size) + 10.0 * comm.rank, EACH)
    expected = np.repeat(10.0 * np.arange(comm.size) + comm.rank, EACH)
    with rows.make() as exchange:
        for _ in range(3):
            rows.receive[:] = -1
            exchange.exchange()
            wrong += [] if (rows.receive == expected).all() else ["rows: values"]
    send = np.zeros(plan.part.send_bytes, np.uint8)
    receive = np.zeros(plan.part.receive_bytes, np.uint8)
    with plan.exchange(send, receive, timeout_s=30) as exchange:
        for _ in range(3):
            exchange.exchange()
    return wrong


def refused(comm: MPI.Intracomm, plan: conset.CommPlan, rows: Rows) -> list[str]:
    """What is wrong on rank 1 alone; the class of error that each must give."""
    less = np.where(np.arange(comm.size) == 2, EACH - 1, EACH)
    small = np.zeros(4)
    flat = np.zeros(100, np.uint8)
    cases: dict[str, tuple[Callable[[], object], str]] = {
        "sends less": (lambda: rows.make(sendcounts=less), "InputError"),
        "expects less": (lambda: rows.make(recvcounts=less), "InputError"),
        "elements": (lambda: rows.make(sendbuf=rows.send.astype("f4")), "InputError"),
        "small": (lambda: rows.make(recvbuf=small), "InputError"),
        "plan of 3 ranks": (
            lambda: conset.plan(conset.compile("shift", "ring:3", method="lp"), comm),
            "InputError",
        ),
        "small of a plan": (
            lambda: plan.exchange(flat[: 5 if comm.rank == 1 else 24], flat[50:74]),
            "InputError",
        ),
    }
    found = {name: same_error(comm, call) for name, (call, _) in cases.items()}
    return [f"{name}: {found[name]}" for name, (_, kind) in cases.items() if found[name] != kind]


def check(comm: MPI.Intracomm) -> list[str]:
    """What is wrong on this rank."""
    schedule = comm.bcast(
        conset.compile("alltoall:size=8", "torus:2x2", method="lp") if comm.rank == 0 else None
    )
    with CountedCalls(comm) as calls:
        plan, rows = conset.plan(schedule, comm), Rows(comm)
        wrong = well(comm, plan, rows)
        if not calls.starts:
            wrong.append("nothing was counted")
        before = calls.starts
        wrong += refused(comm, plan, rows)
        if calls.starts != before:
            wrong.append(f"refused: {calls.starts - before} messages were started")
        wrong += well(comm, plan, rows)
        plan.close()
        return wrong + ([f"left: {calls.left()}"] if calls.left() else [])


if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    note_held(folder, comm.rank)
    before = set(os.listdir(tempfile.gettempdir()))
    comm.Barrier()
    wrong = check(comm)
    comm.Barrier()
    wrong += [f"temporary: {name}" for name in set(os.listdir(tempfile.gettempdir())) - before]
    (folder / f"rank-{comm.rank}").write_text("; ".join(wrong) or "right")
