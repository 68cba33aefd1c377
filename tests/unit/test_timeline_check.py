"""The checker of timelines by mutation.

Break a right one in one place, expect exactly that rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conset.machine.machine import Machine
from conset.models import Timeline, Workload
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.timeline import Rates
from conset.verification.timeline.check import check_timeline
from support.hand_made_workloads import phased, row_of_nodes, trace

PHASES = [[(0, 2, 100), (1, 3, 50)], [(0, 1, 100), (3, 2, 100), (1, 0, 100)]]
MACHINE = row_of_nodes(4)


def played(work: Workload, machine: Machine = MACHINE, **words: Any) -> tuple[Timeline, Settings]:
    settings = Settings(record=True, **words)
    return simulate_flow(work, machine, settings), settings


def rules(
    timeline: Timeline, work: Workload, settings: Settings, machine: Machine = MACHINE
) -> set[str]:
    return {violation.rule for violation in check_timeline(timeline, work, machine, settings)}


def moved(values: np.ndarray, index: int, by: float) -> np.ndarray:
    """A copy with one value changed."""
    copy = values.copy()
    copy[index] += by
    return copy


def with_rates(timeline: Timeline, change: Callable[[np.ndarray], np.ndarray]) -> Timeline:
    assert timeline.rates is not None
    rates = timeline.rates
    return replace(timeline, rates=Rates(rates.time_s, rates.message, change(rates.rate_Bps)))


def test_what_the_model_says_is_possible() -> None:
    work = phased(PHASES, 4)
    for sync in ("none", "local", "ready", "barrier", "barrier:2"):
        for words in (
            {},
            {"in_flight": 1},
            {"in_flight": 1, "receives": 1},
            {"receives": 1, "receive_order": "any"},
        ):
            timeline, settings = played(work, sync=sync, **words)
            assert check_timeline(timeline, work, MACHINE, settings) == ()


def test_bytes_that_vanish_are_found() -> None:
    work = phased(PHASES, 4)
    timeline, settings = played(work)
    assert "conservation" in rules(
        with_rates(timeline, lambda r: np.where(r > 0, r * 0.99, r)), work, settings
    )


def test_a_message_that_flows_for_ever_is_found() -> None:
    work = phased(PHASES, 4)
    timeline, settings = played(work)
    assert timeline.rates is not None
    last = int(np.flatnonzero(timeline.rates.rate_Bps == 0)[-1])
    found = check_timeline(
        with_rates(timeline, lambda r: moved(r, last, 1.0)), work, MACHINE, settings
    )
    assert any("without end" in violation.text for violation in found)


def test_a_link_above_its_rate_is_found_though_bytes_are_kept() -> None:
    """Both messages of one link at full rate for half the time.

    Nothing is lost, the link carries twice its rate.
    """
    work = trace([(0, 1, 100), (0, 1, 100)], 4)
    timeline, settings = played(work)
    assert timeline.rates is not None
    faster = Rates(timeline.rates.time_s / 2, timeline.rates.message, timeline.rates.rate_Bps * 2)
    squeezed = replace(
        timeline, rates=faster, end_s=timeline.end_s / 2, phase_end_s=timeline.phase_end_s / 2
    )
    assert {"capacity", "bound"} <= rules(squeezed, work, settings)
    texts = [
        v.text for v in check_timeline(squeezed, work, MACHINE, settings) if v.rule == "capacity"
    ]
    assert any(text.startswith("link 0 → 1: 1000000 B/s") for text in texts)


def test_a_flow_that_could_go_faster_is_found() -> None:
    """Alone at half the rate for twice the time.

    Bytes and capacities are kept, no bottleneck holds it.
    """
    work = trace([(0, 1, 100)], 4)
    timeline, settings = played(work)
    assert timeline.rates is not None
    slower = Rates(timeline.rates.time_s * 2, timeline.rates.message, timeline.rates.rate_Bps / 2)
    lazy = replace(
        timeline,
        rates=slower,
        end_s=timeline.end_s * 2,
        phase_end_s=timeline.phase_end_s * 2,
        mean_latency_s=timeline.mean_latency_s * 2,
        left_s=timeline.left_s * 2,
    )
    assert rules(lazy, work, settings) == {"fairness"}


def test_a_delivery_before_the_last_byte_could_be_there_is_found() -> None:
    work = phased(PHASES, 4)
    timeline, settings = played(work)
    assert "latency" in rules(
        replace(timeline, end_s=moved(timeline.end_s, 1, -150e-6)), work, settings
    )


def test_a_message_let_go_before_its_time_is_found() -> None:
    work = trace([(0, 1, 100)], 4, time_s=np.array([1e-3]))
    timeline, settings = played(work)
    assert rules(replace(timeline, start_s=np.zeros(1)), work, settings) == {"release"}
    assert "release" in rules(replace(timeline, end_s=np.array([np.nan])), work, settings)


def test_a_message_let_go_before_what_it_depends_on_is_found() -> None:
    work = trace([(0, 1, 100), (1, 2, 100)], 4, dep_offsets=np.array([0, 0, 1]), deps=np.array([0]))
    timeline, settings = played(work)
    assert rules(replace(timeline, start_s=moved(timeline.start_s, 1, -1e-6)), work, settings) == {
        "deps"
    }


@pytest.mark.parametrize(
    ("sync", "message"), [("barrier", 2), ("local", 2), ("ready", 4), ("barrier", 0)]
)
def test_a_message_let_go_before_its_policy_allows_is_found(sync: str, message: int) -> None:
    work = phased(PHASES, 4)
    timeline, settings = played(work, sync=sync)
    early = replace(timeline, start_s=moved(timeline.start_s, message, -1e-6))
    # a signal that has no time is not sent in time either
    assert rules(early, work, settings) - {"processor"} == {"policy"}


def test_a_forgotten_set_up_is_found() -> None:
    work, machine = phased(PHASES, 4), row_of_nodes(4, "setup=30us")
    timeline, settings = played(work, machine)
    early = replace(timeline, start_s=moved(timeline.start_s, 0, -1e-6))
    assert rules(early, work, settings, machine) == {"set-up", "processor"}


def test_more_sends_than_allowed_and_a_list_out_of_order_are_found() -> None:
    work = trace([(0, 1, 100), (0, 2, 100), (0, 3, 100)], 4)
    timeline, settings = played(work, in_flight=1)
    overlapping = replace(timeline, start_s=moved(timeline.start_s, 1, -1e-6))
    assert rules(overlapping, work, settings) == {"in flight"}
    assert rules(turned(timeline), work, settings) == {"order"}


def turned(timeline: Timeline) -> Timeline:
    """The first of three messages and the last have changed places."""
    names = ("start_s", "sent_s", "first_byte_s", "left_s", "end_s")
    return replace(
        timeline, rates=None, **{name: getattr(timeline, name)[[2, 1, 0]] for name in names}
    )


def test_more_receives_than_allowed_and_a_list_out_of_order_are_found() -> None:
    work = trace([(0, 3, 100), (1, 3, 100), (2, 3, 100)], 4)
    timeline, settings = played(work, receives=1)
    first = moved(timeline.first_byte_s, 1, -1e-6)
    assert rules(replace(timeline, first_byte_s=first, rates=None), work, settings) == {
        "receives",
        "order",
    }
    assert rules(turned(timeline), work, settings) == {"order"}
    assert rules(turned(timeline), work, replace(settings, receive_order="any")) == set()


@pytest.mark.parametrize("name", ["link_bytes", "phase_end_s", "link_busy_s"])
def test_figures_that_do_not_fit_are_found(name: str) -> None:
    work = phased(PHASES, 4)
    timeline, settings = played(work)
    wrong = replace(timeline, **{name: moved(getattr(timeline, name), 0, 1)})
    assert rules(wrong, work, settings) == {"figures"}


def test_a_time_below_a_bound_of_its_class_is_found() -> None:
    """Barriers: two groups and two barriers cannot be done in the time of the messages alone."""
    work = phased(PHASES, 4)
    timeline, _ = played(work, sync="none")
    found = check_timeline(replace(timeline, rates=None), work, MACHINE, Settings(sync="barrier"))
    assert {v.rule for v in found} == {"policy", "bound"}
    assert any("2 barriers and" in v.text for v in found)
    one_by_one = check_timeline(replace(timeline, rates=None), work, MACHINE, Settings(in_flight=1))
    assert "in flight" in {v.rule for v in one_by_one}
