"""`conset plan`: what each rank executes of a schedule or a program.

As a file for programs without Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from conset.api import plan
from conset.base import (
    VERSION,
    FlatValue,
    InputError,
    UsageError,
    require_replaceable,
    require_suffix,
)
from conset.cli.inputs import SyncOption, read_verified
from conset.cli.options import InFlightOption, JsonOption, manifest_of_file, opt, refuse
from conset.cli.output import print_json, print_outcome, progress
from conset.execution import (
    PLAN,
    SUFFIX,
    ConnectionEntries,
    CProgramHead,
    keeps_order,
    plan_items,
    write_c_program,
    write_plan_file,
)
from conset.execution.connection_entries import connection_entries
from conset.models import parse_count
from conset.pattern import read_layout
from conset.report import plan_section, summarize_connections, summarize_plan
from conset.schedule import InFlight, Program, Schedule


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A schedule file (.json or .npz) or a program file (.json)."
        ),
    ],
    sync: SyncOption = None,
    in_flight: InFlightOption = None,
    layout: Annotated[
        Path | None,
        opt("--layout FILE.npz", "Where items lie in the application's arrays (of compile)."),
    ] = None,
    element: Annotated[
        str | None,
        opt(
            "--element T",
            "What these arrays are made of: float64, int32 … Default: by the word's size.",
        ),
    ] = None,
    connections: Annotated[
        bool,
        opt(
            "--connections",
            "Write only what is opened: of programs with more repetitions than a plan can list.",
        ),
    ] = False,
    c_text: Annotated[
        bool,
        opt("--c", "Write the communication as a C source for people to read and programs to use."),
    ] = False,
    output: Annotated[
        Path | None,
        opt("-o/--output x.plan|x.c", "Where to write the plan for C programs; or C."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Plan what each rank executes; with -o a file for programs without Python."""
    c_text = _check_output(output, c_text)
    if connections and c_text:
        raise UsageError("--connections: is of the plan, a C source has nothing else")
    if element is not None and layout is None:
        raise UsageError(f"--element {element}: is for the arrays of --layout")
    if connections or c_text:
        rule = f"is of the plan, which {'--c' if c_text else '--connections'} leaves out"
        refuse({"sync": sync, "in_flight": in_flight, "layout": layout}, rule)
    flight: InFlight | None = (
        None if in_flight is None else parse_count(in_flight, "in_flight") or "all"
    )
    what = read_verified(file)
    with progress("planning"):
        planned = None if connections or c_text else plan(what, sync=sync, in_flight=flight)
        items = None if layout is None else _items(what, layout, element)
        opened = _connections(what, "--c" if c_text else "--connections" if connections else None)
    if output is not None:
        with progress("writing"):
            if c_text and opened is not None:
                _write_c(file, what, opened, output)
            else:
                write_plan_file(planned, output, items, opened)
    body: dict[str, Any] = {}
    if planned is not None:
        body |= summarize_plan(planned)
    if opened is not None:
        body |= summarize_connections(opened)
    if json:
        name = None if layout is None else layout.name
        given: dict[str, Any] = {
            "sync": sync,
            "in_flight": in_flight,
            "layout": name,
            "element": element,
        }
        given |= {"c": True} if c_text else {"connections": connections}
        seed = what.manifest.seed
        print_json("conset/plan@1", body, manifest_of_file("plan", file, seed, given))
    print_outcome(plan_section(body), 14, json)


def _check_output(output: Path | None, c_text: bool) -> bool:
    """Whether a C source is written; checks that the output may be.

    Raises:
        UsageError: another suffix, or `--c` without an output. InputError: it cannot be written.
    """
    if output is None:
        if c_text:
            raise UsageError("--c: -o x.c says where to write")
        return False
    if c_text or output.suffix == SUFFIX:
        require_replaceable(require_suffix(output, "a C source", SUFFIX))
        return True
    require_replaceable(require_suffix(output, *PLAN))
    return False


def _write_c(file: Path, what: Schedule | Program, opened: ConnectionEntries, output: Path) -> None:
    """Writes the communication in C."""
    program = Program.of(what)
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
    if isinstance(what, Program) and what.paths is not None:
        if option is not None:
            raise UsageError(
                f"{option}: the program forwards messages, only programs of blocks are opened"
            )
        return None
    return connection_entries(what)


def _items(what: Schedule | Program, layout: Path, element: str | None) -> dict[str, FlatValue]:
    """Where the bytes lie in arrays that are laid out as a file says."""
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
