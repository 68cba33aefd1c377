"""Calibrate: measure a machine, fit its parameters, predict the exchanges held back with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import InputError, UsageError, count_of, parse_toml, replacing
from conset.machine import Limits, Machine, default_costs, machine_from_object, machine_of_record
from conset.models import predict
from conset.studies.calibrate.fitted import FittedParameter, Found, find_words
from conset.studies.calibrate.measurements import (
    Measurements,
    Say,
    answer,
    emulate,
    measure,
    probes_of,
)
from conset.studies.calibrate.probes import Probe

COLUMNS = 118
"""Width of lists of numbers."""
BUDGET_S, QUICK_BUDGET_S = 90.0, 20.0
"""Time of all repetitions unless asked otherwise [s]."""


def machine_text(found: Found, data: Measurements, summary: str) -> str:
    """The TOML of a calibrated machine.

    The network as stated, each word with its value, tag and source.

    The same measurements give the same text.

    Args:
        found: the fitted parameters.
        data: what they were found in.
        summary: of the exchanges held back, a line.
    """
    costs = [
        f"{each.word} = "
        f"{_toml({'value': each.value, 'tag': each.tag, 'source': each.source, **each.within})}"
        for each in found.words
    ]
    probes, ranks = count_of(len(data.times_s), "probe"), count_of(data.ranks, "rank")
    lines = [
        "# Calibrated by `conset calibrate`; what each word means is in docs/cost-model.md, "
        "what shows it in",
        "# docs/calibrate.md. Intervals are of 95 %; words that are not here were not measured.",
        f"about = {_toml(f'calibrated over {data.by}: {probes} on {ranks}')}",
        f"notes = {_toml([summary, *found.notes])}",
        "",
        "[network]",
        *(f"{key} = {_toml(value)}" for key, value in found.machine.to_spec()["network"].items()),
        "",
        "[costs]",
        *costs,
        "",
    ]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    """A value of TOML on one line, long lists on several."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [_toml(each) for each in value]
        text = f"[{', '.join(parts)}]"
        if len(text) <= COLUMNS or "{" in text:
            return text
        if any(isinstance(each, str) for each in value):
            return "[\n" + "".join(f"    {part},\n" for part in parts) + "]"
        rows, row = [], ""
        for part in parts:
            if len(row) + len(part) > COLUMNS - 8:
                rows.append(row)
                row = ""
            row += f"{part}, "
        return "[\n" + "".join(f"    {each.rstrip()}\n" for each in [*rows, row]) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


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
    def words(self) -> tuple[FittedParameter, ...]:
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
    ranks_per_node: int = 1,
    mpiexec: str | None = None,
    quick: bool = False,
    budget_s: float | None = None,
    seed: int = 0,
    data: Measurements | None = None,
    emulated: Machine | None = None,
    say: Say = lambda text: None,
    keep: Callable[[Measurements], None] = lambda data: None,
) -> Calibration:
    """Finds the parameters of a machine.

    Args:
        machine: the network that the user states, with its routing; its costs are not looked at.
        ranks: of the job, on its nodes (`Machine.job`), else on the first ones; None: as many as
            there is place for.
        ranks_per_node: on each node, one node after the other, where there is no job.
        mpiexec: another launcher than the wheel's.
        quick: fewer probes and repetitions.
        budget_s: time of all repetitions together [s]; None: 90, quick 20.
        seed: of the order of probes, or of the noise of an emulated machine.
        data: measurements made before: nothing is executed.
        emulated: a machine that answers instead: what is found can be held against its words.
        say: called with the progress.
        keep: given what was measured, before anything is fitted.

    Raises:
        UsageError: ranks on fewer than two nodes, more than places, no time, or no launcher.
        InputError: `data` are of another network. ExecutionError: the job failed.
    """
    structure = structure_of(machine)
    if data is not None:
        structure = replace(structure_of(machine_of_record(data.network)), job=data.job)
        endpoints = structure.topology.endpoints
        if len(data.job or range(data.ranks)) != data.ranks or endpoints <= max(
            data.job or (data.ranks - 1,)
        ):
            raise InputError(f"measurements: {data.ranks} ranks on {endpoints} endpoints")
    else:
        job = _job_of(machine, ranks, ranks_per_node)
        ranks = len(job)
        structure = replace(structure, job=() if job == tuple(range(ranks)) else job)
        budget = budget_s if budget_s is not None else QUICK_BUDGET_S if quick else BUDGET_S
        if not budget > 0:
            raise UsageError(f"time {budget:g} s: must be above 0 s", options=["time"])
        if emulated is not None:
            data = emulate(structure, emulated, ranks, quick=quick, seed=seed)
        else:
            data = measure(
                structure, ranks, mpiexec=mpiexec, quick=quick, budget_s=budget, seed=seed, say=say
            )
        keep(data)
    say("fitting")
    probes = probes_of(data, structure)
    found = find_words(probes, data, structure)
    rows = [_predicted(probe, data, found) for probe in probes if probe.held_back]
    model = np.abs([row.model_error for row in rows])
    formula = np.abs([row.formula_error for row in rows])
    summary = (
        f"{count_of(len(rows), 'exchange')} held back: predicted within {np.median(model):.0%} by "
        f"the model and {np.median(formula):.0%} by formula (median; worst {model.max():.0%} and "
        f"{formula.max():.0%})."
    )
    text = machine_text(found, data, summary)
    table, _ = parse_toml(text.encode(), "machine.toml", "machine")
    made = machine_from_object({"name": "calibrated", **table}, "machine.toml", text)
    made = replace(made, job=machine.job)
    return Calibration(made, text, found, tuple(rows), data, tuple(probes))


def _job_of(machine: Machine, ranks: int | None, ranks_per_node: int) -> tuple[int, ...]:
    """The node of each rank: those of the machine's job, else one node after the other."""
    if ranks_per_node < 1:
        raise UsageError(
            f"ranks_per_node {ranks_per_node}: must be at least 1", options=["ranks_per_node"]
        )
    places = machine.job or np.repeat(range(machine.topology.endpoints), ranks_per_node)
    ranks = len(places) if ranks is None else ranks
    job = tuple(int(node) for node in places[: max(ranks, 0)])
    if ranks < 2:
        wrong = "must be at least 2, for messages between nodes"
    elif ranks > len(places):
        wrong = f"must be at most {len(places)}, {ranks_per_node} on each node of the network"
        wrong += ", or as many as its job has"
    elif len({*job}) < 2:
        wrong = "all on one node, none of their messages goes between nodes"
    else:
        return job
    raise UsageError(f"ranks {ranks}: {wrong}", options=["ranks"])


def structure_of(machine: Machine) -> Machine:
    """The network and routing of a machine and its job, with the costs of nothing measured."""
    bare = Machine(machine.name, machine.topology, machine.routing, default_costs(), Limits())
    return replace(bare, job=machine.job)


def _predicted(probe: Probe, data: Measurements, found: Found) -> HeldBack:
    low, high = np.percentile(np.asarray(data.times_s[probe.name]), [25, 75])
    return HeldBack(
        probe.label,
        probe.sync,
        data.median_s(probe.name),
        float(low),
        float(high),
        predict(replace(probe.schedule, machine=found.machine)).time_s + found.start_s,
        answer(probe, found.machine) + found.start_s,
    )
