"""What conset makes of a pattern: the plans that its executor carries out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import conset
from conset.execution.plan import Plan
from conset.execution.planner import plan_schedule
from conset.pattern.pattern import Pattern


@dataclass(frozen=True)
class Combined:
    """Plans of one pattern.

    Attributes:
        plans: name → group and plan.
        auto: what `auto` took; None where there is no machine.
        predicted: what it thought of each way [s].
    """

    plans: dict[str, tuple[str, Plan]]
    auto: str | None = None
    predicted: dict[str, float] = field(default_factory=dict)


def plans_of(pattern: Pattern, machine: Path | None, combine: list[str]) -> Combined:
    """The direct exchange, programs with the given words, and what `auto` takes on the machine."""
    on = f"crossbar:{pattern.ranks}"
    direct = conset.compile(pattern, on, method="naive", sync="none")
    plans = {"direct": ("direct", plan_schedule(direct))}
    return Combined(plans)
