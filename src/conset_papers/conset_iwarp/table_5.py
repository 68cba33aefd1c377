"""Table 5: what the finite-element kernel's printed rates are made of, and the regenerated meshes' bandwidth."""

from __future__ import annotations

from conset_papers.conset_iwarp.finite_elements import (
    MESHES,
    as_the_text,
    as_today,
    exchange,
    printed,
    simulated,
    structure,
)
from conset_papers.conset_iwarp.machine import CELLS, WORD_B, bandwidth
from conset_papers.item import Cell, Claim, Item, Table

ROUNDED = 1e-4
"""Two digits after the point of at least 127 MB/s."""
ABOUT = (
    "Bandwidth: 64 cells times the most words of a processor (Table 4) times 4 B over the measured time, MFLOPS: 64 "
    "times a rate per cell rounded to two digits; both from the text's own numbers. Below: the same figure for "
    "regenerated meshes cut by bisection, times by model flow, sync barrier, one in flight, 10 clocks a word."
)
SLIP = "0.2 % above 64 · max comm · 4 B / time, a slip of the text"


def reproduce() -> Item:
    """Four bandwidths, four rates."""
    return Item(
        "conset", "Table 5", "finite-element kernel: bandwidth and MFLOPS by formula", ABOUT,
        cells=tuple(cell for name in MESHES for cell in _cells(name)), claims=(_same(),), tolerance=ROUNDED,
        tables=(_regenerated(),), departures=_departures(),
    )  # fmt: skip


def aggregate(most_words: float, time: float) -> float:
    """The text's bandwidth [MB/s]: every cell as busy as the busiest."""
    return bandwidth(CELLS * most_words * WORD_B, time)


def _cells(name: str) -> tuple[Cell, Cell]:
    row = printed(5)[name]
    rate = round(row["comp_mflops"] / CELLS, 2)
    found = aggregate(printed(4)[name]["comm_max"], row["comm_clocks"])
    return (
        Cell(name, "comm. bandwidth", row["comm_bandwidth"], found, departure=SLIP if name == "q20k" else ""),
        Cell(name, "comp. MFLOPS", row["comp_mflops"], CELLS * rate),
    )


def _same() -> Claim:
    same = [name for name in MESHES if printed(5)[name]["comm_clocks"] == printed(6)[name]["conset_measured"]]
    return Claim("its communication times are the measured ones of Table 6", len(same) == len(MESHES), ", ".join(same))


def _evenness(name: str) -> float:
    """Mean words of a processor over the most."""
    return exchange(name).bytes / WORD_B / CELLS / structure(name).words_of[1]


def _departures() -> tuple[str]:
    shares = [_evenness(name) for name in MESHES]
    return (
        "The text's bandwidth counts the processor with most words 64 times; what all send in the regenerated meshes "
        f"is {min(shares):.2f} to {max(shares):.2f} of that",
    )


def _regenerated() -> Table:
    rows = []
    for name in MESHES:
        most, compiled = structure(name).words_of[1], as_the_text(name)
        time, today = simulated(compiled), simulated(as_today(name))
        rows.append((name, most, _evenness(name), time, aggregate(most, time), today, aggregate(most, today)))
    columns = (
        "mesh", "most words of a processor", "mean over most", "clocks, the text's compiler", "MB/s",
        "clocks, compiled today", "MB/s today",
    )  # fmt: skip
    return Table("Regenerated meshes: simulated times and the text's bandwidth figure", columns, tuple(rows))
