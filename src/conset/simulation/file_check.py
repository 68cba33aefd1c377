"""Is what a timeline's file says of one piece? Kinds of single values, lengths and ranges of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError
from conset.machine.machine import Machine
from conset.simulation.timeline import Timeline
from conset.simulation.workload import MOST_RANKS

TIMES = ("sent_s", "first_byte_s", "left_s")
"""Times of messages that models may leave out."""
RATES = ("rate_time_s", "rate_message", "rate_Bps")
FLOATS = (
    "start_s", "end_s", "phase_end_s", "link_busy_s", "out_busy_s", "in_busy_s", "time_s", "rate_time_s", "rate_Bps",
    *TIMES,
)  # fmt: skip


def check_head(head: Mapping[str, Any]) -> None:
    """Single values are of their kind.

    Raises:
        InputError: one is not; names it.
    """
    kinds: dict[str, tuple[type, ...]] = {
        "model": (str,), "sync": (str,), "machine": (str,), "in_flight": (int, type(None)), "events": (int,),
        "mean_latency_s": (int, float), "figures": (dict,),
    }  # fmt: skip
    for name, kind in kinds.items():
        if not isinstance(head[name], kind):
            raise InputError(f"entry '{name}': is {head[name]!r}")


def check_sizes(columns: Mapping[str, NDArray[Any]]) -> None:
    """Columns of one length have one; times and rates are finite.

    Raises:
        InputError: names the first that is wrong.
    """
    for name in FLOATS:
        if name in columns and not np.isfinite(columns[name]).all():
            raise InputError(f"entry '{name}': finite numbers required")
    phases = max(columns["phase_offsets"].size - 1, 1) if "phase_offsets" in columns else columns["phase_end_s"].size
    same = (
        *((name, columns["end_s"].size) for name in ("start_s", *TIMES)),
        ("phase_end_s", phases), ("link_busy_s", columns["link_bytes"].size),
        *((name, columns["out_bytes"].size) for name in ("out_busy_s", "in_bytes", "in_busy_s")),
        *((name, columns.get(RATES[0], columns["end_s"]).size) for name in RATES),
    )  # fmt: skip
    for name, required in same:
        if name in columns and columns[name].shape != (required,):
            raise InputError(f"entry '{name}': {required} values required, given {columns[name].size}")


def check_fits(timeline: Timeline, machine: Machine) -> None:
    """Links, nodes and ranks are those of the machine.

    Raises:
        InputError: names the first that is not.
    """
    topology = machine.topology
    for name, required in (("link_bytes", topology.link_slots), ("out_bytes", topology.nodes)):
        given = getattr(timeline, name).size
        if given != required:
            raise InputError(f"entry '{name}': {required} values required on {machine.name}, given {given}")
    limits = {"held_by": (timeline.held_by, -1, topology.link_slots + 4 * topology.nodes)}
    if timeline.workload is not None:
        work = timeline.workload
        limits["links"] = (work.links, 0, topology.link_slots)
        limits |= {name: (getattr(work, name), 0, MOST_RANKS) for name in ("sender", "receiver")}
    for name, (values, low, high) in limits.items():
        if values.size and not low <= values.min() <= values.max() < high:
            raise InputError(f"entry '{name}': numbers from {low} to {high - 1} required on {machine.name}")
