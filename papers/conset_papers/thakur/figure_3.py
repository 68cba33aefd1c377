"""Figure 3: 20 processors in a space of 32 numbers.

What shifting them changes, counted in the compiled schedules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.report.charts import Line, Panel, picture_charts
from conset.schedule.schedule import Schedule
from conset_papers.item import Cell, Claim, Item, Picture, Table
from conset_papers.thakur.exchange import contention, exchange
from conset_papers.thakur.times import NAMES, Mesh

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MESH: Mesh = (4, 5)
RANKS = 20
METHODS = ("pex-gen", "pex-gen-shift")
ABOUT = (
    "The example of section 3.3: complete exchange of 20 processors on delta:4x5 by methods "
    "pex-gen and pex-gen-shift. "
    "Steps, processors at work and messages on the busiest link are counted in the compiled "
    "schedules; the shift is "
    "read out of the schedule: the one number s for which x + s and y + s differ by XOR in the "
    "step's number, for all "
    "messages x → y."
)


def reproduce() -> Item:
    """Numbers of the example as cells, its sentences as assertions."""
    plain, shifted = (exchange(MESH, 1024, method) for method in METHODS)
    shift = _shift_of(shifted)
    cells = (
        Cell("PEX-GEN", "steps", 31, plain.phases),
        Cell("PEX-GEN-SHIFT", "steps", 31, shifted.phases),
        Cell("PEX-GEN-SHIFT", "virtual number of processor 0", 6, shift),
        Cell("PEX-GEN-SHIFT", "virtual number of processor 19", 25, RANKS - 1 + shift),
    )
    active = {
        method: active_processors(schedule)
        for method, schedule in zip(METHODS, (plain, shifted), strict=True)
    }
    claims = (_apart(plain), *_crowded(), _idle(shifted))
    return Item(
        "thakur",
        "Figure 3",
        "processor shift: 20 processors numbered 6 to 25",
        ABOUT,
        cells=cells,
        claims=claims,
        tolerance=0.0,
        tables=(_table(active),),
        pictures=(Picture(lambda: _draw(active)),),
        basis="computed",
    )


def _shift_of(schedule: Schedule) -> int:
    step = schedule.phase_of + 1
    shifts = [
        s
        for s in range(RANKS)
        if np.array_equal((schedule.source_node + s) ^ (schedule.target_node + s), step)
    ]
    return shifts[0] if shifts else -1


def active_processors(schedule: Schedule) -> NDArray[np.int64]:
    """shape=(steps): processors that send in each step."""
    return np.diff(schedule.phase_offsets)


def _apart(schedule: Schedule) -> Claim:
    """Who meets whom in the halves of PEX-GEN's steps."""
    first = schedule.phase_of < 15
    across = (schedule.source_node < 16) != (schedule.target_node < 16)
    strays = int(np.count_nonzero(across[first])), int(np.count_nonzero(~across[~first]))
    return Claim(
        "PEX-GEN: in the first 15 steps 0-15 and 16-19 exchange among themselves, in the next 16 "
        "with each other "
        "(section 3.3)",
        strays == (0, 0),
        f"{strays[0]} messages cross in steps 1-15, {strays[1]} do not in steps 16-31",
    )


def _crowded() -> tuple[Claim, Claim]:
    """Contention in the halves of PEX-GEN's steps."""
    load, shifted = (contention(method, MESH) for method in METHODS)
    contended = int(np.count_nonzero(load[15:] > 1))
    return (
        Claim(
            "the shift balances the contention among all steps (section 3.3): the means of both "
            "halves come closer",
            bool(
                abs(shifted[:15].mean() - shifted[15:].mean())
                < abs(load[:15].mean() - load[15:].mean())
            ),
            f"busiest link in steps 1-15 and 16-31: {load[:15].mean():.2f} and "
            f"{load[15:].mean():.2f} by PEX-GEN, "
            f"{shifted[:15].mean():.2f} and {shifted[15:].mean():.2f} by PEX-GEN-SHIFT",
        ),
        Claim(
            "PEX-GEN: very little or no link contention in steps 16 to 31 (section 3.3)",
            contended < 16 / 2,
            f"two or more share a link in {contended} of these 16 steps, in "
            f"{np.count_nonzero(load[:15] > 1)} of the "
            "first 15",
        ),
    )


def _idle(schedule: Schedule) -> Claim:
    """Active processors of both halves of virtual numbers in PEX-GEN-SHIFT's first 15 steps."""
    lower = schedule.source_node < RANKS // 2
    low, high = (
        np.bincount(schedule.phase_of[half], minlength=schedule.phases)[:15]
        for half in (lower, ~lower)
    )
    return Claim(
        "PEX-GEN-SHIFT: in the first 15 steps equally many processors are idle in both halves "
        "(section 3.3)",
        bool(np.array_equal(low, high)),
        f"equal in {int(np.count_nonzero(low == high))} of 15 steps",
    )


def _table(active: dict[str, NDArray[np.int64]]) -> Table:
    columns = (
        "step",
        *(f"{NAMES[m]}: {what}" for m in METHODS for what in ("active", "busiest link")),
    )
    series = [values.tolist() for m in METHODS for values in (active[m], contention(m, MESH))]
    rows = tuple((k + 1, *values) for k, values in enumerate(zip(*series, strict=True)))
    return Table("Steps: processors at work and messages on the busiest link", columns, rows)


def _draw(active: dict[str, NDArray[np.int64]]) -> Figure:

    panels = [
        Panel(
            f"{NAMES[m]}: {title}",
            "step",
            unit,
            [Line("", range(1, values.size + 1), values.tolist(), "steps")],
            y_limits=(0, 1.06 * max(map(max, series.values()))),
        )
        for title, unit, series in (
            ("processors at work", "processors", active),
            (
                "contention",
                "messages, busiest link",
                {m: contention(m, MESH) for m in METHODS},
            ),
        )
        for m, values in series.items()
    ]
    return picture_charts(
        panels,
        title="20 processors in a space of 32 numbers",
        height=2.7,
        subtitle="delta:4x5, counted in the compiled schedules",
    )
