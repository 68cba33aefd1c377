"""HTML: a page of facts and pictures that needs nothing else, and the small forms that notebooks show.

Notebook: small self-contained HTML for `_repr_html_`; everything that comes from outside is escaped.

Nouns ask for it through `conset.notebook`, where the forms are registered when this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.notebook import register_form
from conset.pattern.pattern import Pattern
from conset.report.facts import Fact, Summary, cost_facts, machine_facts, pattern_facts, schedule_facts
from conset.report.markdown import rank_grid
from conset.schedule.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conset.report.terminal_schedule import Views


SUFFIX = ".html"
MAX_PHASES = 64
"""Phases that a page draws one by one; a sentence says that there are more."""

_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 2em; }} svg {{ max-width: 100%; height: auto; }}
pre {{ overflow-x: auto; }} td {{ padding-right: 1em; }}</style>
<h1>{title}</h1>
"""


def is_page(path: Path | None) -> bool:
    """Whether an output is a page rather than a picture."""
    return path is not None and path.suffix.lower() == SUFFIX


def write_page(path: Path, title: str, facts: str, text: str, draws: Sequence[Callable[[], Figure]]) -> None:
    """Writes a page.

    Args:
        path: `.html`.
        title: in words.
        facts: HTML, escaped.
        text: as in the terminal; markup of rich, which a page leaves out.
        draws: the pictures, in order.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from rich.text import Text

    from conset.files import replacing
    from conset.report.style import svg_text

    parts = [_HEAD.format(title=escape(title)), facts]
    for k, draw in enumerate(draws):
        svg = svg_text(draw)
        parts.append(f"<figure>{own_ids(svg[svg.index('<svg') :], k)}</figure>\n")
    if text:
        parts.append(f"<pre>{escape(Text.from_markup(text).plain)}</pre>\n")
    with replacing(path) as temporary:
        temporary.write_text("".join(parts), encoding="utf-8")


def write_schedule_page(path: Path, schedule: Schedule, summary: Summary, views: Views, width: int) -> None:
    """A page with the schedule's facts, its picture, those of phases asked for, and its text `width` letters wide."""
    from functools import partial

    from conset.report.picture_schedule import picture_phase, picture_schedule
    from conset.report.terminal_schedule import views_text

    phases = range(min(schedule.phases, MAX_PHASES)) if views.phase == -1 else [views.phase]
    draws = [
        partial(picture_schedule, schedule, summary),
        *(partial(picture_phase, schedule, phase) for phase in phases if phase is not None),
    ]
    text = views_text(schedule, summary, views, width)
    if views.phase == -1 and schedule.phases > MAX_PHASES:
        text = f"pictures of the first {MAX_PHASES} of {schedule.phases:,} phases\n\n{text}"
    title = f"{schedule.method} on {schedule.machine.name}"
    write_page(path, title, schedule_html(schedule), text, draws)


def own_ids(svg: str, number: int) -> str:
    """A picture whose ids are those of no other on the page."""
    for before in ('id="', "url(#", 'xlink:href="#'):
        svg = svg.replace(before, f"{before}p{number}-")
    return svg


CELLS = 64
"""Most cells along a side of the small matrix."""
_SIDE = 160
_LOW, _HIGH = np.array([68, 1, 84]), np.array([170, 220, 50])
_MIDDLE = np.array([33, 145, 140])
"""Viridis in three stops: enough for a thumbnail without matplotlib."""


def pattern_html(pattern: Pattern) -> str:
    """Facts and a thumbnail of the matrix of bytes."""
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, CELLS)
    return _card("Pattern", pattern.name, pattern_facts(pattern), _thumbnail(np.log(grid), "bytes from row to column"))


def machine_html(machine: Machine) -> str:
    """Facts, and costs with where they come from."""
    return _card("Machine", machine.name, [*machine_facts(machine), *cost_facts(machine.costs)])


def schedule_html(schedule: Schedule) -> str:
    """Facts and a thumbnail of the matrix coloured by phase."""
    pattern = schedule.pattern
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    grid = rank_grid(pattern.ranks, source, target, schedule.phase_of.astype(np.int64), CELLS, "least")
    name = f"{schedule.method} on {schedule.machine.name}"
    return _card("Schedule", name, schedule_facts(schedule), _thumbnail(grid, "phase of row to column, dark is early"))


def _card(kind: str, name: str, facts: Iterable[Fact], picture: str = "") -> str:
    rows = "".join(
        f'<tr><td style="text-align:left;opacity:.65">{escape(fact.label)}</td>'
        f'<td style="text-align:left">{escape(fact.value)}</td>'
        f'<td style="text-align:left;opacity:.65"><i>{escape(fact.origin)}</i></td></tr>'
        for fact in facts
    )
    return (
        '<div style="display:flex;gap:1.5em;align-items:flex-start;font-size:13px">'
        f"<div><b>{escape(kind)}</b> {escape(name)}<table>{rows}</table></div>{picture}</div>"
    )


def _thumbnail(grid: NDArray[np.float64], caption: str) -> str:
    """A matrix as inline SVG; NaN stays empty."""
    side = len(grid)
    seen = grid[np.isfinite(grid)]
    if not seen.size:
        return ""
    low, high = float(seen.min()), float(seen.max())
    cells = []
    for row, column in np.argwhere(np.isfinite(grid)):
        share = (grid[row, column] - low) / (high - low) if high > low else 0.35
        cells.append(f'<path fill="{_colour(float(share))}" d="M{column} {row}h1v1h-1z"/>')
    return (
        f'<svg width="{_SIDE}" height="{_SIDE}" viewBox="0 0 {side} {side}" shape-rendering="crispEdges" '
        f'style="border:1px solid #9aa3af" role="img"><title>{escape(caption)}</title>{"".join(cells)}</svg>'
    )


def _colour(share: float) -> str:
    low, high, at = (_LOW, _MIDDLE, 2 * share) if share < 0.5 else (_MIDDLE, _HIGH, 2 * share - 1)
    red, green, blue = (round(float(x)) for x in low + (high - low) * at)
    return f"#{red:02x}{green:02x}{blue:02x}"


register_form(Pattern, pattern_html)
register_form(Machine, machine_html)
register_form(Schedule, schedule_html)
