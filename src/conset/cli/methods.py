"""`conset methods`: the table of all methods, as the compiler reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from conset.base import UsageError
from conset.cli.options import MACHINES, METHODS, PATTERNS, JsonOption, completing, opt
from conset.cli.output import console, print_json
from conset.machine import parse_machine
from conset.methods import Method, Problem, all_methods, folded, load_method
from conset.pattern import parse_pattern
from conset.report import method_object, method_text
from conset.schedule import Manifest


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=completing(*METHODS),
            help="One method; without it all of them.",
        ),
    ] = None,
    on: Annotated[
        str | None,
        opt(
            "--on MACHINE",
            "Say of each method whether it applies on this machine.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        opt(
            "--pattern PATTERN",
            "With --on: what is sent, a spec or a file; default: alltoall.",
            complete=completing(*PATTERNS),
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the methods, or one: limits, domain, guarantee, complexity, reference.

    With --on whether they apply.
    """
    if pattern is not None and on is None:
        raise UsageError(
            f"--pattern {pattern}: goes with --on MACHINE, on which methods apply to it or not"
        )
    methods = list(all_methods().values()) if name is None else [load_method(name)]
    rows = [method_object(method) for method in methods]
    words = ["conset methods", *([] if name is None else [name])]
    if on is not None:
        rows = [
            row | found
            for row, found in zip(rows, _refusals(methods, on, pattern or "alltoall"), strict=True)
        ]
        words += [
            f"--on {on}",
            *([] if pattern in (None, "alltoall") else [f"--pattern {pattern}"]),
        ]
    if json:
        print_json("conset/methods@1", {"methods": rows}, Manifest(command=" ".join(words)))
    console(json).print("\n\n".join(method_text(row) for row in rows))


def _refusals(methods: Sequence[Method], on: str, text: str) -> list[dict[str, Any]]:
    """Whether each method, under its own limits, applies to a pattern on a machine, and why not."""
    machine = parse_machine(on)
    pattern = parse_pattern(text, topology=machine.topology, ranks=machine.topology.endpoints)
    problems = [Problem(pattern, machine, method.limits(machine.topology)) for method in methods]
    found = [
        method.applies(folded(method, problem))
        for method, problem in zip(methods, problems, strict=True)
    ]
    return [{"applies": refusal is None, "refusal": refusal} for refusal in found]
