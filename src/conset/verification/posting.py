"""Does every rank post in the order that the file names, and is the number of open sends one?"""

from __future__ import annotations

import numpy as np

from conset.verification.traffic import Ints, Traffic
from conset.verification.verification import Violation

_ORDERS = ("schedule", "ascending", "rotated", "random", "longest-first")


def check_posting(traffic: Traffic) -> list[Violation]:
    """Rules `in-flight` and `posting`; the place is that of the transfer that stands too late."""
    document = traffic.document
    found = []
    flight = document.in_flight
    if not (flight is None or flight == "all" or (type(flight) is int and flight >= 1)):
        text = f"in_flight is {flight!r}, must be a whole number of at least 1, or 'all'"
        found.append(Violation(None, None, "in-flight", text))
    if document.posting not in _ORDERS:
        text = f"posting is {document.posting!r}, must be one of {', '.join(_ORDERS)}"
        return [*found, Violation(None, None, "posting", text)]
    if document.posting in ("schedule", "random"):
        return found
    return found + _check_list(traffic)


def _check_list(traffic: Traffic) -> list[Violation]:
    """Neighbours in a rank's own list of a phase, the second of which should stand before the first."""
    document = traffic.document
    count = document.transfer_source.size
    phase = np.searchsorted(traffic.offsets, np.arange(count), side="right") - 1
    source = document.transfer_source.astype(np.int64)
    order = np.lexsort((source, phase))  # stable: list order within a rank and phase
    one, other = order[:-1], order[1:]
    same = (phase[one] == phase[other]) & (source[one] == source[other])
    one, other = one[same], other[same]
    return [_violation(traffic, int(a), int(b)) for a, b in zip(*_falling(traffic, one, other), strict=True)]


def _falling(traffic: Traffic, one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """The pairs whose second comes before the first by the named order."""
    document = traffic.document
    target = document.transfer_target.astype(np.int64)
    if document.posting == "ascending":
        wrong = target[one] > target[other]
    else:
        distance = (target - document.transfer_source) % max(document.ranks, 1)
        wrong = distance[one] > distance[other]
        if document.posting == "longest-first":
            size = document.transfer_size
            wrong = (size[one] < size[other]) | ((size[one] == size[other]) & wrong)
    return one[wrong], other[wrong]


def _violation(traffic: Traffic, one: int, other: int) -> Violation:
    d = traffic.document

    def describe(k: int) -> str:
        return f"{d.transfer_source[k]} → {d.transfer_target[k]}, {d.transfer_size[k]} B"

    text = f"{traffic.where(other)}: posting {d.posting} has {describe(other)} before {describe(one)} (transfer {one})"
    return Violation(*traffic.place_of(other), "posting", text)
