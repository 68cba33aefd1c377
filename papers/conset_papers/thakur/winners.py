"""Winners: which of two algorithms is faster.

And by how much a model is better than a constant answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Cell, Claim, Item, Picture, Table
from conset_papers.thakur.exchange import EXECUTED, predicted, simulated
from conset_papers.thakur.fit import fit, fit_six
from conset_papers.thakur.folds import held_out
from conset_papers.thakur.times import (
    MESHES,
    METHODS,
    NAMES,
    SIZES,
    Seconds,
    Time,
    mesh_word,
    pairs,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEX, SHIFT = (5, 2), (6, 4)
"""Tables of GEN and of its rival, on powers of two and on other meshes."""
RIVALS = {"GEN or PEX": PEX, "GEN or PEX-GEN-SHIFT": SHIFT}
CLOSE = 1.2
"""Printed times closer than this are within what the models miss."""
ABOUT = (
    "Ratios of two times on the same mesh at the same size, complete exchanges on delta:RxC, "
    f"{EXECUTED}, with costs "
    "fitted to the printed times of three other machine sizes (benchmarks/fit_delta.py): GEN over "
    "PEX (Tables 5 and 2) "
    "and GEN over PEX-GEN-SHIFT (Tables 6 and 4). A winner is right where the ratio is on the "
    "printed one's side of 1; "
    "cells printed equal have none. How many are right says nothing by itself: always naming the "
    "algorithm that wins "
    "more often is right as often as it wins. Skill is the share of what this constant guess "
    "misses that a model gets "
    "right beyond it, (right − constant) / (all − constant): 1 is perfect, 0 knows nothing, less "
    "is worse than it."
)


def reproduce() -> Item:
    """Ratios as cells, skill as claims."""
    ours = held_out()
    cells = tuple(
        Cell(
            f"GEN over {NAMES[rival.method]}, {mesh_word(gen.mesh)}",
            format_size(gen.bytes),
            gen.seconds / rival.seconds,
            ours[gen] / ours[rival],
        )
        for tables in RIVALS.values()
        for gen, rival in pairs(*tables)
    )
    claims = tuple(_skilled(name, tables, ours) for name, tables in RIVALS.items())
    return Item(
        "thakur",
        "Winners",
        "which algorithm is faster: GEN or PEX, GEN or PEX-GEN-SHIFT",
        ABOUT,
        cells=cells,
        claims=claims,
        tables=(_models(),),
        pictures=(Picture(_draw),),
        departures=(
            f"GEN or PEX, wrong: {_missed(ours)}",
            "times closer than about 20 % decide no winner: no model is that exact",
        ),
        basis="computed",
    )


def _skilled(name: str, tables: tuple[int, int], ours: Seconds) -> Claim:
    right = _right(ours, tables)
    return Claim(
        f"beyond the text: {name}: the simulation tells more than always naming "
        f"{constant_name(tables)}",
        skill(ours, tables) > 0,
        f"skill {skill(ours, tables):+.2f}: right in {sum(right)} of {len(right)} pairs, "
        "always naming "
        f"{constant_name(tables)} in {constant_right(tables)}; where printed times differ by "
        "more than 20 %: "
        f"{_clear(ours, tables)}",
    )


def constant_right(tables: tuple[int, int], least: float = 1.0) -> int:
    """Pairs in which the constant guess is right.

    The algorithm that wins more often in all decided pairs.
    """
    gen_wins = [
        gen.seconds < rival.seconds for gen, rival in decided(*tables) if _apart(gen, rival) > least
    ]
    return sum(gen_wins) if _names_gen(tables) else len(gen_wins) - sum(gen_wins)


def constant_name(tables: tuple[int, int]) -> str:
    """The algorithm that wins more often in print."""
    return NAMES[METHODS[tables[0 if _names_gen(tables) else 1]]]


def _names_gen(tables: tuple[int, int]) -> bool:
    wins = [gen.seconds < rival.seconds for gen, rival in decided(*tables)]
    return 2 * sum(wins) > len(wins)


def skill(ours: Seconds, tables: tuple[int, int], least: float = 1.0) -> float:
    """(right − constant) / (all − constant) over decided pairs; at most 1.

    Pairs whose printed ratio is above `least`.

    0 where the guess misses nothing.
    """
    right, constant = _right(ours, tables, least), constant_right(tables, least)
    return (sum(right) - constant) / (len(right) - constant) if len(right) > constant else 0.0


def decided(gen: int, rival: int) -> list[tuple[Time, Time]]:
    """Pairs of cells of two tables that are not printed equal."""
    return [pair for pair in pairs(gen, rival) if pair[0].seconds != pair[1].seconds]


def winners(ours: Seconds) -> list[bool]:
    """GEN or PEX: whether each decided pair that `ours` has is right."""
    return _right(ours, PEX)


def shift_winners(ours: Seconds) -> list[bool]:
    """GEN or PEX-GEN-SHIFT, as `winners`."""
    return _right(ours, SHIFT)


def _right(ours: Seconds, tables: tuple[int, int], least: float = 1.0) -> list[bool]:
    return [
        (ours[gen] < ours[rival]) == (gen.seconds < rival.seconds)
        for gen, rival in decided(*tables)
        if gen in ours and rival in ours and _apart(gen, rival) > least
    ]


def _apart(gen: Time, rival: Time) -> float:
    return max(gen.seconds / rival.seconds, rival.seconds / gen.seconds)


def _clear(ours: Seconds, tables: tuple[int, int]) -> str:
    hits = _right(ours, tables, CLOSE)
    return f"{sum(hits)} of {len(hits)}"


def _missed(ours: Seconds) -> str:
    wrong = [
        (gen, rival)
        for (gen, rival), hit in zip(decided(*PEX), winners(ours), strict=True)
        if not hit
    ]
    return ", ".join(
        f"{mesh_word(gen.mesh)} {format_size(gen.bytes)} (printed "
        f"{gen.seconds / rival.seconds:.2f}, "
        f"simulated {ours[gen] / ours[rival]:.2f})"
        for gen, rival in wrong
    )


def _models() -> Table:
    models = {
        "simulated, fitted to other machine sizes": held_out(),
        "the preset simulated, in sample": simulated(),
        "the text's model, three parameters, in sample": fit().seconds,
        "the text's model, its formulas, in sample": fit("floors").seconds,
        "six parameters, in sample": fit_six().seconds,
        "conset's formula": predicted(),
    }
    columns = (
        "model",
        *(
            f"{name}: {what}"
            for name in RIVALS
            for what in ("right", "skill", "apart by 20 %", "skill apart")
        ),
    )
    rows = [
        (name, *(value for tables in RIVALS.values() for value in _figures(ours, tables)))
        for name, ours in models.items()
    ]
    constant = (
        f"{constant_right(tables, least)} of "
        f"{sum(_apart(*pair) > least for pair in decided(*tables))}"
        for tables in RIVALS.values()
        for least in (1.0, CLOSE)
    )
    one, two, three, four = constant
    names = [f"always {constant_name(tables)}" for tables in RIVALS.values()]
    rows.append((f"{names[0]}; {names[1]}", one, 0.0, two, 0.0, three, 0.0, four, 0.0))
    return Table(
        "Models: winners that are right, and skill over the constant guess", columns, tuple(rows)
    )


def _figures(ours: Seconds, tables: tuple[int, int]) -> tuple[str | float, ...]:
    right = _right(ours, tables)
    return (
        f"{sum(right)} of {len(right)}",
        round(skill(ours, tables), 2),
        _clear(ours, tables),
        round(skill(ours, tables, CLOSE), 2),
    )


def _draw() -> Figure:

    ours = held_out()
    ticks = (SIZES, [format_size(size) for size in SIZES])
    panels = []
    for tables, name in ((PEX, "GEN over PEX"), (SHIFT, "GEN over PEX-GEN-SHIFT")):
        both = pairs(*tables)
        lines = [Line("", [SIZES[0], SIZES[-1]], [1, 1], kind="quiet")]
        for k, mesh in enumerate(
            mesh for mesh in MESHES if any(gen.mesh == mesh for gen, _ in both)
        ):
            column = [pair for pair in both if pair[0].mesh == mesh]
            sizes = [gen.bytes for gen, _ in column]
            lines.append(
                Line(
                    mesh_word(mesh),
                    sizes,
                    [gen.seconds / rival.seconds for gen, rival in column],
                    "points",
                    k,
                )
            )
            lines.append(
                Line("", sizes, [ours[gen] / ours[rival] for gen, rival in column], "curve", k)
            )
        panels.append(
            Panel(name, "message size", "ratio of times", lines, 2, False, ticks, (0.4, 1.6))
        )
    return picture_charts(
        panels,
        title="Which algorithm is faster: below 1 it is GEN",
        subtitle=f"marks printed; lines {EXECUTED}, costs fitted to other machine sizes",
    )
