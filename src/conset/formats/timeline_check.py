"""Is what a timeline's file says of one piece? What goes together, lengths and ranges of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.errors import InputError
from conset.formats.columns import check_length, check_within
from conset.machine.machine import Machine
from conset.simulation.timeline import Timeline
from conset.simulation.workload import MAX_RANKS

if TYPE_CHECKING:
    from conset.formats.models import TimelineFile

_TOGETHER = {
    "source": ("target", "bytes", "nodes", "name"),
    "machine_spec": ("changed",),
    "rate_time_s": ("rate_message", "rate_Bps"),
}
"""Entries that the first of each requires."""


def check_columns(file: TimelineFile) -> None:
    """What goes together is there, columns of one length have one, rates are of messages.

    Raises:
        InputError: names the first entry that is wrong.
    """
    given = file.model_fields_set
    for first, others in _TOGETHER.items():
        missing = [name for name in others if name not in given]
        if first in given and missing:
            raise InputError(f"entry '{missing[0]}' is missing, '{first}' is there")
    messages, nodes = file.end_s.size, file.out_bytes.size
    for name in ("start_s", "sent_s", "first_byte_s", "left_s", "source"):
        check_length(name, getattr(file, name), messages)
    phases = file.phase_end_s.size if file.phase_offsets is None else max(file.phase_offsets.size - 1, 1)
    check_length("phase_end_s", file.phase_end_s, phases)
    check_length("link_busy_s", file.link_busy_s, file.link_bytes.size)
    for name in ("out_busy_s", "in_bytes", "in_busy_s"):
        check_length(name, getattr(file, name), nodes)
    for name in ("rate_message", "rate_Bps"):
        check_length(name, getattr(file, name), messages if file.rate_time_s is None else file.rate_time_s.size)
    if file.rate_message is not None:
        check_within("rate_message", file.rate_message, 0, messages)


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
        limits |= {name: (getattr(work, name), 0, MAX_RANKS) for name in ("sender", "receiver")}
    for name, (values, low, below) in limits.items():
        check_within(name, values, low, below, f" on {machine.name}")
