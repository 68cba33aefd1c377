"""Program: an ordered list of blocks, each a schedule that runs a number of times, and the contexts of their phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from conset.errors import InputError
from conset.machine.machine import Machine
from conset.schedule.document import MAX_REPEAT
from conset.schedule.manifest import Manifest
from conset.schedule.schedule import Schedule
from conset.units import MAX_SIZE_B


@dataclass(frozen=True)
class Block:
    """One building block of a program.

    Attributes:
        name: for people.
        repeat: how often it runs before the next block, at least 1.
        schedule: index in `Program.schedules`.
        turns: every second repetition runs the phases backwards, so that none is switched where it begins.
    """

    name: str
    repeat: int
    schedule: int
    turns: bool

    def __post_init__(self) -> None:
        if not 1 <= self.repeat <= MAX_REPEAT:
            rule = "must be at least 1" if self.repeat < 1 else f"must be at most {MAX_REPEAT}"
            raise InputError(f"block '{self.name}': repeat = {self.repeat}: {rule}")


@dataclass(frozen=True, eq=False)
class Program:
    """Blocks in the order in which they run.

    Attributes:
        machine: what it was compiled for.
        blocks: one after the other.
        schedules: every distinct one once.
        contexts: for each schedule, the context of each of its phases; connections of a context are open together.
        manifest: how it was made.
        stopped_early: a search was interrupted and this is its best so far; never in a file.
    """

    machine: Machine
    blocks: tuple[Block, ...]
    schedules: tuple[Schedule, ...]
    contexts: tuple[tuple[int, ...], ...]
    manifest: Manifest = field(default_factory=Manifest)
    stopped_early: bool = False

    def __post_init__(self) -> None:
        if not self.schedules:
            raise InputError("a program needs a schedule, given none")
        for k, block in enumerate(self.blocks):
            if not 0 <= block.schedule < len(self.schedules):
                rule = f"must be from 0 to {len(self.schedules) - 1}"
                raise InputError(f"blocks[{k}].schedule = {block.schedule}: {rule}")
        sizes = [len(contexts) for contexts in self.contexts]
        if sizes != [schedule.phases for schedule in self.schedules]:
            raise InputError(f"contexts: one for each phase required, given {sizes}")
        total = sum(block.repeat * self.schedules[block.schedule].pattern.bytes for block in self.blocks)
        if total > MAX_SIZE_B:
            raise InputError(f"all blocks together send {total} B, at most {MAX_SIZE_B} B")

    def runs(self) -> Iterator[tuple[Block, Schedule, tuple[int, ...]]]:
        """(block, its schedule, the contexts of its phases) of every block that has phases."""
        for block in self.blocks:
            if self.schedules[block.schedule].phases:
                yield block, self.schedules[block.schedule], self.contexts[block.schedule]

    @property
    def phases(self) -> int:
        """Phases executed."""
        return sum(block.repeat * schedule.phases for block, schedule, _ in self.runs())

    @property
    def switches(self) -> int:
        """Communication context switches, the one into the first context left out."""
        total = sum(_inside(block, contexts) for block, _, contexts in self.runs())
        ends = [(contexts[0], _last(block, contexts)) for block, _, contexts in self.runs()]
        return total + sum(one[1] != other[0] for one, other in pairwise(ends))

    @property
    def switches_apart(self) -> int:
        """Switches if every phase had a context of its own and no block ran backwards."""
        runs = list(self.runs())
        inside = sum(block.repeat * schedule.phases - 1 for block, schedule, _ in runs if schedule.phases > 1)
        return inside + sum(one[0].schedule != other[0].schedule or one[1].phases > 1 for one, other in pairwise(runs))

    def figures(self) -> dict[str, int]:
        """As in the file."""
        patterns = [(block.repeat, self.schedules[block.schedule].pattern) for block in self.blocks]
        return {
            "phases": self.phases,
            "contexts": len({context for contexts in self.contexts for context in contexts}),
            "switches": self.switches,
            "switches_apart": self.switches_apart,
            "messages": sum(repeat * pattern.messages for repeat, pattern in patterns),
            "bytes": sum(repeat * pattern.bytes for repeat, pattern in patterns),
        }


def _inside(block: Block, contexts: tuple[int, ...]) -> int:
    """Switches within the repetitions of a block."""
    once = sum(one != other for one, other in pairwise(contexts))
    again = 0 if block.turns else int(contexts[-1] != contexts[0])
    return block.repeat * once + (block.repeat - 1) * again


def _last(block: Block, contexts: tuple[int, ...]) -> int:
    """The context a block ends in."""
    return contexts[0] if block.turns and block.repeat % 2 == 0 else contexts[-1]
