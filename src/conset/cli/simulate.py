"""`conset simulate`: how long a schedule or a trace takes, event by event; or latency over load."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer

from conset.base import UsageError, interruptible, option, parse_size, replacing
from conset.cli.inputs import manifest_of
from conset.cli.options import (
    MACHINES,
    MODELS as MODEL_TABLE,
    JsonOption,
    ModeOption,
    SeedOption,
    SetOption,
    allow,
    completing,
    expanded,
    manifest_of_file,
    opt,
    refuse,
)
from conset.cli.output import console, print_json, print_outcome, print_sections, progress
from conset.cli.verify import check_record, print_violations
from conset.compilation import POLICIES, CompileOptions, compile_pattern
from conset.inputs import load_pattern
from conset.machine import Machine, merge_settings, parse_machine, with_settings
from conset.models import (
    SUFFIXES,
    LoadCurve,
    LoadSweep,
    Record,
    Settings,
    Timeline,
    Window,
    Workload,
    check_loads,
    find_model,
    parse_traffic,
    read_trace,
    retarget,
    simulate_flit,
    simulated_switches,
    sweep_load,
    worth_recording,
    write_timeline,
)
from conset.report import (
    TimelineView,
    check_object,
    check_output,
    check_text,
    latency_section,
    pattern_label,
    picture_timeline,
    simulation_section,
    style,
    switch_text,
    write_report,
)
from conset.schedule import KINDS, InFlight, Manifest, Program, parse_sync, read_compiled

SCHEMA = "conset/simulate@1"
MARKDOWN, JSON = ".md", ".json"
TRACES = (".goal", ".tit", ".xml", ".cm")
"""Messages with an order, which are simulated as the naive exchange."""
OF_MESSAGES = ("flow", "wormhole", "circuit", "packet", "connections")
TAKEN_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fairness": ("flow",),
        "receives": OF_MESSAGES,
        "receive_order": OF_MESSAGES,
        "lanes": ("wormhole", "circuit", "flit"),
        "queue": ("connections",),
        "packet": ("flit",),
    }
)
"""Option, with the models that know it; the others would not look at it."""


@dataclass(frozen=True)
class Execution:
    """How messages are sent and received, and the options of the model.

    Attributes:
        fairness: of flows.
        sync: what keeps phases apart.
        in_flight: sends open at once.
        receives: receives taken at once.
        receive_order: in which order.
        lanes: virtual channels.
        queue: elements a channel holds.
    """

    fairness: str = option("equal", "F", "flow: equal, or rtt (weighted by 1/latency, as SimGrid).")
    sync: str | None = option(None, "S", f"{POLICIES}.", known=lambda: KINDS)
    in_flight: str | None = option(
        None,
        "N",
        "Sends a rank keeps open at once, or all. Default: the schedule's, else the machine's, "
        "else all.",
    )
    receives: str | None = option(
        None, "N", "Receives a rank takes at once, or all. Default: as --in-flight."
    )
    receive_order: str | None = option(None, "O", "list, or any: first come, first served.")
    lanes: int | None = option(None, "N", "Virtual channels per link, for models that have them.")
    queue: int | None = option(
        None, "N", "connections: elements a channel holds. Default: 8, more on long links."
    )

    def given(self) -> dict[str, Any]:
        """As a manifest lists it; defaults are None."""
        return vars(self) | {"fairness": None if self.fairness == "equal" else self.fairness}


@expanded()
def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A schedule (.json .npz), or a trace (.csv: id,time,src,dst,bytes,deps).",
        ),
    ],
    on: Annotated[
        str | None,
        opt(
            "--on MACHINE",
            "Another machine than the schedule's own.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    model: Annotated[
        str | None,
        opt(
            "--model M",
            "flow, wormhole, circuit, packet, flit or connections. Default: the machine's.",
            complete=completing(*MODEL_TABLE),
        ),
    ] = None,
    *,
    execution: Execution,
    load: Annotated[
        str | None,
        opt("--load A:B", "flit: latency over load of random packets, FILE a pattern (random …)."),
    ] = None,
    packet: Annotated[
        str | None,
        opt("--packet SIZE", "flit: longer messages travel as worms of this size."),
    ] = None,
    cycles: Annotated[
        int | None,
        opt("--cycles N", "--load: cycles measured, after half as many to warm up."),
    ] = None,
    mode: ModeOption = None,
    seed: SeedOption = 0,
    settings: SetOption = None,
    check: Annotated[
        bool,
        opt("--check", "Check the timeline by code that shares nothing with the simulators."),
    ] = False,
    output: Annotated[
        Path | None,
        opt(
            "-o/--output FILE", "The timeline: .json .npz, drawn: .svg .png; with --load also .md."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Simulate a schedule, a program, or a trace on a machine; or latency by load."""
    settings = merge_settings(mode, settings)
    asked = execution.given()
    if model is not None:
        find_model(model)
        _allow(model, asked, packet)
    packet_B = None if packet is None else parse_size(packet, "--packet")  # noqa: N806
    if load is None:
        refuse({"cycles": cycles, "seed": seed or None}, "goes with --load")
        _simulate_file(file, on, model, execution, packet, settings, check, output, json)
        return
    refuse({**asked, "lanes": None, "check": check}, "does not go with --load")
    if on is None:
        raise UsageError(f"simulate {file}: --load needs --on MACHINE", what="file", given=file)
    if model != "flit":
        raise UsageError(f"--model {model or 'flow'}: --load is for --model flit")
    loads = parse_loads(load)
    if output is not None:
        check_output(output, "latency over load", MARKDOWN, JSON)
    lanes = execution.lanes
    given = {
        "model": model,
        "load": load,
        "lanes": lanes,
        "packet": packet,
        "cycles": cycles,
        "set": settings,
        "seed": seed or None,
    }
    with progress("reading"):
        machine = parse_machine(on)
        machine = machine if settings is None else with_settings(machine, settings)
        traffic = parse_traffic(str(file), machine, seed=seed)
        how: dict[str, Any] = {"window": Window.of(cycles), "seed": seed, "packet_B": packet_B}
        sweep = LoadSweep(traffic, machine, Settings(lanes=lanes), **how)
    curve = sweep_load(sweep, *loads, progress=progress)
    _give_curve(curve, manifest_of("simulate", str(file), on, seed, given), output, json)


def _allow(model: str, asked: Mapping[str, Any], packet: str | None) -> None:
    """Raises `UsageError` for an option that the model does not know."""
    rule = f"is for model {{takers}}, given {model}"
    allow({**asked, "packet": packet}, TAKEN_BY, model, rule)


def _simulate_file(
    file: Path,
    on: str | None,
    asked_model: str | None,
    execution: Execution,
    packet: str | None,
    settings: str | None,
    check: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """When every message is delivered."""
    sync = None if execution.sync is None else str(parse_sync(execution.sync))
    if output is not None:
        check_output(output, "a timeline", *SUFFIXES)
    with progress("reading"):
        given = read_workload(file, on, sync, settings)
    workload, machine, count = given.workload, given.machine, given.workload.messages
    model = asked_model or machine.costs_for(workload.method).model
    _allow(model, execution.given(), packet)
    simulate: Callable[..., Timeline] = find_model(model).simulate
    if packet is not None:
        simulate = partial(simulate_flit, packet_B=parse_size(packet, "--packet"))
    how = vars(execution) | {"sync": sync or given.sync}
    how["in_flight"] = execution.in_flight or given.in_flight
    recorded = (check or output is not None) and worth_recording(model, count)
    stated = Settings.of(machine.costs_for(workload.method), **how, record=recorded)
    with interruptible(), progress(f"simulating {count:,} messages by {model}", messages=count):
        timeline = simulate(workload, machine, stated)
    asked = execution.given() | {"sync": sync}
    options = {
        "model": asked_model,
        "fairness": asked.pop("fairness"),
        "on": on,
        **asked,
        "packet": packet,
        "set": settings,
    }
    manifest = manifest_of_file("simulate", file, given.seed, options)
    record = Record(timeline, machine, stated, manifest)
    if output is not None:
        with progress("writing"):
            _write(record, output, settings)
    violations = check_record(record) if check else ()
    body, out = timeline.to_object(), console(as_json)
    section = simulation_section(timeline, machine)
    lines = []
    if given.blocks:
        switch = simulated_switches(timeline, machine, machine.costs_for(workload.method))
        body |= {} if switch is None else {"switch": switch.to_object()}
        lines += [] if switch is None else [f"  switches     {switch_text(switch)}"]
    if check:
        body["check"] = check_object(record, violations)
    if as_json:
        print_json(SCHEMA, body, manifest)
    print_outcome(section, 12, as_json)
    for line in lines:
        out.print(line, markup=False)
    if check:
        print_violations(violations, f"{file} by {model}", as_json)
        out.print(f"  checked   {check_text(record)}", markup=False)


def _write(record: Record, output: Path, changed: str | None) -> None:
    """A timeline as a file, or drawn."""
    timeline, machine, settings = record.timeline, record.machine, record.settings
    if output.suffix.lower() not in style.FORMATS:
        write_timeline(
            timeline, output, record.manifest, machine=machine, changed=changed, settings=settings
        )
        return
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
    machine = None if on is None else parse_machine(on)
    if file.suffix == ".csv" or file.suffix.lower() in TRACES:
        if machine is None:
            raise UsageError(
                f"simulate {file}: a trace needs --on MACHINE", what="file", given=file
            )
        if sync not in (None, "none"):
            raise UsageError(
                f"--sync {sync}: a trace has no phases to keep apart; its deps say what waits"
            )
        machine = machine if settings is None else with_settings(machine, settings)
        if file.suffix == ".csv":
            return SimulationInput(read_trace(file, machine), machine, "none")
        naive = compile_pattern(
            load_pattern(file, machine), machine, CompileOptions(method="naive")
        )
        return SimulationInput(Workload.of_schedule(naive), machine, "none")
    if file.suffix not in (".json", ".npz"):
        raise UsageError(
            f"simulate {file}: a schedule (.json, .npz) or a trace (.csv, {', '.join(TRACES)}) is "
            "required",
            what="file",
            given=file,
        )
    found = read_compiled(file)
    schedule = found.whole
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


def parse_loads(text: str) -> tuple[float, float]:
    """`0.05:0.9` → (0.05, 0.9); one number for both.

    Raises:
        UsageError: not one or two numbers, or out of range.
    """
    parts = text.split(":")
    try:
        ends = [float(word) for word in parts]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        raise UsageError(f"--load '{text}': two loads as in 0.05:0.9 required, or one")
    check_loads(ends[0], ends[-1])
    return ends[0], ends[-1]


def _give_curve(curve: LoadCurve, manifest: Manifest, output: Path | None, as_json: bool) -> None:
    """Writes latency over load, and prints it."""
    sections, body = [latency_section(curve)], curve.to_object()
    if output is not None and output.suffix.lower() == JSON:
        whole = {"schema": SCHEMA, **body, "manifest": manifest.to_object()}
        del whole["elapsed_s"]  # the same seed gives the same bytes
        with replacing(output) as temporary:
            temporary.write_text(json.dumps(whole, indent=1) + "\n")
    elif output is not None:
        write_report(output, sections)
    if as_json:
        print_json(SCHEMA, body, manifest)
    print_sections(sections, as_json)
