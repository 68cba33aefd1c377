"""Manifest: how a result was made, so that it can be made again."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conset.version import VERSION


@dataclass(frozen=True)
class Manifest:
    """What went in; no times and no output paths, so that the same input and seed give the same bytes.

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
