"""Files that hold a graph: which reader takes which suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conset.errors import InputError
from conset.files import read_text
from conset.network.edge_list import read_edge_list
from conset.network.gml import read_gml
from conset.network.graph import Graph
from conset.network.graphml import read_graphml


def read_graph(path: str | Path) -> Graph:
    """The graph in a file, by its suffix (`GRAPH_READERS`).

    Raises:
        InputError: missing, empty, an unknown suffix, or contents that break the format; file and line are named.
    """
    path = Path(path)
    reader = GRAPH_READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: a graph's suffix must be one of {', '.join(GRAPH_READERS)}, is '{path.suffix}'")
    return reader(read_text(path), path.name)


GRAPH_READERS: dict[str, Callable[[str, str], Graph]] = {
    ".graphml": read_graphml,
    ".gml": read_gml,
    ".edges": read_edge_list,
    ".edgelist": read_edge_list,
    ".txt": read_edge_list,
}
"""Readers by suffix."""
