"""Campaigns: the summary in a terminal, a page with pictures for each fabric, Markdown.

Pictures show ratios to the naive exchange with intervals, and predictions beside measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from conset.base import VERSION, count_of, format_size, format_time
from conset.compilation import FORMULA
from conset.execution import Ratio
from conset.report import style
from conset.report.charts import Line, Panel, picture_charts
from conset.report.markdown import plain, table_lines
from conset.report.page import anchor, write_sections
from conset.report.sections import Fact, Part, Section, Table
from conset.studies import (
    MODEL,
    NAIVE,
    Campaign,
    CampaignRun,
    CaseResult,
    Contest,
    Errors,
    FabricSummary,
    failure_text,
    predictors,
    summarize_campaign,
)

WORTH = 1.25
"""Gains from here on are counted."""
LEGEND = (
    "Right: within 5 % of the best measured, or not distinct from it, and not above "
    "1.05 × the naive exchange. Ratios are medians of times paired by repetition, with 95 % "
    "bootstrap intervals; below 1 is faster.",
    "Order pays where something is faster than the naive exchange by more than 5 % and beyond its "
    "interval. Gain: how much faster the choice is there than the naive exchange, and than MPI's "
    "own; median, the largest in brackets.",
    "Errors: predicted over measured, less 1, by the machine's own model unless said otherwise; "
    "median of absolute values, the worst in brackets.",
)
MPI_NAMES = {
    "alltoallv": "MPI_Alltoallv",
    "neighbor_alltoallv": "MPI_Neighbor_alltoallv",
    "alltoall": "MPI_Alltoall",
}


# Names and figures


def choice_name(choice: Contest) -> str:
    """Return `negotiated c1 ready`, or `the naive exchange random`."""
    facts = choice.facts
    if facts["method"] in MPI_NAMES:
        return MPI_NAMES[facts["method"]]
    words = [
        str(facts["method"]),
        *([] if facts["contention"] is None else [f"c{facts['contention']}"]),
    ]
    words += [] if facts["posting"] == "schedule" else [str(facts["posting"])]
    free = facts["phases"] <= 1 or facts["in_flight"]
    words += [] if facts["sync"] == "none" and free else [str(facts["sync"])]
    words += [] if facts["in_flight"] is None else [f"{facts['in_flight']} in flight"]
    words += [] if facts["stages"] <= 1 else [f"{facts['stages']} stages"]
    if facts["method"] == NAIVE and facts["sync"] == "none":
        words[0] = "the naive exchange"
    return " ".join(words)


def contender_name(contest: Contest) -> str:
    """Return its name; of the choice what was chosen, of what posts everything that."""
    if contest.kind == "choice":
        return f"the choice: {choice_name(contest)}"
    if contest.kind == "mpi":
        return MPI_NAMES.get(contest.name, MPI_NAMES["neighbor_alltoallv"])
    return "the naive exchange" if contest.name == NAIVE else contest.name


def format_ratio(ratio: Ratio | None, *, simulated: bool = False) -> str:
    """Return `0.68 (0.66 to 0.74)`."""
    if ratio is None:
        return ""
    interval = "" if simulated else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.median:.2f}{interval}"


def format_error(error: float | None) -> str:
    """Return `+12 %`."""
    return "" if error is None else f"{100 * error:+.0f} %"


def case_cells(
    result: CaseResult, *, with_machine: bool = False, short: bool = False
) -> dict[str, str]:
    """Return what tables show of a case, by column; `short` for a page.

    `short`: times of three digits, `0.62 ±0.03` with half of the interval.
    """
    choice, mpi, best = result.choice, result.best_mpi, result.best
    form = (lambda time_s: format_time(float(f"{time_s:.3g}"))) if short else format_time

    def timed(contest: Contest | None) -> str:
        if contest is None:
            return ""
        name = contender_name(contest)
        if short:
            name = name.removeprefix("MPI_").removesuffix("_alltoallv")
        return f"{name} {form(contest.median_s)}"

    by = result.predictor(choice)
    error, predicted_s = format_error(choice.error_of(by)), choice.predicted_s.get(by)
    ratio = result.to_naive(choice)
    half = "" if result.simulated else f" ±{(ratio.high - ratio.low) / 2:.2f}"
    is_choice = best is choice or best.same_as == (choice.name if short else "auto")
    own = "the choice" if short else f"the choice {form(best.median_s)}"
    return {
        "case": result.name if with_machine else result.case.label,
        "choice": choice_name(choice),
        "predicted": "" if predicted_s is None else f"{form(predicted_s)} ({error})",
        "error": error,
        timed_as([result]): form(choice.median_s),
        "the naive exchange": form(result.naive.median_s),
        "best": own if is_choice else timed(best),
        "MPI's own": timed(mpi),
        "MPI's time": "" if mpi is None else form(mpi.median_s),
        "choice / naive": format_ratio(ratio, simulated=result.simulated),
        "/ naive": f"{ratio.median:.2f}{half}",
        "choice / best": format_ratio(result.to_best, simulated=result.simulated),
        "verdict": result.verdict,
        "short verdict": result.verdict.removeprefix("right: "),
    }


def timed_as(results: Sequence[CaseResult]) -> str:
    """Return how times were found: `measured`, or `simulated`."""
    return "simulated" if results[0].simulated else "measured"


def _table(
    rows: Sequence[Mapping[str, str]],
    columns: Mapping[str, str],
    left: Sequence[str],
    best: Sequence[int] = (),
) -> Table:
    """Return a table of columns (key of a cell → head) that have a text in any row."""
    places = [k for k, key in enumerate(columns) if key in left]
    cells = [[row[key] for key in columns] for row in rows]
    return Table(list(columns.values()), cells, places, best=best).without_empty()


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def summary_cells(summary: FabricSummary) -> dict[str, str]:
    """Return what tables show of a fabric, by column."""

    def gain(value: float | None, most: float | None) -> str:
        return "" if value is None or most is None else f"{value:.2f} × ({most:.2f})"

    def over(value: float | None) -> str:
        return "" if value is None else f"{1 / value:.2f}"

    def errors(of: Mapping[str, Errors], by: str) -> str:
        """Return `5 % (-14 %)`."""
        found = of.get(by)
        return "" if found is None else f"{100 * found.median:.0f} % ({100 * found.worst:+.0f} %)"

    return {
        "fabric": summary.fabric,
        "cases": str(summary.cases),
        "right": f"{summary.right} ({100 * summary.share:.0f} %)",
        "above naive": str(summary.above_naive),
        "largest / best": f"{summary.worst:.2f}",
        "order pays": str(summary.pays),
        "gain": gain(summary.gain, summary.gain_most),
        "gain over MPI": gain(summary.gain_mpi, summary.gain_mpi_most),
        "/ naive": over(summary.gain),
        "/ MPI's own": over(summary.gain_mpi),
        "error, choice": errors(summary.choice_errors, MODEL),
        "error, all": errors(summary.errors, MODEL),
        "by formula": errors(summary.errors, FORMULA),
    }


SUMMARY = _same(
    *("fabric", "cases", "right", "above naive", "largest / best", "order pays", "gain"),
    *("gain over MPI", "error, choice", "error, all", "by formula"),
)


# Sentences


def headline_of(results: Sequence[CaseResult]) -> str:
    """Return `the choice was right in 33 of 36 cases (92 %), and never above …`."""
    right = sum(result.is_right for result in results)
    above = sum(result.is_above_naive for result in results)
    limit = "above 1.05 × the naive exchange"
    never = f"{limit} in {above}" if above else f"never {limit}"
    share = 100 * right / len(results)
    cases = f"{right} of {count_of(len(results), 'case')} ({share:.0f} %)"
    return f"the choice was right in {cases}, {never}"


def findings_of(results: Sequence[CaseResult]) -> str:
    """Return what was gained where order pays, and how exact predictions of the choice were."""
    said = [
        "Nothing is faster than the naive exchange beyond doubt, by more than 5 %, in any case."
    ]
    gains = [1 / result.to_naive(result.choice).median for result in results if result.pays]
    if gains:
        faster = f"{median(gains):.2f} times as fast as the naive exchange in the median"
        worth = f"at least {WORTH} times in {sum(gain >= WORTH for gain in gains)}"
        cases = f"{len(gains)} of {count_of(len(results), 'case')}"
        said = [f"Order pays in {cases}; there the choice is {faster}, and {worth}."]
    found = (each.choice.error_of(each.predictor(each.choice)) for each in results)
    errors = [abs(error) for error in found if error is not None]
    if errors:
        near, far = (sum(error <= limit for error in errors) for limit in (0.10, 0.15))
        within = f"within 10 % in {near} of {len(errors)}, within 15 % in {far}"
        said.append(f"What it takes was predicted {within}.")
    return " ".join(said)


def left_of(campaign: Campaign, results: Sequence[CaseResult]) -> str:
    """Return how many cases have no result, in a sentence, or ""."""
    left, cases = len(campaign.cases) - len(results), len(campaign.cases)
    are = "is" if left == 1 else "are"
    of = f"{left} of {count_of(cases, 'case')} {are}"
    return f"{of} not done, and not in these figures." if left else ""


def why_wrong(result: CaseResult) -> str:
    """Return what is faster than a wrong choice, and what the model predicts of both; else ""."""
    if result.is_right:
        return ""
    choice, rival, ratio = result.choice, result.best, result.to_best
    if result.is_above_naive:
        rival, ratio = result.naive, result.to_naive(choice)
    by, other = (
        choice.predicted_s.get(result.predictor(choice)),
        rival.predicted_s.get(result.predictor(rival)),
    )
    name = contender_name(rival)
    if by is None or other is None:
        said = f"of {name} no model says anything"
        said = said if rival.kind == "mpi" else "no model says anything of the two"
    else:
        order = (
            "the same order"
            if other < by
            else "the other way round"
            if other > by
            else "no difference"
        )
        times = f"{format_time(by)} against {format_time(other)}"
        said = f"{result.predictor(choice)} says {times}, {order}"
    took = f"{format_ratio(ratio, simulated=result.simulated)} × {name}"
    times = f"{format_time(choice.median_s)} against {format_time(rival.median_s)}"
    return f"{choice_name(choice)} took {took}, {times}; {said}"


def conditions_of(campaign: Campaign, results: Sequence[CaseResult]) -> list[str]:
    """Return what the figures were measured under, in sentences."""
    if campaign.simulated:
        decides = ", ".join(dict.fromkeys(result.decides for result in results))
        return [f"Simulated by conset {VERSION}; the times are those of {decides}."]
    own = [result.conditions for result in results]

    def each(key: str) -> str:
        return ", ".join(dict.fromkeys(str(conditions[key]) for conditions in own))

    def span(key: str, form: str = "{:g}") -> str:
        ends = (form.format(end(conditions[key] for conditions in own)) for end in (min, max))
        return " to ".join(dict.fromkeys(ends))

    one = all(conditions["one_machine"] for conditions in own)
    shared = "one machine and one clock" if one else "several machines"
    checked = format_size(sum(conditions["bytes_checked"] for conditions in own))
    low, high = (end(c["measured_at"] for c in own) for end in (min, max))
    lines = [
        f"Measured by conset {each('version')} over {each('mpi')}, {each('host_system')}, "
        f"{shared}: {each('local_ranks')} ranks on {each('cores')} cores, load "
        f"{span('load_before')} before a case; {span('repetitions')} repetitions a case, "
        f"{low} to {high}; {checked} received were checked, every byte right."
    ]
    if rounds := campaign.stopping.before:
        chosen = sum(result.choice.facts["method"] in MPI_NAMES for result in results)
        lines.insert(
            0,
            f"The choice is the fastest, in the median of {count_of(rounds, 'round')} before those "
            f"reported, of the schedule of auto and MPI's collectives: MPI's own in "
            f"{count_of(chosen, 'case')}.",
        )
    present = {result.case.machine for result in results}
    for source in campaign.machines.values():
        if source.testbed is not None and source.name in present:
            said = ", ".join(f"{key} {value}" for key, value in source.testbed.items())
            calibrated = f"costs of {Path(source.spec).name}"
            calibrated = "costs calibrated" if source.calibrate else calibrated
            lines.append(f"{source.name}: testbed ({said}), {calibrated}.")
    return lines


# Terminal, Markdown and page


def campaign_section(run: CampaignRun, folder: Path | None = None) -> Section:
    """Return what a terminal shows: cases, the summary, what failed, what is left."""
    parts, notes = [], []
    if run.results:
        rows = [case_cells(result, with_machine=True) for result in run.results]
        columns = {
            **_same("case", "choice"),
            timed_as(run.results): "time",
            "error": "predicted",
            "the naive exchange": "naive",
            "MPI's time": "MPI's own",
            **_same("/ naive"),
            "short verdict": "verdict",
        }
        wrong = [k for k, result in enumerate(run.results) if not result.is_right]
        parts.append(Part(table=_table(rows, columns, ("case", "choice", "short verdict"), wrong)))
        heads = {
            **_same("fabric", "cases", "right"),
            "largest / best": "worst",
            "order pays": "pays in",
            **_same("/ naive", "/ MPI's own"),
            "error, all": "errors",
            **_same("by formula"),
        }
        summaries = [summary_cells(each) for each in summarize_campaign(run.results)]
        parts.append(Part(headline_of(run.results), table=_table(summaries, heads, ("fabric",))))
    lines = [f"{name}: {failure_text(error)}" for name, error in run.failures.items()]
    if run.missing:
        lines.append(f"{count_of(len(run.missing), 'case')} left: the same command goes on")
    if folder is not None and run.results:
        notes = [f"{folder / 'index.html'}, results.csv, results.json, decision.md"]
    if lines or notes:
        parts.append(Part(notes=notes, text="\n".join(lines)))
    return Section("", parts=parts)


def campaign_markdown(campaign: Campaign, results: Sequence[CaseResult], command: str = "") -> str:
    """Return the figures of every case, by fabric, a summary on top, and the conditions."""
    lines = [f"# {plain(campaign.name)}", ""]
    if command:
        lines += [f"Made by `{command}`, which goes on where it was stopped.", ""]
    if campaign.about:
        lines += [" ".join(campaign.about.split()), ""]
    headline = headline_of(results)
    lines += [f"**{headline[:1].upper()}{headline[1:]}.** {findings_of(results)}", ""]
    if left := left_of(campaign, results):
        lines += [left, ""]
    wrong = [result for result in results if not result.is_right]
    if wrong:
        why = (f"- {plain(result.name)}: {plain(why_wrong(result))}." for result in wrong)
        lines += ["Where the choice was not right:", "", *why, ""]
    summaries = [summary_cells(each) for each in summarize_campaign(results)]
    lines += [*table_lines(_table(summaries, SUMMARY, ("fabric",))), ""]
    conditions = (plain(line) for line in conditions_of(campaign, results))
    lines += [f"- {line}" for line in (*LEGEND, *conditions)]
    for fabric, own in _by_fabric(results).items():
        machines = len({result.case.machine for result in own}) > 1
        rows = [case_cells(result, with_machine=machines) for result in own]
        names = ("the naive exchange", "best", "MPI's own", "choice / naive", "choice / best")
        columns = _same("case", "choice", "predicted", timed_as(own), *names, "verdict")
        table = _table(rows, columns, ("case", "choice", "best", "MPI's own", "verdict"))
        lines += ["", f"## {plain(fabric)}", "", *table_lines(table)]
        reasons = [(result.case.label, result.choice.facts.get("why")) for result in own]
        said = [f"- {plain(label)}: {plain(str(reason))}" for label, reason in reasons if reason]
        lines += ["", "Why the choice was made:", "", *said] if said else []
    return "\n".join(lines) + "\n"


def _by_fabric(results: Sequence[CaseResult]) -> dict[str, list[CaseResult]]:
    found: dict[str, list[CaseResult]] = {}
    for result in results:
        found.setdefault(result.case.fabric, []).append(result)
    return found


def write_campaign_page(
    path: Path, campaign: Campaign, results: Sequence[CaseResult], command: str
) -> None:
    """Write the page: summary, and for each fabric its cases, pictures, and all contenders.

    The same input gives the same bytes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: `path` cannot be written.
    """
    summaries, fabrics = summarize_campaign(results), _by_fabric(results)
    pairs = zip(fabrics.items(), summaries, strict=False)
    sections = [_section(fabric, summary, own) for (fabric, own), summary in pairs]
    table = _table([summary_cells(each) for each in summaries], SUMMARY, ("fabric",))
    links = [anchor(k) for k in range(len(fabrics))] + ["top"] * (len(summaries) - len(fabrics))
    linked = Table(table.columns, table.rows, table.left, links=links)
    notes = [*LEGEND, *conditions_of(campaign, results), f"Made by: {command}"]
    headline = headline_of(results)
    said = (
        f"{headline[:1].upper()}{headline[1:]}.",
        findings_of(results),
        left_of(campaign, results),
    )
    about = " ".join([*(text for text in said if text), *campaign.about.split()])
    write_sections(path, campaign.name, about, linked, notes, sections)


def _section(fabric: str, summary: FabricSummary, results: Sequence[CaseResult]) -> Section:
    machines = len({result.case.machine for result in results}) > 1
    rows = [case_cells(result, with_machine=machines, short=True) for result in results]
    columns = {
        **_same("case", "choice", "predicted", timed_as(results)),
        "the naive exchange": "naive",
        **_same("/ naive", "verdict", "best", "MPI's own"),
    }
    table = _table(rows, columns, ("case", "choice", "verdict", "best", "MPI's own"))
    predicted = f"Predicted beside {timed_as(results)}"
    parts = [
        Part(table=table, draws=[partial(picture_ratios, results, fabric)]),
        Part(predicted, draws=[partial(picture_errors, results, fabric)]),
        *(_case_part(result) for result in results),
    ]
    label = f"right in {summary.right} of {summary.cases}"
    good = summary.share >= 0.9 and not summary.above_naive
    subtitle = "nothing is faster than the naive exchange beyond doubt"
    if summary.pays:
        subtitle = f"order pays in {summary.pays} of {count_of(summary.cases, 'case')}"
    return Section(fabric, subtitle, good, parts=parts, label=label)


def _case_part(result: CaseResult) -> Part:
    rows = []
    for each in sorted(result.timed, key=lambda each: each.median_s):
        model, formula = each.predicted_s.get(each.model), each.predicted_s.get(FORMULA)
        same = f" (the same plan as {each.same_as})" if each.same_as else ""
        rows.append(
            [
                contender_name(each) + same,
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
    sent = f"{count_of(result.messages, 'message')}, {format_size(result.bytes)}"
    facts = [
        Fact("pattern", f"{result.case.spec}, {sent}"),
        Fact("why the choice", str(result.choice.facts.get("why") or "")),
        Fact("not right", why_wrong(result)),
        Fact("not distinguished", ", ".join(contender_name(each) for each in result.ties)),
    ]
    if own := result.conditions:
        load = f"load {own['load_before']} before, {own['load_after']} after"
        facts.append(Fact("conditions", f"{load}, ended by {own['stopped']}"))
    times = ("median", "/ the naive exchange", "predicted", "error", "by formula", "error")
    more = f"Did not take part: {skipped}" if skipped else ""
    table = Table(("contender", "repetitions", *times), rows, left=[0], more=more)
    return Part(f"{result.case.label}: {result.verdict}", facts=facts, table=table, folded=True)


# Pictures

MOST = 3.0
"""Ratios above are drawn at the edge."""
LANES = {"choice": 0.27, "schedule": 0.0, "mpi": -0.27}
COLOURS = {"choice": style.ACCENT, "schedule": style.PALE, "mpi": style.AMBER}
MARKS = {
    "choice": "o",
    "schedule": ".",
    "alltoallv": "s",
    "neighbor_alltoallv": "^",
    "alltoall": "D",
}
ERRORS: dict[str, dict[str, Any]] = {
    "other schedules": {"marker": "o", "markersize": 4, "color": style.PALE},
    "the naive exchange": {"marker": "D", "markersize": 5.5, "color": style.BOUND},
    "the choice": {"marker": "o", "markersize": 7, "color": style.ACCENT},
}
"""How predictions are drawn, by kind of schedule."""


def picture_ratios(results: Sequence[CaseResult], fabric: str) -> style.Figure:
    """Draw a row for each case: times over that of the naive exchange.

    Lines are intervals; a ring is around the best; an upright stroke is what the machine's model
    predicted of the choice, and, where it differs from 1, of the naive exchange.

    Args:
        results: cases of one fabric.
        fabric: its name.
    """
    times = "medians and 95 % intervals"
    if results[0].simulated:
        times = f"simulated by {results[0].decides}"
    title = f"{fabric}: time over that of the naive exchange"
    figure = style.new_figure(11, 2.3 + 0.62 * len(results), title, f"left of 1 is faster; {times}")
    axes = figure.subplots()
    shown = [min(result.to_naive(each).median, MOST) for result in results for each in result.timed]
    right = min(max([1.12, *shown]) * 1.06, MOST * 1.03)
    strokes = [
        predicted / result.naive.median_s
        for result in results
        for each in (result.choice, result.naive)
        if (predicted := each.predicted_s.get(result.predictor(each))) and result.naive.median_s
    ]
    left = max(min([0.9, *shown, *strokes]) * 0.94, 0.94 * min([0.2, *shown]))
    several = len({result.case.machine for result in results}) > 1
    for y, result in enumerate(reversed(results)):
        if (len(results) - 1 - y) % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color="#f4f5f7", zorder=0, linewidth=0)
        _draw_case(axes, result, y, right)
    axes.axvline(1, color=style.INK, linewidth=1, zorder=1)
    labels = [result.name if several else result.case.label for result in reversed(results)]
    axes.set_yticks(range(len(results)), [label.replace("/", "  ") for label in labels])
    for tick, result in zip(axes.get_yticklabels(), reversed(results), strict=True):
        tick.set_color(style.INK if result.is_right else style.BOUND)
    axes.set_ylim(-0.5, len(results) - 0.5)
    style.log_axis(axes, "x", "time / time of the naive exchange")
    axes.set_xlim(left, right)
    style.ratio_ticks(axes.xaxis, left, right)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    figure.legend(
        handles=_handles(results),
        columnspacing=1.6,
        handletextpad=0.6,
        loc="outside lower center",
        ncols=4,
    )
    return figure


def _draw_case(axes: style.Axes, result: CaseResult, y: float, right: float) -> None:
    base = result.naive.median_s
    none: Any = {"linestyle": "none"}
    for each in result.timed:
        if each.kind == "naive" or (each.same_as and each.kind != "choice"):
            continue
        ratio, at = result.to_naive(each), y + LANES[each.kind]
        is_choice, colour = each.kind == "choice", COLOURS[each.kind]
        if ratio.median > right:
            axes.plot(
                [right / 1.012], [at], marker=">", markersize=4, zorder=3, color=colour, **none
            )
            continue
        line: Any = (
            {"linewidth": 2.4, "alpha": 1} if is_choice else {"linewidth": 1.1, "alpha": 0.65}
        )
        ends = [ratio.low, min(ratio.high, right)]
        axes.plot(ends, [at, at], solid_capstyle="butt", zorder=2, color=colour, **line)
        mark: Any = {"marker": MARKS[each.name if each.kind == "mpi" else each.kind]}
        mark |= {"markersize": 8, "zorder": 4} if is_choice else {"markersize": 5.5, "zorder": 3}
        axes.plot([ratio.median], [at], color=colour, **mark, **none)
    best = result.best
    if best.kind != "naive":
        place = [result.to_naive(best).median], [y + LANES[best.kind]]
        axes.plot(
            *place,
            marker="o",
            markersize=12,
            zorder=5,
            markerfacecolor="none",
            markeredgecolor=style.INK,
            markeredgewidth=1.2,
            **none,
        )
    for each, lane, high, alpha in (
        (result.choice, LANES["choice"], 0.17, 1),
        (result.naive, 0.42, 0.08, 0.55),
    ):
        predicted = each.predicted_s.get(result.predictor(each))
        if predicted is not None and base and each.same_as != NAIVE:
            at = min(predicted / base, right)
            axes.plot(
                [at, at],
                [y + lane - high, y + lane + high],
                alpha=alpha,
                zorder=6,
                color=style.BOUND,
                linewidth=2,
                solid_capstyle="butt",
            )


def _handles(results: Sequence[CaseResult]) -> list[Any]:
    from matplotlib.lines import Line2D

    def mark(label: str, marker: str, size: float, line: Any = "none", **look: Any) -> Line2D:
        return Line2D([], [], linestyle=line, marker=marker, markersize=size, label=label, **look)

    timed = {each.name for result in results for each in result.timed if each.kind == "mpi"}
    stroke: Any = {"markeredgewidth": 2, "color": style.BOUND}
    return [
        mark("the choice", "o", 8, "-", color=style.ACCENT, linewidth=2.4),
        mark("the best", "o", 11, markerfacecolor="none", markeredgecolor=style.INK),
        mark("predicted for the choice", "|", 12, **stroke),
        mark("predicted for the naive exchange", "|", 7, alpha=0.55, **stroke),
        mark("other schedules", ".", 6, "-", color=COLOURS["schedule"], linewidth=1.1),
        *(
            mark(label, MARKS[name], 5.5, color=COLOURS["mpi"])
            for name, label in MPI_NAMES.items()
            if name in timed
        ),
    ]


def picture_errors(results: Sequence[CaseResult], fabric: str) -> style.Figure:
    """Draw predicted over measured times of all schedules: by the model, and by formula.

    Args:
        results: cases of one fabric.
        fabric: its name.
    """
    first = results[0]
    against, shown = "measured", [MODEL, FORMULA]
    if first.simulated:
        against = f"simulated by {first.decides}"
        by_models = [by for by in predictors(results) if by not in (FORMULA, first.decides)]
        shown = [FORMULA, *by_models[:1]]
    groups = {by: _errors_of(results, by) for by in shown}
    ratios = [ratio for kinds in groups.values() for own in kinds.values() for _, ratio in own]
    limits = min([0.8, *ratios]) * 0.95, max([1.25, *ratios]) * 1.05
    panels = []
    for by, kinds in groups.items():
        times = [time for own in kinds.values() for time, _ in own] or [1.0]
        ends = min(times) / 1.8, max(times) * 1.8  # at least one tick, however close the times
        lines = [Line("", ends, (1, 1), "plain", span=((0.9, 0.9), (1.1, 1.1)), filled=True)]
        for name, own in kinds.items():
            x, y = np.array(own).reshape(-1, 2).T
            label = name if by == shown[-1] else ""
            lines.append(Line(label, x, y, "points", look={**ERRORS[name], "alpha": 0.8}))
        panel = Panel(
            "by the machine's model" if by == MODEL else f"by {by}",
            against,
            f"predicted / {timed_as(results)}",
            lines,
            log_x=10,
            log_y=True,
            ticks=style.time_ticks,
            y_limits=limits,
            legend="outside",
            y_ticks=style.ratio_ticks,
            x_limits=ends,
        )
        panels.append(panel)
    title = f"{fabric}: predicted beside {against}"
    what = "every schedule of every case; the band is ±10 %"
    return picture_charts(panels, title=title, subtitle=what, width=5.5, height=4.1)


def _errors_of(results: Sequence[CaseResult], by: str) -> dict[str, list[tuple[float, float]]]:
    """Return (time, ratio of the prediction to it) of schedules, by kind."""
    groups: dict[str, list[tuple[float, float]]] = {name: [] for name in ERRORS}
    for result in results:
        for each in result.timed:
            error = each.error_of(each.model if by == MODEL else by)
            naive = "the naive exchange" if each.name == NAIVE else "other schedules"
            name = "the choice" if each.kind == "choice" else naive
            if error is not None and not each.same_as and each.median_s:
                groups[name].append((each.median_s, 1 + error))
    return {name: points for name, points in groups.items() if points}
