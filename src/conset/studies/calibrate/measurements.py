"""Times of probes: measured by a job over MPI, simulated by a model, or emulated with noise.

Measurements keep times repetition by repetition; a file of them replaces the machine in later fits.
A job of its own measures them, started as `conset run` starts one, or the running job does. An
emulated machine has known parameters, so that what a calibration finds can be compared with the
truth: that is what `conset calibrate --emulate MACHINE` asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from conset import _core
from conset.base import (
    Floats,
    InputError,
    NoScheduleError,
    UsageError,
    located,
    parse_json,
    replacing,
    require_file,
    rule_of,
)
from conset.execution import Given, Result, make_plan, run_job
from conset.machine import Machine, Synchronization, transfer_times
from conset.models import (
    NS,
    Settings,
    Workload,
    core_execution,
    core_messages,
    core_rates,
    core_stops,
    find_model,
)
from conset.studies.calibrate.probes import (
    LOOK,
    SMALLEST_B,
    Probe,
    Scale,
    first_look,
    held_back_probes,
    make_probes,
)

SCHEMA = "conset/calibration-data@1"
_TASK = "conset.studies.calibrate.timing:time_tasks"
MESSAGE_S = 50e-3
"""About how long the longest message should take [s].

Long against everything but bytes, short against minutes. What a token bucket lets pass at once
(some packets) is then a few per cent of it.
"""
Times = Annotated[tuple[Annotated[float, Field(gt=0, lt=1e6)], ...], Field(min_length=1)]
"""A time per repetition [s]."""
Say = Callable[[str], None]
"""Progress callback of a calibration."""


@dataclass(frozen=True)
class Measurements:
    """What a prober has found.

    Attributes:
        network: the structure that was stated, as a machine's record.
        ranks: of the job.
        by: what measured: the library, or an emulated machine, as text.
        times_s: by the name of a probe, a time per repetition [s].
        quick: whether the probes were the quick ones.
        large: the longest message [B], which with the structure determines the probes.
        alone_s: of the first look: a small message alone [s].
        rate_Bps: of the first look [B/s].
        retransmissions: by the name of a probe, segments that TCP sent again, over all repetitions;
            nothing: not known.
        cores: cores of the machine of rank 0 that its ranks may use.
        local_ranks: ranks on the machine of rank 0.
        elapsed_s: how long it took [s].
        job: the node of each rank; () where rank r is on node r.
    """

    network: Any
    ranks: int
    by: str
    times_s: Annotated[Mapping[str, Times], Field(min_length=1)]
    quick: bool
    large: int
    alone_s: float
    rate_Bps: float  # noqa: N815
    retransmissions: Mapping[str, int]
    cores: int = 0
    local_ranks: int = 0
    elapsed_s: float = 0.0
    job: tuple[Annotated[int, Field(ge=0)], ...] = ()

    @property
    def oversubscribed(self) -> bool:
        """Whether ranks share cores."""
        return self.local_ranks > self.cores > 0

    def typical_s(self, name: str) -> float:
        """The time of a probe undisturbed.

        The median of the shortest interval that holds half of its times [s].

        What disturbs a time makes it longer. So this is where most times are, which a median
        leaves when a third of them are disturbed (Rousseeuw's shorth; of few times it is their
        median).
        """
        times: Floats = np.sort(np.asarray(self.times_s[name]))
        half = times.size // 2 + 1
        if times.size < 5:
            return float(np.median(times))
        first = int(np.argmin(times[half - 1 :] - times[: times.size - half + 1]))
        return float(np.median(times[first : first + half]))

    def median_s(self, name: str) -> float:
        """The median time of a probe [s]: what a run takes, with what disturbs it."""
        return float(np.median(self.times_s[name]))

    def log_error(self, name: str) -> float:
        """Standard error of the logarithm of `typical_s`, from the spread of the middle half."""
        times: Floats = np.log(np.asarray(self.times_s[name]))
        low, high = np.percentile(times, [25, 75])
        return float(1.5 * (high - low) / 1.349 / np.sqrt(times.size))

    def spread(self, name: str) -> float:
        """Largest over typical time: what a time-out of the network does to one repetition."""
        return float(np.max(self.times_s[name]) / self.typical_s(name))

    def to_object(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "schema": SCHEMA,
            "network": self.network,
            "ranks": self.ranks,
            "by": self.by,
            "quick": self.quick,
            "large": self.large,
            "alone_s": self.alone_s,
            "rate_Bps": self.rate_Bps,
            "cores": self.cores,
            "local_ranks": self.local_ranks,
            "elapsed_s": self.elapsed_s,
            **({"job": list(self.job)} if self.job else {}),
            "retransmissions": dict(self.retransmissions),
            "times_s": {name: list(times) for name, times in self.times_s.items()},
        }

    def digest_text(self) -> str:
        """What a digest of the measurements is taken of."""
        return json.dumps(self.to_object(), sort_keys=True)

    def write(self, path: str | Path) -> None:
        """Writes a JSON file, beside and then renamed."""
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(self.to_object(), indent=1) + "\n")


def read_measurements(path: str | Path) -> Measurements:
    """What `Measurements.write` wrote.

    Raises:
        InputError: no such file, another kind of file, or one that lacks a key.
    """
    path = require_file(path)
    try:
        body = parse_json(path, constants=True)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        found = body.get("schema") if isinstance(body, dict) else type(body).__name__
        raise InputError(f"{path}: schema must be {SCHEMA}, is {found!r}")
    own = {key: value for key, value in body.items() if key != "schema"}
    try:
        return TypeAdapter(Measurements).validate_python(own)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        rule = rule_of(
            first, first["loc"], lambda path: [each.name for each in fields(Measurements)]
        )
        raise InputError(f"{located(str(path), first['loc'])}: {rule}") from None


@lru_cache(maxsize=1024)
def _workload(probe: Probe) -> Workload:
    return Workload.of_schedule(probe.schedule)


def answer(probe: Probe, machine: Machine, model: str | None = None) -> float:
    """What a probe takes on a machine [s]; `model` None: the machine's own.

    Infinite where it deadlocks.
    """
    costs = machine.costs
    if probe.late_s:
        # when its sender has ended: steps 3 to 6 of a message's life, the bytes held until the
        # receive is posted where the message is longer than the threshold
        schedule = probe.schedule
        source, target = schedule.source_node, schedule.target_node
        alone = float(
            transfer_times(machine, costs, source, target, schedule.size).alone[0]
        ) - costs.receive_overhead.at(probe.size)
        eager = costs.eager_B is not None and probe.size <= costs.eager_B
        return alone if eager else probe.late_s + alone
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


def flow_times(probes: Sequence[Probe], machine: Machine) -> Floats:
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


@dataclass(frozen=True)
class Evidence:
    """Probes of one calibration and their times.

    Attributes:
        probes: all.
        data: their times.
        start_s: what every probe takes beside what models give [s].
    """

    probes: Sequence[Probe]
    data: Measurements
    start_s: float = 0.0

    def series(self, *names: str) -> list[Probe]:
        """Return the probes of a series, or of several."""
        return [probe for probe in self.probes if probe.series in names]

    def measured(self, probes: Sequence[Probe]) -> Floats:
        """Return the typical time of each of these probes [s]."""
        return np.array([self.data.typical_s(probe.name) for probe in probes])

    def simulated(
        self, probes: Sequence[Probe], machine: Machine, model: str | None = None
    ) -> Floats:
        """Return the time of each of these probes on a machine, by its model or another [s]."""
        return np.array([answer(probe, machine, model) for probe in probes]) + self.start_s


def _ranks_to_a_core(structure: Machine, cores: int, local_ranks: int) -> float:
    """Ranks that share a core, at least 1; 1 of networks with links.

    There probes of all ranks at once would meet on links, and a rank alone shows what a link does.
    """
    return (
        max(local_ranks / max(cores, 1), 1.0)
        if structure.topology.kind == "crossbar" and cores
        else 1.0
    )


def all_probes(structure: Machine, ranks: int, scale: Scale, *, quick: bool) -> list[Probe]:
    """Return probes to fit, and exchanges that are held back to be predicted."""
    return [
        *make_probes(structure, ranks, scale, quick=quick),
        *held_back_probes(structure, ranks, scale, quick=quick),
    ]


def probes_of(data: Measurements, structure: Machine) -> list[Probe]:
    """Return the probes whose times are in `data`.

    Raises:
        InputError: a probe that conset makes has no times there: the data are of another version.
    """
    busy = _ranks_to_a_core(structure, data.cores, data.local_ranks) > 1
    scale = Scale(data.alone_s, data.rate_Bps, data.large, busy)
    probes = all_probes(structure, data.ranks, scale, quick=data.quick)
    if missing := [probe.name for probe in probes if probe.name not in data.times_s]:
        raise InputError(
            f"measurements: no times of '{missing[0]}' and {len(missing) - 1} more: of "
            "another version?"
        )
    return probes


def measure(
    structure: Machine,
    ranks: int,
    *,
    mpiexec: str | None = None,
    quick: bool = False,
    budget_s: float = 90.0,
    seed: int = 0,
    say: Say = lambda text: None,
) -> Measurements:
    """Look at the machine, choose the sizes, and time all probes over MPI.

    Args:
        structure: the network that is stated, with the nodes of its job's ranks.
        ranks: of the job; without nodes rank r runs on node r.
        mpiexec: another launcher than the wheel's.
        quick: fewer probes.
        budget_s: of all repetitions together [s].
        seed: of the order of probes.
        say: progress callback.

    Raises:
        UsageError: no launcher, or a launcher inside a job. InputError: the running job has other
            ranks.
        ExecutionError: a rank died, or a deadline passed.
    """

    def ask(probes: Sequence[Probe]) -> Result:
        is_look = probes[0].series == LOOK
        what, time_s = ("first look", 2.0) if is_look else (f"{len(probes)} probes", budget_s)
        tasks = [
            {"name": probe.name, "watch": probe.watch, "late_s": probe.late_s} for probe in probes
        ]
        orders = {"tasks": tasks, "budget_s": time_s, "timeout_s": 60.0, "seed": seed}
        plans = {probe.name: make_plan(probe.program or probe.schedule) for probe in probes}
        taking = max(probe.ranks for probe in probes)
        return run_job(
            _TASK,
            taking,
            Given(orders, plans),
            timeout_s=120.0 + 2 * taking + 4 * time_s,
            mpiexec=mpiexec,
            say=lambda text: say(f"{what}: {text}"),
        )

    return _measure_by(ask, structure, ranks, quick=quick)


def emulate(
    structure: Machine,
    emulated: Machine,
    ranks: int,
    *,
    quick: bool = False,
    seed: int = 0,
    noise: float = 0.02,
    repeat: int = 9,
) -> Measurements:
    """Return what `measure` would return on a machine whose parameters are known.

    Args:
        structure: what a user would state of it.
        emulated: the machine.
        ranks: that take part.
        quick: fewer probes.
        seed: of the noise.
        noise: standard deviation of the logarithm of a time; one repetition in twenty takes up to
            twice as long.
        repeat: repetitions.

    Raises:
        UsageError: it has fewer nodes.
    """
    if emulated.topology.endpoints <= max(structure.job or (ranks - 1,)):
        raise UsageError(
            f"the emulated machine has {emulated.topology.endpoints} nodes, {ranks} ranks need more"
        )
    random = np.random.default_rng(seed)
    jitter = emulated.costs.jitter_s
    still = replace(emulated, costs=replace(emulated.costs, jitter_s=0.0))

    def times(probe: Probe) -> tuple[float, ...]:
        if probe.series == LOOK:
            return (answer(probe, emulated),)
        lone = jitter > 0 and probe.series == "chain"
        # a time of 0 has no logarithm, and no clock shows one
        truth = np.maximum(answer(probe, still if lone else emulated), 1e-9)
        if lone:  # chance is drawn anew for each message; a simulation has one draw for a pair
            truth = truth + random.gamma(probe.schedule.transfers, jitter, repeat)
        late = random.random(repeat) < 0.05
        factor = np.exp(random.normal(0.0, noise, repeat))
        factor *= np.where(late, 1 + random.random(repeat), 1.0)
        return tuple((truth * factor).tolist())

    def ask(probes: Sequence[Probe]) -> Result:
        return {
            "mpi": f"emulated: {emulated.name}",
            "times_s": {probe.name: times(probe) for probe in probes},
            "retransmissions": {},
            "cores": 0,
            "local_ranks": 0,
            "elapsed_s": 0.0,
        }

    return _measure_by(ask, structure, ranks, quick=quick)


def _measure_by(
    ask: Callable[[Sequence[Probe]], Result], structure: Machine, ranks: int, *, quick: bool
) -> Measurements:
    """Return the times of all probes, whose sizes a first look decides; `ask` has the times."""
    look = first_look(structure, ranks)
    seen = ask(look)
    alone = {
        probe.size: min(seen["times_s"][probe.name]) / probe.messages
        for probe in sorted(look, key=lambda probe: probe.messages)
    }
    *_, second, largest = sorted(alone)
    rate = (largest - second) / max(alone[largest] - alone[second], 1e-12)
    sharing = _ranks_to_a_core(structure, seen["cores"], seen["local_ranks"])
    scale = Scale.of(max(alone[SMALLEST_B], 1e-9), rate, MESSAGE_S, sharing)
    found = ask(all_probes(structure, ranks, scale, quick=quick))
    return Measurements(
        structure.to_spec(),
        ranks,
        found["mpi"],
        {name: tuple(row) for name, row in found["times_s"].items()},
        quick,
        scale.large,
        scale.alone_s,
        scale.rate_Bps,
        found["retransmissions"],
        found["cores"],
        found["local_ranks"],
        found["elapsed_s"],
        structure.job,
    )
