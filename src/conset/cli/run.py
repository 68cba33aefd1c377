"""`conset run`: a schedule or program file run over MPI beside its rivals, every byte checked."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o
from conset.cli import run_time as r

if TYPE_CHECKING:
    from conset.execution.run import RunResult
    from conset.schedule.policy import InFlight
    from conset.schedule.program import Program
    from conset.schedule.schedule import Schedule

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help=(
                "A schedule file (.json or .npz) or a program file (.json); with "
                "--at-run-time a pattern."
            ),
        ),
    ],
    sync: o.SyncOption = None,
    in_flight: o.InFlightOption = None,
    repeat: Annotated[
        int, typer.Option("--repeat", metavar="R", help="Repetitions that are timed.", min=1)
    ] = 20,
    mpiexec: Annotated[
        str | None,
        typer.Option(
            "--mpiexec",
            metavar="CMD",
            help="Another launcher than the wheel's: 'mpiexec --oversubscribe', srun.",
        ),
    ] = None,
    at_run_time: r.AtRunTimeOption = False,
    on: r.OnOption = None,
    methods: r.MethodsOption = None,
    ranks: r.RanksOption = None,
    predict: r.PredictOption = None,
    seed: r.SeedOption = None,
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    output: r.TableOption = None,
    json: o.JsonOption = False,
) -> None:
    """Execute a schedule or a program over MPI beside its baselines, every byte checked."""
    from conset.base.errors import ConsetError, VerificationError
    from conset.execution.launcher import find_job

    reading = {"parts": parts, "rows_to": rows_to, "word": word}
    needs = {
        "on": on,
        "methods": methods,
        "ranks": ranks,
        "predict": predict,
        "seed": seed,
        "output": output,
    }
    needs |= {name: value for name, value in reading.items() if value != "8"}
    r.check_kind(
        at_run_time=at_run_time, needs=needs, others={"sync": sync, "in_flight": in_flight}
    )
    job = find_job()
    speaks = job is None or job[0] == 0  # of the ranks of a running job one says what came of it
    try:
        refuse_ranks(mpiexec)
        with ended_by_signals():
            if at_run_time:
                mismatches = r.run_pattern(
                    file,
                    on or "",
                    methods=methods,
                    ranks=ranks,
                    predict=predict,
                    repeat=repeat,
                    seed=seed or 0,
                    mpiexec=mpiexec,
                    reading=reading,
                    output=output,
                    as_json=json,
                    speaks=speaks,
                ).mismatches
            else:
                mismatches = _run_file(Path(file), sync, in_flight, repeat, mpiexec, json, speaks)
    except ConsetError as error:
        if not speaks:
            raise typer.Exit(error.exit_code) from None
        raise
    if mismatches:
        # not an error object: the result, which has been printed, says it in full
        raise typer.Exit(VerificationError.exit_code)


def _run_file(
    file: Path,
    sync: str | None,
    in_flight: str | None,
    repeat: int,
    mpiexec: str | None,
    as_json: bool,
    speaks: bool,
) -> int:
    """Executes a schedule or a program, and prints; the number of wrong bytes."""
    from conset.cli.output import console, print_json
    from conset.cli.verified import read_verified
    from conset.models.settings import parse_count
    from conset.report.outcome import run_table, run_text
    from conset.schedule.manifest import Manifest, sha256_of

    what = read_verified(file)
    flight: InFlight | None = (
        None if in_flight is None else parse_count(in_flight, "in_flight") or "all"
    )
    result = _execute(what, sync, flight, repeat, mpiexec)
    if not speaks:
        return result.mismatches
    flight = flight or result.in_flight
    words = [
        f"--sync {result.sync}",
        f"--repeat {repeat}",
        *([] if flight is None else [f"--in-flight {flight}"]),
    ]
    manifest = Manifest(
        " ".join(["conset run", file.name, *words]), what.manifest.seed, sha256_of(file)
    )
    if as_json:
        print_json("conset/run@1", result.to_object(), manifest)
    text = console(as_json)
    text.print(run_text(result))
    text.print(run_table(result))
    for note in result.notes:
        text.print(note, markup=False)
    if result.mismatches:
        text.print(f"wrong bytes: {'; '.join(result.wrong)}", style="bold red", markup=False)
    return result.mismatches


def refuse_ranks(mpiexec: str | None) -> None:
    """Refuses a launcher that states how many ranks to start: they come from the file."""
    from conset.base.errors import UsageError

    parts = (mpiexec or "").split()
    stated = [word for word in parts if re.fullmatch(r"-np?[0-9]*|--?(np|n|ntasks)(=.*)?", word)]
    if stated:
        raise UsageError(
            f"--mpiexec '{mpiexec}': leave out {stated[0]}: -n and the schedule's ranks are added"
        )


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within: the first of Ctrl-C, SIGTERM, SIGHUP and SIGQUIT ends the job.

    Those that follow do not stop its ending.

    Raises:
        KeyboardInterrupt: one of them came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    # what is ignored, as under nohup, stays so
    before = {
        number: signal.getsignal(number)
        for number in _ENDING
        if signal.getsignal(number) != signal.SIG_IGN
    }

    stop_requested = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal stop_requested
        if not stop_requested:
            stop_requested = True
            raise KeyboardInterrupt

    try:
        for number in before:
            signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _execute(
    what: Schedule | Program,
    sync: str | None,
    in_flight: InFlight | None,
    repeat: int,
    mpiexec: str | None,
) -> RunResult:
    from conset.base.units import count_of
    from conset.cli.output import progress
    from conset.execution.run import run_program, run_schedule
    from conset.schedule.program import Program

    ranks = what.ranks if isinstance(what, Program) else what.pattern.ranks
    with progress(f"running on {count_of(ranks, 'rank')}"):
        if isinstance(what, Program):
            return run_program(what, sync=sync, in_flight=in_flight, repeat=repeat, mpiexec=mpiexec)
        return run_schedule(what, sync=sync, in_flight=in_flight, repeat=repeat, mpiexec=mpiexec)
