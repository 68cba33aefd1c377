"""`conset compare`: patterns on machines, by several methods."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from conset.api import run
from conset.base import (
    PROCESSES,
    InputError,
    UsageError,
    VerificationError,
    count_of,
    executor_of,
    require_replaceable,
)
from conset.cli.compare_charts import (
    Compared,
    compare_curves,
    compare_programs,
    compare_regions,
    parse_sizes,
)
from conset.cli.inputs import Reading, manifest_of, read_inputs
from conset.cli.options import (
    MACHINES,
    METHODS,
    MODELS,
    PATTERNS,
    RANKINGS,
    SYNCS,
    ExecutorOption,
    JsonOption,
    WorkersOption,
    allow,
    completing,
    expanded,
    opt,
)
from conset.cli.output import print_json, print_sections, progress
from conset.compilation import AUTO, FORMULA, POLICIES, CompileOptions, method_names
from conset.machine import Machine, without_each
from conset.pattern import Pattern
from conset.report import (
    FORMATS,
    SUFFIX as MARKDOWN,
    check_output,
    comparison_section,
    write_report,
)
from conset.schedule import Program, Schedule
from conset.studies import (
    SUFFIXES,
    Comparison,
    Entry,
    check_by,
    check_table_path,
    compare_pairs,
    merged,
    parse_models,
    parse_policies,
    write_table,
)

ROWS, CURVE, MAP, STAGES = "", "--curve", "--map", "--stages"
"""Kinds of comparison: rows of methods without a word."""
TAKEN_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("methods", "sync", "contention", "channels", "limits"), (ROWS, MAP, STAGES)
        ),
        **dict.fromkeys(("parts", "rows_to", "word", "unit"), (ROWS, CURVE, STAGES)),
        **dict.fromkeys(
            ("simulate", "models", "measure", "executor", "workers", "without"), (ROWS,)
        ),
        "combine": (ROWS, STAGES),
        "reuse": (MAP,),
        "sizes": (CURVE, MAP, STAGES),
    }
)
"""Option, with the kinds that take it; what is not listed goes with all."""
OF_COMPILES = (
    "contention",
    "channels",
    "limits",
    "placement",
    "ranks_per_node",
    "seed",
    "effort",
    "rank_by",
)
RANKS_PER_CORE = 32
"""Most ranks that share a core where times are measured: beyond it, an exchange takes minutes."""
REPEAT = 5
"""Repetitions that are timed; the median counts."""


@expanded({"options": OF_COMPILES})
def command(
    pattern: Annotated[
        list[str],
        typer.Argument(
            metavar="PATTERN...",
            autocompletion=completing(*PATTERNS),
            help="Specs (alltoall, random:degree=16,size=4KiB …) or files (.mtx .npz .csv .pack, "
            "meshes).",
        ),
    ],
    on: Annotated[
        list[str],
        opt(
            "--on MACHINE",
            "A preset (paragon:8x8), a network (torus:8x8,link=16GB/s) or a file; may be repeated.",
            complete=completing(*MACHINES),
        ),
    ],
    methods: Annotated[
        str | None,
        opt(
            "--methods A,B,…",
            "Methods to compare; without it all that apply.",
            complete=completing(*METHODS, also=(AUTO,), several=True),
        ),
    ] = None,
    sync: Annotated[
        str | None,
        opt(
            "--sync S",
            "Policies with commas, a row for each; naive=none: of one method. "
            f"{POLICIES}; auto: the fastest.",
            complete=completing(*SYNCS, also=(AUTO,), several=True),
        ),
    ] = None,
    *,
    options: CompileOptions,
    reading: Reading,
    curve: Annotated[
        bool,
        opt("--curve", "Time of a complete exchange over contention and phases between barriers."),
    ] = False,
    map_: Annotated[
        bool,
        opt(
            "--map",
            "Regions: the best method over message size and density (random) or machines "
            "(alltoall).",
        ),
    ] = False,
    reuse: Annotated[
        str,
        opt("--reuse R", "With --map: uses of a schedule before the next compile."),
    ] = "inf",
    sizes: Annotated[
        str | None,
        opt("--sizes S,S,…", "With --curve, --map, --stages: sizes, as 1KiB,16KiB."),
    ] = None,
    by: Annotated[
        str | None,
        opt(
            "--by BY",
            "What gives times: flow, wormhole, circuit, packet, formula; default: the machine's.",
            complete=completing(*RANKINGS),
        ),
    ] = None,
    simulate: Annotated[
        bool,
        opt(
            "--simulate", "Add simulated times to the predicted: by flow, and wormhole or circuit."
        ),
    ] = False,
    models: Annotated[
        str | None,
        opt(
            "--models A,B,…",
            "The models of --simulate: flow,wormhole,circuit,packet,flit,connections.",
            complete=completing(*MODELS, several=True),
        ),
    ] = None,
    measure: Annotated[
        bool,
        opt(
            "--measure",
            "Run each schedule over MPI on this host, which is not the machine modelled.",
        ),
    ] = False,
    combine: Annotated[
        str | None,
        opt("--combine A,B,…", "Programs of stages beside them: auto, 8x8, radix:2, mixed, …."),
    ] = None,
    stages: Annotated[
        bool,
        opt("--stages", "Messages combined in 1, 2, 3, … stages over sizes: time, volume, bound."),
    ] = False,
    without: Annotated[
        list[str] | None,
        opt("--without CABLE", "Also without a cable: leafA:14, or A-B; may be repeated."),
    ] = None,
    executor: ExecutorOption = PROCESSES,
    workers: WorkersOption = 1,
    markdown: Annotated[bool, opt("--markdown", "Print the table as Markdown.")] = False,
    output: Annotated[
        Path | None,
        opt(
            "-o/--output FILE",
            "A table (.md; .csv, .parquet for programs) or a picture (.svg, .png).",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare methods on patterns and machines."""
    _check_output(output, several=len(pattern) * len(on) > 1 or bool(without))
    kinds = [kind for kind, asked in ((CURVE, curve), (MAP, map_), (STAGES, stages)) if asked]
    if len(kinds) > 1:
        raise UsageError(f"{kinds[0]} and {kinds[1]} exclude each other")
    kind = kinds[0] if kinds else ROWS
    rank_by = options.rank_by
    options = replace(options, rank_by=None)
    given: dict[str, Any] = {
        "methods": methods,
        "sync": sync,
        **{name: value for name, value in options.given().items() if name != "method"},
        **reading.given(),
        "reuse": None if reuse == "inf" else reuse,
        "sizes": sizes,
        "by": by,
        "rank_by": rank_by,
        "simulate": simulate,
        "models": models,
        "measure": measure,
        "combine": combine,
        "without": without,
    }
    spread = {
        "executor": None if executor == PROCESSES else executor,
        "workers": None if workers == 1 else workers,
    }
    allow(
        {**given, **spread},
        TAKEN_BY,
        kind,
        f"does not go with {kind}" if kind else "goes with {takers}",
    )
    named = None if methods is None else methods.split(",")
    names = method_names(
        None if named is None else [each.strip() for each in named if each.strip()]
    )
    policies = parse_policies(sync)
    chooses = any(AUTO in (name, *policies.of(name)) or not policies.of(name) for name in names)
    check_by(by)
    timed_by = rank_by if by is None else by
    _check_kind(kind, pattern, on, names if methods else [], sync, rank_by, by, chooses=chooses)
    ranked_by = FORMULA if kind in (CURVE, MAP) else rank_by or by if chooses else None
    options = replace(options, rank_by=ranked_by)
    asked_sizes = parse_sizes(sizes)
    if kind == MAP:
        asked = None if methods is None else names
        found = compare_regions(
            pattern[0], on[0], asked, policies, options, asked_sizes, timed_by, reuse
        )
    else:
        count, seed = options.ranks_per_node, options.seed
        with progress("reading"):
            pairs = [
                read_inputs(traffic, machine, reading, ranks_per_node=count, seed=seed)
                for traffic in pattern
                for machine in on
            ]
            pairs = [
                (traffic, each)
                for traffic, machine in pairs
                for each in (machine, *without_each(machine, without or ()))
            ]
        combines = [word.strip() for word in (combine or "").split(",") if word.strip()]
        if kind == STAGES:
            chosen = replace(options, method=names[0] if methods else AUTO, sync=sync)
            found = compare_programs(
                *pairs[0], chosen, asked_sizes, timed_by, combines or ["mixed"]
            )
        elif kind == CURVE:
            found = compare_curves(*pairs[0], options, asked_sizes, timed_by)
        else:
            asked_models = _models(simulate, models, measure, pairs)
            with executor_of(executor, workers) as pool:
                results = compare_pairs(
                    pairs,
                    options,
                    policies.spread(names),
                    models=asked_models,
                    by=timed_by,
                    named=methods is not None,
                    combines=combines,
                    executor=pool,
                    watch=progress,
                )
            found = _compared_rows(pairs, results, asked_models, measure)
    if output is not None and output.suffix.lower() in SUFFIXES:
        write_table(output, found.records)
    elif output is not None:
        write_report(output, found.sections)
    print_sections(found.sections, json, markdown=markdown)
    if json:
        manifest = manifest_of("compare", pattern, on, options.seed, given)
        manifest = replace(manifest, command=f"{manifest.command} {kind}".rstrip())
        print_json("conset/compare@1", {"rows": [], "skipped": [], **found.body}, manifest)


def _compared_rows(
    pairs: Sequence[tuple[Pattern, Machine]],
    results: Sequence[Comparison],
    models: tuple[str, ...],
    measured: bool,
) -> Compared:
    """Rows of methods, pair after pair, completed by what is measured and by errors."""
    sections, completed = [], []
    timed = bool(models) or measured
    for (traffic, machine), result in zip(pairs, results, strict=True):
        found = _completed(result, machine, measured=measured) if timed else result
        shown = models if timed else None
        sections.append(comparison_section(found, traffic, machine, shown))
        completed.append(found)
    whole = merged(completed)
    body: dict[str, Any] = {
        "rows": whole.rows,
        "skipped": whole.skipped,
        "by": whole.by,
        "stands_in": whole.stands_in or None,
    }
    if timed:
        body["errors_against"] = whole.reference or None
    return Compared(body, list(whole.rows), sections)


def _check_output(output: Path | None, *, several: bool) -> None:
    """Before anything is computed.

    Raises:
        UsageError: another suffix, or a picture of several comparisons. MissingExtraError: a
            library is missing.
    """
    if output is None:
        return
    check_output(output, "a comparison", MARKDOWN, *SUFFIXES)
    if several and output.suffix.lower() in FORMATS:
        raise UsageError(
            f"-o {output}: a picture has one pattern on one machine; {MARKDOWN} and "
            f"{SUFFIXES[0]} have all"
        )
    if output.suffix.lower() in SUFFIXES:
        check_table_path(output)
    require_replaceable(output)


def _check_kind(
    kind: str,
    patterns: Sequence[str],
    machines: Sequence[str],
    names: list[str],
    sync: str | None,
    rank_by: str | None,
    by: str | None,
    *,
    chooses: bool,
) -> None:
    """Raise UsageError for values that a kind of comparison cannot have."""
    if kind and len(patterns) * len(machines) > 1:
        given = f"{count_of(len(patterns), 'pattern')} on {count_of(len(machines), 'machine')}"
        raise UsageError(f"{kind}: takes one pattern on one machine, given {given}")
    if kind == STAGES and len(names) > 1:
        raise UsageError(f"--methods {','.join(names)}: --stages takes one method, of all stages")
    if kind == STAGES and sync is not None and "," in sync:
        raise UsageError(f"--sync {sync}: --stages takes one policy")
    if rank_by not in (None, FORMULA) and not (kind == MAP or chooses):
        raise UsageError(f"--rank-by {rank_by}: goes with --map, --methods auto or --sync auto")
    if kind in (CURVE, MAP) and None not in (by, rank_by) and by != rank_by:
        raise UsageError(f"--by {by}: is what chooses here too, given --rank-by {rank_by}")


def _models(
    simulate: bool, models: str | None, measure: bool, pairs: Sequence[tuple[Pattern, Machine]]
) -> tuple[str, ...]:
    """The models that simulate: `--models` means `--simulate`, whose models are all machines'.

    Raises:
        UsageError: an unknown model. InputError: more ranks than this host can measure.
    """
    named: dict[str, None] = {}
    for pattern, machine in pairs:
        if measure:
            require_cores(pattern.ranks)
        if simulate or models is not None:
            named |= dict.fromkeys(parse_models(models, machine))
    return tuple(named)


def require_cores(ranks: int) -> None:
    """Raises `InputError` where this host has too few cores to measure so many ranks."""
    cores = len(os.sched_getaffinity(0))
    if ranks > cores * RANKS_PER_CORE:
        raise InputError(
            f"--measure: {ranks} ranks on the {cores} cores of this host, at most "
            f"{cores * RANKS_PER_CORE} "
            f"({RANKS_PER_CORE} a core) are measured"
        )


def _completed(result: Comparison, machine: Machine, *, measured: bool) -> Comparison:
    """The rows with what was measured of each, if asked for, and the errors of all times."""

    def measure(entry: Entry) -> dict[str, Any] | None:
        if not measured:
            return None
        schedule = entry.whole
        what = f"{schedule.method} under {schedule.sync} on {schedule.pattern.ranks} ranks"
        with progress(f"running {what}"):
            return measure_row(schedule, entry.program)

    return result.with_errors(machine, measure)


def measure_row(schedule: Schedule, program: Program | None = None) -> dict[str, Any]:
    """What running a schedule or a program over MPI takes here, and on what it was run.

    Raises:
        UsageError: no MPI. ExecutionError: the job did not end. VerificationError: bytes arrived
            wrong.
    """
    result = run(program or schedule, repeat=REPEAT)
    if result.mismatches:
        raise VerificationError(
            f"{schedule.method} under {schedule.sync}: {result.mismatches:,} wrong bytes over MPI"
        )
    where = (
        f"{count_of(result.cores, 'core')} of this host" if result.one_machine else "several hosts"
    )
    note = (
        f"{result.ranks} ranks on {where} by {result.mpi}, median of {result.repeat}; "
        f"not {schedule.machine.name}, which is what is predicted and simulated"
    )
    return {
        "median_s": result.median_s,
        "min_s": min(result.times_s["schedule"]),
        "repeat": result.repeat,
        "ranks": result.ranks,
        "mpi": result.mpi,
        "cores": result.cores,
        "one_machine": result.one_machine,
        "bytes_checked": result.bytes_checked,
        "note": note,
    }
