"""Winners: which of two algorithms is faster, printed and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.units import format_size
from conset_papers.item import Cell, Claim, Item, Picture, Table
from conset_papers.thakur.exchange import EXECUTED, predicted, simulated
from conset_papers.thakur.fit import fit
from conset_papers.thakur.times import MESHES, NAMES, SIZES, Seconds, Time, mesh_word, pairs, reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEX, SHIFT = (5, 2), (6, 4)
"""Tables of GEN and of its rival, on powers of two and on other meshes."""
NEEDED = 17
CLOSE = 1.2
"""Printed times closer than this are within what the models miss."""
ABOUT = (
    f"Ratios of two times on the same mesh at the same size, from the 125 cells of delta:RxC, {EXECUTED}, with the "
    "preset's one parameter set: GEN over PEX (Tables 5 and 2) and GEN over PEX-GEN-SHIFT (Tables 6 and 4). A winner "
    "is right where the simulated ratio is on the printed one's side of 1; cells printed equal have none."
)


def reproduce() -> Item:
    """Ratios as cells, right winners as claims."""
    ours = simulated()
    cells = tuple(
        Cell(f"GEN over {NAMES[rival.method]}, {mesh_word(gen.mesh)}", format_size(gen.bytes),
             gen.seconds / rival.seconds, ours[gen] / ours[rival])
        for tables in (PEX, SHIFT) for gen, rival in pairs(*tables)
    )  # fmt: skip
    hits, shift_hits = winners(ours), shift_winners(ours)
    constant = [rival.seconds < gen.seconds for gen, rival in decided(*PEX)]
    claims = (
        Claim(f"GEN or PEX: the winner right in at least {NEEDED} of 23 cells", len(hits) == 23 and sum(hits) >= NEEDED,
              f"{sum(hits)} of {len(hits)}; where printed times differ by more than 20 %: {_clear(ours, PEX)}"),
        Claim("GEN or PEX: the simulation tells more than always naming PEX", sum(hits) > sum(constant),
              f"{sum(hits)} against {sum(constant)} of {len(hits)}: it puts PEX first in "
              f"{sum(ours[rival] < ours[gen] for gen, rival in pairs(*PEX))} of 25 cells", asserted=False),
        Claim("GEN or PEX-GEN-SHIFT: the winner right in most cells", sum(shift_hits) > len(shift_hits) / 2,
              f"{sum(shift_hits)} of {len(shift_hits)}; where printed times differ by more than 20 %: "
              f"{_clear(ours, SHIFT)}", asserted=False),
    )  # fmt: skip
    return Item(
        "thakur", "Winners", "which algorithm is faster: GEN or PEX, GEN or PEX-GEN-SHIFT", ABOUT,
        cells=cells, claims=claims, tables=(_models(),), pictures=(Picture(_draw),),
        departures=(
            f"GEN or PEX: the simulation misses GEN's wins: {_missed(ours)}; the preset's exchanges run faster than "
            "other pairs at every size (exchange_weight; item Simulation has the winners without it)",
            "times closer than about 20 % decide no winner: neither model is that exact",
            *reported(claims),
        ),
    )  # fmt: skip


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
    return [(ours[gen] < ours[rival]) == (gen.seconds < rival.seconds) for gen, rival in decided(*tables)
            if gen in ours and rival in ours and _apart(gen, rival) > least]  # fmt: skip


def _apart(gen: Time, rival: Time) -> float:
    return max(gen.seconds / rival.seconds, rival.seconds / gen.seconds)


def _clear(ours: Seconds, tables: tuple[int, int]) -> str:
    hits = _right(ours, tables, CLOSE)
    return f"{sum(hits)} of {len(hits)}"


def _missed(ours: Seconds) -> str:
    wrong = [(gen, rival) for (gen, rival), hit in zip(decided(*PEX), winners(ours), strict=True) if not hit]
    return ", ".join(f"{mesh_word(gen.mesh)} {format_size(gen.bytes)} (printed {gen.seconds / rival.seconds:.2f}, "
                     f"simulated {ours[gen] / ours[rival]:.2f})" for gen, rival in wrong)  # fmt: skip


def _models() -> Table:
    models = {
        "simulated by wormhole": simulated(),
        "the text's model, contention counted": fit().seconds,
        "the text's model, its formulas": fit("floors").seconds,
        "conset's formula": predicted(),
    }
    columns = ("model", "GEN or PEX", "apart by 20 %", "GEN or PEX-GEN-SHIFT", "apart by 20 %")
    rows = tuple(
        (name, f"{sum(winners(m))} of {len(winners(m))}", _clear(m, PEX),
         f"{sum(shift_winners(m))} of {len(shift_winners(m))}", _clear(m, SHIFT)) for name, m in models.items()
    )  # fmt: skip
    return Table("Models: winners that are right", columns, rows)


def _draw() -> Figure:
    from conset_papers.pictures.lines import Line, Panel, picture_lines

    ours = simulated()
    ticks = (SIZES, [format_size(size) for size in SIZES])
    panels = []
    for tables, name in ((PEX, "GEN over PEX"), (SHIFT, "GEN over PEX-GEN-SHIFT")):
        both = pairs(*tables)
        lines = [Line("", [SIZES[0], SIZES[-1]], [1, 1], kind="quiet")]
        for k, mesh in enumerate(mesh for mesh in MESHES if any(gen.mesh == mesh for gen, _ in both)):
            column = [pair for pair in both if pair[0].mesh == mesh]
            sizes = [gen.bytes for gen, _ in column]
            lines.append(
                Line(mesh_word(mesh), sizes, [gen.seconds / rival.seconds for gen, rival in column], "points", k)
            )
            lines.append(Line("", sizes, [ours[gen] / ours[rival] for gen, rival in column], "curve", k))
        panels.append(Panel(name, "message size", "ratio of times", lines, 2, False, ticks, (0.4, 1.6)))
    return picture_lines(panels, title="Which algorithm is faster: below 1 it is GEN",
                         subtitle=f"marks printed; lines {EXECUTED}, on delta")  # fmt: skip
