"""The 125 printed times of Tables 2 to 6, and how far a model is from them.

By mesh, size and algorithm.

The difference in words: the furthest cells, means by table, sentences that do not hold; and as a
picture, by number of processors and by size of message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Claim, read_published, rms

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
SHOWN = {
    16: "16",
    20: "",
    48: "48",
    64: "",
    128: "128",
    144: "",
    224: "",
    256: "256",
    480: "",
    512: "512",
}
"""Ticks of the axis of processors; neighbours of the same label would overlap."""


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
    """The cells of some tables, of all without any.

    Table by table, size by size, in the order of the text.
    """
    rows = read_published("thakur", "tables_2_to_6")
    times = (
        Time(int(row["table"]), _mesh(row["mesh"]), int(row["bytes"]), float(row["seconds"]))
        for row in rows
    )
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


def reported(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Claims that do not hold and are not asserted.

    The text contradicts itself there, or nobody demands them.
    """
    return tuple(
        f"{c.statement}: {c.verdict}: {c.figures}" for c in claims if not (c.asserted or c.holds)
    )


def describe_worst(times: Iterable[Time], ours: Seconds, count: int = 5) -> str:
    """`PEX on 8x8, 1 KiB −41 % (0.064 s printed), …`."""
    return "; ".join(
        f"{time.label} {error(time, ours):+.0%} ({time.seconds:g} s printed)"
        for time in worst(times, ours, count)
    )


def by_table(ours: Seconds) -> str:
    """Mean error of each table's cells."""
    return ", ".join(
        f"{NAMES[METHODS[table]]} (Table {table}) {mean_error(printed(table), ours):+.1%}"
        for table in METHODS
    )


def draw_errors(
    ours: Seconds, others: Mapping[str, Seconds], *, title: str, subtitle: str
) -> Figure:
    """Cells of `ours` as points by processors, means of it and of `others` as lines.

    Rms by size beside.

    Args:
        ours: the model the picture is about.
        others: name → models beside it, the name of `ours` first.
        title: of the picture.
        subtitle: a quieter second line.
    """
    return picture_charts(
        [_by_processors(ours, others), _by_size(others)], title=title, subtitle=subtitle
    )


def _by_processors(ours: Seconds, others: Mapping[str, Seconds]) -> Panel:

    groups = grouped(printed(), lambda time: time.ranks)
    cells = Line(
        "its 125 cells",
        [t.ranks for t in printed()],
        [100 * error(t, ours) for t in printed()],
        "points",
        0,
    )
    level = Line("", [min(groups), max(groups)], [0, 0], kind="quiet")
    means = _series(groups, others, mean_error)
    ticks = (list(groups), [SHOWN[ranks] for ranks in groups])
    return Panel(
        "error by machine size",
        "processors",
        "%",
        [*means, level, cells],
        2,
        False,
        ticks,
        (-50, 90),
    )


def _by_size(others: Mapping[str, Seconds]) -> Panel:

    groups = grouped(printed(), lambda time: time.bytes)
    ticks = (list(groups), [format_size(size) for size in groups])
    lines = _series(groups, others, rms_error)
    return Panel("rms error by message size", "message size", "%", lines, 2, False, ticks, (0, 45))


def _series(
    groups: Mapping[int, list[Time]],
    others: Mapping[str, Seconds],
    of: Callable[[list[Time], Seconds], float],
) -> list[Line]:

    return [
        Line(name, list(groups), [100 * of(times, values) for times in groups.values()], colour=k)
        for k, (name, values) in enumerate(others.items())
    ]
