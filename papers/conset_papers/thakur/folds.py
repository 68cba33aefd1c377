"""Folds: machine sizes to fit on and machine sizes to judge on.

And what the Delta's parameters are fitted to on each.

Every table of the text has five meshes, by growing number of processors: its columns 1 to 5. A fold
fits on three of them, in all five tables, and is judged on the other two. The words of the
simulation for a fold are found by `benchmarks/fit_delta.py`, which simulates some hundred settings;
it writes `fitted/delta.csv`, read here.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib.resources import files
from itertools import combinations

from conset_papers.thakur.exchange import simulate_times
from conset_papers.thakur.times import OTHERS, POWERS, Seconds, Time, printed

COLUMNS = (1, 2, 3, 4, 5)
Fold = tuple[int, ...]
"""Three columns, rising."""
FOLDS: tuple[Fold, ...] = tuple(combinations(COLUMNS, 3))
SIMULATED: tuple[Fold, ...] = tuple(fold for fold in FOLDS if COLUMNS[-1] not in fold)
"""Folds whose words the script finds: a fit on 512 processors would simulate for hours."""


def column_of(time: Time) -> int:
    """Place of a time's mesh among those of its table, 1 to 5."""
    return 1 + (POWERS if time.mesh in POWERS else OTHERS).index(time.mesh)


def inside(fold: Fold) -> tuple[Time, ...]:
    """The times that a fold fits on."""
    return tuple(time for time in printed() if column_of(time) in fold)


def outside(fold: Fold) -> tuple[Time, ...]:
    """The times that a fold is judged on."""
    return tuple(time for time in printed() if column_of(time) not in fold)


@lru_cache
def fitted_words() -> dict[Fold, str]:
    """Fold → words for `--set`."""
    file = files("conset_papers").joinpath("thakur", "fitted", "delta.csv")
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return {tuple(int(part) for part in row["columns"].split()): row["words"] for row in rows}


def fold_without(column: int) -> Fold:
    """The fold of the script's that a column is judged by: the one without it.

    Of the largest machines the first.
    """
    return next(fold for fold in SIMULATED if column not in fold)


@lru_cache
def held_out_column(column: int, table: int) -> Seconds:
    """Times of a table's column, simulated with words that were fitted on other columns only."""
    times = tuple(time for time in printed(table) if column_of(time) == column)
    return simulate_times(times, fitted_words()[fold_without(column)])


def held_out_table(table: int) -> Seconds:
    """Times of a table, every column simulated with words that were fitted without it."""
    return {
        time: seconds
        for column in COLUMNS
        for time, seconds in held_out_column(column, table).items()
    }


def held_out() -> Seconds:
    """All 125 times that way."""
    tables = dict.fromkeys(time.table for time in printed())
    return {time: seconds for table in tables for time, seconds in held_out_table(table).items()}
