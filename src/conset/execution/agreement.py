"""Agreement: what goes wrong on one rank of a collective call goes wrong on every one.

So that none waits for ever; in collective calls of Python (`agreed`) and of the core (`Attempt`).

Waiting for MPI without blocking in it: look, yield, nap where ranks exceed cores, give up at a
deadline.

MPI libraries poll. With more ranks than cores a rank that waits inside a blocking call burns the
slice that a working one needs (a barrier of 16 ranks on two cores takes several times as long), and
nothing inside it can pass a deadline.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from conset import _core
from conset.base import ConsetError, ExecutionError, InputError, NoScheduleError, UsageError

if TYPE_CHECKING:
    from mpi4py import MPI

_ERRORS: dict[_core.Code, type[ConsetError]] = {
    _core.Code.argument: UsageError,
    _core.Code.file: InputError,
    _core.Code.mismatch: InputError,
    _core.Code.schedule: NoScheduleError,
}
"""All others are of execution."""


def error_of(code: _core.Code, text: str) -> ConsetError:
    """What the core has come to, as an error: its class by the code, in the core's words."""
    return _ERRORS.get(code, ExecutionError)(text)


def on_all(error: ConsetError, rank: int) -> ConsetError:
    """Return an error that all ranks raise: where it ends their program, rank 0 alone reports it.

    In one line with the place in the program, instead of a traceback from every rank.
    """
    error.rank = rank
    report_others = sys.excepthook

    def report_once(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, ConsetError) or error.rank is None:
            report_others(kind, error, trace)
        elif error.rank == 0:
            own = str(Path(__file__).parents[1])
            frames = [f for f in extract_tb(trace) if not f.filename.startswith(own)]
            where = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
            sys.stderr.write(f"{where}{kind.__name__}: {error}\n")

    if report_others.__qualname__ != report_once.__qualname__:
        sys.excepthook = report_once
    return error


class ClosedTogether(ABC):
    """A context manager whose `close` is collective: it is called where the block has ended well.

    After an error other ranks may never come to a collective call, and what still runs cannot be
    freed.
    """

    @abstractmethod
    def close(self) -> None:
        """Frees what MPI holds; collective."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()


@contextmanager
def agreed(comm: MPI.Intracomm) -> Iterator[None]:
    """Around what a rank does alone inside a collective call.

    All ranks leave it well, or all with an error.

    >>> with agreed(comm):
    ...     check(sendbuf)

    Raises:
        ConsetError: that of the lowest rank that has one, of its class and in its words behind
            `rank 2: `. Of any other exception an `ExecutionError`, but on the rank itself, which
            goes on with its own.
    """
    error: Exception | None = None
    try:
        yield
    except Exception as raised:  # whatever it is, the others must hear of it
        error = raised
    lowest = min(comm.allgather(comm.size if error is None else comm.rank))
    if lowest == comm.size:
        return
    described: tuple[type[ConsetError], str, tuple[str, ...]] | None = None
    if comm.rank == lowest and error is not None:
        described = ExecutionError, describe_error(error, lowest), ()
        if isinstance(error, ConsetError):
            # a class with a constructor of its own travels as its base
            kind = next(
                b for b in type(error).__mro__ if "__init__" not in vars(b) or b is ConsetError
            )
            described = kind, described[1], error.options
    kind, text, options = comm.bcast(described, root=lowest)
    if error is not None and not isinstance(error, ConsetError):
        raise error
    raise on_all(kind(text, options=options), comm.rank) from None


def require_same(comm: MPI.Intracomm, value: str, what: str) -> None:
    """Checks that all ranks have the same.

    Raises:
        InputError: on every rank: one has not what rank 0 has; names the lowest.
    """
    values = comm.allgather(value)
    for rank, other in enumerate(values):
        if other != values[0]:
            raise InputError(
                f"rank {rank}: {what} {other}, of rank 0 {values[0]}: must be the same on all ranks"
            )


def describe_error(error: Exception, rank: int) -> str:
    """What all ranks hear of an error of one, in a line.

    The rank, and of an exception not of conset's its class.
    """
    own = f"rank {rank}: "
    text = " ".join(
        (
            str(error) if isinstance(error, ConsetError) else f"{type(error).__name__}: {error}"
        ).splitlines()
    )
    return text if text.startswith(own) else own + text


Result = TypeVar("Result")

_CODES: tuple[tuple[type[ConsetError], _core.Code], ...] = (
    (UsageError, _core.Code.argument),
    (InputError, _core.Code.mismatch),
    (NoScheduleError, _core.Code.schedule),
    (ExecutionError, _core.Code.state),
)


class Attempt:
    """A collective call on one rank.

    Goes on to the core whatever happens here, so that none waits for ever.

    >>> attempt = Attempt(comm.rank)
    >>> sides = attempt.result(lambda: arguments.sides(targets, sources))
    >>> attempt.require(core(sides, attempt.outcome))
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._error: Exception | None = None

    def result(self, work: Callable[[], Result]) -> Result | None:
        """What `work` returns; None where it, or something before, has failed."""
        if self._error is not None:
            return None
        try:
            return work()
        except Exception as error:  # whatever it is, the others must hear of it
            self._error = error
            return None

    @property
    def outcome(self) -> _core.Outcome:
        """What this rank has come to so far."""
        error = self._error
        if error is None:
            return _core.Outcome(_core.Code.fine, "")
        code = next((code for kind, code in _CODES if isinstance(error, kind)), _core.Code.internal)
        return _core.Outcome(code, describe_error(error, self._rank))

    def require(self, outcome: _core.Outcome) -> None:
        """Raises what all ranks have come to.

        Raises:
            ConsetError: by its code, with the message of the lowest rank that found something. An
                exception of this rank that is none of conset's is raised as it was.
        """
        if outcome.code == _core.Code.fine:
            return
        if self._error is not None and not isinstance(self._error, ConsetError):
            raise self._error
        raise on_all(error_of(outcome.code, outcome.detail), self._rank) from None


POLL_INTERVAL_S = 100e-6
"""Longest nap between two looks where ranks exceed cores [s]."""
_POLLS_PER_CHECK = 16
"""Looks before the first nap, and between two looks at the clock."""
_BOOT, _TIME = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/time")
_SHORTEST_NAP = 8
"""The first nap is that part of the longest: each is twice the one before.

The core's executor naps alike.
"""


class Pending(Protocol):
    """What may have to be waited for: a request of MPI, or a place among the sends in flight."""

    def Test(self) -> bool:  # noqa: N802  as mpi4py has it
        """Whether it has ended, or is free."""


class Waiter:
    """Waits for requests one at a time.

    Attributes:
        poll_interval_s: longest nap between looks [s]; 0 where every rank has a core.
        timeout_s: longest time between `begin` and the end of a wait [s], None: no limit.
    """

    def __init__(self, poll_interval_s: float = 0.0, timeout_s: float | None = None) -> None:
        self.poll_interval_s = poll_interval_s
        self.timeout_s = timeout_s
        self.begin()

    def begin(self) -> None:
        """Starts the deadline's clock."""
        self._began = time.monotonic()

    def wait(self, request: Pending, missing: Callable[[], str]) -> None:
        """Returns when `request` has ended.

        Raises:
            ExecutionError: the deadline has passed; `missing` names what for.
        """
        polls, nap = 0, 0.0
        while not request.Test():
            polls += 1
            if polls <= _POLLS_PER_CHECK or not self.poll_interval_s:
                os.sched_yield()
                nap = self.poll_interval_s / _SHORTEST_NAP
            else:
                time.sleep(nap)
                nap = min(2 * nap, self.poll_interval_s)
            if polls % _POLLS_PER_CHECK == 0 and self.timeout_s is not None:
                waited = time.monotonic() - self._began
                if waited > self.timeout_s:
                    raise ExecutionError(f"{missing()} after {waited:.1f} s")

    def barrier(self, comm: MPI.Comm) -> None:
        """A barrier under a deadline of its own."""
        self.begin()
        self.wait(
            comm.Ibarrier(), lambda: f"rank {comm.rank}: other ranks have not reached the barrier"
        )


def cores_and_ranks(comm: MPI.Comm) -> tuple[int, int, bool]:
    """Cores that the ranks on this machine may use, the number of those ranks.

    And whether they are all ranks.

    Collective. One machine is one running kernel with one CLOCK_MONOTONIC: MPI distinguishes hosts
    from each other, but several of them may be network namespaces or containers that share cores
    and clock. Launchers may bind each rank to a core of its own, so the cores of all ranks are put
    together.
    """
    try:  # the kernel that runs here, in this time namespace
        system = f"{_BOOT.read_text().strip()} {_TIME.stat().st_ino}"
    except OSError:  # another system, or an older one
        system = platform.node()
    here = comm.Split(int.from_bytes(sha256(system.encode()).digest()[:4]) >> 1)
    cores = set[int]().union(*here.allgather(os.sched_getaffinity(0)))
    ranks = here.size
    here.Free()
    return len(cores), ranks, ranks == comm.size
