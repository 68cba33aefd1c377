"""`conset convert`: patterns and schedules as files of other tools, and theirs as ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from conset.base import count_of, require_suffix
from conset.cli.inputs import Reading, manifest_of, read_file_or_pattern
from conset.cli.options import (
    MACHINES,
    JsonOption,
    PatternArgument,
    SeedOption,
    completing,
    expanded,
    opt,
)
from conset.cli.output import print_json, print_outcome, progress
from conset.report import Fact, Part, Section
from conset.schedule import EXPORTS, not_held, why_no_platform, write_compiled, write_export

SUFFIXES = (".json", ".npz")


@expanded()
def command(
    pattern: PatternArgument,
    output: Annotated[
        Path,
        opt(
            "-o/--output FILE",
            "Where to write: .goal .tit .xml .cm, messages as .csv, a schedule as .json .npz.",
        ),
    ],
    reading: Reading,
    on: Annotated[
        str | None,
        opt(
            "--on MACHINE",
            "The machine of a pattern. Default: a crossbar.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Write a pattern or a schedule for another tool, or another tool's file as a schedule."""
    require_suffix(output, "a file", *SUFFIXES, *EXPORTS)
    with progress("reading"):
        schedule = read_file_or_pattern(pattern, on, reading, seed=seed)
    manifest = manifest_of("convert", pattern, on or [], seed, reading.given())
    suffix = output.suffix.lower()
    with progress("writing"):
        if suffix in EXPORTS:
            files, left = write_export(schedule, output), not_held(schedule, suffix)
        else:
            write_compiled(replace(schedule, manifest=manifest), output)
            files, left = [output], {}
    what = schedule.pattern
    answer = (
        f"{output}: {count_of(schedule.transfers, 'message')} between "
        f"{count_of(what.ranks, 'rank')}, {what.bytes:,} B, from {what.name}"
    )
    beside = ", ".join(str(file) for file in files[1:])
    facts = [Fact("beside it", beside)] if beside else []
    if left:
        facts.append(Fact("not in it", ", ".join(left.values())))
    reason = why_no_platform(schedule) if suffix == ".tit" else ""
    if reason:
        facts.append(Fact("no platform", f"SimGrid cannot express {reason}"))
    if json:
        body = {
            "files": [str(file) for file in files],
            "messages": schedule.transfers,
            "ranks": what.ranks,
            "bytes": what.bytes,
            "not_held": left,
            "no_platform": reason or None,
        }
        print_json("conset/convert@1", body, manifest)
    print_outcome(Section("", parts=[Part(facts=facts)], answer=answer), 12, json)
