"""Commands, public names and choices give what was recorded; see `corpus.py`."""

from __future__ import annotations

import pytest

from behaviour.corpus import Step, check, groups, recorded, steps


@pytest.mark.behaviour
@pytest.mark.parametrize("step", steps(), ids=lambda step: step.name)
def test_a_step_gives_what_was_recorded(step: Step) -> None:
    found = check(step)
    assert not found, "\n    ".join([step.name, *found])


@pytest.mark.parametrize("group", groups())
def test_what_is_recorded_is_what_is_listed(group: str) -> None:
    assert list(recorded(group)) == [step.line for step in groups()[group] if step.compared]
