"""Predicted, simulated and measured times side by side: a table, Markdown and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.units import format_time
from conset.report import style
from conset.report.comparison import (
    compare_markdown,
    compare_table,
    deciding_lines,
    describe_pattern,
    describe_way,
    picture_compare,
    row_name,
    skipped_lines,
)
from conset.report.markdown import plain, table_markdown
from conset.studies.times import MEASURED, PREDICTED, time_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table

    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.studies.compare import Comparison


Row = Mapping[str, Any]
"""The keys of `compare --simulate --json`.

Those of `compile`, `simulated`, `not_simulated`, `measured`, `errors`.
"""
TEXT_COLUMNS = ("method", "way", "sync")
"""Columns of words, the others numbers.

`way`: contention, sends in flight and posting order, where a row has one.
"""


def columns_of(rows: Sequence[Row], models: Sequence[str]) -> tuple[str, ...]:
    """What has a time: `predicted`, each model, `measured` where anything was."""
    return (PREDICTED, *models, *((MEASURED,) if any(row.get(MEASURED) for row in rows) else ()))


def format_error(error: float | None) -> str:
    """`+3 %`; beyond ten times the factor: `× 31`."""
    if error is None:
        return ""
    if error >= 10 or error <= -0.9:
        factor = 1 + error
        return f"× {factor:.0f}" if factor >= 10 else f"× {factor:.2g}"
    percent = 100 * error
    return "±0 %" if abs(percent) < 0.5 else f"{percent:+.0f} %".replace("-", "−")


def _cell(row: Row, column: str) -> str:
    seconds = time_of(row, column)
    if seconds is None:
        return "–"
    error_text = format_error(row["errors"].get(column))
    return f"{format_time(seconds)} ({error_text})" if error_text else format_time(seconds)


def least_of(rows: Sequence[Row], column: str) -> frozenset[int]:
    """The rows with the least time in a column, equals too; none where all take the same."""
    times = {k: time for k, row in enumerate(rows) if (time := time_of(row, column)) is not None}
    least = min(times.values(), default=0.0) * (1 + 1e-9)
    chosen = frozenset(k for k, time in times.items() if time <= least)
    return chosen if len(chosen) < len(times) else frozenset()


def _cells(
    rows: Sequence[Row], models: Sequence[str]
) -> tuple[list[str], list[list[str]], list[list[bool]]]:
    """(columns, cells, whether each is the least of its column)."""
    times = columns_of(rows, models)
    least = {column: least_of(rows, column) for column in times}
    named = any(describe_way(row) for row in rows)
    ways = [[describe_way(row)] if named else [] for row in rows]
    cells = [
        [row_name(row), *ways[k], str(row["sync"]), *(_cell(row, column) for column in times)]
        for k, row in enumerate(rows)
    ]
    columns = ["method", *(["way"] if named else []), "sync"]
    bold = [
        [*[False] * len(columns), *(k in least[column] for column in times)]
        for k in range(len(rows))
    ]
    return [*columns, *times], cells, bold


def _left(columns: Sequence[str]) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(columns) if name in TEXT_COLUMNS)


def simulated_table(rows: Sequence[Row], models: Sequence[str]) -> Table:
    """The table for a terminal; the least of each column is bold."""
    from conset.report.terminal import fitted_table

    columns, cells, bold = _cells(rows, models)
    table = fitted_table(columns, cells, _left(columns))
    for row, marks in zip(cells, bold, strict=True):
        table.add_row(
            *(f"[bold]{cell}[/]" if mark else cell for cell, mark in zip(row, marks, strict=True))
        )
    return table


def simulated_lines(rows: Sequence[Row], models: Sequence[str], reference: str) -> list[str]:
    """What stands below the table.

    What each column is, what errors are against, what does not apply and why.
    """
    simulated = ", ".join(
        f"by {model}" for model in models if any(model in row["simulated"] for row in rows)
    )
    flight = {str(said["in_flight"]) for row in rows for said in row["simulated"].values()}
    parts = ["predicted by formula"]
    if simulated:
        parts.append(f"simulated {simulated} with {' or '.join(sorted(flight))} in flight")
    if reference:
        most = "" if reference == MEASURED else ", the most detailed model here"
        parts.append(f"in brackets the error against {reference}{most}")
    lines = ["; ".join(parts)]
    measured = next((row[MEASURED] for row in rows if row.get(MEASURED)), None)
    if measured:
        lines.append(f"measured: {measured['note']}")
    notes = {
        name: said["note"]
        for row in rows
        for name, said in row["simulated"].items()
        if said["note"]
    }
    return lines + [f"{name}: {note}" for name, note in notes.items()] + left_out_lines(rows)


def left_out_lines(rows: Sequence[Row]) -> list[str]:
    """`flit, all: reason`, one line for each reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for model, reason in row["not_simulated"].items():
            reasons.setdefault((model, reason), []).append(f"{row_name(row)} under {row['sync']}")
    return [
        f"{model} {'has no time' if reason.startswith('cut ') else 'does not apply'}"
        f"{'' if len(names) == len(rows) else ' to ' + ', '.join(names)}: {reason}"
        for (model, reason), names in reasons.items()
    ]


def simulated_markdown(rows: Sequence[Row], models: Sequence[str], reference: str) -> str:
    """The same as Markdown."""
    columns, cells, bold = _cells(rows, models)
    table = [
        [f"**{cell}**" if mark else cell for cell, mark in zip(row, marks, strict=True)]
        for row, marks in zip(cells, bold, strict=True)
    ]
    notes = (f"- {plain(line)}" for line in simulated_lines(rows, models, reference))
    return "\n".join([*table_markdown(columns, table, _left(columns)), "", *notes]) + "\n"


DECADES = 40
"""From this ratio of largest to least time on the axis is logarithmic.

Shorter bars would vanish.
"""
BAR_INCH = 0.19


def times_subtitle(rows: Sequence[Row], reference: str, sent: str) -> str:
    """The second line of the picture.

    What is sent, in flight, what errors are against, where times were measured.
    """
    flight = sorted({str(said["in_flight"]) for row in rows for said in row["simulated"].values()})
    measured = next((row[MEASURED] for row in rows if row[MEASURED]), None)
    parts = [
        sent,
        f"{' or '.join(flight)} in flight" if flight else "",
        f"errors against {reference}" if reference else "",
        f"measured by {measured['mpi']} on {measured['cores']} cores, which is not the machine"
        if measured
        else "",
        "the least of each kind is bold",
    ]
    return "; ".join(filter(None, parts))


def picture_simulated(
    rows: Sequence[Mapping[str, Any]], models: Sequence[str], *, title: str, subtitle: str = ""
) -> Figure:
    """Horizontal bars in groups, methods in the order of `rows`.

    Beside each its time and its error, the least bold.

    Args:
        rows: as `conset.report.simulated`.
        models: that simulated, in the order of the bars.
        title: first line.
        subtitle: second line.
    """
    columns = columns_of(rows, models)
    figure = style.new_figure(10, 1.9 + max(len(rows), 2) * (BAR_INCH * len(columns) + 0.16))
    style.headline(figure, title, subtitle)
    axes = figure.subplots()
    times = np.array(
        [[time_of(row, column) or np.nan for column in columns] for row in rows]
    ).reshape(-1, len(columns))
    _draw_bars(axes, rows, columns, times)
    axes.set_yticks(np.arange(len(rows)), [_label(row) for row in rows])
    axes.tick_params(axis="y", labelcolor=style.INK, length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=len(columns),
        borderaxespad=0.1,
        handlelength=1.2,
        columnspacing=1.4,
    )
    return figure


def _label(row: Mapping[str, Any]) -> str:
    """Method, policy, and what else tells it from other rows."""
    return "\n".join(filter(None, (row_name(row), f"sync {row['sync']}", describe_way(row))))


def _draw_bars(
    axes: Axes, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], times: Any
) -> None:
    finite = times[np.isfinite(times)]
    top, least = (float(finite.max()), float(finite.min())) if finite.size else (1.0, 1.0)
    factor, unit = style.time_unit(top)
    logarithmic = top / least > DECADES
    left = 10 ** np.floor(np.log10(least / factor)) * 0.7 if logarithmic else 0.0
    width = 0.84 / len(columns)
    for k, column in enumerate(columns):
        place = np.arange(len(rows)) + (k - (len(columns) - 1) / 2) * width
        values = times[:, k] / factor
        axes.barh(
            place,
            values - left,
            width * 0.9,
            left=left,
            color=_colour(column, columns),
            label=column_label(column),
        )
        best = least_of(rows, column)
        for r, (row, y, value) in enumerate(zip(rows, place, values, strict=True)):
            if np.isfinite(value):
                caption = (
                    f"{format_time(value * factor)}  {format_error(row['errors'].get(column))}"
                )
                _write(axes, value, y, caption, bold=r in best)
            else:
                _write(axes, left, y, _missing(row, column))
    if logarithmic:
        style.log_axis(axes, "x", f"time [{unit}]")
        axes.set_xlim(left, top / factor * (top / factor / left) ** 0.2)
    else:
        axes.set_xlim(0, max(top / factor, 1e-12) * 1.2)
        axes.set_xlabel(f"time [{unit}]")


def _missing(row: Mapping[str, Any], column: str) -> str:
    """Why there is no bar, in few words."""
    cut = row["not_simulated"].get(column, "").startswith("cut ")
    return f"{column} was cut" if cut else f"{column} does not apply"


def _write(axes: Axes, x: float, y: float, text: str, *, bold: bool = False) -> None:
    weight = "bold" if bold else "normal"
    axes.annotate(
        text, (x, y), (4, 0), textcoords="offset points", va="center", size=7.6, weight=weight
    )


def _colour(column: str, columns: Sequence[str]) -> Any:
    """The prediction is quiet, what was measured has the colour of limits.

    Models are of the one colour map.
    """
    if column == PREDICTED:
        return "#cdd2da"
    if column == MEASURED:
        return style.BOUND
    models = [name for name in columns if name not in (PREDICTED, MEASURED)]
    return style.colour_map()(0.28 + 0.56 * models.index(column) / max(len(models) - 1, 1))


def column_label(column: str) -> str:
    """`predicted by formula`, `simulated by flow`, `measured on this host`."""
    if column == PREDICTED:
        return "predicted by formula"
    return "measured on this host" if column == MEASURED else f"simulated by {column}"


@dataclass(frozen=True)
class ComparisonReport:
    """A comparison for people.

    The table of figures, and the times of models below it where any were asked for.

    Attributes:
        result: the rows.
        pattern: what was sent.
        machine: where.
        models: that simulated each row; None: only what decides has times.
        reference: what errors are against.
    """

    result: Comparison
    pattern: Pattern
    machine: Machine
    models: Sequence[str] | None = None
    reference: str = ""

    @property
    def title(self) -> str:
        """What stands above table and picture."""
        return f"{self.pattern.name} on {self.machine.name}"

    def parts(self) -> list[RenderableType]:
        """What the terminal shows; where no method applies, why."""
        from rich.markup import escape

        from conset.report.terminal import quiet_lines, titled_parts

        result = self.result
        if not result.rows:
            return [f"[bold]{escape(self.title)}[/]", *quiet_lines(skipped_lines(result.skipped))]
        lines = [*deciding_lines(result.rows, result.stands_in), *skipped_lines(result.skipped)]
        parts = titled_parts(self.title, compare_table(result.rows), lines)
        if self.models is None:
            return parts
        times = simulated_table(result.rows, self.models)
        return [
            *parts,
            "",
            times,
            *quiet_lines(simulated_lines(result.rows, self.models, self.reference)),
        ]

    def markdown(self) -> str:
        """The same as Markdown."""
        result = self.result
        if not result.rows:
            refused = (f"- {plain(line)}" for line in skipped_lines(result.skipped))
            return "\n".join([f"**{plain(self.title)}**", "", *refused]) + "\n"
        text = compare_markdown(
            result.rows, result.skipped, title=self.title, stands_in=result.stands_in
        )
        if self.models is None:
            return text
        return f"{text}\n{simulated_markdown(result.rows, self.models, self.reference)}"

    def picture(self) -> Figure:
        """Bars of times and phases; grouped bars of every model's times where there are any."""
        rows, sent = self.result.rows, describe_pattern(self.pattern)
        if self.models is None:
            named = [
                {**row, "terms": terms} for row, terms in zip(rows, self.result.terms, strict=True)
            ]
            return picture_compare(named, title=self.title, subtitle=sent)
        subtitle = times_subtitle(rows, self.reference, sent)
        return picture_simulated(rows, self.models, title=self.title, subtitle=subtitle)
