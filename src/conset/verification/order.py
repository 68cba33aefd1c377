"""The partial order between messages: across phases, and inside one by its timetable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.verification.messages import sound_pairs
from conset.verification.traffic import Ints, Mask, Traffic
from conset.verification.verification import Violation


@dataclass(frozen=True, eq=False)
class _Extent:
    """First and last part of each ordered message in time; all shape=(ordered messages).

    Attributes:
        present: whether it is scheduled at all.
        first: the transfer that starts first: in the earliest phase, there by the timetable or the list.
        last: the transfer that ends last.
    """

    present: Mask
    first: Ints
    last: Ints


def check_order(traffic: Traffic) -> list[Violation]:
    """Rule `order`; the place is that of the second message's first part."""
    document = traffic.document
    if document.before is None:
        return []
    pairs = np.flatnonzero(sound_pairs(document))
    if not pairs.size:
        return []
    before = document.before[pairs].astype(np.intp)
    ordered, column = np.unique(before, return_inverse=True)
    column = column.reshape(before.shape)
    extent = _extents(traffic, ordered)
    both = extent.present[column].all(axis=1)
    pairs, first, second = pairs[both], extent.last[column[both, 0]], extent.first[column[both, 1]]
    phase = np.searchsorted(traffic.offsets, np.stack([first, second]), side="right") - 1
    late = phase[0] >= phase[1]
    if document.timetable is not None:
        same = phase[0] == phase[1]
        late &= ~(same & (document.timetable[first, 1] <= document.timetable[second, 0]))
    return [_violation(traffic, int(pairs[n]), int(first[n]), int(second[n])) for n in np.flatnonzero(late).tolist()]


def _extents(traffic: Traffic, ordered: Ints) -> _Extent:
    """Where the parts of `ordered` messages (sorted) begin and end."""
    message = traffic.document.transfer_message
    ids = np.flatnonzero(np.isin(message, ordered))
    slot = np.searchsorted(ordered, message[ids])
    phase = np.searchsorted(traffic.offsets, ids, side="right") - 1
    table = traffic.document.timetable
    start = np.zeros(ids.size) if table is None else table[ids, 0]
    end = np.zeros(ids.size) if table is None else table[ids, 1]
    present = np.zeros(ordered.size, bool)
    present[slot] = True
    return _Extent(
        present, _earliest(ordered.size, slot, ids, phase, start), _earliest(ordered.size, slot, ids, -phase, -end)
    )


def _earliest(count: int, slot: Ints, ids: Ints, phase: Ints, time: NDArray[np.float64]) -> Ints:
    """For each slot the transfer that is lowest by (phase, time); 0 where there is none."""
    order = np.lexsort((ids, time, phase, slot))
    result = np.zeros(count, np.intp)
    head = np.diff(slot[order], prepend=-1) != 0
    result[slot[order][head]] = ids[order][head]
    return result


def _violation(traffic: Traffic, pair: int, first: int, second: int) -> Violation:
    document = traffic.document
    i, j = int(document.transfer_message[first]), int(document.transfer_message[second])
    text = (
        f"before[{pair}] = [{i}, {j}]: message {i} ({traffic.where(first)}{_time(traffic, first, 1)}) must end before "
    )
    text += f"message {j} ({traffic.where(second)}{_time(traffic, second, 0)}) starts"
    return Violation(*traffic.place_of(second), "order", text)


def _time(traffic: Traffic, transfer: int, side: int) -> str:
    table = traffic.document.timetable
    return "" if table is None else f", {('starts', 'ends')[side]} at {table[transfer, side]:g} s"
