"""`conset predict`: how long a schedule takes by formula, on its own machine, on another one, or under a what-if."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conset.prediction import Prediction


def command(
    file: o.FileArgument,
    on: o.OtherMachineOption = None,
    sync: o.SyncOption = None,
    mode: o.ModeOption = None,
    settings: o.SetOption = None,
    json: o.JsonOption = False,
) -> None:
    """Predict the time of a schedule by one formula per policy, with its terms."""
    from conset.cli.output import console, print_json
    from conset.cli.programs import predict_file
    from conset.cli.progress import progress
    from conset.errors import UsageError
    from conset.machine.settings import with_settings, words_of
    from conset.machine.spec import parse_machine
    from conset.prediction import predict
    from conset.schedule.file import read_schedule
    from conset.schedule.manifest import Manifest, sha256_of
    from conset.schedule.program_document import is_program

    settings = words_of(mode, settings)
    if is_program(file):
        if sync not in (None, "barrier"):
            raise UsageError(f"--sync {sync}: the switches of a program are barriers")
        predict_file(file, on, settings, json)
        return
    with progress("reading"):
        machine = None if on is None else parse_machine(on)
        schedule = read_schedule(file)
    if settings is not None:
        machine = with_settings(machine or schedule.machine, settings)
    with progress("predicting"):
        prediction = predict(schedule, sync=sync, machine=machine)
    given = (("--on", on), ("--sync", sync), ("--set", settings))
    words = [f"{option} {value}" for option, value in given if value is not None]
    manifest = Manifest(" ".join(["conset predict", file.name, *words]), schedule.manifest.seed, sha256_of(file))
    if json:
        print_json("conset/predict@1", prediction.to_object(), manifest)
    console(json).print(describe(prediction), markup=False)


def describe(prediction: Prediction) -> str:
    """The time, its terms, its formula and what takes longest, for people."""
    from conset.units import format_time

    terms = ", ".join(f"{name} {format_time(value)}" for name, value in prediction.terms.items())
    lines = [
        f"{format_time(prediction.time_s)} on {prediction.machine} under sync {prediction.sync}",
        f"  terms    {terms}",
        f"  formula  {prediction.formula}",
        f"  busiest  {prediction.witness}",
    ]
    phases = prediction.phase_s
    if phases.size > 1:
        spread = " to ".join(dict.fromkeys(format_time(edge) for edge in (phases.min(), phases.max())))
        lines.append(f"  phases   {phases.size:,}, each moves the end by {spread}")
    if prediction.computation:
        lines.append(f"  {computation_words(prediction.computation)}")
    lines += [f"  warning  {line}" for line in prediction.warnings]
    return "\n".join(lines)


def computation_words(beside: Mapping[str, float]) -> str:
    """`compute  1 ms at every node, 0.4 ms of it hidden: 2.3 ms in all`."""
    from conset.units import format_time

    whole, hidden, both = (format_time(beside[key]) for key in ("computation_s", "hidden_s", "with_computation_s"))
    return f"compute  {whole} at every node, {hidden} of it hidden: {both} in all"
