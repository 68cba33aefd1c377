"""connections: phases and ΣL beside their bounds, by pattern and router.

Times of the scheduling alone.

PYTHONPATH=src python benchmarks/bench_connections.py [quick]

Every schedule is verified, channels replayed. Ends with 1 where a figure is missed. The peer in the
same run is the text's own router (`sequential`). `quick` leaves out what takes longer than some
seconds: 16 x 16 and the effort of 4.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass

from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.methods.phases.connection_routers.task import Task
from conset.methods.phases.connections import schedule_connections
from conset.methods.phases.problem import Problem, SearchOptions
from conset.methods.placements.place import place
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify


@dataclass(frozen=True)
class Row:
    """What is compiled, and what it must reach.

    Phases, ΣL and seconds at most (None: shown only).
    """

    pattern: str
    phases: int | None = None
    total: int | None = None
    seconds: float | None = None
    on: str = "iwarp:8x8"
    router: str | None = None
    objective: str = "phases"
    channels: int = 12
    placement: str = "identity"
    effort: int = 1


FIGURES = (
    Row("alltoall", 30, None, 2.0, router="sequential"),
    Row("alltoall", 27, 81, 2.0, router="negotiated"),
    Row("alltoall", 27, 79, 30.0, router="orbits"),
    Row("alltoall", 32, 64, 1.0, router="closed-form"),
    Row("alltoall", 27, 79, 5.0),
    Row("alltoall", 32, 64, 1.0, objective="time"),
    Row("butterfly", 2, 6, placement="gray"),
    Row("butterfly", 1, 6, placement="gray", channels=16),
    Row("butterfly", 2, 6, placement="gray", channels=8),
)
TABLE = tuple(
    Row(pattern, phases)
    for pattern, phases in {
        "neighbor": 1,
        "butterfly": 2,
        "random:degree=4": 2,
        "random:degree=8": 4,
        "random:degree=16": 7,
        "random:degree=32": 14,
        "random:degree=48": 21,
        "transpose": 1,
        "bit-reverse": 1,
        "bit-complement": 1,
        "shuffle": 1,
        "stencil:reach=1": 2,
        "stencil:reach=2": 7,
        "rows": 2,
        "columns": 2,
        "gather": 6,
        "scatter": 6,
        "tree": 1,
    }.items()
)
"""The notes' table of patterns, phases at the bound."""
OTHERS = (
    Row("random:degree=16", 13, on="torus:16x16"),
    Row("alltoall", None, None, on="mesh:8x8"),
    Row("alltoall", None, None, on="torus:8x8,routing=no-wrap"),
    Row("alltoall", None, None, on="ring:16"),
    Row("alltoall", 22, 63, on="hypercube:6"),
    Row("alltoall", 22, 63, on="torus:4x4x4"),
    Row("alltoall", None, 216, on="torus:12x12", router="closed-form"),
    Row("alltoall", None, 512, on="torus:16x16", router="closed-form"),
)
LARGE = (
    Row("alltoall", 201, None, 60.0, on="torus:16x16", router="orbits"),
    Row("alltoall", 201, None, 120.0, on="torus:16x16", router="orbits", effort=4),
    Row("alltoall", None, None, None, on="torus:16x16", router="sequential"),
)


def compiled(row: Row) -> tuple[Task, Schedule, float]:
    """(task, verified schedule, seconds); the median of three runs where one is quick."""
    machine = parse_machine(row.on)
    pattern = parse_pattern(
        row.pattern, topology=machine.topology, ranks=machine.topology.endpoints
    )
    options = SearchOptions(router=row.router, objective=row.objective, effort=row.effort)
    placed = place(row.placement, pattern=pattern, topology=machine.topology)
    problem = Problem(pattern, machine, Limits(channels=row.channels), placed, options)
    times: list[float] = []
    while not times or (len(times) < 3 and sum(times) < 1):
        start = time.perf_counter()
        phases = schedule_connections(problem)
        times.append(time.perf_counter() - start)
    schedule = Schedule(
        pattern,
        machine,
        "connections",
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=placed,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        limits_asked=True,
    )
    return Task(problem), schedule, statistics.median(times)


def report(row: Row) -> bool:
    """One line; whether everything is reached."""
    task, schedule, seconds = compiled(row)
    verification = verify(schedule)
    if not verification.ok:
        raise SystemExit(f"{row}: {verification.violations[0].text}")
    load = verification.figures["load"]
    least = task.least_sum(max(schedule.phases, 1))
    reached = (
        (row.phases is None or schedule.phases <= row.phases)
        and (row.total is None or load["sum"] <= row.total)
        and (row.seconds is None or seconds <= row.seconds)
    )
    name = f"{row.pattern} on {row.on}, {row.channels} channels" + (
        ", gray" if row.placement == "gray" else ""
    )
    how = f"{row.router or 'best'}, {row.objective}" + (
        f", effort {row.effort}" if row.effort > 1 else ""
    )
    print(
        f"  {name:<52} {how:<30} phases {schedule.phases:>3} (bound {task.least_phases:>3})  "
        f"ΣL {load['sum']:>4} (bound {least:>3})  {seconds:8.3f} s{'' if reached else '   MISSED'}"
    )
    return reached


def main() -> int:
    rows = {
        "figures": FIGURES,
        "the notes' table of patterns": TABLE,
        "other networks": OTHERS,
        "16 x 16": LARGE,
    }
    if "quick" in sys.argv[1:]:
        del rows["16 x 16"]
    print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    fine = True
    for title, group in rows.items():
        print(title)
        for row in group:
            fine &= report(row)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
