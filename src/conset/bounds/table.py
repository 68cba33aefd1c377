"""The table of all bounds: what each is called and the function that finds it; the first of equals is the witness."""

from __future__ import annotations

from collections.abc import Callable

from conset.bounds.barrier_time import bound_barrier_time
from conset.bounds.chain_time import bound_chain_time
from conset.bounds.channel_ends import bound_channel_ends
from conset.bounds.channel_sum import bound_channel_sum
from conset.bounds.channel_supply import bound_channel_supply
from conset.bounds.channels import bound_channels
from conset.bounds.free_link_lp import bound_free_link_lp, bound_free_link_lp_load, bound_free_link_lp_time
from conset.bounds.link_load import bound_link_load
from conset.bounds.link_sum import bound_link_sum
from conset.bounds.link_supply import bound_link_supply
from conset.bounds.link_supply_time import bound_link_supply_time
from conset.bounds.link_time import bound_link_time
from conset.bounds.message_time import bound_message_time
from conset.bounds.order import bound_order
from conset.bounds.partners import bound_partners
from conset.bounds.port_degree import bound_port_degree
from conset.bounds.port_sum import bound_port_sum
from conset.bounds.port_time import bound_port_time
from conset.bounds.presence import bound_nonempty
from conset.bounds.processor_time import bound_processor_time
from conset.bounds.question import BoundProblem, BoundValue
from conset.bounds.slots_time import bound_slots_time

PHASE_BOUNDS: dict[str, Callable[[BoundProblem], BoundValue | None]] = {
    "port degree": bound_port_degree,
    "link load": bound_link_load,
    "channels": bound_channels,
    "link supply": bound_link_supply,
    "channel supply": bound_channel_supply,
    "channel ends": bound_channel_ends,
    "linear program": bound_free_link_lp,
    "partners": bound_partners,
    "order": bound_order,
    "presence": bound_nonempty,
}

TIME_BOUNDS: dict[str, Callable[[BoundProblem, int], BoundValue | None]] = {
    "port time": bound_port_time,
    "processor time": bound_processor_time,
    "slots time": bound_slots_time,
    "link time": bound_link_time,
    "link supply time": bound_link_supply_time,
    "linear program time": bound_free_link_lp_time,
    "message time": bound_message_time,
    "chain time": bound_chain_time,
    "barrier time": bound_barrier_time,
}
"""Given the least number of phases; the synchronizations of so many are added to each."""

LOAD_BOUNDS: dict[str, Callable[[BoundProblem], BoundValue | None]] = {
    "port sum": bound_port_sum,
    "link sum": bound_link_sum,
    "channel sum": bound_channel_sum,
    "linear program sum": bound_free_link_lp_load,
}
"""The sum over phases of the largest load at any port or link."""
