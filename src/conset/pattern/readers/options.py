"""Options: what the command line tells a reader besides the file."""

from __future__ import annotations

from dataclasses import dataclass

from conset.errors import UsageError


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a file as a pattern.

    Attributes:
        ranks: number of ranks of a message list that does not say; None: 1 + the largest it names.
        parts: parts of a mesh or graph; None: not asked for.
        rows_to: ranks to distribute a sparse matrix over, by rows; None: not asked for.
        word: bytes of an entry or node, where a file counts words [B].
        seed: of METIS.
    """

    ranks: int | None = None
    parts: int | None = None
    rows_to: int | None = None
    word: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (
            ("ranks", self.ranks),
            ("--parts", self.parts),
            ("--rows-to", self.rows_to),
            ("--word", self.word),
        ):
            if value is not None and value < 1:
                raise UsageError(f"{name} = {value}: must be at least 1")
        if self.seed < 0:
            raise UsageError(f"seed = {self.seed}: must be at least 0")
