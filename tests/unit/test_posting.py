"""The posting order of every rank and its sends in flight, as a schedule says them and a file
keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.machine.costs import Limits
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.naive import schedule_naive
from conset.methods.phases.problem import Problem, SearchOptions
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import document_of, read_compiled, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.loads import order_messages
from conset.schedule.policy import ORDERS, POSTINGS
from conset.schedule.schedule import Schedule
from conset.verification import verify
from support.hand_made import machine_on

MESH = machine_on(Topology.mesh(2, 3), "mesh:2x3")
PATTERN = Pattern.from_messages(
    [3, 3, 3, 3, 1, 1, 1], [0, 1, 4, 5, 0, 2, 5], [7, 9, 7, 1, 4, 4, 4], 6
)


def posted(pattern: Pattern, order: str, seed: int = 0, **where: Any) -> dict[int, list[int]]:
    """The targets of each rank in posting order."""
    message = order_messages(pattern, order, seed, **where)
    assert sorted(message.tolist()) == list(range(pattern.messages))
    assert message.dtype == np.int32
    source = pattern.source[message]
    assert order in ("pairwise", "dimension") or (np.diff(source) >= 0).all()
    return {rank: pattern.target[message][source == rank].tolist() for rank in range(pattern.ranks)}


def naive(order: str, **changes: Any) -> Schedule:
    message = order_messages(PATTERN, order, 5, topology=MESH.topology)
    return Schedule(
        PATTERN,
        MESH,
        "naive",
        Limits(),
        [0, 7],
        message,
        sync="none",
        posting=order,
        **changes,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("order", "three", "one"),
    [
        ("schedule", [0, 1, 4, 5], [0, 2, 5]),
        ("ascending", [0, 1, 4, 5], [0, 2, 5]),
        ("rotated", [4, 5, 0, 1], [2, 5, 0]),
        ("longest-first", [1, 4, 0, 5], [2, 5, 0]),
        (
            "pairwise",
            [1, 0, 5, 4],
            [0, 2, 5],
        ),  # 3 xor 1, 0, 5, 4 = 2, 3, 6, 7; 1 xor 0, 2, 5 = 1, 3, 4
    ],
)
def test_orders(order: str, three: list[int], one: list[int]) -> None:
    found = posted(PATTERN, order)
    assert (found[3], found[1]) == (three, one)


def test_ascending_is_by_target_whatever_the_index() -> None:
    pattern = Pattern(3, [0, 2, 2, 2], [2, 1], [5, 5])  # type: ignore[arg-type]
    assert posted(pattern, "ascending")[0] == [1, 2]
    assert posted(pattern, "schedule")[0] == [2, 1]


def test_random_is_the_same_for_the_same_seed() -> None:
    pattern = Pattern.from_messages([0] * 8, range(1, 9), [1] * 8, 9)
    orders = [posted(pattern, "random", seed)[0] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_dimension_posts_neighbours_up_and_down_one_dimension_after_the_other() -> None:
    torus = Topology.torus(4, 4)
    around = [5 + 4, 5 - 4, 5 + 1, 5 - 1, 5 + 2, 10]
    pattern = Pattern.from_messages([5] * 6, around, [1] * 6, 16)
    assert posted(pattern, "dimension", topology=torus)[5] == [
        6,
        7,
        4,
        9,
        10,
        1,
    ]  # +x, 2x, -x, then one up in y
    swapped = np.arange(16, dtype=np.int32)
    swapped[[6, 9]] = swapped[[9, 6]]
    assert posted(pattern, "dimension", topology=torus, placement=swapped)[5] == [9, 7, 4, 6, 10, 1]
    with pytest.raises(
        InputError,
        match="posting dimension: requires a mesh, torus, ring or hypercube, given crossbar",
    ):
        order_messages(pattern, "dimension", topology=Topology.crossbar(16))


def test_dimension_is_verified_by_coordinates() -> None:
    schedule = conset.compile(
        "random:degree=5", "torus:3x4", posting="dimension", placement="random", seed=3
    )
    assert (schedule.method, schedule.posting) == ("naive", "dimension")
    assert verify(schedule).ok
    assert {v.rule for v in verify(replace(schedule, posting="rotated")).violations} == {"posting"}
    other = replace(naive("rotated"), posting="dimension")
    assert {v.rule for v in verify(other).violations} == {"posting"}


@pytest.mark.parametrize("posting", ["dimension", "pairwise"])
def test_lists_that_are_asked_for_keep_an_order_of_messages(posting: str) -> None:
    step = np.arange(16) ^ 1
    later = (np.arange(16) + 4) % 16
    source, target = np.tile(np.arange(16), 2), np.concatenate([step, later])
    before = np.stack([step, np.arange(16, 32)], axis=1)
    pattern = Pattern.from_messages(source, target, [64] * 32, 16, before=before)
    problem = Problem(
        pattern,
        machine_on(Topology.torus(4, 4), "torus:4x4"),
        Limits(),
        search=SearchOptions(posting=posting),
    )
    place = np.argsort(schedule_naive(problem).message)
    assert pattern.before is not None
    assert (place[pattern.before[:, 0]] < place[pattern.before[:, 1]]).all()


def test_another_order_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown posting 'rotate': did you mean 'rotated'"):
        order_messages(PATTERN, "rotate")


@pytest.mark.parametrize("order", POSTINGS)
def test_naive_posts_as_it_is_asked(order: str) -> None:
    problem = Problem(PATTERN, MESH, Limits(), search=SearchOptions(seed=5, posting=order))
    phases = schedule_naive(problem)
    assert phases.offsets.tolist() == [0, 7]
    assert (
        phases.message.tolist()
        == order_messages(PATTERN, order, 5, topology=MESH.topology).tolist()
    )


def test_simulate_keeps_in_flight_what_the_schedule_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"

    def simulated(in_flight: Any, machine: str, *words: str) -> tuple[Any, float]:
        schedule = replace(naive("rotated"), machine=parse_machine(machine), in_flight=in_flight)
        write_compiled(schedule, path)
        assert run(["simulate", str(path), "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)
        by_api = conset.simulate(schedule, **({"in_flight": words[1]} if words else {}))
        assert by_api.time_s == found["time_s"]
        return found["in_flight"], found["time_s"]

    limited = "mesh:2x3,in_flight=2"
    assert simulated(None, "mesh:2x3")[0] == "all"
    assert simulated(None, limited)[0] == 2
    assert simulated("all", limited)[0] == "all"
    one, one_s = simulated(1, limited)
    assert one == 1
    assert simulated(1, limited, "--in-flight", "3")[0] == 3
    everything, everything_s = simulated(1, limited, "--in-flight", "all")
    assert everything == "all"
    assert everything_s < one_s


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ({}, set()),
        ({"in_flight": 3}, {"in_flight"}),
        ({"in_flight": "all"}, {"in_flight"}),
        ({"in_flight": 1, "posting": "random"}, {"in_flight", "posting"}),
    ],
)
def test_a_file_says_what_was_said(
    tmp_path: Path, suffix: str, words: dict[str, Any], keys: set[str]
) -> None:
    path = tmp_path / f"s.{suffix}"
    schedule = replace(naive("schedule"), **words)
    write_compiled(schedule, path)
    if suffix == "json":
        assert {"in_flight", "posting"} & set(json.loads(path.read_text())) == keys
    else:
        assert {"in_flight", "posting"} & set(json.loads(str(np.load(path)["header"]))) == keys
    found = read_compiled(path)
    assert (found.in_flight, found.posting) == (schedule.in_flight, schedule.posting)
    assert verify(read_document(path)).ok


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("in_flight", 0, "in_flight = 0: must be a whole number from 1 to 999999999, or 'all'"),
        ("in_flight", True, "in_flight = True: must be"),
        ("in_flight", None, "in_flight = None: must be"),
        ("in_flight", 1.5, "in_flight = 1.5: must be"),
        ("in_flight", "any", "in_flight = 'any': must be"),
        ("in_flight", 1 << 40, "in_flight = 1099511627776: must be"),
        ("posting", "rotate", "unknown posting 'rotate': did you mean 'rotated'?"),
        ("posting", None, "unknown posting 'None'"),
        ("posting", ["ascending"], "unknown posting"),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_unknown_values_in_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
    key: str,
    value: Any,
    words: str,
) -> None:
    path = tmp_path / f"s.{suffix}"
    write_compiled(naive("schedule"), path)
    if suffix == "json":
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    else:
        entries = dict(np.load(path))
        entries["header"] = np.array(json.dumps(json.loads(str(entries["header"])) | {key: value}))
        np.savez(path, **entries)
    assert run(["verify", str(path)]) == 3
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [{"in_flight": 0}, {"in_flight": "3"}, {"posting": "any"}])
def test_a_schedule_refuses_them_too(words: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"in_flight = |unknown posting 'any'"):
        replace(naive("schedule"), **words)


@pytest.mark.parametrize("order", ORDERS)
def test_the_verifier_agrees_with_every_order(order: str) -> None:
    assert verify(naive(order)).ok


@pytest.mark.parametrize("claimed", ["ascending", "rotated", "longest-first"])
@pytest.mark.parametrize("made", POSTINGS)
def test_the_verifier_sees_a_list_in_another_order(claimed: str, made: str) -> None:
    schedule = replace(
        naive("schedule"),
        message=order_messages(PATTERN, made, 5, topology=MESH.topology),
        posting=claimed,
    )
    real, said = (posted(PATTERN, order, 5, topology=MESH.topology) for order in (made, claimed))
    found = verify(schedule)
    assert found.ok == (real == said)
    assert {violation.rule for violation in found.violations} <= {"posting"}


def test_a_violation_names_both_transfers() -> None:
    found = verify(replace(naive("ascending"), posting="rotated"))
    place = [(v.phase, v.transfer, v.rule) for v in found.violations]
    assert place == [(0, 1, "posting"), (0, 5, "posting")]
    assert found.violations[0].text == (
        "phase 0 transfer 1: posting rotated has 1 → 2, 4 B before 1 → 0, 4 B (transfer 0)"
    )


def test_ranks_may_stand_mixed_and_phases_begin_anew() -> None:
    order = [3, 0, 4, 1, 5, 2, 6]  # rank 1's and rank 3's messages in turn
    mixed = replace(naive("schedule"), message=order, posting="ascending")  # type: ignore[arg-type]
    assert verify(mixed).ok
    message = [4, 6, 0, 3, 5, 1, 2]
    offsets = [0, 3, 7]
    cut = replace(naive("ascending"), phase_offsets=offsets, message=message)  # type: ignore[arg-type]
    assert verify(cut).ok


def test_what_memory_says_is_checked_too() -> None:
    given = document_of(naive("schedule"))
    found = verify(replace(given, in_flight=0, posting="none"))
    assert [violation.rule for violation in found.violations] == ["in-flight", "posting"]
