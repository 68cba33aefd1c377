"""Tables in text: rows of words, and which column contains what.

Patterns, traces and demands of connections read their headers here, so that the same names work
for all of them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from conset.base import UsageError, parse_size

_NAMES = {
    "source": "source src from origin sender send ranka i row",
    "target": "target dst dest destination to receiver recv rankb j col column",
    "bytes": "bytes size weight volume sizes nbytes bytessent data traffic length",
    "after": "after deps",
}
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names.split()}
"""Name in a header, letters only and in lower case → column."""
_BESIDE = re.compile(r"(?<=.)(?:rank|node|proc|process|id|index)$|^(?:message|msg|num|total)(?=.)")
"""What may be written around a name: `src_rank`, `msg_size`."""
_UNIT = re.compile(r"(?:^|[^A-Za-z])([kKMGT]?i?(?:B|[Bb]ytes?)|[kmgt]ib)\W*$")


def rows_of(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, words) of every line that is neither empty nor a comment (`#`).

    The first line decides what separates words: a tab, a semicolon, a comma, else blanks.
    """
    separator = ""
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        separator = separator or separator_of(line)
        if separator == " ":
            yield number, line.split()
        else:
            words = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
            yield number, [*map(str.strip, words)]


def separator_of(line: str) -> str:
    """Return the separator of a line: a tab, a semicolon, a comma or a blank."""
    return next((letter for letter in "\t;," if letter in line.strip()), " ")


def columns_of(header: list[str]) -> tuple[list[str], int | None]:
    """Return the columns of a header, and the bytes of a unit in the name of the sizes.

    A name that is not known is its own column, in lower case: `msg size [KiB]` is `bytes` in units
    of 1024 bytes, `rank_A` is `source`.
    """
    columns, unit_bytes = [], None
    for name in header:
        unit = _UNIT.search(name)
        letters = re.sub(r"[^a-z]", "", (name[: unit.start()] if unit else name).lower())
        letters = letters.removesuffix("in") or ("bytes" if unit else "")
        column = _COLUMNS.get(letters) or _COLUMNS.get(_BESIDE.sub("", letters))
        columns.append(column or name.lower())
        if unit and column == "bytes":
            spelled = unit[1].replace("ib", "iB")
            unit_bytes = bytes_of_unit(
                spelled[0].upper() + spelled[1:] if "i" in spelled else spelled
            )
    unit_bytes = None if unit_bytes == 1 else unit_bytes
    return columns, unit_bytes


def bytes_of_unit(unit: str) -> int:
    """Return the bytes of a unit of sizes: `KiB` → 1024, `512` → 512.

    Raises:
        UsageError: an unknown unit, or none of at least 1 byte.
    """
    try:
        size = parse_size(unit if unit[:1].isdigit() else f"1{unit}", "unit")
    except UsageError as error:
        raise UsageError(error, options=["unit"]) from None
    if size < 1:
        raise UsageError(f"unit '{unit}': must be at least 1 B", options=["unit"])
    return size
