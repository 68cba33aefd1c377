"""What differs, in words: the furthest cells, means by table, sentences that do not hold."""

from __future__ import annotations

from collections.abc import Iterable

from conset.reproduction.item import Claim
from conset.reproduction.thakur.times import METHODS, NAMES, Seconds, Time, error, mean_error, printed, worst


def reported(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Claims that do not hold and are not asserted: the text contradicts itself there, or nobody demands them."""
    return tuple(f"{c.statement}: {c.verdict}: {c.figures}" for c in claims if not (c.asserted or c.holds))


def describe_worst(times: Iterable[Time], ours: Seconds, count: int = 5) -> str:
    """`PEX on 8x8, 1 KiB −41 % (0.064 s printed), …`."""
    return "; ".join(f"{time.label} {error(time, ours):+.0%} ({time.seconds:g} s printed)"
                     for time in worst(times, ours, count))  # fmt: skip


def by_table(ours: Seconds) -> str:
    """Mean error of each table's cells."""
    return ", ".join(f"{NAMES[METHODS[table]]} (Table {table}) {mean_error(printed(table), ours):+.1%}"
                     for table in METHODS)  # fmt: skip
