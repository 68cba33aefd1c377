"""Machine in the terminal: a small drawing of its network, its facts, its costs with their sources."""

from __future__ import annotations

from itertools import islice

import numpy as np
from rich.markup import escape

from conset.machine.machine import Machine
from conset.network.topology import Topology
from conset.report.facts import cost_facts, machine_facts
from conset.report.terminal import ROWS, fact_lines, more

WIDTH = 100
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


def draw_topology(topology: Topology) -> list[str]:
    """The network in characters; where it is too large for a screen, a part of it or words."""
    if topology.kind == "crossbar":
        return [
            _wrapped("  ports ", [str(node) for node in range(min(topology.nodes, WIDTH))]),
            "  every port reaches every port",
        ]
    if topology.kind == "hypercube":
        return _cube(topology)
    if topology.kind == "graph":
        return _adjacency(topology)
    if len(topology.sides) == 1:
        return _line(topology)
    return _planes(topology)


def _line(topology: Topology) -> list[str]:
    joint = " ─ "
    nodes = [str(node) for node in range(topology.nodes)]
    if len(joint.join(nodes)) > WIDTH:
        nodes = [*nodes[:8], "…", *nodes[-3:]]
    close = topology.wraps and topology.nodes > 2
    return ["  " + joint.join(nodes) + (f"{joint}(0)" if close else "")]


def _planes(topology: Topology) -> list[str]:
    """Planes of the last two coordinates; of more dimensions the first two planes."""
    rows, columns = topology.sides[-2:]
    planes = topology.nodes // (rows * columns)
    cell = len(str(topology.nodes - 1))
    if columns * (cell + 3) > WIDTH or rows > 24:
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
        nodes = " ─ ".join(str(first + row * columns + column).rjust(cell) for column in range(columns))
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
        if len(line) + len(word) + 4 > WIDTH:
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
        lines.append(_wrapped(f"  {kind}{node} {name}".rstrip() + " → ", [str(end) for end in ends.tolist()]))
    if topology.nodes > ROWS:
        lines.append(more(topology.nodes - ROWS, "nodes"))
    return lines
