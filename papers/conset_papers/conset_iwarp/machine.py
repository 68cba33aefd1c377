"""The text's machine and its compiler: clocks of 50 ns and words of 4 bytes.

Sequential routes, then lists of cells.

The compiler (section 4.4) routes connections one by one into phases (APR), then orders the lists of
cells (AS).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conset.api import load_machine
from conset.base import Ints32, NoScheduleError
from conset.machine import Limits, Machine, with_settings
from conset.methods import (
    Phases,
    Problem,
    Routed,
    SearchOptions,
    Task,
    assemble,
    build_router,
    route_sequential,
    routed,
    time_as,
)
from conset.pattern import Pattern
from conset.schedule import Schedule

CLOCK_S = 50e-9
"""20 MHz, section 4.2.1."""
MHZ = 20.0
WORD_B = 4
CELLS = 64
CONNECTIONS = "iwarp:8x8"
"""Connections: 528 clocks a phase, 104 a transfer, 4 a hop, as the preset has them."""
MESSAGES = "iwarp:8x8,tie=checker"
"""Routes at half a ring go up from cells whose coordinates add to an odd number, else down."""
CHANNELS = 12
"""Logical channels of a cell for connections, section 5."""


def clocks(seconds: float) -> float:
    """Seconds in clocks, free of the rounding of sums of seconds."""
    return round(seconds / CLOCK_S, 6)


def machine(spec: str, words: str = "") -> Machine:
    """A machine with some costs changed: `machine("iwarp:8x8", "hop=0")`."""
    return with_settings(load_machine(spec), words)


def bandwidth(total_bytes: float, time: float) -> float:
    """Aggregate bandwidth [MB/s] of `total_bytes` in `time` clocks.

    As the text computes it in section 5.1.
    """
    return total_bytes / time * MHZ


def route(pattern: Pattern, on: Machine, phases: int, seed: int) -> Routed:
    """Connections in random order, each over the cheapest path of all copies.

    A node in use n times costs 1 + n.

    Raises:
        NoScheduleError: `phases` copies are too few.
    """
    task = Task(
        Problem(pattern, on, Limits(channels=CHANNELS), None, search=SearchOptions(seed=seed))
    )
    router = build_router(task, phases, seed)
    out = router.route(np.random.default_rng(seed).permutation(pattern.messages).astype(np.int32))
    if out:
        raise NoScheduleError(f"{pattern.name} in {phases} phases: {out} connections find no path")
    return routed(task, router)


def route_as_compiled(
    pattern: Pattern, on: Machine, *, placement: Ints32 | None = None, seed: int = 0
) -> Routed:
    """What `conset compile --method connections --router sequential` finds.

    Phases as few as the router needs.

    Args:
        pattern: what is sent.
        on: its machine.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        seed: of the router.
    """
    limits, search = Limits(channels=CHANNELS), SearchOptions(seed=seed)
    return route_sequential(Task(Problem(pattern, on, limits, placement, search=search)))


def in_lists(
    found: Routed, pattern: Pattern, scheduler: Machine, seed: int
) -> tuple[Phases, Phases]:
    """(phases with routes, the same with the timetable of AS).

    Transfers are in the order in which AS starts them.

    Args:
        found: phases and routes.
        pattern: what is sent.
        scheduler: what AS knows of the machine: a crossbar has processors only, as the text's; with
            links a transfer keeps others from them. One line for both ways where its nodes are
            half-duplex.
        seed: of ties.
    """
    unlisted = assemble(found)
    known = (
        unlisted
        if scheduler.topology.kind != "crossbar"
        else Phases(unlisted.offsets, unlisted.message)
    )
    table = time_as(
        Problem(pattern, scheduler, Limits(), None, search=SearchOptions(seed=seed)),
        known,
        method="connections",
    )
    rank = np.empty(pattern.messages, np.int32)
    rank[unlisted.message[np.argsort(table[:, 0], kind="stable")]] = np.arange(
        pattern.messages, dtype=np.int32
    )
    listed = assemble(replace(found, order=rank))
    times = np.empty_like(table)
    times[unlisted.message] = table
    return listed, replace(
        known, offsets=listed.offsets, message=listed.message, timetable=times[listed.message]
    )


def scheduled(
    pattern: Pattern, on: Machine, phases: Phases, placement: Ints32 | None = None
) -> Schedule:
    """Phases as a schedule of connections."""
    return Schedule(
        pattern,
        on,
        "connections",
        Limits(channels=CHANNELS),
        phases.offsets,
        phases.message,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        timetable=phases.timetable,
        sync="barrier",
        placement=placement,
    )
