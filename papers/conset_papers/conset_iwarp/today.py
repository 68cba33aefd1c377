"""Today's compiles of the basic patterns, beside the text's.

Predicted, interleaved, and one transfer after the other.

The text's router needs 30 phases for the complete exchange and its ports and links are unevenly
loaded. ΣL is the sum over phases of the largest load at any port or link; interleaved word by word
a schedule takes 528 clocks a phase and 2 · words · ΣL. One transfer after the other, the order of a
cell's list decides: slots without contention (closed form, orbits) are listed slot by slot, the
others in the order of an event list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import conset
from conset.schedule.loads import figures
from conset.schedule.schedule import Schedule
from conset_papers.conset_iwarp.basic import ALL_TO_ALL, BASICS, SIZES, pattern_of
from conset_papers.conset_iwarp.columns import connections, published
from conset_papers.conset_iwarp.machine import (
    CELLS,
    CONNECTIONS,
    WORD_B,
    bandwidth,
    clocks,
    machine,
)
from conset_papers.item import Claim, Item, Picture, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULA = "hop=0,per_transfer=0"
"""The text's formula has no latency."""
EXECUTIONS = {"interleaved": "all", "one in flight": "1"}
ABOUT = (
    "Complete exchange on iwarp:8x8, 12 channels, method connections by three of its routers; "
    "predicted by formula, "
    "simulated by flow under sync barrier (528 clocks a phase, 104 a transfer, 4 a hop), all "
    "connections of a phase "
    "interleaved or one transfer in flight and one received at a cell. The text's rows: measured, "
    "and simulated with "
    "the schedules by hand of Table 3. Clocks of 50 ns."
)


@dataclass(frozen=True)
class Made:
    """How a schedule is compiled today.

    Attributes:
        router: of method connections; empty: the best of all.
        objective: `time` or `phases`.
        lists: timetable that orders lists where transfers go one after the other; empty: the
            schedule's own order.
    """

    router: str = ""
    objective: str = "time"
    lists: str = ""


ORBITS = Made("orbits", "phases")
NEGOTIATED = Made("negotiated", "phases", "event-list")
CLOSED_FORM = Made("closed-form")
BEST = Made(lists="event-list")


def made_for(table: int) -> tuple[Made, ...]:
    """What is compiled for a table."""
    return (ORBITS, NEGOTIATED, CLOSED_FORM) if BASICS[table - 1] is ALL_TO_ALL else (BEST,)


@lru_cache(maxsize=128)
def compiled(table: int, words: int, made: Made, lists: bool = False) -> Schedule:
    """The schedule; with its lists where transfers go one after the other."""
    which, on = BASICS[table - 1], machine(CONNECTIONS)
    return conset.compile(
        pattern_of(which, words, on),
        on,
        method="connections",
        placement=which.placement,
        router=made.router or None,
        objective=made.objective,
        timetable=made.lists if lists and made.lists else None,
        sync="barrier",
    )


@lru_cache(maxsize=256)
def predicted(table: int, words: int, made: Made, costs: str = FORMULA) -> float:
    """By formula with some costs changed [clocks].

    Interleaved, and without latency where none are given.
    """
    return clocks(
        conset.predict(
            compiled(table, words, made), machine=machine(CONNECTIONS, costs), by="formula"
        ).time_s
    )


@lru_cache(maxsize=256)
def simulated(table: int, words: int, made: Made, execution: str) -> float:
    """By `flow` [clocks]; `execution` is a key of `EXECUTIONS`."""
    count = EXECUTIONS[execution]
    schedule = compiled(table, words, made, lists=count == "1")
    return clocks(conset.simulate(schedule, in_flight=count, receives=count).time_s)


def describe_schedule(table: int, made: Made) -> str:
    """`27 phases, ΣL 79: orbits`."""
    found = figures(compiled(table, SIZES[-1], made))
    plural = "s" if found["phases"] != 1 else ""
    return (
        f"{found['phases']} phase{plural}, ΣL {found['load']['sum']}: "
        f"{made.router or 'connections'}"
    )


def today_table(table: int) -> Table:
    """Times of the text and of today.

    A row for each schedule and execution, a column for each size.
    """
    printed = published(table)
    rows: list[tuple[str | float, ...]] = [
        ("the text's", "measured", *(printed[words]["conset_measured"] for words in SIZES)),
        (
            "the text's by hand, simulated",
            "one in flight",
            *(connections(table, words) for words in SIZES),
        ),
    ]
    for made in made_for(table):
        name = describe_schedule(table, made)
        rows.append((name, "predicted", *(predicted(table, words, made) for words in SIZES)))
        rows += [
            (name, execution, *(simulated(table, words, made, execution) for words in SIZES))
            for execution in EXECUTIONS
        ]
    columns = ("schedule", "execution", *(f"{words:,} words" for words in SIZES))
    return Table("Compiled today: clocks, beside the text's", columns, tuple(rows))


def reproduce() -> Item:
    """The complete exchange compiled today: at its bounds, and how much that saves."""
    return Item(
        "conset",
        "Schedules of today",
        "complete exchange compiled today, beside the text's 30 phases",
        ABOUT,
        claims=(_fewest(), _least_sum(ORBITS), _least_sum(CLOSED_FORM), _faster(), _ratio()),
        tables=(today_table(3),),
        pictures=(Picture(_picture),),
        basis="computed",
    )


def _fewest() -> Claim:
    schedule = compiled(3, SIZES[-1], ORBITS)
    bound = conset.bound(schedule).phases
    figures_words = f"{schedule.phases} phases, bound {bound}, the text 30"
    what = "fewest phases of 12 channels that there can be"
    return Claim(what, schedule.phases == bound, figures_words, asserted=False)


def _least_sum(made: Made) -> Claim:
    schedule = compiled(3, SIZES[-1], made)
    total, bound = figures(schedule)["load"]["sum"], conset.bound(schedule).load_sum
    what = f"least ΣL that {schedule.phases} phases can have: {made.router}"
    return Claim(what, total == bound, f"ΣL {total}, bound {bound}", asserted=False)


def _faster() -> Claim:
    ratios = [
        published(3)[words]["conset_measured"]
        / min(
            simulated(3, words, made, execution) for made in made_for(3) for execution in EXECUTIONS
        )
        for words in SIZES
    ]
    shown = ", ".join(f"{ratio:.1f}×" for ratio in ratios)
    what = "the best of today's is faster than the text's measured at all four sizes"
    return Claim(what, min(ratios) > 1, shown, asserted=False)


def _ratio() -> Claim:
    words = SIZES[-1]
    time = simulated(3, words, CLOSED_FORM, "interleaved")
    measured = published(3)[words]["conset_measured"]
    rate = bandwidth(CELLS * (CELLS - 1) * words * WORD_B, time)
    said = (
        f"{measured:,.0f} measured, {time:,.0f} simulated interleaved: {measured / time:.1f} "
        "times less, "
        f"{rate:,.0f} MB/s in all; {predicted(3, words, CLOSED_FORM):,.0f} by formula"
    )
    what = "at 16,384 words less than a quarter of the text's measured time"
    return Claim(what, 4 * time < measured, said, asserted=False)


def _picture() -> Figure:
    from conset_papers.pictures.lines import Line, Panel, picture_lines

    def rates(times: list[float]) -> list[float]:
        return [
            bandwidth(CELLS * (CELLS - 1) * words * WORD_B, time)
            for words, time in zip(SIZES, times, strict=True)
        ]

    theirs = [published(3)[words]["conset_measured"] for words in SIZES]
    lines = [
        Line("the text's, measured", SIZES, rates(theirs), "points", 0),
        Line(
            "the text's, simulated",
            SIZES,
            rates([connections(3, words) for words in SIZES]),
            "curve",
            0,
        ),
    ]
    for colour, made in enumerate(made_for(3), 1):
        for execution, kind in zip(EXECUTIONS, ("curve", "dashed"), strict=True):
            times = [simulated(3, words, made, execution) for words in SIZES]
            lines.append(
                Line(
                    f"{describe_schedule(3, made)}, {execution}", SIZES, rates(times), kind, colour
                )
            )
    limit = bandwidth(CELLS * (CELLS - 1) * WORD_B, 2 * _least_load())
    lines.append(Line("what the links allow", (SIZES[0], SIZES[-1]), (limit, limit), "bound"))
    panel = Panel(
        "",
        "words of a message",
        "aggregate bandwidth [MB/s]",
        lines,
        log_x=2,
        ticks=(SIZES, [f"{words:,}" for words in SIZES]),
        legend="outside",
    )
    return picture_lines(
        [panel],
        title="Complete exchange on a 64 cell iWarp: the text's schedule and today's",
        width=10.0,
        height=4.2,
        subtitle=(
            "flow, sync barrier, 528 clocks a phase and 104 a transfer; ΣL: sum of the phases' "
            "largest loads"
        ),
    )


def _least_load() -> float:
    """ΣL of any schedule: what the busiest link carries at least."""
    return float(conset.bound(compiled(3, SIZES[-1], CLOSED_FORM)).load_sum)
