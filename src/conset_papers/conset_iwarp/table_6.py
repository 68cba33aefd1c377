"""Table 6: communication times of the finite-element meshes: the prediction's formula, and regenerated meshes."""

from __future__ import annotations

from conset_papers.conset_iwarp.columns import IN_FLIGHT, best_in_flight
from conset_papers.conset_iwarp.finite_elements import (
    LABELS,
    MESHES,
    SETUP,
    WORD_CLOCKS,
    Compiled,
    as_the_text,
    as_today,
    cuts,
    message_passing,
    printed,
    simulated,
    structure,
)
from conset_papers.item import Cell, Claim, Item, Table, Value

MESSAGE, COPIED = 816, 14
"""Clocks for each neighbour and each word, to which predicted message passing comes close; its formula is unknown."""
CLOSE = 0.005
ACCURATE = 0.15
"""What the text calls fairly accurate: its own measured times are 3 to 15 % above the predicted ones."""
NO_TRANSFER = "per_transfer=0,hop=0"
ABOUT = (
    "Predicted ConSet: 528 clocks a phase and 10 for each of S words, S the sum of the phases' timetables. Regenerated "
    "meshes, parts by {cuts}: the text's router and its AS (one line a processor for both ways) and today's compile "
    "(words balanced over phases, event list), predicted by formula and simulated by model flow on iwarp:8x8, sync "
    "barrier, one in flight, a word 10 clocks, 528 a phase, 104 a transfer, 4 a hop; message passing by model "
    "wormhole, no sync, tie=checker, random order (mean of 20), {count} in flight, 10 clocks a word at the receiver. "
    "Clocks of 50 ns."
)
DEPARTURES = (
    "Predicted message passing: no exact formula is known; 816 · degree + 14 · comm comes within 0.4 %",
    "Measured columns have no counterpart cell by cell: the text's meshes are lost, regenerated ones have shorter "
    "borders, so that fixed costs weigh more; compared are ratios",
)


def reproduce() -> Item:
    """The exact formula; the text's claims on regenerated meshes."""
    cells = tuple(
        Cell(name, "ConSet predicted", printed(6)[name]["conset_predicted"],
             SETUP * printed(4)[name]["phases"] + WORD_CLOCKS * round(_words(name))) for name in MESHES
    )  # fmt: skip
    return Item(
        "conset", "Table 6", "communication of the finite-element meshes: predicted and measured",
        ABOUT.format(cuts=" and ".join(LABELS[how] for how in cuts()), count=best_in_flight()),
        cells=cells, claims=(_whole(), _least(), _own_formula(), _faster(), _accurate(), _messages_formula()),
        tolerance=0.0, tables=(_text_table(), *(_table(how) for how in cuts())), departures=DEPARTURES,
    )  # fmt: skip


def _words(name: str, setup: int = SETUP) -> float:
    """S: what the prediction leaves after the set-up of its phases, in words of 10 clocks."""
    return (printed(6)[name]["conset_predicted"] - setup * printed(4)[name]["phases"]) / WORD_CLOCKS


def _whole() -> Claim:
    def whole(setup: int) -> list[str]:
        return [name for name in MESHES if _words(name, setup).is_integer()]

    shown = ", ".join(f"{_words(name):g}" for name in MESHES)
    return Claim(
        "predicted ConSet is 528 · phases + 10 · S with a whole number S in all four rows",
        len(whole(SETUP)) == len(MESHES),
        f"S = {shown}; with the 520 of Tables 1 to 3 whole in {len(whole(520))} of {len(MESHES)}",
    )


def _least() -> Claim:
    ratios = [_words(name) / (2 * printed(4)[name]["comm_max"]) for name in MESHES]
    return Claim(
        "S is at least twice the most words of a processor (sends and receives one after the other)", min(ratios) >= 1,
        ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times",
    )  # fmt: skip


def _own_formula() -> Claim:
    words = [as_the_text(name, how).words for how in cuts() for name in MESHES]
    over = [as_the_text(name, how).words / structure(name, how).words_of[1] for how in cuts() for name in MESHES]
    text = [_words(name) / printed(4)[name]["comm_max"] for name in MESHES]
    return Claim(
        "predictions of the regenerated meshes are 528 · phases + 10 · S with a whole S, too",
        all(abs(value - round(value)) < 1e-6 for value in words),
        f"S over the most words of a processor {min(over):.2f} to {max(over):.2f}, in the text {min(text):.2f} to "
        f"{max(text):.2f}",
    )  # fmt: skip


def _ratios(how: str = "bisection") -> list[float]:
    """Simulated message passing over simulated connections, mesh by mesh."""
    return [message_passing(name, how) / simulated(as_the_text(name, how)) for name in MESHES]


def _faster() -> Claim:
    ours = [ratio for how in cuts() for ratio in _ratios(how)]
    text = [printed(6)[name]["msgpass_measured"] / printed(6)[name]["conset_measured"] for name in MESHES]
    return Claim(
        "connections are faster than message passing on all meshes (§5.2.1)", min(ours) > 1 and min(text) > 1,
        f"simulated {_list(ours)}; measured {_list(text)} times",
    )  # fmt: skip


def _accurate() -> Claim:
    theirs = [printed(6)[name]["conset_measured"] / printed(6)[name]["conset_predicted"] - 1 for name in MESHES]
    ours = [_error(as_the_text(name)) for name in MESHES]
    bare = [_error(as_the_text(name), NO_TRANSFER) for name in MESHES]
    return Claim(
        "the performance models are fairly accurate (§5.2), taken as within 15 %",
        all(abs(error) <= ACCURATE for error in ours),
        f"measured over predicted {_percent(theirs)}; simulated over predicted {_percent(ours)}, without the 104 "
        f"clocks a transfer and the hops {_percent(bare)}",
        asserted=False,
    )


def _error(compiled: Compiled, words: str = "") -> float:
    return simulated(compiled, words) / compiled.predicted - 1


def _messages_formula() -> Claim:
    errors = []
    for name in MESHES:
        row = printed(4)[name]
        errors.append((MESSAGE * row["degree"] + COPIED * row["comm_max"]) / printed(6)[name]["msgpass_predicted"] - 1)
    return Claim(
        "predicted message passing is close to 816 · degree + 14 · comm",
        all(abs(error) <= CLOSE for error in errors),
        ", ".join(f"{error:+.2%}" for error in errors),
        asserted=False,
    )


def _text_table() -> Table:
    rows: list[tuple[Value, ...]] = [
        (name, int(printed(4)[name]["phases"]), _words(name), *printed(6)[name].values(), round(_more(name)))
        for name in MESHES
    ]  # fmt: skip
    columns = (
        "mesh", "phases", "S", "ConSet predicted", "ConSet measured", "MsgPass predicted", "MsgPass measured",
        "measured - predicted, a phase",
    )  # fmt: skip
    return Table("The text: clocks", columns, tuple(rows))


def _more(name: str) -> float:
    """Measured over predicted, for each phase [clocks]."""
    row = printed(6)[name]
    return (row["conset_measured"] - row["conset_predicted"]) / printed(4)[name]["phases"]


def _table(how: str) -> Table:
    rows: list[tuple[Value, ...]] = []
    for name in MESHES:
        text, today = as_the_text(name, how), as_today(name, how)
        times = (text.predicted, simulated(text), simulated(text, NO_TRANSFER))
        todays = (today.predicted, simulated(today), simulated(today, count="all"))
        messages = (message_passing(name, how, count) for count in IN_FLIGHT)
        rows.append((
            name, text.schedule.phases, round(text.words), *map(round, times), today.schedule.phases,
            *map(round, todays), *map(round, messages),
        ))  # fmt: skip
    columns = (
        "mesh", "phases", "S", "predicted", "simulated", "nothing per transfer", "phases today", "predicted today",
        "simulated today", "interleaved today", *(f"messages, {count} in flight" for count in IN_FLIGHT),
    )  # fmt: skip
    return Table(f"Regenerated, parts by {LABELS[how]}: clocks", columns, tuple(rows))


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _percent(values: list[float]) -> str:
    return ", ".join(f"{value:+.0%}" for value in values)
