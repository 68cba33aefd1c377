"""Wait-for cycles: messages that wait for each other, as a deadlock reports them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conset.network.topology import Topology
from conset.simulation.workload import Workload

SHOWN = 8
"""Messages of a cycle that are named."""


def describe_cycle(workload: Workload, stuck: NDArray[np.int32], waits: Sequence[str]) -> str:
    """`message 0 (0 → 2) waits for link 1 → 2 of message 1 (1 → 3), which waits for …`: a cycle, closed.

    Args:
        workload: whose messages they are.
        stuck: shape=(cycle), int32: each waits for the next, the last for the first.
        waits: what each waits for, as `waits for link 1 → 2 of`.
    """

    def message(m: int) -> str:
        return f"message {m} ({workload.sending_rank[m]} → {workload.receiving_rank[m]})"

    parts = [f"{waits[k]} {message(int(stuck[(k + 1) % stuck.size]))}" for k in range(stuck.size)]
    text = f"{message(int(stuck[0]))} " + ", which ".join(parts[:SHOWN])
    left = len(parts) - SHOWN
    return text if left <= 0 else f"{text}, and so on over {left} more back to message {stuck[0]}"


def place_waits(topology: Topology, places: NDArray[np.int32]) -> list[str]:
    """What each message of a cycle of a fluid model waits for; places as the core numbers them, -1 for a delivery."""
    return [_place_wait(topology, int(place)) for place in places]


def _place_wait(topology: Topology, place: int) -> str:
    slots, nodes = topology.link_slots, topology.nodes
    if place < 0:
        return "waits for the delivery of"
    if place < slots:
        return f"waits for {topology.link_name(place)} of"
    if place < slots + 2 * nodes:
        return f"waits for a receive at {topology.node_name((place - slots) % nodes)} of"
    return f"waits for room in the buffer of {topology.node_name(place - slots - 2 * nodes)} beside"
