"""What a job that did not end by itself leaves behind.

Processes, and files of the MPI library outside its folder.

MPICH's ranks share a file in `/dev/shm`, and its proxy one in `/tmp`; both stay where the processes
are killed. Whose they are is known only while somebody has them open: ranks note theirs when they
start, and whoever ends a job looks before. A file is removed under its own inode only, a process
ended under its own start time: nobody else's are touched.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

_OURS = re.compile(r"/dev/shm/(mpich_shm|ucx_shm_posix)_[^/ ]+|/tmp/hydra_hwloc_xmlfile_[^/ ]+")
_NOTE = "held-"
_GREETING = re.compile(rb"conset (\d+) (\d+) (.*)\n")
_LOOK_S = 0.2


class Process(NamedTuple):
    """A process; the number alone may be another's later."""

    pid: int
    started: int


class HeldFile(NamedTuple):
    """A file that a process has open; the path alone may be another's later."""

    path: str
    inode: int


def note_held(folder: Path, rank: int) -> None:
    """Notes in `folder` which files of the MPI library this rank has open."""
    rows = [f"{file.inode} {file.path}" for file in held_files([os.getpid()])]
    (folder / f"{_NOTE}{rank}").write_text("\n".join([os.uname().nodename, *rows]))


def noted_files(folder: Path) -> set[HeldFile]:
    """What the ranks of this machine have noted in `folder`."""
    found = set()
    for note in folder.glob(f"{_NOTE}*"):
        machine, *rows = note.read_text().splitlines() or [""]
        if machine == os.uname().nodename:
            found |= {
                HeldFile(path, int(inode))
                for inode, _, path in (row.partition(" ") for row in rows)
            }
    return found


def greet(stdin: IO[bytes] | None) -> None:
    """Says to rank 0 who started the job, and that stdin comes from there."""
    if stdin is not None:
        pid = os.getpid()
        with contextlib.suppress(OSError):  # no rank ever started
            stdin.write(f"conset {pid} {_stat(pid)[19]} {os.uname().nodename}\n".encode())
            stdin.flush()


def end_with_parent(folder: Path) -> None:
    """Lets this rank end, and with it the job, when who started it is killed.

    `folder` and what ranks noted go first.

    Launchers hand stdin to rank 0; one that does not gives no greeting, and its end says nothing
    then. Nor does the end alone: Open MPI closes stdin when a rank dies, and keeps it open when the
    starter does. So where that process can be seen, it is watched.
    """

    def listen() -> None:
        heard = b""
        while not heard.endswith(b"\n") and (word := os.read(0, 256)):
            heard += word
        greeting = _GREETING.fullmatch(heard)
        if not greeting:
            return
        if greeting[3].decode() == os.uname().nodename:
            starter = Process(int(greeting[1]), int(greeting[2]))
            while _runs(starter):
                time.sleep(_LOOK_S)
        else:
            while os.read(0, 256):
                pass
        remove_files(noted_files(folder))
        shutil.rmtree(folder, ignore_errors=True)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=listen, daemon=True).start()


def processes_under(root: int) -> list[Process]:
    """The descendants of process `root`, without it."""
    children: dict[int, list[Process]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        stat_fields = _stat(int(entry.name))
        if stat_fields:
            children.setdefault(int(stat_fields[1]), []).append(
                Process(int(entry.name), int(stat_fields[19]))
            )
    found = list(children.get(root, ()))
    for process in found:  # grows while it is walked
        found += children.get(process.pid, ())
    return found


def held_files(pids: Iterable[int]) -> set[HeldFile]:
    """The files of the MPI library outside its folder that any of `pids` has open."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    path = str(descriptor.readlink())
                    if _OURS.fullmatch(path):
                        found.add(HeldFile(path, descriptor.stat().st_ino))
    return found


def kill_processes(processes: Iterable[Process]) -> None:
    """Kills those that still run."""
    for process in processes:
        if _runs(process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def remove_files(files: Iterable[HeldFile]) -> None:
    """Removes those that are still there."""
    for file in files:
        with contextlib.suppress(OSError):
            if Path(file.path).stat().st_ino == file.inode:
                Path(file.path).unlink()


def _runs(process: Process) -> bool:
    stat_fields = _stat(process.pid)
    # one that nobody has waited for yet has ended too
    return (
        bool(stat_fields) and stat_fields[0] not in "ZX" and int(stat_fields[19]) == process.started
    )


def _stat(pid: int) -> list[str]:
    """The words of `/proc/PID/stat` from the state on; none where the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return []
