"""Scaled: the same kind of machine with more nodes, for predictions.

A hypercube gets dimensions, a ring, a crossbar or a line longer; a box grows side by side, the
shortest first, by the factors of the growth: `torus:4x4` for 1,024 ranks is `torus:32x32`. Options
stay. A machine of a file has one size.
"""

from __future__ import annotations

from math import prod

from conset.base.errors import UsageError
from conset.base.units import count_of
from conset.machine.machine import Machine
from conset.machine.network.families.table import FAMILIES
from conset.machine.spec import is_spec, parse_machine

_IN_DIMENSIONS = "hypercube"
"""Of the networks the one whose number is not that of its nodes."""


def scaled_machine(machine: Machine, ranks: int) -> Machine:
    """The machine with a node for each of `ranks`; itself where it has as many.

    >>> scaled_machine(parse_machine("torus:4x8,link=1GB/s"), 1024).name
    'torus:32x32,link=1GB/s'

    Raises:
        UsageError: a machine of a file, or a number of ranks that its kind cannot have.
    """
    nodes = machine.topology.endpoints
    if nodes == ranks:
        return machine
    if not is_spec(machine.name):
        raise UsageError(
            f"predict {ranks}: {machine.name} has {count_of(nodes, 'node')} and is no spec "
            "that could grow"
        )
    head, comma, options = machine.name.partition(",")
    name, _, size = head.partition(":")
    if name in FAMILIES:
        raise UsageError(
            f"predict {ranks}: {machine.name} has {count_of(nodes, 'node')}; its words say how a "
            f"{name} grows"
        )
    if name == _IN_DIMENSIONS:
        if ranks.bit_count() != 1:
            raise UsageError(
                f"predict {ranks}: a hypercube has a power of two nodes", options=["predict"]
            )
        grown = str(ranks.bit_length() - 1)
    else:
        grown = "x".join(map(str, grown_sides([int(side) for side in size.split("x")], ranks)))
    found = parse_machine(f"{name}:{grown}{comma}{options}")
    if found.topology.endpoints != ranks:
        raise UsageError(
            f"predict {ranks}: {found.name} has {count_of(found.topology.endpoints, 'node')}",
            options=["predict"],
        )
    return found


def grown_sides(sides: list[int], nodes: int) -> list[int]:
    """Sides whose product is `nodes`, grown from `sides`.

    Each prime factor of the growth, the largest first, goes to the side that is shortest then.

    >>> grown_sides([4, 8], 4096)
    [64, 64]

    Raises:
        UsageError: `nodes` is no multiple of their product.
    """
    growth, left = divmod(nodes, prod(sides))
    if left or not growth:
        given = "x".join(map(str, sides))
        raise UsageError(
            f"predict {nodes}: must be a multiple of the "
            f"{count_of(prod(sides), 'node')} of {given}",
            options=["predict"],
        )
    grown, factor, factors = list(sides), 2, []
    while growth > 1:
        if growth % factor == 0:
            factors.append(factor)
            growth //= factor
        else:
            factor += 1
    for each in reversed(factors):
        grown[grown.index(min(grown))] *= each
    return grown
