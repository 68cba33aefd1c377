"""Closed forms of times by formula.

What can be worked out with a pencil from one life of a message.
"""

from __future__ import annotations

import numpy as np
import pytest

from conset.bounds import bound_schedule
from conset.machine.costs import Costs, Limits, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule

US, MB, B = 1e-6, 1e6, 1000
LATENCY = 0.5 + 0.3 + 0.2
"""us: per_transfer + inject + eject of `machine_of`."""


def machine_of(topology: Topology, send: float, receive: float, /, **costs: object) -> Machine:
    """Overheads in us; the port is the least rate: 1000 B take 10 us."""
    given = {
        "per_transfer_s": 0.5 * US,
        "inject": Steps((0.3 * US,)),
        "eject": Steps((0.2 * US,)),
        "hop_s": 0.1 * US,
        "port_out_Bps": 100 * MB,
        "port_in_Bps": 100 * MB,
        "link_Bps": 1000 * MB,
    }
    whole = Costs(
        send_overhead=Steps((send * US,)),
        receive_overhead=Steps((receive * US,)),
        **{**given, **costs},
    )  # type: ignore[arg-type]
    return Machine(topology.kind, topology, Routing.default(topology), whole)


def us(machine: Machine, phases: list[list[tuple[int, int]]], sync: str = "none") -> float:
    """The predicted time [us] of messages of 1000 B; no bound is above it."""
    rows = [row for phase in phases for row in phase]
    source, target = np.array(rows).T
    pattern = Pattern.from_messages(
        source, target, np.full(source.size, B), machine.topology.endpoints
    )
    index = {
        (int(s), int(t)): m
        for m, (s, t) in enumerate(zip(pattern.source, pattern.target, strict=True))
    }
    message = np.array([index[row] for row in rows], np.int32)
    offsets = np.cumsum([0, *map(len, phases)])
    schedule = Schedule(pattern, machine, "hand", Limits(), offsets, message, sync=sync)
    time_s = predict(schedule).time_s
    assert bound_schedule(schedule).time_s <= time_s
    return time_s / US


def alone(send: float, receive: float, hops: int = 0) -> float:
    return send + LATENCY + 0.1 * hops + 10 + receive


@pytest.mark.parametrize("sync", ["none", "local", "barrier"])
@pytest.mark.parametrize("receive", ["before", "after"])
def test_a_message_alone(sync: str, receive: str) -> None:
    machine = machine_of(Topology.mesh(4), 2, 3, receive=receive)
    assert us(machine, [[(0, 3)]], sync) == pytest.approx(alone(2, 3, 3))


@pytest.mark.parametrize(
    ("send", "expected"), [(12, 4 * 12 + alone(12, 3)), (2, alone(2, 3) + 4 * 10)]
)
def test_messages_from_one_rank(send: float, expected: float) -> None:
    machine = machine_of(Topology.crossbar(6), send, 3)
    assert us(machine, [[(0, t) for t in range(1, 6)]]) == pytest.approx(expected)


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("send", "receive"), [(12, 3), (10, 25), (40, 1)])
def test_messages_from_one_rank_with_limited_slots(slots: int, send: float, receive: float) -> None:
    """A slot is held until the last byte has left: a - receive overhead."""
    machine = machine_of(Topology.crossbar(8), send, receive, in_flight=slots)
    a, rounds, rest = alone(send, receive), 6 // slots, 6 % slots
    expected = rounds * max(slots * send, a - receive) + rest * send + a
    assert us(machine, [[(0, t) for t in range(1, 8)]]) == pytest.approx(expected)


@pytest.mark.parametrize("receive", [3, 30])
def test_messages_to_one_rank(receive: float) -> None:
    machine = machine_of(Topology.crossbar(6), 2, receive)
    expected = alone(2, receive) + 4 * max(10, receive)
    assert us(machine, [[(s, 5) for s in range(5)]]) == pytest.approx(expected)


@pytest.mark.parametrize("sync", ["local", "barrier"])
def test_a_chain_is_as_long_as_its_messages(sync: str) -> None:
    machine = machine_of(Topology.mesh(5), 2, 3)
    assert us(machine, [[(k, k + 1)] for k in range(4)], sync) == pytest.approx(4 * alone(2, 3, 1))
    assert us(machine, [[(k, k + 1)] for k in range(4)], "none") < 4 * alone(2, 3, 1), (
        "nothing waits"
    )


def test_ranks_wait_for_their_partners_partners() -> None:
    """Phase 0 keeps only 0 and 1 busy, phase 1 only 1 and 2, phase 2 only 2 and 3, phase 3 only
    4 and 5."""
    machine = machine_of(Topology.crossbar(6), 2, 3, setup_s=1 * US)
    phases = [[(0, 1)], [(1, 2)], [(2, 3)], [(4, 5)]]
    assert us(machine, phases, "local") == pytest.approx(3 * (1 + alone(2, 3)))
    assert us(machine, phases, "barrier") == pytest.approx(4 * (1 + alone(2, 3)))


@pytest.mark.parametrize("processors", ["one", "two"])
@pytest.mark.parametrize("sync", ["none", "local", "barrier"])
def test_an_exchange(processors: str, sync: str) -> None:
    machine = machine_of(Topology.mesh(2), 2, 3, processors=processors)
    assert us(machine, [[(0, 1), (1, 0)]], sync) == pytest.approx(alone(2, 3, 1))


@pytest.mark.parametrize("first", [False, True])
def test_permutations_between_barriers(first: bool) -> None:
    machine = machine_of(
        Topology.crossbar(5),
        2,
        3,
        setup_s=4 * US,
        synchronization=Synchronization(7 * US),
        first_barrier=first,
    )
    phases = [[(s, (s + step) % 5) for s in range(5)] for step in range(1, 5)]
    assert us(machine, phases, "barrier") == pytest.approx(4 * (4 + alone(2, 3)) + (3 + first) * 7)


@pytest.mark.parametrize("every", [1, 2, 3, 4, 9])
def test_permutations_between_barriers_with_one_slot(every: int) -> None:
    machine = machine_of(
        Topology.crossbar(5), 2, 3, synchronization=Synchronization(7 * US), in_flight=1
    )
    phases = [[(s, (s + step) % 5) for s in range(5)] for step in range(1, 5)]
    groups = -(-4 // every)
    expected = 4 * (alone(2, 3) - 3) + groups * 3 + (groups - 1) * 7
    assert us(machine, phases, f"barrier:{every}") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weight", "sync"), [(0.5, "local"), (0.7, "local"), (1.0, "local"), (0.7, "none")]
)
def test_a_half_duplex_exchange(weight: float, sync: str) -> None:
    """`node` at 50 MB/s: 1000 B take 20 us one way alone."""
    machine = machine_of(
        Topology.crossbar(2),
        2,
        3,
        node_Bps=50 * MB,
        exchange_weight=weight,
        exchange_syncs=("local",),
    )
    w = weight if sync == "local" else 1.0
    assert us(machine, [[(0, 1), (1, 0)]], sync) == pytest.approx(2 + LATENCY + 2 * w * 20 + 3)


def test_a_signal_is_work_at_both_ends_and_goes_before_the_message() -> None:
    machine = machine_of(Topology.mesh(3), 2, 3, signal_s=8 * US)
    assert us(machine, [[(0, 2)]], "ready") == pytest.approx(8 + 0.2 + alone(2, 3, 2))


def test_one_processor_takes_turns_unless_handlers_interrupt_it() -> None:
    """Rank 0 sends three messages and receives three.

    3 · (20 + 30) us of overheads, then the rest of one.
    """
    phases = [[(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)]]
    one = machine_of(Topology.crossbar(4), 20, 30, processors="one")
    assert us(one, phases) == pytest.approx(3 * 50)
    two = machine_of(Topology.crossbar(4), 20, 30)
    assert us(two, phases) == pytest.approx(20 + LATENCY + 10 + 3 * 30)
    preempted = machine_of(Topology.crossbar(4), 20, 30, processors="one", preempts=True)
    assert us(preempted, phases) == pytest.approx(us(two, phases))


def test_a_phase_without_transfers_of_a_rank_costs_it_nothing() -> None:
    machine = machine_of(Topology.crossbar(4), 2, 3, setup_s=100 * US)
    apart = us(machine, [[(0, 1)], [(2, 3)]])
    assert apart == pytest.approx(100 + alone(2, 3)) == us(machine, [[(0, 1), (2, 3)]])
    assert us(machine, [[(0, 1)], [], [(2, 3)]], "barrier") == pytest.approx(2 * apart)
