"""Policies under which a schedule may run.

And which of them keep its limits while phases are in flight.

Every policy competes, with barriers after 1, 2, 4 … phases, and `detect` where it may gain; under
hard limits of the machine only the barrier after every phase, as the others let ranks be in
different phases at once. Limits that options ask for are limits of a phase: `keeps_in_flight` says
whether they also hold over what is in flight together, and the verdict repeats it.

Trial: a schedule under a policy with a number of sends in flight, and what it takes by formula or
by a model.

Ranking: simulated times of trials, and which model ranks.

One call of a model, and how much of it may be spent.

A machine names the model that each method follows on it (`Costs.model`); that one ranks unless
options name another. A pattern above `MAX_MESSAGES` is ranked by formula: the choice says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from types import MappingProxyType

import numpy as np

from conset import _core
from conset.base import Floats, Ints, UsageError
from conset.compilation.options import FORMULA, RANKING_MODELS, check_ranking
from conset.machine import GUESSED, PARAMETERS, Costs, Limits, Machine, redrawn, unsure
from conset.models import Settings, Workload, find_model, predict, times_with
from conset.pattern import Pattern
from conset.schedule import InFlight, Schedule, most_posted, parse_sync


def allowed_policies(schedule: Schedule) -> tuple[str, ...]:
    """The policies a schedule may run under, those without barriers first."""
    if schedule.machine.is_circuit:
        return ("none",)
    if schedule.phases and schedule.machine.switches_contexts(schedule.method):
        return ("barrier",)
    costs = schedule.machine.costs_for(schedule.method)
    # it adds copies to `none`: a gain only where receives, of which it posts none, are limited
    limited = costs.receives is not None or costs.outstanding_receives is not None
    detect = ("detect",) if limited and costs.copy_Bps < inf else ()
    if schedule.phases <= 1:
        return tuple(dict.fromkeys(("none", "ready", *costs.exchange_syncs, *detect)))
    if schedule.machine.hard_limits(schedule.method) != Limits():
        return ("barrier",)
    powers = (1 << k for k in range(schedule.phases.bit_length()) if 1 << k < schedule.phases)
    barriers = ("barrier" if k == 1 else f"barrier:{k}" for k in powers)
    return ("none", "local", "ready", *barriers, *detect)


def keeps_in_flight(schedule: Schedule, sync: str) -> bool:
    """Whether a phase's limits also hold over everything in flight at once under a policy.

    With a barrier after every phase they do. Under `ready` a rank is in one phase with all it sends
    and receives, which keeps limits on its ports, but not those on links or channels that several
    ranks share.
    """
    limits = schedule.limits
    if schedule.machine.is_circuit:  # the switches keep phases apart
        return True
    if schedule.phases <= 1 or limits == Limits() or sync == "barrier":
        return True
    links = bool(schedule.machine.topology.link_slots) and limits.link is not None
    return sync == "ready" and not links and limits.channels is None


def receives_fit(schedule: Schedule, sync: str) -> bool:
    """Whether no node posts more receives at once than the machine has room for.

    And, under `detect`, whether a system buffer holds every message.
    """
    costs = schedule.machine.costs_for(schedule.method)
    if sync == "detect":
        return not costs.unbuffered_B(schedule.size[schedule.source_node != schedule.target_node])
    room = costs.outstanding_receives
    if room is None or np.bincount(schedule.target_node).max(initial=0) <= room:
        return True
    posted, _ = most_posted(
        schedule.source_node, schedule.target_node, schedule.phase_of, parse_sync(sync)
    )
    return posted <= room


REL_TOL = 1 + 1e-9
"""Times closer than this are one time: sums in another order."""


def loses(machine: Machine, method: str) -> bool:
    """Whether links lose messages beyond their `tolerance`.

    Which the machine's model does not show: `flow` shares.
    """
    costs = machine.costs_for(method)
    return costs.model == "flow" and costs.blocking > 0


def loss_of(schedule: Schedule, sync: str) -> float:
    """What losses multiply the time of a schedule by.

    The formula with `blocking` over the formula without; 1: nothing.

    No model shows how messages are lost and sent again; the formula's loss was measured where the
    machine was. Under `local` and `ready` messages of two phases may meet, so half of the tolerance
    is left to each.
    """
    if not loses(schedule.machine, schedule.method) or schedule.machine.is_circuit:
        return 1.0
    costs = schedule.machine.costs_for(schedule.method)
    meet = 2 if parse_sync(sync).kind in ("local", "ready") else 1
    tolerance = max(costs.tolerance // meet, 1)
    fair_s, lossy_s = times_with(
        schedule,
        [(sync, replace(costs, blocking=0.0)), (sync, replace(costs, tolerance=tolerance))],
    )
    return lossy_s / fair_s if fair_s > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Base:
    """A schedule whose own policy does not count; what all its trials share."""

    schedule: Schedule

    @cached_property
    def workload(self) -> Workload:
        """What simulators play."""
        return Workload.of_schedule(self.schedule)

    def loss(self, sync: str) -> float:
        """`loss_of` under a policy, computed once."""
        if sync not in self._losses:
            self._losses[sync] = loss_of(self.schedule, sync)
        return self._losses[sync]

    @cached_property
    def _losses(self) -> dict[str, float]:
        return {}


@dataclass(frozen=True, eq=False)
class Trial:
    """A schedule under a policy.

    Attributes:
        base: the schedule.
        sync: the policy.
        in_flight: sends a rank keeps open at once; None: the machine's number.
        predicted_s: by formula [s].
        time_s: what it is ranked by [s]: as `predicted_s`, or simulated; infinite where that was
            stopped.
        rank_by: `formula`, or the model that simulates it.
    """

    base: Base
    sync: str
    in_flight: InFlight | None = None
    predicted_s: float = 0.0
    time_s: float = inf
    rank_by: str = FORMULA

    @property
    def posts_everything(self) -> bool:
        """Whether it is what a loop of non-blocking sends does.

        No phases, no policy, the machine's sends in flight.
        """
        schedule = self.base.schedule
        return (
            self.base.schedule.method == "naive"
            and self.sync == "none"
            and self.in_flight is None
            and schedule.posting == "schedule"
        )

    @property
    def description(self) -> str:
        """`bounded at contention 4 under local, 2 sends in flight`."""
        schedule = self.base.schedule
        order = "" if schedule.posting == "schedule" else f" {ORDER_NAMES[schedule.posting]}"
        if self.base.schedule.method == "naive" and self.sync == "none":
            return f"the naive exchange{order}{self._flight}"
        link = schedule.limits.link if schedule.machine.topology.link_slots else None
        at = "" if link is None else f" at contention {link}"
        return f"{schedule.method}{order}{at} under {self.sync}{self._flight}"

    @property
    def _flight(self) -> str:
        if self.in_flight is None:
            return ""
        return f", {self.in_flight} send{'' if self.in_flight == 1 else 's'} in flight"

    def drawn_s(self, draws: Ints, costs: Sequence[Costs]) -> Floats:
        """Its times with other costs, `costs[draw]` in each of some draws [s]."""
        schedule, known = self.base.schedule, self._drawn_s
        left = [draw for draw in draws.tolist() if draw not in known]
        own = schedule.machine.costs_for(schedule.method)
        cases = [(self.sync, each) for each in (own, *(costs[draw] for draw in left))]
        own_s, *times_s = times_with(self.to_schedule(), cases) if left else [0.0]
        for draw, time_s in zip(left, times_s, strict=True):
            known[draw] = self.time_s * time_s / (own_s or 1.0)
        return np.array([known[draw] for draw in draws.tolist()])

    @cached_property
    def _drawn_s(self) -> dict[int, float]:
        return {}

    def to_schedule(self) -> Schedule:
        """The schedule under its policy, with the model that ranked it and what that found."""
        simulated_s = None if self.rank_by == FORMULA else self.time_s
        schedule = replace(self.base.schedule, sync=self.sync, in_flight=self.in_flight)
        return schedule.with_report(rank_by=self.rank_by, simulated_s=simulated_s)


ORDER_NAMES = {
    "ascending": "in rank order",
    "rotated": "in rotated order",
    "random": "in random order",
    "longest-first": "longest first",
    "pairwise": "pair by pair",
    "dimension": "dimension by dimension",
}
"""Posting orders as a sentence names them."""


MAX_MESSAGES: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(RANKING_MODELS, _core.MOST_SIMULATED)
)
"""The most messages of a pattern that each model ranks, per unit of effort."""
EQUAL, ERROR, SLACK = _core.EQUAL, _core.ERROR, _core.SLACK
"""Factors up to which two times are called equal: by any model; by one whose numbers were measured.

Up to the third times the best, trials are simulated to their end.
"""
MODEL_ERRORS: Mapping[str, float] = MappingProxyType({"packet": _core.PACKET_ERROR})
"""As `ERROR`, for the naive exchange beside other orders, by models that are less exact.

`docs/cost-model.md`.
"""
BLOCKING = ("wormhole", "circuit", "packet")
"""Models in which a message that waits holds up others."""


DRAWS = 100
"""Of costs that may be wrong, in which a choice is compared again."""
UNSURE = {False: "within their intervals", True: "that were not given"}
"""Which costs these are, by whether they are guesses."""
FINALISTS = ((1 << 13, 4), (1 << 17, 2))
"""(messages, trials that are compared then up to so many); none above."""


def finalists(chosen: Trial, known: Iterable[Trial]) -> tuple[Trial, ...]:
    """The choice, the naive exchange and the best of other methods and policies, so far as known.

    As many as `FINALISTS` allows.

    Args:
        chosen: the trial.
        known: trials of the same pattern and machine that have a time.
    """
    kinds: dict[tuple[bool, str, str], Trial] = {}
    for trial in [chosen, *sorted(known, key=lambda t: (not t.posts_everything, t.time_s))]:
        kinds.setdefault((trial.posts_everything, trial.base.schedule.method, trial.sync), trial)
    return (*kinds.values(),)[
        : next((most for m, most in FINALISTS if chosen.base.schedule.transfers <= m), 0)
    ]


def fastest_in(trials: Sequence[Trial]) -> tuple[int, str]:
    """(in how many of `DRAWS` draws the first trial is still the fastest, of which costs).

    What is as near the least as it was, or `EQUAL`, is the fastest. A trial's time is its own times
    what the formula gives with drawn costs over what it gives without: every time and rate that may
    be wrong by a factor w (`Provenance`) is multiplied by exp(U(-ln w, ln w)), alike for all
    methods, and for direct messages and stages. The seed is the schedule's. Where every time is
    multiplied by some factor at least, so is the whole: a trial is not asked in draws in which it
    is slower than the first by that, nor where another is faster. O(draws · trials · formula).

    Args:
        trials: on one machine without circuit switches, of one pattern or of stages that send it.

    Returns:
        (0, "") where no cost may be wrong, or nothing is to be compared.
    """
    every = [trial.base.schedule.machine.costs_for(trial.base.schedule.method) for trial in trials]
    guessed = {origin.tag in GUESSED for costs in every for origin in unsure(costs).values()}
    if len(trials) < 2 or not guessed:
        return 0, ""
    seed, shape = trials[0].base.schedule.manifest.seed, (DRAWS, len(PARAMETERS))
    exponents = np.random.default_rng(seed).uniform(-1, 1, shape).tolist()
    drawn = {
        key: [*zip(*(redrawn(costs, row) for row in exponents), strict=True)]
        for key, costs in {id(costs): costs for costs in every}.items()
    }
    least_s = min(trial.time_s for trial in trials)
    near_s = max(trials[0].time_s, EQUAL * least_s) * REL_TOL
    draws = np.arange(DRAWS)  # in which nothing was faster so far
    own_s = trials[0].drawn_s(draws, drawn[id(every[0])][0])
    others = zip(trials[1:], every[1:], strict=True)
    for trial, costs in sorted(others, key=lambda other: other[0].base.schedule.transfers):
        changed, least = drawn[id(costs)]
        least_drawn_s = trial.time_s / REL_TOL * np.array(least)
        asked = draws[own_s[draws] * least_s > near_s * least_drawn_s[draws]]
        faster = own_s[asked] * least_s > near_s * trial.drawn_s(asked, changed)
        draws = np.setdiff1d(draws, asked[faster])
    return len(draws), "costs " + " or ".join(UNSURE[each] for each in sorted(guessed))


def shares_rates(schedule: Schedule) -> bool:
    """Whether bytes share rates and nothing else.

    No slots, processors or receives take messages one by one: under `none` all is in flight at
    once, as with the naive exchange.
    """
    costs = schedule.machine.costs_for(schedule.method)
    limited = costs.in_flight is not None or costs.receives is not None
    packs = schedule.pattern.packed is not None and costs.copy_Bps < inf
    worked = costs.has_overheads or costs.setup_s > 0 or costs.eager_B is not None or packs
    whole = schedule.parts is None and schedule.route_offsets is None
    return whole and not schedule.machine.method_costs and not (limited or worked)


def floor_s(naive: Schedule) -> float:
    """What no schedule takes less than on the machine of one that posts everything [s].

    By formula everything at once is busy for work that has to be done. What depends on an order
    is left out: slots, losses, exchanges that meet; links too where messages may take other routes.
    """
    machine = naive.machine
    fixed = machine.limits.channels is None and machine.routing.is_known
    topology = machine.topology if fixed else replace(machine.topology, link_rate_Bps=None)

    def least(costs: Costs) -> float:
        free = replace(
            costs,
            in_flight=None,
            blocking=0.0,
            node_Bps=costs.node_Bps / costs.exchange_weight,
            exchange_weight=1.0,
            link_Bps=costs.link_Bps if fixed else inf,
        )
        on = replace(machine, topology=topology, costs=free, method_costs={})
        return predict(replace(naive, machine=on), sync="none").time_s

    return min(least(costs) for costs in (machine.costs, *machine.method_costs.values()))


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
    return _core.allowed_work(pattern.messages, model, effort)


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
