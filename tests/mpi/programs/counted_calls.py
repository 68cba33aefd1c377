"""MPI's calls as the core makes them, counted.

Requests and communicators that are left, messages that were started.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from mpi4py import MPI

from conset import _core
from conset.execution import buffers
from conset.execution.buffers import entry_points

_HANDLE = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p
_TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "h": _HANDLE,
    "r": ctypes.POINTER(_HANDLE),
}
_PERSISTENT = {"MPI_Send_init": "pihiihr", "MPI_Recv_init": "pihiihr"}
_ONCE = {
    "MPI_Issend": "pihiihr",
    "MPI_Irecv": "pihiihr",
    "MPI_Ibarrier": "hr",
    "MPI_Ibcast": "pihihr",
    "MPI_Iallgather": "pihpihhr",
    "MPI_Iallgatherv": "pihppphhr",
    "MPI_Igatherv": "pihppphihr",
    "MPI_Iscatterv": "ppphpihihr",
}
"""Arguments of calls that make a request, the last; what `_TYPES` says of each letter."""
_OTHERS = {"MPI_Startall": "ir", "MPI_Test": "rpp", "MPI_Request_free": "r"}


class CountedCalls:
    """While it is entered, exchanges of this rank are made with calls that are counted.

    Attributes:
        kept: persistent requests that were made and not freed.
        open: other requests that were made and have not been seen to end.
        starts: how many persistent requests were started.
        communicators: duplicates of the communicator, and of these, that were not freed.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.kept: set[int] = set()
        self.open: set[int] = set()
        self.starts = 0
        self.communicators = 0
        self._comm = comm
        # an attribute is copied to every duplicate, whoever makes it
        self._key = MPI.Comm.Create_keyval(self._duplicated, self._freed)
        names = zip(_core.mpi_calls(), entry_points(), strict=True)
        self._calls = [self._wrap(name, int(address)) for name, address in names]

    def __enter__(self) -> CountedCalls:
        self._comm.Set_attr(self._key, self)
        buffers.entry_points = self._addresses
        return self

    def __exit__(self, *error: object) -> None:
        buffers.entry_points = entry_points
        self.communicators += 1  # what is removed is no duplicate
        self._comm.Delete_attr(self._key)

    def left(self) -> str:
        """What is there that should not be; empty: nothing."""
        found = {
            "requests": len(self.kept),
            "open": len(self.open),
            "communicators": self.communicators,
        }
        return ", ".join(f"{count} {what}" for what, count in found.items() if count)

    def _addresses(self) -> np.ndarray:
        return np.array(
            [ctypes.cast(call, ctypes.c_void_p).value for call in self._calls], np.uint64
        )

    def _duplicated(self, _comm: MPI.Comm, _key: int, value: Any) -> Any:
        self.communicators += 1
        return value

    def _freed(self, _comm: MPI.Comm, _key: int, _value: Any) -> None:
        self.communicators -= 1

    def _wrap(self, name: str, address: int) -> Any:
        letters = {**_PERSISTENT, **_ONCE, **_OTHERS}.get(name)
        if letters is None:
            return ctypes.c_void_p(address)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *(_TYPES[letter] for letter in letters))
        return kind(self._counted(name, kind(address)))

    def _counted(self, name: str, real: Any) -> Any:
        if name in _OTHERS:
            note = {
                "MPI_Startall": self._startall,
                "MPI_Test": self._test,
                "MPI_Request_free": self._free,
            }[name]
            return lambda *arguments: note(real, *arguments)
        made = self.kept if name in _PERSISTENT else self.open

        def make(*arguments: Any) -> int:
            code = int(real(*arguments))
            made.add(arguments[-1][0])
            return code

        return make

    def _startall(self, real: Any, count: int, requests: Any) -> int:
        self.starts += count
        return int(real(count, requests))

    def _test(self, real: Any, request: Any, ended: int, status: int) -> int:
        before = request[0]  # afterwards it may be none
        code = int(real(request, ended, status))
        if ctypes.c_int.from_address(ended).value:
            self.open.discard(before)
        return code

    def _free(self, real: Any, request: Any) -> int:
        self.kept.discard(request[0])
        return int(real(request))
