"""Flow against SimGrid 4.1 (raw model, full update) and three independent solvers, row by row.

The rows in this file are copied from the oracles' table: workloads of complete exchanges (W1), a
butterfly with dependencies (W3) and Bernoulli traffic (W5) on an 8 × 8 torus, ties up, links of 16
B and 4 cycles per hop; `nic` adds ports of 16 B per cycle and of 3 and 2 cycles. W1 and W3 are
closed forms and are made here; the whole table, with the random workloads, is checked where it lies
beside the checkout. Rows marked chaotic amplify rounding (a change of the capacity by 1e-13 moves
the end by up to 2 %): they have a tolerance of 3 %, their means of 1.5 %.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conset.models import Workload
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from support.hand_made_workloads import cycles_machine

SLOW = {("W4", "all")}
"""Seven seconds; `benchmarks/bench_flow.py` checks it."""

EXCHANGES = [
    # bytes, nic, mode, sharing, cycles, mean cycles
    (128, 0, "all", "rtt", 644.000000, 422.506398),
    (128, 0, "seq", "rtt", 3023.264555, 1342.699515),
    (128, 1, "all", "rtt", 658.275212, 484.175086),
    (128, 1, "seq", "rtt", 3236.082824, 1439.967367),
    (65536, 0, "all", "rtt", 327684.000000, 220309.614246),
    (65536, 1, "seq", "rtt", 988527.974278, 463636.985618),
    (128, 0, "all", "equal", 644.000000, 523.066227),
    (128, 1, "all", "equal", 656.922105, 560.379653),
    (128, 1, "seq", "equal", 3208.275914, 1455.184808),
    (65536, 1, "all", "equal", 327696.922105, 286233.712986),
]
BUTTERFLIES = [
    (128, 0, 168.0, 86.0),
    (128, 1, 198.0, 103.5),
    (65536, 0, 57400.0, 29383.333333),
    (65536, 1, 57430.0, 29400.833333),
]


def exchange(size: int) -> Workload:
    """For s = 1 … 63, for i = 0 … 63: i → (i + s) mod 64."""
    step, node = np.divmod(np.arange(63 * 64), 64)
    return Workload(node, (node + step + 1) % 64, np.full(node.size, size), 64)


def butterfly(size: int) -> Workload:
    """Six stages i → i xor 2^s; each waits for what its node received in the stage before."""
    stage, node = np.divmod(np.arange(6 * 64), 64)
    deps = (stage[64:] - 1) * 64 + (node[64:] ^ (1 << (stage[64:] - 1)))
    offsets = np.concatenate([np.zeros(64, np.int64), np.arange(deps.size + 1)])
    return Workload(
        node, node ^ (1 << stage), np.full(node.size, size), 64, dep_offsets=offsets, deps=deps
    )


def check(
    work: Workload,
    network: str,
    nic: int,
    mode: str,
    sharing: str,
    cycles: float,
    mean: float,
    tolerance: float = 1e-6,
) -> None:
    settings = Settings(in_flight=1 if mode == "seq" else None, fairness=sharing)  # type: ignore[arg-type]
    timeline = simulate_flow(work, cycles_machine(network, nic), settings)
    assert timeline.time_s * 1e9 == pytest.approx(cycles, rel=tolerance)
    assert timeline.mean_latency_s * 1e9 == pytest.approx(
        mean, rel=tolerance if tolerance == 1e-6 else 1.5e-2
    )


@pytest.mark.parametrize(("size", "nic", "mode", "sharing", "cycles", "mean"), EXCHANGES)
def test_a_complete_exchange(
    size: int, nic: int, mode: str, sharing: str, cycles: float, mean: float
) -> None:
    check(exchange(size), "torus:8x8", nic, mode, sharing, cycles, mean)


@pytest.mark.parametrize("sharing", ["rtt", "equal"])
@pytest.mark.parametrize(("size", "nic", "cycles", "mean"), BUTTERFLIES)
def test_a_butterfly_with_dependencies(
    size: int, nic: int, sharing: str, cycles: float, mean: float
) -> None:
    check(butterfly(size), "torus:8x8", nic, "deps", sharing, cycles, mean)


# ---- the whole table, where it lies beside the checkout

TABLE = Path(__file__).resolve().parents[3] / "shared" / "golden" / "simulators"


def rows() -> list[dict[str, str]]:
    if not (TABLE / "flow.csv").is_file():
        return []
    with (TABLE / "flow.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if (row["workload"], row["mode"]) not in SLOW]


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_workloads", TABLE / "gen_workloads.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the folder is not ours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writing
    return module


@cache
def made(name: str) -> Workload:
    messages = generator().workload(name)
    time, source, target, size, deps = zip(*messages, strict=True)
    return Workload(
        np.array(source),
        np.array(target),
        np.array(size),
        max(source) + 1,
        time_s=np.array(time) / 1e9,
        dep_offsets=np.cumsum([0, *(len(each) for each in deps)]),
        deps=np.array([d for each in deps for d in each]),
    )


@pytest.mark.skipif(
    not rows(), reason="no ../shared/golden/simulators beside the checkout, which is not part of us"
)
@pytest.mark.parametrize(
    "row", rows(), ids=lambda r: f"{r['workload']}-{r['mode']}-{r['nic']}-{r['sharing']}"
)
def test_every_row_of_the_table(row: dict[str, str]) -> None:
    work = made(row["workload"])
    if row["mode"] != "timed":
        work = replace(work, time_s=np.zeros(0))
    if row["mode"] != "deps":
        work = replace(work, dep_offsets=np.zeros(0, np.int64), deps=np.zeros(0, np.int32))
    figures = (float(row[name]) for name in ("cycles", "mean_cycles", "relative_tolerance"))
    check(work, row["network"], int(row["nic"]), row["mode"], row["sharing"], *figures)
