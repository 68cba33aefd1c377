"""First fit: time on one core and phases against the bound, checked by the verifier.

PYTHONPATH=src python benchmarks/bench_first_fit.py
"""

from __future__ import annotations

import platform
import statistics
import sys
import time

from conset.machine.network.routes import route_links
from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify

CASES = [
    ("alltoall", "mesh:8x8", 0.1, 139, 1),
    ("alltoall", "mesh:16x16", 0.3, 1110, 1),
    ("alltoall", "mesh:16x16", 3.0, 1090, 10),
    ("random:degree=64", "torus:16x16x16", 1.0, None, 1),
    ("alltoall", "hypercube:9", None, None, 1),
]
"""(pattern, machine, seconds at most, phases at most, effort)."""


def main() -> int:
    import numpy as np

    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    missed = 0
    row = find_method("first-fit")
    for pattern_spec, machine_spec, seconds, most, effort in CASES:
        on = parse_machine(machine_spec)
        pattern = parse_pattern(pattern_spec, topology=on.topology)
        limits = row.limits(on.topology)
        spent = []
        for _ in range(5):
            problem = Problem(pattern, on, limits, search=SearchOptions(effort=effort))
            start = time.perf_counter()
            phases = row.schedule(problem)
            spent.append(time.perf_counter() - start)
        count = phases.offsets.size - 1
        links = route_links(on.topology, on.routing, pattern.source, pattern.target)[1]
        bound = max(int(np.bincount(ids).max()) for ids in (pattern.source, pattern.target, links))
        schedule = Schedule(pattern, on, "first-fit", limits, phases.offsets, phases.message)
        start = time.perf_counter()
        verified = verify(schedule).ok
        checking = time.perf_counter() - start
        late = seconds is not None and statistics.median(spent) > seconds
        missed += late or (most is not None and count > most) or not verified
        print(
            f"{pattern_spec:>16} on {machine_spec:<14} effort {effort:>2}: "
            f"{pattern.messages:>7} messages, "
            f"{1e3 * statistics.median(spent):7.1f} ms (min {1e3 * min(spent):.1f}), "
            f"{count:>4} phases "
            f"(bound {bound}), {'verified' if verified else 'WRONG'} in {checking:.2f} s"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
