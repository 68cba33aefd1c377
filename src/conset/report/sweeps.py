"""Studies over a parameter: contention, sizes, the map, load, and scheduling at run time.

The contention curve as Figures 12 to 15 of Bokhari and Nicol: from left to right fewer barriers
and more messages in flight together. The map as Wang and Ranka's Figure 5 (the best method over
message size and density), or over message size and machine, as Figure 11 of Bokhari and Nicol.
What scheduling at run time costs as Wang and Ranka's Figures 10 and 11.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from conset.base import count_of, format_size, format_time
from conset.compilation import sweeps_link_limit
from conset.models import LoadCurve
from conset.report import style
from conset.report.charts import Line, Panel, picture_charts, surround
from conset.report.pattern import size_ticks
from conset.report.sections import Part, Section, Table
from conset.studies import (
    MIN_REPEATS,
    Cell,
    Curve,
    CurvePoint,
    Regions,
    RunTimeCosts,
    RunTimeResult,
    RunTimeRow,
    StageRow,
)

TICKS = 12
"""Most numbers of groups below the axis of a curve."""
MARKERS = "sD^vP*"
ASKED = "X"
"""The mark of what was asked for by its word."""
ROOM = 10.0
"""The axis of latency ends at so many times that of an empty network: beyond is a wall."""


def _by(model: str) -> str:
    """Return `predicted by formula` or `simulated by circuit`."""
    return f"{'predicted' if model == 'formula' else 'simulated'} by {model}"


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


# The contention curve


def curves_section(curves: Sequence[Curve], pattern: str, machine: str) -> Section:
    """Return a table and notes for each size; the picture is of all."""
    title = f"{pattern} on {machine}: contention against synchronization"
    sizes = " and ".join(format_size(curve.size) for curve in curves)
    steps = f"{curves[0].steps:,} steps without contention"
    subtitle = f"bounded, {steps}, messages of {sizes}; ringed: the least"
    draw = partial(picture_curve, curves, title=title, subtitle=subtitle)
    parts = [
        Part(
            "" if len(curves) == 1 else f"messages of {format_size(curve.size)}",
            table=curve_table(curve),
            notes=curve_lines(curve),
            draws=[draw] if curve is curves[0] else [],
        )
        for curve in curves
    ]
    return Section(title, parts=parts)


def curve_table(curve: Curve) -> Table:
    """Return a row for each point; the best is bold, points a node has no room for are quiet."""
    by_formula = curve.by == "formula"
    rows = []
    for point in curve.points:
        time = "–" if point.time_s is None else format_time(point.time_s)
        serial = (format_time(time_s) for time_s in (point.serial_least_s, point.serial_most_s))
        rows.append(
            [
                f"({point.node}, {point.link})",
                str(point.contention),
                f"{point.phases:,}",
                point.sync,
                f"{point.groups:,}",
                format_time(point.synchronization_s),
                *([] if by_formula else [time]),
                format_time(point.predicted_s),
                format_time(point.lower_s),
                " to ".join(serial),
            ]
        )
    times = ("by formula",) if by_formula else (f"by {curve.by}", "by formula")
    head = ("(node, link)", "contention", "phases", "sync", "groups", "barriers")
    best = [k for k, point in enumerate(curve.points) if point is curve.best]
    dim = [k for k, point in enumerate(curve.points) if not point.fits]
    return Table((*head, *times, "bound", "serial steps"), rows, (3,), best=best, dim=dim)


def curve_lines(curve: Curve) -> list[str]:
    """Return the notes below the table."""
    best = curve.best
    naive = "cannot run, or was cut" if curve.naive_s is None else format_time(curve.naive_s)
    where = f"contention {best.contention} under {best.sync}"
    barrier = f"a barrier {format_time(curve.barrier_s)}"
    alone = f"a message of {format_size(curve.size)} alone {format_time(curve.message_s)}"
    lines = [
        f"least {_by(curve.by)}{_in_brackets(curve.stands_in)}: {where}; the naive exchange "
        f"{naive}",
        f"{count_of(curve.steps, 'step')} without contention; {barrier}, {alone}; serial steps: an "
        "estimate, with links that cost nothing to links that take turns, which overlapping "
        "messages pass below",
    ]
    if not all(point.fits for point in curve.points):
        lines.append("dim: more receives posted at once than a node can hold")
    cut = [point.untimed for point in curve.points if point.untimed.startswith("cut ")]
    return [*lines, *(f"–: {reason}" for reason in cut[:1])]


def picture_curve(curves: Sequence[Curve], *, title: str, subtitle: str = "") -> style.Figure:
    """Draw for each size times of every pair, the best marked, bounds and estimates as lines."""
    panels = [_curve_panel(curve) for curve in curves]
    width = 10 if len(curves) == 1 else 6.5
    return picture_charts(panels, title=title, subtitle=subtitle, width=width, height=4.5)


def _curve_panel(curve: Curve) -> Panel:
    points, best = curve.points, curve.best
    shown = [time for point in points for time in (point.time_s, point.lower_s) if time]
    top = max(shown, default=1.0)
    factor, unit = style.time_unit(top)

    def line(of: Iterable[CurvePoint], time: str, name: str, kind: str, **look: Any) -> Line:
        """Return a line by falling groups."""
        ordered = sorted(of, key=lambda point: -point.groups)
        times = [getattr(point, time) / factor for point in ordered]
        return Line(name, [point.groups for point in ordered], times, kind, look=look)

    contentions = sorted({point.contention for point in points})
    place = np.linspace(0.2, 0.8, len(contentions)) if len(contentions) > 1 else [0.65]
    lines = []
    for k, contention in enumerate(contentions):
        # lines that coincide show all
        width = 1.2 + 4 * (len(contentions) - 1 - k) / max(len(contentions), 3)
        own = [p for p in points if p.contention == contention and p.time_s is not None and p.fits]
        look = {"color": style.amount_map()(place[k]), "linewidth": width, "markersize": 3 + width}
        name = f"contention {contention}"
        lines.append(line(own, "time_s", name, "line", marker="o", linestyle="-", zorder=3, **look))
    least: dict[int, CurvePoint] = {}
    for point in sorted(points, key=lambda point: point.lower_s):
        least.setdefault(point.groups, point)
    lines.append(line(least.values(), "lower_s", "bound, least of all", "bound"))
    for name, what, dash in (
        ("serial_most_s", "take turns", (0, (5, 2))),
        ("serial_least_s", "cost nothing", (0, (1.5, 1.5))),
    ):
        text = f"serial steps, links {what} (estimate)"
        lines.append(line(curve.serial, name, text, "quiet", linestyle=dash))
    if curve.naive_s is not None:
        naive = [curve.naive_s / factor]
        lines.append(Line("the naive exchange", (), naive, "plain", look={"linestyle": "-."}))
    time_s = best.predicted_s if best.time_s is None else best.time_s
    lines.append(Line("", [best.groups], [time_s / factor], "rings", look={"zorder": 4}))
    groups = sorted({point.groups for point in points}, reverse=True)
    spread = groups[:: -(-len(groups) // TICKS)]
    least_time = f"least {format_time(time_s)}, contention {best.contention}, {best.sync}"
    return Panel(
        f"{format_size(curve.size)}: {least_time}",
        "groups of phases between barriers",
        f"time {_by(curve.by)} [{unit}]",
        lines,
        log_x=10,
        ticks=(spread, [f"{count:,}" for count in spread]),
        x_limits=(max(groups) * 1.25, min(groups) / 1.25),
        y_limits=(0, top / factor * 1.12),
    )


# Programs of stages over sizes


def tradeoff_section(rows: Sequence[StageRow], pattern: str, machine: str) -> Section:
    """Return times and volumes of programs; the least time of each size is bold."""
    title, notes = f"{pattern} on {machine}: messages combined in stages", tradeoff_lines(rows)
    draw = partial(draw_tradeoff, rows, title=title, subtitle=notes[0])
    best, cells = _best(rows), []
    for row in rows:
        direct = [r.time_s for r in rows if r.size == row.size and r.stages == 1]
        cells.append(
            (
                format_size(row.size),
                row.name,
                row.combine,
                f"{row.bundles:,}",
                f"{row.volume:.3f}",
                format_time(row.time_s),
                f"{row.time_s / direct[0]:.3f}" if direct else "",
                format_time(row.bound_s),
            )
        )
    columns = ("size", "program", "paths", "bundles", "volume", "time", "of direct", "bound")
    least = [k for k, row in enumerate(rows) if row is best[row.size]]
    table = Table(columns, cells, (1, 2), best=least, key=5)
    return Section(title, parts=[Part(table=table, notes=notes, draws=[draw])])


def _best(rows: Sequence[StageRow]) -> dict[int, StageRow]:
    """Return of each size [B], ascending, the row with the least time."""
    sizes = sorted({row.size for row in rows})
    return {s: min((r for r in rows if r.size == s), key=lambda r: r.time_s) for s in sizes}


def tradeoff_lines(rows: Sequence[StageRow]) -> list[str]:
    """Return the notes below the table."""
    names = [(format_size(size), row.name) for size, row in _best(rows).items()]
    changes = [names[k] for k in range(len(names)) if k == 0 or names[k][1] != names[k - 1][1]]
    by = ", ".join(sorted({row.by for row in rows}))
    volume = "volume: bytes sent over bytes delivered"
    return [
        "least: " + ", ".join(f"{name} from {size}" for size, name in changes),
        f"times by {by}; {volume}; the bound is that of any number of stages",
    ]


Looks = dict[str, dict[str, Any]]
"""Program → how its line is drawn."""


def draw_tradeoff(rows: Sequence[StageRow], *, title: str, subtitle: str = "") -> style.Figure:
    """Draw time over size for each number of stages, and what each costs in bytes.

    Args:
        rows: of at least one size; bytes are those of the smallest.
        title: first line.
        subtitle: a second, quieter line.
    """
    names = list(dict.fromkeys(row.name for row in rows))
    stages = [name for name in names if name.endswith(("stage", "stages"))]
    shades = style.amount_map()(np.linspace(0.12, 0.88, max(len(stages), 2)))
    asked = {"color": style.QUIET, "marker": ASKED, "linestyle": "--"}
    looks: Looks = dict.fromkeys(names, asked)
    looks["direct"] = {"color": style.INK, "marker": "o", "linestyle": "-"}
    for k, name in enumerate(stages):
        mark = MARKERS[k % len(MARKERS)]
        looks[name] = {"color": shades[k], "marker": mark, "linestyle": "-"}
    panels = _times_panel(rows, looks), _volumes_panel(rows, looks)
    return picture_charts(panels, title=title, subtitle=subtitle, width=6.5, height=4.6)


def _times_panel(rows: Sequence[StageRow], looks: Looks) -> Panel:
    lines = []
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        times = [row.time_s for row in own]
        lines.append(Line(name, [row.size for row in own], times, look=looks[name]))
    bound = dict(sorted({row.size: row.bound_s for row in rows}.items()))
    lines.append(Line("bound, any stages", list(bound), list(bound.values()), "bound"))
    return Panel(
        "time over size",
        "largest message",
        "time",
        lines,
        log_x=2,
        log_y=True,
        ticks=size_ticks,
        y_ticks=style.time_ticks,
    )


def _volumes_panel(rows: Sequence[StageRow], looks: Looks) -> Panel:
    """Return volume and time of every program at the smallest size, the longest time first."""
    size = min(row.size for row in rows)
    own = sorted((row for row in rows if row.size == size), key=lambda row: -row.time_s)
    chain = [row for row in rows if row.size == size and looks[row.name]["marker"] != ASKED]
    path = {"color": style.FAINT, "linestyle": "-", "zorder": 1}
    volumes, times = [row.volume for row in chain], [row.time_s for row in chain]
    lines = [
        Line("", volumes, times, "quiet", look=path),
        *(
            Line(
                f"{row.name}, {row.bundles:,} sent",
                [row.volume],
                [row.time_s],
                look={**looks[row.name], "linestyle": "none", "markersize": 9},
            )
            for row in own
        ),
        Line("bound", (), [own[0].bound_s], "bound"),
    ]
    return Panel(
        f"latency against volume, {format_size(size)}",
        "volume: bytes sent over bytes delivered",
        "time",
        lines,
        log_y=True,
        y_limits=(own[0].bound_s / 1.25, own[0].time_s * 1.25),
        legend="outside",
        y_ticks=style.time_ticks,
    )


# The map of the best methods


def regions_section(regions: Regions, generator: str, machine: str) -> Section:
    """Return a table with a row for each degree or machine, a column for each size."""
    of = f"{generator} patterns on"
    if regions.machines:
        of = "complete exchanges on machines up to"
    title, winner = f"Best method for {of} {machine}", describe_winner(regions)
    where = "in each cell" if winner else "below each name"
    least = f"least time {_by(regions.rank_by)}{_in_brackets(regions.stands_in)}"
    lead = f"{winner}; " if winner else ""
    subtitle = f"{lead}{least}; {where}: how much longer the next takes"
    draw = partial(picture_regions, regions, title=title, subtitle=subtitle)
    names, width = names_of(regions), len(regions.sizes)
    cells = [
        format_margin(cell) if winner else f"{name}\n{format_margin(cell)}"
        for name, cell in zip(names, regions.cells, strict=True)
    ]
    rows = [
        [name, *cells[row * width : (row + 1) * width]]
        for row, name in enumerate(row_names(regions))
    ]
    head = ["machine" if regions.machines else "degree", *map(format_size, regions.sizes)]
    table = Table(head, rows, range(1, 1 + width))
    return Section(title, parts=[Part(table=table, notes=regions_lines(regions), draws=[draw])])


def format_margin(cell: Cell) -> str:
    """Return `12 %`; `=` where another method takes the same."""
    if not cell.second or cell.margin == 0:
        return "=" if cell.second else ""
    percent = 100 * cell.margin
    return f"{percent:.0f} %" if percent >= 0.95 else "<1 %"


def names_of(regions: Regions) -> list[str]:
    """Return what is best in each cell, `bounded c 4` where a map has found the contention."""
    return [
        f"{cell.method} c {cell.contention}"
        if regions.machines and sweeps_link_limit(cell.method) and cell.contention is not None
        else cell.method
        for cell in regions.cells
    ]


def describe_winner(regions: Regions) -> str:
    """Return one sentence where a map has one winner: which, and by how much; else ""."""
    found = set(names_of(regions))
    if len(found) != 1 or len(regions.cells) < 2:
        return ""
    name, margins = found.pop(), [cell.margin for cell in regions.cells if cell.second]
    if not margins:
        return f"{name} is the only method that applies"
    if max(margins) == 0:
        return f"{name} takes the least time everywhere, and so do others"
    low, high = (f"{100 * margin:.3g} %" for margin in (min(margins), max(margins)))
    by = low if low == high else f"{low} to {high}"
    return f"{name} is best everywhere: the next method takes {by} longer"


def row_names(regions: Regions) -> list[str]:
    """Return machines, or degrees."""
    return list(regions.machines) or [str(degree) for degree in regions.degrees]


def describe_comparison(regions: Regions, used: str = "used") -> str:
    """Return what is compared, and how often a schedule is used.

    `naive, lp, each under its best policy`, or `naive, rs-n under none; lp under ready` as given.
    """
    often = "once" if regions.reuse == 1 else f"{regions.reuse:g} times"
    counted = f"a schedule {used} {often}, compile time of this computer counted"
    if regions.reuse == inf:
        counted = "compile time not counted"
    groups: dict[str, list[str]] = {}
    for method in regions.methods:
        groups.setdefault(" or ".join(regions.policies.get(method, ())), []).append(method)
    under = [f"{', '.join(names)} under {p or 'the best'}" for p, names in groups.items()]
    if set(groups) <= {""}:
        under = [f"{', '.join(regions.methods)}, each under its best policy"]
    return f"{'; '.join(under)}; {counted}"


def regions_lines(regions: Regions) -> list[str]:
    """Return the notes below the table."""
    winner = describe_winner(regions)
    below = "in each cell" if winner else "below each"
    least = f"least time {_by(regions.rank_by)}{_in_brackets(regions.stands_in)}"
    next_takes = f"{below}: how much longer the next method takes (= the same)"
    lines = [winner] if winner else []
    lines.append(f"{least}: {describe_comparison(regions, 'is used')}; {next_takes}")
    if regions.machines and any(sweeps_link_limit(cell.method) for cell in regions.cells):
        lines.append("c: the contention on links that was found best")
    refused = (f"{row['method']}: does not apply: {row['reason']}" for row in regions.skipped)
    return [*lines, *refused]


def picture_regions(regions: Regions, *, title: str, subtitle: str = "") -> style.Figure:
    """Draw in every cell the best and its margin, lines around regions.

    Args:
        regions: the map; sizes to the right, degrees or machines upwards.
        title: first line.
        subtitle: second line.
    """
    rows, columns = len(regions.degrees), len(regions.sizes)
    figure = style.new_figure(
        max(7.5, 1.6 + 0.72 * columns), 2.2 + 0.62 * max(rows, 3), title, subtitle
    )
    axes = figure.subplots()
    names, one = names_of(regions), bool(describe_winner(regions))
    # what is best somewhere: in the order of the methods, then by contention
    order = {method: k for k, method in enumerate(regions.methods)}
    found = dict(zip(names, regions.cells, strict=True))
    kinds = sorted(found, key=lambda name: (order[found[name].method], found[name].contention or 0))
    grid = np.array([kinds.index(name) for name in names]).reshape(rows, columns)
    shade = style.colour_map()(np.linspace(0.3, 0.97, max(len(kinds), 2)))[:, :3]
    pale = 1 - (1 - shade) * 0.72
    axes.imshow(pale[grid], aspect="auto", origin="lower", interpolation="nearest")
    centre: Any = {"ha": "center", "va": "center", "color": style.INK}
    for k, (row, column) in enumerate(np.ndindex(*grid.shape)):
        margin = format_margin(regions.cell(row, column))
        if one:
            axes.text(column, row, margin, size=9, **centre)
        else:
            size = min(9.0, 62 / max(len(names[k]), 1))
            axes.text(column, row + 0.12, names[k], size=size, weight="bold", **centre)
            axes.text(column, row - 0.24, margin, size=7.6, **centre)
    surround(axes, np.pad(grid, 1, mode="edge"), color=style.INK, linewidth=1.4)
    axes.set_xticks(np.arange(columns), [format_size(size) for size in regions.sizes])
    axes.set_yticks(np.arange(rows), row_names(regions))
    compared = textwrap.wrap(describe_comparison(regions), int(12 * figure.get_figwidth()))
    axes.set(
        xlabel="\n".join(["message size", *compared]),
        ylabel="machine" if regions.machines else "messages per rank",
    )
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


# Latency over load


def latency_section(curve: LoadCurve) -> Section:
    """Return latencies in cycles and as a time; saturated loads are quiet."""
    title, notes = f"latency over load: {curve.traffic} on {curve.machine}", latency_lines(curve)
    draw = partial(picture_latency, curve, title=title, subtitle=notes[1])
    rows = [
        (
            f"{point.load:.4f}",
            f"{point.accepted:.4f}",
            f"{point.mean_latency:,.1f}",
            "saturated" if point.saturated else format_time(point.mean_latency * curve.cycle_s),
            f"{point.p99_latency:,.0f}",
            f"{point.packets:,}",
            f"{point.undelivered:,}" if point.undelivered else "",
        )
        for point in curve.points
    ]
    columns = ("load", "carried", "mean latency", "time", "99th percentile", "packets")
    dim = [k for k, point in enumerate(curve.points) if point.saturated]
    table = Table((*columns, "not delivered"), rows, dim=dim)
    # differs from run to run, and files of the same seed must not
    took = f"took {format_time(curve.elapsed_s)} for {count_of(curve.events, 'flit move')}"
    return Section(title, parts=[Part(table=table, notes=notes, draws=[draw], text=took)])


def latency_lines(curve: LoadCurve) -> list[str]:
    """Return the notes below the table."""
    found = f"saturation above {curve.points[-1].load:.3f}"
    if curve.saturation is not None:
        found = f"saturation at {curve.saturation:.3f} flits per cycle and node"
    packets = f"packets of {curve.flits:g} flit{'' if curve.flits == 1 else 's'}"
    cycles = f"{curve.window.measured:,} cycles measured after {curve.window.warm_up:,}"
    return [
        f"{found}, bound {curve.bound:.3f} (a link or a node is full), by flit",
        f"empty network {curve.zero_load:.1f} cycles of {format_time(curve.cycle_s)}, {packets}, "
        f"{count_of(curve.lanes, 'lane')}, {cycles}",
    ]


def picture_latency(curve: LoadCurve, *, title: str, subtitle: str = "") -> style.Figure:
    """Draw mean and 99th percentile of latency, and the load carried, over the load offered."""
    figure = style.new_figure(9, 6.6, title, subtitle)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    load, accepted, mean, p99 = (
        np.array([getattr(point, name) for point in curve.points])
        for name in ("load", "accepted", "mean_latency", "p99_latency")
    )
    # up to the first load that saturates: beyond, latency is a matter of how long one looks
    holds = np.array([not point.saturated for point in curve.points])
    wall = holds.size if holds.all() else int(np.argmin(holds)) + 1
    ends = [Line(f"bound {curve.bound:.3f}: a link is full", [curve.bound], (), "bound")]
    if curve.saturation is not None:
        found = f"saturation {curve.saturation:.3f}"
        ends.insert(
            0, Line(found, [curve.saturation], (), "plain", look={"linestyle": (0, (5, 2))})
        )
    latencies = [
        Line("mean", load[:wall], mean[:wall]),
        Line("99th percentile", load[:wall], p99[:wall]),
        Line(f"empty network {curve.zero_load:.1f} cycles", (), [curve.zero_load], "quiet"),
    ]
    above = f"from release to delivery; a cycle is {format_time(curve.cycle_s)}"
    limits = 0, ROOM * curve.zero_load
    Panel(above, "", "latency [cycles]", [*latencies, *ends], y_limits=limits).draw(upper)
    loads = [
        Line("all that is offered", [0, 1], [0, 1], "quiet", look={"linestyle": "-"}),
        Line("carried", load, accepted),
    ]
    top = max(accepted.max(), min(curve.bound, float(load.max())))
    Panel(
        "",
        "offered load [flits per cycle and sending node]",
        "carried load",
        [*loads, *ends],
        x_limits=(0, max(load.max(), min(curve.bound, 1.0)) * 1.02),
        y_limits=(0, top * 1.15),
    ).draw(lower)
    return figure


# Scheduling at run time

COLUMNS = (
    *("method", "sync", "by", "phases", "rows", "schedule", "plan", "set-up", "use"),
    *("of naive", "share", "pays after"),
)
READING = (
    "times in ms; by: every rank computes the schedule (all), or one, which scatters it; use: one "
    "execution; share: rows and scheduling, of these with planning and one execution",
    "pays after so many uses of a schedule, against the naive exchange (the first row); never: "
    "nothing is gained, or the interval of the gain holds 0",
)
BASELINES = (
    "naive: everything is posted, counted without its rows: they serve to check what it knows; "
    "learned: the same with sources that the rows have given; under detect (send-detect-receive) "
    "no receive is posted before its message has come"
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
        method = "learned"
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
    first = "none pays: the naive exchange is as fast, or no difference is shown"
    if paying:
        uses, row = min(paying, key=lambda pair: pair[0])
        way = f", computed by {COMPUTED[row.compute]}" if row.compute else ""
        schedule = f"{row.method} under {row.sync}{way}"
        first = f"the first to pay: {schedule}, after {count_of(uses, 'use')}"
    return [*lines, first, *(f"{name}: left out, {why}" for name, why in costs.skipped)]
