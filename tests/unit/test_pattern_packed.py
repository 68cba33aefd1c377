"""Packed messages: put together from several pieces and taken apart.

In patterns, files and what is played.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.models import predict
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.timeline import read_record, write_timeline
from conset.models.workload import Workload
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import document_of, read_compiled, to_schedule, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.files.keys import json_schema
from conset.schedule.schedule import Schedule
from conset.verification import verify
from conset.verification.timeline.check import check_timeline

MACHINE = parse_machine("mesh:2x2,overhead=2us,copy=100MB/s")
SOURCE, TARGET, SIZE = [0, 0, 1, 3], [1, 2, 3, 0], [1000, 2000, 3000, 4000]


def pattern(packed: list[bool] | None, **more: Any) -> Pattern:
    return Pattern.from_messages(SOURCE, TARGET, SIZE, 4, packed=packed, **more)


def schedule(packed: list[bool] | None, **more: Any) -> Schedule:
    return Schedule(
        pattern(packed), MACHINE, "by hand", Limits(), np.array([0, 3, 4]), np.arange(4), **more
    )


def test_a_pattern_is_what_it_says_of_packed_messages() -> None:
    some = pattern([True, False, False, True])
    assert some.packed is not None
    assert some.packed.dtype == np.bool_
    assert some == pattern([True, False, False, True])
    assert hash(some) == hash(pattern([True, False, False, True]))
    assert some != pattern([True, False, True, True])
    assert some != pattern(None)
    assert pattern([False] * 4) == pattern(None)
    assert pattern([False] * 4).packed is None
    with pytest.raises(ValueError, match="read-only"):
        some.packed[0] = False


def test_messages_are_sorted_with_what_is_packed() -> None:
    back = Pattern.from_messages(
        SOURCE[::-1], TARGET[::-1], SIZE[::-1], 4, packed=[True, False, False, False]
    )
    assert back == pattern([False, False, False, True])


def test_a_sum_of_duplicates_is_packed_where_one_is() -> None:
    """Own messages and empty ones say nothing; what an order mentions stays apart."""
    ends = [0, 0, 0, 1, 1], [1, 1, 2, 0, 1]
    found = Pattern.from_messages(*ends, [8, 9, 10, 0, 7], packed=[False, True, False, True, True])
    assert found.size.tolist() == [17, 10]
    assert found.packed is not None
    assert found.packed.tolist() == [True, False]
    apart = Pattern.from_messages(
        [0, 0, 1], [1, 1, 0], [8, 9, 5], packed=[False, True, False], before=[[1, 2]]
    )
    assert apart.size.tolist() == [8, 9, 5]
    assert apart.packed is not None
    assert apart.packed.tolist() == [False, True, False]
    assert Pattern.from_messages([0], [0], [8], packed=[True]).packed is None


@pytest.mark.parametrize("packed", [[True], [True] * 5, [[True]] * 4])
def test_packed_of_another_shape_is_refused(packed: list[Any]) -> None:
    for make in (pattern, lambda packed: replace(pattern(None), packed=packed)):
        with pytest.raises(
            InputError, match=r"^packed has shape \(.*\): must be \(4,\), one for each message$"
        ):
            make(packed)


def test_packed_that_is_no_truth_is_refused() -> None:
    with pytest.raises(InputError, match=r"^packed: true or false required, given int64$"):
        pattern([0, 1, 2, 3])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"^packed: true or false required, given int64$"):
        Workload([0], [1], [8], 2, packed=np.array([1]))
    with pytest.raises(
        InputError, match=r"^packed has shape \(2,\): must be \(1,\) as source, or \(0,\)$"
    ):
        Workload([0], [1], [8], 2, packed=np.array([True, False]))


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("packed", [None, [True, False, False, True], [True] * 4])
def test_a_schedule_file_keeps_what_is_packed(
    tmp_path: Path, suffix: str, packed: list[bool] | None
) -> None:
    made = schedule(packed)
    made = replace(made, pattern=replace(made.pattern, ids=np.array([7, 2, 9, 0])))
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    write_compiled(made, paths[0])
    found = read_compiled(paths[0])
    assert found.pattern == made.pattern
    assert predict(found).time_s == predict(made).time_s
    write_compiled(found, paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert verify(read_document(paths[0])).ok
    if suffix == "json":
        stated = json.loads(paths[0].read_text())["pattern"]
        assert stated.get("packed") == (None if packed is None else np.flatnonzero(packed).tolist())
        assert ("packed" in stated) == (packed is not None)
        assert stated["ids"] == [7, 2, 9, 0]


def test_the_schema_has_it() -> None:
    table = json_schema("schedule")["$defs"]["PatternTable"]
    assert "packed" in table["properties"]
    assert "packed" not in table["required"]


def test_messages_of_a_file_stand_in_any_order() -> None:
    """By source 3, 1, 0, 0.

    The file's messages 0 and 3 are those of 3 → 0 and of the second from 0.
    """
    document = document_of(schedule([False, True, False, True]))
    order = np.array([3, 2, 0, 1])
    place = np.argsort(order)
    moved = replace(
        document,
        source=document.source[order],
        target=document.target[order],
        size=document.size[order],
        transfer_message=place[document.transfer_message],
        packed=np.array([0, 3]),
        ids=10 * order,
    )
    made = replace(pattern([False, True, False, True]), ids=10 * np.arange(4))
    assert to_schedule(moved).pattern == made


@pytest.mark.parametrize("index", [-1, 4, 2**40])
def test_a_packed_message_that_is_none_is_refused(index: int) -> None:
    document = replace(document_of(schedule([True] * 4)), packed=np.array([0, index]))
    with pytest.raises(InputError, match=rf"^packed\[1\] = {index}: must be from 0 to 3"):
        to_schedule(document)
    found = verify(document).violations
    assert [violation.text for violation in found] == [f"packed[1] = {index}: messages are 0 to 3"]


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_timeline_file_can_be_checked_alone(tmp_path: Path, suffix: str) -> None:
    work, settings = (
        Workload.of_schedule(schedule([True, False, False, True])),
        Settings(sync="barrier"),
    )
    timeline = simulate_flow(work, MACHINE, settings)
    write_timeline(timeline, tmp_path / f"a.{suffix}", machine=MACHINE, settings=settings)
    found = read_record(tmp_path / f"a.{suffix}")
    assert found.timeline.workload == work
    assert found.machine is not None
    assert check_timeline(found.timeline, work, found.machine, found.settings) == ()
    plain = replace(work, packed=np.zeros(0, bool))
    assert check_timeline(simulate_flow(plain, MACHINE, settings), work, MACHINE, settings) != ()


def test_parts_are_packed_as_their_messages() -> None:
    """Bytes are copied once, in however many parts."""
    whole = schedule([True, False, False, False], sync="none")
    parts = replace(
        whole,
        message=np.array([0, 0, 1, 2, 3]),
        parts=np.array([400, 600, 2000, 3000, 4000]),
        phase_offsets=np.array([0, 2, 5]),
    )
    assert parts.packed is not None
    assert parts.packed.tolist() == [True, True, False, False, False]
    assert Workload.of_schedule(parts).packed.tolist() == parts.packed.tolist()
    costs = MACHINE.costs
    assert costs.copies(parts.size, parts.packed).sum() == pytest.approx(
        costs.copies(whole.size, whole.packed).sum()
    )


def test_a_cycle_is_named_however_many_pairs_there_are() -> None:
    """100,000 messages in a chain, and one pair back near its end."""
    count = 100_000
    chain = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    ends = np.arange(count) % 2
    made = Pattern.from_messages(np.zeros(count, int), ends + 1, np.ones(count, int), before=chain)
    assert made.before is not None
    assert len(made.before) == count - 1
    shuffled = np.random.default_rng(0).permutation(np.concatenate([chain, chain]))
    assert (
        Pattern.from_messages(np.zeros(count, int), ends + 1, np.ones(count, int), before=shuffled)
        == made
    )
    back = np.concatenate([chain, [[count - 2, count - 5]]])
    with pytest.raises(
        InputError, match=r"^before: the order is cyclic: message \d+( before \d+){4}$"
    ):
        Pattern.from_messages(np.zeros(count, int), ends + 1, np.ones(count, int), before=back)
