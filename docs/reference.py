"""Writes the pages' tables, schemas and drawings from the tables of the code.

`python docs/reference.py FOLDER`.

Nothing of it is typed by hand and nothing is kept in the repository: `docs/conf.py` calls
`write_reference` before the pages are built, which include the files.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import conset

Rows = Iterable[Sequence[object]]

POLICIES = ("none", "local", "ready", "barrier", "barrier:2")
SHOWN_PATTERN = "random:degree=3,size=log-uniform(64KiB,1MiB),seed=4"
"""What policies are drawn of.

Unequal messages, so that ranks end their phases at different times.
"""
SHOWN_MACHINE = {
    "name": "one switch",
    "network": {"kind": "crossbar", "nodes": 6},
    "costs": {
        "link": "1 GB/s",
        "port": "1 GB/s",
        "overhead": "40 us",
        "synchronization": "100 us",
        "signal": "40 us",
    },
}


def write_reference(folder: Path) -> None:
    """Everything that is generated."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = {
        "methods": methods_table(),
        "patterns": patterns_text(),
        "pattern-files": pattern_files(),
        "families": families_table(),
        "costs": costs_table(),
        "placements": placements_table(),
        "limits": limits_table(),
        "rules": rules_table(),
        "bounds": bounds_table(),
        "commands": commands_text(),
        "interface": interface_text(),
    }
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    write_schemas(folder)
    draw_policies(folder)


def table(heads: Sequence[str], rows: Rows) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell(each) for each in line)} |\n" for line in lines)


def cell(value: object) -> str:
    """What stands in a cell: one line, in which a bar is no border."""
    return " ".join(str(value).split()).replace("|", "\\|")


def methods_table() -> str:
    """A row for each method, linked to what was measured of it."""
    from conset.machine.network.topology import Topology
    from conset.methods.phases.table import table as methods

    mesh = Topology.mesh(4, 4)

    def kept(row: Any) -> str:
        words = [
            f"{name} {value}"
            for name, value in row.limits(mesh).to_object().items()
            if value not in (None, "full")
        ]
        at_will = (
            f"; {', '.join(sorted(row.adjustable_limits))} at any value"
            if row.adjustable_limits
            else ""
        )
        return (", ".join(words) or "none") + at_will

    rows = [
        (
            f"[`{row.name}`](algorithms.md#{row.name})",
            row.title,
            kept(row),
            row.domain,
            row.guarantee,
        )
        for row in methods().values()
    ]
    return table(("method", "what it is", "limits of a phase", "requires", "guarantees"), rows)


def patterns_text() -> str:
    """Every generator with its arguments."""
    from conset.pattern.generators.table import COMMON, GENERATORS
    from conset.report.machine import generator_object

    parts = []
    for name in GENERATORS:
        row = generator_object(name)
        parts.append(
            f"### `{name}`\n\n{row['summary'][0].upper()}{row['summary'][1:]}. Requires "
            f"{row['requires']}.\n"
        )
        if row["arguments"]:
            arguments = [
                (f"`{word}`", each["help"], "" if each["default"] == [] else f"`{each['default']}`")
                for word, each in row["arguments"].items()
            ]
            parts.append(table(("argument", "is", "default"), arguments))
        if row["example"]:
            parts.append(f"For example `{row['example']}`.\n")
    common = table(
        ("argument of every pattern", "is"), ((f"`{word}`", text) for word, text in COMMON.items())
    )
    return "\n".join([common, *parts])


def pattern_files() -> str:
    """Formats of files that are patterns."""
    from conset.pattern.readers.table import READERS

    rows = (
        (
            f"`{suffix}`",
            row.summary,
            ", ".join(f"`--{word.replace('_', '-')}`" for word in row.takes),
        )
        for suffix, row in READERS.items()
    )
    return table(("suffix", "holds", "options"), rows)


def families_table() -> str:
    """Networks in words with their parameters."""
    from conset.machine.network.families import FAMILIES
    from conset.machine.network.family import SWITCHED

    rows = [
        (f"`{name}`", f"`{each.name}`", each.help, default(each.default))
        for name, family in FAMILIES.items()
        if not family.is_regular
        for each in family.parameters
    ]
    rows += [
        ("every family", f"`{each.name}`", each.help, default(each.default)) for each in SWITCHED
    ]
    return table(("family", "parameter", "is", "default"), rows)


def default(value: object) -> str:
    """As words say it."""
    if value in (None, ""):
        return ""
    return f"`{'x'.join(map(str, value)) if isinstance(value, tuple) else value}`"


def costs_table() -> str:
    """Words of `[costs]`, of options of a machine and of `--set`."""
    from conset.machine.words import GROUPS

    rows = [
        (group, f"`{word}`", each.unit, " and ".join(f"`{narrow}`" for narrow in each.covers))
        for group, words in GROUPS.items()
        for word, each in words.items()
    ]
    return table(("group", "word", "value", "sets both"), rows)


def placements_table() -> str:
    """Ways from ranks to nodes."""
    from conset.methods.placements.place import AUTO, PLACEMENTS, TRIED

    rows = [(f"`{name}`", first_line(way)) for name, way in PLACEMENTS.items()]
    rows.append((f"`{AUTO}`", f"the best of identity, {', '.join(TRIED)}, each compiled"))
    return table(("`--placement`", "is"), rows)


def limits_table() -> str:
    """Words of `--limits`, from the docstring of `Limits`."""
    rows = re.findall(
        r"^    (\w+): (.*?)(?=^    \w+: |\Z)",
        section(conset.Limits, "Attributes"),
        re.MULTILINE | re.DOTALL,
    )
    return table(("limit", "of a phase"), ((f"`{name}`", text) for name, text in rows))


def rules_table() -> str:
    """What the verifier holds a schedule to."""
    from conset.verification.verification import RULES

    return table(("rule", "holds"), ((f"`{name}`", text) for name, text in RULES.items()))


def bounds_table() -> str:
    """Bounds by name, with the first line of what proves them."""
    from conset.bounds.combine import LOAD_BOUNDS, PHASE_BOUNDS, TIME_BOUNDS

    found = {"phases": PHASE_BOUNDS, "ΣL": LOAD_BOUNDS, "time": TIME_BOUNDS}
    rows = [
        (of, name, first_line(each))
        for of, bounds in found.items()
        for name, each in bounds.items()
    ]
    return table(("of", "bound", "is"), rows)


def commands_text() -> str:
    """`--help` of every command."""
    import contextlib
    import io

    from conset.cli.main import COMMANDS, run

    parts = []
    for name in COMMANDS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run([name, "--help"])
        parts.append(f"## `conset {name}`\n\n```text\n{out.getvalue().strip()}\n```\n")
    return "\n".join(parts)


def interface_text() -> str:
    """The Python interface in the groups of the docstring of `conset`."""
    kinds = {"Functions": "autofunction", "Nouns": "autoclass", "Errors": "autoexception"}
    parts, kind = [], ""
    for line in (conset.__doc__ or "").splitlines():
        heading = re.match(r"(Functions|Nouns|Errors)\b", line)
        name = re.match(r"    (\w+) {2,}", line)
        if heading:
            kind = kinds[heading[1]]
            parts.append(f"## {heading[1]}\n")
        elif name and kind:
            members = "   :members:\n" if kind == "autoclass" else ""
            parts.append(f"```{{eval-rst}}\n.. {kind}:: conset.{name[1]}\n{members}```\n")
    return "\n".join(parts)


def write_schemas(folder: Path) -> None:
    """JSON Schemas of conset's own files and of machine files."""
    from conset.schedule.files.keys import FORMS, json_schema

    for form in FORMS:
        text = json.dumps(json_schema(form), indent=1)
        (folder / f"{form}.schema.json").write_text(text + "\n", encoding="utf-8")


def draw_policies(folder: Path) -> None:
    """One schedule under every policy, on one scale of time each."""
    from conset.report.style import save
    from conset.report.timeline import TimelineView, picture_timeline

    machine = conset.load_machine(SHOWN_MACHINE)
    pattern = replace(conset.load_pattern(SHOWN_PATTERN, machine), name="three messages a rank")
    for policy in POLICIES:
        schedule = conset.compile(pattern, machine, method="coloring", sync=policy)
        view = TimelineView(conset.simulate(schedule, record=True), machine)
        save(
            lambda view=view: picture_timeline(view),
            folder / f"policy-{policy.replace(':', '-')}.svg",
        )


def first_line(thing: object) -> str:
    """Of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].removesuffix(".")


def section(thing: object, name: str) -> str:
    """A section of a docstring in Google style."""
    found = re.search(
        rf"^{name}:\n(.*?)(?=^\S|\Z)", inspect.getdoc(thing) or "", re.MULTILINE | re.DOTALL
    )
    return found[1] if found else ""


def fix_docstring(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Docstrings are Markdown where they say code.

    What reStructuredText would read otherwise is escaped.
    """
    text = "\n".join(lines)
    text = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", text)
    text = re.sub(
        r"^( *)([^:\s.].*[^:]):\n\n(?=\1 {4}\S)", r"\1\2::\n\n", text, flags=re.MULTILINE
    )  # code
    text = re.sub(r"^([^:\s.].*\.)\n\n(?= {4}\S)", r"\1\n\n::\n\n", text, flags=re.MULTILINE)
    lines[:] = text.split("\n")


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
