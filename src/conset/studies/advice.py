"""Advice on an exchange that a program has, without a change to the program.

What its exchange costs beside others; which cable is the busiest; what another order of ranks,
other routes, one cable less or a repaired cable would change.

Contention of an exchange is the sum over its steps of the most messages on one link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from conset.base import InputError, Ints, Ints32, NoScheduleError, UsageError
from conset.compilation import (
    CompileOptions,
    Placement,
    choose_policy,
    compile_by,
    compile_combined,
    least_bounds,
    placement_of,
)
from conset.machine import (
    Machine,
    back_of,
    cable_name,
    route_links,
    usual_rates,
    without_cable,
    without_each,
)
from conset.methods import Phases, candidates
from conset.models import retarget
from conset.pattern import Pattern
from conset.schedule import Program, Schedule, phase_loads
from conset.studies.times import BASELINES, time_schedule

COMPARED = ("naive exchange", "shift order")
"""Exchanges by which orders of ranks are compared."""
FEWEST = CompileOptions(method="negotiated", objective="phases")
"""Phases in which no link carries two messages."""
CABLES = 6
"""Cables, the busiest first, whose loss is tried."""
MAX_WHAT_IFS = 1 << 18
"""Messages up to which other networks are tried."""
CLEAR = 1.02
"""Times closer than this are one time: the order with the plainer name is kept."""


@dataclass(frozen=True)
class Way:
    """One exchange of the pattern.

    Attributes:
        name: `naive exchange`, `shift order` …, or the method of the best schedule.
        steps: phases.
        contention: sum over steps of the most messages on one link; 0 without links.
        time_s: by the machine's model [s].
        by: what gave the time.
    """

    name: str
    steps: int
    contention: float
    time_s: float
    by: str


@dataclass(frozen=True)
class WhatIf:
    """The network as it is, or with something else.

    Attributes:
        name: what is else; "" as it is.
        cable: the busiest link.
        messages: on it.
        bytes: on it [B].
        least_s: no exchange takes less, over these routes [s].
    """

    name: str
    cable: str
    messages: int
    bytes: int
    least_s: float


@dataclass(frozen=True)
class RankOrder:
    """An order of ranks on the hosts of the job.

    Attributes:
        name: how it was found.
        hosts: shape=(ranks), int32: the endpoint of each rank.
        contention: of the shift order.
        shift_s: time of the shift order [s].
        naive_s: time of the naive exchange [s].
    """

    name: str
    hosts: Ints32
    contention: float
    shift_s: float
    naive_s: float


@dataclass(frozen=True)
class Advice:
    """What was found.

    Attributes:
        pattern: what is sent.
        machine: where.
        ways: exchanges, the best schedule last.
        best: that schedule, or program of stages.
        network: the busiest link as it is.
        orders: of ranks, as they are first, then the best other one where it is faster.
        others: the network with other routes, and without cables that were named.
        losses: without one of the busiest cables, the costliest first.
        repairs: with a cable at the rate of its siblings, the most useful first.
    """

    pattern: Pattern
    machine: Machine
    ways: tuple[Way, ...]
    best: Schedule | Program
    network: WhatIf
    orders: tuple[RankOrder, ...]
    others: tuple[WhatIf, ...]
    losses: tuple[WhatIf, ...]
    repairs: tuple[WhatIf, ...]

    @property
    def host_names(self) -> list[str]:
        """The host of each rank in the best order."""
        return self.machine.host_names(self.orders[-1].hosts)

    def to_object(self) -> dict[str, Any]:
        """JSON-ready: the keys of `advise --json`."""
        orders = [
            {
                **{key: value for key, value in asdict(order).items() if key != "hosts"},
                "hosts": self.machine.host_names(order.hosts),
            }
            for order in self.orders
        ]
        return {
            "machine": self.machine.name,
            "pattern": self.pattern.name,
            "ranks": self.pattern.ranks,
            "messages": self.pattern.messages,
            "ways": [asdict(way) for way in self.ways],
            "busiest": asdict(self.network),
            "rank_orders": orders,
            "others": [asdict(each) for each in self.others],
            "losses": [asdict(each) for each in self.losses],
            "repairs": [asdict(each) for each in self.repairs],
            "warnings": list(self.machine.warnings),
        }


def advise(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions | None = None,
    *,
    others: Sequence[Machine] = (),
    without: Sequence[str] = (),
    schedule: Schedule | None = None,
) -> Advice:
    """Advice on a pattern.

    Args:
        pattern: what is sent.
        machine: where.
        options: placement, ranks per node, seed and effort.
        others: the same hosts with other routes.
        without: names of cables: one more network without each.
        schedule: one that a user has: a way more.

    Raises:
        ConsetError: as a compile; an unknown cable, or another number of hosts.
    """
    options = options or CompileOptions()
    networks = [*others, *without_each(machine, without)]
    for each in others:
        hosts, own = each.topology.host_names, machine.topology.host_names
        if hosts != own:
            raise UsageError(
                f"other {each.name}: its {len(hosts)} hosts are not the {len(own)} of "
                f"{machine.name}, in that order"
            )
    placement = placement_of(pattern, machine, options)
    made = exchanges(pattern, machine, placement)
    ways = [_way(name, each) for name, each in made.items()]
    if schedule is not None:
        ways.append(_way(f"your schedule, {schedule.method}", schedule))
    with suppress(InputError, NoScheduleError):
        few = compile_by("negotiated", pattern, machine, FEWEST, placement)
        ways.append(_way("fewest phases", choose_policy(few, effort=options.effort)))
    found = compile_combined(pattern, machine, options, options.combine)
    program = None if found.program.paths is None else found.program
    best = found.whole if program is None else program
    title = found.whole.method if program is None else f"{found.combine}, in stages"
    ways.append(_way(f"best: {title}", found.whole))
    naive = made["naive exchange"]
    tried = pattern.messages <= MAX_WHAT_IFS and machine.topology.link_slots > 0
    return Advice(
        pattern,
        machine,
        tuple(ways),
        best,
        _network("", naive),
        tuple(_orders(naive, _order("as given", naive, ways), options)),
        tuple(_network(each.name, retarget(naive, each)) for each in networks),
        tuple(_losses(naive)) if tried else (),
        tuple(_repairs(naive)) if tried else (),
    )


def exchanges(pattern: Pattern, machine: Machine, placement: Placement) -> dict[str, Schedule]:
    """What programs and MPI libraries do, by name; without what does not apply.

    Everything posted at once; step by step, each rank r with r + step; or with r XOR step, where
    ranks are a power of two.
    """
    naive = compile_by("naive", pattern, machine, BASELINES["rotated_s"][0], placement)
    found = {"naive exchange": naive}
    source, target, ranks = pattern.source, pattern.target, pattern.ranks
    steps = {"shift order": (target - source) % ranks}
    if ranks & (ranks - 1) == 0:
        steps["pairwise exchange"] = source ^ target
    for name, step in steps.items():
        phases = Phases.of(step - 1)
        found[name] = replace(
            naive,
            phase_offsets=phases.offsets,
            message=phases.message,
            sync="none" if machine.is_circuit else "local",
            posting="schedule",
        )
    return found


def _way(name: str, schedule: Schedule) -> Way:
    timing = time_schedule(schedule)
    loads = phase_loads(schedule)
    contention = float(loads.link.sum()) if schedule.machine.topology.link_slots else 0.0
    return Way(name, schedule.phases, contention, timing.time_s, timing.by)


def _network(name: str, naive: Schedule) -> WhatIf:
    """The busiest link of a machine: the one whose bytes take longest."""
    machine, topology = naive.machine, naive.machine.topology
    least_s = least_bounds(naive.pattern, machine, naive).time_s
    if not topology.link_slots or not naive.transfers:
        return WhatIf(name, "", 0, 0, least_s)
    offsets, links = _links(naive)
    messages = np.bincount(links, minlength=topology.link_slots)
    sent = np.bincount(links, np.repeat(naive.size, np.diff(offsets)), topology.link_slots)
    rate = topology.widths().astype(np.float64)
    if topology.link_rate_Bps is not None:
        rate = rate * topology.link_rate_Bps
    link = int(np.argmax(sent / rate))
    return WhatIf(name, cable_name(topology, link), int(messages[link]), int(sent[link]), least_s)


def _links(naive: Schedule) -> tuple[Ints, Ints32]:
    """(offsets, links) of its routes; of a hash, those of the sample."""
    machine = naive.machine
    return route_links(machine.topology, machine.routing, naive.source_node, naive.target_node)


def _orders(naive: Schedule, own: RankOrder, options: CompileOptions) -> Iterator[RankOrder]:
    """The ranks as they are, then the best other order where it is faster."""
    pattern, machine = naive.pattern, naive.machine
    yield own
    found = candidates(
        pattern=pattern,
        topology=machine.topology,
        routing=machine.routing,
        ranks_per_node=max(options.ranks_per_node, int(np.bincount(own.hosts).max())),
        seed=options.seed,
        effort=options.effort,
        job=machine.job,
    )
    orders = []
    for name, nodes in found:
        if name != "identity" and nodes is not None:
            made = exchanges(pattern, machine, nodes)
            ways = [_way(way, made[way]) for way in COMPARED]
            orders.append(_order(name, made["naive exchange"], ways))
    complete = pattern.messages == pattern.ranks * (pattern.ranks - 1)

    def time_of(order: RankOrder) -> float:
        """Of what an MPI library does: step by step where all ranks exchange."""
        return order.shift_s if complete else order.naive_s

    # neither way may be slower: which one a library takes is not known
    sound = [
        order
        for order in orders
        if order.shift_s <= own.shift_s * CLEAR and order.naive_s <= own.naive_s * CLEAR
    ]
    best = min(sound, key=time_of, default=own)
    if time_of(best) * CLEAR < time_of(own):
        yield best


def _order(name: str, naive: Schedule, ways: Sequence[Way]) -> RankOrder:
    """An order with its naive exchange and its shift order, which begin `ways`."""
    ranks = np.arange(naive.pattern.ranks, dtype=np.int32)
    nodes = ranks if naive.placement is None else naive.placement
    return RankOrder(name, nodes, ways[1].contention, ways[1].time_s, ways[0].time_s)


def _losses(naive: Schedule) -> list[WhatIf]:
    """Without each of the busiest cables between switches, the costliest loss first."""
    machine, topology = naive.machine, naive.machine.topology
    load = np.bincount(_links(naive)[1], minlength=topology.link_slots)
    inner = np.minimum(*topology.ends) >= topology.endpoints
    if topology.endpoints == topology.nodes:
        inner[:] = True
    found: list[WhatIf] = []
    gone: set[int] = set()
    for link in np.argsort(-load, kind="stable").tolist():
        if len(found) == CABLES or not load[link]:
            break
        if link in gone or not inner[link]:
            continue
        gone |= {link, back_of(topology, link)}
        with suppress(InputError):  # the only way
            left = retarget(naive, without_cable(machine, link))
            found.append(_network(cable_name(topology, link), left))
    return sorted(found, key=lambda each: -each.least_s)


def _repairs(naive: Schedule) -> list[WhatIf]:
    """With one slow cable as fast as its siblings, the most useful repair first."""
    machine, topology = naive.machine, naive.machine.topology
    usual, own = usual_rates(topology), topology.link_rate_Bps
    if own is None or usual is None:
        return []
    found: list[WhatIf] = []
    done: set[int] = set()
    for link in np.flatnonzero(usual > own).tolist():
        if link in done:
            continue
        both = [each for each in (link, back_of(topology, link)) if each >= 0]
        done |= set(both)
        rates = own.copy()
        rates[both] = usual[both].max()
        repaired = replace(machine, topology=replace(topology, link_rate_Bps=rates))
        found.append(_network(cable_name(topology, link), retarget(naive, repaired)))
    return sorted(found, key=lambda each: each.least_s)
