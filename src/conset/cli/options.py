"""Options that several commands share, written once; nothing that takes long is imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from conset.base import UsageError
from conset.schedule import Manifest, sha256_of


def begun(incomplete: str, names: Iterable[str]) -> list[str]:
    """Names that a word may become."""
    return [name for name in names if name.startswith(incomplete)]


def completing(
    *tables: str, also: Sequence[str] = (), several: bool = False
) -> Callable[[str], list[str]]:
    """A shell's completion of names in tables, which are loaded when a word is completed.

    Args:
        tables: as `module:NAME`, of names or of what has names as keys.
        also: other words.
        several: whether the value is a list with commas, whose last word is completed.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, word = incomplete.rpartition(",") if several else ("", "", incomplete)
        found = [
            getattr(import_module(m), name) for m, _, name in (t.partition(":") for t in tables)
        ]
        names = [name for table in found for name in (table() if callable(table) else table)]
        return [f"{before}{comma}{name}" for name in begun(word, (*names, *also))]

    return complete


def opt(
    spec: str,
    help: str,
    *,
    complete: Callable[[str], list[str]] | None = None,
    least: int | None = None,
) -> Any:
    """An option as its help has it: names apart by `/`, then the placeholder of its value.

    Args:
        spec: as `-o/--output FILE`, `--json`.
        help: one line.
        complete: what a shell completes of its value.
        least: smallest number.
    """
    names, _, metavar = spec.partition(" ")
    shown = metavar or None
    return typer.Option(
        *names.split("/"), metavar=shown, help=help, autocompletion=complete, min=least
    )


PATTERNS = ("conset.pattern.generators.table:GENERATORS",)
MACHINES = ("conset.machine.spec:machine_names",)
METHODS = ("conset.methods.phases.table:table",)
MODELS = ("conset.models.table:MODELS",)
RANKINGS = ("conset.compilation.options:RANKINGS",)
SYNCS = ("conset.schedule.policy:KINDS",)

PatternArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        autocompletion=completing(*PATTERNS),
        help="A spec (alltoall, random:degree=16,size=4KiB …) or a file (.mtx .npz .csv .pack, "
        "a mesh).",
    ),
]
MachineOption = Annotated[
    str,
    opt(
        "--on MACHINE",
        "A preset (paragon:8x8), a network (torus:8x8,link=16GB/s), a file (.toml, .graphml, edge "
        "list) or a cluster's (a folder, net.txt,routes=lfts.txt).",
        complete=completing(*MACHINES),
    ),
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A schedule file (.json or .npz).")
]
InFlightOption = Annotated[
    str | None,
    opt(
        "--in-flight N",
        "Sends a rank keeps open at once, or all. Default: the schedule's, else its "
        "machine's, else all.",
    ),
]
SeedOption = Annotated[int, opt("--seed N", "Seed of every random choice.")]
SetOption = Annotated[
    str | None,
    opt("--set WORDS", "What if: synchronization=0,overhead=2us,…"),
]
ModeOption = Annotated[
    str | None,
    opt("--mode MODE", "A transfer mode of the machine: iwarp has spooling, …."),
]
MpiexecOption = Annotated[
    str | None,
    opt("--mpiexec CMD", "Another launcher than the wheel's: 'mpiexec --oversubscribe', srun."),
]
ExecutorOption = Annotated[
    str,
    opt(
        "--executor E",
        "Who simulates: processes, mpi (mpi4py.futures), or MODULE:FACTORY, which makes an "
        "executor.",
    ),
]
WorkersOption = Annotated[int, opt("--workers N", "Processes or ranks that simulate.", least=1)]
JsonOption = Annotated[bool, opt("--json", "One JSON object on stdout, text on stderr.")]
CommandArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="COMMAND…",
        help="As typed without conset: mpiexec -n 16 ./a, srun ./a, conset testbed mpiexec …",
    ),
]
OF_PROGRAMS = {"allow_interspersed_args": False}
"""Settings of a command's parser where all that follows COMMAND is its own."""
DetailsOption = Annotated[bool, opt("--details", "All that is known, not the answer alone.")]


def expanded(
    only: Mapping[str, Sequence[str]] | None = None, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for every field of the dataclasses among its parameters.

    A field declares what its option needs (`conset.base.options.option`).

    Args:
        only: by parameter, the names of the fields that are options; without it all.
        defaults: by field, in place of its own.
    """

    def expand(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command, eval_str=True)
        parameters: list[Parameter] = []
        parts: dict[str, tuple[Any, list[str]]] = {}
        for name, parameter in own.parameters.items():
            if not hasattr(parameter.annotation, "__dataclass_fields__"):
                parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
                continue
            part = parameter.annotation
            names = list((only or {}).get(name) or (field.name for field in fields(part)))
            types = get_type_hints(part)
            parts[name] = part, names
            parameters += [
                Parameter(
                    field.name,
                    Parameter.KEYWORD_ONLY,
                    default=defaults.get(field.name, field.default),
                    annotation=Annotated[types[field.name], option_of(part, field.name)],
                )
                for field in fields(part)
                if field.name in names
            ]

        @wraps(command)
        def command_of_options(**values: Any) -> None:
            for name, (part, names) in parts.items():
                given = {each: values.pop(each) for each in names}
                of_user = hasattr(part, "changed")  # a method in a file of the user's is loaded
                values[name] = part().changed(given) if of_user else part(**given)
            command(**values)

        command_of_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command_of_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return command_of_options

    return expand


def option_of(kind: type, name: str) -> Any:
    """The option of a field, whose known words a shell completes."""
    about = next(field for field in fields(kind) if field.name == name).metadata
    known = about["known"]

    def complete(incomplete: str) -> list[str]:
        return begun(incomplete, known())

    return typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=about["metavar"],
        help=about["help"],
        min=about["least"],
        autocompletion=complete if known else None,
    )


def spelled(options: Mapping[str, Any]) -> list[str]:
    """Options as they are typed, in the order given; defaults (None, False) are left out."""
    given = {
        f"--{name.replace('_', '-')}": value
        for name, value in options.items()
        if value is not None and value is not False
    }
    return [option if value is True else f"{option} {value}" for option, value in given.items()]


def manifest_of_file(command: str, file: Path, seed: int, options: Mapping[str, Any]) -> Manifest:
    """The manifest of a command on a file; outputs are no options and must not be passed."""
    words = ["conset", command, file.name, *spelled(options)]
    return Manifest(" ".join(words), seed, sha256_of(file))


def refuse(options: Mapping[str, Any], why: str) -> None:
    """Raise UsageError for the first option that is given though it would not be looked at.

    Args:
        options: by name as in Python; None and False are not given.
        why: the rule.
    """
    for words in spelled(options):
        raise UsageError(f"{words}: {why}")


def allow(
    options: Mapping[str, Any], taken_by: Mapping[str, Sequence[str]], kind: str, rule: str
) -> None:
    """Raise UsageError for the first option that is given and would not be looked at.

    Args:
        options: by name as in Python; None and False are not given.
        taken_by: option → the kinds of things that take it; what is not listed goes with all.
        kind: of this thing.
        rule: with `{takers}` for these kinds.
    """
    for name, value in options.items():
        takers = taken_by.get(name)
        if takers is not None and kind not in takers:
            refuse({name: value}, rule.replace("{takers}", ", ".join(takers)))
