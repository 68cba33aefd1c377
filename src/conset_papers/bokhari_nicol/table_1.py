"""Table 1: what a synchronization and a message cost, printed formulas beside what the preset predicts."""

from __future__ import annotations

from math import log2

import conset
from conset_papers.bokhari_nicol import formulas
from conset_papers.bokhari_nicol.exchange import MODEL, PAPER, SIDES, SLICE_B
from conset_papers.bokhari_nicol.formulas import barrier_s, message_s, one_message
from conset_papers.item import Cell, Item, Picture, Table
from conset_papers.pictures.lines import Line, Panel, picture_lines

MESHES = (*SIDES, 20, 24, 28, 32)
MESSAGES = (8640, SLICE_B, 16_384, 32_768, 65_536)
ABOUT = (
    "conset.predict on the preset paragon:NxN: one message from a node to its neighbour (sync none), and the "
    "synchronization term of the same under sync barrier; beside it the message by model wormhole."
)
DEPARTURES = (
    "the scan leaves open whether the logarithm is of the side n or of the n² nodes; it is read as printed, of n: with "
    "n² each doubling of the nodes would cost 274 us, more than a message of no bytes (231 us)",
    "the sign before 8640 bytes is lost in the scan; the text applies the formula at 15,232 B, so it reads m >= 8640",
)


def reproduce() -> Item:
    """Evaluates the printed formulas and asks the preset for the same."""
    cells = [Cell(f"{n}x{n}", "synchronization [us]", formulas.barrier_us(n), barrier_s(n) * 1e6) for n in MESHES]
    cells += [
        Cell(f"{size:,} B", "message [us]", formulas.message_us(size), message_s(8, size) * 1e6) for size in MESSAGES
    ]
    return Item(
        PAPER, "Table 1", "synchronization and message", ABOUT, cells=tuple(cells), tolerance=1e-9,
        tables=(_readings(), _simulated()), pictures=(Picture(lambda: picture_lines(
            _panels(), title="Table 1: what a synchronization and a message cost", height=3.9,
            subtitle="lines: printed formulas; marks: the preset, predicted"
        )),),
        departures=DEPARTURES,
    )  # fmt: skip


def _readings() -> Table:
    rows = tuple((f"{n}x{n}", log2(n), formulas.barrier_us(n), formulas.barrier_us(n, of_nodes=True)) for n in MESHES)
    columns = ("mesh", "log2 n", "of the side n [us]", "of the n² nodes [us]")
    return Table("Readings: synchronization as the logarithm is read", columns, rows)


def _simulated() -> Table:
    """The model adds 0.04 us a hop, which the text's expression has no room for."""
    rows = []
    for size in MESSAGES:
        simulated = conset.simulate(one_message(8, size), model=MODEL, sync="none").time_s
        rows.append((size, message_s(8, size) * 1e6, simulated * 1e6))
    columns = ("bytes", "predicted [us]", f"by {MODEL} [us]")
    return Table("Simulated: a message to the neighbour", columns, tuple(rows))


def _panels() -> list[Panel]:
    across = range(4, 33)
    barriers = [
        Line("274 log2 n - 134", across, [formulas.barrier_us(n) for n in across], "bound"),
        Line("read as log2 of n²", across, [formulas.barrier_us(n, of_nodes=True) for n in across], "quiet"),
        Line("preset", MESHES, [barrier_s(n) * 1e6 for n in MESHES], "points"),
    ]
    ends = (MESSAGES[0] / 1024, MESSAGES[-1] / 1024)
    messages = [
        Line("231 + 0.022 m", ends, [formulas.message_us(MESSAGES[0]), formulas.message_us(MESSAGES[-1])], "bound"),
        Line("preset", [m / 1024 for m in MESSAGES], [message_s(8, m) * 1e6 for m in MESSAGES], "points"),
    ]
    return [
        Panel("synchronization", "side n of the mesh", "time [us]", barriers, ticks=(MESHES, [str(n) for n in MESHES])),
        Panel("message alone", "bytes [KiB]", "time [us]", messages),
    ]
