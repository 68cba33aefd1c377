"""Malformed arguments of the core.

A binding answers or refuses, whatever one of its arrays holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import conset
from conset import _core
from conset.base.errors import ConsetError
from conset.execution.connection_entries import connection_entries
from conset.execution.plan import Copies, Needs, Operations, Plan, RankPlan
from conset.machine.spec import parse_machine
from conset.methods.paths.evaluate import mixed_candidates
from conset.methods.paths.multiphase import rank_order
from conset.models import Workload
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.schedule.paths import direct
from conset.schedule.policy import parse_sync
from support.malformed import spoiled
from support.slow_mixes import merged, padded

FUNCTIONS = [name for name in dir(_core) if type(getattr(_core, name)) is type(_core.count_loads)]
CLASSES = (
    "Messages",
    "Execution",
    "CycleExecution",
    "FluidRates",
    "FlitRouters",
    "FlitWorkload",
    "MessageCosts",
    "BoundPrices",
    "Work",
    "Transfers",
    "Ranks",
    "Resources",
    "TimeLines",
    "TransferWork",
    "NegotiatedItems",
    "Negotiation",
    "SlotLimits",
    "Wiring",
    "Connections",
    "RouterLimits",
    "RouterDemands",
    "SequentialRouter",
    "PatternGraph",
    "NetworkCuts",
    "ExchangeBox",
    "RankOperations",
    "RankCopies",
    "RankPlan",
    "RankConnections",
    "BundleCosts",
    "OpenTables",
    "OpenTransfers",
)
METHODS = (
    "first-fit",
    "coloring",
    "negotiated",
    "decreasing",
    "birkhoff",
    "rs-n",
    "connections",
    "event-list",
)
KEPT = 3
"""Calls kept of each function."""
TRIES = 40
LATER = {
    "Execution",
    "CycleExecution",
    "TransferWork",
    "FluidRates",
    "FlitRouters",
    "FlitWorkload",
    "RouterDemands",
}
SLOW = {"simulate_flow", "simulate_wormhole", "simulate_flit", "simulate_connections"}


@dataclass(frozen=True)
class Call:
    """What was handed to a function or class, and what the class made of it."""

    name: str
    called: Any
    positional: tuple[Any, ...]
    named: dict[str, Any]
    made: Any = None

    @property
    def arguments(self) -> dict[int | str, Any]:
        """By position and by name."""
        return dict(enumerate(self.positional)) | self.named

    def again(self, changed: dict[int | str, Any]) -> Any:
        """The same call with other arguments."""
        arguments = self.arguments | changed
        named = {key: arguments[key] for key in self.named}
        return self.called(*(arguments[k] for k in range(len(self.positional))), **named)


class Recorder:
    """Calls what it stands for and keeps the first calls that hand over arrays, or what was made
    of arrays."""

    def __init__(self, name: str, called: Any, calls: list[Call]) -> None:
        self.name, self.called, self.calls = name, called, calls

    def __call__(self, *positional: Any, **named: Any) -> Any:
        result = self.called(*positional, **named)
        is_class = isinstance(self.called, type)
        call = Call(self.name, self.called, positional, named, result if is_class else None)
        if spoilable(call, self.calls) and (
            is_class or sum(self.name == c.name for c in self.calls) < KEPT
        ):
            self.calls.append(call)
        return result

    def __getattr__(self, name: str) -> Any:
        return Recorder(f"{self.name}.{name}", getattr(self.called, name), self.calls)


def maker(value: Any, calls: list[Call]) -> Call | None:
    """The call that made a value."""
    return next((call for call in calls if call.made is not None and call.made is value), None)


def spoilable(call: Call, calls: list[Call]) -> list[int | str]:
    """The arguments of a call that are arrays, or were made of arrays."""
    return [
        key
        for key, value in call.arguments.items()
        if isinstance(value, np.ndarray) or maker(value, calls) is not None
    ]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Call]]:
    """What a few compilations, predictions and simulations hand to the core."""
    calls: list[Call] = []
    with monkeypatch.context() as patch:
        for name in (*FUNCTIONS, *CLASSES):
            patch.setattr(_core, name, Recorder(name, getattr(_core, name), calls))
        yield calls


def relay(sync: str) -> Plan:
    """Rank 0 sends 10 bytes to 1, which forwards 6 of them with 5 of its own to 2."""
    offsets = np.array([0, 1, 2, 2])
    sends = Operations(offsets, [0, 1], [1, 2], [0, 10], [10, 11], [0, 1], [False, True])  # type: ignore[arg-type]
    receives = Operations(
        offsets[[0, 0, 1, 2]], [0, 1], [0, 1], [0, 0], [10, 11], [0, 1], [True, False]
    )  # type: ignore[arg-type]
    packs = Copies([0, 0, 2], [False, True], [0, 4], [10, 15], [5, 6])  # type: ignore[arg-type]
    unpacks = Copies([0, 1, 1], [True], [0], [0], [4])  # type: ignore[arg-type]
    needs = Needs([0, 0, 1], [0])  # type: ignore[arg-type]
    sizes, work = (np.array([10, 5, 0]), np.array([0, 4, 11])), np.array([0, 21, 0])
    return Plan(2, parse_sync(sync), sends, receives, *sizes, 2, work, packs, unpacks, needs)


def work_of_all(spec: str) -> None:
    for method in METHODS:
        place = (
            "annealed"
            if method == "first-fit"
            else "bisection"
            if method == "coloring"
            else "identity"
        )
        table = "as" if method == "first-fit" else None
        try:
            schedule = conset.compile(
                "random:degree=3,size=log-uniform(1,4KiB)",
                spec,
                method=method,
                placement=place,
                timetable=table,
            )
        except ConsetError:
            continue
        for sync in ("barrier", "local"):
            conset.predict(schedule, sync=sync)
    for rank in range(3):
        RankPlan(relay("ready"), rank).to_core()
        _core.RankConnections(**connection_entries(schedule).of_rank(rank))
    conset.compile(
        "alltoall", spec, method="bounded" if "crossbar" not in spec else "first-fit", effort=2
    )
    slow = parse_machine(f"{spec},overhead=1us")
    merged(padded(direct(schedule.pattern), 2), slow)
    mixed_candidates(schedule.pattern, slow)
    rank_order(schedule.pattern, None, "traffic")
    for name, model in MODELS.items():
        sync = "barrier" if name == "connections" else "local"
        settings = Settings(sync=sync, lanes=None if name == "circuit" else 2, max_work=10**5)
        try:
            model.simulate(Workload.of_schedule(schedule), schedule.machine, settings)
        except ConsetError:
            continue  # flits know no crossbar


def spoil(value: Any, calls: list[Call], rng: np.random.Generator) -> Any:
    """An array spoiled, or what a class makes of arguments one of which is."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(spoiled(value, rng))
    made = maker(value, calls)
    assert made is not None
    keys = spoilable(made, calls)
    key = keys[rng.integers(len(keys))]
    return made.again({key: spoil(made.arguments[key], calls, rng)})


def answer(call: Call, changed: dict[int | str, Any]) -> str:
    try:
        call.again(changed | ({"work": 10**5} if call.name in SLOW else {}))
    except (TypeError, ValueError):
        return "refused"
    return "answered"


@pytest.mark.parametrize("spec", ["mesh:4x4", "torus:3x3", "crossbar:6", "iwarp:4x4"])
def test_the_core_refuses_what_does_not_fit(recorded: list[Call], spec: str) -> None:
    work_of_all(spec)
    answers: dict[str, Counter[str]] = {}
    asked: Counter[str] = Counter()
    for call in recorded:
        asked[call.name] += 1
        # of its own, whatever else is called before it
        rng = np.random.default_rng([len(spec), asked[call.name], *call.name.encode()])
        keys = spoilable(call, recorded)
        for _ in range(TRIES if asked[call.name] <= KEPT else 0):
            key = keys[rng.integers(len(keys))]
            try:
                changed = {key: spoil(call.arguments[key], recorded, rng)}
            except (TypeError, ValueError):
                continue  # refused where it was to be made, which is counted there
            answers.setdefault(call.name, Counter())[answer(call, changed)] += 1
    assert len(answers) > 25
    # what belongs to messages or to links is looked at where it meets them
    judged = {
        call.name
        for call in recorded
        if any(isinstance(v, np.ndarray) for v in call.arguments.values())
    } - LATER
    assert [name for name in sorted(judged & set(answers)) if not answers[name]["refused"]] == []


def test_refusals_name_the_argument_and_both_numbers() -> None:
    network = _core.Network.crossbar(4)
    one, four = np.array([1], np.int32), np.array([4], np.int32)
    with pytest.raises(ValueError, match=r"^source = 4: must be from 0 to 3$"):
        network.route_links(four, one)
    with pytest.raises(ValueError, match=r"^target: 1 entries required, given 2$"):
        network.route_links(one, np.array([0, 1], np.int32))
    width, offsets = np.ones(1, np.int32), np.array([0, 2], np.int64)
    nothing, no_offsets = np.zeros(0, np.int32), np.zeros(0, np.int64)
    with pytest.raises(ValueError, match=r"^phase_offsets: must rise to 1, ends at 2$"):
        _core.count_loads(network, one, 2 * one, no_offsets, nothing, offsets, width)
