"""Section 4: the text's sentences about its tables.

Held against the simulation and the tables themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Claim, Item, Picture, Table
from conset_papers.thakur.exchange import EXECUTED
from conset_papers.thakur.folds import held_out
from conset_papers.thakur.times import (
    MESHES,
    METHODS,
    NAMES,
    SIZES,
    Mesh,
    Seconds,
    Time,
    mesh_word,
    pairs,
    printed,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOUT = (
    "The sentences of sections 4 and 5 that compare times, as they stand, held against complete "
    "exchanges on "
    f"delta:RxC, {EXECUTED}, with costs fitted to the printed times of three other "
    "machine sizes (benchmarks/fit_delta.py). "
    "A sentence holds where the simulation bears it out; beside it stands "
    "whether the text's own "
    "tables do, and which cells go the other way."
)
CLOSE = 0.1
"""`very close`: within this share."""
EMPTY = 0.25
"""`q - p is large`: at least this share of q."""

Ratios = tuple[list[float], list[float]]
"""Printed and simulated, size by size."""


def reproduce() -> Item:
    """One claim for each sentence."""
    ours = held_out()
    claims = held_against(ours)
    return Item(
        "thakur",
        "Section 4",
        "the text's sentences about its tables",
        ABOUT,
        claims=claims,
        tables=(_rivals(ours),),
        pictures=(Picture(_draw),),
        departures=tuple(
            f"the text's own tables do not bear it out: {claim.statement}"
            for claim in held_against(as_printed())
            if not claim.holds
        ),
        basis="computed",
    )


def as_printed() -> Seconds:
    """The times as the text prints them."""
    return {time: time.seconds for time in printed()}


def held_against(ours: Seconds) -> tuple[Claim, ...]:
    """Every sentence, held against some times of all cells."""
    return (*_neighbour_claims(ours), _most_shifted(ours), *_gen_claims(ours), _linear(ours))


def ratios(ours: Seconds, first: tuple[int, Mesh], second: tuple[int, Mesh]) -> Ratios:
    """Times of a (table, mesh) over those of another, for every size."""
    columns = [
        [time for time in printed(table) if time.mesh == mesh] for table, mesh in (first, second)
    ]
    both = list(zip(*columns, strict=True))
    return [a.seconds / b.seconds for a, b in both], [ours[a] / ours[b] for a, b in both]


def _sentence(label: str, both: Ratios, true: Callable[[float], bool]) -> Claim:
    """Holds where it is true of all simulated ratios; says whether it is of the printed ones."""
    theirs, ours = both
    printed_word = "so" if all(map(true, theirs)) else "not so"
    return Claim(
        label,
        all(map(true, ours)),
        f"simulated {_range(ours)}; printed {_range(theirs)}, {printed_word}",
    )


def _range(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _neighbour_claims(ours: Seconds) -> tuple[Claim, ...]:
    """Sentences about meshes beside a power of two."""
    return (
        _sentence(
            "PEX-GEN on 16x9 takes much more than PEX on 16x8, almost twice the time: 1.5 to 2.1 "
            "at every size",
            ratios(ours, (3, (16, 9)), (2, (16, 8))),
            lambda ratio: 1.5 <= ratio <= 2.1,
        ),
        _sentence(
            "PEX-GEN on 16x14 is very close to PEX on 16x16: within 10 % at every size",
            ratios(ours, (3, (16, 14)), (2, (16, 16))),
            lambda ratio: abs(ratio - 1) <= CLOSE,
        ),
        _sentence(
            "PEX-GEN on 16x30 takes longer than PEX on 16x32 at every size, which has "
            "more processors",
            ratios(ours, (3, (16, 30)), (2, (16, 32))),
            lambda ratio: ratio > 1,
        ),
    )


def _most_shifted(ours: Seconds) -> Claim:
    both = pairs(4, 3)
    theirs = sum(shifted.seconds < plain.seconds for shifted, plain in both)
    equal = sum(shifted.seconds == plain.seconds for shifted, plain in both)
    found = sum(ours[shifted] < ours[plain] for shifted, plain in both)
    return Claim(
        "PEX-GEN-SHIFT performs better than PEX-GEN in most cases",
        found > len(both) / 2,
        f"simulated in {found} of {len(both)}; printed in {theirs}, equal in {equal}",
    )


def _gen_claims(ours: Seconds) -> tuple[Claim, ...]:
    """Sentences about GEN beside its rivals."""
    return (
        _faster(
            "PEX performs better than GEN for at least 64 processors and messages above 1 KiB",
            ours,
            [(pex, gen) for gen, pex in pairs(5, 2) if gen.ranks >= 64 and gen.bytes > 1024],
        ),
        _faster(
            "GEN performs best for small messages and few processors: up to 1 KiB on 4x4 and 8x8",
            ours,
            [(gen, pex) for gen, pex in pairs(5, 2) if gen.ranks <= 64 and gen.bytes <= 1024],
        ),
        _faster(
            "GEN performs better than PEX-GEN-SHIFT when q - p is at least a quarter of q: "
            "4x5, 6x8, 16x9",
            ours,
            [(gen, shift) for gen, shift in pairs(6, 4) if _empty(gen) >= EMPTY],
        ),
        _faster(
            "PEX-GEN-SHIFT performs better than GEN when q - p is small and processors many: "
            "16x14, 16x30",
            ours,
            [(shift, gen) for gen, shift in pairs(6, 4) if _empty(gen) < EMPTY],
        ),
        _sentence(
            "PEX-GEN-SHIFT tends to PEX as p tends to q: on 16x14 within 10 % of PEX on 16x16 "
            "at every size",
            ratios(ours, (4, (16, 14)), (2, (16, 16))),
            lambda ratio: abs(ratio - 1) <= CLOSE,
        ),
        _sentence(
            "PEX-GEN-SHIFT tends to PEX as p tends to q: on 16x30 within 10 % of PEX on 16x32 "
            "at every size",
            ratios(ours, (4, (16, 30)), (2, (16, 32))),
            lambda ratio: abs(ratio - 1) <= CLOSE,
        ),
        _faster(
            "Table 6: for a small number of processors PEX-GEN performs best (a slip for "
            "GEN: 4x5, 6x8)",
            ours,
            [(plain, gen) for gen, plain in pairs(6, 3) if gen.ranks <= 48],
        ),
    )


def _empty(time: Time) -> float:
    """Share of the next power of two's numbers that nobody has."""
    space: int = 1 << (time.ranks - 1).bit_length()
    return (space - time.ranks) / space


def _faster(label: str, ours: Seconds, cases: list[tuple[Time, Time]]) -> Claim:
    """The first of a pair is no slower in most cases; names those in which it is."""
    found = [ours[one] <= ours[other] for one, other in cases]
    theirs = sum(one.seconds < other.seconds for one, other in cases)
    equal = sum(one.seconds == other.seconds for one, other in cases)
    against = (
        "; not "
        + ", ".join(
            f"{mesh_word(one.mesh)} {format_size(one.bytes)} ({ours[one] / ours[other] - 1:+.0%})"
            for (one, other), good in zip(cases, found, strict=True)
            if not good
        )
        if not all(found)
        else ""
    )
    printed_word = f"printed in {theirs}" + (f", equal in {equal}" if equal else "")
    return Claim(
        label,
        sum(found) > len(cases) / 2,
        f"simulated in {sum(found)} of {len(cases)}{against}; {printed_word}",
    )


def _linear(ours: Seconds) -> Claim:
    """Growth of Table 2 from 16 to 512 processors as an exponent."""
    theirs, found = ratios(ours, (2, (16, 32)), (2, (4, 4)))
    exponents = [[log(ratio) / log(512 / 16) for ratio in values] for values in (theirs, found)]
    return Claim(
        "Table 2: the time increases almost linearly with the processors: exponent from 16 to "
        "512 at most 1.1",
        max(exponents[1]) <= 1.1,
        f"simulated {_range(exponents[1])}; printed {_range(exponents[0])}: linear for 256 B, "
        "else contention's growth",
    )


def _rivals(ours: Seconds) -> Table:
    """Every mesh and size: its algorithms, fastest first."""
    rows = []
    for mesh in MESHES:
        for size in SIZES:
            cells = [time for time in printed() if (time.mesh, time.bytes) == (mesh, size)]
            theirs = min(cells, key=lambda time: time.seconds)
            found = min(cells, key=lambda time: ours[time])
            rows.append(
                (
                    mesh_word(mesh),
                    format_size(size),
                    NAMES[theirs.method],
                    theirs.seconds,
                    NAMES[found.method],
                    ours[found],
                )
            )
    columns = (
        "mesh",
        "size",
        "fastest printed",
        "printed [s]",
        "fastest simulated",
        "simulated [s]",
    )
    return Table("Fastest: of the text's algorithms", columns, tuple(rows))


def _draw() -> Figure:

    ours = held_out()
    panels = []
    for size in (SIZES[0], SIZES[-1]):
        lines = []
        for k, (table, method) in enumerate(METHODS.items()):
            column = [time for time in printed(table) if time.bytes == size]
            ranks = [time.ranks for time in column]
            name = f"{NAMES[method]}, Table {table}"
            lines.append(
                Line(name, ranks, [1e3 * t.seconds / t.ranks for t in column], "points", k)
            )
            lines.append(Line("", ranks, [1e3 * ours[t] / t.ranks for t in column], "curve", k))
        ticks = ([16, 48, 128, 256, 512], ["16", "48", "128", "256", "512"])
        panels.append(
            Panel(
                f"messages of {format_size(size)}",
                "processors",
                "time / processors [ms]",
                lines,
                2,
                False,
                ticks,
            )
        )
    return picture_charts(
        panels,
        title="Time of the complete exchange for each processor: level would be linear growth",
        subtitle=f"marks printed; lines {EXECUTED}, costs fitted to other machine sizes",
    )
