"""auto: the method and parameters with the least time for a machine, and why.

The choice is made in the core (`cpp/include/conset/compilation/choice.hpp`), for the C interface
and run-time scheduling too. Here is what it asks for: schedules, made by whatever methods Python
has, their predicted and their simulated times (`Evaluator`).

Losses: where links lose messages beyond their `tolerance` (`flow` with `blocking`) the formula's
loss multiplies what the model says of a trial.

The policy alone: a schedule that is made, under the policy with the least time by formula or by a
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from math import inf
from typing import Any, Protocol

import numpy as np

from conset import _core
from conset.base import (
    ConsetError,
    InputError,
    NoScheduleError,
    Work,
    counted,
    format_time,
    work,
    workers,
)
from conset.bounds import Bounds, bound
from conset.compilation.options import CompileOptions, effective_limits
from conset.compilation.trial import (
    MAX_MESSAGES,
    Base,
    Outcome,
    Trial,
    allowed_policies,
    end_time,
    floor_s,
    ranking_of,
    receives_fit,
    settings_of,
    shares_rates,
)
from conset.compilation.verdict import Verdict, verdict_of
from conset.machine import Limits, Machine, synchronization_s
from conset.methods import find_method
from conset.models import times_with
from conset.pattern import Pattern
from conset.schedule import ORDERS, Schedule, order_messages, phase_loads

FEW, THREADS = 1 << 13, 2
"""Messages up to which one thread is the fastest; threads above.

Taking turns at short simulations costs two threads a sixth of their time.
"""
_STAGES = 5
"""Of a choice, of the same order of length: candidates are made.

The first, what is left, then variants of the best are tried; other models are asked.
"""


class Make(Protocol):
    """Makes a schedule by a method of the table.

    A contention of None is what options ask for or the method's own.
    """

    def __call__(self, method: str, contention: int | None, effort: int) -> Schedule:
        """Raises `InputError` or `NoScheduleError` where the method does not apply."""


Refuse = Callable[[str], str | None]
"""Why a method does not apply, in one line; None where it does."""


def refuse_nothing(method: str) -> None:
    """Every method is tried."""


def choose_schedule(
    make: Make,
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions | None = None,
    *,
    refuse: Refuse = refuse_nothing,
    threads: int | None = None,
    beat_s: float = inf,
    rival_s: float = inf,
    compared: bool = True,
) -> Schedule:
    """The schedule with the least simulated or predicted time, with the verdict on it.

    Args:
        make: compiles by one method.
        pattern: what is sent.
        machine: what it costs.
        options: what a user asked for: a policy that is fixed; limits, which leave no other
            contention to try; effort, which multiplies what may be simulated and sweeps; what
            ranks; with the objective `phases` only schedules with the fewest phases are chosen
            from, of these with the least sum of loads.
        refuse: says of a method why it does not apply, before it is made.
        threads: how many work at once, None: by the number of messages; the choice does not
            depend on it.
        beat_s: the time of another schedule by the same model; simulations that pass it end [s].
        rival_s: the same, where the best is wanted even if it takes longer: a search ends early
            that is far from it [s].
        compared: whether the choice is compared again where costs may be wrong; never beside
            another schedule.

    Raises:
        ConsetError: no candidate applies; what the last one said.
        NoScheduleError: none can be simulated; what the last one said. None takes less than
            `beat_s`.
        KeyboardInterrupt: stopped before there was anything to choose from.
    """
    options = options or CompileOptions()
    question = _question_of(pattern, machine, options, beat_s, rival_s)
    if threads is None:  # beside a rival it ends early; what takes long is to be stopped
        short = pattern.messages <= FEW or rival_s < inf
        threads = 1 if short and options.effort == 1 else THREADS
    with applied(threads) as apply, work(_STAGES) as stages:
        evaluator = Evaluator(make, pattern, machine, options, refuse, apply, stages)
        choice = _core.choose_schedule(evaluator, question)
    model = ranking_of(machine, options.rank_by)
    if choice.failed == "none faster":
        raise NoScheduleError(f"no trial takes less than {format_time(beat_s)}")
    if choice.failed == "no simulation":
        raise NoScheduleError(
            f"none of the {choice.tried} trials can be simulated by {model}: {evaluator.reason}"
        )
    if choice.failed:
        raise evaluator.reason or NoScheduleError(
            f"{pattern.name} on {machine.name}: no method applies"
        )
    return _verdict(
        choice,
        evaluator,
        model,
        user_limits=options.has_user_limits,
        compared=compared and beat_s == rival_s == inf,  # beside another it has not won yet
    ).to_schedule()


def _verdict(
    choice: _core.Decision,
    evaluator: Evaluator,
    model: str,
    *,
    user_limits: bool,
    compared: bool,
    rival: str = "method",
) -> Verdict:
    def trial(found: _core.Trial) -> Trial:
        return Trial(
            evaluator.bases[choice.base_of(found)],
            found.sync,
            found.in_flight or None,
            found.predicted_s,
            found.time_s,
            found.model,
        )

    return verdict_of(
        choice,
        trial,
        model,
        evaluator.options.effort,
        evaluator.pattern,
        user_limits=user_limits,
        compared=compared
        and evaluator.options.objective != "phases"
        and not evaluator.machine.is_circuit,
        rival=rival,
    )


def _question_of(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    beat_s: float = inf,
    rival_s: float = inf,
) -> _core.Question:
    model = ranking_of(machine, options.rank_by)
    return _core.Question(
        situation=situation_of(pattern, machine),
        rank_by=options.rank_by or "",
        model=machine.costs.model,
        models=list(machine.models),
        effort=options.effort,
        most_simulated=MAX_MESSAGES.get(model, 0),
        sync=options.policy or "",
        limits_given=options.has_user_limits,
        fewest_phases=options.objective == "phases",
        hashed=machine.routing.knowledge == "hashed",
        adaptive=machine.routing.knowledge == "adaptive",
        beat_s=beat_s,
        rival_s=rival_s,
    )


def situation_of(pattern: Pattern, machine: Machine) -> _core.Situation:
    """What the choice of candidates looks at."""
    topology, costs = machine.topology, machine.costs
    return _core.Situation(
        ranks=pattern.ranks,
        messages=pattern.messages,
        equal_sizes=pattern.equal_sizes,
        half_duplex=costs.half_duplex,
        channels=machine.limits.channels is not None,
        routes_known=machine.routing.is_known,
        has_links=bool(topology.link_slots),
        sides=list(topology.sides) if topology.is_box else [],
        tolerance=costs.tolerance,
    )


Apply = Callable[[Callable[..., Any], Sequence[Any]], Iterator[Any]]
"""As `map`."""


@contextmanager
def applied(threads: int) -> Iterator[Apply]:
    """`map`, by so many threads."""
    if threads == 1:
        yield map
        return
    with workers(threads) as executor:
        yield executor.map


class Evaluator:
    """What the chooser of the core asks for.

    Attributes:
        bases: what was made, by the number that the core knows it by.
        reason: why the last method does not apply, or the last trial cannot be simulated.
    """

    def __init__(
        self,
        make: Make | None,
        pattern: Pattern,
        machine: Machine,
        options: CompileOptions,
        refuse: Refuse,
        apply: Apply,
        stages: Work,
    ) -> None:
        self._make, self.pattern, self.machine, self.options = make, pattern, machine, options
        self._refuse, self._apply, self._stages = refuse, apply, stages
        self.bases: list[Base] = []
        self.reason: ConsetError | None = None
        self._refusals: dict[str, str | None] = {}

    def describe(self, schedule: Schedule) -> _core.TrialBase:
        """Keeps a schedule; what the chooser knows of it."""
        machine, method = schedule.machine, schedule.method
        costs = machine.costs_for(method)
        plain = (
            schedule.route_offsets is None and schedule.parts is None and schedule.timetable is None
        )
        digest = blake2b(schedule.phase_offsets.tobytes() + schedule.message.tobytes())
        most = int(np.bincount(schedule.pattern.source).max(initial=0))
        # messages inside a node do not count, and limits of a timetable hold by its times
        apart = (schedule.source_node != schedule.target_node).all() and schedule.timetable is None
        self.bases.append(Base(schedule))
        return _core.TrialBase(
            id=len(self.bases) - 1,
            method=method,
            model=costs.model,
            key=f"{id(costs)} {digest.hexdigest()}" if plain else str(len(self.bases)),
            policies=list(allowed_policies(schedule)),
            phases=schedule.phases,
            transfers=schedule.transfers,
            most_in_flight=most if costs.in_flight is None else min(costs.in_flight, most),
            send_limit=(schedule.limits.send or 0) if apart else 0,
            barrier_s=synchronization_s(machine, costs),
            load=phase_loads(schedule).total if self.options.objective == "phases" else 0.0,
            shares=shares_rates(schedule),
            measured=costs.is_measured,
            posting=schedule.posting,
        )

    def make(self, attempts: list[tuple[str, int, int]]) -> list[_core.TrialBase | None]:
        """A schedule of every attempt that applies: (method, contention or 0, sweeps)."""
        found: list[_core.TrialBase | None] = [None] * len(attempts)
        results = self._apply(lambda attempt: self._attempt(*attempt), attempts)
        try:
            for k in counted(range(len(attempts))):
                if self.bases and _core.stop_asked():
                    break
                made = next(results)
                if isinstance(made, Schedule):
                    found[k] = self.describe(made)
                else:
                    self.reason = made
        except KeyboardInterrupt:
            if not self.bases:
                raise
        return found

    def _attempt(self, method: str, contention: int, effort: int) -> Schedule | ConsetError:
        if method != "naive":
            if method not in self._refusals:
                self._refusals[method] = self._refuse(method)
            if refusal := self._refusals[method]:
                return InputError(refusal)
        assert self._make is not None
        try:
            return self._make(method, contention or None, effort)
        except (InputError, NoScheduleError) as reason:
            return reason

    def orders(self, naive: int) -> list[_core.TrialBase]:
        """Everything at once in the other orders of posting, stage by stage of a program."""
        schedule = self.bases[naive].schedule
        pattern, seed = schedule.pattern, schedule.manifest.seed
        phase = np.empty(pattern.messages, np.int32)
        phase[schedule.message] = schedule.phase_of
        made = []
        for name in ORDERS:
            order = order_messages(pattern, name, seed)
            order = order[np.argsort(phase[order], kind="stable")]
            made.append(self.describe(replace(schedule, message=order, posting=name)))
        return made

    def predict(self, trials: list[tuple[int, str]]) -> list[tuple[float, bool]]:
        """(time by formula [s], whether its receives fit) of schedules under policies.

        Fewer than that where a stop was asked.
        """

        def of_base(trials: Sequence[tuple[int, str]]) -> list[tuple[float, bool]]:
            schedule, policies = self.bases[trials[0][0]].schedule, [sync for _, sync in trials]
            costs = schedule.machine.costs_for(schedule.method)
            cases = [(sync, costs) for sync in policies]
            times = times_with(schedule, cases, latest_ends=True)
            return [
                (time_s, receives_fit(schedule, sync))
                for time_s, sync in zip(times, policies, strict=True)
            ]

        found: list[tuple[float, bool]] = []
        groups = [list(group) for _, group in groupby(trials, key=lambda trial: trial[0])]
        for times in self._apply(of_base, groups):
            found += times
            if _core.stop_asked():
                break
        return found

    def simulate(
        self, trials: list[tuple[int, str, int, str]], until_s: float, max_work: int
    ) -> list[tuple[float, int, bool, str]]:
        """(time [s], counted work, whether that was cut, why not) of trials by their models.

        Args:
            trials: schedule, policy, sends in flight (0: the machine's number), model.
            until_s: a simulation whose clock passes this ends without a time [s].
            max_work: of one trial.
        """

        def play(trial: tuple[int, str, int, str]) -> Outcome | InputError | NoScheduleError:
            number, sync, in_flight, model = trial
            base = self.bases[number]
            loss = base.loss(sync) if model == "flow" else 1.0
            settings = settings_of(
                base.schedule, sync, in_flight or None, until_s=until_s / loss, max_work=max_work
            )
            try:
                outcome = end_time(base.workload, base.schedule.machine, settings, model)
            except (InputError, NoScheduleError) as reason:
                return reason
            return replace(outcome, time_s=outcome.time_s * loss)

        found = []
        for outcome in list(self._apply(play, trials)):
            if isinstance(outcome, Outcome):
                found.append((outcome.time_s, outcome.work, outcome.cut, ""))
            else:
                self.reason = outcome
                deadlocks = isinstance(outcome, NoScheduleError)
                found.append((inf, 0, False, "deadlock" if deadlocks else "room"))
        return found

    def floor_s(self, naive: int) -> float:
        """What no schedule takes less than [s]."""
        schedule = self.bases[naive].schedule
        if self.pattern.before is None:
            return floor_s(schedule)
        return least_bounds(self.pattern, self.machine, schedule).time_s  # the formula sees waits

    def crowding(self, naive: int) -> float:
        """The most messages of a link over the most of a port, of everything at once."""
        loads = phase_loads(self.bases[naive].schedule)
        ports = max(int(loads.send.max(initial=0)), int(loads.receive.max(initial=0)), 1)
        return int(loads.link.max(initial=0)) / ports

    def least_phases(self, like: int) -> int:
        """Phases that no candidate has fewer of: what the loosest of their limits need."""
        kept: set[Limits] = set()
        for name in dict.fromkeys(candidate for candidate, _ in _core.candidates()):
            with suppress(InputError):
                kept.add(effective_limits(find_method(name), self.machine, self.options)[0])
        # `connections` chooses routes unasked
        free = self.options.routes == "free" or self.machine.limits.channels is not None
        return min(
            bound(
                self.pattern,
                self.machine,
                limits,
                placement=self.bases[like].schedule.placement,
                routes="free" if free else "fixed",
            ).phases
            for limits in kept
        )

    def progress(self, stages: float) -> None:
        """Hears how far the choice is."""
        self._stages.done = stages


def least_bounds(pattern: Pattern, machine: Machine, like: Schedule) -> Bounds:
    """What no schedule takes less time than, whatever its method, policy, order and limits.

    With the placement of `like`; over the machine's routes, unless `like` chooses its own.
    """
    # only `connections` chooses routes unasked, and only there is it tried
    free = machine.limits.channels is not None or like.route_offsets is not None
    found = [
        bound(
            pattern,
            machine,
            Limits(),
            placement=like.placement,
            sync=sync,
            routes="free" if free else "fixed",
            split=True,
            method=method,
        )
        for method in ("", *machine.method_costs)
        for sync in dict.fromkeys(("none", *machine.costs_for(method).exchange_syncs))
    ]
    return min(found, key=lambda bounds: bounds.time_s)


def contentions(method: str, pattern: Pattern, machine: Machine) -> tuple[int | None, ...]:
    """Limits of links at which `auto` tries a method; None is its own."""
    links = _core.contentions(method, situation_of(pattern, machine), 0.0)
    return tuple(link or None for link in links)


def sweeps_link_limit(method: str) -> bool:
    """Whether phases of a method grow fewer up to a quarter of the longest side of a box.

    And no further.
    """
    return dict(_core.candidates()).get(method, False)


def candidates(pattern: Pattern, machine: Machine, effort: int) -> list[str]:
    """The methods that `auto` tries on a pattern: affordable, and they may gain something."""
    situation = situation_of(pattern, machine)
    return [name for name, _ in _core.candidates() if situation.applies(name, effort)]


def choose_policy(
    schedule: Schedule, *, rank_by: str | None = None, effort: int = 1, compared: bool = True
) -> Schedule:
    """The schedule under its fastest policy, with the verdict on it.

    Args:
        schedule: its own policy does not count.
        rank_by: `formula` or a model; None: the machine's model, or the formula where the pattern
            is too large.
        effort: multiplies what may be simulated.
        compared: whether the policies are compared again where costs may be wrong.

    Raises:
        InputError: it has no room for its receives under any policy. NoScheduleError: it deadlocks
            under all.
    """
    return _policy_verdict(schedule, None, rank_by, effort, compared=compared).to_schedule()


def under_policy(schedule: Schedule, options: CompileOptions) -> Schedule:
    """What a named method made, under the policy of the options, or else its fastest.

    Without `sync` it keeps its own where the method's row fixes that, where it may run under no
    other, after a stop, and where none can be simulated; its reason says so then.

    Raises:
        InputError, NoScheduleError: as `choose_policy`, where `sync` is `auto`.
    """
    if options.policy is not None:
        return replace(schedule, sync=options.policy)
    own = options.sync is None
    settled = find_method(schedule.method).sync or len(allowed_policies(schedule)) == 1
    if own and (settled or _core.stop_asked()):
        return schedule
    try:
        return choose_policy(
            schedule, rank_by=options.rank_by, effort=options.effort, compared=not own
        )
    except (InputError, NoScheduleError) as error:
        if not own:
            raise
        return schedule.with_report(reason=f"sync {schedule.sync} was not chosen: {error}")


def best_trial(
    schedule: Schedule, sync: str | None = None, *, rank_by: str | None = None, effort: int = 1
) -> Trial:
    """The schedule under its fastest policy, or under `sync`.

    Arguments and errors as `choose_policy`.
    """
    return _policy_verdict(schedule, sync, rank_by, effort).chosen


def _policy_verdict(
    schedule: Schedule,
    sync: str | None,
    rank_by: str | None,
    effort: int,
    *,
    compared: bool = False,
) -> Verdict:
    pattern, machine = schedule.pattern, schedule.machine
    options = CompileOptions(sync=sync, rank_by=rank_by, effort=effort)
    with applied(THREADS if pattern.messages > FEW else 1) as apply, work(1) as stages:
        evaluator = Evaluator(None, pattern, machine, options, refuse_nothing, apply, stages)
        base = evaluator.describe(schedule)
        choice = _core.choose_policy(evaluator, _question_of(pattern, machine, options), base)
    if choice.failed:
        raise (choice.failed == "no simulation" and evaluator.reason) or NoScheduleError(
            f"{pattern.name}: no policy to simulate within {choice.allowed:,} steps"
        )
    model = ranking_of(machine, rank_by, schedule.method)
    return _verdict(
        choice,
        evaluator,
        model,
        user_limits=schedule.limits_asked,
        compared=compared,
        rival="policy",
    )
