"""How times grow with sizes.

Of compiles with messages, from 10³ to 10⁷, of networks with nodes and entries.

    python benchmarks/bench_growth.py [LARGEST]

`first-fit` and `coloring` on random:degree=16 over tori of three equal sides, `bounded` on complete
exchanges of n × n meshes with 4 | n at contention n/4. Every schedule up to `VERIFIED` messages is
verified. `next-links` is the table of shortest paths of meshes with a dead link, in its entries,
nodes × endpoints; `graphml` a file of nodes in a row, in nodes. The last column is the exponent
between neighbouring rows: 1 is linear. The run fails where that from the first to the last row of
networks is above `STEEPEST`.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable
from math import log
from pathlib import Path

import conset
from conset.machine.network.graph_files import read_graph
from conset.machine.network.routes import next_links

SIDES = (4, 8, 16, 28, 48, 85)
MESHES = (8, 16, 24, 32, 44, 56)
VERIFIED = 2_000_000
DEAD_MESHES = (16, 24, 36, 54, 80)
GRAPHML_NODES = (10_000, 20_000, 40_000, 80_000)
STEEPEST = 1.5
"""Quadratic code has 2; caches make linear code a little steeper than 1."""

GRAPHML = (
    '<graphml><key id="n" for="node" attr.name="label"/><graph '
    'edgedefault="undirected">{}{}</graph></graphml>'
)


def measure(pattern: str, machine: str, method: str, **options: int) -> tuple[int, float]:
    """(messages, best compile time of three, one above 10⁶ messages [s])."""
    traffic = conset.load_pattern(pattern, machine)
    rounds = 3 if traffic.messages < 1_000_000 else 1
    schedules = [
        conset.compile(traffic, machine, method=method, sync="barrier", **options)
        for _ in range(rounds)
    ]
    if traffic.messages <= VERIFIED and not conset.verify(schedules[0]).ok:
        raise SystemExit(f"{method} on {machine}: does not verify")
    return traffic.messages, min(s.report.compile_s for s in schedules)


def measure_next_links(side: int) -> tuple[int, float]:
    """(entries, best time of three [s]) of the shortest paths of a mesh with a dead link."""
    topology = conset.load_machine(f"mesh:{side}x{side},dead=0-1").topology
    return topology.nodes * topology.endpoints, best_of_three(lambda: next_links(topology))


def measure_graphml(nodes: int) -> tuple[int, float]:
    """(nodes, best time of three [s]) of reading a row of nodes."""
    named = "".join(f'<node id="v{k}"><data key="n">node {k}</data></node>' for k in range(nodes))
    joined = "".join(f'<edge source="v{k}" target="v{k + 1}"/>' for k in range(nodes - 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "row.graphml"
        path.write_text(GRAPHML.format(named, joined))
        return nodes, best_of_three(lambda: read_graph(path))


def best_of_three(work: Callable[[], object]) -> float:
    """The shortest of three times [s]."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_networks() -> None:
    """Prints how what networks need grows; ends the run where it is no longer nearly linear."""
    kinds = {
        "next-links": (measure_next_links, DEAD_MESHES),
        "graphml": (measure_graphml, GRAPHML_NODES),
    }
    for kind, (measured, sizes) in kinds.items():
        rows = [measured(size) for size in sizes]
        for k, (count, seconds) in enumerate(rows):
            growth = f"{exponent(rows[k - 1], rows[k]):.2f}" if k else ""
            print(
                f"{kind:27} {count:>11,}           {seconds * 1e3:>10.2f} ms  {growth}", flush=True
            )
        if (whole := exponent(rows[0], rows[-1])) > STEEPEST:
            raise SystemExit(
                f"{kind}: grows with an exponent of {whole:.2f}, at most {STEEPEST} is near-linear"
            )


def exponent(before: tuple[int, float], now: tuple[int, float]) -> float:
    """Of the growth of the second number with the first."""
    return log(now[1] / before[1]) / log(now[0] / before[0])


def main(largest: int) -> None:
    """Prints a table per kind and method."""
    print(f"{platform.machine()}, Python {platform.python_version()}")
    measure_networks()
    cases = [("bounded", "alltoall", f"mesh:{n}x{n}", {"contention": n // 4}) for n in MESHES]
    for method in ("first-fit", "coloring"):
        cases += [(method, "random:degree=16", f"torus:{n}x{n}x{n}", {}) for n in SIDES]
    last: dict[str, tuple[int, float]] = {}
    for method, pattern, machine, options in cases:
        messages, seconds = measure(pattern, machine, method, **options)
        if messages > largest:
            continue
        growth = ""
        if method in last:
            growth = f"{exponent(last[method], (messages, seconds)):.2f}"
        last[method] = messages, seconds
        print(
            f"{method:10} {machine:16} {messages:>11,} messages  "
            f"{seconds * 1e3:>10.2f} ms  {growth}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8)
