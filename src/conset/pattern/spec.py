"""Pattern specs: one text, a generator's name with options or a file, to a Pattern."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from conset.errors import InputError, UsageError, shortened, unknown_name
from conset.files import require_file
from conset.network.topology import Topology
from conset.pattern.generators.partners import Setting
from conset.pattern.generators.table import COMMON, GENERATORS, Argument, Generator
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import MAX_RANKS
from conset.pattern.readers.options import ReadOptions
from conset.pattern.readers.table import READERS
from conset.pattern.sizes import parse_sizes

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
) -> Pattern:
    """A pattern from a spec (`random:degree=16,size=4KiB`) or a file (`halo.csv`).

    Args:
        text: spec or path; `input_path` says which.
        topology: the network, for patterns that follow its coordinates.
        ranks: number of ranks where neither spec nor file says; None: one per endpoint of the network.
        seed: of every random choice, METIS included, where the spec does not say.
        parts: parts of a mesh or graph.
        rows_to: ranks to distribute a sparse matrix over.
        word: bytes of an entry or node where a file counts words [B].

    Raises:
        UsageError: unknown pattern, option or distribution; a value that does not parse or is out of range; an option
            of files that does not matter here; no number of ranks; a mesh without `parts`.
        InputError: a missing or broken file, or a pattern that does not fit the ranks or the network.
    """
    if ranks is None and topology is not None:
        ranks = topology.endpoints
    options = ReadOptions(ranks, parts, rows_to, word, seed)
    path = input_path(text)
    if path is None:
        _refuse_options(f"pattern '{text}'", options, ())
        return _generate(text, topology, ranks, seed)
    suffix = path.suffix.lower()
    if suffix not in READERS and os.path.exists(path) and not os.path.isdir(path):
        raise InputError(f"{path}: unknown suffix '{path.suffix}', known: {' '.join(READERS)}")
    require_file(path)
    _refuse_options(str(path), options, READERS[suffix].takes)
    return READERS[suffix].function(path, options)


def input_path(text: str) -> Path | None:
    """The file a text names, or None where it is a spec.

    A known generator is a spec; else what ends in a known suffix, contains a separator of folders or exists is a file.
    """
    if _head(text) in GENERATORS:
        return None
    path = Path(text)
    separators = [os.sep, os.altsep] if os.altsep else [os.sep]
    is_file = path.suffix.lower() in READERS or any(separator in text for separator in separators)
    return path if text.strip() and (is_file or os.path.exists(text)) else None


def _head(text: str) -> str:
    return re.split("[:,]", text, maxsplit=1)[0].strip()


def _refuse_options(where: str, options: ReadOptions, takes: tuple[str, ...]) -> None:
    for name in ("parts", "rows_to"):
        if getattr(options, name) is not None and name not in takes:
            files = " ".join(suffix for suffix, reader in READERS.items() if name in reader.takes)
            raise UsageError(f"{where}: --{name.replace('_', '-')} is for {files} only")


def split_options(text: str) -> list[str]:
    """The words of a list with commas, those inside parentheses kept: `a=1,size=uniform(1,2)` has two."""
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
            raise UsageError(f"pattern '{text}': option '{word}': key=value required, keys: {', '.join(known)}")
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


def _argument(key: str, text: str, argument: Argument) -> int | tuple[int, ...]:
    if isinstance(argument.default, tuple):
        return tuple(_whole(key, side, 1) for side in text.split("x"))
    return _whole(key, text, argument.minimum)


def _generate(text: str, topology: Topology | None, ranks: int | None, seed: int) -> Pattern:
    name = _head(text)
    if name not in GENERATORS:
        raise unknown_name("pattern", name, GENERATORS)
    row: Generator = GENERATORS[name]
    options = _options(text, name, {**row.arguments, **COMMON})
    sizes = parse_sizes(options.pop("size", DEFAULT_SIZE))
    ranks = _whole("ranks", options.pop("ranks"), 1, MAX_RANKS) if "ranks" in options else ranks
    if ranks is None:
        raise UsageError(f"pattern '{text}': ranks=N required where no machine says how many there are")
    random = np.random.default_rng(_whole("seed", options.pop("seed", str(seed)), 0))
    arguments = {key: argument.default for key, argument in row.arguments.items()}
    arguments.update({key: _argument(key, value, row.arguments[key]) for key, value in options.items()})
    partners = row.function(Setting(ranks, topology, random), **arguments)
    size = sizes.draw(partners.target.size + partners.local, random)
    remote, local = size[: partners.target.size], size[partners.target.size :]
    return Pattern(ranks, partners.offsets, partners.target, remote, None, int(local.sum()), text)
