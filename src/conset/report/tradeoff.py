"""Latency against volume.

What programs of stages take over sizes of message, as a table, Markdown and a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from conset.base.units import format_size, format_time
from conset.report import style
from conset.report.markdown import table_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from conset.studies.compare.stages import StageRow

COLUMNS = ("size", "program", "paths", "bundles", "volume", "time", "of direct", "bound")
LEFT = (1, 2)
"""Names to the left, numbers to the right."""
MARKERS = "sD^vP*"
LABELS = 24
"""Lines of type that fit one above the other into a panel."""
ASKED = "X"
"""The mark of what was asked for by its word."""


def tradeoff_title(pattern: str, machine: str) -> str:
    """What stands above table and picture."""
    return f"{pattern} on {machine}: messages combined in stages"


def _best(rows: Sequence[StageRow]) -> dict[int, StageRow]:
    """Of each size the row with the least time."""
    return {
        size: min((r for r in rows if r.size == size), key=lambda r: r.time_s)
        for size in sizes_of(rows)
    }


def sizes_of(rows: Sequence[StageRow]) -> list[int]:
    """All sizes, ascending [B]."""
    return sorted({row.size for row in rows})


def _cells(row: StageRow, direct_s: float | None) -> tuple[str, ...]:
    ratio = "" if direct_s is None else f"{row.time_s / direct_s:.3f}"
    return (
        format_size(row.size),
        row.name,
        row.combine,
        f"{row.bundles:,}",
        f"{row.volume:.3f}",
        format_time(row.time_s),
        ratio,
        format_time(row.bound_s),
    )


def _direct_s(rows: Sequence[StageRow], size: int) -> float | None:
    return next((row.time_s for row in rows if row.size == size and row.stages == 1), None)


def tradeoff_parts(rows: Sequence[StageRow], title: str) -> list[RenderableType]:
    """What the terminal shows: the least time of each size is bold."""
    from conset.report.terminal import fitted_table, titled_parts

    best, cells = _best(rows), [_cells(row, _direct_s(rows, row.size)) for row in rows]
    table = fitted_table(COLUMNS, cells, LEFT)
    for row, line in zip(rows, cells, strict=True):
        table.add_row(*line, style="bold" if row is best[row.size] else None)
    return titled_parts(title, table, tradeoff_lines(rows))


def tradeoff_lines(rows: Sequence[StageRow]) -> list[str]:
    """What stands below the table."""
    names = [(format_size(size), row.name) for size, row in _best(rows).items()]
    changes = [names[k] for k in range(len(names)) if k == 0 or names[k][1] != names[k - 1][1]]
    by = ", ".join(sorted({row.by for row in rows}))
    return [
        "least: " + ", ".join(f"{name} from {size}" for size, name in changes),
        f"times by {by}; volume: bytes sent over bytes delivered; the bound is that of any "
        "number of stages",
    ]


def tradeoff_markdown(rows: Sequence[StageRow], *, title: str) -> str:
    """The same as Markdown."""
    best = _best(rows)
    cells = [list(_cells(row, _direct_s(rows, row.size))) for row in rows]
    for row, line in zip(rows, cells, strict=True):
        line[5] = f"**{line[5]}**" if row is best[row.size] else line[5]
    lines = [f"- {line}" for line in tradeoff_lines(rows)]
    return "\n".join([f"**{title}**", "", *table_markdown(COLUMNS, cells, LEFT), "", *lines]) + "\n"


def draw_tradeoff(rows: Sequence[StageRow], *, title: str, subtitle: str = "") -> Figure:
    """Time over size for each number of stages with the bound.

    And what each costs in bytes at the smallest size.

    Args:
        rows: of at least one size.
        title: what stands above.
        subtitle: a second, quieter line.
    """
    figure = style.new_figure(11.5, 5.4)
    style.headline(figure, title, subtitle)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    names = list(dict.fromkeys(row.name for row in rows))
    stages = [name for name in names if name.endswith(("stage", "stages"))]
    shades = style.amount_map()(np.linspace(0.12, 0.88, max(len(stages), 2)))
    looks: dict[str, tuple[object, str]] = dict.fromkeys(names, (style.QUIET, ASKED))
    looks["direct"] = style.INK, "o"
    for k, name in enumerate(stages):
        looks[name] = shades[k], MARKERS[k % len(MARKERS)]
    _draw_times(left, rows, looks)
    _draw_volumes(right, rows, looks)
    return figure


def _draw_times(axes: Axes, rows: Sequence[StageRow], looks: dict[str, tuple[object, str]]) -> None:
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        colour, marker = looks[name]
        axes.plot(
            [row.size for row in own],
            [row.time_s for row in own],
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=1.8,
            linestyle="--" if marker == ASKED else "-",
            label=name,
            zorder=3,
        )
    sizes = sizes_of(rows)
    bound = {row.size: row.bound_s for row in rows}
    axes.plot(
        sizes,
        [bound[size] for size in sizes],
        color=style.BOUND,
        linewidth=1.5,
        label="bound, any stages",
    )
    style.log_axis(axes, "x", "largest message", base=2)
    style.log_axis(axes, "y", "time")
    ticks = _told_apart(sizes)
    axes.set_xticks(ticks, [format_size(size) for size in ticks])
    axes.minorticks_off()
    low = min(min(bound.values()), min(row.time_s for row in rows))
    _time_ticks(axes, low, max(row.time_s for row in rows))
    axes.set_title("time over size")
    axes.grid(axis="y")
    axes.tick_params(length=0)
    low, high = axes.get_ylim()
    columns = 4
    rows_of = -(-(len(looks) + 1) // columns)
    axes.set_ylim(low, high * (high / low) ** (0.065 * rows_of))  # room for the legend
    axes.legend(loc="upper left", fontsize=8.5, ncols=columns, columnspacing=1.2, handlelength=2.2)


def _told_apart(sizes: Sequence[int]) -> list[int]:
    """The last size, and those before it whose names have room on a logarithmic axis."""
    room = np.log2(sizes[-1] / sizes[0]) / 10
    kept = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if np.log2(kept[0] / size) >= room:
            kept.insert(0, size)
    return kept


def _time_ticks(axes: Axes, low: float, high: float) -> None:
    """1, 2, 5, 10, … as times with units, where they are between the ends."""
    low, high = low / 1.25, high * 1.25
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    shown = (
        shown if len(shown) <= 10 else [tick for tick in shown if round(np.log10(tick), 9) % 1 == 0]
    )
    axes.set_ylim(low, high)
    axes.set_yticks(shown, [format_time(tick) for tick in shown])


def _draw_volumes(
    axes: Axes, rows: Sequence[StageRow], looks: dict[str, tuple[object, str]]
) -> None:
    """Volume and time of every program at the smallest size, from direct to most stages."""
    size = sizes_of(rows)[0]
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
            color=colour,
            marker=marker,
            markersize=9,
            linestyle="none",
            zorder=3,
        )
    bound_s = own[0].bound_s
    axes.axhline(bound_s, color=style.BOUND, linewidth=1.3)
    axes.text(
        0.99,
        bound_s,
        "bound",
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="top",
        size=8.5,
        color=style.BOUND,
    )
    most, low, high = max(row.volume for row in own), bound_s, max(row.time_s for row in own)
    room = max(most - 1, 0.5)
    axes.set_xlim(1 - 0.06 * room, most + 0.85 * room)
    axes.set_xticks([tick for tick in axes.get_xticks() if 1 <= tick <= most + 0.05 * room])
    style.log_axis(axes, "y", "time")
    axes.minorticks_off()
    _time_ticks(axes, min(low, min(row.time_s for row in own)), high * 1.1)
    axes.set_xlabel("volume: bytes sent over bytes delivered")
    axes.set_title(f"latency against volume, {format_size(size)}")
    _name_points(axes, own, most + 0.14 * room)
    axes.grid(axis="y")
    axes.tick_params(length=0)


def _name_points(axes: Axes, rows: Sequence[StageRow], x: float) -> None:
    """Names in a column at the right, in the order of the times, none on another.

    Thin lines lead to them.
    """
    low, high = (float(np.log(end)) for end in axes.get_ylim())
    step = (high - low) / LABELS
    ordered = sorted(rows, key=lambda row: row.time_s)
    wanted = np.array([float(np.log(row.time_s)) for row in ordered])
    place = np.maximum.accumulate(wanted - step * np.arange(len(rows))) + step * np.arange(
        len(rows)
    )
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
