"""Checks a schedule file from the file alone, by code that shares nothing with the compiler.

It imports the nouns and NumPy; formula routes are expanded by `walks`, all counts are its own.
Everything that is wrong is reported, each violation under one rule of `verification.RULES` with its
phase and transfer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from math import isfinite
from typing import Any

import numpy as np

from conset.base import Ints32, UsageError
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import EQUAL_COST
from conset.schedule.document import Document, machine_of
from conset.verification.schedule.circuits import check_circuits
from conset.verification.schedule.graph_walks import (
    GraphWalk,
    SpreadWalk,
    TableWalk,
    measure_expected,
)
from conset.verification.schedule.guarantees import StatedChannels, check_guarantees, check_linkage
from conset.verification.schedule.loads import Measured, check_duplex, measure, true_figures
from conset.verification.schedule.messages import check_messages, check_pattern
from conset.verification.schedule.order import check_order, check_posting, check_timetable
from conset.verification.schedule.traffic import Groups, Traffic, put_on_nodes
from conset.verification.schedule.walks import (
    BoxWalk,
    ChosenWalk,
    CrossbarWalk,
    CubeWalk,
    PlanesWalk,
    Walk,
    check_routes,
)
from conset.verification.verification import Verification, Violation

_BLOCK = 1 << 18
_EXPECTED = 1e-9
"""Relative: how far two sums of one expectation may be apart."""


def check_document(
    document: Document, *, window: int | None = None, machine: Machine | None = None
) -> Verification:
    """The verdict on what a schedule file says.

    Args:
        document: the file as read.
        window: also hold any so many consecutive phases together to the limits.
        machine: what to verify it on; None: the machine the document names.

    Raises:
        UsageError: the window is below 1.
        InputError: the document's machine cannot be built.
    """
    if window is not None and window < 1:
        raise UsageError(f"window {window}: must be at least 1 phase")
    machine = machine or machine_of(document)
    traffic, found = put_on_nodes(document, machine)
    found += [
        *check_pattern(document),
        *check_messages(traffic),
        *_check_hard_limits(document, machine),
    ]
    walk = _walk(traffic, machine)
    channels = None
    if isinstance(walk, ChosenWalk):
        found += check_routes(traffic, walk)
        if document.channels is not None:
            channels = StatedChannels(traffic, walk, document.channels)
            found += check_linkage(channels)
    else:
        found += _check_lost(traffic, walk)
    groups = Groups.of_phases(traffic.offsets)
    measured = _measure(traffic, walk, groups, document, machine)
    found += measured.violations
    exchange = document.limits.get("duplex") == "exchange"
    found += check_duplex(traffic, groups) if exchange else []
    found += [
        *check_timetable(traffic, walk, machine),
        *check_circuits(traffic, walk, machine),
        *check_order(traffic),
        *check_posting(traffic),
        *check_guarantees(traffic, walk, machine, None if channels is None else channels.tables),
    ]
    if window is not None and window > 1:
        windows = Groups.of_phases(traffic.offsets, window)
        found += _measure(traffic, walk, windows, document, machine, window).violations
        found += check_duplex(traffic, windows, window) if exchange else []
    full = np.flatnonzero(np.diff(traffic.offsets))
    largest = (
        np.maximum.reduceat(document.transfer_size, traffic.offsets[full]) if full.size else full
    )
    figures = true_figures(measured.peaks, traffic.phases, sum(largest.tolist()))
    unchecked = () if document.modelled is None else ("modelled",)
    return Verification.of(found + _check_figures(document.figures, figures), figures, unchecked)


def _measure(
    traffic: Traffic,
    walk: Walk,
    groups: Groups,
    document: Document,
    machine: Machine,
    window: int = 1,
) -> Measured:
    """Loads against limits.

    Where routes are not known, of ports alone, and what links carry in expectation.
    """
    if isinstance(walk, SpreadWalk) and not machine.routing.is_known:
        return measure_expected(traffic, walk, groups, document.limits, window)
    return measure(traffic, walk, groups, document.limits, window)


def _walk(traffic: Traffic, machine: Machine) -> Walk:
    """How transfers go: along stated routes, else as the machine's routing says."""
    document, topology = traffic.document, machine.topology
    if document.route_offsets is not None:
        return ChosenWalk(topology, machine.routing, document, traffic.source)
    return formula_walk(machine, traffic.target)


def formula_walk(machine: Machine, targets: Ints32) -> Walk:
    """The machine's own routes, for transfers to `targets`."""
    topology, routing = machine.topology, machine.routing
    if topology.is_box:
        return BoxWalk(topology, routing)
    if topology.kind == "hypercube":
        return CubeWalk(topology)
    if topology.kind == "crossbar":
        return CrossbarWalk()
    if routing.rule == "planes":
        inside = replace(machine, topology=topology.base, routing=routing.in_one_plane(topology))
        return PlanesWalk(topology, formula_walk(inside, targets))
    if routing.rule in ("table", "forwarding"):
        return TableWalk(topology, routing)
    if routing.rule in EQUAL_COST:
        return SpreadWalk(topology, routing, np.unique(targets))
    return GraphWalk(topology, routing, np.unique(targets))


def _check_lost(traffic: Traffic, walk: Walk) -> Iterator[Violation]:
    """Rule `route-link` for routes of the machine: it must have one."""
    if not isinstance(walk, GraphWalk | TableWalk | SpreadWalk):
        return
    for low in range(0, traffic.source.size, _BLOCK):
        ids = np.arange(low, min(low + _BLOCK, traffic.source.size))
        ids = ids[traffic.networked(ids)]
        for k in ids[walk.lost(traffic.source[ids], traffic.target[ids])].tolist():
            names = (
                traffic.topology.node_name(int(traffic.source[k])),
                traffic.topology.node_name(int(traffic.target[k])),
            )
            yield traffic.violation(
                k,
                "route-link",
                f"the machine's routing has no route from {names[0]} to {names[1]}",
            )


def _check_hard_limits(document: Document, machine: Machine) -> Iterator[Violation]:
    """Rule `limits`."""
    yield from _check_kept(document, machine)
    if document.limits_asked:
        return
    hard = machine.hard_limits(document.method)
    for name in (f.name for f in fields(Limits)):
        stated, least = document.limits.get(name), getattr(hard, name)
        looser = (
            stated != "exchange" and least == "exchange"
            if name == "duplex"
            else (least is not None and (stated is None or stated > least))
        )
        if looser:
            stated_routing = "none" if stated is None else stated
            yield Violation(
                None,
                None,
                "limits",
                f"limit {name} is {stated_routing}, {machine.name} keeps {least} for "
                f"{document.method}",
            )


def _check_kept(document: Document, machine: Machine) -> list[Violation]:
    """What a file states that cannot be kept where routes are not known.

    Order on links, and routes of its own.
    """
    if machine.routing.is_known or not machine.topology.link_slots:
        return []
    stated = [
        *[
            f"limit {name} is {document.limits[name]}"
            for name in ("link", "channels")
            if document.limits.get(name)
        ],
        *(["routes are stated"] if document.route_offsets is not None else []),
        *(["a timetable orders links"] if document.timetable is not None else []),
    ]
    rule = f"{machine.name} has routing {machine.routing.rule}, by which only ports can be ordered"
    return [Violation(None, None, "limits", f"{what}, {rule}") for what in stated]


def _check_figures(stated: Mapping[str, Any], true: Mapping[str, Any]) -> list[Violation]:
    """Rule `figures`: every stated one is the true one."""
    pairs = [
        ("phases", stated.get("phases"), true["phases"]),
        *[
            (f"load.{name}", stated.get("load", {}).get(name), value)
            for name, value in true["load"].items()
        ],
        ("phase_bytes", stated.get("phase_bytes"), true["phase_bytes"]),
    ]
    texts = [
        f"{name}: file says {said}, recount gives {value}"
        for name, said, value in pairs
        if said not in (None, value)
        and not (
            isinstance(value, float)  # an expectation, whose sum differs in the last digits
            and isfinite(said)
            and abs(said - value) <= _EXPECTED * max(abs(said), abs(value))
        )
    ]
    return [Violation(None, None, "figures", text) for text in texts]
