"""Schedules over real MPI: every byte arrives under every policy, and what goes wrong is said."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import conset
from conset.base.errors import ExecutionError, UsageError
from conset.base.progress import share_of, works
from conset.execution import planner
from conset.execution.job import Given, explain_end, find_launcher, start_job
from conset.execution.planner import make_plan
from conset.execution.run import VARIANTS, run_compiled, run_plan
from conset.schedule.schedule import Schedule

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


@pytest.mark.openmpi
@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "barrier:3", "detect"])
def test_every_byte_arrives(schedule: Schedule, sync: str) -> None:
    assert schedule.transfers > schedule.pattern.messages  # some are split
    result = run_compiled(schedule, sync=sync, repeat=3, timeout=60)
    assert result.wrong == ()
    assert result.mismatches == 0
    # four variants, three repetitions and the one that is dropped
    assert result.bytes_checked == 4 * 4 * schedule.pattern.bytes
    assert (result.ranks, result.sync, result.repeat) == (4, sync, 3)
    found = result.to_object()
    for key in ("median_s", "naive_median_s", "alltoallv_median_s", "neighbor_alltoallv_median_s"):
        assert 0 < found[key] < 10
    assert sorted(result.times_s) == sorted(VARIANTS)
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "detect"])
def test_messages_that_no_call_carries_travel_in_parts(
    sync: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of more than 2 GiB, with a limit of 1,000 bytes."""
    pattern = "random:degree=2,size=log-uniform(100,5000)"
    direct = conset.compile(pattern, "mesh:2x2", sync=sync)
    program = conset.compile(pattern, "mesh:2x2", sync=sync, combine="2x2")
    whole = make_plan(direct)
    monkeypatch.setattr(planner, "MAX_BYTES", 1000)
    monkeypatch.setattr(planner, "PART", 400)
    parts = make_plan(direct)
    assert parts.sends.bytes.max() <= 1000 < whole.sends.bytes.max()
    assert (parts.send_bytes == whole.send_bytes).all()
    for what in (direct, program):
        result = run_compiled(what, repeat=2, timeout=60)
        assert result.mismatches == 0
        assert result.bytes_checked > 0


def test_more_ranks_than_cores(make_schedule: Callable[..., Schedule]) -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # the job inherits it
    try:
        result = run_compiled(make_schedule(6), sync="barrier", repeat=2, timeout=60)
    finally:
        os.sched_setaffinity(0, cores)
    assert result.mismatches == 0
    assert result.cores == 1
    assert "6 ranks share 1 core:" in " ".join(result.notes)
    assert "the naive exchange is usually fastest here" in " ".join(result.notes)


def test_a_pattern_without_messages(make_schedule: Callable[..., Schedule]) -> None:
    from dataclasses import replace

    from conset.pattern.pattern import Pattern

    empty = replace(
        make_schedule(2),
        pattern=Pattern.from_messages([], [], [], 2),
        phase_offsets=[0],
        message=[],
        parts=None,
    )
    result = run_compiled(empty, repeat=1, timeout=60)
    assert (result.bytes_checked, result.mismatches, result.phases) == (0, 0, 0)


@pytest.mark.openmpi
def test_a_wrong_byte_is_named(schedule: Schedule, programs: Path) -> None:
    plan = make_plan(schedule)
    result = run_plan(plan, repeat=3, timeout=60, entry=(str(programs / "wrong_byte.py"),))
    assert result.mismatches == 2
    _, receives = plan.pair_ranges(2)
    assert receives.bytes[0] > 5  # byte 5 of the buffer is byte 5 from its first source
    assert len(result.wrong) == 1
    assert result.wrong[0].startswith(f"rank 2: byte 5 from rank {receives.peer[0]} is 0x")
    assert "(schedule, repetition 1)" in result.wrong[0]


@pytest.mark.openmpi
def test_a_killed_rank_ends_the_others(schedule: Schedule, programs: Path) -> None:
    began = time.monotonic()
    with pytest.raises(
        ExecutionError, match=r"(a rank|rank 2) died \(SIGKILL\), the others were ended"
    ) as error:
        run_plan(
            make_plan(schedule, "local"),
            repeat=1,
            timeout=60,
            entry=(str(programs / "killed.py"),),
        )
    assert error.value.exit_code == 4
    assert time.monotonic() - began < 1 + 5  # it lives for one second


@pytest.mark.openmpi
@pytest.mark.parametrize(
    ("sync", "line"),
    [
        # nothing is waited for in between: only what comes from or goes to rank 1 is missing
        (
            "none",
            r"rank [023]: all phases, sync none: ((no data from|data not taken by) 1(; )?)+ "
            r"after 1\.\d s$",
        ),
        # here another rank that waits for rank 1 in an earlier phase may be the missing one
        ("ready", r"rank [023]: phase \d, sync ready: no (data|signal) from \d.* after 1\.\d s$"),
    ],
)
def test_a_deadline_names_who_is_missing(
    schedule: Schedule, programs: Path, sync: str, line: str
) -> None:
    began = time.monotonic()
    with pytest.raises(ExecutionError, match=line):
        run_plan(
            make_plan(schedule, sync),
            repeat=1,
            timeout=60,
            entry=(str(programs / "absent.py"),),
        )
    assert time.monotonic() - began < 8


def test_a_job_that_hangs_is_ended(schedule: Schedule, programs: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ExecutionError, match="did not end within 1 s"):
        run_plan(make_plan(schedule), repeat=1, timeout=1, entry=(str(programs / "hangs.py"),))
    assert time.monotonic() - began < 6


@pytest.mark.openmpi
def test_job_and_plan_of_different_sizes(schedule: Schedule, tmp_path: Path) -> None:
    orders = {"baselines": [], "staged": False, "fixed": [], "ordered": False, "timeout_s": 10}
    orders["stopping"] = {"least": 1, "most": 1}
    Given(orders, {"schedule": make_plan(schedule)}).write(tmp_path)
    task = "conset.execution.measure:measure_plans"
    program = ["-m", "mpi4py", "-m", "conset.execution.rank", task, str(tmp_path)]
    ended = start_job(find_launcher(), 3, program, folder=tmp_path, timeout_s=30)
    assert ended.status != 0
    assert not (tmp_path / "result.json").exists()
    assert "the MPI job has 3 ranks, the plan 4: must agree" in str(explain_end(ended, 30))


@pytest.mark.openmpi
def test_the_executor_inside_an_application(programs: Path, tmp_path: Path) -> None:
    program = ["-m", "mpi4py", str(programs / "application.py"), str(tmp_path)]
    ended = start_job(find_launcher(), 4, program, folder=tmp_path, timeout_s=30)
    assert (ended.status, ended.err) == (0, "")
    assert [(tmp_path / f"rank-{r}").read_text() for r in range(4)] == ["right"] * 4


@pytest.mark.openmpi
def test_what_mpi_refuses_is_an_error_in_its_words(programs: Path, tmp_path: Path) -> None:
    program = ["-m", "mpi4py", str(programs / "truncated.py"), str(tmp_path)]
    assert start_job(find_launcher(), 2, program, folder=tmp_path, timeout_s=30).status != 0
    assert not (tmp_path / "rank-0").exists()
    assert re.fullmatch(r"rank 1: MPI_Test: .*truncated.*", (tmp_path / "rank-1").read_text())


@pytest.mark.openmpi
def test_inside_a_running_job_no_other_is_started(programs: Path, tmp_path: Path) -> None:
    program = [str(programs / "inside.py"), str(tmp_path)]
    ended = start_job(find_launcher(), 4, program, folder=tmp_path, timeout_s=30)
    assert (ended.status, ended.err) == (0, "")
    results = [json.loads((tmp_path / f"rank-{r}").read_text()) for r in range(4)]
    assert all(
        (found["ranks"], found["mismatches"], found["sync"]) == (4, 0, "barrier:2")
        for found in results
    )
    assert len({found["median_s"] for found in results}) == 1


@pytest.mark.openmpi
def test_another_launcher(schedule: Schedule) -> None:
    own, *options = find_launcher()
    assert (
        run_compiled(
            schedule, repeat=1, mpiexec=f"'{own}' {' '.join(options)} -wdir .", timeout=60
        ).mismatches
        == 0
    )
    with pytest.raises(UsageError, match="launcher 'no-such-launcher': No such file or directory"):
        run_compiled(schedule, repeat=1, mpiexec="no-such-launcher --x")


def test_a_launcher_that_starts_nothing(schedule: Schedule) -> None:
    # its status is 0, and no rank ever ran
    with pytest.raises(ExecutionError, match="left no result"):
        run_compiled(schedule, repeat=1, mpiexec="true", timeout=30)


def test_a_run_tells_how_far_it_is() -> None:
    under_way, seen, over = works(), set(), threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            seen.add(share_of(under_way))

    looker = threading.Thread(target=look)
    looker.start()
    run_compiled(conset.compile("alltoall:size=4MiB", "crossbar:2"), repeat=600)
    over.set()
    looker.join()
    assert any(0 < share < 1 for share in seen)
    assert works() == []


def test_words_out_of_range(schedule: Schedule) -> None:
    with pytest.raises(UsageError, match="repeat 0"):
        run_compiled(schedule, repeat=0)
    with pytest.raises(UsageError, match="timeout -1 s"):
        run_compiled(schedule, timeout=-1)
