"""decreasing: phases of messages of like size: first fit by decreasing length, then annealing.

Problem: with a barrier after every phase a phase lasts as long as its longest message, and each
costs a barrier and a set-up; cut a pattern of unequal sizes so that all this adds up to little,
under any limits.
Idea: the fewest phases mix large and small. First fit in the order of falling length puts each
message into the first phase with room, so that the long ones share theirs. Then anneal, with as
many phases: half the time take the longest message of a random phase, else any message, and a
random other phase for it (for a longest one rather a phase that lasts as long anyway); alternately
(i) by a Kempe chain: what holds its place there comes back in exchange, what that displaces goes
there, and so on, up to 12 messages; (ii) by ejection: up to 3 messages in its way go where they
raise the longest of a phase least. Accepted as Metropolis has it.
Start: first fit by length, or by longest routes (as `first-fit`) where that is shorter.
Invariant: limits and order are kept after every move; the best phases seen are given.
Complexity: first fit as `first-fit`; annealing O(steps · (hops + messages of a phase)) in time,
O(phases · contended resources) in memory. Left out above 2^27 entries, and under the duplex rule,
whose state is not that of one resource.
Effort: 500,000 steps each; it stops early at the bound (the sum of the i-th longest at any port or
link).
Temperature: geometric, in parts of the mean length of a phase: from 0.05, or 12 / messages where
that is less, to a twentieth of that, at most 0.0002. (The notes' 0.02 undoes first fit where there
are some thousand messages.)
When to use it: sizes differ and there are barriers. Without barriers `event-list` is better by far.
Measured: 64 nodes, d-regular, annealed over the bound: 1.003 to 1.014 where only nodes limit, 1.007
to 1.06 with links.
Guarantee: never longer than first fit by length and than one sweep of `first-fit`.
Order: kept by phases; moves that break it are refused.
Reference: none for the whole; list scheduling by decreasing length of batches, Kempe chains and
ejections as in graph colouring (Johnson, Aragon, McGeoch, Schevon, doi:10.1287/opre.39.3.378).

first-fit: every message into the first phase that has room for it, under any limits.

Problem: cut a pattern into few phases under any combination of limits on ports, links, channels and
duplex, with an order between messages or none, over the machine's own routes.
Idea: sort messages by longest route, then largest size, then heaviest resource (the most-loaded
port, link or channel on the route, relative to its limit), ties by index; put each into the first
phase in which nothing on its route is full. Long routes are hard to place and go first. Phases in
which a resource is full are the bits of a row; the rows of a route are OR-ed a word at a time and
the first zero bit is the phase. Resources that can never be full have no row.
Invariant: the messages placed so far keep every limit in every phase.
Complexity: O(messages · hops · phases / 64) in time, words in which a resource of the route is full
throughout left out; one bit for each phase and contended resource in memory, 1 + log₂(limit) where
a limit is above 1; no stored route.
When to use it: always a sound answer; the best one for ports alone is coloring. No guarantee but
this: a message that shares resources with k others is in one of the first k + 1 phases, where
there is neither order nor duplex rule.
Order: messages that are ready go first-fit in the same sequence, into phases after those of all
before them: a phase of this and of all methods for limits on ports and links holds what is in
flight together, which messages in order never are. `connections`, `event-list` and `naive` keep an
order inside phases.
Exchange: a phase in which the source receives or the target sends is closed, except the one that
holds the message coming back, while neither end has another partner.
Effort: each further sweep places the messages again, phase by phase of the best result so far with
the phases in another order (last first, largest first, shuffled); without order and duplex rule
that never takes more phases. The best is kept.
Measured: complete exchange on an 8×8 mesh 138 phases in 1 sweep, 135 in 10 (bound 128); 16×16 mesh
1105 and 1069 (bound 1024).
Reference: none for the whole; the sweeps are iterated greedy colouring (Culberson, Luo: Exploring
the k-colorable landscape with iterated greedy, DIMACS Series 26, 1996, pages 245-284).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conset import _core
from conset.base import Floats, Ints32
from conset.machine import synchronization_s, transfer_s, work_of
from conset.methods.phases.core import core_order, core_resources
from conset.methods.phases.problem import Phases, Problem

STEPS = 500_000
"""Of annealing, in a sweep of effort."""
HOT, COLD = 0.05, 0.0002
MAX_ENTRIES = 2**27


def schedule_decreasing(problem: Problem) -> Phases:
    """First fit by decreasing length under `problem.limits`, annealed for `search.effort` sweeps.

    Keeps an order.
    """
    if problem.pattern.messages == 0:
        return Phases.of(np.zeros(0, np.int32))
    resources = core_resources(problem)
    first, second = core_order(problem)
    duration = lengths(problem)
    opening = opening_s(problem)
    size = (
        np.zeros(0, np.int64)
        if problem.pattern.equal_sizes
        else np.ascontiguousarray(problem.pattern.size)
    )
    by_length = np.argsort(-duration, kind="stable").astype(np.int32)
    starts = [
        _core.first_fit(resources, order, first, second)
        for order in (by_length, _core.order_longest_first(resources, size))
    ]
    phase = min(starts, key=lambda found: total_length(found, duration, opening))
    if problem.limits.duplex == "full" and _entries(problem, phase) <= MAX_ENTRIES:
        phase = _core.anneal_lengths(
            resources,
            duration,
            opening,
            phase,
            first,
            second,
            STEPS * problem.search.effort,
            *temperatures(problem.pattern.messages),
            problem.search.seed % 2**64,
        )
    return replace(Phases.of(phase), stopped_early=_core.should_stop(True))


def temperatures(messages: int) -> tuple[float, float]:
    """(first, last), in parts of the mean length of a phase."""
    hot = min(HOT, 12 / max(1, messages))
    return hot, min(COLD, hot / 20)


def lengths(problem: Problem) -> Floats:
    """shape=(messages), float64 [s]: what each message takes alone, 0 inside a node."""
    machine = problem.machine
    work = work_of(machine, machine.costs_for("decreasing"), "barrier")
    return transfer_s(machine, work, problem.source_node, problem.target_node, problem.pattern.size)


def opening_s(problem: Problem) -> float:
    """What a further phase costs before anything flows [s]: a barrier and a set-up."""
    costs = problem.machine.costs_for("decreasing")
    return synchronization_s(problem.machine, costs) + costs.setup_s


def total_length(phase: Ints32, duration: Floats, opening: float) -> float:
    """The sum over phases of `opening` and the longest duration [s]."""
    return _core.phases_length(phase, duration, opening)


def _entries(problem: Problem, phase: Ints32) -> int:
    """Entries of the annealing's state at most: who holds what in which phase."""
    limits = problem.limits
    topology = problem.machine.topology
    room = (
        sum(limit or 0 for limit in (limits.send, limits.receive, limits.channels)) * topology.nodes
    )
    room += (limits.link or 0) * int(topology.widths().sum(dtype=np.int64))
    return room * (int(phase.max(initial=0)) + 1)


def schedule_first_fit(problem: Problem) -> Phases:
    """First fit under `problem.limits`; `problem.search.effort` sweeps, the best one kept."""
    resources = core_resources(problem)
    first, second = core_order(problem)
    pattern = problem.pattern
    size = np.zeros(0, np.int64) if pattern.equal_sizes else np.ascontiguousarray(pattern.size)
    effort = problem.search.effort
    best = _core.first_fit_sweeps(
        resources, size, first, second, effort, problem.search.seed % 2**64
    )
    found = Phases.of(best, planes=problem.planes)
    return replace(found, stopped_early=effort != 1 and _core.should_stop(True))
