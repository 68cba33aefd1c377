"""Every timeline of every model, policy and machine passes the checker, which shares no code
with the simulators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings as examples, strategies as st
from numpy.typing import NDArray

import conset
from conset.base.errors import ConsetError
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.spec import parse_machine
from conset.models import Workload
from conset.models.needs import partners
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.verification.timeline.check import check_timeline
from support.hand_made import graph_of

MACHINES = {
    spec: parse_machine(spec)
    for spec in (
        "iwarp:4x4",
        "ipsc860:16",
        "delta:4x4",
        "paragon:4x4",
        "mesh:4x4",
        "torus:4x4",
        "hypercube:4",
        "ring:7,lanes=2,setup=3us,signal=2us",
        "crossbar:9,setup=1us",
        "mesh:3x3,port=none",
        "mesh:4x4,eager=200,buffers=300,copy=1GB/s,signal=1us",
        "torus:3x3,eager=1000,processors=one,preempts=true,setup=2us",
        "mesh:3x4,inject=2us,eject=1us,node=20GB/s,exchange_weight=0.7,exchange_syncs=local;ready",
        "mesh:3x3,send_overhead=3us,receive_overhead=2us,per_transfer=1us,setup=4us,signal=2us,"
        "first_barrier=true",
        "torus:3x3,overhead=4us,processors=one,receive=before,setup=1us,signal=2us,copy=1GB/s",
        "crossbar:6,overhead=4us,processors=one,preempts=true,setup=3us,eager=1000,signal=1us,"
        "copy=1GB/s",
        "crossbar:4,send_overhead=3us,receive_overhead=2us,processors=shared,setup=1us,signal=2us,"
        "copy=1GB/s",
        "mesh:3x3,overhead=4us,processors=shared,receive=before,eager=1000,signal=1us,copy=1GB/s",
        "torus:3x3,startup=3us,send_overhead=1us,receive=before,setup=1us,signal=2us",
        "crossbar:5,startup=3us,port_in=none,port_out=none",
    )
}


def tree() -> Machine:
    """Eight endpoints at four switches under one.

    A graph with shortest routes, wide links at the top.
    """
    joins = [(node, 8 + node // 2) for node in range(8)] + [(switch, 12) for switch in range(8, 12)]
    links = joins + [(b, a) for a, b in joins]
    width = [2 if 12 in link else 1 for link in links]
    topology = graph_of(8, 13, links, width)
    return Machine("tree", topology, Routing.default(topology), MACHINES["mesh:4x4"].costs)


MACHINES["tree"] = tree()
WEIGHED = {
    name
    for name, machine in MACHINES.items()
    if not machine.costs.preempts
    and machine.costs.exchange_weight == 1
    and not machine.costs.startup_s
}
"""Where `flow` knows weights by latency."""
SYNCS = ["none", "local", "ready", "barrier", "barrier:2", "detect"]
SIZES = [0, 1, 16, 100, 101, 500, 5000, 65536]


def dependences(waits: list[NDArray[np.int64]]) -> dict[str, Any]:
    """What each message waits for, as rows."""
    offsets = np.cumsum([0, *(row.size for row in waits)])
    return {
        "dep_offsets": offsets,
        "deps": np.concatenate([np.zeros(0, int), *waits]).astype(np.int32),
    }


@st.composite
def workloads(draw: st.DrawFn, endpoints: int, nodes: int, *, crowded: bool = False) -> Workload:
    """Phases in any order, or a trace with releases and dependences.

    Two ranks a node if `crowded`, else one or two.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 50))
    source, target = (rng.integers(0, endpoints, count).astype(np.int32) for _ in range(2))
    size = (
        rng.choice(SIZES, count)
        if draw(st.booleans())
        else np.full(count, draw(st.integers(0, 4000)))
    )
    more: dict[str, Any] = {}
    if draw(st.booleans()):
        cuts = np.sort(rng.integers(0, count + 1, draw(st.integers(0, 4))))
        more["phase_offsets"] = np.concatenate([[0], cuts, [count]])
        if draw(st.booleans()):
            phase = np.repeat(np.arange(cuts.size + 1), np.diff(more["phase_offsets"]))
            more["order"] = np.lexsort((rng.random(count), phase)).astype(np.int32)
        if draw(st.booleans()):  # those before a message are listed earlier, in its phase or before
            place = np.argsort(more.get("order", np.arange(count)))
            earlier = [np.flatnonzero(place < place[m]) for m in range(count)]
            more |= dependences(
                [rng.choice(row, min(row.size, rng.integers(0, 3)), False) for row in earlier]
            )
    else:
        more["time_s"] = np.round(rng.random(count) * 1e-4, 7) * draw(st.integers(0, 1))
        if draw(st.booleans()):
            waits = [
                np.unique(rng.integers(0, m, rng.integers(0, 3))) if m else np.zeros(0, int)
                for m in range(count)
            ]
            more |= dependences(waits)
    if draw(st.integers(0, 3)) == 0 or crowded:
        more["sender"], more["receiver"] = (
            2 * at + rng.integers(0, 2, count).astype(np.int32) for at in (source, target)
        )
    more["packed"] = rng.random(count) < draw(st.sampled_from([0.0, 0.4, 1.0]))
    return Workload(source, target, size.astype(np.int64), nodes, **more)


@pytest.mark.parametrize("model", list(MODELS))
@given(data=st.data())
@examples(max_examples=100)
def test_timelines_of_random_messages_pass(model: str, data: st.DataObject) -> None:
    machine = MACHINES[data.draw(st.sampled_from(sorted(MACHINES)))]
    crowded = machine.costs.processors == "shared"
    work = data.draw(workloads(machine.topology.endpoints, machine.topology.nodes, crowded=crowded))
    how = Settings(
        sync=data.draw(st.sampled_from(["barrier"] if model == "connections" else SYNCS))
        if work.phases
        else "none",
        in_flight=data.draw(st.sampled_from([None, 1, 2, 3])),
        receives=data.draw(st.sampled_from([None, 1, 2])),
        receive_order=data.draw(st.sampled_from([None, "any", "list"])),
        fairness=data.draw(
            st.sampled_from(["equal", "rtt"] if machine.name in WEIGHED else ["equal"])
        ),
        lanes=None if model == "circuit" else data.draw(st.sampled_from([None, 2, 4])),
        record=data.draw(st.booleans()),
    )
    try:
        timeline = MODELS[model].simulate(work, machine, how)
    except ConsetError:
        return  # a deadlock, or a network the model does not know
    assert check_timeline(timeline, work, machine, how) == ()


@pytest.mark.parametrize(
    "spec", ["iwarp:4x4", "ipsc860:16", "delta:4x4", "paragon:4x4", "mesh:4x4", "torus:4x4"]
)
@pytest.mark.parametrize("sync", SYNCS)
def test_timelines_of_a_complete_exchange_pass(spec: str, sync: str) -> None:
    """Pairs that exchange are many here; settings are the machine's."""
    schedule = conset.compile("alltoall,size=500", spec, method="first-fit")
    work, machine = Workload.of_schedule(schedule), schedule.machine
    costs = machine.costs_for(schedule.method)
    how = Settings.of(costs, sync=sync, record=True)
    for name, model in MODELS.items():
        if name == "connections" and (sync != "barrier" or np.isfinite(costs.node_Bps)):
            continue  # all nodes switch together; a node's rate in and out is that of its processor
        if name == "packet" and (np.isfinite(costs.node_Bps) or costs.preempts):
            continue
        lanes = 2 if name == "flit" and costs.lanes == 1 else None
        settings = replace(how, lanes=lanes)
        timeline = model.simulate(work, machine, settings)
        assert check_timeline(timeline, work, machine, settings) == (), name
        paired = partners(work, machine, settings)
        assert (paired[paired[paired >= 0]] == np.flatnonzero(paired >= 0)).all()
        if name != "flit":
            assert (paired >= 0).any() == (
                sync in costs.exchange_syncs and np.isfinite(costs.node_Bps)
            )
