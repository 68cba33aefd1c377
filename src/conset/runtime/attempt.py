"""Attempt: what is wrong on one rank of a collective call, told to the core, which tells all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from conset import _core
from conset.errors import ConsetError, ExecutionError, InputError, NoScheduleError, UsageError
from conset.execution.agreement import describe_error

Result = TypeVar("Result")

_CODES: tuple[tuple[type[ConsetError], int], ...] = (
    (UsageError, 1),
    (InputError, 3),
    (NoScheduleError, 5),
    (ExecutionError, 4),
)
_INTERNAL = 9
_ERRORS: dict[int, type[ConsetError]] = {1: UsageError, 2: InputError, 3: InputError, 5: NoScheduleError}
"""By code of the core (`conset/runtime/outcome.hpp`); all others are of execution."""


class Attempt:
    """A collective call on one rank: goes on to the core whatever happens here, so that none waits for ever.

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
            return _core.Outcome(0, "")
        code = next((code for kind, code in _CODES if isinstance(error, kind)), _INTERNAL)
        return _core.Outcome(code, describe_error(error, self._rank))

    def require(self, outcome: _core.Outcome) -> None:
        """Raises what all ranks have come to.

        Raises:
            ConsetError: by its code, in the words of the lowest rank that found something. An exception of this rank
                that is none of conset's is raised as it was.
        """
        if outcome.code == 0:
            return
        if self._error is not None and not isinstance(self._error, ConsetError):
            raise self._error
        raise _ERRORS.get(outcome.code, ExecutionError)(outcome.detail) from None
