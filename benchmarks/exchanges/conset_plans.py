"""What conset makes of a pattern: the plans that its executor carries out.

Stages have the messages in the order of their targets and nothing keeps phases apart
(`--method naive --sync none`): a rank starts what it has and passes on what has come, which is what
small messages ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path

from conset.compilation.combining import Combination, compile_combined
from conset.compilation.options import CompileOptions
from conset.execution.plan import Plan
from conset.execution.planner import make_plan
from conset.inputs import load_machine
from conset.pattern.pattern import Pattern

OPTIONS = CompileOptions(method="naive", sync="none")


@dataclass(frozen=True)
class Combined:
    """Plans of one pattern.

    Attributes:
        plans: name → group and plan.
        auto: what `--combine auto` takes; None where there is no machine.
        predicted: what it thinks of each way it has compared [s].
    """

    plans: dict[str, tuple[str, Plan]]
    auto: str | None = None
    predicted: dict[str, float] = field(default_factory=dict)


def even_sides(ranks: int, count: int) -> tuple[int, ...]:
    """The rising sides above 1 of the least sum whose product is `ranks`.

    Fewer than `count` where it has no more.
    """
    if count == 1:
        return (ranks,)
    sides = [
        tuple(sorted((side, *even_sides(ranks // side, count - 1))))
        for side in range(2, ranks)
        if ranks % side == 0
    ]
    return min(sides, key=lambda found: (sum(found), found), default=(ranks,))


def compile_word(pattern: Pattern, word: str, machine: Path | None = None) -> Combination:
    """A program along the paths of a word of `--combine`.

    A number alone stands for so many even sides of a box.
    """
    on = load_machine(f"crossbar:{pattern.ranks}" if machine is None else str(machine))
    if word.isdigit():
        word = "x".join(map(str, even_sides(pattern.ranks, int(word))))
    return compile_combined(
        pattern, on, replace(OPTIONS, ranks_per_node=pattern.ranks // on.topology.endpoints), word
    )


def plan_word(pattern: Pattern, word: str, machine: Path | None = None) -> Plan:
    """The plan of `compile_word`."""
    return make_plan(compile_word(pattern, word, machine).program)


def plans_of(pattern: Pattern, machine: Path | None, words: list[str]) -> Combined:
    """The direct exchange, programs with the given words, and what `auto` takes on the machine.

    What `auto` takes is measured once: under its own name where that is among the words, else as
    one more.
    """
    plans: dict[str, tuple[str, Plan]] = {"conset direct": ("direct", plan_word(pattern, "none"))}
    for word in words:
        made = compile_word(pattern, word, machine)
        plans[f"conset {made.combine}"] = ("combined", make_plan(made.program))
    if machine is None:
        return Combined(plans)
    found = compile_word(pattern, "auto", machine)
    if found.combine != "none":
        plans.setdefault(f"conset {found.combine}", ("combined", make_plan(found.program)))
    predicted = {each.name: each.time_s for each in found.tried if isfinite(each.time_s)}
    return Combined(plans, found.combine, predicted)
