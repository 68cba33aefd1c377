"""Dragonflies: groups of routers, all joined inside a group, and all groups joined to each other.

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
"""

from __future__ import annotations

import numpy as np

from conset.base.errors import UsageError
from conset.machine.network.families.parts import Ints, Parts, Wires, require_size


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
        given = f"{routers * global_links} global links a group"
        raise UsageError(
            f"global={global_links}: {given}, at least {others * (joins or 1)} required to "
            "join each of "
            f"{others} other groups {'once' if (joins or 1) == 1 else f'{joins} times'}"
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
        place: Ints = (copy * others + offset - 1) * routers // max(1, joins * others)
        return place

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
