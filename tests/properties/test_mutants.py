"""Mutants of schedules, programs and timelines: none wrongly accepted, none wrongly refused.

Checks are missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import conset.verification.program as program_check
import conset.verification.schedule.check as schedule_check
import conset.verification.timeline.check as timeline_check
from conset.verification import verify
from conset.verification.timeline.check import check_timeline
from support.make_mutants import (
    Mutant,
    program_mutants,
    programs,
    schedule_mutants,
    schedules,
    timeline_mutants,
    timelines,
)
from support.slow_verifier import broken_rule

COUNT = {"schedules": 1200, "programs": 480, "timelines": 800}


@pytest.fixture(scope="module")
def made() -> dict[str, list[tuple[Mutant, str]]]:
    """Mutants with the rule that each breaks."""

    def judged(mutants: Iterator[Mutant]) -> list[tuple[Mutant, str]]:
        return [(m, broken_rule(m.changed, m.machine)) for m in mutants]

    return {
        "schedules": judged(schedule_mutants(COUNT["schedules"], 7)),
        "programs": judged(program_mutants(COUNT["programs"], 7)),
        "timelines": [(m, m.kind) for m in timeline_mutants(COUNT["timelines"], 7)],
    }


def accepts(mutant: Mutant, what: str) -> bool:
    if what == "timelines":
        played = mutant.changed
        return not check_timeline(played.timeline, played.workload, mutant.machine, played.settings)
    if what == "programs":
        return verify(mutant.changed).ok
    return verify(mutant.changed, machine=mutant.machine).ok


@pytest.mark.parametrize("what", list(COUNT))
def test_no_mutant_is_judged_wrongly(made: dict[str, Any], what: str) -> None:
    wrong = [(m.kind, rule) for m, rule in made[what] if accepts(m, what) == bool(rule)]
    assert wrong == []
    assert sum(bool(rule) for _, rule in made[what]) > COUNT[what] / 2


@pytest.mark.parametrize(
    ("what", "bases"), [("schedules", schedules), ("programs", programs), ("timelines", timelines)]
)
def test_what_is_mutated_is_right(what: str, bases: Any) -> None:
    made = bases(np.random.default_rng(3))
    for _ in range(30):
        base, machine = next(made)
        assert accepts(Mutant("", base, machine), what)
        assert what == "timelines" or broken_rule(base, machine) == ""


def gone(
    name: str, module: Any, made: list[tuple[Mutant, str]], what: str, patch: pytest.MonkeyPatch
) -> int:
    """How many mutants are wrongly accepted without one of the checks."""
    with patch.context() as without:
        without.setattr(module, name, lambda *_: [])
        return sum(bool(rule) and accepts(m, what) for m, rule in made)


@pytest.mark.parametrize(
    "name",
    [
        "check_pattern",
        "check_messages",
        "check_routes",
        "check_linkage",
        "check_timetable",
        "check_order",
        "check_guarantees",
        "_check_figures",
    ],
)
def test_without_one_check_mutants_of_schedules_live(
    made: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gone(name, schedule_check, made["schedules"], "schedules", monkeypatch) > 0


@pytest.mark.parametrize(
    "name", ["_check_limits", "_check_channels", "_check_guarantees", "_check_figures"]
)
def test_without_one_check_mutants_of_programs_live(
    made: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gone(name, program_check, made["programs"], "programs", monkeypatch) > 0


@pytest.mark.parametrize("name", ["check_life", "check_conservation", "check_figures"])
def test_without_one_check_mutants_of_timelines_live(
    made: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tuple(rule for rule in timeline_check.RULES if rule.__name__ != name)
    assert len(rules) == len(timeline_check.RULES) - 1
    monkeypatch.setattr(timeline_check, "RULES", rules)
    assert sum(accepts(m, "timelines") for m, _ in made["timelines"]) > 0


def test_mutants_are_the_same_for_the_same_seed() -> None:
    one, other, another = (list(schedule_mutants(50, seed)) for seed in (1, 1, 2))
    assert [m.kind for m in one] == [m.kind for m in other] != [m.kind for m in another]
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.changed.transfer_size, b.changed.transfer_size)
