"""The columns of Tables 1 to 3: patterns, schedules, predicted and simulated times.

The basic patterns of section 5.1.

Connections as the compiler routes them, as put by hand, and messages in order.

The compiler's own: router `sequential` in as few phases as it finds, with the lists that a compile
makes, or with those that AS gives to the same phases. By hand, to the text's numbers of phases:
torus and butterfly go directly, in dimension order: the four neighbours in one phase; the partners
along x in one, those along y in another one, ranks by Gray code. The complete exchange is either 30
phases of whole translations, the balance that the text's predicted column assumes, or the
sequential router given 30 phases and a random order. Message passing sends in dimension order, the
complete exchange in random order.

The four columns of Tables 1 to 3 by the pipeline.

Predicted and measured, connections and message passing.

Predicted: `conset.predict` where links cost nothing and a phase 520 clocks, as the paper computes
it. Measured: connections by `flow`, phases apart by barriers, one transfer in flight and one
received at a cell, in list order; message passing by `wormhole`, three pools of one lane,
everything released at once. `COMPILED` has the compiler's own schedules, `LAW` and `MAIN` those by
hand; every further setting changes one assumption of `MAIN`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

import conset
from conset.base import Ints, Ints32
from conset.machine import Machine
from conset.methods import Phases, place
from conset.models import Workload
from conset.pattern import Pattern
from conset.schedule import Schedule, order_messages
from conset_papers.conset_iwarp.machine import (
    CONNECTIONS,
    MESSAGES,
    WORD_B,
    clocks,
    in_lists,
    machine,
    route,
    route_as_compiled,
    scheduled,
)
from conset_papers.item import read_published
from conset_papers.parallel import on_threads

PHASES = 30
"""Of the complete exchange, section 5.1.3."""
PRINTED_PHASES = {2: 2, 3: PHASES}
"""Table → phases that section 5.1 says the text's compiler made; it says nothing of the torus."""
PROCESSORS = "crossbar:64,port=40MB/s"
"""What the text's scheduler AS knows of the machine."""
SIZES = (32, 256, 2048, 16384)
"""Words of a connection or message in Tables 1 to 3."""


@dataclass(frozen=True)
class Basic:
    """One of the three patterns.

    Attributes:
        table: number of its table; its figure is the next number.
        name: as the text calls it.
        spec: generator.
        placement: of the ranks.
        posting: order in which a cell posts its messages; pairwise is the butterfly's bit by bit.
        messages: of a cell, as the text counts them (the complete exchange has one to the cell
            itself).
        seeds: runs that are averaged of the router that is given its phases.
        orders: random orders of messages that are averaged; one run of the complete exchange is off
            by 2 to 5 %.
    """

    table: int
    name: str
    spec: str
    placement: str
    posting: str
    messages: int
    seeds: int = 1
    orders: int = 1


TORUS = Basic(1, "torus", "neighbor", "identity", "dimension", 4)
BUTTERFLY = Basic(2, "butterfly", "butterfly", "gray", "pairwise", 6)
ALL_TO_ALL = Basic(3, "all-to-all", "alltoall", "identity", "random", 64, seeds=5, orders=20)
BASICS = (TORUS, BUTTERFLY, ALL_TO_ALL)


def basic(table: int) -> Basic:
    """The pattern of a table."""
    return BASICS[table - 1]


def pattern_of(which: Basic, words: int, on: Machine) -> Pattern:
    """Every message with `words` words."""
    return conset.load_pattern(f"{which.spec},size={words * WORD_B}", on)


def placement_of(which: Basic, pattern: Pattern, on: Machine) -> Ints32 | None:
    """The node of each rank; None: rank r on node r."""
    return place(which.placement, pattern=pattern, topology=on.topology)


def balanced(which: Basic, words: int, on: Machine) -> Schedule:
    """Phases in which every cell sends and receives equally often, on the machine's routes."""
    pattern = pattern_of(which, words, on)
    placement = placement_of(which, pattern, on)
    steps = _steps(pattern, placement, on)
    posting = "dimension" if which is ALL_TO_ALL else which.posting
    order = np.empty(pattern.messages, np.int32)
    order[order_messages(pattern, posting, topology=on.topology, placement=placement)] = np.arange(
        pattern.messages
    )
    phase = (
        _translations(steps, on)
        if which is ALL_TO_ALL
        else (steps[:, 1] == 0) & (which is BUTTERFLY)
    )
    phases = Phases.of(phase.astype(np.int32), order)
    return scheduled(pattern, on, phases, placement)


def _steps(pattern: Pattern, placement: Ints32 | None, on: Machine) -> Ints:
    """shape=(messages, 2), int64: how far each message goes up in (y, x), modulo the sides."""
    source, target = (
        end if placement is None else placement[end] for end in (pattern.source, pattern.target)
    )
    at = on.topology.coordinates.astype(np.int64)
    steps: Ints = (at[target] - at[source]) % np.array(on.topology.sides)
    return steps


def _translations(steps: Ints, on: Machine) -> Ints:
    """shape=(messages), int64.

    The phase of each, whole translations in turn, the longest first, there and back.

    A translation by h hops takes h + 1 channels of every cell, so 30 phases of 12 have room for all
    63: two in each, and three in the last ones, which have the shortest.
    """
    side = np.array(on.topology.sides)
    hops = np.minimum(steps, side - steps).sum(axis=1)
    key = steps[:, 0] * side[1] + steps[:, 1]
    every, first = np.unique(key, return_index=True)
    longest = np.argsort(-hops[first], kind="stable")
    turn = np.arange(every.size)
    phase_of = np.zeros(int(side.prod()), np.int64)
    phase_of[every[longest]] = np.select(
        [turn < PHASES, turn < 2 * PHASES], [turn, 2 * PHASES - 1 - turn], 3 * PHASES - 1 - turn
    )
    phase: Ints = phase_of[key]
    return phase


@lru_cache(maxsize=32)
def listed(which: Basic, seed: int, phases: int = PHASES, links: bool = False) -> Phases:
    """The router's phases, transfers in the order of AS.

    The same for all sizes, as all connections are equal.

    Args:
        which: the pattern.
        seed: of the router, and of ties.
        phases: how many the router has.
        links: whether a transfer also keeps others from its links; the text's scheduler knows
            processors only.
    """
    on = machine(CONNECTIONS)
    pattern = pattern_of(which, 1, on)
    found = route(pattern, on, phases, seed)
    return in_lists(found, pattern, on if links else machine(PROCESSORS), seed)[0]


@lru_cache(maxsize=32)
def compiled(which: Basic, seed: int) -> Schedule:
    """What `conset compile --method connections --router sequential` gives for the largest size.

    Lists included.
    """
    on = machine(CONNECTIONS)
    return conset.compile(
        pattern_of(which, SIZES[-1], on),
        on,
        method="connections",
        router="sequential",
        placement=which.placement,
        seed=seed,
        sync="barrier",
    )


@lru_cache(maxsize=32)
def relisted(which: Basic, seed: int) -> Phases:
    """The same router's phases, transfers in the order of AS, which knows processors only."""
    on = machine(CONNECTIONS)
    pattern = pattern_of(which, 1, on)
    found = route_as_compiled(pattern, on, placement=placement_of(which, pattern, on), seed=seed)
    return in_lists(found, pattern, machine(PROCESSORS), seed)[0]


def messages_of(which: Basic, words: int, on: Machine | None = None, seed: int = 0) -> Workload:
    """Everything released at once, cells send in dimension order or in a random one."""
    on = on or machine(MESSAGES)
    pattern = pattern_of(which, words, on)
    return Workload.of_schedule(
        conset.compile(
            pattern,
            on,
            method="naive",
            posting=which.posting,
            placement=which.placement,
            seed=seed,
            sync="none",
        )
    )


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
MAIN = Setting("528 a phase + 104 a transfer, fitted to all twelve cells (the preset)")
LAW = Setting("528 + 352 a phase, 4 a transfer", words="setup=26.4us,per_transfer=0.2us")
"""The cost of a synchronization (section 4.2.1) twice, 4 clocks fitted to Table 1 at 32 words."""
ACCURATE = 0.15
"""What the paper calls fairly accurate: its measured times of Table 6 are 3 to 15 % above the
predicted ones."""
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
def connections(table: int, words: int, setting: Setting = MAIN) -> float:
    """Simulated time of connections, the mean over the seeds of the router [clocks]."""
    which = BASICS[table - 1]
    timelines = [
        conset.simulate(
            schedule_of(which, words, setting, seed),
            sync="barrier",
            in_flight=setting.in_flight,
            receives=setting.in_flight,
            receive_order=setting.receive_order,
        )
        for seed in range(seeds_of(which, setting))
    ]
    return float(np.mean([clocks(timeline.time_s) for timeline in timelines]))


@lru_cache(maxsize=1024)
def messages(
    table: int, words: int, in_flight: int, spec: str = MESSAGES, lanes: int | None = None
) -> float:
    """Simulated time of message passing, the mean over random orders where there are any [clocks].

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

    return float(np.mean(on_threads(run, range(which.orders))))


@lru_cache(maxsize=4)
def best_in_flight(judged: int = 0) -> int:
    """The number of messages in flight whose worst measured cell of Tables 1 to 3 is best.

    Args:
        judged: the table that is judged by it and left out; 0: none.
    """

    def worst(count: int) -> float:
        return max(
            abs(messages(table, words, count) / row["msgpass_measured"] - 1)
            for table in (1, 2, 3)
            if table != judged
            for words, row in published(table).items()
        )

    return min(IN_FLIGHT, key=worst)


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
