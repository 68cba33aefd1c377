"""Run-time scheduling in a real job.

Every rank has its row only, every byte is checked, every part is timed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import conset
from conset.studies.run_time.job import measure_job

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

PATTERN, MACHINE = "random:degree=2,size=log-uniform(1,32KiB)", "torus:2x2"


def test_costs_are_measured_and_every_byte_is_checked() -> None:
    result = conset.run_at_run_time(
        PATTERN, MACHINE, ranks=4, methods="rs-n", repeat=2, timeout=60, predict=[16]
    )
    costs = result.measured
    assert costs is not None
    assert (result.mismatches, result.wrong, costs.skipped) == (0, (), ())
    asked = [
        (row.asked_method, row.asked_sync, row.compute, row.sources_known) for row in costs.rows
    ]
    ways = [
        ("rs-n", sync, way, True) for sync in ("none", "ready", "auto") for way in ("all", "one")
    ]
    baselines = [
        ("naive", "none", "", True),
        ("naive", "none", "", False),
        ("naive", "detect", "", False),
    ]
    assert asked == [*baselines, *ways]
    # three executions of each, two repetitions and the one that is dropped
    assert result.bytes_checked == conset.load_pattern(PATTERN, MACHINE).bytes * len(asked) * 3 * 3
    compiled = conset.compile(PATTERN, MACHINE, method="rs-n")
    for row in costs.rows:
        assert len(row.setup_s) == len(row.rows_s) == len(row.execution_s) == 2
        for k in range(2):
            assert row.execution_s[k] > 0
            assert max(row.rows_s[k], row.schedule_s[k], row.plan_s[k]) <= row.setup_s[k]
        if row.method == "rs-n":
            assert row.phases == compiled.phases
            assert min(row.rows_s) > 0
            assert min(row.schedule_s) > 0
    assert [each.ranks for each in result.predicted] == [16]


def test_a_wrong_byte_is_named(programs: Path) -> None:
    pattern, machine = conset.load_pattern(PATTERN, MACHINE), conset.load_machine(MACHINE)
    result = measure_job(
        pattern,
        machine,
        methods=[],
        repeat=1,
        timeout=60,
        entry=(str(programs / "wrong_byte_at_run_time.py"),),
    )
    assert result.mismatches == 3
    assert len(result.wrong) == 1
    assert result.wrong[0].startswith("rank 1: byte 0 from rank ")
    assert result.wrong[0].endswith("(naive, none, repetition 1)")
