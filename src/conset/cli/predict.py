"""`conset predict`: how long a schedule takes on its own or another machine, or under a what-if.

By the machine's model, which simulates it; or by formula, which sees no message block another.
"""

from __future__ import annotations

from typing import Annotated

import typer

from conset.cli import completion as c
from conset.cli import options as o

ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="BY",
        autocompletion=c.complete_ranking,
        help="formula, or a model: flow, wormhole, circuit, packet; default: the machine's.",
    ),
]


def command(
    file: o.FileArgument,
    on: o.OtherMachineOption = None,
    sync: o.SyncOption = None,
    mode: o.ModeOption = None,
    settings: o.SetOption = None,
    by: ByOption = None,
    json: o.JsonOption = False,
) -> None:
    """Predict the time of a schedule by the machine's model or by formula, with its terms."""
    from conset.cli.output import console, print_json, progress
    from conset.cli.programs import predict_file
    from conset.machine.spec import merge_settings, parse_machine, with_settings
    from conset.report.outcome import prediction_text
    from conset.schedule.files.schedule import read_schedule
    from conset.schedule.files.sniff import sniff
    from conset.schedule.manifest import Manifest, sha256_of
    from conset.studies.compare import check_by, time_schedule

    check_by(by)
    settings = merge_settings(mode, settings)
    if sniff(file).form == "program":
        predict_file(file, on, sync, settings, by, json)
        return
    with progress("reading"):
        machine = None if on is None else parse_machine(on)
        schedule = read_schedule(file)
    if settings is not None:
        machine = with_settings(machine or schedule.machine, settings)
    with progress("predicting", messages=schedule.transfers):
        timing = time_schedule(schedule, sync=sync, machine=machine, by=by)
    given = (("--on", on), ("--sync", sync), ("--set", settings), ("--by", by))
    arguments = [f"{option} {value}" for option, value in given if value is not None]
    manifest = Manifest(
        " ".join(["conset predict", file.name, *arguments]), schedule.manifest.seed, sha256_of(file)
    )
    if json:
        print_json("conset/predict@1", timing.to_object(), manifest)
    console(json).print(prediction_text(timing), markup=False)
