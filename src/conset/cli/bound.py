"""`conset bound`: what no schedule of a pattern on a machine can beat.

With the witness in words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from conset.bounds import Bounds
    from conset.machine.limits import Limits
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern

LpOption = Annotated[
    bool,
    typer.Option(
        "--lp", help="With --routes free: linear programs too, which take seconds (HiGHS)."
    ),
]
StagesOption = Annotated[
    str | None,
    typer.Option(
        "--stages",
        metavar="K|any|K1xK2…",
        help=(
            "Of programs that forward: in K stages, in any number, or with at most K1-1, K2-1, … "
            "bundles a rank."
        ),
    ),
]


def command(
    pattern: o.PatternArgument,
    on: o.MachineOption,
    method: o.MethodOption = "first-fit",
    contention: o.ContentionOption = None,
    channels: o.ChannelsOption = None,
    limits: o.LimitsOption = None,
    routes: o.RoutesOption = "fixed",
    lp: LpOption = False,
    stages: StagesOption = None,
    placement: o.PlacementOption = "identity",
    ranks_per_node: o.RanksPerNodeOption = 1,
    sync: o.SyncOption = None,
    seed: o.SeedOption = 0,
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    json: o.JsonOption = False,
) -> None:
    """Compute what no schedule can beat under the limits of a method, with the proof."""
    from conset.cli.inputs import manifest_of, read_inputs, reading_options
    from conset.cli.output import console, print_json, progress
    from conset.compilation.options import CompileOptions, effective_limits
    from conset.compilation.pipeline import placement_of
    from conset.methods.phases.table import load_method
    from conset.report.outcome import bound_table, bound_text, candidates_object

    if stages is not None:
        asked = {
            "--contention": contention,
            "--channels": channels,
            "--limits": limits,
            "--sync": sync,
            "--lp": lp or None,
            "--routes": None if routes == "fixed" else routes,
            "--method": None if method == "first-fit" else method,
        }
        _refuse(stages, asked)
        reading = {"parts": parts, "rows_to": rows_to, "word": word}
        _bound_stages(pattern, on, stages, placement, ranks_per_node, seed, reading, json)
        return
    row = load_method(method)
    method = row.name
    options = CompileOptions(
        method, contention, channels, limits, placement, ranks_per_node, sync, seed
    )
    with progress("reading"):
        traffic, machine = read_inputs(
            pattern,
            on,
            ranks_per_node=ranks_per_node,
            seed=seed,
            parts=parts,
            rows_to=rows_to,
            word=word,
        )
    kept, _ = effective_limits(row, machine, options)
    with progress("placing"):
        nodes = placement_of(traffic, machine, options)
    with progress("bounding"):
        bounds, policy = _bound(traffic, machine, kept, nodes, sync, routes, method, lp)
    given = options.given() | {"lp": lp} | reading_options(parts, rows_to, word)
    given["routes"] = None if routes == "fixed" else routes
    manifest = manifest_of("bound", pattern, on, seed, given)
    if json:
        own = bounds.to_object()
        body = {
            **own,
            "bound": own,
            "limits": kept.to_object(),
            "sync": policy,
            "machine": machine.name,
        }
        print_json("conset/bound@1", {**body, "candidates": candidates_object(bounds)}, manifest)
    text = console(json)
    text.print(bound_text(traffic.name, machine.name, bounds), markup=False)
    if bounds.candidates:
        text.print(bound_table(bounds))


def _bound(
    traffic: Pattern,
    machine: Machine,
    limits: Limits,
    placement: NDArray[np.int32] | None,
    sync: str | None,
    routes: str,
    method: str,
    lp: bool,
) -> tuple[Bounds, str]:
    """(bounds, policy).

    Without a policy asked for it is that of `compile`: none for one phase, else barrier.
    """
    from conset.bounds import bound

    policy = sync or "barrier"
    options: dict[str, Any] = {"placement": placement, "routes": routes, "method": method, "lp": lp}
    bounds = bound(traffic, machine, limits, sync=policy, **options)
    if sync is None and bounds.phases <= 1:
        return bound(traffic, machine, limits, sync="none", **options), "none"
    return bounds, policy


def _refuse(stages: str, asked: dict[str, Any]) -> None:
    """Raises UsageError for an option that says nothing of programs that forward."""
    from conset.base.errors import UsageError

    for name, value in asked.items():
        if value is not None:
            raise UsageError(
                f"{name}: --stages {stages} is about any schedules of the stages, under any policy"
            )


def parse_stages(word: str) -> tuple[int | None, list[int] | None]:
    """(stages, stage maxima) of `3`, `any` or `4x8`.

    Raises:
        UsageError: another word.
    """
    from conset.base.errors import UsageError, shortened

    sides = word.split("x")
    if word == "any":
        return None, None
    if not all(
        side.isascii() and side.isdigit() and 0 < len(side) <= 9 and int(side) > 0 for side in sides
    ):
        raise UsageError(
            f"--stages '{shortened(word)}': a number of stages, any, or sides as in 4x8 required"
        )
    return (int(word), None) if len(sides) == 1 else (None, [int(side) - 1 for side in sides])


def _bound_stages(
    pattern: str,
    on: str,
    stages: str,
    placement: str,
    ranks_per_node: int,
    seed: int,
    reading: dict[str, Any],
    json: bool,
) -> None:
    """Bounds of programs that forward."""
    from conset.bounds import bound_stages
    from conset.cli.inputs import manifest_of, read_inputs, reading_options
    from conset.cli.output import console, print_json, progress
    from conset.compilation.options import CompileOptions
    from conset.compilation.pipeline import placement_of
    from conset.report.outcome import bound_table, candidates_object, stage_bound_text

    most, maxima = parse_stages(stages)
    options = CompileOptions(placement=placement, ranks_per_node=ranks_per_node, seed=seed)
    with progress("reading"):
        traffic, machine = read_inputs(
            pattern, on, ranks_per_node=ranks_per_node, seed=seed, **reading
        )
    with progress("placing"):
        nodes = placement_of(traffic, machine, options)
    with progress("bounding"):
        bounds = bound_stages(traffic, machine, stages=most, maxima=maxima, placement=nodes)
    if json:
        given = options.given() | {"stages": stages} | reading_options(**reading)
        manifest = manifest_of("bound", pattern, on, seed, given)
        own = bounds.to_object()
        body = {
            **own,
            "bound": own,
            "machine": machine.name,
            "candidates": candidates_object(bounds),
        }
        print_json("conset/bound@1", body, manifest)
    text = console(json)
    text.print(stage_bound_text(traffic.name, machine.name, bounds), markup=False)
    if bounds.candidates:
        text.print(bound_table(bounds))
