"""ProgramDocument: a program file as it stands, before anything in it is believed.

A program runs blocks one after the other, each a number of times; a block is a schedule of the list. Every phase of
every schedule belongs to one *context*: the connections that are open together. What a phase needs is in its context,
so a switch is due only between phases of different contexts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conset.schedule.document import Document

MAX_REPEAT = 2**31 - 1
"""How often a block may run in a row."""


@dataclass(frozen=True)
class BlockDocument:
    """One block as a file says it.

    Attributes:
        name: for people.
        repeat: how often it runs before the next block.
        schedule: index in the list of schedules.
        turns: every second repetition runs the phases backwards.
    """

    name: str
    repeat: int
    schedule: int
    turns: bool

    def to_object(self) -> dict[str, Any]:
        """As in the file."""
        return {"name": self.name, "repeat": self.repeat, "schedule": self.schedule, "turns": self.turns}


@dataclass(frozen=True, eq=False)
class ProgramDocument:
    """What a program file says; types are checked, nothing else.

    Attributes:
        machine: spec or object of the machine.
        blocks: in the order in which they run.
        contexts: for each schedule, the context of each of its phases.
        schedules: as in schedule files.
        figures: `phases` (executed), `contexts`, `switches`, `switches_apart` (if every phase had its own context and
            none ran backwards), `messages` and `bytes` (executed).
        manifest: version, seed, command, input_sha256.
    """

    machine: str | Mapping[str, Any]
    blocks: tuple[BlockDocument, ...]
    contexts: tuple[tuple[int, ...], ...]
    schedules: tuple[Document, ...]
    figures: Mapping[str, Any]
    manifest: Mapping[str, Any]
