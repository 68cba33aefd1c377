"""`conset compare`: patterns on machines, by several methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli import completion as c
from conset.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conset.cli.compare_simulated import TimingOptions
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.studies.compare import Comparison

SCHEMA = "conset/compare@1"

MethodsOption = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="A,B,…",
        autocompletion=c.complete_methods,
        help="Methods to compare; without it all that apply.",
    ),
]
SyncsOption = Annotated[
    str | None,
    typer.Option(
        "--sync",
        metavar="S",
        autocompletion=c.complete_syncs,
        help=(
            f"Policies with commas, a row for each; naive=none: of one method. {o.POLICIES}; "
            "auto: the fastest."
        ),
    ),
]
CurveOption = Annotated[
    bool,
    typer.Option(
        "--curve", help="Time of a complete exchange over contention and phases between barriers."
    ),
]
MapOption = Annotated[
    bool,
    typer.Option(
        "--map",
        help=(
            "Regions: the best method over message size and density (random) or "
            "machines (alltoall)."
        ),
    ),
]
ReuseOption = Annotated[
    str,
    typer.Option(
        "--reuse", metavar="R", help="With --map: uses of a schedule before the next compile."
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="BY",
        autocompletion=c.complete_ranking,
        help="What gives times: flow, wormhole, circuit, packet, formula; default: the machine's.",
    ),
]
SizesOption = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="S,S,…", help="With --curve, --map, --stages: sizes, as 1KiB,16KiB."
    ),
]
SimulateOption = Annotated[
    bool,
    typer.Option(
        "--simulate", help="Add simulated times to the predicted: by flow, and wormhole or circuit."
    ),
]
ModelsOption = Annotated[
    str | None,
    typer.Option(
        "--models",
        metavar="A,B,…",
        autocompletion=c.complete_models,
        help="The models of --simulate: flow,wormhole,circuit,packet,flit,connections.",
    ),
]
MeasureOption = Annotated[
    bool,
    typer.Option(
        "--measure",
        help="Run each schedule over MPI on this host, which is not the machine modelled.",
    ),
]
CombinesOption = Annotated[
    str | None,
    typer.Option(
        "--combine",
        metavar="A,B,…",
        help="Programs of stages beside them: auto, 8x8, radix:2, mixed, ….",
    ),
]
StagesOption = Annotated[
    bool,
    typer.Option(
        "--stages", help="Messages combined in 1, 2, 3, … stages over sizes: time, volume, bound."
    ),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]
TableOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="A table (.md; .csv, .parquet for programs) or a picture (.svg, .png).",
    ),
]


def command(
    pattern: o.PatternsArgument,
    on: o.MachinesOption,
    methods: MethodsOption = None,
    sync: SyncsOption = None,
    contention: o.ContentionOption = None,
    channels: o.ChannelsOption = None,
    limits: o.LimitsOption = None,
    placement: o.PlacementOption = "identity",
    ranks_per_node: o.RanksPerNodeOption = 1,
    seed: o.SeedOption = 0,
    effort: Annotated[
        int, typer.Option("--effort", metavar="N", help="How long to search, in sweeps.", min=1)
    ] = 1,
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    curve: CurveOption = False,
    map_: MapOption = False,
    reuse: ReuseOption = "inf",
    sizes: SizesOption = None,
    by: ByOption = None,
    rank_by: o.RankByOption = None,
    simulate: SimulateOption = False,
    models: ModelsOption = None,
    measure: MeasureOption = False,
    combine: CombinesOption = None,
    stages: StagesOption = False,
    markdown: MarkdownOption = False,
    output: TableOption = None,
    json: o.JsonOption = False,
) -> None:
    """Compare methods on patterns and machines.

    Phases, gap, load, time by the machine's model, or by several.
    """
    from conset.cli.compare_maps import parse_sizes, run_curve, run_map
    from conset.cli.compare_simulated import parse_timing_options
    from conset.cli.compare_stages import run_stages
    from conset.cli.inputs import manifest_of, read_inputs, reading_options
    from conset.cli.output import print_json, progress
    from conset.compilation.options import AUTO, FORMULA, CompileOptions, check_ranking
    from conset.studies.compare import check_by, compare_pairs, parse_policies
    from conset.studies.compare.tidy import SUFFIXES, write_table

    _check_output(output, several=len(pattern) * len(on) > 1)
    names = _names(methods)
    policies = parse_policies(sync)
    chooses = any(AUTO in (name, *policies.of(name)) for name in names)
    timing_asked = simulate or models is not None or measure
    _check_stages(stages, curve or map_ or timing_asked, names if methods else [], sync)
    _check_kind(curve, map_, reuse, rank_by, chooses=chooses, timing=timing_asked)
    kind = next(
        (
            option
            for option, asked in (("--curve", curve), ("--map", map_), ("--stages", stages))
            if asked
        ),
        "",
    )
    of_limits = {"--contention": contention, "--channels": channels, "--limits": limits}
    reading = reading_options(parts, rows_to, word)
    _refuse_ignored(
        kind, {"--methods": methods, "--sync": sync, "--combine": combine, **of_limits}, reading
    )
    if kind:
        _require_one_pair(kind, pattern, on)
    check_by(by)
    check_ranking(rank_by)
    asked_sizes = parse_sizes(sizes, bool(kind))
    timed_by = _timed_by(by, rank_by, curve or map_)
    options = CompileOptions(
        contention=contention,
        channels=channels,
        limits=limits,
        placement=placement,
        ranks_per_node=ranks_per_node,
        seed=seed,
        effort=effort,
        rank_by=FORMULA
        if map_ or curve
        else rank_by
        if chooses and rank_by is not None
        else by
        if chooses
        else None,
    )
    table = output if output is not None and output.suffix.lower() in SUFFIXES else None
    drawn = None if table is not None else output
    body: dict[str, Any] = {"rows": [], "skipped": []}
    if map_:
        asked_methods = None if methods is None else names
        body |= run_map(
            pattern[0],
            on[0],
            asked_methods,
            policies,
            options,
            reuse,
            timed_by,
            drawn,
            sizes=asked_sizes,
            markdown=markdown,
            as_json=json,
        )
    else:
        with progress("reading"):
            how: dict[str, Any] = {"parts": parts, "rows_to": rows_to, "word": word}
            pairs = [
                read_inputs(traffic, machine, ranks_per_node=ranks_per_node, seed=seed, **how)
                for traffic in pattern
                for machine in on
            ]
        if stages:
            chosen = replace(options, method=names[0] if methods else AUTO, sync=sync)
            body |= run_stages(
                *pairs[0],
                chosen,
                drawn,
                sizes=asked_sizes,
                combines=_words(combine or "mixed"),
                by=timed_by,
                markdown=markdown,
                as_json=json,
            )
        elif curve:
            body |= run_curve(
                *pairs[0],
                options,
                drawn,
                sizes=asked_sizes,
                by=timed_by,
                markdown=markdown,
                as_json=json,
            )
        else:
            timing = parse_timing_options(simulate, models, measure, pairs)
            results = compare_pairs(
                pairs,
                options,
                policies.spread(names),
                models=timing.models,
                by=timed_by,
                named=methods is not None,
                combines=_words(combine),
                watch=progress,
            )
            body |= _hand_over(pairs, results, timing, drawn, markdown=markdown, as_json=json)
    if table is not None:
        write_table(table, _records(body))
    if json:
        own = {
            name: value
            for name, value in options.given().items()
            if name not in ("method", "rank_by")
        }
        given = {
            "methods": methods,
            "sync": sync,
            **own,
            **reading,
            "reuse": None if reuse == "inf" else reuse,
            "sizes": sizes,
            "by": by,
            "rank_by": rank_by,
            "simulate": simulate,
            "models": models,
            "measure": measure,
            "combine": combine,
        }
        manifest = manifest_of("compare", pattern, on, seed, given)
        print_json(SCHEMA, body, replace(manifest, command=f"{manifest.command} {kind}".rstrip()))


def _hand_over(
    pairs: Sequence[tuple[Pattern, Machine]],
    results: Sequence[Comparison],
    timing: TimingOptions,
    output: Path | None,
    *,
    markdown: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Completes, prints and writes what was found, pair after pair; what `--json` says of it."""
    from conset.base.files import replacing
    from conset.cli.compare_simulated import complete
    from conset.cli.output import print_markdown, print_parts
    from conset.report.simulated import ComparisonReport
    from conset.report.style import FORMATS, save
    from conset.studies.compare import merged

    reports = []
    for (traffic, machine), result in zip(pairs, results, strict=True):
        found = complete(result, timing, machine) if timing else result
        models = timing.models if timing else None
        reports.append(ComparisonReport(found, traffic, machine, models, found.reference))
    if output is not None and output.suffix.lower() in FORMATS:
        save(reports[0].picture, output)
    elif output is not None:
        with replacing(output) as temporary:
            temporary.write_text(
                "\n".join(report.markdown() for report in reports), encoding="utf-8"
            )
    for k, report in enumerate(reports):
        if markdown:
            print_markdown(("\n" if k else "") + report.markdown(), as_json)
        else:
            print_parts([*([""] if k else []), *report.parts()], as_json)
    whole = merged([report.result for report in reports])
    body = {
        "rows": whole.rows,
        "skipped": whole.skipped,
        "by": whole.by,
        "stands_in": whole.stands_in or None,
    }
    return body | ({"errors_against": whole.reference or None} if timing else {})


def _records(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a table has a row for.

    A method and policy, a point of a curve, a cell of a map, a program of stages.
    """
    if "curves" in body:
        return [
            {"size": curve["size"], "by": curve["by"], **point}
            for curve in body["curves"]
            for point in curve["points"]
        ]
    if "map" in body:
        return list(body["map"]["cells"])
    return list(body.get("stages") or body["rows"])


def _check_output(output: Path | None, *, several: bool) -> None:
    """Before anything is computed.

    Raises:
        UsageError: another suffix, or a picture of several comparisons. MissingExtraError: a
            library is missing.
    """
    from conset.base.errors import UsageError
    from conset.base.files import require_replaceable
    from conset.report.style import FORMATS, MARKDOWN, check_report_path
    from conset.studies.compare.tidy import SUFFIXES, check_table_path

    if output is None:
        return
    suffix = output.suffix.lower()
    if suffix not in (MARKDOWN, *SUFFIXES, *FORMATS):
        known = f"{', '.join((MARKDOWN, *SUFFIXES, FORMATS[0]))} or {FORMATS[-1]}"
        raise UsageError(f"{output}: must end in {known}, given '{output.suffix}'")
    if several and suffix in FORMATS:
        raise UsageError(
            f"-o {output}: a picture has one pattern on one machine; {MARKDOWN} and "
            f"{SUFFIXES[0]} have all"
        )
    if suffix in SUFFIXES:
        check_table_path(output)
    else:
        check_report_path(output)
    require_replaceable(output)


def _refuse_ignored(kind: str, asked: Mapping[str, Any], reading: Mapping[str, Any]) -> None:
    """Raises UsageError for options that a curve or a map would not look at."""
    from conset.base.errors import UsageError

    if kind == "--curve":
        refused = dict(asked)
    elif kind == "--map":
        refused = {"--combine": asked["--combine"]}
        refused |= {f"--{name.replace('_', '-')}": value for name, value in reading.items()}
    else:
        return
    why = {
        "--curve": "a curve is of method bounded, over contention and barriers",
        "--map": "a map is of schedules of generated patterns",
    }
    for option, value in refused.items():
        if value is not None:
            raise UsageError(f"{option} {value}: does not go with {kind}: {why[kind]}")


def _require_one_pair(kind: str, patterns: Sequence[str], machines: Sequence[str]) -> None:
    from conset.base.errors import UsageError
    from conset.base.units import count_of

    if len(patterns) * len(machines) > 1:
        given = f"{count_of(len(patterns), 'pattern')} on {count_of(len(machines), 'machine')}"
        raise UsageError(f"{kind}: takes one pattern on one machine, given {given}")


def _names(methods: str | None) -> list[str]:
    """The methods asked for, each known; all of the table without a word."""
    from conset.compilation.options import method_names

    if methods is None:
        return method_names(None)
    return method_names(name.strip() for name in methods.split(",") if name.strip())


def _words(combine: str | None) -> list[str]:
    """The ways to combine that are asked for."""
    return [word.strip() for word in (combine or "").split(",") if word.strip()]


def _check_stages(stages: bool, other: bool, names: list[str], sync: str | None) -> None:
    from conset.base.errors import UsageError

    if not stages:
        return
    if other:
        raise UsageError("--stages: excludes --curve, --map, --simulate, --models and --measure")
    if len(names) > 1:
        raise UsageError(f"--methods {','.join(names)}: --stages takes one method, of all stages")
    if sync is not None and "," in sync:
        raise UsageError(f"--sync {sync}: --stages takes one policy")


def _check_kind(
    curve: bool, map_: bool, reuse: str, rank_by: str | None, *, chooses: bool, timing: bool
) -> None:
    from conset.base.errors import UsageError

    if curve and map_:
        raise UsageError("--curve and --map exclude each other")
    if reuse != "inf" and not map_:
        raise UsageError(f"--reuse {reuse}: goes with --map")
    if rank_by not in (None, "formula") and not (map_ or chooses):
        raise UsageError(f"--rank-by {rank_by}: goes with --map, --methods auto or --sync auto")
    if timing and (curve or map_):
        raise UsageError(
            f"--simulate, --models and --measure do not go with {'--curve' if curve else '--map'}"
        )


def _timed_by(by: str | None, rank_by: str | None, single: bool) -> str | None:
    """What says the times: `--by`, else what `--rank-by` names.

    A curve and a map know only one of them.
    """
    from conset.base.errors import UsageError

    if single and None not in (by, rank_by) and by != rank_by:
        raise UsageError(f"--by {by}: is what chooses here too, given --rank-by {rank_by}")
    return rank_by if by is None else by
