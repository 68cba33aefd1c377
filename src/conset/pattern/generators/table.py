"""The table of all generators.

The parser of pattern specs, the help, the docs and the tests read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from conset.pattern.generators.grid import (
    generate_columns,
    generate_neighbor,
    generate_rows,
    generate_stencil,
)
from conset.pattern.generators.learning import (
    generate_data_parallel,
    generate_moe,
    generate_pipeline,
    generate_tensor,
)
from conset.pattern.generators.meshes import generate_amr, generate_partition
from conset.pattern.generators.partners import Partners
from conset.pattern.generators.random import (
    generate_power_law,
    generate_random,
    generate_random_rows,
)
from conset.pattern.generators.regular import (
    generate_alltoall,
    generate_bit_complement,
    generate_bit_reverse,
    generate_butterfly,
    generate_fft,
    generate_gather,
    generate_hotspot,
    generate_permutation,
    generate_scatter,
    generate_shift,
    generate_shuffle,
    generate_tornado,
    generate_transpose,
    generate_tree,
)


@dataclass(frozen=True)
class Argument:
    """An argument of a generator.

    Attributes:
        default: the value where a spec does not name it; () for sides: the network's; a float where
            numbers need not be whole; a text where there are `choices`.
        help: one line for people.
        minimum: the least allowed value; None: any number.
        choices: the allowed values.
        in_bytes: whether it is a size, at least 1 byte, which may have a unit.
    """

    default: int | float | str | tuple[int, ...]
    help: str
    minimum: int | None = 0
    choices: tuple[str, ...] = ()
    in_bytes: bool = False


@dataclass(frozen=True)
class Generator:
    """A row of the table.

    Attributes:
        function: takes a `Setting` and the arguments by keyword.
        summary: what it sends, one line.
        arguments: name → argument.
        requires: its domain as a phrase; outside of it the function raises an `InputError`.
        random: whether the seed matters beyond sizes.
        sized: whether it computes sizes; `size=` draws them instead, for the same messages.
        example: a spec, where the arguments are not plain.
    """

    function: Callable[..., Partners]
    summary: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    requires: str = "any number of ranks"
    random: bool = False
    sized: bool = False
    example: str = ""


COMMON: Mapping[str, str] = {
    "size": (
        "bytes of a message, or uniform(a,b), log-uniform(a,b), lognormal(median,sigma); default "
        "1KiB or computed"
    ),
    "seed": "of every random choice; default: --seed",
    "ranks": "number of ranks; default: the machine's",
}
"""Arguments of every generator."""

_SIDES = Argument((), "grid of the ranks, such as 8x8; default: the network's")
_DEGREE = Argument(4, "distinct others each rank sends to")
_HIDDEN = Argument(14336, "bytes of a token", 1, in_bytes=True)
_RING = Argument("ring", "ring: to the next; all: from each to each", choices=("ring", "all"))
_POWER = "a power of two of ranks"
_BOX = "sides=, or a mesh, torus or ring that the ranks fill evenly"

GENERATORS: Mapping[str, Generator] = {
    "alltoall": Generator(generate_alltoall, "everybody to everybody else"),
    "rows": Generator(
        generate_rows, "all-to-all inside each row (last dimension)", {"sides": _SIDES}, _BOX
    ),
    "columns": Generator(
        generate_columns,
        "all-to-all inside each column (dimension before the last)",
        {"sides": _SIDES},
        _BOX + ", two sides",
    ),
    "neighbor": Generator(
        generate_neighbor,
        "the nearest neighbours of the network",
        requires="ranks that fill the network evenly",
    ),
    "stencil": Generator(
        generate_stencil,
        "all places around, diagonals included",
        {"reach": Argument(1, "steps along each side", 1), "sides": _SIDES},
        _BOX,
    ),
    "butterfly": Generator(generate_butterfly, "the ranks that differ in one bit", requires=_POWER),
    "tree": Generator(
        generate_tree, "parent and children of a binary tree, heap numbering, both ways"
    ),
    "random": Generator(
        generate_random,
        "to and from exactly d distinct others",
        {"degree": _DEGREE},
        "degree below ranks",
        True,
    ),
    "random-rows": Generator(
        generate_random_rows,
        "to exactly d distinct others, from any number",
        {"degree": _DEGREE},
        "degree below ranks",
        True,
    ),
    "power-law": Generator(
        generate_power_law,
        "both ways between random pairs, a few ranks in very many of them",
        {
            "degree": Argument(4, "distinct others a rank sends to, on average"),
            "alpha": Argument(
                1.6, "the share of ranks with more than x partners goes as x^-alpha", 1
            ),
        },
        "degree below ranks",
        True,
    ),
    "transpose": Generator(
        generate_transpose, "r·s + c to c·s + r", requires="a square number of ranks"
    ),
    "bit-reverse": Generator(
        generate_bit_reverse, "the bits of the rank in reverse order", requires=_POWER
    ),
    "bit-complement": Generator(
        generate_bit_complement, "all bits of the rank flipped", requires=_POWER
    ),
    "shuffle": Generator(
        generate_shuffle, "the bits of the rank turned left by one", requires=_POWER
    ),
    "shift": Generator(
        generate_shift, "r to r + k", {"by": Argument(1, "distance, may be negative", None)}
    ),
    "permutation": Generator(generate_permutation, "a random permutation", random=True),
    "tornado": Generator(generate_tornado, "⌈k/2⌉ - 1 places up on every side of k"),
    "hotspot": Generator(
        generate_hotspot, "everybody to one rank", {"to": Argument(0, "the rank that receives")}
    ),
    "gather": Generator(
        generate_gather, "everybody to the root", {"root": Argument(0, "the rank that receives")}
    ),
    "scatter": Generator(
        generate_scatter, "the root to everybody", {"root": Argument(0, "the rank that sends")}
    ),
    "moe": Generator(
        generate_moe,
        "tokens to the experts they are routed to, or back, on the experts' ranks",
        {
            "tokens": Argument(512, "tokens of a rank", 1),
            "experts": Argument(0, "experts in all, spread over the ranks in order; 0: one a rank"),
            "top": Argument(2, "distinct experts of a token", 1),
            "hidden": Argument(
                14336, "bytes of a token: 7168 numbers of 2 bytes", 1, in_bytes=True
            ),
            "skew": Argument(
                0.0, "popularity of the n-th expert goes as n^-skew (Zipf); 0: all alike"
            ),
            "capacity": Argument(
                0.0, "an expert takes that many times its even share of a rank's tokens; 0: all"
            ),
            "step": Argument(
                0,
                "of the training: tokens are routed anew, popular experts change little by little",
            ),
            "way": Argument(
                "dispatch",
                "dispatch: to the experts; combine: back",
                choices=("dispatch", "combine"),
            ),
        },
        "top at most experts",
        True,
        True,
        example="moe:experts=64,top=8,tokens=4096,skew=0.8,step=3",
    ),
    "pipeline": Generator(
        generate_pipeline,
        "activations of a microbatch to the next stage of a model, gradients back",
        {
            "stages": Argument(0, "stages, farthest apart in rank order; 0: every rank is one"),
            "tokens": Argument(4096, "tokens of a microbatch", 1),
            "hidden": _HIDDEN,
            "chunks": Argument(1, "times a microbatch passes all stages (interleaved layers)", 1),
            "way": Argument(
                "both", "forward, backward or both", choices=("forward", "backward", "both")
            ),
        },
        "stages that divide the ranks",
        sized=True,
        example="pipeline:stages=8,tokens=4096,hidden=16KiB,way=forward",
    ),
    "tensor": Generator(
        generate_tensor,
        "activations summed over groups of neighbouring ranks that share each matrix",
        {
            "group": Argument(8, "ranks of a group", 1),
            "tokens": Argument(4096, "tokens summed at once", 1),
            "hidden": _HIDDEN,
            "way": _RING,
        },
        "a group that divides the ranks",
        sized=True,
        example="tensor:group=8,tokens=4096,hidden=16KiB,way=all",
    ),
    "data-parallel": Generator(
        generate_data_parallel,
        "gradients summed over the ranks that hold the same part of a model",
        {
            "tensor": Argument(
                1, "neighbouring ranks that share each matrix, and do not sum with each other", 1
            ),
            "stages": Argument(1, "stages of a pipeline, farthest apart in rank order", 1),
            "gradients": Argument(2**28, "bytes of the gradients of a rank", 1, in_bytes=True),
            "way": _RING,
        },
        "tensor · stages that divide the ranks",
        sized=True,
        example="data-parallel:tensor=8,stages=2,gradients=1GiB",
    ),
    "fft": Generator(
        generate_fft,
        "transposes of a 3-D array between slabs or pencils of a Fourier transform",
        {
            "shape": Argument((256, 256, 256), "numbers along x, y, z; any three"),
            "sides": Argument(
                (), "ranks along two sides for pencils, one for slabs; default: as square as can be"
            ),
            "word": Argument(16, "bytes of a number", 1, in_bytes=True),
            "transpose": Argument(1, "1: x to y; 2: y to z, of pencils only", 1),
        },
        "sides that multiply to the ranks, at most as many ranks along a side as numbers",
        sized=True,
        example="fft:shape=512x512x500,sides=4x8,word=16,transpose=2",
    ),
    "amr": Generator(
        generate_amr,
        "halos of blocks of an adaptively refined mesh, 2:1 balanced, along a space-filling curve",
        {
            "sides": Argument(
                (), "coarse blocks along each side, one to three; default: a square of two a rank"
            ),
            "levels": Argument(2, "how often blocks at the front are halved"),
            "cells": Argument(16, "cells along each side of a block, even", 2),
            "ghosts": Argument(2, "layers of cells sent", 1),
            "word": Argument(8, "bytes of a cell", 1, in_bytes=True),
            "step": Argument(0, "the front travels a quarter of a coarse block each"),
        },
        "at most as many ranks as blocks",
        True,
        True,
        example="amr:sides=8x8x8,levels=3,cells=8,step=2",
    ),
    "partition": Generator(
        generate_partition,
        "ghosts of a graph with power-law degrees whose vertices are dealt to ranks",
        {
            "vertices": Argument(0, "vertices of the graph; 0: 64 a rank"),
            "degree": Argument(8, "neighbours of a vertex on average"),
            "alpha": Argument(
                1.6, "the share of vertices with more than x neighbours goes as x^-alpha", 1
            ),
            "word": Argument(8, "bytes of a vertex", 1, in_bytes=True),
            "parts": Argument(
                "hash",
                "hash: at random; block: in order; metis: few edges cut",
                choices=("hash", "block", "metis"),
            ),
        },
        "vertices at least ranks, degree below vertices",
        True,
        True,
        example="partition:vertices=10000,degree=16,alpha=1.4,parts=metis",
    ),
}
"""Name in a spec → generator; the order is that of the help."""
