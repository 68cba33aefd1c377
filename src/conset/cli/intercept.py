"""`conset intercept`: an unmodified MPI program with its all-to-all exchanges in a better order."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from conset.base import UsageError, format_time, replacing, require_replaceable, require_suffix
from conset.cli.config import find_c_library
from conset.cli.options import MACHINES, OF_PROGRAMS, CommandArgument, completing, opt
from conset.cli.output import object_text, print_note
from conset.execution import PLANS, preloaded, run_program, why_nothing
from conset.inputs import load_machine
from conset.schedule import Manifest

CONTEXT = OF_PROGRAMS
START = "from conset.cli.main import main; main()"
"""A program that is this command line, for the interpreter of this process."""


def command(
    program: CommandArgument,
    advice: Annotated[
        Path | None, opt("--advice DIR", "A record with the plans of `conset advise DIR --on …`.")
    ] = None,
    on: Annotated[
        str | None,
        opt(
            "--on MACHINE",
            "Without a record: plans are compiled from the first calls while the program runs.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    always: Annotated[
        bool, opt("--always", "Use the plans without trying whether they are faster.")
    ] = False,
    never: Annotated[bool, opt("--never", "Use no plan: times of the library alone.")] = False,
    output: Annotated[
        Path | None, opt("-o/--output FILE.json", "Where to write the lines of the end as JSON.")
    ] = None,
) -> None:
    """Run an unmodified MPI program with its all-to-all exchanges in a better order."""
    if always and never:
        raise UsageError("--always, --never: at most one is allowed")
    if output is not None:
        require_replaceable(require_suffix(output, "a summary", ".json"))
    variables, why_not = _plans_from(advice, on)
    with tempfile.TemporaryDirectory(prefix="conset-") as folder:
        ends = Path(folder) / "summary"
        if variables:
            variables |= {
                "CONSET_INTERCEPT": "always" if always else "never" if never else "auto",
                "CONSET_SUMMARY": str(ends),
            }
            status = run_program(*preloaded(program, find_c_library().preloaded, variables))
        else:
            print_note(f"{why_not}: the program runs unchanged")
            status = run_program(program, os.environ)
        lines = ends.read_text().splitlines() if ends.exists() else []
    found = [json.loads(line) for line in lines]
    if variables and not found:
        reason = why_nothing(program, status, "called an exchange that has a plan")
        found = [{"note": f"nothing was intercepted: {reason}"}]
    for each in found:
        print_note(each["note"] if "note" in each else plan_line(each))
    if output is not None:
        body = {
            "plans": [each for each in found if "note" not in each],
            "notes": [each["note"] for each in found if "note" in each],
            "status": status,
        }
        with replacing(output) as path:
            path.write_text(object_text("conset/intercept@1", body, Manifest("conset intercept")))
    raise typer.Exit(status)


def _plans_from(advice: Path | None, on: str | None) -> tuple[dict[str, str], str]:
    """(variables that name the plans or the command that makes them, why there are none).

    Raises:
        UsageError: both, a folder without plans, or no such machine.
    """
    if advice is not None and on is not None:
        raise UsageError("--advice, --on: at most one is allowed")
    if advice is not None:
        if not (advice / PLANS).is_file():
            raise UsageError(
                f"--advice {advice}: has no {PLANS}, which `conset advise {advice} --on MACHINE` "
                "writes"
            )
        if re.fullmatch(r"\S+\s+ranks \d+\s+", (advice / PLANS).read_text(errors="replace")):
            return {}, f"--advice {advice}: no exchange has a plan, none is predicted to gain"
        return {"CONSET_ADVICE": str(advice.resolve())}, ""
    if on is None:
        return {}, "neither --advice nor --on is given"
    load_machine(on)
    conset = shlex.join([sys.executable, "-P", "-c", START, "advise"])
    machine = shlex.join(["--on", on, "--plans-only"])
    # the files of the machine are named from the folder where the command was typed
    return {
        "CONSET_ADVISE": f"cd {shlex.quote(os.getcwd())} && unset LD_PRELOAD && "
        f'exec {conset} "$1" {machine}'
    }, ""


def plan_line(plan: Mapping[str, Any]) -> str:
    """Return what became of a plan: calls, median time of a call in both orders, the choice."""
    own_s, ordered_s = plan["own_s"], plan["ordered_s"]
    times = [f"own {format_time(own_s)}"] if own_s else []
    times += [f"ordered {format_time(ordered_s)}"] if ordered_s else []
    parts = ", ".join([f"{plan['calls']:,} calls", *times])
    gain = f" ({own_s / ordered_s:.2f} x)" if own_s and ordered_s else ""
    return (
        f"{plan['kind']} on {plan['ranks']} ranks: {parts}{' a call' if times else ''}: "
        f"{plan['choice']}{gain}"
    )
