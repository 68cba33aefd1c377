"""The finite-element patterns of section 5.2 on regenerated meshes: structure, predictions, simulations.

A word takes 10 clocks at a cell, which sends or receives one at a time (the text's recalculated access, section 5.2).
The text's compiler is its sequential router with lists by AS, on one line for both ways; its prediction is 528 clocks a
phase and 10 for each word of the timetable. Today's balances words over phases and orders them by an event list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import conset
from conset.machine.limits import Limits
from conset.methods.connection_routers.sequential import route_sequential
from conset.methods.connection_routers.task import Task
from conset.methods.problem import Problem
from conset.pattern.pattern import Pattern
from conset.reproduction.conset_iwarp.apr import CHANNELS, in_lists, scheduled
from conset.reproduction.conset_iwarp.clocks import CONNECTIONS, MESSAGES, WORD_B, clocks, machine
from conset.reproduction.conset_iwarp.columns import best_in_flight
from conset.reproduction.conset_iwarp.meshes import PARTS, cut, halo, make_mesh
from conset.reproduction.parallel import on_threads
from conset.reproduction.published import read_published
from conset.schedule.schedule import Schedule
from conset.simulation import Workload

MESHES = ("m11k", "c10k", "c100k", "q20k")
LABELS = {"bisection": "bisection", "metis": "METIS"}
"""Ways to cut cells into parts, for people."""
SYSTOLIC = "port=8MB/s,node=8MB/s"
"""10 clocks a word at a cell, both ways together."""
PROCESSORS = "crossbar:64,setup=26.4us," + SYSTOLIC
"""What AS and the prediction know: processors and 528 clocks a phase."""
RECEIVING = "port_in=8MB/s"
"""Message passing: the receiver scatters at 10 clocks a word; the sender spools a buffer."""
ORDERS = 20
SETUP = 528
WORD_CLOCKS = 10


def cuts() -> tuple[str, ...]:
    """How cells are cut into parts; METIS where it is installed."""
    return ("bisection", "metis") if find_spec("pymetis") else ("bisection",)


@lru_cache(maxsize=16)
def parts_of(name: str, how: str) -> NDArray[np.int64]:
    """shape=(elements), int64: the part of each."""
    return cut(make_mesh(name), how)


@lru_cache(maxsize=16)
def exchange(name: str, how: str = "bisection") -> Pattern:
    """What the processors exchange after an iteration."""
    return halo(make_mesh(name), parts_of(name, how), name)


@dataclass(frozen=True)
class Structure:
    """What Table 4 tells of a partitioned mesh.

    Attributes:
        elements: of the mesh.
        nodes: of the mesh.
        elements_of: fewest and most of a processor.
        words_of: fewest and most that a processor sends.
        degree: most processors that one sends to.
        words: fewest and most of a connection.
    """

    elements: int
    nodes: int
    elements_of: tuple[int, int]
    words_of: tuple[int, int]
    degree: int
    words: tuple[int, int]


@lru_cache(maxsize=16)
def structure(name: str, how: str = "bisection") -> Structure:
    """Counted on the regenerated mesh."""
    mesh, pattern = make_mesh(name), exchange(name, how)
    elements = np.bincount(parts_of(name, how), minlength=PARTS)
    sent = np.bincount(pattern.source, pattern.size, PARTS).astype(np.int64) // WORD_B
    return Structure(
        len(mesh.elements), int(np.unique(mesh.elements).size), _ends(elements), _ends(sent),
        int(np.bincount(pattern.source, minlength=PARTS).max()), _ends(pattern.size // WORD_B),
    )  # fmt: skip


def _ends(values: NDArray[np.int64]) -> tuple[int, int]:
    return int(values.min()), int(values.max())


@dataclass(frozen=True, eq=False)
class Compiled:
    """A schedule and what its prediction is made of.

    Attributes:
        schedule: with the machine's routes or its own, lists in the order of the timetable.
        predicted: 528 · phases + 10 · `words` [clocks].
        words: of the timetables of all phases, S of Table 6.
    """

    schedule: Schedule
    predicted: float
    words: float


@lru_cache(maxsize=16)
def as_the_text(name: str, how: str = "bisection") -> Compiled:
    """By the text's router and its AS; predicted as in Table 6, on processors alone."""
    pattern, on = exchange(name, how), machine(CONNECTIONS, SYSTOLIC)
    found = route_sequential(Task(Problem(pattern, on, Limits(channels=CHANNELS))))
    listed, timed = in_lists(found, pattern, machine(PROCESSORS), 0)
    predicted = clocks(conset.predict(scheduled(pattern, machine(PROCESSORS), timed)).time_s)
    phases = int(timed.offsets.size) - 1
    return Compiled(scheduled(pattern, on, listed), predicted, (predicted - SETUP * phases) / WORD_CLOCKS)


@lru_cache(maxsize=16)
def as_today(name: str, how: str = "bisection") -> Compiled:
    """Words balanced over phases, transfers by an event list; predicted with links."""
    schedule = conset.compile(
        exchange(name, how), machine(CONNECTIONS, SYSTOLIC), method="connections", timetable="event-list",
        sync="barrier",
    )  # fmt: skip
    predicted = clocks(conset.predict(schedule).time_s)
    return Compiled(schedule, predicted, (predicted - SETUP * schedule.phases) / WORD_CLOCKS)


@lru_cache(maxsize=16)
def fewest_phases(name: str, how: str = "bisection") -> tuple[int, int]:
    """(phases of today's compile for few phases, bound)."""
    schedule = conset.compile(exchange(name, how), CONNECTIONS, method="connections", objective="phases")
    return schedule.phases, conset.bound(schedule).phases


def simulated(compiled: Compiled, words: str = "", count: str = "1") -> float:
    """By `flow`, sync barrier [clocks]; `words` are costs changed beside the access, `count` transfers at once."""
    on = machine(CONNECTIONS, ",".join(filter(None, (SYSTOLIC, words))))
    schedule = replace(compiled.schedule, machine=on)
    return clocks(conset.simulate(schedule, sync="barrier", in_flight=count, receives=count).time_s)


@lru_cache(maxsize=64)
def message_passing(name: str, how: str = "bisection", in_flight: int = 0) -> float:
    """By `wormhole`, mean of random orders [clocks]; 0 in flight: the best single number of Tables 1 to 3."""
    on = machine(MESSAGES, RECEIVING)
    schedule = conset.compile(exchange(name, how), on, method="naive")
    work, count = Workload.of_schedule(schedule), in_flight or best_in_flight()

    def run(seed: int) -> float:
        order = np.random.default_rng(seed).permutation(work.messages).astype(np.int32)
        timeline = conset.simulate(replace(work, order=order), on, model="wormhole", in_flight=count, receives=1)
        return clocks(timeline.time_s)

    return float(np.mean(on_threads(run, range(ORDERS))))


def printed(table: int) -> dict[str, dict[str, float]]:
    """Mesh → column → number of Table 4, 5 or 6 as the text prints it."""
    rows = read_published("conset_iwarp", f"table_{table}")
    return {row["mesh"]: {key: float(value) for key, value in row.items() if key != "mesh"} for row in rows}
