"""Policies under which a schedule may run, and which of them keep its limits while phases are in flight.

Every policy competes, with barriers after 1, 2, 4 … phases; under hard limits of the machine only the barrier after
every phase, as the others let ranks be in different phases at once. Limits that options ask for are limits of a phase:
`keeps_in_flight` says whether they also hold over what is in flight together, and the verdict repeats it.
"""

from __future__ import annotations

from conset.machine.limits import Limits
from conset.schedule.receives import most_posted
from conset.schedule.schedule import Schedule
from conset.schedule.sync import parse_sync


def allowed_policies(schedule: Schedule) -> tuple[str, ...]:
    """The policies a schedule may run under, those without barriers first."""
    if schedule.phases <= 1:
        counted = schedule.machine.costs_for(schedule.method).exchange_syncs
        return tuple(dict.fromkeys(("none", "ready", *counted)))
    if schedule.machine.hard_limits(schedule.method) != Limits():
        return ("barrier",)
    powers = (1 << k for k in range(schedule.phases.bit_length()) if 1 << k < schedule.phases)
    return ("none", "local", "ready", *("barrier" if k == 1 else f"barrier:{k}" for k in powers))


def keeps_in_flight(schedule: Schedule, sync: str) -> bool:
    """Whether the limits of a phase also hold over everything that is in flight at once under a policy.

    With a barrier after every phase they do. Under `ready` a rank is in one phase with all it sends and receives, which
    keeps limits on its ports, but not those on links or channels that several ranks share.
    """
    limits = schedule.limits
    if schedule.phases <= 1 or limits == Limits() or sync == "barrier":
        return True
    links = bool(schedule.machine.topology.link_slots) and limits.link is not None
    return sync == "ready" and not links and limits.channels is None


def receives_fit(schedule: Schedule, sync: str) -> bool:
    """Whether no node posts more receives at once than the machine has room for."""
    room = schedule.machine.costs_for(schedule.method).outstanding_receives
    if room is None:
        return True
    posted, _ = most_posted(schedule.source_node, schedule.target_node, schedule.phase_of, parse_sync(sync))
    return posted <= room
