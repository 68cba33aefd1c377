"""Draws `gain.svg` of the figures in `docs/decision.md`, for README and the guide.

`python docs/pictures/gain.py`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from conset.report.style import ACCENT, FAINT, INK, QUIET, headline, new_figure, save

HERE = Path(__file__).resolve().parent
RATIO = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")
MEANS = {
    "lossless": "ideal: fair, no loss",
    "shallow": "Ethernet, 64 KiB queues",
    "medium": "Ethernet, 256 KiB queues",
    "credit": "back-pressure, as InfiniBand",
}
"""Fabric → the networks that behave so."""
POSTING = "the naive exchange"
WORTH = 0.95
"""Order pays where something is faster than the naive exchange by more than 5 %."""


@dataclass(frozen=True)
class Case:
    """A measured case.

    Attributes:
        name: `complete/16KiB`.
        ordered: whether something else than the naive exchange was chosen.
        ratio: time of the choice over that of the naive exchange, a median of pairs.
        low: of its 95 % interval.
        high: likewise.
    """

    name: str
    ordered: bool
    ratio: float
    low: float
    high: float

    @property
    def pays(self) -> bool:
        """Ordered, faster by more than 5 %, and beyond the interval."""
        return self.ordered and self.ratio < WORTH and self.high < 1


def read_cases(text: str) -> dict[str, list[Case]]:
    """Fabric → its cases, of the tables of `decision.md`."""
    fabrics: dict[str, list[Case]] = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = [
            [cell.strip() for cell in line.strip("|").split(" | ")]
            for line in section.splitlines()
            if line[:1] == "|"
        ]
        if rows and rows[0][0] == "case":
            choice, column = rows[0].index("choice"), rows[0].index("choice / naive")
            found = [
                (row[0], row[choice] != POSTING, RATIO.search(row[column])) for row in rows[2:]
            ]
            fabrics[section.split("\n")[0]] = [
                Case(name, ordered, *map(float, ratio.groups()))
                for name, ordered, ratio in found
                if ratio is not None
            ]
    return fabrics


def picture_gain(fabrics: dict[str, list[Case]]) -> Figure:
    """A panel for each fabric, a row for each case.

    How long the choice takes where the naive exchange takes 1.
    """
    names = list(dict.fromkeys(case.name for cases in fabrics.values() for case in cases))
    figure = new_figure(11, 1.5 + 0.34 * len(names))
    best = min(
        (case.ratio, fabric) for fabric, cases in fabrics.items() for case in cases if case.pays
    )
    count = sum(case.pays for cases in fabrics.values() for case in cases)
    headline(
        figure,
        f"Up to {1 / best[0]:.1f} times as fast as posting all sends at once; equal where order "
        "gains nothing",
        "measured time of conset's choice over that of the naive exchange (all sends posted at "
        "once), 16 ranks on 4 × 4 nodes; "
        f"more than 5 % faster in {count} of {sum(map(len, fabrics.values()))} cases (blue)",
    )
    panels = figure.subplots(1, len(fabrics), sharex=True, sharey=True, squeeze=False)[0]
    low = min(case.low for cases in fabrics.values() for case in cases)
    high = max(case.high for cases in fabrics.values() for case in cases)
    for axes, (fabric, cases) in zip(panels, fabrics.items(), strict=True):
        axes.set_title(MEANS.get(fabric, fabric), fontsize=9.5)
        axes.axvline(1, color=INK, lw=0.9)
        axes.grid(axis="x")
        for case in cases:
            y, colour = -names.index(case.name), ACCENT if case.pays else QUIET
            axes.plot(
                [case.low, case.high],
                [y, y],
                color=colour if case.pays else FAINT,
                lw=2.5,
                solid_capstyle="butt",
            )
            axes.plot([case.ratio], [y], "o", color=colour, ms=7 if case.pays else 4.5)
            if case.pays:
                axes.annotate(
                    f"{case.ratio:.2f}",
                    (case.low, y),
                    (-5, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    color=ACCENT,
                    fontsize=9,
                    fontweight="bold",
                )
        axes.set_xlim(min(low, best[0]) - 0.24, max(high, 1) + 0.04)
        axes.set_xticks([0.5, 0.75, 1, 1.25])
        axes.set_yticks(
            [-k for k in range(len(names))], [name.replace("/", "  ") for name in names]
        )
        axes.set_ylim(0.6 - len(names), 0.6)
        axes.set_xlabel("faster ◂ 1 ▸ slower")
    return figure


if __name__ == "__main__":
    fabrics = read_cases((HERE.parent / "decision.md").read_text(encoding="utf-8"))
    save(
        lambda: picture_gain(fabrics), Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "gain.svg")
    )
