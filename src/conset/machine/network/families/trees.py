"""Trees of switches: fat trees, tapered or not, and leaf and spine.

Both are extended generalized fat trees XGFT(n; m_1 … m_n; w_1 … w_n): a node of level l - 1 has w_l
parents, a switch of level l has m_l children. A subtree of level l holds the endpoints that agree
in their digits above l, and has w_1 · … · w_l switches of level l.

Numbering. Endpoints by their digits, the lowest varying fastest: those of one leaf switch follow
one another. After them the switches level by level; in a level by subtree, in a subtree by choice:
parent x of choice c is choice c · w_l + x, so that the parents of a switch follow one another too.

Source: Öhring, Ibel, Das, Kumar, On generalized fat trees, IPPS 1995, doi:10.1109/IPPS.1995.395911.
Fat trees of k-port switches: Al-Fares, Loukissas, Vahdat, A scalable, commodity data center network
architecture, SIGCOMM 2008, doi:10.1145/1402958.1402967 (3 levels); Lin, Chung, Huang, A multiple
LID routing scheme for fat-tree-based InfiniBand networks, IPDPS 2004,
doi:10.1109/IPDPS.2004.1302913 (any number: 2 · (k/2)^n hosts, (2n - 1) · (k/2)^(n-1) switches).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from conset.base.errors import UsageError
from conset.machine.network.families.parts import Parts, Wires, require_size


def fat_tree(k: int, levels: int, taper: int) -> Parts:
    """A fat tree of switches with `k` ports: 2 · (k/2)^levels hosts, k at one level.

    A leaf switch has k/2 links down and k/2/taper up, so that with a taper it leaves ports without
    a cable; all switches above have k/2 down and k/2 up, those at the top k down. Groups are pods:
    what one top switch sees below each of its ports.

    Raises:
        UsageError: an odd k, or a taper that does not divide k/2.
    """
    half = k // 2
    if k % 2:
        raise UsageError(f"k={k}: half of a switch's ports lead up: must be even")
    if half % taper:
        raise UsageError(f"taper={taper}: must divide the {half} downlinks of a leaf switch (k/2)")
    if levels == 1 and taper > 1:
        raise UsageError(
            f"taper={taper}: a single switch has no uplinks: needs levels of at least 2"
        )
    down = [half] * (levels - 1) + [k]
    up = [1, half // taper, *[half] * (levels - 2)][:levels]
    names = {1: ("switch",), 2: ("leaf", "spine"), 3: ("edge", "agg", "core")}.get(
        levels, tuple(f"level{level}-" for level in range(1, levels + 1))
    )
    return _tree(down, up, names, groups=levels if levels > 1 else 0)


def leaf_spine(leaves: int, spines: int, hosts: int) -> Parts:
    """`leaves` switches with `hosts` hosts each, every one joined to each of `spines` switches.

    A group is a leaf.
    """
    return _tree([hosts, leaves], [1, spines], ("leaf", "spine"), groups=2)


def _tree(down: list[int], up: list[int], names: tuple[str, ...], groups: int) -> Parts:
    """XGFT(n; down; up); groups are the subtrees right below level `groups`."""
    levels = len(down)
    subtrees = [
        prod(down[level:]) for level in range(levels + 1)
    ]  # of each level; those of level 0 are the endpoints
    choices = [prod(up[:level]) for level in range(levels + 1)]
    sizes = [subtrees[level] * choices[level] for level in range(levels + 1)]
    require_size(sum(sizes), sum(sizes[level] * up[level] for level in range(levels)))
    first = np.concatenate([[0], np.cumsum(sizes)])
    wires = []
    for level in range(levels):
        tree, choice, x = np.ogrid[: subtrees[level], : choices[level], : up[level]]
        child = first[level] + tree * choices[level] + choice
        parent = (
            first[level + 1] + tree // down[level] * choices[level + 1] + choice * up[level] + x
        )
        child = np.broadcast_to(child, parent.shape)
        kind = "host" if level == 0 else f"{names[level - 1].rstrip('-')} up"
        wires.append(Wires(kind, child.ravel(), parent.ravel()))
    level_of = np.repeat(np.arange(levels + 1), sizes)
    group = np.full(int(first[-1]), -1)
    for level in range(groups):
        tree = np.repeat(np.arange(subtrees[level]), choices[level])
        group[first[level] : first[level + 1]] = tree // (subtrees[level] // subtrees[groups - 1])
    labels = [
        *_paths(subtrees, 0, "host", down),
        *(
            label
            for level in range(1, levels + 1)
            for label in _switches(
                names[level - 1], subtrees[level], choices[level], _digits(down, level)
            )
        ),
    ]
    return Parts(sizes[0], tuple(wires), tuple(labels), level_of, group)


def _digits(down: list[int], level: int) -> Callable[[int], str]:
    """A subtree of a level in words: its digits, the highest first."""
    radixes = down[level:]

    def words(tree: int) -> str:
        digits = []
        for radix in radixes:
            digits.append(str(tree % radix))
            tree //= radix
        return ".".join(reversed(digits))

    return words


def _paths(subtrees: list[int], level: int, name: str, down: list[int]) -> list[str]:
    words = _digits(down, level)
    return [f"{name}{words(tree)}" for tree in range(subtrees[level])]


def _switches(name: str, subtrees: int, choices: int, words: Callable[[int], str]) -> list[str]:
    """Names of the switches of a level: subtree and choice, each where there is more than one."""
    names = []
    for tree in range(subtrees):
        where = words(tree) if subtrees > 1 else ""
        for choice in range(choices):
            which = str(choice) if choices > 1 or not where else ""
            names.append(name + ".".join(part for part in (where, which) if part))
    return names
