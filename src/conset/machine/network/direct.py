"""Networks of routers that are joined to each other, without levels of switches above them.

Dragonflies: groups of routers, all joined inside a group, all groups joined
----------------------------------------------------------------------------
Numbering. Nodes by group, router and place; then routers by group and place: router r of group i is
`router<i>.<r>`.

Global links. Every two groups are joined by the same number of links, `joins`: as many as the
routers' global ports bear, ⌊routers · global / (groups - 1)⌋, or as stated; ports beyond routers
and joins stay without a cable. In group i the link to group i + d (modulo the groups), copy c of
it, has place c · (groups - 1) + d - 1; places are dealt to the routers in order and evenly: router
⌊place · routers / (joins · (groups - 1))⌋, so that router loads differ by one at most. With one
join that is the relative layout, in which link d of a group meets link groups - d of the other.
Where two routers are joined more than once, the link is that much wider.

Source: Kim, Dally, Scott, Abts, Technology-driven, highly-scalable dragonfly topology, ISCA 2008,
doi:10.1109/ISCA.2008.19: p nodes, a routers, h global links a router, g ≤ a · h + 1 groups; layouts
after Hastings et al., Comparing global link arrangements for dragonfly networks, CLUSTER 2015,
doi:10.1109/CLUSTER.2015.57.

HyperX and express meshes
-------------------------
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

Slim flies: the graphs of McKay, Miller and Širáň, of diameter 2 with 2 q² routers
----------------------------------------------------------------------------------
Routers are (s, x, y) with s of 0 and 1 and x, y of the field with q elements, q = 4w + δ a prime
power, δ of -1, 0, 1:

- (0, x, y) and (0, x, y') are joined where y - y' is in X, (1, m, c) and (1, m, c') where c - c' is
  in X';
- (0, x, y) and (1, m, c) are joined where y = m x + c.

With ξ a primitive element: X = {1, ξ², …, ξ^(q-3)} and X' = {ξ, ξ³, …, ξ^(q-2)} for δ = 1; the same
up to ξ^(q-2) and ξ^(q-1) for δ = 0; X = {1, ξ², …, ξ^(2w-2), ξ^(2w-1), ξ^(2w+1), …, ξ^(4w-3)} and
X' = ξ X for δ = -1. A router has (3q - δ)/2 links to others. Full bandwidth needs about half as
many nodes at each.

Numbering. Nodes by router and place, routers by s, x, y, where an element of the field is the
number of its coefficients: a_0 + a_1 p + a_2 p² …; of a prime q the number itself. A group is what
shares x (a rack of the source).

Source: McKay, Miller, Širáň, A note on large graphs of diameter two and given maximum degree, J.
Combin. Theory B 74 (1998), doi:10.1006/jctb.1998.1828; Hafner, Geometric realisation of the graphs
of McKay-Miller-Širáň, same journal 90 (2004), doi:10.1016/j.jctb.2003.07.002; Besta, Hoefler, Slim
Fly, SC 2014, doi:10.1109/SC.2014.34.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from conset.base import Ints, UsageError
from conset.machine.network.family import Family, Parameter, Parts, Wires, require_size


def dragonfly(
    groups: int, routers: int, nodes: int, global_links: int | None, joins: int | None
) -> Parts:
    """`groups` of `routers` with `nodes` each.

    `global_links` of each router, `joins` between every two groups.

    Raises:
        UsageError: too few global links to join all groups, or as often as stated.
    """
    others = groups - 1
    if global_links is None:
        global_links = -(-others * (joins or 1) // routers)
    most = routers * global_links // others if others else 0
    if others and most < (joins or 1):
        raise UsageError(
            f"global={global_links}: {routers * global_links} global links a group, at "
            f"least {others * (joins or 1)} required to join each of {others} other groups "
            f"{'once' if (joins or 1) == 1 else f'{joins} times'}"
        )
    joins = joins or most
    switches = groups * routers
    wires = switches * nodes + groups * routers * (routers - 1) // 2 + groups * others // 2 * joins
    require_size(switches * (nodes + 1), wires)
    endpoints = switches * nodes
    router = endpoints + np.arange(switches).reshape(groups, routers)
    low, high = np.triu_indices(routers, 1)
    i, d, copy = (part.ravel() for part in np.indices((groups, others, joins)))
    d = d + 1
    j = (i + d) % groups
    once = i < j
    i, j, d, copy = i[once], j[once], d[once], copy[once]

    def at(offset: Ints) -> Ints:
        return (copy * others + offset - 1) * routers // max(1, joins * others)

    return Parts(
        endpoints,
        (
            Wires("node", np.arange(endpoints), np.repeat(router.ravel(), nodes)),
            Wires("local", router[:, low].ravel(), router[:, high].ravel()),
            Wires("global", router[i, at(d)], router[j, at(groups - d)]),
        ),
        (
            *(
                f"node{g}.{r}.{p}"
                for g in range(groups)
                for r in range(routers)
                for p in range(nodes)
            ),
            *(f"router{g}.{r}" for g in range(groups) for r in range(routers)),
        ),
        np.repeat([0, 1], [endpoints, switches]),
        np.concatenate([np.arange(endpoints) // (routers * nodes), np.arange(switches) // routers]),
    )


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
    near = [_pairs_at(node, k, np.arange(side - 1), 1) for k, side in enumerate(sides)]
    far = [
        _pairs_at(node, k, np.arange(0, max(0, side - interval), interval), interval)
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


def _pairs_at(node: Ints, axis: int, at: Ints, step: int) -> tuple[Ints, Ints]:
    """The nodes at some coordinates of an axis, and those so many further on."""
    return np.take(node, at, axis=axis).ravel(), np.take(node, at + step, axis=axis).ravel()


def _names(sides: tuple[int, ...]) -> list[str]:
    return [".".join(map(str, at)) for at in np.ndindex(*sides)]


def _require_few(sides: tuple[int, ...]) -> None:
    if len(sides) > MOST_SIDES:
        raise UsageError(
            f"sides={'x'.join(map(str, sides))}: {len(sides)} sides, at most {MOST_SIDES}"
        )


def slim_fly(q: int, nodes: int) -> Parts:
    """2 q² routers with `nodes` at each.

    Raises:
        UsageError: q is no prime power, or 2.
    """
    routers = 2 * q * q
    require_size(routers * (nodes + 1), routers * nodes + routers * (3 * q + 1) // 4)
    power, prime = field_of(q)
    delta = {0: 0, 1: 1, 3: -1}[q % 4]
    element = np.arange(q)
    endpoints = routers * nodes

    def router(s: int, x: Ints, y: Ints) -> Ints:
        return endpoints + (s * q + x) * q + y

    x, y = (each.ravel() for each in np.meshgrid(element, element, indexing="ij"))
    inside = []
    for s, steps in enumerate(_exponents(q, delta)):
        for step in power[steps]:
            other = add(y, step, prime, q)
            once = y < other  # X and X' hold the negative of each of their elements
            inside.append((router(s, x[once], y[once]), router(s, x[once], other[once])))
    m, at, c = (each.ravel() for each in np.meshgrid(element, element, element, indexing="ij"))
    between = router(0, at, add(times(m, at, power), c, prime, q)), router(1, m, c)
    places = np.arange(routers)
    names = [f"{s}.{x}.{y}" for s, x, y in product(range(2), range(q), range(q))]
    group = places // q % q
    return Parts(
        endpoints,
        (
            Wires("node", np.arange(endpoints), endpoints + np.repeat(places, nodes)),
            Wires("inside", *(np.concatenate([pair[end] for pair in inside]) for end in (0, 1))),
            Wires("between", *between),
        ),
        (
            *(f"node{name}.{p}" for name in names for p in range(nodes)),
            *(f"router{name}" for name in names),
        ),
        np.repeat([0, 1], [endpoints, routers]),
        np.concatenate([np.repeat(group, nodes), group]),
    )


def _exponents(q: int, delta: int) -> tuple[Ints, Ints]:
    """Exponents of ξ in X and X'."""
    if delta >= 0:
        even = np.arange(0, q - 1 - delta + 1, 2)[: (q - delta) // 2]
        return even, even + 1
    w = (q + 1) // 4
    own = np.concatenate([np.arange(0, 2 * w - 1, 2), np.arange(2 * w - 1, 4 * w - 2, 2)])
    return own, own + 1


def field_of(q: int) -> tuple[Ints, int]:
    """(powers of a primitive element, characteristic) of the field with q elements.

    Power k is entry k mod q - 1.

    The element is x modulo the first polynomial that makes it primitive, or the least primitive
    root of a prime.

    Raises:
        UsageError: q is no prime power of at least 3.
    """
    prime = next((p for p in range(2, q + 1) if q % p == 0), 1)
    degree = 1
    while prime**degree < q:
        degree += 1
    if q < 3 or prime**degree != q:
        raise UsageError(f"q={q}: must be a prime power of at least 3 (4w - 1, 4w or 4w + 1)")
    if degree == 1:
        for root in range(2, q):
            powers = [1]
            while (following := powers[-1] * root % q) != 1:
                powers.append(following)
            if len(powers) == q - 1:
                return np.resize(powers, q), prime
    for low in product(range(prime), repeat=degree):  # x^degree = - low[0] - low[1] x - …
        if (found := _powers_of_x([-each % prime for each in low], prime, q)) is not None:
            return np.resize(found, q), prime
    raise AssertionError("every finite field has a primitive polynomial")


def _powers_of_x(top: list[int], prime: int, q: int) -> list[int] | None:
    """Powers of x where x^degree = top, from 1 on; None where they are not all elements but 0."""
    element = [1] + [0] * (len(top) - 1)
    numbers = []
    seen = set()
    for _ in range(q - 1):
        number = sum(each * prime**k for k, each in enumerate(element))
        if number in seen or number == 0:
            return None
        seen.add(number)
        numbers.append(number)
        carry = element[-1]
        element = [
            (below + carry * each) % prime
            for below, each in zip([0, *element[:-1]], top, strict=True)
        ]
    return numbers


def add(one: Ints, other: Ints, prime: int, q: int) -> Ints:
    """Sums of elements: coefficient by coefficient."""
    total, unit = np.zeros_like(one), 1
    while unit < q:
        total = total + (one // unit + other // unit) % prime * unit
        unit *= prime
    return total


def times(one: Ints, other: Ints, power: Ints) -> Ints:
    """Products of elements, by logarithms."""
    q = power.size
    logarithm = np.zeros(q, np.int64)
    logarithm[power[: q - 1]] = np.arange(q - 1)
    both = power[(logarithm[one] + logarithm[other]) % (q - 1)]
    return np.where((one == 0) | (other == 0), 0, both)


_NODES = Parameter("nodes", 2, "nodes of a router")
DRAGONFLY = Family(
    "dragonfly",
    "groups of routers, all joined inside a group, and all groups joined",
    (
        Parameter("groups", 9, "groups"),
        Parameter("routers", 4, "routers of a group"),
        _NODES,
        Parameter(
            "global",
            None,
            "global links of a router; what joins all groups",
            argument="global_links",
        ),
        Parameter(
            "joins", None, "links between every two groups; as many as the global links bear"
        ),
    ),
    dragonfly,
    plan="rings",
)
HYPERX = Family(
    "hyperx",
    "routers on a lattice, all joined along each dimension",
    (Parameter("sides", (4, 4), "routers along each dimension", 1, 4096), _NODES),
    hyperx,
    plan="grid",
)
SLIM_FLY = Family(
    "slim-fly",
    "2 q² routers of diameter 2 (McKay, Miller, Širáň)",
    (Parameter("q", 5, "a prime power of at least 3", 3, 1024), replace(_NODES, default=1)),
    slim_fly,
    plan="blocks",
)
EXPRESS_MESH = Family(
    "express-mesh",
    "a mesh with links that bypass some nodes",
    (
        Parameter("sides", (8, 8), "nodes along each dimension", 1, 2**20),
        Parameter("interval", 4, "nodes from one end of a bypass to the other", 2),
    ),
    express_mesh,
    plan="grid",
)
