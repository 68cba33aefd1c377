"""Bounds of programs that forward.

Closed forms, the command, the bounds of a program, and what they refuse.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil, log2

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.bounds import bound_stages
from conset.bounds.programs import bound_program
from conset.bounds.stages import least_maxima
from conset.cli import bound
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_placed
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.spec import parse_machine
from conset.machine.times import synchronization_s
from conset.models.formula.evaluate import predict_program
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.program import Program, chained
from conset.schedule.schedule import Manifest, Schedule
from support.grid_programs import alltoall, rows_then_columns

US = 1e-6
CONNECTIONS = CompileOptions("connections")
LOGP = "crossbar:32,overhead=2us,inject=0,eject=0,per_transfer=3us,port=none"
"""1 us of work at either end and 3 us between.

A way takes 5 us, messages of a rank are 1 us apart.
"""


def simulated(schedule: Schedule) -> float:
    costs = schedule.machine.costs_for(schedule.method)
    settings = Settings.of(costs, sync=schedule.sync)
    return (
        MODELS["flow"].simulate(Workload.of_schedule(schedule), schedule.machine, settings).time_s
    )


def test_fan_out_is_the_broadcast_tree_of_logp() -> None:
    """Reached by time t: the root, and for each rank others 5, 6, 7, … us after it."""
    machine = parse_machine(LOGP)
    pattern = Pattern.from_messages(np.zeros(31, int), np.arange(1, 32), np.full(31, 8), 32)
    reached, time_us = [0], 0
    while len(reached) < 32:
        time_us, reached = time_us + 1, [0]
        for at in reached:  # grows while it is gone through
            reached += [at + k + 4 for k in range(1, time_us + 1) if at + k + 4 <= time_us]
    assert bound_stages(pattern, machine).time_s == pytest.approx(time_us * US, rel=1e-9)
    assert bound_stages(pattern, machine, stages=1).time_s == pytest.approx(35 * US, rel=1e-9), (
        "31 sends, then 4 us"
    )


def test_in_one_stage_the_bound_is_reached() -> None:
    """Everything directly on a crossbar: what the simulation takes."""
    machine = parse_machine("crossbar:8,overhead=2us,inject=0,eject=0,port=1GB/s")
    pattern = alltoall(8)
    schedule = compile_placed(
        pattern, machine, CompileOptions(method="pex", sync="none"), None, Manifest()
    )
    least_s = bound_stages(pattern, machine, stages=1).time_s
    assert least_s == pytest.approx(simulated(schedule), rel=1e-6)


def test_the_sum_of_stage_maxima() -> None:
    for targets in (1, 2, 15, 31, 63, 100):
        assert sum(least_maxima(targets + 1, None)) == ceil(log2(targets + 1))
        assert sum(least_maxima(targets + 1, 1)) == targets
    assert least_maxima(64, 2) == (7, 7)
    assert least_maxima(64, 3) == (3, 3, 3)
    assert bound_stages(alltoall(16), parse_machine("mesh:4x4"), stages=2).sends == 6


def test_large_messages_are_bound_by_volume() -> None:
    """16 ranks, stages of 3.

    6 targets one way off and 9 two: 1.6 times the bytes through 16 ports.
    """
    machine = parse_machine("crossbar:16,port=1GB/s,overhead=0,inject=0,eject=0")
    pattern = alltoall(16, 100_000)
    bounds = bound_stages(pattern, machine, maxima=(3, 3))
    assert bounds.volume == pytest.approx(1.6)
    assert bounds.time_s == pytest.approx(1.6 * 15 * 100_000 / 1e9)
    assert simulated(chained(rows_then_columns(machine, (4, 4), 100_000))) >= bounds.time_s * (
        1 - 1e-9
    )
    assert bound_stages(pattern, machine).time_s == pytest.approx(15 * 100_000 / 1e9)


def test_cuts_hold_over_whichever_ranks() -> None:
    """A line: all bytes between the halves pass one link."""
    machine = parse_machine("mesh:8,link=1GB/s,port=none,overhead=0")
    bounds = bound_stages(alltoall(8, 10_000), machine)
    assert bounds.time_s == pytest.approx(16 * 10_000 / 1e9, rel=0.02)
    assert "the first 4 of 8 along dimension 0" in bounds.time_witness


def test_ranks_on_one_node_need_no_port() -> None:
    machine = parse_machine("crossbar:2,port=1GB/s,overhead=2us,inject=0,eject=0")
    pattern = Pattern.from_messages([0, 1], [1, 0], [10**6, 10**6], 2)
    bounds = bound_stages(pattern, machine, placement=np.zeros(2, np.int32))
    assert bounds.time_s == pytest.approx(2 * US)


def test_what_is_refused() -> None:
    machine = parse_machine("crossbar:4")
    with pytest.raises(UsageError, match="stages = 0"):
        bound_stages(alltoall(4), machine, stages=0)
    with pytest.raises(UsageError, match="2 maxima are given"):
        bound_stages(alltoall(4), machine, stages=1, maxima=(1, 1))
    with pytest.raises(NoScheduleError, match="reach 2 ranks"):
        bound_stages(alltoall(4), machine, maxima=(2,))
    with pytest.raises(InputError, match="crossbar:4 has 4 endpoints"):
        bound_stages(alltoall(5), machine)
    empty = bound_stages(Pattern.from_messages([], [], [], 4), machine, stages=2)
    assert (empty.sends, empty.time_s, empty.volume) == (0, 0.0, 0.0)


def test_bounds_of_a_program() -> None:
    machine = parse_machine("paragon:4x4")
    program = rows_then_columns(machine, (4, 4), method="first-fit")
    bounds, whole = bound_program(program), chained(program)
    assert bounds.whole.phases == sum(each.phases for each in bounds.stages) <= program.phases
    assert bounds.as_many is not None
    assert bounds.any_number is not None
    assert bounds.any_number.time_s <= bounds.as_many.time_s <= simulated(whole)
    assert bounds.whole.time_s <= simulated(whole)
    assert bounds.volume == pytest.approx(1.6), "as the box sends"
    keys = {"phases", "time_s", "time_witness", "load_sum", "volume", "as_many", "any_number"}
    assert keys <= set(bounds.to_object())
    gap = bounds.gap(program.phases, bounds.whole.time_s, 2 * bounds.any_number.time_s)
    assert gap == pytest.approx(
        {"phases": program.phases / bounds.whole.phases, "time": 1, "any_number": 2}
    )


def test_bounds_of_building_blocks() -> None:
    machine = parse_machine("mesh:4x4")
    schedule = compile_placed(
        alltoall(16), machine, CompileOptions(method="first-fit"), None, Manifest()
    )
    bounds = bound_program(Program.of(schedule))
    assert bounds.any_number is None
    assert bounds.whole.phases == bounds.stages[0].phases


def test_blocks_that_share_a_context_are_not_bounded_as_if_each_run_opened_it() -> None:
    machine = parse_machine("iwarp:4x4")
    halo, both = (
        parse_pattern(text, topology=machine.topology, ranks=16)
        for text in ("neighbor", "alltoall")
    )
    specs = [BlockSpec("transpose", both, 2, CONNECTIONS), BlockSpec("halo", halo, 20, CONNECTIONS)]
    program = compile_program(specs, machine, CONNECTIONS)
    bounds, predicted_s = bound_program(program), predict_program(program).time_s
    assert bounds.whole.time_s <= predicted_s * (1 + 1e-9)
    # 20 runs of the halo need one context, the transpose four of the five
    costs = machine.costs_for("connections")
    assert predicted_s - bounds.whole.time_s < 8 * (
        costs.setup_s + synchronization_s(machine, costs)
    )
    assert "4 contexts" in bounds.whole.time_witness
    assert bounds.whole.phases == program.phases


def test_messages_of_one_pair_need_one_context() -> None:
    machine = parse_machine("crossbar:2,setup=1ms")
    twice = Pattern(2, np.array([0, 2, 2]), np.array([1, 1], np.int32), np.array([8, 8]))
    program = compile_program(
        [BlockSpec("two", twice, 1, CompileOptions("first-fit"))], machine, CompileOptions()
    )
    shared = replace(program, contexts=((0, 0),))  # both phases use one connection
    assert (shared.phases, shared.switches) == (2, 0)
    assert bound_program(shared).whole.time_s <= predict_program(shared).time_s < 2e-3


def invoke(*words: str) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(bound.command)
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_the_command_says_witness_and_class() -> None:
    text = invoke("alltoall:size=8", "--on", "paragon:8x8", "--stages", "8x8")
    assert "sends   at least 14" in text
    assert "volume  at least 1.778 of the bytes" in text
    assert "programs of at most 2 stages and 7 + 7 bundles a rank" in text
    body = json.loads(invoke("alltoall:size=8", "--on", "paragon:8x8", "--stages", "any", "--json"))
    assert body["schema"] == "conset/bound@1"
    assert (body["stages"], body["sends"], body["volume"]) == (None, 6, 1.0)
    assert body["bound"]["time_s"] == body["time_s"] < 2e-3
    assert {c["what"] for c in body["candidates"]} == {"sends", "volume", "time"}


@pytest.mark.parametrize("word", ["0", "2x0", "x", "-1", "4x", "2,2", "٣"])
def test_the_command_refuses_other_words(word: str) -> None:
    with pytest.raises(UsageError, match=r"a number of stages, any, or sides|must be from 1"):
        invoke("alltoall", "--on", "mesh:4x4", "--stages", word)


def test_the_command_refuses_what_schedules_have() -> None:
    with pytest.raises(UsageError, match="--sync none: --stages 2 is about any schedules"):
        invoke("alltoall", "--on", "mesh:4x4", "--stages", "2", "--sync", "none")
