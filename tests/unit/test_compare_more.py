"""`compare --curve` and `--map`: what they compute, print, write and refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from conset import api
from conset.cli.compare_more import parse_generator, parse_reuse
from conset.cli.main import run
from conset.comparison import chart_regions, compare, parse_policies, trace_curve
from conset.comparison.regions import SIZES, degrees_of
from conset.compiler import Request, compile_pattern
from conset.errors import InputError, UsageError
from conset.machine.spec import parse_machine
from conset.pattern.spec import parse_pattern
from conset.prediction import predict
from conset.schedule.schedule import Schedule


@pytest.mark.parametrize("on", ["mesh:4x4", "mesh:5x6", "torus:6x4", "ring:9", "mesh:1x7,setup=3us", "paragon:8x8"])
def test_points_of_the_curve_are_predictions_between_their_bounds(on: str) -> None:
    machine = parse_machine(on)
    curve = trace_curve(parse_pattern("alltoall:size=9KiB", topology=machine.topology), machine, Request())
    assert [point.groups for point in curve.points] == sorted({p.groups for p in curve.points}, reverse=True)
    assert curve.points[-1].groups == 1
    assert curve.steps == curve.points[0].phases
    for point in curve.points:
        assert point.link <= point.contention * point.every
        assert point.lower_s <= point.predicted_s * (1 + 1e-9)
        assert point.lower_s <= point.upper_s * (1 + 1e-9)
    pattern = parse_pattern("alltoall:size=9KiB", topology=machine.topology)
    again = compile_pattern(pattern, machine, Request(method="bounded", contention=curve.best.contention))
    assert predict(again, sync=curve.best.sync).time_s == pytest.approx(curve.best.predicted_s)
    assert curve.best.predicted_s == min(point.predicted_s for point in curve.points)


def test_points_a_node_has_no_room_for_are_not_the_best() -> None:
    machine = parse_machine("paragon:16x16,blocking=0")
    pattern = parse_pattern("alltoall:size=9KiB", topology=machine.topology)
    curve = trace_curve(pattern, machine, Request())
    assert [point.fits for point in curve.points][-2:] == [True, False]
    assert curve.best.fits


def test_a_curve_is_of_complete_exchanges() -> None:
    machine = parse_machine("mesh:4x4")
    with pytest.raises(InputError, match="method bounded requires a complete exchange"):
        trace_curve(parse_pattern("neighbor", topology=machine.topology), machine, Request())
    cube = parse_machine("hypercube:3")
    with pytest.raises(InputError, match="method bounded requires a mesh or torus, given a hypercube"):
        trace_curve(parse_pattern("alltoall", topology=cube.topology), cube, Request())


def test_figure_5_of_the_ipsc_text_has_its_arrangement() -> None:
    """001, Figure 5: AC at the left (small messages), LP top right (dense, large), RS_NL between."""
    machine = parse_machine("ipsc860:64")
    methods = ["naive", "rs-n", "rs-nl", "lp"]
    regions = chart_regions("random", machine, methods, Request(), sizes=(16, 64, 1024, 16384))
    assert regions.degrees == (4, 8, 16, 32, 48)
    best = [[regions.cell(row, column).method for column in range(4)] for row in range(5)]
    assert {row[0] for row in best} == {"naive"}
    assert {row[1] for row in best} <= {"naive", "rs-n"}
    assert [row[2] for row in best[:3]] == ["rs-nl"] * 3
    assert [row[3] for row in best] == ["rs-nl", "rs-nl", "lp", "lp", "lp"]
    dense = regions.cell(4, 3)
    assert (dense.sync, dense.second) == ("ready", "rs-nl")
    assert 0.3 < dense.margin < 0.6


def test_a_cell_is_the_least_of_its_times() -> None:
    machine = parse_machine("paragon:3x4")
    regions = chart_regions("random-rows", machine, ["naive", "scott", "coloring"], Request(seed=5), sizes=(64, 9000))
    assert regions.methods == ("naive", "coloring")
    assert [row["method"] for row in regions.skipped] == ["scott"]
    for cell in regions.cells:
        assert cell.time_s == min(cell.times.values())
        second = min(time for method, time in cell.times.items() if method != cell.method)
        assert cell.margin == pytest.approx(second / cell.time_s - 1, abs=1e-9)


def test_a_schedule_carries_the_share_of_its_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_in_a_millisecond(*arguments: Any) -> Schedule:
        schedule = compile_pattern(*arguments)
        return replace(schedule, compile_s=0.0 if schedule.method == "naive" else 1e-3)

    monkeypatch.setattr("conset.comparison.regions.compile_pattern", compile_in_a_millisecond)
    machine = parse_machine("ipsc860:16")
    for_ever, often, once = (
        chart_regions("random", machine, ["naive", "rs-nl"], Request(), reuse=reuse, sizes=(1024,))
        for reuse in (inf, 10, 1e-3)
    )
    for one, other in zip(for_ever.cells, often.cells, strict=True):
        assert other.times["naive"] == one.times["naive"]
        assert other.times["rs-nl"] == pytest.approx(one.times["rs-nl"] + 1e-4)
    assert {cell.method for cell in once.cells} == {"naive"}


def test_the_only_policies_are_those_asked_for() -> None:
    machine = parse_machine("ipsc860:16")
    regions = chart_regions("random", machine, ["lp"], Request(), policies=["none"], sizes=(1024,))
    assert {cell.sync for cell in regions.cells} == {"none"}
    assert {(cell.second, cell.margin) for cell in regions.cells} == {("", 0.0)}


def test_figure_5_by_simulation_lies_between_small_and_dense() -> None:
    """001, Figure 5, with the policies of the text: AC and RS_N to about 1 KB at d = 4, LP above about 1 KB, d ≥ 32."""
    machine = parse_machine("ipsc860:64")
    policies = {"naive": ["none"], "rs-n": ["none"], "rs-nl": ["ready"], "lp": ["ready"]}
    regions = chart_regions(
        "random", machine, list(policies), Request(), policies=policies, rank_by="circuit", sizes=(16, 4096, 65536)
    )
    best = [[regions.cell(row, column).method for column in range(3)] for row in range(5)]
    assert {row[0] for row in best} <= {"naive", "rs-n"}
    assert [row[1] for row in best] == ["rs-nl", "rs-nl", "rs-nl", "lp", "lp"]
    assert [row[2] for row in best] == ["rs-nl", "rs-nl", "rs-nl", "lp", "lp"]
    for cell in regions.cells:
        assert [cell.sync] == policies[cell.method]
    answer = regions.to_object()
    assert (answer["rank_by"], answer["policies"]["lp"]) == ("circuit", ["ready"])
    assert answer["cells"][0]["simulated_s"] == regions.cells[0].time_s
    assert "predicted_s" not in answer["cells"][0]


def test_a_simulated_cell_is_the_mean_that_simulate_says() -> None:
    machine = parse_machine("ipsc860:16")
    regions = chart_regions(
        "random", machine, ["lp"], Request(), policies={"lp": ["none", "ready"]}, rank_by="wormhole", sizes=(2048,)
    )
    sums = 0.0
    for seed in range(3):
        pattern = parse_pattern(f"random:degree={regions.degrees[-1]},size=2048,seed={seed}", ranks=16)
        schedule = compile_pattern(pattern, machine, Request(method="lp"))
        sums += min(api.simulate(schedule, model="wormhole", sync=sync).time_s for sync in ("none", "ready"))
    assert regions.cells[-1].time_s == pytest.approx(sums / 3)


def test_a_map_by_simulation_has_a_bound_on_messages() -> None:
    machine = parse_machine("mesh:32x32")
    with pytest.raises(
        UsageError, match=r"--rank-by flow: at most 131,072 messages at effort 1, .* has 786,432; .*: formula$"
    ):
        chart_regions("random", machine, ["lp"], Request(), rank_by="flow")
    with pytest.raises(UsageError, match="unknown ranking 'flit'"):
        chart_regions("random", machine, ["lp"], Request(), rank_by="flit")


def test_policies_of_all_and_of_single_methods() -> None:
    policies = parse_policies("ready, naive=none,rs-n=none,rs-n=barrier:4")
    assert policies.of("lp") == ("ready",)
    assert policies.spread(["naive", "rs-n", "lp"]) == {
        "naive": ("none",), "rs-n": ("none", "barrier:4"), "lp": ("ready",),
    }  # fmt: skip
    assert parse_policies("auto,naive=none").of("lp") == ("auto",)
    assert parse_policies(None).of("lp") == ()
    with pytest.raises(UsageError, match="--sync naive=none: naive is not compared: lp"):
        policies.spread(["lp"])
    with pytest.raises(UsageError, match="unknown method"):
        parse_policies("pl=none")


def test_the_best_policy_of_each_method_by_formula_and_by_simulation() -> None:
    machine = parse_machine("ipsc860:16")
    pattern = parse_pattern("random:degree=8", topology=machine.topology)
    methods = {"lp": ("auto", "barrier"), "naive": ("none",)}
    for rank_by in ("formula", "circuit"):
        rows = compare(pattern, machine, Request(rank_by=rank_by), methods, models=("circuit",)).rows
        assert [row["method"] for row in rows] == ["lp", "lp", "naive"]
        assert [row["rank_by"] for row in rows] == [rank_by, None, None]
        best = rows[0]
        alone = Request(method="lp", sync="auto", rank_by=rank_by)
        assert best["sync"] == compile_pattern(pattern, machine, alone).sync
        assert best["simulated_s"] == (None if rank_by == "formula" else best["simulated"]["circuit"]["time_s"])
    auto = compare(pattern, machine, Request(rank_by="circuit"), {"auto": ("auto", "barrier")}).rows
    assert [row["auto"] for row in auto] == [True, True]
    assert auto[0]["simulated_s"] is not None
    assert auto[1]["simulated_s"] is None or auto[0]["sync"] == "barrier"
    regions = [
        chart_regions("random", machine, ["lp"], Request(), policies=policies, rank_by="circuit", sizes=(1024,))
        for policies in ([], ["auto"])
    ]
    assert regions[0].cells == regions[1].cells


def test_a_policy_that_cannot_be_simulated_leaves_its_method_out() -> None:
    machine = parse_machine("torus:8x8")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    result = compare(pattern, machine, Request(rank_by="circuit"), {"naive": ("auto",), "bounded": ("auto",)})
    assert [row["method"] for row in result.rows] == ["bounded"]
    assert [row["method"] for row in result.skipped] == ["naive"]
    assert "deadlock" in result.skipped[0]["reason"]


def test_no_method_that_applies_is_an_error() -> None:
    with pytest.raises(InputError, match="method scott requires"):
        chart_regions("random", parse_machine("mesh:3x3"), ["scott"], Request())
    with pytest.raises(InputError, match="a map needs at least 2 ranks, given 1"):
        chart_regions("random", parse_machine("mesh:1x1"), ["naive"], Request())


def test_degrees_are_the_texts_on_64_ranks() -> None:
    assert degrees_of(64) == (4, 8, 16, 32, 48)
    assert degrees_of(12) == (1, 2, 4, 9)
    assert degrees_of(2) == (1,)
    assert degrees_of(1) == ()
    assert (SIZES[0], SIZES[-1]) == (16, 128 * 1024)


@pytest.mark.parametrize("words", ["random:degree=4", "random,size=3", "alltoall", "randm", "halo.csv"])
def test_a_map_varies_degree_and_size_itself(words: str) -> None:
    with pytest.raises(UsageError):
        parse_generator(words)


def test_reuse_is_a_number_of_uses() -> None:
    assert (parse_reuse("inf"), parse_reuse("12")) == (inf, 12)
    for words in ("0", "-3", "often", "nan"):
        with pytest.raises(UsageError, match="must be a number of at least 1, or inf"):
            parse_reuse(words)


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ("alltoall --on mesh:4x4 --curve --map", 2, "exclude each other"),
        ("alltoall --on mesh:4x4 --reuse 3", 2, "goes with --map"),
        ("random --on mesh:4x4 --map --reuse 0", 2, "at least 1"),
        ("random --on mesh:4x4 --map --rank-by flit", 2, "unknown ranking 'flit'"),
        ("alltoall --on mesh:4x4 --methods lp --rank-by flow", 2, "goes with --map, --methods auto or --sync auto"),
        ("neighbor --on mesh:4x4 --curve", 3, "complete exchange"),
        ("alltoall --on mesh:4x4 --map", 2, "has no degree"),
        ("alltoall --on mesh:4x4 --curve -o x.pdf", 2, ".pdf"),
        ("alltoall --on mesh:4x4 --models flwo", 2, "did you mean 'flow'"),
        ("alltoall --on mesh:4x4 --simulate --curve", 2, "do not go with --curve"),
        ("random --on mesh:4x4 --measure --map", 2, "do not go with --map"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    words: str, code: int, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *words.split()]) == code
    err = capsys.readouterr().err.strip().splitlines()
    assert len(err) == 1
    assert part in err[0]


def test_the_curve_as_object_text_markdown_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "alltoall:size=15232", "--on", "paragon:8x8", "--curve"]
    assert run([*words, "--json", "-o", str(tmp_path / "c.svg")]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["schema"] == "conset/compare@1"
    assert answer["rows"] == []
    assert answer["manifest"]["command"] == "conset compare alltoall:size=15232 --on paragon:8x8 --curve"
    points = answer["curve"]["points"]
    assert (points[0]["sync"], points[1]["link"], points[-1]["groups"]) == ("barrier", 2, 1)
    assert points[0]["predicted_s"] == pytest.approx(0.160525, abs=1e-6)
    assert "(1, 2)" in captured.err
    assert (tmp_path / "c.svg").read_bytes()
    assert run([*words, "--markdown", "-o", str(tmp_path / "c.md")]) == 0
    assert capsys.readouterr().out == (tmp_path / "c.md").read_text()
    assert "| (1, 2) | 2 | 64 | barrier | 64 | 44.03 ms | 36.23 ms | 80.26 ms |" in (tmp_path / "c.md").read_text()


def test_the_map_as_object_text_markdown_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "random", "--on", "ipsc860:16", "--map", "--methods", "naive,lp"]
    assert run([*words, "--json", "-o", str(tmp_path / "m.png")]) == 0
    answer = json.loads(capsys.readouterr().out)
    chart = answer["map"]
    assert (chart["degrees"], chart["reuse"], chart["methods"]) == ([4, 8, 12], "inf", ["naive", "lp"])
    assert len(chart["cells"]) == 3 * len(chart["sizes"])
    assert chart["cells"][0]["method"] == "naive"
    assert answer["manifest"]["command"].endswith("--methods naive,lp --map")
    assert (tmp_path / "m.png").read_bytes()
    assert run([*words, "--rank-by", "circuit", "--sync", "ready,naive=none", "--json"]) == 0
    captured = capsys.readouterr()
    assert "least time simulated by circuit: naive under none; lp under ready;" in captured.err
    answer = json.loads(captured.out)
    assert answer["map"]["rank_by"] == "circuit"
    assert "--sync ready,naive=none" in answer["manifest"]["command"]
    assert "--rank-by circuit" in answer["manifest"]["command"]
    assert run([*words, "--markdown", "--reuse", "10", "-o", str(tmp_path / "m.md")]) == 0
    assert "a schedule is used 10 times" in capsys.readouterr().out
    assert run(words) == 0
    assert "degree" in capsys.readouterr().out


def test_auto_stands_in_a_comparison_as_what_it_chose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "alltoall", "--on", "mesh:3x3", "--methods", "auto,lp", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["method"], row["auto"]) for row in rows] == [("naive", True), ("lp", False)]
    assert rows[0]["why"].startswith("posting everything")
