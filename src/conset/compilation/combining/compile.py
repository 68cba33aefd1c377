"""Compile along paths.

Every stage by a method, then policy, sends in flight and posting order for the whole.

Problem: a program is worth what its stages take together: a rank passes on what it got as soon as
it has it, so stages overlap, and the schedule that is best for one stage alone need not be best in
the chain.
Idea: the search of `auto` (`conset.compilation.auto`) over schedules of the whole program: a trial
compiles all stages by one method at one contention and chains them into one schedule
(`conset.schedule.program`), whose time the machine's model says, copying included. What is chosen
is cut into its stages again.
"""

from __future__ import annotations

import time
from dataclasses import replace

from conset.compilation.auto import choose_policy, choose_schedule
from conset.compilation.options import AUTO, CompileOptions
from conset.compilation.pipeline import Placement, compile_by, why_not
from conset.compilation.ranking import require_affordable
from conset.machine import Machine
from conset.schedule import Manifest, Paths, Program, Schedule, bundles_of, chained, unchained


def compile_along(
    paths: Paths,
    machine: Machine,
    options: CompileOptions,
    placement: Placement,
    manifest: Manifest,
) -> tuple[Program, Schedule]:
    """(the program whose messages take these paths, the same as one schedule).

    With the report on how it was found.

    Args:
        paths: of the messages, at least one of which moves.
        machine: what it is for.
        options: as of a compile; `auto` chooses one method for all stages. Without a policy: that
            with the least time for method `auto`, else `local`, and `none` where every stage is one
            phase.
        placement: the node of each rank.
        manifest: how it is made.

    Raises:
        UsageError, InputError, NoScheduleError: as `compile_pattern`.
    """
    stages = [paths.bundles(j).pattern for j in range(paths.stages)]
    start = time.perf_counter()
    bundles = bundles_of(paths)

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        schedules = [
            compile_by(
                method,
                stage,
                machine,
                options,
                placement,
                manifest,
                contention=contention,
                effort=effort,
            )
            for stage in stages
        ]
        sync = "none" if all(schedule.phases <= 1 for schedule in schedules) else "local"
        sync = schedules[0].sync if len(stages) == 1 else sync
        return chained(Program.of_schedules(paths, schedules, sync, manifest), bundles)

    def refuse(method: str) -> str | None:
        refusals = (why_not(method, stage, machine, options, placement) for stage in stages)
        return next((refusal for refusal in refusals if refusal is not None), None)

    name = options.chosen_method
    if name == AUTO:
        require_affordable(bundles, options.rank_by, options.effort)
        whole = choose_schedule(make, bundles, machine, options, refuse=refuse)
    else:
        whole = make(name, None, options.effort)
        if options.sync == AUTO:
            whole = choose_policy(whole, rank_by=options.rank_by, effort=options.effort)
        elif options.policy is not None:
            whole = replace(whole, sync=options.policy)
    whole = whole.with_report(compile_s=time.perf_counter() - start)
    return unchained(whole, paths), whole
