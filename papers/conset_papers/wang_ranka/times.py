"""Times over message size by the text's four algorithms, and the text's numbers.

Schedules are compiled once for each drawing, then simulated or predicted at every size: phases do
not depend on the size where all messages are equal. Means over drawings; the pattern of drawing s
and every random choice of its compile have seed s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import conset
from conset.base import Ints
from conset.machine import Machine, with_settings
from conset.schedule import Schedule
from conset_papers.item import read_published
from conset_papers.parallel import on_threads

MACHINE = "ipsc860:64"
MODELS = {
    MACHINE: "circuit",
    "delta:8x8": "wormhole",
    "paragon:8x8": "wormhole",
    "iwarp:8x8": "wormhole",
}
"""Machine of 64 nodes → model that it is simulated by; the first is the paper's."""
DEGREES = (4, 8, 16, 32, 48)
"""Densities d of the text's test sets."""
SIZES = tuple(1 << k for k in range(4, 18))
"""Message sizes [B]: 16 B to 128 KiB."""
SEEDS = 5
"""Drawings of each density; the text took 50."""
SET_UPS = (15, 30, 60, 120)
"""Costs of every permutation that are tried; AC has none.

The text has no figure, the preset 0 [us].
"""
PERMUTATIONS = "synchronization=0,exchange_syncs=ready;barrier"
"""Permutations one after the other for nothing, their exchanges synchronized.

What Section 2.1 assumes.
"""

Times = dict[tuple[str, int], tuple[float, ...]]
"""(algorithm, density) → mean time at each of `SIZES` [s]."""


def fact(item: str, density: int | None = None) -> float:
    """A number of `published/facts.csv`, which has its unit and place.

    Raises:
        KeyError: there is none of that name and density.
    """
    return _facts()[item, density]


@cache
def _facts() -> dict[tuple[str, int | None], float]:
    rows = read_published("wang_ranka", "facts")
    return {
        (row["item"], int(row["density"]) if row["density"] else None): float(row["value"])
        for row in rows
    }


@dataclass(frozen=True)
class Algorithm:
    """One competitor.

    Attributes:
        name: in tables and pictures.
        method: what compiles it here.
        sync: S1 of the text is `ready` (a zero-byte signal for each message), S2 is `none`
            (everything posted in schedule order).
        order: of a rank's sends within a phase: as compiled, `random`, or `rotated` (first to its
            next higher rank).
    """

    name: str
    method: str
    sync: str
    order: str = "compiled"


AC = Algorithm("AC", "naive", "none")
"""The text does not say in which order AC sends.

`naive` sends by ascending target, as the rows of COM stand.
"""
LP = Algorithm("LP", "lp", "ready")
RS_N = Algorithm("RS_N", "rs-n", "none")
RS_NL = Algorithm("RS_NL", "rs-nl", "ready")
TEXT = (AC, LP, RS_N, RS_NL)
"""S1 for those that exploit exchanges, S2 for the others: Section 6."""

AC_RANDOM = Algorithm("AC, random order", "naive", "none", order="random")
AC_ROTATED = Algorithm("AC, rotated order", "naive", "none", order="rotated")
ORDERS = (AC, AC_RANDOM, AC_ROTATED)
"""AC with the orders that decide whether it comes before RS_N."""

UNSCHEDULED_OR_NODES = ("AC", "RS_N")
"""Beside the text's words, which are of AC alone: both S2 and without heed to links."""


def set_up(us: float) -> str:
    """As after `--set`: a cost of every permutation."""
    return f"setup={us:g}us"


def simulated(
    algorithms: Sequence[Algorithm],
    degrees: Sequence[int] = DEGREES,
    *,
    setting: str = "",
    seeds: int = SEEDS,
    machine: str = MACHINE,
) -> Times:
    """Simulated times of `algorithms`.

    Args:
        algorithms: who.
        degrees: densities.
        setting: words as after `--set`, changing the machine for all.
        seeds: drawings of each density.
        machine: key of `MODELS`.
    """
    todo = [(algorithm, degree) for algorithm in algorithms for degree in degrees]
    found = on_threads(
        lambda one: _simulated(one[0], one[1], setting, seeds, machine),
        todo,
        cost=lambda one: float(one[1]),
    )
    return {
        (algorithm.name, degree): times
        for (algorithm, degree), times in zip(todo, found, strict=True)
    }


def predicted(
    algorithms: Sequence[Algorithm],
    degrees: Sequence[int] = DEGREES,
    *,
    by_permutation: bool = False,
    seeds: int = SEEDS,
) -> Times:
    """Times of `algorithms` by formula.

    Args:
        algorithms: who.
        degrees: densities.
        by_permutation: as the text counts (Section 2.1): permutations one after the other without a
            cost between them, exchanges overlapping; AC as it is. Otherwise the formula of each
            one's own policy.
        seeds: drawings of each density.
    """
    return {
        (one.name, degree): _predicted(one, degree, by_permutation, seeds)
        for one in algorithms
        for degree in degrees
    }


@cache
def _simulated(
    algorithm: Algorithm, degree: int, setting: str, seeds: int, name: str
) -> tuple[float, ...]:
    machine = _machine(setting, name)

    def time_s(schedule: Schedule) -> float:
        return conset.simulate(schedule, machine, model=MODELS[name]).time_s

    return _mean_times(algorithm, degree, seeds, time_s, name)


@cache
def _predicted(
    algorithm: Algorithm, degree: int, by_permutation: bool, seeds: int
) -> tuple[float, ...]:
    machine = _machine(PERMUTATIONS if by_permutation else "")

    def time_s(schedule: Schedule) -> float:
        sync = "barrier" if by_permutation and schedule.phases > 1 else None
        return conset.predict(schedule, sync=sync, machine=machine, by="formula").time_s

    return _mean_times(algorithm, degree, seeds, time_s)


def _mean_times(
    algorithm: Algorithm,
    degree: int,
    seeds: int,
    time_s: Callable[[Schedule], float],
    name: str = MACHINE,
) -> tuple[float, ...]:
    """Means over drawings of the time at each of `SIZES` [s]."""
    rows = [
        [time_s(resized(compiled(algorithm, degree, seed, name), size)) for size in SIZES]
        for seed in range(seeds)
    ]
    return tuple(float(mean) for mean in np.mean(rows, axis=0))


@cache
def _machine(setting: str, name: str = MACHINE) -> Machine:
    machine = conset.load_machine(name)
    return with_settings(machine, setting) if setting else machine


@cache
def compiled(algorithm: Algorithm, degree: int, seed: int, name: str = MACHINE) -> Schedule:
    """The schedule of one drawing, regular both ways, with messages of one byte."""
    pattern = conset.load_pattern(f"random:degree={degree},size=1", name, seed=seed)
    schedule = conset.compile(
        pattern, _machine("", name), method=algorithm.method, sync=algorithm.sync, seed=seed
    )
    return replace(schedule, message=schedule.message[_send_order(schedule, algorithm.order, seed)])


def _send_order(schedule: Schedule, order: str, seed: int) -> Ints:
    """shape=(transfers): places of the transfers as ranks are to post them, phase by phase."""
    if order == "random":
        key = np.random.default_rng(seed).permutation(schedule.transfers)
    elif order == "rotated":
        key = (schedule.target_node - schedule.source_node).astype(
            np.int64
        ) % schedule.pattern.ranks
    else:
        return np.arange(schedule.transfers)
    return np.lexsort((key, schedule.phase_of))


def resized(schedule: Schedule, size: int) -> Schedule:
    """The same phases with messages of `size` bytes."""
    pattern = schedule.pattern
    return replace(
        schedule, pattern=replace(pattern, size=np.broadcast_to(np.int64(size), pattern.messages))
    )
