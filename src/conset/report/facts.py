"""Facts of machines, patterns and schedules; outcomes of commands as sections; both as objects.

The same in terminal, page and notebook. An outcome is what a compile, bound, prediction,
verification, plan or run came to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base import Array, Ints, count_of, format_load, format_size, format_time
from conset.bounds.stages import StageBounds
from conset.machine import (
    USUAL_OVERHEAD,
    Costs,
    Machine,
    Topology,
    group_of,
    listed,
    plain,
)
from conset.pattern import Pattern
from conset.report.sections import Fact, Part, Section, Table
from conset.schedule import Schedule, figures

if TYPE_CHECKING:
    from conset.bounds.bounds import Bounds, TimeOfClass
    from conset.compilation import Combination
    from conset.execution import ConnectionEntries, Plan, RunResult
    from conset.models import Prediction, ProgramPrediction, Record, SwitchParts
    from conset.schedule import Program
    from conset.studies import Timing
    from conset.verification import verification as schedule_check
    from conset.verification.timeline import check as timeline_check

EARLY = Fact("stopped", "early: the search was interrupted, this is its best so far")


def _section(title: str, subtitle: str, facts: Iterable[object]) -> Section:
    """Return a section of one part, without the facts that do not apply."""
    return Section(
        title, subtitle, parts=[Part(facts=[each for each in facts if isinstance(each, Fact)])]
    )


# Compiling

EQUAL = 1.02
"""Factor up to which two modelled times are called equal: a model is not that exact."""
ROTATED, RANK_ORDER = "the naive exchange in rotated order", "in rank order"


def answer_text(modelled: Mapping[str, Any], verified: bool | None, staged: str = "") -> str:
    """Return how much faster than what codes do without a schedule, and how near to the bound.

    `1.8 times faster than the naive exchange in rotated order, 2.7 times faster than in rank order
    (112.6 ms; model wormhole), 24 % above the lower bound, verified`.

    Args:
        modelled: as in a schedule's file.
        verified: whether it is right; None: not checked.
        staged: of a program of stages, how many it has and what direct messages take.
    """
    time_s, bound_s = modelled["schedule_s"], modelled["bound_s"]
    if not time_s:
        return "nothing to send"
    said: dict[str, list[str]] = {}
    for key, what in (("rotated_s", ROTATED), ("rank_order_s", RANK_ORDER)):
        if (other_s := modelled[key]) is not None:
            said.setdefault(_ratio(other_s, time_s), []).append(what)
    by = "by formula" if modelled["model"] == "formula" else f"model {modelled['model']}"
    ratios = ", ".join(f"{ratio} {' and '.join(whats)}" for ratio, whats in said.items())
    own = f"{format_time(time_s)}{staged}"
    lead = f"{ratios} ({own}; {by})" if said else own
    above = time_s / bound_s - 1 if bound_s > 0 else 0.0
    share = f"{100 * above:.2g}" if above > 0.01 else f"{100 * above:.1f}"
    least = "at the lower bound" if above < 5e-4 else f"{share} % above the lower bound"
    least = f"{1 + above:,.3g} times the lower bound" if above >= 1 else least
    checked = {None: "", True: ", verified", False: ", breaks rules"}[verified]
    return f"{lead}, {least}{checked}"


def _ratio(other_s: float, time_s: float) -> str:
    """Return `1.8 times faster than`, `as fast as` or `1.2 times slower than`."""
    if max(other_s, time_s) <= EQUAL * min(other_s, time_s):
        return "as fast as"
    word, ratio = ("faster", other_s / time_s) if other_s > time_s else ("slower", time_s / other_s)
    shown = f"{ratio:.2f}" if ratio < 1.1 else f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"
    return f"{shown} times {word} than"


def _other_facts(modelled: Mapping[str, Any]) -> list[Fact]:
    """Return what changes with parameters of the machine that were not given."""
    others, rotated_s = dict(modelled["others"]), modelled["rotated_s"]
    at_overhead = others.pop(USUAL_OVERHEAD, None)
    facts = []
    if others and rotated_s:
        ratios = {modelled["model"]: (modelled["schedule_s"], rotated_s), **others}
        gains = {name: rotated / own for name, (own, rotated) in ratios.items() if own}
        least, most = min(gains.values()), max(gains.values())
        by_model = ", ".join(f"{name} {gain:.3g}" for name, gain in gains.items())
        same = most <= EQUAL * least
        spread = f"{least:.3g}" if same else f"{least:.3g} to {most:.3g}"
        decides = "" if same else "; the machine's switching=… decides, not given"
        value = f"{spread} times as fast as {ROTATED}: {by_model}{decides}"
        facts.append(Fact("models", value, detail=same))
    if at_overhead is not None and at_overhead[0] > 1.1 * modelled["schedule_s"]:
        own, other = map(format_time, at_overhead)
        value = f"not given, 0 s a message: at 1 us this takes {own}, rotated order {other}"
        facts.append(Fact("overhead", value))
    return facts


def _sent_text(schedule: Schedule, pattern: Mapping[str, Any]) -> str:
    """Return `64 ranks, 4,032 messages of 64 KiB, 252 MiB`, with ranks that do not fill nodes."""
    traffic, nodes = schedule.pattern, schedule.machine.topology.endpoints
    local = f", {format_size(pattern['local_bytes'])} stay local" if pattern["local_bytes"] else ""
    sent, each = count_of(pattern["messages"], "message"), ""
    if traffic.messages == pattern["messages"] > 0 and traffic.equal_sizes:
        size = int(traffic.size[0])
        each = f" of {f'{size:,} B' if size % 1024 else format_size(size)}"
    some = f" on {nodes:,} nodes" if pattern["ranks"] != nodes else ""
    ranks = count_of(pattern["ranks"], "rank")
    return f"{ranks}{some}, {sent}{each}, {format_size(pattern['bytes'])}{local}"


def _time_facts(schedule: Schedule, summary: Mapping[str, Any]) -> list[object]:
    """Return phases, loads and times, each with its bound."""
    load, bound, gap = (summary[key] for key in ("load", "bound", "gap"))
    under, modelled, simulated_s = (
        f"under sync {summary['sync']}",
        schedule.modelled,
        summary["simulated_s"],
    )
    least = f"bound {bound['phases']:,} (gap {gap['phases']:.3f})"
    at_most = f"link {format_load(load['link'])}, channels {format_load(load['channels'])} at most"
    largest = f"sum of largest {format_load(load['sum'], grouped=True)}"
    least_s = (
        f"bound {format_time(bound['time_s'])} (gap {gap['time']:.3f}): {bound['time_witness']}"
    )
    any_s = least_s
    if modelled is not None:
        any_s = f"{format_time(modelled['bound_s'])}: {modelled['bound_witness']}"
    apart = summary["sync"] != "none" or schedule.machine.is_circuit
    order_only = not apart and summary["phases"] > 1
    posted = " of posting: under sync none limits are not kept at run time" if order_only else ""
    return [
        Fact(
            "phases",
            f"{posted}, {least}: {bound['phases_witness']}",
            strong=f"{summary['phases']:,}",
        ),
        Fact(
            "load",
            f"send {load['send']}, receive {load['receive']}, {at_most}; {largest}",
            detail=True,
        ),
        Fact(
            "time",
            f" by {summary['time_by']} {under}, lower bound of any schedule {any_s}",
            strong=format_time(summary["time_s"]),
        ),
        Fact("class", f"{least_s}; {bound['time_class']}", detail=True),
        summary["time_by"] != "formula"
        and Fact(
            "formula",
            f" {under}, which ignores blocking",
            strong=format_time(summary["predicted_s"]),
            detail=True,
        ),
        simulated_s is not None
        and summary["rank_by"] != summary["time_by"]
        and Fact("simulated", f" by {summary['rank_by']} {under}", strong=format_time(simulated_s)),
    ]


def _schedule_section(schedule: Schedule, summary: Mapping[str, Any], staged: str) -> Section:
    """Return what is sent, in how many phases, how close to the best, how long it takes.

    Args:
        schedule: what was made.
        summary: the keys of `compile --json`.
        staged: as in `answer_text`.
    """
    flight = "" if schedule.in_flight is None else f", {summary['in_flight']} in flight"
    limits = "no limits" if str(schedule.limits) == "none" else f"limits {schedule.limits}"
    order = "" if schedule.posting == "schedule" else f", posted {schedule.posting}"
    scheduled = f"scheduled in {format_time(summary['compile_s'])}"
    verdict, placement = summary["verdict"] or {}, summary["placement"]
    modelled = schedule.modelled
    facts = [
        Fact("method", f"{summary['method']}, {limits}, sync {summary['sync']}{order}{flight}"),
        placement not in (None, "identity") and Fact("placement", placement),
        summary["auto"] and Fact("why", summary["why"]),
        *([] if modelled is None else _other_facts(modelled)),
        verdict.get("text") and Fact("agreement", verdict["text"], detail=True),
        summary.get("routes") and Fact("routes", summary["routes"]),
        verdict.get("drift") and Fact("limits", verdict["drift"], detail=True),
        *(Fact("cut", line) for line in verdict.get("cut", ())),
        summary["units"] is not None
        and Fact(
            "units",
            f"{summary['units']:,} of a half-duplex node (exchanges 1, other phases 2)",
            detail=True,
        ),
        *_time_facts(schedule, summary),
        Fact(
            "verified",
            f"yes: every message once, every limit kept, figures recounted; {scheduled}",
            detail=True,
        ),
        EARLY if summary["stopped_early"] else None,
        summary["note"] and Fact("note", summary["note"], detail=True),
        *(Fact("warning", line) for line in summary.get("warnings", ())),
    ]
    title = f"{schedule.pattern.name} on {summary['machine']}"
    answer = "" if modelled is None else answer_text(modelled, summary["verified"], staged)
    return replace(_section(title, _sent_text(schedule, summary["pattern"]), facts), answer=answer)


def compile_section(found: Combination, summary: Mapping[str, Any]) -> Section:
    """Return what a compile found, with the stages of a program that forwards.

    Args:
        found: the program, or the schedule of direct messages.
        summary: the keys of `compile --json`.
    """
    staged = ""
    if found.program.paths is None:
        said = f"not considered: {found.why}" if found.only_direct else f"no, {found.why}"
        stages = [Fact("combined", said)] if found.why else []
    else:
        count = count_of(found.program.paths.stages, "stage")
        staged = f" in {count}"
        if summary["direct_s"] is not None:
            at_least = "at least " * summary["direct_is_bound"]
            staged += f", {at_least}{format_time(summary['direct_s'])} directly"
        stages = [
            Fact("combined", f"{found.combine}, {count}"),
            *([Fact("chosen", found.why)] if found.why else []),
        ]
        for name, stage in zip(found.program.stages, summary["stages"], strict=True):
            sent = count_of(stage["pattern"]["messages"], "bundle")
            most = f"at most {format_load(stage['load']['sum'], grouped=True)} at a port or link"
            value = f"{sent}, {format_size(stage['pattern']['bytes'])}, {most}"
            stages.append(Fact(name.name, value))
        least = summary["bound"]["any_number"]
        gap = f"(gap {summary['gap']['any_number']:.3f})"
        value = f"at least {format_time(least['time_s'])} {gap}: {least['time_witness']}"
        stages.append(Fact("any way", value))
    whole = _schedule_section(found.whole, summary, staged)
    return replace(whole, parts=[Part(facts=stages), *whole.parts])


# Bounds


def bound_facts(bounds: Bounds | StageBounds, strict: Iterable[TimeOfClass] = ()) -> list[Fact]:
    """Return the bounds with witness and class, then times of stricter classes."""
    time = Fact("time", f"at least {format_time(bounds.time_s)}: {bounds.time_witness}")
    if isinstance(bounds, StageBounds):
        added = "the most of a rank in each stage added up"
        return [
            time,
            Fact("sends", f"at least {bounds.sends:,}, {added}: {bounds.sends_witness}"),
            Fact("", f"class: {bounds.stages_class}"),
            Fact("volume", f"at least {bounds.volume:.3f} of the bytes: {bounds.volume_witness}"),
            Fact("", f"class: {bounds.volume_class}"),
        ]
    load_sum = format_load(bounds.load_sum, grouped=True)
    largest = f"of all phases, the largest each, at least {load_sum}"
    lines = [
        time,
        Fact("", f"class: {bounds.time_class}"),
        Fact("phases", f"at least {bounds.phases:,}: {bounds.phases_witness}"),
        Fact("", f"class: {bounds.phases_class}"),
        Fact("load", f"{largest}: {bounds.load_sum_witness}"),
        Fact("", f"class: {bounds.load_sum_class}"),
    ]
    for each in strict:
        lines.append(Fact("time", f"at least {format_time(each.time_s)}: {each.time_witness}"))
        lines.append(Fact("", f"class: {each.time_class}"))
    return lines


def bound_section(
    pattern: str,
    machine: str,
    bounds: Bounds | StageBounds,
    strict: Iterable[TimeOfClass] = (),
) -> Section:
    """Return the bounds with witness and class, and every bound that was tried."""
    rows = []
    for each in bounds.candidates:
        value = format_time(each.value)
        if each.what == "volume":
            value = f"{each.value:.3f} of the bytes"
        elif each.what != "time":
            phases = "phase" if each.value == 1 else "phases"
            unit = {"load": "sum of loads", "sends": "sends", "phases": phases}[each.what]
            value = f"{format_load(each.value, grouped=True)} {unit}"
        rows.append((each.name, value, each.witness))
    tried = Table(("bound", "at least", "witness"), rows, (0, 2), (0, 1, 2)) if rows else None
    return Section(
        f"{pattern} on {machine}", parts=[Part(facts=bound_facts(bounds, strict), table=tried)]
    )


def candidates_object(bounds: Bounds | StageBounds) -> list[dict[str, Any]]:
    """Return every bound that was tried."""
    keys = ("name", "what", "value", "witness")
    return [{key: getattr(each, key) for key in keys} for each in bounds.candidates]


# Predictions


def prediction_section(timing: Timing) -> Section:
    """Return the time, by what, its terms, what the formula gives and what takes longest."""
    prediction, phases = timing.prediction, timing.phase_s
    lead = [Fact("instead", timing.stands_in)] if timing.stands_in else []
    by = f"by {timing.by} on {prediction.machine} under sync {prediction.sync}"
    facts = prediction_facts(prediction, timing.terms, formula=timing.by == "formula")
    if phases.size > 1:
        edges = (format_time(edge) for edge in (phases.min(), phases.max()))
        spread = " to ".join(dict.fromkeys(edges))
        facts.append(Fact("phases", f"{phases.size:,}, removing one saves {spread}"))
    facts += computation_facts(timing.computation)
    warnings = [Fact("warning", line) for line in prediction.warnings]
    return _section(f"{format_time(timing.time_s)} {by}", "", [*lead, *facts, *warnings])


def prediction_facts(
    prediction: Prediction, terms: Mapping[str, float], *, formula: bool = True
) -> list[Fact]:
    """Return terms, the formula (with its time where a model decided) and what takes longest."""
    by_formula = "" if formula else f"{format_time(prediction.time_s)}, which ignores blocking: "
    return [
        Fact("terms", terms_text(terms)),
        Fact("formula", f"{by_formula}{prediction.formula}"),
        Fact("busiest", prediction.witness),
    ]


def terms_text(terms: Mapping[str, float]) -> str:
    """Return `synchronization 1 us, setup 0 s, transfer 3 us`."""
    return ", ".join(f"{name} {format_time(value)}" for name, value in terms.items())


def computation_facts(times: Mapping[str, float] | None) -> list[Fact]:
    """Return `1 ms at every node, 0.4 ms of it hidden: 2.3 ms in all`, where it is known."""
    if not times or "with_computation_s" not in times:
        return []
    keys = ("computation_s", "hidden_s", "with_computation_s")
    whole, hidden, both = (format_time(times[key]) for key in keys)
    return [Fact("compute", f"{whole} at every node, {hidden} of it hidden: {both} in all")]


# Programs


def program_object(program: Program, prediction: ProgramPrediction) -> dict[str, Any]:
    """Return the stages in short, figures and prediction, as `--json` prints them."""
    stages = []
    for stage in program.stages:
        schedule = program.schedules[stage.schedule]
        row: dict[str, Any] = {
            "name": stage.name,
            "repeat": stage.repeat,
            "schedule": stage.schedule,
            "turns": stage.turns,
            "method": schedule.method,
            "phases": schedule.phases,
            "contexts": list(program.contexts[stage.schedule]),
        }
        if program.paths is not None:
            row |= {"bundles": schedule.pattern.messages, "most_bundles": most_bundles(schedule)}
        stages.append(row)
    return {
        "machine": program.machine.name,
        "sync": program.sync,
        "stages": stages,
        "figures": program.figures(),
        "verified": True,
        "predicted_s": prediction.time_s,
        "terms": prediction.terms,
        "reason": program.reason or None,
        "stopped_early": program.stopped_early,
    }


def most_bundles(schedule: Schedule) -> int:
    """Return the most bundles that a rank sends in a stage of a program that forwards."""
    return int(np.diff(schedule.pattern.offsets).max())


def program_section(
    program: Program, prediction: ProgramPrediction, *, verified: bool = True
) -> Section:
    """Return the stages of a program, what is switched or forwarded, how long it takes."""
    figures, paths = program.figures(), program.paths
    counted = {
        key: count_of(figures[key], key[:-1])
        for key in ("phases", "messages", "contexts", "bundles")
        if key in figures
    }
    title, subtitle = f"{count_of(len(program.stages), 'block')} on {program.machine.name}", ""
    facts, stages = [], []
    if paths is not None:
        title = f"{paths.pattern.name} on {program.machine.name}"
        size = format_size(figures["bytes"])
        subtitle = f"{count_of(program.ranks, 'rank')}, {counted['messages']}, {size}"
        value = f", {counted['bundles']} in {counted['phases']}"
        facts.append(Fact("stages", value, strong=f"{figures['stages']:,}"))
    for stage, seconds in zip(program.stages, prediction.block_s, strict=True):
        schedule, took = program.schedules[stage.schedule], format_time(seconds)
        phases = count_of(schedule.phases, "phase")
        if paths is None:
            way = ", forth and back" if stage.turns else ""
            value = f"{stage.repeat:,} × {phases}{way} by {schedule.method}, {took}"
        else:
            bundles = count_of(schedule.pattern.messages, "bundle")
            most = f"at most {most_bundles(schedule):,} of a rank"
            value = f"{bundles}, {most}, {phases} by {schedule.method}, {took} alone"
        stages.append(Fact(f"{stage.name}:", value))
    what, under = "every context under the limits, switches recounted", ""
    if paths is None:
        switches = f" between {counted['contexts']}"
        apart = f", {figures['switches_apart']:,} if no phase were shared"
        sent = f"{counted['phases']}, {counted['messages']}, {format_size(figures['bytes'])}"
        rest = [
            Fact("executed", sent),
            Fact("switches", switches + apart, strong=f"{figures['switches']:,}"),
        ]
    else:
        what = "every bundle, every byte at its target, bytes held recounted"
        under = f" by formula under sync {program.sync}"
        held = f"a rank holds {format_size(figures['staging_bytes'])} for others at most"
        limit_B = program.staging_limit_B  # noqa: N806
        rest = [
            Fact("volume", volume_text(figures["volume"])),
            Fact("staging", held + ("" if limit_B is None else f", limit {format_size(limit_B)}")),
        ]
    time = format_time(prediction.time_s)
    rest.append(Fact("predicted", f"{under}: {terms_text(prediction.terms)}", strong=time))
    rest += [Fact("chosen", program.reason)] if program.reason else []
    rest += [Fact("verified", f"yes: every schedule, {what}")] if verified else []
    rest += [EARLY] if program.stopped_early else []
    return Section(title, subtitle, parts=[Part(facts=[*facts, *stages, *rest])])


def volume_text(volume: float) -> str:
    """Return `1.25: bytes that all stages send, over bytes delivered`."""
    return f"{volume:.3f}: bytes that all stages send, over bytes delivered"


# Plans


def summarize_plan(plan: Plan) -> dict[str, Any]:
    """Return figures of a plan; sizes in bytes, of ranks the least, mean and largest."""

    def spread(values: Array) -> dict[str, float]:
        return {"min": int(values.min()), "mean": float(values.mean()), "max": int(values.max())}

    return {
        "ranks": plan.ranks,
        "phases": plan.phases,
        "sync": str(plan.sync),
        "barriers": plan.sync.barriers(plan.phases),
        "in_flight": plan.in_flight or "all",
        "messages": plan.transfers,
        "bytes": plan.bytes,
        "sends_per_rank": spread(np.diff(plan.sends.offsets)),
        "receives_per_rank": spread(np.diff(plan.receives.offsets)),
        "send_buffer": spread(plan.send_bytes),
        "receive_buffer": spread(plan.receive_bytes),
        "work_area": spread(np.zeros(plan.ranks) if plan.work_bytes is None else plan.work_bytes),
        "copies": sum(each.count for each in (plan.packs, plan.unpacks) if each is not None),
    }


def summarize_connections(entries: ConnectionEntries) -> dict[str, Any]:
    """Return figures of what a program opens and executes.

    A connection counts in every phase that holds it, a phase as often as it runs. A plan puts
    phases between which nothing is switched into one.
    """
    return {
        "ranks": entries.ranks,
        "phases": entries.executed,
        "blocks": len(entries.names),
        "contexts": len(set(entries.phase_context.tolist())),
        "connections": int(entries.send.sum()),
    }


def plan_section(summary: Mapping[str, Any]) -> Section:
    """Return ranks, phases, messages, buffers of a plan, and what a program opens.

    Args:
        summary: as `summarize_plan` and `summarize_connections` return, or one of both.
    """
    facts, title = [], ""
    if "messages" in summary:
        flight = "" if summary["in_flight"] == "all" else f", {summary['in_flight']} in flight"
        phases = f"{count_of(summary['phases'], 'phase')}, sync {summary['sync']}{flight}"
        title = f"{count_of(summary['ranks'], 'rank')}, {phases}"
        sent, received = (
            f"{each['min']:,}"
            if each["min"] == each["max"]
            else f"{each['min']:,} to {each['max']:,}"
            for each in (summary["sends_per_rank"], summary["receives_per_rank"])
        )
        send, receive, work = (
            f"{format_size(summary[key]['max'])} at most"
            for key in ("send_buffer", "receive_buffer", "work_area")
        )
        facts = [
            Fact(
                "messages",
                f"{summary['messages']:,} with {format_size(summary['bytes'])} delivered",
            ),
            Fact("per rank", f"{sent} sent, {received} received"),
            Fact("send buffer", send),
            Fact("receive buffer", receive),
        ]
        if summary["work_area"]["max"]:
            copies = count_of(summary["copies"], "copy", "copies")
            facts.append(Fact("work area", f"{work}, {copies}"))
    if "connections" in summary:
        counts = (
            count_of(summary[f"{noun}s"], noun)
            for noun in ("connection", "block", "context", "phase")
        )
        facts.append(Fact("opens", "{} in {}, {}, {} executed".format(*counts)))
    return _section(title, "", facts)


# Runs


def run_section(result: RunResult) -> Section:
    """Return what ran, whether it delivered, and for each variant its times and ratio to naive."""
    flight = "" if result.in_flight is None else f", {result.in_flight} in flight"
    stages = "" if result.stages is None else f"{count_of(result.stages, 'stage')}, "
    repetitions = f"{count_of(result.repeat, 'repetition')} in {result.elapsed_s:.1f} s"
    how = f"{result.mpi}, sync {result.sync}{flight}"
    checked, switch = f"{result.bytes_checked:,}: ", result.switch
    wrong = f"{result.mismatches:,} wrong" if result.mismatches else "all right"
    facts = [
        Fact("bytes checked", checked + wrong),
        result.work_bytes and Fact("work area", f"{format_size(result.work_bytes)} at most"),
        switch and Fact("switches", switch_text(switch)),
    ]
    rows = []
    for variant in result.variants:
        times = (format_time(result.median_of(variant)), format_time(min(result.times_s[variant])))
        name = "program" if variant == "schedule" and result.stages is not None else variant
        if variant == "naive":
            rows.append((name, *times, "1", "", ""))
            continue
        ratio = result.ratio_of(variant)
        interval = f"{ratio.low:.2f} … {ratio.high:.2f}"
        decided = "" if ratio.decided else "not decided"
        rows.append((name, *times, f"{ratio.median:.2f}", interval, decided))
    columns = ("variant", "median", "min", "ratio to naive", "95 % interval", "")
    phases = count_of(result.phases, "phase")
    return Section(
        f"{count_of(result.ranks, 'rank')} on {count_of(result.cores, 'core')}",
        f"{how}, {stages}{phases}, {repetitions}",
        result.mismatches == 0,
        parts=[
            Part(
                facts=[fact for fact in facts if isinstance(fact, Fact)],
                table=Table(columns, rows, (0, 5)),
            )
        ],
    )


def switch_text(parts: SwitchParts) -> str:
    """Return `8: drain 1.2 ms, synchronization 3 ms, set-up 0.4 ms`."""
    times = {
        "drain": parts.drain_s,
        "synchronization": parts.synchronization_s,
        "set-up": parts.setup_s,
    }
    return f"{parts.count:,}: {terms_text(times)}"


# Verifications


def violation_lines(
    violations: Iterable[schedule_check.Violation | timeline_check.Violation],
) -> list[str]:
    """Return `rule: what breaks it` for each; some texts begin with the rule themselves."""
    return [f"{each.rule}: {each.text.removeprefix(f'{each.rule}: ')}" for each in violations]


def verified_text(figures: Mapping[str, Any], messages: int = 0) -> str:
    """Return the figures of a verified schedule (of so many messages) or program in a line.

    `240 messages in 18 phases; largest load: …`, `54 phases executed, 3 switches, 2 contexts`,
    `72 messages in 36 bundles, 2 stages, 6 phases; volume …`.
    """
    if not figures:
        return "not counted"
    phases = count_of(figures["phases"], "phase")
    if "load" in figures:
        sent = count_of(messages, "message")
        return f"{sent} in {phases}; largest load: {load_text(figures['load'])}"
    if "bundles" in figures:
        sent, bundles, stages = (
            count_of(figures[f"{n}s"], n) for n in ("message", "bundle", "stage")
        )
        staging = f"a rank holds {format_size(figures['staging_bytes'])} for others at most"
        volume = f"volume {figures['volume']:.3f}"
        return f"{sent} in {bundles}, {stages}, {phases}; {volume}, {staging}"
    switches = count_of(figures["switches"], "switch", "switches")
    return f"{phases} executed, {switches}, {count_of(figures['contexts'], 'context')}"


def check_object(
    record: Record, violations: tuple[timeline_check.Violation, ...]
) -> dict[str, Any]:
    """Return `ok`, `violations` with the keys of a schedule's, and whether rates were checked."""
    return {
        "ok": not violations,
        "violations": [
            {"phase": None, "transfer": None, "rule": v.rule, "text": v.text} for v in violations
        ],
        "rates": record.timeline.rates is not None,
        "unchecked": ["events", "figures", "method"],  # only a simulation knows them
    }


def check_text(record: Record) -> str:
    """Return what was checked of a timeline."""
    if record.timeline.model == "connections":
        elements = "elements of every gate and link hold"
        return f"starts, deliveries, policies, bounds and switches, channels, {elements}"
    if record.timeline.model == "flit":
        return "starts, deliveries, policies, bounds and flits of every link hold"
    if record.timeline.rates is None:
        return "starts, deliveries, policies and bounds hold; rates were not kept"
    return "starts, deliveries, policies, bounds and the rates at every time hold"


# Facts of machines, patterns and schedules

Summary = Mapping[str, Any]
"""The keys of `compile --json`."""

TERM_LABELS = {"transfer": "transfer", "setup": "set-up", "synchronization": "synchronization"}
"""What a time is made of, and its names."""
LOADS = ("send", "receive", "link", "channels")
"""Kinds of loads, as they are shown."""
UNNAMED = "pattern"
"""The name of a pattern that has none."""
COST_LABELS = {
    "overhead": "overhead of a message",
    "inject": "latency into the network",
    "eject": "latency out of the network",
    "port": "rate of a port",
    "port_out": "rate out of a node",
    "port_in": "rate into a node",
    "node": "rate in and out together",
    "exchange_weight": "weight of an exchange",
    "link": "rate of a link",
    "hop": "latency per link",
    "synchronization": "barrier",
    "setup": "set-up of a phase",
    "signal": "ready signal",
    "first_barrier": "first phase charged",
    "tolerance": "link tolerance",
    "blocking": "blocking exponent",
    "eager": "eager threshold",
}
"""Names of costs that predictions use; those of simulations only are in `conset machines`."""


def machine_facts(machine: Machine) -> list[Fact]:
    """Return size, rule and limits; the costs are apart (`cost_facts`)."""
    topology, routing = machine.topology, machine.routing
    extra = topology.nodes - topology.endpoints
    switches = f", of which {count_of(extra, 'switch', 'switches')}" if extra else ""
    links = f"{topology.links:,} one-way" if topology.kind != "crossbar" else "none: ports only"
    facts = [
        Fact("network", describe_network(topology)),
        Fact("nodes", f"{topology.nodes:,}{switches}"),
        Fact("links", links),
    ]
    if topology.width > 1:
        facts.append(Fact("width", f"{topology.width} parallel links each"))
    even = any(side > 2 and side % 2 == 0 for side in topology.sides)
    can_tie = topology.wraps and routing.rule == "dimension-order" and even
    tie = f", ties {routing.tie}" if can_tie else ""
    hashed = f", hash {routing.seed}" if routing.knowledge == "hashed" else ""
    only = f" (for {', '.join(machine.limits_methods)})" if machine.limits_methods else ""
    facts += [
        Fact("routing", routing.rule + tie + hashed),
        Fact("hard limits", f"{machine.limits}{only}"),
    ]
    if machine.method_costs:
        facts.append(Fact("costs of its own for", ", ".join(machine.method_costs)))
    facts += [Fact("note", note) for note in machine.notes]
    return facts + [Fact("warning", line) for line in machine.warnings]


def describe_network(topology: Topology) -> str:
    """Return `8 × 8 mesh`, `hypercube of 6 dimensions`, `crossbar of 16 ports` or the like."""
    if topology.base is not topology:
        base = topology.base
        each = describe_network(base)
        if base.kind == "graph":
            each = f"a switch of {count_of(base.endpoints, 'port')}"
        return f"{count_of(topology.planes, 'plane')}, each: {each}"
    if topology.kind == "hypercube":
        return f"hypercube of {count_of(topology.dimensions, 'dimension')}"
    if len(topology.sides) == 1:
        what = "ports" if topology.kind == "crossbar" else "nodes"
        return f"{topology.kind} of {topology.nodes} {what}"
    if topology.sides:
        return " × ".join(str(side) for side in topology.sides) + f" {topology.kind}"
    if topology.family is None or topology.level is None:
        return "graph"
    return f"{topology.family.name} of {count_of(topology.endpoints, 'endpoint')}"


def cost_facts(costs: Costs) -> list[Fact]:
    """Return every cost of predictions whose origin is known, with its tag and source."""
    return [
        Fact(
            COST_LABELS[word],
            text,
            f"{origin.tag}: {origin.source}" if origin.source else origin.tag,
        )
        for word, text, _, origin in listed(costs)
        if word in COST_LABELS
    ]


def pattern_facts(pattern: Pattern) -> list[Fact]:
    """Return ranks, messages, bytes, degrees, sizes."""
    facts = [
        Fact("ranks", f"{pattern.ranks:,}"),
        Fact("messages", f"{pattern.messages:,}"),
        Fact("bytes", format_size(pattern.bytes) if pattern.messages else "0 B"),
    ]
    if pattern.messages:
        for label, degree in zip(
            ("sends per rank", "receives per rank"), degrees(pattern), strict=True
        ):
            low, high = degree.min(), degree.max()
            spread = f"{low} to {high}, mean {degree.mean():.4g}"
            facts.append(Fact(label, f"{low}, all equal" if low == high else spread))
        least, middle, most = (
            format_size(float(size))
            for size in (pattern.size.min(), np.median(pattern.size), pattern.size.max())
        )
        equal = f"{most}, all equal"
        spread = f"{least} to {most}, median {middle}"
        what = "bytes of a pair" if any(pattern.sent) else "size of a message"
        facts.append(Fact(what, equal if pattern.equal_sizes else spread))
    if pattern.local_bytes:
        local = f"{format_size(pattern.local_bytes)}, never on the network"
        facts.append(Fact("local bytes", local))
    if pattern.messages and pattern.before is not None:
        pairs = count_of(len(pattern.before), "pair of messages", "pairs of messages")
        facts.append(Fact("partial order", pairs))
    if pattern.messages and pattern.packed is not None:
        packed = count_of(int(pattern.packed.sum()), "message")
        facts.append(Fact("put together from pieces", packed))
    if any(pattern.sent):
        facts.append(Fact("as sent", _sent_sizes(pattern.sent)))
    return facts


def _sent_sizes(sent: Sequence[int]) -> str:
    """`2 messages: 1 of 64 to 127 B, 1 of 4 KiB to 8,191 B`."""
    parts = []
    for k, count in enumerate(sent):
        if count:
            low, high = (0, 0) if k == 0 else (1 << (k - 1), (1 << k) - 1)
            size = f"{low} B" if low == high else f"{low:,} to {high:,} B"
            parts.append(f"{count:,} of {size}")
    return f"{count_of(sum(sent), 'message')}: {', '.join(parts)}"


def degrees(pattern: Pattern) -> tuple[Ints, Ints]:
    """Return (sends, receives), shape=(ranks): messages that leave and enter every rank."""
    return np.diff(pattern.offsets), np.bincount(pattern.target, minlength=pattern.ranks)


def schedule_facts(schedule: Schedule, summary: Summary | None = None) -> list[Fact]:
    """Return method, phases, loads; bound, gap and prediction where a summary is given."""
    pattern = schedule.pattern
    figure = figures(schedule) if summary is None else summary
    load, bound = figure["load"], (summary or {}).get("bound") or {}
    limits = "no limits" if str(schedule.limits) == "none" else f"limits {schedule.limits}"
    least = "" if bound.get("phases") is None else f", bound {bound['phases']:,}"
    witness = f" ({bound['phases_witness']})" if least and bound.get("phases_witness") else ""
    label = f"{pattern_label(schedule)}{count_of(pattern.ranks, 'rank')}"
    facts = [
        Fact("method", f"{schedule.method}, {limits}"),
        Fact(
            "pattern",
            f"{label}, {count_of(pattern.messages, 'message')}, {format_size(pattern.bytes)}",
        ),
        Fact("machine", schedule.machine.name),
        Fact("phases", f"{schedule.phases:,}{least}{witness}"),
        Fact("largest load", load_text(load)),
        Fact("largest messages", f"{format_size(figure['phase_bytes'])}, summed over phases"),
    ]
    if schedule.route_nodes is not None:
        facts.append(Fact("routes", "chosen by the compiler"))
    elif schedule.machine.routes_unknown:
        facts.append(Fact("routes", schedule.machine.routes_unknown))
    if summary is not None and summary.get("predicted_s") is not None:
        under = f"{format_time(summary['predicted_s'])} under {summary.get('sync', schedule.sync)}"
        time_s = bound.get("time_s")
        gap = "" if time_s is None else f", bound {format_time(time_s)}"
        facts.append(Fact("predicted", under + gap))
    return facts


def load_text(load: Mapping[str, Any]) -> str:
    """Return `send 1, receive 1, link 2, channels 6`."""
    return ", ".join(f"{name} {format_load(load[name])}" for name in LOADS)


def pattern_label(schedule: Schedule) -> str:
    """Return `alltoall: `, the pattern's name; of a file from the command that made it; else ""."""
    if schedule.pattern.name != UNNAMED:
        return f"{schedule.pattern.name}: "
    return compiled_pattern(schedule.manifest.command, "{}: ")


def compiled_pattern(command: str, form: str = "{}") -> str:
    """Return the pattern that `conset compile PATTERN …` names, in a form; "" of other commands."""
    words = command.split()
    return form.format(words[2]) if words[:2] == ["conset", "compile"] and len(words) > 2 else ""


# As objects of `--json`


def machine_object(machine: Machine) -> dict[str, Any]:
    """Return network, routing, limits, costs (also those of single methods) and notes."""
    topology, routing = machine.topology, machine.routing
    return {
        "name": machine.name,
        "network": {
            "kind": topology.kind,
            "sides": list(topology.sides),
            "nodes": topology.nodes,
            "endpoints": topology.endpoints,
            "links": topology.links,
        },
        "routing": {
            "rule": routing.rule,
            "tie": routing.tie,
            **({} if routing.is_known else {"knowledge": routing.knowledge, "hash": routing.seed}),
        },
        "limits": {**machine.limits.to_object(), "methods": list(machine.limits_methods)},
        "mode": machine.mode,
        "modes": list(machine.modes),
        "costs": cost_rows(machine),
        "notes": list(machine.notes),
        "warnings": list(machine.warnings),
    }


def cost_rows(machine: Machine) -> list[dict[str, Any]]:
    """Return every number once; of costs of single methods only what differs from the others."""
    common = listed(machine.costs)
    return [
        {
            "word": word,
            "group": group_of(word),
            "method": method,
            "value": plain(costs, word),
            "text": text,
            "unit": unit,
            "tag": origin.tag,
            "source": origin.source,
        }
        for method, costs in ((None, machine.costs), *machine.method_costs.items())
        for word, text, unit, origin in listed(costs)
        if method is None or (word, text, unit, origin) not in common
    ]


def pattern_object(pattern: Pattern) -> dict[str, Any]:
    """Return counts, degrees and sizes [B]."""
    out, into = degrees(pattern)
    size = pattern.size
    return {
        "ranks": pattern.ranks,
        "messages": pattern.messages,
        "bytes": pattern.bytes,
        "local_bytes": pattern.local_bytes,
        **({"sent": list(pattern.sent)} if any(pattern.sent) else {}),
        "sends": {"min": int(out.min()), "max": int(out.max())},
        "receives": {"min": int(into.min()), "max": int(into.max())},
        "size": {"min": int(size.min()), "max": int(size.max())} if pattern.messages else None,
        "ordered_pairs": 0 if pattern.before is None else len(pattern.before),
    }
