"""Switches of programs in their parts, simulated: against times worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.spec import parse_machine
from conset.models.connections import simulate_connections
from conset.models.flow import simulate_flow
from conset.models.phases_over_time import SwitchParts, simulated_switches
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import document_of, write_compiled
from conset.schedule.program import Program, chained

MACHINE = "crossbar:4,port=1GB/s,overhead=0,inject=0,eject=0,hop=0,synchronization=5us,setup=3us"


def program_of(
    *blocks: tuple[list[tuple[int, int, int]], int], method: str = "first-fit"
) -> Program:
    """Blocks of (source, target, bytes), and how often each runs."""
    machine, options = parse_machine(MACHINE), CompileOptions(method=method)
    specs = []
    for k, (messages, repeat) in enumerate(blocks):
        columns = (np.array(column) for column in zip(*messages, strict=True))
        specs.append(BlockSpec(f"block {k}", Pattern.from_messages(*columns, 4), repeat, options))
    return compile_program(specs, machine, options)


def simulated(program: Program, sync: str = "barrier") -> SwitchParts | None:
    machine, schedule = program.machine, chained(program)
    costs = machine.costs_for(schedule.method)
    timeline = simulate_flow(Workload.of_schedule(schedule), machine, Settings.of(costs, sync=sync))
    return simulated_switches(timeline, machine, costs)


def test_what_is_under_way_drains_before_all_meet_and_connections_open() -> None:
    # rank 0 may send to one at a time: three contexts; what the last one drains is no part of a
    # switch
    program = program_of(
        ([(0, 1, 1000)], 1), ([(0, 2, 4000), (3, 1, 1000)], 1), ([(0, 3, 9000)], 1)
    )
    parts = simulated(program)
    assert parts is not None
    assert parts.count == program.switches == 2
    assert parts.drain_s == 0.0  # bytes flow
    assert (parts.synchronization_s, parts.setup_s) == (pytest.approx(10e-6), pytest.approx(6e-6))


def test_what_has_left_its_sender_is_under_way_until_it_arrives() -> None:
    machine = parse_machine(
        "mesh:1x4,link=1GB/s,port=1GB/s,overhead=0,inject=0,eject=0,hop=1us,flit=8B,setup=3us"
    )
    options = CompileOptions(method="connections")
    blocks = [
        BlockSpec(
            f"to {k}",
            Pattern.from_messages(np.array([0]), np.array([k]), np.array([80]), 4),
            1,
            replace(options, limits="send=1"),
        )
        for k in (3, 1)
    ]
    program = compile_program(blocks, machine, options)
    schedule = chained(program)
    costs = machine.costs_for("connections")
    timeline = simulate_connections(
        Workload.of_schedule(schedule), machine, Settings.of(costs, sync="barrier")
    )
    parts = simulated_switches(timeline, machine, costs)
    assert parts is not None
    assert parts.count == program.switches == 1
    assert parts.drain_s == pytest.approx(timeline.figures["switch"]["drain_s"])
    assert parts.drain_s == pytest.approx(
        3e-6 + 4 * 8e-9
    )  # of the last element: 3 hops, 3 links and the port in


def test_a_phase_that_sends_nothing_drains_nothing() -> None:
    program = program_of(([(0, 1, 1000)], 1), ([(0, 2, 4000)], 1))
    first = program.schedules[0]
    empty = replace(first, phase_offsets=np.array([0, 1, 1]))
    contexts = ((*program.contexts[0], 2), *program.contexts[1:])
    parts = simulated(
        replace(program, schedules=(empty, *program.schedules[1:]), contexts=contexts)
    )
    assert parts is not None
    assert parts == SwitchParts(2, 0.0, pytest.approx(10e-6), pytest.approx(6e-6))  # type: ignore[arg-type]


def test_a_context_that_stays_open_is_not_switched() -> None:
    program = program_of(([(0, 1, 1000)], 3), ([(2, 3, 1000)], 2), ([(0, 2, 1000)], 1))
    parts = simulated(program)
    assert parts is not None
    assert (parts.count, program.switches) == (1, 1)
    assert parts.setup_s == pytest.approx(3e-6)


def test_without_barriers_nothing_is_switched_as_a_whole() -> None:
    assert simulated(program_of(([(0, 1, 1000)], 1), ([(0, 2, 1000)], 1)), "local") is None


def test_the_median_is_taken_part_by_part() -> None:
    parts = SwitchParts.median(
        np.array([[2, 1.0, 5.0, 1.0], [2, 3.0, 4.0, 2.0], [2, 2.0, 6.0, 9.0]])
    )
    assert parts == SwitchParts(2, 2.0, 5.0, 2.0)


def test_simulate_says_what_switches_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, file = program_of(([(0, 1, 1500)], 1), ([(0, 2, 1000)], 1)), tmp_path / "prog.json"
    write_compiled(document_of(program), file)
    assert run(["simulate", str(file), "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)["switch"]
    assert found == pytest.approx(
        {"count": 1, "drain_s": 0.0, "synchronization_s": 5e-6, "setup_s": 3e-6}
    )
    assert "switches     1: drain 0 s, synchronization 5 us, set-up 3 us" in captured.err


def test_schedules_have_no_switches_of_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = conset.compile("alltoall", "mesh:2x2")
    write_compiled(schedule, tmp_path / "s.json")
    assert run(["simulate", str(tmp_path / "s.json"), "--json"]) == 0
    assert "switch" not in json.loads(capsys.readouterr().out)
