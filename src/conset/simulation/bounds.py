"""Bounds: what no execution of a workload under given settings can beat, in each class, without simulating it.

These are bounds on *this* order and these settings, for checking timelines and drawn beside them; what no schedule of a
pattern can beat is the business of `conset.bounds`.

    resource       bytes of a link, port or node over its rate (`flit`: flits times a cycle)
    processor      overheads of what a rank sends, or receives, one after the other
    alone          a message as if nobody else were there, after its release and what it depends on
    one at a time  everything a rank sends (receives), one after the other, each as if alone
    barriers       the sum of these over the groups between barriers, with the barriers

Every class but the last pays one set-up where there are phases; the last one per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.schedule.sync import parse_sync
from conset.simulation.costs import effective_costs
from conset.simulation.needs import HELD, Needs
from conset.simulation.resources import Resources, resource_words
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload

Floats = NDArray[np.float64]
Bound = tuple[float, str]
"""(time [s], witness)."""

ROUNDS = 64
"""Longest chain of dependences that is followed."""


@dataclass(frozen=True, eq=False)
class Demand:
    """A workload under settings, with what its messages need and share."""

    workload: Workload
    machine: Machine
    settings: Settings
    model: str
    resources: Resources
    needs: Needs

    @staticmethod
    def of(workload: Workload, machine: Machine, settings: Settings, model: str, resources: Resources) -> Demand:
        """The demand over the routes of `resources`."""
        needs = Needs.of(workload, machine, settings, model, resources.hops, resources.bytes / resources.slowest)
        return Demand(workload, machine, settings, model, resources, needs)


def lower_bound(demand: Demand) -> Bound:
    """(time [s], witness): the largest of all bounds that hold."""
    work, machine = demand.workload, demand.machine
    if not work.messages:
        return 0.0, "nothing to send"
    costs = effective_costs(machine, work.method)
    setup_s = costs.setup_s if work.phases else 0.0
    everything = np.ones(work.messages, bool)
    time_s, witness = _largest(demand, everything)
    bounds = [(time_s + setup_s, witness), _chain(demand)]
    sync = parse_sync(demand.settings.sync if work.phases else "none")
    if sync.kind == "barrier":
        group = work.phase_of // sync.every
        present = np.unique(group)
        each = [_largest(demand, group == g)[0] for g in present.tolist()]
        barriers = present.size - (0 if costs.first_barrier else 1)
        fixed = barriers * costs.synchronization.at(machine.topology.endpoints) + present.size * setup_s
        words = f"{barriers:,} barrier{'' if barriers == 1 else 's'} and the busiest of each group"
        bounds.append((sum(each) + fixed, words))
    return max(bounds, key=lambda bound: bound[0])


def _largest(demand: Demand, chosen: NDArray[np.bool_]) -> Bound:
    """The largest bound of some messages that begin together."""
    bounds = [_resource(demand, chosen), *_processors(demand, chosen), *_one_at_a_time(demand, chosen)]
    setup_s = effective_costs(demand.machine, demand.workload.method).setup_s
    # signals may be under way while a set-up, which is added to all of these, is paid
    needs = demand.needs
    signals = np.maximum(needs.signal + needs.asking - setup_s, 0.0)
    alone = np.where(chosen, signals + needs.alone - needs.asking, 0.0)
    bounds.append((float(alone.max()), f"{_named(demand.workload, int(alone.argmax()))} alone"))
    return max(bounds, key=lambda bound: bound[0])


def _resource(demand: Demand, chosen: NDArray[np.bool_]) -> Bound:
    loads = demand.resources.loads(chosen)
    if not loads.size or not loads.max() > 0:
        return 0.0, "nothing to send"
    busiest = int(loads.argmax())
    return float(loads[busiest]), resource_words(demand.resources, demand.machine.topology, busiest, demand.model)


def _processors(demand: Demand, chosen: NDArray[np.bool_]) -> list[Bound]:
    """Overheads one after the other; signals pay at both ends where they use processors."""
    work, needs = demand.workload, demand.needs
    if not needs.serial:
        return []
    costs = effective_costs(demand.machine, work.method)
    half = np.where(needs.signal > 0, costs.signal_s / 2, 0.0) if demand.model in HELD else np.zeros(work.messages)
    ranks = int(max(work.sending_rank.max(), work.receiving_rank.max())) + 1

    def total(rank: NDArray[np.int32], seconds: Floats) -> Floats:
        return np.asarray(np.bincount(rank[chosen], seconds[chosen], ranks), np.float64)

    sending = total(work.sending_rank, needs.send) + total(work.receiving_rank, half)
    receiving = total(work.receiving_rank, needs.receive) + total(work.sending_rank, half)
    if costs.one_processor and not costs.preempts and demand.model in HELD:
        return [_of_ranks(sending + receiving, "overheads of")]
    return [_of_ranks(sending, "overheads of sends of"), _of_ranks(receiving, "overheads of receives of")]


def _one_at_a_time(demand: Demand, chosen: NDArray[np.bool_]) -> list[Bound]:
    work, needs, settings = demand.workload, demand.needs, demand.settings
    bounds = []
    if settings.in_flight == 1:
        # a system buffer frees the sender before the receiver has paid
        seconds = needs.alone - np.where(needs.buffered, needs.receive, 0.0)
        alone = np.bincount(work.sending_rank[chosen], seconds[chosen])
        bounds.append(_of_ranks(alone, "one send after the other of"))
    if settings.receives == 1 and demand.model != "flit":
        # a channel out of the network is held while bytes flow, not while the header comes
        seconds = np.where(needs.buffered, 0.0, needs.flow) if demand.model in HELD else needs.alone
        alone = np.bincount(work.receiving_rank[chosen], seconds[chosen])
        bounds.append(_of_ranks(alone, "one receive after the other of"))
    return bounds


def _of_ranks(seconds: NDArray[Any], what: str) -> Bound:
    if not seconds.size:
        return 0.0, "nothing to send"
    return float(seconds.max()), f"{what} rank {int(seconds.argmax())}"


def _chain(demand: Demand) -> Bound:
    """The last of releases, dependences and messages alone."""
    work = demand.workload
    alone = demand.needs.alone
    end = work.time_s + alone
    if work.deps.size:
        waiting = np.repeat(np.arange(work.messages), np.diff(work.dep_offsets))
        for _ in range(ROUNDS):
            ready = work.time_s.copy()
            np.maximum.at(ready, waiting, end[work.deps])
            if not (ready + alone > end).any():
                break
            end = ready + alone
    last = int(end.argmax())
    words = "after its release and what it depends on" if work.deps.size else "after its release"
    return float(end[last]), f"{_named(work, last)} alone {words}"


def _named(work: Workload, m: int) -> str:
    return f"message {m} ({work.sending_rank[m]} → {work.receiving_rank[m]})"
