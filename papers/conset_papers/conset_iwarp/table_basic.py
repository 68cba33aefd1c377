"""Tables 1 to 3: times of torus, butterfly and complete exchange, predicted and measured.

By connections and messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import conset
from conset.report.charts import Line, Panel, picture_charts
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset_papers.conset_iwarp.basic import (
    ALL_TO_ALL,
    BUTTERFLY,
    PRINTED_PHASES,
    SIZES,
    TORUS,
    Basic,
    basic,
    pattern_of,
)
from conset_papers.conset_iwarp.columns import (
    COMPILED,
    IN_FLIGHT,
    INTERLEAVED,
    MAIN,
    RELISTED,
    ROUTER_SEEDS,
    Setting,
    best_in_flight,
    connections,
    connections_by_seed,
    messages,
    predicted_compiled,
    predicted_connections,
    predicted_messages,
    published,
    schedule_of,
    seeds_of,
    settings_beside,
)
from conset_papers.conset_iwarp.machine import CONNECTIONS, machine
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETUP, WORD_CLOCKS = 528, 2
"""Clocks of a phase and of a word at a port, section 4.2.1."""
ABOUT = (
    "{name} on iwarp:8x8 with 12 channels, compiled by method connections, router "
    "sequential, the text's "
    "(mean of {seeds} seeds, for 16,384 words). Predicted: by formula, 520 "
    "clocks a phase, 2 a word "
    "at a phase's busiest port, links free; messages 400 + 400 clocks each. Measured ConSet: "
    "model flow, sync barrier, "
    "one transfer in flight and one received at a cell in list order, 528 clocks a phase, 104 a "
    "transfer (fitted to "
    "Tables 1 to 3 with the schedules by hand), 4 a hop. Measured message passing: model "
    "wormhole, no sync, "
    "tie=checker, three pools of one lane, {count} in flight, the best single number for all "
    "twelve cells. By hand, "
    "beside them: {hand}. Clocks of 50 ns."
)
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
NOTE_520 = "Predicted ConSet: 520 clocks a phase, although section 4.2.1 has 352 + 176 = 528"
NOTES_3 = (
    "Predicted message passing counts 64 messages a cell, the one to itself included",
    "Predicted ConSet has 63 transfers a port, as if all phases were balanced; no schedule "
    "reaches it, as links need a "
    "ΣL of 64 at least",
)
EXECUTIONS = {"one transfer after the other": "1", "interleaved": INTERLEAVED}
"""Name → transfers in flight at a cell."""


def reproduce(table: int) -> Item:
    """One of the three tables."""
    which = basic(table)
    about = ABOUT.format(
        name=which.name.capitalize(),
        hand=BY_HAND[table],
        count=best_in_flight(),
        seeds=ROUTER_SEEDS,
    )
    claims = (*(_mappings() if which is BUTTERFLY else ()), _ranking(table))
    tables = [
        _by_hand(table),
        _executions(table),
        _units(table),
        _rows_beside(which),
    ]
    if which is ALL_TO_ALL:
        tables.append(_seeds(table))
    return Item(
        "conset",
        f"Table {table}",
        f"{which.name}: times of connections and of message passing",
        about,
        cells=(*_phase_cells(table), *(cell for words in SIZES for cell in _cells(table, words))),
        claims=claims,
        tables=tuple(tables),
        departures=(*_departures(table), NOTE_520, *(NOTES_3 if which is ALL_TO_ALL else ())),
        pictures=(Picture(partial(_picture, table)),),
        basis="computed",
    )


def _phase_cells(table: int) -> list[Cell]:
    if table not in PRINTED_PHASES:
        return []
    which, printed = basic(table), PRINTED_PHASES[table]
    routed = np.mean([schedule_of(which, 1, COMPILED, seed).phases for seed in range(ROUTER_SEEDS)])
    return [Cell("phases", "router sequential", printed, float(routed))]


def _cells(table: int, words: int) -> list[Cell]:
    row, printed = f"{words:,} words", published(table)[words]
    columns = {
        "ConSet predicted, router sequential": (
            "conset_predicted",
            predicted_compiled(table, words),
        ),
        "ConSet measured, router sequential": (
            "conset_measured",
            connections(table, words, COMPILED),
        ),
        "MsgPass predicted": ("msgpass_predicted", predicted_messages(table, words)),
        "MsgPass measured": ("msgpass_measured", messages(table, words, best_in_flight())),
    }
    return [Cell(row, column, printed[key], value) for column, (key, value) in columns.items()]


def _ranking(table: int) -> Claim:
    """At the largest size, where the text measured connections 1 to 12 % ahead."""
    words, row = SIZES[-1], published(table)[SIZES[-1]]
    passed = messages(table, words, best_in_flight())
    ways = {
        "router sequential": connections(table, words, COMPILED),
        "by hand": connections(table, words, MAIN),
    }
    shown = ", ".join(f"{name} {passed / time:.3f}" for name, time in ways.items())
    return Claim(
        "connections are faster than message passing at 16,384 words, as measured (taken for the "
        "schedules by router "
        "sequential and by hand)",
        max(ways["router sequential"], ways["by hand"]) < passed,
        f"time of message passing over that of connections, simulated: {shown}; measured "
        f"{row['msgpass_measured'] / row['conset_measured']:.3f}",
    )


def _mappings() -> tuple[Claim]:
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
        ).channels
        for channels in (16, 12)
    }
    shown = "; ".join(
        f"{channels} channels: {load.size} phase{'' if load.size == 1 else 's'}, the "
        "busiest cell uses " + " and ".join(map(str, load.tolist()))
        for channels, load in loads.items()
    )
    return (
        Claim(
            "a single phase with 16 logical channels, two with 12 (§5.1.2)",
            (loads[16].size, loads[12].size) == (1, 2),
            shown,
        ),
    )


def _by_hand(table: int) -> Table:
    """What the schedules by hand give, beside the printed columns."""
    rows: list[tuple[Value, ...]] = []
    for words in SIZES:
        row, found, timed = (
            published(table)[words],
            predicted_connections(table, words),
            connections(table, words),
        )
        rows.append(
            (
                words,
                row["conset_predicted"],
                found,
                f"{found / row['conset_predicted'] - 1:+.2%}",
                row["conset_measured"],
                timed,
                f"{timed / row['conset_measured'] - 1:+.2%}",
                SLIPS.get((table, words), ""),
            )
        )
    columns = (
        "words",
        "predicted, printed",
        "predicted, by hand",
        "error",
        "measured, printed",
        "simulated, by hand",
        "error",
        "slip",
    )
    return Table(
        "By hand: schedules made to the text's numbers of phases, clocks", columns, tuple(rows)
    )


def _timed(table: int) -> dict[str, dict[str, list[float]]]:
    """Schedule → execution → clocks at each of `SIZES`."""

    def routed(setting: Setting) -> dict[str, list[float]]:
        ways = {name: replace(setting, in_flight=count) for name, count in EXECUTIONS.items()}
        return {
            name: [connections(table, words, way) for words in SIZES] for name, way in ways.items()
        }

    return {"router sequential": routed(COMPILED), "by hand": routed(MAIN)}


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
        "by hand": [schedule_of(which, words, MAIN, seed) for seed in range(seeds_of(which, MAIN))],
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


def _departures(table: int) -> tuple[str, ...]:
    which, measured = basic(table), [published(table)[words]["conset_measured"] for words in SIZES]
    by_hand = _timed(table)["by hand"]
    errors = {
        name: ", ".join(
            f"{100 * (time / theirs - 1):+.1f}"
            for time, theirs in zip(times, measured, strict=True)
        )
        for name, times in by_hand.items()
    }
    ports, even = predicted_compiled(table, SIZES[-1]), predicted_connections(table, SIZES[-1])
    why = (
        "a port that waits for a link shared elsewhere stands still where its other connections "
        "could fill the time"
    )
    if which is TORUS:
        why = (
            "no two of its routes share a link, so that interleaving saves the cost of "
            "transfers alone"
        )
    uneven = (
        "The compiler's phases are not balanced as the text's prediction assumes: by its "
        "formula they take "
        f"{ports:,.0f} clocks at 16,384 words, those by hand {even:,.0f}"
    )
    return (
        "Interleaved word by word, the model of section 2 (an element on any open connection), "
        "the schedules by hand "
        f"are {errors['interleaved']} % off the measured times over the sizes; one transfer after "
        "the other, as the "
        f"text's loops streamed them, {errors['one transfer after the other']} %: {why} "
        "(table Units)",
        *((uneven,) if ports != even else ()),
    )


def _rows_beside(which: Basic) -> Table:
    """Errors against the measured columns, one setting a row."""
    rows: list[tuple[str | float, ...]] = []
    for setting in (COMPILED, RELISTED, MAIN, *settings_beside(which)):
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


def _seeds(table: int) -> Table:
    rows: list[tuple[Value, ...]] = [
        (name, words, *connections_by_seed(table, words, setting))
        for name, setting in (("as compiled", COMPILED), ("by hand", MAIN))
        for words in SIZES
    ]
    columns = ("schedules", "words", *(f"seed {seed}" for seed in range(len(rows[0]) - 2)))
    return Table("Seeds: simulated connections in clocks", columns, tuple(rows))


def _picture(table: int) -> Figure:
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
