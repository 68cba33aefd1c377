"""Pictures of steps: one axis up for panels that show the same, room for formulas above counts,
one legend."""

from __future__ import annotations

from pathlib import Path

from conset.report.style import save
from conset_papers.pictures.lines import Steps, picture_steps


def test_panels_of_the_same_quantity_have_the_same_axis_up(tmp_path: Path) -> None:
    panels = [
        Steps("a", "messages", "counted", [1, 2, 1], "formula", [1, 8, 1]),
        Steps("b", "messages", "counted", [3, 3]),
        Steps("c", "processors", "sending", [20, 16]),
    ]
    figure = picture_steps(panels, title="steps")
    tops = [axes.get_ylim()[1] for axes in figure.axes[:3]]
    assert tops[0] == tops[1] > 8
    assert tops[2] > 20
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["counted", "formula"]
    save(lambda: picture_steps(panels, title="steps"), tmp_path / "a.svg")
    save(lambda: picture_steps(panels, title="steps"), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_without_a_formula_there_is_no_legend() -> None:
    assert not picture_steps([Steps("a", "messages", "counted", [1, 2])], title="steps").legends
