"""The text's analytical model and its fit.

T = Σ over steps of α + L·max(β, f(i)·β_sat), β = 2^γ·β_sat (section 2).

β is β_ex for the exchanges of PEX, PEX-GEN and PEX-GEN-SHIFT, β_sr for GEN. The text prints neither
α nor β; they are fitted to its printed times at run time, by least squares of the relative error.
With f and γ given a time is linear in the three parameters:
    T = steps·α + L·Σ max(1, f(i)/2^γ)·β
so the fit is one linear problem. f is counted in the compiled schedules, or the text's formula:
with the corrected floors, or with the ceilings its scan shows. Off powers of two the text has no f
for PEX-GEN and PEX-GEN-SHIFT but says that PEX's bounds it: PEX's formula then stands for it, over
q - 1 steps.

The same form with α, β and β_sat of their own for exchanges and for GEN has six parameters: for a
given ratio β/β_sat it is linear again, and the ratio is the best of a fine grid.

Any user can predict with it: it is conset's formula under policy barrier with barriers that cost
nothing and links that lose nothing beyond being shared. `step_words` gives the words for `--set`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from conset.base import Floats, Ints, format_size
from conset.methods import text_gen_contention
from conset_papers.item import Claim, Item, Picture, Table
from conset_papers.thakur.times import (
    METHODS,
    NAMES,
    Mesh,
    Seconds,
    Time,
    by_table,
    contention,
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


SOURCES = {
    "counted": "counted in the compiled schedules",
    "floors": "the text's formulas, PEX with floors",
    "ceilings": "the text's formulas as the scan has them",
}
"""Where f(i) comes from, and its words."""
GAMMAS = (0, 1, 2)
FAR = 0.12
"""`off`: a mean error of a machine size beyond this."""
ABOUT = (
    "Section 2's model, T = Σ over steps of α + L·max(β, f(i)·β_sat), fitted to the text's own "
    "125 times: a formula "
    "with three parameters (β = 2^γ·β_sat, β_ex for exchanges, β_sr for GEN) or six (α, β and "
    "β_sat apart for "
    "exchanges and for GEN), least squares of the relative error. f(i) is counted in the "
    "schedules compiled for "
    "delta:RxC. α is paid in every step, of a processor that idles too. The times are what is "
    "fitted, so no cell "
    "stands here: how far the forms are from times that they have not seen, "
    "benchmarks/fit_delta.py says. No "
    "simulation, no preset."
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
        seconds: the model's time of every printed cell [s], fitted to it or not.
    """

    source: str
    gamma: int
    alpha_s: float
    exchange_s: float
    shift_s: float
    seconds: Seconds


def text_pex_contention(steps: int, columns: int, *, ceilings: bool) -> Ints:
    """shape=(steps): 2^⌊lg max(i mod c, ⌊i/c⌋)⌋, or with ⌈·⌉ as the scan shows it."""
    step = np.arange(1, steps + 1)
    exponent = np.log2(np.maximum(step % columns, step // columns))
    return (2 ** (np.ceil(exponent) if ceilings else np.floor(exponent))).astype(np.int64)


@lru_cache
def contention_of(source: str, method: str, mesh: Mesh) -> Ints:
    """shape=(steps): f(i) of every step."""
    counted = contention(method, mesh).astype(np.int64)
    if source == "counted":
        return counted
    if method == "gen":
        return text_gen_contention(*mesh)
    return text_pex_contention(counted.size, mesh[1], ceilings=source == "ceilings")


@lru_cache
def fit(source: str = "counted", gamma: int = 1, among: tuple[Time, ...] = ()) -> Fit:
    """Least squares of the relative errors over some printed times.

    Args:
        source: key of `SOURCES`.
        gamma: γ.
        among: the times; empty: all.
    """
    times, known = printed(), set(among or printed())
    rows = np.array([_terms_row(time, source, gamma) for time in times])
    seconds = np.array([time.seconds for time in times])
    used = np.array([time in known for time in times])
    parameters = relative_least_squares(rows[used], seconds[used])
    alpha, exchange, shift = (float(value) for value in parameters)
    return Fit(
        source,
        gamma,
        alpha,
        exchange,
        shift,
        dict(zip(times, (rows @ parameters).tolist(), strict=True)),
    )


def relative_least_squares(rows: Floats, seconds: Floats) -> Floats:
    """shape=(parameters): those that make Σ (rows · parameters / seconds − 1)² least.

    Args:
        rows: shape=(times, parameters).
        seconds: shape=(times).
    """
    found, *_ = np.linalg.lstsq(rows / seconds[:, None], np.ones(seconds.size), rcond=None)
    return np.asarray(found, np.float64)


@dataclass(frozen=True)
class Step:
    """What a step costs: α + L·max(β, f·β_sat).

    Attributes:
        alpha_s: α [s].
        beta_s: β [s/B].
        saturated_s: β_sat [s/B].
    """

    alpha_s: float
    beta_s: float
    saturated_s: float

    def __str__(self) -> str:
        return (
            f"α {1e6 * self.alpha_s:.0f} us, β {1e6 * self.beta_s:.3f} us/B, "
            f"β_sat {1e6 * self.saturated_s:.3f} us/B"
        )


@dataclass(frozen=True)
class SixFit:
    """The closed form with parameters of their own for exchanges and for GEN.

    Attributes:
        exchange: of PEX, PEX-GEN and PEX-GEN-SHIFT.
        shift: of GEN.
        seconds: the form's time of every printed cell [s], fitted to it or not.
    """

    exchange: Step
    shift: Step
    seconds: Seconds


RATIOS: Floats = 2.0 ** np.arange(-1, 5 + 1 / 64, 1 / 32)
"""β / β_sat tried: messages that share a link without loss, 0.5 to 32."""


@lru_cache
def fit_six(among: tuple[Time, ...] = ()) -> SixFit:
    """Least squares of the relative errors over some printed times, of all without any.

    F counted.
    """
    known = set(among or printed())
    seconds: dict[Time, float] = {}
    steps = []
    for is_shift in (False, True):
        own = [time for time in printed() if (time.method == "gen") == is_shift]
        step = _fit_step([time for time in own if time in known])
        steps.append(step)
        for time in own:
            load = contention_of("counted", time.method, time.mesh)
            per_byte = np.maximum(step.beta_s, load * step.saturated_s).sum()
            seconds[time] = load.size * step.alpha_s + time.bytes * float(per_byte)
    return SixFit(steps[0], steps[1], {time: seconds[time] for time in printed()})


def _fit_step(times: Sequence[Time]) -> Step:
    printed_s = np.array([time.seconds for time in times])
    counts = np.array(
        [contention_of("counted", time.method, time.mesh).size for time in times], np.float64
    )
    moved = np.array(
        [time.bytes * _moved(time.method, time.mesh) for time in times]
    )  # (times, ratios)
    best: tuple[float, Floats, float] | None = None
    for k, ratio in enumerate(RATIOS.tolist()):
        rows = np.stack([counts, moved[:, k]], axis=1)
        parameters = relative_least_squares(rows, printed_s)
        squares = float(((rows @ parameters / printed_s - 1) ** 2).sum())
        if best is None or squares < best[0]:
            best = (squares, parameters, ratio)
    if best is None:
        raise ValueError("at least one time is required")
    alpha, beta = best[1].tolist()
    return Step(alpha, beta, beta / best[2])


@lru_cache
def _moved(method: str, mesh: Mesh) -> Floats:
    """shape=(ratios): Σ over steps of max(1, f(i) / ratio)."""
    load = contention_of("counted", method, mesh)
    total: Floats = np.maximum(1.0, load[:, None] / RATIOS).sum(axis=0)
    return total


def step_of(found: Fit, method: str) -> Step:
    """What a step of a method costs by the three-parameter form."""
    beta = found.shift_s if method == "gen" else found.exchange_s
    return Step(found.alpha_s, beta, beta / 2**found.gamma)


def step_words(step: Step) -> str:
    """Words for `--set` with which `predict --by formula --sync barrier` is the text's model.

    A port takes β a byte, a link β_sat, an overhead α. Nothing else costs anything: no hop, no
    barrier, no loss on a link but that of sharing it. Messages of a phase are of one size and each
    processor has one, as in the text.

    >>> step_words(Step(158e-6, 0.25e-6, 0.125e-6))
    'overhead=158us,port=4MB/s,node=none,link=8MB/s,hop=0,blocking=0,synchronization=0'
    """
    rates = (f"{1e-6 / step.beta_s:.12g}MB/s", f"{1e-6 / step.saturated_s:.12g}MB/s")
    return (
        f"overhead={1e6 * step.alpha_s:.12g}us,port={rates[0]},node=none,link={rates[1]},"
        "hop=0,blocking=0,synchronization=0"
    )


def _terms_row(time: Time, source: str, gamma: int) -> Sequence[float]:
    """What α, β_ex and β_sr count in a time."""
    load = contention_of(source, time.method, time.mesh)
    moved = float(time.bytes * np.maximum(1, load / 2**gamma).sum())
    return (load.size, 0.0, moved) if time.method == "gen" else (load.size, moved, 0.0)


def reproduce() -> Item:
    """Fits nine models of three parameters and one of six."""
    best = fit()
    times = printed()
    claims = _claims(best)
    return Item(
        "thakur",
        "Fit",
        "the text's analytical model fitted to its 125 times",
        ABOUT,
        claims=claims,
        tables=(_table(), _cells_table(), _words_table()),
        pictures=(Picture(_draw),),
        departures=(
            f"three parameters, furthest off: {describe_worst(times, best.seconds)}",
            f"three parameters, by table: {by_table(best.seconds)}",
            f"six parameters: exchanges {fit_six().exchange}; GEN {fit_six().shift}: there every "
            "step is bound "
            "by a link, and any β below β_sat fits alike",
            *reported(claims),
        ),
        basis="formula",
    )


def _claims(best: Fit) -> tuple[Claim, ...]:
    times = printed()
    by_gamma = {gamma: rms_error(times, fit("counted", gamma).seconds) for gamma in GAMMAS}
    sums = {source: rms_error(times, fit(source).seconds) for source in SOURCES}
    six = fit_six()
    return (
        Claim(
            "an exchange costs less per byte than a send and a receive with different processors "
            "(sections 2 and 4)",
            best.exchange_s < best.shift_s,
            f"β_ex {1e6 * best.exchange_s:.3f}, β_sr {1e6 * best.shift_s:.3f} us/B; with "
            "six parameters "
            f"{1e6 * six.exchange.beta_s:.3f} and {1e6 * six.shift.beta_s:.3f}",
        ),
        Claim(
            "γ = 1, two messages on a link take no longer than one (section 2), explains the "
            "times better than γ = 0",
            by_gamma[1] < by_gamma[0],
            ", ".join(f"γ = {gamma}: rms {value:.1%}" for gamma, value in by_gamma.items())
            + "; the tables tell 0 from 2, not 0 from 1",
        ),
        Claim(
            "the text's formulas for f(i) fit its times as well as the counted "
            "contention (section 3)",
            min(sums["floors"], sums["ceilings"]) <= sums["counted"],
            ", ".join(f"{SOURCES[source]}: rms {value:.1%}" for source, value in sums.items()),
        ),
        _growth(best),
    )


def _growth(best: Fit) -> Claim:
    """Whether an algorithm's times keep their level from the smallest to the largest machine."""
    means = [
        (table, ranks, mean_error(group, best.seconds))
        for table in METHODS
        for ranks, group in grouped(printed(table), lambda time: time.ranks).items()
    ]
    far = [
        f"{NAMES[METHODS[table]]} on {ranks} {mean:+.1%}"
        for table, ranks, mean in means
        if abs(mean) > FAR
    ]
    return Claim(
        f"it follows the growth with the machine: no algorithm off by more than {FAR:.0%} in the "
        "mean on any mesh",
        not far,
        ", ".join(far) or "none",
        asserted=False,
    )


def _largest(ours: Seconds) -> float:
    return abs(error(worst(printed(), ours, 1)[0], ours))


def _table() -> Table:
    columns = (
        "f(i)",
        "γ",
        "α [us]",
        "β_ex [us/B]",
        "β_sr [us/B]",
        "rms [%]",
        "mean [%]",
        "largest [%]",
        *(f"rms Table {table} [%]" for table in METHODS),
    )
    six = fit_six()
    steps = (six.exchange, six.shift)
    alpha, beta, saturated = (
        " / ".join(f"{1e6 * value:{form}}" for value in values)
        for values, form in (
            ([step.alpha_s for step in steps], ".0f"),
            ([step.beta_s for step in steps], ".3f"),
            ([step.saturated_s for step in steps], ".3f"),
        )
    )
    title = (
        "Fits: contention and γ; the last with six parameters, α of exchanges / of GEN, β_sat "
        "in place of γ"
    )
    rows = [_row(fit(s, g)) for s in SOURCES for g in GAMMAS]
    rows.append((SOURCES["counted"], saturated, alpha, *beta.split(" / "), *_percent(six.seconds)))
    return Table(title, columns, tuple(rows))


def _cells_table() -> Table:
    three, six = fit().seconds, fit_six().seconds
    columns = (
        "table",
        "mesh",
        "size",
        "printed [s]",
        "three parameters [s]",
        "six parameters [s]",
        "error, three [%]",
        "error, six [%]",
    )
    rows = tuple(
        (
            t.table,
            mesh_word(t.mesh),
            format_size(t.bytes),
            t.seconds,
            three[t],
            six[t],
            round(100 * error(t, three), 1),
            round(100 * error(t, six), 1),
        )
        for t in printed()
    )
    return Table("Times: the forms at the times they are fitted to", columns, rows)


def _words_table() -> Table:
    """What to give to `conset predict FILE --by formula --sync barrier --set`."""
    six, three = fit_six(), fit()
    rows = (
        ("three", "pex, pex-gen, pex-gen-shift", step_words(step_of(three, "pex"))),
        ("three", "gen", step_words(step_of(three, "gen"))),
        ("six", "pex, pex-gen, pex-gen-shift", step_words(six.exchange)),
        ("six", "gen", step_words(six.shift)),
    )
    title = (
        "Words: with these, conset predict FILE --by formula --sync barrier --set WORDS is the "
        "text's model"
    )
    return Table(title, ("parameters", "method", "words"), rows)


def _row(found: Fit) -> tuple[str | float | int, ...]:
    return (
        SOURCES[found.source],
        found.gamma,
        round(1e6 * found.alpha_s, 1),
        round(1e6 * found.exchange_s, 4),
        round(1e6 * found.shift_s, 4),
        *_percent(found.seconds),
    )


def _percent(ours: Seconds) -> list[float]:
    values = [
        rms_error(printed(), ours),
        mean_error(printed(), ours),
        _largest(ours),
        *(rms_error(printed(table), ours) for table in METHODS),
    ]
    return [round(100 * value, 1) for value in values]


def _draw() -> Figure:
    ours = fit().seconds
    others = {
        "three parameters, contention counted": ours,
        "three, the text's f(i)": fit("floors").seconds,
        "six parameters": fit_six().seconds,
    }
    return draw_errors(
        ours,
        others,
        title="The text's analytical model against its 125 times",
        subtitle=(
            "γ = 1, least squares of relative errors over these times; dots: three parameters, "
            "contention counted"
        ),
    )
