"""first-fit: every message into the first phase that has room for it, under any limits.

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
from conset.base import Ints32
from conset.methods.phases.core import core_order, core_resources
from conset.methods.phases.problem import Phases, Problem


def schedule_first_fit(problem: Problem) -> Phases:
    """First fit under `problem.limits`; `problem.search.effort` sweeps, the best one kept."""
    resources = core_resources(problem)
    first, second = core_order(problem)
    pattern = problem.pattern
    size = np.zeros(0, np.int64) if pattern.equal_sizes else np.ascontiguousarray(pattern.size)
    order = _core.order_longest_first(resources, size)
    best = _core.first_fit(resources, order, first, second)
    if problem.search.effort == 1:
        return Phases.of(best)
    current, least = best, resources.least_phases
    for sweep in range(1, problem.search.effort):
        phases = int(best.max(initial=-1)) + 1
        _core.publish(phases, least)
        if phases <= least or _core.should_stop(True):
            break
        try:
            current = _core.first_fit(
                resources, _order_by_phases(current, sweep, problem.search.seed), first, second
            )
        except _core.Interrupted:
            # a sweep that was cut short has nothing to give, but there is the best of those before
            break
        if current.max(initial=0) < best.max(initial=0):
            best = current
    return replace(Phases.of(best), stopped_early=_core.should_stop(True))


def _order_by_phases(phase: Ints32, sweep: int, seed: int) -> Ints32:
    """shape=(messages), int32.

    Messages phase by phase, the phases last first, largest first or shuffled in turn.
    """
    count = np.bincount(phase)
    if sweep % 3 == 1:
        key = -np.arange(count.size)
    elif sweep % 3 == 2:
        key = -count
    else:
        key = np.random.default_rng((seed % 2**64, sweep)).permutation(count.size)
    return np.argsort(key[phase], kind="stable").astype(np.int32)
