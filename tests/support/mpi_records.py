"""Writer of records of MPI calls, from calls as dictionaries; shares nothing with the reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Rows = list[dict[int, int]]
"""Of one rank: partner in the communicator → bytes, a call each."""


def row_text(row: dict[int, int]) -> str:
    """Partners as single ranks, and as ranges where neighbours get the same."""
    ranks = sorted(rank for rank in row if row[rank])
    words = []
    while ranks:
        run = [ranks.pop(0)]
        while ranks and ranks[0] == run[-1] + 1 and row[ranks[0]] == row[run[0]]:
            run.append(ranks.pop(0))
        words.append(f" {run[0]}{f'-{run[-1]}' if len(run) > 1 else ''}:{row[run[0]]}")
    return "".join(words)


def section(
    rank: int,
    ranks: int,
    exchanges: list[tuple[list[int], str, Rows, int]],
    sends: Sequence[tuple[int, int]] = (),
    end: str = "end finalize\n",
) -> str:
    """A section of one rank.

    Exchanges are members, kind, rows of a period, and its repetitions; sends are target and bytes.
    """
    lines = [f"conset/record@1\nrank {rank} of {ranks}\nhost h{rank}\nmpi MPICH\nseconds 2.5\n"]
    rows: list[str] = []
    for k, (members, _, period, _) in enumerate(exchanges):
        texts = [row_text(row) for row in period]
        rows += [text for text in dict.fromkeys(texts) if text not in rows]
        lines.append(f"comm {k} {','.join(map(str, members))}\n")
    lines += [f"row {number}{text}\n" for number, text in enumerate(rows)]
    for k, (_, kind, period, times) in enumerate(exchanges):
        size = times * sum(sum(row.values()) for row in period)
        numbers = ",".join(str(rows.index(row_text(row))) for row in period)
        lines.append(f"exchange {k} {kind} {times * len(period)} {size} 0.5 0.1 2\n")
        lines.append(f"sequence {k} {kind} {numbers}*{times}\n")
    classes = Counter((target, size.bit_length()) for target, size in sends)
    for (target, size_class), count in sorted(classes.items()):
        size = sum(s for t, s in sends if (t, s.bit_length()) == (target, size_class))
        lines.append(f"send {target} {size_class} {count} {size}\n")
    return "".join([*lines, "total allreduce 3 24\n", end])
