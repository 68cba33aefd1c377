"""Buffers of applications: what is taken, and what is refused in one line."""

from __future__ import annotations

import array
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError
from conset.execution.buffers import find_buffer, find_buffers


def device(values: np.ndarray[Any, Any], **other: Any) -> Any:
    interface = {
        "shape": values.shape,
        "typestr": values.dtype.str,
        "data": (values.ctypes.data, False),
        "version": 3,
    }
    return SimpleNamespace(__cuda_array_interface__=interface | other)


@pytest.mark.parametrize(
    ("given", "size", "row"),
    [
        (np.zeros((5, 3), np.float32), 60, 12),
        (np.zeros(4, np.complex128), 64, 16),
        (np.zeros((0, 7)), 0, 56),
        (np.zeros(6, "M8[s]"), 48, 8),
        (np.zeros(2, [("one", "f8"), ("two", "i2")]), 20, 10),
        (bytearray(9), 9, 1),
        (b"", 0, 1),
        (array.array("i", [1, 2, 3]), 12, 4),
        (memoryview(bytearray(12)).cast("B", (3, 4)), 12, 4),
        (device(np.zeros((5, 3))), 120, 24),
        (device(np.zeros((5, 3)), strides=(24, 8)), 120, 24),
        (device(np.zeros((1, 3)), strides=(999, 8)), 24, 24),
        (device(np.zeros((0, 3)), data=(0, False)), 0, 24),
    ],
)
def test_bytes_and_rows(given: Any, size: int, row: int) -> None:
    found = find_buffer(given, "sendbuf")
    assert (found.bytes, found.item_bytes, found.items) == (size, row, size // row)
    assert found.owner is given


def test_an_array_of_a_device_is_passed_on_by_its_pointer() -> None:
    values = np.zeros(4)
    found = find_buffer(device(values), "recvbuf")
    assert (found.address, found.device, found.writable) == (values.ctypes.data, True, True)
    assert not find_buffer(device(values, data=(values.ctypes.data, True)), "recvbuf").writable


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, "sendbuf: a contiguous buffer required, given NoneType"),
        (
            np.zeros((4, 4))[:, 1],
            "sendbuf: must be one contiguous buffer (shape (4,), strides (32,))",
        ),
        (
            np.zeros((4, 4)).T[:3],
            "sendbuf: must be one contiguous buffer (shape (3, 4), strides (8, 32))",
        ),
        (
            memoryview(bytes(8))[::2],
            "sendbuf: must be one contiguous buffer (shape (4,), strides (2,))",
        ),
        (np.array([None]), "sendbuf: has Python objects (object): numbers or bytes required"),
        (
            device(np.zeros((5, 3)), strides=(48, 8)),
            "sendbuf: must be one contiguous buffer (shape (5, 3), strides",
        ),
        (device(np.zeros(1), typestr="?!"), "sendbuf: its __cuda_array_interface__ is incomplete"),
        (
            SimpleNamespace(__cuda_array_interface__={}),
            "sendbuf: its __cuda_array_interface__ is incomplete: 'shape'",
        ),
    ],
)
def test_what_is_no_buffer(given: Any, text: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(text)):
        find_buffer(given, "sendbuf")


def test_both_sides() -> None:
    both = np.zeros(10)
    find_buffers(both[:5], both[5:])
    find_buffers(both[:0], both)
    with pytest.raises(InputError, match="recvbuf: must not overlap sendbuf"):
        find_buffers(both[:6], both[5:])
    with pytest.raises(InputError, match="recvbuf: must not overlap sendbuf"):
        find_buffers(device(both), both)
    with pytest.raises(InputError, match="recvbuf: must be writable"):
        find_buffers(both, bytes(8))
