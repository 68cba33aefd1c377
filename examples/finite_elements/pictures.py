"""Pictures of a result.

The solution and its parts, the convergence and the time of an iteration.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from conjugate_gradients import Solution
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from meshes import Mesh
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from numpy.typing import NDArray

from conset.base.files import replacing

_SHARES = (
    ("product_s", "product", "#4c72b0"),
    ("vectors_s", "vectors", "#a3b8d9"),
    ("exchange_s", "halo exchange", "#c44e52"),
    ("reduction_s", "reductions", "#e3a6a8"),
)


def draw_solution(
    path: Path, mesh: Mesh, part: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    """The solution, and beside it which part an element is of.

    A body in space is cut open in the middle.
    """
    faces, owner = _faces(mesh)
    flat = mesh.points.shape[1] == 2
    figure = plt.figure(figsize=(11, 4.8), layout="constrained")
    norm = Normalize(np.nanmin(values), np.nanmax(values))
    colours = np.array([values[face].mean() for face in faces])
    shown = mpl.cm.ScalarMappable(norm, "viridis")
    parts = mpl.colormaps["tab20"](np.arange(int(part.max()) + 1) % 20)
    shuffled = parts[part[owner]]
    for column, (title, face_colours) in enumerate(
        (("solution u", shown.to_rgba(colours)), ("parts", shuffled))
    ):
        axes = figure.add_subplot(1, 2, column + 1, projection=None if flat else "3d")
        _draw_faces(axes, mesh.points, faces, face_colours)
        axes.set_title(title)
        if column == 0:
            figure.colorbar(shown, ax=axes, shrink=0.8)
    body = "" if flat or mesh.dimension == 2 else ", cut open in the middle"
    figure.suptitle(f"{mesh.name}: {mesh.count:,} elements in {len(parts)} parts{body}")
    _save(figure, path)


def _faces(mesh: Mesh) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """What is seen: all elements of a surface, of a body the sides of its far half.

    And the element of each.
    """
    if mesh.dimension == 2:
        return [element for _, elements in mesh.blocks for element in elements], np.arange(
            mesh.count
        )
    depth = np.concatenate(
        [mesh.points[elements][:, :, 1].mean(axis=1) for _, elements in mesh.blocks]
    )
    low, high = mesh.points[mesh.nodes][:, 1].min(), mesh.points[mesh.nodes][:, 1].max()
    sides, owner = mesh.sides(depth >= (low + high) / 2)
    return list(sides), owner


def _draw_faces(
    axes: Any, points: NDArray[np.float64], faces: list[NDArray[np.int64]], colours: Any
) -> None:
    corners = [points[face] for face in faces]
    if points.shape[1] == 2:
        # edges in the colour of the face: else the background shows between them
        axes.add_collection(
            PolyCollection(corners, facecolors=colours, edgecolors=colours, linewidths=0.2)
        )
        axes.autoscale_view()
        axes.set_aspect("equal")
        return
    axes.add_collection3d(
        Poly3DCollection(corners, facecolors=colours, edgecolors=(0, 0, 0, 0.15), linewidths=0.2)
    )
    seen = points[np.unique(np.concatenate(faces))]
    low, extent = seen.min(axis=0), np.maximum(np.ptp(seen, axis=0), 1e-12)
    for axis, start, size in zip("xyz", low, extent, strict=True):
        getattr(axes, f"set_{axis}lim")(start, start + size)
    axes.locator_params(nbins=4)
    axes.set_box_aspect(np.maximum(extent, extent.max() / 4))
    axes.view_init(25, -75)


def draw_convergence(path: Path, found: Solution, one: Solution, result: dict[str, Any]) -> None:
    """Residuals and estimated errors beside one rank's, and where the time of an iteration goes."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for solution, width, opacity, name in (
        (one, 5.0, 0.35, "1 rank"),
        (found, 1.3, 1.0, f"{result['ranks']} ranks"),
    ):
        left.semilogy(
            solution.residuals, color="#4c72b0", lw=width, alpha=opacity, label=f"residual, {name}"
        )
        left.semilogy(
            solution.errors,
            color="#c44e52",
            lw=width,
            alpha=opacity,
            label=f"estimated error, {name}",
        )
    left.axhline(result["tolerance"], color="black", lw=0.7, ls=":", label="tolerance of the error")
    left.set(xlabel="iteration", ylabel="relative", title="conjugate gradients")
    left.legend(fontsize=8)
    _draw_shares(right, result["ways"])
    right.set_title(f"an iteration on {result['ranks']} ranks")
    figure.suptitle(f"{result['mesh']}: {result['nodes']:,} nodes, {result['entries']:,} entries")
    _save(figure, path)


def _draw_shares(axes: Axes, ways: dict[str, dict[str, float]]) -> None:
    names = list(ways)[::-1]
    ends = np.zeros(len(names))
    for key, label, colour in _SHARES:
        widths = np.array([max(ways[name][key], 0.0) * 1e6 for name in names])
        axes.barh(names, widths, left=ends, color=colour, label=label, height=0.6)
        ends += widths
    axes.set_xlabel("µs, mean of ranks")
    axes.legend(ncols=4, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18))


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=90)
    plt.close(figure)
