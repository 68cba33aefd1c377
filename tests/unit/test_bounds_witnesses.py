"""Bounds worked out with a pencil, each with its witness.

And the barrier bound against its definition.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.bounds import bound, bound_schedule
from conset.bounds.problem import BoundProblem
from conset.bounds.time import bound_barrier_time
from conset.machine.costs import Costs, Limits, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.policy import parse_sync
from conset.schedule.schedule import Schedule

ANY = Limits(send=1, receive=1, link=1)


def machine_of(topology: Topology, **costs: object) -> Machine:
    return Machine(topology.kind, topology, Routing.default(topology), Costs(**costs))  # type: ignore[arg-type]


def complete_exchange(ranks: int, size: int = 1) -> Pattern:
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    return Pattern.from_messages(
        source, target, np.full(ranks * ranks, size), ranks, name="alltoall"
    )


def named(bounds_of: object, name: str) -> tuple[float, str]:
    return next((c.value, c.witness) for c in bounds_of.candidates if c.name == name)  # type: ignore[attr-defined]


def test_the_middle_links_of_a_mesh_bound_the_complete_exchange() -> None:
    """16×16: 128 nodes left of the middle send to 128 on the right over 16 links.

    128 · 128 / 16 = 1024 a link.
    """
    bounds = bound(complete_exchange(256), machine_of(Topology.mesh(16, 16)), ANY)
    assert bounds.phases == 1024
    assert bounds.phases_witness == "link 7 (0, 7) → 8 (0, 8) carries 1,024 messages at 1 a phase"
    assert named(bounds, "port degree") == (255, "node 0 (0, 0) sends 255 messages, 1 at once")
    assert (
        bounds.phases_class
        == "send 1, receive 1, link 1 in a phase, whole or split messages, the machine's routes"
    )


@pytest.mark.parametrize(
    ("width", "contention", "phases"), [(1, 1, 16), (1, 3, 6), (2, 1, 8), (2, 3, 3), (1, None, 1)]
)
def test_contention_and_width_divide_the_load_of_a_link(
    width: int, contention: int | None, phases: int
) -> None:
    """4×4: 8 · 8 / 4 = 16 messages on a middle link."""
    machine = machine_of(Topology.mesh(4, 4, width=width))
    assert bound(complete_exchange(16), machine, Limits(link=contention)).phases == phases


def test_a_receiver_is_named() -> None:
    pattern = Pattern.from_messages([1, 2, 3, 4, 0], [5, 5, 5, 5, 1], [1] * 5, 6)
    bounds = bound(pattern, machine_of(Topology.crossbar(6)), Limits(send=1, receive=3))
    assert (bounds.phases, bounds.phases_witness) == (2, "node 5 receives 4 messages, 3 at once")


def test_channels_of_the_complete_exchange_on_a_torus() -> None:
    """000: 20,416 channels at least on 8×8 (16,384 hops and 4032 sources), 12 in each of 64 nodes.

    27 phases.
    """
    bounds = bound(
        complete_exchange(64), machine_of(Topology.torus(8, 8)), Limits(channels=12), routes="free"
    )
    assert bounds.phases == 27
    assert (
        bounds.phases_witness
        == "routes take 20,416 channels at least, all 64 nodes have 768 a phase"
    )
    assert named(bounds, "channel ends") == (
        11,
        "node 0 (0, 0) is an end of 126 messages, 12 at once",
    )


def test_channels_on_fixed_routes_count_the_busiest_node() -> None:
    """A line of 3: all 6 routes but 0 ↔ 2's ends.

    Node 1 is visited by all 6, its neighbours by 4.
    """
    bounds = bound(complete_exchange(3), machine_of(Topology.mesh(3)), Limits(channels=2))
    assert (bounds.phases, bounds.phases_witness) == (3, "node 1 is visited by 6 routes, 2 at once")
    crossbar = bound(complete_exchange(3), machine_of(Topology.crossbar(3)), Limits(channels=2))
    assert crossbar.phases == 2, "4 messages have an end in each node"
    free = bound(
        complete_exchange(3), machine_of(Topology.crossbar(3)), Limits(channels=2), routes="free"
    )
    assert free.phases == 2, "6 messages with 2 ends over 3 nodes with 2 channels"


def test_free_routes_share_all_links() -> None:
    """4 messages from node 0 to its neighbour share the machine's one route.

    A ring of 4 has 8 links.
    """
    pattern = Pattern.from_messages([0] * 4, [1] * 4, [1] * 4, 4, before=[[0, 1], [1, 2], [2, 3]])
    machine = machine_of(Topology.ring(4))
    fixed = bound(pattern, machine, Limits(link=1))
    free = bound(pattern, machine, Limits(link=1), routes="free")
    assert (fixed.phases, free.phases) == (4, 1)
    assert named(free, "link supply")[1] == "4 hops at least, all 8 links take 8 a phase"
    assert "any routes" in free.phases_class


def test_a_chain_needs_a_phase_for_each_message() -> None:
    pattern = Pattern.from_messages([0, 1, 2, 0], [1, 2, 0, 2], [1] * 4, 3, before=[[0, 1], [1, 2]])
    bounds = bound(pattern, machine_of(Topology.crossbar(3)), Limits(), order="phases")
    assert bounds.phases == 3
    assert bounds.phases_witness == "messages 0 before 2 before 3: 3 that must follow one another"
    assert bounds.phases_class.endswith("order kept by phases")
    inside = bound(pattern, machine_of(Topology.crossbar(3)), Limits())
    assert inside.phases == 1
    assert inside.phases_class.endswith("order kept inside phases too")
    with pytest.raises(UsageError, match="order"):
        bound(pattern, machine_of(Topology.crossbar(3)), Limits(), order="between")  # type: ignore[arg-type]


def test_exchange_counts_partners() -> None:
    """Node 0 meets 1, 2 and 3: 1 both ways, 2 only out, 3 only in.

    Ports alone would do with two phases.
    """
    pattern = Pattern.from_messages([0, 1, 0, 3], [1, 0, 2, 0], [1] * 4, 4)
    machine = machine_of(Topology.crossbar(4))
    assert bound(pattern, machine, Limits(send=1, receive=1)).phases == 2
    half = bound(pattern, machine, Limits(send=1, receive=1, duplex="exchange"))
    assert (half.phases, half.phases_witness) == (3, "node 0 has 3 partners, 1 a phase")
    loose = bound(pattern, machine, Limits(duplex="exchange"))
    assert (loose.phases, loose.phases_witness) == (
        2,
        "node 0 sends and receives and has 3 partners",
    )
    one_way = Pattern.from_messages([0, 0, 0], [1, 2, 3], [1] * 3, 4)
    assert bound(one_way, machine, Limits(duplex="exchange")).phases == 1


def test_no_messages_and_no_limits() -> None:
    machine = machine_of(Topology.mesh(2, 2), setup_s=1.0)
    empty = bound(Pattern.from_messages([], [], [], 4), machine, ANY)
    assert (empty.phases, empty.phases_witness, empty.time_s, empty.candidates) == (
        0,
        "no messages",
        0.0,
        (),
    )
    naive = bound(complete_exchange(4), machine, Limits())
    assert (naive.phases, naive.phases_witness) == (1, "any exchange needs at least 1 phase")
    assert naive.phases_class.startswith("no limits")


def test_messages_inside_a_node_need_a_phase_and_nothing_else() -> None:
    pattern = Pattern.from_messages([0, 2], [1, 3], [8, 8], 4)
    machine = machine_of(Topology.mesh(2), setup_s=1.0, port_out_Bps=1.0)
    inside = bound(pattern, machine, ANY, placement=np.array([0, 0, 1, 1], np.int32))
    assert (inside.phases, inside.time_s) == (1, pytest.approx(1.0))
    across = bound(pattern, machine, ANY, placement=np.array([0, 1, 1, 1], np.int32))
    assert (across.phases, across.time_s) == (1, pytest.approx(9.0))


def test_time_of_ports_and_links_in_words() -> None:
    """Node 5 takes 3 messages in 3 phases.

    3 · (1 s set-up + 2 s latency) + 60 B / 4 B/s = 24 s, 2 barriers of 5 s.
    """
    machine = machine_of(
        Topology.crossbar(6),
        inject=Steps((2.0,)),
        port_in_Bps=4.0,
        setup_s=1.0,
        synchronization=Synchronization(5.0),
    )
    pattern = Pattern.from_messages([0, 1, 2], [5, 5, 5], [10, 20, 30], 6)
    bounds = bound(pattern, machine, ANY)
    assert bounds.time_s == pytest.approx(24 + 2 * 5)
    assert bounds.time_witness == (
        "node 5 receives 3 messages, 60 B: 24 s, and synchronization of 3 phases 10 s"
    )
    assert (
        bounds.time_class
        == "barrier after every phase, whole messages, the machine's routes, "
        + ("send 1, receive 1, link 1 in a phase")
    )
    entered = replace(machine, costs=replace(machine.costs, first_barrier=True))
    assert bound(pattern, entered, ANY).time_s == pytest.approx(24 + 3 * 5)
    assert bound(pattern, machine, ANY, sync="barrier:2").time_s == pytest.approx(
        15 + 2 * (1 + 2) + 5
    )
    assert bound(pattern, machine, ANY, sync="none").time_s == pytest.approx(15 + 1 + 2)
    line = machine_of(Topology.mesh(4), link_Bps=2.0)
    shared = bound(Pattern.from_messages([0, 1], [3, 2], [6, 10], 4), line, ANY, sync="local")
    assert shared.time_witness == "link 1 → 2 carries 2 messages, 16 B: 8 s"


def test_a_loss_by_blocking_is_an_estimate_and_no_bound() -> None:
    """Two messages of 10 B over a link of 1 B/s that carries one without harm.

    20 s under every policy.
    """
    machine = machine_of(Topology.mesh(4), link_Bps=1.0, blocking=1.0)
    pattern = Pattern.from_messages([0, 1], [2, 3], [10, 10], 4)
    assert bound(pattern, machine, Limits(), sync="none").time_s == pytest.approx(20)
    assert bound(pattern, machine, Limits(), sync="barrier").time_s == pytest.approx(20)


def test_long_messages_of_different_ports_cannot_share_a_barrier() -> None:
    """Node 0 sends 9 and 1, node 1 sends 5 and 5.

    The longest are 9 and 5, together 14 where each port works 10.
    """
    pattern = Pattern.from_messages([0, 0, 1, 1], [2, 3, 2, 3], [9, 1, 5, 5], 4)
    machine = machine_of(Topology.crossbar(4), port_out_Bps=1.0)
    value, witness = named(bound(pattern, machine, Limits(send=1, receive=1)), "barrier time")
    assert value == pytest.approx(14)
    assert witness == (
        "the i-th longest message of any port or link, i = 1 … 2, 9 s down to 5 s, added up: 14 s"
    )
    assert named(bound(pattern, machine, Limits(send=2, receive=1)), "barrier time")[
        0
    ] == pytest.approx(14)
    assert named(bound(pattern, machine, Limits(send=2, receive=2)), "barrier time")[
        0
    ] == pytest.approx(9)
    assert named(bound(pattern, machine, Limits(1, 1), sync="barrier:2"), "barrier time")[
        0
    ] == pytest.approx(9)
    assert all(
        c.name != "barrier time" for c in bound(pattern, machine, ANY, sync="local").candidates
    )
    assert all(
        c.name != "barrier time" for c in bound(pattern, machine, ANY, split=True).candidates
    )


@pytest.mark.parametrize("seed", range(6))
def test_barrier_time_is_its_definition(seed: int) -> None:
    """Sort the messages of every port and link, take every L-th, add up the largest of each
    rank."""
    rng = np.random.default_rng(seed)
    topology = Topology.mesh(3, 3, width=2)
    count = 60
    pattern = Pattern.from_messages(
        rng.integers(9, size=count), rng.integers(9, size=count), rng.integers(1, 50, count), 9
    )
    machine = machine_of(topology, port_out_Bps=2.0, inject=Steps((1.0,)))
    limits = Limits(send=1 + seed % 2, receive=2, link=1)
    problem = BoundProblem(
        pattern, machine, machine.costs, limits, None, parse_sync("barrier"), False, False, False
    )
    offsets, links = route_links(topology, machine.routing, pattern.source, pattern.target)
    lists: dict[tuple[str, int], list[float]] = {}
    for m in range(pattern.messages):
        alone = 1.0 + pattern.size[m] / 2.0
        users = [("out", pattern.source[m]), ("in", pattern.target[m])]
        users += [("link", link) for link in links[offsets[m] : offsets[m + 1]]]
        for user in users:
            lists.setdefault((user[0], int(user[1])), []).append(alone)
    at_once = {"out": 1 + seed % 2, "in": 2, "link": 2}
    ranked = [sorted(works, reverse=True)[:: at_once[kind]] for (kind, _), works in lists.items()]
    expected = sum(
        max(works[i] for works in ranked if len(works) > i) for i in range(max(map(len, ranked)))
    )
    found = bound_barrier_time(problem, 1)
    assert found is not None
    assert found.value == pytest.approx(expected, rel=1e-12)
    equal = replace(problem, pattern=replace(pattern, size=np.full(pattern.messages, 4)))
    rounds = max(len(works) for works in ranked)
    assert bound_barrier_time(equal, 1).value == pytest.approx(3.0 * rounds)  # type: ignore[union-attr]


def test_split_messages_pay_the_least_overhead_of_a_part() -> None:
    """Over 100 B a message costs 5 s, up to 100 B 1 s.

    Whole 5 s, in parts perhaps as little as 1 s.
    """
    machine = machine_of(Topology.crossbar(2), inject=Steps((1.0, 5.0), (100.0, np.inf)))
    pattern = Pattern.from_messages([0], [1], [150], 2)
    assert bound(pattern, machine, ANY, sync="none").time_s == pytest.approx(5)
    assert bound(pattern, machine, ANY, sync="none", split=True).time_s == pytest.approx(1)


def test_the_class_of_a_schedule_is_its_own() -> None:
    pattern = complete_exchange(4)
    machine = machine_of(Topology.ring(4), port_out_Bps=1.0)
    plain = Schedule(pattern, machine, "hand", ANY, np.array([0, 12]), np.arange(12), sync="local")
    assert bound_schedule(plain) == bound(pattern, machine, ANY, sync="local", method="hand")
    nodes = np.stack([plain.source_node, plain.target_node], axis=1).ravel()
    routed = replace(plain, route_offsets=np.arange(0, 26, 2), route_nodes=nodes)
    assert "any routes" in bound_schedule(routed).time_class
    assert "split messages" in bound_schedule(replace(plain, parts=pattern.size)).time_class


def test_costs_are_those_of_the_method() -> None:
    machine = machine_of(Topology.crossbar(2), port_out_Bps=1.0)
    machine = replace(machine, method_costs={"naive": Costs(port_out_Bps=2.0)})
    pattern = Pattern.from_messages([0], [1], [10], 2)
    assert bound(pattern, machine, ANY).time_s == pytest.approx(10)
    assert bound(pattern, machine, ANY, method="naive").time_s == pytest.approx(5)


def test_words_that_are_none() -> None:
    machine = machine_of(Topology.mesh(2, 2))
    with pytest.raises(UsageError, match="unknown routes 'fre': did you mean 'free'"):
        bound(complete_exchange(4), machine, ANY, routes="fre")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown sync"):
        bound(complete_exchange(4), machine, ANY, sync="bariers")
    with pytest.raises(InputError, match="node 8 holds a rank of alltoall: mesh has 4 endpoints"):
        bound(complete_exchange(9), machine, ANY)


def test_slots_and_processors_are_named() -> None:
    """Rank 0 sends three messages of 10 s: one after the other in one slot.

    Two slots halve that.
    """
    costs = {"send_overhead": Steps((2.0,)), "inject": Steps((3.0,)), "port_out_Bps": 2.0}
    machine = machine_of(Topology.crossbar(4), in_flight=1, **costs)
    pattern = Pattern.from_messages([0, 0, 0], [1, 2, 3], [10, 10, 10], 4)
    one = bound(pattern, machine, Limits(), sync="none")
    assert named(one, "slots time") == (
        pytest.approx(3 * 10),
        "rank 0 sends 3 messages, 1 in flight: 30 s",
    )
    assert one.time_class.endswith("at most 1 message of a rank in flight")
    more = bound(pattern, machine, Limits(), sync="none", in_flight=2)
    assert named(more, "slots time")[0] == pytest.approx(15)
    every = bound(pattern, machine, Limits(), sync="none", in_flight="all")
    assert all(c.name != "slots time" for c in every.candidates)
    assert named(every, "processor time") == (
        pytest.approx(3 * 2 + 3 + 5),
        "a processor of rank 0, which sends 3 messages: 14 s",
    )


def test_a_chain_adds_up_its_messages() -> None:
    """a = 1 + 10 / 5 = 3 s.

    With a barrier after every phase, one for each, each has its set-up, too.
    """
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 3], [10] * 3, 4, before=[[0, 1], [1, 2]])
    machine = machine_of(Topology.crossbar(4), inject=Steps((1.0,)), port_out_Bps=5.0, setup_s=0.5)
    alone = bound(pattern, machine, Limits(), sync="local")
    assert named(alone, "chain time")[0] == pytest.approx(3 * 3 + 0.5)
    assert named(bound(pattern, machine, Limits(), sync="barrier"), "chain time")[
        0
    ] == pytest.approx(3 * 3 + 0.5)
    apart = bound(pattern, machine, Limits(), sync="barrier", order="phases")
    assert named(apart, "chain time")[0] == pytest.approx(3 * 3.5)
