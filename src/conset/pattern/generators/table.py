"""The table of all generators: the words of pattern specs, the help, the docs and the tests read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from conset.pattern.generators.collectives import (
    generate_alltoall,
    generate_butterfly,
    generate_gather,
    generate_hotspot,
    generate_scatter,
    generate_tree,
)
from conset.pattern.generators.grid import generate_columns, generate_neighbor, generate_rows, generate_stencil
from conset.pattern.generators.partners import Partners
from conset.pattern.generators.permutations import (
    generate_bit_complement,
    generate_bit_reverse,
    generate_permutation,
    generate_shift,
    generate_shuffle,
    generate_tornado,
    generate_transpose,
)
from conset.pattern.generators.power_law import generate_power_law
from conset.pattern.generators.random import generate_random, generate_random_rows


@dataclass(frozen=True)
class Argument:
    """An argument of a generator.

    Attributes:
        default: the value where a spec does not name it; () for sides: the network's; a float where numbers need not be
            whole.
        help: one line for people.
        minimum: the least allowed value; None: any number.
    """

    default: int | float | tuple[int, ...]
    help: str
    minimum: int | None = 0


@dataclass(frozen=True)
class Generator:
    """A row of the table.

    Attributes:
        function: takes a `Setting` and the arguments by keyword.
        summary: what it sends, one line.
        arguments: name → argument.
        requires: its domain in words; outside of it the function raises an `InputError`.
        random: whether the seed matters beyond sizes.
    """

    function: Callable[..., Partners]
    summary: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    requires: str = "any number of ranks"
    random: bool = False


COMMON: Mapping[str, str] = {
    "size": "bytes of a message, or uniform(a,b), log-uniform(a,b), lognormal(median,sigma); default 1KiB",
    "seed": "of every random choice; default: --seed",
    "ranks": "number of ranks; default: the machine's",
}
"""Arguments of every generator."""

_SIDES = Argument((), "grid of the ranks, such as 8x8; default: the network's")
_DEGREE = Argument(4, "distinct others each rank sends to")
_POWER = "a power of two of ranks"
_BOX = "sides=, or a mesh, torus or ring that the ranks fill evenly"

GENERATORS: Mapping[str, Generator] = {
    "alltoall": Generator(generate_alltoall, "everybody to everybody else"),
    "rows": Generator(generate_rows, "all-to-all inside each row (last dimension)", {"sides": _SIDES}, _BOX),
    "columns": Generator(
        generate_columns, "all-to-all inside each column (dimension before the last)",
        {"sides": _SIDES}, _BOX + ", two sides",
    ),
    "neighbor": Generator(
        generate_neighbor, "the nearest neighbours of the network", requires="ranks that fill the network evenly"
    ),
    "stencil": Generator(
        generate_stencil, "all places around, diagonals included",
        {"reach": Argument(1, "steps along each side", 1), "sides": _SIDES}, _BOX,
    ),
    "butterfly": Generator(generate_butterfly, "the ranks that differ in one bit", requires=_POWER),
    "tree": Generator(generate_tree, "parent and children of a binary tree, heap numbering, both ways"),
    "random": Generator(
        generate_random, "to and from exactly d distinct others", {"degree": _DEGREE}, "degree below ranks", True
    ),
    "random-rows": Generator(
        generate_random_rows, "to exactly d distinct others, from any number",
        {"degree": _DEGREE}, "degree below ranks", True,
    ),
    "power-law": Generator(
        generate_power_law, "both ways between random pairs, a few ranks in very many of them",
        {
            "degree": Argument(4, "distinct others a rank sends to, on average"),
            "alpha": Argument(1.6, "the share of ranks with more than x partners goes as x^-alpha", 1),
        },
        "degree below ranks", True,
    ),
    "transpose": Generator(generate_transpose, "r·s + c to c·s + r", requires="a square number of ranks"),
    "bit-reverse": Generator(generate_bit_reverse, "the bits of the rank in reverse order", requires=_POWER),
    "bit-complement": Generator(generate_bit_complement, "all bits of the rank flipped", requires=_POWER),
    "shuffle": Generator(generate_shuffle, "the bits of the rank turned left by one", requires=_POWER),
    "shift": Generator(generate_shift, "r to r + k", {"by": Argument(1, "distance, may be negative", None)}),
    "permutation": Generator(generate_permutation, "a random permutation", random=True),
    "tornado": Generator(generate_tornado, "⌈k/2⌉ - 1 places up on every side of k"),
    "hotspot": Generator(generate_hotspot, "everybody to one rank", {"to": Argument(0, "the rank that receives")}),
    "gather": Generator(generate_gather, "everybody to the root", {"root": Argument(0, "the rank that receives")}),
    "scatter": Generator(generate_scatter, "the root to everybody", {"root": Argument(0, "the rank that sends")}),
}  # fmt: skip
"""Name in a spec → generator; the order is that of the help."""
