"""Programs that do not know conset: recorded and intercepted they print what they print alone.

The bytes of each pair in the record are those of formulas.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.execution.job import JobEnd, find_launcher
from conset.execution.plan import write_plan_file
from conset.pattern.readers.records import Record, read_mpi_record
from conset.schedule.schedule import Schedule
from support.c_programs import find_compiler, run_program
from support.preloaded import (
    KINDS,
    Bytes,
    even,
    ordered_kinds,
    preloaded,
    read_summary,
    write_plans,
)

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

SOURCE = Path(__file__).parent / "c" / "unmodified.c"
EVEN = 4000
"""Size of an even block [B]."""
CALLS = 12
TIMEOUT_S = 30


def uneven(call: int, members: Sequence[int] = range(4), ranks: int = 4) -> Bytes:
    """As `even`, of uneven blocks of 4-byte elements; members outside the world are left out."""
    found = np.zeros((ranks, ranks), np.int64)
    for i, source in enumerate(members):
        for k, target in enumerate(members):
            if source != target and max(source, target) < ranks:
                count = (i * 31 + k * 17 + call * 7) % 4 * (25 + 10 * k + i)
                found[source, target] = 4 * count
    return found


def cycle(calls: int, period: int, members: Sequence[int] = range(4), ranks: int = 4) -> Bytes:
    return sum_of(uneven(call % period, members, ranks) for call in range(calls))


def sum_of(matrices: Iterator[Bytes]) -> Bytes:
    total: Bytes = np.sum(list(matrices), axis=0)
    return total


def subcommunicators() -> Bytes:
    rows, columns = [range(k, k + 3) for k in (0, 3)], [range(k, 6, 3) for k in range(3)]
    return (
        sum_of(cycle(CALLS, 2, row, 6) + even(40 * CALLS, row, 6) for row in rows)
        + sum_of(even(2 * 400 * CALLS, column, 6) for column in columns)
        + cycle(CALLS, 2, range(5, -1, -1), 6)
    )


def in_place() -> Bytes:
    rank = np.arange(4)
    symmetric = 4 * (100 + 10 * (rank[:, None] + rank)) * even(1)
    return 3 * (even(2 * EVEN) + 2 * symmetric) + cycle(3, 3)


def communicators() -> Bytes:
    down = range(3, -1, -1)
    return sum_of(uneven(k % 3, range(4) if k % 4 else down) for k in range(200))


def point_to_point() -> Bytes:
    found = np.zeros((4, 4), np.int64)
    for rank in range(4):
        once = [100 * (rank + 1) + k for k in range(9)]
        kept = [100 * (rank + 1) + 10 + k for k in range(4)]
        found[rank, (rank + 1) % 4] = sum(once) + 109 + 3 * sum(kept)
    return found


@dataclass(frozen=True)
class Scenario:
    """What a scenario sends in exchanges, and point-to-point; how many are in order with plans."""

    exchanged: Bytes
    ordered: tuple[str, ...] = ()
    messages: Bytes = field(default_factory=lambda: even(0))
    kinds: tuple[str, ...] = ()
    ranks: int = 4


PENDING = tuple(f"i{kind}" for kind in KINDS)
PERSISTENT = tuple(f"{kind}_init" for kind in KINDS)
NEXT = np.roll(np.eye(4, dtype=np.int64), 1, axis=1)
ONCE = sum_of(uneven(call) for call in range(2))

SCENARIOS = {
    "alltoall": Scenario(even(14 * EVEN + 50 * EVEN), ("alltoall",)),
    "alltoallv": Scenario(cycle(CALLS, 3) + cycle(CALLS, CALLS), ("alltoallv",)),
    "alltoallw": Scenario(even(CALLS * 72) + cycle(CALLS, 3), ("alltoallw",)),
    "many": Scenario(even(60 * EVEN), ("alltoall",)),
    "subcommunicators": Scenario(
        subcommunicators(), ("alltoall", "alltoallv"), even(0, range(6), 6), ranks=6
    ),
    "in-place": Scenario(
        in_place(),
        ("alltoall", "alltoallv"),
        kinds=("alltoall", "alltoallv", *(f"{kind}:in-place" for kind in KINDS)),
    ),
    "self": Scenario(even(0), ("alltoallv",)),
    "large-counts": Scenario(
        even(CALLS * EVEN) + 2 * cycle(CALLS, 3), KINDS, (400 + 200 + 100) * NEXT
    ),
    "communicators": Scenario(communicators(), ("alltoallv",)),
    "kept": Scenario(even(4 * 400), ("alltoall",)),
    "attributes": Scenario(even(9 * EVEN), ("alltoall",)),
    "pending": Scenario(even(CALLS * EVEN) + cycle(CALLS, 3), ("alltoallv",), 4 * CALLS * NEXT),
    "point-to-point": Scenario(even(0), messages=point_to_point()),
    "collectives": Scenario(even(0)),
    "threads": Scenario(4 * (cycle(CALLS, 3) + even(CALLS * 400)), ("alltoall", "alltoallv")),
    "children": Scenario(even(6 * EVEN), ("alltoall",)),
    "finalize": Scenario(even(3 * EVEN), ("alltoall",)),
    "refused": Scenario(even(3 * EVEN), ("alltoall",)),
    "session": Scenario(cycle(CALLS, 3)),
    "spawned": Scenario(
        even(6 * EVEN) + sum_of(uneven(call, range(7)) for call in range(3)), ("alltoall",)
    ),
}
WITH_OPENMPI = {
    *("alltoallv", "alltoallw", "subcommunicators", "in-place", "communicators", "attributes"),
    *("pending", "point-to-point", "threads", "refused", "session", "spawned"),
}


def compile_alone(compiler: str, program: Path) -> Path:
    """Compiles without conset."""
    command = [str(find_compiler(compiler)), "-std=c99", "-D_DEFAULT_SOURCE", "-O0", "-Wall"]
    command += ["-Wextra", "-Werror", "-pthread", str(SOURCE), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_alone("mpicc", tmp_path_factory.mktemp("unmodified") / "unmodified")


def run(program: Path, scenario: str, folder: Path, ranks: int = 4) -> JobEnd:
    folder.mkdir(exist_ok=True)
    ended = run_program(program, scenario, folder=folder, ranks=ranks, timeout_s=TIMEOUT_S)
    assert not ended.timed_out, (ended.out, ended.err)
    return ended


def digest(program: Path, scenario: str, folder: Path, ranks: int = 4) -> str:
    """What a job that ends well prints."""
    ended = run(program, scenario, folder, ranks)
    assert (ended.status, ended.err) == (0, "")
    if " absent" in ended.out:
        pytest.skip(f"{scenario}: not in this version of MPI")
    return ended.out


def record_of(program: Path, scenario: str, folder: Path) -> tuple[JobEnd, Record]:
    with preloaded(RECORD=folder / "record"):
        ended = run(program, scenario, folder)
    return ended, read_mpi_record(folder / "record")


def plan_lines(ranks: int) -> list[tuple[str, Sequence[int]]]:
    members: list[Sequence[int]] = [range(ranks), range(ranks - 1, -1, -1)]
    if ranks == 6:
        members += [range(3), range(3, 6)]
    return [(kind, each) for kind in KINDS for each in members]


def intercept(
    program: Path, scenario: str, folder: Path, advice: Path, ranks: int = 4
) -> tuple[JobEnd, list[dict[str, Any]]]:
    """The end of the job, and its summary."""
    file = folder / "summary"
    with preloaded(INTERCEPT="always", ADVICE=advice, SUMMARY=file):
        ended = run(program, scenario, folder, ranks)
    return ended, read_summary(file)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.openmpi] if name in WITH_OPENMPI else [],
        )
        for name in SCENARIOS
    ],
)
def test_output_is_the_same_and_the_record_has_all_bytes(
    name: str, program: Path, tmp_path: Path
) -> None:
    scenario = SCENARIOS[name]
    alone = digest(program, name, tmp_path / "alone", scenario.ranks)
    with preloaded(RECORD=tmp_path / "record"):
        assert digest(program, name, tmp_path, scenario.ranks) == alone
    record = read_mpi_record(tmp_path / "record")
    assert record.ranks == scenario.ranks
    assert record.missing.size == 0
    assert record.exchanged().matrix().tolist() == scenario.exchanged.tolist()
    messages = np.zeros_like(scenario.messages)
    np.add.at(messages, (record.messages.source, record.messages.target), record.messages.bytes)
    assert messages.tolist() == scenario.messages.tolist()
    if scenario.kinds:
        assert {each.kind for each in record.exchanges} == set(scenario.kinds)
    advice = write_plans(
        tmp_path / "advice", plan_lines(scenario.ranks), ranks=scenario.ranks, period=2
    )
    ended, lines = intercept(program, name, tmp_path, advice, scenario.ranks)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    # one line for each plan, and one that says what was not possible
    assert len(lines) <= 2 * len(plan_lines(scenario.ranks)) + 1
    assert ordered_kinds(lines) >= set(scenario.ordered)
    if name == "children":  # which say nothing
        assert sum(line["calls"] for line in lines) == 6
    if not scenario.ordered:
        assert not ordered_kinds(lines)


@pytest.mark.parametrize("sync", ["none", "ready", "barrier", "barrier:2"])
@pytest.mark.parametrize("name", ["alltoall", "alltoallv", "alltoallw"])
def test_every_policy_moves_the_same_bytes(
    name: str, sync: str, program: Path, tmp_path: Path
) -> None:
    alone = digest(program, name, tmp_path / "alone")
    advice = write_plans(tmp_path / "advice", plan_lines(4), sync)
    ended, lines = intercept(program, name, tmp_path, advice)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    assert ordered_kinds(lines) == {name}


def test_the_decision_on_line_is_reported(program: Path, tmp_path: Path) -> None:
    alone = digest(program, "many", tmp_path / "alone")
    advice = write_plans(tmp_path / "advice", plan_lines(4), "barrier")
    variables = {"INTERCEPT": "auto", "ADVICE": advice, "SUMMARY": tmp_path / "summary"}
    with preloaded(**variables):
        assert digest(program, "many", tmp_path) == alone
    (line,) = read_summary(tmp_path / "summary")
    assert (line["kind"], line["ranks"], line["calls"]) == ("alltoall", 4, 60)
    assert line["bytes"] == 60 * 3 * EVEN  # rank 0 to others
    assert line["own_s"] > 0
    assert line["ordered_s"] > 0
    assert line["choice"] in ("own", "ordered", "mixed")


@pytest.mark.parametrize("name", ["many", "threads", "communicators"])
@pytest.mark.parametrize("ends", ["with plans", "with an error", "never"])
def test_advice_that_is_made_while_the_program_runs(
    name: str, ends: str, program: Path, tmp_path: Path
) -> None:
    """Whoever makes it, and its folder, are gone when the program ends."""
    alone = digest(program, name, tmp_path / "alone")
    advice = write_plans(tmp_path / "advice", plan_lines(4))
    command = {
        "with plans": f'cp {advice}/* "$1"',
        "with an error": "echo no plan today >&2; exit 1",
        "never": f"echo $$ >> {tmp_path}/pids; exec sleep 60",
    }[ends]
    (tmp_path / "temporary").mkdir()
    variables = {"INTERCEPT": "always", "ADVISE": command, "SUMMARY": tmp_path / "summary"}
    with preloaded(**variables), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path / "temporary"))
        assert digest(program, name, tmp_path) == alone
    assert not list((tmp_path / "temporary").glob("conset-*"))
    lines = read_summary(tmp_path / "summary")
    notes = [line["note"] for line in lines if "note" in line]
    kinds = 1 if name == "many" else 2  # or members
    if ends == "with plans":
        assert ordered_kinds(lines) >= {"alltoallv" if name == "communicators" else "alltoall"}
    else:
        assert len(notes) == len(lines) == kinds
        rule = "no plan today" if ends == "with an error" else "ended before its plan was there"
        assert all(note.endswith(rule) for note in notes)
    if ends == "never":
        for pid in (tmp_path / "pids").read_text().split():
            assert not Path(f"/proc/{pid}").exists()


@pytest.mark.openmpi
def test_non_blocking_and_persistent_exchanges_are_recorded_by_kind(
    program: Path, tmp_path: Path
) -> None:
    alone = digest(program, "pending-kinds", tmp_path / "alone")
    ended, record = record_of(program, "pending-kinds", tmp_path)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    found = {each.kind: each.calls for each in record.exchanges}
    expected = even(2 * EVEN) + 2 * ONCE
    if "alltoall_init" in found:  # not in MPI 3.1
        expected += even(2 * EVEN) + 2 * ONCE
        assert found == dict.fromkeys((*PENDING, *PERSISTENT), 2)
    else:
        assert found == dict.fromkeys(PENDING, 2)
    assert record.exchanged().matrix().tolist() == expected.tolist()
    advice = write_plans(tmp_path / "advice", plan_lines(4))
    ended, lines = intercept(program, "pending-kinds", tmp_path, advice)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    assert not ordered_kinds(lines)


def test_totals_of_other_collectives_are_counted(program: Path, tmp_path: Path) -> None:
    _, record = record_of(program, "collectives", tmp_path)
    calls = {kind: count for kind, (count, _) in record.totals.items()}
    assert calls == {
        **{"barrier": 4, "bcast": 4, "allreduce": 4, "allgather": 4, "scatter": 4},
        "gather": 4,
    }
    assert record.totals["allreduce"] == (4, 32)


def test_rows_repeat_with_their_period(program: Path, tmp_path: Path) -> None:
    _, record = record_of(program, "pending", tmp_path)
    (exchange,) = [each for each in record.exchanges if each.kind == "alltoallv"]
    assert (exchange.calls, exchange.period) == (CALLS, 3)
    for position, sent in enumerate(exchange.positions):
        found = np.zeros((4, 4), np.int64)
        found[sent.source, sent.target] = sent.bytes
        assert found.tolist() == (CALLS // 3 * uneven(position)).tolist()


@pytest.mark.parametrize(
    "name", ["alltoallv", "alltoallw", "in-place", "pending", "point-to-point"]
)
def test_programs_of_the_standard_abi(name: str, tmp_path: Path) -> None:
    program = compile_alone("mpicc_abi", tmp_path / "unmodified")
    test_output_is_the_same_and_the_record_has_all_bytes(name, program, tmp_path)


@pytest.mark.openmpi
def test_spawned_ranks_have_files_of_their_own(program: Path, tmp_path: Path) -> None:
    ended, record = record_of(program, "spawned", tmp_path)
    assert ended.status == 0
    assert record.spawned == 3
    assert any("outside" in note for note in record.notes)  # 10 messages of rank 0


@pytest.mark.openmpi
def test_exchanges_between_two_groups_stay_with_the_library(program: Path, tmp_path: Path) -> None:
    alone = digest(program, "intercommunicator", tmp_path / "alone")
    ended, record = record_of(program, "intercommunicator", tmp_path)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    assert record.missing.size == 0
    advice = write_plans(tmp_path / "advice", plan_lines(4))
    ended, lines = intercept(program, "intercommunicator", tmp_path, advice)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    assert not ordered_kinds(lines)


@pytest.mark.openmpi
def test_programs_that_end_without_finalize_leave_a_record(program: Path, tmp_path: Path) -> None:
    """Launchers may kill the other ranks when the first has ended so."""
    ended, record = record_of(program, "exit", tmp_path)
    assert ended.out.startswith("exit ")
    there = np.setdiff1d(range(4), record.missing)
    assert there.size
    assert record.exchanged().matrix()[there].tolist() == even(EVEN)[there].tolist()


@pytest.mark.openmpi
def test_the_rank_that_aborts_leaves_a_record(program: Path, tmp_path: Path) -> None:
    alone = run(program, "abort", tmp_path / "alone")
    ended, record = record_of(program, "abort", tmp_path)
    assert ended.status == alone.status
    assert 1 not in record.missing
    assert record.exchanged().matrix()[1].tolist() == even(EVEN)[1].tolist()


@pytest.mark.openmpi
@pytest.mark.parametrize("name", ["error-handler", "fatal-error", "killed"])
def test_errors_end_as_without_interception(name: str, program: Path, tmp_path: Path) -> None:
    """A receive buffer that is too small: the handler is called; a rank that is killed: no hang."""
    alone = run(program, name, tmp_path / "alone")
    advice = write_plans(tmp_path / "advice", plan_lines(4))
    ended = [intercept(program, name, tmp_path, advice)[0]]
    with preloaded(RECORD=tmp_path / "record"):
        ended.append(run(program, name, tmp_path))
    for each in ended:
        assert (each.status == 0) == (alone.status == 0)
        if name == "error-handler":
            assert (each.err, sorted(each.out.splitlines())) == ("", sorted(alone.out.splitlines()))
            assert "handler: 1, its communicator, an error\n" in each.out


def with_a_message_in_two_parts() -> Schedule:
    schedule = conset.compile("alltoall:size=1000", "crossbar:4", method="first-fit")
    count = len(schedule.message)
    parts = np.full(count + 1, 1000)
    parts[[0, count]] = 500
    return replace(
        schedule,
        phase_offsets=np.append(schedule.phase_offsets, count + 1),
        message=np.append(schedule.message, schedule.message[0]),
        parts=parts,
    )


def damaged(folder: Path, fault: str) -> None:
    """Replaces the plan, or the list of plans."""
    plan, listed = folder / "plan-0-1-2-3-0.plan", folder / "plans.txt"
    content = plan.read_bytes()
    if fault == "random bytes":
        plan.write_bytes(np.random.default_rng(0).bytes(2000))
    elif fault == "cut":
        plan.write_bytes(content[: len(content) - 40])
    elif fault == "empty":
        plan.write_bytes(b"")
    elif fault == "absent":
        plan.unlink()
    elif fault == "another number of ranks":
        write_plan_file(conset.plan(conset.compile("alltoall", "crossbar:5")), plan)
    elif fault == "a pair twice":
        write_plan_file(conset.plan(with_a_message_in_two_parts()), plan)
    elif fault == "list of random bytes":
        listed.write_bytes(np.random.default_rng(0).bytes(500))
    elif fault == "list of another world":
        listed.write_text(listed.read_text().replace("ranks 4", "ranks 16"))
    elif fault == "list with a member beyond the world":
        listed.write_text(listed.read_text().replace(" 0-3 ", " 0-2,7 "))
    elif fault == "list with an endless range":
        listed.write_text(listed.read_text().replace(" 0-3 ", " 0-999999999999 "))
    elif fault == "list with a position beyond the period":
        listed.write_text(listed.read_text().replace(" 1 0 ", " 1 5 "))


FAULTS = (
    *("random bytes", "cut", "empty", "absent", "another number of ranks", "a pair twice"),
    *("list of random bytes", "list of another world", "list with a position beyond the period"),
)
OTHERS = ("list with a member beyond the world", "list with an endless range")
"""These lines are for communicators that the program does not have."""


@pytest.mark.parametrize("fault", [*FAULTS, *OTHERS])
def test_a_damaged_plan_is_refused_in_one_line(fault: str, program: Path, tmp_path: Path) -> None:
    alone = digest(program, "alltoall", tmp_path / "alone")
    advice = write_plans(tmp_path / "advice", [("alltoall", range(4))])
    damaged(advice, fault)
    ended, lines = intercept(program, "alltoall", tmp_path, advice)
    assert (ended.status, ended.err, ended.out) == (0, "", alone)
    assert not ordered_kinds(lines)
    notes = [line["note"] for line in lines if "note" in line]
    assert len(notes) == (fault in FAULTS)
    assert all("\n" not in note and len(note) < 400 for note in notes)


@pytest.mark.parametrize("place", ["CONSET_RECORD", "CONSET_SUMMARY"])
def test_a_place_that_cannot_be_written_changes_nothing(
    place: str, program: Path, tmp_path: Path
) -> None:
    alone = digest(program, "alltoall", tmp_path / "alone")
    (tmp_path / "file").write_text("")
    advice = write_plans(tmp_path / "advice", plan_lines(4))
    name = place.removeprefix("CONSET_")
    variables = {"INTERCEPT": "always", "ADVICE": advice} if name == "SUMMARY" else {}
    with preloaded(**variables, **{name: tmp_path / "file" / "below"}):
        ended = run(program, "alltoall", tmp_path)
    assert (ended.status, ended.out) == (0, alone)


@pytest.mark.openmpi
def test_the_commands_record_and_intercept(program: Path, tmp_path: Path) -> None:
    """What a user types."""
    alone = digest(program, "alltoallv", tmp_path / "alone")
    command = [*find_launcher(), "-n", "4", str(program), "alltoallv"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def conset_command(*words: str) -> str:
        ended = subprocess.run(
            [str(Path(sys.executable).with_name("conset")), *words, "--", *command],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | root,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert conset_command("record", "-o", str(tmp_path / "record")) == alone
    record = read_mpi_record(tmp_path / "record")
    assert record.exchanged().matrix().tolist() == SCENARIOS["alltoallv"].exchanged.tolist()
    advice = write_plans(tmp_path / "advice", plan_lines(4))
    assert conset_command("intercept", "--advice", str(advice), "--always") == alone
