"""Report on a calibration.

The words with their intervals, measured against fitted, what was held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.units import count_of, format_size, format_time
from conset.report import style
from conset.report.page import PageTable, Part, Section, write_sections
from conset.report.pattern import size_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from conset.studies.calibrate import Calibration
    from conset.studies.calibrate.probes import Probe

WINDOWS = {
    "pair": "one pair",
    "out": "out of one rank",
    "in": "into one rank",
    "both": "both ways",
}
"""Series of messages under way at once, as pictures name them."""


def words_table(found: Calibration) -> Table:
    """Word, value with interval, what it was read from."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("word", no_wrap=True)
    table.add_column("value (95 % interval)", overflow="fold")
    table.add_column("read from", overflow="fold")
    for word in found.words:
        table.add_row(word.word, escape(word.text), escape(_read_from(word.source)))
    return table


def _read_from(source: str) -> str:
    """A source without the interval, which stands beside it."""
    return source.partition("; ")[0]


def held_back_rows(found: Calibration) -> list[list[str]]:
    """Exchange, measured, by model, by formula, with errors."""
    return [
        [
            row.label,
            format_time(row.measured_s),
            f"{format_time(row.low_s)} … {format_time(row.high_s)}",
            format_time(row.model_s),
            f"{row.model_error:+.0%}",
            format_time(row.formula_s),
            f"{row.formula_error:+.0%}",
        ]
        for row in found.held_back
    ]


HELD_BACK = ("held back", "measured", "middle half", "by model", "error", "by formula", "error")


def held_back_table(found: Calibration) -> Table:
    """The exchanges that no word was fitted to, predicted."""
    from rich.markup import escape

    from conset.report.terminal import fitted_table

    rows = held_back_rows(found)
    table = fitted_table(HELD_BACK, rows, (0,))
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    return table


def calibration_lines(found: Calibration) -> list[str]:
    """How it was measured, how well the words fit, and what is contradicted or unknown."""
    data = found.data
    repeat = min(len(times) for times in data.times_s.values())
    lines = [
        f"{count_of(len(found.probes), 'probe')} on {count_of(data.ranks, 'rank')} over {data.by}, "
        f"{count_of(repeat, 'repetition')}; fitted within "
        f"{np.exp(found.found.fit.deviation) - 1:.1%} (median)"
    ]
    if data.oversubscribed:
        lines.append(
            f"{data.local_ranks} ranks share {data.cores} cores: times hold for ranks that do"
        )
    return [*lines, *found.notes]


def write_calibration_page(path: Path, found: Calibration, command: str) -> None:
    """Writes the report as one HTML file; the same calibration gives the same bytes."""
    sections = [_fitted(found), *_met(found), _predicted(found), _all(found)]
    words = PageTable(
        ("word", "value (95 % interval)", "read from"),
        [(word.word, word.text, _read_from(word.source)) for word in found.words],
        left=(0, 1, 2),
        wrapped=(1, 2),
    )
    write_sections(path, "A machine calibrated", command, words, calibration_lines(found), sections)


def _fitted(found: Calibration) -> Section:
    fit = found.found.fit
    said = f"within {np.exp(fit.deviation) - 1:.1%} (median)"
    parts = [
        Part("Messages alone, and several under way at once", draws=(lambda: draw_lone(found),)),
        Part("Every probe, measured over fitted", draws=(lambda: draw_ratios(found),)),
    ]
    return Section(
        "Measured against fitted", "dots are measured, lines fitted", True, (), parts, label=said
    )


def _met(found: Calibration) -> list[Section]:
    contention = found.found.contention
    parts = [
        Part("Barriers and sends whose receive is late", draws=(lambda: draw_policies(found),))
    ]
    if contention is None:
        return [
            Section(
                "Policies", "barriers, signals, eager messages", True, (), parts, label="measured"
            )
        ]
    rows = [(model, f"{error:.3f}") for model, error in contention.errors.items()]
    table = PageTable(("model", "rms of log(measured / simulated)"), rows, left=(0,))
    parts.append(Part("What meets on links", table=table, draws=(lambda: draw_contention(found),)))
    return [
        Section(
            "Policies and contention",
            "what messages do to each other",
            True,
            (),
            parts,
            label=contention.model,
        )
    ]


def _predicted(found: Calibration) -> Section:
    worst = max((abs(row.model_error) for row in found.held_back), default=0.0)
    table = PageTable(HELD_BACK, held_back_rows(found), left=(0,))
    part = Part("", table=table, draws=(lambda: draw_held_back(found),))
    about = "exchanges that no word was fitted to; error: predicted over measured, less 1"
    return Section("Held back", about, True, (), [part], label=f"worst {worst:.0%}")


def _all(found: Calibration) -> Section:
    fit = found.found.fit
    said = {p.name: float(time) for p, time in zip(fit.probes, fit.fitted_s, strict=True)}
    rows = []
    for probe in found.probes:
        measured = found.data.typical_s(probe.name)
        fitted = said.get(probe.name)
        rows.append(
            (
                probe.label or probe.name,
                probe.series,
                format_size(probe.size),
                format_time(measured),
                "" if fitted is None else format_time(fitted),
                "" if fitted is None else f"{measured / fitted:.3f}",
            )
        )
    table = PageTable(("probe", "series", "size", "measured", "fitted", "ratio"), rows, left=(0, 1))
    parts = [
        Part("All probes", table=table, folded=True),
        Part(
            "The machine file",
            table=PageTable(
                ("",), [(line,) for line in found.text.splitlines()], left=(0,), wrapped=(0,)
            ),
            folded=True,
        ),
    ]
    return Section(
        "What was executed", f"{len(found.probes)} probes", True, (), parts, label=found.data.by
    )


# pictures


def draw_lone(found: Calibration) -> Figure:
    """A message alone over its size; the time from one message of a window to the next."""
    figure = style.new_figure(10.5, 3.9)
    left, right = figure.subplots(1, 2)
    _draw_chains(left, found)
    _draw_windows(right, found)
    return figure


def _colours(count: int) -> list[object]:
    return list(style.colour_map()(np.linspace(0.1, 0.95, max(count, 2))))[:count]


def _series(found: Calibration, name: str) -> list[tuple[Probe, float, float]]:
    """(probe, measured, fitted) of a series."""
    fit = found.found.fit
    return [
        (probe, float(measured), float(fitted))
        for probe, measured, fitted in zip(fit.probes, fit.measured_s, fit.fitted_s, strict=True)
        if probe.series == name
    ]


def _draw_chains(axes: Axes, found: Calibration) -> None:
    pairs: dict[tuple[int, int], list[tuple[int, float, float]]] = {}
    for probe, measured, fitted in _series(found, "chain"):
        pattern, count = probe.schedule.pattern, probe.schedule.transfers
        if probe.size == 8 and count == 2:
            continue
        ends = (int(pattern.source.min()), int(pattern.source.max()))
        pairs.setdefault(ends, []).append((probe.size, measured / count, fitted / count))
    for (ends, rows), colour in zip(pairs.items(), _colours(len(pairs)), strict=True):
        rows.sort()
        size, seen, said = (np.array(column) for column in zip(*rows, strict=True))
        axes.plot(size, said * 1e6, color=colour, lw=1.4)
        axes.plot(size, seen * 1e6, "o", color=colour, ms=4, label=f"{ends[0]} ↔ {ends[1]}")
    style.log_axis(axes, "x", "size")
    style.log_axis(axes, "y", "time [us]")
    _log_ticks(axes)
    axes.set_title("A message alone")
    axes.grid(visible=True)
    axes.legend()


def _draw_windows(axes: Axes, found: Calibration) -> None:
    present = [name for name in WINDOWS if any(p.size == 8 for p, _, _ in _series(found, name))]
    for name, colour in zip(present, _colours(len(present)), strict=True):
        rows = sorted((p.x, m, f) for p, m, f in _series(found, name) if p.size == 8)
        count, measured, fitted = (np.array(column) for column in zip(*rows, strict=True))
        axes.plot(count, fitted * 1e6, color=colour, lw=1.4)
        axes.plot(count, measured * 1e6, "o", color=colour, ms=4, label=WINDOWS[name])
    axes.set(
        xlabel="messages of 8 B at once",
        ylabel="time [us]",
        title="Small messages under way at once",
    )
    axes.set_ylim(bottom=0)
    axes.grid(visible=True)
    axes.legend()


def draw_ratios(found: Calibration) -> Figure:
    """Measured over fitted of every probe, by series."""
    figure = style.new_figure(10.5, 2.9)
    axes = figure.subplots()
    fit = found.found.fit
    names = list(dict.fromkeys(probe.series for probe in fit.probes))
    ratio = fit.measured_s / fit.fitted_s
    start = 0
    for name, colour in zip(names, _colours(len(names)), strict=True):
        rows = [k for k, probe in enumerate(fit.probes) if probe.series == name]
        at = np.arange(start, start + len(rows))
        low, high = (
            np.array(
                [
                    np.percentile(found.data.times_s[fit.probes[k].name], q) / fit.fitted_s[k]
                    for k in rows
                ]
            )
            for q in (25, 75)
        )
        axes.vlines(at, low, high, color=colour, lw=1)
        axes.plot(at, ratio[rows], "o", color=colour, ms=3.5, label=name)
        start += len(rows) + 1
    axes.axhline(1, color=style.BOUND, lw=1)
    style.log_axis(axes, "y", "measured / fitted")
    axes.set_xticks([])
    _plain_ticks(axes, [*ratio, 0.8, 1.25])
    axes.grid(visible=True, axis="y")
    axes.legend(ncols=len(names), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _log_ticks(axes: Axes) -> None:
    """Sizes across, plain numbers up."""
    size_ticks(axes.xaxis, *axes.get_xlim())
    _digits(axes.yaxis)


def _digits(axis: Any) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 of every decade, written as plain numbers.

    Of many decades at 1.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,), numticks=20))
    if high < 5 * low:
        axis.set_major_locator(LogLocator(subs=tuple(range(1, 10)), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def _plain_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Few plain numbers on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    low, high = min(values) * 0.95, max(values) * 1.05
    axes.set_ylim(low, high)
    near, far = (0.8, 0.9, 1.0, 1.1, 1.25), (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    steps = near if high < 2.5 * low else far
    ticks = [tick for tick in steps if low <= tick <= high]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_yticklabels([f"{tick:g}" for tick in ticks])


def draw_policies(found: Calibration) -> Figure:
    """A barrier over the ranks; when a send ends whose receive is late."""
    from matplotlib.ticker import MaxNLocator

    figure = style.new_figure(10.5, 3.2)
    left, right = figure.subplots(1, 2)
    ranks, times, errors = (np.array(column) for column in zip(*found.found.barriers, strict=True))
    curve = np.unique(np.linspace(ranks.min(), ranks.max(), 50))
    barrier = found.found.machine.costs.synchronization
    left.plot(
        curve,
        np.maximum(barrier.base_s + barrier.per_log2_s * np.log2(curve), 0) * 1e6,
        color=style.ACCENT,
        lw=1.4,
    )
    left.errorbar(
        ranks, times * 1e6, yerr=1.96 * errors * 1e6, fmt="o", ms=4, color=style.ACCENT, lw=1
    )
    left.set(xlabel="ranks", ylabel="barrier [us]", title="A barrier")
    left.set_ylim(bottom=0)
    left.set_xlim(ranks.min() - 0.5, ranks.max() + 0.5)
    left.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    left.grid(visible=True)
    late = [probe for probe in found.probes if probe.series == "late"]
    size = [probe.size for probe in late]
    right.plot(
        size,
        [found.data.typical_s(probe.name) * 1e3 for probe in late],
        "o",
        ms=4,
        color=style.ACCENT,
        label="send ends",
    )
    right.plot(
        size,
        [probe.late_s * 1e3 for probe in late],
        color=style.BOUND,
        lw=1,
        label="receive is posted",
    )
    style.log_axis(right, "x", "size")
    style.log_axis(right, "y", "time [ms]")
    _log_ticks(right)
    right.set_title("Sends whose receive is late")
    right.grid(visible=True)
    right.legend()
    return figure


def draw_contention(found: Calibration) -> Figure:
    """Time over what fair sharing takes, by how many messages share a link.

    And of messages behind one held up.
    """
    contention = found.found.contention
    assert contention is not None
    figure = style.new_figure(10.5, 3.0)
    left, right = figure.subplots(1, 2)
    count, over = (np.array(column) for column in zip(*contention.sharing, strict=True))
    left.plot(count, over, "o-", color=style.ACCENT, ms=4, lw=1.2)
    left.axhline(1, color=style.BOUND, lw=1)
    left.set(
        xlabel="messages through one link",
        ylabel="time / fair time",
        title="Messages that share a link",
    )
    left.set_ylim(0, max(1.3, float(over.max()) * 1.1))
    left.grid(visible=True)
    if contention.pressure:
        right.bar(
            np.arange(len(contention.pressure)), contention.pressure, color=style.ACCENT, width=0.5
        )
        right.axhline(1, color=style.BOUND, lw=1)
        right.set(
            xticks=np.arange(len(contention.pressure)),
            xlabel="place",
            ylabel="time / fair time",
            title="Behind a message that is held up further on",
        )
    else:
        right.set_axis_off()
    return figure


def draw_held_back(found: Calibration) -> Figure:
    """Predicted against measured."""
    figure = style.new_figure(5.6, 4.4)
    axes = figure.subplots()
    measured = np.array([row.measured_s for row in found.held_back]) * 1e3
    formula = np.array([row.formula_s for row in found.held_back]) * 1e3
    model = np.array([row.model_s for row in found.held_back]) * 1e3
    ends = np.array(
        [min(measured.min(), formula.min()) * 0.7, max(measured.max(), formula.max()) * 1.4]
    )
    axes.plot(ends, ends, color=style.BOUND, lw=1)
    axes.fill_between(
        ends, ends * 0.9, ends * 1.1, color=style.BOUND, alpha=0.12, lw=0, label="within 10 %"
    )
    axes.plot(measured, formula, "s", ms=5, mfc="none", color=style.QUIET, label="formula")
    axes.plot(measured, model, "o", ms=5, color=style.ACCENT, label=found.machine.costs.model)
    style.log_axis(axes, "x", "measured [ms]")
    style.log_axis(axes, "y", "predicted [ms]")
    axes.set(xlim=ends, ylim=ends)
    for axis in (axes.xaxis, axes.yaxis):
        _digits(axis)
    axes.grid(visible=True)
    axes.legend()
    return figure
