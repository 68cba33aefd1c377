"""Stages that ranks choose at run time are those of the compiler.

The same boxes and rings, bundles and waits; of the same candidates the same choice with the same
time.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from conset import _core
from conset.base import Ints, Ints32
from conset.base.errors import ConsetError
from conset.compilation import auto, combining, pipeline
from conset.compilation.combining import compile_combined
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_by, why_not
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.paths.table import parse_combine, paths_of
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths
from conset.schedule.program import Program, bundles_of, chained
from properties.test_runtime_times import (
    expect_same_times,
    messages,
    placed,
    placement_of,
    runtime_machines,
    stored,
)
from support.random_machines import US

NETWORKS = (
    "torus:2x3x2",
    "hypercube:3",
    "crossbar:12",
    "mesh:3x3",
    "ring:7",
    "torus:4x2",
    "crossbar:11",
)


@st.composite
def machines_of_overheads(draw: st.DrawFn) -> Machine:
    """Machines on which small messages pay more for their number than for their bytes."""
    if draw(st.integers(0, 3)) == 0:
        return draw(runtime_machines())
    machine = parse_machine(draw(st.sampled_from(NETWORKS)))
    own = draw(st.sampled_from([0.0, 1.0, 4.0])) * US
    costs = Costs(
        send_overhead=Steps((own,)),
        receive_overhead=Steps((draw(st.sampled_from([0.0, 1.0, 3.0])) * US,)),
        inject=Steps((0.5 * US,)),
        link_Bps=1e9,
        copy_Bps=draw(st.sampled_from([inf, 5e9, 1e8])),
        setup_s=draw(st.sampled_from([0.0, 0.0, 2.0])) * US,
        processors=draw(st.sampled_from(["one", "two"])),
    )
    return replace(machine, costs=costs)


@st.composite
def small_messages(draw: st.DrawFn, ranks: int) -> Pattern:
    """Complete or nearly so, of one size or several; or any."""
    if draw(st.integers(0, 3)) == 0:
        return draw(messages(ranks))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    kept = rng.random((ranks, ranks)) < draw(st.sampled_from([1.0, 1.0, 0.8, 0.4]))
    np.fill_diagonal(kept, val=False)
    sizes = draw(st.sampled_from([(8,), (1, 8, 60), (0, 100, 2000)]))
    source, target = np.nonzero(kept)
    return Pattern.from_messages(source, target, rng.choice(sizes, source.size), ranks)


def ends_of(pattern: Pattern) -> tuple[Ints32, Ints32, Ints]:
    source, target = (np.ascontiguousarray(each) for each in (pattern.source, pattern.target))
    return source, target, np.ascontiguousarray(pattern.size)


def all_paths(machine: Machine, pattern: Pattern) -> dict[str, Paths]:
    words = _core.stage_words(stored(machine), pattern.ranks)
    placement = placement_of(machine)
    return {word: paths_of(parse_combine(word), pattern, machine, placement) for word in words}


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_bundles_are_those_of_paths(data: st.DataObject) -> None:
    machine, ranks = data.draw(placed(data.draw(machines_of_overheads()), 16), "machine")
    pattern = data.draw(small_messages(ranks), "pattern")
    given_data = stored(machine)
    for number, (word, paths) in enumerate(all_paths(machine, pattern).items()):
        found = _core.stage_bundles(given_data, pattern.ranks, *ends_of(pattern), number)
        chain = bundles_of(paths)
        assert np.array_equal(found.source, chain.source), word
        assert np.array_equal(found.target, chain.target)
        assert np.array_equal(found.bytes, chain.size)
        packed = np.zeros(chain.messages, bool) if chain.packed is None else chain.packed
        assert np.array_equal(found.packed, packed)
        before = np.zeros((0, 2), np.int32) if chain.before is None else chain.before
        waits = np.repeat(np.arange(found.bytes.size), np.diff(found.need_offsets))
        mine = np.column_stack((found.needs, waits))
        assert sorted(map(tuple, mine.tolist())) == sorted(map(tuple, before.tolist())), word
        last = {m: s for s in range(paths.stages) for m in paths.bundles(s).parts.tolist()}
        used = np.zeros(pattern.ranks, np.int64)
        for s in range(paths.stages):
            bundles = paths.bundles(s)
            own = found.stage[np.repeat(np.arange(found.stage.size), np.diff(found.part_offsets))]
            assert np.array_equal(found.parts[own == s], bundles.parts)
            for b in range(bundles.bundles):
                inside = bundles.parts[bundles.offsets[b] : bundles.offsets[b + 1]].tolist()
                ends = bundles.pattern
                if len(inside) > 1:
                    used[ends.source[b]] += ends.size[b]
                if len(inside) > 1 or last[inside[0]] > s:
                    used[ends.target[b]] += ends.size[b]
        assert found.memory == used.max(), word


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_times_of_stages_are_those_of_the_compiler(data: st.DataObject) -> None:
    """Under every policy and model, with the copies of what is packed and all waits."""
    machine, ranks = data.draw(placed(data.draw(machines_of_overheads())), "machine")
    pattern = data.draw(small_messages(ranks), "pattern")
    assume(pattern.messages)
    ways = list(all_paths(machine, pattern).items())
    assume(ways)
    number = data.draw(st.integers(0, len(ways) - 1), "way")
    paths, given_data = ways[number][1], stored(machine)
    method = data.draw(st.sampled_from(["naive", "coloring", "first-fit", "rs-n"]), "method")
    stages = _core.stage_bundles(given_data, pattern.ranks, *ends_of(pattern), number)
    bundles, options = bundles_of(paths), CompileOptions(method=method)
    try:
        each = [
            compile_by(method, paths.stage_pattern(j), machine, options, placement_of(machine))
            for j in range(paths.stages)
        ]
    except ConsetError:
        return
    wanted = chained(Program.of_schedules(paths, each, "local", each[0].manifest), bundles)
    timed = _core.time_stages(
        given_data, stages, pattern.ranks, method=method, link=0, seed=0, effort=1
    )
    assert np.array_equal(timed.phases.message, wanted.message)
    expect_same_times(wanted, timed)


@settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_ranks_choose_what_the_compiler_chooses(data: st.DataObject) -> None:
    """Of direct messages, boxes, grids by traffic and mixes; of the methods that ranks have."""
    machine, ranks = data.draw(placed(data.draw(machines_of_overheads()), 16), "machine")
    assume(machine.topology.planes == 1)
    pattern = data.draw(small_messages(ranks), "pattern")
    assume(pattern.messages)
    sync = data.draw(st.sampled_from(["auto", "auto", "local"]), "sync")
    options = CompileOptions(seed=data.draw(st.integers(0, 99), "seed"), sync=sync)
    ends = ends_of(pattern)

    def found(memory: int = 2**62) -> _core.RankSchedule:
        return _core.schedule_messages(
            stored(machine),
            pattern.ranks,
            *ends,
            method="auto",
            sync=sync,
            seed=options.seed,
            combine=True,
            memory=memory,
        )

    def refused(method: str, *given: Any) -> str | None:
        in_core = method in _core.method_names()
        return why_not(method, *given) if in_core else "Python alone has it"

    floor_s = auto.Evaluator.floor_s
    with pytest.MonkeyPatch.context() as patch:
        for module in (combining, pipeline):
            patch.setattr(module, "why_not", refused)
        # at run time nothing is known that no stages beat
        patch.setattr(
            auto.Evaluator,
            "floor_s",
            lambda self, naive: floor_s(self, naive) if self.pattern == pattern else 0.0,
        )
        try:
            wanted = compile_combined(pattern, machine, options)
        except ConsetError:
            with pytest.raises(RuntimeError):
                found()
            return
    chosen, whole = found(), wanted.whole
    assert chosen.choice.combine == wanted.combine
    assert (chosen.method, chosen.sync) == (whole.method, whole.sync)
    assert np.array_equal(chosen.phase_offsets, whole.phase_offsets)
    assert np.array_equal(chosen.message, whole.message)
    if whole.report.simulated_s is not None:
        assert chosen.predicted_s == whole.report.simulated_s
    if wanted.combine == "none":
        return
    limited = found(memory=chosen.choice.memory - 1)
    assert limited.choice.combine != wanted.combine
    assert 0 < limited.choice.left_out <= chosen.choice.memory
