"""`conset patterns`: the table of all patterns that a spec can name, as its parser reads it."""

from __future__ import annotations

from typing import Annotated

import typer

from conset.base import unknown_name
from conset.cli.options import PATTERNS, JsonOption, completing
from conset.cli.output import console, print_json
from conset.pattern import COMMON, GENERATORS, READERS
from conset.report import generator_object, generators_text
from conset.schedule import Manifest


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=completing(*PATTERNS),
            help="One pattern; without it all of them.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the patterns, or one.

    What is sent, arguments with their defaults, what the number of ranks must be.
    """
    if name is not None and name not in GENERATORS:
        raise unknown_name("pattern", name, GENERATORS)
    rows = [generator_object(each) for each in (GENERATORS if name is None else [name])]
    files = [
        {
            "suffix": suffix,
            "summary": reader.summary,
            "options": [f"--{word.replace('_', '-')}" for word in reader.takes],
        }
        for suffix, reader in READERS.items()
    ]
    if json:
        command = "conset patterns" if name is None else f"conset patterns {name}"
        body = {
            "patterns": rows,
            "arguments": dict(COMMON),
            **({"files": files} if name is None else {}),
        }
        print_json("conset/patterns@1", body, Manifest(command=command))
    console(json).print(generators_text(rows, COMMON, files if name is None else ()), markup=False)
