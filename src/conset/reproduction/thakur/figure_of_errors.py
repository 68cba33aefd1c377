"""Picture of a model's errors over all 125 cells: by number of processors and by size of message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from conset.reproduction.thakur.times import (
    Seconds,
    Time,
    error,
    grouped,
    mean_error,
    printed,
    rms_error,
)  # fmt: skip
from conset.units import format_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conset.report.picture_lines import Line, Panel

SHOWN = {16: "16", 20: "", 48: "48", 64: "", 128: "128", 144: "", 224: "", 256: "256", 480: "", 512: "512"}
"""Ticks of the axis of processors; neighbours of the same label would overlap."""


def draw_errors(ours: Seconds, others: Mapping[str, Seconds], *, title: str, subtitle: str) -> Figure:
    """Cells of `ours` as points by processors, means of it and of `others` as lines; rms by size beside.

    Args:
        ours: the model the picture is about.
        others: name → models beside it, the name of `ours` first.
        title: of the picture.
        subtitle: a quieter second line.
    """
    from conset.report.picture_lines import picture_lines

    return picture_lines([_by_processors(ours, others), _by_size(others)], title=title, subtitle=subtitle)


def _by_processors(ours: Seconds, others: Mapping[str, Seconds]) -> Panel:
    from conset.report.picture_lines import Line, Panel

    groups = grouped(printed(), lambda time: time.ranks)
    cells = Line("its 125 cells", [t.ranks for t in printed()], [100 * error(t, ours) for t in printed()], "points", 0)
    level = Line("", [min(groups), max(groups)], [0, 0], kind="quiet")
    means = _series(groups, others, mean_error)
    ticks = (list(groups), [SHOWN[ranks] for ranks in groups])
    return Panel("error by machine size", "processors", "%", [*means, level, cells], 2, False, ticks, (-50, 90))


def _by_size(others: Mapping[str, Seconds]) -> Panel:
    from conset.report.picture_lines import Panel

    groups = grouped(printed(), lambda time: time.bytes)
    ticks = (list(groups), [format_size(size) for size in groups])
    lines = _series(groups, others, rms_error)
    return Panel("rms error by message size", "message size", "%", lines, 2, False, ticks, (0, 40))


def _series(
    groups: Mapping[int, list[Time]], others: Mapping[str, Seconds], of: Callable[[list[Time], Seconds], float]
) -> list[Line]:
    from conset.report.picture_lines import Line

    return [Line(name, list(groups), [100 * of(times, values) for times in groups.values()], colour=k)
            for k, (name, values) in enumerate(others.items())]  # fmt: skip
