"""`conset bound`: what no schedule of a pattern on a machine can beat, with the witness in words."""

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
    bool, typer.Option("--lp", help="With --routes free: linear programs too, which take seconds (HiGHS).")
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
    from conset.methods.table import find_method
    from conset.report.outcome import bound_table, bound_text, candidates_object

    options = CompileOptions(method, contention, channels, limits, placement, ranks_per_node, sync, seed)
    row = find_method(method)
    with progress("reading"):
        traffic, machine = read_inputs(
            pattern, on, ranks_per_node=ranks_per_node, seed=seed, parts=parts, rows_to=rows_to, word=word
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
        body = {**own, "bound": own, "limits": kept.to_object(), "sync": policy, "machine": machine.name}
        print_json("conset/bound@1", {**body, "candidates": candidates_object(bounds)}, manifest)
    text = console(json)
    text.print(bound_text(traffic.name, machine.name, bounds), markup=False)
    if bounds.candidates:
        text.print(bound_table(bounds))


def _bound(
    traffic: Pattern, machine: Machine, limits: Limits, placement: NDArray[np.int32] | None,
    sync: str | None, routes: str, method: str, lp: bool,
) -> tuple[Bounds, str]:  # fmt: skip
    """(bounds, policy); without a policy asked for it is that of `compile`: none for one phase, else barrier."""
    from conset.bounds import bound

    policy = sync or "barrier"
    options: dict[str, Any] = {"placement": placement, "routes": routes, "method": method, "lp": lp}
    bounds = bound(traffic, machine, limits, sync=policy, **options)
    if sync is None and bounds.phases <= 1:
        return bound(traffic, machine, limits, sync="none", **options), "none"
    return bounds, policy
