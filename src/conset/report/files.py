"""Files beside each other: one table for page and terminal, and a section of a page for each.

A section answers: what is it, is it right, how good is it, how long does it take; with pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.markup import escape

from conset.base import count_of, format_load, format_rate, format_size, format_time, shortened
from conset.models import PARTS, Record
from conset.pattern import Record as CallRecord
from conset.report.facts import (
    TERM_LABELS,
    UNNAMED,
    answer_text,
    compiled_pattern,
    cost_facts,
    machine_facts,
    pattern_facts,
    pattern_label,
    schedule_facts,
    volume_text,
)
from conset.report.page import anchor, write_sections
from conset.report.pattern import picture_calls, picture_pattern
from conset.report.program_pictures import NAMES, blocks_drawn, picture_message
from conset.report.schedule import (
    bytes_of_phases,
    guarantee_rows,
    phase_cells,
    picture_phase,
    schedule_draws,
)
from conset.report.sections import Draw, Fact, Part, Section, Table
from conset.report.steps import has_steps, steps_card
from conset.report.terminal import fitted_table
from conset.report.timeline import TimelineView, picture_timeline, timeline_facts
from conset.schedule import Guarantees, Program, Schedule, guarantees, phase_loads
from conset.studies import FileFindings
from conset.studies.times import simulate

Facts = Mapping[str, Any]
"""What `conset report --json` prints of a file."""

KINDS = {
    "schedule": "schedule",
    "blocks": "program of blocks",
    "forwarding": "program that forwards",
    "timeline": "timeline",
    "record": "record",
}
"""What files are."""
LEFT = ("file", "kind", "messages of", "machine", "method", "sync", "by", "verified")
ON_PAGE, IN_TERMINAL = 6, 3
"""Files up to which each has a column."""
ROWS = 200
"""Most rows of a table of phases or exchanges."""
LEAST = 24
"""Connections with the least guarantees that are listed."""
DRAWN = 4
"""Schedules of a program that are drawn one by one."""
TERMS = ("synchronization", "setup", "transfer")
NOTES = (
    "gap: time over its lower bound.",
    "time: by the machine's model, or by formula; of blocks by formula. simulated: timelines made "
    "from this file.",
)
DRAIN = (
    "drain is inside what phases transfer: by formula the worst latency of the last element, "
    "simulated from when the last byte has left its sender until all have arrived"
)


# The table


def sent_name(found: FileFindings) -> str:
    """Return whose messages: the pattern's name, or the argument of the command that made it."""
    if found.facts.get("name"):
        return str(found.facts["name"])
    if isinstance(found.noun, Schedule):
        return pattern_label(found.noun).removesuffix(": ") or UNNAMED
    return compiled_pattern(str(found.facts["manifest"]["command"])) or UNNAMED


def cells_of(found: FileFindings) -> dict[str, str]:
    """Return a file's cells of the table, by column."""
    facts, pattern = found.facts, found.facts["pattern"]
    bound = facts["bound"] or {}
    least, least_s = bound.get("phases"), bound.get("time_s")
    gap = "" if least_s is None else f"{facts['time_s'] / least_s:.3f}" if least_s else "1.000"
    verified = "not checked" if facts["verified"] is None else "yes"
    if facts["verified"] is False:
        verified = f"no, {count_of(facts['violations'], 'violation')}"
    timelines = (each.facts for each in found.simulated)
    return {
        "file": str(facts["file"]),
        "kind": KINDS[found.kind],
        "messages of": sent_name(found),
        "machine": facts["machine"] or "",
        "method": facts["method"] or "",
        "sync": facts["sync"] or "",
        "ranks": "" if pattern["ranks"] is None else f"{pattern['ranks']:,}",
        "messages": f"{pattern['messages']:,}",
        "bytes": format_size(pattern["bytes"]),
        "phases": "" if facts["phases"] is None else f"{facts['phases']:,}",
        "lower bound (phases)": "" if least is None else f"{least:,}",
        "switches": f"{facts['switch']['count']:,}" if facts["switch"] else "",
        "time": format_time(facts["time_s"]),
        "by": str(facts["by"]),
        "lower bound (time)": "" if least_s is None else format_time(least_s),
        "gap": gap,
        "simulated": ", ".join(f"{format_time(t['time_s'])} {t['model']}" for t in timelines),
        "verified": verified,
    }


def summary_table(found: Sequence[FileFindings], most: int) -> Table:
    """Return a column for each of at most so many files, else a row; without what is empty."""
    every = [cells_of(each) for each in found]
    anchors = [anchor(k) for k in range(len(found))]
    if len(found) <= most:
        heads = ("", *(cells.pop("file") for cells in every))
        rows = [[name, *(cells[name] for cells in every)] for name in every[0]]
        return Table(heads, [row for row in rows if any(row[1:])], (0,), head_links=["", *anchors])
    left = [k for k, name in enumerate(every[0]) if name in LEFT]
    rows = [list(cells.values()) for cells in every]
    return Table(list(every[0]), rows, left, links=anchors).without_empty()


def files_parts(found: Sequence[FileFindings]) -> list[RenderableType]:
    """Return the table for the terminal, and the first rule that each file breaks."""
    broken = (each.facts for each in found if each.facts["verified"] is False)
    notes = (
        f"[bold]{escape(facts['file'])} breaks rules[/]: {escape(facts['violation_texts'][0])}"
        for facts in broken
    )
    return [fitted_table(summary_table(found, IN_TERMINAL)), *notes]


def write_files_page(path: Path, found: Sequence[FileFindings], command: str) -> None:
    """Write the page: the table, then a section for each file.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: `path` cannot be written.
    """
    sections = [section_of(each) for each in found]
    if len(found) == 1:
        write_sections(path, page_title(found[0]), command, None, (), sections)
        return
    summary = summary_table(found, ON_PAGE)
    write_sections(path, f"{len(found)} files", command, summary, NOTES, sections)


# Sections


def section_of(found: FileFindings) -> Section:
    """Return all that is known of a file."""
    facts, manifest = found.facts, found.facts["manifest"]
    pattern = facts["pattern"]
    ranks = "" if pattern["ranks"] is None else f"{count_of(pattern['ranks'], 'rank')}, "
    sent = f"{count_of(pattern['messages'], 'message')}, {format_size(pattern['bytes'])}"
    on = f" on {facts['machine']}" if facts["machine"] else ""
    subtitle = f"{KINDS[found.kind]}: {sent_name(found)}{on}, {ranks}{sent}"
    violations = list(facts["violation_texts"])
    if facts["violations"] > len(violations):
        violations.append(f"… {facts['violations'] - len(violations):,} more")
    makers: dict[str, Callable[[FileFindings], list[Part]]] = {
        "schedule": _schedule_parts,
        "blocks": _block_parts,
        "forwarding": _stage_parts,
        "timeline": _timeline_parts,
        "record": _record_parts,
    }
    made = [
        Fact("command", manifest["command"] or "not said"),
        Fact("seed", str(manifest["seed"])),
        Fact("version", f"conset {manifest['version']}"),
        Fact("SHA-256 of its input", manifest["input_sha256"]),
        Fact("SHA-256 of the file", facts["sha256"]),
    ]
    modelled = facts.get("modelled")
    lead = [] if modelled is None else [_baselines(modelled)]
    parts = [*lead, *makers[found.kind](found), Part("Reproduction", made, folded=True)]
    answer = "" if modelled is None else answer_text(modelled, facts["verified"])
    return Section(
        str(facts["file"]),
        subtitle,
        facts["verified"],
        violations,
        parts,
        "recorded" if found.kind == "record" else "",
        answer,
    )


def page_title(found: FileFindings) -> str:
    """Return `Complete exchange of 64 KiB on 64 ranks, Paragon 8×8`."""
    facts, noun = found.facts, found.noun
    name = sent_name(found).split(":")[0]
    what = "Complete exchange" if name == "alltoall" else name[:1].upper() + name[1:]
    pattern = noun.pattern if isinstance(noun, Schedule) else None
    equal = pattern is not None and pattern.messages and pattern.equal_sizes
    size = f" of {format_size(float(pattern.size[0]))}" if pattern is not None and equal else ""
    ranks = facts["pattern"]["ranks"]
    on = "" if ranks is None else f" on {count_of(ranks, 'rank')}"
    if not facts["machine"]:
        return f"{what}{size}{on}"
    network, _, sides = str(facts["machine"]).partition(",")[0].partition(":")
    network = network[:1].upper() + network[1:]
    times = re.sub(r"(?<=[0-9])x(?=[0-9])", "×", sides)
    return f"{what}{size}{on}, {network}{f' {times}' if times else ''}"


def _baselines(modelled: Facts) -> Part:
    """Return the time as bars beside the lower bound and what codes do without a schedule."""
    rows = {
        "lower bound": modelled["bound_s"],
        "this schedule": modelled["schedule_s"],
        "all at once, rotated order": modelled["rotated_s"],
        "all at once, rank order": modelled["rank_order_s"],
        "step by step (pairwise)": modelled["pairwise_s"],
    }
    known = {label: time_s for label, time_s in rows.items() if time_s is not None}
    longest = max(known.values()) or 1.0
    bars = [(label, format_time(time_s), time_s / longest) for label, time_s in known.items()]
    why = [Fact("why", str(modelled["why"]))] if modelled["why"] else []
    bound = Fact("lower bound", f"{modelled['bound_witness']}, for any schedule")
    return Part(bars=bars, facts=[*why, bound])


def _machine(schedule: Schedule) -> Part:
    machine = schedule.machine
    facts = [*machine_facts(machine), *cost_facts(machine.costs_for(schedule.method))]
    return Part(f"Machine {machine.name}", facts, folded=True)


def _goodness(found: FileFindings) -> Part:
    """Return bounds with their proofs."""
    facts, bound = found.facts, found.facts["bound"]
    rows = []

    def compare(
        name: str, own: float, least: Facts, key: str, form: Callable[[Any], str], kind: str = ""
    ) -> None:
        value = least[f"{key}_s"] if key == "time" else least[key]
        gap = f"{own / value:.3f}" if value else "1.000"
        proof = least[f"{key}_witness"], least[kind or f"{key}_class"]
        rows.append([name, form(own), form(value), gap, *proof])

    compare("phases", facts["phases"], bound, "phases", "{:,}".format)
    compare(f"time by {facts['by']}", facts["time_s"], bound, "time", format_time)
    if found.kind == "schedule":
        grouped = partial(format_load, grouped=True)
        compare("sum of largest loads", facts["load"]["sum"], bound, "load_sum", grouped)
    any_number = bound.get("any_number")
    if any_number is not None:
        time_s, of = facts["time_s"], "stages_class"
        compare("time, any stages", time_s, any_number, "time", format_time, of)
    columns = ("", "this", "at least", "gap", "proof", "of all")
    return Part("Bounds", table=Table(columns, rows, (0, 4, 5), (4, 5)))


def _durations(found: FileFindings) -> Part:
    """Return times by formula, by the machine's model, and of timelines."""
    facts, model = found.facts, found.facts.get("by_model")
    if found.kind == "blocks":
        timed = [("formula", facts["time_s"], facts["terms"])]
        if model is not None and model["by"] != "formula":
            timed.append((model["by"], model["time_s"], model["terms"]))
    else:
        timed = [(facts["by"], facts["time_s"], facts["terms"])]
        if facts["by"] != "formula":
            assert found.timing is not None
            timed.append(("formula", facts["formula_s"], found.timing.prediction.terms))
    rows = [[by, *map(format_time, (s, *(terms[t] for t in TERMS)))] for by, s, terms in timed]
    for each in facts["simulated"]:
        by = f"{each['model']}, {each['file']}"
        rows.append([by, format_time(each["time_s"]), *("" for _ in TERMS)])
    said = model or facts
    found_of = {
        "under": f"sync {facts['sync']}",
        "formula": said.get("formula"),
        "busiest": said.get("witness"),
    }
    notes = [
        *[Fact(label, value) for label, value in found_of.items() if value],
        *[Fact("warning", line) for line in said.get("warnings", ())],
    ]
    if said.get("stands_in"):
        notes.append(Fact("instead of the model", said["stands_in"]))
    columns = ("by", "time", *(TERM_LABELS[term] for term in TERMS))
    return Part("Times", notes, Table(columns, rows, (0,)))


def worst_phase(schedule: Schedule) -> int:
    """Return the phase with the largest load, of several the one with most bytes.

    The load on a link, of a crossbar at a port.
    """
    loads = phase_loads(schedule)
    load = np.maximum(loads.send, loads.receive)
    if schedule.machine.topology.link_slots:
        load = loads.link
    return int(np.lexsort((np.arange(load.size)[::-1], bytes_of_phases(schedule), load))[-1])


def _pictures(schedule: Schedule, summary: Facts | None = None) -> list[Draw]:
    draws = schedule_draws(schedule, summary)
    worst = [worst_phase(schedule)] if schedule.transfers else []
    return [*draws, *(partial(picture_phase, schedule, phase) for phase in worst)]


def _schedule_parts(found: FileFindings) -> list[Part]:
    schedule, facts = found.noun, found.facts
    assert isinstance(schedule, Schedule)
    flight = Fact("sends in flight", str(facts["in_flight"]))
    posted = Fact("posted", f"in {facts['posting']} order")
    return [
        Part("Setting", [*schedule_facts(schedule), flight, posted]),
        _goodness(found),
        _durations(found),
        *([_steps(found, schedule)] if has_steps(schedule) else []),
        Part("Pattern", draws=[partial(picture_pattern, schedule.pattern)]),
        Part("Schedule, and its phase with the largest load", draws=_pictures(schedule, facts)),
        *_guaranteed(schedule, guarantees(schedule)),
        _phases(found, schedule),
        _machine(schedule),
    ]


def _steps(found: FileFindings, schedule: Schedule) -> Part:
    """Return what steps through the phases, over the time of a timeline of the file, or of its
    machine's model.
    """  # noqa: D205
    records = [each.noun for each in found.simulated if isinstance(each.noun, Record)]
    timeline = records[0].timeline if records else None
    if timeline is None and found.timing is not None and found.timing.by != "formula":
        timeline, _ = simulate(schedule, found.timing.by, None)
    return Part(card=steps_card(schedule, timeline))


def _guaranteed(schedule: Schedule, given: Guarantees) -> list[Part]:
    """Return the connections with the least guarantees, where there are any."""
    if schedule.channels is None or not schedule.transfers:
        return []
    columns, rows = guarantee_rows(schedule, given, LEAST)
    rest = schedule.transfers - len(rows)
    rest_text = f"… {count_of(rest, 'connection')} with more" if rest else ""
    table = Table(columns, rows, (columns.index("ranks"),), more=rest_text)
    bandwidth, latency = _guarantee(given.to_object())
    least = f"bandwidth at least {bandwidth}, latency at most {latency} while open"
    return [Part(f"Guarantees of connections: {least}", table=table, folded=True)]


def _guarantee(given: Facts) -> tuple[str, str]:
    rate = given["bandwidth_Bps"]
    return "any" if rate is None else format_rate(rate), format_time(given["latency_s"])


def _phases(found: FileFindings, schedule: Schedule) -> Part:
    times = np.zeros(schedule.phases) if found.timing is None else found.timing.phase_s
    cells = phase_cells(schedule, range(min(schedule.phases, ROWS)))
    rows = [[*row.values(), format_time(float(times[p]))] for p, row in cells.items()]
    rest = schedule.phases - len(rows)
    load = ("link load", "port load", "channels")
    columns = ("phase", "transfers", *load, "largest", "bytes", "removing it saves")
    table = Table(columns, rows, more=f"… {count_of(rest, 'more phase')}" if rest else "")
    return Part(f"All phases, {found.facts['by']}", table=table, folded=True)


def _block_parts(found: FileFindings) -> list[Part]:
    program, facts = found.noun, found.facts
    assert isinstance(program, Program)
    assert found.guarantees is not None
    figures = facts["figures"]
    apart = f"{figures['switches_apart']:,} if no phase were shared"
    executed = f"{count_of(figures['phases'], 'phase')}, {count_of(figures['messages'], 'message')}"
    distinct = count_of(len(program.schedules), "schedule")
    what = [
        Fact("blocks", f"{len(program.stages):,}, of {distinct}"),
        Fact("executed", executed),
        Fact("contexts", f"{figures['contexts']:,}"),
        Fact("switches", f"{figures['switches']:,}, {apart}"),
    ]
    return [
        Part("Setting", what),
        Part("Blocks", table=_stage_table(facts["stages"], blocks=True)),
        _goodness(found),
        _durations(found),
        *([_switches(facts)] if facts["switch"] else []),
        Part(draws=[blocks_drawn(program, found.switching)]),
        *_schedules(program, found.guarantees),
        _machine(program.schedules[0]),
    ]


def _switches(facts: Facts) -> Part:
    """Return the parts of all switches, by formula and of timelines."""
    rows = []
    for each in (facts, *facts["simulated"]):
        by = "formula" if each is facts else f"{each['model']}, {each['file']}"
        time_s, parts = each["time_s"], each["switch"]
        if parts is not None:
            seconds = [parts[f"{name}_s"] for name in PARTS]
            share = f"{sum(seconds) / time_s:.2%}" if time_s else "0%"
            rows.append([by, f"{parts['count']:,}", *map(format_time, seconds), share])
    columns = ("by", "switches", *(NAMES[name] for name in PARTS), "of the time")
    return Part("Switches, all together", table=Table(columns, rows, (0,), more=DRAIN))


def _schedules(program: Program, given: Sequence[Guarantees] | None = None) -> list[Part]:
    """Return the distinct schedules of a program with their worst phases."""
    users: dict[int, list[str]] = {}
    for stage in program.stages:
        users.setdefault(stage.schedule, []).append(stage.name)
    parts = []
    for index, names in list(users.items())[:DRAWN]:
        of = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        schedule = program.schedules[index]
        title = f"{of}: schedule, and its phase with the largest load"
        parts.append(Part(title, draws=_pictures(schedule)))
        parts += _guaranteed(schedule, guarantees(schedule) if given is None else given[index])
    if len(users) > DRAWN:
        parts.append(Part(f"… {count_of(len(users) - DRAWN, 'more schedule')}, not drawn"))
    return parts


def _stage_table(stages: Sequence[Facts], *, blocks: bool) -> Table:
    columns = ["name", "method", "messages", "bytes", "phases"]
    guaranteed = ["bandwidth at least", "latency at most"]
    columns += ["contexts", "runs", "one run", "all runs", *guaranteed] if blocks else ["alone"]
    rows = []
    for stage in stages:
        pattern, time_s = stage["pattern"], stage["time_s"]
        messages, size = f"{pattern['messages']:,}", format_size(pattern["bytes"])
        row = [stage["name"], stage["method"], messages, size, f"{stage['phases']:,}"]
        if blocks:
            contexts = ", ".join(map(str, stage["contexts"][:8]))
            more = ", …" if len(stage["contexts"]) > 8 else ""
            runs = f"{stage['repeat']:,}{', forth and back' if stage['turns'] else ''}"
            row += [contexts + more, runs, format_time(time_s / stage["repeat"])]
        rows.append(
            [*row, format_time(time_s), *(_guarantee(stage["guaranteed"]) if blocks else ())]
        )
    return Table(columns, rows, (0, 1))


def _stage_parts(found: FileFindings) -> list[Part]:
    program, facts = found.noun, found.facts
    assert isinstance(program, Program)
    figures = facts["figures"]
    what = [
        Fact("stages", f"{figures['stages']:,}, {count_of(figures['bundles'], 'bundle')}"),
        Fact("phases", f"{figures['phases']:,}"),
        Fact("volume", volume_text(figures["volume"])),
        Fact("staging", f"a rank holds {format_size(figures['staging_bytes'])} for others at most"),
    ]
    way: list[Draw] = [partial(picture_message, program, None)] if figures["messages"] else []
    return [
        Part("Setting", what),
        Part("Stages", table=_stage_table(facts["stages"], blocks=False)),
        _goodness(found),
        _durations(found),
        Part("One message's way", draws=way),
        *_schedules(program),
        _machine(program.schedules[0]),
    ]


def _timeline_parts(found: FileFindings) -> list[Part]:
    record = found.noun
    assert isinstance(record, Record)
    timeline = record.timeline
    view = TimelineView(timeline, record.machine, record.settings)
    took = f"{format_time(timeline.time_s)} by {timeline.model}, sync {timeline.sync}"
    facts = [Fact("took", took), *timeline_facts(view)]
    return [Part("Timeline", facts), Part(draws=[partial(picture_timeline, view)])]


def _record_parts(found: FileFindings) -> list[Part]:
    record, exchanges = found.noun, found.facts["exchanges"]
    assert isinstance(record, CallRecord)
    pattern, (messages, size) = record.pattern(), found.facts["point_to_point"]
    rows = [
        [
            each["kind"],
            shortened(each["members"]),
            *(f"{each[key]:,}" for key in ("ranks", "calls", "period")),
            format_size(each["bytes"]),
            *(format_time(each[key]) for key in ("seconds", "begin_s", "end_s")),
        ]
        for each in exchanges[:ROWS]
    ]
    columns = ("call", "communicator", "ranks", "calls", "period", "bytes", "time in calls")
    more = f"… {len(exchanges) - ROWS:,} with fewer bytes" if len(exchanges) > ROWS else ""
    table = Table((*columns, "first begins", "last ends"), rows, (0, 1), more=more)
    calls = Part("All-to-all calls", table=table, draws=[partial(picture_calls, record)])
    sent = [
        *pattern_facts(pattern),
        Fact("point-to-point", f"{count_of(messages, 'message')}, {format_size(size)}"),
        *(Fact("note", note) for note in record.notes),
    ]
    others = [
        Fact(kind, f"{count_of(number, 'call')}, {format_size(size)}")
        for kind, (number, size) in record.totals.items()
    ]
    return [
        Part("What was sent", sent),
        *([calls] if rows else []),
        Part("Bytes of all calls and messages", draws=[partial(picture_pattern, pattern)]),
        Part("Other collectives, not in the pattern", others, folded=True),
    ]
