"""Figure 5: how many pairs of processors exchange how many words, on regenerated meshes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from conset.report.charts import Bars, picture_charts
from conset_papers.conset_iwarp.finite_elements import LABELS, MESHES, cuts, exchange, structure
from conset_papers.conset_iwarp.machine import WORD_B
from conset_papers.item import Claim, Item, Picture, Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Words; a bin holds its lower edge."""
FACTOR = 200
"""Between the amounts of data of two connections of a mesh, section 4.4.2."""
ABOUT = (
    "Words of every connection of the regenerated meshes of Table 4, 64 parts by coordinate "
    "bisection and, where it is "
    "installed, by METIS: nodes that two parts have in common. The scan has no numbers, so the "
    "axes are ours."
)


def reproduce() -> Item:
    """Histograms, and the text's words on them."""
    columns = ("mesh", "parts by", "connections", *_groups())
    rows: list[tuple[Value, ...]] = [
        (name, LABELS[how], exchange(name, how).messages, *_counts(name, how))
        for name in MESHES
        for how in cuts()
    ]
    return Item(
        "conset",
        "Figure 5",
        "histogram of words between pairs of processors",
        ABOUT,
        claims=(_spread(), _unequal()),
        tables=(Table("Connections: by number of words", columns, tuple(rows)),),
        pictures=(Picture(_picture),),
        basis="computed",
    )


def _bins() -> list[tuple[int, int]]:
    return list(pairwise(EDGES))


def _groups() -> list[str]:
    return [f"{low}-{high - 1}" if high > low + 1 else str(low) for low, high in _bins()]


def _counts(name: str, how: str) -> list[int]:
    words = exchange(name, how).size // WORD_B
    assert EDGES[0] <= words.min() <= words.max() < EDGES[-1]
    counts: list[int] = np.histogram(words, EDGES)[0].tolist()
    return counts


def _spread() -> Claim:
    factors = {
        (name, how): structure(name, how).words[1] / structure(name, how).words[0]
        for how in cuts()
        for name in MESHES
    }
    largest = max(factors.values())
    shown = ", ".join(
        f"{name} by {LABELS[how]} {factor:.0f}" for (name, how), factor in factors.items()
    )
    return Claim(
        "amounts of data differ by factors of up to 200 (§4.4.2), taken as 100 to 400 at most",
        FACTOR / 2 <= largest <= FACTOR * 2,
        f"up to {largest:.0f}: {shown}",
    )


def _unequal() -> Claim:
    """Were all alike, the mean would be the largest, and colouring would do (§4.4.2)."""
    shares = []
    for name in MESHES:
        words = exchange(name).size
        shares.append(float(np.mean(words) / words.max()))
    return Claim(
        "the amount differs significantly from connection to connection (§4.4.2), taken as a mean "
        "below half the most",
        max(shares) < 0.5,
        ", ".join(f"{name} {share:.2f}" for name, share in zip(MESHES, shares, strict=True)),
    )


def _picture() -> Figure:

    panels = [
        Bars(
            name,
            "words of a connection",
            "connections",
            _groups(),
            {
                f"parts by {LABELS[how]}": [float(count) for count in _counts(name, how)]
                for how in cuts()
            },
        )
        for name in MESHES
    ]
    return picture_charts(
        panels,
        height=2.9,
        title="Figure 5: words between pairs of processors",
        subtitle="meshes regenerated with the text's numbers of elements and nodes, 64 parts",
    )
