"""Mixed: each message direct, or along other paths together with others.

Problem: a few ranks have very many messages, or a few messages very many bytes. Paths through a box help the first
and cost the rest, whose bytes then travel several times.
Idea: only messages of a rank with many (at either end) that are small enough leave the direct way.
Complexity: O(messages · stages) time and memory.
When: skewed patterns. When not: all ranks have equally many messages; then all are taken, or none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError
from conset.pattern.pattern import Pattern
from conset.program.paths import Paths


def partners(pattern: Pattern) -> NDArray[np.int64]:
    """shape=(messages), int64: how many messages its source sends or its target receives, the larger."""
    sent = np.diff(pattern.offsets)
    received = np.bincount(pattern.target, minlength=pattern.ranks)
    return np.maximum(sent[pattern.source], received[pattern.target])


def threshold_mix(base: Paths, above: int, up_to: float, *, name: str = "") -> Paths:
    """Messages of busy ranks along given paths, all others direct in the first stage.

    Args:
        base: the paths, of whole messages.
        above: a message takes its path if its source sends, or its target receives, more messages than this,
        up_to: and it has at most so many bytes [B].
        name: for people; "": that of `base` and the thresholds.

    Raises:
        InputError: `base` has parts of messages.
    """
    pattern = base.pattern
    if base.message is not None:
        raise InputError("paths: whole messages required, parts of messages given")
    takes = (partners(pattern) > above) & (pattern.size <= up_to)
    positions = np.array(base.positions, order="F")
    for column in positions.T[1:]:
        column[~takes] = pattern.target[~takes]
    return Paths(pattern, positions, name=name or f"{base.name} above {above}")
