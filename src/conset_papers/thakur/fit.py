"""The text's analytical model and its fit: T = Σ over steps of α + L·max(β, f(i)·β_sat), β = 2^γ·β_sat (section 2).

β is β_ex for the exchanges of PEX, PEX-GEN and PEX-GEN-SHIFT, β_sr for GEN. The text prints neither α nor β; they are
fitted to its 125 printed times at run time, by least squares of the relative error. With f and γ given a time is
linear in the three parameters:
    T = steps·α + L·Σ max(1, f(i)/2^γ)·β
so the fit is one linear problem. f is counted in the compiled schedules, or the text's formula: with the corrected
floors, or with the ceilings its scan shows. Off powers of two the text has no f for PEX-GEN and PEX-GEN-SHIFT but says
that PEX's bounds it: PEX's formula then stands for it, over q - 1 steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.methods.pairwise_exchange import text_gen_contention
from conset.units import format_size
from conset_papers.item import Cell, Claim, Item, Picture, Table
from conset_papers.thakur.exchange import contention, simulated
from conset_papers.thakur.times import (  # fmt: skip
    METHODS,
    NAMES,
    Mesh,
    Seconds,
    Time,
    by_table,
    describe_worst,
    draw_errors,
    error,
    grouped,
    mean_error,
    mesh_word,
    printed,
    reported,
    rms_error,
    worst,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Floats = NDArray[np.float64]

SOURCES = {
    "counted": "counted in the compiled schedules",
    "floors": "the text's formulas, PEX with floors",
    "ceilings": "the text's formulas as the scan has them",
}
"""Where f(i) comes from, and its words."""
GAMMAS = (0, 1, 2)
RMS = 0.15
"""What the fit is allowed over all cells."""
FAR = 0.12
"""What the simulation is allowed for the mean of a machine size."""
ABOUT = (
    "Section 2's model, T = Σ over steps of α + L·max(β, f(i)·β_sat), β = 2^γ·β_sat, β = β_ex for exchanges and β_sr "
    "for GEN, by least squares of the relative error over all 125 cells of Tables 2 to 6. f(i) is counted in the "
    "schedules compiled for delta:RxC; cells: γ = 1, the text's value. α is paid in every step, of a processor that "
    "idles too. No simulation, no preset."
)


@dataclass(frozen=True)
class Fit:
    """Parameters and what they give.

    Attributes:
        source: key of `SOURCES`.
        gamma: γ: 2^γ messages share a link without loss.
        alpha_s: α, startup of a message [s].
        exchange_s: β_ex [s/B].
        shift_s: β_sr [s/B].
        seconds: the model's time of every printed cell [s].
    """

    source: str
    gamma: int
    alpha_s: float
    exchange_s: float
    shift_s: float
    seconds: Seconds


def text_pex_contention(steps: int, columns: int, *, ceilings: bool) -> NDArray[np.int64]:
    """shape=(steps): 2^⌊lg max(i mod c, ⌊i/c⌋)⌋, or with ⌈·⌉ as the scan shows it."""
    step = np.arange(1, steps + 1)
    exponent = np.log2(np.maximum(step % columns, step // columns))
    return (2 ** (np.ceil(exponent) if ceilings else np.floor(exponent))).astype(np.int64)


@lru_cache
def contention_of(source: str, method: str, mesh: Mesh) -> NDArray[np.int64]:
    """shape=(steps): f(i) of every step."""
    counted = contention(method, mesh).astype(np.int64)
    if source == "counted":
        return counted
    if method == "gen":
        return text_gen_contention(*mesh)
    return text_pex_contention(counted.size, mesh[1], ceilings=source == "ceilings")


@lru_cache
def fit(source: str = "counted", gamma: int = 1) -> Fit:
    """Least squares of the relative errors over all printed times."""
    times = printed()
    rows = np.array([_terms_row(time, source, gamma) for time in times])
    seconds = np.array([time.seconds for time in times])
    parameters: Floats = np.linalg.lstsq(rows / seconds[:, None], np.ones(len(times)), rcond=None)[0]
    alpha, exchange, shift = (float(value) for value in parameters)
    return Fit(source, gamma, alpha, exchange, shift, dict(zip(times, (rows @ parameters).tolist(), strict=True)))


def _terms_row(time: Time, source: str, gamma: int) -> Sequence[float]:
    """What α, β_ex and β_sr count in a time."""
    load = contention_of(source, time.method, time.mesh)
    moved = float(time.bytes * np.maximum(1, load / 2**gamma).sum())
    return (load.size, 0.0, moved) if time.method == "gen" else (load.size, moved, 0.0)


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
