"""Results of several meshes as Markdown.

    python examples/finite_elements/tabulate.py FOLDER…

Of every folder that `main.py` has left, a row of what was solved and how right it is, and of each
way of the exchange a row with the columns of the ConSet text's Table 5.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def format_solved(results: list[dict[str, Any]]) -> str:
    """What was solved."""
    head = (
        "mesh",
        "elements",
        "nodes",
        "parts",
        "messages",
        "B",
        "iterations (one rank)",
        "first iterates differ by",
        "solution differs by",
        "from the exact one",
    )
    rows = [
        (
            found["mesh"],
            f"{found['elements']:,}",
            f"{found['nodes']:,}",
            found["ranks"],
            found["messages"],
            f"{found['bytes']:,}",
            f"{found['iterations']} ({found['one_rank_iterations']})",
            f"{found['iterates_apart']:.1e}",
            f"{found['solution_apart']:.1e}",
            f"{found['error']:.1e}" if "error" in found else "",
        )
        for found in results
    ]
    return _table(head, rows)


def format_times(results: list[dict[str, Any]]) -> str:
    """Where the time of an iteration goes."""
    head = (
        "mesh, parts",
        "exchange by",
        "product [µs]",
        "MFLOPS",
        "exchange [µs]",
        "MB/s",
        "reductions [µs]",
        "vectors [µs]",
        "iteration [µs]",
    )
    rows = [
        (
            f"{found['mesh']}, {found['ranks']}",
            way,
            *(
                f"{row[key] * scale:,.0f}" if row[key] * scale >= 100 else f"{row[key] * scale:.1f}"
                for key, scale in (
                    ("product_s", 1e6),
                    ("mflops", 1),
                    ("exchange_s", 1e6),
                    ("bandwidth_Bps", 1e-6),
                    ("reduction_s", 1e6),
                    ("vectors_s", 1e6),
                    ("iteration_s", 1e6),
                )
            ),
        )
        for found in results
        for way, row in found["ways"].items()
    ]
    return _table(head, rows)


def _table(head: tuple[object, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    found = [json.loads((Path(folder) / "result.json").read_text()) for folder in sys.argv[1:]]
    print(format_solved(found), format_times(found), sep="\n\n")
