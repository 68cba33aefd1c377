"""Catalogue: the methods, the patterns of specs, and what is installed.

For people and for `--json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conset.methods.phases.method import Method

Row = Mapping[str, Any]


def method_object(method: Method) -> dict[str, Any]:
    """One row; `limits` are those on a mesh, "honours" the limits it keeps at any other value."""
    from conset.machine.network.topology import Topology

    return {
        "name": method.name,
        "title": method.title,
        "limits": method.limits(Topology.mesh(4, 4)).to_object(),
        "honours": sorted(method.adjustable_limits),
        "ordered": method.ordered,
        "domain": method.domain,
        "guarantee": method.guarantee,
        "complexity": method.complexity,
        "reference": method.reference,
    }


def method_text(row: Row) -> str:
    """One method; markup of rich.

    Args:
        row: as `method_object` says, and `applies` and `refusal` where it was asked for a machine.
    """
    from rich.markup import escape

    from conset.machine.limits import Limits

    keeps = f"; {', '.join(row['honours'])} at any value" if row["honours"] else ""
    lines = {
        "limits": f"{Limits(**row['limits'])}{keeps}",
        "requires": row["domain"],
        "guarantees": row["guarantee"] + ("; keeps a partial order" if row["ordered"] else ""),
        "takes": row["complexity"],
        "from": row["reference"],
    }
    if "applies" in row:
        lines["applies"] = "yes" if row["applies"] else f"no: {row['refusal']}"
    body = (f"  [dim]{name:<11}[/]{escape(text)}" for name, text in lines.items())
    return "\n".join([f"[bold]{row['name']}[/]  {escape(row['title'])}", *body])


def generator_object(name: str) -> dict[str, Any]:
    """One row; the default of sides that is empty is what their help says."""
    from conset.pattern.generators.table import GENERATORS

    row = GENERATORS[name]
    return {
        "name": name,
        "summary": row.summary,
        "arguments": {
            word: {
                "default": _written(each.default),
                "help": each.help,
                **({"choices": list(each.choices)} if each.choices else {}),
            }
            for word, each in row.arguments.items()
        },
        "requires": row.requires,
        "random": row.random,
        "sized": row.sized,
        "example": row.example,
    }


def _written(default: float | str | tuple[int, ...]) -> float | str | list[int]:
    """As a spec has it; the empty sides of a default that others decide are a list."""
    if not isinstance(default, tuple):
        return default
    return "x".join(map(str, default)) or []


def generator_text(row: Row) -> str:
    """One pattern as `generator_object` says it, with its arguments."""
    lines = [f"{row['name']}  {row['summary']}"]
    for word, argument in row["arguments"].items():
        default = argument["default"]
        text = "" if default == [] else f" (default: {default})"
        lines.append(f"  {word:<12}{argument['help']}{text}")
    if row["sized"]:
        lines.append(
            f"  {'size':<12}of a message: computed; where it is given, drawn instead for the "
            "same messages"
        )
    lines.append(f"  {'requires':<12}{row['requires']}")
    if row["example"]:
        lines.append(f"  {'example':<12}{row['example']}")
    return "\n".join(lines)


def generators_text(
    rows: Sequence[Row], common: Mapping[str, str], files: Sequence[Row] = ()
) -> str:
    """All of `rows`, what every pattern takes, and the files that are patterns.

    Args:
        rows: as `generator_object` says.
        common: argument of every pattern → what it is.
        files: `suffix`, `summary` and `options` of each format.
    """
    texts = [generator_text(row) for row in rows]
    texts.append(
        "\n".join(
            ["every pattern takes", *(f"  {word:<12}{text}" for word, text in common.items())]
        )
    )
    if files:
        lines = (
            f"  {row['suffix']:<12}{', '.join([str(row['summary']), *row['options']])}"
            for row in files
        )
        texts.append("\n".join(["files", *lines]))
    return "\n\n".join(texts)


def checks_text(checks: Sequence[Row]) -> str:
    """What is installed and what is missing, with the commands that bring it; markup of rich.

    Args:
        checks: `name`, `ok`, `broken`, `detail`, `purpose` and `fix` of each library or program.
    """
    from rich.markup import escape

    lines = []
    for check in checks:
        mark = (
            "[green]ok[/]     "
            if check["ok"]
            else "[red]fails[/]  "
            if check["broken"]
            else "[red]missing[/]"
        )
        purpose = f"  [dim]({check['purpose']})[/]" if check["purpose"] else ""
        lines.append(f"  {mark}  {check['name']:<15} {escape(check['detail'])}{purpose}")
    fixes = list(dict.fromkeys(check["fix"] for check in checks if not check["ok"]))
    if not fixes:
        return "\n".join([*lines, "", "Nothing is missing."])
    return "\n".join(
        [
            *lines,
            "",
            "What is missing or fails is mended by",
            *(f"  {escape(fix)}" for fix in fixes),
        ]
    )
