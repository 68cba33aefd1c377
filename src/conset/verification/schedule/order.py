"""Order: the partial order between messages, timetables, and the order in which each rank posts.

Messages keep their order across phases, and inside one by its timetable, or without one by its
list: ranks post what is listed earlier first, and the second of two messages waits for the first.
In a timetable the first one ends when the second one starts or before; of two windows that are one
instant, the list decides.

In a timetable what overlaps in time shares no port and no unit of a link's width: at any instant a
node sends at most one message, receives at most one, and a link carries at most one per unit of its
width, whatever the limits of the phase say: a timetable is what makes many connections of a phase
one after the other. The phases of circuit switches have one clock together, and a node has a port
in every plane, which is a link there. Intervals that only touch do not overlap, and one of no
length overlaps nothing. Transfers inside a node are free. A window is as long as its bytes need at
the slowest of its ports and of one unit of every link, or it is none.
Cost: O(u log u) for the u uses (ports and hops) of a chunk of phases.

A rank posts in the order that the file names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from conset.base import Array, Bools, Floats, Ints
from conset.machine.machine import Machine
from conset.schedule.document import Document
from conset.verification.schedule.messages import sound_pairs
from conset.verification.schedule.traffic import Groups, Traffic
from conset.verification.schedule.walks import Walk
from conset.verification.verification import Violation

_HOPS = 1 << 21
"""Of a chunk of phases."""
_ROUNDING = 1e-9
_ORDERS = ("schedule", "ascending", "rotated", "random", "longest-first", "pairwise", "dimension")
_GRIDS = ("mesh", "torus", "ring", "hypercube")


@dataclass(frozen=True, eq=False)
class _Extent:
    """First and last part of each ordered message in time; all shape=(ordered messages).

    Attributes:
        present: whether it is scheduled at all.
        first: the transfer that starts first: in the earliest phase, there by the timetable, then
            the list.
        last: the transfer that ends last, likewise.
    """

    present: Bools
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
    late = (phase[0] > phase[1]) | ((phase[0] == phase[1]) & ~_earlier(traffic, first, second))
    return [
        _order_violation(traffic, int(pairs[n]), int(first[n]), int(second[n]))
        for n in np.flatnonzero(late).tolist()
    ]


def _earlier(traffic: Traffic, first: Ints, second: Ints) -> Bools:
    """Whether `first` ends in a phase before `second` starts there."""
    table = traffic.document.timetable
    if table is None:
        return first < second
    ends, starts = table[first, 1], table[second, 0]
    instant = (ends == table[first, 0]) & (starts == table[second, 1])
    return np.asarray((ends < starts) | ((ends == starts) & (~instant | (first < second))))


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
        present,
        _least(ordered.size, slot, ids, (phase, start, start < end, ids)),
        _least(ordered.size, slot, ids, (-phase, -end, start < end, -ids)),
    )


def _least(count: int, slot: Ints, ids: Ints, keys: tuple[Array, ...]) -> Ints:
    """For each slot the transfer with the least keys, the first key first.

    0 where there is none.
    """
    order = np.lexsort((*keys[::-1], slot))
    result = np.zeros(count, np.intp)
    head = np.diff(slot[order], prepend=-1) != 0
    result[slot[order][head]] = ids[order][head]
    return result


def _order_violation(traffic: Traffic, pair: int, first: int, second: int) -> Violation:
    document = traffic.document
    i, j = int(document.transfer_message[first]), int(document.transfer_message[second])
    return Violation(
        *traffic.place_of(second),
        "order",
        f"before[{pair}] = [{i}, {j}]: message {i} "
        f"({traffic.where(first)}{_time(traffic, first, 1)}) must end before "
        f"message {j} ({traffic.where(second)}{_time(traffic, second, 0)}) starts",
    )


def _time(traffic: Traffic, transfer: int, side: int) -> str:
    table = traffic.document.timetable
    return "" if table is None else f", {('starts', 'ends')[side]} at {table[transfer, side]:g} s"


def check_timetable(traffic: Traffic, walk: Walk, machine: Machine) -> Iterator[Violation]:
    """Rules `timetable-interval`, `-length`, `-send`, `-receive` and `-link`."""
    table = traffic.document.timetable
    if table is None:
        return
    with np.errstate(invalid="ignore"):
        sound = np.asarray(
            np.isfinite(table).all(axis=1) & (table[:, 0] >= 0) & (table[:, 0] <= table[:, 1])
        )
    for k in np.flatnonzero(~sound).tolist():
        yield traffic.violation(
            k,
            "timetable-interval",
            f"from {table[k, 0]:g} s to {table[k, 1]:g} s: must be finite, from 0 on, the end "
            "not before the start",
        )
    offsets = traffic.offsets[[0, -1]] if machine.is_circuit else traffic.offsets
    groups = Groups.of_phases(offsets)
    for low, high in groups.chunks(groups.count, max(1, _HOPS // max(walk.longest, 1))):
        # a phase is never cut: what overlaps is in one phase
        for ids, group in groups.blocks(low, high, max(1, groups.transfers)):
            used = traffic.networked(ids) & sound[ids]
            yield from _check_lengths(traffic, walk, machine, ids[used])
            used &= table[ids, 0] < table[ids, 1]
            for kind, uses in _uses(traffic, walk, machine, ids[used], group[used]):
                for hit in uses.overlaps():
                    yield _overlap_violation(traffic, kind, *hit)


def _check_lengths(
    traffic: Traffic, walk: Walk, machine: Machine, ids: Ints
) -> Iterator[Violation]:
    """Rule `timetable-length` for transfers that use the network."""
    table, costs, topology = (
        traffic.document.timetable,
        machine.costs_for(traffic.document.method),
        machine.topology,
    )
    if table is None or not ids.size:
        return
    per_byte = np.full(
        ids.size, max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps, 1 / costs.node_Bps)
    )
    if topology.link_rate_Bps is not None or costs.link_Bps < np.inf:
        position, link = walk.hops(ids, traffic.source[ids], traffic.target[ids])
        rate = costs.link_Bps if topology.link_rate_Bps is None else topology.link_rate_Bps[link]
        np.maximum.at(per_byte, position, 1 / rate)
    need = np.maximum(traffic.document.transfer_size[ids], 0) * per_byte
    start, end = table[ids].T
    # times later in a phase are known to fewer digits
    rounded = need * (1 - _ROUNDING) - 4 * np.spacing(end)
    short = np.flatnonzero(((end - start) < rounded) | ((need > 0) & (end <= start)))
    for n in short.tolist():
        k = int(ids[n])
        size = traffic.document.transfer_size[k]
        yield traffic.violation(
            k,
            "timetable-length",
            f"from {start[n]:g} s to {end[n]:g} s, its {size} B need at least {need[n]:.6g} s",
        )


@dataclass(frozen=True, eq=False)
class _Uses:
    """Intervals on resources: `transfer[k]` holds `key[k]` from `start[k]` to `end[k]`.

    `room[k]` may at once.

    `key` is group · resources + resource.
    """

    resources: int
    key: Ints
    transfer: Ints
    start: Floats
    end: Floats
    room: Ints

    def overlaps(self) -> Iterator[tuple[int, int, list[int]]]:
        """(resource, transfer, those that hold it) for each transfer that starts without room."""
        count, by_key = self.key.size, np.argsort(self.key, kind="stable")
        time = np.concatenate([self.end, self.start])
        change = np.repeat(np.array([-1, 1]), count)
        # ends first: intervals that touch do not overlap
        order = np.lexsort((np.tile(self.transfer, 2), change, time, np.tile(self.key, 2)))
        held = np.cumsum(change[order])
        use = order % max(1, count)
        for n in np.flatnonzero((change[order] > 0) & (held > self.room[use])).tolist():
            k = int(use[n])
            yield int(self.key[k]) % self.resources, int(self.transfer[k]), self._holders(k, by_key)

    def _holders(self, k: int, by_key: Ints) -> list[int]:
        """Those that hold the resource of use `k` as it starts; `by_key` sorts all uses."""
        low, high = np.searchsorted(
            self.key, [self.key[k], self.key[k] + 1], sorter=by_key
        ).tolist()
        same = by_key[low:high]
        over: Bools = (
            (self.start[same] <= self.start[k]) & (self.start[k] < self.end[same]) & (same != k)
        )
        return sorted(self.transfer[same[over]].tolist())


def _uses(
    traffic: Traffic, walk: Walk, machine: Machine, ids: Ints, group: Ints
) -> Iterator[tuple[str, _Uses]]:
    topology, table = traffic.topology, traffic.document.timetable
    if table is None or not ids.size:
        return
    source, target = traffic.source[ids], traffic.target[ids]
    start, end, one = table[ids, 0], table[ids, 1], np.ones(ids.size, np.intp)
    ends = (("send", source), ("receive", target))
    for kind, node in () if machine.is_circuit and topology.link_slots else ends:
        yield kind, _Uses(topology.nodes, group * topology.nodes + node, ids, start, end, one)
    position, link = walk.hops(ids, source, target)
    if link.size:
        slots, room = topology.link_slots, topology.widths()[link].astype(np.intp)
        yield (
            "link",
            _Uses(
                slots,
                group[position] * slots + link,
                ids[position],
                start[position],
                end[position],
                room,
            ),
        )


def _overlap_violation(
    traffic: Traffic, kind: str, resource: int, transfer: int, holders: list[int]
) -> Violation:
    topology, table = traffic.topology, traffic.document.timetable
    start = 0.0 if table is None else float(table[transfer, 0])
    phase, place = traffic.place_of(transfer)
    others = ", ".join(str(traffic.place_of(k)[1]) for k in holders)
    width = int(topology.widths()[resource]) if kind == "link" else 1
    name = topology.link_name(resource) if kind == "link" else topology.node_name(resource)
    verb = {"send": "sends", "receive": "receives", "link": "carries"}[kind]
    return Violation(
        phase,
        place,
        f"timetable-{kind}",
        f"phase {phase}: {name} {verb} transfer {place} from {start:g} s on while still busy "
        f"with {others}, the limit is {width} at once",
    )


def check_posting(traffic: Traffic) -> Iterator[Violation]:
    """Rules `in-flight` and `posting`; the place is that of the transfer that comes too late."""
    document = traffic.document
    flight = document.in_flight
    if not (flight is None or flight == "all" or (type(flight) is int and flight >= 1)):
        yield Violation(
            None,
            None,
            "in-flight",
            f"in_flight is {flight!r}, must be a whole number of at least 1, or 'all'",
        )
    if document.posting not in _ORDERS:
        yield Violation(
            None,
            None,
            "posting",
            f"posting is {document.posting!r}, must be one of {', '.join(_ORDERS)}",
        )
    elif document.posting == "dimension" and traffic.topology.kind not in _GRIDS:
        yield Violation(
            None,
            None,
            "posting",
            f"posting is 'dimension', which requires one of {', '.join(_GRIDS)}, not a "
            f"{traffic.topology.kind}",
        )
    elif document.posting not in ("schedule", "random"):
        yield from _check_lists(traffic)


def _check_lists(traffic: Traffic) -> Iterator[Violation]:
    """Neighbours in a rank's list of a phase of which the second should come first."""
    document = traffic.document
    count = document.transfer_source.size
    phase = np.searchsorted(traffic.offsets, np.arange(count), side="right") - 1
    source = document.transfer_source.astype(np.int64)
    order = np.lexsort((source, phase))  # stable: list order within a rank and phase
    one, other = order[:-1], order[1:]
    same = (phase[one] == phase[other]) & (source[one] == source[other])
    one, other = one[same], other[same]
    for a, b in zip(*_falling(traffic, one, other), strict=True):
        yield traffic.violation(
            int(b),
            "posting",
            f"posting {document.posting} has {_described(document, b)} before "
            f"{_described(document, a)} (transfer {a})",
        )


def _described(document: Document, k: int) -> str:
    ends = f"{document.transfer_source[k]} → {document.transfer_target[k]}"
    return f"{ends}, {document.transfer_size[k]} B"


def _falling(traffic: Traffic, one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """The pairs whose second comes before the first by the named order."""
    document = traffic.document
    target = document.transfer_target.astype(np.int64)
    if document.posting == "ascending":
        wrong = target[one] > target[other]
    elif document.posting == "pairwise":
        bits = target ^ document.transfer_source
        wrong = bits[one] > bits[other]
    elif document.posting == "dimension":
        displacement = _displacement(traffic)
        wrong = displacement[one] > displacement[other]
    else:
        distance = (target - document.transfer_source) % max(document.ranks, 1)
        wrong = distance[one] > distance[other]
        if document.posting == "longest-first":
            size = document.transfer_size
            wrong = (size[one] < size[other]) | ((size[one] == size[other]) & wrong)
    return one[wrong], other[wrong]


def _displacement(traffic: Traffic) -> Ints:
    """shape=(transfers): how far up each goes in every dimension of a grid.

    As the number of the node so far from 0.
    """
    number = np.zeros(traffic.source.size, np.int64)
    stride = 1
    for side in reversed(traffic.topology.sides):
        up = (traffic.target.astype(np.int64) // stride - traffic.source // stride) % side
        number += up * stride
        stride *= side
    return number
