"""Choose: whether messages are combined, along which paths, and how the stages are scheduled.

Problem: forwarding saves the start-up of messages and pays in bytes, copies and stages; which wins
depends on pattern, sizes and machine.
Idea: the cost model (`evaluate`) orders all candidates; the best few of them, and sending
everything directly, are compiled, and the machine's model predicts each as a whole, copying
included (`compile_along`). In what order, and what is chosen: the core
(`cpp/include/conset/compilation/stages.hpp`), for the C interface and run-time scheduling too.

Many ways to combine one pattern, each with its cost by the machine's model, the best first.

Problem: which way is best depends on the pattern, the sizes and the machine; `evaluate` is fast
enough to ask for all.
Idea: direct; boxes of every number of stages, along the network's sides and over rank numbers,
those with the least sum of sides; digits around the ring where the ranks are no power; node-aware
where nodes hold several ranks; virtual grids for patterns that are not dense; and what others hand
in.
Bound: moves of messages (messages × stages), not seconds, so that the same input gives the same
candidates everywhere.

Compile along paths.

Every stage by a method, then policy, sends in flight and posting order for the whole.

Problem: a program is worth what its stages take together: a rank passes on what it got as soon as
it has it, so stages overlap, and the schedule that is best for one stage alone need not be best in
the chain.
Idea: the search of `auto` (`conset.compilation.auto`) over schedules of the whole program: a trial
compiles all stages by one method at one contention and chains them into one schedule
(`conset.schedule.program`), whose time the machine's model says, copying included. What is chosen
is cut into its stages again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, isfinite
from typing import Any

import numpy as np

from conset import _core
from conset.base import InputError, Ints32, NoScheduleError, format_time
from conset.compilation.auto import (
    THREADS,
    applied,
    best_trial,
    choose_schedule,
    least_bounds,
    under_policy,
)
from conset.compilation.options import AUTO, DEFAULTS, CompileOptions
from conset.compilation.pipeline import (
    Placement,
    chosen_time,
    compile_by,
    compile_pattern,
    placement_of,
    why_not,
)
from conset.compilation.trial import (
    Base,
    Trial,
    is_affordable,
    ranking_of,
    require_affordable,
)
from conset.machine import Machine
from conset.methods import (
    LARGE,
    Candidate,
    box_network,
    evaluate,
    matched_cells,
    mixed_candidates,
    multiphase,
    parse_combine,
    paths_of,
)
from conset.pattern import Pattern
from conset.schedule import (
    NO_POSITIONS,
    Manifest,
    Paths,
    Program,
    Schedule,
    bundles_of,
    chained,
    direct,
    unchained,
)


def compile_along(
    paths: Paths,
    machine: Machine,
    options: CompileOptions,
    placement: Placement,
    manifest: Manifest,
    *,
    beat_s: float = inf,
    compared: bool = True,
) -> tuple[Program, Schedule]:
    """(the program whose messages take these paths, the same as one schedule).

    With the report on how it was found.

    Args:
        paths: of the messages, at least one of which moves.
        machine: what it is for.
        options: as of a compile; `auto` chooses one method for all stages. Without a policy: that
            with the least time; of a method whose row fixes one `local`, and `none` where every
            stage is one phase.
        placement: the node of each rank.
        manifest: how it is made.
        beat_s: as `choose_schedule` [s].
        compared: as `choose_schedule`.

    Raises:
        UsageError, InputError, NoScheduleError: as `compile_pattern`.
    """
    stages = [paths.stage_pattern(j) for j in range(paths.stages)]
    start = time.perf_counter()
    bundles = bundles_of(paths)

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        schedules = [
            compile_by(
                method,
                stage,
                machine,
                options,
                placement,
                manifest,
                contention=contention,
                effort=effort,
            )
            for stage in stages
        ]
        sync = "none" if all(schedule.phases <= 1 for schedule in schedules) else "local"
        sync = schedules[0].sync if len(stages) == 1 else sync
        return chained(Program.of_schedules(paths, schedules, sync, manifest), bundles)

    def refuse(method: str) -> str | None:
        refusals = (why_not(method, stage, machine, options, placement) for stage in stages)
        return next((refusal for refusal in refusals if refusal is not None), None)

    name = options.chosen_method
    require_affordable(bundles, options.rank_by, options.effort)
    if name == AUTO:
        whole = choose_schedule(
            make, bundles, machine, options, refuse=refuse, beat_s=beat_s, compared=compared
        )
    else:
        whole = under_policy(make(name, None, options.effort), options)
    whole = whole.with_report(compile_s=time.perf_counter() - start)
    return unchained(whole, paths), whole


MAX_MOVES = 2**25
"""Messages × stages tried in all, the direct way apart."""
MAX_BUNDLES = 2**20
"""Of a box over ranks so many that their messages are not looked at: some ten seconds."""
Make = Callable[[], Paths]
Way = tuple[str, int, Make]
"""Name, stages, function that makes the paths."""


def candidates(
    pattern: Pattern,
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    more: Iterable[Way] = (),
    moves: int = MAX_MOVES,
    part_s: float = 0.0,
) -> list[Candidate]:
    """Ways to combine a pattern, sorted by estimated time.

    Ties are in the order in which they were tried.

    Args:
        pattern: what is sent.
        machine: whose costs and network count.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        more: (name, stages, function that makes the paths) of further ways, tried after the direct
            one.
        moves: messages × stages tried at most; the direct way always is.
        part_s: as in `evaluate` [s].

    Raises:
        InputError: messages that have an order, or more ranks than nodes without a placement.
    """

    def judged(name: str, paths: Paths) -> Candidate:
        estimate = evaluate(paths, machine, placement, part_s=part_s)
        # without the bundles that it remembers: there are many
        if paths.box is None:
            return Candidate(name, replace(paths), estimate)
        bare = Paths(pattern, NO_POSITIONS, name=paths.name, box=paths.box)
        return Candidate(name, bare, estimate)

    if pattern.messages == 0:
        return [judged("none", direct(pattern))]
    # of boxes that a large complete exchange fills the bundles are evaluated, never the messages
    in_boxes = is_in_boxes(pattern)
    ways: list[tuple[str, Make]] = [] if in_boxes else [("none", partial(direct, pattern))]
    each, left = LARGE if in_boxes else pattern.messages, moves
    for name, stages, make in _all(pattern, machine, placement, more):
        if each * stages <= left:
            left -= each * stages
            ways.append((name, make))
    with applied(THREADS if pattern.messages > LARGE else 1) as apply:
        found = list(apply(lambda way: judged(way[0], way[1]()), ways))
    return sorted(found, key=lambda each: each.estimate.time_s)


def _all(
    pattern: Pattern, machine: Machine, placement: Ints32 | None, more: Iterable[Way]
) -> Iterator[Way]:
    """Ways to combine, nothing made yet.

    By nodes, boxes and rings, as ranks try them at run time.
    """
    yield from more
    node = np.arange(pattern.ranks) if placement is None else placement
    pairs, in_boxes = pattern.ranks * (pattern.ranks - 1), is_in_boxes(pattern)
    by_traffic = pattern.messages < _core.SPARSE * pairs
    network = box_network(machine, node, fill=1 if in_boxes else 2, by_traffic=by_traffic)
    for kind, word, sides in _core.stage_ways(pattern.ranks, network):
        if kind not in ("along", "numbers"):
            way = parse_combine(word)
            yield word, len(sides), partial(paths_of, way, pattern, machine, placement)
            continue
        if in_boxes and pattern.ranks * sum(side - 1 for side in sides) > MAX_BUNDLES:
            continue
        matched = matched_cells(machine, placement, sides) if kind == "along" else None
        cells, order = matched or (None, None)
        box = partial(multiphase, pattern, sides, order=order, cells=cells, name=word)
        yield word, len(sides), box


WORTH = _core.STAGES_WORTH
"""What a program may take at most of the direct time to be chosen."""


@dataclass(frozen=True)
class Tried:
    """What was compared.

    Attributes:
        name: as `--combine` says it, or `none`.
        stages: number of stages.
        estimated_s: by the cost model [s]; None where it was not asked.
        time_s: by the machine's model, or by formula where that is used instead [s]; infinite where
            its simulations ended as they took longer than what was known.
        is_bound: whether `time_s` is a lower bound of it.
    """

    name: str
    stages: int
    estimated_s: float | None
    time_s: float
    is_bound: bool = False

    def to_object(self) -> dict[str, Any]:
        """As in `compile --json`."""
        return {
            "combine": self.name,
            "stages": self.stages,
            "estimated_s": self.estimated_s,
            "time_s": self.time_s if isfinite(self.time_s) else None,
        }


@dataclass(frozen=True, eq=False)
class Combination:
    """What a compile with `--combine` found.

    Attributes:
        combine: the word for it; `none`: every message directly.
        program: its stages; of one stage where nothing is combined.
        whole: the program as one schedule, with the report on how it was found.
        tried: what was compared, the least time first; empty where nothing was to be chosen.
        only_direct: why stages were not considered, though no option names a way to combine.
    """

    combine: str
    program: Program
    whole: Schedule
    tried: tuple[Tried, ...] = ()
    only_direct: str = ""

    @property
    def why(self) -> str:
        """The comparison in one sentence, or why there was none."""
        if len(self.tried) < 2:
            return "no stages are estimated to be faster" if self.tried else self.only_direct
        other = next(
            each for each in self.tried if (each.name == "none") != (self.combine == "none")
        )
        if not isfinite(other.time_s):
            gain = f"{1 - WORTH:.0%} faster than sending every message directly"
            return f"none of {len(self.tried) - 1} ways to combine is {gain}"
        own = next(each for each in self.tried if each.name == self.combine)
        names = [
            "sending every message directly" if name == "none" else name
            for name in (own.name, other.name)
        ]
        return (
            f"{names[0]}: {format_time(own.time_s)} against {'at least ' * other.is_bound}"
            f"{format_time(other.time_s)} by {names[1]}"
        )


def compile_combined(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions | None = None,
    combine: str | None = AUTO,
    *,
    manifest: Manifest | None = None,
) -> Combination:
    """A program that delivers `pattern` in stages, or directly where that is as good.

    Args:
        pattern: the messages.
        machine: what it is for.
        options: as of `compile_pattern`, for every stage.
        combine: a value of `--combine`: `none`, `auto`, sides `K1xK2`, `radix:R`, `node-aware`,
            `virtual-grid:K1xK2`, `mixed`; None: `auto`, or `none` where `why_direct` has a reason.
        manifest: how it is made.

    Raises:
        UsageError: an unknown word. InputError: words that do not fit the ranks; and as
            `compile_pattern`.
    """
    options = options or CompileOptions()
    manifest = manifest or Manifest(seed=options.seed)
    if combine is None:
        if reason := why_direct(pattern, machine, options):
            return replace(_direct(pattern, machine, options, manifest), only_direct=reason)
        combine = AUTO
    wanted = parse_combine(combine)
    if wanted.kind == "none" or not pattern.messages:
        return _direct(pattern, machine, options, manifest)
    if machine.is_circuit:
        raise InputError(
            f"combine {combine}: {machine.name} has circuit switches, for which stages are not made"
        )
    if pattern.before is not None:
        raise InputError(
            f"combine {combine}: messages of {pattern.name} have an order, which stages do not keep"
        )
    if wanted.kind == AUTO:
        return _choose(pattern, machine, options, manifest)
    placement = placement_of(pattern, machine, options)
    paths = paths_of(wanted, pattern, machine, placement)
    return Combination(str(wanted), *compile_along(paths, machine, options, placement, manifest))


MAX_DIRECT = 2**21
"""Messages for which stages are considered without being asked for: some ten seconds."""
DIRECT_ONLY = ("timetable", "min_bandwidth", "max_latency", "posting")
"""Options that ask for a schedule of direct messages."""


def why_direct(pattern: Pattern, machine: Machine, options: CompileOptions) -> str:
    """Why stages are not considered unless `--combine` asks for them; "" where they are."""
    most = MAX_DIRECT * options.effort
    direct_only = [
        name for name in DIRECT_ONLY if getattr(options, name) != getattr(DEFAULTS, name)
    ]
    reasons = {
        f"{machine.name} has circuit switches, which connect any two nodes": machine.is_circuit,
        f"method {options.chosen_method} was named": options.chosen_method != AUTO,
        "limits were given, which hold for direct messages": options.has_user_limits,
        "the objective is the fewest phases": options.objective == "phases",
        "messages are ordered": pattern.before is not None,
        f"{', '.join(direct_only)}: for direct messages": direct_only,
        f"more than {most:,} messages; --combine auto considers them": (
            pattern.messages > most and not is_in_boxes(pattern)
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def is_in_boxes(pattern: Pattern) -> bool:
    """Whether a pattern is a complete exchange too large for a look at every message.

    Then only boxes that its ranks fill are considered, whose bundles follow from the box.
    """
    return pattern.messages > MAX_DIRECT and pattern.is_complete


def _direct(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    manifest: Manifest,
    rival_s: float = inf,
) -> Combination:
    schedule = compile_pattern(pattern, machine, options, manifest=manifest, rival_s=rival_s)
    return Combination("none", Program.of(schedule), schedule)


def _choose(
    pattern: Pattern, machine: Machine, options: CompileOptions, manifest: Manifest
) -> Combination:
    """The least time of the direct schedule and of the best candidates."""
    ways = _Ways(pattern, machine, options, manifest)
    decision = _core.choose_stages(
        ways,
        messages=pattern.messages,
        effort=options.effort,
        direct_first=options.placement == AUTO or options.chosen_method != AUTO,
    )
    listed, direct, least_s = ways.listed, ways.directly, decision.direct_s
    assert least_s is not None
    chosen = direct if decision.way is None else ways.best
    assert chosen is not None
    if decision.stopped:
        chosen = replace(chosen, whole=chosen.whole.with_report(stopped_early=True))
    tried = [Tried("none", 1, None, least_s, is_bound=decision.is_bound)]
    for way, time_s in decision.tried:
        each = listed[way]
        tried.append(Tried(each.name, each.paths.stages, each.estimate.time_s, time_s))
    chosen = replace(chosen, tried=tuple(sorted(tried, key=lambda each: each.time_s)))
    if direct is None or not decision.ways:
        return chosen
    best = listed[decision.ways[0]]
    share = max(WORTH, best.estimate.time_s / (decision.estimated_s or inf))
    return _compared(chosen, direct, best.paths, share * least_s, options)


class _Ways:
    """Ways to send a pattern, as the chooser of stages in the core asks for them by number.

    Attributes:
        listed: those in stages, by their number.
        best: the fastest program in stages so far.
        directly: every message, once that was compiled.
    """

    def __init__(
        self, pattern: Pattern, machine: Machine, options: CompileOptions, manifest: Manifest
    ) -> None:
        self._pattern, self._machine = pattern, machine
        self._options, self._manifest = options, manifest
        self.listed: list[Candidate] = []
        self.best: Combination | None = None
        self.directly: Combination | None = None
        self._last: Combination | None = None
        self._keys: dict[int, Hashable] = {}

    @cached_property
    def _placement(self) -> Placement:
        if self.directly is not None:
            return self.directly.whole.placement
        return placement_of(self._pattern, self._machine, self._options)

    def ways(self) -> tuple[list[tuple[float, int, bool]], float]:
        """((estimate [s], bundles, whether it mixes others) of every way, that of none [s])."""
        given = (self._pattern, self._machine, self._placement)
        options = self._options
        single = candidates(*given)
        mixed = mixed_candidates(*given, seed=options.seed, effort=options.effort)
        unstaged = (each.estimate.time_s for each in single if each.paths.stages == 1)
        found = []
        for mixes, every in ((False, single), (True, mixed)):
            staged = [each for each in every if each.paths.stages > 1]
            self.listed += staged
            found += [(each.estimate.time_s, each.estimate.bundles, mixes) for each in staged]
        return found, min(unstaged, default=inf)

    def same(self, way: int, other: int) -> bool:
        """Whether two take the same paths."""
        return self._key(way) == self._key(other)

    def _key(self, way: int) -> Hashable:
        if way not in self._keys:
            paths = self.listed[way].paths
            if paths.box is None or paths.parts <= LARGE:
                self._keys[way] = paths.positions.tobytes()
            else:  # lines of ranks that exchange in each stage say all of a box
                stages = (paths.stage_pattern(j) for j in range(paths.stages))
                self._keys[way] = tuple(stage.target.tobytes() for stage in stages)
        return self._keys[way]

    def posted_s(self, way: int) -> float:
        """What it takes with everything posted at once; infinite: no room, or a deadlock [s]."""
        sync = self._options.policy or "none"
        naive = replace(self._options, method="naive", sync=sync, rank_by=None)
        with suppress(InputError, NoScheduleError):
            return time_of(self._compiled(way, naive, inf).whole, self._options)
        return inf

    def along(self, way: int, beat_s: float) -> float | None:
        """Compiles it; what it takes [s], None: no less than `beat_s`, or it cannot be."""
        with suppress(InputError, NoScheduleError):
            self._last = self._compiled(way, self._options, beat_s)
            return time_of(self._last.whole, self._options)
        return None

    def _compiled(self, way: int, options: CompileOptions, beat_s: float) -> Combination:
        candidate = self.listed[way]
        program, whole = compile_along(
            candidate.paths,
            self._machine,
            options,
            self._placement,
            self._manifest,
            beat_s=beat_s,
            compared=False,
        )
        return Combination(candidate.name, program, whole)

    def keep(self) -> None:
        """What was compiled last is the best so far."""
        self.best = self._last

    def direct(self, rival_s: float) -> float:
        """What direct messages take, compiled beside another schedule that takes `rival_s` [s]."""
        self.directly = _direct(
            self._pattern, self._machine, self._options, self._manifest, rival_s
        )
        return time_of(self.directly.whole, self._options)

    def least_s(self) -> float:
        """What they take at least; of a complete exchange in boxes those of its first ranks [s]."""
        pattern = _first(self._pattern, LARGE) if is_in_boxes(self._pattern) else self._pattern
        posted = compile_by(
            "naive", pattern, self._machine, self._options, self._placement, self._manifest
        )
        return least_bounds(pattern, self._machine, posted).time_s


def _compared(
    found: Combination,
    direct: Combination,
    paths: Paths,
    least_s: float,
    options: CompileOptions,
) -> Combination:
    """The same, compared again where costs may be wrong, over direct messages and stages.

    Args:
        found: what was chosen.
        direct: every message directly.
        paths: of the stages that the cost model finds best, for where none were chosen: they are
            sent without phases.
        least_s: what these take [s]: what the cost model says of them beside direct messages, and
            no less than what would have been chosen.
        options: as of a compile.
    """
    verdict, other = (getattr(each.whole.report, "choice", None) for each in (found, direct))
    named = options.chosen_method != AUTO or options.objective == "phases"
    if named or verdict is None or other is None or not other.finalists:
        return found
    staged, whole = other.finalists[:1], direct.whole
    if found.combine == "none":
        try:
            _, sent = compile_along(
                paths,
                whole.machine,
                CompileOptions("naive", sync=options.policy or "none", seed=options.seed),
                whole.placement,
                whole.manifest,
            )
        except (InputError, NoScheduleError):
            return found
        staged = (Trial(Base(sent), sent.sync, sent.in_flight, time_s=least_s),)
    whole = replace(verdict, compared=True, staged=staged).to_schedule(found.whole)
    return replace(
        found, program=Program.of(whole) if found.combine == "none" else found.program, whole=whole
    )


def _first(pattern: Pattern, most: int) -> Pattern:
    """The messages of the first ranks, at most so many, or of the first rank."""
    fits = int(np.searchsorted(pattern.offsets, most, side="right")) - 1
    end = int(pattern.offsets[max(fits, 1)])
    offsets = np.minimum(pattern.offsets, end)
    return replace(pattern, offsets=offsets, target=pattern.target[:end], size=pattern.size[:end])


def time_of(schedule: Schedule, options: CompileOptions) -> float:
    """What decides of a schedule.

    As it was simulated when it was chosen, else by what ranks, after a stop by formula [s].
    """
    report = schedule.report
    if (report is not None and report.simulated_s is not None) or _core.stop_asked():
        return chosen_time(schedule)
    model = ranking_of(schedule.machine, options.rank_by, schedule.method)
    verdict = None if report is None else report.choice
    if verdict is not None and not is_affordable(schedule.pattern, model, options.effort):
        return float(verdict.chosen.time_s)  # by formula
    return best_trial(
        schedule, schedule.sync, rank_by=options.rank_by, effort=options.effort
    ).time_s
