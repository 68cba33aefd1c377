"""Malformed nouns: whatever is put into a field, the answer is one line of an error, never the end of the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import conset
from conset.errors import ConsetError
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.report.notebook import schedule_html
from conset.schedule.file import document_of
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.simulation import Workload
from conset.simulation.settings import Settings
from conset.simulation.table import MODELS
from conset.verification import verify_schedule
from malformed import NUMBERS, spoiled

MACHINES = ["mesh:4x4", "torus:3x3,lanes=2", "crossbar:9", "hypercube:3", "iwarp:4x4"]


def changes(noun: Any, rng: np.random.Generator) -> dict[str, Any]:
    """One or two array fields spoiled, or given where there were none."""
    names = [f.name for f in fields(noun) if isinstance(getattr(noun, f.name), np.ndarray)]
    none = [f.name for f in fields(noun) if getattr(noun, f.name) is None and "NDArray" in str(f.type)]
    found: dict[str, Any] = {name: spoiled(getattr(noun, name), rng) for name in rng.choice(names, rng.integers(1, 3))}
    if none and rng.integers(3) == 0:
        found[str(rng.choice(none))] = rng.choice(NUMBERS, rng.integers(0, 40))
    return found


def refusals(*steps: Callable[[], Any]) -> list[str]:
    """What the steps that refuse say; anything but a refusal in words is raised."""
    said = []
    for step in steps:
        try:
            step()
        except ConsetError as error:
            said.append(str(error))
    assert not any("\n" in text for text in said)
    return said


def played(work: Workload, machine: Any, model: str, settings: Settings) -> Callable[[], Any]:
    return lambda: MODELS[model].simulate(work, machine, settings)


def used(schedule: Schedule) -> list[Callable[[], Any]]:
    return [
        lambda: conset.predict(schedule),
        lambda: conset.predict(schedule, sync="local"),
        lambda: phase_loads(schedule),
        lambda: document_of(schedule),
        lambda: verify_schedule(schedule),
        lambda: schedule_html(schedule),
        lambda: MODELS["flow"].simulate(Workload.of_schedule(schedule), schedule.machine, Settings(max_work=10**6)),
    ]


@pytest.mark.parametrize("spec", MACHINES)
@pytest.mark.parametrize("method", ["first-fit", "connections"])
def test_malformed_schedules(spec: str, method: str) -> None:
    schedule = conset.compile("random:degree=3,size=log-uniform(1,4KiB)", spec, method=method, timetable="event-list")
    rng = np.random.default_rng(len(spec))
    assert refusals(*used(schedule)) == []
    refused = 0
    for _ in range(60):
        try:
            broken = replace(schedule, **changes(schedule, rng))
        except ConsetError:
            refused += 1
            continue
        refusals(*used(broken))
    assert refused > 30


def test_a_schedule_is_checked_where_it_is_made() -> None:
    schedule = conset.compile("alltoall", "mesh:4x4", method="first-fit")
    with pytest.raises(ConsetError, match=r"placement\[0\] = 50000000: must be from 0 to 15"):
        replace(schedule, placement=np.full(16, 50_000_000))
    with pytest.raises(ConsetError, match="16 ranks without a placement on the 9 nodes of mesh:3x3"):
        replace(schedule, machine=parse_machine("mesh:3x3"))
    twice = replace(schedule, phase_offsets=np.array([0, 480]), message=np.tile(schedule.message, 2))
    assert twice.size.shape == (480,)  # sizes of a pattern of equal ones are one element
    assert refusals(*used(twice)) == []


def test_malformed_patterns() -> None:
    pattern = Pattern.from_messages([0, 1, 2, 5, 8], [3, 4, 5, 7, 0], [8, 9, 10, 11, 12], 9, before=[[0, 1]][:0])
    rng = np.random.default_rng(7)
    for _ in range(300):
        try:
            broken = replace(pattern, **changes(pattern, rng), ranks=int(rng.choice([9, 9, 9, *NUMBERS])))
        except ConsetError:
            continue
        refusals(lambda broken=broken: conset.compile(broken, "mesh:3x3", method="first-fit"))


@pytest.mark.parametrize("spec", [*MACHINES, "mesh:3x3,eager=200,buffers=300,copy=1GB/s,signal=1us,setup=2us"])
@pytest.mark.parametrize("model", MODELS)
def test_malformed_workloads(spec: str, model: str) -> None:
    machine = parse_machine(spec)
    schedule = conset.compile("random:degree=3,size=uniform(1,400)", spec, method="connections")
    work = replace(Workload.of_schedule(schedule), order=np.arange(schedule.transfers, dtype=np.int32))
    chained = replace(work, dep_offsets=np.arange(work.messages + 1), deps=np.full(work.messages, 0), phase_offsets=[])
    rng = np.random.default_rng(len(spec) + len(model))
    refused = 0
    for number in range(60):
        settings = Settings(
            sync=str(rng.choice(["none", "local", "ready", "barrier", "barrier:2"])),
            in_flight=rng.choice([None, 1, 2**31 - 1]), receives=rng.choice([None, 1, 2**31 - 1]),
            record=bool(rng.integers(2)), until_s=float(rng.choice([0.0, 1e-6, np.inf])),
            max_work=rng.choice([None, 0, 10**5]),
        )  # fmt: skip
        try:
            broken = replace((work, chained)[number % 2], **changes(work, rng))
        except ConsetError:
            refused += 1
            continue
        refusals(played(broken, machine, model, settings))
    assert refused > 20


@pytest.mark.parametrize("sender", [-5, 1 << 24, 2_000_000_000])
def test_ranks_that_no_table_holds(sender: int) -> None:
    with pytest.raises(ConsetError, match=rf"sender\[0\] = {sender}: must be from 0 to 16777215"):
        Workload(np.array([0]), np.array([1]), np.array([8]), 16, sender=np.array([sender]), receiver=np.array([1]))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("word", ["setup", "synchronization", "signal", "send_overhead", "receive_overhead", "hop"])
def test_the_largest_times_of_the_fastest_links(model: str, word: str) -> None:
    """10^6 s are 10^23 cycles of a link of 10^18 B/s: refused, where a flit's clock would wrap around."""
    for link in ("1GB/s", "1e9GB/s"):
        machine = parse_machine(f"mesh:4x4,{word}=1e6s,link={link},lanes=2")
        schedule = conset.compile("alltoall", machine, method="first-fit", sync="barrier")
        play = played(Workload.of_schedule(schedule), machine, model, Settings(sync="barrier"))
        said = refusals(play)
        if said:
            assert model == "flit"
            assert "cycles" in said[0]
            continue
        paid = 0.0 if word == "signal" or (model == "flit" and word == "hop") else 1e6
        assert paid <= play().time_s < 1e9
    late = Workload(np.array([0]), np.array([1]), np.array([8]), 16, time_s=np.array([1e6]))
    said = refusals(played(late, parse_machine("mesh:4x4,link=1e9GB/s,lanes=2"), model, Settings()))
    assert bool(said) == (model == "flit")
