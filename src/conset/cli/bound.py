"""`conset bound`: what no schedule of a pattern on a machine can beat.

With the witness as text.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

from conset.base import UsageError, shortened
from conset.bounds import Bounds, TimeOfClass, bound_any, bound_stages
from conset.bounds.stages import StageBounds
from conset.cli.inputs import Reading, SyncOption, manifest_of, read_inputs
from conset.cli.options import (
    JsonOption,
    MachineOption,
    PatternArgument,
    expanded,
    opt,
    option_of,
    refuse,
)
from conset.cli.output import print_json, print_outcome, progress
from conset.compilation import AUTO, BOUNDED_BY, CompileOptions, effective_limits, placement_of
from conset.methods import load_method
from conset.report import bound_section, candidates_object

FIXED = "fixed"
OF_LIMITS = ("method", "contention", "channels", "limits")
OF_RANKS = ("placement", "ranks_per_node", "seed")


@expanded({"options": (*OF_LIMITS, *OF_RANKS)}, method=BOUNDED_BY)
def command(
    pattern: PatternArgument,
    on: MachineOption,
    options: CompileOptions,
    routes: Annotated[str, option_of(CompileOptions, "routes")] = FIXED,
    lp: Annotated[
        bool,
        opt(
            "--lp",
            "With --routes free or circuit switches: programs by HiGHS too, which take seconds.",
        ),
    ] = False,
    stages: Annotated[
        str | None,
        opt(
            "--stages K|any|K1xK2…",
            "Of programs that forward: in K stages, in any number, or with at most K1-1, "
            "K2-1, … bundles a rank.",
        ),
    ] = None,
    sync: SyncOption = None,
    *,
    reading: Reading,
    json: JsonOption = False,
) -> None:
    """Compute what no schedule can beat under the limits of a method, with the proof."""
    free = None if routes == FIXED else routes
    if stages is not None:
        given = {
            **{name: getattr(options, name) for name in OF_LIMITS},
            "method": None if options.method == BOUNDED_BY else options.method,
        }
        rule = f"--stages {stages} is about any schedules of the stages, under any policy"
        refuse(given | {"sync": sync, "lp": lp, "routes": free}, rule)
        most, maxima = parse_stages(stages)
        options = replace(options, method=AUTO)
    options = replace(options, sync=sync)
    with progress("reading"):
        count, seed = options.ranks_per_node, options.seed
        traffic, machine = read_inputs(pattern, on, reading, ranks_per_node=count, seed=seed)
    of_schedules: dict[str, Any] = {}
    bounds: Bounds | StageBounds
    strict: list[TimeOfClass] = []
    if stages is None:
        kept, _ = effective_limits(load_method(options.method), machine, options)
    with progress("placing"):
        nodes = placement_of(traffic, machine, options)
    with progress("bounding"):
        if stages is not None:
            of_stages = bound_stages(traffic, machine, stages=most, maxima=maxima, placement=nodes)
            bounds = of_stages
        else:
            how: dict[str, Any] = {"placement": nodes, "method": options.method, "lp": lp}
            how["routes"] = routes
            bounds, strict = bound_any(traffic, machine, kept, sync=sync, **how)
            policy = sync or ("barrier" if bounds.phases > 1 else "none")
            of_schedules = {
                "limits": kept.to_object(),
                "sync": policy,
                "classes": [asdict(c) for c in strict],
            }
    if json:
        given = options.given() | {"stages": stages, "lp": lp} | reading.given() | {"routes": free}
        own = bounds.to_object()
        body = {
            **own,
            "bound": own,
            **of_schedules,
            "machine": machine.name,
            "candidates": candidates_object(bounds),
        }
        print_json("conset/bound@1", body, manifest_of("bound", pattern, on, seed, given))
    print_outcome(bound_section(traffic.name, machine.name, bounds, strict), 7, json)


def parse_stages(word: str) -> tuple[int | None, list[int] | None]:
    """(stages, stage maxima) of `3`, `any` or `4x8`.

    Raises:
        UsageError: another word.
    """
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
