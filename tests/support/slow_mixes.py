"""The search for mixes of direct messages and boxes, slowly: what the core's must find.

`cpp/include/conset/combining/mixes.hpp` says what is tried and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from conset import _core
from conset.base import InputError, Ints, Ints32
from conset.machine.machine import Machine
from conset.methods.paths.evaluate import Candidate, bundle_costs, evaluate
from conset.methods.paths.multiphase import (
    matched_cells,
    multiphase,
    node_aware,
    ranks_on_nodes,
    virtual_grid,
)
from conset.pattern.pattern import Pattern
from conset.schedule.paths import MAX_STAGES, Paths, direct

MAX_MOVES = 2**23
"""Messages × stages tried in all, per unit of effort."""
MERGE_MOVES = 1 / 16
"""What merging counts beside 1 for each rank by way of which a message may go."""
STAGES = (2, 3, 4)
DEGREES = (4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)
"""A message takes its path if one of its ends has more messages than this.

Below the first all do.
"""
QUANTILES = (0.97, 0.9, 0.75, 0.5)
"""Shares of the messages that are small enough."""
TURNS = (1.0, 1.3)
"""Limits on the work of a rank between two waits, in its mean."""
ORDERS = 6
"""Other orders of equally busy ranks that merging is tried in, per unit of effort."""
HOPEFUL = 2.0
"""Thresholds are tried on paths that take at most so many times the least time found."""
HOPELESS = 4.0
"""Merging starts from nothing that takes so many times the least time found."""
PASSES = 4


def factorisations(number: int, sides: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """All ways to write a number as a product of factors above 1, as the core lists them."""
    return [tuple(each) for each in _core.factorisations(number, sides)]


def partners(pattern: Pattern) -> Ints:
    """shape=(messages), int64.

    How many messages its source sends or its target receives, the larger.
    """
    sent = np.diff(pattern.offsets)
    received = np.bincount(pattern.target, minlength=pattern.ranks)
    return np.maximum(sent[pattern.source], received[pattern.target])


def threshold_mix(base: Paths, above: int, up_to: float = inf, *, name: str = "") -> Paths:
    """Messages of busy ranks along given paths, all others direct in the first stage.

    Args:
        base: the paths, of whole messages.
        above: a message takes its path if its source sends, or its target receives, more messages
            than this,
        up_to: and it has at most so many bytes [B].
        name: for people; "": that of `base` and the thresholds.

    Raises:
        InputError: `base` has parts of messages.
    """
    pattern = base.pattern
    if base.message is not None:
        raise InputError("paths: whole messages required, parts of messages given")
    takes = (partners(pattern) > above) & (pattern.size <= up_to)
    positions = np.array(base.positions, order="F")
    for column in positions.T[1:]:
        column[~takes] = pattern.target[~takes]
    small = f" up to {up_to:.0f} B" if up_to < inf else ""
    return Paths(pattern, positions, name=name or f"{base.name} above {above}{small}")


def padded(paths: Paths, stages: int) -> Paths:
    """The same paths with empty stages added at the end; as they are where they have as many.

    Raises:
        InputError: more stages than a program may have.
    """
    if stages > MAX_STAGES:
        raise InputError(f"stages = {stages}: must be at most {MAX_STAGES}")
    missing = max(stages - paths.stages, 0)
    return replace(paths, positions=np.pad(paths.positions, ((0, 0), (0, missing)), mode="edge"))


def trimmed(paths: Paths) -> Paths:
    """The same paths without stages in which nothing moves; one stage is kept."""
    moves = (np.diff(paths.positions, axis=1) != 0).any(axis=0)
    if moves.all():
        return paths
    kept = np.flatnonzero(np.r_[True, moves]) if moves.any() else [0, paths.stages]
    return replace(paths, positions=paths.positions[:, kept])


def merged(
    paths: Paths,
    machine: Machine,
    *,
    up_to: float = inf,
    turn_s: float = 0.0,
    passes: int = PASSES,
    seed: int = 0,
) -> Paths:
    """Fewer bundles by local search: of no step more work, by the machine's costs.

    Args:
        paths: where it starts.
        machine: whose overheads, set-up and rates of copies and ports count.
        up_to: bundles of more bytes stay as they are [B].
        turn_s: the work of a rank between two waits may grow to this [s], and to that of the busier
            rank of a bundle that is given up.
        passes: over all ranks, at most.
        seed: of the order in which equally busy ranks are visited; 0: by number.
    """
    flat, _ = _core.merge_bundles(
        np.ascontiguousarray(paths.positions).reshape(-1),
        paths.stages,
        np.ascontiguousarray(paths.size_of),
        paths.pattern.ranks,
        bundle_costs(machine),
        turn_s,
        int(min(up_to, 2**62)),
        passes,
        seed,
    )
    name = paths.name if paths.name.endswith("merged") else f"{paths.name} merged"
    return replace(paths, positions=flat.reshape(paths.positions.shape), name=name)


@dataclass(eq=False)
class Search:
    """What was found so far, and what may still be tried.

    Attributes:
        left: moves that may still be tried.
        least_s: the least time found, that of direct messages at first [s].
        best: by number of stages: the threshold mix of least time, or its base.
        starts: where merging was tried, each with what it came to without a limit.
    """

    pattern: Pattern
    machine: Machine
    placement: Ints32 | None
    seed: int
    effort: int
    best: dict[int, Candidate] = field(default_factory=dict)
    starts: list[tuple[Candidate, Candidate]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = float(MAX_MOVES * max(self.effort, 1))
        self.direct = self._candidate(direct(self.pattern))
        self.least_s = self.direct.estimate.time_s

    def run(self) -> Iterator[Candidate]:
        """All candidates, those first that promise most."""
        for stages in STAGES:
            for base in self._bases(stages):
                yield from self._found(stages, base)
        for stages in sorted(self.best, key=lambda k: self.best[k].estimate.time_s):
            yield from self._thresholds(stages)
        if self.effort == 1 and self.pattern.is_complete and self.pattern.equal_sizes:
            return  # merging gains nothing
        for each in sorted(self.best.values(), key=lambda each: each.estimate.time_s):
            yield from self._start(each)
        for stages in STAGES if self.effort > 1 else STAGES[:-1]:
            yield from self._start(replace(self.direct, paths=padded(self.direct.paths, stages)))
        self.starts.sort(key=lambda each: each[1].estimate.time_s)
        for start, plain in self.starts[: 1 + self.effort]:
            yield from self._variants(start, plain)

    def _candidate(self, paths: Paths) -> Candidate:
        estimate = evaluate(paths, self.machine, self.placement)
        return Candidate(
            f"mixed {paths.name}", replace(paths), estimate
        )  # without the bundles that it remembers

    def _affords(self, stages: int, times: float = 1.0) -> bool:
        """Whether so much more may be tried, which is then spent."""
        moves = self.pattern.messages * stages * times
        if moves > self.left or _core.stop_asked():
            return False
        self.left -= moves
        return True

    def _affords_merging(self, stages: int) -> bool:
        """The same of merging.

        A bundle may go by way of any rank in the shorter list of partners of its ends.
        """
        received = np.bincount(self.pattern.target, minlength=self.pattern.ranks)[
            self.pattern.target
        ]
        ways = np.minimum(np.diff(self.pattern.offsets)[self.pattern.source], received).mean()
        return self._affords(stages, 1 + MERGE_MOVES * float(ways))

    def _found(self, stages: int, paths: Paths) -> Iterator[Candidate]:
        """A base or a threshold mix."""
        candidate = self._candidate(paths)
        self.least_s = min(self.least_s, candidate.estimate.time_s)
        held = self.best.get(stages)
        if held is None or candidate.estimate.time_s < held.estimate.time_s:
            self.best[stages] = candidate
        yield candidate

    def _bases(self, stages: int) -> Iterator[Paths]:
        """Paths of all messages.

        Along the network, over numbers of ranks, over traffic, over nodes.
        """
        pattern, machine, placement = self.pattern, self.machine, self.placement
        if 2**stages > pattern.ranks:
            return
        crowd = 1 if placement is None else ranks_on_nodes(placement)[1]
        if crowd > 1 and stages == 3 and self._affords(stages):
            yield node_aware(pattern, placement)
        network = (*(machine.topology.sides or (machine.topology.endpoints,)), crowd)
        fitting = factorisations(crowd * machine.topology.endpoints, network)
        for sides in [each for each in fitting if len(each) == stages][:1]:
            matched = matched_cells(machine, placement, sides)
            if matched is not None and self._affords(stages):
                yield multiphase(pattern, sides, cells=matched[0], order=matched[1])
        sides = next((each for each in factorisations(pattern.ranks) if len(each) == stages), ())
        balanced = tuple(_core.balanced_sides(pattern.ranks, stages))
        sides = sides if sides and sum(sides) <= 1.5 * sum(balanced) else balanced
        if self._affords(stages):
            yield multiphase(pattern, sides)
        if self._affords(stages):
            yield virtual_grid(pattern, sides, machine, placement)

    def _thresholds(self, stages: int) -> Iterator[Candidate]:
        """Degrees from the best base, then sizes at the best degree."""
        if self.best[stages].estimate.time_s > HOPEFUL * self.least_s:
            return
        base, many, size = self.best[stages].paths, partners(self.pattern), self.pattern.size
        above, least_s = 0, self.best[stages].estimate.time_s
        for degree in _distinct(DEGREES, many):
            if self._affords(stages):
                for each in self._found(stages, threshold_mix(base, degree)):
                    if each.estimate.time_s < least_s:
                        above, least_s = degree, each.estimate.time_s
                    yield each
        for limit in _distinct(np.quantile(size, QUANTILES, method="lower").tolist(), size):
            if self._affords(stages):
                yield from self._found(stages, threshold_mix(base, above, limit))

    def _start(self, start: Candidate) -> Iterator[Candidate]:
        """Merging from here, without raising any turn."""
        if start.estimate.time_s <= HOPELESS * self.least_s and self._affords_merging(
            start.paths.stages
        ):
            plain = self._candidate(trimmed(merged(start.paths, self.machine, seed=self.seed)))
            self.least_s = min(self.least_s, plain.estimate.time_s)
            self.starts.append((start, plain))
            yield plain

    def _variants(self, start: Candidate, plain: Candidate) -> Iterator[Candidate]:
        """Merging with other limits on turns, and in other orders of ranks."""
        stages = start.paths.stages
        mean_s = plain.estimate.work_s / self.pattern.ranks / stages
        tried = [
            *[(share * mean_s, self.seed) for share in TURNS],
            *[(0.0, self.seed + 1 + number) for number in range(ORDERS * self.effort)],
        ]
        for turn_s, seed in tried:
            if self._affords_merging(stages):
                yield self._candidate(
                    trimmed(merged(start.paths, self.machine, turn_s=turn_s, seed=seed))
                )


def _distinct(limits: Iterable[float], values: Ints) -> Sequence[int]:
    """Limits that part the values, no two of them alike."""
    ordered = np.sort(values)
    found: dict[int, int] = {}
    for limit in limits:
        found.setdefault(int(np.searchsorted(ordered, limit, side="right")), int(limit))
    return [limit for below, limit in found.items() if 0 < below < ordered.size]
