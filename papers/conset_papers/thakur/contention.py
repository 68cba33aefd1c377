"""Messages on the busiest link in every step, by formula and counted, on the ten meshes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.methods.phases.pairwise_exchange import gen_contention, pex_contention
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Cell, Claim, Item, Picture, Table
from conset_papers.thakur.exchange import contention
from conset_papers.thakur.fit import contention_of
from conset_papers.thakur.times import MESHES, NAMES, OTHERS, POWERS, Mesh, mesh_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOUT = (
    "Complete exchange on delta:RxC by methods pex, pex-gen, pex-gen-shift and gen, compiled; "
    "messages on every link "
    "counted in every phase along the machine's XY routes, the busiest link beside the formulas "
    "of sections 3.1 and "
    "3.4. Cells: steps of a mesh in which formula and count are equal, against all its steps, for "
    "PEX with floors and "
    "for the exact formula of GEN, max(min(j, c - j), V) with V = min(k, r - k) where j = 0, else "
    "max(min(k, r - k), "
    "min(k + 1, r - k - 1)), j = i mod c, k = ⌊i/c⌋."
)
PAIRWISE = ("pex-gen", "pex-gen-shift")
COLUMNS = (
    "algorithm",
    "formula",
    "mesh",
    "steps",
    "equal",
    "too high",
    "too low",
    "sum over counted",
    "most counted",
    "most by formula",
)


@dataclass(frozen=True)
class Comparison:
    """A formula beside the count, over the steps of one algorithm on one mesh."""

    method: str
    formula: str
    mesh: Mesh
    counted: NDArray[np.int64]
    by_formula: NDArray[np.int64]

    @property
    def steps(self) -> int:
        """Of the algorithm."""
        return self.counted.size

    @property
    def high(self) -> int:
        """Steps in which the formula says more than there is."""
        return int(np.count_nonzero(self.by_formula > self.counted))

    @property
    def low(self) -> int:
        """Steps in which it says less."""
        return int(np.count_nonzero(self.by_formula < self.counted))

    @property
    def equal(self) -> int:
        """Steps in which it is right."""
        return self.steps - self.high - self.low

    def row(self) -> tuple[str | float | int, ...]:
        """As in `COLUMNS`."""
        return (
            NAMES[self.method],
            self.formula,
            mesh_word(self.mesh),
            self.steps,
            self.equal,
            self.high,
            self.low,
            float(self.by_formula.sum() / self.counted.sum()),
            int(self.counted.max()),
            int(self.by_formula.max()),
        )


def reproduce() -> Item:
    """Counts all 25 schedules and holds every formula against them."""
    exact = list(exact_formulas())
    text = list(text_formulas())
    cells = tuple(
        Cell(f"{NAMES[c.method]}, {c.formula}", mesh_word(c.mesh), c.steps, c.equal) for c in exact
    )
    table = Table(
        "Contention: formulas beside counts", COLUMNS, tuple(c.row() for c in exact + text)
    )
    claims = (_half_a_side(), _steps(), *_text_claims(text))
    return Item(
        "thakur",
        "Contention",
        "messages on the busiest link, by formula and counted",
        ABOUT,
        cells=cells,
        claims=claims,
        tolerance=0.0,
        tables=(table,),
        pictures=(Picture(_draw),),
        basis="computed",
    )


def exact_formulas() -> Iterator[Comparison]:
    """PEX with floors and the exact formula of GEN."""
    for mesh in POWERS:
        yield _comparison("pex", "floors", mesh, pex_contention(mesh))
    for mesh in MESHES:
        yield _comparison("gen", "exact", mesh, gen_contention(*mesh))


def text_formulas() -> Iterator[Comparison]:
    """What the text prints, and PEX's formula as its bound of PEX-GEN and PEX-GEN-SHIFT."""
    for mesh in POWERS:
        yield _comparison("pex", "ceilings", mesh, contention_of("ceilings", "pex", mesh))
    for mesh in MESHES:
        yield _comparison("gen", "sum", mesh, contention_of("floors", "gen", mesh))
    for method in PAIRWISE:
        for mesh in OTHERS:
            yield _comparison(method, "that of PEX", mesh, contention_of("floors", method, mesh))


def _comparison(method: str, formula: str, mesh: Mesh, by_formula: NDArray[np.int64]) -> Comparison:
    return Comparison(method, formula, mesh, contention(method, mesh).astype(np.int64), by_formula)


def _half_a_side() -> Claim:
    most = {mesh: int(contention("pex", mesh).max()) for mesh in POWERS}
    return Claim(
        "PEX: at most max(r, c)/2 messages contend for a link in any step (section 3.1)",
        all(load <= max(mesh) / 2 for mesh, load in most.items()),
        ", ".join(f"{mesh_word(mesh)}: {load}" for mesh, load in most.items()),
    )


def _steps() -> Claim:
    cases = (
        [("pex", m) for m in POWERS]
        + [("gen", m) for m in MESHES]
        + [(p, m) for p in PAIRWISE for m in OTHERS]
    )
    right = sum(contention(*case).size == _text_steps(*case) for case in cases)
    return Claim(
        "PEX and GEN take p − 1 steps, PEX-GEN and PEX-GEN-SHIFT q − 1, q the next power of two "
        "(sections 3.1 to 3.4)",
        right == len(cases),
        f"{right} of {len(cases)} schedules",
    )


def _text_steps(method: str, mesh: Mesh) -> int:
    ranks = mesh[0] * mesh[1]
    return int((1 << (ranks - 1).bit_length()) - 1 if method in PAIRWISE else ranks - 1)


def _text_claims(text: list[Comparison]) -> Iterator[Claim]:
    """What the text says of each step, as it stands."""
    ceilings = [c for c in text if c.formula == "ceilings"]
    yield _held(
        "PEX: f(i) = 2^⌈lg max(i mod c, i/c)⌉ is exact (section 3.1, as scanned); "
        "with floors it is",
        ceilings,
        _too_high,
        lambda c: c.equal == c.steps,
    )
    yield _held(
        "GEN: f(i) is the sum of a horizontal and a vertical term (section 3.4); they load "
        "different links, and it is "
        "an upper bound only",
        [c for c in text if c.formula == "sum"],
        _too_high,
        lambda c: c.equal == c.steps,
    )
    for method in PAIRWISE:
        cases = [c for c in text if c.method == method]
        yield _held(
            f"{NAMES[method]}: the contention in each step is bounded by that of PEX (sections "
            "3.2, 3.3); it is where "
            "the columns are a power of two",
            cases,
            _above,
            lambda c: c.low == 0,
        )


def _held(
    label: str,
    cases: list[Comparison],
    figures: Callable[[Comparison], str],
    holds: Callable[[Comparison], bool],
) -> Claim:
    return Claim(label, all(holds(c) for c in cases), "; ".join(figures(c) for c in cases))


def _too_high(case: Comparison) -> str:
    low = f", too low in {case.low}" if case.low else ""
    return f"{mesh_word(case.mesh)}: too high in {case.high} of {case.steps} steps{low}"


def _above(case: Comparison) -> str:
    most = f"most {case.counted.max()}, max(r, c)/2 = {max(case.mesh) // 2}"
    return f"{mesh_word(case.mesh)}: above it in {case.low} of {case.steps} steps ({most})"


def _draw() -> Figure:

    shown = [
        c
        for c in text_formulas()
        if c.mesh in ((16, 16), (16, 14)) and (c.method, c.mesh) != ("gen", (16, 14))
    ]
    most = max(max(c.counted.max(), c.by_formula.max()) for c in shown)
    panels = [
        Panel(
            f"{NAMES[c.method]} on {mesh_word(c.mesh)}",
            "step",
            "messages, busiest link",
            [
                Line("counted", range(1, c.steps + 1), c.counted.tolist(), "steps"),
                Line(
                    "by the text's formula", range(1, c.steps + 1), c.by_formula.tolist(), "bound"
                ),
            ],
            y_limits=(0, 1.06 * most),
        )
        for c in shown
    ]
    return picture_charts(
        panels,
        height=2.7,
        title="Contention in every step of the complete exchange",
        subtitle="formulas as scanned; for PEX-GEN and PEX-GEN-SHIFT the bound: PEX with floors",
    )
