"""Malformed arguments of the core: a binding answers or refuses, whatever one of its arrays holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import conset
from conset import _core
from conset.errors import ConsetError
from conset.simulation import Workload
from conset.simulation.settings import Settings
from conset.simulation.table import MODELS
from malformed import spoiled

FUNCTIONS = [name for name in dir(_core) if type(getattr(_core, name)) is type(_core.count_loads)]
CLASSES = ("Messages", "Execution", "CycleExecution", "MessageCosts", "BoundPrices", "NegotiatedItems", "Negotiation",
           "SequentialRouter", "Resources", "TimeLines", "TransferWork", "FluidRates", "FlitRouters")  # fmt: skip
METHODS = ("first-fit", "coloring", "negotiated", "decreasing", "birkhoff", "rs-n", "connections", "event-list")
KEPT = 3
"""Calls kept of each function."""
TRIES = 12
SLOW = {"simulate_flow", "simulate_wormhole", "simulate_flit"}


class Recorder:
    """Calls what it stands for and keeps the first calls that hand over arrays."""

    def __init__(self, name: str, called: Any, calls: list[Any]) -> None:
        self.name, self.called, self.calls = name, called, calls

    def __call__(self, *positional: Any, **named: Any) -> Any:
        arrays = any(isinstance(value, np.ndarray) for value in (*positional, *named.values()))
        if arrays and sum(name == self.name for name, *_ in self.calls) < KEPT:
            self.calls.append((self.name, self.called, positional, named))
        return self.called(*positional, **named)

    def __getattr__(self, name: str) -> Any:
        return Recorder(f"{self.name}.{name}", getattr(self.called, name), self.calls)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What a few compilations, predictions and simulations hand to the core."""
    calls: list[Any] = []
    with monkeypatch.context() as patch:
        for name in (*FUNCTIONS, *CLASSES):
            patch.setattr(_core, name, Recorder(name, getattr(_core, name), calls))
        yield calls


def work_of_all(spec: str) -> None:
    for method in METHODS:
        place = "annealed" if method == "first-fit" else "bisection" if method == "coloring" else "identity"
        table = "as" if method == "first-fit" else None
        try:
            schedule = conset.compile(
                "random:degree=3,size=log-uniform(1,4KiB)", spec, method=method, placement=place, timetable=table
            )
        except ConsetError:
            continue
        for sync in ("barrier", "local"):
            conset.predict(schedule, sync=sync)
    for name, model in MODELS.items():
        settings = Settings(sync="local", lanes=None if name == "circuit" else 2, max_work=10**5)
        try:
            model.simulate(Workload.of_schedule(schedule), schedule.machine, settings)
        except ConsetError:
            continue  # flits know no crossbar


def answer(name: str, called: Any, positional: list[Any], named: dict[str, Any]) -> str:
    try:
        called(*positional, **named | ({"work": 10**5} if name in SLOW else {}))
    except (TypeError, ValueError):
        return "refused"
    return "answered"


@pytest.mark.parametrize("spec", ["mesh:4x4", "torus:3x3", "crossbar:6", "iwarp:4x4"])
def test_the_core_refuses_what_does_not_fit(recorded: list[Any], spec: str) -> None:
    work_of_all(spec)
    rng = np.random.default_rng(len(spec))
    answers: dict[str, Counter[str]] = {}
    for name, called, positional, named in recorded:
        arguments = dict(enumerate(positional)) | named
        arrays = [key for key, value in arguments.items() if isinstance(value, np.ndarray)]
        for _ in range(TRIES):
            key = arrays[rng.integers(len(arrays))]
            changed = arguments | {key: np.ascontiguousarray(spoiled(arguments[key], rng))}
            given = [changed[k] for k in range(len(positional))]
            said = answer(name, called, given, {k: changed[k] for k in named})
            answers.setdefault(name, Counter())[said] += 1
    assert len(answers) > 20
    # what belongs to messages or to links is looked at where it meets them
    later = ("Execution", "CycleExecution", "TransferWork", "FluidRates", "FlitRouters")
    judged = {name for name in answers if name not in later}
    assert [name for name in sorted(judged) if not answers[name]["refused"]] == []


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
