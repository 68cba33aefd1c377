"""Sizes: how many bytes the messages of a generated pattern have, equal or drawn from a distribution."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.errors import UsageError, unknown_name
from conset.units import MAX_SIZE_B, parse_size

DISTRIBUTIONS: Mapping[str, tuple[tuple[str, str], str]] = {
    "uniform": (("a", "b"), "whole bytes from a to b, ends included"),
    "log-uniform": (("a", "b"), "the logarithm uniform from a to b: as many in every octave"),
    "lognormal": (("median", "sigma"), "median times e to a normal number of deviation sigma, at least 1 byte"),
}
"""Name of a distribution → its arguments and what it draws; a plain size (`4KiB`) makes all messages equal."""

_CALL = re.compile(r"\s*([A-Za-z][A-Za-z-]*)\s*\((.*)\)\s*$")


@dataclass(frozen=True)
class Sizes:
    """A distribution of sizes in whole bytes, at least 1.

    Attributes:
        kind: `equal` or a name of DISTRIBUTIONS.
        low: the size, the lower end, or the median [B].
        high: the upper end [B]; unused by `equal` and `lognormal`.
        sigma: deviation of the natural logarithm; `lognormal` only.
    """

    kind: str
    low: int
    high: int = 0
    sigma: float = 0.0

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        """shape=(count), int64 [B]; equal sizes are one broadcast element and take no memory."""
        if self.kind == "equal":
            return np.broadcast_to(np.int64(self.low), count)
        if self.kind == "uniform":
            return random.integers(self.low, self.high, size=count, dtype=np.int64, endpoint=True)
        if self.kind == "log-uniform":
            drawn = np.exp(random.uniform(math.log(self.low), math.log(self.high), size=count))
            return np.clip(np.rint(drawn), self.low, self.high).astype(np.int64)
        # the exponent is cut where the size is far above any allowed one: no overflow to infinity
        drawn = self.low * np.exp(np.minimum(self.sigma * random.standard_normal(count), 50.0))
        return np.clip(np.rint(drawn), 1, MAX_SIZE_B).astype(np.int64)


def _at_least_one(text: str, what: str) -> int:
    size = parse_size(text, what)
    if size < 1:
        raise UsageError(f"{what} '{text}': must be at least 1 B, is {size} B")
    return size


def _sigma(text: str, whole: str) -> float:
    try:
        sigma = float(text)
    except ValueError:
        raise UsageError(f"size '{whole}': sigma must be a number, given '{text}'") from None
    if not 0 <= sigma < math.inf:
        raise UsageError(f"size '{whole}': sigma must be finite and at least 0, is {sigma:g}")
    return sigma


def parse_sizes(text: str) -> Sizes:
    """`4KiB`, `uniform(64,4KiB)`, `log-uniform(64,64KiB)` or `lognormal(1KiB,0.5)` as `Sizes`.

    Raises:
        UsageError: unknown distribution, wrong number of arguments, a size that does not parse or is below 1 byte,
            ends in the wrong order, a negative deviation.
    """
    call = _CALL.match(text)
    if call is None:
        if text.strip() in DISTRIBUTIONS:
            raise UsageError(f"size '{text}': write {text.strip()}({','.join(DISTRIBUTIONS[text.strip()][0])})")
        return Sizes("equal", _at_least_one(text, "size"))
    kind, inside = call[1], [word.strip() for word in call[2].split(",")]
    if kind not in DISTRIBUTIONS:
        raise unknown_name("distribution of sizes", kind, DISTRIBUTIONS)
    names = DISTRIBUTIONS[kind][0]
    if len(inside) != len(names):
        raise UsageError(
            f"size '{text}': {kind} takes {len(names)} arguments ({', '.join(names)}), given {len(inside)}"
        )
    low = _at_least_one(inside[0], f"size {names[0]}")
    if kind == "lognormal":
        return Sizes(kind, low, sigma=_sigma(inside[1], text))
    high = _at_least_one(inside[1], f"size {names[1]}")
    if high < low:
        raise UsageError(f"size '{text}': a must be at most b, a is {low} B and b is {high} B")
    return Sizes(kind, low, high)
