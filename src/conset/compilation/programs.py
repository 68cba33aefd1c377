"""Compile a program: every block by its method on one placement, then phases put into contexts.

And predict its time.

    T = Σ over blocks of repeat · (work of the phases under barriers) + (switches + 1) · set-up +
    switches · S

where S is a synchronization of all ranks: a switch swaps what is open everywhere at once (Principle
2.3 of the ConSet text). Entering the first context is charged a set-up, and S where the machine
charges the first barrier.

Program files in TOML.

`[[block]]` tables, one for each building block, in the order in which they run.

[[block]]
name = "transpose"               # optional
pattern = "alltoall:size=4KiB"   # a spec or a file, as on the command line; files beside the
                                 program
repeat = 10                      # optional, 1
method = "coloring"              # optional: method, contention, channels, limits, router, phases,
                                 objective, timetable, # min_bandwidth, max_latency, effort and seed
                                 of the compile, as on the command line; # files beside the program

Share: phases of blocks that follow one another put into one context.

So that no switch is due between them.

Problem: a program executes phases in an order that is free in places; a switch is due between
phases of different contexts; put phases into contexts, under the limits, and order them at each
use, so that few switches are due.
Idea: a block that is repeated turns round: it runs its phases forth and back, so that the phase it
ends with is the one it begins with again. With given contexts the fewest switches follow from use
to use, by the context that each ends with (`ways`): equal blocks may run their phases in different
orders. Two contexts become one where all their connections may be open together and that saves a
switch: between blocks, between the last and the first phase of a repetition, and inside a block.
What is switched most often is looked at first, of several pairs the one with the fewest
connections in all.
Afterwards channels are numbered anew: schedules number them phase by phase; phases that are open
together need numbers that differ between connections, while a connection that several phases share
has one number at a node in all of them.
Invariant: all connections of a context together keep the strictest limits of all schedules.
Complexity: at most 16 × 16 pairs for each pair of schedules that follow one another, O(connections
· hops + phases of all uses) each.
When it does nothing: blocks whose pattern has an order keep their phases' order and never turn.
Exact: the orders, for given contexts. Not optimal: contexts, which are put together one by one; of
1,455 random programs of up to 7 phases on 4 ranks, 2 could do with one switch less.
Reference: Feldmann, Stricker, Warfel, ConSet, section 2: building blocks, phases, and `instantiate
phase`.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, pairwise, product
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from conset import _core
from conset.base import (
    MAX_SIZE_B,
    ConsetError,
    InputError,
    NoScheduleError,
    format_time,
    is_file,
    parse_size,
    parse_toml,
    require_file,
)
from conset.compilation.auto import best_trial, candidates
from conset.compilation.options import AUTO, CompileOptions
from conset.compilation.pipeline import compile_placed, placement_of
from conset.compilation.trial import Trial
from conset.machine import Machine
from conset.pattern import Pattern, input_path, parse_pattern
from conset.schedule import (
    MAX_REPEAT,
    Connections,
    Manifest,
    Program,
    Schedule,
    Stage,
    circuits_of,
)

TRIED = 16
"""Phases of a schedule, the lightest ones, that may come first or last."""


def turns(schedule: Schedule) -> bool:
    """Whether the phases of a schedule may also run backwards."""
    return schedule.pattern.before is None


def share(
    blocks: Sequence[Stage], schedules: Sequence[Schedule]
) -> tuple[tuple[Stage, ...], tuple[Schedule, ...], tuple[tuple[int, ...], ...]]:
    """(blocks, a schedule for each order of phases that they use, the context of each phase)."""
    sharing = _Sharing(blocks, schedules)
    while sharing.join():
        pass
    ends = iter(sharing.ways(sharing.contexts)[1])
    made: dict[tuple[int, tuple[int, ...]], int] = {}
    placed = []
    for block in blocks:
        k = block.schedule
        order = tuple(sharing.order(k, *next(ends)) if schedules[k].phases else ())
        placed.append(replace(block, schedule=made.setdefault((k, order), len(made))))
    numbers: dict[int, int] = {}
    contexts = tuple(
        tuple(numbers.setdefault(sharing.contexts[k][p], len(numbers)) for p in order)
        for k, order in made
    )
    return tuple(placed), tuple(reorder(schedules[k], order) for k, order in made), contexts


class _Sharing:
    """Contexts while they grow: the number of that of each phase, and what each holds."""

    def __init__(self, blocks: Sequence[Stage], schedules: Sequence[Schedule]) -> None:
        connections, numbers = Connections(schedules), count()
        self._schedules, self._fit = schedules, cache(connections.fit)
        self._uses = [block for block in blocks if schedules[block.schedule].phases]
        self.contexts = [[next(numbers) for _ in range(each.phases)] for each in schedules]
        phases = ((k, p) for k, each in enumerate(schedules) for p in range(each.phases))
        self._holds = dict(enumerate(connections.of(*phase) for phase in phases))

    def join(self) -> bool:
        """Puts contexts into one where that saves a switch; whether any does."""
        least, ends = self.ways(self.contexts)
        missed = Counter(
            (one.schedule, other.schedule)
            for (one, (_, last)), (other, (first, _)) in pairwise(
                zip(self._uses, ends, strict=True)
            )
            if last != first
        )
        missed.update({(use.schedule, use.schedule): use.repeat for use in self._uses})
        joined = False
        for pair, _ in missed.most_common():
            for first, second in self._pairs(*pair):
                together = self._holds[first] | self._holds[second]
                contexts = [[first if c == second else c for c in row] for row in self.contexts]
                if self._fit(together) and (switches := self.ways(contexts)[0]) < least:
                    least, self.contexts, self._holds[first] = switches, contexts, together
                    joined = True
                    break
        return joined

    def ways(self, contexts: Sequence[Sequence[int]]) -> tuple[int, list[tuple[int, int]]]:
        """(switches, the first and the last context of every use), the fewest with these contexts.

        A use that keeps no order runs the phases of a context one after the other. One that turns
        an even number of times ends where it began, any other one elsewhere.
        """
        before: dict[int, tuple[float, Any]] = {-1: (-1, None)}
        for use in self._uses:
            every = contexts[use.schedule]
            least, path = min(before.values(), key=itemgetter(0))
            near = {at: before.get(at, (inf, None)) for at in every}
            ways = {
                at: (*(found if found[0] == least else (least + 1, path)), at)
                for at, found in near.items()
            }
            inner = use.repeat * (len(ways) - 1)
            if not turns(self._schedules[use.schedule]):
                inner = use.repeat * sum(one != other for one, other in pairwise(every))
                inner += (use.repeat - 1) * (every[-1] != every[0])
                ways = {every[-1]: ways[every[0]]}
            elif use.repeat % 2 and len(ways) > 1:
                best = sorted(ways.values(), key=itemgetter(0))
                ways = {at: best[best[0][2] == at] for at in reversed(ways)}
            before = {at: (way[0] + inner, (way[1], (way[2], at))) for at, way in ways.items()}
        switches, path = min(before.values(), key=itemgetter(0))
        ends: list[tuple[int, int]] = []
        while path is not None:
            path, last = path
            ends.append(last)
        return int(switches), ends[::-1]

    def order(self, schedule: int, first: int, last: int) -> list[int]:
        """The phases, those of the first context first and those of the last one last."""
        every = self.contexts[schedule]
        key = [((at == last) - 2 * (at == first), every.index(at)) for at in every]
        return sorted(
            range(len(every)), key=key.__getitem__ if turns(self._schedules[schedule]) else int
        )

    def _pairs(self, one: int, other: int) -> list[tuple[int, int]]:
        """Contexts that may be one: one to end a schedule with, one to begin the other with.

        Those with the fewest connections together are first.
        """
        ends = []
        for k, end in ((one, -1), (other, 0)):
            plan = self._schedules[k]
            lightest = np.argsort(np.diff(plan.phase_offsets), kind="stable")[:TRIED].tolist()
            phases = lightest if turns(plan) or one == other else [end]
            ends.append([self.contexts[k][p] for p in phases])
        held = self._holds
        return sorted(
            {(p, q) for p, q in product(*ends) if p != q},
            key=lambda at: (len(held[at[0]] | held[at[1]]), -len(held[at[0]] & held[at[1]]), at),
        )


def reorder(schedule: Schedule, order: Sequence[int]) -> Schedule:
    """The same phases in another order."""
    if list(order) == list(range(schedule.phases)):
        return schedule
    length = np.diff(schedule.phase_offsets)[list(order)]
    transfers = np.concatenate(
        [np.arange(*schedule.phase(p).indices(schedule.transfers)) for p in order]
    )
    made = schedule.rearranged(transfers, np.concatenate([[0], np.cumsum(length)]))
    if not made.machine.is_circuit:
        return made
    times, _ = circuits_of(made)
    return replace(made, timetable=np.column_stack([times.begin, times.end]))


def number_contexts(
    schedules: Sequence[Schedule], contexts: Sequence[Sequence[int]]
) -> tuple[Schedule, ...]:
    """The schedules with channels numbered anew in every context that several phases share."""
    members = Counter(context for phases in contexts for context in phases)
    known: dict[tuple[int, bytes, int], list[int]] = {}
    used: dict[tuple[int, int], int] = defaultdict(int)
    return tuple(
        _numbered(schedule, phases, members, known, used)
        for schedule, phases in zip(schedules, contexts, strict=True)
    )


def _numbered(
    schedule: Schedule,
    contexts: Sequence[int],
    members: Counter[int],
    known: dict[tuple[int, bytes, int], list[int]],
    used: dict[tuple[int, int], int],
) -> Schedule:
    offsets, nodes = schedule.route_offsets, schedule.route_nodes
    if schedule.channels is None or offsets is None or nodes is None:
        return schedule
    channels = np.array(schedule.channels)
    for p, context in enumerate(contexts):
        if members[context] == 1:
            continue
        at = schedule.phase(p)
        same: Counter[bytes] = Counter()
        for k in range(at.start, at.stop):
            route = nodes[offsets[k] : offsets[k + 1]]
            if route.size < 2:
                continue
            way = route.tobytes()
            if schedule.route_links is not None:
                way += schedule.route_links[offsets[k] : offsets[k + 1]].tobytes()
            key = (context, way, same[way])
            same[way] += 1
            if key not in known:
                known[key] = [used[context, node] for node in route.tolist()]
                for node in route.tolist():
                    used[context, node] += 1
            channels[offsets[k] : offsets[k + 1]] = known[key]
    return replace(schedule, channels=channels)


READING: dict[str, type] = {"parts": int, "rows_to": int, "word": str}
COMPILING: dict[str, type] = {
    "method": str,
    "contention": int,
    "channels": int,
    "limits": str,
    "router": str,
    "phases": int,
    "objective": str,
    "timetable": str,
    "min_bandwidth": str,
    "max_latency": str,
    "effort": int,
    "seed": int,
}
FILES = ("min_bandwidth", "max_latency")
"""Keys that may name a file."""
KEYS: dict[str, type] = {"name": str, "pattern": str, "repeat": int, **READING, **COMPILING}


@dataclass(frozen=True, eq=False)
class BlockSpec:
    """A block as asked for.

    Attributes:
        name: for people.
        pattern: what is sent.
        repeat: how often.
        options: how it is compiled.
    """

    name: str
    pattern: Pattern
    repeat: int
    options: CompileOptions


def read_program(path: str | Path, machine: Machine, options: CompileOptions) -> list[BlockSpec]:
    """The blocks of a program file; what a block does not say is as in `options`.

    Raises:
        InputError: no TOML, no block, a misspelt key, a value of another type, a pattern that
            cannot be read, or ranks that differ from block to block; names the file and the block.
    """
    path = require_file(path)
    data, _ = parse_toml(path.read_bytes(), str(path), "program")
    tables = data.get("block")
    if (
        set(data) != {"block"}
        or not isinstance(tables, list)
        or not all(isinstance(t, dict) for t in tables)
    ):
        raise InputError(
            f"{path}: one or more [[block]] tables and nothing else required, given "
            f"{', '.join(data)}"
        )
    blocks = [
        _block(f"{path}: block {k}", table, path.parent, machine, options)
        for k, table in enumerate(tables, 1)
    ]
    for k, block in enumerate(blocks, 1):
        if block.pattern.ranks != blocks[0].pattern.ranks:
            first = f"block 1 '{blocks[0].name}' has {blocks[0].pattern.ranks}"
            raise InputError(
                f"{path}: block {k} '{block.name}' has {block.pattern.ranks} ranks, {first}"
            )
    return blocks


def _block(
    where: str, table: Mapping[str, Any], folder: Path, machine: Machine, options: CompileOptions
) -> BlockSpec:
    for key, value in table.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(KEYS)}"
            raise InputError(f"{where}: unknown key '{key}': {hint}")
        if type(value) is not KEYS[key]:
            given = {int: "a whole number", str: "text"}
            raise InputError(f"{where}: {key} = {value!r}: must be {given[KEYS[key]]}")
    if "pattern" not in table:
        raise InputError(f"{where}: key 'pattern' is missing")
    repeat = table.get("repeat", 1)
    if not 1 <= repeat <= MAX_REPEAT:
        rule = "must be at least 1" if repeat < 1 else f"must be at most {MAX_REPEAT}"
        raise InputError(f"{where}: repeat = {repeat}: {rule}")
    try:
        asked: dict[str, Any] = {key: table[key] for key in COMPILING if key in table}
        for key in FILES:  # which are beside the program
            if key in asked and Path(asked[key]).suffix.lower() == ".csv":
                asked[key] = str(folder / asked[key])
        own = replace(options, **asked)
        pattern = _pattern(table, folder, machine, own)
    except ConsetError as error:
        raise InputError(f"{where}: {error}", options=error.options) from None
    return BlockSpec(table.get("name", pattern.name), pattern, repeat, own)


def _pattern(
    table: Mapping[str, Any], folder: Path, machine: Machine, options: CompileOptions
) -> Pattern:
    given = table["pattern"]
    if is_file(folder / given) or input_path(given) is not None:
        given = str(folder / given)
    return parse_pattern(
        given,
        topology=machine.topology,
        ranks=machine.ranks(options.ranks_per_node),
        seed=options.seed,
        parts=table.get("parts"),
        rows_to=table.get("rows_to"),
        word=parse_size(table.get("word", "8"), "word"),
    )


def compile_program(
    specs: Sequence[BlockSpec],
    machine: Machine,
    options: CompileOptions,
    *,
    manifest: Manifest | None = None,
) -> Program:
    """A program of blocks; equal blocks have one schedule.

    Args:
        specs: what each block sends, how often, and how it is compiled.
        machine: what it is for.
        options: of the whole: its placement holds for all blocks and is found for what they send
            together.
        manifest: how it is made.

    Raises:
        UsageError, InputError, NoScheduleError: as `compile_pattern`, with the block; and a program
            without blocks.
    """
    if not specs:
        raise InputError("a program needs a block, given none")
    manifest = manifest or Manifest(seed=options.seed)
    sync = "none" if machine.is_circuit else "barrier"
    placement = placement_of(together(specs), machine, options)
    asked = [replace(block.options, sync=sync, placement="identity") for block in specs]
    free = [k for k, own in enumerate(asked) if own.chosen_method == AUTO]

    @cache
    def compile_block(k: int, method: str) -> Schedule:
        own = asked[k] if method == AUTO else replace(asked[k], method=method, rank_by=None)
        return compile_placed(specs[k].pattern, machine, own, placement, manifest)

    def compile_all(method: str) -> Program:
        known: dict[object, int] = {}
        schedules: list[Schedule] = []
        blocks: list[Stage] = []
        for k, block in enumerate(specs):
            index = known.setdefault((_fingerprint(block.pattern), asked[k]), len(schedules))
            if index == len(schedules):
                try:
                    schedules.append(compile_block(k, method if k in free else asked[k].method))
                except (InputError, NoScheduleError) as error:
                    raise type(error)(
                        f"block {k + 1} '{block.name}': {error}", options=error.options
                    ) from None
            turned = turns(schedules[index]) and block.repeat > 1 and schedules[index].phases > 1
            blocks.append(Stage(block.name, block.repeat, index, turned))
        stopped = _core.stop_asked() or any(
            s.report is not None and s.report.stopped_early for s in schedules
        )
        placed, ordered, contexts = share(blocks, schedules)
        numbered = number_contexts(ordered, contexts)
        return Program(machine, placed, numbered, contexts, None, sync, manifest, stopped)

    apart = compile_all(AUTO)
    able = [set(candidates(specs[k].pattern, machine, asked[k].effort)) for k in free]
    methods = [
        method
        for method in sorted(set.intersection(*able) if able else ())
        if machine.switches_contexts(method) and machine.hard_limits(method).channels is not None
    ]
    if not methods or not apart.switches or apart.stopped_early:
        return apart
    return _choose(apart, methods, compile_all, asked[free[0]])


def _choose(
    apart: Program,
    methods: Sequence[str],
    compile_all: Callable[[str], Program],
    options: CompileOptions,
) -> Program:
    """The program, or one whose blocks without a method all have one of `methods`, if faster.

    Blocks whose methods are chosen one by one need not share connections. Whole programs are
    compared by the model that ranks; what none simulates with fewer repetitions of all blocks.
    """
    tried: list[tuple[Trial, str, Program]] = []
    fewer = -(-apart.figures()["messages"] // (_core.MOST_SIMULATED * options.effort))
    for method in (AUTO, *methods):
        with suppress(InputError, NoScheduleError, KeyboardInterrupt):
            program = apart if method == AUTO else compile_all(method)
            stages = tuple(replace(s, repeat=-(-s.repeat // fewer)) for s in program.stages)
            trial = best_trial(
                replace(program, stages=stages).whole,
                program.sync,
                rank_by=options.rank_by,
                effort=options.effort,
            )
            tried.append((trial, method, program))
    tried.sort(key=lambda each: each[0].time_s)
    times = (
        f"{'the best method of each block' if method == AUTO else f'{method} for all blocks'} "
        f"{format_time(trial.time_s)} by {trial.rank_by}"
        for trial, method, _ in tried
    )
    chosen, stopped = (tried[0][2] if tried else apart), _core.stop_asked()
    return replace(chosen, reason=", ".join(times), stopped_early=stopped)


def together(specs: Sequence[BlockSpec]) -> Pattern:
    """What all blocks send, every repetition counted: where ranks are best placed."""
    if len(specs) == 1:
        return specs[0].pattern
    total = sum(block.pattern.bytes * block.repeat for block in specs)
    if total > MAX_SIZE_B:
        raise InputError(f"all blocks together send {total} B, at most {MAX_SIZE_B} B")
    columns = [
        (block.pattern.source, block.pattern.target, block.pattern.size * block.repeat)
        for block in specs
    ]
    source, target, size = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Pattern.from_messages(
        source, target, size, specs[0].pattern.ranks, name="all blocks together"
    )


def _fingerprint(pattern: Pattern) -> tuple[object, ...]:
    """What two patterns that are the same agree in."""
    stated = (None if each is None else each.tobytes() for each in (pattern.before, pattern.packed))
    return (
        pattern.ranks,
        pattern.offsets.tobytes(),
        pattern.target.tobytes(),
        pattern.size.tobytes(),
        *stated,
    )
