"""Programs, property.

With all connections of a context in use, none is slower than it was demanded and guaranteed.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import numpy as np
from hypothesis import assume, given, settings as examples, strategies as st

from conset.base.errors import NoScheduleError
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.costs import Costs, Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models.connections import simulate_connections
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import document_of
from conset.schedule.linkage import program_guarantees
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule
from conset.verification import verify

MACHINES = (
    "iwarp:4x4",
    "mesh:2x3,link=40MB/s,hop=1us",
    "ring:6,link=40MB/s,port=60MB/s",
    "hypercube:3,link=20MB/s,hop=0.3us",
    "torus:3x3,width=2,link=20MB/s,port=50MB/s",
    "crossbar:5,port=40MB/s",
)
DEMANDS = (
    {},
    {"min_bandwidth": "10MB/s"},
    {"max_latency": "6us"},
    {"min_bandwidth": "8MB/s", "max_latency": "8us"},
    {"max_latency": "12us"},
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    machine = parse_machine(draw(st.sampled_from(MACHINES)))
    request = CompileOptions("connections", **draw(st.sampled_from(DEMANDS)))  # type: ignore[arg-type]
    rng, ranks = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), machine.topology.endpoints
    blocks = []
    for k in range(draw(st.integers(2, 4))):
        count = int(rng.integers(1, 10))
        source = rng.integers(0, ranks, count)
        target = (source + rng.integers(1, ranks, count)) % ranks
        pattern = Pattern.from_messages(source, target, rng.integers(1, 500, count), ranks)
        blocks.append(BlockSpec(f"block {k}", pattern, int(rng.integers(1, 3)), request))
    try:
        return compile_program(blocks, machine, request)
    except NoScheduleError:
        assume(False)
        raise


Row = tuple[list[int], list[int], float, float, float, float]
"""(nodes, channels, guaranteed bandwidth, latency, demanded bandwidth, latency) of a connection."""


def connections(program: Program) -> dict[int, dict[tuple[int, int], Row]]:
    """The connections of every context, by the channel where they begin.

    Demands are the strictest of all phases.
    """
    found: dict[int, dict[tuple[int, int], Row]] = {}
    for schedule, contexts, own in zip(
        program.schedules, program.contexts, program_guarantees(program), strict=True
    ):
        assert schedule.route_offsets is not None
        assert schedule.route_nodes is not None
        assert schedule.channels is not None
        rates, times = schedule.min_bandwidth_Bps, schedule.max_latency_s
        for k in range(schedule.transfers):
            stops = slice(int(schedule.route_offsets[k]), int(schedule.route_offsets[k + 1]))
            nodes, channels = (
                schedule.route_nodes[stops].tolist(),
                schedule.channels[stops].tolist(),
            )
            m = int(schedule.message[k])
            least = 0.0 if rates is None else float(rates[m])
            most = np.inf if times is None else float(times[m])
            rows = found.setdefault(contexts[schedule.phase_of[k]], {})
            before = rows.get((nodes[0], channels[0]), ([], [], 0.0, 0.0, 0.0, np.inf))
            rows[nodes[0], channels[0]] = (
                nodes,
                channels,
                float(own.bandwidth_Bps[k]),
                float(own.latency_s[k]),
                max(before[4], least),
                min(before[5], most),
            )
    return found


def all_at_once(machine: Machine, rows: list[Row], size: int) -> Schedule:
    """One phase in which every connection carries `size` bytes."""
    rows = sorted(rows, key=lambda row: row[0][0])
    source = np.array([row[0][0] for row in rows])
    offsets = np.searchsorted(source, np.arange(machine.topology.endpoints + 1))
    target = np.array([row[0][-1] for row in rows], np.int32)
    pattern = Pattern(machine.topology.endpoints, offsets, target, np.full(len(rows), size))
    cuts = np.cumsum([0, *(len(row[0]) for row in rows)])
    return Schedule(
        pattern,
        machine,
        "connections",
        Limits(),
        np.array([0, len(rows)]),
        np.arange(len(rows), dtype=np.int32),
        route_offsets=cuts,
        route_nodes=np.concatenate([row[0] for row in rows]).astype(np.int32),
        channels=np.concatenate([row[1] for row in rows]).astype(np.int32),
    )


@given(programs(), st.sampled_from([4, 200, 800]))
@examples(max_examples=25, deadline=None)
def test_a_context_in_use_keeps_its_contracts(program: Program, size: int) -> None:
    assert verify(document_of(program)).ok
    costs = program.machine.costs_for("connections")
    network = Costs(
        port_out_Bps=costs.port_out_Bps,
        port_in_Bps=costs.port_in_Bps,
        node_Bps=costs.node_Bps,
        link_Bps=costs.link_Bps,
        hop_s=float(costs.hop.at(costs.flit_B)),
        flit_B=costs.flit_B,
    )
    machine = replace(program.machine, costs=network, method_costs={})
    for rows in connections(program).values():
        ordered = sorted(rows.values(), key=lambda row: row[0][0])
        schedule = all_at_once(machine, ordered, size)
        found = simulate_connections(Workload.of_schedule(schedule), machine, Settings("barrier"))
        elements = -(-size // costs.flit_B)
        for row, sent, end in zip(
            ordered, found.sent_s.tolist(), found.end_s.tolist(), strict=True
        ):
            _, _, bandwidth, latency, least, most = row
            assert bandwidth * (1 + 1e-9) >= least
            assert latency <= most * (1 + 1e-9)
            each = costs.flit_B / bandwidth if isfinite(bandwidth) else 0.0
            assert end - sent <= latency + (elements - 1) * each + 1e-9 * end + 1e-12
            if least:  # so what was asked for is there as well
                assert (
                    end - sent
                    <= latency + (elements - 1) * costs.flit_B / least + 1e-9 * end + 1e-12
                )
