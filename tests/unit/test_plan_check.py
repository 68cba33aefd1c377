"""The deadlock check: plans made wrong by hand, one wrong thing each."""

from __future__ import annotations

import numpy as np
import pytest

from conset.base.errors import VerificationError
from conset.execution.check import check_plan
from conset.execution.plan import Operations, Plan
from conset.schedule.policy import parse_sync

Row = tuple[int, int, int, int, int]
"""phase, peer, offset, bytes, transfer."""


def operations(rows: list[list[Row]]) -> Operations:
    flat = np.array([row for own in rows for row in own], np.int64).reshape(-1, 5).T
    return Operations(np.cumsum([0, *(len(own) for own in rows)]), *flat)


def plan_of(
    sends: list[list[Row]],
    receives: list[list[Row]],
    sync: str,
    phases: int = 4,
    in_flight: int | None = None,
) -> Plan:
    sizes = np.full(len(sends), 100)
    return Plan(
        phases, parse_sync(sync), operations(sends), operations(receives), sizes, sizes, in_flight
    )


SYNCS = ("none", "local", "ready", "barrier", "barrier:2", "barrier:100", "detect")


@pytest.mark.parametrize("sync", SYNCS)
def test_a_ring_ends_under_every_policy(sync: str) -> None:
    # r → r+1 in phase 0, r → r+2 in phase 2
    sends = [[(0, (r + 1) % 4, 0, 8, r), (2, (r + 2) % 4, 8, 8, 4 + r)] for r in range(4)]
    receives = [
        [(0, (r - 1) % 4, 0, 8, (r - 1) % 4), (2, (r - 2) % 4, 8, 8, 4 + (r - 2) % 4)]
        for r in range(4)
    ]
    check_plan(plan_of(sends, receives, sync))


@pytest.mark.parametrize("sync", ["local", "ready", "barrier"])
def test_sends_in_the_phase_after_their_receives_are_a_cycle(sync: str) -> None:
    sends = [[(1, 1, 0, 8, 0)], [(1, 0, 0, 8, 1)]]
    receives = [[(0, 1, 0, 8, 1)], [(0, 0, 0, 8, 0)]]
    with pytest.raises(VerificationError, match="the waits form a cycle") as error:
        check_plan(plan_of(sends, receives, sync))
    assert "rank 0 phase 0" in str(error.value) or "rank 1 phase 0" in str(error.value)
    words = str(error.value).split(": ")[-1].split(" waits for ")
    assert words[0] == words[-1]
    assert len(words) > 2


def test_the_same_plan_ends_where_both_phases_are_one_step() -> None:
    sends = [[(1, 1, 0, 8, 0)], [(1, 0, 0, 8, 1)]]
    receives = [[(0, 1, 0, 8, 1)], [(0, 0, 0, 8, 0)]]
    for sync in ("none", "barrier:2"):
        check_plan(plan_of(sends, receives, sync))
    with pytest.raises(VerificationError, match="phases 0 to 1 waits for"):
        check_plan(
            plan_of([[(2, *row[1:]) for row in own] for own in sends], receives, "barrier:2")
        )


@pytest.mark.parametrize("sync", ["local", "ready", "barrier"])
def test_sends_in_the_phase_before_their_receives_are_a_cycle(sync: str) -> None:
    # a send that is not eager ends when the receive is posted, and each posts its own after its
    # send has ended
    sends = [[(0, 1, 0, 8, 0)], [(0, 0, 0, 8, 1)]]
    receives = [[(1, 1, 0, 8, 1)], [(1, 0, 0, 8, 0)]]
    with pytest.raises(VerificationError, match="the waits form a cycle"):
        check_plan(plan_of(sends, receives, sync))
    for together in ("none", "barrier:2"):
        check_plan(plan_of(sends, receives, together))


def test_a_send_behind_one_in_flight_waits_for_the_receive_of_the_first() -> None:
    # rank 0's first send is received in phase 1 of rank 1, which needs its second send in phase 0
    sends = [[(0, 1, 0, 8, 0), (0, 2, 8, 8, 1)], [], [(0, 1, 0, 8, 2)]]
    receives = [[], [(0, 2, 8, 8, 2), (1, 0, 0, 8, 0)], [(0, 0, 0, 8, 1)]]
    check_plan(plan_of(sends, receives, "local"))
    check_plan(plan_of(sends, receives, "local", in_flight=1))
    sends[2] = [(1, 1, 0, 8, 2)]  # and now rank 2 sends only after it has received that one
    check_plan(plan_of(sends, receives, "local"))
    with pytest.raises(VerificationError, match="the waits form a cycle"):
        check_plan(plan_of(sends, receives, "local", in_flight=1))


def test_a_cycle_through_three_ranks_is_named() -> None:
    # each waits in phase 0 for what its neighbour sends in phase 1
    sends = [[(1, (r + 1) % 3, 0, 8, r)] for r in range(3)]
    receives = [[(0, (r - 1) % 3, 0, 8, (r - 1) % 3)] for r in range(3)]
    with pytest.raises(VerificationError) as error:
        check_plan(plan_of(sends, receives, "local"))
    for r in range(3):
        assert f"rank {r} phase 0" in str(error.value)
        assert f"rank {r} phase 1" in str(error.value)


def test_a_ready_signal_given_too_late_is_a_cycle() -> None:
    # rank 0 sends to 1 in phase 0, which 1 expects in phase 1; 1 sends to 0 in phase 1 what 0
    # expects in phase 0
    sends = [[(0, 1, 0, 8, 0)], [(1, 0, 0, 8, 1)]]
    receives = [[(0, 1, 0, 8, 1)], [(1, 0, 0, 8, 0)]]
    check_plan(plan_of(sends, receives, "local"))
    check_plan(plan_of(sends, receives, "ready"))
    # now rank 1 also waits in phase 0 for something 0 sends in phase 1
    sends[0].append((1, 1, 8, 8, 2))
    receives[1] = [(0, 0, 8, 8, 0), (1, 0, 0, 8, 2)]
    check_plan(plan_of(sends, receives, "none"))
    receives[1] = [(0, 0, 8, 8, 0), (0, 0, 0, 8, 2)]
    with pytest.raises(VerificationError, match="cycle"):
        check_plan(plan_of(sends, receives, "ready"))


def test_missing_receive() -> None:
    with pytest.raises(
        VerificationError,
        match=r"rank 0's send to rank 1 \(phase 0, transfer 0, 8 B\) has no receive",
    ):
        check_plan(plan_of([[(0, 1, 0, 8, 0)], []], [[], []], "none"))
    with pytest.raises(VerificationError, match=r"rank 1's send to rank 2 .* has no receive"):
        check_plan(
            plan_of([[], [(0, 2, 0, 8, 0)], [(0, 0, 0, 8, 1)]], [[(0, 2, 0, 8, 1)], [], []], "none")
        )


def test_missing_send() -> None:
    with pytest.raises(VerificationError, match=r"rank 1's receive from rank 0 .* has no send"):
        check_plan(plan_of([[], []], [[], [(0, 0, 0, 8, 0)]], "none"))


def test_wrong_size() -> None:
    with pytest.raises(VerificationError, match="bytes must agree"):
        check_plan(plan_of([[(0, 1, 0, 8, 0)], []], [[], [(0, 0, 0, 9, 0)]], "none"))


def test_two_parts_of_a_pair_in_different_orders() -> None:
    sends = [[(0, 1, 0, 8, 0), (0, 1, 8, 8, 1)], []]
    with pytest.raises(
        VerificationError, match="transfer must agree, the two sides of a pair need one order"
    ):
        check_plan(plan_of(sends, [[], [(0, 0, 8, 8, 1), (0, 0, 0, 8, 0)]], "none"))
    check_plan(plan_of(sends, [[], [(0, 0, 0, 8, 0), (0, 0, 8, 8, 1)]], "none"))


@pytest.mark.parametrize(
    ("send", "rule"),
    [
        ((0, 2, 0, 8, 0), "names no other rank"),
        ((0, 0, 0, 8, 0), "names no other rank"),
        ((4, 1, 0, 8, 0), "is in no phase from 0 to 3"),
        ((0, 1, 93, 8, 0), "leaves its buffer"),
        ((0, 1, 0, 0, 0), "leaves its buffer"),
    ],
)
def test_ranges(send: Row, rule: str) -> None:
    with pytest.raises(VerificationError, match=rule):
        check_plan(plan_of([[send], []], [[], [(0, 0, 0, 8, 0)]], "none"))


def test_overlapping_receives() -> None:
    sends = [[(0, 2, 0, 8, 0)], [(0, 2, 0, 8, 1)], []]
    with pytest.raises(VerificationError, match="overlaps another receive"):
        check_plan(plan_of(sends, [[], [], [(0, 0, 0, 8, 0), (0, 1, 7, 8, 1)]], "none"))


def test_phases_of_a_rank_must_not_fall() -> None:
    sends = [[(1, 1, 0, 8, 0), (0, 1, 8, 8, 1)], []]
    with pytest.raises(VerificationError, match="comes after one of a later phase"):
        check_plan(plan_of(sends, [[], [(0, 0, 0, 8, 0), (1, 0, 8, 8, 1)]], "none"))
