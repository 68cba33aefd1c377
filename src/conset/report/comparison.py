"""A comparison of methods: tables of figures and of times, and bars of both.

The time of a method is what decides, by a model or by formula. Times predicted, simulated by
several models and measured stand side by side where they were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from conset.base import format_time
from conset.machine import Machine
from conset.pattern import Pattern
from conset.report import style
from conset.report.facts import TERM_LABELS
from conset.report.pattern import describe_pattern
from conset.report.sections import Part, Section, Table
from conset.studies import MEASURED, PREDICTED, Comparison, time_of

Row = Mapping[str, Any]
"""The keys of `Comparison.rows`, or those of `compile --json` alone.

With times of models also `simulated`, `not_simulated`, `measured`, `errors`; of a method that does
not apply only `method` and `reason`.
"""
LEFT = ("method", "order", "sync", "way")
"""Columns of text, the others are numbers.

`link`: the largest load of a link in any phase; `sum L`: sum over phases of the largest load at a
port or link; `over bound`: the time that decides over the least of any schedule of the pattern;
`way`: contention, sends in flight
and posting order, where a row has one.
"""
FORMULA = "formula"
DECADES = 40
"""From this ratio of times on the axis is logarithmic: shorter bars would vanish."""
BAR_INCH = 0.19


def comparison_section(
    result: Comparison,
    pattern: Pattern,
    machine: Machine,
    models: Sequence[str] | None = None,
) -> Section:
    """Return the table of figures, and below it times of models where any were asked for.

    Args:
        result: the rows.
        pattern: what was sent.
        machine: where.
        models: that simulated each row; None: only what decides has times.
    """
    title, sent = f"{pattern.name} on {machine.name}", describe_pattern(pattern)
    rows, skipped = result.rows, skipped_lines(result.skipped)
    if models is None:
        named = [{**row, "terms": terms} for row, terms in zip(rows, result.terms, strict=True)]
        draw = partial(picture_compare, named, title=title, subtitle=sent)
    else:
        subtitle = times_subtitle(rows, result.reference, sent)
        draw = partial(picture_simulated, rows, models, title=title, subtitle=subtitle)
    if not rows:
        return Section(title, parts=[Part(notes=skipped, draws=[draw])])
    notes = [*deciding_lines(rows, result.stands_in), *skipped]
    parts = [Part(table=compare_table(rows), notes=notes, draws=[draw])]
    if models is not None:
        notes = simulated_lines(rows, models, result.reference)
        parts.append(Part(table=simulated_table(rows, models), notes=notes))
    return Section(title, parts=parts)


# Figures


def deciding(rows: Sequence[Row]) -> str:
    """Return what decides: a model, several where methods follow their own, or `formula`."""
    return ", ".join(dict.fromkeys(str(row.get("by", FORMULA)) for row in rows)) or FORMULA


def deciding_time(row: Row) -> float | None:
    """Return the time that decides [s]; None where the model gives none."""
    return row.get("time_s", row["predicted_s"])


def row_name(row: Row) -> str:
    """Return `lp`, or `auto: lp` where it was chosen."""
    return f"auto: {row['method']}" if row.get("method_by_auto", row.get("auto")) else row["method"]


def _way(row: Row) -> dict[str, str]:
    """Return what distinguishes a row from others of its method and policy, by column."""
    way = {}
    if row.get("contention") is not None:
        way["contention"] = str(row["contention"])
    if "machine_in_flight" in row and row["in_flight"] != row["machine_in_flight"]:
        way["in flight"] = str(row["in_flight"])
    if row.get("posting", "schedule") != "schedule":
        way["order"] = str(row["posting"])
    return way


def describe_way(row: Row) -> str:
    """Return `contention 4, 2 in flight, rotated`; "" where nothing distinguishes a row."""
    forms = {"contention": "contention {}", "in flight": "{} in flight", "order": "{}"}
    return ", ".join(forms[name].format(value) for name, value in _way(row).items())


def compare_table(rows: Sequence[Row]) -> Table:
    """Return the table; columns that distinguish rows of a method only where a row needs them."""
    by, ways = deciding(rows), [_way(row) for row in rows]
    cells = []
    for row, way in zip(rows, ways, strict=True):
        time_s, least_s = deciding_time(row), row.get("bound_s")
        gap = "–" if time_s is None else f"{row['gap']['time']:.3f}"
        if time_s is not None and least_s:
            gap = f"{time_s / least_s:.3f}"
        cells.append(
            {
                "method": row_name(row),
                "contention": way.get("contention", "–"),
                "in flight": str(row.get("in_flight")),
                "order": way.get("order", ""),
                "phases": f"{row['phases']:,}",
                "bound": f"{row['bound']['phases']:,}",
                "gap": f"{row['gap']['phases']:.3f}",
                "link": f"{row['load']['link']:,}",
                "sum L": f"{row['load']['sum']:,}",
                "sync": str(row["sync"]),
                "predicted" if by == FORMULA else f"by {by}": _time(time_s),
                "over bound": gap,
                **({} if by == FORMULA else {"by formula": format_time(row["predicted_s"])}),
                "compiled in": format_time(row["compile_s"]),
            }
        )
    optional = {"contention", "in flight", "order"} - {name for way in ways for name in way}
    columns = [name for name in (cells[0] if cells else ()) if name not in optional]
    left = [k for k, name in enumerate(columns) if name in LEFT]
    timed = [k for k, row in enumerate(rows) if deciding_time(row) is not None]
    best = min(timed, key=lambda k: deciding_time(rows[k]) or 0.0, default=-1)
    texts = [[row[name] for name in columns] for row in cells]
    return Table(columns, texts, left, best=(best,) if len(rows) > 1 else ())


def _time(time_s: float | None) -> str:
    return "–" if time_s is None else format_time(time_s)


def deciding_lines(rows: Sequence[Row], stands_in: str = "") -> list[str]:
    """Return notes: the order of rows, what is used instead of a model, rows without a time."""
    by = deciding(rows)
    word = f"simulated by {by}"
    if by == FORMULA:
        word = "predicted by formula, which ignores blocking"
    lines = [f"the fastest first, {word}{f' ({stands_in})' if stands_in else ''}"]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.get("untimed"):
            reasons.setdefault(row["untimed"], []).append(f"{row_name(row)} under {row['sync']}")
    return lines + [f"no time of {', '.join(names)}: {why}" for why, names in reasons.items()]


def skipped_lines(skipped: Sequence[Row]) -> list[str]:
    """Return `lp: does not apply: reason`, one line a method."""
    return [f"{row['method']}: does not apply: {row['reason']}" for row in skipped]


def picture_compare(rows: Sequence[Row], *, title: str, subtitle: str = "") -> style.Figure:
    """Draw horizontal bars of times and phases, methods in the order of `rows`.

    Args:
        rows: as of a comparison, and `terms` {synchronization, setup, transfer} of the predicted
            time [s] where they are known.
        title: first line.
        subtitle: second line.
    """
    ways = [describe_way(row) for row in rows]
    lines = 2 if any(ways) else 1
    figure = style.new_figure(10, 1.7 + (0.3 + 0.12 * lines) * max(len(rows), 2), title, subtitle)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    place = np.arange(len(rows))
    _draw_times(left, rows, place)
    _draw_phases(right, rows, place)
    pairs = zip([f"{row_name(row)}, {row['sync']}" for row in rows], ways, strict=True)
    left.set_yticks(place, ["\n".join(filter(None, pair)) for pair in pairs])
    left.tick_params(axis="y", labelcolor=style.INK, length=0)
    right.tick_params(axis="y", length=0)
    left.set_ylim(len(rows) - 0.4, -0.6)
    return figure


def _draw_times(axes: style.Axes, rows: Sequence[Row], place: Any) -> None:
    by = deciding(rows)
    times = [deciding_time(row) or 0.0 for row in rows]
    factor, unit = style.time_unit(max(times, default=0.0))
    start = np.zeros(len(rows))
    terms = [_terms(row) for row in rows]
    for term, label in TERM_LABELS.items():
        value = np.array([each[term] for each in terms]) / factor
        if value.any():
            axes.barh(place, value, 0.62, left=start, color=style.TERM_COLOURS[term], label=label)
        start = start + value
    for k, row in enumerate(rows):
        bound = row["bound"].get("time_s") or 0
        if bound:
            _mark(axes, bound / factor, k)
        _write(axes, max(float(start[k]), bound / factor), k, _time(deciding_time(row)))
        times.append(bound)
    axes.set_xlim(0, max(max(times, default=0.0) / factor, 1e-12) * 1.18)
    title = "time predicted by formula" if by == FORMULA else f"time simulated by {by}"
    axes.set_title(title, pad=24)
    axes.set_xlabel(f"time [{unit}]")
    axes.grid(axis="x")
    axes.plot([], [], color=style.BOUND, linewidth=1.6, label="bound")
    style.legend_above(axes, 4, column_spacing=1.2)


def _write(axes: style.Axes, x: float, y: float, text: str, size: float = 8.8, **look: Any) -> None:
    axes.annotate(
        text, (x, y), size=size, xytext=(4, 0), textcoords="offset points", va="center", **look
    )


def _mark(axes: style.Axes, x: float, y: int) -> None:
    axes.plot([x, x], [y - 0.38, y + 0.38], color=style.BOUND, linewidth=1.6)


def _terms(row: Row) -> Mapping[str, float]:
    """Return terms of the time that decides.

    By a model: barriers and set-ups as the formula charges them, then the rest.
    """
    time, charged = deciding_time(row) or 0.0, row.get("terms") or {}
    synchronization = min(charged.get("synchronization", 0.0), time)
    setup = min(charged.get("setup", 0.0), time - synchronization)
    transfer = time - synchronization - setup
    return {"transfer": transfer, "setup": setup, "synchronization": synchronization}


def _draw_phases(axes: style.Axes, rows: Sequence[Row], place: Any) -> None:
    phases = np.array([row["phases"] for row in rows], np.float64)
    axes.barh(place, phases, 0.62, color=style.ACCENT)
    for k, row in enumerate(rows):
        bound = row["bound"]["phases"]
        _mark(axes, bound, k)
        _write(axes, max(float(phases[k]), bound), k, f"{row['phases']:,} (bound {bound:,})")
    axes.set_title("phases, and their bound", pad=24)
    axes.set(xlim=(0, max(phases.max(initial=1), 1) * 1.25), xlabel="phases")
    axes.grid(axis="x")
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


# Times of models


def columns_of(rows: Sequence[Row], models: Sequence[str]) -> tuple[str, ...]:
    """Return what has a time: `predicted`, each model, `measured` where anything was."""
    return PREDICTED, *models, *((MEASURED,) if any(row.get(MEASURED) for row in rows) else ())


def format_error(error: float | None) -> str:
    """Return `+3 %`; beyond ten times the factor: `× 31`."""
    if error is None:
        return ""
    if error >= 10 or error <= -0.9:
        factor = 1 + error
        return f"× {factor:.0f}" if factor >= 10 else f"× {factor:.2g}"
    percent = 100 * error
    return "±0 %" if abs(percent) < 0.5 else f"{percent:+.0f} %".replace("-", "−")


def least_of(rows: Sequence[Row], column: str) -> frozenset[int]:
    """Return rows with the least time in a column, equals too; none where all take the same."""
    times = {k: time for k, row in enumerate(rows) if (time := time_of(row, column)) is not None}
    least = min(times.values(), default=0.0) * (1 + 1e-9)
    chosen = frozenset(k for k, time in times.items() if time <= least)
    return chosen if len(chosen) < len(times) else frozenset()


def simulated_table(rows: Sequence[Row], models: Sequence[str]) -> Table:
    """Return the times with their errors; the least of each column is bold."""
    times = columns_of(rows, models)
    ways = [describe_way(row) for row in rows]
    head = ["method", *(["way"] if any(ways) else []), "sync"]
    cells = []
    for row, way in zip(rows, ways, strict=True):
        line = [row_name(row), *([way] if any(ways) else []), str(row["sync"])]
        for column in times:
            text = format_error(row["errors"].get(column))
            time = _time(time_of(row, column))
            line.append(f"{time} ({text})" if text and time != "–" else time)
        cells.append(line)
    strong = [(k, len(head) + c) for c, column in enumerate(times) for k in least_of(rows, column)]
    return Table([*head, *times], cells, range(len(head)), strong=strong)


def simulated_lines(rows: Sequence[Row], models: Sequence[str], reference: str) -> list[str]:
    """Return notes: what columns are, what errors are against, what does not apply and why."""
    timed = (model for model in models if any(model in row["simulated"] for row in rows))
    simulated = ", ".join(f"by {model}" for model in timed)
    parts = ["predicted by formula"]
    if simulated:
        flight = " or ".join(_flights(rows))
        parts.append(f"simulated {simulated} with {flight} in flight")
    if reference:
        most = "" if reference == MEASURED else ", the most detailed model here"
        parts.append(f"in brackets the error against {reference}{most}")
    lines = ["; ".join(parts)]
    measured = next((row[MEASURED] for row in rows if row.get(MEASURED)), None)
    lines += [f"measured: {measured['note']}"] if measured else []
    every = [pair for row in rows for pair in row["simulated"].items()]
    notes = {name: said["note"] for name, said in every if said["note"]}
    return lines + [f"{name}: {note}" for name, note in notes.items()] + left_out_lines(rows)


def _flights(rows: Sequence[Row]) -> list[str]:
    """Return how many sends were in flight in simulations, each number once."""
    return sorted({str(said["in_flight"]) for row in rows for said in row["simulated"].values()})


def left_out_lines(rows: Sequence[Row]) -> list[str]:
    """Return `flit, all: reason`, one line for each reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for model, reason in row["not_simulated"].items():
            reasons.setdefault((model, reason), []).append(f"{row_name(row)} under {row['sync']}")
    return [
        f"{model} {'has no time' if reason.startswith('cut ') else 'does not apply'}"
        f"{'' if len(names) == len(rows) else ' to ' + ', '.join(names)}: {reason}"
        for (model, reason), names in reasons.items()
    ]


def times_subtitle(rows: Sequence[Row], reference: str, sent: str) -> str:
    """Return the second line of the picture."""
    measured = next((row[MEASURED] for row in rows if row[MEASURED]), None)
    parts = [sent]
    parts += [f"{' or '.join(flights)} in flight"] if (flights := _flights(rows)) else []
    parts += [f"errors against {reference}"] if reference else []
    if measured:
        where = f"{measured['mpi']} on {measured['cores']} cores"
        parts.append(f"measured by {where}, which is not the machine")
    return "; ".join([*parts, "the least of each kind is bold"])


def picture_simulated(
    rows: Sequence[Row], models: Sequence[str], *, title: str, subtitle: str = ""
) -> style.Figure:
    """Draw horizontal bars in groups, beside each its time and its error, the least bold.

    Args:
        rows: with times of models.
        models: that simulated, in the order of the bars.
        title: first line.
        subtitle: second line.
    """
    columns = columns_of(rows, models)
    figure = style.new_figure(
        10, 1.9 + max(len(rows), 2) * (BAR_INCH * len(columns) + 0.16), title, subtitle
    )
    axes = figure.subplots()
    times = [[time_of(row, column) or np.nan for column in columns] for row in rows]
    _draw_bars(axes, rows, columns, np.array(times).reshape(-1, len(columns)))
    labels = [(row_name(row), f"sync {row['sync']}", describe_way(row)) for row in rows]
    axes.set_yticks(np.arange(len(rows)), ["\n".join(filter(None, label)) for label in labels])
    axes.tick_params(axis="y", labelcolor=style.INK, length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x")
    style.legend_above(axes, len(columns), height=1.0, column_spacing=1.4)
    return figure


def _draw_bars(axes: style.Axes, rows: Sequence[Row], columns: Sequence[str], times: Any) -> None:
    finite = times[np.isfinite(times)]
    top, least = (float(finite.max()), float(finite.min())) if finite.size else (1.0, 1.0)
    factor, unit = style.time_unit(top)
    logarithmic = top / least > DECADES
    left = 10 ** np.floor(np.log10(least / factor)) * 0.7 if logarithmic else 0.0
    width = 0.84 / len(columns)
    for k, column in enumerate(columns):
        place = np.arange(len(rows)) + (k - (len(columns) - 1) / 2) * width
        values, best = times[:, k] / factor, least_of(rows, column)
        axes.barh(
            place,
            values - left,
            width * 0.9,
            left=left,
            color=_colour(column, columns),
            label=column_label(column),
        )
        for r, (row, y, value) in enumerate(zip(rows, place, values, strict=True)):
            cut = row["not_simulated"].get(column, "").startswith("cut ")
            caption, at = f"{column} was cut" if cut else f"{column} does not apply", left
            if np.isfinite(value):
                error = format_error(row["errors"].get(column))
                caption, at = f"{format_time(value * factor)}  {error}", value
            bold = r in best and np.isfinite(value)
            _write(axes, at, y, caption, 7.6, weight="bold" if bold else "normal")
    if logarithmic:
        style.log_axis(axes, "x", f"time [{unit}]")
        axes.set_xlim(left, top / factor * (top / factor / left) ** 0.2)
    else:
        axes.set(xlim=(0, max(top / factor, 1e-12) * 1.2), xlabel=f"time [{unit}]")


def _colour(column: str, columns: Sequence[str]) -> Any:
    """Return a quiet colour of predictions, that of limits for measurements; models by the map."""
    if column in (PREDICTED, MEASURED):
        return "#cdd2da" if column == PREDICTED else style.BOUND
    models = [name for name in columns if name not in (PREDICTED, MEASURED)]
    return style.colour_map()(0.28 + 0.56 * models.index(column) / max(len(models) - 1, 1))


def column_label(column: str) -> str:
    """Return `predicted by formula`, `simulated by flow`, `measured on this host`."""
    labels = {PREDICTED: "predicted by formula", MEASURED: "measured on this host"}
    return labels.get(column, f"simulated by {column}")
