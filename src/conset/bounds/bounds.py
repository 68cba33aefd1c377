"""Bounds: numbers that no schedule of a class beats, each with the witness that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from conset.base import ValueObject


@dataclass(frozen=True, eq=False)
class Candidate(ValueObject):
    """One bound: the largest of its kind wins.

    Attributes:
        name: of the argument: `port degree`, `link load` …
        what: `phases`, `time` [s], or `load`: the sum over phases of the largest load at any port
            or link; of programs that forward, `sends`: the sum over stages of the most bundles of a
            rank, or `volume`: bytes times ways over bytes.
        value: what no schedule of the class goes below.
        witness: the port, link, chain or message that proves it, as text.
    """

    name: str
    what: Literal["phases", "time", "load", "sends", "volume"]
    value: float
    witness: str


@dataclass(frozen=True)
class TimeOfClass:
    """Least time [s] of the schedules of a class, with what proves it; as in `bound --json`."""

    time_s: float
    time_witness: str
    time_class: str


@dataclass(frozen=True, eq=False)
class Bounds(ValueObject):
    """What no schedule of a class beats.

    Attributes:
        phases: least number of phases.
        phases_witness: what proves it, as text.
        phases_class: which schedules it speaks of.
        time_s: least predicted time [s]; rounded down by 10⁻¹², so that sums in another order stay
            above it.
        time_witness: what proves it.
        time_class: which schedules it speaks of.
        candidates: every bound that was tried, phases first, each kind in the order of its table.
        load_sum: least sum over phases of the largest load at any port or link (ΣL); a whole number
            where routes are known, else a bound of the expectation, or of fractions.
        load_sum_witness: what proves it.
        load_sum_class: which schedules it speaks of.
    """

    phases: int
    phases_witness: str
    phases_class: str
    time_s: float
    time_witness: str
    time_class: str
    candidates: tuple[Candidate, ...] = ()
    load_sum: float = 0
    load_sum_witness: str = "no messages"
    load_sum_class: str = ""

    def to_object(self) -> dict[str, Any]:
        """The largest bounds with witness and class, as in `compile --json`."""
        kinds = (
            ("phases", "phases_witness", "phases_class"),
            ("time_s", "time_witness", "time_class"),
        )
        names = (*kinds[0], *kinds[1], "load_sum", "load_sum_witness", "load_sum_class")
        return {name: getattr(self, name) for name in names}
