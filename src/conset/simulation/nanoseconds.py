"""The core's clock: it counts in nanoseconds; into it go rounded times, out of it comes a `Timeline` in seconds.

What the models of fluids hand to the core alike stands here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.modes import with_computation
from conset.machine.work import synchronization_s
from conset.network.topology import Topology
from conset.schedule.sync import parse_sync
from conset.simulation.settings import Settings
from conset.simulation.timeline import Rates, Timeline, mean_latency, phase_ends
from conset.simulation.workload import Workload

NS = 1e9
"""Nanoseconds in a second."""


def to_ns(seconds: float) -> float:
    """In nanoseconds, without the last bit of noise: events of one time must meet, and 3e-9 · 1e9 is not 3."""
    return float(f"{seconds * NS:.15g}")


def per_ns(rate: float) -> float:
    """Bytes per nanosecond of a rate [B/s]."""
    return float(f"{rate / NS:.15g}")


def release_ns(workload: Workload) -> NDArray[np.float64]:
    """shape=(messages): release times [ns]; empty where all are released at the start."""
    return np.round(workload.time_s * NS, 6) if workload.time_s.any() else np.zeros(0)


def core_execution(machine: Machine, costs: Costs, settings: Settings, *, in_list: bool) -> _core.Execution:
    """Policy, lists, barriers and set-ups; `in_list`: whether receives go by the list, which a model decides."""
    sync = parse_sync(settings.sync)
    return _core.Execution(
        getattr(_core.Policy, sync.kind), sync.every, settings.in_flight or 0, settings.receives or 0, in_list,
        to_ns(synchronization_s(machine, costs)), costs.first_barrier, to_ns(costs.setup_s),
    )  # fmt: skip


def core_links(topology: Topology, costs: Costs) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """(rates [B/ns], widths) of links: shape=(link_slots) each, or one entry where all are alike."""
    rates = np.array([costs.link_Bps]) if topology.link_rate_Bps is None else topology.link_rate_Bps
    widths = np.array([topology.width], np.int32) if topology.link_width is None else topology.link_width
    return np.array([per_ns(rate) for rate in rates]), widths


def timeline_of(
    result: _core.FlowResult | _core.WormholeResult,
    workload: Workload,
    machine: Machine,
    settings: Settings,
    *,
    model: str,
    elapsed_s: float,
    figures: Mapping[str, Any],
) -> Timeline:
    """What the core of a fluid model says happened; takes the arrays out of `result`."""
    end_s = result.take_end() / NS
    out_busy_s, in_busy_s = result.take_out_busy() / NS, result.take_in_busy() / NS
    node_end_s = np.zeros(out_busy_s.size)
    for ends in (workload.source, workload.target):
        np.maximum.at(node_end_s, ends, end_s)
    beside = with_computation(machine.costs_for(workload.method), node_end_s, np.maximum(out_busy_s, in_busy_s))
    rates = None
    if settings.record:
        rates = Rates(result.take_rate_time() / NS, result.take_rate_message(), result.take_rate() * NS)
    return Timeline(
        model=model,
        sync=settings.sync if workload.phases else "none",
        in_flight=settings.in_flight,
        machine=machine.name,
        start_s=result.take_start() / NS,
        end_s=end_s,
        phase_end_s=phase_ends(workload, end_s),
        link_bytes=result.take_link_bytes(),
        link_busy_s=result.take_link_busy() / NS,
        out_bytes=result.take_out_bytes(),
        out_busy_s=out_busy_s,
        in_bytes=result.take_in_bytes(),
        in_busy_s=in_busy_s,
        mean_latency_s=mean_latency(workload, end_s, workload.crosses),
        held_by=result.take_held_by(),
        events=result.events,
        elapsed_s=elapsed_s,
        workload=workload,
        rates=rates,
        figures={**figures, **beside},
    )
