"""`auto` by formula: never above what the cheap methods are predicted to take; what it respects.

What it says.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset import _core
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.compilation.auto import (
    candidates,
    choose_schedule,
    contentions,
    least_bounds,
    situation_of,
)
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_by, compile_pattern
from conset.compilation.summary import summarize
from conset.compilation.trial import allowed_policies, keeps_in_flight, receives_fit
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.phases.table import LARGE, table
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import read_compiled
from conset.schedule.schedule import Schedule
from conset.verification import verify

CHEAP = ("naive", "lp", "gen", "pex-gen-shift", "coloring", "rs-n", "rs-nl", "first-fit")
POLICIES = ("none", "local", "ready", "barrier", "barrier:2", "barrier:8", "detect")


def setting(spec: str, on: str) -> tuple[Pattern, Machine]:
    machine = parse_machine(on)
    return parse_pattern(spec, topology=machine.topology), machine


def chosen(spec: str, on: str, **options: Any) -> Schedule:
    request = CompileOptions(method="auto", **{"rank_by": "formula", **options})
    schedule = compile_pattern(*setting(spec, on), request)
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    assert schedule.report.reason
    return schedule


@pytest.mark.parametrize(
    "on",
    [
        "mesh:4x4",
        "paragon:4x4",
        "delta:4x4",
        "ipsc860:16",
        "torus:4x4,blocking=1,setup=1us",
        "crossbar:16",
    ],
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
            schedule = compile_pattern(pattern, machine, CompileOptions(method=method))
        except InputError:
            continue
        for policy in POLICIES:
            assert best <= predict(schedule, sync=policy).time_s * (1 + 1e-9), (method, policy)


def test_on_links_that_share_fairly_posting_everything_is_what_the_busiest_link_takes() -> None:
    schedule = chosen("alltoall", "mesh:8x8")
    assert (schedule.method, schedule.sync, schedule.phases) == ("naive", "none", 1)
    # 4 nodes of a row send over its middle link to 32 each: 128 of 1 KiB; 1 us in and out, a hop of
    # 100 ns
    assert predict(schedule).time_s == pytest.approx(128 * 1024 / 25e9 + 1.1e-6)
    assert schedule.report.reason.startswith(
        "the naive exchange: 6.343 us by formula, which no schedule beats by its bound"
    )


def test_where_contention_costs_it_says_against_what() -> None:
    schedule = chosen("alltoall:size=15232", "paragon:12x12", sync="barrier")
    assert (schedule.method, schedule.limits.link, schedule.phases) == ("bounded", 3, 144)
    assert schedule.report.reason.startswith("bounded at contention 3 under barrier is fastest of ")
    assert " predicted by formula, 203.8 ms against " in schedule.report.reason


def test_barriers_of_the_paragon_text_are_worth_contention_up_to_a_quarter_of_the_side() -> None:
    """Table 1 of 003: a step costs a barrier and a message, so fewer steps are better until
    ports are what limits."""
    assert chosen("alltoall:size=15232", "paragon:16x16", sync="barrier").limits.link == 4


def test_a_half_duplex_machine_gets_exchanges() -> None:
    """Two thirds of a dense random pattern's messages meet.

    Only lp has all of those as exchanges.
    """
    schedule = chosen("random:degree=48,size=16KiB", "ipsc860:64")
    assert (schedule.method, schedule.sync) == ("lp", "ready")


def test_small_messages_are_posted_on_the_half_duplex_machine() -> None:
    assert chosen("random:degree=4,size=16", "ipsc860:64").report.reason.startswith(
        "the naive exchange"
    )


@pytest.mark.parametrize("policy", ["none", "local", "ready", "barrier", "barrier:3"])
def test_a_given_policy_is_fixed(policy: str) -> None:
    assert chosen("alltoall:size=9KiB", "paragon:4x4", sync=policy).sync == policy


def test_limits_that_were_asked_for_are_kept_in_every_phase() -> None:
    on = "paragon:8x8"
    schedule = chosen("alltoall:size=9KiB", on, contention=2)
    assert (schedule.limits, schedule.phases) == (Limits(1, 1, 2), 64)
    assert chosen("random:degree=9", on, limits="send=2,link=none").limits.link is None
    assert chosen("random:degree=3", on, channels=4).limits.channels == 4


def test_the_verdict_says_where_limits_do_not_hold_in_flight() -> None:
    on = "paragon:8x8"
    local = chosen("alltoall:size=9KiB", on, contention=2, sync="local")
    assert local.report.verdict is not None
    assert local.report.verdict["drift"] == (
        "under local ranks may be in different phases at once: send 1, receive 1, link 2 holds in "
        "every phase, not "
        "over all that is in flight (--sync barrier keeps it there too)"
    )
    for kept in (
        {"contention": 2, "sync": "barrier"},
        {"limits": "send=2,link=none", "sync": "ready"},
        {},
    ):
        schedule = chosen("random:degree=4", on, **kept)
        assert schedule.report.verdict is not None
        assert schedule.report.verdict["drift"] is None


def test_which_policies_keep_limits_over_what_is_in_flight() -> None:
    pattern, machine = setting("random:degree=5", "mesh:4x4")
    links = compile_pattern(pattern, machine, CompileOptions(method="first-fit"))
    ports = compile_pattern(pattern, machine, CompileOptions(method="coloring"))
    crossbar = compile_pattern(
        pattern, parse_machine("crossbar:16"), CompileOptions(method="first-fit")
    )
    naive = compile_pattern(pattern, machine, CompileOptions(method="naive"))
    syncs = ("none", "local", "ready", "barrier", "barrier:2")
    assert [keeps_in_flight(links, sync) for sync in syncs] == [False, False, False, True, False]
    for schedule in (ports, crossbar):
        assert [keeps_in_flight(schedule, sync) for sync in syncs] == [
            False,
            False,
            True,
            True,
            False,
        ]
    assert all(keeps_in_flight(naive, sync) for sync in syncs)


def test_limits_nobody_can_keep_are_refused_with_a_reason() -> None:
    with pytest.raises(UsageError, match="channels=1"):
        chosen("alltoall", "mesh:4x4", channels=1)


def test_hard_limits_of_a_machine_need_barriers(tmp_path: Path) -> None:
    path = tmp_path / "narrow.toml"
    path.write_text(
        'name = "narrow"\n[network]\nkind = "mesh"\nsides = [4, 4]\n[limits]\nchannels = 4\n'
    )
    pattern, machine = setting("random:degree=5", str(path))
    phased = compile_pattern(pattern, machine, CompileOptions(method="first-fit"))
    assert allowed_policies(phased) == ("barrier",)
    for rank_by in ("formula", None):
        schedule = compile_pattern(pattern, machine, CompileOptions(rank_by=rank_by))
        assert (schedule.limits.channels, schedule.sync) == (4, "barrier")


def test_the_policies_of_a_schedule() -> None:
    pattern, machine = setting("random:degree=5", "mesh:4x4")
    phased = compile_pattern(pattern, machine, CompileOptions(method="coloring"))
    assert phased.phases == 5
    assert allowed_policies(phased) == (
        "none",
        "local",
        "ready",
        "barrier",
        "barrier:2",
        "barrier:4",
    )
    assert allowed_policies(compile_pattern(pattern, machine, CompileOptions(method="naive"))) == (
        "none",
        "ready",
    )
    bound_by_connections_only = compile_pattern(
        *setting("random", "iwarp:4x4,setup=0"), CompileOptions(method="lp")
    )
    assert allowed_policies(bound_by_connections_only)[0] == "none"


def test_detect_is_chosen_where_receives_do_not_fit_and_never_for_nothing() -> None:
    """A complete exchange posts 15 receives a rank; 4 are allowed, and barriers take a second."""
    on = "crossbar:16,port=1GB/s,synchronization=1s,signal=1s,outstanding_receives="
    pattern, machine = setting("alltoall:size=4KiB", f"{on}4,copy=1GB/s")
    naive = compile_pattern(pattern, machine, CompileOptions(method="naive", sync="auto"))
    assert (naive.sync, receives_fit(naive, "none")) == ("detect", False)
    assert verify(naive).ok
    unknown = replace(naive, machine=parse_machine(f"{on}4"))  # nobody knows what a copy costs
    assert allowed_policies(unknown) == ("none", "ready")
    for copy in ("1GB/s", "1e18B/s"):
        other = parse_machine(f"{on}15,copy={copy}")
        schedule = compile_pattern(pattern, other, CompileOptions(method="naive", sync="auto"))
        assert allowed_policies(schedule) == ("none", "ready", "detect")
        assert schedule.sync == "none"
    narrow = parse_machine(f"{on}4,copy=1GB/s,buffers=1KiB")
    assert not receives_fit(replace(naive, machine=narrow), "detect")


def test_contexts_are_switched_under_barriers_alone() -> None:
    """000 section 4.2: all processors are synchronized before channels are written, for one
    phase too."""
    pattern, machine = setting("neighbor", "iwarp:4x4")
    for method, policies in (
        ("lp", ("barrier",)),
        ("connections", ("barrier",)),
        ("naive", ("none", "ready")),
    ):
        schedule = compile_pattern(pattern, machine, CompileOptions(method=method))
        assert (schedule.sync, allowed_policies(schedule)) == (policies[0], policies)
    assert compile_pattern(pattern, machine, CompileOptions(method="connections")).phases == 1
    nothing = Pattern.from_messages([], [], [], 16)
    assert compile_pattern(nothing, machine, CompileOptions(method="connections")).sync == "none"


def test_each_method_is_simulated_by_the_model_it_follows() -> None:
    pattern, machine = setting("alltoall:size=1KiB", "iwarp:4x4")
    schedule = compile_pattern(pattern, machine)
    report = schedule.report
    assert report is not None
    assert report.verdict is not None
    assert (schedule.method, report.rank_by, report.verdict["model"]) == (
        "connections",
        "flow",
        "flow",
    )
    assert "(naive by wormhole)" in report.reason
    assert report.simulated_s == pytest.approx(conset.simulate(schedule, model="flow").time_s)
    naive = compile_pattern(pattern, machine, CompileOptions(method="naive"))
    posted_s = report.verdict["times"]["flow"]["posted_s"]
    assert posted_s == pytest.approx(conset.simulate(naive, model="wormhole").time_s)
    uniform = compile_pattern(pattern, machine, CompileOptions(rank_by="flow")).report
    assert uniform is not None
    assert uniform.verdict is not None
    assert "naive by" not in uniform.reason
    assert uniform.verdict["times"]["flow"]["posted_s"] == pytest.approx(
        conset.simulate(naive, model="flow").time_s
    )


def test_receives_beyond_a_nodes_room_are_not_posted() -> None:
    """003 Section 7: 16 × 16 nodes cannot post 255 receives each; the preset has room for 192."""
    pattern, machine = setting("alltoall:size=9KiB", "paragon:16x16")
    naive = compile_pattern(pattern, machine, CompileOptions(method="naive"))
    assert not receives_fit(naive, "none")
    assert receives_fit(compile_pattern(pattern, machine, CompileOptions(method="gen")), "local")
    # without loss by contention the naive exchange would be as fast as anything
    free = replace(machine, costs=replace(machine.costs, blocking=0.0, link_Bps=float("inf")))
    schedule = compile_pattern(pattern, free, CompileOptions(rank_by="formula"))
    assert schedule.method != "naive"
    roomy = replace(free, costs=replace(free.costs, outstanding_receives=255))
    assert compile_pattern(pattern, roomy, CompileOptions(rank_by="formula")).method == "naive"


def test_a_phase_of_many_receives_is_counted_node_by_node() -> None:
    pattern, machine = setting("random:degree=3", "mesh:3x3")
    schedule = compile_pattern(
        pattern, machine, CompileOptions(method="first-fit", limits="receive=none,send=2,link=none")
    )
    most = max(
        int(np.bincount(schedule.target_node[schedule.phase(p)]).max())
        for p in range(schedule.phases)
    )
    for room, fits in ((most, True), (most - 1, False)):
        narrow = replace(machine, costs=replace(machine.costs, outstanding_receives=room))
        assert receives_fit(replace(schedule, machine=narrow), "local") is fits


@pytest.mark.parametrize("rank_by", ["formula", None])
def test_an_order_leaves_the_methods_that_can_wait(rank_by: str | None) -> None:
    machine = parse_machine("mesh:2x2")
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 3], [9, 9, 9], 4, before=[(0, 1), (1, 2)])
    schedule = compile_pattern(pattern, machine, CompileOptions(rank_by=rank_by))
    assert verify(schedule).ok
    assert table()[schedule.method].ordered


def test_an_empty_pattern_has_nothing_to_choose() -> None:
    machine = parse_machine("mesh:1x1")
    schedule = compile_pattern(
        parse_pattern("alltoall", ranks=1), machine, CompileOptions(method="auto")
    )
    assert (schedule.phases, schedule.report.reason) == (0, "nothing is sent")


def test_the_policy_alone_is_chosen_for_a_given_method() -> None:
    pattern, machine = setting("random:degree=32,size=9KiB", "ipsc860:64")
    schedule = compile_pattern(
        pattern, machine, CompileOptions(method="lp", sync="auto", rank_by="formula")
    )
    assert (schedule.method, schedule.sync) == ("lp", "ready")
    assert schedule.report.reason.startswith("lp at contention 1 under ready is fastest of ")
    assert predict(schedule).time_s == min(
        predict(schedule, sync=policy).time_s for policy in POLICIES
    )


def test_the_same_seed_gives_the_same_choice() -> None:
    one, other = (chosen("random:degree=9,size=9KiB", "paragon:8x8", seed=4) for _ in range(2))
    assert (one.method, one.sync, one.limits) == (other.method, other.sync, other.limits)
    assert np.array_equal(one.message, other.message)


def test_large_patterns_are_tried_by_near_linear_methods_only() -> None:
    pattern, machine = setting("alltoall", "paragon:64x64")
    assert pattern.messages == 16_773_120 > LARGE
    assert candidates(pattern, machine, 1) == ["naive", "lp", "gen", "bounded"]
    assert contentions("bounded", pattern, machine) == (16, 3)


def test_effort_lets_costlier_methods_in() -> None:
    pattern, machine = setting("random:degree=16", "mesh:16x16")
    few, many = (set(candidates(pattern, machine, effort)) for effort in (1, 100))
    assert few < many
    assert many - few >= {"negotiated"} & set(table())


def test_the_contentions_worth_a_try() -> None:
    pattern, machine = setting("alltoall", "paragon:32x32")
    small = replace(pattern, ranks=2, offsets=[0, 1, 2], target=[1, 0], size=[1, 1])
    assert contentions("bounded", pattern, machine) == (8, 3)
    assert contentions("bounded", small, machine) == (8, 4, 2, 1, 3)
    assert contentions("first-fit", pattern, machine) == (None, 3)
    assert contentions("first-fit", small, machine) == (None, 2, 4, 3)
    crowded = _core.contentions("first-fit", situation_of(small, machine), 9.5)
    assert crowded == [0, 2, 4, 8, 16, 3]
    assert contentions("coloring", small, machine) == (None,)
    assert contentions("first-fit", small, parse_machine("crossbar:4")) == (None,)


def test_the_least_time_leaves_out_every_loss() -> None:
    """ipsc860: exchanges count half, links nothing extra.

    63 messages each way at 0.39 us/B shared.
    """
    pattern, machine = setting("alltoall:size=10000", "ipsc860:64")
    naive = compile_pattern(pattern, machine, CompileOptions(method="naive"))
    floor = least_bounds(pattern, machine, naive).time_s
    assert 63 * 10000 * 0.39e-6 <= floor <= predict(naive, sync="none").time_s


def test_summary_and_file_say_what_was_chosen(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    assert (
        run(["compile", "alltoall:size=15232", "--on", "paragon:8x8", "--json", "-o", str(path)])
        == 0
    )
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["auto"] is True
    assert answer["method"] in table()
    assert answer["why"] in captured.err.replace("\n", " ")
    assert (answer["model"], answer["rank_by"], answer["verdict"]["model"]) == (
        "wormhole",
        "wormhole",
        "wormhole",
    )
    schedule = read_compiled(path)
    own = schedule.machine.costs_for(schedule.method).in_flight
    assert (answer["in_flight"], answer["posting"]) == (
        schedule.in_flight or own or "all",
        schedule.posting,
    )
    assert (schedule.method, schedule.sync) == (answer["method"], answer["sync"])
    assert "--method auto" in schedule.manifest.command
    assert schedule.modelled is not None
    assert schedule.modelled["why"] == answer["why"]
    assert run(["verify", str(path)]) == 0


def test_a_named_method_was_not_chosen() -> None:
    summary = summarize(
        compile_pattern(*setting("alltoall", "mesh:2x2"), CompileOptions(method="naive"))
    )
    assert (summary["auto"], summary["why"], summary["verdict"]) == (False, None, None)
    assert (summary["in_flight"], summary["posting"], summary["model"]) == (
        "all",
        "schedule",
        "flow",
    )


def test_the_fewest_phases_go_before_the_least_time() -> None:
    """The naive exchange is one phase.

    Within asked limits a method at the bound is taken, whatever its time.
    """
    pattern, machine = parse_pattern("random:degree=5", ranks=16), parse_machine("mesh:4x4")
    fewest = compile_pattern(pattern, machine, CompileOptions(contention=1, objective="phases"))
    fastest = compile_pattern(pattern, machine, CompileOptions(contention=1))
    every = [
        compile_pattern(pattern, machine, CompileOptions(method=method, contention=1)).phases
        for method in ("first-fit", "rs-nl", "negotiated", "decreasing")
    ]
    assert fewest.phases <= min(*every, fastest.phases)
    assert compile_pattern(pattern, machine, CompileOptions(objective="phases")).phases == 1


def test_what_does_not_apply_is_not_made() -> None:
    pattern, machine = setting("alltoall:size=9KiB", "delta:4x4")
    made: list[str] = []

    def make(method: str, contention: int | None, effort: int) -> Schedule:
        made.append(method)
        return compile_by(
            method, pattern, machine, CompileOptions(contention=contention), effort=effort
        )

    def refuse(method: str) -> str:
        return f"method {method} is not wanted"

    options = CompileOptions(rank_by="formula")
    choose_schedule(make, pattern, machine, options)
    assert len(set(made)) > 5
    made.clear()
    assert choose_schedule(make, pattern, machine, options, refuse=refuse).method == "naive"
    assert made == ["naive"]

    def cannot(method: str, contention: int | None, effort: int) -> Schedule:
        raise InputError(f"method {method} cannot")

    with pytest.raises(InputError, match=r"^method connections is not wanted$"):
        choose_schedule(cannot, *setting("random:degree=2", "iwarp:4x4"), refuse=refuse)


def test_the_fewest_phases_are_those_of_the_bound_on_an_odd_mesh() -> None:
    """A complete exchange on 9 x 9: 195 phases by construction, 180 by search."""
    schedule = conset.compile("alltoall", "mesh:9x9", contention=1, objective="phases")
    assert schedule.phases == conset.bound(schedule).phases == 180
