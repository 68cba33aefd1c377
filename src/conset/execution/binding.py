"""Late binding: the core calls whatever MPI mpi4py has loaded.

No `mpi.h`, no link to an MPI, one build for all.

Functions are found by name in mpi4py's own module, which has loaded the library so that nobody else
sees it; handles come from mpi4py as whole numbers. The two binary interfaces differ in what a
handle is: an `int` (MPICH) or a pointer (Open MPI). What mpi4py keeps behind an underscore is used
here and nowhere else.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import ExecutionError
from conset.execution.buffers import Buffer

if TYPE_CHECKING:
    from mpi4py import MPI

NativeExecutor = _core.ExecutorOfInts | _core.ExecutorOfPointers

Ints = TypeVar("Ints")
Pointers = TypeVar("Pointers")


def by_handle(ints: Ints, pointers: Pointers) -> Ints | Pointers:
    """That of two classes of the core whose handles are those of mpi4py's library.

    Raises:
        ExecutionError: the library is of neither binary interface.
    """
    from mpi4py import MPI

    size = MPI._sizeof(MPI.Comm)
    if size not in (4, 8):
        raise ExecutionError(f"mpi4py's MPI library has handles of {size} bytes: known are [4, 8]")
    return ints if size == 4 else pointers


def entry_points() -> NDArray[np.uint64]:
    """Addresses of the calls that the core makes, in its order.

    Raises:
        ExecutionError: mpi4py's library lacks one.
    """
    from mpi4py import MPI

    # what is loaded already, never another library of the same name
    library = ctypes.CDLL(MPI.__file__, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    addresses = []
    for name in _core.mpi_calls():
        try:
            addresses.append(ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
        except AttributeError:
            raise ExecutionError(
                f"mpi4py's MPI library ({MPI.Get_library_version().split()[0]}) has no {name}"
            ) from None
    return np.array(addresses, np.uint64)


def library() -> _core.Mpi:
    """The MPI that mpi4py has loaded, as the core knows one.

    Raises:
        ExecutionError: it lacks a call.
    """
    from mpi4py import MPI

    return _core.Mpi(
        calls=entry_points(),
        byte=MPI._handleof(MPI.BYTE),
        errors_return=MPI._handleof(MPI.ERRORS_RETURN),
        handle_bytes=MPI._sizeof(MPI.Comm),
        status_bytes=MPI._sizeof(MPI.Status),
        source_at=_source_offset(),
        any_source=MPI.ANY_SOURCE,
        named=MPI.COMBINER_NAMED,
    )


def _source_offset() -> int:
    """Where a status keeps its source [B]: there is no call to ask for it before MPI 4.1."""
    from mpi4py import MPI

    number, status = 0x5A17, MPI.Status()
    status.Set_source(number)
    content = ctypes.string_at(MPI._addressof(status), MPI._sizeof(MPI.Status))
    at = content.find(number.to_bytes(4, "little"))
    if at < 0:
        raise ExecutionError("mpi4py's MPI library hides the source in a status")
    return at


def make_native(
    comm: MPI.Comm,
    plan: _core.RankPlan,
    items: _core.RankItems | None,
    send: Buffer,
    receive: Buffer,
) -> NativeExecutor:
    """The core's executor on `comm`, which is its alone; no requests are made yet.

    It keeps the buffers alive.

    Raises:
        ExecutionError: mpi4py's library is of neither binary interface.
    """
    from mpi4py import MPI

    return by_handle(_core.ExecutorOfInts, _core.ExecutorOfPointers)(
        library(),
        MPI._handleof(comm),
        plan,
        items,
        send.to_core(),
        receive.to_core(),
        (send.owner, receive.owner),
    )
