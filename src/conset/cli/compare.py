"""`conset compare`: one pattern on one machine, by several methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from conset.cli import options as o

SCHEMA = "conset/compare@1"

MethodsOption = Annotated[
    str | None, typer.Option("--methods", metavar="A,B,…", help="Methods to compare; without it all that apply.")
]
SyncsOption = Annotated[
    str | None,
    typer.Option("--sync", metavar="S", help="Policies with commas, a row for each; naive=none: of one method."),
]
CurveOption = Annotated[
    bool, typer.Option("--curve", help="Time of a complete exchange over contention and phases between barriers.")
]
MapOption = Annotated[
    bool,
    typer.Option(
        "--map", help="Regions: the best method over message size and density (random) or machines (alltoall)."
    ),
]
ReuseOption = Annotated[
    str, typer.Option("--reuse", metavar="R", help="With --map: uses of a schedule before the next compile.")
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="BY", help="What gives times: flow, wormhole, circuit, formula; default: the machine's."
    ),
]
SizesOption = Annotated[
    str | None, typer.Option("--sizes", metavar="S,S,…", help="With --curve, --map, --stages: sizes, as 1KiB,16KiB.")
]
SimulateOption = Annotated[
    bool, typer.Option("--simulate", help="Add simulated times to the predicted: by flow, and wormhole or circuit.")
]
ModelsOption = Annotated[
    str | None,
    typer.Option("--models", metavar="A,B,…", help="The models of --simulate: flow,wormhole,circuit,flit,connections."),
]
MeasureOption = Annotated[
    bool, typer.Option("--measure", help="Run each schedule over MPI on this host, which is not the machine modelled.")
]
CombinesOption = Annotated[
    str | None,
    typer.Option("--combine", metavar="A,B,…", help="Programs of stages beside them: auto, 8x8, radix:2, mixed, …."),
]
StagesOption = Annotated[
    bool, typer.Option("--stages", help="Messages combined in 1, 2, 3, … stages over sizes: time, volume, bound.")
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]
TableOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="A table (.md) or a bar chart (.svg, .png).")
]


def command(
    pattern: o.PatternArgument,
    on: o.MachineOption,
    methods: MethodsOption = None,
    sync: SyncsOption = None,
    contention: o.ContentionOption = None,
    channels: o.ChannelsOption = None,
    limits: o.LimitsOption = None,
    placement: o.PlacementOption = "identity",
    ranks_per_node: o.RanksPerNodeOption = 1,
    seed: o.SeedOption = 0,
    effort: Annotated[int, typer.Option("--effort", metavar="N", help="How long to search, in sweeps.", min=1)] = 1,
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
    """Compare methods on one pattern: phases, gap, load, time by the machine's model; more models, measured times."""
    from conset.cli.compare_maps import parse_sizes, run_curve, run_map
    from conset.cli.compare_simulated import complete, parse_timing_options
    from conset.cli.compare_stages import run_stages
    from conset.cli.inputs import manifest_of, read_inputs, reading_options
    from conset.cli.output import print_json, print_markdown, print_parts, progress
    from conset.comparison import check_by, compare, parse_policies
    from conset.compilation.options import AUTO, FORMULA, CompileOptions, check_ranking
    from conset.report.simulated import ComparisonReport
    from conset.report.style import check_report_path, write_report

    check_report_path(output)
    names = _names(methods)
    policies = parse_policies(sync)
    chooses = any(AUTO in (name, *policies.of(name)) for name in names)
    timing_asked = simulate or models is not None or measure
    _check_stages(stages, curve or map_ or timing_asked, names if methods else [], sync)
    _check_kind(curve, map_, reuse, rank_by, chooses=chooses, timing=timing_asked)
    check_by(by)
    check_ranking(rank_by)
    asked_sizes = parse_sizes(sizes, curve or map_ or stages)
    timed_by = _timed_by(by, rank_by, curve or map_)
    options = CompileOptions(
        contention=contention, channels=channels, limits=limits, placement=placement,
        ranks_per_node=ranks_per_node, seed=seed, effort=effort,
        rank_by=FORMULA if map_ or curve else rank_by if chooses and rank_by is not None else by if chooses else None,
    )  # fmt: skip
    body: dict[str, Any] = {"rows": [], "skipped": []}
    if map_:
        asked_methods = None if methods is None else names
        body |= run_map(
            pattern, on, asked_methods, policies, options, reuse, timed_by, output,
            sizes=asked_sizes, markdown=markdown, as_json=json,
        )  # fmt: skip
    else:
        with progress("reading"):
            traffic, machine = read_inputs(
                pattern, on, ranks_per_node=ranks_per_node, seed=seed, parts=parts, rows_to=rows_to, word=word
            )
        if stages:
            chosen = replace(options, method=names[0] if methods else AUTO, sync=sync)
            body |= run_stages(
                traffic, machine, chosen, output, sizes=asked_sizes, combines=_words(combine or "mixed"), by=timed_by,
                markdown=markdown, as_json=json,
            )  # fmt: skip
        elif curve:
            body |= run_curve(
                traffic, machine, options, output, sizes=asked_sizes, by=timed_by, markdown=markdown, as_json=json
            )
        else:
            timing = parse_timing_options(simulate, models, measure, machine, traffic.ranks)
            result = compare(
                traffic, machine, options, policies.spread(names), models=timing.models, by=timed_by,
                named=methods is not None, combines=_words(combine), watch=progress,
            )  # fmt: skip
            reference = complete(result, timing, machine) if timing else ""
            report = ComparisonReport(result, traffic, machine, timing.models if timing else None, reference)
            if output is not None:
                write_report(output, report.markdown, report.picture)
            body |= {"rows": result.rows, "skipped": result.skipped, "by": result.by}
            body |= {"stands_in": result.stands_in or None}
            body |= {"errors_against": reference or None} if timing else {}
            if markdown:
                print_markdown(report.markdown(), json)
            else:
                print_parts(report.parts(), json)
    if json:
        own = {name: value for name, value in options.given().items() if name not in ("method", "rank_by")}
        given = {
            "methods": methods, "sync": sync, **own, **reading_options(parts, rows_to, word),
            "reuse": None if reuse == "inf" else reuse, "sizes": sizes, "by": by, "rank_by": rank_by,
            "simulate": simulate, "models": models, "measure": measure, "combine": combine,
        }  # fmt: skip
        manifest = manifest_of("compare", pattern, on, seed, given)
        kind = [word for word, given in (("--curve", curve), ("--map", map_), ("--stages", stages)) if given]
        print_json(SCHEMA, body, replace(manifest, command=" ".join([manifest.command, *kind])))


def _names(methods: str | None) -> list[str]:
    """The methods asked for, each known; all of the table without a word."""
    from conset.compilation.options import AUTO
    from conset.errors import UsageError
    from conset.methods.table import find_method, table

    if methods is None:
        return list(table())
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise UsageError("--methods: at least one method required")
    return [name if name == AUTO else find_method(name).name for name in dict.fromkeys(names)]


def _words(combine: str | None) -> list[str]:
    """The ways to combine that are asked for."""
    return [word.strip() for word in (combine or "").split(",") if word.strip()]


def _check_stages(stages: bool, other: bool, names: list[str], sync: str | None) -> None:
    from conset.errors import UsageError

    if not stages:
        return
    if other:
        raise UsageError("--stages: excludes --curve, --map, --simulate, --models and --measure")
    if len(names) > 1:
        raise UsageError(f"--methods {','.join(names)}: --stages takes one method, of all stages")
    if sync is not None and "," in sync:
        raise UsageError(f"--sync {sync}: --stages takes one policy")


def _check_kind(curve: bool, map_: bool, reuse: str, rank_by: str | None, *, chooses: bool, timing: bool) -> None:
    from conset.errors import UsageError

    if curve and map_:
        raise UsageError("--curve and --map exclude each other")
    if reuse != "inf" and not map_:
        raise UsageError(f"--reuse {reuse}: goes with --map")
    if rank_by not in (None, "formula") and not (map_ or chooses):
        raise UsageError(f"--rank-by {rank_by}: goes with --map, --methods auto or --sync auto")
    if timing and (curve or map_):
        raise UsageError(f"--simulate, --models and --measure do not go with {'--curve' if curve else '--map'}")


def _timed_by(by: str | None, rank_by: str | None, single: bool) -> str | None:
    """What says the times: `--by`, else what `--rank-by` names; a curve and a map know only one of them."""
    from conset.errors import UsageError

    if single and None not in (by, rank_by) and by != rank_by:
        raise UsageError(f"--by {by}: is what chooses here too, given --rank-by {rank_by}")
    return rank_by if by is None else by
