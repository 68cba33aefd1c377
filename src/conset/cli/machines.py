"""`conset machines`: presets, bare networks and families.

Of one machine every number, how sure it is, and whence.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conset.base import UsageError
from conset.cli.options import MACHINES, JsonOption, completing, opt
from conset.cli.output import console, print_json
from conset.machine import PRESETS, TEXTS, TODAY, Machine, parse_machine, write_machine
from conset.report import (
    TEXTS_ARE,
    described,
    families_object,
    families_table,
    machine_table,
    networks_object,
    networks_table,
    of_preset,
    presets_table,
    published_table,
    remarks_table,
    structure_rows,
)
from conset.schedule import Manifest, sha256_of

if TYPE_CHECKING:
    from rich.console import Console


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=completing(*MACHINES),
            help="A preset, or any machine (paragon:8x8, torus:8x8, cluster.toml).",
        ),
    ] = None,
    as_json: JsonOption = False,
    output: Annotated[
        Path | None,
        opt("-o/--output FILE", "The machine for programs without Python: x.machine."),
    ] = None,
) -> None:
    """List the machines, or one: every number with its unit, its tag and its source."""
    machines = [parse_machine(spec) for spec in ((name,) if name else PRESETS if as_json else ())]
    if output is not None:
        if not name:
            raise UsageError(
                f"-o {output}: a file holds one machine; name it, as in conset machines "
                f"paragon:8x8 -o {output}"
            )
        write_machine(output, machines[0])
    if as_json:
        arguments = f"machines {name}" if name else "machines"
        digest = sha256_of(" ".join(machine.name for machine in machines))
        body: dict[str, object] = {"machines": [described(machine) for machine in machines]}
        if not name:
            body |= {"networks": networks_object(), "families": families_object()}
        print_json("conset/machines@1", body, Manifest(command=arguments, input_sha256=digest))
        return
    out = console()
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = 140  # a table of sources in the usual 80 is all line breaks
    if name:
        _print_one(out, machines[0])
    else:
        _print_list(out)


def _print_one(out: Console, machine: Machine) -> None:
    own = of_preset(machine)
    if own is not None:
        out.print(own.about, markup=False)
    out.print(machine_table(machine, structure_rows(own, machine) if own is not None else ()))
    if own is not None and own.published:
        out.print(published_table(own))
    out.print(remarks_table(machine, own))


def _print_list(out: Console) -> None:
    out.print(presets_table("machines of today", TODAY))
    out.print()
    out.print(presets_table("machines of the texts", TEXTS))
    out.print(TEXTS_ARE)
    out.print()
    out.print(networks_table())
    out.print()
    out.print(families_table())
    out.print("\nconset machines NAME: every number with its tag and source; the same with --json.")
