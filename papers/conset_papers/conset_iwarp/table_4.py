"""Table 4: structure of the partitioned finite-element meshes and their phases.

The meshes are regenerated.
"""

from __future__ import annotations

from conset_papers.conset_iwarp.finite_elements import (
    BOXES,
    LABELS,
    MESHES,
    TRIANGLES,
    as_the_text,
    cuts,
    printed,
    structure,
)
from conset_papers.conset_iwarp.machine import CHANNELS
from conset_papers.item import Cell, Item, Table, Value

TOLERANCE = 0.15
"""As Table 6, which the text calls fairly accurate where it is off by 3 to 15 %."""
ABOUT = (
    "Phases, words and degrees of regenerated meshes in 64 parts by {cuts}, from the text's "
    "numbers of nodes, elements "
    "and nodes on the boundary, which are inputs and no cells. The text's meshes are lost: m11k "
    "has 10,000 random "
    "and 1,000 evenly spaced boundary points, Delaunay; c10k and c100k are denser towards a "
    "crack; q20k is 40 × 25 × "
    "20 hexahedra. A part sends another one a word for every node that both have. Phases on "
    "iwarp:8x8 with 12 "
    "channels, rank r on node r: by the text's router (connections, router sequential, longest "
    "first)."
)
BOX = "No box of 20,000 hexahedra has 22,451 nodes, that of 40 × 25 × 20 has 22,386"


def reproduce() -> Item:
    """What follows from the meshes beside the text's."""
    cells = tuple(cell for how in cuts() for name in MESHES for cell in _cells(name, how))
    rows = [
        row for name in MESHES for row in (_printed_row(name), *(_row(name, how) for how in cuts()))
    ]
    columns = (
        "mesh",
        "source",
        "elements",
        "nodes",
        "elements/proc",
        "words/proc",
        "degree",
        "channels",
        "phases",
    )
    return Item(
        "conset",
        "Table 4",
        "structure and phases of the partitioned finite-element meshes",
        ABOUT.format(cuts=" and ".join(LABELS[how] for how in cuts())),
        cells=cells,
        tolerance=TOLERANCE,
        tables=(
            _inputs(),
            Table("Structure: the text's meshes and regenerated ones", columns, tuple(rows)),
        ),
        departures=_departures(),
        basis="computed",
    )


def _cells(name: str, how: str) -> list[Cell]:
    found, text = structure(name, how), printed(4)[name]
    ours = {
        "phases": ("phases", as_the_text(name, how).schedule.phases),
        "most words of a processor": ("comm_max", found.words_of[1]),
        "fewest words of a processor": ("comm_min", found.words_of[0]),
        "degree": ("degree", found.degree),
        "most elements of a processor": ("elements_max", found.elements_of[1]),
        "fewest elements of a processor": ("elements_min", found.elements_of[0]),
    }
    return [
        Cell(f"{name}, {LABELS[how]}", column, text[key], value)
        for column, (key, value) in ours.items()
    ]


def _inputs() -> Table:
    """What the meshes were made from."""
    rows: list[tuple[Value, ...]] = []
    for name in MESHES:
        made = (
            f"{TRIANGLES[name][1]:,} nodes on the boundary: 2 · nodes - 2 - elements"
            if name in TRIANGLES
            else " × ".join(map(str, BOXES[name])) + " cubes: elements, and nearly the nodes"
        )
        text = printed(4)[name]
        rows.append((name, int(text["elements"]), int(text["nodes"]), made))
    return Table(
        "Inputs: taken from the text, so no cells",
        ("mesh", "elements", "nodes", "what follows"),
        tuple(rows),
    )


def _printed_row(name: str) -> tuple[Value, ...]:
    row = {key: int(value) for key, value in printed(4)[name].items()}
    return (
        name,
        "the text",
        row["elements"],
        row["nodes"],
        f"{row['elements_min']}/{row['elements_max']}",
        f"{row['comm_min']}/{row['comm_max']}",
        row["degree"],
        row["channels"],
        row["phases"],
    )


def _row(name: str, how: str) -> tuple[Value, ...]:
    found = structure(name, how)
    elements, words = (f"{low}/{high}" for low, high in (found.elements_of, found.words_of))
    return (
        name,
        LABELS[how],
        found.elements,
        found.nodes,
        elements,
        words,
        found.degree,
        CHANNELS,
        as_the_text(name, how).schedule.phases,
    )


def _departures() -> tuple[str, ...]:
    over = [
        printed(4)[name]["comm_max"] / structure(name, how).words_of[1]
        for how in cuts()
        for name in MESHES
    ]
    degree = min(structure("c10k", how).degree for how in cuts())
    return (
        f"The text's largest numbers of words are {min(over):.1f} to {max(over):.1f} times those "
        "of today's cuts: its "
        "cuts had longer borders",
        f"Degree 5 of c10k is doubtful: cuts of the regenerated mesh have {degree} or more",
        BOX,
    )
