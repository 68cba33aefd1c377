"""No bound of programs that forward is above any simulated time.

Random patterns, machines, ranks on the way, policies.

Paths are drawn at random, so that nothing of how programs are found enters; what is simulated is
the chained schedule.
"""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from numpy.typing import NDArray

from conset.base.errors import InputError, NoScheduleError
from conset.bounds import bound_stages, bound_volume
from conset.bounds.programs import bound_program
from conset.bounds.stages import least_maxima, symmetric_sums
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_placed
from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths
from conset.schedule.program import Program, chained
from conset.schedule.schedule import Manifest, Schedule
from support.random_machines import POLICIES, machines, patterns

CLOSE = 1e-9
"""Relative: simulated clocks add up nanoseconds in another order."""
EXAMPLES = int(os.environ.get("CONSET_EXAMPLES", "60"))


@st.composite
def paths(draw: st.DrawFn, ranks: int) -> Paths:
    """Any ranks on the way, or a box of digits; whole messages, or each cut in two."""
    pattern = draw(patterns(ranks))
    assume(pattern.messages)
    stages = draw(st.integers(1, 4))
    message = np.arange(pattern.messages)
    cut = draw(st.sampled_from([False, False, True])) and bool((pattern.size > 1).any())
    given: dict[str, NDArray[np.int64]] = {}
    if cut:
        half = np.flatnonzero(pattern.size > 1)
        first = np.concatenate([np.zeros(pattern.messages, np.int64), pattern.size[half] // 2])
        size = np.concatenate([pattern.size, pattern.size[half] - pattern.size[half] // 2])
        size[half] = pattern.size[half] // 2
        message = np.concatenate([message, half])
        given = {"message": message, "first": first, "size": size}
    inner = np.random.default_rng(draw(st.integers(0, 2**31))).integers(
        0, ranks, (message.size, stages - 1)
    )
    columns = [pattern.source[message], *inner.T, pattern.target[message]]
    stays = draw(st.integers(0, 2))
    for j in range(1, stages):  # some stay, so that bundles fill
        columns[j] = np.where(
            (message + j) % 3 < stays, columns[j - 1], columns[j] % max(1, ranks // 2)
        )
    return Paths(pattern, np.column_stack(columns).astype(np.int32), **given)  # type: ignore[arg-type]


@st.composite
def programs(draw: st.DrawFn, machine: Machine) -> Program:
    """Random paths whose stages are scheduled one by one."""
    per_node = draw(st.sampled_from([1, 1, 1, 2]))
    ranks = machine.topology.endpoints * per_node
    placement = None if per_node == 1 else (np.arange(ranks) // per_node).astype(np.int32)
    found = draw(paths(ranks))
    method = draw(st.sampled_from(["naive", "first-fit"]))
    sync = draw(st.sampled_from(POLICIES))
    options = CompileOptions(method=method, ranks_per_node=per_node, sync=sync)
    schedules: list[Schedule] = []
    for stage in range(found.stages):
        try:
            schedules.append(
                compile_placed(
                    found.bundles(stage).pattern, machine, options, placement, Manifest()
                )
            )
        except (InputError, NoScheduleError):
            assume(False)
    return Program.of_schedules(found, schedules, sync, Manifest())


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(machines(), st.data())
def test_no_bound_is_above_a_simulated_time(
    model: str, machine: Machine, data: st.DataObject
) -> None:
    program = data.draw(programs(machine))
    schedule, found = chained(program), program.paths
    assert found is not None
    costs = machine.costs_for(schedule.method)
    try:
        workload = Workload.of_schedule(schedule)
        time_s = (
            MODELS[model].simulate(workload, machine, Settings.of(costs, sync=schedule.sync)).time_s
        )
    except (InputError, NoScheduleError):  # too many receives, a deadlock
        assume(False)
        raise
    for stages in (None, found.stages):
        bounds = bound_stages(
            found.pattern,
            machine,
            stages=stages,
            placement=schedule.placement,
            split=found.message is not None,
            method=schedule.method,
        )
        for candidate in bounds.candidates:
            if candidate.what == "time":
                assert candidate.value <= time_s * (1 + CLOSE), (schedule.sync, candidate, time_s)
    whole = bound_program(program, schedule).whole
    assert whole.time_s <= time_s * (1 + CLOSE), (schedule.sync, whole.time_witness, time_s)
    assert whole.phases <= program.phases


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(2, 9), st.data())
def test_no_bound_is_above_what_paths_send(ranks: int, data: st.DataObject) -> None:
    """Maxima and bytes times ways of random paths, counted from their bundles."""
    found = data.draw(paths(ranks))
    bundles = [found.bundles(stage).pattern for stage in range(found.stages)]
    sends = [int(np.bincount(p.source, minlength=ranks).max(initial=0)) for p in bundles]
    receives = [int(np.bincount(p.target, minlength=ranks).max(initial=0)) for p in bundles]
    moved = sum(p.bytes for p in bundles)
    assert bound_volume(found.pattern, sends, receives)[0] <= moved
    least = np.bincount(found.pattern.source, minlength=ranks).max()
    assert sum(least_maxima(int(least) + 1, found.stages)) <= sum(sends)
    assert sum(least_maxima(int(least) + 1, None)) <= sum(sends)


@given(st.integers(1, 300), st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_least_maxima_are_the_least(reached: int, stages: int) -> None:
    """One less does not suffice, in whichever shares."""

    def most(total: int, parts: int) -> int:
        if parts == 1:
            return 1 + total
        return max((1 + m) * most(total - m, parts - 1) for m in range(min(total, 40) + 1))

    total = sum(least_maxima(reached, stages))
    if stages <= 3 and total <= 40:
        assert most(total, stages) >= reached
        assert total == 0 or most(total - 1, stages) < reached


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_symmetric_sums_are_sums_of_products(maxima: list[int]) -> None:
    expected = [
        sum(int(np.prod(c)) for c in combinations(maxima, h)) for h in range(1, len(maxima) + 1)
    ]
    assert symmetric_sums(maxima) == expected


def test_the_box_attains_the_volume() -> None:
    """A complete exchange of 32: digits corrected one after the other."""
    source, target = np.divmod(np.arange(32 * 32), 32)
    pattern = Pattern.from_messages(source, target, np.full(32 * 32, 8), 32)
    for sides, ratio in (((4, 8), 1.677), ((2, 4, 4), 2.065), ((2,) * 5, 2.581)):
        own, far = (
            np.stack(np.unravel_index(ends, sides)) for ends in (pattern.source, pattern.target)
        )
        columns = [
            np.where(np.arange(len(sides))[:, None] < j, far, own) for j in range(len(sides) + 1)
        ]
        at = np.column_stack(
            [np.ravel_multi_index(tuple(column), sides) for column in columns]
        ).astype(np.int32)
        moved = sum(Paths(pattern, at).bundles(stage).pattern.bytes for stage in range(len(sides)))
        bytes_ways, volume, _, _ = bound_volume(pattern, [side - 1 for side in sides])
        assert bytes_ways == moved
        assert volume == pytest.approx(ratio, abs=5e-4)


def test_too_small_maxima_are_refused() -> None:
    source, target = np.divmod(np.arange(16), 4)
    pattern = Pattern.from_messages(source, target, np.full(16, 8), 4)
    with pytest.raises(NoScheduleError, match="reach 2 ranks"):
        bound_volume(pattern, [2])
