"""Attempt: what is wrong on one rank of a collective call, told to the core.

Which tells all ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from conset import _core
from conset.base.errors import ConsetError, ExecutionError, InputError, NoScheduleError, UsageError
from conset.execution.agreement import describe_error, error_of

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
            ConsetError: by its code, in the words of the lowest rank that found something. An
                exception of this rank that is none of conset's is raised as it was.
        """
        if outcome.code == _core.Code.fine:
            return
        if self._error is not None and not isinstance(self._error, ConsetError):
            raise self._error
        raise error_of(outcome.code, outcome.detail) from None
