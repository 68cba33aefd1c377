"""Items: index lists that say where the bytes of a plan lie in the caller's arrays."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import check_range, frozen_ints
from conset.base.errors import InputError
from conset.execution.buffers import Buffer
from conset.execution.rank_plan import RankPlan


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
