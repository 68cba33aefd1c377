"""Circles of messages that wait for each other, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conset.simulation.workload import Workload

SHOWN = 8
"""Messages of a circle that are named."""


def circle_words(workload: Workload, stuck: NDArray[np.int32], waits: Sequence[str]) -> str:
    """`message 0 (0 → 2) waits for link 1 → 2 of message 1 (1 → 3), which waits for …`: a circle, closed.

    Args:
        workload: whose messages they are.
        stuck: shape=(circle), int32: each waits for the next, the last for the first.
        waits: what each waits for, as `waits for link 1 → 2 of`.
    """

    def message(m: int) -> str:
        return f"message {m} ({workload.sending_rank[m]} → {workload.receiving_rank[m]})"

    parts = [f"{waits[k]} {message(int(stuck[(k + 1) % stuck.size]))}" for k in range(stuck.size)]
    text = f"{message(int(stuck[0]))} " + ", which ".join(parts[:SHOWN])
    left = len(parts) - SHOWN
    return text if left <= 0 else f"{text}, and so on over {left} more back to message {stuck[0]}"
