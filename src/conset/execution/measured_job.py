"""Jobs that measure: started with a folder of orders, or the running one.

One result, which rank 0 writes last.

The parent's side and each rank's: what is measured is the caller's. MPI is not begun here, who
starts a job must not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.base.errors import ConsetError, UsageError
from conset.base.progress import work
from conset.execution.job_progress import Tell, Teller, heard, nobody
from conset.execution.launcher import explain_end, find_job, start_job
from conset.execution.leftovers import end_with_parent, note_held

if TYPE_CHECKING:
    from mpi4py import MPI

ORDERS = "orders.json"
"""What ranks are to do, in the folder of a job."""
PLAN, DIRECT, OPENED = "plan.npz", "direct.npz", "connections.plan"
"""Beside it: what is executed; what its baselines send, where that is another plan.

Connections that are opened.
"""
_RESULT = "result.json"
_HEARD_S = 0.2
"""From what a rank says to its end of the job.

Open MPI's starter drops lines that have not reached it by then [s].
"""
Result = dict[str, Any]
"""JSON-ready."""


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """What every measurement says of its job; as it stands where none was started.

    Attributes:
        cores: cores that the ranks on one machine share.
        local_ranks: ranks on that machine.
        one_machine: whether these are all ranks.
        bytes_checked: received bytes compared, over ranks, whatever is measured and repetitions,
            the dropped one included.
        mismatches: of these.
        wrong: the first wrong byte of each rank that has one, in words.
        elapsed_s: the whole job, start-up included [s].
    """

    cores: int = 0
    local_ranks: int = 0
    one_machine: bool = True
    bytes_checked: int = 0
    mismatches: int = 0
    wrong: tuple[str, ...] = ()
    elapsed_s: float = 0.0


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


def job_facts(found: Result, began: float) -> dict[str, Any]:
    """The attributes of a `JobResult` out of what a job has found.

    It `began` then by `time.monotonic` [s].
    """
    return {
        "cores": int(found["cores"]),
        "local_ranks": int(found["local_ranks"]),
        "one_machine": bool(found["one_machine"]),
        "bytes_checked": int(found["bytes_checked"]),
        "mismatches": int(found["mismatches"]),
        "wrong": tuple(found["wrong"]),
        "elapsed_s": time.monotonic() - began,
    }


def timed_facts(found: Result, began: float) -> dict[str, Any]:
    """The attributes of a `TimedResult`, as `job_facts`."""
    times = {"mpi": str(found["mpi"]), "ranks": int(found["ranks"]), "times_s": found["times_s"]}
    return job_facts(found, began) | times


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


def measure_in_own_job(
    ranks: int,
    orders: dict[str, Any],
    *,
    folder: Path,
    launcher: list[str],
    entry: tuple[str, ...],
    total_s: float,
    say: Callable[[str], None] | None = None,
) -> Result:
    """The result of a job of its own; how far it is is a `conset.base.progress.work` meanwhile.

    Args:
        ranks: of the job.
        orders: written into the folder for the ranks.
        folder: with whatever else they need.
        launcher: its command.
        entry: what `python -m mpi4py` runs on each rank, given the folder.
        total_s: longest time, start-up included [s].
        say: given the words in which the job tells how far it is.

    Raises:
        ConsetError: why there is no result, by the job's own last line.
    """
    (folder / ORDERS).write_text(json.dumps(orders))
    with heard(folder, say):
        ended = start_job(
            launcher, ranks, ["-m", "mpi4py", *entry, str(folder)], folder=folder, timeout_s=total_s
        )
    result = folder / _RESULT
    # a launcher's status is no proof: ranks that vanish quietly may leave 0
    if not result.exists():
        raise explain_end(ended, total_s)
    found: Result = json.loads(result.read_text())
    return found


def measure_in_this_job(
    measure: Callable[[MPI.Intracomm, Tell], Result | None],
    agreed: tuple[type[ConsetError], ...],
    say: Callable[[str], None] | None = None,
) -> Result:
    """The result of the running job, on every rank.

    Any other error than those of `agreed` ends all ranks.

    Args:
        measure: collective; is given the communicator and whom to tell how far it is; returns the
            result on rank 0.
        agreed: what every rank has alike, and leaves with.
        say: given the words in which `measure` tells how far it is.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    try:
        with work(1.0) as own:

            def tell(share: float, text: str = "") -> None:
                own.done = share
                if say is not None and text:
                    say(text)

            found: Result = comm.bcast(measure(comm, tell))
    except agreed:
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


def measure_as_rank(
    folder: Path, comm: MPI.Intracomm, measure: Callable[[dict[str, Any], Tell], Result | None]
) -> None:
    """One rank of a job of its own; an error ends all ranks after one line on stderr.

    The result is written beside first, then renamed: the parent believes nothing else.

    Args:
        folder: of the job.
        comm: all its ranks.
        measure: collective; is given the orders and whom to tell how far it is; returns the result
            on rank 0.
    """
    try:
        note_held(folder, comm.rank)
        if comm.rank == 0:
            end_with_parent(folder)
        found = measure(
            json.loads((folder / ORDERS).read_text()), Teller(folder) if comm.rank == 0 else nobody
        )
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
