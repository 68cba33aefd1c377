"""Fits the parameters of the Delta's preset to some printed times and judges on others.

The times are those of 002, Tables 2 to 6; fit and judgement use different machine sizes.

    python benchmarks/fit_delta.py [-o FILE] [--columns "1 2 3"] [--rounds N]

Every table has five meshes, its columns 1 (16 or 20 processors) to 5 (512 or 480). A fold fits on
three columns, in all five tables, and is judged on the two that it has not seen. Fitted are seven
words: `overhead`, `port` (out and in alike), `node`, `exchange_weight`, `link` by least squares of
the relative error (scipy's; derivatives by differences of 5 %, as ties fall otherwise). Of `lanes`
(1 to 4) and `receive` (before, after) those are fitted for which errors are least, and spread
least, on the fold's meshes up to 144 processors with the words that the search starts from, and
what has the least error on the fold stays. The search starts from the six parameters of the text's
model fitted to the same fold. Simulated is what the reproduction simulates: model wormhole, sync
local. Nothing of the columns that a fold is judged on enters its words, and nothing of the preset,
which was fitted by hand with all columns in sight.

Beside each fold stand the text's model with three parameters and the same with six, fitted to the
same times (`conset_papers.thakur.fit`), and the preset.

The folds with column 5 are left out: a fit on 512 processors simulates for hours. About a quarter
of an hour on two cores. It writes the words of each fold, which the reproduction reads, to
`papers/conset_papers/thakur/fitted/delta.csv`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from conset_papers.thakur.fit import fit, fit_six
from conset_papers.thakur.times import (
    SIMULATED,
    Fold,
    Seconds,
    Time,
    error,
    inside,
    mean_error,
    outside,
    rms_error,
    simulate_times,
)

FILE = (
    Path(__file__).resolve().parents[1]
    / "papers"
    / "conset_papers"
    / "thakur"
    / "fitted"
    / "delta.csv"
)
UNITS = {"overhead": "us", "port": "MB/s", "node": "MB/s", "exchange_weight": "", "link": "MB/s"}
"""The words, and the unit of their numbers."""
WEIGHT = 0.9
"""`exchange_weight` to start from; it may be 0.5 to 1."""
NODE = 1.7
"""`node` over `port` to start from.

Just below both directions at once, so that a change of either tells.
"""
LANES, RECEIVE = (1, 2, 3, 4), ("before", "after")
STEP = 0.05


def start_of(times: Sequence[Time]) -> NDArray[np.float64]:
    """shape=(words): where the search starts, from the closed form fitted to the same times."""
    step = fit_six(tuple(times)).exchange
    port = 1e-6 / step.beta_s
    return np.array([1e6 * step.alpha_s, port, NODE * port, WEIGHT, 1e-6 / step.saturated_s])


def words_of(values: Sequence[float], lanes: int, receive: str, digits: int = 3) -> str:
    """For `--set`; values of the words of `UNITS`."""
    words = (
        f"{word}={value:.{digits}g}{unit}"
        for (word, unit), value in zip(UNITS.items(), values, strict=True)
    )
    return ",".join((*words, f"lanes={lanes}", f"receive={receive}"))


def errors(times: Sequence[Time], words: str) -> NDArray[np.float64]:
    """shape=(times): relative, simulated / printed − 1."""
    ours = simulate_times(times, words)
    return np.array([error(one, ours) for one in times])


def spread(relative: NDArray[np.float64]) -> float:
    """How far errors are from one common factor, which the other words can take away."""
    return float(np.std(np.log1p(relative)))


def size(relative: NDArray[np.float64]) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(relative**2)))


def fit_words(times: Sequence[Time], rounds: int) -> str:
    """Words fitted to some times; `rounds` times all derivatives are taken anew at most."""
    start = start_of(times)
    small = [one for one in times if one.ranks <= 144]
    far = {
        chosen: errors(small, words_of(start.tolist(), *chosen))
        for chosen in product(LANES, RECEIVE)
    }
    named = {min(far, key=lambda chosen: of(far[chosen])) for of in (spread, size)}
    words = [_fitted(times, start, *chosen, rounds) for chosen in sorted(named)]
    return min(words, key=lambda one: size(errors(times, one)))


def _fitted(
    times: Sequence[Time], start: NDArray[np.float64], lanes: int, receive: str, rounds: int
) -> str:
    low, high = start / 3, start * 3
    low[3], high[3] = 0.5, 1.0
    found = least_squares(
        lambda values: errors(times, words_of(values.tolist(), lanes, receive, 12)),
        start,
        bounds=(low, high),
        diff_step=STEP,
        x_scale=start,
        max_nfev=rounds,
        xtol=5e-3,
        ftol=1e-3,
    )
    return words_of(found.x.tolist(), lanes, receive)


def judge(fold: Fold, words: str) -> None:
    """Prints the errors inside and outside of a fold."""
    own, others = inside(fold), outside(fold)
    known, unknown = simulate_times(own, words), simulate_times(others, words)
    preset = {**simulate_times(own), **simulate_times(others)}
    print(f"columns {' '.join(map(str, fold))}: {words}")
    models: dict[str, Seconds] = {
        "simulated": {**known, **unknown},
        "three parameters": fit("counted", 1, own).seconds,
        "six parameters": fit_six(own).seconds,
        "preset, which has seen all": preset,
    }
    for name, ours in models.items():
        print(
            f"  {name:28} fitted on: rms {rms_error(own, ours):6.1%}   judged on: rms "
            f"{rms_error(others, ours):6.1%}"
            f", mean {mean_error(others, ours):+6.1%}",
            flush=True,
        )


def main(arguments: Sequence[str]) -> None:
    """Fits and judges the folds asked for; writes the file of all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "-o", "--output", type=Path, default=FILE, help="where the words of the folds go"
    )
    parser.add_argument(
        "--columns", action="append", help='a fold, as "1 2 3"; may be repeated; else all four'
    )
    parser.add_argument("--rounds", type=int, default=8, help="Jacobians at most")
    parser.add_argument("--no-judge", action="store_true", help="only find and write the words")
    given = parser.parse_args(arguments)
    folds = (
        SIMULATED
        if not given.columns
        else tuple(tuple(map(int, fold.split())) for fold in given.columns)
    )
    lines = [
        "# Words of the Delta fitted to three columns of Tables 2 to 6 (002); written by "
        "benchmarks/fit_delta.py.",
        "columns,words",
    ]
    for fold in folds:
        began = time.monotonic()
        words = fit_words(inside(fold), given.rounds)
        spent = time.monotonic() - began
        print(f"{words}: found in {spent:.0f} s", file=sys.stderr, flush=True)
        lines.append(f'{" ".join(map(str, fold))},"{words}"')
        if not given.no_judge:
            judge(fold, words)
        given.output.parent.mkdir(exist_ok=True)
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
