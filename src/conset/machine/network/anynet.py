"""BookSim's arbitrary networks (`network_file` of topology `anynet`).

Who is joined to whom, a line for each router.

    router 0 node 0 node 1 router 1
    router 1 node 2 router 0 5        a number behind a name is that link's latency [cycles]

Nodes are endpoints, routers switches. A link that two lines name is one link. Latencies are cycles
of a clock that the file does not say, so they are checked and not used.

Source: https://github.com/booksim/booksim2 (src/networks/anynet.cpp, `AnyNet::readFile`).
"""

from __future__ import annotations

from conset.base.errors import InputError, shortened
from conset.base.files import whole_number
from conset.machine.network.graph import Edge, Graph, both_ways

_KINDS = ("node", "router")
_End = tuple[str, int]


def read_anynet(text: str, name: str = "anynet") -> Graph:
    """The graph; endpoint k is the k-th node by its number, routers come after, by theirs.

    Raises:
        InputError: a line that is no list of `node N` and `router N`, a link of two nodes, a node
            on two routers, a node that is joined to none; names file and line.
    """
    joined: dict[tuple[_End, _End], str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        ends = _ends(line.split("//", 1)[0].split(), where)
        for other in ends[1:]:
            _join(joined, ends[0], other, where)
    if not joined:
        raise InputError(f"{name}: joins nothing; `router 0 node 0 router 1` is required")
    order = sorted(
        {end for pair in joined for end in pair}, key=lambda end: (_KINDS.index(end[0]), end[1])
    )
    ids = {end: k for k, end in enumerate(order)}
    endpoints = sum(kind == "node" for kind, _ in order)
    if not endpoints:
        raise InputError(f"{name}: all {len(order)} names are routers; at least 1 node required")
    edges = both_ways(Edge(ids[a], ids[b], where=where) for (a, b), where in joined.items())
    labels = tuple(f"{kind} {k}" for kind, k in order)
    levels = tuple(int(kind == "router") for kind, _ in order)
    return Graph(len(order), endpoints, tuple(edges), labels, name, levels)


def _ends(words: list[str], where: str) -> list[_End]:
    """The names of a line, latencies left out."""
    ends: list[_End] = []
    k = 0
    while k < len(words):
        kind = words[k].lower()
        if kind not in _KINDS:
            raise InputError(f"{where}: '{shortened(words[k])}': 'node N' or 'router N' required")
        number = whole_number(words[k + 1]) if k + 1 < len(words) else None
        if number is None or not 0 <= number < 2**31:
            given = shortened(words[k + 1]) if k + 1 < len(words) else "nothing"
            raise InputError(f"{where}: {kind} '{given}': a number from 0 to 2^31 - 1 required")
        ends.append((kind, number))
        k += 2
        if k < len(words) and words[k].lower() not in _KINDS:
            latency = whole_number(words[k])
            if latency is None or latency < 1 or len(ends) == 1:
                raise InputError(
                    f"{where}: '{shortened(words[k])}': 'node N', 'router N' or a link's "
                    "latency required"
                )
            k += 1
    return ends


def _join(joined: dict[tuple[_End, _End], str], a: _End, b: _End, where: str) -> None:
    if a == b:
        raise InputError(f"{where}: joins {a[0]} {a[1]} to itself")
    first, second = sorted((a, b), key=lambda end: (_KINDS.index(end[0]), end[1]))
    if second[0] == "node":
        raise InputError(f"{where}: joins node {a[1]} to node {b[1]}; a node is joined to a router")
    joined.setdefault((first, second), where)
