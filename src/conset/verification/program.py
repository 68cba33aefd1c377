"""Programs, checked from their file alone.

Every schedule, the stages, the contexts and the stated figures.

A context holds the connections of all its phases at once: transfers of different phases that take
the same route between the same nodes are one connection. Together they must keep the strictest
limits of the schedules they come from, leave each the bandwidth and the latency that it is to be
guaranteed, and where channels are stated, a channel of a node belongs to one of them and a
connection has the same channels in every phase. Several transfers of one phase that go the same way
are several connections.

Programs that forward have rules of their own beside these: `forwarding.py`.

Contexts: the guarantees of connections that are open together.

From the linkage tables of all their phases.

The tables of a context hold the rows of every phase in it, a row that several phases have once.
Connections are followed through them, and every port and link is shared by all that come by,
whichever phase runs (`schedule/guarantees.py`). Where no channels are stated, they are taken along
their routes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np

from conset.base import UsageError, count_of
from conset.machine.machine import Machine
from conset.schedule.document import (
    MAX_REPEAT,
    Document,
    ProgramDocument,
    StageDocument,
    document_from,
    machine_of,
)
from conset.schedule.schedule import Schedule
from conset.verification.forwarding import (
    FORWARDING_RULES,
    check_forwarding,
    forwarding_figures,
    replay_blocks,
)
from conset.verification.schedule.check import check_document, formula_walk
from conset.verification.schedule.guarantees import bandwidths_of, latencies_of, resource_rates
from conset.verification.schedule.messages import MAX_BYTES, exact_sum
from conset.verification.schedule.traffic import put_on_nodes
from conset.verification.schedule.walks import Walk
from conset.verification.verification import Verification, Violation

PROGRAM_RULES: dict[str, str] = {
    "program-machine": (
        "all schedules are for the machine, the ranks and the placement of the program"
    ),
    "program-stage": "a stage runs a schedule that exists, from 1 to "
    "2^31 - 1 times, backwards only "
    "where no order "
    "forbids it, and every schedule is run; all stages forward, once each and 64 at most, or none "
    "does; all together "
    "send at most 2^62 bytes",
    "program-context": "every phase of every schedule is in one context",
    "program-limit": (
        "the connections of a context keep the strictest limits of their schedules together"
    ),
    "program-bandwidth": (
        "connections of a context are guaranteed the bandwidths that their files say were asked for"
    ),
    "program-latency": (
        "connections of a context are guaranteed the latencies that their files say were asked for"
    ),
    "program-channel": (
        "a channel of a node belongs to one connection of a context, the same in all its phases"
    ),
    "program-figures": "the stated figures are the true ones, and there are no others",
    **FORWARDING_RULES,
}
"""Rules of programs beside those of schedules."""

Route = tuple[int, int, tuple[int, ...], int]
"""(source node, target node, links, how many of its phase go the same way before it).

A connection.
"""


@dataclass
class _Context:
    """What is open together.

    Attributes:
        connections: each once.
        limits: the strictest of the schedules, None: none.
        exchange: whether duplex is `exchange` in one of them.
        method: whose rates hold: that of the first schedule that demands some, of the first where
            none does.
        channels: the connection each (node, channel) belongs to.
    """

    connections: dict[Route, Opened] = field(default_factory=dict)
    limits: dict[str, int | None] = field(default_factory=dict)
    exchange: bool = False
    method: str = ""
    channels: dict[tuple[int, int], Route] = field(default_factory=dict)


def verify(
    what: Schedule | Document | ProgramDocument,
    *,
    window: int | None = None,
    machine: Machine | None = None,
) -> Verification:
    """The verdict on a schedule in memory, or on the contents of a schedule or program file.

    Figures of a schedule in memory are counted, there are no stated ones to compare. Violations of
    a program's schedules are reported with their number.

    Args:
        what: the schedule, or the file as read.
        window: also hold this many consecutive phases together to the limits; of a schedule.
        machine: of a schedule, what to verify it on; None: the machine that it names.

    Raises:
        UsageError: the window is below 1, or that of a program.
        InputError: the machine cannot be built.
    """
    if isinstance(what, Schedule):
        return check_document(document_from(what, {}), window=window, machine=what.machine)
    if isinstance(what, Document):
        return check_document(what, window=window, machine=machine)
    if window is not None:
        raise UsageError(f"window {window}: is for schedules", options=["window"])
    return _check_program(what)


def _check_program(document: ProgramDocument) -> Verification:
    if not document.schedules:
        none = Violation(None, None, "program-stage", "a program needs a schedule, given none")
        return Verification.of([none], {})
    machine = machine_of(document.schedules[0])
    found = list(_check_machine(document))
    for k, schedule in enumerate(document.schedules):
        own = check_document(schedule, machine=machine).violations
        found += [Violation(v.phase, v.transfer, v.rule, f"schedule {k}: {v.text}") for v in own]
    structure = [*_check_stages(document), *_check_contexts(document)]
    if found or structure:
        # loads of what is not sound is unknown, and would only repeat what is wrong
        return Verification.of([*found, *structure], {})
    found += _check_sharing(document, machine)
    replayed: dict[str, int | float] | None = None
    if document.blocks is None:
        forwarding = check_forwarding(document)
    else:
        forwarding, replayed = replay_blocks(document)
    if forwarding:
        return Verification.of([*found, *forwarding], {})
    figures = true_program_figures(document, replayed)
    return Verification.of([*found, *_check_figures(document.figures, figures)], figures)


def _check_machine(document: ProgramDocument) -> Iterator[Violation]:
    first = document.schedules[0]
    for k, schedule in enumerate(document.schedules):
        if schedule.machine != document.machine:
            yield Violation(
                None,
                None,
                "program-machine",
                f"schedule {k} is for {_named(schedule.machine)}, the program for "
                f"{_named(document.machine)}",
            )
        if schedule.ranks != first.ranks:
            yield Violation(
                None,
                None,
                "program-machine",
                f"schedule {k} has {count_of(schedule.ranks, 'rank')}, schedule 0 has "
                f"{first.ranks}",
            )
        places = [None if d.placement is None else d.placement.tolist() for d in (schedule, first)]
        if places[0] != places[1]:
            yield Violation(
                None,
                None,
                "program-machine",
                f"schedule {k} places its ranks on other nodes than schedule 0",
            )


def _named(machine: str | Mapping[str, Any]) -> str:
    return machine if isinstance(machine, str) else str(machine.get("name", "a machine file"))


def _check_stages(document: ProgramDocument) -> Iterator[Violation]:
    count = len(document.schedules)
    for k, stage in enumerate(document.stages):
        where = f"stage {k} '{stage.name}'"
        if not 0 <= stage.schedule < count:
            yield Violation(
                None,
                None,
                "program-stage",
                f"{where}: schedule {stage.schedule}, must be from 0 to {count - 1}",
            )
        elif stage.turns and document.schedules[stage.schedule].before is not None:
            yield Violation(
                None, None, "program-stage", f"{where}: runs backwards, its messages have an order"
            )
        if not 1 <= stage.repeat <= MAX_REPEAT:
            yield Violation(
                None,
                None,
                "program-stage",
                f"{where}: repeat = {stage.repeat}, must be from 1 to {MAX_REPEAT}",
            )
    for unused in sorted(set(range(count)).difference(stage.schedule for stage in document.stages)):
        yield Violation(None, None, "program-stage", f"schedule {unused}: no stage runs it")
    sizes = [exact_sum(schedule.size) for schedule in document.schedules]
    total = sum(
        stage.repeat * sizes[stage.schedule]
        for stage in document.stages
        if 0 <= stage.schedule < count
    )
    if total > MAX_BYTES:
        yield Violation(
            None,
            None,
            "program-stage",
            f"all stages together send {total} B, at most {MAX_BYTES} B",
        )


def _check_contexts(document: ProgramDocument) -> Iterator[Violation]:
    if len(document.contexts) != len(document.schedules):
        yield Violation(
            None,
            None,
            "program-context",
            f"the file gives contexts of {count_of(len(document.contexts), 'schedule')}, "
            f"it has {len(document.schedules)}",
        )
    for k, (contexts, schedule) in enumerate(
        zip(document.contexts, document.schedules, strict=False)
    ):
        if len(contexts) != schedule.phases:
            yield Violation(
                None,
                None,
                "program-context",
                f"schedule {k} has {count_of(schedule.phases, 'phase')}, "
                f"the file gives {count_of(len(contexts), 'context')}",
            )


def _check_sharing(document: ProgramDocument, machine: Machine) -> Iterator[Violation]:
    """Rules `program-limit`, `program-bandwidth`, `program-latency` and `program-channel`."""
    contexts: dict[int, _Context] = defaultdict(_Context)
    phases_in = Counter(context for numbers in document.contexts for context in numbers)
    method = _method_of(document)
    for k, schedule in enumerate(document.schedules):
        least = bandwidths_of(schedule.min_bandwidth_Bps, schedule.source.size)
        most = latencies_of(schedule.max_latency_s, schedule.source.size)
        # a phase alone in its context is looked at with its schedule
        shared = [
            phase for phase, number in enumerate(document.contexts[k]) if phases_in[number] > 1
        ]
        for phase, transfer, route, stops in (
            _connections(schedule, machine, shared) if shared else ()
        ):
            number, message = document.contexts[k][phase], schedule.transfer_message[transfer]
            context = contexts[number]
            context.method = method
            for name in ("send", "receive", "link", "channels"):
                values = (context.limits.get(name), schedule.limits.get(name))
                context.limits[name] = min((v for v in values if v is not None), default=None)
            context.exchange |= schedule.limits.get("duplex") == "exchange"
            channels = _channels(schedule, transfer, len(stops))
            own = context.connections.setdefault(route, Opened(tuple(stops), route[2], channels))
            own.demand(float(least[message]), float(most[message]))
            yield from [
                Violation(None, None, "program-channel", f"context {number}: {text}")
                for text in _check_channels(context, route, stops, channels, machine)
            ]
    for number, context in sorted(contexts.items()):
        yield from _check_limits(number, context, machine)
        yield from _check_guarantees(number, context, machine)


def _method_of(document: ProgramDocument) -> str:
    """The method whose rates connections share."""
    asked = (
        d
        for d in document.schedules
        if d.min_bandwidth_Bps is not None or d.max_latency_s is not None
    )
    return next(asked, document.schedules[0]).method


def _channels(schedule: Document, transfer: int, stops: int) -> tuple[int, ...]:
    """The channels of a transfer's stops, where any are stated."""
    if schedule.channels is None or schedule.route_offsets is None:
        return ()
    begin = int(schedule.route_offsets[transfer])
    begin += transfer if schedule.route_links is not None else 0
    return tuple(schedule.channels[begin : begin + stops].tolist())


def _check_channels(
    context: _Context, route: Route, stops: list[int], channels: tuple[int, ...], machine: Machine
) -> Iterator[str]:
    """Whether the channels are this connection's alone.

    And those it has in the other phases of its context.
    """
    before = context.connections[route].channels
    if before != channels:
        two = f"channels {list(before)} in one phase, {list(channels)} in another"
        yield f"the connection {route[0]} → {route[1]} has {two}"
    for node, channel in zip(stops, channels, strict=False):
        owner = context.channels.setdefault((node, channel), route)
        if owner != route:
            yield (
                f"channel {channel} of {machine.topology.node_name(node)} belongs to the "
                "connections "
                f"{owner[0]} → {owner[1]} and {route[0]} → {route[1]}"
            )


def _connections(
    schedule: Document, machine: Machine, phases: list[int]
) -> Iterator[tuple[int, int, Route, list[int]]]:
    """(phase, transfer, connection, its nodes) of the transfers that leave their node.

    In some phases.
    """
    traffic, _ = put_on_nodes(schedule, machine)
    ends, slots = machine.topology.ends, link_slots(machine)
    walk: Walk | None = None
    offsets = schedule.route_offsets
    if offsets is None:
        walk = formula_walk(machine, traffic.target)
    for phase in phases:
        same: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
        ids = np.arange(traffic.offsets[phase], traffic.offsets[phase + 1])
        ids = ids[traffic.networked(ids)]
        links: list[list[int]] = [[] for _ in range(ids.size)]
        if walk is not None:
            for position, link in zip(
                *(a.tolist() for a in walk.hops(ids, traffic.source[ids], traffic.target[ids])),
                strict=True,
            ):
                links[position].append(link)
        for i, k in enumerate(ids.tolist()):
            source, target = int(traffic.source[k]), int(traffic.target[k])
            route = slice(0) if offsets is None else slice(*offsets[k : k + 2])
            if schedule.route_nodes is not None:
                stops = schedule.route_nodes[route].tolist()
                along = sorted(slots[pair] for pair in pairwise(stops)) if slots else []
            elif schedule.route_links is not None:
                along = schedule.route_links[route].tolist()
                stops = [source, *(int(ends[1][link]) for link in along)]
                along.sort()
            else:
                stops = (
                    [source, *(int(ends[1][link]) for link in links[i])]
                    if links[i]
                    else [source, target]
                )
                along = sorted(links[i])
            way = source, target, tuple(along)
            yield phase, k, (*way, same[way]), stops
            same[way] += 1


def _check_limits(number: int, context: _Context, machine: Machine) -> Iterator[Violation]:
    topology = machine.topology
    counts: dict[str, dict[int, int]] = {
        name: defaultdict(int) for name in ("send", "receive", "channels", "link")
    }
    partners: dict[int, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for source, target, links, _ in context.connections:
        counts["send"][source] += 1
        counts["receive"][target] += 1
        counts["channels"][source] += 1
        for node in {int(topology.ends[1][link]) for link in links} or {target}:
            counts["channels"][node] += 1
        for link in links:
            counts["link"][link] += 1
        partners[source][0].add(target)
        partners[target][1].add(source)
    widths = topology.widths()
    for name, count in counts.items():
        limit = context.limits.get(name)
        for at, load in sorted(count.items()) if limit is not None else ():
            most = int(limit or 0) * (int(widths[at]) if name == "link" else 1)
            if load > most:
                where = topology.link_name(at) if name == "link" else topology.node_name(at)
                yield Violation(
                    None,
                    None,
                    "program-limit",
                    f"context {number}: {name} of {where}: {load} connections, at most {most}",
                )
    for node, (sends, receives) in sorted(partners.items()):
        if context.exchange and sends and receives and len(sends | receives) > 1:
            yield Violation(
                None,
                None,
                "program-limit",
                f"context {number}: {topology.node_name(node)} sends and receives with "
                f"{len(sends | receives)} "
                f"partners, duplex exchange allows 1",
            )


def _check_guarantees(number: int, context: _Context, machine: Machine) -> Iterator[Violation]:
    """Rules `program-bandwidth` and `program-latency`."""
    if not any(own.demands for own in context.connections.values()):
        return
    given = context_guarantees(list(context.connections.values()), machine, context.method)
    for (route, own), (bandwidth, latency) in zip(context.connections.items(), given, strict=True):
        where = f"context {number}: the connection {route[0]} → {route[1]}"
        if bandwidth * ROUNDING < own.bandwidth:
            yield Violation(
                None,
                None,
                "program-bandwidth",
                f"{where} is guaranteed {bandwidth:.6g} B/s, {own.bandwidth:.6g} B/s were asked "
                "for",
            )
        if latency > own.latency * ROUNDING:
            yield Violation(
                None,
                None,
                "program-latency",
                f"{where} is guaranteed at most {latency:.6g} s, {own.latency:.6g} s were asked "
                "for",
            )


def true_program_figures(
    document: ProgramDocument, forwarding: dict[str, int | float] | None = None
) -> dict[str, int | float]:
    """The figures, by executing the stages phase by phase.

    One turn of each way, and how often it comes.

    Of a program that forwards the rules of `check_forwarding` must hold; `forwarding` has its own
    figures where they are known.
    """
    # apart: switches where phases are always switched, inside stages and between them
    phases = switches = apart = messages = size = 0
    before: int | None = None
    for stage in document.stages:
        schedule, contexts = document.schedules[stage.schedule], document.contexts[stage.schedule]
        messages += stage.repeat * schedule.source.size
        size += stage.repeat * exact_sum(schedule.size)
        if not contexts:
            continue
        phases += stage.repeat * len(contexts)
        for index, times in _passes(stage, len(contexts)):
            switches += before is not None and before != contexts[index[0]]
            inner = sum(contexts[p] != contexts[q] for p, q in pairwise(index))
            switches += times * inner + (times - 1) * int(contexts[index[-1]] != contexts[index[0]])
            before = contexts[index[-1]]
        apart += stage.repeat * len(contexts) - 1 if len(contexts) > 1 else 0
    # between stages, unless both are the same single phase
    run = [stage.schedule for stage in document.stages if document.schedules[stage.schedule].phases]
    apart += sum(one != other or document.schedules[one].phases > 1 for one, other in pairwise(run))
    count = len({context for contexts in document.contexts for context in contexts})
    return {
        "phases": phases,
        "contexts": count,
        "switches": switches,
        "switches_apart": apart,
        "messages": messages,
        "bytes": size,
        **(forwarding_figures(document) if forwarding is None else forwarding),
    }


def _passes(stage: StageDocument, phases: int) -> Iterator[tuple[list[int], int]]:
    """(order of phases, how often in a row) of a stage.

    Forth and back are one order where it turns.
    """
    forth = list(range(phases))
    if not stage.turns:
        yield forth, stage.repeat
        return
    if stage.repeat > 1:
        yield [*forth, *forth[::-1]], stage.repeat // 2
    if stage.repeat % 2:
        yield forth, 1


def _check_figures(stated: Mapping[str, Any], true: Mapping[str, int | float]) -> list[Violation]:
    return [
        Violation(
            None,
            None,
            "program-figures",
            f"{name}: file says {stated.get(name, 'nothing')}, "
            f"recount gives {true.get(name, 'none')}",
        )
        for name in {**true, **stated}
        if name not in stated or name not in true or stated[name] != true[name]
    ]


ROUNDING = 1 + 1e-9
Place = tuple[int, int]
"""(node, channel)."""


@dataclass
class Opened:
    """A connection of a context.

    Attributes:
        stops: the nodes of its route.
        links: those of its route, in any order.
        channels: its channel at each stop; empty where none are stated.
        bandwidth: the most that any phase asks for it [B/s].
        latency: the least that any phase asks for it [s].
    """

    stops: tuple[int, ...]
    links: tuple[int, ...]
    channels: tuple[int, ...]
    bandwidth: float = 0.0
    latency: float = inf

    def demand(self, bandwidth: float, latency: float) -> None:
        """Adds what one phase asks for."""
        self.bandwidth, self.latency = max(self.bandwidth, bandwidth), min(self.latency, latency)

    @property
    def demands(self) -> bool:
        """Whether any phase asks for something."""
        return self.bandwidth > 0 or isfinite(self.latency)


def context_guarantees(
    connections: Sequence[Opened], machine: Machine, method: str
) -> Iterator[tuple[float, float]]:
    """(least bandwidth [B/s], longest time of an element [s]) of each of `connections`.

    Which are open together.
    """
    if all(len(own.channels) == len(own.stops) for own in connections):
        ways = list(_through_tables(connections, machine))
    else:
        ways = [(own.stops[0], own.stops[-1], own.links) for own in connections]
    out, into, rates = resource_rates(machine, method)
    costs = machine.costs_for(method)
    sends, receives = Counter(way[0] for way in ways), Counter(way[1] for way in ways)
    users = Counter(link for way in ways for link in way[2])
    for source, target, links in ways:
        shares = [out / sends[source], into / receives[target]]
        shared = (costs.node_Bps / (sends[node] + receives[node]) for node in (source, target))
        shares = [*map(min, shares, shared), *(float(rates[k]) / users[k] for k in links)]
        yield (
            min(shares),
            len(links) * float(costs.hop.at(costs.flit_B))
            + sum(costs.flit_B / share for share in shares),
        )


def _through_tables(
    connections: Sequence[Opened], machine: Machine
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(node of the gate in, node of the gate out, links) of each, through the rows of all."""
    rows: dict[Place, tuple[Place, int | None] | None] = {}
    starts, ends = machine.topology.ends
    for own in connections:
        places = list(zip(own.stops, own.channels, strict=True))
        over = {(int(starts[link]), int(ends[link])): link for link in own.links}
        rows[places[-1]] = None
        for here, then in pairwise(places):  # ports of a crossbar have no link between them
            rows[here] = then, over.get((here[0], then[0]))
    for own in connections:
        at: Place = own.stops[0], own.channels[0]
        links: list[int] = []
        for _ in rows:  # tables that lead round in a circle reach no gate
            way = rows[at]
            if way is None:
                break
            at, link = way
            links += [] if link is None else [link]
        yield own.stops[0], at[0], tuple(links)


def link_slots(machine: Machine) -> dict[tuple[int, int], int]:
    """The link between each two nodes that have one."""
    source, target = (end.tolist() for end in machine.topology.ends)
    exists = machine.topology.link_exists.tolist()
    return {(s, t): k for k, (s, t) in enumerate(zip(source, target, strict=True)) if exists[k]}
