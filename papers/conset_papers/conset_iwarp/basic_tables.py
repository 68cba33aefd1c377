"""Tables 1 to 3 with Figures 2 to 4, and the surface router.

Tables 1 to 3: times of torus, butterfly and complete exchange by connections and by messages,
predicted and measured. The cells compare the schedules that the paper describes, made by hand; the
compiler's own are in tables beside them.

Figures 2 to 4: aggregate bandwidth over the size of messages. The scans hold no numbers: the
measured points are those of Tables 1 to 3 and are counted there.

The surface router: the complete exchange without the links that close the rings (section 5.1.3).
The paper's transfer rates were approximately half of the torus router's, as the bisection is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

import conset
from conset.report import Line, Panel, picture_charts
from conset.schedule import Schedule, phase_loads
from conset_papers.conset_iwarp.columns import (
    ACCURATE,
    ALL_TO_ALL,
    BUTTERFLY,
    COMPILED,
    IN_FLIGHT,
    INTERLEAVED,
    LAW,
    MAIN,
    PRINTED_PHASES,
    RELISTED,
    ROUTER_SEEDS,
    SIZES,
    TORUS,
    Basic,
    Setting,
    basic,
    best_in_flight,
    connections,
    messages,
    pattern_of,
    predicted_connections,
    predicted_messages,
    published,
    schedule_of,
    seeds_of,
    settings_beside,
)
from conset_papers.conset_iwarp.machine import (
    CELLS,
    CONNECTIONS,
    MESSAGES,
    MHZ,
    WORD_B,
    bandwidth,
    clocks,
    machine,
)
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETUP, WORD_CLOCKS = 528, 2
"""Clocks of a phase and of a word at a port, section 4.2.1."""
TIMES_ABOUT = (
    "{name} on iwarp:8x8 with 12 channels, schedules by hand: {hand}. Predicted: by formula, 520 "
    "clocks a phase, 2 a word at a phase's busiest port, links free; messages 400 + 400 clocks "
    "each. Measured ConSet: model flow, sync barrier, one transfer in flight and one received at a "
    "cell in list order, 528 clocks a phase and 352 more, the paper's figure for a "
    "synchronization, 4 a transfer and 4 a hop. Measured message passing: model wormhole, no sync, "
    "tie=checker, three pools of one lane, {count} in flight, the best number for the other two "
    "tables. Clocks of 50 ns."
)
WHY = (
    "Tolerances: predicted cells are exact, as formulas are; measured cells have 15 %, as far as "
    "the paper's own predictions of Table 6 are from its measurements, which it calls fairly "
    "accurate; phases have 10 %, as the order in which the paper's router takes connections is not "
    "printed: other orders take 28 to 34 phases."
)
FITTED = "Table 1 at 32 words"
BY_HAND = {
    1: "routes and lists in dimension order, one phase",
    2: "ranks by Gray code, routes and lists in dimension order, x in one phase and y in the other",
    3: "30 phases of whole translations where it is predicted; where it is simulated the "
    "sequential router given 30 "
    "phases and a random order, lists by AS (mean of 5 seeds); messages in random "
    "order (mean of 20)",
}
SLIPS = {
    (1, 2048): "5 above the formula 520 · phases + 2 · words · transfers, a slip of the text",
    (2, 16384): "the formula with 16,348 words for 16,384, a slip of the text",
    (3, 32): "1 below the formula 520 · phases + 2 · words · transfers, a slip of the text",
    (3, 16384): "the formula with 16,348 words for 16,384, a slip of the text",
}
"""(table, words) → why the printed prediction is not that of the schedule by hand to the clock."""
NOTE_520 = (
    "Predicted ConSet: 520 clocks a phase, read from Table 1 at 32 words, although section 4.2.1 "
    "has 352 + 176 = 528"
)
NOTE_LAW = (
    "Measured ConSet: 352 clocks more a phase are a number of section 4.2.1, 4 a transfer are "
    "fitted to Table 1 at 32 words; the form was chosen with all twelve cells in sight. The preset "
    "has 104 a transfer instead, fitted to all twelve, and is not judged on them (table Settings); "
    "Table 6 has both beside measurements that neither was fitted to"
)
NOTES_3 = (
    "Predicted message passing counts 64 messages a cell, the one to itself included",
    "Predicted ConSet has 63 transfers a port, as if all phases were balanced, where section 5.1.4 "
    "has the model account for phases that are not; no schedule reaches it, as links need a ΣL "
    "of 64 at least. The predicted cells are those of whole translations, the measured ones those "
    "of the sequential router with lists by AS, which the paper's machine ran",
)
EXECUTIONS = {"one transfer after the other": "1", "interleaved": INTERLEAVED}
"""Name → transfers in flight at a cell."""


def table_basic(table: int) -> Item:
    """One of the three tables."""
    which = basic(table)
    about = TIMES_ABOUT.format(
        name=which.name.capitalize(), hand=BY_HAND[table], count=best_in_flight(table)
    )
    return Item(
        "conset",
        f"Table {table}",
        f"{which.name}: times of connections and of message passing",
        about,
        cells=(
            *_phase_cells(table),
            *(cell for words in SIZES for cell in _times_cells(table, words)),
        ),
        claims=(*(_mappings() if which is BUTTERFLY else ()), _ranking(table)),
        why=WHY,
        tables=(_executions(table), _units(table), _rows_beside(which)),
        departures=(
            *_times_departures(table),
            NOTE_520,
            NOTE_LAW,
            *(NOTES_3 if which is ALL_TO_ALL else ()),
        ),
        pictures=(Picture(partial(_times_picture, table)),),
        basis="computed",
    )


def _phase_cells(table: int) -> list[Cell]:
    if table not in PRINTED_PHASES:
        return []
    which, printed = basic(table), PRINTED_PHASES[table]
    routed = np.mean([schedule_of(which, 1, COMPILED, seed).phases for seed in range(ROUTER_SEEDS)])
    return [Cell("phases", "router sequential", printed, float(routed), 0.1)]


def _times_cells(table: int, words: int) -> list[Cell]:
    row, printed = f"{words:,} words", published(table)[words]
    first = (table, words) == (TORUS.table, SIZES[0])
    slip = SLIPS.get((table, words), "")
    itself = "64 messages a cell are read from this cell" if (table, words) == (3, 32) else ""
    return [
        Cell(
            *(row, "ConSet predicted", printed["conset_predicted"]),
            predicted_connections(table, words),
            aside="520 clocks a phase are read from this cell" if first else slip,
        ),
        Cell(
            *(row, "ConSet measured", printed["conset_measured"]),
            connections(table, words, LAW),
            ACCURATE,
            aside="4 clocks a transfer are fitted to this cell" if first else "",
        ),
        Cell(
            *(row, "MsgPass predicted", printed["msgpass_predicted"]),
            predicted_messages(table, words),
            aside=itself,
        ),
        Cell(
            *(row, "MsgPass measured", printed["msgpass_measured"]),
            messages(table, words, best_in_flight(table)),
            ACCURATE,
        ),
    ]


def _ranking(table: int) -> Claim:
    """At the largest size, where the paper measured connections 1 to 12 % ahead."""
    words, row = SIZES[-1], published(table)[SIZES[-1]]
    passed = messages(table, words, best_in_flight(table))
    by_hand, routed = (passed / connections(table, words, way) for way in (LAW, COMPILED))
    return Claim(
        "connections are faster than message passing at 16,384 words, as measured",
        by_hand > 1,
        f"time of message passing over that of connections, simulated: by hand {by_hand:.3f}, "
        f"router sequential {routed:.3f}; measured "
        f"{row['msgpass_measured'] / row['conset_measured']:.3f}",
    )


def _mappings() -> tuple[Claim, ...]:
    """Section 5.1.2: how many phases the butterfly takes."""
    pattern, on = pattern_of(BUTTERFLY, SIZES[0], machine(CONNECTIONS)), machine(CONNECTIONS)
    loads = {
        channels: phase_loads(
            conset.compile(
                pattern,
                on,
                method="connections",
                placement=BUTTERFLY.placement,
                objective="phases",
                channels=channels,
            )
        ).channels.tolist()
        for channels in (16, 12, 8)
    }
    shown = "; ".join(f"{channels} channels: {load}" for channels, load in loads.items())
    return (
        Claim(
            "a single phase with 16 logical channels, two with 12 (§5.1.2)",
            (len(loads[16]), len(loads[12])) == (1, 2),
            f"channels of the busiest cell in each phase: {shown}",
        ),
        Claim(
            "the two phases with 12 channels use 8 each (§5.1.2)",
            loads[12] == [8, 8],
            f"{loads[12]} by the default router; {loads[8]} by hand in dimension order, and where "
            "the limit is 8",
        ),
    )


def _timed(table: int) -> dict[str, dict[str, list[float]]]:
    """Schedule → execution → clocks at each of `SIZES`."""

    def routed(setting: Setting) -> dict[str, list[float]]:
        ways = {name: replace(setting, in_flight=count) for name, count in EXECUTIONS.items()}
        return {
            name: [connections(table, words, way) for words in SIZES] for name, way in ways.items()
        }

    return {"router sequential": routed(COMPILED), "by hand": routed(LAW)}


def _executions(table: int) -> Table:
    measured = [published(table)[words]["conset_measured"] for words in SIZES]
    rows: list[tuple[Value, ...]] = [
        ("the text's", "measured", *(f"{time:,.0f}" for time in measured))
    ]
    for schedule, ways in _timed(table).items():
        for execution, times in ways.items():
            shown = (
                f"{ours:,.0f} ({ours / theirs - 1:+.1%})"
                for ours, theirs in zip(times, measured, strict=True)
            )
            rows.append((schedule, execution, *shown))
    columns = ("schedule", "execution", *(f"{words:,} words" for words in SIZES))
    return Table(
        "Interleaved: connections of a phase at once or in turn, clocks and error",
        columns,
        tuple(rows),
    )


def _units(table: int) -> Table:
    """At the largest size, why the executions differ.

    What ports and links must carry, in transfers.
    """
    which, words = basic(table), SIZES[-1]
    schedules: dict[str, Sequence[Schedule]] = {
        "router sequential": [
            schedule_of(which, words, COMPILED, seed) for seed in range(ROUTER_SEEDS)
        ],
        "by hand": [schedule_of(which, words, LAW, seed) for seed in range(seeds_of(which, LAW))],
    }
    rows: list[tuple[Value, ...]] = []
    for name, ways in _timed(table).items():
        loads = [phase_loads(schedule) for schedule in schedules[name]]
        phases = float(np.mean([schedule.phases for schedule in schedules[name]]))
        port = float(np.mean([np.maximum(load.send, load.receive).sum() for load in loads]))
        link = float(np.mean([load.link.sum() for load in loads]))
        taken = [_transfers(times[-1], phases) for times in ways.values()]
        rows.append((name, phases, port, link, taken[1], taken[0]))
    printed = published(table)[words]["conset_measured"]
    rows.append(
        (
            "the text's, measured",
            PRINTED_PHASES.get(table, 1),
            None,
            None,
            None,
            _transfers(printed, PRINTED_PHASES.get(table, 1)),
        )
    )
    columns = (
        "schedule",
        "phases",
        "busiest port",
        "busiest link",
        "interleaved",
        "one after the other",
    )
    return Table(
        "Units: transfers of 16,384 words that the time is worth, phases' 528 clocks left out",
        columns,
        tuple(rows),
    )


def _transfers(time: float, phases: float) -> float:
    return round((time - SETUP * phases) / (WORD_CLOCKS * SIZES[-1]), 2)


def _times_departures(table: int) -> tuple[str, ...]:
    measured = [published(table)[words]["conset_measured"] for words in SIZES]
    errors = {
        name: ", ".join(
            f"{100 * (time / theirs - 1):+.1f}"
            for time, theirs in zip(times, measured, strict=True)
        )
        for name, times in _timed(table)["by hand"].items()
    }
    why = (
        "a port that waits for a link shared elsewhere stands still where its other connections "
        "could fill the time"
    )
    if table == TORUS.table:
        why = "no two routes share a link, so that interleaving saves the cost of transfers alone"
    return (
        "Interleaved word by word, the model of section 2 (an element on any open connection), "
        f"the schedules by hand are {errors['interleaved']} % off the measured times over the "
        "sizes; one transfer after the other, as the paper's loops streamed them, "
        f"{errors['one transfer after the other']} %: {why} (table Units)",
    )


def _rows_beside(which: Basic) -> Table:
    """Errors against the measured columns, one setting a row."""
    rows: list[tuple[str | float, ...]] = []
    for setting in (LAW, MAIN, COMPILED, RELISTED, *settings_beside(which)):
        errors = _errors(
            [connections(which.table, words, setting) for words in SIZES],
            which.table,
            "conset_measured",
        )
        name = f"by hand, {setting.name}" if setting.made == "by hand" else setting.name
        rows.append(("ConSet", name, *(f"{error:+.1%}" for error in errors)))
    for count in IN_FLIGHT:
        errors = _errors(
            [messages(which.table, words, count) for words in SIZES],
            which.table,
            "msgpass_measured",
        )
        rows.append(("MsgPass", f"{count} in flight", *(f"{error:+.1%}" for error in errors)))
    columns = ("model", "setting", *(f"{words:,} words" for words in SIZES))
    return Table("Settings beside: errors against the measured times", columns, tuple(rows))


def _times_picture(table: int) -> Figure:
    """Simulated over measured: connections in turn, interleaved, and message passing."""
    timed = _timed(table)
    curves = {
        execution: [
            Line(schedule, SIZES, _errors(ways[execution], table, "conset_measured"), colour=k)
            for k, (schedule, ways) in enumerate(timed.items())
        ]
        for execution in EXECUTIONS
    }
    curves["message passing"] = [
        Line(
            f"{count} in flight",
            SIZES,
            _errors([messages(table, words, count) for words in SIZES], table, "msgpass_measured"),
            colour=k + 3,
        )
        for k, count in enumerate(IN_FLIGHT)
    ]
    every = [value for lines in curves.values() for line in lines for value in line.y]
    limits = (100 * min(*every, -0.1) - 5, 100 * max(*every, 0.1) + 5)
    panels = [
        Panel(
            f"Connections, {title}" if title in EXECUTIONS else title.capitalize(),
            "words of a message",
            "error of the simulated time [%]",
            [
                *(replace(line, y=[100 * value for value in line.y]) for line in lines),
                Line("measured", (SIZES[0], SIZES[-1]), (0, 0), "bound"),
            ],
            log_x=2,
            ticks=(SIZES, [f"{words:,}" for words in SIZES]),
            y_limits=limits,
        )
        for title, lines in curves.items()
    ]
    return picture_charts(
        panels,
        title=f"Table {table}: {basic(table).name}, simulated beside measured",
        columns=3,
        subtitle="connections: flow, sync barrier; message passing: wormhole, no sync",
    )


def _errors(ours: list[float], table: int, column: str) -> list[float]:
    return [
        value / published(table)[words][column] - 1
        for words, value in zip(SIZES, ours, strict=True)
    ]


EVERY = tuple(32 << k for k in range(10))
"""Words of the curves: 32 to 16,384."""
ACCESS = 2560.0
"""64 cells at 40 MB/s, section 5.1.1 [MB/s]."""
BISECTION = 640.0
"""16 links at 40 MB/s, section 5.1.2 [MB/s]."""
NEAR = 0.05
"""What counts as near a limit, and as fairly accurate."""
NO_LINKS = replace(LAW, name="links free", words=f"{LAW.words},link=none")
CURVES_ABOUT = (
    "Aggregate bandwidth of the {name} pattern, bytes of all 64 cells over the time. Schedules, "
    "simulations and predictions are those of Table {table}, {count} messages in flight; so are "
    "the measured points."
)


def figure_bandwidth(figure: int) -> Item:
    """One of the three figures; number 2 is that of Table 1."""
    which = basic(figure - 1)
    about = CURVES_ABOUT.format(
        name=which.name, count=best_in_flight(which.table), table=which.table
    )
    cells = tuple(cell for words in SIZES for cell in _curves_cells(which, words))
    return Item(
        "conset",
        f"Figure {figure}",
        f"{which.name}: aggregate bandwidth over the size",
        about,
        cells=cells,
        claims=(*_common(which), *_own(which)),
        why=WHY,
        tables=(_curves_table(which),),
        pictures=(Picture(lambda: _curves_picture(which)),),
        departures=_curves_departures(which),
        basis="computed",
    )


def _bytes(which: Basic, words: int) -> float:
    """What leaves the cells, without messages to themselves [B]."""
    return CELLS * min(which.messages, CELLS - 1) * words * WORD_B


def _curves_rate(which: Basic, words: int, column: str) -> float:
    """MB/s of a column: simulated, predicted or measured."""
    table = which.table
    if column.endswith("_measured"):
        time = published(table)[words][column]
    elif column == "conset_simulated":
        time = connections(table, words, LAW)
    elif column == "msgpass_simulated":
        time = messages(table, words, best_in_flight(table))
    else:
        time = {"conset_predicted": predicted_connections, "msgpass_predicted": predicted_messages}[
            column
        ](table, words)
    return bandwidth(_bytes(which, words), time)


def _curves_cells(which: Basic, words: int) -> list[Cell]:
    return [
        Cell(
            f"{words:,} words",
            f"{name} [MB/s]",
            _curves_rate(which, words, f"{model}_measured"),
            _curves_rate(which, words, f"{model}_simulated"),
            ACCURATE,
            f"fitted to {FITTED}"
            if model == "conset" and which is TORUS and words == SIZES[0]
            else "",
            f"Table {which.table}",
        )
        for name, model in (("ConSet", "conset"), ("MsgPass", "msgpass"))
    ]


def _common(which: Basic) -> tuple[Claim, ...]:
    ahead = {
        count: [
            messages(which.table, words, count) / connections(which.table, words, LAW)
            for words in SIZES
        ]
        for count in IN_FLIGHT
    }
    best = ahead[best_in_flight(which.table)]
    theirs = [
        _curves_rate(which, words, "conset_measured")
        / _curves_rate(which, words, "msgpass_measured")
        for words in SIZES
    ]
    least = ", ".join(f"{count}: {min(row):.2f}×" for count, row in ahead.items())
    return (
        Claim(
            "connections have the advantage where messages are short, no significant one at 16K "
            "words (§5.1.4), "
            "taken as above 1.5 times and within 1.2 times",
            best[0] > 1.5 and 1 / 1.2 < best[-1] < 1.2,
            f"simulated {_ratios(best)}; measured {_ratios(theirs)}",
        ),
        Claim(
            "connections are faster than message passing at every size and number in flight",
            min(min(row) for row in ahead.values()) > 1,
            f"least ratio by number in flight {least}; measured {min(theirs):.2f}×",
            asserted=False,
        ),
    )


def _own(which: Basic) -> tuple[Claim, ...]:
    large = SIZES[-1]
    rate, predicted = (
        _curves_rate(which, large, column) for column in ("conset_simulated", "conset_predicted")
    )
    off = predicted / rate - 1
    if which is TORUS:
        return (
            Claim(
                "limited by the access to the network, 2,560 MB/s (§5.1.1)",
                (1 - NEAR) * ACCESS <= rate <= ACCESS,
                f"simulated {rate:,.0f} MB/s at 16,384 words",
            ),
            Claim(
                "no congestion, so predictions are fairly accurate (§5.1.1), within 5 "
                "% at 16K words",
                abs(off) <= NEAR,
                f"predicted {off:+.1%} above simulated",
            ),
        )
    if which is BUTTERFLY:
        return (
            Claim(
                "congestion: predicted less accurately than the torus (§5.1.2), beyond 5 "
                "% at 16K words",
                abs(off) > NEAR,
                f"predicted {off:+.1%} above simulated",
            ),
        )
    return _bisection(which, rate, predicted)


def _bisection(which: Basic, rate: float, predicted: float) -> tuple[Claim, ...]:
    limit = bandwidth(_bytes(which, SIZES[-1]), _least(SIZES[-1]))
    measured = _curves_rate(which, SIZES[-1], "conset_measured")
    return (
        _congestion(which, predicted, rate),
        Claim(
            "limited by the bisection (§5.1.3), taken as above half of what it allows",
            rate > limit / 2,
            f"it allows {limit:,.0f} MB/s; measured {measured:,.0f}, simulated {rate:,.0f}",
        ),
    )


def _congestion(which: Basic, predicted: float, rate: float) -> Claim:
    """Simulated once more where links cost nothing: what is left of the gap is not congestion."""
    words = SIZES[-1]
    formula, full, free = (
        predicted_connections(which.table, words),
        connections(which.table, words, LAW),
        connections(which.table, words, NO_LINKS),
    )
    share = (full - free) / (full - formula)
    return Claim(
        "prediction and measurement differ by congestion (§5.1.3), taken as more than half of the "
        "gap at 16K words",
        share > 1 / 2,
        f"{formula:,.0f} clocks by the paper's formula on balanced phases, {full:,.0f} simulated, "
        f"{free:,.0f} where links are free: congestion is {100 * share:.0f} % of the gap, the rest "
        f"are phases that are not balanced; {predicted:,.0f} MB/s against {rate:,.0f}",
    )


def _curves_departures(which: Basic) -> tuple[str, ...]:
    if which is not ALL_TO_ALL:
        return ()
    large = SIZES[-1]
    limit = bandwidth(_bytes(which, large), _least(large))
    factors = [
        limit / _curves_rate(which, large, column)
        for column in ("conset_measured", "msgpass_measured")
    ]
    return (
        "The text calls the complete exchange limited by the bisection; its times at "
        "16,384 words are "
        f"{factors[0]:.1f} (ConSet) and {factors[1]:.1f} times (messages) what that allows",
    )


def _least(words: int) -> float:
    """Clocks that the bisection takes.

    A quarter of all pairs cross the middle each way, over 16 links.
    """
    return (CELLS / 2) ** 2 * words * WORD_B / BISECTION * MHZ


def _ratios(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}×" for value in values)


COLUMNS = {
    "conset_simulated": "ConSet, simulated",
    "conset_predicted": "ConSet, predicted by the text's formula",
    "msgpass_simulated": "message passing, simulated",
    "msgpass_predicted": "message passing, predicted by the text's formula",
}


def _curves_table(which: Basic) -> Table:
    rows = tuple(
        (words, *(_curves_rate(which, words, column) for column in COLUMNS)) for words in EVERY
    )
    return Table("Curves: MB/s of all cells together", ("words", *COLUMNS.values()), rows)


def _curves_picture(which: Basic) -> Figure:

    def curve(column: str, colour: int, kind: str) -> Line:
        return Line(
            COLUMNS[column],
            EVERY,
            [_curves_rate(which, words, column) for words in EVERY],
            kind,
            colour,
        )

    def points(name: str, column: str, colour: int) -> Line:
        return Line(
            name,
            SIZES,
            [_curves_rate(which, words, column) for words in SIZES],
            "points",
            colour,
        )

    lines = [
        points("ConSet, measured in the text", "conset_measured", 0),
        curve("conset_simulated", 0, "curve"),
        curve("conset_predicted", 0, "dashed"),
        points("message passing, measured in the text", "msgpass_measured", 1),
        curve("msgpass_simulated", 1, "curve"),
        curve("msgpass_predicted", 1, "dashed"),
        Line("access to the network, 2,560 MB/s", (EVERY[0], EVERY[-1]), (ACCESS, ACCESS), "bound"),
    ]
    panel = Panel(
        "",
        "words of a message",
        "aggregate bandwidth [MB/s]",
        lines,
        log_x=2,
        ticks=(EVERY, [f"{words:,}" for words in EVERY]),
        legend="outside",
    )
    return picture_charts(
        [panel],
        title=f"Figure {which.table + 1}: aggregate bandwidth, {which.name} on a 64 cell iWarp",
        subtitle=(
            "ConSet: flow, sync barrier, one in flight; message passing: wormhole, "
            f"{best_in_flight(which.table)} in flight"
        ),
        height=4.2,
        width=9.6,
    )


SURFACE = ",routing=no-wrap"
HALF = (0.4, 0.6)
"""Rates that are approximately half."""
SURFACE_ABOUT = (
    "Complete exchange on iwarp:8x8,tie=checker with and without routing=no-wrap: message passing "
    "by model wormhole, "
    "no sync, random order (means of 20 seeds), one lane in each pool; connections by the text's "
    "sequential router under sync barrier, all of a phase interleaved, by flow; and the "
    "bisection: messages that "
    "must cross the middle over the links that do. A rate is the torus time over the surface time."
)
POOLS = 3
"""On the surface there are no datelines: the lanes of all pools may serve the only one."""


def surface_router() -> Item:
    """Rates with and without backloops."""
    rates = {count: [_surface_rate(words, count) for words in SIZES] for count in IN_FLIGHT}
    best = best_in_flight()
    large = rates[best][-1]
    routed = [_connections_rate(words) for words in SIZES]
    claims = (
        Claim(
            "without backloops message passing has about half the transfer rate (§5.1.3), taken "
            "as 0.4 to 0.6",
            HALF[0] <= large <= HALF[1],
            f"{large:.2f} of the torus rate at 16,384 words, {best} in flight; {_range(rates)} "
            "over all settings; "
            f"{_crossing(CONNECTIONS)} messages for each link across the middle become "
            f"{_crossing(CONNECTIONS + SURFACE)}",
        ),
    )
    rows: list[tuple[str | float, ...]] = [
        ("message passing", f"{count} in flight", *rates[count]) for count in IN_FLIGHT
    ]
    wide = [_surface_rate(words, best, POOLS) for words in SIZES]
    rows.append(
        ("message passing", f"{best} in flight, three lanes in the one pool of the surface", *wide)
    )
    rows.append(("connections", "the text's router", *routed))
    columns = ("what", "setting", *(f"{words:,} words" for words in SIZES))
    table = Table("Rates: surface router, torus router = 1", columns, tuple(rows))
    return Item(
        "conset",
        "Surface router",
        "complete exchange without backloops: is the rate halved?",
        SURFACE_ABOUT,
        claims=claims,
        tables=(table,),
        pictures=(Picture(lambda: _surface_picture(rates, routed)),),
        basis="computed",
    )


def _range(rates: dict[int, list[float]]) -> str:
    every = [rate for row in rates.values() for rate in row]
    return f"{min(every):.2f} to {max(every):.2f}"


def _surface_rate(words: int, count: int, lanes: int | None = None) -> float:
    surface = messages(ALL_TO_ALL.table, words, count, MESSAGES + SURFACE, lanes)
    return messages(ALL_TO_ALL.table, words, count) / surface


def _connections_rate(words: int) -> float:
    torus, surface = (
        clocks(conset.simulate(_compiled(words, spec), in_flight="all", receives="all").time_s)
        for spec in (CONNECTIONS, CONNECTIONS + SURFACE)
    )
    return torus / surface


@lru_cache(maxsize=32)
def _compiled(words: int, spec: str) -> Schedule:
    on = machine(spec)
    return conset.compile(
        pattern_of(ALL_TO_ALL, words, on),
        on,
        method="connections",
        router="sequential",
        sync="barrier",
    )


def _crossing(spec: str) -> int:
    """Messages from the left half to the right one for each link that leads across."""
    topology = machine(spec).topology
    side = topology.sides[-1]
    across = topology.nodes // side * (1 if SURFACE in spec else 2)
    return (topology.nodes // 2) ** 2 // across


def _surface_picture(rates: dict[int, list[float]], routed: list[float]) -> Figure:
    ends = (SIZES[0], SIZES[-1])
    lines = [Line(f"messages, {count} in flight", SIZES, row) for count, row in rates.items()]
    lines.append(Line("connections, the text's router", SIZES, routed))
    lines.append(Line("the text: approximately half", ends, (0.5, 0.5), "bound"))
    panel = Panel(
        "",
        "words of a message",
        "rate, torus router = 1",
        lines,
        log_x=2,
        ticks=(SIZES, [f"{words:,}" for words in SIZES]),
        y_limits=(0, 1),
        legend="outside",
    )
    return picture_charts(
        [panel],
        title="Complete exchange without the links that close the rings",
        width=9.0,
        subtitle=(
            "messages: wormhole, no sync, random order; connections: flow, sync "
            "barrier, interleaved"
        ),
    )
