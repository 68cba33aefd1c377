"""What a family is made of.

Nodes with their names, and wires by kind, from which the network's links follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError, UsageError
from conset.base.units import parse_rate
from conset.machine.network.topology import MAX_NODES, Topology

MAX_WIRES = 2**25
"""Of a family, before links are made of them."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Wires:
    """Wires of one kind, each of them two links, one each way.

    Attributes:
        kind: what they join, as `widths` and `rates` name it.
        one: node at one end of each; a pair that stands twice is a link of width 2.
        other: node at the other end.
    """

    kind: str
    one: Ints
    other: Ints


@dataclass(frozen=True, eq=False)
class Parts:
    """A family at a size, before widths and rates.

    Attributes:
        endpoints: the first nodes, which may hold ranks.
        wires: by kind, from the endpoints up.
        labels: a name for each node.
        level: shape=(nodes): 0 for endpoints, 1 for switches next to them, and so on.
        group: shape=(nodes): which pod, group, row or host; -1 for none.
    """

    endpoints: int
    wires: tuple[Wires, ...]
    labels: tuple[str, ...]
    level: Ints
    group: Ints

    def to_topology(self, family: str, widths: str, rates: str, link_Bps: float) -> Topology:  # noqa: N803
        """The network.

        Args:
            family: the words that build it.
            widths: how many parallel links stand for each wire, by kind: `1;2;2`, or one number for
                all kinds.
            rates: of a link by kind, per unit of width: rates, or multiples of the machine's `link`
                as `2x`.
            link_Bps: the machine's `link` [B/s].

        Raises:
            UsageError: widths or rates that do not parse, or are not one per kind of wire.
            InputError: multiples of a link that costs nothing.
        """
        kinds = tuple(wires.kind for wires in self.wires)
        factor = _by_kind(widths, "widths", kinds)
        own = [
            _rate(text, kind, link_Bps)
            for text, kind in zip(_by_kind(rates, "rates", kinds), kinds, strict=True)
        ]
        nodes = len(self.labels)
        ends = [
            np.concatenate([w.one, w.other]) * nodes + np.concatenate([w.other, w.one])
            for w in self.wires
        ]
        key, first, count = np.unique(np.concatenate(ends), return_index=True, return_counts=True)
        kind = np.repeat(np.arange(len(kinds)), [each.size for each in ends])[first]
        width = count * np.array([_width(text) for text in factor])[kind]
        plain = all(text == "1x" for text in _by_kind(rates, "rates", kinds))
        return Topology(
            "graph",
            (),
            self.endpoints,
            nodes,
            (key // nodes).astype(np.int32),
            (key % nodes).astype(np.int32),
            width.astype(np.int32) if width.max(initial=1) > 1 else None,
            None if plain else np.array(own)[kind],
            labels=self.labels,
            family=family,
            level=self.level.astype(np.int32),
            group=self.group.astype(np.int32),
        )


def require_size(nodes: int, wires: int) -> None:
    """Raises InputError, before arrays are made, for a network larger than any allowed."""
    if nodes > MAX_NODES:
        raise InputError(f"{nodes} nodes, at most {MAX_NODES}")
    if wires > MAX_WIRES:
        raise InputError(f"{wires} links between nodes, at most {MAX_WIRES}")


def _by_kind(text: str, what: str, kinds: tuple[str, ...]) -> list[str]:
    values = [value.strip() for value in text.split(";")]
    if len(values) not in (1, len(kinds)):
        raise UsageError(
            f"{what}={text}: {len(values)} values, must be 1 or {len(kinds)}: {'; '.join(kinds)}"
        )
    return values * len(kinds) if len(values) == 1 else values


def _width(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) >= 1 and len(text) <= 6):
        raise UsageError(f"widths: '{text}': must be a whole number from 1 to 999999")
    return int(text)


def _rate(text: str, kind: str, link_Bps: float) -> float:  # noqa: N803
    if not text.endswith("x"):
        return parse_rate(text, f"rates, {kind}")
    try:
        factor = float(text[:-1])
    except ValueError:
        factor = 0.0
    if not 0 < factor < inf:
        raise UsageError(
            f"rates, {kind} '{text}': must be a rate, or a multiple of the machine's link as 2x"
        )
    return factor * link_Bps
