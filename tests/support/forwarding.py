"""Programs that forward, drawn at random: small ones to replay byte by byte, and their mutants."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from conset.base.errors import ConsetError
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.schedule.document import BundlesDocument, ProgramDocument
from conset.schedule.files.compiled import document_of
from conset.schedule.paths import Paths
from conset.schedule.program import Program
from conset.schedule.schedule import Manifest
from conset.verification.program import true_program_figures
from support.make_mutants import Mutant, Rng, mutate_schedule, near
from support.slow_verifier import bundle_rows

MACHINES = ("mesh:2x3", "crossbar:5", "ring:6", "hypercube:3")
Rows = list[list[Any]]


def paths_of(ranks: int, rng: Rng) -> Paths:
    """Up to 14 small messages over 1 to 4 stages, half of the time in parts."""
    count, stages = int(rng.integers(1, 15)), int(rng.integers(1, 5))
    source = rng.integers(0, ranks, count)
    target = (source + rng.integers(1, ranks, count)) % ranks
    pattern = Pattern.from_messages(
        source, target, rng.integers(1, 25, count), ranks, name="random"
    )
    message, first, size = (
        np.arange(pattern.messages),
        np.zeros(pattern.messages, np.int64),
        np.array(pattern.size),
    )
    parted = bool(rng.integers(2))
    if parted:
        cut = np.where(size > 1, rng.integers(1, np.maximum(size, 2)), 0)
        again = np.flatnonzero(cut)
        message = np.concatenate((message, message[again]))
        first = np.concatenate((first, cut[again]))
        size = np.concatenate((np.where(cut, cut, size), (size - cut)[again]))
        order = np.lexsort((first, message))
        message, first, size = message[order].astype(np.int32), first[order], size[order]
    positions = np.empty((message.size, stages + 1), np.int32)
    positions[:, 0], positions[:, -1] = pattern.source[message], pattern.target[message]
    for j in range(1, stages):
        anywhere = rng.integers(0, ranks, message.size)
        choice = np.stack((positions[:, j - 1], positions[:, -1], anywhere, anywhere))
        positions[:, j] = choice[rng.integers(0, 4, message.size), np.arange(message.size)]
    return Paths(pattern, positions, message, first, size) if parted else Paths(pattern, positions)


def program_of(paths: Paths, machine: Machine, method: str = "first-fit") -> Program:
    options = CompileOptions(method)
    schedules = [
        compile_pattern(paths.bundles(j).pattern, machine, options) for j in range(paths.stages)
    ]
    return Program.of_schedules(paths, schedules, "local", Manifest("test"))


def forwarding(rng: Rng) -> Iterator[tuple[ProgramDocument, Machine]]:
    """Documents of programs that forward, without end."""
    while True:
        machine = parse_machine(str(rng.choice(MACHINES)))
        program = program_of(paths_of(machine.topology.endpoints, rng), machine)
        limit = (
            program.figures()["staging_bytes"] + int(rng.integers(3))
            if rng.integers(3) == 0
            else None
        )
        yield document_of(replace(program, staging_limit_B=limit)), machine


def bundles_of_rows(rows: Rows) -> BundlesDocument:
    heads = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3)
    parts = np.array([part for row in rows for part in row[3]], np.int64).reshape(-1, 3)
    offsets = np.cumsum([0, *(len(row[3]) for row in rows)])
    return BundlesDocument(*heads.T, offsets, *parts.T)


def with_rows(p: ProgramDocument, rows: list[Rows]) -> ProgramDocument:
    stages = (
        replace(stage, bundles=bundles_of_rows(own))
        for stage, own in zip(p.stages, rows, strict=True)
    )
    return replace(p, stages=tuple(stages))


def rows_of(p: ProgramDocument) -> list[Rows]:
    return [bundle_rows(stage.bundles) for stage in p.stages]


def agreed(
    p: ProgramDocument, machine: Machine, rng: Rng, *, stated: bool = False
) -> ProgramDocument:
    """Bytes, schedules and contexts made again from the parts, so that no more than the parts is
    wrong.

    `stated`: the bytes of the bundles are as they are stated.
    """
    rows = []
    for own in rows_of(p):
        parts, sums = defaultdict(list), Counter[tuple[int, int]]()
        for source, target, size, held in own:
            parts[source, target] += held
            sums[source, target] += (
                size if stated else sum(last - first + 1 for _, first, last in held)
            )
        rows.append(
            [
                [*pair, sums[pair], parts[pair]]
                for pair in sorted(parts)
                if parts[pair] and pair[0] != pair[1]
            ]
        )
    ranks = p.schedules[0].ranks
    options = CompileOptions(str(rng.choice(["first-fit", "coloring"])))
    schedules = []
    for own in rows:
        source, target, size = np.array([row[:3] for row in own], np.int64).reshape(-1, 3).T
        pattern = Pattern.from_messages(source, target, size, ranks)
        schedules.append(document_of(compile_pattern(pattern, machine, options)))
    number = iter(range(10**6))
    contexts = tuple(tuple(next(number) for _ in range(d.phases)) for d in schedules)
    stages = tuple(replace(stage, schedule=k) for k, stage in enumerate(p.stages))
    return with_rows(replace(p, schedules=tuple(schedules), contexts=contexts, stages=stages), rows)


def rerouted(p: ProgramDocument, rng: Rng) -> list[Rows]:
    """The rows with one part at another rank between two stages, the bundles of both changed."""
    rows = rows_of(p)
    if len(rows) < 2:
        return rows
    j = int(rng.integers(len(rows) - 1))
    moving = [(row, part) for row in rows[j] for part in row[3]]
    if not moving:
        return rows
    row, part = moving[rng.integers(len(moving))]
    here, there, other = row[0], row[1], int(rng.integers(p.schedules[0].ranks))
    row[3].remove(part)
    rows[j].append([here, other, 0, [part]])
    onward = next((own for own in rows[j + 1] if part in own[3]), None)
    if onward is not None:
        onward[3].remove(part)
    rows[j + 1].append([other, there if onward is None else onward[1], 0, [list(part)]])
    return rows


def changed_rows(p: ProgramDocument, rng: Rng) -> tuple[str, list[Rows]]:
    """One change of bundles: (what was changed, the bundles of all stages)."""
    rows = rows_of(p)
    full = [own for own in rows if own]
    own = full[rng.integers(len(full))]
    ranks, row = p.schedules[0].ranks, own[rng.integers(len(own))]
    part, kind = row[3][rng.integers(len(row[3]))], int(rng.integers(8))
    if kind == 0:
        row[rng.integers(2)] = int(rng.integers(ranks))
        return "a bundle's end", rows
    if kind == 1:
        row[3].remove(part)
        own[rng.integers(len(own))][3].append(part)
        return "part in another bundle", rows
    if kind == 2:
        part[1 + rng.integers(2)] += int(rng.choice([-1, 1]))
        return "a part's range", rows
    if kind == 3:
        again = full[rng.integers(len(full))]
        again[rng.integers(len(again))][3].append(list(part))
        return "part doubled", rows
    if kind == 4:
        row[3].remove(part)
        return "part dropped", rows
    if kind == 5:
        own.remove(row)
        return "bundle dropped", rows
    if kind == 6:
        part[rng.integers(3)] = near(part[0], [each[0] for each in row[3]], rng)
        return "a part's number", rows
    row[2] = near(row[2], [each[2] for each in own], rng)
    return "a bundle's bytes", rows


def changed_messages(p: ProgramDocument, rng: Rng) -> tuple[str, ProgramDocument]:
    messages = p.messages
    assert messages is not None
    if rng.integers(6) == 0:
        return "ranks", replace(
            p, messages=replace(messages, ranks=messages.ranks + int(rng.choice([-1, 1])))
        )
    name = str(rng.choice(["source", "target", "size"]))
    values = np.array(getattr(messages, name), np.int64)
    k = rng.integers(values.size)
    values[k] = near(int(values[k]), values, rng)
    return f"a message's {name}", replace(p, messages=replace(messages, **{name: values}))


def changed_stages(p: ProgramDocument, rng: Rng) -> tuple[str, ProgramDocument]:
    k = int(rng.integers(len(p.stages)))
    stage = p.stages[k]
    kind = rng.integers(5)
    if kind == 0:
        order = rng.permutation(len(p.stages))
        return "stages in another order", replace(p, stages=tuple(p.stages[i] for i in order))
    if kind == 1:
        rows = rows_of(p)
        other = int(rng.integers(len(rows)))
        rows[k], rows[other] = rows[other], rows[k]
        return "bundles of stages exchanged", with_rows(p, rows)
    changes: dict[str, Any] = [{"repeat": 2}, {"turns": True}, {"bundles": None}][kind - 2]
    return "a stage", replace(
        p, stages=(*p.stages[:k], replace(stage, **changes), *p.stages[k + 1 :])
    )


def mutate_forwarding(
    p: ProgramDocument, machine: Machine, rng: Rng
) -> tuple[str, ProgramDocument]:
    """(what was changed, the rest as it was or as it follows)."""
    kind = rng.integers(12)
    if kind < 2:
        what, other = "an inner position", agreed(with_rows(p, rerouted(p, rng)), machine, rng)
        if rng.integers(3) == 0:
            what, other = (
                f"{what}, schedules as before",
                replace(other, schedules=p.schedules, contexts=p.contexts),
            )
        return what, refigured(other)
    if kind < 7:
        what, rows = changed_rows(p, rng)
        changed = with_rows(p, rows)
    elif kind == 7:
        what, changed = changed_messages(p, rng)
    elif kind == 8:
        what, changed = changed_stages(p, rng)
    elif kind == 9:
        name = str(rng.choice(list(p.figures)))
        return "figures", replace(p, figures={**p.figures, name: near(p.figures[name], [], rng)})
    elif kind == 10:
        staging = int(p.figures["staging_bytes"])
        return "limit", replace(p, staging_limit_B=staging - int(rng.integers(-1, 3)))
    else:
        k = int(rng.integers(len(p.schedules)))
        packed = p.schedules[k].packed
        if packed is not None and rng.integers(2):
            other = (
                packed[:-1]
                if rng.integers(2)
                else np.append(packed, near(int(packed[-1]), packed, rng))
            )
            schedule = replace(p.schedules[k], packed=other)
            return "packed", replace(
                p, schedules=(*p.schedules[:k], schedule, *p.schedules[k + 1 :])
            )
        what, schedule = mutate_schedule(p.schedules[k], rng)
        return f"schedule: {what}", replace(
            p, schedules=(*p.schedules[:k], schedule, *p.schedules[k + 1 :])
        )
    if rng.integers(3) and what != "a stage":
        with suppress(ConsetError, OverflowError, MemoryError):
            return f"{what}, all else agreed", refigured(
                agreed(changed, machine, rng, stated=what == "a bundle's bytes")
            )
    return what, changed


def refigured(p: ProgramDocument) -> ProgramDocument:
    """With the figures that it would have, so far as they can be told."""
    with suppress(AssertionError, IndexError, OverflowError, TypeError, ValueError):
        return replace(p, figures=true_program_figures(p))
    return p


def forwarding_mutants(count: int, seed: int, each: int = 20) -> Iterator[Mutant]:
    """`each` of every base."""
    rng = np.random.default_rng([seed, 4])
    made, bases = 0, forwarding(rng)
    while made < count:
        base, machine = next(bases)
        for _ in range(min(each, count - made)):
            yield Mutant(*mutate_forwarding(base, machine, rng), machine)
            made += 1
