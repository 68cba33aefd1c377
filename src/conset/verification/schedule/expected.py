"""Loads where routes are not known: ports are counted, links and channels expected.

Figures, never violations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from conset.verification.schedule.loads import Measured, measure
from conset.verification.schedule.spread_walks import Floats, SpreadWalk
from conset.verification.schedule.traffic import Groups, Ints, Traffic
from conset.verification.schedule.walks import CrossbarWalk

_TRANSFERS = 1 << 14
"""Of a chunk; a larger group comes in blocks."""


def measure_expected(
    traffic: Traffic, walk: SpreadWalk, groups: Groups, limits: Mapping[str, Any], window: int = 1
) -> Measured:
    """As `measure`, held to the limits of ports.

    `link` and `channels` are the largest expected loads, float64.
    """
    ports = {name: limits.get(name) for name in ("send", "receive")}
    counted = measure(traffic, CrossbarWalk(), groups, ports, window)
    link, channels = np.zeros(groups.count), np.zeros(groups.count)
    for low, high in groups.chunks(groups.count, _TRANSFERS):
        link[low:high], channels[low:high] = _chunk(traffic, walk, groups, low, high)
    return Measured({**counted.peaks, "link": link, "channels": channels}, counted.violations)


def _chunk(
    traffic: Traffic, walk: SpreadWalk, groups: Groups, low: int, high: int
) -> tuple[Floats, Floats]:
    """(largest link load per unit of width, of a node) of the groups `low` to `high` - 1."""
    topology = traffic.topology
    cells: list[tuple[Ints, Floats]] = [(np.zeros(0, np.intp), np.zeros(0))]
    starts = [np.zeros(0, np.intp)]
    for ids, group in groups.blocks(low, high, _TRANSFERS):
        used = traffic.networked(ids)
        ids, group = ids[used], group[used]
        source, target = traffic.source[ids], traffic.target[ids]
        of, carried, amount = walk.expect(group, source, target, np.ones(ids.size))
        cells.append((of * topology.link_slots + carried, amount))
        starts.append(group * topology.nodes + source)
    key, at = np.unique(np.concatenate([key for key, _ in cells]), return_inverse=True)
    amount = np.asarray(
        np.bincount(at, np.concatenate([part for _, part in cells]), key.size), np.float64
    )
    of, carried = key // max(1, topology.link_slots), key % max(1, topology.link_slots)
    link, channels = np.zeros(high - low), np.zeros(high - low)
    np.maximum.at(link, of, amount / topology.widths()[carried])
    begun = np.concatenate(starts)
    place, at = np.unique(
        np.concatenate([begun, of * topology.nodes + topology.ends[1][carried]]),
        return_inverse=True,
    )
    visits = np.bincount(at, np.concatenate([np.ones(begun.size), amount]), place.size)
    np.maximum.at(channels, place // topology.nodes, visits)
    return link, channels
