"""Fixtures of the papers' tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """Tables of the texts and of prototypes, beside the checkout."""
    golden = Path(__file__).resolve().parents[3] / "shared" / "golden"
    if not golden.is_dir():
        pytest.skip("no ../shared/golden beside the checkout: not part of the project")
    return golden
