"""Answers: what a machine with given words takes for a probe, by a model of simulation.

And an emulated prober.

The emulated prober answers as a machine whose words are known, with noise: what a calibration finds
can be held against the truth. It is also what `conset calibrate --emulate MACHINE` asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import NoScheduleError
from conset.machine.costs import Synchronization
from conset.machine.machine import Machine
from conset.machine.times import transfer_times
from conset.models.nanoseconds import NS, core_execution, core_messages, core_rates, core_stops
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.studies.calibrate.measurements import Measurements
from conset.studies.calibrate.probes import Probe


@lru_cache(maxsize=1024)
def _workload(probe: Probe) -> Workload:
    return Workload.of_schedule(probe.schedule)


def answer(probe: Probe, machine: Machine, model: str | None = None) -> float:
    """What a probe takes on a machine [s]; `model` None: the machine's own.

    Infinite where it deadlocks.
    """
    costs = machine.costs
    if probe.late_s:
        return _late(probe, machine)
    if probe.sync.startswith("barrier"):
        costs = replace(
            costs, synchronization=Synchronization(costs.synchronization.at(probe.ranks))
        )
        machine = replace(machine, costs=costs)
    workload = _workload(probe)
    settings = Settings.of(costs, sync=probe.sync)
    try:
        timeline = find_model(model or costs.model).simulate(workload, machine, settings)
    except NoScheduleError:
        return float("inf")
    ends = timeline.end_s
    if probe.watch is not None:
        ends = ends[workload.receiving_rank == probe.watch]
    return float(ends.max())


def flow_times(probes: Sequence[Probe], machine: Machine) -> NDArray[np.float64]:
    """shape=(probes): what each takes by `flow` [s].

    As `answer`, for fits, which ask thousands of times.
    """
    costs = machine.costs
    settings = Settings.of(costs)
    times = np.empty(len(probes))
    for k, probe in enumerate(probes):
        workload, messages = _workload(probe), _messages(probe)
        execution = core_execution(workload, machine, costs, settings, in_list=True)
        rates = core_rates(workload, machine, costs)
        result = _core.simulate_flow(
            messages, execution, rates, rtt=False, rtt_latency=0.0, **core_stops(settings)
        )
        times[k] = result.end.max() / NS
    return times


@lru_cache(maxsize=1024)
def _messages(probe: Probe) -> _core.Messages:
    return core_messages(_workload(probe), probe.schedule.machine)


def answers(probes: Sequence[Probe], machine: Machine, model: str | None = None) -> list[float]:
    """What each probe takes [s]."""
    return [answer(probe, machine, model) for probe in probes]


def _late(probe: Probe, machine: Machine) -> float:
    """When the sender of a probe with a late receive has ended.

    At once where the message is eager [s].

    Steps 3 to 6 of a message's life, the bytes held until the receive is there where the message is
    longer than the threshold.
    """
    schedule, costs = probe.schedule, machine.costs
    times = transfer_times(
        machine, costs, schedule.source_node, schedule.target_node, schedule.size
    )
    alone = float(times.alone[0]) - costs.receive_overhead.at(probe.size)
    eager = costs.eager_B is not None and probe.size <= costs.eager_B
    return alone if eager else probe.late_s + alone


def emulate(
    probes: Sequence[Probe],
    machine: Machine,
    *,
    structure: Machine,
    quick: bool,
    large: int,
    alone_s: float,
    rate_Bps: float,  # noqa: N803
    repeat: int = 9,
    noise: float = 0.02,
    seed: int = 0,
) -> Measurements:
    """Times of probes on an emulated machine.

    Args:
        probes: what is asked.
        machine: whose words are the truth.
        structure: what a user would state of it.
        quick: as in `Measurements`, and the next three.
        large: the longest message.
        alone_s: of the first look.
        rate_Bps: of the first look.
        repeat: repetitions.
        noise: standard deviation of the logarithm of a time; one repetition in twenty takes up to
            twice as long.
        seed: of the noise.
    """
    random = np.random.default_rng(seed)
    times: dict[str, tuple[float, ...]] = {}
    jitter = machine.costs.jitter_s
    still = replace(machine, costs=replace(machine.costs, jitter_s=0.0))
    for probe in probes:
        lone = jitter > 0 and probe.series == "chain"
        # a time of 0 has no logarithm, and no clock shows one
        truth = np.maximum(answer(probe, still if lone else machine), 1e-9)
        if lone:  # chance is drawn anew for each message; a simulation has one draw for a pair
            truth = truth + random.gamma(probe.schedule.transfers, jitter, repeat)
        late = random.random(repeat) < 0.05
        factor = np.exp(random.normal(0.0, noise, repeat)) * np.where(
            late, 1 + random.random(repeat), 1.0
        )
        times[probe.name] = tuple((truth * factor).tolist())
    ranks = max(probe.ranks for probe in probes)
    return Measurements(
        structure.to_spec(),
        ranks,
        f"emulated: {machine.name}",
        times,
        quick,
        large,
        alone_s,
        rate_Bps,
        {},
    )
