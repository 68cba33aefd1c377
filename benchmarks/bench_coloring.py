"""Colouring against rustworkx `graph_bipartite_edge_color` on the same graphs, in the same run.

Each starts from its own graph object, already built: a `Problem` over arrays here, a `PyGraph`
there. Asserted: the number of phases is the largest degree, and the ratios the project promises.
The complete exchange takes rustworkx 6 to 50 s by the order of its edges, so it runs once;
`--quick` leaves it out.

    PYTHONPATH=src python benchmarks/bench_coloring.py [--quick]
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Problem
from conset.methods.phases.table import find_method
from conset.pattern.spec import parse_pattern

CASES = [
    ("random:degree=16", 1024, 5.0, 7),
    ("random:degree=32", 4096, 10.0, 7),
    ("alltoall", 512, 40.0, 1),
]
"""(pattern, nodes, promised ratio, repetitions of rustworkx)."""


def times(function: Callable[[], Any], repetitions: int) -> list[float]:
    result = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        result.append(time.perf_counter() - start)
    return result


def compare(pattern_spec: str, nodes: int, repetitions: int) -> float:
    import rustworkx

    pattern = parse_pattern(pattern_spec, ranks=nodes)
    on, row = parse_machine(f"crossbar:{nodes}"), find_method("coloring")
    problem = Problem(pattern, on, row.limits(on.topology))
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(2 * nodes))
    graph.add_edges_from_no_data(
        list(zip(pattern.source.tolist(), (pattern.target + nodes).tolist(), strict=True))
    )
    degree = int(max(np.bincount(pattern.source).max(), np.bincount(pattern.target).max()))
    assert row.schedule(problem).offsets.size - 1 == degree, (
        "not as many phases as the largest degree"
    )
    ours = times(lambda: row.schedule(problem), max(5, repetitions))
    theirs = times(lambda: rustworkx.graph_bipartite_edge_color(graph), repetitions)
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(
        f"{pattern_spec:>18} on {nodes:>4} nodes, {pattern.messages:>7} messages, "
        f"{degree:>3} phases: "
        f"conset {1e3 * statistics.median(ours):8.2f} ms (min {1e3 * min(ours):.2f}), "
        f"rustworkx {1e3 * statistics.median(theirs):9.2f} ms (min {1e3 * min(theirs):.2f}): "
        f"{ratio:.1f}x"
    )
    return ratio


def main() -> int:
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}"
    )
    missed = 0
    for spec, nodes, promised, repetitions in CASES:
        if "--quick" in sys.argv and spec == "alltoall":
            continue
        ratio = compare(spec, nodes, repetitions)
        if ratio < promised:
            print(f"{spec}: {ratio:.1f}x is below the {promised:.0f}x promised")
            missed += 1
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
