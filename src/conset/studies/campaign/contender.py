"""Contender: a way to send a pattern.

The schedules that a campaign's file asks for, made and predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from conset.base.errors import ConsetError
from conset.compilation.combining.choose import compile_combined
from conset.compilation.options import AUTO, FORMULA, CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.execution.plan import Plan
from conset.execution.planner import plan_program, plan_schedule
from conset.machine.machine import Machine
from conset.methods.paths.table import parse_combine
from conset.methods.phases.table import find_method
from conset.models.formula import predict
from conset.pattern.pattern import Pattern
from conset.schedule.policy import InFlight
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule
from conset.studies.campaign.tables import ContenderEntry
from conset.studies.compare.simulated import default_models, simulate_by

CHOICE = "auto"
"""The contender that is the choice."""
NAIVE = "naive"
"""The contender that posts everything, as applications do without a schedule.

All ratios are to it.
"""


@dataclass(frozen=True)
class Contender:
    """A way to send a pattern.

    Attributes:
        name: in results.
        options: of its compile.
        in_flight: sends a rank keeps open at once, or `all`; None: as the schedule or the machine
            says.
        combine: how it forwards in stages, or `none`.
    """

    name: str
    options: CompileOptions
    in_flight: InFlight | None = None
    combine: str = "none"

    def on(self, ranks_per_node: int) -> Contender:
        """For so many ranks on each node."""
        return replace(self, options=replace(self.options, ranks_per_node=ranks_per_node))

    def to_object(self) -> dict[str, Any]:
        """What decides its schedule."""
        return {
            "options": self.options.given(),
            "in_flight": self.in_flight,
            "combine": self.combine,
        }


@dataclass(frozen=True, eq=False)
class Prepared:
    """A contender with its schedule.

    Attributes:
        contender: whose it is.
        what: the schedule, or the program of its stages.
        whole: the schedule, or the program as one.
        predicted_s: by formula and by models [s].
        model: the machine's, of its method.
        why: why `auto` chose it.
    """

    contender: Contender
    what: Schedule | Program
    whole: Schedule
    predicted_s: dict[str, float]
    model: str
    why: str = ""
    unpredicted: dict[str, str] = field(default_factory=dict)

    def later(self, start_s: float) -> Prepared:
        """With so much more predicted [s]."""
        return replace(
            self, predicted_s={by: time_s + start_s for by, time_s in self.predicted_s.items()}
        )

    def plan(self) -> Plan:
        """What ranks execute."""
        flight = self.contender.in_flight
        if isinstance(self.what, Program):
            return plan_program(self.what, in_flight=flight)
        return plan_schedule(self.what, in_flight=flight)

    def facts(self) -> dict[str, Any]:
        """What it is, JSON-ready."""
        whole = self.whole
        link = whole.limits.link if whole.machine.topology.link_slots else None
        stages = (
            sum(stage.repeat for stage in self.what.stages) if isinstance(self.what, Program) else 1
        )
        return {
            "method": whole.method,
            "contention": link,
            "sync": whole.sync,
            "phases": whole.phases,
            "stages": stages,
            "in_flight": whole.in_flight,
            "posting": whole.posting,
            "why": self.why or None,
        }


def expand_contenders(entries: Iterable[ContenderEntry]) -> tuple[Contender, ...]:
    """Every combination of what the tables list, each once.

    Raises:
        UsageError: an unknown word, or options that do not go together.
    """
    found: dict[str, Contender] = {}
    for entry in entries:
        for contender in _expanded(entry):
            found.setdefault(contender.name, contender)
    found.pop(CHOICE, None)  # the choice is always there
    return tuple(found.values())


def _expanded(entry: ContenderEntry) -> Iterator[Contender]:
    lists = (
        _listed(entry.method),
        _listed(entry.contention),
        _listed(entry.sync),
        _listed(entry.posting),
        _listed(entry.in_flight),
        _listed(entry.combine),
    )
    for method, contention, sync, posting, in_flight, combine in product(*lists):
        name = method if method == AUTO else find_method(method).name
        link = None if contention == "none" else contention
        flight: InFlight | None = None if in_flight == "none" else in_flight
        parse_combine(combine)
        options = CompileOptions(
            method=name,
            contention=link,
            sync=sync,
            posting=posting,
            limits=entry.limits,
            seed=entry.seed,
        )
        words = [
            name,
            *([] if link is None else [f"c{link}"]),
            *([] if entry.limits is None else [entry.limits]),
            *([] if posting == "schedule" else [posting]),
            *([] if sync is None else [sync]),
            *([] if flight is None else [f"{flight} in flight"]),
            *([] if combine == "none" else [combine]),
            *([] if not entry.seed else [f"seed {entry.seed}"]),
        ]
        # `naive` is what applications do themselves, not the executor with one phase
        named = ["posted at once" if word == NAIVE else word for word in words]
        yield Contender(" ".join(named), options, flight, combine)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def prepare(
    contender: Contender, pattern: Pattern, machine: Machine, models: Sequence[str] | None = None
) -> Prepared:
    """The schedule of a contender, predicted by formula and by models.

    Args:
        contender: what is asked for.
        pattern: what is sent.
        machine: what it runs on.
        models: that simulate; None: the machine's, and those that show sharing and blocking.

    Raises:
        ConsetError: it does not apply; says why.
    """
    options = contender.options
    what: Schedule | Program
    if contender.combine == "none":
        what = whole = _in_flight(compile_pattern(pattern, machine, options), contender.in_flight)
    else:
        combined = compile_combined(pattern, machine, options, contender.combine)
        what, whole = combined.program, _in_flight(combined.whole, contender.in_flight)
    model = machine.costs_for(whole.method).model
    asked = (
        dict.fromkeys((model, *default_models(machine)))
        if models is None
        else dict.fromkeys(models)
    )
    said, refused = simulate_by(whole, [*asked])
    times = {
        FORMULA: predict(whole).time_s,
        **{name: float(found["time_s"]) for name, found in said.items()},
    }
    why = "" if whole.report is None else whole.report.reason
    return Prepared(contender, what, whole, times, model, why, refused)


def prepare_all(
    contenders: Sequence[Contender],
    pattern: Pattern,
    machine: Machine,
    models: Sequence[str] | None = None,
) -> tuple[dict[str, Prepared], dict[str, str]]:
    """(by name those that apply, why the others do not); the choice has to."""
    made: dict[str, Prepared] = {}
    skipped: dict[str, str] = {}
    for contender in contenders:
        try:
            made[contender.name] = prepare(contender, pattern, machine, models)
        except ConsetError as error:
            if contender.name == CHOICE:
                raise
            skipped[contender.name] = str(error)
    return made, skipped


def _in_flight(schedule: Schedule, in_flight: InFlight | None) -> Schedule:
    return schedule if in_flight is None else replace(schedule, in_flight=in_flight)
