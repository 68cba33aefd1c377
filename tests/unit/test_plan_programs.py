"""Plans of programs: where parts lie on their way, what is copied, what waits.

And the replay that checks it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conset.base.errors import VerificationError
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.execution import planner
from conset.execution.check import check_delivery, check_plan
from conset.execution.plan import Copies, Operations, Plan
from conset.execution.planner import make_plan, plan_baseline, steps_of
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.paths import Paths, direct
from conset.schedule.program import Program, chained
from support.hand_made_programs import box, forwarding, in_one_phase, random_paths, random_pattern

POLICIES = ("none", "local", "ready", "barrier", "barrier:2", "detect")


def copies_of(copies: Copies | None, operation: int) -> list[tuple[bool, int, int, int]]:
    """(whether from the work area, source, target, bytes)."""
    if copies is None:
        return []
    rows = slice(copies.offsets[operation], copies.offsets[operation + 1])
    columns = (copies.work, copies.source, copies.target, copies.bytes)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


def operations_of(operations: Operations, rank: int) -> list[tuple[int, int, int, bool]]:
    """(peer, offset, bytes, whether in the work area) of one rank."""
    rows = operations.of(rank)
    columns = (operations.peer, operations.offset, operations.bytes, operations.in_work)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


# 0: 0→1 (4 B)  1: 0→2 (6 B)  2: 1→2 (5 B)
RELAY = Pattern.from_messages([0, 0, 1], [1, 2, 2], [4, 6, 5], 3)


def test_a_relay_by_hand() -> None:
    """Rank 0 sends everything to 1, which keeps 4 bytes and forwards 6 with 5 of its own."""
    plan = make_plan(forwarding(Paths(RELAY, [[0, 1, 1], [0, 1, 2], [1, 1, 2]])))
    assert (plan.send_bytes.tolist(), plan.receive_bytes.tolist()) == ([10, 5, 0], [0, 4, 11])
    # both messages of rank 0 lie beside each other: no pack
    assert operations_of(plan.sends, 0) == [(1, 0, 10, False)]
    # at rank 1 the 10 bytes arrive in the work area, 4 of them are unpacked
    assert operations_of(plan.receives, 1) == [(0, 0, 10, True)]
    assert copies_of(plan.unpacks, 0) == [(True, 0, 0, 4)]
    # the 6 and the own 5 follow in the work area
    assert operations_of(plan.sends, 1) == [(2, 10, 11, True)]
    assert copies_of(plan.packs, 1) == [(True, 4, 10, 6), (False, 0, 16, 5)]
    # at rank 2 both end, in the order of their sources
    assert operations_of(plan.receives, 2) == [(1, 0, 11, False)]
    assert plan.work_bytes is not None
    assert plan.work_bytes.tolist() == [0, 21, 0]
    assert plan.needs is not None
    assert (plan.needs.owner.tolist(), plan.needs.operation.tolist()) == ([1], [0])
    assert plan.bytes == RELAY.bytes


def test_what_arrives_together_is_sent_on_from_where_it_is() -> None:
    # 0→2 and 0→3 by rank 1, which has nothing of its own: no copy anywhere
    pattern = Pattern.from_messages([0, 0], [2, 3], [6, 7], 4)
    plan = make_plan(forwarding(Paths(pattern, [[0, 1, 2], [0, 1, 3]])))
    assert (plan.packs, plan.unpacks) == (None, None)
    assert operations_of(plan.sends, 1) == [(2, 0, 6, True), (3, 6, 7, True)]
    assert [operations_of(plan.receives, rank) for rank in (2, 3)] == [
        [(1, 0, 6, False)],
        [(1, 0, 7, False)],
    ]


def test_neighbours_are_copied_at_once() -> None:
    # rank 0 packs messages to 1 and 3, and to 4 and 5, without that to 2: two copies for four
    # messages
    pattern = Pattern.from_messages([0] * 5, [1, 2, 3, 4, 5], [3, 4, 5, 6, 7], 6)
    by_one = [[0, 1, 1], [0, 0, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5]]
    plan = make_plan(forwarding(Paths(pattern, by_one)))
    assert copies_of(plan.packs, 0) == [(False, 0, 0, 3), (False, 7, 3, 18)]


def test_a_direct_program_is_the_direct_exchange() -> None:
    pattern = random_pattern(6, np.random.default_rng(1))
    plan = make_plan(forwarding(direct(pattern)))
    own = make_plan(in_one_phase(pattern))
    assert (plan.packs, plan.unpacks, plan.needs) == (None, None, None)
    assert plan.work_bytes is not None
    assert not plan.work_bytes.any()
    for side in ("sends", "receives"):
        for each in fields(Operations):
            if each.name != "work":
                assert (
                    getattr(getattr(plan, side), each.name)
                    == getattr(getattr(own, side), each.name)
                ).all()


def test_a_message_may_pass_its_ends() -> None:
    # by its target, back to its source, and there again: it ends with the last stage only
    pattern = Pattern.from_messages([0, 1], [1, 0], [8, 9], 2)
    plan = make_plan(forwarding(Paths(pattern, [[0, 1, 0, 1], [1, 1, 1, 0]])))
    assert [peer for peer, *_ in operations_of(plan.sends, 0)] == [1, 1]
    assert operations_of(plan.receives, 1) == [(0, 0, 8, True), (0, 0, 8, False)]


def test_a_split_bundle_needs_all_its_parts() -> None:
    """Parts of a bundle are packed and unpacked each by itself."""
    rng = np.random.default_rng(4)
    pattern = random_pattern(5, rng)
    program = forwarding(random_paths(pattern, 3, rng), rng, split=True)
    plan = make_plan(program)
    assert plan.transfers > sum(schedule.pattern.messages for schedule in program.schedules)
    check_delivery(plan, pattern)


@pytest.mark.parametrize("sync", POLICIES)
@pytest.mark.parametrize("flight", [1, "all"])
def test_every_policy(sync: str, flight: Any) -> None:
    rng = np.random.default_rng(5)
    pattern = random_pattern(7, rng)
    plan = make_plan(forwarding(random_paths(pattern, 4, rng), rng), sync, in_flight=flight)
    assert (str(plan.sync), plan.in_flight) == (sync, None if flight == "all" else flight)
    check_delivery(plan, pattern)


def test_no_messages() -> None:
    pattern = Pattern.from_messages([], [], [], 3)
    plan = make_plan(forwarding(Paths(pattern, np.zeros((0, 3), np.int32))))
    assert (plan.transfers, plan.bytes, plan.phases) == (0, 0, 0)
    assert plan_baseline(forwarding(Paths(pattern, np.zeros((0, 3), np.int32)))).phases == 0


def test_work_areas_of_a_box() -> None:
    # complete exchange of 16 ranks on 4 × 4: what a rank packs and what it holds for others are
    # known
    source, target = np.divmod(np.arange(256), 16)
    pattern = Pattern.from_messages(source, target, np.full(256, 8), 16)
    plan = make_plan(forwarding(box(pattern, (4, 4))))
    assert plan.transfers == 96
    assert plan.needs is not None
    # stage 1: every bundle of four messages, three of which came by the three bundles of stage 0
    assert plan.needs.count == 16 * 3 * 3
    assert plan.work_bytes is not None
    # 3 arrivals of 4 messages, 3 packs of 4 and 3 arrivals that are unpacked; bundles of stage 0
    # are in the order of their targets, as the send buffer is, and are sent from there
    assert plan.work_bytes.tolist() == [36 * 8] * 16
    assert plan.packs is not None
    assert plan.packs.count == 16 * 3 * 4


def test_a_quarter_of_a_million_messages() -> None:
    source, target = np.divmod(np.arange(512 * 512), 512)
    pattern = Pattern.from_messages(source, target, np.full(source.size, 8), 512)
    program = forwarding(box(pattern, (16, 32)))
    plan = make_plan(program)
    assert plan.bytes == pattern.bytes == 512 * 511 * 8
    assert plan.transfers == 512 * (15 + 31)
    assert steps_of(plan) > planner.REPLAYED  # so the planner has not replayed it
    check_delivery(plan, pattern)


# --- the replay ---


def relay() -> Plan:
    return make_plan(forwarding(Paths(RELAY, [[0, 1, 1], [0, 1, 2], [1, 1, 2]])))


def refused(plan: Plan, pattern: Pattern, match: str) -> None:
    with pytest.raises(VerificationError, match=match):
        check_delivery(plan, pattern)


def test_the_replay_names_what_is_wrong() -> None:
    plan = relay()
    check_delivery(plan, RELAY)
    assert plan.packs is not None
    assert plan.unpacks is not None
    refused(
        replace(plan, needs=None),
        RELAY,
        "rank 1's send to rank 2 .* reads 6 B of which 0 are there",
    )
    swapped = replace(plan.packs, source=plan.packs.source[::-1], work=plan.packs.work[::-1])
    refused(replace(plan, packs=swapped), RELAY, "a send reads 6 B at byte 0 of an area of 5 B")
    refused(
        replace(plan, unpacks=replace(plan.unpacks, source=plan.unpacks.source + 1)),
        RELAY,
        "another position",
    )
    late = replace(plan.unpacks, offsets=[0, 0, 0], work=[], source=[], target=[], bytes=[])
    refused(replace(plan, unpacks=late), RELAY, "4 B never arrive")
    refused(
        plan,
        Pattern.from_messages([0, 0, 1], [1, 2, 2], [4, 5, 6], 3),
        "rank 0's send buffer has 10 B",
    )
    refused(plan, Pattern.from_messages([0], [1], [4], 2), "of 3 ranks, the pattern has 2")
    # the right bytes by the wrong name: 0→2 and 1→2 change places
    again = replace(
        plan, receives=replace(plan.receives, offset=[0, 1]), receive_bytes=np.array([0, 4, 12])
    )
    refused(again, RELAY, "rank 2's receive buffer has 12 B")


def test_bytes_that_another_send_has_packed_are_not_there() -> None:
    # rank 0 packs the same two messages for two bundles; one reads what the other has packed
    pattern = Pattern.from_messages([0] * 5, [1, 2, 3, 4, 5], [8] * 5, 6)
    plan = make_plan(
        forwarding(Paths(pattern, [[0, 1, 1], [0, 2, 2], [0, 1, 3], [0, 2, 4], [0, 0, 5]]))
    )
    assert plan.packs is not None
    assert plan.sends.of(0) == slice(0, 3)
    refused(
        replace(plan, sends=replace(plan.sends, offset=[16, 0, *plan.sends.offset[2:]])),
        pattern,
        "nothing it needs",
    )


def test_needs_in_a_cycle() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 0], [8, 8], 2)
    plan = make_plan(forwarding(direct(pattern)))
    cycle = planner.Needs(np.array([0, 1, 2]), np.array([0, 1]))
    refused(replace(plan, needs=cycle), pattern, "need each other's arrivals in a cycle")


def test_plain_schedules_are_replayed_too() -> None:
    pattern = random_pattern(6, np.random.default_rng(2))
    plan = make_plan(in_one_phase(pattern))
    check_delivery(plan, pattern)
    offset = plan.receives.offset.copy()
    same = np.flatnonzero((np.diff(plan.receives.rank) == 0) & (np.diff(plan.receives.bytes) == 0))
    offset[[same[0], same[0] + 1]] = offset[[same[0] + 1, same[0]]]
    refused(
        replace(plan, receives=replace(plan.receives, offset=offset)), pattern, "another message"
    )


def changed(rng: np.random.Generator, plan: Plan) -> Plan:
    """The plan with one thing in it wrong, whatever the program is."""
    side = str(rng.choice(["sends", "receives", "packs", "unpacks", "needs", "pair", "area"]))
    if side == "area":
        name = str(rng.choice(["send_bytes", "receive_bytes"]))
        sizes = getattr(plan, name).copy()
        sizes[rng.integers(sizes.size)] += int(rng.choice([-1, 1]))
        return replace(plan, **{name: sizes})
    if side == "needs":
        assert plan.needs is not None
        return replace(plan, needs=without(plan.needs, int(rng.integers(plan.needs.count))))
    if side == "pair":  # a message of bytes that nobody knows: both ends change by the same
        k = int(rng.integers(plan.sends.count))
        sends, receives = plan.sends, plan.receives
        other = int(np.flatnonzero(receives.transfer == sends.transfer[k])[0])
        by = int(rng.choice([-1, 1]))
        return replace(
            plan,
            sends=replace(sends, bytes=added(sends.bytes, k, by)),
            receives=replace(receives, bytes=added(receives.bytes, other, by)),
        )
    noun = getattr(plan, side)
    count = noun.count
    k = int(rng.integers(count))
    if isinstance(noun, Operations):
        name = str(rng.choice(["offset", "bytes", "peer", "work", "transfer"]))
        if name == "work":
            return replace(
                plan, **{side: replace(noun, work=noun.in_work ^ (np.arange(count) == k))}
            )
        by = int(rng.integers(1, plan.ranks)) if name == "peer" else int(rng.choice([-5, -1, 1, 7]))
        values = added(getattr(noun, name), k, by)
        if name == "peer":
            values[k] %= plan.ranks
        return replace(plan, **{side: replace(noun, **{name: values})})
    name = str(rng.choice(["source", "target", "bytes", "work", "none"]))
    if name == "none":
        return replace(plan, **{side: without(noun, k)})
    if name == "work":
        return replace(plan, **{side: replace(noun, work=noun.work ^ (np.arange(count) == k))})
    return replace(
        plan,
        **{
            side: replace(
                noun, **{name: added(getattr(noun, name), k, int(rng.choice([-3, -1, 1, 2])))}
            )
        },
    )


def added(values: NDArray[Any], k: int, by: int) -> NDArray[Any]:
    values = values.copy()
    values[k] += by
    return values


def without(rows: Any, k: int) -> Any:
    """Copies or needs without number `k`."""
    offsets = rows.offsets - (rows.offsets > k)
    return replace(
        rows,
        offsets=offsets,
        **{
            each.name: np.delete(getattr(rows, each.name), k)
            for each in fields(rows)
            if each.name != "offsets"
        },
    )


@pytest.mark.parametrize("seed", range(10))
def test_every_mutant_is_caught(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, plan = random_pattern(7, rng), None
    while plan is None or None in (
        plan.packs,
        plan.unpacks,
        plan.needs,
    ):  # of which there are mutants too
        plan = make_plan(forwarding(random_paths(pattern, 3, rng, cut=seed % 2 == 0), rng))
    missed = []
    for number in range(100):
        mutant = changed(rng, plan)
        assert mutant != plan
        try:
            check_delivery(mutant, pattern)
        except VerificationError:
            continue
        missed.append(number)
    assert missed == []


# --- building blocks ---


def blocks(*parts: tuple[str, int], on: str = "mesh:2x2") -> Program:
    machine = parse_machine(on)
    options = CompileOptions(method="first-fit")

    def pattern(text: str) -> Pattern:
        return parse_pattern(
            text, topology=machine.topology, ranks=machine.topology.endpoints, seed=0
        )

    return compile_program(
        [BlockSpec(text, pattern(text), count, options) for text, count in parts], machine, options
    )


@pytest.mark.parametrize("sync", POLICIES)
def test_every_repetition_of_a_block_has_bytes_of_its_own(sync: str) -> None:
    program = blocks(("alltoall:size=16", 3), ("shift:size=40", 2), ("alltoall:size=16", 1))
    plan = make_plan(program, sync)
    everything = chained(program).pattern
    assert (plan.transfers, plan.bytes) == (4 * 12 + 2 * 4, 4 * 12 * 16 + 2 * 4 * 40)
    assert plan.receive_bytes.tolist() == [4 * 3 * 16 + 2 * 40] * 4
    assert plan.work_bytes is None
    check_delivery(plan, everything)
    assert plan.phases == chained(program).phases


def test_the_baseline_of_blocks_goes_stage_by_stage() -> None:
    program = blocks(("alltoall:size=16", 2), ("shift:size=40", 1))
    baseline = plan_baseline(program)
    check_plan(baseline)
    check_delivery(baseline, chained(program).pattern)
    assert (baseline.phases, str(baseline.sync)) == (3, "local")
    rows = baseline.sends.of(0)
    assert baseline.sends.phase[rows].tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert baseline.sends.bytes[rows].tolist() == [16] * 6 + [40]
    # the bytes of a pair lie in the order of the stages
    to_one = baseline.sends.peer[rows] == 1
    assert baseline.sends.offset[rows][to_one].tolist() == [0, 16, 32]


def test_the_baseline_of_a_program_that_forwards_is_the_direct_exchange() -> None:
    rng = np.random.default_rng(8)
    pattern = random_pattern(6, rng)
    program = forwarding(random_paths(pattern, 3, rng))
    baseline, plan = plan_baseline(program), make_plan(program)
    check_delivery(baseline, pattern)
    assert (baseline.phases, str(baseline.sync), baseline.transfers) == (
        1,
        "none",
        pattern.messages,
    )
    assert (baseline.send_bytes == plan.send_bytes).all()
    assert (baseline.receive_bytes == plan.receive_bytes).all()


def test_a_program_of_one_schedule_is_planned_as_it() -> None:
    schedule = in_one_phase(random_pattern(5, np.random.default_rng(3)))
    assert make_plan(Program.of(schedule)) == make_plan(schedule)


def test_a_bundle_larger_than_mpi_carries_travels_in_parts() -> None:
    pattern = Pattern.from_messages([0, 0], [1, 2], [2**30, 2**30], 3)
    plan = make_plan(forwarding(Paths(pattern, [[0, 1, 1], [0, 1, 2]])))
    assert plan.sends.bytes.tolist() == [2**30, 2**30, 2**30]
    assert plan.bytes == pattern.bytes
