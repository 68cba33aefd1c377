"""What a compile chooses against the best of all it could, directly and in stages.

A case is a machine, a pattern and a size drawn from the seed; four models take turns. The peer is
the exhaustive search: every direct schedule (methods, contentions, orders of posting) and every way
to combine (boxes, virtual grids, rings, the best mixes) by every method, each under every policy,
simulated by the machine's own model until it passes the best so far. Regret is the simulated time
of the choice over the least of all, the choice included. Asserted: mean regret at most 1.01, within
5 % in at least 95 % of the cases, never slower than the naive exchange in rotated order, no bound
above a simulated time, and deciding in less time than the exhaustive search.

About ten minutes on two idle cores:

    PYTHONPATH=src python benchmarks/bench_decision.py [--cases 60] [--seed 1] [--out FILE.jsonl]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from exchanges.patterns import make_matrix_rows

from conset.base.errors import ConsetError
from conset.bounds import bound_schedule, bound_stages
from conset.compilation.combining import candidates, compile_along, compile_combined
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_by
from conset.compilation.trial import allowed_policies, end_time, settings_of
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.paths.evaluate import mixed_candidates
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.policy import POSTINGS
from conset.schedule.schedule import Manifest, Schedule

MODELS = ("wormhole", "circuit", "flow", "packet")
PRESETS = {
    "wormhole": ("paragon:4x4", "delta:4x6", "iwarp:4x4", "paragon:6x7"),
    "circuit": ("ipsc860:16", "ipsc860:32"),
    "flow": ("fugaku:2x2x1",),
}
"""One machine in three is one of these."""
NETWORKS = {
    "mesh": ("4x4", "3x5", "5x6", "3x3x3", "8x8"),
    "torus": ("4x4", "3x7", "6x6", "3x3x4", "4x4x4"),
    "hypercube": ("3", "4", "5", "6"),
    "crossbar": ("9", "16", "23", "32", "48"),
}
"""The larger ones last; of `--most` ranks at most."""
SIZES = (8, 64, 256, 1024, 4096, 16384, 65536)
"""Of messages [B]; a word of a matrix row has a quarter of it, at least 8 B."""
DIRECT = (
    *("lp", "gen", "coloring", "rs-n", "first-fit", "rs-nl", "bounded", "pex-gen-shift"),
    *("negotiated", "birkhoff", "decreasing", "event-list"),
)
STAGED = ("naive", "lp", "gen", "coloring", "rs-n", "first-fit", "rs-nl")
CONTENTIONS = (None, 1, 2, 4)
MIXES = 8
"""Mixes among the references, the best by the cost model."""
ROTATED = "naive rotated none"


@dataclass(frozen=True)
class Case:
    """One decision.

    Attributes:
        chosen, best: what it is: way to combine, method, policy.
        regret: simulated time of the choice over the least of all.
        naive_s: the naive exchange in rotated order, simulated [s].
        bound_s: of what was chosen [s].
        searched: schedules under a policy that were simulated.
        decided_s, searched_s: processor time of the decision and of the exhaustive search.
    """

    model: str
    machine: str
    pattern: str
    messages: int
    chosen: str
    time_s: float
    best_s: float
    best: str
    naive_s: float
    bound_s: float
    regret: float
    searched: int
    decided_s: float
    searched_s: float


def draw(number: int, seed: int, most: int) -> tuple[str, str, str]:
    """(model, machine, pattern) of a case, as their words say them."""
    rng, model = np.random.default_rng([seed, number]), MODELS[number % len(MODELS)]
    presets = PRESETS.get(model, ())
    if presets and rng.random() < 1 / 3:
        return model, str(rng.choice(presets)), _draw_pattern(rng)

    def scaled(low: float, high: float) -> str:
        return f"{low * (high / low) ** rng.random():.3g}"

    family = str(rng.choice([*NETWORKS]))
    ranks = {
        sides: parse_machine(f"{family}:{sides}").topology.endpoints for sides in NETWORKS[family]
    }
    sides = str(rng.choice([sides for sides, count in ranks.items() if count <= most]))
    port = scaled(0.1, 10)
    words = [
        f"{family}:{sides},model={model},overhead={scaled(0.5, 30)}us,inject={scaled(0.1, 3)}us",
        f"port={port}GB/s,synchronization={scaled(1, 30)}us",
        *(
            [f"hop={scaled(20, 300)}ns,link={float(port) * rng.choice([0.5, 1, 2]):g}GB/s"]
            if family != "crossbar"
            else []
        ),
        *rng.choice([["processors=one"], ["processors=two"]]),
        *([f"copy={scaled(1, 10)}GB/s"] if rng.random() < 2 / 3 else []),
        *([f"in_flight={rng.choice([1, 2, 4])}"] if rng.random() < 1 / 3 else []),
        *([f"lanes={rng.choice([1, 2])}"] if model == "wormhole" else []),
        *(["link_buffers=16KiB,window=64KiB"] if model == "packet" else []),
    ]
    return model, ",".join(words), _draw_pattern(rng)


def _draw_pattern(rng: np.random.Generator) -> str:
    kind = rng.choice(["alltoall:", "random:degree=4,", "random:degree=half,", "matrix rows:"])
    return f"{kind}size={rng.choice(SIZES)}"


def make_pattern(words: str, ranks: int, seed: int) -> Pattern:
    """The pattern of a case."""
    kind, _, size = words.rpartition("size=")
    if kind == "matrix rows:":
        return make_matrix_rows(ranks, max(int(size) // 4, 8))
    return parse_pattern(words.replace("half", str(ranks // 2)), ranks=ranks, seed=seed)


def direct_schedules(
    pattern: Pattern, machine: Machine, seed: int
) -> Iterator[tuple[str, Schedule]]:
    """Every direct schedule, the naive exchange in every order first."""
    for posting in POSTINGS:
        with suppress(ConsetError):
            options = CompileOptions("naive", seed=seed, posting=posting)
            yield f"naive {posting}", compile_by("naive", pattern, machine, options)
    for method in DIRECT:
        for contention in CONTENTIONS:
            with suppress(ConsetError):
                options = CompileOptions(method, contention, seed=seed)
                name = f"{method} {contention or 'own'}"
                yield name, compile_by(method, pattern, machine, options)


def staged_schedules(
    pattern: Pattern, machine: Machine, seed: int
) -> Iterator[tuple[str, Schedule]]:
    """Every way to combine by every method."""
    mixes = sorted(
        mixed_candidates(pattern, machine, seed=seed), key=lambda each: each.estimate.time_s
    )
    known: set[bytes | str] = set()
    for way in chain(candidates(pattern, machine), islice(mixes, MIXES)):
        key = way.paths.positions.tobytes() or way.name
        if way.paths.stages == 1 or key in known:
            continue
        known.add(key)
        for method in STAGED:
            for contention in CONTENTIONS if method in ("first-fit", "rs-nl") else (None,):
                with suppress(ConsetError):
                    options = CompileOptions(method, contention, seed=seed)
                    _, whole = compile_along(way.paths, machine, options, None, Manifest(seed=seed))
                    yield f"{way.name} {method} {contention or 'own'}", whole


def simulated(
    schedules: Iterable[tuple[str, Schedule]], best_s: float
) -> Iterator[tuple[float, str]]:
    """(time [s], what) of every schedule under every policy, infinite where it passes the best."""
    for name, schedule in schedules:
        costs = schedule.machine.costs_for(schedule.method)
        workload = Workload.of_schedule(schedule)
        for sync in allowed_policies(schedule):
            what = f"{name} {sync}"
            until_s = inf if what == ROTATED else best_s
            settings = settings_of(schedule, sync, None, until_s=until_s)
            with suppress(ConsetError):
                found = end_time(workload, schedule.machine, settings, costs.model)
                best_s = min(best_s, found.time_s)
                yield found.time_s, what


def decide(model: str, machine_words: str, pattern_words: str, seed: int) -> Case:
    """One case."""
    machine = parse_machine(machine_words)
    pattern = make_pattern(pattern_words, machine.topology.endpoints, seed)
    begin = time.process_time()
    chosen = compile_combined(pattern, machine, CompileOptions(seed=seed), None)
    decided_s = time.process_time() - begin
    whole = chosen.whole
    settings = settings_of(whole, whole.sync, whole.in_flight)
    ours = end_time(Workload.of_schedule(whole), machine, settings, machine.costs.model).time_s
    begin = time.process_time()
    direct = list(simulated(direct_schedules(pattern, machine, seed), ours))
    least_s = min([ours, *(time_s for time_s, _ in direct)])
    found = [*direct, *simulated(staged_schedules(pattern, machine, seed), least_s)]
    searched_s = time.process_time() - begin
    words = f"{whole.method} {whole.posting} {whole.limits.link or 'own'} {whole.sync}"
    own = f"{chosen.combine} {words} {whole.in_flight or ''}".rstrip()
    best_s, best = min([(ours, "chosen"), *found])
    return Case(
        model,
        machine_words,
        pattern_words,
        pattern.messages,
        own,
        ours,
        best_s,
        best,
        next(time_s for time_s, what in direct if what == ROTATED),
        (
            bound_schedule(whole) if chosen.combine == "none" else bound_stages(pattern, machine)
        ).time_s,
        ours / best_s if best_s else 1.0,
        len(found),
        decided_s,
        searched_s,
    )


def summary(cases: list[Case]) -> dict[str, Any]:
    """What is promised of cases."""
    regrets = [case.regret for case in cases]
    return {
        "cases": len(cases),
        "mean": statistics.mean(regrets),
        "within": sum(regret <= 1.05 for regret in regrets) / len(cases),
        "worst": max(regrets),
        "slower": sum(case.time_s > case.naive_s * 1.001 for case in cases),
        "beaten": sum(case.bound_s > case.time_s * (1 + 1e-6) for case in cases),
        "faster": statistics.median(case.searched_s / case.decided_s for case in cases),
    }


def main() -> None:
    """Prints a line per case and the summaries; asserts what is promised."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--most", type=int, default=64, help="ranks of a machine at most")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.cases)
    drawn = [draw(number, options.seed, options.most) for number in numbers]
    cases: list[Case] = []
    with ProcessPoolExecutor(options.jobs) as executor:
        for case in executor.map(decide, *zip(*drawn, strict=True), [options.seed] * len(drawn)):
            cases.append(case)
            print(
                f"{case.regret:.3f}  {case.machine}  {case.pattern}  {case.chosen}  best: "
                f"{case.best} of {case.searched}  {case.decided_s:.2f} s, "
                f"all {case.searched_s:.1f} s",
                flush=True,
            )
            if options.out:
                with options.out.open("a") as file:
                    print(json.dumps(asdict(case)), file=file)
    for model in (*MODELS, "all"):
        of_model = [case for case in cases if model in ("all", case.model)]
        if of_model:
            print(model, {name: round(value, 4) for name, value in summary(of_model).items()})
    found = summary(cases)
    assert found["mean"] <= 1.01
    assert found["within"] >= 0.95
    assert found["slower"] == found["beaten"] == 0
    assert found["faster"] > 1


if __name__ == "__main__":
    main()
