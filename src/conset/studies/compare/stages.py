"""Stages: what forwarding saves and costs, over sizes of message.

At every size the best paths of each number of stages, as the cost model orders them
(`conset.compilation.combining.candidates`), and what else is asked for are compiled, and the
machine's model predicts each program. Bytes sent over bytes delivered are its volume: with
the number of stages start-ups fall and bytes rise, so that the best number falls with the size. The
bound is that of any number of stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from conset.base import InputError, NoScheduleError, count_of, counted
from conset.bounds import bound_stages
from conset.compilation import CompileOptions, Placement, compile_along, placement_of
from conset.compilation.combining.candidates import candidates
from conset.machine import Machine
from conset.methods import parse_combine, paths_of
from conset.pattern import Pattern
from conset.schedule import Manifest, Paths
from conset.studies.compare.comparison import Watch, quiet
from conset.studies.times import check_by, time_schedule

SIZES = (8, 32, 128, 512, 2048, 8192, 32768, 65536)
"""Of messages [B], where none are asked for."""
MOST_STAGES = 6
DIRECT = "direct"


@dataclass(frozen=True)
class StageRow:
    """One program at one size.

    Attributes:
        size: of the largest message [B].
        name: `direct`, `2 stages`, …, or the word that was asked for.
        combine: the word for its paths.
        stages: number of stages.
        time_s: by what decides [s].
        volume: bytes sent over bytes of the pattern.
        bundles: messages it sends in all stages.
        bound_s: what no program of any number of stages beats at this size [s].
        by: the model that says the time, or `formula`.
    """

    size: int
    name: str
    combine: str
    stages: int
    time_s: float
    volume: float
    bundles: int
    bound_s: float
    by: str

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return asdict(self)


def compare_stages(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    *,
    sizes: Sequence[int] = (),
    combines: Sequence[str] = ("mixed",),
    by: str | None = None,
    watch: Watch = quiet,
) -> list[StageRow]:
    """A row for every size and number of stages, both ascending, then `combines`.

    Args:
        pattern: what is sent; its sizes are scaled so that the largest message has each of `sizes`.
        machine: what it is for.
        options: options of every compile.
        sizes: of the largest message [B]; none: 8 B to 64 KiB.
        combines: further values of `--combine`, any but `auto`; what does not fit the pattern is
            left out.
        by: what says a time: a model, or `formula`; None: the machine's model.
        watch: called with what is done next.

    Raises:
        UsageError: an unknown model or way to combine.
        InputError: no messages, or messages in an order, which stages do not keep.
    """
    check_by(by)
    if not pattern.messages or pattern.before is not None:
        what = (
            "has no messages" if not pattern.messages else "has an order, which stages do not keep"
        )
        raise InputError(f"compare in stages: {pattern.name} {what}")
    with watch("placing"):
        placement = placement_of(pattern, machine, options)
    rows = []
    for size in counted(sorted(set(sizes)) or SIZES):
        resized = with_largest(pattern, size)
        bound_s = bound_stages(resized, machine, placement=placement).time_s
        for name, combine, paths in _ways(resized, machine, placement, combines):
            with watch(f"{size:,} B: {name}"):
                try:
                    _, whole = compile_along(
                        paths, machine, options, placement, Manifest(seed=options.seed)
                    )
                except (InputError, NoScheduleError):
                    continue
                timing = time_schedule(whole, by=by)
            sent = [paths.bundles(stage).pattern for stage in range(paths.stages)]
            volume, bundles = (
                sum(p.bytes for p in sent) / resized.bytes,
                sum(p.messages for p in sent),
            )
            rows.append(
                StageRow(
                    size,
                    name,
                    combine,
                    paths.stages,
                    timing.time_s,
                    volume,
                    bundles,
                    bound_s,
                    timing.by,
                )
            )
    return rows


def with_largest(pattern: Pattern, size: int) -> Pattern:
    """The pattern scaled so that the largest message has `size` bytes, no message below 1."""
    if pattern.equal_sizes:
        return replace(pattern, size=np.broadcast_to(np.int64(size), pattern.messages))
    scaled = np.rint(pattern.size * (size / float(pattern.size.max()))).astype(np.int64)
    return replace(pattern, size=np.maximum(scaled, 1))


def _ways(
    pattern: Pattern, machine: Machine, placement: Placement, combines: Sequence[str]
) -> Iterator[tuple[str, str, Paths]]:
    """(name, word for the paths, paths).

    Of each number of stages the best by the cost model, then `combines`.
    """
    best: dict[int, tuple[str, Paths]] = {}
    for candidate in candidates(pattern, machine, placement):
        if candidate.paths.stages <= MOST_STAGES:
            best.setdefault(candidate.paths.stages, (candidate.name, candidate.paths))
    for stages in sorted(best):
        yield DIRECT if stages == 1 else count_of(stages, "stage"), *best[stages]
    for word in combines:
        wanted = parse_combine(word)
        try:
            paths = paths_of(wanted, pattern, machine, placement)
        except InputError:  # not for this pattern or placement
            continue
        yield str(wanted), str(wanted), paths
