"""The problem: Laplace's equation with given values on the boundary, and what each rank gets of it.

-Δu = 0 inside and u = g on the boundary, where g is a harmonic function, so that u = g everywhere;
a mesh without boundary gets -Δu + u = f, which has one solution there, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matrix import Part
from meshes import Mesh
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.pattern.layout import Layout


@dataclass(frozen=True, eq=False)
class Problem:
    """What is solved on a mesh.

    Attributes:
        mesh: of linear elements.
        fixed: shape=(points of the mesh), bool: where the value is given.
        given: shape=(points of the mesh): that value, elsewhere 0.
        load: shape=(points of the mesh): f.
        mass: 1 on a mesh without boundary, else 0.
        exact: shape=(points of the mesh): u where it is known, on flat meshes with a boundary; else
            None.
    """

    mesh: Mesh
    fixed: NDArray[np.bool_]
    given: NDArray[np.float64]
    load: NDArray[np.float64]
    mass: float
    exact: NDArray[np.float64] | None

    @staticmethod
    def laplace(mesh: Mesh) -> Problem:
        """Given values on the whole boundary; the mass term where there is none."""
        points = mesh.points
        used = points[mesh.nodes]
        scaled = (points - used.min(axis=0)) * (2 / np.ptp(used, axis=0).max())
        fixed, sides = np.zeros(len(points), bool), mesh.sides()[0]
        fixed[sides] = True
        harmonic = _harmonic(scaled)
        closed = not len(sides)
        return Problem(
            mesh,
            fixed,
            np.where(fixed, harmonic, 0.0),
            np.cos(np.pi * scaled[:, 0]) if closed else np.zeros(len(points)),
            float(closed),
            harmonic if not closed and points.shape[1] == mesh.dimension else None,
        )

    def part(self, layout: Layout, rank: int) -> Part:
        """What a rank gets: the elements of its part and what stands on their nodes.

        Raises:
            InputError: the layout was made for other elements.
        """
        if layout.part.size != self.mesh.count:
            raise InputError(
                f"{self.mesh.name}: {self.mesh.count} elements, the layout has "
                f"{layout.part.size}: must agree"
            )
        blocks, nodes = self.mesh.select(layout.part == rank), layout.nodes(rank)
        own = np.unique(
            np.concatenate([np.zeros(0, np.int64), *(block.ravel() for block in blocks.values())])
        )
        if not np.array_equal(own, nodes):
            raise InputError(
                f"{self.mesh.name}: elements of part {rank} have other nodes than the layout says"
            )
        return self._piece(
            nodes, {kind: np.searchsorted(nodes, block) for kind, block in blocks.items()}
        )

    def whole(self) -> Part:
        """All of it, as one rank has it."""
        nodes = self.mesh.nodes
        blocks = self.mesh.select(np.ones(self.mesh.count, bool))
        return self._piece(
            nodes, {kind: np.searchsorted(nodes, block) for kind, block in blocks.items()}
        )

    def _piece(self, nodes: NDArray[np.int64], blocks: dict[str, NDArray[np.int64]]) -> Part:
        return Part(
            nodes,
            self.mesh.points[nodes],
            blocks,
            self.fixed[nodes],
            self.given[nodes],
            self.load[nodes],
            self.mass,
        )


def _harmonic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sin 2x sinh 2y in the plane, sin 2x sin 2y sinh √8 z in space, at most 1.

    Points are in [0, 2]^d.
    """
    found: NDArray[np.float64] = np.sin(2 * x[:, :-1]).prod(axis=1) * np.sinh(
        2 * np.sqrt(x.shape[1] - 1) * x[:, -1]
    )
    return found / np.abs(found).max()
