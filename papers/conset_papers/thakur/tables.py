"""Tables 2 to 6: times of the complete exchange.

Simulated with parameters fitted to other machine sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value
from conset_papers.thakur.exchange import EXECUTED, predicted_table, simulated_table
from conset_papers.thakur.fit import fit, fit_six
from conset_papers.thakur.folds import held_out_table
from conset_papers.thakur.times import (
    METHODS,
    NAMES,
    SIZES,
    Seconds,
    Time,
    describe_worst,
    error,
    mean_error,
    mesh_word,
    printed,
    rms_error,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    2: "PEX, powers of two",
    3: "PEX-GEN, other meshes",
    4: "PEX-GEN-SHIFT, other meshes",
    5: "GEN, powers of two",
    6: "GEN, other meshes",
}
RMS = 0.15
"""What is demanded of each table's 25 cells."""
ALONE = {
    (
        2,
        (8, 8),
        1024,
    ): "this printed time stands alone in the text: 4 KiB take less than twice as long "
    "there (2.9 to "
    "3.7 times on the other meshes of Table 2), GEN takes 0.042 s; not counted in this table's rms"
}
"""Cells that contradict their neighbours in the text itself."""


def reproduce(number: int) -> Item:
    """Table `number` of the text."""
    times, ours = printed(number), held_out_table(number)
    name = NAMES[METHODS[number]]
    cells = tuple(
        Cell(
            mesh_word(t.mesh),
            format_size(t.bytes),
            t.seconds,
            ours[t],
            ALONE.get((number, t.mesh, t.bytes), ""),
        )
        for t in times
    )
    about = (
        f"Complete exchange by method {METHODS[number]} on delta:RxC, every cell {EXECUTED}, with "
        "costs fitted to the "
        "printed times of three other machine sizes (benchmarks/fit_delta.py), so that no cell is "
        "its own input. Beside "
        "it, in sample, as each was fitted to these cells too: the preset simulated, the text's "
        "model with three and "
        "with six parameters (item Fit); and conset's own formula for sync local with the preset."
    )
    return Item(
        "thakur",
        f"Table {number}",
        f"times of {name}, simulated by wormhole",
        about,
        cells=cells,
        claims=tuple(_claims(number, times, ours)),
        tables=(_rows_beside(number, times, ours),),
        pictures=(Picture(lambda: _draw(number, times, ours)),),
        departures=(f"furthest off: {describe_worst(times, ours, 3)}",),
        basis="computed",
    )


def _claims(number: int, times: tuple[Time, ...], ours: Seconds) -> tuple[Claim, ...]:
    sound = [time for time in times if (number, time.mesh, time.bytes) not in ALONE]
    error_of_all = rms_error(times, ours)
    beside = (
        "" if len(sound) == len(times) else f"; {error_of_all:.1%} with the cell that stands alone"
    )
    preset, formula = simulated_table(number), predicted_table(number)
    return (
        Claim(
            f"beyond the text: rms error at most {RMS:.0%} on machine sizes that were "
            "not fitted to",
            rms_error(sound, ours) <= RMS,
            f"{rms_error(sound, ours):.1%} over {len(sound)} cells{beside}; mean "
            f"{mean_error(times, ours):+.1%}; the "
            f"preset, in sample, {rms_error(times, preset):.1%}",
        ),
        Claim(
            f"beside it: conset's prediction formula within {RMS:.0%} (rms) too",
            rms_error(times, formula) <= RMS,
            f"{rms_error(times, formula):.1%}, mean {mean_error(times, formula):+.1%}: it knows "
            "no blocked paths",
            asserted=False,
        ),
    )


def _rows_beside(number: int, times: tuple[Time, ...], ours: Seconds) -> Table:
    names = ("simulated", "preset simulated", "three parameters", "six parameters", "predicted")
    columns = ("mesh", "size", "printed", *names, *(f"error {name} [%]" for name in names))
    series = (
        ours,
        simulated_table(number),
        fit().seconds,
        fit_six().seconds,
        predicted_table(number),
    )
    rows: list[tuple[Value, ...]] = []
    for time in times:
        seconds = [values[time] for values in series]
        errors = [round(100 * error(time, values), 1) for values in series]
        rows.append(
            (mesh_word(time.mesh), format_size(time.bytes), time.seconds, *seconds, *errors)
        )
    return Table(
        "Times: printed, simulated on sizes not fitted to, and beside it in sample [s]",
        columns,
        tuple(rows),
    )


def _draw(number: int, times: tuple[Time, ...], ours: Seconds) -> Figure:

    meshes = list(dict.fromkeys(time.mesh for time in times))
    fitted = fit_six().seconds
    curves, errors = [], []
    for k, mesh in enumerate(meshes):
        column = [time for time in times if time.mesh == mesh]
        sizes = [time.bytes for time in column]
        curves.append(Line("", sizes, [ours[t] for t in column], kind="curve", colour=k))
        curves.append(
            Line(mesh_word(mesh), sizes, [t.seconds for t in column], kind="points", colour=k)
        )
        curves.append(Line("", sizes, [fitted[t] for t in column], kind="quiet"))
        errors.append(
            Line(mesh_word(mesh), sizes, [100 * error(t, ours) for t in column], colour=k)
        )
    ticks = (SIZES, [format_size(size) for size in SIZES])
    level = Line("", [SIZES[0], SIZES[-1]], [0, 0], kind="quiet")
    panels = [
        Panel(
            "marks printed, lines simulated, dots: six parameters",
            "message size",
            "s",
            curves,
            2,
            True,
            ticks,
        ),
        Panel(
            "error of the simulation",
            "message size",
            "%",
            [*errors, level],
            2,
            False,
            ticks,
            (-48, 48),
        ),
    ]
    return picture_charts(
        panels,
        title=f"Table {number}: {TITLES[number]}",
        subtitle=f"complete exchange on delta, {EXECUTED}, costs fitted to other machine sizes",
    )
