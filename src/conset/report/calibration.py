"""Report on a calibration: parameters with intervals, measured against fitted, held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import Floats, count_of, format_size, format_time
from conset.report import style
from conset.report.charts import Line, Panel, picture_charts
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


def draw_lone(found: Calibration) -> style.Figure:
    """Draw a message alone over its size; the time from one message of a window to the next."""
    fit = found.found.fit
    chains: dict[str, list[tuple[float, float, float]]] = {}
    windows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WINDOWS}
    for probe, measured, fitted in zip(fit.probes, fit.measured_s, fit.fitted_s, strict=True):
        pattern, count = probe.schedule.pattern, probe.schedule.transfers
        if probe.series == "chain" and not (probe.size == 8 and count == 2):
            ends = f"{pattern.source.min()} ↔ {pattern.source.max()}"
            chains.setdefault(ends, []).append((probe.size, measured / count, fitted / count))
        elif probe.series in windows and probe.size == 8:
            windows[probe.series].append((probe.x, measured, fitted))
    own = {WINDOWS[name]: points for name, points in windows.items() if points}
    small = "Small messages under way at once", "messages of 8 B at once"
    panels = [
        _fitted_panel(chains, "A message alone", "size", log_x=10, log_y=True, ticks=size_ticks),
        _fitted_panel(own, *small),
    ]
    return picture_charts(panels, height=3.1)


def _fitted_panel(
    families: Mapping[str, Sequence[tuple[float, float, float]]], title: str, x: str, **how: Any
) -> Panel:
    """Return a panel of (place, measured, fitted) by families: marks are measured, lines fitted."""
    lines = []
    for colour, (name, points) in enumerate(families.items()):
        places, measured, fitted = np.array(sorted(points)).T
        lines.append(Line("", places, fitted * 1e6, "curve", colour))
        lines.append(Line(name, places, measured * 1e6, "points", colour))
    return Panel(title, x, "time [us]", lines, **how)


def draw_ratios(found: Calibration) -> style.Figure:
    """Draw measured over fitted of every probe, by series, with the middle half of each."""
    fit = found.found.fit
    ratio = fit.measured_s / fit.fitted_s
    lines, start = [Line("", (), [1], "bound")], 0
    for name in dict.fromkeys(probe.series for probe in fit.probes):
        rows = [k for k, probe in enumerate(fit.probes) if probe.series == name]
        times = [np.asarray(found.data.times_s[fit.probes[k].name]) / fit.fitted_s[k] for k in rows]
        half = np.transpose([np.percentile(each, (25, 75)) for each in times])
        at = np.arange(start, start + len(rows))
        lines.append(Line(name, at, ratio[rows], "points", span=(half[0], half[1])))
        start += len(rows) + 1
    limits = min(*ratio, 0.8) * 0.95, max(*ratio, 1.25) * 1.05
    panel = Panel(
        "",
        "probes, by series",
        "measured / fitted",
        lines,
        log_y=True,
        ticks=lambda axis, *_: axis.set_ticks([]),
        y_limits=limits,
        legend="outside",
        y_ticks=style.ratio_ticks,
    )
    return picture_charts([panel], width=10.5, height=2.1)


def draw_policies(found: Calibration) -> style.Figure:
    """Draw a barrier over the ranks; when a send ends whose receive is late."""
    ranks, times, errors = (np.array(column) for column in zip(*found.found.barriers, strict=True))
    curve = np.unique(np.linspace(ranks.min(), ranks.max(), 50))
    barrier = found.found.machine.costs.synchronization
    fitted_s = np.maximum(barrier.base_s + barrier.per_log2_s * np.log2(curve), 0)
    reach = 1.96 * errors
    span = (times - reach) * 1e6, (times + reach) * 1e6
    barriers = [
        Line("", curve, fitted_s * 1e6, "curve", 0),
        Line("", ranks, times * 1e6, "points", 0, span=span),
    ]
    late = [probe for probe in found.probes if probe.series == "late"]
    size, posted = [probe.size for probe in late], [probe.late_s * 1e3 for probe in late]
    sends = [
        Line("send ends", size, [found.data.typical_s(p.name) * 1e3 for p in late], "points"),
        Line("receive is posted", size, posted, "bound"),
    ]
    limits = ranks.min() - 0.5, ranks.max() + 0.5
    title, up = "Sends whose receive is late", "time [ms]"
    panels = [
        Panel(
            "A barrier",
            "ranks",
            "barrier [us]",
            barriers,
            x_limits=limits,
            ticks=lambda axis, *_: style.whole_ticks(axis, 6),
        ),
        Panel(title, "size", up, sends, log_x=10, log_y=True, ticks=size_ticks),
    ]
    return picture_charts(panels, height=2.4)


def draw_contention(contention: Contention) -> style.Figure:
    """Draw times over fair sharing, of messages on one link, and behind one that is held up."""
    count, over = (np.array(column) for column in zip(*contention.sharing, strict=True))
    fair, up = Line("", (), [1], "bound"), "time / fair time"
    lines, limits = [Line("", count, over), fair], (0, max(1.3, float(over.max()) * 1.1))
    across = "messages through one link"
    panels = [Panel("Messages that share a link", across, up, lines, y_limits=limits)]
    places = range(len(contention.pressure))
    if places:
        lines = [Line("", places, contention.pressure, "bars"), fair]
        title, ticks = "Behind a message that is held up further on", (places, [*map(str, places)])
        panels.append(Panel(title, "place", up, lines, ticks=ticks))
    return picture_charts(panels, height=2.2)


def draw_held_back(found: Calibration) -> style.Figure:
    """Draw predicted against measured."""
    measured, formula, model = (
        np.array([getattr(row, name) for row in found.held_back]) * 1e3
        for name in ("measured_s", "formula_s", "model_s")
    )
    low, high = min(measured.min(), formula.min()) * 0.7, max(measured.max(), formula.max()) * 1.4
    ends: Floats = np.array([low, high])
    band = ends * 0.9, ends * 1.1
    lines = [
        Line("equal; the band is 10 %", ends, ends, "bound", span=band, filled=True),
        Line("formula", measured, formula, "rings", look={"marker": "s", "markersize": 5}),
        Line(found.machine.costs.model, measured, model, "points", 0),
    ]
    panel = Panel(
        "",
        "measured [ms]",
        "predicted [ms]",
        lines,
        log_x=10,
        log_y=True,
        ticks=style.plain_log_ticks,
        x_limits=(low, high),
        y_limits=(low, high),
    )
    return picture_charts([panel], height=3.6)
