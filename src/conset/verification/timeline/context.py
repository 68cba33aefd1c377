"""A timeline with all that a rule of the checker looks at, computed again from the workload.

Phase visits: when ranks may enter their phases under a policy.

Given when messages are delivered; for checks.

Routes of a workload for the checker.

Expanded by the verifier's walks, put in order and proved to be chains.

Nothing of the core is used. A route is a set of links until it is walked: from the source, each
next link is the one that leaves the node reached so far; what cannot be walked to the target is no
route.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from conset.base import Bools, Floats, Ints, Ints32
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.models.bounds import Demand, Resources, Spread
from conset.models.needs import HELD, MessageTimes, Rows, cycle_of, in_list_order, rounded_up
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.schedule.policy import Sync, parse_sync
from conset.verification.schedule.check import formula_walk
from conset.verification.schedule.graph_walks import SpreadWalk, full_meshes

TOLERANCE = 1e-9
"""Relative: of a capacity, a time, a number of bytes."""
GRAIN_S = 1e-15
"""What the times of one element, under `connections`, are multiples of."""


@dataclass(frozen=True)
class Violation:
    """What is impossible.

    Attributes:
        rule: `route`, `release`, `latency`, `processor`, `set-up`, `deps`, `policy`, `order`,
            `in flight`, `receives`, `bound`, `figures`, `conservation`, `capacity`, `lanes`,
            `fairness`, `channels`.
        text: one line with what, where and both numbers.
    """

    rule: str
    text: str


@dataclass(frozen=True, eq=False)
class CheckContext:
    """A timeline, what was played, where and how."""

    timeline: Timeline
    workload: Workload
    machine: Machine
    settings: Settings

    @property
    def model(self) -> str:
        """`flow`, `wormhole`, `circuit`, `flit`, `connections`."""
        return self.timeline.model

    @property
    def held(self) -> bool:
        """Whether messages hold channels."""
        return self.model in HELD

    @cached_property
    def costs(self) -> Costs:
        """Of running what a method found."""
        return self.machine.costs_for(self.workload.method)

    @cached_property
    def sync(self) -> Sync:
        """The policy between phases."""
        return parse_sync(self.settings.sync if self.workload.phases else "none")

    @cached_property
    def routes(self) -> Routes:
        """The links of every message."""
        return Routes.of(self.workload, self.machine)

    @cached_property
    def resources(self) -> Resources:
        """What messages share."""
        offsets, links, spread = self.routes.offsets, self.routes.links, self.routes.spread
        if spread is not None and self.model == "packet":
            offsets, links, spread = spread.only_sure(offsets, links)
        return Resources.of(
            self.workload, self.machine, self.settings, self.model, offsets, links, spread
        )

    @cached_property
    def demand(self) -> Demand:
        """For bounds."""
        return Demand.of(self.workload, self.machine, self.settings, self.model, self.resources)

    @property
    def needs(self) -> MessageTimes:
        """What each message takes at least."""
        return self.demand.needs

    @property
    def injected_only(self) -> bool:
        """Whether the timeline starts when the first flit was injected.

        After slot and send overhead.
        """
        return self.model == "flit" and self.sent is None

    @cached_property
    def start(self) -> Floats:
        """shape=(messages) [s]: when each took its slot; at the latest where it is not recorded."""
        return (
            self.timeline.start_s - self.needs.send if self.injected_only else self.timeline.start_s
        )

    @property
    def end(self) -> Floats:
        """shape=(messages) [s]: delivered."""
        return self.timeline.end_s

    @property
    def sent(self) -> Floats | None:
        """shape=(messages) [s]: when its send overhead was paid; None where it is not recorded."""
        return self.timeline.sent_s if self.timeline.sent_s.size == self.end.size else None

    @cached_property
    def first(self) -> Floats | None:
        """shape=(messages) [s]: when its bytes began to flow; None where it is not recorded."""
        if self.timeline.first_byte_s.size == self.end.size:
            return self.timeline.first_byte_s
        if self.injected_only:
            return self.timeline.start_s
        return None if self.streams is None else np.where(self.flows, self.streams[0], self.end)

    @cached_property
    def left(self) -> Floats | None:
        """shape=(messages) [s]: when its bytes had left; None where it is not recorded."""
        if self.timeline.left_s.size == self.end.size:
            return self.timeline.left_s
        if self.streams is None:
            return None
        # what has no bytes that take time has left before its receiver pays
        return np.where(self.flows, self.streams[1], self.end - self.needs.after)

    @property
    def slot_free(self) -> Floats:
        """shape=(messages) [s]: when its slot was free; the earliest time if not recorded."""
        return self.start + self.needs.of_slot if self.left is None else self.left

    @cached_property
    def slack(self) -> float:
        """What two times may differ by and still be one [s]; rounded times of elements add up."""
        relative = TOLERANCE
        if self.model == "connections":
            rates = self.resources.capacity
            relative += (
                GRAIN_S * float(rates[np.isfinite(rates)].max(initial=0.0)) / self.costs.flit_B
            )
        return relative * max(self.timeline.time_s, 1e-30)

    @cached_property
    def cycle(self) -> float:
        """Of the flit model [s]; 0 in others: nothing else happens in steps."""
        return cycle_of(self.costs, self.model)

    @property
    def setup_s(self) -> float:
        """Of a phase [s]; 0 where there are none."""
        return self.demand.setup_s

    @property
    def senders(self) -> Ints32:
        """shape=(messages): the rank that has the list in which a message stands."""
        return self.workload.sending_rank

    @property
    def receivers(self) -> Ints32:
        """shape=(messages): the rank at the other end."""
        return self.workload.receiving_rank

    @cached_property
    def rows(self) -> Rows:
        """The sends of every rank in posting order."""
        return in_list_order(self.workload, self.senders)

    @property
    def listed(self) -> bool:
        """Whether receives go by the list: in `flow` unless set otherwise, never under `detect`."""
        if self.sync.kind == "detect":
            return False
        order = self.settings.receive_order
        return order == "list" or (order is None and self.model == "flow")

    @cached_property
    def in_order(self) -> bool:
        """Whether ranks take slots in posting order: in schedules, and where slots are limited."""
        return self.workload.phases > 0 or self.settings.in_flight is not None

    @cached_property
    def begins(self) -> PhaseVisits:
        """When ranks may enter phases, by the deliveries that the timeline states."""
        return PhaseVisits.of(self.workload, self.machine, self.sync, self.end, self.cycle)

    @cached_property
    def flows(self) -> Bools:
        """shape=(messages): which have bytes that take time on the network."""
        work = self.workload
        return np.asarray(work.crosses & (work.bytes > 0) & np.isfinite(self.resources.slowest))

    @cached_property
    def streams(self) -> tuple[Floats, Floats] | None:
        """(first byte, last byte), shape=(messages) [s], by the rates; the end where nothing flows.

        None without.
        """
        rates = self.timeline.rates
        if rates is None:
            return None
        first, last = self.end.copy(), self.end.copy()
        seen = np.zeros(self.end.size, bool)
        seen[rates.message] = True
        last[seen] = -np.inf
        np.minimum.at(first, rates.message, rates.time_s)
        np.maximum.at(last, rates.message, rates.time_s)
        return first, last

    def not_before(self, rule: str, earliest: Floats, times: Floats, what: str) -> list[Violation]:
        """`times[m] >= earliest[m]` for every message; the worst one that is not."""
        late = earliest - times
        if not late.size or not late.max() > self.slack:
            return []
        m = int(late.argmax())
        return [
            Violation(
                rule,
                f"message {m}: {what} at {times[m]:.9g} s, must be at least {earliest[m]:.9g} s",
            )
        ]


@dataclass(frozen=True, eq=False)
class PhaseVisits:
    """The visits of ranks to phases: a rank visits a phase in which it sends or receives.

    Attributes:
        rank: shape=(visits), int64, rising.
        phase: shape=(visits), int64, rising inside a rank.
        sending: shape=(messages), int64: the visit of each message's sender.
        receiving: shape=(messages), int64: of its receiver.
        entered_s: shape=(visits), float64 [s]: not entered earlier.
        paid_s: shape=(visits), float64 [s]: its set-up, and those of the visits before, are not
            paid earlier.
    """

    rank: Ints
    phase: Ints
    sending: Ints
    receiving: Ints
    entered_s: Floats
    paid_s: Floats

    @staticmethod
    def of(
        workload: Workload, machine: Machine, sync: Sync, end_s: Floats, cycle_s: float = 0.0
    ) -> PhaseVisits:
        """The visits of a workload whose messages are delivered at `end_s`; none for a trace.

        Args:
            workload: what was played.
            machine: on what.
            sync: under which policy.
            end_s: shape=(messages) [s].
            cycle_s: to whose multiples barriers and set-ups are rounded up; 0: not at all.
        """
        if not workload.phases:
            none = np.zeros(0, np.int64)
            nowhere = np.zeros(workload.messages, np.int64)
            return PhaseVisits(none, none, nowhere, nowhere, np.zeros(0), np.zeros(0))
        costs = machine.costs_for(workload.method)
        key = [
            rank.astype(np.int64) * workload.phases + workload.phase_of
            for rank in (workload.sending_rank, workload.receiving_rank)
        ]
        visits, place = np.unique(np.concatenate(key), return_inverse=True)
        sending, receiving = np.split(place.astype(np.int64).ravel(), 2)
        rank, phase = visits // workload.phases, visits % workload.phases
        if sync.kind == "barrier":
            barrier_s = rounded_up(costs.synchronization.at(machine.topology.endpoints), cycle_s)
            entered = _after_barriers(workload, sync, end_s, barrier_s, costs.first_barrier)[phase]
        elif sync.is_one_step:
            entered = np.zeros(visits.size)
        else:
            last = np.zeros(visits.size)
            for place in (sending, receiving):
                np.maximum.at(last, place, end_s)
            entered = _before_each(last, rank)
        return PhaseVisits(
            rank,
            phase,
            sending,
            receiving,
            entered,
            _paid(entered, rank, rounded_up(costs.setup_s, cycle_s)),
        )


def _after_barriers(
    workload: Workload, sync: Sync, end_s: Floats, barrier_s: float, first: bool
) -> Floats:
    """shape=(phases) [s]: when the barrier before each phase's group has ended.

    Groups without messages have none.
    """
    group = workload.phase_of // sync.every
    groups = (workload.phases - 1) // sync.every + 1
    last = np.zeros(groups + 1)
    np.maximum.at(last, group + 1, end_s)
    begins = np.maximum.accumulate(last)[:groups]
    present = np.flatnonzero(np.bincount(group, minlength=groups))
    charged = np.full(groups, barrier_s)
    charged[: present[0] + 1 if present.size else groups] = barrier_s if first else 0.0
    return np.asarray((begins + charged)[np.arange(workload.phases) // sync.every])


def _before_each(last: Floats, rank: Ints) -> Floats:
    """shape=(visits): the largest of `last` over the visits of the same rank before each.

    0 before the first.
    """
    before = np.zeros(last.size)
    for low, high in _ranges(rank):
        before[low + 1 : high] = np.maximum.accumulate(last[low : high - 1])
    return before


def _paid(entered: Floats, rank: Ints, setup_s: float) -> Floats:
    """One set-up after the other, none before its phase is entered."""
    paid = np.empty(entered.size)
    for low, high in _ranges(rank):
        count = np.arange(high - low)
        paid[low:high] = (
            np.maximum.accumulate(entered[low:high] - count * setup_s) + (count + 1) * setup_s
        )
    return paid


def _ranges(rank: Ints) -> Iterator[tuple[int, int]]:
    """(first, after the last) visit of every rank."""
    return pairwise([*np.flatnonzero(np.diff(rank, prepend=-1)).tolist(), rank.size])


@dataclass(frozen=True, eq=False)
class Routes:
    """Links of every message in the order in which it takes them.

    Attributes:
        offsets: shape=(messages + 1), int64.
        links: shape=(hops), int32: link slots.
        pool: shape=(hops), int64: datelines crossed up to and including each link.
        broken: the first message whose links join its ends by no chain, -1 where all do.
        spread: the part of each message on each of `links`, where switches spread it; None: all, on
            one route.
    """

    offsets: Ints
    links: Ints32
    pool: Ints
    broken: int
    spread: Spread | None = None

    @staticmethod
    def of(workload: Workload, machine: Machine) -> Routes:
        """The routes a compiler chose, or the machine's own."""
        topology = machine.topology
        if machine.routing.knowledge == "adaptive" and not workload.link_offsets.size:
            return _spread_over(workload, machine)
        if workload.link_offsets.size:
            position = np.repeat(np.arange(workload.messages), np.diff(workload.link_offsets))
            links = workload.links.astype(np.int64)
        else:
            walk = formula_walk(machine, workload.target)
            position, links = walk.hops(
                np.arange(workload.messages), workload.source, workload.target
            )
        position, links, broken = _walked(
            workload, topology, position.astype(np.int64), links.astype(np.int64)
        )
        offsets = np.concatenate(
            [[0], np.cumsum(np.bincount(position, minlength=workload.messages))]
        )
        count = np.cumsum(_crosses_dateline(topology, machine.routing.rule)[links])
        pool = count - np.repeat(np.concatenate([[0], count])[offsets[:-1]], np.diff(offsets))
        return Routes(
            offsets.astype(np.int64), links.astype(np.int32), pool.astype(np.int64), broken
        )


def _spread_over(workload: Workload, machine: Machine) -> Routes:
    """Messages in parts: a group each, of which links carry what is expected."""
    walk = SpreadWalk(machine.topology, machine.routing, np.unique(workload.target))
    each, (source, target) = np.arange(workload.messages), (workload.source, workload.target)
    message, links, share = walk.expect(each, source, target, np.ones(workload.messages))
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(message, minlength=workload.messages))]
    ).astype(np.int64)
    # their sum: distances count some links more than once
    hops = np.floor(np.bincount(message, share, workload.messages) + 1e-9).astype(np.int64)
    lost = np.flatnonzero(walk.lost(source, target))
    return Routes(
        offsets,
        links.astype(np.int32),
        pool=np.zeros(links.size, np.int64),
        broken=int(lost[0]) if lost.size else -1,
        spread=Spread(share, hops),
    )


def _walked(
    workload: Workload, topology: Topology, position: Ints, links: Ints
) -> tuple[Ints, Ints, int]:
    """(message of each hop, link) in the order of the routes.

    And the first message that is no chain.
    """
    if topology.kind == "crossbar":
        return position, links, -1
    start, stop = topology.ends
    order = np.lexsort((start[links] if links.size else links, position))
    links, key = links[order], position[order] * topology.nodes + start[links[order]]
    given = np.bincount(position, minlength=workload.messages)
    at, walked = workload.source.astype(np.int64), np.zeros(workload.messages, np.int64)
    going = np.flatnonzero(workload.crosses)
    steps: list[tuple[Ints, Ints]] = []
    while going.size:
        place = np.searchsorted(key, going * topology.nodes + at[going])
        place = np.minimum(place, max(key.size - 1, 0))
        found = (
            key[place] == going * topology.nodes + at[going]
            if key.size
            else np.zeros(going.size, bool)
        )
        found &= walked[going] < given[going]
        going, place = going[found], place[found]
        steps.append((going, links[place]))
        at[going] = stop[links[place]]
        walked[going] += 1
        going = going[at[going] != workload.target[going]]
    wrong = np.flatnonzero((at != workload.target) | (walked != given))
    messages = np.concatenate([np.zeros(0, np.int64), *(message for message, _ in steps)])
    taken = np.concatenate([np.zeros(0, np.int64), *(link for _, link in steps)])
    stable = np.argsort(messages, kind="stable")
    return messages[stable], taken[stable], int(wrong[0]) if wrong.size else -1


def _crosses_dateline(topology: Topology, rule: str) -> Ints:
    """shape=(link_slots): 1 where a link closes a ring: its ends are more than a step apart.

    Of a graph of a family: 1 where it joins nodes of one level, unless their group is a full mesh
    of that level, and where it leaves an endpoint that has several neighbours.
    """
    if topology.level is not None and topology.group is not None:
        return _changes_pool(topology, topology.level.tolist(), topology.group.tolist())
    if not topology.wraps or rule == "no-wrap":
        return np.zeros(topology.link_slots, np.int64)
    start, stop = topology.ends
    apart = np.abs(topology.coordinates[start] - topology.coordinates[stop])
    return np.asarray((apart > 1).any(axis=1), np.int64)


def _changes_pool(topology: Topology, level: list[int], group: list[int]) -> Ints:
    """shape=(link_slots), link by link."""
    links = list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    neighbours = Counter(tail for tail, _ in set(links))
    meshed = full_meshes(topology, level, group)

    def changes(tail: int, head: int) -> bool:
        if tail < topology.endpoints and neighbours[tail] > 1:
            return True
        if level[tail] != level[head]:
            return False
        return group[tail] != group[head] or (level[tail], group[tail]) not in meshed

    return np.array([changes(tail, head) for tail, head in links], np.int64)
