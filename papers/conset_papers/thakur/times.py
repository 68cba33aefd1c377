"""The 125 printed times of Tables 2 to 6, the exchanges behind them, and folds of machine sizes.

The 125 printed times of Tables 2 to 6, and how far a model is from them.

By mesh, size and algorithm.

The difference in words: the furthest cells, means by table, sentences that do not hold; and as a
picture, by number of processors and by size of message.

The complete exchange on the Delta: compiled, its contention counted, predicted, simulated.

Folds: machine sizes to fit on and machine sizes to judge on.

And what the Delta's parameters are fitted to on each.

Every table of the text has five meshes, by growing number of processors: its columns 1 to 5. A fold
fits on three of them, in all five tables, and is judged on the other two. The words of the
simulation for a fold are found by `benchmarks/fit_delta.py`, which simulates some hundred settings;
it writes `fitted/delta.csv`, read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

import conset
from conset.base import Ints32, format_size
from conset.machine import Machine, with_settings
from conset.report import Line, Panel, picture_charts
from conset.schedule import Schedule, phase_loads
from conset_papers.item import Claim, read_published, read_rows, rms
from conset_papers.parallel import on_threads

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


MODEL = "wormhole"
SYNC = "local"
"""The text's programs (Figures 1, 2, 4, 5) have no barrier: a processor ends its own step first."""
EXECUTED = f"simulated by {MODEL}, sync {SYNC}, 1 in flight"


def delta(mesh: Mesh, settings: str = "") -> Machine:
    """The machine, with costs changed by words of `--set`."""
    return with_settings(conset.load_machine(f"delta:{mesh_word(mesh)}"), settings)


def exchange(mesh: Mesh, size: int, method: str, settings: str = "", **options: Any) -> Schedule:
    """The complete exchange of messages of `size` bytes, compiled.

    `options` as in `conset.compile`.
    """
    words = f"alltoall:size={size}"
    found: Schedule = conset.compile(
        words, delta(mesh, settings), method=method, sync=SYNC, **options
    )
    return found


@lru_cache
def contention(method: str, mesh: Mesh) -> Ints32:
    """Messages on the busiest link of every step, counted in the compiled schedule.

    shape=(steps).
    """
    return phase_loads(exchange(mesh, 1, method)).link.astype(np.int32)


def simulate_times(times: Sequence[Time], settings: str = "", sync: str = SYNC) -> Seconds:
    """Every cell simulated by itself: no time is scaled from another."""

    def seconds(time: Time) -> float:
        schedule = exchange(time.mesh, time.bytes, time.method, settings)
        return conset.simulate(schedule, model=MODEL, sync=sync).time_s

    return dict(zip(times, on_threads(seconds, times, cost=lambda time: time.ranks), strict=True))


@lru_cache
def simulated_table(table: int) -> Seconds:
    """The cells of one table of the text, with the preset as it is."""
    return simulate_times(printed(table))


def simulated() -> Seconds:
    """All 125 cells."""
    return {time: seconds for table in METHODS for time, seconds in simulated_table(table).items()}


@lru_cache
def predicted_table(table: int) -> Seconds:
    """The cells of one table by conset's own formula for policy `local`.

    Which counts every link, and the preset.
    """
    return {
        time: conset.predict(exchange(time.mesh, time.bytes, time.method)).time_s
        for time in printed(table)
    }


def predicted() -> Seconds:
    """All 125 cells by that formula."""
    return {time: seconds for table in METHODS for time, seconds in predicted_table(table).items()}


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
    rows = read_rows("thakur", "fitted", "delta.csv")
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
