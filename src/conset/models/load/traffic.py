"""Traffic: the pairs that may communicate, for injection at random.

Uniform, or over the messages of a pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conset.base import Floats, InputError, Ints, Ints32, UsageError, frozen_ints, parse_size
from conset.machine import Machine
from conset.models.flit import flits_of
from conset.pattern import Pattern, input_path, parse_pattern, split_options

PACKET_FLITS = 8
"""Flits of a packet where it is not specified."""
UNIFORM = "random"
"""The word for a node drawn anew for every packet.

With `degree=` it is a pattern of fixed partners.
"""

Packets = tuple[Ints, Ints32, Ints32, Ints]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Partners in compressed sparse rows.

    A packet of node n takes one of its rows, each equally likely.

    Attributes:
        name: for people.
        nodes: of the network.
        offsets: shape=(nodes + 1), int64: rows of node n are `offsets[n] … offsets[n + 1]`; (0):
            every node sends to every node, itself included, in packets of `size[0]`.
        target: shape=(rows), int32; (0) for all nodes.
        size: shape=(rows), int64 [B]; one entry for all nodes.
    """

    name: str
    nodes: int
    offsets: Ints
    target: Ints32
    size: Ints

    def __post_init__(self) -> None:
        for name, dtype in (("offsets", np.int64), ("target", np.int32), ("size", np.int64)):
            object.__setattr__(self, name, frozen_ints(getattr(self, name), dtype, name))

    @staticmethod
    def uniform(nodes: int, size_B: int) -> Traffic:  # noqa: N803
        """Every packet to a node drawn from all, the sender included."""
        return Traffic(
            "uniform", nodes, np.zeros(0, np.int64), np.zeros(0, np.int32), np.array([size_B])
        )

    @staticmethod
    def of_pattern(pattern: Pattern, nodes: int, size_B: int | None = None) -> Traffic:  # noqa: N803
        """Every packet to one of the sender's partners in `pattern`.

        `size_B` instead of the messages' own sizes.
        """
        sizes = (
            pattern.size
            if size_B is None
            else np.broadcast_to(np.int64(size_B), pattern.target.shape)
        )
        offsets = np.concatenate(
            [pattern.offsets, np.full(nodes - pattern.ranks, pattern.offsets[-1])]
        )
        return Traffic(pattern.name, nodes, offsets, pattern.target, sizes)

    @cached_property
    def senders(self) -> Ints32:
        """The nodes that send at all."""
        if not self.offsets.size:
            return np.arange(self.nodes, dtype=np.int32)
        return np.flatnonzero(np.diff(self.offsets)).astype(np.int32)

    def mean(self, per_row: Ints32) -> np.float64:
        """Mean over the senders' packets of a figure per row."""
        if not self.offsets.size:
            return np.float64(per_row[0])
        return np.float64(self._per_node(per_row)[self.senders].mean())

    def _per_node(self, per_row: Ints32) -> Floats:
        """shape=(nodes): the mean over each node's rows; 0 where it has none."""
        count = np.diff(self.offsets)
        total = np.concatenate([[0], np.cumsum(per_row, dtype=np.int64)])
        return np.diff(total[self.offsets]) / np.maximum(count, 1)

    def flits_per_packet(self, flit_B: int) -> Floats:  # noqa: N803
        """shape=(nodes): mean flits of a packet of each node; 0 for one that sends nothing."""
        flits = flits_of(self.size, flit_B)
        return (
            np.full(self.nodes, float(flits[0])) if not self.offsets.size else self._per_node(flits)
        )

    def pairs(
        self,
    ) -> tuple[Ints32, Ints32, Ints, Floats]:
        """(source, target, size [B], share): every pair that may speak.

        A sender's shares add up to 1.
        """
        if not self.offsets.size:
            node = np.arange(self.nodes, dtype=np.int32)
            source, target = np.repeat(node, self.nodes), np.tile(node, self.nodes)
            return (
                source,
                target,
                np.broadcast_to(self.size, source.shape),
                np.full(source.size, 1 / self.nodes),
            )
        count = np.diff(self.offsets)
        source = np.repeat(np.arange(self.nodes, dtype=np.int32), count)
        return source, self.target, self.size, 1.0 / count[source]

    def draw(self, load: float, flit_B: int, cycles: int, seed: int) -> Packets:  # noqa: N803
        """(release [cycles], source, target, size [B]) of packets in `cycles` cycles.

        By time and then by node.

        Args:
            load: flits per cycle of every sender, above 0 and at most 1.
            flit_B: bytes of a flit.
            cycles: from cycle 0 on.
            seed: of every random choice.
        """
        random = np.random.default_rng(seed)
        chance = load / self.flits_per_packet(flit_B)[self.senders]
        most = float(chance.max())
        slots = cycles * self.senders.size
        # one sequence of trials over (cycle, sender): the gaps between successes are geometric
        expected = slots * most
        when = np.cumsum(random.geometric(most, int(expected + 8 * np.sqrt(expected) + 64))) - 1
        when = when[when < slots]
        if chance.min() < most:
            when = when[random.random(when.size) * most < chance[when % self.senders.size]]
        source = self.senders[when % self.senders.size]
        if not self.offsets.size:
            target = random.integers(self.nodes, size=when.size, dtype=np.int32)
            return when // self.senders.size, source, target, np.broadcast_to(self.size, when.shape)
        row = self.offsets[source] + random.integers(np.diff(self.offsets)[source])
        return when // self.senders.size, source, self.target[row], self.size[row]


def parse_traffic(text: str, machine: Machine, *, seed: int = 0) -> Traffic:
    """Traffic from the specification of a pattern.

    `random` draws a node for every packet, others keep to their partners.

    A packet is as long as the spec's `size=` says, else 8 flits of the machine; a file's messages
    keep their sizes.

    Raises:
        UsageError: a specification that does not parse, or a distribution of sizes for `random`.
        InputError: more ranks than the machine has endpoints; a broken file.
    """
    topology = machine.topology
    tokens = split_options(text.replace(":", ",", 1))
    given = dict(word.partition("=")[::2] for word in tokens[1:])
    usual = PACKET_FLITS * machine.costs.flit_B
    if tokens[0] == UNIFORM and "degree" not in given:
        if set(given) - {"size"}:
            raise UsageError(
                f"{text}: takes only size= here, or degree= for fixed partners, given "
                f"{sorted(given)}"
            )
        if topology.nodes > topology.endpoints:
            return _among_endpoints(
                topology.endpoints, topology.nodes, parse_size(given.get("size", usual), "size")
            )
        return Traffic.uniform(topology.nodes, parse_size(given.get("size", usual), "size"))
    pattern = parse_pattern(text, topology=topology, seed=seed)
    if pattern.ranks > topology.endpoints:
        raise InputError(
            f"{text}: {pattern.ranks} ranks on {topology.endpoints} endpoints of {machine.name}"
        )
    plain = input_path(text) is None and "size" not in given
    return Traffic.of_pattern(pattern, topology.nodes, usual if plain else None)


def _among_endpoints(endpoints: int, nodes: int, size_B: int) -> Traffic:  # noqa: N803
    """Uniform traffic where only some nodes are endpoints."""
    offsets = np.minimum(np.arange(nodes + 1), endpoints) * endpoints
    target = np.tile(np.arange(endpoints, dtype=np.int32), endpoints)
    return Traffic(
        "uniform", nodes, offsets, target, np.broadcast_to(np.int64(size_B), target.shape)
    )
