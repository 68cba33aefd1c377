"""Needs: what each message takes at least, part by part; for bounds and checks, not for simulating.

    model                send              header                  receive    flow
    flow, serial         α_send + asking   hops · hop              α_receive  bytes / slowest
    flow, else           α_send + asking   hops · hop              α_receive  bytes / slowest     all of it overlaps
    wormhole, circuit    α_send + asking   hops · hop(bytes)       α_receive  bytes / slowest
    flit                 0                 (5 + 4 hops) cycles     0          flits · cycle

Asking: a request and a grant of a message above a machine's eager threshold, not after a ready signal. A message inside
its node takes nothing in `flow`, α_send + α_receive in `wormhole`, 5 cycles and its flits in `flit`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.schedule.sync import parse_sync
from conset.simulation.costs import effective_costs, overheads_are_work
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HELD = ("wormhole", "circuit")
"""Models in which a message holds channels."""
ENTERING, PER_HOP = 5, 4
"""Cycles of an empty router network beside the flits themselves."""


@dataclass(frozen=True, eq=False)
class Needs:
    """Times of each message, shape=(messages), float64 [s].

    Attributes:
        send: on the sender's processor.
        header: from its first link to its last.
        receive: on the receiver's processor.
        flow: bytes over the slowest rate of its way.
        signal: of its ready signal, from the receiver to the sender; 0 without one.
        asking: of its request and grant, before anything else; 0 without them.
        buffered: shape=(messages), bool: whether a system buffer may take it, which frees its sender and its path.
        serial: whether a processor does one thing after the other.
    """

    send: Floats
    header: Floats
    receive: Floats
    flow: Floats
    signal: Floats
    asking: Floats
    buffered: NDArray[np.bool_]
    serial: bool

    @property
    def alone(self) -> Floats:
        """From being let go to delivery, with nobody else there."""
        return self.asking + self.send + self.header + self.receive + self.flow

    @staticmethod
    def of(workload: Workload, machine: Machine, settings: Settings, model: str, hops: Ints, flow: Floats) -> Needs:
        """The needs under a model; `hops` are links of each route, `flow` as above."""
        costs = effective_costs(machine, workload.method)
        size, zero, never = workload.bytes, np.zeros(workload.messages), np.zeros(workload.messages, bool)
        signal = zero
        ready = workload.phases > 0 and parse_sync(settings.sync).kind == "ready"
        if ready:
            signal = np.where(workload.crosses, costs.signal_s + hops * _signal_hop(costs, model), 0.0)
        if model == "flit":
            cycle = costs.flit_B / costs.link_Bps
            header = np.asarray((ENTERING + PER_HOP * hops) * cycle, np.float64)
            return Needs(zero, header, zero, flow, np.minimum(signal, costs.signal_s), zero, never, True)
        send, receive = costs.inject.of(size) + costs.per_transfer_s, costs.eject.of(size)
        if model in HELD:
            asks = never if costs.eager_B is None or ready else (size > costs.eager_B) & workload.crosses
            buffered = never if costs.eager_B is None else (size <= costs.eager_B) & workload.crosses
            asking = np.where(asks, 2 * (costs.signal_s + hops * _signal_hop(costs, model)), 0.0)
            header = np.asarray(hops * costs.hop.of(size), np.float64)
            return Needs(send, header, receive, flow, signal, asking, buffered, True)
        crosses = workload.crosses
        asked = send if parse_sync(settings.sync).kind == "ready" else send + costs.requests.of(size)
        send, receive = np.where(crosses, asked, 0.0), np.where(crosses, receive, 0.0)
        header = np.asarray(hops * costs.hop_s, np.float64)
        return Needs(send, header, receive, flow, signal, zero, never, overheads_are_work(machine))


def _signal_hop(costs: Costs, model: str) -> float:
    return costs.hop.at(0) if model in HELD else costs.hop_s


def partners(workload: Workload, machine: Machine, settings: Settings, model: str) -> NDArray[np.int64]:
    """shape=(messages): the other message of each synchronized exchange, -1 without one.

    That is the k-th message from u to v of a phase and the k-th from v to u, under a policy of `exchange_syncs`.
    """
    costs = effective_costs(machine, workload.method)
    found = np.full(workload.messages, -1, np.int64)
    kind = parse_sync(settings.sync).kind
    if model not in HELD or kind not in costs.exchange_syncs or not np.isfinite(costs.node_Bps) or not workload.phases:
        return found
    m = np.flatnonzero(workload.crosses)
    s, t, phase = workload.source[m], workload.target[m], workload.phase_of[m]
    low, high, back = np.minimum(s, t), np.maximum(s, t), s > t
    order = np.lexsort((m, back, high, low, phase))
    m, low, high, back, phase = m[order], low[order], high[order], back[order], phase[order]
    same = (np.diff(low) == 0) & (np.diff(high) == 0) & (np.diff(phase) == 0)
    pair = np.concatenate([[0], np.cumsum(~same)])[: m.size]
    run = np.concatenate([[0], np.cumsum(~(same & (np.diff(back.astype(np.int8)) == 0)))])[: m.size]
    nth = np.arange(m.size) - np.searchsorted(run, run)
    order = np.lexsort((back, nth, pair))
    a, b = order[:-1], order[1:]
    joined = (pair[a] == pair[b]) & (nth[a] == nth[b])
    found[m[a[joined]]] = m[b[joined]]
    found[m[b[joined]]] = m[a[joined]]
    return found
