"""Simulated cases: what models say of every contender.

A case is a task that any executor carries out alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conset.base.errors import InputError
from conset.machine.record import machine_of_record
from conset.studies.campaign.campaign import Campaign, MachineSource
from conset.studies.campaign.case import Case
from conset.studies.campaign.contender import CHOICE, NAIVE, Contender, prepare_all
from conset.studies.campaign.measure import POSTED, contest_of, load_case
from conset.studies.campaign.result import CaseResult


@dataclass(frozen=True)
class Task:
    """A case with all that decides it; it can be sent to another process.

    Attributes:
        case: which.
        source: of the machine.
        machine: its record.
        contenders: the choice, then the others.
        models: what says the times; the first decides; (): the machine's own.
        digest: of the case.
    """

    case: Case
    source: MachineSource
    machine: str | Mapping[str, Any]
    contenders: tuple[Contender, ...]
    models: tuple[str, ...]
    digest: str

    @staticmethod
    def of(
        case: Case, campaign: Campaign, source: MachineSource, machine: Any, digest: str
    ) -> Task:
        """The task of a case on a machine's record."""
        contenders = (campaign.choice, POSTED, *campaign.contenders)
        return Task(case, source, machine, contenders, campaign.models, digest)


def simulate_case(task: Task) -> dict[str, Any]:
    """The object of the case's result: the same wherever and beside whatever it is made.

    Raises:
        ConsetError: pattern and machine do not fit, `auto` finds nothing.
        InputError: the deciding model says nothing of the choice or of posting everything.
    """
    case, source = task.case, task.source
    machine = machine_of_record(task.machine)
    pattern = load_case(case, source, machine)
    decides = task.models[0] if task.models else machine.costs.model
    contenders = [each.on(source.ranks_per_node) for each in task.contenders]
    made, skipped = prepare_all(contenders, pattern, machine, task.models or None)
    times: dict[str, list[float]] = {}
    for name, prepared in made.items():
        if decides in prepared.predicted_s:
            times[name] = [prepared.predicted_s[decides]]
        elif name in (CHOICE, NAIVE):
            raise InputError(
                f"{case.name}: {name}: {decides} says nothing: "
                f"{prepared.unpredicted.get(decides, '')}"
            )
        else:
            skipped[name] = prepared.unpredicted.get(decides, f"{decides} says nothing")
    contests = tuple(
        contest_of(
            each.name, made.get(each.name) if each.name in times else None, skipped, "", times
        )
        for each in contenders
    )
    result = CaseResult(
        case,
        task.digest,
        machine.name,
        pattern.ranks,
        pattern.messages,
        pattern.bytes,
        True,
        decides,
        contests,
    )
    return result.to_object()
