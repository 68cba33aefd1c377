"""Case: one machine, one pattern, one size, one seed.

Its name, and the digest of all that decides its result.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from conset.base.units import format_size
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import input_path, parse_pattern
from conset.schedule.manifest import sha256_of

DIGEST = 12
"""Letters of a digest in names of files."""


@dataclass(frozen=True)
class Case:
    """What is compared once.

    Attributes:
        machine: name of its machine.
        fabric: what it is summed up with.
        pattern: name of the pattern.
        spec: the pattern, its size filled in.
        size: of a message [B]; None: the pattern says it.
        seed: of the pattern.
        shows_seed: whether its name has the seed: where there are several.
        parts: of a mesh or graph, or None.
        rows_to: ranks of a sparse matrix, or None.
        word: bytes of an entry or node where a file counts words [B].
    """

    machine: str
    fabric: str
    pattern: str
    spec: str
    size: int | None
    seed: int = 0
    shows_seed: bool = False
    parts: int | None = None
    rows_to: int | None = None
    word: int = 8

    @property
    def name(self) -> str:
        """`credit/complete/16 KiB`, with the seed where there are several."""
        return "/".join([self.machine, self.label])

    @property
    def label(self) -> str:
        """`complete/16KiB`: what it is on its machine."""
        size = [] if self.size is None else [format_size(self.size).replace(" ", "")]
        seed = [f"seed={self.seed}"] if self.shows_seed else []
        return "/".join([self.pattern, *size, *seed])

    def load(self, machine: Machine, ranks: int | None = None) -> Pattern:
        """The pattern, for so many ranks on the machine; raises as `parse_pattern`."""
        return parse_pattern(
            self.spec,
            topology=machine.topology,
            ranks=ranks,
            seed=self.seed,
            parts=self.parts,
            rows_to=self.rows_to,
            word=self.word,
        )

    def to_object(self) -> dict[str, Any]:
        """As results keep it."""
        return asdict(self)


def digest_of(case: Case, decides: Mapping[str, Any]) -> str:
    """What tells a case's result from all others: SHA-256 of the case and of what else decides it.

    Args:
        case: of a pattern in a file its contents count, not its name alone.
        decides: JSON-ready: machine, contenders, how they are measured, version.
    """
    path = input_path(case.spec)
    contents = sha256_of(path) if path is not None and path.is_file() else None
    # how a case is shown does not change it
    own = {
        key: value for key, value in case.to_object().items() if key not in ("shows_seed", "fabric")
    }
    text = json.dumps([own, contents, decides], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_of(case: Case, digest: str) -> str:
    """The name of the file that keeps a case's result."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", case.name).strip("-")[:80]
    return f"{slug}.{digest[:DIGEST]}.json"
