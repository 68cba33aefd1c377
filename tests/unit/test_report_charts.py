"""General charts: lines with published points, bars, and maps of values."""

from __future__ import annotations

import numpy as np

from conset.report import style
from conset.report.charts import BARS, Bars, Heat, Line, Panel, colours_of, picture_charts
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


def test_levels_upright_lines_and_intervals_are_lines() -> None:
    lines = [
        Line("bound", (), [3.0], "bound"),
        Line("full", [2.0], (), "plain"),
        Line("", [1, 2], [1.0, 2.0], "points", span=([0.5, 1.5], [1.5, 2.5])),
        Line("", [1, 2], [1.0, 1.0], "curve", span=([0.9, 0.9], [1.1, 1.1]), filled=True),
    ]
    panel = Panel("", "x", "y", lines, x_limits=(0, 4), y_limits=(0, 5), remark="bound 3")
    axes = picture_charts([panel]).axes[0]
    assert list(axes.lines[0].get_ydata()) == [3, 3]
    assert list(axes.lines[1].get_xdata()) == [2, 2]
    strokes, area = axes.collections
    assert [segment[:, 1].tolist() for segment in strokes.get_segments()] == [
        [0.5, 1.5],
        [1.5, 2.5],
    ]
    assert area.get_datalim(axes.transData).bounds[1] == 0.9
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 4), (0, 5))
    assert axes.get_title(loc="right") == "bound 3"


def test_bars_become_steps_where_they_are_many() -> None:
    def shapes(count: int) -> int:
        line = Line("", range(count), [1.0] * count, "bars")
        return len(picture_charts([Panel("", "x", "y", [line])]).axes[0].patches)

    assert (shapes(BARS), shapes(BARS + 1)) == (BARS, 1)


def test_ticks_of_times_and_ratios_have_room() -> None:
    line = Line("", [1e-6, 1.0], [0.8, 1.25])
    for most, wanted in ((1e-4, "50 us"), (4e-3, "300 us"), (10.0, "10 ms")):
        panel = Panel(
            "",
            "x",
            "y",
            [line],
            log_x=10,
            log_y=True,
            ticks=style.time_ticks,
            x_limits=(1e-6, most),
            y_limits=(0.8, 1.25),
            y_ticks=style.ratio_ticks,
        )
        axes = picture_charts([panel]).axes[0]
        names = [text.get_text() for text in axes.get_xticklabels()]
        assert wanted in names
        assert len(names) <= 9
        assert [text.get_text() for text in axes.get_yticklabels()][1:3] == ["0.9", "1"]


def test_bars_and_maps_have_their_numbers() -> None:
    bars = Bars("bars", "group", "time [s]", ["a", "b"], {"x": [1, 2], "y": [2, 1]}, top=4)
    heat = Heat("map", "x", "y", ["1", "2"], ["a"], np.array([[7.0, np.nan]]), level=6)
    figure = picture_charts([bars, heat], title="two")
    assert [patch.get_height() for patch in figure.axes[0].patches] == [1, 2, 2, 1]
    assert figure.axes[0].get_ylim() == (0, 4)
    assert [text.get_text() for text in figure.axes[1].texts] == ["7"]
    assert len(figure.axes[1].lines) == 4  # the border of the cell above the level
