"""The release engine, property.

Every model of the core delivers each message when the obvious slow program does.

Random machines with all costs drawn, small workloads with everything that a schedule or a trace may
say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings as examples, strategies as st

from conset.base.errors import InputError, NoScheduleError
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.verification.timeline.check import check_timeline
from support.hand_made import graph_of
from support.random_machines import TOPOLOGIES, machines
from support.slow_networks import slow

POLICIES = ["none", "local", "ready", "barrier", "barrier:2", "detect"]
NETWORKS = (
    *TOPOLOGIES,
    Topology.torus(3, 3, width=2),
    Topology.ring(4, width=3),
    graph_of(4, 5, [(a, 4) for a in range(4)] + [(4, a) for a in range(4)], width=[1, 2, 1, 3] * 2),
)
SIZES_B = (0, 16, 100, 101, 1000, 20_000)
ADAPTIVE = {
    "tree": parse_machine("leaf-spine:leaves=2,spines=3,hosts=2").topology,
    "three levels": parse_machine("fat-tree:k=2,levels=3").topology,
    "dragonfly": parse_machine("dragonfly:groups=3,routers=2,nodes=1").topology,
    "hosts in a ring": graph_of(6, 6, [(k, (k + s) % 6) for k in range(6) for s in (1, 5)]),
    "wide": graph_of(
        4,
        8,
        [(k, 4 + k // 2) for k in range(4)]
        + [(4 + k // 2, k) for k in range(4)]
        + [(u, v) for a in (4, 5) for b in (6, 7) for u, v in ((a, b), (b, a))],
        width=[1] * 8 + [2, 2, 1, 1, 3, 3, 2, 2],
    ),
}
"""Networks on which packets may choose among links."""
MODELS = ["flow", "wormhole", "circuit", "packet"]
KNOWN: dict[str, dict[str, Any]] = {
    "packet": {"node_Bps": np.inf, "preempts": False, "startup_s": 0.0}
}
"""What a model asks of a machine."""
PACKED = (0.0, 0.4, 1.0)
"""The share of messages that are put together from several pieces."""


def ends_of(draw: st.DrawFn, rng: np.random.Generator, nodes: int, count: int) -> dict[str, Any]:
    """Ranks on nodes: one each, or a few wherever they fall."""
    if draw(st.booleans()):
        source, target = (rng.integers(0, nodes, count) for _ in range(2))
        return {"source": source, "target": target}
    place = rng.integers(0, nodes, nodes)
    sender, receiver = (rng.integers(0, nodes, count) for _ in range(2))
    return {
        "source": place[sender],
        "target": place[receiver],
        "sender": sender,
        "receiver": receiver,
    }


@st.composite
def schedules(draw: st.DrawFn, machine: Machine) -> Workload:
    """Messages in phases, some of them empty, in any posting order.

    Some follow others that are listed earlier.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 24))
    cuts = np.sort(rng.integers(0, count + 1, draw(st.integers(0, 4))))
    offsets = np.concatenate([[0], cuts, [count]])
    phase = np.repeat(np.arange(cuts.size + 1), np.diff(offsets))
    order = np.lexsort((rng.random(count), phase)) if draw(st.booleans()) else np.zeros(0, np.int32)
    size = rng.choice(SIZES_B, count)
    ends = ends_of(draw, rng, machine.topology.endpoints, count)
    packed = rng.random(count) < rng.choice(PACKED)
    place = np.argsort(order) if order.size else np.arange(count)
    most = 3 if draw(st.booleans()) else 1
    earlier = [np.flatnonzero(place < place[m]) for m in range(count)]
    deps = [
        rng.choice(row, min(row.size, int(rng.integers(0, most))), replace=False) for row in earlier
    ]
    return Workload(
        bytes=size,
        nodes=machine.topology.nodes,
        phase_offsets=offsets,
        order=order,
        packed=packed,
        dep_offsets=np.cumsum([0, *(each.size for each in deps)]),
        deps=np.concatenate([*deps, np.zeros(0, np.int64)]),
        **ends,
    )


@st.composite
def traces(draw: st.DrawFn, machine: Machine) -> Workload:
    """Messages with times, each after up to two earlier ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 24))
    deps = [rng.choice(m, min(m, int(rng.integers(0, 3))), replace=False) for m in range(count)]
    return Workload(
        bytes=rng.choice(SIZES_B, count),
        nodes=machine.topology.nodes,
        time_s=rng.choice([0.0, 3e-6, 40e-6], count, p=[0.6, 0.2, 0.2]),
        dep_offsets=np.cumsum([0, *(each.size for each in deps)]),
        deps=np.concatenate([*deps, np.zeros(0, np.int64)]),
        **ends_of(draw, rng, machine.topology.endpoints, count),
        packed=rng.random(count) < rng.choice(PACKED),
    )


@st.composite
def how(draw: st.DrawFn, policies: list[str]) -> Settings:
    few = st.sampled_from([None, None, 1, 2, 3])
    return Settings(
        draw(st.sampled_from(policies)),
        draw(few),
        draw(few),
        draw(st.sampled_from(["list", "any"])),
    )


def check(model: str, work: Workload, machine: Machine, settings: Settings) -> None:
    simulate, costs = find_model(model).simulate, machine.costs
    eager = np.inf if costs.eager_B is None else costs.eager_B
    found = work.bytes[(work.source != work.target) & (work.bytes <= eager)]
    if settings.sync == "detect" and (found > costs.buffers_B).any():
        with pytest.raises(InputError, match="must fit a system buffer"):
            simulate(work, machine, settings)
        return
    expected = slow(model, work, machine, settings)
    # flow ends many messages of one time together, ranks of a node begin work of one time, in no
    # order
    if model == "flow" or machine.costs.processors == "shared":
        assume(expected == slow(model, work, machine, settings, backwards=True))
    if expected is None:
        with pytest.raises(NoScheduleError, match="deadlock"):
            simulate(work, machine, settings)
        return
    assert simulate(work, machine, settings).end_s == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@examples(max_examples=100)
def test_a_schedule_takes_what_the_slow_one_takes(model: str, data: st.DataObject) -> None:
    machine = data.draw(machines(NETWORKS, outstanding_receives=None, **KNOWN.get(model, {})))
    check(model, data.draw(schedules(machine)), machine, data.draw(how(POLICIES)))


@pytest.mark.parametrize("name", ADAPTIVE)
@given(data=st.data())
@examples(max_examples=25)
def test_packets_choose_what_the_slow_ones_choose(name: str, data: st.DataObject) -> None:
    topology = ADAPTIVE[name]
    drawn = data.draw(machines((topology,), outstanding_receives=None, **KNOWN["packet"]))
    machine = replace(drawn, routing=Routing("adaptive"))
    work, settings = data.draw(traces(machine)), data.draw(how(["none"]))
    check("packet", work, machine, settings)
    timeline = find_model("packet").simulate(work, machine, replace(settings, record=True))
    assert check_timeline(timeline, work, machine, replace(settings, record=True)) == ()


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@examples(max_examples=50)
def test_a_trace_takes_what_the_slow_one_takes(model: str, data: st.DataObject) -> None:
    machine = data.draw(machines(NETWORKS, outstanding_receives=None, **KNOWN.get(model, {})))
    check(model, data.draw(traces(machine)), machine, data.draw(how(["none"])))
