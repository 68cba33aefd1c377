"""The values of `--combine`: how messages are combined, and the paths that it denotes.

none                  every message directly
auto                  the best of many by the machine's model
4x8, 2x2x8            multiphase: a box of ranks, one dimension a stage; one side alone is direct
radix:4               multiphase around the ring of ranks, digits to base 4
node-aware            one message for each pair of nodes
virtual-grid:4x8      a box of ranks numbered by which ranks communicate
mixed                 each message directly or on paths, as its size and its ranks' load suggest
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Literal, cast, get_args

from conset.base import InputError, Ints32, UsageError, shortened, unknown_name
from conset.machine import Machine, read_sizes
from conset.methods.paths.multiphase import (
    Order,
    matched_cells,
    multiphase,
    node_aware,
    radices_of,
    radix,
    virtual_grid,
    written,
)
from conset.pattern import Pattern
from conset.schedule import MAX_STAGES, Paths, direct

Kind = Literal["none", "auto", "box", "radix", "node-aware", "virtual-grid", "mixed"]

WORDS: dict[str, str] = {
    "none": "every message directly",
    "auto": "the best of many by the machine's model",
    "K1xK2": "a box of ranks, one dimension a stage",
    "radix:R": "around the ring of ranks, digits to base R, or R1xR2 to several",
    "node-aware": "one message for each pair of nodes",
    "virtual-grid:K1xK2": "a box of ranks numbered by which ranks communicate",
    "mixed": "each message directly or on paths, by its size and its ranks' load",
}
"""What may follow `--combine`, one line each for people."""
OPTION = ("combine",)


@dataclass(frozen=True)
class Combine:
    """How messages are combined.

    Attributes:
        kind: the way.
        sides: of a box or virtual grid, above 1; the bases of `radix`, one is used for as many as
            needed; () otherwise.
        steps: of `node-aware`.
        order: of the ranks of a virtual grid.
    """

    kind: Kind
    sides: tuple[int, ...] = ()
    steps: Literal[2, 3] = 3
    order: Order = "traffic"

    def __str__(self) -> str:
        if self.kind == "box":
            return written(self.sides)
        if self.kind == "node-aware":
            return "node-aware" if self.steps == 3 else "node-aware:2"
        order = "" if self.order == "traffic" else f":{self.order}"
        return f"{self.kind}:{written(self.sides)}{order}" if self.sides else self.kind


def parse_combine(text: str) -> Combine:
    """What a word of `--combine` asks for.

    Raises:
        UsageError: an unknown word, a missing or superfluous value, a side below 1, a base below 2,
            or too many sides.
    """
    word, colon, value = text.strip().partition(":")
    if word[:1].isdigit() and not colon:
        return Combine("box", _sides(word, text))
    if word == "virtual-grid":
        sides, also, order = _value(value, text, "virtual-grid:4x8").partition(":")
        if also and order not in get_args(Order):
            raise unknown_name("order of ranks", order, get_args(Order), options=OPTION)
        return Combine("virtual-grid", _sides(sides, text), order=cast(Order, order or "traffic"))
    if word == "radix":
        bases = _sides(_value(value, text, "radix:4"), text)
        if bases == (1,):
            raise _refused(text, "bases of at least 2 required, given 1")
        return Combine("radix", bases)
    if word == "node-aware" and colon:
        if value not in ("2", "3"):
            raise _refused(text, f"2 or 3 steps required, given '{shortened(value)}'")
        return Combine("node-aware", steps=2 if value == "2" else 3)
    if word in ("none", "auto", "node-aware", "mixed"):
        if colon:
            raise _refused(text, f"{word} has no value")
        return Combine(cast(Kind, word))
    raise unknown_name("way to combine", text, WORDS, options=OPTION)


def _refused(text: str, rule: str) -> UsageError:
    return UsageError(f"combine '{shortened(text)}': {rule}", options=OPTION)


def _value(value: str, text: str, example: str) -> str:
    if not value:
        raise _refused(text, f"a value required, such as {example}")
    return value


def _sides(value: str, text: str) -> tuple[int, ...]:
    try:
        sides = read_sizes(value, "sides")
    except UsageError as error:
        raise _refused(text, str(error)) from None
    if len(sides) > MAX_STAGES:
        raise _refused(text, f"{len(sides)} sides, at most {MAX_STAGES}")
    return tuple(side for side in sides if side > 1) or (1,)


def paths_of(
    combine: Combine, pattern: Pattern, machine: Machine, placement: Ints32 | None = None
) -> Paths:
    """The paths that a way to combine represents.

    Args:
        combine: any but `auto`.
        pattern: what is sent.
        machine: whose network boxes follow, where their sides fit it.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.

    Raises:
        UsageError: `auto`, which only a comparison can answer.
        InputError: a box with fewer cells than ranks, or a way that the pattern or placement does
            not allow.
    """
    if combine.kind == "auto":
        raise UsageError(
            "combine auto: is chosen by comparing; name one of the others here", options=OPTION
        )
    sides = combine.sides
    if combine.kind == "radix" and len(sides) == 1:
        sides = radices_of(pattern.ranks, sides[0])
    if sides and prod(sides) < pattern.ranks:
        cells = f"{prod(sides)} cells for {pattern.ranks} ranks"
        raise InputError(f"combine '{combine}': {cells}: at least as many required", options=OPTION)
    if combine.kind == "none" or (combine.kind == "box" and len(sides) == 1):
        return direct(pattern)
    if combine.kind == "box":
        return _box(pattern, sides, machine, placement)
    if combine.kind == "radix":
        return radix(pattern, sides, name=str(combine))
    if combine.kind == "node-aware":
        return node_aware(pattern, placement, steps=combine.steps)
    if combine.kind == "virtual-grid":
        return virtual_grid(pattern, sides, machine, placement, order=combine.order)
    return cast(
        Paths, import_module("conset.methods.paths.evaluate").mixed(pattern, machine, placement)
    )


def _box(
    pattern: Pattern, sides: tuple[int, ...], machine: Machine, placement: Ints32 | None
) -> Paths:
    """A box laid along the network's routes where its sides fit, else over rank numbers."""
    matched = matched_cells(machine, placement, sides)
    if matched is None:
        return multiphase(pattern, sides)
    return multiphase(pattern, sides, cells=matched[0], order=matched[1])
