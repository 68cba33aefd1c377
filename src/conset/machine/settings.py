"""Settings: costs with some words changed, for `--set` and for what-if questions."""

from __future__ import annotations

from dataclasses import replace
from typing import overload

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.words import GIVEN, split_words, stated_costs


def words_of(mode: str | None, text: str | None) -> str | None:
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
    words = split_words(text)
    if isinstance(target, Costs):
        return stated_costs(target, words, GIVEN)
    if "mode" in dict(words):
        from conset.machine.modes import with_mode

        target = replace(with_mode(target, dict(words)["mode"]), name=target.name)
        words = [pair for pair in words if pair[0] != "mode"]
    return target.with_costs(lambda costs: stated_costs(costs, words, GIVEN))
