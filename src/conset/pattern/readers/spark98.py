"""Spark98 packfiles (`.pack`): partitioned finite-element meshes with their communication schedule.

Numbers separated by white space (D. O'Hallaron, Spark98: sparse matrix kernels for shared memory
and message passing systems, CMU-CS-97-178): nodes, dimension; elements, corners; subdomains,
processors; per subdomain nodes, mine and priv; per subdomain its nodes (global number,
coordinates); elements per subdomain; per subdomain its elements (global number, corners); per
subdomain two lengths of its matrix; per subdomain the (i, j) of its matrix, as many as the first
length; per subdomain the number of words that it sends; for each i, for each j a count and that
many nodes of i shared with j.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conset.base import InputError, Ints
from conset.pattern.layout import Layout, Partition
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, located

_NO_NUMBER = re.compile(
    rb"(?<!\S)(?![+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\S))\S"
)
"""Where the first word begins that is no number.

Numbers are as `float` reads them, without its underscores, digits of other scripts, nan and inf.
(No possessive quantifiers: before Python 3.11.5 a group that fails keeps what it took.)
"""


@dataclass(frozen=True, eq=False)
class _Pack:
    """The contents of a file.

    Attributes:
        nodes: global numbers of each subdomain's nodes.
        elements: of its elements.
        shared: (i, j) → the nodes of i that it shares with j, by their places in the list of i.
    """

    nodes: list[Ints]
    elements: list[Ints]
    shared: dict[tuple[int, int], Ints]


def read_spark98(path: Path, options: ReadOptions) -> Pattern:
    """Subdomain i sends subdomain j one word for every node they share.

    Raises:
        InputError: a token that is no number, a file that ends early or late, counts that
            contradict each other.
    """
    pack = _read_pack(path)
    pairs = [pair for pair, local in pack.shared.items() if local.size]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    size = np.array([pack.shared[pair].size for pair in pairs], np.int64) * options.word
    return located(
        str(path),
        lambda: Pattern.from_messages(source, target, size, len(pack.nodes), name=path.name),
    )


def partition_spark98(path: Path, options: ReadOptions) -> Partition:
    """The partition that a file carries, nodes and elements numbered from 0.

    Raises what `read_spark98` raises.

    Values travel by ascending number of their nodes, whatever the order of the lists.

    Raises:
        InputError: two subdomains share other nodes by the list of the one than by the list of the
            other, or an element is in two subdomains or in none.
    """
    pack = _read_pack(path)
    parts = len(pack.nodes)
    element = np.concatenate(pack.elements)
    part = np.repeat(np.arange(parts, dtype=np.int32), [own.size for own in pack.elements])
    if not np.array_equal(np.sort(element), np.arange(1, element.size + 1)):
        raise InputError(
            f"{path}: elements must be numbered from 1 to {element.size}, each in one subdomain"
        )
    sent = {
        pair: np.sort(pack.nodes[pair[0]][local]) - 1
        for pair, local in pack.shared.items()
        if local.size
    }
    for (i, j), numbers in sent.items():
        if i == j or (j, i) not in sent or not np.array_equal(numbers, sent[j, i]):
            raise InputError(
                f"{path}: subdomains {i} and {j} share other nodes one way than the "
                "other: must agree"
            )
    source, target = np.array([*sent], np.int32).reshape(-1, 2).T
    layout = located(
        str(path),
        lambda: Layout(
            "shared",
            part[np.argsort(element)],
            options.word,
            _offsets(pack.nodes),
            np.concatenate([np.sort(own) - 1 for own in pack.nodes]),
            np.zeros(parts + 1, np.int64),
            np.zeros(0, np.int64),
            source,
            target,
            _offsets([*sent.values()]),
            np.concatenate([np.zeros(0, np.int64), *sent.values()]),
        ),
    )
    return Partition(layout.pattern(path.name), layout)


def _offsets(rows: list[Ints]) -> Ints:
    return np.cumsum([0, *(row.size for row in rows)], dtype=np.int64)


def _read_pack(path: Path) -> _Pack:
    tokens = _Tokens(path)
    dimension = tokens.take(2, "nodes and dimension")[1]
    corners = tokens.take(2, "elements and corners")[1]
    parts = int(tokens.take(2, "subdomains and processors")[0])
    if parts < 1:
        raise InputError(f"{path}: {parts} subdomains: must be at least 1")
    nodes = tokens.take(3 * parts, "nodes of subdomains").reshape(parts, 3)[:, 0]
    numbers = tokens.numbers(nodes, int(1 + dimension), "nodes")
    own = tokens.numbers(tokens.take(parts, "numbers of elements"), int(1 + corners), "elements")
    lengths = tokens.take(2 * parts, "lengths of matrices").reshape(parts, 2)[:, 0]
    tokens.take(2 * int(lengths.sum()), "entries of matrices")
    words = tokens.take(parts, "sent data of subdomains")
    shared = _shared_nodes(tokens, nodes)
    tokens.end()
    counts = np.array([local.size for local in shared.values()], np.int64).reshape(parts, parts)
    _check_shared(path, counts, words)
    return _Pack(numbers, own, shared)


def _shared_nodes(tokens: _Tokens, nodes: Ints) -> dict[tuple[int, int], Ints]:
    """(i, j) → the nodes of i that it shares with j, by the lists of i."""
    parts = nodes.size
    shared = {}
    for i in range(parts):
        for j in range(parts):
            count = int(tokens.take(1, f"shared nodes of subdomains {i} and {j}")[0])
            local = tokens.take(count, f"shared nodes of subdomains {i} and {j}")
            if count and local.max() >= nodes[i]:
                where = f"{tokens.path}: shared nodes of subdomains {i} and {j}"
                raise InputError(f"{where}: node {local.max()}: must be below {nodes[i]}")
            shared[i, j] = local
    return shared


def _check_shared(path: Path, shared: Ints, words: Ints) -> None:
    differ = np.argwhere(shared != shared.T)
    if differ.size:
        i, j = differ[0]
        raise InputError(
            f"{path}: subdomains {i} and {j} share {shared[i, j]} nodes one way, {shared[j, i]} "
            "the other: must agree"
        )
    wrong = np.flatnonzero(shared.sum(axis=1) != words)
    if wrong.size:
        i = wrong[0]
        raise InputError(
            f"{path}: subdomain {i} shares {shared[i].sum()} nodes in its lists, {words[i]} in "
            "its length: must agree"
        )


class _Tokens:
    """The numbers of a file, taken from the front block by block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        content = path.read_bytes()
        words = content.split()
        wrong = _NO_NUMBER.search(content)
        if wrong is not None:
            k = len(content[: wrong.start()].split())
            text = words[k][:20].decode(errors="replace")
            raise InputError(f"{path}: number {k + 1} of the file: '{text}' is no number")
        self._numbers = np.array(words, np.float64)
        self._next = 0

    def numbers(self, counts: Ints, stride: int, what: str) -> list[Ints]:
        """The first of every `stride` numbers, as lists of these lengths; the others may be any."""
        begin = self._next
        self.take(int(counts.sum()) * stride, what, whole=False)
        return np.split(self._whole(begin, self._next, stride, what), np.cumsum(counts)[:-1])

    def take(self, count: int, what: str, *, whole: bool = True) -> Ints:
        """shape=(count): the next numbers.

        Unless `whole` is off they must be whole and not negative.
        """
        left = self._numbers.size - self._next
        if count > left:
            raise InputError(
                f"{self.path}: truncated in {what}: {count} numbers required, {left} left"
            )
        begin = self._next
        self._next += count
        return self._whole(begin, self._next, 1, what) if whole else np.zeros(0, np.int64)

    def _whole(self, begin: int, end: int, stride: int, what: str) -> Ints:
        """Every `stride`-th of these numbers, which must be whole and not negative."""
        block = self._numbers[begin:end:stride]
        wrong = np.flatnonzero(~((block >= 0) & (block < 2**53) & (block == np.floor(block))))
        if wrong.size:
            k = int(wrong[0])
            raise InputError(
                f"{self.path}: number {begin + k * stride + 1} of the file ({what}) = "
                f"{block[k]:g}: must be whole and "
                "at least 0"
            )
        return block.astype(np.int64)

    def end(self) -> None:
        """Nothing may be left; one stray number is in the published files."""
        left = self._numbers.size - self._next
        if left > 1:
            raise InputError(
                f"{self.path}: {left} numbers are left after the last subdomain, at most 1 expected"
            )
