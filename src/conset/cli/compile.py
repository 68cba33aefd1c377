"""`conset compile`: a pattern and a machine in, a schedule out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from conset.machine.machine import Machine
    from conset.pattern.layout import Layout
    from conset.pattern.pattern import Pattern


def command(
    pattern: o.PatternArgument,
    on: o.MachineOption,
    method: o.MethodOption = "auto",
    contention: o.ContentionOption = None,
    channels: o.ChannelsOption = None,
    limits: o.LimitsOption = None,
    placement: o.PlacementOption = "identity",
    ranks_per_node: o.RanksPerNodeOption = 1,
    sync: o.ChosenSyncOption = None,
    seed: o.SeedOption = 0,
    effort: Annotated[
        int, typer.Option("--effort", metavar="N", help="How long to search, in sweeps.", min=1)
    ] = 1,
    timetable: o.TimetableOption = None,
    router: o.RouterOption = None,
    phases: o.PhasesOption = None,
    posting: o.PostingOption = "schedule",
    objective: o.ObjectiveOption = "time",
    rank_by: o.RankByOption = None,
    min_bandwidth: o.MinBandwidthOption = None,
    max_latency: o.MaxLatencyOption = None,
    routes: o.RoutesOption = "fixed",
    combine: o.CombineOption = "none",
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    layout: o.LayoutOption = None,
    output: o.OutputOption = None,
    json: o.JsonOption = False,
) -> None:
    """Cut a pattern into phases under limits: verified, bounded, predicted."""
    from conset.base.errors import UsageError, VerificationError
    from conset.base.files import require_replaceable
    from conset.cli.inputs import manifest_of, reading_options
    from conset.cli.output import console, print_json, progress
    from conset.cli.programs import combine_to_file, compile_to_file
    from conset.cli.signals import STOPPED, interruptible
    from conset.compilation.options import CompileOptions, method_name
    from conset.compilation.pipeline import compile_pattern
    from conset.compilation.summary import summarize
    from conset.methods.phases.table import whose_fault
    from conset.pattern.layout import require_layout_path
    from conset.report.outcome import compile_text
    from conset.schedule.files.schedule import require_writable, write_schedule
    from conset.verification import verify_schedule

    if output is not None:
        require_writable(output)
    if layout is not None:
        require_replaceable(require_layout_path(layout))
    method = method_name(method)
    options = CompileOptions(
        method=method,
        contention=contention,
        channels=channels,
        limits=limits,
        placement=placement,
        ranks_per_node=ranks_per_node,
        sync=sync,
        seed=seed,
        effort=effort,
        timetable=timetable,
        router=router,
        phases=phases,
        posting=posting,
        objective=objective,
        rank_by=rank_by,
        min_bandwidth=min_bandwidth,
        max_latency=max_latency,
        routes=routes,
    )
    chosen = {} if combine == "none" else {"combine": combine}
    reading = reading_options(parts, rows_to, word)
    given = {**options.given(), **chosen, **reading}
    if Path(pattern).suffix == ".toml":
        if combine != "none":
            raise UsageError(
                f"--combine {combine}: is for patterns, {pattern} is a program of blocks"
            )
        if layout is not None:
            raise UsageError(
                f"--layout: is for meshes, graphs and matrices, {pattern} is a program of blocks"
            )
        said = next((name for name, value in reading.items() if value is not None), None)
        if said is not None:
            raise UsageError(
                f"--{said.replace('_', '-')}: is for one pattern; in {pattern} a block says "
                f"{said} itself"
            )
        compile_to_file(pattern, on, options, given, output, json)
        return
    with progress("reading"):
        traffic, machine, owned = _read(
            pattern, on, layout is not None, ranks_per_node, seed, parts, rows_to, word
        )
    manifest = manifest_of("compile", pattern, on, seed, given)
    if combine != "none":
        combine_to_file(traffic, machine, options, combine, manifest, output, json)
        _write_layout(owned, layout)
        return
    with interruptible(), progress(f"scheduling by {method}", search=True):
        schedule = compile_pattern(traffic, machine, options, manifest=manifest)
    with progress("verifying, bounding, predicting"):
        summary = summarize(schedule)
    if not summary["verified"]:
        broken = verify_schedule(schedule).violations[0].text
        raise VerificationError(
            f"method {schedule.method} made a schedule that does not verify: "
            f"{whose_fault(schedule.method)}: {broken}"
        )
    if output is not None:
        with progress("writing"):
            write_schedule(schedule, output)
    _write_layout(owned, layout)
    if json:
        print_json("conset/compile@1", summary, manifest)
    console(json).print(compile_text(schedule, summary))
    if summary["stopped_early"]:
        raise typer.Exit(STOPPED)


def _read(
    pattern: str,
    on: str,
    partitioned: bool,
    ranks_per_node: int,
    seed: int,
    parts: int | None,
    rows_to: int | None,
    word: str,
) -> tuple[Pattern, Machine, Layout | None]:
    """(pattern, machine, who owns what where it is asked for)."""
    from conset.cli.inputs import read_inputs, read_partition

    if not partitioned:
        traffic, machine = read_inputs(
            pattern,
            on,
            ranks_per_node=ranks_per_node,
            seed=seed,
            parts=parts,
            rows_to=rows_to,
            word=word,
        )
        return traffic, machine, None
    partition, machine = read_partition(
        pattern, on, seed=seed, parts=parts, rows_to=rows_to, word=word
    )
    return partition.pattern, machine, partition.layout


def _write_layout(owned: Layout | None, path: Path | None) -> None:
    from conset.cli.output import progress

    if owned is not None and path is not None:
        with progress("writing the layout"):
            owned.write(path)
