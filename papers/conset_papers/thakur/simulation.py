"""The preset against the 125 printed times it was fitted to, and what its neighbours give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.thakur.exchange import EXECUTED, SYNC, predicted, simulate_times, simulated
from conset_papers.thakur.fit import fit, fit_six
from conset_papers.thakur.times import (
    METHODS,
    SIZES,
    Seconds,
    Time,
    by_table,
    describe_worst,
    draw_errors,
    error,
    grouped,
    mean_error,
    mesh_word,
    printed,
    rms_error,
)
from conset_papers.thakur.winners import shift_winners, winners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RMS = 0.13
MEAN = 0.12
ABOUT = (
    "The Delta's preset against the 125 times of Tables 2 to 6 that it was fitted to: in sample, "
    "so that no cell "
    f"counts here. Complete exchange by the method of each table on delta:RxC, each {EXECUTED}, "
    "receive overhead after "
    "the path is free. Items Tables 2 to 6 have the same with words that were fitted to other "
    "machine sizes. "
    "Neighbours: one word of the machine, or the policy, changed, over all cells up to 144 "
    "processors and the "
    "smallest and largest size on 224, 256 and 512."
)
NEIGHBOURS: tuple[tuple[str, str, str], ...] = (
    ("the preset", "", SYNC),
    ("1 lane a link", "lanes=1", SYNC),
    ("3 lanes a link", "lanes=3", SYNC),
    ("4 lanes a link, wire rate", "lanes=4,link=25MB/s", SYNC),
    ("exchanges cost like other pairs", "exchange_weight=1", SYNC),
    ("one node rate, refitted", "exchange_weight=1,node=9MB/s,link=8MB/s", SYNC),
    ("receive overhead holds the path", "receive=before", SYNC),
    ("a free barrier after each step", "", "barrier"),
)
"""(words, settings, sync): what decides."""
LARGE = 144
"""Processors above which neighbours are simulated at the ends of the sizes only."""
LEFT_OUT = 480
"""Processors on which neighbours are not simulated: 512 tell the same."""


def reproduce() -> Item:
    """Simulates every cell; then the neighbours of the setting."""
    times, ours = printed(), simulated()
    columns = ("table", "mesh", "size", "printed [s]", "preset [s]", "error [%]")
    rows = tuple(
        (
            t.table,
            mesh_word(t.mesh),
            format_size(t.bytes),
            t.seconds,
            ours[t],
            round(100 * error(t, ours), 1),
        )
        for t in times
    )
    return Item(
        "thakur",
        "Simulation",
        "the preset by wormhole against the times it was fitted to",
        ABOUT,
        claims=_claims(ours),
        tables=(Table("Times: in sample", columns, rows), _groups(ours), neighbours()),
        pictures=(Picture(_draw),),
        departures=(f"furthest off: {describe_worst(times, ours)}", f"by table: {by_table(ours)}"),
        basis="computed",
    )


def _claims(ours: Seconds) -> tuple[Claim, ...]:
    times = printed()
    found = rms_error(times, ours)
    means = {
        ranks: mean_error(group, ours)
        for ranks, group in grouped(times, lambda time: time.ranks).items()
    }
    label = ", ".join(f"{ranks}: {mean:+.1%}" for ranks, mean in means.items())
    return (
        Claim(
            f"beyond the text: in sample, rms error over the 125 times at most {RMS:.0%}",
            found <= RMS,
            f"{found:.1%}, mean {mean_error(times, ours):+.1%}",
        ),
        Claim(
            "beyond the text: in sample, no number of processors off by more than "
            f"{MEAN:.0%} in the mean",
            max(abs(mean) for mean in means.values()) <= MEAN,
            label,
        ),
        Claim(
            "beyond the text: closer than the text's model with three and with six parameters, "
            "fitted to the same",
            found < min(rms_error(times, fit().seconds), rms_error(times, fit_six().seconds)),
            f"{found:.1%} against {rms_error(times, fit().seconds):.1%} and "
            f"{rms_error(times, fit_six().seconds):.1%}; conset's own formula "
            f"{rms_error(times, predicted()):.1%}",
        ),
    )


def _groups(ours: Seconds) -> Table:
    """Errors by processors, by size, by table."""
    kinds = {
        "processors": grouped(printed(), lambda time: time.ranks),
        "message size [B]": grouped(printed(), lambda time: time.bytes),
        "table": grouped(printed(), lambda time: time.table),
    }
    fitted = fit().seconds
    columns = (
        "by",
        "",
        "cells",
        "simulated: mean [%]",
        "rms [%]",
        "fitted model: mean [%]",
        "rms [%]",
    )
    rows: list[tuple[Value, ...]] = []
    for kind, groups in kinds.items():
        for number, group in groups.items():
            figures = [
                of(group, values) for values in (ours, fitted) for of in (mean_error, rms_error)
            ]
            rows.append((kind, number, len(group), *(round(100 * value, 1) for value in figures)))
    return Table("Groups: errors by machine size, message size and table", columns, tuple(rows))


def neighbour_times() -> tuple[Time, ...]:
    """The cells that neighbours are simulated on."""
    ends = (SIZES[0], SIZES[-1])
    return tuple(
        t for t in printed() if t.ranks <= LARGE or (t.bytes in ends and t.ranks != LEFT_OUT)
    )


def neighbours(times: tuple[Time, ...] | None = None) -> Table:
    """Errors and winners for each neighbour, over `times`."""
    times = neighbour_times() if times is None else times
    ranks = sorted({time.ranks for time in times})
    columns = (
        "setting",
        "changed",
        "sync",
        "rms [%]",
        "mean [%]",
        *(f"mean Table {table} [%]" for table in METHODS),
        f"mean {ranks[0]} processors [%]",
        f"mean {ranks[-1]} processors [%]",
        "GEN or PEX right",
        "GEN or PEX-GEN-SHIFT right",
    )
    return Table(
        "Neighbours: what decides", columns, tuple(_neighbour(*row, times) for row in NEIGHBOURS)
    )


def _neighbour(
    label: str, settings: str, sync: str, times: tuple[Time, ...]
) -> tuple[str | float, ...]:
    ours = (
        simulate_times(times, settings, sync) if (settings, sync) != ("", SYNC) else _known(times)
    )
    groups = [times, *grouped(times, lambda time: time.table).values()]
    sizes = list(grouped(times, lambda time: time.ranks).values())
    means = [mean_error(group, ours) for group in (*groups, sizes[0], sizes[-1])]
    right = [f"{sum(hits)} of {len(hits)}" for hits in (winners(ours), shift_winners(ours))]
    percent = [round(100 * value, 1) for value in (rms_error(times, ours), *means)]
    return (label, settings or "–", sync, *percent, *right)


def _known(times: tuple[Time, ...]) -> Seconds:
    """The preset itself, simulated already."""
    return {time: seconds for time, seconds in simulated().items() if time in times}


def _draw() -> Figure:
    ours = simulated()
    return draw_errors(
        ours,
        {
            "simulated by wormhole": ours,
            "the text's model, six parameters": fit_six().seconds,
            "conset's formula": predicted(),
        },
        title="The preset against the 125 times it was fitted to",
        subtitle=f"complete exchange on delta, {EXECUTED}, one parameter set; its cells as dots",
    )
