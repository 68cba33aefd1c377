"""Workload: what a simulator plays, whether it came from a schedule or from a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    MAX_TIME_S,
    Bools,
    Floats,
    InputError,
    Ints,
    Ints32,
    ValueObject,
    check_offsets,
    check_range,
    frozen,
)
from conset.machine import Costs, Topology
from conset.schedule import Schedule, chosen_links, circuits_of, order_of_transfers

MAX_RANKS = 1 << 24
"""Ranks that messages may name where these are not nodes: rows of tables."""
MAX_LINKS = 2**31 - 1


def _no_int32() -> Ints32:
    return np.zeros(0, np.int32)


def _no_int64() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Workload(ValueObject):
    """Messages between nodes.

    When each is released, what it waits for, and in which order ranks take them.

    A message is known by its index: the transfer of a schedule, or the line of a trace. Ranks take
    their messages in the order of the indices unless `order` says otherwise.

    Attributes:
        source: shape=(messages), int32: the node a message leaves.
        target: shape=(messages), int32: the node it enters; the same node: it never touches the
            network.
        bytes: shape=(messages), int64 [B], at least 0.
        time_s: shape=(messages), float64 [s], at most 10^6 s: not released earlier; given as (0): 0
            everywhere.
        dep_offsets: shape=(messages + 1), int64; given as (0): nothing waits for anything.
        deps: int32: message m is not released before messages
            `deps[dep_offsets[m] : dep_offsets[m + 1]]` are delivered.
        phase_offsets: shape=(phases + 1), int64: phase p of a schedule holds messages
            `phase_offsets[p] …`; (0) for a trace, which has no phases, pays no set-up and knows no
            synchronization.
        order: shape=(messages), int32: the messages in list order, phase after phase; (0): by
            index.
        sender: shape=(messages), int32, below 2^24: the rank that sends; (0): ranks are nodes.
        receiver: shape=(messages), int32: the rank that receives; (0): ranks are nodes.
        link_offsets: shape=(messages + 1), int64: routes a compiler chose; (0) for the machine's
            own.
        links: int32: the links of message m in order are
            `links[link_offsets[m] : link_offsets[m + 1]]`.
        channels: int32: one at every node that a message visits, message after message, so one more
            than its links; -1 inside a node; (0) where it is not recorded.
        packed: shape=(messages), bool: put together from several pieces at the sender and taken
            apart at the receiver; (0): no message is.
        nodes: nodes of the network that messages may name.
        name: what it was made from, for people.
        method: what made the schedule, for machines whose costs depend on it.
    """

    source: Ints32
    target: Ints32
    bytes: Ints
    nodes: int
    time_s: Floats = field(default_factory=lambda: np.zeros(0))
    dep_offsets: Ints = field(default_factory=_no_int64)
    deps: Ints32 = field(default_factory=_no_int32)
    phase_offsets: Ints = field(default_factory=_no_int64)
    order: Ints32 = field(default_factory=_no_int32)
    sender: Ints32 = field(default_factory=_no_int32)
    receiver: Ints32 = field(default_factory=_no_int32)
    link_offsets: Ints = field(default_factory=_no_int64)
    links: Ints32 = field(default_factory=_no_int32)
    name: str = field(default="workload", compare=False)
    method: str = ""
    packed: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    channels: Ints32 = field(default_factory=_no_int32)

    def __post_init__(self) -> None:
        if not 1 <= self.nodes < 2**31:
            raise InputError(f"nodes = {self.nodes}: must be from 1 to {2**31 - 1}")
        self._cast(
            np.int32, "source", "target", "deps", "order", "sender", "receiver", "links", "channels"
        )
        self._cast(np.int64, "bytes", "dep_offsets", "phase_offsets", "link_offsets")
        time_s = np.asarray(self.time_s, np.float64)
        object.__setattr__(
            self, "time_s", frozen(time_s if time_s.size else np.zeros(self.source.size))
        )
        if not self.dep_offsets.size:
            object.__setattr__(
                self, "dep_offsets", frozen(np.broadcast_to(np.int64(0), self.source.size + 1))
            )
        packed = np.asarray(self.packed)
        if packed.size and packed.dtype != np.bool_:
            raise InputError(f"packed: true or false required, given {packed.dtype}")
        object.__setattr__(self, "packed", frozen(packed.astype(np.bool_, copy=False)))
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        n = self.source.size
        check_range("source", self.source, self.nodes)
        check_range("target", self.target, self.nodes)
        for name in ("target", "bytes"):
            if getattr(self, name).shape != (n,):
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape}: must be ({n},) as source"
                )
        for name in ("time_s", "order", "sender", "receiver", "packed"):
            if getattr(self, name).shape not in ((0,), (n,)):
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape}: must be ({n},) as "
                    "source, or (0,)"
                )
        check_offsets("dep_offsets", self.dep_offsets, n, self.deps.size, "entries of deps")
        if self.link_offsets.size or self.links.size:
            check_offsets("link_offsets", self.link_offsets, n, self.links.size, "links")
        if self.channels.size and (
            not self.link_offsets.size or self.channels.shape != (self.links.size + n,)
        ):
            rule = f"one for each of {self.links.size} links and {n} messages required"
            raise InputError(f"channels has shape {self.channels.shape}: {rule}, beside links")
        if self.phase_offsets.size:
            check_offsets("phase_offsets", self.phase_offsets, None, n, "messages")

    def _check_values(self) -> None:
        check_range("deps", self.deps, self.messages)
        check_range("links", self.links, MAX_LINKS)
        if self.channels.size and self.channels.min() < -1:
            k = int(np.argmin(self.channels))
            raise InputError(
                f"channels[{k}] = {self.channels[k]}: must be at least 0, or -1 inside a node"
            )
        for name in ("sender", "receiver"):
            check_range(name, getattr(self, name), MAX_RANKS)
        if self.messages and self.bytes.min() < 0:
            m = int(np.argmin(self.bytes))
            raise InputError(f"bytes[{m}] = {self.bytes[m]}: must be at least 0 B")
        if (total := float(self.bytes.sum(dtype=np.float64))) > MAX_SIZE_B:
            raise InputError(f"bytes: all messages together are {total:.3g} B, at most 2^62 B")
        wrong = np.flatnonzero(~((self.time_s >= 0) & (self.time_s <= MAX_TIME_S)))
        if wrong.size:
            late = self.time_s[wrong[0]]
            rule = "at most 1e6 s" if MAX_TIME_S < late < np.inf else "finite and at least 0 s"
            raise InputError(f"time_s[{wrong[0]}] = {late}: must be {rule}")
        if self.order.size and not np.array_equal(np.sort(self.order), np.arange(self.messages)):
            raise InputError("order: must name every message once")

    def require_fits(self, topology: Topology) -> None:
        """Checks the workload against a network.

        Its nodes, and chosen routes that lead from end to end.

        Raises:
            InputError: a message leaves or enters a node that holds no ranks, or its links are no
                way between its ends.
        """
        check_range("source", self.source, topology.endpoints)
        check_range("target", self.target, topology.endpoints)
        check_range("bytes", self.bytes, 2**62)
        if self.nodes != topology.nodes:
            raise InputError(f"nodes = {self.nodes}: the network has {topology.nodes}")
        check_range("links", self.links, topology.link_slots)
        none = np.flatnonzero(~topology.link_exists[self.links])
        if none.size:
            raise InputError(
                f"links[{none[0]}] = {self.links[none[0]]}: no link leaves its node there"
            )
        if not self.link_offsets.size or topology.kind == "crossbar":
            return
        begin, end = self.link_offsets[:-1], self.link_offsets[1:]
        source, target = topology.ends
        some = begin < end
        broken = some != self.crosses
        broken[some] |= source[self.links[begin[some]]] != self.source[some]
        broken[some] |= target[self.links[end[some] - 1]] != self.target[some]
        inner = np.ones(self.links.size, bool)
        inner[begin[some]] = False
        at = np.flatnonzero(inner)
        apart = at[target[self.links[at - 1]] != source[self.links[at]]]
        broken[np.searchsorted(end, apart, side="right")] = True
        if broken.any():
            m = int(np.argmax(broken))
            ends = f"node {self.source[m]} to node {self.target[m]}"
            raise InputError(f"links of message {m}: are no way from {ends}")

    @property
    def messages(self) -> int:
        """Number of messages."""
        return int(self.source.size)

    @property
    def phases(self) -> int:
        """Number of phases; 0 for a trace."""
        return max(int(self.phase_offsets.size) - 1, 0)

    @cached_property
    def phase_of(self) -> Ints32:
        """shape=(messages), int32: the phase of each message; 0 everywhere for a trace."""
        if not self.phases:
            return frozen(np.zeros(self.messages, np.int32))
        return frozen(
            np.repeat(np.arange(self.phases, dtype=np.int32), np.diff(self.phase_offsets))
        )

    @property
    def sending_rank(self) -> Ints32:
        """shape=(messages), int32: who sends; a node where ranks are nodes."""
        return self.sender if self.sender.size else self.source

    @property
    def receiving_rank(self) -> Ints32:
        """shape=(messages), int32: who receives."""
        return self.receiver if self.receiver.size else self.target

    def copies_s(self, costs: Costs) -> Floats:
        """shape=(messages): what putting together and taking apart cost each end [s].

        0 for what is not packed.
        """
        return costs.copies(self.bytes, self.packed if self.packed.size else None)

    @property
    def crosses(self) -> Bools:
        """shape=(messages): whether a message leaves its node."""
        return np.asarray(self.source != self.target)

    @staticmethod
    def of_schedule(schedule: Schedule) -> Workload:
        """The transfers of a schedule, in list order.

        Start in the timetable where there is one, else as stored.

        Through circuit switches a transfer is released when its connection is set.

        Of a partial order of the pattern's messages: every part of the second waits for every part
        of the first.
        """
        pattern, message = schedule.pattern, schedule.message
        order = np.zeros(0, np.int32)
        if schedule.timetable is not None:
            order = schedule.posted
        placed = schedule.placement is not None
        offsets, links = chosen_links(schedule)
        dep_offsets, deps = _dependences(schedule)
        begin = np.zeros(0)
        if schedule.machine.is_circuit:
            table = schedule.timetable
            begin = circuits_of(schedule)[0].begin if table is None else table[:, 0]
            order = np.argsort(begin, kind="stable").astype(np.int32)  # planes run side by side
        return Workload(
            schedule.source_node,
            schedule.target_node,
            schedule.size,
            schedule.machine.topology.nodes,
            time_s=begin,
            dep_offsets=dep_offsets,
            deps=deps,
            phase_offsets=schedule.phase_offsets,
            order=order,
            sender=pattern.source[message] if placed else np.zeros(0, np.int32),
            receiver=pattern.target[message] if placed else np.zeros(0, np.int32),
            link_offsets=offsets,
            links=links,
            name=f"{pattern.name} by {schedule.method}",
            method=schedule.method,
            packed=np.zeros(0, np.bool_) if schedule.packed is None else schedule.packed,
            channels=_no_int32()  # there are no links between stops of a crossbar
            if schedule.channels is None or schedule.machine.topology.kind == "crossbar"
            else schedule.channels,
        )

    def __repr__(self) -> str:
        return f"Workload({self.name}, messages={self.messages}, phases={self.phases})"


def _dependences(schedule: Schedule) -> tuple[Ints, Ints32]:
    """(offsets, transfers) that each transfer waits for.

    Both empty where the pattern has no order.
    """
    if schedule.pattern.before is None or not len(schedule.pattern.before):
        return _no_int64(), _no_int32()
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(second, minlength=schedule.transfers))))
    return offsets.astype(np.int64), first[np.argsort(second, kind="stable")].astype(np.int32)
