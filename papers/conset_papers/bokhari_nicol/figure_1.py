"""Figure 1: a 4 × 4 Paragon, its row-column routes, and two messages that contend for an edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import conset
from conset.machine.network.routes import route_nodes
from conset.pattern.pattern import Pattern
from conset.report.charts import Line, Panel, picture_charts
from conset.schedule.loads import phase_loads
from conset_papers.bokhari_nicol.exchange import PAPER
from conset_papers.item import Claim, Item, Picture, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 4
PAIRS = ((4, 2), (5, 14))
"""Two messages that share one edge, row-major; those of the text's drawing are lost in the scan."""
ABOUT = (
    "The route of every pair of nodes on paragon:4x4, walked node by node, held against the "
    "text's rule: first along "
    "the row of the sender, then along the column of the receiver. Two messages are compiled into "
    "one phase and the "
    "links that both use are counted. The scan has the caption of this drawing, not which two "
    "pairs it shows: these "
    "are ours."
)
DEPARTURES = ("the drawing's own two pairs of processors cannot be read in the scan",)


def reproduce() -> Item:
    """Walks all routes; counts what two messages share."""
    on = conset.load_machine(f"paragon:{SIDE}x{SIDE}")
    nodes = SIDE * SIDE
    source, target = (ends.astype(np.int32) for ends in np.nonzero(~np.eye(nodes, dtype=bool)))
    offsets, visited = route_nodes(on.topology, on.routing, source, target)
    routes = [
        visited[low:high]
        for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    right = sum(
        np.array_equal(route, row_column(int(s), int(t)))
        for s, t, route in zip(source, target, routes, strict=True)
    )
    pattern = Pattern.from_messages([s for s, _ in PAIRS], [t for _, t in PAIRS], [1, 1], nodes)
    loads = phase_loads(conset.compile(pattern, on, method="naive"))
    shared = _shared(*(row_column(*pair) for pair in PAIRS))
    claims = (
        Claim(
            "section 2, Figure 1: a message travels along the row of its sender, then along the "
            "column of its "
            "receiver",
            right == len(routes),
            f"{right} of {len(routes)} routes",
        ),
        Claim(
            "section 2: two messages between two different pairs of processors may need "
            "the same link",
            int(loads.link.max()) == 2 and len(shared) == 1,
            f"{int(loads.link.max())} messages on the busiest link, {len(shared)} of the "
            "links is shared",
        ),
    )
    places = [
        [f"{node // SIDE},{node % SIDE}" for node in row_column(*pair).tolist()] for pair in PAIRS
    ]
    rows = tuple((nodes[0], nodes[-1], "  ".join(nodes)) for nodes in places)
    return Item(
        PAPER,
        "Figure 1",
        "the mesh, its routes, and contention for an edge",
        ABOUT,
        claims=claims,
        tables=(Table("Routes: of the two messages, row,column", ("from", "to", "nodes"), rows),),
        pictures=(Picture(lambda: _picture(shared)),),
        departures=DEPARTURES,
        basis="computed",
    )


def row_column(source: int, target: int) -> NDArray[np.int64]:
    """shape=(nodes visited): by the text's rule, sender and receiver included."""
    row, to_row = source // SIDE, target // SIDE
    column, to_column = source % SIDE, target % SIDE
    across = [row * SIDE + c for c in _between(column, to_column)]
    down = [r * SIDE + to_column for r in _between(row, to_row)]
    return np.array([*across, *down[1:]], np.int64)


def _between(first: int, last: int) -> range:
    step = 1 if last >= first else -1
    return range(first, last + step, step)


def _shared(one: NDArray[np.int64], other: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Directed edges of both routes."""
    edges = [
        set(zip(route[:-1].tolist(), route[1:].tolist(), strict=True)) for route in (one, other)
    ]
    return sorted(edges[0] & edges[1])


def _picture(shared: list[tuple[int, int]]) -> Figure:
    def line(name: str, nodes: list[int], beside: float, kind: str) -> Line:
        across, down = zip(*(divmod(node, SIDE)[::-1] for node in nodes), strict=True)
        return Line(name, [x + beside for x in across], [y + beside for y in down], kind)

    every = list(range(SIDE * SIDE))
    lines = [line("processors", every, 0, "rings")]
    lines += [line("shared edge", list(edge), 0, "bound") for edge in shared]
    for k, pair in enumerate(PAIRS):
        name = " → ".join(f"{node // SIDE},{node % SIDE}" for node in pair)
        lines.append(line(name, row_column(*pair).tolist(), 0.1 * k - 0.05, "line"))
    panel = Panel(
        "",
        "column",
        "row",
        lines,
        y_limits=(SIDE - 0.5, -0.5),
        legend="outside",
        ticks=(range(SIDE), [str(k) for k in range(SIDE)]),
    )
    return picture_charts(
        [panel],
        title="Figure 1: two messages that contend for one edge of a 4 x 4 mesh",
        subtitle="on paragon:4x4, row first; the text's own pairs are lost",
        height=4.6,
    )
