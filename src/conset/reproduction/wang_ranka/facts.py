"""The numbers in the text's words."""

from __future__ import annotations

from functools import cache

from conset.reproduction.published import read_published


def fact(item: str, density: int | None = None) -> float:
    """A number of `published/facts.csv`, which has its unit and place.

    Raises:
        KeyError: there is none of that name and density.
    """
    return _facts()[item, density]


@cache
def _facts() -> dict[tuple[str, int | None], float]:
    rows = read_published("wang_ranka", "facts")
    return {(row["item"], int(row["density"]) if row["density"] else None): float(row["value"]) for row in rows}
