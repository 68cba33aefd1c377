"""The schedules of the text: Table 1, Figures 1 to 5, and contention in every step.

Table 1: the seven steps of PEX on 8 processors, read out of the compiled schedule.

Figures 1, 2, 4 and 5.

The text's pseudo-code, run word by word, beside the schedules compiled for the ten meshes.

Figure 3: 20 processors in a space of 32 numbers.

What shifting them changes, counted in the compiled schedules.

Messages on the busiest link in every step, by formula and counted, on the ten meshes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conset.base import Ints
from conset.methods import gen_contention, pex_contention
from conset.report import Heat, Line, Panel, picture_charts
from conset.schedule import Schedule
from conset_papers.item import Cell, Claim, Item, Picture, Table, read_published
from conset_papers.thakur.fit import contention_of
from conset_papers.thakur.times import (
    MESHES,
    NAMES,
    OTHERS,
    POWERS,
    Mesh,
    contention,
    exchange,
    mesh_word,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE_1_MESH = (2, 4)
TABLE_1_ABOUT = (
    "Complete exchange on delta:2x4 by method pex; in the compiled schedule, the partner of the "
    "processor that the "
    "text names first in each of its 28 entries (the schedule of PEX knows processors only: any "
    "mesh of 8 gives it)."
)


def table_1() -> Item:
    """Compiles, then compares partner by partner."""
    schedule = exchange(TABLE_1_MESH, 1024, "pex")
    partner = partners(schedule)
    rows = [
        (int(r["step"]), int(r["processor"]), int(r["partner"]))
        for r in read_published("thakur", "table_1")
    ]
    cells = tuple(
        Cell(f"step {step}", f"partner of {one}", other, partner[step - 1, one])
        for step, one, other in rows
    )
    mutual = sum(partner.get((step, other)) == one for (step, one), other in partner.items())
    claims = (
        Claim("p − 1 = 7 steps (section 3.1)", schedule.phases == 7, f"{schedule.phases} phases"),
        Claim(
            "the whole pattern is a sequence of pairwise exchanges (section 3.1)",
            mutual == 56,
            f"{mutual} of 56 messages meet their partner's in the same step",
        ),
    )
    steps = tuple(_step(partner, step) for step in range(schedule.phases))
    columns = tuple(f"step {step + 1}" for step in range(schedule.phases))
    table = Table("Communication schedule: as compiled", columns, tuple(zip(*steps, strict=True)))
    return Item(
        "thakur",
        "Table 1",
        "schedule of PEX on 8 processors",
        TABLE_1_ABOUT,
        cells=cells,
        claims=claims,
        tables=(table,),
        pictures=(Picture(lambda: _table_1_draw(partner, schedule.phases)),),
        basis="computed",
    )


def partners(schedule: Schedule) -> dict[tuple[int, int], int]:
    """(phase, processor) → whom it sends to."""
    phase, source, target = (
        values.tolist()
        for values in (schedule.phase_of, schedule.source_node, schedule.target_node)
    )
    return {(step, one): other for step, one, other in zip(phase, source, target, strict=True)}


def _step(partner: dict[tuple[int, int], int], step: int) -> list[str]:
    return [
        f"{one} ↔ {other}"
        for (at, one), other in sorted(partner.items())
        if at == step and one < other
    ]


def _table_1_draw(partner: dict[tuple[int, int], int], steps: int) -> Figure:
    """The mesh in every step; partners have one colour and name each other."""
    from conset_papers.grids import permutation, picture_grids

    grids = []
    for step in range(steps):
        target = np.array([partner[step, one] for one in range(TABLE_1_MESH[0] * TABLE_1_MESH[1])])
        lower = np.minimum(target, np.arange(target.size))
        shade = np.searchsorted(np.unique(lower), lower)
        grids.append(
            permutation(
                f"step {step + 1}", target.reshape(TABLE_1_MESH), shade.reshape(TABLE_1_MESH)
            )
        )
    return picture_grids(
        [grids[:4], grids[4:]],
        title="PEX on 8 processors: whom each exchanges with",
        subtitle=(
            "compiled on delta:2x4, in each cell row and column of its partner; partners "
            "share a colour"
        ),
        height=1.8,
    )


Steps = Ints
"""shape=(steps, ranks): whom each processor sends to; -1: nobody."""
FIGURES = {1: "pex", 2: "pex-gen", 4: "pex-gen-shift", 5: "gen"}
SHOWN: dict[int, Mesh] = {1: (4, 4), 2: (4, 5), 4: (4, 5), 5: (4, 5)}
"""Mesh of the picture."""
PSEUDO_CODE_ABOUT = (
    "The loop of Figure {figure}, run word by word for every processor, beside the schedule "
    "compiled for delta:RxC by "
    "method {method}: in every step, whom each processor sends to. Nothing is simulated."
)


def space_of(ranks: int) -> int:
    """Q = 2^⌈lg p⌉."""
    return 1 << (ranks - 1).bit_length()


def figure_1(ranks: int) -> Steps:
    """PEX: destination = xor(mynumber, i), i = 1 … p - 1."""
    return np.arange(ranks) ^ np.arange(1, ranks)[:, None]


def figure_2(ranks: int) -> Steps:
    """PEX-GEN: destination = xor(mynumber, j), j = 1 … q - 1, where it is below p."""
    partner = np.arange(ranks) ^ np.arange(1, space_of(ranks))[:, None]
    return np.where(partner < ranks, partner, -1)


def figure_4(ranks: int, *, modulo: str = "p") -> Steps:
    """Exchanges between virtual numbers, mod(mynumber + shift, p) as printed, or modulo q."""
    space = space_of(ranks)
    shift = (space - ranks) // 2
    virtual = (np.arange(ranks) + shift) % (ranks if modulo == "p" else space)
    partner = (virtual ^ np.arange(1, space)[:, None]) - shift
    partner = np.where(partner < 0, partner + space, partner)
    return np.where(partner < ranks, partner, -1)


def figure_5(ranks: int) -> Steps:
    """GEN: destination = mod(mynumber + j, p), j = 1 … p - 1."""
    return (np.arange(ranks) + np.arange(1, ranks)[:, None]) % ranks


PRINTED: dict[int, Callable[[int], Steps]] = {1: figure_1, 2: figure_2, 4: figure_4, 5: figure_5}


def compiled_steps(schedule: Schedule) -> Steps:
    """As `Steps`, of a compiled schedule without empty phases."""
    steps = np.full((schedule.phases, schedule.pattern.ranks), -1, np.int64)
    steps[schedule.phase_of, schedule.source_node] = schedule.target_node
    return steps


def pseudo_code(figure: int) -> Item:
    """Runs a figure's loop on every mesh of its tables and compares it with the compiled one."""
    method = FIGURES[figure]
    meshes = {1: POWERS, 5: MESHES}.get(figure, OTHERS)
    printed = {mesh: PRINTED[figure](mesh[0] * mesh[1]) for mesh in meshes}
    compiled = {mesh: compiled_steps(exchange(mesh, 1, method)) for mesh in meshes}
    claims = [
        _same(
            f"Figure {figure} as printed: every processor sends in every step to whom the "
            f"compiled {NAMES[method]} "
            "sends it",
            printed,
            compiled,
        ),
        _complete(printed),
    ]
    if figure == 5:
        claims.append(_sources(printed))
    else:
        claims.append(_mutual(printed))
    if figure == 4:
        other = {mesh: figure_4(mesh[0] * mesh[1], modulo="q") for mesh in meshes}
        label = (
            "beside it: with virtual numbers modulo q, as the words and the example of "
            "section 3.3 need, "
        )
        claims.append(_same(label + "it is the compiled schedule", other, compiled, asserted=False))
    table = Table(
        "Steps: as printed and as compiled",
        PSEUDO_CODE_COLUMNS,
        tuple(_row(m, printed[m], compiled[m]) for m in meshes),
    )
    shown = SHOWN[figure]
    return Item(
        "thakur",
        f"Figure {figure}",
        f"the algorithm {NAMES[method]}, run as it is printed",
        PSEUDO_CODE_ABOUT.format(figure=figure, method=method),
        claims=tuple(claims),
        tables=(table,),
        pictures=(Picture(lambda: _pseudo_code_draw(figure, printed[shown], compiled[shown])),),
        basis="computed",
    )


PSEUDO_CODE_COLUMNS = (
    "mesh",
    "steps printed",
    "steps compiled",
    "sends printed",
    "to itself",
    "not mutual",
    "as compiled",
)


def _row(mesh: Mesh, printed: Steps, compiled: Steps) -> tuple[str | int, ...]:
    sends = printed >= 0
    same = (
        int(np.count_nonzero((printed == compiled) & sends))
        if printed.shape == compiled.shape
        else 0
    )
    return (
        mesh_word(mesh),
        len(printed),
        len(compiled),
        int(np.count_nonzero(sends)),
        int(np.count_nonzero(printed == np.arange(printed.shape[1]))),
        _not_mutual(printed),
        same,
    )


def _same(
    label: str, one: dict[Mesh, Steps], other: dict[Mesh, Steps], *, asserted: bool = True
) -> Claim:
    differs = []
    for mesh, steps in one.items():
        if steps.shape != other[mesh].shape:
            differs.append(f"{mesh_word(mesh)}: {len(steps)} steps against {len(other[mesh])}")
        elif not np.array_equal(steps, other[mesh]):
            count = int(np.count_nonzero(steps != other[mesh]))
            differs.append(f"{mesh_word(mesh)}: {count} of {steps.size}")
    figures = f"differ: {', '.join(differs)}" if differs else f"the same on {len(one)} meshes"
    return Claim(label, not differs, figures, asserted)


def _complete(printed: dict[Mesh, Steps]) -> Claim:
    """Whether every processor sends to every other exactly once."""
    wrong = []
    for mesh, steps in printed.items():
        ranks = steps.shape[1]
        source = np.broadcast_to(np.arange(ranks), steps.shape)[steps >= 0]
        times = np.bincount(source * ranks + steps[steps >= 0], minlength=ranks * ranks).reshape(
            ranks, ranks
        )
        missing = int(np.count_nonzero(times != 1 - np.eye(ranks, dtype=np.int64)))
        if missing:
            wrong.append(f"{mesh_word(mesh)}: {missing} of {ranks * ranks}")
    return Claim(
        "as printed it is a complete exchange: every processor sends to every other once, "
        "never to itself",
        not wrong,
        f"pairs not so: {', '.join(wrong)}" if wrong else f"on {len(printed)} meshes",
    )


def _not_mutual(steps: Steps) -> int:
    """Sends whose receiver does not send back in the same step."""
    back = np.take_along_axis(steps, np.maximum(steps, 0), axis=1)
    return int(np.count_nonzero((steps >= 0) & (back != np.arange(steps.shape[1]))))


def _mutual(printed: dict[Mesh, Steps]) -> Claim:
    wrong = {mesh: _not_mutual(steps) for mesh, steps in printed.items() if _not_mutual(steps)}
    return Claim(
        "as printed, whom a processor exchanges with exchanges with it in the same step",
        not wrong,
        ", ".join(f"{mesh_word(mesh)}: {count} sends meet nobody" for mesh, count in wrong.items())
        or f"on {len(printed)} meshes",
    )


def _sources(printed: dict[Mesh, Steps]) -> Claim:
    """Figure 5's other half: source = mynumber - j, + p where negative."""
    wrong = []
    for mesh, steps in printed.items():
        ranks = steps.shape[1]
        source = np.arange(ranks) - np.arange(1, ranks)[:, None]
        source = np.where(source < 0, source + ranks, source)
        if not np.array_equal(
            np.take_along_axis(steps, source, axis=1),
            np.broadcast_to(np.arange(ranks), steps.shape),
        ):
            wrong.append(mesh_word(mesh))
    return Claim(
        "as printed, whom a processor receives from sends to it in the same step",
        not wrong,
        f"not on {', '.join(wrong)}" if wrong else f"on {len(printed)} meshes",
    )


def _pseudo_code_draw(figure: int, printed: Steps, compiled: Steps) -> Figure:
    """The partner of every processor in every step; what differs is surrounded."""
    differs = printed != compiled
    panels = [
        Heat(
            name,
            "processor",
            "step",
            [str(rank) for rank in range(steps.shape[1])],
            [str(step + 1) for step in range(len(steps))],
            np.where(steps >= 0, steps, np.nan).astype(np.float64),
            differs,
            most=float(max(printed.max(), compiled.max())),
        )
        for name, steps in (("as printed", printed), ("as compiled", compiled))
    ]
    mesh = mesh_word(SHOWN[figure])
    return picture_charts(
        panels,
        title=f"Figure {figure}: {NAMES[FIGURES[figure]]} on {mesh}: whom each processor sends to",
        subtitle="empty: nobody; a line surrounds what differs",
        height=0.6 + 0.2 * len(printed),
    )


FIGURE_3_MESH: Mesh = (4, 5)
RANKS = 20
METHODS = ("pex-gen", "pex-gen-shift")
FIGURE_3_ABOUT = (
    "The example of section 3.3: complete exchange of 20 processors on delta:4x5 by methods "
    "pex-gen and pex-gen-shift. "
    "Steps, processors at work and messages on the busiest link are counted in the compiled "
    "schedules; the shift is "
    "read out of the schedule: the one number s for which x + s and y + s differ by XOR in the "
    "step's number, for all "
    "messages x → y."
)


def figure_3() -> Item:
    """Numbers of the example as cells, its sentences as assertions."""
    plain, shifted = (exchange(FIGURE_3_MESH, 1024, method) for method in METHODS)
    shift = _shift_of(shifted)
    cells = (
        Cell("PEX-GEN", "steps", 31, plain.phases),
        Cell("PEX-GEN-SHIFT", "steps", 31, shifted.phases),
        Cell("PEX-GEN-SHIFT", "virtual number of processor 0", 6, shift),
        Cell("PEX-GEN-SHIFT", "virtual number of processor 19", 25, RANKS - 1 + shift),
    )
    active = {
        method: active_processors(schedule)
        for method, schedule in zip(METHODS, (plain, shifted), strict=True)
    }
    claims = (_apart(plain), *_crowded(), _idle(shifted))
    return Item(
        "thakur",
        "Figure 3",
        "processor shift: 20 processors numbered 6 to 25",
        FIGURE_3_ABOUT,
        cells=cells,
        claims=claims,
        tables=(_table(active),),
        pictures=(Picture(lambda: _figure_3_draw(active)),),
        basis="computed",
    )


def _shift_of(schedule: Schedule) -> int:
    step = schedule.phase_of + 1
    shifts = [
        s
        for s in range(RANKS)
        if np.array_equal((schedule.source_node + s) ^ (schedule.target_node + s), step)
    ]
    return shifts[0] if shifts else -1


def active_processors(schedule: Schedule) -> Ints:
    """shape=(steps): processors that send in each step."""
    return np.diff(schedule.phase_offsets)


def _apart(schedule: Schedule) -> Claim:
    """Who meets whom in the halves of PEX-GEN's steps."""
    first = schedule.phase_of < 15
    across = (schedule.source_node < 16) != (schedule.target_node < 16)
    strays = int(np.count_nonzero(across[first])), int(np.count_nonzero(~across[~first]))
    return Claim(
        "PEX-GEN: in the first 15 steps 0-15 and 16-19 exchange among themselves, in the next 16 "
        "with each other "
        "(section 3.3)",
        strays == (0, 0),
        f"{strays[0]} messages cross in steps 1-15, {strays[1]} do not in steps 16-31",
    )


def _crowded() -> tuple[Claim, Claim]:
    """Contention in the halves of PEX-GEN's steps."""
    load, shifted = (contention(method, FIGURE_3_MESH) for method in METHODS)
    contended = int(np.count_nonzero(load[15:] > 1))
    return (
        Claim(
            "the shift balances the contention among all steps (section 3.3): the means of both "
            "halves come closer",
            bool(
                abs(shifted[:15].mean() - shifted[15:].mean())
                < abs(load[:15].mean() - load[15:].mean())
            ),
            f"busiest link in steps 1-15 and 16-31: {load[:15].mean():.2f} and "
            f"{load[15:].mean():.2f} by PEX-GEN, "
            f"{shifted[:15].mean():.2f} and {shifted[15:].mean():.2f} by PEX-GEN-SHIFT",
        ),
        Claim(
            "PEX-GEN: very little or no link contention in steps 16 to 31 (section 3.3)",
            contended < 16 / 2,
            f"two or more share a link in {contended} of these 16 steps, in "
            f"{np.count_nonzero(load[:15] > 1)} of the "
            "first 15",
        ),
    )


def _idle(schedule: Schedule) -> Claim:
    """Active processors of both halves of virtual numbers in PEX-GEN-SHIFT's first 15 steps."""
    lower = schedule.source_node < RANKS // 2
    low, high = (
        np.bincount(schedule.phase_of[half], minlength=schedule.phases)[:15]
        for half in (lower, ~lower)
    )
    return Claim(
        "PEX-GEN-SHIFT: in the first 15 steps equally many processors are idle in both halves "
        "(section 3.3)",
        bool(np.array_equal(low, high)),
        f"equal in {int(np.count_nonzero(low == high))} of 15 steps",
    )


def _table(active: dict[str, Ints]) -> Table:
    columns = (
        "step",
        *(f"{NAMES[m]}: {what}" for m in METHODS for what in ("active", "busiest link")),
    )
    series = [
        values.tolist() for m in METHODS for values in (active[m], contention(m, FIGURE_3_MESH))
    ]
    rows = tuple((k + 1, *values) for k, values in enumerate(zip(*series, strict=True)))
    return Table("Steps: processors at work and messages on the busiest link", columns, rows)


def _figure_3_draw(active: dict[str, Ints]) -> Figure:

    panels = [
        Panel(
            f"{NAMES[m]}: {title}",
            "step",
            unit,
            [Line("", range(1, values.size + 1), values.tolist(), "steps")],
            y_limits=(0, 1.06 * max(map(max, series.values()))),
        )
        for title, unit, series in (
            ("processors at work", "processors", active),
            (
                "contention",
                "messages, busiest link",
                {m: contention(m, FIGURE_3_MESH) for m in METHODS},
            ),
        )
        for m, values in series.items()
    ]
    return picture_charts(
        panels,
        title="20 processors in a space of 32 numbers",
        height=2.7,
        subtitle="delta:4x5, counted in the compiled schedules",
    )


LOADS_ABOUT = (
    "Complete exchange on delta:RxC by methods pex, pex-gen, pex-gen-shift and gen, compiled; "
    "messages on every link "
    "counted in every phase along the machine's XY routes, the busiest link beside the formulas "
    "of sections 3.1 and "
    "3.4. The paper prints no count, so there is no cell. "
    "Our exact formula of GEN is max(min(j, c - j), V) with V = min(k, r - k) where j = 0, else "
    "max(min(k, r - k), "
    "min(k + 1, r - k - 1)), j = i mod c, k = ⌊i/c⌋."
)
PAIRWISE = ("pex-gen", "pex-gen-shift")
LOADS_COLUMNS = (
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
    counted: Ints
    by_formula: Ints

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


def loads() -> Item:
    """Counts all 25 schedules and holds every formula against them."""
    exact = list(exact_formulas())
    text = list(text_formulas())
    table = Table(
        "Contention: formulas beside counts", LOADS_COLUMNS, tuple(c.row() for c in exact + text)
    )
    claims = (
        _half_a_side(),
        _steps(),
        *_text_claims(text),
        Claim(
            "beside: PEX with floors and our formula of GEN are exact in every step",
            all(c.equal == c.steps for c in exact),
            f"{sum(c.equal == c.steps for c in exact)} of {len(exact)} meshes",
            asserted=False,
        ),
    )
    return Item(
        "thakur",
        "Contention",
        "messages on the busiest link, by formula and counted",
        LOADS_ABOUT,
        claims=claims,
        tables=(table,),
        pictures=(Picture(_loads_draw),),
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


def _comparison(method: str, formula: str, mesh: Mesh, by_formula: Ints) -> Comparison:
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


def _loads_draw() -> Figure:

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
