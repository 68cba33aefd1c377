"""A schedule with unequal and split messages, and the programs that ranks run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.mpi)


def random_schedule(ranks: int = 4, phases: int = 5, seed: int = 3) -> Schedule:
    """Messages of 1 B to 100 kB between most pairs, in random phases, about half of them in
    three parts.

    Above and below the eager limits of the libraries (4 and 8 KB), so both ways of sending are
    used.
    """
    rng = np.random.default_rng(seed)
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    size = np.exp(rng.uniform(0, np.log(1e5), source.size)).astype(np.int64)
    size[rng.random(source.size) < 0.2] = 0
    pattern = Pattern.from_messages(source, target, size, ranks)
    rows = []
    for m, total in enumerate(pattern.size.tolist()):
        cuts = rng.integers(1, total, 2) if total > 8 and rng.random() < 0.5 else []
        edges = np.unique([0, *cuts, total])
        rows += [(int(rng.integers(phases)), m, b - a) for a, b in pairwise(edges.tolist())]
    # every phase has a transfer, some ranks have none in some phases
    phase, message, part = np.array(sorted(rows, key=lambda row: row[0])).T
    offsets = np.searchsorted(phase, np.arange(phases + 1))
    topology = Topology.crossbar(ranks)
    machine = Machine(f"crossbar:{ranks}", topology, Routing.default(topology))
    return Schedule(pattern, machine, "random", Limits(), offsets, message, part)


@pytest.fixture(scope="session")
def schedule() -> Schedule:
    return random_schedule()


@pytest.fixture(scope="session")
def make_schedule() -> Callable[..., Schedule]:
    return random_schedule


@pytest.fixture(scope="session")
def programs() -> Path:
    return Path(__file__).parent / "programs"
