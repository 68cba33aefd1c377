"""Settings: costs with some words changed, for `--set` and for what-if questions."""

from __future__ import annotations

from dataclasses import replace
from typing import overload

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.words import GIVEN, split_options, stated_costs


def merge_settings(mode: str | None, text: str | None) -> str | None:
    """The words of `--mode` and of `--set` as one text; None where neither is given."""
    given = ([] if mode is None else [f"mode={mode}"]) + ([] if text is None else [text])
    return ",".join(given) if given else None


@overload
def with_settings(target: Costs, text: str) -> Costs: ...
@overload
def with_settings(target: Machine, text: str) -> Machine: ...
def with_settings(target: Costs | Machine, text: str) -> Costs | Machine:
    """`target` with the costs named in `text` changed: `"synchronization=0,overhead=2us"`.

    The words are those of machine files (`machine.words.WORDS`); what is changed is tagged `given`. A machine keeps
    its name: a setting is a question, not another machine; a schedule file carries the costs as set. Of a machine
    `mode` changes the transfer mode, before all other words.

    Raises:
        UsageError: an unknown word (with the nearest known one), or a value that does not parse or is out of range.
    """
    settings = split_options(text)
    if isinstance(target, Costs):
        return stated_costs(target, settings, GIVEN)
    if "mode" in dict(settings):
        from conset.machine.modes import with_mode

        target = replace(with_mode(target, dict(settings)["mode"]), name=target.name)
        settings = [pair for pair in settings if pair[0] != "mode"]
    return target.with_costs(lambda costs: stated_costs(costs, settings, GIVEN))
