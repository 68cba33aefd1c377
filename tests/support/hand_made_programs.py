"""Programs that forward, made without a compiler.

Any paths, bundles in any phases, whole or in parts.
"""

from __future__ import annotations

import numpy as np

from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths
from conset.schedule.program import Program
from conset.schedule.schedule import Manifest, Schedule


def crossbar(ranks: int) -> Machine:
    topology = Topology.crossbar(ranks)
    return Machine(f"crossbar:{ranks}", topology, Routing.default(topology))


def in_one_phase(pattern: Pattern) -> Schedule:
    """Everything at once, by index."""
    offsets = np.array([0, pattern.messages] if pattern.messages else [0])
    return Schedule(
        pattern, crossbar(pattern.ranks), "hand", Limits(), offsets, np.arange(pattern.messages)
    )


def in_random_phases(pattern: Pattern, rng: np.random.Generator, *, split: bool) -> Schedule:
    """Messages in up to three phases in any order, some of them cut into parts."""
    rows = []
    for m, size in enumerate(pattern.size.tolist()):
        cuts = rng.integers(1, size, 2) if split and size > 1 and rng.random() < 0.5 else []
        edges = np.unique([0, *cuts, size])
        rows += [(int(rng.integers(3)), rng.random(), m, int(part)) for part in np.diff(edges)]
    rows.sort()
    used = sorted({row[0] for row in rows})
    phase = np.searchsorted(used, [row[0] for row in rows])
    offsets = np.searchsorted(phase, np.arange(len(used) + 1))
    message, parts = [row[2] for row in rows], [row[3] for row in rows]
    machine = crossbar(pattern.ranks)
    return Schedule(pattern, machine, "hand", Limits(), offsets, message, parts if split else None)


def forwarding(
    paths: Paths, rng: np.random.Generator | None = None, *, split: bool = False
) -> Program:
    """The program of these paths; every stage in one phase, or in random ones."""
    stages = [paths.bundles(stage).pattern for stage in range(paths.stages)]
    schedules = [
        in_one_phase(each) if rng is None else in_random_phases(each, rng, split=split)
        for each in stages
    ]
    return Program.of_schedules(paths, schedules, "none", Manifest())


def random_pattern(
    ranks: int, rng: np.random.Generator, *, largest: int = 40, share: float = 0.6
) -> Pattern:
    """Messages of up to `largest` bytes between some of the pairs."""
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    size = rng.integers(1, largest + 1, ranks * ranks) * (rng.random(ranks * ranks) < share)
    return Pattern.from_messages(source, target, size, ranks)


def random_paths(
    pattern: Pattern, stages: int, rng: np.random.Generator, *, cut: bool = False
) -> Paths:
    """Every message, or every part of one, by any ranks at all.

    Also through its own ends, also to and fro.
    """
    message = np.arange(pattern.messages)
    if not cut:
        return Paths(pattern, _positions(pattern, message, stages, rng))
    pieces = np.minimum(rng.integers(1, 4, pattern.messages), pattern.size)
    message = np.repeat(message, pieces)
    first = np.concatenate(
        [
            np.r_[0, np.sort(rng.choice(np.arange(1, s), p - 1, replace=False))]
            for s, p in zip(pattern.size, pieces, strict=True)
        ]
        or [np.zeros(0, np.int64)]
    ).astype(np.int64)
    last = np.r_[message[1:] != message[:-1], True][: message.size]
    ends = np.where(last, pattern.size[message], np.r_[first[1:], 0][: first.size])
    order = rng.permutation(message.size)
    message, first, size = message[order], first[order], (ends - first)[order]
    return Paths(
        pattern, _positions(pattern, message, stages, rng), message.astype(np.int32), first, size
    )


def _positions(
    pattern: Pattern, message: np.ndarray, stages: int, rng: np.random.Generator
) -> np.ndarray:
    at = rng.integers(0, pattern.ranks, (message.size, stages + 1))
    stays = rng.random(at.shape) < 0.3
    at[:, 0] = pattern.source[message]
    for stage in range(1, stages):
        at[stays[:, stage], stage] = at[stays[:, stage], stage - 1]
    at[:, -1] = pattern.target[message]
    return at.astype(np.int32)


def box(pattern: Pattern, sides: tuple[int, ...]) -> Paths:
    """Dimension after dimension of a box of ranks, as store-and-forward on a virtual grid does."""
    columns, here = [pattern.source], np.array(np.unravel_index(pattern.source, sides))
    there = np.array(np.unravel_index(pattern.target, sides))
    for side in range(len(sides)):
        here[side] = there[side]
        columns.append(np.ravel_multi_index(tuple(here), sides))
    return Paths(pattern, np.column_stack(columns).astype(np.int32))
