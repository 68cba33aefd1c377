"""Facts of a schedule, program or timeline file, or of a record of MPI calls.

What it is, whether it is right, how good it is and how long it takes.

Every file is verified from itself alone, bounded in its class and timed by its machine's model; a
timeline is put to the schedule or program that it was made from, which it names by digest. It is
what `conset report --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from conset.base import InputError, require_file
from conset.bounds.programs import bound_program
from conset.compilation import FORMULA, gap, summarize
from conset.models import (
    ProgramPrediction,
    Record,
    Switching,
    least_time,
    predict_program,
    read_record,
    simulated_switches,
    switching,
)
from conset.pattern import Pattern, Record as CallRecord, is_record, ranges_text, read_mpi_record
from conset.schedule import (
    Guarantees,
    Manifest,
    Program,
    Schedule,
    from_document,
    guarantees,
    program_guarantees,
    read_document,
    sha256_of,
    sniff,
)
from conset.studies.times import Timing, time_schedule, with_modelled
from conset.verification import Verification, verify
from conset.verification.timeline.check import check_timeline

Kind = Literal["schedule", "blocks", "forwarding", "timeline", "record"]
RECORDED = ("calls", "bytes", "seconds", "begin_s", "end_s", "period")
"""What is reported of an exchange of a record, by its attributes."""
SHOWN = 20
"""Violations whose text is kept; all are counted."""
MAX_MESSAGES = 2**22
"""Messages that blocks may execute for a model, which takes the program as one schedule."""
THESE = "a schedule, a program, a timeline or a record of conset"


@dataclass(frozen=True)
class FileFindings:
    """What was found of one file.

    Attributes:
        path: the file.
        kind: what it is: `blocks` and `forwarding` are programs.
        noun: what it says.
        facts: as `report --json` prints them.
        timing: by the machine's model; None: of timelines, and of blocks that execute too much.
        switching: of blocks over time, else None.
        guarantees: of blocks, for each schedule what its connections get, else None.
        prediction: of a program, by formula, else None.
        simulated: the timelines that were made from this file.
    """

    path: Path
    kind: Kind
    noun: Schedule | Program | Record | CallRecord
    facts: Mapping[str, Any]
    timing: Timing | None = None
    switching: Switching | None = None
    guarantees: Sequence[Guarantees] | None = None
    prediction: ProgramPrediction | None = None
    simulated: tuple[FileFindings, ...] = field(default=())


def examine(paths: Sequence[Path]) -> list[FileFindings]:
    """All of these files, in their order; timelines also beside what they were made from.

    Raises:
        InputError: a file that cannot be read, or is none of these.
    """
    found = [examine_file(path) for path in paths]
    return [_with_timelines(each, found) for each in found]


def examine_file(path: Path) -> FileFindings:
    """One file by itself; errors as of `examine`."""
    if is_record(path):
        return _record(path)
    form = sniff(require_file(path)).form
    if form == "timeline":
        return _timeline(path)
    if form in ("schedule", "program"):
        return _compiled(path)
    raise InputError(f"{path}: {THESE} required{'' if form == 'unknown' else f', is a {form}'}")


def _with_timelines(own: FileFindings, found: Iterable[FileFindings]) -> FileFindings:
    if own.kind == "timeline":
        return own
    made = [each for each in found if each.kind == "timeline"]
    made = [each for each in made if each.facts["manifest"]["input_sha256"] == own.facts["sha256"]]
    keys = ("file", "model", "sync", "in_flight", "time_s", "verified")
    rows = [
        {**{key: each.facts[key] for key in keys}, "switch": _switch(own, each)} for each in made
    ]
    return replace(own, simulated=tuple(made), facts={**own.facts, "simulated": rows})


def _switch(own: FileFindings, played: FileFindings) -> dict[str, float] | None:
    """The switches of blocks as a timeline has them; None where nothing is switched."""
    record = played.noun
    if own.kind != "blocks" or not isinstance(record, Record) or record.machine is None:
        return None
    work = record.timeline.workload
    costs = record.machine.costs_for("" if work is None else work.method)
    parts = simulated_switches(record.timeline, record.machine, costs)
    return None if parts is None else parts.to_object()


def _head(path: Path, kind: Kind, manifest: Manifest | Mapping[str, Any]) -> dict[str, Any]:
    own = manifest if isinstance(manifest, Manifest) else Manifest(**manifest)
    return {"file": path.name, "kind": kind, "sha256": sha256_of(path), "manifest": own.to_object()}


def _verdict(violations: Sequence[Any]) -> dict[str, Any]:
    return {
        "verified": not violations,
        "violations": len(violations),
        "violation_texts": [
            f"{each.rule}: {each.text.removeprefix(f'{each.rule}: ')}"
            for each in violations[:SHOWN]
        ],
    }


def _sent(pattern: Pattern) -> dict[str, Any]:
    return {name: getattr(pattern, name) for name in ("ranks", "messages", "bytes", "local_bytes")}


def _timed(timing: Timing) -> dict[str, Any]:
    body = timing.to_object()
    return {
        key: body[key]
        for key in (
            "time_s",
            "by",
            "terms",
            "formula_s",
            "formula",
            "witness",
            "stands_in",
            "warnings",
        )
    }


def _compiled(path: Path) -> FileFindings:
    document = read_document(path)
    try:
        verdict = verify(document)
        found = from_document(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if isinstance(found, Program):
        return _program(path, found, verdict)
    return _schedule(path, found, verdict)


def _schedule(path: Path, schedule: Schedule, verdict: Verification) -> FileFindings:
    if schedule.modelled is None and verdict.ok:
        schedule = with_modelled(schedule)
    summary = summarize(schedule, verified=verdict.ok)
    del summary["compile_s"]  # not in a file
    timing = time_schedule(schedule)
    facts = {
        **_head(path, "schedule", schedule.manifest),
        **summary,
        "machine": schedule.machine.name,
        "pattern": _sent(schedule.pattern),
        **_verdict(verdict.violations),
        **_timed(timing),
        "switch": None,
        "guaranteed": guarantees(schedule).to_object(),
    }
    return FileFindings(path, "schedule", schedule, facts, timing)


def _program(path: Path, program: Program, verdict: Verification) -> FileFindings:
    kind: Kind = "blocks" if program.paths is None else "forwarding"
    prediction = predict_program(program)
    figures = program.figures()
    # what forwards holds its messages once, blocks execute theirs again and again
    whole = (
        program.whole if program.paths is not None or figures["messages"] <= MAX_MESSAGES else None
    )
    timing = None if whole is None else time_schedule(whole)
    bounds = bound_program(program, whole)
    methods = list(dict.fromkeys(schedule.method for schedule in program.schedules))
    own = program.paths.pattern if program.paths is not None else None
    sent = {
        "ranks": program.ranks,
        "messages": figures["messages"],
        "bytes": figures["bytes"],
        "local_bytes": 0,
    }
    facts: dict[str, Any] = {
        **_head(path, kind, program.manifest),
        "method": ", ".join(methods),
        "machine": program.machine.name,
        "pattern": sent if own is None else _sent(own),
        "sync": program.sync,
        "phases": program.phases,
        **_verdict(verdict.violations),
        "figures": figures,
        "switch": None,
        "bound": bounds.to_object(),
        "gap": bounds.gap(program.phases, prediction.time_s, prediction.time_s),
        "predicted_s": prediction.time_s,
        "time_s": prediction.time_s,
        "by": FORMULA,
        "terms": dict(prediction.terms),
        "formula_s": prediction.time_s,
        "by_model": None if timing is None else _timed(timing),
        "stages": [_stage(program, prediction, k) for k in range(len(program.stages))],
    }
    over_time = switching(program) if own is None and not program.machine.is_circuit else None
    given = program_guarantees(program) if own is None else None
    if over_time is not None:
        facts["switch"] = over_time.parts.to_object()
    if given is not None:
        for stage in facts["stages"]:
            stage["guaranteed"] = given[stage["schedule"]].to_object()
    if own is not None and timing is not None and whole is not None:
        facts |= _timed(timing)
        if verdict.ok:
            facts["modelled"] = with_modelled(whole, program.paths).modelled
    return FileFindings(path, kind, program, facts, timing, over_time, given, prediction)


def _stage(program: Program, prediction: ProgramPrediction, k: int) -> dict[str, Any]:
    stage = program.stages[k]
    schedule = program.schedules[stage.schedule]
    return {
        "name": stage.name,
        "repeat": stage.repeat,
        "turns": stage.turns,
        "schedule": stage.schedule,
        "method": schedule.method,
        "pattern": _sent(schedule.pattern),
        "phases": schedule.phases,
        "contexts": list(program.contexts[stage.schedule]),
        "time_s": prediction.block_s[k],
    }


def _timeline(path: Path) -> FileFindings:
    record = read_record(path)
    timeline, work = record.timeline, record.timeline.workload
    if work is None:
        raise InputError(f"{path}: the timeline does not say which messages it is of")
    facts: dict[str, Any] = {
        **{
            key: value
            for key, value in timeline.to_object().items()
            if key not in ("elapsed_s", "messages")
        },
        **_head(path, "timeline", record.manifest),
        "by": timeline.model,
        "phases": work.phases,
        "method": work.method or None,
        "switch": None,
        "bound": None,
        "gap": None,
        **_verdict(()),
        "verified": None,
    }
    # how many ranks there are is not said, those that send nothing are not in it
    facts["pattern"] = {
        "ranks": None,
        "messages": timeline.messages,
        "bytes": int(work.bytes.sum()),
    }
    facts["name"] = work.name
    if record.machine is not None and record.settings is not None:
        try:
            facts |= _verdict(check_timeline(timeline, work, record.machine, record.settings))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        least_s, witness = least_time(work, record.machine, record.settings, timeline.model)
        facts["bound"] = {"time_s": least_s, "time_witness": witness}
        facts["gap"] = {"time": gap(timeline.time_s, least_s)}
    return FileFindings(path, "timeline", record, facts)


def _record(path: Path) -> FileFindings:
    record = read_mpi_record(path)
    pattern = record.pattern()
    facts = {
        **_head(path, "record", Manifest("", 0, sha256_of(path))),
        **dict.fromkeys(("machine", "method", "sync", "phases", "switch", "bound", "gap")),
        **_verdict(()),
        "verified": None,
        "name": f"MPI calls of {record.name}",
        "pattern": {**_sent(pattern), "sent": list(pattern.sent)},
        "time_s": sum(each.seconds for each in record.exchanges),
        "by": "record, all-to-all calls",
        "exchanges": [
            {
                "kind": each.kind,
                "members": ranges_text(each.members),
                "ranks": each.members.size,
                **{key: getattr(each, key) for key in RECORDED},
            }
            for each in record.exchanges
        ],
        "point_to_point": [sum(record.sent), int(record.messages.bytes.sum())],
        "totals": {kind: list(total) for kind, total in record.totals.items()},
        "missing": record.missing.tolist(),
        "spawned": record.spawned,
        "notes": list(record.notes),
    }
    return FileFindings(path, "record", record, facts)
