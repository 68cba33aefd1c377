"""Program files in TOML.

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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conset.base import ConsetError, InputError, is_file, parse_size, parse_toml, require_file
from conset.compilation.options import CompileOptions
from conset.machine import Machine
from conset.pattern import Pattern, input_path, parse_pattern
from conset.schedule import MAX_REPEAT

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
