"""The words of `--combine`: how messages are combined, and the paths that a word stands for.

none                  every message directly
auto                  the best of many by the machine's model
4x8, 2x2x8            multiphase: a box of ranks, one dimension a stage; one side alone is direct
radix:4               multiphase around the ring of ranks, digits to base 4
node-aware            one message for each pair of nodes
virtual-grid:4x8      a box of ranks numbered by who talks to whom
mixed                 each message directly or on paths, as its size and its ranks' load suggest
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from conset.combining.multiphase import matched_cells, multiphase, radices_of, radix, written
from conset.combining.node_aware import node_aware
from conset.combining.virtual_grid import virtual_grid
from conset.errors import InputError, UsageError, shortened, unknown_name
from conset.machine.machine import Machine
from conset.machine.spec import parse_sizes
from conset.pattern.pattern import Pattern
from conset.program.paths import MAX_STAGES, Paths, direct

Kind = Literal["none", "auto", "box", "radix", "node-aware", "virtual-grid", "mixed"]

WORDS: dict[str, str] = {
    "none": "every message directly",
    "auto": "the best of many by the machine's model",
    "K1xK2": "a box of ranks, one dimension a stage",
    "radix:R": "around the ring of ranks, digits to base R",
    "node-aware": "one message for each pair of nodes",
    "virtual-grid:K1xK2": "a box of ranks numbered by who talks to whom",
    "mixed": "each message directly or on paths, by its size and its ranks' load",
}
"""What may follow `--combine`, one line each for people."""
OPTION = ("combine",)


@dataclass(frozen=True)
class Combine:
    """How messages are combined.

    Attributes:
        kind: the way.
        sides: of a box or virtual grid, above 1; () otherwise.
        base: of the digits of `radix`; 0 otherwise.
    """

    kind: Kind
    sides: tuple[int, ...] = ()
    base: int = 0

    def __str__(self) -> str:
        if self.kind == "box":
            return written(self.sides)
        if self.kind == "radix":
            return f"radix:{self.base}"
        return f"{self.kind}:{written(self.sides)}" if self.sides else self.kind


def parse_combine(text: str) -> Combine:
    """What a word of `--combine` asks for.

    Raises:
        UsageError: an unknown word, a missing or superfluous value, a side below 1, a base below 2, or too many sides.
    """
    word, colon, value = text.strip().partition(":")
    if word[:1].isdigit() and not colon:
        return Combine("box", _sides(word, text))
    if word in ("virtual-grid", "radix"):
        if not value:
            example = "4x8" if word == "virtual-grid" else "4"
            raise UsageError(f"combine '{shortened(text)}': a value required, such as {word}:{example}", options=OPTION)
        if word == "virtual-grid":
            return Combine("virtual-grid", _sides(value, text))
        (base, *more) = _sides(value, text)
        if more or base < 2:
            rule = "one base of at least 2 required"
            raise UsageError(f"combine '{shortened(text)}': {rule}, given {shortened(value)}", options=OPTION)
        return Combine("radix", base=base)
    if word in ("none", "auto", "node-aware", "mixed"):
        if colon:
            raise UsageError(f"combine '{shortened(text)}': {word} has no value", options=OPTION)
        return Combine(cast(Kind, word))
    raise unknown_name("way to combine", text, WORDS, options=OPTION)


def _sides(value: str, text: str) -> tuple[int, ...]:
    try:
        sides = parse_sizes(value, "sides")
    except UsageError as error:
        raise UsageError(f"combine '{shortened(text)}': {error}", options=OPTION) from None
    if len(sides) > MAX_STAGES:
        raise UsageError(f"combine: {len(sides)} sides, at most {MAX_STAGES}", options=OPTION)
    return tuple(side for side in sides if side > 1) or (1,)


def paths_of(combine: Combine, pattern: Pattern, machine: Machine, placement: NDArray[np.int32] | None = None) -> Paths:
    """The paths that a way to combine stands for.

    Args:
        combine: any but `auto`.
        pattern: what is sent.
        machine: whose network boxes follow, where their sides fit it.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.

    Raises:
        UsageError: `auto`, which only a comparison can answer.
        InputError: a box with fewer cells than ranks, or a way that the pattern or placement does not allow.
    """
    if combine.kind == "auto":
        raise UsageError("combine auto: is chosen by comparing; name one of the others here", options=OPTION)
    if combine.sides and prod(combine.sides) < pattern.ranks:
        cells = f"{prod(combine.sides)} cells for {pattern.ranks} ranks"
        raise InputError(f"combine '{combine}': {cells}: at least as many required", options=OPTION)
    if combine.kind == "none" or (combine.kind == "box" and len(combine.sides) == 1):
        return direct(pattern)
    if combine.kind == "box":
        return _box(pattern, combine.sides, machine, placement)
    if combine.kind == "radix":
        return radix(pattern, radices_of(pattern.ranks, combine.base), name=str(combine))
    if combine.kind == "node-aware":
        return node_aware(pattern, placement)
    if combine.kind == "virtual-grid":
        return virtual_grid(pattern, combine.sides, machine, placement)
    return cast(Paths, import_module("conset.combining.mixed").mixed(pattern, machine, placement))


def _box(pattern: Pattern, sides: tuple[int, ...], machine: Machine, placement: NDArray[np.int32] | None) -> Paths:
    """A box laid along the network's routes where its sides fit, else over rank numbers."""
    matched = matched_cells(machine, placement, sides)
    if matched is None:
        return multiphase(pattern, sides)
    return multiphase(pattern, sides, cells=matched[0], order=matched[1])
