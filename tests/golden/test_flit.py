"""Flit level against BookSim2, to the cycle.

Numbers: BookSim2, commit 28f43299, num_vcs 4, vc_buf_size 8, vc and switch allocator islip with one
iteration, delays routing 0, vc allocation 1, switch allocation 1, preparation 0, traversal 1,
credit 1, channels 1; torus 8x8 with ties in the positive direction, mesh 16x16; its replay of a
trace counts a tail at t as t + 1 cycles. The worked example was computed with a pencil. Workloads:
W1 complete exchange in shifts, W2 the same of 256 nodes, W3 butterfly with dependencies, W5 uniform
traffic (splitmix64, seed 5).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from conset.machine.spec import parse_machine
from conset.models import Timeline, Workload
from conset.models.flit import simulate_flit

Message = tuple[int, int, int, int, tuple[int, ...]]
OPTIONS = ",tie=plus,link=16GB/s,flit=16"


def workload_of(messages: list[Message], nodes: int) -> Workload:
    """Messages (cycle, source, target, bytes, dependencies); a cycle is 1 ns."""
    time, source, target, size, deps = zip(*messages, strict=True)
    offsets = np.cumsum([0, *(len(d) for d in deps)])
    flat = np.array([d for each in deps for d in each], np.int32)
    return Workload(
        np.array(source),
        np.array(target),
        np.array(size),
        nodes,
        np.array(time) * 1e-9,
        offsets,
        flat,
    )


def play(messages: list[Message], network: str, **options: int) -> Timeline:
    machine = parse_machine(network + OPTIONS)
    return simulate_flit(workload_of(messages, machine.topology.nodes), machine, **options)


def complete_exchange(nodes: int, size: int) -> list[Message]:
    return [(0, i, (i + s) % nodes, size, ()) for s in range(1, nodes) for i in range(nodes)]


def butterfly(nodes: int, size: int) -> list[Message]:
    def before(s: int, i: int) -> tuple[int, ...]:
        return ((s - 1) * nodes + (i ^ (1 << (s - 1))),) if s else ()

    return [
        (0, i, i ^ (1 << s), size, before(s, i))
        for s in range(nodes.bit_length() - 1)
        for i in range(nodes)
    ]


def uniform(nodes: int, cycles: int, seed: int) -> list[Message]:
    """A packet of 8 flits with probability 0.3/8 a node and cycle; numbers of splitmix64."""
    mask, state = (1 << 64) - 1, seed

    def draw() -> int:
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    return [
        (t, i, (draw() * nodes) >> 64, 128, ())
        for t in range(cycles)
        for i in range(nodes)
        if (draw() >> 11) * 2.0**-53 < 0.3 / 8
    ]


def cycles(timeline: Timeline) -> tuple[int, float, int]:
    figures = timeline.figures
    return figures["cycles"], round(timeline.mean_latency_s * 1e9, 2), figures["flit_hops"]


def test_complete_exchange_of_64() -> None:
    assert cycles(play(complete_exchange(64, 128), "torus:8x8")) == (1596, 655.97, 131072)


def test_complete_exchange_of_256() -> None:
    assert cycles(play(complete_exchange(256, 128), "mesh:16x16")) == (12116, 5642.72, 5570560)


@pytest.mark.parametrize(
    ("size", "expected"), [(128, (186, 94.92, 7168)), (65536, (57480, 26013.5, 3670016))]
)
def test_butterfly(size: int, expected: tuple[int, float, int]) -> None:
    assert cycles(play(butterfly(64, size), "torus:8x8")) == expected


def test_butterfly_in_packets_of_8_flits() -> None:
    assert cycles(play(butterfly(64, 65536), "torus:8x8", packet_B=128)) == (
        62772,
        26832.13,
        3670016,
    )


def test_uniform_traffic() -> None:
    messages = uniform(64, 10000, 5)
    assert len(messages) == 24210
    assert cycles(play(messages, "torus:8x8")) == (10056, 40.48, 773104)


def test_worked_example() -> None:
    """Two worms share two links and the target; a short one the other way; one to its own node."""
    messages: list[Message] = [
        (0, 0, 2, 64, ()),
        (4, 1, 2, 64, ()),
        (0, 2, 0, 16, ()),
        (0, 3, 3, 32, ()),
    ]
    ends = play(messages, "mesh:4x4").end_s * 1e9
    np.testing.assert_allclose(ends, [20, 21, 14, 7])


@pytest.mark.parametrize(("target", "hops"), [(0, 0), (1, 1), (7, 1), (3, 3), (36, 8)])
@pytest.mark.parametrize("size", [0, 1, 16, 128, 4096])
def test_alone(target: int, hops: int, size: int) -> None:
    """5 + 4 hops + flits, whatever the network does not do."""
    flits = max(1, -(-size // 16))
    timeline = play([(0, 0, target, size, ())], "torus:8x8")
    assert timeline.time_s == pytest.approx((5 + 4 * hops + flits) * 1e-9, rel=1e-12)


def test_tables_beside_the_checkout(shared_golden: Path) -> None:
    """What is written above is what the tables say."""
    with (shared_golden / "simulators" / "flit.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["tolerance"] == "exact"]
    table = {
        (row["workload"], row["network"]): (int(row["cycles"]), float(row["mean_latency"]))
        for row in rows
    }
    assert table == {
        ("W1_128", "torus:8x8"): (1596, 655.97),
        ("W3_128", "torus:8x8"): (186, 94.92),
        ("W5", "torus:8x8"): (10056, 40.48),
        ("W3_65536", "torus:8x8"): (57480, 26013.5),
        ("W2_128", "mesh:16x16"): (12116, 5642.72),
        ("W3_65536", "torus:8x8 packets of 8 flits"): (62772, 26832.13),
    }
    with (shared_golden / "simulators" / "zero_load.csv").open() as file:
        for row in csv.DictReader(file):
            if row["model"] == "flit":
                assert int(row["cycles"]) == 5 + 4 * int(row["hops"]) + int(row["flits"])
