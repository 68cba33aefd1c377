"""The choice on any small pattern and machine.

Never slower than the naive exchange, nor than what a search tries.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError, NoScheduleError
from conset.compilation.auto import candidates, choose_schedule, contentions
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_by, compile_pattern
from conset.compilation.trial import (
    BLOCKING,
    EQUAL,
    ERROR,
    REL_TOL,
    Base,
    allowed_policies,
    end_time,
    settings_of,
)
from conset.machine.costs import Provenance
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.machine.words import PARAMETERS, redrawn
from conset.models import times_with
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify
from support import random_machines

MACHINES = (
    "mesh:2x3",
    "torus:3x3",
    "hypercube:3",
    "crossbar:4",
    "ipsc860:8",
    "paragon:3x3",
    "delta:2x4",
    "iwarp:2x4",
)


@st.composite
def patterns(draw: st.DrawFn, ranks: int) -> Pattern:
    rank = st.integers(0, ranks - 1)
    pairs = draw(
        st.lists(st.tuples(rank, rank).filter(lambda pair: pair[0] != pair[1]), max_size=14)
    )
    sizes = draw(st.lists(st.integers(0, 20_000), min_size=len(pairs), max_size=len(pairs)))
    return Pattern.from_messages([a for a, _ in pairs], [b for _, b in pairs], sizes, ranks)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A preset or a bare network, with some of its costs drawn."""
    machine = parse_machine(draw(st.sampled_from(MACHINES)))
    seconds = st.sampled_from((0.0, 1e-7, 1e-6, 2e-5))
    drawn = {
        "setup_s": draw(seconds),
        "signal_s": draw(seconds),
        "in_flight": draw(st.sampled_from((None, 1, 2, 5))),
        "model": draw(st.sampled_from(("flow", "wormhole", "circuit"))),
        "lanes": draw(st.integers(1, 2)),
    }
    return replace(machine, costs=replace(machine.costs, **drawn), method_costs={})


def time_of(schedule: Schedule, sync: str | None = None) -> float:
    """Simulated by the model that its machine has for its method [s]."""
    machine = schedule.machine
    settings = settings_of(schedule, sync or schedule.sync, schedule.in_flight)
    return end_time(
        Base(schedule).workload, machine, settings, machine.costs_for(schedule.method).model
    ).time_s


def no_circuits_on_lanes(machine: Machine) -> Machine:
    return (
        machine
        if machine.costs.model != "circuit"
        else replace(machine, costs=replace(machine.costs, lanes=1))
    )


@settings(max_examples=30)
@given(data=st.data())
def test_the_choice_is_never_slower_than_posting_everything(data: st.DataObject) -> None:
    machine = no_circuits_on_lanes(data.draw(machines()))
    pattern = data.draw(patterns(machine.topology.endpoints))
    try:
        chosen = compile_pattern(pattern, machine, CompileOptions())
    except NoScheduleError:
        return  # everything deadlocks
    assert verify(chosen).ok
    assert chosen.report.simulated_s == time_of(chosen)
    naive = compile_pattern(pattern, machine, CompileOptions("naive"))
    try:
        posted_s = time_of(naive)
    except (InputError, NoScheduleError):
        return
    assert chosen.report.simulated_s <= posted_s * (1 + 1e-9)
    assert chosen.report.verdict is not None
    assert (
        chosen.report.verdict["times"][machine.costs_for(chosen.method).model]["posted_s"]
        == posted_s
    )


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
@settings(max_examples=12)
@given(data=st.data())
def test_nothing_tried_is_simulated_faster(model: str, data: st.DataObject) -> None:
    machine = parse_machine(data.draw(st.sampled_from(MACHINES)))
    machine = no_circuits_on_lanes(
        replace(machine, costs=replace(machine.costs, model=model), method_costs={})
    )
    pattern = data.draw(patterns(machine.topology.endpoints))
    chosen = compile_pattern(pattern, machine, CompileOptions())
    assert chosen.report.simulated_s is not None
    alike = EQUAL if model in BLOCKING else 1 + 1e-9
    most = chosen.report.simulated_s / (
        ERROR if chosen.machine.costs_for(chosen.method).is_measured else alike
    )
    for method in candidates(pattern, machine, 1):
        for contention in contentions(method, pattern, machine):
            options = CompileOptions(contention=contention)
            effort = 0 if method == "decreasing" else 1  # its first unit is the construction
            try:
                other = compile_by(method, pattern, machine, options, effort=effort)
                times = [time_of(other, policy) for policy in allowed_policies(other)]
            except (InputError, NoScheduleError):
                continue
            assert most <= min(times) * (1 + 1e-9), (method, contention)


@settings(max_examples=10)
@given(data=st.data())
def test_one_thread_and_three_choose_the_same(data: st.DataObject) -> None:
    machine = no_circuits_on_lanes(data.draw(machines()))
    pattern = data.draw(patterns(machine.topology.endpoints))

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        return compile_by(
            method, pattern, machine, CompileOptions(contention=contention), effort=effort
        )

    found = []
    for threads in (1, 3):
        try:
            chosen = choose_schedule(make, pattern, machine, threads=threads)
        except NoScheduleError:
            found.append(None)
            continue
        found.append(
            (
                chosen.method,
                chosen.sync,
                chosen.in_flight,
                chosen.posting,
                chosen.message.tolist(),
                chosen.report.reason,
            )
        )
    assert found[0] == found[1]


@settings(max_examples=60)
@given(data=st.data())
def test_a_time_with_drawn_costs_is_multiplied_by_the_least_factor_at_least(
    data: st.DataObject,
) -> None:
    machine = data.draw(random_machines.machines())
    origins = dict.fromkeys(PARAMETERS, Provenance("unknown"))
    costs = replace(machine.costs, provenance=origins)
    machine = replace(machine, costs=costs)
    pattern = data.draw(random_machines.patterns(machine.topology.endpoints))
    method = data.draw(st.sampled_from(("naive", "lp", "first-fit", "rs-nl", "event-list")))
    try:
        schedule = compile_by(method, pattern, machine, CompileOptions())
    except (InputError, NoScheduleError):
        return
    sync = data.draw(st.sampled_from(allowed_policies(schedule)))
    exponents = st.lists(st.floats(-1, 1), min_size=len(PARAMETERS), max_size=len(PARAMETERS))
    drawn, least = redrawn(costs, data.draw(exponents))
    own_s, drawn_s = times_with(schedule, [(sync, costs), (sync, drawn)])
    assert drawn_s >= own_s * least / REL_TOL
