"""`conset run`: a schedule or a program executed over MPI beside its rivals, every byte checked.

With `--at-run-time` a pattern, which the ranks schedule themselves: what that costs, measured in a
job and predicted beyond it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from conset.api import run, run_at_run_time
from conset.base import UsageError, VerificationError, count_of, require_suffix
from conset.cli.inputs import (
    Reading,
    SyncOption,
    manifest_of,
    one_speaks,
    read_verified,
    refuse_ranks,
)
from conset.cli.options import (
    InFlightOption,
    JsonOption,
    MpiexecOption,
    expanded,
    manifest_of_file,
    opt,
    refuse,
)
from conset.cli.output import console, print_json, print_outcome, print_sections, progress
from conset.execution import find_job
from conset.models import parse_count
from conset.report import run_section, run_time_section, write_report
from conset.schedule import InFlight, Manifest
from conset.studies import RunTimeResult


@expanded()
def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A schedule file (.json or .npz) or a program file (.json); with "
            "--at-run-time a pattern.",
        ),
    ],
    sync: SyncOption = None,
    in_flight: InFlightOption = None,
    repeat: Annotated[int, opt("--repeat R", "Repetitions that are timed.", least=1)] = 20,
    mpiexec: MpiexecOption = None,
    at_run_time: Annotated[
        bool,
        opt(
            "--at-run-time",
            "FILE is a pattern, scheduled by the ranks themselves: what it costs and gains.",
        ),
    ] = False,
    on: Annotated[
        str | None,
        opt("--on MACHINE", "With --at-run-time: what schedules are made for."),
    ] = None,
    methods: Annotated[
        str | None,
        opt("--methods A,B,…", "With --at-run-time: methods beside the naive exchange."),
    ] = None,
    ranks: Annotated[
        int | None,
        opt("--ranks N", "With --at-run-time: ranks to start; default: the machine's."),
    ] = None,
    predict: Annotated[
        str | None,
        opt(
            "--predict N,N,…",
            "With --at-run-time: for so many ranks by model; no job without --ranks.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        opt("--seed N", "With --at-run-time: seed of every random choice; default 0."),
    ] = None,
    *,
    reading: Reading,
    output: Annotated[
        Path | None,
        opt("-o/--output FILE.md", "With --at-run-time: writes the tables."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Execute a schedule or a program over MPI beside its baselines, every byte checked."""
    given: dict[str, Any] = {"methods": methods, "ranks": ranks, "predict": predict}
    if at_run_time:
        refuse({"sync": sync, "in_flight": in_flight}, "does not go with --at-run-time")
        if on is None:
            raise UsageError("--at-run-time: a machine is required, as --on mesh:4x4")
    else:
        others = {"seed": seed, "output": output} | reading.given()
        refuse({"on": on} | given | others, "goes only with --at-run-time")
    job = find_job()
    speaks = job is None or job[0] == 0  # of the ranks of a running job one reports the result
    with one_speaks(speaks):
        refuse_ranks(mpiexec)
        if on is None:
            mismatches = _run_file(Path(file), sync, in_flight, repeat, mpiexec, json, speaks)
        else:
            if output is not None:
                require_suffix(output, "a report", ".md")
            how = {**given, "predict": parse_ranks(predict), "repeat": repeat, "seed": seed or 0}
            with progress("measuring run-time scheduling"):
                result = run_at_run_time(file, on, mpiexec=mpiexec, **how, **reading.arguments())
            mismatches = result.mismatches
            if speaks:
                given |= {"repeat": repeat} | reading.given()
                manifest = manifest_of("run --at-run-time", file, on, seed or 0, given)
                _print_run_time(result, manifest, output, json)
    if mismatches:
        # not an error object: the result, which has been printed, says it in full
        raise typer.Exit(VerificationError.exit_code)


def _print_run_time(
    result: RunTimeResult, manifest: Manifest, output: Path | None, as_json: bool
) -> None:
    section = run_time_section(result)
    if as_json:
        print_json("conset/run-time@1", result.to_object(), manifest)
    print_sections([section], as_json)
    if output is not None:
        write_report(output, [section])


def _run_file(
    file: Path,
    sync: str | None,
    in_flight: str | None,
    repeat: int,
    mpiexec: str | None,
    as_json: bool,
    speaks: bool,
) -> int:
    """Execute a schedule or a program, and print; the number of wrong bytes."""
    what = read_verified(file)
    flight: InFlight | None = (
        None if in_flight is None else parse_count(in_flight, "in_flight") or "all"
    )
    with progress(f"running on {count_of(what.ranks, 'rank')}"):
        result = run(what, sync=sync, in_flight=flight, repeat=repeat, mpiexec=mpiexec)
    if not speaks:
        return result.mismatches
    given = {"sync": result.sync, "repeat": repeat, "in_flight": flight or result.in_flight}
    if as_json:
        manifest = manifest_of_file("run", file, what.manifest.seed, given)
        print_json("conset/run@1", result.to_object(), manifest)
    text = console(as_json)
    print_outcome(run_section(result), 14, as_json)
    for note in result.notes:
        text.print(note, markup=False)
    if result.mismatches:
        text.print(f"wrong bytes: {'; '.join(result.wrong)}", style="bold red", markup=False)
    return result.mismatches


def parse_ranks(text: str | None) -> tuple[int, ...]:
    """`1024,4096` → (1024, 4096); nothing where there is no text.

    Raises:
        UsageError: what is no whole number of at least 1.
    """
    found = []
    for part in [] if text is None else text.split(","):
        word = part.strip()
        if not (word.isascii() and word.isdigit() and 0 < int(word) < 10**9):
            raise UsageError(
                f"predict '{text}': '{word}': a number of ranks is required", options=["predict"]
            )
        found.append(int(word))
    return tuple(found)
