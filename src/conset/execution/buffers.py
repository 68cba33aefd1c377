"""Buffers: where an application's bytes are, on this machine or on a device.

And index lists, which say where the bytes of a plan lie in the caller's arrays.

Late binding: the core calls whatever MPI mpi4py has loaded. No `mpi.h`, no link to an MPI, one
build for all.

Functions are found by name in mpi4py's own module, which has loaded the library so that no other
library sees it; handles come from mpi4py as whole numbers. The two binary interfaces differ in what
a handle is: an `int` (MPICH) or a pointer (Open MPI). What mpi4py keeps behind an underscore is
used here and nowhere else.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base import Array, ExecutionError, InputError, check_range, frozen_ints
from conset.execution.plan import RankPlan

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Buffer:
    """One side of an exchange.

    Attributes:
        name: in messages.
        address: of the first byte.
        bytes: size [B].
        item_bytes: of one row [B], an element of the first dimension.
        dtype: of its elements.
        writable: whether bytes may arrive there.
        device: whether only the MPI library may reach it (`__cuda_array_interface__`).
        owner: keeps it alive.
    """

    name: str
    address: int
    bytes: int
    item_bytes: int
    dtype: np.dtype[Any]
    writable: bool
    device: bool
    owner: object

    @property
    def items(self) -> int:
        """Rows."""
        return self.bytes // self.item_bytes if self.item_bytes else 0

    def overlaps(self, other: Buffer) -> bool:
        """Whether they share a byte."""
        shared = min(self.address + self.bytes, other.address + other.bytes) - max(
            self.address, other.address
        )
        return bool(self.bytes and other.bytes and shared > 0)

    def to_core(self) -> _core.Buffer:
        """For the executor."""
        return _core.Buffer(address=self.address, bytes=self.bytes)


def find_buffer(given: Any, name: str) -> Buffer:
    """The bytes of `given`.

    A NumPy array, anything with the buffer protocol, or an array of a device.

    Raises:
        InputError: it is none of these, not contiguous, or holds Python objects.
    """
    if (device := getattr(given, "__cuda_array_interface__", None)) is not None:
        return _of_device(given, device, name)
    array = given if isinstance(given, np.ndarray) else _from_protocol(given, name)
    if array.dtype.hasobject:
        raise InputError(f"{name}: has Python objects ({array.dtype}): numbers or bytes required")
    if not array.flags.c_contiguous:
        raise InputError(
            f"{name}: must be one contiguous buffer (shape {array.shape}, strides {array.strides})"
        )
    return Buffer(
        name,
        array.ctypes.data,
        array.nbytes,
        _row_bytes(array.shape, array.dtype),
        array.dtype,
        array.flags.writeable,
        False,
        given,
    )


def find_buffers(sendbuf: Any, recvbuf: Any) -> tuple[Buffer, Buffer]:
    """Both sides of an exchange.

    Raises:
        InputError: see `find_buffer`; nothing may arrive in `recvbuf`, or both share bytes.
    """
    send, receive = find_buffer(sendbuf, "sendbuf"), find_buffer(recvbuf, "recvbuf")
    require_apart(send, receive)
    return send, receive


def require_apart(send: Buffer, receive: Buffer) -> None:
    """Checks that bytes may arrive in one without changing the other.

    Raises:
        InputError: they share bytes, or nothing may arrive.
    """
    if receive.bytes and not receive.writable:
        raise InputError("recvbuf: must be writable")
    if send.overlaps(receive):
        raise InputError(
            "recvbuf: must not overlap sendbuf, whose bytes would be overwritten before "
            "they are sent"
        )


def _from_protocol(given: Any, name: str) -> Array:
    try:
        view = memoryview(given)
    except TypeError:
        raise InputError(
            f"{name}: a contiguous buffer required, given {type(given).__name__}"
        ) from None
    try:
        return np.asarray(view)
    except ValueError as error:
        raise InputError(f"{name}: elements of format '{view.format}': {error}") from None


def _of_device(given: Any, interface: Any, name: str) -> Buffer:
    try:
        shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        address, read_only = interface["data"]
        strides = interface.get("strides")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{name}: its __cuda_array_interface__ is incomplete: {error}") from None
    dense = np.multiply.accumulate((dtype.itemsize, *shape[:0:-1]))[::-1].tolist() if shape else []
    many = [
        (stride, step)
        for stride, step, count in zip(strides or (), dense, shape, strict=False)
        if count > 1
    ]
    if strides is not None and prod(shape) and any(stride != step for stride, step in many):
        raise InputError(
            f"{name}: must be one contiguous buffer (shape {shape}, strides {tuple(strides)})"
        )
    size = prod(shape) * dtype.itemsize
    return Buffer(
        name, int(address or 0), size, _row_bytes(shape, dtype), dtype, not read_only, True, given
    )


def _row_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return prod(shape[1:]) * dtype.itemsize


class Layout(Protocol):
    """Who has which elements, as an exchange asks for it."""

    @property
    def add(self) -> bool:
        """Whether what arrives is added to what is there; else it replaces it."""

    def local(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the send and receive arrays of `rank`, in the order of the plan's buffers."""


def rank_items(layout: Layout, plan: RankPlan, send: Buffer, receive: Buffer) -> _core.RankItems:
    """The lists of one rank, checked against its plan and its arrays.

    An item is one row of an array.

    Raises:
        InputError: lists, arrays and plan do not fit each other, or elements cannot be added.
    """
    if send.device or receive.device:
        raise InputError("layout: index lists need arrays of this machine, not of a device")
    if send.item_bytes != receive.item_bytes or not send.item_bytes:
        raise InputError(
            f"layout: a row of sendbuf has {send.item_bytes} bytes, of recvbuf "
            f"{receive.item_bytes}: must agree and "
            "not be 0"
        )
    lists = [
        np.ascontiguousarray(frozen_ints(items, np.int64, "layout"))
        for items in layout.local(plan.rank)
    ]
    for items, buffer, planned in zip(
        lists, (send, receive), (plan.send_bytes, plan.receive_bytes), strict=True
    ):
        if items.size * buffer.item_bytes != planned:
            raise InputError(
                f"layout: {items.size} items of {buffer.name}, a row of {buffer.item_bytes} "
                "bytes each, are "
                f"{items.size * buffer.item_bytes} bytes, the plan has {planned}"
            )
        if items.size and not buffer.items:
            raise InputError(f"layout: {items.size} items of {buffer.name}, which has no rows")
        check_range(f"layout: {buffer.name} rows", items, buffer.items)
    return _core.RankItems(
        item_bytes=send.item_bytes,
        send_items=lists[0],
        receive_items=lists[1],
        add=layout.add,
        type=_number(send.dtype, receive.dtype) if layout.add else 0,
    )


def _number(sent: np.dtype[Any], added: np.dtype[Any]) -> int:
    """Of the elements that are added, the core's number."""
    known = _core.item_types()[1:]
    if sent != added:
        raise InputError(f"layout: sendbuf has {sent}, recvbuf {added}: must agree to add")
    if not added.isnative or added.name not in known:
        raise InputError(
            f"layout: elements of {added} cannot be added: known are {', '.join(known)}"
        )
    return 1 + known.index(added.name)


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
