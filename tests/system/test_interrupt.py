"""Ctrl-C: the best so far with exit code 6, nothing with 130; progress in words.

Signals are real, times are not.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import conset
from conset import _core
from conset.base import files, stopping
from conset.base.errors import InputError
from conset.base.stopping import interruptible
from conset.cli.main import run
from conset.cli.output import describe_delivered, describe_search
from conset.compilation import combining
from conset.compilation.auto import choose_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.methods.phases.event_list import time_event_list
from conset.methods.phases.problem import Phases, Problem
from conset.pattern.spec import parse_pattern
from conset.schedule.files.documents import read_document
from conset.schedule.schedule import Schedule
from conset.verification import verify

SOURCE = Path(conset.__file__).parents[1]
LONG = ("--method", "first-fit", "--effort", "100000000")


def press_when_there_is_a_schedule(times: int = 1) -> threading.Thread:
    """Sends SIGINT once the search has published; what would be forever without it."""

    search = _core.this_search()  # of the main thread
    too_early = (signal.default_int_handler, stopping._end_once)
    _core.reset_search()  # what another test's search had published is no schedule of this one

    def press() -> None:
        # before the search listens, Ctrl-C would end the tests, or the command with nothing
        while signal.getsignal(signal.SIGINT) in too_early or search.best[0] == 0:
            pass_time()
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)

    def pass_time() -> None:
        threading.Event().wait(0.005)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


def test_the_best_so_far_is_written_and_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert verify(read_document(path)).ok
    assert not _core.stop_asked(), "the wish ends with the command"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_auto_gives_the_best_of_what_it_tried(tmp_path: Path) -> None:
    path = tmp_path / "stopped.json"
    thread = press_when_there_is_a_schedule()
    code = run(["compile", "alltoall", "--on", "iwarp:6x6", *LONG[2:], "-o", str(path)])
    thread.join()
    assert code == 6
    assert verify(read_document(path)).ok


@pytest.mark.parametrize("size", ["64", "16KiB"])
def test_stages_that_were_searched_first_are_kept(
    size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 KiB, of which no stages are worth it: what is posted at once, by formula."""
    ways, along = combining._Ways.ways, combining._Ways.along

    def stopped(self: combining._Ways, way: int, beat_s: float) -> float | None:
        found = along(self, way, beat_s) if size == "64" else None
        _core.ask_stop()
        return found

    monkeypatch.setattr(combining._Ways, "along", stopped)
    monkeypatch.setattr(combining._Ways, "ways", lambda self: (ways(self)[0], math.inf))
    pattern = parse_pattern(f"alltoall:size={size}", ranks=16)
    with interruptible():
        found = combining.compile_combined(pattern, parse_machine("paragon:4x4"))
    assert (found.combine == "none") == (size == "16KiB")
    assert found.whole.report is not None
    assert found.whole.report.stopped_early
    assert {each.name: each.is_bound for each in found.tried}["none"] == (size == "64")
    assert found.why


def test_with_nothing_to_give_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("conset.cli.compile.compile_combined", interrupt_a_search)
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
            schedule = compile_pattern(pattern, machine, CompileOptions(method, effort=50))
            assert schedule.report.stopped_early
            assert verify(schedule).ok
        placed = compile_pattern(pattern, machine, CompileOptions("first-fit", placement="auto"))
        assert placed.report.stopped_early
    finally:
        _core.reset_search()
    assert not compile_pattern(
        pattern, machine, CompileOptions("first-fit", effort=3)
    ).report.stopped_early


def test_an_event_list_looks_while_it_runs() -> None:
    """Its first run alone may take long; the longest message first is what it then has."""
    machine = parse_machine("crossbar:100")
    pattern = parse_pattern(
        "alltoall:size=uniform(1KiB,64KiB)", topology=machine.topology, ranks=100
    )
    placed = Problem(pattern, machine, Limits())
    together = Phases(np.array([0, pattern.messages]), np.arange(pattern.messages, dtype=np.int32))
    _core.ask_stop()
    try:
        with pytest.raises(_core.Interrupted):
            time_event_list(placed, together, restarts=0)
        schedule = compile_pattern(pattern, machine, CompileOptions("event-list"))
    finally:
        _core.reset_search()
    assert schedule.report.stopped_early
    assert verify(schedule).ok
    assert schedule.timetable[schedule.size.argmax(), 0] == 0


def test_the_chooser_keeps_what_it_has_when_a_method_has_nothing_yet() -> None:
    machine = parse_machine("mesh:3x3")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=9)
    made = []

    def make(method: str, contention: int | None, effort: int):  # type: ignore[no-untyped-def]
        made.append(method)
        if len(made) > 3:
            raise KeyboardInterrupt
        return compile_pattern(pattern, machine, CompileOptions(method))

    schedule = choose_schedule(make, pattern, machine)
    assert schedule.method in made
    with pytest.raises(KeyboardInterrupt):
        choose_schedule(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt), pattern, machine)


def test_watching_changes_nothing() -> None:
    machine = parse_machine("mesh:5x5")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=25)
    alone = compile_pattern(pattern, machine, CompileOptions("first-fit", effort=5))
    with interruptible():
        watched = compile_pattern(pattern, machine, CompileOptions("first-fit", effort=5))
        incumbent, bound = _core.this_search().best
    assert incumbent >= watched.phases
    assert bound == 30  # of the busiest link: 2 · 5 nodes send to 3 · 5 over 5 links
    assert alone.message.tolist() == watched.message.tolist()


@pytest.mark.parametrize(
    ("incumbent", "bound", "words"),
    [
        (0, 0, ""),
        (0, 12, ""),
        (135, 128, ", best 135, bound 128, gap 1.055, Ctrl-C keeps it"),
        (0.25, 0, ", best 0.25, Ctrl-C keeps it"),
    ],
)
def test_progress_in_words(incumbent: float, bound: float, words: str) -> None:
    assert describe_search(incumbent, bound) == words


def test_progress_of_a_simulation_in_words() -> None:
    assert describe_delivered(0, 1_000_000) == ""
    assert describe_delivered(412_672, 1_000_000) == ", 412,672 of 1,000,000 messages (41%)"


def test_ctrl_c_ends_a_search_of_a_python_program() -> None:
    """`decreasing` at this effort takes for ever.

    The interpreter alone would wait for the core to return.
    """
    thread = press_in_the_core()
    with pytest.raises(KeyboardInterrupt):
        conset.compile("alltoall", "mesh:6x6", method="decreasing", effort=10**8)
    thread.join()
    assert not _core.stop_asked(), "the wish ends with the call"
    assert not conset.compile(
        "alltoall", "mesh:3x3", method="first-fit", effort=3
    ).report.stopped_early


def press_in_the_core() -> threading.Thread:
    """Sends SIGINT to a call of the Python interface once the core is at work.

    The call has a search of its own.
    """

    def press() -> None:
        while not stopping._listened or stopping._listened[-1].best[0] == 0:
            threading.Event().wait(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


def test_a_program_that_handles_ctrl_c_itself_keeps_its_schedule() -> None:
    pressed: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        with stopping.keyboard_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            schedule = conset.compile("alltoall", "mesh:3x3", method="first-fit", effort=3)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert pressed == [signal.SIGINT]
    assert not schedule.report.stopped_early


def test_two_threads_do_not_stop_each_other() -> None:
    """One is asked to stop while the other one searches: that one ends as if it were alone."""
    searches: dict[str, _core.Search] = {}
    made: dict[str, Schedule] = {}
    other_is_done = threading.Event()

    def work(name: str, effort: int) -> None:
        searches[name] = _core.this_search()
        made[name] = conset.compile("alltoall", "mesh:5x5", method="first-fit", effort=effort)
        if name == "other":
            other_is_done.set()

    long = threading.Thread(target=work, args=("long", 10**8), daemon=True)
    long.start()
    while "long" not in searches or searches["long"].best[0] == 0:
        threading.Event().wait(0.005)
    other = threading.Thread(target=work, args=("other", 5), daemon=True)
    other.start()
    assert other_is_done.wait(60)
    assert long.is_alive(), "the end of one is not the end of the other"
    searches["long"].ask_stop()
    long.join(60)
    assert made["long"].report.stopped_early
    assert not made["other"].report.stopped_early
    assert searches["long"] is not searches["other"]
    assert not _core.stop_asked()


def test_a_wish_reaches_those_who_work_for_a_search() -> None:
    begun = threading.Barrier(3, timeout=60)

    def work(_: int) -> bool:
        begun.wait()
        while not _core.stop_asked():
            threading.Event().wait(0.001)
        return True

    with stopping.workers(2) as pool:
        found = pool.map(work, range(2))
        begun.wait()
        _core.ask_stop()
        assert list(found) == [True, True]
    _core.reset_search()


def test_workers_of_a_choice_are_stopped_within_a_simulation() -> None:
    """A choice that simulates in threads of its own: Ctrl-C, and the best so far is there."""
    machine = parse_machine("mesh:6x6,model=wormhole")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=36)
    looked: list[bool] = []

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        if threading.current_thread() is not threading.main_thread():
            _core.ask_stop()  # what Ctrl-C does in the main thread
            looked.append(search.stop_asked)
        return compile_pattern(pattern, machine, CompileOptions(method))

    search = _core.this_search()
    try:
        schedule = choose_schedule(make, pattern, machine, threads=2)
    finally:
        _core.reset_search()
    assert any(looked)
    assert verify(schedule).ok


@pytest.mark.parametrize("number", stopping.ENDINGS)
def test_half_written_files_are_removed_even_if_pressed_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
) -> None:
    unlink = Path.unlink

    def press_and_unlink(path: Path, missing_ok: bool = False) -> None:
        os.kill(os.getpid(), number)  # again, while the first one cleans up
        unlink(path, missing_ok=missing_ok)

    def write(*_: object) -> None:
        with files.replacing(tmp_path / "half.json") as path:
            path.write_text("half")
            monkeypatch.setattr(Path, "unlink", press_and_unlink)
            os.kill(os.getpid(), number)

    monkeypatch.setattr("conset.cli.compile.write_compiled", write)
    before = [signal.getsignal(each) for each in stopping.ENDINGS]
    words = ["compile", "alltoall", "--on", "mesh:2x2", "--method", "lp"]
    assert run([*words, "-o", str(tmp_path / "half.json")]) == 130
    assert capsys.readouterr().err == "conset: interrupted, nothing written\n"
    assert list(tmp_path.iterdir()) == []
    assert [signal.getsignal(each) for each in stopping.ENDINGS] == before
    assert not _core.stop_asked()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_from_outside_leaves_no_half_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """While a picture is written into its temporary file."""

    def half(path: Path, _: bytes) -> None:
        path.write_text("half")
        os.kill(os.getpid(), number)

    monkeypatch.setattr(Path, "write_bytes", half)
    assert run(["show", "mesh:2x2", "-o", str(tmp_path / "x.svg")]) == 130
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping.ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("words", [["methods"], ["methods", "--json"]])
def test_an_end_is_one_line_or_one_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    def press(_: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("conset.cli.main.import_module", press)
    assert run(words) == 130
    out, err = capsys.readouterr()
    assert err == "conset: interrupted, nothing written\n"
    if "--json" in words:
        assert json.loads(out)["exit"] == 130
    else:
        assert out == ""


def test_a_file_that_is_written_is_not_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["compile", "alltoall", "--on", "mesh:2x2", "-o", "s.json"]) == 0
    monkeypatch.setattr("conset.cli.simulate.simulation_section", interrupt)
    capsys.readouterr()
    assert run(["simulate", "s.json", "-o", "t.json"]) == 130
    assert (tmp_path / "t.json").is_file()
    assert capsys.readouterr().err == "conset: interrupted, t.json is written\n"


def interrupt(*_: object) -> str:
    raise KeyboardInterrupt


def test_a_comparison_that_is_interrupted_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said of the last method that it does not apply."""
    monkeypatch.setattr("conset.studies.contender.compile_pattern", interrupt_a_search)
    words = ["compare", "random:degree=2", "--on", "mesh:4x4", "--methods", "bounded,auto"]
    assert run(words) == 130
    assert capsys.readouterr().err == "conset: interrupted, nothing written\n"


def test_a_process_ends_with_the_code_that_says_so(tmp_path: Path) -> None:
    """As a shell sees it: SIGTERM while the search runs, after which nothing is written."""
    code = (
        "import os, signal, threading, conset._core as core\n"
        "from conset.cli.main import main\n"
        "search = core.this_search()\n"
        "def press():\n"
        "    while search.best[0] == 0: threading.Event().wait(0.005)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "threading.Thread(target=press, daemon=True).start()\n"
        "main()\n"
    )
    words = ["compile", "alltoall", "--on", "mesh:6x6", *LONG, "-o", "s.json"]
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ended.returncode, ended.stderr) == (130, "conset: interrupted, nothing written\n")
    assert list(tmp_path.iterdir()) == []
