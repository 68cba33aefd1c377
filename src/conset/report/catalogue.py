"""Catalogue: what is there to choose from, for people and for `--json`.

Methods, the patterns that a spec can name, machines, and what is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from conset.base import InputError
from conset.machine import (
    FAMILIES,
    SWITCHED,
    TEXTS,
    TODAY,
    Limits,
    Machine,
    Preset,
    Topology,
    family_names,
    find_family,
    preset,
)
from conset.methods import Method
from conset.pattern import GENERATORS
from conset.report.facts import machine_object
from conset.report.machine import machine_remarks
from conset.report.sections import Fact
from conset.report.terminal import FoldingTable, fact_lines

Row = Mapping[str, Any]

TEXTS_ARE = (
    "Texts: 000 Feldmann, Stricker, Warfel (ConSet); 001 Wang, Ranka; 002 Thakur, Choudhary, Fox; "
    "003 Bokhari, Nicol."
)


# Methods, patterns, installation


def method_object(method: Method) -> dict[str, Any]:
    """Return a row: `limits` are those on a mesh, `honours` those it keeps at any other value."""
    return {
        "name": method.name,
        "title": method.title,
        "limits": method.limits(Topology.mesh(4, 4)).to_object(),
        "honours": sorted(method.adjustable_limits),
        "ordered": method.ordered,
        "domain": method.domain,
        "guarantee": method.guarantee,
        "complexity": method.complexity,
        "reference": method.reference,
    }


def method_text(row: Row) -> str:
    """Return one method; markup of rich.

    Args:
        row: as of `method_object`, and `applies` and `refusal` where it was asked for a machine.
    """
    keeps = f"; {', '.join(row['honours'])} at any value" if row["honours"] else ""
    facts = [
        Fact("limits", f"{Limits(**row['limits'])}{keeps}"),
        Fact("requires", row["domain"]),
        Fact(
            "guarantees", row["guarantee"] + ("; keeps a partial order" if row["ordered"] else "")
        ),
        Fact("takes", row["complexity"]),
        Fact("from", row["reference"]),
    ]
    if "applies" in row:
        facts.append(Fact("applies", "yes" if row["applies"] else f"no: {row['refusal']}"))
    title = f"[bold]{escape(row['name'])}[/]  {escape(row['title'])}"
    return "\n".join([title, *fact_lines(facts, width=10)])


def generator_object(name: str) -> dict[str, Any]:
    """Return a row; a default of sides that is empty is described by their help."""
    row = GENERATORS[name]
    return {
        "name": name,
        "summary": row.summary,
        "arguments": {
            word: {
                # the empty sides of a default that others decide are a list
                "default": [] if each.default == () else sides_text(each.default),
                "help": each.help,
                **({"choices": list(each.choices)} if each.choices else {}),
            }
            for word, each in row.arguments.items()
        },
        "requires": row.requires,
        "random": row.random,
        "sized": row.sized,
        "example": row.example,
    }


def sides_text(value: Any) -> Any:
    """Return a default as a spec has it: sides as `4x4`, others as they are."""
    return "x".join(map(str, value)) if isinstance(value, tuple) else value


def generator_text(row: Row) -> str:
    """Return one pattern as `generator_object` gives it, with its arguments."""
    facts = []
    for word, argument in row["arguments"].items():
        default = argument["default"]
        text = "" if default == [] else f" (default: {default})"
        facts.append((word, f"{argument['help']}{text}"))
    if row["sized"]:
        computed = "computed; where it is given, drawn instead for the same messages"
        facts.append(("size", f"of a message: {computed}"))
    facts.append(("requires", row["requires"]))
    if row["example"]:
        facts.append(("example", row["example"]))
    return _listed(f"{row['name']}  {row['summary']}", facts)


def _listed(title: str, lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join([title, *(f"  {word:<12}{text}" for word, text in lines)])


def generators_text(
    rows: Sequence[Row], common: Mapping[str, str], files: Sequence[Row] = ()
) -> str:
    """Return all of `rows`, what every pattern takes, and the files that are patterns.

    Args:
        rows: as of `generator_object`.
        common: argument of every pattern → what it is.
        files: `suffix`, `summary` and `options` of each format.
    """
    texts = [*[generator_text(row) for row in rows], _listed("every pattern takes", common.items())]
    if files:
        options = ((row["suffix"], ", ".join([row["summary"], *row["options"]])) for row in files)
        texts.append(_listed("files", options))
    return "\n\n".join(texts)


def checks_text(checks: Sequence[Row]) -> str:
    """Return what is installed and what is missing, with the commands that bring it.

    Args:
        checks: `name`, `ok`, `broken`, `detail`, `purpose` and `fix` of each library or program.
    """
    lines = []
    for check in checks:
        broken = "[red]fails[/]  " if check["broken"] else "[red]missing[/]"
        mark = "[green]ok[/]     " if check["ok"] else broken
        purpose = f"  [dim]({check['purpose']})[/]" if check["purpose"] else ""
        lines.append(f"  {mark}  {check['name']:<15} {escape(check['detail'])}{purpose}")
    fixes = dict.fromkeys(check["fix"] for check in checks if not check["ok"])
    mended = ["What is missing or fails is mended by", *(f"  {escape(fix)}" for fix in fixes)]
    return "\n".join([*lines, "", *(mended if fixes else ["Nothing is missing."])])


# Machines


def of_preset(machine: Machine) -> Preset | None:
    """Return the preset that a machine's name names."""
    name = machine.name.partition(",")[0].partition(":")[0]
    return preset(name) if name in (*TEXTS, *TODAY) else None


def described(machine: Machine) -> dict[str, Any]:
    """Return the object of a machine, and of its preset where it is one."""
    own = of_preset(machine)
    group = own and {"machine_of": "today" if own.name in TODAY else "texts", **own.to_object()}
    return {**machine_object(machine), "preset": group}


def networks_object() -> list[dict[str, Any]]:
    """Return the regular networks: their size where none is given, an example."""
    return [
        {
            "name": name,
            "default": str(sides_text(family.parameters[0].default)),
            "example": family.example,
            "summary": family.about,
        }
        for name, family in FAMILIES.items()
        if family.is_regular
    ]


def families_object() -> list[dict[str, Any]]:
    """Return the families of networks: parameters with their defaults, routing, an example.

    Of a package whose family cannot be loaded, why.
    """
    rows: list[dict[str, Any]] = []
    for name in family_names():
        row: dict[str, Any] = {
            "name": name,
            "summary": "",
            "routing": "",
            "parameters": [],
            "example": "",
        }
        try:
            family = find_family(name)
        except InputError as error:
            rows.append({**row, "summary": str(error)})
            continue
        parameters = [
            {
                "name": each.name,
                "default": sides_text(each.default),
                "help": each.help,
                "minimum": each.minimum,
            }
            for each in family.parameters
        ]
        row |= {
            "summary": family.about,
            "routing": family.routing,
            "parameters": parameters,
            "example": family.example,
        }
        if not family.is_regular:
            rows.append({**row, "example": family.example or str(family.member({}))})
    return rows


def _table(title: str, *columns: str, rows: Iterable[Sequence[str]] = ()) -> Table:
    """Return a table without heads; the last column of several fills the line."""
    table = FoldingTable(title=title, box=None, pad_edge=False, show_header=False)
    table.title_justify, table.title_style, table.expand = "left", "bold", True
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True)
    table.add_column(columns[-1], ratio=1)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def presets_table(title: str, names: tuple[str, ...]) -> Table:
    """Return presets one a row: size, and what they are."""
    presets = [preset(name) for name in names]
    rows = [(f"{own.name}:{own.default}", size_words(own), own.about) for own in presets]
    return _table(title, "preset", "sizes", "what it is", rows=rows)


def networks_table() -> Table:
    """Return the bare networks, with an example of each."""
    title = "bare networks, with the default costs"
    rows = [(row["example"], row["summary"]) for row in networks_object()]
    return _table(title, "network", "what it is", rows=rows)


def families_table() -> Table:
    """Return the families one a row, their parameters below."""
    table = _table("families of networks, with the default costs", "family", "what it is")
    for row in families_object():
        table.add_row(escape(row["name"]), escape(f"{row['summary']}; paths by {row['routing']}"))
        for each in row["parameters"]:
            default = "" if each["default"] is None else f" ({each['default']})"
            table.add_row("", escape(f"{each['name']}: {each['help']}{default}"))
        table.add_row("", escape(row["example"]), end_section=True)
    for each in SWITCHED:
        head = "all know" if each is SWITCHED[0] else ""
        table.add_row(head, escape(f"{each.name}: {each.help}"))
    return table


def size_words(own: Preset) -> str:
    """Return `X x Y x Z`, and the sides that every size has."""
    words = ("rows", "columns") if own.sizes == ["side", "side"] else own.sizes
    return " x ".join(words) + (f" (x {own.fixed})" if own.fixed else "")


def structure_rows(own: Preset, machine: Machine) -> list[tuple[str, str, str, str]]:
    """Return word, value, tag, source of the network's own numbers.

    Of another size or routing than the preset's, as given.
    """
    values = {} if machine.topology.family is None else machine.topology.family.values
    actual = {
        **{word: str(values[word]) for word in own.sizes if word in values},
        "routing": machine.routing.rule,
    }
    rows: list[tuple[str, str, str, str]] = []
    for word, fact in own.structure.items():
        now = actual.get(word, str(fact.value))
        same = now == str(fact.value)
        tag, source = (fact.tag, fact.source) if same else ("given", "the command line")
        rows.append((word, now, tag, source))
    return rows


def published_table(own: Preset) -> Table:
    """Return what sources measured or printed of the whole machine."""
    table = _table(
        "published, beside what the preset says in docs/machines.md",
        "figure",
        "size",
        "value",
        "source",
        rows=[(each.figure, each.size, each.value, each.source) for each in own.published],
    )
    table.columns[0].no_wrap = False
    return table


def remarks_table(machine: Machine, own: Preset | None) -> Table:
    """Return limits, transfer modes, notes; of a preset its sizes and an example."""
    facts = machine_remarks(machine)
    if own is not None:
        about = f": {own.about_sizes}" if own.about_sizes else ""
        facts.append(Fact("sizes", f"{size_words(own)}{about} (default {own.default})"))
        facts += [Fact("example", own.example)] if own.example else []
    table = _table("", "head", "text", rows=[(fact.label, fact.value) for fact in facts])
    table.columns[0].style = "bold"
    return table
