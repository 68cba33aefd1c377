"""half-duplex: pairs of partners share phases by negotiation.

For nodes that send and receive at once in exchanges.

Problem: a node that sends and receives in one phase does so with one partner (duplex = exchange),
or pays for both in turn, as on the iPSC/860. Cut any pattern into the fewest phases of that kind,
over paths that share no link. Idea: what the hardware does well is a pair: the message from x to y
and the one that comes back are one item, a lone message is one too. An item takes both nodes whole
and all links of both paths. Phases are then a colouring of the undirected multigraph of pairs with
the links as further resources, found by negotiation (see negotiated). Invariant: a node has one
item in a phase, so at most one partner. Complexity: that of negotiated with up to 100 000 · effort
sweeps: sparse patterns are small, cheap to sweep and need many: at d = 4 on the 6-cube 400 sweeps
are 0.9 units above the bound, 10 000 0.05, 100 000 none. Bound: the most distinct partners of a
node (bounds/partners.py), which Vizing's theorem lets a colouring miss by one even without links.
When to use it: machines with half-duplex nodes. Where all nodes send and receive at once anyway,
negotiated is shorter. Guarantee: no more phases than first-fit, nor than lp where lp keeps the same
limits (hypercubes, or no limit on links). Departures: messages of an order stay alone, and so do
two whose paths would meet on a link. Measured: 6-cube, d-regular both ways, 50 seeds: 0.06 phases
above the bound at d = 4, none at 8, 16, 32, 48; rs-nl takes 13.1, 23.0, 40.0, 74.2, 100.9 units of
time and lp 63 phases (benchmarks/bench_negotiated.py). Reference: the machine's rule: Wang, Ranka:
Scheduling of unstructured communication on the Intel iPSC/860, Section 2.2.
"""

from __future__ import annotations

from dataclasses import replace

from conset.machine.limits import Limits
from conset.machine.network.topology import Topology
from conset.methods.phases.first_fit import schedule_first_fit
from conset.methods.phases.lp import applies_lp, schedule_lp
from conset.methods.phases.negotiated import improve
from conset.methods.phases.problem import Phases, Problem


def limits_half_duplex(topology: Topology) -> Limits:
    """One partner per node, and one message per link where there are links."""
    return Limits(send=1, receive=1, link=1 if topology.link_slots else None, duplex="exchange")


def schedule_half_duplex(problem: Problem) -> Phases:
    """The fewest phases of exchanges and lone messages that negotiation, first-fit and lp find."""
    pairs = replace(problem, limits=replace(problem.limits, send=1, receive=1, duplex="exchange"))
    plain = [schedule_first_fit(pairs), *_linear(pairs)]
    return improve(pairs, min(plain, key=lambda phases: phases.offsets.size), exchange=True)


def _linear(problem: Problem) -> list[Phases]:
    """What lp finds where its domain is this problem's."""
    return [schedule_lp(problem)] if applies_lp(problem) is None else []
