"""auto: the placement under which a compile comes out best, and never worse than the ranks as they are numbered.

Problem: where to put ranks before it is known how well they can be scheduled there.
Idea: try every candidate of `conset.placement` by compiling it with a cheap method under the limits of the one that
was asked for; compile the best of them, and the ranks as numbered, with the method itself; keep the better.
Guarantee: the result has no more phases than the identity's and is not predicted to take longer, or simulated where a
simulation ranks. Beyond that the objective decides: `time` that time, then phases; `phases` the phases, then ΣL.
Complexity: a cheap compile for each candidate, two of the method itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.choice.trial import REL_TOL
from conset.errors import InputError, NoScheduleError
from conset.prediction import predict
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule

Placement = NDArray[np.int32] | None
Compile = Callable[[Placement], Schedule]


@dataclass(frozen=True)
class Merit:
    """What placements are compared by: time [s], predicted unless simulations rank, phases, ΣL."""

    time_s: float
    phases: int
    load_sum: int

    @staticmethod
    def of(schedule: Schedule) -> Merit:
        """The merit of a schedule under its own policy."""
        time_s = predict(schedule).time_s if schedule.simulated_s is None else schedule.simulated_s
        return Merit(time_s, schedule.phases, int(phase_loads(schedule).largest.sum(dtype=np.int64)))

    def loses_nothing_to(self, other: Merit) -> bool:
        """No more phases, no more time."""
        return self.phases <= other.phases and self.time_s <= other.time_s * REL_TOL

    def key(self, objective: str) -> tuple[float, ...]:
        """Smaller is better."""
        if objective == "phases":
            return self.phases, self.load_sum, self.time_s
        return self.time_s, self.phases, self.load_sum


def choose_placed(
    candidates: Iterable[tuple[str, Placement]], probe: Compile, compile_on: Compile, *, objective: str
) -> Schedule:
    """The schedule of the best placement.

    Args:
        candidates: (name, placement), the identity first.
        probe: a cheap compile on a placement.
        compile_on: the compile that was asked for.
        objective: `time` or `phases`.

    Raises:
        ConsetError: as `compile_on` on the identity.
    """
    names = iter(candidates)
    name, identity = next(names)
    base = replace(compile_on(identity), placement_name=name)
    if _core.stop_asked():
        return base
    try:
        chosen = _rank(names, probe, probe(identity), objective)
        if chosen is None or _core.stop_asked():
            return base
        placed = replace(compile_on(chosen[1]), placement_name=chosen[0])
    except (InputError, NoScheduleError):
        return base
    except KeyboardInterrupt:
        return base  # the search was stopped before the other placement had a schedule
    if placed.rank_by != base.rank_by:
        return base  # the search was stopped before the other placement was simulated
    merit, least = Merit.of(placed), Merit.of(base)
    better = merit.loses_nothing_to(least) and merit.key(objective) < least.key(objective)
    return placed if better else base


def _rank(
    candidates: Iterable[tuple[str, Placement]], probe: Compile, base: Schedule, objective: str
) -> tuple[str, Placement] | None:
    """The candidate that the probe finds best, None where none beats the identity."""
    least, best = Merit.of(base), None
    lowest = least
    for name, placement in candidates:
        if _core.stop_asked():
            break
        try:
            merit = Merit.of(probe(placement))
        except (InputError, NoScheduleError):
            continue
        if merit.loses_nothing_to(least) and merit.key(objective) < lowest.key(objective):
            lowest, best = merit, (name, placement)
    return best
