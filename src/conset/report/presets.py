"""The machines that `conset machines` lists, and what it says of a preset beside its costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from conset.base.errors import InputError
from conset.machine.machine import Machine
from conset.machine.network.families import FAMILIES, family_names, find_family
from conset.machine.network.family import SWITCHED
from conset.machine.network.topology import Value
from conset.machine.preset import TEXTS, TODAY, Preset, preset
from conset.report.machine import machine_remarks
from conset.report.objects import machine_object

if TYPE_CHECKING:
    from rich.table import Table

TEXTS_ARE = (
    "Texts: 000 Feldmann, Stricker, Warfel (ConSet); 001 Wang, Ranka; 002 Thakur, Choudhary, "
    "Fox; 003 Bokhari, Nicol."
)


def of_preset(machine: Machine) -> Preset | None:
    """The preset that a machine's name says it is."""
    name = machine.name.partition(",")[0].partition(":")[0]
    return preset(name) if name in (*TEXTS, *TODAY) else None


def described(machine: Machine) -> dict[str, Any]:
    """The object of a machine, and of its preset where it is one."""
    own = of_preset(machine)
    return {**machine_object(machine), "preset": None if own is None else _with_group(own)}


def _with_group(own: Preset) -> dict[str, Any]:
    return {"machine_of": "today" if own.name in TODAY else "texts", **own.to_object()}


def networks_object() -> list[dict[str, Any]]:
    """The regular networks: their size where none is given, an example."""
    return [
        {
            "name": name,
            "default": str(_written(family.parameters[0].default)),
            "example": family.example,
            "summary": family.about,
        }
        for name, family in FAMILIES.items()
        if family.is_regular
    ]


def presets_table(title: str, names: tuple[str, ...]) -> Table:
    """Presets one a row: size, what they are, how many numbers have which tag."""
    table = _table(title)
    for column in ("preset", "sizes", "what it is"):
        table.add_column(column, no_wrap=column == "preset")
    for name in names:
        own = preset(name)
        table.add_row(escape(f"{name}:{own.default}"), escape(size_words(own)), escape(own.about))
    return table


def families_object() -> list[dict[str, Any]]:
    """The families of networks: parameters with their defaults, the rule for paths, an example.

    Of a package whose family cannot be loaded, why.
    """
    rows: list[dict[str, Any]] = []
    for name in family_names():
        try:
            family = find_family(name)
        except InputError as error:
            rows.append(
                {
                    "name": name,
                    "summary": str(error),
                    "routing": "",
                    "parameters": [],
                    "example": "",
                }
            )
            continue
        if not family.is_regular:
            parameters = [
                {
                    "name": each.name,
                    "default": _written(each.default),
                    "help": each.help,
                    "minimum": each.minimum,
                }
                for each in family.parameters
            ]
            rows.append(
                {
                    "name": name,
                    "summary": family.about,
                    "routing": family.routing,
                    "parameters": parameters,
                    "example": family.example or str(family.member({})),
                }
            )
    return rows


def _written(default: Value) -> int | str | None:
    return "x".join(map(str, default)) if isinstance(default, tuple) else default


def families_table() -> Table:
    """The families one a row, their parameters below."""
    table = _table("families of networks, with the default costs")
    table.add_column("family", no_wrap=True)
    table.add_column("what it is", ratio=1)
    for row in families_object():
        table.add_row(row["name"], escape(f"{row['summary']}; paths by {row['routing']}"))
        for each in row["parameters"]:
            default = "" if each["default"] is None else f" ({each['default']})"
            table.add_row("", escape(f"{each['name']}: {each['help']}{default}"))
        table.add_row("", escape(row["example"]), end_section=True)
    for each in SWITCHED:
        table.add_row(
            "all know" if each is SWITCHED[0] else "", escape(f"{each.name}: {each.help}")
        )
    return table


def _table(title: str) -> Table:
    from conset.report.terminal import FoldingTable

    table = FoldingTable(title=title, box=None, pad_edge=False, show_header=False)
    table.title_justify, table.title_style, table.expand = "left", "bold", True
    return table


def networks_table() -> Table:
    """The bare networks, with an example of each."""
    table = _table("bare networks, with the default costs")
    for column in ("network", "what it is"):
        table.add_column(column, no_wrap=column == "network")
    for row in networks_object():
        table.add_row(row["example"], row["summary"])
    return table


def size_words(own: Preset) -> str:
    """`X x Y x Z`, and the sides that every size has."""
    words = ("rows", "columns") if own.sizes == ("side", "side") else own.sizes
    return " x ".join(words) + (f" (x {own.fixed})" if own.fixed else "")


def structure_rows(own: Preset, machine: Machine) -> list[tuple[str, str, str, str]]:
    """The network's own numbers: word, value, tag, source.

    Of another size or routing than the preset's, as given.
    """
    values = {} if machine.topology.family is None else machine.topology.family.values
    actual = {word: str(values[word]) for word in own.sizes if word in values}
    actual["routing"] = machine.routing.rule
    rows: list[tuple[str, str, str, str]] = []
    for word, (value, origin) in own.structure.items():
        now = actual.get(word, str(value))
        own_value = now == str(value)
        tag, source = (origin.tag, origin.source) if own_value else ("given", "the command line")
        rows.append((word, now, tag, source))
    return rows


def published_table(own: Preset) -> Table:
    """What sources measured or printed of the whole machine."""
    table = _table("published, beside what the preset says in docs/machines.md")
    for column in ("figure", "size", "value"):
        table.add_column(column, no_wrap=column != "figure")
    table.add_column("source", ratio=1)
    for figure in own.published:
        table.add_row(
            *(escape(text) for text in (figure.figure, figure.size, figure.value, figure.source))
        )
    return table


def remarks_table(machine: Machine, own: Preset | None) -> Table:
    """Limits, transfer modes, notes; of a preset its sizes and an example."""
    table = _table("")
    table.add_column("head", style="bold", no_wrap=True)
    table.add_column("text", ratio=1)
    for head, text in machine_remarks(machine):
        table.add_row(head, escape(text))
    if own is not None:
        about = f": {own.about_sizes}" if own.about_sizes else ""
        table.add_row("sizes", escape(f"{size_words(own)}{about} (default {own.default})"))
        if own.example:
            table.add_row("example", escape(own.example))
    return table
