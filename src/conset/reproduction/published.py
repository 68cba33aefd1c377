"""Published numbers: what the texts print, as CSV files beside the code that makes them again."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_published(folder: str, name: str) -> list[dict[str, str]]:
    """The rows of `reproduction/<folder>/published/<name>.csv`, column → text; lines with # say where it is printed."""
    file = files("conset.reproduction").joinpath(folder, "published", f"{name}.csv")
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))
