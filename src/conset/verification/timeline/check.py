"""Checker of timelines: is one possible?

All is computed again from the workload, by array code that knows no events.

Nothing of the simulators is used: routes are the verifier's, times and rates the timeline's. Where
it keeps its rates (`Settings.record`), conservation, capacities, lanes and fairness are checked at
every time; without them, what starts and deliveries alone say. What each model must keep:

    all                 releases, dependences, policies; posting order and slots; the five times of
                        a message; set-ups and processors; bounds, figures
    flow                conservation, capacity, fairness
    wormhole, circuit   one message per lane; receives; conservation; capacity, exchanges counted by
                        their weight
    flit                a link or port passes one flit a cycle
    connections         way and number of elements, stated channels, gates and links, parts of
                        switches; not the queues

Cost: O((changes + messages) · hops · log) time, made for tests and for results one wants to lean
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from conset.base import counted
from conset.machine.machine import Machine
from conset.models.bounds import lower_bound
from conset.models.settings import Settings
from conset.models.timeline import Timeline, mean_latency, phase_ends
from conset.models.workload import Workload
from conset.verification.timeline.connections import (
    check_channels,
    check_elements,
    check_gates,
    check_switches,
)
from conset.verification.timeline.context import TOLERANCE, CheckContext, Violation
from conset.verification.timeline.messages import (
    check_deps,
    check_life,
    check_policy,
    check_receives,
    check_release,
    check_sends,
    check_set_ups,
)
from conset.verification.timeline.network import (
    check_capacity,
    check_conservation,
    check_fairness,
    check_lanes,
)
from conset.verification.timeline.processors import check_processors

__all__ = ["Violation", "check_timeline"]
Rule = Callable[[CheckContext], Iterable[Violation]]


def check_timeline(
    timeline: Timeline, workload: Workload, machine: Machine, settings: Settings | None = None
) -> tuple[Violation, ...]:
    """Every rule that a timeline breaks, each with its worst case.

    Args:
        timeline: of any model.
        workload: what was played.
        machine: on what.
        settings: how.
    """
    context = CheckContext(timeline, workload, machine, settings or Settings())
    stated = (context.start, timeline.sent_s, timeline.first_byte_s, timeline.left_s, context.end)
    wrong = ~np.isfinite(
        np.stack([times for times in stated if times.size == context.end.size])
    ).all(axis=0)
    if wrong.any():
        return (Violation("release", f"message {int(wrong.argmax())}: times must be finite"),)
    if context.routes.broken >= 0:
        m = context.routes.broken
        ends = f"{workload.source[m]} → {workload.target[m]}"
        return (
            Violation(
                "route", f"message {m} ({ends}): its links are no way from one end to the other"
            ),
        )
    rules = OF_CONNECTIONS if timeline.model == "connections" else RULES
    return tuple(violation for rule in counted(rules) for violation in rule(context))


def check_bound(e: CheckContext) -> list[Violation]:
    """The time is above every bound of its class."""
    least, what = lower_bound(e.demand)
    if e.timeline.time_s >= least * (1 - 1e-6):
        return []
    return [Violation("bound", f"{e.timeline.time_s:.9g} s is below {least:.9g} s: {what}")]


def check_figures(e: CheckContext) -> Iterator[Violation]:
    """Bytes of links and ports, ends of phases, the mean latency are what messages say.

    Busy times fit.
    """
    work, timeline, topology = e.workload, e.timeline, e.machine.topology
    crosses = work.crosses
    spread = e.routes.spread
    hops = np.repeat(work.bytes, np.diff(e.routes.offsets)) * (
        1 if spread is None else spread.share
    )
    counted = {
        "link_bytes": (np.bincount(e.routes.links, hops, topology.link_slots), topology.link_name),
        "out_bytes": (
            np.bincount(work.source[crosses], work.bytes[crosses], topology.nodes),
            topology.node_name,
        ),
        "in_bytes": (
            np.bincount(work.target[crosses], work.bytes[crosses], topology.nodes),
            topology.node_name,
        ),
    }
    for name, (expected, name_of) in counted.items():
        given = getattr(timeline, name)
        # parts of messages are rounded once they are added up
        wrong = np.flatnonzero(
            expected != given if spread is None else np.abs(expected - given) > 0.5 + 1e-6
        )
        if wrong.size:
            k = int(wrong[0])
            yield Violation(
                "figures", f"{name}: {name_of(k)}: {given[k]} B, must be {expected[k]:.0f} B"
            )
    if not np.allclose(phase_ends(work, e.end), timeline.phase_end_s, rtol=1e-12, atol=0):
        yield Violation(
            "figures",
            "phase_end_s: must be the last delivery of each phase and of those before",
        )
    latency = mean_latency(work, e.end, None if e.model == "flit" else crosses)
    if not np.isclose(latency, timeline.mean_latency_s, rtol=1e-9, atol=e.slack):
        yield Violation(
            "figures", f"mean_latency_s: {timeline.mean_latency_s:.9g}, must be {latency:.9g} s"
        )
    yield from _busy(e)


def _busy(e: CheckContext) -> list[Violation]:
    """A link or port is busy for no longer than everything, and for no less than its bytes need."""
    nodes, slots = e.machine.topology.nodes, e.machine.topology.link_slots
    least = e.resources.loads()
    columns = {
        "link_busy_s": slice(0, slots),
        "out_busy_s": slice(slots, slots + nodes),
        "in_busy_s": slice(slots + nodes, slots + 2 * nodes),
    }
    for name, place in columns.items():
        busy, need = getattr(e.timeline, name), least[place]
        if (busy > e.timeline.time_s * (1 + TOLERANCE)).any():
            return [
                Violation(
                    "figures",
                    f"{name}: {busy.max():.9g} s, everything took {e.timeline.time_s:.9g} s",
                )
            ]
        short = need * (1 - 1e-6) - busy
        if e.model != "flit" and short.size and short.max() > e.slack:
            k = int(short.argmax())
            return [
                Violation(
                    "figures", f"{name}[{k}] = {busy[k]:.9g} s: its bytes need {need[k]:.9g} s"
                )
            ]
    return []


RULES: tuple[Rule, ...] = (
    check_release,
    check_deps,
    check_policy,
    check_sends,
    check_life,
    check_set_ups,
    check_processors,
    check_receives,
    check_conservation,
    check_capacity,
    check_lanes,
    check_fairness,
    check_bound,
    check_figures,
)
"""Every rule, in the order in which violations are reported."""
OF_CONNECTIONS: tuple[Rule, ...] = (
    check_release,
    check_deps,
    check_policy,
    check_set_ups,
    check_sends,
    check_elements,
    check_channels,
    check_gates,
    check_bound,
    check_figures,
    check_switches,
)
"""Those of timelines by `connections`."""
