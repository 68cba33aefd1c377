"""Connections, property.

The core gives what the obvious slow program gives, to the bit of a decimal number.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings as examples, strategies as st

from conset.base.errors import NoScheduleError
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.models.connections import simulate_connections
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.verification.timeline.check import check_timeline
from support.slow_connections import Slow

US, MB = 1e-6, 1e6
TOPOLOGIES = (
    Topology.mesh(4),
    Topology.ring(5),
    Topology.torus(3, 3),
    Topology.mesh(2, 3),
    Topology.hypercube(3),
    Topology.crossbar(5),
)
RATES = st.sampled_from([np.inf, 10 * MB, 20 * MB, 40 * MB, 50 * MB, 100 * MB])
TIMES = st.sampled_from([0.0, 0.0, 0.1 * US, 0.7 * US, 3 * US])


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    topology = draw(st.sampled_from(TOPOLOGIES))
    if topology.kind not in ("crossbar", "graph"):
        topology = replace(topology, width=draw(st.sampled_from([1, 1, 2, 4])))
    costs = Costs(
        port_out_Bps=draw(RATES),
        port_in_Bps=draw(RATES),
        link_Bps=draw(RATES),
        hop_s=draw(TIMES),
        per_transfer_s=draw(TIMES),
        copy_Bps=draw(RATES),
        flit_B=draw(st.sampled_from([4, 16])),
        receive_overhead=Steps((draw(TIMES),)),
        send_overhead=Steps((draw(TIMES),)),
        eject=Steps((draw(TIMES),)),
        receive=draw(st.sampled_from(["before", "after"])),
    )
    return Machine("machine", topology, Routing.default(topology), costs)


def workload_of(rng: np.random.Generator, nodes: int, count: int, *, deps: bool) -> Workload:
    source, target = (rng.integers(0, nodes, count).astype(np.int32) for _ in range(2))
    size = rng.integers(0, 200, count) * (rng.random(count) < 0.9)
    waits = [[d for d in range(m) if deps and rng.random() < 0.1] for m in range(count)]
    offsets = np.cumsum([0, *map(len, waits)])
    order = np.arange(count) if deps else rng.permutation(count)
    trace = deps and rng.random() < 0.5
    return Workload(
        source,
        target,
        size.astype(np.int64),
        nodes,
        phase_offsets=np.array([0, count] if not trace else [], np.int64),
        time_s=rng.integers(0, 30, count) / 1e7 if trace else np.zeros(0),
        order=order.astype(np.int32),
        dep_offsets=offsets,
        deps=np.array(list(chain.from_iterable(waits)), np.int32),
    )


@given(
    machines(),
    st.integers(0, 2**32 - 1),
    st.integers(1, 14),
    st.sampled_from([None, None, 1, 2]),
    st.sampled_from([None, None, 1, 2]),
    st.sampled_from(["list", "any"]),
    st.sampled_from([1, 2, 3, 8]),
    st.booleans(),
)
@examples(max_examples=200, deadline=None)
def test_the_core_is_the_slow_program(
    machine: Machine,
    seed: int,
    count: int,
    in_flight: int | None,
    receives: int | None,
    order: str,
    queue: int,
    deps: bool,
) -> None:
    rng = np.random.default_rng(seed)
    work = workload_of(rng, machine.topology.endpoints, count, deps=deps)
    settings = Settings("barrier", in_flight, receives, order, queue=queue)
    slow = Slow(work, machine, settings, queue)
    if None in slow.end:
        with pytest.raises(NoScheduleError, match="deadlock"):
            simulate_connections(work, machine, settings)
        return
    found = simulate_connections(work, machine, settings)
    for ours, theirs in (
        ("start_s", "slot"),
        ("sent_s", "sent"),
        ("left_s", "left"),
        ("end_s", "end"),
    ):
        np.testing.assert_allclose(
            getattr(found, ours), slow.column(theirs), rtol=1e-12, atol=1e-15, err_msg=ours
        )
    latency = [0.0 if each is None else each for each in found.figures["connections"]["latency_s"]]
    np.testing.assert_allclose(latency, slow.column("latency"), rtol=1e-12, atol=1e-15)
    assert check_timeline(found, work, machine, settings) == ()


@given(machines(), st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([1, 2, 8]))
@examples(max_examples=60, deadline=None)
def test_paced_elements_are_the_slow_programs(
    machine: Machine, seed: int, count: int, queue: int
) -> None:
    rng = np.random.default_rng(seed)
    work = workload_of(rng, machine.topology.endpoints, count, deps=False)
    pace = rng.choice([0, 1, 7], count)
    slow = Slow(work, machine, Settings("barrier"), queue, [Fraction(int(p), 10**7) for p in pace])
    found = simulate_connections(
        work, machine, Settings("barrier", queue=queue), pace_s=pace * 1e-7
    )
    np.testing.assert_allclose(found.end_s, slow.column("end"), rtol=1e-12, atol=1e-15)
    latency = [0.0 if each is None else each for each in found.figures["connections"]["latency_s"]]
    np.testing.assert_allclose(latency, slow.column("latency"), rtol=1e-12, atol=1e-15)
