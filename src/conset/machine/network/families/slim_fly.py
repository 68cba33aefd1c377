"""Slim flies: the graphs of McKay, Miller and Širáň, of diameter 2 with 2 q² routers.

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

from itertools import product

import numpy as np

from conset.base.errors import UsageError
from conset.machine.network.families.parts import Ints, Parts, Wires, require_size


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
    for s, steps in enumerate(_steps(q, delta)):
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


def _steps(q: int, delta: int) -> tuple[Ints, Ints]:
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
        found = _powers_of_x([-each % prime for each in low], prime, q)
        if found is not None:
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
