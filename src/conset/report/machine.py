"""A machine in the terminal and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from conset.base.units import count_of
from conset.machine.machine import Machine
from conset.machine.network.planes import planes_of
from conset.machine.network.topology import Topology
from conset.report import style
from conset.report.facts import Fact, cost_facts, describe_network, machine_facts
from conset.report.layout import positions
from conset.report.network_drawing import draw_network
from conset.report.network_plan import Plan, kind_of, plan_of
from conset.report.objects import cost_rows
from conset.report.plan_drawing import plan_extent
from conset.report.terminal import ROWS, fact_lines, more

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table


TEXT_WIDTH = 100
"""Widest drawing [characters]."""


def machine_text(machine: Machine) -> str:
    """Drawing and facts; markup of rich."""
    lines = [
        f"[bold]{escape(machine.name)}[/]",
        "",
        *draw_topology(machine.topology),
        "",
        *fact_lines(machine_facts(machine)),
    ]
    costs = cost_facts(machine.costs)
    if costs:
        lines += ["", "[bold]costs[/]", *fact_lines(costs)]
    return "\n".join(lines)


def machine_table(machine: Machine, structure: Sequence[tuple[str, str, str, str]] = ()) -> Table:
    """Every number with its tag and its source, by groups of costs.

    Args:
        machine: whose costs they are.
        structure: numbers of the network itself, where they have sources: word, value, tag, source.
    """
    from conset.report.terminal import FoldingTable

    topology = machine.topology
    shape = "x".join(map(str, topology.sides)) or count_of(topology.endpoints, "endpoint")
    routing = machine.routing.rule + (f", tie {machine.routing.tie}" if topology.wraps else "")
    table = FoldingTable(
        title=(
            f"{escape(machine.name)}: {topology.kind} {shape}, "
            f"{count_of(topology.links, 'link')}, {routing}"
        )
    )
    table.title_justify = "left"
    for column in ("cost", "value", "tag"):
        table.add_column(column, no_wrap=column != "tag")
    table.add_column("source", ratio=1)
    rows = cost_rows(machine)
    if structure:
        table.add_row("[bold]network[/]", "", "", "")
        for word, *cells in structure:
            table.add_row(*(escape(cell) for cell in (f"  {word}", *cells)))
        table.add_section()
    for group in dict.fromkeys(row["group"] for row in rows):
        members = [row for row in rows if row["group"] == group]
        if group not in (row["word"] for row in members):
            table.add_row(f"[bold]{group}[/]", "", "", "")
        for row in members:
            word = (
                "  " * (row["word"] != group)
                + row["word"]
                + (f" ({row['method']})" if row["method"] else "")
            )
            table.add_row(
                *(escape(cell) for cell in (word, row["text"], row["tag"], row["source"]))
            )
        table.add_section()
    return table


def machine_remarks(machine: Machine) -> list[tuple[str, str]]:
    """What stands below the table: hard limits, transfer modes, notes; each with its head."""
    lines = []
    if str(machine.limits) != "none":
        methods = f" for {', '.join(machine.limits_methods)}" if machine.limits_methods else ""
        lines.append(("limits", f"Hard limits{methods}: {machine.limits}."))
    if machine.modes:
        own = machine.mode or "none of them"
        lines.append(
            (
                "modes",
                f"Transfer modes (--mode): {', '.join(machine.modes)}; these numbers "
                f"are for {own}.",
            )
        )
    return [*lines, *(("note", note) for note in machine.notes)]


def draw_topology(topology: Topology) -> list[str]:
    """The network in characters; where it is too large for a screen, a part of it or words."""
    if topology.kind == "crossbar":
        return [
            _wrapped("  ports ", [str(node) for node in range(min(topology.nodes, TEXT_WIDTH))]),
            "  every port reaches every port",
        ]
    if topology.kind == "hypercube":
        return _cube(topology)
    planes = planes_of(topology)
    if planes is not None:
        joined = (
            f"  {count_of(planes.count, 'plane')} of it; every node stands for an endpoint and "
            "its router in each plane"
        )
        return [*draw_topology(planes.base), joined]
    if topology.kind == "graph":
        small = topology.family is None and topology.nodes <= ROWS
        return _adjacency(topology) if topology.level is None or small else _by_levels(topology)
    if len(topology.sides) == 1:
        return _line(topology)
    return _planes(topology)


def _line(topology: Topology) -> list[str]:
    joint = " ─ "
    nodes = [str(node) for node in range(topology.nodes)]
    if len(joint.join(nodes)) > TEXT_WIDTH:
        nodes = [*nodes[:8], "…", *nodes[-3:]]
    close = topology.wraps and topology.nodes > 2
    return ["  " + joint.join(nodes) + (f"{joint}(0)" if close else "")]


def _planes(topology: Topology) -> list[str]:
    """Planes of the last two coordinates; of more dimensions the first two planes."""
    rows, columns = topology.sides[-2:]
    planes = topology.nodes // (rows * columns)
    cell = len(str(topology.nodes - 1))
    if columns * (cell + 3) > TEXT_WIDTH or rows > 24:
        return ["  (too large to draw here: -o x.svg)"]
    shown = min(planes, 1 if rows > 8 else 2)
    lines: list[str] = []
    for plane in range(shown):
        if planes > 1:
            at = topology.coordinates[plane * rows * columns][:-2]
            lines += [f"  plane ({', '.join(str(x) for x in at)}, …)"]
        lines += _plane(topology, plane * rows * columns, rows, columns, cell)
    if shown < planes:
        lines.append(more(planes - shown, "planes, joined node by node along the outer dimensions"))
    return lines


def _plane(topology: Topology, first: int, rows: int, columns: int, cell: int) -> list[str]:
    wrap_x, wrap_y = (topology.wraps and side > 2 for side in (columns, rows))
    stub = "─ " if wrap_x else "  "
    down = ("│".rjust(cell) + "   ") * columns
    edge = ["    " + ("╎".rjust(cell) + "   ") * columns] if wrap_y else []
    lines = list(edge)
    for row in range(rows):
        nodes = " ─ ".join(
            str(first + row * columns + column).rjust(cell) for column in range(columns)
        )
        lines.append("  " + stub + nodes + (" ─" if wrap_x else ""))
        if row < rows - 1:
            lines.append("    " + down.rstrip())
    return [line.rstrip() for line in lines + edge]


def _cube(topology: Topology) -> list[str]:
    lines = []
    for bit in range(topology.dimensions):
        low = islice((node for node in range(topology.nodes) if not node >> bit & 1), 64)
        pairs = [f"{node}─{node | 1 << bit}" for node in low]
        lines.append(_wrapped(f"  bit {bit}  ", pairs))
    return lines or ["  0"]


def _wrapped(head: str, entries: list[str]) -> str:
    """One line: head, then as many words as fit."""
    line, count = head, 0
    for word in entries:
        if len(line) + len(word) + 4 > TEXT_WIDTH:
            break
        line += word + "  "
        count += 1
    return line.rstrip() if count == len(entries) else line + "…"


def _adjacency(topology: Topology) -> list[str]:
    source, target = topology.ends
    both = np.argsort(source, kind="stable")
    starts = np.searchsorted(source[both], np.arange(topology.nodes + 1))
    lines = []
    for node in range(min(topology.nodes, ROWS)):
        ends = target[both[starts[node] : starts[node + 1]]]
        name = escape(topology.labels[node]) if topology.labels else ""
        kind = "" if node < topology.endpoints else "switch "
        lines.append(
            _wrapped(f"  {kind}{node} {name}".rstrip() + " → ", [str(end) for end in ends.tolist()])
        )
    if topology.nodes > ROWS:
        lines.append(more(topology.nodes - ROWS, "nodes"))
    return lines


def _by_levels(topology: Topology) -> list[str]:
    """A row for each level of nodes, the highest first.

    How many, their names, and their links up, across and down.
    """
    assert topology.level is not None  # the caller has looked
    level, (source, target) = topology.level, topology.ends
    rows = []
    for height in range(int(level.max()), -1, -1):
        own = np.flatnonzero(level == height)
        if not own.size:
            continue
        ways = []
        for word, sign in (("up", 1), ("across", 0), ("down", -1)):
            goes = np.sign(level[target] - level[source]) == sign
            count = np.bincount(source[goes], topology.widths()[goes], topology.nodes)[own].astype(
                int
            )
            if count.any():
                most = "" if count.min() == count.max() else f" to {count.max()}"
                ways.append(f"{count.min()}{most} {word}")
        names = [
            topology.labels[node] if topology.labels else str(node) for node in (own[0], own[-1])
        ]
        what = f"{own.size:,} {kind_of(topology, int(own[0]), own.size)}"
        rows.append((what, escape(" … ".join(dict.fromkeys(names))), ", ".join(ways)))
    wide = [max(len(row[k]) for row in rows) for k in (0, 1)]
    return [
        f"  {what.ljust(wide[0])}   {names.ljust(wide[1])}   links {ways}"
        for what, names, ways in rows
    ]


WIDTH = 10.0
BESIDE = 18
"""Longest value that leaves room for its tag on the same line [characters]."""


def picture_machine(machine: Machine) -> Figure:
    """The network at the left; nodes, links, routing, limits and tagged costs at the right."""
    figure = style.new_figure(WIDTH, _height(machine))
    style.headline(
        figure, machine.name, f"{describe_network(machine)}, routing {machine.routing.rule}"
    )
    facts = [("machine", _short_facts(machine)), ("costs", cost_facts(machine.costs))]
    plan = plan_of(machine.topology) if machine.topology.kind == "graph" else None
    if plan is None or not _is_wide(plan):
        left, right = figure.subplots(1, 2, width_ratios=(1.75, 1))
        draw_network(left, machine)
        write_facts(right, facts)
        return figure
    lines = max(len(group) for _, group in facts) + 2
    above = figure.get_figheight() - 0.74 - 0.30 * lines
    layout: Any = [["network", "network"], ["machine", "costs"]]
    panels: Any = figure.subplot_mosaic(layout, height_ratios=(above, 0.30 * lines))
    draw_network(panels["network"], machine)
    for name, group in facts:
        write_facts(panels[name], [(name, group)], inches=0.30 * lines)
    return figure


def _is_wide(plan: Plan) -> bool:
    width, height = plan_extent(plan)
    return bool(width > 1.45 * height)


def _short_facts(machine: Machine) -> list[Fact]:
    """Without notes and warnings: they are sentences."""
    return [fact for fact in machine_facts(machine) if fact.label not in ("note", "warning")]


def _height(machine: Machine) -> float:
    """Between flat and square, as the drawing wants it."""
    if machine.topology.kind == "graph":
        plan = plan_of(machine.topology)
        width, height = plan_extent(plan)
        groups = [len(_short_facts(machine)), len(cost_facts(machine.costs))]
        if _is_wide(plan):
            return float(
                np.clip(0.93 * WIDTH * height / width, 1.6, 5.2) + 0.9 + 0.30 * (max(groups) + 2)
            )
        return float(
            np.clip(
                max(WIDTH * 0.62 * height / width + 0.9, 0.30 * (sum(groups) + 4) + 0.8), 3.2, 7.4
            )
        )
    place = positions(machine.topology)
    extent = np.maximum(np.ptp(place, axis=0), 0.5) + 1
    lines = len(_short_facts(machine)) + len(cost_facts(machine.costs)) + 4
    return float(
        np.clip(max(WIDTH * 0.62 * extent[1] / extent[0] + 0.9, 0.30 * lines + 0.8), 3.2, 7.4)
    )


def write_facts(
    axes: Axes, groups: list[tuple[str, list[Fact]]], limit: int = 26, inches: float | None = None
) -> None:
    """Groups of facts as a column of text.

    Label and value, the tag of a number in quiet type behind it.

    `inches` is the height of the axes; None: nearly that of the figure.
    """
    axes.set_axis_off()
    inches = inches or axes.get_figure().get_figheight() - 1.0  # type: ignore[union-attr]
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
            axes.text(
                1.0,
                y,
                tag,
                size=7.4,
                color=style.QUIET,
                style="italic",
                ha="right",
                transform=axes.transAxes,
            )


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
