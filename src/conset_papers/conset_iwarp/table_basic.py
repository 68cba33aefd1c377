"""Tables 1 to 3: times of torus, butterfly and complete exchange, predicted and measured, connections and messages."""

from __future__ import annotations

from conset_papers.conset_iwarp.basic import ALL_TO_ALL, SIZES, Basic, basic
from conset_papers.conset_iwarp.columns import (
    IN_FLIGHT,
    MAIN,
    best_in_flight,
    connections,
    connections_by_seed,
    messages,
    predicted_connections,
    predicted_messages,
    published,
    settings_beside,
)
from conset_papers.conset_iwarp.today import today_table
from conset_papers.item import Cell, Claim, Item, Table

LOW, HIGH = -0.08, 0.05
"""Allowed errors of measured connections."""
MESSAGES_WITHIN = 0.15
"""Allowed error of measured message passing, at the best single number in flight."""
SLIP = 16348
"""Words with which two cells of the row 16,384 were computed."""
ABOUT = (
    "{name} on iwarp:8x8, {how}. Predicted: by formula, 520 clocks a phase, 2 a word at a cell's port, links free; "
    "messages 400 + 400 clocks each. Measured ConSet: model flow, sync barrier, one transfer in flight and one "
    "received at a cell in list order, 528 clocks a phase, 104 a transfer (fitted to Tables 1 to 3), 4 a hop. "
    "Measured message passing: model wormhole, no sync, tie=checker, three pools of one lane, {count} in flight, the "
    "best single number for all twelve cells. Clocks of 50 ns."
)
HOW = {
    1: "routes and lists in dimension order, one phase",
    2: "ranks by Gray code, routes and lists in dimension order, x in one phase and y in the other",
    3: "30 phases by the text's sequential router in random order, lists by AS; predicted for 30 phases of whole "
    "translations; messages in random order; means of 5 runs of the router and 20 orders of messages (seeds from 0)",
}
PREDICTED = {
    (1, 2048): "5 above the formula 520 · phases + 2 · words · transfers, a slip of the text",
    (2, 16384): "the formula with 16,348 words for 16,384, a slip of the text",
    (3, 32): "1 below the formula 520 · phases + 2 · words · transfers, a slip of the text",
    (3, 16384): "the formula with 16,348 words for 16,384, a slip of the text",
}
"""(table, words) → why the predicted ConSet cell is not met."""
NOTE_520 = "Predicted ConSet: 520 clocks a phase, although section 4.2.1 has 352 + 176 = 528"
NOTES_3 = (
    "Predicted message passing counts 64 messages a cell, the one to itself included",
    "Predicted ConSet has 63 transfers a port; links need ΣL of 64 at least, so no schedule reaches it",
)


def reproduce(table: int) -> Item:
    """One of the three tables."""
    which = basic(table)
    cells = tuple(cell for words in SIZES for cell in _cells(table, words))
    claims = (_exact(cells), *_slips(table), _connections_claim(table), _messages_claim(table))
    tables = [_rows_beside(which), today_table(table)]
    if which is ALL_TO_ALL:
        tables.append(_seeds(table))
    about = ABOUT.format(name=which.name.capitalize(), how=HOW[table], count=best_in_flight())
    return Item(
        "conset", f"Table {table}", f"{which.name}: times of connections and of message passing", about,
        cells=cells, claims=claims, tables=tuple(tables),
        departures=(NOTE_520, *NOTES_3) if which is ALL_TO_ALL else (NOTE_520,),
    )  # fmt: skip


def _cells(table: int, words: int) -> list[Cell]:
    row, printed = f"{words:,} words", published(table)[words]
    ours = {
        "ConSet predicted": ("conset_predicted", predicted_connections(table, words)),
        "ConSet measured": ("conset_measured", connections(table, words)),
        "MsgPass predicted": ("msgpass_predicted", predicted_messages(table, words)),
        "MsgPass measured": ("msgpass_measured", messages(table, words, best_in_flight())),
    }
    slip = PREDICTED.get((table, words), "")
    return [
        Cell(row, column, printed[key], value, departure=slip if column == "ConSet predicted" else "")
        for column, (key, value) in ours.items()
    ]


def _exact(cells: tuple[Cell, ...]) -> Claim:
    predicted = [cell for cell in cells if "predicted" in cell.column and not cell.departure]
    right = [cell for cell in predicted if cell.ours == cell.published]
    slips = sum(1 for cell in cells if cell.departure)
    return Claim(
        "predicted columns are exact, slips of the text apart",
        len(right) == len(predicted),
        f"{len(right)} of {len(predicted)} cells to the clock, {slips} slip{'' if slips == 1 else 's'}",
    )


def _slips(table: int) -> tuple[Claim, ...]:
    printed = published(table)[SIZES[-1]]["conset_predicted"]
    if (table, SIZES[-1]) not in PREDICTED:
        return ()
    ours = predicted_connections(table, SLIP)
    what = f"the predicted ConSet cell of 16,384 words is that of {SLIP:,}"
    return (Claim(what, ours == printed, f"{ours:,.0f} at {SLIP:,} words, printed {printed:,.0f}"),)


def _connections_claim(table: int) -> Claim:
    errors = _errors([connections(table, words) for words in SIZES], table, "conset_measured")
    return Claim(
        f"measured ConSet is simulated within {LOW:+.0%} to {HIGH:+.0%}",
        all(LOW <= error <= HIGH for error in errors),
        _describe(errors),
    )


def _messages_claim(table: int) -> Claim:
    count = best_in_flight()
    errors = _errors([messages(table, words, count) for words in SIZES], table, "msgpass_measured")
    return Claim(
        f"measured message passing is simulated within ±{MESSAGES_WITHIN:.0%} by the best single number in flight",
        all(abs(error) <= MESSAGES_WITHIN for error in errors),
        f"{count} in flight: {_describe(errors)}",
    )


def _rows_beside(which: Basic) -> Table:
    """Errors against the measured columns, one setting a row."""
    rows: list[tuple[str | float, ...]] = []
    for setting in (MAIN, *settings_beside(which)):
        errors = _errors([connections(which.table, words, setting) for words in SIZES], which.table, "conset_measured")
        rows.append(("ConSet", setting.name, *(f"{error:+.1%}" for error in errors)))
    for count in IN_FLIGHT:
        errors = _errors([messages(which.table, words, count) for words in SIZES], which.table, "msgpass_measured")
        rows.append(("MsgPass", f"{count} in flight", *(f"{error:+.1%}" for error in errors)))
    columns = ("model", "setting", *(f"{words:,} words" for words in SIZES))
    return Table("Settings beside: errors against the measured times", columns, tuple(rows))


def _seeds(table: int) -> Table:
    rows = tuple((words, *connections_by_seed(table, words)) for words in SIZES)
    columns = ("words", *(f"seed {seed}" for seed in range(len(rows[0]) - 1)))
    return Table("Seeds: simulated connections in clocks", columns, rows)


def _errors(ours: list[float], table: int, column: str) -> list[float]:
    return [value / published(table)[words][column] - 1 for words, value in zip(SIZES, ours, strict=True)]


def _describe(errors: list[float]) -> str:
    return ", ".join(f"{error:+.1%}" for error in errors)
