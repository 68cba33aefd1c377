"""Studies over a parameter: contention, sizes, the map, load, and scheduling at run time.

The contention curve as Figures 12 to 15 of Bokhari and Nicol: from left to right fewer barriers
and more messages in flight together. The map as Wang and Ranka's Figure 5 (the best method over
message size and density), or over message size and machine, as Figure 11 of Bokhari and Nicol.
What scheduling at run time costs as Wang and Ranka's Figures 10 and 11.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from conset.base import Array, count_of, format_size, format_time
from conset.methods import table
from conset.models import LoadCurve
from conset.report import style
from conset.report.charts import surround
from conset.report.sections import Part, Section, Table
from conset.studies import (
    DETECT,
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
LABELS = 24
"""Lines of type that fit one above the other into a panel."""
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
    columns = min(len(curves), 2)
    rows = -(-len(curves) // columns)
    figure = style.new_figure(10 if columns == 1 else 13, 1.2 + 4.3 * rows, title, subtitle)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in panels[len(curves) :]:
        axes.set_visible(False)
    for curve, axes in zip(curves, panels, strict=False):
        _draw_curve(axes, curve)
    panels[0].legend(loc="best", fontsize=8, handlelength=2.6)
    return figure


def _draw_curve(axes: style.Axes, curve: Curve) -> None:
    points, best = curve.points, curve.best
    shown = [time for point in points for time in (point.time_s, point.lower_s) if time]
    top = max(shown, default=1.0)
    factor, unit = style.time_unit(top)

    def plot(of: Sequence[CurvePoint], name: str, label: str, **look: Any) -> None:
        """Draw a line by falling groups."""
        ordered = sorted(of, key=lambda point: -point.groups)
        x, y = [point.groups for point in ordered], [getattr(p, name) / factor for p in ordered]
        axes.plot(x, y, label=label, **look)

    contentions = sorted({point.contention for point in points})
    place = np.linspace(0.2, 0.8, len(contentions)) if len(contentions) > 1 else [0.65]
    for k, (contention, shade) in enumerate(
        zip(contentions, style.amount_map()(place), strict=True)
    ):
        # lines that coincide show all
        width = 1.2 + 4 * (len(contentions) - 1 - k) / max(len(contentions), 3)
        plot(
            [p for p in points if p.contention == contention and p.time_s is not None and p.fits],
            "time_s",
            f"contention {contention}",
            zorder=3,
            color=shade,
            linewidth=width,
            marker="o",
            markersize=3 + width,
        )
    least: dict[int, CurvePoint] = {}
    for point in points:
        if point.groups not in least or point.lower_s < least[point.groups].lower_s:
            least[point.groups] = point
    plot(list(least.values()), "lower_s", "bound, least of all", color=style.BOUND, linewidth=1.5)
    for name, what, dash in (
        ("serial_most_s", "take turns", (0, (5, 2))),
        ("serial_least_s", "cost nothing", (0, (1.5, 1.5))),
    ):
        plot(
            curve.serial,
            name,
            f"serial steps, links {what} (estimate)",
            color=style.QUIET,
            linewidth=1,
            linestyle=dash,
        )
    if curve.naive_s is not None:
        axes.axhline(
            curve.naive_s / factor,
            label="the naive exchange",
            color=style.INK,
            linewidth=1,
            linestyle="-.",
        )
    time_s = best.predicted_s if best.time_s is None else best.time_s
    axes.plot(
        [best.groups],
        [time_s / factor],
        marker="o",
        markersize=10,
        zorder=4,
        markerfacecolor="none",
        markeredgecolor=style.INK,
        markeredgewidth=1.6,
    )
    groups = sorted({point.groups for point in points}, reverse=True)
    style.log_axis(axes, "x", "groups of phases between barriers")
    spread = groups[:: -(-len(groups) // TICKS)]
    axes.set_xlim(max(groups) * 1.25, min(groups) / 1.25)
    axes.set_xticks(spread, [f"{count:,}" for count in spread], size=8.4)
    axes.minorticks_off()
    axes.set(ylabel=f"time {_by(curve.by)} [{unit}]", ylim=(0, top / factor * 1.12))
    least_time = f"least {format_time(time_s)}, contention {best.contention}, {best.sync}"
    axes.set_title(f"{format_size(curve.size)}: {least_time}")
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0)


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


Looks = dict[str, tuple[Any, str]]
"""Program → colour and mark."""


def draw_tradeoff(rows: Sequence[StageRow], *, title: str, subtitle: str = "") -> style.Figure:
    """Draw time over size for each number of stages, and what each costs in bytes.

    Args:
        rows: of at least one size; bytes are those of the smallest.
        title: first line.
        subtitle: a second, quieter line.
    """
    figure = style.new_figure(11.5, 5.4, title, subtitle)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    names = list(dict.fromkeys(row.name for row in rows))
    stages = [name for name in names if name.endswith(("stage", "stages"))]
    shades = style.amount_map()(np.linspace(0.12, 0.88, max(len(stages), 2)))
    looks: Looks = dict.fromkeys(names, (style.QUIET, ASKED))
    looks["direct"] = style.INK, "o"
    for k, name in enumerate(stages):
        looks[name] = shades[k], MARKERS[k % len(MARKERS)]
    _draw_times(left, rows, looks)
    _draw_volumes(right, rows, looks)
    return figure


def _draw_times(axes: style.Axes, rows: Sequence[StageRow], looks: Looks) -> None:
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        colour, marker = looks[name]
        axes.plot(
            [row.size for row in own],
            [row.time_s for row in own],
            label=name,
            zorder=3,
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=1.8,
            linestyle="--" if marker == ASKED else "-",
        )
    bound = dict(sorted({row.size: row.bound_s for row in rows}.items()))
    sizes, limit = list(bound), {"color": style.BOUND, "linewidth": 1.5}
    axes.plot(sizes, list(bound.values()), label="bound, any stages", **limit)  # type: ignore[arg-type]
    style.log_axis(axes, "x", "largest message", base=2)
    style.log_axis(axes, "y", "time")
    # the last size, and those before it whose names have room
    room, ticks = np.log2(sizes[-1] / sizes[0]) / 10, [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if np.log2(ticks[0] / size) >= room:
            ticks.insert(0, size)
    axes.set_xticks(ticks, [format_size(size) for size in ticks])
    axes.minorticks_off()
    times = [row.time_s for row in rows]
    _time_ticks(axes, min(*bound.values(), *times), max(times))
    axes.set_title("time over size")
    axes.grid(axis="y")
    axes.tick_params(length=0)
    low, high = axes.get_ylim()
    columns = 4
    rows_of = -(-(len(looks) + 1) // columns)
    axes.set_ylim(low, high * (high / low) ** (0.065 * rows_of))  # room for the legend
    axes.legend(fontsize=8.5, columnspacing=1.2, handlelength=2.2, loc="upper left", ncols=columns)


def _time_ticks(axes: style.Axes, low: float, high: float) -> None:
    """Set ticks 1, 2, 5, 10, … as times with units, where they are between the ends."""
    low, high = low / 1.25, high * 1.25
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    if len(shown) > 10:
        shown = [tick for tick in shown if round(np.log10(tick), 9) % 1 == 0]
    axes.set_ylim(low, high)
    axes.set_yticks(shown, [format_time(tick) for tick in shown])


def _draw_volumes(axes: style.Axes, rows: Sequence[StageRow], looks: Looks) -> None:
    """Draw volume and time of every program at the smallest size, from direct to most stages."""
    size = min(row.size for row in rows)
    own = [row for row in rows if row.size == size]
    chain = [row for row in own if looks[row.name][1] != ASKED]
    axes.plot(
        [r.volume for r in chain],
        [r.time_s for r in chain],
        color=style.FAINT,
        linewidth=1.5,
        zorder=1,
    )
    for row in own:
        colour, marker = looks[row.name]
        axes.plot(
            [row.volume],
            [row.time_s],
            zorder=3,
            color=colour,
            marker=marker,
            markersize=9,
            linestyle="none",
        )
    bound_s = own[0].bound_s
    axes.axhline(bound_s, color=style.BOUND, linewidth=1.3)
    axes.text(
        0.99,
        bound_s,
        "bound",
        size=8.5,
        color=style.BOUND,
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="top",
    )
    most, times = max(row.volume for row in own), [row.time_s for row in own]
    room = max(most - 1, 0.5)
    axes.set_xlim(1 - 0.06 * room, most + 0.85 * room)
    axes.set_xticks([tick for tick in axes.get_xticks() if 1 <= tick <= most + 0.05 * room])
    style.log_axis(axes, "y", "time")
    axes.minorticks_off()
    _time_ticks(axes, min(bound_s, *times), max(times) * 1.1)
    axes.set(
        xlabel="volume: bytes sent over bytes delivered",
        title=f"latency against volume, {format_size(size)}",
    )
    # names in a column, in the order of the times, none on another; thin lines lead to them
    x = most + 0.14 * room
    low, high = (float(np.log(end)) for end in axes.get_ylim())
    ordered, step = sorted(own, key=lambda row: row.time_s), (high - low) / LABELS
    wanted, steps = np.array([np.log(row.time_s) for row in ordered]), step * np.arange(len(own))
    place = np.maximum.accumulate(wanted - steps) + steps
    place -= np.minimum((place - wanted).max() / 2, max(float(place[0]) - low - 2 * step, 0.0))
    for row, y in zip(ordered, np.exp(place).tolist(), strict=True):
        axes.plot([row.volume, x], [row.time_s, y], color=style.FAINT, linewidth=0.8, zorder=0)
        axes.text(
            x,
            y,
            f" {row.name}, {row.bundles:,} sent",
            size=8.5,
            va="center",
            ha="left",
            color=style.INK,
        )
    axes.grid(axis="y")
    axes.tick_params(length=0)


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


def sweeps_link_limit(name: str) -> bool:
    """Return whether a map of machines compiles a method at several limits of contention."""
    row = table().get(name)
    return row is not None and row.auto is not None and row.auto.sweep_link_limit


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
    shades: Array = style.colour_map()((0.32, 0.78))
    upper.plot(
        load[:wall],
        mean[:wall],
        label="mean",
        color=shades[0],
        linewidth=1.8,
        marker="o",
        markersize=3.6,
    )
    upper.plot(
        load[:wall],
        p99[:wall],
        label="99th percentile",
        color=shades[1],
        linewidth=1.3,
        marker="s",
        markersize=3.0,
    )
    upper.axhline(
        curve.zero_load,
        label=f"empty network {curve.zero_load:.1f} cycles",
        color=style.QUIET,
        linewidth=1.1,
        linestyle=":",
    )
    upper.set(
        ylim=(0, ROOM * curve.zero_load),
        ylabel="latency [cycles]",
        title="from release to delivery",
    )
    caption, where = f"a cycle is {format_time(curve.cycle_s)}", upper.transAxes
    upper.text(1, 1.02, caption, transform=where, ha="right", color=style.QUIET)
    lower.plot(
        [0, 1], [0, 1], label="all that is offered", color=style.FAINT, linewidth=1.2, zorder=1
    )
    lower.plot(
        load,
        accepted,
        label="carried",
        color=style.ACCENT,
        linewidth=1.8,
        marker="o",
        markersize=3.6,
    )
    top = max(accepted.max(), min(curve.bound, float(load.max())))
    right = max(load.max(), min(curve.bound, 1.0)) * 1.02
    lower.set(ylim=(0, top * 1.15), ylabel="carried load", xlim=(0, right))
    lower.legend(loc="upper left")
    lower.set_xlabel("offered load [flits per cycle and sending node]")
    for axes in (upper, lower):
        if curve.saturation is not None:
            axes.axvline(
                curve.saturation,
                label=f"saturation {curve.saturation:.3f}",
                color=style.INK,
                linewidth=1.2,
                linestyle=(0, (5, 2)),
            )
        full = f"bound {curve.bound:.3f}: a link is full"
        axes.axvline(curve.bound, color=style.BOUND, linewidth=1.4, label=full)
        axes.grid(axis="both")
    upper.legend(loc="upper left")
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
    "learned: the same with sources that the rows have given; detect: send, detect, receive, "
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
    first = "none pays: the naive exchange is as fast, or no difference is shown"
    if paying:
        uses, row = min(paying, key=lambda pair: pair[0])
        way = f", computed by {COMPUTED[row.compute]}" if row.compute else ""
        schedule = f"{row.method} under {row.sync}{way}"
        first = f"the first to pay: {schedule}, after {count_of(uses, 'use')}"
    return [*lines, first, *(f"{name}: left out, {why}" for name, why in costs.skipped)]
