"""Regular patterns: permutations, transposes of Fourier transforms, collectives.

Permutations: every rank sends to one and receives from one.

Fourier transforms: the transposes of a 3-D array that ranks hold by slabs or pencils.

A transform along an axis wants all of that axis on one rank. Slabs: every rank has a range of y and
all of x and z, then a range of x and all of y and z: everybody sends to everybody. Pencils: on p x
q ranks, rank (i, j) holds all of x, range i of y and range j of z; transpose 1 gives it all of y
and range i of x, transpose 2 all of z and range j of y: ranks of one column of the grid, or of one
row, send to each other.

Ranges are as equal as whole numbers allow: number k of n over p starts at floor(k n / p).
Source: S. Plimpton's and M. Pippig's pencils are the usual ones (M. Pippig, "PFFT", SIAM J. Sci.
Comput. 35, 2013).

Collectives: complete exchange, one rank with all others, trees, butterflies.
"""

from __future__ import annotations

from math import isqrt, prod

import numpy as np

from conset.base import Ints
from conset.pattern.generators.grid import Grid, box_of
from conset.pattern.generators.partners import (
    Partners,
    Setting,
    bits_of,
    partners_of_map,
    partners_of_pairs,
    partners_of_table,
    partners_of_volumes,
    require,
    require_bytes,
    require_messages,
)


def generate_permutation(setting: Setting) -> Partners:
    """A permutation drawn uniformly from all; its fixed points (one on average) stay local."""
    return partners_of_map(setting.random.permutation(setting.ranks))


def generate_shift(setting: Setting, *, by: int) -> Partners:
    """Rank `r` sends to `(r + by) mod ranks`; `by` may be negative."""
    return partners_of_map(
        (np.arange(setting.ranks, dtype=np.int64) + by % setting.ranks) % setting.ranks
    )


def generate_shuffle(setting: Setting) -> Partners:
    """Rank b₀b₁…bₖ sends to b₁…bₖb₀; the first and the last rank stay local.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "shuffle")
    rank = np.arange(setting.ranks, dtype=np.int64)
    return partners_of_map(((rank << 1) | (rank >> max(bits - 1, 0))) % setting.ranks)


def generate_transpose(setting: Setting) -> Partners:
    """Rank `r * s + c` sends to `c * s + r` on s² ranks; the diagonal stays local.

    Raises:
        InputError: no square number of ranks.
    """
    side = isqrt(setting.ranks)
    require(
        side * side == setting.ranks, "transpose", "a square number of ranks", f"{setting.ranks}"
    )
    return partners_of_map(np.arange(setting.ranks, dtype=np.int64).reshape(side, side).T.ravel())


def generate_bit_reverse(setting: Setting) -> Partners:
    """Rank b₀b₁…bₖ sends to bₖ…b₁b₀; palindromes stay local.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "bit-reverse")
    rank = np.arange(setting.ranks, dtype=np.int64)
    reverse = np.zeros_like(rank)
    for bit in range(bits):
        reverse |= ((rank >> bit) & 1) << (bits - 1 - bit)
    return partners_of_map(reverse)


def generate_bit_complement(setting: Setting) -> Partners:
    """Rank `r` sends to `ranks - 1 - r`.

    Raises:
        InputError: no power of two of ranks.
    """
    bits_of(setting.ranks, "bit-complement")
    return partners_of_map(np.arange(setting.ranks, dtype=np.int64)[::-1])


def generate_tornado(setting: Setting) -> Partners:
    """Coordinate x of a side of k places goes to (x + ⌈k/2⌉ - 1) mod k, on all sides at once.

    On the network's sides where it is a box with one above 2 that the ranks fill evenly (number k
    of a node sends to number k); else over the ranks as one cycle.
    """
    grid = box_of(setting)
    if grid is None or max(grid.sides) <= 2:
        grid = Grid((setting.ranks,), True, 1)
    sides = np.array(grid.sides)[:, None]
    at = np.stack(np.unravel_index(np.arange(grid.nodes), grid.sides))
    node = np.ravel_multi_index(tuple((at + (sides + 1) // 2 - 1) % sides), grid.sides)
    target = node[:, None] * grid.per_node + np.arange(grid.per_node)
    return partners_of_map(target.ravel())


def generate_fft(
    setting: Setting, *, shape: tuple[int, ...], sides: tuple[int, ...], word: int, transpose: int
) -> Partners:
    """What every rank sends in one transpose; the part that it keeps is local.

    Raises:
        InputError: an array of other than three axes, a grid that is no line or rectangle of the
            ranks, more ranks along a side than numbers, or a transpose that there is not.
    """
    ranks = setting.ranks
    require(len(shape) == 3, "fft", "a shape of three axes", "x".join(map(str, shape)))
    require_bytes(float(prod(shape)) * word, "fft")
    small = next(side for side in range(isqrt(ranks), 0, -1) if ranks % side == 0)
    grid = sides or (small, ranks // small)
    given = "x".join(map(str, grid))
    require(
        len(grid) <= 2 and prod(grid) == ranks,
        "fft",
        f"one or two sides that multiply to {ranks} ranks",
        given,
    )
    require(transpose <= len(grid), "fft", f"a transpose from 1 to {len(grid)}", f"{transpose}")
    rows, columns = grid if len(grid) == 2 else (grid[0], 1)
    nx, ny, nz = shape
    x, y, z = _ranges(nx, rows), _ranges(ny, rows), _ranges(nz, columns)
    if transpose == 2:
        y = _ranges(ny, columns)
    fewest = min(part.min() for part in (x, y, z))
    require(fewest > 0, "fft", f"at most {min(shape)} ranks along a side", given)
    rank = np.arange(ranks).reshape(rows, columns)
    if transpose == 1:
        require_messages(ranks * rows, "fft")
        volume = y[:, None, None] * x[None, :, None] * z  # from row i to row k in column j
        source, target = np.broadcast_arrays(rank[:, None, :], rank[None, :, :])
    else:
        require_messages(ranks * columns, "fft")
        volume = (
            x[:, None, None] * z[None, :, None] * y[None, None, :]
        )  # in row i from column j to column k
        source, target = np.broadcast_arrays(rank[:, :, None], rank[:, None, :])
    return partners_of_volumes(ranks, source.ravel(), target.ravel(), volume.ravel() * word)


def _ranges(numbers: int, parts: int) -> Ints:
    return np.diff(np.arange(parts + 1, dtype=np.int64) * numbers // parts)


def generate_alltoall(setting: Setting) -> Partners:
    """Message `r * (ranks - 1) + j` goes from `r` to `j`, or to `j + 1` from `j >= r` on.

    Written straight into its 4 bytes a message: an index matrix with its diagonal taken out would
    need three times that.
    """
    ranks = setting.ranks
    require_messages(ranks * (ranks - 1), "alltoall", bytes_each=4)
    everybody = np.arange(ranks, dtype=np.int32)
    target = np.empty((ranks, ranks - 1), np.int32)
    for rank in range(ranks):
        target[rank, :rank] = everybody[:rank]
        target[rank, rank:] = everybody[rank + 1 :]
    return Partners(np.arange(ranks + 1, dtype=np.int64) * (ranks - 1), target.reshape(-1))


def _into(setting: Setting, name: str, argument: str, rank: int) -> Partners:
    """Return the partners where every other rank sends to `rank`; raises where there is none."""
    required = f"{argument} = a rank from 0 to {setting.ranks - 1}"
    require(rank < setting.ranks, name, required, f"{rank}")
    into = partners_of_map(np.full(setting.ranks, rank))
    return Partners(into.offsets, into.target)


def generate_gather(setting: Setting, *, root: int) -> Partners:
    """Every other rank sends one message to rank `root`, directly.

    Raises:
        InputError: there is no such rank.
    """
    return _into(setting, "gather", "root", root)


def generate_scatter(setting: Setting, *, root: int) -> Partners:
    """Rank `root` sends one message to every other rank, directly.

    Raises:
        InputError: there is no such rank.
    """
    _into(setting, "scatter", "root", root)  # checks the rank
    offsets = np.where(np.arange(setting.ranks + 1) > root, setting.ranks - 1, 0).astype(np.int64)
    return Partners(offsets, np.delete(np.arange(setting.ranks, dtype=np.int32), root))


def generate_hotspot(setting: Setting, *, to: int) -> Partners:
    """Every other rank sends one message to rank `to`.

    Raises:
        InputError: there is no such rank.
    """
    return _into(setting, "hotspot", "to", to)


def generate_tree(setting: Setting) -> Partners:
    """Heap numbering: the parent of rank `r` is `(r - 1) // 2`, the root is 0.

    Every edge both ways.
    """
    child = np.arange(1, setting.ranks, dtype=np.int64)
    parent = (child - 1) // 2
    return partners_of_pairs(
        setting.ranks, np.concatenate([child, parent]), np.concatenate([parent, child])
    )


def generate_butterfly(setting: Setting) -> Partners:
    """Rank `r` sends to `r ^ 2^i` for every bit i.

    All stages of a butterfly at once, binary numbering.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "butterfly")
    rank = np.arange(setting.ranks, dtype=np.int64)
    return partners_of_table(rank[:, None] ^ (1 << np.arange(bits, dtype=np.int64)))
