"""`conset compile`: a pattern and a machine in, a schedule out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from conset.schedule.schedule import Schedule


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
    effort: Annotated[int, typer.Option("--effort", metavar="N", help="How long to search, in sweeps.", min=1)] = 1,
    timetable: o.TimetableOption = None,
    router: o.RouterOption = None,
    objective: o.ObjectiveOption = "time",
    rank_by: o.RankByOption = None,
    min_bandwidth: o.MinBandwidthOption = None,
    routes: o.RoutesOption = "fixed",
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    output: o.OutputOption = None,
    json: o.JsonOption = False,
) -> None:
    """Cut a pattern into phases under limits: verified, bounded, predicted."""
    from conset.cli.inputs import manifest_of, read_inputs, reading_options
    from conset.cli.output import console, print_json, progress
    from conset.cli.programs import compile_to_file
    from conset.cli.signals import STOPPED, interruptible
    from conset.compilation.options import CompileOptions
    from conset.compilation.pipeline import compile_pattern
    from conset.compilation.summary import summarize
    from conset.errors import VerificationError
    from conset.formats.schedule import require_writable, write_schedule

    if output is not None:
        require_writable(output)
    options = CompileOptions(
        method=method, contention=contention, channels=channels, limits=limits, placement=placement,
        ranks_per_node=ranks_per_node, sync=sync, seed=seed, effort=effort, timetable=timetable, router=router,
        objective=objective, rank_by=rank_by, min_bandwidth=min_bandwidth, routes=routes,
    )  # fmt: skip
    given = {**options.given(), **reading_options(parts, rows_to, word)}
    if Path(pattern).suffix == ".toml":
        compile_to_file(pattern, on, options, given, output, json)
        return
    with progress("reading"):
        traffic, machine = read_inputs(
            pattern, on, ranks_per_node=ranks_per_node, seed=seed, parts=parts, rows_to=rows_to, word=word
        )
    manifest = manifest_of("compile", pattern, on, seed, given)
    with interruptible(), progress(f"scheduling by {method}", search=True):
        schedule = compile_pattern(traffic, machine, options, manifest=manifest)
    with progress("verifying, bounding, predicting"):
        summary = summarize(schedule)
    if not summary["verified"]:
        raise VerificationError(
            f"method {schedule.method} made a schedule that does not verify: this is a bug of conset"
        )
    if output is not None:
        with progress("writing"):
            write_schedule(schedule, output)
    if json:
        print_json("conset/compile@1", summary, manifest)
    console(json).print(describe(schedule, summary))
    if summary["stopped_early"]:
        raise typer.Exit(STOPPED)


def describe(schedule: Schedule, summary: dict[str, Any]) -> str:
    """A summary for people: what was sent, in how many phases, how close to the best, how long it takes."""
    from rich.markup import escape

    from conset.units import count_of, format_size, format_time

    summary = _escaped(summary)
    pattern, load, bound, gap = (summary[key] for key in ("pattern", "load", "bound", "gap"))
    local = f", {format_size(pattern['local_bytes'])} stay local" if pattern["local_bytes"] else ""
    flight = "" if schedule.in_flight is None else f", {summary['in_flight']} in flight"
    limits = "no limits" if str(schedule.limits) == "none" else f"limits {schedule.limits}"
    order = "" if schedule.posting == "schedule" else f", posted {schedule.posting}"
    lines = [
        f"[bold]{escape(schedule.pattern.name)}[/] on [bold]{summary['machine']}[/]: "
        f"{count_of(pattern['ranks'], 'rank')}, {count_of(pattern['messages'], 'message')}, "
        f"{format_size(pattern['bytes'])}{local}",
        f"  method     {summary['method']}, {limits}{order}{flight}, scheduled in {format_time(summary['compile_s'])}",
        *([f"  placement  {summary['placement']}"] if summary["placement"] not in (None, "identity") else []),
        *_chosen_lines(summary),
        f"  phases     [bold]{summary['phases']:,}[/], bound {bound['phases']:,} (gap {gap['phases']:.3f}): "
        f"{bound['phases_witness']}",
        f"  load       send {load['send']}, receive {load['receive']}, link {load['link']}, "
        f"channels {load['channels']} at most; sum of largest {load['sum']:,}",
        f"  predicted  [bold]{format_time(summary['predicted_s'])}[/] by formula under sync {summary['sync']}, "
        f"bound {format_time(bound['time_s'])} (gap {gap['time']:.3f}): {bound['time_witness']}",
    ]
    if summary["simulated_s"] is not None:
        simulated = f"[bold]{format_time(summary['simulated_s'])}[/] by {summary['rank_by']}"
        lines.append(f"  simulated  {simulated} under sync {summary['sync']}")
    lines.append("  verified   yes: every message once, every limit kept, figures recounted")
    if summary["stopped_early"]:
        lines.append("  stopped    early: the search was interrupted, this is its best so far")
    if summary["note"]:
        lines.append(f"  note       {summary['note']}")
    return "\n".join(lines)


def _escaped(value: Any) -> Any:
    """A value whose texts are printed as they are: names may look like rich's markup."""
    from rich.markup import escape

    if isinstance(value, dict):
        return {key: _escaped(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(part) for part in value]
    return escape(value) if isinstance(value, str) else value


def _chosen_lines(summary: dict[str, Any]) -> list[str]:
    """Why, what every model says, which limits do not hold in flight, what was cut; units of a half-duplex machine."""
    lines = [f"  why        {summary['why']}"] if summary["auto"] else []
    verdict = summary["verdict"] or {}
    lines += [f"  models     {verdict['text']}"] if verdict.get("text") else []
    lines += [f"  limits     {verdict['drift']}"] if verdict.get("drift") else []
    lines += [f"  cut        {line}" for line in verdict.get("cut", ())]
    if summary["units"] is not None:
        lines.append(f"  units      {summary['units']:,} of a half-duplex node (exchanges 1, other phases 2)")
    return lines
