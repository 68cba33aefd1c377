"""`--rank-by`: what formulas find best is simulated, the least is taken; what it says, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conset import _core, api
from conset.choice.chooser import choose_schedule
from conset.choice.placed import Merit, choose_placed
from conset.choice.shortlist import LEAST, order_by_formula, shortlist
from conset.choice.simulated import MOST, best_simulated, simulated_policies, simulated_time
from conset.choice.trial import Trial, best_policy
from conset.cli.main import run
from conset.compiler import Request, compile_pattern
from conset.errors import InputError, NoScheduleError, UsageError
from conset.machine.spec import parse_machine
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.summary import summarize
from conset.verification import verify_schedule


def compiled(spec: str, on: str, **options: Any) -> Schedule:
    machine = parse_machine(on)
    schedule = compile_pattern(parse_pattern(spec, topology=machine.topology), machine, Request(**options))
    assert verify_schedule(schedule).ok
    return schedule


def test_fair_sharing_sees_no_gain_where_worms_block() -> None:
    """On a bare mesh any order is as good to a fluid; headers that wait block the links they hold."""
    fluid, worms = (compiled("alltoall", "mesh:6x6", rank_by=model) for model in ("flow", "wormhole"))
    assert fluid.method == "naive"
    assert worms.method != "naive"
    assert worms.simulated_s is not None
    assert worms.simulated_s < 0.9 * api.simulate(fluid, model="wormhole").time_s


def test_the_sentence_names_the_model_and_both_times() -> None:
    schedule = compiled("random:degree=32", "ipsc860:64", rank_by="wormhole")
    assert schedule.reason == (
        "first-fit at contention 1 under ready is fastest of 7 simulated by wormhole, 42.16 ms (formula 32.34 ms) "
        "against 42.27 ms (formula 32.34 ms) by rs-nl at contention 1 under ready "
        "and 73.53 ms (formula 65.52 ms) by naive under ready"
    )
    assert schedule.simulated_s == api.simulate(schedule, model="wormhole").time_s
    deadlock = compiled("random:degree=16", "torus:8x8", rank_by="circuit")
    assert deadlock.reason.endswith("(posting everything is not among them: it deadlocks)")
    crowded = compiled("alltoall", "paragon:14x14", rank_by="wormhole")
    assert crowded.reason.endswith("(posting everything is not among them: a node has no room for its receives)")


def test_a_fixed_policy_and_asked_limits_are_kept() -> None:
    assert compiled("random:degree=8", "ipsc860:16", sync="barrier", rank_by="circuit").sync == "barrier"
    links = compiled("random:degree=8", "paragon:4x4", contention=1, rank_by="wormhole")
    assert (links.limits.link, links.sync) == (1, "barrier")
    ports = compiled("random:degree=8", "paragon:4x4", limits="send=2,link=none", rank_by="flow")
    assert ports.sync in ("ready", "barrier")


def test_the_policy_alone_is_ranked_for_a_given_method() -> None:
    schedule = compiled("random:degree=16", "mesh:6x6", method="lp", sync="auto", rank_by="wormhole")
    times = {sync: simulated_time(schedule, "wormhole", sync) for sync in ("none", "local", "ready", "barrier")}
    assert (schedule.method, schedule.rank_by, schedule.reason) == ("lp", "wormhole", "")
    assert schedule.simulated_s == times[schedule.sync] == min(times.values())
    with pytest.raises(UsageError, match="--rank-by flow: goes with --method auto or --sync auto, given --method lp"):
        compiled("random", "mesh:4x4", method="lp", rank_by="flow")
    with pytest.raises(UsageError, match="given --method negotiated"):
        compiled("random", "mesh:4x4", routes="free", rank_by="flow")


def test_policies_that_are_simulated() -> None:
    phased = compiled("random:degree=5", "paragon:4x4", method="coloring")
    assert simulated_policies(phased, asked=False) == ("none", "local", "ready", "barrier")
    assert simulated_policies(compiled("random", "iwarp:4x4", method="lp"), asked=False) == ("barrier",)
    assert simulated_policies(compiled("random", "ipsc860:16", method="naive"), asked=False) == ("none", "ready")
    assert simulated_policies(compiled("random", "mesh:4x4", method="naive"), asked=False) == ("none",)


def test_policies_under_which_receives_have_no_room_are_left_out() -> None:
    phased = compiled("random:degree=5,size=64", "paragon:4x4", method="coloring")
    assert best_simulated(phased, "flow").schedule.sync == "none"
    costs = replace(phased.machine.costs, outstanding_receives=1)
    narrow = replace(phased, machine=replace(phased.machine, costs=costs))
    assert best_simulated(narrow, "flow").schedule.sync == "local"
    with pytest.raises(InputError, match=r"infeasible: .* 5 receives posted under sync none"):
        best_simulated(narrow, "flow", "none")


def test_nothing_that_can_be_simulated_is_an_error() -> None:
    schedule = compiled("alltoall", "torus:8x8", method="naive")
    with pytest.raises(NoScheduleError, match="deadlock"):
        best_simulated(schedule, "circuit")
    crowded = compiled("alltoall", "paragon:14x14", method="naive")
    with pytest.raises(InputError, match=r"infeasible: .* 195 receives posted under sync none, .* allows 192"):
        best_simulated(crowded, "wormhole")
    machine = parse_machine("torus:8x8")

    def only_naive(method: str, contention: int | None, effort: int) -> Schedule:
        if method != "naive":
            raise InputError("not here")
        return schedule

    with pytest.raises(NoScheduleError, match=r"none of the 1 best by formula can be simulated by circuit: .*deadlock"):
        choose_schedule(only_naive, schedule.pattern, machine, rank_by="circuit")


def trials(spec: str, on: str, *methods: str) -> list[Trial]:
    return [best_policy(compiled(spec, on, method=method)) for method in methods]


def test_the_shortlist_is_bounded_by_messages_and_has_posting_everything() -> None:
    made = trials("random:degree=8,size=1KiB", "ipsc860:64", "naive", "gen", "lp", "rs-n", "coloring", "rs-nl")
    assert len(shortlist(made, 6 * 512)) == len(shortlist(made, 1 << 16)) == 6
    few = [trial.schedule.method for trial in shortlist(made, 512)]
    assert len(few) == LEAST + 1
    assert few[-1] == "naive"  # the slowest by formula
    assert shortlist([], 512) == []


def test_among_equals_one_of_each_limits_comes_first() -> None:
    """By formula all take what the ports take; with barriers gen (15 phases), lp (15), rs-nl and first-fit more."""
    made = trials("alltoall", "mesh:4x4", "naive", "gen", "lp", "rs-nl", "first-fit")
    order = [trial.schedule.method for trial in order_by_formula(made)]
    assert order[0] == "naive"
    assert set(order[1:3]) & {"gen", "lp"}
    assert set(order[1:3]) & {"rs-nl", "first-fit"}


def test_the_size_has_a_bound_in_messages_that_effort_raises() -> None:
    limit = MOST["flow"]
    machine = parse_machine("mesh:32x32")
    pattern = parse_pattern("random:degree=70", topology=machine.topology)
    assert pattern.messages > limit
    with pytest.raises(UsageError, match=r"at most 65,536 messages at effort 1, .* has 71,680; .*: formula, wormhole"):
        compile_pattern(pattern, machine, Request(rank_by="flow"))
    with pytest.raises(UsageError, match="unknown ranking 'fluid'"):
        compile_pattern(pattern, machine, Request(rank_by="fluid"))
    with pytest.raises(UsageError, match="at most 131,072 messages at effort 2"):
        compile_pattern(
            parse_pattern("alltoall", topology=machine.topology), machine, Request(effort=2, rank_by="flow")
        )


def test_placements_are_compared_by_what_ranks() -> None:
    base = compiled("random:degree=4,seed=3", "mesh:6x6", rank_by="wormhole")
    placed = compiled("random:degree=4,seed=3", "mesh:6x6", rank_by="wormhole", placement="auto")
    assert base.simulated_s is not None
    assert placed.simulated_s is not None
    assert placed.simulated_s <= base.simulated_s
    assert Merit.of(placed).time_s == placed.simulated_s
    # one that a stop left without a simulation is never mixed with one that has it
    by_formula = replace(base, rank_by="formula", simulated_s=None)
    compile_on = _in_turn(base, by_formula)
    sites = [("identity", None), ("gray", base.placement)]
    assert choose_placed(sites, lambda _: by_formula, compile_on, objective="time").simulated_s == base.simulated_s


def _in_turn(*schedules: Schedule) -> Any:
    left = list(schedules)
    return lambda placement: left.pop(0)


def test_a_stop_before_any_simulation_gives_the_best_by_formula() -> None:
    machine = parse_machine("ipsc860:16")
    pattern = parse_pattern("random:degree=8", topology=machine.topology)
    _core.ask_stop()
    try:
        schedule = compile_pattern(pattern, machine, Request(rank_by="circuit"))
    finally:
        _core.reset_search()
    assert schedule.stopped_early
    assert verify_schedule(schedule).ok


def test_an_empty_pattern_has_nothing_to_simulate() -> None:
    schedule = compile_pattern(parse_pattern("alltoall", ranks=1), parse_machine("mesh:1x1"), Request(rank_by="flow"))
    assert (schedule.phases, schedule.reason, schedule.simulated_s) == (0, "nothing is sent", 0.0)


def test_summary_text_and_manifest_say_what_ranked(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.json"
    words = ["compile", "random:degree=8", "--on", "ipsc860:16", "--json"]
    assert run([*words, "--rank-by", "wormhole", "-o", str(path)]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["rank_by"], answer["auto"]) == ("wormhole", True)
    assert "simulated by wormhole" in answer["why"]
    assert "--rank-by wormhole" in answer["manifest"]["command"]
    assert f" by wormhole under sync {answer['sync']}" in captured.err
    assert run(["simulate", str(path), "--model", "wormhole", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time_s"] == answer["simulated_s"]
    assert run(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rank_by"], answer["simulated_s"]) == ("formula", None)
    assert run(["compile", "random", "--on", "mesh:4x4", "--rank-by", "flit"]) == 2
    assert "unknown ranking 'flit'" in capsys.readouterr().err


def test_the_python_interface_takes_the_same_word() -> None:
    schedule = api.compile("random:degree=8", "ipsc860:16", rank_by="flow")
    assert summarize(schedule)["rank_by"] == "flow"
    assert schedule.simulated_s == api.simulate(schedule).time_s
