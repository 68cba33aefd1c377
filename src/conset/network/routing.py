"""Routing: which path of links a message takes; a formula where there is one, else a stored table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from conset.arrays import ValueObject, check_offsets, check_range, frozen_ints
from conset.errors import InputError, unknown_name
from conset.network.topology import Topology

Rule = Literal["dimension-order", "no-wrap", "e-cube", "direct", "shortest-path", "table"]
Tie = Literal["parity", "plus", "checker"]

RULES: dict[str, tuple[Rule, ...]] = {
    "mesh": ("dimension-order",),
    "torus": ("dimension-order", "no-wrap"),
    "ring": ("dimension-order", "no-wrap"),
    "hypercube": ("e-cube",),
    "crossbar": ("direct",),
    "graph": ("shortest-path", "table"),
}
"""Rules each kind of network knows; the first is its default."""

MAX_LINKS = 2**31 - 1
"""Most links of any network."""
TIES: tuple[Tie, ...] = ("parity", "plus", "checker")


@dataclass(frozen=True, eq=False)
class Routing(ValueObject):
    """The machine's own rule for paths.

    - `dimension-order` (boxes): the last coordinate first; on a cycle the shorter way; a hop of exactly half a side n
      is a tie. `parity`: up where (source coordinate mod n/2) is even, else down; `plus`: always up; `checker`: up
      from nodes whose coordinates add to an odd number (the ConSet text's message passing).
    - `no-wrap` (torus, ring): as on a mesh; the links that close the cycles stay idle.
    - `e-cube` (hypercube): differing bits from the least significant up.
    - `direct` (crossbar): no links.
    - `shortest-path` (graph): fewest links; among equals the neighbour with the lowest index, node by node.
    - `table` (graph): stored routes; `table_links[table_offsets[s * endpoints + t] : …]` are the links from s to t.

    Attributes:
        rule: one of `RULES[topology.kind]`.
        tie: how a tie on a cycle is broken; ignored where nothing ties.
        table_offsets: `table` only, shape=(endpoints² + 1), int64.
        table_links: `table` only, int32 link ids in order.
    """

    rule: Rule
    tie: Tie = "parity"
    table_offsets: NDArray[np.int64] | None = None
    table_links: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise unknown_name("routing", str(self.rule), get_args(Rule))
        if self.tie not in TIES:
            raise unknown_name("tie", str(self.tie), TIES)
        if (self.rule == "table") != (self.table_offsets is not None and self.table_links is not None):
            raise InputError(f"routing '{self.rule}': a table is required for 'table' and for nothing else")
        if self.table_offsets is not None and self.table_links is not None:
            object.__setattr__(self, "table_offsets", frozen_ints(self.table_offsets, np.int64, "table_offsets"))
            object.__setattr__(self, "table_links", frozen_ints(self.table_links, np.int32, "table_links"))
            check_offsets("table_offsets", self.table_offsets, None, self.table_links.size, "links of routes")
            check_range("table_links", self.table_links, MAX_LINKS)

    @staticmethod
    def default(topology: Topology) -> Routing:
        """The usual rule of a kind of network."""
        return Routing(RULES[topology.kind][0])


def usable_ends(topology: Topology, routing: Routing) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(from, to), shape=(link_slots) each: the links that routes of a compiler's choice may take.

    As `Topology.ends`, but links that close cycles are none where the machine never wraps: they join a node to itself.
    """
    source, target = topology.ends
    if routing.rule == "no-wrap":
        far = np.abs(topology.coordinates[source] - topology.coordinates[target]).max(axis=1, initial=0) > 1
        target = np.where(far, source, target).astype(np.int32)
    return np.ascontiguousarray(source), np.ascontiguousarray(target)
