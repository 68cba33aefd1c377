"""Halo: what a rank has of others' rows or nodes, and who sends it.

When a matrix, graph or mesh is distributed.
"""

from __future__ import annotations

import numpy as np

from conset.base import Integers, Ints, Ints32, distinct_ints
from conset.pattern.layout import Layout


def ghost_layout(rows: Ints, columns: Ints, part: Integers, ranks: int, word: int) -> Layout:
    """Rows that are owned once.

    Rank q sends rank p the rows of q that occur as columns in the rows of p, once each.

    Args:
        rows: shape=(entries): the row of entry k.
        columns: shape=(entries): the row that it refers to.
        part: shape=(rows): the rank of each.
        ranks: number of ranks.
        word: of an item [B].
    """
    user, owner = part[rows].astype(np.int64), part[columns]
    foreign = user != owner
    key = distinct_ints(user[foreign] * part.size + columns[foreign])
    user, number = key // part.size, key % part.size
    owner = part[number].astype(np.int64)
    held = np.lexsort((number, owner, user))
    sent = np.lexsort((number, user, owner))
    source, target, offsets = _messages(owner[sent], user[sent], ranks)
    return Layout(
        "ghost",
        part.astype(np.int32),
        word,
        _offsets(part, ranks),
        np.argsort(part, kind="stable"),
        _offsets(user, ranks),
        number[held],
        source,
        target,
        offsets,
        number[sent],
    )


def shared_layout(
    offsets: Ints,
    nodes: Ints,
    part: Integers,
    ranks: int,
    word: int,
    numbers: Ints | None = None,
) -> Layout:
    """Nodes that exist on every rank with a cell of theirs.

    Two ranks send each other the nodes that both have.

    Args:
        offsets: shape=(cells + 1): cell c has `nodes[offsets[c]:offsets[c + 1]]`.
        nodes: numbers from 0, dense enough for arrays of their length.
        part: shape=(cells): the rank of each.
        ranks: number of ranks.
        word: of an item [B].
        numbers: what the file calls each node, ascending; None: the same.
    """
    key = distinct_ints(
        nodes * ranks + np.repeat(part, np.diff(offsets))
    )  # by node, then rank that has it
    node, rank = key // ranks, key % ranks
    first = np.searchsorted(node, node)
    count = np.searchsorted(node, node, side="right") - first
    # every entry beside every entry of its node
    one = np.repeat(np.arange(node.size), count)
    other = (
        np.repeat(first, count) + np.arange(one.size) - np.repeat(np.cumsum(count) - count, count)
    )
    apart = one != other
    one, other = one[apart], other[apart]
    sent = np.lexsort((node[one], rank[other], rank[one]))
    source, target, item_offsets = _messages(rank[one][sent], rank[other][sent], ranks)
    name = node if numbers is None else numbers[node]
    return Layout(
        "shared",
        part.astype(np.int32),
        word,
        _offsets(rank, ranks),
        name[np.argsort(rank, kind="stable")],
        np.zeros(ranks + 1, np.int64),
        np.zeros(0, np.int64),
        source,
        target,
        item_offsets,
        name[one][sent],
    )


def _messages(source: Integers, target: Integers, ranks: int) -> tuple[Ints32, Ints32, Ints]:
    """(source, target, offsets of their items) of the messages that items make.

    Items are sorted by source, then target.
    """
    key = source * ranks + target
    found = distinct_ints(key)
    begin = np.searchsorted(key, found)
    return (
        (found // ranks).astype(np.int32),
        (found % ranks).astype(np.int32),
        np.append(begin, key.size),
    )


def _offsets(rank: Integers, ranks: int) -> Ints:
    """shape=(ranks + 1): where the entries of each rank begin, sorted by rank."""
    return np.concatenate([[0], np.cumsum(np.bincount(rank, minlength=ranks))])
