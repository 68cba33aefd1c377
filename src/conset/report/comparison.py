"""A comparison of methods as a table, as Markdown and as a picture.

Picture of a comparison: the time of every method, and phases beside the bound.

The time is what decides, by a model or by formula, in the terms of the formula where that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.units import count_of, format_size, format_time
from conset.report import style
from conset.report.facts import TERM_LABELS
from conset.report.markdown import plain, table_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from conset.pattern.pattern import Pattern

Row = Mapping[str, Any]
"""The keys of `conset.studies.compare.Comparison.rows`, or those of `compile --json` alone.

Of one that does not apply only `method` and `reason`.
"""

LEFT = ("method", "order", "sync")
"""Columns of words; the others are numbers.

`link`: the largest load of a link in any phase; `sum L`: sum over phases of the largest load at a
port or link; `time gap`: the time that decides over its bound.
"""
FORMULA = "formula"


def deciding(rows: Sequence[Row]) -> str:
    """What says the time that decides.

    A model, several where methods follow their own, or `formula`.
    """
    return ", ".join(dict.fromkeys(str(row.get("by", FORMULA)) for row in rows)) or FORMULA


def deciding_time(row: Row) -> float | None:
    """The time that decides [s]; None where the model does not say one."""
    time_s: float | None = row.get("time_s", row["predicted_s"])
    return time_s


def row_name(row: Row) -> str:
    """`lp`, or `auto: lp` where it was chosen."""
    return (
        f"auto: {row['method']}"
        if row.get("method_by_auto", row.get("auto"))
        else str(row["method"])
    )


def describe_way(row: Row) -> str:
    """What tells a row from others of its method and policy: `contention 4, 2 in flight, rotated`.

    "" where nothing.
    """
    parts = [] if row.get("contention") is None else [f"contention {row['contention']}"]
    parts += [f"{row['in_flight']} in flight"] if _limits_flight(row) else []
    parts += [str(row["posting"])] if _orders(row) else []
    return ", ".join(parts)


def _limits_flight(row: Row) -> bool:
    return "machine_in_flight" in row and bool(row["in_flight"] != row["machine_in_flight"])


def _orders(row: Row) -> bool:
    return bool(row.get("posting", "schedule") != "schedule")


def _columns(rows: Sequence[Row]) -> dict[str, Callable[[Row], str]]:
    """Column → its cell of a row.

    Contention, sends in flight and posting order only where a row has one.
    """
    by = deciding(rows)
    columns: dict[str, Callable[[Row], str]] = {"method": row_name}
    if any(row.get("contention") is not None for row in rows):
        columns["contention"] = lambda row: (
            "–" if row.get("contention") is None else str(row["contention"])
        )
    if any(_limits_flight(row) for row in rows):
        columns["in flight"] = lambda row: str(row["in_flight"])
    if any(_orders(row) for row in rows):
        columns["order"] = lambda row: str(row["posting"]) if _orders(row) else ""
    columns |= {
        "phases": lambda row: f"{row['phases']:,}",
        "bound": lambda row: f"{row['bound']['phases']:,}",
        "gap": lambda row: f"{row['gap']['phases']:.3f}",
        "link": lambda row: f"{row['load']['link']:,}",
        "sum L": lambda row: f"{row['load']['sum']:,}",
        "sync": lambda row: str(row["sync"]),
        ("predicted" if by == FORMULA else f"by {by}"): lambda row: _time(deciding_time(row)),
        "time gap": _time_gap,
    }
    if by != FORMULA:
        columns["by formula"] = lambda row: format_time(row["predicted_s"])
    return columns | {"compiled in": lambda row: format_time(row["compile_s"])}


def _time(time_s: float | None) -> str:
    return "–" if time_s is None else format_time(time_s)


def _time_gap(row: Row) -> str:
    """The gap of the time that decides."""
    time_s, bound = deciding_time(row), row["bound"].get("time_s")
    if "time_s" not in row or not bound:
        return f"{row['gap']['time']:.3f}"
    return "–" if time_s is None else f"{time_s / bound:.3f}"


def cells_of(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(columns, the rows as text)."""
    columns = _columns(rows)
    return tuple(columns), [tuple(cell(row) for cell in columns.values()) for row in rows]


def _left(columns: Sequence[str]) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(columns) if name in LEFT)


def _best(rows: Sequence[Row]) -> int:
    """The row with the least time, the first of equals; -1 where none has one."""
    timed = [k for k, row in enumerate(rows) if deciding_time(row) is not None]
    return min(timed, key=lambda k: deciding_time(rows[k]) or 0.0, default=-1)


def compare_table(rows: Sequence[Row], skipped: Sequence[Row] = ()) -> Table:
    """The table for a terminal.

    The fastest is bold, methods that do not apply follow with the reason.
    """
    from conset.report.terminal import fitted_table

    columns, cells = cells_of(rows)
    table = fitted_table(columns, cells, _left(columns))
    best = _best(rows)
    for k, row in enumerate(cells):
        table.add_row(*row, style="bold" if k == best and len(rows) > 1 else None)
    if skipped:
        table.caption = "\n".join(skipped_lines(skipped))
        table.caption_justify = "left"
    return table


def deciding_lines(rows: Sequence[Row], stands_in: str = "") -> list[str]:
    """What stands below the table.

    What decides the order of rows, what stands in, and which rows have no time.
    """
    by = deciding(rows)
    word = "predicted by formula, which ignores blocking" if by == FORMULA else f"simulated by {by}"
    lines = [f"the fastest first, {word}{f' ({stands_in})' if stands_in else ''}"]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.get("untimed"):
            reasons.setdefault(row["untimed"], []).append(f"{row_name(row)} under {row['sync']}")
    return lines + [f"no time of {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def describe_pattern(pattern: Pattern) -> str:
    """`16 ranks, 240 messages, 240 KiB`."""
    return (
        f"{count_of(pattern.ranks, 'rank')}, {count_of(pattern.messages, 'message')}, "
        f"{format_size(pattern.bytes)}"
    )


def skipped_lines(skipped: Sequence[Row]) -> list[str]:
    """`lp: does not apply: reason`, one line a method."""
    return [f"{row['method']}: does not apply: {row['reason']}" for row in skipped]


def compare_markdown(
    rows: Sequence[Row], skipped: Sequence[Row] = (), *, title: str = "", stands_in: str = ""
) -> str:
    """The same as Markdown; numbers to the right."""
    lines = [f"**{plain(title)}**", ""] if title else []
    best = _best(rows)
    columns, cells = cells_of(rows)
    table = [[plain(cell) for cell in row] for row in cells]
    if len(rows) > 1 and best >= 0:
        table[best][0] = f"**{table[best][0]}**"
    lines += table_markdown(columns, table, _left(columns))
    below = [
        *(deciding_lines(rows, stands_in) if any("by" in row for row in rows) else ()),
        *skipped_lines(skipped),
    ]
    if below:
        lines += ["", *(f"- {plain(line)}" for line in below)]
    return "\n".join(lines) + "\n"


def picture_compare(rows: Sequence[Mapping[str, Any]], *, title: str, subtitle: str = "") -> Figure:
    """Horizontal bars, methods in the order of `rows`.

    Args:
        rows: as `conset.report.comparison`, and `terms` {synchronization, setup, transfer} of the
            predicted time [s] where they are known.
        title: first line.
        subtitle: second line.
    """
    lines = 2 if any(describe_way(row) for row in rows) else 1
    figure = style.new_figure(10, 1.7 + (0.3 + 0.12 * lines) * max(len(rows), 2))
    style.headline(figure, title, subtitle)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    place = np.arange(len(rows))
    _draw_times(left, rows, place)
    _draw_phases(right, rows, place)
    left.set_yticks(place, [_label(row) for row in rows])
    left.tick_params(axis="y", labelcolor=style.INK, length=0)
    right.tick_params(axis="y", length=0)
    left.set_ylim(len(rows) - 0.4, -0.6)
    return figure


def _label(row: Mapping[str, Any]) -> str:
    way = describe_way(row)
    return f"{row_name(row)}, {row['sync']}" + (f"\n{way}" if way else "")


def _draw_times(axes: Axes, rows: Sequence[Mapping[str, Any]], place: Any) -> None:
    by = deciding(rows)
    times = [deciding_time(row) for row in rows]
    top = max((time for time in times if time is not None), default=0.0)
    factor, unit = style.time_unit(top)
    start = np.zeros(len(rows))
    for term, label in TERM_LABELS.items():
        value = np.array([_terms(row)[term] for row in rows]) / factor
        if value.any():
            axes.barh(place, value, 0.62, left=start, color=style.TERM_COLOURS[term], label=label)
        start = start + value
    for k, row in enumerate(rows):
        time, bound = times[k], row["bound"].get("time_s")
        if bound:
            _mark(axes, bound / factor, k)
        caption = "–" if time is None else format_time(time)
        _write(axes, max(float(start[k]), (bound or 0) / factor), k, caption)
    top = max([top, *(row["bound"].get("time_s") or 0 for row in rows)])
    axes.set_xlim(0, max(top / factor, 1e-12) * 1.18)
    axes.set_title(
        "time predicted by formula" if by == FORMULA else f"time simulated by {by}", pad=24
    )
    axes.set_xlabel(f"time [{unit}]")
    axes.grid(axis="x")
    axes.plot([], [], color=style.BOUND, linewidth=1.6, label="bound")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 0.99),
        ncols=4,
        borderaxespad=0.1,
        handlelength=1.2,
        columnspacing=1.2,
    )


def _write(axes: Axes, x: float, y: int, text: str) -> None:
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", size=8.8)


def _mark(axes: Axes, x: float, y: int) -> None:
    axes.plot([x, x], [y - 0.38, y + 0.38], color=style.BOUND, linewidth=1.6)


def _terms(row: Mapping[str, Any]) -> Mapping[str, float]:
    """Terms of the time that decides.

    By a model, barriers and set-ups as the formula charges them, then the rest.
    """
    time = deciding_time(row) or 0.0
    charged = row.get("terms") or {}
    synchronization = min(charged.get("synchronization", 0.0), time)
    setup = min(charged.get("setup", 0.0), time - synchronization)
    return {
        "transfer": time - synchronization - setup,
        "setup": setup,
        "synchronization": synchronization,
    }


def _draw_phases(axes: Axes, rows: Sequence[Mapping[str, Any]], place: Any) -> None:
    phases = np.array([row["phases"] for row in rows], np.float64)
    axes.barh(place, phases, 0.62, color=style.ACCENT)
    for k, row in enumerate(rows):
        bound = row["bound"]["phases"]
        _mark(axes, bound, k)
        _write(axes, max(float(phases[k]), bound), k, f"{row['phases']:,} (bound {bound:,})")
    axes.set_xlim(0, max(phases.max(initial=1), 1) * 1.25)
    axes.set_title("phases, and their bound", pad=24)
    axes.set_xlabel("phases")
    axes.grid(axis="x")
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
