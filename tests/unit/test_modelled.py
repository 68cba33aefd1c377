"""The answer of a compile: modelled times beside baselines and the bound of any schedule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.report.facts import answer_text
from conset.studies.times import with_modelled

PARAGON = ("alltoall:size=64KiB", "paragon:4x4")


def test_times_are_those_of_simulations() -> None:
    schedule = with_modelled(conset.compile(*PARAGON))
    table = schedule.modelled
    assert table is not None
    assert table["model"] == "wormhole", "the machine's own"
    assert table["schedule_s"] == conset.simulate(schedule).time_s
    for key, posting in (("rotated_s", "rotated"), ("rank_order_s", "ascending")):
        naive = conset.compile(*PARAGON, method="naive", posting=posting)
        assert table[key] == conset.simulate(naive).time_s
    stepwise = conset.compile(*PARAGON, method="gen", sync="local")
    assert table["pairwise_s"] == conset.simulate(stepwise).time_s
    assert table["bound_s"] == conset.bound(*PARAGON).time_s
    assert table["bound_s"] <= table["schedule_s"] < table["rotated_s"] < table["rank_order_s"]
    assert set(table["others"]) == {"flow", "packet"}, "the text does not name its switching"


def test_the_answer_is_the_first_line_and_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    assert run(["compile", PARAGON[0], "--on", PARAGON[1], "-o", str(path)]) == 0
    first, title, *rest = capsys.readouterr().out.splitlines()
    read = conset.read(path)
    assert isinstance(read, conset.Schedule)
    assert read.modelled is not None
    assert first == answer_text(read.modelled, verified=True)
    assert first.startswith("1.2 times faster than the naive exchange in rotated order, 2.1 ")
    assert title.startswith("alltoall:size=64KiB on paragon:4x4: 16 ranks, 240 messages of 64 KiB")
    assert len(rest) <= 6
    assert run(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == first
    assert run(["verify", str(path)]) == 0
    assert "not checked: modelled times" in capsys.readouterr().out
    verified = conset.verify(path)
    assert verified.unchecked == ("modelled",)


def test_words_of_the_answer() -> None:
    table = {
        "model": "flow",
        "schedule_s": 1.0,
        "rotated_s": 1.01,
        "rank_order_s": 1.0,
        "pairwise_s": None,
        "bound_s": 1.0,
    }
    assert answer_text(table, verified=None) == (
        "as fast as the naive exchange in rotated order and in rank order (1 s; model flow), "
        "at the lower bound"
    )
    slow = {**table, "schedule_s": 4.0, "rank_order_s": 600.0, "model": "formula"}
    assert answer_text(slow, verified=False) == (
        "4 times slower than the naive exchange in rotated order, 150 times faster than in rank "
        "order (4 s; by formula), 4 times the lower bound, breaks rules"
    )


def test_a_parameter_that_was_not_given_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "alltoall:size=64", "--on", "torus:4x4"]) == 0
    out = capsys.readouterr().out
    assert "  overhead   not given, 0 s a message: at 1 us this takes " in out
    words = "torus:4x4,overhead=1us,switching=fair"
    assert run(["compile", "alltoall:size=64", "--on", words]) == 0
    out = capsys.readouterr().out
    assert "overhead  " not in out
    assert "models  " not in out


@pytest.mark.parametrize(
    ("value", "model"),
    [("infiniband", "packet"), ("roce", "packet"), ("ethernet", "flow"), ("wormhole", "wormhole")],
)
def test_switching_sets_the_model(value: str, model: str) -> None:
    for base in ("mesh:4x4", "dgx-h100:2"):
        machine = conset.load_machine(f"{base},switching={value}")
        assert machine.costs.model == model
        assert machine.states("model")
        assert machine.costs.provenance["model"].source == f"switching={value}"
    with pytest.raises(UsageError, match=f"switching={value}: is model {model}, given model="):
        conset.load_machine(f"mesh:4x4,switching={value},model=circuit")


def test_a_machine_file_takes_switching(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text('[network]\nkind = "mesh"\nsides = [2, 2]\n[costs]\nswitching = "roce"\n')
    assert conset.load_machine(path).costs.model == "packet"
    path.write_text(path.read_text().replace("roce", "tokenring"))
    with pytest.raises(InputError, match="tokenring"):
        conset.load_machine(path)


def test_costs_of_links_have_no_effect_on_a_crossbar() -> None:
    for words in ("link=1GB/s", "hop=1us"):
        with pytest.raises(UsageError, match="has no links, so this has no effect"):
            conset.load_machine(f"crossbar:8,{words}")
    assert conset.load_machine("crossbar:8,link=1GB/s,port=1GB/s,hop=0").costs.port_out_Bps == 1e9


@pytest.mark.parametrize("network", ["torus:4x4", "mesh:4x4", "hypercube:4", "fat-tree:k=4"])
def test_ports_do_not_slow_down_fast_links(network: str) -> None:
    machine = conset.load_machine(f"{network},link=100GB/s")
    assert machine.costs.port_out_Bps == 100e9
    slower = conset.load_machine(f"{network},link=100GB/s,port=25GB/s")
    assert slower.costs.port_out_Bps == 25e9


def test_simulate_follows_the_machines_model() -> None:
    schedule = conset.compile("alltoall", "delta:4x4", method="coloring")
    assert conset.simulate(schedule).model == "wormhole"
    assert conset.simulate(replace(schedule, method="naive")).model == "wormhole"
    assert conset.simulate(schedule, model="flow").model == "flow"


def test_the_bound_of_any_schedule_holds_for_all() -> None:
    bounds = conset.bound("alltoall", "dgx-h100:2")
    strict = conset.bound("alltoall", "dgx-h100:2", sync="barrier")
    assert bounds.time_s < strict.time_s
    assert bounds.phases == strict.phases
    chosen = conset.compile("alltoall", "dgx-h100:2")
    assert bounds.time_s <= conset.simulate(chosen).time_s < strict.time_s


def test_a_comparison_prints_as_a_table() -> None:
    result = conset.compare("alltoall", "mesh:3x3", methods=["naive", "coloring", "lp"])
    head, *rows = str(result).splitlines()
    assert head.split() == ["method", "sync", "phases", "by", "flow", "/", "bound"]
    assert {row.split()[0] for row in rows[: len(result.rows)]} == {
        r["method"] for r in result.rows
    }
    best = {row["method"]: row for row in result.rows}["coloring"]
    for policy in ("none", "local", "ready", "barrier"):
        (row,) = conset.compare("alltoall", "mesh:3x3", methods=["coloring"], sync=policy).rows
        assert best["time_s"] <= row["time_s"] * (1 + 1e-9), "each under its fastest policy"
