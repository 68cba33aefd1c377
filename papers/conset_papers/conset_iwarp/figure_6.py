"""Figure 6: aggregate bandwidth of the finite-element meshes, predicted and measured.

By connections and messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.report.charts import Bars, picture_charts
from conset_papers.conset_iwarp.columns import best_in_flight
from conset_papers.conset_iwarp.finite_elements import (
    MESHES,
    as_the_text,
    message_passing,
    predicted_messages,
    printed,
    simulated,
    structure,
)
from conset_papers.conset_iwarp.table_5 import aggregate
from conset_papers.item import Claim, Item, Picture, Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXIS = 200.0
"""Where the figure's axis ends [MB/s]."""
COLUMNS = {
    "conset_predicted": "ConSet, predicted",
    "conset_measured": "ConSet, measured",
    "msgpass_predicted": "message passing, predicted",
    "msgpass_measured": "message passing, measured",
}
ABOUT = (
    "Bandwidth of regenerated meshes in 64 parts by bisection, times as in Table 6, beside the "
    "text's bars from its "
    "Tables 4 and 6, which are transcribed. Bandwidth is 64 times the most words of a processor "
    "times 4 B over the "
    "time. Measured means simulated here: connections by model flow, sync barrier, one in flight, "
    "10 clocks a word, "
    "528 a phase, 104 a transfer; messages by model wormhole, no sync, {count} in flight; "
    "predicted as in Table 6."
)
DEPARTURES = ("The figure's labels are c105k and q40k where the tables have c100k and q20k",)


def reproduce() -> Item:
    """The bars, and the text's words on them."""
    columns = ("mesh", *COLUMNS.values())
    text: list[tuple[Value, ...]] = [(name, *_printed(name).values()) for name in MESHES]
    ours: list[tuple[Value, ...]] = [(name, *_regenerated(name).values()) for name in MESHES]
    return Item(
        "conset",
        "Figure 6",
        "finite-element meshes: aggregate bandwidth",
        ABOUT.format(count=best_in_flight()),
        claims=(_better(), _gap(), _small()),
        tables=(
            Table("The text: MB/s, transcribed from its Tables 4 and 6", columns, tuple(text)),
            Table("Regenerated meshes: MB/s, measured means simulated", columns, tuple(ours)),
        ),
        pictures=(Picture(_picture),),
        departures=DEPARTURES,
        basis="computed",
    )


def _printed(name: str) -> dict[str, float]:
    return {key: aggregate(printed(4)[name]["comm_max"], printed(6)[name][key]) for key in COLUMNS}


def _regenerated(name: str) -> dict[str, float]:
    most, compiled = structure(name).words_of[1], as_the_text(name)
    times = (
        compiled.predicted,
        simulated(compiled),
        predicted_messages(name),
        message_passing(name),
    )
    return {key: aggregate(most, time) for key, time in zip(COLUMNS, times, strict=True)}


def _better() -> Claim:
    text, ours = _advantages()
    return Claim(
        "connections perform better on all meshes (§5.2.1)",
        min(ours) > 1,
        f"simulated {_list(ours)}, measured {_list(text)} times",
    )


def _gap() -> Claim:
    """Between m11k, c10k and the ten times larger c100k, q20k."""
    text, ours = _advantages()
    return Claim(
        "the gap closes as the problem grows (§5.2.1): smaller on c100k and q20k than on "
        "m11k and c10k",
        max(ours[2:]) < min(ours[:2]),
        f"simulated {_list(ours)}, measured {_list(text)} times",
    )


def _small() -> Claim:
    rates = [_regenerated(name)["conset_measured"] for name in MESHES]
    return Claim(
        "nowhere near the bandwidth of the basic patterns (§5.2.1), 2,527 MB/s of Table 1: below "
        "a tenth of it",
        max(rates) < aggregate(4 * 16384, 132768) / 10,
        ", ".join(f"{rate:.0f}" for rate in rates) + " MB/s simulated",
    )


def _advantages() -> tuple[list[float], list[float]]:
    """Bandwidth of connections over that of messages: in the text, on regenerated meshes."""
    both = ([_printed(name) for name in MESHES], [_regenerated(name) for name in MESHES])
    text, ours = (
        [row["conset_measured"] / row["msgpass_measured"] for row in rows] for rows in both
    )
    return text, ours


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _picture() -> Figure:

    sources = {
        "the text's meshes, its own times": _printed,
        "regenerated meshes, simulated for measured": _regenerated,
    }
    panels = [
        Bars(
            title,
            "mesh",
            "aggregate bandwidth [MB/s]",
            MESHES,
            {label: [rates(name)[key] for name in MESHES] for key, label in COLUMNS.items()},
            top=AXIS,
        )
        for title, rates in sources.items()
    ]
    return picture_charts(
        panels,
        title="Figure 6: finite-element meshes on a 64 cell iWarp",
        height=2.9,
        subtitle=(
            "ConSet: flow, sync barrier, one in flight; message passing: wormhole, "
            f"{best_in_flight()} in flight"
        ),
    )
