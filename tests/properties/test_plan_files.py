"""Plan files, property.

The core reads of every rank what Python hands over, and refuses what an executor relies on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings as examples, strategies as st

import conset
from conset import _core
from conset.base.errors import InputError
from conset.base.flat import PLAN_FILE, read_flat, write_flat
from conset.execution.check import check_plan
from conset.execution.plan import Plan, RankPlan, read_plan_file, write_plan_file
from conset.execution.planner import make_plan
from support.hand_made_orders import ordered_schedule
from support.hand_made_programs import forwarding, random_paths, random_pattern

POLICIES = ["none", "local", "ready", "barrier", "barrier:3", "detect"]
FILES = examples(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def same_parts(plan: Plan, path: Path) -> None:
    """The core reads what Python hands over, rank by rank, and the sizes of buffers."""
    write_plan_file(plan, path)
    for rank in range(plan.ranks):
        found = _core.read_plan_file(str(path), rank, plan.ranks)
        assert found.has_plan(RankPlan(plan, rank).to_core())
        assert (found.send_bytes, found.receive_bytes) == (
            plan.send_bytes[rank],
            plan.receive_bytes[rank],
        )
        assert found.item_bytes == 0
    read = read_plan_file(path)
    check_plan(read)  # its transfers have the same number at both ends
    for rank in range(plan.ranks):
        assert _core.read_plan_file(str(path), rank, plan.ranks).has_plan(
            RankPlan(read, rank).to_core()
        )
    first = path.read_bytes()
    write_plan_file(read, path)
    assert path.read_bytes() == first


@examples(FILES, max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1),
    sync=st.sampled_from(POLICIES),
    flight=st.sampled_from([None, 2]),
    method=st.sampled_from(["first-fit", "coloring", "naive"]),
)
def test_schedules(tmp_path: Path, seed: int, sync: str, flight: int | None, method: str) -> None:
    rng = np.random.default_rng(seed)
    ranks = int(rng.integers(2, 9))
    schedule = conset.compile(
        random_pattern(ranks, rng, largest=40), f"crossbar:{ranks}", method=method
    )
    same_parts(make_plan(schedule, sync, in_flight=flight), tmp_path / "x.plan")


@examples(FILES, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), sync=st.sampled_from(POLICIES), phases=st.integers(1, 3))
def test_schedules_with_an_order(tmp_path: Path, seed: int, sync: str, phases: int) -> None:
    schedule = ordered_schedule(seed, phases)
    same_parts(make_plan(schedule, sync), tmp_path / "x.plan")


@examples(FILES, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), sync=st.sampled_from(POLICIES), split=st.booleans())
def test_programs(tmp_path: Path, seed: int, sync: str, split: bool) -> None:
    rng = np.random.default_rng(seed)
    pattern = random_pattern(int(rng.integers(2, 8)), rng, largest=40)
    paths = random_paths(pattern, int(rng.integers(1, 5)), rng, cut=split)
    same_parts(make_plan(forwarding(paths, rng, split=split), sync), tmp_path / "x.plan")


def program_file(path: Path) -> dict[str, Any]:
    """The entries of a plan with packs, unpacks and needs."""
    rng = np.random.default_rng(5)
    plan = make_plan(forwarding(random_paths(random_pattern(7, rng), 3, rng), rng), "barrier:2")
    assert all(part is not None for part in (plan.packs, plan.unpacks, plan.needs))
    write_plan_file(plan, path)
    return dict(read_flat(path, PLAN_FILE))


def order_file(path: Path) -> dict[str, Any]:
    """The entries of a plan whose sends wait for signals; of 7 ranks, too."""
    plan = make_plan(ordered_schedule(5, 2), "none")
    assert plan.signals is not None
    write_plan_file(plan, path)
    return dict(read_flat(path, PLAN_FILE))


def refused(entries: dict[str, Any], path: Path) -> list[str]:
    """What each rank says of a file, nothing where it takes it."""
    write_flat(path, PLAN_FILE, entries)
    lines = [line for rank in range(7) if (line := refusal(path, rank)) is not None]
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in lines)
    return lines


def refusal(path: Path, rank: int) -> str | None:
    """What the core says of a file, None where it takes it."""
    try:
        _core.read_plan_file(str(path), rank, 7)
    except RuntimeError as error:
        return str(error)
    return None


def test_another_plan_is_another(tmp_path: Path) -> None:
    """The comparison of the properties above sees a byte, a policy and a phase."""
    one, *others = (
        make_plan(conset.compile(spec, "crossbar:4", method=method), sync)
        for spec, method, sync in (
            ("alltoall:size=8", "coloring", "local"),
            ("alltoall:size=9", "coloring", "local"),
            ("alltoall:size=8", "coloring", "ready"),
            ("alltoall:size=8", "naive", "local"),
        )
    )
    write_plan_file(one, tmp_path / "x.plan")
    found = _core.read_plan_file(str(tmp_path / "x.plan"), 0, 4)
    assert found.has_plan(RankPlan(one, 0).to_core())
    assert not any(found.has_plan(RankPlan(other, 0).to_core()) for other in [*others])
    assert not found.has_plan(RankPlan(one, 1).to_core())


@pytest.mark.parametrize("name", ["phases", "sync", "send_bytes", "sends_peer", "receives_offsets"])
def test_python_refuses_a_file_that_lacks_something(tmp_path: Path, name: str) -> None:
    entries = program_file(tmp_path / "x.plan")
    del entries[name]
    write_flat(tmp_path / "x.plan", PLAN_FILE, entries)
    with pytest.raises(InputError, match="no plan, or a broken one"):
        read_plan_file(tmp_path / "x.plan")


FIELDS = [
    *(
        f"{side}_{name}"
        for side in ("sends", "receives")
        for name in ("phase", "peer", "offset", "bytes", "offsets")
    ),
    *(
        f"{side}_{name}"
        for side in ("packs", "unpacks")
        for name in ("offsets", "source", "target", "bytes")
    ),
    "needs_offsets",
    "needs_operation",
    "signals_offsets",
    "signals_operation",
    "work_bytes",
]


@pytest.mark.parametrize("name", FIELDS)
def test_what_would_go_out_of_bounds_is_refused(tmp_path: Path, name: str) -> None:
    entries = (order_file if name.startswith("signals") else program_file)(tmp_path / "x.plan")
    assert refused(entries, tmp_path / "x.plan") == []
    for value in (-1, 2**31 - 1, -(2**31)):
        values = entries[name].copy()
        values[values.size // 2] = value
        lines = refused(entries | {name: values}, tmp_path / "x.plan")
        assert lines, (name, value)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"ranks": 8}, "is a plan for 8 ranks, the communicator has 7"),
        ({"sync": "barrier:0"}, "sync must be none, local, ready, detect, barrier or barrier:K"),
        ({"sync": "later"}, "sync must be none, local, ready, detect, barrier or barrier:K"),
        ({"sync": "barrier:2x"}, "sync must be none, local, ready, detect, barrier or barrier:K"),
        ({"phases": 2**40}, "phases = 1099511627776: must be from 0 to 2147483647"),
        ({"phases": 5000}, "'phase_transfers': 5000 entries required"),
        ({"work_bytes": np.full(7, 2**40)}, "work_bytes = 1099511627776: must be from 0 to "),
        ({"in_flight": -1}, "in_flight = -1: must be from 0"),
        ({"send_bytes": np.zeros(6, np.int64)}, "'send_bytes': 7 entries required, it has 6"),
        ({"sends_peer": np.zeros(1, np.int32)}, "'sends_peer': entries"),
        ({"sends_peer": np.zeros(1, np.int64)}, "'sends_peer' must be i4, is i8"),
        ({"item_bytes": 8, "item_type": "float16", "add": 0}, "item_type must be bytes, int32"),
        (
            {"item_bytes": 9, "item_type": "float64", "add": 0},
            "item_bytes = 9: must be whole numbers of float64",
        ),
        (
            {"item_bytes": 8, "item_type": "bytes", "add": 1},
            "item_type is bytes, which cannot be added",
        ),
    ],
)
def test_one_line(tmp_path: Path, changed: dict[str, Any], line: str) -> None:
    lines = refused(program_file(tmp_path / "x.plan") | changed, tmp_path / "x.plan")
    assert [line in each for each in lines[:1]] == [True]


def test_a_rank_does_not_send_to_itself(tmp_path: Path) -> None:
    entries = program_file(tmp_path / "x.plan")
    rank = np.repeat(np.arange(7), np.diff(entries["sends_offsets"])).astype(np.int32)
    assert "to or from itself" in refused(entries | {"sends_peer": rank}, tmp_path / "x.plan")[0]


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    """Bytes changed anywhere: no rank trips.

    Where all take it, every number is within what the file says.
    """
    path = tmp_path / "x.plan"
    program_file(path)
    sound = path.read_bytes()
    rng, taken = np.random.default_rng(11), 0
    for _ in range(150):
        content = bytearray(sound)
        for at in rng.integers(len(content), size=rng.integers(1, 4)):
            content[at] = rng.choice([0, 0xFF, 0x7F, 0x80, int(rng.integers(256)), ord("9")])
        path.write_bytes(content if rng.integers(8) else content[: rng.integers(len(content))])
        lines = [refusal(path, rank) for rank in range(7)]
        assert all(line is None or line.startswith(f"{path}: ") for line in lines)
        taken += lines.count(None)
    assert 0 < taken < 150 * 7
