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
Policies that cannot win by the formulas (`conset.prediction.policies`) are not predicted:
- `none` over several phases is what posting everything takes, plus set-ups;
- `barrier` is `local` plus what it waits: the sum of maxima is no less than the maximum of sums;
- `barrier:k` lets k phases contend: no less than `local` again. Its place is the contention curve of `compare`;
- `ready` is `local` plus signals;
except where the machine counts exchanges under one of them only, and where limits must be kept: `local` lets ranks
drift apart. So asked limits on ports allow `ready` and `barrier`, asked limits on links or channels `barrier` alone,
and so do hard limits of the machine, but for methods that run another way there.
A policy that posts more receives at once than the machine has room for is taken only where none else is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from conset.errors import ConsetError, InputError, NoScheduleError
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.methods.table import table
from conset.pattern.pattern import Pattern
from conset.prediction import predict
from conset.schedule.schedule import Schedule
from conset.units import format_time

SAME = 1 + 1e-9
"""Times closer than this are one time: sums in another order."""
LARGE = 1 << 17
"""Messages above which a prediction takes a noticeable part of a second."""


@dataclass(frozen=True)
class Candidate:
    """A method that is worth a try.

    Attributes:
        method: its name in the table; skipped where the table has no such row.
        messages: most messages of a pattern it is tried on, per unit of effort; None: any number.
        ladder: whether many limits of links are tried, unless options ask for one; else at most two.
        when: what the pattern or machine must have for a gain over the others.
        searches: whether effort is for searching beyond a construction, which the first unit leaves out.
    """

    method: str
    messages: int | None = None
    ladder: bool = False
    when: Callable[[Pattern, Machine], bool] = lambda pattern, machine: True
    searches: bool = False


def _is_complete(pattern: Pattern, machine: Machine) -> bool:
    return pattern.messages == pattern.ranks * (pattern.ranks - 1)


def _is_no_power_of_two(pattern: Pattern, machine: Machine) -> bool:
    return pattern.ranks & (pattern.ranks - 1) != 0


def _is_unequal(pattern: Pattern, machine: Machine) -> bool:
    return not pattern.equal_sizes


def _is_half_duplex(pattern: Pattern, machine: Machine) -> bool:
    return machine.costs.half_duplex


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("naive"),
    Candidate("lp"),
    Candidate("gen"),
    Candidate("bounded", ladder=True, when=_is_complete, searches=True),
    Candidate("pex-gen-shift", LARGE, when=_is_no_power_of_two),
    Candidate("coloring", 1 << 21),
    Candidate("rs-n", LARGE),
    Candidate("first-fit", LARGE),
    Candidate("rs-nl", 1 << 14),
    Candidate("half-duplex", 512, when=_is_half_duplex),
    Candidate("decreasing", 4096, when=_is_unequal),
    Candidate("event-list", 4096, when=_is_unequal),
    Candidate("birkhoff", 1024, when=_is_unequal),
    Candidate("negotiated", 512),
    Candidate("connections", 512, when=lambda pattern, machine: machine.limits.channels is not None),
)
"""What is tried, cheap ones first. pex and pex-gen make the phases of lp, scott those of bounded at contention 1."""


class Make(Protocol):
    """Makes a schedule by a method of the table; a contention of None is what options ask for or the method's own."""

    def __call__(self, method: str, contention: int | None, effort: int) -> Schedule:
        """Raises `InputError` or `NoScheduleError` where the method does not apply."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A schedule under its best policy.

    Attributes:
        schedule: with that policy as its `sync`.
        time_s: predicted.
        fits: whether every node has room for the receives it posts.
        witness: what is busiest.
    """

    schedule: Schedule
    time_s: float
    fits: bool
    witness: str

    @property
    def words(self) -> str:
        """`bounded at contention 4 under local`."""
        schedule = self.schedule
        if schedule.method == "naive" and schedule.sync == "none":
            return "posting everything"
        link = schedule.limits.link if schedule.machine.topology.link_slots else None
        return f"{schedule.method}{'' if link is None else f' at contention {link}'} under {schedule.sync}"


def choose_schedule(
    make: Make, pattern: Pattern, machine: Machine, *, sync: str | None = None, asked: bool = False, effort: int = 1
) -> Schedule:
    """The schedule with the least predicted time, its `reason` in one sentence.

    Args:
        make: compiles by one method.
        pattern: what is sent.
        machine: what it costs.
        sync: a policy that is fixed; None: the best.
        asked: whether options fix limits, so that no other contention is tried.
        effort: sweeps of search.

    Raises:
        ConsetError: no candidate applies; what the last one said, which takes the most.
    """
    trials: list[Trial] = []
    error: ConsetError | None = None
    floor = least_time(make, pattern, machine)
    for candidate in candidates(pattern, machine, effort):
        for contention in (None,) if asked else contentions(candidate, pattern, machine):
            try:
                schedule = make(candidate.method, contention, effort - candidate.searches)
            except (InputError, NoScheduleError) as reason:
                error = reason
                break
            trials.append(best_policy(schedule, sync, asked=asked))
            if trials[-1].fits and schedule.phases <= 1 and trials[-1].time_s <= floor * SAME:
                return _chosen(trials, floor)
    if not trials:
        raise error or NoScheduleError(f"{pattern.name} on {machine.name}: no method applies")
    return _chosen(trials, floor)


def candidates(pattern: Pattern, machine: Machine, effort: int) -> Iterator[Candidate]:
    """The candidates that are in the table, affordable, and may gain something."""
    known = table()
    for candidate in CANDIDATES:
        affordable = candidate.messages is None or pattern.messages <= candidate.messages * effort
        if candidate.method in known and affordable and candidate.when(pattern, machine):
            yield candidate


def contentions(candidate: Candidate, pattern: Pattern, machine: Machine) -> tuple[int | None, ...]:
    """Limits of links worth a try; None is the method's own.

    All methods that keep any: their own, and what links carry without harm. A ladder, on a box: powers of two up to a
    quarter of the longest side, where a complete exchange needs no more phases than ports do.
    """
    topology = machine.topology
    if not topology.link_slots or "link" not in table()[candidate.method].honours:
        return (None,)
    harmless = machine.costs.tolerance
    if not candidate.ladder or not topology.is_box:
        return (None, harmless) if harmless > 1 else (None,)
    most = -(-max(topology.sides) // 4)
    powers = [1 << k for k in reversed(range(most.bit_length())) if 1 << k < most and pattern.messages <= LARGE]
    return tuple(dict.fromkeys((most, *powers, min(harmless, most))))


def least_time(make: Make, pattern: Pattern, machine: Machine) -> float:
    """No schedule over the machine's routes takes less [s]: the busiest resource without any loss by contention.

    0 where the pattern has an order: then naive, which is what is measured, does not apply.
    """
    try:
        everything = make("naive", None, 0)
    except InputError:
        return 0.0
    least = []
    for costs in {id(costs): costs for costs in (machine.costs, *machine.method_costs.values())}.values():
        # at best every byte at a half-duplex node is one of a synchronized exchange
        weight = costs.exchange_weight if costs.exchange_syncs else 1.0
        ideal = replace(costs, blocking=0.0, node_Bps=costs.node_Bps / weight, exchange_syncs=())
        kind = replace(machine, costs=ideal, method_costs={})
        least.append(predict(replace(everything, machine=kind), sync="none").time_s)
    return min(least)


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
    return _best(trials)


def policies(schedule: Schedule, *, asked: bool) -> tuple[str, ...]:
    """The policies that may be the fastest while they keep what must be kept; see the head."""
    machine = schedule.machine
    costs, limits = machine.costs_for(schedule.method), schedule.limits
    hard = machine.limits != Limits() and schedule.method not in machine.method_costs
    counted = set(costs.exchange_syncs)
    if schedule.phases > 1 and (asked or hard):
        links = machine.topology.link_slots and limits.link is not None
        if hard or links or limits.channels is not None:
            return ("barrier",)
        if limits != Limits():
            return ("ready", "barrier")
    first = "none" if schedule.phases <= 1 else "local"
    others = () if "local" in counted and first == "local" else ("local", "ready", "barrier")
    return (first, *(policy for policy in others if policy in counted))


def receives_fit(schedule: Schedule, policy: str) -> bool:
    """Whether no node posts more receives at once than the machine has room for."""
    room = schedule.machine.costs_for(schedule.method).outstanding_receives
    if room is None or not schedule.transfers:
        return True
    if policy == "none" or schedule.phases <= 1:
        return int(np.bincount(schedule.target_node).max()) <= room
    if schedule.limits.receive is not None:
        return schedule.limits.receive <= room
    nodes = schedule.machine.topology.nodes
    key = schedule.phase_of.astype(np.int64) * nodes + schedule.target_node
    return int(np.unique(key, return_counts=True)[1].max()) <= room


def _best(trials: Sequence[Trial]) -> Trial:
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


def _chosen(trials: Sequence[Trial], floor: float) -> Schedule:
    best = _best(trials)
    return replace(best.schedule, reason=reason_of(best, trials, floor))


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
