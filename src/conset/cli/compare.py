"""`conset compare`: one pattern on one machine, by several methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from conset.compiler import Request
    from conset.errors import ConsetError
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.schedule.schedule import Schedule

SCHEMA = "conset/compare@1"
MARKDOWN = ".md"

MethodsOption = Annotated[
    str | None, typer.Option("--methods", metavar="A,B,…", help="Methods to compare; without it all that apply.")
]
SyncsOption = Annotated[
    str | None,
    typer.Option("--sync", metavar="S", help="Policies with commas, a row for each; naive=none: of one method."),
]
CurveOption = Annotated[
    bool, typer.Option("--curve", help="Predicted time of a complete exchange over contention and barriers.")
]
MapOption = Annotated[
    bool, typer.Option("--map", help="Regions: the best method over density and message size; PATTERN is random.")
]
ReuseOption = Annotated[
    str, typer.Option("--reuse", metavar="R", help="With --map: uses of a schedule before the next compile.")
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]
TableOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="A table (.md) or a bar chart (.svg, .png).")
]


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        rows: the keys of `compile --json`, one row for each method and policy.
        terms: terms of the predicted time of each row [s].
        skipped: `method` and `reason` of each method that does not apply.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    terms: list[dict[str, float]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)


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
    rank_by: o.RankByOption = "formula",
    markdown: MarkdownOption = False,
    output: TableOption = None,
    json: o.JsonOption = False,
) -> None:
    """Compare methods on one pattern: phases, gap, load, predicted time, compile time."""
    from conset.cli.compare_more import run_curve, run_map
    from conset.cli.inputs import manifest_of, read_inputs
    from conset.cli.output import print_json
    from conset.cli.progress import progress
    from conset.comparison import parse_policies
    from conset.compiler import Request
    from conset.machine.spec import parse_machine

    _check_output(output)
    _check_kind(curve, map_, reuse, rank_by)
    names = _names(methods)
    policies = parse_policies(sync)
    request = Request(
        contention=contention, channels=channels, limits=limits, placement=placement,
        ranks_per_node=ranks_per_node, seed=seed, effort=effort,
    )  # fmt: skip
    body: dict[str, Any] = {"rows": [], "skipped": []}
    if map_:
        asked_methods = None if methods is None else names
        body |= run_map(
            pattern, parse_machine(on), asked_methods, policies, request, reuse, rank_by, output, markdown=markdown,
            as_json=json,
        )  # fmt: skip
    else:
        with progress("reading"):
            traffic, machine = read_inputs(
                pattern, on, ranks_per_node=ranks_per_node, seed=seed, parts=parts, rows_to=rows_to, word=word
            )
        if curve:
            body |= run_curve(traffic, machine, request, output, markdown=markdown, as_json=json)
        else:
            result = compare(traffic, machine, request, policies.spread(names))
            if output is not None:
                _write(output, result, traffic, machine)
            body |= {"rows": result.rows, "skipped": result.skipped}
            _print(result, traffic, machine, markdown=markdown, as_json=json)
    if json:
        asked = {
            "methods": methods, "sync": sync, "contention": contention, "channels": channels, "limits": limits,
            "placement": None if placement == "identity" else placement,
            "ranks_per_node": None if ranks_per_node == 1 else ranks_per_node, "seed": seed or None,
            "effort": None if effort == 1 else effort, "parts": parts, "rows_to": rows_to,
            "word": None if word == "8" else word, "reuse": None if reuse == "inf" else reuse,
            "rank_by": None if rank_by == "formula" else rank_by,
        }  # fmt: skip
        manifest = manifest_of("compare", pattern, on, seed, asked)
        kind = [word for word, given in (("--curve", curve), ("--map", map_)) if given]
        print_json(SCHEMA, body, replace(manifest, command=" ".join([manifest.command, *kind])))


def compare(pattern: Pattern, machine: Machine, request: Request, methods: Mapping[str, Sequence[str]]) -> Comparison:
    """One row for each method that applies and each policy.

    Args:
        pattern: what is sent.
        machine: what it costs.
        request: options of every compile.
        methods: method → its policies; without any its default.

    Raises:
        InputError: no method applies; says why the first does not.
        VerificationError: a method made a schedule that breaks a rule.
    """
    from conset.cli.progress import progress
    from conset.compiler import compile_pattern
    from conset.errors import InputError, NoScheduleError

    result = Comparison()
    first: ConsetError | None = None
    for name, policies in methods.items():
        with progress(f"scheduling by {name}"):
            try:
                schedule = compile_pattern(pattern, machine, replace(request, method=name))
            except (InputError, NoScheduleError) as error:
                first = first or error
                result.skipped.append({"method": name, "reason": str(error)})
                continue
        with progress(f"verifying, bounding, predicting {name}"):
            _add_rows(result, schedule, policies)
    if first is not None and not result.rows:
        raise first
    return result


def _add_rows(result: Comparison, schedule: Schedule, policies: Sequence[str]) -> None:
    from conset.compiler import summarize
    from conset.errors import VerificationError
    from conset.prediction import predict

    verified: bool | None = None
    for policy in policies or (schedule.sync,):
        under = replace(schedule, sync=policy)
        summary = summarize(under, verified=verified)
        # the policy does not change what is verified
        verified = bool(summary["verified"])
        if not verified:
            raise VerificationError(f"method {schedule.method} made a schedule that does not verify: a bug of conset")
        result.rows.append(summary)
        result.terms.append(dict(predict(under).terms))


def _names(methods: str | None) -> list[str]:
    """The methods asked for, each known; all of the table without a word."""
    from conset.compiler import AUTO
    from conset.errors import UsageError
    from conset.methods.table import find_method, table

    if methods is None:
        return list(table())
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise UsageError("--methods: at least one method required")
    return [name if name == AUTO else find_method(name).name for name in dict.fromkeys(names)]


def _check_kind(curve: bool, map_: bool, reuse: str, rank_by: str) -> None:
    from conset.errors import UsageError

    if curve and map_:
        raise UsageError("--curve and --map exclude each other")
    if reuse != "inf" and not map_:
        raise UsageError(f"--reuse {reuse}: goes with --map")
    if rank_by != "formula" and not map_:
        raise UsageError(f"--rank-by {rank_by}: goes with --map")


def _check_output(output: Path | None) -> None:
    from conset.errors import UsageError
    from conset.report.style import FORMATS, require_matplotlib

    if output is None or output.suffix.lower() == MARKDOWN:
        return
    if output.suffix.lower() not in FORMATS:
        raise UsageError(f"{output}: must end in {MARKDOWN}, {' or '.join(FORMATS)}, given '{output.suffix}'")
    require_matplotlib()


def _write(output: Path, result: Comparison, pattern: Pattern, machine: Machine) -> None:
    if output.suffix.lower() == MARKDOWN:
        from conset.files import replacing
        from conset.report.table_compare import compare_markdown

        text = compare_markdown(result.rows, result.skipped, title=_title(pattern, machine))
        with replacing(output) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return
    from conset.report.picture_compare import picture_compare
    from conset.report.style import save
    from conset.units import format_size

    syncs = {row["method"]: sum(other["method"] == row["method"] for other in result.rows) for row in result.rows}
    named = [
        {
            **row,
            "terms": terms,
            "method": f"{row['method']}, {row['sync']}" if syncs[row["method"]] > 1 else row["method"],
        }
        for row, terms in zip(result.rows, result.terms, strict=True)
    ]
    subtitle = f"{pattern.ranks:,} ranks, {pattern.messages:,} messages, {format_size(pattern.bytes)}"
    save(lambda: picture_compare(named, title=_title(pattern, machine), subtitle=subtitle), output)


def _title(pattern: Pattern, machine: Machine) -> str:
    return f"{pattern.name} on {machine.name}"


def _print(result: Comparison, pattern: Pattern, machine: Machine, *, markdown: bool, as_json: bool) -> None:
    from rich.markup import escape

    from conset.cli.output import console
    from conset.report.table_compare import compare_markdown, compare_table, skipped_lines

    out = console(as_json)
    if markdown:
        out.print(compare_markdown(result.rows, result.skipped, title=_title(pattern, machine)), markup=False, end="")
        return
    out.print(f"[bold]{escape(_title(pattern, machine))}[/]")
    out.print(compare_table(result.rows))
    for line in skipped_lines(result.skipped):
        out.print(f"[dim]{escape(line)}[/]")
