"""Programs over time: every repetition walked one by one beside what is computed.

Pictures of phases and switches.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError
from conset.bounds.programs import bound_program
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models import phases_over_time, predict
from conset.models.formula.evaluate import predict_program
from conset.pattern.spec import parse_pattern
from conset.schedule.linkage import program_guarantees
from conset.schedule.program import Program
from support.grid_programs import rows_then_columns


def blocks(machine: str, *named: tuple[str, str, int, str]) -> Program:
    """A program of (name, pattern, repeat, method)."""
    on = parse_machine(machine)
    specs = [
        BlockSpec(
            name,
            parse_pattern(text, topology=on.topology, ranks=on.topology.endpoints),
            repeat,
            CompileOptions(method),
        )
        for name, text, repeat, method in named
    ]
    return compile_program(specs, on, CompileOptions())


def walked(program: Program) -> dict[str, Any]:
    """Time and parts of switches, phase after phase, by predictions of single phases."""
    machine, costs = program.machine, program.machine.costs_for(program.schedules[0].method)
    barrier_s = costs.synchronization.at(machine.topology.endpoints)
    now = drain = synchronization = setup = 0.0
    switches, last = 0, None
    for stage in program.stages:
        schedule, contexts = program.schedules[stage.schedule], program.contexts[stage.schedule]
        latency = program_guarantees(program)[stage.schedule].latency_s
        for repetition in range(stage.repeat):
            order = range(schedule.phases)
            for phase in reversed(order) if stage.turns and repetition % 2 else order:
                alone = _alone(program.machine, schedule, phase)
                if last is None:
                    now += barrier_s * costs.first_barrier + costs.setup_s
                elif last[0] != contexts[phase]:
                    synchronization, setup, drain = (
                        synchronization + barrier_s,
                        setup + costs.setup_s,
                        drain + last[1],
                    )
                    now += barrier_s + costs.setup_s
                    switches += 1
                now += alone
                own = latency[schedule.phase_of == phase]
                last = contexts[phase], min(alone, float(own.max(initial=0.0)))
    return {
        "now": now,
        "drain": drain,
        "synchronization": synchronization,
        "setup": setup,
        "switches": switches,
    }


def _alone(machine: Machine, schedule: Any, phase: int) -> float:
    """What one phase transfers [s]."""
    inside = schedule.phase(phase)
    cut = replace(
        schedule,
        phase_offsets=np.array([0, inside.stop - inside.start]),
        message=schedule.message[inside],
        parts=schedule.size[inside],
        route_offsets=None,
        route_nodes=None,
        channels=None,
        timetable=None,
    )
    return predict(cut, sync="barrier").terms["transfer"]


PROGRAM = st.lists(
    st.tuples(
        st.sampled_from(
            ("neighbor", "shift:by=3", "random:degree=2", "alltoall,size=64", "butterfly,size=4KiB")
        ),
        st.integers(1, 7),
        st.sampled_from(("rs-nl", "first-fit", "naive", "coloring")),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(
    PROGRAM,
    st.sampled_from(("torus:4x4,setup=5us", "mesh:2x4,tolerance=8", "ipsc860:8")),
    st.sampled_from((0, 9, 240)),
)
def test_a_program_over_time_is_its_phases_one_by_one(
    rows: list[tuple[str, int, str]], machine: str, kept: int
) -> None:
    program = blocks(
        machine, *((f"block {k}", text, repeat, how) for k, (text, repeat, how) in enumerate(rows))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases_over_time, "KEPT", kept)
        found = phases_over_time.switching(program)
    expected = walked(program)
    assert found.parts.count == program.switches == expected["switches"]
    assert found.end_s[-1] == pytest.approx(predict_program(program).time_s, rel=1e-9)
    assert found.end_s[-1] == pytest.approx(expected["now"], rel=1e-9)
    for name in phases_over_time.PARTS:
        assert getattr(found.parts, f"{name}_s") == pytest.approx(
            expected[name], rel=1e-9, abs=1e-15
        ), name
    bounds = bound_program(program).whole
    assert bounds.phases <= program.phases
    assert 0 < bounds.time_s <= predict_program(program).time_s * (1 + 1e-9)
    # what is kept and what is left out meet without gaps
    begins = found.begin_s - found.setup_s - found.synchronization_s
    gaps = [(each.begin_s, each.end_s) for each in found.left_out]
    edges = sorted([*zip(begins.tolist(), found.end_s.tolist(), strict=True), *gaps])
    assert edges[0][0] == 0
    assert [end for _, end in edges[:-1]] == pytest.approx(
        [begin for begin, _ in edges[1:]], rel=1e-9, abs=1e-15
    )
    if kept == 240:
        assert not found.left_out
        assert int(found.switched.sum()) - 1 == program.switches
        assert found.drain_s.sum() == pytest.approx(expected["drain"], rel=1e-9, abs=1e-15)


def test_what_forwards_has_no_switches() -> None:
    with pytest.raises(InputError, match="holds no connections open"):
        phases_over_time.switching(rows_then_columns(parse_machine("mesh:4x4"), (4, 4)))


def test_blocks_are_drawn_with_their_switches() -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'conset[draw]'")
    from conset.report.program_pictures import picture_blocks
    from support.vector_pictures import drawn

    program = blocks(
        "iwarp:4x4",
        ("transpose", "alltoall,size=2KiB", 2, "connections"),
        ("halo", "neighbor", 300, "connections"),
    )
    words = drawn(lambda: picture_blocks(program, phases_over_time.switching(program)))
    contexts = program.figures()["contexts"]
    assert (
        f"2 blocks on iwarp:4x4: {program.switches} switches between {contexts} contexts" in words
    )
    assert {
        "transpose, 2 × ⇄  0",
        "halo, 300 ×  0",
        "start → transpose 0",
        "transpose 0 → halo 0",
    } <= set(words)
    assert {"drain", "synchronization", "set-up", "parts of a switch"} <= set(words)
    assert any(text.startswith("297 more, ") for text in words)


def test_labels_of_many_blocks_do_not_lie_on_each_other() -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'conset[draw]'")
    from conset.report.program_pictures import picture_blocks

    rows = (
        (f"block {k}", f"shift:by={1 + k % 7}", 300 if k % 2 else 7, "connections")
        for k in range(60)
    )
    program = blocks("iwarp:4x4", *rows)
    figure = picture_blocks(program, phases_over_time.switching(program))
    figure.canvas.draw()
    axes = figure.axes[0]
    for labels, side in ((axes.get_yticklabels(), 1), (axes.get_xticklabels(), 0)):
        boxes = [label.get_window_extent().get_points()[:, side] for label in labels]
        edges = sorted((float(low), float(high)) for low, high in boxes)
        assert len(edges) > 3
        assert all(high <= low for (_, high), (low, _) in pairwise(edges))
