"""Bounded constructions: phases against their bound, and time to compile.

PYTHONPATH=src python benchmarks/bench_bounded.py [all]

Each line: machine, contention, messages, phases, bound, ratio, what made it, seconds on one core
(best of three where that is quick), verified; at its end the goal that it missed, if any. `all`
adds every mesh and torus up to 16 × 16 at contention 1 that does not meet its bound. Seed 0,
effort 1.
"""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import dataclass

from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.methods.phases.bounded import box_of, schedule_bounded
from conset.methods.phases.problem import Problem
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify


@dataclass(frozen=True)
class Case:
    """A machine, a contention, and the goals: phases and seconds at most, where there are any."""

    machine: str
    contention: int = 1
    phases: int | None = None
    seconds: float | None = None


CASES = [
    *(
        Case(f"mesh:{n}x{n}", c, -(-(n**3) // (4 * c)))
        for n in (8, 16, 32)
        for c in range(1, n // 4 + 1)
    ),
    Case("mesh:64x64", 1, 65536, 1.0),
    Case("mesh:64x64", 16, 4096, 1.0),
    Case("mesh:64x64", 7, 9363, 1.0),
    Case("mesh:5x5", 1, 30),
    Case("mesh:9x9", 1, 180),
    Case("mesh:9x10", 1, 225),
    Case("mesh:13x13", 1, 546),
    Case("mesh:13x14", 1, 637),
    Case("mesh:17x17", 1, 1224),
    Case("mesh:9x9", 2, 90),
    Case("mesh:12x12", 4, 143),
    Case("mesh:10x10", 1, 250),
    Case("mesh:14x14", 3, 241),
    Case("mesh:15x15", 3, 290),
    Case("mesh:18x18", 4, 376),
    Case("mesh:22x22", 5, 545),
    Case("mesh:11x11", 2, 167),
    Case("mesh:23x23", 1, 3036),
    Case("mesh:16x32", 1, 4096, 0.2),
    Case("mesh:31x33", 1),
    Case("mesh:62x62", 15),
    Case("mesh:8x8x8", 1, 1024),
    Case("mesh:6x6x6", 1, 341),
    Case("mesh:5x5x5", 1, 169),
    Case("mesh:7x7x7"),
    Case("mesh:12x12x12", 2, 2592),
    Case("torus:5x5", 1, 24),
    Case("torus:8x8", 1, 64),
    Case("torus:16x16", 1, 512),
    Case("torus:10x10", 1, 140),
    Case("torus:9x9", 1, 90),
    Case("torus:13x13", 1, 280),
    Case("torus:14x14", 1, 392),
    Case("torus:8x8,tie=plus", 1, 86),
    Case("torus:16x16,tie=plus", 1, 589),
    Case("torus:8x8x8", 1, 512, 0.2),
    Case("torus:6x6x6", 1, 236),
    Case("torus:16x16x16", 1, 8192),
    Case("torus:16x16x16", 2, 4096),
    Case("ring:64", 1, 512),
    Case("ring:101"),
]
"""Goals: n³/4c and the like are bounds; the others are what a prototype reached."""


def shapes() -> list[Case]:
    """Every mesh and torus up to 16 × 16."""
    sides = [(r, c) for r in range(1, 17) for c in range(r, 17) if r * c > 1]
    return [Case(f"{kind}:{r}x{c}") for kind in ("mesh", "torus") for r, c in sides]


def run(case: Case, *, quiet: bool) -> bool:
    """Prints one line, unless quiet and at the bound; whether the goals are met."""
    on = parse_machine(case.machine)
    pattern = parse_pattern("alltoall", topology=on.topology)
    limits = Limits(send=1, receive=1, link=case.contention)
    problem = Problem(pattern, on, limits)
    spent: list[float] = []
    while not spent or (len(spent) < 3 and sum(spent) < 1):
        start = time.perf_counter()
        phases = schedule_bounded(problem)
        spent.append(time.perf_counter() - start)
    box = box_of(problem)
    count = phases.offsets.size - 1
    if quiet and count == box.bound:
        return True
    name = box.choose(effort=1, seed=0).name if pattern.messages < 10**6 else "construction"
    schedule = Schedule(pattern, on, "bounded", limits, phases.offsets, phases.message)
    verified = "verified" if verify(schedule).ok else "WRONG"
    late = case.seconds is not None and min(spent) > case.seconds
    more = case.phases is not None and count > case.phases
    missed = f"goal {case.phases} phases" * more + f"goal {case.seconds} s" * late
    print(
        f"{case.machine:<22} c={case.contention:<2} {pattern.messages:>9} {count:>6} "
        f"{box.bound:>6} "
        f"{count / box.bound:6.3f}  {name:<30} {min(spent):7.3f} s  {verified}  {missed}",
        flush=True,
    )
    return verified == "verified" and not missed


def main() -> int:
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(
        f"{'machine':<27} {'messages':>9} {'phases':>6} {'bound':>6} {'ratio':>6}  "
        f"{'made by':<30} {'compiled':>9}"
    )
    met = [run(case, quiet=False) for case in CASES]
    if "all" in sys.argv[1:]:
        met += [run(case, quiet=True) for case in shapes()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
