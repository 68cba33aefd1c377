"""What each policy holds back: told apart by who waits for a rank that comes late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import conset
from conset.execution.launcher import find_launcher, start_job
from conset.execution.plan import Plan
from conset.execution.planner import plan_schedule
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

WAITING = {
    # phase 0: 0→2; phase 1: 1→2, 2→3, 4→5; rank 0 is late. Which of ranks 1, 3 and 5 have to wait for it?
    "none": (False, False, False),
    # rank 2 does not send to 3 before it has what 0 sends; rank 1's 8 bytes go without asking
    "local": (False, True, False),
    # rank 2 does not signal 1 either
    "ready": (True, True, False),
    # nobody passes phase 0
    "barrier": (True, True, True),
    # both phases are one group, and there is no barrier after the last
    "barrier:2": (False, False, False),
}


def who_ended_late(plans: dict[str, Plan], who: int, programs: Path, folder: Path) -> list[dict[str, bool]]:
    """For each rank and plan: whether its exchange ended after rank `who`, which comes late, began."""
    for name, plan in plans.items():
        plan.save(folder / f"{name}.npz")
    ranks = next(iter(plans.values())).ranks
    program = ["-m", "mpi4py", str(programs / "late_rank.py"), str(folder), str(who)]
    ended = start_job(find_launcher(), ranks, program, folder=folder, timeout_s=60)
    assert (ended.status, ended.err) == (0, "")
    late: list[dict[str, bool]] = json.loads((folder / "late.json").read_text())
    return late


def test_who_waits_for_a_late_rank(programs: Path, tmp_path: Path) -> None:
    pattern = Pattern.from_messages(6, [0, 1, 2, 4], [2, 2, 3, 5], [8, 8, 8, 8])
    topology = Topology.crossbar(6)
    machine = Machine("crossbar:6", topology, Routing.default(topology))
    schedule = Schedule(pattern, machine, "hand", Limits(), [0, 1, 4], [0, 1, 2, 3])  # type: ignore[arg-type]
    plans = {sync: plan_schedule(schedule, sync) for sync in WAITING}
    late = who_ended_late(plans, 0, programs, tmp_path)
    assert {sync: tuple(late[rank][sync] for rank in (1, 3, 5)) for sync in WAITING} == WAITING
    assert all(late[2].values())  # it receives from rank 0


def test_one_send_in_flight_holds_the_next_back(programs: Path, tmp_path: Path) -> None:
    # rank 0 sends 4 MiB to rank 1, which is late, then 8 bytes to rank 2: too much for MPI to take without rank 1
    pattern = Pattern.from_messages(3, [0, 0], [1, 2], [4 << 20, 8])
    topology = Topology.crossbar(3)
    machine = Machine("crossbar:3", topology, Routing.default(topology))
    schedule = Schedule(pattern, machine, "hand", Limits(), [0, 2], [0, 1])  # type: ignore[arg-type]
    plans = {str(n): plan_schedule(schedule, "none", in_flight=n) for n in (None, 1, 2)}
    late = who_ended_late(plans, 1, programs, tmp_path)
    assert late[2] == {"None": False, "1": True, "2": False}


@pytest.mark.parametrize("sync", WAITING)
def test_every_policy_ends_with_one_send_in_flight(sync: str) -> None:
    schedule = conset.compile("alltoall:size=64KiB", "mesh:2x2", method="first-fit")
    result = conset.run(schedule, sync=sync, in_flight=1, repeat=2)
    assert (result.mismatches, result.in_flight) == (0, 1)
