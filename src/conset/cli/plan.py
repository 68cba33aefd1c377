"""`conset plan`: what each rank executes of a schedule or a program.

As a file for programs without Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from conset.base.flat import FlatValue
    from conset.execution.connection_entries import ConnectionEntries
    from conset.execution.plan import Plan
    from conset.schedule.policy import InFlight
    from conset.schedule.program import Program
    from conset.schedule.schedule import Schedule


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A schedule file (.json or .npz) or a program file (.json)."
        ),
    ],
    sync: o.SyncOption = None,
    in_flight: o.InFlightOption = None,
    layout: Annotated[
        Path | None,
        typer.Option(
            "--layout",
            metavar="FILE.npz",
            help="Where items lie in the application's arrays (of compile).",
        ),
    ] = None,
    element: Annotated[
        str | None,
        typer.Option(
            "--element",
            metavar="T",
            help="What these arrays are made of: float64, int32 … Default: by the word's size.",
        ),
    ] = None,
    connections: Annotated[
        bool,
        typer.Option(
            "--connections",
            help=(
                "Write only what is opened: of programs with more repetitions than a plan can list."
            ),
        ),
    ] = False,
    c_text: Annotated[
        bool,
        typer.Option(
            "--c",
            help="Write the communication as a C source for people to read and programs to use.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="x.plan|x.c",
            help="Where to write the plan for C programs; or C.",
        ),
    ] = None,
    json: o.JsonOption = False,
) -> None:
    """Plan what each rank executes.

    With -o a file for programs without Python (C, C++, Fortran), or their source.
    """
    from conset.base.errors import UsageError
    from conset.cli.output import console, print_json, progress
    from conset.cli.verified import read_verified
    from conset.execution.plan_file import write_plan_file
    from conset.models.settings import parse_count
    from conset.report.plans import (
        connections_text,
        plan_text,
        summarize_connections,
        summarize_plan,
    )
    from conset.schedule.manifest import Manifest, sha256_of

    c_text = _check_output(output, c_text)
    if connections and c_text:
        raise UsageError("--connections: is of the plan, a C source has nothing else")
    if element is not None and layout is None:
        raise UsageError(f"--element {element}: is for the arrays of --layout")
    if connections or c_text:
        given = {"sync": sync, "in-flight": in_flight, "layout": layout}
        other = next((name for name, value in given.items() if value is not None), None)
        if other is not None:
            raise UsageError(
                f"--{other}: is of the plan, which "
                f"{'--c' if c_text else '--connections'} leaves out"
            )
    flight: InFlight | None = (
        None if in_flight is None else parse_count(in_flight, "in_flight") or "all"
    )
    what = read_verified(file)
    with progress("planning"):
        plan = None if connections or c_text else _plan(what, sync, flight)
        items = None if layout is None else _items(what, layout, element)
        opened = _connections(what, "--c" if c_text else "--connections" if connections else None)
    if output is not None:
        with progress("writing"):
            if c_text and opened is not None:
                _write_c(file, what, opened, output)
            else:
                write_plan_file(plan, output, items, opened)
    summary = ({} if plan is None else summarize_plan(plan)) | (
        {} if opened is None else summarize_connections(opened)
    )
    if json:
        said = {
            "sync": sync,
            "in-flight": in_flight,
            "layout": layout and layout.name,
            "element": element,
        }
        words = [f"--{name} {value}" for name, value in said.items() if value is not None]
        words += ["--c"] if c_text else ["--connections"] if connections else []
        manifest = Manifest(
            " ".join(["conset plan", file.name, *words]), what.manifest.seed, sha256_of(file)
        )
        print_json("conset/plan@1", summary, manifest)
    lines = [
        *([] if plan is None else [plan_text(summary)]),
        *([] if opened is None else [connections_text(summary)]),
    ]
    console(json).print("\n".join(lines))


def _plan(what: Schedule | Program, sync: str | None, in_flight: InFlight | None) -> Plan:
    from conset.execution.planner import plan_program, plan_schedule
    from conset.schedule.program import Program

    if isinstance(what, Program):
        return plan_program(what, sync, in_flight=in_flight)
    return plan_schedule(what, sync, in_flight=in_flight)


def _check_output(output: Path | None, c_text: bool) -> bool:
    """Whether a C source is written; checks that the output may be.

    Raises:
        UsageError: another suffix, or `--c` without an output. InputError: it cannot be written.
    """
    from conset.base.errors import UsageError
    from conset.execution.c_program import SUFFIX, require_c_path
    from conset.execution.plan_file import require_plan_path

    if output is None:
        if c_text:
            raise UsageError("--c: -o x.c says where to write")
        return False
    if c_text or output.suffix == SUFFIX:
        require_c_path(output)
        return True
    require_plan_path(output)
    return False


def _write_c(file: Path, what: Schedule | Program, opened: ConnectionEntries, output: Path) -> None:
    """Writes the communication in C."""
    from conset.base import VERSION
    from conset.execution.c_program import CProgramHead, write_c_program
    from conset.execution.connection_entries import keeps_order
    from conset.schedule.program import Program

    program = what if isinstance(what, Program) else Program.of_schedule(what)
    command = f"conset plan {file.name} --c -o {output.name}"
    ordered = keeps_order(program)
    head = CProgramHead(
        file.name, command, VERSION, program.machine.name, program.switches, ordered
    )
    write_c_program(opened, head, output)


def _connections(what: Schedule | Program, option: str | None) -> ConnectionEntries | None:
    """What is opened; None of a program that forwards, which is executed as one exchange.

    No `option` is for it.
    """
    from conset.base.errors import UsageError
    from conset.execution.connection_entries import connection_entries
    from conset.schedule.program import Program

    if isinstance(what, Program) and what.paths is not None:
        if option is not None:
            raise UsageError(
                f"{option}: the program forwards messages, only programs of blocks are opened"
            )
        return None
    return connection_entries(what)


def _items(what: Schedule | Program, layout: Path, element: str | None) -> dict[str, FlatValue]:
    """Where the bytes lie in arrays that are laid out as a file says."""
    from conset.base.errors import InputError, UsageError
    from conset.execution.plan_file import plan_items
    from conset.pattern.layout import read_layout
    from conset.schedule.program import Program

    if isinstance(what, Program):
        if what.paths is None:
            raise UsageError("--layout: is of one pattern, the program is made of blocks")
        pattern = what.paths.pattern
    else:
        pattern = what.pattern
    found = read_layout(layout)
    try:
        return plan_items(pattern, found, element)
    except InputError as error:
        raise InputError(f"{layout}: {error}") from None
