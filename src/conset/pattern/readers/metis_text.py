"""Graphs (vertices by their neighbours) and meshes (elements by their nodes), manual 5.1."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from conset.base import InputError, read_text
from conset.pattern.readers.partition import Cells, Graph

_ELEMENT_NODES = {1: 3, 2: 4, 3: 8, 4: 4}
"""Manual 4.0: 1 triangles, 2 tetrahedra, 3 hexahedra, 4 quadrilaterals → nodes of an element."""

_DIGITS = re.compile(r"[0-9+\s-]*")


def parse_metis_graph(path: Path) -> Graph:
    """A graph: header `vertices edges [fmt [ncon]]`, then a line per vertex.

    A line holds [size] [weights …] and (neighbour [weight]) as often as there are neighbours.
    `fmt` are three digits: vertex sizes, vertex weights, edge weights. Lines that start with `%`
    are comments; an empty line is a vertex without neighbours. METIS balances one weight here: of
    several the first; sizes are not used.

    Raises:
        InputError: a word that is no whole number, too few or many lines, a vertex out of range, an
            edge that is not in both rows, a number of edges that is not the header's.
    """
    lines, header = _content(path, "vertices edges [fmt [ncon]]", (2, 4))
    vertices, edges = header[:2]
    flags = f"{header[2] if len(header) > 2 else 0:03d}"
    if len(flags) > 3 or set(flags) - set("01"):
        raise InputError(
            f"{path}, line {lines[0][0]}: fmt must be three digits 0 or 1, given '{flags}'"
        )
    weights = int(flags[1]) * (header[3] if len(header) > 3 else 1)
    skipped = int(flags[0]) + weights
    rows = _rows(path, lines, vertices, "vertices", skipped)
    stride = 1 + int(flags[2])
    uneven = next((v for v in range(vertices) if (len(rows[v]) - skipped) % stride), None)
    if uneven is not None:
        raise InputError(
            f"{path}, line {lines[uneven + 1][0]}: a weight after every neighbour required"
        )
    offsets = np.cumsum([0] + [(len(row) - skipped) // stride for row in rows])
    neighbor = np.array([v for row in rows for v in row[skipped::stride]], np.int64) - 1
    edge_weights = (
        np.array([w for row in rows for w in row[skipped + 1 :: 2]], np.int64)
        if stride == 2
        else None
    )
    first = np.array([row[int(flags[0])] for row in rows], np.int64) if weights else None
    graph = Graph(offsets, neighbor, first, edge_weights)
    _check_graph(path, graph, edges, [number for number, _ in lines[1:]])
    return graph


def _check_graph(path: Path, graph: Graph, edges: int, numbers: list[int]) -> None:
    vertex = np.repeat(np.arange(graph.count), np.diff(graph.offsets))
    wrong = np.flatnonzero(
        (graph.neighbor < 0) | (graph.neighbor >= graph.count) | (graph.neighbor == vertex)
    )
    if wrong.size:
        v, other = vertex[wrong[0]], graph.neighbor[wrong[0]] + 1
        raise InputError(
            f"{path}, line {numbers[v]}: neighbour {other}: must be another vertex from 1 to "
            f"{graph.count}"
        )
    there = np.sort(vertex * graph.count + graph.neighbor)
    missing = np.setdiff1d(graph.neighbor * graph.count + vertex, there)
    if missing.size:
        v, other = int(missing[0] // graph.count), int(missing[0] % graph.count)
        raise InputError(
            f"{path}, line {numbers[v]}: neighbour {other + 1} is missing: vertex {other + 1} "
            f"names {v + 1}"
        )
    if graph.neighbor.size != 2 * edges:
        raise InputError(
            f"{path}: the header says {edges} edges, the lines hold "
            f"{graph.neighbor.size / 2:g}: must agree"
        )
    if graph.edge_weights is not None and (graph.edge_weights < 1).any():
        raise InputError(
            f"{path}: weights of edges must be at least 1, the least is {graph.edge_weights.min()}"
        )


def parse_metis_mesh(path: Path) -> Cells:
    """A mesh: header `elements [ncon]`, then one line per element: [weights …] nodes from 1.

    The older header `elements etype` (manual 4.0) is known by its lines: as many numbers in each as
    the type has nodes. The text does not say what shape an element has: those of 2 nodes touch in
    1, up to 4 nodes in 2, larger ones in 3.

    Raises:
        InputError: a word that is no whole number, too few or many lines, a node below 1, an
            element without nodes.
    """
    lines, header = _content(path, "elements [ncon]", (1, 2))
    weights = header[1] if len(header) > 1 else 0
    rows = _rows(path, [line for line in lines if line[1].strip()], header[0], "elements", 1)
    if {len(row) for row in rows} == {_ELEMENT_NODES.get(weights)}:
        weights = 0
    short = next((element for element, row in enumerate(rows) if len(row) <= weights), None)
    if short is not None:
        raise InputError(
            f"{path}: element {short + 1}: {weights} weights and a node required, given "
            f"{len(rows[short])}"
        )
    nodes = np.array([node for row in rows for node in row[weights:]], np.int64) - 1
    offsets = np.cumsum([0] + [len(row) - weights for row in rows])
    if nodes.min() < 0:
        element = int(np.searchsorted(offsets, np.argmin(nodes), side="right")) - 1
        raise InputError(f"{path}: element {element + 1}: node 0: nodes are counted from 1")
    first = np.array([row[0] for row in rows], np.int64) if weights else None
    # a file may name any nodes, and arrays are as long as the largest
    numbers, dense = np.unique(nodes, return_inverse=True)
    least = int(np.diff(offsets).min())
    common = 1 if least <= 2 else 2 if least <= 4 else 3
    return Cells(offsets, dense.reshape(-1), np.diff(offsets), common, first, numbers)


def _content(
    path: Path, form: str, words: tuple[int, int]
) -> tuple[list[tuple[int, str]], list[int]]:
    """((line number, line) without comments, the numbers of the first one, the header).

    Empty lines count, after the header, which has from `words[0]` to `words[1]` numbers.
    """
    lines = [
        (k, line)
        for k, line in enumerate(read_text(path).splitlines(), 1)
        if not line.lstrip().startswith("%")
    ]
    while lines and not lines[0][1].strip():
        del lines[0]
    if not lines:
        raise InputError(f"{path}: holds no header")
    header = _whole(path, lines[0], 1)
    if not words[0] <= len(header) <= words[1] or header[0] < 1:
        raise InputError(
            f"{path}, line {lines[0][0]}: header '{form}' required, given '{lines[0][1].strip()}'"
        )
    return lines, header


def _whole(path: Path, line: tuple[int, str], least: int) -> list[int]:
    try:
        if not _DIGITS.fullmatch(line[1]):
            raise ValueError(line[1])
        values = [int(word) for word in line[1].split()]
    except ValueError:  # of a sign inside a word, or of more digits than Python reads
        raise InputError(
            f"{path}, line {line[0]}: whole numbers required, given '{line[1].strip()[:40]}'"
        ) from None
    if len(values) < least:
        raise InputError(
            f"{path}, line {line[0]}: at least {least} numbers required, given {len(values)}"
        )
    if any(not 0 <= value < 2**31 for value in values):
        raise InputError(
            f"{path}, line {line[0]}: numbers from 0 to 2^31 - 1 required, given "
            f"'{line[1].strip()[:40]}'"
        )
    return values


def _rows(
    path: Path, lines: list[tuple[int, str]], count: int, what: str, least: int
) -> list[list[int]]:
    """The numbers of the `count` lines after the header."""
    body = lines[1:]
    while len(body) > count and not body[-1][1].strip():
        body.pop()
    if len(body) != count:
        state = "truncated: " if len(body) < count else ""
        raise InputError(
            f"{path}: {state}the header says {count} {what}, the file has {len(body)} lines of them"
        )
    return [_whole(path, line, least) for line in body]
