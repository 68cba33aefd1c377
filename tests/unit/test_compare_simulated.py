"""`compare --simulate`: times side by side, their errors, what does not apply and why.

As table, object and picture.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset import api
from conset.base.errors import InputError, UsageError
from conset.cli.compare import RANKS_PER_CORE, require_cores
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.machine.spec import parse_machine
from conset.models.workload import Workload
from conset.pattern.spec import parse_pattern
from conset.report.comparison import (
    compare_table,
    deciding_lines,
    describe_way,
    format_error,
    least_of,
    picture_simulated,
    simulated_lines,
    simulated_table,
)
from conset.report.markdown import section_markdown
from conset.report.sections import Part, Section
from conset.studies.compare.comparison import compare
from conset.studies.times import (
    LARGEST,
    LARGEST_FLITS,
    default_models,
    errors_of,
    parse_models,
    reference_of,
    routers_are_all,
    simulate_by,
    too_large,
)

ORACLE = "torus:4x4,link=16GB/s,hop=4ns,port=16GB/s,inject=3ns,eject=2ns,flit=16"
"""A network on which a cycle is 1 ns and a message alone takes 5 + 4 hops + flits cycles in
every model."""


def test_every_model_says_what_simulate_says_under_the_same_policy() -> None:
    machine = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall:size=2KiB", topology=machine.topology)
    models = ("flow", "wormhole", "circuit", "flit")
    result = compare(
        pattern,
        machine,
        CompileOptions(),
        {"naive": ("none",), "lp": ("ready", "local")},
        models=models,
    )
    assert {(row["method"], row["sync"]) for row in result.rows} == {
        ("naive", "none"),
        ("lp", "ready"),
        ("lp", "local"),
    }
    for row, schedule in zip(result.rows, result.schedules, strict=True):
        assert tuple(row["simulated"]) == models
        for model, said in row["simulated"].items():
            timeline = api.simulate(schedule, model=model, sync=row["sync"])
            assert (said["time_s"], said["sync"]) == (timeline.time_s, row["sync"])
            assert said["in_flight"] == 3  # the preset's
            assert (said["note"] is None) == (model != "flit")


def test_a_message_alone_takes_the_same_by_every_model() -> None:
    """1024 B over one hop: 5 + 4 + 64 ns; headers of worms arrive whole, so do fluids."""
    machine = parse_machine(ORACLE)
    pattern = parse_pattern("permutation", topology=machine.topology)
    one = replace(pattern, offsets=np.array([0, *[1] * 16]), target=[1], size=[1024])
    result = compare(
        one,
        machine,
        CompileOptions(),
        {"naive": ()},
        models=("flow", "wormhole", "circuit", "flit"),
    )
    times = {model: said["time_s"] for model, said in result.rows[0]["simulated"].items()}
    assert times == pytest.approx(dict.fromkeys(times, 73e-9), rel=1e-6)
    assert routers_are_all(machine)
    assert reference_of(result.rows, machine) == "flit"


def test_blocking_is_seen_by_worms_and_flits_only() -> None:
    """Where all models charge a message alone the same, flow alone leaves out that messages
    block each other.

    15 messages of 64 ns leave a port one after the other, the last over at least one hop: 15 * 64 +
    5 + 4 ns by flow, as if no link were shared. Worms and flits wait for channels that others hold,
    in orders of their own (first come, and by turns): more than twice that, and nearer to each
    other. In phases whose ranks wait for their own messages nothing blocks, and all say the same
    but for a cycle of the routers in each of 15 phases.
    """
    machine = parse_machine(ORACLE)
    pattern = parse_pattern("alltoall", topology=machine.topology)
    models = ("flow", "wormhole", "flit")
    result = compare(
        pattern, machine, CompileOptions(), {"naive": ("none",), "lp": ("local",)}, models=models
    )
    rows = {row["method"]: row for row in result.rows}
    reference = reference_of(result.rows, machine)
    errors = errors_of(rows["naive"], reference)
    times = {model: said["time_s"] for model, said in rows["naive"]["simulated"].items()}
    assert set(errors) == {"predicted", "flow", "wormhole"}
    assert times["flow"] == pytest.approx((15 * 64 + 5 + 4) * 1e-9)
    assert min(times["wormhole"], times["flit"]) > 2 * times["flow"]
    assert errors["flow"] < -0.5
    assert abs(errors["wormhole"]) < 0.2
    apart = {model: said["time_s"] for model, said in rows["lp"]["simulated"].items()}
    assert apart["flow"] == pytest.approx(apart["wormhole"])
    assert abs(apart["flit"] - apart["wormhole"]) <= 15e-9


def test_rows_are_sorted_by_the_time_of_the_machines_model() -> None:
    machine = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall:size=2KiB", topology=machine.topology)
    methods = {"naive": ("none",), "lp": ("ready", "local", "barrier"), "auto": ("auto",)}
    for by in (None, "flow", "formula"):
        result = compare(pattern, machine, CompileOptions(), methods, by=by)
        assert (result.by, result.stands_in) == (by or "wormhole", "")
        times = [row["time_s"] for row in result.rows]
        assert times == sorted(times)
        for row, schedule, terms in zip(result.rows, result.schedules, result.terms, strict=True):
            assert (row["by"], row["untimed"], row["sync"]) == (result.by, None, schedule.sync)
            assert sum(terms.values()) == pytest.approx(row["predicted_s"])
            own = (
                row["predicted_s"]
                if by == "formula"
                else api.simulate(schedule, model=result.by).time_s
            )
            assert row["time_s"] == own
        if by is None:
            assert result.rows[0]["auto"]


def test_a_row_tells_what_else_it_was_made_with() -> None:
    machine = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall:size=2KiB", topology=machine.topology)
    asked = {"bounded": CompileOptions(contention=2), "naive": CompileOptions()}
    by_method = {
        name: compare(pattern, machine, request, {name: ()}).rows[0]
        for name, request in asked.items()
    }
    assert (by_method["bounded"]["contention"], by_method["naive"]["contention"]) == (2, None)
    assert [row["machine_in_flight"] for row in by_method.values()] == [3, 3]
    assert describe_way(by_method["bounded"]) == "contention 2"
    assert describe_way(by_method["naive"]) == ""
    assert describe_way(
        {"contention": 4, "in_flight": 2, "machine_in_flight": "all", "posting": "rotated"}
    ) == ("contention 4, 2 in flight, rotated")
    rows = [by_method["bounded"], {**by_method["naive"], "in_flight": 1, "posting": "rotated"}]
    table = compare_table(rows)
    assert table.columns[:4] == ["method", "contention", "in flight", "order"]
    assert [row[:4] for row in table.rows] == [
        ["bounded", "2", "3", ""],
        ["naive", "–", "1", "rotated"],
    ]


def test_what_takes_too_many_steps_is_cut_and_its_row_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("compare.comparison", "times"):
        monkeypatch.setattr(
            f"conset.studies.{module}.allowed_work",
            lambda pattern, model, effort: 100 * effort,
        )
    machine = parse_machine("paragon:4x4")
    pattern = parse_pattern("alltoall:size=2KiB", topology=machine.topology)
    words = "cut after 100 steps of simulation; --effort allows more"
    row = compare(pattern, machine, CompileOptions(), {"lp": ()}, models=("flow",)).rows[0]
    assert (row["time_s"], row["untimed"]) == (None, words)
    assert row["not_simulated"] == {"flow": words}
    assert deciding_lines([row])[1:] == [f"no time of lp under {row['sync']}: {words}"]
    both = compare(
        pattern, machine, CompileOptions(effort=1000), {"lp": ()}, models=("flow",)
    ).rows[0]
    assert both["untimed"] is None
    assert both["not_simulated"] == {}


def test_what_searches_long_is_left_out_of_all_methods_above_a_counted_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conset.studies.compare.comparison.LARGE", 200)
    machine = parse_machine("paragon:4x4")  # 240 messages
    pattern = parse_pattern("alltoall:size=2KiB", topology=machine.topology)
    methods: dict[str, tuple[str, ...]] = {"lp": (), "birkhoff": ()}
    left = compare(pattern, machine, CompileOptions(), methods, named=False)
    assert [row["method"] for row in left.rows] == ["lp"]
    assert left.skipped == [
        {
            "method": "birkhoff",
            "reason": (
                "searches too long for 240 messages, at most 200; --methods birkhoff or "
                "--effort allows"
            ),
        }
    ]
    for request, named in ((CompileOptions(), True), (CompileOptions(effort=2), False)):
        assert len(compare(pattern, machine, request, methods, named=named).rows) == 2


def test_models_without_a_word_are_those_that_suit_the_machine() -> None:
    assert default_models(parse_machine("ipsc860:16")) == ("flow", "circuit")
    for on in ("mesh:4x4", "paragon:4x4", "hypercube:4"):
        assert parse_models(None, parse_machine(on)) == ("flow", "wormhole")
    assert parse_models("flit, flow,flit", parse_machine("mesh:2x2")) == ("flit", "flow")
    for words in ("", " , ", "fluid"):
        with pytest.raises(UsageError, match="model"):
            parse_models(words, parse_machine("mesh:2x2"))
    with pytest.raises(UsageError, match="unknown model 'fluid'"):
        api.compare("alltoall", "mesh:2x2", models=("fluid",))


def test_what_does_not_apply_has_its_reason() -> None:
    crossbar = api.compile("random", "crossbar:16", method="lp")
    said, left_out = simulate_by(crossbar, ("flow", "flit"))
    assert list(said) == ["flow"]
    assert left_out == {"flit": "flit: a crossbar has no links: a network with routers is required"}
    ring = api.compile("alltoall", "torus:8x8", method="naive")
    assert "deadlock" in simulate_by(ring, ("circuit",))[1]["circuit"]
    crowded = api.compile("alltoall", "paragon:14x14", method="naive")
    assert "195 receives posted" in simulate_by(crowded, ("wormhole",))[1]["wormhole"]


def test_sizes_have_bounds_in_messages_and_flits() -> None:
    machine = parse_machine("mesh:2x2")

    def workload(messages: int, size: int) -> Workload:
        node = np.zeros(messages, np.int32)
        return Workload(node, node + 1, np.full(messages, size), 4)

    for model, most in LARGEST.items():
        assert too_large(workload(most, 1), machine, model) == ""
        assert too_large(workload(most + 1, 1), machine, model).startswith(
            f"{most + 1:,} messages, at most {most:,}"
        )
    flits = LARGEST_FLITS // 1024
    assert too_large(workload(1024, 16 * flits), machine, "flit") == ""
    assert too_large(workload(1024, 16 * flits + 1), machine, "flit") == (
        "16,778,240 flits, at most 16,777,216 are simulated here"
    )


def row(
    method: str, predicted_s: float, measured_s: float | None = None, **models: float
) -> dict[str, Any]:
    measured = (
        None
        if measured_s is None
        else {"median_s": measured_s, "note": "2 ranks here", "mpi": "M", "cores": 2}
    )
    said = {
        name: {"time_s": time_s, "in_flight": "all", "note": None}
        for name, time_s in models.items()
    }
    return {
        "method": method,
        "auto": False,
        "sync": "none",
        "predicted_s": predicted_s,
        "simulated": said,
        "not_simulated": {},
        "measured": measured,
    }


def with_errors(
    rows: list[dict[str, Any]], on: str = "mesh:4x4"
) -> tuple[list[dict[str, Any]], str]:
    reference = reference_of(rows, parse_machine(on))
    return [{**each, "errors": errors_of(each, reference)} for each in rows], reference


def test_errors_are_against_what_was_measured_else_the_most_detailed_model() -> None:
    rows, reference = with_errors([row("a", 1.0, 2.0, flow=3.0), row("b", 1.0, None, flow=3.0)])
    assert reference == "measured"
    assert rows[0]["errors"] == {"predicted": -0.5, "flow": 0.5}
    assert rows[1]["errors"] == {}
    models = {"flow": 3.0, "circuit": 5.0, "wormhole": 4.0, "flit": 1.0}
    assert reference_of([row("a", 2.0, None, **models)], parse_machine("mesh:4x4")) == "wormhole"
    assert reference_of([row("a", 2.0, None, **models)], parse_machine("paragon:4x4")) == "wormhole"
    assert reference_of([row("a", 2.0, None, **models)], parse_machine(ORACLE)) == "flit"
    rows, reference = with_errors([row("a", 2.0, None, flow=3.0, wormhole=4.0)])
    assert rows[0]["errors"] == {"predicted": -0.5, "flow": -0.25}
    assert with_errors([row("a", 2.0)])[1] == ""
    assert with_errors([row("empty", 0.0, None, flow=0.0)])[0][0]["errors"] == {}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, ""),
        (0.004, "±0 %"),
        (-0.032, "−3 %"),
        (0.62, "+62 %"),
        (11.4, "× 12"),
        (-0.9676, "× 0.032"),
    ],
)
def test_errors_in_words(error: float | None, words: str) -> None:
    assert format_error(error) == words


def test_the_least_of_a_column_and_none_where_all_are_equal() -> None:
    rows = [
        row("a", 1.0, None, flow=3.0),
        row("b", 1.0, None, flow=2.0),
        row("c", 1.0, None, flow=2.0),
        row("d", 1.0),
    ]
    assert least_of(rows, "flow") == {1, 2}
    assert least_of(rows, "predicted") == least_of([], "predicted") == frozenset()


def test_the_table_as_markdown() -> None:
    rows, reference = with_errors(
        [row("lp", 2e-3, None, flow=3e-3, wormhole=4e-3), row("naive", 1e-3, None, flow=5e-3)]
    )
    rows[1]["not_simulated"] = {"wormhole": "a | circle"}
    models = ("flow", "wormhole")
    notes = simulated_lines(rows, models, reference)
    part = Part(table=simulated_table(rows, models), notes=notes)
    assert section_markdown(Section("", parts=[part])).splitlines() == [
        "| method | sync | predicted | flow | wormhole |",
        "| :-- | :-- | --: | --: | --: |",
        "| lp | none | 2 ms (−50 %) | **3 ms (−25 %)** | 4 ms |",
        "| naive | none | **1 ms** | 5 ms | – |",
        "",
        "- predicted by formula; simulated by flow, by wormhole with all in flight; in brackets "
        "the error against "
        "wormhole, the most detailed model here",
        "- wormhole does not apply to naive under none: a \\| circle",
    ]


def test_what_was_measured_says_on_what() -> None:
    rows, reference = with_errors([row("lp", 2e-3, 1e-3)])
    assert simulated_lines(rows, (), reference) == [
        "predicted by formula; in brackets the error against measured",
        "measured: 2 ranks here",
    ]


@pytest.mark.parametrize("spread", [1.0, 1e4])
def test_the_picture_has_a_group_of_bars_for_each_row(spread: float) -> None:
    rows, _ = with_errors(
        [
            row("lp", 2e-3, 5e-3, flow=3e-3, wormhole=4e-3),
            row("naive", 2e-3 * spread, 1e-3, flow=5e-3),
        ]
    )
    axes = picture_simulated(rows, ("flow", "wormhole"), title="t").axes[0]
    assert [len(group.patches) for group in axes.containers] == [2, 2, 2, 2]  # type: ignore[attr-defined]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "predicted by formula",
        "simulated by flow",
        "simulated by wormhole",
        "measured on this host",
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "lp\nsync none",
        "naive\nsync none",
    ]
    assert axes.get_xscale() == ("linear" if spread == 1 else "log")
    assert "wormhole does not apply" in [text.get_text() for text in axes.texts]
    for group, time_s in zip(axes.containers, (2e-3, 3e-3, 4e-3, 5e-3), strict=True):
        patch = group.patches[0]  # type: ignore[attr-defined]
        factor = 1e-3 if spread == 1 else 1.0
        assert patch.get_x() + patch.get_width() == pytest.approx(time_s / factor)


def test_the_command_prints_writes_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "compare",
        "random:degree=4",
        "--on",
        "ipsc860:16",
        "--methods",
        "naive,lp,auto",
        "--simulate",
    ]
    assert run([*words, "--json", "-o", str(tmp_path / "c.svg")]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["manifest"]["command"].endswith("--methods naive,lp,auto --simulate")
    assert answer["errors_against"] == "circuit"
    for each in answer["rows"]:
        assert set(each["simulated"]) == {"flow", "circuit"}
        assert each["measured"] is None
        error = each["predicted_s"] / each["simulated"]["circuit"]["time_s"] - 1
        assert each["errors"]["predicted"] == pytest.approx(error)
    assert "simulated by flow, by circuit with 1 in flight" in captured.err
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    assert run([*words, "--markdown", "-o", str(tmp_path / "c.md")]) == 0
    text = (tmp_path / "c.md").read_text()
    assert capsys.readouterr().out == text
    assert "| sync | predicted | flow | circuit |" in text
    assert "- the fastest first, simulated by circuit" in text
    assert (
        run(
            [
                "compare",
                "random:degree=2",
                "--on",
                "mesh:2x2",
                "--methods",
                "lp",
                "--models",
                "flit",
                "--json",
            ]
        )
        == 0
    )
    assert set(json.loads(capsys.readouterr().out)["rows"][0]["simulated"]) == {"flit"}
    assert run(["compare", "random:degree=2", "--on", "mesh:2x2", "--methods", "lp", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert "errors_against" not in plain
    assert "simulated" not in plain["rows"][0]


def test_a_host_measures_so_many_ranks() -> None:
    cores = len(os.sched_getaffinity(0))
    require_cores(cores * RANKS_PER_CORE)
    with pytest.raises(
        InputError, match=f"--measure: .* at most {cores * RANKS_PER_CORE} .* are measured"
    ):
        require_cores(cores * RANKS_PER_CORE + 1)
