"""What scheduling at run time costs, and Wang and Ranka's Figures 10 and 11."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conset.base.units import count_of, format_size
from conset.report import style
from conset.report.sections import Part, Section, Table
from conset.studies.run_time.costs import DETECT, MIN_REPEATS, RunTimeCosts, RunTimeRow
from conset.studies.run_time.job import RunTimeResult

COLUMNS = (
    *("method", "sync", "by", "phases", "rows", "schedule", "plan", "set-up", "use"),
    *("of naive", "share", "pays after"),
)
READING = (
    "times in ms; by: every rank computes the schedule (all), or one, which scatters it; use: one "
    "execution; share: rows and scheduling, of these with planning and one execution",
    "pays after so many uses of a schedule, against posting everything (the first row); never: "
    "nothing is gained, or the interval of the gain holds 0",
)
BASELINES = (
    "naive: everything is posted, counted without its rows: they serve to check what it knows; "
    "learned: the same with sources that the rows have told; detect: send, detect, receive, "
    "nothing posted and nothing known before"
)
COMPUTED = {"all": "every rank", "one": "one rank", "": ""}


def run_time_section(result: RunTimeResult) -> Section:
    """Return a table and notes for the job and for each prediction."""
    parts = []
    for costs in (*([result.measured] if result.measured else []), *result.predicted):
        how = f"predicted by {costs.by}, scheduling measured"
        if costs.is_measured:
            how = f"measured, {costs.by}"
        sent = f"{count_of(costs.messages, 'message')}, {format_size(costs.bytes)}"
        of = f"{count_of(costs.ranks, 'rank')}, {sent}; {how}"
        posting = [k for k, row in enumerate(costs.rows) if row.is_posting]
        rows = [run_time_cells(costs, row) for row in costs.rows]
        text = ""
        if costs.is_measured:
            repetitions = f"{count_of(result.repeat, 'repetition')} in {result.elapsed_s:.1f} s"
            verdict = f"{result.mismatches:,} wrong" if result.mismatches else "all right"
            text = f"  {repetitions}; bytes checked {result.bytes_checked:,}: {verdict}"
        table = Table(COLUMNS, rows, (0, 1, 2), best=posting, key=-1)
        title, notes = f"{costs.pattern} on {costs.machine}: {of}", run_time_lines(costs)
        parts.append(Part(title, table=table, notes=notes, text=text))
    return Section("", parts=[*parts, *([Part(notes=result.notes)] if result.notes else [])])


def run_time_cells(costs: RunTimeCosts, row: RunTimeRow) -> tuple[str, ...]:
    """Return a row as text, in the order of `COLUMNS`; intervals of what was measured."""
    method = row.method if row.asked_method == row.method else f"{row.asked_method}: {row.method}"
    if not row.sources_known:
        method = "detect" if row.method == DETECT else "learned"
    sync = row.sync if row.asked_sync == row.sync else f"{row.asked_sync}: {row.sync}"
    names = ("rows_s", "schedule_s", "plan_s", "setup_s", "execution_s")
    times = (format_ms(row.median_of(name)) for name in names)
    head = (method, sync, row.compute, f"{row.phases:,}", *times)
    if row.is_posting:
        return *head, "1", f"{row.share:.2f}", ""
    pays = row.pays_against(costs.posting)
    ratio = f"{pays.ratio.median:.2f}"
    if costs.is_measured:
        ratio += f" ({pays.ratio.low:.2f}-{pays.ratio.high:.2f})"
    # `never` where the gain is not decided too
    uses = "never" if row.is_schedule else ""
    if uses and pays.uses is not None and pays.least is not None and pays.most is not None:
        ends = f" ({pays.least:,}-{pays.most:,})" if pays.least < pays.most else ""
        uses = f"{pays.uses:,}{ends}"
    return *head, ratio, f"{row.share:.2f}", uses


def format_ms(time_s: float | None) -> str:
    """Return `1.27`, `4,660`: three digits [ms]; a dash for what is not known."""
    if time_s is None:
        return "–"
    ms = time_s * 1e3
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:#.3g}".rstrip(".") if ms else "0"


def run_time_lines(costs: RunTimeCosts) -> list[str]:
    """Return the notes below a table."""
    gains = [(row.pays_against(costs.posting).uses, row) for row in costs.rows if row.is_schedule]
    paying = [(uses, row) for uses, row in gains if uses]
    lines = [*READING, *([] if costs.detecting is None else [BASELINES])]
    if costs.is_measured and len(costs.posting.execution_s) < MIN_REPEATS:
        lines.append(f"fewer than {MIN_REPEATS} repetitions: no gain is decided")
    first = "none pays: posting everything is as fast, or nobody has won"
    if paying:
        uses, row = min(paying, key=lambda pair: pair[0])
        way = f", computed by {COMPUTED[row.compute]}" if row.compute else ""
        schedule = f"{row.method} under {row.sync}{way}"
        first = f"the first to pay: {schedule}, after {count_of(uses, 'use')}"
    return [*lines, first, *(f"{name}: left out, {why}" for name, why in costs.skipped)]


def picture_overhead(
    found: Sequence[tuple[int, int, RunTimeCosts]],
    method: str,
    *,
    sync: str = "none",
    compute: str = "all",
) -> style.Figure:
    """Draw rows and scheduling over one execution, over the size of messages, and when it pays.

    As Figures 10 and 11 of Wang and Ranka, a line for each density; beside it the uses after which
    the schedule has paid against posting everything.

    Args:
        found: (messages of a rank, size [B], costs) of each point.
        method: as it was asked for.
        sync: as it was asked for.
        compute: `all` or `one`.
    """
    figure = style.new_figure(11, 5.0)
    first = found[0][2]
    how = f"executions by {first.by}, scheduling measured here"
    if first.is_measured:
        how = f"measured, {first.by}"
    title = f"{method} at run time: what it costs, and when it has paid"
    of = f"{count_of(first.ranks, 'rank')}, {how}, sync {sync}, computed by {COMPUTED[compute]}"
    style.headline(figure, title, of)
    over, pays = figure.subplots(1, 2)
    degrees, sizes = sorted({each[0] for each in found}), sorted({each[1] for each in found})
    for k, degree in enumerate(degrees):
        points = sorted((size, costs) for each, size, costs in found if each == degree)
        rows = [(size, costs, costs.find(method, sync, compute)) for size, costs in points]
        look: Any = {"color": style.amount_map()(k / max(len(degrees) - 1, 1))}
        own, ratios = [size for size, *_ in rows], [row.overhead for *_, row in rows]
        over.plot(own, ratios, "o-", label=f"{degree} messages a rank", **look)
        uses = [(size, row.pays_against(costs.posting).uses) for size, costs, row in rows]
        known = [(size, count) for size, count in uses if count]
        pays.plot([size for size, _ in known], [count for _, count in known], "o-", **look)
    for axes, name, unit in (
        (over, "rows and scheduling over one execution", "ratio"),
        (pays, "uses until it pays (no mark: never)", "uses"),
    ):
        style.log_axis(axes, "x", "size of a message", base=2)
        style.log_axis(axes, "y", unit)
        axes.set_xticks(sizes, [format_size(size) for size in sizes])
        axes.set_xlim(sizes[0] / 1.5, sizes[-1] * 1.5)
        axes.minorticks_off()
        axes.set_title(name)
        axes.grid(axis="both")
    over.legend()
    return figure
