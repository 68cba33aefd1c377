"""Jobs over MPI: a task on every rank, in a job of its own or in the running one.

Rank 0 writes the result last.

The parent's side and each rank's (`conset.execution.rank`). A task is named as `module:function`,
which a rank imports when it runs: who starts a job must not begin MPI. How far a job is, rank 0
writes into a file of the job's folder between exchanges: a share of all that is to be done becomes
a `conset.base.progress.work`, from which the time left is read; texts are passed on as they are.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.base import ConsetError, InputError, UsageError, work
from conset.execution.launcher import (
    end_with_parent,
    explain_end,
    find_job,
    find_launcher,
    note_held,
    start_job,
)
from conset.execution.plan import Plan, read_plan_file, write_plan_file

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
