"""Simulated: what a schedule takes by each model beside its prediction, and how far they are apart.

A model that does not apply, or would have more to do than `LARGEST` says, is left out with its
reason. Errors are against what was measured where anything was, else against the most detailed
model that has a time: `flit` where its routers are all that the machine charges a message, else
`connections`, or `wormhole` or `circuit`, which pay overheads too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np

from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.compilation.ranking import ALLOWANCES, allowed_work
from conset.machine.machine import Machine
from conset.models.flit import flits_of
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.schedule.schedule import Schedule
from conset.studies.compare.times import describe_cutoff

LARGEST: Mapping[str, int] = MappingProxyType(
    {"flow": 1 << 17, "wormhole": 1 << 20, "circuit": 1 << 20, "packet": 1 << 17}
)
"""Most messages a model takes here; `conset simulate` has no bound."""
LARGEST_FLITS = 1 << 24
"""Most flits `flit` and `connections` take here: their work does not go by messages."""
ROUTER_CYCLES = 5
"""What `flit` takes for a message beside its hops and flits."""
CYCLES_ONLY = "cycles of routers and links alone, without the machine's overheads of a message"
MEASURED = "measured"
PREDICTED = "predicted"

Row = Mapping[str, Any]
"""The keys of `compile --json`, with `simulated` {model.

{time_s, …}} and `measured` {median_s, …} or None.
"""


def default_models(machine: Machine) -> tuple[str, ...]:
    """Fair sharing, and what shows blocking on this machine."""
    return ("flow", next((model for model in machine.models if model != "flow"), "wormhole"))


def parse_models(text: str | None, machine: Machine) -> tuple[str, ...]:
    """The models of `--models A,B`, each known; the default ones without a word.

    Raises:
        UsageError: an unknown model, or none.
    """
    if text is None:
        return default_models(machine)
    names = tuple(
        dict.fromkeys(find_model(word.strip()).name for word in text.split(",") if word.strip())
    )
    if not names:
        raise UsageError("models: at least one model required", options=["models"])
    return names


def simulate_by(
    schedule: Schedule, models: Sequence[str], *, effort: int = 1
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """({model: what it says under the schedule's policy}, {model: why it does not apply}).

    What a model says: `time_s`, `mean_latency_s`, `sync`, `in_flight`, `elapsed_s`, `note` (what it
    leaves out). Sends in flight are the schedule's, else the machine's; receives at once are the
    machine's. Each simulation takes at most the counted work that `allowed_work` says, times
    `effort`.
    """
    workload = Workload.of_schedule(schedule)
    costs = schedule.machine.costs_for(schedule.method)
    settings = Settings.of(costs, in_flight=schedule.in_flight, sync=schedule.sync)
    of_rates = {
        name: allowed_work(schedule.pattern, name, effort) for name in models if name in ALLOWANCES
    }
    said: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for name in models:
        reason = too_large(workload, schedule.machine, name)
        if reason:
            left_out[name] = reason
            continue
        try:
            limited = replace(settings, max_work=of_rates.get(name))
            timeline = find_model(name).simulate(workload, schedule.machine, limited).to_object()
        except (InputError, NoScheduleError, UsageError) as error:
            left_out[name] = str(error)
            continue
        if not isfinite(timeline["time_s"]):
            left_out[name] = describe_cutoff(of_rates[name])
            continue
        said[name] = {
            key: timeline[key]
            for key in ("time_s", "mean_latency_s", "sync", "in_flight", "elapsed_s")
        }
        said[name]["note"] = (
            CYCLES_ONLY if name == "flit" and not routers_are_all(schedule.machine) else None
        )
    return said, left_out


def too_large(workload: Workload, machine: Machine, model: str) -> str:
    """Why a model would have too much to do, with both numbers; "" where it would not."""
    if model in ("flit", "connections"):
        flits = int(
            flits_of(workload.bytes, machine.costs_for(workload.method).flit_B).sum(dtype=np.int64)
        )
        return (
            ""
            if flits <= LARGEST_FLITS
            else f"{flits:,} flits, at most {LARGEST_FLITS:,} are simulated here"
        )
    most = LARGEST[model]
    if workload.messages <= most:
        return ""
    return f"{workload.messages:,} messages, at most {most:,} are simulated here"


def reference_of(rows: Sequence[Row], machine: Machine) -> str:
    """What errors are against.

    `measured`, a model, or "" where there is nothing beside the prediction.
    """
    if any(row.get(MEASURED) for row in rows):
        return MEASURED
    detailed = ("connections", "packet", "wormhole", "circuit", "flow", "flit")
    if routers_are_all(machine):
        detailed = ("flit", *detailed[:-1])
    return next((model for model in detailed if any(model in row["simulated"] for row in rows)), "")


def routers_are_all(machine: Machine) -> bool:
    """Whether overheads of a message are hidden by the cycles of `flit`'s routers.

    No more than the cycles that routers take anyway, or twice that.
    """
    costs = machine.costs
    if costs.has_overheads or not isfinite(costs.link_Bps):
        return False
    return costs.overhead.at(0) <= 2 * ROUTER_CYCLES * costs.flit_B / costs.link_Bps


def time_of(row: Row, what: str) -> float | None:
    """The time of a row: `predicted`, by a model, or `measured` [s]; None where there is none."""
    if what == PREDICTED:
        return float(row["predicted_s"])
    if what == MEASURED:
        return float(row[MEASURED]["median_s"]) if row.get(MEASURED) else None
    said = row["simulated"].get(what)
    return None if said is None else float(said["time_s"])


def errors_of(row: Row, reference: str) -> dict[str, float]:
    """{what: its time over the reference's, less 1}, of everything that has a time.

    {} without a reference.
    """
    against = time_of(row, reference) if reference else None
    if not against:
        return {}
    times = {
        what: time_of(row, what)
        for what in (PREDICTED, *row["simulated"], MEASURED)
        if what != reference
    }
    return {what: time / against - 1 for what, time in times.items() if time is not None}
