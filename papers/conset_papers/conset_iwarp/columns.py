"""The four columns of Tables 1 to 3 by the pipeline.

Predicted and measured, connections and message passing.

Predicted: `conset.predict` where links cost nothing and a phase 520 clocks, as the text computes
it. Measured: connections by `flow`, phases apart by barriers, one transfer in flight and one
received at a cell, in list order; message passing by `wormhole`, three pools of one lane,
everything released at once. `COMPILED` has the compiler's own schedules; `MAIN` those by hand,
beside which every further setting changes one assumption, so that a reader sees which one decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

import conset
from conset.schedule.schedule import Schedule
from conset_papers.conset_iwarp.basic import (
    ALL_TO_ALL,
    BASICS,
    PHASES,
    SIZES,
    Basic,
    balanced,
    compiled,
    listed,
    messages_of,
    pattern_of,
    placement_of,
    relisted,
)
from conset_papers.conset_iwarp.machine import (
    CONNECTIONS,
    MESSAGES,
    WORD_B,
    clocks,
    machine,
    scheduled,
)
from conset_papers.item import read_published
from conset_papers.parallel import on_threads

IN_FLIGHT = (1, 2, 3, 4)
"""Messages that a cell has under way at once, in message passing."""
ACCESS_ONLY = "link=none,synchronization=17.2us,hop=0,per_transfer=0"
"""What the predicted columns know of connections: 520 clocks a phase, no links and no latency."""
ONE_BY_ONE = "link=none,blocking=0,hop=0,in_flight=1"
"""What they know of message passing.

One message of a cell after the other, no links and no latency.
"""

RECEIVER_WORKS = "per_transfer=0,receive_overhead=4.8us"
"""The cost of a transfer as work.

It begins when the receiver is free, where latency passes meanwhile.
"""


@dataclass(frozen=True)
class Setting:
    """How connections are simulated.

    Attributes:
        name: for people.
        words: costs changed.
        in_flight: transfers a cell has under way, and receives, at once: a number or `all`.
        receive_order: `list` or `any`.
        phases: of the complete exchange by hand.
        links: whether lists by hand keep transfers from each other's links.
        made: `by hand`: schedules made to the text's numbers of phases; `compiled`: the compiler's
            own by router `sequential`; `as`: the same with lists by AS.
    """

    name: str
    words: str = ""
    in_flight: str = "1"
    receive_order: str = "list"
    phases: int = PHASES
    links: bool = False
    made: Literal["by hand", "compiled", "as"] = "by hand"


ROUTER_SEEDS = 5
"""Compiles that are averaged: the router's order has random ties, the text's is not known."""
MAIN = Setting("one in flight, list order, 528 a phase + 104 a transfer")
COMPILED = replace(MAIN, name="router sequential as compiled", made="compiled")
RELISTED = replace(MAIN, name="router sequential, lists by AS on processors", made="as")
INTERLEAVED = "all"
BESIDE = (
    Setting("nothing per transfer", words="per_transfer=0"),
    Setting("96 clocks a transfer, as work of the receiving cell", words=RECEIVER_WORKS),
    Setting("no latency of hops", words="hop=0"),
    Setting("receives in any order", receive_order="any"),
)
BESIDE_ROUTED = (
    Setting("as many phases as the router needs, 28", phases=28),
    Setting("lists that keep links apart, too", links=True),
)
"""Further settings of what the router made."""


def settings_beside(which: Basic) -> tuple[Setting, ...]:
    """The neighbouring settings of a pattern."""
    return BESIDE + BESIDE_ROUTED if which is ALL_TO_ALL else BESIDE


@lru_cache(maxsize=256)
def predicted_connections(table: int, words: int) -> float:
    """Of balanced phases by hand: 520 clocks a phase and 2 a word at the busiest port [clocks]."""
    which = BASICS[table - 1]
    return clocks(
        conset.predict(
            balanced(which, words, machine(CONNECTIONS, ACCESS_ONLY)), by="formula"
        ).time_s
    )


@lru_cache(maxsize=256)
def predicted_compiled(table: int, words: int) -> float:
    """Of the compiler's own phases by router `sequential`, mean of the seeds [clocks]."""
    which, setting = BASICS[table - 1], replace(COMPILED, words=ACCESS_ONLY)
    schedules = (schedule_of(which, words, setting, seed) for seed in range(ROUTER_SEEDS))
    return float(
        np.mean([clocks(conset.predict(schedule, by="formula").time_s) for schedule in schedules])
    )


@lru_cache(maxsize=256)
def predicted_messages(table: int, words: int) -> float:
    """800 clocks a message and 2 a word at the busiest port [clocks].

    The one to the cell itself costs as any other.
    """
    which = BASICS[table - 1]
    on = machine(MESSAGES, ONE_BY_ONE)
    schedule = conset.compile(
        pattern_of(which, words, on), on, method="naive", placement=which.placement
    )
    total = conset.predict(schedule, by="formula").time_s
    if which is ALL_TO_ALL:
        single = conset.Pattern.from_messages([0], [1], [words * WORD_B], on.topology.nodes)
        total += conset.predict(conset.compile(single, on, method="naive"), by="formula").time_s
    return clocks(total)


def schedule_of(which: Basic, words: int, setting: Setting = MAIN, seed: int = 0) -> Schedule:
    """Phases, routes and lists of connections.

    By hand as the text's machine had them, or as compiled.
    """
    on = machine(CONNECTIONS, setting.words)
    if setting.made == "compiled":
        return replace(compiled(which, seed), pattern=pattern_of(which, words, on), machine=on)
    if setting.made == "as":
        pattern = pattern_of(which, words, on)
        return scheduled(pattern, on, relisted(which, seed), placement_of(which, pattern, on))
    if which is not ALL_TO_ALL:
        return balanced(which, words, on)
    return scheduled(
        pattern_of(which, words, on), on, listed(which, seed, setting.phases, setting.links)
    )


def seeds_of(which: Basic, setting: Setting) -> int:
    """How many runs of the router are averaged; by hand torus and butterfly have nothing random."""
    return which.seeds if setting.made == "by hand" else ROUTER_SEEDS


@lru_cache(maxsize=1024)
def connections_by_seed(table: int, words: int, setting: Setting = MAIN) -> tuple[float, ...]:
    """Simulated times of connections [clocks], one for each seed of the router."""
    which = BASICS[table - 1]
    return tuple(
        clocks(
            conset.simulate(
                schedule_of(which, words, setting, seed),
                sync="barrier",
                in_flight=setting.in_flight,
                receives=setting.in_flight,
                receive_order=setting.receive_order,
            ).time_s
        )
        for seed in range(seeds_of(which, setting))
    )


def connections(table: int, words: int, setting: Setting = MAIN) -> float:
    """The mean over the seeds [clocks]."""
    return float(np.mean(connections_by_seed(table, words, setting)))


@lru_cache(maxsize=1024)
def messages_by_order(
    table: int, words: int, in_flight: int, spec: str = MESSAGES, lanes: int | None = None
) -> tuple[float, ...]:
    """Simulated times of message passing, one for each random order [clocks].

    One alone where there is none.

    Args:
        table: of the pattern.
        words: of a message.
        in_flight: messages a cell has under way at once.
        spec: of the machine.
        lanes: of a link and pool; None: the machine's.
    """
    which, on = BASICS[table - 1], machine(spec)

    def run(seed: int) -> float:
        timeline = conset.simulate(
            messages_of(which, words, on, seed),
            on,
            model="wormhole",
            in_flight=in_flight,
            receives=1,
            lanes=lanes,
        )
        return clocks(timeline.time_s)

    return tuple(on_threads(run, range(which.orders)))


def messages(
    table: int, words: int, in_flight: int, spec: str = MESSAGES, lanes: int | None = None
) -> float:
    """The mean over the orders [clocks]."""
    return float(np.mean(messages_by_order(table, words, in_flight, spec, lanes)))


@lru_cache(maxsize=1)
def best_in_flight() -> int:
    """The number of messages in flight whose worst cell of Tables 1 to 3 is best.

    One setting for all twelve.
    """
    return min(
        IN_FLIGHT, key=lambda count: max(abs(error) for error in message_errors(count).values())
    )


def message_errors(in_flight: int) -> dict[tuple[int, int], float]:
    """(table, words) → relative error of simulated message passing against the measured column."""
    return {
        (table, words): messages(table, words, in_flight) / row["msgpass_measured"] - 1
        for table in (1, 2, 3)
        for words, row in published(table).items()
    }


@lru_cache(maxsize=4)
def published(table: int) -> dict[int, dict[str, float]]:
    """Words → column → clocks, as the text prints them."""
    rows = [
        row for row in read_published("conset_iwarp", "tables_1_to_3") if row["table"] == str(table)
    ]
    found = {
        int(row["words"]): {key: float(row[key]) for key in row if key not in ("table", "words")}
        for row in rows
    }
    assert tuple(found) == SIZES
    return found
