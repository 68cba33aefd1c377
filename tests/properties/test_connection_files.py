"""Connections in plan files.

Whatever an entry holds, every rank's part is sound or refused in one line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset import _core
from conset.base.errors import InputError
from conset.base.flat import PLAN_FILE, read_flat, write_flat
from conset.execution.connection_entries import ConnectionEntries, connection_entries
from conset.execution.open_program import read_part
from conset.execution.plan import write_plan_file
from support.block_programs import program_of_blocks, split_schedule
from support.malformed import spoiled

SPOILED = 400


def check_part(part: _core.RankConnections, rank: int, ranks: int) -> None:
    """What the core relies on, looked at once more."""
    phases = part.phase_context.size
    assert (part.rank, part.ranks, part.node.size) == (rank, ranks, ranks)
    assert len(part.names) == part.repeat.size == part.turns.size == part.block_schedule.size >= 1
    assert (part.repeat >= 1).all()
    assert set(part.turns.tolist()) <= {0, 1}
    assert (
        (part.block_schedule >= 0) & (part.block_schedule < part.schedule_phases.size - 1)
    ).all()
    assert (part.schedule_phases[0], part.schedule_phases[-1]) == (0, phases)
    assert (np.diff(part.schedule_phases) >= 0).all()
    assert ((part.phase_context >= 0) & (part.phase_context < phases)).all()
    assert (part.offsets[0], part.offsets[-1], part.offsets.size) == (0, part.peer.size, phases + 1)
    for begin, end in zip(part.offsets[:-1].tolist(), part.offsets[1:].tolist(), strict=True):
        columns = part.send, part.peer, part.id
        keys = list(zip(*(each[begin:end].tolist() for each in columns), strict=True))
        assert keys == sorted(set(keys))
        assert all(
            send in (0, 1) and 0 <= peer < ranks and peer != rank and id >= 0
            for send, peer, id in keys
        )
        assert sorted(part.order[begin:end].tolist()) == list(range(end - begin))
    assert sum(part.bytes.tolist()) < 2**63
    assert (part.bytes >= 0).all()
    assert (part.bandwidth > 0).all()
    assert ((part.latency >= 0) & np.isfinite(part.latency)).all()


def part_or_refusal(path: Path, rank: int, ranks: int) -> _core.RankConnections | str:
    """A rank's part, or why it is refused."""
    try:
        return read_part(path, rank, ranks)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("what", [program_of_blocks(), split_schedule()], ids=["blocks", "split"])
def test_spoiled_entries(what: Any, tmp_path: Path) -> None:
    entries: ConnectionEntries = connection_entries(what)
    path = tmp_path / "x.plan"
    write_plan_file(None, path, connections=entries)
    sound = dict(read_flat(path, PLAN_FILE))
    names = [
        name for name, value in sound.items() if isinstance(value, np.ndarray) and name != "ranks"
    ]
    rng = np.random.default_rng(3)
    read = refused = 0
    for _ in range(SPOILED):
        name = str(rng.choice(names))
        changed = np.atleast_1d(spoiled(sound[name], rng)).ravel()  # type: ignore[arg-type]
        write_flat(path, PLAN_FILE, sound | {name: changed})
        for rank in range(entries.ranks):
            part = part_or_refusal(path, rank, entries.ranks)
            if isinstance(part, str):
                assert part.startswith(f"{path}: ")
                assert "\n" not in part
                refused += 1
            else:
                check_part(part, rank, entries.ranks)
                read += 1
    assert min(read, refused) > SPOILED // 4
