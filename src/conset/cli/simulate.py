"""`conset simulate`: how long a schedule or a trace takes, event by event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from conset.cli import completion as c
from conset.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from conset.machine.machine import Machine
    from conset.models import Workload
    from conset.models.timeline_file import Record
    from conset.schedule.manifest import Manifest
    from conset.schedule.policy import InFlight

SCHEMA = "conset/simulate@1"

TAKEN_BY = {
    "fairness": ("flow",),
    "receives": ("flow", "wormhole", "circuit", "packet", "connections"),
    "receive_order": ("flow", "wormhole", "circuit", "packet", "connections"),
    "lanes": ("wormhole", "circuit", "flit"),
    "queue": ("connections",),
}
"""Option → the models that know it; the others would not look at it."""

WhatArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A schedule (.json .npz), or a trace (.csv: id,time,src,dst,bytes,deps).",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="M",
        autocompletion=c.complete_model,
        help="flow, wormhole, circuit, packet, flit or connections.",
    ),
]
FairnessOption = Annotated[
    str,
    typer.Option(
        "--fairness", metavar="F", help="flow: equal, or rtt (weighted by 1/latency, as SimGrid)."
    ),
]
InFlightOption = Annotated[
    str | None,
    typer.Option(
        "--in-flight",
        metavar="N",
        help=(
            "Sends a rank keeps open at once, or all. Default: the schedule's, else the "
            "machine's, else all."
        ),
    ),
]
ReceivesOption = Annotated[
    str | None,
    typer.Option(
        "--receives",
        metavar="N",
        help="Receives a rank takes at once, or all. Default: as --in-flight.",
    ),
]
OrderOption = Annotated[
    str | None,
    typer.Option("--receive-order", metavar="O", help="list, or any: first come, first served."),
]
LanesOption = Annotated[
    int | None,
    typer.Option(
        "--lanes", metavar="N", help="Virtual channels per link, for models that have them."
    ),
]
QueueOption = Annotated[
    int | None,
    typer.Option(
        "--queue",
        metavar="N",
        help="connections: elements a channel holds. Default: 8, more on long links.",
    ),
]
LoadOption = Annotated[
    str | None,
    typer.Option(
        "--load",
        metavar="A:B",
        help="flit: latency over load of random packets, FILE a pattern (random …).",
    ),
]
PacketOption = Annotated[
    str | None,
    typer.Option(
        "--packet", metavar="SIZE", help="flit: longer messages travel as worms of this size."
    ),
]
CyclesOption = Annotated[
    int | None,
    typer.Option(
        "--cycles", metavar="N", help="--load: cycles measured, after half as many to warm up."
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check", help="Check the timeline by code that shares nothing with the simulators."
    ),
]
TimelineOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The timeline: .json .npz, drawn: .svg .png; with --load also .md.",
    ),
]


def command(
    file: WhatArgument,
    on: o.OtherMachineOption = None,
    model: ModelOption = "flow",
    fairness: FairnessOption = "equal",
    sync: o.SyncOption = None,
    in_flight: InFlightOption = None,
    receives: ReceivesOption = None,
    receive_order: OrderOption = None,
    lanes: LanesOption = None,
    queue: QueueOption = None,
    load: LoadOption = None,
    packet: PacketOption = None,
    cycles: CyclesOption = None,
    mode: o.ModeOption = None,
    seed: o.SeedOption = 0,
    settings: o.SetOption = None,
    check: CheckOption = False,
    output: TimelineOption = None,
    json: o.JsonOption = False,
) -> None:
    """Simulate a schedule, a program, or a trace on a machine: when every message is delivered.

    Or latency by load.
    """
    from functools import partial

    from conset.cli.simulate_load import parse_packet, run_load
    from conset.machine.spec import merge_settings

    settings = merge_settings(mode, settings)
    of_models = {
        "fairness": None if fairness == "equal" else fairness,
        "receives": receives,
        "receive_order": receive_order,
        "lanes": lanes,
        "queue": queue,
    }
    of_events = {
        **of_models,
        "lanes": None,
        "sync": sync,
        "in_flight": in_flight,
        "check": check or None,
    }
    of_load = {"cycles": cycles, "seed": seed or None}
    _refuse_ignored(
        model, of_models, of_events if load is not None else {}, of_load if load is None else {}
    )
    if load is not None:
        run_load(
            str(file),
            on,
            model,
            load,
            lanes=lanes,
            packet=packet,
            cycles=cycles,
            seed=seed,
            settings=settings,
            output=output,
            as_json=json,
        )
        return
    from conset.cli.output import console, print_json, progress
    from conset.cli.signals import interruptible
    from conset.cli.verify import check_record, print_violations
    from conset.models.flit import simulate_flit
    from conset.models.phases_over_time import simulated_switches
    from conset.models.settings import Settings
    from conset.models.table import find_model
    from conset.models.timeline_file import Record, worth_recording
    from conset.report.outcome import check_object, check_text, switch_text
    from conset.report.terminal_timeline import simulation_text
    from conset.schedule.policy import parse_sync

    chosen = find_model(model)
    if sync is not None:
        sync = str(parse_sync(sync))
    if output is not None:
        check_output(output)
    with progress("reading"):
        given = read_workload(file, on, sync, settings)
    workload, machine = given.workload, given.machine
    execution = Settings.of(
        machine.costs_for(workload.method),
        in_flight=given.in_flight if in_flight is None else in_flight,
        receives=receives,
        sync=sync or given.sync,
        receive_order=receive_order,
        fairness=fairness,
        lanes=lanes,
        queue=queue,
        record=(check or output is not None) and worth_recording(model, workload.messages),
    )
    count = workload.messages
    with interruptible(), progress(f"simulating {count:,} messages by {model}", messages=count):
        simulate = (
            chosen.simulate
            if packet is None
            else partial(simulate_flit, packet_B=parse_packet(packet, model))
        )
        timeline = simulate(workload, machine, execution)
    manifest = _manifest(
        file,
        given.seed,
        model=None if model == "flow" else model,
        fairness=None if fairness == "equal" else fairness,
        on=on,
        sync=sync,
        in_flight=in_flight,
        receives=receives,
        receive_order=receive_order,
        lanes=lanes,
        queue=queue,
        packet=packet,
        set=settings,
    )
    record = Record(timeline, machine, execution, manifest)
    if output is not None:
        with progress("writing"):
            _write(record, output, settings)
    violations = check_record(record) if check else ()
    switch = (
        simulated_switches(timeline, machine, machine.costs_for(workload.method))
        if given.blocks
        else None
    )
    if json:
        checked = {"check": check_object(record, violations)} if check else {}
        switched = {} if switch is None else {"switch": switch.to_object()}
        print_json(SCHEMA, {**timeline.to_object(), **switched, **checked}, manifest)
    console(json).print(simulation_text(timeline, machine), markup=False)
    if switch is not None:
        console(json).print(f"  switches     {switch_text(switch)}", markup=False)
    if check:
        print_violations(violations, f"{file} by {model}", json)
        console(json).print(f"  checked   {check_text(record)}", markup=False)


def _refuse_ignored(
    model: str,
    of_models: Mapping[str, Any],
    with_load: Mapping[str, Any],
    without_load: Mapping[str, Any],
) -> None:
    """Refuses what would not be looked at.

    Args:
        model: of the simulation, known or not.
        of_models: options that some models take, None where they were not given.
        with_load: options that do not go with `--load`, which was given.
        without_load: options of `--load`, which was not.

    Raises:
        UsageError: names the first.
    """
    from conset.base.errors import UsageError
    from conset.models.table import MODELS

    for name, value in of_models.items():
        if value is not None and model in MODELS and model not in TAKEN_BY[name]:
            models = ", ".join(TAKEN_BY[name])
            raise UsageError(
                f"{name} {value}: is for model {models}, given {model}", options=[name]
            )
    for rule, options in (("does not go with load", with_load), ("goes with load", without_load)):
        for name, value in options.items():
            if value is not None:
                raise UsageError(f"{name} {value}: {rule}", options=[name, "load"])


def check_output(path: Path) -> None:
    """Whether a timeline can be written so.

    Raises:
        UsageError: an unknown suffix.
        MissingExtraError: a picture without matplotlib.
    """
    from conset.base.errors import UsageError
    from conset.models.timeline_file import SUFFIXES
    from conset.report import style

    if path.suffix.lower() in style.FORMATS:
        style.require_matplotlib()
    elif path.suffix not in SUFFIXES:
        known = ", ".join((*SUFFIXES, *style.FORMATS))
        raise UsageError(
            f"-o {path}: a timeline's suffix must be one of {known}, is '{path.suffix}'"
        )


def _write(record: Record, output: Path, changed: str | None) -> None:
    """A timeline as a file, or drawn."""
    from conset.models.timeline_file import write_timeline
    from conset.report import style

    timeline, machine, settings = record.timeline, record.machine, record.settings
    if output.suffix.lower() not in style.FORMATS:
        write_timeline(
            timeline, output, record.manifest, machine=machine, changed=changed, settings=settings
        )
        return
    from conset.report.picture_timeline import picture_timeline
    from conset.report.timeline_view import TimelineView

    style.save(lambda: picture_timeline(TimelineView(timeline, machine, settings)), output)


class SimulationInput(NamedTuple):
    """What a file gives to simulate.

    Attributes:
        workload: the messages.
        machine: where they travel.
        sync: the policy that the schedule is meant for; a trace has `none`.
        in_flight: sends a rank keeps open at once, where the schedule says so.
        seed: of the schedule.
        blocks: whether it is a program of blocks, whose contexts are switched.
    """

    workload: Workload
    machine: Machine
    sync: str
    in_flight: InFlight | None = None
    seed: int = 0
    blocks: bool = False


def read_workload(
    file: Path, on: str | None, sync: str | None, settings: str | None
) -> SimulationInput:
    """What a schedule, a program or a trace says.

    Raises:
        UsageError: a trace without `--on`, or with a policy between phases it does not have; an
            unknown suffix.
        InputError: contents of the file.
    """
    from dataclasses import replace

    from conset.base.errors import UsageError
    from conset.machine.spec import parse_machine, with_settings
    from conset.models.formula.evaluate import retarget
    from conset.models.trace import read_trace
    from conset.models.workload import Workload
    from conset.report.facts import pattern_label
    from conset.schedule.files.program import read_schedule_or_program
    from conset.schedule.program import Program, chained

    machine = None if on is None else parse_machine(on)
    if file.suffix == ".csv":
        if machine is None:
            raise UsageError(f"simulate {file}: a trace needs --on MACHINE")
        if sync not in (None, "none"):
            raise UsageError(
                f"--sync {sync}: a trace has no phases to keep apart; its deps say what waits"
            )
        machine = machine if settings is None else with_settings(machine, settings)
        return SimulationInput(read_trace(file, machine), machine, "none")
    if file.suffix not in (".json", ".npz"):
        raise UsageError(f"simulate {file}: a schedule (.json, .npz) or a trace (.csv) is required")
    found = read_schedule_or_program(file)
    schedule = chained(found) if isinstance(found, Program) else found
    if settings is not None:
        machine = with_settings(machine or schedule.machine, settings)
    if machine is not None:
        schedule = retarget(schedule, machine)
    name = pattern_label(schedule).removesuffix(": ") or schedule.pattern.name
    workload = replace(Workload.of_schedule(schedule), name=f"{name} by {schedule.method}")
    return SimulationInput(
        workload,
        schedule.machine,
        schedule.sync,
        schedule.in_flight,
        schedule.manifest.seed,
        blocks=isinstance(found, Program) and found.paths is None,
    )


def _manifest(file: Path, seed: int, **options: object) -> Manifest:
    from conset.schedule.manifest import Manifest, sha256_of

    arguments = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in options.items()
        if value is not None
    ]
    return Manifest(" ".join(["conset simulate", file.name, *arguments]), seed, sha256_of(file))
