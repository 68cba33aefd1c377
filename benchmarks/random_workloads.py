"""Random small workloads for comparisons message by message.

Sides 2 to 8, times, dependencies, messages to oneself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from conset.models import Workload


def random_workload(seed: int) -> tuple[str, Workload]:
    """(network as the peers name it, 20 to 399 messages on it).

    Of 1 to 3000 bytes, released within 300 cycles.

    No torus of side 2: that has one link each way here, as a mesh, and two with a dateline in
    BookSim2.
    """
    random = np.random.default_rng(seed)
    side, messages = 2 + seed // 2 % 7, int(random.integers(20, 400))
    kind = "torus" if seed % 2 == 0 and side > 2 else "mesh"
    deps = [
        random.integers(0, m, random.integers(0, min(m, 2) + 1)) if random.random() < 0.3 else []
        for m in range(messages)
    ]
    ends = random.integers(0, side * side, (2, messages))
    workload = Workload(
        ends[0],
        ends[1],
        random.integers(1, 3001, messages),
        side * side,
        random.integers(0, 300, messages) * 1e-9,
        np.cumsum([0, *map(len, deps)]),
        np.array([d for each in deps for d in each], np.int32),
    )
    return f"{kind}:{side}", workload


def write_trace(workload: Workload, path: Path) -> None:
    """The file both peers read."""
    rows = ["id,time,src,dst,bytes,deps"]
    for m in range(workload.messages):
        deps = ";".join(
            map(str, workload.deps[workload.dep_offsets[m] : workload.dep_offsets[m + 1]])
        )
        cells = (
            m,
            round(workload.time_s[m] * 1e9),
            workload.source[m],
            workload.target[m],
            workload.bytes[m],
            deps,
        )
        rows.append(",".join(map(str, cells)))
    path.write_text("\n".join(rows) + "\n")
