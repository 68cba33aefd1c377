"""Latency against volume: what programs of stages take over sizes of message, as a table, Markdown and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from conset.report import style
from conset.report.markdown import table_markdown
from conset.units import format_size, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from conset.comparison.stages import StageRow

COLUMNS = ("size", "program", "paths", "bundles", "volume", "time", "of direct", "bound")
LEFT = (1, 2)
"""Names to the left, numbers to the right."""
MARKERS = "osD^vPX*"


def tradeoff_title(pattern: str, machine: str) -> str:
    """What stands above table and picture."""
    return f"{pattern} on {machine}: messages combined in stages"


def _best(rows: Sequence[StageRow]) -> dict[int, StageRow]:
    """Of each size the row with the least time."""
    return {size: min((r for r in rows if r.size == size), key=lambda r: r.time_s) for size in sizes_of(rows)}


def sizes_of(rows: Sequence[StageRow]) -> list[int]:
    """All sizes, ascending [B]."""
    return sorted({row.size for row in rows})


def _cells(row: StageRow, direct_s: float | None) -> tuple[str, ...]:
    ratio = "" if direct_s is None else f"{row.time_s / direct_s:.3f}"
    return (
        format_size(row.size), row.name, row.combine, f"{row.bundles:,}", f"{row.volume:.3f}",
        format_time(row.time_s), ratio, format_time(row.bound_s),
    )  # fmt: skip


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
        f"times by {by}; volume: bytes sent over bytes delivered; the bound is that of any number of stages",
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
    """Time over size for each number of stages with the bound; and what each costs in bytes at the smallest size.

    Args:
        rows: of at least one size.
        title: what stands above.
        subtitle: a second, quieter line.
    """
    figure = style.new_figure(11.5, 5.4)
    style.headline(figure, title, subtitle)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    names = list(dict.fromkeys(row.name for row in rows))
    stages = [name for name in names if name not in ("direct", "mixed")]
    shades = style.colour_map()(np.linspace(0.12, 0.88, max(len(stages), 2)))
    looks: dict[str, tuple[object, str]] = {"direct": (style.INK, "o"), "mixed": (style.QUIET, "X")}
    for k, name in enumerate(stages):
        looks[name] = shades[k], MARKERS[1 + k % (len(MARKERS) - 1)]
    _draw_times(left, rows, looks)
    _draw_volumes(right, rows, looks)
    return figure


def _draw_times(axes: Axes, rows: Sequence[StageRow], looks: dict[str, tuple[object, str]]) -> None:
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        colour, marker = looks[name]
        axes.plot([row.size for row in own], [row.time_s for row in own], color=colour, marker=marker, markersize=5,
                  linewidth=1.8, linestyle="--" if name == "mixed" else "-", label=name, zorder=3)  # fmt: skip
    sizes = sizes_of(rows)
    bound = {row.size: row.bound_s for row in rows}
    axes.plot(sizes, [bound[size] for size in sizes], color=style.BOUND, linewidth=1.5, label="bound, any stages")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [format_size(size) for size in sizes])
    axes.minorticks_off()
    low = min(min(bound.values()), min(row.time_s for row in rows))
    _time_ticks(axes, low, max(row.time_s for row in rows))
    axes.set_xlabel("largest message")
    axes.set_ylabel("time")
    axes.set_title("the larger the messages, the fewer stages")
    axes.grid(axis="y")
    axes.tick_params(length=0)
    axes.legend(loc="upper left", fontsize=8.5)


def _time_ticks(axes: Axes, low: float, high: float) -> None:
    """1, 2, 5, 10, … as times with units, where they are between the ends."""
    low, high = low / 1.25, high * 1.25
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    shown = shown if len(shown) <= 10 else [tick for tick in shown if round(np.log10(tick), 9) % 1 == 0]
    axes.set_ylim(low, high)
    axes.set_yticks(shown, [format_time(tick) for tick in shown])


def _draw_volumes(axes: Axes, rows: Sequence[StageRow], looks: dict[str, tuple[object, str]]) -> None:
    """Volume and time of every program at the smallest size, from direct to most stages."""
    size = sizes_of(rows)[0]
    own = [row for row in rows if row.size == size]
    chain = [row for row in own if row.name != "mixed"]
    axes.plot([r.volume for r in chain], [r.time_s for r in chain], color=style.FAINT, linewidth=1.5, zorder=1)
    for row in own:
        colour, marker = looks[row.name]
        axes.plot([row.volume], [row.time_s], color=colour, marker=marker, markersize=9, linestyle="none", zorder=3)
        where = (9, -13) if row.name == "mixed" else (9, 5)
        axes.annotate(f"{row.name}\n{row.bundles:,} sent" if row.name != "mixed" else "mixed", (row.volume, row.time_s),
                      xytext=where, textcoords="offset points", size=8.5, color=style.INK)  # fmt: skip
    bound_s = own[0].bound_s
    axes.axhline(bound_s, color=style.BOUND, linewidth=1.3)
    most, low, high = max(row.volume for row in own), bound_s, max(row.time_s for row in own)
    axes.set_xlim(0.9, most + max(0.45 * (most - 1), 0.3))
    axes.set_yscale("log")
    axes.minorticks_off()
    _time_ticks(axes, min(low, min(row.time_s for row in own)), high * 1.1)
    axes.set_xlabel("volume: bytes sent over bytes delivered")
    axes.set_ylabel("time")
    axes.set_title(f"latency against volume, {format_size(size)}")
    axes.grid(axis="y")
    axes.tick_params(length=0)
