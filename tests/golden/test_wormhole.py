"""Wormhole on the texts' machines.

Claims that hold, and times beside a prototype's (for comparison, never as truth).

Source: 003 (Bokhari, Nicol) figures 12-15 at 15,232 B; prototype's times from
`../shared/golden/machines/prototype_paragon_slice_15232.csv` (lanes 3, in flight 3, link 175 MB/s),
and `prototype_delta_cells.csv` (preset). A prototype breaks ties of one time in its own way: 5 of
143 rows on 4x4 and 8x8 differ by more than 0.15 %, none of those here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import conset
from conset.machine.spec import parse_machine
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.models.wormhole import simulate_wormhole
from conset.schedule.schedule import Schedule

SLICE_MS = {
    4: {1: 15.68, 2: 10.52, 4: 7.72, 8: 6.47, 16: 6.12},
    8: {1: 160.57, 2: 80.29, 4: 59.83, 8: 47.61, 16: 47.31, 32: 54.49, 64: 56.52, 128: 58.10},
}
"""n → link contention → simulated by a prototype [ms]."""
LOWER_MS = {1: 160.53, 2: 80.26, 4: 58.25, 8: 47.24, 16: 41.73, 32: 38.98, 64: 37.61, 128: 36.92}
"""Lower bounds on 8x8, log2 n, as `../shared/golden/paragon_pred_15232.csv`."""


@cache
def bounded(side: int, contention: int) -> Schedule:
    return conset.compile(
        "alltoall,size=15232", f"paragon:{side}x{side}", method="bounded", contention=contention
    )


@cache
def paragon_ms(side: int, contention: int, lanes: int = 3) -> float:
    """The complete exchange with phases of at most n/4 messages on a link, merged into groups
    beyond that."""
    most = side // 4
    schedule = bounded(side, min(contention, most))
    sync = f"barrier:{max(1, contention // most)}"
    settings = Settings.of(schedule.machine.costs, sync=sync, lanes=lanes)
    return (
        simulate_wormhole(Workload.of_schedule(schedule), schedule.machine, settings).time_s * 1e3
    )


@pytest.mark.parametrize(
    ("side", "contention"), [(n, c) for n, row in SLICE_MS.items() for c in row]
)
def test_paragon_as_the_prototype(side: int, contention: int) -> None:
    assert paragon_ms(side, contention) == pytest.approx(SLICE_MS[side][contention], rel=2e-3)


def test_paragon_8x8_has_its_minimum_inside() -> None:
    # 003: minimum at link contention 16; the measured lies above the lower bound
    times = {c: paragon_ms(8, c) for c in SLICE_MS[8]}
    assert min(times, key=lambda c: times[c]) in (8, 16, 32)
    assert all(time > 0.98 * LOWER_MS[c] for c, time in times.items())


def test_merging_is_useless_with_one_lane() -> None:
    # prototype: 181.25, 120.39, 100.67, 114.98 … for c = 2, 4, 8, 16, all above the upper bounds
    assert paragon_ms(8, 2, lanes=1) > paragon_ms(8, 1)
    assert paragon_ms(8, 16, lanes=1) > 1.4 * 77.97


def test_naive_on_the_paragon_depends_on_the_order() -> None:
    # prototype: 78.5 ms ascending, 53.8 starting at its own neighbour
    schedule = conset.compile("alltoall,size=15232", "paragon:8x8", method="naive")
    workload = Workload.of_schedule(schedule)
    rotated = np.lexsort(((workload.target - workload.source) % 64, workload.source)).astype(
        np.int32
    )
    settings = Settings.of(schedule.machine.costs)
    ascending = simulate_wormhole(workload, schedule.machine, settings).time_s
    assert ascending * 1e3 == pytest.approx(78.5, rel=2e-3)
    other = simulate_wormhole(replace(workload, order=rotated), schedule.machine, settings).time_s
    assert other * 1e3 == pytest.approx(53.8, rel=2e-3)


@pytest.mark.parametrize(
    ("method", "mesh", "size", "prototype_s"),
    [
        ("pex", "4x4", 256, 0.0042),
        ("pex", "8x8", 16384, 0.4759),
        ("gen", "8x8", 4096, 0.1400),
        ("pex-gen", "6x8", 8192, 0.1902),
        ("pex-gen-shift", "4x5", 16384, 0.1516),
    ],
)
def test_delta_as_the_prototype(method: str, mesh: str, size: int, prototype_s: float) -> None:
    schedule = conset.compile(f"alltoall,size={size}", f"delta:{mesh}", method=method)
    settings = Settings.of(schedule.machine.costs, sync="local")
    timeline = simulate_wormhole(Workload.of_schedule(schedule), schedule.machine, settings)
    assert timeline.time_s == pytest.approx(prototype_s, abs=0.6e-4)


CLOCK = 50e-9
PASSING = {
    "torus": {1: (3472, 134288), 2: (3456, 134272), 3: (3056, 133872), 4: (3056, 133872)},
    "butterfly": {1: (6304, 333344), 2: (7064, 301332), 3: (6260, 333300), 4: (6196, 300532)},
}
"""Pattern → messages in flight → clocks with 32 and with 16384 words.

An older prototype's message passing on iWarp (`../shared/golden/result_simulation_vs_measured.csv`,
the same rules written down in `simulators.md` section 3).
"""


def passing(pattern: str, words: int) -> Workload:
    """8x8, in dimension order, both directions of a dimension together.

    The butterfly is in Gray code on each axis.
    """
    gray = [x ^ (x >> 1) for x in range(8)]
    steps = {
        "torus": lambda x: [(x + 1) % 8, (x - 1) % 8],
        "butterfly": lambda x: [gray.index(gray[x] ^ (1 << bit)) for bit in range(3)],
    }[pattern]
    ends = [
        (8 * y + x, target)
        for y in range(8)
        for x in range(8)
        for target in [8 * y + other for other in steps(x)] + [8 * other + x for other in steps(y)]
    ]
    source, target = np.array(ends, np.int32).T
    return Workload(source, target, np.full(len(ends), 4 * words), 64, method="naive")


@pytest.mark.parametrize("in_flight", [1, 2, 3, 4])
@pytest.mark.parametrize("pattern", PASSING)
def test_message_passing_on_iwarp_as_the_prototype(pattern: str, in_flight: int) -> None:
    iwarp = parse_machine("iwarp:8x8,tie=checker")
    settings = Settings.of(iwarp.costs_for("naive"), in_flight=in_flight)
    clocks = [
        simulate_wormhole(passing(pattern, words), iwarp, settings).time_s / CLOCK
        for words in (32, 16384)
    ]
    assert clocks == pytest.approx(PASSING[pattern][in_flight], rel=1e-9)
