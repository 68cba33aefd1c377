"""`conset methods`: the table of all methods, as the compiler reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli.options import JsonOption

if TYPE_CHECKING:
    from conset.methods.method import Method

SCHEMA = "conset/methods@1"


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One method; without it all of them.")] = None,
    json: JsonOption = False,
) -> None:
    """List the methods, or one: limits, domain, guarantee, complexity, reference."""
    from conset.cli.output import console, print_json
    from conset.methods.table import find_method, table
    from conset.schedule.manifest import Manifest

    rows = [method_object(method) for method in (table().values() if name is None else [find_method(name)])]
    if json:
        command = "conset methods" if name is None else f"conset methods {name}"
        print_json(SCHEMA, {"methods": rows}, Manifest(command=command))
    console(json).print("\n\n".join(_block(row) for row in rows))


def method_object(method: Method) -> dict[str, Any]:
    """One row; `limits` are those on a mesh, `honours` the limits it keeps at any other value."""
    from conset.network.topology import Topology

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


def _block(row: dict[str, Any]) -> str:
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
    body = (f"  [dim]{name:<11}[/]{escape(text)}" for name, text in lines.items())
    return "\n".join([f"[bold]{row['name']}[/]  {escape(row['title'])}", *body])
