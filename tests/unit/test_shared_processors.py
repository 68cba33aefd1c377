"""Ranks that share a core: the processor of a node serves all its ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import UsageError
from conset.bounds import bound_for_model, bound_schedule
from conset.machine.costs import Limits
from conset.methods.paths.evaluate import evaluate
from conset.models import Workload, predict
from conset.models.settings import Settings
from conset.models.usage import least_time
from conset.pattern.pattern import Pattern
from conset.schedule.paths import direct
from conset.verification.timeline.check import check_timeline
from support.hand_made_timelines import by_hand

ON = "crossbar:2,send_overhead=1us,receive_overhead=2us,inject=0,eject=0,port=1TB/s"


def exchange(processors: str, pattern: str | Pattern) -> conset.Schedule:
    machine = conset.load_machine(f"{ON},processors={processors}")
    schedule = conset.compile(pattern, machine, method="naive", sync="none", ranks_per_node=8)
    assert isinstance(schedule, conset.Schedule)
    return schedule


def test_a_complete_exchange_takes_the_work_of_all_ranks_of_a_node() -> None:
    """16 ranks on two cores.

    8 ranks have 15 sends of 1 us and 15 receives of 2 us, none of which has to wait.
    """
    schedule = exchange("shared", "alltoall:size=8")
    timeline = conset.simulate(schedule)
    assert timeline.end_s.max() == pytest.approx(8 * 15 * 3e-6, rel=1e-6)
    assert conset.simulate(exchange("one", "alltoall:size=8")).end_s.max() == pytest.approx(
        15 * 3e-6, rel=0.1
    )


def test_the_hub_of_a_skewed_pattern_is_served_by_the_core_as_others_are() -> None:
    """Rank 0 of 16 sends to all.

    15 us of sends, and of the 15 receives 7 on its own core and 8 on the other.
    """
    hub = Pattern.from_messages(np.zeros(15, int), np.arange(1, 16), np.full(15, 8), 16)
    end = conset.simulate(exchange("shared", hub)).end_s.max()
    assert end == pytest.approx(15e-6 + 7 * 2e-6, rel=0.1)


def test_the_estimate_of_paths_is_at_least_the_work_of_a_node() -> None:
    schedule = exchange("shared", "alltoall:size=8")
    estimate = evaluate(direct(schedule.pattern), schedule.machine, schedule.placement)
    assert estimate.time_s == pytest.approx(8 * 15 * 3e-6, rel=1e-6)


def test_timelines_of_shared_processors_are_checked() -> None:
    schedule = exchange("shared", "alltoall:size=8")
    assert (
        check_timeline(conset.simulate(schedule), Workload.of_schedule(schedule), schedule.machine)
        == ()
    )


def test_shared_processors_are_not_preempted() -> None:
    with pytest.raises(UsageError, match="needs processors=one, is shared"):
        conset.load_machine(f"{ON},processors=shared,preempts=true")


def test_a_machine_file_says_shared(tmp_path: Path) -> None:
    path = tmp_path / "cores.toml"
    path.write_text(
        '[network]\nkind = "crossbar"\nnodes = 2\n\n[costs]\nprocessors = "shared"\n'
        'send_overhead = "1 us"\n'
    )
    assert conset.load_machine(str(path)).costs.processors == "shared"


# ---- the same word in formulas, bounds, and the checker: two ranks on each of two nodes

PAIRS = (
    "crossbar:2,send_overhead=5us,receive_overhead=7us,inject=3us,eject=0,port=1MB/s,processors="
    "shared"
)


def placed(
    words: str = "", sync: str = "none", phases: tuple[int, ...] = (0, 3)
) -> conset.Schedule:
    """0 → 1 inside node 0; 0 → 2 and 1 → 3 to node 1; 1 B each."""
    pattern = Pattern.from_messages([0, 0, 1], [1, 2, 3], [1, 1, 1], 4)
    machine = conset.load_machine(PAIRS + words)
    placement = np.array([0, 0, 1, 1], np.int32)
    offsets, message = np.array(phases), np.arange(3, dtype=np.int32)
    return conset.Schedule(
        pattern, machine, "by hand", Limits(), offsets, message, placement=placement, sync=sync
    )


@pytest.mark.parametrize("sync", ["none", "barrier", "local", "ready"])
def test_a_formula_adds_up_the_ranks_of_a_node(sync: str) -> None:
    """Node 0: three sends and a receive.

    Under `ready` a signal for each of two messages that leave it.
    """
    prediction = predict(placed(",signal=2us", sync))
    signals = 2 * 1e-6 if sync == "ready" else 0.0
    assert prediction.time_s == pytest.approx(3 * 5e-6 + 7e-6 + signals)
    assert prediction.witness_kind == "shared processor"
    assert prediction.witness.endswith("processor of all ranks on node 0")


def test_a_formula_adds_up_the_set_ups_of_a_node() -> None:
    prediction = predict(placed(",setup=100us"))
    assert prediction.terms["setup"] == pytest.approx(200e-6)
    assert prediction.time_s == pytest.approx(200e-6 + 22e-6)


def test_ranks_alone_on_their_nodes_have_processors_of_their_own() -> None:
    hub = Pattern.from_messages([0, 0, 1], [1, 2, 0], [8, 8, 8], 3)
    times = []
    for word in ("one", "shared"):
        machine = conset.load_machine(
            f"crossbar:3,send_overhead=5us,receive_overhead=7us,processors={word}"
        )
        schedule = conset.compile(hub, machine, method="naive", sync="local")
        assert isinstance(schedule, conset.Schedule)
        bound = bound_schedule(schedule)
        times.append((conset.simulate(schedule).time_s, predict(schedule).time_s, bound.time_s))
    assert times[0] == times[1]


def test_bounds_add_up_the_ranks_of_a_node() -> None:
    schedule = placed()
    bounds = bound_schedule(schedule)
    assert bounds.time_s == pytest.approx(22e-6)
    assert bounds.time_witness.startswith("the processor that 2 ranks on node 0 share")
    assert bound_for_model(schedule, "wormhole") == pytest.approx(22e-6)
    with pytest.raises(UsageError, match="connections: no bound of all schedules"):
        bound_for_model(schedule, "connections")
    alone = replace(
        schedule, placement=None, machine=conset.load_machine(PAIRS.replace(":2", ":4"))
    )
    assert bound_schedule(alone).time_s == pytest.approx(2 * 5e-6 + 3e-6 + 1e-6 + 7e-6)
    _, witness = least_time(
        Workload.of_schedule(schedule), schedule.machine, Settings(), "wormhole"
    )
    assert witness == "overheads of all ranks on node 0"


def test_work_of_two_ranks_of_a_node_at_once_is_found() -> None:
    """Ranks 0 and 1 on node 0 send to node 1: one after the other, and one by one received."""
    work = Workload(
        source=np.array([0, 0]),
        target=np.array([1, 1]),
        bytes=np.array([10, 10]),
        nodes=2,
        sender=np.array([0, 1]),
        receiver=np.array([2, 3]),
    )
    machine = conset.load_machine(PAIRS)
    own = conset.load_machine(PAIRS.replace("shared", "one"))
    rows = [(0, 5, 8, 18, 25), (0, 10, 18, 28, 35)]

    def rules(rows: list[tuple[float, ...]], on: conset.Machine) -> list[str]:
        timeline = by_hand(work, on, Settings(), rows)
        return [violation.rule for violation in check_timeline(timeline, work, on, Settings())]

    assert rules(rows, machine) == []
    at_once = [(0, 5, 8, 18, 25), (0, 7, 18, 28, 35)]
    assert rules(at_once, machine) == ["processor"]
    assert rules([(0, 5, 8, 18, 25), (0, 5, 18, 28, 35)], own) == []
    turned = [(1, 6, 18, 28, 35), (0, 11, 14, 18, 25)]
    assert "order" in rules(turned, machine)
