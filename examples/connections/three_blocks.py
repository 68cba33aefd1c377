"""A program of three blocks over connections.

A transpose, a halo exchange, a tree that adds up and tells all.

    conset compile program.toml --on iwarp:4x4 -o program.json
    conset plan program.json -o program.plan
    mpiexec -n 16 python -m mpi4py three_blocks.py program.plan 100

Elements are numbers of 8 bytes; four at a time go on all connections of a phase in turn, and are
received so. What a phase sends on a connection fits its packets, so a rank sends all of it first.
All values are whole, so every one that a rank has after a block must equal what it works out for
itself. `three_blocks.c` is the same in C.

- transpose: 64 x 64 numbers, 4 rows on each rank; every second repetition transposes back.
- halo: 64 x 64 points that go round, a tile of 16 x 16 on each rank of a grid of 4 x 4; points
  become the sum of their neighbours and themselves, modulo 1009.
- reduction: 8 sums over all tiles, up a tree, each rank adding what comes as it comes, and down
  again.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import conset

RANKS, SIDE, GRID, SUMS = 16, 64, 4, 8
ROWS, TILE = SIDE // RANKS, SIDE // GRID
TIMEOUT_S = 30.0
Numbers = NDArray[np.float64]


class Checked:
    """Values compared on this rank."""

    def __init__(self) -> None:
        self.values = self.wrong = 0

    def compare(self, found: Numbers, right: Numbers) -> None:
        """Counts those that differ; NaN does."""
        self.values += right.size
        self.wrong += int(np.count_nonzero(found != right))


def exchange(
    program: conset.OpenProgram,
    block: int,
    phase: int,
    out: dict[int, Numbers],
    into: dict[int, Numbers],
) -> None:
    """One phase, a piece at a time.

    Rows of `out` to peers and of `into` from peers, shape=(pieces, elements) each.
    """
    program.instantiate(block, phase)
    ends = [
        (program.connection(each.peer, each.direction), each)
        for each in program.connections(block, phase)
    ]
    sends = [(connection, out[each.peer]) for connection, each in ends if each.direction == "send"]
    receives = [
        (connection, into[each.peer]) for connection, each in ends if each.direction == "receive"
    ]
    for k in range(len(sends[0][1]) if sends else 0):
        for connection, pieces in sends:
            connection.send_elements(pieces[k])
    for k in range(len(receives[0][1]) if receives else 0):
        for connection, pieces in receives:
            connection.receive_elements(pieces[k])
    program.phase_end()


def transpose(program: conset.OpenProgram, rank: int, run: int, checked: Checked) -> None:
    """The rows of a matrix become those of its transpose, and its own again."""
    matrix = run * SIDE**2 + np.arange(SIDE * SIDE, dtype=np.float64).reshape(SIDE, SIDE)
    own = slice(ROWS * rank, ROWS * (rank + 1))
    rows, right = matrix[own].copy(), matrix.T
    for phases in repetitions(program, 0):
        # the square of each peer, its columns first: rows of what the peer has afterwards
        out = {p: np.ascontiguousarray(rows[:, ROWS * p : ROWS * (p + 1)].T) for p in range(RANKS)}
        into = {p: np.full((ROWS, ROWS), np.nan) for p in range(RANKS)}
        into[rank] = out[rank]
        for phase in phases:
            exchange(program, 0, phase, out, into)
        rows = np.hstack([into[p] for p in range(RANKS)])
        checked.compare(rows, right[own])
        right = right.T


def step(grid: Numbers) -> Numbers:
    """All points of a grid that goes round, one step on."""
    moved = [np.roll(grid, by, axis) for axis in (0, 1) for by in (1, -1)]
    return np.asarray((grid + sum(moved)) % 1009)


def halo(
    program: conset.OpenProgram, rank: int, run: int, checked: Checked
) -> tuple[Numbers, Numbers]:
    """A tile goes on step by step; it and the whole grid afterwards."""
    row, column = divmod(rank, GRID)
    at = np.s_[TILE * row : TILE * (row + 1), TILE * column : TILE * (column + 1)]
    i, j = np.indices((SIDE, SIDE))
    grid = ((31 * i + 17 * j + run) % 1009).astype(np.float64)
    tile = grid[at].copy()
    for phases in repetitions(program, 1):
        border = {"up": tile[0], "down": tile[-1], "left": tile[:, 0], "right": tile[:, -1]}
        peers = {
            "up": (row - 1) % GRID * GRID + column,
            "down": (row + 1) % GRID * GRID + column,
            "left": row * GRID + (column - 1) % GRID,
            "right": row * GRID + (column + 1) % GRID,
        }
        out = {peers[side]: np.ascontiguousarray(border[side]).reshape(4, -1) for side in peers}
        into = {peer: np.full((4, TILE // 4), np.nan) for peer in peers.values()}
        for phase in phases:
            exchange(program, 1, phase, out, into)
        wide = np.zeros((TILE + 2, TILE + 2))
        wide[1:-1, 1:-1] = tile
        wide[0, 1:-1], wide[-1, 1:-1] = into[peers["up"]].ravel(), into[peers["down"]].ravel()
        wide[1:-1, 0], wide[1:-1, -1] = into[peers["left"]].ravel(), into[peers["right"]].ravel()
        tile = (tile + wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) % 1009
        grid = step(grid)
        checked.compare(tile, grid[at])
    return tile, grid


def reduction(
    program: conset.OpenProgram, rank: int, tile: Numbers, grid: Numbers, checked: Checked
) -> None:
    """Sum s is of the points whose column is s modulo 8."""
    for phases in repetitions(program, 2):
        total = tile.reshape(TILE, -1, SUMS).sum((0, 1))
        for phase in phases:
            program.instantiate(2, phase)
            connections = program.connections(2, phase)
            peers = sorted({each.peer for each in connections})
            # in a tree by heap numbers the parent has a lower number, children have higher ones
            for child in (peer for peer in peers if peer > rank):
                add_from(program.connection(child, "receive"), total)
            for parent in (peer for peer in peers if peer < rank):
                program.connection(parent, "send").send_elements(total)
                program.connection(parent, "receive").receive_elements(total)
            for child in (peer for peer in peers if peer > rank):
                program.connection(child, "send").send_elements(total)
            program.phase_end()
        checked.compare(total, grid.reshape(SIDE, -1, SUMS).sum((0, 1)))


def add_from(connection: conset.Connection, total: Numbers) -> None:
    """Adds what arrives, as it arrives, to `total`."""
    done = 0

    def add(elements: Numbers) -> None:
        nonlocal done
        total[done : done + elements.size] += elements
        done += elements.size

    connection.receive_apply(total.size, np.float64, add)


def repetitions(program: conset.OpenProgram, number: int) -> list[range]:
    """The phases of every repetition of a block, forth and back where it turns."""
    block = program.blocks[number]
    forth = range(block.phases)
    return [forth[::-1] if block.turns and k % 2 else forth for k in range(block.repeat)]


def main(path: str, runs: int) -> int:
    """Runs everything `runs` times; the number of wrong values."""
    comm = MPI.COMM_WORLD
    checked = Checked()
    with conset.program_open(path, comm, timeout_s=TIMEOUT_S) as program:
        began = time.monotonic()
        for run in range(runs):
            transpose(program, comm.rank, run, checked)
            tile, grid = halo(program, comm.rank, run, checked)
            reduction(program, comm.rank, tile, grid, checked)
        elapsed_s = time.monotonic() - began
        times = program.times
    values, wrong = comm.allreduce(checked.values), comm.allreduce(checked.wrong)
    slowest = [
        comm.allreduce(each, MPI.MAX)
        for each in (times.drain_s, times.synchronization_s, times.setup_s)
    ]
    if comm.rank == 0:
        drain_s, synchronization_s, setup_s = slowest
        print(f"three_blocks: {runs} runs, {values} values checked, {wrong} wrong")
        print(
            f"  {times.phases} phases, {times.switches} switches in {elapsed_s:.3f} s; of the "
            "slowest rank: drain "
            f"{drain_s:.3f} s, synchronization {synchronization_s:.3f} s, set-up {setup_s:.3f} s"
        )
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1) != 0)
