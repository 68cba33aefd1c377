"""Circuit switches: what is connected, and the time that every change of it needs.

Every plane of the machine is a switch. While a transfer passes, its port out and its port in are
connected in its plane, to each other and to nothing else. A change takes `reconfigure` seconds,
also the first one, in which the plane carries nothing; with `partial` the two ports do not.

A stretch of a plane between two gaps of at least that length has one set of connections: a port
has one partner in it. With `partial`, what passes a port next has the same partner, or comes at
least so much later. Gaps are found from the times alone, nothing is taken from how the schedule
was made. Cost: O(u log u) for the u transfers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conset.base import Bools, Floats, Integers, Ints, format_time
from conset.machine.machine import Machine
from conset.verification.schedule.traffic import Traffic
from conset.verification.schedule.walks import Walk
from conset.verification.verification import Violation

_ROUNDING = 1e-9


def check_circuits(traffic: Traffic, walk: Walk, machine: Machine) -> Iterator[Violation]:
    """Rules `circuit-times` and `circuit-change`."""
    delta, table = machine.costs.reconfigure_s, traffic.document.timetable
    if delta is None:
        return
    ids = np.arange(traffic.source.size)
    ids = ids[traffic.networked(ids)]
    if table is None:
        if ids.size:
            text = f"{machine.name} has circuit switches: a timetable is required, given none"
            yield Violation(None, None, "circuit-times", text)
        return
    ids = ids[np.isfinite(table[ids]).all(axis=1)]
    plane = np.zeros(ids.size, np.int64)
    if machine.topology.link_slots:
        position, link = walk.hops(ids, traffic.source[ids], traffic.target[ids])
        plane[position] = link % machine.topology.planes
    order = np.lexsort((ids, table[ids, 1], table[ids, 0], plane))
    ids, plane = ids[order], plane[order]
    begin, end = table[ids].T
    needed = delta * (1 - _ROUNDING) - 4 * np.spacing(np.abs(end))
    if machine.costs.partial:
        hit = np.zeros(ids.size, bool)
        ports = traffic.source[ids], traffic.target[ids]
        for port in ports:
            hit |= _changes_too_soon(
                plane * traffic.topology.nodes + port, ports, begin, end, needed
            )
    else:
        hit = _shares_a_port(traffic, ids, _stretches(plane, begin, end, needed))
        hit |= begin < needed
    what = "its two ports carry" if machine.costs.partial else "the plane carries"
    for n in np.flatnonzero(hit).tolist():
        k = int(ids[n])
        names = (
            traffic.topology.node_name(int(ends[k])) for ends in (traffic.source, traffic.target)
        )
        yield traffic.violation(
            k,
            "circuit-change",
            f"plane {plane[n]} connects {' to '.join(names)} from {begin[n]:.9g} s on: "
            f"reconfigures in {format_time(delta)}, before which {what} other bytes",
        )


def _stretches(plane: Ints, begin: Floats, end: Floats, needed: Floats) -> Ints:
    """The stretch of every transfer, sorted by plane and begin: another one behind every gap."""
    first = np.diff(plane, prepend=-1) != 0
    latest = np.empty(end.size)
    for low, high in _runs(plane):
        latest[low:high] = np.maximum.accumulate(end[low:high])
    gap = begin - np.concatenate([[0.0], latest[:-1]])
    return np.cumsum(first | (gap >= needed))


def _runs(key: Ints) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of entries in a row that are the same."""
    first = np.flatnonzero(np.diff(key, prepend=-1))
    yield from zip(first.tolist(), [*first[1:].tolist(), key.size][: first.size], strict=True)


def _shares_a_port(traffic: Traffic, ids: Ints, stretch: Ints) -> Bools:
    """Which transfers find a port of theirs connected to another one in their stretch."""
    hit = np.zeros(ids.size, bool)
    ends = traffic.source[ids].astype(np.int64), traffic.target[ids].astype(np.int64)
    for port, partner in (ends, ends[::-1]):
        key = stretch * traffic.topology.nodes + port
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        hit |= partner[first][number] != partner
    return hit


def _changes_too_soon(
    key: Ints, ends: tuple[Integers, Integers], begin: Floats, end: Floats, needed: Floats
) -> Bools:
    """Which transfers follow one with another partner at a port sooner than it can change."""
    order = np.argsort(key, kind="stable")  # sorted by begin before
    hit = np.zeros(key.size, bool)
    for low, high in _runs(key[order]):
        rows = order[low:high]
        latest = np.concatenate([[0.0], np.maximum.accumulate(end[rows])[:-1]])
        new = np.ones(rows.size, bool)
        new[1:] = (np.diff(ends[0][rows]) != 0) | (np.diff(ends[1][rows]) != 0)
        hit[rows] = new & (begin[rows] - latest < needed[rows])
    return hit
