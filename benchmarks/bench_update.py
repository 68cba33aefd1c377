"""Updates of a schedule.

1 % of the messages changed, over scheduling all of them anew, in one process.

    PYTHONPATH=src python benchmarks/bench_update.py

Of random patterns of degree 16 a hundredth of the messages get other targets. An update finds by
comparing what changed (`compare`: all that a rank has after the rows were exchanged), or is told
(`told`); both keep the phases of what did not change. Full: `schedule_messages` of the core for the
changed pattern, by the same method and under no policy, the least that a compile takes. Processor
time of the calling thread, in turn; medians of the paired ratios with bootstrapped intervals of 95
%. The phases after twenty updates stand beside those of a full schedule.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import conset
from conset import _core
from conset.execution.run_time import machine_word
from conset.execution.stopping import Ratio

CASES = [
    (machine, method)
    for machine in ("hypercube:6", "hypercube:10", "torus:32x32", "hypercube:12")
    for method in ("rs-n", "rs-nl", "coloring", "first-fit")
]
DEGREE, CHANGED, ROUNDS = 16, 0.01, 20
GOAL = 0.1
"""Of a full schedule; an update by comparing takes at most that much."""
HEAD = (
    "machine",
    "method",
    "full [ms]",
    "compare over full",
    "told over full",
    "phases",
    "of a full one",
)
Messages = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]
"""Source, target and bytes, by source."""


def changed(
    messages: Messages, ranks: int, random: np.random.Generator
) -> tuple[Messages, NDArray[np.int32], Messages]:
    """(the messages after, those that go, those that come).

    A hundredth gets targets that its source had not.
    """
    source, target, size = messages
    going = np.sort(
        random.choice(source.size, max(1, round(CHANGED * source.size)), replace=False)
    ).astype(np.int32)
    had = set(zip(source.tolist(), target.tolist(), strict=True))
    new = []
    for rank in source[going].tolist():
        to = int(random.integers(ranks))
        while to == rank or (rank, to) in had:
            to = int(random.integers(ranks))
        had.add((rank, to))
        new.append(to)
    coming = source[going], np.array(new, np.int32), size[going]
    kept = np.delete(np.arange(source.size), going)
    columns = [
        np.concatenate([own[kept], other]) for own, other in zip(messages, coming, strict=True)
    ]
    order = np.argsort(columns[0], kind="stable")
    return (columns[0][order], columns[1][order], columns[2][order]), going, coming


def timed(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def measure(spec: str, method: str) -> tuple[list[str], bool]:
    """(a row of `HEAD`, whether the goal is met)."""
    machine = conset.load_machine(spec)
    ranks = machine.topology.endpoints
    pattern = conset.load_pattern(f"random:degree={DEGREE}", machine)
    with tempfile.TemporaryDirectory() as folder:
        core = _core.MachineData.in_words(machine_word(machine, lambda: Path(folder)), ranks)
    words = {"method": method, "sync": "none", "seed": 0}
    messages: Messages = (pattern.source, pattern.target, np.ascontiguousarray(pattern.size))
    random = np.random.default_rng(0)
    compared, told = (_core.KeptSchedule(core, ranks, *messages, **words) for _ in range(2))
    times: dict[str, list[float]] = {"full": [], "compare": [], "told": []}
    nothing = {"resized": np.zeros(0, np.int32), "resized_bytes": np.zeros(0, np.int64)}
    for _ in range(ROUNDS):
        messages, going, coming = changed(messages, ranks, random)
        full = partial(_core.schedule_messages, core, ranks, *messages, **words)
        keywords = dict(zip(("source", "target", "bytes"), coming, strict=True)) | nothing
        times["full"].append(timed(full))
        times["compare"].append(timed(partial(compared.update, *messages)))
        times["told"].append(timed(partial(told.change, removed=going, **keywords)))
    phases = [len(each.phase_offsets) - 1 for each in (compared.schedule(), full())]
    found = [Ratio.of(times[name], times["full"]) for name in ("compare", "told")]
    ratios = [f"{ratio.median:.3f} ({ratio.low:.3f}-{ratio.high:.3f})" for ratio in found]
    full_ms = f"{np.median(times['full']) * 1e3:.2f}"
    return [spec, method, full_ms, *ratios, *map(str, phases)], found[0].low <= GOAL


def table() -> tuple[list[list[str]], bool]:
    """(a row a case, printed as it comes; whether all meet the goal)."""
    rows, fine = [], True
    for case in CASES:
        row, met = measure(*case)
        fine &= met
        rows.append(row)
        text = ", ".join(f"{name} {cell}" for name, cell in zip(HEAD, row, strict=True))
        print(text + ("" if met else f"  GOAL {GOAL} MISSED"), flush=True)
    return rows, fine


if __name__ == "__main__":
    sys.exit(int(not table()[1]))
