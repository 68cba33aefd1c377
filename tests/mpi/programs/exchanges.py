"""Exchanges of an application on 4 ranks.

By index lists, of every kind of buffer, several at once, and refused.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import conset
from conset.base.errors import ConsetError, ExecutionError

ROWS, WIDTH = 10, 3
"""Rows that a rank has, and numbers of a row."""


class Halo:
    """Rows that ranks send each other, the same on all: by (source, target) global numbers."""

    def __init__(self, ranks: int, add: bool, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.add, self.ranks = add, ranks
        self.sent = {
            (s, t): ROWS * s + np.sort(rng.choice(ROWS, int(rng.integers(1, ROWS)), replace=False))
            for s in range(ranks)
            for t in range(ranks)
            if s != t
        }

    def local(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ghosts lie one after the other.

        What is added goes to row (number of the sender's row) % ROWS.
        """
        sends = np.concatenate([rows for (s, _), rows in self.sent.items() if s == rank]) % ROWS
        received = np.concatenate([rows for (_, t), rows in self.sent.items() if t == rank])
        return sends, received % ROWS if self.add else np.arange(received.size)

    def pattern(self, row_bytes: int) -> conset.Pattern:
        pairs = np.array(list(self.sent))
        size = [rows.size * row_bytes for rows in self.sent.values()]
        return conset.Pattern.from_messages(pairs[:, 0], pairs[:, 1], size, self.ranks)

    def expected(self, rank: int, values: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
        """The receive array of `rank`, sums in the order of sources; `values` by global row."""
        arrived = [rows for (_, t), rows in self.sent.items() if t == rank]
        if not self.add:
            return values[np.concatenate(arrived)]
        after = before.copy()
        for rows in arrived:
            after[rows % ROWS] += values[rows]
        return after


class Device:
    """Memory of this machine that says it is of a device."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values  # kept alive
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (values.ctypes.data, False),
            "strides": None,
            "version": 3,
        }


def compiled(comm: MPI.Intracomm, *words: Any, **options: Any) -> Any:
    """A schedule or program that rank 0 compiles for all."""
    return comm.bcast(conset.compile(*words, **options) if comm.rank == 0 else None)


def same_error(comm: MPI.Intracomm, call: Callable[[], object], text: str) -> bool:
    """Whether every rank raises, in the same words, and they begin with `text`."""
    try:
        call()
    except ConsetError as error:
        said = f"{type(error).__name__}: {error}"
    else:
        said = "nothing"
    everybody = comm.allgather(said)
    if set(everybody) != {everybody[0]} or not said.startswith(text):
        sys.stderr.write(f"rank {comm.rank}: {everybody}, not '{text}'\n")
        return False
    return True


def lists(comm: MPI.Intracomm) -> bool:
    """Rows by index lists, stored and added, of every type, under every policy and through other
    ranks."""
    right = True
    for add in (False, True):
        halo = Halo(comm.size, add)
        for dtype in ("float32", "float64", "int32", "int64", "complex64", "complex128"):
            values = (
                np.random.default_rng(2).normal(size=(ROWS * comm.size, WIDTH)) * 1000
            ).astype(dtype)
            pattern = halo.pattern(values[0].nbytes)
            ways = {"method": "coloring"} if dtype != "float64" else {"combine": "2x2"}
            schedule = compiled(comm, pattern, "torus:2x2", **ways)
            policies = ("none", "local", "ready", "barrier") if dtype == "float32" else (None,)
            own = values[ROWS * comm.rank : ROWS * (comm.rank + 1)].copy()
            for sync in policies:
                received = (
                    np.ones_like(own)
                    if add
                    else np.zeros((halo.local(comm.rank)[1].size, WIDTH), dtype)
                )
                plan = conset.plan(schedule, comm, sync=sync)
                with plan.exchange(own, received, layout=halo, timeout_s=30) as exchange:
                    for _ in range(3):
                        expected = halo.expected(comm.rank, values, received)
                        exchange.exchange()
                        right &= bool((received == expected).all())  # bit by bit, sums too
    return right


def buffers(comm: MPI.Intracomm, folder: Path) -> bool:
    """Arrays of the language, bytes, records, memory of a device; the plan from a file."""
    schedule = compiled(comm, "alltoall:size=8", f"crossbar:{comm.size}", method="coloring")
    file = folder / "schedule.npz"
    if comm.rank == 0:
        conset.write(schedule, file)
    comm.Barrier()
    plan = conset.plan(file, comm)
    count = comm.size - 1
    values = 100.0 * comm.rank + np.delete(np.arange(comm.size), comm.rank)  # to each its number
    expected = 100.0 * np.delete(np.arange(comm.size), comm.rank) + comm.rank
    records = np.dtype([("one", "f4"), ("two", "i2", 2)])
    sides = [
        (values, np.zeros(count)),
        (array.array("d", values), array.array("d", bytes(8 * count))),
        (values.tobytes(), bytearray(8 * count)),
        (memoryview(values.view(np.uint8)), np.zeros(count, records)),
        (values.view("M8[s]"), np.zeros((2, count, 2), np.int16)),
        (Device(values), Device(np.zeros(count))),
    ]
    right = True
    for send, receive in sides:
        with plan.exchange(send, receive) as exchange:
            exchange.exchange()
        found = np.frombuffer(getattr(receive, "values", receive), np.float64)
        right &= bool((found == expected).all())
    return right


def several(comm: MPI.Intracomm) -> bool:
    """Exchanges of one plan that run at once, started and ended in another order on every rank."""
    schedule = compiled(comm, "alltoall:size=20kB", f"crossbar:{comm.size}", method="coloring")
    plan = conset.plan(schedule, comm, sync="ready")
    count = 20_000 * (comm.size - 1)
    rng = np.random.default_rng(comm.rank)
    sends = [
        np.repeat(np.delete(np.arange(comm.size), comm.rank) * 10 + k, 20_000).astype(np.uint8)
        for k in range(5)
    ]
    receives = [np.zeros(count, np.uint8) for _ in sends]
    exchanges = [plan.exchange(*sides, timeout_s=30) for sides in zip(sends, receives, strict=True)]
    for _ in range(3):
        for k in rng.permutation(5):
            exchanges[k].start()
        for k in rng.permutation(5):
            exchanges[k].progress()
        # a rank that waits for one does not go on with the others
        while sum(exchange.progress() for exchange in exchanges) < len(exchanges):
            pass
        for k in rng.permutation(5):
            exchanges[k].wait()
    for exchange in exchanges:
        exchange.close()
    return all((received == 10 * comm.rank + k).all() for k, received in enumerate(receives))


def refusals(comm: MPI.Intracomm, folder: Path) -> bool:
    """What is wrong on one rank is an error on every one, and a right exchange works after it."""
    halo, rank = Halo(comm.size, add=True), comm.rank
    schedule = compiled(comm, halo.pattern(8), "torus:2x2", method="coloring")
    plan = conset.plan(schedule, comm)
    send, receive = np.zeros(ROWS), np.zeros(100)
    exact = plan.part.send_bytes
    flat, plain = np.zeros(exact // 8), np.zeros(plan.part.receive_bytes // 8)
    other = np.zeros(ROWS, np.uint64)

    def on(who: int, wrong: Any, right: Any) -> Any:
        return wrong if rank == who else right

    exact = comm.bcast(exact, root=2)
    other_schedule = conset.compile("shift", "ring:4", method="first-fit")
    right = [
        same_error(
            comm,
            lambda: plan.exchange(on(2, b"12345", flat), plain),
            f"InputError: rank 2: sendbuf has 5 bytes: exactly {exact} required",
        ),
        same_error(
            comm,
            lambda: plan.exchange(flat, on(1, bytes(plain.nbytes), plain)),
            "InputError: rank 1: recvbuf: must be writable",
        ),
        same_error(
            comm,
            lambda: plan.exchange(flat, on(3, flat[1:], plain)),
            "InputError: rank 3: recvbuf: must not overlap sendbuf",
        ),
        same_error(
            comm,
            lambda: plan.exchange(flat, on(0, plain[::2], plain)),
            "InputError: rank 0: recvbuf: must be one contiguous buffer (shape (",
        ),
        same_error(
            comm,
            lambda: plan.exchange(on(1, None, flat), on(0, {}, plain)),
            "InputError: rank 0: recvbuf: a contiguous buffer required, given dict",
        ),
        same_error(
            comm,
            lambda: plan.exchange(send, on(1, receive[:1], receive), layout=halo),
            "InputError: rank 1: layout: recvbuf rows[",
        ),
        same_error(
            comm,
            lambda: plan.exchange(other, other + 1, layout=halo),
            "InputError: rank 0: layout: elements of uint64 cannot be added: known are int32, "
            "int64, float32",
        ),
        same_error(
            comm,
            lambda: plan.exchange(send, on(2, receive.view(np.int64), receive), layout=halo),
            "InputError: rank 2: layout: sendbuf has float64, recvbuf int64: must agree to add",
        ),
        same_error(
            comm,
            lambda: plan.exchange(send.astype("f4"), receive.astype("f4"), layout=halo),
            "InputError: rank 0: layout: ",
        ),
        same_error(
            comm,
            lambda: plan.exchange(Device(send), receive, layout=halo),
            "InputError: rank 0: layout: index lists need arrays of this machine, not of a device",
        ),
        same_error(
            comm,
            lambda: conset.plan(conset.compile("shift", "ring:3", method="first-fit"), comm),
            "InputError: rank 0: the MPI job has 4 ranks, the plan 3: must agree",
        ),
        same_error(
            comm,
            lambda: conset.plan(on(3, other_schedule, schedule), comm),
            "InputError: rank 3: plan of digest ",
        ),
        same_error(
            comm,
            lambda: conset.plan(schedule, comm, sync="none" if rank == 1 else None),
            "InputError: rank 1: plan with sync none",
        ),
        same_error(comm, lambda: conset.plan(folder / "none.json", comm), "InputError: rank 0: "),
        same_error(
            comm, lambda: conset.plan(schedule, comm, sync="sometimes"), "UsageError: rank 0: "
        ),
    ]
    with plan.exchange(send, receive, layout=halo) as exchange:
        right += [
            raises(exchange.wait, "no exchange is running"),
            raises(exchange.progress, "no exchange is running"),
        ]
        exchange.start()
        right += [
            raises(exchange.start, "has not ended"),
            raises(exchange.close, "an exchange is running"),
        ]
        exchange.wait()
    exchange.close()  # closed already
    right += [
        raises(call, "the exchange is closed")
        for call in (exchange.start, exchange.wait, exchange.progress)
    ]
    plan.close()
    return all([*right, raises(lambda: plan.exchange(send, receive), "the plan is closed")])


def raises(call: Callable[[], object], text: str) -> bool:
    try:
        call()
    except ExecutionError as error:
        return text in str(error)
    return False


if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    found = {
        "lists": lists(comm),
        "buffers": buffers(comm, folder),
        "several": several(comm),
        "refusals": refusals(comm, folder),
    }
    (folder / f"rank-{comm.rank}").write_text(
        " ".join(name for name, right in found.items() if not right) or "right"
    )
