"""Words: methods and machines as code without Python takes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from conset.errors import unknown_name
from conset.formats.machine_file import SUFFIX, write_machine
from conset.machine.machine import Machine
from conset.machine.spec import KINDS

METHODS = (
    "naive", "rs-n", "rs-nl", "lp", "coloring", "first-fit", "decreasing", "negotiated", "event-list", "auto",
)  # fmt: skip
"""That the core can schedule by without Python."""


def check_methods(names: Iterable[str]) -> None:
    """Raises UsageError for a method that the core does not have; names the nearest."""
    for name in names:
        if name not in METHODS:
            raise unknown_name("method at run time", name, METHODS, options=["methods"])


def machine_word(machine: Machine, folder: Path) -> str:
    """What `machine=` of an exchange says: a bare network's spec, else a file that is written into `folder`."""
    if machine.origin == "name" and "," not in machine.name and machine.name.split(":")[0] in KINDS:
        return machine.name
    path = folder / f"machine{SUFFIX}"
    write_machine(path, machine)
    return str(path)
