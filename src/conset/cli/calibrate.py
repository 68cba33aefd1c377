"""`conset calibrate`.

The parameters of a machine, measured over MPI, with intervals and exchanges held back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from conset.base import UsageError, parse_time, require_replaceable, require_suffix
from conset.cli.inputs import one_speaks, refuse_ranks
from conset.cli.options import JsonOption, MpiexecOption, SeedOption, opt, spelled
from conset.cli.output import print_json, print_sections, progress
from conset.execution import find_job
from conset.inputs import load_machine
from conset.machine import Machine
from conset.report import calibration_section, check_page_path, write_calibration_page
from conset.schedule import Manifest, sha256_of
from conset.studies import Calibration, Measurements, read_measurements
from conset.studies.calibrate.calibrate import calibrate


def command(
    on: Annotated[
        str | None,
        opt(
            "--on NETWORK",
            "The network as you know it (mesh:4x4, a family, a file); its costs are "
            "measured. Default: crossbar.",
        ),
    ] = None,
    ranks: Annotated[
        int | None,
        opt("--ranks N", "Ranks to start, rank r on node r; default: one on every endpoint."),
    ] = None,
    ranks_per_node: Annotated[
        int, opt("--ranks-per-node N", "Ranks on each node, one node after the other.")
    ] = 1,
    mpiexec: MpiexecOption = None,
    quick: Annotated[bool, opt("--quick", "Fewer sizes and repetitions: half a minute.")] = False,
    time: Annotated[
        str | None,
        opt("--time T", "Time of all repetitions: 3min, 40s. Default 90s, with --quick 20s."),
    ] = None,
    data: Annotated[
        Path | None,
        opt("--data FILE.json", "Keep the times there; if it exists, read it and run nothing."),
    ] = None,
    emulate: Annotated[
        str | None,
        opt("--emulate MACHINE", "Ask this machine's simulation, with noise, instead of MPI."),
    ] = None,
    page: Annotated[
        Path | None,
        opt("--page FILE.html", "A report: plots of measured against fitted, all figures."),
    ] = None,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        opt("-o/--output machine.toml", "The machine file; without it none is written."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure the parameters of your machine over MPI, with intervals."""
    if emulate is not None and mpiexec is not None:
        raise UsageError("--emulate: nothing is executed, leave out --mpiexec")
    refuse_ranks(mpiexec)
    for path in filter(None, (output, page, data)):
        require_replaceable(path)
    if output is not None:
        require_suffix(output, "a machine file", ".toml")
    if page is not None:
        check_page_path(page)
    known = read_measurements(data) if data is not None and data.exists() else None
    job = find_job()
    speaks = job is None or job[0] == 0
    ranks = job[1] if job is not None and ranks is None and known is None else ranks
    nodes = -(-ranks // max(ranks_per_node, 1)) if ranks else max(2, len(os.sched_getaffinity(0)))
    machine = load_machine(on or f"crossbar:{nodes}")
    how: dict[str, Any] = {"ranks": ranks, "ranks_per_node": ranks_per_node, "mpiexec": mpiexec}
    how |= {"quick": quick, "seed": seed}
    how["budget_s"] = None if time is None else parse_time(time, "--time")
    with one_speaks(speaks):
        how["emulated"] = None if emulate is None else load_machine(emulate)
        found = _calibrated(machine, known, data if speaks else None, how)
    if not speaks:
        return
    if output is not None:
        found.write(output)
    given = {"on": on, "ranks": ranks, "quick": quick, "emulate": emulate}  # no paths, no times
    given |= {"ranks_per_node": ranks_per_node} if ranks_per_node != 1 else {}
    line = " ".join(["conset calibrate", *spelled(given)])
    if page is not None:
        with progress("drawing"):
            write_calibration_page(page, found, line)
    if json:
        digest = sha256_of(found.data.digest_text())
        print_json("conset/calibrate@1", found.to_object(), Manifest(line, seed, digest))
    print_sections([calibration_section(found)], json)


def _calibrated(
    machine: Machine, known: Measurements | None, kept_in: Path | None, how: Mapping[str, Any]
) -> Calibration:
    """The machine as measured; what was measured so far is shown, and kept in a file."""
    so_far = [""]

    def say(text: str) -> None:
        so_far[0] = text

    def keep(measured: Measurements) -> None:
        if kept_in is not None:
            measured.write(kept_in)

    with progress("calibrating", detail=lambda: so_far[0]):
        return calibrate(machine, data=known, say=say, keep=keep, **how)
