"""Estimates of paths.

Against a slow version of the model, figures of the literature's patterns, and candidates.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

import conset
from conset.base.errors import InputError
from conset.compilation.combining import candidates
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.machine.spec import parse_machine
from conset.methods.paths.evaluate import evaluate
from conset.methods.paths.multiphase import multiphase, node_aware, radices_of, radix
from conset.methods.paths.table import parse_combine, paths_of
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.paths import Paths, direct

FLAT = (
    "send_overhead=0.5us,receive_overhead=0.5us,processors=one,inject=1.5us,eject=0,port_out="
    "10GB/s,port_in=none"
)
FLAT += ",copy=5GB/s"
PART_S = 5e-9


def flat(ranks: int) -> Machine:
    """A machine of processors.

    0.5 us a message at both ends, 1.5 us between, 10 GB/s out, copies at 5 GB/s.
    """
    return parse_machine(f"crossbar:{ranks},{FLAT}")


def box_neighbours(sides: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ordered pairs of cells whose coordinates differ by at most 1, nothing wraps."""
    cells = list(product(*map(range, sides)))
    number = {cell: k for k, cell in enumerate(cells)}
    steps = [step for step in product((-1, 0, 1), repeat=len(sides)) if any(step)]
    pairs = [
        (number[cell], number[other])
        for cell in cells
        for step in steps
        if (other := tuple(a + b for a, b in zip(cell, step, strict=True))) in number
    ]
    both = np.array(pairs)
    return both[:, 0], both[:, 1]


def dense_rows() -> Pattern:
    """26 neighbours of a box of 4,096 ranks, 64 B, and four ranks that exchange 8 B with all."""
    source, target = box_neighbours((16, 16, 16))
    everybody = np.arange(4096)
    ends = [(source, target)]
    for hub in np.linspace(0, 4095, 6)[1:5].astype(int):
        others = everybody[everybody != hub]
        ends += [(np.full(4095, hub), others), (others, np.full(4095, hub))]
    size = np.concatenate([np.full(source.size, 64), np.full(8 * 4095, 8)])
    return Pattern.from_messages(
        *(np.concatenate(end) for end in zip(*ends, strict=True)), size, 4096
    )


def test_neighbours_of_a_grid() -> None:
    grid = Pattern.from_messages(*box_neighbours((4, 4, 4)), np.full(936, 8), 64)
    assert grid.messages == 936
    alone = evaluate(direct(grid), flat(64), part_s=PART_S)
    assert alone.time_s == pytest.approx(26.02e-6, abs=5e-9)
    assert alone.time_s == pytest.approx(26 * (0.5e-6 + 8 / 10e9) + 26 * 0.5e-6)
    assert alone.work_s == pytest.approx(936e-6)
    assert alone.busiest_s == pytest.approx(26e-6)
    paths = multiphase(grid, (4, 4, 4))
    combined = evaluate(paths, flat(64), part_s=PART_S)
    assert combined.time_s == pytest.approx(9.58e-6, abs=5e-9)
    assert combined.bundles == 288
    assert combined.bytes / grid.bytes == pytest.approx(1.92, abs=5e-3)
    assert sum(combined.stage_s) == pytest.approx(combined.time_s)
    assert evaluate(paths, flat(64)).time_s < combined.time_s


def test_ranks_that_talk_to_all() -> None:
    pattern = dense_rows()
    assert pattern.messages == 125_780
    assert evaluate(direct(pattern), flat(4096), part_s=PART_S).time_s == pytest.approx(
        4098.4e-6, abs=5e-8
    )
    combined = evaluate(multiphase(pattern, (8, 8, 8, 8)), flat(4096), part_s=PART_S)
    assert combined.bundles == 53_080
    assert combined.time_s == pytest.approx(87.7e-6, abs=5e-8)


def test_a_power_law_on_nodes_of_32_ranks() -> None:
    """4,096 ranks; published for such machines and patterns.

    7 x on a dragonfly, 22 x on a torus.
    """
    words = FLAT.replace("port_out=10GB/s,port_in=none", "port=10GB/s")
    machine = parse_machine(f"crossbar:128,{words}")
    placement = (np.arange(4096) // 32).astype(np.int32)
    gain = {}
    for size in (8, 64, 4096):
        pattern = parse_pattern(f"power-law:degree=16,alpha=1.6,size={size}", ranks=4096, seed=1)
        found = candidates(pattern, machine, placement, moves=2**22, part_s=PART_S)
        alone = next(each for each in found if each.name == "none")
        gain[size] = alone.estimate.time_s / found[0].estimate.time_s
    assert gain[8] >= 25
    assert gain[64] >= 15
    assert gain[4096] == 1


class SlowClock:
    """The estimate as written down: one bundle after the other, in lists."""

    def __init__(self, paths: Paths, machine: Machine, node: list[int], part_s: float) -> None:
        self.paths, self.machine, self.costs, self.node, self.part_s = (
            paths,
            machine,
            machine.costs,
            node,
            part_s,
        )
        ranks = paths.pattern.ranks
        self.send, self.take, self.work = ([0.0] * ranks for _ in range(3))
        self.out, self.into = ([0.0] * machine.topology.endpoints for _ in range(2))
        self.link = [0.0] * machine.topology.link_slots
        self.late: list[tuple[int, float, int, float]] = []

    def time(self) -> float:
        for stage in range(self.paths.stages):
            self.stage(stage)
        self.receive(self.late)
        return max([0.0, *self.send, *self.take])

    def groups(self, stage: int) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for part, row in enumerate(self.paths.positions.tolist()):
            if row[stage] != row[stage + 1]:
                found.setdefault((row[stage], row[stage + 1]), []).append(part)
        return dict(sorted(found.items()))

    def goes_on(self, part: int, stage: int) -> bool:
        row = self.paths.positions[part, stage + 1 :].tolist()
        return any(a != b for a, b in pairwise(row))

    def stage(self, stage: int) -> None:
        costs, ranks = self.costs, self.paths.pattern.ranks
        groups = self.groups(stage)
        for rank in sorted({end for pair in groups for end in pair}) if costs.setup_s else ():
            begin = max(self.send[rank], self.take[rank]) + costs.setup_s
            self.send[rank] = self.take[rank] = begin
            self.work[rank] += costs.setup_s
        sent = []
        for k, ((p, q), parts) in enumerate(groups.items()):
            size = int(self.paths.size_of[parts].sum())
            copy = size / costs.copy_Bps + len(parts) * self.part_s if len(parts) > 1 else 0.0
            forwarded = any(self.goes_on(part, stage) for part in parts)
            sent.append([p, not forwarded, (q - p) % ranks, k, q, size, copy])
        sent.sort()
        gap = max(1 / costs.port_out_Bps, 1 / costs.node_Bps)
        left = []
        for p, ends, _, k, q, size, copy in sent:
            leaves = self.node[p] != self.node[q]
            work = costs.send_overhead.at(size) + copy
            self.work[p] += work
            self.send[p] += work + (size * gap if leaves else 0.0)
            left.append((k, p, q, size, copy, ends, leaves, self.send[p]))
        if costs.one_processor:
            self.take = [max(a, b) for a, b in zip(self.send, self.take, strict=True)]
        now, later = self.arrive(sorted(left), gap)
        self.late += later
        self.receive(now)

    def arrive(
        self, left: list[tuple[int, int, int, int, float, bool, bool, float]], gap: float
    ) -> tuple[list, list]:
        costs, topology = self.costs, self.machine.topology
        found = []
        shared = len(set(self.node)) < len(self.node)
        rows = [
            [k, p, q, size, copy, ends, leaves, at]
            for k, p, q, size, copy, ends, leaves, at in left
        ]
        remote = [row for row in rows if row[6]]
        if shared:
            for row in sorted(remote, key=lambda row: (round(row[7] - row[3] * gap, 15), row[0])):
                begin = max(row[7] - row[3] * gap, self.out[self.node[row[1]]])
                row[7] = self.out[self.node[row[1]]] = begin + row[3] * gap
        routes = {}
        load = [0] * topology.link_slots
        for row in remote:
            row[7] += (
                costs.inject.at(row[3]) + costs.eject.at(row[3]) + costs.requests.at(row[3])
            ) + costs.per_transfer_s
            if topology.link_slots:
                ends = (np.array([self.node[end]], np.int32) for end in row[1:3])
                routes[row[0]] = route_links(topology, self.machine.routing, *ends)[1].tolist()
                row[7] += len(routes[row[0]]) * costs.hop.at(row[3])
                for link in routes[row[0]]:
                    load[link] += row[3]
        for row in (
            sorted(remote, key=lambda row: (round(row[7] - row[3] * gap, 15), row[0]))
            if any(load) and costs.link_Bps < inf
            else ()
        ):
            link = max(routes[row[0]], key=lambda link: (load[link], link))
            self.link[link] = max(row[7] - row[3] * gap, self.link[link]) + row[3] / costs.link_Bps
            row[7] = max(row[7], self.link[link])
        rate = max(1 / costs.port_in_Bps, 1 / costs.node_Bps)
        for row in (
            sorted(remote, key=lambda row: (round(row[7] - row[3] * gap, 15), row[0]))
            if rate
            else ()
        ):
            port = self.node[row[2]]
            self.into[port] = max(row[7] - row[3] * gap, self.into[port]) + row[3] * rate
            row[7] = max(row[7], self.into[port])
        for k, _, q, size, copy, ends, leaves, at in rows:
            there = at if leaves else at + size / costs.copy_Bps
            found.append((ends, (q, there, k, costs.receive_overhead.at(size) + copy)))
        return [entry for ends, entry in found if not ends], [
            entry for ends, entry in found if ends
        ]

    def receive(self, entries: list[tuple[int, float, int, float]]) -> None:
        for q, there, _, cost in sorted(entries, key=lambda entry: entry[:2]):
            self.take[q] = max(self.take[q], there) + cost
            self.work[q] += cost
        for q in {entry[0] for entry in entries}:
            self.send[q] = max(self.send[q], self.take[q])


MACHINES = (
    f"crossbar:12,{FLAT}",
    "crossbar:12,send_overhead=1us,receive_overhead=2us,processors=two,port=1GB/s,copy=300MB/s,"
    "setup=3us",
    "torus:3x4,overhead=3us,processors=one,link=20MB/s,port=100MB/s,hop=1us,node=150MB/s,per_"
    "transfer=2us",
    "mesh:2x6,send_overhead=2us,link=1GB/s,port=200MB/s,eager=100,signal=7us,copy=1GB/s",
    "paragon:3x4",
)


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_the_estimate_is_that_of_the_slow_version(data: st.DataObject) -> None:
    machine = parse_machine(data.draw(st.sampled_from(MACHINES)))
    per_node = data.draw(st.sampled_from([1, 1, 2, 3]))
    placement = np.repeat(np.arange(12, dtype=np.int32), per_node)
    ranks = data.draw(st.integers(2, placement.size))
    pairs = data.draw(
        st.lists(st.tuples(*[st.integers(0, ranks - 1)] * 2, st.integers(1, 5000)), max_size=60)
    )
    columns = np.array(pairs, np.int64).reshape(-1, 3).T
    pattern = Pattern.from_messages(*columns, ranks)
    kind = data.draw(st.sampled_from(["direct", "box", "radix", "node-aware"]))
    if kind == "node-aware" and np.bincount(placement[:ranks]).max() > 1:
        paths = node_aware(pattern, placement[:ranks], steps=data.draw(st.sampled_from([2, 3])))
    elif kind == "box":
        paths = multiphase(
            pattern, data.draw(st.sampled_from([(6, 6), (3, 3, 4), (2, 20), (2,) * 6]))
        )
    else:
        paths = radix(pattern, (2, 4, 5)) if kind == "radix" else direct(pattern)
    part_s = data.draw(st.sampled_from([0.0, 1e-7]))
    estimate = evaluate(paths, machine, placement[:ranks], part_s=part_s)
    slow = SlowClock(paths, machine, placement[:ranks].tolist(), part_s)
    assert estimate.time_s == pytest.approx(slow.time(), rel=1e-9, abs=1e-15)
    assert estimate.work_s == pytest.approx(sum(slow.work), rel=1e-9, abs=1e-15)
    assert estimate.busiest_s == pytest.approx(max(slow.work), rel=1e-9, abs=1e-15)
    assert estimate.bundles == sum(paths.bundles(j).bundles for j in range(paths.stages))
    assert estimate.bytes == sum(paths.bundles(j).pattern.bytes for j in range(paths.stages))


def test_bytes_through_a_shared_port_go_one_after_the_other() -> None:
    """Two ranks of a node send 1000 B each at 1 GB/s: 1 us and 2 us, then 1 us of latency.

    Ports into nodes are two.
    """
    machine = parse_machine("crossbar:3,port=1GB/s,inject=1us,eject=0")
    pattern = Pattern.from_messages([0, 1], [2, 3], [1000, 1000], 4)
    estimate = evaluate(direct(pattern), machine, np.array([0, 0, 1, 2], np.int32))
    assert estimate.time_s == pytest.approx(3e-6)


def test_a_link_serves_bundles_one_after_the_other() -> None:
    """0 → 2 and 1 → 2 on a row of three: both cross the second link, 1000 B at 1 GB/s each."""
    machine = parse_machine("mesh:3,link=1GB/s,port=none,hop=0")
    pattern = Pattern.from_messages([0, 1], [2, 2], [1000, 1000], 3)
    assert evaluate(direct(pattern), machine).time_s == pytest.approx(2e-6)


def test_what_an_estimate_refuses() -> None:
    pattern = parse_pattern("alltoall:size=8", ranks=8)
    with pytest.raises(InputError, match="8 ranks on 4 nodes: a placement is required"):
        evaluate(direct(pattern), parse_machine("crossbar:4"))
    with pytest.raises(InputError, match=r"placement has shape \(3,\)"):
        evaluate(direct(pattern), parse_machine("crossbar:8"), np.arange(3, dtype=np.int32))


@pytest.mark.parametrize(
    ("spec", "ranks", "machine", "per_node"),
    [
        ("alltoall:size=8", 32, "torus:4x4", 2),
        ("alltoall:size=8", 37, "crossbar:37", 1),
        ("random:degree=4,size=8", 32, f"crossbar:32,{FLAT}", 1),
        ("power-law:degree=6,size=64", 64, "torus:8x8,overhead=2us", 1),
    ],
)
def test_candidates_are_sorted_distinct_and_named_as_combine_takes_them(
    spec: str, ranks: int, machine: str, per_node: int
) -> None:
    on = parse_machine(machine)
    placement = None if per_node == 1 else (np.arange(ranks) // per_node).astype(np.int32)
    pattern = parse_pattern(spec, ranks=ranks, seed=2)
    found = candidates(pattern, on, placement)
    times = [each.estimate.time_s for each in found]
    assert times == sorted(times)
    assert len({each.name for each in found}) == len(found) > 5
    assert ("node-aware" in {each.name for each in found}) == (per_node > 1)
    for each in found:
        again = paths_of(parse_combine(each.name), pattern, on, placement)
        assert np.array_equal(again.positions, each.paths.positions)
        assert evaluate(again, on, placement) == each.estimate


def test_candidates_keep_within_their_moves_and_take_others() -> None:
    pattern = parse_pattern("alltoall:size=8", ranks=32)
    machine = flat(32)
    assert [each.name for each in candidates(pattern, machine, moves=0)] == ["none"]
    few = candidates(pattern, machine, moves=992 * 5)
    assert sum(each.paths.stages for each in few if each.name != "none") <= 5
    asked = []

    def make() -> Paths:
        asked.append(1)
        return multiphase(pattern, (2, 16))

    assert "mine" in [
        each.name for each in candidates(pattern, machine, more=[("mine", 2, make)], moves=992 * 2)
    ]
    assert asked == [1]
    assert "mine" not in [
        each.name for each in candidates(pattern, machine, more=[("mine", 2, make)], moves=992)
    ]
    assert asked == [1]


def test_few_partners_and_long_messages_are_best_direct() -> None:
    shift = parse_pattern("shift:size=8", ranks=32)
    assert candidates(shift, flat(32))[0].name == "none"
    long = parse_pattern("alltoall:size=64KiB", ranks=32)
    assert candidates(long, flat(32))[0].name == "none"
    short = parse_pattern("alltoall:size=8", ranks=32)
    assert candidates(short, flat(32))[0].name != "none"


def test_no_messages_cost_nothing() -> None:
    silent = Pattern.from_messages([], [], [], 8)
    (only,) = candidates(silent, flat(8))
    assert only.estimate.time_s == only.estimate.work_s == 0


def test_messages_with_an_order_are_not_combined() -> None:
    ordered = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3, before=[[0, 1]])
    with pytest.raises(InputError, match="whose messages have an order"):
        candidates(ordered, flat(3))


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_few_ranks_on_a_large_network(ranks: int) -> None:
    found = candidates(parse_pattern("alltoall:size=8", ranks=ranks), parse_machine("torus:64x64"))
    assert found[0].name == "none"


MESSAGE_RATE = """
[network]
kind = "crossbar"
nodes = 16

[costs]
port = { value = "25 GB/s", tag = "commonly reported, not checked", source = "EFA, 200 Gbit/s" }
startup = { value = "0.335 us", tag = "fitted", source = "radix 2 of open-mpi/ompi#12453, 8 B" }
"""
"""16 nodes of 64 ranks; latencies are those of bare networks."""
MEASURED_US = {2: 155, 4: 211, 8: 299, 32: 860}
"""Complete exchange of 8 B by Bruck with these radices: open-mpi/ompi#12453."""


def test_the_message_rate_of_a_node_orders_radices(tmp_path: Path) -> None:
    """Errors of 3, 1, -1 and -3 %; without `startup` the order is the reverse."""
    path = tmp_path / "efa.toml"
    path.write_text(MESSAGE_RATE)
    machine = conset.load_machine(path)
    free = machine.with_costs(lambda costs: replace(costs, startup_s=0.0))
    node = np.repeat(np.arange(16, dtype=np.int32), 64)
    pattern = parse_pattern("alltoall:size=8", ranks=1024)
    found, unlimited = {}, {}
    for base in MEASURED_US:
        paths = radix(pattern, radices_of(1024, base))
        found[base] = evaluate(paths, machine, node).time_s * 1e6
        unlimited[base] = evaluate(paths, free, node).time_s
    assert sorted(found, key=lambda base: found[base]) == [2, 4, 8, 32]
    assert sorted(unlimited, key=lambda base: unlimited[base]) == [32, 8, 4, 2]
    for base, measured in MEASURED_US.items():
        assert found[base] == pytest.approx(measured, rel=0.06), base
