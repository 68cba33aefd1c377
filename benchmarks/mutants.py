"""Mutants of schedules, programs and timelines.

What the verifier says of each beside an obvious slow verifier.

Reports what is wrongly accepted and wrongly refused, 0 expected of both; of timelines every mutant
is wrong by its making. The same seed and counts give the same mutants.

    PYTHONPATH=src:tests python benchmarks/mutants.py [--schedules N] [--programs N] [--timelines N]
    [--seed S]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

from conset.verification import verify
from conset.verification.timeline.check import check_timeline
from support.make_mutants import Mutant, program_mutants, schedule_mutants, timeline_mutants
from support.slow_verifier import broken_rule

SHOWN = 5


def verdict_on(mutant: Mutant, what: str) -> tuple[bool, str]:
    """(whether the verifier accepts it, the rule that it breaks)."""
    if what == "timelines":
        played = mutant.changed
        return not check_timeline(
            played.timeline, played.workload, mutant.machine, played.settings
        ), mutant.kind
    machine = mutant.machine if what == "schedules" else None
    verdict = verify(mutant.changed, machine=machine)
    return verdict.ok, broken_rule(mutant.changed, mutant.machine)


def run(what: str, mutants: Iterator[Mutant]) -> int:
    """Judges all; prints one line and the first wrong ones; how many were wrong."""
    begun, count = time.perf_counter(), Counter[str]()
    wrong: list[str] = []
    for number, mutant in enumerate(mutants):
        accepted, rule = verdict_on(mutant, what)
        count["all"] += 1
        count["broken"] += bool(rule)
        if accepted == bool(rule):
            verdict = "accepted" if accepted else "refused"
            count[verdict] += 1
            wrong.append(
                f"  {number}: {mutant.kind} on {mutant.machine.name}: {rule or 'nothing'} is "
                f"broken, {verdict}"
            )
    each = (time.perf_counter() - begun) / max(count["all"], 1) * 1e3
    print(
        f"{what}: {count['all']} mutants, {count['broken']} broken, wrongly accepted "
        f"{count['accepted']}, "
        f"wrongly refused {count['refused']}, {each:.2f} ms each"
    )
    print("\n".join(wrong[:SHOWN]), end="\n" if wrong else "")
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    kinds: dict[str, tuple[int, Callable[[int, int], Iterator[Mutant]]]] = {
        "schedules": (20_000, schedule_mutants),
        "programs": (4_000, program_mutants),
        "timelines": (6_000, timeline_mutants),
    }
    for what, (number, _) in kinds.items():
        parser.add_argument(f"--{what}", type=int, default=number)
    given = parser.parse_args()
    return int(
        sum(run(what, make(getattr(given, what), given.seed)) for what, (_, make) in kinds.items())
        > 0
    )


if __name__ == "__main__":
    sys.exit(main())
