"""Parameters: the words that are fitted together.

As numbers that a search can change, and the costs that they make.

Times are counted in the time of a small message alone, rates by their logarithm, so that a step of
one size means the same everywhere. A cost by size is a first value and what is added above a size
(`send_overhead>4096`). A word that is not among them is not fitted: a rate is then no limit, a
time 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from conset.machine.costs import Costs, Steps

RATES: dict[str, tuple[str, ...]] = {
    "port": ("port_out_Bps", "port_in_Bps"),
    "port_out": ("port_out_Bps",),
    "port_in": ("port_in_Bps",),
    "node": ("node_Bps",),
    "link": ("link_Bps",),
}
"""Rates, and the fields of `Costs` they set: one for both ports where nothing tells them apart."""
TIMES = ("send_overhead", "receive_overhead", "inject", "hop")
"""Words that may change with the size; `hop` then is `hop_by_size`."""
START = "start"
"""How far apart ranks begin: part of what is measured, no word of the machine."""

Values = NDArray[np.float64]


def step_name(word: str, above: int) -> str:
    """The name of what a word costs more above a size [B]."""
    return f"{word}>{above}"


@dataclass(frozen=True)
class Parameters:
    """Numbers by name, and the choices that are no numbers.

    Attributes:
        values: times [s] and rates [B/s].
        processors: of a rank.
        in_flight: slots of a rank; None: all.
        unit_s: the time of a small message alone [s].
    """

    values: Mapping[str, float]
    unit_s: float
    processors: Literal["one", "two"] = "two"
    in_flight: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of `to_vector`."""
        return tuple(self.values)

    @property
    def start_s(self) -> float:
        """What every probe takes besides [s]."""
        return self.values.get(START, 0.0)

    def is_rate(self, name: str) -> bool:
        """Whether a number is a rate."""
        return name in RATES

    def to_vector(self) -> Values:
        """shape=(numbers)."""
        return np.array(
            [
                log(value) if name in RATES else value / self.unit_s
                for name, value in self.values.items()
            ]
        )

    def with_vector(self, vector: Values) -> Parameters:
        """The same parameters with other numbers."""
        values = {
            name: exp(x) if name in RATES else max(float(x), 0.0) * self.unit_s
            for name, x in zip(self.values, vector, strict=True)
        }
        return replace(self, values=values)

    def with_value(self, name: str, value: float) -> Parameters:
        """With one more number, or another one."""
        return replace(self, values={**self.values, name: value})

    def without(self, name: str) -> Parameters:
        """Without a number."""
        return replace(
            self, values={word: value for word, value in self.values.items() if word != name}
        )

    def steps(self, word: str) -> Steps:
        """A time by size."""
        base = self.values.get(word, 0.0)
        above = sorted(
            (int(name.partition(">")[2]), value)
            for name, value in self.values.items()
            if name.startswith(f"{word}>")
        )
        seconds = base + np.concatenate([[0.0], np.cumsum([value for _, value in above])])
        return Steps(tuple(seconds.tolist()), (*(float(size) for size, _ in above), inf))

    def costs(self, base: Costs) -> Costs:
        """`base` with these words."""
        hop = self.steps("hop")
        fields: dict[str, Any] = {
            "send_overhead": self.steps("send_overhead"),
            "receive_overhead": self.steps("receive_overhead"),
            "inject": self.steps("inject"),
            "eject": Steps(),
            "hop_s": hop.seconds[0],
            "hop_by_size": hop if len(hop.seconds) > 1 else None,
            "processors": self.processors,
            "in_flight": self.in_flight,
        }
        fields |= dict.fromkeys((name for names in RATES.values() for name in names), inf)
        fields |= {
            name: self.values[word]
            for word, names in RATES.items()
            if word in self.values
            for name in names
        }
        return replace(base, **fields)
