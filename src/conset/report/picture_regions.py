"""Picture of a regions map: which method is best over message size and density, as Wang and Ranka's Figure 5.

Or over message size and machine, as Figure 11 of Bokhari and Nicol.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from conset.report import style
from conset.report.table_regions import describe_comparison, format_margin, names_of, row_names
from conset.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from conset.comparison import Regions


def picture_regions(regions: Regions, *, title: str, subtitle: str = "") -> Figure:
    """Sizes to the right, degrees or machines upwards; in every cell the best and its margin, lines around regions.

    Args:
        regions: the map.
        title: first line.
        subtitle: second line.
    """
    figure = style.new_figure(max(7.5, 1.6 + 0.72 * len(regions.sizes)), 2.2 + 0.62 * max(len(regions.degrees), 3))
    style.headline(figure, title, subtitle)
    axes = figure.subplots()
    _draw_cells(axes, regions)
    _draw_borders(axes, regions)
    axes.set_xticks(np.arange(len(regions.sizes)), [format_size(size) for size in regions.sizes])
    axes.set_yticks(np.arange(len(regions.degrees)), row_names(regions))
    wrapped = "\n".join(textwrap.wrap(describe_comparison(regions), int(12 * figure.get_figwidth())))
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
    shade = style.colour_map()(np.linspace(0.3, 0.97, max(len(_present(regions)), 2)))[:, :3]
    pale = 1 - (1 - shade) * 0.72
    axes.imshow(pale[grid], aspect="auto", origin="lower", interpolation="nearest")
    for row in range(grid.shape[0]):
        for column in range(grid.shape[1]):
            cell = regions.cell(row, column)
            name = names[row * grid.shape[1] + column]
            axes.text(column, row + 0.12, name, ha="center", va="center", size=_size(name), weight="bold",
                      color=style.INK)  # fmt: skip
            axes.text(column, row - 0.24, format_margin(cell), ha="center", va="center", size=7.6, color=style.INK)


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
