"""`conset methods`: the table of all methods, as the compiler reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conset.methods.method import Method

OnOption = Annotated[
    str | None, typer.Option("--on", metavar="MACHINE", help="Say of each method whether it applies on this machine.")
]
PatternOption = Annotated[
    str, typer.Option("--pattern", metavar="PATTERN", help="With --on: what is sent, a spec or a file.")
]
SCHEMA = "conset/methods@1"


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One method; without it all of them.")] = None,
    on: OnOption = None,
    pattern: PatternOption = "alltoall",
    json: JsonOption = False,
) -> None:
    """List the methods, or one: limits, domain, guarantee, complexity, reference; with --on whether they apply."""
    from conset.cli.output import console, print_json
    from conset.methods.table import find_method, table
    from conset.report.catalogue import method_object, method_text
    from conset.schedule.manifest import Manifest

    methods = list(table().values()) if name is None else [find_method(name)]
    rows = [method_object(method) for method in methods]
    words = ["conset methods", *([] if name is None else [name])]
    if on is not None:
        rows = [row | found for row, found in zip(rows, _refusals(methods, on, pattern), strict=True)]
        words += [f"--on {on}", *([] if pattern == "alltoall" else [f"--pattern {pattern}"])]
    if json:
        print_json(SCHEMA, {"methods": rows}, Manifest(command=" ".join(words)))
    console(json).print("\n\n".join(method_text(row) for row in rows))


def _refusals(methods: Sequence[Method], on: str, text: str) -> list[dict[str, Any]]:
    """Of each method under its own limits, whether it applies to a pattern on a machine, and why not."""
    from conset.machine.spec import parse_machine
    from conset.methods.problem import Problem
    from conset.pattern.spec import parse_pattern

    machine = parse_machine(on)
    pattern = parse_pattern(text, topology=machine.topology, ranks=machine.topology.endpoints)
    found = [method.applies(Problem(pattern, machine, method.limits(machine.topology))) for method in methods]
    return [{"applies": refusal is None, "refusal": refusal} for refusal in found]
