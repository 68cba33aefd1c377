"""Programs that forward, and any program as one schedule of all that it sends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from conset import api
from conset.base.errors import InputError
from conset.compilation.combining import compile_along
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.paths import Paths, direct
from conset.schedule.program import Program, chained, unchained
from conset.schedule.schedule import Manifest

FIRST_FIT = CompileOptions("first-fit")


def rows_then_columns(machine: Machine, pattern: Pattern) -> Paths:
    """Two stages: to the column of the target, then to its row."""
    side = machine.topology.sides[1]
    middle = pattern.source // side * side + pattern.target % side
    return Paths(pattern, np.column_stack((pattern.source, middle, pattern.target)))


@st.composite
def routed(draw: st.DrawFn) -> Paths:
    """A random pattern of 2 to 12 ranks whose messages visit any ranks in up to 4 stages."""
    ranks = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cells = np.flatnonzero(~np.eye(ranks, dtype=bool).ravel())
    chosen = rng.permutation(cells)[: draw(st.integers(1, min(40, cells.size)))]
    pattern = Pattern.from_messages(
        chosen // ranks, chosen % ranks, rng.integers(1, 3000, chosen.size), ranks
    )
    stages = draw(st.integers(1, 4))
    inner = rng.integers(0, ranks, (pattern.messages, stages - 1))
    stay = rng.random(inner.shape) < draw(st.sampled_from([0.0, 0.5, 0.9]))
    positions = np.column_stack((pattern.source, inner, pattern.target))
    for j in range(1, stages):
        positions[:, j] = np.where(stay[:, j - 1], positions[:, j - 1], positions[:, j])
    return Paths(pattern, positions)


def bundles_by_hand(paths: Paths, stage: int) -> dict[tuple[int, int], set[int]]:
    """(from, to) → messages of a stage, one message after the other."""
    found: dict[tuple[int, int], set[int]] = {}
    for m, row in enumerate(paths.positions.tolist()):
        if row[stage] != row[stage + 1]:
            found.setdefault((row[stage], row[stage + 1]), set()).add(m)
    return found


@given(routed())
def test_bundles_follow_from_positions(paths: Paths) -> None:
    for stage in range(paths.stages):
        bundles, by_hand = paths.bundles(stage), bundles_by_hand(paths, stage)
        pattern = bundles.pattern
        pairs = list(zip(pattern.source.tolist(), pattern.target.tolist(), strict=True))
        assert pairs == sorted(by_hand)
        for b, pair in enumerate(pairs):
            parts = bundles.parts[bundles.offsets[b] : bundles.offsets[b + 1]].tolist()
            assert set(parts) == by_hand[pair]
            assert len(parts) == len(by_hand[pair])
            assert pattern.size[b] == paths.pattern.size[parts].sum()
            rows = paths.positions[parts]
            travels = [
                (int(row[min(stage + 2, paths.stages)]), int(row[-1]), int(row[0])) for row in rows
            ]
            assert travels == sorted(travels), "what travels on together lies together"
        packed = [len(by_hand[pair]) > 1 for pair in pairs]
        assert (pattern.packed is None and not any(packed)) or pattern.packed.tolist() == packed


def needs_by_hand(paths: Paths) -> set[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """((stage, from, to) that brings a message, (stage, from, to) that passes it on)."""
    found = set()
    for row in paths.positions.tolist():
        last = None
        for stage in range(paths.stages):
            if row[stage] == row[stage + 1]:
                continue
            here = (stage, row[stage], row[stage + 1])
            if last is not None:
                found.add((last, here))
            last = here
    return found


@given(routed())
def test_a_chained_program_waits_for_what_it_needs_and_nothing_else(paths: Paths) -> None:
    machine = parse_machine(f"crossbar:{paths.pattern.ranks}")
    program, whole = compile_along(paths, machine, FIRST_FIT, None, Manifest())
    assert api.verify(whole).ok
    names: dict[int, tuple[int, int, int]] = {}
    stage_ends = np.cumsum([schedule.phases for schedule in program.schedules])
    for k, message in enumerate(whole.message.tolist()):
        stage = int(np.searchsorted(stage_ends, whole.phase_of[k], side="right"))
        names[message] = (
            stage,
            int(whole.pattern.source[message]),
            int(whole.pattern.target[message]),
        )
    before = [] if whole.pattern.before is None else whole.pattern.before.tolist()
    assert {(names[i], names[j]) for i, j in before} == needs_by_hand(paths)
    again = unchained(whole, paths)
    assert again == program
    assert chained(again) == whole


@given(
    routed(),
    st.sampled_from(["none", "local", "ready", "barrier"]),
    st.sampled_from(["flow", "wormhole"]),
)
def test_nothing_is_passed_on_before_it_arrived(paths: Paths, sync: str, model: str) -> None:
    machine = parse_machine(f"ring:{max(paths.pattern.ranks, 3)},overhead=2us,in_flight=2")
    _, whole = compile_along(paths, machine, FIRST_FIT, None, Manifest())
    timeline = api.simulate(whole, sync=sync, model=model)
    assert timeline.workload is not None
    for m in range(timeline.messages):
        own = slice(*timeline.workload.dep_offsets[m : m + 2])
        earlier = timeline.end_s[timeline.workload.deps[own]]
        assert (timeline.start_s[m] >= earlier.max(initial=0.0) - 1e-12).all()


@pytest.mark.parametrize("method", ["first-fit", "coloring", "naive", "auto"])
def test_a_program_of_one_stage_is_the_schedule(method: str) -> None:
    machine, options = parse_machine("paragon:4x4"), CompileOptions(method)
    pattern = parse_pattern("random:degree=5", topology=machine.topology, ranks=16)
    schedule = compile_pattern(pattern, machine, options)
    program, whole = compile_along(direct(pattern), machine, options, None, Manifest())
    assert whole == schedule
    assert chained(Program.of(schedule)) == schedule
    assert program.schedules == (schedule,)


def test_blocks_run_again_and_again() -> None:
    """Three repetitions forth, back and forth.

    Phases 0 1 | 1 0 | 0 1, of which neighbours of one context are one.
    """
    machine = parse_machine("torus:4x4,setup=1us")
    options = CompileOptions("first-fit")
    pattern = parse_pattern("shift:by=5", topology=machine.topology, ranks=16)
    other = parse_pattern("random:degree=2", topology=machine.topology, ranks=16)
    program = compile_program(
        [BlockSpec("a", other, 3, options), BlockSpec("b", pattern, 1, options)], machine, options
    )
    whole = chained(program)
    assert whole.pattern.messages == 3 * other.messages + pattern.messages
    assert whole.pattern.bytes == 3 * other.bytes + pattern.bytes
    assert whole.phases == program.switches + 1
    assert whole.sync == "barrier"
    sent = np.bincount(whole.pattern.source, whole.size[np.argsort(whole.message)], minlength=16)
    expected = 3 * np.bincount(other.source, other.size, minlength=16) + np.bincount(
        pattern.source, pattern.size
    )
    assert (sent == expected).all()
    assert api.simulate(whole).messages == whole.pattern.messages


def test_the_paragon_forwards_small_messages() -> None:
    """Rows, then columns, of a complete exchange on 8x8.

    4.40 ms at 256 B where everything is posted (11.0 ms by the best direct schedule by formula,
    8.29 by what the machine's model chooses); at 4 KiB the direct schedule wins.
    """
    machine = parse_machine("paragon:8x8")
    times = {}
    for size in (256, 4096):
        pattern = parse_pattern(f"alltoall:size={size}", topology=machine.topology, ranks=64)
        _, posted = compile_along(
            rows_then_columns(machine, pattern), machine, CompileOptions("naive"), None, Manifest()
        )
        _, best = compile_along(
            rows_then_columns(machine, pattern), machine, CompileOptions(), None, Manifest()
        )
        straight = compile_pattern(pattern, machine)
        assert best.report is not None
        assert straight.report is not None
        times[size] = (
            api.simulate(posted, model="wormhole").time_s,
            best.report.simulated_s,
            straight.report.simulated_s,
        )
    assert times[256][0] == pytest.approx(4.398348e-3)
    assert times[256][1] < 2.5e-3 < 8e-3 < times[256][2]
    assert times[4096][2] < times[4096][1]


def paths_of(positions: NDArray[np.int32], **changes: object) -> Paths:
    pattern = Pattern.from_messages([0, 1, 2], [2, 2, 0], [10, 20, 30], 3)
    return replace(Paths(pattern, positions), **changes)


def test_parts_of_messages_travel_apart() -> None:
    """Message 2 of 30 B in two parts: 10 B over rank 1, 20 B at once."""
    positions = np.array([[0, 0, 2], [1, 1, 2], [2, 1, 0], [2, 0, 0]])
    pattern = Pattern.from_messages([0, 1, 2], [2, 2, 0], [10, 20, 30], 3)
    paths = Paths(
        pattern,
        positions,
        np.array([0, 1, 2, 2]),
        np.array([0, 0, 0, 10]),
        np.array([10, 20, 10, 20]),
    )
    assert paths.bundles(0).pattern.size.tolist() == [20, 10]
    assert paths.bundles(1).pattern.size.tolist() == [10, 10, 20]


@pytest.mark.parametrize(
    ("positions", "changes", "says"),
    [
        ([[0, 2], [1, 2], [2, 1]], {}, r"positions\[2, -1\] = 1: its target is rank 0"),
        ([[0, 2], [0, 2], [2, 0]], {}, r"positions\[1, 0\] = 0: its source is rank 1"),
        ([[0, 2], [1, 2]], {}, r"positions has shape \(2, 2\): one row for each of 3 parts"),
        (
            [[0, 3, 2], [1, 1, 2], [2, 2, 0]],
            {},
            r"positions\[0, 1\] = 3: must be a rank from 0 to 2",
        ),
        ([[0], [1], [2]], {}, "2 to 65 columns required"),
    ],
)
def test_paths_that_are_none_are_refused(
    positions: list[list[int]], changes: dict[str, object], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        paths_of(np.array(positions), **changes)


@pytest.mark.parametrize(
    ("message", "first", "size", "says"),
    [
        (
            [0, 1, 2, 2],
            [0, 0, 0, 11],
            [10, 20, 10, 19],
            r"first\[3\] = 11: byte 10 of message 2 comes next",
        ),
        ([0, 1, 2, 2], [0, 0, 0, 10], [10, 20, 10, 19], "message 2 has 30 bytes, its parts 29"),
        ([0, 1, 2, 2], [0, 0, 0, 10], [10, 20, 30, 0], r"size\[3\] = 0: must be above 0 B"),
        ([0, 1, 2, 3], [0, 0, 0, 10], [10, 20, 10, 20], r"message\[3\] = 3: must be from 0 to 2"),
    ],
)
def test_parts_that_are_none_are_refused(
    message: list[int], first: list[int], size: list[int], says: str
) -> None:
    pattern = Pattern.from_messages([0, 1, 2], [2, 2, 0], [10, 20, 30], 3)
    positions = np.array([[0, 2], [1, 2], [2, 0], [2, 0]])
    with pytest.raises(InputError, match=says):
        Paths(pattern, positions, np.array(message), np.array(first), np.array(size))
