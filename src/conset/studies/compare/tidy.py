"""Tidy tables: rows of figures flattened to one value a cell, as CSV, Parquet or a frame of pandas.

A nested figure has its path for a column (`bound.time_s` is `bound_time_s`); what is a list, a
sentence about a figure or a structure of its own stays with `--json`. Parquet and frames need
pandas (`conset[frames]`); CSV needs nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.base.errors import MissingExtraError, UsageError
from conset.base.files import replacing

if TYPE_CHECKING:
    from pandas import DataFrame

CSV, PARQUET = ".csv", ".parquet"
SUFFIXES = (CSV, PARQUET)
EXTRA = "frames"
FIRST = (
    "pattern_name",
    "machine",
    "method",
    "sync",
    "contention",
    "phases",
    "by",
    "time_s",
    "predicted_s",
)
"""Columns that say what a row is of and what came out, where rows have them."""
_WITH_JSON = ("verdict", "guaranteed", "stages", "candidates", "figures", "not_simulated", "note")
"""What is no figure of the row."""

Cell = str | int | float | bool | None


def tidy(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[dict[str, Cell]]]:
    """(columns, rows): every row with all columns, None where it has no such figure.

    Args:
        rows: objects as `compare --json` has them.
    """
    flat = [dict(_cells("", row)) for row in rows]
    values: dict[str, list[Cell]] = {}
    for name in dict.fromkeys(name for row in flat for name in row):
        column: list[Cell] = [row.get(name) for row in flat]
        nested = any(other.startswith(f"{name}_") for row in flat for other in row)
        if nested and not any(cell is not None for cell in column):
            continue  # a structure that other rows have
        if any(isinstance(cell, str) for cell in column):
            # numbers beside words as words: in flight are `all` in one row and `4` in another
            column = [None if cell is None else str(cell) for cell in column]
        values[name] = column
    columns = [
        *(name for name in FIRST if name in values),
        *(name for name in values if name not in FIRST),
    ]
    return columns, [{name: values[name][k] for name in columns} for k in range(len(flat))]


def _cells(path: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Cell]]:
    for key, part in value.items():
        name = f"{path}_{key}" if path else str(key)
        if name in _WITH_JSON and not isinstance(part, int | float):
            continue
        if isinstance(part, Mapping):
            yield from _cells(name, part)
        elif part is None or isinstance(part, str | int | float):
            yield name, part


def to_pandas(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """The table as a frame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", EXTRA) from None
    columns, cells = tidy(rows)
    return pandas.DataFrame(cells, columns=columns)


def check_table_path(path: Path) -> None:
    """Before anything is computed.

    Raises UsageError for another suffix, MissingExtraError for a missing library.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: a table ends in {' or '.join(SUFFIXES)}, given '{path.suffix}'")
    for library in ("pandas", "pyarrow") if suffix == PARQUET else ():
        try:
            import_module(library)
        except ImportError:
            raise MissingExtraError(library, EXTRA) from None


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes `path` (.csv or .parquet), whole or not at all; the same rows, the same bytes.

    Raises:
        UsageError: another suffix. MissingExtraError: Parquet without pandas and pyarrow.
        InputError: the file cannot be written.
    """
    check_table_path(path)
    if path.suffix.lower() == PARQUET:
        frame = to_pandas(rows)
        with replacing(path) as temporary:
            frame.to_parquet(temporary, engine="pyarrow", index=False)
        return
    columns, cells = tidy(rows)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
