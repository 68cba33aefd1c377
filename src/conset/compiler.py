"""The pipeline: place → schedule; every command and the API come through here, what they say of it is a summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import InputError, UsageError, unknown_name
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.methods.method import Method
from conset.methods.problem import Phases, Problem
from conset.methods.table import find_method, table
from conset.methods.timetables import find_timetable
from conset.pattern.pattern import Pattern
from conset.pattern.readers.bandwidths import read_bandwidths
from conset.placement import PLACEMENTS, candidates, place
from conset.schedule.manifest import Manifest
from conset.schedule.schedule import Schedule
from conset.schedule.sync import parse_sync

AUTO = "auto"
"""The word for what the chooser decides: method, contention and policy, or the policy alone."""
DEFAULT_METHOD = AUTO
MAX_EFFORT = 2**31 - 1
FORMULA = "formula"
"""The word for choosing by predicted time; the others are models."""
PROBE_METHOD = "first-fit"
"""The cheap method that placements are compared by."""
BOUNDED_BY = "first-fit"
"""The method whose limits a bound has that names none: any of ports and links."""


@dataclass(frozen=True)
class Request:
    """The options of a compile, as on the command line.

    Attributes:
        method: name in the table of methods, or `auto`: the one with the least time, as `rank_by` says.
        contention: limit of every link, or None for the method's own.
        channels: limit of routes through a node, or None.
        limits: words as `send=1,link=2`, or None.
        placement: name of a placement, `auto`, or a file of node ids.
        ranks_per_node: ranks on each node.
        sync: policy; `auto`: the one with the least time; None: with method `auto` as `auto`, else `none` for
            one phase and `barrier` for several.
        seed: of every random choice.
        effort: sweeps of search.
        timetable: name in the table of timetables: put the transfers inside every phase one after the other; or None.
        router: name in the table of routers, for `connections` alone (which it makes the method, if that is `auto`).
        objective: `time`, or `phases`: fewest phases, then least ΣL.
        min_bandwidth: what every connection must be guaranteed: a rate, or a file of rates; for `connections` alone.
        routes: `fixed`: the machine's; `free`: the method chooses them with the phases, where it can (with method
            `auto`: negotiated).
        rank_by: what method and policy are chosen by, where they are: `flow`, `wormhole` or `circuit`, which simulate,
            or `formula`; None: the machine's model.
    """

    method: str = DEFAULT_METHOD
    contention: int | None = None
    channels: int | None = None
    limits: str | None = None
    placement: str = "identity"
    ranks_per_node: int = 1
    sync: str | None = None
    seed: int = 0
    effort: int = 1
    timetable: str | None = None
    router: str | None = None
    objective: str = "time"
    min_bandwidth: str | None = None
    routes: str = "fixed"
    rank_by: str | None = None

    def user_limits(self, own: Limits) -> Limits | None:
        """`own` with what the options change, or None where they change nothing."""
        words = [f"link={self.contention}"] if self.contention is not None else []
        words += [f"channels={self.channels}"] if self.channels is not None else []
        words += [self.limits] if self.limits is not None else []
        return own.changed(",".join(words)) if words else None


def effective_limits(
    method: Method, machine: Machine, request: Request, contention: int | None = None
) -> tuple[Limits, bool]:
    """(limits of the compile, whether options changed them).

    The method's own row, made as strict as the machine's hard limits; or what options asked for, which may be looser.

    Args:
        method: whose row.
        machine: whose hard limits.
        request: the options.
        contention: a limit of links in place of the method's own that nobody asked for; hard limits remain.

    Raises:
        InputError: the method cannot keep what is asked or what the machine demands.
    """
    own = method.limits(machine.topology)
    own = own if contention is None else replace(own, link=contention)
    asked = request.user_limits(own)
    if asked is not None:
        return method.limits_for(machine.topology, asked), True
    return method.limits_for(machine.topology, own.tightened(machine.hard_limits(method.name))), False


def compile_pattern(
    pattern: Pattern, machine: Machine, request: Request | None = None, *, manifest: Manifest | None = None
) -> Schedule:
    """A schedule of `pattern` on `machine`.

    Raises:
        UsageError: an unknown method, placement, policy or ranking, a limit that does not parse, more messages than a
            model ranks.
        InputError: pattern, machine and method do not fit each other; names what was required and what was given.
    """
    request = check_request(request or Request())
    if request.method != AUTO:
        find_method(request.method)
    manifest = manifest or Manifest(seed=request.seed)
    if request.placement == AUTO:
        schedule = _compile_best_placed(pattern, machine, request, manifest)
    else:
        placement = place(request.placement, **_site(pattern, machine, request))
        name = request.placement if request.placement in PLACEMENTS else ""
        schedule = replace(compile_placed(pattern, machine, request, placement, manifest), placement_name=name)
    return replace(schedule, stopped_early=True) if _core.stop_asked() else schedule


def placement_of(pattern: Pattern, machine: Machine, request: Request) -> NDArray[np.int32] | None:
    """The placement of a compile, as `compile_pattern` would find it; None where rank r is on node r."""
    if request.placement == AUTO:
        return compile_pattern(pattern, machine, request).placement
    return place(request.placement, **_site(pattern, machine, request))


def _site(pattern: Pattern, machine: Machine, request: Request) -> dict[str, Any]:
    """The arguments of a placement."""
    return {
        "pattern": pattern, "topology": machine.topology, "routing": machine.routing,
        "ranks_per_node": request.ranks_per_node, "seed": request.seed, "effort": request.effort,
    }  # fmt: skip


def _compile_best_placed(pattern: Pattern, machine: Machine, request: Request, manifest: Manifest) -> Schedule:
    """`--placement auto`: several placements compared by first fit, the best and the identity compiled as asked."""
    from conset.choice import choose_placed

    quick = replace(request, method=PROBE_METHOD, effort=1, timetable=None, router=None, min_bandwidth=None)
    quick = replace(quick, routes="fixed", rank_by=FORMULA)
    if request.method != AUTO:
        limits, _ = effective_limits(find_method(request.method), machine, request)
        words = ",".join(f"{name}={'none' if value is None else value}" for name, value in limits.to_object().items())
        quick = replace(quick, contention=None, channels=None, limits=words)

    def probe(placement: NDArray[np.int32] | None) -> Schedule:
        return compile_placed(pattern, machine, quick, placement, manifest)

    def compile_on(placement: NDArray[np.int32] | None) -> Schedule:
        return compile_placed(pattern, machine, request, placement, manifest)

    return choose_placed(candidates(**_site(pattern, machine, request)), probe, compile_on, objective=request.objective)


def compile_placed(
    pattern: Pattern, machine: Machine, request: Request, placement: NDArray[np.int32] | None, manifest: Manifest
) -> Schedule:
    """A schedule for ranks that have their nodes."""
    from conset.choice import choose_policy, choose_schedule
    from conset.choice.simulated import require_affordable

    if AUTO in (request.method, request.sync):
        require_affordable(pattern, request.rank_by, request.effort)
    sync = None if request.sync in (None, AUTO) else str(parse_sync(request.sync))
    limited = request.user_limits(Limits()) is not None

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        changed = replace(request, method=method, effort=effort)
        return _compile_by(pattern, machine, changed, placement, manifest, contention)

    if request.method == AUTO:
        start = time.perf_counter()
        chosen = choose_schedule(
            make, pattern, machine, sync=sync, user_limits=limited, effort=request.effort, rank_by=request.rank_by,
            objective=request.objective,
        )  # fmt: skip
        return replace(chosen, compile_s=time.perf_counter() - start)
    schedule = make(request.method, None, request.effort)
    if request.sync == AUTO:
        return choose_policy(schedule, user_limits=limited, rank_by=request.rank_by, effort=request.effort)
    return schedule if sync is None else replace(schedule, sync=sync)


def check_request(request: Request) -> Request:
    """The request with `connections` as its method where options ask for what nothing else has.

    Raises:
        UsageError: an unknown objective, an option of `connections` with another method, or a ranking of nothing.
    """
    if request.effort > MAX_EFFORT:
        raise UsageError(f"--effort {request.effort}: must be at most {MAX_EFFORT}")
    if request.objective not in ("time", "phases"):
        raise unknown_name("objective", request.objective, ("time", "phases"))
    for option, value in (("--router", request.router), ("--min-bandwidth", request.min_bandwidth)):
        if value is None:
            continue
        if request.method not in (AUTO, "connections"):
            raise UsageError(f"{option} {value}: is for method connections, given {request.method}")
        request = replace(request, method="connections")
    if request.routes not in ("fixed", "free"):
        raise unknown_name("routes", request.routes, ("fixed", "free"))
    if request.routes == "free":
        if request.method == AUTO:
            return _checked_ranking(replace(request, method="negotiated"))
        if not find_method(request.method).free_routes:
            able = " and ".join(name for name, method in table().items() if method.free_routes)
            raise UsageError(f"--routes free: is for methods {able}, given {request.method}, which keeps the machine's")
    return _checked_ranking(request)


def _checked_ranking(request: Request) -> Request:
    if request.rank_by not in (None, FORMULA) and AUTO not in (request.method, request.sync):
        raise UsageError(
            f"--rank-by {request.rank_by}: goes with --method auto or --sync auto, given --method {request.method}"
        )
    return request


def _compile_by(
    pattern: Pattern,
    machine: Machine,
    request: Request,
    placement: NDArray[np.int32] | None,
    manifest: Manifest,
    contention: int | None,
) -> Schedule:
    """A schedule by one method of the table, under its default policy; `contention` as in `effective_limits`."""
    method = find_method(request.method)
    limits, asked = effective_limits(method, machine, request, contention)
    problem = Problem(
        pattern, machine, limits, placement, request.seed, request.effort,
        routes="free" if request.routes == "free" else "fixed", router=request.router,
        objective="phases" if request.objective == "phases" else "time",
        min_bandwidth=None if request.min_bandwidth is None else read_bandwidths(request.min_bandwidth, pattern),
    )  # fmt: skip
    if pattern.before is not None and not method.ordered:
        raise InputError(
            f"method {method.name} requires a pattern without an order, "
            f"given {len(pattern.before)} ordered pairs of messages"
        )
    timetabler = None if request.timetable is None else find_timetable(request.timetable)

    def run(problem: Problem) -> Phases:
        phases = method.schedule(problem)
        if timetabler is None:
            return phases
        return replace(phases, timetable=timetabler(problem, phases, method=method.name))

    phases, seconds = _timed(run, problem)
    return Schedule(
        pattern, machine, method.name, limits, phases.offsets, phases.message,
        parts=phases.parts, placement=placement, route_offsets=phases.route_offsets, route_nodes=phases.route_nodes,
        channels=phases.channels, timetable=phases.timetable, sync=default_sync(phases), limits_asked=asked,
        manifest=manifest, compile_s=seconds, stopped_early=phases.stopped_early, note=phases.note,
        min_bandwidth_Bps=problem.min_bandwidth,
    )  # fmt: skip


def default_sync(phases: Phases) -> str:
    """`none` where there is nothing to separate, else `barrier`."""
    return "none" if phases.offsets.size <= 2 else "barrier"


def _timed(function: Callable[[Problem], Phases], problem: Problem) -> tuple[Phases, float]:
    problem.source_node, problem.target_node  # noqa: B018  placing is not scheduling
    start = time.perf_counter()
    phases = function(problem)
    return phases, time.perf_counter() - start
