"""Connections in plan files: what Python writes, the core reads, rank by rank.

And parts that break a rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset import _core
from conset.execution.connection_entries import ConnectionEntries, connection_entries
from conset.execution.plan import write_plan_file
from conset.execution.planner import make_plan
from support.block_programs import program_of_blocks, split_schedule

ARRAYS = (
    "node",
    "repeat",
    "turns",
    "block_schedule",
    "schedule_phases",
    "phase_context",
    "offsets",
    "peer",
    "send",
    "id",
    "bytes",
    "order",
    "bandwidth",
    "latency",
)


def written(entries: ConnectionEntries, path: Path) -> str:
    write_plan_file(None, path, connections=entries)
    return str(path)


@pytest.mark.parametrize("what", [program_of_blocks(), split_schedule()], ids=["blocks", "split"])
def test_the_core_reads_what_was_written(what: Any, tmp_path: Path) -> None:
    entries = connection_entries(what)
    path = written(entries, tmp_path / "x.plan")
    for rank in range(entries.ranks):
        found, part = _core.read_connections(path, rank, entries.ranks), entries.of_rank(rank)
        assert (found.rank, found.ranks, found.names) == (rank, entries.ranks, list(entries.names))
        given = _core.RankConnections(**part)
        for name in ARRAYS:
            assert np.array_equal(getattr(found, name), part[name])
            assert np.array_equal(getattr(given, name), part[name])
        own = entries.phase[entries.offsets[rank] : entries.offsets[rank + 1]]
        assert np.array_equal(np.repeat(np.arange(entries.phases), np.diff(found.offsets)), own)


def test_both_ends_have_the_same_connections(tmp_path: Path) -> None:
    entries = connection_entries(program_of_blocks())
    path = written(entries, tmp_path / "x.plan")
    sent: dict[tuple[int, int, int], tuple[float, ...]] = {}
    received: dict[tuple[int, int, int], tuple[float, ...]] = {}
    for rank in range(8):
        part = _core.read_connections(path, rank, 8)
        for phase in range(entries.phases):
            for k in range(part.offsets[phase], part.offsets[phase + 1]):
                what = float(part.bytes[k]), float(part.bandwidth[k]), float(part.latency[k])
                peer = int(part.peer[k])
                if part.send[k]:
                    sent[phase, rank, peer] = what
                else:
                    received[phase, peer, rank] = what
    assert sent == received
    assert len(sent) == entries.send.sum()


def test_a_plan_has_both_parts(tmp_path: Path) -> None:
    program = program_of_blocks()
    entries = connection_entries(program)
    path = tmp_path / "x.plan"
    write_plan_file(make_plan(program), path, connections=entries)
    assert _core.read_plan_file(str(path), 3, 8).ranks == 8
    assert _core.read_connections(str(path), 3, 8).names == list(entries.names)
    written(entries, path)
    with pytest.raises(RuntimeError, match="'phases' is missing"):
        _core.read_plan_file(str(path), 3, 8)
    write_plan_file(make_plan(program), path)
    with pytest.raises(_core.ProgramFailure, match="has no connections") as caught:
        _core.read_connections(str(path), 3, 8)
    code, text = caught.value.args
    assert (code, text.startswith(f"{path}: ")) == (_core.Code.file, True)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("peer", 0, "connections_peer: to or from itself"),
        ("peer", 8, "connections_peer = 8: must be from 0 to 7"),
        ("send", 2, "connections_send = 2: must be from 0 to 1"),
        ("bytes", -1, "connections_bytes = -1: must be from 0 to"),
        ("order", 9, "connections_order = 9: must be from 0 to"),
        ("bandwidth", 0, "connections_bandwidth = 0.000000: must be above 0"),
        ("latency", np.nan, "connections_latency = nan: must be at least 0, and finite"),
        ("offsets", 1, "offsets of phases = 1: must be from 0 to 0"),
        ("repeat", 0, "block_repeat = 0: must be from 1 to"),
        ("turns", 2, "block_turns = 2: must be from 0 to 1"),
        ("block_schedule", 9, "block_schedule = 9: must be from 0 to 1"),
        ("schedule_phases", 1, "schedule_phases = 1: must be from 0 to 0"),
        ("phase_context", 99, "phase_context = 99: must be from 0 to"),
        ("node", -1, "node = -1: must be from 0 to"),
    ],
)
def test_arrays_that_break_a_rule(name: str, value: Any, line: str) -> None:
    part = connection_entries(program_of_blocks()).of_rank(0)
    part[name] = np.array(part[name])
    part[name][0] = value
    with pytest.raises(ValueError, match="rank 0: ") as caught:
        _core.RankConnections(**part)
    assert line in str(caught.value)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    path = Path(written(connection_entries(program_of_blocks()), tmp_path / "x.plan"))
    path.write_bytes(path.read_bytes().replace(b"halo\n", b"\xffalo\n"))
    assert _core.read_connections(str(path), 0, 8).names[0] == "\ufffdalo"


def test_other_numbers_of_ranks(tmp_path: Path) -> None:
    path = written(connection_entries(program_of_blocks()), tmp_path / "x.plan")
    with pytest.raises(_core.ProgramFailure, match="is a plan for 8 ranks, the communicator has 7"):
        _core.read_connections(path, 0, 7)
    with pytest.raises(ValueError, match="rank = 8: must be from 0 to 7"):
        _core.read_connections(path, 8, 8)
