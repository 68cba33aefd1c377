"""Compile a program: every block by its method on one placement, then phases put into contexts.

And predict its time.

    T = Σ over blocks of repeat · (work of the phases under barriers) + (switches + 1) · set-up +
    switches · S

where S is a synchronization of all ranks: a switch swaps what is open everywhere at once (Principle
2.3 of the ConSet text). Entering the first context is charged a set-up, and S where the machine
charges the first barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conset import _core
from conset.base import MAX_SIZE_B, InputError, NoScheduleError
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_placed, placement_of
from conset.compilation.programs.share import number_contexts, share, turns
from conset.compilation.programs.spec import BlockSpec
from conset.machine import Machine
from conset.pattern import Pattern
from conset.schedule import Manifest, Program, Schedule, Stage


def compile_program(
    specs: Sequence[BlockSpec],
    machine: Machine,
    options: CompileOptions,
    *,
    manifest: Manifest | None = None,
) -> Program:
    """A program of blocks; equal blocks have one schedule.

    Args:
        specs: what each block sends, how often, and how it is compiled.
        machine: what it is for.
        options: of the whole: its placement holds for all blocks and is found for what they send
            together.
        manifest: how it is made.

    Raises:
        UsageError, InputError, NoScheduleError: as `compile_pattern`, with the block; and a program
            without blocks.
    """
    if not specs:
        raise InputError("a program needs a block, given none")
    manifest = manifest or Manifest(seed=options.seed)
    placement = placement_of(together(specs), machine, options)
    known: dict[object, int] = {}
    schedules: list[Schedule] = []
    blocks: list[Stage] = []
    for k, block in enumerate(specs, 1):
        own = replace(block.options, sync="barrier", placement="identity")
        index = known.setdefault((_fingerprint(block.pattern), own), len(schedules))
        if index == len(schedules):
            try:
                schedules.append(compile_placed(block.pattern, machine, own, placement, manifest))
            except (InputError, NoScheduleError) as error:
                raise type(error)(
                    f"block {k} '{block.name}': {error}", options=error.options
                ) from None
        turned = turns(schedules[index]) and block.repeat > 1 and schedules[index].phases > 1
        blocks.append(Stage(block.name, block.repeat, index, turned))
    stopped = _core.stop_asked() or any(
        s.report is not None and s.report.stopped_early for s in schedules
    )
    ordered, contexts = share(blocks, schedules)
    return Program(
        machine,
        tuple(blocks),
        number_contexts(ordered, contexts),
        contexts,
        None,
        "barrier",
        manifest,
        stopped,
    )


def together(specs: Sequence[BlockSpec]) -> Pattern:
    """What all blocks send, every repetition counted: where ranks are best placed."""
    if len(specs) == 1:
        return specs[0].pattern
    total = sum(block.pattern.bytes * block.repeat for block in specs)
    if total > MAX_SIZE_B:
        raise InputError(f"all blocks together send {total} B, at most {MAX_SIZE_B} B")
    columns = [
        (block.pattern.source, block.pattern.target, block.pattern.size * block.repeat)
        for block in specs
    ]
    source, target, size = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Pattern.from_messages(
        source, target, size, specs[0].pattern.ranks, name="all blocks together"
    )


def _fingerprint(pattern: Pattern) -> tuple[object, ...]:
    """What two patterns that are the same agree in."""
    stated = (None if each is None else each.tobytes() for each in (pattern.before, pattern.packed))
    return (
        pattern.ranks,
        pattern.offsets.tobytes(),
        pattern.target.tobytes(),
        pattern.size.tobytes(),
        *stated,
    )
