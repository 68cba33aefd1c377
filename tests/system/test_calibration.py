"""Calibration: an emulated machine's words come back; files, plots, refusals.

The job over MPI is in `tests/mpi/`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.inputs import load_machine
from conset.machine import Machine
from conset.studies import Calibration
from conset.studies.calibrate import measurements
from conset.studies.calibrate.calibrate import calibrate, structure_of
from conset.studies.calibrate.fitted import FittedParameter
from conset.studies.calibrate.measurements import (
    Measurements,
    answer,
    emulate,
    probes_of,
    read_measurements,
)
from conset.studies.calibrate.probes import Places, Probe, Scale, make_probes, make_schedule


def emulated(
    network: str,
    words: str,
    *,
    seed: int = 0,
    ranks: int | None = None,
    per_node: int = 1,
    job: tuple[int, ...] = (),
    quick: bool = True,
) -> Calibration:
    truth = load_machine(f"{network},eject=0,{words}")
    return calibrate(
        replace(load_machine(network), job=job),
        emulated=truth,
        quick=quick,
        seed=seed,
        ranks=ranks,
        ranks_per_node=per_node,
    )


def word(found: Calibration, name: str) -> FittedParameter:
    return next(each for each in found.words if each.word == name)


def comes_back(found: Calibration, name: str, truth: float) -> bool:
    """Within 10 %, or inside its interval; a rate that is no limit: at least what was seen."""
    each = word(found, name)
    assert each.number is not None
    if truth == inf or each.number == inf:
        return each.number == inf and each.low is not None and each.low <= truth
    inside = each.low is not None and each.high is not None and each.low <= truth <= each.high
    return inside or abs(each.number - truth) <= 0.1 * truth


times = st.floats(1.0, 8.0)
rates = st.sampled_from((0.5, 1.0, 2.0))


@settings(max_examples=1, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    send=times,
    receive=times,
    latency=times,
    out=rates,
    into=rates,
    node=st.booleans(),
    processors=st.sampled_from(("one", "two")),
    slots=st.sampled_from(("all", "1", "2", "4")),
    seed=st.integers(0, 99),
)
def test_the_words_of_a_crossbar_come_back(
    send: float,
    receive: float,
    latency: float,
    out: float,
    into: float,
    node: bool,
    processors: str,
    slots: str,
    seed: int,
) -> None:
    both = 1.5 * min(out, into)
    words = (
        f"send_overhead={send:.3f}us,receive_overhead={receive:.3f}us,inject={4 * latency:.3f}us,"
        f"port_out={out}GB/s,"
        f"port_in={into}GB/s,processors={processors},in_flight={slots},synchronization=20us,"
        "signal=5us"
    )
    found = emulated("crossbar:4", words + (f",node={both}GB/s" if node else ""), seed=seed)
    truth = {
        "send_overhead": send * 1e-6,
        "receive_overhead": receive * 1e-6,
        "inject": 4 * latency * 1e-6,
    }
    truth |= {"synchronization": 20e-6, "signal": 5e-6}
    assert {name: comes_back(found, name, value) for name, value in truth.items()} == dict.fromkeys(
        truth, True
    )
    errors = [row.model_error for row in found.held_back]
    assert max(map(abs, errors)) < 0.12


def test_the_words_of_a_mesh_come_back() -> None:
    words = (
        "link=2.4MB/s,port=none,overhead=40us,inject=20us,hop=10us,synchronization=1ms,signal="
        "80us,eager=4KiB"
    )
    found = emulated("mesh:3x3", f"{words},model=wormhole,lanes=1")
    truth = {
        "send_overhead": 20e-6,
        "receive_overhead": 20e-6,
        "inject": 20e-6,
        "hop": 10e-6,
        "link": 2.4e6,
    }
    truth |= {
        "synchronization": 1e-3,
        "signal": 80e-6,
        "port_out": inf,
        "port_in": inf,
        "node": inf,
    }
    assert {name: comes_back(found, name, value) for name, value in truth.items()} == dict.fromkeys(
        truth, True
    )
    costs = found.machine.costs
    assert (costs.model, costs.lanes, costs.eager_B, costs.in_flight) == ("wormhole", 1, 4096, None)
    assert costs.size_range_B == (8, 2**17)
    assert max(abs(row.model_error) for row in found.held_back) < 0.1
    assert not any("share nothing" in note for note in found.notes)


def test_the_words_of_packets_and_chance_come_back() -> None:
    words = (
        "link=2.4MB/s,port_out=2.4MB/s,port_in=none,overhead=40us,inject=600us,synchronization="
        "1ms,signal=80us"
    )
    found = emulated(
        "mesh:3x3", f"{words},model=packet,link_buffers=12KiB,window=48KiB,jitter=300us"
    )
    costs = found.machine.costs
    assert (costs.model, costs.in_flight, costs.eager_B) == ("packet", None, None)
    assert {
        name: comes_back(found, name, value)
        for name, value in (("link", 2.4e6), ("port_out", 2.4e6))
    } == {
        "link": True,
        "port_out": True,
    }
    assert 12288 / 1.5 <= costs.link_buffers_B <= 12288 * 1.5
    assert costs.window_B == pytest.approx(48 * 1024, rel=0.2)
    # of some repetitions the least is not quite without chance
    assert 0.5 * 300e-6 < costs.jitter_s < 1.3 * 300e-6


def test_places_are_what_their_names_say() -> None:
    places = Places(load_machine("mesh:4x4"), 16)
    links = {pair: set(way) for pair, way in places.links.items()}
    crossing = places.crossing()
    assert crossing is not None
    for k, one in enumerate(crossing.pairs):
        for other in crossing.pairs[:k]:
            assert links[one] & links[other] == {crossing.link}
    assert all(crossing.link in links[pair] for pair in crossing.more)
    apart = places.disjoint()
    assert len({rank for pair in apart for rank in pair}) == 2 * len(apart) == 16
    assert sum(len(links[pair]) for pair in apart) == len(
        set().union(*(links[pair] for pair in apart))
    )
    for out in (True, False):
        rank, others = places.fan(out=out)
        ways = [links[(rank, other) if out else (other, rank)] for other in others]
        assert len(others) == 4
        assert sum(map(len, ways)) == len(set().union(*ways))
    spots = places.hotspots()
    assert spots
    for spot in spots:
        first, *others = spot.blocked
        assert spot.victim[0] == first[0]
        assert links[spot.victim] & links[first]
        shared = set.intersection(*(links[pair] for pair in spot.blocked))
        assert shared
        assert not any(links[spot.victim] & links[pair] for pair in others)
        assert not links[spot.victim] & shared


def test_a_probe_waits_for_what_its_name_says() -> None:
    """Closed forms 1 to 4 of docs/cost-model.md, which first values rest on."""
    truth = load_machine(
        "crossbar:4,port=1GB/s,send_overhead=2us,receive_overhead=3us,inject=4us,eject=0"
    )
    probes = {
        probe.name: probe
        for probe in make_probes(structure_of(truth), 4, Scale(9e-6, 1e9, 1 << 16), quick=True)
    }
    alone = 2e-6 + 4e-6 + 8e-9 + 3e-6
    assert answer(probes["chain 0-1 16x 8 B"], truth) == pytest.approx(16 * alone, rel=1e-3)
    assert answer(probes["pair 16 8 B"], truth) == pytest.approx(alone + 15 * 3e-6, rel=1e-3)
    assert answer(probes["out 3 at once 64 KiB"], truth) == pytest.approx(
        9e-6 + 3 * 65536e-9, rel=0.03
    )


@pytest.mark.parametrize("seed", range(2))
def test_ranks_that_share_cores_are_measured_busy(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose ranks slow each other down: what is found is what each has when all work.

    With a core for every rank the very same machine gives the words of a rank alone.
    """
    stated, ranks = structure_of(load_machine("crossbar:8")), 8
    words = "processors=one,eject=0,signal=5us,synchronization=20us"
    alone = load_machine(
        f"crossbar:8,{words},send_overhead=2us,receive_overhead=3us,inject=4us,port=1GB/s,"
        "copy=2GB/s"
    )

    def emulated_on(cores: int) -> Calibration:
        def shared(probe: Probe, machine: Machine, model: str | None = None) -> float:
            pattern = probe.schedule.pattern
            active = np.unique([*pattern.source, *pattern.target]).size
            k = max(active / cores, 1.0) if machine is alone else 1.0
            if k == 1:
                return answer(probe, machine, model)
            slow = load_machine(
                f"crossbar:8,{words},send_overhead={2 * k}us,receive_overhead={3 * k}us,"
                f"inject=4us,port={1 / k}GB/s,copy={2 / k}GB/s"
            )
            return answer(probe, slow, model)

        with monkeypatch.context() as patched:
            patched.setattr(measurements, "answer", shared)
            run = measurements._measure_by
            patched.setattr(
                measurements,
                "_measure_by",
                lambda ask, *rest, **named: run(
                    lambda probes: {**ask(probes), "cores": cores, "local_ranks": ranks},
                    *rest,
                    **named,
                ),
            )
            data = emulate(stated, alone, ranks, quick=True, seed=seed)
        return calibrate(stated, data=data)

    for cores, k in ((8, 1), (16, 1), (2, 4)):
        found = emulated_on(cores)
        assert {probe.times for probe in found.probes} == ({1} if k == 1 else {1, ranks})
        costs = found.machine.costs
        work = costs.send_overhead.at(8) + costs.receive_overhead.at(8)
        assert work == pytest.approx(k * 5e-6, rel=0.15)
        assert min(costs.port_out_Bps, costs.port_in_Bps) == pytest.approx(1e9 / k, rel=0.1)
        assert comes_back(found, "copy", 2e9 / k)
        assert costs.processors == "one"
        assert np.median([abs(row.model_error) for row in found.held_back]) < 0.1
    few = emulate(stated, alone, ranks, quick=True, seed=seed)
    kept = calibrate(stated, data=few)
    assert kept.machine == emulated_on(8).machine


def test_the_network_that_is_stated_may_be_contradicted() -> None:
    """Ports alone were stated, and yet pairs of other ranks slow each other down."""
    stated = structure_of(load_machine("crossbar:4"))
    data = emulate(stated, load_machine("crossbar:4,port=1GB/s,eject=0"), 4, quick=True)
    slow = {
        name: tuple(2.5 * time for time in times) if name.startswith("apart 2") else times
        for name, times in data.times_s.items()
    }
    found = calibrate(stated, data=replace(data, times_s=slow))
    assert any("share nothing" in note for note in found.notes)


def test_measurements_are_read_as_they_were_written(tmp_path: Path) -> None:
    data = Measurements(
        "crossbar:2",
        2,
        "a test",
        {"a": (1.0, 2.0, 1.5)},
        True,
        65536,
        1e-6,
        1e9,
        {"a": 1},
        2,
        2,
        3.0,
    )
    data.write(tmp_path / "raw.json")
    assert read_measurements(tmp_path / "raw.json") == data
    (tmp_path / "other.json").write_text('{"schema": "conset/run@1"}')
    with pytest.raises(InputError, match="schema must be"):
        read_measurements(tmp_path / "other.json")
    body = json.loads((tmp_path / "raw.json").read_text())
    for key, value, rule in (
        ("times_s", {"a": [-1]}, r"times_s\.a\[0\]: must be greater than 0, is -1"),
        ("times_s", None, "times_s: "),
        ("ranks", "x", "ranks: .* is 'x'"),
    ):
        (tmp_path / "bad.json").write_text(json.dumps({**body, key: value}))
        with pytest.raises(InputError, match=rule):
            read_measurements(tmp_path / "bad.json")


def test_the_typical_time_is_not_that_of_the_disturbed() -> None:
    times = (1.0, 1.01, 1.02, 1.0, 1.01, 3.0, 2.5, 4.0, 9.0)
    data = Measurements("crossbar:2", 2, "", {"a": times}, True, 1, 1.0, 1.0, {})
    assert data.typical_s("a") == pytest.approx(1.01)
    assert data.median_s("a") == pytest.approx(1.02)
    assert np.isfinite(data.log_error("a"))


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "crossbar:3,port=1GB/s,overhead=2us,inject=3us,eject=0,synchronization=9us"
    outputs = [tmp_path / name for name in ("m.toml", "m.html", "raw.json")]
    words = ["calibrate", "--on", "crossbar:3", "--emulate", spec, "--quick"]
    assert (
        run([*words, "-o", str(outputs[0]), "--page", str(outputs[1]), "--data", str(outputs[2])])
        == 0
    )
    shown = capsys.readouterr().out
    assert "send_overhead" in shown
    assert "held back" in shown
    assert "synchronization" in outputs[0].read_text()
    assert outputs[1].read_text().count("<svg") >= 4
    assert outputs[1].read_text().count("logarithmic</text>") >= 7, "axes say so"
    for wrong, code, rule in (
        (["--ranks", "1"], 2, "must be at least 2"),
        (["--on", "crossbar:3", "--ranks", "4"], 2, "must be at most 3"),
        (["-o", "x.json"], 2, "a machine file ends in .toml"),
        (["--emulate", "crossbar:2", "--mpiexec", "false"], 2, "nothing is executed"),
        (["--mpiexec", "mpiexec -n 4"], 2, "leave out -n"),
        (["--time", "0s", "--on", "crossbar:2"], 2, "above 0 s"),
        (["--data", str(outputs[0])], 3, "not valid JSON"),
    ):
        assert run(["calibrate", *wrong]) == code, wrong
        assert rule in capsys.readouterr().err


def test_messages_of_one_pair_stay_apart() -> None:
    """Windows are several messages of a pair, in posting order.

    The independent verifier knows them all.
    """
    machine = structure_of(load_machine("crossbar:3"))
    schedule = make_schedule(machine, 3, [(2, 0, 8), (0, 1, 8), (2, 0, 16), (0, 1, 4)])
    assert schedule.pattern.messages == 4
    assert schedule.size.tolist() == [8, 8, 16, 4]
    assert schedule.pattern.source[schedule.message].tolist() == [2, 0, 2, 0]
    assert conset.verify(schedule).ok


def with_times(found: Calibration, series: dict[str, float]) -> Calibration:
    """Fitted again with times of whole series longer by a factor."""
    factor = {probe.name: series.get(probe.series, 1.0) for probe in found.probes}
    times = {
        name: tuple(factor[name] * time for time in row) for name, row in found.data.times_s.items()
    }
    return calibrate(load_machine("mesh:3x3"), data=replace(found.data, times_s=times))


def test_links_are_rated_by_what_fills_them() -> None:
    words = "link=2.4MB/s,port=none,overhead=20us,inject=80us,synchronization=1ms,model=flow"
    found = emulated("mesh:3x3", words)
    slower = with_times(found, {"crowd": 1.04, "storm": 1.04})
    assert found.machine.costs.link_Bps == pytest.approx(2.4e6, rel=0.02)
    assert slower.machine.costs.link_Bps == pytest.approx(
        found.machine.costs.link_Bps / 1.04, rel=0.01
    )
    assert word(slower, "link").number == pytest.approx(slower.machine.costs.link_Bps, rel=1e-3)


def test_waiting_in_a_queue_is_no_back_pressure() -> None:
    # the message behind a held up one waits for all bytes of the other, and no longer: first come,
    # first served
    found = emulated(
        "mesh:3x3",
        "link=2.4MB/s,port=none,overhead=20us,inject=80us,synchronization=1ms,model=flow",
    )
    queued = with_times(found, {"pressure": 1.6, "crowd": 1.05})
    assert queued.found.contention is not None
    assert not queued.found.contention.pushes_back
    assert queued.machine.costs.model == "flow"
    assert any("queues" in note for note in queued.notes)
    held = with_times(found, {"pressure": 3.5, "crowd": 1.05, "storm": 1.5})
    assert held.found.contention is not None
    assert held.found.contention.pushes_back
    assert held.machine.costs.model != "flow"
    assert any("back-pressure" in note for note in held.notes)


@pytest.mark.parametrize("seed", range(6))
def test_times_that_say_nothing_still_give_a_machine_on_which_messages_take_time(seed: int) -> None:
    stated, truth = (
        load_machine("crossbar:2"),
        load_machine("crossbar:2,overhead=2us,inject=1us,port=1GB/s"),
    )
    data = emulate(structure_of(stated), truth, 2, quick=True, seed=seed)
    random = np.random.default_rng(seed)
    times = {
        name: tuple((np.array(row[:3]) * np.exp(random.normal(0, 3, 3))).tolist())
        for name, row in data.times_s.items()
    }
    costs = calibrate(stated, data=replace(data, times_s=times)).machine.costs
    assert costs.send_overhead.at(8) + costs.inject.at(8) + costs.receive_overhead.at(8) > 0
    assert min(costs.port_out_Bps, costs.port_in_Bps) < inf


SCATTERED = tuple(7 * rank % 36 for rank in range(33))
"""A job on some endpoints of 36, in no order."""


@pytest.mark.parametrize("per_node", [1, 2, 4, 0], ids=["1", "2", "4", "scattered"])
def test_every_number_of_ranks_can_be_asked(per_node: int) -> None:
    """On some endpoints: each rank takes part, and none waits for one that is not there.

    Two ranks measure the words of messages between nodes.
    """
    structure = structure_of(load_machine("torus:6x6"))
    truth = load_machine("torus:6x6,overhead=4us")
    for ranks in range(per_node + 1 if per_node > 1 else 2, 34):
        job = tuple(rank // per_node for rank in range(ranks)) if per_node else SCATTERED[:ranks]
        placed = replace(structure, job=job)
        asked = probes_of(emulate(placed, truth, ranks, quick=True), placed)
        patterns = [probe.schedule.pattern for probe in asked]
        assert {pattern.ranks for pattern in patterns} <= set(range(2, ranks + 1))
        taking = np.unique(np.concatenate([[*p.source, *p.target] for p in patterns]))
        assert taking.tolist() == list(range(ranks))
        for schedule in (probe.schedule for probe in asked):
            own = schedule.pattern.ranks
            node = range(own) if schedule.placement is None else schedule.placement.tolist()
            assert [*node] == [*job[:own]]
            one_way = len({*schedule.pattern.source.tolist()}) == 1
            assert not one_way or (schedule.source_node != schedule.target_node).all()


@pytest.mark.parametrize(
    ("network", "ranks", "per_node", "job"),
    [
        *((f"crossbar:{ranks}", ranks, 1, ()) for ranks in (2, 3, 5, 17, 33)),
        ("mesh:3x3", 5, 1, ()),
        ("crossbar:9", 17, 2, ()),
        ("crossbar:5", 17, 4, ()),
        ("mesh:3x3", None, 2, ()),
        ("mesh:3x3", 7, 4, ()),
        ("torus:6x6", None, 1, SCATTERED[:9]),
        ("mesh:3x3", None, 1, (8, 8, 2, 0, 2, 5)),
    ],
)
def test_any_number_of_ranks(
    network: str, ranks: int | None, per_node: int, job: tuple[int, ...]
) -> None:
    """Odd numbers, several ranks a node, and ranks on some endpoints only."""
    words = "overhead=4us,port=1GB/s,inject=2us"
    words += "" if "crossbar" in network else ",link=1GB/s"
    found = emulated(network, words, ranks=ranks, per_node=per_node, job=job)
    nodes = load_machine(network).topology.endpoints
    assert found.data.ranks == (ranks or len(job) or nodes * per_node)
    assert found.machine.job == job
    assert comes_back(found, "send_overhead", 2e-6)
    assert comes_back(found, "receive_overhead", 2e-6)
    assert word(found, "inject").number == pytest.approx(2e-6, rel=0.2)


def test_ranks_have_places_on_two_nodes_or_more(tmp_path: Path) -> None:
    stated, truth = load_machine("mesh:1x2"), load_machine("mesh:1x2,overhead=4us")
    for ranks, per_node, job, why in [
        (2, 2, (), "all on one node"),
        (5, 2, (), "at most 4, 2 on each node"),
        (2, 0, (), "ranks_per_node 0: must be at least 1"),
        (None, 1, (1, 1), "all on one node"),
    ]:
        with pytest.raises(UsageError, match=why):
            calibrate(
                replace(stated, job=job), emulated=truth, ranks=ranks, ranks_per_node=per_node
            )
    data = emulate(structure_of(replace(stated, job=(0, 0, 1))), truth, 3, quick=True)
    data.write(tmp_path / "times.json")
    assert read_measurements(tmp_path / "times.json") == data
    for wrong in ((0, 1), (0, 1, 2)):
        with pytest.raises(InputError, match="3 ranks on 2 endpoints"):
            calibrate(stated, data=replace(data, job=wrong))
