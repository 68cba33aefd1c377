"""Negotiated assignment and half-duplex.

Figures beside their bounds, times of the scheduling alone, all verified.

PYTHONPATH=src python benchmarks/bench_negotiated.py [SEEDS]

Prints every figure with what it must reach and ends with 1 where one is missed. The peer in the
same run is first fit, the other method for any limits; `lp` for half-duplex.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Iterable

from conset.bounds import bound_schedule
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Problem, Routes, SearchOptions
from conset.methods.phases.table import find_method
from conset.pattern.spec import parse_pattern
from conset.schedule.loads import figures
from conset.schedule.schedule import Schedule
from conset.verification import verify

CUBE, IWARP, TORUS = (
    parse_machine("hypercube:6"),
    parse_machine("iwarp:8x8"),
    parse_machine("torus:8x8x16"),
)
EXCESS = {4: (0, 0.6), 8: (0.25, 0.6), 16: (1.0, 0.6), 32: (1.0, 0.6), 48: (1.2, 1.2)}
"""degree: (mean phases above each instance's bound at most, seconds for each instance at most)."""
UNITS = 0.15
"""Mean units above the most distinct partners, at most, at every degree."""
CHANNELS = [
    ("alltoall", 27),
    ("butterfly", 2),
    ("random:degree=4", 2),
    ("random:degree=8", 4),
    ("random:degree=16", 7),
    ("random:degree=32", 14),
    ("random:degree=48", 21),
    ("transpose", 1),
    ("bit-reverse", 1),
    ("bit-complement", 1),
    ("shuffle", 1),
    ("stencil", 2),
    ("stencil:reach=2", 7),
    ("gather", 6),
    ("tree", 1),
]
"""(pattern, phases at most) on iWarp with 12 channels a node and free routes."""


def compiled(
    spec: str,
    on: Machine,
    method: str,
    seed: int,
    limits: Limits | None = None,
    routes: Routes = "fixed",
) -> tuple[Schedule, float]:
    """(verified schedule, seconds)."""
    row = find_method(method)
    pattern = parse_pattern(spec, topology=on.topology, ranks=on.topology.endpoints, seed=seed)
    problem = Problem(
        pattern,
        on,
        limits or row.limits(on.topology),
        search=SearchOptions(seed=seed, routes=routes),
    )
    start = time.perf_counter()
    phases = row.schedule(problem)
    seconds = time.perf_counter() - start
    schedule = Schedule(
        pattern,
        on,
        method,
        problem.limits,
        phases.offsets,
        phases.message,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        limits_asked=True,
    )
    verification = verify(schedule)
    if not verification.ok:
        raise SystemExit(f"{spec} by {method}: {verification.violations[0].text}")
    return schedule, seconds


def verdict(fine: bool) -> str:
    return "" if fine else "   MISSED"


def mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def cube_permutations(degree: int, seeds: int) -> bool:
    runs = [compiled(f"random:degree={degree}", CUBE, "negotiated", seed) for seed in range(seeds)]
    plain = mean(
        compiled(f"random:degree={degree}", CUBE, "first-fit", seed)[0].phases
        for seed in range(seeds)
    )
    bounds = [bound_schedule(schedule).phases for schedule, _ in runs]
    phases, times = [schedule.phases for schedule, _ in runs], [seconds for _, seconds in runs]
    excess, (most, longest) = mean(phases) - mean(bounds), EXCESS[degree]
    fine = excess <= most + 1e-9 and max(times) <= longest
    print(
        f"  d = {degree:>2}: {mean(phases):5.2f} phases, bound {mean(bounds):5.2f}, excess "
        f"{excess:.2f} (≤ {most}), "
        f"first-fit {plain:5.2f}; {mean(times):.3f} s, longest {max(times):.3f} s (≤ "
        f"{longest}){verdict(fine)}"
    )
    return fine


def cube_exchanges(degree: int, seeds: int) -> bool:
    runs = [compiled(f"random:degree={degree}", CUBE, "half-duplex", seed) for seed in range(seeds)]
    linear = [
        compiled(f"random:degree={degree}", CUBE, "lp", seed)[0].phases for seed in range(seeds)
    ]
    bounds = [bound_schedule(schedule).phases for schedule, _ in runs]
    phases, times = [schedule.phases for schedule, _ in runs], [seconds for _, seconds in runs]
    excess = mean(phases) - mean(bounds)
    fine = excess <= UNITS + 1e-9 and all(own <= lp for own, lp in zip(phases, linear, strict=True))
    print(
        f"  d = {degree:>2}: {mean(phases):5.2f} units, bound {mean(bounds):5.2f}, excess "
        f"{excess:.2f} (≤ {UNITS}), "
        f"lp {mean(linear):5.2f}; {mean(times):.3f} s, longest {max(times):.3f} s{verdict(fine)}"
    )
    return fine


def torus_channels(spec: str, most: int) -> bool:
    schedule, seconds = compiled(spec, IWARP, "negotiated", 0, Limits(channels=12), "free")
    plain = compiled(spec, IWARP, "first-fit", 0, Limits(channels=12))[0].phases
    fine = schedule.phases <= most and seconds <= 2
    print(
        f"  {spec:>16}: {schedule.phases:>2} phases (≤ {most}), bound "
        f"{bound_schedule(schedule).phases}, "
        f"first-fit {plain}; {seconds:.3f} s{verdict(fine)}"
    )
    return fine


def torus_loads() -> bool:
    limits = Limits(send=3, receive=3, link=3, channels=12)
    schedule, seconds = compiled("alltoall", IWARP, "negotiated", 0, limits, "free")
    total = figures(schedule)["load"]["sum"]
    fine = schedule.phases == 27 and total <= 81 and seconds <= 2
    print(
        f"  alltoall, at most 3 a port and link: {schedule.phases} phases (27), ΣL {total} (≤ 81; "
        "79 is the least); "
        f"{seconds:.3f} s (≤ 2){verdict(fine)}"
    )
    return fine


def large_torus() -> bool:
    fixed, fixed_s = compiled("random:degree=16", TORUS, "negotiated", 0)
    free, free_s = compiled("random:degree=16", TORUS, "negotiated", 0, routes="free")
    plain, plain_s = compiled("random:degree=16", TORUS, "first-fit", 0)
    bound = bound_schedule(fixed).phases
    fine = fixed.phases <= 1.05 * bound and free.phases < bound and max(fixed_s, free_s) <= 5
    print(
        f"  fixed routes {fixed.phases} phases (≤ 1.05 · {bound}), {fixed_s:.2f} s (≤ 5); "
        f"first-fit {plain.phases}, "
        f"{plain_s:.2f} s\n  free routes {free.phases} phases (< {bound}; their bound "
        f"{bound_schedule(free).phases}), "
        f"{free_s:.2f} s (≤ 5){verdict(fine)}"
    )
    return fine


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
        f"{seeds} seeds"
    )
    print("6-cube, regular both ways: send 1, receive 1, link 1")
    fine = [cube_permutations(degree, seeds) for degree in EXCESS]
    print("6-cube, regular both ways: half duplex except exchanges")
    fine += [cube_exchanges(degree, seeds) for degree in EXCESS]
    print("iwarp:8x8 with 12 channels, free routes")
    fine += [torus_channels(*case) for case in CHANNELS]
    fine.append(torus_loads())
    print("torus:8x8x16, random:degree=16: send 1, receive 1, link 1")
    fine.append(large_torus())
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
