"""Fit: the text's analytical model against its 125 printed times, parameters by least squares at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.reproduction.item import Cell, Claim, Item, Picture, Table
from conset.reproduction.thakur.analytical import GAMMAS, SOURCES, Fit, fit
from conset.reproduction.thakur.departures import by_table, describe_worst, reported
from conset.reproduction.thakur.exchange import simulated
from conset.reproduction.thakur.figure_of_errors import draw_errors
from conset.reproduction.thakur.times import (
    METHODS,
    NAMES,
    error,
    grouped,
    mean_error,
    mesh_word,
    printed,
    rms_error,
    worst,
)  # fmt: skip
from conset.units import format_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RMS = 0.15
FAR = 0.12
"""What the simulation is allowed for the mean of a machine size."""
ABOUT = (
    "Section 2's model, T = Σ over steps of α + L·max(β, f(i)·β_sat), β = 2^γ·β_sat, β = β_ex for exchanges and β_sr "
    "for GEN, by least squares of the relative error over all 125 cells of Tables 2 to 6. f(i) is counted in the "
    "schedules compiled for delta:RxC; cells: γ = 1, the text's value. α is paid in every step, of a processor that "
    "idles too. No simulation, no preset."
)


def reproduce() -> Item:
    """Fits nine models; the cells are those of counted contention and γ = 1."""
    best = fit()
    times = printed()
    cells = tuple(Cell(f"Table {t.table}, {mesh_word(t.mesh)}", format_size(t.bytes), t.seconds, best.seconds[t])
                  for t in times)  # fmt: skip
    claims = _claims(best)
    return Item(
        "thakur", "Fit", "the text's analytical model fitted to its 125 times", ABOUT,
        cells=cells, claims=claims, tables=(_table(),), pictures=(Picture(_draw),),
        departures=(f"furthest off: {describe_worst(times, best.seconds)}", f"by table: {by_table(best.seconds)}",
                    *reported(claims)),
    )  # fmt: skip


def _claims(best: Fit) -> tuple[Claim, ...]:
    times = printed()
    found = rms_error(times, best.seconds)
    by_gamma = {gamma: rms_error(times, fit("counted", gamma).seconds) for gamma in GAMMAS}
    sums = {source: rms_error(times, fit(source).seconds) for source in SOURCES}
    return (
        Claim(f"rms error over the 125 cells at most {RMS:.0%}", found <= RMS,
              f"{found:.1%}, mean {mean_error(times, best.seconds):+.1%}, largest {_largest(best):.0%}; "
              + _describe(best)),
        Claim("an exchange costs less per byte than a send and a receive with different processors (sections 2 and 4)",
              best.exchange_s < best.shift_s,
              f"β_ex {1e6 * best.exchange_s:.3f}, β_sr {1e6 * best.shift_s:.3f} us/B"),
        Claim("γ = 1, two messages on a link take no longer than one (section 2), explains the times better than γ = 0",
              by_gamma[1] < by_gamma[0],
              ", ".join(f"γ = {gamma}: rms {value:.1%}" for gamma, value in by_gamma.items())
              + "; the tables tell 0 from 2, not 0 from 1", asserted=False),
        Claim("the text's formulas for f(i) fit its times as well as the counted contention",
              min(sums["floors"], sums["ceilings"]) <= sums["counted"],
              ", ".join(f"{SOURCES[source]}: rms {value:.1%}" for source, value in sums.items()), asserted=False),
        _growth(best),
    )  # fmt: skip


def _growth(best: Fit) -> Claim:
    """Whether an algorithm's times keep their level from the smallest to the largest machine."""
    means = [(table, ranks, mean_error(group, best.seconds)) for table in METHODS
             for ranks, group in grouped(printed(table), lambda time: time.ranks).items()]  # fmt: skip
    far = [f"{NAMES[METHODS[table]]} on {ranks} {mean:+.1%}" for table, ranks, mean in means if abs(mean) > FAR]
    return Claim(
        f"it follows the growth with the machine: no algorithm off by more than {FAR:.0%} in the mean on any mesh",
        not far, ", ".join(far) or "none", asserted=False,
    )  # fmt: skip


def _largest(found: Fit) -> float:
    return abs(error(worst(printed(), found.seconds, 1)[0], found.seconds))


def _describe(found: Fit) -> str:
    return (f"α {1e6 * found.alpha_s:.0f} us, β_ex {1e6 * found.exchange_s:.3f} us/B, "
            f"β_sr {1e6 * found.shift_s:.3f} us/B")  # fmt: skip


def _table() -> Table:
    columns = ("f(i)", "γ", "α [us]", "β_ex [us/B]", "β_sr [us/B]", "rms [%]", "mean [%]", "largest [%]",
               *(f"rms Table {table} [%]" for table in METHODS))  # fmt: skip
    return Table("Fits: contention and γ", columns, tuple(_row(fit(s, g)) for s in SOURCES for g in GAMMAS))


def _row(found: Fit) -> tuple[str | float | int, ...]:
    ours = found.seconds
    percent = [rms_error(printed(), ours), mean_error(printed(), ours), _largest(found),
               *(rms_error(printed(table), ours) for table in METHODS)]  # fmt: skip
    return (SOURCES[found.source], found.gamma, round(1e6 * found.alpha_s, 1), round(1e6 * found.exchange_s, 4),
            round(1e6 * found.shift_s, 4), *(round(100 * value, 1) for value in percent))  # fmt: skip


def _draw() -> Figure:
    ours = fit().seconds
    text = fit("floors").seconds
    return draw_errors(
        ours,
        {"fitted, contention counted": ours, "fitted, the text's f(i)": text, "simulated by wormhole": simulated()},
        title="The text's analytical model against its 125 times",
        subtitle="γ = 1, least squares of relative errors; beside it the simulation with one parameter set",
    )  # fmt: skip
