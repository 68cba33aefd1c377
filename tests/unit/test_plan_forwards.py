"""Plans that forward: work area, copies and needs as nouns, in a file, and under the checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError, VerificationError
from conset.execution.check import check_plan
from conset.execution.plan import Copies, Needs, Operations, Plan, read_plan_file, write_plan_file
from conset.schedule.policy import parse_sync


def rows(*own: list[tuple[int, int, int, int, int, bool]]) -> Operations:
    """Of each rank: phase, peer, offset, bytes, transfer, whether the offset is in the work
    area."""
    flat = np.array([row for rank in own for row in rank], np.int64).reshape(-1, 6).T
    return Operations(np.cumsum([0, *map(len, own)]), *flat[:5], flat[5] > 0)


def copies(*own: list[tuple[bool, int, int, int]]) -> Copies:
    """Of each operation: whether the source is in the work area, source, target, bytes."""
    flat = np.array([copy for operation in own for copy in operation], np.int64).reshape(-1, 4).T
    return Copies(np.cumsum([0, *map(len, own)]), flat[0] > 0, *flat[1:])


def needs(*own: list[int]) -> Needs:
    return Needs(
        np.cumsum([0, *map(len, own)]), np.array([r for send in own for r in send], np.int64)
    )


def relay(sync: str = "none") -> Plan:
    """Rank 0 sends 4 + 6 bytes to 1, which keeps the 4 and forwards the 6 with 5 of its own
    to 2."""
    return Plan(
        2,
        parse_sync(sync),
        rows([(0, 1, 0, 10, 0, False)], [(1, 2, 10, 11, 1, True)], []),
        rows([], [(0, 0, 0, 10, 0, True)], [(1, 1, 0, 11, 1, False)]),
        np.array([10, 5, 0]),
        np.array([0, 4, 11]),
        work_bytes=np.array([0, 21, 0]),
        packs=copies([], [(False, 0, 10, 5), (True, 4, 15, 6)]),
        unpacks=copies([(True, 0, 0, 4)], []),
        needs=needs([], [0]),
    )


@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "barrier:2"])
@pytest.mark.parametrize("flight", [None, 1])
def test_a_relay_ends_under_every_policy(sync: str, flight: int | None) -> None:
    check_plan(replace(relay(sync), in_flight=flight))


def test_what_an_exchange_brings() -> None:
    plan = relay()
    assert plan.bytes == 4 + 11
    assert plan.forwards
    with pytest.raises(UsageError, match="the plan forwards messages"):
        plan.pair_ranges(0)


def test_saved_plan_is_the_same(tmp_path: Path) -> None:
    for plan in (
        relay("barrier:2"),
        replace(relay(), unpacks=None),
        replace(relay(), needs=None, in_flight=3),
    ):
        write_plan_file(plan, tmp_path / "x.plan")
        assert read_plan_file(tmp_path / "x.plan") == plan
    assert replace(relay(), needs=None) != relay()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"needs": needs([], [1])},
            r"needs\[0\]: a send of rank 1 needs a receive of rank 2: its own",
        ),
        ({"needs": needs([], [4])}, r"needs\[0\] = 4: must be from 0 to 3"),
        ({"needs": needs([0])}, "needs are of 1 sends, there are 2: must agree"),
        ({"packs": copies([])}, "packs are of 1 sends, there are 2: must agree"),
        ({"unpacks": copies([], [], [])}, "unpacks are of 3 receives, there are 2: must agree"),
        ({"work_bytes": [21]}, r"work_bytes has shape \(1,\): one per rank required"),
    ],
)
def test_parts_that_do_not_fit(change: dict[str, object], line: str) -> None:
    with pytest.raises(InputError, match=line):
        replace(relay(), **change)  # type: ignore[arg-type]


def test_copies_and_needs_are_checked_alone() -> None:
    with pytest.raises(InputError, match=r"offsets: must rise from 0 to the 2 copies"):
        Copies([0, 1], [True, True], [0, 1], [0, 1], [1, 1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="work: true or false required, given int64"):
        Copies([0, 1], [1], [0], [0], [1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"target has shape \(2,\): offsets end at 1"):
        Copies([0, 1], [True], [0], [0, 1], [1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must rise from 0 to the 3 needs"):
        Needs([0, 2], [0, 1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"needs": None},
            r"rank 1's send to rank 2 .* packs bytes of the work area that no needed "
            r"receive brings",
        ),
        (
            {"packs": copies([], [(False, 0, 10, 5)])},
            "carries bytes of the work area that are neither packed",
        ),
        (
            {"packs": copies([], [(False, 0, 10, 5), (True, 5, 15, 6)])},
            "packs bytes of the work area that no needed",
        ),
        (
            {"packs": copies([], [(False, 0, 10, 5), (True, 4, 14, 6)])},
            "byte 14 of rank 1's work area is written",
        ),
        (
            {"packs": copies([], [(False, 0, 10, 5), (True, 4, 16, 6)])},
            "copy 1, .* writes outside its area",
        ),
        (
            {"packs": copies([], [(False, 1, 10, 5), (True, 4, 15, 6)])},
            "copy 0, .* reads outside its area",
        ),
        ({"unpacks": copies([(True, 7, 0, 4)], [])}, "unpacks bytes that it does not bring"),
        ({"unpacks": copies([(True, 0, 1, 4)], [])}, "copy 0, .* writes outside its area"),
        ({"unpacks": copies([(False, 0, 0, 4)], [])}, "copy 0, .* reads the send buffer"),
        (
            {"unpacks": copies([], [(True, 0, 0, 4)])},
            "copy 0, of rank 2's receive .* reads outside its area",
        ),
        (
            {
                "unpacks": copies(
                    [
                        (True, 0, 0, 4),
                    ],
                    [(True, 0, 0, 4)],
                ),
                "work_bytes": [0, 21, 4],
            },
            "overlaps another rec",
        ),
        ({"work_bytes": None}, "rank 1's send to rank 2 .* leaves its buffer"),
        ({"work_bytes": [0, 20, 0]}, "rank 1's send to rank 2 .* leaves its buffer"),
    ],
)
def test_areas(change: dict[str, object], line: str) -> None:
    with pytest.raises(VerificationError, match=line):
        check_plan(replace(relay(), **change))  # type: ignore[arg-type]


def test_a_copy_may_span_two_arrivals_and_a_need_may_be_named_twice() -> None:
    # ranks 0 and 1 send 4 bytes each to 2, which forwards the middle of what arrived, in place and
    # packed
    sends = rows(
        [(0, 2, 0, 4, 0, False)],
        [(0, 2, 0, 4, 1, False)],
        [(0, 3, 2, 4, 2, True), (0, 3, 8, 4, 3, True)],
        [],
    )
    receives = rows(
        [],
        [],
        [(0, 0, 0, 4, 0, True), (0, 1, 4, 4, 1, True)],
        [(0, 2, 0, 4, 2, False), (0, 2, 4, 4, 3, False)],
    )
    packs = copies([], [], [], [(True, 2, 8, 4)])
    size = np.array([4, 4, 0, 8])
    plan = Plan(
        1, parse_sync("none"), sends, receives, size, size, work_bytes=3 * size[::-1], packs=packs
    )
    check_plan(replace(plan, needs=needs([], [], [0, 1, 0], [1, 0])))
    for lacking in (needs([], [], [0], [1, 0]), needs([], [], [0, 1], [1])):
        with pytest.raises(VerificationError, match="of the work area"):
            check_plan(replace(plan, needs=lacking))


def two_ranks(
    sync: str, sends: list[list[int]], needed: list[list[int]], phases: tuple[int, int] = (0, 0)
) -> Plan:
    """Ranks 0 and 1 exchange single bytes, in the order of the transfers in `sends`.

    `needed` per transfer.
    """
    order = [*sends[0], *sends[1]]

    def of(own: list[int], other: list[int]) -> Operations:
        flat = [
            [(phases[k], 1 - r, k, 1, t, 0) for k, t in enumerate(side)]
            for r, side in enumerate((own, other))
        ]
        return rows(*flat)  # type: ignore[arg-type]

    size = np.full(2, 9)
    plan = Plan(2, parse_sync(sync), of(*sends), of(sends[1], sends[0]), size, size)
    place = {transfer: k for k, transfer in enumerate(plan.receives.transfer.tolist())}
    return replace(plan, needs=needs(*([place[n] for n in needed[t]] for t in order)))


@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier"])
def test_needs_of_each_other_are_a_cycle(sync: str) -> None:
    # transfers 0 and 1 go from 0 to 1, transfers 2 and 3 back
    check_plan(two_ranks(sync, [[0, 1], [2, 3]], [[], [2], [0], [1]]))
    with pytest.raises(
        VerificationError, match=r"waits form a cycle .*rank [01].* waits for rank [01]"
    ):
        check_plan(two_ranks(sync, [[0, 1], [2, 3]], [[2], [], [0], []]))


def test_a_send_that_waits_holds_those_behind_it() -> None:
    # transfer 1 needs 2; 2 needs 0 in one order, which 1 would hold back in the other
    check_plan(two_ranks("none", [[0, 1], [2]], [[], [2], [0]]))
    with pytest.raises(VerificationError, match="waits form a cycle"):
        check_plan(two_ranks("none", [[1, 0], [2]], [[], [2], [0]]))


def test_a_need_of_a_later_phase_is_a_cycle_where_phases_are_kept_apart() -> None:
    # transfer 0 of phase 0 needs transfer 3 of phase 1
    for sync in ("none", "barrier:2"):
        check_plan(two_ranks(sync, [[0, 1], [2, 3]], [[3], [], [], []], (0, 1)))
    for sync in ("local", "ready", "barrier"):
        with pytest.raises(VerificationError, match="waits form a cycle"):
            check_plan(two_ranks(sync, [[0, 1], [2, 3]], [[3], [], [], []], (0, 1)))
