"""`--rank-by`: the machine's model chooses by default.

What a search simulates, says and refuses.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset import _core, api
from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.cli.main import run
from conset.compilation.auto import Evaluator, best_trial, choose_schedule, least_bounds
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import PlacementScore, choose_placed, compile_by, compile_pattern
from conset.compilation.summary import summarize
from conset.compilation.trial import (
    MAX_MESSAGES,
    Base,
    Trial,
    allowed_policies,
    allowed_work,
    end_time,
    settings_of,
    shares_rates,
)
from conset.compilation.verdict import MEASURE, ModelTimes, Verdict
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import read_compiled
from conset.schedule.loads import order_messages
from conset.schedule.schedule import Schedule
from conset.verification import verify

SYNCS = ("none", "local", "ready", "barrier", "barrier:4")
TESTBED = "mesh:4x4,link=20Mb/s,port=20Mb/s,model=wormhole"
"""Switches with back-pressure."""


def compiled(spec: str, on: str | Machine, **options: Any) -> Schedule:
    machine = on if isinstance(on, Machine) else parse_machine(on)
    schedule = compile_pattern(
        parse_pattern(spec, topology=machine.topology), machine, CompileOptions(**options)
    )
    assert verify(schedule).ok
    return schedule


def simulated_s(schedule: Schedule, model: str, sync: str | None = None) -> float:
    settings = settings_of(schedule, sync or schedule.sync, schedule.in_flight)
    return end_time(Base(schedule).workload, schedule.machine, settings, model).time_s


def verdict_of(schedule: Schedule) -> dict[str, Any]:
    assert schedule.report.verdict is not None
    return dict(schedule.report.verdict)


@pytest.mark.parametrize(
    ("on", "model"), [("paragon:4x4", "wormhole"), ("ipsc860:16", "circuit"), ("torus:4x4", "flow")]
)
def test_the_machines_model_decides(on: str, model: str) -> None:
    schedule = compiled("random:degree=5", on)
    assert (schedule.report.rank_by, verdict_of(schedule)["model"]) == (model, model)
    assert schedule.report.simulated_s == simulated_s(schedule, model)
    assert compiled("random:degree=5", on, rank_by="formula").report.simulated_s is None


@pytest.mark.parametrize(
    "on", ["paragon:4x4", "delta:4x4", "iwarp:4x4", "ipsc860:16", "torus:4x4", TESTBED]
)
@pytest.mark.parametrize("spec", ["alltoall", "random:degree=6,size=lognormal(4KiB,1.5)"])
def test_nothing_is_faster_than_the_choice_by_more_than_rounding(spec: str, on: str) -> None:
    machine = parse_machine(on)
    pattern, model = parse_pattern(spec, topology=machine.topology), machine.costs.model
    chosen = compile_pattern(pattern, machine, CompileOptions())
    assert chosen.report.simulated_s is not None
    assert not verdict_of(chosen)["cut"]
    for method in ("naive", "lp", "gen", "coloring", "rs-n", "first-fit", "rs-nl"):
        for contention in (None, 2, 4):
            try:
                other = compile_pattern(pattern, machine, CompileOptions(method, contention))
                times = [simulated_s(other, model, sync) for sync in SYNCS]
            except (InputError, NoScheduleError):
                continue
            assert chosen.report.simulated_s <= min(times) * (1 + 1e-9), (method, contention)


def test_where_worms_block_the_choice_is_phases_with_barriers_between_them() -> None:
    """Measured on switches with back-pressure: 0.45 of the naive exchange."""
    schedule = compiled("alltoall:size=128KiB", TESTBED)
    assert (schedule.method, schedule.limits.link) == ("bounded", 1)
    assert schedule.sync.startswith("barrier")
    said = verdict_of(schedule)
    times = said["times"]
    assert times["wormhole"]["chosen_s"] < 0.6 * times["wormhole"]["posted_s"]
    assert times["flow"]["chosen_s"] >= 0.98 * times["flow"]["posted_s"]
    assert not said["agree"]
    assert "than the naive exchange; by flow " in said["text"]
    assert said["text"].endswith(f": {MEASURE}")


def test_what_is_in_flight_and_the_posting_order_are_chosen_and_written(tmp_path: Path) -> None:
    machine = parse_machine("crossbar:6,in_flight=3,port=1GB/s,inject=0us,eject=0us")
    pattern = parse_pattern("random:degree=4,size=uniform(1,9KiB)", ranks=6)
    schedule = compile_pattern(pattern, machine, CompileOptions())
    assert verify(schedule).ok
    naive = compile_pattern(pattern, machine, CompileOptions("naive"))
    assert schedule.report.simulated_s is not None
    assert schedule.report.simulated_s <= simulated_s(naive, "flow")
    path = tmp_path / "s.json"
    for in_flight, posting in ((2, "longest-first"), (None, "rotated")):
        order = order_messages(pattern, posting, naive.manifest.seed)
        base = Base(replace(naive, message=order, posting=posting))
        made = Trial(base, "none", in_flight, rank_by="flow", time_s=1.0).to_schedule()
        assert (made.in_flight, made.posting, made.report.simulated_s) == (in_flight, posting, 1.0)
        assert summarize(made)["in_flight"] == (in_flight or 3)
        api.write(made, path)
        again = read_compiled(path)
        assert (again.in_flight, again.posting) == (in_flight, posting)
        assert np.array_equal(again.message, made.message)


def test_posting_everything_has_every_order_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: dict[tuple[str, str], None] = {}

    def predict(self: Evaluator, trials: list[tuple[int, str]]) -> list[tuple[float, bool]]:
        schedules = (self.bases[number].schedule for number, _ in trials)
        tried.update(dict.fromkeys((each.method, each.posting) for each in schedules))
        return predicted(self, trials)

    predicted = Evaluator.predict
    monkeypatch.setattr(Evaluator, "predict", predict)
    for spec, orders in (
        (
            "random:degree=5,size=uniform(1,9KiB)",
            ["rotated", "random", "longest-first", "pairwise"],
        ),
        # one message of each rank: only in the list of all messages are they in another order
        ("shift:by=1", ["pairwise"]),
    ):
        tried.clear()
        compiled(spec, "torus:4x4,in_flight=2")
        found = [posting for method, posting in tried if method == "naive"]
        assert sorted(found) == sorted(["schedule", *orders])


def test_the_choice_does_not_depend_on_the_number_of_threads() -> None:
    for on, spec in (
        ("paragon:4x4", "random:degree=7"),
        ("torus:4x4,in_flight=2", "alltoall:size=lognormal(4KiB,1)"),
    ):
        machine = parse_machine(on)
        pattern = parse_pattern(spec, topology=machine.topology)

        def make(
            method: str,
            contention: int | None,
            effort: int,
            p: Pattern = pattern,
            m: Machine = machine,
        ) -> Schedule:
            return compile_by(method, p, m, CompileOptions(contention=contention), effort=effort)

        one, two, five = (
            choose_schedule(make, pattern, machine, threads=threads) for threads in (1, 2, 5)
        )
        for other in (two, five):
            assert verdict_of(one) == verdict_of(other)
            assert np.array_equal(one.message, other.message)


def test_limits_that_were_asked_for_let_every_policy_compete() -> None:
    schedule = compiled("random:degree=8", "torus:6x6", contention=1)
    times = {sync: simulated_s(schedule, "flow", sync) for sync in SYNCS}
    assert schedule.limits.link == 1
    assert schedule.report.simulated_s is not None
    assert schedule.report.simulated_s <= min(times.values()) * (1 + 1e-9) < times["barrier"]
    assert "--sync barrier keeps it there too" in verdict_of(schedule)["drift"]
    assert (
        compiled("random:degree=8", "ipsc860:16", sync="barrier", rank_by="circuit").sync
        == "barrier"
    )


@pytest.mark.parametrize("sync", [None, "auto"])
def test_the_policy_alone_is_ranked_for_a_given_method(sync: str | None) -> None:
    schedule = compiled("random:degree=16", "mesh:6x6", method="lp", sync=sync, rank_by="wormhole")
    times = {sync: simulated_s(schedule, "wormhole", sync) for sync in SYNCS}
    assert (schedule.method, schedule.report.rank_by) == ("lp", "wormhole")
    assert schedule.report.simulated_s is not None
    assert schedule.report.simulated_s == times[schedule.sync] == min(times.values())
    assert schedule.report.reason.startswith(f"lp under {schedule.sync} is fastest of ")
    assert (
        compiled("random:degree=5", "paragon:4x4", method="lp", sync=sync).report.rank_by
        == "wormhole"
    )
    with pytest.raises(
        UsageError, match="rank_by flow: goes with method auto or sync auto, given method lp"
    ):
        compiled("random", "mesh:4x4", method="lp", sync="local", rank_by="flow")
    with pytest.raises(UsageError, match="given method negotiated and sync none"):
        compiled("random", "mesh:4x4", routes="free", sync="none", rank_by="flow")


def test_a_method_has_no_barriers_on_its_paper_s_machine() -> None:
    """001 sections 3 and 6 have S1 (`ready`) and S2 (`none`), 002 an exchange a step (`local`)."""
    for method in ("lp", "rs-n", "rs-nl", "half-duplex"):
        chosen = compiled("random:degree=4,size=4KiB", "ipsc860:16", method=method)
        assert chosen.sync in ("ready", "none", "local")
        assert chosen.report.simulated_s < 0.9 * simulated_s(chosen, "circuit", "barrier")
    assert compiled("alltoall:size=4KiB", "delta:4x4", method="pex").sync == "local"


def test_what_may_not_be_simulated_keeps_its_policy_and_says_so() -> None:
    narrow = "paragon:4x4,outstanding_receives=1"
    phased = compiled("alltoall:size=64", narrow, method="first-fit", limits="send=2,receive=2")
    assert phased.sync == "barrier"
    assert phased.report.reason.startswith("sync barrier was not chosen: infeasible")


def test_policies_under_which_receives_have_no_room_are_left_out() -> None:
    phased = compiled("random:degree=5,size=64", "paragon:4x4", method="coloring")
    costs = replace(phased.machine.costs, outstanding_receives=1)
    narrow = replace(phased, machine=replace(phased.machine, costs=costs))
    assert best_trial(narrow, rank_by="flow").sync in ("local", "ready", "barrier")
    with pytest.raises(InputError, match=r"infeasible: .* 5 receives posted under sync none"):
        best_trial(narrow, "none", rank_by="flow")


def test_posting_everything_that_cannot_run_is_told() -> None:
    deadlock = compiled("random:degree=16", "torus:8x8", rank_by="circuit")
    assert "(the naive exchange is not among them: it deadlocks)" in deadlock.report.reason
    crowded = compiled("alltoall:size=64", "paragon:14x14")
    assert (
        "(the naive exchange is not among them: a node cannot post its receives)"
        in crowded.report.reason
    )


def test_nothing_that_can_be_simulated_is_an_error() -> None:
    schedule = compiled("shift:by=4", "ring:9", method="naive")
    with pytest.raises(NoScheduleError, match="deadlock"):
        best_trial(schedule, "none", rank_by="circuit")

    def only_naive(method: str, contention: int | None, effort: int) -> Schedule:
        if method != "naive":
            raise InputError("not here")
        return schedule

    with pytest.raises(
        NoScheduleError, match=r"none of the \d+ trials can be simulated by circuit: .*deadlock"
    ):
        choose_schedule(
            only_naive,
            schedule.pattern,
            schedule.machine,
            CompileOptions(rank_by="circuit", sync="none"),
        )


def test_a_model_that_is_asked_for_has_a_size_and_the_default_gives_way_to_the_formula(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("trial", "auto", "verdict"):
        most = {"flow": 100, "wormhole": 300}
        monkeypatch.setattr(f"conset.compilation.{module}.MAX_MESSAGES", most)
    with pytest.raises(
        UsageError, match=r"at most 100 messages at effort 1, .* has 128; .*: formula, wormhole"
    ):
        compiled("random:degree=8", "torus:4x4", rank_by="flow")
    with pytest.raises(UsageError, match="unknown ranking 'fluid'"):
        compiled("random:degree=8", "torus:4x4", rank_by="fluid")
    schedule = compiled("random:degree=8", "torus:4x4")
    assert (schedule.report.rank_by, verdict_of(schedule)["model"]) == ("formula", "formula")
    assert verdict_of(schedule)["cut"] == ["the formula is used instead of flow above 100 messages"]
    assert compiled("random:degree=8", "torus:4x4", effort=2).report.rank_by == "flow"


def test_models_that_may_rank_have_an_allowance() -> None:
    least = {"flow": 16_000_000, "wormhole": 5_000_000, "circuit": 5_000_000, "packet": 50_000_000}
    assert MAX_MESSAGES.keys() == least.keys()
    small, large = (parse_pattern("random:degree=4", ranks=ranks) for ranks in (16, 4096))
    for model in MAX_MESSAGES:
        assert allowed_work(small, model, 1) == least[model]
        assert allowed_work(large, model, 1) > allowed_work(small, model, 1)
        assert allowed_work(large, model, 3) == 3 * allowed_work(large, model, 1)


def test_the_least_time_is_below_every_trial() -> None:
    for on in ("paragon:4x4", "ipsc860:16", "torus:4x4", "mesh:4x4,in_flight=1"):
        for spec in ("random:degree=5", "alltoall:size=lognormal(4KiB,1.5)"):
            machine = parse_machine(on)
            naive = compiled(spec, machine, method="naive")
            floor = least_bounds(naive.pattern, machine, naive).time_s
            assert floor > 0
            for sync in ("none", "ready"):
                assert floor <= simulated_s(naive, machine.costs.model, sync) * (1 + 1e-9)


def test_what_flow_cannot_tell_from_posting_everything() -> None:
    """Where bytes share rates and nothing else all is in flight at once under `none`, as there."""
    plain = parse_machine("torus:4x4")
    costs = replace(plain.costs, setup_s=1e-3)
    for machine, alike in (
        (plain, True),
        (parse_machine("mesh:4x4,width=2,exchange_weight=0.5"), True),
        (parse_machine("torus:4x4,blocking=0.5,tolerance=2"), True),
        (parse_machine("torus:4x4,in_flight=2"), False),
        (parse_machine("torus:4x4,overhead=1us"), False),
        (parse_machine("torus:4x4,setup=1us"), False),
        (replace(plain, method_costs={"naive": costs}), False),
    ):
        naive, other = (compiled("alltoall", machine, method=m) for m in ("naive", "gen"))
        assert shares_rates(other) is alike, machine.name
        predicted = [conset.predict(each, sync="none").time_s for each in (naive, other)]
        simulated = [simulated_s(each, "flow", "none") for each in (naive, other)]
        for naive_s, other_s in (predicted, simulated):
            assert (other_s == pytest.approx(naive_s, rel=1e-9)) == alike


def test_fewer_sends_in_flight_are_tried_below_the_machines_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: dict[str, set[int]] = {}

    def simulate(
        self: Evaluator, trials: list[tuple[int, str, int, str]], *limits: Any
    ) -> list[tuple[float, int, bool, str]]:
        for number, _, in_flight, _ in trials:
            tried.setdefault(self.bases[number].schedule.method, set()).add(in_flight)
        return simulated(self, trials, *limits)

    simulated = Evaluator.simulate
    monkeypatch.setattr(Evaluator, "simulate", simulate)
    for on, flights in (
        ("paragon:4x4,in_flight=4", {0, 1, 2}),
        ("mesh:4x4,model=wormhole", {0, 1, 2, 4, 8}),
        ("mesh:4x4,model=wormhole,in_flight=1", {0}),
    ):
        tried.clear()
        compiled("alltoall", on)
        assert tried["naive"] == flights, on
        assert tried["gen"] <= flights


def test_schedules_that_are_the_same_are_tried_once() -> None:
    machine = parse_machine("paragon:3x3")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    made: list[Schedule] = []

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        name = "naive" if method == "naive" else "coloring"
        made.append(compile_pattern(pattern, machine, CompileOptions(name)))
        return made[-1]

    chosen = choose_schedule(make, pattern, machine, CompileOptions(rank_by="formula"))
    assert len(made) > 2
    trials = sum(len(allowed_policies(schedule)) for schedule in made[:2])
    assert verdict_of(chosen)["tried"] == trials


def model_times(**times: tuple[float, float]) -> dict[str, ModelTimes]:
    return {model: ModelTimes(chosen, posted) for model, (chosen, posted) in times.items()}


def test_the_verdict_in_words() -> None:
    phased = Trial(
        Base(compiled("alltoall", "mesh:4x4", method="bounded")),
        "barrier",
        time_s=1.0,
        rank_by="wormhole",
    )
    apart = Verdict(
        "wormhole",
        phased,
        model_times(wormhole=(1.0, 1.6), flow=(1.0, 1.01), formula=(1.2, 1.0)),
        tried=7,
    )
    assert apart.text == (
        "by wormhole 1.6 times faster than the naive exchange; by flow equal; by formula 1.2 "
        "times slower: "
        "decide by measuring (`conset run`, `conset calibrate`)"
    )
    assert apart.reason == (
        "bounded at contention 1 under barrier is fastest of 7 simulated by wormhole, 1 s "
        "with no other method within 5% and 1.6 s by the naive exchange"
    )
    alike = Verdict(
        "wormhole", phased, model_times(wormhole=(1.0, 1.6), flow=(1.0, 1.5), formula=(1.2, 1.0))
    )
    assert alike.agree
    assert alike.text == (
        "by wormhole 1.6 times faster than the naive exchange; by flow 1.5 times faster; by "
        "formula 1.2 times slower"
    )


def test_the_verdict_on_posting_everything_says_what_others_find_faster() -> None:
    posted = Trial(
        Base(compiled("alltoall", "mesh:4x4", method="naive")), "none", time_s=1.0, rank_by="flow"
    )
    assert posted.posts_everything
    blind = ModelTimes(1.0, 1.0, 1.3, "gen under local")
    seeing = ModelTimes(2.0, 2.0, 1.25, "bounded at contention 1 under barrier")
    said = Verdict("flow", posted, {"flow": blind, "wormhole": seeing}, tried=9)
    assert said.text == (
        "by flow no candidate is faster; by wormhole bounded at contention 1 under barrier 1.6 "
        f"times faster: {MEASURE}"
    )
    assert Verdict("flow", posted, {"flow": blind, "wormhole": blind}).agree
    optimal = Verdict("flow", posted, {"flow": ModelTimes(1.0, 1.0)}, optimal=True)
    assert (optimal.reason, optimal.text) == (
        "the naive exchange: 1 s by flow, which no schedule beats by its bound",
        "",
    )


def test_no_verdict_of_fair_sharing_says_that_any_schedule_is_as_good() -> None:
    schedule = compiled("alltoall:size=16KiB", "mesh:6x6")
    said = verdict_of(schedule)
    assert said["model"] == "flow"
    assert "wormhole" in said["times"]
    for sentence in (schedule.report.reason, said["text"]):
        assert "any schedule takes" not in sentence
        assert "nothing to gain" not in sentence
    assert "by wormhole" in said["text"]


def test_which_other_models_are_asked() -> None:
    for on, rank_by, asked in (
        ("paragon:4x4", None, {"wormhole", "flow"}),
        ("ipsc860:16", None, {"circuit", "flow"}),
        ("torus:4x4", None, {"flow", "wormhole"}),
        ("ipsc860:16", "flow", {"flow", "circuit"}),
    ):
        times = verdict_of(compiled("random:degree=4", on, rank_by=rank_by))["times"]
        assert set(times) == {*asked, "formula"}


def test_placements_are_compared_by_what_ranks() -> None:
    base = compiled("random:degree=4,seed=3", "mesh:6x6", rank_by="wormhole")
    placed = compiled("random:degree=4,seed=3", "mesh:6x6", rank_by="wormhole", placement="auto")
    assert base.report.simulated_s is not None
    assert placed.report.simulated_s is not None
    assert placed.report.simulated_s <= base.report.simulated_s
    assert PlacementScore.of(placed).time_s == placed.report.simulated_s
    # one that a stop left without a simulation is never mixed with one that has it
    by_formula = base.with_report(rank_by="formula", simulated_s=None)
    compile_on = _in_turn(base, by_formula)
    sites = [("identity", None), ("gray", base.placement)]
    assert (
        choose_placed(sites, lambda _: by_formula, compile_on, objective="time").report.simulated_s
        == base.report.simulated_s
    )


def _in_turn(*schedules: Schedule) -> Any:
    left = list(schedules)
    return lambda placement: left.pop(0)


def test_a_stop_before_any_simulation_gives_the_best_by_formula() -> None:
    machine = parse_machine("ipsc860:16")
    pattern = parse_pattern("random:degree=8", topology=machine.topology)
    _core.ask_stop()
    try:
        schedule = compile_pattern(pattern, machine, CompileOptions(rank_by="circuit"))
    finally:
        _core.reset_search()
    assert schedule.report.stopped_early
    assert verify(schedule).ok


def test_an_empty_pattern_has_nothing_to_simulate() -> None:
    schedule = compile_pattern(
        parse_pattern("alltoall", ranks=1),
        parse_machine("mesh:1x1"),
        CompileOptions(rank_by="flow"),
    )
    assert (schedule.phases, schedule.report.reason, schedule.report.simulated_s) == (
        0,
        "nothing is sent",
        0.0,
    )


def test_summary_text_and_manifest_say_what_ranked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    words = ["compile", "random:degree=8", "--on", "ipsc860:16", "--json", "--details"]
    assert run([*words, "--rank-by", "wormhole", "-o", str(path)]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["rank_by"], answer["auto"], answer["model"]) == ("wormhole", True, "circuit")
    assert "simulated by wormhole" in answer["why"]
    assert set(answer["verdict"]["times"]) == {"wormhole", "flow", "circuit", "formula"}
    assert answer["verdict"]["times"]["wormhole"]["chosen_s"] == answer["simulated_s"]
    assert "--rank-by wormhole" in answer["manifest"]["command"]
    assert f" by wormhole under sync {answer['sync']}" in captured.err
    assert answer["verdict"]["text"] in captured.err.replace("\n", " ")
    assert run(["simulate", str(path), "--model", "wormhole", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time_s"] == answer["simulated_s"]
    assert run([*words, "--rank-by", "formula"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rank_by"], answer["simulated_s"]) == ("formula", None)
    assert run(["compile", "random", "--on", "mesh:4x4", "--rank-by", "flit"]) == 2
    assert "unknown ranking 'flit'" in capsys.readouterr().err


def test_the_python_interface_takes_the_same_word() -> None:
    schedule = api.compile("random:degree=8", "ipsc860:16", rank_by="flow")
    assert summarize(schedule)["rank_by"] == "flow"
    assert schedule.report.simulated_s == simulated_s(schedule, "flow")
