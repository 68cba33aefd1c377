"""What was compiled for the testbed and installed with this package."""

from __future__ import annotations

import sys
from pathlib import Path

from conset.base import UnavailableError


def find_binary(name: str) -> Path:
    """`conset-switches` or `libconset-nap.so`.

    In this package's folder, or in that of an editable install.

    Raises:
        UnavailableError: it was not built.
    """
    entries = [
        Path(__file__).resolve().parent,
        *(Path(entry) / "conset_testbed" for entry in sys.path if entry),
    ]
    for folder in entries:
        path = folder / "bin" / name
        if path.is_file():
            return path.resolve()
    raise UnavailableError(
        f"{name} is not installed with this package: install conset again, on Linux"
    )
