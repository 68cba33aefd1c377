"""Table 1: what a synchronization and a message cost.

The printed formulas, which are the preset's own numbers.
"""

from __future__ import annotations

from math import log2

import conset
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.bokhari_nicol import formulas
from conset_papers.bokhari_nicol.exchange import MODEL, PAPER, SIDES, SLICE_B
from conset_papers.bokhari_nicol.formulas import barrier_s, message_s, one_message
from conset_papers.item import Claim, Item, Picture, Table

MESHES = (*SIDES, 20, 24, 28, 32)
MESSAGES = (8640, SLICE_B, 16_384, 32_768, 65_536)
ABOUT = (
    "The text prints two formulas and no measured value, and the preset paragon:NxN is made of "
    "them, so nothing here "
    "is an error of a cell. Held against each other: the formulas, and conset.predict on the "
    "preset: one message from "
    "a node to its neighbour (sync none), and the synchronization term of the same under sync "
    "barrier; beside it the "
    "message by model wormhole."
)
DEPARTURES = (
    "the scan leaves open whether the logarithm is of the side n or of the n² nodes; it is read "
    "as printed, of n: with "
    "n² each doubling of the nodes would cost 274 us, more than a message of no bytes (231 us)",
    "the sign before 8640 bytes is lost in the scan; the text applies the formula at 15,232 B, so "
    "it reads m >= 8640",
)


def reproduce() -> Item:
    """Evaluates the printed formulas and asks the preset for the same."""
    rows = [
        (f"synchronization of {n}x{n}", formulas.barrier_us(n), barrier_s(n) * 1e6) for n in MESHES
    ]
    rows += [
        (f"message of {size:,} B", formulas.message_us(size), message_s(8, size) * 1e6)
        for size in MESSAGES
    ]
    apart = max(abs(ours / theirs - 1) for _, theirs, ours in rows)
    simulated = {
        size: conset.simulate(one_message(8, size), model=MODEL, sync="none").time_s * 1e6
        for size in MESSAGES
    }
    far = max(abs(simulated[size] / formulas.message_us(size) - 1) for size in MESSAGES)
    claims = (
        Claim(
            "beside it: the preset predicts what the formulas it is made of say",
            apart <= 1e-9,
            f"{len(rows)} values, largest difference {apart:.1e}",
            asserted=False,
        ),
        Claim(
            f"beside it: by model {MODEL} a message takes as long, within 0.1 %",
            far <= 1e-3,
            f"within {far:.3%}: the model adds 0.04 us a hop",
            asserted=False,
        ),
    )
    formula = Table(
        "Formulas: printed, and as the preset predicts them",
        ("what", "printed [us]", "predicted [us]"),
        tuple(rows),
    )
    return Item(
        PAPER,
        "Table 1",
        "synchronization and message",
        ABOUT,
        claims=claims,
        tables=(formula, _readings(), _simulated(simulated)),
        pictures=(
            Picture(
                lambda: picture_charts(
                    _panels(),
                    title="Table 1: what a synchronization and a message cost",
                    height=3.9,
                    subtitle="lines: printed formulas; marks: the preset, predicted",
                )
            ),
        ),
        departures=DEPARTURES,
        basis="formula",
    )


def _readings() -> Table:
    rows = tuple(
        (f"{n}x{n}", log2(n), formulas.barrier_us(n), formulas.barrier_us(n, of_nodes=True))
        for n in MESHES
    )
    columns = ("mesh", "log2 n", "of the side n [us]", "of the n² nodes [us]")
    return Table("Readings: synchronization as the logarithm is read", columns, rows)


def _simulated(simulated: dict[int, float]) -> Table:
    """The model adds 0.04 us a hop, which the text's expression has no room for."""
    rows = [(size, message_s(8, size) * 1e6, time_us) for size, time_us in simulated.items()]
    columns = ("bytes", "predicted [us]", f"by {MODEL} [us]")
    return Table("Simulated: a message to the neighbour", columns, tuple(rows))


def _panels() -> list[Panel]:
    across = range(4, 33)
    barriers = [
        Line("274 log2 n - 134", across, [formulas.barrier_us(n) for n in across], "bound"),
        Line(
            "read as log2 of n²",
            across,
            [formulas.barrier_us(n, of_nodes=True) for n in across],
            "quiet",
        ),
        Line("preset", MESHES, [barrier_s(n) * 1e6 for n in MESHES], "points"),
    ]
    ends = (MESSAGES[0] / 1024, MESSAGES[-1] / 1024)
    messages = [
        Line(
            "231 + 0.022 m",
            ends,
            [formulas.message_us(MESSAGES[0]), formulas.message_us(MESSAGES[-1])],
            "bound",
        ),
        Line(
            "preset",
            [m / 1024 for m in MESSAGES],
            [message_s(8, m) * 1e6 for m in MESSAGES],
            "points",
        ),
    ]
    return [
        Panel(
            "synchronization",
            "side n of the mesh",
            "time [us]",
            barriers,
            ticks=(MESHES, [str(n) for n in MESHES]),
        ),
        Panel("message alone", "bytes [KiB]", "time [us]", messages),
    ]
