"""Table 5: the finite-element kernel on regenerated meshes.

What is computed and what is exchanged in a product.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.errors import ExecutionError
from conset_papers.conset_iwarp.finite_elements import (
    LABELS,
    MESHES,
    PARTS,
    as_the_text,
    cuts,
    entries,
    exchange,
    operations,
    printed,
    simulated,
    structure,
)
from conset_papers.conset_iwarp.machine import CELLS, MHZ, WORD_B, bandwidth
from conset_papers.item import Cell, Item, Table, Value

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOLERANCE = 0.15
"""As Table 6, which the text calls fairly accurate where it is off by 3 to 15 %."""
REPEATS = 20
"""Products of a part that are timed; the least counts."""
SOLVER = Path(__file__).resolve().parents[3] / "examples" / "finite_elements" / "main.py"
"""Where this package stands in its repository; an installed one has no examples."""
RANKS = 2
"""Of the solver's job: more would share cores."""
SOLVED = ("m11k", "q20k")
"""Meshes that it solves: a plate and the volume."""
TIMEOUT_S = 300
ABOUT = (
    "Regenerated meshes in 64 parts by {cuts}, their exchange compiled by router sequential with "
    "lists by AS, their "
    "matrices counted. Communication: model flow, sync barrier, one in flight, 10 clocks a word. "
    "Bandwidth as in the "
    "text: 64 times the most words of a processor times 4 B over that time. Operations: an "
    "addition and a "
    "multiplication for every entry of the busiest processor's matrix; the text's are its MFLOPS "
    "times its cycles over "
    "64. Cycles and MFLOPS themselves are the iWarp processor's, of which nothing here is a "
    "model: in their place "
    "stand the same products on this computer, and where the examples and MPI are at hand the "
    "columns of the solver in "
    "examples/finite_elements for {solved}, {ranks} ranks (both printed and in "
    "`--json`, in no file)."
)


def reproduce() -> Item:
    """Times, bandwidths and operations beside the text's; this computer's own columns."""
    cells = tuple(cell for how in cuts() for name in MESHES for cell in _cells(name, how))
    return Item(
        "conset",
        "Table 5",
        "finite-element kernel: communication, bandwidth and operations",
        ABOUT.format(
            cuts=" and ".join(LABELS[how] for how in cuts()),
            ranks=RANKS,
            solved=" and ".join(SOLVED),
        ),
        cells=cells,
        tolerance=TOLERANCE,
        tables=(_printed_table(), _regenerated()),
        departures=_departures(),
        measured=(_measured(), *_solved()),
        basis="computed",
    )


def aggregate(most_words: float, time: float) -> float:
    """The text's bandwidth [MB/s]: every cell as busy as the busiest."""
    return bandwidth(CELLS * most_words * WORD_B, time)


def _cells(name: str, how: str) -> list[Cell]:
    row, text, most = f"{name}, {LABELS[how]}", printed(5)[name], structure(name, how).words_of[1]
    time = simulated(as_the_text(name, how))
    return [
        Cell(row, "comm. ConSet [clocks]", text["comm_clocks"], time),
        Cell(row, "comm. bandwidth [MB/s]", text["comm_bandwidth"], aggregate(most, time)),
        Cell(row, "operations of a product", printed_operations(name), operations(name, how)),
    ]


def printed_operations(name: str) -> float:
    """Of a processor in a product: the text's rate of one, MFLOPS over 64, times its cycles."""
    row = printed(5)[name]
    return row["comp_mflops"] / CELLS * row["comp_cycles"] / MHZ


def _printed_table() -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            name,
            *printed(5)[name].values(),
            round(printed_operations(name), 1),
            round(aggregate(printed(4)[name]["comm_max"], printed(5)[name]["comm_clocks"]), 2),
        )
        for name in MESHES
    ]
    columns = (
        "mesh",
        "comp. cycles",
        "comp. MFLOPS",
        "comm. ConSet",
        "comm. bandwidth",
        "operations of a product",
        "64 · most words · 4 B / comm.",
    )
    return Table("The text: as printed, and what follows from it", columns, tuple(rows))


def _evenness(name: str, how: str) -> float:
    """Mean words of a processor over the most."""
    return exchange(name, how).bytes / WORD_B / CELLS / structure(name, how).words_of[1]


def _departures() -> tuple[str, ...]:
    shares = [_evenness(name, how) for how in cuts() for name in MESHES]
    return (
        "The text's bandwidth counts the processor with most words 64 times; what all send in the "
        "regenerated meshes "
        f"is {min(shares):.2f} to {max(shares):.2f} of that",
        "The printed bandwidth of q20k is 0.2 % above 64 · most words · 4 B / time, a "
        "slip of the text",
        "The text's meshes are lost and its cuts had longer borders, so that regenerated ones "
        "send fewer words",
    )


def _regenerated() -> Table:
    rows = []
    for how in cuts():
        for name in MESHES:
            most, compiled = structure(name, how).words_of[1], as_the_text(name, how)
            time = simulated(compiled)
            rows.append(
                (
                    name,
                    LABELS[how],
                    most,
                    _evenness(name, how),
                    time,
                    aggregate(most, time),
                    operations(name, how),
                )
            )
    columns = (
        "mesh",
        "parts by",
        "most words of a processor",
        "mean over most",
        "clocks",
        "MB/s",
        "operations of a product",
    )
    return Table(
        "Regenerated meshes: simulated times and the text's bandwidth figure", columns, tuple(rows)
    )


def matrices(name: str, how: str) -> list[csr_array]:
    """Each part's matrix with ones for its entries, over the part's own nodes."""
    from scipy.sparse import csr_array

    found, every = [], entries(name, how)
    for part in np.split(every, np.searchsorted(every[:, 0], np.arange(1, PARTS))):
        nodes, row = np.unique(part[:, 1], return_inverse=True)
        column = np.searchsorted(nodes, part[:, 2])
        found.append(csr_array((np.ones(len(part)), (row, column)), shape=(nodes.size, nodes.size)))
    return found


def _measured() -> Table:
    """The products of the parts on this computer, one after the other."""
    rows = []
    for name in MESHES:
        own = matrices(name, "bisection")
        slowest = max(map(_product_s, own))
        busiest = operations(name, "bisection")
        rows.append(
            (name, slowest * 1e6, CELLS * busiest / slowest / 1e6, simulated(as_the_text(name)))
        )
    columns = (
        "mesh",
        "comp. of the slowest part [us]",
        "comp. MFLOPS, 64 times its rate",
        "comm. ConSet, simulated",
    )
    return Table(
        "This computer: products of the 64 parts (by bisection) with SciPy, one after the other",
        columns,
        tuple(rows),
    )


def _product_s(matrix: csr_array) -> float:
    x, best = np.ones(matrix.shape[1]), float("inf")
    for _ in range(REPEATS):
        began = perf_counter()
        matrix @ x
        best = min(best, perf_counter() - began)
    return best


def _solved() -> tuple[Table, ...]:
    """The table's columns by the solver of the examples, a job of `RANKS`.

    None without examples or mpi4py.
    """
    if not SOLVER.exists() or find_spec("mpi4py") is None:
        return ()
    title = (
        f"This computer, the solver: examples/finite_elements in {RANKS} ranks, medians "
        "of an iteration"
    )
    rows: list[tuple[Value, ...]] = []
    try:
        for name in SOLVED:
            found = solve(name)
            own = found["ways"]["conset"]
            rows.append(
                (
                    name,
                    found["iterations"],
                    own["product_s"] * 1e6,
                    own["mflops"],
                    own["exchange_s"] * 1e6,
                    own["bandwidth_Bps"] / 1e6,
                )
            )
    except (ExecutionError, subprocess.TimeoutExpired) as error:
        title += f"; ended by {error}"
    columns = (
        "mesh",
        "iterations",
        "comp. [us]",
        "comp. MFLOPS",
        "comm. conset [us]",
        "comm. bandwidth [MB/s]",
    )
    return (Table(title, columns, tuple(rows)),)


def solve(name: str, ranks: int = RANKS) -> dict[str, Any]:
    """What `examples/finite_elements/main.py` says of a mesh.

    Raises:
        ExecutionError: it did not end well.
    """
    with TemporaryDirectory(prefix="conset-") as folder:
        words = [name, "--parts", str(ranks), "--repeat", "1", "--no-pictures", "-o", folder]
        ended = subprocess.run(
            [sys.executable, str(SOLVER), *words],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if ended.returncode:
            raise ExecutionError(
                f"{SOLVER.name} {name}: {ended.stderr.strip() or ended.stdout.strip()}"
            )
        found: dict[str, Any] = json.loads((Path(folder) / "result.json").read_text())
    return found
