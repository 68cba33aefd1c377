"""HTML: the small forms of nouns that notebooks show, `_repr_html_`.

Everything that comes from outside is escaped.

Nouns ask for it through `conset.base.notebook`, where the forms are registered when this module is
imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np
from numpy.typing import NDArray

from conset.base.notebook import register_form
from conset.base.units import format_size
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.report.facts import Fact, cost_facts, machine_facts, pattern_facts, schedule_facts
from conset.report.markdown import rank_grid
from conset.schedule.schedule import Schedule

CELLS = 64
"""Most cells along a side of the small matrix."""
SIDE = 160
"""Of a small picture, without its legend [pixels]."""
_LOW, _HIGH = np.array([170, 220, 50]), np.array([68, 1, 84])
_MIDDLE = np.array([33, 145, 140])
"""The colours of pictures, from bright to dark, in three stops.

Enough for a thumbnail without matplotlib.
"""


def pattern_html(pattern: Pattern) -> str:
    """Facts and a thumbnail of the matrix of bytes."""
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, CELLS)
    return card(
        "Pattern",
        pattern.name,
        pattern_facts(pattern),
        _thumbnail(np.log(grid), "bytes", _sizes(grid)),
    )


def _sizes(grid: NDArray[np.float64]) -> tuple[str, str]:
    """The least and the most bytes of a cell."""
    seen = grid[np.isfinite(grid)]
    return (
        (format_size(float(seen.min())), format_size(float(seen.max()))) if seen.size else ("", "")
    )


def machine_html(machine: Machine) -> str:
    """Facts, and costs with where they come from."""
    return card("Machine", machine.name, [*machine_facts(machine), *cost_facts(machine.costs)])


def schedule_html(schedule: Schedule) -> str:
    """Facts and a thumbnail of the matrix coloured by phase."""
    pattern = schedule.pattern
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    grid = rank_grid(
        pattern.ranks, source, target, schedule.phase_of.astype(np.int64), CELLS, "least"
    )
    name = f"{schedule.method} on {schedule.machine.name}"
    seen = grid[np.isfinite(grid)]
    ends = (f"{seen.min():.0f}", f"{seen.max():.0f}") if seen.size else ("", "")
    return card("Schedule", name, schedule_facts(schedule), _thumbnail(grid, "phase", ends))


def card(kind: str, name: str, facts: Iterable[Fact], picture: str = "") -> str:
    """What it is and its name, facts with their origins, a small picture beside them."""
    rows = "".join(
        f'<tr><td style="text-align:left;opacity:.65;white-space:nowrap">{escape(fact.label)}</td>'
        f'<td style="text-align:left">{escape(fact.value)}</td>'
        f'<td style="text-align:left;opacity:.65"><i>{escape(fact.origin)}</i></td></tr>'
        for fact in facts
    )
    return (
        '<div style="display:flex;gap:1.5em;align-items:flex-start;font-size:13px">'
        f"<div><b>{escape(kind)}</b> {escape(name)}<table>{rows}</table></div>{picture}</div>"
    )


def _thumbnail(grid: NDArray[np.float64], what: str, ends: tuple[str, str]) -> str:
    """A matrix as inline SVG with a legend below.

    `what` is shown from the first of `ends` to the second, dark is more.

    NaN stays empty.
    """
    side = len(grid)
    seen = grid[np.isfinite(grid)]
    if not seen.size:
        return ""
    low, high = float(seen.min()), float(seen.max())
    cells = []
    for row, column in np.argwhere(np.isfinite(grid)):
        share = (grid[row, column] - low) / (high - low) if high > low else 0.65
        cells.append(f'<path fill="{_colour(float(share))}" d="M{column} {row}h1v1h-1z"/>')
    matrix = (
        f'<svg width="{SIDE}" height="{SIDE}" viewBox="0 0 {side} {side}" '
        'shape-rendering="crispEdges">'
        f"{''.join(cells)}</svg>"
        f'<rect x=".5" y=".5" width="{SIDE - 1}" height="{SIDE - 1}" fill="none" stroke="#9aa3af"/>'
    )
    about = f"{what} from row to column"
    if low == high:
        return small_picture(
            matrix, f"{about}: {ends[0]}", legend_word(0, f"{what} {ends[0]} in every cell")
        )
    steps = 16
    wide = SIDE / steps
    scale = "".join(
        f'<rect x="{k * wide:g}" y="{SIDE + 6}" width="{wide:g}" height="7" '
        f'fill="{_colour(k / (steps - 1))}"/>'
        for k in range(steps)
    )
    words = (
        legend_word(0, ends[0])
        + legend_word(SIDE / 2, what, "middle")
        + legend_word(SIDE, ends[1], "end")
    )
    return small_picture(matrix + scale, f"{about}, {ends[0]} to {ends[1]}, dark is more", words)


def small_picture(body: str, title: str, words: str) -> str:
    """A small picture as tall as its drawing and its line of words."""
    return (
        f'<svg width="{SIDE}" height="{SIDE + 28}" viewBox="0 0 {SIDE} {SIDE + 28}" '
        'style="flex:none" role="img">'
        f"<title>{escape(title)}</title>{body}{words}</svg>"
    )


def legend_word(x: float, text: str, anchor: str = "start", y: float = SIDE + 25) -> str:
    """A word in a small picture; in the colour of the page's own text, light or dark."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="10" font-family="sans-serif" fill="currentColor" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _colour(share: float) -> str:
    low, high, at = (_LOW, _MIDDLE, 2 * share) if share < 0.5 else (_MIDDLE, _HIGH, 2 * share - 1)
    red, green, blue = (round(float(x)) for x in low + (high - low) * at)
    return f"#{red:02x}{green:02x}{blue:02x}"


register_form(Pattern, pattern_html)
register_form(Machine, machine_html)
register_form(Schedule, schedule_html)
