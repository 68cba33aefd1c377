"""auto: the method and parameters with the least time for a machine, and why.

Parameters: contention, policy, sends in flight and posting order.

Problem: which of all methods, at which contention, under which policy, with how many sends in
flight and in which order sends a pattern fastest on this machine?
Idea: the machine's model decides. What the naive exchange takes is simulated first, to its end, and
is kept until a trial is faster. Then the methods of a literal list (`CANDIDATES`), as far as they
are in the table and apply, each at several contentions and under every policy, and posting
everything in several orders, ordered by formula (`Search`); then the best of them with fewer sends
in flight. Of trials that the model can hardly tell apart the one that needs the least to go as
simulated is taken (`robust_choice`).
Guarantee: not slower by the deciding model than the naive exchange, nor than any trial that was
simulated; where the machine's numbers were measured (`is_measured`), by no more than
`error_of` its model: there the naive exchange is kept.
Losses: where links lose messages beyond their `tolerance` (`flow` with `blocking`) the formula's
loss multiplies what the model says of a trial.
Stop: where the best is what no schedule over the machine's routes can beat (`conset.bounds`),
nothing else is tried. Effort is counted in work of the models and bounded by the size of the
pattern, never timed, so that the same input gives the same choice. Above `MAX_MESSAGES` the formula
is used instead. The verdict states that, and what was left out.
By formula: every trial is predicted. Among equals, which are frequent where the busiest port
decides, the one that takes the least with a barrier after every phase; then the fewest phases, then
the order of the list.

The policy alone: a schedule that is made, under the policy with the least time by formula or by a
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from math import inf

from conset import _core
from conset.base import InputError, NoScheduleError, Work, format_time, work, workers
from conset.bounds import bound
from conset.compilation.candidates import (
    CANDIDATES,
    Make,
    Refuse,
    make_naive,
    make_others,
    naive_orders,
    refuse_nothing,
)
from conset.compilation.options import FORMULA, CompileOptions, effective_limits
from conset.compilation.search import (
    FIRST_SHARE,
    POSTED_SHARE,
    THREADS,
    Search,
    all_trials,
    corrected_trials,
    first_trials,
    is_as_posted,
    least_bounds,
    refined_trials,
    robust_choice,
    robust_trials,
    second_trials,
)
from conset.compilation.trial import (
    EQUAL,
    MAX_MESSAGES,
    REL_TOL,
    SLACK,
    Base,
    Trial,
    allowed_policies,
    allowed_work,
    best_of,
    is_affordable,
    predicted_trials,
    ranking_of,
)
from conset.compilation.verdict import Verdict, verdict_by_formula, verdict_by_model
from conset.machine import Limits, Machine
from conset.methods import LARGE, find_method
from conset.pattern import Pattern
from conset.schedule import Schedule, phase_loads


def choose_schedule(
    make: Make,
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions | None = None,
    *,
    refuse: Refuse = refuse_nothing,
    threads: int = THREADS,
    beat_s: float = inf,
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
        threads: how many work at once; the choice does not depend on it.
        beat_s: the time of another schedule by the same model; simulations that pass it end [s].

    Raises:
        ConsetError: no candidate applies; what the last one said.
        NoScheduleError: none can be simulated; what the last one said. None takes less than
            `beat_s`.
        KeyboardInterrupt: stopped before there was anything to choose from.
    """
    options = options or CompileOptions()
    model, stands_in = ranking_of(machine, options.rank_by), ""
    if not is_affordable(pattern, model, options.effort):
        stands_in = (
            f"the formula is used instead of {model} above "
            f"{MAX_MESSAGES[model] * options.effort:,} messages"
        )
        model = FORMULA
    with workers(threads) as executor:
        maker = _Maker(make, pattern, machine, options, refuse, executor)
        if options.objective == "phases":
            maker.keep_fewest_phases()
        if model == FORMULA:
            return _choose_by_formula(maker, stands_in).to_schedule()
        with work(_STAGES) as stages:
            return _choose_by_model(maker, model, stages, beat_s).to_schedule()


PHASES_EFFORT = 4
"""Factor of the effort, and of the messages per unit of it, where phases are the objective.

Only schedules with the fewest phases are simulated, so there is time to search for them. The naive
exchange has one phase: where it applies, there is nothing to search for.
"""


class _Maker:
    """What makes the schedules of a choice."""

    def __init__(
        self,
        make: Make,
        pattern: Pattern,
        machine: Machine,
        options: CompileOptions,
        refuse: Refuse,
        executor: Executor,
    ) -> None:
        self.make, self.pattern, self.machine = make, pattern, machine
        self.options, self.refuse, self.executor = options, refuse, executor
        self.sync, self.user_limits = options.policy, options.has_user_limits
        self.naive = make_naive(make)
        self.made: list[Base] | None = None
        self._least_phases: int | None = None

    def others(self) -> list[Base]:
        """All candidates but naive."""
        if self.made is None:
            searches = self.options.objective == "phases" and self.naive is None
            more = PHASES_EFFORT if searches else 1
            self.made = make_others(
                self.make,
                self.pattern,
                self.machine,
                self.naive,
                self.executor,
                sweep_link_limit=not self.user_limits,
                effort=self.options.effort * more,
                reach=more,
                refuse=self.refuse,
                ends=self._has_fewest_phases if searches else None,
            )
        return self.made

    def _has_fewest_phases(self, schedule: Schedule) -> bool:
        """Whether no candidate can have fewer: what the loosest of their limits need."""
        if self._least_phases is None:
            kept: set[Limits] = set()
            for candidate in CANDIDATES:
                with suppress(InputError):
                    method = find_method(candidate.method)
                    kept.add(effective_limits(method, self.machine, self.options)[0])
            # `connections` chooses routes unasked
            free = self.options.routes == "free" or self.machine.limits.channels is not None
            self._least_phases = min(
                bound(
                    self.pattern,
                    self.machine,
                    limits,
                    placement=schedule.placement,
                    routes="free" if free else "fixed",
                ).phases
                for limits in kept
            )
        return schedule.phases <= self._least_phases

    def keep_fewest_phases(self) -> None:
        """Only candidates with the fewest phases.

        Of these, those with the least sum over phases of the largest load.
        """
        bases = self.others() if self.naive is None else [self.naive, *self.others()]

        def figures_of(base: Base) -> tuple[int, float]:
            return base.schedule.phases, phase_loads(base.schedule).total

        fewest = min(map(figures_of, bases), default=None)
        kept = [base for base in bases if figures_of(base) == fewest]
        if self.naive not in kept:
            self.naive = None
        self.made = [base for base in kept if base is not self.naive]


def _choose_by_formula(maker: _Maker, stands_in: str) -> Verdict:
    """The least predicted time.

    Nothing beside the naive exchange where that is what the bound says.
    """
    trials: list[Trial] = []
    optimal = False
    if maker.naive is not None:
        trials += _predicted(maker.naive, maker.sync)
        floor = _floor_s(maker, maker.naive)
        optimal = any(trial.fits and trial.time_s <= floor * REL_TOL for trial in trials)
    if not optimal:
        posted = maker.naive is not None
        for found in maker.executor.map(
            lambda base: _predicted(base, maker.sync, posted=posted), maker.others()
        ):
            trials += found
            if _core.stop_asked():
                break
    return verdict_by_formula(
        trials, best_of(trials), user_limits=maker.user_limits, stands_in=stands_in, optimal=optimal
    )


def _predicted(base: Base, sync: str | None, *, posted: bool = False) -> list[Trial]:
    """Under every policy; of large patterns, whose predictions take long, under few.

    Not under `none` where the naive exchange is known (`posted`) and takes as long
    (`is_as_posted`).
    """
    if sync is not None:
        return predicted_trials(base, [sync])
    allowed = allowed_policies(base.schedule)
    if base.schedule.transfers > LARGE:
        known = posted and len(allowed) > 1 and is_as_posted(Trial(base, "none"), "flow")
        allowed = tuple(p for p in allowed if ":" not in p and not (known and p == "none"))
    return predicted_trials(base, allowed)


def _floor_s(maker: _Maker, naive: Base) -> float:
    """`least_bounds` where it is affordable: it walks every route."""
    return (
        least_bounds(maker.pattern, maker.machine, naive.schedule).time_s
        if maker.pattern.messages <= LARGE
        else 0.0
    )


_STAGES = 5
"""Of a choice, of the same order of length: candidates are made.

The first, what is left, then variants of the best are tried; other models are asked.
"""


def _choose_by_model(maker: _Maker, model: str, stages: Work, beat_s: float) -> Verdict:
    """The least simulated time; by formula where a stop came before any simulation ended."""
    own = maker.options.rank_by is None
    budget = max(
        allowed_work(maker.pattern, each, maker.options.effort)
        for each in (maker.machine.models if own else (model,))
    )
    search = Search(model, budget, maker.executor, own=own, beat_s=beat_s)
    posted = (
        None if maker.naive is None else predicted_trials(maker.naive, [maker.sync or "none"])[0]
    )
    trials: list[Trial] = []
    bases: list[Base] = []
    too_long = False
    try:
        if maker.naive is not None and posted is not None:
            if (
                maker.machine.routing.knowledge != "hashed"
            ):  # whose bound is of an expectation, no sample's
                search.floor_s = _floor_s(maker, maker.naive)
            search.run([replace(posted, time_s=inf)], share=POSTED_SHARE, single=POSTED_SHARE)
            too_long = bool(search.skipped)
        bases = maker.others()
        orders = (
            [] if maker.naive is None or too_long else [maker.naive, *naive_orders(maker.naive)]
        )
        stages.done += 1
        trials = all_trials([*orders, *bases], maker.sync, search)
        search.run(first_trials(search, trials), slack=SLACK, share=FIRST_SHARE)
        if search.best is None and beat_s < inf:  # none of the most promising is near it
            raise NoScheduleError(f"no trial takes less than {format_time(beat_s)}")
        search.run(second_trials(search, trials), slack=SLACK, share=FIRST_SHARE)
        stages.done += 1
        search.run(corrected_trials(search, trials), slack=SLACK, share=FIRST_SHARE)
        stages.done += 1
        search.run(refined_trials(search, bases, orders, maker.sync))
        search.run(robust_trials(search, trials), slack=EQUAL, equals=True)
        stages.done += 1
    except KeyboardInterrupt:
        if search.best is None and not bases and maker.naive is None:
            raise
    if search.best is None:
        return _without_times(maker, search, bases, trials)
    if posted is not None and too_long and posted.time_s < search.best.time_s:
        stands_in = (
            f"the formula is used instead of {model}, by which the naive exchange takes too many "
            "steps to simulate"
        )
        made = [posted, *(replace(trial, time_s=trial.predicted_s) for trial in trials)]
        return verdict_by_formula(
            made, best_of(made), user_limits=maker.user_limits, stands_in=stands_in
        )
    return verdict_by_model(
        search, robust_choice(search), trials, maker.machine, user_limits=maker.user_limits
    )


def _without_times(
    maker: _Maker, search: Search, bases: Sequence[Base], trials: list[Trial]
) -> Verdict:
    """By formula, where no simulation ended: stopped, or too much for the effort.

    Raises:
        NoScheduleError: none can be simulated; what the last one said.
    """
    if search.refused and not search.skipped and not _core.stop_asked():
        raise NoScheduleError(
            f"none of the {search.simulated} trials can be simulated by {search.model}: "
            f"{search.refused[-1][1]}"
        )
    naive = [] if maker.naive is None else [maker.naive]
    made = [replace(trial, time_s=trial.predicted_s) for trial in trials]
    made = made or [trial for base in [*naive, *bases] for trial in _predicted(base, maker.sync)]
    stands_in = f"the formula is used instead of {search.model}: no simulation ended"
    return verdict_by_formula(
        made, best_of(made), user_limits=maker.user_limits, stands_in=stands_in
    )


def choose_policy(schedule: Schedule, *, rank_by: str | None = None, effort: int = 1) -> Schedule:
    """The schedule under its fastest policy, with the verdict on it.

    Args:
        schedule: its own policy does not count.
        rank_by: `formula` or a model; None: the machine's model, or the formula where the pattern
            is too large.
        effort: multiplies what may be simulated.

    Raises:
        InputError: it has no room for its receives under any policy. NoScheduleError: it deadlocks
            under all.
    """
    return _verdict(schedule, None, rank_by, effort).to_schedule()


def best_trial(
    schedule: Schedule, sync: str | None = None, *, rank_by: str | None = None, effort: int = 1
) -> Trial:
    """The schedule under its fastest policy, or under `sync`.

    Arguments and errors as `choose_policy`.
    """
    return _verdict(schedule, sync, rank_by, effort).chosen


def _verdict(schedule: Schedule, sync: str | None, rank_by: str | None, effort: int) -> Verdict:
    base, model = Base(schedule), ranking_of(schedule.machine, rank_by, schedule.method)
    trials = predicted_trials(base, allowed_policies(schedule) if sync is None else (sync,))
    if model == FORMULA:
        return verdict_by_formula(trials, best_of(trials), user_limits=schedule.limits_asked)
    stands_in = (
        f"the formula is used instead of {model} above {MAX_MESSAGES[model] * effort:,} messages"
    )
    if not is_affordable(schedule.pattern, model, effort):
        return verdict_by_formula(
            trials, best_of(trials), user_limits=schedule.limits_asked, stands_in=stands_in
        )
    with workers(THREADS) as executor:
        search = Search(model, allowed_work(schedule.pattern, model, effort), executor)
        search.run(
            sorted(
                (replace(trial, time_s=float("inf")) for trial in trials),
                key=lambda t: t.predicted_s,
            )
        )
        if search.best is None and search.refused:
            raise search.refused[-1][1]
        if search.best is None:
            raise NoScheduleError(
                f"{base.workload.name}: no policy to simulate within {search.budget:,} steps"
            )
        return verdict_by_model(
            search, search.best, [], schedule.machine, user_limits=schedule.limits_asked
        )
