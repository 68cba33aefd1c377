"""The table of families, and a network from its words: `fat-tree:k=16,taper=2`.

A family's words are its name, a colon, and its parameters with commas between them. What is left
out has its default; `fat-tree` alone is one. All families also know

- `widths=1;2;2`: parallel links in place of each wire, by kind of wire from the endpoints up, or
  one number for all;
- `rates=50GB/s;25GB/s;25GB/s`: rate of a link per unit of width, by kind; `2x` is twice the
  machine's `link`;
- `dead=3;7;40-41`: nodes, and links both ways, that are taken out
  (`conset.machine.network.graph.without`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from conset.base.errors import UsageError, shortened, unknown_name
from conset.machine.network.families.dragonfly import dragonfly
from conset.machine.network.families.hyperx import express_mesh, hyperx
from conset.machine.network.families.parts import Parts
from conset.machine.network.families.rails import rails
from conset.machine.network.families.slim_fly import slim_fly
from conset.machine.network.families.trees import fat_tree, leaf_spine
from conset.machine.network.graph import without
from conset.machine.network.routing import Rule
from conset.machine.network.topology import Topology

LINK_Bps = 25e9
"""The `link` of a bare network where no machine gives another one [B/s].

Rates such as `2x` are multiples of it.
"""

Value = int | tuple[int, ...] | str | None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family.

    Attributes:
        name: its word.
        default: its value where it is left out; None where it follows from the others.
        help: one line for people.
        minimum: the least value, of each side where it is sides.
        maximum: the largest.
        argument: its name in Python where that is another one.
        quiet: whether words leave it out where it has its default.
    """

    name: str
    default: int | tuple[int, ...] | None
    help: str
    minimum: int = 1
    maximum: int = 10**6
    argument: str = ""
    quiet: bool = False

    def read(self, text: str) -> int | tuple[int, ...]:
        """The value that a text says.

        Raises:
            UsageError: no whole number (sides: numbers with x between them), or out of range.
        """
        sides = isinstance(self.default, tuple)
        numbers = []
        for part in text.split("x") if sides else [text]:
            if not (part.isascii() and part.isdigit()) or len(part) > 9:
                rule = (
                    "must be whole numbers with x between them, as 4x4"
                    if sides
                    else "must be a whole number"
                )
                raise UsageError(f"{self.name}={shortened(text)}: {rule}")
            if not self.minimum <= int(part) <= self.maximum:
                raise UsageError(
                    f"{self.name}={text}: must be from {self.minimum} to {self.maximum}"
                )
            numbers.append(int(part))
        return tuple(numbers) if sides else numbers[0]


WIDTHS = Parameter(
    "widths", None, "parallel links in place of each wire, by kind from the endpoints up: 1;2;2"
)
RATES = Parameter(
    "rates",
    None,
    "rate of a link by kind: 50GB/s;25GB/s, or multiples of the machine's link: 2x;1x",
)
DEAD = Parameter("dead", None, "nodes and links that are taken out: 3;7;40-41")
COMMON = (WIDTHS, RATES, DEAD)
"""Parameters that every family has."""


@dataclass(frozen=True)
class Family:
    """A family of networks.

    Attributes:
        name: its word.
        about: one line for people.
        parameters: its own; those of `COMMON` hold for all.
        parts: makes it of values of its own parameters.
        routing: the rule for paths that its machines have by default.
        rates: of its links by default, by kind.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    parts: Callable[..., Parts]
    routing: Rule = "minimal"
    rates: str = "1x"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that its spec knows."""
        return tuple(parameter.name for parameter in (*self.parameters, *COMMON))

    def read(self, options: Iterable[tuple[str, str]]) -> dict[str, Value]:
        """Values of the parameters that are given, by their words.

        Raises:
            UsageError: an unknown parameter (with the nearest known one), one given twice, or a
                value out of range.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        values: dict[str, Value] = {}
        for word, text in options:
            if word not in self.words:
                raise unknown_name(f"parameter of {self.name}", word, self.words)
            if word in values:
                raise UsageError(f"{self.name}: {word}={text}: {word} is given twice")
            with _named(self.name):
                values[word] = known[word].read(text) if word in known else text.replace(" ", "")
        return values

    def spec(self, values: Mapping[str, Value]) -> str:
        """The words that build it again.

        Sizes always, the others where they are not at their defaults.
        """
        usual = {parameter.name: parameter.default for parameter in self.parameters}
        quiet = [parameter.name for parameter in self.parameters if parameter.quiet]
        said = usual | {word: value for word, value in values.items() if value is not None}
        said |= {word: None for word in quiet if said[word] == usual[word]}
        words = [f"{name}={_text(said[name])}" for name in self.words if said.get(name) is not None]
        return f"{self.name}:{','.join(words)}"

    def build(self, *, link_Bps: float = LINK_Bps, **values: Value) -> Topology:  # noqa: N803
        """The network of values of its parameters, by name.

        `global` may be spelled `global_`.

        Args:
            link_Bps: the machine's `link`, of which rates may be multiples [B/s].
            **values: of parameters; whole numbers, sides as tuples, `widths`, `rates` and `dead` as
                text.

        Raises:
            UsageError: an unknown parameter, or values that do not fit each other.
            InputError: too large, or what is left of it is not connected.
        """
        given = (
            (word.rstrip("_"), _text(value)) for word, value in values.items() if value is not None
        )
        return _build(self.name, self.spec(self.read(given)), link_Bps)


def _text(value: Value) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def build_family(words: str, *, link_Bps: float = LINK_Bps) -> Topology:  # noqa: N803
    """The network that a family's words say: `build_family("fat-tree:k=4,levels=3")`.

    Args:
        words: a family's name and its parameters.
        link_Bps: the machine's `link`, of which rates may be multiples [B/s].

    Raises:
        UsageError: an unknown family or parameter (with the nearest known one), or a value out of
            range.
        InputError: too large, or what is left of it is not connected.
    """
    family, values = parse_family(words)
    return _build(family.name, family.spec(values), link_Bps)


def parse_family(words: str) -> tuple[Family, dict[str, Value]]:
    """A family and the values that its words give. Raises as `build_family`."""
    name, _, rest = words.partition(":")
    if name.strip() not in FAMILIES:
        raise unknown_name("family of networks", name.strip(), FAMILIES)
    options = []
    for item in filter(None, (part.strip() for part in rest.split(","))):
        word, equals, value = (part.strip() for part in item.partition("="))
        if not (word and equals and value):
            raise UsageError(
                f"{name}: '{item}': expected WORD=VALUE; known: "
                f"{', '.join(FAMILIES[name.strip()].words)}"
            )
        options.append((word, value))
    family = FAMILIES[name.strip()]
    return family, family.read(options)


@lru_cache(maxsize=16)
def _build(name: str, spec: str, link_Bps: float) -> Topology:  # noqa: N803
    """Kept, so that machines of one network share it and its routes."""
    family, values = parse_family(spec)
    own = {
        parameter.argument or parameter.name: values.get(parameter.name, parameter.default)
        for parameter in family.parameters
    }
    rates = str(values.get("rates") or family.rates)
    with _named(name):
        parts = family.parts(**own)
        if rates == family.rates and ";" in rates:  # kinds that a size does not have
            rates = ";".join(rates.split(";")[: len(parts.wires)])
        topology = parts.to_topology(spec, str(values.get("widths") or "1"), rates, link_Bps)
        dead = values.get("dead")
        return topology if dead is None else without(topology, *_dead(str(dead)), family=spec)


@contextmanager
def _named(family: str) -> Iterator[None]:
    """What is wrong with a parameter, under the name of its family.

    A spec may hold options of machines too.
    """
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{family}: {error}", options=error.options) from None


def _dead(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Nodes, and links as pairs of nodes, that are to be taken out."""
    nodes, links = [], []
    for part in text.split(";"):
        ends = part.split("-")
        if len(ends) > 2 or not all(
            end.isascii() and end.isdigit() and len(end) <= 9 for end in ends
        ):
            raise UsageError(
                f"dead '{part}': must be a whole number, several as 3;7, a link as 3-4"
            )
        if len(ends) == 1:
            nodes.append(int(part))
        else:
            links.append((int(ends[0]), int(ends[1])))
    return nodes, links


NODES_OF_ROUTER = Parameter("nodes", 2, "nodes of a router")

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            Family(
                "fat-tree",
                "a fat tree of switches with k ports: 2 (k/2)^levels hosts, k³/4 at three levels",
                (
                    Parameter("k", 8, "ports of a switch, even", 2, 2048),
                    Parameter("levels", 3, "levels of switches", 1, 8),
                    Parameter(
                        "taper",
                        1,
                        "downlinks over uplinks of a leaf switch; divides k/2",
                        quiet=True,
                    ),
                ),
                fat_tree,
                "dmodk",
            ),
            Family(
                "leaf-spine",
                "leaf switches with hosts, each joined to every spine switch",
                (
                    Parameter("leaves", 8, "leaf switches"),
                    Parameter("spines", 4, "spine switches: uplinks of a leaf, one to each"),
                    Parameter("hosts", 16, "hosts of a leaf switch"),
                ),
                leaf_spine,
                "dmodk",
            ),
            Family(
                "dragonfly",
                "groups of routers, all joined inside a group, and all groups joined",
                (
                    Parameter("groups", 9, "groups"),
                    Parameter("routers", 4, "routers of a group"),
                    NODES_OF_ROUTER,
                    Parameter(
                        "global",
                        None,
                        "global links of a router; what joins all groups",
                        argument="global_links",
                    ),
                    Parameter(
                        "joins",
                        None,
                        "links between every two groups; as many as the global links bear",
                    ),
                ),
                dragonfly,
            ),
            Family(
                "rails",
                "hosts of GPUs on a fast domain each, and one switch, or plane of switches, per "
                "index of a GPU",
                (
                    Parameter("hosts", 8, "hosts"),
                    Parameter("gpus", 8, "GPUs of a host: rails"),
                    Parameter("leaf", None, "hosts of a leaf switch of a rail; all of them"),
                    Parameter(
                        "spines",
                        0,
                        "spine switches of a rail; none where it is one switch",
                        0,
                        quiet=True,
                    ),
                ),
                rails,
                "dmodk",
                "9x;1x;1x",
            ),
            Family(
                "hyperx",
                "routers on a lattice, all joined along each dimension",
                (
                    Parameter("sides", (4, 4), "routers along each dimension", 1, 4096),
                    NODES_OF_ROUTER,
                ),
                hyperx,
            ),
            Family(
                "slim-fly",
                "2 q² routers of diameter 2 (McKay, Miller, Širáň)",
                (
                    Parameter("q", 5, "a prime power of at least 3", 3, 1024),
                    replace(NODES_OF_ROUTER, default=1),
                ),
                slim_fly,
            ),
            Family(
                "express-mesh",
                "a mesh with links that bypass some nodes",
                (
                    Parameter("sides", (8, 8), "nodes along each dimension", 1, 2**20),
                    Parameter("interval", 4, "nodes from one end of a bypass to the other", 2),
                ),
                express_mesh,
            ),
        )
    }
)
"""Every family by its word."""
