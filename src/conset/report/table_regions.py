"""Regions map as a table: the best method over density and message size, with its margin in percent."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

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


def regions_table(regions: Regions) -> Table:
    """The table for a terminal: rows are degrees, columns sizes."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("degree", justify="right", no_wrap=True, min_width=len("degree"))
    for column, size in enumerate(regions.sizes):
        named = [len(regions.cell(row, column).method) for row in range(len(regions.degrees))]
        widest = max([len(format_size(size)), *named])
        table.add_column(format_size(size), justify="left", no_wrap=True, min_width=widest)
    for row, degree in enumerate(regions.degrees):
        cells = (regions.cell(row, column) for column in range(len(regions.sizes)))
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
    head = ["degree", *(format_size(size) for size in regions.sizes)]
    lines = [f"**{title}**", "", "| " + " | ".join(head) + " |", "|" + " --: |" + " :-- |" * len(regions.sizes)]
    for row, degree in enumerate(regions.degrees):
        cells = (regions.cell(row, column) for column in range(len(regions.sizes)))
        lines.append(f"| {degree} | " + " | ".join(f"{cell.method} {margin_words(cell)}" for cell in cells) + " |")
    return "\n".join([*lines, "", *(f"- {line}" for line in regions_lines(regions))]) + "\n"
