"""Figures 6 to 9: communication cost over message size, 16 B to 128 KiB, one density each.

Today's schedules beside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.wang_ranka.borders import NAMES, gain, winners
from conset_papers.wang_ranka.times import (
    AC,
    AC_RANDOM,
    SEEDS,
    SIZES,
    TEXT,
    TODAY,
    Times,
    fact,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DENSITY = {6: 4, 7: 8, 8: 16, 9: 32}
"""Figure → d, as its caption says; Figure 7's is not in the scan and presumed."""
MARKS_MS = {6: 300, 9: 2000}
"""Figure → distance of the marks of its time axis, where the scan has them."""
ALLOWED = 1.1
"""Times may pass the end of the axis by this factor."""
ABOUT = (
    "random:degree={d}, regular both ways, size from 16 B to 128 KiB, on ipsc860:64, mean of "
    "{seeds} drawings "
    "simulated by circuit. Sync: ready (S1) for LP and RS_NL, none (S2) for AC and RS_N; 1 send "
    "and 1 receive in "
    "flight. The machine's overheads, hops and rates are not in the text but commonly reported "
    "ones, none tuned "
    "here (`conset show ipsc860:64`). AC sends to ascending targets; in random order it is "
    "shown beside. "
    "half-duplex and negotiated are this compiler's."
)


def reproduce(figure: int, seeds: int = SEEDS) -> Item:
    """Simulates all sizes of one density.

    Args:
        figure: 6 to 9.
        seeds: drawings.
    """
    degree = DENSITY[figure]
    times = simulated((*TEXT, AC_RANDOM, *TODAY), (degree,), seeds=seeds)
    return Item(
        "wang-ranka",
        f"Figure {figure}",
        f"communication cost over message size, d = {degree}",
        ABOUT.format(d=degree, seeds=seeds),
        claims=_claims(times, figure),
        tables=(_table(times, degree),),
        pictures=(Picture(lambda: _draw(times, figure)),),
        departures=_departures(figure),
        basis="computed",
    )


def _departures(figure: int) -> tuple[str, ...]:
    scan = "the scan has the axes and their marks, not the curves"
    if figure == 7:
        scan = (
            "Figure 7 is not in the scan; between d = 4 of Figure 6 and d = 16 of Figure 8 it is "
            "presumably d = 8"
        )
    elif figure not in MARKS_MS:
        scan = "the scan has the caption alone, neither axes nor curves"
    return (scan,)


def _claims(times: Times, figure: int) -> tuple[Claim, ...]:
    degree = DENSITY[figure]
    claims = list(_axis_claims(times, figure))
    names = winners(times, degree)
    claims.append(
        Claim(
            "result 1: AC is fastest for the smallest messages",
            names[0] == AC.name,
            f"16 B: {_ranking(times, degree, 0)}",
        )
    )
    last = "LP" if degree >= 32 else "RS_NL"
    claims.append(
        Claim(
            f"result {2 if last == 'LP' else 3}: {last} is fastest for the largest messages",
            names[-1] == last,
            f"128 KiB: {_ranking(times, degree, -1)}",
        )
    )
    best = {
        name: gain(times, degree, -1, name, (name, *NAMES)) for name in (one.name for one in TODAY)
    }
    today = max(best, key=lambda name: best[name])
    claims.append(
        Claim(
            f"beyond the text: {today} is faster than all four at 128 KiB",
            best[today] > 0,
            f"{times[today, degree][-1] * 1e3:.0f} ms; the best of the four takes "
            f"{100 * best[today]:.0f} % longer",
            asserted=False,
        )
    )
    return tuple(claims)


def _axis_claims(times: Times, figure: int) -> tuple[Claim, ...]:
    """What the ends of the axes say."""
    if figure not in MARKS_MS:
        return ()
    degree = DENSITY[figure]
    end, mark = fact("axis_end", degree), MARKS_MS[figure]
    largest = {name: times[name, degree][-1] * 1e3 for name in (*NAMES, AC_RANDOM.name)}
    figures = ", ".join(f"{name} {ms:.0f} ms" for name, ms in largest.items())
    most = max(largest[name] for name in NAMES)
    other = max(largest[AC_RANDOM.name], *(largest[name] for name in NAMES if name != AC.name))
    return (
        Claim(
            f"the largest time at 128 KiB is at most {end:.0f} ms, the end of the axis, + 10 %",
            most <= end * ALLOWED,
            figures,
        ),
        Claim(
            "beside: the axis ends at the next mark above the largest time, so that is above "
            f"{end - mark:.0f} ms",
            end - mark < most <= end,
            f"{most:.0f} ms; with AC in random order {other:.0f} ms",
            asserted=False,
        ),
    )


def _ranking(times: Times, degree: int, k: int) -> str:
    order = sorted(NAMES, key=lambda name: times[name, degree][k])
    return ", ".join(f"{name} {times[name, degree][k] * 1e3:.4g}" for name in order) + " ms"


def _table(times: Times, degree: int) -> Table:
    names = tuple(name for name, _ in times)
    rows: list[tuple[Value, ...]] = [
        (size, *(times[name, degree][k] * 1e3 for name in names), winners(times, degree)[k])
        for k, size in enumerate(SIZES)
    ]
    return Table(
        "Times: simulated by circuit [ms]", ("size [B]", *names, "fastest of the four"), tuple(rows)
    )


def _draw(times: Times, figure: int) -> Figure:
    degree = DENSITY[figure]
    shown = [*NAMES, *(one.name for one in TODAY)]
    plain = [Line(name, SIZES, [t * 1e3 for t in times[name, degree]]) for name in shown]
    plain.append(
        Line(AC_RANDOM.name, SIZES, [t * 1e3 for t in times[AC_RANDOM.name, degree]], "quiet")
    )
    best = [min(times[name, degree][k] for name in NAMES) for k in range(len(SIZES))]
    ratios = [
        Line(name, SIZES, [t / b for t, b in zip(times[name, degree], best, strict=True)])
        for name in shown
    ]
    ratios.append(Line("", (SIZES[0], SIZES[-1]), (1, 1), "quiet"))
    end = (
        max(fact("axis_end", degree), *(line.y[-1] for line in plain)) * 1.04
        if figure in MARKS_MS
        else None
    )
    quarters = tuple(k * SIZES[-1] // 4 for k in range(5))
    few = SIZES[::3]
    return picture_charts(
        [
            Panel(
                "On the text's axes" if figure in MARKS_MS else "Linear axes",
                "message size [B]",
                "time [ms]",
                plain,
                ticks=(quarters, [f"{at}" for at in quarters]),
                y_limits=(0, end),
            ),
            Panel(
                "Beside the fastest of the text's four",
                "message size [B]",
                "time / least time of the four",
                ratios,
                log_x=2,
                ticks=(few, [format_size(size) for size in few]),
                y_limits=(0.5, max(2.5, min(5.5, 1.05 * max(max(line.y) for line in ratios)))),
            ),
        ],
        title=f"Communication cost, d = {degree}, 64 nodes of an iPSC/860",
        subtitle=(
            "simulated by circuit; S1 = ready, S2 = none; AC and RS_N S2, LP and RS_NL S1; "
            "mean of drawings"
        ),
        height=4.4,
    )
