"""What placements save on halo exchanges of finite-element meshes, whole compiles, each schedule
verified.

The meshes are those of the ConSet text as the notes on connection sets regenerate them (section 4):
m11k, 10,000 random and 1,000 evenly spaced boundary points of the unit square; q20k, hexahedra 25 ×
40 × 20. Parts are METIS's, so bounds are asserted, not its exact counts.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.summary import summarize
from conset.machine.spec import parse_machine
from conset.methods import PLACEMENTS
from conset.methods.placements.site import PlacementProblem
from conset.pattern.pattern import Pattern

pymetis = pytest.importorskip("pymetis", reason="pip install 'conset[mesh]' brings METIS")
IWARP = parse_machine("iwarp:8x8")
PARTS = 64


def halo(cells: NDArray[np.int64], neighbours: list[list[int]]) -> Pattern:
    """Bytes from part to part: 8 for every node that both have."""
    _, part_of_cell = pymetis.part_graph(PARTS, adjacency=neighbours)
    has = np.zeros((int(cells.max()) + 1, PARTS), np.int64)
    has[cells.ravel(), np.repeat(np.asarray(part_of_cell), cells.shape[1])] = 1
    shared = has.T @ has
    np.fill_diagonal(shared, 0)
    source, target = np.nonzero(shared)
    return Pattern.from_messages(source, target, 8 * shared[source, target], PARTS)


@pytest.fixture(scope="module")
def m11k() -> Pattern:
    from scipy.spatial import Delaunay

    along, zero = np.arange(250) / 250, np.zeros(250)
    border = [(along, zero), (zero + 1, along), (1 - along, zero + 1), (zero, 1 - along)]
    points = np.concatenate(
        [np.random.default_rng(1).random((10_000, 2)), *(np.stack(side, 1) for side in border)]
    )
    mesh = Delaunay(points)
    assert len(mesh.simplices) == 20_998, "as Table 4 of the text"
    return halo(
        mesh.simplices.astype(np.int64), [[int(c) for c in row if c >= 0] for row in mesh.neighbors]
    )


@pytest.fixture(scope="module")
def q20k() -> Pattern:
    shape = (25, 40, 20)
    node = np.arange(26 * 41 * 21).reshape(26, 41, 21)
    corners = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    cells = np.stack([node[i : 25 + i, j : 40 + j, k : 20 + k].ravel() for i, j, k in corners], 1)
    cell = np.arange(20_000).reshape(shape)
    neighbours: list[list[int]] = [[] for _ in range(20_000)]
    for axis in range(3):
        line = np.moveaxis(cell, axis, 0)
        for one, other in zip(line[:-1].ravel().tolist(), line[1:].ravel().tolist(), strict=True):
            neighbours[one].append(other)
            neighbours[other].append(one)
    return halo(cells, neighbours)


def channels(pattern: Pattern, name: str) -> float:
    problem = PlacementProblem(pattern, IWARP.topology, IWARP.routing)
    return problem.cost(PLACEMENTS[name](problem), "messages")


def test_annealing_cuts_a_quarter_of_the_channels_of_triangles(m11k: Pattern) -> None:
    """Notes, section 4: annealing the sum of hops cuts channels by 25-40 %."""
    numbered = channels(m11k, "identity")
    assert channels(m11k, "annealed") <= 0.75 * numbered
    assert channels(m11k, "bisection") <= 0.85 * numbered
    assert channels(m11k, "annealed") <= 0.6 * channels(m11k, "random")


def test_annealing_saves_a_phase_of_hexahedra(q20k: Pattern) -> None:
    """Notes, section 4, and `result_fem_phases.csv`.

    Q20k in 4 phases of 12 channels as numbered, 3 annealed.
    """
    phases = {}
    for name in ("identity", "annealed", "auto"):
        request = CompileOptions(method="connections", placement=name, objective="phases")
        summary = summarize(compile_pattern(q20k, IWARP, request))
        assert summary["verified"]
        phases[name] = summary["phases"]
    assert phases == {"identity": 4, "annealed": 3, "auto": 3}
    assert channels(q20k, "annealed") <= 0.8 * channels(q20k, "identity")
