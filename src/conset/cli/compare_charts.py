"""What `conset compare` has besides its table: `--curve`, `--map` and `--stages`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from conset.base import ConsetError, UsageError, parse_size, unknown_name
from conset.cli.output import progress
from conset.compilation import CompileOptions, candidates
from conset.machine import Machine, is_spec, parse_machine
from conset.pattern import GENERATORS, Pattern, parse_pattern
from conset.report import Section, curves_section, regions_section, tradeoff_section
from conset.studies import (
    SIZES,
    Policies,
    chart_exchanges,
    chart_regions,
    compare_stages,
    degrees_of,
    trace_curves,
)

COMPLETE = "alltoall"
"""The pattern whose map has machines where others have degrees."""


@dataclass(frozen=True)
class Compared:
    """What a comparison gives, of whichever kind.

    Attributes:
        body: what `--json` has.
        records: rows of a tidy table.
        sections: for people; the first picture is drawn.
    """

    body: dict[str, Any]
    records: list[dict[str, Any]]
    sections: Sequence[Section]


def compare_curves(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    sizes: Sequence[int],
    by: str | None,
) -> Compared:
    """The contention curves, one a size.

    Raises:
        InputError: the pattern is no complete exchange on a mesh or torus.
    """
    curves = trace_curves(pattern, machine, options, progress, sizes=sizes, by=by)
    objects = [each.to_object() for each in curves]
    return Compared(
        {"curve": objects[0], "curves": objects},
        [
            {"size": curve["size"], "by": curve["by"], **point}
            for curve in objects
            for point in curve["points"]
        ],
        [curves_section(curves, pattern.name, machine.name)],
    )


def compare_programs(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    sizes: Sequence[int],
    by: str | None,
    combines: Sequence[str],
) -> Compared:
    """Programs of several numbers of stages over sizes of message: time and volume.

    Raises:
        InputError: the pattern has no messages, or an order.
    """
    rows = compare_stages(
        pattern, machine, options, sizes=sizes, combines=combines, by=by, watch=progress
    )
    records = [row.to_object() for row in rows]
    return Compared(
        {"stages": records},
        records,
        [tradeoff_section(rows, pattern.name, machine.name)],
    )


def compare_regions(
    generator_spec: str,
    on: str,
    methods: Sequence[str] | None,
    policies: Policies,
    options: CompileOptions,
    sizes: Sequence[int],
    by: str | None,
    reuse: str,
) -> Compared:
    """The regions map.

    Args:
        generator_spec: the PATTERN of the command line: a generator with a degree, or `alltoall`,
            without options.
        on: the MACHINE of the command line; of a complete exchange the largest of the map.
        methods: names in the table; None: what `auto` tries on the densest pattern, the largest
            machine.
        policies: the only ones to take, of all methods or by method; without any those that can be
            the best.
        options: options of every compile.
        sizes: of messages [B]; none: `SIZES`.
        by: `formula`, or the model that simulates every schedule; None: the machine's model.
        reuse: how often a schedule is used before the next compile, or `inf`.

    Raises:
        UsageError: another pattern, a reuse that is no number of at least 1, an unknown model.
        InputError: no method applies.
    """
    generator, uses = parse_generator(generator_spec), parse_reuse(reuse)
    machine = parse_machine(on)
    names = methods if methods is not None else tried_methods(generator, machine, options)
    how: dict[str, Any] = {
        "policies": policies.spread(names),
        "rank_by": by,
        "reuse": uses,
        "sizes": sizes or SIZES,
        "watch": progress,
    }
    if generator == COMPLETE:
        with progress("reading"):
            machines = smaller_machines(on)
        regions = chart_exchanges(machines, names, options, **how)
    else:
        regions = chart_regions(generator, machine, names, options, **how)
    whole = regions.to_object()
    return Compared(
        {"map": whole, "skipped": list(regions.skipped)},
        list(whole["cells"]),
        [regions_section(regions, generator, machine.name)],
    )


def parse_sizes(text: str | None) -> tuple[int, ...]:
    """The sizes of `--sizes 1KiB,16KiB` [B], ascending; () without a word.

    Raises:
        UsageError: not a size of at least 1 B.
    """
    if text is None:
        return ()
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
    head, comma, rest = on.partition(",")
    name, colon, size = head.partition(":")
    machine = parse_machine(on)
    if not is_spec(head) or "dead" in rest or not re.fullmatch(r"\s*\d+(x\d+)*\s*", size):
        return [machine]
    machines = []
    for sides in smaller_sizes(name.strip(), [int(side) for side in size.split("x")]):
        try:
            machines.append(parse_machine(f"{name}{colon}{'x'.join(map(str, sides))}{comma}{rest}"))
        except ConsetError:  # this network has no such size
            continue
    return [*machines, machine]


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
    ranks = machine.ranks(options.ranks_per_node)
    degrees = degrees_of(ranks)
    if not degrees:
        return ["naive"]
    generator_spec = generator if generator == COMPLETE else f"{generator}:degree={degrees[-1]}"
    densest = parse_pattern(generator_spec, topology=machine.topology, ranks=ranks)
    return candidates(densest, machine, options.effort)
