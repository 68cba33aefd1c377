"""How a result was made.

Its manifest, which every file carries so that it can be made again, and a compile's report.

The report is in no file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conset.base import VERSION


@dataclass(frozen=True)
class Manifest:
    """What went in.

    No times and no output paths, so that the same input and seed give the same bytes.

    Attributes:
        command: the command in canonical words, outputs left out.
        seed: the seed of every random choice.
        input_sha256: of the input file's bytes, or of the spec's text.
        version: of conset.
    """

    command: str = ""
    seed: int = 0
    input_sha256: str = ""
    version: str = VERSION

    def to_object(self) -> dict[str, Any]:
        """`{"version": …, "seed": …, "command": …, "input_sha256": …}`."""
        fields = asdict(self)
        return {key: fields[key] for key in ("version", "seed", "command", "input_sha256")}


def sha256_of(source: str | Path) -> str:
    """SHA-256 of a file's bytes, or of a spec's text."""
    data = source.read_bytes() if isinstance(source, Path) else source.encode()
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class CompileReport:
    """What a compile says of itself beside the schedule; never in a file.

    Attributes:
        compile_s: what the scheduling alone took [s].
        stopped_early: the search was interrupted and this is its best so far.
        placement_name: what the placement is called, where it has a name.
        note: what a user should know of how the schedule was found.
        reason: why this method and policy, in one sentence, where they were chosen by `auto`.
        rank_by: by what method or policy were chosen by `auto`: `formula` or a model.
        simulated_s: what that model said it takes [s].
        verdict: what was chosen against and what each model says of it, as in `compile --json`.
    """

    compile_s: float = 0.0
    stopped_early: bool = False
    placement_name: str = ""
    note: str = ""
    reason: str = ""
    rank_by: str = ""
    simulated_s: float | None = None
    verdict: Mapping[str, Any] | None = None
