"""Open programs over MPI, in Python: elements, modes, contexts, errors, deadlines, signals."""

from __future__ import annotations

from pathlib import Path

import pytest

import conset
from conset.execution.connection_entries import connection_entries
from conset.execution.job import JobEnd, find_launcher, start_job
from conset.execution.plan import write_plan_file
from conset.schedule.program import Program, Stage

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


def run(programs: Path, folder: Path, check: str) -> JobEnd:
    program = ["-m", "mpi4py", str(programs / "connections.py"), str(folder), check]
    return start_job(find_launcher(), 4, program, folder=folder, timeout_s=60)


@pytest.mark.openmpi
@pytest.mark.parametrize(
    "check",
    ["interleaved", "buffers", "modes", "errors", "contexts", "interrupted", "threads", "twice"],
)
def test_open_programs(programs: Path, tmp_path: Path, check: str) -> None:
    ended = run(programs, tmp_path, check)
    assert (ended.status, ended.err) == (0, "")
    assert [(tmp_path / f"rank-{r}").read_text() for r in range(4)] == ["right"] * 4


def chain(peers: dict[int, int], rank: int, count: int) -> list[str]:
    """The waits of a rank, of that which it waits for, and so on."""
    waits = []
    for _ in range(count):
        waits.append(f"{rank} waits for an element of {peers[rank]}")
        rank = peers[rank]
    return waits


@pytest.mark.openmpi
def test_the_deadline_names_the_cycle(programs: Path, tmp_path: Path) -> None:
    ended = run(programs, tmp_path, "deadline")
    assert (ended.status, ended.err) == (0, "")
    texts = (tmp_path / "deadline.txt").read_text().splitlines()
    assert len(texts) == 4
    peers = {0: 1, 1: 2, 2: 0, 3: 0}
    for rank, text in enumerate(texts):
        said, _, waits = text.partition(": nothing has moved for 3 s: ")
        assert said == f"block 'pattern', phase 0: rank {rank} (node {rank})"
        # waits of this rank one after the other, then the cycle from any of its ranks
        assert waits in {
            ", ".join([*chain(peers, rank, own), *chain(peers, first, 3)])
            for own in range(5)
            for first in (0, 1, 2)
        }


def test_files(programs: Path, tmp_path: Path) -> None:
    """A plan, a program file and a noun open the same connections."""
    machine = conset.load_machine("ring:4")
    schedule = conset.compile("alltoall:size=100", machine, method="first-fit")
    stages = (Stage("one", 2, 0, True), Stage("two\nlines", 1, 0, False))
    program = Program(schedule.machine, stages, (schedule,), (tuple(range(schedule.phases)),))
    conset.write(program, tmp_path / "prog.json")
    write_plan_file(None, tmp_path / "x.plan", connections=connection_entries(program))
    ended = run(programs, tmp_path, "files")
    assert (ended.status, ended.err) == (0, "")
    rows = [(tmp_path / f"rows-{name}").read_text() for name in (".plan", ".json", "noun")]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0].count("direction='send'") == 3 * 3  # of rank 0: three peers, three repetitions
