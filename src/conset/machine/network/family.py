"""A family of networks: its row in the table, its parameters, and what a network of it is made of.

A row (`Family`) holds all that differs from one family to the next: how its spec is read, what
builds a network, how its machines route, and how a network is drawn. The table is
`conset.machine.network.families`. A package adds a network of its own by such a row under the entry
point group `conset.networks`.

A builder returns a `Topology`, or `Parts`: nodes with their names, and wires by kind, from which
the links follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from conset.base import (
    InputError,
    Ints,
    UsageError,
    parse_rate,
    shortened,
    unknown_name,
    whole_number,
)
from conset.machine.network.routing import Rule
from conset.machine.network.topology import MAX_NODES, MAX_PLANES, FamilyMember, Topology, Value

MAX_WIRES = 2**25
"""Largest number of wires of a network, checked before links are made of them."""

Plan = Literal["", "rings", "hosts", "grid", "blocks"]
"""Drawings: by levels or by distances, groups on a ring, hosts in rows, a grid, two grids."""


def read_whole(text: str, what: str, low: int = 0, high: int = 10**9 - 1, hint: str = "") -> int:
    """A whole number from `low` to `high`.

    Raises:
        UsageError: it is none; `hint` ends the sentence where the text is no number.
    """
    number = whole_number(text.strip())
    if number is None:
        raise UsageError(f"{what}: must be a whole number{hint}")
    if not low <= number <= high:
        raise UsageError(f"{what}: must be from {low} to {high}")
    return number


def read_sizes(text: str, what: str, low: int = 1, high: int = 10**9 - 1) -> tuple[int, ...]:
    """`"8x8"` → (8, 8).

    Raises:
        UsageError: a size that is no whole number from `low` to `high`.
    """
    hint = "; sizes are written as 8x8"
    return tuple(
        read_whole(part, f"{what}: size {k} '{shortened(part)}'", low, high, hint)
        for k, part in enumerate(text.split("x"))
    )


def read_dead(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """`"3;7;40-41"` → nodes, and links as pairs of nodes, that are taken out.

    Raises:
        UsageError: a part that is neither a node nor a pair.
    """
    nodes: list[int] = []
    links: list[tuple[int, int]] = []
    hint = ", several as 3;7, a link as 3-4"
    for part in text.split(";"):
        what = f"dead '{shortened(part)}'"
        first, *others = (read_whole(end, what, hint=hint) for end in part.split("-", 1))
        if others:
            links.append((first, others[0]))
        else:
            nodes.append(first)
    return nodes, links


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family.

    Attributes:
        name: its word in a spec.
        default: its value where a spec leaves it out: a whole number, sides as a tuple, a text, or
            None: it follows from the others.
        help: one line for people.
        minimum: the least value, of each side where it is sides.
        maximum: the largest.
        argument: its name in Python where that is another one.
        quiet: whether a spec is written without it where it has its default.
    """

    name: str
    default: Value
    help: str
    minimum: int = 1
    maximum: int = 10**6
    argument: str = ""
    quiet: bool = False

    def read(self, text: str, what: str = "") -> Value:
        """The value that a text denotes; `what` names it in errors.

        Raises:
            UsageError: no whole number (sides: numbers with x between them), or out of range.
        """
        if isinstance(self.default, str):
            return text.replace(" ", "")
        what = what or f"{self.name}={shortened(text)}"
        if isinstance(self.default, tuple):
            return read_sizes(text, what, self.minimum, self.maximum)
        return read_whole(text, what, self.minimum, self.maximum)


DEAD = Parameter("dead", "", "nodes and links that are taken out: 3;7;40-41")
SWITCHED = (
    Parameter(
        "widths", "", "parallel links in place of each wire, by kind from the endpoints up: 1;2;2"
    ),
    Parameter(
        "rates",
        "",
        "rate of a link by kind: 50GB/s;25GB/s, or multiples of the machine's link: 2x;1x",
    ),
    DEAD,
)
"""Parameters that every family made of `Parts` has."""
REGULAR = (
    Parameter("width", 1, "parallel links in place of each", quiet=True),
    Parameter("planes", 1, "how many of it side by side", 1, MAX_PLANES, quiet=True),
    DEAD,
)
"""Parameters that every regular network has."""


@dataclass(frozen=True)
class Family:
    """A family of networks.

    Attributes:
        name: its word.
        about: one line for people.
        parameters: its own.
        build: makes a network of values of its own parameters.
        routing: the rule for paths that its machines have by default.
        rates: of its links by default, by kind of wire.
        common: the parameters that it shares with others.
        sized: whether its first parameter is written without its name: `mesh:8x8`.
        example: a spec for people.
        plan: how its networks are drawn.
        group: what a group of nodes is called in pictures; "": nothing.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    build: Callable[..., Topology | Parts]
    routing: Rule = "minimal"
    rates: str = "1x"
    common: tuple[Parameter, ...] = SWITCHED
    sized: bool = False
    example: str = ""
    plan: Plan = ""
    group: str = "group"

    @property
    def is_regular(self) -> bool:
        """Whether its links follow from coordinates, so that none is stored."""
        return self.common is REGULAR

    @property
    def words(self) -> tuple[str, ...]:
        """The names of its parameters, in the order in which a spec is written."""
        return tuple(parameter.name for parameter in (*self.parameters, *self.common))

    def read(self, options: Iterable[tuple[str, str]], size: str = "") -> dict[str, Value]:
        """Values of the parameters that are given, by their words.

        Raises:
            UsageError: an unknown parameter (with the nearest known one), one given twice, or a
                value out of range.
        """
        known = {parameter.name: parameter for parameter in (*self.parameters, *self.common)}
        values: dict[str, Value] = {}
        if size:
            first = self.parameters[0]
            values[first.name] = first.read(size, f"{self.name}:{shortened(size)}")
        for word, text in options:
            if word not in known:
                raise unknown_name(f"parameter of {self.name}", word, known)
            if word in values:
                raise UsageError(f"{self.name}: {word}={text}: {word} is given twice")
            with self.named():
                values[word] = known[word].read(text)
        return values

    def member(self, values: Mapping[str, Value]) -> FamilyMember:
        """The network of these values; quiet parameters at their defaults are left out."""
        said = []
        for parameter in (*self.parameters, *self.common):
            value = values.get(parameter.name, parameter.default)
            quiet = parameter.quiet and value == parameter.default
            if value not in (None, "") and not quiet:
                said.append((parameter.name, value))
        return FamilyMember(self.name, tuple(said), self.sized)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Puts the family's name before errors within: a spec may have other options too."""
        try:
            yield
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}", options=error.options) from None


@dataclass(frozen=True, eq=False)
class Wires:
    """Wires of one kind, each of them two links, one each way.

    Attributes:
        kind: what they join, as `widths` and `rates` name it.
        one: node at one end of each; a pair that is there twice is a link of width 2.
        other: node at the other end.
    """

    kind: str
    one: Ints
    other: Ints


@dataclass(frozen=True, eq=False)
class Parts:
    """A network at a size, before widths and rates.

    Attributes:
        endpoints: the first nodes, which may hold ranks.
        wires: by kind, from the endpoints up.
        labels: a name for each node.
        level: shape=(nodes): 0 for endpoints, 1 for switches next to them, and so on; None: the
            network has no levels.
        group: shape=(nodes): which pod, group, row or host, -1 for none; None: it has no groups.
    """

    endpoints: int
    wires: tuple[Wires, ...]
    labels: tuple[str, ...]
    level: Ints | None = None
    group: Ints | None = None

    def to_topology(self, member: FamilyMember, rates: str, link_Bps: float) -> Topology:  # noqa: N803
        """The network.

        Args:
            member: what it is called, and the `widths` (parallel links in place of each wire, by
                kind: `1;2;2`, or one number for all kinds) and `rates` of its links (per unit of
                width, or multiples of the machine's `link` as `2x`).
            rates: where the member says none.
            link_Bps: the machine's `link` [B/s].

        Raises:
            UsageError: widths or rates that do not parse, or are not one per kind of wire.
            InputError: multiples of a link that costs nothing.
        """
        kinds = tuple(wires.kind for wires in self.wires)
        if ";" in rates:  # kinds that a size does not have
            rates = ";".join(rates.split(";")[: len(kinds)])
        said = _by_kind(str(member.values.get("rates", rates)), "rates", kinds)
        wide = _by_kind(str(member.values.get("widths", "1")), "widths", kinds)
        width = [read_whole(text, f"widths '{text}'", 1, 999999) for text in wide]
        rate = [_rate(text, kind, link_Bps) for text, kind in zip(said, kinds, strict=True)]
        count = [2 * wires.one.size for wires in self.wires]
        return Topology.of_links(
            self.endpoints,
            len(self.labels),
            np.concatenate([end for wires in self.wires for end in (wires.one, wires.other)]),
            np.concatenate([end for wires in self.wires for end in (wires.other, wires.one)]),
            np.repeat(width, count),
            None if set(said) == {"1x"} else np.repeat(rate, count),
            labels=self.labels,
            family=member,
            level=self.level,
            group=self.group,
        )


def require_size(nodes: int, wires: int) -> None:
    """Raises InputError for a network that is too large, before its arrays are made."""
    if nodes > MAX_NODES:
        raise InputError(f"{nodes} nodes, at most {MAX_NODES}")
    if wires > MAX_WIRES:
        raise InputError(f"{wires} links between nodes, at most {MAX_WIRES}")


def _by_kind(text: str, what: str, kinds: tuple[str, ...]) -> list[str]:
    values = [value.strip() for value in text.split(";")]
    if len(values) not in (1, len(kinds)):
        rule = f"must be 1 or {len(kinds)}: {'; '.join(kinds)}"
        raise UsageError(f"{what}={text}: {len(values)} values, {rule}")
    return values * len(kinds) if len(values) == 1 else values


def _rate(text: str, kind: str, link_Bps: float) -> float:  # noqa: N803
    if not text.endswith("x"):
        return parse_rate(text, f"rates, {kind}")
    try:
        factor = float(text[:-1])
    except ValueError:
        factor = 0.0
    if not 0 < factor < inf:
        rule = "must be a rate, or a multiple of the machine's link as 2x"
        raise UsageError(f"rates, {kind} '{text}': {rule}")
    return factor * link_Bps
