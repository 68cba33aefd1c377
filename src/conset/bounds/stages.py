"""Bounds of programs that forward.

Messages travel in bundles over other ranks, in a number of stages or in any.

A rank sends at most m_j bundles in stage j, and receives at most so many: the *stage maxima*.
Bounds on time stand in `conset.bounds.relays`; here is what holds without a machine.

Reach: what a rank sends is in few places after few bundles.
    Statement: Π (1 + m_j) ≥ 1 + targets of a rank, and ≥ 1 + its sources, so Σ m_j ≥ the least sum
    of k whole numbers with that product, which equal ones attain; about k · ((d + 1)^(1/k) - 1).
    Proof: in stage j each rank that has some of the bytes sends at most m_j bundles, so the ranks
    that have some grow at most (1 + m_j)-fold; backwards in time for sources. Class: k stages, or
    any number: then ⌈log2 (d + 1)⌉, of one bundle each. Witness: the rank.

Volume: with few bundles a stage, many messages need several ways.
    Statement: bytes · ways ≥ the sum over ranks of its messages' bytes, the largest times 1, …
    where at most e_h(m_1, …, m_k) are h ways from their source: elementary symmetric polynomials.
    By targets likewise, the larger counts. Proof: a path uses h of the stages, and in each one of
    m_j bundles. Class: programs of these stage maxima. The complete exchange of equal sizes attains
    it with the box of sides 1 + m_j where Π (1 + m_j) is the number of ranks: 1.677 times the bytes
    for 4 × 8, 2.065 for 2 × 4 × 4, 2.581 for 2^5.

All hold whether messages are cut or not: a part has at least the ways of the part that has fewest.
Reference: Bruck and others 1997, "Efficient algorithms for all-to-all communications in multiport
message-passing systems", for complete exchanges; here for any pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod
from typing import Any

import numpy as np

from conset.base import Ints32, NoScheduleError, UsageError, ValueObject, count_of, format_time
from conset.bounds.bounds import Candidate
from conset.bounds.problem import require_nodes
from conset.bounds.relays import (
    RelayProblem,
    bound_cuts,
    bound_fan_out,
    bound_forwarded_message,
    bound_forwarded_ports,
    bound_links,
    bound_trade_off,
    bound_volume_time,
    rank_partners,
)
from conset.machine import Machine
from conset.pattern import Pattern

ROUNDING = 1e-12
"""Relative: bounds and models add the same terms in different orders."""
MAX_STAGES = 64
RELAY_BOUNDS = {
    "message": bound_forwarded_message,
    "fan-out": bound_fan_out,
    "ports": bound_forwarded_ports,
    "cuts": bound_cuts,
    "links": bound_links,
}


@dataclass(frozen=True, eq=False)
class StageBounds(ValueObject):
    """What no program of a class beats.

    Attributes:
        stages: the most stages of the class; None: any number.
        sends: least sum over stages of the most bundles that a rank sends, or receives, in each.
        sends_witness: what proves it, as text.
        time_s: least time [s] by any model but `flit`; rounded down by 10⁻¹².
        time_witness: what proves it.
        stages_class: which programs these speak of.
        volume_B: least sum over messages of bytes times ways [B]; the pattern's bytes where no
            maxima are given.
        volume: the same over the pattern's bytes, at least 1.
        volume_witness: what proves it.
        volume_class: which programs it speaks of.
        candidates: every bound that was tried.
    """

    stages: int | None
    sends: int
    sends_witness: str
    time_s: float
    time_witness: str
    stages_class: str
    volume_B: int  # noqa: N815
    volume: float
    volume_witness: str
    volume_class: str
    candidates: tuple[Candidate, ...] = ()

    def to_object(self) -> dict[str, Any]:
        """The bounds with witness and class, as in `bound --stages --json`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "candidates"}


def bound_stages(
    pattern: Pattern,
    machine: Machine,
    *,
    stages: int | None = None,
    maxima: Sequence[int] | None = None,
    placement: Ints32 | None = None,
    split: bool = False,
    method: str = "",
) -> StageBounds:
    """The bound on programs that deliver `pattern` in stages.

    Over whichever ranks, routes and policy.

    Args:
        pattern: the messages as the application has them.
        machine: network and costs.
        stages: the most stages; None: any number, or that of `maxima`.
        maxima: the most bundles that a rank sends in each stage, and receives; None: any numbers.
        placement: shape=(ranks), int32: node of each rank; None: rank r on node r.
        split: whether messages may be cut.
        method: whose costs, where a machine runs methods in several ways.

    Raises:
        UsageError: fewer than 1 stage or more than 64, or another number of maxima.
        InputError: a rank has no node on the machine.
        NoScheduleError: with these maxima a rank does not reach all its targets.
    """
    stages = _check_stages(stages, maxima)
    require_nodes(pattern, machine, placement)
    most = "" if maxima is None else f" and {' + '.join(map(str, maxima))} bundles a rank"
    what = "any number of stages" if stages is None else f"at most {count_of(stages, 'stage')}"
    whole = "cut or whole" if split else "whole"
    stages_class = (
        f"programs of {what}{most}, messages {whole}, over any ranks, any routes, any policy"
    )
    if maxima is not None:
        volume = bound_volume(pattern, maxima)
    else:
        text = "every message goes at least one way" if pattern.messages else "no messages"
        volume = pattern.bytes, 1.0 if pattern.messages else 0.0, text, "all programs"
    if pattern.messages == 0:
        return StageBounds(stages, 0, "no messages", 0.0, "no messages", stages_class, *volume)
    reach = bound_reach(pattern, stages)
    problem = RelayProblem(pattern, machine, machine.costs_for(method), placement, stages, split)
    found = {
        name: value
        for name, function in RELAY_BOUNDS.items()
        if (value := function(problem)) is not None
    }
    least_s = max(value.value for value in found.values())
    if (value := bound_trade_off(problem, least_s)) is not None:
        found["trade-off"] = value
    if maxima is not None and (value := bound_volume_time(problem, volume[0])) is not None:
        found["volume"] = value
    times = tuple(
        Candidate(
            name,
            "time",
            value.value * (1 - ROUNDING),
            f"{value.witness}: {format_time(value.value)}",
        )
        for name, value in found.items()
    )
    longest = max(times, key=lambda c: c.value)
    counted = (reach, Candidate("volume", "volume", volume[1], volume[2]))
    return StageBounds(
        stages,
        int(reach.value),
        reach.witness,
        longest.value,
        longest.witness,
        stages_class,
        *volume,
        (*counted, *times),
    )


def _check_stages(stages: int | None, maxima: Sequence[int] | None) -> int | None:
    if maxima is not None:
        if stages is not None and stages != len(maxima):
            raise UsageError(
                f"stages = {stages}: {len(maxima)} maxima are given", options=["stages", "maxima"]
            )
        if not all(m >= 0 for m in maxima):
            raise UsageError(
                f"maxima = {list(maxima)}: each must be at least 0", options=["maxima"]
            )
        stages = len(maxima)
    if stages is not None and not 1 <= stages <= MAX_STAGES:
        raise UsageError(f"stages = {stages}: must be from 1 to {MAX_STAGES}", options=["stages"])
    return stages


def least_maxima(reached: int, stages: int | None) -> tuple[int, ...]:
    """Whole numbers m_1 ≥ m_2 ≥ … of the least sum with Π (1 + m_j) ≥ `reached`.

    At most `stages` of them.

    >>> least_maxima(32, 2), least_maxima(32, None)
    ((5, 5), (1, 1, 1, 1, 1))
    """
    if reached <= 1:
        return ()
    if stages is None:
        return (1,) * (reached - 1).bit_length()
    high = reached - 1
    low = 0
    while low + 1 < high:  # the product of equal shares rises with their sum
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if prod(1 + m for m in _shares(middle, stages)) >= reached
            else (middle, high)
        )
    return tuple(m for m in _shares(high, stages) if m)


def _shares(total: int, parts: int) -> list[int]:
    share, rest = divmod(total, parts)
    return [share + 1] * rest + [share] * (parts - rest)


def bound_reach(pattern: Pattern, stages: int | None) -> Candidate:
    """The least sum of stage maxima."""
    pairs = (
        (pattern.source, pattern.target, "sends to"),
        (pattern.target, pattern.source, "receives from"),
    )
    found = []
    for own, other, verb in pairs:
        ranked, rank = rank_partners(own, other, pattern.size, pattern.ranks)
        found.append((int(ranked.size), f"rank {rank} {verb} {count_of(int(ranked.size), 'rank')}"))
    partners, text = max(found, key=lambda each: each[0])
    least = least_maxima(partners + 1, stages)
    growth = " · ".join(str(1 + m) for m in least) if len(least) <= 8 else f"2^{len(least)}"
    return Candidate("reach", "sends", sum(least), f"{text}: {growth} ≥ {partners + 1}")


def bound_volume(
    pattern: Pattern, maxima: Sequence[int], receives: Sequence[int] | None = None
) -> tuple[int, float, str, str]:
    """(bytes · ways [B], the same over the bytes, witness, class) for these stage maxima.

    Of programs with them.

    Args:
        pattern: the messages as the application has them.
        maxima: the most bundles that a rank sends in each stage.
        receives: the most that it receives; None: as many.

    Raises:
        NoScheduleError: with these maxima a rank does not reach all its targets, or is not reached
            by its sources.
    """
    sides = (
        (pattern.source, pattern.target, maxima, "sends to"),
        (pattern.target, pattern.source, maxima if receives is None else receives, "receives from"),
    )
    found = []
    for own, other, most, verb in sides:
        ranked, rank = rank_partners(own, other, pattern.size, pattern.ranks)
        counts = symmetric_sums(most)
        if sum(counts) < ranked.size:
            text = f"rank {rank} {verb} {count_of(int(ranked.size), 'rank')}"
            raise NoScheduleError(
                f"stages of at most {list(most)} bundles a rank reach {sum(counts)} ranks: {text}"
            )
        ways = (
            np.searchsorted(
                np.cumsum(np.minimum(counts, ranked.size)), np.arange(ranked.size), side="right"
            )
            + 1
        )
        total = int((ranked * ways).sum())
        shares = ", ".join(
            f"{count:,} over {count_of(h, 'way')}" for h, count in enumerate(counts[:4], 1)
        )
        more = ", …" if counts[4:] else ""
        text = (
            f"of {count_of(int(ranked.size), 'rank')} that rank {rank} {verb} at most "
            f"{shares}{more}"
        )
        found.append((total, total / max(pattern.bytes, 1), text))
    name = " + ".join(str(m) for m in maxima)
    back = (
        ""
        if receives is None or list(receives) == list(maxima)
        else f", receives {' + '.join(map(str, receives))}"
    )
    total, ratio, text = max(found, key=lambda each: each[0])
    return total, ratio, text, f"programs in which a rank sends at most {name} bundles{back}"


def symmetric_sums(maxima: Sequence[int]) -> list[int]:
    """Elementary symmetric polynomials e_1, …, e_k of the maxima.

    >>> symmetric_sums([3, 7])
    [10, 21]
    """
    sums = [1]
    for m in maxima:
        sums = [a + m * b for a, b in zip([*sums, 0], [0, *sums], strict=True)]
    return sums[1:]
