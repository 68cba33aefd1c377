"""Pictures: same input, same bytes; they say what they show.

Tiny, large and empty cases are drawn.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'conset[draw]'")

from conset.base.errors import UsageError
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.report.comparison import picture_compare
from conset.report.machine import picture_machine
from conset.report.pattern import picture_pattern
from conset.report.schedule import picture_phase, picture_schedule
from conset.report.style import save
from conset.schedule.schedule import Schedule
from support.vector_pictures import drawn, texts

BOUND = {"phases": 3, "phases_witness": "rank 0 sends 3 messages", "time_s": 1e-5}


def exchange(ranks: int, machine: str, method: str = "shift", sizes: Any = 1024) -> Schedule:
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    size = np.broadcast_to(sizes, ranks * ranks)
    pattern = Pattern.from_messages(source, target, size, ranks, name="alltoall")
    order = np.argsort((pattern.target - pattern.source) % ranks, kind="stable").astype(np.int32)
    offsets = np.arange(ranks) * ranks if method != "naive" else np.array([0, ranks * (ranks - 1)])
    return Schedule(
        pattern, parse_machine(machine), method, Limits(send=1, receive=1), offsets, order
    )


def test_a_schedule_says_method_machine_phases_and_bound() -> None:
    words = drawn(lambda: picture_schedule(exchange(4, "mesh:2x2"), {"bound": BOUND}))
    assert "shift on mesh:2x2: 3 phases (bound 3)" in words
    assert "alltoall: 12 messages, 12 KiB · bound: rank 0 sends 3 messages" in words
    assert "bound 3 phases" in words
    assert "target rank" in words
    # XY routes of the shift by two cross each of the 8 links once, by one and three twice at most
    # over all phases
    assert any(word.startswith("bound 1 (") for word in words)


@pytest.mark.parametrize(
    ("ranks", "machine", "method"),
    [
        (2, "mesh:2", "shift"),
        (16, "crossbar:16", "naive"),
        (64, "hypercube:6", "shift"),
        (256, "mesh:16x16", "shift"),
    ],
)
def test_schedules_of_every_size_are_drawn(
    tmp_path: Path, ranks: int, machine: str, method: str
) -> None:
    schedule = exchange(ranks, machine, method)
    count = "1 phase" if schedule.phases == 1 else f"{ranks - 1} phases"
    save(lambda: picture_schedule(schedule), tmp_path / "s.svg")
    assert f"{method} on {machine}: {count}" in texts(tmp_path / "s.svg")


def test_sizes_over_decades_have_a_logarithmic_axis() -> None:
    # phase k carries messages of 4^(k + 1) bytes
    source, target = np.divmod(np.arange(64), 8)
    sizes = 4 ** ((target - source) % 8)
    words = drawn(lambda: picture_schedule(exchange(8, "ring:8", sizes=sizes)))
    assert {"4 B", "64 B", "1 KiB", "16 KiB"} <= set(words)


def test_two_thousand_phases_stay_a_small_file(tmp_path: Path) -> None:
    pattern = exchange(46, "crossbar:46").pattern
    order = np.arange(pattern.messages, dtype=np.int32)
    one_each = np.arange(pattern.messages + 1)
    schedule = Schedule(pattern, parse_machine("crossbar:46"), "single", Limits(), one_each, order)
    assert schedule.phases > 2000
    save(lambda: picture_schedule(schedule), tmp_path / "s.svg")
    assert (tmp_path / "s.svg").stat().st_size < 400_000


def test_an_empty_pattern_and_its_schedule_are_drawn() -> None:
    pattern = Pattern.from_messages([], [], [], 4)
    schedule = Schedule(
        pattern, parse_machine("mesh:2x2"), "naive", Limits(), np.array([0]), np.zeros(0, np.int32)
    )
    drawn(lambda: picture_pattern(pattern))
    assert any("0 phases" in word for word in drawn(lambda: picture_schedule(schedule)))


def test_a_pattern_shows_sizes_and_degrees() -> None:
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 3], [64, 4096, 65536], 8, name="three")
    words = drawn(lambda: picture_pattern(pattern))
    assert {
        "three",
        "bytes from rank to rank",
        "messages per rank",
        "sent",
        "received",
        "4 KiB",
    } <= set(words)


def test_more_ranks_than_cells_are_shown_by_blocks() -> None:
    pattern = Pattern.from_messages([0, 999], [999, 0], [8, 8], 1000)
    assert "target rank (a cell is 4 × 4 ranks)" in drawn(lambda: picture_pattern(pattern))


@pytest.mark.parametrize(
    "spec",
    [
        "mesh:2x2",
        "mesh:7",
        "torus:4x6",
        "torus:4x4x4",
        "mesh:3x3x3x3",
        "ring:9",
        "hypercube:6",
        "crossbar:9",
        "paragon:8x8",
    ],
)
def test_machines_are_drawn_with_their_nodes(spec: str) -> None:
    machine = parse_machine(spec)
    words = drawn(lambda: picture_machine(machine))
    assert spec in words
    assert {str(machine.topology.nodes - 1), "routing"} <= set(words)


def test_a_preset_shows_how_sure_its_numbers_are() -> None:
    words = drawn(lambda: picture_machine(parse_machine("paragon:8x8")))
    assert {"printed", "fitted", "not checked"} <= set(words)


def test_a_phase_shows_its_transfers() -> None:
    words = drawn(lambda: picture_phase(exchange(4, "mesh:2x2"), 0))
    assert {"0 → 1", "3 → 0", "shift on mesh:2x2: phase 0 of 3"} <= set(words)


def test_shared_links_bring_a_scale_of_loads_and_a_count_of_what_is_cut() -> None:
    words = drawn(lambda: picture_phase(exchange(16, "mesh:4x4", "naive"), 0))
    assert "messages on a link" in words
    assert any(re.fullmatch(r"… \d+ more", word) for word in words)
    # one message in each column's four rows crosses to each node beyond: 4 sources x 4 targets over
    # a middle link
    assert any("largest load on a link 16" in word for word in words)


def test_a_comparison_writes_times_and_phases() -> None:
    row: dict[str, Any] = {
        "method": "lp",
        "sync": "local",
        "phases": 3,
        "bound": BOUND,
        "predicted_s": 2e-5,
    }
    other = {
        **row,
        "method": "naive",
        "phases": 4,
        "terms": {"transfer": 1e-5, "setup": 0, "synchronization": 1e-5},
    }
    words = drawn(lambda: picture_compare([row, other], title="a on b"))
    assert {
        "a on b",
        "lp, local",
        "naive, local",
        "20 us",
        "3 (bound 3)",
        "4 (bound 3)",
        "time [us]",
        "synchronization",
    } <= set(words)


def test_png_has_no_date_and_is_the_same_twice(tmp_path: Path) -> None:
    machine: Machine = parse_machine("mesh:2x2")
    for name in ("a.png", "b.png"):
        save(lambda: picture_machine(machine), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert b"tEXt" not in (tmp_path / "a.png").read_bytes()


def test_another_suffix_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a picture ends in .svg or .png, given '.pdf'"):
        save(lambda: picture_machine(parse_machine("mesh:2x2")), tmp_path / "x.pdf")
    assert not list(tmp_path.iterdir())
