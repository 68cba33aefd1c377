"""The C side makes the schedules of the compiler, and predicts and simulates them to the same bits.

Random machines as files, small patterns, every method that it has, every policy and model.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from conset import _core
from conset.base import Ints32
from conset.base.errors import ConsetError, InputError, NoScheduleError
from conset.compilation.auto import choose_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_by, why_not
from conset.compilation.trial import (
    allowed_policies,
    end_time,
    loss_of,
    receives_fit,
    settings_of,
)
from conset.machine.costs import Limits, Provenance
from conset.machine.flat_file import write_machine
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.machine.times import synchronization_s
from conset.methods.phases.problem import Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.models import predict
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.policy import POSTINGS, parse_sync
from conset.schedule.schedule import Schedule
from support.random_machines import US, costs, machines

METHODS = tuple(name for name in _core.method_names() if name not in ("auto", "bounded"))
GRAPHS = (
    "dragonfly:groups=3,routers=2,nodes=2",
    "dragonfly:groups=3,routers=2,nodes=1,routing=valiant",
    "leaf-spine:leaves=3,spines=2,hosts=2",
    "leaf-spine:leaves=3,spines=2,hosts=2,routing=adaptive",
    "fat-tree:k=4",
    "torus:3x3,dead=1",
    "mesh:2x3,planes=2",
    "torus:4x4,routing=no-wrap,width=2",
)
LIMITS = (
    Limits(),
    Limits(),
    Limits(send=1, receive=1),
    Limits(send=2, receive=1, link=2),
    Limits(link=1),
    Limits(channels=3),
    Limits(1, 1, duplex="exchange"),
)


@st.composite
def runtime_machines(draw: st.DrawFn) -> Machine:
    """Machines of any kind that a file can hold: some measured, some with hard limits."""
    machine = draw(machines(jitter_s=draw(st.sampled_from([0.0, 0.0, 3 * US]))))
    if draw(st.booleans()):
        machine = replace(parse_machine(draw(st.sampled_from(GRAPHS))), costs=machine.costs)
    if draw(st.integers(0, 3)) == 0:
        own = {draw(st.sampled_from(METHODS)): draw(costs(jitter_s=0.0))}
        machine = replace(machine, method_costs=own)
    if draw(st.integers(0, 3)) == 0:
        fitted = replace(machine.costs, provenance={"model": Provenance("fitted")})
        machine = replace(machine, costs=fitted)
    limits = draw(st.sampled_from(LIMITS))
    if machine.routing.is_known or (limits.link is None and limits.channels is None):
        held_for = draw(st.sampled_from([(), (), METHODS[:6]]))
        machine = replace(machine, limits=limits, limits_methods=held_for)
    return machine


@st.composite
def placed(draw: st.DrawFn, machine: Machine, most: int = 9) -> tuple[Machine, int]:
    """A machine with a job on it, and how many ranks its endpoints hold.

    Each rank on the node of its number, several on a node in turn, or on any nodes.
    """
    endpoints, per_node = machine.topology.endpoints, draw(st.integers(1, 4))
    ranks = draw(st.integers(1, min(most, endpoints * per_node)))
    if per_node == 1:
        return machine, ranks
    job = np.arange(ranks) // per_node
    if draw(st.booleans()):
        places = np.repeat(np.arange(endpoints), per_node)
        job = np.random.default_rng(draw(st.integers(0, 99))).permutation(places)[:ranks]
    return replace(machine, job=tuple(job.tolist())), ranks


def placement_of(machine: Machine) -> Ints32 | None:
    return np.array(machine.job, np.int32) if machine.job else None


@st.composite
def messages(draw: st.DrawFn, ranks: int) -> Pattern:
    """Complete or sparse, of one size or several, some of no bytes, some pairs twice."""
    pairs = [(s, t) for s in range(ranks) for t in range(ranks) if s != t]
    if draw(st.integers(0, 2)) > 0 and pairs:
        pairs = draw(st.lists(st.sampled_from(pairs), max_size=24))
    sizes = draw(st.sampled_from([(4096,), (0, 1, 100, 101, 4096, 20_000), (0,)]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    return Pattern.from_messages(*ends, rng.choice(sizes, len(pairs)), ranks)


def stored(machine: Machine) -> _core.MachineData:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.machine"
        write_machine(path, machine)
        return _core.MachineData.read(str(path))


def expect_same_times(schedule: Schedule, found: _core.TimedSchedule) -> None:
    """Whatever the choosers ask of a schedule is the same on both sides."""
    machine, workload = schedule.machine, Workload.of_schedule(schedule)
    costs = machine.costs_for(schedule.method)
    most = int(np.bincount(schedule.pattern.source).max(initial=0))
    assert found.most_in_flight == min(most, costs.in_flight or most)
    assert found.measured == costs.is_measured
    barrier_s = synchronization_s(machine, costs)
    policies = allowed_policies(schedule)
    assert found.policies() == list(policies)
    for sync in dict.fromkeys((*policies, "local", "barrier:3")):
        assert found.receives_fit(sync) == receives_fit(schedule, sync)
        assert found.barriers_s(sync) == parse_sync(sync).barriers(schedule.phases) * barrier_s
        assert found.predict(sync) == predict(schedule, sync=sync).time_s, sync
        assert found.loss(sync) == loss_of(schedule, sync), sync
        whole_s = inf
        for model, in_flight, share, work in (
            ("flow", 0, inf, 2**63 - 1),
            ("wormhole", 0, inf, 2**63 - 1),
            ("circuit", 1, inf, 2**63 - 1),
            ("flow", 2, 0.5, 2**63 - 1),
            ("wormhole", 2, inf, 40),
        ):
            until_s = inf if share == inf else whole_s * share
            given = settings_of(schedule, sync, in_flight or None, until_s=until_s, max_work=work)
            timed = found.simulate(
                getattr(_core.CostModel, model),
                sync,
                in_flight=in_flight,
                until_s=until_s,
                work=work,
            )
            try:
                wanted = end_time(workload, machine, given, model)
            except (InputError, NoScheduleError):
                assert timed.refused, (sync, model)
                continue
            assert (timed.seconds, timed.work, timed.cut, timed.refused) == (
                wanted.time_s,
                wanted.work,
                wanted.cut,
                False,
            ), (sync, model)
            whole_s = wanted.time_s


@settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_schedules_and_times_are_those_of_the_compiler(data: st.DataObject) -> None:
    machine, ranks = data.draw(placed(data.draw(runtime_machines())), "machine")
    pattern, placement = data.draw(messages(ranks), "pattern"), placement_of(machine)
    method = data.draw(st.sampled_from(METHODS), "method")
    links = [0, 0, 1, 2] if machine.routing.is_known else [0]
    link, seed = data.draw(st.sampled_from(links)), data.draw(st.integers(0, 2**64 - 1))
    # others search for long: one sweep of theirs is thousands
    efforts = [0, 1, 2, 8] if method == "first-fit" else [0, 1, 1, 2]
    effort = data.draw(st.sampled_from(efforts), "effort")
    order = data.draw(st.sampled_from(POSTINGS)) if method == "naive" else "schedule"
    request = CompileOptions(
        method=method,
        seed=seed,
        effort=max(effort, 1),
        posting=order,
        sync="barrier",
    )
    given_data, arrays = stored(machine), (pattern.source, pattern.target, pattern.size)
    ends = [np.ascontiguousarray(array) for array in arrays]

    def found() -> _core.TimedSchedule:
        return _core.TimedSchedule(
            given_data,
            pattern.ranks,
            *ends,
            method=method,
            link=link,
            seed=seed,
            effort=effort,
            order=order,
        )

    try:
        wanted = compile_by(method, pattern, machine, request, placement, contention=link or None)
    except ConsetError:
        with pytest.raises(RuntimeError):
            found()
        return
    if effort == 0:
        search = SearchOptions(seed, 0, posting=order)
        problem = Problem(pattern, machine, wanted.limits, placement, search=search)
        phases = find_method(method).schedule(problem)
        wanted = replace(
            wanted,
            phase_offsets=phases.offsets,
            message=phases.message,
            timetable=phases.timetable,
        )
    timed = found()
    assert np.array_equal(timed.phases.offsets, wanted.phase_offsets)
    assert np.array_equal(timed.phases.message, wanted.message)
    expect_same_times(wanted, timed)


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_every_interface_makes_the_same_choice(data: st.DataObject) -> None:
    """With the methods that a program without Python has, which give messages no planes."""
    machine, ranks = data.draw(placed(data.draw(runtime_machines())), "machine")
    assume(machine.topology.planes == 1)
    pattern, placement = data.draw(messages(ranks), "pattern"), placement_of(machine)
    sync = data.draw(st.sampled_from(["auto", "auto", "none", "local", "barrier:2"]), "sync")
    options = CompileOptions(seed=data.draw(st.integers(0, 99), "seed"), sync=sync)

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        return compile_by(
            method, pattern, machine, options, placement, contention=contention, effort=effort
        )

    def refuse(method: str) -> str | None:
        if method not in _core.method_names():
            return "Python alone has it"
        return why_not(method, pattern, machine, options, placement)

    ends = [np.ascontiguousarray(each) for each in (pattern.source, pattern.target, pattern.size)]

    def found() -> _core.RankSchedule:
        return _core.schedule_messages(
            stored(machine), pattern.ranks, *ends, method="auto", sync=sync, seed=options.seed
        )

    try:
        wanted = choose_schedule(make, pattern, machine, options, refuse=refuse)
    except ConsetError:
        with pytest.raises(RuntimeError):
            found()
        return
    chosen = found()
    assert (chosen.method, chosen.sync) == (wanted.method, wanted.sync)
    own = machine.costs_for(wanted.method).in_flight
    assert chosen.in_flight == (wanted.in_flight or own or 0)
    assert np.array_equal(chosen.phase_offsets, wanted.phase_offsets)
    assert np.array_equal(chosen.message, wanted.message)
    report = wanted.report
    time_s = report.simulated_s
    assert chosen.predicted_s == (predict(wanted).time_s if time_s is None else time_s)
