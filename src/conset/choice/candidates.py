"""Candidates: the methods `auto` tries, as a literal list, with what bounds them; contentions worth a try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conset.machine.machine import Machine
from conset.methods.table import table
from conset.pattern.pattern import Pattern

LARGE = 1 << 17
"""Messages above which a prediction takes a noticeable part of a second."""


@dataclass(frozen=True)
class Candidate:
    """A method that is worth a try.

    Attributes:
        method: its name in the table; skipped where the table has no such row.
        messages: most messages of a pattern it is tried on, per unit of effort; None: any number.
        ladder: whether many limits of links are tried, unless options ask for one; else at most two.
        when: what the pattern or machine must have for a gain over the others.
        searches: whether effort is for searching beyond a construction, which the first unit leaves out.
    """

    method: str
    messages: int | None = None
    ladder: bool = False
    when: Callable[[Pattern, Machine], bool] = lambda pattern, machine: True
    searches: bool = False


def _is_complete(pattern: Pattern, machine: Machine) -> bool:
    return pattern.messages == pattern.ranks * (pattern.ranks - 1)


def _is_no_power_of_two(pattern: Pattern, machine: Machine) -> bool:
    return pattern.ranks & (pattern.ranks - 1) != 0


def _is_unequal(pattern: Pattern, machine: Machine) -> bool:
    return not pattern.equal_sizes


def _is_half_duplex(pattern: Pattern, machine: Machine) -> bool:
    return machine.costs.half_duplex


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("naive"),
    Candidate("lp"),
    Candidate("gen"),
    Candidate("bounded", ladder=True, when=_is_complete, searches=True),
    Candidate("pex-gen-shift", LARGE, when=_is_no_power_of_two),
    Candidate("coloring", 1 << 21),
    Candidate("rs-n", LARGE),
    Candidate("first-fit", LARGE),
    Candidate("rs-nl", 1 << 14),
    Candidate("half-duplex", 512, when=_is_half_duplex),
    Candidate("decreasing", 4096, when=_is_unequal),
    Candidate("event-list", 4096, when=_is_unequal),
    Candidate("birkhoff", 1024, when=_is_unequal),
    Candidate("negotiated", 512),
    Candidate("connections", 512, when=lambda pattern, machine: machine.limits.channels is not None),
)
"""What is tried, cheap ones first. pex and pex-gen make the phases of lp, scott those of bounded at contention 1."""


def candidates(pattern: Pattern, machine: Machine, effort: int) -> Iterator[Candidate]:
    """The candidates that are in the table, affordable, and may gain something."""
    known = table()
    for candidate in CANDIDATES:
        affordable = candidate.messages is None or pattern.messages <= candidate.messages * effort
        if candidate.method in known and affordable and candidate.when(pattern, machine):
            yield candidate


def contentions(candidate: Candidate, pattern: Pattern, machine: Machine) -> tuple[int | None, ...]:
    """Limits of links worth a try; None is the method's own.

    All methods that keep any: their own, and what links carry without harm. A ladder, on a box: powers of two up to a
    quarter of the longest side, where a complete exchange needs no more phases than ports do.
    """
    topology = machine.topology
    if not topology.link_slots or "link" not in table()[candidate.method].honours:
        return (None,)
    harmless = machine.costs.tolerance
    if not candidate.ladder or not topology.is_box:
        return (None, harmless) if harmless > 1 else (None,)
    most = -(-max(topology.sides) // 4)
    powers = [1 << k for k in reversed(range(most.bit_length())) if 1 << k < most and pattern.messages <= LARGE]
    return tuple(dict.fromkeys((most, *powers, min(harmless, most))))
