"""What `auto` chooses against the best of methods, contentions and policies, and what it takes.

The peer is the exhaustive search: every method at every contention under every policy, simulated to
its end by the machine's own model. Regret is the simulated time of the choice over the least of
all, the choice included. Asserted: mean regret at most 1.01, within 5 % in at least 95 % of the
cases, never slower than the naive exchange, no bound above a simulated time, and deciding in less
time than the exhaustive search (the ratio is printed).

    PYTHONPATH=src python benchmarks/bench_decision.py [--quick] [--seed 1] [--out FILE.jsonl]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from conset.base.errors import ConsetError
from conset.bounds import bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule

MACHINES = (
    "paragon:8x8",
    "delta:6x8",
    "iwarp:8x8",
    "ipsc860:64",
    "torus:8x8",
    "mesh:4x4x4,link=1GB/s,port=2GB/s,in_flight=2",
    "torus:4x4x4,model=wormhole,lanes=2,overhead=1us",
    "hypercube:5,overhead=2us,in_flight=1",
)
PATTERNS = (
    "alltoall",
    "random:degree=4",
    "random:degree=16",
    "random:degree=32",
    "stencil",
    "transpose",
)
SIZES = ("64", "1KiB", "16KiB", "lognormal(4KiB,1.5)")
METHODS = ("naive", "lp", "gen", "coloring", "rs-n", "first-fit", "rs-nl", "negotiated")
COMPLETE = (*METHODS[:-1], "bounded", "pex-gen-shift")
UNEQUAL = (*METHODS, "decreasing", "event-list")
CONTENTIONS = (None, 1, 2, 4)
POLICIES = ("none", "local", "ready", "barrier", "barrier:4", "barrier:16")


@dataclass(frozen=True)
class Case:
    """One decision.

    Attributes:
        regret: simulated time of the choice over the least of all.
        naive_s: the naive exchange, simulated [s].
        bound_s: of the chosen schedule [s].
        decided_s, searched_s: wall time of the decision and of the exhaustive search.
    """

    machine: str
    pattern: str
    messages: int
    method: str
    sync: str
    time_s: float
    best_s: float
    best: str
    naive_s: float | None
    bound_s: float
    regret: float
    decided_s: float
    searched_s: float


def simulated_s(schedule: Schedule, machine: Machine, workload: Workload, sync: str) -> float:
    """What the machine's model says of a schedule under a policy [s]."""
    costs = machine.costs_for(schedule.method)
    settings = Settings.of(costs, sync=sync, in_flight=schedule.in_flight)
    return find_model(machine.costs.model).simulate(workload, machine, settings).time_s


def exhaustive(
    pattern: Pattern, spec: str, machine: Machine, seed: int
) -> Iterator[tuple[float, str]]:
    """(time [s], what) of every method, contention and policy that applies."""
    methods = COMPLETE if spec.startswith("alltoall") else UNEQUAL if "(" in spec else METHODS
    for method in methods:
        for contention in CONTENTIONS:
            try:
                schedule = compile_pattern(
                    pattern, machine, CompileOptions(method, contention, sync="none", seed=seed)
                )
            except ConsetError:
                continue
            workload = Workload.of_schedule(schedule)
            for sync in POLICIES:
                try:
                    yield (
                        simulated_s(schedule, machine, workload, sync),
                        f"{method} {contention or ''} {sync}",
                    )
                except ConsetError:
                    continue


def decide(machine_spec: str, pattern_spec: str, seed: int) -> Case | None:
    """One case; None where the pattern does not fit the machine."""
    machine = parse_machine(machine_spec)
    try:
        pattern = parse_pattern(pattern_spec, ranks=machine.topology.endpoints, seed=seed)
    except ConsetError:
        return None
    begin = time.perf_counter()
    chosen = compile_pattern(pattern, machine, CompileOptions(seed=seed))
    decided_s = time.perf_counter() - begin
    ours = simulated_s(chosen, machine, Workload.of_schedule(chosen), chosen.sync)
    begin = time.perf_counter()
    found = list(exhaustive(pattern, pattern_spec, machine, seed))
    searched_s = time.perf_counter() - begin
    best_s, best = min([*found, (ours, "chosen")])
    naive_s = next((time_s for time_s, what in found if what == "naive  none"), None)
    return Case(
        machine_spec,
        pattern_spec,
        pattern.messages,
        chosen.method,
        chosen.sync,
        ours,
        best_s,
        best,
        naive_s,
        bound_schedule(chosen).time_s,
        ours / best_s if best_s else 1.0,
        decided_s,
        searched_s,
    )


def main() -> None:
    """Prints a line per case and the summary; asserts what is promised."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    wanted = [
        (machine, pattern, size) for machine in MACHINES for pattern in PATTERNS for size in SIZES
    ]
    cases: list[Case] = []
    for machine, pattern, size in wanted[:: 11 if options.quick else 1]:
        case = decide(
            machine, f"{pattern}{',' if ':' in pattern else ':'}size={size}", options.seed
        )
        if case is None:
            continue
        cases.append(case)
        print(
            f"{case.regret:.3f}  {case.machine}  {case.pattern}  {case.method} {case.sync}  best: "
            f"{case.best}  "
            f"decided in {case.decided_s:.2f} s, searching all takes "
            f"{case.searched_s / case.decided_s:.1f} times that",
            flush=True,
        )
        if options.out:
            with options.out.open("a") as file:
                print(json.dumps(asdict(case)), file=file)
    regrets = [case.regret for case in cases]
    within = sum(regret <= 1.05 for regret in regrets) / len(regrets)
    slower = sum(case.naive_s is not None and case.time_s > case.naive_s * 1.001 for case in cases)
    beaten = sum(case.bound_s > case.time_s * (1 + 1e-6) for case in cases)
    print(
        f"{len(cases)} cases: mean regret {statistics.mean(regrets):.4f}, within 5 % in "
        f"{within:.2f}, worst "
        f"{max(regrets):.3f}, slower than the naive exchange {slower}, bound beaten "
        f"{beaten}; deciding "
        f"{statistics.median(case.searched_s / case.decided_s for case in cases):.1f} times "
        "faster than searching all"
    )
    assert statistics.mean(regrets) <= 1.01
    assert within >= 0.95
    assert slower == beaten == 0
    assert statistics.median(case.searched_s / case.decided_s for case in cases) > 1


if __name__ == "__main__":
    main()
