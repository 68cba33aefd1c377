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

import numpy as np
from numpy.typing import NDArray

from conset.methods.thakur_contention import text_gen_contention
from conset.reproduction.thakur.exchange import contention
from conset.reproduction.thakur.times import Mesh, Seconds, Time, printed

Floats = NDArray[np.float64]

SOURCES = {
    "counted": "counted in the compiled schedules",
    "floors": "the text's formulas, PEX with floors",
    "ceilings": "the text's formulas as the scan has them",
}
"""Where f(i) comes from, and its words."""
GAMMAS = (0, 1, 2)


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
    rows = np.array([_row(time, source, gamma) for time in times])
    seconds = np.array([time.seconds for time in times])
    parameters: Floats = np.linalg.lstsq(rows / seconds[:, None], np.ones(len(times)), rcond=None)[0]
    alpha, exchange, shift = (float(value) for value in parameters)
    return Fit(source, gamma, alpha, exchange, shift, dict(zip(times, (rows @ parameters).tolist(), strict=True)))


def _row(time: Time, source: str, gamma: int) -> Sequence[float]:
    """What α, β_ex and β_sr count in a time."""
    load = contention_of(source, time.method, time.mesh)
    moved = float(time.bytes * np.maximum(1, load / 2**gamma).sum())
    return (load.size, 0.0, moved) if time.method == "gen" else (load.size, moved, 0.0)
