"""Simulated trials: a schedule under the policy with the least simulated time, and how much may be simulated.

A formula adds up what every port carries; it does not see a message that blocks others while it waits, nor ranks that
run ahead or wait for each other. So policies that cannot win by the formulas (`conset.choice.trial`) may win here:
- `none` over several phases posts in schedule order, which spreads the load over time without waiting for anybody;
- `barrier` keeps apart what would block each other, which `local` lets drift;
- `ready` paces senders by their receivers.
All four are simulated, unless limits must be kept; of one phase those that the formulas tell apart. A policy under
which a node has no room for its receives, or messages wait in a circle, drops out. Sends in flight and receives at once
are the machine's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from conset.choice.trial import FORMULA, Trial, best_of, best_policy, keeping_policies, policies
from conset.errors import InputError, NoScheduleError, UsageError, unknown_name
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.schedule.sync import KINDS
from conset.simulation.settings import Settings
from conset.simulation.table import find_model
from conset.simulation.workload import Workload

MOST: Mapping[str, int] = MappingProxyType({"flow": 1 << 16, "wormhole": 1 << 18, "circuit": 1 << 18})
"""Models that may rank, and the most messages of a pattern each does, per unit of effort: a pattern is simulated some
twenty times, and all at once it may take `flow` fifty microseconds a message."""


def check_ranking(rank_by: str) -> None:
    """Raises `UsageError` where `rank_by` is neither `formula` nor a model that may rank."""
    if rank_by != FORMULA and rank_by not in MOST:
        raise unknown_name("ranking", rank_by, (FORMULA, *MOST))


def require_affordable(pattern: Pattern, rank_by: str, effort: int = 1) -> None:
    """Raises `UsageError` as `check_ranking`, or where a pattern is too large to be ranked; says what may rank it."""
    check_ranking(rank_by)
    able = [FORMULA, *(name for name, most in MOST.items() if pattern.messages <= most * effort)]
    if rank_by not in able:
        raise UsageError(
            f"--rank-by {rank_by}: at most {MOST[rank_by] * effort:,} messages at effort {effort}, {pattern.name} has "
            f"{pattern.messages:,}; what ranks that many: {', '.join(able)}"
        )


def best_trial(schedule: Schedule, sync: str | None = None, *, asked: bool = False, rank_by: str = FORMULA) -> Trial:
    """The schedule under its best policy by formula or by a model; arguments as `best_policy` and `best_simulated`."""
    if rank_by == FORMULA:
        return best_policy(schedule, sync, asked=asked)
    return best_simulated(schedule, rank_by, sync, asked=asked)


def best_simulated(schedule: Schedule, model: str, sync: str | None = None, *, asked: bool = False) -> Trial:
    """The schedule under the policy with the least simulated time; under `sync` where one is given.

    Args:
        schedule: its own policy does not count.
        model: a row of `conset.simulation.table`.
        sync: a policy that is fixed.
        asked: whether its limits were asked for, so that what is in flight must keep them.

    Raises:
        InputError: it has no room for its receives under any policy. NoScheduleError: it deadlocks under all.
    """
    workload = Workload.of_schedule(schedule)
    trials: list[Trial] = []
    error: InputError | NoScheduleError | None = None
    for policy in (sync,) if sync is not None else simulated_policies(schedule, asked=asked):
        try:
            time_s = simulated_time(schedule, model, policy, workload=workload)
        except (InputError, NoScheduleError) as reason:
            error = reason
            continue
        trials.append(Trial(replace(schedule, sync=policy), time_s, True, "", model))
    if not trials:
        raise error or NoScheduleError(f"{workload.name}: no policy to simulate")
    return best_of(trials)


def simulated_policies(schedule: Schedule, *, asked: bool) -> tuple[str, ...]:
    """The policies that are simulated; see the head."""
    if schedule.phases <= 1:
        return policies(schedule, asked=asked)
    return keeping_policies(schedule, asked=asked) or KINDS


def simulated_time(schedule: Schedule, model: str, sync: str, *, workload: Workload | None = None) -> float:
    """What a model says a schedule takes under a policy [s], as `conset simulate` does.

    Raises:
        InputError: it has no room for its receives. NoScheduleError: it deadlocks.
    """
    settings = Settings.of(schedule.machine.costs_for(schedule.method), sync=sync)
    work = Workload.of_schedule(schedule) if workload is None else workload
    return find_model(model).simulate(work, schedule.machine, settings).time_s
