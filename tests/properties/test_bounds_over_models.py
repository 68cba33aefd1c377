"""No bound is above any simulated time.

Random machines with every cost, small patterns, methods, policies, models.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from numpy.typing import NDArray

from conset.base.errors import InputError, NoScheduleError
from conset.bounds import bound_for_model, bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from support.random_machines import POLICIES, machines, patterns

METHODS = (
    "naive",
    "first-fit",
    "bounded",
    "coloring",
    "connections",
    "decreasing",
    "half-duplex",
    "birkhoff",
)
CLOSE = 1e-9
"""Relative: simulated clocks add up nanoseconds in another order."""


@st.composite
def scheduled(draw: st.DrawFn, machine: Machine) -> Schedule:
    """Any pattern, cut into phases anyhow or by a method of the table, under any policy."""
    nodes = machine.topology.endpoints
    crowded = machine.costs.processors == "shared"
    per_node = draw(st.sampled_from([2, 1, 3] if crowded else [1, 1, 1, 2]))
    pattern = draw(patterns(nodes * per_node))
    placement = None if per_node == 1 else (np.arange(pattern.ranks) // per_node).astype(np.int32)
    sync = draw(st.sampled_from(POLICIES))
    message = np.array(draw(st.permutations(range(pattern.messages))), np.int32)
    if draw(st.booleans()):
        pattern = ordered(pattern, message, draw(st.integers(0, 2**32 - 1)))
    method = draw(st.sampled_from(("by hand", "by hand", *METHODS)))
    if method != "by hand":
        try:
            request = CompileOptions(
                method=method, ranks_per_node=per_node, seed=draw(st.integers(0, 9))
            )
            return replace(compile_pattern(pattern, machine, request), sync=sync)
        except (InputError, NoScheduleError):  # outside the method's domain
            pass
    width = draw(st.sampled_from([99, 1, 3, 6]))
    offsets = np.append(np.arange(0, message.size, width), message.size)
    return Schedule(
        pattern, machine, "by hand", Limits(), offsets, message, placement=placement, sync=sync
    )


def ordered(pattern: Pattern, listed: NDArray[np.int32], seed: int) -> Pattern:
    """With an order between some messages that share a rank, which `listed` keeps, wherever
    phases are cut."""
    rng = np.random.default_rng(seed)
    ends = np.stack([pattern.source, pattern.target], axis=1)
    pairs = [
        (i, j)
        for k, j in enumerate(listed.tolist())
        for i in listed[:k].tolist()
        if rng.random() < 0.2 and set(ends[i]) & set(ends[j])
    ]
    return replace(pattern, before=np.array(pairs, np.int32).reshape(-1, 2))


def simulated(schedule: Schedule, model: str, **settings_of: object) -> float:
    """The time by a model [s]; leaves out what cannot be run."""
    costs = schedule.machine.costs_for(schedule.method)
    settings = Settings.of(costs, sync=schedule.sync, **settings_of)  # type: ignore[arg-type]
    try:
        return (
            MODELS[model]
            .simulate(Workload.of_schedule(schedule), schedule.machine, settings)
            .time_s
        )
    except (InputError, NoScheduleError):  # too many receives, a deadlock, no such network
        assume(False)
        raise


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(machines(), st.data())
def test_no_bound_is_above_a_simulated_time(
    model: str, machine: Machine, data: st.DataObject
) -> None:
    schedule = data.draw(scheduled(machine))
    time_s = simulated(schedule, model)
    for candidate in bound_schedule(schedule).candidates:
        if candidate.what == "phases" and schedule.method != "by hand":  # by hand no limit is kept
            assert candidate.value <= schedule.phases, candidate
        if candidate.what == "time":
            assert candidate.value <= time_s * (1 + CLOSE), (schedule.sync, candidate, time_s)
    assert bound_for_model(schedule, model) <= time_s * (1 + CLOSE)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(machines(), st.data())
def test_no_bound_is_above_the_time_in_routers(machine: Machine, data: st.DataObject) -> None:
    schedule = data.draw(scheduled(machine))
    time_s = simulated(schedule, "flit", lanes=2)
    assert bound_for_model(schedule, "flit") <= time_s * (1 + CLOSE), schedule.sync


def test_a_bound_of_messages_in_order() -> None:
    """0 → 1 before 1 → 2 before 2 → 3 on a line: three times a message alone."""
    from conset.machine.spec import parse_machine

    machine = parse_machine("mesh:4")
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 3], [1000] * 3, 4, before=[[0, 1], [1, 2]])
    schedule = Schedule(
        pattern, machine, "by hand", Limits(), np.arange(4), np.arange(3), sync="local"
    )
    alone_s = 500e-9 + 100e-9 + 1000 / 25e9 + 500e-9
    assert bound_schedule(schedule).time_s == pytest.approx(3 * alone_s)
    for model in ("flow", "wormhole", "circuit"):
        assert simulated(schedule, model) == pytest.approx(3 * alone_s)


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
def test_the_last_set_up_of_a_rank_may_be_for_a_short_message_to_it(model: str) -> None:
    """Rank 0 sends 16 B and receives 1 B from each of two.

    Its second set-up passes while the 16 B flow.
    """
    from conset.machine.spec import parse_machine

    machine = parse_machine("mesh:4,link=10MB/s,port=none,hop=0,setup=100ns")
    pattern = Pattern.from_messages([0, 1, 2], [1, 0, 0], [16, 1, 1], 4)
    schedule = Schedule(
        pattern,
        machine,
        "by hand",
        Limits(1, 1),
        np.array([0, 2, 3]),
        np.array([0, 2, 1]),
        sync="none",
    )
    assert simulated(schedule, model) == pytest.approx(1.7e-6)
    assert bound_schedule(schedule).time_s == pytest.approx(1.7e-6)
