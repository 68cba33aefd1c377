"""The table of families, and a network from its spec: `mesh:8x8,width=2`, `fat-tree:k=16,taper=2`.

A spec is a family's name, a colon, and its parameters with commas between them. What is left out
has its default, so that `fat-tree` alone is a network. Regular networks (mesh, torus, hypercube,
ring, crossbar) write their size without a name, and have

- `width=2`: parallel links in place of each link;
- `planes=2`: every link so many times, once in each plane (`Topology.of_planes`);
- `dead=3;7;40-41`: nodes, and links both ways, that are taken out (`without`).

All others have

- `widths=1;2;2`: parallel links in place of each wire, by kind of wire from the endpoints up, or
  one number for all;
- `rates=50GB/s;25GB/s;25GB/s`: rate of a link per unit of width, by kind; `2x` is twice the
  machine's `link`;
- `dead`, as above.

A package adds a family: the entry point `NAME` of the group `conset.networks` is a `Family` of that
name, which is loaded when the name is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from conset.base import InputError, UsageError, unknown_name
from conset.machine.network.direct import DRAGONFLY, EXPRESS_MESH, HYPERX, SLIM_FLY
from conset.machine.network.family import REGULAR, Family, Parameter, Parts, read_dead
from conset.machine.network.routing import HASHED, RULES, STORED, TIES, Routing, Rule
from conset.machine.network.topology import MAX_NODES, FamilyMember, Topology, without
from conset.machine.network.trees import FAT_TREE, LEAF_SPINE, RAILS

LINK_Bps = 25e9
"""The `link` of a bare network [B/s], of which rates such as `2x` are multiples."""
MAX_SIZE = 10**9 - 1
"""Largest size that is read; a network has far fewer nodes."""
GROUP = "conset.networks"
"""The entry point group of families of other packages."""


def _regular(
    name: str,
    about: str,
    size: Parameter,
    build: Callable[..., Topology],
    routing: Rule,
    example: str,
) -> Family:
    return Family(name, about, (size,), build, routing, common=REGULAR, sized=True, example=example)


_SIDES = Parameter("sides", (8, 8), "nodes along each dimension", 1, MAX_SIZE)
_CUBE = Parameter("dimensions", 6, "dimensions", 0, MAX_NODES.bit_length() - 1)
_RING = Parameter("nodes", 8, "nodes", 1, MAX_SIZE)
_BOX = "a box of any dimension, its sides"

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            _regular(
                "mesh",
                f"{_BOX} paths",
                _SIDES,
                lambda sides: Topology.mesh(*sides),
                "dimension-order",
                "mesh:8x8",
            ),
            _regular(
                "torus",
                f"{_BOX} cycles",
                _SIDES,
                lambda sides: Topology.torus(*sides),
                "dimension-order",
                "torus:8x8x8",
            ),
            _regular(
                "hypercube",
                "2^d nodes, joined where they differ in one bit",
                _CUBE,
                Topology.hypercube,
                "e-cube",
                "hypercube:6",
            ),
            _regular(
                "ring",
                "a torus of one dimension",
                _RING,
                Topology.ring,
                "dimension-order",
                "ring:9",
            ),
            _regular(
                "crossbar",
                "ports only: every node reaches every other",
                replace(_RING, default=64),
                Topology.crossbar,
                "direct",
                "crossbar:64",
            ),
            FAT_TREE,
            LEAF_SPINE,
            DRAGONFLY,
            RAILS,
            HYPERX,
            SLIM_FLY,
            EXPRESS_MESH,
        )
    }
)
"""Every family of this package by its name."""


_WITH_COMMAS = re.compile(
    r"(^[\w-]+\s*[:,]|sides=)\s*(\d+(?:x\d+)*(?:\s*,\s*\d+(?:x\d+)*)+)(?=\s*(?:,|$))"
)
"""Sides with commas between them."""


@cache
def registered() -> Mapping[str, EntryPoint]:
    """The families of other packages by their names; none is loaded."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in FAMILIES}


def family_names() -> tuple[str, ...]:
    """The names of all families, those of other packages at the end."""
    return (*FAMILIES, *registered())


def is_family(name: str) -> bool:
    """Whether a network has this name; other packages are asked only where this one has none."""
    return name in FAMILIES or (bool(re.fullmatch(r"[\w-]+", name)) and name in registered())


def find_family(name: str) -> Family:
    """The row of a family.

    Raises:
        UsageError: there is none; with the nearest name.
        InputError: the package that has it cannot be imported, or has no `Family` of this name.
    """
    if name in FAMILIES:
        return FAMILIES[name]
    if not is_family(name):
        raise unknown_name("family of networks", name, family_names())
    point = registered()[name]
    where = f"network {name}: entry point {point.value}"
    try:
        family = point.load()
    except Exception as error:  # whatever another package does when it is imported
        raise InputError(f"{where}: {type(error).__name__}: {error}") from error
    if not isinstance(family, Family) or family.name != name:
        raise InputError(f"{where}: must be a Family of this name, is {family!r}")
    return family


def split_spec(text: str) -> tuple[str, str, list[tuple[str, str]]]:
    """A spec's name, its size ("" where there is none) and its options, none of them read.

    >>> split_spec("mesh:8x8,width=2")
    ('mesh', '8x8', [('width', '2')])

    Raises:
        UsageError: a colon with nothing behind it, sides with commas between them, or an item that
            is not WORD=VALUE.
    """
    head, _, rest = text.partition(",")
    name, colon, first = (part.strip() for part in head.partition(":"))
    if colon and not first:
        raise UsageError(f"{head}: a size is required after ':'")
    if (apart := _WITH_COMMAS.search(text)) is not None:
        before = apart[1].rstrip(" :,") + ("" if apart[1] == "sides=" else ":")
        meant = text[: apart.start()] + before + re.sub(r"\s*,\s*", "x", apart[2])
        rest = text[apart.end() :]
        raise UsageError(f"'{text}': sides are joined by x: did you mean {meant}{rest}?")
    if "=" in first:
        return name, "", split_options(f"{first},{rest}")
    return name, first, split_options(rest)


def split_options(text: str) -> list[tuple[str, str]]:
    """`"synchronization=0,overhead=2us"` → pairs of word and value.

    Raises:
        UsageError: an item that is not WORD=VALUE.
    """
    pairs = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        word, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not word or not value:
            raise UsageError(f"option '{item}': expected WORD=VALUE")
        pairs.append((word, value))
    return pairs


def member_of(
    family: Family, text: str, size: str, options: Iterable[tuple[str, str]]
) -> FamilyMember:
    """The network of a family that a size and parameters of a spec give; `text` is the whole spec.

    Raises:
        UsageError: a size that must have a name, an unknown parameter, or a value out of range.
    """
    if size and not family.sized:
        meant = re.sub(r"[:,]\s*", f":{family.parameters[0].name}=", text, count=1)
        raise UsageError(f"{family.name}: '{size}': expected WORD=VALUE: did you mean {meant}?")
    return family.member(family.read(options, size))


def build_family(spec: str | FamilyMember, *, link_Bps: float = LINK_Bps) -> Topology:  # noqa: N803
    """The network of a spec, or of a family with values: `build_family("fat-tree:k=4,levels=3")`.

    Args:
        spec: a family's name and its parameters.
        link_Bps: the machine's `link`, of which rates may be multiples [B/s].

    Raises:
        UsageError: an unknown family or parameter (with the nearest known one), or a value out of
            range.
        InputError: too large, or what is left of it is not connected.
    """
    return _build(parse_family(spec) if isinstance(spec, str) else spec, link_Bps)


def parse_family(spec: str) -> FamilyMember:
    """The network of a spec, not built.

    Raises:
        UsageError: an unknown family or parameter (with the nearest known one), or a value out of
            range.
    """
    name, size, options = split_spec(spec)
    return member_of(find_family(name), spec, size, options)


@lru_cache(maxsize=16)
def _build(member: FamilyMember, link_Bps: float) -> Topology:  # noqa: N803
    """Kept, so that machines of one network share it and its routes."""
    family, values = find_family(member.name), member.values
    own = {
        parameter.argument or parameter.name: values.get(parameter.name, parameter.default)
        for parameter in family.parameters
    }
    with family.named():
        made = family.build(**own)
        if isinstance(made, Parts):
            made = made.to_topology(member, family.rates, link_Bps)
        if "width" in values:
            made = replace(made, width=int(str(values["width"])))
        if "planes" in values:
            made = made.of_planes(int(str(values["planes"])))
        if "dead" in values:
            if made.planes > 1:
                raise UsageError(
                    "dead: nodes and links of planes cannot be taken out; give planes or dead"
                )
            if made.kind == "crossbar":
                raise UsageError("dead: a crossbar is ports only; give it fewer nodes instead")
            made = without(made, *read_dead(str(values["dead"])))
    return made if made.family == member else replace(made, family=member)


def build_routing(
    topology: Topology, rule: str | None = None, tie: str | None = None, seed: int | None = None
) -> Routing:
    """A rule for paths by its name; None is the usual one of the network's family, or of its kind.

    Raises:
        UsageError: a rule that the network does not know, or an unknown tie, with the nearest known
            one; a tie where routes have none, or the seed of a hash for a rule without one.
    """
    member = topology.family
    known: Sequence[Rule] = (
        ("planes", "shortest-path")
        if topology.planes > 1
        else [each for each in RULES[topology.kind] if each not in STORED]
    )
    usual = known[0] if member is None else find_family(member.name).routing
    chosen = next((each for each in known if each == (rule or usual)), None if rule else known[0])
    if chosen is None:
        raise unknown_name(f"routing of a {topology.kind}", str(rule), known)
    if tie is not None and tie not in TIES:
        raise unknown_name("tie", tie, TIES)
    if tie is not None and topology.kind == "graph" and topology.planes == 1:
        raise UsageError(f"tie={tie}: routes of a graph have no ties")
    if seed is not None and chosen not in HASHED:
        raise UsageError(
            f"hash={seed}: is the seed of a routing by hash ({', '.join(HASHED)}), the "
            f"routing is {chosen}"
        )
    return Routing(chosen, tie or "parity", seed=seed or 0)
