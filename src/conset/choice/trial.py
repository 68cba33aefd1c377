"""Trial: a schedule under the policy that is best for it, and which policies that may be.

Policies that cannot win by the formulas (`conset.prediction.policies`) are not predicted:
- `none` over several phases is what posting everything takes, plus set-ups;
- `barrier` is `local` plus what it waits: the sum of maxima is no less than the maximum of sums;
- `barrier:k` lets k phases contend: no less than `local` again. Its place is the contention curve of `compare`;
- `ready` is `local` plus signals;
except where the machine counts exchanges under one of them only, and where limits must be kept: `local` lets ranks
drift apart. So asked limits on ports allow `ready` and `barrier`, asked limits on links or channels `barrier` alone,
and so do hard limits of the machine, but for methods that run another way there.
A policy that posts more receives at once than the machine has room for is taken only where none else is left.
Which may win by a simulation is said in `conset.choice.simulated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conset.machine.limits import Limits
from conset.prediction import predict
from conset.schedule.receives import most_posted
from conset.schedule.schedule import Schedule
from conset.schedule.sync import parse_sync

FORMULA = "formula"
"""The ranking by predicted time; the others are models of `conset.simulation`."""
SAME = 1 + 1e-9
"""Times closer than this are one time: sums in another order."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A schedule under its best policy.

    Attributes:
        schedule: with that policy as its `sync`.
        time_s: what it is ranked by [s]: predicted, or simulated.
        fits: whether every node has room for the receives it posts.
        witness: what is busiest by the formula; "" where it was simulated.
        rank_by: `formula`, or the model that simulated it.
    """

    schedule: Schedule
    time_s: float
    fits: bool
    witness: str
    rank_by: str = FORMULA

    @property
    def words(self) -> str:
        """`bounded at contention 4 under local`."""
        schedule = self.schedule
        if schedule.method == "naive" and schedule.sync == "none":
            return "posting everything"
        link = schedule.limits.link if schedule.machine.topology.link_slots else None
        return f"{schedule.method}{'' if link is None else f' at contention {link}'} under {schedule.sync}"

    @property
    def ranked(self) -> Schedule:
        """The schedule, saying by what it was ranked and what a model that did so found."""
        simulated_s = None if self.rank_by == FORMULA else self.time_s
        return replace(self.schedule, rank_by=self.rank_by, simulated_s=simulated_s)


def best_policy(schedule: Schedule, sync: str | None = None, *, asked: bool = False) -> Trial:
    """The schedule under the policy with the least predicted time; under `sync` where one is given.

    Args:
        schedule: its own policy does not count.
        sync: a policy that is fixed.
        asked: whether its limits were asked for, so that what is in flight must keep them.
    """
    trials = []
    for policy in (sync,) if sync is not None else policies(schedule, asked=asked):
        prediction = predict(schedule, sync=policy)
        fits = sync is not None or receives_fit(schedule, policy)
        trials.append(Trial(replace(schedule, sync=policy), prediction.time_s, fits, prediction.witness))
    return best_of(trials)


def policies(schedule: Schedule, *, asked: bool) -> tuple[str, ...]:
    """The policies that may be the fastest while they keep what must be kept; see the head."""
    keeping = keeping_policies(schedule, asked=asked)
    if keeping:
        return keeping
    counted = set(schedule.machine.costs_for(schedule.method).exchange_syncs)
    first = "none" if schedule.phases <= 1 else "local"
    others = () if "local" in counted and first == "local" else ("local", "ready", "barrier")
    return (first, *(policy for policy in others if policy in counted))


def keeping_policies(schedule: Schedule, *, asked: bool) -> tuple[str, ...]:
    """The only policies under which what must be kept is kept in flight too; () where nothing must be."""
    machine, limits = schedule.machine, schedule.limits
    hard = machine.limits != Limits() and schedule.method not in machine.method_costs
    if schedule.phases <= 1 or not (asked or hard):
        return ()
    links = machine.topology.link_slots and limits.link is not None
    if hard or links or limits.channels is not None:
        return ("barrier",)
    return ("ready", "barrier") if limits != Limits() else ()


def receives_fit(schedule: Schedule, policy: str) -> bool:
    """Whether no node posts more receives at once than the machine has room for."""
    room = schedule.machine.costs_for(schedule.method).outstanding_receives
    if room is None:
        return True
    posted, _ = most_posted(schedule.source_node, schedule.target_node, schedule.phase_of, parse_sync(policy))
    return posted <= room


def best_of(trials: Sequence[Trial]) -> Trial:
    """The least time; among equals the least time with barriers, then the fewest phases, then the first."""
    usable = [trial for trial in trials if trial.fits] or trials
    least = min(trial.time_s for trial in usable) * SAME
    equals = [trial for trial in usable if trial.time_s <= least]
    if len(equals) == 1:
        return equals[0]
    waiting = [predict(trial.schedule, sync="barrier").time_s for trial in equals]
    least = min(waiting) * SAME
    return min(
        (trial for trial, time in zip(equals, waiting, strict=True) if time <= least),
        key=lambda trial: trial.schedule.phases,
    )
