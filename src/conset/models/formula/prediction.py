"""Prediction: the time a schedule takes by formula, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conset.base import Floats, ValueObject


@dataclass(frozen=True, eq=False)
class Prediction(ValueObject):
    """What a formula says; no events, no measurements.

    Attributes:
        time_s: `synchronization` + `setup` + `transfer` [s].
        sync: the policy predicted for.
        phase_s: shape=(phases), float64 [s]: how much later the end comes because of each phase,
            given those before it. They add up to `time_s`; with a barrier after every phase it is
            simply how long each one takes.
        terms: `synchronization`, `setup` and `transfer` [s].
        warnings: a line each: what the machine's numbers were not made for.
        formula: the policy's formula as text.
        witness: the busiest resource where it takes longest: `phase 3: port out of node 5`.
        witness_kind: `port out`, `port in`, `node`, `link` or `message`; `nothing` where nothing
            leaves its node.
        machine: the machine predicted for.
        computation: of a machine that is to compute meanwhile, `computation_s`, `hidden_s` and
            `with_computation_s`.
    """

    time_s: float
    sync: str
    phase_s: Floats
    terms: dict[str, float]
    warnings: tuple[str, ...]
    formula: str
    witness: str
    witness_kind: str
    machine: str
    computation: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._freeze()

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it."""
        return {
            "time_s": self.time_s,
            "sync": self.sync,
            "phase_s": self.phase_s.tolist(),
            "terms": dict(self.terms),
            "machine": self.machine,
            "formula": self.formula,
            "witness": self.witness,
            "warnings": list(self.warnings),
            **self.computation,
        }

    def __repr__(self) -> str:
        return (
            f"Prediction({self.time_s:.6g} s on {self.machine}, sync={self.sync}, {self.witness})"
        )
