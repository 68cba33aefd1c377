"""Exchanges that an application makes of a plan and its own arrays."""

from __future__ import annotations

from pathlib import Path

import pytest

from conset.execution.job import find_launcher, start_job

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


def test_exchanges_of_an_application(programs: Path, tmp_path: Path) -> None:
    program = ["-m", "mpi4py", str(programs / "exchanges.py"), str(tmp_path)]
    ended = start_job(find_launcher(), 4, program, folder=tmp_path, timeout_s=60)
    assert (ended.status, ended.err) == (0, "")
    assert [(tmp_path / f"rank-{r}").read_text() for r in range(4)] == ["right"] * 4
