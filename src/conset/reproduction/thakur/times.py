"""The printed times: mesh, size and algorithm of each of the 125 cells of Tables 2 to 6."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from conset.reproduction.item import rms
from conset.reproduction.published import read_published
from conset.units import format_size

Mesh = tuple[int, int]
"""Rows and columns."""

METHODS = {2: "pex", 3: "pex-gen", 4: "pex-gen-shift", 5: "gen", 6: "gen"}
"""Table of the text → the method whose times it holds."""
NAMES = {"pex": "PEX", "pex-gen": "PEX-GEN", "pex-gen-shift": "PEX-GEN-SHIFT", "gen": "GEN"}
"""Method → its name in the text."""
POWERS: tuple[Mesh, ...] = ((4, 4), (8, 8), (16, 8), (16, 16), (16, 32))
"""Meshes of Tables 2 and 5."""
OTHERS: tuple[Mesh, ...] = ((4, 5), (6, 8), (16, 9), (16, 14), (16, 30))
"""Meshes of Tables 3, 4 and 6."""
MESHES = POWERS + OTHERS
SIZES = (256, 1024, 4096, 8192, 16384)
"""Bytes of a message."""


@dataclass(frozen=True)
class Time:
    """One cell.

    Attributes:
        table: its number in the text.
        mesh: rows, columns.
        bytes: of each message [B].
        seconds: as printed [s].
    """

    table: int
    mesh: Mesh
    bytes: int
    seconds: float

    @property
    def method(self) -> str:
        """The algorithm, by its name here."""
        return METHODS[self.table]

    @property
    def ranks(self) -> int:
        """Processors, p in the text."""
        return self.mesh[0] * self.mesh[1]

    @property
    def label(self) -> str:
        """For people: `PEX on 8x8, 1 KiB`."""
        return f"{NAMES[self.method]} on {mesh_word(self.mesh)}, {format_size(self.bytes)}"


Seconds = Mapping[Time, float]
"""Printed cell → what a model says [s]."""


def mesh_word(mesh: Mesh) -> str:
    """`16x8`: rows and columns, as on the command line."""
    return f"{mesh[0]}x{mesh[1]}"


@lru_cache
def printed(*tables: int) -> tuple[Time, ...]:
    """The cells of some tables, of all without any: table by table, size by size, in the order of the text."""
    rows = read_published("thakur", "tables_2_to_6")
    times = (Time(int(row["table"]), _mesh(row["mesh"]), int(row["bytes"]), float(row["seconds"])) for row in rows)
    return tuple(time for time in times if not tables or time.table in tables)


def _mesh(word: str) -> Mesh:
    rows, columns = word.split("x")
    return int(rows), int(columns)


def pairs(first: int, second: int) -> list[tuple[Time, Time]]:
    """Cells of two tables with the same mesh and size."""
    others = {(time.mesh, time.bytes): time for time in printed(second)}
    return [(time, others[time.mesh, time.bytes]) for time in printed(first)]


def error(time: Time, ours: Seconds) -> float:
    """Relative, ours / printed − 1."""
    return ours[time] / time.seconds - 1


def rms_error(times: Iterable[Time], ours: Seconds) -> float:
    """Root of the mean square of the errors."""
    return rms([error(time, ours) for time in times])


def mean_error(times: Iterable[Time], ours: Seconds) -> float:
    """Mean of the errors, sign kept."""
    errors = [error(time, ours) for time in times]
    return sum(errors) / len(errors)


def grouped(times: Iterable[Time], by: Callable[[Time], int]) -> dict[int, list[Time]]:
    """Cells that share a number (processors, bytes, table), the numbers rising."""
    groups: dict[int, list[Time]] = {}
    for time in sorted(times, key=by):
        groups.setdefault(by(time), []).append(time)
    return groups


def worst(times: Iterable[Time], ours: Seconds, count: int) -> list[Time]:
    """The cells that are furthest off, the furthest first."""
    return sorted(times, key=lambda time: -abs(error(time, ours)))[:count]
