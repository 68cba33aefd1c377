"""A machine in the terminal and as a picture, and every number of it with its source.

Catalogue: what is there to choose from, for people and for `--json`.

Methods, the patterns that a spec can name, machines, and what is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from conset.base import InputError, count_of
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
from conset.report import style
from conset.report.facts import (
    cost_facts,
    cost_rows,
    describe_network,
    machine_facts,
    machine_object,
)
from conset.report.network_drawing import draw_network, plan_extent
from conset.report.network_layout import kind_of, plan_of, positions
from conset.report.sections import Fact
from conset.report.terminal import ROWS, FoldingTable, fact_lines, more

TEXT_WIDTH = 100
"""Widest drawing [characters]."""
WIDTH = 10.0
"""Width of a picture [inch]."""
LINE_IN = 0.30
"""Height of a line of facts in a picture [inch]."""
MOST_FACTS = 26
"""Most lines of facts in a picture."""
BESIDE = 18
"""Longest value that leaves room for its tag on the same line [characters]."""


def machine_text(machine: Machine) -> str:
    """Return drawing and facts; markup of rich."""
    facts, costs = fact_lines(machine_facts(machine)), fact_lines(cost_facts(machine.costs))
    lines = [f"[bold]{escape(machine.name)}[/]", "", *draw_topology(machine.topology), "", *facts]
    return "\n".join([*lines, *(["", "[bold]costs[/]", *costs] if costs else [])])


def machine_table(machine: Machine, structure: Sequence[tuple[str, str, str, str]] = ()) -> Table:
    """Return every number with its tag and its source, by groups of costs.

    Args:
        machine: whose costs they are.
        structure: word, value, tag, source of numbers of the network itself that have sources.
    """
    topology = machine.topology
    shape = "x".join(map(str, topology.sides)) or count_of(topology.endpoints, "endpoint")
    routing = machine.routing.rule + (f", tie {machine.routing.tie}" if topology.wraps else "")
    links = count_of(topology.links, "link")
    title = f"{machine.name}: {topology.kind} {shape}, {links}, {routing}"
    table = FoldingTable(title=escape(title), title_justify="left")
    for column in ("cost", "value", "tag"):
        table.add_column(column, no_wrap=column != "tag")
    table.add_column("source", ratio=1)
    groups: dict[str, list[tuple[str, ...]]] = {}
    if structure:
        groups["network"] = [("  " + word, *cells) for word, *cells in structure]
    for row in cost_rows(machine):
        of = f" ({row['method']})" if row["method"] else ""
        indent = "  " * (row["word"] != row["group"])
        groups.setdefault(row["group"], []).append(
            (f"{indent}{row['word']}{of}", row["text"], row["tag"], row["source"])
        )
    for group, rows in groups.items():
        if not any(row[0].partition(" (")[0] == group for row in rows):
            table.add_row(f"[bold]{group}[/]", "", "", "")
        for cells in rows:
            table.add_row(*map(escape, cells))
        table.add_section()
    return table


def machine_remarks(machine: Machine) -> list[Fact]:
    """Return what is below the table: hard limits, transfer modes, notes."""
    facts = []
    if str(machine.limits) != "none":
        methods = f" for {', '.join(machine.limits_methods)}" if machine.limits_methods else ""
        facts.append(Fact("limits", f"Hard limits{methods}: {machine.limits}."))
    if machine.modes:
        own = f"these numbers are for {machine.mode or 'none of them'}"
        facts.append(Fact("modes", f"Transfer modes (--mode): {', '.join(machine.modes)}; {own}."))
    return [*facts, *(Fact("note", note) for note in machine.notes)]


# In characters


def draw_topology(topology: Topology) -> list[str]:
    """Draw the network in characters; where it is too large for a screen, a part or a sentence."""
    if topology.kind == "crossbar":
        ports = [str(node) for node in range(min(topology.nodes, TEXT_WIDTH))]
        return [_wrapped("  ports ", ports), "  every port reaches every port"]
    if topology.kind == "hypercube":
        lines = []
        for bit in range(topology.dimensions):
            low = islice((node for node in range(topology.nodes) if not node >> bit & 1), 64)
            lines.append(_wrapped(f"  bit {bit}  ", [f"{node}─{node | 1 << bit}" for node in low]))
        return lines or ["  0"]
    if topology.base is not topology:
        remark = f"  {count_of(topology.planes, 'plane')} of it: every link is there once in each"
        return [*draw_topology(topology.base), remark]
    if topology.kind == "graph":
        small = topology.family is None and topology.nodes <= ROWS
        return _adjacency(topology) if topology.level is None or small else _by_levels(topology)
    if len(topology.sides) == 1:
        joint = " ─ "
        nodes = [str(node) for node in range(topology.nodes)]
        if len(joint.join(nodes)) > TEXT_WIDTH:
            nodes = [*nodes[:8], "…", *nodes[-3:]]
        close = f"{joint}(0)" if topology.wraps and topology.nodes > 2 else ""
        return [f"  {joint.join(nodes)}{close}"]
    return _planes(topology)


def _planes(topology: Topology) -> list[str]:
    """Draw planes of the last two coordinates; of more dimensions the first two planes."""
    rows, columns = topology.sides[-2:]
    planes = topology.nodes // (rows * columns)
    cell = len(str(topology.nodes - 1))
    if columns * (cell + 3) > TEXT_WIDTH or rows > 24:
        return ["  (too large to draw here: -o x.svg)"]
    shown = min(planes, 1 if rows > 8 else 2)
    wrap_x, wrap_y = (topology.wraps and side > 2 for side in (columns, rows))
    stub, close = ("─ ", " ─") if wrap_x else ("  ", "")
    down = "    " + (("│".rjust(cell) + "   ") * columns).rstrip()
    edge = ["    " + (("╎".rjust(cell) + "   ") * columns).rstrip()] if wrap_y else []
    lines: list[str] = []
    for plane in range(shown):
        first = plane * rows * columns
        if planes > 1:
            at = ", ".join(str(x) for x in topology.coordinates[first][:-2])
            lines += [f"  plane ({at}, …)"]
        lines += edge
        for row in range(rows):
            nodes = range(first + row * columns, first + (row + 1) * columns)
            joined = " ─ ".join(str(node).rjust(cell) for node in nodes)
            lines += [f"  {stub}{joined}{close}".rstrip(), down]
        lines[-1:] = edge
    rest = more(planes - shown, "planes, joined node by node along the outer dimensions")
    return [*lines, rest] if rest else lines


def _wrapped(head: str, entries: list[str]) -> str:
    """Return one line: head, then as many entries as fit."""
    line, count = head, 0
    for word in entries:
        if len(line) + len(word) + 4 > TEXT_WIDTH:
            break
        line += word + "  "
        count += 1
    return line.rstrip() if count == len(entries) else line + "…"


def _adjacency(topology: Topology) -> list[str]:
    source, target = topology.ends
    lines = []
    for node in range(min(topology.nodes, ROWS)):
        name = escape(topology.labels[node]) if topology.labels else ""
        kind = "" if node < topology.endpoints else "switch "
        ends = [str(end) for end in target[source == node].tolist()]
        lines.append(_wrapped(f"  {kind}{node} {name}".rstrip() + " → ", ends))
    rest = more(topology.nodes - ROWS, "nodes") if topology.nodes > ROWS else ""
    return [*lines, rest] if rest else lines


def _by_levels(topology: Topology) -> list[str]:
    """Return a row for each level, the highest first: nodes, names, links up, across, down."""
    assert topology.level is not None  # the caller has looked
    level, (source, target) = topology.level, topology.ends
    rows = []
    for height in range(int(level.max()), -1, -1):
        own = np.flatnonzero(level == height)
        if not own.size:
            continue
        ways = []
        for word, sign in (("up", 1), ("across", 0), ("down", -1)):
            goes = np.sign(level[target] - level[source]) == sign
            widths = topology.widths()[goes]
            count = np.bincount(source[goes], widths, topology.nodes)[own].astype(int)
            if count.any():
                most = "" if count.min() == count.max() else f" to {count.max()}"
                ways.append(f"{count.min()}{most} {word}")
        names = [topology.labels[node] if topology.labels else str(node) for node in own[[0, -1]]]
        what = f"{own.size:,} {kind_of(topology, int(own[0]), own.size)}"
        rows.append((what, escape(" … ".join(dict.fromkeys(names))), ", ".join(ways)))
    wide = [max(len(row[k]) for row in rows) for k in (0, 1)]
    return [
        f"  {what.ljust(wide[0])}   {names.ljust(wide[1])}   links {ways}"
        for what, names, ways in rows
    ]


# As a picture


def picture_machine(machine: Machine) -> style.Figure:
    """Draw the network, and beside or below it nodes, links, routing, limits and costs."""
    topology = machine.topology
    # notes and warnings are sentences
    facts = [fact for fact in machine_facts(machine) if fact.label not in ("note", "warning")]
    groups = {"machine": facts, "costs": cost_facts(machine.costs)}
    lines = [len(group) for group in groups.values()]
    plan = plan_of(topology) if topology.kind == "graph" else None
    if plan is None:
        extent = np.maximum(np.ptp(positions(topology), axis=0), 0.5) + 1
    else:
        extent = np.array(plan_extent(plan))
    ratio = extent[1] / extent[0]
    below = plan is not None and extent[0] > 1.45 * extent[1]
    room = LINE_IN * (max(lines) + 2)
    if below:
        height = np.clip(0.93 * WIDTH * ratio, 1.6, 5.2) + 0.9 + room
    else:
        height = max(WIDTH * 0.62 * ratio + 0.9, LINE_IN * (sum(lines) + 4) + 0.8)
        height = np.clip(height, 3.2, 7.4)
    network = describe_network(topology)
    figure = style.new_figure(
        WIDTH, float(height), machine.name, f"{network}, routing {machine.routing.rule}"
    )
    if below:
        layout: Any = [["network", "network"], ["machine", "costs"]]
        above = figure.get_figheight() - 0.74 - room
        panels: Any = figure.subplot_mosaic(layout, height_ratios=(above, room))
        draw_network(panels["network"], machine)
        for name, group in groups.items():
            _write_facts(panels[name], {name: group}, room)
    else:
        left, right = figure.subplots(1, 2, width_ratios=(1.75, 1))
        draw_network(left, machine)
        _write_facts(right, groups, figure.get_figheight() - 1.0)
    return figure


def _write_facts(axes: style.Axes, groups: dict[str, list[Fact]], inches: float) -> None:
    """Write groups of facts as a column: label and value, the tag of a number behind it.

    `inches` is the height of the axes.
    """
    axes.set_axis_off()
    rows = [row for title, facts in groups.items() if facts for row in (Fact("", title), *facts)]
    step = min(LINE_IN / inches, 1 / (min(len(rows), MOST_FACTS) + 1))
    y = 1.0
    small: Any = {"size": 8.6, "transform": axes.transAxes}
    for k, row in enumerate(rows[:MOST_FACTS]):
        y -= step
        if not row.label:
            y -= 0.35 * step if k else 0
            axes.text(0, y, row.value, size=10.5, weight="bold", transform=axes.transAxes)
            continue
        tag = row.origin.partition(":")[0].rpartition(", ")[2]
        value = row.value if len(row.value) <= 36 else row.value[:35] + "…"
        axes.text(0, y, row.label, color=style.QUIET, **small)
        axes.text(0.46, y, value, **small)
        if tag and len(row.value) > BESIDE:
            y -= 0.62 * step
        if tag:
            axes.text(
                1.0,
                y,
                tag,
                transform=axes.transAxes,
                size=7.4,
                color=style.QUIET,
                style="italic",
                ha="right",
            )


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
