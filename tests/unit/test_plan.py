"""The plan: who sends which bytes when, and the sizes that MPI cannot carry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conset.base.errors import InputError, VerificationError
from conset.execution.check import check_plan
from conset.execution.plan import Needs, read_plan_file, write_plan_file
from conset.execution.planner import make_plan, plan_direct
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify
from support.hand_made_orders import ordered_schedule
from support.slow_exchange import buffers_of, slow_exchange


def schedule_of(
    pattern: Pattern, phases: list[list[int]], parts: list[int] | None = None, **more: object
) -> Schedule:
    """A schedule on a crossbar whose phase p holds the messages `phases[p]`."""
    topology = Topology.crossbar(pattern.ranks)
    machine = Machine(f"crossbar:{pattern.ranks}", topology, Routing.default(topology))
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in phases])])
    message = np.array([m for phase in phases for m in phase], np.int32)
    sizes = None if parts is None else np.array(parts)
    return Schedule(pattern, machine, "hand", Limits(), offsets, message, sizes, **more)  # type: ignore[arg-type]


# messages sorted by source, target: 0: 0→1 (10 B)  1: 0→2 (20 B)  2: 1→2 (30 B)  3: 2→0 (40 B)
THREE = Pattern.from_messages([0, 0, 1, 2], [1, 2, 2, 0], [10, 20, 30, 40], 3)


def test_buffers_follow_the_order_of_peers() -> None:
    plan = make_plan(schedule_of(THREE, [[1, 2], [0], [3]]), "barrier")
    assert (plan.ranks, plan.phases, plan.transfers, plan.bytes) == (3, 3, 4, 100)
    assert plan.send_bytes.tolist() == [30, 30, 40]
    assert plan.receive_bytes.tolist() == [40, 10, 50]
    assert plan.sends.offsets.tolist() == [0, 2, 3, 4]
    # rank 0 sends message 1 (to 2) in phase 0 from byte 10, then message 0 (to 1) in phase 1 from
    # byte 0
    assert plan.sends.peer.tolist() == [2, 1, 2, 0]
    assert plan.sends.offset.tolist() == [10, 0, 0, 0]
    # rank 2 receives from 0 at byte 0 and from 1 at byte 20, both in phase 0
    rows = plan.receives.of(2)
    assert plan.receives.peer[rows].tolist() == [0, 1]
    assert plan.receives.offset[rows].tolist() == [0, 20]
    assert plan.receives.phase[rows].tolist() == [0, 0]


def test_parts_are_consecutive_ranges_in_phase_order() -> None:
    # message 1 (20 B) as 5 in phase 0, then 8 and 7 in phase 1; it starts at byte 10 of rank 0,
    # byte 0 of rank 2
    schedule = schedule_of(THREE, [[1, 0], [1, 2, 1], [3]], [5, 10, 8, 30, 7, 40])
    plan = make_plan(schedule, "local")
    rows = plan.sends.of(0)
    assert plan.sends.peer[rows].tolist() == [2, 1, 2, 2]
    assert plan.sends.offset[rows].tolist() == [10, 0, 15, 23]
    assert plan.sends.bytes[rows].tolist() == [5, 10, 8, 7]
    rows = plan.receives.of(2)
    assert plan.receives.peer[rows].tolist() == [0, 0, 1, 0]
    assert plan.receives.offset[rows].tolist() == [0, 5, 20, 13]
    sends, receives = plan.pair_ranges(2)
    assert (receives.peer.tolist(), receives.offset.tolist(), receives.bytes.tolist()) == (
        [0, 1],
        [0, 20],
        [20, 30],
    )
    assert (sends.peer.tolist(), sends.bytes.tolist()) == ([0], [40])


def test_several_messages_of_a_pair_are_one_range() -> None:
    pattern = Pattern.from_messages([0, 0, 1], [1, 1, 0], [3, 4, 5], 2, before=[[1, 0]])
    plan = make_plan(schedule_of(pattern, [[1], [0, 2]]), "barrier")
    assert plan.sends.offset[plan.sends.of(0)].tolist() == [3, 0]
    assert plan.pair_ranges(0)[0].bytes.tolist() == [7]


def test_timetable_orders_the_posting_at_both_ends() -> None:
    pattern = Pattern.from_messages([0, 0], [1, 2], [8, 8], 3)
    timetable = np.array([[1.0, 2.0], [0.0, 1.0]])
    plan = make_plan(schedule_of(pattern, [[0, 1]], timetable=timetable), "none")
    assert plan.sends.peer.tolist() == [2, 1]


def test_no_messages() -> None:
    plan = make_plan(schedule_of(Pattern.from_messages([], [], [], 3), []), "barrier")
    assert (plan.ranks, plan.phases, plan.transfers, plan.bytes) == (3, 0, 0, 0)
    assert plan.pair_ranges(1)[0].peer.size == 0


def test_random_plans_cover_both_buffers_exactly() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = int(rng.integers(2, 9))
        source, target = np.divmod(np.arange(n * n), n)
        pattern = Pattern.from_messages(source, target, rng.integers(0, 50, n * n), n)
        phases = [
            np.flatnonzero(p).tolist()
            for p in np.eye(4, dtype=bool)[rng.integers(0, 4, pattern.messages)].T
        ]
        plan = make_plan(schedule_of(pattern, phases), "barrier:2")
        for operations, size in (
            (plan.sends, plan.send_bytes),
            (plan.receives, plan.receive_bytes),
        ):
            for r in range(n):
                rows = operations.of(r)
                covered = np.zeros(size[r], int)
                for a, b in zip(operations.offset[rows], operations.bytes[rows], strict=True):
                    covered[a : a + b] += 1
                assert (covered == 1).all()


def test_saved_plan_is_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    plan = make_plan(schedule_of(THREE, [[1, 2], [0, 3]]), "barrier:2")
    write_plan_file(plan, tmp_path / "x.plan")
    again = read_plan_file(tmp_path / "x.plan")
    assert again.sync == plan.sync
    assert again.phases == plan.phases
    for side in ("sends", "receives"):
        for name in ("offsets", "phase", "peer", "offset", "bytes"):
            assert (getattr(getattr(again, side), name) == getattr(getattr(plan, side), name)).all()
    # transfers have other numbers, the same at both ends
    assert (plan.sends.transfer[again.receives.transfer] == plan.receives.transfer).all()
    assert (again.receive_bytes == plan.receive_bytes).all()


def test_a_transfer_above_an_int_is_planned_in_parts() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 0], [2**31 + 5, 2**31 - 1], 2)
    plan = make_plan(schedule_of(pattern, [[0, 1]]))
    assert plan.sends.bytes.tolist() == [2**30, 2**30, 5, 2**31 - 1]
    assert plan.sends.offset.tolist() == [0, 2**30, 2**31, 0]
    assert plan.sends.transfer.tolist() == [0, 1, 2, 3]
    assert plan_direct(pattern).sends.bytes.tolist() == plan.sends.bytes.tolist()


def test_parts_must_add_up() -> None:
    with pytest.raises(InputError, match="message 1 has 20 bytes, its transfers carry 19"):
        make_plan(schedule_of(THREE, [[0, 1, 2, 3]], [10, 19, 30, 40]))
    with pytest.raises(InputError, match="message 3 has 40 bytes, its transfers carry 0"):
        make_plan(schedule_of(THREE, [[0, 1, 2]]))


CASES = {
    # the ends of the message that follows 0 → 1; what has the need; 0: the receive of the first, 2:
    # its send
    "receive, then send": ((1, 2), "needs", [0]),
    "send, then send": ((0, 2), "needs", [2]),
    "receive, then receive": ((2, 1), "signals", [0]),
    "send, then receive": ((2, 0), "signals", [2]),
    "back": ((1, 0), "needs", [0]),
    "again": ((0, 1), "needs", [2]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("sync", "phases", "waits"),
    [
        ("barrier", [[0], [1]], ()),
        ("ready", [[0], [1]], ()),
        ("local", [[0], [1]], ("signals",)),
        ("barrier:2", [[0], [1]], ("needs", "signals")),
        ("none", [[0], [1]], ("needs", "signals")),
        ("barrier", [[0, 1]], ("needs", "signals")),
        ("ready", [[0, 1]], ("needs", "signals")),
        ("local", [[0, 1]], ("needs", "signals")),
        ("none", [[0, 1]], ("needs", "signals")),
    ],
)
def test_what_a_policy_does_not_keep_is_waited_for(
    case: str, sync: str, phases: list[list[int]], waits: tuple[str, ...]
) -> None:
    """Where the second message leaves the shared rank its send waits, else its source is
    signalled."""
    (source, target), kind, needed = CASES[case]
    pattern = Pattern.from_messages([0, source], [1, target], [8, 8], 3, before=[[0, 1]])
    assert pattern.before is not None
    i, j = pattern.before[0].tolist()
    plan = make_plan(schedule_of(pattern, [[(i, j)[m] for m in phase] for phase in phases]), sync)
    expected = kind if kind in waits else None
    assert [name for name in ("needs", "signals") if getattr(plan, name) is not None] == (
        [expected] if expected else []
    )
    for found, operations in ((plan.needs, plan.sends), (plan.signals, plan.receives)):
        if found is None:
            continue
        transfer = np.concatenate([plan.receives.transfer, plan.sends.transfer])[found.operation]
        owner = operations.transfer[found.owner]
        assert (transfer.tolist(), owner.tolist()) == ([0], [1])
        assert (found.operation >= plan.receives.count).tolist() == [needed[0] == 2]
    assert plan.sends.transfer[plan.signalled].tolist() == ([1] if expected == "signals" else [])


@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "barrier:2"])
@pytest.mark.parametrize("phases", [[[1], [0]], [[1, 0]]])
def test_the_order_of_the_transfers_is_that_of_the_messages(
    sync: str, phases: list[list[int]]
) -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3, before=[[0, 1]])
    with pytest.raises(
        InputError,
        match=r"before\[0\]: message 0 .* must end before message 1 .* or earlier in the same",
    ):
        make_plan(schedule_of(pattern, phases), sync)


@given(
    seed=st.integers(0, 2**32 - 1),
    phases=st.integers(1, 4),
    in_flight=st.sampled_from([None, 1, 2]),
    sync=st.sampled_from(["none", "local", "ready", "barrier", "barrier:2"]),
)
def test_ranks_with_an_order_end_and_deliver(
    seed: int, phases: int, in_flight: int | None, sync: str
) -> None:
    """Whatever goes first of what may go; `check_plan` has found no circle of waits."""
    schedule = ordered_schedule(seed, phases)
    assert verify(schedule).ok
    plan = make_plan(schedule, sync, in_flight=in_flight or "all")
    send, due = buffers_of(schedule.pattern, np.random.default_rng(seed))
    found = slow_exchange(plan, send, np.random.default_rng(seed))
    assert all(map(np.array_equal, found, due))


@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier"])
def test_signals_that_wait_for_each_other_are_a_circle(sync: str) -> None:
    """0 → 1, then 2 → 1, then 2 → 0.

    Where rank 0 needs the last before it sends the first, they wait for ever.
    """
    pattern = Pattern.from_messages([0, 2, 2], [1, 0, 1], [8] * 3, 3, before=[[0, 2]])
    plan = make_plan(schedule_of(pattern, [[0, 1, 2]]), sync)
    assert plan.signals is not None
    check_plan(plan)
    behind = make_plan(schedule_of(pattern, [[0, 2, 1]]), sync)
    # the first receive is that of rank 0, from rank 2: its send stands behind the one that rank 1
    # signals
    assert (behind.receives.rank[0], behind.receives.peer[0]) == (0, 2)
    circle = replace(behind, needs=Needs(np.array([0, 1, 1, 1]), np.array([0])))
    with pytest.raises(VerificationError, match="the waits form a cycle"):
        check_plan(circle)


def test_a_timetable_is_the_order_of_its_phase() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3, before=[[0, 1]])
    schedule = schedule_of(pattern, [[1, 0]])
    plan = make_plan(replace(schedule, timetable=np.array([[1.0, 2.0], [0.0, 1.0]])), "none")
    assert plan.needs is not None
    with pytest.raises(InputError, match=r"before\[0\]"):
        make_plan(replace(schedule, timetable=np.array([[0.0, 2.0], [0.0, 3.0]])), "none")


def test_every_part_of_a_message_needs_every_part_of_the_one_before() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 9], 3, before=[[0, 1]])
    plan = make_plan(schedule_of(pattern, [[0, 0], [1, 1]], [3, 5, 4, 5]), "none")
    assert plan.needs is not None
    assert (plan.needs.offsets.tolist(), plan.needs.operation.tolist()) == (
        [0, 0, 0, 2, 4],
        [0, 1, 0, 1],
    )
