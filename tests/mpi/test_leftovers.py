"""However a job ends, nothing of it is left: no process, no folder, no file of the MPI library."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conset.base.errors import ExecutionError
from conset.execution.job import (
    HeldFile,
    Process,
    kill_processes,
    noted_files,
    processes_under,
    remove_files,
)
from conset.execution.planner import make_plan
from conset.execution.run import run_plan
from conset.schedule.files.compiled import write_compiled
from conset.schedule.schedule import Schedule

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


def wait_for(what: Callable[[], object]) -> None:
    for _ in range(3000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 30 s")


def running(process: Process) -> bool:
    try:
        words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return words[0] != "Z" and int(words[19]) == process.started


class Running:
    """`conset run` of a schedule that would take for ever, once all its ranks are there."""

    def __init__(self, schedule: Schedule, folder: Path) -> None:
        write_compiled(schedule, folder / "s.json")
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        command = [sys.executable, "-c", "from conset.cli.main import main; main()"]
        command += ["run", str(folder / "s.json"), "--repeat", "100000"]
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        ranks = schedule.pattern.ranks
        wait_for(lambda: len(list(self.temporary.glob("conset-job-*/held-*"))) == ranks)
        self.job = processes_under(self.process.pid)
        self.files = noted_files(next(self.temporary.glob("conset-job-*")))

    def check_nothing_left(self) -> None:
        wait_for(lambda: not any(running(process) for process in self.job))
        wait_for(lambda: not list(self.temporary.iterdir()))
        assert not any(Path(file.path).exists() for file in self.files)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_the_whole_job(schedule: Schedule, tmp_path: Path, number: int) -> None:
    run = Running(schedule, tmp_path)
    assert len(run.job) >= schedule.pattern.ranks + 1
    run.process.send_signal(number)
    run.process.send_signal(signal.SIGTERM)  # one that follows does not stop the ending
    error = run.process.communicate(timeout=30)[1]
    assert run.process.returncode == 130
    assert error == "conset: interrupted, nothing written\n"
    run.check_nothing_left()


@pytest.mark.openmpi
def test_ranks_end_when_who_started_them_is_killed(schedule: Schedule, tmp_path: Path) -> None:
    run = Running(schedule, tmp_path)
    run.process.kill()
    run.process.communicate(timeout=30)
    run.check_nothing_left()


@pytest.mark.openmpi
def test_the_files_of_a_job_that_died_are_removed(
    schedule: Schedule, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ExecutionError, match=r"(a rank|rank 2) died \(SIGKILL\)"):
        run_plan(make_plan(schedule), repeat=1, timeout=60, entry=(str(programs / "dies.py"),))
    assert [path.name for path in tmp_path.iterdir()] == ["noted"]
    (tmp_path / "noted").rename(tmp_path / "held-2")
    assert not any(Path(file.path).exists() for file in noted_files(tmp_path))


def test_files_and_processes_of_others_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "mpich_shm_1_0"
    file.write_text("")
    inode = file.stat().st_ino
    remove_files([HeldFile(str(file), inode + 1)])
    assert file.exists()
    remove_files([HeldFile(str(file), inode), HeldFile(str(file), inode)])
    assert not file.exists()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        (found,) = [process for process in processes_under(os.getpid()) if process.pid == child.pid]
        kill_processes([Process(child.pid, found.started - 1)])
        assert child.poll() is None
        kill_processes([found])
        assert child.wait() == -signal.SIGKILL
        kill_processes([found])


def test_what_ranks_of_another_machine_noted_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "held-0").write_text(f"{os.uname().nodename}\n7 /dev/shm/mpich_shm_a_0\n")
    (tmp_path / "held-1").write_text("elsewhere\n8 /dev/shm/mpich_shm_b_0\n")
    (tmp_path / "held-2").write_text("")
    assert noted_files(tmp_path) == {HeldFile("/dev/shm/mpich_shm_a_0", 7)}
