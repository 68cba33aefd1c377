"""Figures 2 to 4: aggregate bandwidth over the size of messages, connections and message passing.

The scans hold no numbers: the measured points are those of Tables 1 to 3, the curves are predicted
and simulated here on the same axes, beside the text's claims about them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conset.report.charts import Line, Panel, picture_charts
from conset_papers.conset_iwarp.basic import ALL_TO_ALL, BUTTERFLY, SIZES, TORUS, Basic, basic
from conset_papers.conset_iwarp.columns import (
    COMPILED,
    IN_FLIGHT,
    ROUTER_SEEDS,
    best_in_flight,
    connections,
    messages,
    predicted_compiled,
    predicted_connections,
    predicted_messages,
    published,
)
from conset_papers.conset_iwarp.machine import CELLS, MHZ, WORD_B, bandwidth
from conset_papers.item import Cell, Claim, Item, Picture, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = tuple(32 << k for k in range(10))
"""Words of the curves: 32 to 16,384."""
ACCESS = 2560.0
"""64 cells at 40 MB/s, section 5.1.1 [MB/s]."""
BISECTION = 640.0
"""16 links at 40 MB/s, section 5.1.2 [MB/s]."""
NEAR = 0.05
"""What counts as near a limit, and as fairly accurate."""
NO_LINKS = replace(COMPILED, name="as compiled, links free", words="link=none")
ABOUT = (
    "Aggregate bandwidth of the {name} pattern, bytes of all 64 cells over the time, compiled by "
    "router sequential "
    "(mean of {seeds} seeds). Simulated by flow under sync barrier, one in flight, 528 "
    "clocks a phase "
    "and 104 a transfer; message passing by wormhole, no sync, {count} in flight; predicted by "
    "the text's formula (520 "
    "clocks a phase, links free; 400 + 400 clocks a message) for the same phases. "
    "Measured points: Table {table}."
)


def reproduce(figure: int) -> Item:
    """One of the three figures; number 2 is that of Table 1."""
    which = basic(figure - 1)
    about = ABOUT.format(
        name=which.name, count=best_in_flight(), table=which.table, seeds=ROUTER_SEEDS
    )
    cells = tuple(cell for words in SIZES for cell in _cells(which, words))
    return Item(
        "conset",
        f"Figure {figure}",
        f"{which.name}: aggregate bandwidth over the size",
        about,
        cells=cells,
        claims=(*_common(which), *_own(which)),
        tables=(_table(which),),
        pictures=(Picture(lambda: _picture(which)),),
        departures=_departures(which),
        basis="computed",
    )


def _bytes(which: Basic, words: int) -> float:
    """What leaves the cells, without messages to themselves [B]."""
    return CELLS * min(which.messages, CELLS - 1) * words * WORD_B


def _rate(which: Basic, words: int, column: str) -> float:
    """MB/s of a column: simulated, predicted or measured."""
    table = which.table
    if column.endswith("_measured"):
        time = published(table)[words][column]
    elif column == "conset_simulated":
        time = connections(table, words, COMPILED)
    elif column == "msgpass_simulated":
        time = messages(table, words, best_in_flight())
    else:
        time = {"conset_predicted": predicted_compiled, "msgpass_predicted": predicted_messages}[
            column
        ](table, words)
    return bandwidth(_bytes(which, words), time)


def _cells(which: Basic, words: int) -> list[Cell]:
    return [
        Cell(
            f"{words:,} words",
            f"{name} [MB/s]",
            _rate(which, words, f"{model}_measured"),
            _rate(which, words, f"{model}_simulated"),
        )
        for name, model in (("ConSet", "conset"), ("MsgPass", "msgpass"))
    ]


def _common(which: Basic) -> tuple[Claim, ...]:
    ahead = {
        count: [
            messages(which.table, words, count) / connections(which.table, words, COMPILED)
            for words in SIZES
        ]
        for count in IN_FLIGHT
    }
    best = ahead[best_in_flight()]
    theirs = [
        _rate(which, words, "conset_measured") / _rate(which, words, "msgpass_measured")
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
        _rate(which, large, column) for column in ("conset_simulated", "conset_predicted")
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
    measured = _rate(which, SIZES[-1], "conset_measured")
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
    text, full, free = (
        predicted_connections(which.table, words),
        connections(which.table, words, COMPILED),
        connections(which.table, words, NO_LINKS),
    )
    share = (full - free) / (full - text)
    return Claim(
        "prediction and measurement differ by congestion (§5.1.3), taken as more than half of the "
        "gap at 16K words",
        share > 1 / 2,
        f"{text:,.0f} clocks by the text's formula on balanced phases, {full:,.0f} simulated, "
        f"{free:,.0f} where links "
        f"are free: congestion is {100 * share:.0f} % of the gap, the rest are phases that are "
        "not balanced; by the "
        f"formula on the compiler's phases {predicted:,.0f} MB/s against {rate:,.0f}",
    )


def _departures(which: Basic) -> tuple[str, ...]:
    if which is not ALL_TO_ALL:
        return ()
    large = SIZES[-1]
    limit = bandwidth(_bytes(which, large), _least(large))
    factors = [
        limit / _rate(which, large, column) for column in ("conset_measured", "msgpass_measured")
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


def _table(which: Basic) -> Table:
    rows = tuple((words, *(_rate(which, words, column) for column in COLUMNS)) for words in EVERY)
    return Table("Curves: MB/s of all cells together", ("words", *COLUMNS.values()), rows)


def _picture(which: Basic) -> Figure:

    def curve(column: str, colour: int, kind: str) -> Line:
        return Line(
            COLUMNS[column], EVERY, [_rate(which, words, column) for words in EVERY], kind, colour
        )

    def points(name: str, column: str, colour: int) -> Line:
        return Line(name, SIZES, [_rate(which, words, column) for words in SIZES], "points", colour)

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
            f"{best_in_flight()} in flight"
        ),
        height=4.2,
        width=9.6,
    )
