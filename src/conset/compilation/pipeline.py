"""The pipeline: place → limits → method; every command and the API come through here.

Placement `auto` is the one under which a compile comes out best, and never worse than the ranks as
they are numbered.
Problem: where to put ranks before it is known how well they can be scheduled there. Idea: try every
candidate of `conset.methods.placements` by compiling it with a cheap method under the limits of the
one that was asked for; compile the best of them, and the ranks as numbered, with the method itself;
keep the better.
Guarantee: the result has no more phases than the identity's and is not predicted to take longer, or
simulated where a simulation ranks. Beyond that the objective decides: `time` that time, then
phases; `phases` the phases, then ΣL.
Complexity: a cheap compile for each candidate, two of the method itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf

from conset import _core
from conset.base import InputError, Ints32, NoScheduleError
from conset.compilation.auto import best_trial, choose_schedule, under_policy
from conset.compilation.options import AUTO, FORMULA, CompileOptions, effective_limits
from conset.compilation.trial import REL_TOL, require_affordable
from conset.machine import Machine
from conset.methods import (
    PLACEMENTS,
    Problem,
    add_timetable,
    candidates,
    find_method,
    folded,
    place,
    schedule_over_planes,
)
from conset.models import predict, refuse_policy
from conset.pattern import Pattern, read_bandwidths, read_latencies
from conset.schedule import CompileReport, Manifest, Schedule, phase_loads

PROBE_METHOD = "first-fit"
"""The cheap method that placements are compared by, but for the naive exchange."""

CIRCUITS = "circuits"
OF_CIRCUITS = "the method for circuit switches, the best of its assignments to their planes"
"""Why that one, where the method is not named."""

Placement = Ints32 | None
"""shape=(ranks), int32: the node of each rank; None: rank r on node r."""
Compile = Callable[[Placement], Schedule]


def compile_pattern(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions | None = None,
    *,
    manifest: Manifest | None = None,
    rival_s: float = inf,
) -> Schedule:
    """A schedule of `pattern` on `machine`.

    Args:
        pattern: what is sent.
        machine: what it costs.
        options: what a user asked for.
        manifest: how it is made.
        rival_s: as `choose_schedule`; not where placements are compared [s].

    Raises:
        UsageError: more messages than a model ranks, a placement that is no name and no file.
        InputError: pattern, machine and method do not fit each other; names what was required and
            what was given.
    """
    options = options or CompileOptions()
    manifest = manifest or Manifest(seed=options.seed)
    if options.placement == AUTO:
        schedule = _compile_best_placed(pattern, machine, options, manifest)
    else:
        placement = _place(pattern, machine, options)
        name = options.placement if options.placement in PLACEMENTS else ""
        schedule = compile_placed(
            pattern, machine, options, placement, manifest, rival_s
        ).with_report(placement_name=name)
    return schedule.with_report(stopped_early=True) if _core.stop_asked() else schedule


def placement_of(pattern: Pattern, machine: Machine, options: CompileOptions) -> Placement:
    """The placement of a compile, as `compile_pattern` would find it.

    None where rank r is on node r.
    """
    if options.placement == AUTO:
        return compile_pattern(pattern, machine, options).placement
    return _place(pattern, machine, options)


def _place(pattern: Pattern, machine: Machine, options: CompileOptions) -> Placement:
    return place(
        options.placement,
        pattern=pattern,
        topology=machine.topology,
        routing=machine.routing,
        ranks_per_node=options.ranks_per_node,
        seed=options.seed,
        effort=options.effort,
        job=machine.job,
    )


def compile_placed(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    placement: Placement,
    manifest: Manifest,
    rival_s: float = inf,
) -> Schedule:
    """A schedule for ranks that have their nodes."""
    name = options.chosen_method
    if machine.is_circuit:
        if options.sync != AUTO:
            refuse_policy(machine.costs, options.sync or "none")
        made = compile_by(
            CIRCUITS if name == AUTO else name, pattern, machine, options, placement, manifest
        )
        return made.with_report(reason=OF_CIRCUITS) if name == AUTO else made
    if name == AUTO or options.policy is None:
        require_affordable(pattern, options.rank_by, options.effort)

    if name != AUTO:
        schedule = compile_by(name, pattern, machine, options, placement, manifest)
        return under_policy(schedule, options)

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        return compile_by(
            method,
            pattern,
            machine,
            options,
            placement,
            manifest,
            contention=contention,
            effort=effort,
        )

    def refuse(method: str) -> str | None:
        return why_not(method, pattern, machine, options, placement)

    start = time.perf_counter()
    chosen = choose_schedule(make, pattern, machine, options, refuse=refuse, rival_s=rival_s)
    return chosen.with_report(compile_s=time.perf_counter() - start)


def why_not(
    name: str, pattern: Pattern, machine: Machine, options: CompileOptions, placement: Placement
) -> str | None:
    """Why a method does not apply under these options, in one line; None where it does."""
    try:
        problem, _ = _problem_of(name, pattern, machine, options, placement)
    except InputError as reason:
        return str(reason)
    method = find_method(name)
    return method.applies(folded(method, problem))


def compile_by(
    name: str,
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    placement: Placement = None,
    manifest: Manifest | None = None,
    *,
    contention: int | None = None,
    effort: int | None = None,
) -> Schedule:
    """A schedule by one method of the table; its policy is not chosen yet (`default_sync`).

    Args:
        name: of the method, in place of that of the options.
        pattern: what is sent.
        machine: what it costs.
        options: what a user asked for.
        placement: the node of each rank.
        manifest: how it is made.
        contention: as in `effective_limits`.
        effort: sweeps of search in place of those of the options; 0: none where a construction does
            without.

    Raises:
        InputError, NoScheduleError: as the method.
    """
    problem, user_limits = _problem_of(
        name, pattern, machine, options, placement, contention=contention
    )
    if effort is not None:
        problem = replace(problem, search=replace(problem.search, effort=effort))
    problem.source_node, problem.target_node  # noqa: B018  placing is not scheduling
    method = find_method(name)
    if method.circuits:
        import_module("scipy.optimize")  # loading is not scheduling either
    start = time.perf_counter()
    over_planes = machine.is_circuit or machine.topology.base is not machine.topology
    phases = schedule_over_planes(method, problem) if over_planes else method.schedule(problem)
    if options.timetable is not None:
        phases = add_timetable(problem, phases, options.timetable, method=name)
    report = CompileReport(time.perf_counter() - start, phases.stopped_early, note=phases.note)
    return Schedule(
        pattern,
        machine,
        name,
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        route_links=phases.route_links,
        channels=phases.channels,
        timetable=phases.timetable,
        sync=default_sync(phases.offsets.size - 1, machine, name),
        limits_asked=user_limits,
        manifest=manifest or Manifest(seed=options.seed),
        min_bandwidth_Bps=problem.min_bandwidth,
        max_latency_s=problem.max_latency,
        posting=options.posting,
        report=report,
    )


def _problem_of(
    name: str,
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    placement: Placement,
    *,
    contention: int | None = None,
) -> tuple[Problem, bool]:
    """(what the method is given, whether options changed its limits).

    Raises as `effective_limits`.
    """
    limits, user_limits = effective_limits(find_method(name), machine, options, contention)
    rates = (
        None if options.min_bandwidth is None else read_bandwidths(options.min_bandwidth, pattern)
    )
    times = None if options.max_latency is None else read_latencies(options.max_latency, pattern)

    def predicted(schedule: Schedule) -> float:
        return predict(
            schedule, sync=options.policy or default_sync(schedule.phases, machine, name)
        ).time_s

    return (
        Problem(
            pattern,
            machine,
            limits,
            placement,
            options.search,
            rates,
            times,
            predicted=predicted,
        ),
        user_limits,
    )


def default_sync(phases: int, machine: Machine, method: str) -> str:
    """`none` where there is nothing to separate, or circuit switches do it; else `barrier`."""
    if machine.is_circuit:
        return "none"
    most = 0 if machine.switches_contexts(method) else 1
    return "none" if phases <= most else "barrier"


def _compile_best_placed(
    pattern: Pattern, machine: Machine, options: CompileOptions, manifest: Manifest
) -> Schedule:
    """Placement `auto`: several placements compared by first fit.

    The best and the identity are compiled as asked.
    """
    quick = replace(
        options,
        method=PROBE_METHOD,
        effort=1,
        timetable=None,
        router=None,
        phases=None,
        posting="schedule",
        min_bandwidth=None,
        max_latency=None,
        routes="fixed",
        rank_by=FORMULA,
        sync=options.sync or default_sync(2, machine, PROBE_METHOD),
    )
    if options.chosen_method != AUTO:
        limits, _ = effective_limits(find_method(options.chosen_method), machine, options)
        quick = replace(quick, contention=None, channels=None, limits=limits.to_text())

    def probe(placement: Placement) -> Schedule:
        return compile_placed(pattern, machine, quick, placement, manifest)

    def compile_on(placement: Placement) -> Schedule:
        return compile_placed(pattern, machine, options, placement, manifest)

    if options.chosen_method == "naive":
        probe = compile_on
    tried = candidates(
        pattern=pattern,
        topology=machine.topology,
        routing=machine.routing,
        ranks_per_node=options.ranks_per_node,
        seed=options.seed,
        effort=options.effort,
        job=machine.job,
    )
    return choose_placed(tried, probe, compile_on, objective=options.objective)


def chosen_time(schedule: Schedule) -> float:
    """Time by the simulation that chose a schedule, else by formula [s]."""
    simulated_s = None if schedule.report is None else schedule.report.simulated_s
    return predict(schedule).time_s if simulated_s is None else simulated_s


@dataclass(frozen=True)
class PlacementScore:
    """What placements are compared by: time [s], predicted unless simulations rank, phases, ΣL."""

    time_s: float
    phases: int
    load_sum: float

    @staticmethod
    def of(schedule: Schedule) -> PlacementScore:
        """The merit of a schedule under its own policy.

        What posts everything and was not chosen is simulated where that is affordable: a formula
        knows little of how its routes meet.
        """
        time_s = chosen_time(schedule)
        if schedule.method == "naive" and not _ranked_by(schedule):
            with suppress(InputError, NoScheduleError):
                time_s = best_trial(schedule, schedule.sync).time_s
        return PlacementScore(time_s, schedule.phases, phase_loads(schedule).total)

    def dominates(self, other: PlacementScore) -> bool:
        """No more phases, no more time."""
        return self.phases <= other.phases and self.time_s <= other.time_s * REL_TOL

    def key(self, objective: str) -> tuple[float, ...]:
        """Smaller is better."""
        if objective == "phases":
            return self.phases, self.load_sum, self.time_s
        return self.time_s, self.phases, self.load_sum


def choose_placed(
    candidates: Iterable[tuple[str, Placement]],
    probe: Compile,
    compile_on: Compile,
    *,
    objective: str,
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
    base = compile_on(identity).with_report(placement_name=name)
    if _core.stop_asked():
        return base
    try:
        chosen = _rank(names, probe, probe(identity), objective)
        if chosen is None or _core.stop_asked():
            return base
        placed = compile_on(chosen[1]).with_report(placement_name=chosen[0])
    except (InputError, NoScheduleError):
        return base
    except KeyboardInterrupt:
        return base  # the search was stopped before the other placement had a schedule
    if _ranked_by(placed) != _ranked_by(base):
        return base  # the search was stopped before the other placement was simulated
    score, least = PlacementScore.of(placed), PlacementScore.of(base)
    better = score.dominates(least) and score.key(objective) < least.key(objective)
    return placed if better else base


def _ranked_by(schedule: Schedule) -> str:
    return "" if schedule.report is None else schedule.report.rank_by


def _rank(
    candidates: Iterable[tuple[str, Placement]], probe: Compile, base: Schedule, objective: str
) -> tuple[str, Placement] | None:
    """The candidate that the probe finds best, None where none beats the identity."""
    least, best = PlacementScore.of(base), None
    lowest = least
    for name, placement in candidates:
        if _core.stop_asked():
            break
        try:
            score = PlacementScore.of(probe(placement))
        except (InputError, NoScheduleError):
            continue
        if score.dominates(least) and score.key(objective) < lowest.key(objective):
            lowest, best = score, (name, placement)
    return best
