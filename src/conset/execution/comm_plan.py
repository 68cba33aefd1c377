"""Plans on a communicator: what all ranks of an application have agreed to execute."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from conset.base.errors import ExecutionError, InputError
from conset.execution.agreement import agreed, require_same
from conset.execution.exchange import Exchange, require_ranks
from conset.execution.items import Layout
from conset.execution.plan import Plan
from conset.execution.rank_plan import RankPlan, plan_digest

if TYPE_CHECKING:
    from mpi4py import MPI


class CommPlan:
    """A plan that the ranks of a communicator execute together, each its part.

    Of `conset.plan(schedule, comm)`.

    Attributes:
        comm: the application's communicator.
        part: what this rank executes.
    """

    def __init__(self, comm: MPI.Intracomm, part: RankPlan) -> None:
        self.comm, self.part = comm, part
        self._closed = False

    def exchange(
        self,
        sendbuf: Any,
        recvbuf: Any,
        *,
        layout: Layout | None = None,
        timeout_s: float | None = None,
        poll_interval_s: float | None = None,
    ) -> Exchange:
        """A persistent exchange on these buffers; collective.

        Several may be there, and run, at once.

        Args:
            sendbuf: a contiguous array or buffer, at least `part.send_bytes`.
            recvbuf: the same, writable, at least `part.receive_bytes`; shares no byte with
                `sendbuf`.
            layout: which rows of the arrays are sent, and where what arrives is put or added; None:
                the arrays hold messages by target, those received by source, then by index.
            timeout_s: longest time of one exchange [s]; None: no limit.
            poll_interval_s: longest pause between polls [s]; None: by ranks and cores of this
                machine.

        Raises:
            InputError: buffers, layout and plan do not fit each other, on this rank or another.
            ExecutionError: the plan is closed, or MPI made no request.
        """
        if self._closed:
            raise ExecutionError("exchange: the plan is closed")
        return Exchange(
            self.comm,
            self.part,
            sendbuf,
            recvbuf,
            layout=layout,
            timeout_s=timeout_s,
            poll_interval_s=poll_interval_s,
        )

    def close(self) -> None:
        """Makes no more exchanges; those that there are go on."""
        self._closed = True

    def __enter__(self) -> CommPlan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        part = self.part
        return (
            f"CommPlan(rank={part.rank}, ranks={part.ranks}, phases={part.phases}, "
            f"sync={part.sync})"
        )


def plan_on(
    comm: MPI.Intracomm, make: Callable[[], Plan], file: Path | None, settings: str
) -> CommPlan:
    """The plan that `make` makes, on `comm`; collective.

    Of a file rank 0 makes it and gives every rank its part, the others look that theirs is the
    same; of a noun, that every rank has, every rank makes it.

    Args:
        comm: as many ranks as the plan has.
        make: makes the plan, the same on every rank.
        file: of which; None: of a noun.
        settings: what else it depends on.

    Raises:
        ConsetError: what `make` raises on a rank, on every one.
        InputError: plan and communicator, or the plans of ranks, differ.
    """
    require_same_file(comm, file, "plan")
    require_same(comm, settings, "plan with")
    plan: Plan | None = None
    with agreed(comm):
        if file is None or comm.rank == 0:
            plan = make()
            require_ranks(comm, plan.ranks, "plan")
    if file is not None:
        return CommPlan(
            comm,
            comm.scatter(
                None if plan is None else [RankPlan.of(plan, r) for r in range(comm.size)]
            ),
        )
    assert plan is not None
    require_same(comm, plan_digest(plan), "plan of digest")
    return CommPlan(comm, RankPlan.of(plan, comm.rank))


def require_same_file(comm: MPI.Intracomm, file: Path | None, what: str) -> None:
    """Checks that all ranks name files of the same content, or None, a noun; `what` is made of it.

    Collective.

    Raises:
        InputError: on every rank: a file cannot be read, or one has another than rank 0.
    """
    with agreed(comm):
        content = "" if file is None else sha256(_read(file)).hexdigest()[:16]
    require_same(
        comm, "of a schedule or program" if file is None else f"of a file of digest {content}", what
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
