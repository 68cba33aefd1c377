"""Table 2: steps of the bounded-contention complete exchange, for every contention.

Not only divisors of n/4.
"""

from __future__ import annotations

import conset
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Cell, Claim, Item, Picture, Table, read_published

SIDES = (4, 8, 12, 16, 20, 24, 28, 32)
ABOUT = (
    "Complete exchange on mesh:NxN by method bounded at --contention c, compiled for every c up "
    "to n/4; phases counted "
    "in the schedules, beside the bound: messages that must cross the middle."
)
BELOW = (
    "method bounded on mesh:NxN; the lower bound counts messages that must cross the middle, n³/4c"
)
DEPARTURE = (
    "20x20 at c = 2: the text's rule covers divisors of n/4 = 5 only, yet the scan prints 1000 "
    "there; it is met"
)


def reproduce() -> Item:
    """Compiles every cell of the table, and those the text leaves blank.

    Counts phases beside the bound.
    """
    made = {(n, c): _phases(n, c) for n in SIDES for c in range(1, n // 4 + 1)}
    printed = {
        (int(row["n"]), int(row["contention"])): row
        for row in read_published("bokhari_nicol", "table_2")
    }
    cells = (
        Cell(f"{n}x{n}", f"c = {c}", float(row["steps"]), made[n, c][0])
        for (n, c), row in printed.items()
    )
    contentions = range(1, max(SIDES) // 4 + 1)
    rows = (
        (f"{n}x{n}", *(made[n, c][0] if (n, c) in made else None for c in contentions))
        for n in SIDES
    )
    blank = len(made) - len(printed)
    above = [
        f"{n}x{n} at c = {c}: {phases} against {bound}"
        for (n, c), (phases, bound) in made.items()
        if phases > bound
    ]
    claim = Claim(
        f"beyond the text: the {blank} blank entries, and all others, are at the lower bound",
        not above,
        "; ".join(above) or f"{len(made)} of {len(made)} at the bound",
    )
    steps = {at: float(row["steps"]) for at, row in printed.items()}
    picture = Picture(
        lambda: picture_charts(
            [_panel(made, steps)],
            title="Table 2: phases over contention",
            subtitle=BELOW,
            height=5.2,
        )
    )
    table = Table(
        "Completed: phases for every contention",
        ("mesh", *(f"c = {c}" for c in contentions)),
        tuple(rows),
    )
    return Item(
        "bokhari-nicol",
        "Table 2",
        "steps of the complete exchange at bounded contention",
        ABOUT,
        cells=tuple(cells),
        claims=(claim,),
        tolerance=0.0,
        tables=(table,),
        pictures=(picture,),
        departures=(DEPARTURE,),
        basis="computed",
    )


def _panel(
    made: dict[tuple[int, int], tuple[int, int]], printed: dict[tuple[int, int], float]
) -> Panel:
    """Marks of every side beside its bound, which is drawn between whole contentions too."""
    lines = []
    for k, n in enumerate(reversed(SIDES)):
        own = [c for side, c in made if side == n]
        between = [1 + (n / 4 - 1) * step / 40 for step in range(41)]
        lines += [
            Line("" if k else "lower bound", between, [n**3 / 4 / c for c in between], "bound"),
            Line(f"{n}x{n}", own, [made[n, c][0] for c in own], "points", len(SIDES) - 1 - k),
        ]
    lines.append(Line("printed", [c for _, c in printed], list(printed.values()), "rings"))
    contentions = range(1, max(SIDES) // 4 + 1)
    ticks = (contentions, [str(c) for c in contentions])
    return Panel("", "link contention c", "phases", lines, log_y=True, ticks=ticks)


def _phases(n: int, contention: int) -> tuple[int, int]:
    """(phases of the compiled schedule, bound under its own limits)."""
    schedule = conset.compile("alltoall", f"mesh:{n}x{n}", method="bounded", contention=contention)
    return schedule.phases, conset.bound(schedule).phases
