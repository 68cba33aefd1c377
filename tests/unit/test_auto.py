"""`auto`: never above what the cheap methods are predicted to take; what it respects; what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conset.choice.candidates import CANDIDATES, LARGE, candidates, contentions
from conset.choice.chooser import least_time
from conset.choice.trial import policies, receives_fit
from conset.cli.main import run
from conset.compiler import Request, compile_pattern
from conset.errors import InputError, UsageError
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.table import table
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.prediction import predict
from conset.schedule.file import read_schedule
from conset.schedule.schedule import Schedule
from conset.summary import summarize
from conset.verification import verify_schedule

CHEAP = ("naive", "lp", "gen", "pex-gen-shift", "coloring", "rs-n", "rs-nl", "first-fit")
POLICIES = ("none", "local", "ready", "barrier", "barrier:2", "barrier:7")


def setting(spec: str, on: str) -> tuple[Pattern, Machine]:
    machine = parse_machine(on)
    return parse_pattern(spec, topology=machine.topology), machine


def chosen(spec: str, on: str, **options: Any) -> Schedule:
    schedule = compile_pattern(*setting(spec, on), Request(method="auto", **options))
    verification = verify_schedule(schedule)
    assert verification.ok, verification.violations[:3]
    assert schedule.reason
    return schedule


@pytest.mark.parametrize(
    "on", ["mesh:4x4", "paragon:4x4", "delta:4x4", "ipsc860:16", "torus:4x4,blocking=1,setup=1us", "crossbar:16"]
)
@pytest.mark.parametrize(
    "spec",
    [
        "alltoall:size=9KiB",
        "random:degree=3,size=100",
        "random:degree=7,size=16KiB",
        "neighbor:size=1MiB",
        "hotspot",
        "random:degree=6,size=uniform(1,64KiB)",
    ],
)
def test_no_cheap_method_is_predicted_faster_under_any_policy(spec: str, on: str) -> None:
    pattern, machine = setting(spec, on)
    best = predict(chosen(spec, on)).time_s
    for method in CHEAP:
        try:
            schedule = compile_pattern(pattern, machine, Request(method=method))
        except InputError:
            continue
        for policy in POLICIES:
            assert best <= predict(schedule, sync=policy).time_s * (1 + 1e-9), (method, policy)


def test_on_links_that_share_fairly_posting_everything_is_what_the_busiest_port_takes() -> None:
    schedule = chosen("alltoall", "mesh:8x8")
    assert (schedule.method, schedule.sync, schedule.phases) == ("naive", "none", 1)
    # 63 messages of 1 us + 1024 B / 25 GB/s each leave every node
    assert predict(schedule).time_s == pytest.approx(63 * (1e-6 + 1024 / 25e9))
    assert schedule.reason.startswith(
        "post everything: nothing to gain, any schedule takes 65.58 us at the port out of"
    )


def test_where_contention_costs_it_says_against_what() -> None:
    schedule = chosen("alltoall:size=15232", "paragon:12x12", sync="barrier")
    assert (schedule.method, schedule.limits.link, schedule.phases) == ("bounded", 3, 144)
    assert "bounded at contention 3 under barrier is predicted fastest, 203.7 ms against" in schedule.reason
    assert schedule.reason.endswith("by naive under barrier")


def test_barriers_of_the_paragon_text_are_worth_contention_up_to_a_quarter_of_the_side() -> None:
    """Table 1 of 003: a step costs a barrier and a message, so fewer steps are better until ports are what limits."""
    assert chosen("alltoall:size=15232", "paragon:16x16", sync="barrier").limits.link == 4


def test_a_half_duplex_machine_gets_exchanges() -> None:
    """Two thirds of a dense random pattern's messages meet: only lp has all of those as exchanges."""
    schedule = chosen("random:degree=48,size=16KiB", "ipsc860:64")
    assert (schedule.method, schedule.sync) == ("lp", "ready")


def test_small_messages_are_posted_on_the_half_duplex_machine() -> None:
    assert chosen("random:degree=4,size=16", "ipsc860:64").reason.startswith("post everything: nothing to gain")


@pytest.mark.parametrize("policy", ["none", "local", "ready", "barrier", "barrier:3"])
def test_a_given_policy_is_fixed(policy: str) -> None:
    assert chosen("alltoall:size=9KiB", "paragon:4x4", sync=policy).sync == policy


def test_asked_limits_are_kept_by_phases_and_by_what_is_in_flight() -> None:
    on = "paragon:8x8"
    schedule = chosen("alltoall:size=9KiB", on, contention=2)
    assert (schedule.limits, schedule.sync, schedule.phases) == (Limits(1, 1, 2), "barrier", 64)
    assert chosen("random:degree=9", on, limits="send=2,link=none").sync in ("ready", "barrier")
    assert chosen("random:degree=9", on, limits="send=2,link=none").limits.link is None
    channels = chosen("random:degree=3", on, channels=4)
    assert (channels.limits.channels, channels.sync) == (4, "barrier")


def test_limits_nobody_can_keep_are_refused_with_a_reason() -> None:
    with pytest.raises(UsageError, match="channels=1"):
        chosen("alltoall", "mesh:4x4", channels=1)


def test_hard_limits_of_a_machine_need_barriers_but_for_message_passing() -> None:
    pattern, machine = setting("alltoall", "iwarp:4x4")
    phased = compile_pattern(pattern, machine, Request(method="first-fit"))
    naive = compile_pattern(pattern, machine, Request(method="naive"))
    assert policies(phased, asked=False) == ("barrier",)
    assert policies(naive, asked=False) == ("none",)


def test_receives_beyond_a_nodes_room_are_not_posted() -> None:
    """003 Section 7: 16 × 16 nodes cannot post 255 receives each; the preset has room for 192."""
    pattern, machine = setting("alltoall:size=9KiB", "paragon:16x16")
    naive = compile_pattern(pattern, machine, Request(method="naive"))
    assert not receives_fit(naive, "none")
    assert receives_fit(compile_pattern(pattern, machine, Request(method="gen")), "local")
    # without loss by contention posting everything would be as fast as anything
    free = replace(machine, costs=replace(machine.costs, blocking=0.0, link_Bps=float("inf")))
    schedule = compile_pattern(pattern, free, Request(method="auto"))
    assert schedule.method != "naive"
    roomy = replace(free, costs=replace(free.costs, outstanding_receives=255))
    assert compile_pattern(pattern, roomy, Request(method="auto")).method == "naive"


def test_a_phase_of_many_receives_is_counted_node_by_node() -> None:
    pattern, machine = setting("random:degree=3", "mesh:3x3")
    schedule = compile_pattern(pattern, machine, Request(method="first-fit", limits="receive=none,send=2,link=none"))
    most = max(int(np.bincount(schedule.target_node[schedule.phase(p)]).max()) for p in range(schedule.phases))
    for room, fits in ((most, True), (most - 1, False)):
        narrow = replace(machine, costs=replace(machine.costs, outstanding_receives=room))
        assert receives_fit(replace(schedule, machine=narrow), "local") is fits


def test_an_order_leaves_the_methods_that_can_wait() -> None:
    machine = parse_machine("mesh:2x2")
    pattern = Pattern.from_messages(4, [0, 1, 2], [1, 2, 3], [9, 9, 9], before=[(0, 1), (1, 2)])
    schedule = compile_pattern(pattern, machine, Request(method="auto"))
    assert verify_schedule(schedule).ok
    assert table()[schedule.method].ordered


def test_an_empty_pattern_has_nothing_to_choose() -> None:
    machine = parse_machine("mesh:1x1")
    schedule = compile_pattern(parse_pattern("alltoall", ranks=1), machine, Request(method="auto"))
    assert (schedule.phases, schedule.reason) == (0, "nothing is sent")


def test_the_policy_alone_is_chosen_for_a_given_method() -> None:
    pattern, machine = setting("random:degree=32,size=9KiB", "ipsc860:64")
    schedule = compile_pattern(pattern, machine, Request(method="lp", sync="auto"))
    assert (schedule.method, schedule.sync) == ("lp", "ready")
    assert predict(schedule).time_s == min(predict(schedule, sync=policy).time_s for policy in POLICIES)


def test_the_same_seed_gives_the_same_choice() -> None:
    one, other = (chosen("random:degree=9,size=9KiB", "paragon:8x8", seed=4) for _ in range(2))
    assert (one.method, one.sync, one.limits) == (other.method, other.sync, other.limits)
    assert np.array_equal(one.message, other.message)


def test_large_patterns_are_tried_by_near_linear_methods_only() -> None:
    pattern, machine = setting("alltoall", "paragon:64x64")
    assert pattern.messages == 16_773_120 > LARGE
    assert [c.method for c in candidates(pattern, machine, 1)] == ["naive", "lp", "gen", "bounded"]
    bounded = next(c for c in CANDIDATES if c.method == "bounded")
    assert contentions(bounded, pattern, machine) == (16, 3)


def test_effort_lets_costlier_methods_in() -> None:
    pattern, machine = setting("random:degree=8", "mesh:16x16")
    few, many = ({c.method for c in candidates(pattern, machine, effort)} for effort in (1, 100))
    assert few < many
    assert many - few >= {"negotiated"} & set(table())


def test_the_contentions_worth_a_try() -> None:
    pattern, machine = setting("alltoall", "paragon:32x32")
    by_name = {c.method: c for c in CANDIDATES}
    small = replace(pattern, ranks=2, offsets=[0, 1, 2], target=[1, 0], size=[1, 1])
    assert contentions(by_name["bounded"], small, machine) == (8, 4, 2, 1, 3)
    assert contentions(by_name["first-fit"], small, machine) == (None, 3)
    assert contentions(by_name["coloring"], small, machine) == (None,)
    assert contentions(by_name["first-fit"], small, parse_machine("crossbar:4")) == (None,)


def test_the_least_time_leaves_out_every_loss() -> None:
    """ipsc860: exchanges count half, links nothing extra; 63 messages each way at 0.39 us/B shared, 147 us each."""
    pattern, machine = setting("alltoall:size=10000", "ipsc860:64")

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        return compile_pattern(pattern, machine, Request(method=method))

    assert least_time(make, pattern, machine) == pytest.approx(63 * (147e-6 + 10000 * 0.39e-6))


def test_summary_and_file_say_what_was_chosen(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.json"
    assert run(["compile", "alltoall:size=15232", "--on", "paragon:8x8", "--json", "-o", str(path)]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["auto"] is True
    assert answer["method"] in table()
    assert f"why        {answer['why']}" in captured.err
    schedule = read_schedule(path)
    assert (schedule.method, schedule.sync) == (answer["method"], answer["sync"])
    assert "--method auto" in schedule.manifest.command
    assert answer["why"] not in path.read_text()
    assert run(["verify", str(path)]) == 0


def test_a_named_method_was_not_chosen() -> None:
    summary = summarize(compile_pattern(*setting("alltoall", "mesh:2x2"), Request(method="first-fit")))
    assert (summary["auto"], summary["why"]) == (False, None)
