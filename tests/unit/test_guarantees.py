"""Guarantees as contracts.

Figures by hand, demands of both kinds kept by routers, contexts, files and programs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import ConsetError, InputError, NoScheduleError, UsageError
from conset.cli import main as conset_main
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program, number_contexts
from conset.machine.costs import Costs, Limits, Steps
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.connections import schedule_connections
from conset.methods.phases.problem import Problem, SearchOptions
from conset.pattern.pattern import Pattern
from conset.pattern.readers.demands import read_latencies
from conset.schedule.files.compiled import document_of, read_compiled, to_program, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.linkage import guarantees, number_channels, program_guarantees
from conset.schedule.program import Program, Stage, chained
from conset.schedule.schedule import Schedule
from conset.verification import verify
from support.hand_made import graph_of
from support.slow_guarantees import slow_guarantees

IWARP = parse_machine("iwarp:4x4")
# 0 → 1 → 3 is wide, 0 → 2 → 3 narrow; 3 → 0 leads back
SQUARE = [(0, 1), (1, 3), (0, 2), (2, 3), (3, 0)]


def square(*, rates: tuple[float, ...] = (40.0, 20.0, 5.0, 5.0, 10.0), **costs: Any) -> Machine:
    topology = graph_of(4, 4, SQUARE)
    order = sorted(range(5), key=lambda k: SQUARE[k])
    topology = replace(topology, link_rate_Bps=np.array([rates[k] for k in order]))
    own = {"port_out_Bps": 100.0, "port_in_Bps": 100.0, "link_Bps": 1.0, "flit_B": 4, **costs}
    return Machine("square", topology, Routing.default(topology), Costs(**own))


def routed(machine: Machine, phases: list[list[list[int]]], **changes: Any) -> Schedule:
    """A schedule of one message for each way, in phases."""
    ways = [way for phase in phases for way in phase]
    source, target = (np.array([way[end] for way in ways], np.int32) for end in (0, -1))
    order = np.argsort(
        source, kind="stable"
    )  # messages of a pattern are by source, several of a pair stay several
    begin = np.searchsorted(source[order], np.arange(machine.topology.endpoints + 1))
    pattern = Pattern(machine.topology.endpoints, begin, target[order], np.full(order.size, 8))
    message = np.argsort(order).astype(np.int32)
    offsets = np.cumsum([0, *(len(phase) for phase in phases)])
    cuts = np.cumsum([0, *(len(way) for way in ways)])
    nodes = np.array([node for way in ways for node in way], np.int32)
    return Schedule(
        pattern,
        machine,
        "connections",
        Limits(),
        offsets,
        message,
        route_offsets=cuts,
        route_nodes=nodes,
        channels=number_channels(offsets, cuts, nodes),
        **changes,
    )


def test_links_of_unequal_rates_and_twice_the_same_connection() -> None:
    """Two of one pair and a third share port out and link 0 → 1.

    A message that goes the other way stays alone.
    """
    machine = square(hop_s=0.5)
    schedule = routed(machine, [[[0, 1, 3], [0, 1, 3], [0, 1], [3, 0], [0, 2]], [[0, 2, 3]]])
    given = guarantees(schedule)
    by_way = given.bandwidth_Bps.tolist(), given.latency_s.tolist()
    assert by_way[0] == [10, 10, 40 / 3, 10, 5, 5]
    # port out 4 users · 4 B / 100 B/s, links 3 · 4 / 40 and 2 · 4 / 20, port in 2 · 4 / 100, two
    # hops
    assert by_way[1][0] == by_way[1][1] == pytest.approx(0.16 + 0.3 + 0.4 + 0.08 + 1.0)
    assert by_way[1][2] == pytest.approx(0.16 + 0.3 + 0.04 + 0.5)
    assert by_way[1][5] == pytest.approx(0.04 + 0.8 + 0.8 + 0.04 + 1.0)


def test_widths_ports_of_one_rate_and_what_has_no_limit() -> None:
    topology = Topology.ring(4, width=2)
    costs = Costs(port_out_Bps=inf, port_in_Bps=inf, link_Bps=8.0, flit_B=4, hop_s=0.25)
    machine = Machine("ring", topology, Routing.default(topology), costs)
    schedule = routed(machine, [[[0, 1], [0, 1, 2], [2, 3]]])
    given = guarantees(schedule)
    assert given.bandwidth_Bps.tolist() == [8.0, 8.0, 16.0]
    assert given.latency_s.tolist() == pytest.approx([0.25 + 0.5, 0.5 + 0.5 + 0.25, 0.25 + 0.25])
    inside = Schedule(
        Pattern.from_messages([0, 0], [1, 2], [8, 8], 3),
        machine,
        "connections",
        Limits(),
        np.array([0, 2]),
        np.arange(2, dtype=np.int32),
        placement=np.array([0, 0, 1], np.int32),
    )
    assert guarantees(inside).bandwidth_Bps.tolist() == [inf, 16.0]
    assert guarantees(inside).latency_s.tolist() == [0.0, 0.5]
    assert verify(replace(inside, max_latency_s=np.array([0.0, 0.5]))).ok
    free = routed(
        replace(machine, costs=replace(costs, link_Bps=inf, hop_s=0.0)), [[[0, 1], [0, 1, 2]]]
    )
    assert guarantees(free).bandwidth_Bps.tolist() == [inf, inf]
    assert guarantees(free).latency_s.tolist() == [0.0, 0.0]
    shared = replace(machine, costs=replace(costs, port_out_Bps=9.0, port_in_Bps=9.0, node_Bps=6.0))
    given = guarantees(routed(shared, [[[0, 1], [1, 2]]]))
    assert given.bandwidth_Bps.tolist() == [3.0, 3.0]  # node 1 has both
    stepped = replace(
        machine, costs=replace(costs, hop_s=9.0, hop_by_size=Steps((0.5, 2.0), (100.0, inf)))
    )
    assert guarantees(routed(stepped, [[[0, 1]]])).latency_s.tolist() == [0.5 + 0.25]


def random_program(
    rng: np.random.Generator, machine: Machine
) -> tuple[Program, list[list[list[list[int]]]]]:
    """Schedules of random simple ways, their phases in random contexts.

    And the ways by schedule and phase.
    """
    topology = machine.topology
    joined = list(zip(*(end[topology.link_exists].tolist() for end in topology.ends), strict=True))
    schedules, ways, contexts = [], [], []
    for _ in range(int(rng.integers(1, 4))):
        phases = []
        for _ in range(int(rng.integers(1, 4))):
            phase = []
            for _ in range(int(rng.integers(1, 7))):
                way = [int(rng.integers(topology.endpoints))]
                for _ in range(int(rng.integers(1, 4))):
                    near = [b for a, b in joined if a == way[-1] and b not in way]
                    way += [int(rng.choice(near))] if near else []
                phase.append(way)
            phases.append([way for way in phase if len(way) > 1] or [[joined[0][0], joined[0][1]]])
        ways.append(phases)
        schedules.append(routed(machine, phases))
        contexts.append(tuple(int(c) for c in rng.integers(0, 3, len(phases))))
    stages = tuple(Stage(f"b{k}", 1, k, False) for k in range(len(schedules)))
    return Program(machine, stages, number_contexts(schedules, contexts), tuple(contexts)), ways


def opened(program: Program, ways: list[list[list[list[int]]]]) -> dict[int, list[tuple[int, ...]]]:
    """The connections of every context.

    Each way as often as the phase has it that has it most often.
    """
    found: dict[int, list[tuple[int, ...]]] = {}
    for contexts, phases in zip(program.contexts, ways, strict=True):
        for context, phase in zip(contexts, phases, strict=True):
            have = found.setdefault(context, [])
            for way in set(map(tuple, phase)):
                missing = sum(tuple(other) == way for other in phase) - have.count(way)
                have += [way] * max(0, missing)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_a_context_counts_all_its_connections(seed: int) -> None:
    """Every phase in every context, against one by one.

    And the verifier says the same through the tables.
    """
    rng = np.random.default_rng(seed)
    machine = [
        square(),
        parse_machine("iwarp:4x4"),
        parse_machine("mesh:2x3,width=2,link=1GB/s,hop=1us"),
        parse_machine("torus:3x3,link=100MB/s,port=150MB/s"),
    ][seed % 4]
    program, ways = random_program(rng, machine)
    together = opened(program, ways)
    given = program_guarantees(program)
    for k, (schedule, contexts) in enumerate(zip(program.schedules, program.contexts, strict=True)):
        for p, context in enumerate(contexts):
            slow = dict(
                zip(together[context], slow_guarantees(machine, together[context]), strict=True)
            )
            at = schedule.phase(p)
            expected = [slow[tuple(way)] for way in ways[k][p]]
            np.testing.assert_allclose(
                given[k].bandwidth_Bps[at], [each[0] for each in expected], rtol=1e-12
            )
            np.testing.assert_allclose(
                given[k].latency_s[at], [each[1] for each in expected], rtol=1e-12
            )
    exact = asked(program, given, 1.0, 1.0)
    assert demanded_rules(exact) == set()
    assert demanded_rules(asked(program, given, 1.01, 1.0)) & {"bandwidth", "program-bandwidth"}
    assert demanded_rules(asked(program, given, 1.0, 0.99)) & {"latency", "program-latency"}


def asked(program: Program, given: Any, more: float, less: float) -> Program:
    """The program whose messages ask for what they get, times `more` and `less`."""
    schedules = []
    for schedule, own in zip(program.schedules, given, strict=True):
        rates, times = np.zeros(schedule.pattern.messages), np.full(schedule.pattern.messages, inf)
        rates[schedule.message] = (
            np.where(np.isfinite(own.bandwidth_Bps), own.bandwidth_Bps, 0.0) * more
        )
        times[schedule.message] = own.latency_s * less
        schedules.append(replace(schedule, min_bandwidth_Bps=rates, max_latency_s=times))
    return replace(program, schedules=tuple(schedules))


def demanded_rules(program: Program) -> set[str]:
    found = {v.rule for v in verify(document_of(program)).violations}
    return {rule for rule in found if "bandwidth" in rule or "latency" in rule or "channel" in rule}


def test_channels_that_change_places_and_contexts_that_are_merged_are_found() -> None:
    request = CompileOptions("connections", max_latency="550ns")
    blocks = [
        BlockSpec(f"{b}", Pattern.from_messages([0], [b], [8], 16), 1, request) for b in (1, 4)
    ]
    program = compile_program(blocks, IWARP, request)
    assert verify(document_of(program)).ok
    assert program.contexts == (
        (0,),
        (1,),
    )  # 500 ns alone, a turn of 100 ns more at the port together
    merged = replace(program, contexts=((0,), (0,)))
    renumbered = number_contexts(merged.schedules, merged.contexts)
    found = verify(document_of(replace(merged, schedules=renumbered))).violations
    assert {v.rule for v in found} == {"program-latency"}
    assert (
        found[0].text
        == "context 0: the connection 0 → 1 is guaranteed at most 6e-07 s, 5.5e-07 s were asked for"
    )
    clash = verify(document_of(merged)).violations
    assert "program-channel" in {v.rule for v in clash}


def test_latencies_are_kept_where_they_can_be() -> None:
    for time in ("2.2us", "2us", "1.5us", "1.4us"):
        for router in (None, "sequential"):
            schedule = conset.compile("alltoall", IWARP, max_latency=time, router=router)
            assert schedule.method == "connections"
            assert schedule.max_latency_s is not None
            assert (
                guarantees(schedule).latency_s
                <= schedule.max_latency_s[schedule.message] * (1 + 1e-9)
            ).all()
            assert verify(schedule).ok
    free = conset.compile("alltoall", IWARP, method="connections")
    assert (
        conset.compile("alltoall", IWARP, max_latency="2.2us").phases == free.phases
    )  # it has 2.2 us by itself
    with pytest.raises(
        NoScheduleError,
        match=(
            r"message 5 \(rank 0 → 6\): a latency of 1 us is asked for, at least 1.1 us can "
            r"be guaranteed"
        ),
    ):
        conset.compile("alltoall", IWARP, max_latency="1us")
    with pytest.raises(InputError, match="no maximum latency, given others: sequential keeps any"):
        conset.compile("alltoall", IWARP, max_latency="2us", router="orbits")


def demanding(
    machine: Machine, pattern: Pattern, rates: Any, times: Any, **search: Any
) -> Schedule:
    least, most = (None if asked is None else np.array(asked, float) for asked in (rates, times))
    given = Problem(
        pattern, machine, Limits(channels=12), None, SearchOptions(**search), least, most
    )
    phases = schedule_connections(given)
    schedule = Schedule(
        pattern,
        machine,
        "connections",
        given.limits,
        phases.offsets,
        phases.message,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        limits_asked=True,
        min_bandwidth_Bps=least,
        max_latency_s=most,
    )
    verdict = verify(schedule)
    assert verdict.ok, verdict.violations[:3]
    return schedule


def test_a_demand_is_held_against_the_links_that_can_be_taken() -> None:
    """20 B/s from 0 to 3 fit on the upper way alone.

    As much over the lower one is refused, and so is more.
    """
    pattern = Pattern.from_messages([0, 0], [2, 3], [8, 8], 4)
    both = demanding(square(), pattern, [0, 20], None)
    assert both.route_offsets is not None
    assert both.route_nodes is not None
    k = int(np.flatnonzero(both.message == 1)[0])
    assert both.route_nodes[both.route_offsets[k] : both.route_offsets[k + 1]].tolist() == [0, 1, 3]
    with pytest.raises(
        NoScheduleError, match=r"message 1 \(rank 0 → 3\): a bandwidth of 21 B/s .* at most 20 B/s"
    ):
        demanding(square(), pattern, [0, 21], None)
    quick = demanding(square(), Pattern.from_messages([0], [3], [8], 4), None, [0.38])
    assert quick.route_nodes is not None
    assert quick.route_nodes.tolist() == [0, 1, 3]  # 4 / 100 + 4 / 40 + 4 / 20 + 4 / 100
    with pytest.raises(
        NoScheduleError, match=r"message 0 .*: a latency of 370 ms is asked for, at least 380 ms"
    ):
        demanding(square(), Pattern.from_messages([0], [3], [8], 4), None, [0.37])
    # the quicker way is too narrow for the bandwidth
    narrow = square(rates=(40.0, 20.0, 30.0, 30.0, 10.0), hop_s=0.0)
    one = demanding(narrow, Pattern.from_messages([0], [3], [8], 4), [25], [1.0])
    assert one.route_nodes is not None
    assert one.route_nodes.tolist() == [0, 2, 3]


def test_a_wide_link_carries_more_than_a_unit_of_its_width() -> None:
    topology = Topology.mesh(3, width=2)
    costs = Costs(port_out_Bps=100, port_in_Bps=100, link_Bps=10, flit_B=4)
    machine = Machine("mesh", topology, Routing.default(topology), costs)
    pattern = Pattern.from_messages([0, 0, 1], [1, 2, 2], [8, 8, 8], 3)
    assert demanding(machine, pattern, [20, 20, 20], None).phases == 2
    assert demanding(machine, pattern, [10, 10, 10], None).phases == 1
    with pytest.raises(NoScheduleError, match="a bandwidth of 21 B/s is asked for, at most 20 B/s"):
        demanding(machine, pattern, [21, 0, 0], None)


def test_ports_that_share_the_rate_of_their_node_are_counted_together() -> None:
    topology = Topology.crossbar(3)
    costs = Costs(port_out_Bps=100, port_in_Bps=100, node_Bps=100, flit_B=4)
    machine = Machine("crossbar", topology, Routing.default(topology), costs)
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 0], [8, 8, 8], 3)
    assert demanding(machine, pattern, [50] * 3, None).phases == 1
    assert demanding(machine, pattern, [51] * 3, None).phases == 3
    assert (
        demanding(machine, pattern, None, [0.16] * 3).phases == 1
    )  # two turns of 0.04 s at either end
    assert demanding(machine, pattern, None, [0.12] * 3).phases == 2
    assert demanding(machine, pattern, None, [0.11] * 3).phases == 3


@pytest.mark.parametrize("seed", range(12))
def test_random_demands_are_kept_or_refused_by_name(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = [
        IWARP,
        square(),
        parse_machine("mesh:3x3,link=40MB/s,node=60MB/s,hop=1us"),
        parse_machine("hypercube:3,link=40MB/s"),
    ][seed % 4]
    ranks, count = machine.topology.endpoints, int(rng.integers(4, 30))
    source, target = rng.integers(0, ranks, count), rng.integers(0, ranks, count)
    pattern = Pattern.from_messages(source, target, np.full(count, 64), ranks)
    free = guarantees(conset.compile(pattern, machine, method="connections", channels=12))
    finite = free.bandwidth_Bps[np.isfinite(free.bandwidth_Bps)]
    if not finite.size:
        return
    times = np.where(
        rng.integers(2, size=pattern.messages),
        free.latency_s.max() * rng.choice([0.3, 0.6, 0.9]),
        inf,
    )
    rates = np.where(
        rng.integers(2, size=pattern.messages), finite.min() * rng.choice([1.0, 1.4, 2.5]), 0.0
    )
    for least, most in ((None, times), (rates, times), (rates, None)):
        try:
            demanding(machine, pattern, least, most)  # verified there
        except NoScheduleError as refused:  # then it is refused alone, too
            message = int(str(refused).split()[1])
            alone = Pattern.from_messages(
                [pattern.source[message]], [pattern.target[message]], [64], ranks
            )
            with pytest.raises(NoScheduleError, match=r"message 0 .* is asked for"):
                demanding(
                    machine,
                    alone,
                    *(asked if asked is None else asked[[message]] for asked in (least, most)),
                )


@pytest.mark.parametrize("option", [{"min_bandwidth": "20MB/s"}, {"max_latency": "1.2us"}])
def test_blocks_share_a_context_only_where_it_keeps_what_is_asked(option: dict[str, str]) -> None:
    """shift:by=1 and by=2 together have 13.3 MB/s, and up to 1.7 us."""
    machine = parse_machine("iwarp:8x8")

    def compiled(**asked: str) -> Program:
        request = CompileOptions("connections", **asked)  # type: ignore[arg-type]
        blocks = [
            BlockSpec(f"by {k}", conset.load_pattern(f"shift:by={k}", ranks=64), 1, request)
            for k in (1, 2)
        ]
        return compile_program(blocks, machine, request)

    free, kept = compiled(), compiled(**option)
    assert free.switches == 0
    worst = [(each.bandwidth_Bps.min(), each.latency_s.max()) for each in program_guarantees(free)]
    assert worst == [
        (pytest.approx(40e6 / 3), pytest.approx(1.2e-6)),
        (pytest.approx(40e6 / 3), pytest.approx(1.7e-6)),
    ]
    assert kept.switches > 0
    for schedule, own in zip(kept.schedules, program_guarantees(kept), strict=True):
        if schedule.min_bandwidth_Bps is not None:
            assert (
                own.bandwidth_Bps * (1 + 1e-9) >= schedule.min_bandwidth_Bps[schedule.message]
            ).all()
        if schedule.max_latency_s is not None:
            assert (own.latency_s <= schedule.max_latency_s[schedule.message] * (1 + 1e-9)).all()
    assert verify(document_of(kept)).ok


def test_files_carry_latencies(tmp_path: Path) -> None:
    times = tmp_path / "t.csv"
    times.write_text("# one\nsource,target,time\n0,1,3us\n\n4,5,0.7us\n")
    pattern = conset.load_pattern("shift:by=1", ranks=16)
    wanted = np.full(16, inf)
    wanted[[0, 4]] = 3e-6, 0.7e-6
    for given, stated in (
        (str(times), [3e-6, None, None, None, 0.7e-6, *[None] * 11]),
        ("5us", 5e-6),
    ):
        schedule = conset.compile(pattern, IWARP, max_latency=given)
        for suffix in (".json", ".npz"):
            path = tmp_path / f"a{suffix}"
            write_compiled(schedule, path)
            assert read_document(path).max_latency_s == stated
            assert verify(read_document(path)).ok
            again = read_compiled(path)
            assert again == schedule
            assert again.max_latency_s is not None
            np.testing.assert_array_equal(
                again.max_latency_s, wanted if given == str(times) else np.full(16, 5e-6)
            )
    path = tmp_path / "a.json"
    for wrong in ("1", -1, [1.0, "x"], True, 1e300):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"max_latency_s": wrong}))
        with pytest.raises(InputError, match="max_latency_s"):
            read_document(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_latency_s": [1e-6] * 3}))
    assert {v.rule for v in verify(read_document(path)).violations} == {"latency"}
    with pytest.raises(InputError, match="max_latency_s: 16 times required, given 3"):
        read_compiled(path)
    with pytest.raises(InputError, match="max_latency_s: one time of at least 0 s for each of 16"):
        replace(schedule, max_latency_s=np.full(16, np.nan))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("source,target,rate\n0,1,3us\n", "line 1: the header must be source,target,time"),
        ("source,target,time\n0,1,3MB/s\n", "line 2: time"),
        ("source,target,time\n0,2,3us\n", "line 2: no message of shift.* goes from 0 to 2"),
    ],
)
def test_files_of_latencies_that_are_wrong(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=error):
        read_latencies(str(path), conset.load_pattern("shift:by=1", ranks=16))
    with pytest.raises(UsageError, match="max_latency"):
        read_latencies("fast", conset.load_pattern("shift:by=1", ranks=16))


def test_programs_that_forward_carry_demands_whole_and_in_stages(tmp_path: Path) -> None:
    program = conset.compile(
        "alltoall:size=64", IWARP, combine="4x4", min_bandwidth="10MB/s", max_latency="3us"
    )
    whole = chained(program)
    assert verify(whole).ok
    for schedule in (whole, *program.schedules):
        assert schedule.min_bandwidth_Bps is not None
        assert schedule.max_latency_s is not None
        assert set(schedule.min_bandwidth_Bps) == {10e6}
        assert set(schedule.max_latency_s) == {3e-6}
    path = tmp_path / "p.json"
    write_compiled(document_of(program), path)
    again = to_program(read_document(path))
    assert again == program


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = conset_main.run(words)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(
        '[[block]]\npattern = "shift:by=1"\n[[block]]\npattern = "shift:by=2"\nname = "two"\n'
        "repeat = 2\n"
        '[[block]]\npattern = "shift:by=1"\n'
    )
    return tmp_path


def test_show_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            capsys,
            "compile",
            "p.toml",
            "--on",
            "iwarp:8x8",
            "--min-bandwidth",
            "13MB/s",
            "-o",
            "p.json",
        )[0]
        == 0
    )
    code, out, _ = run(capsys, "show", "p.json", "--guarantees", "--linkage", "3")
    assert code == 0
    assert out.index("linkage of node 3 (0, 3): 2 channels") < out.index(
        "guarantees of 64 connections while their"
    )
    assert out.count("block 2 shift:by=1: as block 0") == 2
    assert "13.33 MB/s    13 MB/s           1.7 us" in out
    code, out, _ = run(capsys, "show", "p.json", "--guarantees", "--linkage", "all", "--json")
    found = json.loads(out)
    assert code == 0
    given = conset.guarantees("p.json")
    assert isinstance(given, list)
    for k, own in enumerate(given):
        rows = [row for row in found["guarantees"] if row["block"] == k]
        assert [row["bandwidth_Bps"] for row in rows] == own.bandwidth_Bps.tolist()
        assert [row["latency_s"] for row in rows] == own.latency_s.tolist()
        assert {row["context"] for row in rows} == {0}
        assert {row["min_bandwidth_Bps"] for row in rows} == {13e6}
    places = {(row["node"], row["channel"]) for row in found["linkage"] if row["block"] < 2}
    assert len(places) == sum(
        row["block"] < 2 for row in found["linkage"]
    )  # of one context, each once
    assert run(capsys, "show", "p.json", "--linkage", "64")[0] == 3


def test_what_a_block_asks_for_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys of a block stand before those of the command line; files are beside the program."""
    inner = folder / "inner"
    inner.mkdir()
    (inner / "t.csv").write_text("source,target,time\n0,2,2us\n")
    (inner / "q.toml").write_text(
        '[[block]]\npattern = "shift:by=1"\nmax_latency = "4us"\n'
        '[[block]]\npattern = "shift:by=2"\nmax_latency = "t.csv"\nmin_bandwidth = "5MB/s"\n'
        '[[block]]\npattern = "shift:by=3"\n'
    )
    words = (
        "compile",
        "inner/q.toml",
        "--on",
        "iwarp:4x4",
        "--min-bandwidth",
        "1MB/s",
        "--max-latency",
        "9us",
    )
    assert run(capsys, *words, "-o", "q.json")[0] == 0
    first, second, third = read_document("q.json").schedules
    assert (first.min_bandwidth_Bps, first.max_latency_s) == (1e6, 4e-6)
    assert (second.min_bandwidth_Bps, second.max_latency_s) == (5e6, [2e-6, *[None] * 15])
    assert (third.min_bandwidth_Bps, third.max_latency_s) == (1e6, 9e-6)
    (inner / "q.toml").write_text('[[block]]\npattern = "shift:by=1"\nmethod = "first-fit"\n')
    code, out, err = run(capsys, *words)
    assert (code, out) == (3, "")
    assert "block 1: --min-bandwidth 1MB/s: is for method connections, given first-fit" in err


def test_a_demand_that_a_block_cannot_have_names_the_block(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pair.csv").write_text("source,target,rate\n0,2,5MB/s\n")
    (folder / "q.toml").write_text(
        '[[block]]\nname = "a"\npattern = "shift:by=2"\n[[block]]\npattern = "shift:by=1"\n'
    )
    words = ("compile", "q.toml", "--on", "iwarp:4x4")
    for demand, code, line in (
        (
            ("--min-bandwidth", "pair.csv"),
            3,
            "block 2 'shift:by=1': pair.csv, line 2: no message of shift:by=1 goes",
        ),
        (
            ("--max-latency", "0.4us"),
            5,
            "block 1 'a': message 0 (rank 0 → 2): a latency of 400 ns is asked for",
        ),
    ):
        found, _, err = run(capsys, *words, *demand)
        assert found == code
        assert err.startswith(f"conset: {line}")


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("--max-latency", "fast"), 2, "--max-latency 'fast'"),
        (("--max-latency", "none.csv"), 3, "none.csv"),
        (
            ("--max-latency", "2us", "--method", "lp"),
            2,
            "--max-latency 2us: is for method connections, given lp",
        ),
        (
            ("--max-latency", "0.4us"),
            5,
            "message 0 (rank 0 → 1): a latency of 400 ns is asked for, at least 500 ns",
        ),
    ],
)
def test_one_line_and_the_right_code(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, line: str
) -> None:
    found, out, err = run(capsys, "compile", "alltoall", "--on", "iwarp:4x4", *words)
    assert (found, out) == (code, "")
    assert line in err
    assert err.count("\n") == 1


def test_the_interface_takes_nouns_and_files(tmp_path: Path) -> None:
    schedule = conset.compile("alltoall", IWARP, method="connections")
    conset.write(schedule, tmp_path / "s.json")
    for given in (schedule, str(tmp_path / "s.json")):
        found = conset.guarantees(given)
        assert not isinstance(found, list)
        np.testing.assert_array_equal(found.bandwidth_Bps, guarantees(schedule).bandwidth_Bps)
    with pytest.raises(ConsetError):
        conset.guarantees(str(tmp_path / "none.json"))
