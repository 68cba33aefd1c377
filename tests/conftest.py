"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# The same examples every time, however slow the machine; CONSET_EXPLORE=1 looks for new ones.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("explore" if os.environ.get("CONSET_EXPLORE") else "steady")

# A shell's background job inherits that Ctrl-C is ignored, and hands it on to what it starts; tests
# press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


SLOW = (
    "mpi/test_cli_examples.py",
    "mpi/test_policies.py",
    "mpi/test_run_programs.py",
    "mpi/test_three_blocks.py",
    "properties/test_malformed_arguments.py",
    "properties/test_release.py",
    "system/test_calibration.py",
    "system/test_compare_more.py",
    "system/test_guide.py",
    "system/test_report_command.py",
)
"""Files that take a third of the time of all tests together."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `SLOW`."""
    for item in items:
        if item.path.as_posix().endswith(SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real inputs made by others, which lie beside the checkout and are not part of the project."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(
            "no ../shared/data beside the checkout: real inputs made by others are not part "
            "of the project"
        )
    return data


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """Tables of the texts and of prototypes, beside the checkout."""
    golden = SHARED / "golden"
    if not golden.is_dir():
        pytest.skip(
            "no ../shared/golden beside the checkout: the full tables are not part of the project"
        )
    return golden
