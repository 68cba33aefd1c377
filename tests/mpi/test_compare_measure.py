"""`compare --measure`.

Each row run over MPI here, and said to be no measurement of the machine modelled.
"""

from __future__ import annotations

import json

import pytest

from conset.cli.main import run

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


def test_measured_times_stand_beside_with_what_they_were_run_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [
        "compare",
        "alltoall",
        "--on",
        "paragon:2x2",
        "--methods",
        "naive,lp",
        "--sync",
        "local,naive=none",
    ]
    assert run([*words, "--simulate", "--measure", "--json"]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["errors_against"] == "measured"
    for row in answer["rows"]:
        measured = row["measured"]
        assert (measured["ranks"], measured["repeat"]) == (4, 5)
        assert 0 < measured["min_s"] <= measured["median_s"]
        assert measured["bytes_checked"] > 0
        assert "not paragon:2x2, which is what is predicted and simulated" in measured["note"]
        error = row["simulated"]["flow"]["time_s"] / measured["median_s"] - 1
        assert row["errors"]["flow"] == pytest.approx(error)
    assert "measured: 4 ranks on " in captured.err


def test_programs_are_measured_as_they_forward(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "compare",
        "alltoall:size=24",
        "--on",
        "paragon:2x2",
        "--methods",
        "naive",
        "--combine",
        "2x2",
    ]
    assert run([*words, "--measure", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 2
    # both deliver the messages, five times and the one that is dropped, by four variants
    assert [row["measured"]["bytes_checked"] for row in rows] == [12 * 24 * 6 * 4] * 2
