"""Picture of a machine: its network drawn, and the facts beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conset.machine.machine import Machine
from conset.report import style
from conset.report.facts import Fact, cost_facts, describe_network, machine_facts
from conset.report.layout import positions
from conset.report.network_drawing import draw_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 10.0
BESIDE = 18
"""Longest value that leaves room for its tag on the same line [characters]."""


def picture_machine(machine: Machine) -> Figure:
    """The network at the left, nodes, links, routing, limits and costs (with their tags) at the right."""
    figure = style.new_figure(WIDTH, _height(machine))
    style.headline(figure, machine.name, f"{describe_network(machine)}, routing {machine.routing.rule}")
    left, right = figure.subplots(1, 2, width_ratios=(1.75, 1))
    draw_network(left, machine)
    write_facts(right, [("machine", _short_facts(machine)), ("costs", cost_facts(machine.costs))])
    return figure


def _short_facts(machine: Machine) -> list[Fact]:
    """Without notes: they are sentences."""
    return [fact for fact in machine_facts(machine) if fact.label != "note"]


def _height(machine: Machine) -> float:
    """Between flat and square, as the drawing wants it."""
    place = positions(machine.topology)
    extent = np.maximum(np.ptp(place, axis=0), 0.5) + 1
    lines = len(_short_facts(machine)) + len(cost_facts(machine.costs)) + 4
    return float(np.clip(max(WIDTH * 0.62 * extent[1] / extent[0] + 0.9, 0.30 * lines + 0.8), 3.2, 7.4))


def write_facts(axes: Axes, groups: list[tuple[str, list[Fact]]], limit: int = 26) -> None:
    """Groups of facts as a column of text: label and value, the tag of a number in quiet type behind it."""
    axes.set_axis_off()
    inches = axes.get_figure().get_figheight() - 1.0  # type: ignore[union-attr]
    rows: list[Fact | str] = []
    for title, facts in groups:
        if facts:
            rows += [title, *facts]
    step = min(0.30 / inches, 1 / (min(len(rows), limit) + 1))
    y = 1.0
    for row in rows[:limit]:
        y -= step
        if isinstance(row, str):
            y -= 0.35 * step if row != groups[0][0] else 0
            axes.text(0, y, row, size=10.5, weight="bold", transform=axes.transAxes)
            continue
        tag = row.origin.partition(":")[0].rpartition(", ")[2]
        axes.text(0, y, row.label, size=8.6, color=style.QUIET, transform=axes.transAxes)
        axes.text(0.46, y, _short(row.value, 36), size=8.6, transform=axes.transAxes)
        if tag and len(row.value) > BESIDE:
            y -= 0.62 * step
        if tag:
            axes.text(1.0, y, tag, size=7.4, color=style.QUIET, style="italic", ha="right", transform=axes.transAxes)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
