"""Regions map as a table: the best method over density and message size, with its margin in percent."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from conset.report.markdown import table_markdown
from conset.units import format_size

if TYPE_CHECKING:
    from rich.table import Table

    from conset.comparison import Cell, Regions


def margin_words(cell: Cell) -> str:
    """`12 %`; `=` where another method takes the same."""
    if not cell.second:
        return ""
    if cell.margin == 0:
        return "="
    percent = 100 * cell.margin
    return f"{percent:.0f} %" if percent >= 0.95 else "<1 %"


def ranking_words(regions: Regions) -> str:
    """`predicted by formula` or `simulated by circuit`."""
    return f"{'predicted' if regions.rank_by == 'formula' else 'simulated'} by {regions.rank_by}"


def contenders(regions: Regions) -> str:
    """`naive, lp, each under its best policy`, or `naive, rs-n under none; lp under ready` as given."""
    groups: dict[str, list[str]] = {}
    for method in regions.methods:
        groups.setdefault(" or ".join(regions.policies.get(method, ())), []).append(method)
    if set(groups) <= {""}:
        return f"{', '.join(regions.methods)}, each under its best policy"
    return "; ".join(f"{', '.join(names)} under {policy or 'the best'}" for policy, names in groups.items())


def _head(regions: Regions) -> list[str]:
    return ["degree", *(format_size(size) for size in regions.sizes)]


def _rows(regions: Regions) -> list[tuple[int, list[Cell]]]:
    """(degree, its cells from the smallest size on)."""
    columns = range(len(regions.sizes))
    return [(degree, [regions.cell(row, k) for k in columns]) for row, degree in enumerate(regions.degrees)]


def regions_table(regions: Regions) -> Table:
    """The table for a terminal: rows are degrees, columns sizes."""
    from conset.report.terminal import fitted_table

    rows = _rows(regions)
    names = [(str(degree), *(cell.method for cell in cells)) for degree, cells in rows]
    table = fitted_table(_head(regions), names, range(1, 1 + len(regions.sizes)))
    for degree, cells in rows:
        table.add_row(str(degree), *(f"{cell.method}\n[dim]{margin_words(cell)}[/]" for cell in cells))
    return table


def regions_lines(regions: Regions) -> list[str]:
    """What stands below the table."""
    used = "for ever" if regions.reuse == inf else f"{regions.reuse:g} times"
    lines = [
        f"least time {ranking_words(regions)}: {contenders(regions)}; a schedule is used {used}; "
        "below each: how much longer the next method takes (= the same)"
    ]
    return [*lines, *(f"{row['method']}: does not apply: {row['reason']}" for row in regions.skipped)]


def regions_markdown(regions: Regions, *, title: str) -> str:
    """The same as Markdown."""
    rows = (
        (str(degree), *(f"{cell.method} {margin_words(cell)}" for cell in cells)) for degree, cells in _rows(regions)
    )
    table = table_markdown(_head(regions), rows, range(1, 1 + len(regions.sizes)))
    return "\n".join([f"**{title}**", "", *table, "", *(f"- {line}" for line in regions_lines(regions))]) + "\n"
