"""What `conset compare` has besides its table.

The contention curve (`--curve`) and the regions map (`--map`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conset.compilation.options import CompileOptions
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.studies.compare import Policies


COMPLETE = "alltoall"
"""The pattern whose map has machines where others have degrees."""


def run_curve(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    output: Path | None,
    *,
    sizes: Sequence[int],
    by: str | None,
    markdown: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Computes, prints and writes the contention curves, one a size.

    Returns what `--json` says of them.

    Raises:
        InputError: the pattern is no complete exchange on a mesh or torus.
    """
    from conset.cli.output import print_markdown, print_parts, progress
    from conset.report.curve import (
        curves_markdown,
        curves_parts,
        curves_subtitle,
        curves_title,
        picture_curve,
    )
    from conset.report.style import write_report
    from conset.studies.compare import trace_curves

    curves = trace_curves(pattern, machine, options, progress, sizes=sizes, by=by)
    title = curves_title(pattern.name, machine.name)
    write_markdown = partial(curves_markdown, curves, title=title)
    if markdown:
        print_markdown(write_markdown(), as_json)
    else:
        print_parts(curves_parts(curves, title), as_json)
    if output is not None:
        write_report(
            output,
            write_markdown,
            lambda: picture_curve(curves, title=title, subtitle=curves_subtitle(curves)),
        )
    return {"curve": curves[0].to_object(), "curves": [curve.to_object() for curve in curves]}


def run_map(
    generator_spec: str,
    on: str,
    methods: Sequence[str] | None,
    policies: Policies,
    options: CompileOptions,
    reuse: str,
    by: str | None,
    output: Path | None,
    *,
    sizes: Sequence[int],
    markdown: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Computes, prints and writes the regions map; returns what `--json` says of it.

    Args:
        generator_spec: the PATTERN of the command line: a generator with a degree, or `alltoall`,
            without options.
        on: the MACHINE of the command line; of a complete exchange the largest of the map.
        methods: names in the table; None: what `auto` tries on the densest pattern, the largest
            machine.
        policies: the only ones to take, of all methods or by method; without any those that can be
            the best.
        options: options of every compile.
        reuse: how often a schedule is used before the next compile, or `inf`.
        by: `formula`, or the model that simulates every schedule; None: the machine's model.
        output: .md, .svg or .png.
        sizes: of messages [B]; none: `SIZES`.
        markdown: whether the table is printed so.
        as_json: whether stdout belongs to an object.

    Raises:
        UsageError: another pattern, a reuse that is no number of at least 1, an unknown model.
        InputError: no method applies.
    """
    from conset.cli.output import print_markdown, print_parts, progress
    from conset.machine.spec import parse_machine
    from conset.report.regions import (
        picture_regions,
        regions_lines,
        regions_markdown,
        regions_subtitle,
        regions_table,
        regions_title,
    )
    from conset.report.style import write_report
    from conset.report.terminal import titled_parts
    from conset.studies.compare import chart_exchanges, chart_regions
    from conset.studies.compare.regions import SIZES

    generator = parse_generator(generator_spec)
    uses = parse_reuse(reuse)
    machine = parse_machine(on)
    complete = generator == COMPLETE
    names = methods if methods is not None else tried_methods(generator, machine, options)
    how: dict[str, Any] = {
        "policies": policies.spread(names),
        "rank_by": by,
        "reuse": uses,
        "sizes": sizes or SIZES,
        "watch": progress,
    }
    if complete:
        with progress("reading"):
            machines = smaller_machines(on)
        regions = chart_exchanges(machines, names, options, **how)
    else:
        regions = chart_regions(generator, machine, names, options, **how)
    title = regions_title(generator, machine.name, machines=complete)
    write_markdown = partial(regions_markdown, regions, title=title)
    if markdown:
        print_markdown(write_markdown(), as_json)
    else:
        print_parts(titled_parts(title, regions_table(regions), regions_lines(regions)), as_json)
    if output is not None:
        subtitle = regions_subtitle(regions)
        write_report(
            output, write_markdown, lambda: picture_regions(regions, title=title, subtitle=subtitle)
        )
    return {"map": regions.to_object(), "skipped": list(regions.skipped)}


def parse_sizes(text: str | None, charts: bool) -> tuple[int, ...]:
    """The sizes of `--sizes 1KiB,16KiB` [B], ascending; () without a word.

    Raises:
        UsageError: not a size of at least 1 B, or none of `--curve`, `--map` and `--stages`.
    """
    from conset.base.errors import UsageError
    from conset.base.units import parse_size

    if text is None:
        return ()
    if not charts:
        raise UsageError(f"--sizes {text}: goes with --curve, --map or --stages")
    sizes = []
    for word in text.split(","):
        try:
            size = parse_size(word.strip())
        except UsageError as error:
            raise UsageError(f"--sizes {text}: {error}") from None
        if size < 1:
            raise UsageError(f"--sizes {text}: at least 1 B required, given {word.strip()}")
        sizes.append(size)
    return tuple(sorted(set(sizes)))


def smaller_machines(on: str) -> list[Machine]:
    """Machines as `on`, whose sides are quarters of its, and itself.

    A cube's sizes fall by one dimension.

    Of a file or a machine with dead nodes only itself: its size is no word.
    """
    from conset.base.errors import ConsetError
    from conset.machine.spec import parse_machine

    head, comma, rest = on.partition(",")
    name, colon, size = head.partition(":")
    machine = parse_machine(on)
    if not is_sized(head, rest):
        return [machine]
    machines = []
    for sides in smaller_sizes(name.strip(), [int(side) for side in size.split("x")]):
        try:
            machines.append(parse_machine(f"{name}{colon}{'x'.join(map(str, sides))}{comma}{rest}"))
        except ConsetError:  # this network has no such size
            continue
    return [*machines, machine]


def is_sized(head: str, rest: str) -> bool:
    """Whether a machine's size is whole numbers after its name."""
    from conset.machine.spec import is_spec

    size = head.partition(":")[2]
    return (
        is_spec(head) and "dead" not in rest and re.fullmatch(r"\s*\d+(x\d+)*\s*", size) is not None
    )


def smaller_sizes(name: str, sides: Sequence[int]) -> list[list[int]]:
    """Sides below the given ones, ascending."""
    if name == "hypercube":
        return [[dimension] for dimension in range(max(2, sides[0] - 3), sides[0])]
    if name == "ipsc860":
        return [[sides[0] >> shift] for shift in (3, 2, 1) if sides[0] >> shift >= 4]
    quarters = (
        [side * part // 4 for side in sides]
        for part in (1, 2, 3)
        if all(side * part % 4 == 0 for side in sides)
    )
    return [smaller for smaller in quarters if min(smaller) >= 2]


def parse_generator(generator_spec: str) -> str:
    """The generator a map varies.

    Its degree and size are the axes, or machine and size for a complete exchange.

    Raises:
        UsageError: another pattern without a degree, or one with options.
    """
    from conset.base.errors import UsageError, unknown_name
    from conset.pattern.generators.table import GENERATORS

    name = generator_spec.strip()
    dense = [known for known, row in GENERATORS.items() if "degree" in row.arguments]
    if name in dense or name == COMPLETE:
        return name
    head = re.split("[:,]", name, maxsplit=1)[0].strip()
    if head in dense or head == COMPLETE:
        axes = "machine and size" if head == COMPLETE else "degree and size"
        raise UsageError(
            f"--map: pattern '{generator_spec}': {axes} are its axes, the name alone "
            f"required: {head}"
        )
    if head in GENERATORS:
        raise UsageError(
            f"--map: pattern '{generator_spec}' has no degree: must be {', '.join(dense)} "
            f"or {COMPLETE}"
        )
    raise unknown_name("pattern with a degree", head, (*dense, COMPLETE))


def parse_reuse(text: str) -> float:
    """Uses of a schedule for each compile; infinite for `inf`.

    Raises:
        UsageError: neither `inf` nor a number of at least 1.
    """
    from conset.base.errors import UsageError

    if text.strip() == "inf":
        return inf
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < inf:
        raise UsageError(f"--reuse '{text}': must be a number of at least 1, or inf")
    return value


def tried_methods(generator: str, machine: Machine, options: CompileOptions) -> list[str]:
    """What `auto` tries on the densest pattern of the map.

    So that every row has the same methods.
    """
    from conset.compilation.candidates import candidates
    from conset.pattern.spec import parse_pattern
    from conset.studies.compare.regions import degrees_of

    ranks = machine.topology.endpoints * options.ranks_per_node
    degrees = degrees_of(ranks)
    if not degrees:
        return ["naive"]
    generator_spec = generator if generator == COMPLETE else f"{generator}:degree={degrees[-1]}"
    densest = parse_pattern(generator_spec, topology=machine.topology, ranks=ranks)
    return [candidate.method for candidate in candidates(densest, machine, options.effort)]
