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
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conset import _core
from conset.base import (
    MAX_SIZE_B,
    ConsetError,
    InputError,
    NoScheduleError,
    is_file,
    parse_size,
    parse_toml,
    require_file,
)
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_placed, placement_of
from conset.compilation.programs.share import number_contexts, share, turns
from conset.machine import Machine
from conset.pattern import Pattern, input_path, parse_pattern
from conset.schedule import MAX_REPEAT, Manifest, Program, Schedule, Stage

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
        ranks=machine.topology.endpoints * options.ranks_per_node,
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
    placement = placement_of(together(specs), machine, options)
    known: dict[object, int] = {}
    schedules: list[Schedule] = []
    blocks: list[Stage] = []
    for k, block in enumerate(specs, 1):
        own = replace(block.options, sync="barrier", placement="identity")
        index = known.setdefault((_fingerprint(block.pattern), own), len(schedules))
        if index == len(schedules):
            try:
                schedules.append(compile_placed(block.pattern, machine, own, placement, manifest))
            except (InputError, NoScheduleError) as error:
                raise type(error)(
                    f"block {k} '{block.name}': {error}", options=error.options
                ) from None
        turned = turns(schedules[index]) and block.repeat > 1 and schedules[index].phases > 1
        blocks.append(Stage(block.name, block.repeat, index, turned))
    stopped = _core.stop_asked() or any(
        s.report is not None and s.report.stopped_early for s in schedules
    )
    ordered, contexts = share(blocks, schedules)
    return Program(
        machine,
        tuple(blocks),
        number_contexts(ordered, contexts),
        contexts,
        None,
        "barrier",
        manifest,
        stopped,
    )


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
