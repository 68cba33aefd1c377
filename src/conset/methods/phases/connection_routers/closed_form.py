"""closed-form: the complete exchange as slots without contention, slots grouped into phases.

Problem: a complete exchange with the least ΣL, L_p being the largest load of a link or port in
phase p. Idea: `bounded` at contention 1 cuts it into slots in which no link carries two messages
and no node sends or receives two; on a torus n × n with 4 | n there are n³/8 of them, which fill
every link in every slot: nothing is less. A slot takes at most one channel of a node for each of
its links and one for its own message, so several slots fit into one phase; consecutive slots are
grouped as long as the channels suffice. Invariant: L_p is at most the number of slots of phase p;
ΣL at most the number of slots. Inside a phase transfers are listed slot by slot: whoever works
through its list runs without contention. Guarantee: torus n × n, 4 | n: ΣL = n³/8, the link bound;
8 × 8 with 12 channels: 64 slots in 32 phases, at most 10 channels. Complexity: O(messages + Σ
hops). When to use it: large messages (time is ΣL then). Domain: complete exchange, one rank a node,
any mesh, torus or ring; exactness is that of `bounded`. On a machine with other ties the routes are
still those of ties by parity. Reference: Hinrichs, Kosak, O'Hallaron, Stricker, Take: An
architecture for optimal all-to-all personalized communication (SPAA 1994),
doi:10.1145/181014.181028, have 64 such slots on iWarp; the slots here are those of `bounded`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.limits import Limits
from conset.machine.network.routes import route_nodes
from conset.machine.network.routing import Routing
from conset.methods.phases.bounded import schedule_bounded
from conset.methods.phases.connection_routers.task import Routed, Task


def route_closed_form(task: Task) -> Routed:
    """Slots of the complete exchange, grouped.

    Raises:
        InputError: no complete exchange of all nodes of a mesh, torus or ring, or limits that slots
            cannot keep.
    """
    problem = task.problem
    if not task.topology.is_box:
        raise InputError(
            f"router closed-form requires a mesh or torus, given a {task.topology.kind}"
        )
    machine = replace(problem.machine, routing=Routing(problem.machine.routing.rule, tie="parity"))
    slots = Limits(send=1, receive=1, link=1)
    try:
        phases = schedule_bounded(
            replace(
                problem, machine=machine, limits=slots, search=replace(problem.search, effort=0)
            )
        )
    except InputError as error:
        raise InputError(str(error).replace("method bounded", "router closed-form")) from None
    slot = np.empty(problem.pattern.messages, np.int32)
    slot[phases.message] = np.repeat(
        np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets)
    )
    offsets, nodes = route_nodes(task.topology, machine.routing, task.source, task.target)
    phase = _group(task, slot, offsets, nodes)
    return Routed("closed-form", phase[slot], offsets, nodes, slot)


def _group(
    task: Task, slot: NDArray[np.int32], offsets: NDArray[np.int64], nodes: NDArray[np.int32]
) -> NDArray[np.int32]:
    """shape=(slots): the phase of each slot; consecutive ones share a phase while limits hold.

    Raises:
        InputError: one slot alone needs more channels than a node has.
    """
    limits, count = task.problem.limits, int(slot.max(initial=-1)) + 1
    together = min(
        (limit for limit in (limits.send, limits.receive, limits.link) if limit is not None),
        default=count,
    )
    use = np.zeros((count, task.topology.nodes), np.int32)
    np.add.at(use, (np.repeat(slot, np.diff(offsets)), nodes), 1)
    phase = np.zeros(count, np.int32)
    taken, p, held = np.zeros(task.topology.nodes, np.int64), 0, 0
    for k in range(count):
        if use[k].max() > task.channels:
            raise InputError(
                f"router closed-form requires {use[k].max()} channels a node, given {task.channels}"
            )
        if held == together or (taken + use[k]).max() > task.channels:
            taken, p, held = np.zeros_like(taken), p + 1, 0
        taken, held = taken + use[k], held + 1
        phase[k] = p
    return phase
