"""Ranks that share a core: the processor of a node serves all its ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import conset
from conset.combining.evaluate import evaluate
from conset.errors import UsageError
from conset.pattern.pattern import Pattern
from conset.program.paths import direct
from conset.simulation import Workload
from conset.verification.timeline.check import check_timeline

ON = "crossbar:2,send_overhead=1us,receive_overhead=2us,inject=0,eject=0,port=1TB/s"


def exchange(processors: str, pattern: str | Pattern) -> conset.Schedule:
    machine = conset.load_machine(f"{ON},processors={processors}")
    schedule = conset.compile(pattern, machine, method="naive", sync="none", ranks_per_node=8)
    assert isinstance(schedule, conset.Schedule)
    return schedule


def test_a_complete_exchange_takes_the_work_of_all_ranks_of_a_node() -> None:
    """16 ranks on two cores: 8 ranks have 15 sends of 1 us and 15 receives of 2 us, none of which has to wait."""
    schedule = exchange("shared", "alltoall:size=8")
    timeline = conset.simulate(schedule)
    assert timeline.end_s.max() == pytest.approx(8 * 15 * 3e-6, rel=1e-6)
    assert conset.simulate(exchange("one", "alltoall:size=8")).end_s.max() == pytest.approx(15 * 3e-6, rel=0.1)


def test_the_hub_of_a_skewed_pattern_is_served_by_the_core_as_others_are() -> None:
    """Rank 0 of 16 sends to all: 15 us of sends, and of the 15 receives 7 on its own core and 8 on the other."""
    hub = Pattern.from_messages(np.zeros(15, int), np.arange(1, 16), np.full(15, 8), 16)
    end = conset.simulate(exchange("shared", hub)).end_s.max()
    assert end == pytest.approx(15e-6 + 7 * 2e-6, rel=0.1)


def test_the_estimate_of_paths_is_at_least_the_work_of_a_node() -> None:
    schedule = exchange("shared", "alltoall:size=8")
    estimate = evaluate(direct(schedule.pattern), schedule.machine, schedule.placement)
    assert estimate.time_s == pytest.approx(8 * 15 * 3e-6, rel=1e-6)


def test_timelines_of_shared_processors_are_checked() -> None:
    schedule = exchange("shared", "alltoall:size=8")
    assert check_timeline(conset.simulate(schedule), Workload.of_schedule(schedule), schedule.machine) == ()


def test_shared_processors_are_not_preempted() -> None:
    with pytest.raises(UsageError, match="needs processors=one, is shared"):
        conset.load_machine(f"{ON},processors=shared,preempts=true")


def test_a_machine_file_says_shared(tmp_path: Path) -> None:
    path = tmp_path / "cores.toml"
    path.write_text(
        '[network]\nkind = "crossbar"\nnodes = 2\n\n[costs]\nprocessors = "shared"\nsend_overhead = "1 us"\n'
    )
    assert conset.load_machine(str(path)).costs.processors == "shared"
