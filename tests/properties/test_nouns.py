"""Nouns are values: equal where they say the same, unequal by one element, read-only, equal
after pickle and copy."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import coo_array

import conset
from conset.base.arrays import ValueObject, same_value
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.graph_files import read_edge_list
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.methods.phases.problem import Problem
from conset.methods.phases.table import find_method
from conset.models import Workload
from conset.pattern.pattern import Pattern


def _graph() -> Topology:
    return Topology.of_graph(
        read_edge_list("a b width=2 rate=1GB/s\nb c rate=2GB/s\nc a rate=3GB/s\n"), 1e9
    )


def _schedule(method: str = "connections", **options: Any) -> conset.Schedule:
    return conset.compile(
        "random:degree=3,size=log-uniform(1,4KiB)", "iwarp:4x4", method=method, **options
    )


def _phases() -> ValueObject:
    machine = conset.load_machine("iwarp:4x4")
    pattern = conset.load_pattern("random:degree=3", machine)
    return find_method("connections").schedule(Problem(pattern, machine, Limits(channels=12)))


def _broken() -> conset.Verification:
    schedule = conset.compile("alltoall", "mesh:4x4", method="first-fit")
    return conset.verify(replace(schedule, phase_offsets=np.array([0, schedule.transfers])))


MAKERS: dict[str, Callable[[], Any]] = {
    "pattern": lambda: Pattern.from_messages([0, 1, 2, 5], [3, 4, 5, 5], [8, 9, 10, 11]),
    "ordered pattern": lambda: Pattern.from_messages(
        [0, 3, 3], [3, 4, 5], [8, 9, 10], before=[[0, 1], [0, 2]]
    ),
    "packed pattern": lambda: Pattern.from_messages(
        [0, 3, 3], [3, 4, 5], [8, 9, 10], packed=[True, False, True]
    ),
    "equal pattern": lambda: conset.load_pattern("alltoall", "crossbar:40"),
    "mesh": lambda: Topology.mesh(4, 3, width=2),
    "graph": _graph,
    "routing": lambda: Routing("dimension-order", "plus"),
    "routing table": lambda: Routing(
        "table", "parity", np.array([0, 0, 1, 2, 2]), np.array([0, 1])
    ),
    "machine": lambda: conset.load_machine("mesh:4x4,link=1GB/s,overhead=2us"),
    "preset": lambda: conset.load_machine("iwarp:8x8"),
    "preset with modes": lambda: conset.load_machine("paragon:4x4"),
    "limits": lambda: Limits(send=1, link=2),
    "costs": lambda: conset.load_machine("delta:4x4").costs,
    "connections": _schedule,
    "timetable": lambda: _schedule("first-fit", timetable="event-list", placement="random"),
    "split": lambda: _schedule("birkhoff"),
    "phases": _phases,
    "workload": lambda: Workload.of_schedule(_schedule(placement="random")),
    "timeline": lambda: conset.simulate(_schedule(), record=True),
    "flit timeline": lambda: conset.simulate(
        conset.compile("shift", "mesh:4x4", method="naive"), model="flit"
    ),
    "timing": lambda: conset.predict(_schedule(), by="wormhole"),
    "bounds": lambda: conset.bound(_schedule()),
    "verification": _broken,
    "plan": lambda: conset.plan(_schedule("birkhoff")),
}
"""Every public noun, some of them with their optional fields."""
KINDS = pytest.mark.parametrize("kind", MAKERS)


@cache
def made(kind: str) -> Any:
    return MAKERS[kind]()


def copies(noun: Any) -> Iterator[Any]:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(noun, protocol))
    yield copy.copy(noun)
    yield copy.deepcopy(noun)
    yield copy.deepcopy(pickle.loads(pickle.dumps(noun)))


def arrays_of(noun: Any) -> Iterator[np.ndarray]:
    """All arrays of a noun and of the nouns in it."""
    for field in fields(noun):
        value = getattr(noun, field.name)
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, ValueObject):
            yield from arrays_of(value)


def touched(noun: Any) -> None:
    """Fills what nouns cache."""
    for name in dir(type(noun)):
        if not name.startswith("__"):
            getattr(noun, name)


def with_field(noun: Any, name: str, value: Any) -> Any:
    """A copy in which one field is another, whether or not that is valid."""
    changed = copy.copy(noun)
    object.__setattr__(changed, name, value)
    return changed


@KINDS
def test_pickles_and_copies_are_equal_and_read_only(kind: str) -> None:
    noun = made(kind)
    touched(noun)
    for other in copies(noun):
        assert type(other) is type(noun)
        assert (other, hash(other)) == (noun, hash(noun))
        assert list(vars(other)) == [field.name for field in fields(noun)], (
            "what is cached stays behind"
        )
    for array in (array for each in (noun, *copies(noun)) for array in arrays_of(each)):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@KINDS
def test_made_twice_is_equal(kind: str) -> None:
    assert MAKERS[kind]() == made(kind)
    assert hash(MAKERS[kind]()) == hash(made(kind))


def test_nouns_of_different_kinds_are_unequal() -> None:
    nouns = [made(kind) for kind in MAKERS]
    assert [[one == other for other in nouns] for one in nouns] == np.eye(
        len(nouns), dtype=bool
    ).tolist()
    assert made("limits") != "limits"
    assert len(set(nouns)) == len(nouns)


@KINDS
def test_one_element_makes_a_difference(kind: str) -> None:
    noun = made(kind)
    rng = np.random.default_rng(len(kind))
    for field in fields(noun):
        value = getattr(noun, field.name)
        for changed in _other_values(value, rng):
            assert (with_field(noun, field.name, changed) == noun) == (not field.compare), (
                field.name
            )


def _other_values(value: Any, rng: np.random.Generator) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value[: len(value) // 2] if value.size else np.zeros(3, value.dtype)
        yield None
        for _ in range(5 if value.size else 0):
            array = np.array(value)
            at = rng.integers(value.size)
            array.flat[at] = not array.flat[at] if array.dtype == np.bool_ else array.flat[at] + 1
            yield array
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1 if np.isfinite(value) else 0
    elif isinstance(value, str):
        yield f"{value}!"
    elif isinstance(value, tuple):
        yield (*value, "more")
    elif isinstance(value, dict | MappingProxyType):
        yield {**value, "more": 1}
    elif value is None:
        yield np.zeros(3)


def test_what_is_for_people_and_what_was_measured_does_not_count() -> None:
    pattern, machine, schedule = made("pattern"), made("machine"), made("connections")
    assert replace(pattern, name="other") == pattern
    assert replace(machine, name="other", notes=("read me",)) == machine
    assert schedule.with_report(compile_s=7.0, note="slow") == schedule
    assert replace(schedule, sync="local") != schedule
    assert made("timeline") == replace(made("timeline"), elapsed_s=9.0)


def test_same_bytes_on_another_machine_are_another_schedule() -> None:
    one, other = (
        conset.compile("alltoall", f"mesh:4x4,link={rate}GB/s", method="first-fit")
        for rate in (1, 2)
    )
    assert one != other
    assert one.pattern == other.pattern
    assert replace(one, machine=other.machine) == other


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("kind", ["connections", "timetable", "split"])
def test_a_schedule_read_from_its_file_is_equal(tmp_path: Path, kind: str, suffix: str) -> None:
    conset.write(made(kind), tmp_path / f"s.{suffix}")
    assert conset.read(tmp_path / f"s.{suffix}") == made(kind)


def test_repeated_elements_stay_one_element() -> None:
    pattern = conset.load_pattern("alltoall", "crossbar:1000")
    full = replace(pattern, size=np.array(pattern.size))
    assert pattern.size.strides == (0,)
    assert (full, hash(full)) == (pattern, hash(pattern))
    for other in copies(pattern):
        assert other.size.strides == (0,)
    assert len(pickle.dumps(full)) - len(pickle.dumps(pattern)) > 7_900_000, (
        "8 B for each of 999,000 messages"
    )


def test_numbers_that_are_none_are_equal_to_themselves() -> None:
    assert same_value(nan, nan)
    assert same_value(np.array([1.0, nan]), np.array([1.0, nan]))
    assert not same_value(np.array([1.0, nan]), np.array([nan, 1.0]))
    timeline = made("timeline")
    strange = replace(timeline, mean_latency_s=nan, start_s=np.full(timeline.messages, nan))
    assert pickle.loads(pickle.dumps(strange)) == strange != timeline
    assert hash(pickle.loads(pickle.dumps(strange))) == hash(strange)


def test_costs_of_methods_cannot_be_changed_in_place() -> None:
    for machine in (made("preset"), *copies(made("preset"))):
        with pytest.raises(TypeError):
            machine.method_costs["naive"] = machine.costs
        with pytest.raises(TypeError):
            machine.modes["other"] = None
    assert isinstance(made("preset"), Machine)


MATRICES = st.integers(1, 7).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 8, 2**40]), min_size=n, max_size=n),
        min_size=n,
        max_size=n,
    )
)


@given(MATRICES, st.sampled_from([np.int64, np.float64, np.uint64]))
def test_a_matrix_makes_a_pattern_and_back(rows: list[list[int]], dtype: type) -> None:
    matrix = np.array(rows, dtype)
    pattern = Pattern.from_matrix(matrix)
    apart = matrix - np.diag(np.diag(matrix))
    assert np.array_equal(pattern.matrix(), apart)
    assert (pattern.ranks, pattern.local_bytes) == (len(rows), np.trace(matrix))
    assert Pattern.from_matrix(rows) == Pattern.from_matrix(coo_array(matrix)) == pattern
    source, target = np.nonzero(matrix)
    order = np.random.default_rng(0).permutation(source.size)
    listed = Pattern.from_messages(
        source[order], target[order], matrix[source, target][order], len(rows)
    )
    assert listed == pattern
