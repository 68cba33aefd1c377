"""Linear programs as bounds.

Proofs against paths listed one by one, golden values, sums of loads.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError, UsageError
from conset.bounds import bound
from conset.bounds.lp import MAX_VARIABLES, Flow, demands, evaluate, prove
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern

TOPOLOGIES = (
    Topology.mesh(2, 3),
    Topology.ring(4),
    Topology.hypercube(2),
    Topology(
        "graph",
        (),
        3,
        4,
        np.array([0, 0, 1, 2, 3, 3, 3]),
        np.array([1, 3, 3, 3, 0, 1, 2]),
        link_width=np.array([1, 2, 1, 1, 1, 3, 1]),
    ),
)


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    topology = draw(st.sampled_from(TOPOLOGIES))
    end = st.integers(0, topology.endpoints - 1)
    rows = draw(
        st.lists(
            st.tuples(end, end, st.integers(1, 9)).filter(lambda r: r[0] != r[1]),
            min_size=1,
            max_size=8,
        )
    )
    source, target, amount = np.array(rows, np.int64).T
    capacity = draw(st.sampled_from([1.0, 2.0, 0.3]))
    node = draw(st.sampled_from([None, 2.0, 5.0]))
    link = topology.widths() * capacity
    if node is not None and draw(st.booleans()):
        link = np.full(link.size, np.inf)
    return Flow(
        topology,
        *demands(topology, source.astype(np.int32), target.astype(np.int32), amount),
        link,
        node,
    )


def simple_paths(topology: Topology, source: int, target: int) -> list[tuple[list[int], list[int]]]:
    """(links, nodes) of every simple path."""
    tail, head = topology.ends
    found = []

    def walk(node: int, links: list[int], nodes: list[int]) -> None:
        if node == target:
            found.append((links, nodes))
            return
        for k in np.flatnonzero(topology.link_exists & (tail == node)).tolist():
            if int(head[k]) not in nodes:
                walk(int(head[k]), [*links, k], [*nodes, int(head[k])])

    walk(source, [], [source])
    return found


def value_over_paths(flow: Flow) -> float:
    """λ by another program: a variable for every simple path, solved by another algorithm."""
    from scipy.optimize import linprog

    links, nodes = flow.topology.link_slots, flow.topology.nodes
    columns, owner = [], []
    for k, (s, t) in enumerate(zip(flow.source.tolist(), flow.target.tolist(), strict=True)):
        for path_links, path_nodes in simple_paths(flow.topology, s, t):
            column = np.zeros(links + nodes)
            column[path_links] = 1
            column[[links + v for v in path_nodes]] = 1
            columns.append(column)
            owner.append(k)
    capacity = np.concatenate(
        [flow.link, np.full(nodes, np.inf if flow.node is None else flow.node)]
    )
    capacity[:links][~flow.topology.link_exists] = np.inf
    scarce = np.isfinite(capacity)
    uses = np.array(columns).T[scarce]
    whole = np.array([[float(o == k) for o in owner] for k in range(flow.source.size)])
    result = linprog(
        np.append(np.zeros(len(columns)), 1.0),
        A_ub=np.hstack([uses, -capacity[scarce, None]]),
        b_ub=np.zeros(scarce.sum()),
        A_eq=np.hstack([whole, np.zeros((flow.source.size, 1))]),
        b_eq=flow.demand,
        method="highs-ds",
    )
    assert result.status == 0
    return float(result.fun)


@settings(max_examples=40, deadline=None)
@given(flows())
def test_the_proof_reaches_the_program_over_all_paths(flow: Flow) -> None:
    proof = prove(flow)
    assert proof is not None
    assert float(proof.value) == pytest.approx(value_over_paths(flow), rel=1e-4)
    assert proof.value <= Fraction(value_over_paths(flow)) * (1 + Fraction(1, 10**9))


@settings(max_examples=40, deadline=None)
@given(flows(), st.integers(0, 9))
def test_whatever_the_prices_they_prove_no_more_than_is_true(flow: Flow, seed: int) -> None:
    rng = np.random.default_rng(seed)
    link, node = rng.random(flow.topology.link_slots), rng.random(flow.topology.nodes)
    link[rng.random(link.size) < 0.5] = 0
    proof = evaluate(flow, link - 0.1, node)  # negative prices are none
    if proof is not None:
        assert float(proof.value) <= value_over_paths(flow) * (1 + 1e-9)


def complete_exchange(spec: str) -> tuple[Pattern, Machine]:
    machine = parse_machine(spec)
    return parse_pattern(
        "alltoall", topology=machine.topology, ranks=machine.topology.endpoints
    ), machine


def test_an_8x8_mesh_with_12_channels_needs_35_phases_where_counting_says_34() -> None:
    """Notes on connection sets, 1.2.

    The program says 34.47, counting channels 25536 / 768 = 33.25.
    """
    pattern, machine = complete_exchange("mesh:8x8")
    found = bound(pattern, machine, Limits(channels=12), routes="free", lp=True)
    assert found.phases == 35
    assert "34.47" in found.phases_witness
    assert bound(pattern, machine, Limits(channels=12), routes="free").phases == 34
    assert found.load_sum == 128
    assert "any routes" in found.phases_class


def test_the_middle_of_a_mesh_is_found_to_be_scarce() -> None:
    """Half of 4 × 4 nodes send to the other half over 4 links.

    8 · 8 / 4 = 16 phases, n³/4, whatever the routes.
    """
    pattern, machine = complete_exchange("mesh:4x4")
    found = bound(pattern, machine, Limits(1, 1, 1), routes="free", lp=True)
    assert found.phases == 16
    assert bound(pattern, machine, Limits(1, 1, 1), routes="free").phases == 15
    cut = next(c for c in found.candidates if c.name == "linear program")
    # the links across the middle of one side, both directions, are the only ones with a price
    assert cut.witness.startswith("with prices on link ")
    assert "and 5 more" in cut.witness
    timed = next(c for c in found.candidates if c.name == "linear program time")
    supply = next(c for c in found.candidates if c.name == "link supply time")
    assert timed.value > supply.value


@pytest.mark.parametrize(("phases", "total"), [(27, 79), (28, 76), (30, 70), (32, 64), (40, 64)])
def test_few_phases_of_12_channels_have_high_loads(phases: int, total: int) -> None:
    """Notes, 1.2: ΣL ≥ 64 + 3 · (32 − P) for the complete exchange on the 8 × 8 torus, 27 ≤ P
    ≤ 32."""
    pattern, machine = complete_exchange("iwarp:8x8")
    for routes in ("free", "fixed"):
        found = bound(pattern, machine, Limits(channels=12), routes=routes, phases=phases)  # type: ignore[arg-type]
        assert found.load_sum == total
        assert f"{phases} phases" in found.load_sum_class


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(2, 9), st.integers(1, 30), st.integers(1, 4))
def test_filling_phases_evenly_is_best(
    messages: int, channels: int, phases: int, sides: int
) -> None:
    """The channel sum against all ways to give phases loads, by dynamic programming."""
    topology = Topology.mesh(2, sides + 1)
    machine = Machine("mesh", topology, Routing.default(topology))
    rng = np.random.default_rng(messages)
    ends = rng.integers(0, topology.nodes, (messages, 2))
    pattern = Pattern.from_messages(*ends.T, np.ones(messages, int), topology.nodes)
    if pattern.messages == 0:
        return
    found = bound(pattern, machine, Limits(channels=channels), phases=phases)
    value = next(c.value for c in found.candidates if c.name == "channel sum")
    hops = np.abs(topology.coordinates[pattern.source] - topology.coordinates[pattern.target]).sum()
    needed, each = int(hops) + pattern.messages, topology.links + topology.nodes
    most = channels * topology.nodes
    if needed > phases * most:
        return  # so few phases are impossible anyway
    carried = {0: 0}  # sum of loads: most channels
    for _ in range(phases):
        step: dict[int, int] = {}
        for total, used in carried.items():
            for load in range(ceil(most / each) + 1):
                step[total + load] = max(step.get(total + load, 0), used + min(most, load * each))
        carried = step
    assert value == min(total for total, used in carried.items() if used >= needed)


def test_what_is_refused() -> None:
    pattern, machine = complete_exchange("mesh:4x4")
    with pytest.raises(
        UsageError, match=r"^lp: the linear program is about free routes; add routes free$"
    ):
        bound(pattern, machine, Limits(1, 1, 1), lp=True)
    pattern, machine = complete_exchange("torus:24x24")
    size = 576 * 4 * 576
    with pytest.raises(InputError) as caught:
        bound(pattern, machine, Limits(1, 1, 1), routes="free", lp=True)
    line = (
        f"linear program of 576 sources × 2304 links: at most {MAX_VARIABLES} "
        f"variables, given {size}"
    )
    assert str(caught.value).startswith(line)


def test_nothing_to_send_and_nothing_scarce() -> None:
    machine = parse_machine("mesh:2x2")
    empty = Pattern.from_messages([], [], [], 4)
    found = bound(empty, machine, Limits(1, 1, 1), routes="free", lp=True)
    assert (found.phases, found.load_sum, found.load_sum_witness) == (0, 0, "no messages")
    crossbar = parse_machine("crossbar:4")
    pair = Pattern.from_messages([0], [1], [8], 4)
    names = [
        c.name for c in bound(pair, crossbar, Limits(1, 1, 1), routes="free", lp=True).candidates
    ]
    assert not any("linear" in name for name in names)
    inside = bound(
        pair, crossbar, Limits(1, 1), placement=np.zeros(4, np.int32), routes="free", lp=True
    )
    assert inside.load_sum == 0
