"""The pairwise exchanges of Thakur, Choudhary and Fox, and the contention their formulas give them.

pex: pairwise exchange with the partner whose number differs by XOR, on a power of two of ranks.

Problem: a complete exchange (or any part of one) in steps in which every rank exchanges with one partner.
Idea: in step i = 1 … p - 1 rank x exchanges with rank x XOR i. Links may contend: what the machine's excess bandwidth
carries at once need not be taken apart.
Invariant: x ↦ x XOR i is a permutation and its own inverse: one send, one receive, one partner per rank and step.
Contention: on a mesh 2^⌊lg max(i mod c, ⌊i/c⌋)⌋ messages on the busiest link of step i, at most half the longer side:
see `thakur_contention`. On a hypercube none; there `lp`, the same steps, also promises it.
Complexity: O(messages) in time and memory; p - 1 steps.
When to use it: dense patterns on a power of two of ranks where links have bandwidth to spare and exchanges are cheap.
`bounded` needs as many phases at contention ⌈n/4⌉, half of what pex puts on a link.
Departures: the floors in the contention formula, which the scan shows as ceilings; steps without messages vanish, so
a sparse pattern may take fewer.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.1, Figure 1.

pex-gen: pairwise exchange with the XOR partner on any number of ranks; absent partners are skipped.

Problem: as for pex, with a number p of ranks that is no power of two.
Idea: the steps of the next power of two q: in step j = 1 … q - 1 rank x exchanges with x XOR j where that is below p.
Invariant: one send, one receive, one partner per rank and step.
Contention: no formula; it is counted. The text says it never exceeds that of pex; off powers of two it does: 9
against 8 on a 16×14 mesh, 18 against 16 on 16×30, in 62 of 255 and 266 of 511 steps. Where the number of columns is a
power of two it holds.
Complexity: O(messages) in time and memory; q - 1 steps, up to twice p - 1, with many ranks idle where p is just above
q/2.
When to use it: as the text's reference; `gen` takes p - 1 steps, `pex-gen-shift` spreads the idle ranks over all
steps.
Departures: steps without messages vanish.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.2, Figure 2.

pex-gen-shift: pairwise exchange on any number of ranks; those that are missing are spread over all steps.

Problem: pex-gen crowds: where p is just above half of q = 2^⌈lg p⌉, nearly all ranks exchange in its first q/2 - 1
steps, few in the others.
Idea: rank x takes the virtual number v = x + ⌊(q - p)/2⌋, so the numbers that nobody has lie at both ends of 0 … q -
1; in step j = 1 … q - 1 v exchanges with v XOR j where somebody has that number.
Invariant: one send, one receive, one partner per rank and step.
Contention: no formula; it is counted. It exceeds pex's where pex-gen's does (see there).
Complexity: O(messages) in time and memory; at most q - 1 steps.
When to use it: as the text's reference, where exchanges are cheap and p is just below a power of two.
Departures: the text's pseudo-code takes the virtual number modulo p, which breaks the symmetry: partners disagree
about each other and ranks send to themselves. Its words and its example (20 ranks are numbered 6 to 25) need modulo
q, which never acts, as p - 1 + ⌊(q - p)/2⌋ < q. Steps without messages vanish.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.3, Figures 3 and 4.

gen: in step i every rank sends i places up and receives from i places down, on any number of ranks.

Problem: a complete exchange on any number p of ranks in p - 1 steps.
Idea: in step i = 1 … p - 1 rank x sends to (x + i) mod p and receives from (x - i) mod p.
Invariant: x ↦ x + i mod p is a permutation: one send and one receive per rank and step.
Contention: on an r × c mesh max(min(j, c - j), V) messages on the busiest link of step i: see `thakur_contention`.
Complexity: O(messages) in time and memory; p - 1 steps, the fewest any schedule with one send per step has.
When to use it: any number of ranks, on machines where exchanges are not cheaper than other pairs of sends and
receives. On a ring of processes it is what MPI libraries do. `bounded` needs as many phases at contention ⌈n/4⌉, half
of what gen puts on a link.
Departures: the exact contention in place of the text's upper bound; steps without messages vanish.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.4, Figure 5.

Contention of pairwise exchanges by formula: messages on the busiest link of each step, on a mesh.

Ranks stand row-major on an r × c mesh (the text: r rows, c columns), routes take X (the columns) first; step i of a
complete exchange, 1 ≤ i ≤ p - 1, p = r·c. All formulas are held against counted loads on the ten meshes of the text.

PEX, rank x to x XOR i, both sides powers of two. Digits of i in base c are the XOR of columns (i mod c) and of rows
(⌊i/c⌋); in a line, x → x XOR d crosses the middle of every block of 2^(⌊lg d⌋+1) nodes with 2^⌊lg d⌋ messages each
way and no link with more:
    f(i) = 2^⌊lg max(i mod c, ⌊i/c⌋)⌋
Correction: the scan shows ceilings, with which f is too high in 461 of 511 steps of a 16×32 mesh and contradicts the
text's own "limited by max(r, c)/2". Any number of sides that are powers of two: the digits of i in their mixed radix.

GEN, rank x to (x + i) mod p. With j = i mod c and k = ⌊i/c⌋ a row is turned by j, and columns by k, those messages
that wrap around the end of a row by k + 1:
    f(i) = max(min(j, c - j), V),   V = min(k, r - k) where j = 0, else max(min(k, r - k), min(k + 1, r - k - 1))
Correction: the text adds the horizontal and the vertical term. They load different links, so the sum
(`text_gen_contention`) is an upper bound: never too low, too high in 406 of 511 steps on 16×32.

PEX-GEN and PEX-GEN-SHIFT have no formula off powers of two: absent partners leave gaps, and the text's claim that
they stay below PEX in every step is wrong there (9 against 8 on 16×14, 18 against 16 on 16×30). Their loads are
counted.

Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), sections 3.1 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from conset.methods.method import refuse_limits, refuse_order, refuse_shared_nodes, require
from conset.methods.problem import Phases, Problem


def applies_pex(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "pex")
        or refuse_shared_nodes(problem, "pex")
        or refuse_limits(problem, "pex", "send", "receive", "duplex")
        or _refuse_sides(problem)
    )


def schedule_pex(problem: Problem) -> Phases:
    """Step source XOR target of every message, empty steps left out.

    Raises:
        InputError: the ranks, or the sides of a mesh or torus, are no powers of two; two ranks share a node; the
            pattern has an order; links or channels are limited.
    """
    require(applies_pex(problem))
    pattern = problem.pattern
    return Phases.of((pattern.source ^ pattern.target) - 1)


def _refuse_sides(problem: Problem) -> str | None:
    topology = problem.machine.topology
    for side in topology.sides if topology.is_box else ():
        if side & (side - 1):
            return f"method pex requires sides that are powers of two, given {side}: pex-gen takes any"
    ranks = problem.pattern.ranks
    if ranks & (ranks - 1):
        return f"method pex requires a power of two of ranks, given {ranks}: pex-gen takes any"
    return None


def applies_pex_gen(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "pex-gen")
        or refuse_shared_nodes(problem, "pex-gen")
        or refuse_limits(problem, "pex-gen", "send", "receive", "duplex")
    )


def schedule_pex_gen(problem: Problem) -> Phases:
    """Step source XOR target of every message, empty steps left out.

    Raises:
        InputError: two ranks share a node, the pattern has an order, or links or channels are limited.
    """
    require(applies_pex_gen(problem))
    pattern = problem.pattern
    return Phases.of((pattern.source ^ pattern.target) - 1)


def applies_pex_gen_shift(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "pex-gen-shift")
        or refuse_shared_nodes(problem, "pex-gen-shift")
        or refuse_limits(problem, "pex-gen-shift", "send", "receive", "duplex")
    )


def schedule_pex_gen_shift(problem: Problem) -> Phases:
    """Step (source + shift) XOR (target + shift) of every message, empty steps left out.

    Raises:
        InputError: two ranks share a node, the pattern has an order, or links or channels are limited.
    """
    require(applies_pex_gen_shift(problem))
    pattern = problem.pattern
    ranks = pattern.ranks
    shift = np.int32(((1 << (ranks - 1).bit_length()) - ranks) // 2)
    return Phases.of(((pattern.source + shift) ^ (pattern.target + shift)) - 1)


def applies_gen(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "gen")
        or refuse_shared_nodes(problem, "gen")
        or refuse_limits(problem, "gen", "send", "receive")
    )


def schedule_gen(problem: Problem) -> Phases:
    """Step (target - source) mod ranks of every message, empty steps left out.

    Raises:
        InputError: two ranks share a node, the pattern has an order, or links, channels or duplex are limited.
    """
    require(applies_gen(problem))
    pattern = problem.pattern
    return Phases.of((pattern.target - pattern.source) % pattern.ranks - 1)


def pex_contention(sides: Sequence[int]) -> NDArray[np.int64]:
    """shape=(p - 1): entry i - 1 is f(i) of PEX on a mesh of `sides`, all powers of two."""
    step = np.arange(1, prod(sides), dtype=np.int64)
    largest = np.zeros_like(step)
    for side in reversed(sides):
        step, digit = np.divmod(step, side)
        largest = np.maximum(largest, digit)
    return _power_below(largest)


def gen_contention(rows: int, columns: int) -> NDArray[np.int64]:
    """shape=(p - 1): entry i - 1 is f(i) of GEN on a mesh of `rows` × `columns`, exact for any sides."""
    k, j = np.divmod(np.arange(1, rows * columns, dtype=np.int64), columns)
    wrapped = np.minimum(k + 1, rows - k - 1)
    vertical = np.maximum(np.minimum(k, rows - k), np.where(j == 0, 0, wrapped))
    load: NDArray[np.int64] = np.maximum(np.minimum(j, columns - j), vertical)
    return load


def text_gen_contention(rows: int, columns: int) -> NDArray[np.int64]:
    """shape=(p - 1): GEN's f(i) as the text prints it, with whole divisions: an upper bound of the contention."""
    ranks = rows * columns
    step = np.arange(1, ranks, dtype=np.int64)
    j = step % columns
    return np.minimum(j, columns - j) + np.minimum(step // columns, (ranks - step) // columns)


def _power_below(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """The largest power of two not above each value of at least 1."""
    exponent = np.frexp(value.astype(np.float64))[1] - 1
    return np.int64(1) << exponent.astype(np.int64)
