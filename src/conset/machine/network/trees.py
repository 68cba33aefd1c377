"""Networks of switches in levels: fat trees, leaf and spine, rails.

Fat trees, tapered or not, and leaf and spine
---------------------------------------------
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

Rails: hosts of GPUs on a fast domain of their own, and a network for each index of a GPU
-----------------------------------------------------------------------------------------
Every GPU has two links: to the fast switch of its host, and to a switch of its rail, which joins
the GPUs of the same index of all hosts. A rail is one switch, or a plane of its own of leaf
switches with `leaf` hosts each and `spines` above. Rails are not joined to each other.

Routes, with the rule `dmodk` as by default: GPUs of a host meet over its fast switch; those of one
index over their rail; others first go through the fast domain to the GPU of the sender's host that
has the target's index, and from there over its rail (as NCCL's PXN does), which uses that GPU's
links and never a second fast domain.

Numbering. GPUs by host and index, then the fast switches by host, then the switches of the rails:
by rail the leaf switches, then by rail the spines. Level 1 is a fast switch, 2 a rail or its leaf,
3 a spine; a group is a host.

Source: rail-optimized networks as in NVIDIA, DGX H100 SuperPOD reference architecture, 2023; Wang
et al., Rail-only: a low-cost high-performance network for training LLMs with trillion parameters,
HOTI 2024, doi:10.1109/HOTI63208.2024.00013; PXN: NVIDIA, Doubling all2all performance with NCCL
2.12, 2022.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from conset.base import UsageError
from conset.machine.network.family import Family, Parameter, Parts, Wires, require_size


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
    labels = [f"host{_digits(tree, down)}" for tree in range(sizes[0])]
    for level in range(1, levels + 1):
        for at, number in product(range(subtrees[level]), range(choices[level])):
            where = _digits(at, down[level:]) if subtrees[level] > 1 else ""
            which = str(number) if choices[level] > 1 or not where else ""
            labels.append(names[level - 1] + ".".join(part for part in (where, which) if part))
    return Parts(sizes[0], tuple(wires), tuple(labels), level_of, group)


def _digits(tree: int, radixes: list[int]) -> str:
    """A subtree by its digits, the highest first."""
    digits = []
    for radix in radixes:
        digits.append(str(tree % radix))
        tree //= radix
    return ".".join(reversed(digits))


def rails(hosts: int, gpus: int, leaf: int | None, spines: int) -> Parts:
    """`hosts` of `gpus` each.

    Rails of one switch each, or of leaf switches with `leaf` hosts and `spines` above them.

    Raises:
        UsageError: several leaf switches without a spine, spines above a single switch, or leaves
            of unlike size.
    """
    leaf = hosts if leaf is None else leaf
    if hosts % leaf:
        raise UsageError(
            f"leaf={leaf}: must divide the {hosts} hosts, so that leaf switches are alike"
        )
    leaves = hosts // leaf
    if leaves > 1 and spines == 0:
        raise UsageError(f"spines=0: the {leaves} leaf switches of a rail need at least 1")
    if leaves == 1 and spines:
        raise UsageError(
            f"spines={spines}: a rail of one switch has none; leaf={leaf} must be below the "
            f"{hosts} hosts"
        )
    endpoints, fast = hosts * gpus, hosts
    require_size(
        endpoints + fast + gpus * (leaves + spines), 2 * endpoints + gpus * leaves * spines
    )
    host, index = np.divmod(np.arange(endpoints), gpus)
    leaf_first, spine_first = endpoints + fast, endpoints + fast + gpus * leaves
    rail, under, above = (part.ravel() for part in np.indices((gpus, leaves, spines)))
    rail_names = [
        f"rail{r}" if leaves == 1 else f"rail{r}.leaf{number}"
        for r in range(gpus)
        for number in range(leaves)
    ]
    spine = (
        Wires("spine", leaf_first + rail * leaves + under, spine_first + rail * spines + above),
    )
    return Parts(
        endpoints,
        (
            Wires("fast", np.arange(endpoints), endpoints + host),
            Wires("rail", np.arange(endpoints), leaf_first + index * leaves + host // leaf),
            *(spine if spines else ()),
        ),
        (
            *(f"gpu{h}.{r}" for h in range(hosts) for r in range(gpus)),
            *(f"fast{h}" for h in range(hosts)),
            *rail_names,
            *(f"rail{r}.spine{number}" for r in range(gpus) for number in range(spines)),
        ),
        np.repeat([0, 1, 2, 3], [endpoints, fast, gpus * leaves, gpus * spines]),
        np.concatenate([host, np.arange(hosts), np.full(gpus * (leaves + spines), -1)]),
    )


FAT_TREE = Family(
    "fat-tree",
    "a fat tree of switches with k ports: 2 (k/2)^levels hosts, k³/4 at three levels",
    (
        Parameter("k", 8, "ports of a switch, even", 2, 2048),
        Parameter("levels", 3, "levels of switches", 1, 8),
        Parameter("taper", 1, "downlinks over uplinks of a leaf switch; divides k/2", quiet=True),
    ),
    fat_tree,
    "dmodk",
    group="pod",
)
LEAF_SPINE = Family(
    "leaf-spine",
    "leaf switches with hosts, each joined to every spine switch",
    (
        Parameter("leaves", 8, "leaf switches"),
        Parameter("spines", 4, "spine switches: uplinks of a leaf, one to each"),
        Parameter("hosts", 16, "hosts of a leaf switch"),
    ),
    leaf_spine,
    "dmodk",
    group="",
)
RAILS = Family(
    "rails",
    "hosts of GPUs on a fast domain each, and one switch, or plane of switches, per index of a GPU",
    (
        Parameter("hosts", 8, "hosts"),
        Parameter("gpus", 8, "GPUs of a host: rails"),
        Parameter("leaf", None, "hosts of a leaf switch of a rail; all of them"),
        Parameter(
            "spines", 0, "spine switches of a rail; none where it is one switch", 0, quiet=True
        ),
    ),
    rails,
    "dmodk",
    "9x;1x;1x",
    plan="hosts",
    group="host",
)
