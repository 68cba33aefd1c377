"""Presets: machines by name and size.

Each is a machine file of this package with a table `[preset]` beside it.

    [preset] sizes = ["X", "Y", "Z"] what the numbers after the colon are: first sides of a box,
    arguments of a family
    multiple = 4                   of every one of them
    about_sizes = "…"              one line for people
    example = "conset compile …"
    [preset.structure]             numbers of the network itself, each with tag and source, as the
                                   costs have them
    routers = { value = 32, tag = "printed", source = "…" }
    [[preset.published]]           figures that somebody measured or printed, beside which the
                                   preset is put
    figure = "bisection"
    size = "16x16x16"
    value = "24 TB/s"
    source = "…"

Machines of the texts leave `sizes` out: theirs are all sides of their network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError

from conset.base.errors import InputError, UsageError
from conset.base.toml import parse_toml
from conset.base.units import count_of
from conset.machine.costs import Provenance
from conset.machine.file import NetworkTable, checked_table, machine_of_table, member_of_table
from conset.machine.machine import Machine, require_mode
from conset.machine.network.families import find_family
from conset.machine.network.family import read_sizes
from conset.machine.network.topology import FamilyMember

TEXTS = ("iwarp", "ipsc860", "delta", "paragon")
"""Machines of the texts."""
TODAY = ("bluegene-q", "dgx-h100", "ethernet", "frontier", "fugaku", "tpu-v4")
"""Machines of today."""
PRESETS = (*TEXTS, *TODAY)
"""All presets; each is `presets/<name>.toml`."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactTable(_Table):
    """A number of a network, and where it comes from."""

    value: StrictInt | str
    tag: str
    source: str


class PublishedTable(_Table):
    """A figure of a source.

    What it is of, at which size of the machine, and what the source says.
    """

    figure: str
    size: str
    value: str
    source: str


class PresetTable(_Table):
    """`[preset]`; see the module."""

    sizes: list[str] = []
    multiple: StrictInt = 1
    about_sizes: str = ""
    example: str = ""
    structure: dict[str, FactTable] = {}
    published: list[PublishedTable] = []


@dataclass(frozen=True)
class Preset:
    """A preset as people ask for it; the machine itself is `load_preset`'s.

    Attributes:
        name: as in a spec.
        about: one line.
        notes: remarks for people.
        sizes: what stands after the colon, in order.
        default: the size where none is given, as after the colon.
        fixed: sides that every size has, such as `2x3x2`; "" where there are none.
        about_sizes: one line on sizes.
        example: a command.
        structure: word → value and provenance of the network's own numbers.
        published: figures of sources.
    """

    name: str
    about: str
    notes: tuple[str, ...]
    sizes: tuple[str, ...]
    default: str
    fixed: str
    about_sizes: str
    example: str
    structure: Mapping[str, tuple[int | str, Provenance]]
    published: tuple[PublishedTable, ...]

    def to_object(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "about": self.about,
            "sizes": list(self.sizes),
            "default": self.default,
            "fixed": self.fixed,
            "about_sizes": self.about_sizes,
            "example": self.example,
            "structure": [
                {"word": word, "value": value, "tag": origin.tag, "source": origin.source}
                for word, (value, origin) in self.structure.items()
            ],
            "published": [figure.model_dump() for figure in self.published],
        }


@cache
def _read(name: str) -> tuple[dict[str, Any], PresetTable, str]:
    """The machine's own tables, that of the preset, and the text of the file.

    Nobody may change them.
    """
    where = f"{name}.toml"
    data, text = parse_toml(
        files("conset.machine").joinpath("presets", where).read_bytes(), where, "machine"
    )
    try:
        table = PresetTable.model_validate(data.pop("preset", {}))
        for word, fact in table.structure.items():
            Provenance.of(fact.tag, fact.source or f"no source of {word}")
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{where}: preset.{'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None
    return data, table, text


def preset(name: str) -> Preset:
    """What people want to know of a preset before they use it."""
    data, table, text = _read(name)
    machine = checked_table(data, f"{name}.toml", text)
    words, values = _sizes_of(member_of_table(machine.network, name), table)
    return Preset(
        name,
        machine.about,
        tuple(machine.notes),
        words,
        "x".join(map(str, values[: len(words)])),
        "x".join(map(str, values[len(words) :])),
        table.about_sizes,
        table.example,
        {
            word: (fact.value, Provenance.of(fact.tag, fact.source))
            for word, fact in table.structure.items()
        },
        tuple(table.published),
    )


def _sizes_of(member: FamilyMember, table: PresetTable) -> tuple[tuple[str, ...], list[int]]:
    """What the sizes are called, and the file's own values; those of fixed sides at the end."""
    values: Any = member.values
    if "sides" in values:
        return tuple(table.sizes) or ("side",) * len(values["sides"]), list(values["sides"])
    if "dimensions" in values:
        return ("nodes",), [2 ** values["dimensions"]]
    return tuple(table.sizes), [values[word] for word in table.sizes]


def load_preset(name: str, size: str = "", mode: str = "") -> Machine:
    """A preset at a size of its network; `size` as after the colon of a spec.

    "": its own size and mode.

    Raises:
        UsageError: a size that does not fit the network, or a transfer mode it does not have.
    """
    data, table, text = _read(name)
    where = f"{name}.toml"
    machine = checked_table(data, where, text)
    member = member_of_table(machine.network, where)
    words, own = _sizes_of(member, table)
    size = size or "x".join(map(str, own[: len(words)]))
    sizes = _checked_sizes(name, size, words, own[len(words) :], table.multiple)
    values: dict[str, Any] = dict(zip(words, sizes, strict=True))
    if "sides" in member.values:
        values = {"sides": (*sizes, *own[len(words) :])}
    elif "dimensions" in member.values:
        if sizes[0] & (sizes[0] - 1):
            raise UsageError(
                f"{name}:{size}: a hypercube needs a power of two of nodes, given {sizes[0]}"
            )
        values = {"dimensions": sizes[0].bit_length() - 1}
    member = find_family(member.name).member({**member.values, **values})
    if mode:
        require_mode(mode, tuple(machine.modes), name)
    network = NetworkTable(
        family=str(member),
        routing=machine.network.routing,
        hash=machine.network.hash,
        tie=machine.network.tie,
    )
    changes = {"name": f"{name}:{size}", "mode": mode or machine.mode, "network": network}
    return machine_of_table(machine.model_copy(update=changes), where, text)


def _checked_sizes(
    name: str, size: str, words: tuple[str, ...], fixed: list[int], multiple: int
) -> tuple[int, ...]:
    """The sizes that are free; the fixed ones may be written after them."""
    sizes = read_sizes(size, f"{name}:{size}")
    if fixed and list(sizes[len(words) :]) == fixed:
        sizes = sizes[: len(words)]
    if len(sizes) != len(words):
        named = "" if set(words) == {"side"} else f" ({' x '.join(words)})"
        always = f", beside {'x'.join(map(str, fixed))} that every size has" if fixed else ""
        raise UsageError(
            f"{name}:{size}: {count_of(len(words), 'size')} required{named}{always}, given "
            f"{len(sizes)}"
        )
    for word, value in zip(words, sizes, strict=True):
        if value % multiple:
            raise UsageError(f"{name}:{size}: {word} = {value}: must be a multiple of {multiple}")
    return sizes
