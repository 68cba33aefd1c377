"""Pattern specs: one text, a generator's name with options or a file, to a Pattern.

And the sizes it may ask for.

Sizes are equal, or drawn from a distribution (`DISTRIBUTIONS`).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    InputError,
    Ints,
    UsageError,
    parse_size,
    require_file,
    shortened,
    unknown_name,
)
from conset.machine.network.topology import Topology
from conset.pattern.generators.partners import Setting
from conset.pattern.generators.table import COMMON, GENERATORS, Argument, Generator
from conset.pattern.layout import Partition
from conset.pattern.pattern import Pattern
from conset.pattern.readers.columns import bytes_of_unit
from conset.pattern.readers.entries import MAX_RANKS, ReadOptions
from conset.pattern.readers.records import SUFFIX as RECORD, is_record
from conset.pattern.readers.table import READERS, Reader

DISTRIBUTIONS: Mapping[str, tuple[tuple[str, str], str]] = {
    "uniform": (("a", "b"), "whole bytes from a to b, ends included"),
    "log-uniform": (("a", "b"), "the logarithm uniform from a to b: as many in every octave"),
    "lognormal": (
        ("median", "sigma"),
        "median times e to a normal number of deviation sigma, at least 1 byte",
    ),
}
"""Name of a distribution → its arguments and what it draws.

A plain size (`4KiB`) makes all messages equal.
"""

_CALL = re.compile(r"\s*([A-Za-z][A-Za-z-]*)\s*\((.*)\)\s*$")
DEFAULT_SIZE = "1KiB"
"""Size of a generated message where the spec does not say."""


def parse_pattern(
    text: str,
    *,
    topology: Topology | None = None,
    ranks: int | None = None,
    seed: int = 0,
    parts: int | None = None,
    rows_to: int | None = None,
    word: int = 8,
    unit: str | None = None,
) -> Pattern:
    """A pattern from a spec (`random:degree=16,size=4KiB`) or a file (`halo.csv`).

    Args:
        text: spec or path; `input_path` says which.
        topology: the network, for patterns that follow its coordinates.
        ranks: number of ranks where neither spec nor file says; None: one per endpoint of the
            network.
        seed: of every random choice, METIS included, where the spec does not say.
        parts: parts of a mesh or graph.
        rows_to: ranks to distribute a sparse matrix over.
        word: bytes of an entry or node where a file counts words [B].
        unit: what a size without a unit counts in a file (`KiB`); None: bytes.

    Raises:
        UsageError: unknown pattern, option or distribution; a value that does not parse or is out
            of range; an option of files that does not matter here; no number of ranks; a mesh
            without `parts`.
        InputError: a missing or broken file, or a pattern that does not fit the ranks or the
            network.
    """
    if ranks is None and topology is not None:
        ranks = topology.endpoints
    if ranks is not None and ranks > MAX_RANKS:
        raise UsageError(f"ranks = {ranks}: must be at most {MAX_RANKS}", options=["ranks"])
    unit_bytes = None if unit is None else bytes_of_unit(unit)
    options = ReadOptions(ranks, parts, rows_to, word, seed, unit_bytes)
    path = input_path(text)
    if path is None:
        _refuse_options(f"pattern '{text}'", options)
        return _generate(text, topology, ranks, seed)
    return _reader(path, options).function(path, options)


def parse_partition(
    text: str, *, parts: int | None = None, rows_to: int | None = None, word: int = 8, seed: int = 0
) -> Partition:
    """A file that is a mesh, graph, matrix or packfile, partitioned: its pattern and who owns what.

    Raises:
        UsageError: no `parts` or `rows_to` where the file needs one, or one that it does not take.
        InputError: a spec, a file with messages and without owners of items, or a missing or
            broken file.
    """
    options = ReadOptions(None, parts, rows_to, word, seed)
    path = input_path(text)
    if path is None:
        raise InputError(
            f"pattern '{text}': has no layout: a mesh, graph or matrix that is "
            "partitioned is required"
        )
    reader = _reader(path, options)
    if reader.partition is None:
        raise InputError(f"{path}: has no layout: it contains messages, not the owners of items")
    return reader.partition(path, options)


def _reader(path: Path, options: ReadOptions) -> Reader:
    """The reader of a file that is there and takes the options."""
    suffix = RECORD if is_record(path) else path.suffix.lower()
    if suffix not in READERS and os.path.exists(path) and not os.path.isdir(path):
        raise InputError(
            f"{path}: unknown suffix '{path.suffix}', known: {' '.join(READERS)}",
            what="content",
            given=path,
        )
    if not (suffix == RECORD and path.is_dir()):
        require_file(path)
    _refuse_options(str(path), options, READERS[suffix].takes)
    return READERS[suffix]


def input_path(text: str) -> Path | None:
    """The file a text names, or None where it is a spec.

    A known generator is a spec; else what ends in a known suffix, contains a separator of folders
    or exists is a file.
    """
    if _head(text) in GENERATORS:
        return None
    path = Path(text)
    separators = [os.sep, os.altsep] if os.altsep else [os.sep]
    is_file = path.suffix.lower() in READERS or any(separator in text for separator in separators)
    return path if text.strip() and (is_file or os.path.exists(text)) else None


def _head(text: str) -> str:
    return re.split("[:,]", text, maxsplit=1)[0].strip()


def _refuse_options(where: str, options: ReadOptions, takes: tuple[str, ...] = ()) -> None:
    for name in ("parts", "rows_to", "word", "unit"):
        if getattr(options, name) != getattr(ReadOptions, name) and name not in takes:
            files = " ".join(suffix for suffix, reader in READERS.items() if name in reader.takes)
            raise UsageError(f"{where}: {name} is for {files} only", options=[name])


def split_options(text: str) -> list[str]:
    """Split a list at its commas, except those inside parentheses.

    `a=1,size=uniform(1,2)` has two entries.
    """
    tokens, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            tokens.append("")
        else:
            tokens[-1] += letter
    return [word.strip() for word in tokens]


def _options(text: str, name: str, known: Mapping[str, object]) -> dict[str, str]:
    """The `key=value` words after the name of a pattern."""
    rest = text[len(text) - len(text.lstrip()) + len(name) :].lstrip()
    found: dict[str, str] = {}
    for word in split_options(rest[1:]) if rest[1:].strip() else []:
        key, equals, value = (piece.strip() for piece in word.partition("="))
        if not equals or not key or not value:
            raise UsageError(
                f"pattern '{text}': option '{word}': key=value required, keys: {', '.join(known)}"
            )
        if key not in known:
            raise unknown_name(f"option of {name}", key, known)
        if key in found:
            raise UsageError(f"pattern '{text}': option '{key}' is given twice")
        found[key] = value
    return found


def _whole(key: str, text: str, minimum: int | None, maximum: int = 2**31 - 1) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,30}", text) is None:
        raise UsageError(f"{key} '{shortened(text)}': a whole number required")
    value = int(text)
    if abs(value) > maximum:
        raise UsageError(f"{key} = {value}: must be at most {maximum}")
    if minimum is not None and value < minimum:
        raise UsageError(f"{key} = {value}: must be at least {minimum}")
    return value


def _number(key: str, text: str, minimum: int | None) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{key} '{shortened(text)}': a number required") from None
    if not math.isfinite(value):
        raise UsageError(f"{key} = {value}: must be finite")
    if minimum is not None and value < minimum:
        raise UsageError(f"{key} = {value:g}: must be at least {minimum}")
    return value


def _argument(key: str, text: str, argument: Argument) -> float | str | tuple[int, ...]:
    if isinstance(argument.default, str):
        if text not in argument.choices:
            raise unknown_name(key, text, argument.choices)
        return text
    if argument.in_bytes:
        return _at_least_one(text, key)
    if isinstance(argument.default, tuple):
        return tuple(_whole(key, side, 1) for side in text.split("x"))
    if isinstance(argument.default, float):
        return _number(key, text, argument.minimum)
    return _whole(key, text, argument.minimum)


def _generate(text: str, topology: Topology | None, ranks: int | None, seed: int) -> Pattern:
    name = _head(text)
    if name not in GENERATORS:
        raise unknown_name("pattern", name, GENERATORS)
    row: Generator = GENERATORS[name]
    options = _options(text, name, {**row.arguments, **COMMON})
    given = options.pop("size", None)
    sizes = _DEFAULT_SIZES if given is None else parse_sizes(given)
    ranks = _whole("ranks", options.pop("ranks"), 1, MAX_RANKS) if "ranks" in options else ranks
    if ranks is None:
        raise UsageError(
            f"pattern '{text}': ranks=N required where no machine says how many there are"
        )
    random = np.random.default_rng(_whole("seed", options.pop("seed", str(seed)), 0))
    arguments: dict[str, object] = {
        key: _argument(key, options[key], argument) if key in options else argument.default
        for key, argument in row.arguments.items()
    }
    partners = row.function(Setting(ranks, topology, random), **arguments)
    if partners.size is not None and given is None:
        return Pattern(
            ranks,
            partners.offsets,
            partners.target,
            partners.size,
            None,
            partners.local_bytes,
            text,
        )
    size = sizes.draw(partners.target.size + partners.local, random)
    remote, local = size[: partners.target.size], size[partners.target.size :]
    return Pattern(ranks, partners.offsets, partners.target, remote, None, int(local.sum()), text)


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

    def draw(self, count: int, random: np.random.Generator) -> Ints:
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


def parse_sizes(text: str) -> Sizes:
    """`4KiB`, `uniform(64,4KiB)`, `log-uniform(64,64KiB)` or `lognormal(1KiB,0.5)` as `Sizes`.

    Raises:
        UsageError: unknown distribution, wrong number of arguments, a size that does not parse or
            is below 1 byte, ends in the wrong order, a negative deviation.
    """
    call = _CALL.match(text)
    if call is None:
        if text.strip() in DISTRIBUTIONS:
            raise UsageError(
                f"size '{text}': write {text.strip()}({','.join(DISTRIBUTIONS[text.strip()][0])})"
            )
        return Sizes("equal", _at_least_one(text, "size"))
    kind, inside = call[1], [word.strip() for word in call[2].split(",")]
    if kind not in DISTRIBUTIONS:
        raise unknown_name("distribution of sizes", kind, DISTRIBUTIONS)
    names = DISTRIBUTIONS[kind][0]
    if len(inside) != len(names):
        raise UsageError(
            f"size '{text}': {kind} takes {len(names)} arguments ({', '.join(names)}), given "
            f"{len(inside)}"
        )
    low = _at_least_one(inside[0], f"size {names[0]}")
    if kind == "lognormal":
        return Sizes(kind, low, sigma=_sigma(inside[1], text))
    high = _at_least_one(inside[1], f"size {names[1]}")
    if high < low:
        raise UsageError(f"size '{text}': a must be at most b, a is {low} B and b is {high} B")
    return Sizes(kind, low, high)


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


_DEFAULT_SIZES = parse_sizes(DEFAULT_SIZE)
