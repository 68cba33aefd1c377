"""The regions map as a table, as Markdown and as a picture.

Picture of a regions map: which method is best over message size and density, as Wang and Ranka's
Figure 5.

Or over message size and machine, as Figure 11 of Bokhari and Nicol.
"""

from __future__ import annotations

import textwrap
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from conset.base.units import format_size
from conset.methods.phases.table import table
from conset.report import style
from conset.report.markdown import table_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from conset.studies.compare import Cell, Regions


def sweeps_link_limit(name: str) -> bool:
    """Whether a map of machines compiles a method at several limits of contention."""
    row = table().get(name)
    return row is not None and row.auto is not None and row.auto.sweep_link_limit


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
        cell_name(cell) if regions.machines and sweeps_link_limit(cell.method) else cell.method
        for cell in regions.cells
    ]


def describe_winner(regions: Regions) -> str:
    """One sentence where a map has one winner: who, and by how much; else ""."""
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


def ranking_words(regions: Regions) -> str:
    """`predicted by formula` or `simulated by circuit`."""
    return f"{'predicted' if regions.rank_by == 'formula' else 'simulated'} by {regions.rank_by}"


def row_names(regions: Regions) -> list[str]:
    """Machines, or degrees."""
    return list(regions.machines) or [str(degree) for degree in regions.degrees]


def regions_title(generator: str, machine: str, *, machines: bool) -> str:
    """What stands above table and picture.

    `machines`: complete exchanges on smaller machines up to `machine`.
    """
    of = "complete exchanges on machines up to" if machines else f"{generator} patterns on"
    return f"Best method for {of} {machine}"


def regions_subtitle(regions: Regions) -> str:
    """What stands below the title of the picture."""
    stands_in = f" ({regions.stands_in})" if regions.stands_in else ""
    winner = describe_winner(regions)
    where = "in each cell" if winner else "below each name"
    told = f"{winner}; " if winner else ""
    return (
        f"{told}least time {ranking_words(regions)}{stands_in}; {where}: how much longer "
        "the next takes"
    )


def describe_comparison(regions: Regions) -> str:
    """What is compared, and how often a schedule is used."""
    used = (
        "compile time not counted"
        if regions.reuse == inf
        else f"a schedule used {_times(regions.reuse)}"
    )
    return f"{contenders(regions)}; {used}"


def _times(reuse: float) -> str:
    """How often a schedule is used.

    Its compile is timed where the map is made, not on the machine of the map.
    """
    return f"{'once' if reuse == 1 else f'{reuse:g} times'}, compile time of this computer counted"


def contenders(regions: Regions) -> str:
    """`naive, lp, each under its best policy`.

    Or `naive, rs-n under none; lp under ready` as given.
    """
    groups: dict[str, list[str]] = {}
    for method in regions.methods:
        groups.setdefault(" or ".join(regions.policies.get(method, ())), []).append(method)
    if set(groups) <= {""}:
        return f"{', '.join(regions.methods)}, each under its best policy"
    return "; ".join(
        f"{', '.join(names)} under {policy or 'the best'}" for policy, names in groups.items()
    )


def _head(regions: Regions) -> list[str]:
    return [
        "machine" if regions.machines else "degree",
        *(format_size(size) for size in regions.sizes),
    ]


def _rows(regions: Regions) -> list[tuple[str, list[tuple[str, Cell]]]]:
    """(degree or machine, names and cells from the smallest size on)."""
    names, width = names_of(regions), len(regions.sizes)
    pairs = list(zip(names, regions.cells, strict=True))
    return [
        (name, pairs[row * width : (row + 1) * width])
        for row, name in enumerate(row_names(regions))
    ]


def regions_table(regions: Regions) -> Table:
    """The table for a terminal: rows are degrees or machines, columns sizes."""
    from conset.report.terminal import fitted_table

    rows, one = _rows(regions), bool(describe_winner(regions))
    names = [
        (name, *(format_margin(cell) if one else best for best, cell in cells))
        for name, cells in rows
    ]
    table = fitted_table(_head(regions), names, range(1, 1 + len(regions.sizes)))
    for name, cells in rows:
        if one:
            table.add_row(name, *(format_margin(cell) for _, cell in cells))
        else:
            table.add_row(name, *(f"{best}\n[dim]{format_margin(cell)}[/]" for best, cell in cells))
    return table


def regions_lines(regions: Regions) -> list[str]:
    """What stands below the table."""
    used = (
        "compile time not counted"
        if regions.reuse == inf
        else f"a schedule is used {_times(regions.reuse)}"
    )
    winner = describe_winner(regions)
    below = "in each cell" if winner else "below each"
    lines = [winner] if winner else []
    lines += [
        "least time "
        f"{ranking_words(regions)}{f' ({regions.stands_in})' if regions.stands_in else ''}: "
        f"{contenders(regions)}; {used}; "
        f"{below}: how much longer the next method takes (= the same)"
    ]
    if regions.machines and any(sweeps_link_limit(cell.method) for cell in regions.cells):
        lines.append("c: the contention on links that was found best")
    return [
        *lines,
        *(f"{row['method']}: does not apply: {row['reason']}" for row in regions.skipped),
    ]


def regions_markdown(regions: Regions, *, title: str) -> str:
    """The same as Markdown."""
    one = bool(describe_winner(regions))
    rows = (
        (
            name,
            *(
                format_margin(cell) if one else f"{best} {format_margin(cell)}"
                for best, cell in cells
            ),
        )
        for name, cells in _rows(regions)
    )
    table = table_markdown(_head(regions), rows, range(1, 1 + len(regions.sizes)))
    return (
        "\n".join(
            [f"**{title}**", "", *table, "", *(f"- {line}" for line in regions_lines(regions))]
        )
        + "\n"
    )


def picture_regions(regions: Regions, *, title: str, subtitle: str = "") -> Figure:
    """Sizes to the right, degrees or machines upwards.

    In every cell the best and its margin, lines around regions.

    Args:
        regions: the map.
        title: first line.
        subtitle: second line.
    """
    figure = style.new_figure(
        max(7.5, 1.6 + 0.72 * len(regions.sizes)), 2.2 + 0.62 * max(len(regions.degrees), 3)
    )
    style.headline(figure, title, subtitle)
    axes = figure.subplots()
    _draw_cells(axes, regions)
    _draw_borders(axes, regions)
    axes.set_xticks(np.arange(len(regions.sizes)), [format_size(size) for size in regions.sizes])
    axes.set_yticks(np.arange(len(regions.degrees)), row_names(regions))
    wrapped = "\n".join(
        textwrap.wrap(describe_comparison(regions), int(12 * figure.get_figwidth()))
    )
    axes.set_xlabel(f"message size\n{wrapped}")
    axes.set_ylabel("machine" if regions.machines else "messages per rank")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _present(regions: Regions) -> list[str]:
    """What is best somewhere: in the order of the methods, then by contention."""
    order = {method: k for k, method in enumerate(regions.methods)}
    found = dict(zip(names_of(regions), regions.cells, strict=True))
    return sorted(found, key=lambda name: (order[found[name].method], found[name].contention or 0))


def _grid(regions: Regions) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """shape=(degrees, sizes): the index of what is best."""
    names = names_of(regions)
    order = {name: k for k, name in enumerate(_present(regions))}
    flat = np.array([order[name] for name in names], np.int64)
    return flat.reshape(len(regions.degrees), len(regions.sizes))


def _draw_cells(axes: Axes, regions: Regions) -> None:
    grid, names = _grid(regions), names_of(regions)
    one = bool(describe_winner(regions))
    shade = style.colour_map()(np.linspace(0.3, 0.97, max(len(_present(regions)), 2)))[:, :3]
    pale = 1 - (1 - shade) * 0.72
    axes.imshow(pale[grid], aspect="auto", origin="lower", interpolation="nearest")
    for row in range(grid.shape[0]):
        for column in range(grid.shape[1]):
            cell = regions.cell(row, column)
            name = names[row * grid.shape[1] + column]
            if one:
                axes.text(
                    column,
                    row,
                    format_margin(cell),
                    ha="center",
                    va="center",
                    size=9,
                    color=style.INK,
                )
                continue
            axes.text(
                column,
                row + 0.12,
                name,
                ha="center",
                va="center",
                size=_size(name),
                weight="bold",
                color=style.INK,
            )
            axes.text(
                column,
                row - 0.24,
                format_margin(cell),
                ha="center",
                va="center",
                size=7.6,
                color=style.INK,
            )


def _size(name: str) -> float:
    """Type that fits a name into a cell."""
    return min(9.0, 62 / max(len(name), 1))


def _draw_borders(axes: Axes, regions: Regions) -> None:
    """A line wherever neighbours differ."""
    grid = _grid(regions)
    for row, column in np.argwhere(grid[:, 1:] != grid[:, :-1]):
        axes.plot([column + 0.5] * 2, [row - 0.5, row + 0.5], color=style.INK, linewidth=1.4)
    for row, column in np.argwhere(grid[1:] != grid[:-1]):
        axes.plot([column - 0.5, column + 0.5], [row + 0.5] * 2, color=style.INK, linewidth=1.4)
