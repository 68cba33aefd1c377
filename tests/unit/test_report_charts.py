"""General charts: lines with published points, bars, and maps of values."""

from __future__ import annotations

import numpy as np

from conset.report.charts import Bars, Heat, Line, Panel, colours_of, picture_charts
from support.vector_pictures import drawn

OURS = Line("ours", [1, 2, 4], [1.0, 2.0, 9.0])
PUBLISHED = Line("published", [1, 2, 4], [1.1, 2.1, 9.5], "rings")


def test_published_points_stand_beside_ours() -> None:
    panel = Panel("times", "size", "time [ms]", [OURS, PUBLISHED], log_x=2, log_y=True)
    found = drawn(lambda: picture_charts([panel, panel], title="both", subtitle="why"))
    assert found.count("published") == 1  # the second panel names nothing new
    assert found.count("size, logarithmic") == 2
    rings = picture_charts([panel], title="both").axes[0].lines[1]
    assert rings.get_linestyle() == "None"
    assert np.array_equal(rings.get_ydata(), PUBLISHED.y)


def test_lines_without_a_colour_of_their_own_are_counted() -> None:
    assert colours_of([OURS, PUBLISHED, OURS, Line("", [1], [1], colour=5)]) == [0, 0, 1, 5]


def test_bars_and_maps_have_their_numbers() -> None:
    bars = Bars("bars", "group", "time [s]", ["a", "b"], {"x": [1, 2], "y": [2, 1]}, top=4)
    heat = Heat("map", "x", "y", ["1", "2"], ["a"], np.array([[7.0, np.nan]]), level=6)
    figure = picture_charts([bars, heat], title="two")
    assert [patch.get_height() for patch in figure.axes[0].patches] == [1, 2, 2, 1]
    assert figure.axes[0].get_ylim() == (0, 4)
    assert [text.get_text() for text in figure.axes[1].texts] == ["7"]
    assert len(figure.axes[1].lines) == 4  # the border of the cell above the level
