"""Table 4: structure of the partitioned finite-element meshes, and their phases, on regenerated meshes."""

from __future__ import annotations

from conset_papers.conset_iwarp.finite_elements import (
    LABELS,
    MESHES,
    as_the_text,
    cuts,
    fewest_phases,
    printed,
    structure,
)
from conset_papers.conset_iwarp.machine import CHANNELS
from conset_papers.item import Cell, Claim, Item, Table, Value

ABOUT = (
    "The text's meshes are lost; these have its sizes: m11k 10,000 random and 1,000 evenly spaced boundary points, "
    "Delaunay; c10k and c100k denser towards a crack; q20k hexahedra 40 × 25 × 20. 64 parts by coordinate bisection, "
    "and by METIS where it is installed (seed 0); a part sends another one a word for every node that both have. "
    "Phases on iwarp:8x8 with 12 channels, rank r on node r: by the text's router (connections, router sequential) and "
    "today's (objective phases), beside the bound."
)
BOX = "no box of 20,000 hexahedra has 22,451 nodes, that of 40 × 25 × 20 has 22,386"


def reproduce() -> Item:
    """Elements and nodes beside the text's, the rest side by side."""
    cells = tuple(
        Cell(name, what, printed(4)[name][what], getattr(structure(name), what),
             departure=BOX if (name, what) == ("q20k", "nodes") else "")
        for name in MESHES for what in ("elements", "nodes")
    )  # fmt: skip
    rows = [row for name in MESHES for row in (_printed_row(name), *(_row(name, how) for how in cuts()))]
    columns = (
        "mesh", "source", "elements", "nodes", "elements/proc", "words/proc", "degree", "channels",
        "phases, the text's router",
        "phases today", "bound",
    )  # fmt: skip
    return Item(
        "conset", "Table 4", "structure of the partitioned meshes, and phases", ABOUT,
        cells=cells, claims=(_bound_claim(), _text_claim()), tolerance=0.0,
        tables=(Table("Structure: the text's meshes and regenerated ones", columns, tuple(rows)),),
        departures=_departures(),
    )  # fmt: skip


def _printed_row(name: str) -> tuple[Value, ...]:
    row = {key: int(value) for key, value in printed(4)[name].items()}
    return (
        name, "the text", row["elements"], row["nodes"], f"{row['elements_min']}/{row['elements_max']}",
        f"{row['comm_min']}/{row['comm_max']}", row["degree"], row["channels"], row["phases"], None, None,
    )  # fmt: skip


def _row(name: str, how: str) -> tuple[Value, ...]:
    found = structure(name, how)
    elements, words = (f"{low}/{high}" for low, high in (found.elements_of, found.words_of))
    return (
        name, LABELS[how], found.elements, found.nodes, elements, words, found.degree, CHANNELS,
        as_the_text(name, how).schedule.phases, *fewest_phases(name, how),
    )  # fmt: skip


def _departures() -> tuple[str, str]:
    over = [printed(4)[name]["comm_max"] / structure(name).words_of[1] for name in MESHES]
    degree = min(structure("c10k", how).degree for how in cuts())
    return (
        "Elements, words and degrees of processors are those of today's cuts of regenerated meshes, reported beside; "
        f"the text's largest numbers of words are {min(over):.1f} to {max(over):.1f} times those by bisection: its "
        "cuts had longer borders",
        f"Degree 5 of c10k is doubtful: cuts of the regenerated mesh have {degree} or more",
    )


def _bound_claim() -> Claim:
    found = [(name, how, *fewest_phases(name, how)) for how in cuts() for name in MESHES]
    shown = ", ".join(f"{name} by {LABELS[how]} {phases} ({bound})" for name, how, phases, bound in found)
    return Claim(
        "today's compile needs the fewest phases there can be",
        all(phases == bound for *_, phases, bound in found),
        shown,
    )


def _text_claim() -> Claim:
    ours = [fewest_phases(name)[0] for name in MESHES]
    text = [int(printed(4)[name]["phases"]) for name in MESHES]
    return Claim(
        "today's compile needs no more phases than the text's, parts by bisection",
        all(one <= other for one, other in zip(ours, text, strict=True)),
        f"{', '.join(map(str, ours))} against {', '.join(map(str, text))}",
    )
