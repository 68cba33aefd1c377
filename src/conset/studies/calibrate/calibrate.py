"""Calibrate: measure a machine, find its words, and predict with them what was held back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conset.base.errors import InputError, UsageError
from conset.base.files import replacing
from conset.base.toml import parse_toml
from conset.base.units import count_of
from conset.machine.file import machine_from_object
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.machine.record import machine_of_record
from conset.machine.spec import default_costs
from conset.models.formula import predict
from conset.studies.calibrate.answers import answer, emulate
from conset.studies.calibrate.machine_file import machine_text
from conset.studies.calibrate.measurements import Measurements
from conset.studies.calibrate.prober import MESSAGE_S, all_probes, measure, probes_of
from conset.studies.calibrate.probes import SMALLEST_B, Probe, Scale, first_look
from conset.studies.calibrate.words import Found, FoundWord, find_words

BUDGET_S, QUICK_BUDGET_S = 90.0, 20.0
"""Time of all repetitions unless asked otherwise [s]."""


@dataclass(frozen=True)
class HeldBack:
    """An exchange that no word was fitted to.

    Attributes:
        label: what it is.
        sync: the policy.
        measured_s: the median of its times [s].
        low_s: first quartile of its times [s].
        high_s: third quartile [s].
        formula_s: predicted by formula [s].
        model_s: predicted by the machine's model [s].
    """

    label: str
    sync: str
    measured_s: float
    low_s: float
    high_s: float
    formula_s: float
    model_s: float

    @property
    def formula_error(self) -> float:
        """Predicted over measured, less 1."""
        return self.formula_s / self.measured_s - 1

    @property
    def model_error(self) -> float:
        """The same of the model."""
        return self.model_s / self.measured_s - 1

    def to_object(self) -> dict[str, Any]:
        """As `calibrate --json` prints it."""
        return {
            "exchange": self.label,
            "sync": self.sync,
            "measured_s": self.measured_s,
            "low_s": self.low_s,
            "high_s": self.high_s,
            "formula_s": self.formula_s,
            "model_s": self.model_s,
            "formula_error": self.formula_error,
            "model_error": self.model_error,
        }


@dataclass(frozen=True, eq=False)
class Calibration:
    """A machine whose words were measured.

    Attributes:
        machine: as its file says it.
        text: that file.
        found: words, fit, and what contradicts the stated network.
        held_back: exchanges predicted.
        data: what was measured.
        probes: what was executed.
    """

    machine: Machine
    text: str
    found: Found
    held_back: tuple[HeldBack, ...]
    data: Measurements
    probes: tuple[Probe, ...]

    @property
    def words(self) -> tuple[FoundWord, ...]:
        """What was found, with intervals."""
        return self.found.words

    @property
    def notes(self) -> tuple[str, ...]:
        """What is contradicted, lost, or not known."""
        return self.found.notes

    def write(self, path: str | Path) -> None:
        """Writes the machine file, beside and then renamed."""
        with replacing(path) as temporary:
            temporary.write_text(self.text, encoding="utf-8")

    def to_object(self) -> dict[str, Any]:
        """As `calibrate --json` prints it."""
        contention = self.found.contention
        return {
            "ranks": self.data.ranks,
            "by": self.data.by,
            "probes": len(self.probes),
            "elapsed_s": self.data.elapsed_s,
            "words": [word.to_object() for word in self.words],
            "fit_deviation": self.found.fit.deviation,
            "models": {} if contention is None else contention.errors,
            "held_back": [row.to_object() for row in self.held_back],
            "notes": list(self.notes),
            "machine": self.text,
        }

    def __repr__(self) -> str:
        return f"Calibration({self.data.by}, {self.data.ranks} ranks, {len(self.words)} words)"


def calibrate(
    machine: Machine,
    *,
    ranks: int | None = None,
    mpiexec: str | None = None,
    quick: bool = False,
    budget_s: float | None = None,
    seed: int = 0,
    data: Measurements | None = None,
    emulated: Machine | None = None,
    say: Callable[[str], None] | None = None,
    keep: Callable[[Measurements], None] | None = None,
) -> Calibration:
    """Finds the words of a machine.

    Args:
        machine: the network that the user states, with its routing; its costs are not looked at.
        ranks: of the job, on the first nodes; None: one on every endpoint.
        mpiexec: another launcher than the wheel's.
        quick: fewer probes and repetitions.
        budget_s: time of all repetitions together [s]; None: 90, quick 20.
        seed: of the order of probes, or of the noise of an emulated machine.
        data: measurements made before: nothing is executed.
        emulated: a machine that answers instead: what is found can be held against its words.
        say: told how far it is.
        keep: given what was measured, before anything is fitted.

    Raises:
        UsageError: fewer than two ranks, more than endpoints, no time, or no launcher.
        InputError: `data` are of another network. ExecutionError: the job failed.
    """
    structure = structure_of(machine)
    if data is not None:
        structure = _structure_in(data)
    else:
        ranks = structure.topology.endpoints if ranks is None else ranks
        if not 2 <= ranks <= structure.topology.endpoints:
            raise UsageError(
                f"ranks {ranks}: must be from 2 to the "
                f"{count_of(structure.topology.endpoints, 'node')} of the network",
                options=["ranks"],
            )
        budget = budget_s if budget_s is not None else QUICK_BUDGET_S if quick else BUDGET_S
        if not budget > 0:
            raise UsageError(f"time {budget:g} s: must be above 0 s", options=["time"])
        if emulated is not None:
            data = emulate_all(structure, emulated, ranks, quick=quick, seed=seed)
        else:
            data = measure(
                structure, ranks, mpiexec=mpiexec, quick=quick, budget_s=budget, seed=seed, say=say
            )
        if keep is not None:
            keep(data)
    if say is not None:
        say("fitting")
    probes = probes_of(data, structure)
    found = find_words(probes, data, structure)
    rows = [_predicted(probe, data, found) for probe in probes if probe.held_back]
    text = machine_text(found, data, _summary(rows))
    table, _ = parse_toml(text.encode(), "machine.toml", "machine")
    made = machine_from_object({"name": "calibrated", **table}, "machine.toml", text)
    return Calibration(made, text, found, tuple(rows), data, tuple(probes))


def structure_of(machine: Machine) -> Machine:
    """The network and routing of a machine, with the costs of nothing measured."""
    return Machine(machine.name, machine.topology, machine.routing, default_costs(), Limits())


def _structure_in(data: Measurements) -> Machine:
    structure = machine_of_record(data.network)
    if data.ranks > structure.topology.endpoints:
        raise InputError(
            f"measurements: {data.ranks} ranks on {structure.topology.endpoints} endpoints"
        )
    return structure_of(structure)


def emulate_all(
    structure: Machine,
    emulated: Machine,
    ranks: int,
    *,
    quick: bool = False,
    seed: int = 0,
    noise: float = 0.02,
) -> Measurements:
    """What `measure` would bring back from a machine that answers as its words say."""
    if emulated.topology.endpoints < ranks:
        raise UsageError(
            f"the emulated machine has {emulated.topology.endpoints} nodes, {ranks} ranks need more"
        )
    look = [
        (probe, answer(probe, emulated) / probe.schedule.transfers)
        for probe in first_look(structure, ranks)
    ]
    per = {probe.size: time for probe, time in look}
    sizes = sorted(per)
    rate = (sizes[-1] - sizes[-2]) / max(per[sizes[-1]] - per[sizes[-2]], 1e-12)
    scale = Scale.of(max(per[SMALLEST_B], 1e-9), rate, MESSAGE_S)
    return emulate(
        all_probes(structure, ranks, scale, quick=quick),
        emulated,
        structure=structure,
        quick=quick,
        large=scale.large,
        alone_s=scale.alone_s,
        rate_Bps=scale.rate_Bps,
        noise=noise,
        seed=seed,
    )


def _predicted(probe: Probe, data: Measurements, found: Found) -> HeldBack:
    times = np.asarray(data.times_s[probe.name])
    low, high = np.percentile(times, [25, 75])
    return HeldBack(
        probe.label,
        probe.sync,
        data.median_s(probe.name),
        float(low),
        float(high),
        predict(replace(probe.schedule, machine=found.machine)).time_s + found.start_s,
        answer(probe, found.machine) + found.start_s,
    )


def _summary(rows: Sequence[HeldBack]) -> str:
    """How exact the predictions are, in a line."""
    model = np.abs([row.model_error for row in rows])
    formula = np.abs([row.formula_error for row in rows])
    return (
        f"{count_of(len(rows), 'exchange')} held back: predicted within {np.median(model):.0%} by "
        "the model and "
        f"{np.median(formula):.0%} by formula (median; worst {model.max():.0%} and "
        f"{formula.max():.0%})."
    )
