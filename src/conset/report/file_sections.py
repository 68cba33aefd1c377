"""Sections of a page: what it is, is it right, how good it is, how long it takes, and pictures.

One for each file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from conset.base.units import count_of, format_load, format_rate, format_size, format_time
from conset.models.phases_over_time import PARTS
from conset.models.timeline_file import Record
from conset.report.facts import TERM_LABELS, Fact, cost_facts, machine_facts, schedule_facts
from conset.report.files import KINDS, sent_name
from conset.report.guarantees import guarantee_rows
from conset.report.page import Draw, PageTable, Part, Section
from conset.report.picture_blocks import NAMES, picture_blocks
from conset.report.picture_schedule import picture_phase, picture_schedule
from conset.report.picture_stages import picture_message
from conset.report.picture_timeline import picture_timeline
from conset.report.terminal_timeline import timeline_facts
from conset.report.timeline_view import TimelineView
from conset.schedule.linkage import Guarantees, guarantees
from conset.schedule.loads import largest_sizes, phase_loads
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule
from conset.studies.compare.files import FileFindings

ROWS = 200
"""Most rows of a table of phases."""
LEAST = 24
"""Connections with the least guarantees that are listed."""
DRAWN = 4
"""Schedules of a program that are drawn one by one."""
TERMS = ("synchronization", "setup", "transfer")


def section_of(found: FileFindings) -> Section:
    """All that is known of a file."""
    facts = found.facts
    pattern = facts["pattern"]
    ranks = "" if pattern["ranks"] is None else f"{count_of(pattern['ranks'], 'rank')}, "
    subtitle = (
        f"{KINDS[found.kind]}: {sent_name(found)} on {facts['machine']}, {ranks}"
        f"{count_of(pattern['messages'], 'message')}, {format_size(pattern['bytes'])}"
    )
    violations = list(facts["violation_texts"])
    if facts["violations"] > len(violations):
        violations.append(f"… {facts['violations'] - len(violations):,} more")
    makers: dict[str, Callable[[FileFindings], list[Part]]] = {
        "schedule": _schedule_parts,
        "blocks": _block_parts,
        "forwarding": _stage_parts,
        "timeline": _timeline_parts,
    }
    parts = makers[found.kind](found)
    return Section(
        str(facts["file"]), subtitle, facts["verified"], violations, [*parts, _made(found)]
    )


def _made(found: FileFindings) -> Part:
    manifest = found.facts["manifest"]
    return Part(
        "How it was made",
        [
            Fact("command", manifest["command"] or "not said"),
            Fact("seed", str(manifest["seed"])),
            Fact("version", f"conset {manifest['version']}"),
            Fact("SHA-256 of its input", manifest["input_sha256"]),
            Fact("SHA-256 of the file", found.facts["sha256"]),
        ],
        folded=True,
    )


def _machine(schedule: Schedule) -> Part:
    machine = schedule.machine
    facts = [*machine_facts(machine), *cost_facts(machine.costs_for(schedule.method))]
    return Part(f"Machine {machine.name}", facts, folded=True)


def _goodness(found: FileFindings) -> Part:
    """Bounds with their proofs."""
    facts, bound = found.facts, found.facts["bound"]
    rows = [
        _bound_row(
            "phases",
            f"{facts['phases']:,}",
            f"{bound['phases']:,}",
            facts["phases"],
            bound["phases"],
            bound,
            "phases",
        ),
        _bound_row(
            "time by formula",
            format_time(facts["formula_s"]),
            format_time(bound["time_s"]),
            facts["formula_s"],
            bound["time_s"],
            bound,
            "time",
        ),
    ]
    if found.kind == "schedule":
        own, least = facts["load"]["sum"], bound["load_sum"]
        rows.append(
            _bound_row(
                "sum of largest loads",
                format_load(own, grouped=True),
                format_load(least, grouped=True),
                own,
                least,
                bound,
                "load_sum",
            )
        )
    any_number = bound.get("any_number")
    if any_number is not None:
        rows.append(
            _bound_row(
                "time, any stages",
                format_time(facts["time_s"]),
                format_time(any_number["time_s"]),
                facts["time_s"],
                any_number["time_s"],
                {**any_number, "time_class": any_number["stages_class"]},
                "time",
            )
        )
    columns = ("", "this", "at least", "gap", "proof", "of all")
    return Part("How good it is", table=PageTable(columns, rows, (0, 4, 5), (4, 5)))


def _bound_row(
    name: str, own: str, least: str, value: float, bound: float, said: Any, key: str
) -> list[str]:
    gap = f"{value / bound:.3f}" if bound else "1.000"
    return [name, own, least, gap, said[f"{key}_witness"], said[f"{key}_class"]]


def _durations(found: FileFindings) -> Part:
    """By formula, by the machine's model, and as timelines say it."""
    facts = found.facts
    timed: list[tuple[str, float, Any]] = []
    if found.kind == "blocks":
        timed.append(("formula", facts["time_s"], facts["terms"]))
        if facts["by_model"] is not None and facts["by_model"]["by"] != "formula":
            timed.append(
                (facts["by_model"]["by"], facts["by_model"]["time_s"], facts["by_model"]["terms"])
            )
    else:
        timed.append((facts["by"], facts["time_s"], facts["terms"]))
        if facts["by"] != "formula":
            assert found.timing is not None
            timed.append(("formula", facts["formula_s"], found.timing.prediction.terms))
    rows = [
        [by, format_time(time_s), *(format_time(terms[name]) for name in TERMS)]
        for by, time_s, terms in timed
    ]
    rows += [
        [f"{each['model']}, {each['file']}", format_time(each["time_s"]), *("" for _ in TERMS)]
        for each in facts["simulated"]
    ]
    notes = [Fact("under", f"sync {facts['sync']}")]
    said = facts.get("by_model") or facts
    notes += [
        Fact(label, said[key])
        for label, key in (("formula", "formula"), ("busiest", "witness"))
        if said.get(key)
    ]
    notes += [Fact("warning", line) for line in said.get("warnings", ())]
    notes += [Fact("instead of the model", said["stands_in"])] if said.get("stands_in") else []
    return Part(
        "How long it takes",
        notes,
        PageTable(("by", "time", *(TERM_LABELS[term] for term in TERMS)), rows, (0,)),
    )


def worst_phase(schedule: Schedule) -> int:
    """The phase with the largest load on a link, of a crossbar at a port.

    Of several the one with most bytes.
    """
    loads = phase_loads(schedule)
    load = (
        loads.link
        if schedule.machine.topology.link_slots
        else np.maximum(loads.send, loads.receive)
    )
    ends = np.concatenate([[0], np.cumsum(schedule.size)])
    carried = np.diff(ends[schedule.phase_offsets])
    return int(np.lexsort((np.arange(load.size)[::-1], carried, load))[-1])


def _pictures(schedule: Schedule, summary: Any = None) -> list[Draw]:
    draws: list[Draw] = [partial(picture_schedule, schedule, summary)]
    return (
        [*draws, partial(picture_phase, schedule, worst_phase(schedule))]
        if schedule.transfers
        else draws
    )


def _schedule_parts(found: FileFindings) -> list[Part]:
    from conset.report.pattern import picture_pattern

    schedule, facts = found.noun, found.facts
    assert isinstance(schedule, Schedule)
    flight = [
        Fact("sends in flight", str(facts["in_flight"])),
        Fact("posted", f"in {facts['posting']} order"),
    ]
    return [
        Part("What it is", [*schedule_facts(schedule), *flight]),
        _goodness(found),
        _durations(found),
        Part("Messages", draws=[partial(picture_pattern, schedule.pattern)]),
        Part("Phases, and the one with the largest load", draws=_pictures(schedule, facts)),
        *_guaranteed(schedule, guarantees(schedule)),
        _phases(found, schedule),
        _machine(schedule),
    ]


def _guaranteed(schedule: Schedule, given: Guarantees) -> list[Part]:
    """The connections with the least guarantees, where there are any."""
    if schedule.channels is None or not schedule.transfers:
        return []
    columns, rows = guarantee_rows(schedule, given, LEAST)
    rest = schedule.transfers - len(rows)
    rest_text = f"… {count_of(rest, 'connection')} with more" if rest else ""
    table = PageTable(columns, rows, (columns.index("ranks"),), more=rest_text)
    bandwidth, latency = _guarantee(given.to_object())
    title = (
        f"Guarantees of connections: bandwidth at least {bandwidth}, latency at most "
        f"{latency} while open"
    )
    return [Part(title, table=table, folded=True)]


def _phases(found: FileFindings, schedule: Schedule) -> Part:
    loads, largest = phase_loads(schedule), largest_sizes(schedule)
    ends = np.concatenate([[0], np.cumsum(schedule.size)])
    carried, transfers = np.diff(ends[schedule.phase_offsets]), np.diff(schedule.phase_offsets)
    port = np.maximum(loads.send, loads.receive)
    times = np.zeros(schedule.phases) if found.timing is None else found.timing.phase_s
    rows = [
        [
            str(p),
            f"{transfers[p]:,}",
            format_load(loads.link[p]),
            str(port[p]),
            format_load(loads.channels[p]),
            format_size(int(largest[p])),
            format_size(int(carried[p])),
            format_time(float(times[p])),
        ]
        for p in range(min(schedule.phases, ROWS))
    ]
    rest = schedule.phases - len(rows)
    columns = (
        "phase",
        "transfers",
        "link load",
        "port load",
        "channels",
        "largest",
        "bytes",
        "removing it saves",
    )
    table = PageTable(columns, rows, more=f"… {count_of(rest, 'more phase')}" if rest else "")
    return Part(f"All phases, {found.facts['by']}", table=table, folded=True)


def _block_parts(found: FileFindings) -> list[Part]:
    program, facts, over_time = found.noun, found.facts, found.switching
    assert isinstance(program, Program)
    assert over_time is not None
    assert found.guarantees is not None
    figures = facts["figures"]
    switches = f"{figures['switches']:,}, {figures['switches_apart']:,} if no phase were shared"
    what = [
        Fact(
            "blocks", f"{len(program.stages):,}, of {count_of(len(program.schedules), 'schedule')}"
        ),
        Fact(
            "executed",
            f"{count_of(figures['phases'], 'phase')}, {count_of(figures['messages'], 'message')}",
        ),
        Fact("contexts", f"{figures['contexts']:,}"),
        Fact("switches", switches),
    ]
    return [
        Part("What it is", what),
        Part("Blocks", table=_stage_table(facts["stages"], blocks=True)),
        _goodness(found),
        _durations(found),
        _switches(facts),
        Part("", draws=[partial(picture_blocks, program, over_time)]),
        *_schedules(program, found.guarantees),
        _machine(program.schedules[0]),
    ]


def _switches(facts: Any) -> Part:
    """By formula, and as timelines have them."""
    rows = [("formula", facts["time_s"], facts["switch"])]
    rows += [
        (f"{each['model']}, {each['file']}", each["time_s"], each["switch"])
        for each in facts["simulated"]
    ]
    cells = []
    for by, time_s, parts in rows:
        if parts is not None:
            seconds = [parts[f"{name}_s"] for name in PARTS]
            share = f"{sum(seconds) / time_s:.2%}" if time_s else "0%"
            cells.append([by, f"{parts['count']:,}", *map(format_time, seconds), share])
    columns = ("by", "switches", *(NAMES[name] for name in PARTS), "of the time")
    note = (
        "drain is inside what phases transfer: by formula the worst latency of the last element, "
        "simulated from "
        "when the last byte has left its sender until all have arrived"
    )
    return Part("Switches, all together", table=PageTable(columns, cells, (0,), more=note))


def _schedules(program: Program, given: Sequence[Guarantees] | None = None) -> list[Part]:
    """The distinct schedules of a program with their worst phases."""
    users: dict[int, list[str]] = {}
    for stage in program.stages:
        users.setdefault(stage.schedule, []).append(stage.name)
    parts = []
    for index, names in list(users.items())[:DRAWN]:
        title = (
            f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}: phases, and the one with "
            "the largest load"
        )
        schedule = program.schedules[index]
        parts.append(Part(title, draws=_pictures(schedule)))
        parts += _guaranteed(schedule, guarantees(schedule) if given is None else given[index])
    if len(users) > DRAWN:
        parts.append(Part(f"… {count_of(len(users) - DRAWN, 'more schedule')}, not drawn"))
    return parts


def _stage_table(stages: Sequence[Any], *, blocks: bool) -> PageTable:
    columns = ["name", "method", "messages", "bytes", "phases"]
    guaranteed = ["bandwidth at least", "latency at most"]
    columns += ["contexts", "runs", "one run", "all runs", *guaranteed] if blocks else ["alone"]
    rows = []
    for stage in stages:
        pattern, time_s = stage["pattern"], stage["time_s"]
        row = [
            stage["name"],
            stage["method"],
            f"{pattern['messages']:,}",
            format_size(pattern["bytes"]),
            f"{stage['phases']:,}",
        ]
        if blocks:
            runs = f"{stage['repeat']:,}{', forth and back' if stage['turns'] else ''}"
            contexts = _numbers(stage["contexts"])
            once = format_time(time_s / stage["repeat"])
            row += [contexts, runs, once, format_time(time_s), *_guarantee(stage["guaranteed"])]
        else:
            row.append(format_time(time_s))
        rows.append(row)
    return PageTable(columns, rows, (0, 1))


def _numbers(values: Sequence[int]) -> str:
    """`0, 1, 2`; of many the first."""
    return ", ".join(map(str, values[:8])) + (", …" if len(values) > 8 else "")


def _guarantee(given: Any) -> tuple[str, str]:
    rate = given["bandwidth_Bps"]
    return "any" if rate is None else format_rate(rate), format_time(given["latency_s"])


def _stage_parts(found: FileFindings) -> list[Part]:
    program, facts = found.noun, found.facts
    assert isinstance(program, Program)
    figures = facts["figures"]
    what = [
        Fact("stages", f"{figures['stages']:,}, {count_of(figures['bundles'], 'bundle')}"),
        Fact("phases", f"{figures['phases']:,}"),
        Fact(
            "volume", f"{figures['volume']:.3f}: bytes that all stages send, over bytes delivered"
        ),
        Fact("staging", f"a rank holds {format_size(figures['staging_bytes'])} for others at most"),
    ]
    way: list[Draw] = [partial(picture_message, program, None)] if figures["messages"] else []
    return [
        Part("What it is", what),
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
    view = TimelineView(record.timeline, record.machine, record.settings)
    facts = [
        Fact(
            "took",
            f"{format_time(record.timeline.time_s)} by {record.timeline.model}, sync "
            f"{record.timeline.sync}",
        ),
        *timeline_facts(view),
    ]
    return [Part("What happened", facts), Part("", draws=[partial(picture_timeline, view)])]
