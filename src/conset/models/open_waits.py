"""Waits inside an open context.

Which transfers wait for each other where nothing moves any more, in words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import NoScheduleError
from conset.machine.machine import Machine
from conset.models.nanoseconds import describe_cycle
from conset.models.workload import Workload


@dataclass(frozen=True, eq=False)
class Waiting:
    """The transfers of a phase in list order.

    Attributes:
        messages: of the workload.
        sender: shape=(transfers), ranks.
        receiver: shape=(transfers).
        dep_offsets: shape=(transfers + 1).
        deps: what each waits for.
        connection: shape=(transfers), -1 for none.
    """

    messages: NDArray[np.intp]
    sender: NDArray[np.int32]
    receiver: NDArray[np.int32]
    dep_offsets: NDArray[np.int64]
    deps: NDArray[np.int32]
    connection: NDArray[np.int32]


def require_all(
    result: _core.OpenTimes, workload: Workload, machine: Machine, waiting: Waiting
) -> None:
    """Raises NoScheduleError where a transfer was not delivered.

    Follows one wait after the other to a cycle.
    """
    stuck = np.flatnonzero(result.end < 0)
    if not stuck.size:
        return
    seen: dict[int, int] = {}
    t, path, texts = int(stuck[0]), list[int](), list[str]()
    while t not in seen:
        seen[t] = len(path)
        path.append(t)
        t, text = _wait_of(t, result, waiting)
        texts.append(text)
    cycle = waiting.messages[np.array(path[seen[t] :])].astype(np.int32)
    text = describe_cycle(workload, cycle, texts[seen[t] :])
    raise NoScheduleError(f"{workload.name} on {machine.name}: deadlock: {text}")


def _wait_of(t: int, result: _core.OpenTimes, waiting: Waiting) -> tuple[int, str]:
    """(the transfer that one waits for, how)."""
    undelivered = result.end < 0
    mine = waiting.sender == waiting.sender[t]
    if result.slot[t] < 0:
        deps = waiting.deps[waiting.dep_offsets[t] : waiting.dep_offsets[t + 1]]
        first = int(np.flatnonzero(mine & (result.slot < 0))[0])
        if undelivered[deps].any():
            return int(deps[undelivered[deps]][0]), "waits for the delivery of"
        if first != t:
            return first, "stands in its list behind"
        return int(
            np.flatnonzero(mine & (result.slot >= 0) & (result.left < 0))[0]
        ), "waits for a send of its rank beside"
    connection = waiting.connection[t]
    ahead = np.flatnonzero(undelivered & (waiting.connection == connection))
    if connection >= 0 and ahead[0] != t:
        return int(ahead[0]), "waits on its connection for"
    taken = undelivered & (waiting.receiver == waiting.receiver[t]) & (result.receiving > 0)
    return int(np.flatnonzero(taken)[0]), "waits for a receive of its rank beside"
