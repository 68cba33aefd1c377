"""What scheduling at run time costs.

As a table, as Markdown, and as Wang and Ranka's Figures 10 and 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conset.base.units import count_of, format_size
from conset.report import style
from conset.report.markdown import table_markdown
from conset.studies.run_time.costs import DETECT, MIN_REPEATS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from conset.studies.run_time.costs import BreakEven, RunTimeCosts, RunTimeRow
    from conset.studies.run_time.job import RunTimeResult

COLUMNS = (
    "method",
    "sync",
    "by",
    "phases",
    "rows",
    "schedule",
    "plan",
    "set-up",
    "use",
    "of naive",
    "share",
    "pays after",
)
LEFT = (0, 1, 2)
"""Names to the left, numbers to the right."""
READING = (
    "times in ms; by: every rank computes the schedule (all), or one, which scatters it; use: one "
    "execution; share: "
    "rows and scheduling, of these with planning and one execution",
    "pays after so many uses of a schedule, against posting everything (the first row); never: "
    "nothing is gained, or "
    "the interval of the gain holds 0",
)
BASELINES = (
    "naive: everything is posted, counted without its rows: they serve to check what it knows; "
    "learned: the same with "
    "sources that the rows have told; detect: send, detect, receive, nothing posted and nothing "
    "known before"
)
_COMPUTED = {"all": "every rank", "one": "one rank", "": ""}


def run_time_title(costs: RunTimeCosts) -> str:
    """What stands above a table."""
    how = (
        f"measured, {costs.by}"
        if costs.is_measured
        else f"predicted by {costs.by}, scheduling measured"
    )
    messages = f"{count_of(costs.messages, 'message')}, {format_size(costs.bytes)}"
    return f"{costs.pattern} on {costs.machine}: {count_of(costs.ranks, 'rank')}, {messages}; {how}"


def run_time_cells(costs: RunTimeCosts, row: RunTimeRow) -> tuple[str, ...]:
    """A row as text, in the order of `COLUMNS`."""
    method = row.method if row.asked_method == row.method else f"{row.asked_method}: {row.method}"
    if not row.sources_known:
        method = "detect" if row.method == DETECT else "learned"
    sync = row.sync if row.asked_sync == row.sync else f"{row.asked_sync}: {row.sync}"
    times = (
        row.median_of(name) for name in ("rows_s", "schedule_s", "plan_s", "setup_s", "execution_s")
    )
    head = (method, sync, row.compute, f"{row.phases:,}", *map(format_ms, times))
    if row.is_posting:
        return *head, "1", f"{row.share:.2f}", ""
    pays = row.pays_against(costs.posting)
    uses = format_uses(pays) if row.is_schedule else ""
    return *head, format_ratio(pays, costs.is_measured), f"{row.share:.2f}", uses


def format_ms(time_s: float | None) -> str:
    """`1.27`, `4,660`: three digits [ms]; a dash for what is not known."""
    if time_s is None:
        return "–"
    ms = time_s * 1e3
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:#.3g}".rstrip(".") if ms else "0"


def format_ratio(pays: BreakEven, with_interval: bool) -> str:
    """`0.93 (0.90-0.97)`."""
    ratio = pays.ratio
    return f"{ratio.median:.2f}" + (f" ({ratio.low:.2f}-{ratio.high:.2f})" if with_interval else "")


def format_uses(pays: BreakEven) -> str:
    """`18 (15-24)`: uses with what the ends of the interval of the gain say.

    `never`, where it is not decided too.
    """
    if pays.uses is None or pays.least is None or pays.most is None:
        return "never"
    return f"{pays.uses:,}" + (f" ({pays.least:,}-{pays.most:,})" if pays.least < pays.most else "")


def run_time_lines(costs: RunTimeCosts) -> list[str]:
    """What stands below a table."""
    paying = [
        (pays.uses, row)
        for row in costs.rows
        if row.is_schedule and (pays := row.pays_against(costs.posting)).uses
    ]
    lines = [*READING]
    if costs.detecting is not None:
        lines.append(BASELINES)
    if costs.is_measured and len(costs.posting.execution_s) < MIN_REPEATS:
        lines.append(f"fewer than {MIN_REPEATS} repetitions: no gain is decided")
    if paying:
        uses, row = min(paying, key=lambda pair: pair[0] or 0)
        way = f", computed by {_COMPUTED[row.compute]}" if row.compute else ""
        lines.append(
            f"the first to pay: {row.method} under {row.sync}{way}, after "
            f"{count_of(uses or 0, 'use')}"
        )
    else:
        lines.append("none pays: posting everything is as fast, or nobody has won")
    return lines + [f"{method}: left out, {reason}" for method, reason in costs.skipped]


def run_time_parts(result: RunTimeResult) -> list[RenderableType]:
    """What the terminal shows.

    A title, a table and its lines for the job and for each prediction.
    """
    from conset.report.terminal import fitted_table, quiet_lines, titled_parts

    parts: list[RenderableType] = []
    for costs in tables_of(result):
        rows = [run_time_cells(costs, row) for row in costs.rows]
        table = fitted_table(COLUMNS, rows, LEFT)
        for row, cells in zip(costs.rows, rows, strict=True):
            table.add_row(*cells, style="bold" if row.is_posting else None)
        parts += titled_parts(run_time_title(costs), table, run_time_lines(costs))
        if costs.is_measured:
            verdict = (
                "all right"
                if result.mismatches == 0
                else f"[bold red]{result.mismatches:,} wrong[/]"
            )
            repetitions = f"{count_of(result.repeat, 'repetition')} in {result.elapsed_s:.1f} s"
            parts.append(f"  {repetitions}; bytes checked {result.bytes_checked:,}: {verdict}")
    return [*parts, *quiet_lines(result.notes)]


def run_time_markdown(result: RunTimeResult) -> str:
    """The same as Markdown."""
    parts = []
    for costs in tables_of(result):
        rows = [run_time_cells(costs, row) for row in costs.rows]
        parts += [f"**{run_time_title(costs)}**", "", *table_markdown(COLUMNS, rows, LEFT), ""]
        parts += [*(f"- {line}" for line in run_time_lines(costs)), ""]
    return "\n".join([*parts, *(f"- {note}" for note in result.notes)]).rstrip("\n") + "\n"


def tables_of(result: RunTimeResult) -> list[RunTimeCosts]:
    """What was measured, then what is predicted."""
    return [*([] if result.measured is None else [result.measured]), *result.predicted]


def picture_overhead(
    found: Sequence[tuple[int, int, RunTimeCosts]],
    method: str,
    *,
    sync: str = "none",
    compute: str = "all",
) -> Figure:
    """Rows and scheduling over one execution, over the size of messages, a line for each density.

    As Figures 10 and 11 of Wang and Ranka; beside it the uses after which the schedule has paid
    against posting everything.

    Args:
        found: (messages of a rank, size [B], costs) of each point.
        method: as it was asked for.
        sync: as it was asked for.
        compute: `all` or `one`.
    """
    figure = style.new_figure(11, 5.0)
    first = found[0][2]
    how = (
        f"measured, {first.by}"
        if first.is_measured
        else f"executions by {first.by}, scheduling measured here"
    )
    title = f"{method} at run time: what it costs, and when it has paid"
    style.headline(
        figure,
        title,
        f"{count_of(first.ranks, 'rank')}, {how}, sync {sync}, computed by {_COMPUTED[compute]}",
    )
    over, pays = figure.subplots(1, 2)
    degrees, sizes = (
        sorted({degree for degree, _, _ in found}),
        sorted({size for _, size, _ in found}),
    )
    for k, degree in enumerate(degrees):
        points = sorted((size, costs) for each, size, costs in found if each == degree)
        colour = style.amount_map()(k / max(len(degrees) - 1, 1))
        rows = [(size, costs, costs.find(method, sync, compute)) for size, costs in points]
        over.plot(
            [size for size, _, _ in rows],
            [row.overhead for _, _, row in rows],
            "o-",
            color=colour,
            label=f"{degree} messages a rank",
        )
        uses = [(size, row.pays_against(costs.posting).uses) for size, costs, row in rows]
        pays.plot(
            [size for size, count in uses if count],
            [count for _, count in uses if count],
            "o-",
            color=colour,
        )
    what = (
        (over, "rows and scheduling over one execution", "ratio"),
        (pays, "uses until it pays (no mark: never)", "uses"),
    )
    for axes, name, unit in what:
        style.log_axis(axes, "x", "size of a message", base=2)
        style.log_axis(axes, "y", unit)
        axes.set_xticks(sizes, [format_size(size) for size in sizes])
        axes.set_xlim(sizes[0] / 1.5, sizes[-1] * 1.5)
        axes.minorticks_off()
        axes.set_title(name)
        axes.grid(axis="both")
    over.legend()
    return figure
