"""Progress: how much of works inside works is done, what is left, and what a terminal shows of
it."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import conset
from conset.base.progress import counted, duration_text, seconds_left, share_of, work, works
from conset.cli import output
from conset.cli.output import describe_left
from conset.compilation.auto import Evaluator
from conset.execution.job import Teller, heard


def test_parts_of_parts() -> None:
    shares = [(k, inner, share_of(works())) for k in counted("abcd") for inner in counted([1, 2])]
    assert shares[:3] == [("a", 1, 0.0), ("a", 2, 0.125), ("b", 1, 0.25)]
    assert shares[-1] == ("d", 2, 0.875)
    assert works() == []


def test_a_work_counts_what_it_is_told() -> None:
    with work(4) as whole:
        whole.done = 3
        with work(2) as part:
            part.done = 1
            assert share_of(works()) == 3 / 4 + 1 / 8
            part.done = 9
            assert share_of(works()) == 1.0
    assert share_of(works()) == 0.0


def test_a_loop_that_is_left_leaves_nothing() -> None:
    def broken() -> None:
        for k in counted(range(9)):
            if k == 2:
                raise ValueError

    with work(2):
        for _ in counted(range(5)):
            break
        with suppress(ValueError):
            broken()
    assert works() == []


def test_what_is_left_goes_by_the_pace_so_far() -> None:
    assert seconds_left(10.0, 0.25) == pytest.approx(30.0)
    assert seconds_left(10.0, 0.001) is None
    assert seconds_left(10.0, 1.0) == 0.0
    assert [duration_text(s) for s in (40, 720, 12_600)] == ["40 s", "12 min", "3.5 h"]


def test_what_is_said_of_it() -> None:
    assert describe_left(10.0, 0.2) == ", 20%, about 40 s left"
    assert describe_left(100.0, 0.25) == ", 25%, about 5 min left"
    assert describe_left(10.0, 0.0) == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_it_after_two_seconds_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(output, "DELAY_S", 0.3)
    with work(4) as whole:
        for _ in range(4):  # every part is shorter than the delay
            with output.progress("a part"):
                time.sleep(0.5 if whole.done == 2 else 0.2)
            whole.done += 1
    assert "a part … " in terminal.getvalue()
    assert "left" in terminal.getvalue()


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress("a part"):
        pass
    assert capsys.readouterr().err == ""


def test_a_choice_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    simulate = Evaluator.simulate

    def looked(self: Evaluator, *arguments: Any) -> list[tuple[float, int, bool, str]]:
        seen.append(share_of(works()))
        return simulate(self, *arguments)

    monkeypatch.setattr(Evaluator, "simulate", looked)
    conset.compile("random:degree=4,seed=1", "mesh:4x4,link=1GB/s")
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert works() == []


def test_a_job_is_heard_as_far_as_it_tells(tmp_path: Path) -> None:
    words: list[str] = []
    with heard(tmp_path, words.append):
        assert share_of(works()) == 0.0  # nothing is told yet
        Teller(tmp_path)(0.25, "round 1")
        deadline = time.monotonic() + 10
        while not words and time.monotonic() < deadline:
            time.sleep(0.05)
        assert share_of(works()) == 0.25
        (tmp_path / "progress.json").write_text('{"share": 0.5, "te')  # half of it is there
        time.sleep(0.7)
        assert share_of(works()) == 0.25
    assert words == ["round 1"]
    assert works() == []


def test_a_job_is_told_of_seldom(tmp_path: Path) -> None:
    tell = Teller(tmp_path)
    tell(0.1)
    tell(0.2)  # sooner than anybody looks
    assert json.loads((tmp_path / "progress.json").read_text()) == {"share": 0.1, "text": ""}


def test_a_verification_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    from conset.verification.schedule import loads

    monkeypatch.setattr(loads, "_TRANSFERS", 16)
    monkeypatch.setattr(loads, "_CELLS", 64)

    def spied(check: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        for found in map(check, parts):
            seen.append(share_of(works()))
            yield found

    monkeypatch.setattr(loads, "in_order", spied)
    assert conset.verify(conset.compile("alltoall", "mesh:4x4", contention=1)).ok
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
