"""`conset calibrate`.

The words of a machine, measured over MPI, with intervals and exchanges held back.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from conset.machine.machine import Machine
    from conset.studies.calibrate.measurements import Measurements

SCHEMA = "conset/calibrate@1"


def command(
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="NETWORK",
            help=(
                "The network as you know it (mesh:4x4, a family, a file); its costs are "
                "measured. Default: crossbar."
            ),
        ),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            "--ranks",
            metavar="N",
            help="Ranks to start, rank r on node r; default: one on every endpoint.",
        ),
    ] = None,
    mpiexec: Annotated[
        str | None,
        typer.Option(
            "--mpiexec",
            metavar="CMD",
            help="Another launcher than the wheel's: 'mpiexec --oversubscribe', srun.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes and repetitions: half a minute.")
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="T",
            help="Time of all repetitions: 3min, 40s. Default 90s, with --quick 20s.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE.json",
            help=(
                "Keep the measured times there; where the file exists they are read, and nothing "
                "is executed."
            ),
        ),
    ] = None,
    emulate: Annotated[
        str | None,
        typer.Option(
            "--emulate",
            metavar="MACHINE",
            help="Ask this machine's simulation, with noise, instead of a job over MPI.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE.html",
            help="A report: plots of measured against fitted, all figures.",
        ),
    ] = None,
    seed: o.SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="machine.toml",
            help="The machine file; without it none is written.",
        ),
    ] = None,
    json: o.JsonOption = False,
) -> None:
    """Measure the words of your machine over MPI, with intervals.

    Overheads, latency, rates, barriers, contention.
    """
    from conset.base.errors import ConsetError, UsageError
    from conset.base.files import require_replaceable
    from conset.base.units import parse_time
    from conset.cli.output import console, print_json, print_parts, progress
    from conset.cli.run import ended_by_signals, refuse_ranks
    from conset.execution.launcher import find_job
    from conset.report.calibration import (
        calibration_lines,
        held_back_table,
        words_table,
        write_calibration_page,
    )
    from conset.report.page import check_page_path
    from conset.schedule.manifest import Manifest, sha256_of
    from conset.studies.calibrate.calibrate import calibrate
    from conset.studies.calibrate.measurements import read_measurements

    if emulate is not None and mpiexec is not None:
        raise UsageError("--emulate: nothing is executed, leave out --mpiexec")
    refuse_ranks(mpiexec)
    for path in (output, page, data):
        if path is not None:
            require_replaceable(path)
    if output is not None and output.suffix.lower() != ".toml":
        raise UsageError(f"-o {output}: a machine file must end in .toml, given '{output.suffix}'")
    if page is not None:
        check_page_path(page)
    known = read_measurements(data) if data is not None and data.exists() else None
    machine, ranks = _stated(on, ranks, known is not None)
    budget = None if time is None else parse_time(time, "--time")
    job = find_job()
    speaks = job is None or job[0] == 0
    so_far = [""]

    def say(text: str) -> None:
        so_far[0] = text

    def keep(measured: Measurements) -> None:
        if data is not None and speaks:
            measured.write(data)

    try:
        with ended_by_signals(), progress("calibrating", detail=lambda: so_far[0]):
            found = calibrate(
                machine,
                ranks=ranks,
                mpiexec=mpiexec,
                quick=quick,
                budget_s=budget,
                seed=seed,
                data=known,
                emulated=None if emulate is None else _machine(emulate),
                say=say,
                keep=keep,
            )
    except ConsetError as error:
        if not speaks:
            raise typer.Exit(error.exit_code) from None
        raise
    if not speaks:
        return
    if output is not None:
        found.write(output)
    line = _command(on, ranks, quick=quick, emulate=emulate)
    if page is not None:
        with progress("drawing"):
            write_calibration_page(page, found, line)
    if json:
        digest = sha256_of(found.data.digest_text())
        print_json(SCHEMA, found.to_object(), Manifest(line, seed, digest))
    print_parts([words_table(found), held_back_table(found)], json)
    for text in calibration_lines(found):
        console(json).print(text, markup=False)


def _machine(spec: str) -> Machine:
    from conset.inputs import load_machine

    return load_machine(spec)


def _stated(on: str | None, ranks: int | None, known: bool) -> tuple[Machine, int | None]:
    """The network, and the ranks: of a running job those it has."""
    from conset.execution.launcher import find_job

    job = find_job()
    if job is not None and ranks is None and not known:
        ranks = job[1]
    if on is None:
        on = f"crossbar:{ranks or max(2, len(os.sched_getaffinity(0)))}"
    return _machine(on), ranks


def _command(on: str | None, ranks: int | None, *, quick: bool, emulate: str | None) -> str:
    """What was asked, for the manifest: no paths, no times."""
    words = ["conset calibrate"]
    words += [f"--on {on}"] if on is not None else []
    words += [f"--ranks {ranks}"] if ranks is not None else []
    words += ["--quick"] if quick else []
    words += [f"--emulate {emulate}"] if emulate is not None else []
    return " ".join(words)
