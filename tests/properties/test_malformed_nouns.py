"""Malformed nouns: whatever is put into a field, the answer is one line of an error, never the
end of the process."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import ConsetError
from conset.machine.costs import Costs, Limits
from conset.machine.machine import Machine
from conset.machine.network.graph_files import read_edge_list
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.models import Workload
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.pattern.pattern import Pattern
from conset.report.page import schedule_html
from conset.schedule.files.compiled import document_of
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify
from support.malformed import NUMBERS, spoiled

MACHINES = ["mesh:4x4", "torus:3x3,lanes=2", "crossbar:9", "hypercube:3", "iwarp:4x4"]


def changes(noun: Any, rng: np.random.Generator) -> dict[str, Any]:
    """One or two array fields spoiled, or given where there were none."""
    names = [f.name for f in fields(noun) if isinstance(getattr(noun, f.name), np.ndarray)]
    none = [
        f.name for f in fields(noun) if getattr(noun, f.name) is None and "NDArray" in str(f.type)
    ]
    found: dict[str, Any] = {
        name: spoiled(getattr(noun, name), rng) for name in rng.choice(names, rng.integers(1, 3))
    }
    if none and rng.integers(3) == 0:
        found[str(rng.choice(none))] = rng.choice(NUMBERS, rng.integers(0, 40))
    return found


def refusals(*steps: Callable[[], Any]) -> list[str]:
    """What the steps that refuse say; anything but a refusal in words is raised."""
    said = []
    for step in steps:
        try:
            step()
        except ConsetError as error:
            said.append(str(error))
    assert not any("\n" in text for text in said)
    return said


def played(work: Workload, machine: Any, model: str, settings: Settings) -> Callable[[], Any]:
    return lambda: MODELS[model].simulate(work, machine, settings)


def used(schedule: Schedule) -> list[Callable[[], Any]]:
    return [
        lambda: conset.predict(schedule),
        lambda: conset.predict(schedule, sync="local"),
        lambda: phase_loads(schedule),
        lambda: document_of(schedule),
        lambda: verify(schedule),
        lambda: schedule_html(schedule),
        lambda: MODELS["flow"].simulate(
            Workload.of_schedule(schedule), schedule.machine, Settings(max_work=10**6)
        ),
    ]


@pytest.mark.parametrize("spec", MACHINES)
@pytest.mark.parametrize("method", ["first-fit", "connections"])
def test_malformed_schedules(spec: str, method: str) -> None:
    schedule = conset.compile(
        "random:degree=3,size=log-uniform(1,4KiB)", spec, method=method, timetable="event-list"
    )
    rng = np.random.default_rng(len(spec))
    assert refusals(*used(schedule)) == []
    refused = 0
    for _ in range(60):
        try:
            broken = replace(schedule, **changes(schedule, rng))
        except ConsetError:
            refused += 1
            continue
        refusals(*used(broken))
    assert refused > 30


def test_a_schedule_is_checked_where_it_is_made() -> None:
    schedule = conset.compile("alltoall", "mesh:4x4", method="first-fit")
    with pytest.raises(ConsetError, match=r"placement\[0\] = 50000000: must be from 0 to 15"):
        replace(schedule, placement=np.full(16, 50_000_000))
    with pytest.raises(
        ConsetError, match="16 ranks without a placement on the 9 nodes of mesh:3x3"
    ):
        replace(schedule, machine=parse_machine("mesh:3x3"))
    twice = replace(
        schedule, phase_offsets=np.array([0, 480]), message=np.tile(schedule.message, 2)
    )
    assert twice.size.shape == (480,)  # sizes of a pattern of equal ones are one element
    assert refusals(*used(twice)) == []


def test_malformed_patterns() -> None:
    pattern = Pattern.from_messages(
        [0, 1, 2, 5, 8], [3, 4, 5, 7, 0], [8, 9, 10, 11, 12], 9, before=[[0, 1]][:0]
    )
    rng = np.random.default_rng(7)
    for _ in range(300):
        try:
            broken = replace(
                pattern, **changes(pattern, rng), ranks=int(rng.choice([9, 9, 9, *NUMBERS]))
            )
        except ConsetError:
            continue
        refusals(lambda broken=broken: conset.compile(broken, "mesh:3x3", method="first-fit"))


@pytest.mark.parametrize(
    "spec", [*MACHINES, "mesh:3x3,eager=200,buffers=300,copy=1GB/s,signal=1us,setup=2us"]
)
@pytest.mark.parametrize("model", MODELS)
def test_malformed_workloads(spec: str, model: str) -> None:
    machine = parse_machine(spec)
    schedule = conset.compile("random:degree=3,size=uniform(1,400)", spec, method="connections")
    work = replace(
        Workload.of_schedule(schedule), order=np.arange(schedule.transfers, dtype=np.int32)
    )
    chained = replace(
        work,
        dep_offsets=np.arange(work.messages + 1),
        deps=np.full(work.messages, 0),
        phase_offsets=[],
    )
    rng = np.random.default_rng(len(spec) + len(model))
    refused = 0
    for number in range(60):
        settings = Settings(
            sync=str(rng.choice(["none", "local", "ready", "barrier", "barrier:2"])),
            in_flight=rng.choice([None, 1, 2**31 - 1]),
            receives=rng.choice([None, 1, 2**31 - 1]),
            record=bool(rng.integers(2)),
            until_s=float(rng.choice([0.0, 1e-6, np.inf])),
            max_work=rng.choice([None, 0, 10**5]),
        )
        try:
            broken = replace((work, chained)[number % 2], **changes(work, rng))
        except ConsetError:
            refused += 1
            continue
        if broken.bytes.max(initial=0) > 10**6:  # flit by flit this would take hours
            settings = replace(settings, max_work=10**5)
        refusals(played(broken, machine, model, settings))
    assert refused > 20


@pytest.mark.parametrize("sender", [-5, 1 << 24, 2_000_000_000])
def test_ranks_that_no_table_holds(sender: int) -> None:
    with pytest.raises(ConsetError, match=rf"sender\[0\] = {sender}: must be from 0 to 16777215"):
        Workload(
            np.array([0]),
            np.array([1]),
            np.array([8]),
            16,
            sender=np.array([sender]),
            receiver=np.array([1]),
        )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "word", ["setup", "synchronization", "signal", "send_overhead", "receive_overhead", "hop"]
)
def test_the_largest_times_of_the_fastest_links(model: str, word: str) -> None:
    """10^6 s are 10^23 cycles of a link of 10^18 B/s.

    Refused, where a flit's clock would wrap around.
    """
    for link in ("1GB/s", "1e9GB/s"):
        machine = parse_machine(f"mesh:4x4,{word}=1e6s,link={link},lanes=2")
        schedule = conset.compile("alltoall", machine, method="first-fit", sync="barrier")
        play = played(Workload.of_schedule(schedule), machine, model, Settings(sync="barrier"))
        said = refusals(play)
        if said:
            assert model == "flit"
            assert "cycles" in said[0]
            continue
        paid = 0.0 if word == "signal" or (model == "flit" and word == "hop") else 1e6
        assert paid <= play().time_s < 1e9
    late = Workload(np.array([0]), np.array([1]), np.array([8]), 16, time_s=np.array([1e6]))
    said = refusals(played(late, parse_machine("mesh:4x4,link=1e9GB/s,lanes=2"), model, Settings()))
    assert bool(said) == (model == "flit")


# Every other public noun: made of spoiled arrays and numbers it is refused in words, or can be used


def asked(noun: Any, fields_too: dict[str, Any]) -> list[str]:
    """What making a noun with other fields says, and then all that it can be asked."""

    def make_and_ask() -> None:
        broken = replace(noun, **fields_too)
        repr(broken), hash(broken), broken._repr_html_()
        assert pickle.loads(pickle.dumps(broken)) == broken
        for name, found in inspect.getmembers_static(type(broken)):
            if name.startswith("_"):
                continue
            if isinstance(found, property | cached_property):
                getattr(broken, name)
            elif name in ("to_object", "first_bytes", "widths", "matrix"):
                getattr(broken, name)()

    return refusals(make_and_ask)


NOUNS: dict[str, Callable[[], Any]] = {
    "graph": lambda: Topology.of_graph(
        read_edge_list("a b width=2 rate=1GB/s\nb c rate=2GB/s\nc a rate=3GB/s\n"), 1e9
    ),
    "table": lambda: Routing("table", "parity", np.array([0, 0, 1, 2, 2]), np.array([0, 1])),
    "timeline": lambda: conset.simulate(
        conset.compile("shift", "mesh:4x4", method="naive"), record=True
    ),
    "rates": lambda: (
        conset.simulate(conset.compile("shift", "mesh:4x4", method="naive"), record=True).rates
    ),
    "plan": lambda: conset.plan(conset.compile("alltoall", "mesh:2x2", method="first-fit")),
    "operations": lambda: (
        conset.plan(conset.compile("alltoall", "mesh:2x2", method="first-fit")).sends
    ),
}


@pytest.mark.parametrize("kind", NOUNS)
def test_malformed_arrays_of_other_nouns(kind: str) -> None:
    noun = NOUNS[kind]()
    rng = np.random.default_rng(len(kind))
    assert asked(noun, {}) == []
    refused = sum(bool(asked(noun, changes(noun, rng))) for _ in range(200))
    assert refused > 50


ODD = [
    None,
    -(2**63),
    -1,
    0,
    1,
    2,
    3.5,
    2**31,
    2**63,
    10**30,
    float("inf"),
    float("nan"),
    "x",
    (),
    (0,),
    (3, 4),
    "graph",
]
"""What somebody may put where a number, a word or a tuple is due."""


@pytest.mark.parametrize(
    "kind", ["box", "graph", "routing", "limits", "costs", "pattern", "plan", "settings"]
)
def test_malformed_numbers_and_words(kind: str) -> None:
    nouns = NOUNS | {
        "box": lambda: Topology.mesh(3, 4),
        "routing": lambda: Routing("dimension-order"),
        "limits": lambda: Limits(send=1, link=2),
        "costs": Costs,
        "pattern": lambda: Pattern.from_messages([0, 1], [1, 2], [8, 9]),
        "settings": Settings,
    }
    noun = nouns[kind]()
    refused = 0
    for field in fields(noun):
        if isinstance(getattr(noun, field.name), np.ndarray) or not field.init or not field.compare:
            continue
        for value in ODD:
            said = misused(noun, field.name, value)
            refused += said is not None
            assert said is None or "\n" not in said
    assert refused > 5


def misused(noun: Any, name: str, value: Any) -> str | None:
    """The refusal of a field.

    What is no value of the field's kind at all may meet Python's `TypeError` instead.
    """
    foreign = (
        () if type(value) is type(getattr(noun, name)) else (TypeError, AttributeError, ValueError)
    )
    try:
        hash(replace(noun, **{name: value}))
    except (ConsetError, *foreign) as error:
        return str(error)
    return None


def test_a_table_of_routes_is_checked_against_its_network() -> None:
    topology = Topology.from_networkx(Square())
    offsets, links = np.arange(0, 17, 1), np.zeros(16, int)
    with pytest.raises(ConsetError, match=r"table_links\[3\] = 8: must be from 0 to 7"):
        Machine(
            "m",
            topology,
            Routing("table", "parity", offsets, np.where(np.arange(16) == 3, 8, links)),
        )
    with pytest.raises(
        ConsetError, match=r"table_offsets has shape \(16,\): 16 steps require one entry more"
    ):
        Machine("m", topology, Routing("table", "parity", offsets[:-1], links[:-1]))
    for rule in ("dimension-order", "x", "table"):
        with pytest.raises(ConsetError, match="routing"):
            Machine("m", topology, Routing(rule))


class Square:
    """Four nodes on a ring, as networkx would say it."""

    def nodes(self, data: bool) -> list[tuple[int, dict[str, Any]]]:
        return [(node, {}) for node in range(4)]

    def edges(self, data: bool) -> list[tuple[int, int, dict[str, Any]]]:
        return [(node, (node + 1) % 4, {}) for node in range(4)]

    def is_directed(self) -> bool:
        return False


def test_malformed_lists_and_matrices() -> None:
    rng = np.random.default_rng(11)
    source, target, size = (
        np.array(each) for each in ([0, 1, 2, 5, 8], [3, 4, 5, 7, 0], [8, 9, 10, 11, 12])
    )
    matrix = np.zeros((5, 5))
    matrix[source % 5, target % 5] = size
    refused = 0
    for _ in range(300):
        lists = [spoiled(each, rng) if rng.integers(2) else each for each in (source, target, size)]
        ranks = rng.choice([None, 9, *NUMBERS])
        if ranks is None:
            lists = [np.clip(each, -9, 10**6) for each in lists]  # offsets of 2^31 ranks are many
        elif ranks > 10**6:
            ranks = 10**6
        refused += bool(
            refusals(lambda lists=lists, ranks=ranks: Pattern.from_messages(*lists, ranks))
        )
        refused += bool(refusals(lambda: Pattern.from_matrix(spoiled(matrix, rng))))
    assert refused > 150
