"""Beds as they are written down: what each is made of, what it owns, until when it lives."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conset.base import InputError, UsageError, nearest, replacing
from conset_testbed.access import own_folder, require_own, state_folder
from conset_testbed.settings import Settings

_FILE = "bed.json"
_CLAIM_S = 10.0
"""Between a folder and its file pass milliseconds."""


@dataclass
class BedState:
    """One bed.

    Attributes:
        settings: what it is made of.
        endpoints: nodes that hold ranks.
        nodes: all nodes.
        links: by number: source, target, rate [bit/s].
        owned: its namespaces, and the word written into each (`namespaces.mark`); None: the name is
            claimed, perhaps nothing made yet.
        expires: when it is removed (`time.time()`).
    """

    settings: Settings
    endpoints: int
    nodes: int
    links: list[tuple[int, int, float]]
    owned: dict[str, str | None] = field(default_factory=dict)
    expires: float = 0.0

    @property
    def name(self) -> str:
        """Of the bed."""
        return self.settings.name

    @property
    def folder(self) -> Path:
        """Its files."""
        return bed_folder(self.name)

    def claim(self) -> None:
        """Takes the name, for one process only.

        Raises:
            UsageError: a bed of that name exists.
        """
        own_folder(state_folder())
        with suppress(OSError):
            if (
                not (self.folder / _FILE).exists()
                and time.time() - self.folder.stat().st_mtime > _CLAIM_S
            ):
                # whoever took the name did not live to write the bed down: nothing was made
                self.forget()
        try:
            self.folder.mkdir(mode=0o700)
        except FileExistsError:
            name = self.name
            raise UsageError(
                f"testbed '{name}' exists: `conset testbed down {name}` removes it"
            ) from None
        self.save()

    def save(self) -> None:
        """Writes it down."""
        found = {**vars(self), "settings": self.settings.to_object()}
        with replacing(self.folder / _FILE) as path:
            path.write_text(json.dumps(found, indent=1))

    def forget(self) -> None:
        """Removes its files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def bed_folder(name: str) -> Path:
    """The files of a bed.

    Raises:
        UnavailableError: where beds are written down is somebody else's.
    """
    require_own(state_folder())
    return state_folder() / name


def read_bed(name: str) -> BedState:
    """A bed that was written down.

    Raises:
        UsageError: there is none of that name. InputError: the file is no bed's.
    """
    Settings(name=name)  # no path
    path = bed_folder(name) / _FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        links = [(int(a), int(b), float(rate)) for a, b, rate in found.pop("links")]
        return BedState(**{**found, "settings": Settings.of(found["settings"]), "links": links})
    except FileNotFoundError:
        names = list(bed_names())
        hint = nearest(name, names) if names else "there is none; `conset testbed up` makes one"
        raise UsageError(f"no testbed '{name}': {hint}") from None
    except PermissionError as error:
        raise UsageError(f"testbed '{name}': {path}: {error.strerror}") from None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not written by a testbed: {error}") from None


def bed_names() -> Iterator[str]:
    """The beds that are written down, in alphabetical order."""
    try:
        names = sorted(os.listdir(state_folder()))
    except OSError:
        return
    yield from (name for name in names if (bed_folder(name) / _FILE).is_file())


def read_pid(path: Path, word: str) -> int | None:
    """The process whose number stands in a file, if it lives and has `word` in its command line."""
    try:
        pid = int(path.read_text())
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (OSError, ValueError):
        return None
    return pid if any(word in each for each in words) else None
