"""`conset patterns`: the table of all patterns that a spec can name, as its parser reads it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from conset.cli.options import JsonOption

SCHEMA = "conset/patterns@1"


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One pattern; without it all of them.")] = None,
    json: JsonOption = False,
) -> None:
    """List the patterns, or one: what is sent, arguments with their defaults, what the number of ranks must be."""
    from conset.cli.output import console, print_json
    from conset.errors import unknown_name
    from conset.pattern.generators.table import COMMON, GENERATORS
    from conset.pattern.readers.table import READERS
    from conset.schedule.manifest import Manifest

    if name is not None and name not in GENERATORS:
        raise unknown_name("pattern", name, GENERATORS)
    rows = [pattern_object(each) for each in (GENERATORS if name is None else [name])]
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
        body = {"patterns": rows, "arguments": dict(COMMON), **({"files": files} if name is None else {})}
        print_json(SCHEMA, body, Manifest(command=command))
    texts = [_block(row) for row in rows]
    texts.append("\n".join(["every pattern takes", *(f"  {word:<12}{text}" for word, text in COMMON.items())]))
    if name is None:
        lines = (f"  {row['suffix']:<12}{', '.join([str(row['summary']), *row['options']])}" for row in files)
        texts.append("\n".join(["files", *lines]))
    console(json).print("\n\n".join(texts), markup=False)


def pattern_object(name: str) -> dict[str, Any]:
    """One row; the default of an argument that is empty comes from the network."""
    from conset.pattern.generators.table import GENERATORS

    row = GENERATORS[name]
    return {
        "name": name,
        "summary": row.summary,
        "arguments": {
            word: {
                "default": list(each.default) if isinstance(each.default, tuple) else each.default,
                "help": each.help,
            }
            for word, each in row.arguments.items()
        },
        "requires": row.requires,
        "random": row.random,
    }


def _block(row: dict[str, Any]) -> str:
    lines = [f"{row['name']}  {row['summary']}"]
    for word, argument in row["arguments"].items():
        default = argument["default"]
        text = "the network's" if default == [] else default
        lines.append(f"  {word:<12}{argument['help']} (default: {text})")
    return "\n".join([*lines, f"  {'requires':<12}{row['requires']}"])
