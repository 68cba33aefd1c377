"""Compile a program: every block by its method on one placement, then phases put into contexts; and predict its time.

    T = Σ over blocks of repeat · (work of the phases under barriers) + (switches + 1) · set-up + switches · S

where S is a synchronization of all ranks: a switch swaps what is open everywhere at once (Principle 2.3 of the ConSet
text). Entering the first context is charged a set-up, and S where the machine charges the first barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conset import _core
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_placed, placement_of
from conset.errors import InputError, NoScheduleError
from conset.machine.costs import Costs, Synchronization
from conset.machine.machine import Machine
from conset.machine.times import synchronization_s
from conset.pattern.pattern import Pattern
from conset.prediction import predict
from conset.program.chained import chained
from conset.program.program import Program, Stage
from conset.program.share import number_contexts, share, turns
from conset.program.spec import BlockSpec
from conset.schedule.manifest import Manifest
from conset.schedule.schedule import Schedule
from conset.units import MAX_SIZE_B


def compile_program(
    specs: Sequence[BlockSpec], machine: Machine, options: CompileOptions, *, manifest: Manifest | None = None
) -> Program:
    """A program of blocks; equal blocks have one schedule.

    Args:
        specs: what each block sends, how often, and how it is compiled.
        machine: what it is for.
        options: of the whole: its placement holds for all blocks and is found for what they send together.
        manifest: how it is made.

    Raises:
        UsageError, InputError, NoScheduleError: as `compile_pattern`, with the block; and a program without blocks.
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
                raise type(error)(f"block {k} '{block.name}': {error}", options=error.options) from None
        turned = turns(schedules[index]) and block.repeat > 1 and schedules[index].phases > 1
        blocks.append(Stage(block.name, block.repeat, index, turned))
    stopped = _core.stop_asked() or any(s.report is not None and s.report.stopped_early for s in schedules)
    ordered, contexts = share(blocks, schedules)
    return Program(
        machine, tuple(blocks), number_contexts(ordered, contexts), contexts, None, "barrier", manifest, stopped
    )


def together(specs: Sequence[BlockSpec]) -> Pattern:
    """What all blocks send, every repetition counted: where ranks are best placed."""
    if len(specs) == 1:
        return specs[0].pattern
    total = sum(block.pattern.bytes * block.repeat for block in specs)
    if total > MAX_SIZE_B:
        raise InputError(f"all blocks together send {total} B, at most {MAX_SIZE_B} B")
    columns = [(block.pattern.source, block.pattern.target, block.pattern.size * block.repeat) for block in specs]
    source, target, size = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Pattern.from_messages(source, target, size, specs[0].pattern.ranks, name="all blocks together")


def _fingerprint(pattern: Pattern) -> tuple[object, ...]:
    """What two patterns that are the same agree in."""
    stated = (None if each is None else each.tobytes() for each in (pattern.before, pattern.packed))
    return pattern.ranks, pattern.offsets.tobytes(), pattern.target.tobytes(), pattern.size.tobytes(), *stated


@dataclass(frozen=True)
class ProgramPrediction:
    """What the formula says.

    Attributes:
        time_s: the sum of the terms [s].
        terms: `synchronization`, `setup` and `transfer` [s].
        block_s: what the phases of each block take, switches apart [s]; of a stage that forwards, what it takes alone.
        switches: communication context switches.
        machine: the machine predicted for.
        sync: the policy.
    """

    time_s: float
    terms: dict[str, float]
    block_s: tuple[float, ...]
    switches: int
    machine: str
    sync: str = "barrier"

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it."""
        return {
            "time_s": self.time_s, "sync": self.sync, "terms": dict(self.terms), "block_s": list(self.block_s),
            "switches": self.switches, "machine": self.machine,
        }  # fmt: skip


def predict_program(program: Program, *, machine: Machine | None = None) -> ProgramPrediction:
    """The time of a program; of one that forwards, of its stages chained under its own policy.

    Raises:
        InputError: a rank lives on a node that another `machine` does not have.
    """
    if program.paths is not None:
        whole = predict(chained(program), sync=program.sync, machine=machine)
        alone = [predict(program.schedules[s.schedule], sync=program.sync, machine=machine) for s in program.stages]
        return ProgramPrediction(
            whole.time_s, dict(whole.terms), tuple(each.time_s for each in alone), program.switches, whole.machine,
            program.sync,
        )  # fmt: skip
    once = [
        predict(schedule, sync="barrier", machine=machine).terms["transfer"] if schedule.phases else 0.0
        for schedule in program.schedules
    ]
    block_s = tuple(block.repeat * once[block.schedule] for block in program.stages)
    target, switches = machine or program.machine, program.switches
    costs = target.costs_for(program.schedules[0].method)
    entered = 1 if program.phases else 0
    terms = {
        "synchronization": (switches + entered * costs.first_barrier) * synchronization_s(target, costs),
        "setup": (switches + entered) * costs.setup_s,
        "transfer": sum(block_s),
    }
    return ProgramPrediction(sum(terms.values()), terms, block_s, switches, target.name)


def without_switches(costs: Costs) -> Costs:
    """Costs of a phase by itself, whose connections are open."""
    return replace(costs, setup_s=0.0, synchronization=Synchronization())
