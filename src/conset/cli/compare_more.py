"""What `conset compare` draws besides its table: the contention curve (`--curve`) and the regions map (`--map`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conset.comparison import Policies
    from conset.compiler import Request
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern

MARKDOWN = ".md"


def run_curve(
    pattern: Pattern, machine: Machine, request: Request, output: Path | None, *, markdown: bool, as_json: bool
) -> dict[str, Any]:
    """Computes, prints and writes the contention curve; returns what `--json` says of it.

    Raises:
        InputError: the pattern is no complete exchange on a mesh or torus.
    """
    from conset.cli.progress import progress
    from conset.comparison import trace_curve
    from conset.report.picture_curve import picture_curve
    from conset.report.table_curve import curve_lines, curve_markdown, curve_table
    from conset.units import format_size

    curve = trace_curve(pattern, machine, request, progress)
    title = f"{pattern.name} on {machine.name}: contention against synchronization"
    largest = int(pattern.size.max(initial=0))
    subtitle = f"bounded, {curve.steps:,} steps without contention, messages of {format_size(largest)}"
    _show(title, lambda: curve_table(curve), curve_lines(curve), curve_markdown(curve, title=title), markdown, as_json)
    _write(output, curve_markdown(curve, title=title), lambda: picture_curve(curve, title=title, subtitle=subtitle))
    return {"curve": curve.to_object()}


def run_map(
    words: str,
    machine: Machine,
    methods: Sequence[str] | None,
    policies: Policies,
    request: Request,
    reuse: str,
    rank_by: str,
    output: Path | None,
    *,
    markdown: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Computes, prints and writes the regions map; returns what `--json` says of it.

    Args:
        words: the PATTERN of the command line: a generator with a degree, without options.
        machine: what it costs.
        methods: names in the table; None: what `auto` tries on the densest pattern.
        policies: the only ones to take, of all methods or by method; without any those that can be the best.
        request: options of every compile.
        reuse: how often a schedule is used before the next compile, or `inf`.
        rank_by: `formula`, or the model that simulates every schedule.
        output: .md, .svg or .png.
        markdown: whether the table is printed so.
        as_json: whether stdout belongs to an object.

    Raises:
        UsageError: another pattern, a reuse that is no number of at least 1, an unknown model.
        InputError: no method applies.
    """
    from conset.cli.progress import progress
    from conset.comparison import chart_regions
    from conset.report.picture_regions import picture_regions
    from conset.report.table_regions import (
        contenders,
        ranking_words,
        regions_lines,
        regions_markdown,
        regions_table,
    )

    generator = parse_generator(words)
    uses = parse_reuse(reuse)
    names = methods if methods is not None else tried_methods(generator, machine, request)
    regions = chart_regions(
        generator, machine, names, request, policies=policies.spread(names), rank_by=rank_by, reuse=uses, watch=progress
    )
    title = f"Best method for {generator} patterns on {machine.name}"
    used = "schedules used for ever" if uses == inf else f"a schedule used {uses:g} times"
    subtitle = (
        f"least time {ranking_words(regions)}: {contenders(regions)}; {used}; "
        "below each name: how much longer the next takes"
    )
    text = regions_markdown(regions, title=title)
    _show(title, lambda: regions_table(regions), regions_lines(regions), text, markdown, as_json)
    _write(output, text, lambda: picture_regions(regions, title=title, subtitle=subtitle))
    return {"map": regions.to_object(), "skipped": list(regions.skipped)}


def parse_generator(words: str) -> str:
    """The generator a map varies; its degree and size are the axes.

    Raises:
        UsageError: a pattern without a degree, or one with options.
    """
    from conset.errors import UsageError, unknown_name
    from conset.pattern.generators.table import GENERATORS

    name = words.strip()
    dense = [known for known, row in GENERATORS.items() if "degree" in row.arguments]
    if name in dense:
        return name
    head = re.split("[:,]", name, maxsplit=1)[0].strip()
    if head in dense:
        raise UsageError(f"--map: pattern '{words}': degree and size are its axes, the name alone required: {head}")
    if head in GENERATORS:
        raise UsageError(f"--map: pattern '{words}' has no degree: must be {' or '.join(dense)}")
    raise unknown_name("pattern with a degree", head, dense)


def parse_reuse(text: str) -> float:
    """Uses of a schedule for each compile; infinite for `inf`.

    Raises:
        UsageError: neither `inf` nor a number of at least 1.
    """
    from conset.errors import UsageError

    if text.strip() == "inf":
        return inf
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < inf:
        raise UsageError(f"--reuse '{text}': must be a number of at least 1, or inf")
    return value


def tried_methods(generator: str, machine: Machine, request: Request) -> list[str]:
    """What `auto` tries on the densest pattern of the map, so that every row has the same methods."""
    from conset.choice.candidates import candidates
    from conset.comparison.regions import degrees_of
    from conset.pattern.spec import parse_pattern

    ranks = machine.topology.endpoints * request.ranks_per_node
    degrees = degrees_of(ranks)
    if not degrees:
        return ["naive"]
    densest = parse_pattern(f"{generator}:degree={degrees[-1]}", topology=machine.topology, ranks=ranks)
    return [candidate.method for candidate in candidates(densest, machine, request.effort)]


def _show(title: str, table: Callable[[], Any], lines: Sequence[str], text: str, markdown: bool, as_json: bool) -> None:
    from rich.markup import escape

    from conset.cli.output import console

    out = console(as_json)
    if markdown:
        out.print(text, markup=False, end="")
        return
    out.print(f"[bold]{escape(title)}[/]")
    out.print(table())
    for line in lines:
        out.print(f"[dim]{escape(line)}[/]")


def _write(output: Path | None, text: str, draw: Callable[[], Any]) -> None:
    if output is None:
        return
    if output.suffix.lower() == MARKDOWN:
        from conset.files import replacing

        with replacing(output) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return
    from conset.report.style import save

    save(draw, output)
