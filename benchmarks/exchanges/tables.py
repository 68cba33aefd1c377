"""What was measured, as rows: medians with intervals, the best of each group, ratios, verdicts.

And as Markdown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

RESAMPLES = 1000
FASTER, SLOWER = 1.10, 0.95
"""Factor by which combining must be measured faster to be taken, or slower to be left."""


@dataclass(frozen=True)
class Ratio:
    """Of two medians, with a bootstrapped interval of 95 %.

    Attributes:
        value: the first over the second.
        low, high: ends of the interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}-{self.high:.2f})"


def ratio(first: list[float], second: list[float]) -> Ratio:
    """Median of `first` over that of `second`; both are resampled by block, apart."""
    random = np.random.default_rng(0)

    def medians(values: list[float]) -> Any:
        drawn = random.integers(len(values), size=(RESAMPLES, len(values)))
        return np.median(np.asarray(values)[drawn], axis=1)

    low, high = np.quantile(medians(first) / medians(second), [0.025, 0.975])
    return Ratio(float(np.median(first) / np.median(second)), float(low), float(high))


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of the median, bootstrapped."""
    random = np.random.default_rng(0)
    drawn = random.integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(np.asarray(values)[drawn], axis=1), [0.025, 0.975])
    return float(low), float(high)


def best(cell: dict[str, Any], groups: Iterable[str]) -> str | None:
    """The variant with the least median wall time of those groups, wrong ones left out.

    None where there is none.
    """
    rows = {
        name: float(np.median(row["wall_s"]))
        for name, row in cell["variants"].items()
        if row["group"] in groups and not row["wrong"]
    }
    return min(rows, key=lambda name: rows[name]) if rows else None


def verdict(cell: dict[str, Any]) -> str:
    """Whether `auto` took the right side: `right`, `wrong` or `either`; "" where it was not asked.

    Combining must be taken where the best combined program is measured faster than the persistent
    direct exchange by `FASTER`, left where it is slower than by `SLOWER`.
    """
    combined, direct = best(cell, ("combined",)), best(cell, ("direct",))
    if cell.get("auto") is None or combined is None or direct is None:
        return ""
    wall = {name: float(np.median(cell["variants"][name]["wall_s"])) for name in (combined, direct)}
    gain = wall[direct] / wall[combined]
    taken = cell["auto"] != "none"
    if SLOWER < gain < FASTER:
        return "either"
    return "right" if taken == (gain >= FASTER) else "wrong"


def summarize(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell without its blocks.

    Medians and intervals by variant [s], ratios of the best of each group.
    """
    variants = {}
    for name, row in cell["variants"].items():
        low, high = interval(row["wall_s"])
        variants[name] = {
            "group": row["group"],
            "wall_s": float(np.median(row["wall_s"])),
            "wall_low_s": low,
            "wall_high_s": high,
            "cpu_s": float(np.median(row["cpu_s"])),
            "blocks": len(row["wall_s"]),
            "exchanges": row["exchanges"],
            "wrong_bytes": row["wrong"],
        }
    keys = ("pattern", "size", "messages", "bytes", "auto", "auto_predicted")
    kept = {key: cell[key] for key in keys if key in cell}
    return kept | {"verdict": verdict(cell), "variants": variants, "ratios": ratios(cell)}


def ratios(cell: dict[str, Any]) -> dict[str, Any]:
    """The best combined program and what `auto` took, against the best of the other groups."""
    own = {
        "combined": best(cell, ("combined",)),
        "auto": best(cell, ("auto",)) or best(cell, ("direct",)),
    }
    found: dict[str, Any] = {}
    for who, name in own.items():
        for group in ("mpi", "direct", "peer"):
            other = best(cell, (group,))
            if name is not None and other is not None:
                rows = cell["variants"]
                found[f"{who} over {group}"] = vars(
                    ratio(rows[other]["wall_s"], rows[name]["wall_s"])
                )
    return found


HEAD = (
    "| pattern | bytes | best of MPI's own | persistent direct | best peer | combined | gain over "
    "MPI | over direct "
    "| over peer | CPU direct, combined | auto |\n" + "| --- " * 11 + "|"
)


def markdown(cells: list[dict[str, Any]]) -> str:
    """A table with a row a cell; times in microseconds, gains with intervals of 95 %."""
    return "\n".join([HEAD, *(_row(cell) for cell in cells)])


def _row(cell: dict[str, Any]) -> str:
    rows = cell["variants"]

    def named(name: str | None) -> str:
        return "-" if name is None else f"{np.median(rows[name]['wall_s']) * 1e6:.0f} {name}"

    def gain(group: str) -> str:
        found = ratios(cell).get(f"combined over {group}")
        return "-" if found is None else str(Ratio(**found))

    def cpu(name: str | None) -> str:
        return "-" if name is None else f"{np.median(rows[name]['cpu_s']) * 1e6:.0f}"

    groups = {group: best(cell, (group,)) for group in ("mpi", "direct", "peer", "combined")}
    size = "own" if cell["pattern"] == "matrix rows" else cell["size"]
    choice = f"{cell.get('auto') or '-'} {verdict(cell)}".strip()
    columns = [
        cell["pattern"],
        size,
        *map(named, groups.values()),
        gain("mpi"),
        gain("direct"),
        gain("peer"),
    ]
    return (
        "| "
        + " | ".join(
            map(str, [*columns, f"{cpu(groups['direct'])}, {cpu(groups['combined'])}", choice])
        )
        + " |"
    )


def decisions(cells: list[dict[str, Any]]) -> str:
    """One sentence on how often `auto` was right."""
    found = [verdict(cell) for cell in cells]
    asked = [each for each in found if each]
    if not asked:
        return ""
    right = sum(each != "wrong" for each in asked)
    must = sum(each == "right" for each in asked) + asked.count("wrong")
    return (
        f"The decision is right in {right} of {len(asked)} cells ({right / len(asked):.0%}); in "
        f"{must} of them the "
        f"measurement demands one side (combining faster by {FASTER - 1:.0%} or slower by "
        f"{1 - SLOWER:.0%})."
    )
