"""Files of other tools: what is read, what is refused, and that what is written is read back."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import conset
from conset.base.errors import InputError
from conset.cli.main import run
from conset.pattern.pattern import Pattern
from conset.schedule.files.exports import EXPORTS, not_held, write_export
from conset.schedule.schedule import Schedule
from support.simgrid import RENDEZVOUS, has_simgrid, replay

CASES = [
    ("alltoall:size=4KiB", "mesh:3x3", "first-fit", "barrier"),
    ("alltoall:size=1KiB", "crossbar:7", "lp", "local"),
    ("alltoall:size=1KiB", "torus:4x4", "naive", "none"),
    ("random:degree=3,size=uniform(1KiB,9KiB)", "hypercube:3", "coloring", "barrier:2"),
    ("random:degree=2,size=uniform(100,9000)", "fat-tree:k=4", "first-fit", "ready"),
    ("random:degree=3,size=uniform(1KiB,4KiB)", "torus:3x3", "birkhoff", "local"),
    ("shift:by=2,size=64KiB", "ring:6", "coloring", "barrier"),
]


def compiled(pattern: str, machine: str, method: str, sync: str) -> Schedule:
    return conset.compile(pattern, machine, method=method, sync=sync)


def bytes_of_pairs(pattern: Pattern) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for source, target, size in zip(pattern.source, pattern.target, pattern.size, strict=True):
        found[int(source), int(target)] += int(size)
    return found


def phase_of_pairs(schedule: Schedule) -> dict[tuple[int, int], int]:
    rows = zip(
        schedule.pattern.source[schedule.message].tolist(),
        schedule.pattern.target[schedule.message].tolist(),
        schedule.phase_of.tolist(),
        strict=True,
    )
    return {(source, target): phase for source, target, phase in rows}


def messages_of(pattern: Pattern) -> Counter[tuple[int, ...]]:
    rows = zip(pattern.source.tolist(), pattern.target.tolist(), pattern.size.tolist(), strict=True)
    return Counter(rows)


@pytest.mark.parametrize("suffix", EXPORTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case[1:3]))
def test_what_is_written_is_read_back(
    tmp_path: Path, case: tuple[str, str, str, str], suffix: str
) -> None:
    schedule = compiled(*case)
    path = tmp_path / f"x{suffix}"
    assert write_export(schedule, path)[0] == path
    found = conset.load_pattern(path)
    assert found.ranks == schedule.pattern.ranks or suffix == ".csv"
    assert bytes_of_pairs(found) == bytes_of_pairs(schedule.pattern)
    if schedule.parts is None:
        assert messages_of(found) == messages_of(schedule.pattern)


def replay_goal(path: Path) -> tuple[Counter[tuple[int, int]], list[tuple[int, int, int]]]:
    """(bytes of pairs, sends in the order in which they may go): rules of GOAL, one by one."""
    operations: dict[tuple[int, str], tuple[str, int, int, int]] = {}
    needs: dict[tuple[int, str], set[str]] = defaultdict(set)
    rank = -1
    for line in path.read_text().splitlines():
        words = line.replace(":", " ").split()
        if words[:1] == ["rank"]:
            rank = int(words[1])
        elif "requires" in words:
            needs[rank, words[0]].add(words[2])
        elif len(words) > 2 and words[1] in ("send", "recv"):
            operations[rank, words[0]] = (
                words[1],
                int(words[4]),
                int(words[2].removesuffix("b")),
                int(words[6]),
            )
        elif len(words) > 2:
            operations[rank, words[0]] = ("calc", 0, 0, 0)
    sent: Counter[tuple[int, int]] = Counter()
    under_way: list[tuple[int, int, int, int]] = []
    order: list[tuple[int, int, int]] = []
    left = dict(operations)
    while left:
        before = len(left)
        for (rank, label), (kind, peer, size, tag) in list(left.items()):
            if any((rank, other) in left for other in needs[rank, label]):
                continue
            if kind == "send":
                under_way.append((rank, peer, size, tag))
                sent[rank, peer] += size
                order.append((rank, peer, size))
            elif kind == "recv":
                if (peer, rank, size, tag) not in under_way:
                    continue
                under_way.remove((peer, rank, size, tag))
            del left[rank, label]
        assert len(left) < before, "a deadlock"
    assert not under_way
    return sent, order


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case[1:3]))
def test_goal_by_its_own_rules(tmp_path: Path, case: tuple[str, str, str, str]) -> None:
    schedule = compiled(*case)
    write_export(schedule, tmp_path / "x.goal")
    sent, order = replay_goal(tmp_path / "x.goal")
    assert sent == bytes_of_pairs(schedule.pattern)
    if schedule.sync in ("local", "ready", "barrier") and schedule.parts is None:
        phase = phase_of_pairs(schedule)
        of_rank: dict[int, list[int]] = defaultdict(list)
        for source, target, _ in order:
            of_rank[source].append(phase[source, target])
        assert all(phases == sorted(phases) for phases in of_rank.values())


def test_the_order_of_phases_is_read(tmp_path: Path) -> None:
    schedule = compiled("alltoall:size=64", "crossbar:4", "lp", "local")
    for suffix in (".goal", ".tit", ".xml"):
        write_export(schedule, tmp_path / f"x{suffix}")
        found = conset.load_pattern(tmp_path / f"x{suffix}")
        assert found.before is not None
        phase = phase_of_pairs(schedule)
        ends = np.stack([found.source, found.target], axis=1)
        pairs = {(phase[tuple(ends[a])], phase[tuple(ends[b])]) for a, b in found.before}  # type: ignore[index]
        # 2 sends of phase 2 after the 2 operations of phase 1, and so on: none within a phase
        assert pairs == {(0, 1), (1, 2)}, suffix
        assert len(found.before) == 2 * 4 * 2


@pytest.mark.skipif(not has_simgrid(), reason="no smpirun: apt-get install libsimgrid-dev")
@pytest.mark.parametrize(
    ("pattern", "machine", "method", "sync"),
    [
        ("alltoall:size=400MB", "mesh:3x3,link=1MB/s", "naive", "none"),
        ("random:degree=4,size=uniform(100MB,900MB)", "torus:4x4,link=1MB/s", "first-fit", "ready"),
        ("random:degree=3,size=uniform(100MB,900MB)", "fat-tree:k=4,link=1MB/s", "naive", "none"),
        ("alltoall:size=300MB", "crossbar:5,port=1MB/s", "lp", "ready"),
    ],
)
def test_simgrid_says_the_same(
    tmp_path: Path, pattern: str, machine: str, method: str, sync: str
) -> None:
    schedule = conset.compile(pattern, machine, method=method, sync=sync)
    write_export(schedule, tmp_path / "x.tit")
    how = RENDEZVOUS if sync == "ready" else ()
    ours = conset.simulate(schedule, model="flow", fairness="rtt").time_s
    assert replay(tmp_path / "x.tit", schedule.pattern.ranks, *how) == pytest.approx(ours, rel=1e-6)


# Files of others


def test_files_of_the_tools_themselves(shared_data: Path) -> None:
    tree = conset.load_pattern(shared_data / "traces" / "goal" / "binary_tree_32.goal")
    assert (tree.ranks, tree.messages, tree.bytes) == (32, 31, 31)
    assert tree.before is not None
    # a rank but the first sends on what it has received: one pair for each send of these
    assert len(tree.before) == 31 - 5
    permutation = conset.load_pattern(shared_data / "traces" / "htsim-cm" / "perm_32.cm")
    assert (permutation.ranks, permutation.messages) == (32, 32)
    assert set(permutation.size.tolist()) == {2_000_000}
    for folder, name in (("msccl-azure", "a2a2ll"), ("msccl-rccl", "alltoall-8n-0-9kb")):
        exchange = conset.load_pattern(shared_data / "schedules" / folder / f"{name}.xml")
        assert messages_of(exchange) == messages_of(
            conset.load_pattern(f"alltoall:ranks=8,size={exchange.size[0]}")
        )
    with pytest.raises(InputError, match="coll is 'allgather': coll must be alltoall or"):
        conset.load_pattern(shared_data / "schedules" / "msccl-azure" / "ag_hier_4_LL.xml")


GOAL = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\n}\nrank 1 {\nrecv 8b from 0 tag 3\n}\n"


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.goal", GOAL.replace("num_ranks 2\n", ""), "line 1: num_ranks N required, given 'rank"),
        ("a.goal", GOAL.replace("to 1", "to 2"), "line 3: rank 2: must be below num_ranks 2"),
        ("a.goal", GOAL.replace("tag 3\n}\nrank", "tag 4\n}\nrank"), "no receive on rank 1 from"),
        ("a.goal", GOAL.replace("recv 8b", "recv 7b"), "receives 7 B, rank 0 sends 8 B"),
        (
            "a.goal",
            GOAL.replace("}\nrank 1", "b requires a\n}\nrank 1"),
            "label b: must be defined",
        ),
        ("a.goal", GOAL.replace("a: send", "b: calc 4\na: sent"), "line 4: send, recv, calc,"),
        (
            "a.goal",
            GOAL.replace(
                "tag 3\n}\nrank 1", "tag 3\nb: calc 1\na requires b\nb requires a\n}\nrank 1"
            ),
            "waits for itself",
        ),
        ("a.goal", GOAL[:-2], "ends before } of the last rank"),
        ("a.tit", "0 init\n0 send 1 0 8\n1 bcast 8\n", "line 3: bcast: sends, receives, waits"),
        ("a.tit", "0 isend 1 0 8\n0 wait 0 1 5\n1 recv 0 0 8\n", "line 2: wait 0 1 5: no such"),
        ("a.tit", "0 send 1 0 x\n1 recv 0 0 8\n", "line 1: argument 3: a whole number required"),
        ("a.tit", "0 send 1 0 8 99\n1 recv 0 0 8\n", "datatype 99: must be from 0 to 54"),
        ("a.cm", "Nodes 2\nConnections 2\n0->1 id 1 size 8\n", "Connections 2, 1 are listed"),
        ("a.cm", "Nodes 2\nConnections 1\n0->2 id 1 size 8\n", "target = 2: must be a rank"),
        ("a.cm", "Nodes 2\nConnections 1\n0->1 id 1 start 0\n", "size BYTES is missing"),
        ("a.xml", "<algo", "no XML: "),
        ("a.xml", "<graphml/>", "an algorithm of MSCCL required, given <graphml>"),
        ("a.xml", '<algo coll="allreduce" ngpus="2"/>', "coll is 'allreduce': coll must be"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, text: str, error: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(error)):
        conset.load_pattern(path)


def test_traces_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.tit"
    path.write_text("0 init 1\n1 init 1\n0 send 1 2e3\n1 recv 0 2e3\n")
    assert conset.load_pattern(path).bytes == 16_000, "without tags, elements are doubles"
    path.write_text(
        "0 isend 1 0 8\n0 irecv 1 0 8\n0 compute 1e9\n0 waitall\n0 barrier\n0 send 1 1 9\n"
        "1 isend 0 0 8\n1 irecv 0 0 8\n1 waitall\n1 barrier\n1 recv 0 1 9\n"
    )
    found = conset.load_pattern(path)
    assert found.name == "a.tit (without 1 computation, without 2 barriers)"
    assert found.size.tolist() == [8, 9, 8]
    assert found.before is not None
    assert found.before.tolist() == [[0, 1], [2, 1]], "the last send waits for both before it"
    path.write_text("0 send 1 0 8\n0 recv 1 0 8\n1 send 0 0 8\n1 recv 0 0 8\n")
    assert conset.load_pattern(path).before is None, "eager sends meet; no order, no cycle"


def steps_of(root: ElementTree.Element) -> list[tuple[ElementTree.Element, ElementTree.Element]]:
    return [(tb, step) for tb in root.iter("tb") for step in tb.iter("step")]


def test_mutants_of_an_exchange_are_refused(tmp_path: Path) -> None:
    """Every step taken away, and every offset moved, alone."""
    path = tmp_path / "x.xml"
    write_export(compiled("alltoall:size=64", "crossbar:4", "lp", "local"), path)
    sound = path.read_text()
    count = len(steps_of(ElementTree.fromstring(sound)))
    assert count == 4 * (3 + 3 + 1) + 4 * 2 * 2, "sends, receives, own copies and nops"
    refused = 0
    for k in range(count):
        for change in ("away", "srcoff", "dstoff", "type"):
            root = ElementTree.fromstring(sound)
            tb, step = steps_of(root)[k]
            kind = step.get("type")
            if kind == "nop" or (change, kind) in (("srcoff", "r"), ("dstoff", "s")):
                continue  # an order that is lost, an offset that is not used
            if change == "away":
                tb.remove(step)
            elif change == "type":
                step.set("type", "re")
            else:
                step.set(change, str((int(step.get(change, "0")) + 1) % 4))
            path.write_text(ElementTree.tostring(root, encoding="unicode"))
            with pytest.raises(InputError, match=r"gpu \d"):
                conset.load_pattern(path)
            refused += 1
    assert refused > 80


def test_skew_is_in_whole_chunks(tmp_path: Path) -> None:
    pattern = Pattern.from_messages([0, 0, 1, 2], [1, 2, 0, 0], [1200, 400, 800, 400], 3)
    write_export(conset.compile(pattern, "crossbar:3", method="naive"), tmp_path / "x.xml")
    root = ElementTree.fromstring((tmp_path / "x.xml").read_text())
    assert (root.get("coll"), root.get("maxBytes")) == ("alltoallv", str(3 * 3 * 400))
    assert {step.get("cnt") for _, step in steps_of(root)} == {"1", "2", "3"}
    unequal = Pattern.from_messages([0, 1], [1, 0], [2**20 + 1, 2**20], 2)
    schedule = conset.compile(unequal, "crossbar:2", method="naive")
    with pytest.raises(InputError, match="steps of 71 chunks: 1 B divides all sizes; MSCCL takes"):
        write_export(schedule, tmp_path / "y.xml")
    assert not (tmp_path / "y.xml").exists()


# The command


def test_convert_says_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["compile", "alltoall", "--on", "mesh:3x3", "--method", "lp", "--sync", "barrier"]
    assert run([*words, "-o", "s.json"]) == 0
    capsys.readouterr()
    assert run(["convert", "s.json", "-o", "s.cm"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("s.cm: 72 messages between 9 ranks, 73,728 B, from alltoall")
    assert "15 phases, barriers" in shown
    assert run(["convert", "s.json", "-o", "s.tit"]) == 0
    assert {path.name for path in tmp_path.glob("s.*")} == {
        *("s.json", "s.cm", "s.tit", "s.traces", "s.platform.xml", "s.hosts")
    }
    assert run(["convert", "alltoall:ranks=4", "-o", "a.xml"]) == 0
    assert run(["convert", "a.xml", "--on", "mesh:2x2", "-o", "a.json"]) == 0
    assert run(["verify", "a.json"]) == 0
    assert run(["simulate", "a.xml", "--on", "mesh:2x2"]) == 0
    assert run(["convert", "missing.json", "-o", "a.xml"]) == 3
    assert run(["convert", "a.xml", "-o", "a.txt"]) == 2


def test_what_no_format_has() -> None:
    schedule = compiled("random:degree=3,size=uniform(1KiB,4KiB)", "torus:3x3", "birkhoff", "ready")
    lost = not_held(schedule, ".goal")
    assert set(lost) == {"signals", "splits"}
    assert set(not_held(schedule, ".csv")) == {"phases", "signals"}
