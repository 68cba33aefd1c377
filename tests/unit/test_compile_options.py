"""`CompileOptions`: every word is checked when they are made.

Errors speak Python, the command line its own words.
"""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.inputs import spell_options
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.methods.phases.problem import SearchOptions


@pytest.mark.parametrize(
    ("given", "words", "names"),
    [
        ({"method": "rsn"}, "unknown method 'rsn': did you mean 'rs-n'?", ()),
        ({"effort": 0}, "effort 0: must be at least 1", ("effort",)),
        ({"effort": 2**31}, "effort 2147483648: must be at most 2147483647", ("effort",)),
        ({"ranks_per_node": 0}, "ranks_per_node 0: must be at least 1", ("ranks_per_node",)),
        ({"contention": 0}, "limit link=0: must be at least 1", ()),
        ({"limits": "sent=1"}, "unknown limit 'sent': did you mean 'send'?", ()),
        ({"placement": "grey"}, "unknown placement 'grey': did you mean 'gray'?", ()),
        ({"sync": "barier"}, "unknown sync 'barier': did you mean 'barrier'?", ()),
        (
            {"timetable": "eventlist"},
            "unknown timetable 'eventlist': did you mean 'event-list'?",
            (),
        ),
        ({"objective": "phase"}, "unknown objective 'phase': did you mean 'phases'?", ()),
        ({"routes": "fix"}, "unknown routes 'fix': did you mean 'fixed'?", ()),
        ({"router": "orbit"}, "unknown router 'orbit': did you mean 'orbits'?", ()),
        ({"rank_by": "formul"}, "unknown ranking 'formul': did you mean 'formula'?", ()),
        (
            {"router": "orbits", "method": "lp"},
            "router orbits: is for method connections, given lp",
            ("router",),
        ),
        (
            {"min_bandwidth": "5MB/s", "method": "lp"},
            "min_bandwidth 5MB/s: is for method connections, given lp",
            ("min_bandwidth",),
        ),
        (
            {"rank_by": "flow", "method": "lp", "sync": "local"},
            "rank_by flow: goes with method auto or sync auto, given method lp and sync local",
            ("rank_by", "method", "sync"),
        ),
    ],
)
def test_a_wrong_option_is_refused_when_it_is_given(
    given: dict[str, Any], words: str, names: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as caught:
        CompileOptions(**given)
    assert str(caught.value) == words
    assert caught.value.options == names


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--router", "orbits", "--method", "lp"],
            "--router orbits: is for method connections, given lp",
        ),
        (
            ["--rank-by", "flow", "--method", "lp", "--sync", "local"],
            "--rank-by flow: goes with --method auto or --sync auto, given --method lp and --sync "
            "local",
        ),
        (
            ["--min-bandwidth", "5MB/s", "--method", "lp"],
            "--min-bandwidth 5MB/s: is for method connections, given lp",
        ),
        (["--min-bandwidth", "5"], "--min-bandwidth '5': a unit is required, as 5GB/s"),
        (["--ranks-per-node", "0"], "--ranks-per-node '0': must be at least 1"),
        (["--effort", "2147483648"], "--effort 2147483648: must be at most 2147483647"),
    ],
)
def test_the_command_line_speaks_its_own_words(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compile", "alltoall", "--on", "mesh:4x4", *words]) == UsageError.exit_code
    assert capsys.readouterr().err.startswith(f"conset: {line}")


def test_only_whole_words_outside_of_paths_are_spelled_as_options() -> None:
    text = "parts/parts.mtx: parts 4, rows_to 3; partsof"
    assert (
        spell_options(text, ["parts", "rows_to"])
        == "parts/parts.mtx: --parts 4, --rows-to 3; partsof"
    )


@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ("mpiexec 'mpiexec -n 4': words", ["mpiexec"], "--mpiexec 'mpiexec -n 4': words"),
        (
            "no mpiexec: name one by mpiexec CMD",
            ["mpiexec CMD"],
            "no mpiexec: name one by --mpiexec CMD",
        ),
        (
            "lp: is about free routes; add routes free",
            ["lp", "routes free"],
            "--lp: is about free routes; add --routes free",
        ),
        (
            "costs stand in conset.machine.spec.with_settings",
            ["conset.machine.spec.with_settings"],
            "costs stand in --set",
        ),
        ("'x', parts=3", ["parts"], "'x', --parts=3"),
    ],
)
def test_names_of_options_among_other_words(text: str, names: list[str], said: str) -> None:
    assert spell_options(text, names) == said


def test_what_other_options_ask_for_makes_the_method() -> None:
    assert CompileOptions().chosen_method == "auto"
    assert CompileOptions(router="orbits").chosen_method == "connections"
    assert CompileOptions(min_bandwidth="5MB/s").chosen_method == "connections"
    assert CompileOptions(routes="free").chosen_method == "negotiated"
    assert CompileOptions("connections", routes="free").chosen_method == "connections"
    freed = CompileOptions(routes="free")
    assert dataclasses.replace(freed, routes="fixed").chosen_method == "auto"


def test_a_method_reads_the_same_words() -> None:
    options = CompileOptions(seed=3, effort=2, routes="free", objective="phases")
    assert options.search == SearchOptions(seed=3, effort=2, routes="free", objective="phases")
    assert options.given() == {
        "method": "auto",
        "seed": 3,
        "effort": 2,
        "objective": "phases",
        "routes": "free",
    }


def test_a_schedule_says_how_it_was_compiled_and_one_made_by_hand_does_not() -> None:
    schedule = conset.compile("alltoall", "mesh:4x4")
    assert schedule.report is not None
    assert schedule.report.compile_s > 0
    assert schedule.report.reason
    assert (schedule.report.placement_name, schedule.report.stopped_early) == ("identity", False)
    assert pickle.loads(pickle.dumps(schedule.report)) == schedule.report
    by_hand = dataclasses.replace(schedule, report=None)
    assert by_hand.report is None
    noted = by_hand.with_report(note="by hand").report
    assert noted is not None
    assert (noted.note, noted.reason) == ("by hand", "")
    with pytest.raises(InputError, match="requires one rank per node"):
        conset.compile("alltoall", "mesh:4x4", method="lp", ranks_per_node=2)
