"""Latency over load: what is drawn, what an empty network takes, where the bound lies, what the
command prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.machine.spec import parse_machine
from conset.models.load.sweep import LoadSweep, Traffic, Window, parse_traffic, sweep_load

LINK = ",tie=plus,link=16GB/s,flit=16"
SHORT = Window(500, 2000, 1000)


def test_packets_are_drawn_at_the_load_asked_for() -> None:
    traffic = Traffic.uniform(64, 128)
    release, source, target, size = traffic.draw(0.4, 16, 20_000, 1)
    mean, spread = 20_000 * 64 * 0.05, np.sqrt(20_000 * 64 * 0.05 * 0.95)
    assert abs(release.size - mean) < 5 * spread
    assert size.min() == size.max() == 128
    key = release * 64 + source
    assert (np.diff(key) > 0).all(), "at most one packet a node and cycle, by time and then by node"
    for ends in (source, target):
        count = np.bincount(ends, minlength=64)
        assert count.size == 64
        assert np.abs(count - mean / 64).max() < 6 * np.sqrt(mean / 64)
    assert (source == target).any(), "a node is drawn from all, the sender included"
    again = traffic.draw(0.4, 16, 20_000, 1)
    assert all(
        np.array_equal(a, b) for a, b in zip(again, (release, source, target, size), strict=True)
    )


def test_packets_of_a_pattern_go_to_partners_only() -> None:
    machine = parse_machine("mesh:4x4" + LINK)
    traffic = parse_traffic("transpose:size=64", machine)
    _, source, target, size = traffic.draw(0.5, 16, 2000, 0)
    assert set(zip(source.tolist(), target.tolist(), strict=True)) == {
        (4 * y + x, 4 * x + y) for x in range(4) for y in range(4) if x != y
    }
    assert (size == 64).all()
    assert traffic.senders.size == 12


def test_unequal_packets_offer_the_same_load() -> None:
    """Node 0 sends packets of 1 flit, node 1 of 9: each at its own chance."""
    traffic = Traffic("two", 2, np.array([0, 1, 2]), np.array([1, 0]), np.array([16, 144]))
    _, source, _, size = traffic.draw(0.6, 16, 100_000, 3)
    for node in (0, 1):
        assert size[source == node].sum() / 16 / 100_000 == pytest.approx(0.6, rel=0.03)


@pytest.mark.parametrize(
    ("network", "words", "bound", "alone"),
    [
        # a ring of 8 with ties upwards: 1 + 2 + 3 + 4 hops up of 8 draws; hops 2 in the mean each
        # way
        ("torus:8x8", "random", 0.8, 5 + 4 * 4 + 8),
        ("torus:8x8", "random:size=16B", 0.8, 5 + 4 * 4 + 1),
        # the middle link of a row of 8: 4 nodes below draw one of the 4 above half of the time
        ("mesh:8x8", "random", 0.5, 5 + 4 * 2 * 21 / 8 + 8),
        # everybody to the next: no link has more than one sender
        ("ring:6", "shift:by=1", 1.0, 5 + 4 + 8),
    ],
)
def test_bound_and_empty_network(network: str, words: str, bound: float, alone: float) -> None:
    machine = parse_machine(network + LINK)
    sweep = LoadSweep(parse_traffic(words, machine), machine)
    assert sweep.bound == pytest.approx(bound, rel=1e-4)
    assert sweep.zero_load == pytest.approx(alone)


def test_a_low_load_takes_what_an_empty_network_takes() -> None:
    machine = parse_machine("torus:4x4" + LINK)
    sweep = LoadSweep(parse_traffic("random", machine), machine, window=Window(500, 20_000, 1000))
    point = sweep.measure(0.01)
    assert point.mean_latency == pytest.approx(sweep.zero_load, rel=0.05)
    assert point.mean_latency >= sweep.zero_load - 1
    assert point.accepted == pytest.approx(point.offered, rel=0.02)
    assert point.undelivered == 0


def test_bisection_lies_between_what_holds_and_what_does_not() -> None:
    machine = parse_machine("ring:8" + LINK)
    sweep = LoadSweep(parse_traffic("random", machine), machine, window=SHORT)
    curve = sweep_load(sweep, 0.1, 0.9, points=5)
    assert curve.saturation is not None
    assert 0.3 < curve.saturation <= curve.bound
    loads = [point.load for point in curve.points]
    assert loads == sorted(loads)
    assert len(loads) > 5
    assert not curve.points[0].saturated
    assert curve.points[-1].saturated
    assert curve.points[-1].accepted < 0.8
    again = sweep_load(
        LoadSweep(parse_traffic("random", machine), machine, window=SHORT), 0.1, 0.9, points=5
    )
    assert again.points == curve.points, "the same seed, the same numbers"


def test_no_load_above_the_bound_is_called_carried() -> None:
    """Only some nodes wait there, so the mean over all may look harmless in a short look."""
    machine = parse_machine("mesh:4x4" + LINK)
    curve = sweep_load(
        LoadSweep(parse_traffic("transpose", machine), machine, window=SHORT), 0.2, 0.5, points=4
    )
    assert curve.saturation is not None
    assert curve.saturation <= curve.bound == pytest.approx(1 / 3, rel=1e-4)


@pytest.mark.parametrize("loads", [(0.0, 0.5), (0.5, 0.4), (0.5, 1.5), (-0.1, 0.5)])
def test_loads_out_of_range(loads: tuple[float, float]) -> None:
    machine = parse_machine("ring:4" + LINK)
    with pytest.raises(UsageError, match="must rise, above 0 and at most 1"):
        sweep_load(LoadSweep(parse_traffic("random", machine), machine), *loads)


def test_traffic_that_does_not_fit() -> None:
    machine = parse_machine("mesh:2x2" + LINK)
    with pytest.raises(InputError, match="9 ranks on 4 endpoints"):
        parse_traffic("alltoall:ranks=9", machine)
    with pytest.raises(UsageError, match="takes only size="):
        parse_traffic("random:ranks=4", machine)
    with pytest.raises(InputError, match="no node sends"):
        LoadSweep(
            Traffic("silent", 2, np.array([0, 0, 0]), np.zeros(0, np.int32), np.zeros(0)), machine
        )


COMMAND = [
    "simulate",
    "random",
    "--load",
    "0.1:0.9",
    "--on",
    "torus:4x4" + LINK,
    "--model",
    "flit",
    "--cycles",
    "1000",
]


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--json"]) == 0
    out, err = capsys.readouterr()
    whole = json.loads(out)
    assert whole["schema"] == "conset/simulate@1"
    assert whole["manifest"]["command"].startswith("conset simulate random --on torus:4x4")
    assert whole["model"] == "flit"
    assert 0.3 < whole["saturation"] <= whole["load_bound"]
    assert [point["load"] for point in whole["points"]] == sorted(
        point["load"] for point in whole["points"]
    )
    assert whole["points"][0]["mean_latency_s"] == pytest.approx(
        whole["points"][0]["mean_latency_cycles"] * 1e-9
    )
    assert "saturation at" in err


@pytest.mark.parametrize("suffix", [".svg", ".md", ".json"])
def test_written_files_are_the_same_again(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for name in ("a", "b"):
        path = tmp_path / (name + suffix)
        assert run([*COMMAND, "-o", str(path)]) == 0
        texts.append(path.read_text())
    assert texts[0] == texts[1]
    assert "bound" in texts[0]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["random", "--load", "0.1"], 2, "needs --on MACHINE"),
        (["random", "--load", "0.1", "--on", "mesh:4"], 2, "--load is for --model flit"),
        (
            ["random", "--load", "a:b", "--on", "mesh:4", "--model", "flit"],
            2,
            "two loads as in 0.05:0.9",
        ),
        (["random", "--load", "0.1", "--on", "crossbar:4", "--model", "flit"], 3, "has no links"),
        (
            ["random", "--load", "0.1", "--on", "mesh:4", "--model", "flit", "-o", "x.pdf"],
            2,
            "given '.pdf'",
        ),
        (
            ["random", "--load", "0.1", "--on", "mesh:4", "--model", "flit", "--cycles", "0"],
            2,
            "must be at least 1",
        ),
        (["x.csv", "--on", "mesh:4", "--packet", "128"], 2, "is for model flit"),
    ],
)
def test_bad_words(
    words: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("id,time,src,dst,bytes,deps\n0,0,0,1,16,\n")
    assert run(["simulate", *words]) == code
    assert message in capsys.readouterr().err
