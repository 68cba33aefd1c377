"""Campaigns: the summary in a terminal, the page and the Markdown.

The page has a table and pictures for each fabric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from conset.base.units import count_of, format_size, format_time
from conset.compilation.options import FORMULA
from conset.execution.stopping import Ratio
from conset.report.markdown import plain, table_markdown
from conset.studies.campaign.campaign import Campaign
from conset.studies.campaign.result import (
    MODEL,
    CaseResult,
    Contest,
    Errors,
    FabricSummary,
    summarize_campaign,
)
from conset.studies.campaign.run import CampaignRun, failure_text
from conset.studies.contender import NAIVE

if TYPE_CHECKING:
    from rich.console import RenderableType

SUMMARY = (
    "fabric",
    "cases",
    "right",
    "above posting",
    "largest / best",
    "order pays",
    "gain",
    "gain over MPI",
    "error, choice",
    "error, all",
    "by formula",
)
CASES = (
    "case",
    "choice",
    "predicted",
    "measured",
    "posting everything",
    "best",
    "MPI's own",
    "choice / posting",
    "choice / best",
    "verdict",
)
CONTENDERS = (
    "contender",
    "repetitions",
    "median",
    "/ posting everything",
    "predicted",
    "error",
    "by formula",
    "error",
)
_LEFT = (0, 1, 5, 6, 9)


def choice_name(choice: Contest) -> str:
    """`negotiated c1 ready`, or `posting everything random`."""
    facts = choice.facts
    words = [
        str(facts["method"]),
        *([] if facts["contention"] is None else [f"c{facts['contention']}"]),
    ]
    words += [] if facts["posting"] == "schedule" else [str(facts["posting"])]
    words += (
        []
        if facts["sync"] == "none" and (facts["phases"] <= 1 or facts["in_flight"])
        else [str(facts["sync"])]
    )
    words += [] if facts["in_flight"] is None else [f"{facts['in_flight']} in flight"]
    words += [] if facts["stages"] <= 1 else [f"{facts['stages']} stages"]
    if facts["method"] == NAIVE and facts["sync"] == "none":
        words[0] = "posting everything"
    return " ".join(words)


def contender_name(result: CaseResult, contest: Contest) -> str:
    """Its name; of the choice what was chosen, of what posts everything that."""
    if contest.kind == "choice":
        return f"the choice: {choice_name(contest)}"
    if contest.kind == "mpi":
        return {"alltoallv": "MPI_Alltoallv", "alltoall": "MPI_Alltoall"}.get(
            contest.name, "MPI_Neighbor_alltoallv"
        )
    return "posting everything" if contest.name == NAIVE else contest.name


def format_ratio(ratio: Ratio | None, *, simulated: bool = False) -> str:
    """`0.68 (0.66 to 0.74)`."""
    if ratio is None:
        return ""
    return (
        f"{ratio.median:.2f}"
        if simulated
        else f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    )


def format_error(error: float | None) -> str:
    """`+12 %`."""
    return "" if error is None else f"{100 * error:+.0f} %"


def _predicted(result: CaseResult) -> str:
    choice = result.choice
    by = result.predictor(choice)
    if by not in choice.predicted_s:
        return ""
    return f"{format_time(choice.predicted_s[by])} ({format_error(choice.error_of(by))})"


def case_cells(result: CaseResult, *, with_machine: bool = False) -> list[str]:
    """A row of `CASES`."""
    mpi, best = result.best_mpi, result.best
    is_choice = best is result.choice or best.same_as == "auto"
    return [
        result.name if with_machine else result.case.label,
        choice_name(result.choice),
        _predicted(result),
        format_time(result.choice.median_s),
        format_time(result.naive.median_s),
        f"{'the choice' if is_choice else contender_name(result, best)} "
        f"{format_time(best.median_s)}",
        "" if mpi is None else f"{contender_name(result, mpi)} {format_time(mpi.median_s)}",
        format_ratio(result.to_naive(result.choice), simulated=result.simulated),
        format_ratio(result.to_best, simulated=result.simulated),
        result.verdict,
    ]


PAGE = (
    "case",
    "choice",
    "predicted",
    "measured",
    "posting",
    "/ posting",
    "verdict",
    "best",
    "MPI's own",
)
"""Columns of the page, which have to stand beside each other."""


def _short_time(time_s: float) -> str:
    """Three digits."""
    return format_time(float(f"{time_s:.3g}"))


def _short_name(result: CaseResult, contest: Contest) -> str:
    """`Neighbor` for `MPI_Neighbor_alltoallv`."""
    return contender_name(result, contest).removeprefix("MPI_").removesuffix("_alltoallv")


def _page_cells(result: CaseResult, *, with_machine: bool) -> list[str]:
    """A row of `PAGE`."""
    full = case_cells(result, with_machine=with_machine)
    choice, best, mpi, by = (
        result.choice,
        result.best,
        result.best_mpi,
        result.predictor(result.choice),
    )
    predicted = choice.predicted_s.get(by)
    is_choice = best is choice or best.same_as == choice.name
    fastest = f"{_short_name(result, best)} {_short_time(best.median_s)}"
    return [
        *full[:2],
        ""
        if predicted is None
        else f"{_short_time(predicted)} ({format_error(choice.error_of(by))})",
        _short_time(choice.median_s),
        _short_time(result.naive.median_s),
        _short_ratio(result),
        full[-1],
        "the choice" if is_choice else fastest,
        "" if mpi is None else f"{_short_name(result, mpi)} {_short_time(mpi.median_s)}",
    ]


def _short_ratio(result: CaseResult) -> str:
    """`0.62 ±0.03`: half of the interval."""
    ratio = result.to_naive(result.choice)
    return (
        f"{ratio.median:.2f}"
        if result.simulated
        else f"{ratio.median:.2f} ±{(ratio.high - ratio.low) / 2:.2f}"
    )


SHORT = ("case", "choice", "time", "predicted", "posting", "MPI's own", "/ posting", "verdict")
"""Columns of a terminal."""
SHORT_SUMMARY = (
    "fabric",
    "cases",
    "right",
    "worst",
    "pays in",
    "/ posting",
    "/ MPI's own",
    "errors",
    "by formula",
)


def _short_cells(result: CaseResult) -> list[str]:
    """A row of `SHORT`."""
    mpi = result.best_mpi
    return [
        result.name,
        choice_name(result.choice),
        format_time(result.choice.median_s),
        format_error(result.choice.error_of(result.predictor(result.choice))),
        format_time(result.naive.median_s),
        "" if mpi is None else format_time(mpi.median_s),
        _short_ratio(result),
        result.verdict.removeprefix("right: "),
    ]


def _short_summary(summary: FabricSummary) -> list[str]:
    """A row of `SHORT_SUMMARY`."""
    gains = [gain if gain is None else 1 / gain for gain in (summary.gain, summary.gain_mpi)]
    return [
        summary.fabric,
        str(summary.cases),
        f"{summary.right} ({100 * summary.share:.0f} %)",
        f"{summary.worst:.2f}",
        str(summary.pays),
        *("" if gain is None else f"{gain:.2f}" for gain in gains),
        _errors(summary.errors, MODEL),
        _errors(summary.errors, FORMULA),
    ]


def _errors(errors: Mapping[str, Errors], by: str) -> str:
    """`5 % (-14 %)`."""
    found = errors.get(by)
    return "" if found is None else f"{100 * found.median:.0f} % ({100 * found.worst:+.0f} %)"


def _gain(median: float | None, most: float | None) -> str:
    return "" if median is None or most is None else f"{median:.2f} × ({most:.2f})"


def summary_cells(summary: FabricSummary) -> list[str]:
    """A row of `SUMMARY`."""
    return [
        summary.fabric,
        str(summary.cases),
        f"{summary.right} ({100 * summary.share:.0f} %)",
        str(summary.above_naive),
        f"{summary.worst:.2f}",
        str(summary.pays),
        _gain(summary.gain, summary.gain_most),
        _gain(summary.gain_mpi, summary.gain_mpi_most),
        _errors(summary.choice_errors, MODEL),
        _errors(summary.errors, MODEL),
        _errors(summary.errors, FORMULA),
    ]


def _used(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> list[int]:
    """Columns that say anything."""
    return [k for k in range(len(columns)) if not rows or any(row[k] for row in rows)]


def _timed(results: Sequence[CaseResult]) -> str:
    """How times were found: `measured`, or `simulated`."""
    return "simulated" if results[0].simulated else "measured"


def _heads(columns: Sequence[str], results: Sequence[CaseResult]) -> list[str]:
    """Columns of measured or of simulated times."""
    return [_timed(results) if name == "measured" else name for name in columns]


def _kept(cells: Sequence[str], used: Sequence[int]) -> list[str]:
    return [cells[k] for k in used]


def headline_of(results: Sequence[CaseResult]) -> str:
    """A sentence such as `the choice was right in 33 of 36 cases (92 %)`.

    It goes on: `, and never above 1.05 × posting everything`.
    """
    right = sum(result.is_right for result in results)
    above = [result for result in results if result.is_above_naive]
    limit = "above 1.05 × posting everything"
    never = f"{limit} in {len(above)}" if above else f"never {limit}"
    share = 100 * right / len(results)
    return (
        f"the choice was right in {right} of {count_of(len(results), 'case')} "
        f"({share:.0f} %), {never}"
    )


def findings_of(results: Sequence[CaseResult]) -> str:
    """Sentences on what was gained where order pays, and how exact predictions were."""
    said = []
    paying = [result for result in results if result.pays]
    if paying:
        gains = [1 / result.to_naive(result.choice).median for result in paying]
        said.append(
            f"Order pays in {len(paying)} of {count_of(len(results), 'case')}; there the choice "
            f"is {median(gains):.2f} "
            f"times as fast as posting everything in the median, and at least {WORTH} times in "
            f"{sum(gain >= WORTH for gain in gains)}."
        )
    else:
        said.append(
            "Nothing is faster than posting everything beyond doubt, by more than 5 %, in any case."
        )
    errors = [
        error
        for each in results
        if (error := each.choice.error_of(each.predictor(each.choice))) is not None
    ]
    if errors:
        near, far = (sum(abs(error) <= limit for error in errors) for limit in (0.10, 0.15))
        said.append(
            f"What it takes was predicted within 10 % in {near} of {len(errors)}, within "
            f"15 % in {far}."
        )
    return " ".join(said)


WORTH = 1.25
"""Gains from here on are counted."""


def left_of(campaign: Campaign, results: Sequence[CaseResult]) -> str:
    """How many cases have no result, in a sentence, or ""."""
    left, cases = len(campaign.cases) - len(results), len(campaign.cases)
    are = "is" if left == 1 else "are"
    return (
        f"{left} of {count_of(cases, 'case')} {are} not done, and not in these figures."
        if left
        else ""
    )


def why_wrong(result: CaseResult) -> str:
    """Of a case in which the choice was not right.

    What is faster, and what the model says of the two; else "".
    """
    if result.is_right:
        return ""
    choice, rival = result.choice, result.naive if result.is_above_naive else result.best
    ratio = result.to_naive(choice) if result.is_above_naive else result.to_best
    by, other = (
        choice.predicted_s.get(result.predictor(choice)),
        rival.predicted_s.get(result.predictor(rival)),
    )
    name = contender_name(result, rival)
    if by is None or other is None:
        said = (
            f"of {name} no model says anything"
            if rival.kind == "mpi"
            else "no model says anything of the two"
        )
    else:
        order = (
            "the same order"
            if other < by
            else "the other way round"
            if other > by
            else "no difference"
        )
        said = (
            f"{result.predictor(choice)} says {format_time(by)} against "
            f"{format_time(other)}, {order}"
        )
    return (
        f"{choice_name(choice)} took {format_ratio(ratio, simulated=result.simulated)} × {name}, "
        f"{format_time(choice.median_s)} against {format_time(rival.median_s)}; {said}"
    )


LEGEND = (
    "Right: within 5 % of the best measured, or not told from it by the measurement, and not "
    "above 1.05 × posting "
    "everything. Ratios are medians of times paired by repetition, with 95 % bootstrap intervals; "
    "below 1 is faster.",
    "Order pays where something is faster than posting everything by more than 5 % and beyond its "
    "interval. Gain: how "
    "much faster the choice is there than posting everything, and than MPI's own; median, the "
    "largest in brackets.",
    "Errors: predicted over measured, less 1, by the machine's own model unless said otherwise; "
    "median of absolute "
    "values, the worst in brackets.",
)


def conditions_of(campaign: Campaign, results: Sequence[CaseResult]) -> list[str]:
    """What the figures were measured under, in sentences."""
    from conset.base import VERSION

    if campaign.simulated:
        decides = ", ".join(dict.fromkeys(result.decides for result in results))
        return [f"Simulated by conset {VERSION}; the times are those of {decides}."]
    own = [result.conditions for result in results]

    def each(key: str) -> str:
        return ", ".join(dict.fromkeys(str(conditions[key]) for conditions in own))

    def span(key: str) -> str:
        low, high = (
            min(conditions[key] for conditions in own),
            max(conditions[key] for conditions in own),
        )
        return f"{low:g}" if low == high else f"{low:g} to {high:g}"

    shared = (
        "one machine and one clock"
        if all(conditions["one_machine"] for conditions in own)
        else "several machines"
    )
    checked = sum(conditions["bytes_checked"] for conditions in own)
    lines = [
        f"Measured by conset {each('version')} over {each('mpi')}, "
        f"{each('host_system')}, {shared}: "
        f"{each('local_ranks')} ranks on {each('cores')} cores, load {span('load_before')} "
        "before a case; "
        f"{span('repetitions')} repetitions a case, "
        f"{min(c['measured_at'] for c in own)} to {max(c['measured_at'] for c in own)}; "
        f"{format_size(checked)} received were checked, every byte right."
    ]
    for source in campaign.machines.values():
        if source.testbed is not None and any(
            result.case.machine == source.name for result in results
        ):
            said = ", ".join(f"{key} {value}" for key, value in source.testbed.items())
            calibrated = (
                "costs calibrated" if source.calibrate else f"costs of {Path(source.spec).name}"
            )
            lines.append(f"{source.name}: testbed ({said}), {calibrated}.")
    return lines


def campaign_parts(run: CampaignRun, folder: Path | None = None) -> list[RenderableType]:
    """What a terminal shows: cases, the summary, what failed, what is left."""
    from rich.markup import escape

    from conset.report.terminal import fitted_table, quiet_lines

    parts: list[RenderableType] = []
    if run.results:
        rows = [_short_cells(result) for result in run.results]
        used = _used(rows, SHORT)
        table = fitted_table(
            _kept(SHORT, used), [_kept(row, used) for row in rows], _places((0, 1, 7), used)
        )
        for result, cells in zip(run.results, rows, strict=True):
            table.add_row(
                *(escape(cell) for cell in _kept(cells, used)),
                style="" if result.is_right else "bold red",
            )
        every = [_short_summary(each) for each in summarize_campaign(run.results)]
        shown = _used(every, SHORT_SUMMARY)
        summary = fitted_table(
            _kept(SHORT_SUMMARY, shown), [_kept(cells, shown) for cells in every], [0]
        )
        for cells in every:
            summary.add_row(*(escape(cell) for cell in _kept(cells, shown)))
        parts = [table, "", summary, f"[bold]{escape(headline_of(run.results))}[/]"]
    for name, error in run.failures.items():
        parts.append(f"[bold red]{escape(f'{name}: {failure_text(error)}')}[/]")
    if run.missing:
        parts.append(f"{count_of(len(run.missing), 'case')} left: the same command goes on")
    if folder is not None and run.results:
        parts += quiet_lines([f"{folder / 'index.html'}, results.csv, results.json, decision.md"])
    return parts


def _places(columns: Sequence[int], used: Sequence[int]) -> list[int]:
    return [used.index(k) for k in columns if k in used]


def campaign_markdown(campaign: Campaign, results: Sequence[CaseResult], command: str = "") -> str:
    """The figures of every case, by fabric, a summary on top, and what they were measured under."""
    lines = [f"# {plain(campaign.name)}", ""]
    if campaign.about:
        lines += [" ".join(campaign.about.split()), ""]
    lines += [f"**{_capital(headline_of(results))}.** {findings_of(results)}", ""]
    if left := left_of(campaign, results):
        lines += [left, ""]
    wrong = [
        f"- {plain(result.name)}: {plain(why_wrong(result))}."
        for result in results
        if not result.is_right
    ]
    if wrong:
        lines += ["Where the choice was not right:", "", *wrong, ""]
    cells = [summary_cells(each) for each in summarize_campaign(results)]
    used = _used(cells, SUMMARY)
    lines += [
        *table_markdown(_kept(SUMMARY, used), [_plain(_kept(row, used)) for row in cells], [0]),
        "",
    ]
    lines += [
        *(f"- {line}" for line in LEGEND),
        *(f"- {plain(line)}" for line in conditions_of(campaign, results)),
    ]
    if command:
        lines.append(f"- Made by `{command}`, which goes on where it was stopped.")
    for fabric in dict.fromkeys(result.case.fabric for result in results):
        own = [result for result in results if result.case.fabric == fabric]
        machines = len({result.case.machine for result in own}) > 1
        rows = [case_cells(result, with_machine=machines) for result in own]
        used = _used(rows, CASES)
        table = table_markdown(
            _kept(_heads(CASES, own), used),
            [_plain(_kept(row, used)) for row in rows],
            _places(_LEFT, used),
        )
        lines += ["", f"## {plain(fabric)}", "", *table]
        reasons = [
            f"- {plain(result.case.label)}: {plain(str(result.choice.facts['why']))}"
            for result in own
            if result.choice.facts.get("why")
        ]
        if reasons:
            lines += ["", "Why the choice was made:", "", *reasons]
    return "\n".join(lines) + "\n"


def _plain(cells: Sequence[str]) -> list[str]:
    return [plain(cell) for cell in cells]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def write_campaign_page(
    path: Path, campaign: Campaign, results: Sequence[CaseResult], command: str
) -> None:
    """The page: summary, and for each fabric its cases, pictures, and all contenders.

    The same input, the same bytes.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from conset.report.page import PageTable, Section, anchor, write_sections

    summaries = summarize_campaign(results)
    fabrics = list(dict.fromkeys(result.case.fabric for result in results))
    sections: list[Section] = []
    for fabric, summary in zip(fabrics, summaries, strict=False):
        own = [result for result in results if result.case.fabric == fabric]
        sections.append(_section(fabric, summary, own))
    cells = [summary_cells(each) for each in summaries]
    used = _used(cells, SUMMARY)
    links = [anchor(k) for k in range(len(fabrics))] + ["top"] * (len(summaries) - len(fabrics))
    table = PageTable(
        _kept(SUMMARY, used), [_kept(row, used) for row in cells], left=[0], links=links
    )
    notes = [*LEGEND, *conditions_of(campaign, results), f"Made by: {command}"]
    said = (f"{_capital(headline_of(results))}.", findings_of(results), left_of(campaign, results))
    about = " ".join([*(text for text in said if text), *campaign.about.split()])
    write_sections(path, campaign.name, about, table, notes, sections)


def _section(fabric: str, summary: FabricSummary, results: Sequence[CaseResult]) -> Any:
    from conset.report.campaign_pictures import picture_errors, picture_ratios
    from conset.report.page import PageTable, Part, Section

    machines = len({result.case.machine for result in results}) > 1
    rows = [_page_cells(result, with_machine=machines) for result in results]
    used = _used(rows, PAGE)
    heads = _kept(_heads(PAGE, results), used)
    table = PageTable(
        heads, [_kept(row, used) for row in rows], left=_places((0, 1, 6, 7, 8), used)
    )
    parts = [
        Part("", table=table, draws=[partial(picture_ratios, results, fabric)]),
        Part(
            f"Predicted beside {_timed(results)}", draws=[partial(picture_errors, results, fabric)]
        ),
        *(_case_part(result) for result in results),
    ]
    label = f"right in {summary.right} of {summary.cases}"
    good = summary.share >= 0.9 and not summary.above_naive
    subtitle = (
        f"order pays in {summary.pays} of {count_of(summary.cases, 'case')}"
        if summary.pays
        else "nothing is faster than posting everything beyond doubt"
    )
    return Section(fabric, subtitle, good, parts=parts, label=label)


def _case_part(result: CaseResult) -> Any:
    from conset.report.facts import Fact
    from conset.report.page import PageTable, Part

    rows = []
    for each in sorted(result.timed, key=lambda each: each.median_s):
        model, formula = each.predicted_s.get(each.model), each.predicted_s.get(FORMULA)
        rows.append(
            [
                contender_name(result, each)
                + (f" (the same plan as {each.same_as})" if each.same_as else ""),
                str(len(each.times_s)),
                format_time(each.median_s),
                format_ratio(result.to_naive(each), simulated=result.simulated),
                "" if model is None else f"{format_time(model)} by {each.model}",
                format_error(each.error_of(each.model)),
                "" if formula is None else format_time(formula),
                format_error(each.error_of(FORMULA)),
            ]
        )
    skipped = "; ".join(f"{each.name}: {each.skipped}" for each in result.contests if each.skipped)
    facts = [
        Fact(
            "pattern",
            f"{result.case.spec}, {count_of(result.messages, 'message')}, "
            f"{format_size(result.bytes)}",
        ),
        Fact("why the choice", str(result.choice.facts.get("why") or "")),
        Fact("not right", why_wrong(result)),
        Fact("not told apart", ", ".join(contender_name(result, each) for each in result.ties)),
    ]
    if result.conditions:
        own = result.conditions
        facts.append(
            Fact(
                "conditions",
                f"load {own['load_before']} before, {own['load_after']} after, ended by "
                f"{own['stopped']}",
            )
        )
    table = PageTable(
        CONTENDERS, rows, left=[0], more=f"Did not take part: {skipped}" if skipped else ""
    )
    return Part(f"{result.case.label}: {result.verdict}", facts=facts, table=table, folded=True)
