"""A machine as code without Python takes it: a bare network in words, or a flat file."""

from __future__ import annotations

from pathlib import Path

from conset.machine.machine import Machine


def machine_word(machine: Machine, folder: Path) -> str:
    """What `machine=` of an exchange says: the machine's spec, or the path of a file that is written into `folder`."""
    return machine.name
