"""auto: the method, contention and synchronization with the least predicted time for a machine, and why.

Problem: which of all methods, at which contention, under which policy sends a pattern fastest on this machine?
Idea: try the methods of a literal list (`CANDIDATES`) as far as they are in the table and apply; predict each schedule
under the policies that can matter; take the least time. Among equals, which are frequent where the busiest port
decides, the one that takes the least with a barrier after every phase: it loses least when ranks wait for each other,
which the formulas without barriers leave out; then the fewest phases, then the order of the list.
Guarantee: never above what any candidate that was tried is predicted to take, under any policy that is allowed.
Stop: no schedule over the machine's routes is faster than its busiest port, node, link or message with every penalty
of contention left out. Where posting everything reaches that, nothing can be gained and nothing else is tried.
Complexity: of the methods tried; `Candidate.messages` bounds them by the size of the pattern, in messages and never in
seconds, so that the same input gives the same choice. Above 2^21 messages only methods that are O(messages) are left.
Ranked by a model, all of this is the first half: what formulas find best is simulated (`conset.choice.shortlist`), and
nothing stops early, as the formula of posting everything does not see it block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Protocol

from conset import _core
from conset.choice.candidates import LARGE, candidates, contentions
from conset.choice.shortlist import choose_simulated
from conset.choice.trial import FORMULA, SAME, Trial, best_of, best_policy
from conset.errors import ConsetError, InputError, NoScheduleError
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.prediction import predict
from conset.schedule.schedule import Schedule
from conset.units import format_time


class Make(Protocol):
    """Makes a schedule by a method of the table; a contention of None is what options ask for or the method's own."""

    def __call__(self, method: str, contention: int | None, effort: int) -> Schedule:
        """Raises `InputError` or `NoScheduleError` where the method does not apply."""


def choose_schedule(
    make: Make,
    pattern: Pattern,
    machine: Machine,
    *,
    sync: str | None = None,
    asked: bool = False,
    effort: int = 1,
    rank_by: str = FORMULA,
) -> Schedule:
    """The schedule with the least predicted or simulated time, its `reason` in one sentence.

    Args:
        make: compiles by one method.
        pattern: what is sent.
        machine: what it costs.
        sync: a policy that is fixed; None: the best.
        asked: whether options fix limits, so that no other contention is tried.
        effort: sweeps of search.
        rank_by: `formula`, or the model that simulates the best by formula, which must be one of
            `conset.choice.simulated.MOST`.

    Raises:
        ConsetError: no candidate applies; what the last one said, which takes the most.
    """
    if rank_by == FORMULA:
        floor = least_time(make, pattern, machine)
        return _chosen(_try_all(make, pattern, machine, sync=sync, asked=asked, effort=effort, floor=floor), floor)
    trials = _try_all(make, pattern, machine, sync=sync, asked=asked, effort=effort, floor=0.0)
    try:
        return choose_simulated(trials, rank_by, sync=sync, asked=asked, effort=effort)
    except KeyboardInterrupt:
        return _chosen(trials, 0.0)


def _try_all(
    make: Make, pattern: Pattern, machine: Machine, *, sync: str | None, asked: bool, effort: int, floor: float
) -> list[Trial]:
    """Every candidate under its best policy by formula; no more once one reaches `floor` [s] or a stop is asked for."""
    trials: list[Trial] = []
    error: ConsetError | None = None
    for candidate in candidates(pattern, machine, effort):
        for contention in (None,) if asked else contentions(candidate, pattern, machine):
            try:
                schedule = make(candidate.method, contention, effort - candidate.searches)
            except (InputError, NoScheduleError) as reason:
                error = reason
                break
            except KeyboardInterrupt:
                if not trials:
                    raise
                return trials  # the search was stopped: what was tried before counts
            trials.append(best_policy(schedule, sync, asked=asked))
            reached = trials[-1].fits and schedule.phases <= 1 and trials[-1].time_s <= floor * SAME
            if reached or _core.stop_asked():
                return trials
    if not trials:
        raise error or NoScheduleError(f"{pattern.name} on {machine.name}: no method applies")
    return trials


def least_time(make: Make, pattern: Pattern, machine: Machine) -> float:
    """No schedule over the machine's routes takes less [s]: the busiest resource without any loss by contention.

    Above `LARGE` messages the busiest port or node only, which need no routes. 0 where the pattern has an order or
    limits are asked for: then naive, which is what is measured, does not apply.
    """
    try:
        everything = make("naive", None, 0)
    except InputError:
        return 0.0
    least = []
    for costs in {id(costs): costs for costs in (machine.costs, *machine.method_costs.values())}.values():
        kind = replace(machine, costs=_without_loss(costs, routes=pattern.messages <= LARGE), method_costs={})
        if pattern.messages > LARGE and kind.topology.link_rate_Bps is not None:
            return 0.0
        least.append(predict(replace(everything, machine=kind), sync="none").time_s)
    return min(least)


def _without_loss(costs: Costs, *, routes: bool) -> Costs:
    """`costs` if contention were free, and every byte at a half-duplex node one of a synchronized exchange."""
    weight = costs.exchange_weight if costs.exchange_syncs else 1.0
    link = costs.link_Bps if routes else inf
    return replace(costs, blocking=0.0, node_Bps=costs.node_Bps / weight, exchange_syncs=(), link_Bps=link)


def _chosen(trials: Sequence[Trial], floor: float) -> Schedule:
    best = best_of(trials)
    return replace(best.ranked, reason=reason_of(best, trials, floor))


def reason_of(best: Trial, trials: Sequence[Trial], floor: float) -> str:
    """One sentence: what was chosen, its time, and what the next best and posting everything would take."""
    schedule, time = best.schedule, format_time(best.time_s)
    if not schedule.transfers:
        return "nothing is sent"
    posted = schedule.method == "naive" and schedule.sync == "none"
    if best.time_s <= floor * SAME:
        what = "post everything: nothing to gain" if posted else f"{best.words}: nothing can be faster"
        where = best.witness.partition(": ")[2]
        return f"{what}, any schedule takes {time} at {'the ' if where.startswith('port') else ''}{where}"
    others = [trial for trial in trials if trial.schedule.method != schedule.method]
    rival = min((t for t in others if t.fits), key=lambda trial: trial.time_s, default=None)
    what = "post everything: nothing to gain" if posted else f"{best.words} is predicted fastest"
    parts = [f"{what}, {time}"]
    if rival is not None:
        parts.append(f"against {format_time(rival.time_s)} by {rival.words}")
    naive = next((t for t in others if t.schedule.method == "naive"), None)
    if naive is not None and naive is not rival:
        crowded = "" if naive.fits else ", more receives than a node has room for"
        parts.append(f"and {format_time(naive.time_s)} by {naive.words}{crowded}")
    return " ".join(parts)
