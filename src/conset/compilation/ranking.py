"""Ranking: simulated times of trials, and which model ranks.

One call of a model, and how much of it may be spent.

A machine names the model that each method follows on it (`Costs.model`); that one ranks unless
options name another. A pattern above `MAX_MESSAGES` is ranked by formula: the choice says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

from conset.base import UsageError
from conset.compilation.options import FORMULA, RANKING_MODELS, check_ranking
from conset.machine import Machine
from conset.models import Settings, Workload, find_model
from conset.pattern import Pattern
from conset.schedule import InFlight, Schedule

MAX_MESSAGES: Mapping[str, int] = MappingProxyType(dict.fromkeys(RANKING_MODELS, 1 << 17))
"""The most messages of a pattern that each model ranks, per unit of effort."""
SMALL = 1 << 13
"""Messages up to which every method is tried at many contentions.

More may be simulated of each.
"""

EQUAL = 1.02
"""Factor up to which two times are called equal: a model is not that exact."""
ERROR = 1.05
"""Factor up to which they are called equal on a machine whose numbers were measured."""
MODEL_ERRORS: Mapping[str, float] = MappingProxyType({"packet": 1.15})
"""The same for posting everything, by models that are less exact (docs/cost-model.md).

Beside other orders.
"""
SLACK = 1.05
"""Trials that take up to so many times the best are simulated to their end."""
BLOCKING = ("wormhole", "circuit", "packet")
"""Models in which a message that waits holds up others."""


@dataclass(frozen=True)
class Allowance:
    """Counted work that a search may spend per unit of effort.

    Attributes:
        each: for each message of a pattern.
        least: at least.
        most: at most, up to `SMALL` messages.
        large: at most, above; what a cache does not hold takes longer.
    """

    each: int
    least: int
    most: int
    large: int


HEADERS = Allowance(4_800, 5_000_000, 40_000_000, 40_000_000)
"""Most of the work is events."""
RATES = Allowance(16_000, 16_000_000, 64_000_000, 40_000_000)
"""Most work is visits to flows whose rates change.

Several of them take the time of one event.
"""
PACKETS = Allowance(400_000, 50_000_000, 200_000_000, 200_000_000)
"""All of the work is steps of packets, a hundred or so for a hop of a large message."""
ALLOWANCES: Mapping[str, Allowance] = MappingProxyType(
    {"flow": RATES, "wormhole": HEADERS, "circuit": HEADERS, "packet": PACKETS}
)


@dataclass(frozen=True)
class Outcome:
    """What a simulation came to.

    Attributes:
        time_s: when it ended [s]; infinite where it was stopped.
        work: what it took, counted.
        cut: whether it was stopped because its work exceeded what was allowed.
    """

    time_s: float
    work: int
    cut: bool = False


def ranking_of(machine: Machine, rank_by: str | None, method: str = "") -> str:
    """What ranks: what options name, else the machine's model of a method.

    Without one that of most methods.
    """
    return machine.costs_for(method).model if rank_by is None else rank_by


def require_affordable(pattern: Pattern, rank_by: str | None, effort: int = 1) -> None:
    """Raises `UsageError` as `check_ranking`.

    Or where a pattern is too large for the model that was asked for.
    """
    check_ranking(rank_by)
    if rank_by is None or is_affordable(pattern, rank_by, effort):
        return
    most = MAX_MESSAGES[rank_by] * effort
    able = [FORMULA, *(name for name in MAX_MESSAGES if is_affordable(pattern, name, effort))]
    raise UsageError(
        f"rank_by {rank_by}: at most {most:,} messages at effort {effort}, {pattern.name} has "
        f"{pattern.messages:,}; what ranks that many: {', '.join(able)}",
        options=["rank_by"],
    )


def is_affordable(pattern: Pattern, rank_by: str, effort: int) -> bool:
    """Whether a pattern is small enough to be ranked so."""
    return rank_by == FORMULA or pattern.messages <= MAX_MESSAGES[rank_by] * effort


def allowed_work(pattern: Pattern, model: str, effort: int) -> int:
    """Counted work of a model that a search over a pattern may spend."""
    allowance = ALLOWANCES[model]
    most = allowance.most if pattern.messages <= SMALL else allowance.large
    return effort * min(max(allowance.each * pattern.messages, allowance.least), most)


def end_time(workload: Workload, machine: Machine, settings: Settings, model: str) -> Outcome:
    """What a model says a workload takes, as `conset simulate` does.

    Raises:
        InputError: it has no room for its receives. NoScheduleError: it deadlocks.
    """
    timeline = find_model(model).simulate(workload, machine, settings)
    return Outcome(
        timeline.time_s, int(timeline.figures["work"]), bool(timeline.figures.get("cut", False))
    )


def settings_of(
    schedule: Schedule,
    sync: str,
    in_flight: InFlight | None,
    *,
    until_s: float = inf,
    max_work: int | None = None,
) -> Settings:
    """How a schedule is executed under a policy; `in_flight` None: the machine's number.

    Args:
        schedule: whose machine and method say what it costs.
        sync: the policy.
        in_flight: sends a rank keeps open at once.
        until_s: a simulation whose clock passes this ends without a time [s].
        max_work: so does one that takes more than this, counted.
    """
    costs = schedule.machine.costs_for(schedule.method)
    return Settings.of(costs, in_flight=in_flight, sync=sync, until_s=until_s, max_work=max_work)
