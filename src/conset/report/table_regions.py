"""Regions map as a table: the best method over density, or machine, and message size, with its margin in percent."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from conset.report.markdown import table_markdown
from conset.units import format_size

if TYPE_CHECKING:
    from rich.table import Table

    from conset.comparison import Cell, Regions


LINK_LIMIT_SWEPT = ("bounded",)
"""Methods that a map of machines compiles at several limits of contention."""


def format_margin(cell: Cell) -> str:
    """`12 %`; `=` where another method takes the same."""
    if not cell.second:
        return ""
    if cell.margin == 0:
        return "="
    percent = 100 * cell.margin
    return f"{percent:.0f} %" if percent >= 0.95 else "<1 %"


def cell_name(cell: Cell) -> str:
    """`lp`; `bounded c 4` with the contention that was found best on a machine."""
    return cell.method if cell.contention is None else f"{cell.method} c {cell.contention}"


def names_of(regions: Regions) -> list[str]:
    """What is best in each cell; contentions only where a map has found them."""
    return [
        cell_name(cell) if regions.machines and cell.method in LINK_LIMIT_SWEPT else cell.method
        for cell in regions.cells
    ]


def ranking_words(regions: Regions) -> str:
    """`predicted by formula` or `simulated by circuit`."""
    return f"{'predicted' if regions.rank_by == 'formula' else 'simulated'} by {regions.rank_by}"


def row_names(regions: Regions) -> list[str]:
    """Machines, or degrees."""
    return list(regions.machines) or [str(degree) for degree in regions.degrees]


def regions_subtitle(regions: Regions) -> str:
    """What stands below the title of the picture."""
    stands_in = f" ({regions.stands_in})" if regions.stands_in else ""
    return f"least time {ranking_words(regions)}{stands_in}; below each name: how much longer the next takes"


def describe_comparison(regions: Regions) -> str:
    """What is compared, and how often a schedule is used."""
    used = "compile time not counted" if regions.reuse == inf else f"a schedule used {_times(regions.reuse)}"
    return f"{contenders(regions)}; {used}"


def _times(reuse: float) -> str:
    return "once" if reuse == 1 else f"{reuse:g} times"


def contenders(regions: Regions) -> str:
    """`naive, lp, each under its best policy`, or `naive, rs-n under none; lp under ready` as given."""
    groups: dict[str, list[str]] = {}
    for method in regions.methods:
        groups.setdefault(" or ".join(regions.policies.get(method, ())), []).append(method)
    if set(groups) <= {""}:
        return f"{', '.join(regions.methods)}, each under its best policy"
    return "; ".join(f"{', '.join(names)} under {policy or 'the best'}" for policy, names in groups.items())


def _head(regions: Regions) -> list[str]:
    return ["machine" if regions.machines else "degree", *(format_size(size) for size in regions.sizes)]


def _rows(regions: Regions) -> list[tuple[str, list[tuple[str, Cell]]]]:
    """(degree or machine, names and cells from the smallest size on)."""
    names, width = names_of(regions), len(regions.sizes)
    pairs = list(zip(names, regions.cells, strict=True))
    return [(name, pairs[row * width : (row + 1) * width]) for row, name in enumerate(row_names(regions))]


def regions_table(regions: Regions) -> Table:
    """The table for a terminal: rows are degrees or machines, columns sizes."""
    from conset.report.terminal import fitted_table

    rows = _rows(regions)
    names = [(name, *(best for best, _ in cells)) for name, cells in rows]
    table = fitted_table(_head(regions), names, range(1, 1 + len(regions.sizes)))
    for name, cells in rows:
        table.add_row(name, *(f"{best}\n[dim]{format_margin(cell)}[/]" for best, cell in cells))
    return table


def regions_lines(regions: Regions) -> list[str]:
    """What stands below the table."""
    used = "compile time not counted" if regions.reuse == inf else f"a schedule is used {_times(regions.reuse)}"
    lines = [
        f"least time {ranking_words(regions)}{f' ({regions.stands_in})' if regions.stands_in else ''}: "
        f"{contenders(regions)}; {used}; "
        "below each: how much longer the next method takes (= the same)"
    ]
    if regions.machines and any(cell.method in LINK_LIMIT_SWEPT for cell in regions.cells):
        lines.append("c: the contention on links that was found best")
    return [*lines, *(f"{row['method']}: does not apply: {row['reason']}" for row in regions.skipped)]


def regions_markdown(regions: Regions, *, title: str) -> str:
    """The same as Markdown."""
    rows = ((name, *(f"{best} {format_margin(cell)}" for best, cell in cells)) for name, cells in _rows(regions))
    table = table_markdown(_head(regions), rows, range(1, 1 + len(regions.sizes)))
    return "\n".join([f"**{title}**", "", *table, "", *(f"- {line}" for line in regions_lines(regions))]) + "\n"
