"""The basic patterns of section 5.1.

Connections as the compiler routes them, as put by hand, and messages in order.

The compiler's own: router `sequential` in as few phases as it finds, with the lists that a compile
makes, or with those that AS gives to the same phases. By hand, to the text's numbers of phases:
torus and butterfly go directly, in dimension order: the four neighbours in one phase; the partners
along x in one, those along y in another one, ranks by Gray code. The complete exchange is either 30
phases of whole translations, the balance that the text's predicted column assumes, or the
sequential router given 30 phases and a random order. Message passing sends in dimension order, the
complete exchange in random order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import conset
from conset.machine.machine import Machine
from conset.methods.phases.problem import Phases
from conset.methods.placements import place
from conset.models import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.policy import order_messages
from conset.schedule.schedule import Schedule
from conset_papers.conset_iwarp.machine import (
    CONNECTIONS,
    MESSAGES,
    WORD_B,
    in_lists,
    machine,
    route,
    route_as_compiled,
    scheduled,
)

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


def placement_of(which: Basic, pattern: Pattern, on: Machine) -> NDArray[np.int32] | None:
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


def _steps(pattern: Pattern, placement: NDArray[np.int32] | None, on: Machine) -> NDArray[np.int64]:
    """shape=(messages, 2), int64: how far each message goes up in (y, x), modulo the sides."""
    source, target = (
        end if placement is None else placement[end] for end in (pattern.source, pattern.target)
    )
    at = on.topology.coordinates.astype(np.int64)
    steps: NDArray[np.int64] = (at[target] - at[source]) % np.array(on.topology.sides)
    return steps


def _translations(steps: NDArray[np.int64], on: Machine) -> NDArray[np.int64]:
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
    phase: NDArray[np.int64] = phase_of[key]
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
