"""Outcomes: what a compile, a bound, a prediction, a verification or a run came to, for people.

Markup of rich where a text says so, else plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from conset.base.units import count_of, format_load, format_size, format_time

if TYPE_CHECKING:
    from rich.table import Table

    from conset.bounds import Bounds, StageBounds
    from conset.compilation.combining.choose import Combination
    from conset.execution.run import RunResult
    from conset.models.formula.evaluate import ProgramPrediction
    from conset.models.phases_over_time import SwitchParts
    from conset.models.timeline_file import Record
    from conset.schedule.program import Program
    from conset.schedule.schedule import Schedule
    from conset.studies.compare import Timing
    from conset.verification import verification as schedule_check
    from conset.verification.timeline import check as timeline_check


def compile_text(schedule: Schedule, summary: Mapping[str, Any]) -> str:
    """What was sent, in how many phases, how close to the best, how long it takes; markup of rich.

    Args:
        schedule: what was made.
        summary: the keys of `compile --json`.
    """
    from rich.markup import escape

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
        f"  method     {summary['method']}, {limits}{order}{flight}, scheduled in "
        f"{format_time(summary['compile_s'])}",
        *(
            [f"  placement  {summary['placement']}"]
            if summary["placement"] not in (None, "identity")
            else []
        ),
        *_chosen_lines(summary),
        f"  phases     [bold]{summary['phases']:,}[/], bound {bound['phases']:,} (gap "
        f"{gap['phases']:.3f}): "
        f"{bound['phases_witness']}",
        f"  load       send {load['send']}, receive {load['receive']}, link "
        f"{format_load(load['link'])}, "
        f"channels {format_load(load['channels'])} at most; sum of largest "
        f"{format_load(load['sum'], grouped=True)}",
        f"  predicted  [bold]{format_time(summary['predicted_s'])}[/] by formula under sync "
        f"{summary['sync']}, "
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
    lines += [f"  warning    {line}" for line in summary.get("warnings", ())]
    return "\n".join(lines)


def combined_text(found: Combination, summary: Mapping[str, Any]) -> str:
    """What `compile --combine` found: the text of a schedule, with the stages of a program.

    Markup of rich.
    """
    from rich.markup import escape

    lines = compile_text(found.whole, summary).split("\n")
    if found.program.paths is None:
        return "\n".join(
            [
                *lines[:1],
                f"  combined   no, {escape(found.why)}" if found.why else "  combined   no",
                *lines[1:],
            ]
        )
    stages = [f"  combined   {found.combine}, {count_of(found.program.paths.stages, 'stage')}"]
    stages += [f"  chosen     {escape(found.why)}"] if found.why else []
    for name, stage in zip(found.program.stages, summary["stages"], strict=True):
        sent = (
            f"{count_of(stage['pattern']['messages'], 'bundle')}, "
            f"{format_size(stage['pattern']['bytes'])}"
        )
        stages.append(
            f"  {name.name}    {sent}, at most {format_load(stage['load']['sum'], grouped=True)} "
            "at a port or link"
        )
    any_way = _escaped(summary["bound"]["any_number"])
    stages.append(
        f"  any way    at least {format_time(any_way['time_s'])} (gap "
        f"{summary['gap']['any_number']:.3f}): "
        f"{any_way['time_witness']}"
    )
    return "\n".join([*lines[:1], *stages, *lines[1:]])


def _escaped(value: Any) -> Any:
    """A value whose texts are printed as they are: names may look like rich's markup."""
    from rich.markup import escape

    if isinstance(value, dict):
        return {key: _escaped(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(part) for part in value]
    return escape(value) if isinstance(value, str) else value


def _chosen_lines(summary: Mapping[str, Any]) -> list[str]:
    """Why, what every model says, which limits do not hold in flight, what was cut.

    Units of a half-duplex machine.
    """
    lines = [f"  why        {summary['why']}"] if summary["auto"] else []
    verdict = summary["verdict"] or {}
    lines += [f"  models     {verdict['text']}"] if verdict.get("text") else []
    lines += [f"  routes     {summary['routes']}"] if summary.get("routes") else []
    lines += [f"  limits     {verdict['drift']}"] if verdict.get("drift") else []
    lines += [f"  cut        {line}" for line in verdict.get("cut", ())]
    if summary["units"] is not None:
        lines.append(
            f"  units      {summary['units']:,} of a half-duplex node (exchanges 1, other phases 2)"
        )
    return lines


def bound_text(pattern: str, machine: str, bounds: Bounds) -> str:
    """The bounds with witness and class."""
    return "\n".join(
        (
            f"{pattern} on {machine}",
            f"  phases  at least {bounds.phases:,}: {bounds.phases_witness}",
            f"          class: {bounds.phases_class}",
            f"  time    at least {format_time(bounds.time_s)}: {bounds.time_witness}",
            f"          class: {bounds.time_class}",
            "  load    of all phases, the largest each, at least "
            f"{format_load(bounds.load_sum, grouped=True)}: "
            f"{bounds.load_sum_witness}",
            f"          class: {bounds.load_sum_class}",
        )
    )


def stage_bound_text(pattern: str, machine: str, bounds: StageBounds) -> str:
    """The bounds of programs that forward, with witness and class."""
    return "\n".join(
        (
            f"{pattern} on {machine}",
            f"  time    at least {format_time(bounds.time_s)}: {bounds.time_witness}",
            f"  sends   at least {bounds.sends:,}, the most of a rank in each stage added up: "
            f"{bounds.sends_witness}",
            f"          class: {bounds.stages_class}",
            f"  volume  at least {bounds.volume:.3f} of the bytes: {bounds.volume_witness}",
            f"          class: {bounds.volume_class}",
        )
    )


def candidates_object(bounds: Bounds | StageBounds) -> list[dict[str, Any]]:
    """Every bound that was tried."""
    return [
        {"name": c.name, "what": c.what, "value": c.value, "witness": c.witness}
        for c in bounds.candidates
    ]


def bound_table(bounds: Bounds | StageBounds) -> Table:
    """Every bound that was tried."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column("bound", overflow="fold")
    table.add_column("at least", justify="right", overflow="fold")
    table.add_column("witness", overflow="fold")
    for candidate in bounds.candidates:
        value = format_time(candidate.value)
        if candidate.what == "volume":
            value = f"{candidate.value:.3f} of the bytes"
        elif candidate.what != "time":
            unit = {
                "load": "sum of loads",
                "sends": "sends",
                "phases": "phase" if candidate.value == 1 else "phases",
            }
            value = f"{format_load(candidate.value, grouped=True)} {unit[candidate.what]}"
        table.add_row(candidate.name, value, escape(candidate.witness))
    return table


def prediction_text(timing: Timing) -> str:
    """The time, by what, its terms, what the formula says and what takes longest."""
    from conset.compilation.options import FORMULA

    prediction = timing.prediction
    terms = ", ".join(f"{name} {format_time(value)}" for name, value in timing.terms.items())
    lines = [
        f"{format_time(timing.time_s)} by {timing.by} on {prediction.machine} under sync "
        f"{prediction.sync}"
    ]
    lines += [f"  instead  {timing.stands_in}"] if timing.stands_in else []
    lines.append(f"  terms    {terms}")
    said = (
        ""
        if timing.by == FORMULA
        else f"{format_time(prediction.time_s)}, which ignores blocking: "
    )
    lines += [f"  formula  {said}{prediction.formula}", f"  busiest  {prediction.witness}"]
    phases = timing.phase_s
    if phases.size > 1:
        spread = " to ".join(
            dict.fromkeys(format_time(edge) for edge in (phases.min(), phases.max()))
        )
        lines.append(f"  phases   {phases.size:,}, removing one saves {spread}")
    if timing.computation:
        lines.append(f"  {computation_text(timing.computation)}")
    lines += [f"  warning  {line}" for line in prediction.warnings]
    return "\n".join(lines)


def computation_text(times: Mapping[str, float]) -> str:
    """`compute  1 ms at every node, 0.4 ms of it hidden: 2.3 ms in all`."""
    whole, hidden, both = (
        format_time(times[key]) for key in ("computation_s", "hidden_s", "with_computation_s")
    )
    return f"compute  {whole} at every node, {hidden} of it hidden: {both} in all"


def program_object(program: Program, prediction: ProgramPrediction) -> dict[str, object]:
    """What `--json` says: the stages with their schedules in short, figures, prediction."""
    stages: list[dict[str, Any]] = [
        {
            "name": stage.name,
            "repeat": stage.repeat,
            "schedule": stage.schedule,
            "turns": stage.turns,
            "method": program.schedules[stage.schedule].method,
            "phases": program.schedules[stage.schedule].phases,
            "contexts": list(program.contexts[stage.schedule]),
        }
        for stage in program.stages
    ]
    for k, stage in enumerate(stages if program.paths is not None else ()):
        stage |= {
            "bundles": _schedule_of(program, k).pattern.messages,
            "most_bundles": most_bundles(program, k),
        }
    return {
        "machine": program.machine.name,
        "sync": program.sync,
        "stages": stages,
        "figures": program.figures(),
        "verified": True,
        "predicted_s": prediction.time_s,
        "terms": prediction.terms,
        "stopped_early": program.stopped_early,
    }


def _schedule_of(program: Program, stage: int) -> Schedule:
    return program.schedules[program.stages[stage].schedule]


def most_bundles(program: Program, stage: int) -> int:
    """The most bundles that a rank sends in a stage of a program that forwards."""
    offsets = _schedule_of(program, stage).pattern.offsets
    return int((offsets[1:] - offsets[:-1]).max())


def program_text(program: Program, prediction: ProgramPrediction, *, verified: bool = True) -> str:
    """Its stages, what is switched or forwarded, how long it takes; markup of rich."""
    forwards = program.paths is not None
    lines = (
        _forwarding_lines(program, prediction) if forwards else _block_lines(program, prediction)
    )
    terms = ", ".join(f"{name} {format_time(value)}" for name, value in prediction.terms.items())
    under = f" by formula under sync {program.sync}" if forwards else ""
    lines.append(f"  predicted  [bold]{format_time(prediction.time_s)}[/]{under}: {terms}")
    if verified:
        what = "every context under the limits, switches recounted"
        what = "every bundle, every byte at its target, bytes held recounted" if forwards else what
        lines.append(f"  verified   yes: every schedule, {what}")
    if program.stopped_early:
        lines.append("  stopped    early: the search was interrupted, this is its best so far")
    return "\n".join(lines)


def _block_lines(program: Program, prediction: ProgramPrediction) -> list[str]:
    """Stages that send messages of their own."""
    from rich.markup import escape

    figures = program.figures()
    lines = [
        f"[bold]{count_of(len(program.stages), 'block')}[/] on "
        f"[bold]{escape(program.machine.name)}[/]"
    ]
    for block, seconds in zip(program.stages, prediction.block_s, strict=True):
        schedule = program.schedules[block.schedule]
        phases = f"{count_of(schedule.phases, 'phase')}"
        way = ", forth and back" if block.turns else ""
        lines.append(
            f"  {escape(block.name)}: {block.repeat:,} × {phases}{way} by {schedule.method}, "
            f"{format_time(seconds)}"
        )
    return [
        *lines,
        f"  executed   {count_of(figures['phases'], 'phase')}, "
        f"{count_of(figures['messages'], 'message')}, "
        f"{format_size(figures['bytes'])}",
        f"  switches   [bold]{figures['switches']:,}[/] between "
        f"{count_of(figures['contexts'], 'context')}, "
        f"{figures['switches_apart']:,} if no phase were shared",
    ]


def _forwarding_lines(program: Program, prediction: ProgramPrediction) -> list[str]:
    """Stages that deliver one pattern together."""
    from rich.markup import escape

    figures = program.figures()
    name = "" if program.paths is None else program.paths.pattern.name
    lines = [
        f"[bold]{escape(name)}[/] on [bold]{escape(program.machine.name)}[/]: "
        f"{count_of(program.ranks, 'rank')}, "
        f"{count_of(figures['messages'], 'message')}, {format_size(figures['bytes'])}",
        f"  stages     [bold]{figures['stages']:,}[/], {count_of(figures['bundles'], 'bundle')} in "
        f"{count_of(figures['phases'], 'phase')}",
    ]
    for k, (stage, seconds) in enumerate(zip(program.stages, prediction.block_s, strict=True)):
        schedule, most = _schedule_of(program, k), most_bundles(program, k)
        lines.append(
            f"    {escape(stage.name)}: {count_of(schedule.pattern.messages, 'bundle')}, at most "
            f"{most:,} of a rank, "
            f"{count_of(schedule.phases, 'phase')} by {schedule.method}, "
            f"{format_time(seconds)} alone"
        )
    held = format_size(figures["staging_bytes"])
    limit = (
        "" if program.staging_limit_B is None else f", limit {format_size(program.staging_limit_B)}"
    )
    return [
        *lines,
        f"  volume     {figures['volume']:.3f}: bytes that all stages send, over bytes delivered",
        f"  staging    a rank holds {held} for others at most{limit}",
    ]


def run_text(result: RunResult) -> str:
    """What ran and whether it delivered, in two lines; of what forwards also the largest work area.

    Markup of rich.
    """
    flight = "" if result.in_flight is None else f", {result.in_flight} in flight"
    verdict = "all right" if result.mismatches == 0 else f"[bold red]{result.mismatches:,} wrong[/]"
    stages = "" if result.stages is None else f"{count_of(result.stages, 'stage')}, "
    repetitions = f"{count_of(result.repeat, 'repetition')} in {result.elapsed_s:.1f} s"
    phases = f"{stages}{count_of(result.phases, 'phase')}, {repetitions}"
    return (
        f"[bold]{count_of(result.ranks, 'rank')}[/] on "
        f"{count_of(result.cores, 'core')}, {result.mpi}, sync {result.sync}{flight}, {phases}\n"
        f"  bytes checked  {result.bytes_checked:,}: {verdict}"
    ) + (
        (
            f"\n  work area      {format_size(result.work_bytes)} at most"
            if result.work_bytes
            else ""
        )
        + (f"\n  switches       {switch_text(result.switch)}" if result.switch else "")
    )


def switch_text(parts: SwitchParts) -> str:
    """`8: drain 1.2 ms, synchronization 3 ms, set-up 0.4 ms`."""
    times = (
        ("drain", parts.drain_s),
        ("synchronization", parts.synchronization_s),
        ("set-up", parts.setup_s),
    )
    return f"{parts.count:,}: " + ", ".join(
        f"{name} {format_time(seconds)}" for name, seconds in times
    )


def run_table(result: RunResult) -> Table:
    """Variant, median, least, and the ratio to naive with its interval."""
    from conset.report.terminal import fitted_table

    columns = ("variant", "median", "min", "ratio to naive", "95 % interval", "")
    rows = []
    for variant in result.variants:
        times = (format_time(result.median_of(variant)), format_time(min(result.times_s[variant])))
        name = "program" if variant == "schedule" and result.stages is not None else variant
        if variant == "naive":
            rows.append((name, *times, "1", "", ""))
            continue
        ratio = result.ratio_of(variant)
        verdict = "" if ratio.decided else "not decided"
        rows.append(
            (name, *times, f"{ratio.median:.2f}", f"{ratio.low:.2f} … {ratio.high:.2f}", verdict)
        )
    table = fitted_table(columns, rows, (0, 5))
    for row in rows:
        table.add_row(*row)
    return table


def violation_lines(
    violations: Iterable[schedule_check.Violation | timeline_check.Violation],
) -> list[str]:
    """`rule: what breaks it`, one line for each; some texts begin with the rule themselves."""
    return [f"{each.rule}: {each.text.removeprefix(f'{each.rule}: ')}" for each in violations]


def verified_schedule_text(figures: Mapping[str, Any], messages: int) -> str:
    """`240 messages in 18 phases; largest load: send 1, receive 1, link 1, channels 6`."""
    load = ", ".join(
        f"{name} {format_load(figures['load'][name])}"
        for name in ("send", "receive", "link", "channels")
    )
    return (
        f"{count_of(messages, 'message')} in {count_of(figures['phases'], 'phase')}; largest "
        f"load: {load}"
    )


def verified_program_text(figures: Mapping[str, Any]) -> str:
    """`54 phases executed, 3 switches, 2 contexts`.

    `72 messages in 36 bundles, 2 stages, 6 phases; …`.
    """
    if not figures:
        return "not counted"
    if "bundles" in figures:
        stages = f"{count_of(figures['stages'], 'stage')}, {count_of(figures['phases'], 'phase')}"
        sent = (
            f"{count_of(figures['messages'], 'message')} in "
            f"{count_of(figures['bundles'], 'bundle')}"
        )
        staging = format_size(figures["staging_bytes"])
        return (
            f"{sent}, {stages}; volume {figures['volume']:.3f}, a rank holds {staging} for "
            "others at most"
        )
    executed = f"{count_of(figures['phases'], 'phase')} executed"
    switches = count_of(figures["switches"], "switch", "switches")
    return f"{executed}, {switches}, {count_of(figures['contexts'], 'context')}"


def check_object(
    record: Record, violations: tuple[timeline_check.Violation, ...]
) -> dict[str, Any]:
    """`ok` and `violations` with the keys of a schedule's.

    And whether rates at every time were looked at.
    """
    return {
        "ok": not violations,
        "violations": [
            {"phase": None, "transfer": None, "rule": v.rule, "text": v.text} for v in violations
        ],
        "rates": record.timeline.rates is not None,
    }


def check_text(record: Record) -> str:
    """What was looked at, in words."""
    if record.timeline.model == "connections":
        return (
            "starts, deliveries, policies, bounds and switches, channels, elements of every gate "
            "and link hold"
        )
    if record.timeline.model == "flit":
        return "starts, deliveries, policies, bounds and flits of every link hold"
    if record.timeline.rates is None:
        return "starts, deliveries, policies and bounds hold; rates were not kept"
    return "starts, deliveries, policies, bounds and the rates at every time hold"
