"""`conset plan`: what each rank executes of a schedule or a program, as a file for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from conset.execution.connection_entries import ConnectionEntries
    from conset.execution.plan import Plan
    from conset.formats.flat import FlatValue
    from conset.program import Program
    from conset.schedule.posting import InFlight
    from conset.schedule.schedule import Schedule


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A schedule file (.json or .npz) or a program file (.json).")
    ],
    sync: o.SyncOption = None,
    in_flight: o.InFlightOption = None,
    layout: Annotated[
        Path | None,
        typer.Option("--layout", metavar="FILE.npz", help="Where items lie in the application's arrays (of compile)."),
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
            help="Write only what is opened: of programs with more repetitions than a plan can list.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="x.plan", help="Where to write the plan for C programs.")
    ] = None,
    json: o.JsonOption = False,
) -> None:
    """Plan what each rank executes; with -o a file for programs without Python (C, C++, Fortran)."""
    from conset.cli.output import console, print_json, progress
    from conset.cli.verified import read_verified
    from conset.errors import UsageError
    from conset.execution.plan_file import require_plan_path, write_plan_file
    from conset.report.plans import connections_text, plan_text, summarize_connections, summarize_plan
    from conset.schedule.manifest import Manifest, sha256_of
    from conset.simulation.settings import parse_count

    if output is not None:
        require_plan_path(output)
    if element is not None and layout is None:
        raise UsageError(f"--element {element}: is for the arrays of --layout")
    if connections:
        given = {"sync": sync, "in-flight": in_flight, "layout": layout}
        other = next((name for name, value in given.items() if value is not None), None)
        if other is not None:
            raise UsageError(f"--{other}: is of the plan, which --connections leaves out")
    flight: InFlight | None = None if in_flight is None else parse_count(in_flight, "in_flight") or "all"
    what = read_verified(file)
    with progress("planning"):
        plan = None if connections else _plan(what, sync, flight)
        items = None if layout is None else _items(what, layout, element)
        opened = _connections(what, required=connections)
    if output is not None:
        with progress("writing"):
            write_plan_file(plan, output, items, opened)
    summary = ({} if plan is None else summarize_plan(plan)) | ({} if opened is None else summarize_connections(opened))
    if json:
        said = {"sync": sync, "in-flight": in_flight, "layout": layout and layout.name, "element": element}
        words = [f"--{name} {value}" for name, value in said.items() if value is not None]
        words += ["--connections"] if connections else []
        manifest = Manifest(" ".join(["conset plan", file.name, *words]), what.manifest.seed, sha256_of(file))
        print_json("conset/plan@1", summary, manifest)
    lines = [*([] if plan is None else [plan_text(summary)]), *([] if opened is None else [connections_text(summary)])]
    console(json).print("\n".join(lines))


def _plan(what: Schedule | Program, sync: str | None, in_flight: InFlight | None) -> Plan:
    from conset.execution.planner import plan_program, plan_schedule
    from conset.program import Program

    if isinstance(what, Program):
        return plan_program(what, sync, in_flight=in_flight)
    return plan_schedule(what, sync, in_flight=in_flight)


def _connections(what: Schedule | Program, required: bool) -> ConnectionEntries | None:
    """What is opened; None of a program that forwards, which is executed as one exchange only."""
    from conset.errors import UsageError
    from conset.execution.connection_entries import connection_entries
    from conset.program import Program

    if isinstance(what, Program) and what.paths is not None:
        if required:
            raise UsageError("--connections: the program forwards messages, only programs of blocks are opened")
        return None
    return connection_entries(what)


def _items(what: Schedule | Program, layout: Path, element: str | None) -> dict[str, FlatValue]:
    """Where the bytes lie in arrays that are laid out as a file says."""
    from conset.errors import InputError, UsageError
    from conset.execution.plan_file import plan_items
    from conset.pattern.layout_file import read_layout
    from conset.program import Program

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
