"""Fits `blocking` of a machine's preset.

The exponent of what a link loses beyond its tolerance, in a formula.

    python benchmarks/fit_blocking.py [FOLDER OF GOLDEN TABLES]

A formula says: a link is busy for bytes / bandwidth · max(1, load / tolerance)^blocking. All other
numbers of the presets stay; the one exponent is chosen by least squares of log(predicted / told)
over what published tables and a prototype's simulations tell (columns say which). Predicted is
`conset.predict` of the compiled schedule under the policy it was executed with: what is fitted is
what is used. Left out are sizes at which overheads decide, which no exponent changes.

It prints, per machine: the exponent, the root mean square of the log error with it, with the
preset's and without (exponent 0), and the figures furthest off. The presets carry the value,
rounded to two digits. About four minutes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import conset
from conset.machine.spec import with_settings
from conset.schedule.schedule import Schedule
from conset_papers.conset_iwarp.columns import BASICS, pattern_of
from conset_papers.conset_iwarp.machine import CLOCK_S, MESSAGES, WORD_B, machine

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"
COARSE = tuple(round(0.1 * k, 1) for k in range(16))
"""Exponents of which the best has the least error near it."""

NAIVE = ("4x4", "8x8", "16x8", "16x16")
"""Meshes of the Delta on which the naive exchange is simulated: the largest takes minutes."""


@dataclass(frozen=True)
class Case:
    """One figure.

    Attributes:
        name: for people.
        told_s: the time told [s].
        schedules: those it is the mean of.
        sync: the policy.
    """

    name: str
    told_s: float
    schedules: tuple[Schedule, ...]
    sync: str

    def predicted_s(self, blocking: float) -> float:
        """By the formula, with another exponent [s]."""
        return float(
            np.mean([_predicted_s(schedule, self.sync, blocking) for schedule in self.schedules])
        )


def _predicted_s(schedule: Schedule, sync: str, blocking: float) -> float:
    on = with_settings(schedule.machine, f"blocking={blocking}")
    return conset.predict(schedule, machine=on, sync=sync, by="formula").time_s


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def resized(schedule: Schedule, size: int) -> Schedule:
    """The same phases with messages of another size [B]."""
    pattern = schedule.pattern
    return replace(schedule, pattern=replace(pattern, size=np.full(pattern.messages, size)))


@cache
def exchange(on: str, method: str, contention: int | None = None) -> Schedule:
    """A complete exchange."""
    return conset.compile(
        "alltoall,size=16KiB", on, method=method, contention=contention, sync="none"
    )


def paragon_cases(golden: Path) -> Iterator[Case]:
    """The complete exchange in groups of bounded contention (003), and naive.

    A prototype's simulations.
    """
    naive = set()
    for row in rows(golden / "machines" / "prototype_paragon_surface.csv"):
        n, size, link = int(row["n"]), int(row["bytes"]), int(row["link_contention"])
        if n < 8 or size < 8640:  # on 4x4 overheads overlap, below 8640 B they are unknown
            continue
        on, most = f"paragon:{n}x{n}", n // 4
        phases = resized(exchange(on, "bounded", min(link, most)), size)
        told_s = float(row["bounded_ms"]) * 1e-3
        yield Case(
            f"{n}x{n} {size} B c={link}", told_s, (phases,), f"barrier:{max(1, link // most)}"
        )
        if (n, size) not in naive and row["naive_ascending_ms"]:
            naive.add((n, size))
            told_s = float(row["naive_ascending_ms"]) * 1e-3
            yield Case(
                f"{n}x{n} {size} B naive", told_s, (resized(exchange(on, "naive"), size),), "none"
            )


def ipsc860_cases(golden: Path) -> Iterator[Case]:
    """AC: d messages from and to every node of the 6-cube at once (001), 5 drawings.

    A prototype's simulations.
    """

    @lru_cache
    def drawings(degree: int) -> tuple[Schedule, ...]:
        return tuple(
            conset.compile(f"random:degree={degree},seed={seed}", "ipsc860:64", method="naive")
            for seed in range(5)
        )

    for row in rows(golden / "machines" / "prototype_ipsc860_times.csv"):
        degree, size = int(row["d"]), int(row["bytes"])
        if row["setting"].startswith("AC in random order") and size >= 1024:
            drawn = tuple(resized(schedule, size) for schedule in drawings(degree))
            yield Case(f"d={degree} {size} B AC", float(row["AC_ms"]) * 1e-3, drawn, "none")


def delta_cases(golden: Path) -> Iterator[Case]:
    """Pairwise exchanges, partner i XOR j in step j (002: PEX): printed times.

    Naive, of which the text has none: ours.

    Under `local` the formula follows who waits for whom, and PEX alone would leave nearly nothing
    to the exponent (0.08); naive needs it.
    """
    for row in rows(golden / "thakur_fit.csv"):
        if row["model"] == "paper" and row["algorithm"] == "PEX":
            schedule = resized(exchange(f"delta:{row['mesh']}", "pex"), int(row["bytes"]))
            yield Case(
                f"{row['mesh']} {row['bytes']} B PEX",
                float(row["measured_s"]),
                (schedule,),
                "local",
            )
            if row["mesh"] in NAIVE:
                schedule = resized(exchange(f"delta:{row['mesh']}", "naive"), int(row["bytes"]))
                told_s = conset.simulate(schedule, model="wormhole", sync="none").time_s
                yield Case(f"{row['mesh']} {row['bytes']} B naive", told_s, (schedule,), "none")


def iwarp_cases(golden: Path) -> Iterator[Case]:
    """Printed clocks of message passing (naive): neighbours and complete exchange on 8x8.

    000, Tables 1 and 3.
    """
    on = machine(MESSAGES)
    for file, which in (
        ("conset_table1_torus.csv", BASICS[0]),
        ("conset_table3_alltoall.csv", BASICS[2]),
    ):
        for row in rows(golden / file):
            words = int(row["data_words_per_connection"])
            if WORD_B * words >= 1024:
                pattern = pattern_of(which, words, on)
                schedule = conset.compile(pattern, on, method="naive", placement=which.placement)
                told_s = float(row["msgpass_measured_clocks"]) * CLOCK_S
                yield Case(f"{which.name} {words} words", told_s, (schedule,), "none")


MACHINES = {
    "paragon": paragon_cases,
    "ipsc860": ipsc860_cases,
    "delta": delta_cases,
    "iwarp": iwarp_cases,
}


def rms(error: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(error**2)))


def least(errors: Callable[[float], NDArray[np.float64]]) -> float:
    """The exponent of the least root mean square, to two digits."""
    best = min(COARSE, key=lambda blocking: rms(errors(blocking)))
    near = (round(best + 0.01 * k, 2) for k in range(-9, 10))
    return min(
        (blocking for blocking in near if blocking >= 0), key=lambda blocking: rms(errors(blocking))
    )


def main(golden: Path) -> None:
    for name, cases_of in MACHINES.items():
        cases = tuple(cases_of(golden))

        @cache
        def errors(blocking: float, cases: tuple[Case, ...] = cases) -> NDArray[np.float64]:
            """shape=(cases): log of predicted / told."""
            return np.array([np.log(case.predicted_s(blocking) / case.told_s) for case in cases])

        best, preset = (
            least(errors),
            cases[0].schedules[0].machine.costs_for(cases[0].schedules[0].method).blocking,
        )
        figures = ", ".join(
            f"{rms(errors(blocking)):.3f} at {blocking:g}" for blocking in (best, preset, 0.0)
        )
        print(
            f"{name}: blocking {best:g}, {len(cases)} figures, rms log error {figures}", flush=True
        )
        for k in np.argsort(-np.abs(errors(best)))[:4]:
            print(f"    {cases[k].name:28} predicted {np.exp(errors(best)[k]):.2f} of what is told")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN)
