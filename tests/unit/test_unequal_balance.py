"""Balancing of words over phases and splitting of messages.

Bounds reached by hand, limits kept, never worse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.methods.phases.balance import (
    balance_loads,
    phase_lengths,
    split_messages,
    transfer_work_of,
)
from conset.methods.phases.first_fit import schedule_first_fit
from conset.methods.phases.problem import Phases, Problem
from conset.methods.phases.table import find_method
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify

CONNECTIONS = Limits(channels=6)


def checked(problem: Problem, phases: Phases) -> Schedule:
    schedule = Schedule(
        problem.pattern,
        problem.machine,
        "connections",
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        limits_asked=True,
    )
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    return schedule


def length(problem: Problem, phases: Phases, **more: Any) -> float:
    return float(phase_lengths(problem, phases, transfer_work_of(problem, phases, **more)).sum())


def test_balance_swaps_to_the_bound() -> None:
    """Two senders with 3 + 1 words, long with short in each phase: 3 + 3.

    Long with long: 3 + 1, the bound.
    """
    pattern = Pattern.from_messages([0, 0, 1, 1], [2, 3, 2, 3], [3000, 1000, 1000, 3000], 4)
    on = parse_machine("crossbar:4,overhead=0,inject=0,eject=0,port=1GB/s")
    problem = Problem(pattern, on, Limits(send=1, receive=1))
    mixed = Phases(np.array([0, 2, 4], np.int64), np.array([0, 3, 1, 2], np.int32))
    assert length(problem, mixed) == pytest.approx(4e-6)
    worse = Phases(np.array([0, 1, 2, 4], np.int64), np.array([0, 3, 1, 2], np.int32))
    assert length(problem, worse) == pytest.approx(7e-6)
    balanced = balance_loads(problem, worse)
    assert length(problem, balanced) == pytest.approx(4e-6)
    assert checked(problem, balanced).phases == 2, "an empty phase vanishes"


def test_a_serial_processor_counts_what_it_sends_and_receives() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 2], [1000, 2000], 3)
    on = parse_machine("crossbar:3,overhead=0,inject=0,eject=0,port=1GB/s")
    problem = Problem(pattern, on, Limits())
    together = Phases(np.array([0, 2], np.int64), np.array([0, 1], np.int32))
    assert length(problem, together) == pytest.approx(2e-6)
    assert length(problem, together, serial=True) == pytest.approx(3e-6)


@pytest.mark.parametrize("machine", ["torus:4x4", "mesh:4x4", "hypercube:4", "crossbar:16"])
@pytest.mark.parametrize(
    "limits", [CONNECTIONS, Limits(send=2, receive=2, link=2), Limits(link=3, channels=8)], ids=str
)
def test_balance_keeps_limits_and_is_never_longer(machine: str, limits: Limits) -> None:
    on = parse_machine(machine)
    problem = Problem(
        parse_pattern("random:degree=5,size=lognormal(100KiB,1)", ranks=16), on, limits
    )
    phases = schedule_first_fit(problem)
    balanced = balance_loads(problem, phases)
    checked(problem, balanced)
    assert length(problem, balanced) < length(problem, phases)
    assert balanced.offsets.size <= phases.offsets.size
    again = balance_loads(problem, phases)
    assert np.array_equal(balanced.message, again.message)


def test_balance_may_take_other_routes() -> None:
    """Chosen routes may change with the phase.

    Channels are numbered again and replayed by the verifier.
    """
    on = parse_machine("torus:4x4")
    problem = Problem(
        parse_pattern("random:degree=5,size=lognormal(100KiB,1)", ranks=16), on, CONNECTIONS
    )
    phases = find_method("connections").schedule(
        replace(problem, search=replace(problem.search, objective="phases"))
    )
    assert phases.route_offsets is not None
    balanced = balance_loads(problem, phases, links=False)
    checked(problem, balanced)
    assert length(problem, balanced, links=False) < length(problem, phases, links=False)
    kept = balance_loads(problem, phases, links=False, routes="fixed")
    checked(problem, kept)
    assert length(problem, kept, links=False) <= length(problem, phases, links=False)


def test_ordered_messages_stay_where_they_are() -> None:
    random = np.random.default_rng(1)
    source = np.repeat(np.arange(8), 4)
    target = (source + np.tile(np.arange(1, 5), 8)) % 8
    pattern = Pattern.from_messages(
        source, target, random.integers(1, 9999, 32), 8, before=[(0, 1), (1, 2)]
    )
    problem = Problem(pattern, parse_machine("ring:8"), Limits(channels=4))
    phases = schedule_first_fit(problem)
    checked(problem, split_messages(problem, balance_loads(problem, phases)))


def test_a_split_fills_what_whole_messages_cannot() -> None:
    """One message of 100, three of 40 from one sender, two a phase.

    Whole 100 + 40, cut 80 + 40, the bound 120.
    """
    pattern = Pattern.from_messages(
        [0, 2, 2, 2], [1, 3, 4, 5], [100_000, 40_000, 40_000, 40_000], 6
    )
    on = parse_machine("crossbar:6,overhead=0,inject=0,eject=0,port=1GB/s")
    problem = Problem(pattern, on, Limits(send=2, receive=2))
    whole = Phases(np.array([0, 3, 4], np.int64), np.array([0, 1, 2, 3], np.int32))
    assert length(problem, balance_loads(problem, whole)) == pytest.approx(140e-6)
    cut = split_messages(problem, whole)
    assert length(problem, cut) == pytest.approx(120e-6)
    result = checked(problem, cut)
    assert result.transfers == 5
    assert result.size[result.message == 0].tolist() == [80_000, 20_000]


def test_a_split_is_not_worth_a_long_overhead() -> None:
    pattern = Pattern.from_messages(
        [0, 2, 2, 2], [1, 3, 4, 5], [100_000, 40_000, 40_000, 40_000], 6
    )
    on = parse_machine("crossbar:6,overhead=1ms,port=1GB/s")
    problem = Problem(pattern, on, Limits(send=2, receive=2))
    whole = Phases(np.array([0, 3, 4], np.int64), np.array([0, 1, 2, 3], np.int32))
    assert split_messages(problem, whole) is whole


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), degree=st.integers(1, 6), channels=st.integers(4, 12))
def test_splits_keep_limits_and_add_up_on_any_pattern(
    seed: int, degree: int, channels: int
) -> None:
    on = parse_machine("torus:4x4,overhead=0,inject=0,eject=0")
    pattern = parse_pattern(f"random:degree={degree},size=lognormal(9000,1),seed={seed}", ranks=16)
    problem = Problem(pattern, on, Limits(channels=channels))
    phases = schedule_first_fit(problem)
    cut = split_messages(problem, phases)
    checked(problem, cut)
    assert length(problem, cut) <= length(problem, phases) * (1 + 1e-12)


def test_the_duplex_rule_is_refused() -> None:
    problem = Problem(
        parse_pattern("alltoall", ranks=4), parse_machine("crossbar:4"), Limits(duplex="exchange")
    )
    phases = schedule_first_fit(problem)
    with pytest.raises(InputError, match="balance requires duplex full"):
        balance_loads(problem, phases)
    with pytest.raises(InputError, match="split requires duplex full"):
        split_messages(problem, phases)
