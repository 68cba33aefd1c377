"""`conset predict`: how long a schedule or a program takes.

On its own machine, on another one, or under a what-if; by the machine's model, which simulates it,
or by formula, which sees no message block another.
"""

from __future__ import annotations

from typing import Annotated

from conset.base import UsageError
from conset.cli.inputs import SyncOption
from conset.cli.options import (
    MACHINES,
    RANKINGS,
    FileArgument,
    JsonOption,
    ModeOption,
    SetOption,
    completing,
    manifest_of_file,
    opt,
)
from conset.cli.output import print_json, print_outcome, progress
from conset.compilation import FORMULA
from conset.machine import merge_settings, parse_machine, with_settings
from conset.models import predict_program
from conset.report import prediction_section, program_section
from conset.schedule import Program, read_compiled
from conset.studies import check_by, time_schedule


def command(
    file: FileArgument,
    on: Annotated[
        str | None,
        opt(
            "--on MACHINE",
            "Another machine than the schedule's own.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    sync: SyncOption = None,
    mode: ModeOption = None,
    settings: SetOption = None,
    by: Annotated[
        str | None,
        opt(
            "--by BY",
            "formula, or a model: flow, wormhole, circuit, packet; default: the machine's.",
            complete=completing(*RANKINGS),
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Predict the time of a schedule by the machine's model or by formula, with its terms."""
    check_by(by)
    settings = merge_settings(mode, settings)
    with progress("reading"):
        machine = None if on is None else parse_machine(on)
        found = read_compiled(file)
    if settings is not None:
        machine = with_settings(machine or found.machine, settings)
    given = {"on": on, "sync": sync, "set": settings, "by": by}
    manifest = manifest_of_file("predict", file, found.manifest.seed, given)
    if isinstance(found, Program) and found.paths is None and by in (None, FORMULA):
        if sync not in (None, "barrier"):
            raise UsageError(
                f"--sync {sync}: the formula of a program's switches has barriers; --by "
                "names a model"
            )
        prediction = predict_program(found, machine=machine)
        body = {**prediction.to_object(), "by": FORMULA}
        section, width = program_section(found, prediction, verified=False), 10
    else:
        whole = found.whole
        with progress("predicting", messages=whole.transfers):
            timing = time_schedule(whole, sync=sync, machine=machine, by=by)
        body, section, width = timing.to_object(), prediction_section(timing), 8
    if json:
        print_json("conset/predict@1", body, manifest)
    print_outcome(section, width, json)
