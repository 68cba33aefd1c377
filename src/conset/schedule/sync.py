"""Sync: how ranks keep apart the phases of a schedule while it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from conset.base.errors import UsageError, unknown_name

Kind = Literal["none", "local", "ready", "barrier"]

KINDS: tuple[Kind, ...] = ("none", "local", "ready", "barrier")


@dataclass(frozen=True)
class Sync:
    """A synchronization policy.

    - `none` (S2): everything is posted in schedule order and waited for at the end.
    - `local`: a rank's own transfers of a phase end before its next phase.
    - `ready` (S1): `local`, and a source sends only after a zero-byte signal from its target.
    - `barrier`: all transfers of `every` phases end everywhere before the next phase starts
      anywhere.

    Attributes:
        kind: one of the four.
        every: phases from one barrier to the next, at least 1; 1 for every other kind.
    """

    kind: Kind
    every: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("sync", str(self.kind), KINDS)
        if self.every < 1 or (self.kind != "barrier" and self.every != 1):
            least = "at least 1" if self.kind == "barrier" else "1"
            raise UsageError(f"sync '{self.kind}': every = {self.every}: must be {least}")

    def barriers(self, phases: int) -> int:
        """Barriers between `phases` phases: none after the last, none before the first."""
        return (phases - 1) // self.every if self.kind == "barrier" and phases > 0 else 0

    def groups(self, phases: int) -> int:
        """Groups of phases that a barrier separates.

        1 for the kinds without barriers, 0 without phases.
        """
        return self.barriers(phases) + 1 if phases > 0 else 0

    def __str__(self) -> str:
        return self.kind if self.every == 1 else f"{self.kind}:{self.every}"


def parse_sync(text: str) -> Sync:
    """The policy a word means: `none`, `local`, `ready`, `barrier` or `barrier:K`.

    Raises:
        UsageError: another word, or K is no whole number of at least 1.
    """
    name, colon, every = text.strip().partition(":")
    if name not in KINDS:
        raise unknown_name("sync", text, (*KINDS, "barrier:K"))
    if not colon:
        return Sync(name)
    if name != "barrier":
        raise UsageError(f"sync '{text}': only barrier takes a number, as in barrier:4")
    if re.fullmatch(r"[0-9]{1,9}", every) is None or int(every) < 1:
        raise UsageError(f"sync '{text}': K of barrier:K must be a whole number of at least 1")
    return Sync(name, int(every))
