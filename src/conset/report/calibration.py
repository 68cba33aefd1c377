"""Report on a calibration: parameters with intervals, measured against fitted, held back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import Floats, count_of, format_size, format_time
from conset.report import style
from conset.report.page import write_sections
from conset.report.pattern import size_ticks
from conset.report.sections import Part, Section, Table
from conset.studies import Calibration, Contention

WINDOWS = {
    "pair": "one pair",
    "out": "out of one rank",
    "in": "into one rank",
    "both": "both ways",
}
"""Series of messages under way at once, as pictures name them."""
DOTS: Any = {"marker": "o", "linestyle": "none", "ms": 4}
"""The look of what was measured."""


def calibration_section(found: Calibration) -> Section:
    """Return the parameters with intervals, the exchanges that none was fitted to, and notes."""
    held_back = Part(table=held_back_table(found), text="\n".join(calibration_lines(found)))
    return Section("", parts=[Part(table=words_table(found)), held_back])


def words_table(found: Calibration) -> Table:
    """Return word, value with interval, what it was estimated from."""
    rows = [(each.word, each.text, each.source.partition("; ")[0]) for each in found.words]
    return Table(("word", "value (95 % interval)", "read from"), rows, (0, 1, 2), (1, 2))


def held_back_table(found: Calibration) -> Table:
    """Return the exchanges that no word was fitted to: measured, by model, by formula, errors."""
    rows = [
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
    times = ("measured", "middle half", "by model", "error", "by formula", "error")
    return Table(("held back", *times), rows, left=(0,))


def calibration_lines(found: Calibration) -> list[str]:
    """Return how it was measured, how well the parameters fit, what is contradicted or unknown."""
    data = found.data
    repeat = min(len(times) for times in data.times_s.values())
    probes, ranks = count_of(len(found.probes), "probe"), count_of(data.ranks, "rank")
    measured = f"{probes} on {ranks} over {data.by}, {count_of(repeat, 'repetition')}"
    shared = f"{data.local_ranks} ranks share {data.cores} cores"
    return [
        f"{measured}; fitted {_deviation(found)}",
        *([f"{shared}: times hold for ranks that do"] if data.oversubscribed else []),
        *found.notes,
    ]


def _deviation(found: Calibration) -> str:
    return f"within {np.exp(found.found.fit.deviation) - 1:.1%} (median)"


def write_calibration_page(path: Path, found: Calibration, command: str) -> None:
    """Write the report as one HTML file; the same calibration gives the same bytes."""
    worst = max((abs(row.model_error) for row in found.held_back), default=0.0)
    policies = [
        Part("Barriers and sends whose receive is late", draws=[lambda: draw_policies(found)])
    ]
    title, about, label = "Policies", "barriers, signals, eager messages", "measured"
    contention = found.found.contention
    if contention is not None:
        title, label = "Policies and contention", contention.model
        about = "what messages do to each other"
        rows = [(model, f"{error:.3f}") for model, error in contention.errors.items()]
        table = Table(("model", "rms of log(measured / simulated)"), rows, left=(0,))
        draw = [lambda: draw_contention(contention)]
        policies.append(Part("What meets on links", table=table, draws=draw))
    fitted = [
        Part(
            "Messages alone, and several under way at once",
            draws=[lambda: draw_lone(found)],
        ),
        Part("Every probe, measured over fitted", draws=[lambda: draw_ratios(found)]),
    ]
    held_back = [Part(table=held_back_table(found), draws=[lambda: draw_held_back(found)])]
    file = Table(("",), [(line,) for line in found.text.splitlines()], left=(0,), wrapped=(0,))
    executed = [
        Part("All probes", table=_probes_table(found), folded=True),
        Part("The machine file", table=file, folded=True),
    ]
    no_word = "exchanges that no word was fitted to; error: predicted over measured, less 1"
    sections = [
        Section(name, subtitle, True, (), parts, verdict)
        for name, subtitle, parts, verdict in (
            (
                "Measured against fitted",
                "dots are measured, lines fitted",
                fitted,
                _deviation(found),
            ),
            (title, about, policies, label),
            ("Held back", no_word, held_back, f"worst {worst:.0%}"),
            ("What was executed", f"{len(found.probes)} probes", executed, found.data.by),
        )
    ]
    notes = calibration_lines(found)
    write_sections(path, "A machine calibrated", command, words_table(found), notes, sections)


def _probes_table(found: Calibration) -> Table:
    fit = found.found.fit
    fitted_s = {p.name: float(time) for p, time in zip(fit.probes, fit.fitted_s, strict=True)}
    rows = []
    for probe in found.probes:
        measured, fitted = found.data.typical_s(probe.name), fitted_s.get(probe.name)
        row = [probe.label or probe.name, probe.series, format_size(probe.size)]
        ratio = ["", ""] if fitted is None else [format_time(fitted), f"{measured / fitted:.3f}"]
        rows.append([*row, format_time(measured), *ratio])
    columns = ("probe", "series", "size", "measured", "fitted", "ratio")
    return Table(columns, rows, left=(0, 1))


# Pictures


def _colours(count: int) -> list[object]:
    return list(style.colour_map()(np.linspace(0.1, 0.95, max(count, 2))))[:count]


def draw_lone(found: Calibration) -> style.Figure:
    """Draw a message alone over its size; the time from one message of a window to the next."""
    figure = style.new_figure(10.5, 3.9)
    left, right = figure.subplots(1, 2)
    fit = found.found.fit
    rows = list(zip(fit.probes, fit.measured_s, fit.fitted_s, strict=True))
    chains: dict[str, list[tuple[float, float, float]]] = {}
    windows: dict[str, list[tuple[float, float, float]]] = {}
    for probe, measured, fitted in rows:
        pattern, count = probe.schedule.pattern, probe.schedule.transfers
        if probe.series == "chain" and not (probe.size == 8 and count == 2):
            ends = f"{pattern.source.min()} ↔ {pattern.source.max()}"
            chains.setdefault(ends, []).append((probe.size, measured / count, fitted / count))
    for name, label in WINDOWS.items():
        own = [(p.x, m, f) for p, m, f in rows if p.series == name and p.size == 8]
        windows |= {label: own} if own else {}
    for axes, families in ((left, chains), (right, windows)):
        for (label, points), colour in zip(families.items(), _colours(len(families)), strict=True):
            x, measured, fitted = (np.array(column) for column in zip(*sorted(points), strict=True))
            axes.plot(x, fitted * 1e6, color=colour, lw=1.4)
            axes.plot(x, measured * 1e6, color=colour, label=label, **DOTS)
        axes.grid(visible=True)
    style.log_axis(left, "x", "size")
    style.log_axis(left, "y", "time [us]")
    _log_ticks(left)
    left.set_title("A message alone")
    right.set(
        xlabel="messages of 8 B at once",
        ylabel="time [us]",
        title="Small messages under way at once",
    )
    right.set_ylim(bottom=0)
    left.legend()
    right.legend()
    return figure


def draw_ratios(found: Calibration) -> style.Figure:
    """Draw measured over fitted of every probe, by series."""
    from matplotlib.ticker import FixedLocator, NullFormatter

    figure = style.new_figure(10.5, 2.9)
    axes = figure.subplots()
    fit = found.found.fit
    names = list(dict.fromkeys(probe.series for probe in fit.probes))
    ratio = fit.measured_s / fit.fitted_s
    start = 0
    for name, colour in zip(names, _colours(len(names)), strict=True):
        rows = [k for k, probe in enumerate(fit.probes) if probe.series == name]
        at = np.arange(start, start + len(rows))
        times = [np.asarray(found.data.times_s[fit.probes[k].name]) / fit.fitted_s[k] for k in rows]
        low, high = (np.array([np.percentile(t, q) for t in times]) for q in (25, 75))
        axes.vlines(at, low, high, color=colour, lw=1)
        axes.plot(at, ratio[rows], "o", color=colour, ms=3.5, label=name)
        start += len(rows) + 1
    axes.axhline(1, color=style.BOUND, lw=1)
    style.log_axis(axes, "y", "measured / fitted")
    axes.set_xticks([])
    least, most = min(*ratio, 0.8) * 0.95, max(*ratio, 1.25) * 1.05
    near, far = (0.8, 0.9, 1.0, 1.1, 1.25), (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    ticks = [tick for tick in (near if most < 2.5 * least else far) if least <= tick <= most]
    axes.set_ylim(least, most)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.minorticks_off()
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_yticklabels([f"{tick:g}" for tick in ticks])
    axes.grid(visible=True, axis="y")
    axes.legend(ncols=len(names), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _log_ticks(axes: style.Axes) -> None:
    """Set sizes across, plain numbers up."""
    size_ticks(axes.xaxis, *axes.get_xlim())
    _digits(axes.yaxis)


def _digits(axis: Any) -> None:
    """Set ticks of a logarithmic axis at 1, 2 and 5 of every decade; of many decades at 1."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = axis.get_view_interval()
    subs: Sequence[int] = (1, 2, 5) if high < 300 * low else (1,)
    subs = range(1, 10) if high < 5 * low else subs
    axis.set_major_locator(LogLocator(subs=subs, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.minorticks_off()


def draw_policies(found: Calibration) -> style.Figure:
    """Draw a barrier over the ranks; when a send ends whose receive is late."""
    figure = style.new_figure(10.5, 3.2)
    left, right = figure.subplots(1, 2)
    ranks, times, errors = (np.array(column) for column in zip(*found.found.barriers, strict=True))
    curve = np.unique(np.linspace(ranks.min(), ranks.max(), 50))
    barrier = found.found.machine.costs.synchronization
    fitted_s = np.maximum(barrier.base_s + barrier.per_log2_s * np.log2(curve), 0)
    look: Any = {"color": style.ACCENT}
    left.plot(curve, fitted_s * 1e6, lw=1.4, **look)
    left.errorbar(ranks, times * 1e6, yerr=1.96 * errors * 1e6, fmt="o", ms=4, lw=1, **look)
    left.set(xlabel="ranks", ylabel="barrier [us]", title="A barrier")
    left.set_ylim(bottom=0)
    left.set_xlim(ranks.min() - 0.5, ranks.max() + 0.5)
    style.whole_ticks(left.xaxis, 6)
    late = [probe for probe in found.probes if probe.series == "late"]
    size = [probe.size for probe in late]
    ended = [found.data.typical_s(probe.name) * 1e3 for probe in late]
    right.plot(size, ended, label="send ends", **look, **DOTS)
    posted = [probe.late_s * 1e3 for probe in late]
    right.plot(size, posted, color=style.BOUND, lw=1, label="receive is posted")
    style.log_axis(right, "x", "size")
    style.log_axis(right, "y", "time [ms]")
    _log_ticks(right)
    right.set_title("Sends whose receive is late")
    left.grid(visible=True)
    right.grid(visible=True)
    right.legend()
    return figure


def draw_contention(contention: Contention) -> style.Figure:
    """Draw times over fair sharing, of messages on one link, and behind one that is held up."""
    figure = style.new_figure(10.5, 3.0)
    left, right = figure.subplots(1, 2)
    count, over = (np.array(column) for column in zip(*contention.sharing, strict=True))
    left.plot(count, over, "o-", color=style.ACCENT, ms=4, lw=1.2)
    left.axhline(1, color=style.BOUND, lw=1)
    left.set(
        xlabel="messages through one link",
        ylabel="time / fair time",
        title="Messages that share a link",
        ylim=(0, max(1.3, float(over.max()) * 1.1)),
    )
    left.grid(visible=True)
    places = np.arange(len(contention.pressure))
    if places.size:
        right.bar(places, contention.pressure, color=style.ACCENT, width=0.5)
        right.axhline(1, color=style.BOUND, lw=1)
        right.set(
            xticks=places,
            xlabel="place",
            ylabel="time / fair time",
            title="Behind a message that is held up further on",
        )
    else:
        right.set_axis_off()
    return figure


def draw_held_back(found: Calibration) -> style.Figure:
    """Draw predicted against measured."""
    figure = style.new_figure(5.6, 4.4)
    axes = figure.subplots()
    measured, formula, model = (
        np.array([getattr(row, name) for row in found.held_back]) * 1e3
        for name in ("measured_s", "formula_s", "model_s")
    )
    low, high = min(measured.min(), formula.min()) * 0.7, max(measured.max(), formula.max()) * 1.4
    ends: Floats = np.array([low, high])
    axes.plot(ends, ends, color=style.BOUND, lw=1)
    axes.fill_between(
        ends, ends * 0.9, ends * 1.1, color=style.BOUND, alpha=0.12, lw=0, label="within 10 %"
    )
    axes.plot(measured, formula, "s", ms=5, mfc="none", color=style.QUIET, label="formula")
    name = found.machine.costs.model
    axes.plot(measured, model, "o", ms=5, color=style.ACCENT, label=name)
    style.log_axis(axes, "x", "measured [ms]")
    style.log_axis(axes, "y", "predicted [ms]")
    axes.set(xlim=ends, ylim=ends)
    _digits(axes.xaxis)
    _digits(axes.yaxis)
    axes.grid(visible=True)
    axes.legend()
    return figure
