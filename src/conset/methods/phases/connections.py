"""connections: sets of open connections under a limit on channels (ConSet).

The routes are the compiler's choice.

Problem: cut a pattern into phases and give every connection a route; a route takes one of K
channels in every node it visits, both ends included. Links and ports have no limit unless asked,
but they are shared: a phase lasts as long as its busiest port or link. Wanted: the shortest time,
or with `objective=phases` the fewest phases, then the least ΣL, then the fewest channels: routers
are asked again with one channel less as long as that costs neither.
Idea: several routers know different parts of the answer (`connection_routers.table`): the text's
sequential one answers always, slots of a closed form and orbits of translations serve what is
symmetric, negotiation the rest. All that apply are asked, the best by the objective is kept; none
after one that is proved to be the best.
Invariant: every limit is kept in every phase; the channels of a node are numbered and used once in
a phase.
Order: kept inside phases, by their lists, as across them; it costs no phases. Routers of symmetric
patterns refuse it.
Unequal sizes: bytes are balanced over the phases of what each router gives (`balance`), and
messages of the best split over several phases where that is shorter (`split`). A router that is
asked for by name gives its own phases as they are.
Lists: where a node has few transfers in flight, which of a phase goes first decides: slots and
orbits are listed as they were made, other phases as an event list would start their transfers
(`event_list`).
Guarantee: never worse than any of the routers alone at the same effort and seed; with an order by
the predicted time, which has its waits.
Complexity: that of the routers.
When to use it: machines that hold open what a phase needs: logical channels, circuits, optical
switches. Minimum bandwidths and maximum latencies (`min_bandwidth`, `max_latency`): a port or link
with u users gives each 1/u of its rate, and an element waits there for u flits. The sequential
router keeps any demands. Equal bandwidths become limits on users, which every router keeps; so do
latencies, by limits that are strict enough on shortest routes. What breaks a demand all the same is
not taken. A connection that would not get its demand if it were alone is refused by name. A number
of phases that is asked for (`phases`) is met exactly: routers that need more are left out, of one
that needs fewer the phases with the most transfers are halved.
Channels: the default of a machine without hard limits is 12, as on iWarp.
Reference: Feldmann,
Stricker, Warfel: Supporting Sets of Arbitrary Connections on iWarp Through Communication Context
Switches, Sections 2 and 4.4.1. Notation: P phases, L_p largest load of a port or link in phase p,
ΣL their sum.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from conset import _core
from conset.base import InputError, NoScheduleError
from conset.machine import Limits, Topology
from conset.methods.phases.balance import balance_loads, regroup, split_messages
from conset.methods.phases.connection_routers.demands import (
    broken,
    by_limits,
    plain,
    refuse_impossible,
    without,
)
from conset.methods.phases.connection_routers.table import ROUTERS, SMALL, Router, find_router
from conset.methods.phases.connection_routers.task import Score, Task, assemble, best_score, score
from conset.methods.phases.event_list import time_event_list
from conset.methods.phases.problem import Phases, Problem, Routes
from conset.schedule import number_channels

CHANNELS = 12
PLACES = 20_000
"""Connections times phases up to which messages are split, for each unit of effort."""
ROUNDING = 1 + 1e-9


def limits_connections(topology: Topology) -> Limits:
    """A limit on channels alone."""
    return Limits(channels=CHANNELS)


def schedule_connections(problem: Problem) -> Phases:
    """Phases of connections with their routes and channels.

    Raises:
        UsageError: an unknown router.
        InputError: the router that was asked for does not apply.
        NoScheduleError: a connection cannot have the bandwidth, or there cannot be as many phases,
            as were asked for.
    """
    if problem.pattern.messages == 0:
        return Phases(np.zeros(1, np.int64), np.zeros(0, np.int32))
    refuse_impossible(Task(problem))
    task = Task(plain(problem))
    # raises `NoScheduleError` where there are too few or too many connections for the phases
    asked, transfers = task.problem.search.phases, task.problem.pattern.messages
    if asked is not None and not task.least_phases <= asked <= transfers:
        raise NoScheduleError(
            f"phases {asked}: {transfers:,} connections need at least {task.least_phases:,} and "
            f"at most {transfers:,}"
        )
    if problem.search.router is None:
        found, listed = _with_few_channels(task, _best(task))
    else:
        given = _asked(task, problem.search.router).route(task)
        found, listed = assemble(given, problem.pattern.before), given.order is not None
    found = _counted(task, found if listed else _in_lists(problem, found))
    wrong = broken(problem, task, found)
    if wrong is not None:
        raise NoScheduleError(wrong.text(problem))
    return found


def _counted(task: Task, phases: Phases) -> Phases:
    """As many phases as are asked for.

    Those with the most transfers halved, in the order of their lists.

    Raises:
        NoScheduleError: there are more.
    """
    asked, count = task.problem.search.phases, phases.offsets.size - 1
    if asked is None or count == asked:
        return phases
    if count > asked:
        raise NoScheduleError(f"phases {asked}: the connections were routed in {count}")
    phase = np.repeat(np.arange(count, dtype=np.int32), np.diff(phases.offsets))
    for _ in range(asked - count):
        largest = int(np.bincount(phase).argmax())
        members = np.flatnonzero(phase == largest)
        phase[phase > largest] += 1
        phase[members[(members.size + 1) // 2 :]] += 1
    return regroup(phases, phase)


def _in_lists(problem: Problem, phases: Phases) -> Phases:
    """The transfers of every phase as an event list starts them, where a node has few in flight.

    Routes are kept.

    Those of a pattern with an order stay as they are, each behind what it follows.
    """
    few = problem.machine.costs_for("connections").in_flight is not None
    if not few or problem.pattern.before is not None or phases.offsets.size < 2:
        return phases
    with suppress(_core.Interrupted):  # phases are what counts
        start = time_event_list(problem, phases, method="connections")[:, 0]
        phase = np.repeat(
            np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets)
        )
        return regroup(phases, phase, start)
    return phases


def _asked(task: Task, name: str) -> Router:
    router = find_router(name)
    if _demanding(task) and not router.demands:
        raise InputError(
            f"router {name} requires equal minimum bandwidths on links that are alike and no "
            "maximum latency, "
            f"given others: sequential keeps any"
        )
    return router


def _demanding(task: Task) -> bool:
    """Whether there are demands that are no limits."""
    return task.problem.min_bandwidth is not None or task.problem.max_latency is not None


def _best(task: Task) -> tuple[Phases, bool]:
    """(the best of all routers that apply; whether its router listed its transfers).

    The first of equals.
    """
    goal = best_score(task)
    best: tuple[tuple[float, ...], Phases, bool] | None = None
    for router in ROUTERS:
        if (
            best is not None
            and router.demands
            and task.source.size * task.least_phases > SMALL * task.problem.search.effort
        ):
            break  # the last resort is not needed
        found = _found(task, router, None if best is None else best[0])
        if found is None:
            continue
        phases, listed = found
        value = score(task, phases)
        if best is None or value < best[0]:
            best = value, phases, listed
        _core.publish(best[1].offsets.size - 1, task.least_phases)
        if _reaches(best[0], goal):
            break
        if _core.should_stop(True):
            return replace(best[1], stopped_early=True), best[2]
    if best is None:  # sequential answers or raises, unless a number of phases is asked for
        raise NoScheduleError(
            f"phases {task.problem.search.phases}: no router finds a path for every connection"
        )
    cut = _split(task, best[1])
    return cut, best[2] and cut is best[1]


def _with_few_channels(task: Task, found: tuple[Phases, bool]) -> tuple[Phases, bool]:
    """With the objective `phases`: as few channels of a node as cost no phase and no ΣL."""
    while (
        (task.problem.search.objective, task.problem.search.phases) == ("phases", None)
        and found[0].channels is not None
        and (channels := int(found[0].channels.max())) > 0
    ):
        fewer = Task(replace(task.problem, limits=replace(task.problem.limits, channels=channels)))
        if fewer.least_phases > found[0].offsets.size - 1 or _core.stop_asked():
            break
        again = _best(fewer)
        if score(task, again[0])[:2] > score(task, found[0])[:2]:
            break
        found = again
    return found


def _reaches(value: Score, goal: Score) -> bool:
    """Whether a score is as good as no schedule's is better, in the places of `goal`."""
    return all(a <= b * ROUNDING for a, b in zip(value[: len(goal)], goal, strict=True))


def _found(task: Task, router: Router, best: Score | None) -> tuple[Phases, bool] | None:
    """(what a router finds that keeps all demands, whether it listed its transfers).

    None: it finds nothing like it.

    Nothing is looked for under limits that are too strict for a better score than `best`.
    """
    if router.demands or not _demanding(task):
        tasks: list[Task | None] = [task]
    else:
        tasks = [without(task), by_limits(task)]  # demands may be kept by themselves
    for given in tasks:
        if given is None or (
            best is not None and given is not task and _reaches(best, best_score(given))
        ):
            continue
        try:
            routed = router.route(given)
            phases = assemble(routed, task.problem.pattern.before)
            phases = _not_later(task, phases, _balanced(given, phases))
            listed = routed.order is not None and not _unequal(task)
            if task.problem.search.phases is not None:
                phases, listed = (
                    _counted(task, phases if listed else _in_lists(task.problem, phases)),
                    True,
                )
        except InputError:
            return None
        except NoScheduleError:
            if task.problem.search.phases is None:
                raise
            continue  # needs more phases
        if given is task or broken(task.problem, task, phases) is None:
            return phases, listed
    return None


def _unequal(task: Task) -> bool:
    """Whether bytes are worth balancing.

    Sizes differ, the time counts, and demands leave connections free to move.
    """
    problem = task.problem
    return problem.search.objective == "time" and not _demanding(task) and not task.equal_sizes


def _balanced(task: Task, phases: Phases) -> Phases:
    """Connections moved between phases until the busiest ports and links are even.

    New routes where they may be.
    """
    if not _unequal(task):
        return phases
    routes: Routes = "fixed" if task.problem.machine.routing.rule == "no-wrap" else "free"
    return balance_loads(task.problem, phases, routes=routes, method="connections")


def _not_later(task: Task, phases: Phases, changed: Phases) -> Phases:
    """What loads are better balanced in, unless an order makes it wait for longer."""
    if task.problem.pattern.before is None or score(task, changed) <= score(task, phases):
        return changed
    return phases


def _split(task: Task, phases: Phases) -> Phases:
    """Some messages cut over several phases where that is shorter.

    A linear program, so only of moderate size.
    """
    places = phases.message.size * (phases.offsets.size - 1)
    if (
        not _unequal(task)
        or places > PLACES * task.problem.search.effort
        or phases.route_offsets is None
    ):
        return phases
    cut = _not_later(task, phases, split_messages(task.problem, phases, method="connections"))
    if cut is phases or cut.route_offsets is None or cut.route_nodes is None:
        return phases
    return replace(cut, channels=number_channels(cut.offsets, cut.route_offsets, cut.route_nodes))
