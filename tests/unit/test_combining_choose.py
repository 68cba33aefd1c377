"""Whether messages are combined, on the command line and in Python.

Chosen by the model, verified, bounded.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import conset
from conset import _core
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.compilation import combining
from conset.compilation.combining import WORTH, candidates, compile_combined
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.summary import summarize_combination
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files import compiled
from conset.schedule.program import Program, chained


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """What a command prints with `--json`."""
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--method lp", "method lp was named"),
        ("--contention 2", "limits were given"),
        ("--objective phases", "the fewest phases"),
    ],
)
def test_stages_are_considered_unless_options_ask_for_a_direct_schedule(
    options: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", "alltoall:size=64", "--on", "paragon:4x4"]
    default, asked = said(capsys, *words), said(capsys, *words, "--combine", "auto")
    assert default["combine"] == asked["combine"] != "none"
    assert default["simulated_s"] == asked["simulated_s"] < 0.95 * default["direct_s"]
    direct = said(capsys, *words, *options.split())
    assert direct["combine"] == "none"
    assert reason in direct["why_combined"]


DIRECT_FIRST = {"direct_first": True}


@pytest.mark.parametrize("size", ["64", "1KiB", "16KiB"])
def test_what_is_searched_first_does_not_decide(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Direct messages; then stages, after which a search that is far from them ends early."""
    pattern, machine = (
        parse_pattern(f"alltoall:size={size}", ranks=16),
        parse_machine("paragon:4x4"),
    )
    choose, ways = _core.choose_stages, combining._Ways.ways
    with monkeypatch.context() as patched:
        patched.setattr(_core, "choose_stages", lambda *a, **k: choose(*a, **k | DIRECT_FIRST))
        first = compile_combined(pattern, machine)
    monkeypatch.setattr(combining._Ways, "ways", lambda self: (ways(self)[0], math.inf))
    second = compile_combined(pattern, machine)
    assert (first.combine == "none") == (second.combine == "none") == (size == "16KiB")
    assert first.whole.report.simulated_s == second.whole.report.simulated_s
    direct_s, later_s = (
        next(each.time_s for each in found.tried if each.name == "none")
        for found in (first, second)
    )
    assert direct_s <= later_s <= 1.25 * direct_s


def test_direct_messages_of_a_large_pattern_have_a_bound_in_place_of_a_schedule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """380 x 379 messages: more than the models simulate."""
    assert run(["compile", "alltoall:size=8", "--on", "paragon:20x19", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["verified"]
    assert found["direct_is_bound"]
    assert found["simulated_s"] < 0.95 * found["direct_s"]
    least = conset.bound("alltoall:size=8", "paragon:20x19")
    assert found["direct_s"] <= least.time_s * (1 + 1e-9)
    assert ", at least " in err.splitlines()[0]


def test_an_estimate_counts_sends_in_flight() -> None:
    """Six sends of a rank in flight: the direct estimate is near what the formula predicts."""
    pattern, machine = parse_pattern("alltoall:size=8", ranks=144), parse_machine("fugaku:2x3x2")
    direct = next(each for each in candidates(pattern, machine) if each.name == "none")
    least = conset.bound(pattern, machine).time_s
    assert 0.9 * least < direct.estimate.time_s < 1.2 * least


def test_the_first_line_has_the_time_of_stages_and_of_direct_messages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["compile", "alltoall:size=64", "--on", "paragon:4x4"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert " stages, " in first
    assert " directly; model wormhole" in first


def test_small_messages_of_a_complete_exchange_are_combined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the Paragon at 256 B: 2.1 ms in 4 x 4 x 4.

    Rows, then columns, posted at once, take 4.4 ms, directly 8.3.
    """
    file = tmp_path / "p.json"
    found = said(
        capsys,
        "compile",
        "alltoall:size=256",
        "--on",
        "paragon:8x8",
        "--combine",
        "auto",
        "-o",
        str(file),
    )
    assert found["combine"] != "none"
    assert found["simulated_s"] < 2.5e-3
    assert found["verified"]
    assert found["pattern"]["messages"] == 64 * 63
    assert len(found["stages"]) == found["figures"]["stages"]
    assert found["bound"]["any_number"]["time_s"] <= found["simulated_s"]
    assert found["gap"]["any_number"] >= 1
    times = [math.inf if each["time_s"] is None else each["time_s"] for each in found["candidates"]]
    assert times == sorted(times)
    assert times[0] == found["simulated_s"]
    assert next(each["time_s"] for each in found["candidates"] if each["combine"] == "none") > 8e-3
    assert run(["verify", str(file)]) == 0
    assert said(capsys, "predict", str(file))["time_s"] == found["simulated_s"]
    assert (
        said(capsys, "simulate", str(file), "--model", "wormhole")["time_s"] == found["simulated_s"]
    )


def test_long_messages_go_directly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At 4 KiB the file is the schedule that a compile without `--combine` writes, its manifest
    apart."""
    files = [tmp_path / name for name in ("a.json", "b.json")]
    words = ("compile", "alltoall:size=4KiB", "--on", "paragon:8x8")
    found = said(capsys, *words, "--combine", "auto", "-o", str(files[0]))
    assert found["combine"] == "none"
    assert len(found["stages"]) == 1
    assert run([*words, "-o", str(files[1])]) == 0
    assert conset.read(files[0]) == conset.read(files[1])


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for file in files:
        words = [
            "compile",
            "random:degree=12,size=32",
            "--on",
            "torus:4x4,overhead=5us",
            "--combine",
            "auto",
        ]
        assert run([*words, "--seed", "3", "-o", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("pattern", "machine"),
    [
        ("alltoall:size=16", "torus:4x4,overhead=1us,copy=1GB/s"),
        ("random:degree=3,size=16", "mesh:4x4,overhead=1us"),
        ("neighbor:size=8", "torus:4x4,overhead=1us"),
        ("power-law:degree=6,size=16", "crossbar:24,overhead=2us,processors=one,copy=100MB/s"),
        ("alltoall:size=16", "mesh:4x4"),
        ("alltoall:size=64KiB", "hypercube:4,overhead=1us,copy=1GB/s"),
    ],
)
def test_what_is_chosen_is_not_slower_than_going_directly(pattern: str, machine: str) -> None:
    target = parse_machine(machine)
    traffic = parse_pattern(pattern, topology=target.topology, ranks=target.topology.endpoints)
    found = compile_combined(traffic, target)
    direct = compile_pattern(traffic, target)
    assert direct.report is not None
    assert found.whole.report is not None
    own, other = found.whole.report.simulated_s, direct.report.simulated_s
    assert own is not None
    assert other is not None
    assert own <= other
    if found.combine == "none":
        assert found.program.schedules == (direct,)
        assert not any(each.time_s <= WORTH * other for each in found.tried if each.name != "none")
    else:
        assert own <= WORTH * other
        assert chained(found.program) == found.whole
    assert summarize_combination(found)["verified"]


def test_of_few_bundles_all_orders_are_tried_that_are_as_fast_by_the_formula() -> None:
    """The first of them is no faster than direct messages, another by an eighth."""
    words = "model=packet,overhead=28us,inject=0.879us,port=1.05GB/s,processors=one"
    machine = parse_machine(f"crossbar:9,{words},copy=8.38GB/s,link_buffers=16KiB,window=64KiB")
    pattern = parse_pattern("random:degree=4,size=64", ranks=9, seed=11)
    found = compile_combined(pattern, machine, CompileOptions(seed=11))
    direct, chosen = (
        next(each for each in found.tried if (each.name == "none") == is_direct)
        for is_direct in (True, False)
    )
    assert found.combine != "none"
    assert chosen.time_s < 0.9 * direct.time_s


def test_where_bundles_cost_no_work_nothing_is_combined() -> None:
    """A bare network has latencies alone, which pass at the same time."""
    target = parse_machine("crossbar:16")
    found = compile_combined(
        parse_pattern("alltoall:size=8", topology=target.topology, ranks=16), target
    )
    assert found.combine == "none"


@pytest.mark.parametrize("contention", [1, 2])
def test_stages_keep_the_limits_that_are_asked_for(contention: int) -> None:
    target = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall:size=64", topology=target.topology, ranks=16)
    found = compile_combined(pattern, target, CompileOptions(contention=contention), "4x4")
    assert {schedule.limits.link for schedule in found.program.schedules} == {contention}
    assert conset.verify(found.program).ok


def test_a_program_in_python() -> None:
    program = conset.compile(
        "alltoall:size=8", "torus:4x4,overhead=2us", combine="4x4", method="naive"
    )
    assert isinstance(program, Program)
    assert program.paths is not None
    assert program.paths.stages == 2
    assert conset.verify(program).ok
    assert conset.simulate(program).messages == 16 * 6
    assert conset.predict(program, by="formula").time_s > 0
    direct = conset.compile("alltoall:size=1MB", "torus:4x4", combine="auto")
    assert isinstance(direct, Program)
    assert direct.paths is None
    assert len(direct.stages) == 1


def test_programs_beside_methods(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "compare",
        "alltoall:size=8",
        "--on",
        "mesh:4x4,overhead=2us",
        "--methods",
        "naive,coloring",
    )
    rows = said(capsys, *words, "--combine", "4x4,radix:2")["rows"]
    found = {row["method"].split()[-1]: row for row in rows}
    assert set(found) == {"naive", "coloring", "4x4", "radix:2"}
    assert rows[0]["combine"] in ("4x4", "radix:2")
    assert [row["time_s"] for row in rows] == sorted(row["time_s"] for row in rows)


def test_what_cannot_be_combined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = parse_machine("crossbar:4")
    ordered = Pattern.from_messages([0, 1], [1, 2], [8, 8], 4, before=[[0, 1]])
    with pytest.raises(InputError, match="have an order, which stages do not keep"):
        compile_combined(ordered, target, combine="2x2")
    with pytest.raises(UsageError, match="did you mean 'mixed'"):
        conset.compile("alltoall", "crossbar:4", combine="mixd")
    program = tmp_path / "p.toml"
    program.write_text('[[block]]\npattern = "shift"\n')
    for words, code, line in (
        (["alltoall", "--on", "mesh:4x4", "--combine", "3x3"], 3, "9 cells for 16 ranks"),
        (
            ["alltoall", "--on", "mesh:4x4", "--combine", "auto", "-o", str(tmp_path / "x.npz")],
            2,
            "ends in .json",
        ),
        ([str(program), "--on", "mesh:4x4", "--combine", "auto"], 2, "is a program of blocks"),
    ):
        capsys.readouterr()
        assert run(["compile", *words]) == code
        assert line in capsys.readouterr().err


def test_a_large_complete_exchange_is_chosen_from_boxes_alone_and_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program is that of the full comparison; the bound is that of some ranks' messages."""
    machine = parse_machine("paragon:8x8")
    pattern = parse_pattern("alltoall:size=8", topology=machine.topology, ranks=64)
    options = CompileOptions(rank_by="formula")
    monkeypatch.setattr(combining, "LARGE", 1000)
    every = compile_combined(pattern, machine, options)
    monkeypatch.setattr(combining, "MAX_DIRECT", 1000)
    assert combining.is_in_boxes(pattern)
    large = compile_combined(pattern, machine, options)
    assert large.combine == every.combine != "none"
    assert large.whole == every.whole
    assert large.program == every.program
    direct_s, least_s = (
        next(each.time_s for each in found.tried if each.name == "none") for found in (every, large)
    )
    assert 0 < least_s <= direct_s * (1 + 1e-9)


def test_a_program_of_too_many_parts_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall:size=8", topology=machine.topology, ranks=16)
    found = compile_combined(pattern, machine, CompileOptions(method="first-fit"), "4x4")
    monkeypatch.setattr(compiled, "MAX_PARTS", 479)
    with pytest.raises(InputError, match=r"2 stages for 240 messages is not written.* most 479"):
        compiled.document_of(found.program)
    assert compiled.document_of(found.program, in_blocks=True)
