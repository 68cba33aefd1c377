"""The complete exchange on the Delta: compiled, its contention counted, predicted, simulated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import conset
from conset.machine.machine import Machine
from conset.machine.spec import with_settings
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset_papers.parallel import on_threads
from conset_papers.thakur.times import METHODS, Mesh, Seconds, Time, mesh_word, printed

MODEL = "wormhole"
SYNC = "local"
"""The text's programs (Figures 1, 2, 4, 5) have no barrier: a processor ends its own step first."""
EXECUTED = f"simulated by {MODEL}, sync {SYNC}, 1 in flight"


def delta(mesh: Mesh, settings: str = "") -> Machine:
    """The machine, with costs changed by words of `--set`."""
    return with_settings(conset.load_machine(f"delta:{mesh_word(mesh)}"), settings)


def exchange(mesh: Mesh, size: int, method: str, settings: str = "", **options: Any) -> Schedule:
    """The complete exchange of messages of `size` bytes, compiled.

    `options` as in `conset.compile`.
    """
    words = f"alltoall:size={size}"
    found: Schedule = conset.compile(
        words, delta(mesh, settings), method=method, sync=SYNC, **options
    )
    return found


@lru_cache
def contention(method: str, mesh: Mesh) -> NDArray[np.int32]:
    """Messages on the busiest link of every step, counted in the compiled schedule.

    shape=(steps).
    """
    return phase_loads(exchange(mesh, 1, method)).link.astype(np.int32)


def simulate_times(times: Sequence[Time], settings: str = "", sync: str = SYNC) -> Seconds:
    """Every cell simulated by itself: no time is scaled from another."""

    def seconds(time: Time) -> float:
        schedule = exchange(time.mesh, time.bytes, time.method, settings)
        return conset.simulate(schedule, model=MODEL, sync=sync).time_s

    return dict(zip(times, on_threads(seconds, times, cost=lambda time: time.ranks), strict=True))


@lru_cache
def simulated_table(table: int) -> Seconds:
    """The cells of one table of the text, with the preset as it is."""
    return simulate_times(printed(table))


def simulated() -> Seconds:
    """All 125 cells."""
    return {time: seconds for table in METHODS for time, seconds in simulated_table(table).items()}


@lru_cache
def predicted_table(table: int) -> Seconds:
    """The cells of one table by conset's own formula for policy `local`.

    Which counts every link, and the preset.
    """
    return {
        time: conset.predict(exchange(time.mesh, time.bytes, time.method)).time_s
        for time in printed(table)
    }


def predicted() -> Seconds:
    """All 125 cells by that formula."""
    return {time: seconds for table in METHODS for time, seconds in predicted_table(table).items()}
