"""`conset machines`: the presets, every number with its unit, how sure it is, and where it comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli.options import JsonOption
from conset.cli.output import console, print_json
from conset.schedule.manifest import Manifest, sha256_of

if TYPE_CHECKING:
    from rich.console import Console

    from conset.machine.machine import Machine

TEXTS = (
    "Texts: 000 Feldmann, Stricker, Warfel (ConSet); 001 Wang, Ranka; 002 Thakur, Choudhary, Fox; 003 Bokhari, Nicol."
)
BARE = "Bare networks, with default costs: mesh:8x8, torus:8x8x8, hypercube:6, ring:9, crossbar:64."

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="A preset, or any machine (paragon:8x8, torus:8x8, cluster.toml)."),
]


def command(name: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the machines: every number with its unit, its tag and its source."""
    from conset.machine.spec import PRESETS, parse_machine

    machines = [parse_machine(spec) for spec in ((name,) if name else PRESETS)]
    if as_json:
        arguments = f"machines {name}" if name else "machines"
        digest = sha256_of(" ".join(machine.name for machine in machines))
        body = {"machines": [machine_object(machine) for machine in machines]}
        print_json("conset/machines@1", body, Manifest(command=arguments, input_sha256=digest))
        return
    out = console()
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = 140  # a table of sources in the usual 80 is all line breaks
    for machine in machines:
        _print(machine, out)
    if not name:
        out.print(f"{TEXTS}\n{BARE}")


def machine_object(machine: Machine) -> dict[str, Any]:
    """One machine as an object: network, routing, limits, costs (also those of single methods), notes."""
    topology, routing = machine.topology, machine.routing
    return {
        "name": machine.name,
        "network": {
            "kind": topology.kind,
            "sides": list(topology.sides),
            "nodes": topology.nodes,
            "endpoints": topology.endpoints,
            "links": topology.links,
        },
        "routing": {"rule": routing.rule, "tie": routing.tie},
        "limits": {**machine.limits.to_object(), "methods": list(machine.limits_methods)},
        "mode": machine.mode,
        "modes": list(machine.modes),
        "costs": _cost_rows(machine),
        "notes": list(machine.notes),
    }


def _cost_rows(machine: Machine) -> list[dict[str, Any]]:
    """Every number once; of the costs of single methods only what differs from the others."""
    from conset.machine.words import group_of, listed, plain

    rows = []
    common = listed(machine.costs)
    for method, costs in ((None, machine.costs), *machine.method_costs.items()):
        for row in listed(costs):
            if method is not None and row in common:
                continue
            word, text, unit, origin = row
            rows.append(
                {
                    "word": word,
                    "group": group_of(word),
                    "method": method,
                    "value": plain(costs, word),
                    "text": text,
                    "unit": unit,
                    "tag": origin.tag,
                    "source": origin.source,
                }
            )
    return rows


def _print(machine: Machine, out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    topology = machine.topology
    shape = "x".join(map(str, topology.sides)) or f"{topology.endpoints} endpoints"
    routing = machine.routing.rule + (f", tie {machine.routing.tie}" if topology.wraps else "")
    table = Table(title=f"{escape(machine.name)}: {topology.kind} {shape}, {topology.links} links, {routing}")
    table.title_justify = "left"
    for column in ("cost", "value", "tag"):
        table.add_column(column, no_wrap=column != "tag")
    table.add_column("source", overflow="fold", ratio=1)
    rows = _cost_rows(machine)
    for group in dict.fromkeys(row["group"] for row in rows):
        members = [row for row in rows if row["group"] == group]
        if group not in (row["word"] for row in members):
            table.add_row(f"[bold]{group}[/]", "", "", "")
        for row in members:
            word = "  " * (row["word"] != group) + row["word"] + (f" ({row['method']})" if row["method"] else "")
            table.add_row(*(escape(cell) for cell in (word, row["text"], row["tag"], row["source"])))
        table.add_section()
    out.print(table)
    limits = str(machine.limits)
    if limits != "none":
        methods = f" for {', '.join(machine.limits_methods)}" if machine.limits_methods else ""
        out.print(f"Hard limits{methods}: {limits}.", markup=False)
    if machine.modes:
        own = machine.mode or "none of them"
        out.print(f"Transfer modes (--mode): {', '.join(machine.modes)}; these numbers are for {own}.", markup=False)
    for note in machine.notes:
        out.print(f"- {note}", markup=False)
    out.print()
