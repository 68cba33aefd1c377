"""Timelines written by hand.

The five times of every message, bytes at one rate from first to last, all figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conset.machine.machine import Machine
from conset.models import Timeline, Workload
from conset.models.settings import Settings
from conset.models.timeline import Rates, mean_latency, phase_ends
from conset.verification.timeline.context import Routes

US = 1e-6


def by_hand(
    work: Workload,
    machine: Machine,
    settings: Settings,
    times_us: Sequence[Sequence[float]],
    model: str = "wormhole",
) -> Timeline:
    """A timeline of rows (slot, send overhead paid, first byte, last byte, delivered) [us], one
    a message."""
    start, sent, first, left, end = np.array(times_us, float).reshape(-1, 5).T * US
    routes = Routes.of(work, machine)
    topology = machine.topology
    hops, crosses = np.diff(routes.offsets), work.crosses
    flows = crosses & (left > first)
    length = np.where(flows, left - first, 0.0)

    def summed(where: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(where, values, count)

    ends = [(work.source[crosses], topology.nodes), (work.target[crosses], topology.nodes)]
    sizes = [summed(node, work.bytes[crosses], count).astype(np.int64) for node, count in ends]

    def busy_at(where: np.ndarray, message: np.ndarray, count: int) -> np.ndarray:
        """As long as all flow, and no longer than from the first slot to the last delivery."""
        first_start, last_end = np.full(count, np.inf), np.zeros(count)
        np.minimum.at(first_start, where, start[message])
        np.maximum.at(last_end, where, end[message])
        span = np.maximum(last_end - first_start, 0)
        return np.minimum(summed(where, length[message], count), span)

    busy = [busy_at(node, np.flatnonzero(crosses), count) for node, count in ends]
    link_busy = busy_at(routes.links, np.repeat(np.arange(hops.size), hops), topology.link_slots)
    m = np.flatnonzero(flows)
    rate = work.bytes[m] / length[m]
    order = np.argsort(np.concatenate([first[m], left[m]]), kind="stable")
    rates = Rates(
        np.concatenate([first[m], left[m]])[order],
        np.tile(m, 2).astype(np.int32)[order],
        np.concatenate([rate, np.zeros(m.size)])[order],
    )
    return Timeline(
        model,
        settings.sync,
        settings.in_flight,
        machine.name,
        start,
        end,
        phase_ends(work, end),
        summed(routes.links, np.repeat(work.bytes, hops), topology.link_slots).astype(np.int64),
        link_busy,
        sizes[0],
        busy[0],
        sizes[1],
        busy[1],
        mean_latency(work, end, crosses),
        workload=work,
        rates=rates,
        sent_s=sent,
        first_byte_s=np.where(flows, first, end),
        left_s=left,
    )


def changed(timeline: Timeline, message: int, **by_us: float) -> Timeline:
    """The same with some of one message's times moved [us], and the figures that follow.

    Keys: slot, sent, first, …
    """
    assert timeline.workload is not None
    names = {
        "slot": "start_s",
        "sent": "sent_s",
        "first": "first_byte_s",
        "left": "left_s",
        "end": "end_s",
    }
    fields = {name: getattr(timeline, name).copy() for name in names.values()}
    for key, by in by_us.items():
        fields[names[key]][message] += by * US
    return shaped(timeline, **fields)


def shaped(timeline: Timeline, **fields: np.ndarray) -> Timeline:
    """The same with other times, its rates and figures those of `by_hand`."""
    work = timeline.workload
    assert work is not None
    times = {
        name: fields.get(name, getattr(timeline, name))
        for name in ("start_s", "sent_s", "first_byte_s", "left_s", "end_s")
    }

    end = times["end_s"]
    flows = work.crosses & (work.bytes > 0)
    m = np.flatnonzero(flows)
    first, left = times["first_byte_s"][m], times["left_s"][m]
    rate = work.bytes[m] / (left - first)
    order = np.argsort(np.concatenate([first, left]), kind="stable")
    rates = Rates(
        np.concatenate([first, left])[order],
        np.tile(m, 2).astype(np.int32)[order],
        np.concatenate([rate, np.zeros(m.size)])[order],
    )
    return replace(
        timeline,
        **times,
        rates=rates,
        phase_end_s=phase_ends(work, end),
        mean_latency_s=mean_latency(work, end, work.crosses),
    )
