"""Packet: messages cut into packets that queue in switches.

A buffer that is full holds up what is before it.

Problem. On a network with back-pressure (lossless Ethernet, InfiniBand, most interconnects)
messages share links as packets do, so `wormhole`, where a message has its path alone, makes those
that meet wait too long; but the first packet of a queue holds back what comes after it, which
`flow` does not see. What does the naive exchange take there?

Idea. A message's life is that of docs/cost-model.md. Its bytes flow as packets of `packet` bytes,
`window` of them at a time, out of the port, over the links, into the port. What comes over a link
waits in a buffer of `link_buffers` bytes, first come, first served: the first packet alone may
leave, when the link that it needs is free and the buffer behind that has room (virtual cut-through
with credits). A wide link has a buffer for each unit of its width. The rules to the last detail
stand in `cpp/include/conset/simulation/packet/packet.hpp`.

A message alone takes what it takes in `flow`: packets follow each other without a gap, and their
heads do not wait for their tails. On rings and in graphs of a family a buffer for each number of
datelines crossed keeps from deadlock, as in `wormhole`; on another graph cycles of routes may
deadlock, and this is reported with its cycle.

Where switches choose routes (`adaptive`), every packet takes at every hop, of the links on least
ways that are free, that with the fewest bytes in the buffer behind. There is one more buffer for
each time that a way may go up again after it went down (up is by level; without levels by number),
so that no choice deadlocks.

What it refuses: `node`, with its weights of exchanges, and sends that preempt receives. What is
left out: losses, acknowledgements on the way back, several messages of a pair in one stream.

Complexity: packets · hops · log(packets under way). Memory: about 60 bytes per message, 50 per
packet in the network.

Reference. Kermani and Kleinrock, Virtual cut-through: a new computer communication switching
technique, Computer Networks 3 (1979), DOI 10.1016/0376-5075(79)90032-1; Karol, Hluchyj, Morgan,
Input versus output queueing on a space-division packet switch, IEEE Transactions on Communications
35 (1987), DOI 10.1109/TCOM.1987.1096719, for what the first of a queue costs those behind it.
"""

from __future__ import annotations

from math import inf

import numpy as np

from conset import _core
from conset.base import InputError, UsageError
from conset.machine import Machine
from conset.models.nanoseconds import NS, core_stops, play_fluid
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.models.wormhole import channel_pools

MAX_PACKETS = 1e9
"""Packets of all messages together; a simulation of so many takes an hour."""


def simulate_packet(
    workload: Workload, machine: Machine, settings: Settings | None = None
) -> Timeline:
    """When every message of a workload is delivered, where packets queue in bounded buffers.

    Args:
        workload: what is sent.
        machine: its network, routing and costs.
        settings: how it is executed; None: everything at once.

    Returns:
        A timeline. `held_by` is where a packet of the message waited longest. `figures`: `pools`
            and `blocked_s`, how long packets waited for links and ports in all.

    Raises:
        UsageError: an unknown policy; a machine with `node`, `preempts` or `startup`.
        InputError: more receives than the machine can have posted, or too many packets.
        NoScheduleError: a deadlock; names the cycle of messages and links.
    """
    settings = settings or Settings()
    costs = machine.costs_for(workload.method)
    if costs.startup_s:
        raise UsageError(f"model packet: startup of {machine.name}: must be 0, packets have none")
    if costs.node_Bps < inf or costs.preempts:
        raise UsageError(
            f"model packet: {machine.name} has a rate of a node in and out together, or sends "
            "that preempt receives; "
            "packets know neither"
        )
    packets = float(np.ceil(workload.bytes / costs.packet_B).sum())
    if packets > MAX_PACKETS:
        raise InputError(
            f"model packet: {packets:.3g} packets of {costs.packet_B:g} B, at most {MAX_PACKETS:g}"
        )
    dateline, pools = channel_pools(workload, machine)
    stops = {name: value for name, value in core_stops(settings).items() if name != "record"}
    return play_fluid(
        "packet",
        workload,
        machine,
        settings,
        lambda messages, execution, rates: _core.simulate_packets(
            messages,
            execution,
            rates,
            dateline=dateline,
            pools=pools,
            packet=costs.packet_B,
            buffer=costs.link_buffers_B,
            window=costs.window_B,
            **stops,
        ),
        lambda result: {"pools": result.pools, "blocked_s": float(result.blocked.sum() / NS)},
        in_list=settings.receive_order != "any",
    )
