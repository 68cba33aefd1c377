"""`conset machines`: the presets, every number with its unit, how sure it is, and where it comes from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from conset.cli.options import JsonOption
from conset.cli.output import console, print_json
from conset.schedule.manifest import Manifest, sha256_of

TEXTS = (
    "Texts: 000 Feldmann, Stricker, Warfel (ConSet); 001 Wang, Ranka; 002 Thakur, Choudhary, Fox; 003 Bokhari, Nicol."
)
BARE = "Bare networks, with default costs: mesh:8x8, torus:8x8x8, hypercube:6, ring:9, crossbar:64."

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="A preset, or any machine (paragon:8x8, torus:8x8, cluster.toml)."),
]


OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="The machine for programs without Python: x.machine."),
]


def command(name: NameArgument = None, as_json: JsonOption = False, output: OutputOption = None) -> None:
    """List the machines: every number with its unit, its tag and its source."""
    from conset.errors import UsageError
    from conset.formats.machine_file import write_machine
    from conset.machine.spec import PRESETS, parse_machine
    from conset.report.machine import machine_lines, machine_table
    from conset.report.objects import machine_object

    machines = [parse_machine(spec) for spec in ((name,) if name else PRESETS)]
    if output is not None:
        if not name:
            raise UsageError(
                f"-o {output}: a file holds one machine; name it, as in conset machines paragon:8x8 -o {output}"
            )
        write_machine(output, machines[0])
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
        out.print(machine_table(machine))
        for line in machine_lines(machine):
            out.print(line)
        out.print()
    if not name:
        out.print(f"{TEXTS}\n{BARE}")
