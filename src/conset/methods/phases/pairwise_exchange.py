"""Pairwise exchanges: those of Thakur, Choudhary and Fox, and linear permutations.

They are pex, pex-gen, pex-gen-shift and gen.

Problem: a complete exchange (or any part of one) in steps in which every rank sends to one partner
and receives from one, fast on a mesh whose links are shared: what the machine's excess bandwidth
carries at once need not be taken apart.
Idea: in step i rank x sends to a fixed function of x and i. pex x XOR i, i = 1 … p - 1, on a power
of two of ranks p. pex-gen x XOR i where that is below p, i = 1 … q - 1, q = 2^⌈lg p⌉; absent
partners are skipped. pex-gen-shift as pex-gen, between virtual numbers v = x + ⌊(q - p)/2⌋. pex-gen
crowds: where p is just above q/2, nearly all ranks exchange in its first q/2 - 1 steps, few in the
others. Now the numbers that no rank has lie at both ends of 0 … q - 1, and idle ranks are spread
over all steps. gen (x + i) mod p, and from (x - i) mod p, i = 1 … p - 1, on any number of ranks.
Invariant: each is a permutation of the ranks, so there is one send and one receive per rank and
step; x ↦ x XOR i is its own inverse, so all but gen exchange with one partner.
Complexity: O(messages) in time and memory. p - 1 steps of pex and gen, the fewest of any schedule
with one send per step; at most q - 1 of the others, up to twice p - 1, with many ranks idle where p
is just above q/2.
When to use them: dense patterns, where links have bandwidth to spare: pex where exchanges are
cheap, pex-gen-shift where p is just below a power of two (pex-gen is the text's reference), gen
where exchanges are not cheaper than other pairs of sends and receives; on a ring of processes it is
what MPI libraries do. On a hypercube pex has no contention; there `lp`, the same steps, also
promises it. `bounded` needs as many phases at contention ⌈n/4⌉, half of what pex and gen put on a
link.

Contention f(i): messages on the busiest link of step i of a complete exchange on an r × c mesh (the
text: r rows, c columns), ranks row-major, routes taking X (the columns) first. The formulas are
held against counted loads on the ten meshes of the text.
    pex, both sides powers of two: digits of i in base c are the XOR of columns (i mod c) and of
    rows (⌊i/c⌋); in a line, x → x XOR d crosses the middle of every block of 2^(⌊lg d⌋+1) nodes
    with 2^⌊lg d⌋ messages each way and no link with more, at most half the longer side:
        f(i) = 2^⌊lg max(i mod c, ⌊i/c⌋)⌋
    Any number of sides that are powers of two: the digits of i in their mixed radix. gen: with j =
    i mod c and k = ⌊i/c⌋ a row is turned by j, and columns by k, those messages that wrap around
    the end of a row by k + 1:
        f(i) = max(min(j, c - j), V), V = min(k, r - k) where j = 0, else max(min(k, r - k), min(k +
        1, r - k - 1))
    pex-gen and pex-gen-shift have no formula: absent partners leave gaps, and loads are counted.
    The text says they never exceed those of pex; off powers of two they do: 9 against 8 on a 16×14
    mesh, 18 against 16 on 16×30, in 62 of 255 and 266 of 511 steps. Where the number of columns is
    a power of two it holds.

Departures:
- Steps without messages vanish, so a sparse pattern may take fewer.
- pex: the scan shows ceilings in f, with which it is too high in 461 of 511 steps of a 16×32 mesh
  and contradicts the text's own "limited by max(r, c)/2".
- gen: the text adds the horizontal and the vertical term of f. They load different links, so the
  sum (`text_gen_contention`) is an upper bound: never too low, too high in 406 of 511 steps on
  16×32.
- pex-gen-shift: the text's pseudo-code takes the virtual number modulo p, which breaks the
  symmetry: partners disagree about each other and ranks send to themselves. Its words and its
  example (20 ranks are numbered 6 to 25) need modulo q, which never acts, as p - 1 + ⌊(q - p)/2⌋ <
  q.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), sections
3.1-3.4, Figures 1-5.

lp: linear permutations, pairwise exchanges with the XOR partner.

Problem: cut any pattern on N ranks into phases in which a rank sends to one and receives from one,
its partner.
Idea: in phase k = 1 … 2^⌈lg N⌉ - 1 rank i exchanges with rank i XOR k. Every pair of ranks meets
exactly once, so a message from i to j belongs to phase i XOR j and nothing has to be searched.
Invariant: i ↦ i XOR k is a permutation and its own inverse: one send, one receive, one partner per
rank and phase. On a hypercube with e-cube routes no link is taken twice either: a route that leaves
node u across bit b comes from the one source whose upper bits are those of u and whose bits below b
are those of u XOR k.
Complexity: O(messages) in time and memory.
When to use it: dense patterns, and machines where only an exchange overlaps sending with receiving.
Sparse ones pay nearly all of the 2^⌈lg N⌉ - 1 phases.
Departures: any number of ranks (absent partners are skipped) and phases without messages vanish; a
pair has one message. Ranks need not be on the nodes of their numbers: a placement that is linear
over bits, as Gray code, leaves a hypercube's links free too.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Section 4.1,
Figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from conset.base import Ints, Ints32
from conset.machine import Limits, Topology
from conset.methods.phases.problem import (
    Phases,
    Problem,
    refuse_limits,
    refuse_order,
    refuse_repeated_pairs,
    refuse_shared_nodes,
)


def schedule_pex(problem: Problem) -> Phases:
    """Step source XOR target of every message, empty steps left out; also of `pex-gen`."""
    return _exchange(problem, 0)


def schedule_pex_gen_shift(problem: Problem) -> Phases:
    """Step (source + shift) XOR (target + shift) of every message, empty steps left out."""
    ranks = problem.pattern.ranks
    return _exchange(problem, ((1 << (ranks - 1).bit_length()) - ranks) // 2)


def schedule_gen(problem: Problem) -> Phases:
    """Step (target - source) mod ranks of every message, empty steps left out."""
    pattern = problem.pattern
    return Phases.of((pattern.target - pattern.source) % pattern.ranks - 1)


def _exchange(problem: Problem, shift: int) -> Phases:
    """Step (source + shift) XOR (target + shift) of every message, empty steps left out."""
    source, target = (
        ranks + np.int32(shift) for ranks in (problem.pattern.source, problem.pattern.target)
    )
    return Phases.of((source ^ target) - 1)


def refuse_sides(problem: Problem) -> str | None:
    """Of ranks that are no power of two, or not on sides that are."""
    topology = problem.machine.topology
    for side in topology.sides if topology.is_box else ():
        if side & (side - 1):
            return (
                f"method pex requires sides that are powers of two, given {side}: pex-gen takes any"
            )
    ranks = problem.pattern.ranks
    if ranks & (ranks - 1):
        return f"method pex requires a power of two of ranks, given {ranks}: pex-gen takes any"
    return None


def pex_contention(sides: Sequence[int]) -> Ints:
    """shape=(p - 1): entry i - 1 is f(i) of PEX on a mesh of `sides`, all powers of two."""
    step = np.arange(1, prod(sides), dtype=np.int64)
    largest = np.zeros_like(step)
    for side in reversed(sides):
        step, digit = np.divmod(step, side)
        largest = np.maximum(largest, digit)
    # the largest power of two not above each value of at least 1
    exponent = np.frexp(largest.astype(np.float64))[1] - 1
    return np.int64(1) << exponent.astype(np.int64)


def gen_contention(rows: int, columns: int) -> Ints:
    """Entry i - 1 is f(i) of GEN on a mesh of `rows` × `columns`, exact for any sides.

    shape=(p - 1).
    """
    k, j = np.divmod(np.arange(1, rows * columns, dtype=np.int64), columns)
    wrapped = np.minimum(k + 1, rows - k - 1)
    vertical = np.maximum(np.minimum(k, rows - k), np.where(j == 0, 0, wrapped))
    return np.maximum(np.minimum(j, columns - j), vertical)


def text_gen_contention(rows: int, columns: int) -> Ints:
    """shape=(p - 1): GEN's f(i) as the text prints it, with whole divisions.

    An upper bound of the contention.
    """
    ranks = rows * columns
    step = np.arange(1, ranks, dtype=np.int64)
    j = step % columns
    return np.minimum(j, columns - j) + np.minimum(step // columns, (ranks - step) // columns)


def limits_lp(topology: Topology) -> Limits:
    """One partner per node, and on a hypercube one message per link."""
    return Limits(send=1, receive=1, link=1 if topology.kind == "hypercube" else None)


def applies_lp(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "lp")
        or refuse_shared_nodes(problem, "lp")
        or refuse_limits(problem, "lp", "send", "receive", "link", "duplex")
        or _refuse_links(problem)
        or refuse_repeated_pairs(problem, "lp")
    )


def schedule_lp(problem: Problem) -> Phases:
    """Phase (source XOR target) - 1 of every message, empty phases left out."""
    pattern = problem.pattern
    return Phases.of((pattern.source ^ pattern.target) - np.int32(1))


def _refuse_links(problem: Problem) -> str | None:
    topology = problem.machine.topology
    if problem.limits.link is None or not topology.link_slots:
        return None
    if topology.kind != "hypercube":
        return f"method lp with a limit on links requires a hypercube, given a {topology.kind}"
    if problem.placement is None or _is_linear(problem.placement):
        return None
    return (
        "method lp with a limit on links requires a placement that is linear over bits (identity, "
        "gray), given "
        "another one: place so, or lift the limit (link=none)"
    )


def _is_linear(placement: Ints32) -> bool:
    """Whether node(i) = node(0) XOR the sum of one constant for each bit of i."""
    rank = np.arange(placement.size, dtype=np.int32)
    expected = np.full(placement.size, placement[0])
    for bit in range(int(placement.size - 1).bit_length()):
        expected ^= ((rank >> bit) & 1) * (placement[1 << bit] ^ placement[0])
    return bool(np.array_equal(expected, placement))
