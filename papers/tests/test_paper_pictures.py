"""Pictures that reports do not offer: grids of permutations, maps of the errors of cells."""

from __future__ import annotations

import numpy as np

from conset_papers import Cell, Item
from conset_papers.grids import IDLE, UNKNOWN, permutation, picture_grids
from conset_papers.write import pictures_of


def test_cells_of_a_permutation_name_their_targets() -> None:
    target = np.array([[3, 1], [IDLE, UNKNOWN]])
    grid = permutation("a", target, np.zeros((2, 2), np.int64))
    assert grid.captions.tolist() == [["1,1", "•"], ["", "?"]]
    assert grid.shade.tolist() == [[0, 0], [-1, -1]]
    figure = picture_grids([[grid, grid], [grid]], title="three")
    assert [len(axes.texts) for axes in figure.axes] == [4, 4, 4]


def test_errors_of_cells_are_a_map_that_surrounds_what_is_outside_the_tolerance() -> None:
    cells = (Cell("a", "x", 100, 150, 0.1), Cell("a", "y", 10, 10), Cell("b", "x", 10, 9.5, 0.1))
    item = Item("p", "n", "t", "about", cells=cells, why="ours", basis="computed")
    (axes,) = pictures_of(item)[0].draw().axes
    assert sorted(text.get_text() for text in axes.texts) == ["0", "5", "50"]
    assert len(axes.lines) == 4
