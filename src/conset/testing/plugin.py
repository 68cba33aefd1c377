"""Gives pytest the option `--method`, in runs of `conset.testing` alone."""

from __future__ import annotations

import pytest


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Adds the option where an argument names the tests; other runs stay as they are."""
    if any(arg.startswith("conset.testing") or "conset/testing" in arg for arg in args):
        parser.addoption(
            "--method",
            action="append",
            default=[],
            metavar="FILE.py:NAME",
            help="the method to test; may be repeated",
        )
