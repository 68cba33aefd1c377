"""Advice on small records: what to do about each exchange, and the plans that are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.execution.plan import MAX_BYTES, read_plan_file
from conset.inputs import load_machine
from conset.pattern import read_mpi_record
from conset.studies import RecordAdvice, advise_record
from support.mpi_records import Rows, section

Call = tuple[list[int], str, list[Callable[[int, int], int]], int]
"""Members, kind, for each call of a period the bytes between two of them, repetitions."""
MESH = "mesh:4x4,link=10Mbit/s"
WORLD = list(range(16))
ROWS = [list(range(4 * k, 4 * k + 4)) for k in range(4)]


def equal(size: int) -> Callable[[int, int], int]:
    return lambda source, target: size


def recorded(
    folder: Path, *calls: Call, sends: tuple[tuple[int, int], ...] = (), one_file: bool = False
) -> Path:
    """The record of 16 ranks: each sends to rank + distance what `sends` has."""
    folder.mkdir(exist_ok=True)
    texts = []
    for rank in WORLD:
        own: list[tuple[list[int], str, Rows, int]] = []
        for members, kind, sizes, times in calls:
            if rank in members:
                rows = [
                    {k: size(rank, to) for k, to in enumerate(members) if to != rank}
                    for size in sizes
                ]
                own.append((members, kind, rows, times))
        to = [((rank + distance) % 16, size) for distance, size in sends]
        texts.append(section(rank, 16, own, to))
    if one_file:
        (folder / "first.record").write_text("".join(texts))
    else:
        for rank, text in enumerate(texts):
            (folder / f"rank-{rank:05}.record").write_text(text)
    return folder


def advised(folder: Path, *, plans_only: bool = True, on: str = MESH) -> RecordAdvice:
    record = read_mpi_record(folder)
    return advise_record(record, load_machine(on), folder, plans_only=plans_only)


def plan_lines(folder: Path) -> list[list[str]]:
    first, second, *lines = (folder / "plans.txt").read_text().splitlines()
    assert (first, second) == ("conset/plans@1", "ranks 16")
    return [line.split(" ") for line in lines]


def pairs_of(path: Path) -> list[tuple[int, int]]:
    """Ordered pairs in the order of the file, from sends and from receives."""
    plan = read_plan_file(path)
    assert plan.ranks == 16
    assert plan.needs is None
    assert plan.work_bytes is None
    sent = [*zip(plan.sends.rank.tolist(), plan.sends.peer.tolist(), strict=True)]
    received = zip(plan.receives.peer.tolist(), plan.receives.rank.tolist(), strict=True)
    assert sorted(sent) == sorted(received)
    return sent


@pytest.mark.parametrize("one_file", [False, True])
def test_an_exchange_of_all_ranks(tmp_path: Path, one_file: bool) -> None:
    folder = recorded(tmp_path, (WORLD, "alltoallw", [equal(1 << 17)], 20), one_file=one_file)
    found = advised(folder)
    row = found.exchanges[0]
    assert (row.action, row.by, row.calls, row.period) == ("intercept", "packet", 20, 1)
    assert (found.share, found.advice) == (1.0, None)
    assert found.gain == row.gain > 1.3
    assert (row.bound_s or 0) <= (row.ordered_s or 0) < (row.own_s or 0)
    assert plan_lines(folder) == [["plan", "alltoallw", "0-15", "1", "0", "plan-0.plan"]]
    pairs = pairs_of(folder / "plan-0.plan")
    assert len(pairs) == len({*pairs}) == 240
    assert read_plan_file(folder / "plan-0.plan").phases > 1


def test_positions_of_a_period_and_communicators(tmp_path: Path) -> None:
    def half(source: int, target: int) -> int:
        return 30_000 if (source + target) % 2 else 0

    sizes = [equal(50_000), half, equal(50_000)]
    calls: list[Call] = [(ranks, "alltoallv", sizes, 7) for ranks in (WORLD[:8], WORLD[8:])]
    folder = recorded(tmp_path, *calls, (WORLD[::-1], "alltoall", [equal(20_000)], 2))
    found = advised(folder)
    lines = plan_lines(folder)
    members = ["0-7", "8-15"]
    assert [line[2:5] for line in lines if line[1] == "alltoallv"] == [
        [text, "3", str(position)] for text in members for position in range(3)
    ]
    by_position = [line[5] for line in lines[:3]]
    assert by_position[0] == by_position[2] != by_position[1]
    assert sorted(pairs_of(folder / by_position[0])) == [
        (s, t) for s in range(8) for t in range(8) if s != t
    ]
    assert sorted(pairs_of(folder / by_position[1])) == [
        (s, t) for s in range(8) for t in range(8) if (s + t) % 2
    ]
    assert found.exchanges[-1].members == "15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0"
    assert lines[-1][1:5] == ["alltoall", found.exchanges[-1].members, "1", "0"]
    assert found.share == 1.0


def test_no_plan_without_a_predicted_gain(tmp_path: Path) -> None:
    calls: list[Call] = [(row, "alltoallv", [equal(50_000)], 7) for row in ROWS]
    found = advised(recorded(tmp_path, *calls))
    assert plan_lines(tmp_path) == []
    assert {(row.action, row.reason) for row in found.exchanges} == {
        ("nothing", "its own order is near the bound")
    }
    assert (found.share, found.gain) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("size", "words", "gains"),
    [
        (16_383, "", False),
        (16_384, "", True),
        (5000, ",overhead=20us", True),
        (5000, ",send_overhead=20us", True),
    ],
)
def test_small_messages_need_overheads(tmp_path: Path, size: int, words: str, gains: bool) -> None:
    """Their plans are written where the machine states what a message costs."""
    found = advised(recorded(tmp_path, (WORLD, "alltoallv", [equal(size)], 3)), on=MESH + words)
    row = found.exchanges[0]
    assert row.gain > 1.3
    assert found.gain == (row.gain if gains else 1.0)
    assert (row.action, len(plan_lines(tmp_path))) == (
        ("intercept", 1) if gains else ("nothing", 0)
    )
    assert row.reason.endswith("calibrate it") != gains


def test_what_cannot_be_intercepted(tmp_path: Path) -> None:
    calls: list[Call] = [
        (WORLD, "ialltoallw", [equal(1 << 17)], 3),
        (WORLD, "alltoallv:in-place", [equal(1 << 17)], 3),
        ([0, 5], "alltoall", [equal(1 << 17)], 3),
    ]
    folder = recorded(tmp_path, *calls, sends=((3, 1 << 20), (1, 7)))
    found = advised(folder, plans_only=False)
    rows = {row.kind: row for row in found.exchanges}
    assert (found.share, found.gain, plan_lines(folder)) == (0.0, 1.0, [])
    assert rows["ialltoallw"].action == rows["alltoallv:in-place"].action == "change the call"
    assert "only blocking calls" in rows["ialltoallw"].reason
    assert "MPI_IN_PLACE" in rows["alltoallv:in-place"].reason
    assert (rows["alltoall"].action, rows["alltoall"].reason) == (
        "nothing",
        "fewer than 3 ranks have only one order",
    )
    assert rows["point-to-point"].bytes == 16 * ((1 << 20) + 7)
    assert found.advice is not None
    sent = advised(folder).exchanges[-1]
    assert (sent.action, sent.own_s) == ("nothing", None)


def test_a_network_without_blocking_gains_nothing(tmp_path: Path) -> None:
    folder = recorded(tmp_path, (WORLD, "alltoall", [equal(1 << 17)], 2))
    row = advised(folder, on=f"{MESH},model=flow").exchanges[0]
    assert (row.by, row.action, row.gain) == ("flow", "nothing", pytest.approx(1, abs=0.05))
    assert (row.plans, plan_lines(folder)) == ((), [])


def test_combining_small_messages(tmp_path: Path) -> None:
    on = f"{MESH},overhead=1ms"
    folder = recorded(tmp_path, (WORLD, "alltoall", [equal(8)], 2))
    found = advised(folder, plans_only=False, on=on)
    assert found.exchanges[0].action == "use combining"
    assert plan_lines(folder) == []


def test_messages_that_one_call_does_not_carry(tmp_path: Path) -> None:
    folder = recorded(tmp_path, (WORLD[:8], "alltoallv", [equal(MAX_BYTES + 9)], 1))
    row = advised(folder, on=f"{MESH},model=circuit").exchanges[0]
    pairs = pairs_of(folder / row.plans[0])
    assert len(pairs) == len({*pairs}) == 56


def test_a_program_that_sends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(tmp_path)
    assert run(["advise", str(folder), "--on", MESH]) == 0
    assert capsys.readouterr().out.startswith("nothing to reorder: no exchange and no message")
    assert plan_lines(folder) == []
    assert run(["advise", str(folder), "--on", MESH, "-o", str(tmp_path / "x.rankfile")]) == 3


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(
        tmp_path / "rec", (WORLD, "alltoallw", [equal(1 << 17)], 20), sends=((1, 1 << 20),)
    )
    assert run(["advise", str(folder), "--on", MESH, "--json"]) == 0
    captured = capsys.readouterr()
    answer = captured.err.splitlines()[0]
    assert answer.startswith("97% of the bytes are in exchanges that conset can reorder; predicted")
    body = json.loads(captured.out)
    assert body["pairs"] == [[s, t, 20 << 17] for s in WORLD for t in WORLD if s != t]
    assert body["gain"] > 1.3
    assert body["exchanges"][0]["action"] == "intercept"
    assert body["ways"]
    assert body["manifest"]["command"] == f"conset advise rec --on {MESH} --method auto"
    for words in (["show"], ["compile", "--on", MESH], ["bound", "--on", MESH]):
        assert run([words[0], str(folder), *words[1:]]) == 0
    assert "rec" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["alltoall", "--plans-only"], "--plans-only: is for records, alltoall is none"),
        (["REC", "--plans-only", "-o", "x.rankfile"], "is of the advice that --plans-only leaves"),
        (["REC", "--unit", "KiB"], "--unit KiB: is for files that are no record"),
    ],
)
def test_options_of_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], rule: str
) -> None:
    folder = str(recorded(tmp_path / "rec"))
    words = [folder if word == "REC" else word for word in words]
    assert run(["advise", *words, "--on", MESH]) == 2
    assert rule in capsys.readouterr().err
