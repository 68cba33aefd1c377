"""Tally: how many messages each resource carries in each group of transfers, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conset.verification.traffic import Ints


def runs(key: Ints) -> Iterator[tuple[int, int]]:
    """(low, high) of every run of equal keys, none of them negative."""
    cuts = np.flatnonzero(np.diff(key, prepend=-1)).tolist()
    return pairwise([*cuts, key.size]) if cuts else iter(())


@dataclass(frozen=True, eq=False)
class Counts:
    """Messages per (group, resource).

    Attributes:
        groups: number of groups.
        resources: number of resources.
        key: `group * resources + resource` of each count, rising; None: every one, in order.
        count: messages.
    """

    groups: int
    resources: int
    key: Ints | None
    count: Ints

    def peaks(self, width: NDArray[np.int32] | int = 1) -> Ints:
        """shape=(groups): the most messages of any resource, per unit of its width, rounded up."""
        if self.key is None:
            count = self.count.reshape(self.groups, self.resources)
            if not (isinstance(width, int) and width == 1):
                count = -(-count // width)
            peaks: Ints = count.max(axis=1, initial=0)
            return peaks
        peaks = np.zeros(self.groups, np.intp)
        if self.key.size:
            unit = width if isinstance(width, int) else width[self.key % self.resources]
            group = self.key // self.resources
            start = np.flatnonzero(np.diff(group, prepend=-1))
            peaks[group[start]] = np.maximum.reduceat(-(-self.count // unit), start)
        return peaks

    def above(self, limit: int, width: NDArray[np.int32] | int = 1) -> tuple[Ints, Ints, Ints]:
        """(group, resource, count) of every resource that carries more than `limit` per unit of its width."""
        if self.key is None:
            most = limit * width if isinstance(width, int) else limit * width.astype(np.intp)
            at = np.flatnonzero(self.count.reshape(self.groups, self.resources) > most)
            return at // self.resources, at % self.resources, self.count.ravel()[at]
        unit = width if isinstance(width, int) else width.astype(np.intp)[self.key % self.resources]
        at = np.flatnonzero(self.count > limit * unit)
        return self.key[at] // self.resources, self.key[at] % self.resources, self.count[at]


class Tally:
    """Adds up uses of resources, block by block."""

    def __init__(self, groups: int, resources: int, dense: bool) -> None:
        self.groups, self.resources = groups, resources
        self._dense: Ints | None = np.zeros(groups * resources, np.intp) if dense else None
        self._keys: list[Ints] = []
        self._counts: list[Ints] = []

    @property
    def is_dense(self) -> bool:
        """Whether every (group, resource) has a cell."""
        return self._dense is not None

    def add(self, group: Ints, resource: NDArray[np.int32] | Ints) -> None:
        """One use of each `resource[k]` in `group[k]`."""
        key = group * self.resources
        key += resource
        if self._dense is not None:
            self._dense += np.bincount(key, minlength=self._dense.size)
        else:
            unique, count = np.unique(key, return_counts=True)
            self._keys.append(unique)
            self._counts.append(count)

    def add_counts(self, counts: Ints) -> None:
        """Uses already counted, for a dense tally."""
        assert self._dense is not None  # whoever counts whole phases asked for a dense one
        self._dense += counts.ravel()

    def counts(self) -> Counts:
        """What was added so far."""
        if self._dense is not None:
            return Counts(self.groups, self.resources, None, self._dense)
        none = np.zeros(0, np.intp)
        key, count = np.concatenate([none, *self._keys]), np.concatenate([none, *self._counts])
        if len(self._keys) > 1:
            order = np.argsort(key, kind="stable")
            start = np.flatnonzero(np.diff(key[order], prepend=-1))
            key, count = key[order][start], np.add.reduceat(count[order], start) if start.size else none
        return Counts(self.groups, self.resources, key, count)
