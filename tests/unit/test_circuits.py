"""Circuit switches: contents, times, bounds, mutants, programs, pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import conset
from conset.base.errors import InputError, UsageError
from conset.bounds import bound, bound_schedule
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_by
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine, with_settings
from conset.methods.phases.circuits import decompose
from conset.models import predict, predict_program
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.report.schedule import schedule_draws
from conset.schedule.schedule import Schedule

verify = conset.verify
OF_CIRCUITS = ("circuits", "spectra", "eclipse")
ANY = (*OF_CIRCUITS, "coloring", "birkhoff", "lp", "first-fit", "rs-n", "gen")
GIGA = 10**9


def switches(ports: int, planes: int, delta: str, more: str = "") -> Machine:
    several = f",planes={planes}" if planes > 1 else ""
    return parse_machine(f"crossbar:{ports}{several},reconfigure={delta},port=1GB/s{more}")


def compiled(
    pattern: Pattern, machine: Machine, method: str = "circuits", **how: object
) -> Schedule:
    return compile_by(method, pattern, machine, CompileOptions(method, **how))  # type: ignore[arg-type]


def line_of(demand: np.ndarray) -> np.ndarray:
    """Scaled so that the largest line has a second of bytes."""
    return np.round(demand / max(demand.sum(0).max(), demand.sum(1).max()) * GIGA).astype(np.int64)


def gpt8() -> np.ndarray:
    demand = np.full((8, 8), 3.19)
    np.fill_diagonal(demand, 0)
    demand[np.arange(8), (np.arange(8) + 1) % 8] = 4.15
    return demand


def gpt32() -> np.ndarray:
    demand, i = np.zeros((32, 32)), np.arange(32)
    demand[i, i ^ 1] += 680 * 125 / 1024
    demand[i, i // 8 * 8 + (i % 8 + 2) % 8] += 741 / 1024
    demand += 16 * 125 / 1024 * (np.abs(i[:, None] - i) == 8)
    return demand + 96 / 1024 * (np.abs(i[:, None] - i) == 24)


WORKLOADS = {"GPT 8": gpt8, "GPT 32": gpt32}


@pytest.mark.parametrize(
    ("name", "planes", "delta", "spectra", "wrapped", "least"),
    [
        ("GPT 32", 4, 0.01, 0.2675, 0.2675, 0.2675),
        ("GPT 32", 8, 0.02, 0.1595, 0.1525, 0.1525),
        ("GPT 32", 8, 0.08, 0.2495, 0.2299, 0.2250),
        ("GPT 32", 16, 0.01, 0.0823, 0.0744, 0.0737),
        ("GPT 32", 16, 0.04, 0.1303, 0.1077, 0.1075),
        ("GPT 32", 16, 0.08, 0.1903, 0.1529, 0.1477),
        ("GPT 8", 4, 0.04, 0.3500, 0.3500, 0.3200),
        ("GPT 8", 4, 0.08, 0.4339, 0.4339, 0.3900),
    ],
)
def test_published_workloads(
    name: str, planes: int, delta: float, spectra: float, wrapped: float, least: float
) -> None:
    """Times of a prototype of Spectra's assignment and of wrap-around, and the bound by hand."""
    pattern = Pattern.from_matrix(line_of(WORKLOADS[name]()))
    machine = switches(pattern.ranks, planes, f"{delta}s")
    found = {method: compiled(pattern, machine, method) for method in OF_CIRCUITS}
    assert all(verify(schedule).ok for schedule in found.values())
    time_s = {method: conset.predict(schedule).time_s for method, schedule in found.items()}
    assert time_s["spectra"] == pytest.approx(spectra, abs=6e-5)
    assert time_s["circuits"] <= min(wrapped, spectra) + 6e-5
    assert time_s["circuits"] <= min(time_s.values())
    assert bound_schedule(found["spectra"]).time_s <= time_s["circuits"]
    split = bound(pattern, machine, found["circuits"].limits, sync="none", split=True)
    assert split.time_s == pytest.approx(least, abs=6e-5)


@pytest.mark.parametrize(
    ("name", "planes", "delta"),
    [("GPT 32", 8, 0.08), ("GPT 32", 16, 0.08), ("GPT 8", 4, 0.04), ("GPT 8", 4, 0.08)],
)
def test_the_search_settles_what_the_line_leaves_open(name: str, planes: int, delta: float) -> None:
    pattern = Pattern.from_matrix(line_of(WORKLOADS[name]()))
    machine = switches(pattern.ranks, planes, f"{delta}s")
    schedule = compiled(pattern, machine)
    time_s = conset.predict(schedule).time_s
    line = bound(pattern, machine, schedule.limits, sync="none", split=True)
    search = bound(pattern, machine, schedule.limits, sync="none", split=True, lp=True)
    assert line.time_s * 1.01 < search.time_s <= time_s <= search.time_s * 1.001
    assert "whatever the planes carry of it" in search.time_witness


def test_as_many_matchings_as_the_degree_and_no_more_bytes_than_the_total() -> None:
    draw = np.random.default_rng(3)
    for _ in range(20):
        demand, weights = np.zeros((24, 24)), draw.integers(1, 4, 6) * 1000
        for weight in weights:
            demand[np.arange(24), draw.permutation(24)] += weight
        found = decompose(demand)
        degree = max((demand > 0).sum(0).max(), (demand > 0).sum(1).max())
        assert len(found.matching) == degree
        served = np.zeros(demand.shape)
        for column, duration in zip(found.matching, found.duration, strict=True):
            assert sorted(column) == list(range(24))
            served[np.arange(24), column] += duration
        assert (served >= demand).all()
        assert found.duration.sum() <= 1.3 * weights.sum()


@st.composite
def instances(draw: st.DrawFn) -> tuple[Pattern, Machine, str]:
    nodes, planes = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    ranks = nodes * draw(st.sampled_from([1, 1, 2]))
    end = st.integers(0, ranks - 1)
    size = st.sampled_from([0, 1, 7, 10**6, 3 * 10**6, 10**8])
    rows = draw(st.lists(st.tuples(end, end, size), max_size=30))
    pattern = Pattern.from_messages(*np.array(rows, np.int64).reshape(-1, 3).T, ranks)
    delta = draw(st.sampled_from(["0", "1us", "1ms", "50ms"]))
    more = draw(st.sampled_from(["", ",partial=yes", ",inject=3us", ",overhead=2us"]))
    return pattern, switches(nodes, planes, delta, more), draw(st.sampled_from(ANY))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(instances(), st.sampled_from(["time", "phases"]))
def test_any_pattern(instance: tuple[Pattern, Machine, str], objective: str) -> None:
    """Verified, no bound above it; formula, timetable and simulation say the same."""
    pattern, machine, method = instance
    per_node = pattern.ranks // machine.topology.endpoints
    placement = np.arange(pattern.ranks, dtype=np.int32) // per_node if per_node > 1 else None
    options = CompileOptions(method, objective=objective, ranks_per_node=per_node)
    try:
        schedule = compile_by(method, pattern, machine, options, placement)
    except InputError:  # outside of its domain
        assert method not in OF_CIRCUITS
        return
    assert verify(schedule).violations == ()
    assert schedule.sync == "none"
    table = schedule.timetable
    assert table is not None
    time_s = predict(schedule).time_s
    assert time_s == pytest.approx(table[:, 1].max(initial=0.0), rel=1e-12)
    assert bound_schedule(schedule).time_s <= time_s
    assert bound_schedule(schedule).phases <= schedule.phases
    if "overhead" not in machine.name:  # one processor for all planes of a node
        assert conset.simulate(schedule).time_s == pytest.approx(time_s, rel=1e-9, abs=1e-12)
    if objective == "phases" and method == "circuits":
        assert schedule.parts is None
    again = compile_by(method, pattern, machine, options, placement)
    assert again == schedule


def moved(schedule: Schedule, transfer: int, *, by: float = 0.0, longer: float = 0.0) -> Schedule:
    table = np.array(schedule.timetable)
    table[transfer] += (by, by + longer)
    return replace(schedule, timetable=table)


@pytest.mark.parametrize("more", ["", ",partial=yes"])
@pytest.mark.parametrize("planes", [1, 3])
def test_mutants_are_refused(planes: int, more: str) -> None:
    pattern = parse_pattern("alltoall:size=20MB", ranks=6)
    schedule = compiled(pattern, switches(6, planes, "10ms", more))
    assert verify(schedule).ok
    table, offsets = schedule.timetable, schedule.phase_offsets
    assert table is not None
    for k in range(schedule.transfers):
        early = verify(moved(schedule, k, by=-0.004))
        assert {"circuit-change"} <= {each.rule for each in early.violations}, k
        short = verify(moved(schedule, k, longer=-0.002))
        assert {each.rule for each in short.violations} == {"timetable-length"}
    for first, second in pairwise(range(schedule.phases)):
        # two phases at the times of one: a port is connected twice, or carries two circuits
        both = np.array(table)
        both[offsets[second] : offsets[second + 1]] = table[offsets[first]]
        rules = {each.rule for each in verify(replace(schedule, timetable=both)).violations}
        assert rules or planes > 1
        allowed = {f"timetable-{kind}" for kind in ("link", "send", "receive", "length")}
        assert rules <= {"circuit-change", *allowed}
    assert [each.rule for each in verify(replace(schedule, timetable=None)).violations] == [
        "circuit-times"
    ]
    if schedule.route_links is not None:
        links = np.array(schedule.route_links)
        links[1] = (links[1] // planes) * planes + (links[1] + 1) % planes
        found = verify(replace(schedule, route_links=links))
        assert "route-plane" in {each.rule for each in found.violations}
    slower = verify(replace(schedule, machine=with_settings(schedule.machine, "reconfigure=11ms")))
    assert {each.rule for each in slower.violations} == {"circuit-change"}


def test_circuits_that_stay_need_no_change() -> None:
    """Several messages of a pair pass one after the other, over one circuit."""
    rows = [(0, 2, 10**6), (0, 3, 2 * 10**6), (1, 2, 3 * 10**6), (2, 0, 10**6)]
    pattern = Pattern.from_messages(*np.array(rows).T, 4)
    placement = np.array([0, 0, 1, 1], np.int32)
    options = CompileOptions("circuits", ranks_per_node=2)
    schedule = compile_by("circuits", pattern, switches(2, 1, "10ms"), options, placement)
    assert schedule.phases == 3
    assert verify(schedule).ok
    assert conset.predict(schedule).time_s == pytest.approx(0.016)


def test_whole_messages_of_a_pair_may_pass_side_by_side() -> None:
    """Two ranks of a node send to two of another one, each in a plane of its own."""
    pattern = Pattern.from_messages([0, 1], [2, 3], [10**7, 10**7], 4)
    placement = np.array([0, 0, 1, 1], np.int32)
    options = CompileOptions("coloring", ranks_per_node=2)
    schedule = compile_by("coloring", pattern, switches(2, 2, "1ms"), options, placement)
    assert schedule.parts is None
    assert predict(schedule).time_s == pytest.approx(0.011)
    assert bound_schedule(schedule).time_s == pytest.approx(0.011)


def test_ports_that_keep_their_partner_go_on() -> None:
    """One pair has bytes for long; beside it two ports change twice."""
    rows = [(0, 1, 10**8), (2, 3, 10**7), (2, 4, 10**7), (3, 4, 10**7), (4, 3, 10**7)]
    pattern = Pattern.from_messages(*np.array(rows).T, 5)
    once = "phases"  # whole messages
    times = {
        more: conset.predict(compiled(pattern, switches(5, 1, "10ms", more), objective=once)).time_s
        for more in ("", ",partial=yes")
    }
    assert times[",partial=yes"] == pytest.approx(0.11)
    assert times[""] == pytest.approx(0.13)


def test_one_switch_is_a_context_switch_at_every_phase() -> None:
    """`setup` of a phase and `reconfigure` are one thing where a machine has one plane."""
    pattern = parse_pattern("alltoall:size=20MB", ranks=6)
    light = compiled(pattern, switches(6, 1, "10ms"), "coloring")
    contexts = parse_machine("crossbar:6,setup=10ms,synchronization=0,port=1GB/s,inject=0,eject=0")
    schedule = compiled(pattern, contexts, "coloring")
    assert schedule.phases == light.phases
    assert predict(schedule, sync="barrier").time_s == pytest.approx(predict(light).time_s)


def test_what_another_rate_or_change_would_take() -> None:
    pattern = parse_pattern("alltoall:size=20MB", ranks=6)
    schedule = compiled(pattern, switches(6, 1, "10ms"))
    for setting, time_s in (
        ("reconfigure=1ms", 0.105),
        ("port=2GB/s", 0.1),
        ("reconfigure=0", 0.1),
    ):
        other = with_settings(schedule.machine, setting)
        assert conset.predict(schedule, machine=other).time_s == pytest.approx(time_s)
        assert conset.simulate(schedule, machine=other).time_s == pytest.approx(time_s)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: parse_machine("mesh:4x4,reconfigure=1ms"), "circuit switches are crossbars"),
        (lambda: parse_machine("crossbar:4,partial=yes"), "needs reconfigure=TIME"),
        (lambda: conset.compile("alltoall", "crossbar:4", method="circuits"), "given crossbar:4"),
        (
            lambda: conset.compile("alltoall", "crossbar:4,reconfigure=1ms", method="naive"),
            "requires send=1,receive=1",
        ),
        (
            lambda: conset.compile("alltoall", "crossbar:4,reconfigure=1ms", sync="barrier"),
            "sync barrier: circuit switches keep phases apart themselves",
        ),
        (
            lambda: conset.compile("alltoall", "crossbar:4,reconfigure=1ms", combine="2x2"),
            "for which stages are not made",
        ),
        (
            lambda: conset.compile("alltoall", "crossbar:4,reconfigure=1ms,port=none"),
            "circuits need a rate",
        ),
    ],
)
def test_refusals(call: object, says: str) -> None:
    with pytest.raises((InputError, UsageError), match=says):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("spec", "link", "port"),
    [
        ("crossbar:8,planes=4,reconfigure=10ms,port=1GB/s", 1e9, 4e9),
        ("crossbar:8,planes=4,reconfigure=10ms,port=3GB/s,link=2GB/s", 2e9, 8e9),
        ("crossbar:8,planes=2,reconfigure=10ms", 25e9, 50e9),
        ("optical:8", 50e9, 200e9),
        ("optical:8,port=10GB/s,planes=2", 10e9, 20e9),
    ],
)
def test_a_port_of_every_plane_has_the_rate(spec: str, link: float, port: float) -> None:
    machine = parse_machine(spec)
    assert machine.costs.link_Bps == link
    assert (machine.costs.port_out_Bps, machine.costs.port_in_Bps) == (port, port)
    assert conset.load_machine(json.loads(json.dumps(machine.to_spec()))) == machine
    changed = with_settings(machine, "port=7GB/s")
    assert changed.costs.link_Bps == (2e9 if "link=" in spec else 7e9)
    assert parse_machine("crossbar:8").to_spec()["costs"].keys().isdisjoint({"reconfigure"})


def program(planes: int, *blocks: tuple[str, int]) -> conset.Program:
    machine = switches(6, planes, "10ms")
    specs = [
        BlockSpec(spec, parse_pattern(spec, ranks=6), repeat, CompileOptions())
        for spec, repeat in blocks
    ]
    return compile_program(specs, machine, CompileOptions())


@pytest.mark.parametrize("planes", [1, 2])
def test_a_block_that_is_repeated_turns_round(planes: int) -> None:
    """Every plane begins with what it ended with: a change less each time."""
    once = predict_program(program(planes, ("alltoall:size=20MB", 1))).time_s
    for repeat in (2, 3, 9, 10, 1001):
        found = program(planes, ("alltoall:size=20MB", repeat))
        prediction = predict_program(found)
        assert prediction.time_s == pytest.approx(repeat * once - (repeat - 1) * 0.01, rel=1e-6)
        assert verify(found).ok
        if repeat < 20:
            whole = found.whole
            assert whole.timetable is not None
            assert whole.timetable[:, 1].max() == pytest.approx(prediction.time_s)
            assert verify(whole).ok
            assert conset.simulate(found).time_s == pytest.approx(prediction.time_s)


def test_blocks_follow_one_another() -> None:
    found = program(
        2, ("random:degree=2,size=9MB", 3), ("alltoall:size=5MB", 6), ("shift:size=1MB", 2)
    )
    whole, prediction = found.whole, predict_program(found)
    assert whole.timetable is not None
    assert whole.timetable[:, 1].max() == pytest.approx(prediction.time_s)
    assert sum(prediction.block_s) == pytest.approx(prediction.time_s)
    assert prediction.terms["setup"] + prediction.terms["transfer"] == pytest.approx(
        prediction.time_s
    )
    assert verify(found).ok
    assert verify(whole).ok


def test_files_pictures_and_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, text = tmp_path / "s.json", "crossbar:6,planes=2,reconfigure=10ms,port=1GB/s"
    pattern = "random:degree=3,size=log-uniform(1MiB,64MiB)"
    assert run(["compile", pattern, "--on", text, "-o", str(made), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["method"], answer["sync"], answer["verified"]) == ("circuits", "none", True)
    again = conset.read(made)
    assert verify(again).ok
    assert len(schedule_draws(again, None)) == 2
    for name in ("s.svg", "page.html"):
        command = "show" if name == "s.svg" else "report"
        assert run([command, str(made), "-o", str(tmp_path / name)]) == 0
        drawn = (tmp_path / name).read_text()
        assert "reconfigures, 10 ms" in drawn
        assert "plane 1" in drawn
    (tmp_path / "p.toml").write_text(
        '[[block]]\npattern = "alltoall:size=1MB"\nrepeat = 3\n[[block]]\npattern = "shift"\n'
    )
    blocks = tmp_path / "p.json"
    assert run(["compile", str(tmp_path / "p.toml"), "--on", text, "-o", str(blocks)]) == 0
    for command, name in (("show", "p.svg"), ("report", "p.html")):
        assert run([command, str(blocks), "-o", str(tmp_path / name)]) == 0
    capsys.readouterr()
    assert run(["machines", text, "-o", str(tmp_path / "x.machine")]) == 3
    assert "for which a program cannot schedule by itself" in capsys.readouterr().err
    assert not (tmp_path / "x.machine").exists()
    assert run(["simulate", str(made), "--sync", "barrier"]) == 2
    assert "circuit switches keep phases apart themselves" in capsys.readouterr().err
