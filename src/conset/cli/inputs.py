"""From command-line arguments to nouns, and hints for arguments most likely meant otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.base.units import parse_size
from conset.schedule.manifest import Manifest, sha256_of

if TYPE_CHECKING:
    from conset.machine.machine import Machine
    from conset.pattern.layout import Partition
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
    """The pattern and the machine that the words name.

    A spec without `ranks=` takes the machine's.
    """
    from conset.base.errors import UsageError
    from conset.machine.spec import parse_machine
    from conset.pattern.spec import parse_pattern

    if ranks_per_node < 1:
        raise UsageError(
            f"ranks_per_node {ranks_per_node}: must be at least 1", options=["ranks_per_node"]
        )
    machine = parse_machine(on)
    ranks = machine.topology.endpoints * ranks_per_node
    word_bytes = parse_size(word, "--word")
    traffic = parse_pattern(
        pattern,
        topology=machine.topology,
        ranks=ranks,
        seed=seed,
        parts=parts,
        rows_to=rows_to,
        word=word_bytes,
    )
    return traffic, machine


def read_partition(
    pattern: str,
    on: str,
    *,
    seed: int = 0,
    parts: int | None = None,
    rows_to: int | None = None,
    word: str = "8",
) -> tuple[Partition, Machine]:
    """The partition and the machine that the words name: a mesh, graph, matrix or packfile."""
    from conset.machine.spec import parse_machine
    from conset.pattern.spec import parse_partition

    word_bytes = parse_size(word, "--word")
    return parse_partition(
        pattern, parts=parts, rows_to=rows_to, word=word_bytes, seed=seed
    ), parse_machine(on)


def reading_options(parts: int | None, rows_to: int | None, word: str) -> dict[str, Any]:
    """How a pattern is read, as a manifest lists it; defaults are None."""
    return {"parts": parts, "rows_to": rows_to, "word": None if word == "8" else word}


def manifest_of(
    command: str,
    pattern: str | Sequence[str],
    on: str | Sequence[str],
    seed: int,
    options: Mapping[str, Any],
) -> Manifest:
    """The manifest of a command on patterns and machines.

    Outputs are no options and must not be passed.

    The command is written in canonical words: options in the order given, defaults (None, False)
    left out. The digest of several patterns is that of their digests.
    """
    from conset.machine.spec import FILE_SUFFIXES
    from conset.pattern.spec import input_path

    given = {
        f"--{name.replace('_', '-')}": value
        for name, value in options.items()
        if value not in (None, False)
    }
    arguments = [
        option if value is True else f"{option} {value}" for option, value in given.items()
    ]
    patterns, machines = ([each] if isinstance(each, str) else each for each in (pattern, on))
    paths = [input_path(each) for each in patterns]
    named = [
        each if path is None else path.name for each, path in zip(patterns, paths, strict=True)
    ]
    on_words = [
        f"--on {Path(each).name if Path(each).suffix.lower() in FILE_SUFFIXES else each}"
        for each in machines
    ]
    digests = [
        sha256_of(each if path is None else path)
        for each, path in zip(patterns, paths, strict=True)
    ]
    return Manifest(
        command=" ".join(["conset", command, *named, *on_words, *arguments]),
        seed=seed,
        input_sha256=digests[0] if len(digests) == 1 else sha256_of("".join(digests)),
    )


def in_order(arguments: list[str], commands: Sequence[str]) -> list[str]:
    """The arguments as the commands take them.

    `--json` after the command, `help COMMAND` as `COMMAND --help`.
    """
    if not arguments or arguments == ["help"]:
        return ["--help"]
    if arguments[0] == "help" and arguments[1] in commands:
        return [*arguments[1:], "--help"]
    if arguments[0] == "help":
        return arguments[1:]  # which is then said to be unknown
    if arguments[0] == "--json" and len(arguments) > 1:
        return [*in_order(arguments[1:], commands), "--json"]
    return arguments


def explain(message: str, arguments: Sequence[str]) -> str:
    """A message of the argument parser in terms of the command line, with what to do about it."""
    invalid = re.match(r"Invalid value for '([^']*)': (.*)", message, re.DOTALL)
    if invalid is not None:
        return _value(invalid[1], invalid[2], arguments)
    if message == "Missing option '--on'.":
        machine = next((word for word in arguments[1:] if _is_machine(word)), None)
        if machine is not None:
            return f"Missing option '--on': put --on before {machine}"
        return (
            "Missing option '--on': a machine is required, as --on mesh:4x4; `conset "
            "machines` lists more"
        )
    option = re.match(r"No such option: (\S+)", message)
    if option is not None and arguments[0].startswith("-"):
        return (
            f"No such option: {option[1]}: options of a command stand after it; only --json may "
            "stand before"
        )
    near = re.match(r"No such option: (\S+) \(Possible options: ([^,)]+)", message)
    if near is not None:
        return f"No such option: {near[1]}: did you mean {near[2]}?"
    missing = re.match(r"Missing argument '([^']*)'", message)
    if missing is not None:
        return (
            f"Missing argument {missing[1]}: `conset help {arguments[0]}` shows what is due, "
            "with examples"
        )
    extra = re.match(r"Got unexpected extra argument\(s\) \((.*)\)", message)
    if extra is not None:
        machine = next((word for word in extra[1].split() if _is_machine(word)), None)
        return message if machine is None else f"{message}: put --on before {machine}"
    return message


def _is_machine(word: str) -> bool:
    from conset.machine.spec import FILE_SUFFIXES, is_spec

    return is_spec(word) or word.lower().endswith(FILE_SUFFIXES)


_RULES = (
    ("should be a valid integer", "a whole number is required"),
    ("should be a valid number", "a number is required"),
    ("should be greater than or equal to ", "must be at least "),
    ("should be less than or equal to ", "must be at most "),
    ("should be greater than ", "must be above "),
    ("should be a valid boolean", "yes or no is required"),
)


def _value(name: str, rule: str, arguments: Sequence[str]) -> str:
    given = _given(name, arguments)
    for theirs, ours in _RULES:
        if theirs in rule:
            number = rule.split(theirs, 1)[1].split()[0] if ours.endswith(" ") else ""
            return f"{name} {given}: {ours}{number}".replace("  ", " ")
    return f"{name} {given}: {rule}".replace(" :", ":")


def _given(name: str, arguments: Sequence[str]) -> str:
    """The value of an option as it was typed, quoted."""
    for option in re.split(r"\s*/\s*", name):
        for k, word in enumerate(arguments):
            if word == option and k + 1 < len(arguments):
                return f"'{arguments[k + 1]}'"
            if word.startswith(f"{option}="):
                return f"'{word.partition('=')[2]}'"
    return ""


_OPTIONS = {"conset.machine.spec.with_settings": "--set"}
"""What the library calls otherwise than the command line."""


def spell_options(message: str, names: Sequence[str]) -> str:
    """A message of the library with `names` written as on the command line.

    `rank_by flow` as `--rank-by flow`.

    Parts of paths stay as they are, and what is quoted.
    """
    for name in names:
        option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        message = re.sub(rf"(?<![\w./'-]){re.escape(name)}(?!\.?[\w/-])", option, message)
    return message


def explain_missing(message: str, arguments: Sequence[str]) -> str:
    """A message about a file that does not exist.

    Its name may be that of a pattern or a machine.

    A machine where a pattern is due, or a pattern after `--on`, is told where it belongs.
    """
    unknown = re.match(r"unknown (pattern|machine) '([^']*)'", message)
    if unknown is not None:
        return _explain_place(unknown[0], unknown[1], unknown[2], arguments) or message
    if arguments[0] in ("bound", "compare", "compile"):
        return _explain_compiled(message, arguments)
    if arguments[0] not in ("verify", "predict", "simulate", "run", "plan", "report"):
        return message
    name = next(
        (
            word
            for word in arguments[1:]
            if message.startswith((f"{word}: no such file", f"simulate {word}:"))
        ),
        "",
    )
    if not name or not (_is_pattern(name) or _is_machine(name)):
        return message
    schedule = f"conset compile {name if _is_pattern(name) else 'PATTERN'} --on MACHINE -o s.json"
    return f"{message}; {arguments[0]} takes a file, as `{schedule}` writes it"


def _explain_place(what: str, kind: str, name: str, arguments: Sequence[str]) -> str:
    """A machine that stands as a pattern, or the other way round.

    Empty where the word is neither.
    """
    words = [word for word in arguments[1:] if re.split("[:,]", word, maxsplit=1)[0] == name]
    if words and kind == "pattern" and _is_machine(words[0]):
        return f"{what}: {words[0]} is a machine: put --on before it"
    if words and kind == "machine" and _is_pattern(words[0]):
        return f"{what}: {words[0]} is a pattern: it stands before --on, a machine after"
    return ""


def _explain_compiled(message: str, arguments: Sequence[str]) -> str:
    """Of a command for patterns that was given what `compile` reads or writes."""
    from conset.schedule.files.sniff import sniff

    begins = ("unknown suffix", "lists 'nodes' and 'edges'")
    name = next(
        (
            word
            for word in arguments[1:]
            if message.startswith(tuple(f"{word}: {b}" for b in begins))
        ),
        "",
    )
    if name.endswith(".toml"):
        return (
            f"{name}: {arguments[0]} takes a pattern; of a program, `conset compile {name} --on "
            "MACHINE -o p.json`"
        )
    if name and sniff(name).form in ("schedule", "program", "timeline"):
        found = f"is a {sniff(name).form}, {arguments[0]} takes a pattern"
        return f"{name}: {found}; `conset report {name}` says its bounds and times"
    return message


def _is_pattern(word: str) -> bool:
    from conset.pattern.generators.table import GENERATORS

    return re.split("[:,]", word, maxsplit=1)[0] in GENERATORS
