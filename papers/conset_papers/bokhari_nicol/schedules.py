"""Routes, contention and permutations: Tables 1 and 2, Figures 1 to 6.

Permutations of a mesh.

As the text prints them (row,column of each target) and as phases of a schedule.

Figure 1: a 4 × 4 Paragon, its row-column routes, and two messages that contend for an edge.

Table 1: what a synchronization and a message cost.

The printed formulas, which are the preset's own numbers.

Figure 2: node and link contention.

Counted between two barriers, and what they cost on a chain of nodes.

Figure 3: a complete exchange on four processors changes a matrix from column to row order.

Figure 4: three of the 128 permutations of an 8 × 8 mesh.

Every readable row is one of our tiles.

Figure 5: two permutations of an 8 × 8 mesh collapse to a third.

Which is literally one of ours.

Table 2: steps of the bounded-contention complete exchange, for every contention.

Not only divisors of n/4.

Figure 6: the first 8 of 1024 permutations of a 16 × 16 mesh collapse in pairs, then in fours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log2
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import conset
from conset.base import Bools, Ints
from conset.machine import route_nodes
from conset.methods import partner_at
from conset.pattern import Pattern
from conset.report import Line, Panel, picture_charts
from conset.schedule import Schedule, phase_loads
from conset_papers.bokhari_nicol import exchange
from conset_papers.bokhari_nicol.exchange import (
    MODEL,
    PAPER,
    SIDES,
    SLICE_B,
    Pair,
    barrier_s,
    bounded,
    message_s,
    one_message,
    pairs,
)
from conset_papers.grids import IDLE, UNKNOWN, Grid, permutation, picture_grids
from conset_papers.item import Cell, Claim, Item, Picture, Table, read_published

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PrintedRow:
    """A row of a printed permutation.

    Attributes:
        permutation: its number in the figure; 1 where there is one.
        row: from the top.
        target: shape=(columns printed, 2): row and column each node sends to, from the left.
    """

    permutation: int
    row: int
    target: Ints

    @property
    def columns(self) -> Ints:
        """The columns that send: a tile's own targets, as the scan lost the blanks between them."""
        return np.sort(self.target[:, 1])

    def nodes(self, side: int) -> tuple[Ints, Ints]:
        """(senders, receivers), row-major."""
        return self.row * side + self.columns, self.target[:, 0] * side + self.target[:, 1]

    @property
    def label(self) -> str:
        """As printed."""
        return "  ".join(f"{row},{column}" for row, column in self.target)


def printed_rows(figure: str) -> list[PrintedRow]:
    """The readable rows of `published/<figure>.csv`."""
    rows = []
    for row in read_published("bokhari_nicol", figure):
        target = np.array(
            [[int(part) for part in cell.split(",")] for cell in row["targets"].split()], np.int64
        )
        rows.append(PrintedRow(int(row.get("permutation", 1)), int(row["row"]), target))
    return rows


def is_tile(source: Ints, target: Ints, side: int) -> bool:
    """Whether a map of coordinates is a cycle u → v → n-1-u → n-1-v → u or back.

    Twice it is the reflection.
    """
    step = dict(zip(source.tolist(), target.tolist(), strict=True))
    closed = len(step) == 4 and set(step) == set(step.values())
    return closed and all(step[x] != x and step[step[x]] == side - 1 - x for x in step)


def phase_matrix(schedule: Schedule) -> Ints:
    """shape=(nodes, nodes): the phase in which a node sends to another; -1 on the diagonal."""
    nodes = schedule.machine.topology.nodes
    phase = np.full((nodes, nodes), -1, np.int64)
    phase[schedule.source_node, schedule.target_node] = schedule.phase_of
    return phase


def grid_of(schedule: Schedule, phase: int) -> Ints:
    """shape=(side, side): the target of every node in a phase, `IDLE` where it does not send."""
    return grid_from(
        schedule.source_node[schedule.phase(phase)],
        schedule.target_node[schedule.phase(phase)],
        schedule.machine.topology.sides[0],
    )


def grid_from(source: NDArray[np.integer], target: NDArray[np.integer], side: int) -> Ints:
    """shape=(side, side): the target of every node, `IDLE` where it does not send."""
    grid = np.full(side * side, IDLE, np.int64)
    grid[source] = target
    return grid.reshape(side, side)


def largest_loads(grid: Ints) -> tuple[int, int]:
    """(most messages at a port, on a link) of a permutation alone, over the mesh's routes."""
    side = grid.shape[0]
    source = np.flatnonzero(grid.ravel() >= 0)
    pattern = Pattern.from_messages(
        source, grid.ravel()[source], np.ones(source.size, np.int64), side * side
    )
    loads = phase_loads(conset.compile(pattern, f"mesh:{side}x{side}", method="naive"))
    return int(max(loads.send.max(initial=0), loads.receive.max(initial=0))), int(
        loads.link.max(initial=0)
    )


FIGURE_1_SIDE = 4
PAIRS = ((4, 2), (5, 14))
"""Two messages that share one edge, row-major; those of the text's drawing are lost in the scan."""
FIGURE_1_ABOUT = (
    "The route of every pair of nodes on paragon:4x4, walked node by node, held against the "
    "text's rule: first along "
    "the row of the sender, then along the column of the receiver. Two messages are compiled into "
    "one phase and the "
    "links that both use are counted. The scan has the caption of this drawing, not which two "
    "pairs it shows: these "
    "are ours."
)
FIGURE_1_DEPARTURES = ("the drawing's own two pairs of processors cannot be read in the scan",)


def figure_1() -> Item:
    """Walks all routes; counts what two messages share."""
    on = conset.load_machine(f"paragon:{FIGURE_1_SIDE}x{FIGURE_1_SIDE}")
    nodes = FIGURE_1_SIDE * FIGURE_1_SIDE
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
        [f"{node // FIGURE_1_SIDE},{node % FIGURE_1_SIDE}" for node in row_column(*pair).tolist()]
        for pair in PAIRS
    ]
    rows = tuple((nodes[0], nodes[-1], "  ".join(nodes)) for nodes in places)
    return Item(
        PAPER,
        "Figure 1",
        "the mesh, its routes, and contention for an edge",
        FIGURE_1_ABOUT,
        claims=claims,
        tables=(Table("Routes: of the two messages, row,column", ("from", "to", "nodes"), rows),),
        pictures=(Picture(lambda: _picture(shared)),),
        departures=FIGURE_1_DEPARTURES,
        basis="computed",
    )


def row_column(source: int, target: int) -> Ints:
    """shape=(nodes visited): by the text's rule, sender and receiver included."""
    row, to_row = source // FIGURE_1_SIDE, target // FIGURE_1_SIDE
    column, to_column = source % FIGURE_1_SIDE, target % FIGURE_1_SIDE
    across = [row * FIGURE_1_SIDE + c for c in _between(column, to_column)]
    down = [r * FIGURE_1_SIDE + to_column for r in _between(row, to_row)]
    return np.array([*across, *down[1:]], np.int64)


def _between(first: int, last: int) -> range:
    step = 1 if last >= first else -1
    return range(first, last + step, step)


def _shared(one: Ints, other: Ints) -> list[tuple[int, int]]:
    """Directed edges of both routes."""
    edges = [
        set(zip(route[:-1].tolist(), route[1:].tolist(), strict=True)) for route in (one, other)
    ]
    return sorted(edges[0] & edges[1])


def _picture(shared: list[tuple[int, int]]) -> Figure:
    def line(name: str, nodes: list[int], beside: float, kind: str) -> Line:
        across, down = zip(*(divmod(node, FIGURE_1_SIDE)[::-1] for node in nodes), strict=True)
        return Line(name, [x + beside for x in across], [y + beside for y in down], kind)

    every = list(range(FIGURE_1_SIDE * FIGURE_1_SIDE))
    lines = [line("processors", every, 0, "rings")]
    lines += [line("shared edge", list(edge), 0, "bound") for edge in shared]
    for k, pair in enumerate(PAIRS):
        name = " → ".join(f"{node // FIGURE_1_SIDE},{node % FIGURE_1_SIDE}" for node in pair)
        lines.append(line(name, row_column(*pair).tolist(), 0.1 * k - 0.05, "line"))
    panel = Panel(
        "",
        "column",
        "row",
        lines,
        y_limits=(FIGURE_1_SIDE - 0.5, -0.5),
        legend="outside",
        ticks=(range(FIGURE_1_SIDE), [str(k) for k in range(FIGURE_1_SIDE)]),
    )
    return picture_charts(
        [panel],
        title="Figure 1: two messages that contend for one edge of a 4 x 4 mesh",
        subtitle="on paragon:4x4, row first; the text's own pairs are lost",
        height=4.6,
    )


MESHES = (*SIDES, 20, 24, 28, 32)
MESSAGES = (8640, SLICE_B, 16_384, 32_768, 65_536)
TABLE_1_ABOUT = (
    "The text prints two formulas and no measured value, and the preset paragon:NxN is made of "
    "them, so nothing here "
    "is an error of a cell. Held against each other: the formulas, and conset.predict on the "
    "preset: one message from "
    "a node to its neighbour (sync none), and the synchronization term of the same under sync "
    "barrier; beside it the "
    "message by model wormhole."
)
TABLE_1_DEPARTURES = (
    "the scan leaves open whether the logarithm is of the side n or of the n² nodes; it is read "
    "as printed, of n: with "
    "n² each doubling of the nodes would cost 274 us, more than a message of no bytes (231 us)",
    "the sign before 8640 bytes is lost in the scan; the text applies the formula at 15,232 B, so "
    "it reads m >= 8640",
)


def table_1() -> Item:
    """Evaluates the printed formulas and asks the preset for the same."""
    rows = [
        (f"synchronization of {n}x{n}", exchange.barrier_us(n), barrier_s(n) * 1e6) for n in MESHES
    ]
    rows += [
        (f"message of {size:,} B", exchange.message_us(size), message_s(8, size) * 1e6)
        for size in MESSAGES
    ]
    apart = max(abs(ours / theirs - 1) for _, theirs, ours in rows)
    simulated = {
        size: conset.simulate(one_message(8, size), model=MODEL, sync="none").time_s * 1e6
        for size in MESSAGES
    }
    far = max(abs(simulated[size] / exchange.message_us(size) - 1) for size in MESSAGES)
    claims = (
        Claim(
            "beside it: the preset predicts what the formulas it is made of say",
            apart <= 1e-9,
            f"{len(rows)} values, largest difference {apart:.1e}",
            asserted=False,
        ),
        Claim(
            f"beside it: by model {MODEL} a message takes as long, within 0.1 %",
            far <= 1e-3,
            f"within {far:.3%}: the model adds 0.04 us a hop",
            asserted=False,
        ),
    )
    formula = Table(
        "Formulas: printed, and as the preset predicts them",
        ("what", "printed [us]", "predicted [us]"),
        tuple(rows),
    )
    return Item(
        PAPER,
        "Table 1",
        "synchronization and message",
        TABLE_1_ABOUT,
        claims=claims,
        tables=(formula, _readings(), _simulated(simulated)),
        pictures=(
            Picture(
                lambda: picture_charts(
                    _panels(),
                    title="Table 1: what a synchronization and a message cost",
                    height=3.9,
                    subtitle="lines: printed formulas; marks: the preset, predicted",
                )
            ),
        ),
        departures=TABLE_1_DEPARTURES,
        basis="formula",
    )


def _readings() -> Table:
    rows = tuple(
        (f"{n}x{n}", log2(n), exchange.barrier_us(n), exchange.barrier_us(n, of_nodes=True))
        for n in MESHES
    )
    columns = ("mesh", "log2 n", "of the side n [us]", "of the n² nodes [us]")
    return Table("Readings: synchronization as the logarithm is read", columns, rows)


def _simulated(simulated: dict[int, float]) -> Table:
    """The model adds 0.04 us a hop, which the text's expression has no room for."""
    rows = [(size, message_s(8, size) * 1e6, time_us) for size, time_us in simulated.items()]
    columns = ("bytes", "predicted [us]", f"by {MODEL} [us]")
    return Table("Simulated: a message to the neighbour", columns, tuple(rows))


def _panels() -> list[Panel]:
    across = range(4, 33)
    barriers = [
        Line("274 log2 n - 134", across, [exchange.barrier_us(n) for n in across], "bound"),
        Line(
            "read as log2 of n²",
            across,
            [exchange.barrier_us(n, of_nodes=True) for n in across],
            "quiet",
        ),
        Line("preset", MESHES, [barrier_s(n) * 1e6 for n in MESHES], "points"),
    ]
    ends = (MESSAGES[0] / 1024, MESSAGES[-1] / 1024)
    messages = [
        Line(
            "231 + 0.022 m",
            ends,
            [exchange.message_us(MESSAGES[0]), exchange.message_us(MESSAGES[-1])],
            "bound",
        ),
        Line(
            "preset",
            [m / 1024 for m in MESSAGES],
            [message_s(8, m) * 1e6 for m in MESSAGES],
            "points",
        ),
    ]
    return [
        Panel(
            "synchronization",
            "side n of the mesh",
            "time [us]",
            barriers,
            ticks=(MESHES, [str(n) for n in MESHES]),
        ),
        Panel("message alone", "bytes [KiB]", "time [us]", messages),
    ]


CHAIN = 16
MOST = 8
LITTLE, SUBSTANTIAL = 0.1, 0.5
FIGURE_2_ABOUT = (
    "The two contentions of every barrier group, counted in the schedules compiled for "
    "paragon:NxN: messages that one "
    "node sends in a group, messages that pass over one link in it. Figures 7 to 15 label their "
    "axes with such pairs; "
    "those that the text's words repeat are cells, the others are held against their definition. "
    "Beside them, what "
    f"contention costs by model {MODEL} on a chain of {CHAIN} nodes, {SLICE_B:,} B: k messages "
    "over the middle link at "
    "once, and k messages of one node. The chains that Figure 2 itself draws are lost in the scan."
)
ITSELF = (
    "in a group of all phases a node sends to n² - 1 others; the text counts its message to "
    "itself as well"
)
FIGURE_2_DEPARTURES = ("the messages of the text's chains cannot be read in the scan",)


def figure_2() -> Item:
    """Counts every group of every mesh; simulates the chain."""
    counted = {pair: count_group(pair) for side in SIDES for pair in pairs(side)}
    named = {
        (int(row["n"]), int(row["node"]), int(row["link"]))
        for row in read_published("bokhari_nicol", "pairs")
    }
    cells = tuple(
        Cell(
            f"{pair.side}x{pair.side} {pair.label}",
            what,
            expected,
            found,
            aside=ITSELF if found == pair.side**2 - 1 else "",
        )
        for pair in counted
        if (pair.side, pair.node, pair.link) in named
        for what, expected, found in zip(
            ("node contention", "link contention"),
            (pair.node, pair.link),
            counted[pair],
            strict=True,
        )
    )
    wrong = [
        f"{pair.side}x{pair.side} {pair.label}: ({node}, {link})"
        for pair, (node, link) in counted.items()
        if (node, link) != (min(pair.node, pair.side**2 - 1), pair.link)
    ]
    times = {
        kind: [chain_s(kind, k) / chain_s(kind, 1) for k in range(1, MOST + 1)]
        for kind in ("link", "node")
    }
    claims = (
        Claim(
            "Figure 2, of every pair: node contention is what a node sends at once, link "
            "contention what passes over "
            "any link",
            not wrong,
            f"{len(counted) - len(wrong)} of {len(counted)} groups as labelled"
            + (f"; counted: {', '.join(wrong)}" if wrong else ""),
        ),
        Claim(
            f"Figure 1: link contention can lead to substantial overhead: {SUBSTANTIAL:.0%} "
            "more on a chain",
            max(times["link"]) > 1 + SUBSTANTIAL,
            _figure_2_describe(times["link"], "messages over a link"),
        ),
        Claim(
            "abstract: a node can overlap messages to some extent: two take less than twice "
            "as long as one",
            times["node"][1] < 2,
            _figure_2_describe(times["node"], "messages of a node"),
        ),
        Claim(
            f"beside it: 2 or 3 messages share a link with minor overhead, at most {LITTLE:.0%} "
            "(the preset has 3 "
            "lanes because the abstract says so)",
            max(times["link"][1:3]) <= 1 + LITTLE,
            _figure_2_describe(times["link"][:3], "messages over a link"),
            asserted=False,
        ),
    )
    rows = tuple(
        (f"{pair.side}x{pair.side}", pair.label, pair.contention, pair.every, *found)
        for pair, found in counted.items()
    )
    columns = (
        "mesh",
        "(node, link)",
        "link contention of a phase",
        "phases between barriers",
        "most a node sends",
        "most over a link",
    )
    return Item(
        PAPER,
        "Figure 2",
        "node and link contention",
        FIGURE_2_ABOUT,
        cells=cells,
        claims=claims,
        tables=(
            Table("Groups: contention counted between two barriers", columns, rows),
            Table(
                "Chain: time over that of one message",
                ("messages at once", "over one link", "of one node"),
                tuple(zip(range(1, MOST + 1), times["link"], times["node"], strict=True)),
            ),
        ),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [_figure_2_panel(times)],
                    title=f"Contention on a chain of {CHAIN} nodes",
                    height=4.2,
                    subtitle=f"{SLICE_B:,} B each, model {MODEL} on paragon:1x{CHAIN}",
                )
            ),
        ),
        departures=FIGURE_2_DEPARTURES,
        basis="computed",
    )


def count_group(pair: Pair) -> tuple[int, int]:
    """(most messages a node sends, most over a link) between two barriers of a schedule."""
    schedule = bounded(pair.side, pair.contention)
    starts = schedule.phase_offsets[: -1 : pair.every]
    loads = phase_loads(
        replace(schedule, phase_offsets=np.append(starts, schedule.phase_offsets[-1]))
    )
    return int(loads.send.max()), int(loads.link.max())


@cache
def chain_s(kind: str, count: int) -> float:
    """The time of `count` messages that contend for a link, or for a node, on a chain [s]."""
    middle = CHAIN // 2
    if kind == "link":
        source, target = list(range(middle - count, middle)), list(range(middle, middle + count))
    else:  # to both sides in turn
        source, target = [middle] * count, [middle + (k // 2 + 1) * (-1) ** k for k in range(count)]
    pattern = Pattern.from_messages(
        source, target, [SLICE_B] * count, CHAIN, name=f"{kind} contention"
    )
    schedule = conset.compile(pattern, f"paragon:1x{CHAIN}", method="naive")
    return conset.simulate(schedule, model=MODEL, sync="none").time_s


def _figure_2_describe(times: list[float], what: str) -> str:
    return ", ".join(f"{k} {what}: {time - 1:+.0%}" for k, time in enumerate(times, 1) if k > 1)


def _figure_2_panel(times: dict[str, list[float]]) -> Panel:
    across = range(1, MOST + 1)
    lines = [
        Line("k messages over one link", across, times["link"]),
        Line("k messages of one node", across, times["node"]),
        Line("one after the other", across, list(across), "bound"),
    ]
    return Panel("", "messages at once, k", "time over that of one message", lines)


PROCESSORS = 4
FIGURE_3_ABOUT = (
    "alltoall on mesh:2x2 by method bounded; processor j holds column j of a 4 x 4 block matrix, "
    "message j → i carries "
    "block (i, j), and the schedule's transfers move the blocks phase after phase."
)


def figure_3() -> Item:
    """Moves the blocks and looks who holds them."""
    schedule = conset.compile("alltoall", "mesh:2x2", method="bounded")
    before = np.tile(np.arange(PROCESSORS), (PROCESSORS, 1))
    after = moved_blocks(schedule, before)
    wanted = before.T
    claims = (
        Claim(
            "(a) to (c), section 3: the exchange turns column order into row order",
            bool((after == wanted).all()),
            f"{int((after == wanted).sum())} of {wanted.size} blocks stand on the processor of "
            "their row, in "
            f"{schedule.phases} phases",
        ),
    )
    return Item(
        PAPER,
        "Figure 3",
        "the complete exchange as a transposition",
        FIGURE_3_ABOUT,
        claims=claims,
        cells=(
            Cell(
                "4 processors",
                "messages, N(N-1)",
                PROCESSORS * (PROCESSORS - 1),
                schedule.pattern.messages,
            ),
        ),
        pictures=(
            Picture(
                lambda: picture_grids(
                    [_figure_3_grids(before, schedule.pattern.matrix() > 0, after)],
                    title="Figure 3: complete exchange on 4 processors",
                    subtitle="blocks of a matrix, coloured by the processor that holds them",
                )
            ),
        ),
        basis="computed",
    )


def _figure_3_grids(before: Ints, sends: Bools, after: Ints) -> list[Grid]:
    block = np.array([[f"{i},{j}" for j in range(PROCESSORS)] for i in range(PROCESSORS)])
    arrow = np.array([[f"{j} → {i}" for i in range(PROCESSORS)] for j in range(PROCESSORS)])
    sender = np.arange(PROCESSORS)[:, None]
    return [
        Grid("(a) column order", before, block),
        Grid("(b) messages", np.where(sends, sender, -1), np.where(sends, arrow, "")),
        Grid("(c) row order", after, block),
    ]


def moved_blocks(schedule: Schedule, holder: Ints) -> Ints:
    """shape=(blocks, blocks).

    Who holds block (i, j) after message j → i has carried it, from who holds it before.

    Raises:
        ValueError: a transfer would send a block that its sender does not hold.
    """
    holder = holder.copy()
    for source, target in zip(
        schedule.source_node.tolist(), schedule.target_node.tolist(), strict=True
    ):
        if holder[target, source] != source:
            raise ValueError(
                f"block ({target}, {source}) is on {holder[target, source]}, not on {source}"
            )
        holder[target, source] = target
    return holder


SIDE = 8
NUMBERS = (1, 2, 3)
FIGURE_4_ABOUT = (
    "alltoall on mesh:8x8 by method bounded at contention 1; the rows that the scan still shows "
    "are looked up in the "
    "compiled phases. Where the blanks of a row stand is lost; a tile sends to the columns "
    "it comes from."
)
FIGURE_4_DEPARTURES = (
    "the text chooses the direction of a tile for each block of rows, ours one for all: nos. 2 "
    "and 3 take two of our "
    "phases each",
    "section 5 says that a fraction 4/n of the nodes is inactive in a step; it must read active, "
    "as beside Figure 5",
    "the first two rows of no. 1 are lost in the scan; what is left of it is one of our phases as "
    "a whole, which has "
    "them",
)


def figure_4() -> Item:
    """Looks up every readable row in the compiled phases."""
    schedule = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=1)
    rows = printed_rows("figure_4")
    phases = [phases_of(row, phase_matrix(schedule)) for row in rows]
    together = sum(len(found) == 1 for found in phases)
    tiles = sum(is_tile(row.columns, row.target[:, 1], SIDE) for row in rows)
    grids = {number: printed_grid(rows, number) for number in NUMBERS}
    loads = {number: largest_loads(grid) for number, grid in grids.items()}
    claims = (
        Claim(
            "every readable row is one of our tiles: its four messages stand in one compiled phase",
            together == len(rows),
            f"{together} of {len(rows)} rows",
        ),
        Claim(
            "in every readable row the columns move by a cycle u, v, 7-u, 7-v",
            tiles == len(rows),
            f"{tiles} of {len(rows)} rows",
        ),
        Claim(
            "section 4: a link carries one message, a node sends and receives one",
            set(loads.values()) == {(1, 1)},
            "; ".join(f"no. {k}: port {port}, link {link}" for k, (port, link) in loads.items()),
        ),
    )
    steps = (schedule.transfers + SIDE * SIDE) / schedule.phases
    cells = (
        Cell("8x8", "permutations", 128, schedule.phases),
        Cell(
            "8x8",
            "fraction active, messages to itself included",
            4 / SIDE,
            steps / SIDE**2,
        ),
    )
    table = Table(
        "Rows: where the readable ones stand in the compiled schedule",
        ("permutation", "row", "targets", "our phase"),
        tuple(
            (row.permutation, row.row, row.label, ", ".join(map(str, found)))
            for row, found in zip(rows, phases, strict=True)
        ),
    )
    first = [
        next(found[0] for row, found in zip(rows, phases, strict=True) if row.permutation == k)
        for k in NUMBERS
    ]
    return Item(
        PAPER,
        "Figure 4",
        "permutations without contention on 8 x 8 nodes",
        FIGURE_4_ABOUT,
        cells=cells,
        claims=claims,
        tables=(table,),
        departures=FIGURE_4_DEPARTURES,
        pictures=(
            Picture(
                lambda: picture_grids(
                    [
                        [_grid(f"printed, no. {k}", grids[k]) for k in NUMBERS],
                        [
                            _grid(f"compiled, phase {phase}", grid_of(schedule, phase))
                            for phase in first
                        ],
                    ],
                    title="Figure 4: three permutations of 128 on 8 x 8 nodes",
                    subtitle=_figure_4_describe(schedule),
                )
            ),
        ),
        basis="computed",
    )


def phases_of(row: PrintedRow, phase: Ints) -> list[int]:
    """The compiled phases that hold the messages of a printed row."""
    found: list[int] = np.unique(phase[row.nodes(SIDE)]).tolist()
    return found


def printed_grid(rows: list[PrintedRow], number: int) -> Ints:
    """shape=(8, 8): a printed permutation; rows that the scan lost are `UNKNOWN`."""
    own = [row for row in rows if row.permutation == number]
    source, target = (
        np.concatenate(ends) for ends in zip(*(row.nodes(SIDE) for row in own), strict=True)
    )
    grid = grid_from(source, target, SIDE)
    grid[[row for row in range(SIDE) if row not in {one.row for one in own}]] = UNKNOWN
    return grid


def _grid(title: str, target: Ints) -> Grid:
    """Coloured by the row that is sent to: its four senders stand in one row."""
    return permutation(title, target, np.maximum(target, 0) // SIDE)


def _figure_4_describe(schedule: Schedule) -> str:
    return (
        "a cell names the row,column it sends to; ?: lost in the scan; below: the phase of "
        f"{schedule.phases} that "
        "holds the first readable row above"
    )


FIGURE_5_ABOUT = (
    "alltoall on mesh:8x8 by method bounded at contention 1 and 2. The scan shows the collapsed "
    "permutation; the "
    "phases it stands in are looked up, not given."
)


def figure_5() -> Item:
    """Finds the printed permutation in the compiled schedules and compares all of its cells."""
    base = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=1)
    merged = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=2)
    rows = printed_rows("figure_5")
    source, target = (
        np.concatenate(ends) for ends in zip(*(row.nodes(SIDE) for row in rows), strict=True)
    )
    printed = grid_from(source, target, SIDE)
    pair = np.unique(phase_matrix(base)[source, target]).tolist()
    whole = int(np.unique(phase_matrix(merged)[source, target])[0])
    parts, third = [grid_of(base, phase) for phase in pair], grid_of(merged, whole)
    cells = tuple(
        Cell(
            f"node {at // SIDE},{at % SIDE}",
            f"target (row {to // SIDE}, column {to % SIDE})",
            to,
            int(third.flat[at]),
        )
        for at, to in enumerate(printed.ravel().tolist())
    )
    active = [grid >= 0 for grid in parts]
    loads = [largest_loads(grid) for grid in (*parts, third)]
    sums = " + ".join(str(phase) for phase in pair)
    claims = (
        Claim(
            "the printed permutation is two consecutive phases of ours, merged",
            len(pair) == 2 and pair[1] == pair[0] + 1 and pair[0] == 2 * whole,
            f"phases {sums} at contention 1, phase {whole} at contention 2",
        ),
        Claim(
            "the active cells of the first are the inactive cells of the second",
            len(active) == 2 and bool((active[0] ^ active[1]).all()),
            " + ".join(f"{int(grid.sum())}" for grid in active) + f" of {SIDE * SIDE} nodes",
        ),
        Claim(
            "link contention is 1 in both and 2 in the third; each node transmits exactly once",
            loads == [(1, 1), (1, 1), (1, 2)],
            ", ".join(f"port {port} link {link}" for port, link in loads),
        ),
    )
    shades = [np.full_like(printed, k) for k in range(len(parts))]
    third_shade = np.where(active[0], 0, 1).astype(np.int64)
    grids = [
        permutation(f"phase {phase}", grid, shade)
        for phase, grid, shade in zip(pair, parts, shades, strict=True)
    ]
    return Item(
        PAPER,
        "Figure 5",
        "two permutations collapse to a denser one",
        FIGURE_5_ABOUT,
        cells=cells,
        claims=claims,
        pictures=(
            Picture(
                lambda: picture_grids(
                    [
                        [
                            *grids,
                            permutation(f"both: phase {whole} at contention 2", third, third_shade),
                        ]
                    ],
                    title="Figure 5: two permutations collapse to a third on 8 x 8 nodes",
                    subtitle=(
                        "a cell names the row,column it sends to; compiled phases, the third "
                        "equals the printed one"
                    ),
                )
            ),
        ),
        basis="computed",
    )


TABLE_2_SIDES = (4, 8, 12, 16, 20, 24, 28, 32)
TABLE_2_ABOUT = (
    "Complete exchange on mesh:NxN by method bounded at --contention c, compiled for every c up "
    "to n/4; phases counted "
    "in the schedules, beside the bound: messages that must cross the middle."
)
BELOW = (
    "method bounded on mesh:NxN; the lower bound counts messages that must cross the middle, n³/4c"
)
DEPARTURE = (
    "20x20 at c = 2: the text's rule covers divisors of n/4 = 5 only, yet the scan prints 1000 "
    "there; it is met"
)


def table_2() -> Item:
    """Compiles every cell of the table, and those the text leaves blank.

    Counts phases beside the bound.
    """
    made = {(n, c): _phases(n, c) for n in TABLE_2_SIDES for c in range(1, n // 4 + 1)}
    printed = {
        (int(row["n"]), int(row["contention"])): row
        for row in read_published("bokhari_nicol", "table_2")
    }
    cells = (
        Cell(f"{n}x{n}", f"c = {c}", float(row["steps"]), made[n, c][0])
        for (n, c), row in printed.items()
    )
    contentions = range(1, max(TABLE_2_SIDES) // 4 + 1)
    rows = (
        (f"{n}x{n}", *(made[n, c][0] if (n, c) in made else None for c in contentions))
        for n in TABLE_2_SIDES
    )
    blank = len(made) - len(printed)
    above = [
        f"{n}x{n} at c = {c}: {phases} against {bound}"
        for (n, c), (phases, bound) in made.items()
        if phases > bound
    ]
    claim = Claim(
        f"beside: the {blank} blank entries, and all others, are at the lower bound",
        not above,
        "; ".join(above) or f"{len(made)} of {len(made)} at the bound",
        asserted=False,
    )
    steps = {at: float(row["steps"]) for at, row in printed.items()}
    picture = Picture(
        lambda: picture_charts(
            [_table_2_panel(made, steps)],
            title="Table 2: phases over contention",
            subtitle=BELOW,
            height=5.2,
        )
    )
    table = Table(
        "Completed: phases for every contention",
        ("mesh", *(f"c = {c}" for c in contentions)),
        tuple(rows),
    )
    return Item(
        "bokhari-nicol",
        "Table 2",
        "steps of the complete exchange at bounded contention",
        TABLE_2_ABOUT,
        cells=tuple(cells),
        claims=(claim,),
        tables=(table,),
        pictures=(picture,),
        departures=(DEPARTURE,),
        basis="computed",
    )


def _table_2_panel(
    made: dict[tuple[int, int], tuple[int, int]], printed: dict[tuple[int, int], float]
) -> Panel:
    """Marks of every side beside its bound, which is drawn between whole contentions too."""
    lines = []
    for k, n in enumerate(reversed(TABLE_2_SIDES)):
        own = [c for side, c in made if side == n]
        between = [1 + (n / 4 - 1) * step / 40 for step in range(41)]
        lines += [
            Line("" if k else "lower bound", between, [n**3 / 4 / c for c in between], "bound"),
            Line(
                f"{n}x{n}", own, [made[n, c][0] for c in own], "points", len(TABLE_2_SIDES) - 1 - k
            ),
        ]
    lines.append(Line("printed", [c for _, c in printed], list(printed.values()), "rings"))
    contentions = range(1, max(TABLE_2_SIDES) // 4 + 1)
    ticks = (contentions, [str(c) for c in contentions])
    return Panel("", "link contention c", "phases", lines, log_y=True, ticks=ticks)


def _phases(n: int, contention: int) -> tuple[int, int]:
    """(phases of the compiled schedule, bound under its own limits)."""
    schedule = conset.compile(
        "alltoall", f"mesh:{n}x{n}", method="bounded", contention=contention, sync="barrier"
    )
    return schedule.phases, conset.bound(schedule).phases


FIGURE_6_SIDE = 16
SHOWN = 8
FIGURE_6_ABOUT = (
    "alltoall on mesh:16x16 by method bounded at contention 1, 2 and 4; every phase is compared "
    "with those it should "
    "collapse from, loads are counted over the mesh's routes."
)


def figure_6() -> Item:
    """Compares phases at contention 2 and 4 with consecutive phases at contention 1."""
    made = {
        c: conset.compile("alltoall", "mesh:16x16", method="bounded", contention=c, sync="barrier")
        for c in (1, 2, 4)
    }
    base = phase_matrix(made[1])
    others = ~np.eye(FIGURE_6_SIDE * FIGURE_6_SIDE, dtype=bool)
    cells = [
        Cell(
            *("16x16", f"phases at link contention {c}"),
            *(FIGURE_6_SIDE**3 / 4 / c, made[c].phases),
            counted_in="Table 2",
        )
        for c in made
    ]
    steps = (made[1].transfers + FIGURE_6_SIDE * FIGURE_6_SIDE) / made[1].phases
    cells.append(
        Cell(
            "16x16",
            "fraction active, messages to itself included",
            4 / FIGURE_6_SIDE,
            steps / FIGURE_6_SIDE**2,
        )
    )
    claims = [_collapse(made[c], base, others, c) for c in (2, 4)]
    loads = [phase_loads(made[c]) for c in (1, 2, 4)]
    links = [int(load.link.max()) for load in loads]
    nodes = [int(max(load.send.max(), load.receive.max())) for load in loads]
    claims.append(
        Claim(
            "merged phases have link contention 2, then 4, and no node contention",
            links == [1, 2, 4] and nodes == [1, 1, 1],
            f"links {links}, nodes {nodes}",
        )
    )
    four = made[4]
    both = phase_loads(
        replace(four, phase_offsets=np.append(four.phase_offsets[:-1:2], four.phase_offsets[-1]))
    )
    node, link = int(max(both.send.max(), both.receive.max())), int(both.link.max())
    claims.append(
        Claim(
            "one synchronization less in part (c): two messages of a node, link contention "
            "doubled to 8",
            (node, link) == (2, 8),
            f"node {node}, link {link} over pairs of phases",
        )
    )
    return Item(
        PAPER,
        "Figure 6",
        "a collapsible schedule on 16 x 16 nodes",
        FIGURE_6_ABOUT,
        cells=tuple(cells),
        claims=tuple(claims),
        pictures=(
            Picture(
                lambda: picture_grids(
                    [_figure_6_grids(made[c]) for c in (1, 2, 4)],
                    width=12,
                    height=2.3,
                    title=(
                        "Figure 6: the first 8 of 1024 phases of a collapsible schedule, "
                        "16 x 16 nodes"
                    ),
                    subtitle=(
                        "active nodes, coloured by their phase at contention 1; a dot: own data, "
                        "nothing is sent"
                    ),
                )
            ),
        ),
        basis="computed",
    )


def _collapse(schedule: Schedule, base: Ints, others: Bools, contention: int) -> Claim:
    """Whether phase p at `contention` is phases c·p … c·p + c - 1 at contention 1."""
    same = phase_matrix(schedule)[others] == base[others] // contention
    return Claim(
        f"(b), (c): without the synchronizations between them, {contention} successive "
        "phases are one",
        bool(same.all()),
        f"{int(same.sum()):,} of {same.size:,} messages in the phase of their {contention}",
    )


@lru_cache
def _step_targets() -> Ints:
    """shape=(steps shown, nodes): whom every node sends to, itself where its own data are due."""
    ranks = range(FIGURE_6_SIDE * FIGURE_6_SIDE)
    who = [[partner_at(FIGURE_6_SIDE, rank, step) for rank in ranks] for step in range(SHOWN)]
    return np.array([[IDLE if to is None else to for to in row] for row in who], np.int64)


def _figure_6_grids(schedule: Schedule) -> list[Grid]:
    """The first phases of a schedule, each node in the colour of its step.

    Nodes whose own data are due as well.
    """
    contention = schedule.limits.link or 1
    steps = _step_targets()
    grids = []
    for phase in range(SHOWN // contention):
        first = phase * contention
        due = steps[first : first + contention]
        step = np.argmax(due >= 0, axis=0)
        target = grid_of(schedule, phase).ravel()
        own = due.max(axis=0) == np.arange(target.size)
        target = np.where(own, np.arange(target.size), target)
        title = (
            f"phase {first}" if contention == 1 else f"phases {first} to {first + contention - 1}"
        )
        shade = np.where(target >= 0, first + step, 0)
        grids.append(
            permutation(
                title,
                target.reshape(FIGURE_6_SIDE, FIGURE_6_SIDE),
                shade.reshape(FIGURE_6_SIDE, FIGURE_6_SIDE),
            )
        )
    return grids
