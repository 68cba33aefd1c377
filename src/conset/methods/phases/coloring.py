"""coloring: exactly as many phases as the busiest port has messages (bipartite edge colouring).

Problem: cut a pattern into the fewest phases with one send and one receive per node. Senders and
receivers are the two sides of a bipartite multigraph, messages its edges, phases its colours;
König: the largest degree Δ is enough. Idea: make the graph Δ-regular (join nodes of small degree
into one end while their degrees stay within Δ, then fill up with dummy edges) and colour a regular
graph by its degree:
- even: pair the edges at every end, first with second, third with fourth. Both pairings together
  are cycles of even length; every other edge of a cycle goes to either half, two regular graphs of
  half the degree (an Euler partition);
- odd: take a perfect matching off and give it a colour. An alternating path to a free end is found
  by walking at random over unmatched edges forth and matched ones back; its loops left out, it is
  flipped;
- one: that is a colour.
Invariant: every part is a regular graph of degree d on all ends and owns d colours. Complexity:
expected O(messages · (log Δ + log nodes)) in time: halving costs O(messages · log Δ), a matching on
n ends O(n log n) whatever the degree; 20 bytes for each edge in memory, dummies included (at most
messages + 2Δ). When to use it: ports are what limits, and sizes are equal. With unequal sizes it
mixes large and small messages in one phase; with links that contend see first-fit. Departures:
Gabow finds the matchings of odd levels by Hopcroft-Karp, Gabow and Kariv move colour classes
between the halves; random walks are simpler and cheaper in practice on dense rows, and expected
time is all we need. Pairing edges instead of tracing Euler tours halves degrees just as well and
needs neither tours nor adjacency lists. Reference: Gabow: Using Euler partitions to edge color
bipartite multigraphs (doi:10.1007/BF00998632); Goel, Kapralov, Khanna: Perfect matchings in O(n log
n) time in regular bipartite graphs (doi:10.1145/1806689.1806697).
"""

from __future__ import annotations

from conset import _core
from conset.methods.phases.problem import Phases, Problem


def schedule_coloring(problem: Problem) -> Phases:
    """Exactly Δ phases; messages inside a node stand in the first."""
    return Phases.of(
        _core.color_ports(
            problem.nodes, problem.source_node, problem.target_node, problem.search.seed % 2**64
        )
    )
