"""From command-line arguments to nouns, and hints for arguments most likely meant otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from conset.base import (
    ConsetError,
    UsageError,
    VerificationError,
    count_of,
    option,
    parse_size,
    printable,
)
from conset.cli.options import SYNCS, completing, opt, spelled
from conset.cli.output import progress
from conset.compilation import compile_pattern, options
from conset.inputs import load_machine, load_pattern, partition
from conset.machine import FILE_SUFFIXES, Machine, is_spec
from conset.models import retarget
from conset.pattern import GENERATORS, Partition, Pattern, input_path
from conset.schedule import (
    Manifest,
    Program,
    Schedule,
    from_document,
    read_compiled,
    read_document,
    sha256_of,
    sniff,
)
from conset.verification import verify

SyncOption = Annotated[
    str | None,
    opt("--sync S", f"{options.POLICIES}.", complete=completing(*SYNCS)),
]


@dataclass(frozen=True)
class Reading:
    """How a file is read as a pattern.

    Attributes:
        parts: parts of a mesh or graph.
        rows_to: ranks of a sparse matrix.
        word: bytes per entry or node.
        unit: unit of sizes without one.
    """

    parts: int | None = option(None, "N", "Parts of a mesh or graph, by METIS; one rank each.")
    rows_to: int | None = option(None, "N", "Distribute a sparse matrix by rows over N ranks.")
    word: str = option("8", "SIZE", "Bytes per entry or node where a file counts words.")
    unit: str | None = option(
        None, "UNIT", "Unit of sizes in a file that have none (B, kB, KiB …)."
    )

    def given(self) -> dict[str, Any]:
        """As a manifest lists it; defaults are None."""
        return vars(self) | {"word": None if self.word == "8" else self.word}

    def arguments(self) -> dict[str, Any]:
        """As functions that read patterns take it."""
        return vars(self) | {"word": parse_size(self.word, "--word")}


def read_inputs(
    pattern: str, on: str, reading: Reading, *, ranks_per_node: int = 1, seed: int = 0
) -> tuple[Pattern, Machine]:
    """The pattern and the machine that are named; a spec without `ranks=` takes the machine's."""
    machine = load_machine(on)
    how = reading.arguments()
    return load_pattern(pattern, machine, ranks_per_node=ranks_per_node, seed=seed, **how), machine


def manifest_of(
    command: str,
    pattern: str | Sequence[str],
    on: str | Sequence[str],
    seed: int,
    options: Mapping[str, Any],
) -> Manifest:
    """The manifest of a command on patterns and machines.

    Outputs are no options and must not be passed. The digest of several patterns is that of their
    digests.
    """
    patterns, machines = ([each] if isinstance(each, str) else each for each in (pattern, on))
    paths = [input_path(each) for each in patterns]
    named = [path.name if path else each for each, path in zip(patterns, paths, strict=True)]
    on_words = [
        f"--on {each if is_spec(each) else re.sub('[^,=]*/', '', each)}" for each in machines
    ]
    digests = [
        sha256_of(each if path is None else path)
        for each, path in zip(patterns, paths, strict=True)
    ]
    return Manifest(
        command=printable(" ".join(["conset", command, *named, *on_words, *spelled(options)])),
        seed=seed,
        input_sha256=digests[0] if len(digests) == 1 else sha256_of("".join(digests)),
    )


def read_partition(
    pattern: str, on: str, reading: Reading, *, seed: int = 0
) -> tuple[Partition, Machine]:
    """The partition and the machine that are named: a mesh, graph, matrix or packfile."""
    how = reading.arguments()
    if how.pop("unit") is not None:
        raise UsageError(f"--unit {reading.unit}: a layout has words (--word), not sizes")
    return partition(pattern, **how, seed=seed), load_machine(on)


def read_verified(file: Path) -> Schedule | Program:
    """The schedule or program in a file, verified before it may be executed.

    Raises:
        VerificationError: it does not verify; names the first violation. InputError: no schedule or
            program.
    """
    with progress("verifying"):
        document = read_document(file)
        verdict = verify(document)
    if not verdict.ok:
        first = verdict.violations[0].text
        raise VerificationError(
            f"{file}: does not verify, {count_of(len(verdict.violations), 'violation')}, the "
            f"first: {first}"
        )
    return from_document(document)


def read_file_or_pattern(text: str, on: str | None, reading: Reading, *, seed: int) -> Schedule:
    """A schedule or a program of a file, or the naive exchange of a pattern.

    Without a machine a pattern is on a crossbar.
    """
    if sniff(text).form in ("schedule", "program"):
        whole = read_compiled(text).whole
        return whole if on is None else retarget(whole, load_machine(on))
    machine = None if on is None else load_machine(on)
    pattern = load_pattern(text, machine, seed=seed, **reading.arguments())
    machine = machine or load_machine(f"crossbar:{pattern.ranks}")
    naive = options.CompileOptions(method="naive", seed=seed)
    return compile_pattern(pattern, machine, naive)


def refuse_ranks(mpiexec: str | None) -> None:
    """Refuses a launcher that states how many ranks to start: they come from the file."""
    parts = (mpiexec or "").split()
    stated = [word for word in parts if re.fullmatch(r"-np?[0-9]*|--?(np|n|ntasks)(=.*)?", word)]
    if stated:
        raise UsageError(
            f"--mpiexec '{mpiexec}': leave out {stated[0]}: -n and the schedule's ranks are added"
        )


@contextmanager
def one_speaks(speaks: bool) -> Iterator[None]:
    """Within a running job: of its ranks one reports an error, the others end with its code."""
    try:
        yield
    except ConsetError as error:
        if speaks:
            raise
        raise typer.Exit(error.exit_code) from None


def explain(error: Exception, arguments: Sequence[str]) -> str:
    """An error in one line: options as on the command line, and what to do about it."""
    if isinstance(error, ConsetError):
        return _add_hint(error, spell_options(str(error), error.options), arguments)
    unknown, parameter = getattr(error, "option_name", None), getattr(error, "param", None)
    machine = next((word for word in arguments[1:] if _is_machine(word)), None)
    if unknown is not None and arguments[0].startswith("-"):
        return (
            f"No such option: {unknown}: options of a command stand after it; only --json may "
            "stand before"
        )
    if unknown is not None and (near := getattr(error, "possibilities", None)):
        return f"No such option: {unknown}: did you mean {sorted(near)[0]}?"
    if isinstance(error.__cause__, ValidationError):
        return f"{_name_of(parameter)} {_broken_rule(error.__cause__)}"
    if parameter is not None and parameter.param_type_name == "argument":
        name, command = _name_of(parameter), arguments[0]
        return f"Missing argument {name}: `conset help {command}` shows what is due, with examples"
    if parameter is not None and "--on" in parameter.opts:
        if machine is not None:
            return f"Missing option '--on': put --on before {machine}"
        return (
            "Missing option '--on': a machine is required, as --on mesh:4x4; `conset machines` "
            "lists more"
        )
    message = str(getattr(error, "format_message", error.__str__)())
    placed = any(word == "--on" or word.startswith("--on=") for word in arguments)
    is_extra = type(error).__name__ == "UsageError"
    if is_extra and machine is not None and not placed:
        return f"{message}: put --on before {machine}"
    return message


def _name_of(parameter: Any) -> str:
    """An option or argument as the help has it."""
    name = parameter.opts[0]
    return str(name if name.startswith("-") else parameter.get_error_hint().strip("'"))


RULES = {
    "int_parsing": "a whole number is required",
    "int_parsing_size": "a whole number is required",
    "float_parsing": "a number is required",
    "bool_parsing": "yes or no is required",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "greater_than": "must be above {gt}",
}
"""By the kinds of errors of pydantic, which reads the values of options."""


def _broken_rule(error: ValidationError) -> str:
    """What was given, and the rule."""
    found = error.errors()[0]
    rule = RULES.get(found["type"], found["msg"]).format(**found.get("ctx", {}))
    return f"'{found['input']}': {rule}"


def _is_machine(word: str) -> bool:
    return is_spec(word) or word.lower().endswith(FILE_SUFFIXES)


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


PATTERN_COMMANDS = ("bound", "compare", "compile")
FILE_COMMANDS = ("verify", "predict", "simulate", "run", "plan", "report")


def _add_hint(error: ConsetError, message: str, arguments: Sequence[str]) -> str:
    """A message with what the command takes, where the wrong kind of thing was given.

    A machine where a pattern is due, a pattern after `--on`, a file that another command reads.
    """
    command, word = arguments[0], error.given
    if error.what in ("pattern", "machine"):
        name = next((each for each in arguments[1:] if _head(each) == word), "")
        if error.what == "pattern" and _is_machine(name):
            return f"unknown pattern '{word}': {name} is a machine: put --on before it"
        if error.what == "machine" and _is_pattern(name):
            where = "it stands before --on, a machine after"
            return f"unknown machine '{word}': {name} is a pattern: {where}"
    elif command in PATTERN_COMMANDS and error.what == "content":
        if word.endswith(".toml"):
            program = f"of a program, `conset compile {word} --on MACHINE -o p.json`"
            return f"{word}: {command} takes a pattern; {program}"
        if (form := sniff(word).form) in ("schedule", "program", "timeline"):
            found = f"is a {form}, {command} takes a pattern"
            return f"{word}: {found}; `conset report {word}` says its bounds and times"
    elif (
        command in FILE_COMMANDS
        and error.what == "file"
        and (_is_pattern(word) or _is_machine(word))
    ):
        pattern = word if _is_pattern(word) else "PATTERN"
        writes = f"as `conset compile {pattern} --on MACHINE -o s.json` writes it"
        return f"{message}; {command} takes a file, {writes}"
    return message


def _head(word: str) -> str:
    return re.split("[:,]", word, maxsplit=1)[0]


def _is_pattern(word: str) -> bool:
    return _head(word) in GENERATORS
