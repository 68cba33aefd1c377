"""HyperX: routers on a lattice, those that differ in one coordinate all joined.

Express meshes: a mesh with bypasses.

HyperX. Nodes by router and place, routers row-major, the last coordinate varying fastest. A route
needs one link for each coordinate that differs. `widths` has the nodes' links and then each
dimension's, so that `1;2;1` joins routers of the first dimension twice (the relative bandwidths K_k
of the source). A group holds what shares the first coordinate.

Source: Ahn, Binkert, Davis, McLaren, Schreiber, HyperX: topology, routing, and packaging of
efficient large-scale networks, SC 2009, doi:10.1145/1654059.1654101. A side of 2 in all dimensions
is a hypercube, one dimension a full mesh.

Express mesh. Nodes are their own routers, as of a mesh: numbered row-major, named by their
coordinates, all of level 0. Beside the links of the mesh, nodes whose coordinate in a dimension is
a multiple of `interval` (interchanges) have an express link to the next such node of that
dimension; an end of a side that is no multiple has none. A group is what shares the first
coordinate.

Source: Dally, Express cubes: improving the performance of k-ary n-cube interconnection networks,
IEEE Transactions on Computers 40 (1991), doi:10.1109/12.83652, with interchanges inside the nodes,
on a mesh.
"""

from __future__ import annotations

from math import prod

import numpy as np

from conset.base.errors import UsageError
from conset.machine.network.families.parts import Ints, Parts, Wires, require_size

MOST_SIDES = 8


def hyperx(sides: tuple[int, ...], nodes: int) -> Parts:
    """Routers on a lattice with these sides, `nodes` at each.

    Raises:
        UsageError: more sides than a spec may have.
    """
    _require_few(sides)
    routers = prod(sides)
    endpoints = routers * nodes
    require_size(routers + endpoints, endpoints + routers * sum(side - 1 for side in sides) // 2)
    router = endpoints + np.arange(routers).reshape(sides)
    wires = [Wires("node", np.arange(endpoints), np.repeat(router.ravel(), nodes))]
    for k, side in enumerate(sides):
        low, high = np.triu_indices(side, 1)
        wires.append(
            Wires(
                f"dimension {k}",
                np.take(router, low, axis=k).ravel(),
                np.take(router, high, axis=k).ravel(),
            )
        )
    names = _names(sides)
    group = np.arange(routers) // (routers // sides[0])
    return Parts(
        endpoints,
        tuple(wires),
        (
            *(f"node{name}.{p}" for name in names for p in range(nodes)),
            *(f"router{name}" for name in names),
        ),
        np.repeat([0, 1], [endpoints, routers]),
        np.concatenate([np.repeat(group, nodes), group]),
    )


def express_mesh(sides: tuple[int, ...], interval: int) -> Parts:
    """A mesh with links that bypass `interval` - 1 nodes.

    Raises:
        UsageError: more sides than a spec may have, or none that is longer than the interval.
    """
    _require_few(sides)
    if max(sides) <= interval:
        raise UsageError(
            f"interval={interval}: no side of {'x'.join(map(str, sides))} is long "
            "enough for a bypass"
        )
    nodes = prod(sides)
    require_size(nodes, 2 * nodes * len(sides))
    node = np.arange(nodes).reshape(sides)
    near = [_steps(node, k, np.arange(side - 1), 1) for k, side in enumerate(sides)]
    far = [
        _steps(node, k, np.arange(0, max(0, side - interval), interval), interval)
        for k, side in enumerate(sides)
    ]
    return Parts(
        nodes,
        tuple(
            Wires(kind, *(np.concatenate([each[end] for each in wires]) for end in (0, 1)))
            for kind, wires in (("mesh", near), ("express", far))
        ),
        tuple(f"node{name}" for name in _names(sides)),
        np.zeros(nodes, np.int64),
        np.arange(nodes) // (nodes // sides[0]),
    )


def _steps(node: Ints, axis: int, at: Ints, step: int) -> tuple[Ints, Ints]:
    """The nodes at some coordinates of an axis, and those so many further on."""
    return np.take(node, at, axis=axis).ravel(), np.take(node, at + step, axis=axis).ravel()


def _names(sides: tuple[int, ...]) -> list[str]:
    return [".".join(map(str, at)) for at in np.ndindex(*sides)]


def _require_few(sides: tuple[int, ...]) -> None:
    if len(sides) > MOST_SIDES:
        raise UsageError(
            f"sides={'x'.join(map(str, sides))}: {len(sides)} sides, at most {MOST_SIDES}"
        )
