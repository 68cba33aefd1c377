"""`compare --curve` and `--map`: what they compute, print, write and refuse."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from conset import api
from conset.base.errors import InputError, UsageError
from conset.cli.compare_charts import parse_generator, parse_reuse, smaller_machines
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.spec import parse_machine
from conset.models import predict
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.studies import chart_regions, parse_policies, trace_curves
from conset.studies.compare.comparison import compare
from conset.studies.compare.regions import SIZES, degrees_of


@pytest.mark.parametrize(
    "on",
    [
        "mesh:4x4",
        "mesh:5x6,model=wormhole",
        "torus:6x4",
        "ring:9",
        "mesh:1x7,setup=3us",
        "paragon:8x8",
    ],
)
@pytest.mark.parametrize("by", ["formula", None])
def test_points_of_the_curve_are_times_of_all_pairs_above_their_bounds(
    on: str, by: str | None
) -> None:
    machine = parse_machine(on)
    pattern = parse_pattern("alltoall:size=9KiB", topology=machine.topology)
    curve = trace_curves(pattern, machine, CompileOptions(), by=by)[0]
    assert curve.by == (by or machine.costs.model)
    pairs = [(point.contention, point.every) for point in curve.points]
    assert pairs == sorted(set(pairs))
    for contention in {point.contention for point in curve.points}:
        line = [point for point in curve.points if point.contention == contention]
        phases = line[0].phases
        assert [p.every for p in line] == [
            *(1 << k for k in range(phases.bit_length()) if 1 << k < phases),
            phases,
        ]
    assert curve.steps == curve.points[0].phases
    for point in curve.points:
        assert point.link <= point.contention * point.every
        assert point.groups == -(-point.phases // point.every)
        assert point.lower_s <= point.predicted_s * (1 + 1e-9)
        assert point.time_s is not None
        assert point.lower_s <= point.time_s * (1 + 1e-9)
        assert point.serial_least_s <= point.serial_most_s * (1 + 1e-9)
    best = curve.best
    assert best.time_s == min(point.time_s for point in curve.points if point.time_s is not None)
    again = compile_pattern(
        pattern, machine, CompileOptions(method="bounded", contention=best.contention)
    )
    assert predict(again, sync=best.sync).time_s == pytest.approx(best.predicted_s)
    if by is None:
        assert api.simulate(again, model=curve.by, sync=best.sync).time_s == pytest.approx(
            best.time_s
        )


def test_serial_steps_are_no_bounds_where_messages_overlap() -> None:
    """A node with several messages in flight.

    Overheads and bytes overlap, which steps one after the other do not.
    """
    machine = parse_machine("paragon:8x8")
    curve = trace_curves(
        parse_pattern("alltoall:size=9KiB", topology=machine.topology), machine, CompileOptions()
    )[0]
    assert any(
        point.time_s is not None and point.time_s < point.serial_least_s for point in curve.points
    )
    # 128 steps in which a node sends one message: nothing overlaps
    first = curve.points[0]
    assert first.time_s == pytest.approx(first.serial_least_s, rel=1e-3)
    assert first.serial_least_s == first.serial_most_s


def test_curves_of_several_sizes_are_those_of_each_size() -> None:
    machine = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    curves = trace_curves(pattern, machine, CompileOptions(), sizes=(256, 9216))
    assert [curve.size for curve in curves] == [256, 9216]
    alone = trace_curves(
        parse_pattern("alltoall:size=9216", topology=machine.topology), machine, CompileOptions()
    )[0]
    assert curves[1].points == alone.points
    assert curves[1].naive_s == alone.naive_s


def test_a_curve_too_large_for_a_model_says_that_the_formula_stands_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conset.studies.times.MAX_MESSAGES", {"wormhole": 200, "flow": 300})
    machine = parse_machine("paragon:4x4")  # 240 messages
    pattern = parse_pattern("alltoall", topology=machine.topology)
    curve = trace_curves(pattern, machine, CompileOptions())[0]
    assert (curve.by, curve.stands_in) == (
        "formula",
        "the formula is used instead of wormhole above 200 messages, given 240",
    )
    assert [point.time_s for point in curve.points] == [point.predicted_s for point in curve.points]
    assert trace_curves(pattern, machine, CompileOptions(), by="flow")[0].by == "flow"


def test_points_a_node_has_no_room_for_are_not_the_best() -> None:
    machine = parse_machine("paragon:8x8,blocking=0,outstanding_receives=40")
    pattern = parse_pattern("alltoall:size=9KiB", topology=machine.topology)
    curve = trace_curves(pattern, machine, CompileOptions())[0]
    assert {point.fits for point in curve.points} == {True, False}
    for point in curve.points:  # the model refuses what the machine has no room for
        assert point.fits == (point.time_s is not None)
        assert point.fits or "receives posted" in point.untimed
    assert curve.best.fits


def test_a_curve_is_of_complete_exchanges() -> None:
    machine = parse_machine("mesh:4x4")
    with pytest.raises(InputError, match="method bounded requires a complete exchange"):
        trace_curves(
            parse_pattern("neighbor", topology=machine.topology), machine, CompileOptions()
        )[0]
    cube = parse_machine("hypercube:3")
    with pytest.raises(
        InputError, match="method bounded requires a mesh or torus, given a hypercube"
    ):
        trace_curves(parse_pattern("alltoall", topology=cube.topology), cube, CompileOptions())[0]


def test_figure_5_of_the_ipsc_text_has_its_arrangement() -> None:
    """001, Figure 5: AC at the left (small messages), LP top right, RS_NL between.

    By formula, as the text's own reasoning: LP for dense patterns and large messages, which the
    text says are d >= 32 and more than 1 KB; RS_NL for most other cases, so at 16 KiB up to d = 16.
    By the machine's model blocked circuits cost the naive exchange its place at the left; the
    policies of the text are below.
    """
    machine = parse_machine("ipsc860:64")
    methods = ["naive", "rs-n", "rs-nl", "lp"]
    regions = chart_regions(
        "random", machine, methods, CompileOptions(), rank_by="formula", sizes=(16, 64, 1024, 16384)
    )
    assert regions.degrees == (4, 8, 16, 32, 48)
    best = [[regions.cell(row, column).method for column in range(4)] for row in range(5)]
    assert {row[0] for row in best} == {"naive"}
    assert {row[1] for row in best} <= {"naive", "rs-n"}
    assert best[0][2] == "naive"  # the border of AC is at 1 KB for d = 4
    assert [row[2] for row in best[1:3]] == ["rs-nl"] * 2
    assert [row[3] for row in best] == ["rs-nl", "rs-nl", "rs-nl", "lp", "lp"]
    dense = regions.cell(4, 3)
    assert (dense.sync, dense.second) == ("ready", "rs-nl")
    assert dense.margin > 0.3
    by_model = chart_regions("random", machine, methods, CompileOptions(), sizes=(16384,))
    assert by_model.rank_by == "circuit"
    assert [cell.method for cell in by_model.cells] == ["rs-nl", "rs-nl", "rs-nl", "lp", "lp"]


def test_a_cell_is_the_least_of_its_times() -> None:
    machine = parse_machine("paragon:3x4")
    regions = chart_regions(
        "random-rows",
        machine,
        ["naive", "scott", "coloring"],
        CompileOptions(seed=5),
        sizes=(64, 9000),
    )
    assert regions.methods == ("naive", "coloring")
    assert [row["method"] for row in regions.skipped] == ["scott"]
    for cell in regions.cells:
        assert cell.time_s == min(cell.times.values())
        second = min(time for method, time in cell.times.items() if method != cell.method)
        assert cell.margin == pytest.approx(second / cell.time_s - 1, abs=1e-9)


def test_a_schedule_carries_the_share_of_its_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_in_a_millisecond(*arguments: Any) -> Schedule:
        schedule = compile_pattern(*arguments)
        return schedule.with_report(compile_s=0.0 if schedule.method == "naive" else 1e-3)

    monkeypatch.setattr("conset.studies.compare.regions.compile_pattern", compile_in_a_millisecond)
    machine = parse_machine("ipsc860:16")
    for_ever, often, once = (
        chart_regions(
            "random", machine, ["naive", "rs-nl"], CompileOptions(), reuse=reuse, sizes=(1024,)
        )
        for reuse in (inf, 10, 1e-3)
    )
    for one, other in zip(for_ever.cells, often.cells, strict=True):
        assert other.times["naive"] == one.times["naive"]
        assert other.times["rs-nl"] == pytest.approx(one.times["rs-nl"] + 1e-4)
    assert {cell.method for cell in once.cells} == {"naive"}


def test_the_only_policies_are_those_asked_for() -> None:
    machine = parse_machine("ipsc860:16")
    regions = chart_regions(
        "random", machine, ["lp"], CompileOptions(), policies=["none"], sizes=(1024,)
    )
    assert {cell.sync for cell in regions.cells} == {"none"}
    assert {(cell.second, cell.margin) for cell in regions.cells} == {("", 0.0)}


def test_figure_5_by_simulation_lies_between_small_and_dense() -> None:
    """001, Figure 5, with the policies of the text.

    AC and RS_N to about 1 KB at d = 4, LP above about 1 KB, d ≥ 32.
    """
    machine = parse_machine("ipsc860:64")
    policies = {"naive": ["none"], "rs-n": ["none"], "rs-nl": ["ready"], "lp": ["ready"]}
    regions = chart_regions(
        "random",
        machine,
        list(policies),
        CompileOptions(),
        policies=policies,
        rank_by="circuit",
        sizes=(16, 4096, 65536),
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
        "random",
        machine,
        ["lp"],
        CompileOptions(),
        policies={"lp": ["none", "ready"]},
        rank_by="wormhole",
        sizes=(2048,),
    )
    sums = 0.0
    for seed in range(3):
        pattern = parse_pattern(
            f"random:degree={regions.degrees[-1]},size=2048,seed={seed}", ranks=16
        )
        schedule = compile_pattern(pattern, machine, CompileOptions(method="lp"))
        sums += min(
            api.simulate(schedule, model="wormhole", sync=sync).time_s for sync in ("none", "ready")
        )
    assert regions.cells[-1].time_s == pytest.approx(sums / 3)


def test_a_map_by_simulation_has_a_bound_on_messages() -> None:
    machine = parse_machine("mesh:32x32")
    with pytest.raises(
        UsageError,
        match=r"rank_by flow: at most 131,072 messages at effort 1, .* has 786,432; .*: formula$",
    ):
        chart_regions("random", machine, ["lp"], CompileOptions(), rank_by="flow")
    with pytest.raises(UsageError, match="unknown ranking 'flit'"):
        chart_regions("random", machine, ["lp"], CompileOptions(), rank_by="flit")


def test_policies_of_all_and_of_single_methods() -> None:
    policies = parse_policies("ready, naive=none,rs-n=none,rs-n=barrier:4")
    assert policies.of("lp") == ("ready",)
    assert policies.spread(["naive", "rs-n", "lp"]) == {
        "naive": ("none",),
        "rs-n": ("none", "barrier:4"),
        "lp": ("ready",),
    }
    assert parse_policies("auto,naive=none").of("lp") == ("auto",)
    assert parse_policies(None).of("lp") == ()
    with pytest.raises(UsageError, match="sync naive=none: naive is not compared: lp"):
        policies.spread(["lp"])
    with pytest.raises(UsageError, match="unknown method"):
        parse_policies("pl=none")


def test_the_best_policy_of_each_method_by_formula_and_by_simulation() -> None:
    machine = parse_machine("ipsc860:16")
    pattern = parse_pattern("random:degree=8", topology=machine.topology)
    methods = {"lp": ("auto", "barrier"), "naive": ("none",)}
    for rank_by in ("formula", "circuit"):
        rows = compare(
            pattern, machine, CompileOptions(rank_by=rank_by), methods, models=("circuit",)
        ).rows
        assert sorted(row["method"] for row in rows) == ["lp", "lp", "naive"]
        assert [row["rank_by"] for row in rows if row["auto"]] == [rank_by]
        best = next(row for row in rows if row["auto"])
        alone = CompileOptions(method="lp", sync="auto", rank_by=rank_by)
        assert best["sync"] == compile_pattern(pattern, machine, alone).sync
        assert best["simulated_s"] == (
            None if rank_by == "formula" else best["simulated"]["circuit"]["time_s"]
        )
    auto = compare(
        pattern, machine, CompileOptions(rank_by="circuit"), {"auto": ("auto", "barrier")}
    ).rows
    assert [row["auto"] for row in auto] == [True, True]
    assert auto[0]["simulated_s"] is not None
    assert auto[1]["simulated_s"] is None or auto[0]["sync"] == "barrier"
    regions = [
        chart_regions(
            "random",
            machine,
            ["lp"],
            CompileOptions(),
            policies=policies,
            rank_by="circuit",
            sizes=(1024,),
        )
        for policies in ([], ["auto"])
    ]
    assert regions[0].cells == regions[1].cells


@pytest.mark.parametrize(
    ("pattern", "machine"),
    [
        ("moe:tokens=256", "torus:4x4,switching=infiniband"),
        ("random:degree=4,size=16KiB", "delta:4x4"),
        ("stencil:size=4KiB", "fugaku:2x1x2"),
    ],
)
def test_auto_is_as_fast_as_any_row_over_the_routes_of_the_machine(
    pattern: str, machine: str
) -> None:
    """Named methods search longer than auto does for each; routes of a method's own are others."""
    methods = ["auto", "decreasing", "half-duplex", "bounded", "coloring", "connections"]
    found = api.compare(pattern, machine, methods=methods)
    (auto,) = (row for row in found.rows if row["method_by_auto"])
    rivals = [
        row["time_s"]
        for row, schedule in zip(found.rows, found.schedules, strict=True)
        if schedule.route_offsets is None
    ]
    assert auto["time_s"] == min(rivals)
    assert auto["auto"]
    assert auto["why"]


def test_a_method_with_channels_is_compared_where_it_is_named_or_has_them() -> None:
    def reasons(machine: str) -> dict[str, str]:
        skipped = api.compare("shift", machine).skipped
        return {row["method"]: row["reason"] for row in skipped}

    assert "--methods connections compares it" in reasons("mesh:4x4")["connections"]
    assert "connections" not in reasons("iwarp:4x4")


def test_a_policy_that_cannot_be_simulated_leaves_its_method_out() -> None:
    machine = parse_machine("torus:8x8")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    result = compare(
        pattern,
        machine,
        CompileOptions(rank_by="circuit"),
        {"naive": ("auto",), "bounded": ("auto",)},
    )
    assert [row["method"] for row in result.rows] == ["bounded"]
    assert [row["method"] for row in result.skipped] == ["naive"]
    assert "deadlock" in result.skipped[0]["reason"]


def test_no_method_that_applies_is_an_error() -> None:
    with pytest.raises(InputError, match="method scott requires"):
        chart_regions("random", parse_machine("mesh:3x3"), ["scott"], CompileOptions())
    with pytest.raises(InputError, match="a map needs at least 2 ranks, given 1"):
        chart_regions("random", parse_machine("mesh:1x1"), ["naive"], CompileOptions())


def test_degrees_are_the_texts_on_64_ranks() -> None:
    assert degrees_of(64) == (4, 8, 16, 32, 48)
    assert degrees_of(12) == (1, 2, 4, 9)
    assert degrees_of(2) == (1,)
    assert degrees_of(1) == ()
    assert (SIZES[0], SIZES[-1]) == (16, 128 * 1024)


@pytest.mark.parametrize(
    "words",
    ["random:degree=4", "random,size=3", "alltoall:size=3", "neighbor", "randm", "halo.csv"],
)
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
        (
            "alltoall --on mesh:4x4 --methods lp --sync none --rank-by flow",
            2,
            "goes with --map, --methods auto or --sync auto",
        ),
        ("neighbor --on mesh:4x4 --curve", 3, "complete exchange"),
        ("neighbor --on mesh:4x4 --map", 2, "has no degree"),
        ("alltoall:size=3 --on mesh:4x4 --map", 2, "machine and size are its axes"),
        ("alltoall --on mesh:4x4 --sizes 1KiB", 2, "goes with --curve, --map, --stages"),
        ("alltoall --on mesh:4x4 --curve --sizes 1KiB,x", 2, "--sizes 1KiB,x"),
        ("alltoall --on mesh:4x4 --curve --sizes 0", 2, "at least 1 B required"),
        ("alltoall --on mesh:4x4 --by flwo", 2, "did you mean 'flow'"),
        ("random --on mesh:4x4 --map --by flow --rank-by formula", 2, "given --rank-by formula"),
        ("alltoall --on mesh:4x4 --curve -o x.pdf", 2, ".pdf"),
        ("alltoall --on mesh:4x4 --models flwo", 2, "did you mean 'flow'"),
        ("alltoall --on mesh:4x4 --simulate --curve", 2, "does not go with --curve"),
        ("random --on mesh:4x4 --measure --map", 2, "does not go with --map"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    words: str, code: int, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *words.split()]) == code
    err = capsys.readouterr().err.strip().splitlines()
    assert len(err) == 1
    assert part in err[0]


def test_the_curve_as_object_text_markdown_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the words of the text's formula.

    128 steps of 688 us and 231 + 0.022 * 15232 us are 160.525 ms.
    """
    on = "paragon:8x8,hop=0,per_transfer=0,in_flight=1"
    words = ["compare", "alltoall:size=15232", "--on", on, "--curve"]
    assert run([*words, "--json", "-o", str(tmp_path / "c.svg")]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["schema"] == "conset/compare@1"
    assert answer["rows"] == []
    assert answer["manifest"]["command"] == f"conset compare alltoall:size=15232 --on {on} --curve"
    curve = answer["curve"]
    assert answer["curves"] == [curve]
    assert (curve["by"], curve["size"], curve["stands_in"]) == ("wormhole", 15232, None)
    points = curve["points"]
    assert (points[0]["sync"], points[0]["link"], points[-1]["groups"]) == ("barrier", 1, 1)
    for key in ("predicted_s", "time_s", "serial_least_s", "serial_most_s"):
        assert points[0][key] == pytest.approx(0.160525, abs=1e-6)
    least = min(points, key=lambda point: point["time_s"])
    assert curve["best"] == least
    assert "(1, 2)" in captured.err
    assert (
        f"least simulated by wormhole: contention {least['contention']} under {least['sync']}"
        in captured.err
    )
    assert (tmp_path / "c.svg").read_bytes()
    assert run([*words, "--markdown", "--by", "formula", "-o", str(tmp_path / "c.md")]) == 0
    text = (tmp_path / "c.md").read_text()
    assert capsys.readouterr().out == text
    # 64 barriers and 64 messages: what serial steps take where links cost nothing; with links that
    # take turns 128
    assert (
        "| (1, 2) | 2 | 64 | barrier | 64 | 44.03 ms | 80.26 ms | 80.26 ms | 80.26 ms to 116.5 ms |"
        in text
    )


def test_the_curves_of_several_sizes_in_one_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "alltoall", "--on", "paragon:4x4", "--curve", "--sizes", "4KiB,1KiB,16KiB"]
    assert run([*words, "--json", "-o", str(tmp_path / "c.png")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [curve["size"] for curve in answer["curves"]] == [1024, 4096, 16384]
    assert answer["curve"] == answer["curves"][0]
    assert answer["manifest"]["command"].endswith("--sizes 4KiB,1KiB,16KiB --curve")
    assert (tmp_path / "c.png").read_bytes()
    assert run([*words, "--markdown"]) == 0
    text = capsys.readouterr().out
    assert [text.count(f"Messages of {size}") for size in ("1 KiB", "4 KiB", "16 KiB")] == [1, 1, 1]


def test_the_map_as_object_text_markdown_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "random", "--on", "ipsc860:16", "--map", "--methods", "naive,lp"]
    assert run([*words, "--json", "-o", str(tmp_path / "m.png")]) == 0
    answer = json.loads(capsys.readouterr().out)
    chart = answer["map"]
    assert (chart["degrees"], chart["reuse"], chart["methods"]) == (
        [4, 8, 12],
        "inf",
        ["naive", "lp"],
    )
    assert (chart["rank_by"], chart["machines"]) == ("circuit", None)
    assert len(chart["cells"]) == 3 * len(chart["sizes"])
    assert answer["manifest"]["command"].endswith("--methods naive,lp --map")
    assert (tmp_path / "m.png").read_bytes()
    assert run([*words, "--by", "formula", "--sizes", "16,4KiB", "--json"]) == 0
    chart = json.loads(capsys.readouterr().out)["map"]
    assert (chart["rank_by"], chart["sizes"]) == ("formula", [16, 4096])
    assert chart["cells"][0]["method"] == "naive"
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


def test_a_map_of_complete_exchanges_has_machines_and_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """003, Figure 11: bounded gains on the naive exchange the more, the larger machine and
    message."""
    words = ["compare", "alltoall", "--on", "paragon:8x8", "--map", "--methods", "naive,bounded"]
    assert run([*words, "--sizes", "1KiB,16KiB", "--json", "-o", str(tmp_path / "m.svg")]) == 0
    captured = capsys.readouterr()
    chart = json.loads(captured.out)["map"]
    assert chart["machines"] == ["paragon:2x2", "paragon:4x4", "paragon:6x6", "paragon:8x8"]
    assert (chart["degrees"], chart["rank_by"]) == ([3, 15, 35, 63], "wormhole")
    cells = {(cell["machine"], cell["size"]): cell for cell in chart["cells"]}
    assert len(cells) == 8
    for (on, size), cell in cells.items():
        machine = parse_machine(on)
        pattern = parse_pattern(f"alltoall:size={size}", topology=machine.topology)
        naive = compile_pattern(pattern, machine, CompileOptions(method="naive"))
        assert cell["times"]["naive"] == api.simulate(naive, model="wormhole", sync="none").time_s
        if cell["method"] == "bounded":
            own = compile_pattern(
                pattern, machine, CompileOptions(method="bounded", contention=cell["contention"])
            )
            assert (
                cell["simulated_s"] == api.simulate(own, model="wormhole", sync=cell["sync"]).time_s
            )
    assert cells["paragon:8x8", 16384]["method"] == "bounded"
    assert cells["paragon:8x8", 16384]["margin"] > 0.3
    assert "bounded c " in captured.err
    assert (tmp_path / "m.svg").read_bytes()


@pytest.mark.parametrize(
    ("on", "names"),
    [
        ("torus:8x4,link=1GB/s", ["torus:2x1", "torus:4x2", "torus:6x3", "torus:8x4"]),
        ("hypercube:4", ["hypercube:2", "hypercube:3", "hypercube:4"]),
        ("ipsc860:32", ["ipsc860:4", "ipsc860:8", "ipsc860:16", "ipsc860:32"]),
        ("ring:9", ["ring:9"]),
        ("mesh:8x8,dead=3", ["mesh:8x8,dead=3"]),
    ],
)
def test_smaller_machines_are_quarters_or_halves(on: str, names: list[str]) -> None:
    expected = [name for name in names if not name.endswith("x1")]
    machines = smaller_machines(on)
    assert [machine.topology.endpoints for machine in machines] == [
        parse_machine(name).topology.endpoints for name in expected
    ]
    assert {machine.costs.link_Bps for machine in machines} == {parse_machine(on).costs.link_Bps}


def test_auto_stands_in_a_comparison_as_what_it_chose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "alltoall", "--on", "mesh:3x3", "--methods", "auto,lp", "--json"]) == 0
    rows = {row["method_by_auto"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert (rows[True]["method"], rows[False]["method"]) == ("naive", "lp")
    assert rows[True]["why"].startswith("the naive exchange")
