"""Check: is a timeline possible? Everything is computed again from the workload, by array code that knows no events.

Nothing of the simulators is used: routes come from the network, rates and times from the timeline. Where the timeline
keeps its rates (`Settings.record`), conservation, capacities and fairness are checked at every time; without them, the
rest. Cost: O((changes + messages) · hops · log) time, made for tests and for results one wants to lean on.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.machine.work import synchronization_s
from conset.network.routes import route_links
from conset.schedule.sync import parse_sync
from conset.simulation.bounds import Demand, lower_bound
from conset.simulation.costs import effective_costs, overheads_are_work
from conset.simulation.order import in_list_order, most_open
from conset.simulation.resources import Resources
from conset.simulation.settings import Settings
from conset.simulation.timeline import Timeline, phase_ends, resource_name
from conset.simulation.workload import Workload

TOLERANCE = 1e-9
"""Relative: of a capacity, a time, a number of bytes."""


@dataclass(frozen=True)
class Violation:
    """What is impossible.

    Attributes:
        rule: `release`, `latency`, `conservation`, `capacity`, `fairness`, `deps`, `policy`, `order`, `in flight`,
            `receives`, `bound`, `figures`.
        text: one line with what, where and both numbers.
    """

    rule: str
    text: str


def check_timeline(
    timeline: Timeline, workload: Workload, machine: Machine, settings: Settings | None = None
) -> tuple[Violation, ...]:
    """Every rule that a timeline breaks, each with its worst case.

    Args:
        timeline: of any model whose messages share links and ports.
        workload: what was played.
        machine: on what.
        settings: how.
    """
    check = _Check(timeline, workload, machine, settings or Settings())
    for rule in (
        check.release, check.latency, check.deps, check.policy, check.sends, check.receives, check.bound, check.figures,
        check.conservation, check.capacity, check.fairness,
    ):  # fmt: skip
        rule()
    return tuple(check.found)


class _Check:
    """One check: what it looks at, and what it has found."""

    def __init__(self, timeline: Timeline, workload: Workload, machine: Machine, settings: Settings) -> None:
        self.timeline, self.workload, self.machine, self.settings = timeline, workload, machine, settings
        self.costs = effective_costs(machine, workload.method)
        self.sync = parse_sync(settings.sync if workload.phases else "none")
        self.found: list[Violation] = []
        self.offsets, self.links = self._routes()
        self.resources = Resources.of(workload, machine, self.settings, timeline.model, self.offsets, self.links)
        self.start, self.end = timeline.start_s, timeline.end_s
        self.slack = TOLERANCE * max(timeline.time_s, 1e-30)

    def _routes(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        if self.workload.link_offsets.size:
            return self.workload.link_offsets, self.workload.links
        w = self.workload
        return route_links(self.machine.topology, self.machine.routing, w.source, w.target)

    def say(self, rule: str, text: str) -> None:
        self.found.append(Violation(rule, text))

    def not_before(self, rule: str, earliest: NDArray[np.float64], times: NDArray[np.float64], what: str) -> None:
        """`times[m] >= earliest[m]` for every message."""
        late = earliest - times
        if late.size and late.max() > self.slack:
            m = int(late.argmax())
            self.say(rule, f"message {m}: {what} at {times[m]:.9g} s, must be at least {earliest[m]:.9g} s")

    def release(self) -> None:
        wrong = ~(np.isfinite(self.start) & np.isfinite(self.end))
        if wrong.any():
            self.say("release", f"message {int(wrong.argmax())}: times must be finite")
        self.not_before("release", self.workload.time_s, self.start, "let go")

    @property
    def latency_s(self) -> NDArray[np.float64]:
        """shape=(messages): what each message waits without using bandwidth."""
        size, costs = self.workload.bytes, self.costs
        both = costs.inject.of(size) + costs.eject.of(size) + costs.per_transfer_s + np.diff(self.offsets) * costs.hop_s
        return np.where(self.workload.crosses, both, 0.0)

    def latency(self) -> None:
        alone = self.latency_s + self.workload.bytes / self.resources.slowest
        self.not_before("latency", self.start + alone, self.end, "delivered")

    def deps(self) -> None:
        w = self.workload
        waiting = np.repeat(np.arange(w.messages), np.diff(w.dep_offsets))
        earliest = np.zeros(w.messages)
        np.maximum.at(earliest, waiting, self.end[w.deps])
        self.not_before("deps", earliest, self.start, "let go")

    def policy(self) -> None:
        if self.sync.kind == "barrier":
            self._barriers()
        elif self.sync.kind != "none":
            self._own_phases()
        setup = self.costs.setup_s if self.workload.phases else 0.0
        if setup:
            self.not_before("policy", np.full(self.end.size, setup), self.start, "let go before a set-up")

    def _barriers(self) -> None:
        w, cost = self.workload, synchronization_s(self.machine, self.costs)
        group = w.phase_of // self.sync.every
        last = np.zeros(int(group.max(initial=0)) + 2)
        np.maximum.at(last, group + 1, self.end)
        last = np.maximum.accumulate(last)
        first = group.min(initial=0)
        charged = np.where(group > first, cost, cost if self.costs.first_barrier else 0.0)
        self.not_before("policy", last[group] + charged + self.costs.setup_s, self.start, "let go")

    def _own_phases(self) -> None:
        """A rank's own sends and receives of earlier phases are over; under `ready` its receiver has said so."""
        w = self.workload
        phases = max(w.phases, 1)
        ranks = int(max(w.sending_rank.max(initial=0), w.receiving_rank.max(initial=0))) + 1
        own = np.zeros((ranks, phases + 1))
        for rank in (w.sending_rank, w.receiving_rank):
            np.maximum.at(own, (rank, w.phase_of + 1), self.end)
        own = np.maximum.accumulate(own, axis=1)
        earliest = own[w.sending_rank, w.phase_of] + self.costs.setup_s
        if self.sync.kind == "ready" and (self.settings.receives is None or self.settings.receive_order == "any"):
            signal = self.costs.signal_s + np.diff(self.offsets) * self.costs.hop_s
            asked = own[w.receiving_rank, w.phase_of] + np.where(w.sending_rank != w.receiving_rank, signal, 0.0)
            earliest = np.maximum(earliest, asked)
        self.not_before("policy", earliest, self.start, "let go")

    def sends(self) -> None:
        w, limit = self.workload, self.settings.in_flight
        if limit is None:
            return
        rows = in_list_order(w, w.sending_rank)
        most, rank = most_open(rows, self.start, self.end)
        if most > limit:
            self.say("in flight", f"rank {rank}: {most} sends open at once, at most {limit} allowed")
        if self.settings.receives is None or self.settings.receive_order != "any":
            for rank, row in rows:
                back = np.diff(self.start[row])
                if back.size and back.min() < -self.slack:
                    k = int(back.argmin())
                    self.say("order", f"rank {rank}: message {row[k + 1]} let go before {row[k]}, which is before it")
                    return

    def receives(self) -> None:
        w, limit = self.workload, self.settings.receives
        if limit is None:
            return
        rows = in_list_order(w, w.receiving_rank)
        most, rank = most_open(rows, self.start, self.end)
        if most > limit:
            self.say("receives", f"rank {rank}: {most} receives open at once, at most {limit} allowed")
        if self.settings.receive_order == "any":
            return
        for rank, row in rows:
            for k, m in enumerate(row.tolist()):
                before = int((self.end[row[:k]] > self.start[m] + self.slack).sum())
                if before >= limit:
                    self.say("order", f"rank {rank}: message {m} taken while {before} before it were open, {limit} may")
                    return

    def bound(self) -> None:
        demand = Demand.of(self.workload, self.machine, self.settings, self.timeline.model, self.resources)
        least, what = lower_bound(demand)
        if self.timeline.time_s < least * (1 - 1e-6):
            self.say("bound", f"{self.timeline.time_s:.9g} s is below {least:.9g} s: {what}")

    def figures(self) -> None:
        w, topology = self.workload, self.machine.topology
        weights = np.repeat(w.bytes, np.diff(self.offsets))
        expected = np.zeros(topology.link_slots, np.int64)
        np.add.at(expected, self.links, weights)
        wrong = np.flatnonzero(expected != self.timeline.link_bytes)
        if wrong.size:
            link = int(wrong[0])
            self.say("figures", f"{topology.link_name(link)}: {self.timeline.link_bytes[link]} B, must be "
                     f"{expected[link]} B")  # fmt: skip
        if not np.allclose(phase_ends(w, self.end), self.timeline.phase_end_s, rtol=1e-12, atol=0):
            self.say("figures", "phase_end_s: must be the last delivery of each phase and of those before it")
        if (self.timeline.link_busy_s > self.timeline.time_s * (1 + TOLERANCE)).any():
            self.say("figures", "link_busy_s: a link is busy longer than everything took")

    def conservation(self) -> None:
        rates = self.timeline.rates
        if rates is None:
            return
        order = np.lexsort((np.arange(rates.message.size), rates.message))
        message, time_s, rate = rates.message[order], rates.time_s[order], rates.rate_Bps[order]
        if (rate < 0).any() or (np.diff(rates.time_s) < 0).any():
            self.say("conservation", "rates: must be at least 0 B/s, at times that do not fall")
        same = message[1:] == message[:-1]
        carried = np.zeros(self.workload.messages)
        np.add.at(carried, message[:-1][same], (rate[:-1] * np.diff(time_s))[same])
        flows = self.workload.crosses & np.isfinite(self.resources.slowest)
        wrong = np.abs(carried - self.workload.bytes) > 1e-6 * self.workload.bytes + 1e-3
        wrong &= flows
        if wrong.any():
            m = int(wrong.argmax())
            self.say("conservation", f"message {m}: {carried[m]:.9g} B flowed, must be {self.workload.bytes[m]} B")
        last = np.append(~same, True) if message.size else np.zeros(0, bool)
        if rate[last].any():
            self.say("conservation", f"message {message[last][rate[last] > 0][0]}: flows for ever")
        early = time_s < (self.start + (0 if overheads_are_work(self.machine) else 1) * self.latency_s)[message]
        early &= time_s + self.slack < self.start[message]
        if early.any():
            self.say("conservation", f"message {message[early][0]}: flows before it was let go")

    def capacity(self) -> None:
        if self.timeline.rates is None:
            return
        for resource, at, used, limit in self.resources.overloads(self.timeline.rates, TOLERANCE):
            name = resource_name(self.machine.topology, resource)
            self.say("capacity", f"{name}: {used:.9g} B/s at {at:.9g} s, at most {limit:.9g} B/s")

    def fairness(self) -> None:
        if self.timeline.rates is None or self.timeline.model != "flow":
            return
        weight = np.ones(self.workload.messages)
        if self.settings.fairness == "rtt":
            costs = self.costs
            route = costs.inject.seconds[0] + costs.eject.seconds[0] + np.diff(self.offsets) * costs.hop_s
            weight = np.where(route > 0, 1 / np.where(route > 0, route, inf), 1.0)
            weight = np.where(weight > 0, weight, 1.0)
        worst = self.resources.unfair(self.timeline.rates, weight, samples=200)
        if worst is not None:
            message, at = worst
            self.say("fairness", f"message {message} at {at:.9g} s: no full link or port on which its level is largest")
