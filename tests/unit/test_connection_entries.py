"""Connection entries: what each phase of a program holds open, against a count by hand.

Their place in a plan file.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.base.flat import PLAN_FILE, read_flat
from conset.cli import main as conset_main
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.execution.connection_entries import ConnectionEntries, connection_entries, keeps_order
from conset.execution.plan import write_plan_file
from conset.execution.planner import make_plan
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import document_of, write_compiled
from conset.schedule.linkage import program_guarantees
from conset.schedule.program import Program, Stage
from conset.schedule.schedule import Schedule
from support.block_programs import MESH, program_of_blocks, split_schedule
from support.hand_made_programs import forwarding, random_paths, random_pattern


def by_hand(program: Program) -> list[list[tuple[Any, ...]]]:
    """For each rank (phase, send, peer, message, bytes, order, bandwidth, latency), by hand."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in range(program.ranks)]
    begin = 0
    for schedule, promised in zip(program.schedules, program_guarantees(program), strict=True):
        source, target = schedule.pattern.source, schedule.pattern.target
        ids = schedule.pattern.ids
        for p in range(schedule.phases):
            at = list(range(*schedule.phase(p).indices(schedule.transfers)))
            if schedule.timetable is not None:
                at.sort(key=lambda k: (schedule.timetable[k, 0], k))  # type: ignore[index]
            for rank in range(program.ranks):
                order: dict[tuple[int, int, int], list[int]] = {}
                for k in at:
                    ends = int(source[schedule.message[k]]), int(target[schedule.message[k]])
                    if rank in ends:
                        id = int(schedule.message[k] if ids is None else ids[schedule.message[k]])
                        key = int(ends[0] == rank), sum(ends) - rank, id
                        order.setdefault(key, []).append(k)
                place = {pair: number for number, pair in enumerate(order)}
                for pair in sorted(order):
                    ks = order[pair]
                    found[rank].append(
                        (
                            begin + p,
                            *pair,
                            sum(int(schedule.size[k]) for k in ks),
                            place[pair],
                            min(promised.bandwidth_Bps[k] for k in ks),
                            max(promised.latency_s[k] for k in ks),
                        )
                    )
        begin += schedule.phases
    return found


def rows_of(entries: ConnectionEntries) -> list[list[tuple[Any, ...]]]:
    columns = (
        entries.phase,
        entries.send,
        entries.peer,
        entries.id,
        entries.bytes,
        entries.order,
        entries.bandwidth_Bps,
        entries.latency_s,
    )
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return [rows[a:b] for a, b in zip(entries.offsets[:-1], entries.offsets[1:], strict=True)]


def with_ids(schedule: Schedule, *ids: int) -> Schedule:
    return replace(schedule, pattern=replace(schedule.pattern, ids=np.array(ids)))


@pytest.mark.parametrize(
    "program",
    [
        program_of_blocks(),
        Program.of(split_schedule()),
        Program.of(with_ids(split_schedule(), 17, 3, 2**31 - 1, 0)),
    ],
    ids=["blocks", "split", "called by ids"],
)
def test_entries_are_those_of_a_count_by_hand(program: Program) -> None:
    entries = connection_entries(program)
    assert rows_of(entries) == by_hand(program)
    assert (
        entries.node.tolist()
        == program.schedules[0].nodes_of(np.arange(program.ranks, dtype=np.int32)).tolist()
    )
    assert entries.schedule_phases.tolist() == [
        0,
        *np.cumsum([s.phases for s in program.schedules]).tolist(),
    ]


def test_blocks() -> None:
    program = program_of_blocks()
    entries = connection_entries(program)
    assert entries.names == ("halo", "all to all", "again")
    assert entries.repeat.tolist() == [4, 2, 1]
    assert entries.turns.tolist() == [stage.turns for stage in program.stages]
    assert entries.block_schedule.tolist() == [0, 1, 0]
    # the same phases share a context, whatever its number
    given = [context for contexts in program.contexts for context in contexts]
    assert entries.phase_context.tolist() == [
        sorted(set(given), key=given.index).index(c) for c in given
    ]


def test_a_split_schedule_by_hand() -> None:
    entries = connection_entries(split_schedule())
    assert (entries.names, entries.node.tolist()) == (("pattern",), [3, 1, 0, 2])
    # rank 0: 10 B to 1 in two parts, the one at 0.5 us first; then 7 B from 1; 6 B to 2 before 9 B
    # from 2
    assert [row[:6] for row in rows_of(entries)[0]] == [
        (0, 0, 1, 2, 7, 1),
        (0, 1, 1, 0, 10, 0),
        (1, 0, 2, 3, 9, 1),
        (1, 1, 2, 1, 6, 0),
    ]
    assert rows_of(entries)[3] == []


def test_order_is_that_of_the_plan() -> None:
    """Of each rank and phase, sends by posting order are the sends of the plan, and so are
    receives."""
    for schedule in (*program_of_blocks().schedules, split_schedule()):
        entries, plan = connection_entries(schedule), make_plan(schedule)
        for flag, operations in ((1, plan.sends), (0, plan.receives)):
            for rank, rows in enumerate(rows_of(entries)):
                mine = sorted((row[0], row[5], row[2]) for row in rows if row[1] == flag)
                at = operations.of(rank)
                pairs = zip(
                    operations.phase[at].tolist(), operations.peer[at].tolist(), strict=True
                )
                assert [(phase, peer) for phase, _, peer in mine] == list(dict.fromkeys(pairs))


def test_guarantees_of_a_shared_context() -> None:
    """0 → 1 and 0 → 2 on a ring share the link behind node 0.

    Half of its rate each, where both are open.
    """
    machine = parse_machine("ring:4,link=10MB/s")
    one, other = (
        Schedule(
            Pattern.from_messages([0], [t], [8], 4),
            machine,
            "naive",
            Limits(),
            np.array([0, 1]),
            np.array([0]),
        )
        for t in (1, 2)
    )
    stages = (Stage("a", 1, 0, False), Stage("b", 1, 1, False))
    for contexts, rate in ((((0,), (1,)), 10e6), (((0,), (0,)), 5e6)):
        entries = connection_entries(Program(machine, stages, (one, other), contexts))
        assert entries.bandwidth_Bps.tolist() == [rate] * 4
        assert entries.phase_context.tolist() == [0, contexts[1][0]]


def test_no_phases() -> None:
    empty = Schedule(
        Pattern.from_messages([], [], [], 3),
        MESH,
        "naive",
        Limits(),
        np.zeros(1, int),
        np.zeros(0, int),
    )
    entries = connection_entries(empty)
    assert (entries.phases, entries.offsets.tolist(), entries.phase.size) == (0, [0, 0, 0, 0], 0)


def test_forwarding_is_refused() -> None:
    pattern = random_pattern(5, np.random.default_rng(1))
    with pytest.raises(InputError, match="the program forwards messages"):
        connection_entries(forwarding(random_paths(pattern, 2, np.random.default_rng(2))))


def test_nodes_must_agree() -> None:
    one = compile_pattern(parse_pattern("shift:by=1", ranks=4), MESH, CompileOptions("first-fit"))
    other = replace(one, placement=np.array([0, 1, 3, 2]))
    stages = (Stage("a", 1, 0, False), Stage("b", 1, 1, False))
    program = Program(
        MESH, stages, (one, other), (tuple(range(one.phases)), tuple(range(9, 9 + one.phases)))
    )
    with pytest.raises(
        InputError, match=r"schedules\[1\]: rank 2 is on node 3, in schedules\[0\] on node 2"
    ):
        connection_entries(program)


def test_plan_file(tmp_path: Path) -> None:
    program = program_of_blocks()
    entries = connection_entries(program)
    write_plan_file(make_plan(program), tmp_path / "x.plan", connections=entries)
    write_plan_file(None, tmp_path / "y.plan", connections=entries)
    both, alone = (read_flat(tmp_path / name, PLAN_FILE) for name in ("x.plan", "y.plan"))
    assert set(alone) == {"ranks", *entries.to_flat()}
    assert "sends_phase" in both
    for found in (both, alone):
        for name, value in entries.to_flat().items():
            assert (
                found[name] == value
                if isinstance(value, str)
                else np.array_equal(found[name], np.atleast_1d(value))
            )
    assert {name for name in both if name.startswith("connections_")} == {
        f"connections_{name.removesuffix('_Bps').removesuffix('_s')}"
        for name in (each.name for each in fields(entries))
        if name
        in (
            "offsets",
            "phase",
            "peer",
            "send",
            "id",
            "bytes",
            "order",
            "bandwidth_Bps",
            "latency_s",
        )
    }


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = program_of_blocks()
    write_compiled(document_of(program), "prog.json")
    said = ""

    def run(*words: str) -> int:
        nonlocal said
        code = conset_main.run(("plan", "prog.json", *words))
        out, err = capsys.readouterr()
        said = out + err
        return code

    assert run("-o", "x.plan") == 0
    assert f"8 ranks, {program.phases} phases, sync barrier" in said  # though phases share contexts
    assert run("--connections", "-o", "y.plan") == 0
    entries = connection_entries(program)
    assert f"opens          {entries.send.sum()} connections in 3 blocks" in said
    assert f"contexts, {program.phases} phases executed" in said
    for name in ("x.plan", "y.plan"):
        assert np.array_equal(read_flat(name, PLAN_FILE)["connections_order"], entries.order)
    # more repetitions than one plan can list: opened all the same
    long = replace(
        program, stages=(*program.stages[:-1], replace(program.stages[-1], repeat=2**24))
    )
    write_compiled(document_of(long), "prog.json")
    assert run("-o", "z.plan") == 3
    assert "as one schedule at most" in said
    assert run("--connections", "-o", "z.plan") == 0
    assert read_flat("z.plan", PLAN_FILE)["block_repeat"].tolist() == [4, 2, 2**24]  # type: ignore[union-attr]
    assert run("--connections", "--sync", "none", "-o", "z.plan") == UsageError.exit_code
    assert "--sync none: is of the plan, which --connections leaves out" in said


def test_an_order_that_one_connection_for_a_pair_cannot_keep_is_refused() -> None:
    def posted(messages: list[tuple[int, int]], before: list[tuple[int, int]]) -> Program:
        source, target = (np.array(ends) for ends in zip(*messages, strict=True))
        size, order = np.full(len(messages), 64), np.array(before, np.int32)
        pattern = Pattern.from_messages(source, target, size, 4, before=order)
        return Program.of(compile_pattern(pattern, MESH, CompileOptions(method="naive")))

    assert keeps_order(posted([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]))
    # 0 to 1, back, and to 1 again: what goes to 1 are two connections
    again = posted([(0, 1), (0, 1), (1, 0)], [(0, 2), (2, 1)])
    assert keeps_order(again)
    entries = connection_entries(again)
    assert entries.id.tolist() == [2, 0, 1, 0, 1, 2]
    assert entries.order.tolist() == [1, 0, 2, 0, 2, 1]
    plain = compile_pattern(
        parse_pattern("neighbor", topology=MESH.topology), MESH, CompileOptions(method="naive")
    )
    assert not keeps_order(Program.of(plain))
