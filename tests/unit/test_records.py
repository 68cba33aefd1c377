"""Records of MPI calls, of random calls by another writer, and wrong in one way."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

import conset
from conset.base import InputError
from conset.cli.main import run
from conset.pattern import Record, is_record, read_mpi_record
from support.mpi_records import Rows, section


def written(folder: Path, *sections: str) -> Record:
    folder.mkdir(exist_ok=True)
    for rank, text in enumerate(sections):
        (folder / f"rank-{rank:05}.record").write_text(text)
    return read_mpi_record(folder)


@pytest.mark.parametrize("seed", range(12))
def test_random_calls(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    ranks = random.randrange(1, 9)
    matrix = np.zeros((ranks, ranks), int)
    sent: Counter[int] = Counter()
    exchanges: list[tuple[list[int], str, dict[int, Rows], int]] = []
    for kind in ("alltoall", "alltoallv", "alltoallw"):
        members = random.sample(range(ranks), random.randrange(1, ranks + 1))
        period, times = random.choice((1, 2, 3, 4)), random.randrange(5, 50)
        calls = {
            rank: [
                {
                    k: random.choice((0, 7, 7, 1000, k + 1))
                    for k, other in enumerate(members)
                    if other != rank
                }
                for _ in range(period)
            ]
            for rank in members
        }
        exchanges.append((members, kind, calls, times))
    texts = []
    for rank in range(ranks):
        sends = [(random.randrange(ranks), random.choice((0, 1, 5, 4096))) for _ in range(9)]
        for target, size in sends:
            sent[size.bit_length()] += 1
            matrix[rank, target] += size if target != rank else 0
        own = [(m, kind, calls[rank], n) for m, kind, calls, n in exchanges if rank in m]
        for members, _, rows, times in own:
            for row in rows:
                for k, size in row.items():
                    matrix[rank, members[k]] += times * size
        texts.append(section(rank, ranks, own, sends))
    record = written(tmp_path, *texts)
    assert record.pattern().matrix().tolist() == matrix.tolist()
    assert {k: n for k, n in enumerate(record.sent) if n} == dict(sent)
    assert (record.notes, record.totals) == ((), {"allreduce": (3 * ranks, 24 * ranks)})
    by_kind = {each.kind: each for each in record.exchanges}
    for members, kind, calls, times in exchanges:
        found = by_kind[kind]
        period = len(next(iter(calls.values())))
        assert found.members.tolist() == members
        assert (found.calls, found.period) == (times * period, period)
        assert found.calls_at.tolist() == [times] * period
        sizes = [size for rows in calls.values() for row in rows for size in row.values() if size]
        classes = {
            size_class: n * times for size_class, n in Counter(map(int.bit_length, sizes)).items()
        }
        assert {k: n for k, n in enumerate(found.sent) if n} == classes
        for position, sizes in enumerate(found.positions):
            expected = {
                (rank, members[k]): times * size
                for rank, rows in calls.items()
                for k, size in rows[position].items()
                if size
            }
            pairs = zip(sizes.source.tolist(), sizes.target.tolist(), strict=True)
            assert dict(zip(pairs, sizes.bytes.tolist(), strict=True)) == expected
    assert conset.load_pattern(tmp_path) == record.pattern()


def test_all_sections_in_one_file(tmp_path: Path) -> None:
    texts = [
        section(rank, 3, [([2, 1, 0], "alltoall", [{2 - k: 8 for k in range(3) if k != rank}], 2)])
        for rank in range(3)
    ]
    path = tmp_path / "all.record"
    path.write_text("".join(texts))
    assert read_mpi_record(path).pattern() == read_mpi_record(tmp_path).pattern()
    assert read_mpi_record(path).exchanged().matrix().tolist() == (16 - 16 * np.eye(3)).tolist()


def test_what_is_missing_is_noted(tmp_path: Path) -> None:
    world = list(range(6))

    def calls(rank: int, times: int) -> list[tuple[list[int], str, Rows, int]]:
        return [(world, "alltoallv", [{k: 4 for k in world if k != rank}], times)]

    texts = [section(0, 6, calls(0, 9)), section(1, 6, calls(1, 7), end="")]
    texts.append(section(2, 6, calls(2, 9), end="end exit\n"))
    (tmp_path / "spawned-node1-77.record").write_text("anything\n")
    record = written(tmp_path, *texts)
    assert record.missing.tolist() == [1, 3, 4, 5]
    assert record.notes == (
        "rank 1 left a record without an end: killed?",
        "rank 2 ended without MPI_Finalize",
        "ranks 3-5 left no record: killed?",
        "alltoallv of ranks 0-5: some ranks made 7 calls, others 9",
        "1 file of spawned ranks not read: spawned-node1-77.record",
    )
    assert record.exchanges[0].calls == 9
    assert record.pattern().matrix()[:, 5].tolist() == [36, 28, 36, 0, 0, 0]


def test_dropped_rows_and_ranks_outside_the_world(tmp_path: Path) -> None:
    text = """conset/record@1
rank 1 of 3
mpi Open MPI
comm 4 x,0-2,x
row 0 0:1 1:2 3-4:5
row 1
exchange 4 alltoallw 10 45 1e-3 0 1
sequence 4 alltoallw 0*3 1*2
rest 4 alltoallw 1:6
dropped 4 alltoallw 5
external 2 18
end session
"""
    record = written(tmp_path, "conset/record@1\nrank 0 of 3\n", text)
    exchange = record.exchanges[0]
    assert exchange.members.tolist() == [-1, 0, 1, 2, -1]
    assert (exchange.calls, exchange.bytes, exchange.calls_at.tolist()) == (10, 45, [10])
    assert record.pattern().matrix()[1].tolist() == [12, 0, 15]
    assert record.notes[2:] == (
        "alltoallw of ranks x,0-2,x: 5 calls differ too much to be kept one by one",
        "2 messages to ranks outside the world not in the pattern",
    )


@pytest.mark.parametrize(
    ("sequence", "calls", "period"),
    [
        ("0*40", 40, 1),
        ("0*1 1*1 0*1 1*1 0*1 1*1 0*1", 7, 2),
        ("0*2 1*1 0*2 1*1 0*2 1*1", 9, 3),
        ("0*3 1,0*50", 103, 2),
        ("0*9 1*10 0*10", 29, 1),
        ("0,1,1*3 1,0,0*3", 18, 1),
    ],
)
def test_periods(tmp_path: Path, sequence: str, calls: int, period: int) -> None:
    text = "conset/record@1\nrank 0 of 3\ncomm 0 0-2\nrow 0 1:5\nrow 1\n"
    zeros = sum(
        int(times) * rows.split(",").count("0")
        for rows, times in (run.split("*") for run in sequence.split(" "))
    )
    text += f"exchange 0 alltoallv {calls} {5 * zeros} 1 0 1\nsequence 0 alltoallv {sequence}\n"
    exchange = written(tmp_path, f"{text}end finalize\n").exchanges[0]
    assert (exchange.period, exchange.calls_at.sum()) == (period, calls)
    assert sum(int(sent.bytes.sum()) for sent in exchange.positions) == 5 * zeros


def test_show_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They count messages of calls, not the sums of pairs, and report draws calls over time."""
    pytest.importorskip("matplotlib")
    even = dict.fromkeys(range(4), 128 << 10)
    texts = [
        section(
            rank,
            4,
            [(list(range(4)), "alltoallw", [{k: even[k] for k in even if k != rank}], 5)],
            [((rank + 1) % 4, 0), ((rank + 1) % 4, 9)],
        )
        for rank in range(4)
    ]
    folder = tmp_path / "rec"
    written(folder, *texts)
    assert run(["show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "bytes of a pair" in shown
    assert re.search(r"from 0 B +4 .*from 8 B +4 .*from 128 KiB +60 ", shown, re.DOTALL)
    page = tmp_path / "page.html"
    assert run(["report", str(folder), "-o", str(page), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)["files"][0]
    assert (body["kind"], body["file"], body["pattern"]["ranks"]) == ("record", "rec", 4)
    assert body["point_to_point"] == [8, 36]
    assert body["pattern"]["sent"][:19] == [4, 0, 0, 0, 4, *[0] * 13, 60]
    assert body["totals"] == {"allreduce": [12, 96]}
    assert body["exchanges"] == [
        {
            "kind": "alltoallw",
            "members": "0-3",
            "ranks": 4,
            "calls": 5,
            "bytes": 60 << 17,
            "seconds": 0.5,
            "begin_s": 0.1,
            "end_s": 2.0,
            "period": 1,
        }
    ]
    text = page.read_text(encoding="utf-8")
    assert "<title>MPI calls of rec on 4 ranks</title>" in text
    assert "alltoallw of ranks 0-3 (4 ranks): 5 calls, 7.5 MiB, 500 ms in calls" in text


SOUND = """conset/record@1
rank 1 of 4
comm 0 0-3
row 0 0:5 2-3:1
exchange 0 alltoall 4 28 1 0 1
sequence 0 alltoall 0*4
send 2 4 3 30
end finalize
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("record@1", "record@2", "line 1: .* no line of a record"),
        ("rank 1 of 4\n", "", "line 2: .* rank R of N must follow"),
        ("1 of 4", "4 of 4", "line 2: rank 4: must be below 4"),
        ("1 of 4", "1 of 999999999", "line 2: 999999999 ranks: must be at most"),
        ("0-3", "0-4", "line 3: ranges of ranks must rise, and be below 4"),
        ("0-3", "3-0", "line 3: ranges of ranks must rise"),
        ("0-3", "0-3,2", "line 3: a rank is twice"),
        ("0-3", "0-999999999", "line 3: .* be below 4"),
        ("row 0 0:5", "row 0 0:5 0:5", "line 4: ranges of ranks must rise and not overlap"),
        ("2-3:1", "2-999999999:999999999999999999", "line 4: more than 2\\^62 B"),
        ("2-3:1", "2-999999999:1", "line 5: 4 calls of 28 B, its rows are 4 calls"),
        ("row 0 0:5 2-3:1", "row 0 0:5 3-4:1", "line 5: rank 4 of a row: must be below 4"),
        ("row 0 0:5 2-3:1", "row 0 0:5 1-2:1", "line 5: a row has bytes of rank 1 to itself"),
        ("exchange 0", "exchange 1", "line 5: comm 1 is not defined before"),
        ("exchange 0 alltoall", "exchange 0 alltoal", "line 5: .* no line of a record"),
        ("sequence 0 alltoall", "sequence 0 alltoallv", "line 6: exchange 0 alltoallv is not def"),
        ("sequence 0 alltoall 0*4", "sequence 0 alltoall 0,1*2", "line 6: row 1 is not defined"),
        ("0*4", "0*3", "line 5: 4 calls of 28 B, its rows are 3 calls of 21 B"),
        ("0*4", "0*999999999999999999", "line 6: 999999999999999999 calls, the exchange has 4"),
        ("4 28", "999999999999999999 28", "line 5: 999999999999999999 calls of 28 B"),
        ("send 2", "send 4", "line 7: rank 4: must be below 4"),
        ("4 3 30", "4 3 50", "line 7: 3 messages of 8 to 15 B cannot have 50 B"),
        ("4 3 30", "99 3 30", "line 7: 3 messages of"),
        ("send 2 4 3 30\n", "send 2 4 3 30\nsend 2 4 1 8\n", "line 8: a second line 'send 2 4'"),
        ("end finalize\n", "end finalize\nsend 2 4 3 30\n", "line 9: .* is in no section"),
        ("end finalize\n", f"end finalize\n{'conset/record@1'}\n", "ends after conset/record@1"),
        ("end finalize\n", "end finalize\nconset/record@1\nrank 1 of 4\n", "rank 1: has another"),
        (
            "end finalize\n",
            "end finalize\nconset/record@1\nrank 0 of 5\n",
            "5 ranks, in a section before 4",
        ),
        ("send 2", "\u0662 2", "no line of a record"),
        ("3 30", "\u0663 30", "no line of a record"),
    ],
)
def test_one_thing_wrong(tmp_path: Path, old: str, new: str, rule: str) -> None:
    assert SOUND.count(old) >= 1
    path = tmp_path / "a.record"
    path.write_text(SOUND.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=rule) as caught:
        read_mpi_record(tmp_path)
    assert str(path) in str(caught.value)
    path.write_text(SOUND)
    assert read_mpi_record(path).pattern().matrix()[1].tolist() == [20, 0, 34, 4]


def test_folders_that_are_none(tmp_path: Path) -> None:
    assert not is_record(tmp_path)
    with pytest.raises(InputError, match="is a directory"):
        conset.load_pattern(tmp_path)
    (tmp_path / "nothing.txt").write_text("./a is statically linked\n")
    assert is_record(tmp_path)
    with pytest.raises(InputError, match=r"nothing was recorded: \./a is statically linked"):
        conset.load_pattern(tmp_path)


def test_work_is_bounded(tmp_path: Path) -> None:
    lines = ["conset/record@1\nrank 0 of 9999999\n"]
    lines += [f"comm {k} {k}-9999998\n" for k in range(1, 9)]
    (tmp_path / "a.record").write_text("".join(lines))
    start = time.perf_counter()
    with pytest.raises(InputError, match=r"line 6: 39,999,986 entries, at most 33,554,432"):
        read_mpi_record(tmp_path)
    assert time.perf_counter() - start < 5


def test_a_thousand_ranks(tmp_path: Path) -> None:
    world = list(range(1000))
    random = Random(1)
    for rank in world:
        even = {k: 64 for k in world if k != rank}
        uneven = {k: random.randrange(1, 9999) for k in world if k != rank}
        text = section(
            rank, 1000, [(world, "alltoall", [even], 7), (world, "alltoallv", [uneven], 3)]
        )
        (tmp_path / f"rank-{rank:05}.record").write_text(text)
    start = time.perf_counter()
    record = read_mpi_record(tmp_path)
    assert record.pattern().messages == 999_000
    assert time.perf_counter() - start < 10
