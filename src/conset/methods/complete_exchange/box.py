"""Box: a mesh or torus as the constructions see it, with the contention to keep and the bound that follows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from conset import _core

_NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Box:
    """Sides with their links, and how many messages a link may carry in a phase.

    Attributes:
        sides: nodes along each dimension, row-major.
        cycles: which sides close to cycles; none where the routing never wraps, and no side of 2 or less.
        tie: `parity`, `plus` or `checker`: how a hop of exactly half a cycle is directed.
        contention: messages a link may carry in a phase, counting its width; at least 1.
        network: the core's walker of routes.
    """

    sides: tuple[int, ...]
    cycles: tuple[bool, ...]
    tie: str
    contention: int
    network: _core.Network

    @property
    def nodes(self) -> int:
        """N."""
        return prod(self.sides)

    @property
    def messages(self) -> int:
        """N (N - 1): the message from s to t has the index s (N - 1) + t - (t > s)."""
        return self.nodes * (self.nodes - 1)

    @property
    def axes(self) -> tuple[int, ...]:
        """Dimensions with more than one node; the last one where there is none."""
        return tuple(k for k, side in enumerate(self.sides) if side > 1) or (len(self.sides) - 1,)

    @property
    def is_mesh(self) -> bool:
        """Whether no side is a cycle."""
        return not any(self.cycles)

    @property
    def is_torus(self) -> bool:
        """Whether every side of more than 2 nodes is a cycle."""
        return all(cycle or side <= 2 for side, cycle in zip(self.sides, self.cycles, strict=True))

    def is_cube(self) -> bool:
        """Whether all sides are equal."""
        return len(set(self.sides)) == 1

    def stride(self, axis: int) -> int:
        """Distance of neighbours along `axis` in node ids."""
        return prod(self.sides[axis + 1 :])

    def line(self, axis: int) -> _core.Network:
        """One line of nodes along `axis`, as a network of its own."""
        tie = getattr(_core.Tie, self.tie)
        return _core.Network.box(np.array([self.sides[axis]], np.int32), self.cycles[axis], tie)

    @property
    def ties_by_line(self) -> bool:
        """Whether the ties of a line are decided by its own coordinate, or there are none."""
        return self.tie != "checker" or not any(
            c and side % 2 == 0 for side, c in zip(self.sides, self.cycles, strict=True)
        )

    def link_load(self, axis: int) -> int:
        """Messages on the busiest link along `axis`: N/side times what a complete exchange of one line puts on it.

        Path: all pairs across the middle. Cycle, h = side // 2: hops 1 + 2 + … of one direction, and for an even side
        the ties, of which `parity` sends (h + 1) // 2 up over each link. Where ties depend on other lines (`checker`)
        it is the mean over the links, rounded up, which the busiest one does not undercut.
        """
        side, half = self.sides[axis], self.sides[axis] // 2
        lines = self.nodes // side
        if not self.cycles[axis]:
            return lines * half * (side - half)
        if side % 2 == 1:
            return lines * half * (half + 1) // 2
        if self.tie == "plus":
            return lines * (half * (half + 1) // 2)
        return lines * ((half * half + 1) // 2) if self.tie == "parity" else (lines * half * half + 1) // 2

    @cached_property
    def bound(self) -> int:
        """max(N - 1, ⌈largest link load / contention⌉)."""
        if self.nodes == 1:
            return 0
        load = max(self.link_load(k) for k in self.axes)
        return max(self.nodes - 1, -(-load // self.contention))

    def message_ids(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of the messages from `source[k]` to `target[k]`."""
        return source * (self.nodes - 1) + target - (target > source)


def empty() -> NDArray[np.int32]:
    """No entries, where the core takes an optional array."""
    return _NOTHING
