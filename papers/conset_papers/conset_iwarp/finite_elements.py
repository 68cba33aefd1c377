"""Finite-element patterns of section 5.2.

Regenerated meshes, their partitions, compiled exchanges, their times.

Meshes have the sizes that Table 4 gives; the text's own are lost. m11k: 10,000 random points in the
unit square and 1,000 evenly spaced on its boundary. c10k, c100k: 337 and 5,125 on the boundary, the
density inside as distance^-1.5 to a crack from the left edge to the centre. All three are Delaunay
triangles, whose number Euler's formula gives: 2 · nodes - 2 - nodes on the boundary. q20k:
hexahedra 40 × 25 × 20, the only elements of which 20,000 have about 22,451 nodes. Cells are cut
into 64 parts by bisection of the wider coordinate or by METIS; part a sends part b one word for
every node that both have. A part's matrix has an entry for every pair of nodes that an element of
the part has.

A word takes 10 clocks at a cell, which sends or receives one at a time (the text's recalculated
access). The text's compiler is its sequential router with lists by AS, on one line for both ways;
its prediction is 528 clocks a phase and 10 for each word of the timetable. Today's balances words
over phases and orders them by an event list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec

import numpy as np

import conset
from conset.base import Floats, Ints, UsageError
from conset.models import Workload
from conset.pattern import Cells, Pattern, dual_graph, partition_graph, shared_layout
from conset.schedule import Schedule
from conset_papers.conset_iwarp.columns import ONE_BY_ONE, best_in_flight
from conset_papers.conset_iwarp.machine import (
    CONNECTIONS,
    MESSAGES,
    WORD_B,
    clocks,
    in_lists,
    machine,
    route_as_compiled,
    scheduled,
)
from conset_papers.item import read_published
from conset_papers.parallel import on_threads

PARTS = 64
TRIANGLES = {"m11k": (11_000, 1_000), "c10k": (10_240, 337), "c100k": (105_000, 5_125)}
"""Nodes in all and on the boundary."""
BOXES = {"q20k": (40, 25, 20)}
"""Cells along each side."""
NEAREST = 0.002
"""Within this distance of a crack the density is even."""
MESHES = ("m11k", "c10k", "c100k", "q20k")
LABELS = {"bisection": "bisection", "metis": "METIS"}
"""Ways to cut cells into parts, for people."""
SYSTOLIC = "port=8MB/s,node=8MB/s"
"""10 clocks a word at a cell, both ways together."""
PROCESSORS = "crossbar:64,setup=26.4us," + SYSTOLIC
"""What AS and the prediction know: processors and 528 clocks a phase."""
RECEIVING = "port_in=8MB/s"
"""Message passing: the receiver scatters at 10 clocks a word; the sender spools a buffer."""
ORDERS = 20
SETUP = 528
WORD_CLOCKS = 10


@dataclass(frozen=True, eq=False)
class Mesh:
    """Elements with the same number of corners.

    Attributes:
        points: shape=(nodes, dimensions), float64.
        elements: shape=(elements, corners), int64.
    """

    points: Floats
    elements: Ints

    @property
    def cells(self) -> Cells:
        """As the readers of meshes have them: two elements are next to each other by a side."""
        count, corners = self.elements.shape
        offsets = np.arange(0, count * corners + 1, corners)
        common = self.points.shape[1] if corners == 3 else 4
        return Cells(offsets, self.elements.ravel(), np.full(count, corners, np.int64), common)

    @property
    def centres(self) -> Floats:
        """shape=(elements, dimensions), float64."""
        centres: Floats = self.points[self.elements].mean(axis=1)
        return centres


@lru_cache(maxsize=8)
def make_mesh(name: str) -> Mesh:
    """The mesh called `name`, the same every time."""
    if name in BOXES:
        return make_box(BOXES[name])
    nodes, boundary = TRIANGLES[name]
    inside = nodes - boundary
    points = (
        np.random.default_rng(0).random((inside, 2))
        if name == "m11k"
        else _around_crack(inside, nodes)
    )
    return _triangulate(np.concatenate([points, _square(boundary)]))


def _triangulate(points: Floats) -> Mesh:
    from scipy.spatial import Delaunay

    return Mesh(points, Delaunay(points).simplices.astype(np.int64))


def _square(count: int) -> Floats:
    """Evenly spaced on the boundary of the unit square, from the lower left corner on.

    shape=(count, 2).
    """
    at = np.arange(count) * 4
    side, step = at // count, at % count / count
    zero, one = np.zeros(count), np.ones(count)
    x = np.choose(side, [step, one, 1 - step, zero])
    y = np.choose(side, [zero, step, one, 1 - step])
    return np.stack([x, y], axis=1)


def _around_crack(count: int, seed: int) -> Floats:
    """shape=(count, 2): random points, dense along the crack from (0, 1/2) to (1/2, 1/2)."""
    random = np.random.default_rng(seed)
    kept = [np.zeros((0, 2))]
    while sum(map(len, kept)) < count:
        points = random.random((1_000_000, 2))
        along = np.clip(points[:, 0], 0.0, 0.5)
        distance = np.hypot(points[:, 0] - along, points[:, 1] - 0.5)
        kept.append(
            points[random.random(len(points)) < (NEAREST / np.maximum(distance, NEAREST)) ** 1.5]
        )
    return np.concatenate(kept)[:count]


def make_box(sides: tuple[int, int, int]) -> Mesh:
    """A box of unit cubes."""
    nx, ny, nz = sides
    x, y, z = (axis.ravel() for axis in np.meshgrid(*(np.arange(n) for n in sides), indexing="ij"))
    corners = [
        ((x + i) * (ny + 1) + y + j) * (nz + 1) + z + k
        for i in (0, 1)
        for j in (0, 1)
        for k in (0, 1)
    ]
    grid = np.meshgrid(*(np.arange(n + 1.0) for n in (nx, ny, nz)), indexing="ij")
    return Mesh(
        np.stack([axis.ravel() for axis in grid], axis=1),
        np.stack(corners, axis=1).astype(np.int64),
    )


def cut(mesh: Mesh, how: str) -> Ints:
    """shape=(elements), int64: the part of each, of 64.

    Args:
        mesh: what is cut.
        how: `bisection` or `metis`.

    Raises:
        UsageError: another way.
        MissingExtraError: METIS is not installed.
    """
    if how == "bisection":
        return _bisect(mesh.centres)
    if how != "metis":
        raise UsageError(f"parts by '{how}': must be bisection or metis")
    return partition_graph(dual_graph(mesh.cells), PARTS, 0, "mesh")


def _bisect(centre: Floats) -> Ints:
    """Halves by the median of the wider coordinate, six times."""
    part = np.zeros(len(centre), np.int64)
    for _ in range(PARTS.bit_length() - 1):
        halves = np.zeros_like(part)
        for p in np.unique(part):
            own = np.flatnonzero(part == p)
            wide = int(np.argmax(np.ptp(centre[own], axis=0)))
            order = own[np.argsort(centre[own, wide], kind="stable")]
            halves[order[len(order) // 2 :]] = 1
        part = 2 * part + halves
    return part


def halo(mesh: Mesh, part: Ints, name: str) -> Pattern:
    """What the parts exchange after an iteration, in bytes of 4-byte words."""
    cells = mesh.cells
    return shared_layout(cells.offsets, cells.nodes, part, PARTS, WORD_B).pattern(name)


def cuts() -> tuple[str, ...]:
    """How cells are cut into parts; METIS where it is installed."""
    return ("bisection", "metis") if find_spec("pymetis") else ("bisection",)


@lru_cache(maxsize=16)
def parts_of(name: str, how: str) -> Ints:
    """shape=(elements), int64: the part of each."""
    return cut(make_mesh(name), how)


@lru_cache(maxsize=16)
def exchange(name: str, how: str = "bisection") -> Pattern:
    """What the processors exchange after an iteration."""
    return halo(make_mesh(name), parts_of(name, how), name)


@dataclass(frozen=True)
class Structure:
    """What Table 4 tells of a partitioned mesh.

    Attributes:
        elements: of the mesh.
        nodes: of the mesh.
        elements_of: fewest and most of a processor.
        words_of: fewest and most that a processor sends.
        degree: most processors that one sends to.
        words: fewest and most of a connection.
    """

    elements: int
    nodes: int
    elements_of: tuple[int, int]
    words_of: tuple[int, int]
    degree: int
    words: tuple[int, int]


@lru_cache(maxsize=16)
def structure(name: str, how: str = "bisection") -> Structure:
    """Counted on the regenerated mesh."""
    mesh, pattern = make_mesh(name), exchange(name, how)
    elements = np.bincount(parts_of(name, how), minlength=PARTS)
    sent = np.bincount(pattern.source, pattern.size, PARTS).astype(np.int64) // WORD_B
    return Structure(
        len(mesh.elements),
        int(np.unique(mesh.elements).size),
        _ends(elements),
        _ends(sent),
        int(np.bincount(pattern.source, minlength=PARTS).max()),
        _ends(pattern.size // WORD_B),
    )


@lru_cache(maxsize=16)
def entries(name: str, how: str = "bisection") -> Ints:
    """Entries of the parts' matrices, rows by part and node.

    Returns:
        shape=(entries, 3), int64: part, row and column; rows and columns are nodes of the mesh.
    """
    mesh, part = make_mesh(name), parts_of(name, how)
    corners, nodes = mesh.elements.shape[1], len(mesh.points)
    row, column = np.repeat(mesh.elements, corners, axis=1), np.tile(mesh.elements, corners)
    key = np.unique((part[:, None] * nodes + row) * nodes + column)
    found: Ints = np.stack([key // nodes**2, key // nodes % nodes, key % nodes], axis=1)
    return found


@lru_cache(maxsize=16)
def operations(name: str, how: str = "bisection") -> int:
    """Of the busiest part in a product of matrix and vector.

    An addition and a multiplication for every entry.
    """
    return 2 * int(np.bincount(entries(name, how)[:, 0], minlength=PARTS).max())


def _ends(values: Ints) -> tuple[int, int]:
    return int(values.min()), int(values.max())


@dataclass(frozen=True, eq=False)
class Compiled:
    """A schedule and what its prediction is made of.

    Attributes:
        schedule: with the machine's routes or its own, lists in the order of the timetable.
        predicted: 528 · phases + 10 · `words` [clocks].
        words: of the timetables of all phases, S of Table 6.
    """

    schedule: Schedule
    predicted: float
    words: float


@lru_cache(maxsize=16)
def as_the_text(name: str, how: str = "bisection") -> Compiled:
    """By the text's router and its AS; predicted as in Table 6, on processors alone."""
    pattern, on = exchange(name, how), machine(CONNECTIONS, SYSTOLIC)
    listed, timed = in_lists(route_as_compiled(pattern, on), pattern, machine(PROCESSORS), 0)
    predicted = clocks(conset.predict(scheduled(pattern, machine(PROCESSORS), timed)).time_s)
    phases = int(timed.offsets.size) - 1
    return Compiled(
        scheduled(pattern, on, listed), predicted, (predicted - SETUP * phases) / WORD_CLOCKS
    )


def simulated(compiled: Compiled, words: str = "", count: str = "1") -> float:
    """By `flow`, sync barrier [clocks].

    `words` are costs changed beside the access, `count` transfers at once.
    """
    on = machine(CONNECTIONS, ",".join(filter(None, (SYSTOLIC, words))))
    schedule = replace(compiled.schedule, machine=on)
    return clocks(conset.simulate(schedule, sync="barrier", in_flight=count, receives=count).time_s)


@lru_cache(maxsize=16)
def predicted_messages(name: str, how: str = "bisection") -> float:
    """By the formula of Tables 1 to 3, 400 + 400 clocks a message.

    With 10 clocks a word at the receiver [clocks].
    """
    on = machine(MESSAGES, f"{RECEIVING},{ONE_BY_ONE}")
    return clocks(
        conset.predict(conset.compile(exchange(name, how), on, method="naive"), by="formula").time_s
    )


@lru_cache(maxsize=64)
def message_passing(name: str, how: str = "bisection", in_flight: int = 0) -> float:
    """By `wormhole`, mean of random orders [clocks].

    0 in flight: the best single number of Tables 1 to 3.
    """
    on = machine(MESSAGES, RECEIVING)
    schedule = conset.compile(exchange(name, how), on, method="naive")
    work, count = Workload.of_schedule(schedule), in_flight or best_in_flight()

    def run(seed: int) -> float:
        order = np.random.default_rng(seed).permutation(work.messages).astype(np.int32)
        timeline = conset.simulate(
            replace(work, order=order), on, model="wormhole", in_flight=count, receives=1
        )
        return clocks(timeline.time_s)

    return float(np.mean(on_threads(run, range(ORDERS))))


def printed(table: int) -> dict[str, dict[str, float]]:
    """Mesh → column → number of Table 4, 5 or 6 as the text prints it."""
    rows = read_published("conset_iwarp", f"table_{table}")
    return {
        row["mesh"]: {key: float(value) for key, value in row.items() if key != "mesh"}
        for row in rows
    }
