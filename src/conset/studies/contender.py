"""Contenders: ways to send a pattern, compiled for a case and predicted.

Which every study compares.

A contender is a method under a policy, or a program of stages; `auto` is the choice that studies
judge, `naive` the exchange that posts all sends at once, to which they compare. An entry is a
contender compiled for a pattern on a machine. Studies simulate entries (`conset.studies.times`) or
run their plans over MPI.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from conset.base import VerificationError
from conset.compilation import (
    AUTO,
    Combination,
    CompileOptions,
    choose_policy,
    compile_combined,
    compile_pattern,
    summarize,
    summarize_combination,
)
from conset.execution import Plan, make_plan
from conset.machine import Machine
from conset.methods import whose_fault
from conset.models import Prediction, predict
from conset.pattern import Pattern
from conset.schedule import InFlight, Program, Schedule

CHOICE = "auto"
"""Name of the contender that is the choice of conset."""
NAIVE = "naive"
"""Name of the contender that posts all sends at once, as applications do without a schedule."""


@dataclass(frozen=True)
class Contender:
    """A way to send a pattern.

    Attributes:
        name: in results.
        options: options of its compile.
        in_flight: sends a rank keeps open at once, or `all`; None: as the schedule or the machine
            says.
        combine: how messages are combined in stages; None: they are not.
    """

    name: str
    options: CompileOptions
    in_flight: InFlight | None = None
    combine: str | None = None

    def compile(self, pattern: Pattern, machine: Machine) -> Entry:
        """Return the contender compiled for a pattern on a machine.

        Raises:
            ConsetError: it does not apply; says why.
        """
        if self.combine is None:
            entry = Entry(compile_pattern(pattern, machine, self.options))
        else:
            combination = compile_combined(pattern, machine, self.options, self.combine)
            entry = Entry(combination.whole, combination)
        if self.in_flight is None:
            return entry
        return replace(
            entry, whole=replace(entry.whole, in_flight=self.in_flight), in_flight=self.in_flight
        )

    def to_object(self) -> dict[str, Any]:
        """Return what decides its schedule."""
        return {
            "options": self.options.given(),
            "in_flight": self.in_flight,
            "combine": self.combine or "none",
        }


@dataclass(frozen=True, eq=False)
class Entry:
    """A contender compiled for a pattern on a machine.

    Attributes:
        whole: its schedule, or its program as one schedule.
        combination: the program of its stages; None: messages are not combined.
        in_flight: sends a rank keeps open at once, where the contender asked for a number.
    """

    whole: Schedule
    combination: Combination | None = None
    in_flight: InFlight | None = None

    @property
    def program(self) -> Program | None:
        """Program of its stages, if it combines messages."""
        return None if self.combination is None else self.combination.program

    @property
    def model(self) -> str:
        """Model that the machine names for its method."""
        return self.whole.machine.costs_for(self.whole.method).model

    @property
    def contention(self) -> int | None:
        """Limit of a link in a phase; None where there is none or the network has no links."""
        return self.whole.limits.link if self.whole.machine.topology.link_slots else None

    @cached_property
    def prediction(self) -> Prediction:
        """Prediction by formula."""
        return predict(self.whole)

    def under(self, policy: str, options: CompileOptions) -> Entry:
        """Return the same schedule under another policy; `auto`: under its fastest."""
        if policy == AUTO:
            if self.whole.report is not None and self.whole.report.rank_by:
                return self  # it was chosen when it was compiled
            chosen = choose_policy(
                self.whole, rank_by=options.rank_by, effort=options.effort, compared=False
            )
            return replace(self, whole=chosen)
        return replace(self, whole=under(self.whole, policy))

    def summary(self, verified: bool | None = None) -> dict[str, Any]:
        """Return the keys of `compile --json`.

        `verified` states the outcome of a check that was made before.

        Raises:
            VerificationError: the method made a schedule that breaks a rule.
        """
        if self.combination is None:
            made, summary = (
                f"method {self.whole.method} made a schedule",
                summarize(self.whole, verified=verified),
            )
        else:
            made, summary = (
                f"combine {self.combination.combine} made a program",
                summarize_combination(self.combination),
            )
        if not summary["verified"]:
            raise VerificationError(
                f"{made} that does not verify: {whose_fault(self.whole.method)}"
            )
        return summary

    def plan(self) -> Plan:
        """Return what ranks execute."""
        if self.program is not None:
            return make_plan(self.program, in_flight=self.in_flight)
        return make_plan(self.whole, in_flight=self.in_flight)


def under(schedule: Schedule, sync: str) -> Schedule:
    """Return the schedule under another policy, without what was simulated under its own."""
    if sync == schedule.sync:
        return schedule
    other = replace(schedule, sync=sync)
    return other if other.report is None else other.with_report(simulated_s=None, verdict=None)
