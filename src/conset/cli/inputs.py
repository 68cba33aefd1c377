"""From words to nouns: what every command that takes a pattern and a machine does first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.schedule.manifest import Manifest, sha256_of
from conset.units import parse_size

if TYPE_CHECKING:
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern


def read_inputs(
    pattern: str,
    on: str,
    *,
    ranks_per_node: int = 1,
    seed: int = 0,
    parts: int | None = None,
    rows_to: int | None = None,
    word: str = "8",
) -> tuple[Pattern, Machine]:
    """The pattern and the machine that the words name; a spec without `ranks=` takes the machine's."""
    from conset.errors import UsageError
    from conset.machine.spec import parse_machine
    from conset.pattern.spec import parse_pattern

    if ranks_per_node < 1:
        raise UsageError(f"ranks_per_node {ranks_per_node}: must be at least 1", options=["ranks_per_node"])
    machine = parse_machine(on)
    ranks = machine.topology.endpoints * ranks_per_node
    word_bytes = parse_size(word, "--word")
    traffic = parse_pattern(
        pattern, topology=machine.topology, ranks=ranks, seed=seed, parts=parts, rows_to=rows_to, word=word_bytes
    )
    return traffic, machine


def reading_options(parts: int | None, rows_to: int | None, word: str) -> dict[str, Any]:
    """How a pattern is read, as a manifest lists it; defaults are None."""
    return {"parts": parts, "rows_to": rows_to, "word": None if word == "8" else word}


def manifest_of(command: str, pattern: str, on: str, seed: int, options: Mapping[str, Any]) -> Manifest:
    """The manifest of a command on a pattern and a machine; outputs are no options and must not be passed.

    The command is written in canonical words: options in the order given, defaults (None, False) left out.
    """
    from conset.pattern.spec import input_path

    given = {f"--{name.replace('_', '-')}": value for name, value in options.items() if value not in (None, False)}
    arguments = [option if value is True else f"{option} {value}" for option, value in given.items()]
    path = input_path(pattern)
    named = pattern if path is None else Path(path).name
    machine = Path(on).name if Path(on).suffix in (".toml", ".graphml") else on
    return Manifest(
        command=" ".join(["conset", command, named, "--on", machine, *arguments]),
        seed=seed,
        input_sha256=sha256_of(pattern if path is None else Path(path)),
    )
