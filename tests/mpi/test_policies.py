"""What each policy holds back: told apart by who waits for a rank that comes late."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.execution.job import find_launcher, start_job
from conset.execution.plan import Plan, write_plan_file
from conset.execution.planner import make_plan
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import with_settings
from conset.pattern.pattern import Pattern
from conset.schedule.policy import most_posted, parse_sync
from conset.schedule.schedule import Schedule

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

WAITING = {
    # phase 0: 0→2; phase 1: 1→2, 2→3, 4→5; rank 0 is late. Which of ranks 1, 3 and 5 have to wait
    # for it?
    "none": (False, False, False),
    # rank 2 does not send to 3 before it has what 0 sends; rank 1's 8 bytes go without asking
    "local": (False, True, False),
    # rank 2 does not signal 1 either
    "ready": (True, True, False),
    # nobody passes phase 0
    "barrier": (True, True, True),
    # both phases are one group, and there is no barrier after the last
    "barrier:2": (False, False, False),
    # 2 takes what comes, whoever sent it
    "detect": (False, False, False),
}


def who_ended_late(
    plans: dict[str, Plan], who: int, programs: Path, folder: Path
) -> list[dict[str, bool]]:
    """For each rank and plan.

    Whether its exchange ended after rank `who`, which comes late, began.
    """
    for name, plan in plans.items():
        write_plan_file(plan, folder / f"{name}.plan")
    ranks = next(iter(plans.values())).ranks
    program = ["-m", "mpi4py", str(programs / "late_rank.py"), str(folder), str(who)]
    ended = start_job(find_launcher(), ranks, program, folder=folder, timeout_s=60)
    assert (ended.status, ended.err) == (0, "")
    late: list[dict[str, bool]] = json.loads((folder / "late.json").read_text())
    return late


def one_phase(pattern: Pattern) -> Schedule:
    """All messages by index, on a crossbar."""
    topology = Topology.crossbar(pattern.ranks)
    machine = Machine(f"crossbar:{pattern.ranks}", topology, Routing.default(topology))
    order = np.arange(pattern.messages, dtype=np.int32)
    return Schedule(pattern, machine, "hand", Limits(), np.array([0, pattern.messages]), order)


@pytest.mark.openmpi
def test_who_waits_for_a_late_rank(programs: Path, tmp_path: Path) -> None:
    pattern = Pattern.from_messages([0, 1, 2, 4], [2, 2, 3, 5], [8, 8, 8, 8], 6)
    topology = Topology.crossbar(6)
    machine = Machine("crossbar:6", topology, Routing.default(topology))
    schedule = Schedule(pattern, machine, "hand", Limits(), [0, 1, 4], [0, 1, 2, 3])  # type: ignore[arg-type]
    plans = {sync: make_plan(schedule, sync) for sync in WAITING}
    late = who_ended_late(plans, 0, programs, tmp_path)
    assert {sync: tuple(late[rank][sync] for rank in (1, 3, 5)) for sync in WAITING} == WAITING
    assert all(late[2].values())  # it receives from rank 0


def test_one_send_in_flight_holds_the_next_back(programs: Path, tmp_path: Path) -> None:
    # rank 0 sends 4 MiB to rank 1, which is late, then 8 bytes to rank 2: too much for MPI to take
    # without rank 1
    pattern = Pattern.from_messages([0, 0], [1, 2], [4 << 20, 8], 3)
    topology = Topology.crossbar(3)
    machine = Machine("crossbar:3", topology, Routing.default(topology))
    schedule = Schedule(pattern, machine, "hand", Limits(), [0, 2], [0, 1])  # type: ignore[arg-type]
    plans = {str(n): make_plan(schedule, "none", in_flight=n) for n in (None, 1, 2)}
    late = who_ended_late(plans, 1, programs, tmp_path)
    assert late[2] == {"None": False, "1": True, "2": False}


def test_any_send_that_ends_makes_place_for_the_next(programs: Path, tmp_path: Path) -> None:
    # of two slots the first is held by rank 1, which is late; the others follow each other through
    # the second
    pattern = Pattern.from_messages([0] * 4, [1, 2, 3, 4], [4 << 20, 8, 8, 8], 5)
    plans = {str(n): make_plan(one_phase(pattern), "none", in_flight=n) for n in (1, 2)}
    late = who_ended_late(plans, 1, programs, tmp_path)
    assert [late[rank]["1"] for rank in (2, 3, 4)] == [True] * 3
    assert [late[rank]["2"] for rank in (2, 3, 4)] == [False] * 3


def test_a_schedule_says_how_many_sends_are_in_flight() -> None:
    pattern = Pattern.from_messages([0, 0], [1, 2], [8, 8], 3)
    schedule = one_phase(pattern)
    limited = with_settings(schedule.machine, "in_flight=4")
    for machine, said, asked, found in (
        (schedule.machine, None, None, None),
        (schedule.machine, 2, None, 2),
        (schedule.machine, 2, "all", None),
        (schedule.machine, 2, 3, 3),
        (limited, None, None, 4),
        (limited, "all", None, None),
        (limited, 1, None, 1),
    ):
        plan = make_plan(replace(schedule, machine=machine, in_flight=said), in_flight=asked)  # type: ignore[arg-type]
        assert plan.in_flight == found


@pytest.mark.openmpi
def test_receives_are_posted_when_their_phase_begins(programs: Path, tmp_path: Path) -> None:
    # phase 0: 0→2, rank 0 is late; phase 1: 1→2 with 4 MiB, too much to leave rank 1 before rank 2
    # has posted it
    pattern = Pattern.from_messages([0, 1], [2, 2], [8, 4 << 20], 3)
    schedule = replace(one_phase(pattern), phase_offsets=[0, 1, 2])  # type: ignore[arg-type]
    plans = {sync: make_plan(schedule, sync) for sync in WAITING}
    late = who_ended_late(plans, 0, programs, tmp_path)
    assert late[1] == {
        "none": False,
        "local": True,
        "ready": True,
        "barrier": True,
        "barrier:2": False,
        "detect": False,
    }


@pytest.mark.parametrize("flight", [None, 1])
def test_no_more_receives_are_posted_than_those_of_a_group(
    programs: Path, tmp_path: Path, flight: int | None
) -> None:
    schedule = conset.compile("alltoall:size=20KiB", "mesh:2x3", method="first-fit")
    assert schedule.phases > 4
    for sync in WAITING:
        write_plan_file(
            make_plan(schedule, sync, in_flight=flight or "all"), tmp_path / f"{sync}.plan"
        )
    program = ["-m", "mpi4py", str(programs / "posted.py"), str(tmp_path)]
    ended = start_job(find_launcher(), 6, program, folder=tmp_path, timeout_s=60)
    assert (ended.status, ended.err) == (0, "")
    found = json.loads((tmp_path / "posted.json").read_text())
    ends = schedule.source_node, schedule.target_node, schedule.phase_of
    for sync in WAITING:
        assert found[sync]["receives"] == most_posted(*ends, parse_sync(sync))[0]
        most = max(np.bincount(schedule.source_node))
        assert found[sync]["sends"] <= (flight or most)
        assert found[sync]["right"]


@pytest.mark.parametrize("sync", WAITING)
def test_every_policy_ends_with_one_send_in_flight(sync: str) -> None:
    schedule = conset.compile("alltoall:size=64KiB", "mesh:2x2", method="first-fit")
    result = conset.run(schedule, sync=sync, in_flight=1, repeat=2)
    assert (result.mismatches, result.in_flight) == (0, 1)


@pytest.mark.openmpi
@pytest.mark.parametrize(
    ("who", "first"),
    [(0, [0, 1, 8]), (1, [0, 1, 4 << 20])],
    ids=["what it receives", "what it sends"],
)
def test_an_order_is_kept_inside_a_phase(
    who: int, first: list[int], programs: Path, tmp_path: Path
) -> None:
    """0 → 1 comes late, as its source does, or ends late, as its target does and it is too much
    to leave without it.

    The rank of it that is in time then sends to 2, and receives from 3: both must end late, under
    every policy.
    """
    there = 1 - who
    rows = sorted([first, [there, 2, 8], [3, there, 8]])
    i, *others = (rows.index(row) for row in (first, [there, 2, 8], [3, there, 8]))
    source, target, size = np.array(rows).T
    order = [i, *others]
    plans = {}
    for name, before in (("", [(i, j) for j in others]), (" free", None)):
        pattern = Pattern.from_messages(source, target, size, 4, before=before)
        schedule = replace(one_phase(pattern), message=np.array(order, np.int32))
        assert conset.verify(schedule).ok
        plans |= {sync + name: make_plan(schedule, sync) for sync in WAITING}
    late = who_ended_late(plans, who, programs, tmp_path)
    for sync in WAITING:
        assert [late[rank][sync] for rank in (2, 3)] == [True, True], sync
        behind = (
            sync == "ready" and who == 1
        )  # sends are posted in order, and the first waits for its signal
        assert [late[rank][f"{sync} free"] for rank in (2, 3)] == [behind, False], sync


@pytest.mark.openmpi
def test_a_bitonic_order_in_one_phase_runs(tmp_path: Path) -> None:
    """Rank r sends to r XOR 2^k when it has what it gets from r XOR 2^(k - 1).

    Every byte, under every policy.
    """
    lines = ["source,target,bytes,after"]
    for k in range(3):
        for rank in range(8):
            after = "" if k == 0 else str((k - 1) * 8 + (rank ^ (1 << (k - 1))))
            lines.append(f"{rank},{rank ^ (1 << k)},{1000 + rank},{after}")
    file = tmp_path / "bitonic.csv"
    file.write_text("\n".join(lines) + "\n")
    for method in ("connections", "naive", "event-list"):
        schedule = conset.compile(str(file), "hypercube:3", method=method)
        assert schedule.phases == 1
        for sync in WAITING:
            result = conset.run(schedule, sync=sync, repeat=2)
            assert (result.mismatches, result.wrong) == (0, ()), (method, sync)
            assert result.bytes_checked > 0
