"""Closed forms of the cost model.

What a pencil says of small cases holds in every model, and in the slow reference.

With r the least rate on a route of h links, and what a message of b bytes pays alone

    latency = per_transfer + inject + h · hop + eject
    a       = send_overhead + latency + b / r + receive_overhead

as in `docs/cost-model.md`. Each test derives its form where it stands; all agree to a relative
1e-6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

import numpy as np
import pytest

from conset.machine.costs import Costs, Limits, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.models import predict
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from support.hand_made import graph_of
from support.slow_networks import slow

US, MB = 1e-6, 1e6
SLOW = ["slow flow", "slow wormhole", "slow circuit"]
EVENTS = ["flow", "wormhole", "circuit", *SLOW]
EVERY = ["formula", *EVENTS]
SIZES_B = [100, 4000]

COSTS = Costs(
    send_overhead=Steps((3 * US, 5 * US), (1000, inf)),
    receive_overhead=Steps((2 * US, 2.5 * US), (1000, inf)),
    inject=Steps((0.5 * US,)),
    eject=Steps((0.7 * US,)),
    per_transfer_s=0.4 * US,
    hop_s=0.1 * US,
    port_out_Bps=50 * MB,
    port_in_Bps=50 * MB,
    link_Bps=80 * MB,
    signal_s=1.5 * US,
    synchronization=Synchronization(11 * US, US),
    lanes=2,
)

NETWORKS = {
    "mesh": Topology.mesh(4, 4),
    "torus": Topology.torus(4, 4),
    "hypercube": Topology.hypercube(4),
    "crossbar": Topology.crossbar(16),
    "star": graph_of(5, 6, [(a, 5) for a in range(5)] + [(5, a) for a in range(5)]),
}
CENTRE = {
    "mesh": (5, [1, 4, 6, 9]),
    "torus": (5, [1, 4, 6, 9]),
    "hypercube": (5, [4, 7, 1, 13]),
    "crossbar": (5, [0, 1, 2, 3]),
    "star": (0, [1, 2, 3, 4]),
}
"""A node and others at equal hops from it, on links that none of them shares, but for the star's
one to the centre."""

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """A machine, and how it sends: policy and slots."""

    machine: Machine
    sync: str = "none"

    @staticmethod
    def on(topology: Topology, sync: str = "none", **changes: Any) -> Case:
        costs = replace(COSTS, **changes)
        return Case(Machine(topology.kind, topology, Routing.default(topology), costs), sync)

    @property
    def costs(self) -> Costs:
        return self.machine.costs

    def latency(self, hops: int) -> float:
        costs = self.costs
        return costs.per_transfer_s + costs.inject.at(0) + costs.eject.at(0) + hops * costs.hop_s

    def alone(self, size: int, hops: int) -> float:
        """What a message takes alone [s]."""
        overhead = self.costs.send_overhead.at(size) + self.costs.receive_overhead.at(size)
        return overhead + self.latency(hops) + size / self.rate(hops)

    def rate(self, hops: int) -> float:
        ports = min(self.costs.port_out_Bps, self.costs.port_in_Bps, self.costs.node_Bps)
        return min(ports, self.costs.link_Bps) if hops else ports

    def time(self, model: str, phases: list[list[Triple]], *, packed: bool = False) -> float:
        """What a schedule of these phases takes [s].

        `packed`: every message is put together from pieces.
        """
        schedule = schedule_of(self.machine, phases)
        if packed:
            pattern = replace(schedule.pattern, packed=np.ones(schedule.pattern.messages, bool))
            schedule = replace(schedule, pattern=pattern)
        if model == "formula":
            return predict(schedule, sync=self.sync).time_s
        return self.played(model, Workload.of_schedule(schedule))

    def played(self, model: str, work: Workload) -> float:
        settings = Settings.of(self.costs, sync=self.sync)
        if not model.startswith("slow "):
            return find_model(model).simulate(work, self.machine, settings).time_s
        ends = slow(model.removeprefix("slow "), work, self.machine, settings)
        assert ends is not None
        return max(ends)


def schedule_of(machine: Machine, phases: list[list[Triple]]) -> Schedule:
    """Phases of (source, target, bytes); what a pair sends twice are parts of one message."""
    rows = np.array([row for phase in phases for row in phase], np.int64).reshape(-1, 3)
    pattern = Pattern.from_messages(*rows.T, machine.topology.endpoints)
    at = {
        pair: k
        for k, pair in enumerate(zip(pattern.source.tolist(), pattern.target.tolist(), strict=True))
    }
    message = np.array([at[s, t] for s, t, _ in rows.tolist()], np.int32)
    offsets = np.cumsum([0, *(len(phase) for phase in phases)])
    return Schedule(pattern, machine, "by hand", Limits(), offsets, message, parts=rows[:, 2])


def hops_of(machine: Machine, pairs: Iterable[tuple[int, int]]) -> int:
    """Links of a route, the same for all pairs: distances told apart from the core's routes."""
    topology = machine.topology
    far = set()
    for s, t in pairs:
        if topology.kind == "hypercube":
            far.add((s ^ t).bit_count())
        elif topology.is_box:
            apart = np.abs(topology.coordinates[s].astype(int) - topology.coordinates[t])
            far.add(
                int(
                    np.minimum(
                        apart, np.array(topology.sides) - apart if topology.wraps else apart
                    ).sum()
                )
            )
        else:
            far.add(2 if topology.kind == "graph" else 0)
    assert len(far) == 1
    return far.pop()


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("receive", ["before", "after"])
def test_1_a_message_alone(model: str, network: str, size: int, receive: str) -> None:
    """Nothing waits: the steps add up, whether the receiver works before or after the bytes.

    Slots change nothing.
    """
    for target in (1, 3):
        for slots in (None, 1):
            case = Case.on(NETWORKS[network], receive=receive, in_flight=slots)
            hops = hops_of(case.machine, [(0, target)])
            assert case.time(model, [[(0, target, size)]]) == pytest.approx(
                case.alone(size, hops), rel=1e-6
            )


@pytest.mark.parametrize("model", EVERY)
def test_1_hop_by_size_takes_the_place_of_hop(model: str) -> None:
    """As above; each of the three links costs what a message of this size pays."""
    case = Case.on(NETWORKS["mesh"], hop_by_size=Steps((1 * US, 2 * US), (1000, inf)))
    for size, each in ((100, 1 * US), (4000, 2 * US)):
        expected = case.alone(size, 3) + 3 * (each - 0.1 * US)
        assert case.time(model, [[(0, 3, size)]]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
def test_ranks_of_a_node_start_up_one_after_the_other(model: str) -> None:
    """Of n ranks of a node each sends to another node.

    The port is busy without a gap where there is no latency; a message alone takes a + `startup`.
    """
    light = dict.fromkeys(("inject", "eject"), Steps())
    case = Case.on(NETWORKS["crossbar"], startup_s=40 * US, per_transfer_s=0.0, **light)
    assert case.time(model, [[(0, 1, 100)]]) == pytest.approx(case.alone(100, 0) + 40 * US)
    ranks, busy = np.arange(4), 4 * (40 * US + 100 / case.rate(0))
    pattern = Pattern.from_messages(ranks, ranks + 4, [100] * 4, 8)
    schedule = Schedule(
        pattern,
        case.machine,
        "by hand",
        Limits(),
        np.array([0, 4]),
        ranks.astype(np.int32),
        placement=np.array([0, 0, 0, 0, 1, 2, 3, 4], np.int32),
    )
    found = (
        predict(schedule, sync="none").time_s
        if model == "formula"
        else case.played(model, Workload.of_schedule(schedule))
    )
    assert found == pytest.approx(3 * US + busy + 2 * US)


@pytest.mark.parametrize("size", [16, 1600])
@pytest.mark.parametrize(("target", "hops"), [(1, 1), (3, 3), (15, 6)])
def test_1_flit(size: int, target: int, hops: int) -> None:
    """Routers take 5 + 4h + flits cycles, which contain all latency.

    The processors work as everywhere.

    A link carries a flit of 16 B in 0.2 us, one cycle, and overheads are whole cycles.
    """
    case = Case.on(NETWORKS["mesh"], receive_overhead=Steps((2 * US, 2.4 * US), (1000, inf)))
    overhead = case.costs.send_overhead.at(size) + case.costs.receive_overhead.at(size)
    expected = overhead + (5 + 4 * hops + size // 16) * 0.2 * US
    assert case.time("flit", [[(0, target, size)]]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_2_one_sends_to_many(model: str, network: str, size: int, count: int) -> None:
    """Of small messages the processor is busy all the time, and what follows the last piece of
    its work takes a - send_overhead; of long ones the port out, from send_overhead + latency on,
    and one receive overhead follows.

    On the star all leave by one link, which a message of a circuit has for itself, and two of
    `wormhole`.
    """
    if network == "star" and model != "formula" and "flow" not in model:
        pytest.skip("messages meet on a link")
    case = Case.on(NETWORKS[network])
    source, targets = CENTRE[network]
    hops = hops_of(case.machine, [(source, t) for t in targets])
    send, alone = case.costs.send_overhead.at(size), case.alone(size, hops)
    expected = alone + (count - 1) * max(send, size / case.rate(hops))
    assert (send >= size / case.rate(hops)) == (size == 100)
    assert case.time(model, [[(source, t, size) for t in targets[:count]]]) == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", ["mesh", "hypercube", "crossbar"])
@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("send_overhead", [3 * US, 9 * US])
def test_3_one_sends_to_many_a_few_at_a_time(
    model: str, network: str, slots: int, send_overhead: float
) -> None:
    """Messages k, k + f, k + 2f … take one slot in turn.

    The first f are sent one after the other; the next of a slot begins when its bytes have left,
    a - receive_overhead after the one before, or, where f overheads take longer than that, when the
    processor is free. Bytes never meet in the port, as send_overhead ≥ b / r. So message n begins
    ⌊(n - 1)/f⌋ such turns and (n - 1) mod f overheads after the first one, and takes a.

    By the formula slots are a sum of work over f, which is this form for one slot.
    """
    if model == "formula" and slots > 1:
        pytest.skip("a formula knows no turns")
    case = Case.on(NETWORKS[network], in_flight=slots, send_overhead=Steps((send_overhead,)))
    source, targets = CENTRE[network]
    hops = hops_of(case.machine, [(source, t) for t in targets])
    for count in (1, 2, 3, 4):
        alone = case.alone(100, hops)
        turn = max(slots * send_overhead, alone - 2 * US)
        expected = (count - 1) // slots * turn + (count - 1) % slots * send_overhead + alone
        if slots == 1:
            assert expected == pytest.approx(count * (alone - 2 * US) + 2 * US)
        assert case.time(model, [[(source, t, 100) for t in targets[:count]]]) == pytest.approx(
            expected, rel=1e-6
        )


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", ["mesh", "torus", "hypercube", "crossbar"])
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_4_many_send_to_one(model: str, network: str, size: int, count: int) -> None:
    """All bytes flow at r / n from send_overhead + latency on, so all end n · b / r later.

    Only then the receiver works, n times. In a formula it works while bytes flow: the port or the
    processor is what takes longest.
    """
    case = Case.on(NETWORKS[network])
    target, sources = CENTRE[network]
    hops = hops_of(case.machine, [(s, target) for s in sources])
    bytes_s, receive = size / case.rate(hops), case.costs.receive_overhead.at(size)
    more = max(bytes_s, receive) if model == "formula" else bytes_s + receive
    expected = case.alone(size, hops) + (count - 1) * more
    assert case.time(model, [[(s, target, size) for s in sources[:count]]]) == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.parametrize("model", EVENTS)
@pytest.mark.parametrize("receive", ["before", "after"])
@pytest.mark.parametrize("processors", ["one", "two"])
def test_5_a_chain_of_dependences(model: str, receive: str, processors: str) -> None:
    """The next message is released with the delivery of the one before, when both its processors
    are free: n · a."""
    case = Case.on(Topology.ring(8), receive=receive, processors=processors)
    count = 6
    work = Workload(
        np.arange(count),
        np.arange(count) + 1,
        np.full(count, 100),
        8,
        dep_offsets=np.maximum(0, np.arange(count + 1) - 1),
        deps=np.arange(count - 1),
    )
    assert case.played(model, work) == pytest.approx(count * case.alone(100, 1), rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("size", SIZES_B)
def test_5_a_chain_of_phases(model: str, size: int) -> None:
    """The same as n phases under `local`.

    A rank sends in phase p + 1 when what it receives in p is delivered.
    """
    case = Case.on(NETWORKS["torus"], "local")
    phases = [[(p, p + 1, size)] for p in range(3)]
    assert case.time(model, phases) == pytest.approx(3 * case.alone(size, 1), rel=1e-6)


def test_5_flit() -> None:
    """As above with 5 + 4 + 10 cycles of 0.2 us in routers, and overheads of whole cycles."""
    case = Case.on(NETWORKS["mesh"], "local")
    phases = [[(p, p + 1, 160)] for p in range(3)]
    assert case.time("flit", phases) == pytest.approx(3 * (5 * US + 19 * 0.2 * US), rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("processors", ["one", "two"])
@pytest.mark.parametrize("receive", ["before", "after"])
@pytest.mark.parametrize("sync", ["none", "local", "barrier"])
def test_6_an_exchange(
    model: str, network: str, size: int, processors: str, receive: str, sync: str
) -> None:
    """Both send at once and receive send_overhead + latency later at the earliest.

    One processor is free again then.
    """
    case = Case.on(NETWORKS[network], sync, processors=processors, receive=receive)
    hops = hops_of(case.machine, [(0, 1)])
    assert case.time(model, [[(0, 1, size), (1, 0, size)]]) == pytest.approx(
        case.alone(size, hops), rel=1e-6
    )


@pytest.mark.parametrize("processors", ["one", "two"])
def test_6_flit(processors: str) -> None:
    """As above with the time of routers."""
    case = Case.on(NETWORKS["mesh"], processors=processors)
    expected = 5 * US + 19 * 0.2 * US
    assert case.time("flit", [[(0, 1, 160), (1, 0, 160)]]) == pytest.approx(expected, rel=1e-6)


ONE_LINK = {
    "row": (Topology.mesh(4), [(0, 2), (1, 3)], 2, 1),
    "line": (Topology.mesh(6), [(0, 4), (1, 5)], 4, 3),
    "two stars": (
        graph_of(
            4, 6, [(0, 4), (1, 4), (4, 0), (4, 1), (2, 5), (3, 5), (5, 2), (5, 3), (4, 5), (5, 4)]
        ),
        [(0, 2), (1, 3)],
        3,
        2,
    ),
}
"""Network, two messages that meet on links, their hops, and the hops of the second from the
first such link on."""


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", ONE_LINK)
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("receive", ["before", "after"])
def test_7_two_messages_over_one_link(
    model: str, network: str, size: int, lanes: int, receive: str
) -> None:
    """The link is the least rate and has 2b to carry.

    Where both may share it, they end together, a + b / r after the start. Where it has one lane,
    the first message keeps it until its last byte has left, which is a without what comes after the
    bytes; then the header of the second takes it, and its h' remaining hops, b / r and (for
    `before`, while the path is held) the receive overhead follow.

    On a row the message that starts at the link has it first; both headers come at once to the link
    of two stars.
    """
    topology, pairs, hops, rest = ONE_LINK[network]
    case = Case.on(topology, link_Bps=20 * MB, lanes=lanes, receive=receive)
    expected = case.alone(size, hops) + size / (20 * MB)
    if "circuit" in model or ("wormhole" in model and lanes == 1):
        late = case.costs.receive_overhead.at(size) if receive == "before" else 0.0
        expected += rest * case.costs.hop_s + late
    assert case.time(model, [[(s, t, size) for s, t in pairs]]) == pytest.approx(expected, rel=1e-6)


PERMUTATIONS = {
    "ring": (Topology.ring(8), [[(i, (i + 1) % 8) for i in range(8)]] * 5, 1),
    "hypercube": (
        Topology.hypercube(3),
        [[(i, i ^ bit) for i in range(8)] for bit in (1, 2, 4, 1)],
        1,
    ),
    "crossbar": (
        Topology.crossbar(6),
        [[(i, (i + p) % 6) for i in range(6)] for p in range(1, 6)],
        0,
    ),
}


def phases_of(permutations: list[list[tuple[int, int]]], size: int) -> list[list[Triple]]:
    return [[(s, t, size) for s, t in phase] for phase in permutations]


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", PERMUTATIONS)
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("first_barrier", [False, True])
@pytest.mark.parametrize("receive", ["before", "after"])
def test_8_permutations_with_barriers(
    model: str, network: str, size: int, first_barrier: bool, receive: str
) -> None:
    """Every rank sets up a phase when its barrier has ended, then every message takes a.

    All ranks end together.
    """
    topology, permutations, hops = PERMUTATIONS[network]
    case = Case.on(
        topology, "barrier", setup_s=6 * US, first_barrier=first_barrier, receive=receive
    )
    phases, barrier = len(permutations), case.costs.synchronization.at(topology.nodes)
    expected = phases * (6 * US + case.alone(size, hops)) + (phases - 1 + first_barrier) * barrier
    assert case.time(model, phases_of(permutations, size)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", PERMUTATIONS)
@pytest.mark.parametrize("every", [1, 2, 3, 9])
@pytest.mark.parametrize("size", SIZES_B)
def test_8_permutations_with_a_barrier_now_and_then(
    model: str, network: str, every: int, size: int
) -> None:
    """One slot: inside a group a message begins when the bytes of the one before have left, a -
    receive_overhead after it, while its receiver still works; that ends in time, as
    receive_overhead ≤ a - receive_overhead. The last of each group is waited for.
    """
    topology, permutations, hops = PERMUTATIONS[network]
    case = Case.on(topology, f"barrier:{every}", in_flight=1)
    phases, barrier = len(permutations), case.costs.synchronization.at(topology.nodes)
    groups, receive = ceil(phases / every), case.costs.receive_overhead.at(size)
    expected = (
        phases * (case.alone(size, hops) - receive) + groups * receive + (groups - 1) * barrier
    )
    assert case.time(model, phases_of(permutations, size)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("first_barrier", [False, True])
def test_8_flit(first_barrier: bool) -> None:
    """As above: set-ups of 30 cycles, barriers of 70, overheads of 25, routers 19."""
    topology, permutations, _ = PERMUTATIONS["hypercube"]
    case = Case.on(topology, "barrier", setup_s=6 * US, first_barrier=first_barrier)
    expected = (4 * (30 + 25 + 19) + (3 + first_barrier) * 70) * 0.2 * US
    assert case.time("flit", phases_of(permutations, 160)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("sync", ["none", "local", "barrier"])
@pytest.mark.parametrize("weight", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("synchronized", [True, False])
def test_9_an_exchange_of_half_duplex_nodes(
    model: str, sync: str, weight: float, synchronized: bool
) -> None:
    """2b bytes go through `node`, each counting w where the exchange is synchronized and 1
    elsewhere: both flow at r / 2w, which the ports allow.
    """
    syncs = (sync,) if synchronized else ("ready",)
    case = Case.on(
        NETWORKS["mesh"],
        sync,
        node_Bps=30 * MB,
        exchange_weight=weight,
        exchange_syncs=syncs,
        port_out_Bps=inf,
        port_in_Bps=inf,
        link_Bps=1000 * MB,
    )
    counts = weight if synchronized else 1.0
    expected = 7.5 * US + case.latency(1) + 2 * counts * 4000 / (30 * MB)
    assert case.time(model, [[(0, 1, 4000), (1, 0, 4000)]]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", [*EVERY, "flit"])
@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "barrier:2"])
@pytest.mark.parametrize("gap", [0, 1, 3])
def test_an_empty_phase_costs_nothing(model: str, sync: str, gap: int) -> None:
    """Nobody has a transfer of it: no set-up, nothing to wait for, no barrier of its own."""
    if sync == "barrier:2" and gap:
        pytest.skip("an empty phase moves the borders of groups")
    topology, permutations, _ = PERMUTATIONS["hypercube"]
    case = Case.on(topology, sync, setup_s=6 * US)
    phases = phases_of(permutations[:3], 160)
    with_empty = [*phases[:gap], [], *phases[gap:]] if gap else [*phases, []]
    assert case.time(model, with_empty) == pytest.approx(case.time(model, phases), rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("sync", ["none", "local"])
def test_set_up_is_paid_by_the_ranks_of_a_phase(model: str, sync: str) -> None:
    """Ranks 0 and 1 set up the first phase, 2 and 3 the second, both at once.

    With a third phase between 0 and 1 these two pay again: under `local` after the first message;
    under `none` as soon as its send has a slot, so the second message follows two set-ups, and the
    first one's overhead, which its send processor took up before.
    """
    case = Case.on(NETWORKS["mesh"], sync, setup_s=6 * US)
    alone = case.alone(100, 1)
    two = [[(0, 1, 100)], [(2, 3, 100)]]
    assert case.time(model, two) == pytest.approx(6 * US + alone, rel=1e-6)
    again = 2 * (6 * US + alone) if sync == "local" else 2 * 6 * US + 3 * US + alone
    assert case.time(model, [*two, [(0, 1, 100)]]) == pytest.approx(again, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("size", SIZES_B)
@pytest.mark.parametrize("receive", ["before", "after"])
def test_10_a_packed_message_alone(model: str, network: str, size: int, receive: str) -> None:
    """Both processors copy it beside their overheads: a + 2b / copy.

    Without `copy` and of other messages nothing.
    """
    case = Case.on(NETWORKS[network], receive=receive, copy_Bps=20 * MB)
    alone = case.alone(size, hops_of(case.machine, [(0, 1)]))
    message = [[(0, 1, size)]]
    assert case.time(model, message, packed=True) == pytest.approx(
        alone + 2 * size / (20 * MB), rel=1e-6
    )
    assert case.time(model, message) == pytest.approx(alone, rel=1e-6)
    at_once = Case.on(NETWORKS[network], receive=receive)
    assert at_once.time(model, message, packed=True) == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
def test_10_a_packed_message_inside_a_node(model: str) -> None:
    """It is put together, copied as every message inside a node, and taken apart.

    Three copies, one after another.
    """
    machine = Case.on(NETWORKS["mesh"], copy_Bps=20 * MB).machine
    pattern = Pattern.from_messages([0], [1], [4000], 2, packed=[True])
    schedule = Schedule(
        pattern, machine, "by hand", Limits(), [0, 1], [0], placement=[3, 3], sync="none"
    )
    expected = 5 * US + 2.5 * US + 3 * 4000 / (20 * MB)
    case = Case(machine)
    time = (
        predict(schedule).time_s
        if model == "formula"
        else case.played(model, Workload.of_schedule(schedule))
    )
    assert time == pytest.approx(expected, rel=1e-6)


def test_10_flit() -> None:
    """Overhead and copy together are whole cycles.

    3 us and 160 B at 20 MB/s are 55 cycles of 0.2 us, 2 us are 50.
    """
    case = Case.on(NETWORKS["mesh"], copy_Bps=20 * MB)
    expected = (55 + 5 + 4 + 10 + 50) * 0.2 * US
    assert case.time("flit", [[(0, 1, 160)]], packed=True) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_10_one_sends_packed_messages_to_many(model: str, count: int) -> None:
    """The sender works for send_overhead + b / copy on each, longer than the port on its bytes."""
    case = Case.on(NETWORKS["mesh"], copy_Bps=20 * MB)
    source, targets = CENTRE["mesh"]
    send = 5 * US + 4000 / (20 * MB)
    assert send > 4000 / case.rate(1)
    expected = case.alone(4000, 1) + 2 * 4000 / (20 * MB) + (count - 1) * send
    phase = [(source, t, 4000) for t in targets[:count]]
    assert case.time(model, [phase], packed=True) == pytest.approx(expected, rel=1e-6)
