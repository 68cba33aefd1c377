"""Rails: hosts of GPUs on a fast domain of their own, and a network for each index of a GPU.

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

import numpy as np

from conset.base.errors import UsageError
from conset.machine.network.families.parts import Parts, Wires, require_size


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
