"""Ctrl-C: the best so far with exit code 6, nothing with 130; progress in words. Signals are real, times are not."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from conset import _core
from conset.choice.chooser import choose_schedule
from conset.cli.interrupt import interruptible
from conset.cli.main import run
from conset.cli.progress import describe_delivered, describe_search
from conset.compiler import Request, compile_pattern
from conset.errors import InputError
from conset.machine.spec import parse_machine
from conset.pattern.spec import parse_pattern
from conset.schedule.file import read_document
from conset.verification import verify_document, verify_schedule

LONG = ("--method", "first-fit", "--effort", "100000000")


def press_when_there_is_a_schedule(times: int = 1) -> threading.Thread:
    """Sends SIGINT once the search has published; what would be forever without it."""

    def press() -> None:
        # before the command listens, Ctrl-C would end the tests
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler or _core.best_so_far()[0] == 0:
            pass_time()
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)

    def pass_time() -> None:
        threading.Event().wait(0.005)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


def test_the_best_so_far_is_written_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stopped.json"
    thread = press_when_there_is_a_schedule()
    code = run(["compile", "alltoall", "--on", "mesh:6x6", *LONG, "-o", str(path), "--json"])
    thread.join()
    assert code == 6
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert summary["stopped_early"] is True
    assert summary["verified"] is True
    assert "stopped    early" in err
    assert verify_document(read_document(path)).ok
    assert not _core.stop_asked(), "the wish ends with the command"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_auto_gives_the_best_of_what_it_tried(tmp_path: Path) -> None:
    path = tmp_path / "stopped.json"
    thread = press_when_there_is_a_schedule()
    code = run(["compile", "alltoall", "--on", "iwarp:6x6", *LONG[2:], "-o", str(path)])
    thread.join()
    assert code == 6
    assert verify_document(read_document(path)).ok


def test_with_nothing_to_give_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("conset.compiler.compile_pattern", interrupt_a_search)
    path = tmp_path / "none.json"
    assert run(["compile", "alltoall", "--on", "mesh:2x2", "-o", str(path)]) == 130
    assert list(tmp_path.iterdir()) == []
    assert "interrupted, nothing written" in capsys.readouterr().err
    assert not _core.stop_asked()


def test_a_search_in_the_core_hears_of_it_while_it_runs() -> None:
    """The main thread never runs Python between the signal and the wish."""
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupt_a_search()


def interrupt_a_search(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        _core.should_stop(False)


def test_pressing_twice_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        press_twice()


def press_twice() -> None:
    _core.publish(5, 4)
    os.kill(os.getpid(), signal.SIGINT)
    while not _core.stop_asked():
        pass
    assert _core.should_stop(True)
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(5)


def test_what_a_search_says_after_it_was_cut_short_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        give_up(asked=True)
    with pytest.raises(InputError, match="no packing"), interruptible():
        give_up(asked=False)


def give_up(*, asked: bool) -> None:
    if asked:
        _core.ask_stop()
    raise InputError("no packing was found")


def test_in_another_thread_signals_are_left_alone() -> None:
    seen = []

    def work() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_wish_that_was_there_before_still_lets_a_cheap_schedule_be_made() -> None:
    machine = parse_machine("mesh:4x4")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=16)
    _core.ask_stop()
    try:
        for method in ("first-fit", "auto"):
            schedule = compile_pattern(pattern, machine, Request(method, effort=50))
            assert schedule.stopped_early
            assert verify_schedule(schedule).ok
        placed = compile_pattern(pattern, machine, Request("first-fit", placement="auto"))
        assert placed.stopped_early
    finally:
        _core.reset_search()
    assert not compile_pattern(pattern, machine, Request("first-fit", effort=3)).stopped_early


def test_the_chooser_keeps_what_it_has_when_a_method_has_nothing_yet() -> None:
    machine = parse_machine("mesh:3x3")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=9)
    made = []

    def make(method: str, contention: int | None, effort: int):  # type: ignore[no-untyped-def]
        made.append(method)
        if len(made) > 3:
            raise KeyboardInterrupt
        return compile_pattern(pattern, machine, Request(method))

    schedule = choose_schedule(make, pattern, machine)
    assert schedule.method in made
    with pytest.raises(KeyboardInterrupt):
        choose_schedule(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt), pattern, machine)


def test_watching_changes_nothing() -> None:
    machine = parse_machine("mesh:5x5")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=25)
    alone = compile_pattern(pattern, machine, Request("first-fit", effort=5))
    with interruptible():
        watched = compile_pattern(pattern, machine, Request("first-fit", effort=5))
        incumbent, bound = _core.best_so_far()
    assert incumbent >= watched.phases
    assert bound == 30  # of the busiest link: 2 · 5 nodes send to 3 · 5 over 5 links
    assert alone.message.tolist() == watched.message.tolist()


@pytest.mark.parametrize(
    ("incumbent", "bound", "words"),
    [
        (0, 0, ""),
        (0, 12, ""),
        (135, 128, ", best 135, bound 128, gap 1.055; Ctrl-C takes it"),
        (0.25, 0, ", best 0.25; Ctrl-C takes it"),
    ],
)
def test_progress_in_words(incumbent: float, bound: float, words: str) -> None:
    assert describe_search(incumbent, bound) == words


def test_progress_of_a_simulation_in_words() -> None:
    assert describe_delivered(0, 1_000_000) == ""
    assert describe_delivered(412_672, 1_000_000) == ", 412,672 of 1,000,000 messages (41%)"
