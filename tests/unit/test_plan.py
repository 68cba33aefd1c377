"""The plan: who sends which bytes when, and the sizes that MPI cannot carry."""

from __future__ import annotations

import numpy as np
import pytest

from conset.errors import InputError
from conset.execution.plan import Plan
from conset.execution.planner import plan_schedule
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule


def schedule_of(pattern: Pattern, phases: list[list[int]], parts: list[int] | None = None, **more: object) -> Schedule:
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
    plan = plan_schedule(schedule_of(THREE, [[1, 2], [0], [3]]), "barrier")
    assert (plan.ranks, plan.phases, plan.transfers, plan.bytes) == (3, 3, 4, 100)
    assert plan.send_bytes.tolist() == [30, 30, 40]
    assert plan.receive_bytes.tolist() == [40, 10, 50]
    assert plan.sends.offsets.tolist() == [0, 2, 3, 4]
    # rank 0 sends message 1 (to 2) in phase 0 from byte 10, then message 0 (to 1) in phase 1 from byte 0
    assert plan.sends.peer.tolist() == [2, 1, 2, 0]
    assert plan.sends.offset.tolist() == [10, 0, 0, 0]
    # rank 2 receives from 0 at byte 0 and from 1 at byte 20, both in phase 0
    rows = plan.receives.of(2)
    assert plan.receives.peer[rows].tolist() == [0, 1]
    assert plan.receives.offset[rows].tolist() == [0, 20]
    assert plan.receives.phase[rows].tolist() == [0, 0]


def test_parts_are_consecutive_ranges_in_phase_order() -> None:
    # message 1 (20 B) as 5 in phase 0, then 8 and 7 in phase 1; it starts at byte 10 of rank 0, byte 0 of rank 2
    schedule = schedule_of(THREE, [[1, 0], [1, 2, 1], [3]], [5, 10, 8, 30, 7, 40])
    plan = plan_schedule(schedule, "local")
    rows = plan.sends.of(0)
    assert plan.sends.peer[rows].tolist() == [2, 1, 2, 2]
    assert plan.sends.offset[rows].tolist() == [10, 0, 15, 23]
    assert plan.sends.bytes[rows].tolist() == [5, 10, 8, 7]
    rows = plan.receives.of(2)
    assert plan.receives.peer[rows].tolist() == [0, 0, 1, 0]
    assert plan.receives.offset[rows].tolist() == [0, 5, 20, 13]
    sends, receives = plan.pair_ranges(2)
    assert (receives.peer.tolist(), receives.offset.tolist(), receives.bytes.tolist()) == ([0, 1], [0, 20], [20, 30])
    assert (sends.peer.tolist(), sends.bytes.tolist()) == ([0], [40])


def test_several_messages_of_a_pair_are_one_range() -> None:
    pattern = Pattern.from_messages([0, 0, 1], [1, 1, 0], [3, 4, 5], 2, before=[[1, 0]])
    plan = plan_schedule(schedule_of(pattern, [[1], [0, 2]]), "barrier")
    assert plan.sends.offset[plan.sends.of(0)].tolist() == [3, 0]
    assert plan.pair_ranges(0)[0].bytes.tolist() == [7]


def test_timetable_orders_the_posting_at_both_ends() -> None:
    pattern = Pattern.from_messages([0, 0], [1, 2], [8, 8], 3)
    timetable = np.array([[1.0, 2.0], [0.0, 1.0]])
    plan = plan_schedule(schedule_of(pattern, [[0, 1]], timetable=timetable), "none")
    assert plan.sends.peer.tolist() == [2, 1]


def test_no_messages() -> None:
    plan = plan_schedule(schedule_of(Pattern.from_messages([], [], [], 3), []), "barrier")
    assert (plan.ranks, plan.phases, plan.transfers, plan.bytes) == (3, 0, 0, 0)
    assert plan.pair_ranges(1)[0].peer.size == 0


def test_random_plans_cover_both_buffers_exactly() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = int(rng.integers(2, 9))
        source, target = np.divmod(np.arange(n * n), n)
        pattern = Pattern.from_messages(source, target, rng.integers(0, 50, n * n), n)
        phases = [np.flatnonzero(p).tolist() for p in np.eye(4, dtype=bool)[rng.integers(0, 4, pattern.messages)].T]
        plan = plan_schedule(schedule_of(pattern, phases), "barrier:2")
        for operations, size in ((plan.sends, plan.send_bytes), (plan.receives, plan.receive_bytes)):
            for r in range(n):
                rows = operations.of(r)
                covered = np.zeros(size[r], int)
                for a, b in zip(operations.offset[rows], operations.bytes[rows], strict=True):
                    covered[a : a + b] += 1
                assert (covered == 1).all()


def test_saved_plan_is_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    plan = plan_schedule(schedule_of(THREE, [[1, 2], [0, 3]]), "barrier:2")
    plan.save(tmp_path / "plan.npz")
    again = Plan.load(tmp_path / "plan.npz")
    assert again.sync == plan.sync
    assert again.phases == plan.phases
    for side in ("sends", "receives"):
        for name in ("offsets", "phase", "peer", "offset", "bytes", "transfer"):
            assert (getattr(getattr(again, side), name) == getattr(getattr(plan, side), name)).all()
    assert (again.receive_bytes == plan.receive_bytes).all()


def test_transfer_above_an_int_is_refused() -> None:
    pattern = Pattern.from_messages([0], [1], [2**31], 2)
    with pytest.raises(
        InputError, match=r"transfer 0 \(message 0\) has 2147483648 bytes: MPI carries at most 2147483647"
    ):
        plan_schedule(schedule_of(pattern, [[0]]))
    assert plan_schedule(schedule_of(pattern, [[0, 0]], [2**31 - 1, 1])).transfers == 2


def test_parts_must_add_up() -> None:
    with pytest.raises(InputError, match="message 1 has 20 bytes, its transfers carry 19"):
        plan_schedule(schedule_of(THREE, [[0, 1, 2, 3]], [10, 19, 30, 40]))
    with pytest.raises(InputError, match="message 3 has 40 bytes, its transfers carry 0"):
        plan_schedule(schedule_of(THREE, [[0, 1, 2]]))


@pytest.mark.parametrize(
    ("sync", "phases", "kept"),
    [
        ("barrier", [[0], [1]], True),
        ("barrier:2", [[0], [1]], False),
        ("barrier", [[0, 1]], False),
        ("none", [[0], [1]], False),
        ("ready", [[0], [1]], True),
        ("local", [[0], [1]], True),
        ("local", [[0, 1]], False),
    ],
)
def test_order_between_messages_needs_a_policy_that_keeps_it(sync: str, phases: list[list[int]], kept: bool) -> None:
    # 0→1, then 0→2: that a send has been posted says nothing of where it arrives
    pattern = Pattern.from_messages([0, 0], [1, 2], [8, 8], 3, before=[[0, 1]])
    schedule = schedule_of(pattern, phases)
    if kept:
        assert plan_schedule(schedule, sync).needs is None
    else:
        with pytest.raises(InputError, match=r"before\[0\]: message 0 .* must end before message 1"):
            plan_schedule(schedule, sync)


@pytest.mark.parametrize(
    ("sync", "phases", "needed"),
    [
        ("barrier", [[0], [1]], False),
        ("local", [[0], [1]], False),
        ("ready", [[0], [1]], False),
        ("barrier:2", [[0], [1]], True),
        ("barrier", [[0, 1]], True),
        ("local", [[0, 1]], True),
        ("none", [[0], [1]], True),
        ("none", [[1], [0]], True),
    ],
)
def test_a_rank_that_sends_what_it_has_received_needs_it(sync: str, phases: list[list[int]], needed: bool) -> None:
    # 0→1, then 1→2: rank 1 may send only what it has received
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3, before=[[0, 1]])
    plan = plan_schedule(schedule_of(pattern, phases), sync)
    assert (plan.needs is not None) == needed
    if plan.needs is not None:
        assert (plan.sends.rank[plan.needs.send].tolist(), plan.needs.receive.tolist()) == ([1], [0])


def test_no_need_reaches_into_a_later_phase() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 8], 3, before=[[0, 1]])
    for sync in ("barrier", "local", "ready"):
        with pytest.raises(InputError, match=r"before\[0\]: message 0 .* must end before message 1"):
            plan_schedule(schedule_of(pattern, [[1], [0]]), sync)


def test_every_part_of_a_message_needs_every_part_of_the_one_before() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [8, 9], 3, before=[[0, 1]])
    plan = plan_schedule(schedule_of(pattern, [[0, 0], [1, 1]], [3, 5, 4, 5]), "none")
    assert plan.needs is not None
    assert (plan.needs.offsets.tolist(), plan.needs.receive.tolist()) == ([0, 0, 0, 2, 4], [0, 1, 0, 1])


def test_local_does_not_hold_back_another_source() -> None:
    # 0→2 before 1→2: rank 1 knows nothing of rank 0
    pattern = Pattern.from_messages([0, 1], [2, 2], [8, 8], 3, before=[[0, 1]])
    with pytest.raises(InputError, match="sync 'local' does not keep"):
        plan_schedule(schedule_of(pattern, [[0], [1]]), "local")
    plan_schedule(schedule_of(pattern, [[0], [1]]), "ready")
