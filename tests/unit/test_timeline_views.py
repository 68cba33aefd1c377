"""Timelines drawn: what links and ports used over time, pictures and text, files that carry what
these need."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import InputError
from conset.cli.main import run
from conset.machine.machine import Machine
from conset.models import Timeline, Workload
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.timeline import MAX_CHANGES, Rates, read_record, write_timeline
from conset.models.usage import under_way, usage_of
from conset.models.wormhole import simulate_wormhole
from conset.report.style import save
from conset.report.timeline import TimelineView, picture_timeline, timeline_text, tracks_of
from conset.schedule.files.sniff import Sniffed, sniff
from support.hand_made_timelines import by_hand
from support.hand_made_workloads import phased, row_of_nodes, trace

ROW = row_of_nodes(4)
WORK = trace([(0, 2, 100), (1, 3, 50), (0, 1, 100)], 4)


def played(work: Workload = WORK, machine: Machine = ROW, record: bool = True) -> Timeline:
    return simulate_flow(work, machine, Settings(record=record))


def view(work: Workload = WORK, machine: Machine | None = ROW, **words: Any) -> TimelineView:
    settings = Settings(record=True, **words)
    return TimelineView(simulate_flow(work, machine or ROW, settings), machine, settings)


def test_links_over_time_are_the_integral_of_the_rates() -> None:
    """0→1 (p and r, 100 B each) and 1→2 (p and q) carry 0.5 B/us.

    All at 0.25 until q ends at 200 us; then p and r.
    """
    usage = usage_of(played(), WORK, ROW, Settings(), bins=16)
    assert usage.exact
    assert usage.of_links
    assert usage.edges_s[-1] == pytest.approx(400e-6)
    # of 6 links 3 carry: until 200 us 0→1 and 1→2 are full, 2→3 is half full; then 0→1 is full, 1→2
    # half
    assert usage.mean == pytest.approx([2.5 / 6] * 8 + [1.5 / 6] * 8)
    assert usage.largest == pytest.approx(np.ones(16))
    assert usage.carried[[0, 8, 16]] == pytest.approx([0, 100, 200])
    assert (usage.work_s, usage.rate_Bps) == (pytest.approx(400e-6), 0.5e6)
    assert usage.out[:2, [0, 15]] == pytest.approx(np.array([[0.5e6, 0.5e6], [0.25e6, 0.0]]))


def test_without_rates_bytes_are_spread_evenly_and_none_is_lost() -> None:
    timeline = played(record=False)
    usage = usage_of(timeline, WORK, ROW, Settings(), bins=16)
    assert not usage.exact
    assert usage.carried[-1] == pytest.approx(200)
    assert usage.mean.mean() == pytest.approx(usage_of(played(), WORK, ROW, Settings()).mean.mean())


def test_a_network_without_link_rates_shows_its_ports() -> None:
    machine = conset.load_machine("crossbar:4,port=0.5MB/s,inject=0,eject=0")
    usage = usage_of(played(machine=machine), WORK, machine, Settings(), bins=16)
    assert not usage.of_links
    assert usage.largest[0] == pytest.approx(1.0)
    assert usage.work_s == pytest.approx(400e-6)


def test_messages_under_way_are_counted_by_their_share_of_a_bin() -> None:
    edges = np.linspace(0, 4, 5)
    begin, end = np.array([0.0, 0.5, 3.0]), np.array([2.0, 1.5, 4.0])
    assert under_way(begin, end, edges) == pytest.approx(np.array([[1.5, 1.5, 0, 1]]))
    rows = under_way(begin, end, edges, np.array([0, 1, 1]), 2)
    assert rows == pytest.approx(np.array([[1, 1, 0, 0], [0.5, 0.5, 0, 1]]))


def test_tracks_of_a_rank_never_overlap() -> None:
    rng = np.random.default_rng(1)
    rank = rng.integers(0, 3, 60).astype(np.int32)
    start = rng.random(60)
    end = start + rng.random(60) / 4
    tracks = tracks_of(rank, start, end)
    for one in range(3):
        for track in range(int(tracks.max()) + 1):
            mine = np.flatnonzero((rank == one) & (tracks == track))
            mine = mine[np.argsort(start[mine])]
            assert (start[mine][1:] >= end[mine][:-1]).all()
    most = max(int(((start <= t) & (end > t) & (rank == r)).sum()) for t in start for r in range(3))
    assert tracks.max() + 1 == most


def test_first_bytes_come_from_rates_or_the_file() -> None:
    timeline = simulate_wormhole(WORK, ROW, Settings(record=True, in_flight=1))
    first = timeline.first_bytes()
    assert (first <= timeline.end_s).all()
    assert timeline.end_s - first == pytest.approx(WORK.bytes / 0.5e6)
    none = np.zeros(0)
    assert replace(timeline, first_byte_s=none).first_bytes() == pytest.approx(first)
    assert replace(timeline, rates=None, first_byte_s=none).first_bytes().size == 0
    assert replace(timeline, rates=None, first_byte_s=first).first_bytes() is first


# ---- text


def test_the_text_shows_ranks_links_and_the_bound() -> None:
    work = phased([[(0, 2, 100), (1, 3, 50)], [(0, 1, 100), (3, 2, 100), (1, 0, 100)]], 4)
    lines = timeline_text(view(work, sync="barrier"), 80).splitlines()
    rows = {line.split()[1]: line[12:] for line in lines if line.strip().startswith("rank ")}
    assert sorted(rows) == ["0", "1", "2", "3"]
    assert rows["2"] == ""  # it sends nothing
    assert rows["0"].startswith(" ")  # the first barrier is charged
    assert any("2 barriers and the busiest of each group" in line for line in lines)
    assert lines[-1].split()[0] == "0"
    assert lines[-1].endswith(" us")


def test_many_ranks_share_rows() -> None:
    machine = conset.load_machine("ring:80")
    work = trace([(r, (r + 1) % 80, 1000) for r in range(80)], 80)
    text = timeline_text(view(work, machine), 120)
    assert "78-79" not in text.split()[0]
    assert len(text.splitlines()) < 50
    assert "    0-2  " in text


# ---- pictures


@pytest.mark.parametrize("ranks", [4, 80])
def test_pictures_are_the_same_bytes_every_time(tmp_path: Path, ranks: int) -> None:
    """Bars for few ranks, an image for many."""
    machine = conset.load_machine(f"ring:{ranks}")
    work = phased([[(r, (r + d) % ranks, 1000) for r in range(ranks)] for d in (1, 2)], ranks)
    for name in ("a.svg", "b.svg"):
        save(lambda: picture_timeline(view(work, machine, sync="barrier")), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_has_links_only_where_the_machine_is_known() -> None:
    assert len([a for a in picture_timeline(view()).axes if a.get_title()]) == 4
    titles = [a.get_title() for a in picture_timeline(view(machine=None)).axes]
    assert titles == ["what every rank sends", "messages under way"]


def test_an_empty_timeline_is_drawn(tmp_path: Path) -> None:
    empty = view(trace([], 4))
    save(lambda: picture_timeline(empty), tmp_path / "x.png")
    assert "0 s" in timeline_text(empty, 80)


# ---- files


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_file_says_what_was_played_where_and_how(tmp_path: Path, suffix: str) -> None:
    schedule = conset.compile("alltoall", "torus:4x4", method="connections", channels=8)
    work, path = Workload.of_schedule(schedule), tmp_path / f"x{suffix}"
    settings = Settings(
        sync="barrier", in_flight=2, receives=3, receive_order="any", lanes=2, record=True
    )
    timeline = simulate_flow(work, schedule.machine, settings)
    write_timeline(timeline, path, machine=schedule.machine, changed="hop=3ns", settings=settings)
    record = read_record(path)
    assert sniff(path) == Sniffed("timeline", suffix.removeprefix("."), "conset/timeline@1")
    assert record.machine is not None
    assert (record.machine.name, record.machine.costs.hop_s) == ("torus:4x4", 3e-9)
    assert record.settings == replace(settings, record=False)
    again = record.timeline.workload
    assert again is not None
    for name in ("source", "target", "bytes", "order", "link_offsets", "links", "phase_offsets"):
        assert np.array_equal(getattr(again, name), getattr(work, name)), name
    assert (again.method, again.name) == (work.method, work.name)


def test_a_file_keeps_first_bytes_where_there_are_too_many_rates(tmp_path: Path) -> None:
    timeline = played()
    assert timeline.rates is not None
    columns = (timeline.rates.time_s, timeline.rates.message, timeline.rates.rate_Bps)
    many = Rates(*(np.resize(column, MAX_CHANGES + 1) for column in columns))
    write_timeline(replace(timeline, rates=many), tmp_path / "x.npz", machine=ROW)
    again = read_record(tmp_path / "x.npz").timeline
    assert again.rates is None
    assert again.first_bytes().size == timeline.messages


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_file_keeps_the_times_of_messages(tmp_path: Path, suffix: str) -> None:
    """All of them, or what the model says: files of before have two."""
    settings, path = Settings(), tmp_path / f"x{suffix}"
    timeline = by_hand(
        WORK, ROW, settings, [(0, 2, 3, 203, 203), (0, 1, 4, 104, 105), (2, 3, 204, 404, 405)]
    )
    write_timeline(timeline, path, machine=ROW, settings=settings)
    again = read_record(path).timeline
    for name in ("start_s", "sent_s", "first_byte_s", "left_s", "end_s"):
        assert np.array_equal(getattr(again, name), getattr(timeline, name)), name
    none = np.zeros(0)
    write_timeline(
        replace(timeline, sent_s=none, left_s=none), path, machine=ROW, settings=settings
    )
    again = read_record(path).timeline
    assert (again.sent_s.size, again.first_byte_s.size, again.left_s.size) == (0, 3, 0)


def test_parts_of_a_message_follow_each_other() -> None:
    timeline = by_hand(
        WORK, ROW, Settings(), [(0, 2, 3, 203, 203), (0, 1, 4, 104, 105), (2, 3, 204, 404, 405)]
    )
    parts = TimelineView(timeline, ROW, Settings()).parts
    assert [part.what for part in parts] == [
        "bytes flow",
        "latency, or channel busy",
        *["overheads, or processor busy"] * 2,
    ]
    assert sum(part.end_s - part.begin_s for part in parts) == pytest.approx(
        timeline.end_s - timeline.start_s
    )
    old = replace(timeline, sent_s=np.zeros(0), left_s=np.zeros(0), rates=None)
    parts = TimelineView(old, ROW, Settings()).parts
    assert [part.what for part in parts] == ["bytes flow", "overhead, latency, or channel busy"]
    assert sum(part.end_s - part.begin_s for part in parts) == pytest.approx(
        timeline.end_s - timeline.start_s
    )


def test_a_file_that_only_names_its_machine_is_drawn_without_links(tmp_path: Path) -> None:
    write_timeline(played(), tmp_path / "x.json")
    record = read_record(tmp_path / "x.json")
    assert (record.machine, record.settings) == (None, None)
    assert TimelineView(record.timeline).usage is None


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("machine_spec", "mesh:3x3", "entry 'link_bytes': 36 values required on mesh:3x3, given 8"),
        ("source", [0, 1], "entry 'source': 3 values required, given 2"),
        ("rate_message", [0, 1, 7], "entry 'rate_message': 6 values required, given 3"),
        ("rate_message", [0, 1, 2, 0, 1, 7], r"rate_message\[5\] = 7: must be from 0 to 2"),
        ("changed", 1, "entry 'changed': must be text, is 1"),
        ("mean_latency_s", None, "entry 'mean_latency_s': must be a number, is null"),
        ("end_s", [0.0, float("nan"), 1.0], "entry 'end_s': finite numbers required"),
        ("held_by", 1e99, "a list of numbers required"),
        *(
            (name, [0.0], f"entry '{name}': 3 values required, given 1")
            for name in ("sent_s", "first_byte_s", "left_s")
        ),
        ("machine_spec", "mash:3", "mash"),
        ("settings", {"sync": "none", "in_flight": -1}, "in_flight = -1"),
        ("settings", {"speed": 1}, "speed"),
        ("phase_end_s", [0.1, 0.2], "entry 'phase_end_s': 1 values required, given 2"),
        ("in_busy_s", [0.1], "entry 'in_busy_s': 4 values required, given 1"),
        ("rate_Bps", [0.1], "entry 'rate_Bps': "),
        ("held_by", [0, 1, 99], r"held_by\[2\] = 99: must be from -1 to 23 on mesh"),
        ("link_offsets", [0, 1, 1, 1], "link_offsets: must rise from 0 to the 0 links"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(
    tmp_path: Path, name: str, value: Any, rule: str
) -> None:
    path = tmp_path / "x.json"
    write_timeline(played(), path, machine=ROW, settings=Settings())
    body = json.loads(path.read_text())
    path.write_text(json.dumps(body | {name: value}))
    with pytest.raises(InputError, match=rule) as error:
        read_record(path)
    assert str(error.value).startswith(str(path))


# ---- the commands


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    conset.write(conset.compile("alltoall", "mesh:2x2", method="first-fit"), tmp_path / "s.json")
    for name in ("t.json", "t.npz"):
        assert run(["simulate", "s.json", "--model", "wormhole", "-o", name]) == 0
    return tmp_path


@pytest.mark.parametrize("name", ["t.json", "t.npz"])
def test_show_knows_a_timeline_by_its_file(
    files: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    capsys.readouterr()
    assert run(["show", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kind"], found["model"]) == (
        "conset/show@1",
        "timeline",
        "wormhole",
    )
    assert found["gap"] == pytest.approx(found["time_s"] / found["bound"]["time_s"])
    assert found["gap"] >= 1
    assert len(found["over_time"]["edges_s"]) == len(found["over_time"]["mean"]) + 1
    assert found["over_time"]["exact"]
    assert run(["show", name]) == 0
    assert "rank 3" in capsys.readouterr().out


def test_simulate_and_show_draw_the_same_picture(files: Path) -> None:
    assert run(["simulate", "s.json", "--model", "wormhole", "-o", "direct.svg"]) == 0
    assert run(["show", "t.npz", "-o", "shown.svg"]) == 0
    assert run(["show", "s.json", "-o", "schedule.svg"]) == 0
    assert (files / "direct.svg").read_bytes() == (files / "shown.svg").read_bytes()
    assert (files / "direct.svg").read_bytes() != (files / "schedule.svg").read_bytes()


def test_a_file_of_another_schema_is_refused(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "x.json").write_text('{"schema":"conset/compare@1"}')
    capsys.readouterr()
    assert run(["show", "x.json"]) == 3
    rule = "x.json: schema must be conset/schedule@1 or conset/timeline@1, is 'conset/compare@1'"
    assert rule in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--phase", "0"], ["--partners"], ["--on", "mesh:2x2"], ["-o", "x.pdf"]]
)
def test_what_is_not_for_timelines_is_refused(files: Path, words: list[str]) -> None:
    assert run(["show", "t.json", *words]) == 2
