"""Words: methods and machines as code without Python takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from conset import _core
from conset.base.errors import unknown_name
from conset.machine.flat_file import SUFFIX, write_machine
from conset.machine.machine import Machine
from conset.machine.spec import KINDS, parse_machine

METHODS = _core.method_names()
"""That the core can schedule by without Python."""
_BARE_NETWORK = re.compile(f"({'|'.join(KINDS)}):[0-9x]+")
"""That the core reads as it is written."""


def check_methods(names: Iterable[str]) -> None:
    """Raises UsageError for a method that the core does not have; names the nearest."""
    for name in names:
        if name not in METHODS:
            raise unknown_name("method at run time", name, METHODS, options=["methods"])


@contextmanager
def temporary_folders() -> Iterator[Callable[[], Path]]:
    """A function that makes a folder each time it is called; all are removed at the end."""
    with ExitStack() as folders:
        yield lambda: Path(folders.enter_context(TemporaryDirectory(prefix="conset-machine-")))


def machine_word(machine: Machine | str | Path | None, folder: Callable[[], Path]) -> str:
    """What `machine=` of an exchange says: a bare network's spec or a `.machine` file.

    Empty: a crossbar.

    Args:
        machine: as `alltoallv_init` takes it.
        folder: called where a file has to be written, for where.

    Raises:
        UsageError, InputError: no machine, or a file that cannot be written.
    """
    if machine is None:
        return ""
    if isinstance(machine, Machine):
        if machine.origin == "name" and _BARE_NETWORK.fullmatch(machine.name):
            return machine.name
    else:
        text = str(machine)
        if _BARE_NETWORK.fullmatch(text) or text.endswith(SUFFIX):
            return text
        machine = parse_machine(text)
    path = folder() / f"machine{SUFFIX}"
    write_machine(path, machine)
    return str(path)
