"""A number of phases that is asked for, and lists of transfers that go one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import NoScheduleError, UsageError
from conset.cli.main import run
from conset.schedule.schedule import Schedule
from conset.verification import verify


def compiled(pattern: str, on: str = "iwarp:4x4", **options: Any) -> Schedule:
    schedule = conset.compile(pattern, on, method="connections", **options)
    verification = verify(schedule)
    assert verification.ok, verification.violations
    return schedule


@pytest.mark.parametrize("router", [None, "sequential", "orbits", "negotiated", "closed-form"])
@pytest.mark.parametrize("phases", [7, 16, 240])
def test_as_many_phases_as_are_asked_for(router: str | None, phases: int) -> None:
    schedule = compiled("alltoall:size=64", router=router, phases=phases)
    assert schedule.phases == phases
    assert (np.diff(schedule.phase_offsets) > 0).all()


def test_unequal_sizes_and_orders_have_as_many_phases_too() -> None:
    assert compiled("random:degree=5,size=log-uniform(64,4KiB)", phases=9).phases == 9
    pattern = conset.load_pattern("alltoall:size=64", "iwarp:4x4")
    chain = np.stack([np.arange(5), np.arange(1, 6)], axis=1).astype(np.int32)
    ordered = conset.Pattern.from_messages(
        pattern.source, pattern.target, pattern.size, 16, before=chain
    )
    assert compiled(ordered, phases=12).phases == 12  # type: ignore[arg-type]


def test_a_number_of_phases_needs_no_method() -> None:
    schedule = conset.compile("alltoall:size=64", "iwarp:4x4", phases=8)
    assert (schedule.method, schedule.phases) == ("connections", 8)


def test_too_few_and_too_many_phases_are_refused() -> None:
    with pytest.raises(
        NoScheduleError, match="phases 3: 240 connections need at least 4 and at most 240"
    ):
        compiled("alltoall:size=64", phases=3)
    with pytest.raises(
        NoScheduleError, match="phases 241: 240 connections need at least 4 and at most 240"
    ):
        compiled("alltoall:size=64", phases=241)
    with pytest.raises(UsageError, match="phases 4: is for method connections, given lp"):
        conset.compile("alltoall:size=64", "iwarp:4x4", method="lp", phases=4)
    with pytest.raises(UsageError, match="phases 0: must be at least 1"):
        conset.compile("alltoall:size=64", "iwarp:4x4", phases=0)


def test_the_command_line_has_both_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "alltoall:size=64", "--on", "iwarp:4x4", "--phases", "6", "--json"]) == 0
    assert '"phases": 6' in capsys.readouterr().out
    assert (
        run(["compile", "alltoall:size=64", "--on", "iwarp:4x4", "--posting", "random", "--json"])
        == 0
    )
    out = capsys.readouterr().out
    assert '"method": "naive"' in out
    assert '"posting": "random"' in out
    assert (
        run(["compile", "alltoall", "--on", "iwarp:4x4", "--method", "lp", "--posting", "random"])
        == 2
    )
    assert "--posting random: is for method naive, given lp" in capsys.readouterr().err


def test_the_gray_butterfly_takes_what_the_text_measures() -> None:
    """000 Table 2, 256 words: 6,952 clocks measured, of 50 ns.

    The models of Tables 1 to 3 are within 8 %.
    """
    schedule = compiled("butterfly:size=1KiB", "iwarp:8x8", placement="gray")
    assert schedule.phases == 2
    assert conset.simulate(schedule).time_s / 50e-9 == pytest.approx(6952, rel=0.08)


def test_lists_are_in_the_order_of_an_event_list_where_few_are_in_flight() -> None:
    """A transfer stands in its list where it would start, one at a time at each end."""
    words = "butterfly:size=1KiB"
    timed = compiled(words, "iwarp:8x8", placement="gray", timetable="event-list")
    assert timed.timetable is not None
    phase = timed.phase_of
    start = timed.timetable[:, 0]
    assert ((np.diff(start) >= 0) | (np.diff(phase) > 0)).all()
    free = compiled(words, "iwarp:8x8,in_flight=all", placement="gray")
    assert (free.message != compiled(words, "iwarp:8x8", placement="gray").message).any()
