"""Programs, judged from their file alone: every schedule, the blocks, the contexts and the stated figures.

A context holds the connections of all its phases at once: transfers of different phases that take the same route
between the same nodes are one connection. Together they must keep the strictest limits of the schedules they come from,
and where channels are stated, a channel of a node belongs to one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from conset.machine.machine import Machine
from conset.schedule.document import Document, machine_of
from conset.schedule.program_document import BlockDocument, ProgramDocument
from conset.verification.check import formula_walk, verify_document
from conset.verification.traffic import put_on_nodes
from conset.verification.verification import Verification, Violation
from conset.verification.walks import Walk

PROGRAM_RULES: dict[str, str] = {
    "program-machine": "all schedules are for the machine, the ranks and the placement of the program",
    "program-block": "a block runs a schedule that exists, at least once, backwards only where no order forbids it",
    "program-context": "every phase of every schedule is in one context",
    "program-limit": "the connections of a context keep the strictest limits of their schedules together",
    "program-channel": "a channel of a node belongs to one connection of a context, the same in all its phases",
    "program-figures": "the stated figures are the true ones",
}
"""Rules of programs beside those of schedules."""

Route = tuple[int, int, tuple[int, ...]]
"""(source node, target node, links): a connection."""


@dataclass
class _Context:
    """What is open together.

    Attributes:
        connections: each once.
        limits: the strictest of the schedules, None: none.
        exchange: whether duplex is `exchange` in one of them.
        channels: the connection each (node, channel) belongs to.
    """

    connections: dict[Route, None] = field(default_factory=dict)
    limits: dict[str, int | None] = field(default_factory=dict)
    exchange: bool = False
    channels: dict[tuple[int, int], Route] = field(default_factory=dict)


def verify_program(document: ProgramDocument) -> Verification:
    """The verdict on what a program file says; violations of its schedules are told with their number.

    Raises:
        InputError: the machine cannot be built.
    """
    if not document.schedules:
        none = Violation(None, None, "program-block", "a program needs a schedule, given none")
        return Verification.of([none], {})
    machine = machine_of(document.schedules[0])
    found = list(_check_machine(document))
    for k, schedule in enumerate(document.schedules):
        own = verify_document(schedule, machine=machine).violations
        found += [Violation(v.phase, v.transfer, v.rule, f"schedule {k}: {v.text}") for v in own]
    structure = [*_check_blocks(document), *_check_contexts(document)]
    if found or structure:
        # loads of what is not sound cannot be told, and would only repeat what is wrong
        return Verification.of([*found, *structure], {})
    found += _check_sharing(document, machine)
    figures = true_program_figures(document)
    return Verification.of([*found, *_check_figures(document.figures, figures)], figures)


def _check_machine(document: ProgramDocument) -> Iterator[Violation]:
    first = document.schedules[0]
    for k, schedule in enumerate(document.schedules):
        if schedule.machine != document.machine:
            text = f"schedule {k} is for {_named(schedule.machine)}, the program for {_named(document.machine)}"
            yield Violation(None, None, "program-machine", text)
        if schedule.ranks != first.ranks:
            text = f"schedule {k} has {schedule.ranks} ranks, schedule 0 has {first.ranks}"
            yield Violation(None, None, "program-machine", text)
        places = [None if d.placement is None else d.placement.tolist() for d in (schedule, first)]
        if places[0] != places[1]:
            text = f"schedule {k} places its ranks on other nodes than schedule 0"
            yield Violation(None, None, "program-machine", text)


def _named(machine: str | Mapping[str, Any]) -> str:
    return machine if isinstance(machine, str) else str(machine.get("name", "a machine file"))


def _check_blocks(document: ProgramDocument) -> Iterator[Violation]:
    count = len(document.schedules)
    for k, block in enumerate(document.blocks):
        where = f"block {k} '{block.name}'"
        if not 0 <= block.schedule < count:
            text = f"{where}: schedule {block.schedule}, must be from 0 to {count - 1}"
            yield Violation(None, None, "program-block", text)
        elif block.turns and document.schedules[block.schedule].before is not None:
            yield Violation(None, None, "program-block", f"{where}: runs backwards, its messages have an order")
        if block.repeat < 1:
            yield Violation(None, None, "program-block", f"{where}: repeat = {block.repeat}, must be at least 1")


def _check_contexts(document: ProgramDocument) -> Iterator[Violation]:
    if len(document.contexts) != len(document.schedules):
        text = f"contexts of {len(document.contexts)} schedules are given, there are {len(document.schedules)}"
        yield Violation(None, None, "program-context", text)
    for k, (contexts, schedule) in enumerate(zip(document.contexts, document.schedules, strict=False)):
        if len(contexts) != schedule.phases:
            text = f"schedule {k} has {schedule.phases} phases, {len(contexts)} contexts are given"
            yield Violation(None, None, "program-context", text)


def _check_sharing(document: ProgramDocument, machine: Machine) -> list[Violation]:
    """Rules `program-limit` and `program-channel`."""
    contexts: dict[int, _Context] = defaultdict(_Context)
    found: list[Violation] = []
    for k, schedule in enumerate(document.schedules):
        stated = schedule.channels
        for phase, transfer, route, stops in _connections(schedule, machine):
            number = document.contexts[k][phase]
            context = contexts[number]
            context.connections[route] = None
            _tighten(context, schedule.limits)
            if stated is None or schedule.route_offsets is None:
                continue
            begin = int(schedule.route_offsets[transfer])
            for node, channel in zip(stops, stated[begin : begin + len(stops)].tolist(), strict=True):
                owner = context.channels.setdefault((node, channel), route)
                if owner != route:
                    text = (
                        f"context {number}: channel {channel} of {machine.topology.node_name(node)} belongs to the "
                        f"connections {owner[0]} → {owner[1]} and {route[0]} → {route[1]}"
                    )
                    found.append(Violation(None, None, "program-channel", text))
    for number, context in sorted(contexts.items()):
        found += _check_limits(number, context, machine)
    return found


def _connections(schedule: Document, machine: Machine) -> Iterator[tuple[int, int, Route, list[int]]]:
    """(phase, transfer, connection, its nodes) of every transfer that leaves its node."""
    traffic, _ = put_on_nodes(schedule, machine)
    ends, slots = machine.topology.ends, _slots(machine)
    walk: Walk | None = None
    if schedule.route_offsets is None:
        walk = formula_walk(machine, np.unique(traffic.target))
    for phase in range(traffic.phases):
        ids = np.arange(traffic.offsets[phase], traffic.offsets[phase + 1])
        ids = ids[traffic.networked(ids)]
        links: list[list[int]] = [[] for _ in range(ids.size)]
        if walk is not None:
            for position, link in zip(
                *(a.tolist() for a in walk.hops(ids, traffic.source[ids], traffic.target[ids])), strict=True
            ):
                links[position].append(link)
        for i, k in enumerate(ids.tolist()):
            source, target = int(traffic.source[k]), int(traffic.target[k])
            if schedule.route_offsets is not None and schedule.route_nodes is not None:
                stops = schedule.route_nodes[schedule.route_offsets[k] : schedule.route_offsets[k + 1]].tolist()
                along = sorted(slots[pair] for pair in pairwise(stops)) if slots else []
                yield phase, k, (source, target, tuple(along)), stops
            else:
                visited = [source, *(int(ends[1][link]) for link in links[i])] if links[i] else [source, target]
                yield phase, k, (source, target, tuple(sorted(links[i]))), visited


def _slots(machine: Machine) -> dict[tuple[int, int], int]:
    """The link between each two nodes that have one."""
    source, target = (end.tolist() for end in machine.topology.ends)
    exists = machine.topology.link_exists.tolist()
    return {(s, t): k for k, (s, t) in enumerate(zip(source, target, strict=True)) if exists[k]}


def _tighten(context: _Context, limits: Mapping[str, Any]) -> None:
    for name in ("send", "receive", "link", "channels"):
        values = [v for v in (context.limits.get(name), limits.get(name)) if v is not None]
        context.limits[name] = min(values, default=None)
    context.exchange |= limits.get("duplex") == "exchange"


def _check_limits(number: int, context: _Context, machine: Machine) -> Iterator[Violation]:
    topology = machine.topology
    counts: dict[str, dict[int, int]] = {name: defaultdict(int) for name in ("send", "receive", "channels", "link")}
    partners: dict[int, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for source, target, links in context.connections:
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
                text = f"context {number}: {name} of {where}: {load} connections, at most {most}"
                yield Violation(None, None, "program-limit", text)
    for node, (sends, receives) in sorted(partners.items()):
        if context.exchange and sends and receives and len(sends | receives) > 1:
            text = (
                f"context {number}: {topology.node_name(node)} sends and receives with {len(sends | receives)} "
                f"partners, duplex exchange allows 1"
            )
            yield Violation(None, None, "program-limit", text)


def true_program_figures(document: ProgramDocument) -> dict[str, int]:
    """The figures, by executing the blocks phase by phase (one turn of each way, and how often it comes)."""
    phases = switches = apart = messages = size = 0
    before: int | None = None
    for block in document.blocks:
        schedule, contexts = document.schedules[block.schedule], document.contexts[block.schedule]
        messages += block.repeat * schedule.source.size
        size += block.repeat * int(schedule.size.sum())
        if not contexts:
            continue
        phases += block.repeat * len(contexts)
        for index, times in _passes(block, len(contexts)):
            switches += before is not None and before != contexts[index[0]]
            inner = sum(contexts[p] != contexts[q] for p, q in pairwise(index))
            between = int(contexts[index[-1]] != contexts[index[0]])
            switches += times * inner + (times - 1) * between
            before = contexts[index[-1]]
        apart += _apart(document, block)
    apart += _apart_between(document)
    count = len({context for contexts in document.contexts for context in contexts})
    return {
        "phases": phases, "contexts": count, "switches": switches, "switches_apart": apart, "messages": messages,
        "bytes": size,
    }  # fmt: skip


def _passes(block: BlockDocument, phases: int) -> Iterator[tuple[list[int], int]]:
    """(order of phases, how often in a row) of a block; forth and back are one order where it turns."""
    forth = list(range(phases))
    if not block.turns:
        yield forth, block.repeat
        return
    if block.repeat > 1:
        yield [*forth, *forth[::-1]], block.repeat // 2
    if block.repeat % 2:
        yield forth, 1


def _apart(document: ProgramDocument, block: BlockDocument) -> int:
    """Switches inside a block whose phases are always switched."""
    phases = document.schedules[block.schedule].phases
    return block.repeat * phases - 1 if phases > 1 else 0


def _apart_between(document: ProgramDocument) -> int:
    """Switches between blocks, unless both are the same single phase."""
    run = [block.schedule for block in document.blocks if document.schedules[block.schedule].phases]
    return sum(one != other or document.schedules[one].phases > 1 for one, other in pairwise(run))


def _check_figures(stated: Mapping[str, Any], true: Mapping[str, int]) -> list[Violation]:
    texts = [
        f"figures: {name} is stated as {stated.get(name)}, it is {value}"
        for name, value in true.items()
        if stated.get(name) != value
    ]
    return [Violation(None, None, "program-figures", text) for text in texts]
