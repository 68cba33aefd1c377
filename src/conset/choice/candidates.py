"""Candidates: the methods `auto` tries, as a literal list, with what bounds them; contentions worth a try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conset.machine.machine import Machine
from conset.methods.table import table
from conset.pattern.pattern import Pattern

LARGE = 1 << 17
"""Messages above which a prediction takes a noticeable part of a second."""
SMALL = 1 << 13
"""Messages up to which every method is tried at many contentions, and more may be simulated of each."""
LEAST_LADDER = 4
"""The contention up to which powers of two are tried whatever the pattern."""


@dataclass(frozen=True)
class Candidate:
    """A method that is worth a try.

    Attributes:
        method: its name in the table; skipped where the table has no such row.
        messages: most messages of a pattern it is tried on, per unit of effort; None: any number.
        ladder: whether its phases grow fewer up to a quarter of the longest side of a box, and no further.
        when: what the pattern or machine must have for a gain over the others.
        searched: most messages of a pattern for which the first unit of effort searches beyond a construction; None:
            any number.
    """

    method: str
    messages: int | None = None
    ladder: bool = False
    when: Callable[[Pattern, Machine], bool] = lambda pattern, machine: True
    searched: int | None = None

    def effort(self, pattern: Pattern, effort: int) -> int:
        """Sweeps that the method may make."""
        return effort if self.searched is None or pattern.messages <= self.searched else effort - 1


def _is_complete(pattern: Pattern, machine: Machine) -> bool:
    return pattern.messages == pattern.ranks * (pattern.ranks - 1)


def _is_no_power_of_two(pattern: Pattern, machine: Machine) -> bool:
    return pattern.ranks & (pattern.ranks - 1) != 0


def _is_unequal(pattern: Pattern, machine: Machine) -> bool:
    return not pattern.equal_sizes


def _is_half_duplex(pattern: Pattern, machine: Machine) -> bool:
    return machine.costs.half_duplex


def _needs_connections(pattern: Pattern, machine: Machine) -> bool:
    """Unequal sizes are balanced by annealing, which takes seconds."""
    return machine.limits.channels is not None and pattern.equal_sizes


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("naive"),
    Candidate("lp"),
    Candidate("gen"),
    Candidate("bounded", ladder=True, when=_is_complete, searched=4096),
    Candidate("pex-gen-shift", LARGE, when=_is_no_power_of_two),
    Candidate("coloring", 1 << 21),
    Candidate("rs-n", LARGE),
    Candidate("first-fit", LARGE),
    Candidate("rs-nl", 1 << 14),
    Candidate("half-duplex", 2048, when=_is_half_duplex),
    Candidate("decreasing", 4096, when=_is_unequal, searched=0),
    Candidate("event-list", 2048, when=_is_unequal),
    Candidate("birkhoff", 2048),
    Candidate("negotiated", 2048),
    Candidate("connections", 256, when=_needs_connections),
)
"""What is tried, cheap ones first. pex and pex-gen make the phases of lp, scott those of bounded at contention 1."""


def candidates(pattern: Pattern, machine: Machine, effort: int) -> Iterator[Candidate]:
    """The candidates that are in the table, affordable, and may gain something."""
    known = table()
    for candidate in CANDIDATES:
        affordable = candidate.messages is None or pattern.messages <= candidate.messages * effort
        if candidate.method in known and affordable and candidate.when(pattern, machine):
            yield candidate


def contentions(
    candidate: Candidate, pattern: Pattern, machine: Machine, crowding: float = 0.0
) -> tuple[int | None, ...]:
    """Limits of links worth a try; None is the method's own.

    All methods that keep any: their own, what links carry without harm, and of patterns up to `SMALL` messages powers
    of two, at least up to `LEAST_LADDER` and until ports need as many phases as links. A complete exchange on a box
    needs no more than a quarter of the longest side for that.

    Args:
        candidate: the method.
        pattern: what is sent.
        machine: whose network and tolerance count.
        crowding: the most messages of a link over the most of a port.
    """
    topology = machine.topology
    if not topology.link_slots or "link" not in table()[candidate.method].honours:
        return (None,)
    harmless = machine.costs.tolerance
    small = pattern.messages <= SMALL
    if candidate.ladder and topology.is_box:
        most = -(-max(topology.sides) // 4)
        powers = [1 << k for k in reversed(range(most.bit_length())) if 1 << k < most and pattern.messages <= LARGE]
        more = [LEAST_LADDER] if small else []
        return tuple(dict.fromkeys((most, *powers, min(harmless, most), *more)))
    most = max(LEAST_LADDER, int(crowding)) if small else 1
    powers = [1 << k for k in range(1, most.bit_length() + 1) if 1 << k < 2 * most or 1 << k <= LEAST_LADDER]
    return tuple(dict.fromkeys((None, *(powers if small else ()), *((harmless,) if harmless > 1 else ()))))
